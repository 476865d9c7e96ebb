/** From a function to a program of one node: its input in one channel, its result in another, and what it saves for the next run in a third. Pure. */
import * as Option from "effect/Option"
import * as Channel from "../../Channel.ts"
import { END } from "../../Command.ts"
import type { Migration } from "../../Migration.ts"
import type * as Policy from "../../Policy.ts"
import { problemOf } from "../codec.ts"
import { assemble, Channels, checkName, type GraphOptions } from "./assemble.ts"
import { channelCodec, recordCodec, tasksCodec } from "./codecs.ts"
import { INPUT, type NodeProgram, type Program, type Read, TASKS, type Writer } from "./program.ts"

/** The channel of what a function saves for its next run. */
export const PREVIOUS = "__previous__"

export interface FunctionDescription {
  readonly name: string
  readonly input: Channel.AnySchema
  readonly output: Channel.AnySchema
  /** What it saves for its next run, if it does. */
  readonly saved: Channel.AnySchema | undefined
  readonly run: (input: unknown, previous: unknown) => unknown
  /** What of a result is the value, and what is saved, if anything. */
  readonly parts: (result: unknown) => { readonly value: unknown; readonly save: Option.Option<unknown> }
  readonly cache: Policy.Cache | undefined
  readonly options: GraphOptions
}

type State = Readonly<Record<string, unknown>>

/** Of what it is given and what it gives, a schema says enough: both are there for one run. */
const withRules = (one: Migration): Migration =>
  (one._tag === "Accept" || one._tag === "Convert") && (one.key === INPUT || one.key === END) &&
    one.from.rule._tag === "LastValue"
    ? { ...one, from: Channel.ephemeral(one.from.value) }
    : one

/** What is equal is a matter of the input. */
const byInput = (cache: Policy.Cache): Policy.Cache => {
  const { key } = cache
  return key === undefined ? cache : { ...cache, key: (state) => key((state as State)[INPUT]) }
}

/** Lowers a function. Throws what is wrong with its definition. */
export const lowerFunction = (description: FunctionDescription): Program => {
  const { cache, name, options, parts, run, saved } = description
  checkName(name, name)
  const channels = new Channels()
  const given = Channel.ephemeral(description.input)
  const kept = saved === undefined ? undefined : Channel.lastValue(saved)
  const start = channels.add(INPUT, given.rule, channelCodec(given), given)
  // It clears itself: a run that gives nothing does not give what the one before gave.
  const result = Channel.ephemeral(description.output)
  const end = channels.add(END, result.rule, channelCodec(result), result)
  // A result that may be nothing is not written then: nothing is what is read.
  const isSkippable = Option.isNone(problemOf(description.output, undefined))
  const writers: Array<Writer> = [
    {
      _tag: "Channel",
      channel: end,
      map: (result) => (isSkippable ? Option.fromUndefinedOr : Option.some)(parts(result).value)
    }
  ]
  const reads = [start]
  if (kept !== undefined) {
    const previous = channels.add(PREVIOUS, kept.rule, channelCodec(kept), kept)
    writers.push({ _tag: "Channel", channel: previous, map: (result) => parts(result).save })
    reads.push(previous)
  }
  const state = channels.list.map((_, number) => number)
  const tasks = channels.add(TASKS, { _tag: "Topic", accumulate: false, unique: false }, tasksCodec(() => undefined))
  const read: Read = { _tag: "Record", channels: reads }
  const node: NodeProgram = {
    name,
    number: 0,
    triggers: [start],
    read,
    writers,
    isRouted: false,
    body: {
      _tag: "Run",
      run: (state) => run((state as State)[INPUT], (state as State)[PREVIOUS])
    },
    input: recordCodec({ [INPUT]: given, ...(kept === undefined ? {} : { [PREVIOUS]: kept }) }, false),
    defer: false,
    retry: options.retry,
    timeout: options.timeout,
    cache: cache === undefined ? undefined : byInput(cache),
    onError: undefined,
    destinations: []
  }
  return assemble({
    name,
    kind: "function",
    version: options.version,
    migrations: options.migrations.map(withRules),
    channels,
    nodes: [node],
    nodeNumber: new Map([[name, 0]]),
    tasks,
    joins: [],
    state,
    input: { _tag: "Value", channel: start },
    required: [],
    output: { _tag: "Value", channel: end },
    limits: options.limits
  })
}
