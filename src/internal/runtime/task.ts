/**
 * One task: its attempts, what they may ask and see, and what came of it. A
 * task never fails as an Effect: its outcome says what happened, so that one
 * task's defect cannot hide what the others did.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import * as Command from "../../Command.ts"
import {
  DuplicateKey,
  type GraphBreakpoint,
  type GraphDrained,
  InterruptMismatch,
  isEngineError,
  NodeTimeout,
  ReplayMismatch,
  Steering
} from "../../GraphError.ts"
import type { AnyRequest } from "../../Interrupt.ts"
import type { NodeCacheShape } from "../../NodeCache.ts"
import type * as Policy from "../../Policy.ts"
import { Running, type RunningShape } from "../../Running.ts"
import { type Asker, CurrentAsker, type Question } from "../asker.ts"
import { canonical } from "../canonical.ts"
import type { Checkpoint } from "../engine/checkpoint.ts"
import { hash } from "../engine/hash.ts"
import { anew, type Task } from "../engine/plan.ts"
import type { Limits, Program } from "../engine/program.ts"
import { keptWrites } from "../engine/restored.ts"
import { type Answers, type Graphs, keptText } from "../engine/stored.ts"
import { updateOf, withRouting, type Write, type WriteError, writesOf } from "../engine/writes.ts"
import { isPromise, promised } from "../promise.ts"
import { quoted } from "../say.ts"
import type { GivenAnswers } from "./answers.ts"
import { Branch, type Caller } from "./branch.ts"
import type { Sink } from "./events.ts"
import type { Counts } from "./metrics.ts"
import { shown } from "./running.ts"
import { type Asked, AttemptScratchpad, type Voids } from "./scratchpad.ts"
import { isFault, type Session, type ThreadRun } from "./session.ts"
import { activeMillis, bounded, type Waits } from "./timeouts.ts"

/** An effect with its types erased: between here and the typed front everything is data. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Erased<A> = Effect.Effect<A, any, any>

/** What all graphs of one run share. */
export interface Shared {
  readonly sink: Sink | undefined
  readonly thread: ThreadRun | undefined
  readonly cache: NodeCacheShape | undefined
  readonly answers: GivenAnswers
  /** What random numbers and ids derive from where there is no thread. */
  readonly seed: string
  /** What the caller of the run says of it. */
  readonly metadata: Readonly<Record<string, Schema.Json>>
  /** Where the engine's own random numbers come from. */
  readonly random: Context.Service.Shape<typeof Random.Random>
  /** Limits that the caller set for this run. */
  readonly overrides: Partial<Limits>
  /** Why the run is asked to stop after this superstep. */
  drain: string | undefined
  /** Names a run without a thread, where somebody asks. */
  id: string | undefined
}

/** Names a run: random, made when first asked for. */
export const runId = (shared: Shared): string => shared.thread?.owner ?? (shared.id ??= globalThis.crypto.randomUUID())

/** One graph in one run. */
export interface GraphRun {
  readonly shared: Shared
  readonly program: Program
  readonly session: Session | undefined
  readonly namespace: string
  readonly path: ReadonlyArray<string>
  /** What ids and random numbers derive from where nothing is stored; made when first needed. */
  readonly seed: () => string
  readonly limits: Limits
  /** The machine that the current superstep reads. */
  checkpoint: Checkpoint
  /** Supersteps that may still run. */
  stepsLeft: number
  /** Whether the tasks of this superstep may have run before, so that graphs inside them may have been stored. */
  isResumed: boolean
  /** Heads of graphs inside tasks that this run has begun. */
  readonly nested: Set<string>
  /** Of a graph inside a task where nothing is stored: what its nodes have written so far. */
  readonly up: Array<Write>
  readonly counts: Counts
  /** Runs a graph inside a task. */
  readonly nest: Nest
  /** The attempt that this graph runs inside, if progress in it counts for somebody's idle timeout. */
  readonly holder: Attempt | undefined
}

/** What a task, or a graph, waits for. Where all it was answered is void and it asks nothing, it has to run again. */
export interface Pause extends Voids {
  readonly _tag: "Paused"
  readonly asked: ReadonlyArray<Asked>
}

