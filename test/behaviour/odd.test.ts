/** What nobody should do, and what damage may do: each has one clear failure, and takes nothing with it. */
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Schedule, Schema } from "effect"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Channel, Checkpointer, GraphError, Interrupt, Node, Policy, State, StateGraph } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.Int }) {}

const untyped = <A>(value: unknown): A => value as A

// ---------------------------------------------------------------------------
// Promises where there can be none
// ---------------------------------------------------------------------------

it.effect("a retry whose `while` is async says so, and the node has run once", () =>
  Effect.gen(function*() {
    let attempts = 0
    const retry = Policy.retry({ schedule: Schedule.recurs(4), while: untyped<() => boolean>(async () => false) })
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        pay: Node.make({
          input: Log,
          retry,
          run: () =>
            Effect.suspend(() => {
              attempts++
              return Effect.fail("declined" as const)
            })
        })
      }),
      { start: "pay" }
    )
    const exit = yield* Effect.exit(graph.invoke({}))
    assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "the retry of node \"pay\" returned a Promise")
    assert.strictEqual(attempts, 1)
  }))

it.effect("a reducer that is async is refused, and what it rejects with is nobody's", () =>
  Effect.gen(function*() {
    const rejected: Array<unknown> = []
    const note = (reason: unknown) => void rejected.push(reason)
    process.on("unhandledRejection", note)
    const reduce = untyped<(a: unknown, b: unknown) => unknown>(async () => {
      throw new Error("boo")
    })
    const channels = [
      Channel.reducer({ value: Schema.Unknown, initial: () => 0, reduce }),
      Channel.delta({ value: Schema.Unknown, initial: () => 0, reduce })
    ]
    for (const x of channels) {
      const graph = StateGraph.make("g", StateGraph.nodes(State.make({ x }), { a: () => ({ x: 1 }) }), { start: "a" })
      const error = yield* Effect.flip(graph.invoke({}))
      assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "ReducerFailed", channel: "x" })
      assert.include(error.message, "returned a Promise")
    }
    const initial = Channel.lastValue(Schema.Unknown, { initial: async () => Promise.reject(new Error("boo")) })
    assert.throws(
      () => StateGraph.make("g", StateGraph.nodes(State.make({ x: initial }), { a: () => ({}) }), { start: "a" }),
      "the initial value of \"x\" returned a Promise"
    )
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
    process.off("unhandledRejection", note)
    assert.deepStrictEqual(rejected, [])
  }))

// ---------------------------------------------------------------------------
// Errors without a text
// ---------------------------------------------------------------------------

behaves("a node may fail with what has no text, on a thread as without one", () =>
  Effect.gen(function*() {
    const thrower = (what: string) => () => {
      throw new Error(what)
    }
    const odd: object = Object.defineProperty({ toString: thrower("toString"), toJSON: thrower("toJSON") }, "message", {
      get: thrower("message")
    })
    const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: () => Effect.fail(odd) }), { start: "a" })
    assert.strictEqual(yield* Effect.flip(graph.invoke({})), odd)
    assert.strictEqual(yield* Effect.flip(graph.thread("t").invoke({})), odd)
    assert.strictEqual((yield* graph.thread("t").state()).tasks[0]!.error, "an error that has no text")
  }))

// ---------------------------------------------------------------------------
// Threads that stand in odd places
// ---------------------------------------------------------------------------

behaves(
  "L19 where all tasks are done and only the commit is missing, those that follow are next",
  () =>
    Effect.gen(function*() {
      const say = (name: string) => () => ({ log: [name] })
      const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c") }), {
        start: ["a", "b"],
        edges: { a: StateGraph.join("c"), b: StateGraph.join("c") }
      })
      const saver = yield* Checkpointer.Checkpointer
      const away = new GraphError.CheckpointError({ reason: "Storage", thread: "t", detail: "away" })
      const losing = Checkpointer.Checkpointer.of({
        ...saver,
        commit: (thread, commit) => commit.checkpoint.step === 1 ? Effect.fail(away) : saver.commit(thread, commit)
      })
      const thread = graph.thread("t")
      yield* Effect.flip(Effect.provideService(thread.invoke({}), Checkpointer.Checkpointer, losing))
      const { next, tasks, values } = yield* thread.state()
      assert.deepStrictEqual([values.log, tasks.map(({ node }) => node), next], [["a", "b"], ["a", "b"], ["c"]])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "c"] })
      assert.deepStrictEqual((yield* thread.state()).next, [])
    })
)

