/**
 * Keeps threads in a SQL database: a SQLite file, or any `SqlClient` of the
 * SQLite or Postgres dialect.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import type { CheckpointRow, Commit, Dump, HeadRow, Move, Put, Removal, Saved, TaskRow } from "../Checkpoint.ts"
import { Checkpointer, type CheckpointerShape, type ListOptions } from "../Checkpointer.ts"
import { CheckpointError, ThreadConflict, ThreadDeleted } from "../GraphError.ts"
import { batchesOf } from "./internal/batches.ts"
import type * as Databases from "./internal/database.ts"
import {
  beginningOf,
  execute,
  explained,
  hasContent,
  knownDialect,
  read,
  retried,
  sqliteBusyTimeoutMillis,
  withReactivity,
  write
} from "./internal/database.ts"
import {
  type CheckpointColumns,
  checkpointParams,
  type DumpColumns,
  type HeadColumns,
  headParams,
  type Integer,
  type SavedColumns,
  type TaskColumns,
  toCheckpoint,
  toDump,
  toHead,
  toSaved,
  toTask
} from "./internal/rows.ts"
import { checkSchema, prepareSchema } from "./internal/schema.ts"
import { type Texts, textsOf } from "./internal/statements.ts"
import { digestOf, fromColumn, fromIdBytes, toColumn, toIdBytes } from "./internal/text.ts"
import * as SqliteClient from "./SqliteClient.ts"

export {
  /**
   * Between two tries, in milliseconds. It has no jitter: that would draw from the `Random` of the run.
   *
   * @category constants
   * @since 0.1.0
   */
  retryDelayMillis,
  /**
   * How often a transaction is tried again that the database turned away: because it was locked, or because another transaction
   * was in its way. Each is safe to repeat.
   *
   * @category constants
   * @since 0.1.0
   */
  retryLimit,
  /**
   * How long SQLite waits for a lock before `layerSqlite` lets other fibers run and tries again, in milliseconds.
   *
   * @category constants
   * @since 0.1.0
   */
  sqliteBusyTimeoutMillis
} from "./internal/database.ts"

// ---------------------------------------------------------------------------
// Transactions
// ---------------------------------------------------------------------------

type Database = Databases.Database<Texts>

/** Tells what failed, in terms of threads. */
const explain = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError, R>,
  action: string,
  thread: string,
  checkpoint?: string
): Effect.Effect<A, Exclude<E, SqlError> | CheckpointError, R> =>
  explained(
    effect,
    action,
    (detail, cause) => new CheckpointError({ reason: "Storage", thread, checkpoint, detail, cause })
  )

/** The same, after what the database turned away for now was tried again. */
const guard = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError, R>,
  action: string,
  thread: string,
  checkpoint?: string
): Effect.Effect<A, Exclude<E, SqlError> | CheckpointError, R> => explain(retried(effect), action, thread, checkpoint)

// ---------------------------------------------------------------------------
// Queries
// ---------------------------------------------------------------------------

interface ThreadColumns {
  readonly key: Integer
  readonly life: string
  readonly sees_committed: boolean | Integer
}

/** The row of a thread, which nobody else moves on before the transaction ends. */
const lockedThread = (
  connection: Connection,
  { lockedThread }: Texts,
  thread: string
): Effect.Effect<ThreadColumns | undefined, SqlError | CheckpointError> =>
  Effect.flatMap(
    execute<ThreadColumns>(connection, lockedThread, [toColumn(thread)]),
    ([row]) =>
      row === undefined || Boolean(row.sees_committed) ? Effect.succeed(row) : Effect.fail(
        new CheckpointError({
          reason: "Storage",
          thread,
          detail:
            "the transaction around it does not see what others commit: begin it with ISOLATION LEVEL READ COMMITTED"
        })
      )
  )

/** The key of a thread in its life; it begins with a commit that knows of none. */
const keyFor = Effect.fnUntraced(function*(connection: Connection, texts: Texts, thread: string, given: Commit) {
  const life = toColumn(given.life ?? given.owner)
  if (given.life === undefined) yield* connection.execute(texts.begin, [toColumn(thread), life], undefined)
  const row = yield* lockedThread(connection, texts, thread)
  if (row?.life === life) return row.key
  if (given.life !== undefined) return yield* new ThreadDeleted({ thread })
  const found = Option.getOrUndefined(yield* head(connection, texts, thread, "", undefined))
  const { branch } = given.checkpoint
  return yield* new ThreadConflict({ thread, branch, expected: given.expected, found: found?.id })
})

