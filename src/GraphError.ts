/**
 * Everything the engine itself can fail a run with. Errors of nodes are never
 * wrapped: they travel beside these in the error channel of a run.
 *
 * A wrong *definition* of a graph is not here: it does not compile, or, for
 * untyped callers, it is a defect of `make`.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

const list = (names: ReadonlyArray<string>): string => names.map((name) => `"${name}"`).join(", ")

/**
 * Why a channel refused its writes.
 *
 * @category models
 * @since 0.1.0
 */
export type InvalidUpdateReason =
  | "MultipleWrites"
  | "MultipleOverwrites"
  | "OverwriteRefused"
  | "UnknownChannel"
  | "UnknownName"
  | "InvalidValue"
  | "NotAnUpdate"
  | "ReducerFailed"
  | "MixedRouting"

const cures: Record<InvalidUpdateReason, string> = {
  MultipleWrites:
    "can receive only one value per step. Give it a reducer (Channel.append, Channel.reducer) if several nodes may write it together",
  MultipleOverwrites: "can receive only one Overwrite per step",
  OverwriteRefused: "takes no Overwrite: write the value itself. Overwrite is for channels that reduce or accumulate",
  UnknownChannel: "is no channel of this graph",
  UnknownName: "was told of a source it does not wait for",
  InvalidValue: "received a value that its schema refuses",
  NotAnUpdate: "a node returns a record of updates, a Command, a list of these, or nothing",
  ReducerFailed: "has a reducer that threw. Reducers are pure: they return a new value and change neither argument",
  MixedRouting:
    "has edges and returned a Command that goes somewhere. A node has one kind of routing: drop its edges, or the goto"
}

/**
 * A channel refused the writes of one superstep. Nothing of that superstep is
 * committed.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidUpdate extends Data.TaggedError("InvalidUpdate")<{
  readonly reason: InvalidUpdateReason
  readonly channel: string
  /** Names of the nodes that wrote, in task order. Empty where the caller is not known, as in the pure `Channel.update`. */
  readonly writers: ReadonlyArray<string>
  /** What exactly was wrong, when there is more to say. */
  readonly detail?: string | undefined
  readonly cause?: unknown
}> {
  override get message(): string {
    const by = this.writers.length === 0 ? "" : ` (written by ${list(this.writers)})`
    const detail = this.detail === undefined ? "" : `: ${this.detail}`
    return `at key "${this.channel}": ${cures[this.reason]}${by}${detail}`
  }
}

/**
 * A route, a `Command` or a `Send` named a target that the graph does not have, or that it did not declare.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownRoute extends Data.TaggedError("UnknownRoute")<{
  readonly from: string
  readonly value: unknown
  readonly allowed: ReadonlyArray<string>
}> {
  override get message(): string {
    return `node "${this.from}" leads to ${describe(this.value)}, which is none of ${list(this.allowed)}`
  }
}

const describe = (value: unknown): string => {
  if (typeof value === "string") return `"${value}"`
  if (typeof value === "object" && value !== null) {
    const send = value as { readonly _tag?: unknown; readonly node?: unknown }
    return send._tag === "Send" ? `a Send to "${String(send.node)}"` : "an object"
  }
  return String(value)
}

/**
 * The run used up its supersteps. The thread, if there is one, stands at its last commit and can continue.
 *
 * @category errors
 * @since 0.1.0
 */
export class RecursionLimit extends Data.TaggedError("RecursionLimit")<{
  /** How many supersteps the run was allowed. */
  readonly limit: number
  /** Nodes that would have run next. */
  readonly next: ReadonlyArray<string>
}> {
  override get message(): string {
    return `the run reached its limit of ${this.limit} supersteps with ${list(this.next)} still to run. ` +
      "Raise `recursionLimit`, or check the condition that should end the loop"
  }
}

/**
 * A first run lacks keys that the graph needs from its input. Nothing was stored.
 *
 * @category errors
 * @since 0.1.0
 */
export class MissingInput extends Data.TaggedError("MissingInput")<{ readonly keys: ReadonlyArray<string> }> {
  override get message(): string {
    return this.keys.length === 0 ? "the input brings nothing to run on" : `the input lacks ${list(this.keys)}`
  }
}

/**
 * An "all" join got some of its sources, never all, and nothing is left that could run.
 *
 * @category errors
 * @since 0.1.0
 */
export class StalledJoin extends Data.TaggedError("StalledJoin")<{
  readonly node: string
  readonly arrived: ReadonlyArray<string>
  readonly missing: ReadonlyArray<string>
}> {
  override get message(): string {
    return `the join before "${this.node}" got ${list(this.arrived)} and still waits for ${list(this.missing)}. ` +
      `Use StateGraph.join(target, { release: "idle" }) if a source may be skipped`
  }
}

