/**
 * Long-term memory: values under namespaces and keys, which outlive runs and
 * are shared by threads. A node reads and writes it as a service.
 *
 * @since 0.1.0
 */
import type * as EmbeddingModel from "effect/ai/EmbeddingModel"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { InvalidArgument } from "./GraphError.ts"
import { shown } from "./internal/say.ts"
import * as Asking from "./internal/store/asking.ts"
import { checked, checkedAll, type Embed, type Known, perform } from "./internal/store/batch.ts"
import { StoreError } from "./internal/store/error.ts"
import { type Comparison, type Where, where as makeWhere } from "./internal/store/filter.ts"
import { memoryStorage } from "./internal/store/memory.ts"
import type { Namespace } from "./internal/store/names.ts"
import type {
  GetOptions,
  Item,
  ListOptions,
  Operation,
  PutOptions,
  ResultOf,
  SearchItem,
  SearchOptions
} from "./internal/store/operation.ts"
import type { Storage } from "./internal/store/storage.ts"

export {
  /**
   * Items that one search gives at most, and namespaces that one listing gives.
   *
   * @category constants
   * @since 0.1.0
   */
  maxLimit
} from "./internal/store/asking.ts"
export {
  /**
   * What any store may fail with whose arguments are right.
   *
   * @category errors
   * @since 0.1.0
   */
  StoreError
} from "./internal/store/error.ts"
export {
  /**
   * What `where` compares with. All that are given have to hold.
   *
   * @category filters
   * @since 0.1.0
   */
  type Comparison,
  /**
   * What a part of a value has to be: this JSON, or what `where` says. A record is about the keys that it names, a list about each of its
   * items.
   *
   * @category filters
   * @since 0.1.0
   */
  type Condition,
  /**
   * Conditions by key of the value. All have to hold.
   *
   * @category filters
   * @since 0.1.0
   */
  type Filter,
  /**
   * A comparison, made by {@link where}.
   *
   * @category filters
   * @since 0.1.0
   */
  type Where
} from "./internal/store/filter.ts"
export {
  /**
   * Bytes of UTF-8 that a namespace has at most, with one more for each label, and a key.
   *
   * @category constants
   * @since 0.1.0
   */
  maxNameBytes,
  /**
   * The labels that lead to an item. Each is a text that is not empty; there is no separator, so any character may stand in it.
   *
   * @category models
   * @since 0.1.0
   */
  type Namespace
} from "./internal/store/names.ts"
export {
  /**
   * @category models
   * @since 0.1.0
   */
  type GetOptions,
  /**
   * @category models
   * @since 0.1.0
   */
  type Item,
  /**
   * @category models
   * @since 0.1.0
   */
  type ListOptions,
  /**
   * @category operations
   * @since 0.1.0
   */
  type Operation,
  /**
   * @category models
   * @since 0.1.0
   */
  type PutOptions,
  /**
   * @category operations
   * @since 0.1.0
   */
  type ResultOf,
  /**
   * @category models
   * @since 0.1.0
   */
  type SearchItem,
  /**
   * @category models
   * @since 0.1.0
   */
  type SearchOptions
} from "./internal/store/operation.ts"
export {
  /**
   * A row that a search has found, with how well it fits.
   *
   * @category storage
   * @since 0.1.0
   */
  type Found,
  /**
   * An item as a storage keeps it.
   *
   * @category storage
   * @since 0.1.0
   */
  type Row
} from "./internal/store/ranking.ts"
export {
  /**
   * @category storage
   * @since 0.1.0
   */
  type Answer,
  /**
   * @category storage
   * @since 0.1.0
   */
  type Batch,
  /**
   * @category storage
   * @since 0.1.0
   */
  type Read,
  /**
   * @category storage
   * @since 0.1.0
   */
  type Storage,
  /**
   * @category storage
   * @since 0.1.0
   */
  type Write
} from "./internal/store/storage.ts"

// ---------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------

