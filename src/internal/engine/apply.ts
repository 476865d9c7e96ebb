/**
 * The barrier: folds the writes of one superstep, in task order, into the next
 * checkpoint. Pure; it visits only channels that were written, consumed, or
 * must clear themselves.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Channel from "../../Channel.ts"
import { InvalidUpdate } from "../../GraphError.ts"
import type { Checkpoint } from "./checkpoint.ts"
import { fold } from "./fold.ts"
import type { NodeProgram, Program } from "./program.ts"
import type { Write } from "./writes.ts"

export interface TaskWrites {
  readonly id: string
  /** Who wrote, for messages. */
  readonly name: string
  /** The node that was woken and has now seen its triggers; `undefined` for Sends, inputs and updates from outside. */
  readonly woken: NodeProgram | undefined
  readonly writes: ReadonlyArray<Write>
}

/** The cells and versions of the next checkpoint, as copies. */
class Draft {
  cells: Array<Channel.Cell>
  readonly versions: Array<number>
  readonly version: number
  readonly changed = new Set<number>()
  constructor(checkpoint: Checkpoint) {
    this.cells = [...checkpoint.cells]
    this.versions = [...checkpoint.versions]
    this.version = checkpoint.version + 1
  }

  set(number: number, cell: Channel.Cell): void {
    if (this.cells[number] === cell) return
    this.cells[number] = cell
    this.versions[number] = this.version
    this.changed.add(number)
  }
}

const consumeTriggers = (program: Program, draft: Draft, tasks: ReadonlyArray<TaskWrites>): void => {
  for (const { woken } of tasks) {
    if (woken === undefined) continue
    for (const c of woken.triggers) draft.set(c, Channel.consume(program.channels[c]!.rule, draft.cells[c]!))
  }
}

const withWriters = (error: InvalidUpdate, tasks: ReadonlyArray<TaskWrites>, channel: number): InvalidUpdate =>
  new InvalidUpdate({
    reason: error.reason,
    channel: error.channel,
    writers: tasks.filter((task) => task.writes.some((write) => write.channel === channel)).map((task) => task.name),
    detail: error.detail,
    cause: error.cause
  })

/** Updates every written channel with its writes in task order. */
const foldWrites = (
  program: Program,
  draft: Draft,
  tasks: ReadonlyArray<TaskWrites>,
  isSuperstep: boolean
): Result.Result<Set<number>, InvalidUpdate> => {
  const groups = new Map<number, Array<unknown>>()
  for (const task of tasks) {
    for (const { channel, value } of task.writes) {
      const group = groups.get(channel)
      if (group === undefined) groups.set(channel, [value])
      else group.push(value)
    }
  }
  for (const [number, group] of groups) {
    const before = draft.cells[number]!
    // Sends that wait go on waiting, in their places, when others come from outside.
    const waits = number === program.tasks && !isSuperstep && Option.isSome(before)
    const writes = waits ? [...before.value as ReadonlyArray<unknown>, ...group] : group
    const cell = fold(program.channels[number]!, before, writes)
    if (Result.isFailure(cell)) return Result.fail(withWriters(cell.failure, tasks, number))
    draft.set(number, cell.success)
  }
  return Result.succeed(new Set(groups.keys()))
}

/** Clears the channels that hold a value for one superstep only. */
const clearUnwritten = (
  program: Program,
  draft: Draft,
  live: ReadonlyArray<number>,
  written: ReadonlySet<number>
): void => {
  for (const c of live) {
    if (written.has(c)) continue
    const { name, rule } = program.channels[c]!
    draft.set(c, Result.getOrThrow(Channel.update(name, rule, draft.cells[c]!, [])))
  }
}

/** Channels that changed, can be read, and so can wake somebody. */
const readable = (program: Program, draft: Draft): ReadonlyArray<number> =>
  [...draft.changed].filter((c) => Channel.isAvailable(program.channels[c]!.rule, draft.cells[c]!))

const wakesNobody = (program: Program, draft: Draft): boolean =>
  !readable(program, draft).some((c) => program.wakes[c]!.length > 0) && Option.isNone(draft.cells[program.tasks]!)

const finished = (program: Program, draft: Draft, c: number, isLast: boolean): Channel.Cell =>
  Channel.finish(program.channels[c]!.rule, draft.cells[c]!, isLast)

