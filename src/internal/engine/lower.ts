/**
 * From nodes and edges to channels and triggers. Pure; the types are gone
 * after this. What is wrong with a definition is thrown: untyped callers get a
 * defect that names the fault.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import { END, START } from "../../Command.ts"
import type { Migration } from "../../Migration.ts"
import * as Node from "../../Node.ts"
import type * as Policy from "../../Policy.ts"
import * as State from "../../State.ts"
import { taking } from "../fit.ts"
import { listOf } from "../list.ts"
import { isPromise, promised } from "../promise.ts"
import { channelCodec, recordCodec, schemaCodec, tasksCodec } from "./codecs.ts"
import { hash } from "./hash.ts"
import { markOf } from "./mark.ts"
import { changesOf } from "./migrations.ts"
import { separators } from "./namespace.ts"
import {
  type Body,
  branch,
  byName,
  type Change,
  type ChannelProgram,
  type Codec,
  INPUT,
  type Input,
  INPUT_NODE,
  isMachineChannel,
  type Join,
  joinChannel,
  type Limits,
  type NodeProgram,
  type Persistence,
  type Program,
  type Read,
  TASKS,
  type Writer
} from "./program.ts"

/** @internal */
export interface JoinStep {
  readonly "~join": string
  readonly group: string | undefined
  readonly release: "all" | "idle"
}

/** @internal */
export interface RouteStep {
  readonly "~route": unknown
  readonly to: ReadonlyArray<string>
  readonly choose: (state: never) => unknown
}

type Step = string | JoinStep | RouteStep
export type To = Step | ReadonlyArray<Step>

export interface Flow {
  readonly start: To
  readonly edges?: Readonly<Record<string, To>>
}

export interface GraphOptions {
  readonly version: string | undefined
  readonly migrations: ReadonlyArray<Migration>
  /** How long the state of the graph lives when it runs inside another. */
  readonly persistence: Persistence
  readonly limits: Limits
  readonly retry: ReadonlyArray<Policy.Retry>
  readonly timeout: Policy.Timeout | undefined
}

export interface Subgraph {
  readonly program: Program
  readonly persistence: Persistence
}

const wrong = (graph: string, what: string): never => {
  throw new Error(`graph "${graph}": ${what}`)
}

const isReserved = (key: string): boolean => isMachineChannel(key) || key === INPUT_NODE || key === END

const maxNameLength = 512

