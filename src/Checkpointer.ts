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
import type { CheckpointRow, Commit, Dump, HeadRow, Move, Put, Removal, Saved, TaskRow } from "./Checkpoint.ts"
import { CheckpointError, ThreadConflict, ThreadDeleted } from "./GraphError.ts"

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
   * stands already, it is returned in place of the new one. Rows are returned in the order given. Fails if the thread has
   * another life, or none; and if a new row would stand beside a checkpoint that is not the head: what follows from the rows
   * there is stored already. A graph inside a task has no head any more once the thread has moved on from `root`.
   */
  readonly putTasks: (
    thread: string,
    put: Put
  ) => Effect.Effect<ReadonlyArray<TaskRow>, CheckpointError | ThreadConflict | ThreadDeleted>
  /**
   * Stores a checkpoint and moves the head of its place to it, if the head is the expected one, and the same for the graphs inside:
   * all at once, or nothing. A move whose head is in place already, by the same owner, succeeds again; so does one of a graph inside
   * a task whose checkpoint is stored already. A checkpoint that follows from the finished rows beside the expected head
   * is refused if others stand there: what is read back would not be what was run. So is one of a graph inside a task once the thread has
   * moved on from `root`: nothing would ever follow from it.
   *
   * A commit without a life begins the thread, whose life is then named by its owner: it fails if the thread has begun. Any other
   * commit fails if the thread has another life, or none. One that opens a branch of the thread fails with `ThreadConflict` where the
   * checkpoint that it follows from is gone.
   */
  readonly commit: (
    thread: string,
    commit: Commit
  ) => Effect.Effect<void, CheckpointError | ThreadConflict | ThreadDeleted>
  /** All that is stored of a thread, as it was at one instant. */
  readonly dump: (thread: string) => Effect.Effect<Option.Option<Dump>, CheckpointError>
  /**
   * Stores what was dumped as another thread, all at once, in a life of its own. Fails with `ThreadConflict` if there is a thread of
   * this id, and with `CheckpointError` if a task stands beside a checkpoint that is not in the dump.
   */
  readonly restore: (
    thread: string,
    dump: Dump,
    life: string
  ) => Effect.Effect<void, CheckpointError | ThreadConflict>
  /**
   * Removes checkpoints, the rows of tasks beside them, and heads: all at once, or nothing. What is not there is no failure. Fails
   * with `ThreadConflict` where a head that stays is at a checkpoint that would go, one that goes has moved, or the thread has a newer
   * branch than the newest that was seen; and with `ThreadDeleted` if the thread has another life, or none.
   */
  readonly remove: (
    thread: string,
    removal: Removal
  ) => Effect.Effect<void, CheckpointError | ThreadConflict | ThreadDeleted>
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
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   yield* app.thread("a").invoke({ total: 1 })
 *   yield* app.thread("b").invoke({ total: 2 })
 *   const saver = yield* Checkpointer.Checkpointer
 *   return yield* saver.threads
 * })
 *
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))) // => ["a", "b"]
 * ```
 */
export class Checkpointer extends Context.Service<Checkpointer, CheckpointerShape>()("superstep/Checkpointer") {}

type Head = Omit<HeadRow, "life">

/** What the memory layer keeps of one thread. */
interface Kept {
  readonly life: string
  readonly checkpoints: Map<string, CheckpointRow>
  /** By namespace: ids in the order in which they were stored. */
  readonly order: Map<string, Array<string>>
  readonly tasks: Map<string, Map<string, TaskRow>>
  readonly heads: Map<string, Head>
}

const begun = (life: string): Kept => ({
  life,
  checkpoints: new Map(),
  order: new Map(),
  tasks: new Map(),
  heads: new Map()
})

const keyOf = (...parts: ReadonlyArray<string>): string => JSON.stringify(parts)

const newest = (kept: Kept, place: string): Head | undefined => {
  let found: Head | undefined
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

const byTask = (a: TaskRow, b: TaskRow): number => a.task < b.task ? -1 : a.task > b.task ? 1 : 0

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

const headIn = (kept: Kept, branch: number, place: string): string | undefined =>
  kept.heads.get(keyOf(String(branch), place))?.id

/** Why a graph inside a task stores nothing more: the thread has moved on. */
const leftBehind = (
  kept: Kept,
  thread: string,
  branch: number,
  { place, root }: Pick<Put, "place" | "root">
): ThreadConflict | undefined => {
  const found = headIn(kept, branch, "")
  return place === "" || found === root ? undefined : new ThreadConflict({ thread, branch, expected: root, found })
}

/** Refuses new rows beside a checkpoint that is not the head. */
const lateIn = (kept: Kept, thread: string, put: Put): ThreadConflict | undefined => {
  const { branch, namespace, place, tasks } = put
  const behind = leftBehind(kept, thread, branch, put)
  const found = headIn(kept, branch, place)
  const late = tasks.find((row) => {
    const present = kept.tasks.get(keyOf(namespace, row.checkpoint))?.get(row.task)
    const isAtHead = behind === undefined && row.checkpoint === found
    return !isAtHead && (present === undefined || replaces(row, present))
  })
  if (late === undefined) return undefined
  return behind ?? new ThreadConflict({ thread, branch, expected: late.checkpoint, found })
}

/** Refuses a commit to another life of the thread; `undefined` lets it through. */
const misplaced = (kept: Kept, thread: string, commit: Commit): ThreadConflict | ThreadDeleted | undefined => {
  const { checkpoint, expected, life, owner } = commit
  if (kept.life === (life ?? owner)) return undefined
  return life === undefined
    ? new ThreadConflict({ thread, branch: checkpoint.branch, expected, found: newest(kept, "")?.id })
    : new ThreadDeleted({ thread })
}

const headKey = ({ checkpoint, place }: Move): string => keyOf(String(checkpoint.branch), place)

/** Whether the head is at the checkpoint already, or has been. */
const isDone = (kept: Kept, move: Move, owner: string): boolean => {
  const { checkpoint, expected, namespace, place } = move
  const head = kept.heads.get(headKey(move))
  if (head !== undefined && head.id === checkpoint.id && head.owner === owner) return true
  return head?.id !== expected && place !== "" && kept.checkpoints.has(keyOf(namespace, checkpoint.id))
}

/** Whether the finished rows beside the expected head are those that the checkpoint follows from. */
const isFolded = (kept: Kept, { expected, finished, namespace, tasks }: Move): boolean => {
  const standing = (row: TaskRow): TaskRow | undefined => {
    const present = kept.tasks.get(keyOf(namespace, row.checkpoint))?.get(row.task)
    return present?.status === "done" ? present : undefined
  }
  if (tasks.some((row) => row.status === "done" && (standing(row)?.data ?? row.data) !== row.data)) return false
  if (finished === undefined || expected === undefined) return true
  const isNew = (row: TaskRow) => row.checkpoint === expected && row.status === "done" && standing(row) === undefined
  let done = tasks.filter(isNew).length
  for (const { status } of kept.tasks.get(keyOf(namespace, expected))?.values() ?? []) if (status === "done") done++
  return done === finished
}

const putCheckpoint = (kept: Kept, namespace: string, row: CheckpointRow): void => {
  const key = keyOf(namespace, row.id)
  if (kept.checkpoints.has(key)) return
  kept.checkpoints.set(key, row)
  const order = kept.order.get(namespace)
  if (order === undefined) kept.order.set(namespace, [row.id])
  else order.push(row.id)
}

/** Whether a branch of the thread would begin at a checkpoint that is gone. */
const isBaseless = (kept: Kept, { checkpoint, expected, namespace, place }: Move): boolean =>
  place === "" && expected === undefined && checkpoint.parent !== undefined &&
  !kept.checkpoints.has(keyOf(namespace, checkpoint.parent))

/** Makes a move, or refuses it: then nothing has changed. */
const tryMove = (
  kept: Kept,
  thread: string,
  move: Move,
  { life, owner }: Pick<Commit, "life" | "owner">
): ThreadConflict | undefined => {
  const { checkpoint, expected, namespace, place } = move
  if (isDone(kept, move, owner)) return undefined
  const key = headKey(move)
  const found = kept.heads.get(key)?.id
  if (found !== expected || (life !== undefined && isBaseless(kept, move)) || !isFolded(kept, move)) {
    return new ThreadConflict({ thread, branch: checkpoint.branch, expected, found })
  }
  for (const row of move.tasks) putTask(kept, namespace, row)
  putCheckpoint(kept, namespace, checkpoint)
  kept.heads.set(key, { branch: checkpoint.branch, place, id: checkpoint.id, owner })
  return undefined
}

const copyOf = (kept: Kept): Kept => ({
  life: kept.life,
  checkpoints: new Map(kept.checkpoints),
  order: new Map([...kept.order].map(([namespace, ids]) => [namespace, [...ids]])),
  tasks: new Map([...kept.tasks].map(([key, rows]) => [key, new Map(rows)])),
  heads: new Map(kept.heads)
})

const dumpOf = (kept: Kept): Dump => {
  const checkpoints: Array<Dump["checkpoints"][number]> = []
  const tasks: Array<Dump["tasks"][number]> = []
  for (const [namespace, ids] of kept.order) {
    for (const id of ids) {
      checkpoints.push({ namespace, row: kept.checkpoints.get(keyOf(namespace, id))! })
      for (const row of kept.tasks.get(keyOf(namespace, id))?.values() ?? []) tasks.push({ namespace, row })
    }
  }
  return { checkpoints, tasks, heads: [...kept.heads.values()] }
}

/** The thread that was dumped, or why it is refused. */
const restored = (thread: string, { checkpoints, heads, tasks }: Dump, life: string): Kept | CheckpointError => {
  const kept = begun(life)
  for (const { namespace, row } of checkpoints) putCheckpoint(kept, namespace, row)
  for (const { namespace, row } of tasks) {
    if (!kept.checkpoints.has(keyOf(namespace, row.checkpoint))) return orphaned(thread, row)
    putTask(kept, namespace, row)
  }
  for (const { branch, id, owner, place } of heads) {
    kept.heads.set(keyOf(String(branch), place), { branch, place, id, owner })
  }
  return kept
}

const orphaned = (thread: string, { checkpoint, task }: TaskRow): CheckpointError =>
  new CheckpointError({
    reason: "Storage",
    thread,
    checkpoint,
    detail: `cannot store the thread: task "${task}" stands beside a checkpoint that is not there`
  })

/** The thread without what is removed, or why it is refused. */
const without = (kept: Kept, thread: string, { branch, checkpoints, heads }: Removal): Kept | ThreadConflict => {
  const next = copyOf(kept)
  const seen = new Map(heads.map(({ branch, id, place }) => [keyOf(String(branch), place), id]))
  const gone = new Set(checkpoints.map(({ id }) => id))
  const standing = [...kept.heads].find(([key, head]) => {
    const going = seen.get(key)
    return going === undefined ? gone.has(head.id) || (head.place === "" && head.branch > branch) : going !== head.id
  })?.[1]
  if (standing !== undefined) {
    return new ThreadConflict({ thread, branch: standing.branch, expected: undefined, found: standing.id })
  }
  for (const key of seen.keys()) next.heads.delete(key)
  for (const { id, namespace } of checkpoints) {
    next.checkpoints.delete(keyOf(namespace, id))
    next.tasks.delete(keyOf(namespace, id))
  }
  for (const [namespace, ids] of next.order) {
    next.order.set(namespace, ids.filter((id) => next.checkpoints.has(keyOf(namespace, id))))
  }
  return next
}

/** The thread after a commit, or why it is refused. */
const committed = (kept: Kept, thread: string, commit: Commit): Kept | ThreadConflict | ThreadDeleted => {
  const misplacement = misplaced(kept, thread, commit)
  if (misplacement !== undefined) return misplacement
  const behind = leftBehind(kept, thread, commit.checkpoint.branch, commit)
  if (behind !== undefined) return kept.checkpoints.has(keyOf(commit.namespace, commit.checkpoint.id)) ? kept : behind
  // A single move changes all or nothing by itself.
  const next = commit.inside.length === 0 ? kept : copyOf(kept)
  for (const move of [commit, ...commit.inside]) {
    const conflict = tryMove(next, thread, move, commit)
    if (conflict !== undefined) return conflict
  }
  return next
}

/**
 * Keeps threads in memory, as the same encoded rows that a database would hold.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   const saver = yield* Checkpointer.makeMemory // each time a new one, which is empty
 *   yield* Effect.provideService(app.thread("t").invoke({ total: 10 }), Checkpointer.Checkpointer, saver)
 *   return (yield* saver.list("t", "", { limit: 1 })).map(({ source, step }) => [source, step])
 * })
 * console.log(await Effect.runPromise(program)) // => [["loop", 1]]
 * ```
 */