/** How a graph inside a task ends. */
export type GraphExit =
  | {
    readonly _tag: "Done"
    readonly checkpoint: Checkpoint
    readonly program: Program
    readonly up: ReadonlyArray<Write>
    readonly head: Graphs
  }
  | Pause
  | {
    readonly _tag: "Parent"
    readonly commands: ReadonlyArray<Command.Any>
    readonly program: Program
    readonly checkpoint: Checkpoint
    readonly up: ReadonlyArray<Write>
    /** What it had committed when it left: a graph that is kept goes on from there. */
    readonly head: Graphs
  }
  | { readonly _tag: "Stopped"; readonly error: GraphBreakpoint | GraphDrained }

/** What a task asks to have run inside it. */
export interface NestedCall {
  readonly program: Program
  readonly persistence: "call" | "thread" | "none"
  readonly input: unknown
  /** Tells several calls of one task apart. */
  readonly key: string | undefined
  /** The key that it takes where another call stands at its own; without one that is `ReplayMismatch`. */
  readonly otherwise?: string | undefined
  /** Told where an earlier run has begun the call and not ended it. */
  readonly unfinished?: (() => void) | undefined
  readonly holder: Attempt | undefined
}

export type Nest = (run: GraphRun, task: Task, call: NestedCall) => Erased<GraphExit>

export type Outcome =
  | {
    readonly _tag: "Done"
    readonly writes: ReadonlyArray<Write>
    readonly update: unknown
    readonly graphs: Graphs
    readonly cached: boolean
  }
  | Pause
  | { readonly _tag: "Parent"; readonly commands: ReadonlyArray<Command.Any> }
  | { readonly _tag: "Stopped"; readonly error: GraphBreakpoint | GraphDrained }
  | { readonly _tag: "Failed"; readonly cause: Cause.Cause<unknown> }
  /** Storage failed under a graph inside the task: the run ends, and the task is not to blame. */
  | { readonly _tag: "Fault"; readonly cause: Cause.Cause<unknown> }

const failed = (cause: Cause.Cause<unknown>): Outcome => ({ _tag: "Failed", cause })

// ---------------------------------------------------------------------------
// What a running node sees
// ---------------------------------------------------------------------------

/** Numbers that are the same whenever the task is run again, made when first used. */
class TaskRandom {
  readonly #seed: () => string
  #random: { nextIntUnsafe(): number; nextDoubleUnsafe(): number } | undefined = undefined
  constructor(seed: () => string) {
    this.#seed = seed
  }
  get #made() {
    return this.#random ??= Effect.runSync(Random.withSeed(Effect.service(Random.Random), this.#seed()))
  }
  nextIntUnsafe(): number {
    return this.#made.nextIntUnsafe()
  }
  nextDoubleUnsafe(): number {
    return this.#made.nextDoubleUnsafe()
  }
}

/** The id of the checkpoint that the superstep starts from, or what stands for it where nothing is stored. */
export const superstepId = (run: GraphRun): string =>
  run.session?.id ?? hash(run.seed(), run.namespace, String(run.checkpoint.step))

