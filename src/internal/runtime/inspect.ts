/** Reading a thread: its state at a checkpoint, its history, the graphs inside its tasks. Nothing runs. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { CheckpointRow, Snapshot, Source, TaskSnapshot } from "../../Checkpoint.ts"
import type { CheckpointerShape } from "../../Checkpointer.ts"
import { CheckpointError, UnknownCheckpoint, UnknownThread } from "../../GraphError.ts"
import { canonical } from "../canonical.ts"
import { applyWrites } from "../engine/apply.ts"
import { type Checkpoint, setKey, values } from "../engine/checkpoint.ts"
import { withInputRecords } from "../engine/inputs.ts"
import { type Inside, nodeOf, placeKey, ROOT, segmentsOf, taskOf, within } from "../engine/namespace.ts"
import { plan, type Task } from "../engine/plan.ts"
import type { Program } from "../engine/program.ts"
import { walkOf } from "../engine/restored.ts"
import type { Place, TaskRecord } from "../engine/stored.ts"
import { decodeRequest, showRequest } from "./requests.ts"
import { checkMetadata, load, metadataOf, readThrough, toError } from "./session.ts"
import type { Erased } from "./task.ts"
import { open } from "./thread.ts"

/** A checkpoint of a graph, at the root or inside a task. */
export interface Located {
  readonly saver: CheckpointerShape
  readonly thread: string
  readonly program: Program
  readonly namespace: string
  readonly path: ReadonlyArray<string>
  readonly place: Place
  readonly row: CheckpointRow
  /** Whether it is the head: only there do results of unfinished supersteps count. */
  readonly isHead: boolean
  /** The task that holds the graph, if it waits inside one. */
  readonly inside: Inside | undefined
  readonly branch: number
  /** The life of the thread. */
  readonly life: string | undefined
  /** The graphs around it, from the root, with the tasks that hold the next. */
  readonly around: ReadonlyArray<{ readonly located: Located; readonly task: Task }>
}

// ---------------------------------------------------------------------------
// Finding
// ---------------------------------------------------------------------------

const root: (program: Program, thread: string, id: string | undefined) => Erased<Located> = Effect.fnUntraced(
  function*(program: Program, thread: string, id: string | undefined) {
    const opened = yield* open(program, thread, id)
    if (opened.row === undefined) return yield* new UnknownThread({ thread })
    const { branch, isHead, life, row, saver, stored: place } = opened
    return {
      saver,
      thread,
      program,
      namespace: ROOT,
      path: [],
      place,
      row,
      isHead,
      inside: undefined,
      branch,
      life,
      around: []
    }
  }
) as (program: Program, thread: string, id: string | undefined) => Erased<Located>

/** Which graph of a thread: by its path, and, where a node calls it, the graph itself. */
export interface At {
  readonly path: ReadonlyArray<string>
  /** The program of the graph that a node calls at the end of the path: nothing else says what is called there. */
  readonly called: Program | undefined
}

/** The graph at one segment below a located one: running in a pending task, or as it stood when its task finished. */
const inner: (around: Located, segment: string, called: Program | undefined) => Erased<Located | undefined> = Effect
  .fnUntraced(
    function*(around: Located, segment: string, called: Program | undefined) {
      const { place, program, saver, thread } = around
      const namespace = within(around.namespace, segment)
      const checkpoint = yield* Effect.fromResult(withInputRecords(program, place))
      const tasks = plan(program, checkpoint)
      const task = tasks.find((one) => one.place === taskOf(segment))
      const body = program.nodes[program.nodeNumber.get(nodeOf(segment)) ?? -1]?.body
      const own = body?._tag === "Graph" ? body.program : called
      if (own === undefined) return undefined
      const inside: Inside | undefined = task === undefined ? undefined : [place.id!, task.id]
      const head = task === undefined ? Option.none() : yield* headIn(around, task, namespace)
      const id = Option.isSome(head) ? head.value.id : place.graphs.get(namespace)
      if (id === undefined) return undefined
      const found = yield* load({ saver, thread }, own, namespace, id)
      if (Option.isNone(found)) return undefined
      return {
        saver,
        thread,
        program: own,
        namespace,
        path: [...around.path, segment],
        ...found.value,
        isHead: Option.isSome(head),
        inside,
        branch: around.branch,
        life: around.life,
        around: task === undefined ? around.around : [...around.around, { located: around, task }]
      }
    }
  ) as (around: Located, segment: string, called: Program | undefined) => Erased<Located | undefined>

/** The head of a graph inside a pending task. */
const headIn = ({ branch, place, saver, thread }: Located, task: Task, namespace: string) =>
  saver.head(thread, placeKey([place.id!, task.id], namespace), branch)

