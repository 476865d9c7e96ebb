/**
 * The storage of one graph in one run on a thread: where it stands, and how a
 * superstep becomes durable. `sync` waits for every commit, `async` commits in
 * order behind the run, `exit` commits once, when the run ends.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import type { CheckpointRow, Move, Source, TaskRow } from "../../Checkpoint.ts"
import { format } from "../../Checkpoint.ts"
import type { CheckpointerShape } from "../../Checkpointer.ts"
import { CheckpointError, GraphChanged, ThreadConflict, type ThreadDeleted } from "../../GraphError.ts"
import { type Checkpoint, readBack } from "../engine/checkpoint.ts"
import { checkpointId, seedOf } from "../engine/ids.ts"
import { checkpointKey, type Inside, placeKey } from "../engine/namespace.ts"
import type { Program } from "../engine/program.ts"
import { allRead, decodeCheckpoint, decodeTask } from "../engine/restored.ts"
import {
  checkpointRow,
  encodeCheckpoint,
  type EncodedCheckpoint,
  encodeTask,
  type Fault,
  handedUp,
  noChain,
  type Place,
  type TaskRecord,
  wholeState
} from "../engine/stored.ts"
import type { Write } from "../engine/writes.ts"
import { growing, grown } from "../growing.ts"
import { quoted } from "../say.ts"
import { countedCommit } from "./metrics.ts"

export type Durability = "sync" | "async" | "exit"

/** Why what is stored cannot be read. */
export type ReadError = CheckpointError | GraphChanged

export type StorageError = ReadError | ThreadConflict | ThreadDeleted

/** Commits that may wait in `async` before the run waits for them. */
export const maxCommitLag = 64

/** What is kept with every checkpoint, besides the user's own. */
export interface StoredMetadata {
  /** The key that `start` was given. */
  readonly start: string | null
  readonly user: Readonly<Record<string, Schema.Json>>
  /** Of a graph inside a task: the checkpoint that the task started from, and the task. */
  readonly inside?: Inside
}

const isMetadata = Schema.is(Schema.Struct({
  start: Schema.optionalKey(Schema.String),
  user: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  inside: Schema.optionalKey(Schema.Tuple([Schema.String, Schema.String]))
}))

/** The text of metadata: what there is none of is left out. */
const metadataText = ({ start, user }: StoredMetadata, inside: Inside | undefined): string =>
  JSON.stringify({
    ...(start === null ? {} : { start }),
    ...(Object.keys(user).length === 0 ? {} : { user }),
    ...(inside === undefined ? {} : { inside })
  })

const readMetadata = (row: CheckpointRow): Result.Result<StoredMetadata, string> => {
  try {
    const metadata: unknown = JSON.parse(row.metadata)
    return isMetadata(metadata)
      ? Result.succeed({ start: null, user: {}, ...metadata })
      : Result.fail("its metadata is damaged")
  } catch {
    return Result.fail("its metadata is damaged")
  }
}

/** Fails where the metadata of rows cannot be read. */
export const checkMetadata = (
  thread: string,
  rows: ReadonlyArray<CheckpointRow>
): Effect.Effect<void, CheckpointError> => {
  const damaged = rows.find((row) => Result.isFailure(readMetadata(row)))
  return damaged === undefined
    ? Effect.void
    : Effect.fail(
      new CheckpointError({ reason: "Decode", thread, checkpoint: damaged.id, detail: "its metadata is damaged" })
    )
}

/** The metadata of a row that was checked. */
export const metadataOf = (row: CheckpointRow): StoredMetadata => Result.getOrThrow(readMetadata(row))

/** What the sessions of one run share. */
export interface ThreadRun {
  readonly saver: CheckpointerShape
  readonly thread: string
  readonly branch: number
  /** Names this run attempt: random, in no hash. */
  readonly owner: string
  /** The life of the thread, which what is stored belongs to; none before it begins. */
  life: string | undefined
  /** Where the branch stands in storage: none before it has a head. */
  root: string | undefined
  readonly durability: Durability
  readonly metadata: StoredMetadata
  readonly commits: Commits
  /** In durability `exit`: what is stored at the end. */
  readonly unstored: Unstored
  /** What storing and reading this thread has failed with. */
  readonly faults: WeakSet<object>
}