const keyOf = (checkpoint: string, task: string): string => JSON.stringify([checkpoint, task])

/** The rows that remain when each is put after the one before. */
const lastOf = (rows: ReadonlyArray<TaskRow>): ReadonlyMap<string, TaskRow> => {
  const last = new Map<string, TaskRow>()
  for (const row of rows) {
    const key = keyOf(row.checkpoint, row.task)
    if (last.get(key)?.status !== "done") last.set(key, row)
  }
  return last
}

/** A checkpoint, as statements about its tasks name it. */
type Beside = readonly [namespace: Integer, namespaceAgain: Integer, checkpoint: Uint8Array]

const besideOf = (namespace: Integer, checkpoint: string): Beside => [namespace, namespace, toIdBytes(checkpoint)]

const taskParams = (beside: ReadonlyArray<unknown>, rows: ReadonlyArray<TaskRow>): ReadonlyArray<unknown> =>
  rows.flatMap((row) => [...beside, toColumn(row.task), row.status, row.revision, row.data])

/** A checkpoint, as the statement that puts so many rows beside it names it. */
const besideFor = (connection: Connection, texts: Texts, beside: Beside, count: number) => {
  if (count === 1) return Effect.succeed(beside)
  const [namespace, , id] = beside
  return Effect.map(
    execute<{ readonly sequence: Integer }>(connection, texts.sequence, [namespace, id]),
    ([row]) => [namespace, row?.sequence ?? null]
  )
}

/** The rows that stand of some tasks. */
const standingIn = (connection: Connection, texts: Texts, beside: Beside, rows: ReadonlyArray<TaskRow>) =>
  Effect.map(
    execute<Omit<TaskColumns, "checkpoint">>(connection, texts.kept.get(rows.length)!, [
      ...beside,
      ...rows.map(({ task }) => toColumn(task))
    ]),
    (found) => found.map((row) => toTask({ ...row, checkpoint: beside[2] }))
  )

/** Puts rows beside one checkpoint, with different keys, and gives those that stand in place of one. */
const putBatch = Effect.fnUntraced(
  function*(connection: Connection, texts: Texts, beside: Beside, rows: ReadonlyArray<TaskRow>) {
    const at = yield* besideFor(connection, texts, beside, rows.length)
    const put = connection.executeValues(texts.put.get(rows.length)!, taskParams(at, rows))
    const won = (yield* put) as ReadonlyArray<readonly [task: string]>
    if (won.length === rows.length) return []
    const isWon = new Set(won.map(([task]) => fromColumn(task)))
    return (yield* standingIn(connection, texts, beside, rows)).filter(({ task }) => !isWon.has(task))
  }
)

/** The rows in batches, each beside one checkpoint. */
const besideEach = (
  namespace: Integer,
  rows: ReadonlyArray<TaskRow>
): ReadonlyArray<readonly [Beside, ReadonlyArray<TaskRow>]> =>
  [...Map.groupBy(rows, ({ checkpoint }) => checkpoint)].flatMap(([checkpoint, own]) =>
    batchesOf(own).map((batch) => [besideOf(namespace, checkpoint), batch] as const)
  )

// Keys are counted from 1.
const noKey = 0

/** Where a graph stands in a branch of a thread. */
interface Located {
  /** The key of its namespace; before the first checkpoint one that none has. */
  readonly namespace: Integer
  readonly head: { readonly id: string; readonly owner: string } | undefined
}

interface LocatedColumns {
  readonly namespace: Integer | null
  readonly id: Uint8Array | null
  readonly owner: string | null
}

const locate = (
  connection: Connection,
  texts: Texts,
  key: Integer,
  { branch, namespace, place }: { readonly branch: number; readonly namespace: string; readonly place: string }
): Effect.Effect<Located, SqlError> => {
  const params = [key, digestOf(namespace), key, digestOf(place), branch]
  return Effect.map(execute<LocatedColumns>(connection, texts.located, params), ([row]) => ({
    namespace: row!.namespace ?? noKey,
    head: row!.id === null ? undefined : { id: fromIdBytes(row!.id), owner: fromColumn(row!.owner!) }
  }))
}

const isStored = (
  connection: Connection,
  texts: Texts,
  namespace: Integer,
  id: string
): Effect.Effect<boolean, SqlError> =>
  Effect.map(execute(connection, texts.sequence, [namespace, toIdBytes(id)]), (rows) => rows.length > 0)

