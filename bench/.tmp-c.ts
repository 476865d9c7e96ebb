import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Checkpointer, layerMemory } from "superstep/Checkpointer"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { mkdtempSync, statSync } from "node:fs"
const row = (id: string, parent: string | undefined, key = true) => ({ id, parent, branch: 1, step: 1, source: "loop" as const, createdMillis: 1, format: 1, isKeyframe: key, data: JSON.stringify({ x: "y".repeat(300) }), metadata: "{}" })
const hex = (n: number) => n.toString(16).padStart(32, "0")
const file = process.env.DBF ?? mkdtempSync("/tmp/ss-") + "/a.db"
const main = Effect.gen(function*() {
  const saver = yield* Checkpointer
  const bench = (name: string, n: number, f: (i: number) => Effect.Effect<unknown, any>) => Effect.gen(function*() {
    const out: number[] = []
    for (let r = 0; r < 5; r++) { const t = performance.now(); for (let i = 0; i < n; i++) yield* f(r * n + i); out.push((performance.now() - t) / n * 1000) }
    console.log(name.padEnd(40), out.slice(1).sort((a, b) => a - b)[1]!.toFixed(1), "us")
  })
  let last: string | undefined
  yield* bench("commit, 1 task", 2000, (i) => { const c = row(hex(i), last); const commit = { namespace: "", checkpoint: c, tasks: last === undefined ? [] : [{ checkpoint: last, task: "00000001:a", status: "done" as const, data: "{\"w\":1}" }], place: "", expected: last, owner: "o" }; last = c.id; return saver.commit("t", commit) })
  last = undefined
  yield* bench("commit, no task", 2000, (i) => { const c = row(hex(i), last); const commit = { namespace: "", checkpoint: c, tasks: [], place: "", expected: last, owner: "o" }; last = c.id; return saver.commit("t2", commit) })
  last = undefined
  for (let i = 0; i < 1000; i++) { const c = row("c" + i, last, i === 0); yield* saver.commit("t3", { namespace: "", checkpoint: c, tasks: [{ checkpoint: c.id, task: "x", status: "done", data: "{}" }], place: "", expected: last, owner: "o" }); last = c.id }
  yield* bench("head", 2000, () => saver.head("t3", ""))
  yield* bench("get keyframe", 2000, () => saver.get("t2", "", hex(4000)))
  yield* bench("get chain of 1000", 20, () => saver.get("t3", "", "c999"))
  yield* bench("list limit 10", 500, () => saver.list("t2", "", { limit: 10 }))
  yield* bench("list before limit 10", 500, () => saver.list("t2", "", { before: hex(5000), limit: 10 }))
  for (const n of [1, 10, 100, 1000, 10000]) yield* bench(`putTasks ${n}`, n > 1000 ? 1 : 20, (i) => saver.putTasks("t4", "", Array.from({ length: n }, (_, j) => ({ checkpoint: "k" + n + "/" + i, task: "task" + j, status: "done" as const, data: "{\"w\":12345}" }))))
  const big = Array.from({ length: 100000 }, (_, j) => ({ checkpoint: "k", task: "task" + j, status: "done" as const, data: "{\"w\":12345}" }))
  let t = performance.now(); const a = yield* saver.putTasks("t5", "", big); console.log("100k ms", performance.now() - t, a.length)
  t = performance.now(); const b = yield* saver.putTasks("t5", "", big); console.log("100k again ms", performance.now() - t, b.length, b[5] )
  t = performance.now(); yield* saver.deleteThread("t5"); console.log("delete ms", performance.now() - t)
})
const l = process.argv[2] === "memory" ? layerMemory : SqlCheckpointer.layerSqlite({ filename: file, ...(process.argv[2] === "full" ? { synchronous: "FULL" as const } : {}) })
Effect.runPromise(main.pipe(Effect.provide(l))).then(() => console.log(file, file === ":memory:" ? 0 : statSync(file).size))
