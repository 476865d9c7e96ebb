/** The commands, as processes of the program that was built. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Option, type Scope, Stream } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Writable } from "node:stream"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Checkpointer, Journal } from "superstep"
import { inject } from "vitest"
import { layerClient } from "../Postgres.ts"
import { allPeers, folderIn, makeProject, type Options, type Project, run } from "./Commands.ts"
import { timed } from "./graphs.ts"

let project: Project

beforeAll(() => {
  project = makeProject(allPeers)
}, 120_000)

afterAll(() => project?.remove())

type Document = Readonly<Record<string, unknown>>

/** What the tests of one folder use. */
interface Here {
  readonly cwd: string
  readonly run: (args: ReadonlyArray<string>, options?: Options) => ReturnType<typeof run>
  /** The documents of a command that must end with a code. */
  readonly documents: (
    code: number,
    args: ReadonlyArray<string>,
    options?: Options
  ) => Effect.Effect<ReadonlyArray<Document>>
  /** The only line on stderr of a command that says nothing else. */
  readonly refused: (code: number, args: ReadonlyArray<string>, options?: Options) => Effect.Effect<string>
}

const live = (name: string, test: (here: Here) => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(name, () =>
    Effect.scoped(Effect.gen(function*() {
      const cwd = yield* folderIn(project)
      const here = (args: ReadonlyArray<string>, options?: Options) => run(project, cwd, args, options)
      yield* test({
        cwd,
        run: here,
        documents: (expected, args, options) =>
          Effect.map(here([...args, "--json"], options), ({ code, errors, out }) => {
            assert.strictEqual(code, expected, `${args.join(" ")}: ${errors}`)
            return out.trimEnd().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Document)
          }),
        refused: (expected, args, options) =>
          Effect.map(here(args, options), ({ code, errors, out }) => {
            assert.deepStrictEqual([code, out], [expected, ""], `${args.join(" ")}: ${errors}`)
            assert.match(errors, /^superstep: [^\n]*\n$/)
            // oxlint-disable-next-line no-control-regex
            assert.notMatch(errors, /[\u0000-\u0009\u000b-\u001f]|    at /)
            return errors.slice("superstep: ".length, -1)
          })
      })
    })), 180_000)

const input = ["--input", `{"total":10}`, "--quiet"]
const onThread = (graph: string, id: string): ReadonlyArray<string> => [`graphs.ts#${graph}`, "--thread", id]

/** The ids of a thread's checkpoints, newest first. */
const ids = (here: Here, graph: string, id: string) =>
  Effect.map(
    here.documents(0, ["history", ...onThread(graph, id)]),
    (list) => list.map(({ checkpoint }) => String(checkpoint))
  )

