/** Going back: running, updating and branching from old checkpoints, at the root and inside graphs of graphs. */
import { assert } from "@effect/vitest"
import { Effect, Number, Schema } from "effect"
import { Channel, type Checkpoint, Command, END, GraphError, Interrupt, Send, State, StateGraph } from "superstep"
import { idOf, paused, payloads, rowsOf } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

type Snapshots = ReadonlyArray<Checkpoint.Snapshot<unknown>>

/** Branch, step, source and what is next: newest first. */
const shapes = (snapshots: Snapshots) =>
  snapshots.map(({ branch, next, source, step }) => [branch, step, source, next.join(",")])

/** The newest checkpoint before some nodes. */
const before = (snapshots: Snapshots, ...next: ReadonlyArray<string>): string => {
  const found = snapshots.find((snapshot) => snapshot.next.join() === next.join())
  return found === undefined ? assert.fail(`no checkpoint before ${next.join()}`) : found.checkpoint
}

const say = (runs: Array<string>, name: string) => () => {
  runs.push(name)
  return { log: [name] }
}

const two = (runs: Array<string>) =>
  StateGraph.make("two", StateGraph.nodes(Log, { node_a: say(runs, "a"), node_b: say(runs, "b") }), {
    start: "node_a",
    edges: { node_a: "node_b" }
  })

const human = (runs: Array<string>) =>
  StateGraph.make(
    "human",
    StateGraph.nodes(Log, {
      node_a: say(runs, "a"),
      ask_human: Effect.fnUntraced(function*() {
        runs.push("ask")
        return { log: [`human:${yield* Ask.ask("What is your input?")}`] }
      }),
      node_b: say(runs, "b")
    }),
    { start: "node_a", edges: { node_a: "ask_human", ask_human: "node_b" } }
  )

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

// ---------------------------------------------------------------------------
// Inputs and updates off the head
// ---------------------------------------------------------------------------

class Switch extends State.make({
  myval: Channel.reduced(Schema.Int, Number.ReducerSum),
  otherval: Channel.lastValue(Schema.Boolean, { initial: () => false })
}) {}

behaves(
  "LG#82 an input on an old checkpoint runs on top of it, and what was written in the old branch stays",
  () =>
    Effect.gen(function*() {
      const node = (s: { readonly otherval: boolean }) => ({ myval: 1, otherval: !s.otherval })
      const edge = (self: "one" | "two", other: "one" | "two") =>
        StateGraph.route(
          ["one", "two", END],
          (s: { readonly myval: number; readonly otherval: boolean }) => s.myval > 3 ? END : s.otherval ? other : self
        )
      const graph = StateGraph.make("switch", StateGraph.nodes(Switch, { one: node, two: node }), {
        start: "one",
        edges: { one: edge("one", "two"), two: edge("two", "one") }
      })
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* thread.invoke({ myval: 1 }), { myval: 4, otherval: true })
      const history = yield* thread.history()
      assert.deepStrictEqual(
        history.map(({ next, step, values }) => [step, values.myval, values.otherval, next.join()]),
        [
          [3, 4, true, ""],
          [2, 3, false, "two"],
          [1, 2, true, "two"],
          [0, 1, false, "one"],
          [-1, 0, false, "__start__"]
        ]
      )
      const results = (snapshots: Snapshots) =>
        snapshots.map(({ tasks }) => tasks.map(({ node, result }) => [node, result]))
      assert.deepStrictEqual(results(history), [
        [],
        [["two", { myval: [1], otherval: [true] }]],
        [["two", { myval: [1], otherval: [false] }]],
        [["one", { myval: [1], otherval: [true] }]],
        [["__start__", { myval: [1] }]]
      ])
      assert.deepStrictEqual(yield* thread.invoke({ myval: 2 }, { checkpoint: history[2]!.checkpoint }), {
        myval: 5,
        otherval: false
      })
      const all = yield* thread.history()
      assert.deepStrictEqual(
        all.slice(0, -5).map((
          { next, source, step, values }
        ) => [step, source, values.myval, values.otherval, next.join()]),
        [
          [5, "loop", 5, false, ""],
          [4, "loop", 4, true, "one"],
          [3, "input", 2, true, "__start__"],
          [2, "fork", 2, true, "two"]
        ]
      )
      assert.deepStrictEqual(all.slice(-5), history)
      assert.deepStrictEqual(results(all.slice(-5)), results(history))
    })
)

