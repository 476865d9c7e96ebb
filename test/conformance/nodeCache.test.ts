/** One list of cases for every kind of node cache. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, References, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Node, NodeCache, Policy, State, StateGraph } from "superstep"
import * as KeyValueNodeCache from "superstep/persistence/KeyValueNodeCache"
import * as SqliteClient from "superstep/sql/SqliteClient"
import * as SqlNodeCache from "superstep/sql/SqlNodeCache"
import { layerPostgresClient } from "../Postgres.ts"
import { directory, filename } from "../sql/files.ts"

const layerFiles = Layer.unwrap(Effect.map(directory, (path) => KeyValueStore.layerFileSystem(path))).pipe(
  Layer.provide([NodeFileSystem.layer, NodePath.layer])
)

const caches: ReadonlyArray<readonly [string, Layer.Layer<NodeCache.NodeCache, unknown>]> = [
  ["memory", NodeCache.layerMemory],
  ["SQLite", Layer.unwrap(Effect.map(filename, (filename) => SqlNodeCache.layerSqlite({ filename })))],
  ["Postgres", Layer.provide(SqlNodeCache.layer, layerPostgresClient)],
  ["a key value store in memory", Layer.provide(KeyValueNodeCache.layer, KeyValueStore.layerMemory)],
  ["a key value store of files", Layer.provide(KeyValueNodeCache.layer, layerFiles)]
]

const hostile = [
  "",
  "a",
  "a/",
  "a\"",
  "\"",
  "\\",
  "[\"a\"",
  "\0",
  "\uD800",
  "%",
  "../x",
  "__proto__",
  "x".repeat(5_000)
]

const cases: Readonly<
  Record<string, (cache: NodeCache.NodeCacheShape) => Effect.Effect<void, NodeCache.NodeCacheError>>
> = {
  "gives what was set last, and nothing else": (cache) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* cache.get("s", "k"), Option.none())
      yield* cache.set("s", "k", "1", undefined)
      yield* cache.set("s", "k", "2", undefined)
      assert.deepStrictEqual(yield* cache.get("s", "k"), Option.some("2"))
      assert.deepStrictEqual(yield* cache.get("s", "l"), Option.none())
      assert.deepStrictEqual(yield* cache.get("t", "k"), Option.none())
    }),
  "a result is good for its time, and no longer": (cache) =>
    Effect.gen(function*() {
      yield* cache.set("s", "short", "1", 10)
      yield* cache.set("s", "ever", "2", undefined)
      yield* TestClock.adjust(9)
      assert.deepStrictEqual(yield* cache.get("s", "short"), Option.some("1"))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* cache.get("s", "short"), Option.none())
      assert.deepStrictEqual(yield* cache.get("s", "ever"), Option.some("2"))
      yield* cache.set("s", "short", "3", 10)
      assert.deepStrictEqual(yield* cache.get("s", "short"), Option.some("3"))
    }),
  "clear drops scopes, or everything": (cache) =>
    Effect.gen(function*() {
      for (const scope of ["a", "ab", "b"]) yield* cache.set(scope, "k", scope, undefined)
      yield* cache.clear(["a", "none"])
      assert.deepStrictEqual(yield* cache.get("a", "k"), Option.none())
      assert.deepStrictEqual(yield* cache.get("ab", "k"), Option.some("ab"))
      yield* cache.clear([])
      assert.deepStrictEqual(yield* cache.get("b", "k"), Option.some("b"))
      yield* cache.clear()
      assert.deepStrictEqual(yield* cache.get("ab", "k"), Option.none())
      assert.deepStrictEqual(yield* cache.get("b", "k"), Option.none())
    })
}

class Count extends State.make({ total: Schema.Int }) {}

/** A graph of one cached node, which counts how often it ran. */
const graph = (id: string | undefined, factor: number, ran: { count: number }) =>
  StateGraph.make(
    "app",
    StateGraph.nodes(Count, {
      node: Node.make({
        input: Count,
        cache: Policy.cache(id === undefined ? {} : { id }),
        run: ({ total }) =>
          Effect.sync(() => {
            ran.count++
            return { total: total * factor }
          })
      })
    }),
    { start: "node" }
  )

