/** Rows as somebody would store them who writes something else: their checksums are right. */
import type { CheckpointRow, TaskRow } from "superstep/Checkpoint"
import { checkpointRow, taskRow } from "../../src/internal/engine/stored.ts"

/** The JSON text that a row carries. */
export const jsonOf = ({ data }: { readonly data: string }): string =>
  JSON.stringify((JSON.parse(data) as readonly [string, unknown])[1])

export const resealed = (row: CheckpointRow, change: (json: string) => string): CheckpointRow =>
  checkpointRow(row, change(jsonOf(row)))

export const resealedTask = (row: TaskRow, change: (json: string) => string): TaskRow =>
  taskRow(row, change(jsonOf(row)))
