/**
 * Keeps results of nodes in a `KeyValueStore` of `effect/persistence`: files,
 * a browser's storage, a SQL table, or whatever else there is a layer for.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { KeyValueStore } from "effect/persistence/KeyValueStore"
import * as Schema from "effect/Schema"
import { NodeCache, NodeCacheError, type NodeCacheShape } from "../NodeCache.ts"

/** How every key begins: what else is in the store is left alone. */
const root = "superstep/cache/"

/** A scope as JSON ends with a quote that is not escaped: no scope begins with another. */
const prefixOf = (scope: string): string => root + JSON.stringify(scope)

const keyOf = (scope: string, key: string): string => prefixOf(scope) + JSON.stringify(key)

/** A result with the instant at which it is no longer good; for ever without one. */
const Entry = Schema.fromJsonString(
  Schema.Struct({ value: Schema.String, expiresMillis: Schema.optionalKey(Schema.Finite) })
)

const decode = Schema.decodeUnknownOption(Entry)
const encode = Schema.encodeSync(Entry)

/** What a cache cannot give is computed. */
const warned = <A>(effect: Effect.Effect<A, unknown>, instead: A, what: string): Effect.Effect<A> =>
  Effect.catch(effect, (error) => Effect.as(Effect.logWarning(`the node cache cannot ${what}`, error), instead))

/**
 * Keeps results in the `KeyValueStore`, under keys that begin with `superstep/cache/`. Other processes find those of nodes whose cache policy has an id. A
 * store that fails is as if it were empty, with a warning in the log; only `clear` fails.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { KeyValueStore } from "effect/persistence"
 * import * as KeyValueNodeCache from "superstep/persistence/KeyValueNodeCache"
 *
 * const program = Effect.gen(function*() {
 *   const cache = yield* KeyValueNodeCache.make
 *   yield* cache.set("square/1", "3", "9", undefined)
 *   return yield* cache.get("square/1", "3")
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(KeyValueStore.layerMemory)))) // => Option.some("9")
 * ```
 */
export const make: Effect.Effect<NodeCacheShape, never, KeyValueStore> = Effect.map(
  KeyValueStore,
  (store) =>
    NodeCache.of({
      get: (scope, key) =>
        warned(
          Effect.gen(function*() {
            const text = yield* store.get(keyOf(scope, key))
            const entry = text === undefined ? Option.none() : decode(text)
            if (Option.isNone(entry)) return Option.none()
            const { expiresMillis = Infinity, value } = entry.value
            if (expiresMillis > (yield* Clock.currentTimeMillis)) return Option.some(value)
            yield* store.remove(keyOf(scope, key))
            return Option.none()
          }),
          Option.none(),
          "be read"
        ),
      set: (scope, key, value, ttlMillis) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const text = encode(ttlMillis === undefined ? { value } : { value, expiresMillis: now + ttlMillis })
          return warned(store.set(keyOf(scope, key), text), undefined, "be written")
        }),
      clear: (scopes) =>
        Effect.mapError(
          scopes === undefined
            ? store.clearPrefix(root)
            : Effect.forEach(scopes, (scope) => store.clearPrefix(prefixOf(scope)), { discard: true }),
          (cause) =>
            new NodeCacheError({ reason: "Storage", detail: `cannot clear the cache: ${cause.message}`, cause })
        )
    })
)

/**
 * Keeps results in the `KeyValueStore`: see {@link make}.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { KeyValueStore } from "effect/persistence"
 * import { Node, Policy, State, StateGraph } from "superstep"
 * import * as KeyValueNodeCache from "superstep/persistence/KeyValueNodeCache"
 *
 * let computed = 0
 * class Count extends State.make({ total: Schema.Int }) {}
 * const double = Node.make({
 *   input: Count,
 *   cache: Policy.cache({ id: "double/1" }),
 *   run: ({ total }) => {
 *     computed++
 *     return { total: total * 2 }
 *   }
 * })
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double }), { start: "double" })
 *
 * const layer = KeyValueNodeCache.layer.pipe(Layer.provide(KeyValueStore.layerMemory))
 * const twice = Effect.andThen(app.invoke({ total: 10 }), app.invoke({ total: 10 }))
 * console.log(await Effect.runPromise(twice.pipe(Effect.provide(layer)))) // => { total: 20 }
 * console.log(computed) // => 1
 * ```
 */
export const layer: Layer.Layer<NodeCache, never, KeyValueStore> = Layer.effect(NodeCache, make)
