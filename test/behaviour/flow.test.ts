/** Edges, joins, deferred nodes, routes, Sends, limits and breakpoints: what runs, when, and how often. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Schema, Stream } from "effect"
import {
  Channel,
  type Checkpointer,
  Command,
  END,
  GraphError,
  Interrupt,
  Node,
  NodeCache,
  Policy,
  Running,
  Send,
  State,
  StateGraph
} from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}

/** A node that leaves its name. */
const say = (name: string) => () => Effect.succeed({ log: [name] })
const later = (name: string) => Node.make({ input: Log, defer: true, run: say(name) })

const collect = Effect.fnUntraced(function*<A, E, R>(stream: Stream.Stream<A, E, R>) {
  return [...yield* Stream.runCollect(stream)]
})

/** A graph with its types gone, for definitions that do not compile. */
interface Untyped {
  readonly invoke: (input: unknown) => Effect.Effect<unknown, unknown>
  readonly thread: (id: string) => {
    readonly invoke: (input: unknown) => Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>
  }
}
const untyped = (name: string, nodes: unknown, flow: unknown): Untyped =>
  (StateGraph.make as unknown as (name: string, nodes: unknown, flow: unknown) => Untyped)(name, nodes, flow)

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

// ---------------------------------------------------------------------------
// Retrieval with a join
// ---------------------------------------------------------------------------

const docs = Channel.reducer({
  value: Schema.Array(Schema.String),
  initial: () => [],
  reduce: (current, update) => [...current, ...update].sort()
})

class Rag extends State.make({ query: Schema.String, answer: Schema.String, docs }, { input: ["query", "docs"] }) {}

const rag = {
  rewrite_query: (s: State.Type<typeof Rag>) => ({ query: `query: ${s.query}` }),
  analyzer_one: (s: State.Type<typeof Rag>) => ({ query: `analyzed: ${s.query}` }),
  retriever_one: () => ({ docs: ["doc1", "doc2"] }),
  retriever_two: () => ({ docs: ["doc3", "doc4"] }),
  qa: (s: State.Type<typeof Rag>) => ({ answer: s.docs.join(",") })
}

const ragNodes = StateGraph.nodes(Rag, rag)
const question = { query: "what is weather in sf" }
const answered = {
  query: "analyzed: query: what is weather in sf",
  answer: "doc1,doc2,doc3,doc4",
  docs: ["doc1", "doc2", "doc3", "doc4"]
}

const joined = StateGraph.make("rag", ragNodes, {
  start: "rewrite_query",
  edges: {
    rewrite_query: ["analyzer_one", "retriever_two"],
    analyzer_one: "retriever_one",
    retriever_one: StateGraph.join("qa"),
    retriever_two: StateGraph.join("qa")
  }
})

const ranOn = (graph: { readonly stream: typeof joined.stream }) =>
  Effect.map(
    collect(graph.stream(question, { modes: ["updates"] })),
    (events) => events.map((event) => [event.step, event.node])
  )

behaves("LG#49 two targets of a start both end the graph, joined or not", () =>
  Effect.gen(function*() {
    const nodes = StateGraph.nodes(Log, { A: say("A"), B: say("B") })
    const graph = StateGraph.make("two", nodes, { start: ["A", "B"], edges: { A: END, B: END } })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: [] }), { log: ["A", "B"] })
    const join = untyped("joined", nodes, {
      start: ["A", "B"],
      edges: { A: StateGraph.join(END), B: StateGraph.join(END) }
    })
    assert.deepStrictEqual(yield* join.thread("u").invoke({ log: [] }), { log: ["A", "B"] })
  }))

behaves("LG#50 a route from the start chooses the first node", () =>
  Effect.gen(function*() {
    class Entry extends State.make({
      input: Schema.String,
      output: Schema.String,
      steps: Channel.append(Schema.String)
    }, { input: ["input"] }) {}
    const graph = StateGraph.make(
      "entry",
      StateGraph.nodes(Entry, {
        left: (s) => ({ output: `${s.input}->left` }),
        right: (s) => ({ output: `${s.input}->right` })
      }),
      { start: StateGraph.route(["left", "right"], (s) => s.input === "go-right" ? "right" : "left") }
    )
    const events = yield* collect(graph.stream({ input: "go-right" }, { modes: ["updates"] }))
    assert.deepStrictEqual(events.map(({ node, update }) => [node, update]), [["right", {
      output: "go-right->right"
    }]])
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ input: "go-right" }), {
      input: "go-right",
      output: "go-right->right",
      steps: []
    })
  }))

behaves("LG#51 a join waits for both retrievers, over several supersteps", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* joined.invoke(question), answered)
    const events = yield* collect(joined.thread("t").stream(question, { modes: ["updates"] }))
    assert.deepStrictEqual(
      events.map((event) => event.mode === "updates" ? [event.step, event.node, event.update] : event.mode),
      [
        [1, "rewrite_query", { query: "query: what is weather in sf" }],
        [2, "analyzer_one", { query: "analyzed: query: what is weather in sf" }],
        [2, "retriever_two", { docs: ["doc3", "doc4"] }],
        [3, "retriever_one", { docs: ["doc1", "doc2"] }],
        [4, "qa", { answer: "doc1,doc2,doc3,doc4" }]
      ]
    )
  }))

behaves("LG#51 a stop after the last source keeps the complete join, also over an update", () =>
  Effect.gen(function*() {
    const stop = { after: ["retriever_one"] }
    const stopped = new GraphError.GraphBreakpoint({ when: "after", nodes: ["retriever_one"], next: ["qa"] })
    const thread = joined.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke(question, stop)), stopped)
    assert.deepStrictEqual(yield* thread.continue(), answered)
    const updated = joined.thread("u")
    assert.deepStrictEqual(yield* Effect.flip(updated.invoke(question, stop)), stopped)
    yield* updated.update({ docs: ["doc5"] })
    assert.deepStrictEqual((yield* updated.state()).next, ["qa"])
    assert.deepStrictEqual(yield* updated.continue(), {
      ...answered,
      answer: "doc1,doc2,doc3,doc4,doc5",
      docs: ["doc1", "doc2", "doc3", "doc4", "doc5"]
    })
    const before = joined.thread("v")
    assert.deepStrictEqual(
      yield* Effect.flip(before.invoke(question, { before: ["qa"] })),
      new GraphError.GraphBreakpoint({ when: "before", nodes: ["qa"], next: ["qa"] })
    )
    assert.deepStrictEqual(yield* before.continue({ before: ["qa"] }), answered)
  }))

