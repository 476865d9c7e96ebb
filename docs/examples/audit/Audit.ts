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
import { createHash } from "node:crypto"
import { Channel, Command, END, Interrupt, Node, Send, State, StateGraph } from "superstep"
import { type Finding, PageFacts } from "./Finding.ts"
import * as Folder from "./Folder.ts"
import { analyse } from "./Page.ts"
import { summarise, Summary, toMarkdown } from "./Report.ts"

/** Pages that are read at the same time. */
export const concurrency = 8

/** Links may lead to these folders, but nothing in them is the author's own. */
const foreign = new Set([".git", ".superstep", "dist", "node_modules"])

/** Asks where to write the report: the answer is a path, or `null` for no report. `problem` says why it could not be written. */
export class WriteReport extends Interrupt.make("WriteReport", {
  payload: Schema.Struct({
    path: Schema.String,
    pages: Schema.Int,
    findings: Schema.Int,
    outside: Schema.Int,
    problem: Schema.NullOr(Schema.String)
  }),
  answer: Schema.NullOr(Schema.String)
}) {}

/** A page as it was when it was checked: the digest of its text, empty if it could not be read. */
const Seen = Schema.Struct({ file: Schema.String, digest: Schema.String })

/** What the audit knows. Pages and paths are POSIX paths from `root`; folders end with a slash. */
export class Audit extends State.make({
  root: Schema.String,
  /** Where the report goes, unless an answer names another path. */
  report: Schema.String,
  pages: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] }),
  paths: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] }),
  facts: Channel.append(PageFacts),
  seen: Channel.append(Seen),
  summary: Channel.lastValue(Summary, { initial: () => summarise([], new Set()) }),
  problem: Channel.lastValue(Schema.NullOr(Schema.String), { initial: () => null }),
  /** The paths that answers named, the latest last. */
  targets: Channel.append(Schema.String),
  /** The same of this audit before it was begun anew. */
  earlier: Channel.append(Schema.String),
  /** The report that was last written. */
  written: Channel.lastValue(Schema.NullOr(Schema.String), { initial: () => null })
}, { input: ["root", "report", "earlier"], output: ["summary", "written"] }) {}

type Known = State.Type<typeof Audit>

/** What is not to be read is a finding, and ends nothing. */
const unreadable = (file: string, message: string): PageFacts => ({
  file,
  complete: false,
  anchors: [],
  links: [],
  findings: [{ file, line: 1, kind: "unreadable-page", message }],
  counts: { headings: 0, links: 0, fences: 0 }
})

/** The text of a page; `undefined` if it cannot be read. */
const textOf = Effect.fnUntraced(function*(root: string, file: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.orElseSucceed(files.readFileString(path.join(root, file)), () => undefined)
})

const digestOf = (text: string | undefined): string =>
  text === undefined ? "" : createHash("sha256").update(text).digest("hex")

/** What a symbolic link leads to; `undefined` if it dangles. */
const behind = Effect.fnUntraced(function*(link: string) {
  const files = yield* FileSystem.FileSystem
  const type = yield* Effect.orElseSucceed(Effect.map(files.stat(link), (info) => info.type), () => undefined)
  return type === "Directory" ? "folder" : type === undefined ? undefined : "other"
})

/** Where this audit has written, or was told to write. */
export const reports = ({ earlier, targets }: Known): ReadonlyArray<string> => [...earlier, ...targets]

