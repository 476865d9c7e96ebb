/** The rules that every source file keeps: which layer it belongs to, what it may import, how long it may be. */
import { parse, type ParserOptions } from "@babel/parser"
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import * as Superstep from "superstep"

const root = resolve(import.meta.dirname, "..")
const src = join(root, "src")

// ---------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------

const parserOptions: ParserOptions = { sourceType: "module", plugins: ["typescript"] }

interface Span {
  readonly start: { readonly line: number }
  readonly end: { readonly line: number }
}

interface Syntax {
  readonly type: string
  readonly loc?: Span
  readonly source?: { readonly value: string } | null
  readonly argument?: { readonly value?: string }
  readonly body?: Syntax
  readonly params?: ReadonlyArray<Syntax>
}

interface Source {
  /** Path below `src`, with slashes. */
  readonly path: string
  readonly lines: number
  readonly imports: ReadonlyArray<string>
  readonly functions: ReadonlyArray<{ readonly line: number; readonly lines: number; readonly params: number }>
}

const isFunction = ({ type }: Syntax): boolean =>
  type === "FunctionDeclaration" || type === "FunctionExpression" || type === "ArrowFunctionExpression" ||
  type === "ObjectMethod" || type === "ClassMethod" || type === "ClassPrivateMethod"

const walk = (node: unknown, visit: (node: Syntax) => void): void => {
  if (Array.isArray(node)) {
    for (const item of node) walk(item, visit)
  } else if (typeof node === "object" && node !== null) {
    if (typeof (node as Syntax).type === "string") visit(node as Syntax)
    for (const [key, value] of Object.entries(node)) if (key !== "loc" && !key.endsWith("Comments")) walk(value, visit)
  }
}

const read = (path: string): Source => {
  const text = readFileSync(join(src, path), "utf8")
  const imports: Array<string> = []
  const functions: Array<Source["functions"][number]> = []
  walk(parse(text, parserOptions).program, (node) => {
    // `import`, `export … from`, `import("…")` as an expression and as a type.
    if (typeof node.source?.value === "string") imports.push(node.source.value)
    if (node.type === "TSImportType" && typeof node.argument?.value === "string") imports.push(node.argument.value)
    if (isFunction(node)) {
      const { end, start } = node.loc!
      functions.push({ line: start.line, lines: end.line - start.line + 1, params: node.params?.length ?? 0 })
    }
  })
  return { path, lines: text.trimEnd().split("\n").length, imports, functions }
}

const sources: ReadonlyArray<Source> = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => path.replaceAll("\\", "/"))
  .sort()
  .map(read)

/** The source files that a file imports, as paths below `src`. */
const local = ({ imports, path }: Source): ReadonlyArray<string> =>
  imports.filter((name) => name.startsWith(".")).map((name) =>
    relative(src, resolve(dirname(join(src, path)), name)).replaceAll("\\", "/")
  )

// ---------------------------------------------------------------------------
// Layers
// ---------------------------------------------------------------------------

/** By layer, lowest first: the files, or folders, that belong to it. */
const layers: ReadonlyArray<ReadonlyArray<string>> = [
  [
    "Channel",
    "GraphError",
    "internal/ast",
    "internal/canonical",
    "internal/codec",
    "internal/fit",
    "internal/freeze",
    "internal/growing",
    "internal/list",
    "internal/promise",
    "internal/record",
    "internal/rule",
    "internal/same",
    "internal/say"
  ],
  [
    "State",
    "Node",
    "Migration",
    "Policy",
    "Interrupt",
    "Running",
    "Command",
    "Send",
    "Checkpoint",
    "Event",
    "internal/asker"
  ],
  ["internal/engine/"],
  ["Checkpointer", "Store", "NodeCache", "internal/store/"],
  ["internal/runtime/"],
  ["StateGraph", "Thread", "Entrypoint", "Journal", "Task", "Pregel", "Diagram", "Analysis"],
  ["agent/", "deep/"]
]

/** Beside the layers: they use public modules, and nobody uses them. */
const aside = ["sql/", "persistence/", "crypto/", "langgraph/", "testing/", "cli/", "server/", "studio/", "cluster/"]

const belongsTo = (path: string, names: ReadonlyArray<string>): boolean =>
  names.some((name) => name.endsWith("/") ? path.startsWith(name) : path === `${name}.ts`)

const layerOf = (path: string): number => layers.findIndex((names) => belongsTo(path, names))
const isAside = (path: string): boolean => belongsTo(path, aside)
const isInternal = (path: string): boolean => path.split("/").includes("internal")

