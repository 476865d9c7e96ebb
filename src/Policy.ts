/**
 * How the engine runs a node: again after which failures, for how long at most,
 * and whether a stored result may stand for a run. Policies are data; the
 * engine builds what they say only where they are given.
 *
 * No policy ever sees a pause, a command for the parent, a defect or an
 * interruption: these are no failures of the node.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"

/**
 * When a failed attempt is followed by another. `E` is what `while` can look at: all that the node can fail with, or more.
 *
 * @category models
 * @since 0.1.0
 */
export interface Retry<in E = unknown> {
  /** When, and how often. The first attempt is not counted. */
  readonly schedule: Schedule.Schedule<unknown, unknown>
  /** Which failures. Of several policies the first whose predicate holds is used. */
  readonly while: (error: E) => boolean
}

/**
 * One policy, or several: the first whose predicate holds is used.
 *
 * @category models
 * @since 0.1.0
 */
export type Retries<E = unknown> = Retry<E> | ReadonlyArray<Retry<E>>

/**
 * Attempts of the default policy, the first included.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultMaxAttempts = 3

const unbounded: Schedule.Schedule<unknown, unknown> = Schedule.jittered(
  Schedule.min([Schedule.exponential("500 millis", 2), Schedule.spaced("128 seconds")])
)

/**
 * Waits 0.5 s, then twice as long each time up to 128 s, plus up to a quarter of jitter: `defaultMaxAttempts` attempts in all.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultSchedule: Schedule.Schedule<unknown, unknown> = unbounded.pipe(
  Schedule.upTo({ times: defaultMaxAttempts - 1 })
)

/**
 * Retries the typed failures of a node that `while` accepts: all of them by default.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schedule, Schema } from "effect"
 * import { Node, Policy, Running, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ attempts: Schema.Int }) {}
 * const flaky = Node.make({
 *   input: Count,
 *   retry: Policy.retry({ schedule: Schedule.spaced("1 milli"), maxAttempts: 3, while: (error) => error === "down" }),
 *   run: () =>
 *     Effect.flatMap(
 *       Running.Running,
 *       ({ attempt }) => attempt < 3 ? Effect.fail("down" as const) : Effect.succeed({ attempts: attempt })
 *     )
 * })
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { flaky }), { start: "flaky" })
 *
 * console.log(await Effect.runPromise(app.invoke({ attempts: 0 }))) // => { attempts: 3 }
 * ```
 */
export const retry = <E = unknown>(options?: {
  readonly schedule?: Schedule.Schedule<unknown, unknown>
  /** Attempts, the first included. Bounds the schedule. */
  readonly maxAttempts?: number
  readonly while?: (error: E) => boolean
}): Retry<E> => {
  const maxAttempts = options?.maxAttempts
  if (maxAttempts !== undefined && !(Number.isInteger(maxAttempts) && maxAttempts >= 1)) {
    throw new Error(`Policy.retry: maxAttempts must be a whole number of at least 1, not ${maxAttempts}`)
  }
  const base = options?.schedule ?? (maxAttempts === undefined ? defaultSchedule : unbounded)
  return {
    schedule: maxAttempts === undefined ? base : base.pipe(Schedule.upTo({ times: maxAttempts - 1 })),
    while: options?.while ?? (() => true)
  }
}

/**
 * Bounds on the time of a node, in milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Timeout {
  /** For each attempt. Nothing extends it. */
  readonly attemptMillis: number | undefined
  /** Since the last sign of progress: a custom event, a heartbeat, an event of a graph called inside. */
  readonly idleMillis: number | undefined
}

/**
 * What is accepted as a timeout: one duration bounds each attempt.
 *
 * @category models
 * @since 0.1.0
 */
export type TimeoutInput = Duration.Input | { readonly attempt?: Duration.Input; readonly idle?: Duration.Input }

/**
 * A duration in milliseconds, which has to be longer than nothing and to come to an end.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Policy } from "superstep"
 *
 * console.log(Policy.positiveMillis("a ttl", "2 seconds")) // => 2000
 *
 * try {
 *   Policy.positiveMillis("a ttl", 0)
 * } catch (error) {
 *   console.log(String(error)) // => "Error: a ttl must be longer than 0 ms"
 * }
 * ```
 */
export const positiveMillis = (what: string, input: Duration.Input): number => {
  const duration = Duration.fromInput(input)
  if (Option.isNone(duration)) throw new Error(`${what} must be a duration, such as "5 seconds" or milliseconds`)
  const millis = Duration.toMillis(duration.value)
  if (!(millis > 0)) throw new Error(`${what} must be longer than 0 ms`)
  if (millis === Infinity) throw new Error(`${what} must be finite: leave it out for none`)
  return millis
}

