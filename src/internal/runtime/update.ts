/**
 * Updating a thread from outside: as if a node had returned the values. What
 * else was left to run stays so, and what had finished stays finished.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { Move, Source } from "../../Checkpoint.ts"
import { END, START } from "../../Command.ts"
import { AmbiguousUpdate, InvalidUpdate, UnknownCheckpoint, UnknownNode } from "../../GraphError.ts"
import { applyWrites, type TaskWrites } from "../engine/apply.ts"
import type { Checkpoint } from "../engine/checkpoint.ts"
import { emptyCell } from "../engine/fold.ts"
import { withInputRecords } from "../engine/inputs.ts"
import { isRoot, placeKey, within } from "../engine/namespace.ts"
import { plan, sendIndex, type Task } from "../engine/plan.ts"
import { INPUT_NODE, type NodeProgram, type Program } from "../engine/program.ts"
import { encodeCheckpoint, handedUp, type Place, type TaskRecord, wholeState } from "../engine/stored.ts"
import { inputWrites, type Write, writesOf } from "../engine/writes.ts"
import { type At, locate, type Located } from "./inspect.ts"
import { load, metadataOf, type ReadError, Session, type Step, type ThreadRun, toError, whole } from "./session.ts"
import type { Erased } from "./task.ts"
import { open, type Opened, threadRun } from "./thread.ts"

/** One update: what a node is taken to have returned. */
export interface Update {
  readonly values: unknown
  readonly asNode: string | undefined
}

// ---------------------------------------------------------------------------
// As which node
// ---------------------------------------------------------------------------

const nodeNames = (program: Program): ReadonlyArray<string> => program.nodes.map(({ name }) => name)

/** The node that ran last; the start, if none did, unless that is to run still: its input would be lost. */
const lastNode = (
  program: Program,
  checkpoint: Checkpoint,
  pending: ReadonlyArray<Task>
): Result.Result<string, AmbiguousUpdate> => {
  const last = Math.max(0, ...checkpoint.seen)
  if (pending.some(({ node }) => node.name === START)) return Result.fail(new AmbiguousUpdate({ nodes: [START] }))
  if (last === 0) return Result.succeed(program.nodeNumber.has(START) ? START : INPUT_NODE)
  const names = program.nodes.filter(({ number }) => checkpoint.seen[number] === last).map(({ name }) => name)
  return names.length === 1 ? Result.succeed(names[0]!) : Result.fail(new AmbiguousUpdate({ nodes: names }))
}

const nodeOf = (program: Program, name: string): Result.Result<NodeProgram, UnknownNode> => {
  const number = program.nodeNumber.get(name)
  return number === undefined
    ? Result.fail(new UnknownNode({ node: name, allowed: [...nodeNames(program), INPUT_NODE, END] }))
    : Result.succeed(program.nodes[number]!)
}

const toWrites = (
  program: Program,
  checkpoint: Checkpoint,
  taken: Task | undefined,
  update: { readonly values: unknown; readonly asNode: string }
): Result.Result<TaskWrites, unknown> => {
  if (update.asNode === INPUT_NODE) {
    return Result.map(
      inputWrites(program, update.values),
      (writes) => ({ id: "update", name: INPUT_NODE, woken: undefined, writes })
    )
  }
  return Result.flatMap(nodeOf(program, update.asNode), (node) => {
    const woken = taken?.kind === "pull" ? node : undefined
    return Result.map(
      writesOf(program, checkpoint.cells, node, update.values),
      (writes): TaskWrites => ({ id: "update", name: node.name, woken, writes })
    )
  })
}

/** The machine without Sends whose place updates have taken. */
const withoutSends = (program: Program, base: Checkpoint, taken: ReadonlySet<Task>): Checkpoint => {
  const indices = [...taken].filter(({ kind }) => kind === "send").map(sendIndex)
  const cell = base.cells[program.tasks]!
  if (indices.length === 0 || Option.isNone(cell)) return base
  const left = (cell.value as ReadonlyArray<unknown>).map((packet, index) => indices.includes(index) ? null : packet)
  const next = left.every((packet) => packet === null) ? Option.none() : Option.some(left)
  return { ...base, cells: base.cells.map((one, number) => number === program.tasks ? next : one) }
}

/** What the updates of one superstep lead to. */
interface Updated {
  readonly checkpoint: Checkpoint
  /** Tasks that they took the place of: these have their results. */
  readonly tasks: Step["tasks"]
  /** What they wrote to the state besides, as if by nodes. */
  readonly up: ReadonlyArray<Write>
}

