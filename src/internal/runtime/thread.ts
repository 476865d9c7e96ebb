/**
 * What a thread can be asked to do, with the types erased: run on an input, go
 * on, resume with answers, branch off, be updated, be read.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { CheckpointRow } from "../../Checkpoint.ts"
import { Checkpointer, type CheckpointerShape } from "../../Checkpointer.ts"
import {
  CheckpointError,
  InvalidArgument,
  InvalidReply,
  MissingInput,
  PendingWork,
  UnknownCheckpoint,
  UnknownThread
} from "../../GraphError.ts"
import { isReply, type Reply } from "../../Interrupt.ts"
import { canonical } from "../canonical.ts"
import { encoding } from "../codec.ts"
import { output } from "../engine/checkpoint.ts"
import { completeAt, inputRecords, missingKeys, withInputRecords } from "../engine/inputs.ts"
import { inputTask, plan, stalledJoin } from "../engine/plan.ts"
import type { Program } from "../engine/program.ts"
import {
  type Answers,
  emptyPlace,
  encodeWrites,
  type Place,
  type StoredAnswer,
  type StoredRequest,
  type TaskRecord
} from "../engine/stored.ts"
import { commandWrites, inputWrites, type Write, type WriteError } from "../engine/writes.ts"
import { taking } from "../fit.ts"
import { quoted } from "../say.ts"
import { advance, feed } from "./loop.ts"
import { decodeRequest, showRequest } from "./requests.ts"
import { drive, makeRun, type RootOptions, tellOutput, told, withinTime } from "./root.ts"
import {
  Commits,
  type Durability,
  load,
  metadataOf,
  noting,
  type ReadError,
  Session,
  type StoredMetadata,
  type ThreadRun,
  toError,
  Unstored,
  whole
} from "./session.ts"
import { observedRun } from "./spans.ts"
import type { Erased, GraphRun } from "./task.ts"

/** The longest id of a thread, in UTF-16 code units. */
export const maxThreadLength = 512

/** What a run of a thread starts with. */
export type Begin =
  | { readonly _tag: "Input"; readonly input: unknown; readonly pending: "fail" | "discard" }
  | { readonly _tag: "Start"; readonly input: unknown; readonly key: string | undefined }
  | { readonly _tag: "Command"; readonly update: unknown; readonly goto: ReadonlyArray<unknown> }
  | {
    readonly _tag: "Resume"
    readonly replies: ReadonlyArray<unknown>
    readonly update: unknown
    readonly goto: ReadonlyArray<unknown>
  }
  | { readonly _tag: "Continue" }

export interface ThreadOptions extends RootOptions {
  readonly durability: Durability
  /** The checkpoint to start from; the head by default. */
  readonly from: string | undefined
}

// ---------------------------------------------------------------------------
// Opening
// ---------------------------------------------------------------------------

/** A thread as it is found: where it stands, and whether that is a head. */
export interface Opened {
  readonly saver: CheckpointerShape
  readonly thread: string
  readonly program: Program
  /** Where a run starts: off a head, without what tasks left beside the checkpoint. */
  readonly place: Place
  /** The checkpoint as it is stored. */
  readonly stored: Place
  readonly row: CheckpointRow | undefined
  /** The branch that the next commit goes to. */
  readonly branch: number
  readonly isHead: boolean
  /** The life of the thread; none if it never ran. */
  readonly life: string | undefined
}

export const checkThread = (thread: string): Effect.Effect<void, InvalidArgument> =>
  typeof thread === "string" && thread.length > 0 && thread.length <= maxThreadLength
    ? Effect.void
    : Effect.fail(
      new InvalidArgument({
        argument: "thread",
        detail: `an id is a text of 1 to ${maxThreadLength} characters, not ${
          typeof thread === "string" && thread.length > 0 ? `one of ${thread.length}` : quoted(thread)
        }`
      })
    )

/** Finds a thread, at its head or at a checkpoint. A thread that never ran stands before its first input. */
export const open: (program: Program, thread: string, from: string | undefined) => Effect.Effect<
  Opened,
  ReadError | InvalidArgument | UnknownCheckpoint | UnknownThread,
  Checkpointer
