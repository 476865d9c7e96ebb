/**
 * Keeps long-term memory in a SQL database: a SQLite file, or any `SqlClient` of
 * the SQLite or Postgres dialect.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as Store from "../Store.ts"
import { batchesOf, rowCounts, times } from "./internal/batches.ts"
import * as Database from "./internal/database.ts"
import type { Dialect } from "./internal/dialect.ts"
import { checkTables, type FormatError, prepareTables } from "./internal/migrating.ts"
import {
  compareColumns,
  keyFromColumn,
  keyToColumn,
  namespaceFromColumn,
  namespaceToColumn,
  rangeOf
} from "./internal/names.ts"
import {
  errorOf,
  type Extension,
  isThere,
  nearest as nearestText,
  prepare,
  putUnits,
  textFor,
  unitOf,
  unitsOf
} from "./internal/pgvector.ts"
import type { Integer } from "./internal/rows.ts"
import { storePlan } from "./internal/storeSchema.ts"
import { fromBytes, toBytes } from "./internal/vectors.ts"
import * as SqliteClient from "./SqliteClient.ts"

/** Rows that a filter looks at before it asks for more: then for twice as many, since each time all are sorted. */
const scanned = 500
const maxScanned = 16_000

// ---------------------------------------------------------------------------
// SQL
// ---------------------------------------------------------------------------

const live = "(expires_millis IS NULL OR expires_millis > ?)"

const plainColumns = "namespace, key, value, created_millis, updated_millis, ttl_millis"

const noUnits: typeof putUnits = { columns: ", has_units", values: ", FALSE", updates: ", has_units = FALSE" }

/** In one order everywhere: writers of the same rows wait for each other, and not in a circle. */
const refreshText = (count: number, { rowLock }: Dialect): string =>
  "WITH found AS MATERIALIZED (SELECT sequence FROM superstep_store_items " +
  `WHERE (namespace, key) IN (VALUES ${times("(?, ?)", count)}) AND ttl_millis IS NOT NULL AND expires_millis > ? ` +
  `ORDER BY namespace, key${rowLock}) ` +
  "UPDATE superstep_store_items SET expires_millis = ttl_millis + ? WHERE sequence IN (SELECT sequence FROM found)"

/** Every statement, written for the dialect once. Those of searches are put together of these parts: never of what a user gave. */
const textsOf = (dialect: Dialect, extension: Extension | undefined) => {
  const { hasFts5 } = dialect
  const text = extension === undefined ? dialect.text : textFor(dialect, extension)
  // Whoever knows nothing of unit vectors says that a row has none.
  const units = extension !== undefined ? putUnits : dialect.hasExtensions ? noUnits : undefined
  return {
    text,
    hasUnits: extension !== undefined,
    item: text(`SELECT ${plainColumns} FROM superstep_store_items WHERE namespace = ? AND key = ? AND ${live}`),
    refresh: new Map(rowCounts.map((count) => [count, text(refreshText(count, dialect))])),
    put: text(
      "INSERT INTO superstep_store_items " +
        `(namespace, key, value, created_millis, updated_millis, ttl_millis, expires_millis, words, vectors${
          units?.columns ?? ""
        }) ` +
        `VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?${units?.values ?? ""}) ` +
        "ON CONFLICT (namespace, key) DO UPDATE SET " +
        "created_millis = CASE WHEN superstep_store_items.expires_millis <= excluded.updated_millis " +
        "THEN excluded.created_millis ELSE superstep_store_items.created_millis END, " +
        "value = excluded.value, updated_millis = excluded.updated_millis, ttl_millis = excluded.ttl_millis, " +
        "expires_millis = excluded.expires_millis, words = excluded.words, vectors = excluded.vectors" +
        (units?.updates ?? "")
    ),
    delete: text("DELETE FROM superstep_store_items WHERE namespace = ? AND key = ?"),
    sweep: text("DELETE FROM superstep_store_items WHERE expires_millis <= ? RETURNING 1 AS gone"),
    withWords: hasFts5
      ? "sequence IN (SELECT rowid FROM superstep_store_words WHERE superstep_store_words MATCH ?)"
      : "string_to_array(words, ' ') && string_to_array(CAST(? AS TEXT), ' ')",
    /** Words are letters and digits: quoted they are no syntax. */
    wordsParam: (words: ReadonlyArray<string>): string =>
      hasFts5 ? words.map((word) => `"${word}"`).join(" OR ") : words.join(" ")
  }
}