/** One attempt of a task: what is behind the service `Running` of its node, and whom the node asks. */
export class Attempt implements RunningShape, Asker {
  readonly #run: GraphRun
  readonly #task: Task
  readonly attempt: number
  #firstAttemptMillis: number | undefined
  readonly #isHandler: boolean
  readonly #keys = new Set<string>()
  #scratchpad: AttemptScratchpad | undefined = undefined
  #hasNested = false
  /** What the node itself calls and asks. */
  readonly branch = new Branch(this, "", false)
  /** Heads of the graphs that this task called, by namespace. */
  readonly graphs = new Map<string, string>()
  /** When the attempt last made progress, on the clock of its timeouts. */
  progressMillis = 0
  /** Whether it has come to an end: what its node left running is heard no more. */
  isOver = false
  /** The timeout that ended it. */
  expired: NodeTimeout | undefined = undefined
  /** Why the run has to end, if storage failed under a graph that this attempt holds. */
  fault: Cause.Cause<unknown> | undefined = undefined
  /** Whether a call has ended this attempt, so that the node was interrupted where it made the call. */
  isHalted = false
  /** Why a graph that this attempt called has stopped: this ends the attempt, whatever its node makes of it. */
  stopped: GraphBreakpoint | GraphDrained | undefined = undefined
  /** Whether anything of its result rests on an answer. */
  get isAnswered(): boolean {
    return (this.#scratchpad?.isAnswered ?? false) || (this.#hasNested && this.#run.shared.answers.size > 0)
  }

  constructor(run: GraphRun, task: Task, attempt: number, firstAttemptMillis: number | undefined, isHandler = false) {
    this.#run = run
    this.#task = task
    this.attempt = attempt
    this.#firstAttemptMillis = firstAttemptMillis
    this.#isHandler = isHandler
  }
  /** Says that the attempt begins: where no other was before it, the first does. */
  begin(nowMillis: () => number): void {
    this.#firstAttemptMillis ??= nowMillis()
  }
  get firstAttemptMillis(): number {
    return this.#firstAttemptMillis!
  }
  get task(): string {
    return this.#task.id
  }
  get node(): string {
    return this.#task.node.name
  }
  get step(): number {
    return this.#run.checkpoint.step + 1
  }
  get path(): ReadonlyArray<string> {
    return this.#run.path
  }
  get thread(): string | undefined {
    return this.#run.shared.thread?.thread
  }
  /** What a line that its node logs says of where it stands. */
  get annotations(): Readonly<Record<string, unknown>> {
    const { path, program, shared } = this.#run
    return {
      graph: program.name,
      ...(shared.thread === undefined ? {} : { thread: shared.thread.thread }),
      ...(path.length === 0 ? {} : { path: path.join("/") }),
      node: this.node,
      step: this.step
    }
  }
  get run(): string {
    return runId(this.#run.shared)
  }
  get metadata(): Readonly<Record<string, Schema.Json>> {
    return this.#run.shared.metadata
  }
  get drained(): string | undefined {
    return this.#run.shared.drain
  }
  get checkpoint(): string | undefined {
    return this.#run.session?.place.id
  }
  get isOfFunction(): boolean {
    return this.#run.program.kind === "function"
  }
  get remainingSteps(): number {
    return this.#run.stepsLeft
  }
  get isWatched(): boolean {
    return this.#task.node.timeout?.idleMillis !== undefined || this.#run.holder !== undefined
  }
  /** Notes progress, here and in the attempts that this one runs inside. */
  get heartbeat(): Effect.Effect<void> {
    if (!this.isWatched) return Effect.void
    return Effect.map(activeMillis(this.#run.shared.sink?.waits), (now) => {
      this.progressMillis = now
      for (let at = this.#run.holder; at !== undefined; at = at.#run.holder) at.progressMillis = now
    })
  }
  emit = (data: unknown): Effect.Effect<void> =>
    Effect.andThen(
      this.heartbeat,
      Effect.suspend(() => {
        const { path, shared: { sink } } = this.#run
        if (
          this.isOver || sink === undefined || !sink.modes.has("custom") || (path.length > 0 && !sink.subgraphs)
        ) return Effect.void
        return sink.offer({ mode: "custom", path, step: this.step, node: this.node, data })
      })
    )
  drain = (reason?: string): Effect.Effect<void> =>
    Effect.sync(() => {
      this.#run.shared.drain ??= reason ?? "shutdown"
    })
  get waits(): Waits | undefined {
    return this.#run.shared.sink?.waits
  }
  get pad(): AttemptScratchpad {
    const run = this.#run
    return this.#scratchpad ??= new AttemptScratchpad(
      {
        namespace: run.namespace,
        branch: run.shared.thread?.branch ?? 1,
        checkpoint: superstepId(run),
        task: this.task,
        node: this.node,
        isHandler: this.#isHandler,
        thread: this.thread,
        root: this.branch
      },
      run.shared.answers
    )
  }
  ask(
    question: Question,
    payload: unknown,
    key: string | undefined,
    fiber: Caller
  ): Result.Result<unknown, AnyRequest> {
    return this.pad.ask(question, payload, key, fiber)
  }
  get asked(): AttemptScratchpad | undefined {
    return this.#scratchpad
  }
  readonly random = new TaskRandom(() => {
    const run = this.#run
    return hash("random", run.shared.thread?.thread ?? run.shared.seed, run.namespace, superstepId(run), this.task)
  })

  /** Runs a call under the key that its caller gave it, which no other call has. One that did not end well may be made again. */
  keyed(key: string, name: string, call: () => Erased<GraphExit>): Erased<GraphExit> {
    if (this.#keys.has(key)) {
      const refused = new DuplicateKey({ kind: "graph", node: this.node, called: name, key })
      this.pad.failure ??= refused
      return Effect.fail(refused)
    }
    this.#keys.add(key)
    return Effect.onExit(call(), (exit) =>
      Effect.sync(() => {
        if (Exit.isFailure(exit) || exit.value._tag === "Paused") this.#keys.delete(key)
      }))
  }
  /** Ends the attempt where its node stands, for what is no concern of the node: what came of it is noted. */
  get halt(): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.isHalted = true
      return Effect.interrupt
    })
  }
  /** Runs a graph inside this task. A node never sees that storage failed under it. */
  nest(call: Omit<NestedCall, "holder">): Erased<GraphExit> {
    const run = this.#run
    // What its node left running is heard no more: the place of the call belongs to a later task.
    if (this.isOver) return this.halt
    this.#hasNested = true
    // What the error handler calls stands beside what the node called.
    const ownKey = (key: string | undefined) => this.#isHandler && key !== undefined ? `-${key}` : key
    const [key, otherwise] = [ownKey(call.key), ownKey(call.otherwise)]
    const nested = run.nest(run, this.#task, { ...call, key, otherwise, holder: this.isWatched ? this : undefined })
    // The numbers of this task are its own: what runs inside draws from where the run draws.
    const apart = Effect.provideService(nested, Random.Random, run.shared.random)
    const noted = Effect.catchCause(apart, (cause) => {
      const error = Option.getOrUndefined(Cause.findErrorOption(cause))
      if (error instanceof ReplayMismatch) this.pad.failure ??= error
      if (!isFault(run.shared.thread, cause)) return Effect.failCause(cause)
      this.fault ??= cause
      return this.halt
    })
    return Effect.map(noted, (exit) => {
      if (exit._tag === "Stopped") this.stopped ??= exit.error
      // What a function has come to is its result: nothing goes on from where it stood, unless it is kept.
      const isFound = call.program.kind !== "function" || call.persistence === "thread"
      if (isFound && (exit._tag === "Done" || exit._tag === "Parent")) {
        for (const [namespace, id] of exit.head) this.graphs.set(namespace, id)
      }
      return exit
    })
  }
}

