/**
 * The machine itself, wired by hand: channels, and nodes that subscribe to
 * them, read them and write them. `StateGraph` is lowered to the same.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as Types from "effect/Types"
import type * as Channel from "./Channel.ts"
import type { Checkpointer } from "./Checkpointer.ts"
import type * as Command from "./Command.ts"
import type * as Event from "./Event.ts"
import type { EngineError, Steering } from "./GraphError.ts"
import { lowerPregel, type PregelNode } from "./internal/engine/lowerPregel.ts"
import type { INPUT_NODE, Program } from "./internal/engine/program.ts"
import { type MachineView, type NodeView, view, type WriterView } from "./internal/engine/view.ts"
import { listOf } from "./internal/list.ts"
import { entry } from "./internal/runtime/entry.ts"
import { graphOptions } from "./internal/runtime/options.ts"
import type { AnyRequest, Asks, CanPause } from "./Interrupt.ts"
import type { Migration } from "./Migration.ts"
import type { FailureOf, RequestOf } from "./Node.ts"
import * as Policy from "./Policy.ts"
import type { Running } from "./Running.ts"
import type * as State from "./State.ts"
import * as Thread from "./Thread.ts"

// oxlint-disable typescript/no-explicit-any

export type { MachineView, NodeView, WriterView }

const NodeTypeId = "~superstep/Pregel/Node"

/**
 * Which channels a node's result goes to: names, to which the whole result goes, or functions of the result by name. A result of `undefined` is no write.
 *
 * @category models
 * @since 0.1.0
 */
export type Write = string | ReadonlyArray<string> | Readonly<Record<string, (result: any) => unknown>>

/**
 * A node that is wired by hand.
 *
 * @category models
 * @since 0.1.0
 */
export interface Node<out A, out E, out R> {
  readonly [NodeTypeId]: { readonly _A: A; readonly _E: E; readonly _R: R }
  readonly erased: PregelNode
}

/** Any node. It names no result, errors or services, so that those of a node written in place are inferred from the node alone. */
interface AnyNode {
  readonly [NodeTypeId]: object
  readonly erased: PregelNode
}

/**
 * A node: it runs when a channel that it subscribes to has changed, reads one channel or a record of several, and writes its result.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Pregel } from "superstep"
 *
 * // It runs when `of` has changed, reads two channels, and writes a part of its result to each of two others.
 * const divide = Pregel.node({
 *   subscribe: "of",
 *   read: ["of", "by"],
 *   run: ({ by, of }: { readonly of: number; readonly by: number }) => [Math.floor(of / by), of % by] as const,
 *   write: { quotient: ([quotient]) => quotient, rest: ([, rest]) => rest }
 * })
 *
 * const int = Channel.lastValue(Schema.Int)
 * const machine = Pregel.make("divide", {
 *   channels: { of: int, by: int, quotient: int, rest: int },
 *   nodes: { divide },
 *   input: ["of", "by"],
 *   output: ["quotient", "rest"]
 * })
 *
 * console.log(await Effect.runPromise(machine.invoke({ of: 7, by: 2 }))) // => { quotient: 3, rest: 1 }
 * ```
 */
export const node = <In, A, E = never, R = never>(options: {
  readonly subscribe: string | ReadonlyArray<string>
  /** The channel whose value the node gets, or those whose record. The subscribed ones by default. */
  readonly read?: string | ReadonlyArray<string>
  readonly run: (input: In) => Effect.Effect<A, E, R> | A
  readonly write: Write
  readonly retry?: Policy.Retries<NoInfer<FailureOf<E>>>
  readonly timeout?: Policy.TimeoutInput
  readonly cache?: Policy.Cache<NoInfer<In>>
}): Node<A, E, R> => ({
  [NodeTypeId]: undefined as never,
  erased: {
    subscribe: listOf(options.subscribe),
    read: options.read ?? options.subscribe,
    run: options.run as (input: unknown) => unknown,
    write: writes(options.write),
    retry: listOf(options.retry as Policy.Retries | undefined),
    timeout: options.timeout === undefined ? undefined : Policy.timeout(options.timeout),
    cache: options.cache as Policy.Cache | undefined
  }
})

const whole = (result: unknown): unknown => result

