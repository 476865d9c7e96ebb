/**
 * The contract of a `Checkpointer`, for any layer. Each test has storage of its own.
 *
 * Derived from the contract of LangGraph's savers; what that says of channel blobs, metadata filters, run ids, copies and pruning
 * has no counterpart in this service.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Result } from "effect"
import type { CheckpointRow, Commit, TaskRow } from "superstep/Checkpoint"
import { Checkpointer } from "superstep/Checkpointer"
import type { CheckpointError, ThreadConflict, ThreadDeleted } from "superstep/GraphError"

export const checkpoint = (id: string, parent?: string, rest: Partial<CheckpointRow> = {}): CheckpointRow => ({
  id,
  parent,
  branch: 1,
  step: 0,
  source: "loop",
  createdMillis: 1_700_000_000_123,
  format: 1,
  isKeyframe: parent === undefined,
  data: JSON.stringify({ id }),
  metadata: "{}",
  ...rest
})

export const task = (checkpoint: string, task: string, rest: Partial<TaskRow> = {}): TaskRow => ({
  checkpoint,
  task,
  status: "done",
  revision: 1,
  data: JSON.stringify({ task }),
  ...rest
})

/** A commit to the thread as it is; with a life, to the thread as it was then. */
export type Given = Omit<Commit, "life"> & { readonly life?: string }

export const commitOf = (checkpoint: CheckpointRow, rest: Partial<Given> = {}): Given => ({
  namespace: "",
  checkpoint,
  tasks: [],
  place: "",
  expected: checkpoint.parent,
  inside: [],
  owner: "owner",
  ...rest
})

const lifeOf = (thread: string) =>
  Checkpointer.use((saver) => Effect.map(saver.head(thread, ""), (head) => Option.getOrUndefined(head)?.life))

export const commit = Effect.fnUntraced(function*(thread: string, given: Given) {
  const life = given.life ?? (yield* lifeOf(thread))
  return yield* Checkpointer.use((saver) => saver.commit(thread, { ...given, life }))
})

/** Commits ids one after the other, the first as a keyframe. */
export const commitAll = Effect.fnUntraced(
  function*(thread: string, ids: ReadonlyArray<string>, rest: Partial<Given> = {}) {
    for (const [index, id] of ids.entries()) {
      yield* commit(thread, commitOf(checkpoint(id, ids[index - 1], { step: index }), rest))
    }
  }
)

/** Puts tasks beside checkpoints of the thread as it is; with a life, of the thread as it was then. */
export const putTasks = Effect.fnUntraced(
  function*(thread: string, tasks: ReadonlyArray<TaskRow>, namespace = "", life?: string) {
    const now = life ?? (yield* lifeOf(thread)) ?? "none"
    return yield* Checkpointer.use((saver) => saver.putTasks(thread, { namespace, tasks, life: now }))
  }
)

const idsOf = (rows: ReadonlyArray<CheckpointRow>) => rows.map(({ id }) => id)

const head = (thread: string, place = "", branch?: number) =>
  Checkpointer.use((saver) => Effect.map(saver.head(thread, place, branch), Option.getOrUndefined))

const get = (thread: string, id: string, namespace = "") =>
  Checkpointer.use((saver) => Effect.map(saver.get(thread, namespace, id), Option.getOrUndefined))

const list = (thread: string, namespace = "", options: { before?: string; limit?: number } = {}) =>
  Checkpointer.use((saver) => Effect.map(saver.list(thread, namespace, options), idsOf))

const conflict = (thread: string, given: Given) =>
  Effect.matchEffect(commit(thread, given), {
    onSuccess: () => Effect.die(new Error("the commit succeeded")),
    onFailure: (error) => error._tag === "ThreadConflict" ? Effect.succeed(error) : Effect.fail(error)
  })

const isDeleted = Effect.fnUntraced(
  function*<A>(write: Effect.Effect<A, CheckpointError | ThreadConflict | ThreadDeleted, Checkpointer>) {
    const result = yield* Effect.result(write)
    assert.strictEqual(Result.isFailure(result) && result.failure._tag, "ThreadDeleted")
  }
)

