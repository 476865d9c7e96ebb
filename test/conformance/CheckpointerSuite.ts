/** Runs the public contract of a `Checkpointer` against a layer, built anew for each case. */
import { describe, it } from "@effect/vitest"
import type { Layer } from "effect"
import type { Checkpointer } from "superstep/Checkpointer"
import type { CheckpointError } from "superstep/GraphError"
import * as CheckpointerSuite from "superstep/testing/CheckpointerSuite"

export { checkpoint, commit, commitAll, commitOf, putTasks, task } from "../../src/testing/internal/rows.ts"

export const checkpointerSuite = (
  name: string,
  layer: Layer.Layer<Checkpointer, CheckpointError>,
  rest: Omit<CheckpointerSuite.Options<CheckpointError>, "layer"> = {}
): void => {
  describe(`Checkpointer: ${name}`, () => {
    CheckpointerSuite.register((title, run) => it(title, run, 60_000), { layer, ...rest })
  })
}