/** Pages, all that links may lead to, and what cannot be read. Sorted, so that equal folders give equal checkpoints and reports. */
const find = Effect.fnUntraced(function*(known: Known) {
  const path = yield* Path.Path
  const { report, root } = known
  const own = new Set([report, ...reports(known)])
  const pages: Array<string> = []
  const paths: Array<string> = []
  const facts: Array<PageFacts> = []
  const folders = [""]
  for (const folder of folders) { // grows while it is walked
    const entries = yield* Folder.read(path.join(root, folder))
    if (entries === undefined) facts.push(unreadable(folder, "it cannot be read"))
    for (const { isText, name, type } of entries ?? []) {
      const below = `${folder}${name}`
      const isPage = type === "file" && /\.md$/i.test(name) && !/(?:^|\/)\./.test(below)
      if (!isText) {
        if (isPage || type === "folder") facts.push(unreadable(below, "its name is not UTF-8: it is not audited"))
        continue
      }
      const full = path.join(root, below)
      // A symbolic link may lead out of the root, or round in a circle: it is there, and not followed.
      const target = type === "link" ? yield* behind(full) : type
      if (target === undefined) continue
      paths.push(target === "folder" ? `${below}/` : below)
      if (type === "folder" && !foreign.has(name)) folders.push(`${below}/`)
      if (isPage && !own.has(full)) pages.push(below)
    }
  }
  return { pages: pages.toSorted(), paths: paths.toSorted(), facts }
})

/** Reads and checks one page. */
const check = Node.make({
  input: Schema.Struct({ root: Schema.String, file: Schema.String }),
  run: Effect.fnUntraced(function*({ file, root }) {
    const text = yield* textOf(root, file)
    const facts = text === undefined ? unreadable(file, "it cannot be read") : analyse(file, text)
    return { facts: [facts], seen: [{ file, digest: digestOf(text) }] }
  })
})

/** Runs again when the answer has come: nothing but the question is in here. */
const ask = Effect.fnUntraced(function*({ problem, report, summary, targets }: Known) {
  const { findings, outside, pages } = summary
  const path = yield* WriteReport.ask({
    path: targets.at(-1) ?? report,
    pages,
    findings: findings.length,
    outside,
    problem
  })
  return path === null
    ? Command.make({ update: { problem: null }, goto: END })
    : Command.make({ update: { problem: null, targets: [path] }, goto: "write" })
})

/**
 * A kill may leave half a file, but then this task is not finished, and the next run writes it again. What cannot be
 * written is asked about again: all the work before is kept.
 */
const write = Effect.fnUntraced(function*({ summary, targets }: Known) {
  const files = yield* FileSystem.FileSystem
  const path = targets.at(-1)!
  return yield* Effect.match(files.writeFileString(path, toMarkdown(summary)), {
    onSuccess: () => Command.make({ update: { written: path }, goto: END }),
    onFailure: ({ cause, message }) =>
      Command.make({ update: { problem: cause instanceof Error ? cause.message : message }, goto: "ask" })
  })
})

/** The graph. Its type says that it needs a file system and paths, and asks `WriteReport`. */
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
      summarise: "ask"
    }
  },
  { concurrency }
)

/** The names in which two sets of facts differ. */
const difference = (then: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): ReadonlyArray<string> =>
  [...new Set([...then.keys(), ...now.keys()])].filter((file) => then.get(file) !== now.get(file))

const byFile = (findings: ReadonlyArray<Finding>): ReadonlyMap<string, string> => {
  const texts = new Map<string, string>()
  for (const finding of findings) {
    texts.set(finding.file, `${texts.get(finding.file) ?? ""}${JSON.stringify(finding)}\n`)
  }
  return texts
}

/**
 * The pages of which the audit no longer tells the truth: they came, went or changed since they were checked, or what
 * they link to came or went.
 */
export const stale = Effect.fnUntraced(function*(known: Known) {
  const found = yield* find(known)
  const seen = new Map(known.facts.map(({ file }) => [file, ""]))
  for (const { digest, file } of known.seen) seen.set(file, digest)
  const present = new Map(found.facts.map(({ file }) => [file, ""]))
  yield* Effect.forEach(
    found.pages,
    (file) => Effect.map(textOf(known.root, file), (text) => present.set(file, digestOf(text))),
    { concurrency, discard: true }
  )
  const { findings } = summarise(known.facts, new Set(found.paths))
  const changed = [...difference(seen, present), ...difference(byFile(known.summary.findings), byFile(findings))]
  return [...new Set(changed)].toSorted()
})
