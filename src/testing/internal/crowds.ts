/** Many writers at once, large values, and ids of any kind. */
import * as Effect from "effect/Effect"
import { type CaseFailed, same } from "./check.ts"
import * as Rows from "./rows.ts"
import { checkpoint, commitOf, task, test } from "./rows.ts"

const count = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

/** What of the writes, all at once, succeeded. */
const winners = <E extends { readonly _tag: string }, R>(
  writes: ReadonlyArray<Effect.Effect<unknown, E, R>>,
  refusal: string
): Effect.Effect<ReadonlyArray<number>, E | CaseFailed, R> =>
  Effect.map(
    Effect.forEach(
      writes,
      (write, index) =>
        Effect.matchEffect(write, {
          onSuccess: () => Effect.succeed([index]),
          onFailure: (error) => error._tag === refusal ? Effect.succeed([]) : Effect.fail(error)
        }),
      { concurrency: "unbounded" }
    ),
    (won) => won.flat()
  )

const concurrent: ReadonlyArray<Rows.Case> = [
  test.concurrent(
    "of ten concurrent commits on one head one wins",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const won = yield* winners(
        count(10).map((index) => Rows.commit("t", commitOf(checkpoint(`b${index}`, "a"), { owner: `o${index}` }))),
        "ThreadConflict"
      )
      yield* same("how many won", won.length, 1)
      const head = { branch: 1, place: "", id: `b${won[0]}`, owner: `o${won[0]}`, life: "owner" }
      yield* same("the head", yield* Rows.head("t"), head)
      yield* same("how many checkpoints there are", (yield* Rows.list("t")).length, 2)
    })
  ),
  test.concurrent(
    "of ten first commits at once one begins the thread",
    Effect.gen(function*() {
      const won = yield* winners(
        count(10).map((index) => Rows.begin("t", commitOf(checkpoint(`a${index}`), { owner: `o${index}` }))),
        "ThreadConflict"
      )
      yield* same("how many won", won.length, 1)
      yield* same("the life", (yield* Rows.head("t"))?.life, `o${won[0]}`)
      yield* same("the list", yield* Rows.list("t"), [`a${won[0]}`])
      yield* same("the threads", yield* Rows.threads, ["t"])
    })
  ),
  test.concurrent(
    "of ten that finish one task at once all are given the same row",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const given = yield* Effect.forEach(
        count(10),
        (index) => Rows.putTasks("t", [task("a", "1", { data: String(index) }), task("a", `own ${index}`)]),
        { concurrency: "unbounded" }
      )
      const kept = (yield* Rows.tasksOf("t", "a")) ?? []
      const shared = kept.find((row) => row.task === "1")
      yield* same("what each was given", given.map((rows) => rows[0]), count(10).map(() => shared))
      yield* same("how many rows there are", kept.length, 11)
    })
  ),
  test.concurrent(
    "a thread of which ten commit one after the other, and all who lost try again, holds ten commits",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const append = (index: number) =>
        Effect.gen(function*() {
          const { id, life } = (yield* Rows.head("t"))!
          yield* Rows.commit("t", { ...commitOf(checkpoint(`b${index}`, id), { owner: `o${index}` }), life })
        })
      yield* Effect.forEach(
        count(10),
        (index) => Effect.retry(append(index), { while: (error) => error._tag === "ThreadConflict", times: 200 }),
        { concurrency: "unbounded" }
      )
      const chain = (yield* Rows.chainOf("t", (yield* Rows.headId("t"))!)) ?? []
      yield* same("the chain, oldest first", chain, (yield* Rows.list("t")).toReversed())
      yield* same("how long it is", chain.length, 11)
    })
  ),
  test.concurrent(
    "concurrent commits to many threads all arrive",
    Effect.gen(function*() {
      const names = count(50).map((index) => `t${index}`)
      yield* Effect.forEach(names, (name) => Rows.commitAll(name, ["a", "b", "c"]), { concurrency: "unbounded" })
      for (const name of names) yield* same(`the list of ${name}`, yield* Rows.list(name), ["c", "b", "a"])
      yield* same("how many threads there are", (yield* Rows.threads).length, 50)
    })
  ),
  test.concurrent(
    "what is stored while a thread is deleted belongs to no thread",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"], { owner: "one" })
      const life = "one"
      const writes = count(10).map((index) =>
        index === 5 ? Rows.deleteThread("t") : Rows.putTasks("t", [task("a", `${index}`)], { life })
      )
      yield* winners(writes, "ThreadDeleted")
      yield* same("the threads", yield* Rows.threads, [])
      yield* Rows.commitAll("t", ["a"], { owner: "two" })
      yield* same("the tasks of the next thread", yield* Rows.tasksOf("t", "a"), [])
    })
  )
]

