/**
 * What the pages and the examples of doc comments say is so. The `ts` blocks of a page are one module, in order, unless a fence
 * says `nocheck`; each `ts` block of a doc comment is a module of its own. All of them type-check together, and every
 * `// => value` behind a statement is what the statement gives, or prints, when the block is run.
 */
import { parse } from "@babel/parser"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { analyse } from "../docs/examples/audit/Page.ts"
import { summarise } from "../docs/examples/audit/Report.ts"
import { examplesOf, type Export, exportsOf, moduleOf } from "./blocks.ts"

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

/** The source files that users import from. */
const sources = files.filter((file) => /^src\/.*\.ts$/.test(file) && !/\/internal\/|\/index\.ts$/.test(file))
const codes = new Map(sources.map((source) => [source, readFileSync(join(root, source), "utf8")]))

// ---------------------------------------------------------------------------
// From pages and doc comments to modules
// ---------------------------------------------------------------------------

interface Module {
  /** Of the file that is written, without its ending. */
  readonly name: string
  /** The page or source file. */
  readonly file: string
  /** Where the module begins, if it is only a part of the file. */
  readonly line: number | undefined
  /** Each line stands where it stands in the file. */
  readonly source: string
}

const nameOf = (file: string): string => file.replaceAll("/", "_").replace(/\.\w+$/, "")

const ofPages = [...texts].flatMap(([file, text]): ReadonlyArray<Module> => {
  const source = moduleOf(text)
  return source.trim() === "" ? [] : [{ name: nameOf(file), file, line: undefined, source }]
})

const ofSources = [...codes].flatMap(([file, code]): ReadonlyArray<Module> =>
  examplesOf(code).map(({ line, module }) => ({ name: `${nameOf(file)}_${line}`, file, line, source: module }))
)

const modules = [...ofPages, ...ofSources]
const fileOf = new Map(modules.map(({ file, name }) => [name, file]))

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

/** The syntax tree of a module. */
const parsed = ({ file, source }: Module) => {
  try {
    return parse(source, { sourceType: "module", plugins: ["typescript"] })
  } catch (error) {
    throw new Error(`${file}: ${String(error)}`, { cause: error })
  }
}

