/** What a thread refuses, and how it says so: lacking keys, unfinished work, unknown threads, malformed ids. */
import { assert } from "@effect/vitest"
import { Effect, Number, Schema } from "effect"
import { Channel, Checkpointer, Command, GraphError, Interrupt, State, StateGraph } from "superstep"
import { Ask, asking, chain } from "./Chains.ts"
import { paused, payloads, recorded, rowsOf, untyped } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Value extends State.make({ value: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}

// ---------------------------------------------------------------------------
// What is refused
// ---------------------------------------------------------------------------

behaves("a first run that lacks a key is refused by name, and stores nothing", () =>
  Effect.gen(function*() {
    class Needs extends State.make({ topic: Schema.String, count: Schema.Int, log: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make("needs", StateGraph.nodes(Needs, { a: () => ({ log: ["a"] }) }), { start: "a" })
    const thread = graph.thread("t")
    const both = new GraphError.MissingInput({ keys: ["topic", "count"] })
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), both)
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({ topic: "x" })),
      new GraphError.MissingInput({ keys: ["count"] })
    )
    assert.deepStrictEqual(yield* Effect.flip(thread.start(untyped({ topic: undefined }))), both)
    assert.deepStrictEqual(yield* recorded(thread.stream({}, { modes: ["values"] })), {
      events: [],
      end: "MissingInput"
    })
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke(Command.make({ update: { topic: "x" }, goto: "a" }))),
      new GraphError.MissingInput({ keys: ["count"] })
    )
    const saver = yield* Checkpointer.Checkpointer
    assert.deepStrictEqual(yield* saver.threads, [])
    yield* thread.invoke({ topic: "x", count: 1 })
    // Afterwards an input is partial.
    assert.deepStrictEqual(yield* thread.invoke({ count: 2 }), { topic: "x", count: 2, log: ["a", "a"] })
  }))

behaves(
  "unfinished work refuses an input with what it is, however it came to be unfinished; discard drops it",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = asking(runs).thread("paused")
      const [request] = yield* paused(thread.invoke({ log: ["1"] }))
      const stored = yield* rowsOf("paused")
      assert.deepStrictEqual(
        yield* Effect.flip(thread.invoke({ log: ["2"] })),
        new GraphError.PendingWork({
          thread: "paused",
          next: ["ask"],
          requests: [{ id: request!.id, tag: "Ask", payload: "?" }]
        })
      )
      assert.deepStrictEqual(yield* recorded(thread.stream({ log: ["2"] }, { modes: ["values"] })), {
        events: [],
        end: "PendingWork"
      })
      assert.deepStrictEqual(yield* rowsOf("paused"), stored)
      const [fresh] = yield* paused(thread.invoke({ log: ["3"] }, { pending: "discard" }))
      assert.notStrictEqual(fresh!.id, request!.id)
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["1", "3"] })
      assert.strictEqual((yield* thread.state()).branch, 1)
      const late = yield* Effect.flip(thread.resume(Ask.reply("x", { id: request!.id })))
      assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "Unknown")
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["1", "3", "yes"] })
      const stopped = chain().thread("stopped")
      yield* Effect.flip(stopped.invoke({}, { before: ["b"] }))
      assert.deepStrictEqual(
        yield* Effect.flip(stopped.invoke({})),
        new GraphError.PendingWork({ thread: "stopped", next: ["b"], requests: [] })
      )
      assert.deepStrictEqual(yield* stopped.invoke({}, { pending: "discard" }), { log: ["a", "a", "b", "c"] })
      const limited = chain().thread("limited")
      assert.deepStrictEqual(
        yield* Effect.flip(limited.invoke({}, { recursionLimit: 1 })),
        new GraphError.RecursionLimit({ limit: 1, next: ["b"] })
      )
      assert.strictEqual((yield* Effect.flip(limited.invoke({})))._tag, "PendingWork")
      assert.deepStrictEqual(yield* limited.continue(), { log: ["a", "b", "c"] })
    })
)

behaves(
  "discarding a half finished superstep drops what its finished tasks wrote, and says so in no state",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "half",
        StateGraph.nodes(Value, {
          done: () => ({ value: 10 }),
          waits: () => Effect.map(Ask.ask("?"), () => ({ value: 100 }))
        }),
        { start: ["done", "waits"] }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({ value: 1 }))
      assert.deepStrictEqual((yield* thread.state()).values, { value: 11 })
      yield* paused(thread.invoke({ value: 1 }, { pending: "discard" }))
      assert.deepStrictEqual((yield* thread.state()).values, { value: 12 })
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { value: 112 })
    })
)

