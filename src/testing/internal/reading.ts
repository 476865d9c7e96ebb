/** What is stored comes back: checkpoints, chains, lists. */
import * as Effect from "effect/Effect"
import { Checkpointer } from "../../Checkpointer.ts"
import { same } from "./check.ts"
import * as Rows from "./rows.ts"
import { checkpoint, commitOf, task, test } from "./rows.ts"

const puts: ReadonlyArray<Rows.Case> = [
  test.put(
    "a checkpoint comes back as it was put",
    Effect.gen(function*() {
      const row = checkpoint("a", undefined, {
        step: -1,
        source: "input",
        branch: 3,
        data: JSON.stringify({ text: "\0 ' \" \\ \ud800 🧵 __proto__", big: 2 ** 53 - 1 }),
        metadata: JSON.stringify({ user: { tags: ["a", "ü"] } })
      })
      yield* Rows.commit("t", commitOf(row))
      yield* same("the checkpoint", yield* Rows.get("t", "a"), { chain: [row], tasks: [] })
    })
  ),
  ...(["input", "loop", "update", "fork"] as const).map((source) =>
    test.put(
      `the source ${source} comes back`,
      Effect.gen(function*() {
        yield* Rows.commit("t", commitOf(checkpoint("a", undefined, { source })))
        yield* same("the source", (yield* Rows.get("t", "a"))?.chain[0]?.source, source)
      })
    )
  ),
  test.put(
    "a checkpoint comes with what is needed to read it, from the nearest keyframe",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b", "c"])
      yield* Rows.commit("t", commitOf(checkpoint("d", "c", { isKeyframe: true })))
      yield* Rows.commit("t", commitOf(checkpoint("e", "d")))
      yield* same("the chain of c", yield* Rows.chainOf("t", "c"), ["a", "b", "c"])
      yield* same("the chain of d", yield* Rows.chainOf("t", "d"), ["d"])
      yield* same("the chain of e", yield* Rows.chainOf("t", "e"), ["d", "e"])
      yield* same("the parent of a keyframe", (yield* Rows.get("t", "d"))?.chain[0]?.parent, "c")
    })
  )
]

const gets: ReadonlyArray<Rows.Case> = [
  test.get(
    "an unknown thread has nothing",
    Effect.gen(function*() {
      yield* same("its head", yield* Rows.head("none"), undefined)
      yield* same("the head of its branch", yield* Rows.head("none", "", 1), undefined)
      yield* same("its checkpoint", yield* Rows.get("none", "a"), undefined)
      yield* same("its list", yield* Rows.list("none"), [])
      yield* same("the threads", yield* Rows.threads, [])
    })
  ),
  test.get(
    "an unknown checkpoint, namespace or place is none",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* same("another checkpoint", yield* Rows.get("t", "b"), undefined)
      yield* same("a checkpoint of another namespace", yield* Rows.get("t", "a", "n"), undefined)
      yield* same("the list of another namespace", yield* Rows.list("t", "n"), [])
      yield* same("the head of another place", yield* Rows.head("t", "place"), undefined)
      yield* same("the head of another branch", yield* Rows.head("t", "", 2), undefined)
    })
  ),
  test.get(
    "an old checkpoint stays readable",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b", "c"])
      yield* same("its data", (yield* Rows.get("t", "b"))?.chain[1]?.data, checkpoint("b").data)
    })
  )
]

const isolations: ReadonlyArray<Rows.Case> = [
  test.isolation(
    "threads do not see each other",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.commitAll("u", ["a"])
      yield* Rows.putTasks("t", [task("a", "x")])
      yield* same("the tasks of u", yield* Rows.tasksOf("u", "a"), [])
      yield* Rows.commit("t", commitOf(checkpoint("b", "a")))
      yield* Rows.commit("u", commitOf(checkpoint("c", "a")))
      yield* same("the list of t", yield* Rows.list("t"), ["b", "a"])
      yield* same("the list of u", yield* Rows.list("u"), ["c", "a"])
      yield* same("the head of t", yield* Rows.headId("t"), "b")
      yield* same("the head of u", yield* Rows.headId("u"), "c")
      yield* same("a checkpoint of t in u", yield* Rows.get("u", "b"), undefined)
    })
  ),
  test.isolation(
    "namespaces do not see each other",
    Effect.gen(function*() {
      const inside = { namespace: "n", place: "p" }
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.commitAll("t", ["a"], inside)
      yield* Rows.putTasks("t", [task("a", "x")], inside)
      yield* same("the tasks of the root", yield* Rows.tasksOf("t", "a"), [])
      yield* same("the tasks of n", yield* Rows.tasksOf("t", "a", "n"), [task("a", "x")])
      yield* Rows.commit("t", commitOf(checkpoint("b", "a")))
      yield* Rows.commit("t", commitOf(checkpoint("c", "a"), inside))
      yield* same("the list of the root", yield* Rows.list("t"), ["b", "a"])
      yield* same("the list of n", yield* Rows.list("t", "n"), ["c", "a"])
      yield* same("a checkpoint of n in the root", yield* Rows.get("t", "c"), undefined)
    })
  ),
  test.isolation(
    "a chain does not lead into another namespace or thread",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"], { namespace: "n", place: "n" })
      yield* Rows.commitAll("other", ["a"])
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { expected: undefined }))
      yield* same("the chain", yield* Rows.chainOf("t", "b"), ["b"])
    })
  ),
  test.isolation(
    "an id that joins two others is none of them",
    Effect.gen(function*() {
      for (const glue of ["", "|", ":", "/", "\0", "\",\"", "."]) {
        const id = (index: number) => `${glue}${index}`
        yield* Rows.commit(`x${glue}y`, commitOf(checkpoint(id(1)), { namespace: "z" }))
        yield* Rows.commit("x", commitOf(checkpoint(id(2)), { namespace: `y${glue}z` }))
        yield* same("the list of the joined thread", yield* Rows.list(`x${glue}y`, "z"), [id(1)])
        yield* same("the list of the joined namespace", yield* Rows.list("x", `y${glue}z`), [id(2)])
        yield* Rows.deleteThread("x")
        yield* Rows.deleteThread(`x${glue}y`)
      }
    })
  )
]

