/** Going back with graphs inside: from the parent and by their own checkpoints, kept, in loops, in graphs of graphs. */
import { assert } from "@effect/vitest"
import { Effect, Number, Schema } from "effect"
import { Channel, END, State, StateGraph } from "superstep"
import { Ask, before, Log, say, shapes } from "./Branches.ts"
import { paused, payloads } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

// ---------------------------------------------------------------------------
// Graphs inside
// ---------------------------------------------------------------------------

const nested = (runs: Array<string>) => {
  const sub = StateGraph.make(
    "sub",
    StateGraph.nodes(Log, {
      step_a: say(runs, "step_a"),
      ask_1: Effect.fnUntraced(function*() {
        runs.push("ask_1")
        return { log: [`1:${yield* Ask.ask("first?")}`] }
      }),
      ask_2: Effect.fnUntraced(function*() {
        runs.push("ask_2")
        return { log: [`2:${yield* Ask.ask("second?")}`] }
      }),
      step_b: say(runs, "step_b")
    }),
    { start: "step_a", edges: { step_a: "ask_1", ask_1: "ask_2", ask_2: "step_b" } }
  )
  return StateGraph.make(
    "parent",
    StateGraph.nodes(Log, { before: say(runs, "before"), sub, after: say(runs, "after") }),
    {
      start: "before",
      edges: { before: "sub", sub: "after" }
    }
  )
}

const answerBoth = Effect.fnUntraced(function*(thread: ReturnType<ReturnType<typeof nested>["thread"]>) {
  yield* paused(thread.invoke({}))
  yield* paused(thread.resume(Ask.reply("x")))
  return yield* thread.resume(Ask.reply("y"))
})

const whole = { log: ["before", "step_a", "1:x", "2:y", "step_b", "after"] }

behaves(
  "LG#141 going back in the parent runs the graph inside again, and not what came before it",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const sub = StateGraph.make("sub", StateGraph.nodes(Log, { x: say(runs, "x"), y: say(runs, "y") }), {
        start: "x",
        edges: { x: "y" }
      })
      const graph = StateGraph.make(
        "parent",
        StateGraph.nodes(Log, { before: say(runs, "before"), sub, after: say(runs, "after") }),
        {
          start: "before",
          edges: { before: "sub", sub: "after" }
        }
      )
      const thread = graph.thread("t")
      yield* thread.invoke({})
      const checkpoint = before(yield* thread.history(), "sub")
      runs.length = 0
      assert.deepStrictEqual(yield* thread.continue({ checkpoint }), { log: ["before", "x", "y", "after"] })
      assert.deepStrictEqual(runs, ["x", "y", "after"])
      runs.length = 0
      yield* thread.update({ log: ["forked"] }, { checkpoint })
      assert.deepStrictEqual(yield* thread.continue(), { log: ["before", "forked", "x", "y", "after"] })
      assert.deepStrictEqual(runs, ["x", "y", "after"])
    })
)

behaves(
  "LG#142 a graph that asks, gone back to from the parent, starts from scratch and asks its first question",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = nested(runs).thread("t")
      assert.deepStrictEqual(yield* answerBoth(thread), whole)
      const checkpoint = before(yield* thread.history(), "sub")
      runs.length = 0
      assert.deepStrictEqual(payloads(yield* paused(thread.continue({ checkpoint }))), ["first?"])
      assert.deepStrictEqual(runs, ["step_a", "ask_1"])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("v")))), ["second?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("w")), {
        log: ["before", "step_a", "1:v", "2:w", "step_b", "after"]
      })
      assert.deepStrictEqual(shapes(yield* thread.history()), [
        [2, 4, "loop", ""],
        [2, 3, "loop", "after"],
        [2, 2, "fork", "sub"],
        [1, 3, "loop", ""],
        [1, 2, "loop", "after"],
        [1, 1, "loop", "sub"],
        [1, 0, "loop", "before"],
        [1, -1, "input", "__start__"]
      ])
      assert.strictEqual((yield* thread.history({ source: "fork" }))[0]!.parent, checkpoint)
    })
)

