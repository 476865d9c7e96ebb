/**
 * Values that steer a run: `Command` updates the state and chooses the next
 * nodes, `ParentCommand` is the failure by which a subgraph steers the graph
 * around it, `Resume` answers what a paused thread asks.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { listOf } from "./internal/list.ts"
import type { Reply } from "./Interrupt.ts"
import type * as Send from "./Send.ts"

/**
 * Where every graph starts.
 *
 * @category constants
 * @since 0.1.0
 */
export const START = "__start__"
/** @category models @since 0.1.0 */
export type START = typeof START

/**
 * Where a branch of a graph ends.
 *
 * @category constants
 * @since 0.1.0
 */
export const END = "__end__"
/** @category models @since 0.1.0 */
export type END = typeof END

const TypeId = "~superstep/Command"

/**
 * An update of the state and the next targets, in one value.
 *
 * @category models
 * @since 0.1.0
 */
export interface Command<out Update, out Goto> {
  readonly [TypeId]: typeof TypeId
  readonly _tag: "Command"
  readonly update: Update
  readonly goto: ReadonlyArray<Goto>
}

/**
 * Any command.
 *
 * @category models
 * @since 0.1.0
 */
export interface Any extends Command<unknown, string | Send.Any> {}

const Proto = { [TypeId]: TypeId, _tag: "Command" }

/**
 * Whether a value is a command. Data from outside never is: a command is known by its prototype.
 *
 * @category guards
 * @since 0.1.0
 * @example
 * ```ts
 * import { Command } from "superstep"
 *
 * console.log(Command.isCommand(Command.make({ goto: "next" }))) // => true
 * console.log(Command.isCommand({ _tag: "Command", update: {}, goto: ["next"] })) // => false
 * ```
 */
export const isCommand = (u: unknown): u is Any =>
  typeof u === "object" && u !== null && TypeId in u && !Object.hasOwn(u, TypeId)

/** One target, or several. */
type Targets = string | Send.Any | ReadonlyArray<string | Send.Any>
type One<G> = G extends ReadonlyArray<infer T> ? T : G

const targets = (goto: Targets | undefined): ReadonlyArray<string | Send.Any> => listOf<string | Send.Any>(goto)

/**
 * Updates the state and chooses what runs next. `update` is a record, or a list of records when one key is written several times.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Command, END, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 *
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Count, {
 *     double: ({ total }) => Command.make({ update: { total: total * 2 }, goto: total < 50 ? "double" : END })
 *   }),
 *   { start: "double" }
 * )
 *
 * console.log(await Effect.runPromise(app.invoke({ total: 10 }))) // => { total: 160 }
 * ```
 */
export const make = <const G extends Targets = never, U extends object = {}>(
  options: { readonly update?: U; readonly goto?: G }
): Command<U, One<G>> =>
  Object.assign(Object.create(Proto), { update: options.update ?? {}, goto: targets(options.goto) }) as Command<
    U,
    One<G>
  >

/**
 * The failure by which a subgraph steers its parent. The graph around it consumes it; at the root it ends the run.
 *
 * @category models
 * @since 0.1.0
 */
export class ParentCommand<out Update, out Goto> extends Data.TaggedError("ParentCommand")<{
  readonly update: Update
  readonly goto: ReadonlyArray<Goto>
}> {}

/**
 * Leaves this graph and steers the graph around it: the node that holds this graph behaves as if it had returned the command.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Command, State, StateGraph } from "superstep"
 *
 * class Log extends State.make({ log: Channel.append(Schema.String) }) {}
 *
 * const inner = StateGraph.make(
 *   "inner",
 *   StateGraph.nodes(Log, { leave: () => Command.parent({ update: { log: ["left"] }, goto: "after" }) }),
 *   { start: "leave" }
 * )
 * const outer = StateGraph.make("outer", StateGraph.nodes(Log, { inner, after: () => ({ log: ["after"] }) }), {
 *   start: "inner"
 * })
 *
 * console.log(await Effect.runPromise(outer.invoke({}))) // => { log: ["left", "after"] }
 * ```
 */