/**
 * What any call of a store may fail with. After `InvalidArgument` nothing was read or stored.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = StoreError | InvalidArgument

/**
 * Long-term memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface StoreShape {
  readonly get: (
    namespace: Namespace,
    key: string,
    options?: GetOptions
  ) => Effect.Effect<Option.Option<Item>, Failure>
  /** Stores a value in place of what stood there, whose `createdMillis` it keeps. */
  readonly put: (
    namespace: Namespace,
    key: string,
    value: Schema.Json,
    options?: PutOptions
  ) => Effect.Effect<void, Failure>
  /** Removes an item. What is not there is no failure. */
  readonly delete: (namespace: Namespace, key: string) => Effect.Effect<void, Failure>
  /** Items in a namespace and below it, of all namespaces if the prefix is empty. */
  readonly search: (
    prefix: Namespace,
    options?: SearchOptions
  ) => Effect.Effect<ReadonlyArray<SearchItem>, Failure>
  /** Namespaces that hold an item. */
  readonly listNamespaces: (options?: ListOptions) => Effect.Effect<ReadonlyArray<Namespace>, Failure>
  /**
   * Does all writes at once, or none of them; results come in the order of the operations. Reads see none of the writes of the batch; of
   * several writes of one key the last stands.
   */
  readonly batch: <const Operations extends ReadonlyArray<Operation>>(
    operations: Operations
  ) => Effect.Effect<{ readonly [I in keyof Operations]: ResultOf<Operations[I]> }, Failure>
  /** Removes what has expired, which nobody sees any more, and tells how many items that were. */
  readonly sweep: Effect.Effect<number, StoreError>
}

/**
 * Long-term memory, shared by all threads.
 *
 * @category services
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { Store } from "superstep"
 *
 * const program = Effect.gen(function*() {
 *   const store = yield* Store.Store
 *   yield* store.put(["users", "ada"], "food", { likes: "figs" })
 *   const item = yield* store.get(["users", "ada"], "food")
 *   return Option.map(item, ({ value }) => value)
 * })
 *
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Store.layerMemory))))
 * // => Option.some({ likes: "figs" })
 * ```
 */
export class Store extends Context.Service<Store, StoreShape>()("superstep/Store") {}

/**
 * Compares a part of a value, for filters. `gt`, `gte`, `lt` and `lte` compare a number with a number, and a text with a text by code points:
 * a part of another type, or none, does not match. `eq` is equality of JSON, and `ne` holds wherever `eq` does not, also
 * where there is nothing.
 *
 * @category filters
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Store } from "superstep"
 *
 * const program = Effect.gen(function*() {
 *   const store = yield* Store.Store
 *   yield* store.put(["films"], "a", { year: 1972, by: { name: "Tarkovsky" } })
 *   yield* store.put(["films"], "b", { year: "1979", by: { name: "Tarkovsky" } })
 *   const found = yield* store.search(["films"], {
 *     filter: { year: Store.where({ gte: 1970, lt: 1980 }), by: { name: "Tarkovsky" } }
 *   })
 *   return found.map(({ key }) => key)
 * })
 *
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Store.layerMemory)))) // => ["a"]
 * ```
 */
export const where: (comparison: Comparison) => Where = makeWhere

/**
 * How a store is made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How long an item lives that is put without a lifetime of its own: for ever, if this is left out. */
  readonly ttl?: Duration.Input | undefined
  /** Whether a lifetime begins anew when the item is read, unless the reader says otherwise; `true` if left out. */
  readonly refreshOnRead?: boolean | undefined
  /** By which parts a query finds items that do not say so themselves; `["$"]`, the whole value, if left out. */
  readonly fields?: ReadonlyArray<string> | undefined
  /** Whether a query is about the meaning, by an `EmbeddingModel`, and not about words. */
  readonly semantic?: boolean | undefined
}

/**
 * The service that a store with these options needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Needs<O extends Options> = "semantic" extends keyof O
  ? O["semantic"] extends false | undefined ? never : EmbeddingModel.EmbeddingModel
  : never

// ---------------------------------------------------------------------------
// Stores
// ---------------------------------------------------------------------------

const noVectors = (cause: unknown): StoreError =>
  new StoreError({
    reason: "Embedding",
    detail: `no vectors: ${cause instanceof Error ? cause.message : shown(cause)}`,
    cause
  })

/** A model comes from elsewhere: what it dies of, such as vectors that hold no numbers, is a failure of the call. */
const embedWith = (model: EmbeddingModel.EmbeddingModel): Embed => (texts) =>
  texts.length === 0 ? Effect.succeed([]) : model.embedMany(texts).pipe(
    Effect.catchDefect((defect) => Effect.fail(defect)),
    Effect.mapBoth({
      onFailure: noVectors,
      onSuccess: ({ embeddings }) => embeddings.map(({ vector }) => Float32Array.from(vector))
    })
  )

