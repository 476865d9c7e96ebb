/** From what a node returned to the writes of its task. Pure. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Channel from "../../Channel.ts"
import * as Command from "../../Command.ts"
import { InvalidUpdate, UnknownRoute } from "../../GraphError.ts"
import * as Send from "../../Send.ts"
import { listOf } from "../list.ts"
import { isPromise, promised } from "../promise.ts"
import { isRecord } from "../record.ts"
import { readRecord, setKey } from "./checkpoint.ts"
import { sealedRecord } from "./codecs.ts"
import { fold } from "./fold.ts"
import { branch, INPUT, INPUT_NODE, type NodeProgram, type Program, type Writer } from "./program.ts"

export interface Write {
  readonly channel: number
  readonly value: unknown
}

export type WriteError = InvalidUpdate | UnknownRoute

const refuse = (
  reason: InvalidUpdate["reason"],
  channel: string | undefined,
  writer: string,
  detail?: string
): Result.Result<never, InvalidUpdate> => Result.fail(new InvalidUpdate({ reason, channel, writers: [writer], detail }))

/** Collects the writes of one task; the first thing that is wrong ends it. */
class Collector {
  readonly writes: Array<Write> = []
  error: WriteError | undefined = undefined
  readonly program: Program
  readonly from: string
  constructor(program: Program, from: string) {
    this.program = program
    this.from = from
  }

  fail(error: WriteError): void {
    this.error ??= error
  }

  channel(number: number, value: unknown): void {
    const { codec, name } = this.program.channels[number]!
    const taken = codec.take(value)
    if (Result.isFailure(taken)) {
      this.fail(
        new InvalidUpdate({ reason: "InvalidValue", channel: name, writers: [this.from], detail: taken.failure })
      )
    } else {
      this.writes.push({ channel: number, value: taken.success })
    }
  }

  key(key: string, value: unknown): void {
    if (value === undefined) return
    const number = this.program.channelNumber.get(key)
    const channel = number === undefined ? undefined : this.program.channels[number]!
    if (number === undefined || channel?.isState !== true) {
      this.fail(new InvalidUpdate({ reason: "UnknownChannel", channel: key, writers: [this.from] }))
    } else if (Channel.isOverwrite(value) && !acceptsOverwrite(channel.rule)) {
      this.fail(new InvalidUpdate({ reason: "OverwriteRefused", channel: key, writers: [this.from] }))
    } else if (channel.rule._tag === "UntrackedValue") {
      this.writes.push({ channel: number, value })
    } else {
      this.channel(number, value)
    }
  }

  target(target: unknown, allowed: ReadonlyArray<string> | undefined): void {
    const name = Send.isSend(target) ? target.node : target
    const isKnown = typeof name === "string" &&
      (name === Command.END ? !Send.isSend(target) : this.program.channelNumber.has(branch(name)))
    if (!isKnown || (allowed !== undefined && !allowed.includes(name))) {
      this.fail(new UnknownRoute({ from: this.from, value: target, allowed: allowed ?? targetNames(this.program) }))
    } else if (Send.isSend(target)) {
      this.send(target)
    } else if (name !== Command.END) {
      this.writes.push({ channel: this.program.channelNumber.get(branch(name))!, value: null })
    }
  }

  send(send: Send.Any): void {
    const node = this.program.nodes[this.program.nodeNumber.get(send.node)!]!
    const taken = node.input.take(send.arg)
    if (Result.isFailure(taken)) {
      return this.fail(
        new InvalidUpdate({
          reason: "InvalidValue",
          channel: this.program.channels[this.program.tasks]!.name,
          writers: [this.from],
          detail: `a Send to "${send.node}" brings an input it does not take: ${taken.failure}`
        })
      )
    }
    const timeout = send.timeoutMillis === undefined ? undefined : { timeout: send.timeoutMillis }
    this.writes.push({ channel: this.program.tasks, value: Send.make(send.node, taken.success, timeout) })
  }

