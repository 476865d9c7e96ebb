/** Graphs inside graphs: as nodes, and called in nodes; what is kept, and what goes up. */
import { assert } from "@effect/vitest"
import { Effect, Number, Schema, Stream } from "effect"
import { Channel, Checkpointer, Running, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"
import { Ask, asker, listener, Log, type Persistence, talk, Turn } from "./Talks.ts"

const talkAsking = (child: ReturnType<typeof asker>) =>
  StateGraph.make(
    "talk",
    StateGraph.nodes(Turn, { speak: (s) => Effect.map(child.call({ log: [s.text] }), ({ log }) => ({ seen: log })) }),
    { start: "speak" }
  )

// ---------------------------------------------------------------------------
// Persistence
// ---------------------------------------------------------------------------

behaves("LG#152 a graph called in a node starts empty in each run", () =>
  Effect.gen(function*() {
    const thread = talk(listener("call")).thread("t")
    assert.deepStrictEqual((yield* thread.invoke({ text: "a" })).seen, ["a", "saw 1"])
    assert.deepStrictEqual((yield* thread.invoke({ text: "b" })).seen, ["b", "saw 1"])
  }))

behaves(
  "LG#152 and so it does when it pauses in between; what ran before the pause does not run again",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = talkAsking(asker("call", runs)).thread("t")
      for (const text of ["a", "b"]) {
        runs.length = 0
        const paused = yield* Effect.flip(thread.invoke({ text }))
        assert.strictEqual(paused._tag, "GraphInterrupt")
        assert.deepStrictEqual((yield* thread.resume(Ask.reply("Done"))).seen, [text, "saw 1", "Done"])
        assert.deepStrictEqual(runs, ["before", "ask", "ask"])
      }
    })
)

behaves(
  "LG#152 a graph that keeps nothing stores nothing, and runs again from its start after a pause",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = talkAsking(asker("none", runs)).thread("t")
      yield* Effect.flip(thread.invoke({ text: "a" }))
      assert.deepStrictEqual((yield* thread.resume(Ask.reply("Done"))).seen, ["a", "saw 1", "Done"])
      assert.deepStrictEqual(runs, ["before", "ask", "before", "ask"])
      const saver = yield* Checkpointer.Checkpointer
      assert.deepStrictEqual(yield* saver.list("t", "speak~0", {}), [])
      assert.isAbove((yield* saver.list("t", "", {})).length, 0)
    })
)

behaves(
  "LG#153 a graph that lives as long as the thread goes on where its last call ended",
  () =>
    Effect.gen(function*() {
      const thread = talk(listener("thread")).thread("t")
      assert.deepStrictEqual((yield* thread.invoke({ text: "a" })).seen, ["a", "saw 1"])
      assert.deepStrictEqual((yield* thread.invoke({ text: "b" })).seen, ["a", "saw 1", "b", "saw 3"])
      assert.deepStrictEqual((yield* talk(listener("thread")).thread("u").invoke({ text: "c" })).seen, ["c", "saw 1"])
    })
)

behaves("LG#153 and so it does with a pause in each call", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const thread = talkAsking(asker("thread", runs)).thread("t")
    yield* Effect.flip(thread.invoke({ text: "a" }))
    assert.deepStrictEqual((yield* thread.resume(Ask.reply("one"))).seen, ["a", "saw 1", "one"])
    yield* Effect.flip(thread.invoke({ text: "b" }))
    assert.deepStrictEqual((yield* thread.resume(Ask.reply("two"))).seen, ["a", "saw 1", "one", "b", "saw 4", "two"])
    assert.deepStrictEqual(runs, ["before", "ask", "ask", "before", "ask", "ask"])
  }))

