/**
 * Between the machine and its stored rows. A checkpoint is stored as what changed since its parent; a channel that only
 * grows is stored as the writes of its superstep, which stand beside the parent, and is rebuilt through the same `update`
 * that made it. Every so often a keyframe holds the whole state. Pure.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Channel from "../../Channel.ts"
import { type CheckpointRow, format, type TaskRow } from "../../Checkpoint.ts"
import { type Checkpoint, initial, liveOf } from "./checkpoint.ts"
import { emptyCell, fold } from "./fold.ts"
import { isInputTask, START_TASK } from "./plan.ts"
import { branchTarget, type Program } from "./program.ts"
import { lengthOf, seal, unseal } from "./seal.ts"
import type { Write } from "./writes.ts"

/** What went wrong, and at which channel. */
export interface Fault {
  readonly reason: "Encode" | "Decode" | "Format" | "Graph"
  readonly channel: string | undefined
  readonly detail: string
}

/** Who asks, as seen from the task that keeps the question: the task's node itself, unless it is said otherwise. */
export interface Asker {
  /** The namespace of the graph inside the task that asks. */
  readonly graph?: string
  /** Whether the error handler of the node asks. */
  readonly isHandler?: true
}

export interface StoredRequest extends Asker {
  readonly id: string
  readonly tag: string
  readonly payload: Schema.Json
}

export interface StoredAnswer extends Asker {
  readonly tag: string
  /** Canonical text of the payload that was answered. */
  readonly payload: string
  readonly answer: Schema.Json
}

export type Answers = ReadonlyMap<string, StoredAnswer>

/** What a task has produced. */
export type TaskRecord =
  | { readonly status: "done"; readonly writes: ReadonlyArray<Write>; readonly graphs: Graphs }
  | {
    readonly status: "paused"
    readonly requests: ReadonlyArray<StoredRequest>
    readonly answers: Answers
    readonly graphs: Graphs
  }
  | { readonly status: "failed"; readonly error: string; readonly answers: Answers; readonly graphs: Graphs }

/** Which checkpoints the graphs inside a task stand at, by namespace. */
export type Graphs = ReadonlyArray<readonly [namespace: string, id: string]>

/** A checkpoint with what the superstep that starts from it has produced so far. */
export interface Place {
  /** None before the first commit. */
  readonly id: string | undefined
  readonly checkpoint: Checkpoint
  readonly records: ReadonlyMap<string, TaskRecord>
  /** By task: the revision of its stored row. */
  readonly revisions: ReadonlyMap<string, number>
  /** Heads of the graphs that ran inside finished tasks, by namespace. */
  readonly graphs: ReadonlyMap<string, string>
  /** In a nested graph: what its nodes have written, in order. */
  readonly up: ReadonlyArray<Write>
  /** In a nested graph: hash of the input that it was called with. */
  readonly origin: string
  readonly chain: Chain
}

/** How much is stored since the last keyframe: decides when the next is due. */
export interface Chain {
  readonly keyframeLength: number
  readonly changesLength: number
  /** By Delta channel: supersteps with writes since the last keyframe. */
  readonly folds: ReadonlyMap<number, number>
}

export const noChain: Chain = { keyframeLength: 0, changesLength: 0, folds: new Map() }

// A row costs about this much besides its data, in characters.
const rowOverhead = 200
// Changes may outgrow the keyframe by this before the next one: it bounds both the storage and the reading.
const growth = 1

type Pairs = ReadonlyArray<readonly [string, number]>
type StoredWrite = readonly [channel: string, kind: 0 | 1, json: Schema.Json]

interface CheckpointData {
  readonly version: number
  readonly versions: Pairs
  readonly seen: Pairs
  readonly cells: ReadonlyArray<readonly [string, Schema.Json]>
  readonly cleared?: ReadonlyArray<string>
  readonly folded?: ReadonlyArray<string>
  readonly graphs?: Graphs
  readonly up?: ReadonlyArray<StoredWrite>
  readonly origin?: string
  /** Of a change: how many finished rows beside the parent it follows from. */
  readonly tasks?: number
}

