/** Searches by meaning, with a model that knows three words. */
import * as EmbeddingModel from "effect/ai/EmbeddingModel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { same } from "../check.ts"
import * as Calls from "./calls.ts"
import { test } from "./calls.ts"

const known = ["fig", "date", "car"]

/** How often each word that it knows stands in a text. */
const vectorOf = (text: string): Array<number> => known.map((word) => text.split(word).length - 1)

/** The model that the cases are about. */
export const layerModel: Layer.Layer<EmbeddingModel.EmbeddingModel> = Layer.effect(
  EmbeddingModel.EmbeddingModel,
  EmbeddingModel.make({
    embedMany: ({ inputs }) => Effect.succeed({ results: inputs.map(vectorOf), usage: { inputTokens: undefined } })
  })
)

export const meaningCases: ReadonlyArray<Calls.Case> = [
  test.meaning(
    "what is most alike comes first, then what has no vector",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "car", { text: "car" })
      yield* Calls.put(["a"], "none", { text: "fig" }, { index: false })
      yield* Calls.put(["a"], "fig", { text: "fig" })
      yield* Calls.put(["a"], "mixed", { text: "figfigfig date date date date" })
      const found = yield* Calls.scoresOf(["a"], { query: "fig" })
      yield* same("what is found", found, [["fig", 1], ["mixed", 0.6], ["car", 0], ["none", undefined]])
      const page = yield* Calls.keysOf(["a"], { query: "fig", limit: 2, offset: 2 })
      yield* same("a page", page, ["car", "none"])
    })
  ),
  test.meaning(
    "an item with several vectors has the score of the best",
    Effect.gen(function*() {
      const value = { list: [{ text: "car" }, { text: "date" }, { text: "fig" }], title: "car" }
      yield* Calls.put(["a"], "all", value, { index: ["title", "list[*].text"] })
      yield* Calls.put(["a"], "last", value, { index: ["list[-1].text"] })
      yield* Calls.put(["a"], "first", value, { index: ["list[0].text", "missing"] })
      const found = yield* Calls.scoresOf(["a"], { query: "date" })
      yield* same("what is found", found, [["all", 1], ["first", 0], ["last", 0]])
    })
  ),
  test.meaning(
    "filters, prefixes and lifetimes hold, and overwriting changes the vector",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "1", { text: "fig", n: 1 })
      yield* Calls.put(["a"], "2", { text: "fig", n: 2 }, { ttl: 10 })
      yield* Calls.put(["ab"], "3", { text: "fig", n: 2 })
      const query = { query: "fig", refreshTtl: false }
      yield* same("a filter", yield* Calls.keysOf(["a"], { ...query, filter: { n: 2 } }), ["2"])
      yield* Calls.pass(10)
      yield* Calls.put(["a"], "1", { text: "car" })
      yield* same("later", yield* Calls.scoresOf(["a"], query), [["1", 0]])
    })
  )
]