/** Whether a failure is one of this run's storage: the engine's, and no node's. */
export const isFault = (run: ThreadRun | undefined, cause: Cause.Cause<unknown>): boolean =>
  run !== undefined && cause.reasons.some((reason) => reason._tag === "Fail" && run.faults.has(reason.error as object))

/** A saver whose failures are noted as faults. What an untyped saver fails with may be no error. */
export const noting = (saver: CheckpointerShape, faults: WeakSet<object>): CheckpointerShape => {
  const note = <A, E extends StorageError>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | CheckpointError> =>
    Effect.mapError(effect, (error: unknown) => {
      const fault = typeof error === "object" && error !== null
        ? error as E
        : new CheckpointError({ reason: "Storage", detail: quoted(error), cause: error })
      faults.add(fault)
      return fault
    })
  return {
    ...saver,
    head: (thread, place, branch) => note(saver.head(thread, place, branch)),
    get: (thread, namespace, id) => note(saver.get(thread, namespace, id)),
    putTasks: (thread, put) => note(saver.putTasks(thread, put)),
    commit: (thread, commit) => note(saver.commit(thread, commit))
  }
}

/**
 * Work that is done behind a run, one piece at a time: `step` takes what waits and does it. What it fails with ends it, and is
 * what everybody who waits for it, or starts it again, fails with.
 */
class Behind {
  readonly step: Effect.Effect<void, StorageError>
  readonly #lock = Semaphore.makeUnsafe(1)
  #isStarted = false
  #failure: Cause.Cause<StorageError> | undefined = undefined

  constructor(step: Effect.Effect<void, StorageError>) {
    this.step = step
  }

  /** Waits until what is being done is done, and does what waits. */
  readonly flush: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    Effect.uninterruptible(
      this.#lock.withPermits(1)(Effect.suspend(() =>
        this.#failure !== undefined ?
          Effect.failCause(this.#failure) :
          Effect.onError(this.step, (cause) =>
            Effect.sync(() => {
              this.#failure = cause
            }))
      ))
    )
  )

  /** Begins in the next tick, so that what comes in the same tick is done together. */
  readonly start: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    if (this.#failure !== undefined) return Effect.failCause(this.#failure)
    if (this.#isStarted) return Effect.void
    this.#isStarted = true
    const work = Effect.suspend(() => {
      this.#isStarted = false
      return this.flush
    })
    return Effect.asVoid(Effect.forkDetach(Effect.uninterruptible(Effect.andThen(Effect.yieldNow, work))))
  })
}

/** Commits on their way in durability `async`: in order, one at a time, with a bounded lag. */
export class Commits {
  readonly #waiting: Array<Effect.Effect<void, StorageError>> = []
  readonly #behind = new Behind(Effect.suspend((): Effect.Effect<void, StorageError> => {
    const next = this.#waiting.shift()
    return next === undefined ? Effect.void : Effect.flatMap(next, () => this.#behind.step)
  }))

  add(commit: Effect.Effect<void, StorageError>): Effect.Effect<void, StorageError> {
    return Effect.suspend(() => {
      this.#waiting.push(commit)
      return this.#waiting.length > maxCommitLag ? this.flush : this.#behind.start
    })
  }

  /** Waits until everything is stored. */
  readonly flush: Effect.Effect<void, StorageError> = Effect.suspend(() => this.#behind.flush)
}

export const toError = (thread: string, checkpoint: string | undefined) => (fault: Fault): ReadError =>
  fault.reason === "Graph"
    ? new GraphChanged({ thread, checkpoint, graph: fault.graph, differences: fault.differences })
    : new CheckpointError({ reason: fault.reason, thread, channel: fault.channel, checkpoint, detail: fault.detail })

