/**
 * The tables of threads.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { CheckpointError } from "../../GraphError.ts"
import type { Dialect } from "./dialect.ts"
import { checkTables, type FormatError, type Plan, prepareTables } from "./migrating.ts"

const checkpointTables = (dialect: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE superstep_threads (
    key ${dialect.key},
    thread TEXT NOT NULL UNIQUE,
    life TEXT NOT NULL
  )${dialect.table}`,
  `CREATE TABLE superstep_checkpoints (
    sequence ${dialect.key},
    thread ${dialect.integer} NOT NULL REFERENCES superstep_threads (key) ON DELETE CASCADE,
    created_millis ${dialect.integer} NOT NULL,
    branch ${dialect.count} NOT NULL,
    step ${dialect.count} NOT NULL,
    format ${dialect.small} NOT NULL,
    is_keyframe ${dialect.small} NOT NULL CHECK (is_keyframe IN (0, 1)),
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT,
    source TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (thread, namespace, id)
  )${dialect.table}`,
  "CREATE INDEX superstep_checkpoints_order ON superstep_checkpoints (thread, namespace, sequence)",
  `CREATE TABLE superstep_tasks (
    checkpoint ${dialect.integer} NOT NULL REFERENCES superstep_checkpoints (sequence) ON DELETE CASCADE,
    revision ${dialect.count} NOT NULL,
    task TEXT NOT NULL,
    status TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (checkpoint, task)
  )${dialect.table}`,
  `CREATE TABLE superstep_heads (
    thread ${dialect.integer} NOT NULL REFERENCES superstep_threads (key) ON DELETE CASCADE,
    branch ${dialect.count} NOT NULL,
    place TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    PRIMARY KEY (thread, place, branch)
  )${dialect.smallTable}`
]

/** What the queries need, in a form that reads no row. */
const probes: ReadonlyArray<string> = [
  "SELECT key, thread, life FROM superstep_threads WHERE 1 = 0",
  "SELECT sequence, thread, namespace, id, parent, branch, step, source, created_millis, format, is_keyframe, data, metadata " +
  "FROM superstep_checkpoints WHERE 1 = 0",
  "SELECT checkpoint, task, status, revision, data FROM superstep_tasks WHERE 1 = 0",
  "SELECT thread, place, branch, id, owner FROM superstep_heads WHERE 1 = 0"
]

const plan: Plan = { table: "superstep_migrations", migrations: { "0001_checkpoints": checkpointTables }, probes }

const told = <A>(effect: Effect.Effect<A, SqlError | FormatError>): Effect.Effect<A, SqlError | CheckpointError> =>
  Effect.catchTag(
    effect,
    "FormatError",
    ({ cause, detail }) => Effect.fail(new CheckpointError({ reason: "Format", thread: "", detail, cause }))
  )

/** Fails if the database was written by a later version. Changes nothing. */
export const checkSchema = (sql: SqlClient, dialect: Dialect): Effect.Effect<void, SqlError | CheckpointError> =>
  told(checkTables(sql, dialect, plan))

/**
 * Brings the tables of the database up to date, in one transaction, whichever of several processes comes first. A database of a
 * later version, or one whose tables are not as expected, is left as it is.
 */
export const prepareSchema = (sql: SqlClient, dialect: Dialect): Effect.Effect<void, SqlError | CheckpointError> =>
  told(prepareTables(sql, dialect, plan))