const writes = (write: Write): PregelNode["write"] => {
  if (typeof write === "string" || Array.isArray(write)) {
    return listOf<string>(write).map((channel) => ({ channel, map: whole }))
  }
  return Object.entries(write as Readonly<Record<string, (result: unknown) => unknown>>).map(([channel, map]) => ({
    channel,
    map
  }))
}

/** The values of several channels: those that start with one are always there. */
type Values<C extends State.Fields, N extends keyof C> = Types.Simplify<
  & { readonly [P in N as Channel.PresenceOf<C[P]> extends "initial" ? P : never]: Channel.Value<C[P]> }
  & { readonly [P in N as Channel.PresenceOf<C[P]> extends "initial" ? never : P]?: Channel.Value<C[P]> }
>

/** A channel's value, or a record of those of several. A channel that is not the input may have been written by nobody. */
type Read<C extends State.Fields, I, K> = K extends ReadonlyArray<infer N extends keyof C & string> ? Values<C, N>
  : K extends keyof C ?
    Channel.PresenceOf<C[K]> extends "required" ? Channel.Value<C[K]> | (K extends I ? never : undefined)
    : Channel.Value<C[K]>
  : never
type Written<C extends State.Fields, K> = K extends ReadonlyArray<infer N extends keyof C & string>
  ? { readonly [P in N]?: Channel.Update<C[P]> }
  : K extends keyof C ? Channel.Update<C[K]>
  : never

type ResultsOf<N> = { readonly [K in keyof N]: N[K] extends Node<infer A, any, any> ? A : never }
type ErrorOf<N> = N extends Node<any, infer E, any> ?
  Exclude<E, AnyRequest | Command.ParentCommand<any, any> | Steering<any>>
  : never
type NeedOf<N> = N extends Node<any, any, infer R> ? R : never

/**
 * The state of a machine: a record of its channels.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wired<C extends State.Fields, In, Out> extends State.Any {
  readonly fields: C
  readonly Type: Values<C, keyof C>
  readonly Update: { readonly [K in keyof C]?: Channel.Update<C[K]> }
  readonly Input: In
  readonly PartialInput: In
  readonly Output: Out
}

/** What updates show of each node: what it wrote, by channel. */
type Shown<C extends State.Fields, A> = { readonly [K in keyof A]: Wired<C, never, never>["Update"] }

/** As whom a machine is updated: as a node, as its input, or as its end. */
type Acting<Name extends string> = Name | typeof INPUT_NODE | Command.END

/** What somebody is taken to have brought: a node its result. */
type Brought<A, In, K> = K extends keyof A ? A[K] : K extends typeof INPUT_NODE ? In : never

/**
 * The durable handle on one thread of a machine. `A` are the results of its nodes.
 *
 * @category models
 * @since 0.1.0
 */
export interface MachineThread<
  in out C extends State.Fields,
  in out In,
  out Out,
  in out A,
  out E,
  out R,
  in out Q extends AnyRequest
> extends Omit<Thread.Thread<Wired<C, In, Out>, {}, E, R, Q>, "update" | "updateAll" | "stream" | "events"> {
  /** The events of a run. A paused run delivers them all, then one `paused` event, then the failure. */
  readonly stream: <const M extends Event.Mode, const Sub extends boolean = false>(
    input: Thread.Input<Wired<C, In, Out>, {}, Q>,
    options: Thread.StreamOptions<M, Sub>
  ) => Stream.Stream<
    Event.Streamed<Wired<C, In, Out>, Shown<C, A>, M, Sub> | Event.Paused,
    Thread.RunError<E, Q>,
    R | Checkpointer
  >
  /** The same events; a pause ends the stream normally. */
  readonly events: <const M extends Event.Mode, const Sub extends boolean = false>(
    input: Thread.Input<Wired<C, In, Out>, {}, Q>,
    options: Thread.StreamOptions<M, Sub>
  ) => Stream.Stream<
    Event.Streamed<Wired<C, In, Out>, Shown<C, A>, M, Sub> | Event.Paused,
    Thread.RunError<E, never>,
    R | Checkpointer
  >
  /**
   * Updates the thread as if the node `asNode` had had this result, or as an input (`"__input__"`). Without `asNode`, as the node that ran last.
   */
  readonly update: <const K extends Acting<keyof A & string> = Acting<keyof A & string>>(
    result: Brought<A, In, K> | undefined,
    options?: { readonly asNode?: K; readonly checkpoint?: string }
  ) => Effect.Effect<string, Thread.UpdateError, Checkpointer>
  /** Several updates: each list is one superstep and makes one checkpoint. */
  readonly updateAll: (
    supersteps: ReadonlyArray<
      ReadonlyArray<
        {
          [K in Acting<keyof A & string>]: { readonly values: Brought<A, In, K> | undefined; readonly asNode?: K }
        }[Acting<keyof A & string>]
      >
    >,
    options?: { readonly checkpoint?: string }
  ) => Effect.Effect<string, Thread.UpdateError, Checkpointer>
}

