/** Going back: running again from old checkpoints, with or without a change, and being asked again. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { StateGraph } from "superstep"
import { Ask, before, human, Log, say, shapes, two } from "./Branches.ts"
import { paused, payloads, rowsOf } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

// ---------------------------------------------------------------------------
// Replay and fork
// ---------------------------------------------------------------------------

behaves(
  "LG#136 going on from an old checkpoint runs what came after it, and nothing before",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = two(runs).thread("t")
      yield* thread.invoke({})
      const history = yield* thread.history()
      runs.length = 0
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: before(history, "node_b") }), { log: ["a", "b"] })
      assert.deepStrictEqual(runs, ["b"])
    })
)

behaves(
  "LG#136 going on from the last checkpoint of a finished thread gives its result, runs nothing and stores nothing",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = two(runs).thread("t")
      yield* thread.invoke({})
      const [last] = yield* thread.history()
      const stored = yield* rowsOf("t")
      runs.length = 0
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: last!.checkpoint }), { log: ["a", "b"] })
      // Also when it is no head any more.
      yield* thread.fork(before(yield* thread.history(), "node_b"))
      const forked = yield* rowsOf("t")
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: last!.checkpoint }), { log: ["a", "b"] })
      assert.deepStrictEqual(yield* rowsOf("t"), forked)
      assert.notDeepEqual(forked, stored)
      assert.deepStrictEqual(runs, [])
    })
)

behaves(
  "LG#137 an update of an old checkpoint and going on runs the rest on the changed state",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = two(runs).thread("t")
      yield* thread.invoke({})
      const checkpoint = before(yield* thread.history(), "node_b")
      runs.length = 0
      const updated = yield* thread.update({ log: ["x"] }, { checkpoint })
      assert.deepStrictEqual((yield* thread.state()).checkpoint, updated)
      assert.deepStrictEqual((yield* thread.state()).next, ["node_b"])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "x", "b"] })
      assert.deepStrictEqual(runs, ["b"])
      assert.deepStrictEqual(shapes(yield* thread.history()), [
        [2, 4, "loop", ""],
        [2, 3, "update", "node_b"],
        [2, 2, "fork", "node_b"],
        [1, 2, "loop", ""],
        [1, 1, "loop", "node_b"],
        [1, 0, "loop", "node_a"],
        [1, -1, "input", "__start__"]
      ])
    })
)

behaves("LG#137 branches from one checkpoint do not know of each other", () =>
  Effect.gen(function*() {
    const thread = two([]).thread("t")
    yield* thread.invoke({})
    const original = yield* thread.history()
    const checkpoint = before(original, "node_b")
    for (const text of ["x", "y", "z"]) {
      yield* thread.update({ log: [text] }, { checkpoint })
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", text, "b"] })
    }
    assert.deepStrictEqual((yield* thread.state()).branch, 4)
    const heads = yield* Effect.forEach([1, 2, 3, 4], (branch) =>
      Effect.map(thread.history({ branch, limit: 1 }), ([head]) => head!))
    assert.deepStrictEqual(
      heads.map(({ values }) =>
        values.log
      ),
      [["a", "b"], ["a", "x", "b"], ["a", "y", "b"], ["a", "z", "b"]]
    )
    assert.deepStrictEqual(yield* thread.history({ branch: 1 }), original)
    // Each branch begins at the checkpoint that all come from.
    const forks = yield* thread.history({ source: "fork" })
    assert.deepStrictEqual(
      forks.map(({ parent }) => parent),
      [checkpoint, checkpoint, checkpoint]
    )
    assert.strictEqual(new Set(forks.map((fork) => fork.checkpoint)).size, 3)
  }))

behaves(
  "LG#138 going back to before a question asks it again; its answer goes on in the new branch",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = human(runs).thread("t")
      const [first] = yield* paused(thread.invoke({}))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("hello")), { log: ["a", "human:hello", "b"] })
      const history = yield* thread.history()
      assert.strictEqual(history.length, 5)
      runs.length = 0
      const [again] = yield* paused(thread.continue({ checkpoint: before(history, "ask_human") }))
      assert.deepStrictEqual([again!.payload, runs], ["What is your input?", ["ask"]])
      assert.notStrictEqual(again!.id, first!.id)
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["a"] })
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("world")), { log: ["a", "human:world", "b"] })
      assert.deepStrictEqual(runs, ["ask", "ask", "b"])
      assert.deepStrictEqual(shapes(yield* thread.history()), [
        [2, 4, "loop", ""],
        [2, 3, "loop", "node_b"],
        [2, 2, "fork", "ask_human"],
        [1, 3, "loop", ""],
        [1, 2, "loop", "node_b"],
        [1, 1, "loop", "ask_human"],
        [1, 0, "loop", "node_a"],
        [1, -1, "input", "__start__"]
      ])
      assert.deepStrictEqual(yield* thread.history({ branch: 1 }), history)
    })
)

behaves("LG#139 going back several times is the same each time, but for the branch", () =>
  Effect.gen(function*() {
    const thread = human([]).thread("t")
    yield* paused(thread.invoke({}))
    yield* thread.resume(Ask.reply("hello"))
    const checkpoint = before(yield* thread.history(), "ask_human")
    const seen = new Set<string>()
    for (const branch of [2, 3, 4]) {
      const [request] = yield* paused(thread.continue({ checkpoint }))
      const state = yield* thread.state()
      assert.deepStrictEqual([request!.payload, state.values, state.branch, state.step], [
        "What is your input?",
        { log: ["a"] },
        branch,
        2
      ])
      seen.add(request!.id)
    }
    assert.strictEqual(seen.size, 3)
  }))

behaves(
  "LG#139 a changed branch from before a question, or from where it waits, asks it again",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = human(runs).thread("t")
      yield* paused(thread.invoke({}))
      // From the head, where it waits.
      yield* thread.update({ log: ["forked"] })
      assert.strictEqual((yield* thread.state()).branch, 1)
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["What is your input?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("world")), { log: ["a", "forked", "human:world", "b"] })
      // From history.
      const checkpoint = before((yield* thread.history()).toReversed(), "ask_human")
      yield* thread.update({ log: ["again"] }, { checkpoint })
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["What is your input?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("you")), { log: ["a", "again", "human:you", "b"] })
      assert.strictEqual((yield* thread.state()).branch, 2)
    })
)

const twoQuestions = (runs: Array<string>) => {
  const ask = (name: string) =>
    Effect.fnUntraced(function*() {
      runs.push(name)
      return { log: [yield* Ask.ask(`${name}?`)] }
    })
  return StateGraph.make(
    "questions",
    StateGraph.nodes(Log, { ask_1: ask("ask_1"), ask_2: ask("ask_2"), end: say(runs, "end") }),
    {
      start: "ask_1",
      edges: { ask_1: "ask_2", ask_2: "end" }
    }
  )
}

behaves(
  "LG#140 between two questions only the second is asked again, and the answer of the first stays",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = twoQuestions(runs).thread("t")
      yield* paused(thread.invoke({}))
      yield* paused(thread.resume(Ask.reply("one")))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("two")), { log: ["one", "two", "end"] })
      const history = yield* thread.history()
      runs.length = 0
      yield* thread.update({ log: ["fork"] }, { checkpoint: before(history, "ask_2") })
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["ask_2?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("zwei")), { log: ["one", "fork", "zwei", "end"] })
      assert.deepStrictEqual(runs, ["ask_2", "ask_2", "end"])
      // From before the first, the first alone is asked, then the second anew.
      runs.length = 0
      assert.deepStrictEqual(payloads(yield* paused(thread.continue({ checkpoint: before(history, "ask_1") }))), [
        "ask_1?"
      ])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("eins")))), ["ask_2?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("zwei")), { log: ["eins", "zwei", "end"] })
    })
)

behaves("LG#140 two questions of one node are both asked again", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "one node",
      StateGraph.nodes(Log, {
        ask: Effect.fnUntraced(function*() {
          return { log: [yield* Ask.ask("first"), yield* Ask.ask("second")] }
        })
      }),
      { start: "ask" }
    )
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    yield* paused(thread.resume(Ask.reply("1")))
    yield* thread.resume(Ask.reply("2"))
    const checkpoint = before(yield* thread.history(), "ask")
    assert.deepStrictEqual(payloads(yield* paused(thread.continue({ checkpoint }))), ["first"])
    assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("one")))), ["second"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("two")), { log: ["one", "two"] })
  }))

behaves(
  "LG#151 a branch leaves the old checkpoints as they were, and begins at the one that was gone back to",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const graph = StateGraph.make(
        "three",
        StateGraph.nodes(Log, { a: say(runs, "a"), b: say(runs, "b"), c: say(runs, "c") }),
        { start: "a", edges: { a: "b", b: "c" } }
      )
      const thread = graph.thread("t")
      yield* thread.invoke({})
      const old = yield* thread.history()
      assert.deepStrictEqual(shapes(old), [
        [1, 3, "loop", ""],
        [1, 2, "loop", "c"],
        [1, 1, "loop", "b"],
        [1, 0, "loop", "a"],
        [1, -1, "input", "__start__"]
      ])
      const checkpoint = before(old, "b")
      assert.deepStrictEqual(yield* thread.continue({ checkpoint }), { log: ["a", "b", "c"] })
      const all = yield* thread.history()
      assert.deepStrictEqual(shapes(all.slice(0, 3)), [[2, 4, "loop", ""], [2, 3, "loop", "c"], [2, 2, "fork", "b"]])
      assert.deepStrictEqual(all.slice(3), old)
      assert.strictEqual(all[2]!.parent, checkpoint)
      assert.strictEqual(new Set(all.map((snapshot) => snapshot.checkpoint)).size, 8)
    })
)
