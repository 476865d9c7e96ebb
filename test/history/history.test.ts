/** Threads that were stored by each format there has been are read, and go on, as they did then. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { Checkpointer } from "superstep"
import { type Dump, format } from "superstep/Checkpoint"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { layerPostgres } from "../Postgres.ts"
import { threads } from "./graphs.ts"
import { shown } from "./shown.ts"

interface Kept {
  readonly id: string
  readonly dump: Dump
  readonly history: ReadonlyArray<string>
  readonly end: ReadonlyArray<string>
}

const folder = new URL("./", import.meta.url)

const savers = {
  memory: Checkpointer.layerMemory,
  sqlite: SqlCheckpointer.layerSqlite({ filename: ":memory:" }),
  postgres: layerPostgres
}

for (let version = 1; version <= format; version++) {
  describe(`format ${version}`, () => {
    const files = readdirSync(new URL(`v${version}/`, folder)).sort()

    it("has a thread of each kind", () => {
      assert.sameMembers(files, Object.keys(threads).map((name) => `${name}.json`))
    })

    for (const file of files) {
      for (const [saver, layer] of Object.entries(savers)) {
        it.live(`${file} on ${saver}`, () =>
          Effect.gen(function*() {
            const { dump, end, history, id } = JSON.parse(
              readFileSync(new URL(`v${version}/${file}`, folder), "utf8")
            ) as Kept
            const { goOn, read } = threads[file.replace(/\.json$/, "")]!
            yield* Checkpointer.Checkpointer.use((saver) => saver.restore(id, dump, "a later life"))
            assert.deepStrictEqual(shown(yield* read(id)), history)
            assert.deepStrictEqual(shown(yield* goOn), end)
          }).pipe(Effect.provide(Layer.fresh(layer as Layer.Layer<Checkpointer.Checkpointer>))))
      }
    }
  })
}
