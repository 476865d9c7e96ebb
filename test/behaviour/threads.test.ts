/** Threads from outside: starting, going on, reading, updating, deleting; two runners; and everything that is refused. */
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Number, Schema } from "effect"
import {
  Channel,
  type Checkpoint,
  Checkpointer,
  Command,
  END,
  GraphError,
  Interrupt,
  Node,
  Send,
  START,
  State,
  StateGraph
} from "superstep"
import { collect, paused, payloads, recorded, rowsOf } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Foo extends State.make({
  foo: Channel.lastValue(Schema.String, { initial: () => "" }),
  baz: Channel.lastValue(Schema.String, { initial: () => "" })
}) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
class Failed extends Schema.TaggedError<Failed>()("Failed", { at: Schema.Int }) {}

/** Calls the engine as somebody would who has no types. */
const untyped = (value: unknown) => value as never

type Snapshots = ReadonlyArray<Checkpoint.Snapshot<unknown>>
const shapes = (snapshots: Snapshots) =>
  snapshots.map(({ next, source, step, values }) => [step, source, next.join(","), values])

const chain = (runs: Array<string> = []) => {
  const say = (name: string) => () => {
    runs.push(name)
    return { log: [name] }
  }
  return StateGraph.make("chain", StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c") }), {
    start: "a",
    edges: { a: "b", b: "c" }
  })
}

const asking = (runs: Array<string> = []) =>
  StateGraph.make(
    "asking",
    StateGraph.nodes(Log, {
      ask: Effect.fnUntraced(function*() {
        runs.push("ask")
        return { log: [yield* Ask.ask("?")] }
      })
    }),
    { start: "ask" }
  )

// ---------------------------------------------------------------------------
// Updates
// ---------------------------------------------------------------------------

const foos = () =>
  StateGraph.make("foos", StateGraph.nodes(Foo, { node_a: () => ({ foo: "a" }), node_b: () => ({ foo: "b" }) }), {
    start: "node_a",
    edges: { node_a: "node_b" }
  })

behaves("LG#93 several updates: each list is one superstep with one checkpoint", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "bulk",
      StateGraph.nodes(Foo, { node_a: () => ({ foo: "a" }), node_b: () => ({ baz: "b" }) }),
      {
        start: "node_a",
        edges: { node_a: "node_b" }
      }
    )
    const thread = graph.thread("t")
    const last = yield* thread.updateAll([
      [{ values: { foo: "bar" }, asNode: "node_a" }],
      [{ values: { foo: "updated" }, asNode: "node_a" }, { values: { baz: "new" }, asNode: "node_b" }]
    ])
    assert.deepStrictEqual(shapes(yield* thread.history()), [
      [1, "update", "node_b", { foo: "updated", baz: "new" }],
      [0, "update", "node_b", { foo: "bar", baz: "" }]
    ])
    assert.strictEqual((yield* thread.state()).checkpoint, last)
  }))

behaves(
  "LG#93 what is wrong with several updates is a typed failure, and nothing of them is stored",
  () =>
    Effect.gen(function*() {
      const thread = foos().thread("t")
      yield* thread.invoke({ foo: "first" })
      const stored = yield* rowsOf("t")
      const [, middle] = yield* thread.history()
      const cases: ReadonlyArray<readonly [string, unknown, unknown]> = [
        [
          "several without a node",
          [[{ values: { foo: "x" } }, { values: { baz: "y" } }]],
          new GraphError.AmbiguousUpdate({ nodes: ["__start__", "node_a", "node_b"] })
        ],
        [
          "an unknown node",
          [[{ values: { foo: "x" }, asNode: "zz" }]],
          new GraphError.UnknownNode({ node: "zz", allowed: ["__start__", "node_a", "node_b", "__input__", "__end__"] })
        ],
        ["an unknown key", [[{ values: { zz: 1 }, asNode: "node_a" }]], "InvalidUpdate"],
        ["a value of the wrong type", [[{ values: { foo: 1 }, asNode: "node_a" }]], "InvalidUpdate"],
        ["values for the end", [[{ values: { foo: "x" }, asNode: END }]], "InvalidUpdate"],
        [
          "the end beside others",
          [[{ values: undefined, asNode: END }, { values: { foo: "x" }, asNode: "node_a" }]],
          "InvalidUpdate"
        ],
        ["two writes of one last value", [[{ values: { foo: "x" }, asNode: "node_a" }, {
          values: { foo: "y" },
          asNode: "node_b"
        }]], "InvalidUpdate"],
        ["a good one before a bad one", [[{ values: { foo: "x" }, asNode: "node_a" }], [{
          values: { foo: 1 },
          asNode: "node_b"
        }]], "InvalidUpdate"]
      ]
      for (const [name, supersteps, expected] of cases) {
        for (const checkpoint of [undefined, middle!.checkpoint]) {
          const options = checkpoint === undefined ? {} : { checkpoint }
          const error = yield* Effect.flip(thread.updateAll(untyped(supersteps), options))
          if (typeof expected === "string") assert.strictEqual(error._tag, expected, name)
          else assert.deepStrictEqual<unknown>(error, expected, name)
          assert.deepStrictEqual(yield* rowsOf("t"), stored, name)
        }
      }
    })
)

