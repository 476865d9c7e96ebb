/** A SQLite saver whose statements can be made to fail, or to be the last of their process. */
import { Effect, Layer, Semaphore } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { SqlClient, SqlError, Statement } from "effect/sql"
import type { Connection } from "effect/sql/SqlConnection"
import { Checkpointer } from "superstep/Checkpointer"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import * as SqliteClient from "superstep/sql/SqliteClient"
import { type Around, Fault, type Faulty } from "superstep/testing/CheckpointerSuite"
import { filename } from "./files.ts"

const toSqlError = (error: SqlError.SqlError | Fault): SqlError.SqlError =>
  error instanceof Fault
    ? new SqlError.SqlError({ reason: new SqlError.UnknownError({ message: error.message, cause: error }) })
    : error

const wrap = (connection: Connection, around: Around): Connection => {
  const through = <A>(statement: Effect.Effect<A, SqlError.SqlError>) => Effect.mapError(around(statement), toSqlError)
  return {
    execute: (...args) => through(connection.execute(...args)),
    executeRaw: (...args) => through(connection.executeRaw(...args)),
    executeStream: (...args) => connection.executeStream(...args),
    executeUnprepared: (...args) => through(connection.executeUnprepared(...args)),
    executeValues: (...args) => through(connection.executeValues(...args)),
    executeValuesUnprepared: (...args) => through(connection.executeValuesUnprepared(...args))
  }
}

/** The client of a file, with something around each of its statements, those that begin and end transactions included. */
export const faultyClient = Effect.fnUntraced(function*(filename: string, around: Around) {
  const sql = yield* SqliteClient.make({ filename })
  const connection = wrap(yield* sql.reserve, around)
  return yield* SqlClient.make({
    ...SqlClient.makeSqliteAcquirers({ connection: Effect.succeed(connection), semaphore: yield* Semaphore.make(1) }),
    driver: "node:sqlite, faulty",
    compiler: Statement.makeCompilerSqlite(),
    beginTransaction: "BEGIN IMMEDIATE",
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: []
  })
})

export const faultySqlite: Faulty = (around) =>
  Effect.map(filename, (filename) =>
    Layer.orDie(Layer.effect(
      Checkpointer,
      Effect.gen(function*() {
        const sql = yield* faultyClient(filename, around)
        return yield* Effect.provideService(SqlCheckpointer.make, SqlClient.SqlClient, sql)
      }).pipe(Effect.provide(Reactivity.layer))
    )))
