/**
 * The audit as a graph: find the pages, check each in a task of its own, put
 * the facts together, ask whether to write the report, write it.
 *
 * Every page is one `Send`. A page whose task has finished is stored: if the
 * process dies, the next one checks only the others.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Channel, END, Interrupt, Node, Running, Send, State, StateGraph } from "superstep"
import { PageFacts } from "./Finding.ts"
import { analyse } from "./Page.ts"
import { summarise, Summary, toMarkdown } from "./Report.ts"

/** Pages that are read at the same time. */
export const concurrency = 8

/** Folders that hold nothing of the author's. */
const skipped = new Set(["node_modules", "dist", "coverage"])

/** Asks whether to write the report. */
export class WriteReport extends Interrupt.make("WriteReport", {
  payload: Schema.Struct({ report: Schema.String, pages: Schema.Int, findings: Schema.Int }),
  answer: Schema.Boolean
}) {}

/** What the audit knows. `paths` are files and, with a slash at the end, folders below the root. */
export class Audit extends State.make({
  root: Schema.String,
  report: Schema.String,
  paths: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] }),
  facts: Channel.append(PageFacts),
  summary: Channel.lastValue(Schema.NullOr(Summary), { initial: () => null }),
  written: Channel.lastValue(Schema.Boolean, { initial: () => false })
}, { input: ["root", "report", "facts"], output: ["report", "summary", "written"] }) {}

const isPage = (path: string): boolean => path.toLowerCase().endsWith(".md")

/** Everything below a folder, sorted, so that the order of tasks is that of the report. */
const walk: (
  root: string,
  folder: string
) => Effect.Effect<ReadonlyArray<string>, never, FileSystem.FileSystem | Path.Path> = Effect.fnUntraced(
  function*(root: string, folder: string): Effect.fn.Return<ReadonlyArray<string>, never, FileSystem.FileSystem | Path.Path> {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    // A folder that cannot be read holds nothing that a link could lead to.
    const names = yield* Effect.orElseSucceed(files.readDirectory(path.join(root, folder)), (): Array<string> => [])
    const found: Array<string> = []
    for (const name of names.toSorted()) {
      if (name.startsWith(".") || skipped.has(name)) continue
      const below = folder === "" ? name : `${folder}/${name}`
      const info = yield* Effect.option(files.stat(path.join(root, below)))
      if (info._tag === "None") continue
      if (info.value.type === "Directory") found.push(`${below}/`, ...yield* walk(root, below))
      else found.push(below)
    }
    return found
  }
)

const find = Effect.fnUntraced(function*(s: State.Type<typeof Audit>) {
  return { paths: yield* walk(s.root, "") }
})

/** Reads and checks one page. A page that cannot be read is a finding, not a failure. */
const check = Node.make({
  input: Schema.Struct({ root: Schema.String, file: Schema.String }),
  run: Effect.fnUntraced(function*({ file, root }) {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const text = yield* Effect.option(files.readFileString(path.join(root, file)))
    const facts = text._tag === "Some" ? analyse(file, text.value) : unreadable(file)
    yield* Running.emit({ file, findings: facts.findings.length })
    return { facts: [facts] }
  })
})

const unreadable = (file: string): PageFacts => ({
  file,
  complete: false,
  anchors: [],
  links: [],
  findings: [{ file, line: 1, kind: "unreadable-page", message: "the page cannot be read" }],
  counts: { headings: 0, links: 0, fences: 0 }
})

const ask = Effect.fnUntraced(function*(s: State.Type<typeof Audit>) {
  const { findings, pages } = s.summary!
  return { written: yield* WriteReport.ask({ report: s.report, pages, findings: findings.length }) }
})

const write = Effect.fnUntraced(function*(s: State.Type<typeof Audit>) {
  const files = yield* FileSystem.FileSystem
  yield* files.writeFileString(s.report, toMarkdown(s.summary!))
})

/** The graph. It needs a file system, and can ask. */
export const audit = StateGraph.make("markdown-audit", StateGraph.nodes(Audit, {
  find,
  check,
  summarise: (s) => ({ summary: summarise(s.facts, new Set(s.paths)) }),
  ask,
  write
}), {
  start: "find",
  edges: {
    find: StateGraph.route(["check", "summarise"], (s) => {
      const pages = s.paths.filter(isPage)
      return pages.length === 0 ? "summarise" : pages.map((file) => Send.make("check", { root: s.root, file }))
    }),
    check: "summarise",
    summarise: "ask",
    ask: StateGraph.route(["write", END], (s) => s.written ? "write" : END)
  }
}, { concurrency })
