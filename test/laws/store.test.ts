/** Whatever is done to a store, in whatever order: it gives what a list of items that is searched from end to end gives. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, type Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as Store from "superstep/Store"
import { layerSemantic, layerSemanticFile, layerVectors, postgresClients, stores } from "../Stores.ts"
import { runs } from "./budget.ts"

// ---------------------------------------------------------------------------
// The model: as simple as can be, and nothing of the library
// ---------------------------------------------------------------------------

interface Entry {
  readonly namespace: ReadonlyArray<string>
  readonly key: string
  readonly value: Schema.Json
  readonly created: number
  readonly updated: number
  readonly ttl: number | undefined
  readonly expires: number
  readonly isIndexed: boolean
}

/** A text as its code points: they compare like the texts in a database. */
const points = (text: string): ReadonlyArray<number> => [...text].map((char) => char.codePointAt(0)!)

const compareLists = <A>(a: ReadonlyArray<A>, b: ReadonlyArray<A>, compare: (a: A, b: A) => number): number => {
  for (let at = 0; at < a.length && at < b.length; at++) {
    const order = compare(a[at]!, b[at]!)
    if (order !== 0) return order
  }
  return a.length - b.length
}
const compareTexts = (a: string, b: string) => compareLists(points(a), points(b), (x, y) => x - y)
const compareNames = (a: ReadonlyArray<string>, b: ReadonlyArray<string>) => compareLists(a, b, compareTexts)

const begins = (prefix: ReadonlyArray<string>, labels: ReadonlyArray<string>) =>
  JSON.stringify(labels.slice(0, prefix.length)) === JSON.stringify(prefix)

const fits = (pattern: ReadonlyArray<string>, labels: ReadonlyArray<string>): boolean =>
  pattern.length === labels.length && pattern.every((label, at) => label === "*" || label === labels[at])

const isName = (a: Entry, namespace: ReadonlyArray<string>, key: string) =>
  a.key === key && JSON.stringify(a.namespace) === JSON.stringify(namespace)

interface Search {
  readonly prefix: ReadonlyArray<string>
  readonly least: number | undefined
  readonly query: ReadonlyArray<string>
  readonly limit: number
  readonly offset: number
}

const numberOf = (value: Schema.Json): unknown => (value as { readonly n?: unknown }).n

class Model {
  entries: ReadonlyArray<Entry> = []

  live(now: number): ReadonlyArray<Entry> {
    return this.entries.filter(({ expires }) => expires > now)
  }

  put(now: number, entry: Omit<Entry, "created" | "updated" | "expires">): void {
    const present = this.live(now).find((one) => isName(one, entry.namespace, entry.key))
    this.delete(entry.namespace, entry.key)
    const expires = entry.ttl === undefined ? Infinity : now + entry.ttl
    this.entries = [...this.entries, { ...entry, created: present?.created ?? now, updated: now, expires }]
  }

  delete(namespace: ReadonlyArray<string>, key: string): void {
    this.entries = this.entries.filter((one) => !isName(one, namespace, key))
  }

  refresh(now: number, read: ReadonlyArray<Entry>): void {
    this.entries = this.entries.map((one) =>
      one.ttl !== undefined && read.some(({ key, namespace }) => isName(one, namespace, key))
        ? { ...one, expires: now + one.ttl }
        : one
    )
  }

  search(now: number, { least, limit, offset, prefix, query }: Search): ReadonlyArray<readonly [Entry, number?]> {
    return this.live(now)
      .filter(({ namespace }) => begins(prefix, namespace))
      .filter(({ value }) =>
        least === undefined || (typeof numberOf(value) === "number" && Number(numberOf(value)) >= least)
      )
      .map((entry): readonly [Entry, number?] => {
        if (query.length === 0) return [entry]
        const words = entry.isIndexed ? JSON.stringify(entry.value).toLowerCase().split(/[^a-z0-9]+/) : []
        return [entry, query.filter((word) => words.includes(word)).length / query.length]
      })
      .filter(([, score]) => score !== 0)
      .sort(([a, scoreOfA = 0], [b, scoreOfB = 0]) =>
        scoreOfB - scoreOfA || b.updated - a.updated || compareNames(a.namespace, b.namespace) ||
        compareTexts(a.key, b.key)
      )
      .slice(offset, offset + limit)
  }

