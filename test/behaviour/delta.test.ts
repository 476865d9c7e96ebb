/** Channels that are stored as their writes: what is read back is what was there, in every durability, branch and version. */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Channel, Checkpointer, Command, Interrupt, Node, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

const Item = Schema.Struct({ id: Schema.String, text: Schema.String })
type Item = typeof Item.Type
const Change = Schema.Union([Item, Schema.Struct({ remove: Schema.String })])

/** Replaces by id, removes by id, appends what is new: as a list of messages does. */
const merge = (items: ReadonlyArray<Item>, changes: ReadonlyArray<typeof Change.Type>): ReadonlyArray<Item> => {
  let next = [...items]
  for (const change of changes) {
    if ("remove" in change) next = next.filter(({ id }) => id !== change.remove)
    else if (next.some(({ id }) => id === change.id)) next = next.map((item) => item.id === change.id ? change : item)
    else next.push(change)
  }
  return next
}

const itemList = (snapshotFrequency?: number) =>
  Channel.delta({
    value: Schema.Array(Item),
    update: Change,
    initial: () => [],
    reduce: merge,
    ...(snapshotFrequency === undefined ? {} : { snapshotFrequency })
  })

const words = (snapshotFrequency?: number) =>
  Channel.delta({
    value: Schema.Array(Schema.String),
    update: Schema.String,
    initial: () => [],
    reduce: (value: ReadonlyArray<string>, updates: ReadonlyArray<string>) => [...value, ...updates],
    ...(snapshotFrequency === undefined ? {} : { snapshotFrequency })
  })

/** Remembers how many writes each superstep brought: no reducer should, but it shows what is folded together. */
const batches = () =>
  Channel.delta({
    value: Schema.Array(Schema.Int),
    update: Schema.Int,
    initial: () => [],
    reduce: (value: ReadonlyArray<number>, updates: ReadonlyArray<number>) => [...value, updates.length]
  })

/** A graph that says back what it is told, `turns` times over. */
const echo = (log: ReturnType<typeof words>, turns = 1) => {
  class S extends State.make({
    said: Schema.String,
    n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
    log,
    untouched: words()
  }) {}
  return StateGraph.make(
    "echo",
    StateGraph.nodes(S, {
      begin: () => ({ n: 0 }),
      say: (s) => ({ log: `${s.said}${s.n}`, n: s.n + 1 })
    }),
    {
      start: "begin",
      edges: {
        begin: "say",
        say: StateGraph.route(["say", "__end__"], (s: State.Type<typeof S>) => s.n < turns ? "say" : "__end__")
      }
    }
  )
}

const rowsOf = (thread: string) => Effect.flatMap(Checkpointer.Checkpointer, (saver) => saver.list(thread, "", {}))
const chainLength = (thread: string, id: string) =>
  Effect.flatMap(
    Checkpointer.Checkpointer,
    (saver) => Effect.map(saver.get(thread, "", id), (saved) => saved._tag === "Some" ? saved.value.chain.length : 0)
  )

// ---------------------------------------------------------------------------
// Durabilities
// ---------------------------------------------------------------------------

behaves(
  "LG#158 a channel that nobody writes has its first value, no version, and costs nothing",
  () =>
    Effect.gen(function*() {
      const thread = echo(words()).thread("t")
      yield* thread.invoke({ said: "a" }, { durability: "exit" })
      const state = yield* thread.state()
      assert.deepStrictEqual(state.values.untouched, [])
      assert.isFalse("untouched" in state.versions)
      assert.strictEqual((yield* rowsOf("t")).length, 1)
    })
)

behaves(
  "LG#158 runs that are stored at their end, at once, or in between: the same values in the same order",
  () =>
    Effect.gen(function*() {
      const patterns = [
        ["sync", "sync", "sync", "sync"],
        ["exit", "exit", "exit", "exit"],
        ["async", "async", "async", "async"],
        ["sync", "exit", "sync", "exit"],
        ["exit", "sync", "async", "sync"]
      ] as const
      for (const [n, pattern] of patterns.entries()) {
        for (const frequency of [1, 2, 3, undefined]) {
          const id = `${n} ${frequency}`
          for (const [turn, durability] of pattern.entries()) {
            // A new instance of the graph each time: nothing is known but what is stored.
            yield* echo(words(frequency), 2).thread(id).invoke({ said: "abcd"[turn]! }, { durability })
          }
          const state = yield* echo(words(frequency), 2).thread(id).state()
          assert.deepStrictEqual([id, state.values.log], [id, ["a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"]])
        }
      }
    })
)

