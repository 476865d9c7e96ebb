/**
 * The durable handle on one thread of a graph: it runs, pauses, resumes, is
 * read, updated and branched. It needs a `Checkpointer`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Snapshot } from "./Checkpoint.ts"
import { Checkpointer } from "./Checkpointer.ts"
import * as Command from "./Command.ts"
import type * as Event from "./Event.ts"
import type { CheckpointError, EngineError, ThreadError } from "./GraphError.ts"
import type { Program } from "./internal/engine/program.ts"
import { forkInside } from "./internal/runtime/inside.ts"
import { type At, history, type HistoryFilter, locate, snapshot } from "./internal/runtime/inspect.ts"
import { rootOptions } from "./internal/runtime/options.ts"
import type { Durability } from "./internal/runtime/session.ts"
import { eventStream } from "./internal/runtime/stream.ts"
import { type Begin, runThread, type ThreadOptions } from "./internal/runtime/thread.ts"
import { fork, update } from "./internal/runtime/update.ts"
import type { AnyRequest, GraphInterrupt, Reply, ReplyFor } from "./Interrupt.ts"
import type * as Policy from "./Policy.ts"
import type * as Send from "./Send.ts"
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
  /** Kept with every checkpoint of the run. */
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

/** A run on a thread that may pause. */
type Failure<E, Q extends AnyRequest> =
  | Exclude<E, Command.ParentCommand<any, any>>
  | EngineError
  | ThreadError
  | Paused<Q>
type Paused<Q extends AnyRequest> = [Q] extends [never] ? never : GraphInterrupt<Q>

/** Where a Command from outside may go. */
type Target<O> = (keyof O & string) | Command.END | Send.Any

/** What a thread may be given to run on. */
type Input<S extends State.Any, O, Q extends AnyRequest> =
  | State.PartialInput<S>
  | Command.Command<State.Update<S> | ReadonlyArray<State.Update<S>>, Target<O>>
  | Command.Start<State.Input<S>>
  | Command.Resume<ReplyFor<Q>>
  | Command.Continue

/**
 * One thread of a graph.
 *
 * @category models
 * @since 0.1.0
 */
export interface Thread<in out S extends State.Any, out O, out E, out R, in out Q extends AnyRequest> {
  readonly id: string
  /**
   * Runs the graph on an input, on top of what the thread holds. A thread with unfinished work refuses, unless `pending: "discard"` says to drop it.
   */
  readonly invoke: (
    input: State.PartialInput<S> | Command.Command<State.Update<S> | ReadonlyArray<State.Update<S>>, Target<O>>,
    options?: RunOptions & { readonly pending?: "fail" | "discard" }
  ) => Effect.Effect<State.Output<S>, Failure<E, Q>, R | Checkpointer>
  /** Idempotent: a new thread runs, an unfinished one goes on, a finished one gives its result. Another `key` is another piece of work. */
  readonly start: (
    input: State.Input<S>,
    options?: RunOptions & { readonly key?: string }
  ) => Effect.Effect<State.Output<S>, Failure<E, Q>, R | Checkpointer>
  /** Answers what the thread asks, and goes on. */
  readonly resume: (
    replies: ReplyFor<Q> | ReadonlyArray<ReplyFor<Q>>,
    options?: RunOptions & {
      readonly update?: State.Update<S>
      readonly goto?: Target<O> | ReadonlyArray<Target<O>>
    }
  ) => Effect.Effect<State.Output<S>, Failure<E, Q>, R | Checkpointer>
  /** Goes on where the thread stands. A paused thread reports its requests again. */
  readonly continue: (options?: ContinueOptions) => Effect.Effect<State.Output<S>, Failure<E, Q>, R | Checkpointer>
  /** The events of a run. A paused run delivers them all, then one `paused` event, then the failure. */
  readonly stream: <const M extends Event.Mode>(
    input: Input<S, O, Q>,
    options: RunOptions & Event.StreamOptions<M> & { readonly pending?: "fail" | "discard" }
  ) => Stream.Stream<Event.Of<S, O, M> | Event.Paused, Failure<E, Q>, R | Checkpointer>
  /** The same events; a pause ends the stream normally. */
  readonly events: <const M extends Event.Mode>(
    input: Input<S, O, Q>,
    options: RunOptions & Event.StreamOptions<M> & { readonly pending?: "fail" | "discard" }
  ) => Stream.Stream<Event.Of<S, O, M> | Event.Paused, Exclude<Failure<E, Q>, GraphInterrupt<Q>>, R | Checkpointer>
  /** What the thread holds, at its head or at a checkpoint. At the head, with what finished tasks of an unfinished superstep have written. */
  readonly state: (
    options?: { readonly checkpoint?: string }
  ) => Effect.Effect<Snapshot<State.Type<S>>, StateError, Checkpointer>
  /** What the thread held, newest first. */
  readonly history: (
    filter?: HistoryFilter
  ) => Effect.Effect<ReadonlyArray<Snapshot<State.Type<S>>>, StateError, Checkpointer>
  /**
   * Updates the thread as if `asNode` had returned the values: its edges lead on, what else was left to run stays so. Without `asNode`, the node
   * that ran last; without values either, nothing changes but that what is left is asked anew. Off a head, a branch opens. Gives the
   * id of the new checkpoint.
   */
  readonly update: (
    values:
      | State.Update<S>
      | ReadonlyArray<State.Update<S>>
      | Command.Command<State.Update<S>, string | Send.Any>
      | undefined,
    options?: { readonly asNode?: NodeName<O>; readonly checkpoint?: string }
  ) => Effect.Effect<string, StateError, Checkpointer>
  /** Several updates: each list is one superstep and makes one checkpoint. */
  readonly updateAll: (
    supersteps: ReadonlyArray<ReadonlyArray<UpdateOf<S, O>>>,
    options?: { readonly checkpoint?: string }
  ) => Effect.Effect<string, StateError, Checkpointer>
  /** Opens a branch at a checkpoint, and makes it the current one. Gives the id of its first checkpoint. */
  readonly fork: (
    checkpoint?: string,
    options?: { readonly path?: ReadonlyArray<string> }
  ) => Effect.Effect<string, StateError, Checkpointer>
  /**
   * The part of the thread that belongs to a graph inside it, by its path as events show it. Where a node calls the graph (`["node~0"]`), `called` is that graph.
   */
  readonly at: (path: ReadonlyArray<string>, called?: CalledGraph) => Part
  /** Removes everything that is stored of the thread. */
  readonly delete: Effect.Effect<void, CheckpointError, Checkpointer>
}