class Value extends State.make({ value: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}

behaves(
  "LG#98 a branch from before a node does not have what the node wrote in the other branch",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "adds",
        StateGraph.nodes(Value, { a: () => ({ value: 10 }), b: () => ({ value: 100 }) }),
        {
          start: "a",
          edges: { a: "b" }
        }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* thread.invoke({ value: 1 }), { value: 111 })
      const checkpoint = before(yield* thread.history(), "a")
      const at = yield* thread.state({ checkpoint })
      assert.deepStrictEqual([at.values, at.next], [{ value: 1 }, ["a"]])
      yield* thread.update({ value: 20 }, { asNode: "a", checkpoint })
      assert.deepStrictEqual((yield* thread.state()).values, { value: 21 })
      assert.deepStrictEqual(yield* thread.continue(), { value: 121 })
    })
)

behaves("LG#97 branches of branches, by fork and by update, make a tree", () =>
  Effect.gen(function*() {
    class Name extends State.make({ name: Schema.String }) {}
    const graph = StateGraph.make(
      "tree",
      StateGraph.nodes(Name, { one: (s) => ({ name: `${s.name} > one` }), two: (s) => ({ name: `${s.name} > two` }) }),
      { start: "one", edges: { one: "two" } }
    )
    const thread = graph.thread("t")
    yield* thread.invoke({ name: "first" })
    const checkpoint = before(yield* thread.history(), "two")
    const fork = yield* thread.fork(checkpoint)
    assert.deepStrictEqual(shapes([yield* thread.state()]), [[2, 2, "fork", "two"]])
    assert.deepStrictEqual(yield* thread.continue(), { name: "first > one > two" })
    // From the middle of the branch, as another value of the same node, and from the beginning of that.
    yield* thread.update({ name: "changed" }, { asNode: "one", checkpoint: fork })
    assert.deepStrictEqual(yield* thread.continue(), { name: "changed > two" })
    const inner = before(yield* thread.history({ branch: 3 }), "two")
    yield* thread.fork(inner)
    assert.deepStrictEqual(yield* thread.continue(), { name: "changed > two" })
    const all = yield* thread.history()
    const parents = new Map(all.map((snapshot) => [snapshot.checkpoint, snapshot.parent]))
    const root = (id: string): string => parents.get(id) === undefined ? id : root(parents.get(id)!)
    assert.strictEqual(new Set(all.map((snapshot) => root(snapshot.checkpoint))).size, 1)
    assert.deepStrictEqual(shapes(all), [
      [4, 6, "loop", ""],
      [4, 5, "fork", "two"],
      [3, 5, "loop", ""],
      [3, 4, "update", "two"],
      [3, 3, "fork", "two"],
      [2, 3, "loop", ""],
      [2, 2, "fork", "two"],
      [1, 2, "loop", ""],
      [1, 1, "loop", "two"],
      [1, 0, "loop", "one"],
      [1, -1, "input", "__start__"]
    ])
    assert.strictEqual(all[1]!.parent, inner)
    assert.strictEqual(all[4]!.parent, fork)
    assert.strictEqual(all[6]!.parent, checkpoint)
  }))

