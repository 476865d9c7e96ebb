/** What a search gives, in which order. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Store from "../../../Store.ts"
import { same } from "../check.ts"
import * as Calls from "./calls.ts"
import { test } from "./calls.ts"

const searches: ReadonlyArray<Calls.Case> = [
  test.search(
    "a prefix is made of whole labels",
    Effect.gen(function*() {
      const all = [["tenant", "acme"], ["tenant", "acme-corp"], ["tenant", "acme", "x"], ["tenant"], ["tenan"]]
      for (const namespace of all) yield* Calls.put(namespace, JSON.stringify(namespace), 1)
      const found = yield* Calls.keysOf(["tenant", "acme"])
      yield* same("below acme", found, ["[\"tenant\",\"acme\"]", "[\"tenant\",\"acme\",\"x\"]"])
      yield* same("below tenant", (yield* Calls.keysOf(["tenant"])).length, 4)
      yield* same("below part of a label", yield* Calls.keysOf(["ten"]), [])
      yield* same("all", (yield* Calls.keysOf([])).length, 5)
    })
  ),
  test.search(
    "a prefix has no wildcards",
    Effect.gen(function*() {
      yield* Calls.put(["a", "b"], "k", 1)
      for (const label of ["*", "%", "_", "?"]) {
        yield* same(`below ${label}`, yield* Calls.keysOf(["a", label]), [])
      }
    })
  ),
  test.search(
    "the newest update comes first, then namespaces and keys by code points",
    Effect.gen(function*() {
      const names = ["b", "a", "a!", "\uFFFF", "\u{1F600}", "\uD800", "\uD7FF", "\0", "\u0001", "Z", "ab"]
      for (const name of names) yield* Calls.put(["x", name], "k", 1)
      for (const name of names) yield* Calls.put(["y"], name, 1)
      yield* Calls.pass(1)
      yield* Calls.put(["x", "b"], "k", 2)
      const ordered = ["\0", "\u0001", "Z", "a", "a!", "ab", "b", "\uD7FF", "\uD800", "\uFFFF", "\u{1F600}"]
      const found = yield* Calls.search(["x"], { limit: 100 })
      const expected = ["b", ...ordered.filter((name) => name !== "b")]
      yield* same("by namespace", found.map(({ namespace }) => namespace[1]), expected)
      yield* same("by key", yield* Calls.keysOf(["y"], { limit: 100 }), ordered)
    })
  ),
  test.search(
    "a limit and an offset cut a page out of the order",
    Effect.gen(function*() {
      for (let at = 0; at < 25; at++) {
        yield* Calls.put(["a"], `k${at}`, { even: at % 2 === 0 })
        yield* Calls.pass(1)
      }
      const all = Array.from({ length: 25 }, (_, at) => `k${24 - at}`)
      yield* same("without a limit", yield* Calls.keysOf(["a"]), all.slice(0, 10))
      yield* same("a page", yield* Calls.keysOf(["a"], { limit: 4, offset: 3 }), all.slice(3, 7))
      yield* same("the last page", yield* Calls.keysOf(["a"], { limit: 10, offset: 20 }), all.slice(20))
      yield* same("behind the end", yield* Calls.keysOf(["a"], { offset: 25 }), [])
      const even = all.filter((_, at) => at % 2 === 0)
      const filtered = { filter: { even: true }, limit: 5, offset: 4 }
      yield* same("a page of a filter", yield* Calls.keysOf(["a"], filtered), even.slice(4, 9))
    })
  ),
  test.search(
    "a filter finds what stands far down",
    Effect.gen(function*() {
      const rows = Array.from({ length: 1_200 }, (_, at) => ({
        _tag: "Put" as const,
        namespace: ["a"],
        key: String(at).padStart(4, "0"),
        value: { at }
      }))
      yield* Calls.batch(rows)
      const last = { filter: { at: Store.where({ gte: 1_198 }) }, limit: 1, offset: 1 }
      yield* same("the last", yield* Calls.keysOf(["a"], last), ["1199"])
    })
  ),
  test.search(
    "items without a query have no score",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "k", 1)
      const expected = { namespace: ["a"], key: "k", value: 1, createdMillis: 0, updatedMillis: 0, score: undefined }
      yield* same("what is found", yield* Calls.search(["a"]), [expected])
      yield* same("by an empty query", yield* Calls.search(["a"], { query: "" }), [expected])
    })
  )
]

const film = { title: "Stalker", year: 1979, tags: ["slow", "wet"], by: { name: "T", born: 1932 }, seen: null }

/** Filters, and whether the film fits. */
const fits: ReadonlyArray<readonly [filter: Store.Filter, isFit: boolean]> = [
  [{}, true],
  [{ year: 1979 }, true],
  [{ year: "1979" }, false],
  [{ year: 1979, title: "Stalker" }, true],
  [{ year: 1979, title: "Solaris" }, false],
  [{ seen: null }, true],
  [{ missing: null }, false],
  [{ seen: false }, false],
  [{ by: { name: "T" } }, true],
  [{ by: { name: "T", born: 1933 } }, false],
  [{ by: {} }, true],
  [{ title: {} }, false],
  [{ tags: ["slow", "wet"] }, true],
  [{ tags: ["slow"] }, false],
  [{ tags: ["wet", "slow"] }, false],
  [{ tags: ["slow", Store.where({ gt: "v" })] }, true],
  [{ tags: { 0: "slow" } }, false],
  [{ by: Store.where({ eq: { born: 1932, name: "T" } }) }, true],
  [{ by: Store.where({ eq: { name: "T" } }) }, false],
  [{ by: Store.where({ ne: { name: "T" } }) }, true],
  [{ year: Store.where({ ne: 1979 }) }, false],
  [{ year: Store.where({ ne: "1979" }) }, true],
  [{ missing: Store.where({ ne: 1 }) }, true],
  [{ missing: Store.where({ eq: null }) }, false],
  [{ missing: Store.where({}) }, true],
  [{ year: Store.where({ gt: 1978, lt: 1980 }) }, true],
  [{ year: Store.where({ gt: 1979 }) }, false],
  [{ year: Store.where({ gte: 1979, lte: 1979 }) }, true],
  [{ year: Store.where({ lt: 1979 }) }, false],
  [{ year: Store.where({ gt: "0" }) }, false],
  [{ year: Store.where({ lt: "9" }) }, false],
  [{ title: Store.where({ gt: "Solaris" }) }, true],
  [{ title: Store.where({ gt: 0 }) }, false],
  [{ title: Store.where({ lt: "stalker" }) }, true],
  [{ seen: Store.where({ lte: 0 }) }, false],
  [{ tags: Store.where({ gte: 0 }) }, false],
  [{ missing: Store.where({ lt: 1 }) }, false],
  [{ by: { born: Store.where({ lt: 1950 }) } }, true],
  [JSON.parse("{\"__proto__\":{}}") as Store.Filter, false],
  [{ constructor: Store.where({ ne: 1 }) }, true],
  [{ toString: Store.where({ eq: 1 }) }, false]
]