describe("superstep", () => {
  live("explains itself, and its shell completions", (here) =>
    Effect.gen(function*() {
      const help = yield* here.run(["--help"])
      assert.deepStrictEqual([help.code, help.errors], [0, ""])
      for (const name of ["run", "resume", "state", "history", "diff", "fork", "update", "draw", "inspect"]) {
        assert.include(help.out, `\n  ${name} `)
      }
      assert.include(help.out, "Exit codes: 0 done, 1 the run failed")
      assert.include((yield* here.run(["run", "--help"])).out, "--answer")
      assert.strictEqual((yield* here.run(["--version"])).out, "superstep v0.1.0\n")
      assert.include((yield* here.run(["--completions", "bash"])).out, "superstep-completions")
      assert.deepStrictEqual(readdirSync(here.cwd), ["graphs.ts"])
    }))
  live("refuses what it cannot do in one line, and makes nothing", (here) =>
    Effect.gen(function*() {
      writeFileSync(join(here.cwd, "broken.ts"), "export const demo = (\n")
      writeFileSync(join(here.cwd, "bad.ts"), "throw new Error('not\\ntoday')\n")
      writeFileSync(join(here.cwd, "enum.ts"), "export enum Bad { A }\n")
      writeFileSync(join(here.cwd, "lost.ts"), "import 'no-such-package'\n")
      writeFileSync(join(here.cwd, "page.tsx"), "")
      mkdirSync(join(here.cwd, "folder.ts"))
      const files = readdirSync(here.cwd)
      const refusals: ReadonlyArray<[ReadonlyArray<string>, string]> = [
        [["sideways"], "Unknown subcommand \"sideways\""],
        [["run", "graphs.ts#demo"], "Missing required flag: --input"],
        [["run", "graphs.ts#demo", "--sideways"], "Unrecognized flag: --sideways"],
        [["run", ...input], "Missing required argument: graph"],
        [["run", "graphs.ts#demo", "more", ...input], "Unexpected positional argument: \"more\""],
        [["run", "graphs.ts#demo", ...input, "--recursion-limit", "0"], "--recursion-limit"],
        [["run", "graphs.ts#demo", ...input, "--durability", "never"], "--durability"],
        [["run", "graphs.ts#demo", ...input, "--stream", "values,some"], "\"some\" is none of values, updates"],
        [["run", "graphs.ts#demo", ...input, "--metadata", "[1]"], "--metadata is no JSON object"],
        [["run", "graphs.ts#demo", ...input, "--answer", "yes"], "--answer is no JSON"],
        [["run", "graphs.ts#demo", ...input, "--key", "k"], "give --thread"],
        [["run", "graphs.ts#demo", "--input", "{"], "--input is no JSON"],
        [["run", "graphs.ts#demo", "--input", "@none.json"], "cannot read none.json"],
        [["run", "graphs.ts#demo", "--input", `{"total":"x"}`], "--input: at \"total\""],
        [["run", "graphs.ts#demo", "--input", "[1]", "--quiet"], "--input: Expected an object"],
        [["run", "graphs.ts#demo", "--input", `{"total":1,"tolal":1}`, "--quiet"], "tolal"],
        [["run", "graphs.ts#demo", "--input", "{}", "--quiet"], "the input lacks \"total\""],
        [["run", "none.ts#demo", ...input], "there is no file"],
        [["run", "none\n\u001B[2J.ts", ...input], "none \\u{1b}[2J.ts"],
        [["run", "folder.ts#demo", ...input], "is no file"],
        [["run", "page.tsx#demo", ...input], "and no JSX: compile it first"],
        [["run", "graphs.ts#none", ...input], "has no export \"none\"; it exports the graphs"],
        [["run", "graphs.ts#toString", ...input], "has no export \"toString\""],
        [["run", "graphs.ts", ...input], "name an export"],
        [["run", "graphs.ts#nothing", ...input], "is no graph, machine or entrypoint"],
        [["run", "graphs.ts#thrown", ...input], "throws: no graph today"],
        [["run", "broken.ts#demo", ...input], "cannot load"],
        [["run", "bad.ts#demo", ...input], "not today"],
        [["run", "enum.ts#demo", ...input], "enum"],
        [["run", "lost.ts#demo", ...input], "no-such-package"],
        [["run", "graphs.ts#serving", ...input, "--layer", "none"], "exports no layer \"none\""],
        [["run", "graphs.ts#serving", ...input, "--layer", "broken"], "the layer \"broken\" fails: no words today"],
        [["prune", ...onThread("demo", "t")], "say what to keep"]
      ]
      yield* Effect.forEach(refusals, ([args, message]) =>
        Effect.map(here.refused(2, args), (line) => assert.include(line, message, args.join(" "))), { concurrency: 2 })
      assert.deepStrictEqual(readdirSync(here.cwd), files)
    }))
  live("says which package it lacks", () =>
    Effect.gen(function*() {
      const [bare, withoutPg] = [makeProject(["effect"], project), makeProject(allPeers.slice(0, 2), project)]
      yield* Effect.addFinalizer(() => Effect.sync(() => [bare, withoutPg].forEach(({ remove }) => remove())))
      const first = yield* run(bare, bare.path, ["--help"])
      assert.deepStrictEqual([first.code, first.out], [2, ""])
      assert.strictEqual(
        first.errors,
        "superstep: the command needs the package @effect/platform-node: npm install @effect/platform-node\n"
      )
      const second = yield* run(withoutPg, withoutPg.path, ["threads", "--db", "postgres://u:secret@127.0.0.1:1/x"])
      assert.deepStrictEqual([second.code, second.out], [4, ""])
      assert.strictEqual(
        second.errors,
        "superstep: a database of Postgres needs the package @effect/sql-pg: npm install @effect/sql-pg\n"
      )
      const third = yield* run(withoutPg, withoutPg.path, ["draw", "graphs.ts#demo", "--format", "svg"])
      assert.deepStrictEqual([third.code, third.out], [2, ""])
      assert.strictEqual(
        third.errors,
        "superstep: a picture as SVG needs the package @viz-js/viz: npm install @viz-js/viz\n"
      )
      // A graph that uses another copy of the library is none that this one can run.
      const foreign = yield* run(project, project.path, ["inspect", `${bare.path}/graphs.ts#demo`])
      assert.strictEqual(foreign.code, 2)
      assert.match(foreign.errors, /^superstep: .* imports the superstep of .*\n$/)
    }))
})

