/**
 * The page `docs/conformance.md` is the list of cases, and nothing else is: a section per state, an item per case, below it the
 * tests that show it. What the page says of tests, links and counts is so.
 */
import { parse } from "@babel/parser"
import { assert, describe, it } from "@effect/vitest"
import type { List, ListItem, Nodes, RootContent, Table } from "mdast"
import { fromMarkdown } from "mdast-util-from-markdown"
import { gfmFromMarkdown } from "mdast-util-gfm"
import { gfm } from "micromark-extension-gfm"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { analyse } from "../../docs/examples/audit/Page.ts"

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..")
const docs = join(root, "docs")
const states = ["Same", "Different", "Left out", "Later"] as const
type State = typeof states[number]

interface Case {
  readonly id: string
  readonly state: State
  readonly links: ReadonlyArray<{ readonly url: string; readonly text: string }>
  readonly tests: ReadonlyArray<{ readonly file: string; readonly title: string }>
}

// ---------------------------------------------------------------------------
// The page
// ---------------------------------------------------------------------------

const textOf = (node: Nodes): string =>
  "value" in node ? node.value : "children" in node ? node.children.map(textOf).join("") : ""

const isState = (text: string): text is State => states.some((state) => state === text)

/** A link to a test file, then the title. */
const testOf = (item: ListItem): Case["tests"][number] => {
  const [paragraph] = item.children
  const parts = paragraph?.type === "paragraph" ? paragraph.children.filter((part) => textOf(part).trim() !== "") : []
  const [link, title] = parts
  if (parts.length !== 2 || link?.type !== "link" || title?.type !== "inlineCode") {
    throw new Error(`line ${item.position?.start.line}: a test is a link and a title in code`)
  }
  return { file: relative(root, join(docs, link.url)), title: title.value }
}

const caseOf = (item: ListItem, state: State): Case => {
  const [paragraph, tests, ...rest] = item.children
  const id = paragraph?.type === "paragraph" ? paragraph.children[0] : undefined
  if (paragraph?.type !== "paragraph" || id?.type !== "strong" || rest.length > 0 || (tests && tests.type !== "list")) {
    throw new Error(`line ${item.position?.start.line}: a case is an id in bold, a text, and a list of tests`)
  }
  const links = paragraph.children.flatMap((part) =>
    part.type === "link" ? [{ url: part.url, text: textOf(part) }] : []
  )
  return { id: textOf(id), state, links, tests: tests === undefined ? [] : tests.children.map(testOf) }
}

const isList = (node: RootContent): node is List => node.type === "list"

/** The cases below the headings that are states, in their order. */
const casesOf = (nodes: ReadonlyArray<RootContent>): ReadonlyArray<Case> => {
  let state: State | undefined
  return nodes.flatMap((node) => {
    if (node.type === "heading" && node.depth === 2) {
      const text = textOf(node)
      state = isState(text) ? text : undefined
    }
    const here = state
    return here === undefined || !isList(node) ? [] : node.children.map((item) => caseOf(item, here))
  })
}

const nodes = fromMarkdown(readFileSync(join(docs, "conformance.md"), "utf8"), {
  extensions: [gfm()],
  mdastExtensions: [gfmFromMarkdown()]
}).children
const cases = casesOf(nodes)

// ---------------------------------------------------------------------------
// The tests
// ---------------------------------------------------------------------------

