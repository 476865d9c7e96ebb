/** The command of the main job: in real processes, and before a terminal that a test holds. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Fiber, FileSystem, Layer, Option, Queue, Schema, Terminal } from "effect"
import * as CliCommand from "effect/cli/Command"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { Channel, State, StateGraph } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { audit } from "../../../docs/examples/audit/Audit.ts"
import { command, layer } from "../../../docs/examples/audit/Cli.ts"
import * as Progress from "../../../docs/examples/audit/Progress.ts"
import { faulty, report, temporary, write } from "./Folders.ts"

const repository = fileURLToPath(new URL("../../..", import.meta.url))
const main = `${repository}docs/examples/audit/main.ts`

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

/** What becomes of a process; `seen` is called with the lines so far, at each. */
const ended = (child: ChildProcess, seen?: (lines: ReadonlyArray<string>) => void): Effect.Effect<Ended> =>
  Effect.callback((resume) => {
    const lines: Array<string> = []
    let errors = ""
    createInterface({ input: child.stdout! }).on("line", (line) => {
      lines.push(line)
      seen?.(lines)
    })
    child.stderr!.setEncoding("utf8").on("data", (text: string) => errors += text)
    child.on("close", (code, signal) => resume(Effect.succeed({ code, signal, lines, errors })))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

const isChecked = (line: string): boolean => line.startsWith("checked ")

const start = (cwd: string, args: ReadonlyArray<string>, options?: { readonly uid: number }): ChildProcess =>
  spawn(process.execPath, ["--conditions=superstep-src", main, ...args], { cwd, ...options })

/** Runs the command in a folder, to its end or until it is killed in the middle of its work. */
const run = (cwd: string, args: ReadonlyArray<string>, kill?: Kill): Effect.Effect<Ended> =>
  Effect.suspend(() => {
    const child = start(cwd, args)
    return ended(child, (lines) => {
      if (kill !== undefined && lines.filter(isChecked).length === kill.after) child.kill(kill.signal)
    })
  })

/** What a run that must succeed has said in the end. */
const said = (cwd: string, args: ReadonlyArray<string>) =>
  Effect.map(run(cwd, args), ({ code, errors, lines }) => {
    assert.deepStrictEqual([code, errors], [0, ""], args.join(" "))
    return lines.filter((line) => !isChecked(line))
  })

/** Why a run has failed. */
const failed = (cwd: string, args: ReadonlyArray<string>) =>
  Effect.map(run(cwd, args), ({ code, errors }) => {
    assert.strictEqual(code, 1, args.join(" "))
    assert.notInclude(errors, "    at ")
    return errors
  })

/** The pages that a run has named as checked or kept. */
const named = ({ lines }: Pick<Ended, "lines">, what: "checked" | "kept"): ReadonlyArray<string> =>
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
      for (
        const word of [
          "npm start -- [flags] [<folder>]",
          "--yes",
          "--no",
          "--fresh",
          "--report",
          "--database",
          "Links that lead out of the folder are counted and not checked",
          "Exit codes: 0 when the audit is finished or waits"
        ]
      ) {
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
        [["--report", "a.md/r.md"], "a.md is no folder for a report"],
        [["--report", "."], "is a folder, and no file for a report"],
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
      const written = `4 findings in 2 pages. Written to ${cwd}/report.md.`
      assert.deepStrictEqual((yield* run(cwd, [root, "--yes"])).lines, [written])
      assert.strictEqual(yield* files.readFileString(`${cwd}/report.md`), report)
      const fresh = yield* run(cwd, [root, "--fresh", "--no"])
      assert.deepStrictEqual(named(fresh, "checked"), ["a.md", "docs/b.md"])
      assert.strictEqual(fresh.lines.at(-1), "4 findings in 2 pages. No report written.")
    })
  )
})

// ---------------------------------------------------------------------------
// The report
// ---------------------------------------------------------------------------

const finished = "An earlier run has finished this audit: --yes writes its report, --fresh begins anew."

