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
import { each, quoted, say, shown } from "./internal/say.ts"

const list = (names: ReadonlyArray<string>): string => each(names, (name) => say`"${name}"`).join(", ")

const EngineTypeId = "~superstep/EngineError"

/** The base of everything in `EngineError`. */
const Failure = ((tag: string) => {
  const Base = Data.TaggedError(tag)
  Object.defineProperty(Base.prototype, EngineTypeId, { value: EngineTypeId })
  return Base
}) as typeof Data.TaggedError

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
  | "InvalidResult"
  | "MixedRouting"

const cures: Record<InvalidUpdateReason, string> = {
  MultipleWrites:
    "can receive only one value per step. Give it a reducer (Channel.append, Channel.reducer) if several nodes may write it together",
  MultipleOverwrites: "can receive only one Overwrite per step",
  OverwriteRefused: "takes no Overwrite: write the value itself. Overwrite is for channels that reduce or accumulate",
  UnknownChannel: "is no channel of this graph",
  UnknownName: "was told of a source it does not wait for",
  InvalidValue: "received a value that its schema refuses",
  NotAnUpdate: "brings no update, which is a record of writes, a Command, a list of these, or nothing",
  ReducerFailed: "has a reducer that threw. Reducers are pure: they return a new value and change neither argument",
  InvalidResult: "has a reducer that made a value that the channel's schema refuses",
  MixedRouting:
    "has edges and returned a Command that goes somewhere. A node has one kind of routing: drop its edges, or the goto"
}

/** Callers without types may have made the error. */
const cureOf = (reason: InvalidUpdateReason): string => typeof reason === "string" ? cures[reason] : quoted(reason)

/**
 * A channel refused the writes of one superstep. Nothing of that superstep is
 * committed.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidUpdate extends Failure("InvalidUpdate")<{
  readonly reason: InvalidUpdateReason
  /** None where no channel is at fault: what a node returned is no update, or leads where it may not. */
  readonly channel?: string | undefined
  /** Names of the nodes that wrote, in task order. Empty where the caller is not known, as in the pure `Channel.update`. */
  readonly writers: ReadonlyArray<string>
  /** What exactly was wrong, when there is more to say. */
  readonly detail?: string | undefined
  readonly cause?: unknown
}> {
  override get message(): string {
    const writers = list(this.writers)
    const detail = this.detail === undefined ? "" : say`: ${this.detail}`
    if (this.channel === undefined) return say`from ${writers}: ${cureOf(this.reason)}${detail}`
    const by = writers === "" ? "" : ` (written by ${writers})`
    return say`at key "${this.channel}": ${cureOf(this.reason)}${by}${detail}`
  }
}

/**
 * A route, a `Command` or a `Send` named a target that the graph does not have, or that it did not declare.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownRoute extends Failure("UnknownRoute")<{
  readonly from: string
  readonly value: unknown
  readonly allowed: ReadonlyArray<string>
}> {
  override get message(): string {
    return say`node "${this.from}" leads to ${describe(this.value)}, which is none of ${list(this.allowed)}`
  }
}

const describe = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return quoted(value)
  try {
    const send = value as { readonly _tag?: unknown; readonly node?: unknown }
    return send._tag === "Send" ? say`a Send to "${send.node}"` : "an object"
  } catch {
    return "an object"
  }
}

/**
 * The run used up its supersteps. The thread, if there is one, stands at its last commit and can continue.
 *
 * @category errors
 * @since 0.1.0
 */
export class RecursionLimit extends Failure("RecursionLimit")<{
  /** How many supersteps the run was allowed. */
  readonly limit: number
  /** Nodes that would have run next. */
  readonly next: ReadonlyArray<string>
}> {
  override get message(): string {
    return say`the run reached its limit of ${this.limit} supersteps with ${list(this.next)} still to run. ` +
      "Raise `recursionLimit`, or check the condition that should end the loop"
  }
}

/**
 * A first run lacks keys that the graph needs from its input. Nothing was stored.
 *
 * @category errors
 * @since 0.1.0
 */