const applyUpdates = (
  program: Program,
  from: Checkpoint,
  records: Place["records"],
  updates: ReadonlyArray<Update>
): Result.Result<Updated, unknown> => {
  if (updates.length === 1 && updates[0]!.asNode === undefined && updates[0]!.values === undefined) {
    // Nothing is written, and nobody is said to have run: a checkpoint from which what is left is asked and run anew.
    return Result.succeed({ checkpoint: { ...from, step: from.step === -2 ? 0 : from.step + 1 }, tasks: [], up: [] })
  }
  const pending = plan(program, from)
  const taken = new Set<Task>()
  const tasks: Array<TaskWrites> = []
  const finished: Array<Step["tasks"][number]> = []
  const free: Array<TaskWrites> = []
  for (const { asNode, values } of updates) {
    const name = asNode === undefined
      ? updates.length > 1
        ? Result.fail(new AmbiguousUpdate({ nodes: nodeNames(program) }))
        : lastNode(program, from, pending)
      : Result.succeed(asNode)
    if (Result.isFailure(name)) return Result.fail(name.failure)
    // A node that was to run has run, by this update; of several Sends to it the first that is not finished.
    const task = pending.find((one) =>
      one.node.name === name.success && !taken.has(one) &&
      (one.kind === "pull" || records.get(one.id)?.status !== "done")
    )
    if (task !== undefined) taken.add(task)
    const writes = toWrites(program, from, task, { values, asNode: name.success })
    if (Result.isFailure(writes)) return Result.fail(writes.failure)
    tasks.push(writes.success)
    if (task !== undefined) {
      finished.push({ id: task.id, record: { status: "done", writes: writes.success.writes, graphs: [] } })
    } else if (name.success !== INPUT_NODE && name.success !== START) free.push(writes.success)
  }
  const base = withoutSends(program, from, taken)
  const isInput = tasks.some(({ name }) => name === INPUT_NODE)
  // The first input of a thread is step -1; what acts as its start comes after.
  const step = base.step === -2 && !isInput ? 0 : base.step + 1
  const options = { isSuperstep: false, isInput, step }
  const applied = Result.flatMap(
    applyWrites(program, base, tasks, options),
    (next) =>
      plan(program, next).length > 0
        ? Result.succeed(next)
        : applyWrites(program, base, tasks, { ...options, isQuiet: true })
  )
  return Result.map(applied, (checkpoint) => ({ checkpoint, tasks: finished, up: handedUp(program, free) }))
}

/** The machine with nothing left to run. */
const cleared = (program: Program, checkpoint: Checkpoint): Checkpoint => ({
  ...checkpoint,
  step: checkpoint.step + 1,
  cells: checkpoint.cells.map((cell, number) =>
    program.channels[number]!.isState ? cell : emptyCell(program.channels[number]!)
  ),
  seen: checkpoint.seen.map(() => checkpoint.version),
  live: checkpoint.live.filter((c) => program.channels[c]!.isState),
  updated: []
})

/** With what finished tasks have written; the rest of the superstep is dropped. */
const endedNow = (
  program: Program,
  base: Checkpoint,
  records: Place["records"],
  updates: ReadonlyArray<Update>
): Result.Result<Updated, unknown> => {
  if (updates.length > 1 || updates[0]!.values !== undefined) {
    const detail = "an update as the end takes no values, and stands alone"
    return Result.fail(new InvalidUpdate({ reason: "NotAnUpdate", writers: [END], detail }))
  }
  const done = plan(program, base).flatMap((task): ReadonlyArray<TaskWrites> => {
    const record = records.get(task.id)
    return record?.status === "done"
      ? [{ id: task.id, name: task.node.name, woken: undefined, writes: record.writes }]
      : []
  })
  const folded = applyWrites(program, base, done, { isSuperstep: false, step: base.step })
  return Result.map(
    folded,
    (checkpoint) => ({ checkpoint: cleared(program, checkpoint), tasks: [], up: handedUp(program, done) })
  )
}

/** What one list of updates leads to. */
const updatedBy = (program: Program, base: Checkpoint, records: Place["records"], updates: ReadonlyArray<Update>) =>
  updates.some(({ asNode }) => asNode === END)
    ? endedNow(program, base, records, updates)
    : applyUpdates(program, base, records, updates)