/** The paths of the graphs one segment below a located one. */
const pathsBelow: (around: Located) => Erased<ReadonlyArray<ReadonlyArray<string>>> = Effect.fnUntraced(
  function*(around: Located) {
    const { namespace, path, place, program } = around
    const checkpoint = yield* Effect.fromResult(withInputRecords(program, place))
    const asking = [...place.records.values()].flatMap((record) =>
      record.status === "paused" ? record.requests.flatMap(({ graph }) => graph ?? []) : []
    )
    const nodes = plan(program, checkpoint).filter(({ node }) => node.body._tag === "Graph")
    const running = yield* Effect.filter(
      nodes,
      (task) => Effect.map(headIn(around, task, within(namespace, task.place)), Option.isSome)
    )
    const known = [...place.graphs.keys(), ...asking].map((namespace) => segmentsOf(namespace).at(-1)!)
    return [...new Set([...known, ...running.map((task) => task.place)])].sort().map((segment) => [...path, segment])
  }
) as (around: Located) => Erased<ReadonlyArray<ReadonlyArray<string>>>

/** Finds the graph at a path, where it stands in the current branch; at the root also a checkpoint of any branch. */
export const locate: (
  program: Program,
  thread: string,
  where: At,
  id: string | undefined
) => Erased<Located> = Effect.fnUntraced(
  function*(program: Program, thread: string, { called, path }: At, id: string | undefined) {
    let at = yield* root(program, thread, path.length === 0 ? id : undefined)
    for (const [index, segment] of path.entries()) {
      const next = yield* inner(at, segment, index === path.length - 1 ? called : undefined)
      if (next === undefined) {
        const paths = yield* pathsBelow(at)
        return yield* new UnknownCheckpoint({ thread, checkpoint: undefined, path, paths })
      }
      at = next
    }
    if (path.length === 0 || id === undefined || id === at.row.id) return at
    const found = yield* load(at, at.program, at.namespace, id)
    if (Option.isNone(found)) return yield* new UnknownCheckpoint({ thread, checkpoint: id, path })
    return { ...at, ...found.value, isHead: false }
  }
) as (program: Program, thread: string, where: At, id: string | undefined) => Erased<Located>

// ---------------------------------------------------------------------------
// Showing
// ---------------------------------------------------------------------------

const resultOf = (program: Program, record: TaskRecord | undefined): TaskSnapshot["result"] => {
  if (record?.status !== "done") return undefined
  const result: Record<string, ReadonlyArray<unknown>> = {}
  for (const { channel, value } of record.writes) {
    const { isState, name } = program.channels[channel]!
    if (isState) setKey(result, name, [...Object.hasOwn(result, name) ? result[name]! : [], value])
  }
  return result
}

const showTask = (located: Located, task: Task): TaskSnapshot => {
  const { namespace, place, program } = located
  const record = place.records.get(task.id)
  return {
    id: task.id,
    node: task.node.name,
    error: record?.status === "failed" ? record.error : undefined,
    requests: record?.status === "paused"
      ? record.requests.filter(({ id }) => !record.answers.has(id)).map((request) =>
        showRequest(decodeRequest(request))
      )
      : [],
    result: resultOf(program, record),
    graphs: task.node.body._tag === "Graph" ? [segmentsOf(within(namespace, task.place))] : []
  }
}

const named = (
  names: ReadonlyArray<{ readonly name: string }>,
  numbers: ReadonlyArray<number>
): Readonly<Record<string, number>> => {
  const out: Record<string, number> = {}
  for (const [index, { name }] of names.entries()) if (numbers[index]! > 0) setKey(out, name, numbers[index])
  return out
}

/** The state with what finished tasks of the running superstep have written. */
const withResults = (located: Located, checkpoint: Checkpoint, tasks: ReadonlyArray<Task>) => {
  const { place, program } = located
  const done = tasks.flatMap((task) => {
    const record = place.records.get(task.id)
    return record?.status === "done"
      ? [{
        id: task.id,
        name: task.node.name,
        woken: task.kind === "pull" ? task.node : undefined,
        writes: record.writes
      }]
      : []
  })
  return done.length === 0
    ? Result.succeed(checkpoint)
    : applyWrites(program, checkpoint, done, { isSuperstep: true, step: checkpoint.step })
}

/** What a located checkpoint shows. */
export const snapshot: (located: Located) => Erased<Snapshot<unknown>> = Effect.fnUntraced(function*(located: Located) {
  const { isHead, place, program, row } = located
  if (isHead) yield* readThrough(located.thread, place)
  const checkpoint = isHead ? yield* Effect.fromResult(withInputRecords(program, place)) : place.checkpoint
  const planned = plan(program, checkpoint)
  // Results that do not fold together are no state: their superstep is still to be done.
  const folded = isHead ? withResults(located, checkpoint, planned) : Result.succeed(checkpoint)
  const shown = Result.isSuccess(folded) ? folded.success : checkpoint
  const isOpen = (task: Task) => !isHead || Result.isFailure(folded) || place.records.get(task.id)?.status !== "done"
  const open = planned.filter(isOpen)
  // Where all are done, and only the commit is missing, those that follow are next.
  const next = open.length > 0 || planned.length === 0 ? open : plan(program, shown)
  const tasks = planned.map((task) => showTask(located, task))
  return {
    values: values(program, shown),
    next: [...place.gone, ...next.map((task) => task.node.name)],
    tasks,
    requests: tasks.flatMap(({ requests }) => requests),
    checkpoint: row.id,
    parent: row.parent,
    branch: row.branch,
    path: located.path,
    step: row.step,
    source: row.source,
    createdMillis: row.createdMillis,
    metadata: metadataOf(row).user,
    versions: named(program.channels, place.checkpoint.versions),
    versionsSeen: named(program.nodes, place.checkpoint.seen)
  } satisfies Snapshot<unknown>
}) as (located: Located) => Erased<Snapshot<unknown>>

