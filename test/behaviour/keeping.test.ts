/** Threads as a whole: copied, pruned, listed, verified. */
import { assert } from "@effect/vitest"
import { Cause, DateTime, Deferred, Effect, Exit, Fiber, Option, Schema } from "effect"
import { Channel, Checkpointer, Command, END, GraphError, Interrupt, State, StateGraph, Thread } from "superstep"
import type { CheckpointRow, Dump } from "superstep/Checkpoint"
import { resealed, resealedTask } from "../engine/rows.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({
  n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
  log: Channel.append(Schema.String),
  sum: Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: (a, b) => a + b })
}) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

const inner = StateGraph.make(
  "inner",
  StateGraph.nodes(Log, { i: ({ log }) => ({ log: [`i${log.length}`] }), j: () => ({ sum: 1 }) }),
  { start: "i", edges: { i: "j" } },
  { persistence: "thread" }
)

/** A loop with a graph as a node and one that is called, and a question where `asks` says so. */
const graphOf = (rounds: number, asks: (n: number) => boolean = () => false) =>
  StateGraph.make(
    "loop",
    StateGraph.nodes(Log, {
      step: Effect.fnUntraced(function*({ n }) {
        const { log } = yield* inner.call({})
        const answer = asks(n) ? yield* Ask.ask(`${n}`) : ""
        return { n: n + 1, log: [`${n}${answer}:${log.length}`], sum: n }
      }),
      side: ({ n }) => ({ log: [`side ${n}`] }),
      inner
    }),
    {
      start: "step",
      edges: {
        step: StateGraph.route(["step", "side", "inner", END], ({ n }) => n % rounds === 0 ? ["side", "inner"] : "step")
      }
    }
  )

/** What a thread shows, whatever its id is. */
const shown = Effect.fnUntraced(function*(thread: ReturnType<ReturnType<typeof graphOf>["thread"]>) {
  const history = yield* thread.history()
  return history.map((snapshot) => ({ ...snapshot, createdMillis: 0 }))
})

// ---------------------------------------------------------------------------
// Copies
// ---------------------------------------------------------------------------

behaves(
  "a copy has the branches, the history and the graphs inside, goes its own way, and leaves the thread as it is",
  () =>
    Effect.gen(function*() {
      const graph = graphOf(3, (n) => n === 1)
      const [thread, other] = [graph.thread("t"), graph.thread("u")]
      yield* Effect.flip(thread.invoke({}))
      yield* thread.fork((yield* thread.history()).at(-2)!.checkpoint)
      yield* Effect.flip(thread.continue())
      yield* thread.copy("u")
      assert.deepStrictEqual(yield* shown(other), yield* shown(thread))
      const before = yield* shown(thread)
      const end = yield* other.resume(Ask.reply("!"))
      assert.deepStrictEqual(end.log.filter((line) => line.includes("!")), ["1!:2"])
      assert.deepStrictEqual(yield* shown(thread), before)
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("!")), end)
      assert.deepStrictEqual(yield* shown(other), yield* shown(thread))
      yield* thread.delete
      assert.deepStrictEqual((yield* other.invoke({})).n, 6)
    })
)

behaves(
  "a copy fails where there is a thread of that id, and where there is none to copy, and changes nothing",
  () =>
    Effect.gen(function*() {
      const graph = graphOf(1)
      yield* graph.thread("t").invoke({})
      yield* graph.thread("u").invoke({ log: ["own"] })
      const before = yield* shown(graph.thread("u"))
      for (const to of ["u", "t"]) {
        assert.strictEqual((yield* Effect.flip(graph.thread("t").copy(to)))._tag, "ThreadConflict")
      }
      assert.strictEqual((yield* Effect.flip(graph.thread("none").copy("v")))._tag, "UnknownThread")
      assert.strictEqual((yield* Effect.flip(graph.thread("t").copy("")))._tag, "InvalidArgument")
      assert.deepStrictEqual(yield* shown(graph.thread("u")), before)
      assert.deepStrictEqual((yield* Thread.list()).map(({ id }) => id), ["t", "u"])
    })
)

// ---------------------------------------------------------------------------
// Pruning
// ---------------------------------------------------------------------------

