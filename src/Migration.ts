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
  | { readonly _tag: "Accept"; readonly key: string; readonly from: Channel.Any }
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
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, Migration, State, StateGraph } from "superstep"
 *
 * class Before extends State.make({ sum: Schema.Int }) {}
 * class After extends State.make({ total: Schema.Int }) {}
 * const before = StateGraph.make("app", StateGraph.nodes(Before, { add: ({ sum }) => ({ sum: sum + 1 }) }), {
 *   start: "add"
 * })
 * const after = StateGraph.make("app", StateGraph.nodes(After, { add: ({ total }) => ({ total: total + 1 }) }), {
 *   start: "add"
 * }, { migrations: [Migration.rename("sum", "total")] })
 *
 * const both = Effect.andThen(before.thread("t").invoke({ sum: 1 }), after.thread("t").invoke({}))
 * console.log(await Effect.runPromise(both.pipe(Effect.provide(Checkpointer.layerMemory)))) // => { total: 3 }
 * ```
 */
export const rename = (from: string, to: string): Migration => ({ _tag: "Rename", from, to })

/**
 * A key of the state is gone, and what threads hold there may be forgotten. So may what has arrived at a join that is gone: its
 * key is the name that `GraphChanged` gives.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, Migration, State, StateGraph } from "superstep"
 *
 * class Before extends State.make({ total: Schema.Int, draft: Schema.String }) {}
 * class After extends State.make({ total: Schema.Int }) {}
 * const before = StateGraph.make("app", StateGraph.nodes(Before, { add: ({ total }) => ({ total: total + 1 }) }), {
 *   start: "add"
 * })
 * const after = StateGraph.make("app", StateGraph.nodes(After, { add: ({ total }) => ({ total: total + 1 }) }), {
 *   start: "add"
 * }, { migrations: [Migration.drop("draft")] })
 *
 * const both = Effect.andThen(before.thread("t").invoke({ total: 1, draft: "?" }), after.thread("t").invoke({}))
 * console.log(await Effect.runPromise(both.pipe(Effect.provide(Checkpointer.layerMemory)))) // => { total: 3 }
 * ```
 */
export const drop = (key: string): Migration => ({ _tag: "Drop", key })

/**
 * What was stored of a key as `from`, the channel or schema that it had then, fits the schema that came next. What does not fit after all
 * fails with `CheckpointError`.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Checkpointer, Migration, State, StateGraph } from "superstep"
 *
 * class Before extends State.make({ notes: Channel.append(Schema.String) }) {}
 * class After extends State.make({ notes: Channel.append(Schema.NullOr(Schema.String)) }) {}
 * const note = () => ({ notes: ["noted"] })
 * const before = StateGraph.make("app", StateGraph.nodes(Before, { note }), { start: "note" })
 * const after = StateGraph.make("app", StateGraph.nodes(After, { note }), { start: "note" }, {
 *   migrations: [Migration.accept("notes", { from: Before.fields.notes })]
 * })
 *
 * const both = Effect.andThen(before.thread("t").invoke({ notes: [] }), after.thread("t").invoke({}))
 * console.log(await Effect.runPromise(both.pipe(Effect.provide(Checkpointer.layerMemory))))
 * // => { notes: ["noted", "noted"] }
 * ```
 */
export const accept = (key: string, options: { readonly from: Channel.Any | Channel.AnySchema }): Migration => ({
  _tag: "Accept",
  key,
  from: channelOf(options.from)
})

const channelOf = (from: Channel.Any | Channel.AnySchema): Channel.Any =>
  Channel.isChannel(from) ? from : Channel.lastValue(from)

type ValueOf<F> = F extends Channel.Any ? Channel.Value<F> : F extends Channel.AnySchema ? F["Type"] : never
// oxlint-disable-next-line typescript/no-explicit-any
type UpdateOf<F> = F extends Channel.Any ? Exclude<Channel.Update<F>, Channel.Overwrite<any>> : ValueOf<F>

/**
 * What was stored of a key as `from`, the channel or schema that it had then, becomes what `value` makes of it. `write` is for what tasks of
 * an unfinished superstep have written: needed where the channel added that to its value. Without it, what replaced the old value replaces the new one.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, Migration, State, StateGraph } from "superstep"
 *
 * class Before extends State.make({ total: Schema.String }) {}
 * const before = StateGraph.make("app", StateGraph.nodes(Before, { price: () => ({ total: "12.50" }) }), {
 *   start: "price"
 * })
 *
 * // It was a text, and is a number of cents now.
 * const inCents = (euros: string) => Math.round(Number(euros) * 100)
 * class After extends State.make({ total: Schema.Int }) {}
 * const after = StateGraph.make("app", StateGraph.nodes(After, { price: () => ({ total: 0 }) }), { start: "price" }, {
 *   migrations: [Migration.convert("total", { from: Schema.String, value: inCents })]
 * })
 *
 * const both = Effect.andThen(before.thread("t").invoke({ total: "" }), after.thread("t").state())
 * console.log((await Effect.runPromise(both.pipe(Effect.provide(Checkpointer.layerMemory)))).values)
 * // => { total: 1250 }
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
  from: channelOf(options.from),
  value: options.value as (old: unknown) => unknown,
  write: options.write as ((old: unknown) => unknown) | undefined
})

/**
 * A node is gone, and so is what it was to do in threads that wait for it.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, Migration, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const double = ({ total }: { readonly total: number }) => ({ total: total * 2 })
 * const before = StateGraph.make("app", StateGraph.nodes(Count, { double, check: () => ({}) }), {
 *   start: "double",
 *   edges: { double: "check" }
 * })
 * const after = StateGraph.make("app", StateGraph.nodes(Count, { double }), { start: "double" }, {
 *   migrations: [Migration.dropNode("check")]
 * })
 *
 * const stopped = Effect.flip(before.thread("t").invoke({ total: 10 }, { before: ["check"] }))
 * const both = Effect.andThen(stopped, after.thread("t").continue())
 * console.log(await Effect.runPromise(both.pipe(Effect.provide(Checkpointer.layerMemory)))) // => { total: 20 }
 * ```
 */
export const dropNode = (node: string): Migration => ({ _tag: "DropNode", node })