behaves("L14 an input that is refused opens no branch", () =>
  Effect.gen(function*() {
    const thread = foos().thread("t")
    yield* thread.invoke({ foo: "first" })
    const stored = yield* rowsOf("t")
    const [, middle] = yield* thread.history()
    for (const checkpoint of [undefined, middle!.checkpoint]) {
      const options = checkpoint === undefined ? {} : { checkpoint }
      assert.strictEqual((yield* Effect.flip(thread.invoke(untyped({ foo: 1 }), options)))._tag, "InvalidUpdate")
      assert.strictEqual((yield* Effect.flip(thread.invoke(untyped({ zz: 1 }), options)))._tag, "InvalidUpdate")
      assert.strictEqual(
        (yield* Effect.flip(thread.invoke(untyped(Command.make({ goto: "zz" })), options)))._tag,
        "UnknownRoute"
      )
      assert.strictEqual((yield* Effect.flip(thread.invoke({}, { ...options, before: ["zz"] })))._tag, "UnknownNode")
      assert.strictEqual((yield* Effect.flip(thread.resume(untyped(Ask.reply("x")), options)))._tag, "InvalidReply")
      assert.deepStrictEqual(yield* rowsOf("t"), stored)
    }
  }))

behaves(
  "LG#94 updates as input, as the start and as nodes make the history that two runs make",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "agent",
        StateGraph.nodes(Foo, { agent: () => ({ foo: "agent" }), tool: () => ({ foo: "tool" }) }),
        {
          start: "agent",
          edges: { agent: "tool" }
        }
      )
      const ran = graph.thread("ran")
      for (let run = 0; run < 2; run++) {
        assert.deepStrictEqual(yield* ran.invoke({ foo: "input" }), { foo: "tool", baz: "" })
      }
      const updated = graph.thread("updated")
      type Turn = ReadonlyArray<
        { readonly values: { readonly foo: string }; readonly asNode: "__input__" | typeof START | "agent" | "tool" }
      >
      const turn: ReadonlyArray<Turn> = [
        [{ values: { foo: "input" }, asNode: "__input__" }],
        [{ values: { foo: "input" }, asNode: START }],
        [{ values: { foo: "agent" }, asNode: "agent" }],
        [{ values: { foo: "tool" }, asNode: "tool" }]
      ]
      yield* updated.updateAll([...turn, ...turn])
      const one = graph.thread("one by one")
      for (const { asNode, values } of [...turn, ...turn].flat()) {
        yield* one.update(values, { asNode })
      }
      const plain = (snapshots: Snapshots) => snapshots.map(({ next, step, values }) => [step, next, values])
      const expected = plain(yield* ran.history())
      assert.strictEqual(expected.length, 8)
      assert.deepStrictEqual(plain(yield* updated.history()), expected)
      assert.deepStrictEqual(plain(yield* one.history()), expected)
      assert.deepStrictEqual((yield* updated.history()).map(({ source }) => source).toReversed(), [
        "input",
        "update",
        "update",
        "update",
        "input",
        "update",
        "update",
        "update"
      ])
    })
)

class Tasks extends State.make({ foo: Schema.String, tasks: Channel.append(Schema.Int) }) {}

