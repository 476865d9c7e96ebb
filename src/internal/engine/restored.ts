/**
 * Reading back: the machine at a checkpoint, from the rows of its chain and of the tasks beside it. What was stored in a shape that it cannot
 * have is a fault, never a default. Pure.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Channel from "../../Channel.ts"
import { isOverwrite } from "../../Channel.ts"
import { type CheckpointRow, format, type TaskRow } from "../../Checkpoint.ts"
import { growing } from "../growing.ts"
import { liveOf } from "./checkpoint.ts"
import { emptyCell, fold } from "./fold.ts"
import { isInputTask } from "./plan.ts"
import { type ChannelProgram, isMachineChannel, type Program } from "./program.ts"
import { Reading, type Source, unreadAt } from "./reading.ts"
import { lengthOf, unseal } from "./seal.ts"
import {
  type Answers,
  besideCheckpoint,
  besideTask,
  cellOf,
  type CheckpointData,
  type Fault,
  fault,
  type Graphs,
  isHandedUp,
  partsOf,
  type Place,
  rowOverhead,
  saidIn,
  type StoredAnswers,
  type StoredBy,
  type TaskRecord
} from "./stored.ts"
import type { Write } from "./writes.ts"

const parse = (text: string): Result.Result<unknown, Fault> => {
  try {
    return Result.succeed(JSON.parse(text) as unknown)
  } catch (cause) {
    return fault("Decode", undefined, String(cause))
  }
}

const GraphsData = Schema.Array(Schema.Tuple([Schema.String, Schema.String]))
const WritesData = Schema.Array(
  Schema.Union([
    Schema.String,
    Schema.Tuple([Schema.String, Schema.Json]),
    Schema.Tuple([Schema.String, Schema.Json, Schema.Literal(1)])
  ])
)
const AskerData = {
  graph: Schema.optionalKey(Schema.String),
  isHandler: Schema.optionalKey(Schema.Literal(true))
}
const AnswersData = Schema.Array(Schema.Tuple([
  Schema.String,
  Schema.Struct({ tag: Schema.String, payload: Schema.String, answer: Schema.Json, ...AskerData })
]))

const MarksData = Schema.Array(Schema.Tuple([Schema.String, Schema.String]))
const InputsData = Schema.Array(Schema.Tuple([Schema.String, MarksData]))
const DoneData = Schema.Struct({
  writes: WritesData,
  graphs: Schema.optionalKey(GraphsData),
  marks: Schema.optionalKey(MarksData),
  inputs: Schema.optionalKey(InputsData)
})
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
  graph: Schema.optionalKey(Schema.String),
  marks: Schema.optionalKey(MarksData),
  inputs: Schema.optionalKey(InputsData),
  version: Schema.optionalKey(Schema.Int),
  versions: Schema.optionalKey(PairsData),
  seen: Schema.optionalKey(
    Schema.Array(Schema.Union([Schema.String, Schema.Tuple([Schema.String, Schema.Int])]))
  ),
  cells: Schema.optionalKey(Schema.Array(Schema.Union([Schema.String, Schema.Tuple([Schema.String, Schema.Json])]))),
  cleared: Schema.optionalKey(Schema.Array(Schema.String)),
  folded: Schema.optionalKey(Schema.Array(Schema.String)),
  touched: Schema.optionalKey(Schema.Array(Schema.String)),
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

const shapedResult = shaped(Schema.is(Schema.Union([WritesData, DoneData])), "the result of a task")
const shapedDone = (beside: ReadonlyArray<string>, text: string): Result.Result<typeof DoneData.Type, Fault> =>
  Result.map(shapedResult(beside, text), (data) => "writes" in data ? data : { writes: data })
const shapedPaused = shaped(Schema.is(PausedData), "the pause of a task")
const shapedFailed = shaped(Schema.is(FailedData), "the failure of a task")
const shapedCheckpoint = shaped(Schema.is(StoredCheckpointData), "its data")
const shapedWrites = shaped(Schema.is(WritesData), "a kept result")

/** The writes whose text this is. */
export const keptWrites = (
  program: Program,
  beside: ReadonlyArray<string>,
  text: string
): Result.Result<ReadonlyArray<Write>, Fault> =>
  Result.flatMap(shapedWrites(beside, text), (rows) => {
    const reading = new Reading(program, undefined)
    return Result.flatMap(reading.writes(rows), (writes) => settled(reading, writes))
  })

const answersFrom = (stored: StoredAnswers | undefined): Answers => new Map(stored)

