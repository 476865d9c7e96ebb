/** What of a thread may go: what is kept keeps all that it is read from, and all that goes on from it. Pure. */
import * as Result from "effect/Result"
import type { CheckpointRow, Dump, Removal, TaskRow } from "../../Checkpoint.ts"
import { aroundOf, checkpointKey, isRoot, readPlace, ROOT } from "./namespace.ts"
import { graphsAt, graphsIn } from "./restored.ts"
import type { Fault } from "./stored.ts"

/** Which checkpoints of the root to keep, besides the heads of all branches. */
export interface Keep {
  /** So many of the newest. */
  readonly last: number
  /** Those made at this time, in milliseconds since the epoch, or later. */
  readonly since: number | undefined
  readonly checkpoints: ReadonlyArray<string>
}

/** A checkpoint, and whether it is kept itself, with the graphs inside its tasks; otherwise others are read from it. */
type Wanted = readonly [namespace: string, id: string, isItself: boolean]

/** Finds what is kept, from the checkpoints of the root on. */
class Keeping {
  readonly #kept = new Map<string, boolean>()
  readonly #rows = new Map<string, CheckpointRow>()
  readonly #tasks: ReadonlyMap<string, ReadonlyArray<{ readonly row: TaskRow }>>
  /** By the checkpoint whose task holds them: where graphs inside stand. */
  readonly #inside: ReadonlyMap<string, ReadonlyArray<{ readonly namespace: string; readonly id: string }>>
  /** By checkpoint: what it and the changes before it say of graphs inside. */
  readonly #graphs = new Map<string, ReadonlyMap<string, string>>()
  fault: Fault | undefined = undefined

  constructor({ checkpoints, heads, tasks }: Dump) {
    for (const { namespace, row } of checkpoints) this.#rows.set(checkpointKey(namespace, row.id), row)
    this.#tasks = Map.groupBy(tasks, ({ namespace, row }) => checkpointKey(namespace, row.checkpoint))
    const inside = heads.flatMap(({ id, place }) => {
      const read = readPlace(place)
      return read === undefined ? [] : [{ ...read, id }]
    })
    this.#inside = Map.groupBy(inside, ({ checkpoint, namespace }) => checkpointKey(aroundOf(namespace), checkpoint))
  }

  keep(namespace: string, id: string): void {
    const waiting: Array<Wanted> = [[namespace, id, true]]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [namespace, id, isItself] = next
      const key = checkpointKey(namespace, id)
      const row = this.#rows.get(key)
      const known = this.#kept.get(key)
      if (row === undefined || known === true || known === isItself) continue
      this.#kept.set(key, isItself)
      if (!row.isKeyframe && row.parent !== undefined) waiting.push([namespace, row.parent, false])
      if (isItself) { for (const [inside, at] of this.#insideOf(namespace, row)) waiting.push([inside, at, true]) }
    }
  }

  isRead(namespace: string, id: string): boolean {
    return this.#kept.has(checkpointKey(namespace, id))
  }

  isKept(namespace: string, id: string): boolean {
    return this.#kept.get(checkpointKey(namespace, id)) === true
  }

  /** Where the graphs inside the tasks of a checkpoint stand, and those that have finished before it. */
  #insideOf(namespace: string, row: CheckpointRow): Iterable<readonly [namespace: string, id: string]> {
    const key = checkpointKey(namespace, row.id)
    const beside = (this.#tasks.get(key) ?? []).flatMap(({ row }) => this.#read(graphsIn(row), []))
    const inside = (this.#inside.get(key) ?? []).map((one) => [one.namespace, one.id] as const)
    return [...this.#graphsAt(namespace, row), ...beside, ...inside]
  }

  #graphsAt(namespace: string, row: CheckpointRow): ReadonlyMap<string, string> {
    const chain: Array<CheckpointRow> = []
    let known: ReadonlyMap<string, string> | undefined
    for (let at: CheckpointRow | undefined = row; at !== undefined;) {
      known = this.#graphs.get(checkpointKey(namespace, at.id))
      if (known !== undefined) break
      chain.push(at)
      at = at.isKeyframe || at.parent === undefined ? undefined : this.#rows.get(checkpointKey(namespace, at.parent))
    }
    for (const one of chain.toReversed()) {
      const own = this.#read(graphsAt(one), [])
      known = own.length === 0 && known !== undefined ? known : new Map([...known ?? [], ...own])
      this.#graphs.set(checkpointKey(namespace, one.id), known)
    }
    return known ?? new Map()
  }

  #read<A>(result: Result.Result<A, Fault>, otherwise: A): A {
    if (Result.isSuccess(result)) return result.success
    this.fault ??= result.failure
    return otherwise
  }
}

/** What may be removed of a thread. */
export const pruned = (dump: Dump, keep: Keep): Result.Result<Omit<Removal, "life">, Fault> => {
  const keeping = new Keeping(dump)
  const roots = dump.checkpoints.filter(({ namespace }) => isRoot(namespace)).map(({ row }) => row)
  const named = new Set(keep.checkpoints)
  const first = roots.length - keep.last
  for (const [index, { createdMillis, id }] of roots.entries()) {
    const isNew = keep.since !== undefined && createdMillis >= keep.since
    if (index >= first || isNew || named.has(id)) keeping.keep(ROOT, id)
  }
  for (const { id, place } of dump.heads) if (place === "") keeping.keep(ROOT, id)
  if (keeping.fault !== undefined) return Result.fail(keeping.fault)
  return Result.succeed({
    branch: dump.heads.reduce((newest, { branch, place }) => place === "" ? Math.max(newest, branch) : newest, 0),
    checkpoints: dump.checkpoints.flatMap(({ namespace, row }) =>
      keeping.isRead(namespace, row.id) ? [] : [{ namespace, id: row.id }]
    ),
    heads: dump.heads.flatMap(({ branch, id, place }) => {
      const read = readPlace(place)
      const isKept = read === undefined || keeping.isKept(aroundOf(read.namespace), read.checkpoint)
      return isKept ? [] : [{ branch, place, id }]
    })
  })
}
