/**
 * The loop around the pure phases: plan, run the tasks, fold their writes in
 * task order, commit, repeat. A graph inside a task is the same loop, one level
 * down.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Source } from "../../Checkpoint.ts"
import {
  CheckpointError,
  GraphBreakpoint,
  GraphDrained,
  NodeTimeout,
  RecursionLimit,
  ReplayMismatch,
  ThreadConflict,
  ThreadDeleted
} from "../../GraphError.ts"
import { applyWrites, type TaskWrites } from "../engine/apply.ts"
import { type Checkpoint, initial, output as outputOf, values } from "../engine/checkpoint.ts"
import { hash } from "../engine/hash.ts"
import { completeAt, type DoneRecord, fed, inputRecords, isOf, originOf, pickInput } from "../engine/inputs.ts"
import { type Inside, isRoot, placeKey, segmentOf, within } from "../engine/namespace.ts"
import { INPUT_TASK, plan, stalledJoin, type Task } from "../engine/plan.ts"
import { INPUT_NODE, type Program } from "../engine/program.ts"
import { emptyPlace, type Graphs, handedUp, type Place, type TaskRecord } from "../engine/stored.ts"
import { updateOf, type Write } from "../engine/writes.ts"
import { itemsOf } from "../growing.ts"
import { offerTraced, wants } from "./events.ts"
import { Counts } from "./metrics.ts"
import { eventOf } from "./origin.ts"
import { isAlive, isFault, load, type ReadError, Session, whole } from "./session.ts"
import { observedSuperstep } from "./spans.ts"
import { announce, askedOf, execute, failureOf, type Outcomes, recordOf, report } from "./superstep.ts"
import {
  type Erased,
  type GraphExit,
  type GraphRun,
  type Nest,
  type NestedCall,
  type Outcome,
  superstepId
} from "./task.ts"
import { bounded, type Waits } from "./timeouts.ts"

// ---------------------------------------------------------------------------
// Where a superstep starts
// ---------------------------------------------------------------------------

const nextNames = (tasks: ReadonlyArray<Task>): ReadonlyArray<string> => tasks.map((task) => task.node.name)

const isStop = (names: ReadonlyArray<string>, task: Task): boolean =>
  task.node.body._tag !== "Start" && (names.includes("*") || names.includes(task.node.name))

// ---------------------------------------------------------------------------
// Committing
// ---------------------------------------------------------------------------

interface Finished {
  readonly id: string
  readonly task: Task | undefined
  readonly record: DoneRecord
}

const toTaskWrites = ({ id, record, task }: Finished): TaskWrites => ({
  id,
  name: task?.node.name ?? INPUT_NODE,
  woken: task?.kind === "pull" ? task.node : undefined,
  writes: record.writes
})

/** Emits what a new checkpoint shows. */
const show = (run: GraphRun, before: Checkpoint, source: Source, parent: string | undefined): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { path, program, shared: { sink } } = run
    const { checkpoint } = run
    const origin = { path, step: checkpoint.step }
    const { output } = program
    const shown = output._tag === "Value" ? [output.channel] : program.state
    const hasChanged = shown.some((c) => checkpoint.versions[c] !== before.versions[c])
    const emitValues = wants(sink, "values", path) && sink.modes.has("values") && source !== "input" && hasChanged
      ? sink.offer(eventOf(program, { mode: "values", ...origin, values: shownValues(program, checkpoint) }))
      : Effect.void
    if (!wants(sink, "checkpoints", path)) return emitValues
    return Effect.andThen(
      emitValues,
      offerTraced(
        sink,
        eventOf(program, {
          mode: "checkpoints",
          ...origin,
          checkpoint: run.session?.place.id,
          parent,
          source,
          values: values(program, checkpoint),
          next: nextNames(plan(program, checkpoint))
        })
      )
    )
  })

/** The state as a stream shows it: the keys of the output, or the only channel that is it. */
const shownValues = (program: Program, checkpoint: Checkpoint): unknown =>
  program.output._tag === "Value"
    ? outputOf(program, checkpoint)
    : valuesAt(program, checkpoint, program.output.channels)

const valuesAt = (program: Program, checkpoint: Checkpoint, channels: ReadonlyArray<number>): unknown => {
  const all = values(program, checkpoint)
  return Object.freeze(Object.fromEntries(
    channels.map((c) => program.channels[c]!.name).filter((name) => Object.hasOwn(all, name)).map((
      name
    ) => [name, all[name]])
  ))
}

