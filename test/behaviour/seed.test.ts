/** The founding examples: what the machine gives on them, exactly. */
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Fiber, Layer, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  Channel,
  Checkpointer,
  Command,
  END,
  GraphError,
  Interrupt,
  Node,
  Policy,
  Pregel,
  Send,
  State,
  StateGraph
} from "superstep"
import { behaves } from "./Savers.ts"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}

const linear = StateGraph.make(
  "demo",
  StateGraph.nodes(Demo, {
    a: (s) => Effect.succeed({ total: s.total * 2, visited: ["a"] }),
    b: (s) => Effect.succeed({ total: s.total + 1, visited: ["b"] })
  }),
  { start: "a", edges: { a: "b", b: END } }
)

class Log extends State.make({ log: Channel.append(Schema.String) }) {}

const collect = Effect.fnUntraced(function*<A, E, R>(stream: Stream.Stream<A, E, R>) {
  return [...yield* Stream.runCollect(stream)]
})

class Failed extends Schema.TaggedError<Failed>()("Failed", { at: Schema.Int }) {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.String }) {}

// ---------------------------------------------------------------------------
// S1 - S3: edges and routes
// ---------------------------------------------------------------------------

behaves("S1 two nodes in a row give the folded state and one update each", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* linear.invoke({ total: 10, visited: [] }), { total: 21, visited: ["a", "b"] })
    assert.deepStrictEqual(yield* linear.thread("t").invoke({ total: 10, visited: [] }), {
      total: 21,
      visited: ["a", "b"]
    })
    const events = yield* collect(linear.thread("u").stream({ total: 10, visited: [] }, { modes: ["updates"] }))
    assert.deepStrictEqual(events, [
      { mode: "updates", path: [], step: 1, node: "a", update: { total: 20, visited: ["a"] }, cached: false },
      { mode: "updates", path: [], step: 2, node: "b", update: { total: 21, visited: ["b"] }, cached: false }
    ])
  }))

it("S2 a graph is lowered to channels, triggers and writers", () => {
  const { channels, input, name, nodes, output, version } = linear.pregel
  assert.deepStrictEqual(Object.entries(channels).map(([key, rule]) => [key, rule._tag]), [
    ["total", "LastValue"],
    ["visited", "BinaryOperatorAggregate"],
    ["__start__", "EphemeralValue"],
    ["__tasks", "Topic"],
    ["branch:to:a", "EphemeralValue"],
    ["branch:to:b", "EphemeralValue"]
  ])
  const own = { defer: false, destinations: [], graph: undefined }
  assert.deepStrictEqual(nodes, {
    __start__: {
      ...own,
      triggers: ["__start__"],
      reads: ["__start__"],
      writers: [{ _tag: "Update" }, { _tag: "Wake", node: "a", channel: "branch:to:a" }]
    },
    a: {
      ...own,
      triggers: ["branch:to:a"],
      reads: ["total", "visited"],
      writers: [{ _tag: "Update" }, { _tag: "Wake", node: "b", channel: "branch:to:b" }]
    },
    b: { ...own, triggers: ["branch:to:b"], reads: ["total", "visited"], writers: [{ _tag: "Update" }] }
  })
  assert.deepStrictEqual({ name, version, input, output }, {
    name: "demo",
    version: undefined,
    input: ["total", "visited"],
    output: ["total", "visited"]
  })
})

const routed = StateGraph.make(
  "routed",
  StateGraph.nodes(Demo, {
    a: (s) => Effect.succeed({ total: s.total * 2, visited: ["a"] }),
    b: (s) => Effect.succeed({ total: s.total + 1, visited: ["b"] }),
    c: () => Effect.succeed({ total: 0, visited: ["c"] })
  }),
  { start: "a", edges: { a: StateGraph.route(["b", "c"], (s) => s.total > 5 ? "b" : "c") } }
)

