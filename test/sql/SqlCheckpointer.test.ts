import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { chmodSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Checkpointer, type CheckpointerShape } from "superstep/Checkpointer"
import type { CheckpointError } from "superstep/GraphError"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import * as SqliteClient from "superstep/sql/SqliteClient"
import { checkpoint, commit, commitAll, commitOf, putTasks, task } from "../conformance/CheckpointerSuite.ts"
import { directory, filename } from "./files.ts"

const withFile = <A, E>(path: string, use: (saver: CheckpointerShape) => Effect.Effect<A, E>) =>
  Effect.provide(Checkpointer.use(use), SqlCheckpointer.layerSqlite({ filename: path }))

const filled = (path: string) =>
  Effect.provide(
    Effect.gen(function*() {
      yield* commitAll("t", Array.from({ length: 50 }, (_, index) => `c${index}`))
      yield* putTasks("t", [task("c49", "1")])
    }),
    SqlCheckpointer.layerSqlite({ filename: path })
  )

const sqlIn = <A>(path: string, use: (db: DatabaseSync) => A): A => {
  const db = new DatabaseSync(path)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

/** Permissions bind everybody but root. */
const asNobody = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  process.getuid?.() !== 0 ? effect : Effect.acquireUseRelease(
    Effect.sync(() => process.seteuid!(65534)),
    () => effect,
    () => Effect.sync(() => process.seteuid!(0))
  )

/** Opening fails, and the file is as it was. */
const refused = Effect.fnUntraced(function*(path: string) {
  const before = readFileSync(path)
  const error: CheckpointError = yield* Effect.flip(withFile(path, (saver) => saver.threads))
  assert.strictEqual(error._tag, "CheckpointError")
  assert.isTrue(before.equals(readFileSync(path)), "the file changed")
  return error
})

describe("files", () => {
  it.effect("what is stored is there when the file is opened again", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* filled(path)
      for (let round = 0; round < 2; round++) {
        yield* withFile(path, (saver) =>
          Effect.gen(function*() {
            assert.deepStrictEqual(yield* saver.threads, ["t"])
            assert.strictEqual(Option.getOrThrow(yield* saver.head("t", "")).id, "c49")
            const saved = Option.getOrThrow(yield* saver.get("t", "", "c49"))
            assert.deepStrictEqual([saved.chain.length, saved.tasks.length], [50, 1])
          }))
      }
      assert.deepStrictEqual(readdirSync(dirname(path)), ["threads.db"])
    }))
  it.effect("FULL and NORMAL reach SQLite", () =>
    Effect.gen(function*() {
      for (const [synchronous, level] of [["NORMAL", 1], ["FULL", 2], [undefined, 1]] as const) {
        const path = yield* filename
        const pragmas = Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const [{ synchronous }] = (yield* sql<{ synchronous: number }>`PRAGMA synchronous`) as [
            { synchronous: number }
          ]
          const [{ journal_mode }] = (yield* sql<{ journal_mode: string }>`PRAGMA journal_mode`) as [
            { journal_mode: string }
          ]
          return [synchronous, journal_mode]
        })
        const found = yield* Effect.provide(pragmas, SqliteClient.layer({ filename: path, synchronous }))
        assert.deepStrictEqual(found, [level, "wal"])
      }
    }))
  it.effect("a text file is refused and not changed", () =>
    Effect.gen(function*() {
      const path = yield* filename
      writeFileSync(path, "not a database\n".repeat(1_000))
      const error = yield* refused(path)
      assert.strictEqual(error.reason, "Storage")
      assert.include(error.message, `cannot open "${path}": it is not a SQLite database`)
      assert.deepStrictEqual(readdirSync(dirname(path)), ["threads.db"])
    }))
  it.effect("a short text file is refused and not changed", () =>
    Effect.gen(function*() {
      const path = yield* filename
      writeFileSync(path, "x")
      assert.strictEqual((yield* refused(path)).reason, "Storage")
    }))
  it.effect("an empty file is a new database", () =>
    Effect.gen(function*() {
      const path = yield* filename
      writeFileSync(path, "")
      yield* filled(path)
    }))
  it.effect("a file that only begins like a database is refused and not changed", () =>
    Effect.gen(function*() {
      const path = yield* filename
      writeFileSync(path, Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(8_176, 7)]))
      assert.strictEqual((yield* refused(path)).reason, "Storage")
    }))
  it.effect("a file that was cut off is refused and not changed", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* filled(path)
      truncateSync(path, 8_192)
      const error = yield* refused(path)
      assert.strictEqual(error.reason, "Storage")
      assert.include(error.message, "malformed")
    }))
  it.effect("damage inside a file is a typed failure", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* filled(path)
      const root = sqlIn(path, (db) =>
        db.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'superstep_checkpoints'").get()!.rootpage as number)
      const bytes = readFileSync(path)
      bytes.fill(0x5a, (root - 1) * 4_096, root * 4_096)
      writeFileSync(path, bytes)
      const error = yield* Effect.flip(withFile(path, (saver) =>
        saver.get("t", "", "c3")))
      assert.deepStrictEqual([error._tag, error.reason, error.thread], ["CheckpointError", "Storage", "t"])
      assert.include(error.message, "malformed")
    }))
  it.effect("a directory is refused", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const error: CheckpointError = yield* Effect.flip(withFile(path, (saver) => saver.threads))
      assert.strictEqual(error.reason, "Storage")
      assert.include(error.message, `cannot open "${path}": it is a directory`)
      assert.deepStrictEqual(readdirSync(path), [])
    }))
  it.effect("paths that lead nowhere are refused, and nothing is made", () =>
    Effect.gen(function*() {
      const path = yield* directory
      writeFileSync(`${path}/file`, "")
      for (
        const name of [
          `${path}/none/threads.db`,
          `${path}/file/threads.db`,
          `${path}/a\0b`,
          `${path}/${"x".repeat(300)}`
        ]
      ) {
        const error: CheckpointError = yield* Effect.flip(withFile(name, (saver) => saver.threads))
        assert.deepStrictEqual([error._tag, error.reason], ["CheckpointError", "Storage"])
      }
      assert.deepStrictEqual(readdirSync(path), ["file"])
    }))
  it.effect("a file that may not be read is refused", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* filled(path)
      chmodSync(dirname(path), 0o755)
      const threads = asNobody(withFile(path, (saver) => saver.threads))
      chmodSync(path, 0o444)
      assert.deepStrictEqual(yield* asNobody(Effect.sync(() => readFileSync(path).length > 0)), true)
      chmodSync(path, 0)
      const error: CheckpointError = yield* Effect.flip(threads)
      assert.strictEqual(error.reason, "Storage")
      assert.include(error.message, "permission denied")
    }))
  it.effect("a database of a later version is refused and not changed, in whatever journal mode", () =>
    Effect.gen(function*() {
      for (const mode of ["WAL", "DELETE"]) {
        const path = yield* filename
        yield* filled(path)
        sqlIn(
          path,
          (db) =>
            db.exec(
              `INSERT INTO superstep_migrations (migration_id, name) VALUES (2, 'later'); PRAGMA journal_mode = ${mode}`
            )
        )
        const error = yield* refused(path)
        assert.strictEqual(error.reason, "Format")
        assert.include(error.message, "written by a later version of superstep (migration 2, this version knows 1)")
      }
    }))
  it.effect("a migrations table of another kind is refused and not changed", () =>
    Effect.gen(function*() {
      const path = yield* filename
      sqlIn(path, (db) => db.exec("CREATE TABLE superstep_migrations (version TEXT)"))
      assert.strictEqual((yield* refused(path)).reason, "Format")
    }))
  it.effect("tables of another kind are refused and not changed", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* filled(path)
      sqlIn(path, (db) =>
        db.exec(
          "ALTER TABLE superstep_tasks DROP COLUMN data; PRAGMA journal_mode = DELETE; PRAGMA journal_mode = WAL"
        ))
      const error = yield* refused(path)
      assert.strictEqual(error.reason, "Format")
      assert.include(error.message, "superstep tables are not as this version knows them")
    }))
  it.effect("a database that has a table of ours without migrations gets none of the others", () =>
    Effect.gen(function*() {
      const path = yield* filename
      sqlIn(path, (db) => db.exec("PRAGMA journal_mode = WAL; CREATE TABLE superstep_heads (mine TEXT)"))
      assert.strictEqual((yield* refused(path)).reason, "Format")
      const tables = sqlIn(path, (db) => db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all())
      assert.deepStrictEqual(tables.map(({ name }) => name), ["superstep_heads"])
    }))
  it.effect("a database that has other tables keeps them", () =>
    Effect.gen(function*() {
      const path = yield* filename
      sqlIn(path, (db) => db.exec("CREATE TABLE mine (a TEXT); INSERT INTO mine VALUES ('kept')"))
      yield* filled(path)
      assert.strictEqual(sqlIn(path, (db) => db.prepare("SELECT a FROM mine").get()!.a), "kept")
    }))
  it.effect("a checkpoint that is its own ancestor does not hang", () =>
    withFile(":memory:", (saver) =>
      Effect.gen(function*() {
        yield* commit("t", commitOf(checkpoint("a", "b"), { expected: undefined }))
        yield* commit("t", commitOf(checkpoint("b", "a")))
        const saved = Option.getOrThrow(yield* saver.get("t", "", "b"))
        assert.deepStrictEqual(saved.chain.map(({ id }) => id), ["a", "b"])
      }).pipe(Effect.provideService(Checkpointer, saver))))
})