const filters: ReadonlyArray<Calls.Case> = [
  test.filters(
    "each filter is told by what it finds",
    Effect.gen(function*() {
      yield* Calls.put(["films"], "1", film)
      for (const [index, [filter, isFit]] of fits.entries()) {
        const found = yield* Calls.keysOf(["films"], { filter })
        yield* same(`filter ${index}, ${JSON.stringify(filter)}`, found, isFit ? ["1"] : [])
      }
    })
  ),
  test.filters(
    "what is no record fits no condition",
    Effect.gen(function*() {
      const values: ReadonlyArray<Schema.Json> = [null, 1, "text", [1], true]
      for (const [index, value] of values.entries()) yield* Calls.put(["a"], String(index), value)
      yield* same("a condition", yield* Calls.keysOf(["a"], { filter: { 0: 1 } }), [])
      yield* same("none", (yield* Calls.keysOf(["a"], { filter: {} })).length, values.length)
    })
  )
]

const words: ReadonlyArray<Calls.Case> = [
  test.words(
    "a query finds what has one of its words, the most of them first",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "both", { text: "I like figs and dates" })
      yield* Calls.put(["a"], "one", { text: "Figs, please!" })
      yield* Calls.put(["a"], "none", { text: "nothing of that" })
      yield* Calls.put(["a"], "key", { figs: 1 })
      const found = yield* Calls.scoresOf(["a"], { query: "FIGS dates" })
      yield* same("what is found", found, [["both", 1], ["one", 0.5]])
      yield* same("below another prefix", yield* Calls.keysOf(["b"], { query: "figs" }), [])
    })
  ),
  test.words(
    "words are whole, of any script, and also numbers",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "1", ["Gr\u00FC\u00DFe aus M\u00FCnchen", 1972, "\u043F\u0440\u0438\u0432\u0435\u0442"])
      const queries = [
        "gr\u00FC\u00DFe",
        "M\u00DCNCHEN",
        "1972",
        "\u041F\u0420\u0418\u0412\u0415\u0422",
        "mu\u0308nchen"
      ]
      for (const query of queries) {
        yield* same(`by ${query}`, yield* Calls.keysOf(["a"], { query }), ["1"])
      }
      for (const query of ["gr\u00FC", "munchen", "972", "197", "\u043F\u0440\u0438"]) {
        yield* same(`by ${query}`, yield* Calls.keysOf(["a"], { query }), [])
      }
    })
  ),
  test.words(
    "a query is no syntax",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "1", { text: "near and or not star" })
      yield* Calls.put(["a"], "2", { text: "fig" })
      const queries = [
        "\"",
        "'",
        "fig*NEAR(",
        "text:fig",
        "fig AND",
        "^fig",
        "NOT fig",
        "(fig",
        "fig OR",
        "{a b}: fig",
        "-fig",
        "fig + ",
        "fig; DROP TABLE superstep_store_items",
        "fig\0",
        "\uD800fig"
      ]
      for (const query of queries) {
        const found = (yield* Calls.keysOf(["a"], { query })).includes("2")
        yield* same(`by ${JSON.stringify(query)}`, found, query.includes("fig"))
      }
      yield* same("by a query without words", yield* Calls.keysOf(["a"], { query: "!? \u{1F600}" }), [])
    })
  ),
  test.words(
    "what is not indexed is not found, and what is indexed is told by paths",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "no", { text: "fig" }, { index: false })
      yield* Calls.put(["a"], "title", { title: "fig", text: "date" }, { index: ["title"] })
      yield* Calls.put(["a"], "list", { list: [{ text: "date" }, { text: "fig" }] }, { index: ["list[-1].text"] })
      yield* Calls.put(["a"], "first", { list: [{ text: "date" }, { text: "fig" }] }, { index: ["list[0]"] })
      yield* Calls.put(["a"], "every", { list: [{ text: "date" }, { text: "fig" }] }, { index: ["list[*].text"] })
      yield* Calls.put(["a"], "whole", { list: ["fig"] }, { index: ["none", "$"] })
      const found = yield* Calls.keysOf(["a"], { query: "fig" })
      yield* same("what is found", found, ["every", "list", "title", "whole"])
      yield* same("without a query", (yield* Calls.keysOf(["a"])).length, 6)
    })
  ),
  test.words(
    "what was overwritten or deleted is not found by its old words",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "k", "fig")
      yield* Calls.put(["a"], "l", "fig")
      yield* Calls.put(["a"], "k", "date")
      yield* Calls.remove(["a"], "l")
      yield* same("by the old word", yield* Calls.keysOf(["a"], { query: "fig" }), [])
      yield* same("by the new word", yield* Calls.keysOf(["a"], { query: "date" }), ["k"])
      yield* Calls.put(["a"], "l", "fig")
      yield* same("by the word again", yield* Calls.keysOf(["a"], { query: "fig" }), ["l"])
    })
  ),
  test.words(
    "a query and a filter both have to hold, and pages follow the score",
    Effect.gen(function*() {
      for (let at = 0; at < 6; at++) {
        yield* Calls.put(["a"], `k${at}`, { at, text: at < 3 ? "fig" : "fig date" })
      }
      const query = { query: "fig date", filter: { at: Store.where({ ne: 4 }) } }
      yield* same("all", yield* Calls.keysOf(["a"], query), ["k3", "k5", "k0", "k1", "k2"])
      yield* same("a page", yield* Calls.keysOf(["a"], { ...query, limit: 2, offset: 1 }), ["k5", "k0"])
    })
  )
]

export const searchCases: ReadonlyArray<Calls.Case> = [...searches, ...filters, ...words]
