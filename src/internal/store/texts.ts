/** Which texts an item is found by: paths into its value, and the words of a text. Pure. */
import type * as Schema from "effect/Schema"
import { canonical } from "../canonical.ts"

/** Characters of a word that count: a longer one is known by its beginning. */
const maxWordLength = 64

/** Words of a query that count. */
const maxQueryWords = 64

/** A step of a path: a key, an index, or all items of a list. */
type Step = string | number | typeof all
const all = Symbol("all")

/** A path into a value, in steps: none for the whole. */
export type Path = ReadonlyArray<Step>

const segment = /^(?:\.?([^.[\]]+)|\[(-?\d{1,9}|\*)\])/

/** The steps of a path; none if it is no path. */
export const pathOf = (text: unknown): Path | undefined => {
  if (text === "$") return []
  if (typeof text !== "string" || text === "" || text.startsWith(".")) return undefined
  const steps: Array<Step> = []
  for (let rest = text; rest !== "";) {
    // After an index a key needs its dot, as after a key.
    const found = segment.exec(rest)
    if (found === null || (steps.length > 0 && found[1] !== undefined && !rest.startsWith("."))) return undefined
    steps.push(found[1] ?? (found[2] === "*" ? all : Number(found[2])))
    rest = rest.slice(found[0].length)
  }
  return steps
}

const isRecord = (json: Schema.Json): json is { readonly [key: string]: Schema.Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const isList = (json: Schema.Json): json is ReadonlyArray<Schema.Json> => Array.isArray(json)

const stepInto = (json: Schema.Json, step: Step): ReadonlyArray<Schema.Json> => {
  if (typeof step === "string") return isRecord(json) && Object.hasOwn(json, step) ? [json[step]!] : []
  if (!isList(json)) return []
  if (step === all) return json
  const item = json.at(step)
  return item === undefined ? [] : [item]
}

/** The parts of a value at the paths, in their order. What is not there is none. */
export const partsAt = (json: Schema.Json, paths: ReadonlyArray<Path>): ReadonlyArray<Schema.Json> =>
  paths.flatMap((path) =>
    path.reduce<ReadonlyArray<Schema.Json>>((parts, step) => parts.flatMap((part) => stepInto(part, step)), [json])
  )

/** The text that stands for a part: a text itself, of anything else its JSON with sorted keys. */
export const textsOf = (parts: ReadonlyArray<Schema.Json>): ReadonlyArray<string> =>
  parts.flatMap((part) => part === null || part === "" ? [] : [typeof part === "string" ? part : canonical(part)])

const word = /[\p{L}\p{M}\p{N}]+/gu

/** The words of a text: runs of letters and digits, in lower case. */
const wordsIn = (text: string): ReadonlyArray<string> =>
  (text.normalize("NFC").toLowerCase().match(word) ?? []).map((one) => [...one].slice(0, maxWordLength).join(""))

const leaves = (json: Schema.Json): ReadonlyArray<string> => {
  if (json === null) return []
  if (typeof json !== "object") return [String(json)]
  return (isList(json) ? json : Object.values(json)).flatMap(leaves)
}

/** The words of parts of a value, each once. Keys are no words. */
export const wordsOf = (parts: ReadonlyArray<Schema.Json>): ReadonlyArray<string> => [
  ...new Set(parts.flatMap(leaves).flatMap(wordsIn))
]

/** The words of a query, each once. */
export const queryWords = (query: string): ReadonlyArray<string> => [...new Set(wordsIn(query))].slice(0, maxQueryWords)
