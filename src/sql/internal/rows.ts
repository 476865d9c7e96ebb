/** Rows as they are selected, and as the engine knows them. */
import * as Option from "effect/Option"
import type { CheckpointRow, Dump, HeadRow, Saved, Source, TaskRow, TaskStatus } from "../../Checkpoint.ts"
import { digestOf, fromColumn, fromIdBytes, toColumn, toIdBytes } from "./text.ts"

/** What counts as an integer in a row: Postgres gives a bigint. */
export type Integer = number | bigint

export interface CheckpointColumns {
  readonly id: Uint8Array
  readonly parent: Uint8Array | null
  readonly branch: Integer
  readonly step: Integer
  readonly source: string
  readonly created_millis: Integer
  readonly format: Integer
  readonly is_keyframe: Integer
  readonly data: string
  readonly metadata: string
}

export interface TaskColumns {
  readonly checkpoint: Uint8Array
  readonly task: string
  readonly status: string
  readonly revision: Integer
  readonly data: string
}

export interface HeadColumns {
  readonly branch: Integer
  readonly place: string
  readonly id: Uint8Array
  readonly owner: string
  readonly life: string
}

/** A row as it is selected with others; of a task `id` is its checkpoint, `branch` its revision, `source` its status and `metadata` its own id. */
type MixedColumns = readonly [
  id: Uint8Array,
  parent: Uint8Array | null,
  branch: Integer,
  step: Integer,
  source: string,
  createdMillis: Integer,
  format: Integer,
  isKeyframe: Integer,
  data: string,
  metadata: string
]

/** A row of a chain. */
export type SavedColumns = readonly [isTask: Integer, sequence: Integer, ...MixedColumns]

/**
 * A row of a thread: of a checkpoint (0), a task (1) or a head (2). Of a head `name` is its place and `metadata` its owner.
 */
export type DumpColumns = readonly [
  kind: Integer,
  namespace: Integer,
  name: string,
  sequence: Integer,
  ...MixedColumns
]

export const toCheckpoint = (row: CheckpointColumns): CheckpointRow => ({
  id: fromIdBytes(row.id),
  parent: row.parent === null ? undefined : fromIdBytes(row.parent),
  branch: Number(row.branch),
  step: Number(row.step),
  source: row.source as Source,
  createdMillis: Number(row.created_millis),
  format: Number(row.format),
  isKeyframe: Number(row.is_keyframe) === 1,
  data: row.data,
  metadata: row.metadata
})

export const toTask = (row: TaskColumns): TaskRow => ({
  checkpoint: fromIdBytes(row.checkpoint),
  task: fromColumn(row.task),
  status: row.status as TaskStatus,
  revision: Number(row.revision),
  data: row.data
})

export const toHead = (row: HeadColumns): HeadRow => ({
  branch: Number(row.branch),
  place: fromColumn(row.place),
  id: fromIdBytes(row.id),
  owner: fromColumn(row.owner),
  life: fromColumn(row.life)
})

export const checkpointParams = (namespace: Integer, row: CheckpointRow): ReadonlyArray<unknown> => [
  namespace,
  namespace,
  toIdBytes(row.id),
  row.parent === undefined ? null : toIdBytes(row.parent),
  row.branch,
  row.step,
  row.source,
  row.createdMillis,
  row.format,
  row.isKeyframe ? 1 : 0,
  row.data,
  row.metadata
]

export const headParams = (
  key: Integer,
  { branch, id, owner, place }: Omit<HeadRow, "life">
): ReadonlyArray<unknown> => [
  key,
  digestOf(place),
  branch,
  toColumn(place),
  toIdBytes(id),
  toColumn(owner)
]

const mixedCheckpoint = (
  [id, parent, branch, step, source, created_millis, format, is_keyframe, data, metadata]: MixedColumns
): CheckpointRow =>
  toCheckpoint({ id, parent, branch, step, source, created_millis, format, is_keyframe, data, metadata })

const mixedTask = ([id, , branch, , source, , , , data, metadata]: MixedColumns): TaskRow =>
  toTask({ checkpoint: id, task: metadata, status: source, revision: branch, data })

const byText = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/** Namespaces as they began, of each what is stored as it was; tasks beside one checkpoint in the order of their ids. */
const byOrder = (a: DumpColumns, b: DumpColumns): number =>
  Number(a[1]) - Number(b[1]) || Number(a[3]) - Number(b[3]) || byText(a[13], b[13])

/** What is stored of a thread. */
export const toDump = (rows: ReadonlyArray<DumpColumns>): Option.Option<Dump> => {
  if (rows.length === 0) return Option.none()
  const checkpoints: Array<Dump["checkpoints"][number]> = []
  const tasks: Array<Dump["tasks"][number]> = []
  const heads: Array<Dump["heads"][number]> = []
  for (const [kind, , name, , ...columns] of [...rows].sort(byOrder)) {
    const namespace = fromColumn(name)
    if (Number(kind) === 0) checkpoints.push({ namespace, row: mixedCheckpoint(columns) })
    else if (Number(kind) === 1) tasks.push({ namespace, row: mixedTask(columns) })
    else {
      const [id, , branch, , , , , , , owner] = columns
      heads.push({ branch: Number(branch), place: namespace, id: fromIdBytes(id), owner: fromColumn(owner) })
    }
  }
  heads.sort((a, b) => a.branch - b.branch || byText(a.place, b.place))
  return Option.some({ checkpoints, tasks, heads })
}

const byTask = (a: TaskRow, b: TaskRow): number => byText(a.task, b.task)

/** Puts the rows of a chain in order: from the nearest keyframe to the checkpoint, each with its tasks. */
export const toSaved = (id: string, rows: ReadonlyArray<SavedColumns>): Option.Option<Saved> => {
  const checkpoints = new Map<string, CheckpointRow>()
  const tasks = new Map<string, Array<TaskRow>>()
  for (const row of [...rows].sort((a, b) => Number(a[1]) - Number(b[1]))) {
    const [isTask, , ...columns] = row
    if (Number(isTask) === 0) {
      const checkpoint = mixedCheckpoint(columns)
      checkpoints.set(checkpoint.id, checkpoint)
      continue
    }
    const task = mixedTask(columns)
    const beside = tasks.get(task.checkpoint)
    if (beside === undefined) tasks.set(task.checkpoint, [task])
    else beside.push(task)
  }
  const chain: Array<CheckpointRow> = []
  for (let at: string | undefined = id; at !== undefined;) {
    const row: CheckpointRow | undefined = checkpoints.get(at)
    if (row === undefined) break
    checkpoints.delete(at)
    chain.push(row)
    at = row.isKeyframe ? undefined : row.parent
  }
  if (chain.length === 0) return Option.none()
  chain.reverse()
  return Option.some({ chain, tasks: chain.flatMap((row) => tasks.get(row.id)?.sort(byTask) ?? []) })
}
