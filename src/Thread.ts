/**
 * The durable handle on one thread of a graph: it runs, pauses, resumes, is
 * read, updated and branched. It needs a `Checkpointer`.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as JsonPatch from "effect/JsonPatch"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ListedThread, Snapshot, Verification } from "./Checkpoint.ts"
import { Checkpointer } from "./Checkpointer.ts"
import * as Command from "./Command.ts"
import type * as Event from "./Event.ts"
import type {
  AmbiguousUpdate,
  CheckpointError,
  EngineError,
  GraphChanged,
  InvalidArgument,
  InvalidUpdate,
  ThreadConflict,
  ThreadDeleted,
  ThreadError,
  UnknownCheckpoint,
  UnknownNode,
  UnknownRoute,
  UnknownThread
} from "./GraphError.ts"
import type { INPUT_NODE, Program } from "./internal/engine/program.ts"
import { listOf } from "./internal/list.ts"
import { copy, prune } from "./internal/runtime/copy.ts"
import { diff } from "./internal/runtime/diff.ts"
import { forkInside } from "./internal/runtime/inside.ts"
import { type At, history, type HistoryFilter, locate, snapshot } from "./internal/runtime/inspect.ts"
import { list as listThreads } from "./internal/runtime/list.ts"
import {
  atOptions,
  checkpointOptions,
  continueOptions,
  copyOptions,
  diffOptions,
  forkOptions,
  historyOptions,
  invokeOptions,
  keyOptions,
  listOptions,
  pathOptions,
  pruneOptions,
  readable,
  resumeOptions,
  type RunSaid,
  startOptions,
  telling,
  threadOptions,
  threadStreamOptions,
  type Told,
  told,
  updateOptions,
  updatesOptions
} from "./internal/runtime/options.ts"
import { checkStops, withinTime } from "./internal/runtime/root.ts"
import type { Durability } from "./internal/runtime/session.ts"
import { eventStream } from "./internal/runtime/stream.ts"
import type { Erased } from "./internal/runtime/task.ts"
import { type Begin, checkThread, runThread, type ThreadOptions } from "./internal/runtime/thread.ts"
import { fork, type Update, update } from "./internal/runtime/update.ts"
import { verify } from "./internal/runtime/verify.ts"
import type { AnyRequest, GraphInterrupt, PendingFor, Reply, ReplyFor } from "./Interrupt.ts"
import type * as Node from "./Node.ts"
import type * as Policy from "./Policy.ts"
import type * as State from "./State.ts"

// oxlint-disable typescript/no-explicit-any

/**
 * What a run of a thread may be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions extends Policy.Limits {
  /** When a superstep is durable: before the next begins (the default), soon, or when the run ends. */
  readonly durability?: Durability
  /** Kept with every checkpoint of the run; nodes see it, and its span. Tags are an entry of it like any other. */
  readonly metadata?: Readonly<Record<string, Schema.Json>>
  /** The checkpoint to start from; the head by default. Anything but a head opens a branch. */
  readonly checkpoint?: string
}

/**
 * Where `continue` goes on, besides what every run may be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface ContinueOptions extends RunOptions {
  /** With `checkpoint`: the graph that the checkpoint belongs to, by its path. The tasks around it start where they started then. */
  readonly path?: ReadonlyArray<string>
}

/**
 * What a stream of a thread may be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface StreamOptions<M extends Event.Mode, Sub extends boolean>
  extends RunOptions, Event.StreamOptions<M, Sub>
{
  readonly pending?: "fail" | "discard"
}

/**
 * What a run on a thread can fail with: the errors of its nodes, those of the engine and of threads, and a pause.
 *
 * @category errors
 * @since 0.1.0
 */
export type RunError<E, Q extends AnyRequest> =
  | Exclude<E, Command.ParentCommand<any, any>>
  | EngineError
  | ThreadError
  | Paused<Q>
type Paused<Q extends AnyRequest> = [Q] extends [never] ? never : GraphInterrupt<Q>

type Updates<S extends State.Any> = State.Update<S> | ReadonlyArray<State.Update<S>>

/** Where a Command from outside may go. The names come first, and so they do in messages. */
type Target<Name extends string, Packet> = Name | Command.END | Packet

type Replies<Q> = [Q] extends [never] ? State.Problem<NothingAsked> : ReplyFor<Q> | ReadonlyArray<ReplyFor<Q>>