/** The attempt that calls are made in; none outside of a run. It stands beside `Running`, which a node may replace. */
export const CurrentAttempt = Context.Reference<Attempt | undefined>("superstep/CurrentAttempt", {
  defaultValue: () => undefined
})

const provide = (effect: Erased<unknown>, attempt: Attempt): Erased<unknown> =>
  Effect.updateContext(effect, (context: Context.Context<never>) => {
    attempt.begin(() => Context.get(context, Clock.Clock).currentTimeMillisUnsafe())
    const { annotations } = attempt
    const logged = { ...Context.get(context, References.CurrentLogAnnotations), ...annotations }
    const known = Context.add(context, References.CurrentLogAnnotations, logged)
    const inside = Context.add(Context.add(known, CurrentAttempt, attempt), CurrentAsker, attempt)
    return Context.add(Context.add(inside, Running, shown(attempt)), Random.Random, attempt.random)
  }) as Erased<unknown>

// ---------------------------------------------------------------------------
// One attempt
// ---------------------------------------------------------------------------

/** What the body of a node does with its input. */
const bodyEffect = (task: Task, attempt: Attempt): unknown => {
  const { body } = task.node
  switch (body._tag) {
    case "Start":
      return task.input
    case "Run":
      return body.run(task.input)
    case "Graph":
      return attempt.nest({ program: body.program, persistence: body.persistence, input: task.input, key: undefined })
  }
}