behaves(
  "a thread that never ran is unknown to everything that reads it or goes on, and stays unknown",
  () =>
    Effect.gen(function*() {
      const thread = asking().thread("never")
      const unknown = new GraphError.UnknownThread({ thread: "never" })
      assert.deepStrictEqual(yield* Effect.flip(thread.continue()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.resume(Ask.reply("x"))), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.state()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.history()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.fork()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.at(["ask"]).state()), unknown)
      assert.deepStrictEqual(yield* Effect.flip(thread.state({ checkpoint: "0".repeat(32) })), unknown)
      const saver = yield* Checkpointer.Checkpointer
      assert.deepStrictEqual(yield* saver.threads, [])
    })
)

behaves("L23 a malformed thread id is a typed failure everywhere, and odd ids are ids", () =>
  Effect.gen(function*() {
    for (const id of ["", "x".repeat(513), 1, null, undefined, {}]) {
      const thread = asking().thread(untyped(id))
      const attempts: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }, Checkpointer.Checkpointer>> = [
        thread.invoke({}),
        thread.start({}),
        thread.continue(),
        thread.resume(Ask.reply("x")),
        thread.state(),
        thread.history(),
        thread.update({ log: ["x"] }),
        thread.fork(),
        thread.at(["ask"]).state()
      ]
      for (const attempt of attempts) {
        const error = yield* Effect.flip(attempt)
        assert.strictEqual(error._tag, "InvalidArgument")
      }
    }
    const saver = yield* Checkpointer.Checkpointer
    assert.deepStrictEqual(yield* saver.threads, [])
    const odd = [
      "x".repeat(512),
      "__proto__",
      "'; drop table heads; --",
      "a|b:c~d/../e",
      " ",
      "\u0000",
      "👩‍🚀",
      "Ä",
      "A\u0308"
    ]
    for (const id of odd) yield* chain().thread(id).invoke({ log: [id] })
    for (const id of odd) assert.deepStrictEqual((yield* chain().thread(id).state()).values.log[0], id)
    assert.deepStrictEqual(yield* saver.threads, odd)
    for (const id of odd) yield* chain().thread(id).delete
    assert.deepStrictEqual(yield* saver.threads, [])
  }))

behaves("L23 a malformed checkpoint id is one that does not exist", () =>
  Effect.gen(function*() {
    const thread = chain().thread("t")
    yield* thread.invoke({})
    const stored = yield* rowsOf("t")
    for (const checkpoint of ["", "x", "'; --", "__proto__", "0".repeat(100_000)]) {
      assert.deepStrictEqual(
        yield* Effect.flip(thread.state({ checkpoint })),
        new GraphError.UnknownCheckpoint({ thread: "t", checkpoint, path: [] })
      )
      assert.strictEqual((yield* Effect.flip(thread.continue({ checkpoint })))._tag, "UnknownCheckpoint")
    }
    assert.deepStrictEqual(yield* rowsOf("t"), stored)
  }))

behaves("a breakpoint that names no node is refused before anything runs", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const thread = chain(runs).thread("t")
    for (const options of [{ before: ["zz"] }, { after: ["a", "zz"] }]) {
      assert.deepStrictEqual(
        yield* Effect.flip(thread.invoke({}, options)),
        new GraphError.UnknownNode({ node: "zz", allowed: ["a", "b", "c", "*"] })
      )
    }
    assert.deepStrictEqual(runs, [])
    assert.strictEqual((yield* Effect.flip(thread.state()))._tag, "UnknownThread")
  }))

behaves("continue on a finished thread gives its result, and stores nothing", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const thread = chain(runs).thread("t")
    yield* thread.invoke({})
    const stored = yield* rowsOf("t")
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "c"] })
    assert.deepStrictEqual([yield* rowsOf("t"), runs.length], [stored, 3])
  }))

