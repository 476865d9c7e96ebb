/**
 * Where the checkpoints of threads are kept. The service stores rows of text
 * and moves heads by compare-and-set; what the rows mean is the engine's.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { CheckpointRow, Commit, HeadRow, Saved, TaskRow } from "./Checkpoint.ts"
import { type CheckpointError, ThreadConflict } from "./GraphError.ts"

/**
 * Which checkpoints to list: newest first.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListOptions {
  /** Only what was stored before this checkpoint. */
  readonly before?: string | undefined
  readonly limit?: number | undefined
}

/**
 * Storage of threads.
 *
 * @category models
 * @since 0.1.0
 */
export interface CheckpointerShape {
  /** The head of a place; of the newest branch when no branch is given. */
  readonly head: (
    thread: string,
    place: string,
    branch?: number
  ) => Effect.Effect<Option.Option<HeadRow>, CheckpointError>
  /** A checkpoint with what is needed to read it. */
  readonly get: (thread: string, namespace: string, id: string) => Effect.Effect<Option.Option<Saved>, CheckpointError>
  /** Checkpoints of a namespace, newest first. */
  readonly list: (
    thread: string,
    namespace: string,
    options: ListOptions
  ) => Effect.Effect<ReadonlyArray<CheckpointRow>, CheckpointError>
  /**
   * Stores what tasks have produced. A row that is `done` is kept, and so is one of the same or a later revision: where one
   * stands already, it is returned in place of the new one. Rows are returned in the order given.
   */
  readonly putTasks: (
    thread: string,
    namespace: string,
    rows: ReadonlyArray<TaskRow>
  ) => Effect.Effect<ReadonlyArray<TaskRow>, CheckpointError>
  /**
   * Stores a checkpoint and moves the head of its place to it, at once, if the head is the expected one. A commit whose head is
   * in place already, by the same owner, succeeds again; so does one of a graph inside a task whose checkpoint is stored already.
   */
  readonly commit: (thread: string, commit: Commit) => Effect.Effect<void, CheckpointError | ThreadConflict>
  /** Removes everything of a thread. */
  readonly deleteThread: (thread: string) => Effect.Effect<void, CheckpointError>
  /** Ids of the threads, in the order in which they began. */
  readonly threads: Effect.Effect<ReadonlyArray<string>, CheckpointError>
}

/**
 * Storage of threads.
 *
 * @category services
 * @since 0.1.0
 */
export class Checkpointer extends Context.Service<Checkpointer, CheckpointerShape>()("superstep/Checkpointer") {}

/** What the memory layer keeps of one thread. */
interface Kept {
  readonly checkpoints: Map<string, CheckpointRow>
  /** By namespace: ids in the order in which they were stored. */
  readonly order: Map<string, Array<string>>
  readonly tasks: Map<string, Map<string, TaskRow>>
  readonly heads: Map<string, HeadRow>
}

const keyOf = (...parts: ReadonlyArray<string>): string => JSON.stringify(parts)

const newest = (kept: Kept, place: string): HeadRow | undefined => {
  let found: HeadRow | undefined
  for (const head of kept.heads.values()) {
    if (head.place === place && (found === undefined || head.branch > found.branch)) found = head
  }
  return found
}

const chainOf = (kept: Kept, namespace: string, id: string): ReadonlyArray<CheckpointRow> => {
  const chain: Array<CheckpointRow> = []
  const seen = new Set<string>()
  for (let at: string | undefined = id; at !== undefined && !seen.has(at);) {
    const row: CheckpointRow | undefined = kept.checkpoints.get(keyOf(namespace, at))
    if (row === undefined) break
    seen.add(at)
    chain.push(row)
    at = row.isKeyframe ? undefined : row.parent
  }
  return chain.toReversed()
}

/** Whether a row takes the place of the present one of the same task. */
const replaces = (row: TaskRow, present: TaskRow): boolean =>
  present.status !== "done" && (row.status === "done" || row.revision > present.revision)

