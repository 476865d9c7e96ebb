/** Runs the public contract of a `Store` against each layer, built anew for each case. */
import { describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as SqlStore from "superstep/sql/SqlStore"
import * as Store from "superstep/Store"
import * as StoreSuite from "superstep/testing/StoreSuite"
import { layerPostgresClient } from "../Postgres.ts"
import { filename } from "../sql/files.ts"
import { layerPostgres, layerSqliteFile } from "../Stores.ts"

const storeSuite = <E>(name: string, options: StoreSuite.Options<E>): void => {
  describe(`Store: ${name}`, () => {
    StoreSuite.register((title, run) => it(title, run, 60_000), options)
  })
}

storeSuite("memory", {
  layer: Store.layerMemory,
  semantic: Layer.effect(Store.Store, Store.makeMemory({ semantic: true }))
})
storeSuite("SQLite in memory", { layer: SqlStore.layerSqlite({ filename: ":memory:" }) })
storeSuite("SQLite file", {
  layer: layerSqliteFile,
  semantic: Layer.unwrap(Effect.map(filename, (filename) => SqlStore.layerSqlite({ filename, semantic: true })))
})
storeSuite("Postgres", {
  layer: layerPostgres,
  semantic: Layer.provide(
    Layer.effect(Store.Store, SqlStore.make({ semantic: true })),
    Layer.orDie(layerPostgresClient)
  )
})