behaves("LG#52 a deferred node needs no join: it waits until all else is quiet", () =>
  Effect.gen(function*() {
    const nodes = StateGraph.nodes(Rag, { ...rag, qa: Node.make({ input: Rag, defer: true, run: (s) => Effect.succeed(rag.qa(s)) }) })
    const graph = StateGraph.make("deferred", nodes, {
      start: "rewrite_query",
      edges: {
        rewrite_query: ["analyzer_one", "retriever_two"],
        analyzer_one: "retriever_one",
        retriever_one: "qa",
        retriever_two: "qa"
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke(question), answered)
    assert.deepStrictEqual(yield* ranOn(graph as never), [
      [1, "rewrite_query"],
      [2, "analyzer_one"],
      [2, "retriever_two"],
      [3, "retriever_one"],
      [4, "qa"]
    ])
    // A join before a deferred node: both triggers wait.
    const both = StateGraph.make("both", nodes, {
      start: "rewrite_query",
      edges: {
        rewrite_query: ["analyzer_one", "retriever_two"],
        analyzer_one: "retriever_one",
        retriever_one: StateGraph.join("qa"),
        retriever_two: StateGraph.join("qa")
      }
    })
    const events = yield* collect(both.thread("u").stream(question, { modes: ["tasks"] }))
    const qa = events.flatMap((event) =>
      event.mode === "tasks" && event.type === "started" && event.node === "qa" ? [event.triggers] : []
    )
    assert.deepStrictEqual(qa, [["branch:to:qa", "join:retriever_one+retriever_two:qa"]])
    assert.deepStrictEqual((yield* both.thread("u").state()).values, answered)
  }))

behaves("LG#52 a deferred node in the middle runs after what is beside it, and the rest goes on from there", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "middle",
      StateGraph.nodes(Rag, {
        ...rag,
        analyzer_one: Node.make({ input: Rag, defer: true, run: (s) => Effect.succeed(rag.analyzer_one(s)) })
      }),
      {
        start: "rewrite_query",
        edges: {
          rewrite_query: ["analyzer_one", "retriever_two"],
          analyzer_one: "retriever_one",
          retriever_one: StateGraph.join("qa"),
          retriever_two: StateGraph.join("qa")
        }
      }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke(question), answered)
    assert.deepStrictEqual(yield* ranOn(graph as never), [
      [1, "rewrite_query"],
      [2, "retriever_two"],
      [3, "analyzer_one"],
      [4, "retriever_one"],
      [5, "qa"]
    ])
  }))

behaves("LG#53 a join completes when one of its sources was reached by a route", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("routed", ragNodes, {
      start: "rewrite_query",
      edges: {
        rewrite_query: StateGraph.route(
          ["analyzer_one", "retriever_two"],
          () => ["analyzer_one", "retriever_two"] as const
        ),
        analyzer_one: "retriever_one",
        retriever_one: StateGraph.join("qa"),
        retriever_two: StateGraph.join("qa")
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke(question), answered)
  }))

behaves("LG#54 an input that does not fit its schemas is refused before anything is stored", () =>
  Effect.gen(function*() {
    const thread = joined.thread("t")
    const wrong = thread.invoke({ query: 5 } as never)
    const error = yield* Effect.flip(wrong)
    assert.deepStrictEqual(
      error instanceof GraphError.InvalidUpdate && [error.reason, error.channel, error.writers],
      ["InvalidValue", "query", ["__input__"]]
    )
    assert.deepStrictEqual(yield* Effect.flip(thread.state()), new GraphError.UnknownThread({ thread: "t" }))
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({})),
      new GraphError.MissingInput({ keys: ["query"] })
    )
    assert.deepStrictEqual(yield* Effect.flip(thread.state()), new GraphError.UnknownThread({ thread: "t" }))
  }))

behaves("LG#55 an edge beside a join wakes the target earlier, and the join still counts", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("plus", ragNodes, {
      start: "rewrite_query",
      edges: {
        rewrite_query: ["analyzer_one", "retriever_two", "qa"],
        analyzer_one: "retriever_one",
        retriever_one: StateGraph.join("qa"),
        retriever_two: StateGraph.join("qa")
      }
    })
    const events = yield* collect(graph.thread("t").stream(question, { modes: ["updates"] }))
    assert.deepStrictEqual(
      events.flatMap((event) => event.mode === "updates" && event.node === "qa" ? [[event.step, event.update]] : []),
      [[2, { answer: "" }], [4, { answer: "doc1,doc2,doc3,doc4" }]]
    )
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, answered)
  }))

const looped = (counts: { rewrite: number }) =>
  StateGraph.make(
    "looped",
    StateGraph.nodes(Rag, {
      ...rag,
      rewrite_query: Node.make({
        input: Rag,
        cache: Policy.cache(),
        run: (s) =>
          Effect.sync(() => {
            counts.rewrite++
            return rag.rewrite_query(s)
          })
      }),
      decider: () => ({})
    }),
    {
      start: "rewrite_query",
      edges: {
        rewrite_query: ["analyzer_one", "retriever_two"],
        analyzer_one: "retriever_one",
        retriever_one: StateGraph.join("decider"),
        retriever_two: StateGraph.join("decider"),
        decider: StateGraph.route(
          ["qa", "rewrite_query"],
          (s) => s.query.split("analyzed").length > 2 ? "qa" : "rewrite_query"
        )
      }
    }
  )

const twiceAnswered = {
  query: "analyzed: query: analyzed: query: what is weather in sf",
  answer: "doc1,doc1,doc2,doc2,doc3,doc3,doc4,doc4",
  docs: ["doc1", "doc1", "doc2", "doc2", "doc3", "doc3", "doc4", "doc4"]
}

