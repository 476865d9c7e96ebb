/**
 * The events of a run, to hold on to: kept as they come, numbered, and read by as many as want to, from the beginning or from where
 * they were. A reader that comes back goes on without loss or repeat.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Snapshot } from "./Checkpoint.ts"
import type * as Event from "./Event.ts"
import { InvalidArgument, UnknownCheckpoint } from "./GraphError.ts"
import type { Program } from "./internal/engine/program.ts"
import { journalOptions, readOptions, storedOptions, telling, told, writeOptions } from "./internal/runtime/options.ts"
import type { Erased } from "./internal/runtime/task.ts"
import { eventJson } from "./internal/runtime/wire.ts"

/**
 * One thing that the journal holds. Cursors count from 1, in the order in which things happened.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry<out A> {
  readonly cursor: number
  readonly event: A
}

/**
 * A reader asks for what the journal no longer holds.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalGap extends Data.TaggedError("JournalGap")<{
  /** What the reader had last. */
  readonly after: number
  /** The first and the newest that there are. */
  readonly first: number
  readonly newest: number
}> {
  override get message(): string {
    const held = `the journal holds ${this.first} to ${this.newest}`
    return this.after > this.newest
      ? `${held}: ${this.after} is of another one. Read from the beginning`
      : `${held}: what follows ${this.after} is gone. Read the state of the thread, and go on from ${this.first - 1}`
  }
}

/**
 * How much a journal holds, and what happens when that is full: whoever writes waits until all who read have read on (`suspend`), or the oldest entries go
 * (`dropOldest`). Without a capacity it holds everything.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly capacity?: number
  readonly overflow?: "suspend" | "dropOldest"
}

/**
 * A journal of what a stream has emitted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Journal<out A, out E> {
  /**
   * What comes after a cursor (0 by default: all that is held), first what is there, then what is still to come. It ends as the stream has ended. Fails with
   * `JournalGap` where the journal does not hold what comes next.
   */
  readonly read: (options?: { readonly after?: number }) => Stream.Stream<Entry<A>, E | JournalGap | InvalidArgument>
  /** The cursor of the newest entry; 0 if there is none. */
  readonly newest: Effect.Effect<number>
  /** Waits for the end of the stream, and ends as it has. */
  readonly end: Effect.Effect<void, E>
}

/** How many entries a reader takes at once, at most. */
const readAtOnce = 256

/** Something that several wait for, and that happens again and again. */
class Signal {
  #next = Deferred.makeUnsafe<void>()

  /** The next time, counted from when this is read: in the same synchronous step as what it depends on, or a time in between is lost. */
  get wait(): Effect.Effect<void> {
    return Deferred.await(this.#next)
  }

  send(): void {
    const now = this.#next
    this.#next = Deferred.makeUnsafe()
    Deferred.doneUnsafe(now, Exit.void)
  }
}

/** What a journal keeps. */
class Kept<A, E> {
  readonly #capacity: number
  readonly #drops: boolean
  #entries: Array<Entry<A>> = []
  /** How many at the front of the entries are gone, and how many went before them. */
  #dropped = 0
  #before = 0
  #ended: Exit.Exit<void, E> | undefined = undefined
  /** Of those who read now: the cursor of what they have read last. */
  readonly #readers = new Map<object, number>()
  /** Something was written, or the end came. */
  readonly #written = new Signal()
  /** Somebody has read on, or left. */
  readonly #read = new Signal()

  constructor({ capacity = Infinity, overflow = "suspend" }: Options) {
    this.#capacity = capacity
    this.#drops = overflow === "dropOldest"
  }

  get newest(): number {
    return this.#before + this.#entries.length
  }

  get #gone(): number {
    return this.#before + this.#dropped
  }

  #drop(): void {
    this.#dropped++
    if (this.#dropped * 2 < this.#entries.length) return
    this.#entries = this.#entries.slice(this.#dropped)
    this.#before += this.#dropped
    this.#dropped = 0
  }