const withTimeouts = (effect: Erased<unknown>, task: Task, attempt: Attempt): Erased<unknown> => {
  const attemptMillis = task.timeoutMillis ?? task.node.timeout?.attemptMillis
  const idleMillis = task.node.timeout?.idleMillis
  const nodes = [task.node.name]
  const { waits } = attempt
  const expire = (kind: "attempt" | "idle", timeoutMillis: number) => (elapsedMillis: number) =>
    attempt.expired = new NodeTimeout({ kind, nodes, timeoutMillis, elapsedMillis })
  let out = effect
  if (idleMillis !== undefined) {
    const error = expire("idle", idleMillis)
    out = Effect.andThen(
      attempt.heartbeat,
      bounded(out, { waits, millis: idleMillis, error, since: () => attempt.progressMillis })
    )
  }
  if (attemptMillis !== undefined) {
    out = bounded(out, { waits, millis: attemptMillis, error: expire("attempt", attemptMillis) })
  }
  return out
}

/** What an attempt came to, before its output becomes writes. */
type Attempted =
  | { readonly _tag: "Returned"; readonly value: unknown }
  | { readonly _tag: "Graph"; readonly exit: GraphExit }
  | { readonly _tag: "Ended"; readonly outcome: Outcome }
  /** A typed failure of the node, which policies may act on. */
  | { readonly _tag: "Error"; readonly error: unknown; readonly cause: Cause.Cause<unknown> }

/** Whether the attempt ended because its time was over: a timeout of a graph that it called is an error like any other. */
const isTimeout = (attempt: Attempt, cause: Cause.Cause<unknown>): boolean =>
  attempt.expired !== undefined &&
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error === attempt.expired)

const asEffect = "return an Effect, as Effect.promise or Effect.tryPromise make it"

/** Whether the node ended by itself: neither by a defect nor by an interruption, unless a call in it ended the attempt. */
const isOwnEnd = (attempt: Attempt, reason: Cause.Reason<unknown>): boolean =>
  Cause.isFailReason(reason) || (attempt.isHalted && Cause.isInterruptReason(reason))

/** An unanswered question outranks how the node ended, except for a defect, an interruption and a timeout. */
const concludeAttempt = (task: Task, attempt: Attempt, exit: Exit.Exit<unknown, unknown>): Attempted => {
  const pad = attempt.asked
  attempt.isOver = true
  if (attempt.fault !== undefined) return { _tag: "Ended", outcome: { _tag: "Fault", cause: attempt.fault } }
  if (Exit.isFailure(exit)) {
    const { cause } = exit
    if (cause.reasons.length === 0) {
      return { _tag: "Ended", outcome: failed(Cause.die(new Error("the node failed without a cause"))) }
    }
    if (!cause.reasons.every((reason) => isOwnEnd(attempt, reason))) return { _tag: "Ended", outcome: failed(cause) }
    if (isTimeout(attempt, cause)) {
      return { _tag: "Error", error: Option.getOrThrow(Cause.findErrorOption(cause)), cause }
    }
  }
  if (pad?.failure !== undefined) return { _tag: "Ended", outcome: failed(Cause.fail(pad.failure)) }
  if (pad !== undefined && pad.isPaused) {
    return { _tag: "Ended", outcome: { _tag: "Paused", asked: pad.asked, ...pad.voids } }
  }
  if (attempt.stopped !== undefined) return { _tag: "Ended", outcome: { _tag: "Stopped", error: attempt.stopped } }
  if (Exit.isSuccess(exit)) {
    if (task.node.body._tag === "Graph") return { _tag: "Graph", exit: exit.value as GraphExit }
    return isPromise(exit.value)
      ? { _tag: "Ended", outcome: failed(Cause.die(promised(`node "${task.node.name}"`, exit.value, asEffect))) }
      : { _tag: "Returned", value: exit.value }
  }
  const error = Option.getOrThrow(Cause.findErrorOption(exit.cause))
  if (error instanceof Command.ParentCommand) {
    return {
      _tag: "Ended",
      outcome: { _tag: "Parent", commands: [Command.make({ update: error.update as object, goto: error.goto as [] })] }
    }
  }
  if (error instanceof Steering) {
    // A function has no nodes that could be steered: the commands are for the graph around it.
    return attempt.isOfFunction
      ? { _tag: "Ended", outcome: { _tag: "Parent", commands: error.commands } }
      : { _tag: "Returned", value: error.commands }
  }
  return { _tag: "Error", error, cause: exit.cause }
}

