/** Statements and transactions on a client, and what becomes of their failures. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Schedule from "effect/Schedule"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { statSync } from "node:fs"
import { type Dialect, dialectOf } from "./dialect.ts"

export const retryLimit = 20

export const retryDelayMillis = 25

export const sqliteBusyTimeoutMillis = 250

/** What a query runs with. */
export interface Database<Texts> {
  readonly sql: SqlClient
  readonly texts: Texts
  /** What its transactions begin with, so that they see what others commit. */
  readonly begin?: string | undefined
}

/** What transactions have to begin with here. */
export const beginningOf = (sql: SqlClient, { isolation }: Dialect): Effect.Effect<string | undefined, SqlError> =>
  isolation === undefined ? Effect.undefined : Effect.map(
    sql.unsafe<{ readonly is_wanted: boolean }>(isolation.ask),
    ([row]) => row!.is_wanted ? undefined : isolation.begin
  )

/** Runs something in a transaction that begins with a statement, or in a savepoint of the one that there is. */
export const transaction = <A, E, R>(
  sql: SqlClient,
  begin: string | undefined,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError, R> =>
  begin === undefined ? sql.withTransaction(effect) : Effect.withFiber((fiber) => {
    const isInside = Context.getOrUndefined(fiber.context, sql.transactionService) !== undefined
    return sql.withTransaction(isInside ? effect : Effect.andThen(sql.unsafe(begin), effect))
  })

export type Query<Texts, A, E = never> = (connection: Connection, texts: Texts) => Effect.Effect<A, E | SqlError>

/** Runs an effect with the connection of the transaction that there is, if there is one. */
const withinOr = <A, E>(
  { sql }: Database<unknown>,
  run: (connection: Connection | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) => run(Context.getOrUndefined(fiber.context, sql.transactionService)?.[0]))

const alone = <Texts, A, E>({ sql, texts }: Database<Texts>, query: Query<Texts, A, E>) =>
  Effect.scoped(Effect.flatMap(sql.reserve, (connection) => query(connection, texts)))

/** Runs one statement on the connection itself: a statement of the client would make a span. */
export const read = <Texts, A>(db: Database<Texts>, query: Query<Texts, A>): Effect.Effect<A, SqlError> =>
  withinOr(db, (connection) => connection === undefined ? alone(db, query) : query(connection, db.texts))

/** The same, where a failure is to leave a transaction that there is as it was: Postgres would refuse whatever comes after it. */
export const attempt = <Texts, A>(db: Database<Texts>, query: Query<Texts, A>): Effect.Effect<A, SqlError> =>
  withinOr(db, (connection) => connection === undefined ? alone(db, query) : write(db, query))

/** Runs an effect if there is no transaction. */
export const outside = <E>(db: Database<unknown>, effect: Effect.Effect<void, E>): Effect.Effect<void, E> =>
  withinOr(db, (connection) => connection === undefined ? effect : Effect.void)

/** Runs a query in a transaction, or in a savepoint of the transaction that there is. */
export const write = <Texts, A, E>(
  { begin, sql, texts }: Database<Texts>,
  query: Query<Texts, A, E>
): Effect.Effect<A, E | SqlError> =>
  transaction(
    sql,
    begin,
    Effect.withFiber((fiber) => query(Context.getUnsafe(fiber.context, sql.transactionService)[0], texts))
  )

const retries = Schedule.spaced(retryDelayMillis)

const passing: ReadonlySet<string> = new Set(["LockTimeoutError", "SerializationError", "DeadlockError"])

const isPassing = (error: unknown): boolean => isSqlError(error) && passing.has(error.reason._tag)

/** What went wrong; a client's own account of the same is not repeated. */
const detailOf = (error: SqlError, what: string): string => {
  if (error.reason._tag === "LockTimeoutError") return `${what}: another process kept the database locked`
  const own = error.message.startsWith(what) ? error.message : `${what}: ${error.message}`
  // A client of Postgres says only there why.
  const reason = error.reason.cause instanceof Error ? error.reason.cause.message : ""
  return reason === "" || own.includes(reason) ? own : `${own}: ${reason}`
}

/** Where a connection is lost, so is the end of its transaction: what the client takes for a defect is the failure of the database. */
const withoutDefects = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>): Effect.Effect<A, E | SqlError, R> =>
  Effect.catchCause(effect, (cause) => {
    const defect = cause.reasons.find((reason) => Cause.isDieReason(reason) && isSqlError(reason.defect))
    if (defect === undefined || cause.reasons.some(Cause.isInterruptReason)) return Effect.failCause(cause)
    const failure = cause.reasons.find(Cause.isFailReason)
    return Effect.fail(failure === undefined ? (defect as Cause.Die).defect as SqlError : failure.error)
  })

/** Tells what failed: `action` says what could not be done. */
export const explained = <A, E, R, F>(
  effect: Effect.Effect<A, E | SqlError, R>,
  action: string,
  failure: (detail: string, cause: SqlError) => F
): Effect.Effect<A, Exclude<E, SqlError> | F, R> =>
  Effect.mapError(
    withoutDefects(effect),
    (error) => isSqlError(error) ? failure(detailOf(error, `cannot ${action}`), error) : error as Exclude<E, SqlError>
  )

/** Tries again what the database turned away for now. */
export const retried = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const again = Effect.retry(effect, { while: isPassing, times: retryLimit - 1, schedule: retries })
  return Effect.catchIf(effect, isPassing, () => Effect.delay(again, retryDelayMillis))
}

const rowsOf = <A>(rows: Effect.Effect<ReadonlyArray<unknown>, SqlError>) =>
  rows as Effect.Effect<ReadonlyArray<A>, SqlError>

/** The rows that a statement gives. */
export const execute = <A>(connection: Connection, text: string, params: ReadonlyArray<unknown>) =>
  rowsOf<A>(connection.execute(text, params, undefined))

/** A client of another dialect is a mistake in the program. */
export const knownDialect = (sql: SqlClient, module: string): Effect.Effect<Dialect> =>
  Effect.suspend(() => {
    const dialect = dialectOf(sql)
    return dialect === undefined
      ? Effect.die(new Error(`${module} speaks the SQL of SQLite and Postgres; the client is for "${sql.driver}"`))
      : Effect.succeed(dialect)
  })

/** What `effect/sql` asks for: nothing here is reactive. */
export const withReactivity = Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)

/** Whether there is a file to look at. What cannot be told is left to the client, which says why. */
export const hasContent = (filename: string): boolean => {
  try {
    return filename !== ":memory:" && (statSync(filename, { throwIfNoEntry: false })?.size ?? 0) > 0
  } catch {
    return false
  }
}
