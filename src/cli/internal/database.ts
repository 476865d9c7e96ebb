/** From `--db` to the layer that keeps threads. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import type { Checkpointer } from "../../Checkpointer.ts"
import * as SqlCheckpointer from "../../sql/SqlCheckpointer.ts"
import { codes, Refusal } from "./ended.ts"
import { reason } from "./text.ts"

/** The file that keeps threads if nothing else is said. */
export const defaultDatabase = "superstep.sqlite"

type Database = Layer.Layer<Checkpointer, unknown>

const unusable = (message: string, cause?: unknown): Refusal => new Refusal({ code: codes.storage, message, cause })

const isPostgres = (database: string): boolean => /^postgres(?:ql)?:/i.test(database)

/** Another scheme is no path of a file that somebody means. */
const isOtherUrl = (database: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(database)

const postgres = (url: string): Effect.Effect<Database, Refusal> =>
  Effect.gen(function*() {
    if (!URL.canParse(url)) return yield* unusable("--db: this is no URL of a Postgres database")
    const { layer } = yield* Effect.tryPromise({
      try: () => import("@effect/sql-pg/PgClient"),
      catch: (error) =>
        unusable("a database of Postgres needs the package @effect/sql-pg: npm install @effect/sql-pg", error)
    })
    return SqlCheckpointer.layer.pipe(Layer.provide(layer({ url: Redacted.make(url), applicationName: "superstep" })))
  })

/** The tables of a SQLite file, as far as it can be read: what is wrong with it otherwise, opening it says. */
const tablesOf = (filename: string): ReadonlyArray<string> | undefined => {
  try {
    const database = new DatabaseSync(filename, { readOnly: true })
    try {
      return database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all().map(({ name }) =>
        String(name)
      )
    } finally {
      database.close()
    }
  } catch {
    return undefined
  }
}

const sizeOf = (filename: string): Effect.Effect<number, Refusal> =>
  Effect.try({
    try: () => statSync(filename, { throwIfNoEntry: false })?.size ?? 0,
    catch: (error) => unusable(`cannot open "${filename}": ${reason(error)}`, error)
  })

const sqlite = Effect.fnUntraced(function*(filename: string, isMade: boolean) {
  if (filename !== ":memory:") {
    const size = yield* sizeOf(filename)
    if (size === 0 && !isMade) return yield* unusable(`there is no database ${filename}: name it with --db`)
    const tables = size === 0 ? undefined : tablesOf(filename)
    if (tables !== undefined && tables.length > 0 && !tables.some((name) => name.startsWith("superstep_"))) {
      return yield* unusable(`${filename} is a database of something else: it holds no threads`)
    }
  }
  return SqlCheckpointer.layerSqlite({ filename }) as Database
})

/** The layer of a database. Only a run makes a file that is not there; no command puts its tables beside those of another program. */
export const databaseOf = (database: string, isMade: boolean): Effect.Effect<Database, Refusal> => {
  if (isPostgres(database)) return postgres(database)
  if (isOtherUrl(database)) {
    return Effect.fail(unusable("--db takes the path of a SQLite file, or a URL that begins with postgres://"))
  }
  return sqlite(database, isMade)
}