/**
 * What a thread may be given to run on, in `stream` and `events`.
 *
 * @category models
 * @since 0.1.0
 */
export type Input<S extends State.Any, O, Q extends AnyRequest> =
  | State.PartialInput<S>
  | Command.Command<Updates<S>, Target<Node.Fed<S, O>, Node.SendsTo<S, O>>>
  | Command.Start<State.Input<S>>
  | ([Q] extends [never] ? never
    : Command.Resume<ReplyFor<Q>, Updates<S>, Target<Node.Fed<S, O>, Node.SendsTo<S, O>>>)
  | Command.Continue

/**
 * What a thread may be given to run on, read off the thread.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type InputOf<T> = T extends Thread<infer S, infer O, any, any, infer Q> ? Input<S, O, Q> : never

// ---------------------------------------------------------------------------
// What is wrong with a Command from outside, as a type that says so
// ---------------------------------------------------------------------------

type NothingAsked = "this graph asks nothing: there is nothing to resume"

type Each<U> = U extends ReadonlyArray<infer V> ? V : U

// Where nothing is wrong these are `never`: a text with a name that there is not.
type WrongSteer<S extends State.Any, O, U, G> =
  | `it writes "${State.UnknownKeys<S, U> & string}", which is no key of the state`
  | `it writes the wrong type to "${State.WrongKeys<S, U> & string}"`
  | `it goes to "${Node.WrongGoto<S, O, G> & string}", which this graph does not have or which takes another input`

type WrongReply<Q, R extends Reply.Any> = [Q] extends [never] ? NothingAsked
  : R extends ReplyFor<Q> ? never
  : `this graph does not ask "${R["tag"]}", or takes another answer`

type Wrong<S extends State.Any, O, Q, V> = V extends Command.Command<infer U, infer G> ? WrongSteer<S, O, Each<U>, G>
  : V extends Command.Resume<infer R, infer U, infer G> ? WrongReply<Q, R> | WrongSteer<S, O, Each<U>, G>
  : V extends Command.Start<infer I>
    ? `it brings "${Exclude<keyof I, keyof State.Input<S>> & string}", which is no key of the input`
  : never

/** A Command with nothing wrong is what it is; what is no Command is nothing here, and checked as an input. */
type Fitting<S extends State.Any, V> = V extends Command.Start<unknown> ? Command.Start<State.Input<S>>
  : V extends Command.Any | Command.Resume<Reply.Any, unknown, unknown> | Command.Continue ? V
  : never

/**
 * What a Command from outside may not do: write or go where it cannot, or answer what is not asked.
 *
 * @category models
 * @since 0.1.0
 */
export type Check<S extends State.Any, O, Q, V> = [Wrong<S, O, Q, V>] extends [never] ? Fitting<S, V>
  : State.Problem<Wrong<S, O, Q, V>>

/**
 * The same, where only a `Command` may stand beside plain values.
 *
 * @category models
 * @since 0.1.0
 */
export type CheckSteer<S extends State.Any, O, V> = [V] extends [Command.Any] ? Check<S, O, never, V> : never

type WrongUpdate<S extends State.Any, O, V> = V extends Command.Any ? Wrong<S, O, never, V>
  : WrongSteer<S, O, Each<V>, never>

/**
 * What several updates may not do, in Commands or without.
 *
 * @category models
 * @since 0.1.0
 */
export type CheckAll<S extends State.Any, O, V> = [WrongUpdate<S, O, V>] extends [never] ? unknown
  : State.Problem<WrongUpdate<S, O, V>>

/**
 * One thread of a graph.
 *
 * @category models
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Checkpointer, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Count, {
 *     double: ({ total }) => ({ total: total * 2, visited: ["double"] }),
 *     increment: ({ total }) => ({ total: total + 1, visited: ["increment"] })
 *   }),
 *   { start: "double", edges: { double: "increment" } }
 * )
 *
 * const program = Effect.gen(function*() {
 *   const thread = app.thread("t")
 *   yield* Effect.flip(thread.invoke({ total: 10 }, { after: ["double"] })) // stops there
 *   const state = yield* thread.state()
 *   console.log([state.values.total, state.next]) // => [20, ["increment"]]
 *   console.log((yield* thread.continue()).total) // => 21
 *
 *   yield* thread.update({ total: 100 }, { asNode: "double" })
 *   console.log((yield* thread.continue()).total) // => 101
 *
 *   // From an earlier checkpoint a new branch opens, and becomes the current one.
 *   console.log((yield* thread.continue({ checkpoint: state.checkpoint })).total) // => 21
 *   console.log((yield* thread.history({ branch: 2 })).map(({ source, step }) => [source, step]))
 *   // => [["loop", 3], ["fork", 2]]
 *   yield* thread.delete
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))
 * ```
 */