const attemptOnce = (task: Task, attempt: Attempt): Erased<Attempted> => {
  let body: unknown
  try {
    body = bodyEffect(task, attempt)
  } catch (defect) {
    return Effect.succeed({ _tag: "Ended", outcome: failed(Cause.die(defect)) })
  }
  if (!Effect.isEffect(body)) return Effect.succeed(concludeAttempt(task, attempt, Exit.succeed(body)))
  if (Exit.isExit(body)) return Effect.succeed(concludeAttempt(task, attempt, body as Exit.Exit<unknown, unknown>))
  const effect = withTimeouts(provide(body as Erased<unknown>, attempt), task, attempt)
  return Effect.matchCause(effect, {
    onFailure: (cause) => concludeAttempt(task, attempt, Exit.failCause(cause)),
    onSuccess: (value) => concludeAttempt(task, attempt, Exit.succeed(value))
  })
}

// ---------------------------------------------------------------------------
// Attempts
// ---------------------------------------------------------------------------

/** Failures that trying again does not mend: a graph inside the task has them, or its node called one. */
const isFinal = (error: unknown): boolean => isEngineError(error) && !(error instanceof NodeTimeout)

type Step = (error: unknown) => Effect.Effect<boolean>

/** Waits as a policy says; whether there is another attempt. */
const stepOf = (policy: Policy.Retry): Effect.Effect<Step> =>
  Effect.map(
    Schedule.toStepWithSleep(policy.schedule),
    (next): Step => (error) => Effect.match(next(error), { onFailure: () => false, onSuccess: () => true })
  )

/** Whether a policy is for a failure. */
const isFor = (policy: Policy.Retry, error: unknown, node: string): boolean => {
  const is: unknown = policy.while(error)
  if (isPromise(is)) throw promised(`the retry of node "${node}"`, is, "`while` tells at once")
  return Boolean(is)
}

interface Tried {
  readonly attempted: Attempted
  readonly attempt: Attempt
}

const tryUntilDone: (run: GraphRun, task: Task) => Erased<Tried> = Effect.fnUntraced(
  function*(run: GraphRun, task: Task) {
    const policies = task.node.retry
    const started = yield* Clock.currentTimeMillis
    const steps = new Map<Policy.Retry, Step>()
    for (let count = 1;; count++) {
      const attempt = new Attempt(run, task, count, started)
      const attempted = yield* attemptOnce(count === 1 ? task : anew(run.program, run.checkpoint, task), attempt)
      if (attempted._tag !== "Error" || isFinal(attempted.error)) return { attempted, attempt }
      const policy = policies.find((one) => isFor(one, attempted.error, task.node.name))
      if (policy === undefined) return { attempted, attempt }
      let step = steps.get(policy)
      if (step === undefined) steps.set(policy, step = yield* stepOf(policy))
      if (!(yield* step(attempted.error))) return { attempted, attempt }
      run.counts.retries++
    }
  }
) as (run: GraphRun, task: Task) => Erased<Tried>

interface Handled extends Tried {
  readonly isHandled: boolean
}

