/** Threads from outside: their metadata and history, two runners of one, and starting a piece of work once. */
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { Channel, Checkpointer, Command, GraphError, State, StateGraph } from "superstep"
import { Ask, asking, chain, Log } from "./Chains.ts"
import { collect, paused, rowsOf, type Snapshots } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Failed extends Schema.TaggedError<Failed>()("Failed", { at: Schema.Int }) {}

// ---------------------------------------------------------------------------
// Metadata, history
// ---------------------------------------------------------------------------

behaves(
  "LG#99 the metadata of a run stands with every checkpoint that it makes, and with no other",
  () =>
    Effect.gen(function*() {
      const thread = chain().thread("t")
      yield* Effect.flip(thread.invoke({}, { metadata: { user: "ada", test: 1 }, after: ["a"] }))
      yield* thread.continue({ metadata: { user: "bob" } })
      const history = yield* thread.history()
      assert.deepStrictEqual(history.map(({ metadata, step }) => [step, metadata]), [
        [3, { user: "bob" }],
        [2, { user: "bob" }],
        [1, { user: "ada", test: 1 }],
        [0, { user: "ada", test: 1 }],
        [-1, { user: "ada", test: 1 }]
      ])
      const steps = (snapshots: Snapshots) => snapshots.map(({ step }) => step)
      assert.deepStrictEqual(steps(yield* thread.history({ metadata: { user: "bob" } })), [3, 2])
      assert.deepStrictEqual(steps(yield* thread.history({ metadata: { user: "ada", test: 1 } })), [1, 0, -1])
      assert.deepStrictEqual(steps(yield* thread.history({ metadata: { user: "ada", test: 2 } })), [])
      assert.deepStrictEqual(steps(yield* thread.history({ metadata: { other: null } })), [])
    })
)

behaves(
  "history is newest first; its limit counts what its filters leave, and `before` is not included",
  () =>
    Effect.gen(function*() {
      const thread = chain().thread("t")
      yield* thread.invoke({})
      yield* thread.invoke({})
      const all = yield* thread.history()
      const steps = (snapshots: Snapshots) => snapshots.map(({ step }) => step)
      assert.deepStrictEqual(steps(all), [8, 7, 6, 5, 4, 3, 2, 1, 0, -1])
      assert.deepStrictEqual(steps(yield* thread.history({ limit: 3 })), [8, 7, 6])
      assert.deepStrictEqual(steps(yield* thread.history({ limit: 0 })), [])
      assert.deepStrictEqual(steps(yield* thread.history({ limit: 100 })).length, 10)
      assert.deepStrictEqual(steps(yield* thread.history({ before: all[3]!.checkpoint, limit: 2 })), [4, 3])
      assert.deepStrictEqual(steps(yield* thread.history({ before: all.at(-1)!.checkpoint })), [])
      assert.strictEqual((yield* Effect.flip(thread.history({ before: "0".repeat(32) })))._tag, "UnknownCheckpoint")
      assert.deepStrictEqual(steps(yield* thread.history({ source: "input" })), [4, -1])
      assert.deepStrictEqual(steps(yield* thread.history({ source: "input", limit: 1 })), [4])
      assert.deepStrictEqual(steps(yield* thread.history({ source: "loop", limit: 2, before: all[2]!.checkpoint })), [
        5,
        3
      ])
      assert.deepStrictEqual(steps(yield* thread.history({ step: 3 })), [3])
      assert.deepStrictEqual(steps(yield* thread.history({ branch: 2 })), [])
      yield* thread.fork(all[3]!.checkpoint)
      assert.deepStrictEqual(steps(yield* thread.history({ branch: 2 })), [6])
      assert.deepStrictEqual(steps(yield* thread.history({ source: "fork" })), [6])
    })
)

