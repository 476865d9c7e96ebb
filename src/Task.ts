/**
 * A piece of work whose result is kept. What a node or an entrypoint does in
 * tasks is not done again when its run is resumed: the results of those that
 * have finished stand for them.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Channel from "./Channel.ts"
import type { EngineError } from "./GraphError.ts"
import { lowerFunction } from "./internal/engine/lowerFunction.ts"
import type { Program } from "./internal/engine/program.ts"
import { type MachineView, view } from "./internal/engine/view.ts"
import { callAll, callInside } from "./internal/runtime/call.ts"
import { concurrencyOptions, effectsOf, graphOptions, keyOptions, telling, told } from "./internal/runtime/options.ts"
import type { AnyRequest, Asking } from "./Interrupt.ts"
import type { Migration } from "./Migration.ts"
import type { ErrorOf, FailureOf, NeedOf, RequestOf, SteeringOf } from "./Node.ts"
import type * as Policy from "./Policy.ts"
import type { Running } from "./Running.ts"

// oxlint-disable typescript/no-explicit-any

/**
 * A task: a function that is called inside a node, an entrypoint or another task.
 *
 * @category models
 * @since 0.1.0
 */
export interface Task<in In, out Out, out E, out R, out Q extends AnyRequest> {
  /**
   * Does the work, or gives the result that is kept for this call. Calls are told apart by their order; of several fibers each needs a `key`, or stands
   * in `Task.all`.
   */
  (input: In, options?: { readonly key?: string }): Effect.Effect<Out, E | EngineError | Q, R | Running | Asking<Q>>
  readonly name: string
  /** The machine of its own that the task is. */
  readonly pregel: MachineView
  /** @internal */
  readonly "~program": Program
}

type TaskOf<In, Out, E, R> = Task<In, Out, ErrorOf<E> | SteeringOf<E>, NeedOf<R>, RequestOf<R>>

/**
 * What a task is made from, besides its input.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<in In, out Out, in out E, out R> {
  readonly run: (input: In) => Effect.Effect<Out, E, R> | Out
  readonly retry?: Policy.Retries<NoInfer<FailureOf<E>>>
  readonly timeout?: Policy.TimeoutInput
  readonly cache?: Policy.Cache<NoInfer<In>>
  /** Names this version of the task in its checkpoints. */
  readonly version?: string
  /** What has changed since threads were stored that have called it: of `__start__`, its input, and of `__end__`, its result. */
  readonly migrations?: ReadonlyArray<Migration>
}

/**
 * Makes a task. Its input and its result cross storage by their schemas; without `input` it takes none. Untyped callers get a thrown `Error` that names
 * what is wrong.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, Entrypoint, Interrupt, Task } from "superstep"
 *
 * class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
 *
 * let written = 0
 * const write = Task.make("write", {
 *   input: Schema.String,
 *   output: Schema.String,
 *   run: (topic) => {
 *     written++
 *     return Effect.succeed(`An essay about ${topic}`)
 *   }
 * })
 *
 * const essay = Entrypoint.make("essay", {
 *   input: Schema.String,
 *   output: Schema.String,
 *   run: Effect.fnUntraced(function*(topic) {
 *     const text = yield* write(topic)
 *     return (yield* Approve.ask(text)) ? text : "nothing"
 *   })
 * })
 *
 * const program = Effect.gen(function*() {
 *   yield* Effect.flip(essay.thread("t").invoke("cats")) // waits for an answer
 *   return yield* essay.thread("t").resume(Approve.reply(true))
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))) // => "An essay about cats"
 * console.log(written) // => 1
 * ```
 */
export const make: {
  <I extends Channel.AnySchema, O extends Channel.AnySchema, E = never, R = never>(
    name: string,
    options: Options<I["Type"], O["Type"], E, R> & { readonly input: I; readonly output: O }
  ): TaskOf<I["Type"], O["Type"], E, R>
  <O extends Channel.AnySchema, E = never, R = never>(
    name: string,
    options: Options<void, O["Type"], E, R> & { readonly output: O }
  ): TaskOf<void, O["Type"], E, R>
} = (
  name: string,
  options: Options<any, unknown, unknown, unknown> & {
    readonly input?: Channel.AnySchema
    readonly output: Channel.AnySchema
  }
): any => {
  const { cache, input, output, run, ...said } = options
  const program = lowerFunction({
    name,
    input: input ?? Schema.Null,
    output,
    saved: undefined,
    run: input === undefined ? () => run(undefined) : run,
    parts: (value) => ({ value, save: Option.none() }),
    cache,
    options: graphOptions(said)
  })
  const self = (given: unknown, called?: unknown) =>
    telling(
      () => told(keyOptions, called),
      ({ key }) => callInside({ program, persistence: "call" }, input === undefined ? null : given, key)
    )
  Object.defineProperty(self, "name", { value: name })
  Object.defineProperty(self, "pregel", { enumerable: true, get: () => view(program) })
  return Object.assign(self, { "~program": program })
}

type SuccessOf<X> = X extends Effect.Effect<infer A, any, any> ? A : never
type FailOf<X> = X extends Effect.Effect<any, infer E, any> ? E : never
type ContextOf<X> = X extends Effect.Effect<any, any, infer R> ? R : never

/**
 * Runs effects that call tasks at once, and gives their results in order. Calls inside are told apart by where they stand in the list, so that they need no
 * keys. One that waits for an answer ends none of the others; one that fails interrupts those that are still running, and what has finished stays.
 *
 * @category combinators
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Entrypoint, Task } from "superstep"
 *
 * const square = Task.make("square", { input: Schema.Int, output: Schema.Int, run: (n) => n * n })
 * const squares = Entrypoint.make("squares", {
 *   input: Schema.Array(Schema.Int),
 *   output: Schema.Array(Schema.Int),
 *   run: (list) => Task.all(list.map((n) => square(n)))
 * })
 *
 * console.log(await Effect.runPromise(squares.invoke([1, 2, 3]))) // => [1, 4, 9]
 * ```
 */
export const all = <const T extends ReadonlyArray<Effect.Effect<any, any, any>>>(
  effects: T,
  options?: { readonly concurrency?: number | "unbounded" }
): Effect.Effect<
  { -readonly [K in keyof T]: SuccessOf<T[K]> },
  FailOf<T[number]> | EngineError,
  ContextOf<T[number]> | Running
> =>
  telling(
    () => Result.all([effectsOf(effects), told(concurrencyOptions, options)]),
    ([list, { concurrency }]) => callAll(effects, list, concurrency ?? "unbounded")
  ) as Effect.Effect<any, any, any>