export class MissingInput extends Failure("MissingInput")<{ readonly keys: ReadonlyArray<string> }> {
  override get message(): string {
    const keys = list(this.keys)
    return keys === "" ? "the input brings nothing to run on" : `the input lacks ${keys}`
  }
}

/**
 * What a call was told besides its input is wrong: an option, a path, a list of updates. Nothing ran and nothing was stored.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidArgument extends Failure("InvalidArgument")<{
  /** Its name, with the way to what is wrong inside it, as in `before[0]`. */
  readonly argument: string
  /** What is allowed, and what came. */
  readonly detail: string
}> {
  override get message(): string {
    return say`${this.argument}: ${this.detail}`
  }
}

/**
 * An "all" join got some of its sources, never all, and nothing is left that could run.
 *
 * @category errors
 * @since 0.1.0
 */
export class StalledJoin extends Failure("StalledJoin")<{
  readonly node: string
  readonly arrived: ReadonlyArray<string>
  readonly missing: ReadonlyArray<string>
}> {
  override get message(): string {
    return say`the join before "${this.node}" got ${list(this.arrived)} and still waits for ${list(this.missing)}. ` +
      `Use StateGraph.join(target, { release: "idle" }) if a source may be skipped`
  }
}

/**
 * Time ran out for an attempt of a node, for its progress, for a superstep or for the whole run.
 *
 * @category errors
 * @since 0.1.0
 */
export class NodeTimeout extends Failure("NodeTimeout")<{
  readonly kind: "attempt" | "idle" | "superstep" | "run"
  /** The node, or the nodes that had not finished, in task order. None if the run had not come to its first. */
  readonly nodes: ReadonlyArray<string>
  readonly timeoutMillis: number
  readonly elapsedMillis: number
}> {
  override get message(): string {
    const nodes = list(this.nodes)
    const where = nodes === "" ? "before any node ran" : say`in ${nodes}`
    return say`${this.kind} timeout of ${this.timeoutMillis} ms ran out after ${this.elapsedMillis} ms ${where}`
  }
}

/**
 * A graceful drain was asked for: the superstep in progress is finished, the rest is left to a later `continue`.
 *
 * @category errors
 * @since 0.1.0
 */
export class GraphDrained extends Failure("GraphDrained")<{
  readonly reason: string
  readonly next: ReadonlyArray<string>
}> {
  override get message(): string {
    return say`the run was drained (${this.reason}) with ${list(this.next)} still to run`
  }
}

/**
 * A static breakpoint was reached. `continue` goes on.
 *
 * @category errors
 * @since 0.1.0
 */
export class GraphBreakpoint extends Failure("GraphBreakpoint")<{
  readonly when: "before" | "after"
  /** The nodes that the breakpoint is about. */
  readonly nodes: ReadonlyArray<string>
  /** The nodes that run next. */
  readonly next: ReadonlyArray<string>
}> {
  override get message(): string {
    return say`stopped ${this.when} ${list(this.nodes)}; next: ${list(this.next) || "nothing"}`
  }
}

/**
 * A command for the parent graph reached the root, where there is none.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoParentGraph extends Failure("NoParentGraph")<{
  readonly graph: string
  readonly update: unknown
  readonly goto: ReadonlyArray<unknown>
}> {
  override get message(): string {
    return say`graph "${this.graph}" commands a parent graph, but it runs at the root`
  }
}

/**
 * One task asked, or called a graph, from two fibers without saying which call is which.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConcurrentCall extends Failure("ConcurrentCall")<{
  readonly kind: "ask" | "graph"
  readonly node: string
  /** The tag of the question, or the name of the graph. */
  readonly called: string
}> {
  override get message(): string {
    return this.kind === "ask"
      ? say`node "${this.node}" asks "${this.called}" from a second fiber. Give each question a key, so that it keeps its place on resume`
      : say`node "${this.node}" calls "${this.called}" from a second fiber. Give each call a key, so that it keeps its place on resume, or use Task.all`
  }
}