behaves("LG#153 the same graph in two nodes is two places that do not mix", () =>
  Effect.gen(function*() {
    class Both extends State.make({
      text: Schema.String,
      left: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] }),
      right: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] })
    }) {}
    const child = listener("thread")
    const graph = StateGraph.make(
      "both",
      StateGraph.nodes(Both, {
        left: (s) => Effect.map(child.call({ log: [`l${s.text}`] }), ({ log }) => ({ left: log })),
        right: (s) => Effect.map(child.call({ log: [`r${s.text}`] }), ({ log }) => ({ right: log }))
      }),
      { start: ["left", "right"] }
    )
    const thread = graph.thread("t")
    yield* thread.invoke({ text: "1" })
    const { left, right } = yield* thread.invoke({ text: "2" })
    assert.deepStrictEqual(left, ["l1", "saw 1", "l2", "saw 3"])
    assert.deepStrictEqual(right, ["r1", "saw 1", "r2", "saw 3"])
  }))

behaves(
  "LG#153 a node that is a graph keeps its state too, and its checkpoints stand in its own namespace",
  () =>
    Effect.gen(function*() {
      class Own extends State.make({
        log: Channel.append(Schema.String),
        count: Channel.reduced(Schema.Int, Number.ReducerSum)
      }) {}
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Own, { n: (s) => ({ count: 1, log: [`count ${s.count}`] }) }),
        { start: "n" },
        {
          persistence: "thread"
        }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" })
      const thread = graph.thread("t")
      assert.deepStrictEqual((yield* thread.invoke({})).log, ["count 0"])
      assert.deepStrictEqual((yield* thread.invoke({})).log, ["count 0", "count 1"])
      const saver = yield* Checkpointer.Checkpointer
      assert.deepStrictEqual((yield* saver.list("t", "child", {})).map(({ step }) => step), [4, 3, 2, 1, 0, -1])
      assert.deepStrictEqual((yield* thread.at(["child"]).state()).values["count"], 2)
    })
)

behaves("LG#154 a graph on a thread of its own, inside a node, is a root there", () =>
  Effect.gen(function*() {
    class Count extends State.make({ count: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}
    const paths: Array<ReadonlyArray<string>> = []
    const counter = StateGraph.make(
      "counter",
      StateGraph.nodes(Count, {
        add: Effect.fnUntraced(function*() {
          const { path } = yield* Running.Running
          paths.push(path)
          return { count: 1 }
        })
      }),
      { start: "add" }
    )
    class Seen extends State.make({ seen: Channel.append(Schema.Int) }) {}
    const graph = StateGraph.make(
      "outer",
      StateGraph.nodes(Seen, {
        run: () => Effect.map(counter.thread("own").invoke({}), ({ count }) => ({ seen: [count] }))
      }),
      { start: "run" }
    )
    yield* graph.thread("t").invoke({})
    assert.deepStrictEqual((yield* graph.thread("t").invoke({})).seen, [1, 2])
    assert.deepStrictEqual(paths, [[], []])
    const saver = yield* Checkpointer.Checkpointer
    assert.deepStrictEqual((yield* saver.list("own", "", {})).length, 6)
    assert.deepStrictEqual(yield* saver.list("t", "run~0", {}), [])
  }))

// ---------------------------------------------------------------------------
// Several calls in one node
// ---------------------------------------------------------------------------

class Operands
  extends State.make({ a: Schema.Int, b: Schema.Int, result: Channel.lastValue(Schema.Int, { initial: () => 0 }) }, {
    input: ["a", "b"],
    output: ["result"]
  })
{}
const add = StateGraph.make("add", StateGraph.nodes(Operands, { add: ({ a, b }) => ({ result: a + b }) }), {
  start: "add"
})
const multiply = StateGraph.make(
  "multiply",
  StateGraph.nodes(Operands, { multiply: ({ a, b }) => ({ result: a * b }) }),
  { start: "multiply" }
)

behaves("LG#155 one graph called twice in a node", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "twice",
      StateGraph.nodes(Operands, {
        node: Effect.fnUntraced(function*({ a, b }) {
          const { result } = yield* add.call({ a, b })
          return yield* add.call({ a: result, b: 10 })
        })
      }),
      { start: "node" }
    )
    assert.deepStrictEqual(yield* graph.invoke({ a: 2, b: 3 }), { result: 15 })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ a: 2, b: 3 }), { result: 15 })
  }))