/** Makes a checkpoint current, durable, and seen. */
export const advance = (
  run: GraphRun,
  next: Checkpoint,
  source: Source,
  finished: ReadonlyArray<Finished>,
  options?: { readonly isWhole?: boolean; readonly records?: ReadonlyMap<string, TaskRecord> }
): Erased<void> => {
  const before = run.checkpoint
  const { session } = run
  const parent = session?.place.id
  const emit = Effect.suspend(() => {
    // Where a graph stands inside a task is named by the checkpoint before.
    run.nested.clear()
    run.checkpoint = next
    return run.shared.sink === undefined ? Effect.void : show(run, before, source, parent)
  })
  if (session === undefined) return emit
  const commit = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    session.commit(
      {
        source,
        checkpoint: next,
        tasks: finished,
        records: options?.records ?? new Map(),
        isWhole: options?.isWhole ?? false
      },
      now
    ))
  return Effect.andThen(commit, emit)
}

// ---------------------------------------------------------------------------
// The loop
// ---------------------------------------------------------------------------

const flush = (run: GraphRun): Erased<void> =>
  run.session === undefined ? Effect.void : Effect.flatMap(Clock.currentTimeMillis, (now) => run.session!.exit(now))

/** Tasks that have to run: those without a result, and of the paused ones those that have got an answer. */
const toRun = (run: GraphRun, tasks: ReadonlyArray<Task>): ReadonlyArray<Task> => {
  const records = run.session?.place.records
  if (records === undefined || records.size === 0) return tasks
  return tasks.filter((task) => {
    const record = records.get(task.id)
    if (record === undefined || record.status === "failed") return true
    if (record.status !== "paused") return false
    // A pause without questions is one whose graph was updated from outside.
    return record.requests.length === 0 || record.requests.some(({ id }) => run.shared.answers.has(id))
  })
}

/** What each task has come to: now, or before. */
const recordsOf = (run: GraphRun, tasks: ReadonlyArray<Task>, outcomes: Outcomes): ReadonlyMap<string, TaskRecord> => {
  const records = new Map<string, TaskRecord>()
  for (const task of tasks) {
    const outcome = outcomes.get(task.id)
    const record = run.session?.adopted.get(task.id) ?? (outcome === undefined
      ? run.session?.place.records.get(task.id)
      : recordOf(outcome, new Map()))
    if (record !== undefined) records.set(task.id, record)
  }
  return records
}

const finishedOf = (
  run: GraphRun,
  tasks: ReadonlyArray<Task>,
  records: ReadonlyMap<string, TaskRecord>
): ReadonlyArray<Finished> => {
  const finished: Array<Finished> = []
  if (run.session !== undefined) {
    for (const [id, record] of inputRecords(run.session.place)) finished.push({ id, task: undefined, record })
  }
  for (const task of tasks) {
    const record = records.get(task.id)
    if (record?.status === "done") finished.push({ id: task.id, task, record })
  }
  return finished
}

type Exiting = Effect.Effect<GraphExit, unknown>

/** The pause of a superstep: everything that its tasks ask, in task order. */
const pausedExit = (run: GraphRun, tasks: ReadonlyArray<Task>, outcomes: Outcomes): GraphExit | undefined => {
  const asked = tasks.flatMap((task) => {
    const outcome = outcomes.get(task.id)
    if (outcome !== undefined) return outcome._tag === "Paused" ? outcome.asked : []
    const record = run.session?.place.records.get(task.id)
    return record?.status === "paused" ? askedOf(record.requests) : []
  })
  const paused = ofKind(tasks, outcomes, "Paused")
  const mismatches = paused.flatMap((outcome) => outcome.mismatches)
  return asked.length === 0 && mismatches.length === 0
    ? undefined
    : { _tag: "Paused", asked, voided: paused.flatMap((outcome) => outcome.voided), mismatches }
}

const ofKind = <K extends Outcome["_tag"]>(tasks: ReadonlyArray<Task>, outcomes: Outcomes, kind: K) =>
  tasks.flatMap((task) => {
    const outcome = outcomes.get(task.id)
    return outcome?._tag === kind ? [outcome as Outcome & { readonly _tag: K }] : []
  })