behaves(
  "LG#95 Sends in a Command may be an update, and several updates of one node are its Sends",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "map",
        StateGraph.nodes(Tasks, {
          map: () =>
            Effect.succeed(Command.make({
              update: { foo: "map" },
              goto: [0, 1, 2].map((index) => Send.make("task", { foo: String(index), tasks: [] }))
            })),
          task: (s) => ({ tasks: [globalThis.Number(s.foo)] })
        }),
        { start: "map" }
      )
      const ran = graph.thread("ran")
      assert.deepStrictEqual(yield* ran.invoke({ foo: "" }), { foo: "map", tasks: [0, 1, 2] })
      const updated = graph.thread("updated")
      yield* updated.updateAll([
        [{ values: { foo: "" }, asNode: "__input__" }],
        [{ values: { foo: "" }, asNode: START }],
        [{
          values: Command.make({
            update: { foo: "map" },
            goto: [0, 1, 2].map((index) => Send.make("task", { foo: String(index), tasks: [] }))
          }),
          asNode: "map"
        }],
        [{ values: { tasks: [0] }, asNode: "task" }, { values: { tasks: [1] }, asNode: "task" }, {
          values: { tasks: [2] },
          asNode: "task"
        }]
      ])
      const plain = (snapshots: Snapshots) => snapshots.map(({ next, step, values }) => [step, next, values])
      assert.deepStrictEqual(plain(yield* updated.history()), plain(yield* ran.history()))
    })
)

const sends = StateGraph.make(
  "sends",
  StateGraph.nodes(Log, {
    work: Node.make({
      input: Schema.Struct({ x: Schema.Int }),
      run: ({ x }) =>
        x === 0 ? Effect.map(Ask.ask(`zero?`), (answer) => ({ log: [answer] })) : Effect.succeed({ log: [`work ${x}`] })
    }),
    free: () => ({ log: ["free"] }),
    choose: () => Effect.succeed(Command.make({ update: { log: ["choose"] }, goto: Send.make("work", { x: 9 }) }))
  }),
  { start: StateGraph.route(["work"], () => [1, 0, 2].map((x) => Send.make("work", { x }))) }
)

behaves(
  "L19 Sends that wait go on waiting when others come from outside: by a Command, an answer, an update",
  () =>
    Effect.gen(function*() {
      const stopped = sends.thread("stopped")
      yield* Effect.flip(stopped.invoke({}, { before: ["work"] }))
      yield* stopped.update({ log: ["update"] }, { asNode: "free" })
      yield* stopped.update(Command.make({ update: { log: ["choose"] }, goto: Send.make("work", { x: 9 }) }), {
        asNode: "choose"
      })
      assert.deepStrictEqual((yield* stopped.state()).next, ["work", "work", "work", "work"])
      yield* paused(stopped.invoke(Command.make({ goto: [Send.make("work", { x: 8 }), "free"] })))
      assert.deepStrictEqual((yield* stopped.resume(Ask.reply("zero"))).log, [
        "update",
        "choose",
        "free",
        "work 1",
        "zero",
        "work 2",
        "work 9",
        "work 8"
      ])
      const answered = sends.thread("answered")
      yield* paused(answered.invoke({}))
      assert.deepStrictEqual(
        (yield* answered.resume(Ask.reply("zero"), { goto: Send.make("work", { x: 7 }) })).log,
        ["work 1", "zero", "work 2", "work 7"]
      )
    })
)

behaves(
  "L19 an update as a node with Sends takes the place of the first that is unfinished; the others keep theirs",
  () =>
    Effect.gen(function*() {
      const thread = sends.thread("t")
      yield* paused(thread.invoke({}))
      // The first and the third are done, the second asks.
      yield* thread.update({ log: ["zero by hand"] }, { asNode: "work" })
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values, state.next, state.requests], [
        { log: ["zero by hand", "work 1", "work 2"] },
        [],
        []
      ])
      assert.deepStrictEqual(state.tasks.map(({ id, result }) => [id, result]), [
        ["send:0000000000:work", { log: [["work 1"]] }],
        ["send:0000000002:work", { log: [["work 2"]] }]
      ])
      assert.deepStrictEqual((yield* thread.continue()).log, ["zero by hand", "work 1", "work 2"])
      const stopped = sends.thread("stopped")
      yield* Effect.flip(stopped.invoke({}, { before: ["work"] }))
      yield* stopped.updateAll([[{ values: { log: ["one"] }, asNode: "work" }, {
        values: { log: ["zero"] },
        asNode: "work"
      }]])
      assert.deepStrictEqual((yield* stopped.state()).next, ["work"])
      assert.deepStrictEqual((yield* stopped.continue()).log, ["one", "zero", "work 2"])
    })
)