/** Names become parts of task ids and namespaces, where some characters separate. */
const checkName = (graph: string, name: string): void => {
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

// ---------------------------------------------------------------------------
// Channels
// ---------------------------------------------------------------------------

const nullChannel = Channel.ephemeral(Schema.Null, { guard: false })
const deferredChannel = Channel.lastValueAfterFinish(Schema.Null)
const anyChannel = Channel.lastValue(Schema.Unknown)

/** Collects channels and hands out their numbers. */
class Channels {
  readonly list: Array<ChannelProgram> = []
  readonly numbers = new Map<string, number>()
  add(name: string, rule: Channel.Rule, codec: Codec, state?: Channel.Any): number {
    this.list.push({ name, rule, codec, isState: state !== undefined, value: state?.value, update: state?.update })
    this.numbers.set(name, this.list.length - 1)
    return this.list.length - 1
  }
}

/** What a channel starts with has to be a value that it may hold. */
const checkInitial = (graph: string, key: string, { rule, value }: Channel.Any): void => {
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

interface Barrier {
  readonly names: Array<string>
  readonly group: string | undefined
  readonly release: "all" | "idle"
  readonly target: string
}

/** The barriers of a flow, by target and group, with their sources in declaration order. */
const barriersOf = (graph: string, flow: Flow): ReadonlyMap<string, Barrier> => {
  const barriers = new Map<string, Barrier>()
  for (const [from, to] of [[START, flow.start] as const, ...Object.entries(flow.edges ?? {})]) {
    for (const step of listOf(to)) {
      if (typeof step === "string" || !("~join" in step)) continue
      if (from === START) wrong(graph, `the start cannot lead through a join to "${step["~join"]}"`)
      const key = JSON.stringify([step["~join"], step.group ?? null])
      const known = barriers.get(key)
      if (known === undefined) {
        barriers.set(key, { names: [from], group: step.group, release: step.release, target: step["~join"] })
      } else if (known.release !== step.release) {
        wrong(graph, `the sources of the join before "${step["~join"]}" disagree on its release`)
      } else if (!known.names.includes(from)) known.names.push(from)
    }
  }
  return barriers
}

// ---------------------------------------------------------------------------
// Lowering
// ---------------------------------------------------------------------------

/** The parts of a graph, with its types erased. */
export interface Description {
  readonly name: string
  readonly state: State.Any
  readonly bodies: Readonly<Record<string, unknown>>
  readonly flow: Flow
  readonly options: GraphOptions
  readonly subgraph: (body: unknown) => Subgraph | undefined
}

const isStep = (step: unknown): boolean =>
  typeof step === "string" || (typeof step === "object" && step !== null && ("~join" in step || "~route" in step))

const checkFlow = ({ bodies, flow, name }: Description): void => {
  const known = Object.keys(bodies)
  if (Object.hasOwn(flow.edges ?? {}, START)) wrong(name, `has edges from "${START}": where it starts is its "start"`)
  for (const node of known) {
    checkName(name, node)
    const body = bodies[node]
    const stray = Node.isNode(body)
      ? body.options.destinations.find((to) => to !== END && !known.includes(to))
      : undefined
    if (stray !== undefined) wrong(name, `node "${node}" says that it goes to "${stray}", which is no node`)
  }
  if (listOf(flow.start).length === 0) {
    wrong(name, "needs a start: at least one node that it leads to")
  }
  for (const [from, to] of [[START, flow.start] as const, ...Object.entries(flow.edges ?? {})]) {
    if (from !== START && !known.includes(from)) wrong(name, `has edges from "${from}", which is no node`)
    const all = listOf(to)
    if (!all.every(isStep)) wrong(name, `node "${from}" leads to what is no node, join or route`)
    if (all.length > 1 && all.some((step) => typeof step === "object" && "choose" in step)) {
      wrong(name, `node "${from}" mixes a route with other edges. A node has one kind of routing`)
    }
    for (const step of all) {
      const targets = typeof step === "string" ? [step] : "~join" in step ? [step["~join"]] : step.to
      for (const target of targets) {
        if (target === START) wrong(name, `node "${from}" leads to the start, which nothing can lead to`)
        if (target !== END && !known.includes(target)) {
          wrong(name, `node "${from}" leads to "${target}", which is no node`)
        }
      }
    }
  }
}

/** Where a node leads, if its place in the graph says so. */
const edgesOf = ({ edges, start }: Flow, from: string): To | undefined => {
  if (from === START) return start
  // Own edges only: a node may be called "constructor".
  return edges !== undefined && Object.hasOwn(edges, from) ? edges[from] : undefined
}

interface Place {
  readonly channels: Channels
  readonly barriers: ReadonlyMap<string, Barrier>
  readonly all: ReadonlyArray<number>
}

const writersOf = (
  { bodies, flow, name }: Description,
  from: string,
  { all, barriers, channels }: Place
): Pick<NodeProgram, "writers" | "isRouted"> => {
  const writers: Array<Writer> = [{ _tag: "Update" }]
  const to = edgesOf(flow, from)
  if (to === undefined) return { writers, isRouted: false }
  const body = bodies[from]
  const destinations = Node.isNode(body) ? body.options.destinations : []
  if (destinations.length > 0) {
    wrong(name, `node "${from}" has edges and says where its Commands go. A node has one kind of routing`)
  }
  for (const step of listOf(to)) {
    if (typeof step === "string") {
      if (step !== END) writers.push({ _tag: "Wake", node: step, channel: channels.numbers.get(branch(step))! })
    } else if ("~join" in step) {
      // The end waits for nobody.
      if (step["~join"] === END) continue
      const barrier = barriers.get(JSON.stringify([step["~join"], step.group ?? null]))!
      const channel = joinChannel(barrier.names, barrier.group, barrier.target)
      writers.push({ _tag: "Join", node: barrier.target, channel: channels.numbers.get(channel)! })
    } else {
      writers.push({ _tag: "Route", targets: step.to, choose: step.choose, reads: all })
    }
  }
  return { writers, isRouted: true }
}

/** What a node reads: the state, or the keys of a schema of its own that the state has. */
const readOf = (
  state: State.Any,
  input: Channel.AnySchema | State.Any | undefined,
  channels: Channels,
  all: ReadonlyArray<number>
): Read => {
  const fields = input === undefined
    ? undefined
    : State.isState(input)
    ? input.fields
    : (input as { readonly fields?: object }).fields
  if (fields === undefined || fields === state.fields) return { _tag: "Record", channels: all }
  const keys = Object.keys(fields).filter((key) => key in state.fields)
  return { _tag: "Record", channels: keys.map((key) => channels.numbers.get(key)!) }
}

const bodyOf = (description: Description, body: unknown): Body => {
  const sub = description.subgraph(body)
  if (sub !== undefined) return { _tag: "Graph", ...sub }
  if (Node.isNode(body)) return { _tag: "Run", run: body.options.run }
  return typeof body === "function"
    ? { _tag: "Run", run: body as (input: unknown) => unknown }
    : wrong(description.name, "a node is a function, a Node or a graph")
}

const inputCodecOf = (state: State.Any, body: Body, input: Channel.AnySchema | State.Any | undefined): Codec => {
  if (body._tag === "Graph" && body.program.input._tag === "Start") {
    return body.program.channels[body.program.input.channel]!.codec
  }
  if (input === undefined) return recordCodec(state.fields, false)
  return State.isState(input) ? recordCodec(input.fields, false) : schemaCodec(input)
}

const nodeOf = (
  description: Description,
  name: string,
  place: Place
): Omit<NodeProgram, "number"> => {
  const { bodies, options, state } = description
  const { all, barriers, channels } = place
  const config = Node.isNode(bodies[name]) ? bodies[name].options : undefined
  const body = bodyOf(description, bodies[name])
  const triggers = [channels.numbers.get(branch(name))!]
  for (const barrier of barriers.values()) {
    if (barrier.target === name) triggers.push(channels.numbers.get(joinChannel(barrier.names, barrier.group, name))!)
  }
  return {
    name,
    triggers,
    read: body._tag === "Graph" && body.program.input._tag === "Start"
      ? {
        _tag: "Record",
        channels: body.program.input.keys.map((c) => body.program.channels[c]!.name).filter((key) =>
          key in state.fields
        )
          .map((key) => channels.numbers.get(key)!)
      }
      : readOf(state, config?.input, channels, all),
    ...writersOf(description, name, place),
    body,
    input: inputCodecOf(state, body, config?.input),
    defer: config?.defer ?? false,
    retry: config?.retry ?? options.retry,
    timeout: config?.timeout ?? options.timeout,
    cache: config?.cache,
    onError: config?.onError,
    destinations: config?.destinations ?? []
  }
}

const isDeferred = (bodies: Description["bodies"], name: string): boolean => {
  const body = bodies[name]
  return Node.isNode(body) && body.options.defer
}

/** Adds a channel for each barrier. */
const addJoins = (
  { bodies, name }: Description,
  channels: Channels,
  barriers: ReadonlyMap<string, Barrier>
): ReadonlyArray<Join> => {
  const joins: Array<Join> = []
  for (const { group, names, release, target } of barriers.values()) {
    if (target === END) continue
    const key = joinChannel(names, group, target)
    if (channels.numbers.has(key)) wrong(name, `the join "${key}" stands for two: name its group differently`)
    const channel = isDeferred(bodies, target)
      ? Channel.namedBarrierAfterFinish(names, { release })
      : Channel.namedBarrier(names, { release })
    const number = channels.add(key, channel.rule, channelCodec(channel))
    joins.push({ channel: number, node: target, names, release })
  }
  return joins
}

/** The node that hands the input on. */
const startOf = (
  writers: Pick<NodeProgram, "writers" | "isRouted">,
  channel: number,
  input: Codec
): Omit<NodeProgram, "number"> => ({
  name: START,
  triggers: [channel],
  read: { _tag: "Value", channel },
  ...writers,
  body: { _tag: "Start" },
  input,
  defer: false,
  retry: [],
  timeout: undefined,
  cache: undefined,
  onError: undefined,
  destinations: []
})

/** Lowers a graph. Throws what is wrong with its definition. */
export const lower = (description: Description): Program => {
  const { bodies, flow, name, options, state } = description
  checkFlow(description)
  const channels = new Channels()
  for (const key of Object.keys(state.fields)) {
    if (isReserved(key)) wrong(name, `state key "${key}" is reserved`)
    const field = state.fields[key]!
    checkInitial(name, key, field)
    channels.add(key, field.rule, channelCodec(field), field)
  }
  const all = channels.list.map((_, number) => number)
  const inputCodec = recordCodec(state.fields, true)
  const input = channels.add(INPUT, { _tag: "EphemeralValue", guard: true }, inputCodec)
  const nodes: Array<NodeProgram> = []
  const nodeNumber = new Map<string, number>()
  const tasks = channels.add(
    TASKS,
    { _tag: "Topic", accumulate: false, unique: false },
    tasksCodec((n) => nodes[nodeNumber.get(n) ?? -1])
  )
  for (const node of Object.keys(bodies)) {
    const channel = isDeferred(bodies, node) ? deferredChannel : nullChannel
    channels.add(branch(node), channel.rule, channelCodec(channel))
  }
  const barriers = barriersOf(name, flow)
  const joins = addJoins(description, channels, barriers)
  const place = { channels, barriers, all }
  const start = startOf(writersOf(description, START, place), input, inputCodec)
  for (const node of [start, ...Object.keys(bodies).map((key) => nodeOf(description, key, place))].sort(byName)) {
    nodeNumber.set(node.name, nodes.length)
    nodes.push({ ...node, number: nodes.length })
  }
  const required = state.input.filter((key) => {
    const { rule } = state.fields[key]!
    return Option.isNone(Channel.empty(rule)) && (rule._tag === "LastValue" || rule._tag === "BinaryOperatorAggregate")
  })
  const numbersOf = (keys: ReadonlyArray<string>): ReadonlyArray<number> =>
    keys.map((key) => channels.numbers.get(key)!)
  return assemble({
    name,
    version: options.version,
    migrations: options.migrations,
    channels,
    nodes,
    nodeNumber,
    tasks,
    joins,
    state: all,
    input: { _tag: "Start", channel: input, keys: numbersOf(state.input) },
    required,
    output: { _tag: "Record", channels: numbersOf(state.output) },
    limits: options.limits
  })
}

/** What `assemble` computes the rest of a program from. */
export interface Parts {
  readonly name: string
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
      keys: channels.list.filter(({ isState }) => isState),
      channel: (key) => channels.list[channels.numbers.get(key) ?? -1],
      hasNode: (node) => nodeNumber.has(node)
    }),
    (what) => wrong(name, what)
  )

