/**
 * Between the machine and its stored rows. A checkpoint is stored as what changed since its parent; a channel that only
 * grows is stored as the writes of its superstep, which stand beside the parent, and is rebuilt through the same `update`
 * that made it. Every so often a keyframe holds the whole state. Pure.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Channel from "../../Channel.ts"
import type { CheckpointRow, TaskRow } from "../../Checkpoint.ts"
import type { GraphDifference } from "../../GraphError.ts"
import { type Growing, growing, itemsOf } from "../growing.ts"
import { type Checkpoint, initial } from "./checkpoint.ts"
import { inputMarks, markOf } from "./mark.ts"
import { isInputTask, START_TASK } from "./plan.ts"
import type { Program } from "./program.ts"
import { seal } from "./seal.ts"
import type { Write } from "./writes.ts"

/** What went wrong, and at which channel; or what has changed since. */
export type Fault =
  | {
    readonly reason: "Encode" | "Decode" | "Format"
    readonly channel: string | undefined
    readonly detail: string
  }
  | { readonly reason: "Graph"; readonly graph: string; readonly differences: ReadonlyArray<GraphDifference> }

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
  | {
    readonly status: "done"
    readonly writes: ReadonlyArray<Write>
    readonly graphs: Graphs
    /** Nodes that it leads to, and that the graph no longer has. */
    readonly gone?: ReadonlyArray<string>
    /** Why not all that it has written can be read. */
    readonly unread?: Fault
  }
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
  readonly up: Growing<Write>
  /** In a nested graph: hash of the input that it was called with. */
  readonly origin: string
  /** Nodes that are to run, and that the graph no longer has. */
  readonly gone: ReadonlyArray<string>
  /** Why not all that is still to be done can be read. */
  readonly unread: Fault | undefined
  readonly chain: Chain
}

/** By key of a state: the mark of its channel. */
export type Marks = ReadonlyMap<string, string>

/** What somebody says who stores something: the marks of the keys, and by node of those that graphs take that are nodes. */
export interface Saying {
  readonly marks: Marks
  readonly inputs: ReadonlyMap<string, Marks>
}

/** The graph that has stored something. */
export interface StoredBy extends Saying {
  readonly graph: string
}

/** How much is stored since the last keyframe: decides when the next is due. */
export interface Chain {
  readonly keyframeLength: number
  readonly changesLength: number
  /** By Delta channel: supersteps with writes since the last keyframe. */
  readonly folds: ReadonlyMap<number, number>
  /** Who has stored the keyframe: another version of the graph does not go on with its chain. None if nothing is stored. */
  readonly by: StoredBy | undefined
}

export const noChain: Chain = { keyframeLength: 0, changesLength: 0, folds: new Map(), by: undefined }

// A row costs about this much besides its data, in characters.
export const rowOverhead = 200
// What is read may be as many times as long as the state before the next keyframe: it bounds both the storage and the reading.
const growth = 2
// Changes after which a small keyframe is worth another look, in characters.
const leastChanges = rowOverhead * 20

/** By node: the marks of the keys that the graph takes. */
export type Inputs = ReadonlyArray<readonly [node: string, marks: Pairs<string>]>

type Pairs<A = number> = ReadonlyArray<readonly [string, A]>
/** A write as it is stored: of `null`, by the name of its channel alone; an Overwrite is marked. */
export type StoredWrite =
  | string
  | readonly [channel: string, json: Schema.Json]
  | readonly [channel: string, json: Schema.Json, overwrite: 1]

/** The parts of a stored write. */
export const partsOf = (
  write: StoredWrite
): { readonly name: string; readonly kind: "write" | "overwrite"; readonly json: Schema.Json } =>
  typeof write === "string"
    ? { name: write, kind: "write", json: null }
    : { name: write[0], kind: write.length === 3 ? "overwrite" : "write", json: write[1] }

/** What a channel holds, as it is stored: `null`, by the name of the channel alone. */
export type StoredCell = string | readonly [channel: string, json: Schema.Json]

/** The parts of a stored cell. */
export const cellOf = (cell: StoredCell): readonly [channel: string, json: Schema.Json] =>
  typeof cell === "string" ? [cell, null] : cell

