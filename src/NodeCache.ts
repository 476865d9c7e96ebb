/**
 * Where results of nodes with a cache policy are kept, across runs and threads.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { say, shown } from "./internal/say.ts"

/**
 * A cache could not be opened, or not be cleared. One that fails otherwise is as if it were empty: nodes run, and a warning is logged.
 *
 * @category errors
 * @since 0.1.0
 */
export class NodeCacheError extends Data.TaggedError("NodeCacheError")<{
  /** `Format`: the database is of a later version, or its tables are others. */
  readonly reason: "Storage" | "Format"
  readonly detail: string
  readonly cause?: unknown
}> {
  override get message(): string {
    return say`${shown(this.reason).toLowerCase()} error at the node cache: ${this.detail}`
  }
}

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
  readonly clear: (scopes?: ReadonlyArray<string>) => Effect.Effect<void, NodeCacheError>
}

/**
 * Results of nodes with a cache policy. Without this service nothing is cached.
 *
 * @category services
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { NodeCache } from "superstep"
 *
 * const program = Effect.gen(function*() {
 *   const cache = yield* NodeCache.NodeCache
 *   yield* cache.set("square/1", "3", "9", undefined)
 *   console.log(yield* cache.get("square/1", "3")) // => Option.some("9")
 *   yield* cache.clear(["square/1"])
 *   console.log(yield* cache.get("square/1", "3")) // => Option.none()
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(NodeCache.layerMemory)))
 * ```
 */
export class NodeCache extends Context.Service<NodeCache, NodeCacheShape>()("superstep/NodeCache") {}

interface Entry {
  readonly value: string
  readonly expiresMillis: number
}

/** The results of one node. */
interface Scope {
  readonly entries: Map<string, Entry>
  /** At how many entries those that have expired are dropped: twice as many as the last time left. */
  sweepSize: number
}

const leastSweep = 64

/**
 * Keeps results in memory. Expired entries make room for new ones; what does not expire stays until it is cleared.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { TestClock } from "effect/testing"
 * import { NodeCache } from "superstep"
 *
 * const program = Effect.gen(function*() {
 *   const cache = yield* NodeCache.makeMemory
 *   yield* cache.set("square/1", "3", "9", 10_000)
 *   console.log(yield* cache.get("square/1", "3")) // => Option.some("9")
 *   yield* TestClock.adjust("10 seconds")
 *   console.log(yield* cache.get("square/1", "3")) // => Option.none()
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(TestClock.layer())))
 * ```
 */
export const makeMemory: Effect.Effect<NodeCacheShape> = Effect.sync(() => {
  const scopes = new Map<string, Scope>()
  return NodeCache.of({
    get: (scope, key) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const entry = scopes.get(scope)?.entries.get(key)
        return entry !== undefined && entry.expiresMillis > now ? Option.some(entry.value) : Option.none()
      }),
    set: (scope, key, value, ttlMillis) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        let found = scopes.get(scope)
        if (found === undefined) scopes.set(scope, found = { entries: new Map(), sweepSize: leastSweep })
        const { entries } = found
        entries.set(key, { value, expiresMillis: ttlMillis === undefined ? Infinity : now + ttlMillis })
        if (entries.size < found.sweepSize) return
        for (const [old, { expiresMillis }] of entries) if (expiresMillis <= now) entries.delete(old)
        found.sweepSize = Math.max(leastSweep, 2 * entries.size)
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
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Node, NodeCache, Policy, State, StateGraph } from "superstep"
 *
 * let computed = 0
 * class Count extends State.make({ total: Schema.Int }) {}
 * const double = Node.make({
 *   input: Count,
 *   cache: Policy.cache(),
 *   run: ({ total }) => {
 *     computed++
 *     return { total: total * 2 }
 *   }
 * })
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double }), { start: "double" })
 *
 * const twice = Effect.andThen(app.invoke({ total: 10 }), app.invoke({ total: 10 }))
 * console.log(await Effect.runPromise(twice.pipe(Effect.provide(NodeCache.layerMemory)))) // => { total: 20 }
 * console.log(computed) // => 1
 * ```
 */
export const layerMemory: Layer.Layer<NodeCache> = Layer.effect(NodeCache, makeMemory)
