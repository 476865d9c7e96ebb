/**
 * Keeps results of nodes in a SQL database: a SQLite file, or any `SqlClient` of
 * the SQLite or Postgres dialect.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { createHash } from "node:crypto"
import { NodeCache, NodeCacheError, type NodeCacheShape } from "../NodeCache.ts"
import * as Database from "./internal/database.ts"
import type { Dialect } from "./internal/dialect.ts"
import { checkTables, type FormatError, type Plan, prepareTables } from "./internal/migrating.ts"
import { fromColumn, toColumn } from "./internal/text.ts"
import * as SqliteClient from "./SqliteClient.ts"

const plan: Plan = {
  table: "superstep_cache_migrations",
  migrations: {
    "0001_results": (dialect) => [
      `CREATE TABLE superstep_cache_results (
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        expires_millis ${dialect.integer},
        value TEXT NOT NULL,
        PRIMARY KEY (scope, key)
      )${dialect.table}`,
      `CREATE INDEX superstep_cache_results_expires ON superstep_cache_results (expires_millis)
        WHERE expires_millis IS NOT NULL`
    ]
  },
  probes: ["SELECT scope, key, expires_millis, value FROM superstep_cache_results WHERE 1 = 0"]
}

/** After so many results that were stored, some that have expired are removed: twice as many as can have come, so that fewer are left. */
const sweepEvery = 256
const sweepAtOnce = 2 * sweepEvery

const textsOf = ({ freeRows, text }: Dialect) => ({
  get: text(
    "SELECT value FROM superstep_cache_results WHERE scope = ? AND key = ? " +
      "AND (expires_millis IS NULL OR expires_millis > ?)"
  ),
  set: text(
    "INSERT INTO superstep_cache_results (scope, key, expires_millis, value) VALUES (?, ?, ?, ?) " +
      "ON CONFLICT (scope, key) DO UPDATE SET expires_millis = excluded.expires_millis, value = excluded.value"
  ),
  sweep: text("DELETE FROM superstep_cache_results WHERE expires_millis <= ?"),
  // Rows that another process removes or replaces just now are left to it.
  sweepSome: text(
    "WITH expired AS MATERIALIZED (SELECT scope, key FROM superstep_cache_results WHERE expires_millis <= ? " +
      `ORDER BY expires_millis LIMIT ${sweepAtOnce}${freeRows}) ` +
      "DELETE FROM superstep_cache_results WHERE (scope, key) IN (SELECT scope, key FROM expired)"
  ),
  clear: text("DELETE FROM superstep_cache_results WHERE scope = ?"),
  clearAll: text("DELETE FROM superstep_cache_results")
})

/** Scopes and keys of any length take the same place in the index. */
const hashed = (text: string): string => createHash("sha256").update(JSON.stringify(text)).digest("base64url")

const failure = (detail: string, cause: SqlError): NodeCacheError =>
  new NodeCacheError({ reason: "Storage", detail, cause })

const told = <A, R>(effect: Effect.Effect<A, SqlError | FormatError, R>, action: string) =>
  Database.explained(Database.retried(effect), action, failure).pipe(
    Effect.catchTag(
      "FormatError",
      ({ cause, detail }) => Effect.fail(new NodeCacheError({ reason: "Format", detail, cause }))
    )
  )

/** What a cache cannot give is computed. */
const warned = <A>(effect: Effect.Effect<A, SqlError>, instead: A, what: string): Effect.Effect<A> =>
  Effect.catch(
    Database.explained(Database.retried(effect), what, failure),
    (error) => Effect.as(Effect.logWarning(error.message), instead)
  )

const dialectFor = (sql: SqlClient) => Database.knownDialect(sql, "SqlNodeCache")

type Cache = Database.Database<ReturnType<typeof textsOf>>

/** Removes some of what has expired. */
const sweepSome = (db: Cache, now: number): Effect.Effect<void> =>
  warned(
    Effect.asVoid(Database.read(db, (connection, { sweepSome }) => connection.execute(sweepSome, [now], undefined))),
    undefined,
    "remove what has expired"
  )