/** Strings that ids may be made of. */
export const hostile: Readonly<Record<string, string>> = {
  "an SQL injection": "'; DROP TABLE superstep_threads; --",
  "a comment": "a\" /* ? $1 :name @x */ --",
  "like wildcards": "%_*[a-z]",
  "NUL": "a\0b",
  "only NUL": "\0",
  "emoji": "👩‍👩‍👧‍👦 🧵",
  "a lone high surrogate": "\ud800",
  "a lone low surrogate": "x\udc00y",
  "a surrogate escaped by hand": "\\ud800",
  "backslashes": "\\\\0\\",
  "__proto__": "__proto__",
  "constructor": "constructor",
  "nothing": "",
  "a blank": " ",
  "line ends": "a\r\nb\u2028c",
  "composed": "\u00e9",
  "decomposed": "e\u0301",
  "another case": "THREAD",
  "this case": "thread",
  "a number": "1",
  "the same number": "1.0",
  "10 kB": "x".repeat(10_000),
  "10 kB of another": `${"x".repeat(9_999)}y`
}

type Test = (
  name: string,
  program: Effect.Effect<void, CheckpointError | ThreadConflict | ThreadDeleted, Checkpointer>
) => void

const puts = (test: Test) => {
  test(
    "a checkpoint comes back as it was put",
    Effect.gen(function*() {
      const row = checkpoint("a", undefined, {
        step: -1,
        source: "input",
        branch: 3,
        data: JSON.stringify({ text: "\0 ' \" \\ \ud800 🧵 __proto__", big: 2 ** 53 - 1 }),
        metadata: JSON.stringify({ user: { tags: ["a", "ü"] } })
      })
      yield* commit("t", commitOf(row))
      assert.deepStrictEqual(yield* get("t", "a"), { chain: [row], tasks: [] })
    })
  )
  for (const source of ["input", "loop", "update", "fork"] as const) {
    test(
      `the source ${source} comes back`,
      Effect.gen(function*() {
        yield* commit("t", commitOf(checkpoint("a", undefined, { source })))
        assert.strictEqual((yield* get("t", "a"))?.chain[0]?.source, source)
      })
    )
  }
  test(
    "large data comes back",
    Effect.gen(function*() {
      const data = JSON.stringify("ü🧵".repeat(500_000))
      yield* commit("t", commitOf(checkpoint("a", undefined, { data })))
      assert.strictEqual((yield* get("t", "a"))?.chain[0]?.data, data)
    })
  )
  test(
    "a checkpoint comes with what is needed to read it, from the nearest keyframe",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b", "c"])
      yield* commit("t", commitOf(checkpoint("d", "c", { isKeyframe: true })))
      yield* commit("t", commitOf(checkpoint("e", "d")))
      assert.deepStrictEqual(idsOf((yield* get("t", "c"))!.chain), ["a", "b", "c"])
      assert.deepStrictEqual(idsOf((yield* get("t", "d"))!.chain), ["d"])
      assert.deepStrictEqual(idsOf((yield* get("t", "e"))!.chain), ["d", "e"])
      assert.strictEqual((yield* get("t", "d"))!.chain[0]!.parent, "c")
    })
  )
  test(
    "a chain of 2,000 checkpoints comes back in order",
    Effect.gen(function*() {
      const ids = Array.from({ length: 2_000 }, (_, index) => `c${index}`)
      yield* commitAll("t", ids)
      assert.deepStrictEqual(idsOf((yield* get("t", "c1999"))!.chain), ids)
    })
  )
  test(
    "a chain does not lead into another namespace or thread",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"], { namespace: "n", place: "n" })
      yield* commitAll("other", ["a"])
      yield* commit("t", commitOf(checkpoint("b", "a"), { expected: undefined }))
      assert.deepStrictEqual(idsOf((yield* get("t", "b"))!.chain), ["b"])
    })
  )
}

