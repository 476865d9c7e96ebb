/** The SQL of threads: no text of a user is ever in it. */
import { rowCounts, times } from "./batches.ts"
import type { Dialect } from "./dialect.ts"

const checkpointColumns = "id, parent, branch, step, source, created_millis, format, is_keyframe, data, metadata"
const ofCheckpoint = checkpointColumns.split(", ").map((column) => `c.${column}`).join(", ")
/** The row of a task in the columns of a checkpoint. */
const taskAsCheckpoint = (checkpoint: string): string =>
  `${checkpoint}, NULL, t.revision, NULL, t.status, NULL, NULL, NULL, t.data, t.task`

/** The key of a namespace, of which the thread and the name are given. */
const namespaceOf = "(SELECT n.key FROM superstep_threads x " +
  "JOIN superstep_namespaces n ON n.thread = x.key AND n.digest = ? WHERE x.thread = ?)"

/**
 * The checkpoints from an id to the nearest keyframe. UNION, not UNION ALL: a damaged file with a cycle must not hang. CROSS JOIN
 * keeps SQLite from reading a whole table first, as it does when a database is young.
 */
const chain = `WITH RECURSIVE chain (namespace, sequence, id, parent, is_keyframe) AS (
  SELECT c.namespace, c.sequence, c.id, c.parent, c.is_keyframe
  FROM superstep_checkpoints c WHERE c.namespace = ${namespaceOf} AND c.id = ?
  UNION
  SELECT c.namespace, c.sequence, c.id, c.parent, c.is_keyframe
  FROM chain CROSS JOIN superstep_checkpoints c
  WHERE chain.is_keyframe = 0 AND c.namespace = chain.namespace AND c.id = chain.parent
)`

/** The number of a checkpoint in its namespace, by which rows of tasks name it: it is short, and grows. */
const sequenceOf = "(SELECT sequence FROM superstep_checkpoints WHERE namespace = ? AND id = ?)"

/** One row names its checkpoint by id; of several the number is asked for once. */
const putText = (count: number): string =>
  `INSERT INTO superstep_tasks (namespace, checkpoint, task, status, revision, data) VALUES ${
    times(`(?, ${count === 1 ? sequenceOf : "?"}, ?, ?, ?, ?)`, count)
  } ` +
  "ON CONFLICT (namespace, checkpoint, task) " +
  "DO UPDATE SET status = excluded.status, revision = excluded.revision, data = excluded.data " +
  "WHERE superstep_tasks.status <> 'done' " +
  "AND (excluded.status = 'done' OR excluded.revision > superstep_tasks.revision) RETURNING task"

const keptText = (count: number): string =>
  "SELECT task, status, revision, data FROM superstep_tasks " +
  `WHERE namespace = ? AND checkpoint = ${sequenceOf} AND task IN (${times("?", count)})`

const listText = (isBefore: boolean, isLimited: boolean): string =>
  `SELECT ${checkpointColumns} FROM superstep_checkpoints WHERE namespace = ${namespaceOf}${
    isBefore
      ? ` AND sequence < (SELECT sequence FROM superstep_checkpoints WHERE namespace = ${namespaceOf} AND id = ?)`
      : ""
  }
  ORDER BY sequence DESC${isLimited ? " LIMIT ?" : ""}`

const removedText = (count: number): string =>
  "FROM superstep_checkpoints WHERE namespace = (SELECT key FROM superstep_namespaces WHERE thread = ? AND digest = ?) " +
  `AND id IN (${times("?", count)})`

/** One row at most, by the index, however many branches there are. */
const headText = (isOfBranch: boolean): string =>
  `SELECT h.branch, h.place, h.id, h.owner, (SELECT life FROM superstep_threads WHERE key = h.thread) AS life
  FROM superstep_heads h
  WHERE h.thread = (SELECT key FROM superstep_threads WHERE thread = ?) AND h.digest = ?${
    isOfBranch ? " AND h.branch = ?" : " ORDER BY h.branch DESC LIMIT 1"
  }`