/** What a checkpoint says: the whole state in a keyframe, or what has changed since its parent. Each channel has changed once. */
export interface CheckpointData {
  /** Of a keyframe: the fingerprint of the graph that stored it, and the marks of its keys. */
  readonly graph?: string
  readonly marks?: Pairs<string>
  readonly inputs?: Inputs
  /** The newest version. Of a change: if that is not the next one. */
  readonly version?: number
  /** Versions of channels. Of a change: those that are not the newest one. */
  readonly versions?: Pairs
  /** Versions seen by nodes. Of a change: a node alone has seen the newest one that there was. */
  readonly seen?: ReadonlyArray<string | readonly [string, number]>
  /** What channels hold. */
  readonly cells?: ReadonlyArray<StoredCell>
  /** Channels that have become empty. */
  readonly cleared?: ReadonlyArray<string>
  /** Channels that follow from the results beside the parent. */
  readonly folded?: ReadonlyArray<string>
  /** Channels that have changed in no way that is stored. */
  readonly touched?: ReadonlyArray<string>
  readonly graphs?: Graphs
  readonly up?: ReadonlyArray<StoredWrite>
  readonly origin?: string
  /** How many finished rows beside the parent it follows from, if it follows from them alone. A change does, of one unless it says more. */
  readonly tasks?: number
}

type TaskData =
  | ReadonlyArray<StoredWrite>
  | {
    readonly writes: ReadonlyArray<StoredWrite>
    readonly graphs?: Graphs
    /** Where the checkpoint was stored by another version of the graph: what this one says. */
    readonly marks?: Pairs<string>
    readonly inputs?: Inputs
  }
  | { readonly requests: ReadonlyArray<StoredRequest>; readonly answers?: StoredAnswers; readonly graphs?: Graphs }
  | { readonly error: string; readonly answers?: StoredAnswers; readonly graphs?: Graphs }

export type StoredAnswers = ReadonlyArray<readonly [id: string, answer: StoredAnswer]>

export const fault = (
  reason: "Encode" | "Decode" | "Format",
  channel: string | undefined,
  detail: string
): Result.Result<never, Fault> => Result.fail({ reason, channel, detail })

/** JSON text; a value too deep for the call stack is a fault. */
const stringify = (value: unknown): Result.Result<string, Fault> => {
  try {
    return Result.succeed(JSON.stringify(value))
  } catch (cause) {
    return fault("Encode", undefined, String(cause))
  }
}

/** What is said of a graph beside what it stores. */
const sayingOf = ({ inputs, marks }: Saying): { readonly marks: Pairs<string>; readonly inputs?: Inputs } => ({
  marks: [...marks],
  ...(inputs.size === 0 ? {} : { inputs: [...inputs].map(([node, marks]) => [node, [...marks]]) })
})

/** The same, read. */
export const saidIn = (
  { inputs = [], marks }: { readonly marks: Pairs<string>; readonly inputs?: Inputs | undefined }
): Saying => ({ marks: new Map(marks), inputs: new Map(inputs.map(([node, marks]) => [node, new Map(marks)])) })

const storedBys = new WeakMap<Program, StoredBy>()

/** What a graph says of itself beside what it stores. */
export const storedBy = (program: Program): StoredBy => {
  let by = storedBys.get(program)
  if (by === undefined) {
    const keys = program.channels.filter((channel, number) => channel.isState && isTracked(program, number))
    const marks = new Map(keys.map((channel) => [channel.name, markOf(channel)]))
    const inputs = new Map(inputMarks(program.nodes).map(([node, marks]) => [node, new Map(marks)]))
    storedBys.set(program, by = { graph: program.fingerprint, marks, inputs })
  }
  return by
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
    const { json, kind } = row.success
    rows.push(kind === "overwrite" ? [channel.name, json, 1] : json === null ? channel.name : [channel.name, json])
  }
  return Result.succeed(rows)
}

export type Written = Write & { readonly task: string }

/** Whether a node of a graph has written this to the state. The input is no write of a node. */
export const isHandedUp = (program: Program, write: Written): boolean =>
  program.channels[write.channel]!.isState && !isInputTask(write.task) && write.task !== START_TASK

/** What nodes of a graph wrote to its state, not counting its input. */
export const handedUp = (
  program: Program,
  tasks: ReadonlyArray<{ readonly id: string; readonly writes: ReadonlyArray<Write> }>
): ReadonlyArray<Write> =>
  tasks.flatMap(({ id, writes }) => writes.filter((write) => isHandedUp(program, { ...write, task: id })))

const answersOf = (answers: Answers): { answers?: StoredAnswers } => answers.size === 0 ? {} : { answers: [...answers] }

const graphsOf = (graphs: Graphs): { graphs?: Graphs } => graphs.length === 0 ? {} : { graphs }

