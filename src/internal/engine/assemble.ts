/**
 * What every definition is assembled from, whichever way it was said: checked names, numbered channels, and what is computed from the nodes. Pure. What
 * is wrong with a definition is thrown.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Channel from "../../Channel.ts"
import { END, START } from "../../Command.ts"
import type { Migration } from "../../Migration.ts"
import type * as Policy from "../../Policy.ts"
import { taking } from "../fit.ts"
import { isPromise, promised } from "../promise.ts"
import { hash } from "./hash.ts"
import { markOf } from "./mark.ts"
import { changesOf } from "./migrations.ts"
import { separators } from "./namespace.ts"
import {
  type Change,
  type ChannelProgram,
  type Codec,
  type Input,
  INPUT_NODE,
  isMachineChannel,
  type Join,
  type Limits,
  type NodeProgram,
  type Persistence,
  type Program,
  type Read
} from "./program.ts"

/** What a definition was told besides its parts, with defaults. */
export interface GraphOptions {
  readonly version: string | undefined
  readonly migrations: ReadonlyArray<Migration>
  /** How long the state of the graph lives when it runs inside another. */
  readonly persistence: Persistence
  readonly limits: Limits
  readonly retry: ReadonlyArray<Policy.Retry>
  readonly timeout: Policy.Timeout | undefined
}

export const wrong = (graph: string, what: string): never => {
  throw new Error(`graph "${graph}": ${what}`)
}

export const isReserved = (key: string): boolean => isMachineChannel(key) || key === INPUT_NODE || key === END

const maxNameLength = 512

/** Names become parts of task ids and namespaces, where some characters separate. */
export const checkName = (graph: string, name: string): void => {
  if (name === START || name === END || name === INPUT_NODE) wrong(graph, `node name "${name}" is reserved`)
  if (name === "") wrong(graph, "a node needs a name")
  if (name.length > maxNameLength) wrong(graph, `a name of a node has at most ${maxNameLength} characters`)
  const separator = separators.find((one) => name.includes(one))
  if (separator !== undefined) {
    wrong(graph, `node name "${name}" contains "${separator}", which is reserved, as ${separators.join(" ")} are`)
  }
}

/** What is stored of an input has to tell it from others: what is never stored does not. */
const checkCache = (graph: string, channels: Channels, { cache, name, read }: NodeProgram): void => {
  if (cache === undefined || cache.key !== undefined) return
  const reads = read._tag === "Value" ? [read.channel] : read.channels
  const untracked = reads.map((c) => channels.list[c]!).find(({ rule }) => rule._tag === "UntrackedValue")
  if (untracked !== undefined) {
    wrong(graph, `node "${name}" has a cache and reads "${untracked.name}", which is untracked: give the cache a key`)
  }
}

/** Collects channels and hands out their numbers. */
export class Channels {
  readonly list: Array<ChannelProgram> = []
  readonly numbers = new Map<string, number>()
  add(name: string, rule: Channel.Rule, codec: Codec, state?: Channel.Any): number {
    this.list.push({ name, rule, codec, isState: state !== undefined, value: state?.value, update: state?.update })
    this.numbers.set(name, this.list.length - 1)
    return this.list.length - 1
  }
}

/** What a channel starts with has to be a value that it may hold. */
export const checkInitial = (graph: string, key: string, { rule, value }: Channel.Any): void => {
  let cell: Channel.Cell
  try {
    cell = Channel.empty(rule)
  } catch (cause) {
    return wrong(graph, `the initial value of "${key}" throws: ${String(cause)}`)
  }
  if (Option.isSome(cell) && isPromise(cell.value)) {
    return wrong(graph, promised(`the initial value of "${key}"`, cell.value, "it is a value").message)
  }
  const fit = Option.isSome(cell) ? taking(value, cell.value) : undefined
  if (fit !== undefined && Result.isFailure(fit)) {
    wrong(graph, `the initial value of "${key}" does not fit its schema: ${fit.failure}`)
  }
}

