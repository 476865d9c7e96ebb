/** Single items: what is put is what is read, under any name. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Store from "../../../Store.ts"
import { failsWith, same } from "../check.ts"
import * as Calls from "./calls.ts"
import { test } from "./calls.ts"

/** Labels and keys that have a meaning somewhere. */
export const hostile: ReadonlyArray<string> = [
  ".",
  "..",
  "/",
  "a.b",
  "a:b",
  "|",
  "%",
  "_",
  "*",
  "?",
  "\\",
  "\\u0000",
  "'",
  "\"",
  "; DROP TABLE superstep_store_items; --",
  "\0",
  "a\0",
  "\u0001",
  "\u0002",
  "\uD7FF",
  "\uD800",
  "\uDC00",
  "\uD83D\uDE00",
  "\uFFFF",
  "__proto__",
  "constructor",
  " ",
  "\n",
  "e\u0301",
  "\u00E9"
]

const values: ReadonlyArray<Schema.Json> = [
  null,
  false,
  0,
  -1.5,
  1e300,
  "",
  "\0\uD800 \u2028 '\"\\",
  [],
  [1, [null, "x"]],
  {},
  { a: { b: [{ c: null }] }, "": 1, "\0": 2 },
  JSON.parse("{\"__proto__\":{\"x\":1},\"constructor\":2}") as Schema.Json
]

const items: ReadonlyArray<Calls.Case> = [
  test.items(
    "what was not put is not there",
    Effect.gen(function*() {
      yield* same("an item", yield* Calls.get(["a"], "k"), undefined)
      yield* Calls.remove(["a"], "k")
    })
  ),
  test.items(
    "what was put is there, with its instants",
    Effect.gen(function*() {
      yield* Calls.pass(5)
      yield* Calls.put(["a", "b"], "k", { n: 1 })
      const expected = { namespace: ["a", "b"], key: "k", value: { n: 1 }, createdMillis: 5, updatedMillis: 5 }
      yield* same("the item", yield* Calls.get(["a", "b"], "k"), expected)
    })
  ),
  test.items(
    "an item that is overwritten keeps the instant of its creation",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "k", 1)
      yield* Calls.pass(7)
      yield* Calls.put(["a"], "k", 2)
      const expected = { namespace: ["a"], key: "k", value: 2, createdMillis: 0, updatedMillis: 7 }
      yield* same("the item", yield* Calls.get(["a"], "k"), expected)
    })
  ),
  test.items(
    "an item that was deleted is gone, and is created anew",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "k", 1)
      yield* Calls.put(["a"], "l", 2)
      yield* Calls.remove(["a"], "k")
      yield* same("the deleted item", yield* Calls.get(["a"], "k"), undefined)
      yield* same("the other", yield* Calls.valueOf(["a"], "l"), 2)
      yield* Calls.pass(7)
      yield* Calls.put(["a"], "k", 3)
      yield* same("its creation", (yield* Calls.get(["a"], "k"))?.createdMillis, 7)
    })
  ),
  test.items(
    "any JSON comes back as it was",
    Effect.gen(function*() {
      for (const [index, value] of values.entries()) {
        yield* Calls.put(["a"], String(index), value)
        const found = yield* Calls.valueOf(["a"], String(index))
        yield* same(`value ${index}`, JSON.stringify(found), JSON.stringify(value))
      }
    })
  ),
  test.items(
    "who reads a value may change it, and who has put it too",
    Effect.gen(function*() {
      const given = { list: [1] }
      yield* Calls.put(["a"], "k", given)
      given.list.push(2)
      const first = (yield* Calls.valueOf(["a"], "k")) as { list: Array<number> }
      first.list.push(3)
      yield* same("the value", yield* Calls.valueOf(["a"], "k"), { list: [1] })
    })
  ),
  test.items(
    "a value of 2 MB is kept",
    Effect.gen(function*() {
      const value = { text: "x".repeat(2_000_000) }
      yield* Calls.put(["a"], "k", value, { index: false })
      yield* same("the value", yield* Calls.valueOf(["a"], "k"), value)
    })
  )
]

