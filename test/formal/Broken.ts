/** Savers that do not keep the protocol: what is recorded of them has to be found out. */
import { Effect, Option } from "effect"
import { type Checkpoint, type Checkpointer, GraphError } from "superstep"

type Saver = Checkpointer.CheckpointerShape

const keyOf = ({ checkpoint, task }: Checkpoint.TaskRow): string => `${checkpoint} ${task}`

/** Reads what another saver holds, but for some rows, which are as this one has them. */
const reading = (saver: Saver, rows: ReadonlyMap<string, Checkpoint.TaskRow>): Saver["get"] => (...place) =>
  Effect.map(
    saver.get(...place),
    Option.map((saved) => ({
      ...saved,
      tasks: saved.tasks.map((row) => rows.get(keyOf(row)) ?? row)
    }))
  )

/** A commit is stored whatever the head is. */
const withoutCompare = (saver: Saver): Saver => ({
  ...saver,
  commit: (thread, commit) =>
    Effect.flatMap(saver.head(thread, commit.place, commit.checkpoint.branch), (head) =>
      saver.commit(thread, {
        ...commit,
        expected: Option.getOrUndefined(head)?.id,
        finished: undefined,
        life: Option.getOrUndefined(head)?.life
      }))
})

/** A commit of a checkpoint that another attempt has stored succeeds. */
const withoutOwner = (saver: Saver): Saver => ({
  ...saver,
  commit: (thread, commit) =>
    Effect.catch(saver.commit(thread, commit), (error) =>
      Effect.flatMap(
        saver.head(thread, commit.place),
        (head) =>
          error instanceof GraphError.ThreadConflict && Option.getOrUndefined(head)?.id === commit.checkpoint.id
            ? Effect.void
            : Effect.fail(error)
      ))
})

/** What tasks have produced is acknowledged, and gone. */
const losingRows = (saver: Saver): Saver => ({ ...saver, putTasks: (_, put) => Effect.succeed(put.tasks) })

/** A row takes the place of another that is done. */
const lateRowsReplace = (saver: Saver): Saver => {
  const rows = new Map<string, Checkpoint.TaskRow>()
  return {
    ...saver,
    get: reading(saver, rows),
    putTasks: (thread, put) =>
      Effect.map(saver.putTasks(thread, put), () => {
        for (const row of put.tasks) rows.set(keyOf(row), row)
        return put.tasks
      })
  }
}

/** A row that is not done takes the place of another that is not, whatever their revisions. */
const withoutRevisions = (saver: Saver): Saver => {
  const rows = new Map<string, Checkpoint.TaskRow>()
  return {
    ...saver,
    get: reading(saver, rows),
    putTasks: (thread, put) =>
      Effect.map(saver.putTasks(thread, put), (standing) =>
        put.tasks.map((row, index) => {
          const stands = standing[index]!.status === "done" ? standing[index]! : row
          rows.set(keyOf(row), stands)
          return stands
        }))
  }
}

/** What a run of a deleted thread stores is stored with the next. */
const withoutLife = (saver: Saver): Saver => ({
  ...saver,
  putTasks: (thread, put) =>
    Effect.flatMap(
      saver.head(thread, ""),
      (head) => saver.putTasks(thread, { ...put, life: Option.getOrUndefined(head)?.life ?? put.life })
    )
})

/** By name: the saver, and what the model has to find, by the name of a rule or of a property. */
export const broken: ReadonlyArray<readonly [name: string, make: (saver: Saver) => Saver, finds: string]> = [
  ["a commit without compare-and-set", withoutCompare, "COMMIT_FITS_HEAD"],
  ["a commit without compare-and-set, twice the same superstep", withoutCompare, "one_commit"],
  ["a repeated commit without its owner", withoutOwner, "COMMIT_REPEATS"],
  ["rows that are lost", losingRows, "reads_what_is_stored"],
  ["rows that are lost, and whose tasks run again", losingRows, "no_done_task_runs"],
  ["a late row in place of a done one", lateRowsReplace, "ROW_REPLACES"],
  ["a row without regard to its revision", withoutRevisions, "ROW_REPLACES"],
  ["a row of a deleted life", withoutLife, "PUT_FITS_LIFE"]
]
