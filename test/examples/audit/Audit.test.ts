/** The graph of the main job on real files. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as Checkpointer from "superstep/Checkpointer"
import { audit, WriteReport } from "../../../docs/examples/audit/Audit.ts"
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
      const question = [{ path, pages: 2, findings: 4 }]
      assert.deepStrictEqual(yield* paused(thread, root, path), question)
      // Asked again, it asks the same, and has written nothing.
      assert.deepStrictEqual(yield* paused(thread, root, path), question)
      assert.isFalse(yield* files.exists(path))
      const done = yield* thread.resume(WriteReport.reply(true))
      assert.strictEqual(yield* files.readFileString(path), report)
      assert.deepStrictEqual([done.report, done.written], [path, true])
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
      const { summary, written } = yield* thread.resume(WriteReport.reply(false))
      assert.deepStrictEqual([summary.pages, written], [2, false])
      assert.strictEqual(yield* files.readFileString(`${root}/report.md`), "[broken](nowhere)")
    })
  )
  live(
    "asks about a folder without pages too",
    Effect.gen(function*() {
      const root = yield* temporary
      assert.deepStrictEqual(yield* paused(audit.thread("t"), root, "r"), [{ path: "r", pages: 0, findings: 0 }])
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
      assert.deepStrictEqual(yield* paused(thread, root, "r"), [{ path: "r", pages: 2, findings: 1 }])
      const { values } = yield* thread.state()
      assert.deepStrictEqual(values.summary.findings, [
        { file: "a.md", line: 1, kind: "unreadable-page", message: "it cannot be read" }
      ])
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