const readTask = (reading: Reading, row: TaskRow): Result.Result<TaskRecord, Fault> => {
  switch (row.status) {
    case "done":
      return Result.flatMap(
        shapedDone(besideTask(row), row.data),
        ({ graphs = [], inputs, marks, writes }) => {
          const own = marks === undefined ? reading.anew() : reading.anew(saidIn({ marks, inputs }))
          return Result.map(own.writes(writes), (writes): TaskRecord => {
            const { gone, unread } = own
            return {
              status: "done",
              writes,
              graphs,
              ...(gone.length > 0 ? { gone } : {}),
              ...(unread === undefined ? {} : { unread })
            }
          })
        }
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

/** What a task has come to, beside a checkpoint that `by` has stored. */
export const decodeTask = (
  program: Program,
  by: StoredBy | undefined,
  row: TaskRow
): Result.Result<TaskRecord, Fault> => {
  const reading = new Reading(program, by)
  const read = Result.flatMap(readTask(reading, row), (record) => settled(reading, record))
  return Result.flatMap(read, (record) => Result.map(allRead([record]), () => record))
}

/** Whether all that tasks have written can be read. */
export const allRead = (records: Iterable<TaskRecord>): Result.Result<void, Fault> => {
  for (const record of records) {
    if (record.status === "done" && record.unread !== undefined) return Result.fail(record.unread)
  }
  return Result.succeed(undefined)
}

/** What was read, if nothing in it is left open. */
const settled = <A>({ fault }: Reading, read: A): Result.Result<A, Fault> =>
  fault === undefined ? Result.succeed(read) : Result.fail(fault)

// ---------------------------------------------------------------------------
// Checkpoints
// ---------------------------------------------------------------------------

/** In task order. */
export const byTask = (a: TaskRow, b: TaskRow): number => a.task < b.task ? -1 : a.task > b.task ? 1 : 0

/** A write as its channel read it when it was made. */
interface Written {
  readonly task: string
  readonly source: Source
  readonly value: unknown
}

/** The writes of a result to some channels. */
const writtenIn = (
  reading: Reading,
  row: TaskRow,
  isWanted: (channel: string) => boolean
): Result.Result<ReadonlyArray<Written>, Fault> =>
  Result.flatMap(shapedDone(besideTask(row), row.data), ({ writes }) => {
    const out: Array<Written> = []
    for (const write of writes) {
      const { name } = partsOf(write)
      const source = isWanted(name) ? reading.source(name) : undefined
      if (source === undefined) continue
      const value = reading.written(source, write)
      if (Result.isFailure(value)) return Result.fail(value.failure)
      out.push({ task: row.task, source, value: value.success })
    }
    return Result.succeed(out)
  })

/** The writes to some channels that lead from a checkpoint to the next, in the batches in which they were applied. */
const batches = (
  reading: Reading,
  rows: ReadonlyArray<TaskRow>,
  isWanted: (channel: string) => boolean
): Result.Result<ReadonlyArray<ReadonlyArray<Written>>, Fault> => {
  const groups: Array<ReadonlyArray<Written>> = []
  const tasks: Array<Written> = []
  for (const row of [...rows].sort(byTask)) {
    if (row.status !== "done") continue
    const writes = writtenIn(reading, row, isWanted)
    if (Result.isFailure(writes)) return Result.fail(writes.failure)
    if (isInputTask(row.task)) groups.push(writes.success)
    else for (const write of writes.success) tasks.push(write)
  }
  return Result.succeed([...groups, tasks])
}

interface Cells {
  readonly json: Map<string, Schema.Json>
  /** By channel: batches of writes to apply to the decoded value. */
  readonly writes: Map<string, Array<ReadonlyArray<unknown>>>
  /** By channel: what it held before those writes, where that was asked for. */
  readonly held: Map<string, Channel.Cell>
}

const foldInto = (
  cells: Cells,
  names: ReadonlyArray<string>,
  groups: ReadonlyArray<ReadonlyArray<Written>>
): Result.Result<void, Fault> => {
  const byName = groups.map((group) => Map.groupBy(group, ({ source }) => source.channel.name))
  for (const name of names) {
    const own = byName.map((group) => group.get(name) ?? []).filter((batch) => batch.length > 0)
    if (own.length === 0) return fault("Decode", name, "the writes that changed it are missing")
    const written = own.map((batch) => batch.map(({ value }) => value))
    const before = cells.writes.get(name)
    const isReplaced = own[0]![0]!.source.channel.rule._tag === "LastValue"
    if (isReplaced) cells.held.delete(name)
    if (before === undefined || isReplaced) cells.writes.set(name, written)
    else for (const batch of written) before.push(batch)
  }
  return Result.succeed(undefined)
}

/**
 * Batches as they may be folded: what is only appended comes to the same in one batch, and is copied once. An Overwrite is the first of its batch, and so
 * begins another.
 */
const joined = (
  { rule }: ChannelProgram,
  batches: ReadonlyArray<ReadonlyArray<unknown>>
): ReadonlyArray<ReadonlyArray<unknown>> => {
  if (rule._tag !== "BinaryOperatorAggregate" || !rule.appends) return batches
  const out: Array<Array<unknown>> = []
  for (const batch of batches) {
    const last = out.at(-1)
    if (last === undefined || batch.some(isOverwrite)) out.push([...batch])
    else for (const write of batch) last.push(write)
  }
  return out
}

/** What a channel held at first: what was asked for before, or its stored value. */
const startIn = (reading: Reading, source: Source, cells: Cells): Result.Result<Channel.Cell, Fault> => {
  const { channel } = source
  const held = cells.held.get(channel.name)
  if (held !== undefined) return Result.succeed(held)
  const json = cells.json.get(channel.name)
  return json === undefined
    ? Result.succeed(emptyCell(channel))
    : Result.map(reading.held(source, json), (value): Channel.Cell => Option.some(value))
}

/** What a channel held: its stored value, and what was written to it since. */
const heldIn = (reading: Reading, source: Source, cells: Cells): Result.Result<Channel.Cell, Fault> => {
  const { channel } = source
  const start = startIn(reading, source, cells)
  if (Result.isFailure(start)) return start
  let cell = start.success
  for (const batch of joined(channel, cells.writes.get(channel.name) ?? [])) {
    const next = fold(channel, cell, batch)
    if (Result.isFailure(next)) return fault("Decode", channel.name, next.failure.message)
    cell = next.success
  }
  if (channel.isState) {
    cells.held.set(channel.name, cell)
    cells.writes.delete(channel.name)
  }
  return Result.succeed(cell)
}

const decodeCells = (reading: Reading, cells: Cells): Result.Result<ReadonlyArray<Channel.Cell>, Fault> => {
  const out = reading.program.channels.map(emptyCell)
  for (const name of new Set([...cells.json.keys(), ...cells.writes.keys(), ...cells.held.keys()])) {
    const source = reading.counts(name, cells.json.get(name) ?? null) ? reading.source(name) : undefined
    if (source === undefined) continue
    const held = heldIn(reading, source, cells)
    if (Result.isFailure(held)) return Result.fail(held.failure)
    if (Option.isNone(held.success)) continue
    const now = reading.cell(source, held.success.value)
    if (Result.isFailure(now)) return Result.fail(now.failure)
    out[source.to] = Option.some(now.success)
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

/** What the rows of a chain add up to. */
class Rebuild {
  readonly reading: Reading
  readonly by: StoredBy
  readonly keyframeLength: number
  readonly cells: Cells = { json: new Map(), writes: new Map(), held: new Map() }
  readonly versions = new Map<string, number>()
  readonly seen = new Map<string, number>()
  readonly graphs = new Map<string, string>()
  readonly folds = new Map<number, number>()
  up: Array<Write> = []
  /** Why not all of `up` can be read. */
  unread: Fault | undefined = undefined
  origin = ""
  version = 0
  changesLength = 0

  constructor(program: Program, by: StoredBy, keyframeLength: number) {
    this.by = by
    this.keyframeLength = keyframeLength
    this.reading = new Reading(program, by)
  }

  /** Takes in what every row holds. */
  #merge(data: CheckpointData): void {
    const { cells = [], cleared = [], folded = [], graphs = [], seen = [], touched = [], versions = [] } = data
    const last = this.version
    this.version = data.version ?? last + 1
    const held = cells.map(cellOf)
    for (const name of [...held.map(([name]) => name), ...cleared, ...folded, ...touched]) {
      this.versions.set(name, this.version)
    }
    for (const [name, value] of versions) this.versions.set(name, value)
    for (const one of seen) {
      if (typeof one === "string") this.seen.set(one, last)
      else this.seen.set(one[0], one[1])
    }
    for (const [namespace, id] of graphs) this.graphs.set(namespace, id)
    for (const name of cleared) this.#reset(name)
    for (const [name, json] of held) {
      this.#reset(name)
      this.cells.json.set(name, json)
    }
    this.origin = data.origin ?? this.origin
  }

  /** Forgets what a channel held. */
  #reset(name: string): void {
    this.cells.json.delete(name)
    this.cells.writes.delete(name)
    this.cells.held.delete(name)
  }

  keyframe(data: CheckpointData): Result.Result<void, Fault> {
    this.#merge(data)
    return Result.map(this.reading.writes(data.up ?? []), (up) => {
      this.up = [...up]
      this.unread = this.reading.unread
    })
  }

  change(row: CheckpointRow, data: CheckpointData, beside: ReadonlyArray<TaskRow>): Result.Result<void, Fault> {
    this.#merge(data)
    if (beside.filter(({ status }) => status === "done").length !== (data.tasks ?? 1)) {
      return fault("Decode", undefined, "results of tasks that it follows from are missing, or there are others")
    }
    this.changesLength += lengthOf(row.data) + rowOverhead + beside.reduce((sum, { data }) => sum + data.length, 0)
    const folded = (data.folded ?? []).filter((name) => this.reading.source(name) !== undefined)
    const isFolded = new Set(folded)
    if (folded.length === 0 && this.origin === "") return Result.succeed(undefined)
    // What led to nodes that the graph no longer has is past.
    const isWanted = (name: string): boolean => isFolded.has(name) || (this.origin !== "" && !isMachineChannel(name))
    return Result.flatMap(
      batches(this.reading, beside, isWanted),
      (groups) =>
        Result.flatMap(this.#handUp(data, groups), () => {
          for (const name of folded) {
            const { channel, to } = this.reading.source(name)!
            if (channel.rule._tag === "Delta") this.folds.set(to, (this.folds.get(to) ?? 0) + 1)
          }
          return foldInto(this.cells, folded, groups)
        })
    )
  }

  /** Of a graph inside a task: what its nodes have written. A new call begins with its input. */
  #handUp(data: CheckpointData, groups: ReadonlyArray<ReadonlyArray<Written>>): Result.Result<void, Fault> {
    if (data.origin !== undefined) {
      this.up = []
      this.unread = undefined
    }
    if (data.origin !== undefined || this.origin === "") return Result.succeed(undefined)
    for (const { source, task, value } of groups.flat()) {
      if (!isHandedUp(this.reading.program, { channel: source.to, task, value })) continue
      const write = this.reading.now(source, value)
      if (write === undefined) {
        this.unread ??= unreadAt(source.channel.name)
        continue
      }
      if (Result.isFailure(write)) return Result.fail(write.failure)
      this.up.push(write.success)
    }
    return Result.succeed(undefined)
  }
}

/** What a stored checkpoint says. */
export const dataOf = (row: CheckpointRow): Result.Result<CheckpointData, Fault> =>
  row.format > format
    ? fault("Format", undefined, `it has format ${row.format}; this version reads up to ${format}`)
    : shapedCheckpoint(besideCheckpoint(row), row.data)

/** Begins with a keyframe. */
const begun = (program: Program, row: CheckpointRow): Result.Result<Rebuild, Fault> =>
  Result.flatMap(dataOf(row), (data) => {
    const { graph, inputs, marks } = data
    if (graph === undefined || marks === undefined) return fault("Decode", undefined, "its keyframe is damaged")
    const out = new Rebuild(program, { graph, ...saidIn({ marks, inputs }) }, lengthOf(row.data))
    return Result.map(out.keyframe(data), () => out)
  })

/** Where a checkpoint says that graphs inside its finished tasks have come to. */
export const graphsAt = (row: CheckpointRow): Result.Result<Graphs, Fault> =>
  Result.map(dataOf(row), ({ graphs = [] }) => graphs)

/** Where a task says that graphs inside it have come to. */
export const graphsIn = (row: TaskRow): Result.Result<Graphs, Fault> => {
  const shaped = row.status === "done" ? shapedDone : row.status === "paused" ? shapedPaused : shapedFailed
  return Result.map(
    shaped(besideTask(row), row.data) as Result.Result<{ readonly graphs?: Graphs }, Fault>,
    ({ graphs = [] }) => graphs
  )
}

/** Whether another version of the graph has stored a result than the checkpoint that it stands beside. */
export const isOfAnother = (row: TaskRow): boolean =>
  Result.match(shapedDone(besideTask(row), row.data), {
    onFailure: () => false,
    onSuccess: ({ marks }) => marks !== undefined
  })

/** What tasks have come to beside a checkpoint that `by` has stored. */
export const recordsAt = (
  program: Program,
  by: StoredBy | undefined,
  rows: ReadonlyArray<TaskRow>
): Result.Result<ReadonlyMap<string, TaskRecord>, Fault> => {
  const reading = new Reading(program, by)
  return Result.flatMap(decodeRecords(reading, rows), (records) => settled(reading, records))
}

const decodeRecords = (
  reading: Reading,
  rows: ReadonlyArray<TaskRow>
): Result.Result<ReadonlyMap<string, TaskRecord>, Fault> => {
  const records = new Map<string, TaskRecord>()
  for (const row of rows) {
    const record = readTask(reading, row)
    if (Result.isFailure(record)) return Result.fail(record.failure)
    records.set(row.task, record.success)
  }
  return Result.succeed(records)
}

/** The versions of channels, under the names that they have now. */
const versionsOf = ({ reading, versions }: Rebuild): ReadonlyMap<string, number> =>
  new Map([...versions].flatMap(([name, version]) => {
    const now = isMachineChannel(name) ? name : reading.nameOf(name)
    return now === undefined ? [] : [[now, version] as const]
  }))

/** What is read at the last checkpoint of a walk. */
interface Found {
  readonly last: CheckpointRow
  readonly reading: Reading
  readonly cells: ReadonlyArray<Channel.Cell>
  readonly records: ReadonlyMap<string, TaskRecord>
  readonly beside: ReadonlyArray<TaskRow>
}

const placeOf = (built: Rebuild, { beside, cells, last, reading, records }: Found): Place => {
  const { program } = reading
  return {
    id: last.id,
    checkpoint: {
      step: last.step,
      version: built.version,
      cells,
      versions: numbered(program.channels.length, program.channelNumber, versionsOf(built)),
      seen: numbered(program.nodes.length, program.nodeNumber, built.seen),
      // Of a run, not of the thread: the rows of a run that was resumed are those of one that was not.
      stopped: 0,
      live: liveOf(program, cells),
      updated: undefined
    },
    records,
    revisions: new Map(beside.map(({ revision, task }) => [task, revision])),
    graphs: new Map(built.graphs),
    up: growing([...built.up]),
    origin: built.origin,
    gone: reading.gone,
    unread: built.unread ?? reading.unread,
    chain: {
      keyframeLength: built.keyframeLength,
      changesLength: built.changesLength,
      folds: new Map(built.folds),
      by: built.by
    }
  }
}

/** Reads checkpoints back that follow each other, each in proportion to what changed since the one before. */
export class Walk {
  readonly #program: Program
  readonly #beside: (checkpoint: string) => ReadonlyArray<TaskRow>
  #built: Rebuild | undefined = undefined
  #last: CheckpointRow | undefined = undefined

  constructor(program: Program, beside: (checkpoint: string) => ReadonlyArray<TaskRow>) {
    this.#program = program
    this.#beside = beside
  }

  /** Whether a checkpoint is the next one: a keyframe, or a change since the last one. */
  isNext(row: CheckpointRow): boolean {
    return row.isKeyframe || (this.#last !== undefined && row.parent === this.#last.id)
  }

  /** Takes in the next checkpoint. */
  take(row: CheckpointRow): Result.Result<void, Fault> {
    const last = this.#last
    this.#last = row
    if (row.isKeyframe) {
      return Result.map(begun(this.#program, row), (built) => {
        this.#built = built
      })
    }
    const built = this.#built
    return last === undefined || built === undefined
      ? fault("Decode", undefined, "its keyframe is missing")
      : Result.flatMap(dataOf(row), (data) => built.change(row, data, this.#beside(last.id)))
  }

  /** Where the machine stands at the checkpoint that was taken in last. */
  get place(): Result.Result<Place, Fault> {
    const [built, last] = [this.#built, this.#last]
    if (built === undefined || last === undefined) return fault("Decode", undefined, "its keyframe is missing")
    const reading = built.reading.anew()
    const beside = this.#beside(last.id)
    return Result.flatMap(
      decodeCells(reading, built.cells),
      (cells) =>
        Result.flatMap(
          decodeRecords(reading, beside),
          (records) => settled(reading, placeOf(built, { last, reading, cells, records, beside }))
        )
    )
  }
}

/** A walk through checkpoints beside which these tasks stand. */
export const walkOf = (program: Program, tasks: ReadonlyArray<TaskRow>): Walk => {
  const rows = Map.groupBy(tasks, ({ checkpoint }) => checkpoint)
  return new Walk(program, (checkpoint) => rows.get(checkpoint) ?? [])
}

/** Reads a checkpoint back from its chain and the task rows beside it. */
export const decodeCheckpoint = (
  program: Program,
  chain: ReadonlyArray<CheckpointRow>,
  tasks: ReadonlyArray<TaskRow>
): Result.Result<Place, Fault> => {
  const walk = walkOf(program, tasks)
  for (const row of chain) {
    const taken = walk.take(row)
    if (Result.isFailure(taken)) return Result.fail(taken.failure)
  }
  return walk.place
}
