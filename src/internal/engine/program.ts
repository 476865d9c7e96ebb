/**
 * The lowered form of a graph: channels, nodes and triggers, with the types
 * erased. Edges are gone; an edge is a write to a `branch:to:` channel. The
 * engine knows nothing else.
 */
import type * as Option from "effect/Option"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Channel from "../../Channel.ts"
import { START } from "../../Command.ts"
import type { Migration } from "../../Migration.ts"
import type * as Policy from "../../Policy.ts"

/** The channel of pending Sends. */
export const TASKS = "__tasks"
/** The channel that holds the input of a graph: it wakes the start, and is named like it. */
export const INPUT = START
/** Who brings an input, or a Command from outside. */
export const INPUT_NODE = "__input__"

const branchPrefix = "branch:to:"
const joinPrefix = "join:"

/** The channel that wakes a node. */
export const branch = (node: string): string => `${branchPrefix}${node}`
/** The node that a channel of this name wakes, if it is one that wakes a node. */
export const branchTarget = (channel: string): string | undefined =>
  channel.startsWith(branchPrefix) ? channel.slice(branchPrefix.length) : undefined
export const joinChannel = (sources: ReadonlyArray<string>, group: string | undefined, target: string): string =>
  `${joinPrefix}${group === undefined ? "" : `${group}=`}${sources.join("+")}:${target}`

/** Whether a channel of this name is that of a join. */
export const isJoinChannel = (name: string): boolean => name.startsWith(joinPrefix)

/** Whether a name is one that channels of the machine have. */
export const isMachineChannel = (name: string): boolean =>
  name === INPUT || name === TASKS || name.startsWith(branchPrefix) || isJoinChannel(name)

/** How the values and writes of a channel enter and cross storage. Errors say why they cannot. */
export interface Codec {
  readonly encode: (value: unknown) => Result.Result<Schema.Json, string>
  readonly decode: (json: unknown) => Result.Result<unknown, string>
  readonly encodeWrite: (write: unknown) => Result.Result<Channel.EncodedWrite, string>
  readonly decodeWrite: (row: Channel.EncodedWrite) => Result.Result<unknown, string>
  /** A value as somebody gets it who may change it: what cannot be frozen is a copy. */
  readonly handOut: (value: unknown) => unknown
  readonly handOutWrite: (write: unknown) => unknown
  /** A write as it enters: as it reads back from storage, frozen, and nobody else's; or why it does not fit. */
  readonly take: (write: unknown) => Result.Result<unknown, string>
  /** Of a record: the fields of the state that it is of. */
  readonly fields?: Readonly<Record<string, Channel.Any>>
}

export interface ChannelProgram {
  readonly name: string
  readonly rule: Channel.Rule
  readonly codec: Codec
  /** Whether the key belongs to the user's state, or to the machine. */
  readonly isState: boolean
  /** The schemas of a key of the state: of its value, and of one write. */
  readonly value: Channel.AnySchema | undefined
  readonly update: Channel.AnySchema | undefined
}

/** What a node gets: a record of channels, or the value of one. */
export type Read =
  | { readonly _tag: "Record"; readonly channels: ReadonlyArray<number> }
  | { readonly _tag: "Value"; readonly channel: number }

/** What is written after a node has run. */
export type Writer =
  /** The keys of an update, or the update and the targets of a Command. */
  | { readonly _tag: "Update" }
  /** A static edge: wakes `node`. */
  | { readonly _tag: "Wake"; readonly node: string; readonly channel: number }
  /** Tells a barrier that this node has run. */
  | { readonly _tag: "Join"; readonly node: string; readonly channel: number }
  /** Chooses among declared targets, from the state as it is if this task is alone. */
  | {
    readonly _tag: "Route"
    readonly targets: ReadonlyArray<string>
    readonly choose: (state: never) => unknown
    readonly reads: ReadonlyArray<number>
  }
  /** Writes a channel from the node's result. */
  | {
    readonly _tag: "Channel"
    readonly channel: number
    /** What is written; none leaves the channel as it is. */
    readonly map: (result: unknown) => Option.Option<unknown>
  }