behaves(
  "LG#96 updates in the place of tasks leave the results that these would have, in the history and handed on",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "double",
        StateGraph.nodes(Value, { double: (s) => ({ value: s.value }), pair: () => [{ value: 1 }, { value: 2 }] }),
        { start: ["double", "pair"] }
      )
      const results = (snapshots: Snapshots) =>
        snapshots.map(({ next, step, tasks }) => [step, next, tasks.map(({ node, result }) => [node, result])])
      const ran = graph.thread("ran")
      assert.deepStrictEqual(yield* ran.invoke({ value: 1 }), { value: 5 })
      const updated = graph.thread("updated")
      yield* updated.updateAll([
        [{ values: { value: 1 }, asNode: "__input__" }],
        [{ values: { value: 1 }, asNode: START }],
        [{ values: { value: 1 }, asNode: "double" }, { values: [{ value: 1 }, { value: 2 }], asNode: "pair" }]
      ])
      const expected = results(yield* ran.history())
      assert.deepStrictEqual<unknown>(expected[1], [0, ["double", "pair"], [["double", { value: [1] }], ["pair", {
        value: [1, 2]
      }]]])
      assert.deepStrictEqual(results(yield* updated.history()), expected)
      // Going back does not take these results for its own.
      const before = (yield* updated.history())[1]!.checkpoint
      assert.deepStrictEqual(yield* updated.continue({ checkpoint: before }), { value: 5 })
      assert.deepStrictEqual((yield* updated.history({ branch: 2 })).map(({ source }) => source), ["loop", "fork"])
    })
)

behaves(
  "L19 an update without a node acts as the one that ran last, and says so when there are several",
  () =>
    Effect.gen(function*() {
      const thread = chain().thread("t")
      yield* thread.invoke({})
      const history = yield* thread.history()
      yield* thread.update({ log: ["x"] }, { checkpoint: history[2]!.checkpoint })
      assert.deepStrictEqual((yield* thread.state()).next, ["b"])
      const fan = StateGraph.make(
        "fan",
        StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: () => ({ log: ["b"] }) }),
        { start: ["a", "b"] }
      )
      yield* fan.thread("fan").invoke({})
      assert.deepStrictEqual(
        yield* Effect.flip(fan.thread("fan").update({ log: ["x"] })),
        new GraphError.AmbiguousUpdate({ nodes: ["a", "b"] })
      )
      assert.deepStrictEqual((yield* fan.thread("fan").history()).length, 3)
    })
)

behaves(
  "L19 the first update of a thread acts as its start, or as the node that it names",
  () =>
    Effect.gen(function*() {
      const thread = foos().thread("t")
      yield* thread.update({ foo: "first" })
      assert.deepStrictEqual(shapes(yield* thread.history()), [[0, "update", "node_a", { foo: "first", baz: "" }]])
      assert.deepStrictEqual(yield* thread.continue(), { foo: "b", baz: "" })
      const later = foos().thread("later")
      yield* later.update({ foo: "x" }, { asNode: "node_a" })
      assert.deepStrictEqual((yield* later.state()).next, ["node_b"])
    })
)

behaves("L19 an update as END ends what was left to run and keeps what had finished", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = StateGraph.make(
      "half",
      StateGraph.nodes(Log, {
        done: () => {
          runs.push("done")
          return { log: ["done"] }
        },
        waits: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })),
        after: () => ({ log: ["after"] })
      }),
      { start: ["done", "waits"], edges: { done: "after" } }
    )
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    yield* thread.update(undefined, { asNode: END })
    const state = yield* thread.state()
    assert.deepStrictEqual([state.values, state.next, state.requests, state.source, state.step], [
      { log: ["done"] },
      [],
      [],
      "update",
      1
    ])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["done"] })
    assert.deepStrictEqual(runs, ["done"])
    // The thread is free for the next input.
    yield* paused(thread.invoke({}))
  }))

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