describe("the report", () => {
  live(
    "goes where the answer says, whatever was said when the audit began",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const [root, cwd] = [yield* temporary, yield* temporary]
      yield* write(root, faulty)
      yield* said(cwd, [root, "--report", "one.md"])
      assert.deepStrictEqual((yield* said(cwd, [root])).slice(0, 1), [`4 findings in 2 pages. Write ${cwd}/one.md?`])
      const answered = yield* said(cwd, [root, "--report", "two.md", "--yes"])
      assert.deepStrictEqual(answered, [`4 findings in 2 pages. Written to ${cwd}/two.md.`])
      assert.strictEqual(yield* files.readFileString(`${cwd}/two.md`), report)
      assert.deepStrictEqual(yield* list(cwd), [".superstep", "two.md"])
    })
  )
  live(
    "of a finished audit is written where it is asked for, and nothing else is said to be",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const [root, cwd] = [yield* temporary, yield* temporary]
      yield* write(root, faulty)
      const is = (outcome: string) => `4 findings in 2 pages. ${outcome}.`
      assert.deepStrictEqual(yield* said(cwd, [root, "--no"]), [is("No report written")])
      assert.deepStrictEqual(yield* said(cwd, [root]), [is("No report written"), finished])
      assert.deepStrictEqual(yield* said(cwd, [root, "--no", "--report", "x.md"]), [is("No report written"), finished])
      // To name a report is to ask for it, but no answer.
      assert.include((yield* said(cwd, [root, "--report", "one.md"]))[0], `Write ${cwd}/one.md?`)
      assert.deepStrictEqual(yield* list(cwd), [".superstep"])
      assert.deepStrictEqual(yield* said(cwd, [root, "--yes"]), [is(`Written to ${cwd}/report.md`)])
      assert.deepStrictEqual(yield* said(cwd, [root, "--no"]), [is(`Written to ${cwd}/report.md`), finished])
      assert.deepStrictEqual(yield* said(cwd, [root, "--yes", "--report", "two.md"]), [is(`Written to ${cwd}/two.md`)])
      assert.strictEqual(yield* files.readFileString(`${cwd}/two.md`), report)
      yield* files.remove(`${cwd}/two.md`)
      const gone = [is(`Written to ${cwd}/two.md, which is gone or has changed since`), finished]
      assert.deepStrictEqual(yield* said(cwd, [root]), gone)
      yield* files.writeFileString(`${cwd}/two.md`, "mine")
      assert.deepStrictEqual(yield* said(cwd, [root]), gone)
      assert.deepStrictEqual(yield* said(cwd, [root, "--yes"]), [is(`Written to ${cwd}/two.md`)])
      assert.strictEqual(yield* files.readFileString(`${cwd}/two.md`), report)
    })
  )
  live(
    "goes over no file that this audit has not written, until somebody says so",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const [one, two, cwd] = [yield* temporary, yield* temporary, yield* temporary]
      yield* write(one, faulty)
      yield* write(two, { "a.md": "# A\n" })
      yield* said(cwd, [one, "--yes"])
      const foreign = `${cwd}/report.md is there already, and not from this audit.`
      const hint = "The audit waits for the answer: run the command again with --report <another file> --yes, or --no"
      assert.include(yield* failed(cwd, [two, "--yes"]), `${foreign}\n${hint}`)
      assert.deepStrictEqual(yield* said(cwd, [two]), [`0 findings in 1 page. ${foreign}`, hint])
      assert.strictEqual(yield* files.readFileString(`${cwd}/report.md`), report)
      yield* said(cwd, [two, "--yes", "--report", "two.md"])
      // Its own report it replaces, also when it begins anew.
      const again = [`4 findings in 2 pages. Written to ${cwd}/report.md.`]
      assert.deepStrictEqual(yield* said(cwd, [one, "--fresh", "--yes"]), again)
      assert.deepStrictEqual(yield* said(cwd, [one, "--fresh", "--yes"]), again)
      const answers = [two, "--database", `${cwd}/work.sqlite`, "--report", `${cwd}/report.md`]
      assert.include(yield* typed(answers, ["y"]), `${foreign} Overwrite it?`)
      assert.notStrictEqual(yield* files.readFileString(`${cwd}/report.md`), report)
    })
  )
  live(
    "that cannot be written in the end costs nothing: another answer goes on",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const [root, cwd] = [yield* temporary, yield* temporary]
      yield* write(root, faulty)
      yield* files.makeDirectory(`${cwd}/later`)
      yield* said(cwd, [root, "--report", "later/r.md"])
      yield* files.remove(`${cwd}/later`, { recursive: true })
      const problem = `${cwd}/later/r.md could not be written: ENOENT: no such file or directory`
      const errors = yield* failed(cwd, [root, "--yes"])
      assert.include(errors, problem)
      assert.include(errors, "run the command again with --yes, --report <another file> or --no")
      assert.include((yield* said(cwd, [root]))[0], problem)
      const other = yield* run(cwd, [root, "--yes", "--report", "other.md"])
      assert.deepStrictEqual(other.lines, [`4 findings in 2 pages. Written to ${cwd}/other.md.`])
      assert.strictEqual(yield* files.readFileString(`${cwd}/other.md`), report)
      assert.deepStrictEqual(yield* said(cwd, [root]), [...other.lines, finished])
    })
  )
  live(
    "where nothing may be written is refused beforehand",
    Effect.gen(function*() {
      const cwd = yield* temporary
      yield* write(cwd, { "locked/r.md": "", "r.md": "" })
      chmodSync(`${cwd}/locked`, 0o555)
      chmodSync(`${cwd}/r.md`, 0o444)
      // No permission stops root: there the command runs as nobody, to whom the folder belongs.
      const isRoot = process.getuid?.() === 0
      if (isRoot) chownSync(cwd, 65534, 65534)
      for (const [name, what] of [["locked/other.md", "locked"], ["r.md", "r.md"]] as const) {
        const { code, errors } = yield* ended(start(cwd, ["--report", name], isRoot ? { uid: 65534 } : undefined))
        assert.strictEqual(code, 1)
        assert.include(errors, `${cwd}/${what} may not be written to.`)
      }
      assert.deepStrictEqual(yield* list(cwd), ["locked", "r.md"])
    })
  )
})

