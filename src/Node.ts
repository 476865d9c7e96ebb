/**
 * A node with more to say than a function of the state: an input of its own,
 * policies, a handler for its failures, or that it waits until all else is
 * quiet.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { AnySchema } from "./Channel.ts"
import type * as Command from "./Command.ts"
import type { EngineError, NodeTimeout, Steering } from "./GraphError.ts"
import { listOf } from "./internal/list.ts"
import type { AnyRequest, Asks } from "./Interrupt.ts"
import * as Policy from "./Policy.ts"
import type { Running } from "./Running.ts"
import type * as Send from "./Send.ts"
import type * as State from "./State.ts"

/** @internal */
export const TypeId = "~superstep/Node"

/**
 * An effect that is the body of a node.
 *
 * @category models
 * @since 0.1.0
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = Effect.Effect<any, any, any>

/**
 * Marks the body of a node that has an input of its own.
 *
 * @category models
 * @since 0.1.0
 */
export interface Takes<out In> {
  readonly "~takes": In
}

/**
 * What a node with the body `X` takes: an input of its own, or the state.
 *
 * @category type extractors
 * @since 0.1.0
 */
// A node that TypeScript has not inferred yet takes anything: it is checked again when it is.
// oxlint-disable-next-line typescript/no-explicit-any
export type TakenBy<S extends State.Any, X> = unknown extends X ? any : X extends Takes<infer I> ? I : State.Type<S>

/**
 * The Sends that nodes with the bodies `O` take.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type SendsTo<S extends State.Any, O> = {
  [K in keyof O & string]: Send.Send<K, TakenBy<S, O[K]>>
}[keyof O & string]

/**
 * The nodes that the state can feed: where edges and Commands may lead by name alone.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Fed<S extends State.Any, O> = {
  [K in keyof O & string]: State.Type<S> extends TakenBy<S, O[K]> ? K : never
}[keyof O & string]

/**
 * Targets that a graph with the bodies `O` does not have, or that take another input.
 *
 * @internal
 */
export type WrongGoto<S extends State.Any, O, G> = G extends string ? Exclude<G, Fed<S, O> | Command.END>
  : G extends Send.Send<infer N, unknown> ? (G extends SendsTo<S, O> ? never : `a Send to ${N}`)
  : never

/**
 * A node that is more than a function. It is called like one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Node<out X> {
  // oxlint-disable-next-line typescript/no-explicit-any
  (input: any): X
  readonly [TypeId]: typeof TypeId
  readonly options: Config
}

/**
 * What `Node.make` was told, with defaults resolved.
 *
 * @category models
 * @since 0.1.0
 */
export interface Config {
  readonly input: AnySchema | State.Any | undefined
  readonly run: (input: unknown) => unknown
  readonly retry: ReadonlyArray<Policy.Retry> | undefined
  readonly timeout: Policy.Timeout | undefined
  readonly cache: Policy.Cache | undefined
  readonly defer: boolean
  readonly onError: ((error: unknown, input: unknown) => unknown) | undefined
  readonly destinations: ReadonlyArray<string>
}

/**
 * Whether a value is a node made by `Node.make`.
 *
 * @category guards
 * @since 0.1.0
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Node } from "superstep"
 *
 * const run = ({ item }: { readonly item: number }) => ({ total: item })
 * console.log(Node.isNode(Node.make({ input: Schema.Struct({ item: Schema.Int }), run }))) // => true
 * console.log(Node.isNode(run)) // => false
 * ```
 */
export const isNode = (u: unknown): u is Node<unknown> => typeof u === "function" && TypeId in u

/** The type of what a schema or a state feeds to a node. */
type InputOf<I> = I extends State.Any ? State.Type<I> : I extends AnySchema ? I["Type"] : never

// oxlint-disable typescript/no-explicit-any
type Out<X> = X extends Effect.Effect<infer A, any, any> ? A : X
type Fail<X> = X extends Effect.Effect<any, infer E, any> ? E : never
type Need<X> = X extends Effect.Effect<any, any, infer R> ? R : never
// oxlint-enable typescript/no-explicit-any

interface Options<I, E> {
  /** A schema, for a node that is started by `Send` or reads a part of the state; or the state itself. */
  readonly input: I
  readonly retry?: Policy.Retries<NoInfer<FailureOf<E>>>
  readonly timeout?: Policy.TimeoutInput
  readonly cache?: Policy.Cache<NoInfer<InputOf<I>>>
  /** Runs only when nothing else is left to run. */
  readonly defer?: boolean
  /** Where the Commands of this node may go, for diagrams. */
  readonly destinations?: ReadonlyArray<string>
}