behaves("LG#56 a loop passes a join again and again", () =>
  Effect.gen(function*() {
    const counts = { rewrite: 0 }
    assert.deepStrictEqual(yield* looped(counts).thread("t").invoke(question), twiceAnswered)
    assert.strictEqual(counts.rewrite, 2)
  }))

behaves("LG#56 with a cache the second run takes the first's results, and says so", () =>
  Effect.gen(function*() {
    const counts = { rewrite: 0 }
    const graph = looped(counts)
    const run = (id: string) => collect(graph.thread(id).stream(question, { modes: ["updates"] }))
    yield* Effect.gen(function*() {
      yield* run("t")
      const cached = (yield* run("u")).flatMap((event) =>
        event.mode === "updates" && event.cached ? [[event.node, event.update]] : []
      )
      assert.deepStrictEqual(cached, [
        ["rewrite_query", { query: "query: what is weather in sf" }],
        ["rewrite_query", { query: "query: analyzed: query: what is weather in sf" }]
      ])
    }).pipe(Effect.provide(NodeCache.layerMemory))
    assert.strictEqual(counts.rewrite, 2)
    assert.deepStrictEqual((yield* graph.thread("u").state()).values, twiceAnswered)
  }))

behaves("LG#57 two ways to one node wake it once", () =>
  Effect.gen(function*() {
    class Keyed extends State.make({ my_key: Channel.reducer({
      value: Schema.String,
      initial: () => "",
      reduce: (current, update) => current + update
    }) }) {}
    const nodes = StateGraph.nodes(Keyed, {
      up: () => undefined,
      side: () => undefined,
      other: () => ({ my_key: "_more" }),
      down: () => undefined
    })
    const graph = StateGraph.make("diamond", nodes, {
      start: "up",
      edges: { up: ["side", "other"], side: "down", other: "down" }
    })
    const events = yield* collect(graph.thread("t").stream({ my_key: "my_value" }, { modes: ["updates"] }))
    assert.deepStrictEqual(
      events.map((event) => event.mode === "updates" ? [event.step, event.node, event.update] : event.mode),
      [
        [1, "up", undefined],
        [2, "other", { my_key: "_more" }],
        [2, "side", undefined],
        [3, "down", undefined]
      ]
    )
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { my_key: "my_value_more" })
  }))

behaves("LG#58 a route is called once per finished node, with the state as its node left it", () =>
  Effect.gen(function*() {
    const seen: Array<unknown> = []
    const graph = StateGraph.make("route", StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c") }), {
      start: ["a", "c"],
      edges: {
        a: StateGraph.route(["b", END], (s) => {
          seen.push(s.log)
          return s.log.length < 3 ? "b" : END
        })
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: ["0"] }), { log: ["0", "a", "c", "b"] })
    // Not with what its sibling wrote.
    assert.deepStrictEqual(seen, [["0", "a"]])
  }))

behaves("LG#59 a graph is a node: only keys that both have go in and out", () =>
  Effect.gen(function*() {
    class Inner extends State.make({ my_key: Schema.String, my_other_key: Schema.String }, { input: ["my_key"] }) {}
    class Outer extends State.make({ my_key: Schema.String, never_called: Schema.String }) {}
    const inner = StateGraph.make(
      "inner",
      StateGraph.nodes(Inner, { up: (s) => ({ my_key: `${s.my_key} there`, my_other_key: s.my_key }) }),
      { start: "up" }
    )
    const outer = StateGraph.make(
      "outer",
      StateGraph.nodes(Outer, { inner, side: (s) => ({ my_key: `${s.my_key} and back again` }) }),
      { start: "inner", edges: { inner: "side" } }
    )
    const given = { my_key: "my value", never_called: "never" }
    const expected = { my_key: "my value there and back again", never_called: "never" }
    assert.deepStrictEqual(yield* outer.invoke(given), expected)
    const events = yield* collect(outer.thread("t").stream(given, { modes: ["updates", "values"] }))
    assert.deepStrictEqual(
      events.map((event) => event.mode === "updates" ? [event.node, event.update] : event.mode === "values" ? event.values : event.mode) as ReadonlyArray<unknown>,
      [
        given,
        ["inner", { my_key: "my value there" }],
        { ...given, my_key: "my value there" },
        ["side", { my_key: "my value there and back again" }],
        expected
      ]
    )
  }))

behaves("LG#60 a sequence is the edges from each node to the next, and sequences can be put together", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(StateGraph.sequence("a", "b", "c") as object, { a: "b", b: "c" })
    assert.deepStrictEqual(StateGraph.sequence("a") as object, {})
    const graph = StateGraph.make(
      "sequences",
      StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c"), d: say("d") }),
      { start: "c", edges: { ...StateGraph.sequence("a", "b"), ...StateGraph.sequence("c", "d"), d: "a" } }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["c", "d", "a", "b"] })
  }))

it("LG#60 a sequence of nothing, or with a name twice, is refused", () => {
  assert.throws(() => StateGraph.sequence(), "StateGraph.sequence: needs at least one node")
  assert.throws(() => StateGraph.sequence("a", "b", "a"), "StateGraph.sequence: \"a\" stands in it twice")
})

behaves("LG#61 names may be held in constants", () =>
  Effect.gen(function*() {
    const Names = { First: "first", Second: "second" } as const
    const graph = StateGraph.make(
      "named",
      StateGraph.nodes(Log, {
        [Names.First]: () => Effect.succeed(Command.make({ update: { log: ["1"] }, goto: Names.Second })),
        [Names.Second]: say("2")
      }),
      { start: Names.First, edges: { [Names.Second]: END } }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["1", "2"] })
  }))

// ---------------------------------------------------------------------------
// Sends
// ---------------------------------------------------------------------------

behaves("LG#62 an edge after Sends wakes its target once", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("sends", StateGraph.nodes(Log, { 1: say("1"), 2: say("2"), 3: say("3") }), {
      start: "1",
      edges: {
        1: StateGraph.route(["2"], (s) => [Send.make("2", s), Send.make("2", s)]),
        2: StateGraph.route(["3"], () => "3" as const)
      }
    })
    assert.deepStrictEqual(yield* graph.invoke({ log: ["0"] }), { log: ["0", "1", "2", "2", "3"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: ["0"] }), { log: ["0", "1", "2", "2", "3"] })
  }))

