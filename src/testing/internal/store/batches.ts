/** Namespaces, batches, lifetimes, and several writers. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Store from "../../../Store.ts"
import { same } from "../check.ts"
import * as Calls from "./calls.ts"
import { test } from "./calls.ts"

const namespaces: ReadonlyArray<Calls.Case> = [
  test.namespaces(
    "prefixes, suffixes and wildcards are about whole labels",
    Effect.gen(function*() {
      const all = [["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["ab", "c"], ["c"], ["a"]]
      for (const namespace of all) yield* Calls.put(namespace, "k", 1)
      const ordered = [["a"], ["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["ab", "c"], ["c"]]
      yield* same("all", yield* Calls.namespaces(), ordered)
      const cases: ReadonlyArray<readonly [Store.ListOptions, ReadonlyArray<ReadonlyArray<string>>]> = [
        [{ prefix: ["a"] }, ordered.slice(0, 4)],
        [{ prefix: ["a", "b"] }, [["a", "b", "c"], ["a", "b", "d"]]],
        [{ prefix: ["a", "*", "c"] }, [["a", "b", "c"], ["a", "x", "c"]]],
        [{ prefix: ["*"] }, ordered],
        [{ prefix: ["*", "*", "*", "*"] }, []],
        [{ suffix: ["c"] }, [["a", "b", "c"], ["a", "x", "c"], ["ab", "c"], ["c"]]],
        [{ suffix: ["*", "c"] }, [["a", "b", "c"], ["a", "x", "c"], ["ab", "c"]]],
        [{ suffix: ["b", "*"] }, [["a", "b", "c"], ["a", "b", "d"]]],
        [{ prefix: ["a"], suffix: ["d"] }, [["a", "b", "d"]]],
        [{ prefix: ["a", "b"], suffix: ["b", "c"] }, [["a", "b", "c"]]],
        [{ maxDepth: 1 }, [["a"], ["ab"], ["c"]]],
        [{ maxDepth: 2 }, [["a"], ["a", "b"], ["a", "x"], ["ab", "c"], ["c"]]],
        [{ suffix: ["c"], maxDepth: 2 }, [["a", "b"], ["a", "x"], ["ab", "c"], ["c"]]],
        [{ maxDepth: 2, limit: 2, offset: 1 }, [["a", "b"], ["a", "x"]]],
        [{ offset: 6 }, []]
      ]
      for (const [options, expected] of cases) {
        yield* same(JSON.stringify(options), yield* Calls.namespaces(options), expected)
      }
    })
  ),
  test.namespaces(
    "a namespace is there as long as it holds an item",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "1", 1)
      yield* Calls.put(["a"], "2", 1, { ttl: 10 })
      yield* Calls.put(["b"], "1", 1, { ttl: 10 })
      yield* Calls.remove(["a"], "1")
      yield* same("before", yield* Calls.namespaces(), [["a"], ["b"]])
      yield* Calls.pass(10)
      yield* same("after", yield* Calls.namespaces(), [])
    })
  ),
  test.namespaces(
    "there are 100 of them if no limit is given",
    Effect.gen(function*() {
      yield* Calls.batch(
        Array.from({ length: 120 }, (_, at) => ({
          _tag: "Put" as const,
          namespace: [String(at).padStart(3, "0")],
          key: "k",
          value: at
        }))
      )
      yield* same("without a limit", (yield* Calls.namespaces()).length, 100)
      yield* same("the last", yield* Calls.namespaces({ offset: 119 }), [["119"]])
    })
  )
]

const batches: ReadonlyArray<Calls.Case> = [
  test.batch(
    "reads see what was there before, and results come in order",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "k", "old")
      const [put, got, found, listed, gone, missing] = yield* Calls.batch([
        { _tag: "Put", namespace: ["a"], key: "k", value: "new" },
        { _tag: "Get", namespace: ["a"], key: "k" },
        { _tag: "Search", prefix: [] },
        { _tag: "ListNamespaces" },
        { _tag: "Delete", namespace: ["a"], key: "l" },
        { _tag: "Get", namespace: ["b"], key: "k" },
        { _tag: "Put", namespace: ["b"], key: "k", value: 1 }
      ])
      yield* same("the put", put, undefined)
      yield* same("the get", Option.map(got, ({ value }) => value), Option.some("old"))
      yield* same("the search", found.map(({ value }) => value), ["old"])
      yield* same("the list", listed, [["a"]])
      yield* same("the delete", gone, undefined)
      yield* same("what was not there", missing, Option.none())
      yield* same("what is there then", yield* Calls.valueOf(["a"], "k"), "new")
      yield* same("what else is there", yield* Calls.valueOf(["b"], "k"), 1)
    })
  ),
  test.batch(
    "of several writes of one key the last stands",
    Effect.gen(function*() {
      yield* Calls.batch([
        { _tag: "Put", namespace: ["a"], key: "k", value: 1 },
        { _tag: "Put", namespace: ["a"], key: "l", value: 1 },
        { _tag: "Put", namespace: ["b"], key: "k", value: 1 },
        { _tag: "Put", namespace: ["a"], key: "k", value: 2 },
        { _tag: "Delete", namespace: ["a"], key: "l" },
        { _tag: "Delete", namespace: ["b"], key: "k" },
        { _tag: "Put", namespace: ["b"], key: "k", value: 3 }
      ])
      yield* same("put twice", yield* Calls.valueOf(["a"], "k"), 2)
      yield* same("put and deleted", yield* Calls.valueOf(["a"], "l"), undefined)
      yield* same("deleted and put", yield* Calls.valueOf(["b"], "k"), 3)
    })
  ),
  test.batch(
    "an empty batch is no trouble",
    Effect.gen(function*() {
      yield* same("the results", yield* Calls.batch([]), [])
    })
  ),
  test.batch(
    "a batch of 1,000 is stored",
    Effect.gen(function*() {
      yield* Calls.batch(
        Array.from({ length: 1_000 }, (_, at) => ({
          _tag: "Put" as const,
          namespace: ["a", String(at % 7)],
          key: String(at),
          value: at
        }))
      )
      yield* same("the items", (yield* Calls.search(["a"], { limit: 2_000 })).length, 1_000)
    })
  )
]

const seen = (what: string, isThere: boolean) =>
  Effect.gen(function*() {
    const quiet = { refreshTtl: false }
    yield* same(`${what}: get`, (yield* Calls.get(["a"], "k", quiet)) !== undefined, isThere)
    yield* same(`${what}: search`, (yield* Calls.search(["a"], quiet)).length, isThere ? 1 : 0)
    yield* same(`${what}: query`, (yield* Calls.search(["a"], { ...quiet, query: "fig" })).length, isThere ? 1 : 0)
    yield* same(`${what}: namespaces`, (yield* Calls.namespaces()).length, isThere ? 1 : 0)
  })

const lifetimes: ReadonlyArray<Calls.Case> = [
  test.lifetimes(
    "what has expired is not there, swept or not",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "k", "fig", { ttl: "10 minutes" })
      yield* seen("at first", true)
      yield* Calls.pass("9 minutes")
      yield* seen("after 9 minutes", true)
      yield* Calls.pass("1 minute")
      yield* seen("after 10 minutes", false)
      yield* same("what is swept", yield* Calls.sweep, 1)
      yield* same("what is swept then", yield* Calls.sweep, 0)
      yield* seen("after the sweep", false)
    })
  ),
  test.lifetimes(
    "a read makes the lifetime begin anew, if it is to",
    Effect.gen(function*() {
      const refresh = { refreshTtl: true }
      yield* Calls.put(["a"], "k", "fig", { ttl: "10 minutes" })
      yield* Calls.pass("9 minutes")
      yield* same("a read at 9", yield* Calls.valueOf(["a"], "k", refresh), "fig")
      yield* Calls.pass("9 minutes")
      yield* same("a search at 18", yield* Calls.keysOf(["a"], refresh), ["k"])
      yield* Calls.pass("9 minutes")
      yield* same("a read of the store's own at 27", yield* Calls.valueOf(["a"], "k"), "fig")
      yield* Calls.pass("9 minutes")
      yield* seen("at 36, which refreshes nothing", true)
      yield* Calls.pass("1 minute")
      yield* seen("at 37", false)
      yield* same("a read at 37 brings nothing back", yield* Calls.valueOf(["a"], "k", refresh), undefined)
    })
  ),
  test.lifetimes(
    "a read changes no instant, and a search refreshes only what it gives",
    Effect.gen(function*() {
      for (const key of ["a", "b"]) yield* Calls.put(["x"], key, key, { ttl: 10 })
      yield* Calls.pass(9)
      const [item] = yield* Calls.search(["x"], { limit: 1, refreshTtl: true })
      yield* same("the instants", [item?.createdMillis, item?.updatedMillis], [0, 0])
      yield* Calls.pass(1)
      yield* same("what is there", yield* Calls.keysOf(["x"]), ["a"])
    })
  ),
  test.lifetimes(
    "a put begins a new lifetime, or ends it",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "long", 1, { ttl: 10 })
      yield* Calls.put(["a"], "ever", 1, { ttl: 10 })
      yield* Calls.put(["a"], "infinite", 1, { ttl: Infinity })
      yield* Calls.pass(5)
      yield* Calls.put(["a"], "long", 2, { ttl: 10 })
      yield* Calls.put(["a"], "ever", 2)
      yield* Calls.pass(9)
      yield* same("after 14", (yield* Calls.keysOf(["a"], { refreshTtl: false })).length, 3)
      yield* Calls.pass(1)
      yield* same("after 15", yield* Calls.keysOf(["a"]), ["ever", "infinite"])
    })
  ),
  test.lifetimes(
    "what has expired is created anew when it is put",
    Effect.gen(function*() {
      yield* Calls.put(["a"], "k", "fig", { ttl: 10 })
      yield* Calls.pass(10)
      yield* Calls.put(["a"], "k", "fig")
      yield* same("its creation", (yield* Calls.get(["a"], "k"))?.createdMillis, 10)
      yield* same("what is swept", yield* Calls.sweep, 0)
      yield* seen("after the sweep", true)
    })
  ),
  test.lifetimes(
    "what has expired takes no place on a page",
    Effect.gen(function*() {
      for (let at = 0; at < 10; at++) yield* Calls.put(["a"], `k${at}`, at, at % 2 === 0 ? { ttl: 5 } : {})
      yield* Calls.pass(5)
      yield* same("a page", yield* Calls.keysOf(["a"], { limit: 3, offset: 1 }), ["k3", "k5", "k7"])
      yield* same("what is swept", yield* Calls.sweep, 5)
    })
  )
]

const concurrent: ReadonlyArray<Calls.Case> = [
  test.concurrent(
    "writers of different keys do not disturb each other",
    Effect.gen(function*() {
      const keys = Array.from({ length: 40 }, (_, at) => String(at))
      yield* Effect.forEach(keys, (key) => Calls.put(["a", key], key, key), { concurrency: "unbounded" })
      yield* same("the items", (yield* Calls.search(["a"], { limit: 100 })).length, keys.length)
    })
  ),
  test.concurrent(
    "batches of the same keys are stored whole, one after the other",
    Effect.gen(function*() {
      const keys = ["a", "b", "c", "d"]
      const write = (value: number) =>
        Calls.batch((value % 2 === 0 ? keys : keys.toReversed()).map((key) => ({
          _tag: "Put" as const,
          namespace: ["x"],
          key,
          value
        })))
      yield* Effect.forEach(Array.from({ length: 12 }, (_, at) => at), write, {
        concurrency: "unbounded",
        discard: true
      })
      const found = yield* Calls.search(["x"])
      yield* same("the items", found.length, keys.length)
      yield* same("their values", new Set(found.map(({ value }) => value)).size, 1)
    })
  )
]

export const batchCases: ReadonlyArray<Calls.Case> = [...namespaces, ...batches, ...lifetimes, ...concurrent]
