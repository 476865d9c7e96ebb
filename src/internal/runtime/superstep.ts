/**
 * One superstep: runs its tasks as fibers, collects one outcome each, and
 * decides what the superstep comes to. Nothing here folds or commits.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { PendingRequest } from "../../Checkpoint.ts"
import type * as Event from "../../Event.ts"
import { NodeTimeout } from "../../GraphError.ts"
import type { Task } from "../engine/plan.ts"
import { INPUT, type Program, TASKS } from "../engine/program.ts"
import type { Answers, StoredRequest, TaskRecord } from "../engine/stored.ts"
import { updateOf } from "../engine/writes.ts"
import { offerTraced, wants } from "./events.ts"
import { handUp } from "./handUp.ts"
import { eventOf } from "./origin.ts"
import { decodeRequest, showRequest } from "./requests.ts"
import type { Asked } from "./scratchpad.ts"
import { observedTask } from "./spans.ts"
import { answersTo, type Erased, type GraphRun, type Outcome, runTask } from "./task.ts"
import { bounded } from "./timeouts.ts"

export type Outcomes = ReadonlyMap<string, Outcome>

const isFailure = (outcome: Outcome): boolean => outcome._tag === "Failed"

// ---------------------------------------------------------------------------
// Events
// ---------------------------------------------------------------------------

const triggersOf = (program: Program, task: Task): ReadonlyArray<string> =>
  task.kind === "send" ? [TASKS] : task.node.triggers.map((c) => program.channels[c]!.name)

const isHidden = (task: Task): boolean => task.node.body._tag === "Start"

/** Says that tasks begin, in task order. */
export const announce = (run: GraphRun, tasks: ReadonlyArray<Task>): Effect.Effect<void> => {
  const { sink } = run.shared
  if (!wants(sink, "tasks", run.path)) return Effect.void
  const origin = { path: run.path, step: run.checkpoint.step + 1 }
  return Effect.forEach(tasks.filter((task) => !isHidden(task)), (task) =>
    offerTraced(
      sink,
      eventOf(run.program, {
        mode: "tasks",
        type: "started",
        ...origin,
        id: task.id,
        node: task.node.name,
        input: run.program.kind === "function" ? (task.input as Readonly<Record<string, unknown>>)[INPUT] : task.input,
        triggers: triggersOf(run.program, task)
      })
    ), { discard: true })
}

/** What a task wrote, as it is in the state. One that returned nothing has written nothing. */
const written = (run: GraphRun, { update, writes }: Outcome & { readonly _tag: "Done" }): unknown =>
  updateOf(run.program, writes) ??
    (update === undefined || update === null || run.program.kind === "function" ? undefined : {})

const endedEvent = (run: GraphRun, task: Task, outcome: Outcome): Event.TaskEnded =>
  eventOf(run.program, {
    mode: "tasks",
    type: "ended",
    path: run.path,
    step: run.checkpoint.step + 1,
    id: task.id,
    node: task.node.name,
    result: outcome._tag === "Done" ? written(run, outcome) : undefined,
    error: outcome._tag === "Failed" ? errorText(outcome.cause) : undefined,
    requests: outcome._tag === "Paused" ? outcome.asked.map(({ request }) => showRequest(request)) : []
  })

/** Says what a task came to, when it has. */
export const report = (run: GraphRun, task: Task, outcome: Outcome): Effect.Effect<void> => {
  const { sink } = run.shared
  if (sink === undefined || isHidden(task)) return Effect.void
  const updates = wants(sink, "updates", run.path) && sink.modes.has("updates") && outcome._tag === "Done"
    ? sink.offer(eventOf(run.program, {
      mode: "updates",
      path: run.path,
      step: run.checkpoint.step + 1,
      node: task.node.name,
      update: written(run, outcome),
      cached: outcome.cached
    }))
    : Effect.void
  return wants(sink, "tasks", run.path) && !(outcome._tag === "Done" && outcome.cached)
    ? Effect.andThen(updates, offerTraced(sink, endedEvent(run, task, outcome)))
    : updates
}

