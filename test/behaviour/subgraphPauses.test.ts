/** Graphs inside graphs that pause, fail, or are gone back to: what reaches the thread, and what is kept. */
import { assert } from "@effect/vitest"
import { Effect, Number, Schema } from "effect"
import { Channel, Command, Node, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"
import { Ask, asker, listener, Log, type Persistence, talk } from "./Talks.ts"

// ---------------------------------------------------------------------------
// Pauses
// ---------------------------------------------------------------------------

/** Three levels: `outer` holds `middle`, which holds `inner`, which asks. */
const nestedAsk = (runs: Array<string>) => {
  const note = (name: string) => () => {
    runs.push(name)
    return { log: [name] }
  }
  const inner = StateGraph.make(
    "inner",
    StateGraph.nodes(Log, {
      i: note("i"),
      ask: Effect.fnUntraced(function*() {
        runs.push("ask")
        return { log: [yield* Ask.ask("inner?")] }
      })
    }),
    { start: "i", edges: { i: "ask" } }
  )
  const middle = StateGraph.make("middle", StateGraph.nodes(Log, { m: note("m"), inner, n: note("n") }), {
    start: "m",
    edges: StateGraph.sequence("m", "inner", "n")
  })
  return StateGraph.make("outer", StateGraph.nodes(Log, { o: note("o"), middle, p: note("p") }), {
    start: "o",
    edges: StateGraph.sequence("o", "middle", "p")
  })
}

behaves(
  "LG#79 a pause in a graph in a graph reaches the thread, and its answer only what asked",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = nestedAsk(runs).thread("t")
      const paused = yield* Effect.flip(thread.invoke({ log: ["in"] }))
      if (paused._tag !== "GraphInterrupt") return assert.fail(paused._tag)
      assert.deepStrictEqual(paused.requests.map(({ payload, tag }) => [tag, payload]), [["Ask", "inner?"]])
      const state = yield* thread.state()
      assert.deepStrictEqual(state.requests, [{ id: paused.requests[0]!.id, tag: "Ask", payload: "inner?" }])
      assert.deepStrictEqual([state.next, state.values.log], [["middle"], ["in", "o"]])
      assert.deepStrictEqual(state.tasks[0]!.graphs, [["middle"]])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["in", "o", "m", "i", "yes", "n", "p"] })
      assert.deepStrictEqual(runs, ["o", "m", "i", "ask", "ask", "n", "p"])
    })
)

behaves("L8 a graph that waits can be read at its path, level by level", () =>
  Effect.gen(function*() {
    const thread = nestedAsk([]).thread("t")
    yield* Effect.flip(thread.invoke({ log: ["in"] }))
    const middle = yield* thread.at(["middle"]).state()
    assert.deepStrictEqual([middle.values, middle.next, middle.path], [{ log: ["in", "o", "m"] }, ["inner"], [
      "middle"
    ]])
    const inner = yield* thread.at(["middle", "inner"]).state()
    assert.deepStrictEqual([inner.values, inner.next, inner.path], [{ log: ["in", "o", "m", "i"] }, ["ask"], [
      "middle",
      "inner"
    ]])
    assert.deepStrictEqual(inner.requests.map(({ payload }) => payload), ["inner?"])
    assert.deepStrictEqual(
      (yield* thread.at(["middle", "inner"]).history()).map(({ source, step }) => [step, source]),
      [
        [1, "loop"],
        [0, "loop"],
        [-1, "input"]
      ]
    )
    assert.strictEqual((yield* Effect.flip(thread.at(["nowhere"]).state()))._tag, "UnknownCheckpoint")
    yield* thread.resume(Ask.reply("yes"))
    assert.deepStrictEqual((yield* thread.at(["middle"]).state()).values, { log: ["in", "o", "m", "i", "yes", "n"] })
  }))

behaves("L19 a graph that waits can be updated; what is written there goes up", () =>
  Effect.gen(function*() {
    const thread = nestedAsk([]).thread("t")
    yield* Effect.flip(thread.invoke({ log: ["in"] }))
    yield* thread.at(["middle", "inner"]).update({ log: ["patched"] }, { asNode: "i" })
    const inner = yield* thread.at(["middle", "inner"]).state()
    assert.deepStrictEqual([inner.values["log"], inner.next], [["in", "o", "m", "i", "patched"], ["ask"]])
    const again = yield* Effect.flip(thread.continue())
    assert.strictEqual(again._tag, "GraphInterrupt")
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), {
      log: ["in", "o", "m", "i", "patched", "yes", "n", "p"]
    })
  }))

behaves("L19 an update as the node that asks takes the place of its answer", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const thread = nestedAsk(runs).thread("t")
    yield* Effect.flip(thread.invoke({ log: ["in"] }))
    yield* thread.at(["middle", "inner"]).update({ log: ["by hand"] }, { asNode: "ask" })
    assert.deepStrictEqual((yield* thread.at(["middle", "inner"]).state()).next, [])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["in", "o", "m", "i", "by hand", "n", "p"] })
    assert.deepStrictEqual(runs, ["o", "m", "i", "ask", "n", "p"])
  }))

