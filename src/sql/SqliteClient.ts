/**
 * A client of `effect/sql` over `node:sqlite`, which comes with Node: no native
 * package is installed. That of Node 22 reads a text up to its first NUL; what
 * superstep stores has none.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Pull from "effect/Pull"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import { closeSync, openSync, readSync, statSync } from "node:fs"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

/**
 * How long SQLite itself waits for a lock, in milliseconds. It waits synchronously: nothing else runs in this thread.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultBusyTimeoutMillis = 1_000

/**
 * How many prepared statements a client keeps.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultPrepareCacheSize = 200

/** Pages in the WAL before they go to the file, 16 MB: pages that change with every commit go there once. SQLite's own limit is 1,000. */
const walPages = 4_000

/** How often opening is tried again while another process holds the file locked. */
const openRetryLimit = 50

/** Between two tries to open, in milliseconds. */
const openRetryMillis = 20

/** Rows that a stream fetches at once. */
const streamChunkSize = 128

/** How every SQLite file begins. */
const fileHeader = "SQLite format 3\0"

/**
 * Which database to open, and how.
 *
 * @category models
 * @since 0.1.0
 */
export interface SqliteConfig {
  /** Path of the file, which is made if it does not exist; `":memory:"` for a database that ends with the client. */
  readonly filename: string
  /** Opens an existing file without the right to change it. */
  readonly readonly?: boolean | undefined
  /**
   * What a commit survives. `NORMAL` (default): the end of the process, at any instruction; after a power cut the last
   * commits may be missing, the file is intact. `FULL`: a power cut too, for one fsync a commit.
   */
  readonly synchronous?: "NORMAL" | "FULL" | undefined
  /** Milliseconds that SQLite waits for a lock, {@link defaultBusyTimeoutMillis} by default. The thread stands still meanwhile. */
  readonly busyTimeoutMillis?: number | undefined
  /** Leaves the journal mode of the file alone, instead of changing it to WAL. */
  readonly disableWAL?: boolean | undefined
  /** How many prepared statements are kept, {@link defaultPrepareCacheSize} by default. */
  readonly prepareCacheSize?: number | undefined
}

// ---------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------

const textOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const toSqlError = (operation: string, cause: unknown): SqlError => {
  // `node:sqlite` reports `errcode`; the classifier reads `errno`.
  if (cause instanceof Error && "errcode" in cause && !("errno" in cause)) {
    Object.defineProperty(cause, "errno", { value: cause.errcode, configurable: true })
  }
  return new SqlError({
    reason: classifySqliteError(cause, { message: `cannot ${operation}: ${textOf(cause)}`, operation })
  })
}

const refuse = (message: string, cause: unknown): SqlError =>
  new SqlError({ reason: new ConnectionError({ message, operation: "open", cause }) })

const isLocked = (error: SqlError): boolean => error.reason._tag === "LockTimeoutError"

// ---------------------------------------------------------------------------
// Opening
// ---------------------------------------------------------------------------