export interface Thread<in out S extends State.Any, in out O, out E, out R, in out Q extends AnyRequest> {
  readonly id: string
  /**
   * Runs the graph on an input, on top of what the thread holds. A thread with unfinished work refuses, unless `pending: "discard"` says to drop it.
   */
  readonly invoke: <const V = never>(
    input: State.PartialInput<S> | (V & NoInfer<CheckSteer<S, O, V>>),
    options?: RunOptions & { readonly pending?: "fail" | "discard" }
  ) => Effect.Effect<State.Output<S>, RunError<E, Q>, R | Checkpointer>
  /**
   * Idempotent: a new thread runs, an unfinished one goes on, a finished one gives its result. Another `key` is another piece of work; without
   * one, a thread that exists ignores the input.
   */
  readonly start: (
    input: State.Input<S>,
    options?: RunOptions & { readonly key?: string }
  ) => Effect.Effect<State.Output<S>, RunError<E, Q>, R | Checkpointer>
  /** Answers what the thread asks, and goes on. */
  readonly resume: (
    replies: Replies<Q>,
    options?: RunOptions & {
      readonly update?: Updates<S>
      readonly goto?:
        | Target<Node.Fed<S, O>, Node.SendsTo<S, O>>
        | ReadonlyArray<Target<Node.Fed<S, O>, Node.SendsTo<S, O>>>
    }
  ) => Effect.Effect<State.Output<S>, RunError<E, Q>, R | Checkpointer>
  /** Goes on where the thread stands. A paused thread reports its requests again. */
  readonly continue: (options?: ContinueOptions) => Effect.Effect<State.Output<S>, RunError<E, Q>, R | Checkpointer>
  /** The events of a run. A paused run delivers them all, then one `paused` event, then the failure. */
  readonly stream: <const M extends Event.Mode, const Sub extends boolean = false, const V = never>(
    input: State.PartialInput<S> | (V & NoInfer<Check<S, O, Q, V>>),
    options: StreamOptions<M, Sub>
  ) => Stream.Stream<Event.Streamed<S, O, M, Sub> | Event.Paused, RunError<E, Q>, R | Checkpointer>
  /** The same events; a pause ends the stream normally. */
  readonly events: <const M extends Event.Mode, const Sub extends boolean = false, const V = never>(
    input: State.PartialInput<S> | (V & NoInfer<Check<S, O, Q, V>>),
    options: StreamOptions<M, Sub>
  ) => Stream.Stream<Event.Streamed<S, O, M, Sub> | Event.Paused, RunError<E, never>, R | Checkpointer>
  /** What the thread holds, at its head or at a checkpoint. At the head, with what finished tasks of an unfinished superstep have written. */
  readonly state: (
    options?: { readonly checkpoint?: string }
  ) => Effect.Effect<Snapshot<State.Type<S>, PendingFor<Q>>, StateError, Checkpointer>
  /** What the thread held, newest first. */
  readonly history: (
    filter?: HistoryFilter
  ) => Effect.Effect<ReadonlyArray<Snapshot<State.Type<S>, PendingFor<Q>>>, HistoryError, Checkpointer>
  /**
   * What leads from the state of one checkpoint to that of another, or of the head: a JSON patch (RFC 6902) of the states as they are stored.
   */
  readonly diff: (
    options: { readonly from: string; readonly to?: string }
  ) => Effect.Effect<JsonPatch.JsonPatch, StateError, Checkpointer>
  /**
   * Updates the thread as if `asNode` had returned the values: its edges lead on, what else was left to run stays so. Without `asNode`, the node
   * that ran last; without values either, nothing changes but that what is left is asked anew. Off a head, a branch opens. Gives the
   * id of the new checkpoint.
   */
  readonly update: <const V = never>(
    values: State.Update<S> | ReadonlyArray<State.Update<S>> | undefined | (V & NoInfer<CheckSteer<S, O, V>>),
    options?: { readonly asNode?: NodeName<keyof O & string>; readonly checkpoint?: string }
  ) => Effect.Effect<string, UpdateError, Checkpointer>
  /** Several updates: each list is one superstep and makes one checkpoint. */
  readonly updateAll: <const V extends ReadonlyArray<ReadonlyArray<UpdateOf<S, O>>>>(
    supersteps: V & NoInfer<CheckAll<S, O, V[number][number]["values"]>>,
    options?: { readonly checkpoint?: string }
  ) => Effect.Effect<string, UpdateError, Checkpointer>
  /** Opens a branch at a checkpoint, and makes it the current one. Gives the id of its first checkpoint. */
  readonly fork: (
    checkpoint?: string,
    options?: { readonly path?: ReadonlyArray<string> }
  ) => Effect.Effect<string, ForkError, Checkpointer>
  /**
   * The part of the thread that belongs to a graph inside it, by its path as events show it. Where a node calls the graph (`["node~0"]`), `called` is that graph.
   */
  readonly at: (path: ReadonlyArray<string>, called?: CalledGraph) => Part
  /** Stores the thread under another id too, with its branches, its history and the graphs inside. Each goes its own way then. */
  readonly copy: (to: string) => Effect.Effect<
    void,
    CheckpointError | UnknownThread | ThreadConflict | InvalidArgument,
    Checkpointer
  >
  /**
   * Removes checkpoints that nothing needs; gives how many. The heads of all branches stay, the `last` ones (none by default), those made
   * `since` a time, those named, and all that these are read from.
   */
  readonly prune: (keep: PruneOptions) => Effect.Effect<number, ForkError, Checkpointer>
  /** Reads all of the thread, and folds anew what follows from stored results: no node runs. Fails where something is damaged. */
  readonly verify: Effect.Effect<Verification, HistoryError, Checkpointer>
  /** Removes everything that is stored of the thread. */
  readonly delete: Effect.Effect<void, CheckpointError | InvalidArgument, Checkpointer>
}