behaves(
  "S3 a route sees what its node wrote, and the target it does not choose is never woken",
  () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* routed.invoke({ total: 10 }), { total: 21, visited: ["a", "b"] })
      assert.deepStrictEqual(yield* routed.invoke({ total: 1 }), { total: 0, visited: ["a", "c"] })
      assert.deepStrictEqual(routed.pregel.nodes["a"]!.writers, [{ _tag: "Update" }, {
        _tag: "Route",
        targets: ["b", "c"]
      }])
      const thread = routed.thread("t")
      yield* thread.invoke({ total: 10 })
      const { versions } = yield* thread.state()
      assert.isTrue(Object.hasOwn(routed.pregel.channels, "branch:to:c"))
      assert.isFalse(Object.hasOwn(versions, "branch:to:c"))
      assert.isTrue(Object.hasOwn(versions, "branch:to:b"))
    })
)

// ---------------------------------------------------------------------------
// S4 - S7: Send, conflict, Command, subgraph
// ---------------------------------------------------------------------------

class Work extends State.make({ items: Schema.Array(Schema.Int), out: Channel.append(Schema.Int) }) {}

const mapReduce = StateGraph.make(
  "mapReduce",
  StateGraph.nodes(Work, {
    work: Node.make({
      input: Schema.Struct({ x: Schema.Int }),
      run: ({ x }) => Effect.succeed({ out: [x * 10] })
    })
  }),
  { start: StateGraph.route(["work"], (s) => s.items.map((x) => Send.make("work", { x }))) }
)

behaves("S4 Sends run one node as three tasks of one superstep", () =>
  Effect.gen(function*() {
    const thread = mapReduce.thread("t")
    const events = yield* collect(thread.stream({ items: [1, 2, 3] }, { modes: ["debug"] }))
    const started = events.flatMap((event) =>
      event.mode === "debug" && event.payload.mode === "tasks" && event.payload.type === "started"
        ? [{ node: event.payload.node, step: event.payload.step, input: event.payload.input }]
        : []
    )
    assert.deepStrictEqual(started, [
      { node: "work", step: 1, input: { x: 1 } },
      { node: "work", step: 1, input: { x: 2 } },
      { node: "work", step: 1, input: { x: 3 } }
    ])
    assert.deepStrictEqual((yield* thread.state()).values, { items: [1, 2, 3], out: [10, 20, 30] })
  }))

const untyped = (graph: unknown): {
  readonly invoke: (input: unknown) => Effect.Effect<unknown, GraphError.EngineError>
  readonly thread: (id: string) => {
    readonly invoke: (
      input: unknown
    ) => Effect.Effect<unknown, GraphError.EngineError | GraphError.ThreadError, Checkpointer.Checkpointer>
  }
} => graph as never

class Texts extends State.make({ total: Schema.String }) {}

behaves(
  "S5 two nodes of one superstep that write one last-value key are refused, with the cure",
  () =>
    Effect.gen(function*() {
      const nodes = StateGraph.nodes(Texts, {
        a: () => Effect.succeed({ total: "a" }),
        b: () => Effect.succeed({ total: "b" })
      })
      const make = StateGraph.make as unknown as (name: string, nodes: unknown, flow: unknown) => unknown
      const clash = untyped(make("clash", nodes, { start: ["a", "b"] }))
      const error = yield* Effect.flip(clash.invoke({ total: "" }))
      assert.strictEqual(error._tag, "InvalidUpdate")
      assert.strictEqual(
        error.message,
        "at key \"total\": can receive only one value per step. Give it a reducer (Channel.append, Channel.reducer) " +
          "if several nodes may write it together (written by \"a\", \"b\")"
      )
      const stored = yield* Effect.flip(clash.thread("t").invoke({ total: "" }))
      assert.strictEqual(stored.message, error.message)
    })
)

