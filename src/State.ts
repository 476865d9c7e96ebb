/**
 * The state of a graph: a record of channels, and the types that follow from
 * it. `Type` is what a node reads, `Update` what it may write, `Input` what a
 * first run must bring, `Output` what a run ends with.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import * as Channel from "./Channel.ts"

const TypeId = "~superstep/State"

/**
 * A compile-time error message. Nothing is ever assignable to it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Problem<Message> {
  readonly "~superstep: this does not type-check": Message
}

/**
 * The channels of a state, by key.
 *
 * @category models
 * @since 0.1.0
 */
export type Fields = Readonly<Record<string, Channel.Any>>

/** What a node reads at one key: a key that a first run need not bring may be empty. */
type ReadAt<F extends Fields, I, K extends keyof F> = Channel.PresenceOf<F[K]> extends "required"
  ? K extends I ? Channel.Value<F[K]> : Channel.Value<F[K]> | undefined
  : Channel.Value<F[K]>

/**
 * A record of channels. `I` are the keys that an input may bring, `O` those that an output shows; other keys are private to the nodes.
 *
 * @category models
 * @since 0.1.0
 */
export interface State<F extends Fields, I extends keyof F = keyof F, O extends keyof F = keyof F> {
  new(_: never): {}
  readonly [TypeId]: typeof TypeId
  readonly fields: F
  readonly input: ReadonlyArray<string>
  readonly output: ReadonlyArray<string>
  readonly Type: { readonly [K in keyof F]: ReadAt<F, I, K> }
  readonly Update: { readonly [K in keyof F]?: Channel.Update<F[K]> }
  readonly Input: Types.Simplify<
    & { readonly [K in I as Channel.PresenceOf<F[K]> extends "required" ? K : never]: Channel.Value<F[K]> }
    & { readonly [K in I as Channel.PresenceOf<F[K]> extends "required" ? never : K]?: Channel.Update<F[K]> }
  >
  readonly PartialInput: { readonly [K in I]?: Channel.Update<F[K]> }
  readonly Output: { readonly [K in O]: ReadAt<F, I, K> }
}

/**
 * Any state.
 *
 * @category models
 * @since 0.1.0
 */
export interface Any {
  readonly [TypeId]: typeof TypeId
  readonly fields: Fields
  readonly input: ReadonlyArray<string>
  readonly output: ReadonlyArray<string>
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly Type: any
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly Update: any
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly Input: any
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly PartialInput: any
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly Output: any
}

/**
 * What a node reads.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Type<S extends Any> = S["Type"]
/**
 * What a node may write.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Update<S extends Any> = S["Update"]
/**
 * What a first run must bring.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Input<S extends Any> = S["Input"]
/**
 * What a run of an existing thread may bring.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type PartialInput<S extends Any> = S["PartialInput"]
/**
 * What a run ends with.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Output<S extends Any> = S["Output"]

/**
 * Keys of an update that the state does not have.
 *
 * @internal
 */
export type UnknownKeys<S extends Any, U> = U extends unknown ? Exclude<keyof U, keyof Update<S>> : never

/**
 * Keys of an update whose type is wrong.
 *
 * @internal
 */
export type WrongKeys<S extends Any, U> = U extends unknown ? {
    [K in keyof U & keyof Update<S>]: U[K] extends Update<S>[K] ? never : K
  }[keyof U & keyof Update<S>]
  : never

/**
 * A bare schema in a state stands for a last-value channel.
 *
 * @category models
 * @since 0.1.0
 */
export type FromShape<F> = {
  readonly [K in keyof F]: F[K] extends Channel.Any ? F[K]
    : F[K] extends Channel.AnySchema ? Channel.Channel<F[K]["Type"], F[K]["Type"], "required">
    : never
}

/**
 * Makes a state from channels and schemas. `input` and `output` name the keys that an input may bring and an output shows;
 * without them all keys are both.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, State, StateGraph } from "superstep"
 *
 * class Text extends State.make({
 *   text: Schema.String, // keeps the last value; a first input has to bring it
 *   words: Channel.append(Schema.String), // starts empty
 *   count: Channel.lastValue(Schema.Int, { initial: () => 0 })
 * }, { input: ["text"], output: ["count"] }) {}
 *
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Text, {
 *     split: ({ text }) => ({ words: text.split(" ") }),
 *     count: ({ words }) => ({ count: words.length })
 *   }),
 *   { start: "split", edges: { split: "count" } }
 * )
 *
 * console.log(await Effect.runPromise(app.invoke({ text: "to be or not" }))) // => { count: 4 }
 * ```
 */
export const make = <
  const F extends Readonly<Record<string, Channel.Any | Channel.AnySchema>>,
  I extends keyof F & string = keyof F & string,
  O extends keyof F & string = keyof F & string
>(
  shape: F,
  options?: { readonly input?: ReadonlyArray<I>; readonly output?: ReadonlyArray<O> }
): State<FromShape<F>, I, O> => {
  // Without a prototype, so that `__proto__` is a key like any other.
  const fields: Record<string, Channel.Any> = Object.create(null) as Record<string, Channel.Any>
  for (const key of Object.keys(shape)) {
    const field = shape[key]!
    if (!Channel.isChannel(field) && !Schema.isSchema(field)) {
      throw new Error(`State.make: "${key}" is neither a channel nor a schema`)
    }
    fields[key] = Channel.isChannel(field) ? field : Channel.lastValue(field as Channel.AnySchema)
  }
  const keys = Object.keys(fields)
  for (const key of [...(options?.input ?? []), ...(options?.output ?? [])]) {
    if (!keys.includes(key)) throw new Error(`State.make: input or output names "${key}", which is no key of the state`)
  }
  return Object.assign(class {}, {
    [TypeId]: TypeId,
    fields,
    input: options?.input ?? keys,
    output: options?.output ?? keys
  }) as unknown as State<FromShape<F>, I, O>
}

/**
 * Whether a value is a state.
 *
 * @category guards
 * @since 0.1.0
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { State } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 *
 * console.log(State.isState(Count)) // => true
 * console.log(State.isState(Schema.Struct({ total: Schema.Int }))) // => false
 * ```
 */
export const isState = (u: unknown): u is Any => typeof u === "function" && TypeId in u