/**
 * A machine that is wired by hand. `A` are the results of its nodes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pregel<
  in out C extends State.Fields,
  in out In,
  out Out,
  in out A,
  out E,
  out R,
  in out Q extends AnyRequest
> {
  readonly name: string
  /** The machine: channels, nodes, triggers, writers. */
  readonly pregel: MachineView
  readonly invoke: CanPause<Q> extends true ? State.Problem<"this machine can pause: run it on a thread, .thread(id)">
    : (input: In, options?: Policy.RunOptions) => Effect.Effect<Out, E | EngineError, R>
  readonly stream: CanPause<Q> extends true ? State.Problem<"this machine can pause: run it on a thread, .thread(id)">
    : <const M extends Event.Mode, const Sub extends boolean = false>(
      input: In,
      options: Policy.RunOptions & Event.StreamOptions<M, Sub>
    ) => Stream.Stream<Event.Streamed<Wired<C, In, Out>, Shown<C, A>, M, Sub>, E | EngineError, R>
  /** The durable handle on one thread. Its state is a record of all channels. */
  readonly thread: (id: string) => MachineThread<C, In, Out, A, E, R, Q>
  /** @internal */
  readonly "~program": Program
}

/**
 * Makes a machine. Untyped callers get a thrown `Error` that names what is wrong.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Pregel } from "superstep"
 *
 * // It runs again as long as it writes what it subscribes to.
 * const double = Pregel.node({
 *   subscribe: "value",
 *   run: (text: string) => text.length < 4 ? text + text : undefined,
 *   write: "value"
 * })
 *
 * const grow = Pregel.make("grow", {
 *   channels: { value: Channel.lastValue(Schema.String) },
 *   nodes: { double },
 *   input: "value",
 *   output: "value"
 * })
 *
 * console.log(await Effect.runPromise(grow.invoke("a"))) // => "aaaa"
 * ```
 */
export const make = <
  const C extends State.Fields,
  const I extends (keyof C & string) | ReadonlyArray<keyof C & string>,
  const O extends (keyof C & string) | ReadonlyArray<keyof C & string>,
  N extends Readonly<Record<string, AnyNode>>
>(
  name: string,
  options: Policy.Limits & {
    readonly channels: C
    readonly nodes: N
    readonly input: I
    readonly output: O
    readonly version?: string
    readonly migrations?: ReadonlyArray<Migration>
    readonly retry?: Policy.Retries<NoInfer<FailureOf<ErrorOf<N[keyof N]>>>>
    readonly timeout?: Policy.TimeoutInput
  }
): Pregel<
  C,
  Written<C, I>,
  Read<C, I, O>,
  ResultsOf<N>,
  ErrorOf<N[keyof N]>,
  Exclude<NeedOf<N[keyof N]>, Running | Asks<any>>,
  RequestOf<NeedOf<N[keyof N]>>
> => {
  const program = lowerPregel({
    name,
    channels: options.channels,
    nodes: Object.fromEntries(Object.entries(options.nodes).map(([key, { erased }]) => [key, erased])),
    input: options.input as string | ReadonlyArray<string>,
    output: options.output as string | ReadonlyArray<string>,
    options: graphOptions(options)
  })
  return {
    name,
    get pregel() {
      return view(program)
    },
    ...entry(program),
    thread: (id: string) => Thread.make(program, id),
    "~program": program
  } as any
}