  namespaces(now: number, prefix: ReadonlyArray<string>, suffix: ReadonlyArray<string>, depth: number | undefined) {
    const found = this.live(now).map(({ namespace }) => namespace)
      .filter((labels) => labels.length >= prefix.length && fits(prefix, labels.slice(0, prefix.length)))
      .filter((labels) => labels.length >= suffix.length && fits(suffix, labels.slice(labels.length - suffix.length)))
      .map((labels) => JSON.stringify(labels.slice(0, depth)))
    return [...new Set(found)].map((text) => JSON.parse(text) as ReadonlyArray<string>).sort(compareNames)
  }

  sweep(now: number): number {
    const before = this.entries.length
    this.entries = this.live(now)
    return before - this.entries.length
  }
}

// ---------------------------------------------------------------------------
// What is done
// ---------------------------------------------------------------------------

// Mostly the same few, so that operations meet.
const label = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("a", "b") },
  fc.constantFrom("ab", "a.b", "*", "\0", "\u0001", "\uD800", "\uD7FF", "\u{1F600}", "\uFFFF", "%", "\\")
)
const key = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom("k", "l") },
  fc.constantFrom("\0", "\u{1F600}", "\uFFFF", "__proto__")
)
const namespace = fc.oneof(
  { weight: 2, arbitrary: fc.array(label, { maxLength: 1 }) },
  fc.array(label, { maxLength: 3 })
)
const word = fc.constantFrom("fig", "date", "n", "1")
const value = fc.record({
  n: fc.constantFrom<Schema.Json>(0, 1, 2, "1", null),
  text: fc.array(word, { maxLength: 3 }).map((words) => words.filter((word) => word !== "n").join(", "))
})

const put = fc.record({
  _tag: fc.constant("Put" as const),
  namespace,
  key,
  value,
  ttl: fc.constantFrom(undefined, 5, 20),
  isIndexed: fc.boolean()
})
const remove = fc.record({ _tag: fc.constant("Delete" as const), namespace, key })
const get = fc.record({ _tag: fc.constant("Get" as const), namespace, key, refresh: fc.boolean() })
const search = fc.record({
  _tag: fc.constant("Search" as const),
  prefix: fc.array(label, { maxLength: 1 }),
  least: fc.constantFrom(undefined, 0, 1),
  query: fc.uniqueArray(fc.constantFrom("fig", "date"), { maxLength: 2 }),
  limit: fc.constantFrom(1, 3, 10),
  offset: fc.constantFrom(0, 0, 1),
  refresh: fc.boolean()
})
const list = fc.record({
  _tag: fc.constant("ListNamespaces" as const),
  prefix: fc.array(label, { maxLength: 2 }),
  suffix: fc.array(label, { maxLength: 1 }),
  maxDepth: fc.constantFrom(undefined, 2, 3)
})
const operation = fc.oneof({ weight: 4, arbitrary: put }, remove, get, search, list)
type Operation = typeof operation extends fc.Arbitrary<infer A> ? A : never

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      _tag: fc.constant("Batch" as const),
      operations: fc.array(operation, { minLength: 1, maxLength: 6 })
    })
  },
  fc.record({ _tag: fc.constant("Pass" as const), millis: fc.constantFrom(1, 5, 10) }),
  fc.record({ _tag: fc.constant("Sweep" as const) })
)
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

/** The operation as the store knows it, below a label of the run's own. */
const asked = (root: string, one: Operation): Store.Operation => {
  switch (one._tag) {
    case "Put": {
      const { isIndexed, ttl, ...rest } = one
      return { ...rest, namespace: [root, ...one.namespace], ttl, ...(isIndexed ? {} : { index: false }) }
    }
    case "Delete":
      return { ...one, namespace: [root, ...one.namespace] }
    case "Get":
      return { ...one, namespace: [root, ...one.namespace], refreshTtl: one.refresh }
    case "Search": {
      const { least, limit, offset, prefix, query, refresh } = one
      return {
        _tag: "Search",
        prefix: [root, ...prefix],
        query: query.join(" "),
        limit,
        offset,
        refreshTtl: refresh,
        ...(least === undefined ? {} : { filter: { n: Store.where({ gte: least }) } })
      }
    }
    case "ListNamespaces":
      return { ...one, prefix: [root, ...one.prefix] }
  }
}