behaves("LG#63 Sends of two nodes fold in the order of their senders, after the nodes that were woken", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "concurrent",
      StateGraph.nodes(Log, {
        1: say("1"),
        "1.1": say("1.1"),
        2: Node.make({ input: Schema.Int, run: (n) => Effect.succeed({ log: [`2|${n}`] }) }),
        3: say("3"),
        "3.1": say("3.1")
      }),
      {
        start: ["1", "1.1"],
        edges: {
          1: StateGraph.route(["2", "3.1"], () => [Send.make("2", 1), Send.make("2", 2), "3.1" as const]),
          "1.1": StateGraph.route(["2"], () => [Send.make("2", 3), Send.make("2", 4)]),
          2: StateGraph.route(["3"], () => "3" as const)
        }
      }
    )
    const expected = { log: ["0", "1", "1.1", "3.1", "2|1", "2|2", "2|3", "2|4", "3"] }
    assert.deepStrictEqual(yield* graph.invoke({ log: ["0"] }), expected)
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: ["0"] }), expected)
  }))

behaves("LG#64 a node that was sent to sends on with a list of Commands", () =>
  Effect.gen(function*() {
    const Then = Schema.Struct({ then: Schema.Int })
    const graph = StateGraph.make(
      "sequences",
      StateGraph.nodes(Log, {
        1: say("1"),
        2: Node.make({
          input: Schema.Union([Schema.Int, Then]),
          run: (given) =>
            Effect.succeed(
              typeof given === "number"
                ? [Command.make({ update: { log: [`2|${given}`] }, goto: "3" })]
                : [
                  Command.make({ goto: ["3", Send.make("2", given.then)] }),
                  Command.make({ update: { log: [`2|Send(2, ${given.then})`] } })
                ]
            )
        }),
        3: say("3"),
        "3.1": say("3.1")
      }),
      {
        start: "1",
        edges: {
          1: StateGraph.route(["2", "3.1"], () => [
            Send.make("2", { then: 3 }),
            Send.make("2", { then: 4 }),
            "3.1" as const
          ])
        }
      }
    )
    const expected = { log: ["0", "1", "3.1", "2|Send(2, 3)", "2|Send(2, 4)", "3", "2|3", "2|4", "3"] }
    assert.deepStrictEqual(yield* graph.invoke({ log: ["0"] }), expected)
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: ["0"] }), expected)
  }))

/** A hundred Sends to a node that notes how many of it run at once. */
const crowd = () => {
  const seen = { now: 0, most: 0 }
  const graph = StateGraph.make(
    "crowd",
    StateGraph.nodes(Log, {
      1: say("1"),
      2: Node.make({
        input: Schema.Int,
        run: (n) =>
          Effect.gen(function*() {
            seen.most = Math.max(seen.most, ++seen.now)
            // The later ones finish first.
            for (let turn = 0; turn < (n % 10 === 0 ? 20 : 10 - (n % 10)); turn++) yield* Effect.yieldNow
            seen.now--
            return { log: [String(n)] }
          })
      }),
      3: say("3")
    }),
    {
      start: "1",
      edges: { 1: StateGraph.route(["2"], () => Array.from({ length: 100 }, (_, n) => Send.make("2", n))), 2: "3" }
    }
  )
  return { seen, graph, expected: { log: ["0", "1", ...Array.from({ length: 100 }, (_, n) => String(n)), "3"] } }
}

behaves("LG#65 all Sends run at once, or as many as the concurrency allows, and the order of results is kept", () =>
  Effect.gen(function*() {
    const { expected, graph, seen } = crowd()
    assert.deepStrictEqual(yield* graph.thread("all").invoke({ log: ["0"] }), expected)
    assert.deepStrictEqual(seen, { now: 0, most: 100 })
    seen.most = 0
    assert.deepStrictEqual(yield* graph.thread("ten").invoke({ log: ["0"] }, { concurrency: 10 }), expected)
    assert.deepStrictEqual(seen, { now: 0, most: 10 })
    seen.most = 0
    assert.deepStrictEqual(yield* graph.invoke({ log: ["0"] }, { concurrency: 1 }), expected)
    assert.deepStrictEqual(seen, { now: 0, most: 1 })
  }))

behaves("LG#65 a stop before a hundred Sends keeps them all", () =>
  Effect.gen(function*() {
    const { expected, graph, seen } = crowd()
    const thread = graph.thread("t")
    const stopped = yield* Effect.flip(thread.invoke({ log: ["0"] }, { before: ["2"] }))
    const hundred = Array.from({ length: 100 }, () => "2")
    assert.deepStrictEqual(
      stopped,
      new GraphError.GraphBreakpoint({ when: "before", nodes: hundred, next: hundred })
    )
    assert.strictEqual(seen.most, 0)
    assert.deepStrictEqual(yield* thread.continue({ before: ["2"], concurrency: 10 }), expected)
    assert.strictEqual(seen.most, 10)
  }))

// ---------------------------------------------------------------------------
// Commands
// ---------------------------------------------------------------------------

behaves("LG#70 a node without edges goes where its Command says, to the end too", () =>
  Effect.gen(function*() {
    class FooBar extends State.make({ foo: Schema.String, bar: Schema.String }, { input: ["foo"] }) {}
    const graph = StateGraph.make(
      "commands",
      StateGraph.nodes(FooBar, {
        a: () => Command.make({ goto: "b", update: { foo: "bar" } }),
        b: () => Command.make({ goto: END, update: { bar: "baz" } })
      }),
      { start: "a" }
    )
    assert.deepStrictEqual(yield* graph.invoke({ foo: "" }), { foo: "bar", bar: "baz" })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ foo: "" }), { foo: "bar", bar: "baz" })
  }))

