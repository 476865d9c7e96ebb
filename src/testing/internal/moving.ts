/** Threads as a whole: dumped, restored as another, and without what is removed. */
import * as Effect from "effect/Effect"
import { failsWith, same } from "./check.ts"
import * as Rows from "./rows.ts"
import { checkpoint, commitOf, task, test } from "./rows.ts"

const inside = { namespace: "n", place: "p" }

/** A thread with two branches, tasks beside some checkpoints, and a graph inside. */
const filled = Effect.fnUntraced(function*(thread: string) {
  yield* Rows.commitAll(thread, ["a", "b"])
  yield* Rows.putTasks(thread, [task("b", "2"), task("b", "1", { status: "paused", revision: 3 })])
  yield* Rows.commit(thread, commitOf(checkpoint("c", "b"), { owner: "second" }))
  yield* Rows.commitAll(thread, ["x", "y"], inside)
  const fork = checkpoint("f", "a", { branch: 2, isKeyframe: true, source: "fork", metadata: "{\"u\":1}" })
  yield* Rows.commit(thread, commitOf(fork, { expected: undefined }))
})

const ids = (
  dump: { readonly checkpoints: ReadonlyArray<{ readonly namespace: string; readonly row: { id: string } }> }
) => dump.checkpoints.map(({ namespace, row }) => `${namespace}/${row.id}`)

const dumps: ReadonlyArray<Rows.Case> = [
  test.dump(
    "a dump has all that is stored, and each namespace in the order in which it was stored",
    Effect.gen(function*() {
      yield* filled("t")
      yield* Rows.commitAll("other", ["a"])
      const dump = yield* Rows.dump("t")
      yield* same("the checkpoints", ids(dump!).filter((id) => id.startsWith("/")), ["/a", "/b", "/c", "/f"])
      yield* same("those inside", ids(dump!).filter((id) => !id.startsWith("/")), ["n/x", "n/y"])
      const fork = dump!.checkpoints.find(({ row }) => row.id === "f")!.row
      yield* same("a row", fork, (yield* Rows.get("t", "f"))!.chain[0])
      const tasks = dump!.tasks.map(({ row }) => row).toSorted((a, b) => a.task < b.task ? -1 : 1)
      yield* same("the tasks", tasks, [task("b", "1", { status: "paused", revision: 3 }), task("b", "2")])
      const heads = dump!.heads.map(({ branch, id, owner, place }) => [place, branch, id, owner].join(" ")).toSorted()
      yield* same("the heads", heads, [" 1 c second", " 2 f owner", "p 1 y owner"])
    })
  ),
  test.dump(
    "an unknown thread has no dump",
    Effect.gen(function*() {
      yield* same("the dump", yield* Rows.dump("none"), undefined)
    })
  )
]