const names: ReadonlyArray<Calls.Case> = [
  test.hostile(
    "any text is a label and a key, and none is another",
    Effect.gen(function*() {
      for (const [index, name] of hostile.entries()) yield* Calls.put(["x", name], name, index)
      for (const [index, name] of hostile.entries()) {
        yield* same(`the value of ${JSON.stringify(name)}`, yield* Calls.valueOf(["x", name], name), index)
        const found = yield* Calls.search(["x", name])
        yield* same(
          `what stands below ${JSON.stringify(name)}`,
          found.map(({ key, namespace }) => [namespace, key]),
          [[["x", name], name]]
        )
      }
      yield* same("all", (yield* Calls.search(["x"], { limit: 100 })).length, hostile.length)
      yield* same("all namespaces", (yield* Calls.namespaces({ prefix: ["x"] })).length, hostile.length)
      for (const name of hostile) yield* Calls.remove(["x", name], name)
      yield* same("what is left", yield* Calls.namespaces(), [])
    })
  ),
  test.hostile(
    "labels do not run together",
    Effect.gen(function*() {
      const all = [["a", "b", "c"], ["ab", "c"], ["a", "bc"], ["abc"], ["a.b", "c"], ["a", "b.c"], ["a\u0001b", "c"]]
      for (const namespace of all) yield* Calls.put(namespace, "k", namespace)
      for (const namespace of all) yield* same("the value", yield* Calls.valueOf(namespace, "k"), namespace)
      yield* same("below a", (yield* Calls.search(["a"])).length, 3)
    })
  ),
  test.hostile(
    "a name may be as long as it may be, whatever it is made of",
    Effect.gen(function*() {
      for (const char of ["a", "\0", "\uD800", "\u20AC", "\u{1F600}"]) {
        const bytes = char === "a" || char === "\0" ? 1 : char === "\u{1F600}" ? 4 : 3
        // Of different texts, which do not become short when they are compressed.
        const label = char.repeat(Math.floor((Store.maxNameBytes - 1) / bytes))
        const key = char.repeat(Math.floor(Store.maxNameBytes / bytes))
        yield* Calls.put([label], key, 1)
        yield* same(`the value of names of ${JSON.stringify(char)}`, yield* Calls.valueOf([label], key), 1)
        const longer = Calls.put([label, char], key, 1)
        yield* failsWith("a longer namespace", "InvalidArgument", longer)
        yield* failsWith("a longer key", "InvalidArgument", Calls.put([label], `${key}aaa`, 1))
      }
    })
  )
]

/** A list in a list, and so on. */
const nested = (levels: number): Schema.Json => {
  let value: Schema.Json = []
  for (let level = 1; level < levels; level++) value = [value]
  return value
}

/** Calls with arguments that types refuse. */
const wrong: ReadonlyArray<
  readonly [argument: string, call: (store: Store.StoreShape) => ReturnType<typeof Calls.put>]