const headerOf = (filename: string): string => {
  const file = openSync(filename, "r")
  try {
    const bytes = Buffer.alloc(fileHeader.length)
    return bytes.toString("latin1", 0, readSync(file, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(file)
  }
}

/** What is wrong with the file, seen without SQLite, which would make side files, or wait for a pipe. */
const problemOf = (filename: string): SqlError | undefined => {
  if (filename === ":memory:" || filename === "" || filename.startsWith("file:")) return undefined
  try {
    const stat = statSync(filename, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    if (!stat.isFile()) {
      const what = stat.isDirectory() ? "a directory" : "no regular file"
      return refuse(`cannot open "${filename}": it is ${what}`, new Error(what))
    }
    if (stat.size === 0 || headerOf(filename) === fileHeader) return undefined
    const message = `cannot open "${filename}": it is not a SQLite database`
    return new SqlError({ reason: new UnknownError({ message, operation: "open", cause: new Error(message) }) })
  } catch (cause) {
    return refuse(`cannot open "${filename}": ${textOf(cause)}`, cause)
  }
}

const configure = (db: DatabaseSync, config: SqliteConfig): void => {
  db.exec("PRAGMA foreign_keys = ON")
  // Reads the schema, so that a file that is no database, or a damaged one, is refused before anything is written.
  db.prepare("SELECT count(*) FROM sqlite_master").get()
  const modeAfter = (sql: string): unknown => db.prepare(sql).get()?.journal_mode
  let mode = modeAfter("PRAGMA journal_mode")
  if (config.disableWAL !== true && config.readonly !== true) {
    if (mode !== "wal") mode = modeAfter("PRAGMA journal_mode = WAL")
    db.exec(`PRAGMA wal_autocheckpoint = ${walPages}`)
  }
  // NORMAL is safe in WAL mode only: with a rollback journal a power cut could damage the file.
  db.exec(`PRAGMA synchronous = ${mode === "wal" && config.synchronous !== "FULL" ? "NORMAL" : "FULL"}`)
}

const millis = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

const isConfig = Schema.decodeUnknownResult(
  Schema.Struct({
    filename: Schema.String,
    readonly: Schema.optional(Schema.Boolean),
    synchronous: Schema.optional(Schema.Literals(["NORMAL", "FULL"])),
    busyTimeoutMillis: Schema.optional(millis),
    disableWAL: Schema.optional(Schema.Boolean),
    prepareCacheSize: Schema.optional(Schema.Int)
  }),
  { reportInput: true }
)

/** What callers without types got wrong. */
const wrongIn = (config: SqliteConfig): SqlError | undefined => {
  const checked = isConfig(config)
  return Result.isSuccess(checked)
    ? undefined
    : refuse(`cannot open a database: ${checked.failure.message}`, checked.failure)
}

const open = (config: SqliteConfig): Effect.Effect<DatabaseSync, SqlError> =>
  Effect.suspend(() => {
    const problem = wrongIn(config) ?? problemOf(config.filename)
    if (problem !== undefined) return Effect.fail(problem)
    let db: DatabaseSync | undefined
    try {
      db = new DatabaseSync(config.filename, {
        readOnly: config.readonly ?? false,
        timeout: config.busyTimeoutMillis ?? defaultBusyTimeoutMillis
      })
      configure(db, config)
      return Effect.succeed(db)
    } catch (cause) {
      db?.close()
      return Effect.fail(toSqlError(`open "${config.filename}"`, cause))
    }
  })

// ---------------------------------------------------------------------------
// Statements
// ---------------------------------------------------------------------------

type Rows = ReadonlyArray<Record<string, unknown>>
type Values = ReadonlyArray<ReadonlyArray<unknown>>
type Transform = Parameters<Connection["execute"]>[2]

/** A statement with the settings it has now: each change of one is a call into SQLite. */
interface Prepared {
  readonly statement: StatementSync
  readonly hasRows: boolean
  isArrays: boolean
  isBigInts: boolean
}

const prepared = (statement: StatementSync): Prepared => ({
  statement,
  hasRows: statement.columns().length > 0,
  isArrays: false,
  isBigInts: false
})

/** Node 22 binds no bytes as NULL where they have no place in memory. */
const noBytes = new Uint8Array(1).subarray(0, 0)

const bindable = (value: unknown): SQLInputValue => {
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
      return value
    case "boolean":
      return value ? 1 : 0
    case "undefined":
      return null
    default:
      // An object in first place would be taken as named parameters.
      if (value === null) return value
      if (value instanceof Uint8Array) return value.length === 0 ? noBytes : value
      throw new TypeError(`a value of type ${typeof value} cannot be bound: give text, a number, a bigint or bytes`)
  }
}

/** The most recently used statements: a `Map` keeps the order of insertion. */
class Statements {
  readonly #db: DatabaseSync
  readonly #limit: number
  readonly #kept = new Map<string, Prepared>()

  constructor(db: DatabaseSync, limit: number) {
    this.#db = db
    this.#limit = Math.max(1, limit)
  }

  get(sql: string): Prepared {
    let found = this.#kept.get(sql)
    if (found !== undefined) {
      this.#kept.delete(sql)
    } else {
      found = prepared(this.#db.prepare(sql))
      if (this.#kept.size >= this.#limit) this.#kept.delete(this.#kept.keys().next().value!)
    }
    this.#kept.set(sql, found)
    return found
  }
}

const call = (entry: Prepared, params: ReadonlyArray<unknown>, isBigInts: boolean, mode: "rows" | "arrays" | "raw") => {
  const { statement } = entry
  if (entry.isBigInts !== isBigInts) statement.setReadBigInts(entry.isBigInts = isBigInts)
  const isArrays = mode === "arrays"
  if (entry.isArrays !== isArrays) statement.setReturnArrays(entry.isArrays = isArrays)
  const bound = params.map(bindable)
  if (entry.hasRows) return statement.all(...bound)
  const result = statement.run(...bound)
  return mode === "raw" ? result : []
}

const streamRows = (db: DatabaseSync, sql: string, params: ReadonlyArray<unknown>): Stream.Stream<unknown, SqlError> =>
  Stream.unwrap(Effect.map(
    Effect.acquireRelease(
      Effect.try({
        // A statement of its own: an iterator must not share a cached one.
        try: () => db.prepare(sql).iterate(...params.map(bindable)),
        catch: (cause) => toSqlError("execute", cause)
      }),
      // An abandoned iterator would hold its read transaction open.
      (rows) => Effect.sync(() => void rows.return?.())
    ),
    (rows) => {
      // On Node 22 an iterator that is done begins again.
      let isDone = false
      return Stream.fromPull(
        Effect.succeed(Effect.suspend((): Pull.Pull<Arr.NonEmptyReadonlyArray<unknown>, SqlError> => {
          const chunk: Array<unknown> = []
          try {
            while (!isDone && chunk.length < streamChunkSize) {
              const next = rows.next()
              isDone = next.done === true
              if (!isDone) chunk.push(next.value)
            }
          } catch (cause) {
            return Effect.fail(toSqlError("execute", cause))
          }
          return Arr.isArrayNonEmpty(chunk) ? Effect.succeed(chunk) : Cause.done()
        }))
      )
    }
  ))

const connectionOf = (db: DatabaseSync, cacheSize: number): Connection => {
  const statements = new Statements(db, cacheSize)
  const run = <A>(
    sql: string,
    params: ReadonlyArray<unknown>,
    mode: "rows" | "arrays" | "raw",
    isCached = true
  ): Effect.Effect<A, SqlError> =>
    Effect.withFiber((fiber) => {
      try {
        const entry = isCached ? statements.get(sql) : prepared(db.prepare(sql))
        return Effect.succeed(call(entry, params, Context.get(fiber.context, SqlClient.SafeIntegers), mode) as A)
      } catch (cause) {
        return Effect.fail(toSqlError("execute", cause))
      }
    })
  const rows = (sql: string, params: ReadonlyArray<unknown>, transform: Transform, isCached: boolean) => {
    const found = run<Rows>(sql, params, "rows", isCached)
    return transform === undefined ? found : Effect.map(found, transform)
  }
  return {
    execute: (sql, params, transform) => rows(sql, params, transform, true),
    executeUnprepared: (sql, params, transform) => rows(sql, params, transform, false),
    executeRaw: (sql, params) => run<unknown>(sql, params, "raw"),
    executeValues: (sql, params) => run<Values>(sql, params, "arrays"),
    executeValuesUnprepared: (sql, params) => run<Values>(sql, params, "arrays", false),
    executeStream: (sql, params, transform) => {
      const stream = streamRows(db, sql, params)
      if (transform === undefined) return stream
      return Stream.mapArray(stream, (rows) => {
        const changed = transform(rows as ReadonlyArray<object>)
        return Arr.isReadonlyArrayNonEmpty(changed) ? changed : rows
      })
    }
  }
}

// ---------------------------------------------------------------------------
// Client
// ---------------------------------------------------------------------------

/**
 * Opens a SQLite database: in WAL mode, with foreign keys enforced; a transaction takes the write lock when it begins
 * (`BEGIN IMMEDIATE`), so that what it read still holds when it writes. One connection serves all fibers in turn.
 *
 * Fails with `SqlError` when the file cannot be opened, is a directory, or is no database; the file is then as it was.
 * A text of several statements runs only the first. Rows have no prototype. Node 22 reads a text that holds a NUL only up to it: read
 * `CAST(… AS BLOB)` there.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Reactivity } from "effect/reactivity"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 *
 * const program = Effect.gen(function*() {
 *   const sql = yield* SqliteClient.make({ filename: ":memory:" })
 *   return yield* sql`SELECT 1 + 1 AS two`.values
 * })
 *
 * console.log(await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Reactivity.layer)))) // => [[2]]
 * ```
 */
export const make: (
  config: SqliteConfig
) => Effect.Effect<SqlClient.SqlClient, SqlError, Scope.Scope | Reactivity.Reactivity> = Effect.fnUntraced(
  function*(config: SqliteConfig) {
    const db = yield* Effect.acquireRelease(
      // SQLite does not wait when two processes change a new file to WAL at once: one is told that it is locked.
      Effect.retry(open(config), {
        while: isLocked,
        times: openRetryLimit,
        schedule: Schedule.spaced(openRetryMillis)
      }),
      (db) => Effect.sync(() => db.close())
    )
    const connection = connectionOf(db, config.prepareCacheSize ?? defaultPrepareCacheSize)
    return yield* SqlClient.make({
      ...SqlClient.makeSqliteAcquirers({
        connection: Effect.succeed(connection),
        semaphore: yield* Semaphore.make(1),
        isTransaction: () => db.isTransaction
      }),
      compiler: Statement.makeCompilerSqlite(),
      driver: "node:sqlite",
      prepareTransactionControls: true,
      beginTransaction: config.readonly === true ? "BEGIN" : "BEGIN IMMEDIATE",
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
      spanAttributes: [["db.system.name", "sqlite"]]
    })
  }
)

/**
 * A SQLite database as the `SqlClient` of a program.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { SqlClient } from "effect/sql"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 *
 * const program = Effect.gen(function*() {
 *   const sql = yield* SqlClient.SqlClient
 *   yield* sql`CREATE TABLE numbers (n INTEGER)`
 *   yield* Effect.ignore(
 *     sql.withTransaction(Effect.andThen(sql`INSERT INTO numbers VALUES (1)`, Effect.fail("rolled back")))
 *   )
 *   yield* sql`INSERT INTO numbers VALUES (${2})`
 *   return yield* sql`SELECT n FROM numbers`.values
 * })
 *
 * const layer = SqliteClient.layer({ filename: ":memory:" })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(layer)))) // => [[2]]
 * ```
 */
export const layer = (config: SqliteConfig): Layer.Layer<SqlClient.SqlClient, SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(config)).pipe(Layer.provide(Reactivity.layer))