behaves(
  "LG#148 a fork of a paused thread asks again, and the old branch still waits with its own question",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = human(runs).thread("t")
      const [old] = yield* paused(thread.invoke({}))
      const head = (yield* thread.state()).checkpoint
      const fork = yield* thread.fork()
      const state = yield* thread.state()
      assert.deepStrictEqual([state.checkpoint, state.parent, state.source, state.branch, state.next, state.requests], [
        fork,
        head,
        "fork",
        2,
        ["ask_human"],
        []
      ])
      assert.strictEqual((yield* Effect.flip(thread.resume(Ask.reply("x", { id: old!.id }))))._tag, "InvalidReply")
      const [again] = yield* paused(thread.continue())
      assert.notStrictEqual(again!.id, old!.id)
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("new")), { log: ["a", "human:new", "b"] })
      // The head of the first branch can be answered still; no branch opens for it.
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("old"), { checkpoint: head }), {
        log: ["a", "human:old", "b"]
      })
      assert.deepStrictEqual((yield* thread.history({ branch: 1 })).length, 5)
      assert.strictEqual((yield* thread.state()).branch, 2)
    })
)

behaves(
  "LG#148 an update without values and without a node is a checkpoint that changes nothing, and asks again",
  () =>
    Effect.gen(function*() {
      const thread = human([]).thread("t")
      const [old] = yield* paused(thread.invoke({}))
      yield* thread.update(undefined)
      const state = yield* thread.state()
      assert.deepStrictEqual([state.source, state.step, state.values, state.next], ["update", 2, { log: ["a"] }, [
        "ask_human"
      ]])
      const [again] = yield* paused(thread.continue())
      assert.notStrictEqual(again!.id, old!.id)
      yield* thread.resume(Ask.reply("x"))
      // Of a finished thread it starts nothing, and several nodes that ran last are no obstacle.
      yield* thread.update(undefined)
      assert.deepStrictEqual((yield* thread.state()).next, [])
      let routes = 0
      const graph = StateGraph.make(
        "routed",
        StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: () => ({ log: ["b"] }), c: () => ({ log: ["c"] }) }),
        {
          start: ["a", "b"],
          edges: {
            a: StateGraph.route(["c"], () => {
              routes++
              return "c"
            })
          }
        }
      )
      const routed = graph.thread("routed")
      yield* routed.invoke({}).pipe(Effect.flip, Effect.ignore)
      const chosen = routes
      yield* routed.update(undefined, { checkpoint: before(yield* routed.history(), "c") })
      assert.deepStrictEqual([(yield* routed.state()).next, routes], [["c"], chosen])
    })
)

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

// ---------------------------------------------------------------------------
// Laws 14 and 19
// ---------------------------------------------------------------------------

behaves(
  "L14 plain calls follow the newest branch, whatever was read or gone back to before",
  () =>
    Effect.gen(function*() {
      const thread = two([]).thread("t")
      yield* thread.invoke({})
      const checkpoint = before(yield* thread.history(), "node_b")
      yield* thread.continue({ checkpoint })
      assert.deepStrictEqual(yield* thread.invoke({}), { log: ["a", "b", "a", "b"] })
      assert.deepStrictEqual(new Set((yield* thread.history({ branch: 2 })).map(({ branch }) => branch)), new Set([2]))
      assert.deepStrictEqual((yield* thread.state()).branch, 2)
      assert.deepStrictEqual((yield* thread.history({ branch: 1 })).length, 4)
    })
)

behaves(
  "L14 L13 going back, pausing and answering is the same in every durability, whatever the first run had",
  () =>
    Effect.gen(function*() {
      for (const first of ["sync", "async", "exit"] as const) {
        for (const second of ["sync", "async", "exit"] as const) {
          const thread = human([]).thread(`${first} ${second}`)
          const [old] = yield* paused(thread.invoke({}, { durability: first }))
          const head = (yield* thread.state()).checkpoint
          yield* thread.resume(Ask.reply("hello"), { durability: first })
          const original = yield* thread.history()
          const [again] = yield* paused(thread.continue({ checkpoint: head, durability: second }))
          const state = yield* thread.state()
          assert.deepStrictEqual([state.branch, state.values, payloads(state.requests), state.parent], [
            2,
            { log: ["a"] },
            ["What is your input?"],
            head
          ])
          assert.notStrictEqual(again!.id, old!.id)
          assert.deepStrictEqual(yield* thread.resume(Ask.reply("world"), { durability: second }), {
            log: ["a", "human:world", "b"]
          })
          assert.deepStrictEqual(yield* thread.history({ branch: 1 }), original)
          assert.deepStrictEqual((yield* thread.state({ checkpoint: head })).values, { log: ["a"] })
        }
      }
    })
)