// ---------------------------------------------------------------------------
// The pages
// ---------------------------------------------------------------------------

describe("the pages", () => {
  live(
    "are audited whatever characters their names have, and reported if their names are no text",
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const [root, cwd] = [yield* temporary, yield* temporary]
      yield* write(root, { "new\nline.md": "[x](gone.md)\n", "\uFFFD.md": "# Fine\n" })
      // Other systems make no such names.
      const isLinux = process.platform === "linux"
      const bytes = (name: string) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")])
      if (isLinux) {
        for (const name of ["\xff.md", "\xfe.png"]) writeFileSync(bytes(name), "[x](gone.md)\n")
        mkdirSync(bytes("d\xe9"))
      }
      const { code, lines } = yield* run(cwd, [root, "--yes"])
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(named({ lines }, "checked"), ["new\\u{a}line.md", "\uFFFD.md"])
      const text = yield* files.readFileString(`${cwd}/report.md`)
      const headings = text.split("\n").filter((line) => line.startsWith("## "))
      assert.deepStrictEqual(headings, [
        ...(isLinux ? ["## `\\xff.md`", "## `d\\xe9`"] : []),
        "## `new\\u{a}line.md`"
      ])
      const count = text.split("its name is not UTF-8").length - 1
      assert.strictEqual(count, isLinux ? 2 : 0)
    })
  )
  live(
    "that changed since they were checked are named, at the question and when the audit is finished",
    Effect.gen(function*() {
      const [root, cwd] = [yield* temporary, yield* temporary]
      yield* write(root, faulty)
      yield* said(cwd, [root])
      yield* write(root, { "a.md": "# A\n" })
      const hint = (what: string) => `No longer as it was when it was checked: ${what}. --fresh begins anew.`
      assert.strictEqual((yield* said(cwd, [root]))[0], hint("a.md"))
      assert.strictEqual((yield* said(cwd, [root, "--yes"]))[0], hint("a.md"))
      yield* write(root, { "new.md": "# B\n" })
      assert.strictEqual((yield* said(cwd, [root]))[0], hint("a.md and 1 other"))
      const fresh = yield* said(cwd, [root, "--fresh", "--no"])
      assert.deepStrictEqual(fresh, ["2 findings in 3 pages. No report written."])
    })
  )
  live(
    "and all other paths are looked for where npm was called",
    Effect.gen(function*() {
      const [cwd, root] = [yield* temporary, "pages"]
      yield* write(`${cwd}/${root}`, faulty)
      const args = ["--prefix", repository, "start", "--silent", "--", root, "--report", "r.md", "--yes"]
      const { code, errors, lines } = yield* ended(spawn("npm", args, { cwd }))
      assert.deepStrictEqual([code, errors], [0, ""])
      assert.strictEqual(lines.at(-1), `4 findings in 2 pages. Written to ${cwd}/r.md.`)
      assert.deepStrictEqual(yield* list(cwd), [".superstep", root, "r.md"])
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
// Not alone
// ---------------------------------------------------------------------------

/** Whether a transaction holds the database. */
const isLocked = (filename: string): boolean => {
  const database = new DatabaseSync(filename)
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK")
    return false
  } catch {
    return true
  } finally {
    database.close()
  }
}

/** Stops a process where it holds no lock. */
const freeze = Effect.fnUntraced(function*(child: ChildProcess, filename: string) {
  child.kill("SIGSTOP")
  while (isLocked(filename)) {
    child.kill("SIGCONT")
    yield* Effect.sleep(1)
    child.kill("SIGSTOP")
  }
})

describe("two commands for one folder", () => {
  live(
    "both work, one ends the audit, and the other says that it came second",
    Effect.gen(function*() {
      const [root, cwd] = [yield* temporary, yield* temporary]
      const all = Array.from({ length: pageCount }, (_, n) => `page-${n}.md`)
      yield* write(root, Object.fromEntries(all.map((name, n) => [name, page(n)])))
      const child = start(cwd, [root, "--yes"])
      const isUnderWay = Promise.withResolvers<void>()
      const first = yield* Effect.forkChild(ended(child, (lines) => {
        if (lines.filter(isChecked).length === 40) isUnderWay.resolve()
      }))
      yield* Effect.promise(() => isUnderWay.promise)
      yield* freeze(child, `${cwd}/.superstep/audit.sqlite`)
      const second = yield* run(cwd, [root, "--yes"])
      assert.deepStrictEqual([second.code, second.errors], [0, ""])
      assert.strictEqual(second.lines.at(-1), `300 findings in 300 pages. Written to ${cwd}/report.md.`)
      child.kill("SIGCONT")
      const { code, errors } = yield* Fiber.join(first)
      assert.strictEqual(code, 2)
      assert.include(errors, "Another audit of this folder is running, and came first. Nothing is lost")
      assert.notInclude(errors, "branch")
    })
  )
  live(
    "may use one name for their work if they are told apart otherwise",
    Effect.gen(function*() {
      const [one, two, cwd] = [yield* temporary, yield* temporary, yield* temporary]
      yield* said(cwd, [one, "--thread", "work", "--no"])
      assert.include(yield* failed(cwd, [two, "--thread", "work"]), `This thread is the audit of ${one}.`)
    })
  )
  live(
    "written by different versions of the audit do not mix",
    Effect.gen(function*() {
      const cwd = yield* temporary
      class Older extends State.make({ root: Schema.String, sites: Channel.append(Schema.String) }) {}
      const older = StateGraph.make("markdown-audit", StateGraph.nodes(Older, { find: () => ({ sites: ["x"] }) }), {
        start: "find"
      })
      const args = [".", "--database", "work.sqlite", "--thread", "work"]
      yield* older.thread("work").start({ root: cwd }).pipe(
        Effect.provide(SqlCheckpointer.layerSqlite({ filename: `${cwd}/work.sqlite` }))
      )
      assert.include(yield* failed(cwd, args), "Another version of this audit may have stored it: --fresh begins anew")
      assert.deepStrictEqual(yield* said(cwd, [...args, "--fresh", "--no"]), [
        "0 findings in 0 pages. No report written."
      ])
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
