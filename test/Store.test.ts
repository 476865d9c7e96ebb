/** What a store is told when it is made, and typed views of it. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Schema } from "effect"
import { AiError, EmbeddingModel } from "effect/ai"
import { TestClock } from "effect/testing"
import * as Store from "superstep/Store"

const isThere = (store: Store.StoreShape, key: string) => Effect.map(store.get(["a"], key), Option.isSome)

describe("options", () => {
  it.effect("M5 a lifetime of the store is that of items without their own, and begins anew with each read", () =>
    Effect.gen(function*() {
      const store = yield* Store.makeMemory({ ttl: "10 minutes" })
      yield* store.put(["a"], "k", 1)
      for (const _ of [9, 18, 27]) {
        yield* TestClock.adjust("9 minutes")
        assert.isTrue(yield* isThere(store, "k"))
      }
      yield* TestClock.adjust("10 minutes")
      assert.isFalse(yield* isThere(store, "k"))
    }))
  it.effect("M5 unless the store, or the reader, says otherwise", () =>
    Effect.gen(function*() {
      const store = yield* Store.makeMemory({ ttl: "10 minutes", refreshOnRead: false })
      for (const key of ["k", "read", "own", "ever"]) yield* store.put(["a"], key, 1)
      yield* store.put(["a"], "own", 1, { ttl: "1 hour" })
      yield* store.put(["a"], "ever", 1, { ttl: Infinity })
      yield* TestClock.adjust("9 minutes")
      assert.isTrue(yield* isThere(store, "k"))
      yield* store.get(["a"], "read", { refreshTtl: true })
      yield* TestClock.adjust("1 minute")
      assert.isFalse(yield* isThere(store, "k"))
      assert.isTrue(yield* isThere(store, "read"))
      yield* TestClock.adjust("1 day")
      const left = yield* store.search(["a"])
      assert.deepStrictEqual(left.map(({ key }) => key), ["ever"])
      assert.strictEqual(yield* store.sweep, 3)
    }))
  it.effect("fields say by which parts a query finds items", () =>
    Effect.gen(function*() {
      const store = yield* Store.makeMemory({ fields: ["title", "tags[*]"] })
      yield* store.put(["a"], "1", { title: "fig", text: "date", tags: ["x", "y"] })
      const keys = (query: string) => Effect.map(store.search(["a"], { query }), (found) => found.length)
      assert.deepStrictEqual(yield* Effect.all([keys("fig"), keys("date"), keys("y")]), [1, 0, 1])
    }))
  it.effect("wrong ones are defects", () =>
    Effect.gen(function*() {
      for (const options of [{ ttl: 0 }, { ttl: "soon" as never }, { fields: ["a..b"] }, { fields: "a" as never }]) {
        const exit = yield* Effect.exit(Store.makeMemory(options))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      }
    }))
  it("M3 labels that are no texts do not compile", () => {
    const store: Pick<Store.StoreShape, "put" | "search"> = { put: () => Effect.void, search: () => Effect.succeed([]) }
    // @ts-expect-error a label is a text
    store.put(["a", 1], "k", 1)
    // @ts-expect-error a namespace is a list of labels
    store.search("a")
    // @ts-expect-error a value is JSON
    store.put(["a"], "k", new Date(0))
    // @ts-expect-error what is compared is a number or a text
    store.search(["a"], { filter: { a: Store.where({ gt: true }) } })
  })
  it("a store that searches by meaning needs a model, and no other does", () => {
    const semantic = Store.makeMemory({ semantic: true })
    // @ts-expect-error the model is missing
    const missing: Effect.Effect<Store.StoreShape> = semantic
    const plain: Effect.Effect<Store.StoreShape> = Store.makeMemory({ semantic: false, ttl: 1 })
    assert.isDefined([missing, plain])
  })
})

const model = (embedMany: Parameters<typeof EmbeddingModel.make>[0]["embedMany"]) =>
  Layer.effect(EmbeddingModel.EmbeddingModel, EmbeddingModel.make({ embedMany }))

const answering = (result: ReadonlyArray<number>) =>
  model(({ inputs }) => Effect.succeed({ results: inputs.map(() => [...result]), usage: { inputTokens: undefined } }))

const faults = {
  "fails": model(() =>
    Effect.fail(AiError.make({
      module: "test",
      method: "embedMany",
      reason: new AiError.InvalidOutputError({ description: "no vectors today" })
    }))
  ),
  "dies": model(() => Effect.die(new Error("the model is gone"))),
  "gives what is no number": answering([Number.NaN, 1]),
  "gives what is without end": answering([Infinity, 1])
}

for (const [name, layer] of Object.entries(faults)) {
  it.effect(`a model that ${name} fails the put, which stores nothing, and the query; all else goes on`, () =>
    Effect.gen(function*() {
      const store = yield* Store.makeMemory({ semantic: true })
      const error = yield* Effect.flip(store.put(["a"], "k", "text"))
      assert.deepInclude(error, { _tag: "StoreError", reason: "Embedding" })
      assert.isFalse(yield* isThere(store, "k"))
      yield* store.put(["a"], "k", "text", { index: false })
      assert.strictEqual((yield* store.search(["a"])).length, 1)
      assert.strictEqual((yield* Effect.flip(store.search(["a"], { query: "text" })))._tag, "StoreError")
    }).pipe(Effect.provide(layer)))
}

describe("a storage", () => {
  it.effect("M3 is not asked if an argument is wrong", () =>
    Effect.gen(function*() {
      let asked = 0
      const store = yield* Store.make({
        run: () =>
          Effect.sync(() => {
            asked++
            return []
          }),
        sweep: () => Effect.succeed(0)
      })
      for (const namespace of [[], [""], ["a", 1 as never], ["x".repeat(Store.maxNameBytes)]]) {
        const error = yield* Effect.flip(store.put(namespace, "k", 1))
        assert.strictEqual(error._tag, "InvalidArgument")
      }
      yield* Effect.flip(store.search(["a"], { limit: -1 }))
      assert.strictEqual(asked, 0)
    }))
  it.effect("that gives what is no JSON fails the read", () =>
    Effect.gen(function*() {
      const row = { namespace: ["a"], key: "k", createdMillis: 0, updatedMillis: 0, words: [], vectors: [] }
      const store = yield* Store.make({
        run: () => Effect.succeed([{ _tag: "Items", found: [{ row: { ...row, json: "{" }, score: undefined }] }]),
        sweep: () => Effect.succeed(0)
      })
      assert.deepInclude(yield* Effect.flip(store.get(["a"], "k")), { _tag: "StoreError", reason: "Decode" })
    }))
})

describe("a collection", () => {
  const notes = Store.collection(["notes"], Schema.Struct({ due: Schema.Date, size: Schema.Int }))

  it.effect("gives and takes values of its schema", () =>
    Effect.gen(function*() {
      yield* notes.put("1", { due: new Date(5), size: 1 })
      yield* notes.put("2", { due: new Date(6), size: 2 })
      const note = Option.getOrThrow(yield* notes.get("1"))
      assert.deepStrictEqual(note.value, { due: new Date(5), size: 1 })
      const found = yield* notes.search({ filter: { size: Store.where({ gt: 1 }) } })
      assert.deepStrictEqual(found.map(({ key, value }) => [key, value.due.getTime()]), [["2", 6]])
      yield* notes.delete("1")
      assert.isTrue(Option.isNone(yield* notes.get("1")))
      // @ts-expect-error a note has a size
      yield* Effect.flip(notes.put("3", { due: new Date(5) }))
    }).pipe(Effect.provide(Store.layerMemory)))
  it.effect("fails with what does not fit, on both ways", () =>
    Effect.gen(function*() {
      const encode = yield* Effect.flip(notes.put("1", { due: new Date(5), size: 1.5 }))
      assert.deepInclude(encode, { _tag: "StoreError", reason: "Encode", key: "1" })
      yield* Store.Store.use((store) => store.put(["notes", "old"], "2", { size: 1 }))
      const decode = yield* Effect.flip(notes.search())
      assert.deepInclude(decode, { _tag: "StoreError", reason: "Decode", key: "2" })
      assert.include(decode.message, "decode error at [\"notes\",\"old\"] \"2\"")
    }).pipe(Effect.provide(Store.layerMemory)))
})