behaves("S5 with an appending reducer both are kept", () =>
  Effect.gen(function*() {
    class Appended extends State.make({ total: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make(
      "appended",
      StateGraph.nodes(Appended, {
        a: () => Effect.succeed({ total: ["a"] }),
        b: () => Effect.succeed({ total: ["b"] })
      }),
      { start: ["a", "b"] }
    )
    assert.deepStrictEqual(yield* graph.invoke({}), { total: ["a", "b"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { total: ["a", "b"] })
  }))

class Out extends State.make({ total: Schema.Int, out: Channel.append(Schema.String) }) {}

behaves("S6 a Command updates and goes on without an edge", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "commanded",
      StateGraph.nodes(Out, {
        r: () => Effect.succeed(Command.make({ update: { out: ["r"] }, goto: "t" })),
        t: () => Effect.succeed({ out: ["t"] })
      }),
      { start: "r" }
    )
    assert.deepStrictEqual(yield* graph.invoke({ total: 0 }), { total: 0, out: ["r", "t"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ total: 0 }), { total: 0, out: ["r", "t"] })
  }))

behaves(
  "S7 a subgraph's events carry its path, and its checkpoints have a namespace of their own",
  () =>
    Effect.gen(function*() {
      const child = StateGraph.make("child", StateGraph.nodes(Log, { t: () => Effect.succeed({ log: ["t"] }) }), {
        start: "t"
      })
      const parent = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" })
      const thread = parent.thread("t")
      const events = yield* collect(thread.stream({}, { modes: ["updates"], subgraphs: true }))
      assert.deepStrictEqual(events as ReadonlyArray<unknown>, [
        { mode: "updates", path: ["child"], step: 1, node: "t", update: { log: ["t"] }, cached: false },
        { mode: "updates", path: [], step: 1, node: "child", update: { log: ["t"] }, cached: false }
      ])
      const steps = (snapshots: ReadonlyArray<{ readonly step: number; readonly path: ReadonlyArray<string> }>) =>
        snapshots.map(({ path, step }) => [path, step])
      assert.deepStrictEqual(steps(yield* thread.history()), [[[], 1], [[], 0], [[], -1]])
      assert.deepStrictEqual(steps(yield* thread.at(["child"]).history()), [
        [["child"], 1],
        [["child"], 0],
        [["child"], -1]
      ])
    })
)

// ---------------------------------------------------------------------------
// S8, S9: retry and interrupt
// ---------------------------------------------------------------------------

it.effect("S8 a node that fails twice with an error its policy names runs three times", () =>
  Effect.gen(function*() {
    let attempts = 0
    let siblings = 0
    const graph = StateGraph.make(
      "retried",
      StateGraph.nodes(Log, {
        flaky: Node.make({
          input: Log,
          retry: Policy.retry({ schedule: Schedule.spaced("10 millis"), maxAttempts: 3 }),
          run: () =>
            Effect.suspend(() =>
              ++attempts < 3 ? Effect.fail(new Failed({ at: attempts })) : Effect.succeed({ log: ["ok"] })
            )
        }),
        sibling: () =>
          Effect.sync(() => {
            siblings++
            return { log: ["sibling"] }
          })
      }),
      { start: ["flaky", "sibling"] }
    )
    const fiber = yield* Effect.forkChild(graph.invoke({}))
    yield* TestClock.adjust("9 millis")
    assert.strictEqual(attempts, 1)
    yield* TestClock.adjust("1 millis")
    assert.strictEqual(attempts, 2)
    yield* TestClock.adjust("10 millis")
    assert.deepStrictEqual(yield* Fiber.join(fiber), { log: ["ok", "sibling"] })
    assert.deepStrictEqual([attempts, siblings], [3, 1])
  }))

it.effect("S8 a programming error is not retried", () =>
  Effect.gen(function*() {
    let attempts = 0
    const graph = StateGraph.make(
      "defective",
      StateGraph.nodes(Log, {
        broken: Node.make({
          input: Log,
          retry: Policy.retry(),
          run: () => Effect.suspend(() => Effect.die(new TypeError(`attempt ${++attempts}`)))
        })
      }),
      { start: "broken" }
    )
    const cause = yield* Effect.flip(Effect.sandbox(graph.invoke({})))
    assert.isTrue(Cause.hasDies(cause))
    assert.strictEqual(attempts, 1)
  }))

behaves("S8 an interrupt and a command for the parent are not retried", () =>
  Effect.gen(function*() {
    const runs = { ask: 0, leave: 0 }
    const always = Policy.retry({ schedule: Schedule.spaced(1), maxAttempts: 5 })
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        leave: Node.make({
          input: Log,
          retry: always,
          run: () => {
            runs.leave++
            return Command.parent({ update: { log: ["left"] }, goto: "ask" })
          }
        })
      }),
      { start: "leave" }
    )
    const graph = StateGraph.make(
      "parent",
      StateGraph.nodes(Log, {
        child,
        ask: Node.make({
          input: Log,
          retry: always,
          run: () => {
            runs.ask++
            return Effect.map(Approve.ask("go on?"), (answer) => ({ log: [answer] }))
          }
        })
      }),
      { start: "child" }
    )
    const thread = graph.thread("t")
    const paused = yield* Effect.flip(thread.invoke({}))
    assert.strictEqual(paused._tag, "GraphInterrupt")
    assert.deepStrictEqual(runs, { ask: 1, leave: 1 })
    assert.deepStrictEqual(yield* thread.resume(Approve.reply("yes")), { log: ["left", "yes"] })
    assert.deepStrictEqual(runs, { ask: 2, leave: 1 })
  }))

