/** Worker processes: started, followed line by line, and killed from outside. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type ChildProcess, spawn } from "node:child_process"
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { build } from "vite"
import type { Event } from "./Ledger.ts"
import { layerClient } from "./Schema.ts"

export type Durability = "sync" | "async" | "exit"

const source = fileURLToPath(new URL("worker.ts", import.meta.url))

/** Where a test keeps its files, and the worker: bundled, since it starts hundreds of times and loads 150 modules. */
export interface Workshop {
  readonly path: string
  readonly script: string
  readonly remove: () => void
}

/** Where threads are kept. */
export interface Storage {
  readonly argument: string
  /** What it holds, while no process uses it. */
  readonly read: () => Promise<Stored>
  /** What a dead process left. None if it left no tables. */
  readonly autopsy: () => Promise<Stored | undefined>
  readonly remove: () => Promise<void>
}

/** Makes a workshop; whoever made it removes it. */
export const makeWorkshop = async (): Promise<Workshop> => {
  const path = mkdtempSync(join(tmpdir(), "superstep-crash-"))
  const conditions = ["superstep-src"]
  await build({
    configFile: false,
    logLevel: "warn",
    build: { ssr: source, outDir: path, minify: false, emptyOutDir: false },
    resolve: { conditions },
    ssr: { noExternal: true, resolve: { conditions } }
  })
  return { path, script: join(path, "worker.js"), remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** What a life of a worker came to. */
export interface Life {
  readonly log: ReadonlyArray<Event>
  readonly isKilled: boolean
}

interface Options {
  readonly storage: Storage
  readonly durability: Durability
  /** Number of the life: workers find out in different ways where the thread stands. */
  readonly life: number
  readonly workshop: Workshop
  /** Waits for a line before it begins. */
  readonly hold?: boolean
  /** Sees the start, and then each event as it comes; may kill. */
  readonly onEvent?: (event: Event | undefined, worker: ChildProcess) => void
}

/** Starts a worker, and follows it to its end. Anything but a proper end or a kill is thrown. */
export const run = (
  { durability, hold, life, onEvent, storage, workshop }: Options
): { readonly worker: ChildProcess; readonly end: Promise<Life> } => {
  const args = [
    workshop.script,
    storage.argument,
    durability,
    String(life),
    ...(hold === true ? ["hold"] : [])
  ]
  const worker = spawn(process.execPath, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(workshop.path, "cache"), NODE_OPTIONS: "" }
  })
  const log: Array<Event> = []
  let rest = ""
  let errors = ""
  worker.stderr.setEncoding("utf8").on("data", (text: string) => errors += text)
  worker.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop()!
    for (const line of lines) {
      const event = JSON.parse(line) as Event
      log.push(event)
      onEvent?.(event, worker)
    }
  })
  onEvent?.(undefined, worker)
  const end = new Promise<Life>((resolve, reject) => {
    worker.on("error", reject)
    // Not "exit": what was written before the end is still to be read then.
    worker.on("close", (code, signal) => {
      if (signal === "SIGKILL") resolve({ log, isKilled: true })
      else if (code === 0) resolve({ log, isKilled: false })
      else reject(new Error(`the worker ended with ${code ?? signal}: ${errors}`))
    })
  })
  return { worker, end }
}

// ---------------------------------------------------------------------------
// Files
// ---------------------------------------------------------------------------

// Rows have no prototype: copied, they compare with what a test writes down.
const query = <A>(db: DatabaseSync, sql: string): ReadonlyArray<A> =>
  db.prepare(sql).all().map((row): unknown => ({ ...row })) as ReadonlyArray<A>

export interface StoredTask {
  readonly namespace: string
  readonly checkpoint: string
  readonly task: string
  readonly status: string
  readonly data: string
}

export interface StoredCheckpoint {
  readonly namespace: string
  readonly id: string
  readonly parent: string | null
}

export interface StoredHead {
  readonly place: string
  readonly branch: number
  readonly id: string
}

/** Everything that a file holds, but times and the names of run attempts, which are no part of a thread's content. */
export interface Stored {
  readonly integrity: ReadonlyArray<unknown>
  /** By namespace, in the order in which they were stored. */
  readonly checkpoints: ReadonlyArray<StoredCheckpoint>
  readonly tasks: ReadonlyArray<StoredTask>
  readonly heads: ReadonlyArray<StoredHead>
}