behaves("LG#72 a planner steps through its plan by Commands, with steps in parallel", () =>
  Effect.gen(function*() {
    type Step = "step1" | "step2" | "step3" | "step4"
    const StepName = Schema.Literals(["step1", "step2", "step3", "step4"])
    const Plan = Schema.Array(Schema.Union([StepName, Schema.Array(StepName)]))
    class Planned extends State.make({ plan: Plan, messages: Channel.append(Schema.String) }, { input: ["messages"] }) {}
    const step = (name: Step) => () => Command.make({ goto: "planner" as const, update: { messages: [name] } })
    const graph = StateGraph.make(
      "planned",
      StateGraph.nodes(Planned, {
        planner: (s) => {
          const [first, ...plan] = s.plan ?? ["step1" as const, ["step2", "step3"] as const, "step4" as const]
          return first === undefined ? Command.make({}) : Command.make({ goto: first, update: { plan } })
        },
        step1: step("step1"),
        step2: step("step2"),
        step3: step("step3"),
        step4: step("step4")
      }),
      { start: "planner" }
    )
    const expected = { messages: ["start", "step1", "step2", "step3", "step4"], plan: [] }
    assert.deepStrictEqual(yield* graph.invoke({ messages: ["start"] }), expected)
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ messages: ["start"] }), expected)
  }))

behaves("LG#73 declared destinations are seen in the machine, and do not wake anybody", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "destinations",
      StateGraph.nodes(Log, {
        a: Node.make({
          input: Log,
          destinations: ["b", "c"],
          run: () => Effect.succeed(Command.make({ update: { log: ["a"] }, goto: "c" }))
        }),
        b: say("b"),
        c: say("c")
      }),
      { start: "a" }
    )
    assert.deepStrictEqual(graph.pregel.nodes["a"]!.destinations, ["b", "c"])
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "c"] })
  }))

// ---------------------------------------------------------------------------
// Joins (law 7)
// ---------------------------------------------------------------------------

const abcd = StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c"), d: say("d") })

behaves("L7 joins of different groups into one node are passed each on its own", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("groups", StateGraph.nodes(Log, {
      a: say("a"), b: say("b"), c: say("c"), d: say("d"), end: say("end"), slow: say("slow")
    }), {
      start: ["a", "b", "c", "slow"],
      edges: {
        a: StateGraph.join("end", { group: "one" }),
        b: StateGraph.join("end", { group: "one" }),
        c: StateGraph.join("end", { group: "two" }),
        slow: "d",
        d: StateGraph.join("end", { group: "two" })
      }
    })
    assert.deepStrictEqual(Object.keys(graph.pregel.channels).filter((name) => name.startsWith("join:")), [
      "join:one:end",
      "join:two:end"
    ])
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), {
      log: ["a", "b", "c", "slow", "d", "end", "end"]
    })
  }))

behaves("L7 one source may be in two joins, of one target or of two", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("shared", abcd, {
      start: ["a", "b"],
      edges: {
        a: [StateGraph.join("c"), StateGraph.join("d")],
        b: [StateGraph.join("c"), StateGraph.join("d")]
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "c", "d"] })
  }))

behaves("L7 a source that runs twice before the join is complete counts once", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("twice", abcd, {
      start: ["a", "b"],
      edges: {
        a: StateGraph.join("d"),
        b: StateGraph.route(["a", "c"], () => ["a", "c"] as const),
        c: StateGraph.join("d")
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "a", "c", "d"] })
  }))

const half = (options?: { readonly release?: "all" | "idle"; readonly group?: string }) =>
  StateGraph.make("half", abcd, {
    start: StateGraph.route(["a", "b"], (s) => s.log[0] === "both" ? ["a", "b"] as const : s.log.at(-1) === "b" ? "b" : "a"),
    edges: { a: StateGraph.join("c", options), b: StateGraph.join("c", options), c: "d" }
  })

const stalled = new GraphError.StalledJoin({ node: "c", arrived: ["a"], missing: ["b"] })

behaves("L7 an \"all\" join that gets only some of its sources is an error after the last commit", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* Effect.flip(half().invoke({})), stalled)
    const thread = half().thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), stalled)
    const { next, step, values } = yield* thread.state()
    assert.deepStrictEqual([step, values, next], [1, { log: ["a"] }, []])
    // It stays an error, and is not taken for an end.
    assert.deepStrictEqual(yield* Effect.flip(thread.continue()), stalled)
    assert.deepStrictEqual(yield* Effect.flip(thread.start({})), stalled)
  }))

behaves("L7 a stalled join keeps who has arrived: a later input can complete it", () =>
  Effect.gen(function*() {
    const thread = half().thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), stalled)
    assert.deepStrictEqual(yield* thread.invoke({ log: ["b"] }), { log: ["a", "b", "b", "c", "d"] })
    assert.deepStrictEqual((yield* thread.state()).next, [])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "b", "c", "d"] })
  }))

behaves("L7 an update as the missing source completes a stalled join", () =>
  Effect.gen(function*() {
    const thread = half().thread("t")
    yield* Effect.flip(thread.invoke({}))
    yield* thread.update({ log: ["as b"] }, { asNode: "b" })
    assert.deepStrictEqual((yield* thread.state()).next, ["c"])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "as b", "c", "d"] })
  }))

behaves("L7 an \"idle\" join is passed with some of its sources when nothing else is left", () =>
  Effect.gen(function*() {
    const graph = half({ release: "idle" })
    assert.deepStrictEqual(yield* graph.invoke({}), { log: ["a", "c", "d"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "c", "d"] })
    assert.deepStrictEqual(yield* graph.thread("u").invoke({ log: ["both"] }), { log: ["both", "a", "b", "c", "d"] })
    const grouped = half({ release: "idle", group: "g" })
    assert.deepStrictEqual(yield* grouped.thread("v").invoke({}), { log: ["a", "c", "d"] })
  }))

behaves("L7 an \"idle\" join that nobody reached is not passed", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("unreached", abcd, {
      start: "d",
      edges: { a: StateGraph.join("c", { release: "idle" }), b: StateGraph.join("c", { release: "idle" }) }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["d"] })
    const all = StateGraph.make("unreached all", abcd, {
      start: "d",
      edges: { a: StateGraph.join("c"), b: StateGraph.join("c") }
    })
    assert.deepStrictEqual(yield* all.thread("u").invoke({}), { log: ["d"] })
  }))

