/**
 * Reads one Markdown page as GitHub does and says what it contributes to the
 * audit. Pure, and total: any text gives facts.
 */
import GithubSlugger from "github-slugger"
import type { Code, Heading, Node, Nodes, Root } from "mdast"
import { fromMarkdown } from "mdast-util-from-markdown"
import { frontmatterFromMarkdown } from "mdast-util-frontmatter"
import { gfmFromMarkdown } from "mdast-util-gfm"
import { frontmatter } from "micromark-extension-frontmatter"
import { gfm } from "micromark-extension-gfm"
import * as Fence from "./Fence.ts"
import { type Finding, type Kind, type Link, normalise, type PageFacts } from "./Finding.ts"
import * as Limit from "./Limit.ts"

interface Reading {
  readonly file: string
  readonly text: string
  readonly slugger: GithubSlugger
  readonly anchors: Set<string>
  readonly links: Array<Link>
  readonly findings: Array<Finding>
  readonly counts: { headings: number; links: number; fences: number }
  /** Depth of the last heading, 0 before the first. */
  depth: number
}

const parse = (text: string): Root =>
  fromMarkdown(text, {
    extensions: [gfm(), frontmatter(["yaml"])],
    mdastExtensions: [gfmFromMarkdown(), frontmatterFromMarkdown(["yaml"])]
  })

/** All nodes in document order. A stack of our own: pages may nest deeper than calls may. */
function* walk(root: Nodes): Generator<Nodes> {
  const stack: Array<Nodes> = [root]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    yield node
    if ("children" in node) {
      for (let i = node.children.length - 1; i >= 0; i--) stack.push(node.children[i]!)
    }
  }
}

const lineOf = (node: Node): number => node.position?.start.line ?? 1

const report = (reading: Reading, line: number, kind: Kind, message: string): void => {
  reading.findings.push({ file: reading.file, line, kind, message })
}

/** What a slug is made of: the text a reader sees, without images and tags. */
const textOf = (heading: Heading): string => {
  let text = ""
  for (const node of walk(heading)) {
    if (node.type === "text" || node.type === "inlineCode") text += node.value
  }
  return text
}

const readHeading = (reading: Reading, heading: Heading): void => {
  const { depth } = heading
  reading.counts.headings++
  reading.anchors.add(reading.slugger.slug(textOf(heading)))
  if (reading.depth !== 0 && depth > reading.depth + 1) {
    report(
      reading,
      lineOf(heading),
      "heading-jump",
      `h${depth} follows h${reading.depth}; h${reading.depth + 1} was expected`
    )
  }
  reading.depth = depth
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    // A stray `%` is legal in a file name, and no reason to give up.
    return text
  }
}

const readLink = (reading: Reading, line: number, url: string): void => {
  reading.counts.links++
  // Everything with a scheme, and `//host`, leaves the tree.
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(url)) return
  if (url.trim() === "") return report(reading, line, "broken-link", "the link has no target")
  const hash = url.indexOf("#")
  const path = decode((hash < 0 ? url : url.slice(0, hash)).replace(/\?.*$/s, ""))
  const anchor = hash < 0 ? "" : decode(url.slice(hash + 1)).replace(/:~:.*$/s, "")
  // Without an anchor, or at `#top`, a link to the page itself cannot break.
  if (path === "" && (anchor === "" || anchor === "top")) return
  reading.links.push({ line, target: url, path, ...(anchor === "" ? {} : { anchor }) })
}

const readCode = (reading: Reading, code: Code): void => {
  const start = code.position?.start.offset ?? 0
  // An indented block is the same node; it has no info string, and is no fence.
  if (reading.text[start] !== "`" && reading.text[start] !== "~") return
  reading.counts.fences++
  const problem = Fence.check(`${code.lang ?? ""} ${code.meta ?? ""}`, code.value)
  if (problem !== undefined) report(reading, lineOf(code) + problem.line, "code-fence", problem.message)
}

/** HTML comments hide anchors. `indexOf`, as a pattern would scan a run of `<!--` in quadratic time. */
const withoutComments = (html: string): string => {
  let out = ""
  let at = 0
  while (true) {
    const open = html.indexOf("<!--", at)
    if (open < 0) return out + html.slice(at)
    out += html.slice(at, open)
    const close = html.indexOf("-->", open + 4)
    if (close < 0) return out
    out += "\n".repeat(html.slice(open, close).split("\n").length - 1)
    at = close + 3
  }
}

/** Anchors, links and images written as tags. */
const readHtml = (reading: Reading, line: number, value: string): void => {
  const html = withoutComments(value)
  let at = 0
  for (const tag of html.matchAll(/<([a-z][a-z0-9-]*)([^<>]*)>/gi)) {
    const name = tag[1]!.toLowerCase()
    line += html.slice(at, tag.index).split("\n").length - 1
    at = tag.index
    for (const attribute of tag[2]!.matchAll(/\s(id|name|href|src)=(?:"([^"]*)"|'([^']*)'|([^\s"'=`]+))/gi)) {
      const key = attribute[1]!.toLowerCase()
      const text = attribute[2] ?? attribute[3] ?? attribute[4]!
      if (key === "id" || (key === "name" && name === "a")) reading.anchors.add(text)
      else if ((key === "href" && name === "a") || (key === "src" && name === "img")) readLink(reading, line, text)
    }
  }
}

const read = (reading: Reading, node: Nodes): void => {
  switch (node.type) {
    case "heading":
      return readHeading(reading, node)
    // A reference is as good as its definition, which is checked once.
    case "link":
    case "image":
    case "definition":
      return readLink(reading, lineOf(node), node.url)
    case "code":
      return readCode(reading, node)
    case "html":
      return readHtml(reading, lineOf(node), node.value)
    case "yaml": {
      const problem = Fence.frontMatter(node.value)
      if (problem === undefined) return
      return report(reading, lineOf(node) + problem.line, "code-fence", `front matter: ${problem.message}`)
    }
  }
}

const unreadable = (file: string, line: number, message: string): PageFacts => ({
  file,
  complete: false,
  anchors: [],
  links: [],
  findings: [{ file, line, kind: "unreadable-page", message }],
  counts: { headings: 0, links: 0, fences: 0 }
})

/** The facts of the page `path` (POSIX, from the audited root). A page that cannot be read gives one finding. */
export const analyse = (path: string, text: string): PageFacts => {
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text
  const limit = Limit.exceeded(source)
  if (limit !== undefined) return unreadable(path, limit.line, limit.message)
  let root: Root
  try {
    root = parse(source)
  } catch (error) {
    return unreadable(
      path,
      1,
      error instanceof RangeError ? "the page is nested too deeply to parse" : "the page does not parse"
    )
  }
  const reading: Reading = {
    file: path,
    text: source,
    slugger: new GithubSlugger(),
    anchors: new Set(),
    links: [],
    findings: [],
    counts: { headings: 0, links: 0, fences: 0 },
    depth: 0
  }
  for (const node of walk(root)) read(reading, node)
  const { anchors, counts, findings, links } = reading
  return { file: path, complete: true, anchors: [...anchors], links, findings: normalise(findings), counts }
}
