/**
 * The tables, and how a database comes to have them.
 */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { CheckpointError } from "../../GraphError.ts"
import type { Dialect } from "./dialect.ts"

/** Names the table of the migrations that a database has had. */
const migrationTable = "superstep_migrations"

/** The newest migration of this version. A database that has had a later one is refused. */
export const newestMigration = 1

const checkpointTables = (dialect: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE superstep_threads (
    key ${dialect.key},
    thread TEXT NOT NULL UNIQUE,
    life TEXT NOT NULL
  )${dialect.table}`,
  `CREATE TABLE superstep_checkpoints (
    sequence ${dialect.key},
    thread ${dialect.integer} NOT NULL REFERENCES superstep_threads (key) ON DELETE CASCADE,
    created_millis ${dialect.integer} NOT NULL,
    branch ${dialect.count} NOT NULL,
    step ${dialect.count} NOT NULL,
    format ${dialect.small} NOT NULL,
    is_keyframe ${dialect.small} NOT NULL CHECK (is_keyframe IN (0, 1)),
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT,
    source TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (thread, namespace, id)
  )${dialect.table}`,
  "CREATE INDEX superstep_checkpoints_order ON superstep_checkpoints (thread, namespace, sequence)",
  `CREATE TABLE superstep_tasks (
    checkpoint ${dialect.integer} NOT NULL REFERENCES superstep_checkpoints (sequence) ON DELETE CASCADE,
    revision ${dialect.count} NOT NULL,
    task TEXT NOT NULL,
    status TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (checkpoint, task)
  )${dialect.table}`,
  `CREATE TABLE superstep_heads (
    thread ${dialect.integer} NOT NULL REFERENCES superstep_threads (key) ON DELETE CASCADE,
    branch ${dialect.count} NOT NULL,
    place TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    PRIMARY KEY (thread, place, branch)
  )${dialect.smallTable}`
]

/** What the queries need, in a form that reads no row. */
const probes: ReadonlyArray<string> = [
  "SELECT key, thread, life FROM superstep_threads WHERE 1 = 0",
  "SELECT sequence, thread, namespace, id, parent, branch, step, source, created_millis, format, is_keyframe, data, metadata " +
  "FROM superstep_checkpoints WHERE 1 = 0",
  "SELECT checkpoint, task, status, revision, data FROM superstep_tasks WHERE 1 = 0",
  "SELECT thread, place, branch, id, owner FROM superstep_heads WHERE 1 = 0"
]

const migrations = (dialect: Dialect) =>
  Migrator.make({})({
    table: migrationTable,
    loader: Migrator.fromRecord({
      "0001_checkpoints": Effect.flatMap(
        SqlClient,
        (sql) => Effect.forEach(checkpointTables(dialect), (text) => sql.unsafe(text), { discard: true })
      )
    })
  })

const formatError = (detail: string, cause?: unknown): CheckpointError =>
  new CheckpointError({ reason: "Format", thread: "", detail, cause })

/** SQLite's code for SQL that does not fit the schema. */
const sqliteGenericError = 1

/** Whether the database works, but its tables are not as expected. */
const isMisfit = ({ reason }: SqlError): boolean =>
  reason._tag === "SqlSyntaxError" ||
  (reason.cause instanceof Error && "errcode" in reason.cause && reason.cause.errcode === sqliteGenericError)

const misfit = (error: SqlError): SqlError | CheckpointError =>
  isMisfit(error)
    ? formatError(`its superstep tables are not as this version knows them: ${error.message}`, error)
    : error

/** The newest migration that the database has had; 0 for none. Changes nothing. */
const migrationOf: (
  sql: SqlClient,
  dialect: Dialect
) => Effect.Effect<number, SqlError | CheckpointError> = Effect.fnUntraced(function*(sql: SqlClient, dialect: Dialect) {
  const tables = yield* sql.unsafe<{ found: unknown }>(dialect.text(dialect.hasTable), [migrationTable])
  if (Number(tables[0]!.found) === 0) return 0
  const rows = yield* Effect.mapError(
    sql.unsafe<{ newest: unknown }>(`SELECT MAX(migration_id) AS newest FROM ${migrationTable}`),
    misfit
  )
  const newest = Number(rows[0]!.newest ?? 0)
  if (newest >= 0 && newest <= newestMigration) return newest
  return yield* formatError(
    `it was written by a later version of superstep (migration ${
      rows[0]!.newest
    }, this version knows ${newestMigration}). ` +
      "It was not changed: use the later version"
  )
})

/** Fails if the database was written by a later version. Changes nothing. */
export const checkSchema = (sql: SqlClient, dialect: Dialect): Effect.Effect<void, SqlError | CheckpointError> =>
  Effect.asVoid(migrationOf(sql, dialect))

const migrate: (
  sql: SqlClient,
  dialect: Dialect
) => Effect.Effect<void, SqlError | CheckpointError> = Effect.fnUntraced(function*(sql: SqlClient, dialect: Dialect) {
  if (dialect.schemaLock !== undefined) yield* sql.unsafe(dialect.schemaLock)
  // Again, under the lock: another process may have been faster.
  if ((yield* migrationOf(sql, dialect)) === newestMigration) return
  yield* migrations(dialect).pipe(
    Effect.provideService(SqlClient, sql),
    Effect.mapError((error) => {
      if (isSqlError(error)) return misfit(error)
      return isSqlError(error.cause) ? misfit(error.cause) : formatError(error.message, error)
    })
  )
})

/**
 * Brings the tables of the database up to date, in one transaction, whichever of several processes comes first. A database of a
 * later version, or one whose tables are not as expected, is left as it is.
 */
export const prepareSchema: (
  sql: SqlClient,
  dialect: Dialect
) => Effect.Effect<void, SqlError | CheckpointError> = Effect.fnUntraced(function*(sql: SqlClient, dialect: Dialect) {
  if ((yield* migrationOf(sql, dialect)) < newestMigration) yield* sql.withTransaction(migrate(sql, dialect))
  yield* Effect.mapError(Effect.forEach(probes, (text) => sql.unsafe(text), { discard: true }), misfit)
})