for (const [name, layer] of caches) {
  describe(`NodeCache: ${name}`, () => {
    for (const [title, run] of Object.entries(cases)) {
      it.live(
        title,
        () =>
          NodeCache.NodeCache.use((cache) => Effect.provide(run(cache), TestClock.layer())).pipe(Effect.provide(layer))
      )
    }
    it.live("scopes, keys and results are any texts", () =>
      NodeCache.NodeCache.use((cache) =>
        Effect.gen(function*() {
          const texts = name === "a key value store of files" ? hostile.filter(({ length }) => length < 100) : hostile
          for (const scope of texts) {
            for (const key of texts) yield* cache.set(scope, key, JSON.stringify([scope, key]), undefined)
          }
          for (const scope of texts) {
            for (const key of texts) {
              assert.deepStrictEqual(yield* cache.get(scope, key), Option.some(JSON.stringify([scope, key])))
            }
          }
          yield* cache.clear(["a"])
          assert.deepStrictEqual(yield* cache.get("a", "a"), Option.none())
          assert.isTrue(Option.isSome(yield* cache.get("a/", "a")))
          assert.isTrue(Option.isSome(yield* cache.get("", "a")))
          yield* cache.set("s", "k", "\0\uD800\\u0000", undefined)
          assert.deepStrictEqual(yield* cache.get("s", "k"), Option.some("\0\uD800\\u0000"))
        })
      ).pipe(Effect.provide(layer)))
    it.live("N1 graphs that look alike share results only under one id", () =>
      Effect.gen(function*() {
        const ran = { count: 0 }
        const results = (id: string | undefined) =>
          Effect.forEach([2, 3, 2], (factor) =>
            Effect.map(graph(id, factor, ran).invoke({ total: 1 }), ({ total }) => total))
        assert.deepStrictEqual(yield* results(undefined), [2, 3, 2])
        assert.strictEqual(ran.count, 3)
        assert.deepStrictEqual(yield* results("times/1"), [2, 2, 2])
        assert.strictEqual(ran.count, 4)
      }).pipe(Effect.provide(layer)))
  })
}

const clients = [
  ["SQLite", SqliteClient.layer({ filename: ":memory:" })],
  ["Postgres", layerPostgresClient]
] as const

for (const [name, client] of clients) {
  it.live(`a cache that fails leaves the transaction around it as it was: ${name}`, () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const cache = yield* SqlNodeCache.make
      yield* sql`CREATE TABLE things (n INTEGER)`
      yield* sql`ALTER TABLE superstep_cache_results RENAME TO hidden`
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`INSERT INTO things VALUES (1)`
        assert.deepStrictEqual(yield* cache.get("s", "k"), Option.none())
        yield* sql`INSERT INTO things VALUES (2)`
        yield* cache.set("s", "k", "1", undefined)
        yield* sql`INSERT INTO things VALUES (3)`
      }))
      assert.deepStrictEqual((yield* sql`SELECT n FROM things ORDER BY n`.values).flat(), [1, 2, 3])
      yield* sql`ALTER TABLE hidden RENAME TO superstep_cache_results`
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* cache.set("s", "k", "2", undefined)
        assert.deepStrictEqual(yield* cache.get("s", "k"), Option.some("2"))
      }))
      assert.deepStrictEqual(yield* cache.get("s", "k"), Option.some("2"))
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"), Effect.provide(client)))
}

/** A store that does nothing but fail. */
const broken = (() => {
  const fail = Effect.fail(new KeyValueStore.KeyValueStoreError({ method: "any", message: "the disk is gone" }))
  return KeyValueStore.make({
    get: () => fail,
    getUint8Array: () => fail,
    set: () => fail,
    remove: () => fail,
    clear: fail,
    size: fail,
    keys: fail
  })
})()

it.live("a cache that cannot be cleared fails typed, and is otherwise as if it were empty: a key value store", () =>
  Effect.gen(function*() {
    const cache = yield* Effect.provideService(KeyValueNodeCache.make, KeyValueStore.KeyValueStore, broken)
    yield* cache.set("s", "k", "1", undefined)
    assert.deepStrictEqual(yield* cache.get("s", "k"), Option.none())
    for (const clear of [cache.clear(), cache.clear(["s"])]) {
      const error = yield* Effect.flip(clear)
      assert.deepInclude(error, { _tag: "NodeCacheError", reason: "Storage" })
      assert.strictEqual(error.message, "storage error at the node cache: cannot clear the cache: the disk is gone")
    }
  }).pipe(Effect.provideService(References.MinimumLogLevel, "None")))

