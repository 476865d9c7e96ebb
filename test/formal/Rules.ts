/**
 * The rules of the commit protocol, read from the model: `docs/formal/commit.pml` is the one place where they stand. A rule is
 * a line `#define NAME(parameters) (expression)`, in operators that Promela shares with JavaScript.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { createContext, Script } from "node:vm"

const path = fileURLToPath(new URL("../../docs/formal/commit.pml", import.meta.url))

/** What rules speak of: numbers stand for ids, owners and lives, and 0 for none. */
export type Value = number | boolean

export const names = [
  "ROW_REPLACES",
  "PUT_FITS_LIFE",
  "PUT_FITS_HEAD",
  "COMMIT_FITS_LIFE",
  "COMMIT_REPEATS",
  "COMMIT_FITS_HEAD",
  "BROUGHT_FITS",
  "COMMIT_FITS_ROWS",
  "TASK_RUNS",
  "ANSWER_IS_TAKEN"
] as const

export type Name = typeof names[number]

/** Each rule takes its parameters by name. */
export type Rules = Readonly<Record<Name, (parameters: Readonly<Record<string, Value>>) => boolean>>

export const statuses = { none: 0, paused: 1, failed: 2, done: 3 } as const

/** The lines that are left when no mutant is defined. */
const unmutated = (source: string): ReadonlyArray<string> => {
  const left: Array<string> = []
  /** Of each open condition: whether its lines are left out. */
  const open: Array<boolean> = []
  for (const line of source.split("\n")) {
    if (line.startsWith("#if")) open.push(line.includes("MUTANT_") && !line.startsWith("#ifndef"))
    else if (/^#elif.*MUTANT_/.test(line)) open[open.length - 1] = true
    else if (line.startsWith("#else")) open[open.length - 1] = false
    else if (line.startsWith("#endif")) open.pop()
    else if (!open.includes(true)) left.push(line)
  }
  return left
}

const definition = /^#define (\w+)\(([\w, ]+)\) (\(.*\))$/

/** Reads the rules of a model. What is no expression of names, numbers and operators is refused, and so is a rule that is not there. */
export const read = (source: string): Rules => {
  const context = createContext({ NONE: 0, PAUSED: 1, FAILED: 2, DONE: 3 })
  const found = new Map<string, (parameters: Readonly<Record<string, Value>>) => boolean>()
  for (const line of unmutated(source)) {
    const [, name, parameters, expression] = definition.exec(line) ?? []
    if (!names.includes(name as Name)) continue
    if (!/^[\w\s()!=<>&|]+$/.test(expression!)) {
      throw new Error(`${name}: "${expression}" is not an expression of both languages`)
    }
    const rule = new Script(`({ ${parameters} }) => Boolean${expression}`).runInContext(context) as (
      parameters: Readonly<Record<string, Value>>
    ) => boolean
    found.set(name!, (given) => {
      const missing = parameters!.split(", ").filter((parameter) => given[parameter] === undefined)
      if (missing.length > 0) throw new Error(`${name} needs ${missing.join(", ")}`)
      return rule(given)
    })
  }
  const missing = names.filter((name) => !found.has(name))
  if (missing.length > 0) throw new Error(`no rule ${missing.join(", ")} in the model`)
  return Object.fromEntries(found) as unknown as Rules
}

export const source = readFileSync(path, "utf8")

export const rules: Rules = read(source)

/** What has to hold, by the names that the model gives it. */
export const properties: ReadonlyArray<string> = [...source.matchAll(/^bit (\w+) = 1;$/gm)].map(([, name]) => name!)