const putTask = (kept: Kept, namespace: string, row: TaskRow): TaskRow => {
  const key = keyOf(namespace, row.checkpoint)
  let rows = kept.tasks.get(key)
  if (rows === undefined) kept.tasks.set(key, rows = new Map())
  const present = rows.get(row.task)
  if (present !== undefined && !replaces(row, present)) return present
  rows.set(row.task, row)
  return row
}

/** Refuses a commit whose head is not the expected one; `undefined` lets it through. */
const commitTo = (kept: Kept, thread: string, commit: Commit): ThreadConflict | undefined => {
  const { checkpoint, expected, namespace, owner, place } = commit
  const key = keyOf(String(checkpoint.branch), place)
  const head = kept.heads.get(key)
  if (head !== undefined && head.id === checkpoint.id && head.owner === owner) return undefined
  if (head?.id !== expected) {
    if (place !== "" && kept.checkpoints.has(keyOf(namespace, checkpoint.id))) return undefined
    return new ThreadConflict({ thread, branch: checkpoint.branch, expected, found: head?.id })
  }
  for (const row of commit.tasks) putTask(kept, namespace, row)
  const row = keyOf(namespace, checkpoint.id)
  if (!kept.checkpoints.has(row)) {
    kept.checkpoints.set(row, checkpoint)
    const order = kept.order.get(namespace)
    if (order === undefined) kept.order.set(namespace, [checkpoint.id])
    else order.push(checkpoint.id)
  }
  kept.heads.set(key, { branch: checkpoint.branch, place, id: checkpoint.id, owner })
  return undefined
}

/**
 * Keeps threads in memory, as the same encoded rows that a database would hold.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeMemory: Effect.Effect<CheckpointerShape> = Effect.sync(() => {
  const threads = new Map<string, Kept>()
  const keptOf = (thread: string): Kept =>
    threads.get(thread) ?? { checkpoints: new Map(), order: new Map(), tasks: new Map(), heads: new Map() }
  return Checkpointer.of({
    head: (thread, place, branch) =>
      Effect.sync(() => {
        const kept = threads.get(thread)
        if (kept === undefined) return Option.none()
        return Option.fromUndefinedOr(
          branch === undefined ? newest(kept, place) : kept.heads.get(keyOf(String(branch), place))
        )
      }),
    get: (thread, namespace, id) =>
      Effect.sync(() => {
        const kept = threads.get(thread)
        const chain = kept === undefined ? [] : chainOf(kept, namespace, id)
        if (kept === undefined || chain.length === 0) return Option.none()
        const tasks = chain.flatMap((row) => [...kept.tasks.get(keyOf(namespace, row.id))?.values() ?? []])
        return Option.some({ chain, tasks })
      }),
    list: (thread, namespace, { before, limit }) =>
      Effect.sync(() => {
        const kept = threads.get(thread)
        const order = kept?.order.get(namespace) ?? []
        const end = before === undefined ? order.length : Math.max(0, order.indexOf(before))
        const ids = order.slice(Math.max(0, limit === undefined ? 0 : end - limit), end)
        return ids.toReversed().map((id) => kept!.checkpoints.get(keyOf(namespace, id))!)
      }),
    putTasks: (thread, namespace, rows) =>
      Effect.sync(() => {
        const kept = keptOf(thread)
        threads.set(thread, kept)
        return rows.map((row) => putTask(kept, namespace, row))
      }),
    commit: (thread, commit) =>
      Effect.suspend(() => {
        const kept = keptOf(thread)
        const conflict = commitTo(kept, thread, commit)
        if (conflict !== undefined) return Effect.fail(conflict)
        threads.set(thread, kept)
        return Effect.void
      }),
    deleteThread: (thread) => Effect.sync(() => void threads.delete(thread)),
    threads: Effect.sync(() => [...threads.keys()])
  })
})

/**
 * Keeps threads in memory, for tests and short-lived programs.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<Checkpointer> = Layer.effect(Checkpointer, makeMemory)
