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
  `CREATE TABLE superstep_namespaces (
    key ${dialect.key},
    thread ${dialect.integer} NOT NULL REFERENCES superstep_threads (key) ON DELETE CASCADE,
    digest ${dialect.bytes} NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (thread, digest)
  )${dialect.table}`,
  // Widest numbers first: Postgres aligns them. What follows has no alignment.
  `CREATE TABLE superstep_checkpoints (
    namespace ${dialect.integer} NOT NULL REFERENCES superstep_namespaces (key) ON DELETE CASCADE,
    created_millis ${dialect.integer} NOT NULL,
    sequence ${dialect.count} NOT NULL,
    branch ${dialect.count} NOT NULL,
    step ${dialect.count} NOT NULL,
    format ${dialect.small} NOT NULL,
    is_keyframe ${dialect.small} NOT NULL CHECK (is_keyframe IN (0, 1)),
    id ${dialect.bytes} NOT NULL,
    parent ${dialect.bytes},
    source TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (namespace, sequence),
    UNIQUE (namespace, id)
  )${dialect.table}`,
  `CREATE TABLE superstep_tasks (
    namespace ${dialect.integer} NOT NULL,
    checkpoint ${dialect.count} NOT NULL,
    revision ${dialect.count} NOT NULL,
    task TEXT NOT NULL,
    status TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (namespace, checkpoint, task),
    FOREIGN KEY (namespace, checkpoint) REFERENCES superstep_checkpoints (namespace, sequence) ON DELETE CASCADE
  )${dialect.table}`,
  `CREATE TABLE superstep_heads (
    thread ${dialect.integer} NOT NULL REFERENCES superstep_threads (key) ON DELETE CASCADE,
    branch ${dialect.count} NOT NULL,
    digest ${dialect.bytes} NOT NULL,
    place TEXT NOT NULL,
    id ${dialect.bytes} NOT NULL,
    owner TEXT NOT NULL,
    PRIMARY KEY (thread, digest, branch)
  )${dialect.smallTable}`
]

/** What the queries need, in a form that reads no row. */
const probes: ReadonlyArray<string> = [
  "SELECT key, thread, life FROM superstep_threads WHERE 1 = 0",
  "SELECT key, thread, digest, name FROM superstep_namespaces WHERE 1 = 0",
  "SELECT namespace, sequence, id, parent, branch, step, source, created_millis, format, is_keyframe, data, metadata " +
  "FROM superstep_checkpoints WHERE 1 = 0",
  "SELECT namespace, checkpoint, task, status, revision, data FROM superstep_tasks WHERE 1 = 0",
  "SELECT thread, digest, place, branch, id, owner FROM superstep_heads WHERE 1 = 0"
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
