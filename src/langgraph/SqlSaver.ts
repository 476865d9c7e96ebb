/**
 * A checkpoint saver for LangGraph.js, in the database of a `SqlClient`: SQLite or Postgres. Threads of LangGraph have tables of their
 * own, beside those of `SqlCheckpointer`: neither reads what the other has stored.
 *
 * @since 0.1.0
 */
import {
  BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  compareWritesSortKeys,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
  writesSortKey
} from "@langchain/langgraph-checkpoint"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** A version of a channel: a number that grows, and what makes it unlike that of another branch. */
type Version = string

type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0]

/** A value as the serializer of LangGraph writes it. */
interface Stored {
  readonly type: string
  readonly value: Uint8Array
}

interface CheckpointColumns extends Stored {
  readonly thread: string
  readonly namespace: string
  readonly id: string
  readonly parent: string | null
  readonly metadata_type: string
  readonly metadata: Uint8Array
}

interface WriteColumns extends Stored {
  readonly task: string
  readonly idx: number
  readonly path: string
  readonly channel: string
}

interface ValueColumns extends Stored {
  readonly channel: string
  readonly version: string
}

const columns = "thread, namespace, id, parent, type, value, metadata_type, metadata"

const tables = (text: string, bytes: string): ReadonlyArray<string> => [
  `CREATE TABLE IF NOT EXISTS superstep_langgraph_checkpoints (
    thread ${text} NOT NULL, namespace ${text} NOT NULL, id ${text} NOT NULL, parent ${text},
    type ${text} NOT NULL, value ${bytes} NOT NULL, metadata_type ${text} NOT NULL, metadata ${bytes} NOT NULL,
    PRIMARY KEY (thread, namespace, id))`,
  `CREATE TABLE IF NOT EXISTS superstep_langgraph_values (
    thread ${text} NOT NULL, namespace ${text} NOT NULL, channel ${text} NOT NULL, version ${text} NOT NULL,
    type ${text} NOT NULL, value ${bytes} NOT NULL,
    PRIMARY KEY (thread, namespace, channel, version))`,
  `CREATE TABLE IF NOT EXISTS superstep_langgraph_writes (
    thread ${text} NOT NULL, namespace ${text} NOT NULL, checkpoint ${text} NOT NULL, task ${text} NOT NULL,
    idx INTEGER NOT NULL, path ${text} NOT NULL, channel ${text} NOT NULL, type ${text} NOT NULL, value ${bytes} NOT NULL,
    PRIMARY KEY (thread, namespace, checkpoint, task, idx))`
]

/** Two processes may make a table at once: Postgres refuses one of them, who finds it made. */
const prepare = Effect.fnUntraced(function*(sql: SqlClient) {
  const [text, bytes] = sql.onDialectOrElse({
    sqlite: () => ["TEXT", "BLOB"] as const,
    // Ids sort by their code points.
    pg: () => [`TEXT COLLATE "C"`, "BYTEA"] as const,
    orElse: () => {
      throw new Error(`SqlSaver speaks the SQL of SQLite and Postgres; the client is for "${sql.driver}"`)
    }
  })
  for (const table of tables(text, bytes)) yield* Effect.retry(sql.unsafe(table), { times: 3 })
})

const required = (config: Config, key: "thread_id" | "checkpoint_id"): string => {
  const value = config.configurable?.[key]
  if (typeof value === "string" && value !== "") return value
  throw new Error(`the config of LangGraph has no "${key}" in its "configurable"`)
}

const configOf = (thread: string, namespace: string, id: string) => ({
  configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id }
})

/** Where a checkpoint is, or the newest if there is no id. */
interface Place {
  readonly thread: string
  readonly namespace: string
  readonly id: string | undefined
}

/** Whether metadata has every value of the filter. */
const matches = (metadata: object | undefined, filter: Readonly<Record<string, unknown>> = {}): boolean =>
  Object.entries(filter).every(([key, value]) =>
    value === undefined || (metadata !== undefined && Equal.equals((metadata as Record<string, unknown>)[key], value))
  )

/**
 * A saver for LangGraph.js: see {@link make}.
 *
 * @category models
 * @since 0.1.0
 */
export class SqlSaver extends BaseCheckpointSaver<Version> {
  readonly #sql: SqlClient
  readonly #run: <A>(effect: Effect.Effect<A, SqlError>) => Promise<A>

  /** Made by {@link make}. */
  constructor(sql: SqlClient, run: <A>(effect: Effect.Effect<A, SqlError>) => Promise<A>, serde?: SerializerProtocol) {
    super(serde)
    this.#sql = sql
    this.#run = run
  }