export const parent = <const G extends Targets = never, U extends object = {}>(
  options: { readonly update?: U; readonly goto?: G }
): Effect.Effect<never, ParentCommand<U, One<G>>> =>
  Effect.fail(
    new ParentCommand({ update: options.update ?? {} as U, goto: targets(options.goto) as ReadonlyArray<One<G>> })
  )

/**
 * The input that resumes a paused thread with answers, and may update and steer it in the same go.
 *
 * @category models
 * @since 0.1.0
 */
export class Resume<out R extends Reply.Any, out Update, out Goto> extends Data.TaggedClass("Resume")<{
  readonly replies: ReadonlyArray<R>
  readonly update: Update
  readonly goto: ReadonlyArray<Goto>
}> {}

/**
 * Resumes a paused thread with answers, in `thread.stream` and `thread.events`; `thread.resume` is short for it.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Checkpointer, Command, Interrupt, State, StateGraph } from "superstep"
 *
 * class Name extends Interrupt.make("Name", { payload: Schema.String, answer: Schema.String }) {}
 * class Person extends State.make({ name: Schema.String }) {}
 * const greet = StateGraph.make(
 *   "greet",
 *   StateGraph.nodes(Person, { ask: () => Effect.map(Name.ask("Who?"), (name) => ({ name })) }),
 *   { start: "ask" }
 * )
 *
 * const program = Effect.gen(function*() {
 *   const thread = greet.thread("t")
 *   yield* Effect.flip(thread.invoke({ name: "" }))
 *   return yield* Stream.runCollect(thread.stream(Command.resume(Name.reply("Ada")), { modes: ["updates"] }))
 * })
 * const events = await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))
 * console.log(events.map((event) => event.mode === "updates" && event.update)) // => [{ name: "Ada" }]
 * ```
 */
export const resume = <R extends Reply.Any, const G extends Targets = never, U extends object = {}>(
  replies: R | ReadonlyArray<R>,
  options?: { readonly update?: U; readonly goto?: G }
): Resume<R, U, One<G>> =>
  new Resume({
    replies: listOf<R>(replies),
    update: options?.update ?? {} as U,
    goto: targets(options?.goto) as ReadonlyArray<One<G>>
  })

/**
 * The input that begins a piece of work unless it has begun: `thread.start` as it stands in `thread.stream`.
 *
 * @category models
 * @since 0.1.0
 */
export class Start<out I> extends Data.TaggedClass("Start")<{
  readonly input: I
  readonly key: string | undefined
}> {}

/**
 * Begins a piece of work unless it has begun, in `thread.stream` and `thread.events`; `thread.start` is short for it.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Checkpointer, Command, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const run = Stream.runCollect(
 *   app.thread("t").stream(Command.start({ total: 10 }, { key: "monday" }), { modes: ["updates"] })
 * )
 * const program = Effect.all([run, run]).pipe(Effect.provide(Checkpointer.layerMemory))
 * console.log((await Effect.runPromise(program)).map((events) => events.length)) // => [1, 0]
 * ```
 */
export const start = <I>(input: I, options?: { readonly key?: string }): Start<I> =>
  new Start({ input, key: options?.key })

/**
 * The input that goes on where a thread stands, without anything new.
 *
 * @category models
 * @since 0.1.0
 */
export class Continue extends Data.TaggedClass("Continue")<{}> {}

const continue_ = new Continue()
export {
  /**
   * Goes on where a thread stands, in `thread.stream` and `thread.events`; `thread.continue` is short for it.
   *
   * @category constructors
   * @since 0.1.0
   * @example
   * ```ts
   * import { Effect, Schema, Stream } from "effect"
   * import { Checkpointer, Command, State, StateGraph } from "superstep"
   *
   * class Count extends State.make({ total: Schema.Int }) {}
   * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
   *   start: "double"
   * })
   *
   * const program = Effect.gen(function*() {
   *   const thread = app.thread("t")
   *   yield* Effect.flip(thread.invoke({ total: 10 }, { before: ["double"] }))
   *   return yield* Stream.runCollect(thread.stream(Command.continue, { modes: ["updates"] }))
   * })
   * const events = await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))
   * console.log(events.map((event) => event.mode === "updates" && event.update)) // => [{ total: 20 }]
   * ```
   */
  continue_ as continue
}