describe("run", () => {
  live("shows the result, keeps the thread, and says on stderr how far it is", (here) =>
    Effect.gen(function*() {
      const { code, errors, out } = yield* here.run(["run", ...onThread("demo", "t"), "--input", `{"total":10}`])
      assert.deepStrictEqual([code, JSON.parse(out)], [0, { total: 21, visited: ["double", "increment"] }])
      assert.match(errors, /^step 1: double\nstep 1: double done \(.* s\)\nstep 2: increment\n/)
      const again = yield* here.documents(0, ["run", ...onThread("demo", "t"), "--input", "{}", "--quiet"])
      assert.deepStrictEqual(again, [
        { type: "result", thread: "t", output: { total: 43, visited: ["double", "increment", "double", "increment"] } }
      ])
      const bare = yield* here.documents(0, ["run", "graphs.ts#demo", ...input])
      assert.deepStrictEqual(bare.map(({ thread }) => thread), [null])
      assert.strictEqual((yield* here.documents(0, ["threads"])).length, 1)
    }))
  live("runs whatever gives a graph, and provides its services", (here) =>
    Effect.gen(function*() {
      const output = (graph: string, value: string, ...more: ReadonlyArray<string>) =>
        Effect.map(
          here.documents(0, ["run", `graphs.ts#${graph}`, "--input", value, ...more]),
          (documents) => documents.at(-1)!["output"]
        )
      assert.deepStrictEqual(yield* output("made", `{"total":1}`), { total: 3, visited: ["double", "increment"] })
      assert.deepStrictEqual(yield* output("promised", `{"total":1}`), { total: 3, visited: ["double", "increment"] })
      assert.deepStrictEqual(yield* output("effectful", `{"total":1}`), { total: 3, visited: ["double", "increment"] })
      assert.strictEqual(yield* output("count", "3", "--thread", "c"), 4)
      assert.strictEqual(yield* output("count", "3", "--thread", "c"), 8)
      assert.strictEqual(yield* output("grow", `"a"`, "--thread", "g"), "aaaa")
      assert.deepStrictEqual(yield* output("serving", `{"total":1}`), { total: 1, visited: ["hello"] })
      assert.deepStrictEqual(yield* output("serving", `{"total":1}`, "--layer", "other"), {
        total: 1,
        visited: ["other"]
      })
      const at = "2026-01-31T00:00:00.000Z"
      assert.deepStrictEqual(yield* output("dated", `{"at":"${at}","sum":"41"}`), {
        at: "2026-01-31T00:00:01.000Z",
        sum: "42"
      })
      writeFileSync(join(here.cwd, "one.ts"), `export { demo as "odd name" } from "./graphs.ts"\n`)
      assert.deepStrictEqual((yield* here.documents(0, ["run", "one.ts", ...input]))[0]!["type"], "result")
      writeFileSync(join(here.cwd, "needs.ts"), `export { serving } from "./graphs.ts"\n`)
      assert.include(yield* here.refused(2, ["run", "needs.ts", ...input]), "the graph needs the service Words")
    }))
  live("takes its input from a file, from stdin, and whatever it holds", (here) =>
    Effect.gen(function*() {
      const hostile = `{"total":1,"visited":["__proto__","\\u0000\\u001b[2J\\ud800","'; DROP TABLE x; --"]}`
      writeFileSync(join(here.cwd, "in.json"), hostile)
      const visited = ["__proto__", "\u0000\u001B[2J\uFFFD", "'; DROP TABLE x; --"]
      for (const [flag, stdin] of [["@in.json", ""], ["-", hostile]] as const) {
        const [result] = yield* here.documents(0, ["run", "graphs.ts#demo", "--input", flag, "--quiet"], {
          input: stdin
        })
        const found = (result!["output"] as { readonly visited: ReadonlyArray<string> }).visited
        assert.deepStrictEqual(found.slice(0, 3).map((text) => text.toWellFormed()), visited)
      }
      const polluted = yield* here.run([
        "run",
        "graphs.ts#demo",
        "--input",
        `{"total":1,"__proto__":{"x":1}}`,
        "--quiet"
      ])
      assert.strictEqual(polluted.code, 2)
      assert.include(polluted.errors, "__proto__")
    }))
  live("waits for what comes on stdin, however slowly it comes", (here) =>
    Effect.gen(function*() {
      const text = `{"total":1,"visited":["aé€😀"]}`
      const late = async (stdin: Writable) => {
        await setTimeout(1_000)
        stdin.write(text)
      }
      const open = async (stdin: Writable) => {
        stdin.write(text)
        await setTimeout(1_500)
      }
      // Each byte for itself, once the command reads: no character comes whole.
      const cut = async (stdin: Writable) => {
        await setTimeout(1_500)
        for (const byte of Buffer.from(text)) {
          stdin.write(Buffer.of(byte))
          await setTimeout(10)
        }
      }
      for (const input of [late, open, cut]) {
        const [result] = yield* here.documents(0, ["run", "graphs.ts#demo", "--input", "-", "--quiet"], { input })
        assert.deepStrictEqual(result!["output"], { total: 3, visited: ["aé€😀", "double", "increment"] }, input.name)
      }
      yield* here.run(["run", ...onThread("demo", "t"), ...input])
      yield* here.documents(0, ["update", ...onThread("demo", "t"), "--as-node", "double", "--values", "-"], {
        input: late
      })
      const [state] = yield* here.documents(0, ["state", ...onThread("demo", "t")])
      assert.deepInclude(state!["values"] as object, { total: 1 })
    }))
  live("says in one line that nothing has come on stdin", (here) =>
    Effect.gen(function*() {
      for (const input of ["", " \n"]) {
        const line = yield* here.refused(2, ["run", "graphs.ts#demo", "--input", "-"], { input })
        assert.strictEqual(line, "--input: stdin is empty")
      }
      const { status, stderr } = spawnSync("sh", ["-c", "superstep run graphs.ts#demo --input - <&-"], {
        cwd: here.cwd,
        env: project.env,
        encoding: "utf8"
      })
      assert.deepStrictEqual([status, stderr], [2, "superstep: --input: stdin is empty\n"])
    }))
  live(
    "streams events of the modes that are asked for, and nothing else comes to stdout",
    (here) =>
      Effect.gen(function*() {
        const documents = yield* here.documents(0, [
          "run",
          "graphs.ts#serving",
          ...input,
          "--stream",
          "updates, custom,tasks,checkpoints,lifecycle"
        ])
        assert.deepStrictEqual(
          documents.map(({ kind, mode, type }) => kind === undefined ? mode ?? type : `${mode} ${kind}`),
          [
            "lifecycle started",
            "checkpoints",
            "checkpoints",
            "tasks started",
            "custom",
            "updates",
            "tasks ended",
            "checkpoints",
            "lifecycle completed",
            "result"
          ]
        )
        assert.deepStrictEqual(documents.find(({ mode }) => mode === "custom")!["data"], { big: "1" })
        const { errors, out } = yield* here.run(["run", "graphs.ts#serving", ...input, "--stream", "updates"])
        assert.match(out, /^1 updates say \{"update":\{"visited":\["hello"\]\},"cached":false\}\n\{\n/)
        assert.include(errors, "noise of a node\nmore noise\n")
      })
  )
  live("shows events as a journal writes them, those of graphs inside too", (here) =>
    Effect.gen(function*() {
      const modes = ["values", "updates", "tasks", "checkpoints", "debug", "lifecycle"] as const
      // What differs from run to run.
      const own = (event: Document): Document => ({ ...event, run: "", timestampMillis: 0 })
      const seconds = (count: number) => ({ _tag: "Millis", value: count * 1_000 })
      const start = { left: Duration.seconds(3), note: Option.none<string>() }
      const expected = yield* timed.thread("t").stream(start, { modes, subgraphs: true }).pipe(
        Stream.mapEffect(Journal.toJson(timed)),
        Stream.map((json) => {
          const { type: kind, ...rest } = json as Document
          return own({ type: "event", ...(kind === undefined ? {} : { kind }), ...rest })
        }),
        Stream.runCollect,
        Effect.provide(Checkpointer.layerMemory)
      )
      const given = ["--input", JSON.stringify({ left: seconds(3), note: { _tag: "None" } }), "--quiet"]
      const documents = yield* here.documents(
        0,
        ["run", ...onThread("timed", "t"), ...given, "--stream", modes.join(), "--subgraphs"]
      )
      assert.deepStrictEqual(documents.slice(0, -1).map(own), [...expected])
      const inside = documents.filter(({ mode, node }) => mode === "updates" && node === "wait")
      assert.deepStrictEqual(inside.map(({ path, update }) => [(path as ReadonlyArray<string>)[0], update]), [
        ["timer", { left: seconds(2), note: { _tag: "Some", value: "waited" } }],
        ["calls~0", { left: seconds(1), note: { _tag: "Some", value: "waited" } }]
      ])
      const output = { left: seconds(1), note: { _tag: "Some", value: "waited" }, ends: ["1970-01-01T00:00:00.000Z"] }
      const [state] = yield* here.documents(0, ["state", ...onThread("timed", "t")])
      assert.deepStrictEqual([documents.at(-1)!["output"], state!["values"]], [output, output])
    }))
  live("shows by its text what has no form as JSON, and nothing else so", (here) =>
    Effect.gen(function*() {
      const [event, result] = yield* here.documents(
        0,
        ["run", "graphs.ts#open", "--input", `{"left":{"_tag":"Millis","value":1}}`, "--quiet", "--stream", "updates"]
      )
      const update = { left: { _tag: "Millis", value: 1_000 }, socket: { size: "1", own: [["a", 1]] } }
      assert.deepStrictEqual(event!["update"], update)
      assert.deepStrictEqual(result!["output"], update)
    }))
  live("fails in one line, with the code of what has failed", (here) =>
    Effect.gen(function*() {
      const failed = (graph: string, ...more: ReadonlyArray<string>) =>
        here.refused(1, ["run", `graphs.ts#${graph}`, ...input, ...more])
      assert.strictEqual(yield* failed("failing"), "the run failed: down \\u{1b}[2Jred")
      assert.strictEqual(yield* failed("dying"), "the run died: bang")
      assert.strictEqual(yield* failed("leaving"), "the graph has left a failure: too late")
      assert.include(yield* failed("endless", "--recursion-limit", "3"), "limit of 3 supersteps")
      assert.deepStrictEqual(yield* here.documents(1, ["run", "graphs.ts#failing", ...input]), [
        { type: "ended", code: 1, tag: "Error", message: "the run failed: down\n\u001B[2Jred" }
      ])
      // Whoever wants to know more asks for it.
      const more = yield* here.run(["run", "graphs.ts#failing", ...input, "--log-level", "debug"])
      assert.include(more.errors, "    at ")
    }))
  live("with a key is one piece of work, and --discard drops what is left", (here) =>
    Effect.gen(function*() {
      const keyed = ["run", ...onThread("demo", "k"), ...input, "--key", "monday"]
      const [first] = yield* here.documents(0, keyed)
      assert.deepStrictEqual(yield* here.documents(0, keyed), [first!])
      yield* here.run(["run", ...onThread("asking", "p"), ...input])
      const line = yield* here.refused(5, ["run", ...onThread("asking", "p"), ...input])
      assert.strictEqual(
        line,
        "thread \"p\" has unfinished work (next: ask, 1 unanswered): resume goes on with it, run --discard drops it"
      )
      assert.strictEqual((yield* here.run(["run", ...onThread("asking", "p"), ...input, "--discard"])).code, 3)
    }))
})

describe("a pause", () => {
  live("shows the question and its schema, ends with 3, and says how to go on", (here) =>
    Effect.gen(function*() {
      const id = "it's $(touch x) `y`\n\u001B[2J"
      const { code, errors, out } = yield* here.run(["run", ...onThread("asking", id), ...input, "--db", "my db"])
      assert.strictEqual(code, 3)
      assert.match(out, /^\? Approve [0-9a-f]{32}\n {2}\{"total":10\}\n {2}answer: \{"type":"boolean"\}\n$/)
      const said = /go on with: superstep (.*) --answer='<json>'\n$/.exec(errors)![1]!
      const [, graph, thread, database] = /^resume '(.*)' --thread=\$'(.*)' --db='(.*)'$/.exec(said)!
      assert.deepStrictEqual([graph, database], ["graphs.ts#asking", "my db"])
      assert.strictEqual(thread, "it\\'s $(touch x) `y`\\u000a\\u001b[2J")
      const resume = ["resume", ...onThread("asking", id), "--db", "my db", "--quiet"]
      assert.include(yield* here.refused(2, [...resume, "--answer", "3"]), "the answer to \"Approve\"")
      const [paused] = yield* here.documents(3, resume)
      assert.deepInclude((paused!["requests"] as ReadonlyArray<object>)[0], {
        tag: "Approve",
        payload: { total: 10 },
        answer: { type: "boolean" }
      })
      const done = yield* here.documents(0, [...resume, "--answer", "true"])
      assert.deepStrictEqual(done.at(-1)!["output"], { total: 10, visited: ["approved"] })
      assert.include(yield* here.refused(5, [...resume, "--answer", "true"]), "waits for no answer")
    }))
  live("takes answers in order and by id, as far as they go", (here) =>
    Effect.gen(function*() {
      const start = ["run", ...onThread("both", "b"), ...input]
      const [paused] = yield* here.documents(3, start)
      const requests = paused!["requests"] as ReadonlyArray<{ readonly id: string; readonly payload: string }>
      assert.deepStrictEqual(requests.map(({ payload }) => payload), ["left?\n\u001B[2J", "right?"])
      const resume = ["resume", ...onThread("both", "b"), "--quiet"]
      const [half] = yield* here.documents(3, [...resume, "--answer", `${requests[1]!.id}="R=1"`])
      assert.strictEqual((half!["requests"] as ReadonlyArray<object>).length, 1)
      const done = yield* here.documents(0, [...resume, "--answer", `"L"`, "--answer", "false"])
      assert.deepStrictEqual(done.at(-1)!["output"], { total: 10, visited: ["left L", "right R=1", "false"] })
      const answers = ["L", "R", true].flatMap((answer) => ["--answer", JSON.stringify(answer)])
      const once = yield* here.run(["run", "graphs.ts#both", ...input, ...answers, "--answer", "1"])
      assert.deepStrictEqual(JSON.parse(once.out).visited, ["left L", "right R", "true"])
      assert.strictEqual(once.errors, "superstep: an answer was not used\n")
      const passing = yield* here.run(["run", "graphs.ts#asking", ...input])
      assert.strictEqual(passing.code, 3)
      assert.include(passing.errors, "has no thread to wait on")
    }))
})

/** What the example needs besides the library. */
const libraries = ["@babel", "github-slugger", "mdast-util-from-markdown", "mdast-util-frontmatter", "mdast-util-gfm"]
  .concat(["micromark-extension-frontmatter", "micromark-extension-gfm", "yaml"])

describe("the audit of the examples", () => {
  live("runs from the command line, asks, and writes its report", (here) =>
    Effect.gen(function*() {
      const root = fileURLToPath(new URL("../..", import.meta.url))
      cpSync(join(root, "docs", "examples", "audit"), join(here.cwd, "audit"), { recursive: true })
      mkdirSync(join(here.cwd, "node_modules"))
      for (const name of libraries) {
        symlinkSync(join(root, "node_modules", name), join(here.cwd, "node_modules", name))
      }
      const [pages, report] = [join(here.cwd, "pages"), join(here.cwd, "report.md")]
      mkdirSync(pages)
      writeFileSync(join(pages, "one.md"), "# One\n\n[two](two.md) and [gone](gone.md)\n")
      writeFileSync(join(pages, "two.md"), "# Two\n")
      const audit = ["audit/Audit.ts#audit", "--thread", "pages", "--quiet"]
      const paused = yield* here.documents(3, ["run", ...audit, "--input", JSON.stringify({ root: pages, report })])
      const [{ payload }] = paused[0]!["requests"] as readonly [{ readonly payload: unknown }]
      assert.deepStrictEqual(payload, { path: report, pages: 2, findings: 1, outside: 0, problem: null })
      const done = yield* here.documents(0, ["resume", ...audit, "--answer", JSON.stringify(report)])
      assert.strictEqual((done.at(-1)!["output"] as Document)["written"], report)
      assert.include(readFileSync(report, "utf8"), "gone.md")
    }))
})

describe("a breakpoint", () => {
  live("stops a run with 3, and the run goes on", (here) =>
    Effect.gen(function*() {
      const line = yield* here.refused(3, ["run", "graphs.ts#stopping", "--thread=-s", ...input])
      assert.match(line, /; go on with: superstep resume 'graphs.ts#stopping' --thread=-s$/)
      const done = yield* here.documents(0, ["resume", "graphs.ts#stopping", "--thread=-s", "--quiet"])
      assert.deepStrictEqual(done.at(-1)!["output"], { total: 10, visited: ["gone"] })
    }))
})

describe("an interrupted run", () => {
  live("cleans up, ends with 130, and goes on later", (here) =>
    Effect.gen(function*() {
      const { code, errors, out } = yield* here.run(
        ["run", ...onThread("slow", "s"), "--input", `{"total":1}`],
        {
          seen: (errors, child) => {
            if (errors.endsWith("step 2: wait\n")) child.kill("SIGINT")
          }
        }
      )
      assert.deepStrictEqual([code, out], [130, ""])
      assert.match(
        errors,
        /cleaned up\nsuperstep: interrupted; go on with: superstep resume 'graphs.ts#slow' --thread=s\n$/
      )
      const done = yield* here.documents(0, ["resume", ...onThread("slow", "s"), "--quiet"], { env: { FAST: "1" } })
      assert.deepStrictEqual(done.at(-1)!["output"], { total: 1, visited: ["one", "waited"] })
    }))
  live("ends at once when it is interrupted again", (here) =>
    Effect.gen(function*() {
      let count = 0
      const { code, errors } = yield* here.run(["run", ...onThread("stubborn", "s"), "--input", `{"total":1}`], {
        seen: (errors, child) => {
          if (errors.endsWith("step 1: hold\n") && count++ === 0) child.kill("SIGINT")
          if (errors.endsWith("cleaning up\n") && count++ === 1) child.kill("SIGINT")
        }
      })
      assert.deepStrictEqual([code, count], [130, 2])
      assert.match(errors, /cleaning up\n$/)
    }))
})

describe("an answer for a thread that asks nothing", () => {
  live("is refused, and what was answered before is not carried out", (here) =>
    Effect.gen(function*() {
      const begun = yield* here.run(["run", ...onThread("paying", "p"), ...input, "--answer", "true"])
      assert.strictEqual(begun.code, 1)
      const refusal = yield* here.refused(5, ["resume", ...onThread("paying", "p"), "--answer", "false"], {
        env: { FAST: "1" }
      })
      assert.include(refusal, "waits for no answer: without --answer, resume goes on where it stands")
      const done = yield* here.documents(0, ["resume", ...onThread("paying", "p"), "--quiet"], { env: { FAST: "1" } })
      assert.deepStrictEqual(done.at(-1)!["output"], { total: 10, visited: ["paid"] })
    }))
})

describe("a run whose thread was moved on by another", () => {
  live("ends with 5 and loses nothing", (here) =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const slower = yield* Effect.forkChild(
        here.run(["run", ...onThread("held", "t"), "--input", `{"total":1}`], {
          seen: (errors) => {
            if (errors.endsWith("step 1: hold\n")) Deferred.doneUnsafe(begun, Effect.void)
          }
        })
      )
      yield* Deferred.await(begun)
      yield* here.documents(0, ["update", ...onThread("held", "t"), "--values", `{"total":5}`])
      writeFileSync(join(here.cwd, "go"), "")
      const { code, errors, out } = yield* Fiber.join(slower)
      assert.deepStrictEqual([code, out], [5, ""])
      assert.match(errors, /\nsuperstep: thread "t"[^\n]*\n$/)
      const [state] = yield* here.documents(0, ["state", ...onThread("held", "t")])
      assert.deepStrictEqual(state!["values"], { total: 5, visited: [] })
    }))
})

