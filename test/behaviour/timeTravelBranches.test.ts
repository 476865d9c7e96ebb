/** Branches: inputs and updates off the head, forks, and how little branches know of each other. */
import { assert } from "@effect/vitest"
import { Effect, Number, Schema } from "effect"
import { Channel, Command, END, GraphError, Send, State, StateGraph } from "superstep"
import { Ask, before, human, Log, say, shapes, two } from "./Branches.ts"
import { idOf, paused, payloads, rowsOf, type Snapshots } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

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