type TaskData =
  | { readonly writes: ReadonlyArray<StoredWrite>; readonly graphs?: Graphs }
  | { readonly requests: ReadonlyArray<StoredRequest>; readonly answers?: StoredAnswers; readonly graphs?: Graphs }
  | { readonly error: string; readonly answers?: StoredAnswers; readonly graphs?: Graphs }

type StoredAnswers = ReadonlyArray<readonly [id: string, answer: StoredAnswer]>

const fault = (reason: Fault["reason"], channel: string | undefined, detail: string): Result.Result<never, Fault> =>
  Result.fail({ reason, channel, detail })

/** A channel of a stored thread that the graph does not have. That of a node stands for the node. */
const gone = (channel: string, how: "holds" | "writes"): Result.Result<never, Fault> => {
  const node = branchTarget(channel)
  return node === undefined
    ? fault("Graph", channel, `the stored thread ${how} it, but the graph no longer has it`)
    : fault("Graph", undefined, `node "${node}" is gone from the graph, or the thread belongs to another graph`)
}

/** JSON text; a value too deep for the call stack is a fault. */
const stringify = (value: unknown): Result.Result<string, Fault> => {
  try {
    return Result.succeed(JSON.stringify(value))
  } catch (cause) {
    return fault("Encode", undefined, String(cause))
  }
}

const parse = (text: string): Result.Result<unknown, Fault> => {
  try {
    return Result.succeed(JSON.parse(text) as unknown)
  } catch (cause) {
    return fault("Decode", undefined, String(cause))
  }
}

// ---------------------------------------------------------------------------
// Tasks
// ---------------------------------------------------------------------------

const isTracked = (program: Program, channel: number): boolean =>
  program.channels[channel]!.rule._tag !== "UntrackedValue"

export const encodeWrites = (
  program: Program,
  writes: ReadonlyArray<Write>
): Result.Result<ReadonlyArray<StoredWrite>, Fault> => {
  const rows: Array<StoredWrite> = []
  for (const { channel: number, value } of writes) {
    if (!isTracked(program, number)) continue
    const channel = program.channels[number]!
    const row = channel.codec.encodeWrite(value)
    if (Result.isFailure(row)) return fault("Encode", channel.name, row.failure)
    rows.push([channel.name, row.success.kind === "write" ? 0 : 1, row.success.json])
  }
  return Result.succeed(rows)
}

const decodeWrites = (
  program: Program,
  rows: ReadonlyArray<StoredWrite>
): Result.Result<ReadonlyArray<Write>, Fault> => {
  const writes: Array<Write> = []
  for (const [name, kind, json] of rows) {
    const number = program.channelNumber.get(name)
    if (number === undefined) return gone(name, "writes")
    const value = program.channels[number]!.codec.decodeWrite({ kind: kind === 0 ? "write" : "overwrite", json })
    if (Result.isFailure(value)) return fault("Decode", name, value.failure)
    writes.push({ channel: number, value: value.success })
  }
  return Result.succeed(writes)
}

const answersOf = (answers: Answers): { answers?: StoredAnswers } => answers.size === 0 ? {} : { answers: [...answers] }

const graphsOf = (graphs: Graphs): { graphs?: Graphs } => graphs.length === 0 ? {} : { graphs }

const taskData = (program: Program, record: TaskRecord): Result.Result<TaskData, Fault> => {
  const graphs = graphsOf(record.graphs)
  switch (record.status) {
    case "done":
      return Result.map(encodeWrites(program, record.writes), (writes) => ({ writes, ...graphs }))
    case "paused":
      return Result.succeed({ requests: record.requests, ...answersOf(record.answers), ...graphs })
    case "failed":
      return Result.succeed({ error: record.error, ...answersOf(record.answers), ...graphs })
  }
}

export const encodeTask = (
  program: Program,
  at: { readonly checkpoint: string; readonly task: string; readonly revision: number },
  record: TaskRecord
): Result.Result<TaskRow, Fault> =>
  Result.map(
    Result.flatMap(taskData(program, record), stringify),
    (json) => taskRow({ ...at, status: record.status }, json)
  )

/** Of a result the revision is left out: whether the task paused before says nothing of what it came to. */
const besideTask = ({ checkpoint, revision, status, task }: Omit<TaskRow, "data">): ReadonlyArray<string> => [
  checkpoint,
  task,
  status,
  status === "done" ? "" : String(revision)
]