const gets = (test: Test) => {
  test(
    "an unknown thread has nothing",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      assert.isUndefined(yield* head("none"))
      assert.isUndefined(yield* head("none", "", 1))
      assert.isUndefined(yield* get("none", "a"))
      assert.deepStrictEqual(yield* list("none"), [])
      assert.deepStrictEqual(yield* saver.threads, [])
    })
  )
  test(
    "an unknown checkpoint, namespace or place is none",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      assert.isUndefined(yield* get("t", "b"))
      assert.isUndefined(yield* get("t", "a", "n"))
      assert.deepStrictEqual(yield* list("t", "n"), [])
      assert.isUndefined(yield* head("t", "place"))
      assert.isUndefined(yield* head("t", "", 2))
    })
  )
  test(
    "an old checkpoint stays readable",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b", "c"])
      assert.strictEqual((yield* get("t", "b"))?.chain[1]?.data, checkpoint("b").data)
    })
  )
  test(
    "threads do not see each other",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b"])
      yield* commitAll("u", ["a", "c"])
      yield* putTasks("t", [task("a", "x")])
      assert.deepStrictEqual(yield* list("t"), ["b", "a"])
      assert.deepStrictEqual(yield* list("u"), ["c", "a"])
      assert.strictEqual((yield* head("t"))?.id, "b")
      assert.strictEqual((yield* head("u"))?.id, "c")
      assert.deepStrictEqual((yield* get("u", "a"))?.tasks, [])
      assert.isUndefined(yield* get("u", "b"))
    })
  )
  test(
    "namespaces do not see each other",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b"])
      yield* commitAll("t", ["a", "c"], { namespace: "n", place: "p" })
      yield* putTasks("t", [task("a", "x")], "n")
      assert.deepStrictEqual(yield* list("t"), ["b", "a"])
      assert.deepStrictEqual(yield* list("t", "n"), ["c", "a"])
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks, [])
      assert.strictEqual((yield* get("t", "a", "n"))?.tasks.length, 1)
      assert.isUndefined(yield* get("t", "c"))
    })
  )
  test(
    "threads are listed in the order in which they began",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      yield* commitAll("b", ["x"])
      yield* commitAll("a", ["x"])
      yield* commit("b", commitOf(checkpoint("y", "x")))
      assert.deepStrictEqual(yield* saver.threads, ["b", "a"])
    })
  )
}

const lists = (test: Test) => {
  test(
    "checkpoints are listed newest first",
    Effect.gen(function*() {
      // Ids that would sort the other way.
      yield* commitAll("t", ["c", "b", "a"])
      assert.deepStrictEqual(yield* list("t"), ["a", "b", "c"])
    })
  )
  test(
    "listed checkpoints are whole",
    Effect.gen(function*() {
      const row = checkpoint("a", undefined, { step: 7, source: "update", metadata: "{\"k\":1}" })
      yield* commit("t", commitOf(row))
      const saver = yield* Checkpointer
      assert.deepStrictEqual(yield* saver.list("t", "", {}), [row])
    })
  )
  test(
    "a limit is kept",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b", "c"])
      assert.deepStrictEqual(yield* list("t", "", { limit: 2 }), ["c", "b"])
      assert.deepStrictEqual(yield* list("t", "", { limit: 9 }), ["c", "b", "a"])
      assert.deepStrictEqual(yield* list("t", "", { limit: 0 }), [])
    })
  )
  test(
    "before is exclusive",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b", "c"])
      assert.deepStrictEqual(yield* list("t", "", { before: "c" }), ["b", "a"])
      assert.deepStrictEqual(yield* list("t", "", { before: "a" }), [])
    })
  )
  test(
    "before and limit page through everything",
    Effect.gen(function*() {
      const ids = Array.from({ length: 25 }, (_, index) => `c${index}`)
      yield* commitAll("t", ids)
      const pages: Array<ReadonlyArray<string>> = []
      for (let before: string | undefined;;) {
        const page: ReadonlyArray<string> = yield* list(
          "t",
          "",
          before === undefined ? { limit: 10 } : { before, limit: 10 }
        )
        if (page.length === 0) break
        pages.push(page)
        before = page.at(-1)
      }
      assert.deepStrictEqual(pages.map((page) => page.length), [10, 10, 5])
      assert.deepStrictEqual(pages.flat(), ids.toReversed())
    })
  )
  test(
    "before an unknown checkpoint, or one of another namespace, is nothing",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b"])
      yield* commitAll("t", ["x"], { namespace: "n", place: "p" })
      assert.deepStrictEqual(yield* list("t", "", { before: "none" }), [])
      assert.deepStrictEqual(yield* list("t", "", { before: "x" }), [])
    })
  )
  test(
    "branches stand in one list, in the order in which they were stored",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b"])
      yield* commit("t", commitOf(checkpoint("f", "a", { branch: 2, source: "fork" }), { expected: undefined }))
      yield* commit("t", commitOf(checkpoint("c", "b")))
      assert.deepStrictEqual(yield* list("t"), ["c", "f", "b", "a"])
    })
  )
}