/** Reads a checkpoint of a thread. */
export const load = (
  run: Pick<ThreadRun, "saver" | "thread">,
  program: Program,
  namespace: string,
  id: string
): Effect.Effect<Option.Option<{ readonly place: Place; readonly row: CheckpointRow }>, ReadError> =>
  Effect.flatMap(run.saver.get(run.thread, namespace, id), (saved) => {
    if (Option.isNone(saved)) return Effect.succeedNone
    const { chain, tasks } = saved.value
    const place = Result.mapError(decodeCheckpoint(program, chain, tasks), toError(run.thread, id))
    const row = chain[chain.length - 1]!
    return Effect.andThen(
      checkMetadata(run.thread, [row]),
      Effect.map(Effect.fromResult(place), (place) => Option.some({ place, row }))
    )
  })

/** Fails where a result holds a write that no migration says anything of. */
export const readThrough = (thread: string, { id, records }: Place): Effect.Effect<void, ReadError> =>
  Effect.fromResult(Result.mapError(allRead(records.values()), toError(thread, id)))

/** Fails where something is still to be done that the graph no longer knows: what goes on from there would leave it out. */
export const whole = (
  thread: string,
  program: Program,
  place: Place
): Effect.Effect<void, ReadError> =>
  Effect.suspend((): Effect.Effect<void, ReadError> => {
    const { gone, id, records, unread } = place
    if (unread !== undefined) return Effect.fail(toError(thread, id)(unread))
    const all = new Set(gone)
    for (const record of records.values()) {
      if (record.status === "done") { for (const name of record.gone ?? []) all.add(name) }
    }
    if (all.size === 0) return readThrough(thread, place)
    const differences = [...all].map((name) => ({ kind: "NodeGone" as const, name }))
    return Effect.fail(new GraphChanged({ thread, graph: program.name, checkpoint: id, differences }))
  })

/** Whether the thread is the one that it was. */
export const isAlive = (
  saver: CheckpointerShape,
  thread: string,
  life: string | undefined
): Effect.Effect<boolean, CheckpointError> =>
  Effect.map(saver.head(thread, ""), (head) => Option.getOrUndefined(head)?.life === life)

/** What a commit leads to. */
export interface Step {
  readonly source: Source
  readonly checkpoint: Checkpoint
  /** The finished tasks whose writes led here, in task order; they stand beside the checkpoint before. */
  readonly tasks: ReadonlyArray<{ readonly id: string; readonly record: TaskRecord & { readonly status: "done" } }>
  /** Records to keep beside the new checkpoint. */
  readonly records: ReadonlyMap<string, TaskRecord>
  /** Whether the whole state is stored, because the writes do not tell how it came about. */
  readonly isWhole: boolean
  /** What was written to a nested graph from outside, as if by its nodes. */
  readonly up?: ReadonlyArray<Write>
}

/** In durability `exit`: the graphs inside tasks, which are stored with the root, all at once. */
export class Unstored {
  /** By place, in the order in which they began: so they are stored. */
  readonly #sessions = new Map<string, Session>()
  /** By namespace and checkpoint: those that have come somewhere. */
  readonly #standing = new Map<string, Session>()
  readonly #lock = Semaphore.makeUnsafe(1)
  #root: Session | undefined = undefined
  /** How many graphs there may be before those that are of no use are looked for. */
  #limit = 64

  /** Notes a graph that begins, or goes on. */
  begun(session: Session): void {
    if (session.run.durability !== "exit") return
    if (session.isNested) this.#sessions.set(session.key, session)
    else this.#root = session
  }

  /** A graph that this run has begun, at a place. */
  at(key: string): Session | undefined {
    return this.#sessions.get(key)
  }

  /** The graph that has come to a checkpoint. */
  standing(namespace: string, id: string): Session | undefined {
    return this.#standing.get(checkpointKey(namespace, id))
  }