/** Loaded only where it is used: it would double the time that the library takes to load. */
const embedding = Effect.flatMap(
  Effect.promise(() => import("effect/ai/EmbeddingModel")),
  ({ EmbeddingModel }) => Effect.map(EmbeddingModel, embedWith)
)

const defaultsOf = ({ fields = ["$"], refreshOnRead = true, ttl }: Options) =>
  Result.gen(function*() {
    const ttlMillis = ttl === undefined ? undefined : yield* Asking.millisOf("ttl", ttl)
    return { ttlMillis, isRefreshing: refreshOnRead, paths: yield* Asking.paths("fields", fields) }
  })

/** What is known of the store. */
const knownOf = Effect.fnUntraced(function*(storage: Storage, options: Options = {}) {
  const defaults = yield* Effect.orDie(Effect.fromResult(defaultsOf(options)))
  return { storage, defaults, embed: options.semantic === true ? yield* embedding : undefined }
})

const storeOf = (known: Known): StoreShape => {
  const batch = (operations: ReadonlyArray<Operation>) =>
    Effect.suspend(() => perform(known, checkedAll(operations, known.defaults)))
  const one = <O extends Operation>(operation: O) =>
    Effect.map(
      Effect.suspend(() => perform(known, Result.map(checked(operation, known.defaults), (one) => [one]))),
      (results) => results[0] as ResultOf<O>
    )
  return Store.of({
    get: (namespace, key, options) => one({ ...options, _tag: "Get", namespace, key }),
    put: (namespace, key, value, options) => one({ ...options, _tag: "Put", namespace, key, value }),
    delete: (namespace, key) => one({ _tag: "Delete", namespace, key }),
    search: (prefix, options) => one({ ...options, _tag: "Search", prefix }),
    listNamespaces: (options) => one({ ...options, _tag: "ListNamespaces" }),
    batch: batch as StoreShape["batch"],
    sweep: Effect.flatMap(Clock.currentTimeMillis, known.storage.sweep)
  })
}

/**
 * A store on a storage: see {@link Storage} for a store of your own. Wrong options are a defect.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Store } from "superstep"
 *
 * // Stores nothing, and says so.
 * const storage: Store.Storage = {
 *   run: () => Effect.fail(new Store.StoreError({ reason: "Storage", detail: "it is read only" })),
 *   sweep: () => Effect.succeed(0)
 * }
 *
 * const program = Effect.gen(function*() {
 *   const store = yield* Store.make(storage)
 *   return yield* Effect.flip(store.put(["users"], "ada", 1))
 * })
 * console.log((await Effect.runPromise(program)).message) // => "storage error at the store: it is read only"
 * ```
 */
export const make: <const O extends Options = {}>(
  storage: Storage,
  options?: O
) => Effect.Effect<StoreShape, never, Needs<O>> = (storage, options) =>
  // Whether it needs a model is what the options say.
  Effect.map(knownOf(storage, options), storeOf) as Effect.Effect<StoreShape>

/**
 * Keeps items in memory, each time in a new store. Values are kept as JSON: whoever reads one may change it.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { TestClock } from "effect/testing"
 * import { Store } from "superstep"
 *
 * const program = Effect.gen(function*() {
 *   const store = yield* Store.makeMemory({ ttl: "10 minutes", refreshOnRead: false })
 *   yield* store.put(["sessions"], "ada", { page: 3 })
 *   yield* TestClock.adjust("9 minutes")
 *   console.log(Option.isSome(yield* store.get(["sessions"], "ada"))) // => true
 *   yield* TestClock.adjust("1 minute")
 *   console.log(Option.isSome(yield* store.get(["sessions"], "ada"))) // => false
 *   console.log(yield* store.sweep) // => 1
 * })
 * await Effect.runPromise(program.pipe(Effect.provide(TestClock.layer())))
 * ```
 */
