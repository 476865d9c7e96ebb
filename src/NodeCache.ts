/**
 * Where results of nodes with a cache policy are kept, across runs and threads.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/**
 * Keeps encoded results. `scope` is the id that a cache policy gives, or else a name for one node of one graph in this process; the key is
 * made of the input.
 *
 * @category models
 * @since 0.1.0
 */
export interface NodeCacheShape {
  readonly get: (scope: string, key: string) => Effect.Effect<Option.Option<string>>
  readonly set: (scope: string, key: string, value: string, ttlMillis: number | undefined) => Effect.Effect<void>
  /** Drops what is kept under the scopes, or everything. */
  readonly clear: (scopes?: ReadonlyArray<string>) => Effect.Effect<void>
}

/**
 * Results of nodes with a cache policy. Without this service nothing is cached.
 *
 * @category services
 * @since 0.1.0
 */
export class NodeCache extends Context.Service<NodeCache, NodeCacheShape>()("superstep/NodeCache") {}

interface Entry {
  readonly value: string
  readonly expiresMillis: number
}

/**
 * Keeps results in memory. Expired entries are dropped when they are asked for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeMemory: Effect.Effect<NodeCacheShape> = Effect.sync(() => {
  const scopes = new Map<string, Map<string, Entry>>()
  return NodeCache.of({
    get: (scope, key) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const entries = scopes.get(scope)
        const entry = entries?.get(key)
        if (entry === undefined) return Option.none()
        if (entry.expiresMillis > now) return Option.some(entry.value)
        entries!.delete(key)
        return Option.none()
      }),
    set: (scope, key, value, ttlMillis) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        let entries = scopes.get(scope)
        if (entries === undefined) scopes.set(scope, entries = new Map())
        entries.set(key, { value, expiresMillis: ttlMillis === undefined ? Infinity : now + ttlMillis })
      }),
    clear: (names) =>
      Effect.sync(() => {
        if (names === undefined) scopes.clear()
        else for (const name of names) scopes.delete(name)
      })
  })
})

/**
 * Keeps results in memory.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<NodeCache> = Layer.effect(NodeCache, makeMemory)
