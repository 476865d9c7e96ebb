/** Rows, and calls of a saver with what a case does not care about filled in. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CheckpointRow, Commit, Dump, Move, Put, Removal, TaskRow } from "../../Checkpoint.ts"
import { Checkpointer, type ListOptions } from "../../Checkpointer.ts"
import type { CheckpointError, ThreadConflict, ThreadDeleted } from "../../GraphError.ts"
import { type CaseFailed, failsWith } from "./check.ts"

/** What a case asks of a saver. */
export interface Case {
  readonly group: Group
  readonly name: string
  /** Succeeds if it holds for the saver, whose storage has to be empty. */
  readonly effect: Effect.Effect<void, unknown, Checkpointer>
}

export type Group =
  | "put"
  | "get"
  | "list"
  | "tasks"
  | "heads"
  | "commit"
  | "inside"
  | "delete"
  | "life"
  | "dump"
  | "restore"
  | "remove"
  | "ordering"
  | "isolation"
  | "concurrent writers"
  | "crash points"
  | "large values"
  | "hostile ids"

type Failure = CaseFailed | CheckpointError | ThreadConflict | ThreadDeleted

const caseOf = (group: Group) => (name: string, effect: Effect.Effect<void, Failure, Checkpointer>): Case => ({
  group,
  name,
  effect
})

/** Makes a case of a group. */
export const test = {
  put: caseOf("put"),
  get: caseOf("get"),
  list: caseOf("list"),
  tasks: caseOf("tasks"),
  heads: caseOf("heads"),
  commit: caseOf("commit"),
  inside: caseOf("inside"),
  delete: caseOf("delete"),
  life: caseOf("life"),
  dump: caseOf("dump"),
  restore: caseOf("restore"),
  remove: caseOf("remove"),
  ordering: caseOf("ordering"),
  isolation: caseOf("isolation"),
  concurrent: caseOf("concurrent writers"),
  large: caseOf("large values"),
  hostile: caseOf("hostile ids")
}

export const checkpoint = (id: string, parent?: string, rest: Partial<CheckpointRow> = {}): CheckpointRow => ({
  id,
  parent,
  branch: 1,
  step: 0,
  source: "loop",
  createdMillis: 1_700_000_000_123,
  format: 1,
  isKeyframe: parent === undefined,
  data: JSON.stringify({ id }),
  metadata: "{}",
  ...rest
})

export const task = (checkpoint: string, task: string, rest: Partial<TaskRow> = {}): TaskRow => ({
  checkpoint,
  task,
  status: "done",
  revision: 1,
  data: JSON.stringify({ task }),
  ...rest
})

/** A commit to the thread as it is; with a life or a root, to the thread as it was then. */
export type Given = Omit<Commit, "life" | "root"> & { readonly life?: string; readonly root?: string }

export const commitOf = (checkpoint: CheckpointRow, rest: Partial<Given> = {}): Given => ({
  namespace: "",
  checkpoint,
  tasks: [],
  place: "",
  expected: checkpoint.parent,
  finished: undefined,
  inside: [],
  owner: "owner",
  ...rest
})

/** A move of a graph inside a task. */
export const moveOf = (checkpoint: CheckpointRow, rest: Partial<Move> = {}): Move => ({
  namespace: "n",
  checkpoint,
  tasks: [],
  place: "p",
  expected: checkpoint.parent,
  finished: undefined,
  ...rest
})

const lifeOf = (thread: string) =>
  Checkpointer.use((saver) => Effect.map(saver.head(thread, ""), (head) => Option.getOrUndefined(head)?.life))

export const commit = Effect.fnUntraced(function*(thread: string, given: Given) {
  const life = given.life ?? (yield* lifeOf(thread))
  const root = given.root ?? (yield* headId(thread, "", given.checkpoint.branch))
  return yield* Checkpointer.use((saver) => saver.commit(thread, { ...given, life, root }))
})

/** Commits ids one after the other, the first as a keyframe. */
export const commitAll = Effect.fnUntraced(
  function*(thread: string, ids: ReadonlyArray<string>, rest: Partial<Given> = {}) {
    for (const [index, id] of ids.entries()) {
      yield* commit(thread, commitOf(checkpoint(id, ids[index - 1], { step: index }), rest))
    }
  }
)

/** Commits as the first of a thread. */
export const begin = (thread: string, given: Given) =>
  Checkpointer.use((saver) => saver.commit(thread, { ...given, life: undefined, root: undefined }))

/** Puts tasks beside the head of the thread as it is; with a life, of the thread as it was then. */
export const putTasks = Effect.fnUntraced(
  function*(thread: string, tasks: ReadonlyArray<TaskRow>, rest: Partial<Put> = {}) {
    const life = rest.life ?? (yield* lifeOf(thread)) ?? "none"
    const { branch = 1 } = rest
    const root = rest.root ?? (yield* headId(thread, "", branch))
    const put = { namespace: "", place: "", ...rest, branch, tasks, life, root }
    return yield* Checkpointer.use((saver) => saver.putTasks(thread, put))
  }
)

export const idsOf = (rows: ReadonlyArray<CheckpointRow>): ReadonlyArray<string> => rows.map(({ id }) => id)

export const head = (thread: string, place = "", branch?: number) =>
  Checkpointer.use((saver) => Effect.map(saver.head(thread, place, branch), Option.getOrUndefined))

/** The id that a head is at. */
export const headId = (thread: string, place = "", branch?: number) =>
  Effect.map(head(thread, place, branch), (head) => head?.id)

export const get = (thread: string, id: string, namespace = "") =>
  Checkpointer.use((saver) => Effect.map(saver.get(thread, namespace, id), Option.getOrUndefined))

export const tasksOf = (thread: string, id: string, namespace = "") =>
  Effect.map(get(thread, id, namespace), (saved) => saved?.tasks)

/** The ids of a chain. */
export const chainOf = (thread: string, id: string, namespace = "") =>
  Effect.map(get(thread, id, namespace), (saved) => saved === undefined ? undefined : idsOf(saved.chain))

export const list = (thread: string, namespace = "", options: ListOptions = {}) =>
  Checkpointer.use((saver) => Effect.map(saver.list(thread, namespace, options), idsOf))

export const threads = Checkpointer.use((saver) => saver.threads)

export const deleteThread = (thread: string) => Checkpointer.use((saver) => saver.deleteThread(thread))

export const dump = (thread: string) =>
  Checkpointer.use((saver) => Effect.map(saver.dump(thread), Option.getOrUndefined))

export const restore = (thread: string, dump: Dump, life: string) =>
  Checkpointer.use((saver) => saver.restore(thread, dump, life))

/** Removes from the thread as it is; with a life, from the thread as it was then. */
export const remove = Effect.fnUntraced(
  function*(thread: string, removal: Omit<Removal, "branch" | "life"> & Partial<Removal>) {
    const now = yield* head(thread)
    const known = { branch: now?.branch ?? 1, life: now?.life ?? "none" }
    return yield* Checkpointer.use((saver) => saver.remove(thread, { ...known, ...removal }))
  }
)

export const conflict = (what: string, thread: string, given: Given) =>
  failsWith(what, "ThreadConflict", commit(thread, given))
