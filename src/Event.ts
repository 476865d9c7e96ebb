/**
 * What happens in a run, as its streams show it. Every event carries the mode
 * it belongs to, the path of the graph it comes from and the superstep.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { PendingRequest, Source } from "./Checkpoint.ts"
import type * as Command from "./Command.ts"
import type { Steering } from "./GraphError.ts"
import type * as State from "./State.ts"

/**
 * The kinds of events that a stream can show.
 *
 * @category models
 * @since 0.1.0
 */
export type Mode = "values" | "updates" | "custom" | "tasks" | "checkpoints" | "debug" | "lifecycle"

/**
 * The path of the graph that is run.
 *
 * @category models
 * @since 0.1.0
 */
export type Root = readonly []

/**
 * The path of a graph inside it.
 *
 * @category models
 * @since 0.1.0
 */
export type Inside = readonly [string, ...ReadonlyArray<string>]

/**
 * Where an event comes from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Origin<out Path extends ReadonlyArray<string> = ReadonlyArray<string>> {
  /** Segments of the namespace; empty at the root. */
  readonly path: Path
  readonly step: number
}

/**
 * Whether an event comes from the graph that is run, whose types are known, and not from one inside it.
 *
 * @category guards
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Event, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const inner = StateGraph.make("inner", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 * const outer = StateGraph.make("outer", StateGraph.nodes(Count, { inner }), { start: "inner" })
 *
 * const events = await Effect.runPromise(
 *   Stream.runCollect(outer.stream({ total: 10 }, { modes: ["updates"], subgraphs: true }))
 * )
 * console.log(events.map((event) => event.node)) // => ["double", "inner"]
 * console.log(events.filter((event) => Event.isRoot(event)).map((event) => event.node)) // => ["inner"]
 * ```
 */
export const isRoot = <E extends Origin>(event: E): event is Extract<E, Origin<Root>> => event.path.length === 0

/**
 * The state, as far as it is output, after a superstep that changed it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Values<out V, out Path extends ReadonlyArray<string> = ReadonlyArray<string>> extends Origin<Path> {
  readonly mode: "values"
  readonly values: V
}

/**
 * What a task wrote, as its node returned it: once per task, when it finishes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Updates<
  out Node extends string,
  out Update,
  out Path extends ReadonlyArray<string> = ReadonlyArray<string>
> extends Origin<Path> {
  readonly mode: "updates"
  readonly node: Node
  readonly update: Update
  /** Whether the result was taken from the node cache, or from an earlier attempt of the superstep. */
  readonly cached: boolean
}

/**
 * Data that a node sent with `Running.emit`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Custom<out Path extends ReadonlyArray<string> = ReadonlyArray<string>> extends Origin<Path> {
  readonly mode: "custom"
  readonly node: string
  readonly data: unknown
}

/**
 * A task began.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskStarted<out Path extends ReadonlyArray<string> = ReadonlyArray<string>> extends Origin<Path> {
  readonly mode: "tasks"
  readonly type: "started"
  readonly id: string
  readonly node: string
  readonly input: unknown
  readonly triggers: ReadonlyArray<string>
}

/**
 * A task ended: with a result, an error, or questions.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskEnded<out Path extends ReadonlyArray<string> = ReadonlyArray<string>> extends Origin<Path> {
  readonly mode: "tasks"
  readonly type: "ended"
  readonly id: string
  readonly node: string
  readonly result: unknown
  readonly error: string | undefined
  readonly requests: ReadonlyArray<PendingRequest>
}

/**
 * A checkpoint was made; in durability `sync`, after it was committed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Checkpoints<out V, out Path extends ReadonlyArray<string> = ReadonlyArray<string>>
  extends Origin<Path>
{
  readonly mode: "checkpoints"
  readonly checkpoint: string | undefined
  readonly parent: string | undefined
  readonly source: Source
  readonly values: V
  readonly next: ReadonlyArray<string>
}

/**
 * A task or checkpoint event with the time it happened.
 *
 * @category models
 * @since 0.1.0
 */
export interface Debug<out V, out Path extends ReadonlyArray<string> = ReadonlyArray<string>> extends Origin<Path> {
  readonly mode: "debug"
  readonly type: "checkpoint" | "task" | "task_result"
  /** Milliseconds since the epoch. */
  readonly timestampMillis: number
  readonly payload: TaskStarted<Path> | TaskEnded<Path> | Checkpoints<V, Path>
}

/**
 * The run began, or ended for now without a result: by a failure, a question, at a breakpoint, or as it was asked to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lifecycle extends Origin<Root> {
  readonly mode: "lifecycle"
  readonly type: "started" | "resumed" | "failed" | "paused" | "stopped" | "drained"
  /** Names the run: random. */
  readonly run: string
  /** What its caller says of the run. */
  readonly metadata: Readonly<Record<string, Schema.Json>>
  /** Of a failure: its text. Of a run that was drained: why. */
  readonly reason: string | undefined
}