behaves(
  "what is left by a pruning reads as before, goes on, and what is gone is unknown",
  () =>
    Effect.gen(function*() {
      const graph = graphOf(5)
      for (const durability of ["sync", "exit"] as const) {
        const thread = graph.thread(durability)
        for (let turn = 0; turn < 4; turn++) yield* thread.invoke({}, { durability })
        const before = yield* thread.history()
        const all = yield* Checkpointer.Checkpointer.use((saver) => saver.dump(durability))
        const removed = yield* thread.prune({ last: 2 })
        const after = yield* thread.history()
        assert.deepStrictEqual(after, before.slice(0, after.length))
        assert.isAtLeast(after.length, 2)
        const left = yield* Checkpointer.Checkpointer.use((saver) => saver.dump(durability))
        assert.strictEqual(
          Option.getOrThrow(all).checkpoints.length - Option.getOrThrow(left).checkpoints.length,
          removed
        )
        assert.isAbove(removed, durability === "sync" ? 20 : 0)
        const gone = before.find(({ checkpoint }) => !after.some((one) => one.checkpoint === checkpoint))!
        const error = yield* Effect.flip(thread.state({ checkpoint: gone.checkpoint }))
        assert.strictEqual(error._tag, "UnknownCheckpoint")
        assert.deepStrictEqual(
          (yield* thread.at(["inner"]).state()).values["log"],
          (yield* thread.at(["inner"]).state()).values["log"]
        )
        // The kept graphs inside go on from what they had.
        const { log } = yield* thread.invoke({}, { durability })
        assert.include(log, "20:21", durability)
        assert.strictEqual(yield* thread.prune({ last: 1_000 }), 0)
      }
    })
)

behaves(
  "a pruning keeps the heads of all branches, what is named, and what was made since a time",
  () =>
    Effect.gen(function*() {
      const graph = graphOf(40)
      const thread = graph.thread("t")
      yield* thread.invoke({})
      const first = yield* thread.history()
      const named = first[20]!
      yield* thread.fork(first[5]!.checkpoint)
      const branch = yield* thread.continue()
      const [other] = yield* thread.history({ branch: 1, limit: 1 })
      yield* thread.prune({ checkpoints: [named.checkpoint] })
      const left = yield* thread.history()
      for (const one of [named, other!]) {
        assert.deepStrictEqual(left.find(({ checkpoint }) => checkpoint === one.checkpoint), one)
      }
      assert.deepStrictEqual((yield* thread.state()).values, branch)
      // From the head of the other branch on, with the graphs inside as they were there.
      const again = yield* thread.continue({ checkpoint: named.checkpoint })
      assert.deepStrictEqual(again, branch)
      const since = DateTime.makeUnsafe(left.at(-1)!.createdMillis)
      assert.strictEqual(yield* thread.prune({ since }), 0)
      yield* thread.prune({})
      assert.isBelow((yield* thread.history()).length, left.length)
      assert.deepStrictEqual((yield* thread.state()).values, branch)
      const unknown = yield* Effect.flip(thread.prune({ checkpoints: [named.checkpoint, "nowhere"] }))
      assert.deepInclude(unknown, { _tag: "UnknownCheckpoint" })
      assert.strictEqual((yield* Effect.flip(graph.thread("none").prune({})))._tag, "UnknownThread")
    })
)

behaves(
  "a thread that waits for an answer, with graphs inside its task, is pruned and goes on where it was",
  () =>
    Effect.gen(function*() {
      const graph = graphOf(40, (n) => n === 38)
      const whole = graph.thread("whole")
      const thread = graph.thread("t")
      for (const one of [whole, thread]) yield* Effect.flip(one.invoke({}))
      assert.isAbove(yield* thread.prune({}), 0)
      const end = yield* whole.resume(Ask.reply("!"))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("!")), end)
      assert.strictEqual((yield* thread.state()).checkpoint, (yield* whole.state()).checkpoint)
    })
)