behaves("LG#142 also from the checkpoint where the parent waits, while it waits", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const thread = nested(runs).thread("t")
    yield* paused(thread.invoke({}))
    yield* paused(thread.resume(Ask.reply("x")))
    runs.length = 0
    // It is the head: going on is no time travel, and the second question waits.
    const head = (yield* thread.state()).checkpoint
    assert.deepStrictEqual(payloads(yield* paused(thread.continue({ checkpoint: head }))), ["second?"])
    assert.deepStrictEqual([runs, (yield* thread.state()).branch], [[], 1])
    // A branch from it starts the graph inside anew.
    yield* thread.fork(head)
    assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["first?"])
    assert.deepStrictEqual(runs, ["step_a", "ask_1"])
  }))

behaves(
  "LG#143 an answer that names the head runs only what was answered, and what follows",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = nested(runs).thread("t")
      yield* paused(thread.invoke({}))
      const checkpoint = (yield* thread.state()).checkpoint
      runs.length = 0
      yield* paused(thread.resume(Ask.reply("x"), { checkpoint }))
      assert.deepStrictEqual(runs, ["ask_1", "ask_2"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("y"), { checkpoint }), whole)
      assert.deepStrictEqual(runs, ["ask_1", "ask_2", "ask_2", "step_b", "after"])
      assert.strictEqual((yield* thread.state()).branch, 1)
    })
)

/** A graph with a question inside, kept for the thread; it notes the state that it starts with. */
const keptGraph = (seen: Array<ReadonlyArray<string>>, asks: boolean) => {
  const sub = StateGraph.make(
    "sub",
    StateGraph.nodes(Log, {
      a: (s) => {
        seen.push(s.log)
        return { log: [`a:${s.log.length}`] }
      },
      b: () => asks ? Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) : Effect.succeed({ log: ["b"] })
    }),
    { start: "a", edges: { a: "b" } },
    { persistence: "thread" }
  )
  class Own extends State.make({ out: Channel.append(Schema.Int) }) {}
  return StateGraph.make(
    "parent",
    StateGraph.nodes(Own, { sub: () => Effect.map(sub.call({}), ({ log }) => ({ out: [log.length] })) }),
    { start: "sub" }
  )
}

behaves(
  "LG#144 a graph that is kept, gone back to in its second run, starts with what the first left, and asks again",
  () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const thread = keptGraph(seen, true).thread("t")
      for (const answer of ["one", "two"]) {
        yield* paused(thread.invoke({}))
        yield* thread.resume(Ask.reply(answer))
      }
      assert.deepStrictEqual(seen, [[], ["a:0", "one"]])
      seen.length = 0
      const checkpoint = before(yield* thread.history(), "sub")
      assert.deepStrictEqual(payloads(yield* paused(thread.continue({ checkpoint }))), ["?"])
      assert.deepStrictEqual(seen, [["a:0", "one"]])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("zwei")), { out: [2, 4] })
    })
)

behaves(
  "LG#149 a kept graph goes back with its parent: to its second run, to its first, and on from there",
  () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const thread = keptGraph(seen, false).thread("t")
      yield* thread.invoke({})
      yield* thread.invoke({})
      const history = yield* thread.history()
      const [second, first] = history.filter(({ next }) => next.join() === "sub").map(({ checkpoint }) => checkpoint)
      assert.deepStrictEqual(seen, [[], ["a:0", "b"]])
      seen.length = 0
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: second! }), { out: [2, 4] })
      assert.deepStrictEqual(seen, [["a:0", "b"]])
      // A third run follows the branch.
      assert.deepStrictEqual(yield* thread.invoke({}), { out: [2, 4, 6] })
      assert.deepStrictEqual(seen.at(-1), ["a:0", "b", "a:2", "b"])
      seen.length = 0
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: first! }), { out: [2] })
      assert.deepStrictEqual(seen, [[]])
      // After that the newest branch is the one that began at the first run.
      assert.deepStrictEqual(yield* thread.invoke({}), { out: [2, 4] })
      assert.deepStrictEqual(seen, [[], ["a:0", "b"]])
      seen.length = 0
      yield* thread.update({ out: [100] }, { checkpoint: second!, asNode: "__start__" })
      assert.deepStrictEqual(yield* thread.continue(), { out: [2, 100, 4] })
      assert.deepStrictEqual(seen, [["a:0", "b"]])
    })
)

