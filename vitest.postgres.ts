/** One Postgres server for all test files of a run. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { TestProject } from "vitest/node"
import { startPostgres } from "./test/PostgresServer.ts"

declare module "vitest" {
  interface ProvidedContext {
    postgresPort: number
    postgresHasVectors: boolean
  }
}

const at = (port: number, database: string) =>
  PgClient.layer({ host: "127.0.0.1", port, username: "postgres", database, maxConnections: 1 })

/** A role that may do little, and a database with the extension `vector`, if the server has it. */
const prepare = (port: number): Effect.Effect<boolean> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient
    yield* sql`CREATE ROLE plain`
    const available = yield* sql`SELECT 1 FROM pg_available_extensions WHERE name = 'vector'`
    if (available.length === 0) return false
    yield* sql`CREATE DATABASE vectors`
    yield* Effect.provide(SqlClient.use((sql) => sql`CREATE EXTENSION vector`), at(port, "vectors"))
    return true
  }).pipe(Effect.provide(at(port, "postgres")), Effect.orDie)

export default async (project: TestProject): Promise<() => Promise<void>> => {
  const server = await startPostgres()
  project.provide("postgresPort", server.port)
  project.provide("postgresHasVectors", await Effect.runPromise(prepare(server.port)))
  return server.stop
}