/** The machine of a place, if it can be stored. */
const storable = (thread: string, program: Program, place: Place): Result.Result<Checkpoint, unknown> =>
  Result.mapBoth(encodeCheckpoint(program, undefined, place, wholeState), {
    onFailure: toError(thread, place.id),
    onSuccess: () => place.checkpoint
  })

/** Goes through all updates without storing any: what is refused, or cannot be stored, opens no branch. */
const rehearsed = (
  thread: string,
  program: Program,
  place: Place,
  supersteps: ReadonlyArray<ReadonlyArray<Update>>
): Result.Result<Checkpoint, unknown> =>
  supersteps.reduce(
    (checkpoint, updates) =>
      Result.flatMap(checkpoint, (base) =>
        Result.flatMap(
          updatedBy(program, base, place.records, updates),
          (next) => storable(thread, program, { ...place, checkpoint: next.checkpoint })
        )),
    withInputRecords(program, place) as Result.Result<Checkpoint, unknown>
  )

// ---------------------------------------------------------------------------
// Committing
// ---------------------------------------------------------------------------

const sessionAt = (located: Located, run: ThreadRun, isAtHead: boolean): Session =>
  new Session({
    run,
    program: located.program,
    namespace: located.namespace,
    inside: located.inside,
    place: isAtHead ? located.place : { ...located.place, records: new Map() },
    isAtHead
  })

/** Finished tasks that are still to be folded keep their results. */
const kept = (program: Program, next: Checkpoint, place: Place): ReadonlyMap<string, TaskRecord> => {
  const pending = new Set(plan(program, next).map((task) => task.id))
  return new Map([...place.records].filter(([id, record]) => record.status === "done" && pending.has(id)))
}

const moveAt = (
  session: Session,
  source: Source,
  { checkpoint, tasks, up }: Updated,
  records: ReadonlyMap<string, TaskRecord>
): Effect.Effect<Move, ReadError> =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (now) => Effect.fromResult(session.move({ source, checkpoint, tasks, records, isWhole: true, up }, now))
  )

/** Graphs inside tasks that are still to run stand where they stood: under the new checkpoint, as branches of themselves. */
const carryGraphs: (
  run: ThreadRun,
  program: Program,
  namespace: string,
  from: { readonly id: string; readonly checkpoint: Checkpoint },
  to: { readonly id: string; readonly checkpoint: Checkpoint }
) => Erased<ReadonlyArray<Move>> = Effect.fnUntraced(
  function*(
    run: ThreadRun,
    program: Program,
    namespace: string,
    from: { readonly id: string; readonly checkpoint: Checkpoint },
    to: { readonly id: string; readonly checkpoint: Checkpoint }
  ) {
    const moves: Array<Move> = []
    const still = new Set(plan(program, to.checkpoint).map((task) => task.id))
    for (const task of plan(program, from.checkpoint)) {
      const { body } = task.node
      if (body._tag !== "Graph" || !still.has(task.id)) continue
      const inside = within(namespace, task.place)
      const head = yield* run.saver.head(run.thread, placeKey([from.id, task.id], inside))
      if (Option.isNone(head)) continue
      const found = yield* load(run, body.program, inside, head.value.id)
      if (Option.isNone(found)) continue
      const { place } = found.value
      yield* whole(run.thread, body.program, place)
      const session = new Session({
        run,
        program: body.program,
        namespace: inside,
        inside: [to.id, task.id],
        place: { ...place, records: new Map() },
        isAtHead: false
      })
      const { checkpoint } = place
      moves.push(
        yield* moveAt(session, "fork", { checkpoint, tasks: [], up: [] }, kept(body.program, checkpoint, place))
      )
      const below = { id: head.value.id, checkpoint }
      moves.push(...yield* carryGraphs(run, body.program, inside, below, { id: session.id, checkpoint }))
    }
    return moves
  }
) as (
  run: ThreadRun,
  program: Program,
  namespace: string,
  from: { readonly id: string; readonly checkpoint: Checkpoint },
  to: { readonly id: string; readonly checkpoint: Checkpoint }
) => Erased<ReadonlyArray<Move>>

/** A task that holds an updated graph runs again: what it asked before may no longer be asked. */
const reopened = (located: Located, now: number): Result.Result<ReadonlyArray<Move>, ReadError> =>
  Result.all(located.around.flatMap(({ located: around, task }) => {
    const record = around.place.records.get(task.id)
    if (record?.status !== "paused") return []
    const session = sessionAt(around, threadRun(rootOf(around), "sync", metadataOf(around.row)), true)
    return [session.moveBeside(new Map([[task.id, { ...record, requests: [] }]]), now)]
  }))

