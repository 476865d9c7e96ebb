/** Events as JSON, for readers in other processes. What belongs to a channel is written as the channel stores it. Pure. */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import type * as Event from "../../Event.ts"
import { encoding } from "../codec.ts"
import { programAt } from "../engine/namespace.ts"
import { isSendTask } from "../engine/plan.ts"
import type { ChannelProgram, Program } from "../engine/program.ts"
import { isRecord } from "../record.ts"
import { programOf } from "./origin.ts"

type Json = Result.Result<Schema.Json, string>

/** What stands in the place of a value that has no form as JSON. */
export type Otherwise = (value: unknown) => Schema.Json

/** How the values of one graph are written. */
interface Wire {
  readonly program: Program | undefined
  readonly otherwise: Otherwise | undefined
}

/** What is known of no channel. */
const plain = (value: unknown): Json => {
  try {
    const text = JSON.stringify(value)
    return Result.succeed(text === undefined ? null : JSON.parse(text) as Schema.Json)
  } catch (cause) {
    return Result.fail(`JSON does not hold it: ${String(cause)}`)
  }
}

/** What was written of a value, or what stands in its place. */
const orOther = ({ otherwise }: Wire, value: unknown, json: Json): Json => {
  if (Result.isSuccess(json) || otherwise === undefined) return json
  try {
    return Result.succeed(otherwise(value))
  } catch (cause) {
    return Result.fail(`${json.failure}, and what stands in its place throws: ${String(cause)}`)
  }
}

const plainly = (wire: Wire, value: unknown): Json => orOther(wire, value, plain(value))

const valueJson = ({ value }: ChannelProgram, read: unknown): Json =>
  value === undefined || read === undefined ? plain(read) : encoding(value, read)

/** A write; an Overwrite is told from others. */
const writeJson = ({ update, value }: ChannelProgram, write: unknown): Json => {
  if (write instanceof Channel.Overwrite) {
    const whole = value === undefined ? plain(write.value) : encoding(value, write.value)
    return Result.map(whole, (overwrite) => ({ overwrite }))
  }
  return update === undefined ? plain(write) : encoding(update, write)
}

/** A record by channels; keys that are none are written as they are. */
const recordJson = (wire: Wire, record: unknown, each: (channel: ChannelProgram, value: unknown) => Json): Json => {
  const { program } = wire
  if (program === undefined || !isRecord(record)) return plainly(wire, record)
  const entries: Array<readonly [string, Schema.Json]> = []
  for (const key of Object.keys(record)) {
    const channel = program.channels[program.channelNumber.get(key) ?? -1]
    const own = channel?.isState === true ? each(channel, record[key]) : plain(record[key])
    const json = orOther(wire, record[key], own)
    if (Result.isFailure(json)) return Result.fail(`at "${key}": ${json.failure}`)
    entries.push([key, json.success])
  }
  return Result.succeed(Object.fromEntries(entries))
}

/** Of a function: its result. */
const resultOf = (program: Program | undefined): ChannelProgram | undefined =>
  program?.kind === "function" && program.output._tag === "Value" ? program.channels[program.output.channel] : undefined

const outputJson = (wire: Wire, output: unknown): Json => {
  const { program } = wire
  return program?.output._tag === "Value"
    ? orOther(wire, output, valueJson(program.channels[program.output.channel]!, output))
    : recordJson(wire, output, valueJson)
}

const updateJson = (wire: Wire, update: unknown): Json => {
  const result = resultOf(wire.program)
  if (result !== undefined) {
    return orOther(wire, update, update === undefined ? plain(update) : writeJson(result, update))
  }
  return Array.isArray(update)
    ? Result.all(update.map((one: unknown) => recordJson(wire, one, writeJson)))
    : recordJson(wire, update, writeJson)
}

/** What a task began with: of a function its input, of a Send what was sent, else what the node reads. */
const inputJson = (wire: Wire, { id, input, node }: Event.TaskStarted): Json => {
  const { program } = wire
  if (program?.kind === "function" && program.input._tag === "Value") {
    return orOther(wire, input, valueJson(program.channels[program.input.channel]!, input))
  }
  const sent = isSendTask(id) ? program?.nodes[program.nodeNumber.get(node) ?? -1] : undefined
  return sent === undefined
    ? recordJson(wire, input, valueJson)
    : orOther(wire, input, sent.input.encode(input))
}

/** Where channels are in an event, and what is there. */
const parts = (wire: Wire, event: Event.Any): Readonly<Record<string, Json>> => {
  switch (event.mode) {
    case "values":
      return { values: outputJson(wire, event.values) }
    case "updates":
      return { update: updateJson(wire, event.update) }
    case "checkpoints":
      return { values: recordJson(wire, event.values, valueJson) }
    case "tasks":
      return event.type === "ended"
        ? { result: updateJson(wire, event.result) }
        : { input: inputJson(wire, event) }
    case "lifecycle":
      return event.type === "completed" ? { output: outputJson(wire, event.output) } : {}
    case "debug":
      return { payload: eventIn(wire, event.payload) }
    default:
      return {}
  }
}

const eventIn = (wire: Wire, event: Event.Any): Json => {
  const own = parts(wire, event)
  const fields: Record<string, Json> = {}
  for (const [key, value] of Object.entries(event)) {
    const part = own[key]
    if (part !== undefined) fields[key] = part
    else if (value !== undefined) fields[key] = plainly(wire, value)
  }
  return Result.mapError(Result.all(fields), (detail) => `${event.mode}: ${detail}`)
}

/** An event of a graph, or of one inside it. */
export const eventJson = (program: Program, event: Event.Any, otherwise: Otherwise | undefined): Json => {
  const known = programOf(event.mode === "debug" ? event.payload : event)
  return eventIn({ program: known ?? programAt(program, event.path), otherwise }, event)
}