/**
 * One task called a graph twice under one key, or asked twice under one key. A call that failed or paused may be made again, and what has
 * no answer yet may be asked again, with the same payload.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateKey extends Failure("DuplicateKey")<{
  readonly kind: "ask" | "graph"
  readonly node: string
  /** What comes the second time: the tag of the question, or the name of the graph. */
  readonly called: string
  readonly key: string
}> {
  override get message(): string {
    return this.kind === "ask"
      ? say`node "${this.node}" asks "${this.called}" with the key ${quoted(this.key)} of another question. ` +
        "Give each question of a task a key of its own"
      : say`node "${this.node}" calls graph "${this.called}" with the key ${quoted(this.key)} of another call. ` +
        "Give each call of a task a key of its own"
  }
}

/**
 * An answer does not fit what the node, run again, asks. The answer is void, and the node runs once more when the thread goes on: by
 * `resume` if it asks in its place, else by `continue`.
 *
 * @category errors
 * @since 0.1.0
 */
export class InterruptMismatch extends Data.TaggedError("InterruptMismatch")<{
  /**
   * `OtherQuestion`: it asks the same with another payload. `InvalidAnswer`: it asks what was answered, and its schema no longer takes the
   * answer. `NotAsked`: it ended without asking.
   */
  readonly reason: "OtherQuestion" | "InvalidAnswer" | "NotAsked"
  readonly node: string
  readonly tag: string
  /** The payload that was answered, encoded. */
  readonly answered: unknown
  /** The payload that is asked in its place, encoded, and pending. None if nothing is. */
  readonly now?: unknown
  readonly detail?: string | undefined
}> {
  override get message(): string {
    const was = say`node "${this.node}" was answered ${quoted(this.answered)}`
    switch (this.reason) {
      case "InvalidAnswer":
        return say`${was}, and what "${this.tag}" takes as an answer has changed: ${this.detail}. Answer again`
      case "NotAsked":
        return say`${was} but ended without asking it. The answer is void: continue runs the node without it`
      default:
        return say`${was} but now asks ${quoted(this.now)}`
    }
  }
}

/**
 * A graph called inside a node finished before, but the node, run again, calls it at the same place with another input.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReplayMismatch extends Failure("ReplayMismatch")<{
  readonly node: string
  /** The name of the graph. */
  readonly called: string
}> {
  override get message(): string {
    return say`node "${this.node}" calls "${this.called}", run again, at a place where it has called something else, or the same with another input. ` +
      "What a node calls has to be the same each time it runs, after a resume and after a failed attempt, or needs a key of its own"
  }
}

/**
 * Storage failed, or what is stored cannot be read. The thread stands at its last commit; no node is to blame.
 *
 * @category errors
 * @since 0.1.0
 */
export class CheckpointError extends Data.TaggedError("CheckpointError")<{
  readonly reason: "Storage" | "Encode" | "Decode" | "Format"
  /** None while a storage is being opened. */
  readonly thread?: string | undefined
  readonly channel?: string | undefined
  readonly checkpoint?: string | undefined
  readonly detail: string
  readonly cause?: unknown
}> {
  override get message(): string {
    const where = [
      this.thread === undefined || this.thread === "" ? "the storage of threads" : say`thread "${this.thread}"`,
      this.channel === undefined ? undefined : say`channel "${this.channel}"`,
      this.checkpoint === undefined ? undefined : say`checkpoint ${this.checkpoint}`
    ].filter((part) => part !== undefined).join(", ")
    return say`${shown(this.reason).toLowerCase()} error at ${where}: ${this.detail}`
  }
}

/**
 * What has changed between a graph and a stored thread of it, and is not declared: a key or a join that holds something is gone, a key has another
 * rule or schema, a node that is to run is gone.
 *
 * @category models
 * @since 0.1.0
 */
