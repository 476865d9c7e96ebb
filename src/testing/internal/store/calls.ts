/** Calls of a store as the cases make them, and the cases themselves. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as Store from "../../../Store.ts"
import type { CaseFailed } from "../check.ts"

export type Group =
  | "items"
  | "hostile names"
  | "arguments"
  | "search"
  | "filters"
  | "namespaces"
  | "batch"
  | "lifetimes"
  | "words"
  | "concurrent writers"
  | "meaning"

/** What a case asks of a store. */
export interface Case {
  readonly group: Group
  readonly name: string
  /** Succeeds if it holds for the store, which has to be empty. */
  readonly effect: Effect.Effect<void, unknown, Store.Store>
}

/** Every case begins at the instant 0 of a clock of its own. */
const caseOf =
  (group: Group) => (name: string, effect: Effect.Effect<void, CaseFailed | Store.Failure, Store.Store>): Case => ({
    group,
    name,
    effect: Effect.provide(effect, TestClock.layer())
  })

export const test = {
  items: caseOf("items"),
  hostile: caseOf("hostile names"),
  arguments: caseOf("arguments"),
  search: caseOf("search"),
  filters: caseOf("filters"),
  namespaces: caseOf("namespaces"),
  batch: caseOf("batch"),
  lifetimes: caseOf("lifetimes"),
  words: caseOf("words"),
  concurrent: caseOf("concurrent writers"),
  meaning: caseOf("meaning")
}

export const put = (
  namespace: Store.Namespace,
  key: string,
  value: Schema.Json,
  options?: Store.PutOptions
) => Store.Store.use((store) => store.put(namespace, key, value, options))

export const get = (namespace: Store.Namespace, key: string, options?: Store.GetOptions) =>
  Store.Store.use((store) => Effect.map(store.get(namespace, key, options), Option.getOrUndefined))

/** The value of an item. */
export const valueOf = (namespace: Store.Namespace, key: string, options?: Store.GetOptions) =>
  Effect.map(get(namespace, key, options), (item) => item?.value)

export const remove = (namespace: Store.Namespace, key: string) =>
  Store.Store.use((store) => store.delete(namespace, key))

export const search = (prefix: Store.Namespace, options?: Store.SearchOptions) =>
  Store.Store.use((store) => store.search(prefix, options))

/** The keys that a search finds, in order. */
export const keysOf = (prefix: Store.Namespace, options?: Store.SearchOptions) =>
  Effect.map(search(prefix, options), (items) => items.map(({ key }) => key))

/** Keys with their scores. */
export const scoresOf = (prefix: Store.Namespace, options?: Store.SearchOptions) =>
  Effect.map(search(prefix, options), (items) => items.map(({ key, score }) => [key, score]))

export const namespaces = (options?: Store.ListOptions) => Store.Store.use((store) => store.listNamespaces(options))

export const batch = <const Operations extends ReadonlyArray<Store.Operation>>(operations: Operations) =>
  Store.Store.use((store) => store.batch(operations))

export const sweep = Store.Store.use((store) => store.sweep)

export const pass = TestClock.adjust