behaves(
  "LG#158 a run that is stored at its end makes one checkpoint, at which the channel reads whole",
  () =>
    Effect.gen(function*() {
      const thread = echo(words(), 3).thread("t")
      yield* thread.invoke({ said: "a" }, { durability: "exit" })
      yield* thread.invoke({ said: "b" }, { durability: "exit" })
      const history = yield* thread.history()
      assert.deepStrictEqual(history.map(({ values }) => values.log), [["a0", "a1", "a2", "b0", "b1", "b2"], [
        "a0",
        "a1",
        "a2"
      ]])
    })
)

behaves(
  "LG#158 every checkpoint of every durability that stores it reads as the state was then",
  () =>
    Effect.gen(function*() {
      for (const durability of ["sync", "async"] as const) {
        const thread = echo(words(2), 4).thread(durability)
        yield* thread.invoke({ said: "x" }, { durability })
        const seen = (yield* thread.history()).map(({ values }) => values.log.length)
        assert.deepStrictEqual(seen, [4, 3, 2, 1, 0, 0, 0])
      }
    })
)

behaves(
  "L6 the frequency that a user gives is an upper bound on the writes that are folded to read a value",
  () =>
    Effect.gen(function*() {
      for (const frequency of [1, 3, 5]) {
        const id = `every ${frequency}`
        yield* echo(words(frequency), 40).thread(id).invoke({ said: "x" })
        const rows = (yield* rowsOf(id)).toReversed()
        let since = 0
        for (const { isKeyframe } of rows) {
          since = isKeyframe ? 0 : since + 1
          // All but the first two checkpoints hold a write.
          assert.isAtMost(since, Math.max(frequency, 2) + 1, `${since} after a keyframe, every ${frequency}`)
        }
        if (frequency === 1) {
          assert.deepStrictEqual(
            rows.slice(3).map(({ isKeyframe }) => isKeyframe),
            rows.slice(3).map(() => true)
          )
        }
        assert.strictEqual((yield* echo(words(frequency), 40).thread(id).state()).values.log.length, 40)
      }
    })
)

behaves("LG#159 reading a channel that was last written long ago stays bounded", () =>
  Effect.gen(function*() {
    class S extends State.make({ n: Channel.lastValue(Schema.Int, { initial: () => 0 }), once: words() }) {}
    const graph = StateGraph.make(
      "long",
      StateGraph.nodes(S, {
        first: () => ({ once: "only" }),
        count: (s) => ({ n: s.n + 1 })
      }),
      {
        start: "first",
        edges: {
          first: "count",
          count: StateGraph.route(["count", "__end__"], (s: State.Type<typeof S>) => s.n < 150 ? "count" : "__end__")
        }
      }
    )
    const thread = graph.thread("t")
    yield* thread.invoke({})
    let longest = 0
    for (const { id } of yield* rowsOf("t")) longest = Math.max(longest, yield* chainLength("t", id))
    assert.isAtMost(longest, 60)
    assert.deepStrictEqual((yield* thread.state()).values, { n: 150, once: ["only"] })
    yield* thread.invoke({}, { pending: "discard" })
    assert.deepStrictEqual((yield* thread.state()).values.once, ["only", "only"])
  }))

behaves("L6 a large value does not make each superstep store all of it", () =>
  Effect.gen(function*() {
    yield* echo(words(), 60).thread("t").invoke({ said: "x".repeat(2000) })
    const stored = (yield* rowsOf("t")).reduce((sum, { data }) => sum + data.length, 0)
    // 60 values of 2,000 characters; stored whole at each step they would be 3.6 million.
    assert.isAtMost(stored, 900_000)
  }))

// ---------------------------------------------------------------------------
// Updates from outside
// ---------------------------------------------------------------------------

behaves(
  "LG#160 a thread that begins with an update has one checkpoint, of source update, without a parent",
  () =>
    Effect.gen(function*() {
      for (const frequency of [1, undefined]) {
        const thread = echo(words(frequency)).thread(`${frequency}`)
        yield* thread.update({ said: "x", log: "u0" }, { asNode: "say" })
        const history = yield* thread.history()
        assert.deepStrictEqual(history.map(({ parent, source, step, values }) => [source, step, parent, values.log]), [[
          "update",
          0,
          undefined,
          ["u0"]
        ]])
        assert.deepStrictEqual((yield* thread.invoke({}, { pending: "discard" })).log, ["u0", "x0"])
      }
    })
)