export interface GraphDifference {
  readonly kind: "KeyGone" | "JoinGone" | "RuleChanged" | "SchemaChanged" | "NodeGone"
  /** Of the key, the join or the node. */
  readonly name: string
  /** Of a rule: what it was, and what it is. */
  readonly was?: string
  readonly is?: string
  /** Whether a migration of the key is declared, from another channel than the one that was stored. */
  readonly isDeclared?: boolean
}

const differenceText = (difference: GraphDifference): string => {
  const { is, isDeclared, kind, name, was } = difference ?? {}
  const other = isDeclared === true ? "; a migration of it is declared, `from` another channel than this" : ""
  switch (kind) {
    case "KeyGone":
      return say`key "${name}" is gone (Migration.rename or Migration.drop)`
    case "JoinGone":
      return say`join "${name}", at which somebody has arrived, is gone (Migration.drop)`
    case "RuleChanged":
      return say`key "${name}" was ${was} and is ${is} (Migration.convert)` + other
    case "SchemaChanged":
      return say`key "${name}" has another schema (Migration.convert or Migration.accept)` + other
    case "NodeGone":
      return say`node "${name}", which is to run, is gone (Migration.dropNode)`
    default:
      return shown(difference)
  }
}

/**
 * The thread was stored by another version of the graph, or by another graph, and what became of some of it is not declared. Nothing
 * has run, and nothing is lost: declare it in the `migrations` of the graph, or use the version that stored the thread.
 *
 * @category errors
 * @since 0.1.0
 */
export class GraphChanged extends Data.TaggedError("GraphChanged")<{
  readonly thread: string
  /** The name of the graph: that of the thread, or of one inside it. */
  readonly graph: string
  readonly checkpoint: string | undefined
  readonly differences: ReadonlyArray<GraphDifference>
}> {
  override get message(): string {
    const at = this.checkpoint === undefined ? "" : say` at checkpoint ${this.checkpoint}`
    return say`graph "${this.graph}" is not the one that thread "${this.thread}" was stored by${at}: ` +
      `${each(this.differences, differenceText).join("; ")}. Declare it in the graph's migrations`
  }
}

/**
 * Another runner was faster: it committed to this branch of the thread, or stored another result, answer or Command beside the same
 * head. Nothing of this run's superstep is stored.
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
    const cure = "Another run was faster; read the state and decide again"
    return this.expected === this.found
      ? say`thread "${this.thread}" has got another result, answer or Command at head ${this.found ?? "none"}. ` + cure
      : say`thread "${this.thread}" moved on in branch ${this.branch}: expected head ${this.expected ?? "none"}, ` +
        say`found ${this.found ?? "none"}. ` + cure
  }
}

/**
 * The thread was deleted while this run was under way. Nothing more of the run is stored.
 *
 * @category errors
 * @since 0.1.0
 */
export class ThreadDeleted extends Data.TaggedError("ThreadDeleted")<{ readonly thread: string }> {
  override get message(): string {
    return say`thread "${this.thread}" was deleted while it ran: start it anew, if it is still wanted`
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
    return say`thread "${this.thread}" does not exist: start it with an input`
  }
}

/**
 * The thread exists, the checkpoint or the graph in it does not.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownCheckpoint extends Data.TaggedError("UnknownCheckpoint")<{
  readonly thread: string
  /** None where there is no graph at the path. */
  readonly checkpoint: string | undefined
  readonly path: ReadonlyArray<string>
  /** Where there is no graph at the path: the paths at which there is one. */
  readonly paths?: ReadonlyArray<ReadonlyArray<string>> | undefined
}> {
  override get message(): string {
    const at = pathText(this.path)
    if (this.checkpoint !== undefined) {
      return say`thread "${this.thread}" has no checkpoint ${this.checkpoint}${at === "[]" ? "" : ` at ${at}`}`
    }
    const paths = each(this.paths ?? [], pathText)
    if (paths.includes(at)) {
      return say`thread "${this.thread}" has a graph at ${at} that a node calls: say which, at(${at}, graph)`
    }
    const there = paths.length === 0 ? "no graph inside it has run" : `there are graphs at ${paths.join(", ")}`
    return say`thread "${this.thread}" has no graph at ${at}; ${there}`
  }
}

