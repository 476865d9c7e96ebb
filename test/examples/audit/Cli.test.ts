/** The command of the main job: in real processes, and before a terminal that a test holds. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, FileSystem, Layer, Option, Queue, Terminal } from "effect"
import * as CliCommand from "effect/cli/Command"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { audit } from "../../../docs/examples/audit/Audit.ts"
import { command, layer } from "../../../docs/examples/audit/Cli.ts"
import * as Progress from "../../../docs/examples/audit/Progress.ts"
import { faulty, report, temporary, write } from "./Folders.ts"

const main = fileURLToPath(new URL("../../../docs/examples/audit/main.ts", import.meta.url))

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly lines: ReadonlyArray<string>
  readonly errors: string
}

interface Kill {
  readonly signal: NodeJS.Signals
  /** Pages that it has checked by then. */
  readonly after: number
}

/** Runs the command in a folder, to its end or until it is killed in the middle of its work. */
const run = (cwd: string, args: ReadonlyArray<string>, kill?: Kill): Effect.Effect<Ended> =>
  Effect.callback((resume) => {
    const child = spawn(process.execPath, ["--conditions=superstep-src", main, ...args], { cwd })
    const lines: Array<string> = []
    let errors = ""
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line)
      const checked = lines.filter((one) => one.startsWith("checked ")).length
      if (kill !== undefined && checked === kill.after) child.kill(kill.signal)
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text)
    child.on("close", (code, signal) => resume(Effect.succeed({ code, signal, lines, errors })))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

/** The pages that a run has named as checked or kept. */
const named = ({ lines }: Ended, what: "checked" | "kept"): ReadonlyArray<string> =>
  lines.flatMap((line) => new RegExp(`^${what} (.*\\.md)`).exec(line)?.[1] ?? []).toSorted()

const live = <E>(name: string, test: Effect.Effect<void, E, Layer.Success<typeof NodeServices.layer> | Scoped>) =>
  it.live(name, () => test.pipe(Effect.scoped, Effect.provide(NodeServices.layer)), 120_000)

type Scoped = Effect.Services<ReturnType<FileSystem.FileSystem["makeTempDirectoryScoped"]>>

const list = Effect.fnUntraced(function*(folder: string) {
  const files = yield* FileSystem.FileSystem
  return (yield* files.readDirectory(folder)).toSorted()
})

describe("the command", () => {
  live(
    "explains itself",
    Effect.gen(function*() {
      const cwd = yield* temporary
      const { code, errors, lines } = yield* run(cwd, ["--help"])
      assert.deepStrictEqual([code, errors], [0, ""])
      for (const word of ["npm start -- [flags] [<folder>]", "--yes", "--no", "--fresh", "--report", "--database"]) {
        assert.include(lines.join("\n"), word)
      }
      assert.deepStrictEqual(yield* list(cwd), [])
    })
  )
  live(
    "refuses what it cannot do with one message, and changes nothing",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const cwd = yield* temporary
      yield* write(cwd, { "no.sqlite": "not a database", "a.md": "" })
      const refusals: ReadonlyArray<[ReadonlyArray<string>, string]> = [
        [["nowhere"], "nowhere is no folder that can be read"],
        [["a.md"], "a.md is no folder that can be read"],
        [["--yes", "--no"], "--yes and --no exclude each other"],
        [["--sideways"], "Unrecognized flag: --sideways"],
        [[".", "two"], "Unexpected positional argument: \"two\""],
        [["--report", "nowhere/r.md"], "nowhere is no folder for a report"],
        [["--database", "no.sqlite"], "it is not a SQLite database"],
        [["--database", "."], "it is a directory"],
        [["--database", "nowhere/x.sqlite"], "unable to open database file"]
      ]
      yield* Effect.forEach(refusals, ([args, message]) =>
        Effect.map(run(cwd, args), ({ code, errors, lines }) => {
          assert.deepStrictEqual([code, lines], [1, []], args.join(" "))
          assert.include(errors, message)
          assert.notInclude(errors, "    at ")
        }), { concurrency: 3 })
      assert.deepStrictEqual(yield* list(cwd), ["a.md", "no.sqlite"])
      assert.strictEqual(yield* files.readFileString(`${cwd}/no.sqlite`), "not a database")
    })
  )
  live(
    "without a terminal and an answer says what it waits for, keeps it, and takes the answer later",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const [root, cwd] = [yield* temporary, yield* temporary]
      yield* write(root, faulty)
      const asked = yield* run(cwd, [root])
      assert.deepStrictEqual([asked.code, asked.errors], [0, ""])
      assert.deepStrictEqual(named(asked, "checked"), ["a.md", "docs/b.md"])
      const question = [
        `4 findings in 2 pages. Write ${cwd}/report.md?`,
        "The audit waits for the answer: run the command again with --yes or --no"
      ]
      assert.deepStrictEqual(asked.lines.slice(-2), question)
      assert.deepStrictEqual((yield* run(cwd, [root])).lines, question)
      assert.deepStrictEqual(yield* list(cwd), [".superstep"])
      const other = yield* run(cwd, [root, "--report", "other.md", "--yes"])
      assert.strictEqual(other.code, 1)
      assert.include(other.errors, `This audit was begun to write ${cwd}/report.md`)
      const written = `4 findings in 2 pages. Written to ${cwd}/report.md.`
      assert.deepStrictEqual((yield* run(cwd, [root, "--yes"])).lines, [written])
      assert.strictEqual(yield* files.readFileString(`${cwd}/report.md`), report)
      const again = [written, "That was an earlier run; --fresh begins anew."]
      assert.deepStrictEqual((yield* run(cwd, [root])).lines, again)
      const fresh = yield* run(cwd, [root, "--fresh", "--no"])
      assert.deepStrictEqual(named(fresh, "checked"), ["a.md", "docs/b.md"])
      assert.strictEqual(fresh.lines.at(-1), "4 findings in 2 pages. No report written.")
    })
  )
})

