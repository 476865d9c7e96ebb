/** Every kind of store, each time a new one: in memory, on a SQLite file, in a Postgres schema of its own. */
import { Effect, Layer } from "effect"
import * as SqlStore from "superstep/sql/SqlStore"
import * as Store from "superstep/Store"
import { layerPostgresClient } from "./Postgres.ts"
import { filename } from "./sql/files.ts"

/** A store on a file that is removed with the scope. */
export const layerSqliteFile = Layer.unwrap(Effect.map(filename, (filename) => SqlStore.layerSqlite({ filename })))

/** A store in a schema that is dropped with the scope. */
export const layerPostgres = Layer.provide(SqlStore.layer, Layer.orDie(layerPostgresClient))

export const stores = [
  ["memory", Store.layerMemory],
  ["SQLite", layerSqliteFile],
  ["Postgres", layerPostgres]
] as const