const shown = ({ created, key, namespace, updated, value }: Entry) => ({
  namespace,
  key,
  value,
  createdMillis: created,
  updatedMillis: updated
})

type Reading = Exclude<Operation, { readonly _tag: "Put" | "Delete" }>

/** What a read gives, and which entries were read. */
const readIn = (model: Model, now: number, root: string, one: Reading) => {
  if (one._tag === "ListNamespaces") {
    const found = model.namespaces(now, [root, ...one.prefix], one.suffix, one.maxDepth)
    return { result: found, entries: [] }
  }
  if (one._tag === "Search") {
    const found = model.search(now, { ...one, prefix: [root, ...one.prefix] })
    return {
      result: found.map(([entry, score]) => ({ ...shown(entry), score })),
      entries: one.refresh ? found.map(([entry]) => entry) : []
    }
  }
  const entry = model.live(now).find((live) => isName(live, [root, ...one.namespace], one.key))
  return {
    result: entry === undefined ? Option.none() : Option.some(shown(entry)),
    entries: entry !== undefined && one.refresh ? [entry] : []
  }
}

/** What a batch gives: reads first, then writes in their order. */
const expected = (model: Model, now: number, root: string, operations: ReadonlyArray<Operation>) => {
  const reads = operations.map((one) =>
    one._tag === "Put" || one._tag === "Delete" ? undefined : readIn(model, now, root, one)
  )
  for (const read of reads) model.refresh(now, read?.entries ?? [])
  const last = new Map(
    operations.flatMap((one) =>
      one._tag === "Put" || one._tag === "Delete" ? [[JSON.stringify([one.namespace, one.key]), one] as const] : []
    )
  )
  for (const one of last.values()) {
    if (one._tag === "Delete") model.delete([root, ...one.namespace], one.key)
    else model.put(now, { ...one, namespace: [root, ...one.namespace] })
  }
  return reads.map((read) => read?.result)
}

const agree = Effect.fnUntraced(function*(store: Store.StoreShape, root: string, steps: ReadonlyArray<Step>) {
  const model = new Model()
  let now = 0
  for (const one of steps) {
    if (one._tag === "Pass") {
      now += one.millis
      yield* TestClock.adjust(one.millis)
    } else if (one._tag === "Sweep") {
      assert.strictEqual(yield* store.sweep, model.sweep(now))
    } else {
      const found = yield* store.batch(one.operations.map((operation) => asked(root, operation)))
      assert.deepStrictEqual(found, expected(model, now, root, one.operations))
    }
  }
  yield* TestClock.adjust(1_000_000)
  const left = yield* store.search([root], { limit: 1_000, refreshTtl: false })
  for (const { key, namespace } of left) yield* store.delete(namespace, key)
  yield* store.sweep
})

describe("a store", () => {
  for (const [name, layer] of stores) {
    const { arbitrary, timeout } = runs(name === "memory" ? 300 : 100)
    it.live(
      `M1 M5 gives what a list of items gives, whatever is done (${name})`,
      () =>
        Effect.gen(function*() {
          const store = yield* Store.Store
          let run = 0
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(
                fc.array(step, { maxLength: 25 }),
                (steps) => Effect.runPromise(Effect.provide(agree(store, `r${run++}`, steps), TestClock.layer()))
              ),
              { numRuns: arbitrary.runs }
            )
          )
        }).pipe(Effect.provide(layer as Layer.Layer<Store.Store>)),
      timeout * 3
    )
  }
})

// ---------------------------------------------------------------------------
// Searches by meaning
// ---------------------------------------------------------------------------