behaves(
  "LG#101 a graph that writes nothing stops after each node; the history depends on the durability, the way does not",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "nothing",
        StateGraph.nodes(Log, { step_1: () => Effect.void, step_2: () => undefined, step_3: () => ({}) }),
        { start: "step_1", edges: { step_1: "step_2", step_2: "step_3" } }
      )
      for (const [durability, counts] of [["sync", [3, 4, 5]], ["async", [3, 4, 5]], ["exit", [1, 2, 3]]] as const) {
        const thread = graph.thread(durability)
        const seen: Array<readonly [ReadonlyArray<string>, number]> = []
        const look = Effect.gen(function*() {
          seen.push([(yield* thread.state()).next, (yield* thread.history()).length])
        })
        assert.strictEqual(
          (yield* Effect.flip(thread.invoke({}, { after: ["*"], durability })))._tag,
          "GraphBreakpoint"
        )
        yield* look
        assert.strictEqual((yield* Effect.flip(thread.continue({ after: ["*"], durability })))._tag, "GraphBreakpoint")
        yield* look
        assert.deepStrictEqual(yield* thread.continue({ after: ["*"], durability }), { log: [] })
        yield* look
        assert.deepStrictEqual(seen, [[["step_2"], counts[0]], [["step_3"], counts[1]], [[], counts[2]]])
      }
    })
)

class Foos extends State.make({
  foo: Channel.reducer({ value: Schema.String, initial: () => "", reduce: (a: string, b: string) => a + b })
}) {}

const piped = (before?: ReadonlyArray<string>) =>
  StateGraph.make(
    "piped",
    StateGraph.nodes(Foos, { node1: () => ({ foo: "|node-1" }), node2: () => ({ foo: "|node-2" }) }),
    { start: "node1", edges: { node1: "node2" } },
    before === undefined ? {} : { before }
  )

behaves(
  "LG#102 a breakpoint of the graph stops a run before its node, and going on passes it",
  () =>
    Effect.gen(function*() {
      const thread = piped(["node1"]).thread("t")
      assert.deepStrictEqual(
        yield* Effect.flip(thread.invoke({ foo: "abc" })),
        new GraphError.GraphBreakpoint({ when: "before", nodes: ["node1"], next: ["node1"] })
      )
      assert.deepStrictEqual(yield* thread.continue(), { foo: "abc|node-1|node-2" })
    })
)

behaves(
  "LG#102 a Command with a target from outside runs the target beside what stood at the breakpoint",
  () =>
    Effect.gen(function*() {
      const thread = piped(["node1"]).thread("t")
      yield* Effect.flip(thread.invoke({ foo: "abc" }))
      assert.deepStrictEqual(yield* thread.invoke(Command.make({ goto: "node2" })), { foo: "abc|node-1|node-2|node-2" })
    })
)

behaves(
  "LG#83 a thread whose node failed is where it was; a new input has to say that it drops what is left",
  () =>
    Effect.gen(function*() {
      for (const [durability, checkpoints] of [["sync", 6], ["async", 6], ["exit", 2]] as const) {
        let attempt = 0
        const graph = StateGraph.make(
          "recovery",
          StateGraph.nodes(Log, {
            node1: () =>
              Effect.suspend(() =>
                ++attempt < 2 ? Effect.fail(new Failed({ at: attempt })) : Effect.succeed({ log: ["node1"] })
              ),
            node2: () => ({ log: ["node2"] })
          }),
          { start: "node1", edges: { node1: "node2" } }
        )
        const thread = graph.thread(durability)
        assert.deepStrictEqual(
          yield* Effect.flip(thread.invoke({ log: ["start"] }, { durability })),
          new Failed({ at: 1 })
        )
        const state = yield* thread.state()
        assert.deepStrictEqual([state.values, state.next, state.tasks.map(({ error, node }) => [node, error])], [
          { log: ["start"] },
          ["node1"],
          [["node1", "Failed"]]
        ])
        assert.deepStrictEqual(
          yield* Effect.flip(thread.invoke({}, { durability })),
          new GraphError.PendingWork({ thread: durability, next: ["node1"], requests: [] })
        )
        assert.deepStrictEqual(yield* thread.invoke({}, { durability, pending: "discard" }), {
          log: ["start", "node1", "node2"]
        })
        assert.strictEqual((yield* thread.history()).length, checkpoints)
        yield* thread.delete
        assert.strictEqual((yield* Effect.flip(thread.state()))._tag, "UnknownThread")
      }
    })
)