/** What stands beside a checkpoint is read as that is, unless it says something else. */
const marksOf = (
  program: Program,
  by: StoredBy | undefined,
  writes: ReadonlyArray<Write>
): { marks?: Pairs<string>; inputs?: Inputs } => {
  // All of them: what became of one key depends on which others there were.
  return by === undefined || by.graph === program.fingerprint || writes.length === 0
    ? {}
    : sayingOf(storedBy(program))
}

const taskData = (
  program: Program,
  by: StoredBy | undefined,
  record: TaskRecord
): Result.Result<TaskData, Fault> => {
  const graphs = graphsOf(record.graphs)
  switch (record.status) {
    case "done":
      return Result.map(
        encodeWrites(program, record.writes),
        (writes): TaskData => {
          const more = { ...graphs, ...marksOf(program, by, record.writes) }
          return Object.keys(more).length === 0 ? writes : { writes, ...more }
        }
      )
    case "paused":
      return Result.succeed({ requests: record.requests, ...answersOf(record.answers), ...graphs })
    case "failed":
      return Result.succeed({ error: record.error, ...answersOf(record.answers), ...graphs })
  }
}

/** The row of a task beside a checkpoint, which `by` has stored. */
export const encodeTask = (
  program: Program,
  by: StoredBy | undefined,
  at: { readonly checkpoint: string; readonly task: string; readonly revision: number },
  record: TaskRecord
): Result.Result<TaskRow, Fault> =>
  Result.map(
    Result.flatMap(taskData(program, by, record), stringify),
    (json) => taskRow({ ...at, status: record.status }, json)
  )