const tasks = (test: Test) => {
  test(
    "tasks come with their checkpoint, in the order in which they were put",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b"])
      const rows = [
        task("b", "z"),
        task("b", "y", { status: "paused" }),
        task("b", "x", { status: "failed" })
      ]
      assert.deepStrictEqual(yield* putTasks("t", rows), rows)
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, rows)
    })
  )
  test(
    "tasks of the whole chain come, oldest checkpoint first",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b", "c"])
      yield* putTasks("t", [task("c", "1"), task("a", "2"), task("b", "3"), task("a", "1")])
      const order = (yield* get("t", "c"))!.tasks.map((row) => `${row.checkpoint}${row.task}`)
      assert.deepStrictEqual(order, ["a2", "a1", "b3", "c1"])
    })
  )
  test(
    "tasks before the nearest keyframe do not come",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      yield* commit("t", commitOf(checkpoint("b", "a", { isKeyframe: true })))
      yield* putTasks("t", [task("a", "1"), task("b", "2")])
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, [task("b", "2")])
    })
  )
  test(
    "a new checkpoint has no tasks",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      yield* putTasks("t", [task("a", "1")])
      yield* commit("t", commitOf(checkpoint("b", "a", { isKeyframe: true })))
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, [])
    })
  )
  test(
    "the same tasks put twice stand once",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const rows = [task("a", "1"), task("a", "2")]
      yield* putTasks("t", rows)
      assert.deepStrictEqual(yield* putTasks("t", rows), rows)
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks, rows)
    })
  )
  test(
    "what is done is kept, and is given in place of the new row",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      yield* putTasks("t", [task("a", "1", { data: "\"first\"" })])
      for (const status of ["done", "paused", "failed"] as const) {
        const won = yield* putTasks("t", [
          task("a", "0"),
          task("a", "1", { status, data: "\"second\"" }),
          task("a", "2")
        ])
        assert.deepStrictEqual(won, [task("a", "0"), task("a", "1", { data: "\"first\"" }), task("a", "2")])
      }
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks.map(({ data, task }) => [task, data]), [
        ["1", "\"first\""],
        ["0", task("a", "0").data],
        ["2", task("a", "2").data]
      ])
    })
  )
  test(
    "what is paused or failed is replaced by what is done, in its place",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      yield* putTasks("t", [task("a", "1", { status: "paused" }), task("a", "2")])
      const failed = task("a", "1", { status: "failed", revision: 2, data: "1" })
      assert.deepStrictEqual(yield* putTasks("t", [failed]), [failed])
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks, [failed, task("a", "2")])
      const done = task("a", "1", { data: "2" })
      assert.deepStrictEqual(yield* putTasks("t", [done]), [done])
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks, [done, task("a", "2")])
    })
  )
  test(
    "a checkpoint of a graph inside a task that another runner has stored is no conflict, and moves nothing back",
    Effect.gen(function*() {
      const inside = { namespace: "n", place: "p" }
      yield* commit("t", commitOf(checkpoint("a"), { ...inside, owner: "one" }))
      yield* commit("t", commitOf(checkpoint("b", "a"), { ...inside, owner: "one" }))
      yield* commit("t", commitOf(checkpoint("a"), { ...inside, owner: "two" }))
      assert.strictEqual((yield* head("t", "p"))?.id, "b")
      yield* commit("t", commitOf(checkpoint("b", "a"), { ...inside, owner: "two" }))
      yield* commit("t", commitOf(checkpoint("c", "b"), { ...inside, owner: "two" }))
      assert.strictEqual((yield* head("t", "p"))?.id, "c")
      const other = yield* Effect.result(commit("t", commitOf(checkpoint("d", "b"), { ...inside, owner: "one" })))
      assert.strictEqual(Result.isFailure(other) && other.failure._tag, "ThreadConflict")
    })
  )
  test(
    "what is paused or failed is replaced only by a later revision",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const second = task("a", "1", { status: "paused", revision: 2, data: "2" })
      yield* putTasks("t", [task("a", "1", { status: "paused" })])
      assert.deepStrictEqual(yield* putTasks("t", [second]), [second])
      for (const revision of [1, 2]) {
        const late = task("a", "1", { status: "failed", revision, data: "\"late\"" })
        assert.deepStrictEqual(yield* putTasks("t", [late]), [second])
      }
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks, [second])
    })
  )
  test(
    "within one batch the first that is done stands",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const paused = task("a", "1", { status: "paused" })
      const done = task("a", "1", { data: "1" })
      assert.deepStrictEqual(yield* putTasks("t", [paused, done, task("a", "1", { data: "2" })]), [paused, done, done])
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks, [done])
      assert.deepStrictEqual(yield* putTasks("t", [paused, task("a", "1", { data: "3" })]), [done, done])
    })
  )
  test(
    "no tasks are no trouble",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      assert.deepStrictEqual(yield* putTasks("t", []), [])
    })
  )
  test(
    "tasks may come before their checkpoint",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      yield* putTasks("t", [task("b", "1")])
      yield* commit("t", commitOf(checkpoint("b", "a")))
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, [task("b", "1")])
    })
  )
  test(
    "10,000 tasks in one batch, of which some were done",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const rows = Array.from({ length: 10_000 }, (_, index) => task("a", String(index)))
      const before = rows.filter((_, index) => index % 1_001 === 0).map((row) => ({ ...row, data: "\"before\"" }))
      yield* putTasks("t", before)
      const won = yield* putTasks("t", rows)
      assert.deepStrictEqual(won, rows.map((row, index) => index % 1_001 === 0 ? { ...row, data: "\"before\"" } : row))
      assert.strictEqual((yield* get("t", "a"))?.tasks.length, 10_000)
    })
  )
}