behaves(
  "S9 a node that asks pauses the thread, and runs again from its start with the answer",
  () =>
    Effect.gen(function*() {
      let runs = 0
      const graph = StateGraph.make(
        "asking",
        StateGraph.nodes(Demo, {
          ask: Effect.fnUntraced(function*() {
            runs++
            const answer = yield* Approve.ask("approve?")
            return { visited: [`answer=${answer}`] }
          })
        }),
        { start: "ask" }
      )
      const thread = graph.thread("t")
      const paused = yield* Effect.flip(thread.invoke({ total: 0, visited: [] }))
      assert.strictEqual(paused._tag, "GraphInterrupt")
      const requests = paused._tag === "GraphInterrupt" ? paused.requests : []
      assert.deepStrictEqual(requests.map(({ payload, tag }) => ({ payload, tag })), [{
        payload: "approve?",
        tag: "Approve"
      }])
      assert.match(requests[0]!.id, /^[0-9a-f]{32}$/)
      const state = yield* thread.state()
      assert.deepStrictEqual(state.values, { total: 0, visited: [] })
      assert.deepStrictEqual(state.next, ["ask"])
      assert.deepStrictEqual(state.requests, [{ id: requests[0]!.id, tag: "Approve", payload: "approve?" }])
      assert.deepStrictEqual(yield* thread.resume(Approve.reply("yes")), { total: 0, visited: ["answer=yes"] })
      assert.strictEqual(runs, 2)
      assert.deepStrictEqual((yield* thread.state()).next, [])
    })
)

// ---------------------------------------------------------------------------
// S10 - S14: checkpoints
// ---------------------------------------------------------------------------

behaves("S10 history of the two-node graph has steps -1, 0, 1, 2", () =>
  Effect.gen(function*() {
    const thread = linear.thread("t")
    yield* thread.invoke({ total: 10, visited: [] })
    const history = yield* thread.history()
    assert.deepStrictEqual(history.map(({ next, source, step, values }) => ({ step, source, values, next })), [
      { step: 2, source: "loop", values: { total: 21, visited: ["a", "b"] }, next: [] },
      { step: 1, source: "loop", values: { total: 20, visited: ["a"] }, next: ["b"] },
      { step: 0, source: "loop", values: { total: 10, visited: [] }, next: ["a"] },
      { step: -1, source: "input", values: { visited: [] }, next: ["__start__"] }
    ] as ReadonlyArray<unknown> as never)
    assert.deepStrictEqual(history[0]!.versions, {
      total: 4,
      visited: 4,
      __start__: 2,
      "branch:to:a": 3,
      "branch:to:b": 4
    })
    assert.deepStrictEqual(history[0]!.versionsSeen, { __start__: 1, a: 2, b: 3 })
    assert.deepStrictEqual(history.map(({ parent }) => parent), [
      history[1]!.checkpoint,
      history[2]!.checkpoint,
      history[3]!.checkpoint,
      undefined
    ])
  }))