type Texts = ReturnType<typeof textsOf>

/** A condition with what stands for its `?`. */
type Condition = readonly [sql: string, params: ReadonlyArray<unknown>]

const below = (prefix: Store.Namespace): ReadonlyArray<Condition> =>
  prefix.length === 0 ? [] : [["namespace >= ? AND namespace < ?", rangeOf(prefix)]]

const all = (conditions: ReadonlyArray<Condition>): Condition => [
  conditions.map(([sql]) => sql).join(" AND "),
  conditions.flatMap(([, params]) => params)
]

const after = ({ key, namespace, updatedMillis }: Store.Row): Condition => {
  const [labels, name] = [namespaceToColumn(namespace), keyToColumn(key)]
  return [
    "(updated_millis < ? OR (updated_millis = ? AND (namespace > ? OR (namespace = ? AND key > ?))))",
    [updatedMillis, updatedMillis, labels, labels, name]
  ]
}

// ---------------------------------------------------------------------------
// Rows
// ---------------------------------------------------------------------------

interface PlainColumns {
  readonly namespace: string
  readonly key: string
  readonly value: string
  readonly created_millis: Integer
  readonly updated_millis: Integer
  readonly ttl_millis: Integer | null
}

interface ScoredColumns extends PlainColumns {
  readonly words?: string
  readonly vectors?: Uint8Array | null
}

/** A row that knows whether it has a lifetime. */
interface Read extends Store.Row {
  readonly isMortal: boolean
}

const toRow = (row: ScoredColumns): Read => ({
  namespace: namespaceFromColumn(row.namespace),
  key: keyFromColumn(row.key),
  json: row.value,
  createdMillis: Number(row.created_millis),
  updatedMillis: Number(row.updated_millis),
  words: row.words === undefined || row.words === "" ? [] : row.words.split(" "),
  vectors: fromBytes(row.vectors ?? null),
  isMortal: row.ttl_millis !== null
})

const isMortal = (row: Store.Row): boolean => (row as Read).isMortal

// ---------------------------------------------------------------------------
// Queries
// ---------------------------------------------------------------------------

type Answered = Effect.Effect<Store.Answer, SqlError>
type Items = Extract<Store.Read, { readonly _tag: "Items" }>

/** A connection with the statements for it. */
interface Reader {
  readonly connection: Connection
  readonly texts: Texts
  readonly nowMillis: number
}

const select = (
  { connection, nowMillis, texts }: Reader,
  columns: string,
  given: ReadonlyArray<Condition>,
  { rest = "", params = [] }: { readonly rest?: string; readonly params?: ReadonlyArray<unknown> } = {}
): Effect.Effect<ReadonlyArray<ScoredColumns>, SqlError> => {
  const [where, own] = all([[live, [nowMillis]], ...given])
  const text = `SELECT ${columns} FROM superstep_store_items WHERE ${where}${rest}`
  return Database.execute<ScoredColumns>(connection, texts.text(text), [...own, ...params])
}

const ordered = " ORDER BY updated_millis DESC, namespace, key LIMIT ? OFFSET ?"

/** Looks at rows in their order, until there are enough that fit. */
const scan = Effect.fnUntraced(
  function*(reader: Reader, read: Items, fits: (row: Store.Row) => boolean) {
    const found: Array<Store.Row> = []
    const wanted = read.offset + read.limit
    let size = scanned
    for (let last: Store.Row | undefined, isDone = false; !isDone; size = Math.min(2 * size, maxScanned)) {
      const conditions = [...below(read.prefix), ...(last === undefined ? [] : [after(last)])]
      const rows = yield* select(reader, plainColumns, conditions, { rest: ordered, params: [size, 0] })
      for (const row of rows) {
        last = toRow(row)
        if (fits(last)) found.push(last)
      }
      isDone = rows.length < size || found.length >= wanted
    }
    return found.slice(read.offset, wanted)
  }
)

interface NearColumns extends ScoredColumns {
  readonly least: number | null
  readonly total: Integer
}

/** How many times as many rows are asked for if a filter has left too few. */
const growth = 8