const assemble = (parts: Parts): Program => {
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

// ---------------------------------------------------------------------------
// The lower-level API
// ---------------------------------------------------------------------------

/** A node of `Pregel.make`, with its types erased. */
export interface PregelNode {
  readonly subscribe: ReadonlyArray<string>
  readonly read: string | ReadonlyArray<string>
  readonly run: (input: unknown) => unknown
  readonly write: ReadonlyArray<{ readonly channel: string; readonly map: (result: unknown) => unknown }>
  readonly retry: ReadonlyArray<Policy.Retry>
  readonly timeout: Policy.Timeout | undefined
  readonly cache: Policy.Cache | undefined
}

export interface PregelDescription {
  readonly name: string
  readonly channels: State.Fields
  readonly nodes: Readonly<Record<string, PregelNode>>
  readonly input: string | ReadonlyArray<string>
  readonly output: string | ReadonlyArray<string>
  readonly options: GraphOptions
}

/** Assembles a program from channels and nodes that are wired by hand. */
export const lowerPregel = (description: PregelDescription): Program => {
  const { name, options } = description
  const channels = new Channels()
  for (const key of Object.keys(description.channels)) {
    if (isReserved(key)) wrong(name, `channel "${key}" is reserved`)
    const channel = description.channels[key]!
    checkInitial(name, key, channel)
    channels.add(key, channel.rule, channelCodec(channel), channel)
  }
  const all = channels.list.map((_, number) => number)
  const tasks = channels.add(TASKS, { _tag: "Topic", accumulate: false, unique: false }, tasksCodec(() => undefined))
  const number = (key: string, what: string): number =>
    channels.numbers.get(key) ?? wrong(name, `${what} names channel "${key}", which there is not`)
  const readOf = (what: string | ReadonlyArray<string>, who: string): Read =>
    typeof what === "string"
      ? { _tag: "Value", channel: number(what, who) }
      : { _tag: "Record", channels: what.map((key) => number(key, who)) }
  const nodes: Array<NodeProgram> = []
  const nodeNumber = new Map<string, number>()
  for (const key of Object.keys(description.nodes).sort()) {
    checkName(name, key)
    const node = description.nodes[key]!
    nodeNumber.set(key, nodes.length)
    nodes.push({
      name: key,
      number: nodes.length,
      triggers: node.subscribe.map((channel) => number(channel, `node "${key}"`)),
      read: readOf(node.read, `node "${key}"`),
      writers: node.write.map(({ channel, map }) => ({
        _tag: "Channel",
        channel: number(channel, `node "${key}"`),
        map
      })),
      isRouted: false,
      body: { _tag: "Run", run: node.run },
      input: channelCodec(anyChannel),
      defer: false,
      retry: node.retry.length > 0 ? node.retry : options.retry,
      timeout: node.timeout ?? options.timeout,
      cache: node.cache,
      onError: undefined,
      destinations: []
    })
  }
  const input = readOf(description.input, "the input")
  const inputs = input._tag === "Value" ? [input.channel] : input.channels
  if (!nodes.some((node) => node.triggers.some((c) => inputs.includes(c)))) {
    wrong(name, "no node subscribes to an input channel, so that nothing would ever run")
  }
  return assemble({
    name,
    version: options.version,
    migrations: options.migrations,
    channels,
    nodes,
    nodeNumber,
    tasks,
    joins: [],
    state: all,
    input,
    required: [],
    output: readOf(description.output, "the output"),
    limits: options.limits
  })
}