  /** A graph has moved on: graphs inside its finished tasks may be of no more use. */
  moved(session: Session, before: string | undefined): void {
    if (session.run.durability !== "exit") return
    if (session.isNested) {
      if (before !== undefined) this.#leave(session, before)
      this.#standing.set(checkpointKey(session.namespace, session.id), session)
    }
    if (this.#root !== undefined && this.#sessions.size > this.#limit) this.#collect(this.#root)
  }

  #leave(session: Session, id: string): void {
    const at = checkpointKey(session.namespace, id)
    if (this.#standing.get(at) === session) this.#standing.delete(at)
  }

  /** Keeps the graphs inside unfinished tasks, and those that finished tasks have left, the last at each place. */
  #collect(root: Session): void {
    const inside = Map.groupBy(
      this.#sessions.values(),
      (session) => JSON.stringify([session.around, session.startedFrom])
    )
    const used = new Set<Session>()
    const visit = (around: Session): void => {
      const unfinished = inside.get(JSON.stringify([around.key, around.id])) ?? []
      const left = [...around.place.graphs].flatMap(([namespace, id]) => this.standing(namespace, id) ?? [])
      for (const session of [...unfinished, ...left]) {
        if (used.has(session)) continue
        used.add(session)
        visit(session)
      }
    }
    visit(root)
    for (const [key, session] of this.#sessions) {
      if (used.has(session)) continue
      this.#sessions.delete(key)
      if (session.place.id !== undefined) this.#leave(session, session.place.id)
    }
    this.#limit = 2 * used.size + 64
  }

  /** Stores everything, one call after the other. */
  flush(root: Session, now: number): Effect.Effect<void, StorageError> {
    return this.#lock.withPermits(1)(Effect.suspend(() => this.#store(this.#root ?? root, now)))
  }

  #store(root: Session, now: number): Effect.Effect<void, StorageError> {
    if (root.place.id === undefined) return Effect.void
    this.#collect(root)
    const inside: Array<Move> = []
    for (const session of this.#sessions.values()) {
      const move = session.unstoredMove(now)
      if (Result.isFailure(move)) return Effect.fail(move.failure)
      if (move.success !== undefined) inside.push(move.success)
    }
    const move = Result.flatMap(
      root.unstoredMove(now),
      (move) => move === undefined && inside.length > 0 ? root.moveBeside(new Map(), now) : Result.succeed(move)
    )
    if (Result.isFailure(move)) return Effect.fail(move.failure)
    const stored = move.success === undefined ? Effect.void : Effect.uninterruptible(root.write(move.success, inside))
    const rows = Effect.forEach([...this.#sessions.values(), root], (session) => session.storeUnstored, {
      discard: true
    })
    return Effect.andThen(stored, rows)
  }
}

/** What a graph, and those that go on from it at the same place, have stored last. */
interface Line {
  stored: string | undefined
}

