/** What a store does with the extension `vector` of Postgres, and without it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Random } from "effect"
import { SqlClient } from "effect/sql"
import * as SqlStore from "superstep/sql/SqlStore"
import * as Store from "superstep/Store"
import { errorOf, unitOf, unitsOf } from "../../src/sql/internal/pgvector.ts"
import { layerPgliteClient } from "../Pglite.ts"
import { hasVectors, layerPlainClient, layerVectorsClient } from "../Postgres.ts"
import { layerVectors } from "../Stores.ts"

type Client = Layer.Layer<SqlClient.SqlClient, unknown>

const clients: ReadonlyArray<readonly [string, Client, boolean]> = [
  ["embedded", layerPgliteClient, true],
  [`server${hasVectors ? "" : ": pgvector is not installed"}`, layerVectorsClient, hasVectors]
]

const test = <A, E>(
  name: string,
  client: Client,
  effect: Effect.Effect<A, E, SqlClient.SqlClient | Layer.Success<typeof layerVectors>>
) => it.live(name, () => effect.pipe(Effect.provide([client, layerVectors])), 60_000)

const made = SqlStore.make({ semantic: true })

const put = (store: Store.StoreShape, key: string, ...vectors: ReadonlyArray<ReadonlyArray<number>>) =>
  store.put(["a"], key, { key, vectors: vectors as Array<Array<number>> }, { index: ["vectors[*]"] })

const found = (store: Store.StoreShape, query: ReadonlyArray<number>, options?: Store.SearchOptions) =>
  Effect.map(
    store.search(["a"], { ...options, query: JSON.stringify(query) }),
    (items) => items.map(({ key, score }) => [key, score] as const)
  )

/** Rows whose vectors the database can compare, by key. */
const ready = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ key: string }>`SELECT key FROM superstep_store_items WHERE has_units ORDER BY key`
  return rows.map(({ key }) => key)
})