/** How a superstep ends the run of its graph, if it does: failure, pause, stop, command for the parent, in this order. */
const endOf = (run: GraphRun, tasks: ReadonlyArray<Task>, outcomes: Outcomes): Exiting | undefined => {
  const cause = failureOf(tasks, outcomes)
  if (cause !== undefined) return Effect.failCause(cause)
  const paused = pausedExit(run, tasks, outcomes)
  if (paused !== undefined) return Effect.succeed(paused)
  const stopped = ofKind(tasks, outcomes, "Stopped")[0]
  if (stopped !== undefined) return Effect.succeed({ _tag: "Stopped", error: stopped.error })
  const parents = ofKind(tasks, outcomes, "Parent")
  if (parents.length === 0) return undefined
  // Siblings that finished have written: what they wrote goes up with the commands.
  const finished = finishedOf(run, tasks, recordsOf(run, tasks, outcomes))
  const folded = applyWrites(run.program, run.checkpoint, finished.map(toTaskWrites), {
    isSuperstep: true,
    step: run.checkpoint.step + 1
  })
  return Effect.map(Effect.fromResult(folded), (checkpoint): GraphExit => ({
    _tag: "Parent",
    commands: parents.flatMap(({ commands }) => commands),
    program: run.program,
    checkpoint,
    up: [...upOf(run), ...handedUp(run.program, finished.map(({ id, record }) => ({ id, writes: record.writes })))],
    head: headOf(run)
  }))
}

/** What the nodes of a nested graph have written so far. */
const upOf = (run: GraphRun): ReadonlyArray<Write> => run.session === undefined ? run.up : itemsOf(run.session.place.up)

const noteUp = (run: GraphRun, finished: ReadonlyArray<Finished>): void => {
  if (run.session !== undefined || isRoot(run.namespace)) return
  for (const write of handedUp(run.program, finished.map(({ id, record }) => ({ id, writes: record.writes })))) {
    run.up.push(write)
  }
}

const doneExit = (run: GraphRun): GraphExit => ({
  _tag: "Done",
  program: run.program,
  checkpoint: run.checkpoint,
  up: upOf(run),
  head: headOf(run)
})

const headOf = (run: GraphRun): Graphs => {
  const id = run.session?.place.id
  return id === undefined || isRoot(run.namespace) ? [] : [[run.namespace, id]]
}

const breakBefore = (run: GraphRun, tasks: ReadonlyArray<Task>): GraphExit | undefined => {
  const { before } = run.limits
  if (before.length === 0 || run.checkpoint.version <= run.checkpoint.stopped) return undefined
  const nodes = tasks.filter((task) => isStop(before, task))
  return nodes.length === 0
    ? undefined
    : {
      _tag: "Stopped",
      error: new GraphBreakpoint({ when: "before", nodes: nextNames(nodes), next: nextNames(tasks) })
    }
}

const breakAfter = (run: GraphRun, tasks: ReadonlyArray<Task>): GraphExit | undefined => {
  const { after } = run.limits
  if (after.length === 0) return undefined
  const nodes = tasks.filter((task) => isStop(after, task))
  const next = nodes.length === 0 ? [] : plan(run.program, run.checkpoint)
  return next.length === 0
    ? undefined
    : { _tag: "Stopped", error: new GraphBreakpoint({ when: "after", nodes: nextNames(nodes), next: nextNames(next) }) }
}

/** What ends a run before its next superstep. */
const barred = (run: GraphRun, tasks: ReadonlyArray<Task>): Exiting | undefined => {
  if (tasks.length === 0) {
    const stalled = stalledJoin(run.program, run.checkpoint)
    return stalled === undefined ? Effect.succeed(doneExit(run)) : Effect.fail(stalled)
  }
  const next = nextNames(tasks)
  // What a function that is running calls belongs to its superstep.
  if (run.shared.drain !== undefined && run.program.kind !== "function") {
    return Effect.succeed({ _tag: "Stopped", error: new GraphDrained({ reason: run.shared.drain, next }) })
  }
  const isUser = tasks.some((task) => task.node.body._tag !== "Start")
  if (isUser && run.stepsLeft < 1) return Effect.fail(new RecursionLimit({ limit: run.limits.recursionLimit, next }))
  const stop = breakBefore(run, tasks)
  return stop === undefined ? undefined : Effect.succeed(stop)
}