/** Numbers that 32 bits cannot square are among them, and vectors that are nearly, or wholly, alike. */
const number = fc.oneof(
  fc.constantFrom(0, 1, -1, 0.5, 3, 1e-30, 1e30, -1e20, 1 / 3),
  fc.double({ min: -1, max: 1, noNaN: true })
)
const near = fc.integer({ min: 0, max: 6 }).map((at) => [1, at * 1e-5])
const vector = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(number, number).map((numbers): Array<number> => numbers) },
  { weight: 3, arbitrary: near },
  fc.array(number, { minLength: 1, maxLength: 4 }),
  fc.constant([0, 0])
)

const putVectors = fc.record({
  _tag: fc.constant("Put" as const),
  namespace,
  key: fc.constantFrom("k", "l", "m", "n", "o"),
  value: fc.record({ n: fc.constantFrom(0, 1, 2), vectors: fc.array(vector, { maxLength: 3 }) }),
  index: fc.constantFrom<ReadonlyArray<string> | false>(["vectors[*]"], ["vectors[*]"], ["vectors[0]"], false),
  ttl: fc.constantFrom(undefined, undefined, 5, 20)
})
const searchVectors = fc.record({
  _tag: fc.constant("Search" as const),
  prefix: fc.array(label, { maxLength: 1 }),
  query: fc.option(vector.map((numbers) => JSON.stringify(numbers)), { nil: undefined, freq: 10 }),
  filter: fc.constantFrom({}, {}, { n: Store.where({ gte: 1 }) }),
  limit: fc.constantFrom(1, 2, 5, 10),
  offset: fc.constantFrom(0, 0, 1, 4),
  refreshTtl: fc.boolean()
})
const stepByMeaning = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(
      fc.oneof({ weight: 3, arbitrary: putVectors }, { weight: 2, arbitrary: searchVectors }, remove),
      { minLength: 1, maxLength: 8 }
    )
  },
  fc.constantFrom(1, 5, 10)
)

const below = (root: string, one: Store.Operation): Store.Operation => {
  if (one._tag === "Search") return { ...one, prefix: [root, ...one.prefix] }
  return one._tag === "ListNamespaces" ? one : { ...one, namespace: [root, ...one.namespace] }
}

const agreeByMeaning = Effect.fnUntraced(
  function*(store: Store.StoreShape, root: string, steps: ReadonlyArray<number | ReadonlyArray<Store.Operation>>) {
    const memory = yield* Store.makeMemory({ semantic: true })
    for (const one of steps) {
      if (typeof one === "number") {
        yield* TestClock.adjust(one)
        assert.strictEqual(yield* store.sweep, yield* memory.sweep)
      } else {
        const operations = one.map((operation) => below(root, operation))
        assert.deepStrictEqual(yield* store.batch(operations), yield* memory.batch(operations))
      }
    }
    const left = yield* memory.search([root], { limit: 1_000, refreshTtl: false })
    for (const { key, namespace } of left) yield* store.delete(namespace, key)
    yield* TestClock.adjust(1_000_000)
    yield* store.sweep
  }
)

const semanticStores = [
  ["SQLite", layerSemanticFile, true] as const,
  ...postgresClients.map(([name, client, isThere]) => [name, layerSemantic(client), isThere] as const)
]

describe("a store that searches by meaning", () => {
  for (const [name, layer, isThere] of semanticStores) {
    const { arbitrary, timeout } = runs(100)
    it.live.skipIf(!isThere)(
      `M1 M5 gives what one in memory gives, whatever is done (${name})`,
      () =>
        Effect.gen(function*() {
          const store = yield* Store.Store
          const layers = Layer.merge(layerVectors, TestClock.layer())
          let run = 0
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(
                fc.array(stepByMeaning, { maxLength: 25 }),
                (steps) => Effect.runPromise(Effect.provide(agreeByMeaning(store, `r${run++}`, steps), layers))
              ),
              { numRuns: arbitrary.runs }
            )
          )
        }).pipe(Effect.provide(Layer.provide(layer, layerVectors) as Layer.Layer<Store.Store>)),
      timeout * 3
    )
  }
})