// ---------------------------------------------------------------------------
// What is refused
// ---------------------------------------------------------------------------

behaves("a first run that lacks a key is refused by name, and stores nothing", () =>
  Effect.gen(function*() {
    class Needs extends State.make({ topic: Schema.String, count: Schema.Int, log: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make("needs", StateGraph.nodes(Needs, { a: () => ({ log: ["a"] }) }), { start: "a" })
    const thread = graph.thread("t")
    const both = new GraphError.MissingInput({ keys: ["topic", "count"] })
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), both)
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({ topic: "x" })),
      new GraphError.MissingInput({ keys: ["count"] })
    )
    assert.deepStrictEqual(yield* Effect.flip(thread.start(untyped({ topic: undefined }))), both)
    assert.deepStrictEqual(yield* recorded(thread.stream({}, { modes: ["values"] })), {
      events: [],
      end: "MissingInput"
    })
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke(Command.make({ update: { topic: "x" }, goto: "a" }))),
      new GraphError.MissingInput({ keys: ["count"] })
    )
    const saver = yield* Checkpointer.Checkpointer
    assert.deepStrictEqual(yield* saver.threads, [])
    yield* thread.invoke({ topic: "x", count: 1 })
    // Afterwards an input is partial.
    assert.deepStrictEqual(yield* thread.invoke({ count: 2 }), { topic: "x", count: 2, log: ["a", "a"] })
  }))

behaves(
  "unfinished work refuses an input with what it is, however it came to be unfinished; discard drops it",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = asking(runs).thread("paused")
      const [request] = yield* paused(thread.invoke({ log: ["1"] }))
      const stored = yield* rowsOf("paused")
      assert.deepStrictEqual(
        yield* Effect.flip(thread.invoke({ log: ["2"] })),
        new GraphError.PendingWork({
          thread: "paused",
          next: ["ask"],
          requests: [{ id: request!.id, tag: "Ask", payload: "?" }]
        })
      )
      assert.deepStrictEqual(yield* recorded(thread.stream({ log: ["2"] }, { modes: ["values"] })), {
        events: [],
        end: "PendingWork"
      })
      assert.deepStrictEqual(yield* rowsOf("paused"), stored)
      const [fresh] = yield* paused(thread.invoke({ log: ["3"] }, { pending: "discard" }))
      assert.notStrictEqual(fresh!.id, request!.id)
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["1", "3"] })
      assert.strictEqual((yield* thread.state()).branch, 1)
      const late = yield* Effect.flip(thread.resume(Ask.reply("x", { id: request!.id })))
      assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "Unknown")
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["1", "3", "yes"] })
      const stopped = chain().thread("stopped")
      yield* Effect.flip(stopped.invoke({}, { before: ["b"] }))
      assert.deepStrictEqual(
        yield* Effect.flip(stopped.invoke({})),
        new GraphError.PendingWork({ thread: "stopped", next: ["b"], requests: [] })
      )
      assert.deepStrictEqual(yield* stopped.invoke({}, { pending: "discard" }), { log: ["a", "a", "b", "c"] })
      const limited = chain().thread("limited")
      assert.deepStrictEqual(
        yield* Effect.flip(limited.invoke({}, { recursionLimit: 1 })),
        new GraphError.RecursionLimit({ limit: 1, next: ["b"] })
      )
      assert.strictEqual((yield* Effect.flip(limited.invoke({})))._tag, "PendingWork")
      assert.deepStrictEqual(yield* limited.continue(), { log: ["a", "b", "c"] })
    })
)

behaves(
  "discarding a half finished superstep drops what its finished tasks wrote, and says so in no state",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "half",
        StateGraph.nodes(Value, {
          done: () => ({ value: 10 }),
          waits: () => Effect.map(Ask.ask("?"), () => ({ value: 100 }))
        }),
        { start: ["done", "waits"] }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({ value: 1 }))
      assert.deepStrictEqual((yield* thread.state()).values, { value: 11 })
      yield* paused(thread.invoke({ value: 1 }, { pending: "discard" }))
      assert.deepStrictEqual((yield* thread.state()).values, { value: 12 })
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { value: 112 })
    })
)