behaves("L7 an \"idle\" join waits for a longer branch, and is passed once with both", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("longer", StateGraph.nodes(Log, {
      a: say("a"), long: say("long"), longer: say("longer"), b: say("b"), c: say("c")
    }), {
      start: ["a", "long"],
      edges: {
        a: StateGraph.join("c", { release: "idle" }),
        long: "longer",
        longer: "b",
        b: StateGraph.join("c", { release: "idle" })
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "long", "longer", "b", "c"] })
  }))

/** `a` arrives at once; `asks` decides after an answer whether `b` runs. */
const asking = (release: "all" | "idle") =>
  StateGraph.make("asking", StateGraph.nodes(Log, {
    a: say("a"),
    asks: () => Effect.map(Ask.ask("b?"), (answer) => ({ log: [answer] })),
    b: say("b"),
    c: say("c")
  }), {
    start: ["a", "asks"],
    edges: {
      a: StateGraph.join("c", { release }),
      asks: StateGraph.route(["b", END], (s) => s.log.at(-1) === "yes" ? "b" : END),
      b: StateGraph.join("c", { release })
    }
  })

behaves("L7 a pause is not quiet: no join is released or stalled while a question waits", () =>
  Effect.gen(function*() {
    for (const release of ["all", "idle"] as const) {
      const yes = asking(release).thread(`${release} yes`)
      assert.strictEqual((yield* Effect.flip(yes.invoke({})))._tag, "GraphInterrupt")
      assert.deepStrictEqual((yield* yes.state()).next, ["asks"])
      assert.strictEqual((yield* Effect.flip(yes.continue()))._tag, "GraphInterrupt")
      assert.deepStrictEqual(yield* yes.resume(Ask.reply("yes")), { log: ["a", "yes", "b", "c"] })
    }
    const idle = asking("idle").thread("idle no")
    yield* Effect.flip(idle.invoke({}))
    assert.deepStrictEqual(yield* idle.resume(Ask.reply("no")), { log: ["a", "no", "c"] })
    const all = asking("all").thread("all no")
    yield* Effect.flip(all.invoke({}))
    assert.deepStrictEqual(yield* Effect.flip(all.resume(Ask.reply("no"))), stalled)
  }))

behaves("L7 a breakpoint, a drain and a limit are not quiet either", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("stops", StateGraph.nodes(Log, {
      a: say("a"), long: () => Effect.as(Running.drain("bye"), { log: ["long"] }), b: say("b"), c: say("c")
    }), {
      start: ["a", "long"],
      edges: {
        a: StateGraph.join("c", { release: "idle" }),
        long: "b",
        b: StateGraph.join("c", { release: "idle" })
      }
    })
    const expected = { log: ["a", "long", "b", "c"] }
    const drained = graph.thread("drained")
    assert.deepStrictEqual(
      yield* Effect.flip(drained.invoke({})),
      new GraphError.GraphDrained({ reason: "bye", next: ["b"] })
    )
    assert.deepStrictEqual(yield* drained.continue(), expected)
    const plain = StateGraph.make("plain stops", StateGraph.nodes(Log, { a: say("a"), long: say("long"), b: say("b"), c: say("c") }), {
      start: ["a", "long"],
      edges: {
        a: StateGraph.join("c", { release: "idle" }),
        long: "b",
        b: StateGraph.join("c", { release: "idle" })
      }
    })
    const stopped = plain.thread("stopped")
    assert.deepStrictEqual(
      yield* Effect.flip(stopped.invoke({}, { before: ["b"] })),
      new GraphError.GraphBreakpoint({ when: "before", nodes: ["b"], next: ["b"] })
    )
    assert.deepStrictEqual(yield* stopped.continue(), expected)
    const limited = plain.thread("limited")
    assert.deepStrictEqual(
      yield* Effect.flip(limited.invoke({}, { recursionLimit: 1 })),
      new GraphError.RecursionLimit({ limit: 1, next: ["b"] })
    )
    assert.deepStrictEqual(yield* limited.continue(), expected)
  }))

behaves("L7 a join that was passed in this run may be left half full at the end", () =>
  Effect.gen(function*() {
    let rounds = 0
    const graph = StateGraph.make("again", StateGraph.nodes(Log, {
      a: say("a"),
      b: say("b"),
      c: () => {
        rounds++
        return Effect.succeed({ log: ["c"] })
      }
    }), {
      start: ["a", "b"],
      edges: {
        a: StateGraph.join("c"),
        b: StateGraph.join("c"),
        c: StateGraph.route(["a", END], (s) => s.log.filter((entry) => entry === "c").length < 2 ? "a" : END)
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "c", "a"] })
    assert.strictEqual(rounds, 1)
    // What arrived is kept: in the next run `a` and `b` complete it once more.
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "c", "a", "a", "b", "c"] })
  }))

behaves("L7 a stall is a stall in the run that leaves it, whatever earlier runs did", () =>
  Effect.gen(function*() {
    const thread = half().thread("t")
    assert.deepStrictEqual(yield* thread.invoke({ log: ["both"] }), { log: ["both", "a", "b", "c", "d"] })
    const one = StateGraph.make("half", abcd, {
      start: "a",
      edges: { a: StateGraph.join("c"), b: StateGraph.join("c"), c: "d" }
    })
    const other = one.thread("u")
    assert.deepStrictEqual(yield* Effect.flip(other.invoke({})), stalled)
    assert.deepStrictEqual(yield* Effect.flip(other.invoke({})), stalled)
  }))

// ---------------------------------------------------------------------------
// Deferred nodes
// ---------------------------------------------------------------------------

behaves("defer: branches of length one and two end in one deferred node", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("uneven", StateGraph.nodes(Log, {
      a: say("a"), b: say("b"), b2: say("b2"), c: say("c"), d: later("d")
    }), { start: "a", edges: { a: ["b", "c"], b: "b2", b2: "d", c: "d" } })
    assert.isTrue(graph.pregel.nodes["d"]!.defer)
    assert.strictEqual(graph.pregel.channels["branch:to:d"]!._tag, "LastValueAfterFinish")
    assert.deepStrictEqual(yield* graph.invoke({}), { log: ["a", "b", "c", "b2", "d"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "c", "b2", "d"] })
  }))