behaves(
  "LG#160 updates one after another, several in one superstep, and after runs, are all kept, in order",
  () =>
    Effect.gen(function*() {
      for (const frequency of [1, 2, undefined]) {
        const thread = echo(words(frequency)).thread(`${frequency}`)
        yield* thread.invoke({ said: "a" })
        yield* thread.update({ log: "u1" }, { asNode: "say" })
        yield* thread.update([{ log: "u2" }, { log: "u3" }], { asNode: "say" })
        yield* thread.updateAll([[{ values: { log: "u4" }, asNode: "say" }, { values: { log: "u5" }, asNode: "say" }], [
          { values: { log: "u6" }, asNode: "say" }
        ]])
        assert.deepStrictEqual((yield* thread.state()).values.log, ["a0", "u1", "u2", "u3", "u4", "u5", "u6"])
        assert.deepStrictEqual((yield* thread.invoke({ said: "b" }, { pending: "discard" })).log.slice(-2), [
          "u6",
          "b0"
        ])
        const again = yield* echo(words(frequency)).thread(`${frequency}`).state()
        assert.deepStrictEqual(again.values.log.slice(-2), ["u6", "b0"])
      }
    })
)

class Items extends State.make({ items: itemList() }) {}
const idle = StateGraph.make("items", StateGraph.nodes(Items, { node: () => undefined }), { start: "node" })

behaves(
  "LG#160 LG#163 an update replaces and removes by id, and what it replaced is still there before it",
  () =>
    Effect.gen(function*() {
      const thread = idle.thread("t")
      yield* thread.update([{ items: { id: "1", text: "one" } }, { items: { id: "2", text: "two" } }], {
        asNode: "node"
      })
      yield* thread.update({ items: { id: "1", text: "uno" } }, { asNode: "node" })
      yield* thread.update({ items: { remove: "2" } }, { asNode: "node" })
      assert.deepStrictEqual(
        (yield* thread.history()).map(({ values }) => values.items.map(({ id, text }) => `${id}${text}`)),
        [
          ["1uno"],
          ["1uno", "2two"],
          ["1one", "2two"]
        ]
      )
      yield* thread.update({ items: Channel.overwrite([{ id: "9", text: "all new" }]) }, { asNode: "node" })
      yield* thread.update({ items: { id: "10", text: "more" } }, { asNode: "node" })
      assert.deepStrictEqual((yield* thread.state()).values.items.map(({ id }) => id), ["9", "10"])
    })
)

// ---------------------------------------------------------------------------
// Across versions of a graph
// ---------------------------------------------------------------------------

behaves(
  "LG#161 a reducer that becomes a Delta on an existing thread, and back: nothing changes, and what is new is kept",
  () =>
    Effect.gen(function*() {
      const appended = Channel.reducer({
        value: Schema.Array(Schema.String),
        update: Schema.String,
        initial: () => [],
        reduce: (value: ReadonlyArray<string>, update: string) => [...value, update]
      })
      const make = (
        log: Channel.Channel<ReadonlyArray<string>, string | Channel.Overwrite<ReadonlyArray<string>>, "initial">
      ) => {
        class S extends State.make({ said: Schema.String, log }) {}
        return StateGraph.make("chat", StateGraph.nodes(S, { say: (s) => ({ log: s.said }) }), { start: "say" })
      }
      const old = make(appended).thread("t")
      yield* old.invoke({ said: "u0" })
      yield* old.invoke({ said: "u1" })
      const before = (yield* old.history()).map(({ checkpoint, values }) => [checkpoint, values.log])
      const now = make(words()).thread("t")
      assert.deepStrictEqual((yield* now.history()).map(({ checkpoint, values }) => [checkpoint, values.log]), before)
      yield* now.invoke({ said: "d0" })
      assert.deepStrictEqual((yield* make(words()).thread("t").state()).values.log, ["u0", "u1", "d0"])
      yield* now.update({ log: "x" }, { asNode: "say" })
      yield* now.update({ log: "y" }, { asNode: "say" })
      assert.deepStrictEqual((yield* make(words()).thread("t").state()).values.log, ["u0", "u1", "d0", "x", "y"])
      // Back to before the change, and on from there.
      const first = (yield* now.history()).find(({ next, values }) => next.length === 0 && values.log.length === 1)!
      yield* now.fork(first.checkpoint)
      assert.deepStrictEqual((yield* now.invoke({ said: "forked" })).log, ["u0", "forked"])
      assert.deepStrictEqual((yield* now.history({ branch: 1, limit: 1 }))[0]!.values.log, ["u0", "u1", "d0", "x", "y"])
      // And a reducer again.
      const back = make(appended).thread("t")
      assert.deepStrictEqual((yield* back.state()).values.log, ["u0", "forked"])
      assert.deepStrictEqual((yield* back.invoke({ said: "end" })).log, ["u0", "forked", "end"])
      assert.deepStrictEqual((yield* make(appended).thread("t").history({ branch: 1, limit: 1 }))[0]!.values.log, [
        "u0",
        "u1",
        "d0",
        "x",
        "y"
      ])
    })
)