  async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    const { checkpoint_id: id, checkpoint_ns: namespace = "", thread_id: thread } = config.configurable ?? {}
    if (typeof thread !== "string") return undefined
    const row = await this.#row({ thread, namespace, id: id || undefined })
    return row === undefined ? undefined : this.#tuple(row)
  }

  override async *list(config: Config, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const sql = this.#sql
    const { checkpoint_id: id, checkpoint_ns: namespace, thread_id: thread } = config?.configurable ?? {}
    const before = options.before?.configurable?.checkpoint_id
    const where = sql.and([
      sql`1 = 1`,
      ...(thread === undefined ? [] : [sql`thread = ${thread}`]),
      ...(namespace === undefined ? [] : [sql`namespace = ${namespace}`]),
      ...(id === undefined ? [] : [sql`id = ${id}`]),
      ...(before === undefined ? [] : [sql`id < ${before}`])
    ])
    const rows = await this.#run(
      sql<CheckpointColumns>`SELECT thread, namespace, id, metadata_type, metadata
        FROM superstep_langgraph_checkpoints WHERE ${where} ORDER BY id DESC`
    )
    let left = options.limit ?? Number.POSITIVE_INFINITY
    for (const { id, metadata, metadata_type: type, namespace, thread } of rows) {
      if (left <= 0) return
      if (!matches(await this.serde.loadsTyped(type, metadata), options.filter)) continue
      // It may have been deleted meanwhile.
      const row = await this.#row({ thread, namespace, id })
      if (row === undefined) continue
      left--
      yield await this.#tuple(row)
    }
  }

  async put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: Readonly<Record<string, number | string>>
  ): Promise<Config> {
    const sql = this.#sql
    const thread = required(config, "thread_id")
    const { checkpoint_id: parent, checkpoint_ns: namespace = "" } = config.configurable ?? {}
    const { channel_values, ...rest } = checkpoint
    const [value, about] = await Promise.all([this.#dump(rest), this.#dump(metadata)])
    const changed = Object.entries(newVersions).filter(([channel]) => Object.hasOwn(channel_values, channel))
    const values = await Promise.all(changed.map(async ([channel, version]) => ({
      thread,
      namespace,
      channel,
      version: String(version),
      ...await this.#dump(channel_values[channel])
    })))
    const { id } = checkpoint
    const row = {
      thread,
      namespace,
      id,
      parent: parent ?? null,
      ...value,
      metadata_type: about.type,
      metadata: about.value
    }
    await this.#run(sql.withTransaction(Effect.gen(function*() {
      for (const value of values) {
        // A version names one value.
        yield* sql`INSERT INTO superstep_langgraph_values ${sql.insert(value)} ON CONFLICT DO NOTHING`
      }
      yield* sql`INSERT INTO superstep_langgraph_checkpoints ${sql.insert(row)} ON CONFLICT (thread, namespace, id)
        DO UPDATE SET parent = excluded.parent, type = excluded.type, value = excluded.value,
          metadata_type = excluded.metadata_type, metadata = excluded.metadata`
    })))
    return configOf(thread, namespace, id)
  }

  /** What was written first stays, as LangGraph asks; errors, interrupts and answers are replaced. */
  override async putWrites(config: Config, writes: Array<PendingWrite>, task: string, path = ""): Promise<void> {
    const sql = this.#sql
    const thread = required(config, "thread_id")
    const checkpoint = required(config, "checkpoint_id")
    const namespace: string = config.configurable?.["checkpoint_ns"] ?? ""
    const rows = await Promise.all(writes.map(async ([channel, value], index) => ({
      thread,
      namespace,
      checkpoint,
      task,
      idx: WRITES_IDX_MAP[channel] ?? index,
      path,
      channel,
      ...await this.#dump(value)
    })))
    await this.#run(sql.withTransaction(Effect.gen(function*() {
      for (const row of rows) {
        const insert = sql`INSERT INTO superstep_langgraph_writes ${sql.insert(row)}`
        yield* row.idx < 0
          ? sql`${insert} ON CONFLICT (thread, namespace, checkpoint, task, idx)
              DO UPDATE SET path = excluded.path, channel = excluded.channel, type = excluded.type, value = excluded.value`
          : sql`${insert} ON CONFLICT DO NOTHING`
      }
    })))
  }

  async deleteThread(thread: string): Promise<void> {
    const sql = this.#sql
    await this.#run(sql.withTransaction(Effect.gen(function*() {
      yield* sql`DELETE FROM superstep_langgraph_writes WHERE thread = ${thread}`
      yield* sql`DELETE FROM superstep_langgraph_values WHERE thread = ${thread}`
      yield* sql`DELETE FROM superstep_langgraph_checkpoints WHERE thread = ${thread}`
    })))
  }

  /** Branches of a thread count on from the same version: what they write must not have the same name. */
  override getNextVersion(current: Version | number | undefined): Version {
    const count = current === undefined ? 0 : Number.parseInt(String(current), 10)
    return `${String(count + 1).padStart(16, "0")}.${globalThis.crypto.randomUUID().replaceAll("-", "")}`
  }

  async #row({ id, namespace, thread }: Place): Promise<CheckpointColumns | undefined> {
    const sql = this.#sql
    const rows = await this.#run(
      sql<CheckpointColumns>`SELECT ${sql.literal(columns)} FROM superstep_langgraph_checkpoints
        WHERE thread = ${thread} AND namespace = ${namespace}
        ${id === undefined ? sql`` : sql`AND id = ${id}`} ORDER BY id DESC LIMIT 1`
    )
    return rows[0]
  }

  async #tuple(row: CheckpointColumns): Promise<CheckpointTuple> {
    const { id, namespace, parent, thread } = row
    const stored = await this.serde.loadsTyped(row.type, row.value) as Omit<Checkpoint, "channel_values">
    const checkpoint: Checkpoint = { ...stored, channel_values: await this.#values(row, stored) }
    if (checkpoint.v < 4 && parent !== null) await this.#addPendingSends(checkpoint, { thread, namespace, id: parent })
    return {
      config: configOf(thread, namespace, id),
      checkpoint,
      metadata: await this.serde.loadsTyped(row.metadata_type, row.metadata),
      pendingWrites: await this.#writes({ thread, namespace, id }),
      ...(parent === null ? {} : { parentConfig: configOf(thread, namespace, parent) })
    }
  }

  async #values({ namespace, thread }: CheckpointColumns, { channel_versions }: Pick<Checkpoint, "channel_versions">) {
    const sql = this.#sql
    if (Object.keys(channel_versions).length === 0) return {}
    const rows = await this.#run(
      sql<ValueColumns>`SELECT channel, version, type, value FROM superstep_langgraph_values
        WHERE thread = ${thread} AND namespace = ${namespace} AND (channel, version) IN (VALUES ${
        sql.csv(Object.entries(channel_versions).map(([channel, version]) => sql`(${channel}, ${String(version)})`))
      })`
    )
    const values = await Promise.all(
      rows.map(async ({ channel, type, value }) => [channel, await this.serde.loadsTyped(type, value)] as const)
    )
    return Object.fromEntries(values)
  }

  async #writes({ id, namespace, thread }: Place): Promise<Array<[string, string, unknown]>> {
    const sql = this.#sql
    const rows = await this.#run(
      sql<WriteColumns>`SELECT task, idx, path, channel, type, value FROM superstep_langgraph_writes
        WHERE thread = ${thread} AND namespace = ${namespace} AND checkpoint = ${id}`
    )
    const key = ({ idx, path, task }: WriteColumns) => writesSortKey(path, task, Number(idx))
    const sorted = rows.toSorted((one, two) => compareWritesSortKeys(key(one), key(two)))
    return Promise.all(
      sorted.map(async ({ channel, task, type, value }) => [task, channel, await this.serde.loadsTyped(type, value)])
    )
  }

  /** Checkpoints of LangGraph before version 4 have their Sends among the writes of their parent. */
  async #addPendingSends(checkpoint: Checkpoint, parent: Place): Promise<void> {
    const writes = await this.#writes(parent)
    checkpoint.channel_values[TASKS] = writes.filter(([, channel]) => channel === TASKS).map(([, , value]) => value)
    const versions = Object.values(checkpoint.channel_versions)
    checkpoint.channel_versions = {
      ...checkpoint.channel_versions,
      [TASKS]: versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined)
    }
  }

  async #dump(value: unknown): Promise<Stored> {
    const [type, bytes] = await this.serde.dumpsTyped(value)
    return { type, value: bytes }
  }
}

/**
 * A saver for LangGraph.js in the tables `superstep_langgraph_…` of the database, which are made if they do not exist. It is usable as
 * long as the client. Its methods reject with `SqlError`.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { emptyCheckpoint } from "@langchain/langgraph-checkpoint"
 * import { ManagedRuntime } from "effect"
 * import * as SqlSaver from "superstep/langgraph/SqlSaver"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 *
 * const runtime = ManagedRuntime.make(SqliteClient.layer({ filename: ":memory:" }))
 * const checkpointer = await runtime.runPromise(SqlSaver.make())
 *
 * // LangGraph calls it, as the `checkpointer` of a compiled graph.
 * const config = { configurable: { thread_id: "t", checkpoint_ns: "" } }
 * await checkpointer.put(config, emptyCheckpoint(), { source: "input", step: -1, parents: {} }, {})
 * console.log((await checkpointer.getTuple(config))?.metadata?.source) // => "input"
 * await runtime.dispose()
 * ```
 */
export const make = Effect.fnUntraced(function*(serde?: SerializerProtocol) {
  const sql = (yield* SqlClient).withoutTransforms()
  yield* prepare(sql)
  const context = yield* Effect.context()
  return new SqlSaver(sql, Effect.runPromiseWith(context), serde)
})