behaves("LG#149 a graph that is not kept starts fresh, gone back to or not", () =>
  Effect.gen(function*() {
    const seen: Array<ReadonlyArray<string>> = []
    const sub = StateGraph.make(
      "sub",
      StateGraph.nodes(Log, {
        a: (s) => {
          seen.push(s.log)
          return { log: ["s"] }
        }
      }),
      { start: "a" }
    )
    const graph = StateGraph.make(
      "parent",
      StateGraph.nodes(Log, { call: () => Effect.map(sub.call({}), () => ({ log: ["called"] })) }),
      {
        start: "call"
      }
    )
    const thread = graph.thread("t")
    yield* thread.invoke({})
    yield* thread.invoke({})
    yield* thread.continue({ checkpoint: before(yield* thread.history(), "call") })
    assert.deepStrictEqual(seen, [[], [], []])
  }))

behaves(
  "LG#150 a kept graph in a loop starts each turn where the turn before left it, also after going back into the loop",
  () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const sub = StateGraph.make(
        "sub",
        StateGraph.nodes(Log, {
          s: (s) => {
            seen.push(s.log)
            return { log: ["s"] }
          }
        }),
        { start: "s" },
        { persistence: "thread" }
      )
      class Counter extends State.make({ counter: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}
      const graph = StateGraph.make(
        "loop",
        StateGraph.nodes(Counter, { call: () => Effect.map(sub.call({}), () => ({ counter: 1 })) }),
        { start: "call", edges: { call: StateGraph.route(["call", END], (s) => s.counter < 4 ? "call" : END) } }
      )
      const thread = graph.thread("t")
      yield* thread.invoke({})
      const turns = [[], ["s"], ["s", "s"], ["s", "s", "s"]]
      assert.deepStrictEqual(seen, turns)
      const history = yield* thread.history({ branch: 1 })
      for (const counter of [2, 1, 3]) {
        seen.length = 0
        const checkpoint = history.find(({ values }) => values.counter === counter)!.checkpoint
        assert.deepStrictEqual(yield* thread.continue({ checkpoint }), { counter: 4 })
        assert.deepStrictEqual(seen, turns.slice(counter))
      }
    })
)

behaves(
  "LG#150 kept graphs in parallel and in graphs that are kept go back with their parent, each to its own state",
  () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const leaf = (name: string) =>
        StateGraph.make(
          name,
          StateGraph.nodes(Log, {
            n: (s) => {
              seen.push(`${name}:${s.log.length}`)
              return { log: [name] }
            }
          }),
          { start: "n" },
          { persistence: "thread" }
        )
      const [left, inner] = [leaf("left"), leaf("inner")]
      const right = StateGraph.make(
        "right",
        StateGraph.nodes(Log, { call: () => Effect.map(inner.call({}), () => ({ log: ["right"] })) }),
        { start: "call" },
        { persistence: "thread" }
      )
      class Runs extends State.make({ runs: Channel.append(Schema.Int) }) {}
      const graph = StateGraph.make(
        "parent",
        StateGraph.nodes(Runs, {
          l: () => Effect.map(left.call({}), ({ log }) => ({ runs: [log.length] })),
          r: () => Effect.map(right.call({}), ({ log }) => ({ runs: [log.length] }))
        }),
        { start: ["l", "r"] }
      )
      const thread = graph.thread("t")
      for (let run = 0; run < 3; run++) yield* thread.invoke({})
      assert.deepStrictEqual(seen.toSorted(), ["inner:0", "inner:1", "inner:2", "left:0", "left:1", "left:2"])
      const history = yield* thread.history()
      const second = history.filter(({ next }) => next.join() === "l,r")[1]!.checkpoint
      seen.length = 0
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: second }), { runs: [1, 1, 2, 2] })
      assert.deepStrictEqual(seen.toSorted(), ["inner:1", "left:1"])
    })
)

behaves(
  "LG#145 a graph inside can be gone back to by its own checkpoint; the whole parent goes on from there",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = nested(runs).thread("t")
      yield* paused(thread.invoke({}))
      yield* paused(thread.resume(Ask.reply("x")))
      const inside = yield* thread.at(["sub"]).history()
      assert.deepStrictEqual(shapes(inside), [
        [1, 2, "loop", "ask_2"],
        [1, 1, "loop", "ask_1"],
        [1, 0, "loop", "step_a"],
        [1, -1, "input", "__start__"]
      ])
      runs.length = 0
      yield* thread.fork(before(inside, "ask_1"), { path: ["sub"] })
      assert.deepStrictEqual((yield* thread.at(["sub"]).state()).values, { log: ["before", "step_a"] })
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["first?"])
      assert.deepStrictEqual(runs, ["ask_1"])
      yield* paused(thread.resume(Ask.reply("x2")))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("y2")), {
        log: ["before", "step_a", "1:x2", "2:y2", "step_b", "after"]
      })
      assert.deepStrictEqual(runs, ["ask_1", "ask_1", "ask_2", "ask_2", "step_b", "after"])
    })
)