behaves("a paused thread shows its questions in the state, by task", () =>
  Effect.gen(function*() {
    const thread = asking().thread("t")
    const [request] = yield* paused(thread.invoke({}))
    const { createdMillis, ...state } = yield* thread.state()
    const shown = { id: request!.id, tag: "Ask", payload: "?" }
    assert.isAbove(createdMillis, 0)
    assert.deepStrictEqual({ ...state, checkpoint: "", parent: "" }, {
      values: { log: [] },
      next: ["ask"],
      tasks: [{ id: "pull:ask", node: "ask", error: undefined, requests: [shown], result: undefined, graphs: [] }],
      requests: [shown],
      checkpoint: "",
      parent: "",
      branch: 1,
      path: [],
      step: 0,
      source: "loop",
      metadata: {},
      versions: { __start__: 2, "branch:to:ask": 2 },
      versionsSeen: { __start__: 1 }
    })
    assert.deepStrictEqual(payloads(state.requests), ["?"])
  }))

behaves(
  "a thread that lacks a key that its graph has come to require goes on only with it: before, nothing runs",
  () =>
    Effect.gen(function*() {
      class Ask extends Interrupt.make("AskForMore", { payload: Schema.String, answer: Schema.String }) {}
      class Old extends State.make({ log: Channel.append(Schema.String) }) {}
      class New extends State.make({ name: Schema.String, log: Channel.append(Schema.String) }) {}
      const runs: Array<string> = []
      const old = StateGraph.make(
        "grows",
        StateGraph.nodes(Old, {
          a: () => Effect.map(Ask.ask("go on?"), (answer) => ({ log: [answer] })),
          b: () => ({ log: ["b"] })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const grown = StateGraph.make(
        "grows",
        StateGraph.nodes(New, {
          a: (s) => {
            runs.push(s.name)
            return Effect.map(Ask.ask("go on?"), (answer) => ({ log: [answer] }))
          },
          b: (s) => ({ log: [s.name] })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const lacking = new GraphError.MissingInput({ keys: ["name"] })
      yield* paused(old.thread("t").invoke({}))
      const thread = grown.thread("t")
      const before = yield* thread.state()
      for (
        const run of [
          thread.continue(),
          thread.continue({ checkpoint: before.parent! }),
          thread.start({ name: "x" }),
          thread.resume(Ask.reply("yes")),
          thread.invoke(Command.make({ update: { log: ["x"] } }))
        ]
      ) assert.deepStrictEqual(yield* Effect.flip(run), lacking)
      assert.deepStrictEqual([runs, yield* thread.state()], [[], before])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes"), { update: { name: "Ada" } }), {
        name: "Ada",
        log: ["yes", "Ada"]
      })
      assert.deepStrictEqual(runs, ["Ada"])

      yield* paused(old.thread("u").invoke({}))
      yield* old.thread("u").resume(Ask.reply("yes"))
      const finished = grown.thread("u")
      assert.deepStrictEqual(yield* Effect.flip(finished.continue()), lacking)
      assert.deepStrictEqual(yield* Effect.flip(finished.start({ name: "x" })), lacking)
      assert.deepStrictEqual(yield* finished.invoke(Command.make({ update: { name: "Ada" } })), {
        name: "Ada",
        log: ["yes", "b"]
      })
    })
)

behaves(
  "a graph inside a task that lacks a key that it has come to require does not go on, however the run does",
  () =>
    Effect.gen(function*() {
      class Ask extends Interrupt.make("AskForMore", { payload: Schema.String, answer: Schema.String }) {}
      class Old extends State.make({ log: Channel.append(Schema.String) }) {}
      class New extends State.make({ name: Schema.String, log: Channel.append(Schema.String) }) {}
      const runs: Array<string> = []
      const ask = () => Effect.map(Ask.ask("go on?"), (answer) => ({ log: [answer] }))
      const inner = StateGraph.make("inner", StateGraph.nodes(Old, { ask }), { start: "ask" })
      const grown = StateGraph.make(
        "inner",
        StateGraph.nodes(New, {
          ask: (s) => {
            runs.push(s.name)
            return ask()
          }
        }),
        { start: "ask" }
      )
      const around = StateGraph.make("around", StateGraph.nodes(New, { inner }), { start: "inner" })
      const later = StateGraph.make("around", StateGraph.nodes(New, { inner: grown }), { start: "inner" })
      yield* paused(around.thread("t").invoke({ name: "Ada" }))
      const thread = later.thread("t")
      assert.deepStrictEqual(
        yield* Effect.flip(thread.resume(Ask.reply("yes"))),
        new GraphError.MissingInput({ keys: ["name"] })
      )
      assert.deepStrictEqual(runs, [])
    })
)
