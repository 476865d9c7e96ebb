/** From channels and nodes that are wired by hand to a program. Pure; what is wrong is thrown. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import type * as Policy from "../../Policy.ts"
import type * as State from "../../State.ts"
import { assemble, Channels, checkInitial, checkName, type GraphOptions, isReserved, wrong } from "./assemble.ts"
import { channelCodec, tasksCodec } from "./codecs.ts"
import { type NodeProgram, type Program, type Read, TASKS } from "./program.ts"

const anyChannel = Channel.lastValue(Schema.Unknown)

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
        map: (result) => Option.fromUndefinedOr(map(result))
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
    kind: "graph",
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
