/** What a write does: rows of tasks, heads, commits, and the graphs inside that move with them. */
import * as Effect from "effect/Effect"
import { failsWith, same } from "./check.ts"
import * as Rows from "./rows.ts"
import { checkpoint, commitOf, moveOf, task, test } from "./rows.ts"

const tasks: ReadonlyArray<Rows.Case> = [
  test.tasks(
    "tasks before the nearest keyframe do not come",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.putTasks("t", [task("a", "1")])
      yield* Rows.commit("t", commitOf(checkpoint("b", "a", { isKeyframe: true })))
      yield* Rows.putTasks("t", [task("b", "2")])
      yield* same("the tasks", yield* Rows.tasksOf("t", "b"), [task("b", "2")])
    })
  ),
  test.tasks(
    "a new checkpoint has no tasks",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.putTasks("t", [task("a", "1")])
      yield* Rows.commit("t", commitOf(checkpoint("b", "a", { isKeyframe: true })))
      yield* same("the tasks", yield* Rows.tasksOf("t", "b"), [])
    })
  ),
  test.tasks(
    "the same tasks put twice stand once",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const rows = [task("a", "1"), task("a", "2")]
      yield* Rows.putTasks("t", rows)
      yield* same("what putTasks gives", yield* Rows.putTasks("t", rows), rows)
      yield* same("the tasks", yield* Rows.tasksOf("t", "a"), rows)
    })
  ),
  test.tasks(
    "what is done is kept, and is given in place of the new row",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const first = task("a", "1", { data: "\"first\"" })
      yield* Rows.putTasks("t", [first])
      for (const status of ["done", "paused", "failed"] as const) {
        const second = task("a", "1", { status, revision: 2, data: "\"second\"" })
        const won = yield* Rows.putTasks("t", [task("a", "0"), second, task("a", "2")])
        yield* same("what putTasks gives", won, [task("a", "0"), first, task("a", "2")])
      }
      yield* same("the tasks", yield* Rows.tasksOf("t", "a"), [task("a", "0"), first, task("a", "2")])
    })
  ),
  test.tasks(
    "what is paused or failed is replaced by what is done, in its place",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.putTasks("t", [task("a", "1", { status: "paused" }), task("a", "2")])
      const failed = task("a", "1", { status: "failed", revision: 2, data: "1" })
      yield* same("what putTasks gives", yield* Rows.putTasks("t", [failed]), [failed])
      yield* same("the tasks", yield* Rows.tasksOf("t", "a"), [failed, task("a", "2")])
      const done = task("a", "1", { data: "2" })
      yield* same("what putTasks gives", yield* Rows.putTasks("t", [done]), [done])
      yield* same("the tasks", yield* Rows.tasksOf("t", "a"), [done, task("a", "2")])
    })
  ),
  test.tasks(
    "what is paused or failed is replaced only by a later revision",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const second = task("a", "1", { status: "paused", revision: 2, data: "2" })
      yield* Rows.putTasks("t", [task("a", "1", { status: "paused" })])
      yield* same("what putTasks gives", yield* Rows.putTasks("t", [second]), [second])
      for (const revision of [1, 2]) {
        const late = task("a", "1", { status: "failed", revision, data: "\"late\"" })
        yield* same("what putTasks gives", yield* Rows.putTasks("t", [late]), [second])
      }
      yield* same("the tasks", yield* Rows.tasksOf("t", "a"), [second])
    })
  ),
  test.tasks(
    "within one batch the first that is done stands",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const paused = task("a", "1", { status: "paused" })
      const done = task("a", "1", { data: "1" })
      const batch = [paused, done, task("a", "1", { data: "2" })]
      yield* same("what putTasks gives", yield* Rows.putTasks("t", batch), [paused, done, done])
      yield* same("the tasks", yield* Rows.tasksOf("t", "a"), [done])
      const late = yield* Rows.putTasks("t", [paused, task("a", "1", { data: "3" })])
      yield* same("what putTasks gives later", late, [done, done])
    })
  ),
  test.tasks(
    "no tasks are no trouble",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* same("what putTasks gives", yield* Rows.putTasks("t", []), [])
    })
  ),
  test.tasks(
    "new tasks beside a checkpoint that is not the head are refused, and nothing of their batch is stored",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b"])
      yield* Rows.commit("t", commitOf(checkpoint("f", "a", { branch: 2 }), { expected: undefined }))
      const late = {
        "beside an old one": [task("b", "1"), task("a", "2")],
        "beside one that is not there": [task("b", "1"), task("c", "2")],
        "beside the head of another branch": [task("b", "1"), task("f", "2")]
      }
      for (const [what, rows] of Object.entries(late)) {
        const error = yield* failsWith(what, "ThreadConflict", Rows.putTasks("t", rows))
        const { branch, expected, found } = error
        yield* same(what, [branch, expected, found], [1, rows[1]?.checkpoint, "b"])
        yield* same(`the tasks after those ${what}`, yield* Rows.tasksOf("t", "b"), [])
      }
      yield* Rows.putTasks("t", [task("f", "1")], { branch: 2 })
      yield* same("the tasks of the other branch", yield* Rows.tasksOf("t", "f"), [task("f", "1")])
    })
  ),
  test.tasks(
    "new tasks of a graph inside a task are refused once the thread has moved on, and what stands there is given",
    Effect.gen(function*() {
      const inside = { namespace: "n", place: "p" }
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.commitAll("t", ["x"], inside)
      yield* Rows.putTasks("t", [task("x", "1")], inside)
      yield* Rows.commit("t", commitOf(checkpoint("f", "a", { branch: 2 }), { expected: undefined }))
      yield* Rows.putTasks("t", [task("x", "2")], inside)
      yield* Rows.commit("t", commitOf(checkpoint("b", "a")))
      const late = { ...inside, root: "a" }
      const put = Rows.putTasks("t", [task("x", "1"), task("x", "3")], late)
      const { branch, expected, found } = yield* failsWith("a put of what was left behind", "ThreadConflict", put)
      yield* same("the conflict", [branch, expected, found], [1, "a", "b"])
      yield* same("what putTasks gives", yield* Rows.putTasks("t", [task("x", "1")], late), [task("x", "1")])
      yield* same("the tasks", yield* Rows.tasksOf("t", "x", "n"), [task("x", "1"), task("x", "2")])
    })
  ),
  test.tasks(
    "what stands beside a checkpoint is given when it is no longer the head",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.putTasks("t", [task("a", "1")])
      yield* Rows.commit("t", commitOf(checkpoint("b", "a")))
      const late = [task("a", "1", { data: "\"late\"" }), task("b", "2")]
      yield* same("what putTasks gives", yield* Rows.putTasks("t", late), [task("a", "1"), task("b", "2")])
    })
  )
]