export const makeMemory = <const O extends Options = {}>(
  options?: O
): Effect.Effect<StoreShape, never, Needs<O>> => Effect.suspend(() => make(memoryStorage(), options))

/**
 * Keeps items in memory, for tests and short-lived programs.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Store } from "superstep"
 *
 * const program = Effect.gen(function*() {
 *   const store = yield* Store.Store
 *   yield* store.put(["users", "ada", "notes"], "1", "call home")
 *   yield* store.put(["users", "bob"], "1", "buy figs")
 *   return yield* store.listNamespaces({ prefix: ["users"], maxDepth: 2 })
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Store.layerMemory))))
 * // => [["users", "ada"], ["users", "bob"]]
 * ```
 */
export const layerMemory: Layer.Layer<Store> = Layer.effect(Store, makeMemory())

// ---------------------------------------------------------------------------
// Collections
// ---------------------------------------------------------------------------

/**
 * The items of a namespace, and of those below it, whose values fit one schema. What does not fit is a `StoreError` of reason `Encode` or `Decode`.
 *
 * @category collections
 * @since 0.1.0
 */
export interface Collection<A, out RD = never, out RE = never> {
  readonly namespace: Namespace
  readonly get: (key: string, options?: GetOptions) => Effect.Effect<Option.Option<Item<A>>, Failure, Store | RD>
  readonly put: (key: string, value: A, options?: PutOptions) => Effect.Effect<void, Failure, Store | RE>
  readonly delete: (key: string) => Effect.Effect<void, Failure, Store>
  /** Filters and paths are about values as they are stored. */
  readonly search: (
    options?: SearchOptions
  ) => Effect.Effect<ReadonlyArray<SearchItem<A>>, Failure, Store | RD>
}

const misfit =
  (reason: "Encode" | "Decode", name: Pick<Item, "namespace" | "key">) => (cause: Schema.SchemaError): StoreError =>
    new StoreError({ ...name, reason, detail: cause.message, cause })

/**
 * A typed view of a namespace: values go through the JSON form of the schema. Making one reads nothing.
 *
 * @category collections
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option, Schema } from "effect"
 * import { Store } from "superstep"
 *
 * const notes = Store.collection(["users", "ada", "notes"], Schema.Struct({ text: Schema.String, due: Schema.Date }))
 *
 * const program = Effect.gen(function*() {
 *   yield* notes.put("1", { text: "call home", due: new Date(0) })
 *   const note = yield* notes.get("1")
 *   console.log(Option.map(note, ({ value }) => value.due.getTime())) // => Option.some(0)
 *
 *   yield* Store.Store.use((store) => store.put(notes.namespace, "2", { text: 1 }))
 *   const error = yield* Effect.flip(notes.get("2"))
 *   console.log(error._tag === "StoreError" && [error.reason, error.key]) // => ["Decode", "2"]
 * })
 * await Effect.runPromise(program.pipe(Effect.provide(Store.layerMemory)))
 * ```
 */
export const collection = <A, I, RD, RE>(
  namespace: Namespace,
  schema: Schema.Codec<A, I, RD, RE>
): Collection<A, RD, RE> => {
  const codec = Schema.toCodecJson(schema)
  const decode = Schema.decodeUnknownEffect(codec)
  const encode = Schema.encodeEffect(codec)
  const typed = <T extends Item>(item: T) =>
    Effect.mapError(
      Effect.map(decode(item.value), (value) => ({ ...item, value })),
      misfit("Decode", { namespace: item.namespace, key: item.key })
    )
  return {
    namespace,
    get: (key, options) =>
      Store.use((store) =>
        Effect.flatMap(
          store.get(namespace, key, options),
          (found) => Option.isNone(found) ? Effect.succeedNone : Effect.map(typed(found.value), Option.some)
        )
      ),
    put: (key, value, options) =>
      Store.use((store) =>
        Effect.flatMap(
          Effect.mapError(encode(value), misfit("Encode", { namespace, key })),
          (json) => store.put(namespace, key, json as Schema.Json, options)
        )
      ),
    delete: (key) => Store.use((store) => store.delete(namespace, key)),
    search: (options) =>
      Store.use((store) => Effect.flatMap(store.search(namespace, options), (found) => Effect.forEach(found, typed)))
  }
}