/** Shows the results of tasks that had finished before a resume. */
const reportKept = (run: GraphRun, tasks: ReadonlyArray<Task>, todo: ReadonlyArray<Task>): Effect.Effect<void> => {
  if (run.shared.sink === undefined || todo.length === tasks.length) return Effect.void
  const runs = new Set(todo)
  return Effect.forEach(tasks, (task) => {
    const record = run.session?.place.records.get(task.id)
    if (record?.status !== "done" || runs.has(task)) return Effect.void
    const update = updateOf(run.program, record.writes)
    return report(run, task, { _tag: "Done", writes: record.writes, update, graphs: record.graphs, cached: true })
  }, { discard: true })
}

/** The superstep of these tasks; the exit of the graph if it ends here. */
const superstepOf: (run: GraphRun, tasks: ReadonlyArray<Task>) => Erased<GraphExit | undefined> = Effect.fnUntraced(
  function*(run: GraphRun, tasks: ReadonlyArray<Task>) {
    const todo = toRun(run, tasks)
    if (run.shared.sink !== undefined) {
      yield* reportKept(run, tasks, todo)
      yield* announce(run, todo)
    }
    const outcomes = yield* execute(run, todo)
    if (run.session !== undefined) yield* run.session.settle
    const ending = endOf(run, tasks, outcomes)
    if (ending !== undefined) {
      const paused = run.shared.sink === undefined
        ? []
        : tasks.filter((task) => outcomes.get(task.id)?._tag === "Paused")
      if (paused.length > 0) {
        yield* flush(run)
        yield* Effect.forEach(paused, (task) => report(run, task, outcomes.get(task.id)!), { discard: true })
      }
      return yield* ending
    }
    const finished = finishedOf(run, tasks, recordsOf(run, tasks, outcomes))
    const next = yield* Effect.fromResult(
      applyWrites(run.program, run.checkpoint, finished.filter(({ task }) => task !== undefined).map(toTaskWrites), {
        isSuperstep: true,
        step: run.checkpoint.step + 1
      })
    )
    if (tasks.some((task) => task.node.body._tag !== "Start")) run.stepsLeft--
    run.counts.supersteps++
    if (run.holder !== undefined) yield* run.holder.heartbeat
    noteUp(run, finished)
    yield* advance(run, next, "loop", finished)
    run.isResumed = false
    return breakAfter(run, tasks)
  }
) as (run: GraphRun, tasks: ReadonlyArray<Task>) => Erased<GraphExit | undefined>

/** One superstep; the exit of the graph if it ends here. */
const superstep = (run: GraphRun): Erased<GraphExit | undefined> =>
  Effect.suspend(() => {
    const tasks = plan(run.program, run.checkpoint)
    return barred(run, tasks) ?? observedSuperstep(run, tasks, superstepOf(run, tasks))
  })

/** Stores what is finished, after a run has ended early. Where storage itself failed there is nothing more to be done. */
const keepWhatIsDone = (run: GraphRun, cause: Cause.Cause<unknown> | undefined): Erased<void> => {
  const { session } = run
  if (session === undefined) return Effect.void
  if (cause !== undefined && isFault(run.shared.thread, cause)) return Effect.ignore(session.settle)
  // In durability `exit` the root stores what there is, with itself.
  const isWithRoot = session.isNested && session.run.durability === "exit"
  return isWithRoot ? session.settle : Effect.andThen(session.settle, flush(run))
}

/** Runs a graph to where it ends. Whatever ends it, what is finished is stored. */
const runToEnd: (run: GraphRun) => Erased<GraphExit> = Effect.fnUntraced(function*(run: GraphRun) {
  const supersteps = Effect.gen(function*() {
    for (;;) {
      const end = yield* superstep(run)
      if (run.counts.isDue) yield* run.counts.tell(run.program.name)
      if (end !== undefined) return end
    }
  })
  const exit = yield* Effect.onInterrupt(
    Effect.catchCause(supersteps, (cause) =>
      Effect.flatMap(Effect.exit(keepWhatIsDone(run, cause)), (kept) =>
        // What could not be kept is told beside why the run ended.
        Effect.failCause(Exit.isFailure(kept) ? Cause.combine(cause, kept.cause) : cause))),
    () => Effect.ignore(keepWhatIsDone(run, undefined))
  )
  if (run.session !== undefined && isStoredNow(run.session, exit)) yield* flush(run)
  return exit
}) as (run: GraphRun) => Erased<GraphExit>