/** A path as it is written in code. */
const pathText = (path: ReadonlyArray<string>): string => `[${each(path, quoted).join(", ")}]`

/**
 * A node name that the graph does not have, given to `update` or a breakpoint.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownNode extends Failure("UnknownNode")<{
  readonly node: string
  readonly allowed: ReadonlyArray<string>
}> {
  override get message(): string {
    return say`there is no node "${this.node}"; it is one of ${list(this.allowed)}`
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
    const why = Array.isArray(this.nodes) && this.nodes.length === 1
      ? say`${list(this.nodes)} is to run still, and what it is to take would be lost`
      : say`${list(this.nodes)} ran last together`
    return `cannot tell as which node to update: ${why}. Give \`asNode\``
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
    return say`thread "${this.thread}" has unfinished work (next: ${list(this.next)}, ${
      each(this.requests, shown).length
    } unanswered). ` +
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
  readonly reason: "NothingPending" | "Unknown" | "Ambiguous" | "Answered" | "InvalidAnswer" | "NotAReply"
  readonly thread: string
  readonly tag: string | undefined
  readonly id: string | undefined
  /** The ids that wait for an answer. */
  readonly pending: ReadonlyArray<{ readonly id: string; readonly tag: string; readonly payload: unknown }>
  readonly detail?: string | undefined
}> {
  override get message(): string {
    const whom = this.id === undefined ? say`"${this.tag ?? ""}"` : say`"${this.tag ?? ""}" ${this.id}`
    const pending = each(this.pending, (request) => say`${request?.tag} ${request?.id}`).join(", ")
    const detail = this.detail === undefined ? "" : say` (${this.detail})`
    switch (this.reason) {
      case "NothingPending":
        return say`thread "${this.thread}" waits for no answer`
      case "Unknown":
        return say`thread "${this.thread}" does not ask ${whom} now; ` +
          (pending === "" ? "what is left to run may ask anew: continue" : say`it waits for ${pending}`)
      case "Ambiguous":
        return say`several requests fit ${whom}: ${pending}. Reply by id`
      case "Answered":
        return say`${whom} has been answered already: continue goes on with that answer`
      case "InvalidAnswer":
        return say`the answer to ${whom} does not fit its schema${detail}`
      case "NotAReply":
        return say`what thread "${this.thread}" was given is no reply${detail}. Make one with \`reply(answer)\` of the interrupt`
      default:
        return say`a reply to ${whom} was refused${detail}`
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
  | InvalidArgument
  | StalledJoin
  | NodeTimeout
  | GraphDrained
  | GraphBreakpoint
  | NoParentGraph
  | ConcurrentCall
  | DuplicateKey
  | ReplayMismatch
  | UnknownNode

/**
 * Whether a failure is the engine's, whatever graph it comes from. No retry policy sees these, except for `NodeTimeout`.
 *
 * @category guards
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { GraphError, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Count, { check: ({ total }) => total < 0 ? Effect.fail("negative" as const) : {} }),
 *   { start: "check", edges: { check: "check" } }
 * )
 *
 * const failed = await Effect.runPromise(Effect.flip(app.invoke({ total: -1 })))
 * console.log([failed, GraphError.isEngineError(failed)]) // => ["negative", false]
 *
 * const stopped = await Effect.runPromise(Effect.flip(app.invoke({ total: 1 })))
 * console.log(GraphError.isEngineError(stopped) && stopped._tag) // => "RecursionLimit"
 * ```
 */
export const isEngineError = (u: unknown): u is EngineError => typeof u === "object" && u !== null && EngineTypeId in u

/**
 * What storage and the rules of threads add to the failures of a run on a thread.
 *
 * @category errors
 * @since 0.1.0
 */
export type ThreadError =
  | CheckpointError
  | GraphChanged
  | ThreadConflict
  | ThreadDeleted
  | UnknownThread
  | UnknownCheckpoint
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
