/** The graph of the main job on real files. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as Checkpointer from "superstep/Checkpointer"
import { audit, stale, WriteReport } from "../../../docs/examples/audit/Audit.ts"
import { faulty, report, temporary, write } from "./Folders.ts"

const live = <E>(name: string, test: Effect.Effect<void, E, Layer.Success<typeof services> | Scoped>) =>
  it.live(name, () => test.pipe(Effect.scoped, Effect.provide(services)), 30_000)

const services = Layer.merge(NodeServices.layer, Checkpointer.layerMemory)

type Scoped = Effect.Services<ReturnType<FileSystem.FileSystem["makeTempDirectoryScoped"]>>

const paused = Effect.fnUntraced(function*(thread: ReturnType<typeof audit.thread>, root: string, report: string) {
  const failure = yield* Effect.flip(thread.start({ root, report }))
  if (failure._tag !== "GraphInterrupt") return assert.fail(`ended with ${failure._tag}: ${failure.message}`)
  return failure.requests.map(({ payload }) => payload)
})

describe("audit", () => {
  live(
    "finds the faults of a folder, asks, and writes the report that it was told to write",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const root = yield* temporary
      yield* write(root, faulty)
      const path = `${root}/report.md`
      const thread = audit.thread("t")
      const question = [{ path, pages: 2, findings: 4, outside: 0, problem: null }]
      assert.deepStrictEqual(yield* paused(thread, root, path), question)
      // Asked again, it asks the same, and has written nothing.
      assert.deepStrictEqual(yield* paused(thread, root, path), question)
      assert.isFalse(yield* files.exists(path))
      const done = yield* thread.resume(WriteReport.reply(path))
      assert.strictEqual(yield* files.readFileString(path), report)
      assert.strictEqual(done.written, path)
      // A finished thread gives its result, whatever has become of the folder.
      yield* files.remove(`${root}/a.md`)
      assert.deepStrictEqual(yield* thread.start({ root, report: path }), done)
    })
  )
  live(
    "writes nothing if it is told so, and audits no report of its own",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const root = yield* temporary
      yield* write(root, { ...faulty, "report.md": "[broken](nowhere)" })
      const thread = audit.thread("t")
      yield* paused(thread, root, `${root}/report.md`)
      const { summary, written } = yield* thread.resume(WriteReport.reply(null))
      assert.deepStrictEqual([summary.pages, written], [2, null])
      assert.strictEqual(yield* files.readFileString(`${root}/report.md`), "[broken](nowhere)")
    })
  )
  live(
    "asks about a folder without pages too",
    Effect.gen(function*() {
      const root = yield* temporary
      assert.deepStrictEqual(yield* paused(audit.thread("t"), root, "r"), [
        { path: "r", pages: 0, findings: 0, outside: 0, problem: null }
      ])
    })
  )
  live(
    "says that a page cannot be read, and checks the others",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const root = yield* temporary
      yield* write(root, { "a.md": "# A\n", "b.md": "[a](a.md#lost)\n" })
      const thread = audit.thread("t")
      // The breakpoint stands where the page vanishes.
      const stopped = yield* Effect.flip(thread.invoke({ root, report: "r" }, { before: ["check"] }))
      assert.strictEqual(stopped._tag, "GraphBreakpoint")
      yield* files.remove(`${root}/a.md`)
      assert.deepStrictEqual(yield* paused(thread, root, "r"), [{
        path: "r",
        pages: 2,
        findings: 1,
        outside: 0,
        problem: null
      }])
      const { values } = yield* thread.state()
      assert.deepStrictEqual(values.summary.findings, [
        { file: "a.md", line: 1, kind: "unreadable-page", message: "it cannot be read" }
      ])
    })
  )
  live(
    "asks again where to write when the report cannot be written, and says why",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const root = yield* temporary
      yield* write(root, faulty)
      const [nowhere, path] = [`${root}/nowhere/r.md`, `${root}/r.md`]
      const thread = audit.thread("t")
      yield* paused(thread, root, nowhere)
      const failure = yield* Effect.flip(thread.resume(WriteReport.reply(nowhere)))
      if (failure._tag !== "GraphInterrupt") return assert.fail(failure.message)
      const { path: again, problem } = failure.requests[0]!.payload
      assert.strictEqual(again, nowhere)
      assert.match(problem ?? "", /^ENOENT: no such file or directory/)
      assert.strictEqual((yield* thread.resume(WriteReport.reply(path))).written, path)
      assert.strictEqual(yield* files.readFileString(path), report)
    })
  )
  live(
    "knows which pages changed, came or went, and which link to what came or went",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const root = yield* temporary
      const names = ["changed.md", "gone.md", "links.md", "same.md"]
      yield* write(root, { ...Object.fromEntries(names.map((name) => [name, "# A\n"])), "r.md": "", "x.png": "" })
      yield* write(root, { "links.md": "![lost](x.png)\n" })
      const thread = audit.thread("t")
      yield* paused(thread, root, `${root}/r.md`)
      const values = Effect.map(thread.state(), (state) => state.values)
      assert.deepStrictEqual(yield* Effect.flatMap(values, stale), [])
      yield* thread.resume(WriteReport.reply(`${root}/s.md`))
      assert.deepStrictEqual(yield* Effect.flatMap(values, stale), [])
      yield* write(root, { "changed.md": "# B\n", "new.md": "", "unlinked.png": "" })
      yield* Effect.forEach(["gone.md", "x.png"], (name) => files.remove(`${root}/${name}`))
      assert.deepStrictEqual(yield* Effect.flatMap(values, stale), ["changed.md", "gone.md", "links.md", "new.md"])
    })
  )
  live(
    "knows symbolic links, and follows none",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const [root, outside] = [yield* temporary, yield* temporary]
      yield* write(outside, { "secret.md": "[broken](nowhere)" })
      yield* write(root, { "a.md": "[x](circle) [x](out.md) [x](out/) [x](lost)\n" })
      yield* files.symlink(root, `${root}/circle`)
      yield* files.symlink(outside, `${root}/out`)
      yield* files.symlink(`${outside}/secret.md`, `${root}/out.md`)
      yield* files.symlink(`${outside}/nothing`, `${root}/lost`)
      const thread = audit.thread("t")
      yield* paused(thread, root, "r")
      const { values } = yield* thread.state()
      assert.deepStrictEqual(values.pages, ["a.md"])
      assert.deepStrictEqual(values.summary.findings.map(({ message }) => message), [`"lost": "lost" does not exist`])
    })
  )
})