/** Why a graph inside a task stores nothing more: the thread has moved on. */
const leftBehind = (
  connection: Connection,
  texts: Texts,
  { key, thread }: Pick<Mover, "key" | "thread">,
  { branch, place, root }: { readonly branch: number; readonly place: string; readonly root: string | undefined }
): Effect.Effect<ThreadConflict | undefined, SqlError> => {
  if (place === "") return Effect.undefined
  return Effect.map(
    execute<{ readonly id: Uint8Array }>(connection, texts.root, [key, digestOf(""), branch]),
    ([row]) => {
      const found = row === undefined ? undefined : fromIdBytes(row.id)
      return found === root ? undefined : new ThreadConflict({ thread, branch, expected: root, found })
    }
  )
}

/** The key of a namespace that begins. */
const begin = (
  connection: Connection,
  texts: Texts,
  key: Integer,
  namespace: string
): Effect.Effect<Integer, SqlError> =>
  Effect.map(
    execute<{ readonly key: Integer }>(connection, texts.beginNamespace, [
      key,
      digestOf(namespace),
      toColumn(namespace)
    ]),
    ([row]) => row!.key
  )

const putTasks = Effect.fnUntraced(
  function*(connection: Connection, texts: Texts, thread: string, put: Put) {
    const { branch, life, tasks: rows } = put
    const begun = yield* lockedThread(connection, texts, thread)
    if (begun?.life !== toColumn(life)) return yield* new ThreadDeleted({ thread })
    const at = yield* locate(connection, texts, begun.key, put)
    const found = at.head?.id
    const behind = yield* leftBehind(connection, texts, { key: begun.key, thread }, put)
    const last = lastOf(rows)
    const kept = new Map<string, TaskRow>()
    for (const [beside, batch] of besideEach(at.namespace, [...last.values()])) {
      const isHead = behind === undefined && batch[0]!.checkpoint === found
      const standing = yield* (isHead ? putBatch : standingIn)(connection, texts, beside, batch)
      for (const row of standing) kept.set(keyOf(row.checkpoint, row.task), row)
      const late = isHead ? undefined : batch.find((row) => replaces(row, kept.get(keyOf(row.checkpoint, row.task))))
      if (late !== undefined) {
        return yield* behind ?? new ThreadConflict({ thread, branch, expected: late.checkpoint, found })
      }
    }
    // A row that is done stands for those that come after it.
    return rows.map((row) => {
      const id = keyOf(row.checkpoint, row.task)
      if (!kept.has(id) && row.status === "done") kept.set(id, row)
      return kept.get(id) ?? row
    })
  }
)

/** Whether a row would be new beside a checkpoint. */
const replaces = (row: TaskRow, present: TaskRow | undefined): boolean =>
  present === undefined || (present.status !== "done" && (row.status === "done" || row.revision > present.revision))

interface Mover {
  readonly isBegun: boolean
  readonly thread: string
  readonly key: Integer
  readonly owner: string
}

/** Stores the rows of a move; whether the finished rows beside the expected head are those that its checkpoint follows from. */
const putFolded = Effect.fnUntraced(
  function*(connection: Connection, texts: Texts, namespace: Integer, { expected, finished, tasks }: Move) {
    const given = tasks.length === 1 ? tasks : [...lastOf(tasks).values()]
    for (const [beside, rows] of besideEach(namespace, given)) {
      const data = new Map(rows.map((row) => [row.task, row.data]))
      const standing = yield* putBatch(connection, texts, beside, rows)
      if (standing.some((row) => row.status === "done" && row.data !== data.get(row.task))) return false
    }
    if (finished === undefined || expected === undefined) return true
    const beside = besideOf(namespace, expected)
    const found = yield* execute<{ readonly done: Integer }>(connection, texts.done, beside)
    return Number(found[0]!.done) === finished
  }
)

/** Makes a move, under the lock of the thread: the head that is read is the head that is replaced. */
const makeMove = Effect.fnUntraced(
  function*(connection: Connection, texts: Texts, by: Mover, move: Move) {
    const { key, owner, thread } = by
    const { checkpoint, expected, place } = move
    const { branch, id } = checkpoint
    const at = yield* locate(connection, texts, key, { ...move, branch })
    const found = at.head?.id
    if (found === id && at.head!.owner === owner) return
    const conflict = new ThreadConflict({ thread, branch, expected, found })
    if (found !== expected) {
      return place !== "" && (yield* isStored(connection, texts, at.namespace, id))
        ? undefined
        : yield* conflict
    }
    // A branch that would begin at a checkpoint that is gone.
    const base = place === "" && expected === undefined && by.isBegun ? checkpoint.parent : undefined
    if (base !== undefined && !(yield* isStored(connection, texts, at.namespace, base))) return yield* conflict
    const namespace = at.namespace === noKey ? yield* begin(connection, texts, key, move.namespace) : at.namespace
    // Before the rows of tasks: some stand beside it.
    yield* connection.execute(texts.checkpoint, checkpointParams(namespace, checkpoint), undefined)
    if (!(yield* putFolded(connection, texts, namespace, move))) return yield* conflict
    yield* connection.execute(texts.moveHead, headParams(key, { branch, place, id, owner }), undefined)
  }
)

