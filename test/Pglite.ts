/** Postgres with the extension `vector`, wherever the tests run: in this process, one client at a time. */
import { PgClient } from "@effect/sql-pg"
import { PGlite } from "@electric-sql/pglite"
import { vector } from "@electric-sql/pglite-pgvector"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Duplex } from "node:stream"

/** Made when it is needed first, and once for a test file. */
let server: Promise<PGlite> | undefined
const started = (): Promise<PGlite> => server ??= PGlite.create({ extensions: { vector } })

/** What a client says goes to the server as it is, and comes back as it is. */
const connect = (pglite: PGlite): Duplex => {
  const stream = new Duplex({
    read: () => {},
    write: (chunk: Uint8Array, _, done) => {
      pglite.execProtocolRawStream(new Uint8Array(chunk), { onRawData: (data) => void stream.push(data.slice()) })
        .then(() => done(), done)
    }
  })
  return stream
}

/** A client in a schema of its own. The extension may be made there, and goes with it. */
export const layerPgliteClient = Layer.unwrap(Effect.promise(async () => {
  const pglite = await started()
  const schema = `s${globalThis.crypto.randomUUID().replaceAll("-", "")}`
  await pglite.exec("DISCARD ALL")
  await pglite.exec(`CREATE SCHEMA ${schema}`)
  const dropped = Effect.addFinalizer(() =>
    Effect.promise(() => pglite.exec(`RESET ROLE; DROP SCHEMA ${schema} CASCADE`))
  )
  const client = PgClient.layer({
    stream: () => connect(pglite),
    username: "postgres",
    database: "postgres",
    maxConnections: 1,
    startupParameters: { client_min_messages: "warning" }
  })
  const used = Layer.effectDiscard(Effect.flatMap(SqlClient, (sql) => sql.unsafe(`SET search_path TO ${schema}`)))
  return Layer.provideMerge(used, Layer.provideMerge(client, Layer.effectDiscard(dropped)))
}))