/** Of a result the revision is left out: whether the task paused before says nothing of what it came to. */
export const besideTask = ({ checkpoint, revision, status, task }: Omit<TaskRow, "data">): ReadonlyArray<string> => [
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

/** What the data of a checkpoint is sealed with: all of the row but the time, which is in no hash. */
export const besideCheckpoint = (row: Omit<CheckpointRow, "data" | "createdMillis">): ReadonlyArray<string> => [
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

// ---------------------------------------------------------------------------
// Checkpoints
// ---------------------------------------------------------------------------

/** Whether a changed channel is stored as its writes, which stand beside the parent anyway. */
const isFolded = (rule: Channel.Rule): boolean =>
  rule._tag === "LastValue" || rule._tag === "Delta" || (rule._tag === "BinaryOperatorAggregate" && rule.appends) ||
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
): Result.Result<ReadonlyArray<StoredCell>, Fault> => {
  const cells: Array<StoredCell> = []
  for (const number of numbers) {
    const cell = checkpoint.cells[number]!
    if (Option.isNone(cell) || !isTracked(program, number)) continue
    const json = encodeCell(program, number, cell)
    if (Result.isFailure(json)) return Result.fail(json.failure)
    const { name } = program.channels[number]!
    cells.push(json.success === null ? name : [name, json.success])
  }
  return Result.succeed(cells)
}

const keyframeData = (program: Program, place: Place): Result.Result<CheckpointData, Fault> => {
  const { checkpoint } = place
  const written = program.channels.flatMap((_, number) => checkpoint.versions[number]! > 0 ? [number] : [])
  return Result.flatMap(
    encodeCells(program, checkpoint, written),
    (cells) =>
      Result.map(encodeWrites(program, itemsOf(place.up)), (up) => ({
        graph: program.fingerprint,
        ...sayingOf(storedBy(program)),
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

/** A list that is left out where it is empty. */
const listed = <K extends string, A>(key: K, list: ReadonlyArray<A>): { readonly [P in K]?: ReadonlyArray<A> } =>
  list.length === 0 ? {} : { [key]: list } as { readonly [P in K]: ReadonlyArray<A> }

const changeData = (
  program: Program,
  before: Place,
  after: Place,
  { finished, isInput }: Following
): Result.Result<CheckpointData, Fault> => {
  const [old, now] = [before.checkpoint, after.checkpoint]
  const changed: Array<number> = []
  for (let c = 0; c < now.versions.length; c++) if (now.versions[c] !== old.versions[c]) changed.push(c)
  const isStored = (c: number): boolean => Option.isSome(now.cells[c]!) && isTracked(program, c)
  const folded = changed.filter((c) => isFolded(program.channels[c]!.rule))
  const others = changed.filter((c) => !isFolded(program.channels[c]!.rule))
  const set = others.filter(isStored)
  const cleared = others.filter((c) => Option.isNone(now.cells[c]!) && Option.isSome(old.cells[c]!))
  const touched = others.filter((c) => !set.includes(c) && !cleared.includes(c))
  const nameOf = (c: number): string => program.channels[c]!.name
  const ran = program.nodes.filter(({ number }) => now.seen[number] !== old.seen[number])
  return Result.map(encodeCells(program, now, set), (cells) => ({
    ...(now.version === old.version + 1 ? {} : { version: now.version }),
    ...listed(
      "versions",
      changed.flatMap((c) => now.versions[c] === now.version ? [] : [[nameOf(c), now.versions[c]!] as const])
    ),
    ...listed(
      "seen",
      ran.map(({ name, number }) => now.seen[number] === old.version ? name : [name, now.seen[number]!] as const)
    ),
    ...listed("cells", cells),
    ...listed("cleared", cleared.map(nameOf)),
    ...listed("folded", folded.map(nameOf)),
    ...listed("touched", touched.map(nameOf)),
    ...graphsOf([...after.graphs].filter(([namespace, id]) => before.graphs.get(namespace) !== id)),
    ...(isInput && after.origin !== "" ? { origin: after.origin } : {}),
    ...(finished === 1 ? {} : { tasks: finished })
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

/** Whether a Delta channel has been written as often as its user allows. */
const isFull = (program: Program, folds: ReadonlyMap<number, number>): boolean =>
  [...folds].some(([number, count]) => {
    const { rule } = program.channels[number]!
    return rule._tag === "Delta" && count >= rule.snapshotFrequency
  })

/** Whether changes have doubled since they were looked at last: whoever reads them back looks at the same time. */
const isLook = ({ changesLength, keyframeLength }: Chain, next: number): boolean => {
  let limit = keyframeLength + leastChanges
  while (limit <= changesLength) limit *= 2
  return next >= limit
}

/** What a checkpoint says, stored as a keyframe or as a change since the one before. */
export const dataFor = (
  program: Program,
  before: Place | undefined,
  after: Place,
  following: Following
): Result.Result<CheckpointData, Fault> =>
  before === undefined ? keyframeData(program, after) : changeData(program, before, after, following)

/** What a checkpoint follows from. */
export interface Following {
  /** How long the rows of the finished tasks are, and how many there are. */
  readonly writesLength: number
  readonly finished: number
  readonly isInput: boolean
}

/** Of a state that is stored whole, from wherever it came. */
export const wholeState: Following = { writesLength: 0, finished: 0, isInput: false }

export interface EncodedCheckpoint {
  readonly isKeyframe: boolean
  readonly data: string
  readonly chain: Chain
}

/**
 * The stored form of `after`. As a change since `before`, when the writes that lead from one to the other stand beside `before`, and what is to be read
 * does not outgrow the state; as a keyframe otherwise, and when there is no `before`. What was only appended is the state.
 */
export const encodeCheckpoint = (
  program: Program,
  before: Place | undefined,
  after: Place,
  following: Following
): Result.Result<EncodedCheckpoint, Fault> => {
  const { chain } = before?.id === undefined ? { chain: undefined } : before
  const follows = chain === undefined ? {} : { tasks: following.finished }
  const keyframe = (): Result.Result<EncodedCheckpoint, Fault> =>
    Result.map(
      Result.flatMap(Result.map(keyframeData(program, after), (data) => ({ ...data, ...follows })), stringify),
      (data) => ({
        isKeyframe: true,
        data,
        chain: { keyframeLength: data.length, changesLength: 0, folds: new Map(), by: storedBy(program) }
      })
    )
  if (chain === undefined || (chain.by !== undefined && chain.by.graph !== program.fingerprint)) return keyframe()
  const folds = program.channels.some(({ rule }) => rule._tag === "Delta")
    ? nextFolds(program, before!, after)
    : chain.folds
  if (isFull(program, folds)) return keyframe()
  const change = Result.map(
    Result.flatMap(changeData(program, before!, after, following), stringify),
    (data): EncodedCheckpoint => ({
      isKeyframe: false,
      data,
      chain: {
        ...chain,
        changesLength: chain.changesLength + data.length + following.writesLength + rowOverhead,
        folds
      }
    })
  )
  return Result.flatMap(change, (change) => {
    const { changesLength } = change.chain
    if (!isLook(chain, changesLength)) return Result.succeed(change)
    return Result.map(keyframe(), (whole) => changesLength > growth * whole.data.length ? whole : change)
  })
}

/** The machine before anything was stored. */
export const emptyPlace = (program: Program, origin: string): Place => ({
  id: undefined,
  checkpoint: initial(program),
  records: new Map(),
  revisions: new Map(),
  graphs: new Map(),
  up: growing([]),
  origin,
  gone: [],
  unread: undefined,
  chain: noChain
})