/** Has the database find what is most alike, until those that fit are known to be the best of all: scores of the database are a little off. */
const nearest = Effect.fnUntraced(
  function*({ connection, nowMillis, texts }: Reader, read: Items, vector: Float32Array, unit: string) {
    const [where, params] = all([[live, [nowMillis]], ...below(read.prefix)])
    const text = texts.text(nearestText({ columns: `${plainColumns}, vectors`, conditions: where }))
    const error = errorOf(vector.length)
    const wanted = read.offset + read.limit
    let size = read.matches === undefined ? wanted : Math.max(wanted, scanned)
    while (true) {
      const given = [unit, ...params, size - 1, 2 * error, size]
      const rows = yield* Database.execute<NearColumns>(connection, text, given)
      const found = read.page(rows.map(toRow))
      const { least, total } = rows[0] ?? { least: null, total: 0 }
      const isFull = found.length === read.limit &&
        (least === null || (found.at(-1)!.score ?? -Infinity) >= least - error)
      if (isFull || rows.length === Number(total)) return found
      size *= growth
    }
  }
)

const items = (reader: Reader, read: Items): Answered => {
  const { vector } = read
  const unit = vector === undefined || !reader.texts.hasUnits ? undefined : unitOf(vector)
  if (vector !== undefined && unit !== undefined) {
    return Effect.map(
      nearest(reader, read, vector, unit),
      (found) => ({ _tag: "Items", found })
    )
  }
  if (read.score !== undefined) {
    // Which are the best is known when all have been looked at.
    const { words } = read
    if (words?.length === 0) return Effect.succeed({ _tag: "Items", found: [] })
    const conditions = [
      ...below(read.prefix),
      ...(words === undefined ? [] : [[reader.texts.withWords, [reader.texts.wordsParam(words)]] as const])
    ]
    const columns = `${plainColumns}, ${words === undefined ? "vectors" : "words"}`
    return Effect.map(
      select(reader, columns, conditions),
      (rows) => ({ _tag: "Items", found: read.page(rows.map(toRow)) })
    )
  }
  const rows = read.matches === undefined
    ? Effect.map(
      select(reader, plainColumns, below(read.prefix), { rest: ordered, params: [read.limit, read.offset] }),
      (rows) => rows.map(toRow)
    )
    : scan(reader, read, read.matches)
  return Effect.map(rows, (rows) => ({ _tag: "Items", found: rows.map((row) => ({ row, score: undefined })) }))
}

const answer = (reader: Reader, read: Store.Read): Answered => {
  switch (read._tag) {
    case "Item":
      return Effect.map(
        Database.execute<PlainColumns>(reader.connection, reader.texts.item, [
          namespaceToColumn(read.namespace),
          keyToColumn(read.key),
          reader.nowMillis
        ]),
        (rows) => ({ _tag: "Items", found: rows.map((row) => ({ row: toRow(row), score: undefined })) })
      )
    case "Items":
      return items(reader, read)
    case "Namespaces":
      return Effect.map(select(reader, "DISTINCT namespace", below(read.prefix)), (rows) => ({
        _tag: "Namespaces",
        namespaces: read.page(rows.map(({ namespace }) => namespaceFromColumn(namespace)))
      }))
  }
}

/** What was read and is to live on. */
const refreshed = (
  reads: ReadonlyArray<Store.Read>,
  answers: ReadonlyArray<Store.Answer>
): ReadonlyArray<Store.Row> =>
  reads.flatMap((read, index) => {
    const given = answers[index]!
    return read._tag === "Namespaces" || !read.refresh || given._tag === "Namespaces"
      ? []
      : given.found.map(({ row }) => row).filter(isMortal)
  })

interface Name {
  readonly namespace: string
  readonly key: string
}

/** The order in which rows are locked: that of the database, which locks several at once. */
const inOrder = <A extends Name>(names: ReadonlyArray<A>): ReadonlyArray<A> =>
  [...names].sort((a, b) => compareColumns(a.namespace, b.namespace) || compareColumns(a.key, b.key))

const named = <A extends { readonly namespace: Store.Namespace; readonly key: string }>(given: A) => ({
  given,
  namespace: namespaceToColumn(given.namespace),
  key: keyToColumn(given.key)
})

const refresh = ({ connection, nowMillis, texts }: Reader, rows: ReadonlyArray<Store.Row>) =>
  Effect.forEach(
    batchesOf(inOrder(rows.map(named))),
    (batch) => {
      const params = [...batch.flatMap(({ key, namespace }) => [namespace, key]), nowMillis, nowMillis]
      return connection.execute(texts.refresh.get(batch.length)!, params, undefined)
    },
    { discard: true }
  )