class Value extends State.make({ value: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}

behaves(
  "a thread that never ran is unknown to everything that reads it or goes on, and stays unknown",
  () =>
    Effect.gen(function*() {
      const thread = asking().thread("never")
      const unknown = new GraphError.UnknownThread({ thread: "never" })
      assert.deepStrictEqual(yield* Effect.flip(thread.continue()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.resume(Ask.reply("x"))), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.state()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.history()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.fork()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.at(["ask"]).state()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.state({ checkpoint: "0".repeat(32) })), unknown)
      const saver = yield* Checkpointer.Checkpointer
      assert.deepStrictEqual(yield* saver.threads, [])
    })
)

behaves("L23 a malformed thread id is a typed failure everywhere, and odd ids are ids", () =>
  Effect.gen(function*() {
    for (const id of ["", "x".repeat(513), 1, null, undefined, {}]) {
      const thread = asking().thread(untyped(id))
      const attempts: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }, Checkpointer.Checkpointer>> = [
        thread.invoke({}),
        thread.start({}),
        thread.continue(),
        thread.resume(Ask.reply("x")),
        thread.state(),
        thread.history(),
        thread.update({ log: ["x"] }),
        thread.fork(),
        thread.at(["ask"]).state()
      ]
      for (const attempt of attempts) {
        const error = yield* Effect.flip(attempt)
        assert.strictEqual(error._tag, "InvalidArgument")
      }
    }
    const saver = yield* Checkpointer.Checkpointer
    assert.deepStrictEqual(yield* saver.threads, [])
    const odd = [
      "x".repeat(512),
      "__proto__",
      "'; drop table heads; --",
      "a|b:c~d/../e",
      " ",
      "\u0000",
      "👩‍🚀",
      "Ä",
      "A\u0308"
    ]
    for (const id of odd) yield* chain().thread(id).invoke({ log: [id] })
    for (const id of odd) assert.deepStrictEqual((yield* chain().thread(id).state()).values.log[0], id)
    assert.deepStrictEqual(yield* saver.threads, odd)
    for (const id of odd) yield* chain().thread(id).delete
    assert.deepStrictEqual(yield* saver.threads, [])
  }))

behaves("L23 a malformed checkpoint id is one that does not exist", () =>
  Effect.gen(function*() {
    const thread = chain().thread("t")
    yield* thread.invoke({})
    const stored = yield* rowsOf("t")
    for (const checkpoint of ["", "x", "'; --", "__proto__", "0".repeat(100_000)]) {
      assert.deepStrictEqual(
        yield* Effect.flip(thread.state({ checkpoint })),
        new GraphError.UnknownCheckpoint({ thread: "t", checkpoint, path: [] })
      )
      assert.strictEqual((yield* Effect.flip(thread.continue({ checkpoint })))._tag, "UnknownCheckpoint")
    }
    assert.deepStrictEqual(yield* rowsOf("t"), stored)
  }))

behaves("a breakpoint that names no node is refused before anything runs", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const thread = chain(runs).thread("t")
    for (const options of [{ before: ["zz"] }, { after: ["a", "zz"] }]) {
      assert.deepStrictEqual(
        yield* Effect.flip(thread.invoke({}, options)),
        new GraphError.UnknownNode({ node: "zz", allowed: ["a", "b", "c", "*"] })
      )
    }
    assert.deepStrictEqual(runs, [])
    assert.strictEqual((yield* Effect.flip(thread.state()))._tag, "UnknownThread")
  }))

behaves("continue on a finished thread gives its result, and stores nothing", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const thread = chain(runs).thread("t")
    yield* thread.invoke({})
    const stored = yield* rowsOf("t")
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "c"] })
    assert.deepStrictEqual([yield* rowsOf("t"), runs.length], [stored, 3])
  }))