/** The row of a task. */
export const taskRow = (row: Omit<TaskRow, "data">, json: string): TaskRow => ({
  ...row,
  data: seal(besideTask(row), json)
})

const GraphsData = Schema.Array(Schema.Tuple([Schema.String, Schema.String]))
const WritesData = Schema.Array(Schema.Tuple([Schema.String, Schema.Literals([0, 1]), Schema.Json]))
const AskerData = {
  graph: Schema.optionalKey(Schema.String),
  isHandler: Schema.optionalKey(Schema.Literal(true))
}
const AnswersData = Schema.Array(Schema.Tuple([
  Schema.String,
  Schema.Struct({ tag: Schema.String, payload: Schema.String, answer: Schema.Json, ...AskerData })
]))

const DoneData = Schema.Struct({ writes: WritesData, graphs: Schema.optionalKey(GraphsData) })
const PausedData = Schema.Struct({
  requests: Schema.Array(Schema.Struct({ id: Schema.String, tag: Schema.String, payload: Schema.Json, ...AskerData })),
  answers: Schema.optionalKey(AnswersData),
  graphs: Schema.optionalKey(GraphsData)
})
const FailedData = Schema.Struct({
  error: Schema.String,
  answers: Schema.optionalKey(AnswersData),
  graphs: Schema.optionalKey(GraphsData)
})
const PairsData = Schema.Array(Schema.Tuple([Schema.String, Schema.Int]))
const StoredCheckpointData = Schema.Struct({
  version: Schema.Int,
  versions: PairsData,
  seen: PairsData,
  cells: Schema.Array(Schema.Tuple([Schema.String, Schema.Json])),
  cleared: Schema.optionalKey(Schema.Array(Schema.String)),
  folded: Schema.optionalKey(Schema.Array(Schema.String)),
  graphs: Schema.optionalKey(GraphsData),
  up: Schema.optionalKey(WritesData),
  origin: Schema.optionalKey(Schema.String),
  tasks: Schema.optionalKey(Schema.Int)
})

/** Stored text that is what was stored, and has the shape it has to have. What does not is a fault, never a default. */
const shaped =
  <A>(is: (u: unknown) => u is A, what: string) =>
  (beside: ReadonlyArray<string>, text: string): Result.Result<A, Fault> => {
    const json = unseal(beside, text)
    const data = json === undefined ? Result.succeed(undefined) : parse(json)
    return Result.flatMap(
      data,
      (data) => is(data) ? Result.succeed(data) : fault("Decode", undefined, `${what} is damaged`)
    )
  }

const shapedDone = shaped(Schema.is(DoneData), "the result of a task")
const shapedPaused = shaped(Schema.is(PausedData), "the pause of a task")
const shapedFailed = shaped(Schema.is(FailedData), "the failure of a task")
const shapedCheckpoint = shaped(Schema.is(StoredCheckpointData), "its data")
const shapedWrites = shaped(Schema.is(WritesData), "a kept result")

/** The writes of a result that is kept apart from a thread, as text. */
export const keptText = (
  program: Program,
  beside: ReadonlyArray<string>,
  writes: ReadonlyArray<Write>
): Result.Result<string, Fault> => {
  const lost = writes.find(({ channel }) => !isTracked(program, channel))
  return lost === undefined
    ? Result.map(Result.flatMap(encodeWrites(program, writes), stringify), (json) => seal(beside, json))
    : fault("Encode", program.channels[lost.channel]!.name, "it is never stored")
}

/** The writes whose text this is. */
export const keptWrites = (
  program: Program,
  beside: ReadonlyArray<string>,
  text: string
): Result.Result<ReadonlyArray<Write>, Fault> =>
  Result.flatMap(shapedWrites(beside, text), (rows) => decodeWrites(program, rows))

/** What the data of a checkpoint is sealed with: all of the row but the time, which is in no hash. */
const besideCheckpoint = (row: Omit<CheckpointRow, "data" | "createdMillis">): ReadonlyArray<string> => [
  row.id,
  row.parent ?? "",
  String(row.branch),
  String(row.step),
  row.source,
  String(row.format),
  String(row.isKeyframe),
  row.metadata
]