/**
 * Which checkpoints `prune` keeps, besides the heads of all branches.
 *
 * @category models
 * @since 0.1.0
 */
export interface PruneOptions {
  /** So many of the newest. */
  readonly last?: number
  /** Those made then or later. */
  readonly since?: DateTime.Utc
  readonly checkpoints?: ReadonlyArray<string>
}

/**
 * Which threads to list.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListOptions {
  /** Those that began after this one. */
  readonly after?: string
  readonly limit?: number
  /** Those whose current checkpoint has these keys, with these values. */
  readonly metadata?: Readonly<Record<string, Schema.Json>>
}

/**
 * What `history` can fail with.
 *
 * @category errors
 * @since 0.1.0
 */
export type HistoryError = CheckpointError | GraphChanged | UnknownThread | UnknownCheckpoint | InvalidArgument

/**
 * What `state` can fail with: `InvalidUpdate`, where a Command that waits beside the head no longer folds.
 *
 * @category errors
 * @since 0.1.0
 */
export type StateError = HistoryError | InvalidUpdate

/**
 * What `fork` can fail with.
 *
 * @category errors
 * @since 0.1.0
 */
export type ForkError = HistoryError | ThreadConflict | ThreadDeleted

/**
 * What `update` and `updateAll` can fail with.
 *
 * @category errors
 * @since 0.1.0
 */
export type UpdateError = ForkError | InvalidUpdate | UnknownRoute | UnknownNode | AmbiguousUpdate

type NodeName<Name extends string> = Name | Command.START | Command.END | typeof INPUT_NODE

/**
 * One of several updates of a thread.
 *
 * @category models
 * @since 0.1.0
 */
export interface UpdateOf<S extends State.Any, O> {
  readonly values: Updates<S> | Command.Command<Updates<S>, Target<Node.Fed<S, O>, Node.SendsTo<S, O>>> | undefined
  readonly asNode?: NodeName<keyof O & string>
}

/**
 * A graph that a node calls.
 *
 * @category models
 * @since 0.1.0
 */
export interface CalledGraph {
  /** @internal */
  readonly "~program": Program
}