/**
 * Time ran out for an attempt of a node, for its progress, for a superstep or for the whole run.
 *
 * @category errors
 * @since 0.1.0
 */
export class NodeTimeout extends Data.TaggedError("NodeTimeout")<{
  readonly kind: "attempt" | "idle" | "superstep" | "run"
  /** The node, or the nodes that had not finished, in task order. */
  readonly nodes: ReadonlyArray<string>
  readonly timeoutMillis: number
  readonly elapsedMillis: number
}> {
  override get message(): string {
    return `${this.kind} timeout of ${this.timeoutMillis} ms ran out after ${this.elapsedMillis} ms in ${
      list(this.nodes)
    }`
  }
}

/**
 * A graceful drain was asked for: the superstep in progress is finished, the rest is left to a later `continue`.
 *
 * @category errors
 * @since 0.1.0
 */
export class GraphDrained extends Data.TaggedError("GraphDrained")<{
  readonly reason: string
  readonly next: ReadonlyArray<string>
}> {
  override get message(): string {
    return `the run was drained (${this.reason}) with ${list(this.next)} still to run`
  }
}

/**
 * A static breakpoint was reached. `continue` goes on.
 *
 * @category errors
 * @since 0.1.0
 */
export class GraphBreakpoint extends Data.TaggedError("GraphBreakpoint")<{
  readonly when: "before" | "after"
  /** The nodes that the breakpoint is about. */
  readonly nodes: ReadonlyArray<string>
  /** The nodes that run next. */
  readonly next: ReadonlyArray<string>
}> {
  override get message(): string {
    return `stopped ${this.when} ${list(this.nodes)}; next: ${this.next.length === 0 ? "nothing" : list(this.next)}`
  }
}

/**
 * A command for the parent graph reached the root, where there is none.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoParentGraph extends Data.TaggedError("NoParentGraph")<{
  readonly graph: string
  readonly update: unknown
  readonly goto: ReadonlyArray<unknown>
}> {
  override get message(): string {
    return `graph "${this.graph}" commands a parent graph, but it runs at the root`
  }
}

/**
 * One task asked, or called a graph, from two fibers without saying which call is which.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConcurrentCall extends Data.TaggedError("ConcurrentCall")<{
  readonly kind: "ask" | "graph"
  readonly node: string
  readonly name: string
}> {
  override get message(): string {
    const what = this.kind === "ask" ? `asks "${this.name}"` : `calls graph "${this.name}"`
    return `node "${this.node}" ${what} from a second fiber. Give each call a key, so that it keeps its place on resume`
  }
}

/**
 * An answer was given to one question, but the node, run again, asks another in its place. The answer is void; the new question is pending.
 *
 * @category errors
 * @since 0.1.0
 */
export class InterruptMismatch extends Data.TaggedError("InterruptMismatch")<{
  readonly node: string
  readonly tag: string
  readonly answered: unknown
  readonly now: unknown
}> {
  override get message(): string {
    return `node "${this.node}" was answered ${JSON.stringify(this.answered)} but now asks ${JSON.stringify(this.now)}`
  }
}

/**
 * A graph called inside a node finished before, but the node, run again, calls it at the same place with another input.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReplayMismatch extends Data.TaggedError("ReplayMismatch")<{
  readonly node: string
  readonly name: string
}> {
  override get message(): string {
    return `node "${this.node}" called "${this.name}" with one input, and on resume calls it at the same place with another. ` +
      "What a node does before it pauses has to be the same each time, or needs a key of its own"
  }
}

/**
 * Storage failed, or what is stored cannot be read. The thread stands at its last commit; no node is to blame.
 *
 * @category errors
 * @since 0.1.0
 */
export class CheckpointError extends Data.TaggedError("CheckpointError")<{
  readonly reason: "Storage" | "Encode" | "Decode" | "Format" | "Graph"
  /** None while a storage is being opened. */
  readonly thread?: string | undefined
  readonly channel?: string | undefined
  readonly checkpoint?: string | undefined
  readonly detail: string
  readonly cause?: unknown
}> {
  override get message(): string {
    const where = [
      this.thread === undefined || this.thread === "" ? "the storage of threads" : `thread "${this.thread}"`,
      this.channel === undefined ? undefined : `channel "${this.channel}"`,
      this.checkpoint === undefined ? undefined : `checkpoint ${this.checkpoint}`
    ].filter((part) => part !== undefined).join(", ")
    return `${this.reason.toLowerCase()} error at ${where}: ${this.detail}`
  }
}

/**
 * Another runner committed to this branch of the thread first. Nothing of this run's superstep is stored.
 *
 * @category errors
 * @since 0.1.0
 */