/** The text of a failure, for records and events. */
export const errorText = (cause: Cause.Cause<unknown>): string => {
  const reason = cause.reasons[0]
  if (reason === undefined) return "interrupted"
  try {
    return reasonText(reason)
  } catch {
    // Errors of users are anything: their getters may throw.
    return "an error that has no text"
  }
}

const reasonText = (reason: Cause.Reason<unknown>): string => {
  const error = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : "interrupted"
  if (!(error instanceof Error)) return typeof error === "string" ? error : safeJson(error)
  const tag = "_tag" in error && typeof error._tag === "string" ? error._tag : error.name
  return error.message === "" || error.message === tag ? tag : `${tag}: ${error.message}`
}

const safeJson = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return String(value)
  }
}

// ---------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------

/** The record of an outcome, as it is kept beside the checkpoint. */
export const recordOf = (outcome: Outcome, answers: Answers): TaskRecord | undefined => {
  switch (outcome._tag) {
    case "Done":
      return { status: "done", writes: outcome.writes, graphs: outcome.graphs }
    case "Paused":
      return {
        status: "paused",
        requests: outcome.asked.map(({ stored }) => stored),
        answers: new Map([...answers].filter(([id]) => !outcome.voided.includes(id))),
        graphs: []
      }
    case "Failed":
      return { status: "failed", error: errorText(outcome.cause), answers, graphs: [] }
    case "Parent":
    case "Stopped":
    case "Fault":
      return undefined
  }
}

/** Takes in what a task came to: makes it durable if it has siblings, and reports it then. A pause is reported when all of it is durable. */
const takeIn = (
  run: GraphRun,
  task: Task,
  outcome: Outcome,
  outcomes: Map<string, Outcome>,
  isAlone: boolean
): Erased<Outcome> => {
  outcomes.set(task.id, outcome)
  run.counts.tasks++
  if (outcome._tag === "Paused") run.counts.pauses++
  const { session, shared: { sink } } = run
  const record = session === undefined || (isAlone && outcome._tag === "Done")
    ? undefined
    : recordOf(outcome, answersTo(run, task.id))
  const told = sink === undefined || outcome._tag === "Paused" ? Effect.void : report(run, task, outcome)
  if (record === undefined) return Effect.as(told, outcome)
  session!.remember(task.id, record)
  const stored = session!.acknowledge(task.id, record)
  return Effect.as(sink === undefined ? stored : Effect.andThen(Effect.andThen(stored, session!.settle), told), outcome)
}

/** One task, run and taken in. */
const settleTask = (run: GraphRun, task: Task, outcomes: Map<string, Outcome>, isAlone: boolean): Erased<Outcome> =>
  Effect.flatMap(
    observedTask(run, task, runTask(run, task, handUp)),
    (outcome) =>
      outcome._tag === "Fault" ? Effect.failCause(outcome.cause) : takeIn(run, task, outcome, outcomes, isAlone)
  )

/** A storage failure while tasks run ends the superstep: no node is to blame. */
class Halt {
  cause: Cause.Cause<unknown> | undefined = undefined
}

const runMany = (
  run: GraphRun,
  tasks: ReadonlyArray<Task>,
  outcomes: Map<string, Outcome>,
  halt: Halt
): Erased<void> => {
  const stops = run.limits.onFailure === "interrupt"
  const each = (task: Task): Erased<void> =>
    Effect.matchCauseEffect(Effect.suspend(() => settleTask(run, task, outcomes, false)), {
      onFailure: (cause) => {
        halt.cause ??= cause
        return Effect.fail("stop" as const)
      },
      onSuccess: (outcome) => stops && isFailure(outcome) ? Effect.fail("stop" as const) : Effect.void
    })
  // Not Effect.ignore: a defect in the finalizer of an interrupted sibling turns "stop" into a defect.
  const all = Effect.exit(
    Effect.forEach(tasks, each, { concurrency: run.limits.concurrency ?? "unbounded", discard: true })
  )
  return Effect.map(all, (exit) => {
    // Somebody else ended a task: without this the superstep would go on as if that task had never been.
    if (Exit.isFailure(exit) && halt.cause === undefined && ![...outcomes.values()].some(isFailure)) {
      halt.cause = exit.cause
    }
  })
}

