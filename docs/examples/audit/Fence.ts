/**
 * Whether the text of a code fence parses in its language.
 *
 * TypeScript goes through `@babel/parser`. Node's own `stripTypeScriptTypes`
 * would do, but its WebAssembly parser never recovers from a stack overflow:
 * after one fence with 2000 open brackets every later fence of the process
 * fails. One hostile page would then put findings on honest ones.
 */
import { parse as parseModule } from "@babel/parser"
import { LineCounter, parseAllDocuments, parseDocument } from "yaml"

/** A syntax error; `line` counts from 1 inside the text. */
export interface SyntaxProblem {
  readonly line: number
  readonly message: string
}

/** Pages show variants of one declaration side by side; parsers call that an early error, readers do not. */
const TOLERATED = new Set([
  "VarRedeclaration",
  "DuplicateExport",
  "DuplicateDefaultExport",
  "InvalidPrivateFieldResolution"
])

const firstLine = (message: string): string => {
  const line = message.split("\n", 1)[0]!.replace(/ at line \d+, column \d+:?$/, "").replace(/ \(\d+:\d+\)$/, "").trim()
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

/** Parsers descend recursively: what they cannot descend into is a problem of the text. */
const guarded = (
  run: () => SyntaxProblem | undefined,
  failure: (error: unknown) => SyntaxProblem
): SyntaxProblem | undefined => {
  try {
    return run()
  } catch (error) {
    return error instanceof RangeError ? { line: 1, message: "nested too deeply to parse" } : failure(error)
  }
}

const messageOf = (error: unknown): string => firstLine(error instanceof Error ? error.message : "does not parse")

const json = (text: string): SyntaxProblem | undefined =>
  guarded(() => {
    JSON.parse(text)
    return undefined
  }, (error) => {
    const raw = error instanceof Error ? error.message : ""
    const at = /\(line (\d+) column \d+\)$/.exec(raw)
    return { line: at === null ? 1 : Number(at[1]), message: firstLine(raw.replace(/ in JSON at position.*$/s, "")) }
  })

const yamlWith = (text: string, documents: "one" | "many"): SyntaxProblem | undefined =>
  guarded(() => {
    const lineCounter = new LineCounter()
    // `prettyErrors` would put an excerpt of the page into the message.
    const options = { lineCounter, prettyErrors: false, logLevel: "silent" } as const
    const parsed = documents === "one" ? [parseDocument(text, options)] : parseAllDocuments(text, options)
    const error = (Array.isArray(parsed) ? parsed : []).flatMap((document) => document.errors)[0]
    if (error === undefined) return undefined
    return { line: Math.max(1, lineCounter.linePos(error.pos[0]).line), message: firstLine(error.message) }
  }, (error) => ({ line: 1, message: messageOf(error) }))

/** Front matter: exactly one YAML document. */
export const frontMatter = (text: string): SyntaxProblem | undefined => yamlWith(text, "one")

const lineOf = (error: unknown): number => {
  const loc = typeof error === "object" && error !== null && "loc" in error ? error.loc : undefined
  return typeof loc === "object" && loc !== null && "line" in loc && typeof loc.line === "number" ? loc.line : 1
}

const script = (text: string): SyntaxProblem | undefined =>
  guarded(() => {
    const { errors } = parseModule(text, {
      sourceType: "module",
      errorRecovery: true,
      allowUndeclaredExports: true,
      plugins: ["typescript", "decorators", "decoratorAutoAccessors"]
    })
    const error = errors?.find((error) => !TOLERATED.has(error.reasonCode))
    return error === undefined ? undefined : { line: lineOf(error), message: messageOf(error) }
  }, (error) => ({ line: lineOf(error), message: messageOf(error) }))

const yaml = (text: string) => yamlWith(text, "many")

const LANGUAGES: ReadonlyMap<string, readonly [name: string, parse: (text: string) => SyntaxProblem | undefined]> =
  new Map([
    ["json", ["JSON", json]],
    ["yaml", ["YAML", yaml]],
    ["yml", ["YAML", yaml]],
    ["js", ["JavaScript", script]],
    ["mjs", ["JavaScript", script]],
    ["javascript", ["JavaScript", script]],
    ["ts", ["TypeScript", script]],
    ["mts", ["TypeScript", script]],
    ["typescript", ["TypeScript", script]]
  ])

/** What is wrong with a fence. `info` is its whole info string; unknown languages and `nocheck` pass. */
export const check = (info: string, text: string): SyntaxProblem | undefined => {
  if (info.includes("nocheck")) return undefined
  // `ts{1,3}` and `ts,twoslash` are TypeScript; `tsx` and `json5` are languages of their own.
  const language = LANGUAGES.get(/^[\w+#-]*/.exec(info)![0].toLowerCase())
  const problem = language?.[1](text)
  return problem === undefined ? undefined : { line: problem.line, message: `${language![0]}: ${problem.message}` }
}