behaves(
  "LG#162 what is read is the same however often, and from however far, it is read",
  () =>
    Effect.gen(function*() {
      class S extends State.make({ items: itemList(3), said: Schema.String }) {}
      const make = () =>
        StateGraph.make(
          "ids",
          StateGraph.nodes(S, {
            say: (s) => Effect.map(Effect.sync(() => `id-${s.items.length}`), (id) => ({ items: { id, text: s.said } }))
          }),
          { start: "say" }
        )
      for (const said of ["a", "b", "c", "d", "e", "f", "g"]) yield* make().thread("t").invoke({ said })
      const first = yield* make().thread("t").history()
      const again = yield* make().thread("t").history()
      assert.deepStrictEqual(again, first)
      assert.deepStrictEqual(first[0]!.values.items.map(({ id, text }) => `${id}${text}`), [
        "id-0a",
        "id-1b",
        "id-2c",
        "id-3d",
        "id-4e",
        "id-5f",
        "id-6g"
      ])
    })
)

// ---------------------------------------------------------------------------
// Branches, tasks, graphs inside
// ---------------------------------------------------------------------------

behaves("LG#163 a conversation, and another from its middle", () =>
  Effect.gen(function*() {
    class S extends State.make({ items: itemList() }) {}
    const graph = StateGraph.make(
      "chat",
      StateGraph.nodes(S, {
        ai: (s) => ({ items: { id: `ai-${s.items.length}`, text: `re ${s.items[s.items.length - 1]!.text}` } })
      }),
      { start: "ai" }
    )
    const thread = graph.thread("t")
    for (const n of [1, 2, 3]) yield* thread.invoke({ items: { id: `h${n}`, text: `hi ${n}` } })
    assert.deepStrictEqual((yield* thread.state()).values.items.map(({ id }) => id), [
      "h1",
      "ai-1",
      "h2",
      "ai-3",
      "h3",
      "ai-5"
    ])
    const turn = (yield* thread.history()).find(({ next, values }) => next.length === 0 && values.items.length === 2)!
    const forked = yield* thread.invoke({ items: { id: "h9", text: "instead" } }, { checkpoint: turn.checkpoint })
    assert.deepStrictEqual(forked.items.map(({ id }) => id), ["h1", "ai-1", "h9", "ai-3"])
    assert.deepStrictEqual((yield* thread.history({ branch: 1, limit: 1 }))[0]!.values.items.map(({ id }) => id), [
      "h1",
      "ai-1",
      "h2",
      "ai-3",
      "h3",
      "ai-5"
    ])
    yield* thread.update({ items: { remove: "ai-1" } }, { asNode: "ai" })
    yield* thread.update({ items: { id: "h1", text: "edited" } }, { asNode: "ai" })
    assert.deepStrictEqual((yield* thread.state()).values.items.map(({ id, text }) => [id, text]), [["h1", "edited"], [
      "h9",
      "instead"
    ], ["ai-3", "re instead"]])
  }))