describe("layers", () => {
  it("every source file belongs to a layer, or stands beside them", () => {
    assert.isAbove(sources.length, 40)
    assert.deepStrictEqual(
      sources.filter(({ path }) => path !== "index.ts" && layerOf(path) < 0 && !isAside(path)).map(({ path }) => path),
      []
    )
  })

  it("imports lead to files that exist, and only down or across", () => {
    const paths = new Set(sources.map(({ path }) => path))
    const wrong = sources.filter(({ path }) => path !== "index.ts" && !isAside(path)).flatMap((source) =>
      local(source).filter((target) => !paths.has(target) || isAside(target) || layerOf(target) > layerOf(source.path))
        .map((target) => `${source.path} -> ${target}`)
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("what stands beside the layers, and the batteries, use public modules only, and those of their own folder", () => {
    const wrong = sources.filter(({ path }) => isAside(path) || layerOf(path) === 6).flatMap((source) =>
      local(source).filter((target) => isInternal(target) && target.split("/")[0] !== source.path.split("/")[0])
        .map((target) => `${source.path} -> ${target}`)
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("no import leads back to where it came from, types included", () => {
    const graph = new Map(sources.map((source) => [source.path, local(source)]))
    const done = new Set<string>()
    const cycles: Array<string> = []
    const visit = (path: string, trail: ReadonlyArray<string>): void => {
      const start = trail.indexOf(path)
      if (start >= 0) cycles.push([...trail.slice(start), path].join(" -> "))
      if (start >= 0 || done.has(path)) return
      for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
      done.add(path)
    }
    for (const path of graph.keys()) visit(path, [])
    assert.deepStrictEqual(cycles, [])
  })
})

// ---------------------------------------------------------------------------
// What is used of other packages
// ---------------------------------------------------------------------------

/** What pure code may use of Effect: data, no effects, no clock, no chance. */
const pure = new Set(
  [
    "Cause",
    "Combiner",
    "Data",
    "Duration",
    "Equal",
    "Exit",
    "Hash",
    "Option",
    "Reducer",
    "Result",
    "Schema",
    "SchemaAST",
    "Types"
  ].map((name) => `effect/${name}`)
)

describe("imports from other packages", () => {
  const foreign = ({ imports }: Source): ReadonlyArray<string> => imports.filter((name) => !name.startsWith("."))

  it("channels and the engine use data types of Effect only", () => {
    const wrong = sources.filter(({ path }) => layerOf(path) === 0 || layerOf(path) === 2).flatMap((source) =>
      foreign(source).filter((name) => !pure.has(name)).map((name) => `${source.path} -> ${name}`)
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("the library from the channels to the typed front depends on effect alone", () => {
    const wrong = sources.filter(({ path }) => layerOf(path) >= 0 && layerOf(path) <= 5).flatMap((source) =>
      foreign(source).filter((name) => !name.startsWith("effect/")).map((name) => `${source.path} -> ${name}`)
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("sources import the modules of Effect, not the barrel, which is slow to load", () => {
    assert.deepStrictEqual(
      sources.filter((source) => foreign(source).some((name) => name === "effect" || name === "@effect/platform-node"))
        .map(({ path }) => path),
      []
    )
  })
})

// ---------------------------------------------------------------------------
// Size and shape
// ---------------------------------------------------------------------------

describe("size", () => {
  it("no file is longer than 800 lines", () => {
    assert.deepStrictEqual(sources.filter(({ lines }) => lines > 800).map(({ lines, path }) => `${path}: ${lines}`), [])
  })

  it("no function is longer than 70 lines", () => {
    const long = sources.flatMap(({ functions, path }) =>
      functions.filter(({ lines }) => lines > 70).map(({ line, lines }) => `${path}:${line}: ${lines}`)
    )
    assert.deepStrictEqual(long, [])
  })

  it("no function takes more than 5 parameters", () => {
    const wide = sources.flatMap(({ functions, path }) =>
      functions.filter(({ params }) => params > 5).map(({ line, params }) => `${path}:${line}: ${params}`)
    )
    assert.deepStrictEqual(wide, [])
  })
})

describe("the package", () => {
  it("exports every public module of the library, each under its own name", () => {
    const modules = sources.filter(({ path }) => layerOf(path) >= 0 && layerOf(path) <= 5 && !isInternal(path)).map((
      { path }
    ) => path.replace(/\.ts$/, ""))
    const exported = Object.keys(Superstep).filter((name) => name !== "START" && name !== "END")
    assert.deepStrictEqual(exported.sort(), modules.sort())
  })

  it("the barrel exports these modules and nothing else", () => {
    const { imports } = read("index.ts")
    assert.deepStrictEqual(imports.filter((name) => isInternal(name) || isAside(name.replace("./", ""))), [])
  })

  it("public modules are nouns in PascalCase, internal ones are not", () => {
    const wrong = sources.filter(({ path }) => {
      const name = path.split("/").at(-1)!
      return path !== "index.ts" && isInternal(path) !== /^[a-z]/.test(name)
    })
    assert.deepStrictEqual(wrong.map(({ path }) => path), [])
  })
})
