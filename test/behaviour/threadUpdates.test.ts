/** Updates from outside: one, several, as nodes, beside Sends, and those that are refused. */
import { assert } from "@effect/vitest"
import { Effect, Number, Schema } from "effect"
import { Channel, Command, END, GraphError, Node, Send, START, State, StateGraph } from "superstep"
import { Ask, chain, Log } from "./Chains.ts"
import { paused, rowsOf, type Snapshots, untyped } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Foo extends State.make({
  foo: Channel.lastValue(Schema.String, { initial: () => "" }),
  baz: Channel.lastValue(Schema.String, { initial: () => "" })
}) {}
class Value extends State.make({ value: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}

const shapes = (snapshots: Snapshots) =>
  snapshots.map(({ next, source, step, values }) => [step, source, next.join(","), values])

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

behaves(
  "an update without a node is refused where an input is still to be taken, and the input stays",
  () =>
    Effect.gen(function*() {
      const thread = foos().thread("t")
      yield* thread.invoke({ foo: "in" })
      const first = (yield* thread.history()).at(-1)!
      assert.deepStrictEqual([first.step, first.next], [-1, [START]])
      yield* thread.fork(first.checkpoint)
      const error = yield* Effect.flip(thread.update({ baz: "note" }))
      assert.instanceOf(error, GraphError.AmbiguousUpdate)
      assert.include(error.message, "what it is to take would be lost")
      assert.deepStrictEqual(yield* thread.continue(), { foo: "b", baz: "" })
    })
)