const rootOf = (located: Located): Located => located.around[0]?.located ?? located

/** Where an update goes: the head, or a new branch that begins with a copy of the checkpoint. */
const openAt: (located: Located) => Erased<Session> = Effect.fnUntraced(function*(located: Located) {
  if (!isRoot(located.namespace) && (located.inside === undefined || !located.isHead)) {
    // Only a graph that waits inside its task can be updated; what is finished is history.
    return yield* new UnknownCheckpoint({ thread: located.thread, checkpoint: located.row.id, path: located.path })
  }
  const run = threadRun(rootOf(located), "sync", metadataOf(located.row))
  const session = sessionAt(located, run, located.isHead)
  if (!located.isHead) {
    const checkpoint = { ...located.place.checkpoint, step: located.place.checkpoint.step + 1 }
    const move = yield* moveAt(session, "fork", { checkpoint, tasks: [], up: [] }, new Map())
    yield* Effect.uninterruptible(session.write(move, []))
  }
  return session
}) as (located: Located) => Erased<Session>

/** A thread that never ran begins with the update. */
const newSession = (opened: Opened): Session =>
  new Session({
    run: threadRun(opened, "sync", { start: null, user: {} }),
    program: opened.program,
    namespace: "",
    inside: undefined,
    place: opened.place,
    isAtHead: true
  })

/** Fails where the checkpoint, or one that a graph around stands at, has a node to run that is gone. */
const allWhole = (located: Located): Effect.Effect<void, ReadError> =>
  Effect.forEach(
    [located, ...located.around.map((one) => one.located)],
    ({ place, program, thread }) => whole(thread, program, place),
    { discard: true }
  )

/** Applies updates, one superstep after another; gives the id of the last checkpoint. */
export const update: (
  program: Program,
  thread: string,
  where: At,
  from: string | undefined,
  supersteps: ReadonlyArray<ReadonlyArray<Update>>
) => Erased<string> = Effect.fnUntraced(
  function*(
    program: Program,
    thread: string,
    where: At,
    from: string | undefined,
    supersteps: ReadonlyArray<ReadonlyArray<Update>>
  ) {
    const opened = where.path.length === 0 ? yield* open(program, thread, from) : undefined
    const isNew = opened !== undefined && opened.row === undefined
    const located = isNew ? undefined : yield* locate(program, thread, where, from)
    if (located !== undefined) yield* allWhole(located)
    yield* Effect.fromResult(rehearsed(thread, located?.program ?? program, (located ?? opened!).place, supersteps))
    const session = located === undefined ? newSession(opened!) : yield* openAt(located)
    let around: ReadonlyArray<Move> = located === undefined
      ? []
      : yield* Effect.fromResult(reopened(located, yield* Clock.currentTimeMillis))
    const { program: own, namespace } = session
    for (const updates of supersteps) {
      const { place } = session
      const before = { id: session.id, checkpoint: place.checkpoint }
      const base = yield* Effect.fromResult(withInputRecords(own, place))
      const next = yield* Effect.fromResult(updatedBy(own, base, place.records, updates))
      const isInput = updates.some(({ asNode }) => asNode === INPUT_NODE)
      const move = yield* moveAt(session, isInput ? "input" : "update", next, kept(own, next.checkpoint, place))
      const after = { id: session.id, checkpoint: next.checkpoint }
      const inside = yield* carryGraphs(session.run, own, namespace, before, after)
      yield* Effect.uninterruptible(session.write(move, [...inside, ...around]))
      around = []
    }
    return session.id
  }
) as (
  program: Program,
  thread: string,
  where: At,
  from: string | undefined,
  supersteps: ReadonlyArray<ReadonlyArray<Update>>
) => Erased<string>

/** Opens a branch at a checkpoint; gives the id of its first. */
export const fork: (program: Program, thread: string, from: string | undefined) => Erased<string> = Effect.fnUntraced(
  function*(program: Program, thread: string, from: string | undefined) {
    const located = yield* locate(program, thread, { path: [], called: undefined }, from)
    yield* allWhole(located)
    const newest = yield* located.saver.head(thread, "")
    const branch = Option.isSome(newest) ? newest.value.branch + 1 : 1
    const session = yield* openAt({ ...located, branch, isHead: false })
    return session.id
  }
) as (program: Program, thread: string, from: string | undefined) => Erased<string>
