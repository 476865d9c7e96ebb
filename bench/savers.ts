/**
 * What keeping a thread costs, beside LangGraph.js with its own savers, in one run: a loop whose supersteps append 500 bytes each.
 *
 *     npm run bench:savers
 *
 * For each saver and durability: bytes on disk of a thread, microseconds a superstep, and milliseconds until a process that knows nothing of the thread
 * has read its state. The ratios are what to look at: the machine is in both.
 */
import { PgClient } from "@effect/sql-pg"
import { Annotation, END as PeerEnd, START as PeerStart, StateGraph as PeerGraph } from "@langchain/langgraph"
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint"
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres"
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite"
import { Duration, Effect, Layer, Schema } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Channel, type Checkpointer, END, State, StateGraph } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { startPostgres } from "../test/PostgresServer.ts"

/** Version 13 of the driver ships what it needs for every platform; that of the saver would have to be compiled. */
const Driver = createRequire(import.meta.url)("better-sqlite3") as new(
  filename: string
) => { readonly close: () => void }

const bytes = 500
const lengths = process.argv.slice(2).map(Number)
const ours = lengths.length > 0 ? lengths : [10, 1_000, 10_000]
/** Its cost grows with the square of the length. */
const longestPeer = 1_000
const durabilities = ["sync", "async", "exit"] as const
type Durability = typeof durabilities[number]

const text = (n: number): string => {
  let state = n + 1
  return Array.from({ length: bytes }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return String.fromCharCode(97 + (state >>> 16) % 26)
  }).join("")
}

class Log extends State.make({
  n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
  log: Channel.append(Schema.String)
}) {}

const loop = (steps: number) =>
  StateGraph.make("loop", StateGraph.nodes(Log, { add: ({ n }) => ({ n: n + 1, log: [text(n)] }) }), {
    start: "add",
    edges: { add: StateGraph.route(["add", END], ({ n }) => n < steps ? "add" : END) }
  }, { recursionLimit: steps + 1 })

const peerState = Annotation.Root({
  n: Annotation<number>({ reducer: (_, n) => n, default: () => 0 }),
  log: Annotation<Array<string>>({ reducer: (all, more) => [...all, ...more], default: () => [] })
})

const peerLoop = (steps: number, checkpointer: BaseCheckpointSaver) =>
  new PeerGraph(peerState)
    .addNode("add", ({ n }) => ({ n: n + 1, log: [text(n)] }))
    .addEdge(PeerStart, "add")
    .addConditionalEdges("add", ({ n }) => n < steps ? "add" : PeerEnd)
    .compile({ checkpointer })

// ---------------------------------------------------------------------------
// Storages
// ---------------------------------------------------------------------------

interface Measured {
  readonly bytes: number
  readonly runMillis: number
  readonly readMillis: number
}

/** Where both keep a thread: opened anew for each reading, as another process would. */
interface Storage {
  readonly name: string
  readonly layer: () => Layer.Layer<Checkpointer.Checkpointer, unknown>
  readonly peer: () => Promise<{ readonly saver: BaseCheckpointSaver; readonly close: () => Promise<void> }>
  readonly size: () => Promise<number>
  readonly clear: () => Promise<void>
}

const millis = async (run: () => Promise<unknown>): Promise<number> => {
  const started = performance.now()
  await run()
  return performance.now() - started
}

/** What either side does: each time on a storage that is opened for it, which is not counted. */
interface Side {
  readonly prepare: () => Promise<void>
  readonly run: () => Promise<number>
  readonly read: () => Promise<number>
}

const measure = async ({ clear, size }: Storage, { prepare, read, run }: Side): Promise<Measured> => {
  await clear()
  await prepare()
  const empty = await size()
  const runMillis = await run()
  const taken = (await size()) - empty
  const reads = [await read(), await read(), await read(), await read(), await read()].sort((a, b) => a - b)
  return { bytes: taken, runMillis, readMillis: reads[2]! }
}

const measureOurs = (storage: Storage, steps: number, durability: Durability): Promise<Measured> => {
  const graph = loop(steps)
  const on = <A, E>(effect: Effect.Effect<A, E, Checkpointer.Checkpointer>) =>
    Effect.runPromise(Effect.provide(effect, Layer.fresh(storage.layer())))
  const timed = (effect: Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>) =>
    on(Effect.map(Effect.timed(effect), ([duration]) => Duration.toMillis(duration)))
  return measure(storage, {
    prepare: () => on(Effect.void),
    run: () => timed(graph.thread("t").invoke({}, { durability })),
    read: () => timed(graph.thread("t").state())
  })
}