const heads: ReadonlyArray<Rows.Case> = [
  test.heads(
    "a commit moves the head and names its owner",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"], { owner: "o1" })
      const head = { branch: 1, place: "", id: "a", owner: "o1", life: "o1" }
      yield* same("the head", yield* Rows.head("t"), head)
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { owner: "o2" }))
      yield* same("the head", yield* Rows.head("t"), { ...head, id: "b", owner: "o2" })
    })
  ),
  test.heads(
    "each branch has a head; without one the newest branch counts",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b"])
      yield* Rows.commit("t", commitOf(checkpoint("f", "a", { branch: 2 }), { expected: undefined }))
      yield* Rows.commit("t", commitOf(checkpoint("g", "a", { branch: 10 }), { expected: undefined }))
      yield* same("the newest head", yield* Rows.headId("t"), "g")
      yield* Rows.commit("t", commitOf(checkpoint("c", "b")))
      yield* same("the newest head after an old one moved", yield* Rows.headId("t"), "g")
      yield* same("the head of branch 1", yield* Rows.headId("t", "", 1), "c")
      yield* same("the head of branch 2", yield* Rows.headId("t", "", 2), "f")
      yield* same("the branch of the head of branch 10", (yield* Rows.head("t", "", 10))?.branch, 10)
      yield* same("the head of branch 3", yield* Rows.head("t", "", 3), undefined)
    })
  ),
  test.heads(
    "each place has a head",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.commitAll("t", ["x", "y"], { namespace: "n", place: "[\"a\",\"task\",\"n\"]" })
      yield* Rows.commitAll("t", ["z"], { namespace: "n", place: "[\"a\",\"task2\",\"n\"]" })
      yield* same("the head of the root", yield* Rows.headId("t"), "a")
      yield* same("the head of one place", yield* Rows.headId("t", "[\"a\",\"task\",\"n\"]"), "y")
      yield* same("the head of the other", yield* Rows.headId("t", "[\"a\",\"task2\",\"n\"]", 1), "z")
    })
  )
]

