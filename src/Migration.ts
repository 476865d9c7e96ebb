/**
 * What became of the keys and nodes of a graph since its threads were stored.
 * A thread outlives the code that began it: what a change leaves open has to
 * be said, or the thread fails with `GraphChanged` before anything runs.
 *
 * @since 0.1.0
 */
import * as Channel from "./Channel.ts"

/**
 * One thing that has changed. A graph takes them in the order in which they were made, from the oldest on.
 *
 * @category models
 * @since 0.1.0
 */
export type Migration =
  | { readonly _tag: "Rename"; readonly from: string; readonly to: string }
  | { readonly _tag: "Drop"; readonly key: string }
  | { readonly _tag: "Accept"; readonly key: string }
  | {
    readonly _tag: "Convert"
    readonly key: string
    readonly from: Channel.Any
    readonly value: (old: unknown) => unknown
    readonly write: ((old: unknown) => unknown) | undefined
  }
  | { readonly _tag: "DropNode"; readonly node: string }

/**
 * A key of the state has another name now.
 *
 * @category constructors
 * @since 0.1.0
 */
export const rename = (from: string, to: string): Migration => ({ _tag: "Rename", from, to })

/**
 * A key of the state is gone, and what threads hold there may be forgotten. So may what has arrived at a join that is gone: its
 * key is the name that `GraphChanged` gives.
 *
 * @category constructors
 * @since 0.1.0
 */
export const drop = (key: string): Migration => ({ _tag: "Drop", key })

/**
 * What is stored of a key fits its present channel, although rule or schema have changed. What does not fit after all fails
 * with `CheckpointError`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const accept = (key: string): Migration => ({ _tag: "Accept", key })

type ValueOf<F> = F extends Channel.Any ? Channel.Value<F> : F extends Channel.AnySchema ? F["Type"] : never
// oxlint-disable-next-line typescript/no-explicit-any
type UpdateOf<F> = F extends Channel.Any ? Exclude<Channel.Update<F>, Channel.Overwrite<any>> : ValueOf<F>

/**
 * What was stored of a key as `from`, the channel or schema that it had then, becomes what `value` makes of it. `write` is for what tasks of
 * an unfinished superstep have written, where the channel adds that to its value.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Migration } from "superstep"
 *
 * // It was a text, and is a number of cents now.
 * const inCents = Migration.convert("total", {
 *   from: Schema.String,
 *   value: (euros) => Math.round(Number(euros) * 100)
 * })
 *
 * console.log(inCents._tag) // => "Convert"
 * ```
 */
export const convert = <F extends Channel.Any | Channel.AnySchema>(
  key: string,
  options: {
    readonly from: F
    readonly value: (old: ValueOf<F>) => unknown
    readonly write?: (old: UpdateOf<F>) => unknown
  }
): Migration => ({
  _tag: "Convert",
  key,
  from: Channel.isChannel(options.from) ? options.from : Channel.lastValue(options.from),
  value: options.value as (old: unknown) => unknown,
  write: options.write as ((old: unknown) => unknown) | undefined
})

/**
 * A node is gone, and so is what it was to do in threads that wait for it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const dropNode = (node: string): Migration => ({ _tag: "DropNode", node })
