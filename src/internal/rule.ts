/** The merge rules of channels, and what a channel holds: the types that `Channel` exports. */
import type * as Option from "effect/Option"

/**
 * The closed set of merge rules. `update`, `consume`, `finish`, `read` and `isAvailable` are total over it.
 *
 * @category models
 * @since 0.1.0
 */
export type Rule =
  | LastValue
  | LastValueAfterFinish
  | AnyValue
  | EphemeralValue
  | UntrackedValue
  | Topic
  | BinaryOperatorAggregate
  | Delta
  | NamedBarrier
  | NamedBarrierAfterFinish

/** @category models @since 0.1.0 */
export interface LastValue {
  readonly _tag: "LastValue"
  /** Makes the value that there is before any write. */
  readonly initial: (() => unknown) | undefined
}
/** @category models @since 0.1.0 */
export interface LastValueAfterFinish {
  readonly _tag: "LastValueAfterFinish"
}
/** @category models @since 0.1.0 */
export interface AnyValue {
  readonly _tag: "AnyValue"
}
/** @category models @since 0.1.0 */
export interface EphemeralValue {
  readonly _tag: "EphemeralValue"
  /** Whether a second write in the same superstep is refused. */
  readonly guard: boolean
}
/** @category models @since 0.1.0 */
export interface UntrackedValue {
  readonly _tag: "UntrackedValue"
  /** Whether a second write in the same superstep is refused. */
  readonly guard: boolean
}
/** @category models @since 0.1.0 */
export interface Topic {
  readonly _tag: "Topic"
  readonly accumulate: boolean
  readonly unique: boolean
  /** With `unique`: items with the same key are the same item. By the stored form, so that a Topic that was read back agrees. */
  readonly key?: (item: unknown) => unknown
}
/** @category models @since 0.1.0 */
export interface BinaryOperatorAggregate {
  readonly _tag: "BinaryOperatorAggregate"
  /** Makes the value that there is before any write. */
  readonly initial: (() => unknown) | undefined
  readonly reduce: (value: unknown, update: unknown) => unknown
  /** Whether a stored value can be rebuilt cheaply from the stored writes, because the rule is the library's own append. */
  readonly appends: boolean
}
/** @category models @since 0.1.0 */
export interface Delta {
  readonly _tag: "Delta"
  /** Makes the value that there is before any write. */
  readonly initial: () => unknown
  readonly reduce: (value: unknown, updates: ReadonlyArray<unknown>) => unknown
  /** Number of supersteps with writes after which the whole value is stored again, at the latest. */
  readonly snapshotFrequency: number
}
/** @category models @since 0.1.0 */
export interface NamedBarrier {
  readonly _tag: "NamedBarrier"
  readonly names: ReadonlyArray<string>
  /** `"idle"`: released with some of its names when nothing else is left to run. */
  readonly release: "all" | "idle"
}
/** @category models @since 0.1.0 */
export interface NamedBarrierAfterFinish {
  readonly _tag: "NamedBarrierAfterFinish"
  readonly names: ReadonlyArray<string>
  /** `"idle"`: released with some of its names when not even what waits for the finish is left to run. */
  readonly release: "all" | "idle"
}

/**
 * What a channel holds between two supersteps. For most rules the value itself; a barrier holds who has arrived, and the
 * rules that wait for the finish hold whether it came. `read` gives what a node sees.
 *
 * @category models
 * @since 0.1.0
 */
export type Cell = Option.Option<unknown>

/** What the cell of a channel that waits for the finish holds. */
export interface Finishing {
  readonly value: unknown
  readonly finished: boolean
}

/**
 * What the cell of a barrier holds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Arrivals {
  /** Who has arrived, in the order in which the barrier names them. */
  readonly seen: ReadonlyArray<string>
  /** Whether the barrier may be passed although not all have arrived, or after the finish. */
  readonly released: boolean
  /** Whether the barrier was passed since the last input. */
  readonly fired: boolean
}
