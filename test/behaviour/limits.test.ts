/** What ends a run before it is done: limits, breakpoints, drain. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Channel, Command, END, GraphError, Running, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}

/** A node that leaves its name. */
const say = (name: string) => () => Effect.succeed({ log: [name] })

const abcd = StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c"), d: say("d") })

// ---------------------------------------------------------------------------
// Limits (law 22)
// ---------------------------------------------------------------------------

class Count extends State.make({ n: Schema.Int }) {}

const counting = (until: number, options?: StateGraph.Options) =>
  StateGraph.make("counting", StateGraph.nodes(Count, { inc: (s) => ({ n: s.n + 1 }) }), {
    start: "inc",
    edges: { inc: StateGraph.route(["inc", END], (s) => s.n < until ? "inc" : END) }
  }, options)

behaves("L22 a limit of N allows exactly N user supersteps, of a graph or of a run", () =>
  Effect.gen(function*() {
    for (const n of [1, 2, 5]) {
      assert.deepStrictEqual(yield* counting(n).invoke({ n: 0 }, { recursionLimit: n }), { n })
      assert.deepStrictEqual(yield* counting(n, { recursionLimit: n }).thread(`t${n}`).invoke({ n: 0 }), { n })
      const limit = new GraphError.RecursionLimit({ limit: n, next: ["inc"] })
      assert.deepStrictEqual(yield* Effect.flip(counting(n + 1).invoke({ n: 0 }, { recursionLimit: n })), limit)
    }
  }))

behaves("L22 a run that hit its limit can go on, with as many supersteps again", () =>
  Effect.gen(function*() {
    const thread = counting(7, { recursionLimit: 3 }).thread("t")
    const limit = new GraphError.RecursionLimit({ limit: 3, next: ["inc"] })
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({ n: 0 })), limit)
    assert.deepStrictEqual((yield* thread.state()).values, { n: 3 })
    assert.deepStrictEqual(yield* Effect.flip(thread.continue()), limit)
    assert.deepStrictEqual((yield* thread.state()).values, { n: 6 })
    assert.deepStrictEqual(yield* thread.continue(), { n: 7 })
    for (const durability of ["async", "exit"] as const) {
      const other = counting(7, { recursionLimit: 3 }).thread(durability)
      assert.deepStrictEqual(yield* Effect.flip(other.invoke({ n: 0 }, { durability })), limit)
      assert.deepStrictEqual((yield* other.state()).values, { n: 3 })
      assert.deepStrictEqual(yield* other.continue({ durability, recursionLimit: 4 }), { n: 7 })
    }
  }))

it.effect("L22 the default limit is 1,000", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* counting(1000).invoke({ n: 0 }), { n: 1000 })
    assert.deepStrictEqual(
      yield* Effect.flip(counting(1001).invoke({ n: 0 })),
      new GraphError.RecursionLimit({ limit: 1000, next: ["inc"] })
    )
  }))

behaves("L22 a node knows how many supersteps are left", () =>
  Effect.gen(function*() {
    const seen: Array<readonly [number, boolean]> = []
    const graph = StateGraph.make(
      "left",
      StateGraph.nodes(Count, {
        inc: Effect.fnUntraced(function*(s) {
          const { remainingSteps } = yield* Running.Running
          seen.push([remainingSteps, yield* Running.isLastStep])
          return { n: s.n + 1 }
        })
      }),
      { start: "inc", edges: { inc: StateGraph.route(["inc", END], (s) => s.n < 3 ? "inc" : END) } }
    )
    yield* graph.thread("t").invoke({ n: 0 }, { recursionLimit: 3 })
    assert.deepStrictEqual(seen, [[3, false], [2, false], [1, true]])
  }))

behaves("L22 a graph inside has a limit of its own, and a run's limit holds for it too", () =>
  Effect.gen(function*() {
    const parent = (limit?: number) =>
      StateGraph.make(
        "parent",
        StateGraph.nodes(Count, {
          child: counting(5, limit === undefined ? undefined : { recursionLimit: limit })
        }),
        { start: "child" }
      )
    assert.deepStrictEqual(yield* parent(5).thread("five").invoke({ n: 0 }), { n: 5 })
    const limit = (n: number) => new GraphError.RecursionLimit({ limit: n, next: ["inc"] })
    assert.deepStrictEqual(yield* Effect.flip(parent(4).thread("four").invoke({ n: 0 })), limit(4))
    assert.deepStrictEqual(yield* Effect.flip(parent().thread("run").invoke({ n: 0 }, { recursionLimit: 2 })), limit(2))
    // The supersteps of the graph inside are none of the graph around it.
    assert.deepStrictEqual(yield* parent(5).thread("outer").invoke({ n: 0 }, {}), { n: 5 })
  }))