behaves(
  "S10 a node runs when a trigger is newer than what it has seen: an update of the state alone wakes nobody",
  () =>
    Effect.gen(function*() {
      const thread = linear.thread("t")
      yield* thread.invoke({ total: 10 })
      yield* thread.update({ total: 100 }, { asNode: "b" })
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values, state.next], [{ total: 100, visited: ["a", "b"] }, []])
      yield* thread.update({ total: 100 }, { asNode: "a" })
      assert.deepStrictEqual((yield* thread.state()).next, ["b"])
    })
)

behaves("S11 going on from the checkpoint before b runs b again", () =>
  Effect.gen(function*() {
    const thread = linear.thread("t")
    yield* thread.invoke({ total: 10 })
    const before = (yield* thread.history()).find(({ step }) => step === 1)!
    assert.deepStrictEqual(before.values, { total: 20, visited: ["a"] })
    assert.deepStrictEqual(yield* thread.continue({ checkpoint: before.checkpoint }), {
      total: 21,
      visited: ["a", "b"]
    })
  }))

behaves(
  "S12 what finished before a sibling failed is kept, and only the failed task runs again",
  () =>
    Effect.gen(function*() {
      const runs = { one: 0, three: 0, two: 0 }
      const count = (name: keyof typeof runs) =>
        Effect.sync(() => {
          runs[name]++
          return { log: [`${name}${runs[name]}`] }
        })
      const graph = StateGraph.make(
        "pending",
        StateGraph.nodes(Log, {
          one: () => count("one"),
          three: () =>
            Effect.flatMap(
              count("three"),
              (u) => runs.three < 2 ? Effect.fail(new Failed({ at: 3 })) : Effect.succeed(u)
            ),
          two: () => count("two")
        }),
        { start: ["one", "two", "three"] },
        { onFailure: "settle" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), new Failed({ at: 3 }))
      const state = yield* thread.state()
      assert.deepStrictEqual(state.values, { log: ["one1", "two1"] })
      assert.deepStrictEqual(state.next, ["three"])
      assert.deepStrictEqual(state.tasks.map(({ node, result }) => [node, result]), [
        ["one", { log: [["one1"]] }],
        ["three", undefined],
        ["two", { log: [["two1"]] }]
      ])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["one1", "three2", "two1"] })
      assert.deepStrictEqual(runs, { one: 1, three: 2, two: 1 })
      // The failure itself is no state: nothing of it is left.
      assert.deepStrictEqual((yield* thread.state()).tasks, [])
    })
)

behaves("S13 values and checkpoints are seen after their commit, updates before it", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const log: Array<string> = []
    const logged = Checkpointer.Checkpointer.of({
      ...saver,
      commit: (thread, commit) =>
        Effect.andThen(
          saver.commit(thread, commit),
          Effect.sync(() => void log.push(`commit ${commit.checkpoint.step}`))
        )
    })
    // A reader that is never behind sees events in the order in which the run makes them.
    yield* Stream.runForEach(
      linear.thread("t").stream({ total: 10 }, { modes: ["values", "updates", "checkpoints"] }),
      (event) => Effect.sync(() => void log.push(`${event.mode} ${event.step}`))
    ).pipe(Effect.provide(Layer.succeed(Checkpointer.Checkpointer, logged)))
    const at = (entry: string) => log.indexOf(entry)
    for (const step of [0, 1, 2]) {
      assert.isTrue(at(`commit ${step}`) >= 0 && at(`commit ${step}`) < at(`values ${step}`), log.join("\n"))
      assert.isTrue(at(`values ${step}`) < at(`checkpoints ${step}`), log.join("\n"))
    }
    assert.isTrue(at("commit -1") < at("checkpoints -1"), log.join("\n"))
    assert.deepStrictEqual(log.filter((entry) => !entry.startsWith("commit")), [
      "checkpoints -1",
      "values 0",
      "checkpoints 0",
      "updates 1",
      "values 1",
      "checkpoints 1",
      "updates 2",
      "values 2",
      "checkpoints 2"
    ])
  }))