behaves("defer: deferred nodes that become ready together run together, and others wait again", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("several", StateGraph.nodes(Log, {
      a: say("a"), x: later("x"), y: later("y"), z: later("z"), after: say("after")
    }), { start: "a", edges: { a: ["x", "y"], x: ["after", "z"], after: "z" } })
    const events = yield* collect(graph.thread("t").stream({}, { modes: ["updates"] }))
    assert.deepStrictEqual(events.map((event) => event.mode === "updates" ? [event.step, event.node] : event.mode), [
      [1, "a"],
      [2, "x"],
      [2, "y"],
      [3, "after"],
      [4, "z"]
    ])
  }))

behaves("defer: a deferred node waits for Sends, and survives a stop", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("after sends", StateGraph.nodes(Log, {
      a: say("a"),
      work: Node.make({ input: Schema.Int, run: (n) => Effect.succeed({ log: [`w${n}`] }) }),
      d: later("d")
    }), { start: ["d", "a"], edges: { a: StateGraph.route(["work"], () => [Send.make("work", 1), Send.make("work", 2)]) } })
    assert.deepStrictEqual(yield* graph.invoke({}), { log: ["a", "w1", "w2", "d"] })
    const thread = graph.thread("t")
    const stopped = yield* Effect.flip(thread.invoke({}, { before: ["work"] }))
    assert.deepStrictEqual(
      stopped,
      new GraphError.GraphBreakpoint({ when: "before", nodes: ["work", "work"], next: ["work", "work"] })
    )
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "w1", "w2", "d"] })
  }))

behaves("defer: a Send to a deferred node does not wait", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("sent", StateGraph.nodes(Log, { a: say("a"), b: say("b"), d: later("d") }), {
      start: "a",
      edges: { a: StateGraph.route(["b", "d"], (s) => [Send.make("d", s), "b" as const]) }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "d"] })
  }))

behaves("defer: a join before a deferred node is complete and then waits for quiet", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("deferred join", StateGraph.nodes(Log, {
      a: say("a"), b: say("b"), long: say("long"), longer: say("longer"), d: later("d")
    }), { start: ["a", "b", "long"], edges: { a: StateGraph.join("d"), b: StateGraph.join("d"), long: "longer" } })
    assert.strictEqual(graph.pregel.channels["join:a+b:d"]!._tag, "NamedBarrierAfterFinish")
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "long", "longer", "d"] })
  }))

behaves("defer: an incomplete join before a deferred node stalls like any other", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("stalled", StateGraph.nodes(Log, { a: say("a"), b: say("b"), d: later("d") }), {
      start: "a",
      edges: { a: StateGraph.join("d"), b: StateGraph.join("d") }
    })
    const error = new GraphError.StalledJoin({ node: "d", arrived: ["a"], missing: ["b"] })
    assert.deepStrictEqual(yield* Effect.flip(graph.thread("t").invoke({})), error)
  }))

behaves("defer: an \"idle\" join before a deferred node is passed with some of its sources", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("idle", StateGraph.nodes(Log, {
      a: say("a"), b: say("b"), long: say("long"), d: later("d"), e: say("e")
    }), {
      start: StateGraph.route(["a", "b", "long"], (s) => s.log[0] === "both" ? ["a", "b", "long"] as const : ["a", "long"] as const),
      edges: {
        a: StateGraph.join("d", { release: "idle" }),
        b: StateGraph.join("d", { release: "idle" }),
        long: "e"
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "long", "e", "d"] })
    assert.deepStrictEqual(yield* graph.thread("u").invoke({ log: ["both"] }), {
      log: ["both", "a", "b", "long", "e", "d"]
    })
  }))

behaves("defer: an \"idle\" join waits for deferred nodes that may still lead to it", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("last", StateGraph.nodes(Log, { a: say("a"), b: later("b"), c: later("c"), n: say("n") }), {
      start: ["a", "b"],
      edges: {
        a: [StateGraph.join("c", { release: "idle" }), StateGraph.join("n", { release: "idle" })],
        b: [StateGraph.join("c", { release: "idle" }), StateGraph.join("n", { release: "idle" })]
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "n", "c"] })
  }))

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
    const graph = StateGraph.make("left", StateGraph.nodes(Count, {
      inc: Effect.fnUntraced(function*(s) {
        const { remainingSteps } = yield* Running.Running
        seen.push([remainingSteps, yield* Running.isLastStep])
        return { n: s.n + 1 }
      })
    }), { start: "inc", edges: { inc: StateGraph.route(["inc", END], (s) => s.n < 3 ? "inc" : END) } })
    yield* graph.thread("t").invoke({ n: 0 }, { recursionLimit: 3 })
    assert.deepStrictEqual(seen, [[3, false], [2, false], [1, true]])
  }))

behaves("L22 a graph inside has a limit of its own, and a run's limit holds for it too", () =>
  Effect.gen(function*() {
    const parent = (limit?: number) =>
      StateGraph.make("parent", StateGraph.nodes(Count, {
        child: counting(5, limit === undefined ? undefined : { recursionLimit: limit })
      }), { start: "child" })
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

behaves("LG#101 a breakpoint after every node stops between them, also when nodes write nothing", () =>
  Effect.gen(function*() {
    const thread = steps({ after: ["*"] }).thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), breakpoint("after", ["one"], ["two"]))
    assert.deepStrictEqual((yield* thread.state()).next, ["two"])
    assert.deepStrictEqual(yield* Effect.flip(thread.continue()), breakpoint("after", ["two"], ["three"]))
    assert.deepStrictEqual(yield* thread.continue(), { log: [] })
    assert.deepStrictEqual((yield* thread.history()).map(({ step }) => step), [3, 2, 1, 0, -1])
  }))

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
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}, { before: ["three"] })), breakpoint("before", ["three"]))
    assert.deepStrictEqual(yield* thread.continue(), { log: [] })
    // Without a thread there is nothing to go on from, and the stop is the same failure.
    assert.deepStrictEqual(yield* Effect.flip(graph.invoke({})), breakpoint("before", ["one"]))
  }))