/**
 * The part of a thread that belongs to a graph inside its graph. Its types are not known here.
 *
 * @category models
 * @since 0.1.0
 */
export interface Part {
  readonly path: ReadonlyArray<string>
  readonly state: (
    options?: { readonly checkpoint?: string }
  ) => Effect.Effect<Snapshot<Readonly<Record<string, unknown>>>, StateError, Checkpointer>
  readonly history: (
    filter?: HistoryFilter
  ) => Effect.Effect<ReadonlyArray<Snapshot<Readonly<Record<string, unknown>>>>, StateError, Checkpointer>
  readonly diff: (
    options: { readonly from: string; readonly to?: string }
  ) => Effect.Effect<JsonPatch.JsonPatch, StateError, Checkpointer>
  /** Updates the graph while it waits inside its task. */
  readonly update: (
    values: object | undefined,
    options?: { readonly asNode?: string }
  ) => Effect.Effect<string, UpdateError, Checkpointer>
}

const resumeOf = (replies: unknown, said: { readonly update?: unknown; readonly goto?: unknown }): Told<Begin> =>
  Result.map(readable("replies", [replies, said]), (): Begin => ({
    _tag: "Resume",
    // `undefined` is no reply: it is refused as one.
    replies: replies === undefined ? [replies] : listOf(replies),
    update: said.update ?? {},
    goto: listOf(said.goto)
  }))

const startOf = (input: unknown, key: string | undefined): Told<Begin> =>
  Result.map(readable("input", input), (): Begin => ({ _tag: "Start", input, key }))

const beginOf = (input: unknown, pending: "fail" | "discard" | undefined): Told<Begin> =>
  Result.flatMap(readable("input", input), (): Told<Begin> => {
    if (input instanceof Command.Resume) return resumeOf(input.replies, input)
    if (input instanceof Command.Start) {
      return Result.flatMap(told(keyOptions, input), ({ key }) => startOf(input.input, key))
    }
    if (input instanceof Command.Continue) return Result.succeed({ _tag: "Continue" })
    if (Command.isCommand(input)) {
      return Result.succeed({ _tag: "Command", update: input.update, goto: listOf(input.goto) })
    }
    return Result.succeed({ _tag: "Input", input, pending: pending ?? "fail" })
  })

/** Reading and updating the graph at a path of a thread. */
const partOf = (program: Program, id: string, where: () => Told<At>) => {
  const here = <S extends Schema.Decoder<unknown>>(
    schema: S,
    given: unknown,
    call: (said: S["Type"], at: At) => Erased<unknown>
  ) =>
    telling(
      () => Result.flatMap(told(schema, given), (said) => Result.map(where(), (at) => ({ said, at }))),
      ({ at, said }) => call(said, at)
    )
  return {
    state: (options?: unknown) =>
      here(
        checkpointOptions,
        options,
        ({ checkpoint }, at) => Effect.flatMap(locate(program, id, at, checkpoint), snapshot)
      ),
    history: (filter?: unknown) => here(historyOptions, filter, (said, at) => history(program, id, at, said)),
    diff: (options: unknown) => here(diffOptions, options, ({ from, to }, at) => diff(program, id, at, from, to)),
    update: (values: unknown, options?: unknown) =>
      here(
        updateOptions,
        options,
        ({ asNode, checkpoint }, at) =>
          telling(() => readable("values", values), () => update(program, id, at, checkpoint, [[{ values, asNode }]]))
      )
  }
}

/** Several updates, which need no more than lists of records do. */
const updatesOf = (given: unknown): Told<ReadonlyArray<ReadonlyArray<Update>>> =>
  Result.flatMap(told(updatesOptions, { supersteps: given }), ({ supersteps }) =>
    Result.map(
      readable("supersteps", supersteps.flat().map(({ values }) => values)),
      () => supersteps.map((updates) => updates.map(({ asNode, values }) => ({ values, asNode })))
    ))

/**
 * The handle on one thread of a lowered graph.
 *
 * @internal
 */
