import { Effect, type Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A directory that ends with the test. */
export const directory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "superstep-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** The path of a file that does not exist yet. */
export const filename: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  directory,
  (path) => join(path, "threads.db")
)