const put = (
  { connection, nowMillis, texts }: Reader,
  { key, namespace }: Name,
  { json, ttlMillis, vectors, words }: Extract<Store.Write, { readonly _tag: "Put" }>
) => {
  const units = texts.hasUnits ? unitsOf(vectors) : null
  return connection.execute(texts.put, [
    namespace,
    key,
    json,
    nowMillis,
    nowMillis,
    ttlMillis ?? null,
    ttlMillis === undefined ? null : nowMillis + ttlMillis,
    words.join(" "),
    toBytes(vectors),
    ...texts.hasUnits ? [units !== null, units] : []
  ], undefined)
}

const writeAll = (reader: Reader, writes: ReadonlyArray<Store.Write>) =>
  Effect.forEach(
    inOrder(writes.map(named)),
    ({ given, ...name }) =>
      given._tag === "Put"
        ? put(reader, name, given)
        : reader.connection.execute(reader.texts.delete, [name.namespace, name.key], undefined),
    { discard: true }
  )

// ---------------------------------------------------------------------------
// Stores
// ---------------------------------------------------------------------------

const failure = (detail: string, cause: SqlError): Store.StoreError =>
  new Store.StoreError({ reason: "Storage", detail, cause })

const told = <A, R>(effect: Effect.Effect<A, SqlError | FormatError, R>) =>
  Effect.catchTag(
    effect,
    "FormatError",
    ({ cause, detail }) => Effect.fail(new Store.StoreError({ reason: "Format", detail, cause }))
  )

const guard = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>, action: string) =>
  Database.explained(Database.retried(effect), action, failure)

const storageOf = (db: Database.Database<Texts>): Store.Storage => {
  const answers = (reader: Reader, reads: ReadonlyArray<Store.Read>) =>
    Effect.forEach(reads, (read) => answer(reader, read))
  return {
    run: ({ nowMillis, reads, writes }) => {
      const readerOf = (connection: Connection, texts: Texts): Reader => ({ connection, texts, nowMillis })
      if (writes.length === 0) {
        const found = guard(Database.read(db, (...given) => answers(readerOf(...given), reads)), "read items")
        // Most of what is read has no lifetime: then nothing is locked.
        return Effect.tap(found, (found) => {
          const mortal = refreshed(reads, found)
          return mortal.length === 0
            ? Effect.void
            : guard(Database.write(db, (...given) => refresh(readerOf(...given), mortal)), "refresh items")
        })
      }
      const done = Effect.fnUntraced(function*(reader: Reader) {
        const found = yield* answers(reader, reads)
        yield* refresh(reader, refreshed(reads, found))
        yield* writeAll(reader, writes)
        return found
      })
      return guard(Database.write(db, (...given) => done(readerOf(...given))), "store items")
    },
    sweep: (nowMillis) =>
      guard(
        Database.write(db, (connection, { sweep }) => Database.execute(connection, sweep, [nowMillis])),
        "sweep"
      ).pipe(Effect.map((gone) => gone.length))
  }
}

/** If the extension goes while the store is used, the store goes on without it. */
const withExtension = (sql: SqlClient, dialect: Dialect, extension: Extension): Store.Storage => {
  const without = storageOf({ sql, texts: textsOf(dialect, undefined) })
  let storage = storageOf({ sql, texts: textsOf(dialect, extension) })
  return {
    run: (batch) =>
      Effect.suspend(() =>
        storage === without ?
          without.run(batch) :
          Effect.catch(storage.run(batch), (error) =>
            Effect.flatMap(isThere(sql, extension), (isThere) => {
              if (isThere) return Effect.fail(error)
              storage = without
              return without.run(batch)
            }))
      ),
    sweep: without.sweep
  }
}

const dialectFor = (sql: SqlClient) => Database.knownDialect(sql, "SqlStore")

const storage = Effect.fnUntraced(function*(semantic: boolean) {
  const sql = (yield* SqlClient).withoutTransforms()
  const dialect = yield* dialectFor(sql)
  yield* guard(told(prepareTables(sql, dialect, storePlan)), "prepare the tables")
  const extension = semantic && dialect.hasExtensions
    ? yield* guard(prepare(sql, dialect), "look for the extension vector")
    : undefined
  return extension === undefined
    ? storageOf({ sql, texts: textsOf(dialect, undefined) })
    : withExtension(sql, dialect, extension)
})