  get result(): Result.Result<ReadonlyArray<Write>, WriteError> {
    return this.error === undefined ? Result.succeed(this.writes) : Result.fail(this.error)
  }
}

const acceptsOverwrite = (rule: Channel.Rule): boolean =>
  rule._tag === "BinaryOperatorAggregate" || rule._tag === "Delta" || (rule._tag === "Topic" && rule.accumulate)

/** The names that a Command may go to. */
export const targetNames = (program: Program): ReadonlyArray<string> =>
  program.nodes.filter(({ body }) => body._tag !== "Start").map(({ name }) => name)

/** The updates and targets in what a node returned: a record, a Command, or a list of these. */
const parts = (output: unknown): ReadonlyArray<unknown> => listOf(output ?? undefined)

const collectUpdate = (collector: Collector, update: unknown): void => {
  for (const part of parts(update)) {
    if (isRecord(part)) { for (const key of Object.keys(part)) collector.key(key, part[key]) }
    else {collector.fail(
        new InvalidUpdate({
          reason: "NotAnUpdate",
          writers: [collector.from],
          detail: `got ${kind(part)}`
        })
      )}
  }
}

const kind = (u: unknown): string => Array.isArray(u) ? "a list in a list" : typeof u

/** Writes updates and Commands; whether any of them chose where to go. */
const collectOutput = (collector: Collector, output: unknown): boolean => {
  let isSteered = false
  for (const part of parts(output)) {
    if (Command.isCommand(part)) {
      collectUpdate(collector, part.update)
      for (const target of part.goto) collector.target(target, undefined)
      if (part.goto.length > 0) isSteered = true
    } else {
      collectUpdate(collector, isRecord(part) ? part : [part])
    }
  }
  return isSteered
}

/** The channels as they are if this task is alone in its superstep: only what it wrote is computed anew. */
const withOwnWrites = (
  program: Program,
  cells: ReadonlyArray<Channel.Cell>,
  from: string,
  writes: ReadonlyArray<Write>
): Result.Result<ReadonlyArray<Channel.Cell>, InvalidUpdate> => {
  const own = writes.filter(({ channel }) => program.channels[channel]!.isState)
  if (own.length === 0) return Result.succeed(cells)
  const next = [...cells]
  for (const [number, group] of Map.groupBy(own, ({ channel }) => channel)) {
    const channel = program.channels[number]!
    const cell = fold(channel, next[number]!, group.map(({ value }) => value))
    if (Result.isFailure(cell)) return refuse(cell.failure.reason, channel.name, from, cell.failure.detail)
    next[number] = cell.success
  }
  return Result.succeed(next)
}

const collectRoute = (
  collector: Collector,
  cells: ReadonlyArray<Channel.Cell>,
  writer: Writer & { readonly _tag: "Route" }
): void => {
  const { from, program } = collector
  const fresh = withOwnWrites(program, cells, from, collector.writes)
  if (Result.isFailure(fresh)) return collector.fail(fresh.failure)
  const chosen = writer.choose(readRecord(program, fresh.success, writer.reads) as never)
  if (isPromise(chosen)) throw promised(`the route of node "${from}"`, chosen, "choose from the state alone")
  // A route that chooses `undefined` has not chosen: that is no list of nothing.
  for (const target of chosen === undefined ? [chosen] : listOf<unknown>(chosen)) {
    collector.target(target, writer.targets)
  }
}

/** Writes what the node's place in the graph says: its edges, joins and routes. */
const collectRouting = (collector: Collector, cells: ReadonlyArray<Channel.Cell>, node: NodeProgram): void => {
  for (const writer of node.writers) {
    if (writer._tag === "Wake") collector.writes.push({ channel: writer.channel, value: null })
    else if (writer._tag === "Join") collector.writes.push({ channel: writer.channel, value: node.name })
    else if (writer._tag === "Route" && collector.error === undefined) collectRoute(collector, cells, writer)
  }
}

/**
 * The writes of one task, from the value its node succeeded with. `isHandled` says that an error handler produced the value: then the
 * node's own edges do not fire.
 */