const textsWith = (hex: (column: string) => string) => ({
  checkpoints: `SELECT n.name AS namespace, ${hex("c.id")} AS id, ${hex("c.parent")} AS parent, ` +
    "c.branch, c.step, c.source, c.format, c.is_keyframe, c.data, c.metadata FROM superstep_checkpoints c " +
    "JOIN superstep_namespaces n ON n.key = c.namespace ORDER BY n.name, c.sequence",
  tasks: `SELECT n.name AS namespace, ${hex("c.id")} AS checkpoint, t.task, t.status, t.data FROM superstep_tasks t ` +
    "JOIN superstep_checkpoints c ON c.namespace = t.namespace AND c.sequence = t.checkpoint " +
    "JOIN superstep_namespaces n ON n.key = c.namespace ORDER BY n.name, c.id, t.task",
  heads: `SELECT place, branch, ${hex("id")} AS id FROM superstep_heads ORDER BY place, branch`
})
const texts = textsWith((column) => `CASE WHEN ${column} IS NOT NULL THEN lower(hex(${column})) END`)
const postgresTexts = textsWith((column) => `encode(${column}, 'hex')`)

const storedIn = (db: DatabaseSync): Stored => ({
  integrity: [...query(db, "PRAGMA integrity_check"), ...query(db, "PRAGMA foreign_key_check")],
  checkpoints: query(db, texts.checkpoints),
  tasks: query(db, texts.tasks),
  heads: query(db, texts.heads)
})

/** What a file holds that no process has open. */
const read = (filename: string): Stored => {
  const db = new DatabaseSync(filename)
  try {
    return storedIn(db)
  } finally {
    db.close()
  }
}

/** What a dead worker left, read from a copy: the next worker has to recover the file itself. None if it left no tables. */
const autopsy = (filename: string): Stored | undefined => {
  if (!existsSync(filename)) return undefined
  const copy = `${filename}.copy`
  try {
    copyFileSync(filename, copy)
    if (existsSync(`${filename}-wal`)) copyFileSync(`${filename}-wal`, `${copy}-wal`)
    const db = new DatabaseSync(copy)
    try {
      const tables = query<{ readonly n: number }>(
        db,
        "SELECT count(*) AS n FROM sqlite_master WHERE name = 'superstep_heads'"
      )
      return tables[0]!.n === 0 ? undefined : storedIn(db)
    } finally {
      db.close()
    }
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${copy}${suffix}`, { force: true })
  }
}

/** A SQLite file. */
export const fileOf = (filename: string): Storage => ({
  argument: filename,
  read: async () => read(filename),
  autopsy: async () => autopsy(filename),
  remove: async () => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${filename}${suffix}`, { force: true })
  }
})

const inSchema = <A>(argument: string, use: (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError.SqlError>) =>
  Effect.runPromise(Effect.provide(SqlClient.SqlClient.use(use), layerClient(argument, "a test")))

/** Integers as numbers, where Postgres gives texts or bigints. */
const plain = (rows: ReadonlyArray<object>): ReadonlyArray<unknown> =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map((
        [key, value]
      ) => [key, ["branch", "step", "format", "is_keyframe"].includes(key) ? Number(value) : value])
    )
  )

const readSchema = (argument: string): Promise<Stored> =>
  inSchema(argument, (sql) => {
    const rows = <A>(text: string) => Effect.map(sql.unsafe<object>(text), (rows) => plain(rows) as ReadonlyArray<A>)
    return Effect.map(
      Effect.all([
        rows<StoredCheckpoint>(postgresTexts.checkpoints),
        rows<StoredTask>(postgresTexts.tasks),
        rows<StoredHead>(postgresTexts.heads)
      ]),
      ([checkpoints, tasks, heads]): Stored => ({ integrity: [{ integrity_check: "ok" }], checkpoints, tasks, heads })
    )
  })

/** A schema of a Postgres server. What a dead process had begun is over once its connections are gone. */
export const makeSchema = async (port: number): Promise<Storage> => {
  const schema = `s${globalThis.crypto.randomUUID().replaceAll("-", "")}`
  const argument = `postgres:${port}:${schema}`
  await inSchema(argument, (sql) => sql.unsafe(`CREATE SCHEMA ${schema}`))
  return {
    argument,
    read: () => readSchema(argument),
    autopsy: async () => {
      const left = () =>
        inSchema(argument, (sql) =>
          Effect.map(
            sql.unsafe<{ readonly n: unknown }>(
              "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = $1",
              [schema]
            ),
            (rows) => Number(rows[0]!.n)
          ))
      while (await left() > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      const tables = await inSchema(
        argument,
        (sql) =>
          sql.unsafe<{ readonly n: unknown }>(
            "SELECT count(*) AS n FROM pg_tables WHERE schemaname = $1 AND tablename = 'superstep_heads'",
            [schema]
          )
      )
      return Number(tables[0]!.n) === 0 ? undefined : await readSchema(argument)
    },
    remove: async () => {
      await inSchema(argument, (sql) => sql.unsafe(`DROP SCHEMA ${schema} CASCADE`))
    }
  }
}
