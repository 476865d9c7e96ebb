/** Ids of checkpoints: what they derive from is their content and their place, never a clock or a name of the thread. Pure. */
import type { Source, TaskRow } from "../../Checkpoint.ts"
import { hash, hashAll } from "./hash.ts"
import type { Inside } from "./namespace.ts"

/** What the first id of a graph inside a task derives from: what a kept graph does in one task is not what it does in another. */
export const seedOf = (inside: Inside, namespace: string): string => hash(...inside, namespace)

/** What the id of a checkpoint derives from. */
export interface Derivation {
  readonly namespace: string
  readonly branch: number
  /** Of the first checkpoint of a graph inside a task. */
  readonly seed: string | undefined
  /** The checkpoint before; of the first, what stands for it. */
  readonly before: string
  /** The fingerprint of the graph. */
  readonly graph: string
  readonly source: Source
  readonly step: number
  /** The stored form of the state, where results do not tell how it came about. */
  readonly whole: string
  /** The results that led to it, in task order. */
  readonly rows: ReadonlyArray<TaskRow>
}

export const checkpointId = (
  { before, branch, graph, namespace, rows, seed, source, step, whole }: Derivation
): string =>
  hashAll([
    namespace,
    String(branch),
    ...(seed === undefined ? [] : [seed]),
    before,
    graph,
    source,
    String(step),
    whole,
    ...rows.flatMap((row) => [row.task, row.data])
  ])
