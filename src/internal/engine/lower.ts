/**
 * From nodes and edges to channels and triggers. Pure; the types are gone
 * after this. What is wrong with a definition is thrown: untyped callers get a
 * defect that names the fault.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import { END, START } from "../../Command.ts"
import * as Node from "../../Node.ts"
import * as State from "../../State.ts"
import { listOf } from "../list.ts"
import { assemble, Channels, checkInitial, checkName, type GraphOptions, isReserved, wrong } from "./assemble.ts"
import { channelCodec, recordCodec, schemaCodec, tasksCodec } from "./codecs.ts"
import {
  type Body,
  branch,
  byName,
  type Codec,
  INPUT,
  type Join,
  joinChannel,
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

export interface Subgraph {
  readonly program: Program
  readonly persistence: Persistence
}

const nullChannel = Channel.ephemeral(Schema.Null, { guard: false })
const deferredChannel = Channel.lastValueAfterFinish(Schema.Null)

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
    kind: "graph",
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