behaves("LG#105 graphs inside a task are as durable as the run around them", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const leaf = chain()
    const middle = StateGraph.make("middle", StateGraph.nodes(Log, { leaf }), { start: "leaf" })
    const graph = StateGraph.make("top", StateGraph.nodes(Log, { middle }), { start: "middle" })
    for (const [durability, counts] of [["sync", [3, 3, 5]], ["async", [3, 3, 5]], ["exit", [1, 1, 1]]] as const) {
      const thread = graph.thread(durability)
      assert.deepStrictEqual(yield* thread.invoke({}, { durability }), { log: ["a", "b", "c"] })
      const found = yield* Effect.forEach(["", "middle", "middle|leaf"], (namespace) =>
        Effect.map(saver.list(durability, namespace, {}), ({ length }) => length))
      assert.deepStrictEqual(found, [...counts])
      const steps = yield* Effect.forEach([["middle"], ["middle", "leaf"]], (path) =>
        Effect.map(thread.at(path).state(), ({ step, values }) => [step, values]))
      assert.deepStrictEqual(steps, [[1, { log: ["a", "b", "c"] }], [3, { log: ["a", "b", "c"] }]])
    }
  }))

// ---------------------------------------------------------------------------
// Law 14: two runners
// ---------------------------------------------------------------------------

/** A node that waits until two runs are in it. */
const meeting = (write: () => string) =>
  Effect.gen(function*() {
    const both = yield* Deferred.make<void>()
    let inside = 0
    return StateGraph.make(
      "meeting",
      StateGraph.nodes(Log, {
        first: () => ({ log: ["first"] }),
        meet: Effect.fnUntraced(function*() {
          if (++inside === 2) yield* Deferred.succeed(both, undefined)
          yield* Deferred.await(both)
          return { log: [write()] }
        })
      }),
      { start: "first", edges: { first: "meet" } }
    )
  })

behaves(
  "L14 of two runs on one thread exactly one commits, the other is told who was first",
  () =>
    Effect.gen(function*() {
      for (
        const [name, write] of [["same result", () => "met"], [
          "other results",
          (() => ((n) => () => `met ${++n}`)(0))()
        ]] as const
      ) {
        const graph = yield* meeting(write)
        const thread = graph.thread(name)
        yield* Effect.flip(thread.invoke({}, { after: ["first"] }))
        const head = (yield* thread.state()).checkpoint
        const runs = yield* Effect.forEach([1, 2], () => Effect.forkChild(Effect.result(graph.thread(name).continue())))
        const results = yield* Effect.forEach(runs, (fiber) => Fiber.join(fiber))
        const won = results.filter((result) => result._tag === "Success")
        const lost = results.filter((result) => result._tag === "Failure")
        assert.deepStrictEqual([won.length, lost.length], [1, 1])
        const state = yield* thread.state()
        assert.deepStrictEqual(won[0]!.success, state.values)
        assert.deepStrictEqual(
          lost[0]!.failure,
          new GraphError.ThreadConflict({ thread: name, branch: 1, expected: head, found: state.checkpoint })
        )
        assert.strictEqual(state.values.log.length, 2)
        assert.deepStrictEqual((yield* thread.history()).map(({ step }) => step), [2, 1, 0, -1])
        // The loser reads, and decides again.
        assert.deepStrictEqual(yield* thread.continue(), state.values)
      }
    })
)

behaves(
  "L14 two first inputs on one thread: one runs, the other is refused before any of its nodes ran",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const arrived = yield* Deferred.make<void>()
      let waiting = 0
      const runs: Array<string> = []
      // Both look at the thread before either commits.
      const together = Checkpointer.Checkpointer.of({
        ...saver,
        commit: (thread, commit) =>
          commit.checkpoint.step !== -1
            ? saver.commit(thread, commit)
            : Effect.andThen(
              Effect.andThen(
                ++waiting === 2 ? Deferred.succeed(arrived, undefined) : Effect.void,
                Deferred.await(arrived)
              ),
              saver.commit(thread, commit)
            )
      })
      const fibers = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(
          Effect.provideService(Effect.result(chain(runs).thread("t").invoke({})), Checkpointer.Checkpointer, together)
        ))
      const results = yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
      assert.deepStrictEqual(
        results.map(({ _tag }) => _tag).toSorted(),
        ["Failure", "Success"]
      )
      const lost = results.find((result) => result._tag === "Failure")!
      assert.strictEqual(lost._tag === "Failure" ? lost.failure._tag : "", "ThreadConflict")
      assert.deepStrictEqual(runs, ["a", "b", "c"])
      assert.strictEqual((yield* chain().thread("t").history()).length, 5)
    })
)