/** What reading and updating a thread can fail with. */
type StateError = ThreadError | EngineError

type NodeName<O> = (keyof O & string) | Command.START | Command.END | "__input__"

interface UpdateOf<S extends State.Any, O> {
  readonly values:
    | State.Update<S>
    | ReadonlyArray<State.Update<S>>
    | Command.Command<State.Update<S>, string | Send.Any>
    | undefined
  readonly asNode?: NodeName<O>
}

/** A graph that a node calls. */
interface CalledGraph {
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
  /** Updates the graph while it waits inside its task. */
  readonly update: (
    values: object | undefined,
    options?: { readonly asNode?: string }
  ) => Effect.Effect<string, StateError, Checkpointer>
}

const beginOf = (input: unknown, pending: "fail" | "discard" | undefined): Begin => {
  if (input instanceof Command.Resume) {
    return {
      _tag: "Resume",
      replies: input.replies as ReadonlyArray<Reply.Any>,
      update: input.update,
      goto: input.goto
    }
  }
  if (input instanceof Command.Start) return { _tag: "Start", input: input.input as unknown, key: input.key }
  if (input instanceof Command.Continue) return { _tag: "Continue" }
  if (Command.isCommand(input)) return { _tag: "Command", update: input.update, goto: input.goto }
  return { _tag: "Input", input, pending: pending ?? "fail" }
}

const optionsOf = (given: RunOptions | undefined, sink: ThreadOptions["sink"]): ThreadOptions => ({
  ...rootOptions(given, sink),
  durability: given?.durability ?? "sync",
  metadata: given?.metadata ?? {},
  from: given?.checkpoint
})

interface Given {
  readonly values: unknown
  readonly asNode?: string
}

const toUpdate = ({ asNode, values }: Given) => ({ values, asNode })

/** Reading and updating the graph at a path of a thread. */
const partOf = (program: Program, id: string, where: At) => ({
  path: where.path,
  state: (options?: { readonly checkpoint?: string }) =>
    Effect.flatMap(locate(program, id, where, options?.checkpoint), snapshot),
  history: (filter?: HistoryFilter) => history(program, id, where, filter ?? {}),
  update: (values: unknown, options?: { readonly asNode?: string; readonly checkpoint?: string }) =>
    update(program, id, where, options?.checkpoint, [[{ values, asNode: options?.asNode }]])
})

/**
 * The handle on one thread of a lowered graph.
 *
 * @internal
 */
export const make = (program: Program, id: string): Thread<any, any, any, any, any> => {
  const run = (begin: Begin, options: RunOptions | undefined) =>
    runThread(program, id, begin, optionsOf(options, undefined))
  const stream = (
    input: unknown,
    options: RunOptions & Event.StreamOptions<Event.Mode> & { readonly pending?: "fail" | "discard" }
  ) => eventStream(options, (sink) => runThread(program, id, beginOf(input, options.pending), optionsOf(options, sink)))
  return {
    id,
    invoke: (input: unknown, options?: RunOptions & { readonly pending?: "fail" | "discard" }) =>
      run(beginOf(input, options?.pending), options),
    start: (input: unknown, options?: RunOptions & { readonly key?: string }) =>
      run({ _tag: "Start", input, key: options?.key }, options),
    resume: (replies: any, options?: any) => {
      const { goto, replies: all, update } = Command.resume(replies as Reply.Any, {
        update: options?.update,
        goto: options?.goto
      })
      return run({ _tag: "Resume", replies: all, update, goto }, options)
    },
    continue: (options?: ContinueOptions) => {
      const { checkpoint, path, ...rest } = options ?? {}
      if (checkpoint === undefined || path === undefined || path.length === 0) return run({ _tag: "Continue" }, options)
      return Effect.flatMap(forkInside(program, id, path, checkpoint, "sync"), () => run({ _tag: "Continue" }, rest))
    },
    stream,
    events: (input: unknown, options: any) =>
      Stream.catchTag(stream(input, options) as Stream.Stream<any, any, any>, "GraphInterrupt", () => Stream.empty),
    ...partOf(program, id, { path: [], called: undefined }),
    updateAll: (supersteps: ReadonlyArray<ReadonlyArray<Given>>, options?: { readonly checkpoint?: string }) =>
      update(
        program,
        id,
        { path: [], called: undefined },
        options?.checkpoint,
        supersteps.map((updates) => updates.map(toUpdate))
      ),
    fork: (checkpoint?: string, options?: { readonly path?: ReadonlyArray<string> }) =>
      checkpoint === undefined || options?.path === undefined || options.path.length === 0
        ? fork(program, id, checkpoint)
        : forkInside(program, id, options.path, checkpoint, "sync"),
    at: (path: ReadonlyArray<string>, called?: CalledGraph) =>
      partOf(program, id, { path, called: called?.["~program"] }),
    delete: Effect.flatMap(Checkpointer, (saver) => saver.deleteThread(id))
  } as any
}