export const make = (program: Program, id: string): Thread<any, any, any, any, any> => {
  const root: At = { path: [], called: undefined }
  const run = <A extends RunSaid>(schema: Schema.Decoder<A>, given: unknown, begin: (said: A) => Told<Begin>) =>
    telling(
      () => Result.flatMap(told(schema, given), (said) => Result.map(begin(said), (begin) => ({ said, begin }))),
      ({ begin, said }) => runThread(program, id, begin, threadOptions(said, undefined))
    )
  const stream = (input: unknown, options: unknown) =>
    eventStream(
      program,
      threadStreamOptions,
      options,
      (said, sink) =>
        telling(() => beginOf(input, said.pending), (begin) => runThread(program, id, begin, threadOptions(said, sink)))
    )
  const forkAt = (checkpoint: string | undefined, path: ReadonlyArray<string>) =>
    checkpoint === undefined || path.length === 0
      ? fork(program, id, checkpoint)
      : Effect.andThen(checkThread(id), forkInside(program, id, path, checkpoint))
  return {
    id,
    invoke: (input: unknown, options?: unknown) =>
      run(invokeOptions, options, ({ pending }) => beginOf(input, pending)),
    start: (input: unknown, options?: unknown) => run(startOptions, options, ({ key }) => startOf(input, key)),
    resume: (replies: unknown, options?: unknown) => run(resumeOptions, options, (said) => resumeOf(replies, said)),
    continue: (options?: unknown) =>
      telling(() => told(continueOptions, options), ({ checkpoint, path = [], ...said }) => {
        const isInside = path.length > 0
        const chosen = threadOptions(isInside ? said : { ...said, checkpoint }, undefined)
        const goOn = (options: ThreadOptions) => runThread(program, id, { _tag: "Continue" }, options)
        if (!isInside) return goOn(chosen)
        // The branch opens before the run does, and what the run was told is right before that.
        const branch = Effect.andThen(checkStops(program, chosen.overrides), forkAt(checkpoint, path))
        return withinTime(program, chosen, (options) => Effect.andThen(branch, goOn(options)))
      }),
    stream,
    events: (input: unknown, options: unknown) =>
      Stream.catchTag(stream(input, options) as Stream.Stream<any, any, any>, "GraphInterrupt", () => Stream.empty),
    path: root.path,
    ...partOf(program, id, () => Result.succeed(root)),
    updateAll: (supersteps: unknown, options?: unknown) =>
      telling(
        () => told(checkpointOptions, options),
        ({ checkpoint }) =>
          telling(() => updatesOf(supersteps), (updates) => update(program, id, root, checkpoint, updates))
      ),
    fork: (checkpoint?: unknown, options?: unknown) =>
      telling(
        () => Result.flatMap(told(pathOptions, options), ({ path }) => told(forkOptions, { checkpoint, path })),
        ({ checkpoint, path = [] }) => forkAt(checkpoint, path)
      ),
    at: (path: ReadonlyArray<string>, called?: CalledGraph) => ({
      path,
      ...partOf(program, id, () =>
        Result.map(
          told(atOptions, { path, called }),
          ({ called, path }) => ({ path, called: called?.["~program"] })
        ))
    }),
    copy: (to: unknown) => telling(() => told(copyOptions, { to }), (said) => copy(id, said.to)),
    prune: (keep: unknown) =>
      telling(
        () => told(pruneOptions, keep),
        ({ checkpoints = [], last = 0, since }) =>
          prune(id, { last, since: since === undefined ? undefined : DateTime.toEpochMillis(since), checkpoints })
      ),
    verify: verify(program, id),
    delete: Effect.andThen(checkThread(id), Effect.flatMap(Checkpointer, (saver) => saver.deleteThread(id)))
  } as any
}

/**
 * Threads in the order in which they began, with where their current branch stands. The limit counts what the filter leaves.
 *
 * @category reading
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, State, StateGraph, Thread } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   for (const user of ["ada", "bob"]) yield* app.thread(`app/${user}`).invoke({ total: 1 }, { metadata: { user } })
 *   console.log((yield* Thread.list({ metadata: { user: "bob" } })).map(({ id, step }) => [id, step])) // => [["app/bob", 1]]
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))
 * ```
 */
export const list = (
  options?: ListOptions
): Effect.Effect<ReadonlyArray<ListedThread>, CheckpointError | UnknownThread | InvalidArgument, Checkpointer> =>
  telling(() => told(listOptions, options), listThreads) as Effect.Effect<
    ReadonlyArray<ListedThread>,
    CheckpointError | UnknownThread | InvalidArgument,
    Checkpointer
  >
