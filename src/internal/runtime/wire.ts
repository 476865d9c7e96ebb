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

/** What is known of no channel. */
const plain = (value: unknown): Json => {
  try {
    const text = JSON.stringify(value)
    return Result.succeed(text === undefined ? null : JSON.parse(text) as Schema.Json)
  } catch (cause) {
    return Result.fail(`JSON does not hold it: ${String(cause)}`)
  }
}

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
const recordJson = (
  program: Program | undefined,
  record: unknown,
  each: (channel: ChannelProgram, value: unknown) => Json
): Json => {
  if (program === undefined || !isRecord(record)) return plain(record)
  const entries: Array<readonly [string, Schema.Json]> = []
  for (const key of Object.keys(record)) {
    const channel = program.channels[program.channelNumber.get(key) ?? -1]
    const json = channel?.isState === true ? each(channel, record[key]) : plain(record[key])
    if (Result.isFailure(json)) return Result.fail(`at "${key}": ${json.failure}`)
    entries.push([key, json.success])
  }
  return Result.succeed(Object.fromEntries(entries))
}

/** Of a function: its result. */
const resultOf = (program: Program): ChannelProgram | undefined =>
  program.kind === "function" && program.output._tag === "Value" ? program.channels[program.output.channel] : undefined

const valuesJson = (program: Program | undefined, values: unknown): Json => {
  const result = program === undefined ? undefined : resultOf(program)
  return result === undefined ? recordJson(program, values, valueJson) : valueJson(result, values)
}

const outputJson = (program: Program | undefined, output: unknown): Json =>
  program?.output._tag === "Value"
    ? valueJson(program.channels[program.output.channel]!, output)
    : recordJson(program, output, valueJson)

const updateJson = (program: Program | undefined, update: unknown): Json => {
  const result = program === undefined ? undefined : resultOf(program)
  if (result !== undefined) return update === undefined ? plain(update) : writeJson(result, update)
  return Array.isArray(update)
    ? Result.all(update.map((one: unknown) => recordJson(program, one, writeJson)))
    : recordJson(program, update, writeJson)
}

/** What a task began with: of a function its input, of a Send what was sent, else what the node reads. */
const inputJson = (program: Program | undefined, { id, input, node }: Event.TaskStarted): Json => {
  if (program?.kind === "function" && program.input._tag === "Value") {
    return valueJson(program.channels[program.input.channel]!, input)
  }
  const sent = isSendTask(id) ? program?.nodes[program.nodeNumber.get(node) ?? -1] : undefined
  return sent === undefined ? recordJson(program, input, valueJson) : sent.input.encode(input)
}

/** Where channels are in an event, and what is there. */
const parts = (program: Program | undefined, event: Event.Any): Readonly<Record<string, Json>> => {
  switch (event.mode) {
    case "values":
      return { values: valuesJson(program, event.values) }
    case "updates":
      return { update: updateJson(program, event.update) }
    case "checkpoints":
      return { values: recordJson(program, event.values, valueJson) }
    case "tasks":
      return event.type === "ended"
        ? { result: updateJson(program, event.result) }
        : { input: inputJson(program, event) }
    case "lifecycle":
      return event.type === "completed" ? { output: outputJson(program, event.output) } : {}
    case "debug":
      return { payload: eventIn(program, event.payload) }
    default:
      return {}
  }
}

const eventIn = (program: Program | undefined, event: Event.Any): Json => {
  const own = Result.all(parts(program, event))
  if (Result.isFailure(own)) return Result.fail(`${event.mode}: ${own.failure}`)
  const rest = plain({ ...event, ...Object.fromEntries(Object.keys(own.success).map((key) => [key, null])) })
  return Result.map(rest, (rest) => ({ ...rest as object, ...own.success }))
}

/** An event of a graph, or of one inside it. */
export const eventJson = (program: Program, event: Event.Any): Json => {
  const known = programOf(event.mode === "debug" ? event.payload : event)
  return eventIn(known ?? programAt(program, event.path), event)
}