> = Effect.fnUntraced(function*(program, thread, from) {
  yield* checkThread(thread)
  const saver = yield* Checkpointer
  const head = Option.getOrUndefined(yield* saver.head(thread, ""))
  if (head === undefined) {
    if (from !== undefined) return yield* new UnknownThread({ thread })
    const place = emptyPlace(program, "")
    return { saver, thread, program, place, stored: place, row: undefined, branch: 1, isHead: true, life: undefined }
  }
  const id = from ?? head.id
  const found = Option.getOrUndefined(yield* load({ saver, thread }, program, "", id))
  if (found === undefined) {
    // Deleted between the two readings, the thread stands where it stands now.
    if (from !== undefined) return yield* new UnknownCheckpoint({ thread, checkpoint: id, path: [] })
    const now = Option.getOrUndefined(yield* saver.head(thread, ""))
    // Meanwhile it was deleted, or has moved on and was pruned.
    if (now?.life !== head.life || now.id !== head.id) return yield* open(program, thread, from)
    const detail = "the checkpoint where the thread stands is missing"
    return yield* new CheckpointError({ reason: "Decode", thread, checkpoint: id, detail })
  }
  const { place, row } = found
  const at = { saver, thread, program, stored: place, row, life: head.life }
  if (id === head.id) return { ...at, place, branch: head.branch, isHead: true }
  const own = Option.getOrUndefined(yield* saver.head(thread, "", row.branch))
  return own?.id === id
    ? { ...at, place, branch: row.branch, isHead: true }
    // What tasks and Commands left beside an old checkpoint belongs to the branch that it was in.
    : { ...at, place: { ...place, records: new Map() }, branch: head.branch + 1, isHead: false }
})

export const known = (opened: Opened): Effect.Effect<Opened, UnknownThread> =>
  opened.row === undefined ? Effect.fail(new UnknownThread({ thread: opened.thread })) : Effect.succeed(opened)

/** What the sessions of a run attempt on this branch share. */
export const threadRun = (
  at: Pick<Opened, "saver" | "thread" | "branch" | "life" | "isHead"> & { readonly row: CheckpointRow | undefined },
  durability: Durability,
  metadata: StoredMetadata
): ThreadRun => {
  const faults = new WeakSet()
  return {
    saver: noting(at.saver, faults),
    thread: at.thread,
    branch: at.branch,
    owner: globalThis.crypto.randomUUID(),
    life: at.life,
    root: at.isHead ? at.row?.id : undefined,
    durability,
    metadata,
    commits: new Commits(),
    unstored: new Unstored(),
    faults
  }
}

const sessionOf = (opened: Opened, options: ThreadOptions, start: string | null): Session =>
  new Session({
    run: threadRun(opened, options.durability, { start, user: options.metadata }),
    program: opened.program,
    namespace: "",
    inside: undefined,
    place: opened.place,
    isAtHead: opened.isHead
  })

/** A run of the thread from where it stands. Off the head it opens a branch first, with a `fork` checkpoint. */
const runFrom: (
  opened: Opened,
  options: ThreadOptions,
  answers: Answers,
  start: string | null,
  begins?: "resumed"
) => Erased<GraphRun> = Effect.fnUntraced(
  function*(opened: Opened, options: ThreadOptions, answers: Answers, start: string | null, begins?: "resumed") {
    const session = sessionOf(opened, options, start)
    const on = { thread: session.run, session, answers, begins: begins ?? "started" as const }
    const run = yield* makeRun(opened.program, options, on)
    if (!opened.isHead) {
      const { checkpoint } = opened.place
      yield* advance(run, { ...checkpoint, step: checkpoint.step + 1 }, "fork", [], { isWhole: true })
      run.isResumed = false
    }
    return run
  }
) as (
  opened: Opened,
  options: ThreadOptions,
  answers: Answers,
  start: string | null,
  begins?: "resumed"
) => Erased<GraphRun>

// ---------------------------------------------------------------------------
// What is left to do
// ---------------------------------------------------------------------------

/** The answers that have been given, to whatever task. */
const answersOf = (place: Place): Answers => {
  const all = new Map<string, StoredAnswer>()
  for (const record of place.records.values()) {
    if (record.status !== "done") { for (const [id, answer] of record.answers) all.set(id, answer) }
  }
  return all
}