export const writesOf = (
  program: Program,
  cells: ReadonlyArray<Channel.Cell>,
  node: NodeProgram,
  output: unknown,
  isHandled = false
): Result.Result<ReadonlyArray<Write>, WriteError> => {
  const collector = new Collector(program, node.name)
  let isSteered = false
  for (const writer of node.writers) {
    if (writer._tag === "Update") isSteered = collectOutput(collector, output)
    else if (writer._tag === "Channel") {
      const value = writer.map(output)
      if (Option.isSome(value)) collector.channel(writer.channel, value.value)
    }
  }
  if (isSteered && !isHandled && node.isRouted) return refuse("MixedRouting", undefined, node.name)
  if (!isHandled && !isSteered && collector.error === undefined) collectRouting(collector, cells, node)
  return collector.result
}

/** The writes of a result that was kept: what its node wrote then, and where its edges lead from the state as it is now. */
export const withRouting = (
  program: Program,
  cells: ReadonlyArray<Channel.Cell>,
  node: NodeProgram,
  written: ReadonlyArray<Write>
): Result.Result<ReadonlyArray<Write>, WriteError> => {
  const collector = new Collector(program, node.name)
  for (const write of written) collector.writes.push(write)
  collectRouting(collector, cells, node)
  return collector.result
}

/** The writes of a Command that comes from outside, as the input of a thread. */
export const commandWrites = (
  program: Program,
  update: unknown,
  goto: ReadonlyArray<unknown>
): Result.Result<ReadonlyArray<Write>, WriteError> => {
  const collector = new Collector(program, INPUT_NODE)
  collectUpdate(collector, update)
  for (const target of goto) collector.target(target, undefined)
  return collector.result
}

/** The writes of an input: all of it is checked before any of it is stored. */
export const inputWrites = (program: Program, input: unknown): Result.Result<ReadonlyArray<Write>, WriteError> => {
  const collector = new Collector(program, INPUT_NODE)
  const how = program.input
  if (how._tag === "Value") {
    if (input !== undefined) collector.channel(how.channel, input)
    else if (program.kind === "function") {
      return refuse("NotAnUpdate", INPUT, INPUT_NODE, "a function has to be given an input")
    }
    return collector.result
  }
  if (!isRecord(input)) {
    return refuse("NotAnUpdate", undefined, INPUT_NODE, `an input is a record, not ${kind(input)}`)
  }
  const allowed = how._tag === "Start" ? how.keys : how.channels
  const kept: Array<readonly [string, unknown]> = []
  for (const key of Object.keys(input)) {
    const number = program.channelNumber.get(key)
    if (number === undefined || !allowed.includes(number)) return refuse("UnknownChannel", key, INPUT_NODE)
    if (input[key] === undefined) continue
    if (how._tag === "Start") collector.key(key, input[key])
    else collector.channel(number, input[key])
    if (collector.error !== undefined) return collector.result
    kept.push([key, collector.writes[collector.writes.length - 1]!.value])
  }
  if (how._tag !== "Start") return collector.result
  const isUntracked = (key: string) => program.channels[program.channelNumber.get(key)!]!.rule._tag === "UntrackedValue"
  return Result.map(collector.result, () => [{ channel: how.channel, value: sealedRecord(kept, isUntracked) }])
}

/** Writes to the state as the update they are: a record, or a list of records of which the n-th holds the n-th write of every key; of a function, its result. */
export const updateOf = (program: Program, writes: ReadonlyArray<Write>): unknown => {
  const { kind, output } = program
  if (kind === "function") {
    return writes.find(({ channel }) => output._tag === "Value" && channel === output.channel)?.value
  }
  const updates: Array<Record<string, unknown>> = []
  const counts = new Map<number, number>()
  for (const { channel, value } of writes) {
    const { isState, name } = program.channels[channel]!
    if (!isState) continue
    const nth = counts.get(channel) ?? 0
    counts.set(channel, nth + 1)
    setKey(updates[nth] ??= {}, name, value)
  }
  return updates.length > 1 ? updates : updates[0]
}
