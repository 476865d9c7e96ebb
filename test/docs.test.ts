/**
 * What the pages say is so. The `ts` blocks of a page are one module, in order, unless a fence says `nocheck`: all pages
 * type-check together, and every `// => value` behind a statement is what the statement gives, or prints, when the page is
 * run.
 */
import { parse } from "@babel/parser"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { analyse } from "../docs/examples/audit/Page.ts"
import { summarise } from "../docs/examples/audit/Report.ts"
import { moduleOf } from "./blocks.ts"

const root = join(dirname(fileURLToPath(import.meta.url)), "..")
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

const ignored = new Set(["node_modules", "dist", "coverage"])

/** The files of the repository as paths from its root, folders with a slash at the end. */
const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (ignored.has(entry.name) || (entry.isDirectory() && entry.name.startsWith("."))) return []
    const path = `${folder}${entry.name}`
    if (path === "docs/api") return []
    return entry.isDirectory() ? [`${path}/`, ...filesBelow(`${path}/`)] : [path]
  })

const files = filesBelow("")
const pages = files.filter((file) => /^(?:README|CHANGELOG|CONTRIBUTING)\.md$|^docs\/.*\.md$/.test(file))
const texts = new Map(pages.map((page) => [page, readFileSync(join(root, page), "utf8")]))

// ---------------------------------------------------------------------------
// From pages to modules
// ---------------------------------------------------------------------------

const modules = new Map(
  [...texts].map(([page, text]) => [page, moduleOf(text)]).filter(([, module]) => module!.trim() !== "") as Array<
    [string, string]
  >
)

interface Claim {
  readonly line: number
  readonly start: number
  readonly end: number
  /** The source of the value that is claimed for, and of the claimed value. */
  readonly actual: string
  readonly expected: string
}

interface Placed {
  readonly start: number
  readonly end: number
  readonly loc: { readonly start: { readonly line: number } }
}

type Node = Placed & { readonly type: string } & Readonly<Record<string, unknown>>

/** Every node of a syntax tree. */
function* nodesOf(value: unknown): Generator<Node> {
  if (Array.isArray(value)) { for (const item of value) yield* nodesOf(item) }
  else if (typeof value === "object" && value !== null && "type" in value) {
    const node = value as Node
    yield node
    for (const [key, child] of Object.entries(node)) if (!key.endsWith("Comments")) yield* nodesOf(child)
  }
}

/** What `console.log` prints, or the expression itself. */
const subjectOf = (source: string, expression: Node): string => {
  const callee = expression["callee"] as Node | undefined
  const args = expression["arguments"] as ReadonlyArray<Node> | undefined
  const isLog = expression.type === "CallExpression" && callee !== undefined &&
    source.slice(callee.start, callee.end) === "console.log"
  return isLog ? source.slice(args![0]!.start, args!.at(-1)!.end) : source.slice(expression.start, expression.end)
}

type Comment = Placed & { readonly value: string }

/** A comment with those on the lines right below it, as one text. */
const textFrom = (comments: ReadonlyArray<Comment>, first: Comment): string => {
  const texts = [first.value.trimStart().slice("=>".length)]
  for (let line = first.loc.start.line + 1;; line++) {
    const next = comments.find((comment) => comment.loc.start.line === line && !isClaim(comment))
    if (next === undefined) return texts.join("\n").trim()
    texts.push(next.value)
  }
}

const isClaim = (comment: Comment): boolean => comment.value.trimStart().startsWith("=>")

/** The statements of a module that say what they give: by a comment behind them, or on the next line. */
const claimsOf = (source: string): ReadonlyArray<Claim> => {
  const tree = parse(source, { sourceType: "module", plugins: ["typescript"] })
  const comments = (tree.comments ?? []) as unknown as ReadonlyArray<Comment>
  const statements = [...nodesOf(tree.program)].filter(({ type }) => type === "ExpressionStatement")
  return comments.filter(isClaim).map((comment) => {
    const node = statements.findLast(({ end }) =>
      end <= comment.start && source.slice(end, comment.start).trim() === ""
    )
    if (node === undefined) {
      throw new Error(`line ${comment.loc.start.line}: "// =>" stands behind no expression statement`)
    }
    return {
      line: comment.loc.start.line,
      start: node.start,
      end: node.end,
      actual: subjectOf(source, node["expression"] as Node),
      expected: textFrom(comments, comment)
    }
  })
}

