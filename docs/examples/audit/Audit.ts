/**
 * The audit as a graph: find the pages, check each in a task of its own, put
 * the facts together, ask whether to write the report, write it.
 *
 * Every page is one `Send`. What its task found is stored as soon as the task
 * is finished: if the process dies, the next one checks only the other pages.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Channel, END, Interrupt, Node, Send, State, StateGraph } from "superstep"
import { PageFacts } from "./Finding.ts"
import { analyse } from "./Page.ts"
import { summarise, Summary, toMarkdown } from "./Report.ts"

/** Pages that are read at the same time. */
export const concurrency = 8

/** Links may lead to these folders, but nothing in them is the author's own. */
const foreign = new Set([".git", ".superstep", "dist", "node_modules"])

/** Asks whether to write the report. */
export class WriteReport extends Interrupt.make("WriteReport", {
  payload: Schema.Struct({ path: Schema.String, pages: Schema.Int, findings: Schema.Int }),
  answer: Schema.Boolean
}) {}

/** What the audit knows. Pages and paths are POSIX paths from `root`; folders end with a slash. */
export class Audit extends State.make({
  root: Schema.String,
  report: Schema.String,
  pages: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] }),
  paths: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] }),
  facts: Channel.append(PageFacts),
  summary: Channel.lastValue(Summary, { initial: () => summarise([], new Set()) }),
  written: Channel.lastValue(Schema.Boolean, { initial: () => false })
}, { input: ["root", "report"], output: ["report", "summary", "written"] }) {}

/** What is not to be read is a finding, and ends nothing. */
const unreadable = (file: string): PageFacts => ({
  file,
  complete: false,
  anchors: [],
  links: [],
  findings: [{ file, line: 1, kind: "unreadable-page", message: "it cannot be read" }],
  counts: { headings: 0, links: 0, fences: 0 }
})

/** Pages, and all that links may lead to. Sorted, so that equal folders give equal checkpoints and reports. */
const find = Effect.fnUntraced(function*({ report, root }: State.Type<typeof Audit>) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const pages: Array<string> = []
  const paths: Array<string> = []
  const facts: Array<PageFacts> = []
  const folders = [""]
  for (const folder of folders) { // grows while it is walked
    const names = yield* Effect.orElseSucceed(files.readDirectory(path.join(root, folder)), () => undefined)
    if (names === undefined) facts.push(unreadable(folder))
    for (const name of names ?? []) {
      const below = `${folder}${name}`
      const full = path.join(root, below)
      const type = yield* Effect.orElseSucceed(Effect.map(files.stat(full), (info) => info.type), () => undefined)
      if (type === undefined) continue // A dangling link, or gone already.
      paths.push(type === "Directory" ? `${below}/` : below)
      // A symbolic link may lead out of the root, or round in a circle: it is there, and not followed.
      if (yield* Effect.isSuccess(files.readLink(full))) continue
      if (type === "Directory" && !foreign.has(name)) folders.push(`${below}/`)
      const isPage = type === "File" && /^[^.].*\.md$/i.test(name) && !/(?:^|\/)\./.test(folder)
      if (isPage && full !== report) pages.push(below)
    }
  }
  return { pages: pages.toSorted(), paths: paths.toSorted(), facts }
})

/** Reads and checks one page. */
const check = Node.make({
  input: Schema.Struct({ root: Schema.String, file: Schema.String }),
  run: Effect.fnUntraced(function*({ file, root }) {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const facts = yield* Effect.match(files.readFileString(path.join(root, file)), {
      onFailure: () => unreadable(file),
      onSuccess: (text) => analyse(file, text)
    })
    return { facts: [facts] }
  })
})

/** Runs again when the answer has come: nothing but the question is in here. */
const ask = Effect.fnUntraced(function*({ report, summary }: State.Type<typeof Audit>) {
  const { findings, pages } = summary
  return { written: yield* WriteReport.ask({ path: report, pages, findings: findings.length }) }
})

/** A kill may leave half a file, but then this task is not finished, and the next run writes it again. */
const write = Effect.fnUntraced(function*({ report, summary }: State.Type<typeof Audit>) {
  const files = yield* FileSystem.FileSystem
  yield* files.writeFileString(report, toMarkdown(summary))
})

/** The graph. Its type says that it needs a file system and paths, may fail with a `PlatformError`, and asks `WriteReport`. */
export const audit = StateGraph.make(
  "markdown-audit",
  StateGraph.nodes(Audit, {
    find,
    check,
    summarise: ({ facts, paths }) => ({ summary: summarise(facts, new Set(paths)) }),
    ask,
    write
  }),
  {
    start: "find",
    edges: {
      find: StateGraph.route(
        ["check", "summarise"],
        ({ pages, root }) => pages.length === 0 ? "summarise" : pages.map((file) => Send.make("check", { root, file }))
      ),
      check: "summarise",
      summarise: "ask",
      ask: StateGraph.route(["write", END], ({ written }) => written ? "write" : END)
    }
  },
  { concurrency }
)