/** Runs a graph from where it stands until it is done, or something ends it. */
export const runLoop = (run: GraphRun): Erased<GraphExit> =>
  Effect.onExit(runToEnd(run), () => run.counts.tell(run.program.name))

/**
 * Whether all that a graph came to is stored before its exit is seen. Of graphs inside a task that is so of pauses; in durability
 * `exit` they are stored with the root.
 */
const isStoredNow = ({ isNested, run }: Session, exit: GraphExit): boolean =>
  !isNested || (run.durability !== "exit" && (exit._tag === "Paused" || exit._tag === "Stopped"))

/** Bounds all that a run does, from its opening on. `begun` is the run, once it stands somewhere. */
export const withRunTimeout = <A>(
  options: { readonly millis: number; readonly waits: Waits | undefined; readonly begun: () => GraphRun | undefined },
  effect: Erased<A>
): Erased<A> => {
  const { begun, millis, waits } = options
  const error = (elapsedMillis: number) => {
    const run = begun()
    const nodes = run === undefined ? [] : nextNames(plan(run.program, run.checkpoint))
    return new NodeTimeout({ kind: "run", nodes, timeoutMillis: millis, elapsedMillis })
  }
  return bounded(effect, { waits, millis, error })
}

// ---------------------------------------------------------------------------
// Inputs
// ---------------------------------------------------------------------------

/** Feeds an input. Nothing is stored if it is wrong. */
export const feed: (run: GraphRun, input: unknown) => Erased<void> = Effect.fnUntraced(
  function*(run: GraphRun, input: unknown) {
    const { checkpoint, hasDropped, record } = yield* Effect.fromResult(fed(run.program, run.checkpoint, input))
    // Beside where a kept graph stood stands what followed there: perhaps in another branch.
    const isElsewhere = run.session !== undefined && !run.session.isAtHead && run.session.place.id !== undefined
    const isWhole = isElsewhere || hasDropped || (run.session?.place.records.size ?? 0) > 0
    yield* advance(run, checkpoint, "input", [{ id: INPUT_TASK, task: undefined, record }], { isWhole })
  }
) as (run: GraphRun, input: unknown) => Erased<void>

// ---------------------------------------------------------------------------
// Graphs inside tasks
// ---------------------------------------------------------------------------

/** A checkpoint of a graph inside a task of this session, which has to be there. */
const loadInside: (around: Session, program: Program, namespace: string, id: string) => Effect.Effect<
  Place,
  ReadError | ThreadConflict | ThreadDeleted
> = Effect.fnUntraced(function*(around: Session, program: Program, namespace: string, id: string) {
  const { branch, life, saver, thread } = around.run
  const found = yield* load(around.run, program, namespace, id)
  if (found._tag === "Some") {
    yield* whole(thread, program, found.value.place)
    return found.value.place
  }
  if (!(yield* isAlive(saver, thread, life))) return yield* new ThreadDeleted({ thread })
  // Somebody was faster, and what this run stands on was pruned.
  const now = yield* saver.head(thread, around.key, branch)
  const at = now._tag === "Some" ? now.value.id : undefined
  if (around.isStored && at !== around.id) {
    return yield* new ThreadConflict({ thread, branch, expected: around.id, found: at })
  }
  const detail = `the checkpoint of the graph at "${namespace}" is missing`
  return yield* new CheckpointError({ reason: "Decode", thread, checkpoint: id, detail })
})

