import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { Checkpointer } from "superstep/Checkpointer"
import { layerSqlite } from "superstep/sql/SqlCheckpointer"
import { checkpoint, commit, commitOf } from "../conformance/CheckpointerSuite.ts"
import { filename } from "./files.ts"

const script = fileURLToPath(new URL("child.ts", import.meta.url))

interface Child {
  readonly process: ChildProcess
  readonly hear: Effect.Effect<string>
  readonly say: (line: string) => Effect.Effect<void>
  /** What it has said and nobody has heard, after its end. */
  readonly rest: Effect.Effect<ReadonlyArray<string>>
}

/** Another process, that ends with the test. */
const child = (mode: string, filename: string, owner: string): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const started = spawn(process.execPath, ["--conditions=superstep-src", script, mode, filename, owner], {
          stdio: ["pipe", "pipe", "inherit"]
        })
        return { started, lines: createInterface({ input: started.stdout })[Symbol.asyncIterator]() }
      }),
      ({ started }) => Effect.sync(() => void started.kill("SIGKILL"))
    ),
    ({ lines, started }) => ({
      process: started,
      hear: Effect.promise(async () => {
        const line = await lines.next()
        return line.done === true ? "gone" : line.value
      }),
      say: (line) => Effect.sync(() => void started.stdin.write(`${line}\n`)),
      rest: Effect.promise(async () => {
        const rest: Array<string> = []
        for (let line = await lines.next(); line.done !== true; line = await lines.next()) rest.push(line.value)
        return rest
      })
    })
  )

const integrity = (filename: string): unknown => {
  const db = new DatabaseSync(filename)
  try {
    return [
      db.prepare("PRAGMA integrity_check").get()!.integrity_check,
      db.prepare("PRAGMA foreign_key_check").all().length
    ]
  } finally {
    db.close()
  }
}

describe("processes on one file", () => {
  it.live("several that open a new file at once all find it ready", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 2; round++) {
        const path = yield* filename
        const children = yield* Effect.forEach([1, 2, 3, 4], (index) => child("open", path, `o${index}`))
        for (const { hear } of children) assert.strictEqual(yield* hear, "ready")
        for (const { say } of children) yield* say("go")
        for (const { hear } of children) assert.strictEqual(yield* hear, "opened 0")
        const db = new DatabaseSync(path)
        assert.strictEqual(db.prepare("SELECT count(*) AS n FROM superstep_migrations").get()!.n, 1)
        db.close()
      }
    }), 60_000)

  it.live("of two that commit on one head exactly one wins", () =>
    Effect.gen(function*() {
      const path = yield* filename
      const layer = layerSqlite({ filename: path })
      yield* Effect.provide(commit("t", commitOf(checkpoint("0"))), layer)
      const a = yield* child("rounds", path, "a")
      const b = yield* child("rounds", path, "b")
      yield* a.hear
      yield* b.hear
      const winners: Array<string> = []
      let head = "0"
      for (let round = 1; round <= 100; round++) {
        yield* a.say(head)
        yield* b.say(head)
        const said = [yield* a.hear, yield* b.hear]
        assert.sameMembers(said, ["won", "ThreadConflict"], `round ${round}`)
        head = `${round}-${said[0] === "won" ? "a" : "b"}`
        winners.push(head)
      }
      yield* a.say("end")
      yield* b.say("end")
      yield* Effect.provide(
        Effect.gen(function*() {
          const saver = yield* Checkpointer
          const rows = yield* saver.list("t", "", {})
          assert.deepStrictEqual(rows.map(({ id }) => id), [...winners.toReversed(), "0"])
          assert.strictEqual(Option.getOrThrow(yield* saver.head("t", "")).id, head)
          // Nothing of a lost commit is stored: the task beside each checkpoint is the winner's.
          for (const [index, id] of ["0", ...winners.slice(0, -1)].entries()) {
            const saved = Option.getOrThrow(yield* saver.get("t", "", id))
            assert.deepStrictEqual(saved.tasks.map(({ data }) => JSON.parse(data)), [winners[index]])
          }
        }),
        layer
      )
    }), 60_000)

  it.live(
    "one that is killed while it commits leaves all that was acknowledged, and a sound file",
    () =>
      Effect.gen(function*() {
        const path = yield* filename
        let acknowledged = -1
        for (let round = 0; round < 4; round++) {
          const killed = yield* child("endless", path, `o${round}`)
          assert.strictEqual(yield* killed.hear, "ready")
          for (let count = 0; count < 20; count++) yield* killed.hear
          yield* Effect.sleep(`${37 * round} millis`)
          const ended = once(killed.process, "exit")
          killed.process.kill("SIGKILL")
          yield* Effect.promise(() => ended)
          const rest = yield* killed.rest
          acknowledged = rest.length > 0 ? Number(rest.at(-1)) : acknowledged + 20
          assert.deepStrictEqual(integrity(path), ["ok", 0])
          yield* Effect.provide(
            Effect.gen(function*() {
              const saver = yield* Checkpointer
              const stored = Number(Option.getOrThrow(yield* saver.head("t", "")).id)
              // The last commit may have been stored just before it could be told.
              assert.include([acknowledged, acknowledged + 1], stored)
              acknowledged = stored
              const rows = yield* saver.list("t", "", {})
              assert.deepStrictEqual(
                rows.map(({ id }) => Number(id)),
                Array.from({ length: stored + 1 }, (_, n) => stored - n)
              )
              const saved = Option.getOrThrow(yield* saver.get("t", "", String(stored - 1)))
              assert.deepStrictEqual(saved.tasks.map(({ data }) => JSON.parse(data)), [String(stored)])
            }),
            layerSqlite({ filename: path })
          )
        }
      }),
    60_000
  )

  it.live("one that waits for another's lock lets its own fibers run, and gets through", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* Effect.provide(
        Effect.gen(function*() {
          const saver = yield* Checkpointer
          const db = new DatabaseSync(path)
          db.exec("BEGIN IMMEDIATE")
          const unlock = Effect.andThen(Effect.sleep("600 millis"), Effect.sync(() => db.exec("ROLLBACK")))
          yield* Effect.all([commit("t", commitOf(checkpoint("a"))), unlock], { concurrency: "unbounded" })
          db.close()
          assert.strictEqual((yield* saver.list("t", "", {})).length, 1)
        }),
        layerSqlite({ filename: path })
      )
    }), 60_000)

  it.live("one whose file stays locked says so", () =>
    Effect.gen(function*() {
      const path = yield* filename
      yield* Effect.provide(
        Effect.gen(function*() {
          const db = new DatabaseSync(path)
          db.exec("BEGIN IMMEDIATE")
          const error = yield* Effect.flip(commit("t", commitOf(checkpoint("a"))))
          db.close()
          assert.strictEqual(error._tag, "CheckpointError")
          assert.include(error.message, "storage error at thread \"t\", checkpoint a: cannot store a checkpoint")
          assert.include(error.message, "another process kept the database locked")
        }),
        layerSqlite({ filename: path })
      )
    }), 60_000)
})