behaves(
  "L14 the head of an older branch goes on in its branch, and the newest stays the current one",
  () =>
    Effect.gen(function*() {
      const thread = human([]).thread("t")
      yield* paused(thread.invoke({}))
      const head = (yield* thread.state()).checkpoint
      const start = before(yield* thread.history(), "node_a")
      yield* paused(thread.continue({ checkpoint: start }))
      assert.strictEqual((yield* thread.state()).branch, 2)
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("old"), { checkpoint: head }), {
        log: ["a", "human:old", "b"]
      })
      assert.deepStrictEqual((yield* thread.history({ branch: 1, limit: 1 })).map(({ values }) => values.log), [[
        "a",
        "human:old",
        "b"
      ]])
      const state = yield* thread.state()
      assert.deepStrictEqual([state.branch, state.next, payloads(state.requests)], [2, ["ask_human"], [
        "What is your input?"
      ]])
    })
)

behaves("L19 answers, results and failures of one branch are not seen in another", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = StateGraph.make(
      "fan",
      StateGraph.nodes(Log, {
        a: Effect.fnUntraced(function*() {
          runs.push("a")
          return { log: [yield* Ask.ask("a?")] }
        }),
        b: say(runs, "b"),
        c: Effect.fnUntraced(function*() {
          runs.push("c")
          return { log: [yield* Ask.ask("c?")] }
        })
      }),
      { start: ["a", "b", "c"] }
    )
    const thread = graph.thread("t")
    const first = yield* paused(thread.invoke({}))
    yield* paused(thread.resume(Ask.reply("A", { id: idOf(first, "a?") })))
    const head = (yield* thread.state()).checkpoint
    runs.length = 0
    // The branch asks both, and runs the finished sibling again: nothing of the superstep is carried over.
    yield* thread.fork(head)
    assert.deepStrictEqual((yield* thread.state()).values, { log: [] })
    const second = yield* paused(thread.continue())
    assert.deepStrictEqual([payloads(second), runs.toSorted()], [["a?", "c?"], ["a", "b", "c"]])
    assert.isTrue(second.every(({ id }) => first.every((request) => request.id !== id)))
    // The old branch is where it was.
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("C"), { checkpoint: head }), { log: ["A", "b", "C"] })
    assert.deepStrictEqual(payloads((yield* thread.state()).requests), ["a?", "c?"])
  }))

behaves(
  "L19 an old checkpoint shows what it held, and no results of tasks that ran later",
  () =>
    Effect.gen(function*() {
      const thread = two([]).thread("t")
      yield* thread.invoke({})
      const checkpoint = before(yield* thread.history(), "node_b")
      const state = yield* thread.state({ checkpoint })
      assert.deepStrictEqual([state.values, state.next, state.step], [{ log: ["a"] }, ["node_b"], 1])
    })
)

behaves(
  "L19 an update acts as its node: its edges lead on, and other pending tasks stay",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const graph = StateGraph.make(
        "pending",
        StateGraph.nodes(Log, { a: say(runs, "a"), b: say(runs, "b"), c: say(runs, "c"), d: say(runs, "d") }),
        { start: ["a", "b"], edges: { a: "c", b: "d" } }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}, { before: ["a"] }))
      yield* thread.update({ log: ["a by hand"] }, { asNode: "a" })
      assert.deepStrictEqual((yield* thread.state()).next, ["b", "c"])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a by hand", "b", "c", "d"] })
      assert.deepStrictEqual(runs, ["b", "c", "d"])
    })
)

