/** Savers and clients on the Postgres server of the run, each in a schema of its own. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { inject } from "vitest"

/** Which session: the user is the one who made the server, unless a role says otherwise. */
interface Session {
  readonly database?: string
  readonly role?: string
  /** What transactions have unless they are told. */
  readonly isolation?: string
}

export const layerClient = (schema: string, { database = "postgres", isolation, role }: Session = {}) =>
  PgClient.layer({
    host: "127.0.0.1",
    port: inject("postgresPort"),
    username: "postgres",
    database,
    maxConnections: 4,
    startupParameters: {
      search_path: schema,
      client_min_messages: "warning",
      ...(role === undefined ? {} : { role }),
      ...(isolation === undefined ? {} : { default_transaction_isolation: isolation })
    }
  })

/** A client in a schema that is dropped with the scope, and belongs to the role. */
const layerIn = (session: Session) =>
  Layer.unwrap(Effect.sync(() => {
    const schema = `s${globalThis.crypto.randomUUID().replaceAll("-", "")}`
    const { database = "postgres", role } = session
    const made = Layer.effectDiscard(Effect.gen(function*() {
      const sql = yield* SqlClient
      yield* sql.unsafe(`CREATE SCHEMA ${schema}${role === undefined ? "" : ` AUTHORIZATION ${role}`}`)
      yield* Effect.addFinalizer(() => Effect.orDie(sql.unsafe(`DROP SCHEMA ${schema} CASCADE`)))
    }))
    return role === undefined
      ? Layer.provideMerge(made, layerClient(schema, session))
      : Layer.provideMerge(layerClient(schema, session), Layer.provide(made, layerClient("public", { database })))
  }))

/** A client that may do everything. */
export const layerPostgresClient = layerIn({})

/** A client that may not make extensions, nor anything outside its schema. */
export const layerPlainClient = layerIn({ role: "plain" })

/** Whether the server has the extension `vector`. There it is in a database of its own. */
export const hasVectors = inject("postgresHasVectors")

/** A client in the database that has the extension. */
export const layerVectorsClient = layerIn({ database: "vectors" })

/** A client whose transactions do not see what others commit, unless they are told to. */
export const layerIsolatedClient = (isolation: "repeatable read" | "serializable") => layerIn({ isolation })

/** A saver of its own. */
export const layerPostgres = Layer.provide(SqlCheckpointer.layer, Layer.orDie(layerPostgresClient))