const heads = (test: Test) => {
  test(
    "a commit moves the head and names its owner",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"], { owner: "o1" })
      assert.deepStrictEqual(yield* head("t"), { branch: 1, place: "", id: "a", owner: "o1", life: "o1" })
      yield* commit("t", commitOf(checkpoint("b", "a"), { owner: "o2" }))
      assert.deepStrictEqual(yield* head("t"), { branch: 1, place: "", id: "b", owner: "o2", life: "o1" })
    })
  )
  test(
    "each branch has a head; without one the newest branch counts",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b"])
      yield* commit("t", commitOf(checkpoint("f", "a", { branch: 2 }), { expected: undefined }))
      yield* commit("t", commitOf(checkpoint("g", "a", { branch: 10 }), { expected: undefined }))
      assert.strictEqual((yield* head("t"))?.id, "g")
      yield* commit("t", commitOf(checkpoint("c", "b")))
      assert.strictEqual((yield* head("t"))?.id, "g")
      assert.strictEqual((yield* head("t", "", 1))?.id, "c")
      assert.strictEqual((yield* head("t", "", 2))?.id, "f")
      assert.strictEqual((yield* head("t", "", 10))?.branch, 10)
      assert.isUndefined(yield* head("t", "", 3))
    })
  )
  test(
    "each place has a head",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      yield* commitAll("t", ["x", "y"], { namespace: "n", place: "[\"a\",\"task\",\"n\"]" })
      yield* commitAll("t", ["z"], { namespace: "n", place: "[\"a\",\"task2\",\"n\"]" })
      assert.strictEqual((yield* head("t"))?.id, "a")
      assert.strictEqual((yield* head("t", "[\"a\",\"task\",\"n\"]"))?.id, "y")
      assert.strictEqual((yield* head("t", "[\"a\",\"task2\",\"n\"]", 1))?.id, "z")
    })
  )
}