/**
 * Makes a node. `run` gives an Effect of an update, or the update itself. With `onError`, a typed failure that no retry is left for is handed to it, with the input; what it returns
 * stands for the node's output, but the node's own edges do not fire: it routes with a `Command`. TypeScript infers the parameter of
 * `onError` where `run` is a function literal; where `run` is made by another function, as by `Effect.fn`, annotate it.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Node, State, StateGraph } from "superstep"
 *
 * class Log extends State.make({ log: Channel.append(Schema.String) }) {}
 *
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Log, {
 *     broken: Node.make({
 *       input: Log,
 *       run: () => Effect.fail("down" as const),
 *       onError: (error) => ({ log: [`handled: ${error === "down" ? error : error._tag}`] })
 *     }),
 *     last: Node.make({ input: Log, defer: true, run: ({ log }) => ({ log: [`after ${log.length}`] }) })
 *   }),
 *   { start: ["broken", "last"] }
 * )
 *
 * console.log(await Effect.runPromise(app.invoke({}))) // => { log: ["handled: down", "after 1"] }
 * ```
 */
export const make: <const I extends AnySchema | State.Any, X, X2 = NoHandler, E = Handled<X>>(
  options: Options<I, Fail<X>> & {
    readonly run: (input: InputOf<I>) => X
    readonly onError?: ((error: E, input: NoInfer<InputOf<I>>) => X2) & NoInfer<CheckHandler<X, E>>
  }
) => Node<EffectOf<X, X2> & Takes<InputOf<I>>> = (
  options: Options<AnySchema | State.Any, never> & {
    readonly run: (input: never) => unknown
    readonly onError?: (error: never, input: never) => unknown
  }
) => {
  const run = options.run as (input: unknown) => unknown
  const config: Config = {
    input: options.input,
    run,
    retry: options.retry === undefined ? undefined : listOf(options.retry as Policy.Retries),
    timeout: options.timeout === undefined ? undefined : Policy.timeout(options.timeout),
    cache: options.cache as Policy.Cache | undefined,
    defer: options.defer ?? false,
    onError: options.onError as Config["onError"],
    destinations: options.destinations ?? []
  }
  return Object.assign((input: unknown) => run(input), { [TypeId]: TypeId, options: config }) as never
}

/** Stands for what a handler returns where there is none. */
interface NoHandler {
  readonly "~noHandler": true
}
type IsHandled<X2> = [X2] extends [NoHandler] ? [NoHandler] extends [X2] ? false : true : true

type EffectOf<X, X2> = IsHandled<X2> extends true
  ? Effect.Effect<Out<X> | Out<X2>, Unhandled<Fail<X>> | Fail<X2>, Need<X> | Need<X2>>
  : Effect.Effect<Out<X>, Fail<X>, Need<X>>

/** Said in place of the error where TypeScript asks for the parameter of a handler before it has inferred `run`. */
type NotInferred =
  "the error is not inferred where another function makes `run`: annotate the parameter of onError, or write run: (input) => f(input)"

// The default of a type parameter, so that `X` stays open: it is inferred to its end where the handler came too early.
type Handled<X> = unknown extends X ? State.Problem<NotInferred> : Exclude<Fail<X>, Unhandled<Fail<X>>> | NodeTimeout

type CheckHandler<X, E> = unknown extends X ? unknown
  : [E] extends [State.Problem<NotInferred>] ? unknown
  : [Handled<X>] extends [E] ? unknown
  : State.Problem<"onError takes another error than `run` fails with">

/** Pauses and commands for the parent, also those of graphs that the node calls, are no errors: no handler gets them. */
type Unhandled<E> = Extract<E, { readonly _tag: "InterruptRequest" | "ParentCommand" | "Steering" }>

/**
 * What the policies of a node look at: of all that its effect can fail with, what is neither a pause nor a command nor the engine's.
 *
 * @category type extractors
 * @since 0.1.0
 */
// What TypeScript has not inferred yet is anything: it is checked again when it is.
// oxlint-disable-next-line typescript/no-explicit-any
export type FailureOf<E> = unknown extends E ? never : Exclude<E, Unhandled<E> | EngineError>

// What functions and graphs show in their types of what their bodies fail with, ask and need. Here, and not in an internal
// module, for the declarations of code that makes them in generic functions name these.

/**
 * What a function fails with: requests, commands and the engine's failures have places of their own.
 *
 * @internal
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type ErrorOf<E> = Exclude<E, AnyRequest | Command.ParentCommand<any, any> | EngineError>

/**
 * How commands for the parent steer the graph around the caller.
 *
 * @internal
 */
export type SteeringOf<E> = E extends Command.ParentCommand<infer U, infer G> ? Steering<Command.Command<U, G>> : never

/**
 * What is asked, by the marks of it in the requirements.
 *
 * @internal
 */
export type RequestOf<R> = R extends Asks<infer Q> ? Extract<Q, AnyRequest> : never

/**
 * What is needed from outside of the run.
 *
 * @internal
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type NeedOf<R> = Exclude<R, Running | Asks<any>>