behaves("a paused thread shows its questions in the state, by task", () =>
  Effect.gen(function*() {
    const thread = asking().thread("t")
    const [request] = yield* paused(thread.invoke({}))
    const { createdMillis, ...state } = yield* thread.state()
    const shown = { id: request!.id, tag: "Ask", payload: "?" }
    assert.isAbove(createdMillis, 0)
    assert.deepStrictEqual({ ...state, checkpoint: "", parent: "" }, {
      values: { log: [] },
      next: ["ask"],
      tasks: [{ id: "pull:ask", node: "ask", error: undefined, requests: [shown], result: undefined, graphs: [] }],
      requests: [shown],
      checkpoint: "",
      parent: "",
      branch: 1,
      path: [],
      step: 0,
      source: "loop",
      metadata: {},
      versions: { __start__: 2, "branch:to:ask": 2 },
      versionsSeen: { __start__: 1 }
    })
    assert.deepStrictEqual(payloads(state.requests), ["?"])
  }))

behaves(
  "a thread that lacks a key that its graph has come to require goes on only with it: before, nothing runs",
  () =>
    Effect.gen(function*() {
      class Ask extends Interrupt.make("AskForMore", { payload: Schema.String, answer: Schema.String }) {}
      class Old extends State.make({ log: Channel.append(Schema.String) }) {}
      class New extends State.make({ name: Schema.String, log: Channel.append(Schema.String) }) {}
      const runs: Array<string> = []
      const old = StateGraph.make(
        "grows",
        StateGraph.nodes(Old, {
          a: () => Effect.map(Ask.ask("go on?"), (answer) => ({ log: [answer] })),
          b: () => ({ log: ["b"] })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const grown = StateGraph.make(
        "grows",
        StateGraph.nodes(New, {
          a: (s) => {
            runs.push(s.name)
            return Effect.map(Ask.ask("go on?"), (answer) => ({ log: [answer] }))
          },
          b: (s) => ({ log: [s.name] })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const lacking = new GraphError.MissingInput({ keys: ["name"] })
      yield* paused(old.thread("t").invoke({}))
      const thread = grown.thread("t")
      const before = yield* thread.state()
      for (
        const run of [
          thread.continue(),
          thread.continue({ checkpoint: before.parent! }),
          thread.start({ name: "x" }),
          thread.resume(Ask.reply("yes")),
          thread.invoke(Command.make({ update: { log: ["x"] } }))
        ]
      ) assert.deepStrictEqual(yield* Effect.flip(run), lacking)
      assert.deepStrictEqual([runs, yield* thread.state()], [[], before])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes"), { update: { name: "Ada" } }), {
        name: "Ada",
        log: ["yes", "Ada"]
      })
      assert.deepStrictEqual(runs, ["Ada"])

      yield* paused(old.thread("u").invoke({}))
      yield* old.thread("u").resume(Ask.reply("yes"))
      const finished = grown.thread("u")
      assert.deepStrictEqual(yield* Effect.flip(finished.continue()), lacking)
      assert.deepStrictEqual(yield* Effect.flip(finished.start({ name: "x" })), lacking)
      assert.deepStrictEqual(yield* finished.invoke(Command.make({ update: { name: "Ada" } })), {
        name: "Ada",
        log: ["yes", "b"]
      })
    })
)

behaves(
  "a graph inside a task that lacks a key that it has come to require does not go on, however the run does",
  () =>
    Effect.gen(function*() {
      class Ask extends Interrupt.make("AskForMore", { payload: Schema.String, answer: Schema.String }) {}
      class Old extends State.make({ log: Channel.append(Schema.String) }) {}
      class New extends State.make({ name: Schema.String, log: Channel.append(Schema.String) }) {}
      const runs: Array<string> = []
      const ask = () => Effect.map(Ask.ask("go on?"), (answer) => ({ log: [answer] }))
      const inner = StateGraph.make("inner", StateGraph.nodes(Old, { ask }), { start: "ask" })
      const grown = StateGraph.make(
        "inner",
        StateGraph.nodes(New, {
          ask: (s) => {
            runs.push(s.name)
            return ask()
          }
        }),
        { start: "ask" }
      )
      const around = StateGraph.make("around", StateGraph.nodes(New, { inner }), { start: "inner" })
      const later = StateGraph.make("around", StateGraph.nodes(New, { inner: grown }), { start: "inner" })
      yield* paused(around.thread("t").invoke({ name: "Ada" }))
      const thread = later.thread("t")
      assert.deepStrictEqual(
        yield* Effect.flip(thread.resume(Ask.reply("yes"))),
        new GraphError.MissingInput({ keys: ["name"] })
      )
      assert.deepStrictEqual(runs, [])
    })
)