// ---------------------------------------------------------------------------
// History
// ---------------------------------------------------------------------------

export interface HistoryFilter {
  readonly before?: string | undefined
  readonly limit?: number | undefined
  readonly source?: Source | undefined
  readonly step?: number | undefined
  readonly branch?: number | undefined
  readonly metadata?: Readonly<Record<string, Schema.Json>> | undefined
}

/** Whether the metadata of a row have some keys, with these values. */
export const hasMetadata = (row: CheckpointRow, metadata: Readonly<Record<string, Schema.Json>>): boolean => {
  const { user } = metadataOf(row)
  return Object.keys(metadata).every((key) =>
    Object.hasOwn(user, key) && canonical(user[key]!) === canonical(metadata[key]!)
  )
}

const fits = (row: CheckpointRow, { branch, metadata, source, step }: HistoryFilter): boolean => {
  if (source !== undefined && row.source !== source) return false
  if (step !== undefined && row.step !== step) return false
  if (branch !== undefined && row.branch !== branch) return false
  return metadata === undefined || hasMetadata(row, metadata)
}

const isFiltered = ({ branch, metadata, source, step }: HistoryFilter): boolean =>
  source !== undefined || step !== undefined || branch !== undefined || metadata !== undefined

/** Where a graph stood at checkpoints, newest first: a chain is read once for all that are in it. None if one is gone meanwhile. */
const placesOf: (at: Located, rows: ReadonlyArray<CheckpointRow>) => Erased<ReadonlyMap<string, Place> | undefined> =
  Effect
    .fnUntraced(function*({ namespace, program, saver, thread }: Located, rows: ReadonlyArray<CheckpointRow>) {
      const wanted = new Set(rows.map(({ id }) => id))
      const places = new Map<string, Place>()
      for (const { id } of rows) {
        if (places.has(id)) continue
        const saved = yield* saver.get(thread, namespace, id)
        if (Option.isNone(saved)) return undefined
        const { chain, tasks } = saved.value
        const walk = walkOf(program, tasks)
        for (const row of chain) {
          const told = toError(thread, row.id)
          yield* Effect.fromResult(Result.mapError(walk.take(row), told))
          if (!wanted.delete(row.id)) continue
          places.set(row.id, yield* Effect.fromResult(Result.mapError(walk.place, told)))
        }
      }
      return places
    }) as (at: Located, rows: ReadonlyArray<CheckpointRow>) => Erased<ReadonlyMap<string, Place> | undefined>

const historyOnce: (
  program: Program,
  thread: string,
  where: At,
  filter: HistoryFilter
) => Erased<ReadonlyArray<Snapshot<unknown>> | undefined> = Effect.fnUntraced(
  function*(program: Program, thread: string, where: At, filter: HistoryFilter) {
    const at = yield* locate(program, thread, where, undefined)
    const { before, limit } = filter
    const rows = yield* at.saver.list(thread, at.namespace, { before, limit: isFiltered(filter) ? undefined : limit })
    if (rows.length === 0 && before !== undefined && Option.isNone(yield* at.saver.get(thread, at.namespace, before))) {
      return yield* new UnknownCheckpoint({ thread, checkpoint: before, path: where.path })
    }
    // It was there a moment ago: removed meanwhile, it is looked for anew.
    if (rows.length === 0 && before === undefined && limit !== 0) return undefined
    yield* checkMetadata(thread, rows)
    const chosen = rows.filter((row) => fits(row, filter)).slice(0, limit)
    const places = yield* placesOf(at, chosen)
    return places && (yield* Effect.forEach(
      chosen,
      (row) => snapshot({ ...at, row, place: places.get(row.id)!, isHead: false })
    ))
  }
) as (
  program: Program,
  thread: string,
  where: At,
  filter: HistoryFilter
) => Erased<ReadonlyArray<Snapshot<unknown>> | undefined>

/** How often the history of a thread is read anew from which something was removed meanwhile. */
const maxReadings = 10

/** Checkpoints of the graph at a path, newest first. The limit counts what the filter leaves. */
export const history: (
  program: Program,
  thread: string,
  where: At,
  filter: HistoryFilter
) => Erased<ReadonlyArray<Snapshot<unknown>>> = Effect.fnUntraced(
  function*(program: Program, thread: string, where: At, filter: HistoryFilter) {
    for (let reading = 1;; reading++) {
      const found = yield* historyOnce(program, thread, where, filter)
      if (found !== undefined) return found
      if (reading === maxReadings) {
        const detail = "what its list of checkpoints names is not there"
        return yield* new CheckpointError({ reason: "Decode", thread, detail })
      }
    }
  }
) as (
  program: Program,
  thread: string,
  where: At,
  filter: HistoryFilter
) => Erased<ReadonlyArray<Snapshot<unknown>>>