export class Session {
  readonly run: ThreadRun
  readonly program: Program
  readonly namespace: string
  /** Names the head that this session moves. */
  readonly key: string
  /** What the first id of a nested graph derives from. */
  readonly seed: string
  readonly isNested: boolean
  /** Whether the graph has been here before: it stands at a head, and goes on from there. */
  isAtHead: boolean
  /** Names the head of the graph around it. */
  readonly around: string | undefined
  /** The checkpoint of the graph around it that its task started from. */
  readonly startedFrom: string | undefined
  /** Whether nothing has been done here yet: the next checkpoint is the first of this place. */
  #isFresh: boolean
  place: Place
  /** The checkpoint of this graph that is stored last. */
  #stored: string | undefined
  readonly line: Line
  #source: Source = "input"
  readonly #metadata: string
  /** Tasks whose rows beside the current checkpoint are stored, with the revision of the row. */
  readonly #storedTasks = new Map<string, number>()
  /** Tasks of which durability `exit` has still to store what they came to last. */
  readonly #outdated = new Set<string>()
  #buffer: Array<{ readonly id: string; readonly row: TaskRow }> = []
  /** Stores records batch after batch: what comes while one is on its way waits for the next. */
  readonly #acknowledging = new Behind(Effect.suspend((): Effect.Effect<void, StorageError> => {
    if (this.#buffer.length === 0) return Effect.void
    const batch = this.#buffer
    this.#buffer = []
    return Effect.flatMap(this.#store(batch), () => this.#acknowledging.step)
  }))
  /** Finished records of another runner that were stored first, and stand in this superstep. */
  readonly adopted = new Map<string, TaskRecord>()

  constructor(options: {
    readonly run: ThreadRun
    readonly program: Program
    readonly namespace: string
    readonly inside: Inside | undefined
    readonly place: Place
    readonly isAtHead: boolean
    readonly around?: string
    /** That of the graph from which it goes on, if where that stands is not stored. */
    readonly line?: Line
  }) {
    this.run = options.run
    this.program = options.program
    this.namespace = options.namespace
    this.key = placeKey(options.inside, options.namespace)
    this.seed = options.inside === undefined ? "" : seedOf(options.inside, options.namespace)
    this.isNested = options.inside !== undefined
    this.#metadata = metadataText(this.run.metadata, options.inside)
    this.isAtHead = options.isAtHead
    this.place = options.place
    this.around = options.around
    this.startedFrom = options.inside?.[0]
    this.#isFresh = !options.isAtHead
    this.#stored = options.line === undefined ? options.place.id : undefined
    this.line = options.line ?? { stored: options.place.id }
    this.#expected = options.isAtHead ? options.place.id : undefined
    for (const id of options.place.records.keys()) this.#storedTasks.set(id, options.place.revisions.get(id) ?? 0)
    this.run.unstored.begun(this)
  }

  /** The id of the checkpoint that the current superstep starts from. */
  get id(): string {
    return this.place.id ?? this.seed
  }

  #fail(fault: Fault): ReadError {
    const error = toError(this.run.thread, this.place.id)(fault)
    this.run.faults.add(error)
    return error
  }

  #encode(checkpoint: string, task: string, record: TaskRecord): Result.Result<TaskRow, ReadError> {
    const revision = (this.#storedTasks.get(task) ?? 0) + 1
    return Result.mapError(
      encodeTask(this.program, this.place.chain.by, { checkpoint, task, revision }, record),
      (fault) => this.#fail(fault)
    )
  }

  /** Makes what a task has produced durable; records that come in the same tick are stored together. */
  acknowledge(id: string, record: TaskRecord): Effect.Effect<void, StorageError> {
    return Effect.suspend(() => {
      if (this.run.durability === "exit") return Effect.void
      const row = this.#encode(this.id, id, record)
      if (Result.isFailure(row)) return Effect.fail(row.failure)
      this.#buffer.push({ id, row: row.success })
      return this.#acknowledging.start
    })
  }

  /** Stores rows beside the current checkpoint, which is stored before them. Gives those that stand. */
  #store(
    batch: ReadonlyArray<{ readonly id: string; readonly row: TaskRow }>
  ): Effect.Effect<ReadonlyArray<TaskRow>, StorageError> {
    const { commits, saver, thread } = this.run
    const behind = this.run.durability === "async" ? commits.flush : Effect.void
    const put = Effect.flatMap(behind, () =>
      saver.putTasks(thread, {
        namespace: this.namespace,
        tasks: batch.map(({ row }) => row),
        place: this.key,
        branch: this.run.branch,
        // A thread that has begun has a life.
        life: this.run.life!,
        root: this.run.root
      }))
    return Effect.flatMap(put, (rows) => {
      for (const [index, { id, row }] of batch.entries()) {
        this.#storedTasks.set(id, rows[index]!.revision)
        this.#outdated.delete(id)
        if (rows[index] === row || rows[index]!.status !== "done" || rows[index]!.data === row.data) continue
        const record = decodeTask(this.program, this.place.chain.by, rows[index]!)
        if (Result.isFailure(record)) return Effect.fail(this.#fail(record.failure))
        this.adopted.set(id, record.success)
      }
      return Effect.succeed(rows)
    })
  }

  /** Waits until every acknowledged record is stored. */
  readonly settle: Effect.Effect<void, StorageError> = Effect.suspend(() => this.#acknowledging.flush)

  /**
   * Stores records at once, before anything that depends on them happens. Where another runner was faster, with a Command or an answer
   * of its own, this one has seen too little to go on.
   */
  store(records: ReadonlyMap<string, TaskRecord>): Effect.Effect<void, StorageError> {
    return Effect.suspend(() => {
      this.place = { ...this.place, records: new Map([...this.place.records, ...records]) }
      // Beside a checkpoint that is not stored nothing can stand: they are stored with it.
      return records.size === 0 || !this.isStored ? Effect.void : this.#storeNow(records)
    })
  }

  #storeNow(records: ReadonlyMap<string, TaskRecord>): Effect.Effect<void, StorageError> {
    const rows = this.#encodeAll(this.id, records)
    if (Result.isFailure(rows)) return Effect.fail(rows.failure)
    const put = this.#store(rows.success.map((row) => ({ id: row.task, row })))
    return Effect.flatMap(
      Effect.uninterruptible(put),
      (standing) =>
        standing.every(({ data }, index) => data === rows.success[index]!.data)
          ? Effect.void
          : Effect.fail(this.#overtaken())
    )
  }

  #overtaken(): ThreadConflict {
    const { branch, faults, thread } = this.run
    const error = new ThreadConflict({ thread, branch, expected: this.place.id, found: this.place.id })
    faults.add(error)
    return error
  }

  /** Goes on from where it stands, as if it had been stored and were read back. */
  resume(): void {
    this.isAtHead = !this.#isFresh
    this.place = { ...this.place, checkpoint: readBack(this.program, this.place.checkpoint) }
  }

  /** Where it stands, as a graph sees it that is called at the same place: what storage would give, if this one were stored. */
  placeFor(program: Program): Result.Result<Place, ReadError> {
    const { id } = this.place
    if (program === this.program || id === undefined) {
      return Result.succeed({ ...this.place, checkpoint: readBack(program, this.place.checkpoint) })
    }
    const read = Result.flatMap(
      encodeCheckpoint(this.program, undefined, this.place, wholeState),
      (encoded) => decodeCheckpoint(program, [this.#row(id, encoded, 0)], [])
    )
    return Result.mapError(read, (fault) => this.#fail(fault))
  }

  /** Whether the current checkpoint is stored. */
  get isStored(): boolean {
    return this.place.id !== undefined && this.place.id === this.#stored
  }

  /** Moves on to the next checkpoint, and makes it durable as the run's durability says. */
  commit(step: Step, createdMillis: number): Effect.Effect<void, StorageError> {
    return Effect.suspend(() => {
      if (this.run.durability === "exit") return Effect.asVoid(Effect.fromResult(this.#advance(step)))
      const move = this.move(step, createdMillis)
      if (Result.isFailure(move)) return Effect.fail(move.failure)
      const commit = this.write(move.success, [])
      return this.run.durability === "async" ? this.run.commits.add(commit) : Effect.uninterruptible(commit)
    })
  }

  /** Moves on to the next checkpoint: what has to be written of it. */
  move(step: Step, createdMillis: number): Result.Result<Move, ReadError> {
    return Result.flatMap(
      this.#advance(step),
      ({ encoded, fresh }) =>
        Result.map(this.#encodeAll(this.id, step.records), (kept) => {
          for (const { revision, task } of kept) this.#storedTasks.set(task, revision)
          const finished = step.isWhole ? undefined : step.tasks.length
          return this.#moveTo(this.#row(this.id, encoded, createdMillis), [...fresh, ...kept], finished)
        })
    )
  }

  /** Moves on to the next checkpoint; gives its encoded form, and the rows of finished tasks that are not stored. */
  #advance(
    step: Step
  ): Result.Result<{ readonly encoded: EncodedCheckpoint; readonly fresh: ReadonlyArray<TaskRow> }, ReadError> {
    const before = this.place
    const rows = this.#encodeAll(this.id, step.tasks.map(({ id, record }) => [id, record]))
    if (Result.isFailure(rows)) return Result.fail(rows.failure)
    const after = this.#after(step)
    const encoded = this.#encodeCheckpoint(step, before, after, rows.success)
    if (Result.isFailure(encoded)) return Result.fail(this.#fail(encoded.failure))
    const whole = step.isWhole ? this.#wholeOf(after) : Result.succeed("")
    if (Result.isFailure(whole)) return Result.fail(this.#fail(whole.failure))
    const id = this.#idOf(step, rows.success, whole.success)
    this.place = { ...after, id, chain: encoded.success.chain }
    this.#source = step.source
    this.#isFresh = false
    this.run.unstored.moved(this, before.id)
    // Beside a checkpoint that is not stored, nothing can stand.
    const fresh = before.id === undefined || this.#expected === undefined
      ? []
      : rows.success.filter((row) => !this.#storedTasks.has(row.task))
    this.#storedTasks.clear()
    this.#outdated.clear()
    this.adopted.clear()
    return Result.succeed({ encoded: encoded.success, fresh })
  }

  #encodeAll(
    checkpoint: string,
    records: Iterable<readonly [task: string, record: TaskRecord]>
  ): Result.Result<ReadonlyArray<TaskRow>, ReadError> {
    const rows: Array<TaskRow> = []
    for (const [task, record] of records) {
      const row = this.#encode(checkpoint, task, record)
      if (Result.isFailure(row)) return Result.fail(row.failure)
      rows.push(row.success)
    }
    return Result.succeed(rows)
  }

  /**
   * What the id of a checkpoint derives from that does not follow from writes: the state. Not which graphs inside finished tasks can be
   * read: that depends on the durability.
   */
  #wholeOf(after: Place): Result.Result<string, Fault> {
    const encoded = encodeCheckpoint(this.program, undefined, { ...after, graphs: new Map() }, wholeState)
    return Result.map(encoded, ({ data }) => data)
  }

  #encodeCheckpoint(step: Step, before: Place, after: Place, rows: ReadonlyArray<TaskRow>) {
    if (this.run.durability === "exit") return Result.succeed({ isKeyframe: true, data: "", chain: noChain })
    return encodeCheckpoint(this.program, step.isWhole ? undefined : before, after, {
      writesLength: rows.reduce((sum, { data }) => sum + data.length, 0),
      finished: rows.length,
      isInput: step.source === "input"
    })
  }

  #after(step: Step): Place {
    const { graphs, origin, up } = this.place
    const heads = step.tasks.flatMap(({ record }) => record.graphs)
    const written = this.isNested
      ? [
        ...handedUp(this.program, step.tasks.map(({ id, record }) => ({ id, writes: record.writes }))),
        ...step.up ?? []
      ]
      : []
    return {
      id: undefined,
      checkpoint: step.checkpoint,
      records: step.records,
      revisions: new Map(),
      graphs: heads.length === 0 ? graphs : new Map([...graphs, ...heads]),
      up: grown(up, written),
      origin,
      gone: [],
      unread: undefined,
      chain: this.place.chain
    }
  }

  #idOf(step: Step, rows: ReadonlyArray<TaskRow>, whole: string): string {
    return checkpointId({
      namespace: this.namespace,
      branch: this.run.branch,
      seed: this.isNested && this.#isFresh ? this.seed : undefined,
      before: this.id,
      graph: this.program.fingerprint,
      source: step.source,
      step: step.checkpoint.step,
      whole,
      rows
    })
  }

  #row(
    id: string,
    encoded: { readonly isKeyframe: boolean; readonly data: string },
    createdMillis: number
  ): CheckpointRow {
    const row = {
      id,
      parent: this.line.stored,
      branch: this.run.branch,
      step: this.place.checkpoint.step,
      source: this.#source,
      createdMillis,
      format,
      isKeyframe: encoded.isKeyframe,
      metadata: this.#metadata
    }
    return checkpointRow(row, encoded.data)
  }

  #moveTo(checkpoint: CheckpointRow, tasks: ReadonlyArray<TaskRow>, finished: number | undefined): Move {
    const expected = this.#expected
    this.#expected = this.#stored = this.line.stored = checkpoint.id
    return { namespace: this.namespace, checkpoint, tasks, place: this.key, expected, finished }
  }

  /** A move to where the head is, with records to stand beside it: what is stored with others at once. */
  moveBeside(records: ReadonlyMap<string, TaskRecord>, createdMillis: number): Result.Result<Move, ReadError> {
    const encoded = encodeCheckpoint(this.program, undefined, this.place, wholeState)
    if (Result.isFailure(encoded)) return Result.fail(this.#fail(encoded.failure))
    return Result.map(
      this.#encodeAll(this.id, records),
      (rows) => this.#moveTo(this.#row(this.id, encoded.success, createdMillis), rows, undefined)
    )
  }

  /** Stores a move of this session, and with it those of graphs inside its tasks. */
  write(move: Move, inside: ReadonlyArray<Move>): Effect.Effect<void, StorageError> {
    const { run } = this
    return Effect.suspend(() =>
      Effect.map(
        countedCommit(
          [move, ...inside],
          run.saver.commit(run.thread, { ...move, inside, owner: run.owner, life: run.life, root: run.root })
        ),
        () => {
          run.life ??= run.owner
          if (!this.isNested) run.root = move.checkpoint.id
        }
      )
    )
  }

  /** The head that the next commit has to find. Differs from the parent when a branch opens. */
  #expected: string | undefined = undefined

  /** Begins a call of a nested graph with an input. */
  begin(origin: string): void {
    this.#isFresh = true
    this.place = { ...this.place, origin, up: growing([]), records: new Map() }
    this.#storedTasks.clear()
  }

  /** Makes the run durable: before a pause is seen, and when it ends. */
  exit(createdMillis: number): Effect.Effect<void, StorageError> {
    switch (this.run.durability) {
      case "sync":
        return Effect.void
      case "async":
        return this.run.commits.flush
      case "exit":
        return this.run.unstored.flush(this, createdMillis)
    }
  }

  /** What durability `exit` has still to store of this graph: a checkpoint, with what stands beside it, if it has none. */
  unstoredMove(createdMillis: number): Result.Result<Move | undefined, ReadError> {
    const { id } = this.place
    // A graph whose input was refused is not where the one before it was.
    if (id === undefined || this.#isFresh || this.isStored) return Result.succeed(undefined)
    const encoded = encodeCheckpoint(this.program, undefined, this.place, wholeState)
    if (Result.isFailure(encoded)) return Result.fail(this.#fail(encoded.failure))
    this.place = { ...this.place, chain: encoded.success.chain }
    return Result.map(this.#encodeAll(id, this.place.records), (rows) => {
      for (const { revision, task } of rows) this.#storedTasks.set(task, revision)
      this.#outdated.clear()
      return this.#moveTo(this.#row(id, encoded.success, createdMillis), rows, undefined)
    })
  }

  /** Stores what tasks beside a stored checkpoint have come to since. */
  get storeUnstored(): Effect.Effect<void, StorageError> {
    return Effect.suspend(() => {
      if (!this.isStored) return Effect.void
      const { records } = this.place
      const missing = new Map([...records].filter(([task]) => !this.#storedTasks.has(task) || this.#outdated.has(task)))
      return missing.size === 0 ? Effect.void : this.#storeNow(missing)
    })
  }

  /** Keeps a record in mind without storing it: durability `exit` stores it when the run ends. */
  remember(id: string, record: TaskRecord): void {
    // What is stored of the task, such as an answered question, is no longer what it came to.
    if (this.run.durability === "exit") this.#outdated.add(id)
    // Copied once per superstep, not once per task.
    if (this.#remembered === undefined || this.place.records !== this.#remembered) {
      this.#remembered = new Map(this.place.records)
      this.place = { ...this.place, records: this.#remembered }
    }
    this.#remembered.set(id, record)
  }
  #remembered: Map<string, TaskRecord> | undefined = undefined
}
