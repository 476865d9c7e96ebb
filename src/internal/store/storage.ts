/** What a store asks of the place where it keeps items. */
import type * as Effect from "effect/Effect"
import type { StoreError } from "./error.ts"
import type { Namespace } from "./names.ts"
import type { Found, Row } from "./ranking.ts"

/**
 * What a storage is asked to read. Names, limits and queries have been checked. What `refresh` says holds for items with a lifetime, which
 * then begins anew.
 */
export type Read =
  | { readonly _tag: "Item"; readonly namespace: Namespace; readonly key: string; readonly refresh: boolean }
  | {
    readonly _tag: "Items"
    readonly prefix: Namespace
    /** Whether a row may be among those that are wanted; all may without it. */
    readonly matches: ((row: Row) => boolean) | undefined
    /** With it the order is of scores, else the newest update comes first. */
    readonly score: ((row: Row) => number | undefined) | undefined
    /** What the vectors of rows are compared with, if that is how they are scored: by cosine, the best of a row counts. */
    readonly vector: Float32Array | undefined
    /** Only rows that have one of these words are wanted. */
    readonly words: ReadonlyArray<string> | undefined
    readonly limit: number
    readonly offset: number
    readonly refresh: boolean
    /** What is wanted of all rows below the prefix, whatever their order. */
    readonly page: (rows: Iterable<Row>) => ReadonlyArray<Found>
  }
  | {
    readonly _tag: "Namespaces"
    /** What the namespaces that are wanted begin with. */
    readonly prefix: Namespace
    /** What is wanted of all namespaces that hold an item. */
    readonly page: (namespaces: Iterable<Namespace>) => ReadonlyArray<Namespace>
  }

/**
 * What a storage gives for a read: of an item, of items, or of namespaces.
 */
export type Answer =
  | { readonly _tag: "Items"; readonly found: ReadonlyArray<Found> }
  | { readonly _tag: "Namespaces"; readonly namespaces: ReadonlyArray<Namespace> }

/**
 * What a storage is asked to write: no two writes of a batch are of one key.
 */
export type Write =
  | {
    readonly _tag: "Put"
    readonly namespace: Namespace
    readonly key: string
    readonly json: string
    readonly ttlMillis: number | undefined
    readonly words: ReadonlyArray<string>
    readonly vectors: ReadonlyArray<Float32Array>
  }
  | { readonly _tag: "Delete"; readonly namespace: Namespace; readonly key: string }

/**
 * What is done at once: all reads, in the state before, then all writes. An item is gone at the instant at which it expires.
 */
export interface Batch {
  readonly nowMillis: number
  readonly reads: ReadonlyArray<Read>
  readonly writes: ReadonlyArray<Write>
}

/**
 * Where items are kept. A store of your own has these two, and `Store.make` does the rest.
 */
export interface Storage {
  /** Does a batch, all or nothing, and answers its reads in their order. */
  readonly run: (batch: Batch) => Effect.Effect<ReadonlyArray<Answer>, StoreError>
  /** Removes what has expired by then, and tells how many items that were. */
  readonly sweep: (nowMillis: number) => Effect.Effect<number, StoreError>
}