const isTimeoutRecord = (
  input: TimeoutInput
): input is { readonly attempt?: Duration.Input; readonly idle?: Duration.Input } =>
  typeof input === "object" && input !== null && !Array.isArray(input) && ("attempt" in input || "idle" in input)

/**
 * Bounds on the time of a node.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Policy } from "superstep"
 *
 * console.log(Policy.timeout("5 seconds")) // => { attemptMillis: 5000, idleMillis: undefined }
 * console.log(Policy.timeout({ attempt: "1 minute", idle: 200 })) // => { attemptMillis: 60000, idleMillis: 200 }
 * ```
 */
export const timeout = (input: TimeoutInput): Timeout =>
  isTimeoutRecord(input)
    ? {
      attemptMillis: input.attempt === undefined ? undefined : positiveMillis("an attempt timeout", input.attempt),
      idleMillis: input.idle === undefined ? undefined : positiveMillis("an idle timeout", input.idle)
    }
    : { attemptMillis: positiveMillis("an attempt timeout", input as Duration.Input), idleMillis: undefined }

/**
 * Lets a stored result stand for a run on an equal input. `Input` is what `key` can look at.
 *
 * @category models
 * @since 0.1.0
 */
export interface Cache<in Input = unknown> {
  /** What computes the result, for nodes that share results across graphs and processes. */
  readonly id: string | undefined
  /** What is equal. By default the canonical encoding of the whole input. */
  readonly key: ((input: Input) => string) | undefined
  /** How long a result is good for, in milliseconds; for ever by default. */
  readonly ttlMillis: number | undefined
}

/**
 * Lets a stored result stand for a run on an equal input. Needs the `NodeCache` service where the graph runs. Results are shared by the
 * runs of this very graph in this process; nodes that give the same `id`, which names what is computed and its version, share theirs
 * everywhere. Pauses, failures, what rests on an answer and what is written to untracked keys are never kept. A node that reads untracked
 * keys needs a `key`, since nothing that is stored tells their values apart: without, the definition of its graph is refused.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Node, NodeCache, Policy, State, StateGraph } from "superstep"
 *
 * let computed = 0
 * class Count extends State.make({ total: Schema.Int }) {}
 * const square = Node.make({
 *   input: Count,
 *   cache: Policy.cache({ ttl: "1 hour", key: ({ total }: { readonly total: number }) => String(Math.abs(total)) }),
 *   run: ({ total }) => {
 *     computed++
 *     return { total: total ** 2 }
 *   }
 * })
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { square }), { start: "square" })
 *
 * const twice = Effect.andThen(app.invoke({ total: 3 }), app.invoke({ total: -3 }))
 * console.log(await Effect.runPromise(twice.pipe(Effect.provide(NodeCache.layerMemory)))) // => { total: 9 }
 * console.log(computed) // => 1
 * ```
 */
export const cache = <Input = unknown>(options?: {
  readonly id?: string
  readonly key?: (input: Input) => string
  readonly ttl?: Duration.Input
}): Cache<Input> => ({
  id: options?.id,
  key: options?.key,
  ttlMillis: options?.ttl === undefined ? undefined : positiveMillis("a cache ttl", options.ttl)
})

/**
 * Bounds and breakpoints of a run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  /** Supersteps that a run may take, the start not counted. Defaults to 1,000. */
  readonly recursionLimit?: number
  /** Tasks that run at the same time. Unbounded by default. */
  readonly concurrency?: number
  /** What a failed task means for its siblings: they are interrupted (the default), or run to their end. */
  readonly onFailure?: "interrupt" | "settle"
  /** Bounds the tasks of each superstep. Those that had finished keep what they wrote. */
  readonly superstepTimeout?: Duration.Input
  /**
   * Bounds a run from its opening to its end: reading the thread, the input, nodes, and what is stored. Nodes and reads are cut. A commit
   * under way is finished first, so that nothing is half stored: a storage that never ends a commit holds up the timeout, too.
   */
  readonly runTimeout?: Duration.Input
  /** Nodes before which a run stops; `"*"` for every node. */
  readonly before?: ReadonlyArray<string>
  /** Nodes after which a run stops; `"*"` for every node. */
  readonly after?: ReadonlyArray<string>
}

/**
 * What a run without a thread may be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions extends Limits {
  /** What the random numbers of nodes derive from. */
  readonly seed?: string
  /** What is said of the run: nodes see it, and its span. Tags are an entry of it like any other. */
  readonly metadata?: Readonly<Record<string, Schema.Json>>
}