const restores: ReadonlyArray<Rows.Case> = [
  test.restore(
    "what was dumped is restored as another thread, in a life of its own",
    Effect.gen(function*() {
      yield* filled("t")
      const dump = (yield* Rows.dump("t"))!
      yield* Rows.restore("u", dump, "new")
      yield* same("the threads", yield* Rows.threads, ["t", "u"])
      yield* same("its checkpoints", ids((yield* Rows.dump("u"))!), ids(dump))
      yield* same("its head", yield* Rows.head("u"), { ...(yield* Rows.head("t"))!, life: "new" })
      yield* same("its head inside", yield* Rows.headId("u", "p"), "y")
      yield* same("its chain", yield* Rows.chainOf("u", "c"), yield* Rows.chainOf("t", "c"))
      yield* same("its tasks", yield* Rows.tasksOf("u", "b"), yield* Rows.tasksOf("t", "b"))
      yield* same("its list", yield* Rows.list("u"), yield* Rows.list("t"))
    })
  ),
  test.restore(
    "a restored thread goes on, and neither touches the other",
    Effect.gen(function*() {
      yield* filled("t")
      yield* Rows.restore("u", (yield* Rows.dump("t"))!, "new")
      yield* Rows.commit("u", commitOf(checkpoint("d", "f", { branch: 2 }), { life: "new" }))
      yield* Rows.putTasks("t", [task("f", "1")], { branch: 2 })
      yield* same("the head of the one", yield* Rows.headId("t"), "f")
      yield* same("the head of the other", yield* Rows.headId("u"), "d")
      yield* same("the tasks of the other", yield* Rows.tasksOf("u", "f"), [])
      const old = Rows.commit("u", commitOf(checkpoint("e", "d", { branch: 2 }), { life: "owner" }))
      yield* failsWith("a commit to the life of the first", "ThreadDeleted", old)
      yield* Rows.deleteThread("t")
      yield* same("the list of the other", yield* Rows.list("u"), ["d", "f", "c", "b", "a"])
    })
  ),
  test.restore(
    "no thread is restored over another",
    Effect.gen(function*() {
      yield* filled("t")
      yield* Rows.commitAll("u", ["z"])
      const dump = (yield* Rows.dump("t"))!
      for (const thread of ["t", "u"]) {
        const refused = yield* failsWith("it", "ThreadConflict", Rows.restore(thread, dump, "new"))
        yield* same("the thread", refused.thread, thread)
      }
      yield* same("the list", yield* Rows.list("u"), ["z"])
      yield* same("the life", (yield* Rows.head("u"))?.life, "owner")
    })
  ),
  test.restore(
    "a task beside a checkpoint that is not there is refused, and nothing is stored",
    Effect.gen(function*() {
      yield* filled("t")
      const dump = (yield* Rows.dump("t"))!
      for (const lost of [task("z", "1"), task("x", "1")]) {
        const tasks = [...dump.tasks, { namespace: "", row: lost }]
        yield* failsWith("it", "CheckpointError", Rows.restore("u", { ...dump, tasks }, "new"))
      }
      yield* same("the threads", yield* Rows.threads, ["t"])
    })
  )
]