const commits = (test: Test) => {
  test(
    "a commit stores its tasks beside the checkpoints they name",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      yield* commit(
        "t",
        commitOf(checkpoint("b", "a"), { tasks: [task("a", "1"), task("b", "2", { status: "paused" })] })
      )
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, [task("a", "1"), task("b", "2", { status: "paused" })])
    })
  )
  test(
    "a commit keeps tasks that are done",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      yield* putTasks("t", [task("a", "1", { data: "1" })])
      yield* commit("t", commitOf(checkpoint("b", "a"), { tasks: [task("a", "1", { data: "2" }), task("a", "2")] }))
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, [task("a", "1", { data: "1" }), task("a", "2")])
    })
  )
  test(
    "a commit with 1,000 tasks",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const rows = Array.from({ length: 1_000 }, (_, index) => task("a", String(index)))
      yield* commit("t", commitOf(checkpoint("b", "a"), { tasks: rows }))
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, rows)
    })
  )
  test(
    "a commit on a head that moved is a conflict, and stores nothing",
    Effect.gen(function*() {
      yield* commitAll("t", ["a", "b"])
      const error = yield* conflict("t", commitOf(checkpoint("c", "a"), { tasks: [task("a", "1")] }))
      assert.deepStrictEqual([error.thread, error.branch, error.expected, error.found], ["t", 1, "a", "b"])
      assert.isUndefined(yield* get("t", "c"))
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, [])
      assert.deepStrictEqual(yield* head("t"), { branch: 1, place: "", id: "b", owner: "owner", life: "owner" })
    })
  )
  test(
    "a first commit where there is a head is a conflict",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const error = yield* conflict("t", commitOf(checkpoint("x")))
      assert.deepStrictEqual([error.expected, error.found], [undefined, "a"])
    })
  )
  test(
    "a later commit where there is no head is a conflict",
    Effect.gen(function*() {
      const error = yield* conflict("t", commitOf(checkpoint("b", "a")))
      assert.deepStrictEqual([error.expected, error.found], ["a", undefined])
      assert.deepStrictEqual(yield* list("t"), [])
      yield* commitAll("t", ["a"])
      const other = yield* conflict("t", commitOf(checkpoint("b", "a", { branch: 2 })))
      assert.deepStrictEqual([other.branch, other.expected, other.found], [2, "a", undefined])
    })
  )
  test(
    "a commit that is in place already, by the same owner, succeeds and stores nothing",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const given = commitOf(checkpoint("b", "a"))
      yield* commit("t", given)
      yield* commit("t", { ...given, tasks: [task("a", "late")] })
      yield* commit("t", { ...given, expected: "something else" })
      assert.deepStrictEqual(yield* list("t"), ["b", "a"])
      assert.deepStrictEqual((yield* get("t", "b"))?.tasks, [])
      yield* commit("t", commitOf(checkpoint("c", "b")))
      assert.strictEqual((yield* head("t"))?.id, "c")
    })
  )
  test(
    "the same commit by another owner is a conflict",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const given = commitOf(checkpoint("b", "a"), { owner: "o1" })
      yield* commit("t", given)
      const error = yield* conflict("t", { ...given, owner: "o2" })
      assert.deepStrictEqual([error.expected, error.found], ["a", "b"])
      assert.strictEqual((yield* head("t"))?.owner, "o1")
    })
  )
  test(
    "a repeat that was overtaken is a conflict",
    Effect.gen(function*() {
      const given = commitOf(checkpoint("b", "a"))
      yield* commitAll("t", ["a", "b", "c"])
      assert.strictEqual((yield* conflict("t", given)).found, "c")
    })
  )
  test(
    "graphs inside tasks move with the commit, all at once or not at all",
    Effect.gen(function*() {
      const inside = (id: string, expected?: string) => [
        { namespace: "n", checkpoint: checkpoint(id, expected), tasks: [task(id, "1")], place: "p", expected },
        { namespace: "m", checkpoint: checkpoint(id, expected), tasks: [], place: "q", expected }
      ]
      yield* commit("t", commitOf(checkpoint("a"), { inside: inside("x") }))
      assert.deepStrictEqual([(yield* head("t"))?.id, (yield* head("t", "p"))?.id, (yield* head("t", "q"))?.id], [
        "a",
        "x",
        "x"
      ])
      assert.deepStrictEqual((yield* get("t", "x", "n"))?.tasks, [task("x", "1")])
      const refused = [
        commitOf(checkpoint("b", "a"), { inside: [...inside("y", "x").slice(0, 1), ...inside("z", "other").slice(1)] }),
        commitOf(checkpoint("b", "other"), { inside: inside("y", "x") })
      ]
      for (const given of refused) {
        yield* conflict("t", given)
        assert.deepStrictEqual([...yield* list("t"), ...yield* list("t", "n"), ...yield* list("t", "m")], [
          "a",
          "x",
          "x"
        ])
        assert.deepStrictEqual([(yield* head("t"))?.id, (yield* head("t", "p"))?.id, (yield* head("t", "q"))?.id], [
          "a",
          "x",
          "x"
        ])
      }
      const given = commitOf(checkpoint("b", "a"), { inside: inside("y", "x") })
      yield* commit("t", given)
      yield* commit("t", given)
      assert.deepStrictEqual([(yield* head("t"))?.id, (yield* head("t", "p"))?.id], ["b", "y"])
    })
  )
  test(
    "of ten concurrent commits on one head one wins",
    Effect.gen(function*() {
      yield* commitAll("t", ["a"])
      const exits = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, index) => index),
        (index) => Effect.result(commit("t", commitOf(checkpoint(`b${index}`, "a"), { owner: `o${index}` }))),
        { concurrency: "unbounded" }
      )
      const won = exits.flatMap((exit, index) => exit._tag === "Success" ? [index] : [])
      assert.strictEqual(won.length, 1)
      const { id, owner } = (yield* head("t"))!
      assert.deepStrictEqual([id, owner], [`b${won[0]}`, `o${won[0]}`])
      assert.strictEqual((yield* list("t")).length, 2)
    })
  )
  test(
    "concurrent commits to many threads all arrive",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      const threads = Array.from({ length: 50 }, (_, index) => `t${index}`)
      yield* Effect.forEach(threads, (thread) => commitAll(thread, ["a", "b", "c"]), { concurrency: "unbounded" })
      for (const thread of threads) assert.deepStrictEqual(yield* list(thread), ["c", "b", "a"])
      assert.strictEqual((yield* saver.threads).length, 50)
    })
  )
}