const commits: ReadonlyArray<Rows.Case> = [
  test.commit(
    "a commit stores its tasks beside the checkpoints they name",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const rows = [task("a", "1"), task("b", "2", { status: "paused" })]
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { tasks: rows }))
      yield* same("the tasks", yield* Rows.tasksOf("t", "b"), rows)
    })
  ),
  test.commit(
    "a commit keeps tasks that are done, and is refused if it brings another result of one",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.putTasks("t", [task("a", "1", { data: "1" })])
      const other = [task("a", "1", { data: "2" }), task("a", "2")]
      yield* Rows.conflict("a commit of another result", "t", commitOf(checkpoint("b", "a"), { tasks: other }))
      yield* same("the tasks", yield* Rows.tasksOf("t", "a"), [task("a", "1", { data: "1" })])
      const rows = [task("a", "1", { data: "1" }), task("a", "2")]
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { tasks: rows }))
      yield* same("the tasks", yield* Rows.tasksOf("t", "b"), rows)
    })
  ),
  test.commit(
    "a commit on a head that moved is a conflict, and stores nothing",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b"])
      const given = commitOf(checkpoint("c", "a"), { tasks: [task("a", "1")] })
      const error = yield* Rows.conflict("a commit on a", "t", given)
      const { branch, expected, found, thread } = error
      yield* same("the conflict", { thread, branch, expected, found }, {
        thread: "t",
        branch: 1,
        expected: "a",
        found: "b"
      })
      yield* same("the refused checkpoint", yield* Rows.get("t", "c"), undefined)
      yield* same("the tasks", yield* Rows.tasksOf("t", "b"), [])
      const head = { branch: 1, place: "", id: "b", owner: "owner", life: "owner" }
      yield* same("the head", yield* Rows.head("t"), head)
    })
  ),
  test.commit(
    "a commit of a graph inside a task is refused once the thread has moved on, unless its checkpoint is stored",
    Effect.gen(function*() {
      const inside = { namespace: "n", place: "p" }
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.commitAll("t", ["x"], inside)
      yield* Rows.commit("t", commitOf(checkpoint("f", "a", { branch: 2 }), { expected: undefined }))
      yield* Rows.commit("t", commitOf(checkpoint("y", "x"), inside))
      yield* Rows.commit("t", commitOf(checkpoint("b", "a")))
      const late = { ...inside, root: "a", owner: "slow" }
      const given = commitOf(checkpoint("z", "y"), { ...late, tasks: [task("y", "1")] })
      const { branch, expected, found } = yield* Rows.conflict("a commit of what was left behind", "t", given)
      yield* same("the conflict", [branch, expected, found], [1, "a", "b"])
      yield* same("the refused checkpoint", yield* Rows.get("t", "z", "n"), undefined)
      yield* same("the tasks", yield* Rows.tasksOf("t", "y", "n"), [])
      yield* Rows.commit("t", commitOf(checkpoint("y", "x"), late))
      yield* same("the head of the place", yield* Rows.headId("t", "p", 1), "y")
      yield* Rows.commit("t", commitOf(checkpoint("z", "y"), inside))
      yield* same("the head of the place later", yield* Rows.headId("t", "p", 1), "z")
    })
  ),
  test.commit(
    "a first commit where there is a head is a conflict",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const { expected, found } = yield* Rows.conflict("a first commit", "t", commitOf(checkpoint("x")))
      yield* same("the conflict", { expected, found }, { expected: undefined, found: "a" })
    })
  ),
  test.commit(
    "a later commit where there is no head is a conflict",
    Effect.gen(function*() {
      const first = yield* Rows.conflict("a later commit", "t", commitOf(checkpoint("b", "a")))
      yield* same("the conflict", [first.expected, first.found], ["a", undefined])
      yield* same("the list", yield* Rows.list("t"), [])
      yield* Rows.commitAll("t", ["a"])
      const given = commitOf(checkpoint("b", "a", { branch: 2 }))
      const other = yield* Rows.conflict("a later commit of a branch", "t", given)
      yield* same("the conflict", [other.branch, other.expected, other.found], [2, "a", undefined])
    })
  ),
  test.commit(
    "a commit that is in place already, by the same owner, succeeds and stores nothing",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const given = commitOf(checkpoint("b", "a"))
      yield* Rows.commit("t", given)
      yield* Rows.commit("t", { ...given, tasks: [task("a", "late")] })
      yield* Rows.commit("t", { ...given, expected: "something else" })
      yield* same("the list", yield* Rows.list("t"), ["b", "a"])
      yield* same("the tasks", yield* Rows.tasksOf("t", "b"), [])
      yield* Rows.commit("t", commitOf(checkpoint("c", "b")))
      yield* same("the head", yield* Rows.headId("t"), "c")
    })
  ),
  test.commit(
    "the same commit by another owner is a conflict",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const given = commitOf(checkpoint("b", "a"), { owner: "o1" })
      yield* Rows.commit("t", given)
      const error = yield* Rows.conflict("the same commit", "t", { ...given, owner: "o2" })
      yield* same("the conflict", [error.expected, error.found], ["a", "b"])
      yield* same("the owner", (yield* Rows.head("t"))?.owner, "o1")
    })
  ),
  test.commit(
    "a checkpoint that follows from other finished rows than stand beside its parent is a conflict, and stores nothing",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      yield* Rows.putTasks("t", [task("a", "1"), task("a", "2"), task("a", "3", { status: "paused" })])
      const refused = {
        "a row too many": commitOf(checkpoint("b", "a"), { finished: 1 }),
        "a row too few": commitOf(checkpoint("b", "a"), { finished: 4, tasks: [task("a", "4")] }),
        "a row with other data": commitOf(checkpoint("b", "a"), { finished: 2, tasks: [task("a", "1", { data: "1" })] })
      }
      for (const [what, given] of Object.entries(refused)) {
        yield* Rows.conflict(what, "t", given)
        yield* same(`the list after ${what}`, yield* Rows.list("t"), ["a"])
        yield* same(`how many tasks there are after ${what}`, (yield* Rows.tasksOf("t", "a"))?.length, 3)
      }
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { finished: 3, tasks: [task("a", "2"), task("a", "3")] }))
      yield* same("the list", yield* Rows.list("t"), ["b", "a"])
    })
  ),
  test.commit(
    "a repeat that was overtaken is a conflict",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a", "b", "c"])
      const error = yield* Rows.conflict("the repeat", "t", commitOf(checkpoint("b", "a")))
      yield* same("what it found", error.found, "c")
    })
  )
]

