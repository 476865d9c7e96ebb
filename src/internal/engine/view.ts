/** A lowered program as its user inspects it: names in place of numbers. */
import type * as Channel from "../../Channel.ts"
import type { NodeProgram, Program, Read, Writer } from "./program.ts"

/**
 * What is written after a node has run.
 *
 * @category models
 * @since 0.1.0
 */
export type WriterView =
  /** The keys of an update, or the update and targets of a Command. */
  | { readonly _tag: "Update" }
  /** A static edge. */
  | { readonly _tag: "Wake"; readonly node: string; readonly channel: string }
  /** Tells a barrier that the node has run. */
  | { readonly _tag: "Join"; readonly node: string; readonly channel: string }
  /** A route, with the targets it declared. */
  | { readonly _tag: "Route"; readonly targets: ReadonlyArray<string> }
  /** A channel that a node of `Pregel.make` writes. */
  | { readonly _tag: "Channel"; readonly channel: string }

/**
 * A node of the machine.
 *
 * @category models
 * @since 0.1.0
 */
export interface NodeView {
  readonly triggers: ReadonlyArray<string>
  /** The channels it reads. */
  readonly reads: ReadonlyArray<string>
  readonly writers: ReadonlyArray<WriterView>
  readonly defer: boolean
  /** Where its Commands may go, as far as that was declared. */
  readonly destinations: ReadonlyArray<string>
  /** The machine of the graph that stands here as a node. */
  readonly graph: MachineView | undefined
}

/**
 * A machine: channels, nodes, triggers, writers.
 *
 * @category models
 * @since 0.1.0
 */
export interface MachineView {
  readonly name: string
  readonly version: string | undefined
  /** By name, in declaration order: the merge rule. */
  readonly channels: Readonly<Record<string, Channel.Rule>>
  readonly nodes: Readonly<Record<string, NodeView>>
  readonly input: ReadonlyArray<string>
  readonly output: ReadonlyArray<string>
  /** A hash of the names of channels and nodes, the rules, and what triggers what. It goes into the ids of checkpoints. */
  readonly fingerprint: string
}

const record = <A>(entries: Iterable<readonly [string, A]>): Readonly<Record<string, A>> =>
  Object.freeze(Object.fromEntries(entries))

const namesOf = (program: Program, numbers: ReadonlyArray<number>): ReadonlyArray<string> =>
  numbers.map((c) => program.channels[c]!.name)

const channelsOf = (read: Read): ReadonlyArray<number> => read._tag === "Value" ? [read.channel] : read.channels

const viewWriter = (program: Program, writer: Writer): WriterView => {
  switch (writer._tag) {
    case "Update":
      return { _tag: "Update" }
    case "Wake":
    case "Join":
      return { _tag: writer._tag, node: writer.node, channel: program.channels[writer.channel]!.name }
    case "Route":
      return { _tag: "Route", targets: writer.targets }
    case "Channel":
      return { _tag: "Channel", channel: program.channels[writer.channel]!.name }
  }
}

const viewNode = (program: Program, node: NodeProgram): NodeView => ({
  triggers: namesOf(program, node.triggers),
  reads: namesOf(program, channelsOf(node.read)),
  writers: node.writers.map((writer) => viewWriter(program, writer)),
  defer: node.defer,
  destinations: node.destinations,
  graph: node.body._tag === "Graph" ? view(node.body.program) : undefined
})

const views = new WeakMap<Program, MachineView>()

/** The machine as its user inspects it, made when first asked for. */
export const view = (program: Program): MachineView => {
  let made = views.get(program)
  if (made === undefined) {
    made = {
      name: program.name,
      version: program.version,
      channels: record(program.channels.map(({ name, rule }) => [name, rule] as const)),
      nodes: record(program.nodes.map((node) => [node.name, viewNode(program, node)] as const)),
      input: program.input._tag === "Start"
        ? namesOf(program, program.input.keys)
        : namesOf(program, channelsOf(program.input)),
      output: namesOf(program, channelsOf(program.output)),
      fingerprint: program.fingerprint
    }
    views.set(program, made)
  }
  return made
}