behaves("S13 a breakpoint after a node stops when its checkpoint is stored", () =>
  Effect.gen(function*() {
    const thread = linear.thread("t")
    const stopped = yield* Effect.flip(thread.invoke({ total: 10 }, { after: ["a"] }))
    assert.deepStrictEqual(stopped, new GraphError.GraphBreakpoint({ when: "after", nodes: ["a"], next: ["b"] }))
    const state = yield* thread.state()
    assert.deepStrictEqual([state.step, state.values, state.next], [1, { total: 20, visited: ["a"] }, ["b"]])
    assert.deepStrictEqual(yield* thread.continue(), { total: 21, visited: ["a", "b"] })
  }))

behaves(
  "S14 ten runs that finish in other orders give the same state and the same checkpoints",
  () =>
    Effect.gen(function*() {
      const names = ["a", "b", "c", "d"] as const
      let run = 0
      const finished: Array<string> = []
      const slow = (name: typeof names[number]) => () =>
        Effect.gen(function*() {
          // Another node is the last one in every run.
          const turns = 20 * ((names.indexOf(name) * 3 + run * 7) % 5)
          for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
          finished.push(name)
          return { log: [name] }
        })
      const graph = StateGraph.make(
        "parallel",
        StateGraph.nodes(Log, { a: slow("a"), b: slow("b"), c: slow("c"), d: slow("d") }),
        { start: ["d", "c", "b", "a"] }
      )
      const orders = new Set<string>()
      const ids = new Set<string>()
      for (run = 0; run < 10; run++) {
        finished.length = 0
        const thread = graph.thread(`t${run}`)
        assert.deepStrictEqual(yield* thread.invoke({}), { log: ["a", "b", "c", "d"] })
        orders.add(finished.join(""))
        ids.add((yield* thread.history()).map(({ checkpoint }) => checkpoint).join(" "))
      }
      assert.isAbove(orders.size, 2)
      assert.strictEqual(ids.size, 1)
    })
)

// ---------------------------------------------------------------------------
// P1 - P8: the machine wired by hand
// ---------------------------------------------------------------------------

const twice = (text: string): string => text + text

behaves("P1 one node subscribes to a channel and writes another", () =>
  Effect.gen(function*() {
    const machine = Pregel.make("p1", {
      channels: { a: Channel.ephemeral(Schema.String), b: Channel.ephemeral(Schema.String) },
      nodes: { node1: Pregel.node({ subscribe: "a", run: twice, write: "b" }) },
      input: ["a"],
      output: ["b"]
    })
    assert.deepStrictEqual(yield* machine.invoke({ a: "foo" }), { b: "foofoo" })
    assert.deepStrictEqual(yield* machine.thread("t").invoke({ a: "foo" }), { b: "foofoo" })
  }))

behaves("P2 a second node subscribes to what the first writes", () =>
  Effect.gen(function*() {
    const machine = Pregel.make("p2", {
      channels: {
        a: Channel.ephemeral(Schema.String),
        b: Channel.lastValue(Schema.String),
        c: Channel.ephemeral(Schema.String)
      },
      nodes: {
        node1: Pregel.node({ subscribe: "a", run: twice, write: "b" }),
        node2: Pregel.node({ subscribe: "b", run: twice, write: "c" })
      },
      input: ["a"],
      output: ["b", "c"]
    })
    assert.deepStrictEqual(yield* machine.invoke({ a: "foo" }), { b: "foofoo", c: "foofoofoofoo" })
    assert.deepStrictEqual(yield* machine.thread("t").invoke({ a: "foo" }), { b: "foofoo", c: "foofoofoofoo" })
  }))

