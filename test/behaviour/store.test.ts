/** Nodes that use the store: what one thread remembers, another knows. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Schema } from "effect"
import { Channel, Checkpointer, Interrupt, Running, State, StateGraph, Store } from "superstep"
import { stores } from "../Stores.ts"

class Chat extends State.make({ user: Schema.String, says: Schema.String, heard: Channel.append(Schema.String) }) {}

const memories = (user: string) => Store.collection(["users", user], Schema.Struct({ text: Schema.String }))

const assistant = StateGraph.make(
  "assistant",
  StateGraph.nodes(Chat, {
    recall: Effect.fnUntraced(function*({ user }) {
      const known = yield* memories(user).search()
      return { heard: known.map(({ value }) => value.text) }
    }),
    remember: Effect.fnUntraced(function*({ says, user }) {
      yield* memories(user).put("last", { text: says })
      return {}
    })
  }),
  { start: "recall", edges: { recall: "remember" } }
)

const behaves = (
  name: string,
  body: () => Effect.Effect<void, unknown, Store.Store | Checkpointer.Checkpointer>
): void => {
  for (const [store, layer] of stores) {
    const provided = Layer.merge(layer as Layer.Layer<Store.Store, unknown>, Checkpointer.layerMemory)
    it.live(`${name} (${store})`, () => body().pipe(Effect.provide(provided)), 30_000)
  }
}

behaves(
  "A4 what one thread puts under a namespace is read in another, and by nobody else",
  () =>
    Effect.gen(function*() {
      yield* assistant.thread("a").invoke({ user: "ada", says: "I like figs" })
      const { heard } = yield* assistant.thread("b").invoke({ user: "ada", says: "hello" })
      assert.deepStrictEqual(heard, ["I like figs"])
      const other = yield* assistant.thread("c").invoke({ user: "bob", says: "hello" })
      assert.deepStrictEqual(other.heard, [])
    })
)

behaves("LG#192 nodes of thirty threads at once read and write one store", () =>
  Effect.gen(function*() {
    const threads = Array.from({ length: 30 }, (_, at) => `t${at}`)
    const run = (thread: string) => assistant.thread(thread).invoke({ user: thread, says: `from ${thread}` })
    yield* Effect.forEach(threads, run, { concurrency: "unbounded" })
    yield* Effect.forEach(threads, run, { concurrency: "unbounded" })
    const store = yield* Store.Store
    const found = yield* store.search(["users"], { limit: 100 })
    assert.strictEqual(found.length, 30)
    assert.isTrue(
      found.every(({ namespace, value }) => (value as { readonly text: string }).text === `from ${namespace[1]}`)
    )
  }))

it.effect("LG#192 a graph says in its type that it needs the store, also through a subgraph", () =>
  Effect.gen(function*() {
    const needed: Effect.Services<ReturnType<typeof assistant.invoke>> extends Store.Store ? true : false = true
    assert.isTrue(needed)
    const outer = StateGraph.make("outer", StateGraph.nodes(Chat, { inner: assistant }), { start: "inner" })
    const run = outer.invoke({ user: "ada", says: "hello" })
    // @ts-expect-error the store is missing
    const missing: Effect.Effect<unknown, unknown> = run
    assert.isDefined(missing)
    assert.deepStrictEqual((yield* Effect.provide(run, Store.layerMemory)).heard, [])
  }))

class Sure extends Interrupt.make("Sure", { payload: Schema.String, answer: Schema.Boolean }) {}

it.effect("what a node has put stays, whether its superstep is committed or not", () =>
  Effect.gen(function*() {
    const app = StateGraph.make(
      "app",
      StateGraph.nodes(Chat, {
        ask: Effect.fnUntraced(function*({ says }) {
          const store = yield* Store.Store
          const { attempt } = yield* Running.Running
          yield* store.put(["log"], says, { attempt })
          yield* Sure.ask("sure?")
          return {}
        })
      }),
      { start: "ask" }
    )
    yield* Effect.flip(app.thread("t").invoke({ user: "ada", says: "x" }))
    const store = yield* Store.Store
    assert.isTrue(Option.isSome(yield* store.get(["log"], "x")))
    yield* app.thread("t").resume(Sure.reply(true))
    assert.strictEqual((yield* store.search(["log"])).length, 1)
  }).pipe(Effect.provide([Store.layerMemory, Checkpointer.layerMemory])))

it.live("who is interrupted while it waits for the store lets go of it (SQLite)", () =>
  Effect.gen(function*() {
    const store = yield* Store.Store
    const many = Array.from({ length: 500 }, (_, at) => ({
      _tag: "Put" as const,
      namespace: ["a"],
      key: String(at),
      value: at
    }))
    const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(store.batch(many)))
    yield* Effect.yieldNow
    yield* Effect.forEach(fibers, Fiber.interrupt)
    const count = (yield* store.search(["a"], { limit: 1_000 })).length
    assert.include([0, 500], count)
    yield* store.put(["b"], "k", 1)
    assert.isTrue(Option.isSome(yield* store.get(["b"], "k")))
  }).pipe(Effect.provide(stores[1][1])))

it.effect("what is no JSON is refused with where it stands, and without what it holds", () =>
  Effect.gen(function*() {
    const store = yield* Store.Store
    const cyclic: Record<string, unknown> = {}
    cyclic["self"] = cyclic
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [{ password: "hunter2", at: [1, new Date(0)] }, "Expected a JSON value at at.1, got a value of type object"],
      [{ n: Number.NaN }, "Expected a JSON value at n, got NaN"],
      [{ f: () => "secret" }, "Expected a JSON value at f, got a value of type function"],
      [undefined, "Expected a JSON value, got a value of type undefined"],
      [cyclic, "Expected a JSON value of at most 500 levels"]
    ]
    for (const [value, detail] of cases) {
      const error = yield* Effect.flip(store.put(["a"], "k", value as never))
      assert.deepInclude(error, { _tag: "InvalidArgument", argument: "value", detail })
    }
    let deep: Schema.Json = []
    for (let level = 1; level < 500; level++) deep = [deep]
    yield* store.put(["a"], "k", deep)
    assert.deepStrictEqual(Option.getOrThrow(yield* store.get(["a"], "k")).value, deep)
  }).pipe(Effect.provide(Store.layerMemory)))