behaves(
  "L6 writes of one superstep are folded together, live and read back, whatever order they came in",
  () =>
    Effect.gen(function*() {
      class S extends State.make({ sizes: batches(), log: words() }) {}
      const graph = StateGraph.make(
        "batches",
        StateGraph.nodes(S, {
          one: () => ({ sizes: 1, log: "one" }),
          fan: () => [
            Command.make({ update: { sizes: 1, log: "fan" }, goto: [0, 1, 2].map((n) => Send.make("work", { n })) })
          ],
          work: Node.make({
            input: Schema.Struct({ n: Schema.Int }),
            run: ({ n }) =>
              Effect.as(Effect.repeat(Effect.yieldNow, { times: 10 - 4 * n }), [{ sizes: 1, log: `a${n}` }, {
                sizes: 1,
                log: `b${n}`
              }])
          })
        }),
        { start: "one", edges: { one: "fan" } }
      )
      const expected = { sizes: [1, 1, 6], log: ["one", "fan", "a0", "b0", "a1", "b1", "a2", "b2"] }
      assert.deepStrictEqual(yield* graph.invoke({}), expected)
      for (const durability of ["sync", "async", "exit"] as const) {
        assert.deepStrictEqual(yield* graph.thread(durability).invoke({}, { durability }), expected)
        assert.deepStrictEqual((yield* graph.thread(durability).state()).values, expected)
      }
      assert.deepStrictEqual((yield* graph.thread("sync").history()).map(({ values }) => values.sizes), [
        [1, 1, 6],
        [1, 1],
        [1],
        [],
        []
      ])
    })
)

behaves("L6 a pause between the writes of one superstep does not split it", () =>
  Effect.gen(function*() {
    class Ask extends Interrupt.make("DeltaAsk", { payload: Schema.String, answer: Schema.String }) {}
    class S extends State.make({ sizes: batches(), log: words() }) {}
    const graph = StateGraph.make(
      "paused",
      StateGraph.nodes(S, {
        a: () => ({ sizes: 1, log: "a" }),
        b: () => Effect.map(Ask.ask("?"), (answer) => ({ sizes: 1, log: answer })),
        c: () => ({ sizes: 1, log: "c" })
      }),
      { start: ["a", "b", "c"] }
    )
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({}))
    assert.deepStrictEqual((yield* thread.state()).values.log, ["a", "c"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("b")), { sizes: [3], log: ["a", "b", "c"] })
    assert.deepStrictEqual((yield* thread.state()).values, { sizes: [3], log: ["a", "b", "c"] })
  }))

behaves("L5 L6 an Overwrite comes first in its superstep, live and read back", () =>
  Effect.gen(function*() {
    class S extends State.make({ log: words() }) {}
    const graph = StateGraph.make(
      "over",
      StateGraph.nodes(S, {
        old: () => ({ log: "old" }),
        a: () => ({ log: "a" }),
        b: () => ({ log: Channel.overwrite(["new"]) }),
        c: () => ({ log: "c" }),
        end: () => ({ log: "end" })
      }),
      { start: "old", edges: { old: ["a", "b", "c"], a: "end" } }
    )
    const expected = ["new", "a", "c", "end"]
    assert.deepStrictEqual((yield* graph.invoke({})).log, expected)
    const thread = graph.thread("t")
    assert.deepStrictEqual((yield* thread.invoke({})).log, expected)
    assert.deepStrictEqual((yield* thread.history()).map(({ values }) => values.log), [
      expected,
      ["new", "a", "c"],
      ["old"],
      [],
      []
    ])
  }))

behaves(
  "L6 L8 a Delta in a graph that is kept, and what it hands up, are read back as they were",
  () =>
    Effect.gen(function*() {
      const shared = words(2)
      class Child
        extends State.make({ log: shared, own: words(2), said: Schema.String }, { input: ["said"], output: ["log"] })
      {}
      class Parent extends State.make({ log: shared, said: Schema.String }) {}
      const make = () => {
        const child = StateGraph.make(
          "child",
          StateGraph.nodes(Child, {
            a: (s) => ({ own: s.said, log: `${s.said} ${s.own.length}` }),
            b: (s) => ({ log: s.own.join("") })
          }),
          { start: "a", edges: { a: "b" } },
          { persistence: "thread" }
        )
        return StateGraph.make("parent", StateGraph.nodes(Parent, { child }), { start: "child" })
      }
      for (const [n, durabilities] of [["sync"], ["exit"], ["sync", "exit", "async"]].entries()) {
        const id = `t${n}`
        for (const [turn, said] of ["x", "y", "z"].entries()) {
          yield* make().thread(id).invoke({ said }, { durability: durabilities[turn % durabilities.length] as "sync" })
        }
        const state = yield* make().thread(id).state()
        assert.deepStrictEqual(state.values.log, ["x 0", "x", "y 1", "xy", "z 2", "xyz"])
        assert.deepStrictEqual((yield* make().thread(id).at(["child"]).state()).values["own"], ["x", "y", "z"])
      }
    })
)
