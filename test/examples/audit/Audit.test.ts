/** The main job on real files, in real processes. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Checkpointer from "superstep/Checkpointer"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { audit, WriteReport } from "../../../docs/examples/audit/Audit.ts"

const main = fileURLToPath(new URL("../../../docs/examples/audit/main.ts", import.meta.url))
const command = ["--conditions=superstep-src", main]

/** Runs the command to its end. */
const run = (...flags: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [...command, ...flags], { encoding: "utf8" })
  return { status, stdout, stderr }
}

const temporary = Effect.flatMap(FileSystem.FileSystem, (files) => files.makeTempDirectoryScoped({ prefix: "audit-" }))

const write = (folder: string, pages: Readonly<Record<string, string>>) =>
  Effect.flatMap(FileSystem.FileSystem, (files) =>
    Effect.forEach(Object.entries(pages), ([name, text]) => files.writeFileString(`${folder}/${name}`, text), { discard: true }))

const faulty = {
  "a.md": "# A\n\n### Jumps\n\n[b](b.md#missing) [gone](gone.md)\n",
  "b.md": "# B\n\n```json\n{\"a\": }\n```\n",
  "c.md": "# C\n\n[fine](a.md#jumps)\n"
}

it.live("finds the faults of a folder, asks, and writes the report that it was told to write", () =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const folder = yield* temporary
    yield* write(folder, faulty)
    const report = `${folder}/report.txt`
    const thread = audit.thread("t")
    const paused = yield* Effect.flip(thread.start({ root: folder, report }))
    if (paused._tag !== "GraphInterrupt") return assert.fail(`ended with ${paused._tag}`)
    assert.deepStrictEqual(paused.requests.map(({ payload }) => payload), [{ report, pages: 3, findings: 4 }])
    assert.isFalse(yield* files.exists(report))
    const done = yield* thread.resume(WriteReport.reply(true))
    assert.deepStrictEqual(done.summary?.findings.map(({ file, kind, line }) => [file, line, kind]), [
      ["a.md", 3, "heading-jump"],
      ["a.md", 5, "broken-anchor"],
      ["a.md", 5, "broken-link"],
      ["b.md", 4, "code-fence"]
    ])
    assert.include(yield* files.readFileString(report), "3 pages, 4 headings, 3 links, 1 code fence: 4 findings.")
    // Started again, a finished thread gives its result.
    assert.deepStrictEqual(yield* thread.start({ root: folder, report }), done)
  }).pipe(Effect.scoped, Effect.provide(Checkpointer.layerMemory), Effect.provide(NodeServices.layer)), 30_000)

it.live("a page that vanishes between finding and reading it is a finding", () =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const folder = yield* temporary
    yield* write(folder, { "a.md": "# A\n" })
    yield* files.symlink(`${folder}/a.md`, `${folder}/b.md`)
    const thread = audit.thread("t")
    const input = { root: folder, report: `${folder}/r` }
    // The breakpoint stands where the page vanishes.
    const stopped = yield* Effect.flip(thread.invoke(input, { before: ["check"] }))
    assert.strictEqual(stopped._tag, "GraphBreakpoint")
    yield* files.remove(`${folder}/b.md`)
    yield* Effect.flip(thread.continue())
    const { values } = yield* thread.state()
    assert.deepStrictEqual(values.summary?.findings.map(({ file, kind }) => [file, kind]), [["b.md", "unreadable-page"]])
  }).pipe(Effect.scoped, Effect.provide(Checkpointer.layerMemory), Effect.provide(NodeServices.layer)), 30_000)

it.live("the command explains itself, and refuses what it cannot do in one line", () =>
  Effect.gen(function*() {
    const folder = yield* temporary
    yield* write(folder, faulty)
    const help = run("--help")
    assert.strictEqual(help.status, 0)
    assert.include(help.stdout, "--fresh")
    const database = `${folder}/work.sqlite`
    for (
      const [flags, message] of [
        [[`${folder}/nowhere`], "is no folder"],
        [[folder, "--yes", "--no", "--database", database], "--yes and --no exclude each other"],
        [[folder, "--database", `${folder}/a.md`], "a.md"],
        [[folder, "--sideways"], "sideways"]
      ] as const
    ) {
      const refused = run(...flags)
      assert.strictEqual(refused.status, 1, message)
      assert.include(refused.stderr, message)
    }
    const files = yield* FileSystem.FileSystem
    assert.strictEqual(yield* files.readFileString(`${folder}/a.md`), faulty["a.md"])
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)), 60_000)

it.live("without a terminal and without an answer the command says what it waits for, and keeps it", () =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const folder = yield* temporary
    yield* write(folder, faulty)
    const flags = [folder, "--database", `${folder}/work.sqlite`, "--report", `${folder}/report.txt`]
    const asked = run(...flags)
    assert.strictEqual(asked.status, 0)
    assert.include(asked.stdout, "run it again with --yes or --no")
    assert.isFalse(yield* files.exists(`${folder}/report.txt`))
    const answered = run(...flags, "--yes")
    assert.strictEqual(answered.status, 0, answered.stderr)
    assert.isTrue(yield* files.exists(`${folder}/report.txt`))
    // The work is done: nothing is checked again, unless one asks for it.
    assert.notInclude(run(...flags).stdout, "checked")
    assert.include(run(...flags, "--fresh", "--no").stdout, "checked 3 of 3 pages")
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)), 60_000)

const many = 300

/** The command, killed when it has shown that it is half through. */
const killedHalfway = (flags: ReadonlyArray<string>) =>
  Effect.callback<void>((resume) => {
    const child = spawn(process.execPath, [...command, ...flags])
    child.stdout.on("data", (text: Buffer) => {
      const done = /checked (\d+) of/.exec(text.toString("utf8"))
      if (done !== null && Number(done[1]) > many / 3) child.kill("SIGKILL")
    })
    child.on("exit", () => resume(Effect.void))
  })

it.live("killed halfway and started again, it goes on where it was, and ends like an undisturbed run", () =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const [folder, place] = [yield* temporary, yield* temporary]
    const page = (n: number) => `# Page ${n}\n\n[next](page-${n + 1}.md#nothing)\n\n\`\`\`ts\nconst n = ${n}\n\`\`\`\n`
    yield* write(folder, Object.fromEntries(Array.from({ length: many }, (_, n) => [`page-${n}.md`, page(n)])))
    const flags = (name: string) => [folder, "--database", `${place}/${name}.sqlite`, "--report", `${place}/${name}.md`]
    assert.strictEqual(run(...flags("calm"), "--yes").status, 0)
    yield* killedHalfway([...flags("killed"), "--yes"])
    assert.isFalse(yield* files.exists(`${place}/killed.md`))
    // What is stored now must not be checked again.
    const kept = yield* Effect.provide(
      Effect.map(audit.thread(folder).state(), ({ tasks }) => tasks.filter(({ result }) => result !== undefined).length),
      SqlCheckpointer.layerSqlite({ filename: `${place}/killed.sqlite` })
    )
    assert.isAbove(kept, 0)
    const again = run(...flags("killed"), "--yes")
    assert.strictEqual(again.status, 0, again.stderr)
    assert.include(again.stdout, `checked ${many} of ${many} pages (${kept} before)`)
    assert.strictEqual(
      yield* files.readFileString(`${place}/killed.md`),
      yield* files.readFileString(`${place}/calm.md`)
    )
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)), 120_000)