/** The questions of a place that have no answer. */
export const pendingAt = (place: Place): ReadonlyArray<StoredRequest & { readonly task: string }> =>
  [...place.records].sort(([a], [b]) => a < b ? -1 : 1).flatMap(([task, record]) =>
    record.status === "paused"
      ? record.requests.filter(({ id }) => !record.answers.has(id)).map((request) => ({ ...request, task }))
      : []
  )

const planAt = (program: Program, place: Place) =>
  Effect.map(Effect.fromResult(withInputRecords(program, place)), (checkpoint) => plan(program, checkpoint))

/** Fails if something is left to do that a new input would drop. */
const nothingPending: (opened: Opened) => Erased<void> = Effect.fnUntraced(function*(opened: Opened) {
  const tasks = yield* planAt(opened.program, opened.place)
  if (tasks.length === 0) return
  return yield* new PendingWork({
    thread: opened.thread,
    next: tasks.map((task) => task.node.name),
    requests: pendingAt(opened.place).map((request) => showRequest(decodeRequest(request)))
  })
}) as (opened: Opened) => Erased<void>

// ---------------------------------------------------------------------------
// Replies
// ---------------------------------------------------------------------------

type Pending = ReturnType<typeof pendingAt>

const refuse = (
  opened: Opened,
  reason: InvalidReply["reason"],
  reply: Reply.Any | undefined,
  pending: Pending,
  detail?: string
): Result.Result<never, InvalidReply> =>
  Result.fail(
    new InvalidReply({
      reason,
      thread: opened.thread,
      tag: reply?.tag,
      id: reply?.id,
      pending: pending.map((request) => showRequest(decodeRequest(request))),
      detail
    })
  )

/** Whether what a reply is meant for has an answer, with which the thread has still to go on. */
const isAnswered = (opened: Opened, reply: Reply.Any): boolean =>
  [...answersOf(opened.place)].some(([id, { tag }]) => tag === reply.tag && (reply.id ?? id) === id)

/** The request that a reply is meant for. */
const addressee = (opened: Opened, reply: Reply.Any, pending: Pending, given: ReadonlySet<string>) => {
  if (reply.id !== undefined) {
    const found = pending.find(({ id, tag }) => id === reply.id && tag === reply.tag)
    if (found !== undefined) {
      return given.has(found.id)
        ? refuse(opened, "Ambiguous", reply, pending)
        : Result.succeed(found)
    }
    return refuse(opened, isAnswered(opened, reply) ? "Answered" : "Unknown", reply, pending)
  }
  const fitting = pending.filter(({ tag }) => tag === reply.tag)
  if (fitting.length === 0) return refuse(opened, isAnswered(opened, reply) ? "Answered" : "Unknown", reply, pending)
  return fitting.length > 1 || given.has(fitting[0]!.id)
    ? refuse(opened, "Ambiguous", reply, pending)
    : Result.succeed(fitting[0]!)
}

/** The records with the answers in them. All replies are checked before any is taken. */
const answered = (
  opened: Opened,
  replies: ReadonlyArray<unknown>
): Result.Result<ReadonlyMap<string, TaskRecord>, InvalidReply> => {
  const pending = pendingAt(opened.place)
  if (pending.length === 0) {
    const late = replies.find(isReply)
    if (late !== undefined && isAnswered(opened, late)) return refuse(opened, "Answered", late, pending)
    // After an update, what is left to run may ask anew, under another id.
    const isOld = late?.id !== undefined && plan(opened.program, opened.place.checkpoint).length > 0
    return refuse(opened, isOld ? "Unknown" : "NothingPending", late, pending)
  }
  const records = new Map<string, TaskRecord>()
  const given = new Set<string>()
  for (const reply of replies) {
    if (!isReply(reply)) return refuse(opened, "NotAReply", undefined, pending, `got ${quoted(reply)}`)
    const found = addressee(opened, reply, pending, given)
    if (Result.isFailure(found)) return Result.fail(found.failure)
    const { id, payload, task, ...asker } = found.success
    const { answer } = reply.interrupt
    const encoded = Result.flatMap(taking(answer, reply.answer), (value) => encoding(answer, value))
    if (Result.isFailure(encoded)) return refuse(opened, "InvalidAnswer", reply, pending, encoded.failure)
    const record = (records.get(task) ?? opened.place.records.get(task)) as TaskRecord & { readonly status: "paused" }
    records.set(task, {
      ...record,
      answers: new Map([...record.answers, [id, { ...asker, payload: canonical(payload), answer: encoded.success }]])
    })
    given.add(id)
  }
  return Result.succeed(records)
}