/** The statements of a module that say what they give: by a comment behind them, or on the next line. */
const claimsOf = (module: Module): ReadonlyArray<Claim> => {
  const { file, source } = module
  const tree = parsed(module)
  const comments = (tree.comments ?? []) as unknown as ReadonlyArray<Comment>
  const statements = [...nodesOf(tree.program)].filter(({ type }) => type === "ExpressionStatement")
  return comments.filter(isClaim).map((comment) => {
    const node = statements.findLast(({ end }) =>
      end <= comment.start && source.slice(end, comment.start).trim() === ""
    )
    if (node === undefined) {
      throw new Error(`${file}:${comment.loc.start.line}: "// =>" stands behind no expression statement`)
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
const withClaims = (module: Module): string => {
  let out = module.source
  for (const { actual, end, expected, line, start } of claimsOf(module).toSorted((a, b) => b.start - a.start)) {
    out = `${out.slice(0, start)}__claim(${line}, ${actual}, (${expected}));${out.slice(end)}`
  }
  return prelude + out
}

/** Runs the modules of a file one after the other, all of them, whatever becomes of one. */
const runnerOf = (modules: ReadonlyArray<Module>): string =>
  modules.map(({ file, line, name }) => {
    const place = JSON.stringify(line === undefined ? file : `${file}:${line}`)
    return `await import("./${name}.ts").catch((error) => { process.exitCode = 1; console.error(${place}, error) })\n`
  }).join("")

// ---------------------------------------------------------------------------
// Checking and running them
// ---------------------------------------------------------------------------

interface Ended {
  readonly code: number
  readonly output: string
}

let folder = ""

const run = (args: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((resolve) => {
    // What each process has compiled of the library is there for the next.
    const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") }
    execFile(process.execPath, args, { encoding: "utf8", cwd: root, env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, output: `${stdout}${stderr}` }))
  })

/** The output with the page or the source file in place of each module that was written. The lines are the same. */
const told = (output: string): string =>
  output.replace(/[^\s"'`()]*?([\w-]+)\.ts(?=[:(])/g, (path, name: string) => fileOf.get(name) ?? path)

beforeAll(() => {
  // Inside the repository, so that `superstep` is this package, and not below `node_modules`, where Node strips no types.
  folder = mkdtempSync(join(root, "test", ".docs-"))
  mkdirSync(join(folder, "run"))
  for (const module of modules) {
    writeFileSync(join(folder, `${module.name}.ts`), module.source)
    writeFileSync(join(folder, "run", `${module.name}.ts`), withClaims(module))
  }
  const tsconfig = {
    extends: "../../tsconfig.json",
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    files: modules.map(({ name }) => `${name}.ts`),
    include: [],
    exclude: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig))
})

afterAll(() => {
  if (folder !== "" && existsSync(folder)) rmSync(folder, { recursive: true })
})

/** Every claim of the modules of a file is met, and holds. */
const check = async (file: string, modules: ReadonlyArray<Module>): Promise<void> => {
  const runner = join(folder, "run", `${nameOf(file)}.run.ts`)
  writeFileSync(runner, runnerOf(modules))
  const { code, output } = await run(["--conditions=superstep-src", runner])
  assert.strictEqual(code, 0, told(output))
  const met = output.split("\n").flatMap((line) =>
    line.startsWith("@claim ") ? [JSON.parse(line.slice("@claim ".length)) as [number, string, string]] : []
  )
  for (const [line, actual, expected] of met) {
    assert.strictEqual(`${file}:${line} ${actual}`, `${file}:${line} ${expected}`)
  }
  assert.deepStrictEqual(
    [...new Set(met.map(([line]) => `${file}:${line}`))].toSorted(),
    modules.flatMap(claimsOf).map(({ line }) => `${file}:${line}`).toSorted()
  )
}

describe("the blocks of the pages, and the examples of doc comments", () => {
  it("type-check", async () => {
    const { code, output } = await run([tsc, "-p", folder, "--pretty", "false"])
    assert.strictEqual(told(output), "")
    assert.strictEqual(code, 0)
  }, 120_000)

  for (const module of ofPages) {
    if (claimsOf(module).length === 0) continue
    it.concurrent(`give what ${module.file} says`, () => check(module.file, [module]), 120_000)
  }
  for (const [file, modules] of Map.groupBy(ofSources, ({ file }) => file)) {
    it.concurrent(`give what ${file} says`, () => check(file, modules), 120_000)
  }
})

// ---------------------------------------------------------------------------
// What has to have an example
// ---------------------------------------------------------------------------

/** Types, whose methods are what their modules do. */
const handles: ReadonlySet<string> = new Set(["StateGraph.StateGraph", "Thread.Thread"])

/** `src/Channel.ts` has no room for the examples of these: the blocks of the page use each. */
const shownOnPages: Readonly<Record<string, ReadonlyArray<string>>> = {
  "docs/channels.md": [
    "Channel.isOverwrite",
    "Channel.overwrite",
    "Channel.isChannel",
    "Channel.lastValue",
    "Channel.anyValue",
    "Channel.ephemeral",
    "Channel.untracked",
    "Channel.topic",
    "Channel.reducer",
    "Channel.reduced",
    "Channel.combined",
    "Channel.append",
    "Channel.delta",
    "Channel.namedBarrier",
    "Channel.namedBarrierAfterFinish",
    "Channel.lastValueAfterFinish",
    "Channel.empty",
    "Channel.isAvailable",
    "Channel.read",
    "Channel.consume",
    "Channel.finish",
    "Channel.isTransient",
    "Channel.encode",
    "Channel.decode",
    "Channel.encodeWrite",
    "Channel.decodeWrite",
    "Channel.validate"
  ]
}

const isShown = (module: string, { category, isInternal, kind, name }: Export): boolean => {
  if (handles.has(`${module}.${name}`)) return true
  if (isInternal || kind === "type" || category === "constants") return false
  return kind === "const" || (category !== "models" && category !== "errors")
}

describe("public exports", () => {
  const exports = [...codes].flatMap(([file, code]) => {
    const module = basename(file, ".ts")
    return exportsOf(code).filter((one) => isShown(module, one)).map((one) => ({
      ...one,
      file,
      full: `${module}.${one.name}`
    }))
  })
  const excepted = new Set(Object.values(shownOnPages).flat())

  it("that do something have an example, or a page that uses them", () => {
    assert.isAbove(exports.length, 80)
    const without = exports.filter(({ full, hasExample }) => !hasExample && !excepted.has(full))
    assert.deepStrictEqual(without.map(({ file, full, line }) => `${file}:${line} ${full}`), [])
  })
  it("that a page stands for have no example, and are used in its blocks", () => {
    const lacking = new Set(exports.filter(({ hasExample }) => !hasExample).map(({ full }) => full))
    assert.deepStrictEqual([...excepted].filter((full) => !lacking.has(full)), [])
    const unused = Object.entries(shownOnPages).flatMap(([page, names]) => {
      const words = new Set(ofPages.find(({ file }) => file === page)?.source.match(/\w+\.\w+/g))
      return names.filter((full) => !words.has(full)).map((full) => `${page}: ${full}`)
    })
    assert.deepStrictEqual(unused, [])
  })
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