describe("a run whose thread is moved on right after its end", () => {
  live("has its own result, and runs nothing of the other", (here) =>
    Effect.gen(function*() {
      const visited = ["double", "increment"]
      const runs: ReadonlyArray<[string, layer: string, input: string, output: unknown, moved: Document]> = [
        ["demo", "movedDemo", `{"total":10}`, { total: 21, visited }, { next: ["increment"], source: "update" }],
        ["count", "movedCount", "3", 4, { next: [], source: "update" }],
        ["grow", "movedGrow", `"a"`, "aaaa", { next: ["double"], source: "input" }]
      ]
      for (const [graph, layer, value, output, moved] of runs) {
        const own = ["--input", value, "--layer", layer, "--quiet"]
        const documents = yield* here.documents(0, ["run", ...onThread(graph, graph), ...own])
        assert.deepStrictEqual(documents, [{ type: "result", thread: graph, output }])
        const [state] = yield* here.documents(0, ["state", ...onThread(graph, graph)])
        assert.deepInclude(state!, moved)
        assert.deepStrictEqual(yield* here.documents(0, ["run", `graphs.ts#${graph}`, ...own]), [
          { type: "result", thread: null, output }
        ])
      }
    }))
})

describe("a finished thread", () => {
  live("gives its result, and runs nothing", (here) =>
    Effect.gen(function*() {
      const runs: ReadonlyArray<[string, input: string, output: unknown]> = [
        ["demo", `{"total":10}`, { total: 21, visited: ["double", "increment"] }],
        ["count", "3", 4],
        ["grow", `"a"`, "aaaa"]
      ]
      for (const [graph, value, output] of runs) {
        const thread = onThread(graph, graph)
        yield* here.run(["run", ...thread, "--input", value])
        const before = yield* ids(here, graph, graph)
        const { code, errors, out } = yield* here.run(["resume", ...thread, "--stream", "tasks,updates"])
        assert.deepStrictEqual([code, errors, JSON.parse(out)], [0, "", output])
        const documents = yield* here.documents(0, ["resume", ...thread, "--checkpoint", before[0]!])
        assert.deepStrictEqual(documents, [{ type: "result", thread: graph, output }])
        assert.deepStrictEqual(yield* ids(here, graph, graph), before)
      }
    }))
})