/** Idle joins that can be passed, and that no other of them leads to: of two in a row the second may get another source. */
const idleNow = (program: Program, draft: Draft): ReadonlyArray<number> => {
  const ready = program.idle.filter((c) => finished(program, draft, c, true) !== draft.cells[c])
  if (ready.length < 2) return ready
  const isAfter = (c: number, other: number): boolean =>
    program.idleAfter.get(other)!.has(c) && !program.idleAfter.get(c)!.has(other)
  return ready.filter((c) => !ready.some((other) => isAfter(c, other)))
}

/** When nobody would run next: first what waits for the finish becomes readable; if that wakes nobody either, idle joins do. */
const finishQuiet = (program: Program, draft: Draft): void => {
  if (program.finishing.length > 0 && wakesNobody(program, draft)) {
    for (const c of program.finishing) draft.set(c, finished(program, draft, c, false))
  }
  if (program.idle.length > 0 && wakesNobody(program, draft)) {
    for (const c of idleNow(program, draft)) draft.set(c, finished(program, draft, c, true))
  }
}

const nextLive = (program: Program, checkpoint: Checkpoint, draft: Draft): ReadonlyArray<number> => {
  const isLive = (c: number) => Option.isSome(draft.cells[c]!) && Channel.isTransient(program.channels[c]!.rule)
  const live = checkpoint.live.filter((c) => !draft.changed.has(c))
  for (const c of draft.changed) if (isLive(c)) live.push(c)
  return live
}

export interface ApplyOptions {
  /** Whether this is a superstep, after which unwritten transient channels clear; an input alone is none. */
  readonly isSuperstep: boolean
  /** Whether a new input begins: no join was passed for it yet. */
  readonly isInput?: boolean
  /** Whether nothing else is left to run, so that what waits for that is released although this is no superstep. */
  readonly isQuiet?: boolean
  readonly step: number
}

/** A join that was passed for the input before begins anew; one that was not keeps who has arrived. */
const resetJoins = (program: Program, draft: Draft): void => {
  for (const { channel } of program.joins) {
    const cell = draft.cells[channel]!
    if (Option.isSome(cell) && (cell.value as Channel.Arrivals).fired) draft.set(channel, Option.none())
  }
}

/** Nodes that were woken have seen everything that there was when they were. */
const seenBy = (checkpoint: Checkpoint, tasks: ReadonlyArray<TaskWrites>): ReadonlyArray<number> => {
  if (!tasks.some(({ woken }) => woken !== undefined)) return checkpoint.seen
  const seen = [...checkpoint.seen]
  for (const { woken } of tasks) if (woken !== undefined) seen[woken.number] = checkpoint.version
  return seen
}

/** Folds tasks, which are in task order, into the next checkpoint. */
export const applyWrites = (
  program: Program,
  checkpoint: Checkpoint,
  tasks: ReadonlyArray<TaskWrites>,
  options: ApplyOptions
): Result.Result<Checkpoint, InvalidUpdate> => {
  const draft = new Draft(checkpoint)
  if (options.isInput === true) resetJoins(program, draft)
  consumeTriggers(program, draft, tasks)
  const written = foldWrites(program, draft, tasks, options.isSuperstep)
  if (Result.isFailure(written)) return Result.fail(written.failure)
  if (options.isSuperstep) {
    clearUnwritten(program, draft, checkpoint.live, written.success)
    finishQuiet(program, draft)
  } else if (options.isQuiet === true) {
    finishQuiet(program, draft)
  }
  const hasChanged = draft.changed.size > 0
  return Result.succeed({
    step: options.step,
    version: hasChanged ? draft.version : checkpoint.version,
    cells: hasChanged ? draft.cells : checkpoint.cells,
    versions: hasChanged ? draft.versions : checkpoint.versions,
    seen: seenBy(checkpoint, tasks),
    stopped: checkpoint.stopped,
    live: hasChanged ? nextLive(program, checkpoint, draft) : checkpoint.live,
    // Without a superstep, what was readable before still waits to wake its nodes.
    updated: options.isSuperstep
      ? readable(program, draft)
      : checkpoint.updated === undefined
      ? undefined
      : [...new Set([...checkpoint.updated, ...readable(program, draft)])]
  })
}