behaves("LG#155 several graphs called in a node, one after another and at once", () =>
  Effect.gen(function*() {
    class Results extends State.make({
      a: Schema.Int,
      b: Schema.Int,
      sum: Channel.lastValue(Schema.Int, { initial: () => 0 }),
      product: Channel.lastValue(Schema.Int, { initial: () => 0 })
    }, {
      input: ["a", "b"],
      output: ["sum", "product"]
    }) {}
    const inTurn = StateGraph.make(
      "inTurn",
      StateGraph.nodes(Results, {
        node: Effect.fnUntraced(function*({ a, b }) {
          const sum = yield* add.call({ a, b })
          const product = yield* multiply.call({ a, b })
          return { sum: sum.result, product: product.result }
        })
      }),
      { start: "node" }
    )
    const atOnce = StateGraph.make(
      "atOnce",
      StateGraph.nodes(Results, {
        node: Effect.fnUntraced(function*({ a, b }) {
          const [sum, product] = yield* Effect.all([
            add.call({ a, b }, { key: "sum" }),
            multiply.call({ a, b }, { key: "product" })
          ], {
            concurrency: "unbounded"
          })
          return { sum: sum.result, product: product.result }
        })
      }),
      { start: "node" }
    )
    for (const graph of [inTurn, atOnce]) {
      assert.deepStrictEqual(yield* graph.invoke({ a: 2, b: 3 }), { sum: 5, product: 6 })
      assert.deepStrictEqual(yield* graph.thread(graph.name).invoke({ a: 2, b: 3 }), { sum: 5, product: 6 })
    }
  }))

behaves("LG#155 a graph that is kept and one that is not, in one node: 5, then 7", () =>
  Effect.gen(function*() {
    class Counter extends State.make({ counter: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}
    class Total extends State.make({ total: Schema.Int }) {}
    const by = (name: string, n: number, persistence: Persistence) =>
      StateGraph.make(name, StateGraph.nodes(Counter, { count: () => ({ counter: n }) }), { start: "count" }, {
        persistence
      })
    const kept = by("kept", 2, "thread")
    const fresh = by("fresh", 3, "call")
    const graph = StateGraph.make(
      "mixed",
      StateGraph.nodes(Total, {
        parent: Effect.fnUntraced(function*(s) {
          const { counter } = yield* kept.call({ counter: s.total })
          const other = yield* fresh.call({ counter })
          return { total: other.counter }
        })
      }),
      { start: "parent" }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* thread.invoke({ total: 0 }), { total: 5 })
    const events = yield* Stream.runCollect(thread.stream({ total: 0 }, { modes: ["updates"], subgraphs: true }))
    assert.deepStrictEqual<ReadonlyArray<unknown>>(
      events.map((event) => event.mode === "updates" ? [event.path, event.update] : []),
      [
        [["parent~0"], { counter: 2 }],
        [["parent~1"], { counter: 3 }],
        [[], { total: 7 }]
      ]
    )
  }))

behaves("LG#155 a call that finished before the pause of another is not run again", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const first = StateGraph.make(
      "first",
      StateGraph.nodes(Log, {
        one: () => {
          runs.push("one")
          return { log: ["one"] }
        }
      }),
      { start: "one" }
    )
    const second = asker("call", runs)
    const graph = StateGraph.make(
      "calls",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          const a = yield* first.call({})
          const b = yield* second.call({})
          return { log: [...a.log, ...b.log] }
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({}))
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["one", "saw 0", "yes"] })
    assert.deepStrictEqual(runs, ["one", "before", "ask", "ask"])
  }))

// ---------------------------------------------------------------------------
// What goes up
// ---------------------------------------------------------------------------

