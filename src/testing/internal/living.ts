/** How threads begin and end. */
import * as Effect from "effect/Effect"
import type { Checkpointer } from "../../Checkpointer.ts"
import type { CheckpointError, ThreadConflict, ThreadDeleted } from "../../GraphError.ts"
import { failsWith, same } from "./check.ts"
import * as Rows from "./rows.ts"
import { checkpoint, commitOf, task, test } from "./rows.ts"

const isDeleted = (
  what: string,
  write: Effect.Effect<unknown, CheckpointError | ThreadConflict | ThreadDeleted, Checkpointer>
) => failsWith(what, "ThreadDeleted", write)

const inside = { namespace: "n", place: "p" }

const deletes: ReadonlyArray<Rows.Case> = [
  test.delete(
    "a deleted thread is gone, in all namespaces, and no other thread is",
    Effect.gen(function*() {
      for (const thread of ["t", "u"]) {
        yield* Rows.commitAll(thread, ["a", "b"])
        yield* Rows.commitAll(thread, ["x"], inside)
        yield* Rows.putTasks(thread, [task("b", "1")])
      }
      yield* Rows.deleteThread("t")
      yield* same("the threads", yield* Rows.threads, ["u"])
      yield* same("the head of the deleted one", yield* Rows.head("t"), undefined)
      yield* same("its head inside", yield* Rows.head("t", "p"), undefined)
      yield* same("its checkpoint", yield* Rows.get("t", "b"), undefined)
      yield* same("its lists", [...yield* Rows.list("t"), ...yield* Rows.list("t", "n")], [])
      yield* same("the list of the other", yield* Rows.list("u"), ["b", "a"])
      yield* same("the tasks of the other", yield* Rows.tasksOf("u", "b"), [task("b", "1")])
      yield* same("the head inside the other", yield* Rows.headId("u", "p"), "x")
    })
  ),
  test.delete(
    "a deleted thread can begin again, without what it had",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.putTasks("t", [task("a", "1")])
      yield* Rows.commit("t", commitOf(checkpoint("b", "a")))
      yield* Rows.commitAll("t", ["x"], inside)
      yield* Rows.commitAll("u", ["a"])
      yield* Rows.deleteThread("t")
      yield* Rows.commitAll("t", ["a"])
      yield* same("its tasks", yield* Rows.tasksOf("t", "a"), [])
      yield* same("its list", yield* Rows.list("t"), ["a"])
      yield* same("its list inside", yield* Rows.list("t", "n"), [])
      yield* same("the threads", yield* Rows.threads, ["u", "t"])
    })
  ),
  test.delete(
    "an unknown thread can be deleted",
    Effect.gen(function*() {
      yield* Rows.deleteThread("none")
      yield* same("the threads", yield* Rows.threads, [])
    })
  )
]

const lives: ReadonlyArray<Rows.Case> = [
  test.life(
    "nothing of a deleted thread can be stored, whether it began anew or not",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"], { owner: "one" })
      yield* Rows.deleteThread("t")
      const life = "one"
      const fork = commitOf(checkpoint("f", "a", { branch: 2 }), { expected: undefined, life })
      const deleted = Effect.gen(function*() {
        yield* isDeleted("a commit", Rows.commit("t", commitOf(checkpoint("b", "a"), { life })))
        yield* isDeleted("a branch", Rows.commit("t", fork))
        yield* isDeleted("a graph inside", Rows.commit("t", commitOf(checkpoint("x"), { ...inside, life })))
        yield* isDeleted("tasks", Rows.putTasks("t", [task("a", "1")], { life }))
      })
      yield* deleted
      yield* same("the threads", yield* Rows.threads, [])
      yield* Rows.commitAll("t", ["a"], { owner: "two" })
      yield* deleted
      yield* same("the list", yield* Rows.list("t"), ["a"])
      yield* same("the tasks", yield* Rows.tasksOf("t", "a"), [])
      yield* same("the head inside", yield* Rows.head("t", "p"), undefined)
    })
  ),
  test.life(
    "a first commit that was repeated is no second beginning",
    Effect.gen(function*() {
      const first = commitOf(checkpoint("a"), { owner: "one" })
      yield* Rows.begin("t", first)
      yield* Rows.begin("t", first)
      const other = Rows.begin("t", { ...first, owner: "two" })
      yield* failsWith("a first commit of another owner", "ThreadConflict", other)
      yield* same("the life", (yield* Rows.head("t"))?.life, "one")
    })
  ),
  test.life(
    "the life of a thread stays when others commit",
    Effect.gen(function*() {
      yield* Rows.begin("t", commitOf(checkpoint("a"), { owner: "one" }))
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { owner: "two" }))
      yield* Rows.commit("t", commitOf(checkpoint("x"), { ...inside, owner: "three" }))
      yield* same("the life", (yield* Rows.head("t"))?.life, "one")
      yield* same("the life inside", (yield* Rows.head("t", "p"))?.life, "one")
      yield* isDeleted("tasks of another life", Rows.putTasks("t", [task("b", "1")], { life: "two" }))
    })
  ),
  test.life(
    "a thread begins once, wherever its first commit is",
    Effect.gen(function*() {
      yield* Rows.begin("t", commitOf(checkpoint("x"), { ...inside, owner: "one" }))
      const other = Rows.begin("t", commitOf(checkpoint("a"), { owner: "two" }))
      yield* failsWith("a first commit of another owner", "ThreadConflict", other)
      yield* same("the head", yield* Rows.head("t"), undefined)
      yield* same("the life inside", (yield* Rows.head("t", "p"))?.life, "one")
    })
  )
]

export const living: ReadonlyArray<Rows.Case> = [...deletes, ...lives]