export type Persistence = "call" | "thread" | "none"

/** What runs. */
export type Body =
  | { readonly _tag: "Start" }
  | { readonly _tag: "Run"; readonly run: (input: unknown) => unknown }
  | { readonly _tag: "Graph"; readonly program: Program; readonly persistence: Persistence }

export interface NodeProgram {
  readonly name: string
  readonly number: number
  readonly triggers: ReadonlyArray<number>
  readonly read: Read
  readonly writers: ReadonlyArray<Writer>
  /** Whether its place in the graph says where it leads, be it to the end: its Commands may not. */
  readonly isRouted: boolean
  readonly body: Body
  /** How the input of a Send to this node is checked and stored. */
  readonly input: Codec
  readonly defer: boolean
  readonly retry: ReadonlyArray<Policy.Retry>
  readonly timeout: Policy.Timeout | undefined
  readonly cache: Policy.Cache | undefined
  readonly onError: ((error: unknown, input: unknown) => unknown) | undefined
  readonly destinations: ReadonlyArray<string>
}

/** How an input enters: as one record that the start of the graph hands on, or straight into channels. */
export type Input = Read | { readonly _tag: "Start"; readonly channel: number; readonly keys: ReadonlyArray<number> }

export interface Join {
  readonly channel: number
  readonly node: string
  readonly names: ReadonlyArray<string>
  readonly release: "all" | "idle"
}

export interface Limits {
  readonly recursionLimit: number
  readonly concurrency: number | undefined
  readonly superstepMillis: number | undefined
  readonly runMillis: number | undefined
  readonly onFailure: "interrupt" | "settle"
  readonly before: ReadonlyArray<string>
  readonly after: ReadonlyArray<string>
}

/** How what was stored of a key under another mark is read. */
export interface Conversion {
  readonly _tag: "Convert"
  readonly key: string
  /** The channel as it was, and its mark. */
  readonly from: ChannelProgram
  readonly mark: string
  /** What the channel held, as the next one holds it. */
  readonly cell: (old: unknown) => Result.Result<unknown, string>
  /** What was written to it, as a write to the next one; none if nothing says what becomes of that. */
  readonly write: (old: unknown) => Result.Result<unknown, string> | undefined
}

/** What has changed since threads were stored, from the oldest on. */
export type Change = Exclude<Migration, { readonly _tag: "Accept" | "Convert" }> | Conversion

export interface Program {
  readonly name: string
  /** A function has one node, an input and a result: it is shown by its result, not by the channel that this goes to. */
  readonly kind: "graph" | "function"
  readonly version: string | undefined
  readonly channels: ReadonlyArray<ChannelProgram>
  readonly channelNumber: ReadonlyMap<string, number>
  /** Sorted by name, so that numbers order like names. */
  readonly nodes: ReadonlyArray<NodeProgram>
  readonly nodeNumber: ReadonlyMap<string, number>
  /** By channel number: the nodes that the channel triggers. */
  readonly wakes: ReadonlyArray<ReadonlyArray<number>>
  /** The same, with the nodes that read the channel alone: woken before, they could not run while it was empty. */
  readonly askedBy: ReadonlyArray<ReadonlyArray<number>>
  readonly joins: ReadonlyArray<Join>
  /** Channels whose rule waits for the finish, and those of idle joins. */
  readonly finishing: ReadonlyArray<number>
  readonly idle: ReadonlyArray<number>
  /** By channel of an idle join: those of the idle joins that it leads to, which may get another source from it. */
  readonly idleAfter: ReadonlyMap<number, ReadonlySet<number>>
  readonly tasks: number
  /** The state keys, in declaration order. */
  readonly state: ReadonlyArray<number>
  readonly input: Input
  readonly required: ReadonlyArray<string>
  readonly output: Read
  readonly limits: Limits
  readonly migrations: ReadonlyArray<Change>
  /** What identifies the shape of the graph: it goes into the ids of its checkpoints. */
  readonly fingerprint: string
}

export const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0