const commit = Effect.fnUntraced(
  function*(connection: Connection, texts: Texts, thread: string, given: Commit) {
    const key = yield* keyFor(connection, texts, thread, given)
    const by = { thread, key, owner: given.owner, isBegun: given.life !== undefined }
    const { branch, id } = given.checkpoint
    const behind = yield* leftBehind(connection, texts, by, { ...given, branch })
    if (behind !== undefined) {
      const { namespace } = yield* locate(connection, texts, key, { ...given, branch })
      return (yield* isStored(connection, texts, namespace, id)) ? undefined : yield* behind
    }
    for (const move of [given, ...given.inside]) yield* makeMove(connection, texts, by, move)
  }
)

const dump = (connection: Connection, texts: Texts, thread: string): Effect.Effect<Option.Option<Dump>, SqlError> => {
  const at = toColumn(thread)
  return Effect.map(
    connection.executeValues(texts.all, [at, at, at]),
    (rows) => toDump(rows as unknown as ReadonlyArray<DumpColumns>)
  )
}

const restore = Effect.fnUntraced(
  function*(
    connection: Connection,
    texts: Texts,
    thread: string,
    given: { readonly dump: Dump; readonly life: string }
  ) {
    const { dump: { checkpoints, heads, tasks }, life } = given
    const found = yield* lockedThread(connection, texts, thread)
    if (found !== undefined) {
      const at = Option.getOrUndefined(yield* head(connection, texts, thread, "", undefined))
      return yield* new ThreadConflict({ thread, branch: at?.branch ?? 1, expected: undefined, found: at?.id })
    }
    yield* connection.execute(texts.begin, [toColumn(thread), toColumn(life)], undefined)
    const row = yield* lockedThread(connection, texts, thread)
    const { key } = row!
    // Another one has begun it meanwhile.
    if (row!.life !== toColumn(life)) {
      return yield* new ThreadConflict({ thread, branch: 1, expected: undefined, found: undefined })
    }
    const keys = new Map<string, Integer>()
    for (const { namespace } of [...checkpoints, ...tasks]) {
      if (!keys.has(namespace)) keys.set(namespace, yield* begin(connection, texts, key, namespace))
    }
    for (const { namespace, row } of checkpoints) {
      yield* connection.execute(texts.checkpoint, checkpointParams(keys.get(namespace)!, row), undefined)
    }
    for (const [namespace, rows] of Map.groupBy(tasks, (one) => one.namespace)) {
      for (const [beside, batch] of besideEach(keys.get(namespace)!, rows.map(({ row }) => row))) {
        yield* putBatch(connection, texts, beside, batch)
      }
    }
    for (const head of heads) yield* connection.execute(texts.moveHead, headParams(key, head), undefined)
  }
)

const remove = Effect.fnUntraced(
  function*(
    connection: Connection,
    texts: Texts,
    thread: string,
    { branch: newest, checkpoints, heads, life }: Removal
  ) {
    const row = yield* lockedThread(connection, texts, thread)
    if (row?.life !== toColumn(life)) return yield* new ThreadDeleted({ thread })
    const all = yield* execute<HeadColumns>(connection, texts.allHeads, [row.key])
    const seen = new Map(heads.map(({ branch, id, place }) => [`${branch} ${place}`, id]))
    const gone = new Set(checkpoints.map(({ id }) => id))
    const standing = all.find(({ branch, ...row }) => {
      const [id, place] = [fromIdBytes(row.id), fromColumn(row.place)]
      const going = seen.get(`${branch} ${place}`)
      return going === undefined ? gone.has(id) || (place === "" && Number(branch) > newest) : going !== id
    })
    if (standing !== undefined) {
      const [branch, found] = [Number(standing.branch), fromIdBytes(standing.id)]
      return yield* new ThreadConflict({ thread, branch, expected: undefined, found })
    }
    for (const { branch, place } of heads) {
      yield* connection.execute(texts.removeHead, [row.key, digestOf(place), branch], undefined)
    }
    for (const [namespace, own] of Map.groupBy(checkpoints, (one) => one.namespace)) {
      for (const batch of batchesOf(own)) {
        const params = [row.key, digestOf(namespace), ...batch.map(({ id }) => toIdBytes(id))]
        yield* connection.execute(texts.removeTasks.get(batch.length)!, params, undefined)
        yield* connection.execute(texts.removeCheckpoints.get(batch.length)!, params, undefined)
      }
    }
    yield* connection.execute(texts.removeNamespaces, [row.key], undefined)
  }
)