// ---------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------

/** What a thread with nothing left to run has come to: its output, or the stall of a join. */
const resultAt: (opened: Opened, options: ThreadOptions) => Erased<unknown> = Effect.fnUntraced(
  function*({ place, program }: Opened, options: ThreadOptions) {
    const checkpoint = yield* Effect.fromResult(completeAt(program, place))
    const stalled = stalledJoin(program, checkpoint)
    if (stalled !== undefined) return yield* Effect.fail(stalled)
    const result = output(program, checkpoint)
    yield* tellOutput(options, checkpoint.step, result, globalThis.crypto.randomUUID())
    return result
  }
) as (opened: Opened, options: ThreadOptions) => Erased<unknown>

/** Goes on from where the thread stands; what has been answered is answered. */
const goOn = (opened: Opened, options: ThreadOptions): Erased<unknown> =>
  Effect.andThen(
    Effect.fromResult(completeAt(opened.program, opened.place)),
    Effect.flatMap(runFrom(opened, options, answersOf(opened.place), startOf(opened), "resumed"), resumeRun)
  )

const startOf = (opened: Opened): string | null => opened.row === undefined ? null : metadataOf(opened.row).start

const resumeRun: (run: GraphRun) => Erased<unknown> = Effect.fnUntraced(function*(run: GraphRun) {
  const checkpoint = yield* Effect.fromResult(withInputRecords(run.program, run.session!.place))
  // A breakpoint that was hit does not fire again.
  run.checkpoint = { ...checkpoint, stopped: checkpoint.version }
  return yield* drive(run)
}) as (run: GraphRun) => Erased<unknown>

/** Writes that can be stored: those that cannot are refused before anything is. */
const storable = (opened: Opened, writes: Result.Result<ReadonlyArray<Write>, WriteError>) =>
  Result.flatMap(writes, (writes) =>
    Result.map(
      Result.mapError(encodeWrites(opened.program, writes), toError(opened.thread, opened.place.id)),
      () => writes
    ))

const beginInput: (opened: Opened, options: ThreadOptions, input: unknown, start: string | null) => Erased<unknown> =
  Effect.fnUntraced(
    function*(opened: Opened, options: ThreadOptions, input: unknown, start: string | null) {
      // What is refused opens no branch.
      if (!opened.isHead) yield* Effect.fromResult(storable(opened, inputWrites(opened.program, input)))
      const missing = missingKeys(
        opened.program,
        yield* Effect.fromResult(withInputRecords(opened.program, opened.place)),
        input
      )
      if (missing.length > 0) return yield* new MissingInput({ keys: missing })
      const run = yield* runFrom(opened, options, new Map(), start)
      // What Commands from outside have written is part of the state that the input comes on top of.
      run.checkpoint = yield* Effect.fromResult(withInputRecords(opened.program, run.session!.place))
      yield* feed(run, input)
      return yield* drive(run)
    }
  ) as (opened: Opened, options: ThreadOptions, input: unknown, start: string | null) => Erased<unknown>

/** Idempotent: a new thread runs, an unfinished one goes on, a finished one gives its result. */
const beginStart: (opened: Opened, options: ThreadOptions, input: unknown, key: string | undefined) => Erased<unknown> =
  Effect.fnUntraced(
    function*(opened: Opened, options: ThreadOptions, input: unknown, key: string | undefined) {
      const start = key ?? ""
      if (opened.row === undefined) return yield* beginInput(opened, options, input, start)
      const tasks = yield* planAt(opened.program, opened.place)
      if (metadataOf(opened.row).start === start || key === undefined) {
        return yield* (tasks.length === 0 ? resultAt(opened, options) : goOn(opened, options))
      }
      yield* nothingPending(opened)
      return yield* beginInput(opened, options, input, start)
    }
  ) as (opened: Opened, options: ThreadOptions, input: unknown, key: string | undefined) => Erased<unknown>

const withRecords = (place: Place, records: ReadonlyMap<string, TaskRecord>): Place => ({
  ...place,
  records: new Map([...place.records, ...records])
})