export class ThreadConflict extends Data.TaggedError("ThreadConflict")<{
  readonly thread: string
  readonly branch: number
  readonly expected: string | undefined
  readonly found: string | undefined
}> {
  override get message(): string {
    return `thread "${this.thread}" moved on in branch ${this.branch}: expected head ${this.expected ?? "none"}, ` +
      `found ${this.found ?? "none"}. Another run committed first; read the state and decide again`
  }
}

/**
 * The thread has never run.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownThread extends Data.TaggedError("UnknownThread")<{ readonly thread: string }> {
  override get message(): string {
    return `thread "${this.thread}" does not exist: start it with an input`
  }
}

/**
 * The thread exists, the checkpoint, namespace or subgraph in it does not.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownCheckpoint extends Data.TaggedError("UnknownCheckpoint")<{
  readonly thread: string
  readonly checkpoint: string | undefined
  readonly path: ReadonlyArray<string>
}> {
  override get message(): string {
    const at = this.path.length === 0 ? "" : ` at ${this.path.join("|")}`
    return `thread "${this.thread}" has no checkpoint ${this.checkpoint ?? ""}${at}`
  }
}

/**
 * A node name that the graph does not have, given to `update` or a breakpoint.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownNode extends Data.TaggedError("UnknownNode")<{
  readonly node: string
  readonly allowed: ReadonlyArray<string>
}> {
  override get message(): string {
    return `there is no node "${this.node}"; it is one of ${list(this.allowed)}`
  }
}

/**
 * `update` cannot tell as which node to act.
 *
 * @category errors
 * @since 0.1.0
 */
export class AmbiguousUpdate extends Data.TaggedError("AmbiguousUpdate")<{ readonly nodes: ReadonlyArray<string> }> {
  override get message(): string {
    return `cannot tell as which node to update: ${list(this.nodes)} ran last together. Give \`asNode\``
  }
}

/**
 * The thread is paused, or has unfinished work, and a new input would drop it.
 *
 * @category errors
 * @since 0.1.0
 */
export class PendingWork extends Data.TaggedError("PendingWork")<{
  readonly thread: string
  readonly next: ReadonlyArray<string>
  /** What the thread waits for. */
  readonly requests: ReadonlyArray<{ readonly id: string; readonly tag: string; readonly payload: unknown }>
}> {
  override get message(): string {
    return `thread "${this.thread}" has unfinished work (next: ${
      list(this.next)
    }, ${this.requests.length} unanswered). ` +
      "Use resume or continue, or invoke with { pending: \"discard\" }"
  }
}

/**
 * A reply cannot be delivered. Nothing was stored and nothing ran.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidReply extends Data.TaggedError("InvalidReply")<{
  readonly reason: "NothingPending" | "Unknown" | "Ambiguous" | "Answered" | "InvalidAnswer"
  readonly thread: string
  readonly tag: string | undefined
  readonly id: string | undefined
  /** The ids that wait for an answer. */
  readonly pending: ReadonlyArray<{ readonly id: string; readonly tag: string; readonly payload: unknown }>
  readonly detail?: string | undefined
}> {
  override get message(): string {
    const whom = this.id === undefined ? `"${this.tag ?? ""}"` : `"${this.tag ?? ""}" ${this.id}`
    const pending = this.pending.map((request) => `${request.tag} ${request.id}`).join(", ")
    const detail = this.detail === undefined ? "" : ` (${this.detail})`
    switch (this.reason) {
      case "NothingPending":
        return `thread "${this.thread}" waits for no answer`
      case "Unknown":
        return `thread "${this.thread}" does not ask ${whom}; it waits for ${pending}`
      case "Ambiguous":
        return `several requests fit ${whom}: ${pending}. Reply by id`
      case "Answered":
        return `${whom} has been answered already`
      case "InvalidAnswer":
        return `the answer to ${whom} does not fit its schema${detail}`
    }
  }
}

/**
 * What the engine can add to the failures of any run.
 *
 * @category errors
 * @since 0.1.0
 */
export type EngineError =
  | InvalidUpdate
  | UnknownRoute
  | RecursionLimit
  | MissingInput
  | StalledJoin
  | NodeTimeout
  | GraphDrained
  | GraphBreakpoint
  | NoParentGraph
  | ConcurrentCall
  | ReplayMismatch
  | UnknownNode

/**
 * What storage and the rules of threads add to the failures of a run on a thread.
 *
 * @category errors
 * @since 0.1.0
 */
export type ThreadError =
  | CheckpointError
  | ThreadConflict
  | UnknownThread
  | UnknownCheckpoint
  | UnknownNode
  | AmbiguousUpdate
  | PendingWork
  | InvalidReply
  | InterruptMismatch

/**
 * How a graph that a node called steers the graph around the node: the node ends as if it had returned the commands.
 *
 * @category errors
 * @since 0.1.0
 */
export class Steering<out C> extends Data.TaggedError("Steering")<{ readonly commands: ReadonlyArray<C> }> {}
