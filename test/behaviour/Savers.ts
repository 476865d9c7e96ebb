/** Behaviour on every saver: each case runs on memory, on a SQLite file, in a Postgres schema of its own, and encrypted. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as Checkpointer from "superstep/Checkpointer"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { encrypted } from "../crypto/keys.ts"
import { layerPostgres } from "../Postgres.ts"

/** A SQLite saver on a file that is removed with the scope. */
export const layerSqliteFile = Layer.unwrap(Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const folder = yield* files.makeTempDirectoryScoped({ prefix: "superstep-" })
  return SqlCheckpointer.layerSqlite({ filename: `${folder}/threads.sqlite` })
})).pipe(Layer.provide(NodeFileSystem.layer))

const savers = [
  ["memory", Checkpointer.layerMemory],
  ["sqlite", layerSqliteFile],
  ["postgres", layerPostgres],
  ["encrypted", encrypted(layerSqliteFile)]
] as const

/** Runs a case once on each saver. */
export const behaves = (
  name: string,
  body: () => Effect.Effect<void, unknown, Checkpointer.Checkpointer>,
  timeoutMillis?: number
): void => {
  for (const [saver, layer] of savers) {
    it.live(
      `${name} (${saver})`,
      () =>
        body().pipe(Effect.provide(layer as Layer.Layer<Checkpointer.Checkpointer, unknown>)) as Effect.Effect<
          void,
          unknown
        >,
      timeoutMillis
    )
  }
}