behaves(
  "a run that would begin a branch at a checkpoint that a pruning removes fails, or the pruning leaves it",
  () =>
    Effect.gen(function*() {
      let at = yield* Deferred.make<void>()
      let go = yield* Deferred.make<void>()
      const kept = StateGraph.make(
        "kept",
        StateGraph.nodes(Log, { n: ({ n }) => ({ log: [`${n}`] }) }),
        { start: "n" },
        {
          persistence: "thread"
        }
      )
      const graph = StateGraph.make(
        "app",
        StateGraph.nodes(Log, {
          waits: ({ n }) =>
            n === 9 ? Effect.as(Effect.andThen(Deferred.succeed(at, undefined), Deferred.await(go)), {}) : {},
          calls: ({ n }) => Effect.map(kept.call({ n }), ({ log }) => ({ log: [log.join("")] }))
        }),
        { start: "waits", edges: { waits: StateGraph.route(["calls", END], ({ n }) => n === 9 ? END : "calls") } }
      )
      for (const durability of ["exit", "async", "sync"] as const) {
        const thread = graph.thread(durability)
        at = yield* Deferred.make<void>()
        go = yield* Deferred.make<void>()
        for (const n of [1, 2, 3]) yield* thread.invoke({ n }, { durability: "exit" })
        const { checkpoint } = (yield* thread.history()).at(-1)!
        const run = yield* Effect.forkChild(Effect.exit(thread.invoke({ n: 9 }, { checkpoint, durability })))
        yield* Deferred.await(at)
        yield* thread.prune({ last: 1 })
        yield* Deferred.succeed(go, undefined)
        const exit = yield* Fiber.join(run)
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.isTrue(error === undefined || error instanceof GraphError.ThreadConflict, String(error))
        assert.strictEqual((yield* thread.invoke({ n: 4 })).log.at(-1), error === undefined ? "14" : "1234")
      }
    })
)

/** The saver, where something else happens once, right after it has done something. */
const meanwhile = <K extends "dump" | "list">(
  after: K,
  happens: Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>
) =>
  Effect.map(Checkpointer.Checkpointer, (saver): Checkpointer.CheckpointerShape => {
    let isDone = false
    const then = <A, E>(effect: Effect.Effect<A, E>) =>
      Effect.tap(effect, () => {
        if (isDone) return Effect.void
        isDone = true
        return Effect.ignore(Effect.provideService(happens, Checkpointer.Checkpointer, saver))
      })
    return {
      ...saver,
      dump: (thread) => after === "dump" ? then(saver.dump(thread)) : saver.dump(thread),
      list: (thread, namespace, options) =>
        after === "list" ? then(saver.list(thread, namespace, options)) : saver.list(thread, namespace, options)
    }
  })

behaves(
  "a runner that was left behind stores nothing in a graph inside while the thread is pruned",
  () =>
    Effect.gen(function*() {
      const at = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      let isSlow = true
      const sub = StateGraph.make(
        "sub",
        StateGraph.nodes(Log, {
          one: () =>
            isSlow
              ? Effect.as(Effect.andThen(Deferred.succeed(at, undefined), Deferred.await(go)), { log: ["one"] })
              : Effect.succeed({ log: ["one"] }),
          two: () => ({ log: ["two"] })
        }),
        { start: "one", edges: { one: "two" } }
      )
      const app = StateGraph.make("app", StateGraph.nodes(Log, { sub, other: () => ({ log: ["other"] }) }), {
        start: ["sub", "other"]
      })
      const thread = app.thread("t")
      const run = yield* Effect.forkChild(Effect.exit(thread.invoke({})))
      yield* Deferred.await(at)
      yield* Effect.repeat(thread.state(), {
        until: ({ tasks }) => tasks.some(({ node, result }) => node === "other" && result !== undefined)
      })
      yield* thread.update({ log: ["x"] }, { asNode: "other" })
      const saver = yield* meanwhile("dump", Effect.andThen(Deferred.succeed(go, undefined), Fiber.await(run)))
      yield* Effect.provideService(thread.prune({}), Checkpointer.Checkpointer, saver)
      const ended = yield* Fiber.join(run)
      assert.instanceOf(Exit.isFailure(ended) ? Cause.squash(ended.cause) : undefined, GraphError.ThreadConflict)
      isSlow = false
      assert.isUndefined((yield* thread.verify).divergence)
      yield* Effect.ignore(thread.continue())
      assert.isUndefined((yield* thread.verify).divergence)
    })
)

behaves("a resume that is overtaken, and what it stands on is pruned, is a conflict", () =>
  Effect.gen(function*() {
    const sub = StateGraph.make(
      "sub",
      StateGraph.nodes(Log, {
        one: () => ({ log: ["one"] }),
        two: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))
      }),
      { start: "one", edges: { one: "two" } }
    )
    const app = StateGraph.make("app", StateGraph.nodes(Log, { sub, other: () => ({ log: ["other"] }) }), {
      start: "sub"
    })
    const thread = app.thread("t")
    yield* Effect.flip(thread.invoke({}))
    const saver = yield* Checkpointer.Checkpointer
    let isDone = false
    const overtaking = Effect.suspend(() => {
      if (isDone) return Effect.void
      isDone = true
      return Effect.andThen(thread.update({ log: ["x"] }, { asNode: "other" }), thread.prune({}))
    })
    const racing: Checkpointer.CheckpointerShape = {
      ...saver,
      head: (id, place, branch) =>
        Effect.tap(saver.head(id, place, branch), () =>
          place === ""
            ? Effect.void
            : Effect.orDie(Effect.provideService(overtaking, Checkpointer.Checkpointer, saver)))
    }
    const resumed = Effect.provideService(thread.resume(Ask.reply("yes")), Checkpointer.Checkpointer, racing)
    assert.strictEqual((yield* Effect.flip(resumed))._tag, "ThreadConflict")
    assert.isUndefined((yield* thread.verify).divergence)
  }))

