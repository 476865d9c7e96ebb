/**
 * Puts the facts of all pages together: checks the links between them, and
 * writes the report. The order of the pages changes nothing.
 */
import * as Schema from "effect/Schema"
import { Finding, type Link, normalise, type PageFacts } from "./Finding.ts"

/** What a report is made of. */
export const Summary = Schema.Struct({
  pages: Schema.Int,
  headings: Schema.Int,
  links: Schema.Int,
  /** Links that lead out of the audited folder. What is there is not looked at. */
  outside: Schema.Int,
  fences: Schema.Int,
  findings: Schema.Array(Finding)
})
export interface Summary extends Schema.Schema.Type<typeof Summary> {}

/** The anchors of the page at a path; `undefined` when they are not known. */
type Anchors = ReadonlyMap<string, ReadonlySet<string> | undefined>

const anchorsOf = (pages: ReadonlyArray<PageFacts>): Anchors => {
  const anchors = new Map<string, Set<string> | undefined>()
  for (const page of pages) {
    const known = anchors.has(page.file) ? anchors.get(page.file) : new Set<string>()
    for (const anchor of page.anchors) known?.add(anchor)
    anchors.set(page.file, page.complete ? known : undefined)
  }
  return anchors
}

/** The path a link leads to, from the root (`""`: the root itself), or `undefined` when it leaves the root on its way. */
const resolve = (file: string, path: string): string | undefined => {
  if (path === "") return file
  const segments = path.startsWith("/") ? [] : file.split("/").slice(0, -1)
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue
    if (segment !== "..") segments.push(segment)
    else if (segments.pop() === undefined) return undefined
  }
  const target = segments.join("/")
  return target !== "" && /(?:^|\/)\.{0,2}$/.test(path) ? `${target}/` : target
}

const quote = (text: string): string => `"${text.length > 200 ? `${text.slice(0, 200)}…` : text}"`

const checkLink = (file: string, link: Link, anchors: Anchors, exists: ReadonlySet<string>): Finding | undefined => {
  const finding = (kind: Finding["kind"], message: string): Finding => ({ file, line: link.line, kind, message })
  const target = resolve(file, link.path)
  if (target === undefined) return undefined
  const folder = target === "" || exists.has(target.endsWith("/") ? target : `${target}/`)
  if (!folder && !exists.has(target) && !anchors.has(target)) {
    return finding("broken-link", `${quote(link.target)}: ${quote(target)} does not exist`)
  }
  const defined = anchors.get(target)
  if (defined === undefined || link.anchor === undefined || link.anchor === "top") return undefined
  // GitHub serves every anchor under this prefix, too.
  if (defined.has(link.anchor) || defined.has(link.anchor.replace(/^user-content-/, ""))) return undefined
  return finding("broken-anchor", `${quote(link.target)}: ${quote(target)} has no anchor ${quote(link.anchor)}`)
}

/**
 * The findings of all pages and of the links between them, sorted. `exists` holds the files below the root as POSIX paths
 * from it, and the folders with a slash at the end; nothing is derived from it.
 */
export const crossCheck = (pages: ReadonlyArray<PageFacts>, exists: ReadonlySet<string>): ReadonlyArray<Finding> => {
  const anchors = anchorsOf(pages)
  return normalise(pages.flatMap((page) => [
    ...page.findings,
    ...page.links.flatMap((link) => checkLink(page.file, link, anchors, exists) ?? [])
  ]))
}

const outsideOf = ({ file, links }: PageFacts): number =>
  links.filter(({ path }) => resolve(file, path) === undefined).length

/** Counts and findings of all pages. */
export const summarise = (pages: ReadonlyArray<PageFacts>, exists: ReadonlySet<string>): Summary => ({
  pages: pages.length,
  headings: pages.reduce((sum, page) => sum + page.counts.headings, 0),
  links: pages.reduce((sum, page) => sum + page.counts.links, 0),
  outside: pages.reduce((sum, page) => sum + outsideOf(page), 0),
  fences: pages.reduce((sum, page) => sum + page.counts.fences, 0),
  findings: crossCheck(pages, exists)
})

/** Breaks of line, invisible characters and those that reorder text are shown, never printed. */
// oxlint-disable-next-line no-control-regex
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Foreign text that can be printed. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)

/**
 * Foreign text as a code span, the one place where Markdown reads no markup: no link, tag, mention or emphasis. Its fence is
 * longer than any run of backticks inside. A table splits at `|` even there, unless a backslash precedes it, and no escape
 * exists for a backslash before that: such a backslash becomes its look-alike U+29F5.
 */
const code = (text: string): string => {
  const content = visible(text)
    .replace(/\\+(?=\|)/g, (run) => "\u29F5".repeat(run.length))
    .replace(/\|/g, "\\|")
  const longest = Math.max(0, ...(content.match(/`+/g) ?? []).map((run) => run.length))
  const fence = "`".repeat(longest + 1)
  const pad = content === "" || /^[` ]|[` ]$/.test(content) ? " " : ""
  return `${fence}${pad}${content}${pad}${fence}`
}

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** How many links were not checked, if any. */
export const unchecked = ({ outside }: Pick<Summary, "outside">): string =>
  outside === 0 ? "" : `${plural(outside, "link")} out of the folder not checked`

/** The report: counts, then one table per file. Equal summaries give equal texts. */
export const toMarkdown = (summary: Summary): string => {
  const findings = normalise(summary.findings)
  const lines = [
    "# Markdown audit",
    "",
    `${plural(summary.pages, "page")}, ${plural(summary.headings, "heading")}, ${plural(summary.links, "link")}, ${
      plural(summary.fences, "code fence")
    }: ${findings.length === 0 ? "no findings" : plural(findings.length, "finding")}.`,
    ...(summary.outside === 0 ? [] : ["", `${unchecked(summary)}.`])
  ]
  let file: string | undefined
  for (const finding of findings) {
    if (finding.file !== file) {
      file = finding.file
      lines.push("", `## ${code(file)}`, "", "| Line | Kind | Message |", "| ---: | --- | --- |")
    }
    lines.push(`| ${finding.line} | ${finding.kind} | ${code(finding.message)} |`)
  }
  return `${lines.join("\n")}\n`
}