> = ([
  ["namespace", (store) => store.put([], "k", 1)],
  ["namespace", (store) => store.get([], "k")],
  ["namespace", (store) => store.delete([], "k")],
  ["namespace[0]", (store) => store.put([""], "k", 1)],
  ["namespace[1]", (store) => store.get(["a", 1 as never], "k")],
  ["namespace[1]", (store) => store.put(["a", undefined as never], "k", 1)],
  ["namespace[0]", (store) => store.put(new Array(1) as never, "k", 1)],
  ["namespace", (store) => store.put("a" as never, "k", 1)],
  ["prefix[0]", (store) => store.search([""])],
  ["prefix[0]", (store) => store.listNamespaces({ prefix: [2 as never] })],
  ["suffix[0]", (store) => store.listNamespaces({ suffix: [""] })],
  ["key", (store) => store.put(["a"], "", 1)],
  ["key", (store) => store.get(["a"], 1 as never)],
  ["value", (store) => store.put(["a"], "k", undefined as never)],
  ["value", (store) => store.put(["a"], "k", Number.NaN)],
  ["value", (store) => store.put(["a"], "k", { at: new Date(0) } as never)],
  ["value", (store) => store.put(["a"], "k", nested(501))],
  ["value", (store) => store.put(["a"], "k", nested(50_000))],
  ["ttl", (store) => store.put(["a"], "k", 1, { ttl: 0 })],
  ["ttl", (store) => store.put(["a"], "k", 1, { ttl: -1 })],
  ["ttl", (store) => store.put(["a"], "k", 1, { ttl: "-1 minutes" })],
  ["ttl", (store) => store.put(["a"], "k", 1, { ttl: Number.NaN })],
  ["ttl", (store) => store.put(["a"], "k", 1, { ttl: "soon" as never })],
  ["index", (store) => store.put(["a"], "k", 1, { index: true as never })],
  ["index[0]", (store) => store.put(["a"], "k", 1, { index: ["a..b"] })],
  ["limit", (store) => store.search(["a"], { limit: 0 })],
  ["limit", (store) => store.search(["a"], { limit: 1.5 })],
  ["limit", (store) => store.search(["a"], { limit: Store.maxLimit + 1 })],
  ["limit", (store) => store.listNamespaces({ limit: Number.NaN })],
  ["offset", (store) => store.search(["a"], { offset: -1 })],
  ["offset", (store) => store.listNamespaces({ offset: "1" as never })],
  ["maxDepth", (store) => store.listNamespaces({ maxDepth: 0 })],
  ["query", (store) => store.search(["a"], { query: 1 as never })],
  ["refreshTtl", (store) => store.get(["a"], "k", { refreshTtl: 1 as never })],
  ["filter", (store) => store.search(["a"], { filter: [] as never })],
  ["filter.a", (store) => store.search(["a"], { filter: { a: undefined as never } })],
  ["filter.a.gt", (store) => store.search(["a"], { filter: { a: Store.where({ gt: true as never }) } })],
  ["filter.a", (store) => store.search(["a"], { filter: { a: Store.where({ like: "x" } as never) } })]
] as ReadonlyArray<readonly [string, (store: Store.StoreShape) => Effect.Effect<unknown, Store.Failure>]>).map((
  [argument, call]
) => [argument, (store) => Effect.asVoid(call(store))])

const refusals: ReadonlyArray<Calls.Case> = [
  test.arguments(
    "what is wrong is refused, by name, and changes nothing",
    Effect.gen(function*() {
      const store = yield* Store.Store
      yield* store.put(["a"], "k", "before")
      for (const [index, [argument, call]] of wrong.entries()) {
        const error = yield* failsWith(`call ${index}, about ${argument}`, "InvalidArgument", call(store))
        yield* same(`the argument of call ${index}`, error.argument, argument)
      }
      yield* same("the value", yield* Calls.valueOf(["a"], "k"), "before")
    })
  ),
  test.arguments(
    "a batch with one wrong operation does nothing",
    Effect.gen(function*() {
      const operations = Calls.batch([
        { _tag: "Put", namespace: ["a"], key: "k", value: 1 },
        { _tag: "Put", namespace: ["a", ""], key: "k", value: 1 }
      ])
      const error = yield* failsWith("the batch", "InvalidArgument", operations)
      yield* same("the argument", error.argument, "operations[1].namespace[1]")
      const unknown = Calls.batch([{ _tag: "Drop" } as never])
      yield* same(
        "an unknown operation",
        (yield* failsWith("it", "InvalidArgument", unknown)).argument,
        "operations[0]._tag"
      )
      yield* same("the value", yield* Calls.valueOf(["a"], "k"), undefined)
    })
  )
]

export const itemCases: ReadonlyArray<Calls.Case> = [...items, ...names, ...refusals]
