/**
 * A program that is written as a function: loops and conditions in place of
 * nodes and edges, on the same machine. What it does in tasks is kept; what it
 * saves, its next run on the thread gets.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type * as Channel from "./Channel.ts"
import type { Checkpointer } from "./Checkpointer.ts"
import type * as Event from "./Event.ts"
import type { EngineError, Steering } from "./GraphError.ts"
import { lowerFunction } from "./internal/engine/lowerFunction.ts"
import type { Program } from "./internal/engine/program.ts"
import { type MachineView, view } from "./internal/engine/view.ts"
import { callInside } from "./internal/runtime/call.ts"
import { entry } from "./internal/runtime/entry.ts"
import { graphOptions, keyOptions, telling, told } from "./internal/runtime/options.ts"
import type { AnyRequest, Asking, CanPause } from "./Interrupt.ts"
import type { Migration } from "./Migration.ts"
import type { ErrorOf, FailureOf, NeedOf, RequestOf, SteeringOf } from "./Node.ts"
import type * as Policy from "./Policy.ts"
import type * as Pregel from "./Pregel.ts"
import type { Running } from "./Running.ts"
import type * as State from "./State.ts"
import * as Thread from "./Thread.ts"

// oxlint-disable typescript/no-explicit-any

const FinalTypeId = "~superstep/Entrypoint/Final"

/**
 * A result whose value is one thing, and what is saved for the next run another.
 *
 * @category models
 * @since 0.1.0
 */
export interface Final<out Value, out Saved> {
  readonly [FinalTypeId]: typeof FinalTypeId
  readonly value: Value
  readonly save: Saved
}

/**
 * Gives one thing, and saves another for the next run on the thread. Where `save` is `undefined`, what was saved before stays.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, Entrypoint } from "superstep"
 *
 * const count = Entrypoint.make("count", {
 *   input: Schema.String,
 *   output: Schema.Int,
 *   saved: Schema.Array(Schema.String),
 *   run: (word, words = []) => Entrypoint.final({ value: words.length, save: [...words, word] })
 * })
 *
 * const thread = count.thread("t")
 * const program = Effect.all([thread.invoke("a"), thread.invoke("b"), thread.invoke("c")])
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))) // => [0, 1, 2]
 * ```
 */
export const final = <const Value, const Saved>(
  result: { readonly value: Value; readonly save: Saved }
): Final<Value, Saved> => ({ [FinalTypeId]: FinalTypeId, value: result.value, save: result.save })

const isFinal = (u: unknown): u is Final<unknown, unknown> => typeof u === "object" && u !== null && FinalTypeId in u

/** The channels of an entrypoint. */
type Wires<In, Out, Saved> = {
  readonly __start__: Channel.Channel<In | undefined, In, "optional">
  readonly __end__: Channel.Channel<Out | undefined, Out, "optional">
  readonly __previous__: Channel.Channel<Saved, Saved, "required">
}

type Shown<In, Out, Saved> = Pregel.Wired<Wires<In, Out, Saved>, In, Out>["Type"]

/** What the streams of an entrypoint emit, by mode: its own events, and those of its tasks, whose types are not known here. */
type Streamed<Name extends string, In, Out, Saved, M extends Event.Mode> =
  | {
    readonly values: Event.Values<Out, Event.Root>
    readonly updates: Event.Updates<Name, Out, Event.Root>
    readonly custom: Event.Custom<Event.Root>
    readonly tasks: Event.TaskStarted<Event.Root> | Event.TaskEnded<Event.Root>
    readonly checkpoints: Event.Checkpoints<Shown<In, Out, Saved>, Event.Root>
    readonly debug: Event.Debug<Shown<In, Out, Saved>, Event.Root>
    readonly lifecycle: Event.Lifecycle | Event.Completed<Out>
  }[M]
  | Event.OfInside<M>

/**
 * The durable handle on one thread of an entrypoint.
 *
 * @category models
 * @since 0.1.0
 */
export interface EntrypointThread<
  Name extends string,
  in out In,
  in out Out,
  in out Saved,
  out E,
  out R,
  in out Q extends AnyRequest
> extends
  Omit<
    Pregel.MachineThread<Wires<In, Out, Saved>, In, Out, { readonly [K in Name]: Result<Out, Saved> }, E, R, Q>,
    "stream" | "events"
  >
{
  /** The events of a run, those of its tasks among them. A paused run delivers them all, then one `paused` event, then the failure. */
  readonly stream: <const M extends Event.Mode>(
    input: Thread.Input<Pregel.Wired<Wires<In, Out, Saved>, In, Out>, {}, Q>,
    options: Thread.StreamOptions<M, boolean>
  ) => Stream.Stream<Streamed<Name, In, Out, Saved, M> | Event.Paused, Thread.RunError<E, Q>, R | Checkpointer>
  /** The same events; a pause ends the stream normally. */
  readonly events: <const M extends Event.Mode>(
    input: Thread.Input<Pregel.Wired<Wires<In, Out, Saved>, In, Out>, {}, Q>,
    options: Thread.StreamOptions<M, boolean>
  ) => Stream.Stream<Streamed<Name, In, Out, Saved, M> | Event.Paused, Thread.RunError<E, never>, R | Checkpointer>
}

