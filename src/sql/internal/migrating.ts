/**
 * How a database comes to have tables, and how it is known that they are the
 * right ones.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { beginningOf, transaction } from "./database.ts"
import type { Dialect } from "./dialect.ts"

/** The tables of one service. */
export interface Plan {
  /** Names the table of the migrations that a database has had. */
  readonly table: string
  /** By name, which begins with the number: the statements of each migration. */
  readonly migrations: Readonly<Record<string, (dialect: Dialect) => ReadonlyArray<string>>>
  /** What the queries need, in a form that reads no row. */
  readonly probes: ReadonlyArray<string>
}

/** The tables are of a later version, or are others. */
export class FormatError extends Data.TaggedError("FormatError")<{
  readonly detail: string
  readonly cause?: unknown
}> {}

/** SQLite's code for SQL that does not fit the schema. */
const sqliteGenericError = 1

/** Whether the database works, but its tables are not as expected. */
const isMisfit = ({ reason }: SqlError): boolean =>
  reason._tag === "SqlSyntaxError" ||
  (reason.cause instanceof Error && "errcode" in reason.cause && reason.cause.errcode === sqliteGenericError)

const misfit = (error: SqlError): SqlError | FormatError =>
  isMisfit(error)
    ? new FormatError({
      detail: `its superstep tables are not as this version knows them: ${error.message}`,
      cause: error
    })
    : error

/** The newest migration of this version. A database that has had a later one is refused. */
const newestOf = ({ migrations }: Plan): number => Object.keys(migrations).length

/** The newest migration that the database has had; 0 for none. Changes nothing. */
const migrationOf: (
  sql: SqlClient,
  dialect: Dialect,
  plan: Plan
) => Effect.Effect<number, SqlError | FormatError> = Effect.fnUntraced(
  function*(sql: SqlClient, dialect: Dialect, plan: Plan) {
    const tables = yield* sql.unsafe<{ found: unknown }>(dialect.text(dialect.hasTable), [plan.table])
    if (Number(tables[0]!.found) === 0) return 0
    const rows = yield* Effect.mapError(
      sql.unsafe<{ newest: unknown }>(`SELECT MAX(migration_id) AS newest FROM ${plan.table}`),
      misfit
    )
    const newest = Number(rows[0]!.newest ?? 0)
    if (newest >= 0 && newest <= newestOf(plan)) return newest
    return yield* new FormatError({
      detail: `it was written by a later version of superstep (migration ${rows[0]!.newest}, this version knows ${
        newestOf(plan)
      }). It was not changed: use the later version`
    })
  }
)

/** Fails if the database was written by a later version. Changes nothing. */
export const checkTables = (
  sql: SqlClient,
  dialect: Dialect,
  plan: Plan
): Effect.Effect<void, SqlError | FormatError> => Effect.asVoid(migrationOf(sql, dialect, plan))

const migrationsOf = ({ migrations, table }: Plan, dialect: Dialect) =>
  Migrator.make({})({
    table,
    loader: Migrator.fromRecord(
      Object.fromEntries(
        Object.entries(migrations).map(([name, statements]) => [
          name,
          Effect.flatMap(
            SqlClient,
            (sql) => Effect.forEach(statements(dialect), (text) => sql.unsafe(text), { discard: true })
          )
        ])
      )
    )
  })

const migrate: (
  sql: SqlClient,
  dialect: Dialect,
  plan: Plan
) => Effect.Effect<void, SqlError | FormatError> = Effect.fnUntraced(
  function*(sql: SqlClient, dialect: Dialect, plan: Plan) {
    if (dialect.schemaLock !== undefined) yield* sql.unsafe(dialect.schemaLock)
    // Again, under the lock: another process may have been faster.
    if ((yield* migrationOf(sql, dialect, plan)) === newestOf(plan)) return
    yield* migrationsOf(plan, dialect).pipe(
      Effect.provideService(SqlClient, sql),
      Effect.mapError((error) => {
        if (isSqlError(error)) return misfit(error)
        return isSqlError(error.cause)
          ? misfit(error.cause)
          : new FormatError({ detail: error.message, cause: error })
      })
    )
  }
)

/**
 * Brings the tables of the database up to date, in one transaction, whichever of several processes comes first. A database of a
 * later version, or one whose tables are not as expected, is left as it is.
 */
export const prepareTables: (
  sql: SqlClient,
  dialect: Dialect,
  plan: Plan
) => Effect.Effect<void, SqlError | FormatError> = Effect.fnUntraced(
  function*(sql: SqlClient, dialect: Dialect, plan: Plan) {
    if ((yield* migrationOf(sql, dialect, plan)) < newestOf(plan)) {
      yield* transaction(sql, yield* beginningOf(sql, dialect), migrate(sql, dialect, plan))
    }
    yield* Effect.mapError(Effect.forEach(plan.probes, (text) => sql.unsafe(text), { discard: true }), misfit)
  }
)