/** What `assemble` computes the rest of a program from. */
export interface Parts {
  readonly name: string
  readonly kind: Program["kind"]
  readonly version: string | undefined
  readonly migrations: ReadonlyArray<Migration>
  readonly channels: Channels
  readonly nodes: ReadonlyArray<NodeProgram>
  readonly nodeNumber: ReadonlyMap<string, number>
  readonly tasks: number
  readonly joins: ReadonlyArray<Join>
  readonly state: ReadonlyArray<number>
  readonly input: Input
  readonly required: ReadonlyArray<string>
  readonly output: Read
  readonly limits: Limits
}

/** Where a node may lead next, as far as it is declared. */
const nextOf = ({ destinations, writers }: NodeProgram): ReadonlyArray<string> => [
  ...destinations,
  ...writers.flatMap((writer) =>
    writer._tag === "Route" ? writer.targets : writer._tag === "Wake" || writer._tag === "Join" ? [writer.node] : []
  )
]

/** The channels of joins that some node from here on arrives at. */
const joinsAfter = (parts: Parts, from: string, joins: ReadonlyArray<Join>): ReadonlySet<number> => {
  const reached = new Set([from])
  // A set is iterated with what is added meanwhile.
  for (const name of reached) {
    const node = parts.nodes[parts.nodeNumber.get(name) ?? -1]
    if (node !== undefined) { for (const next of nextOf(node)) reached.add(next) }
  }
  return new Set(joins.filter(({ names }) => names.some((name) => reached.has(name))).map(({ channel }) => channel))
}

/** The migrations of a graph. Throws what is wrong with them. */
const migrationsOf = ({ channels, migrations, name, nodeNumber }: Parts): ReadonlyArray<Change> =>
  Result.getOrElse(
    changesOf({
      migrations,
      keys: channels.list.filter(({ isState, rule }) => isState && rule._tag !== "UntrackedValue"),
      channel: (key) => channels.list[channels.numbers.get(key) ?? -1],
      hasNode: (node) => nodeNumber.has(node)
    }),
    (what) => wrong(name, what)
  )

export const assemble = (parts: Parts): Program => {
  const { channels, joins, nodes, ...rest } = parts
  const wakes: Array<Array<number>> = channels.list.map(() => [])
  for (const node of nodes) {
    checkCache(rest.name, channels, node)
    for (const c of node.triggers) wakes[c]!.push(node.number)
  }
  const askedBy: Array<ReadonlyArray<number>> = [...wakes]
  for (const { number, read, triggers } of nodes) {
    if (read._tag === "Value" && !triggers.includes(read.channel)) {
      askedBy[read.channel] = [...askedBy[read.channel]!, number].sort((a, b) => a - b)
    }
  }
  for (const name of [...rest.limits.before, ...rest.limits.after]) {
    if (name !== "*" && !rest.nodeNumber.has(name)) wrong(rest.name, `breakpoint at "${name}", which is no node`)
  }
  const idle = joins.filter(({ release }) => release === "idle")
  let fingerprint: string | undefined
  return {
    ...rest,
    migrations: migrationsOf(parts),
    joins,
    nodes,
    channels: channels.list,
    channelNumber: channels.numbers,
    wakes,
    askedBy,
    finishing: channels.list.flatMap(({ rule }, number) =>
      rule._tag === "LastValueAfterFinish" || rule._tag === "NamedBarrierAfterFinish" ? [number] : []
    ),
    idle: idle.map(({ channel }) => channel),
    idleAfter: new Map(idle.map(({ channel, node }) => [channel, joinsAfter(parts, node, idle)])),
    get fingerprint() {
      return fingerprint ??= hash(rest.name, rest.version ?? "", JSON.stringify(shapeOf(channels.list, nodes)))
    }
  }
}

const shapeOf = (channels: ReadonlyArray<ChannelProgram>, nodes: ReadonlyArray<NodeProgram>) => [
  channels.map((channel) => [
    channel.name,
    channel.rule._tag,
    channel.isState && channel.rule._tag !== "UntrackedValue" ? markOf(channel) : ""
  ]),
  nodes.map((node) => [node.name, node.triggers])
]