/**
 * The run ended with its result. A thread that has nothing left to run shows this alone: nothing began.
 *
 * @category models
 * @since 0.1.0
 */
export interface Completed<out V> extends Origin<Root> {
  readonly mode: "lifecycle"
  readonly type: "completed"
  readonly run: string
  readonly metadata: Readonly<Record<string, Schema.Json>>
  readonly reason: undefined
  /** What `invoke` would have given. */
  readonly output: V
}

/**
 * The run waits for answers. The last event of a stream before its failure; every mode has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Paused extends Origin<Root> {
  readonly mode: "paused"
  readonly requests: ReadonlyArray<PendingRequest>
}

/**
 * Any event, with its types erased.
 *
 * @category models
 * @since 0.1.0
 */
export type Any =
  | Values<unknown>
  | Updates<string, unknown>
  | Custom
  | TaskStarted
  | TaskEnded
  | Checkpoints<unknown>
  | Debug<unknown>
  | Lifecycle
  | Completed<unknown>
  | Paused

// oxlint-disable typescript/no-explicit-any
type Out<X> = X extends Effect.Effect<infer A, any, any> ? A : X
type Fail<X> = X extends Effect.Effect<any, infer E, any> ? E : never

/**
 * Which events a stream shows.
 *
 * @category models
 * @since 0.1.0
 */
export interface StreamOptions<M extends Mode, Sub extends boolean = boolean> {
  readonly modes: ReadonlyArray<M>
  /** Whether events of graphs inside this one are shown too. Their types are not known here. */
  readonly subgraphs?: Sub
}

/**
 * The updates of a graph's nodes, as its stream shows them.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type UpdatesOf<O> = {
  [K in keyof O & string]: Updates<K, Shown<O[K]>, Root>
}[keyof O & string]

/** A Command is shown by its update. */
type ShownPart<A> = A extends Command.Command<infer U, any> ? U : A extends void ? undefined : A
type ShownOutput<A> = A extends ReadonlyArray<infer B> ? Several<ShownPart<B>> : ShownPart<A>

/** Several updates are shown as one record, or, where a key is written more than once, as a list of records. */
type Several<U> = [U] extends [never] ? never : Merged<U> | ReadonlyArray<Merged<U>>
type Merged<U> = { readonly [K in KeyOf<U>]?: At<U, K> }
type KeyOf<U> = U extends unknown ? keyof U : never
type At<U, K> = U extends unknown ? K extends keyof U ? U[K] : never : never

/** What a graph that stands as a node hands up, with the updates of its commands for the parent. */
type ShownGraph<Up, E> = Several<HandedUp<Up> | ParentUpdate<E>>
type HandedUp<Up> = { readonly [K in keyof Up]?: Up[K] extends readonly [infer U, infer V] ? U | V : never }
type ParentUpdate<E> = E extends Command.ParentCommand<infer U, any> ? U : never
type Steered<E> = E extends Steering<Command.Command<infer U, any>> ? Several<U> : never

type Shown<X> = X extends { readonly "~subgraph": infer Up } ? ShownGraph<Up, Fail<X>>
  : ShownOutput<Out<X>> | Steered<Fail<X>>

/**
 * The events of a graph itself, by mode.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Of<S extends State.Any, O, M extends Mode> = {
  readonly values: Values<State.Output<S>, Root>
  readonly updates: UpdatesOf<O>
  readonly custom: Custom<Root>
  readonly tasks: TaskStarted<Root> | TaskEnded<Root>
  readonly checkpoints: Checkpoints<State.Type<S>, Root>
  readonly debug: Debug<State.Type<S>, Root>
  readonly lifecycle: Lifecycle | Completed<State.Output<S>>
}[M]

type Unknown = Readonly<Record<string, unknown>>

/**
 * The events of graphs inside a graph, by mode.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type OfInside<M extends Mode> = {
  readonly values: Values<Unknown, Inside>
  readonly updates: Updates<string, unknown, Inside>
  readonly custom: Custom<Inside>
  readonly tasks: TaskStarted<Inside> | TaskEnded<Inside>
  readonly checkpoints: Checkpoints<Unknown, Inside>
  readonly debug: Debug<Unknown, Inside>
  readonly lifecycle: never
}[M]

/**
 * What a stream emits, by mode; with `subgraphs: true` also what graphs inside do.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Streamed<S extends State.Any, O, M extends Mode, Sub extends boolean> =
  | Of<S, O, M>
  | (true extends Sub ? OfInside<M> : never)