/** The writes of a Command, as a record beside the checkpoint where the thread stands. What cannot be folded there is refused. */
const commandRecord = (
  opened: Opened,
  update: unknown,
  goto: ReadonlyArray<unknown>
): Result.Result<ReadonlyMap<string, TaskRecord>, unknown> => {
  const { place, program } = opened
  return Result.flatMap(storable(opened, commandWrites(program, update, goto)), (writes) => {
    if (writes.length === 0) return Result.succeed(new Map())
    const records = new Map<string, TaskRecord>([[inputTask(inputRecords(place).length), {
      status: "done",
      writes,
      graphs: []
    }]])
    const folded = withInputRecords(program, withRecords(place, records))
    return Result.map(folded, () => records)
  })
}

/** A Command as the input of a thread that never ran: its update is the first state, its targets run first. */
const beginCommand: (
  opened: Opened,
  options: ThreadOptions,
  begin: Begin & { readonly _tag: "Command" }
) => Erased<unknown> = Effect.fnUntraced(
  function*(opened: Opened, options: ThreadOptions, { goto, update }: Begin & { readonly _tag: "Command" }) {
    const records = yield* Effect.fromResult(commandRecord(opened, update, goto))
    if (records.size === 0) return yield* new MissingInput({ keys: [] })
    const checkpoint = yield* Effect.fromResult(completeAt(opened.program, withRecords(opened.place, records)))
    if (opened.row !== undefined) {
      const run = yield* runFrom(opened, options, answersOf(opened.place), startOf(opened), "resumed")
      yield* run.session!.store(records)
      return yield* resumeRun(run)
    }
    const run = yield* runFrom(opened, options, new Map(), null)
    yield* advance(run, { ...checkpoint, step: -1 }, "input", [], { isWhole: true })
    return yield* drive(run)
  }
) as (opened: Opened, options: ThreadOptions, begin: Begin & { readonly _tag: "Command" }) => Erased<unknown>

const beginResume: (
  opened: Opened,
  options: ThreadOptions,
  begin: Begin & { readonly _tag: "Resume" }
) => Erased<unknown> = Effect.fnUntraced(
  function*(opened: Opened, options: ThreadOptions, { goto, replies, update }: Begin & { readonly _tag: "Resume" }) {
    yield* known(opened)
    const records = yield* Effect.fromResult(answered(opened, replies))
    const command = yield* Effect.fromResult(commandRecord(opened, update, goto))
    const all = new Map([...records, ...command])
    const place = withRecords(opened.place, all)
    yield* Effect.fromResult(completeAt(opened.program, place))
    const run = yield* runFrom(opened, options, answersOf(place), startOf(opened), "resumed")
    // Durable before anything runs: an answer that was taken is not asked for again.
    yield* run.session!.store(all)
    return yield* resumeRun(run)
  }
) as (opened: Opened, options: ThreadOptions, begin: Begin & { readonly _tag: "Resume" }) => Erased<unknown>

/** Runs a thread. */
export const runThread = (program: Program, thread: string, begin: Begin, options: ThreadOptions): Erased<unknown> =>
  observedRun(
    { graph: program.name, thread, metadata: options.metadata },
    told(options, (options) => withinTime(program, options, (options) => beginRun(program, thread, begin, options)))
  )

const beginRun: (program: Program, thread: string, begin: Begin, options: ThreadOptions) => Erased<unknown> = Effect
  .fnUntraced(
    function*(program: Program, thread: string, begin: Begin, options: ThreadOptions) {
      const opened = yield* open(program, thread, options.from)
      const isDropped = begin._tag === "Input" && begin.pending === "discard"
      if (!isDropped) yield* whole(thread, program, opened.place)
      switch (begin._tag) {
        case "Input": {
          if (begin.pending === "fail" && opened.isHead) yield* nothingPending(opened)
          return yield* beginInput(opened, options, begin.input, null)
        }
        case "Start":
          return yield* beginStart(opened, options, begin.input, begin.key)
        case "Command":
          return yield* beginCommand(opened, options, begin)
        case "Resume":
          return yield* beginResume(opened, options, begin)
        case "Continue": {
          yield* known(opened)
          const tasks = yield* planAt(program, opened.place)
          if (tasks.length === 0) return yield* resultAt(opened, options)
          return yield* goOn(opened, options)
        }
      }
    }
  ) as (program: Program, thread: string, begin: Begin, options: ThreadOptions) => Erased<unknown>
