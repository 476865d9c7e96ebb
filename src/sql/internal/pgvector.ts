/**
 * Vectors that Postgres itself compares, where it has the extension `vector`. They stand beside those that the store keeps, which stay what
 * counts: the database finds the rows that may be wanted, and the process scores them.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Database from "./database.ts"
import type { Dialect } from "./dialect.ts"
import { fromBytes } from "./vectors.ts"

/** Numbers that a vector of the extension has at most. */
const maxLength = 16_000

/** Decimals that are sent of each number of a unit vector: they are as exact as 32 bits. */
const decimals = 9

/** Rows that get their unit vectors in one transaction. */
const filled = 100

/** The extension as it was found. */
export interface Extension {
  /** It is another one after it was dropped and made again. */
  readonly id: string
  /** Where its type and its operators are, as a name in SQL. */
  readonly schema: string
}

/** Stands for the schema of the extension, which the search path need not have. */
const own = "@vector"

/** SQL for the dialect, with the schema in it: last, because a name may have a question mark. */
export const textFor = ({ text }: Dialect, { schema }: Extension) => (sql: string): string =>
  text(sql).replaceAll(own, () => schema)

// ---------------------------------------------------------------------------
// Unit vectors
// ---------------------------------------------------------------------------

/** As {@link unitsOf}, of one vector. */
export const unitOf = (vector: Float32Array): string | undefined => {
  let square = 0
  for (const number of vector) square += number * number
  if (vector.length === 0 || vector.length > maxLength || !Number.isFinite(square)) return undefined
  const length = Math.sqrt(square)
  return `[${Array.from(vector, (number) => length === 0 ? "0" : (number / length).toFixed(decimals)).join()}]`
}

/**
 * Vectors of length 1 in the same directions, as the extension reads them: their products neither overflow nor vanish. What has no direction
 * has the product 0 with all. None if one of them is not for the extension: too long, empty, or not made of numbers.
 */
export const unitsOf = (vectors: ReadonlyArray<Float32Array>): string | null => {
  const units = vectors.map(unitOf)
  return units.length === 0 || units.includes(undefined) ? null : `{${units.map((unit) => `"${unit}"`).join()}}`
}

/** By how much a score of the database is off at most, twice over: it adds numbers of 32 bits, one for each place of the vectors. */
export const errorOf = (length: number): number => (length + 16) * 2 ** -23

// ---------------------------------------------------------------------------
// Statements
// ---------------------------------------------------------------------------

/** A parameter is a text: a statement that a connection has prepared outlives a type that was dropped. */
const given = (type: string): string => `CAST(CAST(? AS TEXT) AS ${own}.${type})`

/** The columns that a put has beyond the others, what stands for them, and what an update takes. */
export const putUnits = {
  columns: ", has_units, units",
  values: `, CAST(? AS BOOLEAN), ${given("vector[]")}`,
  updates: ", has_units = excluded.has_units, units = excluded.units"
}

/** What to ask of the database, with the conditions for rows. */
export interface Nearest {
  readonly columns: string
  readonly conditions: string
}

/**
 * All rows that may be among the best: those with a score that is no worse than the last of so many, less a margin; and if there
 * are fewer with a score, the first of those without one. Rows that have no unit vectors yet are among them.
 *
 * Parameters: the unit vector of the query, those of the conditions, one less than how many, the margin, how many.
 */
export const nearest = ({ columns, conditions }: Nearest): string =>
  `WITH asked AS MATERIALIZED (SELECT ${given("vector")} AS query), scored AS MATERIALIZED (
    SELECT sequence, updated_millis, namespace, key, has_units OR vectors IS NULL AS is_known,
      CASE WHEN has_units THEN (
        SELECT max(CASE WHEN ${own}.vector_dims(unit) = ${own}.vector_dims((SELECT query FROM asked))
          THEN -(unit OPERATOR(${own}.<#>) (SELECT query FROM asked)) END)
        FROM unnest(units) AS unit
      ) END AS score
    FROM superstep_store_items WHERE ${conditions}
  ), last AS MATERIALIZED (
    SELECT (SELECT score FROM scored WHERE score IS NOT NULL ORDER BY score DESC LIMIT 1 OFFSET ?) AS least
  )
  SELECT ${columns}, (SELECT least FROM last) AS least, (SELECT count(*) FROM scored) AS total
  FROM superstep_store_items WHERE sequence IN (
    SELECT sequence FROM scored, last
    WHERE NOT is_known OR score >= COALESCE(least, -2) - CAST(? AS DOUBLE PRECISION)
    UNION ALL (
      SELECT sequence FROM scored WHERE is_known AND score IS NULL AND (SELECT least FROM last) IS NULL
      ORDER BY updated_millis DESC, namespace, key LIMIT ?
    )
  )`