behaves("a breakpoint of several nodes that run together names those it is about", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("together", abcd, { start: ["a", "b", "c"], edges: { a: "d" } })
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}, { before: ["a", "b"] })), breakpoint("before", ["a", "b"], ["a", "b", "c"]))
    assert.deepStrictEqual(yield* Effect.flip(thread.continue({ after: ["b", "c"] })), breakpoint("after", ["b", "c"], ["d"]))
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "c", "d"] })
  }))

const pipes = Channel.reducer({ value: Schema.String, initial: () => "", reduce: (a, b) => a + b })
class Piped extends State.make({ foo: pipes }) {}
const piped = StateGraph.make("piped", StateGraph.nodes(Piped, {
  node1: () => ({ foo: "|node-1" }),
  node2: () => ({ foo: "|node-2" })
}), { start: "node1", edges: { node1: "node2" } }, { before: ["node1"] })

behaves("LG#102 a Command on a stopped thread goes on, and what it wakes runs beside what was left", () =>
  Effect.gen(function*() {
    const plain = piped.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(plain.invoke({ foo: "abc" })), breakpoint("before", ["node1"]))
    assert.deepStrictEqual(yield* plain.continue(), { foo: "abc|node-1|node-2" })
    const steered = piped.thread("u")
    yield* Effect.flip(steered.invoke({ foo: "abc" }))
    assert.deepStrictEqual(yield* steered.invoke(Command.make({ goto: "node2" })), { foo: "abc|node-1|node-2|node-2" })
    const updated = piped.thread("v")
    yield* Effect.flip(updated.invoke({ foo: "abc" }))
    assert.deepStrictEqual(yield* updated.invoke(Command.make({ update: { foo: "|x" } })), { foo: "abc|x|node-1|node-2" })
  }))

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

const draining = StateGraph.make("draining", StateGraph.nodes(Log, {
  a: () => Effect.as(Running.drain("bye"), { log: ["a"] }),
  b: say("b"),
  z: say("z")
}), { start: ["a", "b"], edges: { a: "z" } })

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
    const graph = StateGraph.make("last", StateGraph.nodes(Log, {
      a: () => Effect.as(Running.drain(), { log: ["a"] })
    }), { start: "a" })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a"] })
  }))

behaves("drain: asked for inside a graph that is a node, the whole run stops and goes on there", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const child = StateGraph.make("child", StateGraph.nodes(Log, {
      x: () => {
        runs.push("x")
        return Effect.as(Running.drain("sigterm"), { log: ["x"] })
      },
      y: say("y")
    }), { start: "x", edges: { x: "y" } })
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
  }))

// ---------------------------------------------------------------------------
// Routes to nowhere
// ---------------------------------------------------------------------------

behaves("L7 a Command or a Send to nowhere fails before anything of the superstep is committed", () =>
  Effect.gen(function*() {
    const targets: ReadonlyArray<readonly [string, unknown]> = [
      ["name", "nope"],
      ["start", "__start__"],
      ["send", Send.make("nope", {})],
      ["send to end", Send.make(END, {})],
      ["send to start", Send.make("__start__", {})],
      ["number", 3],
      ["null", null]
    ]
    for (const [id, target] of targets) {
      const nodes = {
        state: Log,
        bodies: {
          a: () => Effect.succeed(Command.make({ update: { log: ["a"] }, goto: ["b", target as string] })),
          b: say("b")
        }
      }
      const graph = untyped("nowhere", nodes, { start: "a" })
      const thread = graph.thread(id)
      const error = yield* Effect.flip(thread.invoke({}))
      assert.deepStrictEqual(error, new GraphError.UnknownRoute({ from: "a", value: target, allowed: ["a", "b"] }), id)
      const read = thread as unknown as ReturnType<typeof draining.thread>
      const { next, step, values } = yield* read.state()
      assert.deepStrictEqual([step, values, next], [0, { log: [] }, ["a"]], id)
    }
  }))

behaves("L7 a route from the start to nowhere fails the same way", () =>
  Effect.gen(function*() {
    const graph = untyped("nowhere", { state: Log, bodies: { a: say("a") } }, {
      start: StateGraph.route(["a"], () => "b" as "a")
    })
    assert.deepStrictEqual(
      yield* Effect.flip(graph.thread("t").invoke({})),
      new GraphError.UnknownRoute({ from: "__start__", value: "b", allowed: ["a"] })
    )
  }))

behaves("a route may choose only what it declared, even if the graph has more", () =>
  Effect.gen(function*() {
    const graph = untyped("undeclared", abcd, {
      start: "a",
      edges: { a: StateGraph.route(["b"], () => "c" as "b") }
    })
    assert.deepStrictEqual(
      yield* Effect.flip(graph.thread("t").invoke({})),
      new GraphError.UnknownRoute({ from: "a", value: "c", allowed: ["b"] })
    )
  }))

// ---------------------------------------------------------------------------
// What a checkpoint says about the run
// ---------------------------------------------------------------------------

behaves("metadata of a run stands on each of its checkpoints, and on none of another run's", () =>
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
  }))

behaves("a node that is slow does not hold back the update of its sibling", () =>
  Effect.gen(function*() {
    const seen = yield* Deferred.make<void>()
    const graph = StateGraph.make("slow", StateGraph.nodes(Log, {
      // Ends only when the reader has got the other's update.
      a: () => Effect.as(Deferred.await(seen), { log: ["a"] }),
      b: say("b")
    }), { start: ["a", "b"] })
    const order: Array<string> = []
    yield* Stream.runForEach(graph.thread("t").stream({}, { modes: ["updates"] }), (event) => {
      if (event.mode === "updates") order.push(event.node)
      return Deferred.succeed(seen, undefined)
    })
    assert.deepStrictEqual(order, ["b", "a"])
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { log: ["a", "b"] })
  }))
