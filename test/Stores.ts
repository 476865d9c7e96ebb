/** Every kind of store, each time a new one: in memory, on a SQLite file, in a Postgres schema of its own. */
import { Effect, Layer } from "effect"
import { EmbeddingModel } from "effect/ai"
import type { SqlClient } from "effect/sql/SqlClient"
import * as SqlStore from "superstep/sql/SqlStore"
import * as Store from "superstep/Store"
import { layerPgliteClient } from "./Pglite.ts"
import { hasVectors, layerPlainClient, layerPostgresClient, layerVectorsClient } from "./Postgres.ts"
import { filename } from "./sql/files.ts"

/** A store on a file that is removed with the scope. */
export const layerSqliteFile = Layer.unwrap(Effect.map(filename, (filename) => SqlStore.layerSqlite({ filename })))

/** The same, which searches by meaning. */
export const layerSemanticFile = Layer.unwrap(
  Effect.map(filename, (filename) => SqlStore.layerSqlite({ filename, semantic: true }))
)

/** A store in a schema that is dropped with the scope. */
export const layerPostgres = Layer.provide(SqlStore.layer, Layer.orDie(layerPostgresClient))

export const stores = [
  ["memory", Store.layerMemory],
  ["SQLite", layerSqliteFile],
  ["Postgres", layerPostgres]
] as const

/** Clients of Postgres by how vectors are compared there. The last is left out where the server has no extension, and the name says so. */
export const postgresClients = [
  ["Postgres without pgvector", layerPlainClient, true],
  ["Postgres with pgvector", layerPgliteClient, true],
  [`Postgres server with pgvector${hasVectors ? "" : ": it is not installed"}`, layerVectorsClient, hasVectors]
] as const

/** A store on a client that searches by meaning. */
export const layerSemantic = <E, R>(client: Layer.Layer<SqlClient, E, R>) =>
  Layer.provide(Layer.effect(Store.Store, SqlStore.make({ semantic: true })), Layer.orDie(client))

/** A model for which a text is a vector, as JSON. */
export const layerVectors = Layer.effect(
  EmbeddingModel.EmbeddingModel,
  EmbeddingModel.make({
    embedMany: ({ inputs }) =>
      Effect.succeed({
        results: inputs.map((text) => JSON.parse(text) as Array<number>),
        usage: { inputTokens: undefined }
      })
  })
)
