/** The state of the machine between two supersteps, and reading from it. Pure. */
import * as Option from "effect/Option"
import * as Channel from "../../Channel.ts"
import { emptyCell } from "./fold.ts"
import type { Program, Read } from "./program.ts"

export interface Checkpoint {
  /** Number of the superstep that led here: -1 for a first input. */
  readonly step: number
  /** The newest version of any channel. */
  readonly version: number
  /** By channel number. */
  readonly cells: ReadonlyArray<Channel.Cell>
  /** By channel number: when the channel last changed; 0 is never. */
  readonly versions: ReadonlyArray<number>
  /** By node number: the newest version there was when the node last ran; 0 is never. */
  readonly seen: ReadonlyArray<number>
  /** The newest version where this run was resumed, and no breakpoint fires. Of the run: it is not stored. */
  readonly stopped: number
  /** Channels that clear themselves if nobody writes them, and hold something. */
  readonly live: ReadonlyArray<number>
  /** Channels that became readable at the last barrier; unknown after loading. */
  readonly updated: ReadonlyArray<number> | undefined
}

/** The machine before any input. */
export const initial = (program: Program): Checkpoint => ({
  step: -2,
  version: 0,
  cells: program.channels.map(emptyCell),
  versions: program.channels.map(() => 0),
  seen: program.nodes.map(() => 0),
  stopped: 0,
  live: [],
  updated: []
})

export const liveOf = (program: Program, cells: ReadonlyArray<Channel.Cell>): ReadonlyArray<number> => {
  const live: Array<number> = []
  for (let c = 0; c < cells.length; c++) {
    if (Option.isSome(cells[c]!) && Channel.isTransient(program.channels[c]!.rule)) live.push(c)
  }
  return live
}

/** The machine as it would read back from storage: untracked values are never stored. */
export const readBack = (program: Program, checkpoint: Checkpoint): Checkpoint => ({
  ...checkpoint,
  cells: checkpoint.cells.map((cell, c) => {
    const channel = program.channels[c]!
    return channel.rule._tag === "UntrackedValue" ? emptyCell(channel) : cell
  }),
  stopped: 0,
  updated: undefined
})

const nothing: ReadonlyArray<unknown> = Object.freeze([])

/** Sets a key of a plain record, whatever its name. */
export const setKey = (record: Record<string, unknown>, key: string, value: unknown): void => {
  if (key === "__proto__") {
    Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true })
  } else record[key] = value
}

/** What is read at one channel, or `none` if it is empty. A Topic that collected nothing reads as an empty list. */
export const readChannel = (
  program: Program,
  cells: ReadonlyArray<Channel.Cell>,
  number: number
): Option.Option<unknown> => {
  const channel = program.channels[number]!
  const value = Channel.read(channel.rule, cells[number]!)
  if (Option.isNone(value)) return channel.rule._tag === "Topic" && channel.isState ? Option.some(nothing) : value
  return typeof value.value === "object" ? Option.some(channel.codec.handOut(value.value)) : value
}

/** The values of channels as a record, without the empty ones. */
export const readRecord = (
  program: Program,
  cells: ReadonlyArray<Channel.Cell>,
  numbers: ReadonlyArray<number>
): Readonly<Record<string, unknown>> => {
  const record: Record<string, unknown> = {}
  for (const number of numbers) {
    const value = readChannel(program, cells, number)
    if (Option.isSome(value)) setKey(record, program.channels[number]!.name, value.value)
  }
  return Object.freeze(record)
}

/** What a node or an output reads; `none` if it reads one channel and that is empty. */
export const read = (program: Program, cells: ReadonlyArray<Channel.Cell>, what: Read): Option.Option<unknown> =>
  what._tag === "Record"
    ? Option.some(readRecord(program, cells, what.channels))
    : readChannel(program, cells, what.channel)

/** The state as a user sees it. */
export const values = (program: Program, checkpoint: Checkpoint): Readonly<Record<string, unknown>> =>
  readRecord(program, checkpoint.cells, program.state)

/** What a run ends with. */
export const output = (program: Program, checkpoint: Checkpoint): unknown =>
  Option.getOrUndefined(read(program, checkpoint.cells, program.output))