const isInstalled = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT 1 FROM pg_extension WHERE extname = 'vector'`).length > 0
})

/** As a role that may use the schema, read what is there, and nothing more. */
const asPlain = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ name: string }>`SELECT current_schema() AS name`
    yield* sql.unsafe(`CREATE ROLE plain_${row!.name}`)
    yield* sql.unsafe(`GRANT ALL ON SCHEMA ${row!.name} TO plain_${row!.name}`)
    yield* sql.unsafe(`GRANT SELECT ON ALL TABLES IN SCHEMA ${row!.name} TO plain_${row!.name}`)
    yield* sql.unsafe(`SET ROLE plain_${row!.name}`)
    const given = yield* effect
    yield* sql`RESET ROLE`
    return given
  })

for (const [name, client, isThere] of clients) {
  describe.skipIf(!isThere)(`Postgres with pgvector (${name})`, () => {
    test(
      "the database finds what may be the best, and the process scores it",
      client,
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const store = yield* made
        yield* put(store, "best", [1, 0])
        yield* put(store, "good", [3, 4])
        yield* put(store, "none")
        assert.isTrue(yield* isInstalled)
        assert.deepStrictEqual(yield* ready, ["best", "good"])
        assert.deepStrictEqual(yield* found(store, [2, 0]), [["best", 1], ["good", 0.6], ["none", undefined]])
        yield* sql`UPDATE superstep_store_items SET units = NULL WHERE key = 'best'`
        assert.deepStrictEqual(yield* found(store, [2, 0], { limit: 1 }), [["good", 0.6]])
      })
    )
    test(
      "vectors of any lengths stand side by side, those too long for the extension too",
      client,
      Effect.gen(function*() {
        const store = yield* made
        const long = (length: number, first: number) => Array.from({ length }, (_, at) => at === 0 ? first : 1)
        for (const length of [1, 2, 2_001, 4_001, 16_000, 16_001]) {
          yield* put(store, `${length}`, long(length, 1))
          yield* put(store, `${length} less`, [1], long(length, -9))
        }
        yield* put(store, "none")
        for (const length of [2, 2_001, 4_001, 16_000, 16_001]) {
          const all = yield* found(store, long(length, 1), { limit: 20 })
          assert.strictEqual(all.length, 13)
          assert.deepStrictEqual(all.slice(0, 2).map(([key]) => key), [`${length}`, `${length} less`])
          assert.approximately(all[0]![1]!, 1, 1e-12)
          assert.deepStrictEqual([...new Set(all.slice(2).map(([, score]) => score))], [undefined])
        }
        assert.deepStrictEqual(yield* ready, [
          "1",
          "1 less",
          "16000",
          "16000 less",
          "2",
          "2 less",
          "2001",
          "2001 less",
          "4001",
          "4001 less"
        ])
      })
    )
    test(
      "a filter that fits few finds the best of them, among many",
      client,
      Effect.gen(function*() {
        const store = yield* made
        const memory = yield* Store.makeMemory({ semantic: true })
        const puts = yield* Effect.forEach(Array.from({ length: 2_500 }, (_, at) => at), (at) =>
          Effect.map(
            Effect.all([Random.next, Random.next, Random.next]),
            (vector): Store.Operation => ({
              _tag: "Put",
              namespace: ["a", String(at % 3)],
              key: String(at).padStart(4, "0"),
              // Many are alike, and some have nothing to compare.
              value: { at, vectors: at % 50 === 0 ? [] : at % 7 === 0 ? [[1, 2, 3]] : [vector] },
              index: ["vectors[*]"]
            })
          ))
        const names = (items: ReadonlyArray<Store.SearchItem>) => items.map(({ key, score }) => [key, score])
        for (const one of [store, memory]) yield* one.batch(puts)
        for (const gte of [0, 1_500, 2_400, 2_490, 2_500]) {
          for (const [limit, offset] of [[10, 0], [5, 7], [1_000, 90]] as const) {
            for (const query of ["[1,2,3]", "[1,-1,0.5]"]) {
              const options = { query, limit, offset, filter: { at: Store.where({ gte }) } }
              // The first of one instant is the same for both, but not the instants.
              const [is, should] = [yield* store.search(["a"], options), yield* memory.search(["a"], options)]
              assert.deepStrictEqual(names(is), names(should))
            }
          }
        }
      })
    )
    test(
      "what 32 bits cannot tell apart comes in the right order",
      client,
      Effect.gen(function*() {
        const stores = [yield* made, yield* Store.makeMemory({ semantic: true })] as const
        const vectors = Array.from(
          { length: 60 },
          (_, at) =>
            Array.from({ length: 32 }, (_, place) => Math.sin(place) + 1e-4 * Math.sin(at * 32 + place * place))
        )
        for (const store of stores) {
          for (const [at, vector] of vectors.entries()) yield* put(store, String(at), vector)
        }
        for (const query of vectors) {
          for (const limit of [1, 7]) {
            const [is, should] = yield* Effect.forEach(stores, (store) => found(store, query, { limit }))
            assert.deepStrictEqual(is, should)
          }
        }
      })
    )
    test(
      "a filter does not stop at what the database has not compared",
      client,
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const store = yield* made
        const many = Array.from({ length: 600 }, (_, at) => String(at))
        yield* store.batch([...many, "later", "worst", "other"].map((key): Store.Operation => ({
          _tag: "Put",
          namespace: ["a"],
          key,
          value: {
            isMany: many.includes(key),
            vectors: [key === "later" ? [1, 1] : key === "worst" ? [-1, 0] : key === "other" ? [1] : [1, 0]]
          },
          index: ["vectors[*]"]
        })))
        yield* sql`UPDATE superstep_store_items SET has_units = FALSE WHERE key IN ('worst', 'other')`
        const keys = (limit: number) =>
          Effect.map(found(store, [1, 0], { limit, filter: { isMany: false } }), (all) => all.map(([key]) => key))
        assert.deepStrictEqual(yield* keys(1), ["later"])
        assert.deepStrictEqual(yield* keys(2), ["later", "worst"])
        assert.deepStrictEqual(yield* keys(4), ["later", "worst", "other"])
      })
    )
  })
}

describe("an extension that comes and goes", () => {
  test(
    "without the right to make it all is as without it, also within a transaction",
    layerPgliteClient,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* asPlain(sql.withTransaction(Effect.gen(function*() {
        const store = yield* made
        yield* put(store, "k", [1, 0])
        assert.deepStrictEqual(yield* found(store, [1, 0]), [["k", 1]])
      })))
      assert.isFalse(yield* isInstalled)
      assert.deepStrictEqual(yield* ready, [])
    })
  )
  test(
    "on a server, too",
    layerPlainClient,
    Effect.gen(function*() {
      const stores = yield* Effect.forEach([1, 2, 3], () => made, { concurrency: "unbounded" })
      for (const [at, store] of stores.entries()) yield* put(store, String(at), [1, 0])
      assert.strictEqual((yield* found(stores[0]!, [1, 0])).length, 3)
      assert.isFalse(yield* isInstalled)
    })
  )
  test(
    "who may only read uses what is there",
    layerPgliteClient,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const store = yield* made
      for (const key of ["1", "2", "3"]) yield* put(store, key, [Number(key), 1])
      yield* sql`UPDATE superstep_store_items SET has_units = FALSE WHERE key = '2'`
      yield* sql`UPDATE superstep_store_items SET units = NULL WHERE key = '3'`
      const read = yield* asPlain(Effect.flatMap(made, (store) => found(store, [1, 0], { limit: 1 })))
      // The database was asked: it no longer knows the third.
      assert.deepStrictEqual(read.map(([key]) => key), ["2"])
      assert.deepStrictEqual(yield* ready, ["1", "3"])
    })
  )
  test(
    "a store of words makes none",
    layerPgliteClient,
    Effect.gen(function*() {
      yield* SqlStore.make()
      assert.isFalse(yield* isInstalled)
    })
  )
  test(
    "when it comes, what was stored before is compared by it, and what is stored without it is found",
    layerPgliteClient,
    Effect.gen(function*() {
      const before = yield* asPlain(made)
      yield* put(before, "1", [1, 0])
      yield* put(before, "2", [1, 1], [0, 1])
      yield* put(before, "none")
      const store = yield* made
      assert.deepStrictEqual(yield* ready, ["1", "2"])
      yield* put(before, "1", [0, 1])
      yield* put(before, "3", [2, 1])
      assert.deepStrictEqual(yield* ready, ["2"])
      const query = [1, 0]
      assert.deepStrictEqual((yield* found(store, query)).map(([key]) => key), ["3", "2", "1", "none"])
      assert.deepStrictEqual(yield* found(store, query), yield* found(before, query))
      yield* put(store, "1", [1, 0])
      assert.deepStrictEqual((yield* found(store, query, { limit: 1 })).map(([key]) => key), ["1"])
      assert.deepStrictEqual(yield* found(store, query), yield* found(before, query))
      yield* made
      assert.deepStrictEqual(yield* ready, ["1", "2", "3"])
    })
  )
  test(
    "a database of before has its vectors compared, too",
    layerPgliteClient,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const before = yield* asPlain(made)
      yield* put(before, "1", [1, 0])
      yield* sql`ALTER TABLE superstep_store_items DROP COLUMN has_units`
      yield* sql`DELETE FROM superstep_store_migrations WHERE migration_id = 2`
      const store = yield* made
      assert.deepStrictEqual(yield* ready, ["1"])
      assert.deepStrictEqual(yield* found(store, [2, 0]), [["1", 1]])
    })
  )
  test(
    "when it goes, a store that is in use goes on, and no vector is lost",
    layerPgliteClient,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const stores = [yield* made, yield* made]
      for (const [at, store] of stores.entries()) yield* put(store, `${at}`, [1, at])
      const all = yield* found(stores[0]!, [1, 0])
      yield* sql`DROP EXTENSION vector CASCADE`
      const error = yield* Effect.flip(sql.withTransaction(found(stores[0]!, [1, 0])))
      assert.deepInclude(error, { _tag: "StoreError", reason: "Storage" })
      yield* sql.withTransaction(put(stores[1]!, "1", [1, 1]))
      assert.deepStrictEqual(yield* found(stores[0]!, [1, 0]), all)
      yield* put(stores[1]!, "2", [1, 2])
      const more = yield* found(stores[0]!, [1, 0])
      assert.deepStrictEqual(more.map(([key]) => key), ["0", "1", "2"])
      assert.isFalse(yield* isInstalled)

      // It is made again, with vectors of all.
      const after = yield* made
      assert.isTrue(yield* isInstalled)
      assert.deepStrictEqual(yield* ready, ["0", "1", "2"])
      assert.deepStrictEqual(yield* found(after, [1, 0]), more)
      assert.deepStrictEqual(yield* found(stores[0]!, [1, 0]), more)
    })
  )
  test(
    "it may be in any schema, and its type in another path",
    layerPgliteClient,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(`CREATE SCHEMA "Odd ? ""name"""`)
      yield* sql.unsafe(`CREATE EXTENSION vector SCHEMA "Odd ? ""name"""`)
      const store = yield* made
      yield* put(store, "k", [1, 0])
      assert.deepStrictEqual(yield* ready, ["k"])
      assert.deepStrictEqual(yield* found(store, [1, 0]), [["k", 1]])
      yield* sql.unsafe("DROP EXTENSION vector CASCADE")
      yield* sql.unsafe(`DROP SCHEMA "Odd ? ""name"""`)
    })
  )
  test(
    "an error of another kind stays one",
    layerPgliteClient,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const store = yield* made
      yield* sql`ALTER TABLE superstep_store_items ADD CONSTRAINT refused CHECK (key <> 'k')`
      const error = yield* Effect.flip(put(store, "k", [1, 0]))
      assert.deepInclude(error, { _tag: "StoreError", reason: "Storage" })
      yield* put(store, "l", [1, 0])
      assert.deepStrictEqual(yield* ready, ["l"])
    })
  )
})

describe.skipIf(!hasVectors)(`a server${hasVectors ? "" : ": pgvector is not installed"}`, () => {
  test(
    "several that come first at once all can use it",
    layerVectorsClient,
    Effect.gen(function*() {
      const stores = yield* Effect.forEach([1, 2, 3, 4], () => made, { concurrency: "unbounded" })
      yield* Effect.forEach(stores.entries(), ([at, store]) => put(store, String(at), [1, at]), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual((yield* found(stores[3]!, [1, 0])).map(([key]) => key), ["0", "1", "2", "3"])
      assert.strictEqual((yield* ready).length, 4)
    })
  )
})

describe("unit vectors", () => {
  it("keep the direction, however long the vectors are", () => {
    for (const factor of [1, 2 ** -100, 2 ** 100]) {
      assert.strictEqual(unitOf(Float32Array.of(3 * factor, -4 * factor)), "[0.600000000,-0.800000000]")
    }
    assert.strictEqual(unitOf(Float32Array.of(0, 0)), "[0,0]")
    assert.strictEqual(
      unitsOf([Float32Array.of(1), Float32Array.of(0, 2)]),
      `{"[1.000000000]","[0.000000000,1.000000000]"}`
    )
  })
  it("are none where the extension would refuse one of them", () => {
    const fine = Float32Array.of(1)
    for (
      const vector of [Float32Array.of(), Float32Array.of(1, NaN), Float32Array.of(Infinity), new Float32Array(16_001)]
    ) {
      assert.strictEqual(unitsOf([fine, vector]), null)
    }
    assert.strictEqual(unitsOf([]), null)
    assert.isAbove(errorOf(16_000), 16_000 * 2 ** -24)
  })
})
