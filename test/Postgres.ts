/** Savers on the Postgres server of the run, each in a schema of its own. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { inject } from "vitest"

export const layerClient = (schema: string) =>
  PgClient.layer({
    host: "127.0.0.1",
    port: inject("postgresPort"),
    username: "postgres",
    database: "postgres",
    maxConnections: 4,
    startupParameters: { search_path: schema, client_min_messages: "warning" }
  })

/** A client in a schema that is dropped with the scope. */
export const layerPostgresClient = Layer.unwrap(Effect.sync(() => {
  const schema = `s${globalThis.crypto.randomUUID().replaceAll("-", "")}`
  const made = Layer.effectDiscard(Effect.gen(function*() {
    const sql = yield* SqlClient
    yield* sql.unsafe(`CREATE SCHEMA ${schema}`)
    yield* Effect.addFinalizer(() => Effect.orDie(sql.unsafe(`DROP SCHEMA ${schema} CASCADE`)))
  }))
  return Layer.provideMerge(made, layerClient(schema))
}))

/** A saver of its own. */
export const layerPostgres = Layer.provide(SqlCheckpointer.layer, Layer.orDie(layerPostgresClient))