/**
 * Keeps items in the tables `superstep_store_…` of the database, which are made if they do not exist. Fails with `StoreError` of reason
 * `Format` if the database was written by a later version, or has other tables of these names; it is then unchanged.
 *
 * Without `semantic`, words are looked up in an index: FTS5 in SQLite, GIN in Postgres. With it, the vectors below the prefix
 * are compared: by Postgres, if it has the extension `vector` when the store is made, or the user may make it; else one by one, in this process. Both
 * give the same.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 * import * as SqlStore from "superstep/sql/SqlStore"
 *
 * const program = Effect.gen(function*() {
 *   const store = yield* SqlStore.make({ ttl: "30 days" })
 *   yield* store.put(["users", "ada"], "food", { likes: "figs" })
 *   return (yield* store.search(["users"], { query: "Figs!" })).map(({ key, score }) => [key, score])
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))))
 * // => [["food", 1]]
 * ```
 */
export const make = <const O extends Store.Options = {}>(
  options?: O
): Effect.Effect<Store.StoreShape, Store.StoreError, SqlClient | Store.Needs<O>> =>
  Effect.flatMap(storage(options?.semantic === true), (storage) => Store.make(storage, options))

/**
 * Keeps items in the database of the `SqlClient`: see {@link make}. With options, it is `Layer.effect(Store.Store, SqlStore.make(options))`.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Store } from "superstep"
 * import * as SqliteClient from "superstep/sql/SqliteClient"
 * import * as SqlStore from "superstep/sql/SqlStore"
 *
 * // Any `SqlClient` of SQLite or Postgres, such as `PgClient.layer` of `@effect/sql-pg`.
 * const layer = SqlStore.layer.pipe(Layer.provide(SqliteClient.layer({ filename: ":memory:" })))
 *
 * const program = Store.Store.use((store) =>
 *   Effect.andThen(store.put(["users"], "ada", 1), store.listNamespaces())
 * )
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(layer)))) // => [["users"]]
 * ```
 */
export const layer: Layer.Layer<Store.Store, Store.StoreError, SqlClient> = Layer.effect(Store.Store, make())

/**
 * Where `layerSqlite` keeps items, and how.
 *
 * @category models
 * @since 0.1.0
 */
export interface SqliteOptions extends Store.Options {
  /** Path of the file, which is made if it does not exist; `":memory:"` keeps items as long as the layer lives. */
  readonly filename: string
  /** What a write survives: `NORMAL` (default) the end of the process, `FULL` a power cut too. */
  readonly synchronous?: "NORMAL" | "FULL" | undefined
}

/** Looks at a file without the right to change it: opening it to write would set its journal mode. */
const inspect = Effect.fnUntraced(function*(config: SqliteClient.SqliteConfig) {
  const sql = yield* SqliteClient.make({ ...config, readonly: true })
  yield* told(checkTables(sql, yield* dialectFor(sql), storePlan))
}, Effect.scoped)

/**
 * Keeps items in a SQLite file that several processes may use at once; it may be the file of the threads. Fails with `StoreError` if the
 * file cannot be opened, is no database, or was written by a later version; it is then unchanged.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { Store } from "superstep"
 * import * as SqlStore from "superstep/sql/SqlStore"
 *
 * const program = Effect.gen(function*() {
 *   const store = yield* Store.Store
 *   yield* store.put(["users"], "ada", { city: "London" })
 *   return Option.map(yield* store.get(["users"], "ada"), ({ value }) => value)
 * })
 *
 * const layer = SqlStore.layerSqlite({ filename: ":memory:" }) // or a path
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(layer)))) // => Option.some({ city: "London" })
 * ```
 */
export const layerSqlite = <const O extends SqliteOptions>(
  options: O
): Layer.Layer<Store.Store, Store.StoreError, Store.Needs<O>> =>
  Layer.effect(
    Store.Store,
    Effect.gen(function*() {
      const { filename, synchronous } = options
      const config = { filename, synchronous, busyTimeoutMillis: Database.sqliteBusyTimeoutMillis }
      const opened = Effect.gen(function*() {
        if (Database.hasContent(filename)) yield* inspect(config)
        return yield* SqliteClient.make(config)
      })
      const sql = yield* Database.explained(Database.withReactivity(opened), `open "${String(filename)}"`, failure)
      return yield* Effect.provideService(make<O>(options), SqlClient, sql)
    })
  )
