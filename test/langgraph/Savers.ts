/** The published savers of LangGraph.js, each on storage of its own. */
import { MemorySaver } from "@langchain/langgraph-checkpoint"
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres"
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite"
import { Effect, type Scope } from "effect"
import { createRequire } from "node:module"
import { inject } from "vitest"
import { filename } from "../sql/files.ts"

interface Driver {
  readonly close: () => void
}

/**
 * Version 13 of the driver ships what it needs for every platform. The saver brings version 12, which would have to be compiled for the
 * Node that runs the tests; it is loaded and not used.
 */
const Database = createRequire(import.meta.url)("better-sqlite3") as new(filename: string) => Driver

export const memorySaver = Effect.sync(() => new MemorySaver())

/** A saver on a file. */
export const sqliteSaver = (filename: string): Effect.Effect<SqliteSaver, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(Effect.sync(() => new Database(filename)), (db) => Effect.sync(() => db.close())),
    (db) => new SqliteSaver(db as ConstructorParameters<typeof SqliteSaver>[0])
  )

export const sqliteSaverOnFile = Effect.flatMap(filename, sqliteSaver)

/** A saver in a schema of its own. */
export const postgresSaver: Effect.Effect<PostgresSaver, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const schema = `l${globalThis.crypto.randomUUID().replaceAll("-", "")}`
    const saver = PostgresSaver.fromConnString(`postgresql://postgres@127.0.0.1:${inject("postgresPort")}/postgres`, {
      schema
    })
    await saver.setup()
    return saver
  }),
  (saver) => Effect.promise(() => saver.end())
)
