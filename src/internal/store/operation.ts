/** What a store is asked, and what it gives. */
import type * as Duration from "effect/Duration"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { Filter } from "./filter.ts"
import type { Namespace } from "./names.ts"

/**
 * A value in the store. `createdMillis` is when its key was first put, `updatedMillis` when it was put last.
 */
export interface Item<out A = Schema.Json> {
  readonly namespace: Namespace
  readonly key: string
  readonly value: A
  readonly createdMillis: number
  readonly updatedMillis: number
}

/**
 * An item that a search has found. `score` tells how well it fits the query: by meaning from -1 to 1, by words the part of the words that it
 * has; none without a query, and where there is nothing to compare.
 */
export interface SearchItem<out A = Schema.Json> extends Item<A> {
  readonly score: number | undefined
}

/**
 * What may be asked when an item is read.
 */
export interface GetOptions {
  /** Whether a lifetime begins anew with this read. Otherwise the store decides. */
  readonly refreshTtl?: boolean | undefined
}

/**
 * What may be asked when an item is put.
 */
export interface PutOptions {
  /** How long the item lives: longer than nothing. Infinite for one that stays, whatever the store does otherwise. */
  readonly ttl?: Duration.Input | undefined
  /** By which parts a query finds the item: paths such as `a.b`, `a[0]`, `a[-1]`, `a[*]`, `$` for the whole; `false` for none. */
  readonly index?: false | ReadonlyArray<string> | undefined
}

/**
 * Which namespaces to list: those that begin and end with these labels, where `*` stands for any one label. With `maxDepth` they
 * are cut to so many labels. They come in order, each once.
 */
export interface ListOptions {
  readonly prefix?: Namespace | undefined
  readonly suffix?: Namespace | undefined
  readonly maxDepth?: number | undefined
  /** 100 by default. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/**
 * What may be asked of a search. Without `query` the newest update comes first; of one instant, items stand by namespace and key. A query
 * puts what fits it best first, and then goes on in this order. An empty query is none.
 */
export interface SearchOptions extends GetOptions {
  readonly filter?: Filter | undefined
  readonly query?: string | undefined
  /** 10 by default. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/**
 * One operation of a batch.
 */
export type Operation =
  | ({ readonly _tag: "Get"; readonly namespace: Namespace; readonly key: string } & GetOptions)
  | ({ readonly _tag: "Search"; readonly prefix: Namespace } & SearchOptions)
  | ({ readonly _tag: "ListNamespaces" } & ListOptions)
  | ({
    readonly _tag: "Put"
    readonly namespace: Namespace
    readonly key: string
    readonly value: Schema.Json
  } & PutOptions)
  | { readonly _tag: "Delete"; readonly namespace: Namespace; readonly key: string }

/**
 * What an operation gives.
 */
export type ResultOf<O extends Operation> = {
  readonly Get: Option.Option<Item>
  readonly Search: ReadonlyArray<SearchItem>
  readonly ListNamespaces: ReadonlyArray<Namespace>
  readonly Put: void
  readonly Delete: void
}[O["_tag"]]