for (const [name, client] of clients) {
  it.live(`a cache that cannot be cleared fails typed: ${name}`, () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const cache = yield* SqlNodeCache.make
      yield* sql`DROP TABLE superstep_cache_results`
      for (const clear of [cache.clear(), cache.clear(["s"])]) {
        const error = yield* Effect.flip(clear)
        assert.deepInclude(error, { _tag: "NodeCacheError", reason: "Storage" })
        assert.match(error.message, /^storage error at the node cache: cannot clear the cache: /)
      }
    }).pipe(Effect.provide(client)))
}

for (const [name, client] of clients) {
  it.live(
    `what has expired is removed while results are stored, and no more at once than a little: ${name}`,
    () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const cache = yield* SqlNodeCache.make
        const count = Effect.map(
          sql<{ readonly n: number | bigint }>`SELECT count(*) AS n FROM superstep_cache_results`,
          ([row]) => Number(row!.n)
        )
        const store = (from: number, to: number, ttlMillis: number | undefined) =>
          Effect.forEach(
            Array.from({ length: to - from }, (_, index) => from + index),
            (n) => cache.set("s", String(n), String(n), ttlMillis),
            { discard: true }
          )
        yield* store(0, 2_000, 1_000)
        yield* store(2_000, 2_040, undefined)
        yield* store(2_040, 2_047, 1_000_000)
        assert.strictEqual(yield* count, 2_047)
        yield* TestClock.adjust("1 minute")
        yield* sql.withTransaction(store(2_047, 2_050, undefined))
        assert.strictEqual(yield* count, 2_050)
        yield* store(2_050, 2_051, undefined)
        assert.strictEqual(yield* count, 2_051 - 512)
        yield* store(2_051, 4_000, 1_000_000)
        assert.strictEqual(yield* count, 2_000)
        assert.deepStrictEqual(yield* cache.get("s", "2000"), Option.some("2000"))
        assert.deepStrictEqual(yield* cache.get("s", "2040"), Option.some("2040"))
      }).pipe(Effect.provide(TestClock.layer()), Effect.provide(client)),
    30_000
  )
}

describe("a cache that outlives its process", () => {
  it.live("has the results of before, but not those that have expired", () =>
    Effect.gen(function*() {
      const path = yield* filename
      const use = <A>(run: (cache: NodeCache.NodeCacheShape) => Effect.Effect<A>) =>
        Effect.provide(NodeCache.NodeCache.use(run), SqlNodeCache.layerSqlite({ filename: path }))
      yield* use((cache) => Effect.andThen(cache.set("s", "ever", "1", undefined), cache.set("s", "short", "2", 1)))
      yield* Effect.sleep(5)
      const rows = Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        return (yield* sql`SELECT value FROM superstep_cache_results`.values).flat()
      }).pipe(Effect.provide(SqliteClient.layer({ filename: path })))
      assert.deepStrictEqual(yield* rows, ["1", "2"])
      assert.deepStrictEqual(yield* use((cache) => cache.get("s", "ever")), Option.some("1"))
      assert.deepStrictEqual(yield* rows, ["1"])
    }))
  it.live("that fails later is as if it were empty", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const cache = yield* SqlNodeCache.make
      yield* sql`DROP TABLE superstep_cache_results`
      yield* cache.set("s", "k", "1", undefined)
      assert.deepStrictEqual(yield* cache.get("s", "k"), Option.none())
      const ran = { count: 0 }
      const run = Effect.provideService(graph("x/1", 2, ran).invoke({ total: 1 }), NodeCache.NodeCache, cache)
      assert.deepStrictEqual(yield* run, { total: 2 })
    }).pipe(
      Effect.provideService(References.MinimumLogLevel, "None"),
      Effect.provide(SqliteClient.layer({ filename: ":memory:" }))
    ))
  it.live("of a later version is refused", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* SqlNodeCache.make
      yield* sql`UPDATE superstep_cache_migrations SET migration_id = 99`
      assert.deepInclude(yield* Effect.flip(SqlNodeCache.make), { _tag: "NodeCacheError", reason: "Format" })
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" }))))
})