describe("threads", () => {
  live("are read, updated, branched, verified and pruned", (here) =>
    Effect.gen(function*() {
      yield* here.run(["run", ...onThread("demo", "t"), ...input, "--metadata", `{"user":"ada"}`])
      const thread = onThread("demo", "t")
      const [state] = yield* here.documents(0, ["state", ...thread])
      assert.deepInclude(state!, {
        type: "state",
        thread: "t",
        values: { total: 21, visited: ["double", "increment"] },
        next: [],
        requests: [],
        metadata: { user: "ada" }
      })
      const checkpoints = yield* ids(here, "demo", "t")
      assert.strictEqual(checkpoints.length, 4)
      assert.strictEqual((yield* here.documents(0, ["history", ...thread, "--limit", "1"])).length, 1)
      assert.match((yield* here.run(["history", ...thread])).out, /^[0-9a-f]{32} \S+ branch 1 step 2 loop next: -\n/)
      const at = (yield* here.documents(0, ["state", ...thread, "--checkpoint", checkpoints[1]!]))[0]!
      assert.deepStrictEqual([at["next"], at["step"]], [["increment"], 1])
      assert.strictEqual(
        (yield* here.run(["diff", "graphs.ts#demo", checkpoints[1]!, "--thread", "t"])).out,
        `replace /total 21\nadd /visited/1 "increment"\n`
      )
      const back = yield* here.documents(0, [
        "diff",
        "graphs.ts#demo",
        checkpoints[0]!,
        checkpoints[1]!,
        "--thread",
        "t"
      ])
      assert.deepInclude((back[0]!["patch"] as ReadonlyArray<object>)[0], { op: "replace", path: "/total", value: 20 })

      const forked = yield* here.run(["fork", "graphs.ts#demo", checkpoints[1]!, "--thread", "t"])
      assert.match(forked.out, /^[0-9a-f]{32}\n$/)
      const update = ["update", ...thread, "--as-node", "double", "--values"]
      assert.include(yield* here.refused(2, [...update, `{"total":"x"}`]), "--values: at \"total\"")
      assert.include(yield* here.refused(2, [...update, `{"tolal":1}`]), "tolal")
      assert.include(
        yield* here.refused(2, ["update", ...thread, "--as-node", "none", "--values", "{}"]),
        "there is no node \"none\""
      )
      assert.match((yield* here.run([...update, `{"total":100}`])).out, /^[0-9a-f]{32}\n$/)
      const done = yield* here.documents(0, ["resume", ...thread, "--quiet"])
      assert.strictEqual((done.at(-1)!["output"] as { readonly total: number }).total, 101)
      assert.strictEqual((yield* here.documents(0, ["history", ...thread, "--branch", "1"])).length, 4)

      assert.deepInclude((yield* here.documents(0, ["verify", ...thread]))[0]!, { checkpoints: 7, divergence: null })
      assert.include(yield* here.refused(2, ["prune", ...thread, "--since", "yesterday"]), "--since")
      assert.deepInclude((yield* here.documents(0, ["prune", ...thread, "--since", "2020-01-01"]))[0]!, { removed: 0 })
      const [pruned] = yield* here.documents(0, ["prune", ...thread, "--last", "1", "--checkpoint", checkpoints[3]!])
      assert.isAbove(pruned!["removed"] as number, 0)
      assert.include(yield* ids(here, "demo", "t"), checkpoints[3])
      assert.strictEqual((yield* here.run(["verify", ...thread])).code, 0)
    }))
  live("are updated as machines and functions, too", (here) =>
    Effect.gen(function*() {
      yield* here.run(["run", ...onThread("count", "c"), "--input", "1", "--quiet"])
      yield* here.run(["update", ...onThread("count", "c"), "--values", "50", "--as-node", "count"])
      assert.strictEqual((yield* here.run(["run", ...onThread("count", "c"), "--input", "1", "--quiet"])).out, "52\n")
      yield* here.run(["run", ...onThread("grow", "g"), "--input", `"a"`, "--quiet"])
      yield* here.run(["update", ...onThread("grow", "g"), "--values", `"xy"`, "--as-node", "__input__"])
      assert.strictEqual((yield* here.run(["resume", ...onThread("grow", "g"), "--quiet"])).out, `"xyxy"\n`)
    }))
  live("are listed, by what was kept with them", (here) =>
    Effect.gen(function*() {
      const hostile = ["a", "b'\"; DROP TABLE superstep_threads; --", "c\n\u001B[2J%"]
      for (const [index, id] of hostile.entries()) {
        yield* here.run(["run", ...onThread("demo", id), ...input, "--metadata", `{"n":${index}}`])
      }
      const list = (...args: ReadonlyArray<string>) =>
        Effect.map(here.documents(0, ["threads", ...args]), (documents) => documents.map(({ id }) => id))
      assert.deepStrictEqual(yield* list(), hostile)
      assert.deepStrictEqual(yield* list("--metadata", `{"n":1}`), [hostile[1]])
      assert.deepStrictEqual(yield* list("--after", hostile[0]!, "--limit", "1"), [hostile[1]])
      assert.match((yield* here.run(["threads"])).out, /\nc \\u\{1b\}\[2J% \S+ branch 1 step 2 loop \{"n":2\}\n$/)
      assert.include(yield* here.refused(5, ["threads", "--after", "none"]), "thread \"none\"")
    }))
  live("that are not there, and checkpoints, are named", (here) =>
    Effect.gen(function*() {
      yield* here.run(["run", ...onThread("demo", "t"), ...input])
      const unknown = onThread("demo", "none\n'\u001B[2J")
      for (const command of ["state", "history", "verify", "resume"]) {
        assert.include(yield* here.refused(5, [command, ...unknown]), "does not exist: run starts it")
      }
      assert.include(
        yield* here.refused(5, ["state", ...onThread("demo", "t"), "--checkpoint", "x"]),
        "no checkpoint x"
      )
      assert.include(yield* here.refused(5, ["fork", "graphs.ts#demo", "x", "--thread", "t"]), "no checkpoint x")
      assert.include(yield* here.refused(2, ["state", ...onThread("demo", "x".repeat(10_000))]), "thread")
    }))
})

describe("a graph", () => {
  live("is drawn and inspected", (here) =>
    Effect.gen(function*() {
      const drawn = yield* here.run(["draw", "graphs.ts#demo"])
      assert.match(drawn.out, /^flowchart TD\n {2}n0\(\["__start__"\]\)\n/)
      assert.strictEqual((yield* here.documents(0, ["draw", "graphs.ts#demo"]))[0]!["mermaid"], drawn.out)
      const dot = yield* here.run(["draw", "graphs.ts#demo", "--format", "dot"])
      assert.match(dot.out, /^digraph "demo" {\n/)
      const svg = yield* here.run(["draw", "graphs.ts#demo", "--format", "svg"])
      assert.match(svg.out, /^<\?xml[^]*<svg [^]*>double<\/text>[^]*<\/svg>\n$/)
      const [document] = yield* here.documents(0, ["draw", "graphs.ts#demo", "--format", "svg"])
      assert.deepStrictEqual(document, { type: "diagram", svg: svg.out })
      const { out } = yield* here.run(["inspect", "graphs.ts#demo"])
      assert.include(out, "  total: LastValue\n")
      assert.include(
        out,
        "  double\n    woken by branch:to:double\n    reads total, visited\n    writes its update, edge to increment\n"
      )
      const [machine] = yield* here.documents(0, ["inspect", "graphs.ts#grow"])
      assert.deepInclude(machine!, {
        type: "machine",
        name: "grow",
        channels: { value: "LastValue", __tasks: "Topic" }
      })
    }))
})

describe("a database", () => {
  live("that is none, or of something else, is refused and left as it is", (here) =>
    Effect.gen(function*() {
      const foreign = join(here.cwd, "foreign.sqlite")
      const database = new DatabaseSync(foreign)
      database.exec("CREATE TABLE customers (name TEXT)")
      database.close()
      writeFileSync(join(here.cwd, "text.sqlite"), "not a database")
      const refusals: ReadonlyArray<[string, string]> = [
        ["none.sqlite", "there is no database none.sqlite"],
        ["foreign.sqlite", "is a database of something else"],
        ["text.sqlite", "it is not a SQLite database"],
        [".", "directory"],
        ["none/x.sqlite", "there is no database"],
        ["mysql://localhost/x", "--db takes"],
        ["postgres://u:secret@127.0.0.1:1/x", "Failed to connect"],
        ["postgres://u:secret@[/x", "no URL"]
      ]
      for (const [file, message] of refusals) {
        const line = yield* here.refused(4, ["threads", "--db", file])
        assert.include(line, message)
        assert.notInclude(line, "secret")
      }
      assert.include(
        yield* here.refused(4, ["run", ...onThread("demo", "t"), ...input, "--db", "foreign.sqlite"]),
        "something else"
      )
      const tables = new DatabaseSync(foreign).prepare("SELECT name FROM sqlite_schema").all()
      assert.deepStrictEqual(tables.map(({ name }) => name), ["customers"])
      yield* here.refused(4, ["resume", ...onThread("demo", "t"), "--db", "none.sqlite"])
      assert.isFalse(existsSync(join(here.cwd, "none.sqlite")))
      yield* here.run(["run", ...onThread("demo", "t"), ...input])
      assert.include(yield* here.refused(4, ["state", ...onThread("dated", "t")]), "is not the one that thread \"t\"")
    }))
  live("whose rows were changed is damaged", (here) =>
    Effect.gen(function*() {
      yield* here.run(["run", ...onThread("demo", "t"), ...input])
      const database = new DatabaseSync(join(here.cwd, "superstep.sqlite"))
      database.exec(`UPDATE superstep_tasks SET data = replace(data, '20', '30')`)
      database.close()
      const { code, errors, out } = yield* here.run(["verify", ...onThread("demo", "t")])
      assert.strictEqual(code, 4, out)
      assert.match(errors, /^superstep: [^\n]*\n$/)
    }))
  live("is behind the layer of a file that takes its place", (here) =>
    Effect.gen(function*() {
      const secret = ["run", ...onThread("demo", "t"), "--input", `{"total":1,"visited":["secret"]}`, "--quiet"]
      const [result] = yield* here.documents(0, [...secret, "--layer", "sealed"])
      assert.deepInclude(result!["output"] as object, { total: 3 })
      assert.notInclude(readFileSync(join(here.cwd, "superstep.sqlite"), "latin1"), "secret")
      const [state] = yield* here.documents(0, ["state", ...onThread("demo", "t"), "--layer", "sealed"])
      assert.deepStrictEqual(state!["values"], { total: 3, visited: ["secret", "double", "increment"] })
      yield* here.refused(4, ["state", ...onThread("demo", "t")])
    }))
  live("may be named by the environment, and be of Postgres", (here) =>
    Effect.gen(function*() {
      const schema = `cli${globalThis.crypto.randomUUID().replaceAll("-", "")}`
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient
        yield* sql.unsafe(`CREATE SCHEMA ${schema}`)
      }).pipe(Effect.provide(layerClient("public")))
      const url = `postgres://postgres:secret@127.0.0.1:${
        inject("postgresPort")
      }/postgres?options=-c%20search_path%3D${schema}`
      const [paused] = yield* here.documents(3, ["run", ...onThread("asking", "p"), ...input, "--db", url])
      assert.strictEqual(paused!["type"], "paused")
      const env = { SUPERSTEP_DB: url }
      const [state] = yield* here.documents(0, ["state", ...onThread("asking", "p")], { env })
      assert.deepInclude(state!, { next: ["ask"], values: { total: 10, visited: [] } })
      const again = yield* here.run(["resume", ...onThread("asking", "p"), "--quiet"], { env })
      assert.strictEqual(again.code, 3)
      assert.notInclude(again.errors, "secret")
      const done = yield* here.documents(0, ["resume", ...onThread("asking", "p"), "--quiet", "--answer", "true"], {
        env
      })
      assert.deepStrictEqual(done.at(-1)!["output"], { total: 10, visited: ["approved"] })
      assert.deepStrictEqual(readdirSync(here.cwd), ["graphs.ts"])
    }))
})