behaves("a history from which something is removed while it is read is read anew", () =>
  Effect.gen(function*() {
    const thread = graphOf(9).thread("t")
    yield* thread.invoke({})
    const read = (happens: Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>) =>
      Effect.flatMap(meanwhile("list", happens), (saver) =>
        Effect.provideService(thread.history(), Checkpointer.Checkpointer, saver))
    const pruned = yield* read(thread.prune({ last: 2 }))
    assert.deepStrictEqual(pruned, yield* thread.history())
    assert.strictEqual((yield* Effect.flip(read(thread.delete)))._tag, "UnknownThread")
  }))

// ---------------------------------------------------------------------------
// Lists
// ---------------------------------------------------------------------------

behaves(
  "threads are listed as they began, with where they stand, by metadata, page by page",
  () =>
    Effect.gen(function*() {
      const graph = graphOf(2)
      assert.deepStrictEqual(yield* Thread.list(), [])
      for (const [index, user] of ["ada", "bob", "ada", "cy", "ada"].entries()) {
        yield* graph.thread(`t${index}`).invoke({}, { metadata: { user, nested: { index } } })
      }
      const listed = yield* Thread.list()
      assert.deepStrictEqual(listed.map(({ id }) => id), ["t0", "t1", "t2", "t3", "t4"])
      const { checkpoint, createdMillis, metadata, source, step } = yield* graph.thread("t1").state()
      assert.deepStrictEqual(listed[1], { id: "t1", branch: 1, checkpoint, createdMillis, metadata, source, step })
      const ada = { metadata: { user: "ada" } }
      const [first, second] = yield* Thread.list({ ...ada, limit: 2 })
      assert.deepStrictEqual([first!.id, second!.id], ["t0", "t2"])
      assert.deepStrictEqual((yield* Thread.list({ ...ada, after: "t2" })).map(({ id }) => id), ["t4"])
      assert.deepStrictEqual((yield* Thread.list({ metadata: { nested: { index: 3 } } })).map(({ id }) => id), ["t3"])
      assert.deepStrictEqual(yield* Thread.list({ metadata: { nested: { index: "3" } } }), [])
      // The metadata are those of where the current branch stands.
      yield* graph.thread("t1").fork((yield* graph.thread("t1").history()).at(-1)!.checkpoint)
      yield* graph.thread("t1").continue({ metadata: { user: "dee" } })
      yield* graph.thread("t1").continue({ checkpoint, metadata: { user: "old" } })
      assert.deepStrictEqual(
        (yield* Thread.list({ metadata: { user: "dee" } })).map(({ branch, id }) => [id, branch]),
        [["t1", 2]]
      )
      const wrong = yield* Effect.flip(Thread.list({ limit: -1 }))
      assert.strictEqual(wrong._tag, "InvalidArgument")
      const behindNone = yield* Effect.flip(Thread.list({ after: "gone" }))
      assert.strictEqual(String(behindNone._tag), "UnknownThread")
    })
)

// ---------------------------------------------------------------------------
// Verifying
// ---------------------------------------------------------------------------

behaves(
  "all that supersteps have stored is folded anew, in every graph that stands as a node",
  () =>
    Effect.gen(function*() {
      const graph = graphOf(6, (n) => n === 4)
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({ log: ["in"] }))
      yield* thread.update({ log: ["by hand"] }, { asNode: "side" })
      yield* Effect.flip(thread.continue())
      yield* thread.resume(Ask.reply("!"))
      const history = yield* thread.history()
      yield* thread.fork(history[4]!.checkpoint)
      yield* Effect.ignore(thread.continue())
      yield* Effect.flip(thread.invoke({}, { pending: "discard" }))
      const { checkpoints, divergence, refolded } = yield* thread.verify
      assert.strictEqual(divergence, undefined)
      const supersteps = (yield* thread.history()).filter(({ source }) => source === "loop").length
      assert.isAtLeast(refolded, supersteps)
      assert.isAbove(checkpoints, refolded)
      // What is stored at the end of a run does not tell how it came about.
      yield* graph.thread("exit").start({}, { durability: "exit" }).pipe(Effect.ignore)
      assert.deepInclude(yield* graph.thread("exit").verify, { refolded: 0, divergence: undefined })
      assert.strictEqual((yield* Effect.flip(graph.thread("none").verify))._tag, "UnknownThread")
    })
)