const large: ReadonlyArray<Rows.Case> = [
  test.large(
    "a row of 10 MB comes back",
    Effect.gen(function*() {
      const data = JSON.stringify("ü🧵~~".repeat(1_250_000))
      yield* Rows.commit("t", commitOf(checkpoint("a", undefined, { data }), { tasks: [task("a", "1", { data })] }))
      const saved = yield* Rows.get("t", "a")
      yield* same("whether the data is the same", saved?.chain[0]?.data === data, true)
      yield* same("whether the data of the task is the same", saved?.tasks[0]?.data === data, true)
    })
  ),
  test.large(
    "a chain of 2,000 checkpoints comes back in order",
    Effect.gen(function*() {
      const ids = count(2_000).map((index) => `c${index}`)
      yield* Rows.commitAll("t", ids)
      yield* same("the chain", yield* Rows.chainOf("t", "c1999"), ids)
    })
  ),
  test.large(
    "10,000 tasks in one batch, of which some were done",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const rows = count(10_000).map((index) => task("a", String(index)))
      const before = rows.filter((_, index) => index % 1_001 === 0).map((row) => ({ ...row, data: "\"before\"" }))
      yield* Rows.putTasks("t", before)
      const won = yield* Rows.putTasks("t", rows)
      const expected = rows.map((row, index) => index % 1_001 === 0 ? { ...row, data: "\"before\"" } : row)
      yield* same("what putTasks gives", won, expected)
      yield* same("how many tasks there are", (yield* Rows.tasksOf("t", "a"))?.length, 10_000)
    })
  ),
  test.large(
    "a commit with 1,000 tasks",
    Effect.gen(function*() {
      yield* Rows.commitAll("t", ["a"])
      const rows = count(1_000).map((index) => task("a", String(index).padStart(4, "0")))
      yield* Rows.commit("t", commitOf(checkpoint("b", "a"), { tasks: rows }))
      yield* same("the tasks", yield* Rows.tasksOf("t", "b"), rows)
    })
  )
]

/** Strings that ids may be made of. */
export const hostile: ReadonlyArray<readonly [name: string, text: string]> = [
  ["an SQL injection", "'; DROP TABLE superstep_threads; --"],
  ["a comment", "a\" /* ? $1 :name @x */ --"],
  ["like wildcards", "%_*[a-z]"],
  ["NUL", "a\0b"],
  ["only NUL", "\0"],
  ["emoji", "👩‍👩‍👧‍👦 🧵"],
  ["a lone high surrogate", "\ud800"],
  ["a lone low surrogate", "x\udc00y"],
  ["a surrogate escaped by hand", "\\ud800"],
  ["backslashes", "\\\\0\\"],
  ["__proto__", "__proto__"],
  ["constructor", "constructor"],
  ["nothing", ""],
  ["a blank", " "],
  ["line ends", "a\r\nb\u2028c"],
  ["composed", "\u00e9"],
  ["decomposed", "e\u0301"],
  ["another case", "THREAD"],
  ["this case", "thread"],
  ["a number", "1"],
  ["the same number", "1.0"],
  ["10 kB", "x".repeat(10_000)],
  ["10 kB of another", `${"x".repeat(9_999)}y`]
]

const lifeOfOne = Effect.fnUntraced(function*(text: string) {
  const where = { namespace: text, place: text, owner: text }
  const root = checkpoint(text || "root")
  const next = checkpoint(`${text}2`, root.id)
  yield* Rows.commit(text, commitOf(root, where))
  yield* Rows.commit(text, commitOf(next, { ...where, tasks: [task(root.id, text)] }))
  yield* same("the threads", yield* Rows.threads, [text])
  yield* same("the head", yield* Rows.head(text, text), {
    branch: 1,
    place: text,
    id: next.id,
    owner: text,
    life: text
  })
  const saved = { chain: [root, next], tasks: [task(root.id, text)] }
  yield* same("the checkpoint", yield* Rows.get(text, next.id, text), saved)
  yield* same("the list", yield* Rows.list(text, text, { before: next.id, limit: 1 }), [root.id])
  const late = [task(root.id, text, { data: "1" }), task(next.id, "other")]
  const kept = yield* Rows.putTasks(text, late, { namespace: text, place: text, life: text })
  yield* same("what putTasks gives", kept, [task(root.id, text), task(next.id, "other")])
  yield* Rows.commit(text, commitOf(next, where))
  yield* Rows.deleteThread(text)
  yield* same("the threads", yield* Rows.threads, [])
})

/** By UTF-16 code units, as ids are ordered. */
const byUnits = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

const hostiles: ReadonlyArray<Rows.Case> = [
  ...hostile.map(([name, text]) => test.hostile(`${name} is an id like any other`, lifeOfOne(text))),
  test.hostile(
    "hostile ids are all different",
    Effect.gen(function*() {
      const texts = hostile.map(([, text]) => text)
      for (const [index, text] of texts.entries()) {
        yield* Rows.commit(text, commitOf(checkpoint(`c${index}`)))
        yield* Rows.commit("all", commitOf(checkpoint(`c${index}`), { namespace: text, place: text }))
      }
      const first = texts[0]!
      const where = { namespace: first, place: first, life: "owner" }
      yield* Rows.putTasks("all", texts.map((text) => task("c0", text)), where)
      yield* same("the threads", yield* Rows.threads, [first, "all", ...texts.slice(1)])
      for (const [index, text] of texts.entries()) {
        yield* same("the list of a thread", yield* Rows.list(text), [`c${index}`])
        yield* same("the list of a namespace", yield* Rows.list("all", text), [`c${index}`])
        yield* same("the head of a place", yield* Rows.headId("all", text), `c${index}`)
      }
      yield* same(
        "the tasks",
        (yield* Rows.tasksOf("all", "c0", first))?.map(({ task }) => task),
        texts.toSorted(byUnits)
      )
    })
  )
]

export const crowds: ReadonlyArray<Rows.Case> = [...concurrent, ...large, ...hostiles]