const deletes = (test: Test) => {
  test(
    "a deleted thread is gone, in all namespaces, and no other thread is",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      for (const thread of ["t", "u"]) {
        yield* commitAll(thread, ["a", "b"])
        yield* commitAll(thread, ["x"], { namespace: "n", place: "p" })
        yield* putTasks(thread, [task("b", "1")])
      }
      yield* saver.deleteThread("t")
      assert.deepStrictEqual(yield* saver.threads, ["u"])
      assert.isUndefined(yield* head("t"))
      assert.isUndefined(yield* head("t", "p"))
      assert.isUndefined(yield* get("t", "b"))
      assert.deepStrictEqual([...yield* list("t"), ...yield* list("t", "n")], [])
      assert.deepStrictEqual(yield* list("u"), ["b", "a"])
      assert.strictEqual((yield* get("u", "b"))?.tasks.length, 1)
      assert.strictEqual((yield* head("u", "p"))?.id, "x")
    })
  )
  test(
    "a deleted thread can begin again, without what it had",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      yield* commitAll("t", ["a", "b"])
      yield* putTasks("t", [task("a", "1")])
      yield* commitAll("u", ["a"])
      yield* saver.deleteThread("t")
      yield* commitAll("t", ["a"])
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks, [])
      assert.deepStrictEqual(yield* saver.threads, ["u", "t"])
    })
  )
  test(
    "nothing of a deleted thread can be stored, whether it began anew or not",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      const inside = { namespace: "n", place: "p" }
      yield* commitAll("t", ["a"], { owner: "one" })
      yield* saver.deleteThread("t")
      const life = "one"
      const deleted = Effect.gen(function*() {
        yield* isDeleted(commit("t", commitOf(checkpoint("b", "a"), { life })))
        yield* isDeleted(commit("t", commitOf(checkpoint("f", "a", { branch: 2 }), { expected: undefined, life })))
        yield* isDeleted(commit("t", commitOf(checkpoint("x"), { ...inside, life })))
        yield* isDeleted(putTasks("t", [task("a", "1")], "", life))
      })
      yield* deleted
      assert.deepStrictEqual(yield* saver.threads, [])
      yield* commitAll("t", ["a"], { owner: "two" })
      yield* deleted
      assert.deepStrictEqual(yield* list("t"), ["a"])
      assert.deepStrictEqual((yield* get("t", "a"))?.tasks, [])
      assert.isUndefined(yield* head("t", "p"))
    })
  )
  test(
    "a first commit that was repeated is no second beginning",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      const first = { ...commitOf(checkpoint("a"), { owner: "one" }), life: undefined }
      yield* saver.commit("t", first)
      yield* saver.commit("t", first)
      const other = yield* Effect.result(saver.commit("t", { ...first, owner: "two" }))
      assert.strictEqual(Result.isFailure(other) && other.failure._tag, "ThreadConflict")
      assert.strictEqual((yield* head("t"))?.life, "one")
    })
  )
  test(
    "what was stored before the first checkpoint of the root is no beginning",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      const inside = { namespace: "n", place: "p" }
      yield* saver.commit("t", { ...commitOf(checkpoint("x"), { ...inside, owner: "one" }), life: undefined })
      yield* saver.commit("t", { ...commitOf(checkpoint("a"), { owner: "two" }), life: undefined })
      assert.strictEqual((yield* head("t"))?.life, "two")
      assert.strictEqual((yield* head("t", "p"))?.life, "two")
      yield* isDeleted(commit("t", commitOf(checkpoint("y", "x"), { ...inside, life: "one" })))
    })
  )
  test(
    "an unknown thread can be deleted",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      yield* saver.deleteThread("none")
      assert.deepStrictEqual(yield* saver.threads, [])
    })
  )
}