const intoC = (c: Channel.Channel<unknown, string>) =>
  Pregel.make("into c", {
    channels: { a: Channel.ephemeral(Schema.String), b: Channel.ephemeral(Schema.String), c },
    nodes: {
      node1: Pregel.node({ subscribe: "a", run: twice, write: ["b", "c"] }),
      node2: Pregel.node({ subscribe: "b", run: twice, write: "c" })
    },
    input: ["a"],
    output: ["c"]
  })

behaves("P3 a Topic that accumulates keeps the writes of several supersteps", () =>
  Effect.gen(function*() {
    const machine = intoC(Channel.topic(Schema.String, { accumulate: true }))
    assert.deepStrictEqual(yield* machine.invoke({ a: "foo" }), { c: ["foofoo", "foofoofoofoo"] })
    assert.deepStrictEqual(yield* machine.thread("t").invoke({ a: "foo" }), { c: ["foofoo", "foofoofoofoo"] })
  }))

behaves("P4 a reducer joins them", () =>
  Effect.gen(function*() {
    const joined = Channel.reducer({
      value: Schema.String,
      initial: () => "",
      reduce: (current, update) => current === "" ? update : `${current} | ${update}`
    })
    const machine = intoC(joined)
    assert.deepStrictEqual(yield* machine.invoke({ a: "foo" }), { c: "foofoo | foofoofoofoo" })
    assert.deepStrictEqual(yield* machine.thread("t").invoke({ a: "foo" }), { c: "foofoo | foofoofoofoo" })
  }))

behaves("P5 a cycle ends when its node writes nothing", () =>
  Effect.gen(function*() {
    let runs = 0
    const machine = (value: Channel.Channel<string | undefined, string>) =>
      Pregel.make("p5", {
        channels: { value },
        nodes: {
          node: Pregel.node({
            subscribe: "value",
            run: (text: string) => {
              runs++
              return text.length < 10 ? text + text : undefined
            },
            write: "value"
          })
        },
        input: ["value"],
        output: ["value"]
      })
    const lasting = machine(Channel.lastValue(Schema.String))
    assert.deepStrictEqual(yield* lasting.invoke({ value: "a" }), { value: "aaaaaaaaaaaaaaaa" })
    assert.strictEqual(runs, 5)
    assert.deepStrictEqual(yield* lasting.thread("t").invoke({ value: "a" }), { value: "aaaaaaaaaaaaaaaa" })
  }))

behaves(
  "P5 on an ephemeral channel the last value is shown in the stream, and is gone when the run ends",
  () =>
    Effect.gen(function*() {
      const machine = Pregel.make("p5 ephemeral", {
        channels: { value: Channel.ephemeral(Schema.String) },
        nodes: {
          node: Pregel.node({
            subscribe: "value",
            run: (text: string) => text.length < 10 ? text + text : undefined,
            write: "value"
          })
        },
        input: ["value"],
        output: ["value"]
      })
      const thread = machine.thread("t")
      const events = yield* collect(thread.stream({ value: "a" }, { modes: ["values"] }))
      assert.deepStrictEqual(events.map((event) => event.mode === "values" ? event.values : event.mode), [
        { value: "aa" },
        { value: "aaaa" },
        { value: "aaaaaaaa" },
        { value: "aaaaaaaaaaaaaaaa" },
        {}
      ])
      // What a run gives, what going on gives and what the thread holds are the same.
      assert.deepStrictEqual(yield* machine.invoke({ value: "a" }), {})
      assert.deepStrictEqual(yield* thread.continue(), {})
      assert.deepStrictEqual((yield* thread.state()).values, {})
    })
)