/** The row of a checkpoint. */
export const checkpointRow = (row: Omit<CheckpointRow, "data">, json: string): CheckpointRow => ({
  ...row,
  data: seal(besideCheckpoint(row), json)
})

const answersFrom = (stored: StoredAnswers | undefined): Answers => new Map(stored)

export const decodeTask = (program: Program, row: TaskRow): Result.Result<TaskRecord, Fault> => {
  switch (row.status) {
    case "done":
      return Result.flatMap(
        shapedDone(besideTask(row), row.data),
        ({ graphs = [], writes }) =>
          Result.map(decodeWrites(program, writes), (writes): TaskRecord => ({ status: "done", writes, graphs }))
      )
    case "paused":
      return Result.map(shapedPaused(besideTask(row), row.data), ({ answers, graphs = [], requests }): TaskRecord => ({
        status: "paused",
        requests,
        answers: answersFrom(answers),
        graphs
      }))
    case "failed":
      return Result.map(shapedFailed(besideTask(row), row.data), ({ answers, error, graphs = [] }): TaskRecord => ({
        status: "failed",
        error,
        answers: answersFrom(answers),
        graphs
      }))
    default:
      return fault("Decode", undefined, `a task has the unknown status "${String(row.status)}"`)
  }
}

// ---------------------------------------------------------------------------
// Checkpoints
// ---------------------------------------------------------------------------

/** Whether a changed channel is stored as its writes. */
const isFolded = (rule: Channel.Rule): boolean =>
  rule._tag === "Delta" || (rule._tag === "BinaryOperatorAggregate" && rule.appends) ||
  (rule._tag === "Topic" && rule.accumulate)

const encodeCell = (
  program: Program,
  number: number,
  cell: Option.Some<unknown>
): Result.Result<Schema.Json, Fault> => {
  const { codec, name } = program.channels[number]!
  const json = codec.encode(cell.value)
  return Result.isFailure(json) ? fault("Encode", name, json.failure) : Result.succeed(json.success)
}

const encodeCells = (
  program: Program,
  checkpoint: Checkpoint,
  numbers: Iterable<number>
): Result.Result<ReadonlyArray<readonly [string, Schema.Json]>, Fault> => {
  const cells: Array<readonly [string, Schema.Json]> = []
  for (const number of numbers) {
    const cell = checkpoint.cells[number]!
    if (Option.isNone(cell) || !isTracked(program, number)) continue
    const json = encodeCell(program, number, cell)
    if (Result.isFailure(json)) return Result.fail(json.failure)
    cells.push([program.channels[number]!.name, json.success])
  }
  return Result.succeed(cells)
}

const keyframeData = (program: Program, place: Place): Result.Result<CheckpointData, Fault> => {
  const { checkpoint } = place
  const written = program.channels.flatMap((_, number) => checkpoint.versions[number]! > 0 ? [number] : [])
  return Result.flatMap(
    encodeCells(program, checkpoint, written),
    (cells) =>
      Result.map(encodeWrites(program, place.up), (up) => ({
        version: checkpoint.version,
        versions: written.map((number) => [program.channels[number]!.name, checkpoint.versions[number]!] as const),
        seen: program.nodes.flatMap(({ name, number }) =>
          checkpoint.seen[number]! > 0 ? [[name, checkpoint.seen[number]!] as const] : []
        ),
        cells,
        ...graphsOf([...place.graphs]),
        ...(up.length > 0 ? { up } : {}),
        ...(place.origin === "" ? {} : { origin: place.origin })
      }))
  )
}

const changeData = (
  program: Program,
  before: Place,
  after: Place,
  { finished, isInput }: Following
): Result.Result<CheckpointData, Fault> => {
  const [old, now] = [before.checkpoint, after.checkpoint]
  const changed: Array<number> = []
  for (let c = 0; c < now.versions.length; c++) if (now.versions[c] !== old.versions[c]) changed.push(c)
  const folded = changed.filter((c) => isFolded(program.channels[c]!.rule))
  const set = changed.filter((c) => !isFolded(program.channels[c]!.rule))
  const cleared = set.filter((c) => Option.isNone(now.cells[c]!) && Option.isSome(old.cells[c]!))
  const nameOf = (c: number): string => program.channels[c]!.name
  return Result.map(encodeCells(program, now, set), (cells) => ({
    version: now.version,
    versions: changed.map((c) => [nameOf(c), now.versions[c]!] as const),
    seen: program.nodes.flatMap(({ name, number }) =>
      now.seen[number] !== old.seen[number] ? [[name, now.seen[number]!] as const] : []
    ),
    cells,
    ...(cleared.length > 0 ? { cleared: cleared.map(nameOf) } : {}),
    ...(folded.length > 0 ? { folded: folded.map(nameOf) } : {}),
    ...graphsOf([...after.graphs].filter(([namespace, id]) => before.graphs.get(namespace) !== id)),
    ...(isInput && after.origin !== "" ? { origin: after.origin } : {}),
    tasks: finished
  }))
}