/** Two graphs inside, at places of their own. */
const twoInside = (id: string, expected?: string) => [
  moveOf(checkpoint(id, expected), { tasks: [task(id, "1")] }),
  moveOf(checkpoint(id, expected), { namespace: "m", place: "q" })
]

const headsOf = Effect.fnUntraced(function*() {
  return [yield* Rows.headId("t"), yield* Rows.headId("t", "p"), yield* Rows.headId("t", "q")]
})

const insides: ReadonlyArray<Rows.Case> = [
  test.inside(
    "graphs inside tasks move with the commit",
    Effect.gen(function*() {
      yield* Rows.commit("t", commitOf(checkpoint("a"), { inside: twoInside("x") }))
      yield* same("the heads", yield* headsOf(), ["a", "x", "x"])
      yield* same("the tasks inside", yield* Rows.tasksOf("t", "x", "n"), [task("x", "1")])
      const given = commitOf(checkpoint("b", "a"), { inside: twoInside("y", "x") })
      yield* Rows.commit("t", given)
      yield* Rows.commit("t", given)
      yield* same("the heads", yield* headsOf(), ["b", "y", "y"])
      yield* same("the list inside", yield* Rows.list("t", "n"), ["y", "x"])
    })
  ),
  test.inside(
    "graphs inside tasks move all at once or not at all",
    Effect.gen(function*() {
      yield* Rows.commit("t", commitOf(checkpoint("a"), { inside: twoInside("x") }))
      const refused = {
        "the second move inside": commitOf(checkpoint("b", "a"), {
          inside: [...twoInside("y", "x").slice(0, 1), ...twoInside("z", "other").slice(1)]
        }),
        "the commit itself": commitOf(checkpoint("b", "other"), { inside: twoInside("y", "x") })
      }
      for (const [what, given] of Object.entries(refused)) {
        yield* Rows.conflict(what, "t", given)
        const lists = [...yield* Rows.list("t"), ...yield* Rows.list("t", "n"), ...yield* Rows.list("t", "m")]
        yield* same(`what is stored after a conflict of ${what}`, lists, ["a", "x", "x"])
        yield* same(`the heads after a conflict of ${what}`, yield* headsOf(), ["a", "x", "x"])
        yield* same(`the tasks after a conflict of ${what}`, yield* Rows.tasksOf("t", "y", "n"), undefined)
      }
    })
  ),
  test.inside(
    "a checkpoint of a graph inside a task that another runner has stored is no conflict, and moves nothing back",
    Effect.gen(function*() {
      const inside = { namespace: "n", place: "p" }
      yield* Rows.commitAll("t", ["root"])
      yield* Rows.commit("t", commitOf(checkpoint("a"), { ...inside, owner: "one" }))
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { ...inside, owner: "one" }))
      yield* Rows.commit("t", commitOf(checkpoint("a"), { ...inside, owner: "two" }))
      yield* same("the head", yield* Rows.headId("t", "p"), "b")
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { ...inside, owner: "two" }))
      yield* Rows.commit("t", commitOf(checkpoint("c", "b"), { ...inside, owner: "two" }))
      yield* same("the head", yield* Rows.headId("t", "p"), "c")
      const given = commitOf(checkpoint("d", "b"), { ...inside, owner: "one" })
      yield* failsWith("a checkpoint that nobody stored", "ThreadConflict", Rows.commit("t", given))
    })
  )
]

export const writing: ReadonlyArray<Rows.Case> = [...tasks, ...heads, ...commits, ...insides]
