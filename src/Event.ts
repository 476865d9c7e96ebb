/**
 * What happens in a run, as its streams show it. Every event carries the mode
 * it belongs to, the path of the graph it comes from and the superstep.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { PendingRequest, Source } from "./Checkpoint.ts"
import type * as Command from "./Command.ts"
import type * as State from "./State.ts"

/**
 * The kinds of events that a stream can show.
 *
 * @category models
 * @since 0.1.0
 */
export type Mode = "values" | "updates" | "custom" | "tasks" | "checkpoints" | "debug"

/**
 * Where an event comes from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Origin {
  /** Segments of the namespace; empty at the root. */
  readonly path: ReadonlyArray<string>
  readonly step: number
}

/**
 * The whole state after a superstep that changed it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Values<out V> extends Origin {
  readonly mode: "values"
  readonly values: V
}

/**
 * What a task wrote, as its node returned it: once per task, when it finishes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Updates<out Node extends string, out Update> extends Origin {
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
export interface Custom extends Origin {
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
export interface TaskStarted extends Origin {
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
export interface TaskEnded extends Origin {
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
export interface Checkpoints<out V> extends Origin {
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
export interface Debug<out V> extends Origin {
  readonly mode: "debug"
  readonly type: "checkpoint" | "task" | "task_result"
  /** Milliseconds since the epoch. */
  readonly timestampMillis: number
  readonly payload: TaskStarted | TaskEnded | Checkpoints<V>
}

/**
 * The run waits for answers. The last event of a stream before its failure; every mode has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Paused extends Origin {
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
  | Paused

// oxlint-disable typescript/no-explicit-any
type Out<X> = X extends Effect.Effect<infer A, any, any> ? A : X

/**
 * Which events a stream shows.
 *
 * @category models
 * @since 0.1.0
 */
export interface StreamOptions<M extends Mode> {
  readonly modes: ReadonlyArray<M>
  /** Whether events of graphs inside this one are shown too. */
  readonly subgraphs?: boolean
}

/**
 * The updates of a graph's nodes, as its stream shows them.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type UpdatesOf<O> = {
  [K in keyof O & string]: Updates<K, Shown<O[K]>>
}[keyof O & string]

type Shown<X> = Out<X> extends infer A ? A extends Command.Command<infer U, any> ? U : A extends void ? undefined : A
  : never

/**
 * What a stream emits, by mode.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Of<S extends State.Any, O, M extends Mode> = {
  readonly values: Values<State.Output<S>>
  readonly updates: UpdatesOf<O>
  readonly custom: Custom
  readonly tasks: TaskStarted | TaskEnded
  readonly checkpoints: Checkpoints<State.Type<S>>
  readonly debug: Debug<State.Type<S>>
}[M]