behaves(
  "L14 two branches opened at once from one checkpoint: one gets the number, the other is refused",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const thread = chain().thread("t")
      yield* thread.invoke({})
      const [, , checkpoint] = (yield* thread.history()).map((snapshot) => snapshot.checkpoint)
      const arrived = yield* Deferred.make<void>()
      let waiting = 0
      const together = Checkpointer.Checkpointer.of({
        ...saver,
        commit: (id, commit) =>
          commit.checkpoint.source !== "fork"
            ? saver.commit(id, commit)
            : Effect.andThen(
              Effect.andThen(
                ++waiting === 2 ? Deferred.succeed(arrived, undefined) : Effect.void,
                Deferred.await(arrived)
              ),
              saver.commit(id, commit)
            )
      })
      const fibers = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(
          Effect.provideService(
            Effect.result(chain().thread("t").continue({ checkpoint: checkpoint! })),
            Checkpointer.Checkpointer,
            together
          )
        ))
      const results = yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
      assert.deepStrictEqual(
        results.map((result) => result._tag === "Failure" ? result.failure._tag : "Success").toSorted(),
        ["Success", "ThreadConflict"]
      )
      assert.deepStrictEqual((yield* thread.history({ branch: 2 })).map(({ source }) => source), [
        "loop",
        "loop",
        "fork"
      ])
      assert.deepStrictEqual((yield* thread.history({ branch: 3 })).length, 0)
    })
)

behaves(
  "L14 two updates at once: both are kept one after the other, or one is refused, but none is lost",
  () =>
    Effect.gen(function*() {
      const thread = chain().thread("t")
      yield* thread.invoke({})
      const results = yield* Effect.all(
        ["x", "y"].map((text) => Effect.result(thread.update({ log: [text] }, { asNode: "c" }))),
        {
          concurrency: "unbounded"
        }
      )
      const kept = results.filter(({ _tag }) => _tag === "Success").length
      assert.isAtLeast(kept, 1)
      for (const result of results) {
        if (result._tag === "Failure") assert.strictEqual(result.failure._tag, "ThreadConflict")
      }
      assert.strictEqual((yield* thread.state()).values.log.length, 3 + kept)
    })
)

behaves("L14 an answer given twice at once is taken once", () =>
  Effect.gen(function*() {
    const thread = asking().thread("t")
    yield* paused(thread.invoke({}))
    const results = yield* Effect.all(["x", "y"].map((answer) => Effect.result(thread.resume(Ask.reply(answer)))), {
      concurrency: "unbounded"
    })
    const state = yield* thread.state()
    const won = results.filter((result) => result._tag === "Success")
    assert.strictEqual(won.length, 1)
    assert.deepStrictEqual(won[0]!.success, state.values)
    assert.strictEqual(state.values.log.length, 1)
  }))

// ---------------------------------------------------------------------------
// start
// ---------------------------------------------------------------------------

