/**
 * What a running node can learn of its run and do in it: where it stands, which
 * attempt this is, how many supersteps are left, and to tell the outside
 * something while it works.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/**
 * The service of a running node. The engine provides it to every task.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunningShape {
  /** Id of the task; it sorts like the task's place in the superstep. */
  readonly task: string
  readonly node: string
  /** The superstep that runs, counted from 0 for the start of the graph. */
  readonly step: number
  /** 1 for the first attempt. */
  readonly attempt: number
  /** When the first attempt began, in milliseconds since the epoch. */
  readonly firstAttemptMillis: number
  /** Where this graph stands in the graphs around it; empty at the root. */
  readonly path: ReadonlyArray<string>
  readonly thread: string | undefined
  /** Names this run: random, and another one each time that a thread goes on. */
  readonly run: string
  /** What the caller says of the run. */
  readonly metadata: Readonly<Record<string, Schema.Json>>
  /** Why the run was asked to stop after this superstep, if it was. */
  readonly drained: string | undefined
  /** Id of the checkpoint that this superstep started from, if the run is on a thread. */
  readonly checkpoint: string | undefined
  /** Supersteps left before the recursion limit, this one included. */
  readonly remainingSteps: number
  /** Sends a `custom` event, at once. Waits while the reader of the stream is behind. */
  readonly emit: (data: unknown) => Effect.Effect<void>
  /** Says that the node makes progress; starts its idle timeout anew. */
  readonly heartbeat: Effect.Effect<void>
  /** Asks the run to stop after this superstep, and to leave the rest to a later `continue`. */
  readonly drain: (reason?: string) => Effect.Effect<void>
}

/**
 * What a running node knows and can do. Outside a run there is none: a node that needs it says so in its type.
 *
 * A node may replace it for a part of its work, by a copy with some fields of its own: what it calls and asks there
 * belongs to the run as before. In a copy `drained` stays as it was. A test of a node alone may provide any value: with no
 * run around it, what the node asks fails with the request, and what it calls fails with `InvalidArgument`.
 *
 * @category services
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Running, State, StateGraph } from "superstep"
 *
 * class Log extends State.make({ log: Channel.append(Schema.String) }) {}
 * const where = () => Effect.map(Running.Running, ({ node, step }) => ({ log: [`${node} in step ${step}`] }))
 * const app = StateGraph.make("app", StateGraph.nodes(Log, { first: where, second: where }), {
 *   start: "first",
 *   edges: { first: "second" }
 * })
 *
 * console.log((await Effect.runPromise(app.invoke({}))).log) // => ["first in step 1", "second in step 2"]
 * ```
 */
export class Running extends Context.Service<Running, RunningShape>()("superstep/Running") {}

/**
 * Sends a `custom` event.
 *
 * @category events
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Running, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Count, { work: () => Effect.as(Running.emit({ progress: 0.5 }), { total: 1 }) }),
 *   { start: "work" }
 * )
 *
 * const events = await Effect.runPromise(Stream.runCollect(app.stream({ total: 0 }, { modes: ["custom"] })))
 * console.log(events.map((event) => event.data)) // => [{ progress: 0.5 }]
 * ```
 */
export const emit = (data: unknown): Effect.Effect<void, never, Running> =>
  Effect.flatMap(Running, (running) => running.emit(data))

/**
 * Says that the node makes progress.
 *
 * @category timeouts
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Node, Running, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const work = Node.make({
 *   input: Count,
 *   timeout: { idle: "10 seconds" },
 *   run: Effect.fnUntraced(function*({ total }) {
 *     for (let item = 0; item < total; item++) {
 *       yield* Effect.sleep("1 milli")
 *       yield* Running.heartbeat // The next item has ten seconds again.
 *     }
 *     return { total: 0 }
 *   })
 * })
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { work }), { start: "work" })
 *
 * console.log(await Effect.runPromise(app.invoke({ total: 3 }))) // => { total: 0 }
 * ```
 */
export const heartbeat: Effect.Effect<void, never, Running> = Effect.flatMap(Running, (running) => running.heartbeat)

/**
 * Asks the run to stop after this superstep.
 *
 * @category control
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Checkpointer, Running, State, StateGraph } from "superstep"
 *
 * class Log extends State.make({ log: Channel.append(Schema.String) }) {}
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Log, {
 *     first: () => Effect.as(Running.drain("shutdown"), { log: ["first"] }),
 *     second: () => ({ log: ["second"] })
 *   }),
 *   { start: "first", edges: { first: "second" } }
 * )
 *
 * const program = Effect.gen(function*() {
 *   const stop = yield* Effect.flip(app.thread("t").invoke({}))
 *   if (stop._tag === "GraphDrained") console.log([stop.reason, stop.next]) // => ["shutdown", ["second"]]
 *   return yield* app.thread("t").continue()
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory))))
 * // => { log: ["first", "second"] }
 * ```
 */
export const drain = (reason?: string): Effect.Effect<void, never, Running> =>
  Effect.flatMap(Running, (running) => running.drain(reason))

/**
 * Whether this is the last superstep that the recursion limit allows.
 *
 * @category reading
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Command, END, Running, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Count, {
 *     add: ({ total }) =>
 *       Effect.map(
 *         Running.isLastStep,
 *         (isLast) => Command.make({ update: { total: total + 1 }, goto: isLast ? END : "add" })
 *       )
 *   }),
 *   { start: "add" }
 * )
 *
 * console.log(await Effect.runPromise(app.invoke({ total: 0 }, { recursionLimit: 5 }))) // => { total: 5 }
 * ```
 */
export const isLastStep: Effect.Effect<boolean, never, Running> = Effect.map(
  Running,
  (running) => running.remainingSteps <= 1
)
