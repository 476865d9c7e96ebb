/** What the commands use of a graph, a machine or an entrypoint, and its values as JSON: through the codecs of its channels. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Snapshot, Verification } from "../../Checkpoint.ts"
import type { Checkpointer } from "../../Checkpointer.ts"
import type * as Event from "../../Event.ts"
import * as Journal from "../../Journal.ts"
import type { MachineView } from "../../Pregel.ts"
import type { CalledGraph, ForkError, HistoryError, Part, PruneOptions } from "../../Thread.ts"
import { misused, type Refusal } from "./ended.ts"
import { plain } from "./text.ts"

type Program = CalledGraph["~program"]

/** One thread, with its types erased. */
export interface Handle extends Part {
  readonly stream: (input: unknown, options: object) => Stream.Stream<Event.Any, unknown, Checkpointer>
  readonly fork: (checkpoint?: string) => Effect.Effect<string, ForkError, Checkpointer>
  readonly prune: (keep: PruneOptions) => Effect.Effect<number, ForkError, Checkpointer>
  readonly verify: Effect.Effect<Verification, HistoryError, Checkpointer>
}

/** What a file exports to be run. */
export interface Machine {
  readonly name: string
  readonly pregel: MachineView
  readonly thread: (id: string) => Handle
  readonly "~program": Program
}

/** Whether a value is a graph, a machine or an entrypoint of this library. */
export const isMachine = (u: unknown): u is Machine =>
  ((typeof u === "object" && u !== null) || typeof u === "function") && "~program" in u && "thread" in u &&
  typeof u.thread === "function"

const inputNode = "__input__"

/** One write of a channel from its JSON. What the channel does not tell is left to the engine, which says what is wrong with it. */
const decodedWrite = (program: Program, key: string, json: unknown): Result.Result<unknown, string> => {
  const channel = program.channels[program.channelNumber.get(key) ?? -1]
  if (channel === undefined || channel.rule._tag === "UntrackedValue") return Result.succeed(json)
  const write = channel.codec.decodeWrite({ kind: "write", json: json as never })
  return Result.mapError(write, (detail) => `at "${key}": ${detail}`)
}

/** An own property, whatever it is called. */
const set = (record: Record<string, unknown>, key: string, value: unknown): void => {
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true })
}

const decodedRecord = (program: Program, json: unknown): Result.Result<unknown, string> => {
  if (!Predicate.isObject(json) || Array.isArray(json)) return Result.fail("Expected an object")
  const record: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(json)) {
    const write = decodedWrite(program, key, value)
    if (Result.isFailure(write)) return write
    set(record, key, write.success)
  }
  return Result.succeed(record)
}

const nameOf = (program: Program, channel: number): string => program.channels[channel]!.name

const told = (flag: string, result: Result.Result<unknown, string>): Result.Result<unknown, Refusal> =>
  Result.mapError(result, (detail) => misused(`${flag}: ${detail}`))

const inputOf = ({ "~program": program }: Machine, json: unknown): Result.Result<unknown, string> =>
  program.input._tag === "Value"
    ? decodedWrite(program, nameOf(program, program.input.channel), json)
    : decodedRecord(program, json)

/** An input from its JSON. */
export const decodeInput = (machine: Machine, json: unknown): Result.Result<unknown, Refusal> =>
  told("--input", inputOf(machine, json))

/** What an update brings, from its JSON: writes by key, the result of a function, or what a node that was wired by hand has given. */
export const decodeValues = (
  machine: Machine,
  json: unknown,
  asNode: string | undefined
): Result.Result<unknown, Refusal> => {
  const { "~program": program } = machine
  const decode = (): Result.Result<unknown, string> => {
    if (json === undefined) return Result.succeed(undefined)
    if (asNode === inputNode) return inputOf(machine, json)
    if (program.kind === "function" && program.output._tag === "Value") {
      return decodedWrite(program, nameOf(program, program.output.channel), json)
    }
    if (program.input._tag !== "Start") return Result.succeed(json)
    return Array.isArray(json)
      ? Result.all(json.map((one) => decodedRecord(program, one)))
      : decodedRecord(program, json)
  }
  return told("--values", decode())
}

/** An event as JSON. What has no form as JSON, as what is never stored may, is shown by its text. */
export const eventJson = (machine: Machine, event: Event.Any) =>
  Effect.map(
    Journal.toJson(machine, { otherwise: plain })(event),
    (json) => json as Readonly<Record<string, Schema.Json>>
  )

/** What a thread holds at a checkpoint, as JSON. */
export const valuesJson = (machine: Machine, snapshot: Snapshot<unknown>) => {
  const { checkpoint, next, parent, source, step, values } = snapshot
  const event = { mode: "checkpoints", path: [], step, checkpoint, parent, source, values, next } as const
  return Effect.map(eventJson(machine, event), ({ values }) => values)
}

const writeJson = (program: Program, key: string, write: unknown): unknown => {
  const channel = program.channels[program.channelNumber.get(key) ?? -1]
  if (channel === undefined || write === undefined) return plain(write)
  return Result.match(channel.codec.encodeWrite(write), {
    onFailure: () => plain(write),
    onSuccess: ({ json, kind }) => kind === "overwrite" ? { overwrite: json } : json
  })
}

/** The finished writes of a task, by key, as JSON. No event shows them so. */
export const resultJson = (
  { "~program": program }: Machine,
  result: Readonly<Record<string, ReadonlyArray<unknown>>>
): object =>
  Object.fromEntries(
    Object.entries(result).map(([key, writes]) => [key, writes.map((write) => writeJson(program, key, write))])
  )