  /** Whether all who read have read the oldest entry, and there is somebody. */
  get #isRead(): boolean {
    return this.#readers.size > 0 && [...this.#readers.values()].every((cursor) => cursor > this.#gone)
  }

  append(event: A): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.newest - this.#gone >= this.#capacity) {
        if (!this.#drops && !this.#isRead) return Effect.flatMap(this.#read.wait, () => this.append(event))
        this.#drop()
      }
      this.#entries.push({ cursor: this.newest + 1, event })
      this.#written.send()
      return Effect.void
    })
  }

  end(exit: Exit.Exit<void, E>): void {
    this.#ended = exit
    this.#written.send()
  }

  /** What follows a cursor, once there is something; nothing at the end. */
  after(reader: object, cursor: number): Effect.Effect<ReadonlyArray<Entry<A>>, E | JournalGap> {
    return Effect.suspend((): Effect.Effect<ReadonlyArray<Entry<A>>, E | JournalGap> => {
      if (cursor < this.#gone || cursor > this.newest) {
        return Effect.fail(new JournalGap({ after: cursor, first: this.#gone + 1, newest: this.newest }))
      }
      if (this.#readers.get(reader) !== cursor) {
        this.#readers.set(reader, cursor)
        this.#read.send()
      }
      const from = cursor - this.#before
      if (from < this.#entries.length) return Effect.succeed(this.#entries.slice(from, from + readAtOnce))
      if (this.#ended === undefined) return Effect.flatMap(this.#written.wait, () => this.after(reader, cursor))
      return Exit.isSuccess(this.#ended) ? Effect.succeed([]) : Effect.failCause(this.#ended.cause)
    })
  }

  leave(reader: object): Effect.Effect<void> {
    return Effect.sync(() => {
      this.#readers.delete(reader)
      this.#read.send()
    })
  }

  whenEnded(): Effect.Effect<void, E> {
    return Effect.suspend(() => this.#ended ?? Effect.flatMap(this.#written.wait, () => this.whenEnded()))
  }
}

const readFrom = <A, E>(kept: Kept<A, E>, after: number): Stream.Stream<Entry<A>, E | JournalGap> =>
  Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(Effect.sync(() => ({})), (reader) => kept.leave(reader)),
      (reader) =>
        Stream.paginate(after, (cursor) =>
          Effect.map(kept.after(reader, cursor), (entries) => {
            const last = entries.at(-1)
            return [entries, last === undefined ? Option.none() : Option.some(last.cursor)] as const
          }))
    )
  )

/**
 * Keeps what a stream emits, which begins to run at once and ends with the scope. Whoever reads, and whether anybody does, does not matter to it, unless the
 * journal is full.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Checkpointer, Journal, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const add = ({ total }: { readonly total: number }) => ({ total: total + 1 })
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { one: add, two: add, three: add }), {
 *   start: "one",
 *   edges: StateGraph.sequence("one", "two", "three")
 * })
 *
 * const program = Effect.gen(function*() {
 *   const journal = yield* Journal.make(app.thread("t").stream({ total: 0 }, { modes: ["values"] }))
 *   const first = yield* Stream.runCollect(journal.read().pipe(Stream.take(1)))
 *   console.log(first.map(({ cursor, event }) => [cursor, event.step])) // => [[1, 0]]
 *
 *   // The reader was cut off, and comes back.
 *   const rest = yield* Stream.runCollect(journal.read({ after: 1 }))
 *   console.log(rest.map(({ cursor, event }) => [cursor, event.step])) // => [[2, 1], [3, 2], [4, 3]]
 * })
 * await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Checkpointer.layerMemory)))
 * ```
 */
export const make = <A, E, R>(
  stream: Stream.Stream<A, E, R>,
  options?: Options
): Effect.Effect<Journal<A, E>, InvalidArgument, R | Scope.Scope> =>
  telling(
    () => told(journalOptions, options),
    (said) =>
      Effect.gen(function*() {
        const kept = new Kept<A, E>(said as Options)
        const run = yield* Effect.forkScoped(Stream.runForEach(stream, (event) => kept.append(event)))
        // A run that ends before its first step has no finalizers: who looks from outside sees its end too.
        run.addObserver((exit) => kept.end(exit))
        return {
          read: (given?: unknown) => {
            const entries = telling(
              () => told(readOptions, given),
              ({ after }) => Effect.succeed(readFrom(kept, after ?? 0))
            )
            return Stream.unwrap(entries as Effect.Effect<ReturnType<typeof readFrom<A, E>>, InvalidArgument>)
          },
          newest: Effect.sync(() => kept.newest),
          end: kept.whenEnded()
        } as Journal<A, E>
      })
  ) as Effect.Effect<Journal<A, E>, InvalidArgument, R | Scope.Scope>

// ---------------------------------------------------------------------------
// Projections
// ---------------------------------------------------------------------------

/**
 * What somebody wants to see of events: a fold over them, which shows something now and then. Pure: the same journal shows the same, however often it
 * is read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Projection<in A, out B, in out S> {
  readonly initial: S
  readonly step: (state: S, event: A) => readonly [state: S, shown: ReadonlyArray<B>]
}

/**
 * What a projection shows of entries, each under the cursor of the event that it came with. Of a reader that comes back, the fold begins anew: with it, what it
 * shows before the reader's cursor is read again, or the reader keeps it.
 *
 * @category projections
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { type Event, Journal, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const add = ({ total }: { readonly total: number }) => ({ total: total + 1 })
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { one: add, two: add }), {
 *   start: "one",
 *   edges: { one: "two" }
 * })
 *
 * // How many tasks have ended, and which was the last.
 * const progress: Journal.Projection<Event.TaskStarted | Event.TaskEnded, string, number> = {
 *   initial: 0,
 *   step: (done, event) => event.type === "ended" ? [done + 1, [`${done + 1}: ${event.node}`]] : [done, []]
 * }
 *
 * const program = Effect.gen(function*() {
 *   const journal = yield* Journal.make(app.stream({ total: 1 }, { modes: ["tasks"] }))
 *   return (yield* Stream.runCollect(journal.read().pipe(Journal.project(progress)))).map(({ event }) => event)
 * })
 * console.log(await Effect.runPromise(Effect.scoped(program))) // => ["1: one", "2: two"]
 * ```
 */
export const project =
  <A, B, S>(projection: Projection<A, B, S>) =>
  <E, R>(entries: Stream.Stream<Entry<A>, E, R>): Stream.Stream<Entry<B>, E, R> =>
    Stream.mapAccum(entries, () => projection.initial, (state, { cursor, event }) => {
      const [next, shown] = projection.step(state, event)
      return [next, shown.map((event): Entry<B> => ({ cursor, event }))] as const
    })

/**
 * The entries of some modes: what a stream of these modes alone would have shown. A pause, which every stream shows, is of mode `"paused"`: name it too.
 *
 * @category projections
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Journal, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   const journal = yield* Journal.make(app.stream({ total: 1 }, { modes: ["values", "updates", "lifecycle"] }))
 *   const values = yield* Stream.runCollect(journal.read().pipe(Journal.only("values")))
 *   return values.map(({ cursor, event }) => [cursor, event.values.total])
 * })
 * console.log(await Effect.runPromise(Effect.scoped(program))) // => [[2, 1], [4, 2]]
 * ```
 */
export const only = <const M extends string>(...modes: ReadonlyArray<M>) =>
<A extends { readonly mode: string }, E, R>(
  entries: Stream.Stream<Entry<A>, E, R>
): Stream.Stream<Entry<Extract<A, { readonly mode: M }>>, E, R> =>
  Stream.filter(
    entries,
    (entry): entry is Entry<Extract<A, { readonly mode: M }>> => modes.includes(entry.event.mode as M)
  )

// ---------------------------------------------------------------------------
// Over a wire
// ---------------------------------------------------------------------------

/**
 * A graph, machine or entrypoint, whose channels say how its values are written.
 *
 * @category models
 * @since 0.1.0
 */
export interface Written {
  /** @internal */
  readonly "~program": Program
}

/**
 * How events are written.
 *
 * @category models
 * @since 0.1.0
 */
export interface WriteOptions {
  /** What stands in the place of a value that has no form as JSON, such as a client in an untracked channel. Without it, the event fails. */
  readonly otherwise?: (value: unknown) => Schema.Json
}

/**
 * An event as JSON: values, results, updates and inputs as the channels of their graph store them, anything else as `JSON.stringify` writes it. Fails with `InvalidArgument`
 * where it cannot, unless `otherwise` says what to write. Of an event that is not the one that the stream gave, a graph that a node called is not known: its values are written like anything else.
 *
 * @category encoding
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Journal, State, StateGraph } from "superstep"
 *
 * class Due extends State.make({ at: Schema.Date }) {}
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Due, { wait: ({ at }) => ({ at: new Date(at.getTime() + 86_400_000) }) }),
 *   { start: "wait" }
 * )
 *
 * const [first] = await Effect.runPromise(
 *   Stream.runCollect(app.stream({ at: new Date(0) }, { modes: ["updates"] }).pipe(Stream.mapEffect(Journal.toJson(app))))
 * )
 * console.log(first)
 * // => { mode: "updates", path: [], step: 1, node: "wait", update: { at: "1970-01-02T00:00:00.000Z" }, cached: false }
 * ```
 */
export const toJson =
  (graph: Written, options?: WriteOptions) => (event: Event.Any): Effect.Effect<Schema.Json, InvalidArgument> =>
    telling(() => told(writeOptions, options), ({ otherwise }) =>
      Effect.mapError(
        Effect.fromResult(eventJson(graph["~program"], event, otherwise)),
        (detail) => new InvalidArgument({ argument: "event", detail })
      )) as Effect.Effect<Schema.Json, InvalidArgument>

/**
 * Entries as server-sent events: the cursor is the id, the mode is the name, so that what a browser sends as `Last-Event-ID` is where it goes on.
 *
 * @category encoding
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Journal, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   const journal = yield* Journal.make(app.stream({ total: 1 }, { modes: ["updates"] }))
 *   return yield* Stream.mkString(journal.read().pipe(Journal.toSse(app)))
 * })
 * console.log((await Effect.runPromise(Effect.scoped(program))).split("\n").slice(0, 2)) // => ["id: 1", "event: updates"]
 * ```
 */
export const toSse =
  (graph: Written, options?: WriteOptions) =>
  <A extends Event.Any, E, R>(entries: Stream.Stream<Entry<A>, E, R>): Stream.Stream<string, E | InvalidArgument, R> =>
    Stream.mapEffect(
      entries,
      ({ cursor, event }) =>
        Effect.map(
          toJson(graph, options)(event),
          (json) =>
            Sse.encoder.write({ _tag: "Event", id: String(cursor), event: event.mode, data: JSON.stringify(json) })
        )
    )

/**
 * Entries as lines of JSON, with their cursors.
 *
 * @category encoding
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Journal, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   const journal = yield* Journal.make(app.stream({ total: 1 }, { modes: ["values"] }))
 *   return yield* Stream.runCollect(journal.read().pipe(Journal.toNdjson(app)))
 * })
 * const lines = await Effect.runPromise(Effect.scoped(program))
 * console.log(JSON.parse(lines[1] ?? ""))
 * // => { cursor: 2, event: { mode: "values", path: [], step: 1, values: { total: 2 } } }
 * ```
 */
export const toNdjson =
  (graph: Written, options?: WriteOptions) =>
  <A extends Event.Any, E, R>(entries: Stream.Stream<Entry<A>, E, R>): Stream.Stream<string, E | InvalidArgument, R> =>
    Stream.mapEffect(
      entries,
      ({ cursor, event }) =>
        Effect.map(toJson(graph, options)(event), (json) => `${JSON.stringify({ cursor, event: json })}\n`)
    )

// ---------------------------------------------------------------------------
// After a restart
// ---------------------------------------------------------------------------

/** A thread whose past can be read. */
interface Readable<V, E, R> {
  readonly id: string
  readonly history: () => Effect.Effect<ReadonlyArray<Snapshot<V, unknown>>, E, R>
}

/** The checkpoints that lead to the newest of a branch, the oldest first. */
const lineOf = <V>(
  history: ReadonlyArray<Snapshot<V, unknown>>,
  branch: number
): ReadonlyArray<Snapshot<V, unknown>> => {
  const byId = new Map(history.map((snapshot) => [snapshot.checkpoint, snapshot]))
  const line: Array<Snapshot<V, unknown>> = []
  for (let at = history.find((one) => one.branch === branch); at !== undefined;) {
    line.push(at)
    at = at.parent === undefined ? undefined : byId.get(at.parent)
  }
  return line.toReversed()
}

const newestBranch = (history: ReadonlyArray<Snapshot<unknown, unknown>>): number =>
  history.reduce((newest, { branch }) => Math.max(newest, branch), 0)

const asEvent = <V>(
  { checkpoint, next, parent, source, step, values }: Snapshot<V, unknown>
): Event.Checkpoints<V, Event.Root> => ({
  mode: "checkpoints",
  path: [],
  step,
  checkpoint,
  parent,
  source,
  values,
  next
})

/**
 * What a thread holds of its past when the journal of its runs is gone, as events of `checkpoints`: those that follow a checkpoint, of its branch, or all
 * of the current branch, the oldest first. What tasks have done on the way is in the history, not here.
 *
 * @category reading
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Checkpointer, Journal, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   yield* app.thread("t").invoke({ total: 1 })
 *   return (yield* Stream.runCollect(Journal.stored(app.thread("t")))).map(({ source, step, values }) => [source, step, values])
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory))))
 * // => [["input", -1, {}], ["loop", 0, { total: 1 }], ["loop", 1, { total: 2 }]]
 * ```
 */
export const stored = <V, E, R>(
  thread: Readable<V, E, R>,
  options?: { readonly after?: string }
): Stream.Stream<Event.Checkpoints<V, Event.Root>, E | InvalidArgument | UnknownCheckpoint, R> =>
  Stream.unwrap(
    telling(() => told(storedOptions, options), ({ after }): Erased<Stream.Stream<Event.Checkpoints<V, Event.Root>>> =>
      Effect.flatMap(thread.history(), (history) => {
        const found = after === undefined ? undefined : history.find(({ checkpoint }) =>
          checkpoint === after
        )
        if (after !== undefined && found === undefined) {
          return Effect.fail(new UnknownCheckpoint({ thread: thread.id, checkpoint: after, path: [] }))
        }
        const line = lineOf(history, found?.branch ?? newestBranch(history))
        const first = found === undefined ? 0 : line.findIndex(({ checkpoint }) => checkpoint === after) + 1
        return Effect.succeed(Stream.fromIterable(line.slice(first).map(asEvent)))
      })) as Effect.Effect<Stream.Stream<Event.Checkpoints<V, Event.Root>>, E | InvalidArgument | UnknownCheckpoint, R>
  ) as Stream.Stream<Event.Checkpoints<V, Event.Root>, E | InvalidArgument | UnknownCheckpoint, R>