const nestedSession: (
  run: GraphRun,
  task: Task,
  call: NestedCall,
  namespace: string,
  origin: string
) => Erased<Session | undefined> = Effect.fnUntraced(
  function*(run: GraphRun, task: Task, call: NestedCall, namespace: string, origin: string) {
    const { session } = run
    const { thread } = run.shared
    if (session === undefined || thread === undefined || call.persistence === "none") return undefined
    const inside: Inside = [session.id, task.id]
    const key = placeKey(inside, namespace)
    const options = { run: thread, program: call.program, namespace, inside, around: session.key }
    // In durability `exit`: where this run has left it.
    const live = thread.unstored.at(key)
    if (live !== undefined) {
      live.resume()
      return live
    }
    // A task that never ran before has no graph inside it that was stored.
    const hasRun = run.isResumed || run.nested.has(key)
    run.nested.add(key)
    const kept = call.persistence === "thread" ? session.place.graphs.get(namespace) : undefined
    // What is read has to be what was committed last.
    if (thread.durability === "async" && (hasRun || kept !== undefined)) yield* thread.commits.flush
    const head = hasRun ? yield* thread.saver.head(thread.thread, key, thread.branch) : undefined
    if (head?._tag === "Some") {
      const place = yield* loadInside(session, call.program, namespace, head.value.id)
      return new Session({ ...options, place, isAtHead: true })
    }
    if (kept !== undefined) {
      const standing = thread.unstored.standing(namespace, kept)
      if (standing !== undefined) {
        const place = yield* Effect.fromResult(standing.placeFor(call.program))
        return new Session({ ...options, place, isAtHead: false, line: standing.line })
      }
      const place = yield* loadInside(session, call.program, namespace, kept)
      return new Session({ ...options, place, isAtHead: false })
    }
    return new Session({ ...options, place: emptyPlace(call.program, origin), isAtHead: false })
  }
) as (run: GraphRun, task: Task, call: NestedCall, namespace: string, origin: string) => Erased<Session | undefined>

/** The run of a graph inside a task: from its start, or from where it stood if the task runs again. */
const nestedRun: (run: GraphRun, task: Task, call: NestedCall) => Erased<GraphRun> = Effect.fnUntraced(function*(
  run: GraphRun,
  task: Task,
  call: NestedCall
) {
  const segment = segmentOf(task.place, call.key)
  const namespace = within(run.namespace, segment)
  // What it is called with is its own.
  const input = call.key === undefined ? pickInput(call.program, call.input) : call.input
  // Only what is stored has to be told apart.
  const origin = run.session === undefined || call.persistence === "none" ? "" : originOf(call.program, input)
  const session = yield* Effect.tapError(
    nestedSession(run, task, call, namespace, origin),
    (error) => Effect.sync(() => run.shared.thread?.faults.add(error as ReadError))
  )
  const limits = { ...call.program.limits, ...run.shared.overrides }
  const child: GraphRun = {
    shared: run.shared,
    program: call.program,
    session,
    namespace,
    path: [...run.path, segment],
    seed: () => hash(superstepId(run), task.id, namespace),
    limits: { ...limits, before: call.program.limits.before, after: call.program.limits.after },
    checkpoint: session?.place.checkpoint ?? initial(call.program),
    stepsLeft: limits.recursionLimit,
    isResumed: true,
    nested: new Set(),
    up: [],
    counts: new Counts(),
    nest,
    holder: call.holder
  }
  if (session !== undefined && session.isAtHead) {
    // A graph that is a node goes on where it stood, whatever its parent's state has become since.
    if (call.key !== undefined && !isOf(session.place, call.program, origin)) {
      const { otherwise: key } = call
      if (key !== undefined) return yield* nestedRun(run, task, { ...call, key, otherwise: undefined })
      return yield* new ReplayMismatch({ node: task.node.name, called: call.program.name })
    }
    child.checkpoint = yield* Effect.fromResult(completeAt(call.program, session.place))
    child.checkpoint = { ...child.checkpoint, stopped: child.checkpoint.version }
    if (call.unfinished !== undefined && plan(call.program, child.checkpoint).length > 0) call.unfinished()
    run.shared.answers.enter(namespace)
  } else {
    if (session !== undefined) session.begin(origin)
    child.isResumed = false
    yield* feed(child, input)
  }
  return child
}) as (run: GraphRun, task: Task, call: NestedCall) => Erased<GraphRun>

/** Says which graph inside the task asks. */
const askedIn = (namespace: string, exit: GraphExit): GraphExit =>
  exit._tag === "Paused"
    ? { ...exit, asked: exit.asked.map((one) => ({ ...one, stored: { ...one.stored, graph: namespace } })) }
    : exit

/** Runs a graph inside a task. */
export const nest: Nest = (run, task, call) =>
  Effect.suspend(() => {
    let begun: GraphRun | undefined
    const whole = Effect.flatMap(nestedRun(run, task, call), (child) => {
      begun = child
      return Effect.map(runLoop(child), (exit) => askedIn(child.namespace, exit))
    })
    const millis = call.program.limits.runMillis
    return millis === undefined
      ? whole
      : withRunTimeout({ millis, waits: run.shared.sink?.waits, begun: () => begun }, whole)
  })
