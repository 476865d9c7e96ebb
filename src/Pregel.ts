/**
 * The machine itself, wired by hand: channels, and nodes that subscribe to
 * them, read them and write them. `StateGraph` is lowered to the same.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as Channel from "./Channel.ts"
import type * as Event from "./Event.ts"
import type { EngineError } from "./GraphError.ts"
import { lowerPregel, type PregelNode } from "./internal/engine/lower.ts"
import { type MachineView, type NodeView, view, type WriterView } from "./internal/engine/view.ts"
import { graphOptions, rootOptions } from "./internal/runtime/options.ts"
import { runOnce } from "./internal/runtime/root.ts"
import { eventStream } from "./internal/runtime/stream.ts"
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
export interface Node<out E, out R> {
  readonly [NodeTypeId]: { readonly _E: E; readonly _R: R }
  readonly erased: PregelNode
}

/** Any node. It names no errors or services, so that those of a node written in place are inferred from the node alone. */
interface AnyNode {
  readonly [NodeTypeId]: object
  readonly erased: PregelNode
}

/**
 * A node: it runs when a channel that it subscribes to has changed, reads one channel or a record of several, and writes its result.
 *
 * @category constructors
 * @since 0.1.0
 */
export const node = <In, A, E = never, R = never>(options: {
  readonly subscribe: string | ReadonlyArray<string>
  /** The channel whose value the node gets, or those whose record. The subscribed ones by default. */
  readonly read?: string | ReadonlyArray<string>
  readonly run: (input: In) => Effect.Effect<A, E, R> | A
  readonly write: Write
  readonly retry?: Policy.Retry | ReadonlyArray<Policy.Retry>
  readonly timeout?: Policy.TimeoutInput
  readonly cache?: Policy.Cache
}): Node<E, R> => ({
  [NodeTypeId]: undefined as never,
  erased: {
    subscribe: typeof options.subscribe === "string" ? [options.subscribe] : options.subscribe,
    read: options.read ?? options.subscribe,
    run: options.run as (input: unknown) => unknown,
    write: writes(options.write),
    retry: options.retry === undefined
      ? []
      : Array.isArray(options.retry)
      ? options.retry as ReadonlyArray<Policy.Retry>
      : [options.retry as Policy.Retry],
    timeout: options.timeout === undefined ? undefined : Policy.timeout(options.timeout),
    cache: options.cache
  }
})

const whole = (result: unknown): unknown => result

const writes = (write: Write): PregelNode["write"] => {
  if (typeof write === "string") return [{ channel: write, map: whole }]
  if (Array.isArray(write)) return (write as ReadonlyArray<string>).map((channel) => ({ channel, map: whole }))
  return Object.entries(write as Readonly<Record<string, (result: unknown) => unknown>>).map(([channel, map]) => ({
    channel,
    map
  }))
}

/** A channel's value, or a record of those of several. */
type Read<C extends State.Fields, K> = K extends ReadonlyArray<infer N extends keyof C & string>
  ? { readonly [P in N]?: Channel.Value<C[P]> }
  : K extends keyof C ? Channel.Value<C[K]>
  : never
type Written<C extends State.Fields, K> = K extends ReadonlyArray<infer N extends keyof C & string>
  ? { readonly [P in N]?: Channel.Update<C[P]> }
  : K extends keyof C ? Channel.Update<C[K]>
  : never

type ErrorOf<N> = N extends Node<infer E, any> ? E : never
type NeedOf<N> = N extends Node<any, infer R> ? Exclude<R, Running> : never

/**
 * A machine that is wired by hand.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pregel<in In, out Out, out E, out R> {
  readonly name: string
  /** The machine: channels, nodes, triggers, writers. */
  readonly pregel: MachineView
  readonly invoke: (input: In, options?: RunOptions) => Effect.Effect<Out, E | EngineError, R>
  readonly stream: <const M extends Event.Mode>(
    input: In,
    options: RunOptions & Event.StreamOptions<M>
  ) => Stream.Stream<Extract<Event.Any, { readonly mode: M }>, E | EngineError, R>
  /** The durable handle on one thread. Its state is a record of all channels. */
  readonly thread: (id: string) => Thread.Thread<any, any, E, R, never>
}

interface RunOptions extends Policy.Limits {
  readonly seed?: string
}

/**
 * Makes a machine. Untyped callers get a thrown `Error` that names what is wrong.
 *
 * @category constructors
 * @since 0.1.0
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
    readonly retry?: Policy.Retry | ReadonlyArray<Policy.Retry>
    readonly timeout?: Policy.TimeoutInput
  }
): Pregel<Written<C, I>, Read<C, O>, ErrorOf<N[keyof N]>, NeedOf<N[keyof N]>> => {
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
    invoke: (input: unknown, run?: RunOptions) => runOnce(program, input, rootOptions(run, undefined)),
    stream: (input: unknown, run: RunOptions & Event.StreamOptions<Event.Mode>) =>
      eventStream(run, (sink) => runOnce(program, input, rootOptions(run, sink))),
    thread: (id: string) => Thread.make(program, id)
  } as any
}