behaves(
  "what is never stored does not count as a divergence, whoever wrote it",
  () =>
    Effect.gen(function*() {
      class Live extends State.make({
        n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
        handle: Channel.untracked<number>()
      }) {}
      const graph = StateGraph.make(
        "live",
        StateGraph.nodes(Live, {
          a: ({ n }) => n % 2 === 0 ? { n: n + 1, handle: n } : { n: n + 1 },
          asks: Effect.fnUntraced(function*() {
            yield* Ask.ask("?")
            return {}
          }),
          b: ({ n }) => ({ n: n + 1 })
        }),
        { start: "a", edges: { a: ["asks", "b"], b: StateGraph.route(["a", END], ({ n }) => n < 8 ? "a" : END) } }
      )
      const thread = graph.thread("t")
      const ask = (options: object) => Effect.flip(thread.invoke(Command.make({ update: options, goto: "b" })))
      yield* Effect.flip(thread.invoke({ n: 0, handle: 1 }))
      yield* ask({ handle: 5 })
      yield* ask({ handle: 6, n: 1 })
      yield* ask({ n: 3 })
      yield* Effect.ignore(thread.resume(Ask.reply("!"), { update: { handle: 7 } }))
      yield* Effect.ignore(thread.resume(Ask.reply("!")))
      yield* Effect.ignore(thread.invoke({ handle: 9 }, { pending: "discard" }))
      const { divergence, refolded } = yield* thread.verify
      assert.deepStrictEqual(divergence, undefined)
      assert.isAbove(refolded, 5)
    })
)