/**
 * A program that is written as a function.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entrypoint<
  Name extends string,
  in out In,
  in out Out,
  in out Saved,
  out E,
  out R,
  in out Q extends AnyRequest
> {
  readonly name: Name
  /** The machine: its channels are `__start__`, `__end__` and `__previous__`. */
  readonly pregel: MachineView
  /** Runs it on an input to its end. */
  readonly invoke: CanPause<Q> extends true ?
    State.Problem<"this entrypoint can pause: run it on a thread, .thread(id)">
    : (input: In, options?: Policy.RunOptions) => Effect.Effect<Out, AloneOf<E> | EngineError, R>
  /** Runs it and emits what happens as it happens, in it and in its tasks. */
  readonly stream: CanPause<Q> extends true ?
    State.Problem<"this entrypoint can pause: run it on a thread, .thread(id)">
    : <const M extends Event.Mode>(
      input: In,
      options: Policy.RunOptions & Event.StreamOptions<M>
    ) => Stream.Stream<Streamed<Name, In, Out, Saved, M>, AloneOf<E> | EngineError, R>
  /** The durable handle on one thread. Its state is a record of the channels. */
  readonly thread: (id: string) => EntrypointThread<Name, In, Out, Saved, AloneOf<E>, R, Q>
  /**
   * Runs it inside a node, a task or another entrypoint. Calls are told apart as those of tasks are. Its commands for the parent steer the graph of the
   * node that it is called by, through functions in between.
   */
  readonly call: (
    input: In,
    options?: { readonly key?: string }
  ) => Effect.Effect<Out, E | EngineError | Q, R | Running | Asking<Q>>
  /** @internal */
  readonly "~program": Program
}

/** What it fails with where nobody is around it. */
type AloneOf<E> = Exclude<E, Steering<any>>

/** A plain result is the value, and is saved. */
type Result<Out, Saved> = (Out & Saved) | Final<Out, Saved | undefined>

/**
 * What an entrypoint is made from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<
  I extends Channel.AnySchema,
  O extends Channel.AnySchema,
  S extends Channel.AnySchema,
  E,
  R
> extends Policy.Limits {
  readonly input: I
  readonly output: O
  /** Of what is saved for the next run. The result by default. */
  readonly saved?: S
  readonly run: (
    input: I["Type"],
    previous: S["Type"] | undefined
  ) => Effect.Effect<Result<O["Type"], S["Type"]>, E, R> | Result<O["Type"], S["Type"]>
  readonly retry?: Policy.Retries<NoInfer<FailureOf<E>>>
  readonly timeout?: Policy.TimeoutInput
  /** By input and by what was saved; by the input alone where the policy has a `key`. */
  readonly cache?: Policy.Cache<NoInfer<I["Type"]>>
  readonly version?: string
  readonly migrations?: ReadonlyArray<Migration>
  /** How long what it saves lives where it is called: one call (the default), the thread, or not at all. */
  readonly persistence?: "call" | "thread" | "none"
}

/**
 * Makes an entrypoint. Its `run` gets the input, and what its last run on the thread has saved: the result of that, or what `final` says. Without a thread
 * that is `undefined`. Untyped callers get a thrown `Error` that names what is wrong.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, Entrypoint, Task } from "superstep"
 *
 * const add = Task.make("add", {
 *   input: Schema.Struct({ a: Schema.Int, b: Schema.Int }),
 *   output: Schema.Int,
 *   run: ({ a, b }) => Effect.succeed(a + b)
 * })
 *
 * const total = Entrypoint.make("total", {
 *   input: Schema.Int,
 *   output: Schema.Int,
 *   run: (n, previous = 0) => add({ a: previous, b: n })
 * })
 * console.log(Object.keys(total.pregel.channels)) // => ["__start__", "__end__", "__previous__", "__tasks"]
 *
 * const thread = total.thread("t")
 * const program = Effect.all([thread.invoke(1), thread.invoke(2), thread.invoke(3)])
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))) // => [1, 3, 6]
 * ```
 */
export const make = <
  const Name extends string,
  I extends Channel.AnySchema,
  O extends Channel.AnySchema,
  S extends Channel.AnySchema = O,
  E = never,
  R = never
>(
  name: Name,
  options: Options<I, O, S, E, R>
): Entrypoint<
  Name,
  I["Type"],
  O["Type"],
  S["Type"],
  ErrorOf<E> | SteeringOf<E>,
  NeedOf<R>,
  RequestOf<R>
> => {
  const { cache, input, output, run, saved, ...rest } = options
  const said = graphOptions(rest)
  const program = lowerFunction({
    name,
    input,
    output,
    saved: saved ?? output,
    run: run as (input: unknown, previous: unknown) => unknown,
    parts: (result) =>
      isFinal(result)
        ? { value: result.value, save: Option.fromUndefinedOr(result.save) }
        : { value: result, save: Option.some(result) },
    cache: cache as Policy.Cache | undefined,
    options: said
  })
  return {
    ...entry(program),
    name,
    get pregel() {
      return view(program)
    },
    thread: (id: string) => Thread.make(program, id),
    call: (input: unknown, called?: unknown) =>
      telling(
        () => told(keyOptions, called),
        ({ key }) => callInside({ program, persistence: said.persistence }, input, key)
      ),
    "~program": program
  } as any
}
