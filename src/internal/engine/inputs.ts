/**
 * What comes from outside: inputs, and Commands that wait beside a checkpoint.
 * Pure: the machine that an input or a Command makes of the one before.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { type InvalidUpdate, MissingInput } from "../../GraphError.ts"
import { canonical } from "../canonical.ts"
import { applyWrites, type TaskWrites } from "./apply.ts"
import type { Checkpoint } from "./checkpoint.ts"
import { hash } from "./hash.ts"
import { INPUT_TASK, isInputTask, plan } from "./plan.ts"
import { INPUT_NODE, type Program } from "./program.ts"
import { encodeWrites, type Place, type TaskRecord } from "./stored.ts"
import { inputWrites, type Write, type WriteError } from "./writes.ts"

export type DoneRecord = TaskRecord & { readonly status: "done" }

/** Commands from outside that wait beside a checkpoint, in the order in which they came. */
export const inputRecords = (place: Place): ReadonlyArray<readonly [string, DoneRecord]> =>
  [...place.records].flatMap(([id, record]) =>
    record.status === "done" && isInputTask(id) ? [[id, record] as const] : []
  )
    .sort(([a], [b]) => a < b ? -1 : 1)

/** The machine with the writes of a Command from outside. It counts as a change whatever it writes: what is read back may lack some. */
export const withCommand = (
  program: Program,
  before: Checkpoint,
  id: string,
  writes: ReadonlyArray<Write>
): Result.Result<Checkpoint, InvalidUpdate> => {
  const options = { isSuperstep: false, step: before.step }
  const after = applyWrites(program, before, [{ id, name: INPUT_NODE, woken: undefined, writes }], options)
  return Result.map(after, (after) => ({ ...after, version: before.version + 1 }))
}

/** The machine with the writes of Commands from outside, which wait beside the checkpoint until the superstep ends. */
export const withInputRecords = (program: Program, place: Place): Result.Result<Checkpoint, InvalidUpdate> => {
  const settled: Result.Result<Checkpoint, InvalidUpdate> = Result.succeed(place.checkpoint)
  let checkpoint = settled
  for (const [id, { writes }] of inputRecords(place)) {
    checkpoint = Result.flatMap(checkpoint, (before) => withCommand(program, before, id, writes))
  }
  if (checkpoint === settled) return checkpoint
  // If they woke nobody, what waits for the finish is next.
  return Result.flatMap(checkpoint, (after) =>
    plan(program, after).length > 0
      ? Result.succeed(after)
      : applyWrites(program, after, [], { isSuperstep: false, isQuiet: true, step: after.step }))
}

/** The input, while the start of the graph has yet to hand it on. */
const waitingInput = ({ input }: Program, { cells }: Checkpoint): unknown =>
  input._tag === "Start" ? Option.getOrUndefined(cells[input.channel]!) : undefined

/** The keys that a first input has to bring and does not. */
export const missingKeys = (program: Program, checkpoint: Checkpoint, input: unknown): ReadonlyArray<string> =>
  program.required.filter((key) => {
    const isGiven = typeof input === "object" && input !== null && Object.hasOwn(input, key) &&
      (input as Readonly<Record<string, unknown>>)[key] !== undefined
    return !isGiven && checkpoint.cells[program.channelNumber.get(key)!]!._tag === "None"
  })

/** The machine that goes on. A key that its graph has come to require since it began has no value there: nothing may read it. */
export const completeAt = (program: Program, place: Place): Result.Result<Checkpoint, InvalidUpdate | MissingInput> =>
  Result.flatMap(withInputRecords(program, place), (checkpoint) => {
    const missing = missingKeys(program, checkpoint, waitingInput(program, checkpoint))
    return missing.length === 0 ? Result.succeed(checkpoint) : Result.fail(new MissingInput({ keys: missing }))
  })

/** What an input makes of a machine. */
interface Fed {
  readonly checkpoint: Checkpoint
  readonly record: DoneRecord
  /** Whether tasks were left to run: they are dropped. */
  readonly hasDropped: boolean
}

/** Feeds an input: what was left to run is dropped, and the graph starts. */
export const fed = (
  program: Program,
  before: Checkpoint,
  input: unknown
): Result.Result<Fed, WriteError | MissingInput> =>
  Result.flatMap(inputWrites(program, input), (writes): Result.Result<Fed, WriteError | MissingInput> => {
    const missing = missingKeys(program, before, input)
    if (missing.length > 0) return Result.fail(new MissingInput({ keys: missing }))
    const pending = plan(program, before)
    const dropped = pending.map((task): TaskWrites => ({
      id: task.id,
      name: task.node.name,
      woken: task.kind === "pull" ? task.node : undefined,
      writes: []
    }))
    const hasDropped = pending.length > 0
    const after = applyWrites(
      program,
      before,
      [{ id: INPUT_TASK, name: INPUT_NODE, woken: undefined, writes }, ...dropped],
      { isSuperstep: hasDropped, isInput: true, step: before.step + 1 }
    )
    return Result.map(after, (checkpoint) => ({
      checkpoint,
      record: { status: "done", writes, graphs: [] },
      hasDropped
    }))
  })

/** The length of the name in what `originOf` gives, in characters. */
const nameLength = 12

/** What was called, and with what: the name first. */
export const originOf = (program: Program, input: unknown): string => {
  const writes = inputWrites(program, input)
  const rows = Result.isSuccess(writes) ? encodeWrites(program, writes.success) : undefined
  const given = rows !== undefined && Result.isSuccess(rows) ? canonical(rows.success) : "unstored"
  return hash(program.name).slice(0, nameLength) + hash(given)
}

/** Whether a graph stands where this call has brought it. What another version was called with may have other keys. */
export const isOf = ({ chain: { by }, origin }: Place, program: Program, now: string): boolean =>
  by === undefined || by.graph === program.fingerprint
    ? origin === now
    : origin.slice(0, nameLength) === now.slice(0, nameLength)

/** Only the keys that a graph takes as input are handed to it by the state around it. */
export const pickInput = (program: Program, input: unknown): unknown => {
  if (program.input._tag !== "Start" || typeof input !== "object" || input === null) return input
  const names = new Set(program.input.keys.map((c) => program.channels[c]!.name))
  return Object.fromEntries(Object.entries(input).filter(([key]) => names.has(key)))
}