behaves("L8 writes go up, not states: nothing is doubled, at any depth", () =>
  Effect.gen(function*() {
    const inner = StateGraph.make(
      "inner",
      StateGraph.nodes(Log, { i1: () => ({ log: ["i1"] }), i2: () => ({ log: ["i2"] }) }),
      { start: "i1", edges: { i1: "i2" } }
    )
    const middle = StateGraph.make("middle", StateGraph.nodes(Log, { m: () => ({ log: ["m"] }), inner }), {
      start: "m",
      edges: { m: "inner" }
    })
    const outer = StateGraph.make(
      "outer",
      StateGraph.nodes(Log, {
        pre: () => ({ log: ["pre"] }),
        middle,
        post: (s) => ({ log: [`post ${s.log.length}`] })
      }),
      {
        start: "pre",
        edges: StateGraph.sequence("pre", "middle", "post")
      }
    )
    const expected = { log: ["in", "pre", "m", "i1", "i2", "post 5"] }
    assert.deepStrictEqual(yield* outer.invoke({ log: ["in"] }), expected)
    assert.deepStrictEqual(yield* outer.thread("t").invoke({ log: ["in"] }), expected)
    assert.deepStrictEqual(yield* outer.thread("x").invoke({ log: ["in"] }, { durability: "exit" }), expected)
  }))

behaves(
  "L8 each write goes up by itself: a reducer of the parent folds them in the child's order",
  () =>
    Effect.gen(function*() {
      const digits = Channel.reducer({
        value: Schema.Int,
        initial: () => 0,
        reduce: (a: number, b: number) => a * 10 + b
      })
      class Digits extends State.make({ n: digits }) {}
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Digits, { a: () => [{ n: 1 }, { n: 2 }], b: () => ({ n: 3 }), c: () => ({ n: 4 }) }),
        {
          start: "a",
          edges: { a: ["c", "b"] }
        }
      )
      const parent = StateGraph.make("parent", StateGraph.nodes(Digits, { child }), { start: "child" })
      assert.deepStrictEqual(yield* parent.invoke({ n: 9 }), { n: 91234 })
      assert.deepStrictEqual(yield* parent.thread("t").invoke({ n: 9 }), { n: 91234 })
    })
)

behaves(
  "L8 of a key with another rule the final value goes up, and only if the child wrote it",
  () =>
    Effect.gen(function*() {
      class Parent extends State.make({ items: Channel.append(Schema.String), other: Channel.append(Schema.String) }) {}
      class Child extends State.make({
        items: Channel.lastValue(Schema.Array(Schema.String)),
        other: Channel.lastValue(Schema.Array(Schema.String)),
        own: Channel.append(Schema.String)
      }, { input: ["items", "other"] }) {}
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Child, {
          a: () => ({ items: ["first"], own: ["dropped"] }),
          b: (s) => ({ items: [...s.items, "last"] })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const parent = StateGraph.make("parent", StateGraph.nodes(Parent, { child }), { start: "child" })
      const expected = { items: ["in", "first", "last"], other: ["x"] }
      assert.deepStrictEqual(yield* parent.invoke({ items: ["in"], other: ["x"] }), expected)
      assert.deepStrictEqual(yield* parent.thread("t").invoke({ items: ["in"], other: ["x"] }), expected)
    })
)

behaves("L8 a key that the child overwrote goes up as one update with its final value", () =>
  Effect.gen(function*() {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        a: () => ({ log: ["gone"] }),
        b: () => ({ log: Channel.overwrite(["new"]) }),
        c: () => ({ log: ["more"] })
      }),
      { start: "a", edges: StateGraph.sequence("a", "b", "c") }
    )
    const parent = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" })
    assert.deepStrictEqual(yield* parent.invoke({ log: ["in"] }), { log: ["in", "new", "more"] })
    assert.deepStrictEqual(yield* parent.thread("t").invoke({ log: ["in"] }), { log: ["in", "new", "more"] })
  }))

behaves(
  "L8 a last-value key goes up once however often the child wrote it, and not at all if it only got it",
  () =>
    Effect.gen(function*() {
      class Pair extends State.make({ a: Schema.Int, b: Schema.Int }) {}
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Pair, { x: (s) => ({ a: s.a + 1 }), y: (s) => ({ a: s.a + 1 }) }),
        { start: "x", edges: { x: "y" } }
      )
      // Both stand in one superstep: a write of `b` by the child would collide.
      const parent = StateGraph.make("parent", StateGraph.nodes(Pair, { child, side: () => ({ b: 7 }) }), {
        start: ["child", "side"]
      })
      assert.deepStrictEqual(yield* parent.invoke({ a: 1, b: 0 }), { a: 3, b: 7 })
      assert.deepStrictEqual(yield* parent.thread("t").invoke({ a: 1, b: 0 }), { a: 3, b: 7 })
    })
)