const hostiles = (test: Test) => {
  for (const [name, text] of Object.entries(hostile)) {
    test(
      `${name} is an id like any other`,
      Effect.gen(function*() {
        const saver = yield* Checkpointer
        const root = checkpoint(text || "root")
        yield* commit(text, { ...commitOf(root), namespace: text, place: text, owner: text })
        const next = checkpoint(`${text}2`, root.id)
        yield* commit(text, {
          ...commitOf(next),
          namespace: text,
          place: text,
          owner: text,
          tasks: [task(root.id, text)]
        })
        assert.deepStrictEqual(yield* saver.threads, [text])
        const life = text
        assert.deepStrictEqual(yield* head(text, text), { branch: 1, place: text, id: next.id, owner: text, life })
        assert.deepStrictEqual(yield* get(text, next.id, text), { chain: [root, next], tasks: [task(root.id, text)] })
        assert.deepStrictEqual(yield* list(text, text, { before: next.id, limit: 1 }), [root.id])
        const kept = yield* putTasks(text, [task(root.id, text, { data: "1" }), task(root.id, "other")], text, life)
        assert.deepStrictEqual(kept, [task(root.id, text), task(root.id, "other")])
        yield* commit(text, { ...commitOf(next), namespace: text, place: text, owner: text })
        yield* saver.deleteThread(text)
        assert.deepStrictEqual(yield* saver.threads, [])
      })
    )
  }
  test(
    "hostile ids are all different",
    Effect.gen(function*() {
      const saver = yield* Checkpointer
      const texts = Object.values(hostile)
      for (const [index, text] of texts.entries()) {
        yield* commit(text, commitOf(checkpoint(`c${index}`)))
        yield* commit("all", { ...commitOf(checkpoint(`c${index}`)), namespace: text, place: text })
      }
      yield* putTasks("all", texts.map((text) => task("c0", text)), texts[0], "owner")
      assert.deepStrictEqual(yield* saver.threads, [texts[0]!, "all", ...texts.slice(1)])
      for (const [index, text] of texts.entries()) {
        assert.deepStrictEqual(yield* list(text), [`c${index}`])
        assert.deepStrictEqual(yield* list("all", text), [`c${index}`])
        assert.strictEqual((yield* head("all", text))?.id, `c${index}`)
      }
      assert.deepStrictEqual((yield* get("all", "c0", texts[0]))?.tasks.map(({ task }) => task), texts)
    })
  )
}

/** Runs the contract against a layer, built anew for each test. */
export const checkpointerSuite = (name: string, layer: Layer.Layer<Checkpointer, CheckpointError>): void => {
  const test: Test = (title, program) => it.effect(title, () => Effect.provide(program, Layer.fresh(layer)))
  describe(`Checkpointer: ${name}`, () => {
    describe("put", () => {
      puts(test)
    })
    describe("get", () => {
      gets(test)
    })
    describe("list", () => {
      lists(test)
    })
    describe("tasks", () => {
      tasks(test)
    })
    describe("heads", () => {
      heads(test)
    })
    describe("commit", () => {
      commits(test)
    })
    describe("delete", () => {
      deletes(test)
    })
    describe("hostile ids", () => {
      hostiles(test)
    })
  })
}
