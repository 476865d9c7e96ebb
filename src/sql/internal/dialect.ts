/**
 * Where SQLite and Postgres differ. All other SQL of this folder is the same for both.
 */
import type { SqlClient } from "effect/sql/SqlClient"

export interface Dialect {
  /** The type of a key that the database counts up. */
  readonly key: string
  /** The type of an integer of up to 53 bits. */
  readonly integer: string
  /** The same, of up to 31 bits. */
  readonly count: string
  /** The same, of up to 15 bits. */
  readonly small: string
  /** The type of bytes. */
  readonly bytes: string
  /** The type of a text that is ordered by its code points. */
  readonly ordered: string
  /** Whether texts are searched by FTS5; otherwise by arrays of words. */
  readonly hasFts5: boolean
  /** Whether there is an extension that compares vectors, on some servers. */
  readonly hasExtensions: boolean
  /** What ends the definition of a table. */
  readonly table: string
  /** The same for a table of short rows that is only read by its primary key. */
  readonly smallTable: string
  /** Ends a SELECT whose row no other transaction may lock before this one ends. */
  readonly rowLock: string
  /** Ends a SELECT that locks the rows it gives, and passes over those that another transaction has locked. */
  readonly freeRows: string
  /** Tells whether a transaction sees what others have committed since it began: what it reads under a lock is what stands. */
  readonly seesCommitted: string
  /** Asks for the isolation that transactions have unless they are told, and begins one that sees what others commit. */
  readonly isolation: { readonly ask: string; readonly begin: string } | undefined
  /** Makes other processes that prepare the schema wait until the transaction ends. */
  readonly schemaLock: string | undefined
  /** Tells, as `found`, whether the table named by the parameter exists. */
  readonly hasTable: string
  /** SQL with `?` for each parameter, as the database takes it. */
  readonly text: (sql: string) => string
}

const sqlite: Dialect = {
  key: "INTEGER PRIMARY KEY",
  integer: "INTEGER",
  count: "INTEGER",
  small: "INTEGER",
  bytes: "BLOB",
  // Compares the bytes of UTF-8, whose order is that of code points.
  ordered: "TEXT",
  hasFts5: true,
  hasExtensions: false,
  table: " STRICT",
  smallTable: " STRICT, WITHOUT ROWID",
  // BEGIN IMMEDIATE has the only write lock there is.
  rowLock: "",
  freeRows: "",
  // Nobody else commits while a transaction has the lock.
  seesCommitted: "1",
  isolation: undefined,
  schemaLock: undefined,
  hasTable: "SELECT count(*) AS found FROM sqlite_master WHERE type = 'table' AND name = ?",
  text: (sql) => sql
}

/** Any number, the same in all processes: "superstep" has it to itself. */
const advisoryLock = 7_307_183_764

const pg: Dialect = {
  key: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  integer: "BIGINT",
  count: "INTEGER",
  small: "SMALLINT",
  bytes: "BYTEA",
  ordered: "TEXT COLLATE \"C\"",
  hasFts5: false,
  hasExtensions: true,
  table: "",
  smallTable: "",
  // Lets rows that refer to the locked one be inserted.
  rowLock: " FOR NO KEY UPDATE",
  freeRows: " FOR UPDATE SKIP LOCKED",
  seesCommitted: "current_setting('transaction_isolation') = 'read committed'",
  isolation: {
    ask: "SELECT current_setting('default_transaction_isolation') = 'read committed' AS is_wanted",
    begin: "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
  },
  schemaLock: `SELECT pg_advisory_xact_lock(${advisoryLock})`,
  hasTable:
    "SELECT count(*) AS found FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = ?",
  text: (sql) => {
    let count = 0
    return sql.replace(/\?/g, () => `$${++count}`)
  }
}

/** The dialect of a client; none if it is neither. */
export const dialectOf = (sql: SqlClient): Dialect | undefined =>
  sql.onDialectOrElse({ sqlite: () => sqlite, pg: () => pg, orElse: () => undefined })