// ---------------------------------------------------------------------------
// Whether it is there
// ---------------------------------------------------------------------------

interface Found extends Extension {
  readonly has_units: boolean
}

/** The extension, if its schema may be used. */
const installed = `SELECT CAST(e.oid AS TEXT) AS id, quote_ident(n.nspname) AS schema, EXISTS (
    SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('superstep_store_items') AND attname = 'units'
      AND NOT attisdropped
  ) AS has_units
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector' AND has_schema_privilege(n.oid, 'USAGE')`

const available = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector' AND installed_version IS NULL"

const find = (sql: SqlClient): Effect.Effect<Found | undefined, SqlError> =>
  Effect.map(sql.unsafe<Found>(installed), (rows) => rows[0])

const addUnits = (dialect: Dialect, extension: Extension): ReadonlyArray<string> => [
  textFor(dialect, extension)(`ALTER TABLE superstep_store_items ADD COLUMN units ${own}.vector[]`),
  "ALTER TABLE superstep_store_items ALTER COLUMN units SET STORAGE EXTERNAL",
  // There may have been a column, which went with the extension.
  "UPDATE superstep_store_items SET has_units = FALSE WHERE has_units"
]

const add = Effect.fnUntraced(function*(sql: SqlClient, dialect: Dialect) {
  yield* sql.unsafe(dialect.schemaLock!)
  if ((yield* sql.unsafe(available)).length > 0) yield* sql.unsafe("CREATE EXTENSION IF NOT EXISTS vector")
  const found = yield* find(sql)
  if (found === undefined || found.has_units) return
  yield* Effect.forEach(addUnits(dialect, found), (text) => sql.unsafe(text), { discard: true })
})

/** Gives rows their unit vectors that were stored without the extension. What another transaction has locked is left. */
const fill = Effect.fnUntraced(function*(sql: SqlClient, dialect: Dialect, extension: Extension) {
  const text = textFor(dialect, extension)
  const next = text(
    "SELECT sequence, vectors FROM superstep_store_items WHERE vectors IS NOT NULL AND NOT has_units AND sequence > ? " +
      `ORDER BY sequence LIMIT ${filled} FOR NO KEY UPDATE SKIP LOCKED`
  )
  const set = text(
    `UPDATE superstep_store_items SET has_units = TRUE, units = ${given("vector[]")} WHERE sequence = ?`
  )
  const some = Effect.fnUntraced(function*(last: string) {
    const rows = yield* sql.unsafe<{ readonly sequence: unknown; readonly vectors: Uint8Array }>(next, [last])
    for (const { sequence, vectors } of rows) {
      const units = unitsOf(fromBytes(vectors))
      if (units !== null) yield* sql.unsafe(set, [units, sequence])
    }
    return rows.length < filled ? undefined : String(rows.at(-1)!.sequence)
  })
  for (let last: string | undefined = "0"; last !== undefined;) {
    last = yield* Database.retried(sql.withTransaction(some(last)))
  }
})

const unfilled = "SELECT 1 FROM superstep_store_items WHERE vectors IS NOT NULL AND NOT has_units LIMIT 1"

/**
 * Decides whether the database compares vectors: if it has the extension, or makes it now. Where that is not allowed, nothing is changed,
 * and a transaction that there is goes on.
 */
export const prepare: (sql: SqlClient, dialect: Dialect) => Effect.Effect<Extension | undefined, SqlError> = Effect
  .fnUntraced(function*(sql: SqlClient, dialect: Dialect) {
    let found = yield* find(sql)
    if (found === undefined && (yield* sql.unsafe(available)).length === 0) return undefined
    if (found === undefined || !found.has_units) {
      yield* Effect.ignore(Database.retried(sql.withTransaction(add(sql, dialect))))
      found = yield* find(sql)
    }
    if (found === undefined || !found.has_units) return undefined
    // Who may only read searches all the same: rows without unit vectors are compared in the process.
    if ((yield* sql.unsafe(unfilled)).length > 0) yield* Effect.ignore(fill(sql, dialect, found))
    return found
  })

/** Whether the extension is still the one that was found. What cannot be told is taken for a yes. */
export const isThere = (sql: SqlClient, { id, schema }: Extension): Effect.Effect<boolean> =>
  find(sql).pipe(
    Effect.map((found) => found !== undefined && found.id === id && found.schema === schema && found.has_units),
    Effect.orElseSucceed(() => true)
  )
