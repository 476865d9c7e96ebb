import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { writeFileSync } from "node:fs"
import * as SqliteClient from "superstep/sql/SqliteClient"
import { directory, filename } from "./files.ts"

const memory = SqliteClient.layer({ filename: ":memory:" })

const numbers = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE numbers (n INTEGER PRIMARY KEY, text TEXT UNIQUE)`
  yield* sql.unsafe("INSERT INTO numbers SELECT value, 't' || value FROM json_each(?)", [
    JSON.stringify([...new Array(1_000).keys()])
  ])
  return sql
})

describe("SqliteClient", () => {
  it.effect("values of all kinds come back", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      // Node 22 reads a text up to its first NUL.
      const text = Number.parseInt(process.versions.node) < 24 ? "ü🧵" : "ü\0🧵"
      const params = [text, 1.5, 2n ** 40n, null, new Uint8Array([1, 0, 255]), true, undefined]
      const rows = yield* sql.unsafe(`SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e, ? AS f, ? AS g`, params)
      assert.deepStrictEqual({ ...rows[0] }, {
        a: text,
        b: 1.5,
        c: 2 ** 40,
        d: null,
        e: new Uint8Array([1, 0, 255]),
        f: 1,
        g: null
      })
    }).pipe(Effect.provide(memory)))
  it.effect("no bytes are bytes", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (const value of [new Uint8Array(0), new TextEncoder().encode(""), Buffer.alloc(0)]) {
        const rows = yield* sql.unsafe<{ type: string }>("SELECT typeof(?) AS type", [value])
        assert.strictEqual(rows[0]!.type, "blob")
      }
    }).pipe(Effect.provide(memory)))
  it.effect("an object is no value, and no named parameters", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (const value of [{ a: 1 }, [1], () => 1, Symbol("s"), new Map()]) {
        const error = yield* Effect.flip(sql.unsafe("SELECT ? AS a", [value]))
        assert.include(error.message, "cannot be bound")
      }
    }).pipe(Effect.provide(memory)))
  it.effect("one statement serves rows, values and bigints in turn", () =>
    Effect.gen(function*() {
      const sql = yield* numbers
      const query = sql`SELECT n FROM numbers WHERE n = ${7}`
      for (let round = 0; round < 2; round++) {
        assert.deepStrictEqual((yield* query).map((row) => ({ ...row })), [{ n: 7 }])
        assert.deepStrictEqual(yield* query.values, [[7]])
        const big = yield* Effect.provideService(query, SqlClient.SafeIntegers, true)
        assert.deepStrictEqual({ ...big[0] }, { n: 7n })
      }
    }).pipe(Effect.provide(memory)))
  it.effect("more statements than are kept", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (let round = 0; round < 2; round++) {
        for (let n = 0; n < 10; n++) assert.deepStrictEqual(yield* sql.unsafe(`SELECT ${n}`).values, [[n]])
      }
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:", prepareCacheSize: 3 }))))
  it.effect("a stream gives all rows, and one that is dropped holds nothing open", () =>
    Effect.gen(function*() {
      const sql = yield* numbers
      const query = sql<{ n: number }>`SELECT n FROM numbers ORDER BY n`
      assert.strictEqual((yield* Stream.runCollect(query.stream)).length, 1_000)
      assert.deepStrictEqual((yield* Stream.runCollect(Stream.take(query.stream, 3))).map(({ n }) => n), [0, 1, 2])
      yield* sql`DROP TABLE numbers`
      assert.strictEqual((yield* Effect.flip(Stream.runCollect(query.stream)))._tag, "SqlError")
    }).pipe(Effect.provide(memory)))
  it.effect("a transaction that fails or is nested", () =>
    Effect.gen(function*() {
      const sql = yield* numbers
      const count = Effect.map(sql`SELECT count(*) FROM numbers`.values, (rows) => rows[0]![0])
      const failing = sql.withTransaction(Effect.andThen(sql`DELETE FROM numbers`, Effect.fail("no")))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(failing)))
      assert.strictEqual(yield* count, 1_000)
      yield* sql.withTransaction(Effect.andThen(Effect.ignore(failing), sql`DELETE FROM numbers WHERE n = 1`))
      assert.strictEqual(yield* count, 999)
    }).pipe(Effect.provide(memory)))
  it.effect("failures are told apart", () =>
    Effect.gen(function*() {
      const sql = yield* numbers
      const reason = (query: string) => Effect.map(Effect.flip(sql.unsafe(query)), ({ reason }) => reason._tag)
      assert.strictEqual(yield* reason("INSERT INTO numbers VALUES (5000, 't1')"), "UniqueViolation")
      assert.strictEqual(yield* reason("INSERT INTO numbers VALUES (1, 'new')"), "ConstraintError")
      assert.strictEqual(yield* reason("SELEC 1"), "UnknownError")
    }).pipe(Effect.provide(memory)))
  it.effect("foreign keys are enforced", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE a (id INTEGER PRIMARY KEY)`
      yield* sql`CREATE TABLE b (a INTEGER REFERENCES a (id))`
      assert.strictEqual((yield* Effect.flip(sql`INSERT INTO b VALUES (1)`)).reason._tag, "ConstraintError")
    }).pipe(Effect.provide(memory)))
  it.effect("a file opened to read cannot be changed", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* Effect.provide(numbers, SqliteClient.layer({ filename: path }))
      const program = Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual(yield* sql`SELECT count(*) FROM numbers`.values, [[1_000]])
        assert.include((yield* Effect.flip(sql`DELETE FROM numbers`)).message, "readonly")
      })
      yield* Effect.provide(program, SqliteClient.layer({ filename: path, readonly: true }))
    }))
  it.effect("what is no database gives one clear error", () =>
    Effect.gen(function*() {
      const path = yield* directory
      writeFileSync(`${path}/text`, "hello, this is no database")
      const messageOf = (filename: string) =>
        Effect.map(Effect.flip(Effect.provide(SqlClient.SqlClient, SqliteClient.layer({ filename }))), ({ message }) =>
          message)
      assert.strictEqual(yield* messageOf(path), `cannot open "${path}": it is a directory`)
      assert.strictEqual(yield* messageOf(`${path}/text`), `cannot open "${path}/text": it is not a SQLite database`)
      assert.strictEqual(yield* messageOf("/dev/null"), `cannot open "/dev/null": it is no regular file`)
      assert.include(yield* messageOf(`${path}/none/db`), "unable to open database file")
    }))
})