const measurePeer = (storage: Storage, steps: number, durability: Durability): Promise<Measured> => {
  const config = { configurable: { thread_id: "t" }, recursionLimit: steps + 1, durability }
  const on = async (use: (graph: ReturnType<typeof peerLoop>) => Promise<unknown>): Promise<number> => {
    const { close, saver } = await storage.peer()
    const graph = peerLoop(steps, saver)
    const taken = await millis(() => use(graph))
    await close()
    return taken
  }
  return measure(storage, {
    // Its tables are made with the first thing that it does.
    prepare: async () => void (await on((graph) => graph.getState(config))),
    run: () => on((graph) => graph.invoke({}, config)),
    read: () => on((graph) => graph.getState(config))
  })
}

// ---------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------

const folder = mkdtempSync(join(tmpdir(), "superstep-bench-"))
const filename = join(folder, "threads.sqlite")
const server = await startPostgres("on")
const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`
const client = () =>
  PgClient.layer({
    host: "127.0.0.1",
    port: server.port,
    username: "postgres",
    database: "postgres",
    maxConnections: 2
  })

const inPostgres = <A>(text: string) =>
  Effect.runPromise(
    Effect.provide(PgClient.PgClient.use((sql) => sql.unsafe<A & object>(text)), Layer.fresh(client()))
  )

const storages: ReadonlyArray<Storage> = [
  {
    name: "SQLite",
    layer: () => SqlCheckpointer.layerSqlite({ filename }),
    peer: async () => {
      const db = new Driver(filename)
      return {
        saver: new SqliteSaver(db as ConstructorParameters<typeof SqliteSaver>[0]),
        close: async () => db.close()
      }
    },
    size: async () => {
      const db = new DatabaseSync(filename)
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      const { total } = db.prepare("SELECT SUM(pgsize) AS total FROM dbstat").get() as { readonly total: number }
      db.close()
      return total
    },
    clear: async () => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${filename}${suffix}`, { force: true })
    }
  },
  {
    name: "Postgres",
    layer: () => SqlCheckpointer.layer.pipe(Layer.provide(client())),
    peer: async () => {
      const saver = PostgresSaver.fromConnString(url)
      await saver.setup()
      return { saver, close: () => saver.end() }
    },
    size: async () => {
      const [row] = await inPostgres<{ readonly total: string }>(
        "SELECT SUM(pg_total_relation_size(c.oid)) AS total FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace " +
          "WHERE n.nspname = 'public' AND c.relkind = 'r'"
      )
      return Number(row!.total)
    },
    clear: async () => {
      await inPostgres("DROP SCHEMA public CASCADE")
      await inPostgres("CREATE SCHEMA public")
    }
  }
]

const row = (cells: ReadonlyArray<string>): string =>
  cells.map((cell, n) => n < 3 ? cell.padEnd(9) : cell.padStart(17)).join(" ")
const factor = (one: number, other: number): string => `${(other / one).toFixed(other / one < 10 ? 1 : 0)} x`

// Neither is measured before it is warm.
for (const storage of storages) {
  for (const durability of durabilities) {
    await measureOurs(storage, 200, durability)
    await measurePeer(storage, 200, durability)
  }
}

console.log(row(["storage", "durable", "steps", "bytes / data", "peer", "µs a step", "peer", "ms to read", "peer"]))
for (const storage of storages) {
  for (const steps of ours) {
    for (const durability of durabilities) {
      const own = await measureOurs(storage, steps, durability)
      const peer = steps <= longestPeer ? await measurePeer(storage, steps, durability) : undefined
      console.log(row([
        storage.name,
        durability,
        String(steps),
        (own.bytes / (steps * bytes)).toFixed(2),
        peer === undefined ? "-" : factor(own.bytes, peer.bytes),
        (own.runMillis * 1000 / steps).toFixed(0),
        peer === undefined ? "-" : factor(own.runMillis, peer.runMillis),
        own.readMillis.toFixed(1),
        peer === undefined ? "-" : factor(own.readMillis, peer.readMillis)
      ]))
    }
  }
}

await server.stop()
rmSync(folder, { recursive: true, force: true })