behaves("L8 keys that are not in the child's output stay in it", () =>
  Effect.gen(function*() {
    class Both extends State.make({ a: Channel.append(Schema.String), b: Channel.append(Schema.String) }) {}
    class Part
      extends State.make({ a: Channel.append(Schema.String), b: Channel.append(Schema.String) }, { output: ["a"] })
    {}
    const child = StateGraph.make("child", StateGraph.nodes(Part, { n: () => ({ a: ["a"], b: ["b"] }) }), {
      start: "n"
    })
    const parent = StateGraph.make("parent", StateGraph.nodes(Both, { child }), { start: "child" })
    assert.deepStrictEqual(yield* parent.invoke({}), { a: ["a"], b: [] })
  }))

behaves("L8 a graph called in a node gives its output, and hands up nothing by itself", () =>
  Effect.gen(function*() {
    const child = StateGraph.make("child", StateGraph.nodes(Log, { n: () => ({ log: ["child"] }) }), { start: "n" })
    const parent = StateGraph.make(
      "parent",
      StateGraph.nodes(Log, {
        call: () => Effect.map(child.call({ log: ["x"] }), ({ log }) => ({ log: [log.join("+")] }))
      }),
      { start: "call" }
    )
    assert.deepStrictEqual(yield* parent.invoke({}), { log: ["x+child"] })
    assert.deepStrictEqual(yield* parent.thread("t").invoke({}), { log: ["x+child"] })
  }))

behaves(
  "L2 two graphs of one superstep hand up in task order, not in order of completion",
  () =>
    Effect.gen(function*() {
      const child = (name: string, yields: number) =>
        StateGraph.make(
          name,
          StateGraph.nodes(Log, {
            n: () => Effect.as(Effect.repeat(Effect.yieldNow, { times: yields }), { log: [`${name}1`] }),
            m: () => ({ log: [`${name}2`] })
          }),
          { start: "n", edges: { n: "m" } }
        )
      const parent = StateGraph.make("parent", StateGraph.nodes(Log, { a: child("a", 20), b: child("b", 0) }), {
        start: ["a", "b"]
      })
      const expected = { log: ["a1", "a2", "b1", "b2"] }
      assert.deepStrictEqual(yield* parent.invoke({}), expected)
      assert.deepStrictEqual(yield* parent.thread("t").invoke({}), expected)
    })
)

behaves("L8 Sends to a node that is a graph run it once each, in a place each", () =>
  Effect.gen(function*() {
    class Items extends State.make({ items: Schema.Array(Schema.String), log: Channel.append(Schema.String) }) {}
    const child = StateGraph.make("child", StateGraph.nodes(Log, { n: (s) => ({ log: [`did ${s.log[0]}`] }) }), {
      start: "n"
    })
    const parent = StateGraph.make("parent", StateGraph.nodes(Items, { plan: () => undefined, child }), {
      start: "plan",
      edges: {
        plan: StateGraph.route(["child"], (s: State.Type<typeof Items>) =>
          s.items.map((item) => Send.make("child", { log: [item] })))
      }
    })
    const thread = parent.thread("t")
    const events = yield* Stream.runCollect(
      thread.stream({ items: ["a", "b", "c"] }, { modes: ["updates"], subgraphs: true })
    )
    // Whichever of them is done first.
    assert.sameDeepMembers(
      events.filter(({ path }) =>
        path.length > 0
      ).map(({ path }) => path),
      [
        ["child:0"],
        ["child:1"],
        ["child:2"]
      ]
    )
    assert.deepStrictEqual((yield* thread.state()).values.log, ["did a", "did b", "did c"])
  }))