describe("tables", () => {
  const client = SqliteClient.layer({ filename: ":memory:" })
  const layer = Layer.provideMerge(SqlCheckpointer.layer, client)
  const tables = ["threads", "namespaces", "checkpoints", "tasks", "heads"]
  const count = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const counts: Array<number> = []
    for (const table of tables) {
      const rows = yield* sql.unsafe<{ n: number }>(`SELECT count(*) AS n FROM superstep_${table}`)
      counts.push(rows[0]!.n)
    }
    return counts
  })
  it.effect("a deleted thread leaves no row behind, in any table", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const saver = yield* Checkpointer
      const found = yield* sql<
        { name: string }
      >`SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'superstep%'`
      assert.sameMembers(found.map(({ name }) => name), [...tables, "migrations"].map((table) => `superstep_${table}`))
      for (const thread of ["t", "u"]) {
        yield* commitAll(thread, ["a"])
        yield* putTasks(thread, [task("a", "1")])
        yield* commit(thread, commitOf(checkpoint("b", "a")))
        yield* commitAll(thread, ["x"], { namespace: "n", place: "p" })
        yield* putTasks(thread, [task("b", "2"), task("b", "3")])
      }
      assert.deepStrictEqual(yield* count, [2, 4, 6, 6, 4])
      yield* saver.deleteThread("t")
      assert.deepStrictEqual(yield* count, [1, 2, 3, 3, 2])
      yield* saver.deleteThread("u")
      assert.deepStrictEqual(yield* count, [0, 0, 0, 0, 0])
    }).pipe(Effect.provide(layer)))
  it.effect("ids that are no hashes stay apart from those that are, and come back as they were", () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      const hash = "6162636465666768696a6b6c6d6e6f70"
      // The text whose bytes the hash writes, neighbours of it, and what its escapes could be mistaken for.
      const ids = [
        hash,
        "abcdefghijklmnop",
        "abcdefghijklmnop\0",
        "abcdefghijklmno",
        "abcdefghijklmn\0",
        "abcdefgh\\u0000",
        hash.toUpperCase(),
        "\uFEFFabcdefghijklm",
        "\0",
        ""
      ]
      yield* commitAll("t", ids)
      for (const [index, id] of ids.entries()) {
        const { chain } = Option.getOrThrow(yield* saver.get("t", "", id))
        assert.deepStrictEqual([chain.at(-1)!.id, chain.at(-1)!.parent], [id, ids[index - 1]])
      }
      assert.deepStrictEqual((yield* saver.list("t", "", {})).map(({ id }) => id), ids.toReversed())
      assert.strictEqual(Option.getOrThrow(yield* saver.head("t", "")).id, "")
    }).pipe(Effect.provide(layer)))
  it.effect("the number of a checkpoint that was removed is given again, and nothing of the old one comes with it", () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      yield* commitAll("t", ["a", "b"])
      yield* commit("t", commitOf(checkpoint("f", "a", { branch: 2 }), { expected: undefined }))
      yield* putTasks("t", [task("f", "1")], { branch: 2 })
      const removal = {
        checkpoints: [{ namespace: "", id: "f" }],
        heads: [{ branch: 2, place: "", id: "f" }],
        branch: 2
      }
      yield* saver.remove("t", { ...removal, life: "owner" })
      yield* commit("t", commitOf(checkpoint("c", "b")))
      const { chain, tasks } = Option.getOrThrow(yield* saver.get("t", "", "c"))
      assert.deepStrictEqual([chain.map(({ id }) => id), tasks], [["a", "b", "c"], []])
      assert.deepStrictEqual((yield* saver.list("t", "", {})).map(({ id }) => id), ["c", "b", "a"])
    }).pipe(Effect.provide(layer)))
  it.effect("a namespace whose checkpoints are all removed is removed, and may begin again", () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      const inside = { namespace: "n", place: "p" }
      yield* commitAll("t", ["a"])
      yield* commitAll("t", ["x"], inside)
      assert.deepStrictEqual(yield* count, [1, 2, 2, 0, 2])
      const removal = {
        checkpoints: [{ namespace: "n", id: "x" }],
        heads: [{ branch: 1, place: "p", id: "x" }],
        branch: 1
      }
      yield* saver.remove("t", { ...removal, life: "owner" })
      assert.deepStrictEqual(yield* count, [1, 1, 1, 0, 1])
      yield* commitAll("t", ["y"], inside)
      assert.deepStrictEqual((yield* saver.list("t", "n", {})).map(({ id }) => id), ["y"])
    }).pipe(Effect.provide(layer)))
  it.effect("a refused commit leaves no row behind", () =>
    Effect.gen(function*() {
      yield* Effect.flip(commit("t", commitOf(checkpoint("b", "a"), { tasks: [task("a", "1")] })))
      assert.deepStrictEqual(yield* count, [0, 0, 0, 0, 0])
    }).pipe(Effect.provide(layer)))
  it.effect("a transaction of the caller takes part: what it rolls back is not stored", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const saver = yield* Checkpointer
      yield* commitAll("t", ["a"])
      const exit = yield* Effect.exit(sql.withTransaction(Effect.gen(function*() {
        yield* commit("t", commitOf(checkpoint("b", "a")))
        assert.strictEqual(Option.getOrThrow(yield* saver.head("t", "")).id, "b")
        assert.strictEqual(
          (yield* Effect.flip(commit("t", commitOf(checkpoint("x", "a"))))).message.length > 0,
          true
        )
        return yield* Effect.fail("undo")
      })))
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(Option.getOrThrow(yield* saver.head("t", "")).id, "a")
      assert.deepStrictEqual(yield* count, [1, 1, 1, 0, 1])
    }).pipe(Effect.provide(layer)))
  it.effect("a commit makes one span, and reading none", () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      const names: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          names.push(options.name)
          return new Tracer.NativeSpan(options)
        }
      })
      const program = Effect.gen(function*() {
        yield* commit("t", commitOf(checkpoint("a"), { tasks: [task("a", "1")] }))
        yield* saver.get("t", "", "a")
        yield* saver.head("t", "")
        yield* saver.list("t", "", {})
      })
      yield* Effect.withTracer(program, tracer)
      assert.deepStrictEqual(names, ["sql.transaction"])
    }).pipe(Effect.provide(layer)))
  it.effect("an interrupted commit stores all or nothing, and the client goes on", () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      yield* commitAll("t", ["a"])
      yield* Effect.raceFirst(commit("t", commitOf(checkpoint("b", "a"))), Effect.void)
      const head = Option.getOrThrow(yield* saver.head("t", "")).id
      assert.strictEqual((yield* saver.list("t", "", {}))[0]!.id, head)
      yield* commit("t", commitOf(checkpoint("c", head)))
    }).pipe(Effect.provide(layer)))
  it.effect("100,000 tasks in one batch", () =>
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const rows = Array.from({ length: 100_000 }, (_, index) => task("a", String(index)))
      assert.strictEqual((yield* putTasks("t", rows))[99_999], rows[99_999])
      assert.deepStrictEqual(yield* putTasks("t", rows.map((row) => ({ ...row, data: "0" }))), rows)
    }).pipe(Effect.provide(layer)), 60_000)
})
