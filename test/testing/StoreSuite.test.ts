/** The public suite finds what is wrong with a store: each of these is broken in one way, and a case says so. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as Store from "superstep/Store"
import * as StoreSuite from "superstep/testing/StoreSuite"

type Mutate = (store: Store.StoreShape) => Store.StoreShape

const layerOf = (mutate: Mutate) => Layer.effect(Store.Store, Effect.map(Store.makeMemory(), mutate))

const found = (name: string): StoreSuite.Case => {
  const one = StoreSuite.cases.find((one) => one.name === name)
  if (one === undefined) throw new Error(`no case has the name "${name}"`)
  return one
}

const joined = (labels: Store.Namespace): Store.Namespace => labels.length === 0 ? labels : [labels.join(".")]

/** By the case that finds it. */
const broken: Readonly<Record<string, Mutate>> = {
  "what was put is there, with its instants": (store) => ({ ...store, put: () => Effect.void }),
  "an item that was deleted is gone, and is created anew": (store) => ({ ...store, delete: () => Effect.void }),
  "labels do not run together": (store) => ({
    ...store,
    put: (namespace, ...rest) => store.put(joined(namespace), ...rest),
    get: (namespace, ...rest) => store.get(joined(namespace), ...rest)
  }),
  "a prefix is made of whole labels": (store) => ({
    ...store,
    search: (prefix, options) =>
      Effect.map(
        store.search([], options),
        (items) => items.filter(({ namespace }) => namespace.join(".").startsWith(prefix.join(".")))
      )
  }),
  "a limit and an offset cut a page out of the order": (store) => ({
    ...store,
    search: (prefix, options) => store.search(prefix, { ...options, limit: undefined })
  }),
  "each filter is told by what it finds": (store) => ({
    ...store,
    search: (prefix, options) => store.search(prefix, { ...options, filter: undefined })
  }),
  "a query is no syntax": (store) => ({
    ...store,
    search: (prefix, options) =>
      store.search(prefix, { ...options, query: options?.query?.replace(/["*(]/g, "") ?? undefined }).pipe(
        Effect.andThen((items) =>
          options?.query?.includes("\"") === true
            ? Effect.fail(new Store.StoreError({ reason: "Storage", detail: "syntax error" }))
            : Effect.succeed(items)
        )
      )
  }),
  "a namespace is there as long as it holds an item": (store) => {
    const seen = new Map<string, Store.Namespace>()
    return {
      ...store,
      put: (namespace, ...rest) => {
        seen.set(JSON.stringify(namespace), namespace)
        return store.put(namespace, ...rest)
      },
      listNamespaces: () => Effect.sync(() => [...seen.values()])
    }
  },
  "what has expired is not there, swept or not": (store) => ({
    ...store,
    put: (namespace, key, value) => store.put(namespace, key, value)
  }),
  "a read makes the lifetime begin anew, if it is to": (store) => ({
    ...store,
    get: (namespace, key) => store.get(namespace, key, { refreshTtl: false })
  }),
  "what is wrong is refused, by name, and changes nothing": (store) => ({
    ...store,
    get: (namespace, key, options) =>
      namespace.length === 0 ? Effect.succeed(Option.none()) : store.get(namespace, key, options)
  })
}

describe("a store that is broken", () => {
  for (const [name, mutate] of Object.entries(broken)) {
    it.effect(`is found: ${name}`, () =>
      Effect.gen(function*() {
        const { effect } = found(name)
        yield* Effect.provide(effect, layerOf((store) => store))
        const exit = yield* Effect.exit(Effect.provide(effect, layerOf(mutate)))
        assert.strictEqual(exit._tag, "Failure")
      }))
  }
})

describe("exceptions", () => {
  const layer = Store.layerMemory
  it("have to be names of cases", () => {
    assert.throws(() => StoreSuite.register(() => {}, { layer, except: { unknown: "reason" } }), /no case has the name/)
  })
  it("have to fail, and tell the reason", async () => {
    const tests = new Map<string, () => Promise<void>>()
    const except = { "an empty batch is no trouble": "no batches" }
    StoreSuite.register((name, run) => void tests.set(name, run), { layer, except })
    const run = tests.get("batch: an empty batch is no trouble (cannot hold: no batches)")
    const error = await run!().catch((error: unknown) => error)
    assert.include(String(error), "take it out of the exceptions")
  })
})

it("names of cases are unique", () => {
  const names = [...StoreSuite.cases, ...StoreSuite.meaningCases].map(({ name }) => name)
  assert.strictEqual(new Set(names).size, names.length)
})