const nextFolds = (program: Program, before: Place, after: Place): ReadonlyMap<number, number> => {
  const folds = new Map(before.chain.folds)
  for (const [number, { rule }] of program.channels.entries()) {
    if (rule._tag === "Delta" && after.checkpoint.versions[number] !== before.checkpoint.versions[number]) {
      folds.set(number, (folds.get(number) ?? 0) + 1)
    }
  }
  return folds
}

const isDue = (program: Program, chain: Chain): boolean => {
  if (chain.changesLength > growth * chain.keyframeLength + rowOverhead * 20) return true
  for (const [number, count] of chain.folds) {
    const { rule } = program.channels[number]!
    if (rule._tag === "Delta" && count >= rule.snapshotFrequency) return true
  }
  return false
}

/** What a checkpoint follows from. */
export interface Following {
  /** How long the rows of the finished tasks are, and how many there are. */
  readonly writesLength: number
  readonly finished: number
  readonly isInput: boolean
}

export interface EncodedCheckpoint {
  readonly isKeyframe: boolean
  readonly data: string
  readonly chain: Chain
}

/**
 * The stored form of `after`. As a change since `before`, when the writes that lead from one to the other stand beside `before`;
 * As a keyframe when it is due, or when there is no `before`.
 */
export const encodeCheckpoint = (
  program: Program,
  before: Place | undefined,
  after: Place,
  following: Following
): Result.Result<EncodedCheckpoint, Fault> => {
  if (before?.id !== undefined) {
    const folds = program.channels.some(({ rule }) => rule._tag === "Delta")
      ? nextFolds(program, before, after)
      : before.chain.folds
    const due = isDue(program, { ...before.chain, folds })
    if (!due) {
      const encoded = Result.flatMap(changeData(program, before, after, following), stringify)
      return Result.map(encoded, (data) => ({
        isKeyframe: false,
        data,
        chain: {
          keyframeLength: before.chain.keyframeLength,
          changesLength: before.chain.changesLength + data.length + following.writesLength + rowOverhead,
          folds
        }
      }))
    }
  }
  const encoded = Result.flatMap(keyframeData(program, after), stringify)
  return Result.map(encoded, (data) => ({
    isKeyframe: true,
    data,
    chain: { keyframeLength: data.length, changesLength: 0, folds: new Map() }
  }))
}

// ---------------------------------------------------------------------------
// Reading back
// ---------------------------------------------------------------------------

const byTask = (a: TaskRow, b: TaskRow): number => a.task < b.task ? -1 : a.task > b.task ? 1 : 0

type Written = Write & { readonly task: string }

/** The writes to some channels that lead from a checkpoint to the next, in the batches in which they were applied. */
const batches = (
  program: Program,
  rows: ReadonlyArray<TaskRow>,
  isWanted: (channel: string) => boolean
): Result.Result<ReadonlyArray<ReadonlyArray<Written>>, Fault> => {
  const groups: Array<ReadonlyArray<Written>> = []
  const tasks: Array<Written> = []
  for (const row of [...rows].sort(byTask)) {
    if (row.status !== "done") continue
    // What led to nodes that the graph no longer has is past.
    const decoded = Result.flatMap(
      shapedDone(besideTask(row), row.data),
      ({ writes }) => decodeWrites(program, writes.filter(([channel]) => isWanted(channel)))
    )
    if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
    const writes = decoded.success.map((write) => ({ ...write, task: row.task }))
    if (isInputTask(row.task)) groups.push(writes)
    else for (const write of writes) tasks.push(write)
  }
  return Result.succeed([...groups, tasks])
}