behaves("P6 a Topic drops repetitions when it is told to", () =>
  Effect.gen(function*() {
    const machine = (unique: boolean) =>
      Pregel.make(`p6-${unique}`, {
        channels: {
          a: Channel.ephemeral(Schema.String),
          b: Channel.ephemeral(Schema.String),
          c: Channel.topic(Schema.String, { accumulate: true, unique })
        },
        nodes: {
          node1: Pregel.node({ subscribe: "a", run: (text: string) => text, write: ["b", "c"] }),
          node2: Pregel.node({ subscribe: "b", run: (text: string) => [text, `${text}!`, text], write: "c" })
        },
        input: ["a"],
        output: ["c"]
      })
    assert.deepStrictEqual(yield* machine(true).thread("t").invoke({ a: "x" }), { c: ["x", "x!"] })
    assert.deepStrictEqual(yield* machine(false).thread("u").invoke({ a: "x" }), { c: ["x", "x", "x!", "x"] })
  }))

behaves(
  "P7 a Delta channel is rebuilt from its writes, batches as they were, and snapshots bound the reading",
  () =>
    Effect.gen(function*() {
      const list = Channel.delta({
        value: Schema.Array(Schema.String),
        initial: () => [],
        reduce: (state, writes) => [...state, ...writes.flat()],
        snapshotFrequency: 2
      })
      const dict = Channel.delta({
        value: Schema.Record(Schema.String, Schema.Int),
        initial: () => ({}),
        reduce: (state, writes) => Object.assign({}, state, ...writes) as Readonly<Record<string, number>>
      })
      class Deltas extends State.make({ n: Channel.lastValue(Schema.Int, { initial: () => 0 }), list, dict }) {}
      const graph = StateGraph.make(
        "p7",
        StateGraph.nodes(Deltas, {
          a: (s) => ({ n: s.n + 1, list: [`a${s.n}`], dict: { [`a${s.n}`]: s.n } }),
          b: (s) => ({ list: [`b${s.n}`], dict: { last: s.n } })
        }),
        {
          start: ["a", "b"],
          edges: { a: StateGraph.route(["a", "b"], (s) => s.n < 4 ? ["a", "b"] : []) }
        }
      )
      const thread = graph.thread("t")
      const live = (yield* collect(thread.stream({}, { modes: ["values"] }))).flatMap((event) =>
        event.mode === "values" ? [event.values] : []
      )
      assert.deepStrictEqual(live.at(-1), {
        n: 4,
        list: ["a0", "b0", "a1", "b1", "a2", "b2", "a3", "b3"],
        dict: { a0: 0, last: 3, a1: 1, a2: 2, a3: 3 }
      })
      const stored = (yield* thread.history()).map(({ values }) => values).toReversed()
      assert.deepStrictEqual(stored.slice(2), live)
      // Reading never goes past the last whole state.
      const saver = yield* Checkpointer.Checkpointer
      for (const { checkpoint } of yield* thread.history()) {
        const saved = yield* saver.get("t", "", checkpoint)
        assert.isTrue(saved._tag === "Some" && saved.value.chain.length <= 3)
      }
    })
)

class Essay extends State.make({ topic: Schema.String, content: Schema.String, score: Schema.Number }, {
  input: ["topic"]
}) {}

behaves("P8 the graph of two essay nodes runs, and can be inspected", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "essay",
      StateGraph.nodes(Essay, {
        write_essay: ({ topic }) => Effect.succeed({ content: `Essay about ${topic}` }),
        score_essay: ({ content }) => Effect.succeed({ score: content === undefined ? 0 : content.length })
      }),
      { start: "write_essay", edges: StateGraph.sequence("write_essay", "score_essay") }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ topic: "cats" }), {
      topic: "cats",
      content: "Essay about cats",
      score: 16
    })
    const { channels, nodes } = graph.pregel
    assert.deepStrictEqual(Object.keys(channels), [
      "topic",
      "content",
      "score",
      "__start__",
      "__tasks",
      "branch:to:write_essay",
      "branch:to:score_essay"
    ])
    assert.deepStrictEqual(Object.entries(nodes).map(([name, { triggers }]) => [name, triggers]), [
      ["__start__", ["__start__"]],
      ["score_essay", ["branch:to:score_essay"]],
      ["write_essay", ["branch:to:write_essay"]]
    ])
  }))
