/** Runs the public contract of a `Store` against each layer, built anew for each case. */
import { describe, it } from "@effect/vitest"
import { Layer } from "effect"
import * as SqlStore from "superstep/sql/SqlStore"
import * as Store from "superstep/Store"
import * as StoreSuite from "superstep/testing/StoreSuite"
import { layerPostgres, layerSemantic, layerSemanticFile, layerSqliteFile, postgresClients } from "../Stores.ts"

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
storeSuite("SQLite file", { layer: layerSqliteFile, semantic: layerSemanticFile })
storeSuite("Postgres", { layer: layerPostgres })
for (const [name, client, isThere] of postgresClients) {
  describe.skipIf(!isThere)(name, () => {
    storeSuite("by meaning", {
      layer: Layer.provide(SqlStore.layer, Layer.orDie(client)),
      semantic: layerSemantic(client)
    })
  })
}