behaves(
  "what a Command wrote that is never stored leaves no trace, whether the run that took it went on or another",
  () =>
    Effect.gen(function*() {
      class Live extends State.make({
        n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
        handle: Channel.untracked<number>()
      }) {}
      let isDown = false
      const graph = StateGraph.make(
        "live",
        StateGraph.nodes(Live, {
          a: () => ({}),
          b: ({ n }) => isDown ? Effect.fail("down") : Effect.succeed({ n: n + 1, handle: 1 })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const given = Command.make({ update: { handle: 5 } })
      for (const name of ["one", "two"]) {
        const thread = graph.thread(name)
        yield* Effect.ignore(thread.invoke({}, { before: ["b"] }))
        isDown = name === "two"
        yield* Effect.ignore(thread.invoke(given))
        isDown = false
        yield* Effect.ignore(thread.continue())
        assert.isUndefined((yield* thread.verify).divergence)
      }
      const saver = yield* Checkpointer.Checkpointer
      const rows = yield* Effect.forEach(["one", "two"], (thread) => saver.list(thread, "", {}))
      const [one, two] = rows.map((all) => all.map(({ data, id }) => [id, data]))
      assert.deepStrictEqual(two, one)
    })
)

/** The thread with one row changed, stored under another id. */
const changed = (change: (dump: Dump) => Dump) =>
  Checkpointer.Checkpointer.use(Effect.fnUntraced(function*(saver) {
    const dump = Option.getOrThrow(yield* saver.dump("t"))
    yield* saver.deleteThread("changed")
    yield* saver.restore("changed", change(dump), "life")
  }))

const onRow =
  (wanted: (row: CheckpointRow) => boolean, change: (row: CheckpointRow) => CheckpointRow) => (dump: Dump): Dump => ({
    ...dump,
    checkpoints: dump.checkpoints.map((one) =>
      wanted(one.row) && one.namespace === "" ? { ...one, row: change(one.row) } : one
    )
  })

behaves(
  "the first checkpoint that is something else than its results fold to is told, with its channel",
  () =>
    Effect.gen(function*() {
      const graph = graphOf(9)
      yield* graph.thread("t").invoke({})
      const thread = graph.thread("changed")
      const at = (step: number) => (row: CheckpointRow) => row.step === step
      const history = yield* graph.thread("t").history()
      const idAt = (step: number) => history.find((one) => one.step === step)!.checkpoint
      const onTask = (step: number, from: string, to: string) => (dump: Dump): Dump => ({
        ...dump,
        tasks: dump.tasks.map((one) =>
          one.row.checkpoint === idAt(step) && one.namespace === ""
            ? { ...one, row: resealedTask(one.row, (json) => json.replace(from, to)) }
            : one
        )
      })
      const onData = (step: number, from: string, to: string) =>
        onRow(at(step), (row) => resealed(row, (json) => json.replace(from, to)))
      const forged: ReadonlyArray<readonly [string, (dump: Dump) => Dump, number, string | undefined, string]> = [
        ["a value", onData(4, "[\"sum\",6]", "[\"sum\",7]"), 4, "sum", "its cells"],
        ["what was seen", onData(5, "\"seen\":[\"step\"]", "\"seen\":[\"side\"]"), 5, undefined, "its seen"],
        ["a result that is added up", onTask(2, "[\"sum\",2]", "[\"sum\",3]"), 3, "sum", "its cells"],
        ["a result that is kept as it is", onTask(2, "[\"n\",3]", "[\"n\",4]"), 3, undefined, "its id"],
        [
          "a newest checkpoint that is gone",
          (dump) => ({ ...dump, checkpoints: dump.checkpoints.filter(({ row }) => row.id !== history[0]!.checkpoint) }),
          history[0]!.step,
          undefined,
          "it is missing"
        ],
        [
          "heads that are gone",
          (dump) => ({ ...dump, heads: [] }),
          history[0]!.step,
          undefined,
          "nothing tells where branch 1 stands"
        ]
      ]
      for (const [what, change, step, channel, detail] of forged) {
        yield* changed(change)
        const { divergence } = yield* thread.verify
        assert.deepStrictEqual([divergence?.path, divergence?.checkpoint, divergence?.channel], [
          [],
          idAt(step),
          channel
        ], what)
        assert.include(divergence?.detail, detail, what)
      }
      // How many results it follows from: then it cannot be read at all.
      yield* changed(onData(4, "\"seen\":", "\"tasks\":2,\"seen\":"))
      const error = yield* Effect.flip(thread.verify)
      assert.deepInclude(error, { _tag: "CheckpointError", checkpoint: idAt(4) })
    })
)

behaves("a character that has changed, anywhere in any row, is found", () =>
  Effect.gen(function*() {
    const graph = graphOf(2, (n) => n === 1)
    yield* Effect.flip(graph.thread("t").invoke({ log: ["é\\\"1"] }))
    const thread = graph.thread("changed")
    const saver = yield* Checkpointer.Checkpointer
    const dump = Option.getOrThrow(yield* saver.dump("t"))
    const flipped = (text: string, at: number): string =>
      text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1)
    const isFound = Effect.fnUntraced(function*(what: string, change: (dump: Dump) => Dump) {
      yield* changed(change)
      const result = yield* Effect.result(thread.verify)
      const isTold = result._tag === "Failure"
        ? result.failure instanceof GraphError.CheckpointError
        : result.success.divergence !== undefined
      assert.isTrue(isTold, what)
    })
    for (const [index, { row }] of dump.checkpoints.entries()) {
      for (const column of ["data", "metadata", "source"] as const) {
        for (let at = 0; at < row[column].length; at += 7) {
          yield* isFound(`${column} ${at} of ${row.id}`, (dump) => ({
            ...dump,
            checkpoints: dump.checkpoints.map((one, n) =>
              n === index ? { ...one, row: { ...one.row, [column]: flipped(row[column], at) } } : one
            )
          }))
        }
      }
    }
    for (const [index, { row }] of dump.tasks.entries()) {
      for (const column of ["data", "task"] as const) {
        for (let at = 0; at < row[column].length; at += 7) {
          yield* isFound(`${column} ${at} of ${row.task}`, (dump) => ({
            ...dump,
            tasks: dump.tasks.map((one, n) =>
              n === index ? { ...one, row: { ...one.row, [column]: flipped(row[column], at) } } : one
            )
          }))
        }
      }
    }
  }), 30_000)

behaves("the history of a thread that is deleted while it is read is that of no thread", () =>
  Effect.gen(function*() {
    const thread = graphOf(2).thread("t")
    yield* thread.invoke({})
    const saver = yield* Checkpointer.Checkpointer
    const deleting = Checkpointer.Checkpointer.of({
      ...saver,
      list: (...args) => Effect.andThen(saver.deleteThread("t"), saver.list(...args))
    })
    const error = yield* Effect.flip(Effect.provideService(thread.history(), Checkpointer.Checkpointer, deleting))
    assert.instanceOf(error, GraphError.UnknownThread)
  }))