const runAlone = (run: GraphRun, task: Task, outcomes: Map<string, Outcome>): Erased<void> =>
  Effect.asVoid(settleTask(run, task, outcomes, true))

const withSuperstepTimeout = (
  run: GraphRun,
  tasks: ReadonlyArray<Task>,
  outcomes: Map<string, Outcome>,
  effect: Erased<void>
): Erased<void> => {
  const millis = run.limits.superstepMillis
  if (millis === undefined) return effect
  const late = () => tasks.filter((task) => !outcomes.has(task.id))
  let expired: NodeTimeout | undefined
  const error = (elapsedMillis: number) =>
    expired = new NodeTimeout({
      kind: "superstep",
      nodes: late().map((task) => task.node.name),
      timeoutMillis: millis,
      elapsedMillis
    })
  return Effect.catch(bounded(effect, { waits: run.shared.sink?.waits, millis, error }), (failure) => {
    if (failure !== expired) return Effect.fail(failure)
    const cause = Cause.fail(expired)
    return Effect.forEach(late(), (task) => takeIn(run, task, { _tag: "Failed", cause }, outcomes, false), {
      discard: true
    })
  }) as Erased<void>
}

/** Runs the tasks that have to run. Tasks that were interrupted, or not started, have no outcome. */
export const execute = (run: GraphRun, tasks: ReadonlyArray<Task>): Erased<Outcomes> =>
  Effect.suspend(() => {
    const outcomes = new Map<string, Outcome>()
    const halt = new Halt()
    const isAlone = tasks.length === 1 && (run.session === undefined || run.session.place.records.size === 0)
    const all = isAlone ? runAlone(run, tasks[0]!, outcomes) : runMany(run, tasks, outcomes, halt)
    return Effect.flatMap(withSuperstepTimeout(run, tasks, outcomes, all), () =>
      halt.cause === undefined ? Effect.succeed(outcomes as Outcomes) : Effect.failCause(halt.cause))
  })

// ---------------------------------------------------------------------------
// What it comes to
// ---------------------------------------------------------------------------

/**
 * The failure of a superstep: the first in task order, with the others in its cause, and after them why answers are void. A
 * sibling's defect stays out of the cause of a typed failure, which it would turn into a defect.
 */
export const failureOf = (tasks: ReadonlyArray<Task>, outcomes: Outcomes): Cause.Cause<unknown> | undefined => {
  const ended = tasks.flatMap((task) => outcomes.get(task.id) ?? [])
  const causes = ended.flatMap((outcome) => outcome._tag === "Failed" ? [outcome.cause] : [])
  const first = causes[0]
  if (first === undefined) return undefined
  const isTyped = first.reasons.every(Cause.isFailReason)
  const voids = ended.flatMap((outcome) => outcome._tag === "Paused" ? outcome.mismatches.map(Cause.fail) : [])
  // The tasks that a superstep timeout ended share one cause.
  const others = [...new Set(causes)].slice(1).filter((cause) => !isTyped || cause.reasons.every(Cause.isFailReason))
  return [...others, ...voids].reduce(
    (left, right) => Cause.combine(left, right),
    first
  )
}

/** Stored requests as they were asked, where their definition is known in this process. */
export const askedOf = (stored: ReadonlyArray<StoredRequest>): ReadonlyArray<Asked> =>
  stored.map((one) => ({ stored: one, request: decodeRequest(one) }))

export const pendingOf = (asked: ReadonlyArray<Asked>): ReadonlyArray<PendingRequest> =>
  asked.map(({ request }) => showRequest(request))