/** Hands a failure that no retry is left for to the node's handler. */
const handle = (run: GraphRun, task: Task, tried: Tried): Erased<Handled> => {
  const { attempted } = tried
  const { onError } = task.node
  if (attempted._tag !== "Error" || onError === undefined) return Effect.succeed({ ...tried, isHandled: false })
  const attempt = new Attempt(run, task, tried.attempt.attempt, tried.attempt.firstAttemptMillis, true)
  const handler: Task = {
    ...anew(run.program, run.checkpoint, task),
    node: { ...task.node, body: { _tag: "Run", run: (input) => onError(attempted.error, input) }, timeout: undefined }
  }
  return Effect.map(attemptOnce(handler, attempt), (handled) => ({ attempted: handled, attempt, isHandled: true }))
}

// ---------------------------------------------------------------------------
// Outcome
// ---------------------------------------------------------------------------

const doneWith = (
  update: unknown,
  graphs: Graphs,
  cached: boolean,
  collect: () => Result.Result<ReadonlyArray<Write>, WriteError>
): Outcome => {
  try {
    const writes = collect()
    return Result.isSuccess(writes)
      ? { _tag: "Done", writes: writes.success, update, graphs, cached }
      : failed(Cause.fail(writes.failure))
  } catch (defect) {
    // A route or a schema of the user's threw.
    return failed(Cause.die(defect))
  }
}

const done = (run: GraphRun, task: Task, update: unknown, graphs: Graphs, isHandled: boolean): Outcome =>
  doneWith(update, graphs, false, () => writesOf(run.program, run.checkpoint.cells, task.node, update, isHandled))

/** The answers that a task, and the graphs inside it, were given before this superstep. */
export const answersTo = (run: GraphRun, id: string): Answers => {
  const record = run.session?.place.records.get(id)
  if (record === undefined || record.status === "done") return new Map()
  // All answers stand at the root; a task inside a graph finds those to its own questions there.
  return record.status === "failed"
    ? record.answers
    : new Map([...record.answers, ...run.shared.answers.to(record.requests)])
}

/**
 * A task that ends without having asked again what it was answered: the answer is void, and the task runs again without it. If it pauses or
 * fails before, the answer waits; if an error handler ends it, the handler's own questions count.
 */
const checked = (run: GraphRun, task: Task, outcome: Outcome, isHandled: boolean): Outcome => {
  if (run.shared.answers.size === 0 || (outcome._tag !== "Done" && outcome._tag !== "Parent")) return outcome
  const left = run.shared.answers.left(answersTo(run, task.id), isHandled)
  if (left.length === 0) return outcome
  const mismatches = left.map(([, { payload, tag }]) =>
    new InterruptMismatch({ reason: "NotAsked", node: task.node.name, tag, answered: JSON.parse(payload) as unknown })
  )
  return { _tag: "Paused", asked: [], voided: left.map(([id]) => id), mismatches }
}

const outcomeOf = (run: GraphRun, task: Task, tried: Handled, handUp: HandUp): Outcome =>
  checked(run, task, endOf(run, task, tried, handUp), tried.isHandled)

/** In the order of their places, whichever was done first. */
const graphsOf = ({ graphs }: Attempt): Graphs => [...graphs].sort(([a], [b]) => a < b ? -1 : 1)

const endOf = (run: GraphRun, task: Task, { attempt, attempted, isHandled }: Handled, handUp: HandUp): Outcome => {
  switch (attempted._tag) {
    case "Returned":
      return done(run, task, attempted.value, graphsOf(attempt), isHandled)
    case "Error":
      return failed(attempted.cause)
    case "Ended":
      return attempted.outcome
    case "Graph": {
      const { exit } = attempted
      if (exit._tag === "Paused" || exit._tag === "Stopped") return exit
      const commands = exit._tag === "Parent" ? exit.commands : []
      const output = [...handUp(run.program, exit), ...commands]
      return done(run, task, output.length === 1 ? output[0] : output, graphsOf(attempt), false)
    }
  }
}

/** The updates that a nested graph hands to the graph around it. */
export type HandUp = (parent: Program, exit: GraphExit & { readonly _tag: "Done" | "Parent" }) => ReadonlyArray<unknown>

const isPlain = (task: Task): boolean =>
  task.node.retry.length === 0 && task.node.onError === undefined && task.node.cache === undefined

