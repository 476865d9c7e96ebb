/** What a store in a database does beyond the contract of all stores. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { readFileSync, writeFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import * as Checkpointer from "superstep/Checkpointer"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import * as SqliteClient from "superstep/sql/SqliteClient"
import * as SqlStore from "superstep/sql/SqlStore"
import * as Store from "superstep/Store"
import { compareNamespaces } from "../../src/internal/store/names.ts"
import {
  compareColumns,
  keyFromColumn,
  keyToColumn,
  namespaceFromColumn,
  namespaceToColumn,
  rangeOf
} from "../../src/sql/internal/names.ts"
import { fromBytes, toBytes } from "../../src/sql/internal/vectors.ts"
import { runs } from "../laws/budget.ts"
import { layerPostgresClient } from "../Postgres.ts"
import { faultyClient } from "./Faulty.ts"
import { filename } from "./files.ts"

const sqlIn = <A>(path: string, use: (db: DatabaseSync) => A): A => {
  const db = new DatabaseSync(path)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

const withFile = <A, E>(path: string, use: (store: Store.StoreShape) => Effect.Effect<A, E>) =>
  Effect.provide(Store.Store.use(use), SqlStore.layerSqlite({ filename: path }))

const filled = (path: string) => withFile(path, (store) => store.put(["a", "b"], "k", { text: "fig" }))

describe("files", () => {
  it.effect("what is stored is there when the file is opened again, beside threads", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* filled(path)
      const threads = yield* Effect.provide(
        Checkpointer.Checkpointer.use((saver) => saver.threads),
        SqlCheckpointer.layerSqlite({ filename: path })
      )
      assert.deepStrictEqual(threads, [])
      const found = yield* withFile(path, (store) => store.search([], { query: "fig" }))
      assert.deepStrictEqual(found.map(({ key, namespace, value }) => [namespace, key, value]), [
        [["a", "b"], "k", { text: "fig" }]
      ])
    }))
  it.effect("a file of a later version, or with other tables of these names, is refused, and gets no tables", () =>
    Effect.gen(function*() {
      const later = yield* filename
      yield* filled(later)
      sqlIn(later, (db) => db.exec("UPDATE superstep_store_migrations SET migration_id = migration_id + 98"))
      const other = yield* filename
      sqlIn(other, (db) => db.exec("CREATE TABLE superstep_store_items (x TEXT)"))
      const text = yield* filename
      writeFileSync(text, "no database, but long enough to be one\n")
      const cases = [[later, "Format"], [text, "Storage"], [other, "Format"]] as const
      for (const [path, reason] of cases) {
        const before = readFileSync(path)
        const error = yield* Effect.flip(withFile(path, (store) => store.sweep))
        assert.deepInclude(error, { _tag: "StoreError", reason })
        // Opening the last one set its journal mode.
        if (path !== other) assert.isTrue(before.equals(readFileSync(path)))
      }
      const tables = sqlIn(other, (db) => db.prepare("SELECT name FROM sqlite_master").all())
      assert.deepStrictEqual(tables.map(({ name }) => name), ["superstep_store_items"])
    }))
  it.effect("what is damaged fails typed", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* filled(path)
      sqlIn(path, (db) => db.exec("UPDATE superstep_store_items SET value = '{'"))
      const error = yield* Effect.flip(withFile(path, (store) => store.search([])))
      assert.deepInclude(error, { _tag: "StoreError", reason: "Decode" })
      sqlIn(path, (db) => db.exec("DROP TABLE superstep_store_words"))
      assert.strictEqual(
        (yield* Effect.flip(withFile(path, (store) => store.search([], { query: "fig" }))))._tag,
        "StoreError"
      )
    }))
  it.live("the index of words goes with the items", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* withFile(path, (store) =>
        Effect.gen(function*() {
          yield* store.put(["a"], "1", "fig")
          yield* store.put(["a"], "1", "date")
          yield* store.put(["a"], "2", "fig")
          yield* store.delete(["a"], "2")
          yield* store.put(["a"], "3", "fig", { index: false })
          yield* store.put(["a"], "4", "fig", { ttl: 1 })
        }))
      yield* Effect.sleep(5)
      yield* Effect.provide(
        Store.Store.use((store) => store.sweep),
        SqlStore.layerSqlite({ filename: path })
      )
      const count = (word: string) =>
        sqlIn(path, (db) =>
          db.prepare("SELECT count(*) AS n FROM superstep_store_words WHERE superstep_store_words MATCH ?").get(word)!
            .n)
      assert.deepStrictEqual([count("fig"), count("date")], [0, 1])
    }))
  it.effect("a batch that fails in its midst stores nothing, and refreshes nothing", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* withFile(path, (store) => store.put(["a"], "k", 1, { ttl: 10 }))
      sqlIn(path, (db) =>
        db.exec(`CREATE TRIGGER refuses BEFORE INSERT ON superstep_store_items WHEN new.key = 'l'
          BEGIN SELECT RAISE(ABORT, 'refused'); END`))
      yield* withFile(path, (store) =>
        Effect.gen(function*() {
          yield* TestClock.adjust(9)
          const error = yield* Effect.flip(store.batch([
            { _tag: "Get", namespace: ["a"], key: "k", refreshTtl: true },
            { _tag: "Put", namespace: ["a"], key: "a", value: 1 },
            { _tag: "Put", namespace: ["a"], key: "l", value: 1 },
            { _tag: "Put", namespace: ["a"], key: "z", value: 1 }
          ]))
          assert.deepInclude(error, { _tag: "StoreError", reason: "Storage" })
          assert.include(error.message, "refused")
          const keys = Effect.map(store.search(["a"], { refreshTtl: false }), (found) => found.map(({ key }) => key))
          assert.deepStrictEqual(yield* keys, ["k"])
          yield* TestClock.adjust(1)
          assert.deepStrictEqual(yield* keys, [])
        }))
    }))
  it.live("several that open a new file at once all can use it", () =>
    Effect.gen(function*() {
      const path = yield* filename
      const use = (at: number) => withFile(path, (store) => store.put(["a"], String(at), at))
      yield* Effect.forEach([1, 2, 3, 4, 5], use, { concurrency: "unbounded" })
      assert.strictEqual((yield* withFile(path, (store) => store.search(["a"]))).length, 5)
    }))
})

describe("Postgres", () => {
  it.live("several that come first at once all can use it, and queries use the indexes", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const made = yield* Effect.forEach([1, 2, 3], () => SqlStore.make(), { concurrency: "unbounded" })
      for (const [at, store] of made.entries()) yield* store.put(["a"], String(at), "fig")
      assert.strictEqual((yield* made[0]!.search(["a"], { query: "fig" })).length, 3)
      const plan = yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`SET LOCAL enable_seqscan = off`
        return yield* sql`EXPLAIN SELECT * FROM superstep_store_items
          WHERE string_to_array(words, ' ') && string_to_array(CAST(${"fig"} AS TEXT), ' ')`.values
      }))
      assert.include(JSON.stringify(plan), "superstep_store_words")
    }).pipe(Effect.provide(layerPostgresClient)))
})

describe("reads that refresh", () => {
  const odd = ["\u{1F600}", "\uFFFF", "\0", "\uD800", "a\"'?", "\u0001"]
  const put = (key: string, ttl: number | undefined) => ({
    _tag: "Put" as const,
    namespace: ["a", key],
    key,
    value: key,
    ...ttl === undefined ? {} : { ttl }
  })
  const clients = [
    ["SQLite", SqliteClient.layer({ filename: ":memory:" })],
    ["Postgres", layerPostgresClient]
  ] as const

  for (const [name, client] of clients) {
    it.live(`make all that was read live on, and nothing else: ${name}`, () =>
      Effect.gen(function*() {
        const store = yield* SqlStore.make()
        const keys = [...odd, ...Array.from({ length: 700 }, (_, at) => `k${at}`)]
        yield* store.batch(keys.map((key) => put(key, 10)))
        yield* store.batch([put("short", 5), put("ever", undefined)])
        yield* store.put(["b"], "other", 1, { ttl: 10 })
        yield* TestClock.adjust(6)
        const found = yield* store.search(["a"], { limit: 1_000, refreshTtl: true })
        assert.strictEqual(found.length, keys.length + 1)
        yield* TestClock.adjust(6)
        const left = yield* store.search([], { limit: 1_000, refreshTtl: false })
        assert.deepStrictEqual(new Set(left.map(({ key }) => key)), new Set([...keys, "ever"]))
        yield* TestClock.adjust(4)
        assert.deepStrictEqual((yield* store.search([])).map(({ key }) => key), ["ever"])
      }).pipe(Effect.provide(TestClock.layer()), Effect.provide(client)))
  }

  it.live("take few statements, however many items they give", () =>
    Effect.gen(function*() {
      let statements = 0
      const counted = <A, E, R>(statement: Effect.Effect<A, E, R>) =>
        Effect.andThen(Effect.sync(() => statements++), statement)
      const sql = yield* faultyClient(yield* filename, counted)
      const store = yield* Effect.provideService(SqlStore.make(), SqlClient.SqlClient, sql)
      yield* store.batch(Array.from({ length: 3_000 }, (_, at) => put(`k${at}`, 60_000)))
      statements = 0
      assert.strictEqual((yield* store.search(["a"], { limit: 3_000, refreshTtl: true })).length, 3_000)
      assert.isBelow(statements, 40)
    }).pipe(Effect.provide(Reactivity.layer)))
})

it.effect("a client of another dialect is a defect", () =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const other = {
      ...sql,
      withoutTransforms: () => other,
      driver: "mssql",
      onDialectOrElse: (o: { orElse: () => unknown }) => o.orElse()
    }
    const exit = yield* Effect.exit(Effect.provideService(SqlStore.make(), SqlClient.SqlClient, other as never))
    assert.include(String(exit), "SqlStore speaks the SQL of SQLite and Postgres")
  }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" }))))

describe("columns", () => {
  const char = fc.oneof(
    fc.constantFrom("a", "b", "\0", "\u0001", "\u0002", "\u0003", "\uD7FE", "\uD7FF", "\uD800", "\uDFFF", "\uE000"),
    fc.constantFrom("\u{1F600}", "\uFFFF", "\u4DFF", "\u4E00", "\u55FF", "\u5600", "c")
  )
  const label = fc.array(char, { minLength: 1, maxLength: 4 }).map((chars) => chars.join(""))
  const namespace = fc.array(label, { maxLength: 3 })
  const { arbitrary: { runs: numRuns } } = runs(2_000)
  const bytes = (text: string) => Buffer.from(text, "utf8")

  it("M1 come back as they were, in the order of names, and begin with another only if the name does", () => {
    fc.assert(
      fc.property(namespace, namespace, (a, b) => {
        const [one, other] = [namespaceToColumn(a), namespaceToColumn(b)]
        assert.deepStrictEqual(namespaceFromColumn(one), a)
        assert.isFalse(one.includes("\0"))
        assert.isTrue(one.isWellFormed())
        const order = bytes(one).compare(bytes(other))
        assert.strictEqual(order, Math.sign(compareNamespaces(a, b)))
        assert.strictEqual(order, Math.sign(compareColumns(one, other)))
        const isBelow = a.length <= b.length && a.every((part, at) => part === b[at])
        assert.strictEqual(other.startsWith(one), isBelow)
        if (a.length === 0) return
        const [from, before] = rangeOf(a)
        assert.strictEqual(bytes(other).compare(bytes(from)) >= 0 && bytes(other).compare(bytes(before)) < 0, isBelow)
      }),
      { numRuns }
    )
  })
  it("hold keys of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: char }), (key) => assert.strictEqual(keyFromColumn(keyToColumn(key)), key)),
      {
        numRuns
      }
    )
  })
  it("hold vectors of any length", () => {
    const vectors = [Float32Array.of(1, -0.5, 1e-20), Float32Array.of(), Float32Array.of(3)]
    assert.deepStrictEqual(fromBytes(toBytes(vectors)), vectors)
    // As some clients give them: a part of what is shared.
    assert.deepStrictEqual(fromBytes(Buffer.concat([Buffer.alloc(3), toBytes(vectors)!]).subarray(3)), vectors)
    assert.strictEqual(toBytes([]), null)
    assert.deepStrictEqual(fromBytes(null), [])
    assert.deepStrictEqual(fromBytes(toBytes(vectors)!.subarray(0, 10)), [])
  })
})