type Syntax = Readonly<Record<string, unknown>> & {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** Every node of a syntax tree. */
function* syntaxOf(value: unknown): Generator<Syntax> {
  if (Array.isArray(value)) { for (const item of value) yield* syntaxOf(item) }
  else if (typeof value === "object" && value !== null && "type" in value) {
    yield value as Syntax
    for (const [key, child] of Object.entries(value)) if (!key.endsWith("Comments")) yield* syntaxOf(child)
  }
}

/** `it.effect.skipIf` as its names. */
const namesOf = (callee: Syntax): ReadonlyArray<string> =>
  callee.type === "Identifier"
    ? [callee["name"] as string]
    : callee.type === "MemberExpression"
    ? [...namesOf(callee["object"] as Syntax), ...namesOf(callee["property"] as Syntax)]
    : callee.type === "CallExpression"
    ? namesOf(callee["callee"] as Syntax)
    : []

const declares = new Set(["it", "test", "describe", "behaves", "behavesReopened"])
const disables = new Set(["skip", "todo", "fails"])

/** The titles of the tests in a file that are run, a template as it is written. */
const titlesOf = (file: string): ReadonlySet<string> => {
  const source = readFileSync(join(root, file), "utf8")
  const tree = parse(source, { sourceType: "module", plugins: ["typescript"] })
  return new Set([...syntaxOf(tree.program)].flatMap((node) => {
    if (node.type !== "CallExpression") return []
    const names = namesOf(node["callee"] as Syntax)
    const [title] = node["arguments"] as ReadonlyArray<Syntax>
    if (title === undefined || !declares.has(names[0] ?? "") || names.some((name) => disables.has(name))) return []
    return title.type === "StringLiteral"
      ? [title["value"] as string]
      : title.type === "TemplateLiteral"
      ? [source.slice(title.start + 1, title.end - 1)]
      : []
  }))
}

const known = new Map<string, ReadonlySet<string>>()
const titlesIn = (file: string): ReadonlySet<string> => {
  const titles = known.get(file) ?? (existsSync(join(root, file)) ? titlesOf(file) : new Set<string>())
  known.set(file, titles)
  return titles
}

// ---------------------------------------------------------------------------
// What the page says is so
// ---------------------------------------------------------------------------

const pages = new Map<string, { readonly text: string; readonly anchors: ReadonlyArray<string> }>()
const pageOf = (path: string) => {
  const known = pages.get(path)
  if (known !== undefined || !existsSync(join(docs, path))) return known
  const text = readFileSync(join(docs, path), "utf8")
  const page = { text, anchors: analyse(path, text).anchors }
  pages.set(path, page)
  return page
}

/** The page that a link leads to, if it has the anchor. */
const targetOf = (url: string) => {
  const [path, anchor] = url.split("#") as [string, string | undefined]
  const page = pageOf(path)
  return anchor === undefined || page?.anchors.includes(anchor) ? page : undefined
}

/** Which cases a row of the counts is about. */
const rows: Readonly<Record<string, RegExp>> = {
  "Founding examples": /^Example /,
  "LangGraph's tests": /^LG#/,
  "LangGraph's rules": /^LG§/,
  "Public reports": /^Report /,
  "All": /^(?:Example |LG#|LG§|Report )/
}

describe("the cases of the conformance page", () => {
  it("have an id each", () => {
    assert.isAbove(cases.length, 300)
    assert.deepStrictEqual(cases.filter(({ id }) => !rows["All"]!.test(id)), [])
    const ids = cases.map(({ id }) => id)
    assert.deepStrictEqual(ids.filter((id, index) => ids.indexOf(id) !== index), [])
  })

  it("are shown by tests that exist under these titles", () => {
    const missing = cases.flatMap(({ id, tests }) =>
      tests.flatMap(({ file, title }) => titlesIn(file).has(title) ? [] : [`${id}: ${file}: ${title}`])
    )
    assert.deepStrictEqual(missing, [])
    const isShown = (state: State) => state === "Same" || state === "Different"
    assert.deepStrictEqual(cases.filter(({ state, tests }) => isShown(state) !== (tests.length > 0)), [])
  })

  it("name a law, a decision or a page for what is not the same, and every link leads there", () => {
    assert.deepStrictEqual(cases.filter(({ links, state }) => state !== "Same" && links.length === 0), [])
    const broken = cases.flatMap(({ id, links }) =>
      links.flatMap(({ url }) => targetOf(url) === undefined ? [`${id}: ${url}`] : [])
    )
    assert.deepStrictEqual(broken, [])
  })

  it("are left for later only if the page that is linked announces it", () => {
    const silent = cases.filter(({ links, state }) =>
      state === "Later" && !links.some(({ text, url }) => targetOf(url)?.text.includes(text))
    )
    assert.deepStrictEqual(silent, [])
  })

  it("are counted at the top", () => {
    const [head, ...counts] = nodes.find((node): node is Table => node.type === "table")!.children.map((row) =>
      row.children.map(textOf)
    )
    assert.deepStrictEqual(head, ["Cases", ...states, "All"])
    const expected = Object.entries(rows).map(([name, of]) => {
      const own = cases.filter(({ id }) => of.test(id))
      return [name, ...states.map((state) => own.filter((one) => one.state === state).length), own.length].map(String)
    })
    assert.deepStrictEqual(counts, expected)
  })
})