/** Runs a task to its outcome. */
export const runTask = (run: GraphRun, task: Task, handUp: HandUp): Erased<Outcome> => {
  // A policy's own function that throws is a defect of this task alone.
  if (!isPlain(task)) {
    return Effect.catchCause(runWithPolicies(run, task, handUp), (cause) => Effect.succeed(failed(cause)))
  }
  const attempt = new Attempt(run, task, 1, undefined)
  const attempted = attemptOnce(task, attempt)
  return Effect.map(attempted, (attempted) => outcomeOf(run, task, { attempted, attempt, isHandled: false }, handUp))
}

const runWithPolicies: (run: GraphRun, task: Task, handUp: HandUp) => Erased<Outcome> = Effect.fnUntraced(
  function*(run: GraphRun, task: Task, handUp: HandUp) {
    const entry = cacheEntry(run, task)
    if (entry !== undefined) {
      const hit = yield* entry.cache.get(entry.scope, entry.key)
      const cached = Option.isSome(hit) ? cachedOutcome(run, task, entry, hit.value) : undefined
      if (cached !== undefined) return cached
    }
    const tried = yield* tryUntilDone(run, task)
    const handled = yield* handle(run, task, tried)
    const outcome = outcomeOf(run, task, handled, handUp)
    // What a person answered once is no answer for the next time.
    if (entry !== undefined && outcome._tag === "Done" && !handled.isHandled && !handled.attempt.isAnswered) {
      // Without where the edges lead: that depends on the state, of which the node may read a part.
      const written = writesOf(run.program, run.checkpoint.cells, task.node, outcome.update, true)
      const text = Result.flatMap(written, (writes) => keptText(run.program, [entry.scope, entry.key], writes))
      if (Result.isSuccess(text)) {
        yield* entry.cache.set(entry.scope, entry.key, text.success, task.node.cache!.ttlMillis)
      }
    }
    return outcome
  }
) as (run: GraphRun, task: Task, handUp: HandUp) => Erased<Outcome>

// ---------------------------------------------------------------------------
// Cache
// ---------------------------------------------------------------------------

// Two graphs may look alike and do different things: each definition has a name of its own, in this process only.
const definitions = new WeakMap<Program, string>()

/** Names the results of a node. Without an id of its own, nothing but this very definition of the graph shares them. */
const cacheScope = (program: Program, node: string, id: string | undefined): string => {
  if (id !== undefined) return id
  let definition = definitions.get(program)
  if (definition === undefined) definitions.set(program, definition = globalThis.crypto.randomUUID())
  return JSON.stringify([definition, node])
}

interface Entry {
  readonly cache: NodeCacheShape
  readonly scope: string
  readonly key: string
}

/** What callers without types may give. */
const asText = (key: unknown, node: string): string => {
  if (typeof key === "string") return key
  const who = `the cache key of node "${node}"`
  throw isPromise(key)
    ? promised(who, key, "compute it from the input")
    : new Error(`${who} is no text: ${quoted(key)}`)
}

const cacheEntry = (run: GraphRun, task: Task): Entry | undefined => {
  const { cache } = run.shared
  const policy = task.node.cache
  // Who was answered has to see the answer.
  if (cache === undefined || policy === undefined || answersTo(run, task.id).size > 0) return undefined
  const encoded = policy.key !== undefined
    ? Result.succeed(asText(policy.key(task.input), task.node.name))
    : Result.map(task.node.input.encode(task.input), (json) => canonical(json))
  if (Result.isFailure(encoded)) return undefined
  return { cache, scope: cacheScope(run.program, task.node.name, policy.id), key: hash(encoded.success) }
}

/** What is kept as an outcome of the task. What cannot be read, or written by this graph, is not kept. */
const cachedOutcome = (run: GraphRun, task: Task, { key, scope }: Entry, text: string): Outcome | undefined => {
  const kept = keptWrites(run.program, [scope, key], text)
  if (Result.isFailure(kept)) return undefined
  const writes = kept.success
  return doneWith(
    updateOf(run.program, writes),
    [],
    true,
    () => withRouting(run.program, run.checkpoint.cells, task.node, writes)
  )
}