behaves("L14 start with a key runs a piece of work once, whatever becomes of the caller", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const reached = yield* Deferred.make<void>()
    let isHeld = true
    const graph = StateGraph.make(
      "held",
      StateGraph.nodes(Log, {
        a: () => {
          runs.push("a")
          return { log: ["a"] }
        },
        b: Effect.fnUntraced(function*() {
          runs.push("b")
          yield* Deferred.succeed(reached, undefined)
          if (isHeld) yield* Effect.never
          return { log: ["b"] }
        })
      }),
      { start: "a", edges: { a: "b" } }
    )
    const thread = graph.thread("t")
    const fiber = yield* Effect.forkChild(thread.start({ log: ["in"] }, { key: "one" }))
    yield* Deferred.await(reached)
    yield* Fiber.interrupt(fiber)
    isHeld = false
    // Unfinished: it goes on. Another piece of work has to wait.
    assert.deepStrictEqual(
      yield* Effect.flip(thread.start({ log: ["other"] }, { key: "two" })),
      new GraphError.PendingWork({ thread: "t", next: ["b"], requests: [] })
    )
    assert.deepStrictEqual(yield* thread.start({ log: ["in"] }, { key: "one" }), { log: ["in", "a", "b"] })
    assert.deepStrictEqual(runs, ["a", "b", "b"])
    // Finished: its result, and nothing runs or is stored.
    const stored = yield* rowsOf("t")
    assert.deepStrictEqual(yield* thread.start({ log: ["in"] }, { key: "one" }), { log: ["in", "a", "b"] })
    assert.deepStrictEqual(yield* thread.start({ log: ["in"] }), { log: ["in", "a", "b"] })
    assert.deepStrictEqual([yield* rowsOf("t"), runs.length], [stored, 3])
    // Another key is another piece of work.
    assert.deepStrictEqual(yield* thread.start({ log: ["next"] }, { key: "two" }), {
      log: ["in", "a", "b", "next", "a", "b"]
    })
    assert.deepStrictEqual(yield* thread.start({ log: ["next"] }, { key: "two" }), {
      log: ["in", "a", "b", "next", "a", "b"]
    })
    assert.strictEqual(runs.length, 5)
  }))

behaves(
  "L14 start of a paused piece of work reports its question again, and its result once it is answered",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = asking(runs).thread("t")
      const [first] = yield* paused(thread.start({}, { key: "k" }))
      assert.deepStrictEqual(yield* paused(thread.start({}, { key: "k" })), [first!])
      assert.deepStrictEqual(runs, ["ask"])
      assert.deepStrictEqual(
        yield* Effect.flip(thread.start({}, { key: "other" })),
        new GraphError.PendingWork({
          thread: "t",
          next: ["ask"],
          requests: [{ id: first!.id, tag: "Ask", payload: "?" }]
        })
      )
      yield* thread.resume(Ask.reply("yes"))
      assert.deepStrictEqual(yield* thread.start({}, { key: "k" }), { log: ["yes"] })
      assert.deepStrictEqual(runs, ["ask", "ask"])
    })
)

behaves(
  "L14 the key of a piece of work lasts through updates, branches and branches inside a graph",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const inner = asking(runs)
      const thread = StateGraph.make("outer", StateGraph.nodes(Log, { inner }), { start: "inner" }).thread("t")
      yield* paused(thread.start({}, { key: "k" }))
      yield* thread.update(undefined)
      assert.strictEqual((yield* paused(thread.start({}, { key: "k" }))).length, 1)
      yield* thread.fork()
      assert.strictEqual((yield* paused(thread.start({}, { key: "k" }))).length, 1)
      const [inside] = yield* thread.at(["inner"]).history()
      yield* thread.fork(inside!.checkpoint, { path: ["inner"] })
      assert.strictEqual((yield* paused(thread.start({}, { key: "k" }))).length, 1)
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["yes"] })
      assert.deepStrictEqual(yield* thread.start({}, { key: "k" }), { log: ["yes"] })
    })
)

behaves("L14 the same in a stream: start and continue are inputs", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const thread = chain(runs).thread("t")
    const first = yield* collect(thread.stream(Command.start({}, { key: "k" }), { modes: ["updates"] }))
    assert.deepStrictEqual(first.map((event) => event.mode === "updates" ? event.node : event.mode), ["a", "b", "c"])
    assert.deepStrictEqual(yield* collect(thread.stream(Command.start({}, { key: "k" }), { modes: ["updates"] })), [])
    assert.deepStrictEqual(yield* collect(thread.stream(Command.continue, { modes: ["updates"] })), [])
    assert.deepStrictEqual(runs, ["a", "b", "c"])
  }))