// ---------------------------------------------------------------------------
// Static breakpoints
// ---------------------------------------------------------------------------

const steps = (options?: StateGraph.Options) =>
  StateGraph.make("steps", StateGraph.nodes(Log, { one: () => ({}), three: () => ({}), two: () => ({}) }), {
    start: "one",
    edges: StateGraph.sequence("one", "two", "three")
  }, options)

const breakpoint = (when: "before" | "after", nodes: ReadonlyArray<string>, next: ReadonlyArray<string> = nodes) =>
  new GraphError.GraphBreakpoint({ when, nodes, next })

behaves(
  "LG#101 a breakpoint after every node stops between them, also when nodes write nothing",
  () =>
    Effect.gen(function*() {
      const thread = steps({ after: ["*"] }).thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), breakpoint("after", ["one"], ["two"]))
      assert.deepStrictEqual((yield* thread.state()).next, ["two"])
      assert.deepStrictEqual(yield* Effect.flip(thread.continue()), breakpoint("after", ["two"], ["three"]))
      assert.deepStrictEqual(yield* thread.continue(), { log: [] })
      assert.deepStrictEqual((yield* thread.history()).map(({ step }) => step), [3, 2, 1, 0, -1])
    })
)

behaves("LG#101 a breakpoint before every node stops after the start, and once at each", () =>
  Effect.gen(function*() {
    for (const durability of ["sync", "async", "exit"] as const) {
      const thread = steps({ before: ["*"] }).thread(durability)
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}, { durability })), breakpoint("before", ["one"]))
      assert.deepStrictEqual((yield* thread.state()).next, ["one"])
      assert.deepStrictEqual(yield* Effect.flip(thread.continue({ durability })), breakpoint("before", ["two"]))
      assert.deepStrictEqual(yield* Effect.flip(thread.continue({ durability })), breakpoint("before", ["three"]))
      assert.deepStrictEqual(yield* thread.continue({ durability }), { log: [] })
      // A new run stops again.
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}, { durability })), breakpoint("before", ["one"]))
    }
  }))

behaves("a run may set breakpoints of its own, in place of the graph's", () =>
  Effect.gen(function*() {
    const graph = steps({ before: ["*"] })
    assert.deepStrictEqual(yield* graph.thread("none").invoke({}, { before: [] }), { log: [] })
    const thread = graph.thread("t")
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({}, { before: ["three"] })),
      breakpoint("before", ["three"])
    )
    assert.deepStrictEqual(yield* thread.continue(), { log: [] })
    // Without a thread there is nothing to go on from, and the stop is the same failure.
    assert.deepStrictEqual(yield* Effect.flip(graph.invoke({})), breakpoint("before", ["one"]))
  }))

behaves(
  "a breakpoint of a run at a node that the graph does not have is refused, and nothing is stored",
  () =>
    Effect.gen(function*() {
      const unknown = new GraphError.UnknownNode({ node: "zz", allowed: ["one", "three", "two", "*"] })
      const thread = steps().thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}, { before: ["one", "zz"] })), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}, { after: ["zz"] })), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.state()), new GraphError.UnknownThread({ thread: "t" }))
      assert.deepStrictEqual(yield* Effect.flip(steps().invoke({}, { before: ["zz"] })), unknown)
    })
)

behaves("a breakpoint of several nodes that run together names those it is about", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("together", abcd, { start: ["a", "b", "c"], edges: { a: "d" } })
    const thread = graph.thread("t")
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({}, { before: ["a", "b"] })),
      breakpoint("before", ["a", "b"], ["a", "b", "c"])
    )
    assert.deepStrictEqual(
      yield* Effect.flip(thread.continue({ after: ["b", "c"] })),
      breakpoint("after", ["b", "c"], ["d"])
    )
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "c", "d"] })
  }))

const pipes = Channel.reducer({ value: Schema.String, initial: () => "", reduce: (a, b) => a + b })
class Piped extends State.make({ foo: pipes }) {}
const piped = StateGraph.make(
  "piped",
  StateGraph.nodes(Piped, {
    node1: () => ({ foo: "|node-1" }),
    node2: () => ({ foo: "|node-2" })
  }),
  { start: "node1", edges: { node1: "node2" } },
  { before: ["node1"] }
)