/** Prints one line of JSON for each claim that was met on the way. */
const prelude = [
  "import { inspect as __inspect } from 'node:util'",
  "const __show = (value) => __inspect(value, { depth: null, breakLength: Infinity, compact: true, sorted: true })",
  "const __claim = (...[line, actual, expected]) => console.log('@claim ' + JSON.stringify([line, __show(actual), __show(expected)]))",
  ""
].join("; ")

/** The module that is run: each claim compares. */
const withClaims = (source: string): string => {
  let out = source
  for (const { actual, end, expected, line, start } of claimsOf(source).toSorted((a, b) => b.start - a.start)) {
    out = `${out.slice(0, start)}__claim(${line}, ${actual}, (${expected}));${out.slice(end)}`
  }
  return prelude + out
}

// ---------------------------------------------------------------------------
// Checking and running them
// ---------------------------------------------------------------------------

interface Ended {
  readonly code: number
  readonly output: string
}

const run = (args: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { encoding: "utf8", cwd: root, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, output: `${stdout}${stderr}` }))
  })

let folder = ""
const fileOf = (page: string): string => page.replaceAll("/", "_").replace(/\.md$/, "")

beforeAll(() => {
  // Inside the repository, so that `superstep` is this package, and not below `node_modules`, where Node strips no types.
  folder = mkdtempSync(join(root, "test", ".docs-"))
  mkdirSync(join(folder, "run"))
  for (const [page, source] of modules) {
    writeFileSync(join(folder, `${fileOf(page)}.ts`), source)
    writeFileSync(join(folder, "run", `${fileOf(page)}.ts`), withClaims(source))
  }
  const tsconfig = {
    extends: "../../tsconfig.json",
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    files: [...modules.keys()].map((page) => `${fileOf(page)}.ts`),
    include: [],
    exclude: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig))
})

afterAll(() => {
  if (folder !== "" && existsSync(folder)) rmSync(folder, { recursive: true })
})

describe("the blocks of the pages", () => {
  it("type-check", async () => {
    const { code, output } = await run([tsc, "-p", folder, "--pretty", "false"])
    assert.strictEqual(output, "")
    assert.strictEqual(code, 0)
  }, 120_000)

  for (const [page, source] of modules) {
    const claims = claimsOf(source)
    if (claims.length === 0) continue
    it.concurrent(`give what ${page} says`, async () => {
      const { code, output } = await run(["--conditions=superstep-src", join(folder, "run", `${fileOf(page)}.ts`)])
      assert.strictEqual(code, 0, output)
      const met = output.split("\n").flatMap((line) =>
        line.startsWith("@claim ") ? [JSON.parse(line.slice("@claim ".length)) as [number, string, string]] : []
      )
      for (const [line, actual, expected] of met) {
        assert.strictEqual(`${page}:${line} ${actual}`, `${page}:${line} ${expected}`)
      }
      assert.deepStrictEqual(
        [...new Set(met.map(([line]) => line))].toSorted((a, b) => a - b),
        claims.map(({ line }) => line).toSorted((a, b) => a - b)
      )
    }, 120_000)
  }
})

describe("the pages", () => {
  const facts = [...texts].map(([page, text]) => analyse(page, text))

  it("have no broken link, anchor, heading or fence", () => {
    const { findings, outside } = summarise(facts, new Set(files))
    assert.deepStrictEqual([findings, outside], [[], 0])
  })
  it("are led to by the README, at once or through others", () => {
    const linked = new Map(facts.map(({ file, links }) => [file, links.map(({ path }) => join(dirname(file), path))]))
    const reached = new Set(["README.md"])
    for (const page of reached) for (const target of linked.get(page) ?? []) if (linked.has(target)) reached.add(target)
    assert.deepStrictEqual(pages.filter((page) => !reached.has(page)), [])
  })
})