const deleteThread = Effect.fnUntraced(function*(connection: Connection, texts: Texts, thread: string) {
  const row = yield* lockedThread(connection, texts, thread)
  if (row === undefined) return
  for (const text of texts.deletes) yield* connection.execute(text, [row.key], undefined)
  yield* connection.execute(texts.deleteThread, [row.key], undefined)
})

const head = (
  connection: Connection,
  texts: Texts,
  thread: string,
  place: string,
  branch: number | undefined
): Effect.Effect<Option.Option<HeadRow>, SqlError> => {
  const rows = branch === undefined
    ? execute<HeadColumns>(connection, texts.newestHead, [toColumn(thread), digestOf(place)])
    : execute<HeadColumns>(connection, texts.branchHead, [toColumn(thread), digestOf(place), branch])
  return Effect.map(rows, (rows) => rows.length === 0 ? Option.none() : Option.some(toHead(rows[0]!)))
}

const get = (
  connection: Connection,
  texts: Texts,
  thread: string,
  namespace: string,
  id: string
): Effect.Effect<Option.Option<Saved>, SqlError> =>
  Effect.map(
    // Values, not records: a long chain is read in less time.
    connection.executeValues(texts.saved, [digestOf(namespace), toColumn(thread), toIdBytes(id)]),
    (rows) => toSaved(id, rows as unknown as ReadonlyArray<SavedColumns>)
  )

const list = (
  connection: Connection,
  texts: Texts,
  thread: string,
  namespace: string,
  { before, limit }: ListOptions
): Effect.Effect<ReadonlyArray<CheckpointRow>, SqlError> => {
  const isLimited = limit !== undefined && Number.isFinite(limit)
  const where = [digestOf(namespace), toColumn(thread)]
  const params: Array<unknown> = [...where]
  if (before !== undefined) params.push(...where, toIdBytes(before))
  if (isLimited) params.push(Math.max(0, Math.trunc(limit)))
  const text = before === undefined
    ? isLimited ? texts.listLimit : texts.list
    : isLimited
    ? texts.listBeforeLimit
    : texts.listBefore
  return Effect.map(execute<CheckpointColumns>(connection, text, params), (rows) => rows.map(toCheckpoint))
}

const threads = (connection: Connection, texts: Texts): Effect.Effect<ReadonlyArray<string>, SqlError> =>
  Effect.map(
    execute<{ readonly thread: string }>(connection, texts.threads, []),
    (rows) => rows.map(({ thread }) => fromColumn(thread))
  )

// ---------------------------------------------------------------------------
// Service
// ---------------------------------------------------------------------------

/** A client of another dialect is a mistake in the program. */
const dialectFor = (sql: SqlClient) => knownDialect(sql, "SqlCheckpointer")

/**
 * Keeps threads in the tables `superstep_…` of the database, which are made if they do not exist. Fails with `CheckpointError`
 * of reason `Format` if the database was written by a later version, or has other tables of these names; it is then unchanged.
 *
 * A write is one transaction, or a savepoint if the caller has begun one. `data` and `metadata` of rows are JSON texts and are
 * stored as they are; ids may be any strings.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { SqlClient } from "effect/sql"
 * import { Checkpointer, State, StateGraph } from "superstep"
 * import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   const saver = yield* SqlCheckpointer.make
 *   yield* Effect.provideService(app.thread("t").invoke({ total: 10 }), Checkpointer.Checkpointer, saver)
 *   const sql = yield* SqlClient.SqlClient
 *   return yield* sql`SELECT count(*) FROM superstep_checkpoints`.values
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))))
 * // => [[3]]
 * ```
 */