behaves(
  "LG#102 a Command on a stopped thread goes on, and what it wakes runs beside what was left",
  () =>
    Effect.gen(function*() {
      const plain = piped.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(plain.invoke({ foo: "abc" })), breakpoint("before", ["node1"]))
      assert.deepStrictEqual(yield* plain.continue(), { foo: "abc|node-1|node-2" })
      const steered = piped.thread("u")
      yield* Effect.flip(steered.invoke({ foo: "abc" }))
      assert.deepStrictEqual(yield* steered.invoke(Command.make({ goto: "node2" })), {
        foo: "abc|node-1|node-2|node-2"
      })
      const updated = piped.thread("v")
      yield* Effect.flip(updated.invoke({ foo: "abc" }))
      assert.deepStrictEqual(yield* updated.invoke(Command.make({ update: { foo: "|x" } })), {
        foo: "abc|x|node-1|node-2"
      })
    })
)

behaves("a breakpoint inside a graph that is a node stops the whole run", () =>
  Effect.gen(function*() {
    const child = StateGraph.make("child", StateGraph.nodes(Log, { x: say("x"), y: say("y") }), {
      start: "x",
      edges: { x: "y" }
    }, { before: ["y"] })
    const graph = StateGraph.make("parent", StateGraph.nodes(Log, { a: say("a"), child, z: say("z") }), {
      start: ["a", "child"],
      edges: { child: "z" }
    })
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), breakpoint("before", ["y"]))
    assert.deepStrictEqual((yield* thread.state()).values, { log: ["a"] })
    assert.deepStrictEqual((yield* thread.state()).next, ["child"])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "x", "y", "z"] })
  }))

// ---------------------------------------------------------------------------
// Drain
// ---------------------------------------------------------------------------

const draining = StateGraph.make(
  "draining",
  StateGraph.nodes(Log, {
    a: () => Effect.as(Running.drain("bye"), { log: ["a"] }),
    b: say("b"),
    z: say("z")
  }),
  { start: ["a", "b"], edges: { a: "z" } }
)

behaves("drain: the superstep in progress is finished, the rest is left to a later run", () =>
  Effect.gen(function*() {
    for (const durability of ["sync", "async", "exit"] as const) {
      const thread = draining.thread(durability)
      const drained = yield* Effect.flip(thread.invoke({}, { durability }))
      assert.deepStrictEqual(drained, new GraphError.GraphDrained({ reason: "bye", next: ["z"] }))
      const { next, values } = yield* thread.state()
      assert.deepStrictEqual([values, next], [{ log: ["a", "b"] }, ["z"]])
      assert.deepStrictEqual(yield* thread.continue({ durability }), { log: ["a", "b", "z"] })
    }
  }))

behaves("drain: in the last superstep the run ends as it would", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "last",
      StateGraph.nodes(Log, {
        a: () => Effect.as(Running.drain(), { log: ["a"] })
      }),
      { start: "a" }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a"] })
  }))

behaves(
  "drain: asked for inside a graph that is a node, the whole run stops and goes on there",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          x: () => {
            runs.push("x")
            return Effect.as(Running.drain("sigterm"), { log: ["x"] })
          },
          y: say("y")
        }),
        { start: "x", edges: { x: "y" } }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, z: say("z") }), {
        start: "child",
        edges: { child: "z" }
      })
      const thread = graph.thread("t")
      assert.deepStrictEqual(
        yield* Effect.flip(thread.invoke({})),
        new GraphError.GraphDrained({ reason: "sigterm", next: ["y"] })
      )
      assert.deepStrictEqual(yield* thread.continue(), { log: ["x", "y", "z"] })
      assert.deepStrictEqual(runs, ["x"])
    })
)

// ---------------------------------------------------------------------------
// What a checkpoint says about the run
// ---------------------------------------------------------------------------

behaves(
  "metadata of a run stands on each of its checkpoints, and on none of another run's",
  () =>
    Effect.gen(function*() {
      const thread = draining.thread("t")
      yield* Effect.flip(thread.invoke({}, { metadata: { who: "first", n: 1 } }))
      yield* thread.continue({ metadata: { who: "second" } })
      const history = yield* thread.history()
      assert.deepStrictEqual(history.map(({ metadata, step }) => [step, metadata]), [
        [2, { who: "second" }],
        [1, { who: "first", n: 1 }],
        [0, { who: "first", n: 1 }],
        [-1, { who: "first", n: 1 }]
      ])
      assert.deepStrictEqual(yield* thread.history({ metadata: { who: "first" } }), history.slice(1))
      assert.deepStrictEqual(yield* thread.history({ metadata: { who: "first", n: 2 } }), [])
    })
)
