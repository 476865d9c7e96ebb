/** A Postgres schema, as a worker is told of it. */
import { PgClient } from "@effect/sql-pg"

export const schemaOf = (storage: string): { readonly port: number; readonly schema: string } => {
  const [, port, schema] = storage.split(":")
  return { port: Number(port), schema: schema! }
}

/** Connections carry the name of the schema, so that those of a dead process can be told. */
export const layerClient = (storage: string, applicationName?: string) => {
  const { port, schema } = schemaOf(storage)
  return PgClient.layer({
    host: "127.0.0.1",
    port,
    username: "postgres",
    database: "postgres",
    maxConnections: 2,
    applicationName: applicationName ?? schema,
    startupParameters: { search_path: schema, client_min_messages: "warning" }
  })
}