interface Cells {
  readonly json: Map<string, Schema.Json>
  /** By channel: batches of writes to apply to the decoded value. */
  readonly writes: Map<number, Array<ReadonlyArray<unknown>>>
}

const foldInto = (
  program: Program,
  cells: Cells,
  names: ReadonlyArray<string>,
  groups: ReadonlyArray<ReadonlyArray<Write>>
): Result.Result<void, Fault> => {
  for (const name of names) {
    const number = program.channelNumber.get(name)
    if (number === undefined) return gone(name, "holds")
    const own = groups.map((group) => group.filter(({ channel }) => channel === number).map(({ value }) => value))
    const written = own.filter((batch) => batch.length > 0)
    if (written.length === 0) return fault("Decode", name, "the writes that changed it are missing")
    const before = cells.writes.get(number)
    if (before === undefined) cells.writes.set(number, written)
    else for (const batch of written) before.push(batch)
  }
  return Result.succeed(undefined)
}

const decodeCells = (program: Program, cells: Cells): Result.Result<ReadonlyArray<Channel.Cell>, Fault> => {
  const out = program.channels.map(emptyCell)
  for (const [name, json] of cells.json) {
    const number = program.channelNumber.get(name)
    if (number === undefined) return gone(name, "holds")
    const value = program.channels[number]!.codec.decode(json)
    if (Result.isFailure(value)) return fault("Decode", name, value.failure)
    out[number] = Option.some(value.success)
  }
  for (const [number, list] of cells.writes) {
    const channel = program.channels[number]!
    for (const batch of list) {
      const cell = fold(channel, out[number]!, batch)
      if (Result.isFailure(cell)) return fault("Decode", channel.name, cell.failure.message)
      out[number] = cell.success
    }
  }
  return Result.succeed(out)
}

/** Numbers by name, as an array by number; names that the graph no longer has are left out. */
const numbered = (
  size: number,
  numbers: ReadonlyMap<string, number>,
  byName: ReadonlyMap<string, number>
): ReadonlyArray<number> => {
  const out = Array.from({ length: size }, () => 0)
  for (const [name, value] of byName) {
    const number = numbers.get(name)
    if (number !== undefined) out[number] = value
  }
  return out
}

const isHandedUp = (program: Program, write: Written): boolean =>
  program.channels[write.channel]!.isState && !isInputTask(write.task) && write.task !== START_TASK

/** What nodes of a graph wrote to its state, not counting its input. */
export const handedUp = (
  program: Program,
  tasks: ReadonlyArray<{ readonly id: string; readonly writes: ReadonlyArray<Write> }>
): ReadonlyArray<Write> =>
  tasks.flatMap(({ id, writes }) => writes.filter((write) => isHandedUp(program, { ...write, task: id })))

/** What the rows of a chain add up to. */
class Rebuild {
  readonly program: Program
  readonly cells: Cells = { json: new Map(), writes: new Map() }
  readonly versions = new Map<string, number>()
  readonly seen = new Map<string, number>()
  readonly graphs = new Map<string, string>()
  readonly folds = new Map<number, number>()
  up: Array<Write> = []
  origin = ""
  version = 0
  changesLength = 0

  constructor(program: Program) {
    this.program = program
  }

