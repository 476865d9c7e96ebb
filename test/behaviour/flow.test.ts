/** Edges, routes, Sends and Commands: what runs, when, and how often. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Schema, Stream } from "effect"
import {
  Channel,
  type Checkpointer,
  Command,
  END,
  GraphError,
  Node,
  NodeCache,
  Policy,
  Send,
  State,
  StateGraph
} from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}

/** A node that leaves its name. */
const say = (name: string) => () => Effect.succeed({ log: [name] })

const collect = Effect.fnUntraced(function*<A, E, R>(stream: Stream.Stream<A, E, R>) {
  return [...yield* Stream.runCollect(stream)]
})

/** A graph with its types gone, for definitions that do not compile. */
interface Untyped {
  readonly invoke: (input: unknown) => Effect.Effect<unknown, unknown>
  readonly thread: (id: string) => {
    readonly invoke: (input: unknown) => Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>
    readonly state: () => Effect.Effect<
      { readonly values: unknown; readonly next: ReadonlyArray<string>; readonly step: number },
      unknown,
      Checkpointer.Checkpointer
    >
  }
}
const untyped = (name: string, nodes: unknown, flow: unknown): Untyped =>
  (StateGraph.make as unknown as (name: string, nodes: unknown, flow: unknown) => Untyped)(name, nodes, flow)

const abcd = StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c"), d: say("d") })

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

behaves(
  "LG#51 a stop after the last source keeps the complete join, also over an update",
  () =>
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
    })
)

behaves("LG#52 a deferred node needs no join: it waits until all else is quiet", () =>
  Effect.gen(function*() {
    const nodes = StateGraph.nodes(Rag, {
      ...rag,
      qa: Node.make({
        input: Rag,
        defer: true,
        run: (s) => Effect.succeed(rag.qa(s))
      })
    })
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

behaves(
  "LG#52 a deferred node in the middle runs after what is beside it, and the rest goes on from there",
  () =>
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
    })
)

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

behaves(
  "LG#54 an input that does not fit its schemas is refused before anything is stored",
  () =>
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
    })
)

behaves(
  "LG#55 an edge beside a join wakes the target earlier, and the join still counts",
  () =>
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
    })
)

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
    class Keyed extends State.make({
      my_key: Channel.reducer({
        value: Schema.String,
        initial: () => "",
        reduce: (current, update) => current + update
      })
    }) {}
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

behaves(
  "LG#58 a route is called once per finished node, with the state as its node left it",
  () =>
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
    })
)

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
      events.map((event) =>
        event.mode === "updates" ? [event.node, event.update] : event.mode === "values" ? event.values : event.mode
      ) as ReadonlyArray<unknown>,
      [
        given,
        ["inner", { my_key: "my value there" }],
        { ...given, my_key: "my value there" },
        ["side", { my_key: "my value there and back again" }],
        expected
      ]
    )
  }))

behaves(
  "LG#60 a sequence is the edges from each node to the next, and sequences can be put together",
  () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(StateGraph.sequence("a", "b", "c") as object, { a: "b", b: "c" })
      assert.deepStrictEqual(StateGraph.sequence("a") as object, {})
      const graph = StateGraph.make(
        "sequences",
        StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c"), d: say("d") }),
        { start: "c", edges: { ...StateGraph.sequence("a", "b"), ...StateGraph.sequence("c", "d"), d: "a" } }
      )
      assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["c", "d", "a", "b"] })
    })
)

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

behaves(
  "LG#63 Sends of two nodes fold in the order of their senders, after the nodes that were woken",
  () =>
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
    })
)

behaves("LG#64 a node that was sent to sends on with a list of Commands", () =>
  Effect.gen(function*() {
    const Next = Schema.Struct({ next: Schema.Int })
    const graph = StateGraph.make(
      "sequences",
      StateGraph.nodes(Log, {
        1: say("1"),
        2: Node.make({
          input: Schema.Union([Schema.Int, Next]),
          run: (given) =>
            Effect.succeed(
              typeof given === "number"
                ? [Command.make({ update: { log: [`2|${given}`] }, goto: "3" })]
                : [
                  Command.make({ goto: ["3", Send.make("2", given.next)] }),
                  Command.make({ update: { log: [`2|Send(2, ${given.next})`] } })
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
            Send.make("2", { next: 3 }),
            Send.make("2", { next: 4 }),
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

behaves(
  "LG#65 all Sends run at once, or as many as the concurrency allows, and the order of results is kept",
  () =>
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
    })
)

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
    class Planned
      extends State.make({ plan: Plan, messages: Channel.append(Schema.String) }, { input: ["messages"] })
    {}
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
// Routes to nowhere
// ---------------------------------------------------------------------------

behaves(
  "L7 a Command or a Send to nowhere fails before anything of the superstep is committed",
  () =>
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
        assert.deepStrictEqual(
          error,
          new GraphError.UnknownRoute({ from: "a", value: target, allowed: ["a", "b"] }),
          id
        )
        const { next, step, values } = yield* thread.state()
        assert.deepStrictEqual([step, values, next], [0, { log: [] }, ["a"]], id)
      }
    })
)

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

behaves("a node that is slow does not hold back the update of its sibling", () =>
  Effect.gen(function*() {
    const seen = yield* Deferred.make<void>()
    const graph = StateGraph.make(
      "slow",
      StateGraph.nodes(Log, {
        // Ends only when the reader has got the other's update.
        a: () => Effect.as(Deferred.await(seen), { log: ["a"] }),
        b: say("b")
      }),
      { start: ["a", "b"] }
    )
    const order: Array<string> = []
    yield* Stream.runForEach(graph.thread("t").stream({}, { modes: ["updates"] }), (event) => {
      if (event.mode === "updates") order.push(event.node)
      return Deferred.succeed(seen, undefined)
    })
    assert.deepStrictEqual(order, ["b", "a"])
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { log: ["a", "b"] })
  }))