export const make: Effect.Effect<CheckpointerShape, CheckpointError, SqlClient> = Effect.gen(function*() {
  const sql = (yield* SqlClient).withoutTransforms()
  const dialect = yield* dialectFor(sql)
  yield* guard(prepareSchema(sql, dialect), "prepare the tables", "")
  const begin = yield* guard(beginningOf(sql, dialect), "ask for the isolation of transactions", "")
  const db: Database = { sql, texts: textsOf(dialect), begin }
  return Checkpointer.of({
    head: (thread, place, branch) =>
      guard(read(db, (connection, texts) => head(connection, texts, thread, place, branch)), "read the head", thread),
    get: (thread, namespace, id) =>
      guard(
        read(db, (connection, texts) => get(connection, texts, thread, namespace, id)),
        "read a checkpoint",
        thread,
        id
      ),
    list: (thread, namespace, options) =>
      guard(
        read(db, (connection, texts) => list(connection, texts, thread, namespace, options)),
        "list checkpoints",
        thread
      ),
    putTasks: (thread, put) =>
      guard(
        write(db, (connection, texts) => putTasks(connection, texts, thread, put)),
        "store tasks",
        thread,
        put.tasks[0]?.checkpoint
      ),
    commit: (thread, given) =>
      guard(
        write(db, (connection, texts) => commit(connection, texts, thread, given)),
        "store a checkpoint",
        thread,
        given.checkpoint.id
      ),
    dump: (thread) =>
      guard(read(db, (connection, texts) => dump(connection, texts, thread)), "read the thread", thread),
    restore: (thread, dump, life) =>
      guard(
        write(db, (connection, texts) => restore(connection, texts, thread, { dump, life })),
        "store the thread",
        thread
      ),
    remove: (thread, removal) =>
      guard(
        write(db, (connection, texts) => remove(connection, texts, thread, removal)),
        "remove checkpoints",
        thread
      ),
    deleteThread: (thread) =>
      guard(write(db, (connection, texts) => deleteThread(connection, texts, thread)), "delete the thread", thread),
    threads: guard(read(db, threads), "list threads", "")
  })
})

/**
 * Keeps threads in the database of the `SqlClient`: see {@link make}.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { State, StateGraph } from "superstep"
 * import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * // Any `SqlClient` of SQLite or Postgres, such as `PgClient.layer` of `@effect/sql-pg`.
 * const layer = SqlCheckpointer.layer.pipe(Layer.provide(SqliteClient.layer({ filename: ":memory:" })))
 *
 * console.log(await Effect.runPromise(app.thread("t").invoke({ total: 10 }).pipe(Effect.provide(layer))))
 * // => { total: 20 }
 * ```
 */
export const layer: Layer.Layer<Checkpointer, CheckpointError, SqlClient> = Layer.effect(Checkpointer, make)

/**
 * Where `layerSqlite` keeps threads.
 *
 * @category models
 * @since 0.1.0
 */
export interface SqliteOptions {
  /** Path of the file, which is made if it does not exist; `":memory:"` keeps threads as long as the layer lives. */
  readonly filename: string
  /** What a commit survives: `NORMAL` (default) the end of the process, `FULL` a power cut too. */
  readonly synchronous?: "NORMAL" | "FULL" | undefined
}

/** Looks at a file without the right to change it: opening it to write would set its journal mode. */
const inspect = Effect.fnUntraced(function*(filename: string) {
  const sql = yield* SqliteClient.make({ filename, readonly: true, busyTimeoutMillis: sqliteBusyTimeoutMillis })
  yield* checkSchema(sql, yield* dialectFor(sql))
}, Effect.scoped)

/**
 * Keeps threads in a SQLite file that several processes may use at once. Fails with `CheckpointError` if the file cannot be
 * opened, is no database, or was written by a later version; it is then unchanged.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { State, StateGraph } from "superstep"
 * import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const layer = SqlCheckpointer.layerSqlite({ filename: ":memory:" }) // or a path
 * console.log(await Effect.runPromise(app.thread("t").invoke({ total: 10 }).pipe(Effect.provide(layer))))
 * // => { total: 20 }
 * ```
 */
export const layerSqlite = (options: SqliteOptions): Layer.Layer<Checkpointer, CheckpointError> =>
  Layer.effect(
    Checkpointer,
    Effect.gen(function*() {
      const config = { ...options, busyTimeoutMillis: sqliteBusyTimeoutMillis }
      const opened = Effect.gen(function*() {
        if (hasContent(config.filename)) yield* inspect(config.filename)
        return yield* SqliteClient.make(config)
      })
      const sql = yield* explain(withReactivity(opened), `open "${String(config.filename)}"`, "")
      return yield* Effect.provideService(make, SqlClient, sql)
    })
  )