behaves("L10 a node that catches the pause of the graph it called pauses all the same", () =>
  Effect.gen(function*() {
    const child = asker("call")
    const graph = StateGraph.make(
      "catches",
      StateGraph.nodes(Log, {
        node: () =>
          Effect.catch(Effect.map(child.call({}), ({ log }) => ({ log })), () => Effect.succeed({ log: ["swallowed"] }))
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    assert.strictEqual((yield* Effect.flip(thread.invoke({})))._tag, "GraphInterrupt")
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["saw 0", "yes"] })
  }))

behaves(
  "L11 calls in a row that each ask are answered one by one; finished ones give what they gave",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const child = asker("call", runs)
      const graph = StateGraph.make(
        "rows",
        StateGraph.nodes(Log, {
          node: Effect.fnUntraced(function*() {
            const out: Array<string> = []
            for (const n of ["1", "2", "3"]) out.push((yield* child.call({ log: [n] })).log.join("/"))
            return { log: out }
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}))
      yield* Effect.flip(thread.resume(Ask.reply("a")))
      yield* Effect.flip(thread.resume(Ask.reply("b")))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("c")), { log: ["1/saw 1/a", "2/saw 1/b", "3/saw 1/c"] })
      assert.deepStrictEqual(runs, ["before", "ask", "ask", "before", "ask", "ask", "before", "ask", "ask"])
    })
)

behaves("L16 a call whose input differs on resume is refused", () =>
  Effect.gen(function*() {
    let n = 0
    const child = asker("call")
    const graph = StateGraph.make(
      "differs",
      StateGraph.nodes(Log, { node: () => Effect.map(child.call({ log: [`${n++}`] }), ({ log }) => ({ log })) }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({}))
    const refused = yield* Effect.flip(thread.resume(Ask.reply("yes")))
    assert.deepStrictEqual([refused._tag, refused._tag === "ReplayMismatch" && [refused.node, refused.called]], [
      "ReplayMismatch",
      ["node", "asker"]
    ])
  }))

// ---------------------------------------------------------------------------
// Children and time travel
// ---------------------------------------------------------------------------

behaves("L9 going back, a graph that is kept stands where it stood then", () =>
  Effect.gen(function*() {
    const graph = talk(listener("thread"))
    const thread = graph.thread("t")
    yield* thread.invoke({ text: "a" })
    yield* thread.invoke({ text: "b" })
    const third = yield* thread.invoke({ text: "c" })
    assert.deepStrictEqual(third.seen, ["a", "saw 1", "b", "saw 3", "c", "saw 5"])
    const history = yield* thread.history()
    const ofB = history.find(({ next, values }) => next[0] === "speak" && values.text === "b")!
    // The second call, once more: it knows the first and not the third.
    assert.deepStrictEqual((yield* thread.continue({ checkpoint: ofB.checkpoint })).seen, ["a", "saw 1", "b", "saw 3"])
    assert.deepStrictEqual((yield* thread.invoke({ text: "d" })).seen, ["a", "saw 1", "b", "saw 3", "d", "saw 5"])
    const afterA = history.find(({ next, values }) => next.length === 0 && values.text === "a")!
    yield* thread.fork(afterA.checkpoint)
    assert.deepStrictEqual((yield* thread.invoke({ text: "e" })).seen, ["a", "saw 1", "e", "saw 3"])
    // What the old branch held is not changed by any of it.
    const old = (yield* thread.history({ branch: 1, limit: 1 }))[0]!
    assert.deepStrictEqual(old.values.seen, third.seen)
  }))

behaves(
  "L9 a graph as a node that is kept, with a pause, after going back asks anew and starts from its old state",
  () =>
    Effect.gen(function*() {
      class Own extends State.make({ log: Channel.append(Schema.String), turns: Channel.append(Schema.String) }) {}
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Own, {
          ask: Effect.fnUntraced(function*(s) {
            return { turns: [yield* Ask.ask(`turn ${s.turns.length}`)] }
          }),
          tell: (s) => ({ log: [s.turns.join("")] })
        }),
        { start: "ask", edges: { ask: "tell" } },
        { persistence: "thread" }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
      for (const answer of ["a", "b"]) {
        yield* Effect.flip(thread.invoke({}))
        yield* thread.resume(Ask.reply(answer))
      }
      assert.deepStrictEqual((yield* thread.state()).values.log, ["a", "ab"])
      const second = (yield* thread.history()).find(({ next, values }) =>
        next[0] === "child" && values.log.length === 1
      )!
      const paused = yield* Effect.flip(thread.continue({ checkpoint: second.checkpoint }))
      if (paused._tag !== "GraphInterrupt") return assert.fail(paused._tag)
      assert.deepStrictEqual(paused.requests.map(({ payload }) => payload), ["turn 1"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("c")), { log: ["a", "ac"] })
    })
)