behaves(
  "L19 an update as a node that has Sends in its Command, and as one with a route, goes where they say",
  () =>
    Effect.gen(function*() {
      class Work extends State.make({
        log: Channel.append(Schema.String),
        goal: Channel.lastValue(Schema.String, { initial: () => "" })
      }) {}
      const graph = StateGraph.make(
        "routes",
        StateGraph.nodes(Work, {
          plan: () => Effect.succeed(Command.make({ update: { log: ["plan"] }, goto: "work" })),
          choose: () => ({ log: ["choose"] }),
          work: (s) => ({ log: [`work ${s.goal}`] }),
          rest: () => ({ log: ["rest"] })
        }),
        { start: "plan", edges: { choose: StateGraph.route(["work", "rest"], (s) => s.goal === "" ? "rest" : "work") } }
      )
      const thread = graph.thread("t")
      yield* thread.invoke({})
      yield* thread.update(
        Command.make({ update: { log: ["by hand"] }, goto: [Send.make("work", { goal: "x", log: [] }), "rest"] }),
        { asNode: "plan" }
      )
      assert.deepStrictEqual((yield* thread.state()).next, ["rest", "work"])
      assert.deepStrictEqual(yield* thread.continue(), {
        log: ["plan", "work ", "by hand", "rest", "work x"],
        goal: ""
      })
      yield* thread.update({ goal: "y" }, { asNode: "choose" })
      assert.deepStrictEqual((yield* thread.state()).next, ["work"])
    })
)

behaves(
  "L14 a branch that was opened and left alone costs the other nothing: both go on",
  () =>
    Effect.gen(function*() {
      const thread = two([]).thread("t")
      yield* Effect.flip(thread.invoke({}, { after: ["node_a"] }))
      const head = (yield* thread.state()).checkpoint
      const fork = yield* thread.fork()
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: head }), { log: ["a", "b"] })
      assert.deepStrictEqual((yield* thread.state()).checkpoint, fork)
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
      assert.deepStrictEqual(shapes(yield* thread.history()).map(([branch, step]) => [branch, step]), [
        [2, 3],
        [1, 2],
        [2, 2],
        [1, 1],
        [1, 0],
        [1, -1]
      ])
    })
)

behaves("L14 going back to what is not there is a typed failure, and stores nothing", () =>
  Effect.gen(function*() {
    const thread = two([]).thread("t")
    yield* thread.invoke({})
    const stored = yield* rowsOf("t")
    const none = "0".repeat(32)
    const unknown = new GraphError.UnknownCheckpoint({ thread: "t", checkpoint: none, path: [] })
    assert.deepStrictEqual(yield* Effect.flip(thread.continue({ checkpoint: none })), unknown)
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}, { checkpoint: none })), unknown)
    assert.deepStrictEqual(yield* Effect.flip(thread.state({ checkpoint: none })), unknown)
    assert.deepStrictEqual(yield* Effect.flip(thread.fork(none)), unknown)
    assert.deepStrictEqual(yield* Effect.flip(thread.update({ log: ["x"] }, { checkpoint: none })), unknown)
    const head = (yield* thread.state()).checkpoint
    for (const path of [["node_a"], ["nobody"]]) {
      assert.deepStrictEqual(
        yield* Effect.flip(thread.continue({ checkpoint: head, path })),
        new GraphError.UnknownCheckpoint({ thread: "t", checkpoint: head, path })
      )
      assert.deepStrictEqual(
        yield* Effect.flip(thread.at(path).state()),
        new GraphError.UnknownCheckpoint({ thread: "t", checkpoint: undefined, path })
      )
    }
    assert.deepStrictEqual(yield* rowsOf("t"), stored)
    assert.deepStrictEqual(
      yield* Effect.flip(two([]).thread("new").continue({ checkpoint: head })),
      new GraphError.UnknownThread({ thread: "new" })
    )
  }))