export const makeMemory: Effect.Effect<CheckpointerShape> = Effect.sync(() => {
  const threads = new Map<string, Kept>()
  return Checkpointer.of({
    head: (thread, place, branch) =>
      Effect.sync(() => {
        const kept = threads.get(thread)
        if (kept === undefined) return Option.none()
        const head = branch === undefined ? newest(kept, place) : kept.heads.get(keyOf(String(branch), place))
        return head === undefined ? Option.none() : Option.some({ ...head, life: kept.life })
      }),
    get: (thread, namespace, id) =>
      Effect.sync(() => {
        const kept = threads.get(thread)
        const chain = kept === undefined ? [] : chainOf(kept, namespace, id)
        if (kept === undefined || chain.length === 0) return Option.none()
        const tasks = chain.flatMap((row) => [...kept.tasks.get(keyOf(namespace, row.id))?.values() ?? []].sort(byTask))
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
    putTasks: (thread, put) =>
      Effect.suspend((): Effect.Effect<ReadonlyArray<TaskRow>, ThreadConflict | ThreadDeleted> => {
        const kept = threads.get(thread)
        if (kept?.life !== put.life) return Effect.fail(new ThreadDeleted({ thread }))
        const late = lateIn(kept, thread, put)
        if (late !== undefined) return Effect.fail(late)
        return Effect.succeed(put.tasks.map((row) => putTask(kept, put.namespace, row)))
      }),
    commit: (thread, commit) =>
      Effect.suspend(() => {
        const known = threads.get(thread)
        if (known === undefined && commit.life !== undefined) return Effect.fail(new ThreadDeleted({ thread }))
        const kept = committed(known ?? begun(commit.owner), thread, commit)
        if ("_tag" in kept) return Effect.fail(kept)
        threads.set(thread, kept)
        return Effect.void
      }),
    dump: (thread) => Effect.sync(() => Option.map(Option.fromNullishOr(threads.get(thread)), dumpOf)),
    restore: (thread, dump, life) =>
      Effect.suspend((): Effect.Effect<void, CheckpointError | ThreadConflict> => {
        const found = threads.get(thread)
        if (found !== undefined) {
          const head = newest(found, "")
          const branch = head?.branch ?? 1
          return Effect.fail(new ThreadConflict({ thread, branch, expected: undefined, found: head?.id }))
        }
        const kept = restored(thread, dump, life)
        if ("_tag" in kept) return Effect.fail(kept)
        threads.set(thread, kept)
        return Effect.void
      }),
    remove: (thread, removal) =>
      Effect.suspend((): Effect.Effect<void, ThreadConflict | ThreadDeleted> => {
        const kept = threads.get(thread)
        if (kept?.life !== removal.life) return Effect.fail(new ThreadDeleted({ thread }))
        const next = without(kept, thread, removal)
        if ("_tag" in next) return Effect.fail(next)
        threads.set(thread, next)
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
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const twice = Effect.andThen(app.thread("t").invoke({ total: 10 }), app.thread("t").invoke({}))
 * console.log(await Effect.runPromise(twice.pipe(Effect.provide(Checkpointer.layerMemory)))) // => { total: 40 }
 * ```
 */
export const layerMemory: Layer.Layer<Checkpointer> = Layer.effect(Checkpointer, makeMemory)