behaves(
  "LG#146 going back to one of two questions of a graph inside asks only that one, and runs nothing before it",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = nested(runs).thread("t")
      yield* answerBoth(thread)
      const parents = yield* thread.history()
      const inside = yield* thread.at(["sub"]).history()
      // To the first question: the second follows.
      runs.length = 0
      const first = { checkpoint: before(inside, "ask_1"), path: ["sub"] }
      assert.deepStrictEqual(payloads(yield* paused(thread.continue(first))), ["first?"])
      assert.deepStrictEqual(runs, ["ask_1"])
      const [fork] = yield* thread.history({ source: "fork" })
      assert.strictEqual(fork!.parent, before(parents, "sub"))
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("x1")))), ["second?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("y1")), {
        log: ["before", "step_a", "1:x1", "2:y1", "step_b", "after"]
      })
      // To the second: the answer of the first is part of the state.
      runs.length = 0
      const second = { checkpoint: before(inside, "ask_2"), path: ["sub"] }
      assert.deepStrictEqual(payloads(yield* paused(thread.continue(second))), ["second?"])
      assert.deepStrictEqual(runs, ["ask_2"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("y2")), {
        log: ["before", "step_a", "1:x", "2:y2", "step_b", "after"]
      })
      // To its end: nothing of it runs again.
      runs.length = 0
      const done = inside.find(({ next, source }) => next.length === 0 && source === "loop")!.checkpoint
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: done, path: ["sub"] }), whole)
      assert.deepStrictEqual(runs, ["after"])
      assert.deepStrictEqual(yield* thread.history({ branch: 1 }), parents)
    })
)

behaves("LG#147 three levels deep, each level can be gone back to by its own checkpoint", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const leaf = StateGraph.make(
      "leaf",
      StateGraph.nodes(Log, {
        leaf_a: say(runs, "leaf_a"),
        leaf_ask: Effect.fnUntraced(function*() {
          runs.push("leaf_ask")
          return { log: [yield* Ask.ask("leaf?")] }
        })
      }),
      { start: "leaf_a", edges: { leaf_a: "leaf_ask" } }
    )
    const middle = StateGraph.make(
      "middle",
      StateGraph.nodes(Log, { middle_a: say(runs, "middle_a"), leaf, middle_b: say(runs, "middle_b") }),
      {
        start: "middle_a",
        edges: { middle_a: "leaf", leaf: "middle_b" }
      }
    )
    const graph = StateGraph.make(
      "top",
      StateGraph.nodes(Log, { top_a: say(runs, "top_a"), middle, top_b: say(runs, "top_b") }),
      {
        start: "top_a",
        edges: { top_a: "middle", middle: "top_b" }
      }
    )
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    const middles = yield* thread.at(["middle"]).history()
    const leaves = yield* thread.at(["middle", "leaf"]).history()
    const done = { log: ["top_a", "middle_a", "leaf_a", "yes", "middle_b", "top_b"] }
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), done)
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, string, ReadonlyArray<string>]> = [
      [["middle", "leaf"], before(leaves, "leaf_ask"), ["leaf_ask"]],
      [["middle", "leaf"], before(leaves, "leaf_a"), ["leaf_a", "leaf_ask"]],
      [["middle"], before(middles, "leaf"), ["leaf_a", "leaf_ask"]],
      [["middle"], before(middles, "middle_a"), ["middle_a", "leaf_a", "leaf_ask"]],
      [[], before(yield* thread.history(), "middle"), ["middle_a", "leaf_a", "leaf_ask"]]
    ]
    for (const [index, [path, checkpoint, ran]] of cases.entries()) {
      runs.length = 0
      assert.deepStrictEqual(payloads(yield* paused(thread.continue({ checkpoint, path }))), ["leaf?"])
      assert.deepStrictEqual(runs, ran)
      assert.strictEqual((yield* thread.state()).branch, index + 2)
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), done)
      assert.deepStrictEqual(runs, [...ran, "leaf_ask", "middle_b", "top_b"])
    }
  }))
