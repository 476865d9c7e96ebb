/** One Postgres server for all test files of a run. */
import type { TestProject } from "vitest/node"
import { startPostgres } from "./test/PostgresServer.ts"

declare module "vitest" {
  interface ProvidedContext {
    postgresPort: number
  }
}

export default async (project: TestProject): Promise<() => Promise<void>> => {
  const server = await startPostgres()
  project.provide("postgresPort", server.port)
  return server.stop
}