  /** Takes in what every row holds. */
  #merge(data: CheckpointData): void {
    for (const [name, value] of data.versions) this.versions.set(name, value)
    for (const [name, value] of data.seen) this.seen.set(name, value)
    for (const [namespace, id] of data.graphs ?? []) this.graphs.set(namespace, id)
    for (const name of data.cleared ?? []) this.cells.json.delete(name)
    for (const [name, json] of data.cells) this.cells.json.set(name, json)
    this.version = data.version
    this.origin = data.origin ?? this.origin
  }

  keyframe(data: CheckpointData): Result.Result<void, Fault> {
    this.#merge(data)
    return Result.map(decodeWrites(this.program, data.up ?? []), (up) => {
      this.up = [...up]
    })
  }

  change(row: CheckpointRow, data: CheckpointData, beside: ReadonlyArray<TaskRow>): Result.Result<void, Fault> {
    this.#merge(data)
    if (beside.filter(({ status }) => status === "done").length !== data.tasks) {
      return fault("Decode", undefined, "results of tasks that it follows from are missing, or there are others")
    }
    this.changesLength += lengthOf(row.data) + rowOverhead + beside.reduce((sum, { data }) => sum + data.length, 0)
    const folded = data.folded ?? []
    if (folded.length === 0 && this.origin === "") return Result.succeed(undefined)
    const isWanted = (name: string): boolean => {
      const number = this.program.channelNumber.get(name)
      return folded.includes(name) ||
        (this.origin !== "" && number !== undefined && this.program.channels[number]!.isState)
    }
    return Result.flatMap(batches(this.program, beside, isWanted), (groups) => {
      // A new call of a nested graph: what it hands up begins with it.
      if (data.origin !== undefined) this.up = []
      else if (this.origin !== "") {
        for (const write of groups.flat()) if (isHandedUp(this.program, write)) this.up.push(write)
      }
      return Result.map(foldInto(this.program, this.cells, folded, groups), () => {
        for (const name of folded) {
          const number = this.program.channelNumber.get(name)!
          if (this.program.channels[number]!.rule._tag === "Delta") {
            this.folds.set(number, (this.folds.get(number) ?? 0) + 1)
          }
        }
      })
    })
  }
}

const rebuild = (
  program: Program,
  chain: ReadonlyArray<CheckpointRow>,
  rows: ReadonlyMap<string, ReadonlyArray<TaskRow>>
): Result.Result<Rebuild, Fault> => {
  const out = new Rebuild(program)
  for (const [index, row] of chain.entries()) {
    if (row.format > format) {
      return fault("Format", undefined, `it has format ${row.format}; this version reads up to ${format}`)
    }
    const taken = Result.flatMap(
      shapedCheckpoint(besideCheckpoint(row), row.data),
      (data) => index === 0 ? out.keyframe(data) : out.change(row, data, rows.get(chain[index - 1]!.id) ?? [])
    )
    if (Result.isFailure(taken)) return Result.fail(taken.failure)
  }
  return Result.succeed(out)
}

const decodeRecords = (
  program: Program,
  rows: ReadonlyArray<TaskRow>
): Result.Result<ReadonlyMap<string, TaskRecord>, Fault> => {
  const records = new Map<string, TaskRecord>()
  for (const row of rows) {
    const record = decodeTask(program, row)
    if (Result.isFailure(record)) return Result.fail(record.failure)
    records.set(row.task, record.success)
  }
  return Result.succeed(records)
}

/** Reads a checkpoint back from its chain and the task rows beside it. */
export const decodeCheckpoint = (
  program: Program,
  chain: ReadonlyArray<CheckpointRow>,
  tasks: ReadonlyArray<TaskRow>
): Result.Result<Place, Fault> => {
  const last = chain[chain.length - 1]
  if (last === undefined || !chain[0]!.isKeyframe) return fault("Decode", undefined, "its keyframe is missing")
  const rows = Map.groupBy(tasks, (row) => row.checkpoint)
  return Result.flatMap(
    rebuild(program, chain, rows),
    (built) =>
      Result.flatMap(
        decodeCells(program, built.cells),
        (cells) =>
          Result.map(decodeRecords(program, rows.get(last.id) ?? []), (records): Place => ({
            id: last.id,
            checkpoint: {
              step: last.step,
              version: built.version,
              cells,
              versions: numbered(program.channels.length, program.channelNumber, built.versions),
              seen: numbered(program.nodes.length, program.nodeNumber, built.seen),
              // Of a run, not of the thread: the rows of a run that was resumed are those of one that was not.
              stopped: 0,
              live: liveOf(program, cells),
              updated: undefined
            },
            records,
            revisions: new Map((rows.get(last.id) ?? []).map(({ revision, task }) => [task, revision])),
            graphs: built.graphs,
            up: built.up,
            origin: built.origin,
            chain: { keyframeLength: lengthOf(chain[0]!.data), changesLength: built.changesLength, folds: built.folds }
          }))
      )
  )
}

/** The machine before anything was stored. */
export const emptyPlace = (program: Program, origin: string): Place => ({
  id: undefined,
  checkpoint: initial(program),
  records: new Map(),
  revisions: new Map(),
  graphs: new Map(),
  up: [],
  origin,
  chain: noChain
})