behaves(
  "L11 an answer to a question that an update has taken away is unknown, and what is left may ask anew",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "g",
        StateGraph.nodes(Log, { a: () => Effect.map(Ask.ask("?"), (n) => ({ log: [`a ${n}`] })), b: () => ({}) }),
        { start: "a" }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}))
      const [request] = (yield* thread.state()).requests
      yield* thread.update({ log: ["by hand"] }, { asNode: "b" })
      const error = yield* Effect.flip(thread.resume(Ask.reply(1, { id: request!.id })))
      assert.deepInclude(error, { _tag: "InvalidReply", reason: "Unknown" })
      assert.include(error.message, "what is left to run may ask anew: continue")
      yield* Effect.flip(thread.continue())
      assert.deepStrictEqual(yield* thread.resume(Ask.reply(1)), { log: ["by hand", "a 1"] })
    })
)

behaves("L11 answers that are void are told in one order, whichever fiber was faster", () =>
  Effect.gen(function*() {
    for (const slow of ["p", "q"]) {
      let round = 1
      const graph = StateGraph.make(
        "g",
        StateGraph.nodes(Log, {
          a: () =>
            Effect.as(
              Effect.forEach(["p", "q"], (key) =>
                Effect.andThen(
                  Effect.repeat(Effect.yieldNow, { times: key === slow ? 20 : 1 }),
                  Effect.exit(Ask.ask(`${key} ${round}`, { key }))
                ), { concurrency: "unbounded" }),
              { log: ["x"] }
            )
        }),
        { start: "a" }
      )
      const thread = graph.thread(slow)
      yield* Effect.flip(thread.invoke({}))
      const { requests } = yield* thread.state()
      round = 2
      const exit = yield* Effect.exit(thread.resume(requests.map(({ id }) => Ask.reply(1, { id }))))
      const reasons = Exit.isFailure(exit) ? exit.cause.reasons : []
      const answered = reasons.map((reason) =>
        Cause.isFailReason(reason) && reason.error._tag === "InterruptMismatch" ? reason.error.answered : reason._tag
      )
      assert.deepStrictEqual(answered, ["p 1", "q 1"])
    }
  }))

// ---------------------------------------------------------------------------
// Damage
// ---------------------------------------------------------------------------

behaves(
  "a thread whose head has lost its checkpoint is damaged, and no caller is told of an id that he never gave",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: () => ({ log: ["a"] }) }), { start: "a" })
      const saver = yield* Checkpointer.Checkpointer
      const thread = graph.thread("t")
      yield* thread.invoke({})
      const losing = { ...saver, get: () => Effect.succeed(Option.none()) }
      for (const read of [thread.state(), thread.history(), thread.continue(), thread.fork()] as const) {
        const error = yield* Effect.flip(
          Effect.provideService(read as ReturnType<typeof thread.fork>, Checkpointer.Checkpointer, losing)
        )
        assert.deepInclude(error, { _tag: "CheckpointError", reason: "Decode", thread: "t" })
        assert.include(error.message, "the checkpoint where the thread stands is missing")
      }
    })
)

/** The tables refuse what is no text: a bit that has flipped does not ask them. */
const damage = (filename: string, update: string): void => {
  const each = (sql: string) => {
    const db = new DatabaseSync(filename)
    // Node 22 has no such mode.
    if ("enableDefensive" in db) db.enableDefensive(false)
    db.exec(sql)
    db.close()
  }
  const rewrite = (from: string, to: string) =>
    `PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, '${from}', '${to}') WHERE type = 'table'`
  each(rewrite("STRICT", "/*STRICT*/"))
  each(update)
  each(rewrite("/*STRICT*/", "STRICT"))
}

it.effect("a text that has become bytes in the file, or bytes a text, is damage, not a defect", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: () => Effect.fail("down") }),
      { start: ["a", "b"] },
      { onFailure: "settle" }
    )
    const columns = {
      superstep_checkpoints: ["id", "parent", "source", "data", "metadata"],
      superstep_tasks: ["task", "status", "data"],
      superstep_heads: ["id", "owner"]
    }
    const folder = mkdtempSync(join(tmpdir(), "superstep-"))
    for (const [table, names] of Object.entries(columns)) {
      for (const column of names) {
        const filename = join(folder, `${table}.${column}.sqlite`)
        const layer: Layer.Layer<Checkpointer.Checkpointer> = Layer.orDie(SqlCheckpointer.layerSqlite({ filename }))
        const thread = graph.thread("t")
        yield* Effect.provide(Effect.exit(thread.invoke({ log: ["x"] })), layer)
        damage(
          filename,
          `UPDATE ${table} SET ${column} = CASE typeof(${column}) WHEN 'blob' THEN hex(${column}) ELSE CAST(${column} AS BLOB) END`
        )
        for (const call of [thread.state(), thread.history(), thread.continue(), thread.fork()]) {
          const exit = yield* Effect.provide(Effect.exit(call as ReturnType<typeof thread.fork>), layer)
          const defects = Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason) : []
          assert.deepStrictEqual(defects.map(({ defect }) => String(defect)), [], `${table}.${column}`)
        }
      }
    }
  }))