// ---------------------------------------------------------------------------
// Killed
// ---------------------------------------------------------------------------

const pageCount = 300

/** Long enough to be killed in the middle. */
const page = (n: number): string =>
  `# Page ${n}\n\n[next](page-${n + 1}.md#nothing)\n\n` + `\`\`\`ts\nconst n = ${n}\n\`\`\`\n\n`.repeat(60)

/** What the database holds of pages that were checked. */
const acknowledged = (filename: string) =>
  audit.thread("work").state().pipe(
    Effect.map(({ values }) => values.facts.map(({ file }) => file).toSorted()),
    Effect.provide(SqlCheckpointer.layerSqlite({ filename }))
  )

describe("a killed command", () => {
  live(
    "goes on where it was, checks no acknowledged page again, and ends like an undisturbed one",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const [root, calm, killed] = [yield* temporary, yield* temporary, yield* temporary]
      const all = Array.from({ length: pageCount }, (_, n) => `page-${n}.md`)
      yield* write(root, Object.fromEntries(all.map((name, n) => [name, page(n)])))
      const args = [root, "--thread", "work", "--yes"]
      const undisturbed = yield* run(calm, args)
      assert.deepStrictEqual(named(undisturbed, "checked"), all.toSorted())

      let kept: ReadonlyArray<string> = []
      const kills: ReadonlyArray<Kill> = [{ signal: "SIGKILL", after: 40 }, { signal: "SIGINT", after: 40 }]
      for (const kill of kills) {
        const ended = yield* run(killed, args, kill)
        assert.isTrue(ended.signal === "SIGKILL" || ended.code === 130, `${ended.code} ${ended.signal}`)
        assert.deepStrictEqual(named(ended, "kept"), kept)
        assert.isEmpty(named(ended, "checked").filter((file) => kept.includes(file)))
        const before = kept.length
        kept = yield* acknowledged(`${killed}/.superstep/audit.sqlite`)
        assert.isAbove(kept.length, before)
        assert.isBelow(kept.length, pageCount)
        assert.isFalse(yield* files.exists(`${killed}/report.md`))
        // A page that is checked again would now give another finding.
        for (const file of kept) yield* files.writeFileString(`${root}/${file}`, "# Changed\n\n### Jumps\n")
      }

      const last = yield* run(killed, args)
      assert.deepStrictEqual([last.code, last.errors], [0, ""])
      assert.deepStrictEqual(named(last, "kept"), kept)
      assert.deepStrictEqual(named(last, "checked"), all.filter((file) => !kept.includes(file)).toSorted())
      assert.strictEqual(
        yield* files.readFileString(`${killed}/report.md`),
        yield* files.readFileString(`${calm}/report.md`)
      )
    })
  )
})

// ---------------------------------------------------------------------------
// On a terminal
// ---------------------------------------------------------------------------

/** A terminal before which somebody presses keys; `shown` is all that was shown. */
const terminal = (keys: ReadonlyArray<string>, shown: Array<string>) =>
  Layer.merge(
    Layer.succeed(TerminalCapabilities.TerminalCapabilities, { canColor: false, canAnimate: true, canPrompt: true }),
    Layer.succeed(
      Terminal.Terminal,
      Terminal.make({
        columns: Effect.succeed(80),
        rows: Effect.succeed(24),
        size: Effect.never,
        readLine: Effect.never,
        readInput: Effect.flatMap(Queue.unbounded<Terminal.UserInput>(), (queue) =>
          Effect.as(
            Queue.offerAll(
              queue,
              keys.map((name) => ({ input: Option.some(name), key: { name, ctrl: false, meta: false, shift: false } }))
            ),
            queue
          )),
        display: (text) => Effect.sync(() => void shown.push(text))
      })
    )
  )

const typed = (args: ReadonlyArray<string>, keys: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const shown: Array<string> = []
    yield* CliCommand.runWith(command, { version: "0" })(args).pipe(
      Effect.provide(Layer.provideMerge(Layer.merge(layer, terminal(keys, shown)), NodeServices.layer)),
      Effect.provideService(Console.Console, { ...console, log: (line: string) => void shown.push(`${line}\n`) })
    )
    return shown.join("")
  })

describe("on a terminal", () => {
  live(
    "shows a bar, asks, and does what it is told",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const root = yield* temporary
      yield* write(root, faulty)
      const args = [root, "--database", `${root}/work.sqlite`, "--report", `${root}/report.md`]
      const refused = yield* typed(args, ["n"])
      assert.include(refused, "\r\u001b[2K[##############################] 2/2 pages\n")
      assert.include(refused, `4 findings in 2 pages. Write ${root}/report.md?`)
      assert.include(refused, "No report written.")
      assert.isFalse(yield* files.exists(`${root}/report.md`))
      assert.include(yield* typed([...args, "--fresh"], ["y"]), `Written to ${root}/report.md.`)
      assert.strictEqual(yield* files.readFileString(`${root}/report.md`), report)
    })
  )
  it("draws what is done, what is due, and what was done before", () => {
    assert.strictEqual(
      Progress.bar({ due: 3, checked: 1, kept: 2 }),
      "[##################------------] 3/5 pages, 2 kept"
    )
    assert.strictEqual(Progress.bar({ due: 0, checked: 0, kept: 0 }), `[${"-".repeat(30)}] 0/0 pages`)
  })
})