/** What reads a thread. */
const reading = ({ text }: Dialect) => ({
  threads: text("SELECT thread FROM superstep_threads ORDER BY key"),
  newestHead: text(headText(false)),
  branchHead: text(headText(true)),
  // One statement reads checkpoints and tasks, so that both are of the same instant.
  saved: text(`${chain}
    SELECT 0 AS is_task, c.sequence, ${ofCheckpoint}
    FROM chain CROSS JOIN superstep_checkpoints c
    WHERE c.namespace = chain.namespace AND c.sequence = chain.sequence
    UNION ALL
    SELECT 1, chain.sequence, ${taskAsCheckpoint("chain.id")}
    FROM chain CROSS JOIN superstep_tasks t
    WHERE t.namespace = chain.namespace AND t.checkpoint = chain.sequence`),
  list: text(listText(false, false)),
  listLimit: text(listText(false, true)),
  listBefore: text(listText(true, false)),
  listBeforeLimit: text(listText(true, true)),
  // One statement too. No lock: a thread may be long, and others go on meanwhile.
  all: text(`SELECT 0 AS kind, n.key AS namespace, n.name, c.sequence, ${ofCheckpoint}
    FROM superstep_threads x JOIN superstep_namespaces n ON n.thread = x.key
    JOIN superstep_checkpoints c ON c.namespace = n.key WHERE x.thread = ?
    UNION ALL
    SELECT 1, n.key, n.name, c.sequence, ${taskAsCheckpoint("c.id")}
    FROM superstep_threads x JOIN superstep_namespaces n ON n.thread = x.key
    JOIN superstep_checkpoints c ON c.namespace = n.key
    JOIN superstep_tasks t ON t.namespace = n.key AND t.checkpoint = c.sequence WHERE x.thread = ?
    UNION ALL
    SELECT 2, 0, h.place, 0, h.id, NULL, h.branch, NULL, NULL, NULL, NULL, NULL, NULL, h.owner
    FROM superstep_threads x JOIN superstep_heads h ON h.thread = x.key WHERE x.thread = ?`)
})

/** What is done under the lock of a thread. */
const writing = ({ rowLock, seesCommitted, text }: Dialect) => ({
  lockedThread: text(
    `SELECT key, life, ${seesCommitted} AS sees_committed FROM superstep_threads WHERE thread = ?${rowLock}`
  ),
  begin: text("INSERT INTO superstep_threads (thread, life) VALUES (?, ?) ON CONFLICT (thread) DO NOTHING"),
  // Always one row, whichever of the two there is.
  located: text(
    `SELECT (SELECT key FROM superstep_namespaces WHERE thread = ? AND digest = ?) AS namespace, h.id, h.owner
    FROM (SELECT 1 AS one) o LEFT JOIN superstep_heads h ON h.thread = ? AND h.digest = ? AND h.branch = ?`
  ),
  root: text("SELECT id FROM superstep_heads WHERE thread = ? AND digest = ? AND branch = ?"),
  beginNamespace: text("INSERT INTO superstep_namespaces (thread, digest, name) VALUES (?, ?, ?) RETURNING key"),
  moveHead: text(
    "INSERT INTO superstep_heads (thread, digest, branch, place, id, owner) VALUES (?, ?, ?, ?, ?, ?) " +
      "ON CONFLICT (thread, digest, branch) DO UPDATE SET id = excluded.id, owner = excluded.owner"
  ),
  checkpoint: text(
    `INSERT INTO superstep_checkpoints (namespace, sequence, ${checkpointColumns}) ` +
      "VALUES (?, (SELECT coalesce(max(sequence), 0) + 1 FROM superstep_checkpoints WHERE namespace = ?), " +
      `${times("?", checkpointColumns.split(", ").length)}) ON CONFLICT (namespace, id) DO NOTHING`
  ),
  sequence: text("SELECT sequence FROM superstep_checkpoints WHERE namespace = ? AND id = ?"),
  put: new Map(rowCounts.map((count) => [count, text(putText(count))])),
  done: text(
    `SELECT count(*) AS done FROM superstep_tasks WHERE namespace = ? AND checkpoint = ${sequenceOf} AND status = 'done'`
  ),
  kept: new Map(rowCounts.map((count) => [count, text(keptText(count))]))
})

/** What removes. All of it says what goes: a client of SQLite may have foreign keys switched off. */
const removing = ({ text }: Dialect) => ({
  allHeads: text("SELECT place, branch, id FROM superstep_heads WHERE thread = ?"),
  removeCheckpoints: new Map(rowCounts.map((count) => [count, text(`DELETE ${removedText(count)}`)])),
  removeTasks: new Map(
    rowCounts.map((count) => [
      count,
      text(
        `DELETE FROM superstep_tasks WHERE (namespace, checkpoint) IN (SELECT namespace, sequence ${
          removedText(count)
        })`
      )
    ])
  ),
  removeHead: text("DELETE FROM superstep_heads WHERE thread = ? AND digest = ? AND branch = ?"),
  removeNamespaces: text(
    "DELETE FROM superstep_namespaces WHERE thread = ? " +
      "AND NOT EXISTS (SELECT 1 FROM superstep_checkpoints c WHERE c.namespace = superstep_namespaces.key)"
  ),
  deletes: [
    "DELETE FROM superstep_heads WHERE thread = ?",
    ...["tasks", "checkpoints"].map((table) =>
      `DELETE FROM superstep_${table} WHERE namespace IN (SELECT key FROM superstep_namespaces WHERE thread = ?)`
    ),
    "DELETE FROM superstep_namespaces WHERE thread = ?"
  ].map(text),
  deleteThread: text("DELETE FROM superstep_threads WHERE key = ?")
})

/** Every statement, written for the dialect once. */
export const textsOf = (dialect: Dialect) => ({ ...reading(dialect), ...writing(dialect), ...removing(dialect) })

export type Texts = ReturnType<typeof textsOf>