const removes: ReadonlyArray<Rows.Case> = [
  test.remove(
    "checkpoints are removed with the tasks beside them, and heads, and nothing else is",
    Effect.gen(function*() {
      yield* filled("t")
      yield* filled("u")
      const checkpoints = [{ namespace: "", id: "a" }, { namespace: "", id: "b" }, { namespace: "n", id: "x" }]
      yield* Rows.remove("t", {
        checkpoints: [...checkpoints, { namespace: "n", id: "y" }],
        heads: [{ branch: 1, place: "p", id: "y" }]
      })
      yield* same("the list", yield* Rows.list("t"), ["f", "c"])
      yield* same("the list inside", yield* Rows.list("t", "n"), [])
      yield* same("the head", yield* Rows.headId("t"), "f")
      yield* same("the head of the first branch", yield* Rows.headId("t", "", 1), "c")
      yield* same("the head inside", yield* Rows.head("t", "p"), undefined)
      yield* same("the tasks", (yield* Rows.dump("t"))!.tasks, [])
      yield* same("the tasks of another thread", (yield* Rows.tasksOf("u", "b"))?.length, 2)
      yield* same("the list of another thread", yield* Rows.list("u"), ["f", "c", "b", "a"])
    })
  ),
  test.remove(
    "a checkpoint of another namespace, and one that is not there, are no failure",
    Effect.gen(function*() {
      yield* filled("t")
      yield* Rows.remove("t", {
        checkpoints: [{ namespace: "n", id: "a" }, { namespace: "", id: "x" }, { namespace: "m", id: "b" }],
        heads: [{ branch: 7, place: "p", id: "y" }, { branch: 1, place: "q", id: "y" }]
      })
      yield* same("the list", yield* Rows.list("t"), ["f", "c", "b", "a"])
      yield* same("the list inside", yield* Rows.list("t", "n"), ["y", "x"])
      yield* same("the tasks", (yield* Rows.tasksOf("t", "b"))?.length, 2)
    })
  ),
  test.remove(
    "a checkpoint at which a head stays is not removed, nor is anything with it",
    Effect.gen(function*() {
      yield* filled("t")
      for (const id of ["c", "f"]) {
        const removal = {
          checkpoints: [{ namespace: "", id: "a" }, { namespace: "", id }],
          heads: [{ branch: 1, place: "p", id: "y" }]
        }
        const refused = yield* failsWith(`the removal of "${id}"`, "ThreadConflict", Rows.remove("t", removal))
        yield* same("what was found", refused.found, id)
      }
      yield* same("the list", yield* Rows.list("t"), ["f", "c", "b", "a"])
      yield* same("the head inside", yield* Rows.headId("t", "p"), "y")
    })
  ),
  test.remove(
    "nothing is removed where a newer branch stands than was seen",
    Effect.gen(function*() {
      yield* filled("t")
      const removal = { checkpoints: [{ namespace: "", id: "a" }], heads: [] }
      const refused = yield* failsWith("it", "ThreadConflict", Rows.remove("t", { ...removal, branch: 1 }))
      yield* same("what was found", refused.found, "f")
      yield* same("the list", yield* Rows.list("t"), ["f", "c", "b", "a"])
      yield* Rows.remove("t", { ...removal, branch: 2 })
    })
  ),
  test.remove(
    "nothing is removed where a head that was to go has moved on",
    Effect.gen(function*() {
      yield* filled("t")
      const removal = {
        checkpoints: [{ namespace: "n", id: "x" }],
        heads: [{ branch: 1, place: "p", id: "x" }]
      }
      const refused = yield* failsWith("it", "ThreadConflict", Rows.remove("t", removal))
      yield* same("what was found", refused.found, "y")
      yield* same("the list inside", yield* Rows.list("t", "n"), ["y", "x"])
      yield* same("the head inside", yield* Rows.headId("t", "p"), "y")
    })
  ),
  test.remove(
    "no branch begins at a checkpoint that was removed",
    Effect.gen(function*() {
      yield* filled("t")
      yield* Rows.remove("t", { checkpoints: [{ namespace: "", id: "a" }], heads: [] })
      const branched = (parent: string) => ({
        ...commitOf(checkpoint("g", parent, { branch: 3 })),
        expected: undefined
      })
      yield* Rows.conflict("a branch at what is gone", "t", branched("a"))
      yield* same("the list", yield* Rows.list("t"), ["f", "c", "b"])
      yield* Rows.commit("t", branched("b"))
      yield* same("the head", yield* Rows.headId("t"), "g")
    })
  ),
  test.remove(
    "nothing is removed from another life of a thread, or from none",
    Effect.gen(function*() {
      yield* filled("t")
      const removal = { checkpoints: [{ namespace: "", id: "a" }], heads: [] }
      for (const thread of ["t", "none"]) {
        yield* failsWith(`of "${thread}"`, "ThreadDeleted", Rows.remove(thread, { ...removal, life: "other" }))
      }
      yield* same("the list", yield* Rows.list("t"), ["f", "c", "b", "a"])
      yield* same("the threads", yield* Rows.threads, ["t"])
    })
  ),
  test.remove(
    "a thread goes on after a removal, also of a thousand checkpoints",
    Effect.gen(function*() {
      const all = Array.from({ length: 1_000 }, (_, index) => `c${index}`)
      yield* Rows.commitAll("t", all)
      yield* Rows.commit("t", commitOf(checkpoint("k", "c999", { isKeyframe: true })))
      yield* Rows.remove("t", { checkpoints: all.map((id) => ({ namespace: "", id })), heads: [] })
      yield* same("the list", yield* Rows.list("t"), ["k"])
      yield* Rows.commit("t", commitOf(checkpoint("l", "k")))
      yield* same("the chain", yield* Rows.chainOf("t", "l"), ["k", "l"])
    })
  )
]

export const moving: ReadonlyArray<Rows.Case> = [...dumps, ...restores, ...removes]