const cacheOf = (db: Cache): NodeCacheShape => {
  let stored = 0
  // Not in a transaction of the caller: it would keep the rows locked until it ends.
  const swept = (now: number) =>
    Database.outside(
      db,
      Effect.suspend(() => {
        if (stored < sweepEvery) return Effect.void
        stored = 0
        return sweepSome(db, now)
      })
    )
  return NodeCache.of({
    get: (scope, key) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        warned(
          Effect.map(
            Database.attempt(
              db,
              (connection, { get }) =>
                Database.execute<{ readonly value: string }>(connection, get, [hashed(scope), hashed(key), now])
            ),
            (rows) => Option.map(Option.fromUndefinedOr(rows[0]), ({ value }) => fromColumn(value))
          ),
          Option.none(),
          "read a result"
        )),
    set: (scope, key, value, ttlMillis) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const expires = ttlMillis === undefined ? null : Math.ceil(now + ttlMillis)
        const params = [hashed(scope), hashed(key), expires, toColumn(value)]
        const set = warned(
          Effect.asVoid(Database.attempt(db, (connection, { set }) => connection.execute(set, params, undefined))),
          undefined,
          "store a result"
        )
        return ++stored < sweepEvery ? set : Effect.andThen(set, swept(now))
      }),
    clear: (scopes) =>
      told(
        Database.write(db, (connection, { clear, clearAll }) =>
          scopes === undefined
            ? Effect.asVoid(connection.execute(clearAll, [], undefined))
            : Effect.forEach(scopes, (scope) => connection.execute(clear, [hashed(scope)], undefined), {
              discard: true
            })),
        "clear the cache"
      )
  })
}

/**
 * Keeps results in the table `superstep_cache_results` of the database, which is made if it does not exist. What has expired is removed when the
 * cache is made, and bit by bit while results are stored,
 * unless in a transaction. Other processes find the results of nodes whose cache policy has an id.
 *
 * A database that fails later is as if the cache were empty, with a warning in the log; only `clear` fails.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 * import * as SqlNodeCache from "superstep/sql/SqlNodeCache"
 *
 * const program = Effect.gen(function*() {
 *   const cache = yield* SqlNodeCache.make
 *   yield* cache.set("square/1", "3", "9", undefined)
 *   return yield* cache.get("square/1", "3")
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))))
 * // => Option.some("9")
 * ```
 */
export const make: Effect.Effect<NodeCacheShape, NodeCacheError, SqlClient> = Effect.gen(function*() {
  const sql = (yield* SqlClient).withoutTransforms()
  const dialect = yield* dialectFor(sql)
  yield* told(prepareTables(sql, dialect, plan), "prepare the tables")
  const db = { sql, texts: textsOf(dialect) }
  const now = yield* Clock.currentTimeMillis
  yield* told(Database.read(db, (connection, { sweep }) => connection.execute(sweep, [now], undefined)), "sweep")
  return cacheOf(db)
})

/**
 * Keeps results in the database of the `SqlClient`: see {@link make}.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Layer, Option } from "effect"
 * import { NodeCache } from "superstep"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 * import * as SqlNodeCache from "superstep/sql/SqlNodeCache"
 *
 * // Any `SqlClient` of SQLite or Postgres, such as `PgClient.layer` of `@effect/sql-pg`.
 * const layer = SqlNodeCache.layer.pipe(Layer.provide(SqliteClient.layer({ filename: ":memory:" })))
 *
 * const program = NodeCache.NodeCache.use((cache) => cache.get("square/1", "3"))
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(layer)))) // => Option.none()
 * ```
 */
export const layer: Layer.Layer<NodeCache, NodeCacheError, SqlClient> = Layer.effect(NodeCache, make)

/**
 * Where `layerSqlite` keeps results.
 *
 * @category models
 * @since 0.1.0
 */
export interface SqliteOptions {
  /** Path of the file, which is made if it does not exist; `":memory:"` keeps results as long as the layer lives. */
  readonly filename: string
}

/** Looks at a file without the right to change it: opening it to write would set its journal mode. */
const inspect = Effect.fnUntraced(function*(config: SqliteClient.SqliteConfig) {
  const sql = yield* SqliteClient.make({ ...config, readonly: true })
  yield* checkTables(sql, yield* dialectFor(sql), plan)
}, Effect.scoped)

/**
 * Keeps results in a SQLite file that several processes may use at once; it may be the file of the threads. Fails with `NodeCacheError` if the
 * file cannot be opened, is no database, or was written by a later version; it is then unchanged.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { NodeCache } from "superstep"
 * import * as SqlNodeCache from "superstep/sql/SqlNodeCache"
 *
 * const program = Effect.gen(function*() {
 *   const cache = yield* NodeCache.NodeCache
 *   yield* cache.set("square/1", "3", "9", 60_000)
 *   return yield* cache.get("square/1", "3")
 * })
 * const layer = SqlNodeCache.layerSqlite({ filename: ":memory:" }) // or a path
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(layer)))) // => Option.some("9")
 * ```
 */
export const layerSqlite = ({ filename }: SqliteOptions): Layer.Layer<NodeCache, NodeCacheError> =>
  Layer.effect(
    NodeCache,
    Effect.gen(function*() {
      const config = { filename, busyTimeoutMillis: Database.sqliteBusyTimeoutMillis }
      const opened = Effect.gen(function*() {
        if (Database.hasContent(filename)) yield* inspect(config)
        return yield* SqliteClient.make(config)
      })
      const sql = yield* told(Database.withReactivity(opened), `open "${String(filename)}"`)
      return yield* Effect.provideService(make, SqlClient, sql)
    })
  )