const lists: ReadonlyArray<Rows.Case> = [
  test.list(
    "listed checkpoints are whole",
    Effect.gen(function*() {
      const row = checkpoint("a", undefined, { step: 7, source: "update", metadata: "{\"k\":1}" })
      yield* Rows.commit("t", commitOf(row))
      const saver = yield* Checkpointer
      yield* same("the list", yield* saver.list("t", "", {}), [row])
    })
  ),
  test.list(
    "a limit is kept",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b", "c"])
      yield* same("a list of 2", yield* Rows.list("t", "", { limit: 2 }), ["c", "b"])
      yield* same("a list of 9", yield* Rows.list("t", "", { limit: 9 }), ["c", "b", "a"])
      yield* same("a list of 0", yield* Rows.list("t", "", { limit: 0 }), [])
    })
  ),
  test.list(
    "before is exclusive",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b", "c"])
      yield* same("before c", yield* Rows.list("t", "", { before: "c" }), ["b", "a"])
      yield* same("before a", yield* Rows.list("t", "", { before: "a" }), [])
    })
  ),
  test.list(
    "before and limit page through everything",
    Effect.gen(function*() {
      const ids = Array.from({ length: 25 }, (_, index) => `c${index}`)
      yield* Rows.commitAll("t", ids)
      const pages: Array<ReadonlyArray<string>> = []
      for (let before: string | undefined; pages.length < 4;) {
        const page: ReadonlyArray<string> = yield* Rows.list("t", "", { before, limit: 10 })
        if (page.length === 0) break
        pages.push(page)
        before = page.at(-1)
      }
      yield* same("the pages", pages.map((page) => page.length), [10, 10, 5])
      yield* same("what they hold", pages.flat(), ids.toReversed())
    })
  ),
  test.list(
    "before an unknown checkpoint, or one of another namespace, is nothing",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b"])
      yield* Rows.commitAll("t", ["x"], { namespace: "n", place: "p" })
      yield* same("before an unknown one", yield* Rows.list("t", "", { before: "none" }), [])
      yield* same("before one of another namespace", yield* Rows.list("t", "", { before: "x" }), [])
    })
  )
]

const orders: ReadonlyArray<Rows.Case> = [
  test.ordering(
    "threads are listed in the order in which they began",
    Effect.gen(function*() {
      yield* Rows.commitAll("b", ["x"])
      yield* Rows.commitAll("a", ["x"])
      yield* Rows.commit("b", commitOf(checkpoint("y", "x")))
      yield* same("the threads", yield* Rows.threads, ["b", "a"])
    })
  ),
  test.ordering(
    "checkpoints are listed newest first",
    Effect.gen(function*() {
      // Ids and times that would sort the other way.
      for (const [index, id] of ["c", "b", "a"].entries()) {
        const parent = ["c", "b"][index - 1]
        yield* Rows.commit("t", commitOf(checkpoint(id, parent, { createdMillis: 10 - index })))
      }
      yield* same("the list", yield* Rows.list("t"), ["a", "b", "c"])
    })
  ),
  test.ordering(
    "branches stand in one list, in the order in which they were stored",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b"])
      yield* Rows.commit("t", commitOf(checkpoint("f", "a", { branch: 2, source: "fork" }), { expected: undefined }))
      yield* Rows.commit("t", commitOf(checkpoint("c", "b")))
      yield* same("the list", yield* Rows.list("t"), ["c", "f", "b", "a"])
    })
  ),
  test.ordering(
    "tasks come with their checkpoint, in the order of their ids, whatever order they were put in",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b"])
      const rows = [task("b", "z"), task("b", "y", { status: "paused" }), task("b", "x", { status: "failed" })]
      yield* same("what putTasks gives", yield* Rows.putTasks("t", rows), rows)
      yield* same("the tasks", yield* Rows.tasksOf("t", "b"), rows.toReversed())
      const odd = ["Z", "a", "é", "10", "9", "\uffff", "😀", ""].map((id) => task("b", id))
      yield* Rows.putTasks("t", odd)
      const ids = (yield* Rows.tasksOf("t", "b"))?.map((row) => row.task)
      yield* same("the order", ids, ["", "10", "9", "Z", "a", "x", "y", "z", "é", "😀", "\uffff"])
    })
  ),
  test.ordering(
    "tasks of the whole chain come, oldest checkpoint first",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.putTasks("t", [task("a", "2"), task("a", "1")])
      yield* Rows.commit("t", commitOf(checkpoint("b", "a")))
      yield* Rows.putTasks("t", [task("b", "3")])
      yield* Rows.commit("t", commitOf(checkpoint("c", "b")))
      yield* Rows.putTasks("t", [task("c", "1")])
      const order = (yield* Rows.tasksOf("t", "c"))?.map((row) => `${row.checkpoint}${row.task}`)
      yield* same("the tasks", order, ["a1", "a2", "b3", "c1"])
    })
  )
]

export const reading: ReadonlyArray<Rows.Case> = [...puts, ...gets, ...lists, ...orders, ...isolations]