behaves("L9 a graph inside a graph that is kept is kept with it", () =>
  Effect.gen(function*() {
    class Own extends State.make(
      { log: Channel.append(Schema.String), count: Channel.reduced(Schema.Int, Number.ReducerSum) },
      { input: ["log"], output: ["log"] }
    ) {}
    const inner = StateGraph.make(
      "inner",
      StateGraph.nodes(Own, { n: (s) => ({ count: 1, log: [`inner ${s.count}`] }) }),
      { start: "n" },
      { persistence: "thread" }
    )
    const middle = (persistence: Persistence) =>
      StateGraph.make("middle", StateGraph.nodes(Log, { inner }), { start: "inner" }, { persistence })
    const kept = StateGraph.make("kept", StateGraph.nodes(Log, { middle: middle("thread") }), { start: "middle" })
      .thread("kept")
    yield* kept.invoke({})
    assert.deepStrictEqual((yield* kept.invoke({})).log, ["inner 0", "inner 1"])
    // Inside a graph that starts empty for each call there is nothing to go on from.
    const fresh = StateGraph.make("fresh", StateGraph.nodes(Log, { middle: middle("call") }), { start: "middle" })
      .thread("fresh")
    yield* fresh.invoke({})
    assert.deepStrictEqual((yield* fresh.invoke({})).log, ["inner 0", "inner 0"])
  }))

behaves("L13 the kept state of a graph is the same in every durability, and alternating", () =>
  Effect.gen(function*() {
    const graph = talk(listener("thread"))
    const turns = [["a", "sync"], ["b", "exit"], ["c", "async"], ["d", "exit"], ["e", "sync"]] as const
    const thread = graph.thread("t")
    let seen: ReadonlyArray<string> = []
    for (const [text, durability] of turns) seen = (yield* thread.invoke({ text }, { durability })).seen
    assert.deepStrictEqual(seen, ["a", "saw 1", "b", "saw 3", "c", "saw 5", "d", "saw 7", "e", "saw 9"])
  }))

behaves("L10 a pause inside a graph is stored in every durability, before it is seen", () =>
  Effect.gen(function*() {
    for (const durability of ["sync", "async", "exit"] as const) {
      const runs: Array<string> = []
      const id = `t-${durability}`
      const failure = yield* Effect.flip(nestedAsk(runs).thread(id).invoke({}, { durability }))
      assert.strictEqual(failure._tag, "GraphInterrupt")
      // Another process: another instance of the same graph.
      const thread = nestedAsk(runs).thread(id)
      assert.deepStrictEqual((yield* thread.at(["middle", "inner"]).state()).values["log"], ["o", "m", "i"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes"), { durability }), {
        log: ["o", "m", "i", "yes", "n", "p"]
      })
      assert.deepStrictEqual(runs, ["o", "m", "i", "ask", "ask", "n", "p"])
    }
  }))

behaves("L12 a failure inside a graph keeps what the graph had done", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    let fails = true
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        a: () => {
          runs.push("a")
          return { log: ["a"] }
        },
        b: () => {
          runs.push("b")
          return fails ? Effect.fail("broken" as const) : Effect.succeed({ log: ["b"] })
        }
      }),
      { start: "a", edges: { a: "b" } }
    )
    const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
    assert.strictEqual(yield* Effect.flip(thread.invoke({})), "broken")
    assert.deepStrictEqual((yield* thread.state()).tasks.map(({ error, node }) => [node, error]), [["child", "broken"]])
    fails = false
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
    assert.deepStrictEqual(runs, ["a", "b", "b"])
  }))

behaves(
  "L3 a node with an input of its own can hold a called graph, and a graph without the keys it needs says so",
  () =>
    Effect.gen(function*() {
      class Needs extends State.make({ need: Schema.Int }) {}
      const child = StateGraph.make("child", StateGraph.nodes(Needs, { n: (s) => ({ need: s.need + 1 }) }), {
        start: "n"
      })
      class Parent extends State.make({ got: Channel.append(Schema.Int) }) {}
      const parent = StateGraph.make(
        "parent",
        StateGraph.nodes(Parent, {
          go: () => Command.make({ goto: Send.make("work", { need: 4 }) }),
          work: Node.make({
            input: Schema.Struct({ need: Schema.Int }),
            run: (input) => Effect.map(child.call(input), ({ need }) => ({ got: [need] }))
          })
        }),
        { start: "go" }
      )
      assert.deepStrictEqual(yield* parent.invoke({}), { got: [5] })
      const lacking = StateGraph.make(
        "lacking",
        StateGraph.nodes(Parent, {
          go: () => Effect.asVoid(child.call({} as { readonly need: number }))
        }),
        { start: "go" }
      )
      const missing = yield* Effect.flip(lacking.invoke({}))
      assert.deepStrictEqual([missing._tag, missing._tag === "MissingInput" && missing.keys], ["MissingInput", [
        "need"
      ]])
    })
)
