/** Namespaces and keys: which are allowed, in which order they stand, which patterns they fit. Pure. */
import { InvalidArgument } from "../../GraphError.ts"
import { quoted } from "../say.ts"

/** The labels that lead to an item. */
export type Namespace = ReadonlyArray<string>

/** Bytes of UTF-8 of a namespace, with one for each label, and of a key. A page of a Postgres index holds both, whatever they are made of. */
export const maxNameBytes = 600

/** The label of a pattern that stands for any label. */
const wildcard = "*"

const isHigh = (unit: number): boolean => unit >= 0xD800 && unit < 0xDC00
const isLow = (unit: number): boolean => unit >= 0xDC00 && unit < 0xE000

/** How many bytes a text has in UTF-8; half a pair counts as three. */
export const bytesOf = (text: string): number => {
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (isHigh(unit) && isLow(text.charCodeAt(at + 1))) {
      bytes += 4
      at++
    } else bytes += 3
  }
  return bytes
}

/** Orders texts by code points, as databases do: `<` compares halves of pairs. */
export const compareText = (a: string, b: string): number => {
  if (a === b) return 0
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++
  if (at === end) return a.length - b.length
  // Within a pair that begins alike, the second half decides for both.
  if (at > 0 && isHigh(a.charCodeAt(at - 1)) && (isLow(a.charCodeAt(at)) || isLow(b.charCodeAt(at)))) at--
  return a.codePointAt(at)! - b.codePointAt(at)!
}

/** Orders namespaces label by label; one comes before those that go on from it. */
export const compareNamespaces = (a: Namespace, b: Namespace): number => {
  for (const [index, label] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    const order = compareText(label, other)
    if (order !== 0) return order
  }
  return a.length - b.length
}

const invalid = (argument: string, expected: string, got: unknown): InvalidArgument =>
  new InvalidArgument({ argument, detail: `Expected ${expected}, got ${quoted(got)}` })

const labelsProblem = (argument: string, labels: unknown): InvalidArgument | undefined => {
  if (!Array.isArray(labels)) return invalid(argument, "a list of labels", labels)
  let bytes = labels.length
  // By index: `every` passes over what a sparse list lacks.
  for (let at = 0; at < labels.length; at++) {
    const label: unknown = labels[at]
    if (typeof label !== "string" || label === "") {
      return invalid(`${argument}[${at}]`, "a text that is not empty", label)
    }
    bytes += bytesOf(label)
  }
  return bytes > maxNameBytes
    ? invalid(argument, `at most ${maxNameBytes} bytes of UTF-8, one more for each label`, `${bytes} bytes`)
    : undefined
}

/** What is wrong with the namespace of an item. */
export const namespaceProblem = (namespace: unknown): InvalidArgument | undefined =>
  Array.isArray(namespace) && namespace.length === 0
    ? invalid("namespace", "at least one label", namespace)
    : labelsProblem("namespace", namespace)

/** What is wrong with a prefix or a pattern, which may be empty. */
export const patternProblem = (argument: string, pattern: unknown): InvalidArgument | undefined =>
  labelsProblem(argument, pattern)

/** What is wrong with a key. */
export const keyProblem = (key: unknown): InvalidArgument | undefined => {
  if (typeof key !== "string" || key === "") return invalid("key", "a text that is not empty", key)
  const bytes = bytesOf(key)
  return bytes > maxNameBytes ? invalid("key", `at most ${maxNameBytes} bytes of UTF-8`, `${bytes} bytes`) : undefined
}

/** One text for a name, for maps. */
export const nameKey = (namespace: Namespace, key: string): string => JSON.stringify([namespace, key])

/** Whether a namespace begins with these labels, each of them whole. */
export const isWithin = (prefix: Namespace, namespace: Namespace): boolean =>
  prefix.length <= namespace.length && prefix.every((label, index) => label === namespace[index])

const fits = (pattern: Namespace, labels: Namespace): boolean =>
  pattern.length <= labels.length &&
  pattern.every((label, index) => label === wildcard || label === labels[index])

/** Which namespaces are asked for. */
export interface Listing {
  readonly prefix: Namespace
  readonly suffix: Namespace
  readonly maxDepth: number | undefined
  readonly limit: number
  readonly offset: number
}

/** The labels that a pattern begins with before any that stands for others. */
export const fixedPart = (pattern: Namespace): Namespace => {
  const end = pattern.indexOf(wildcard)
  return end < 0 ? pattern : pattern.slice(0, end)
}

/** The namespaces that are asked for, each once, in order. */
export const listed = (
  namespaces: Iterable<Namespace>,
  { limit, maxDepth, offset, prefix, suffix }: Listing
): ReadonlyArray<Namespace> => {
  const found = new Map<string, Namespace>()
  for (const namespace of namespaces) {
    if (!fits(prefix, namespace) || !fits(suffix, namespace.slice(Math.max(0, namespace.length - suffix.length)))) {
      continue
    }
    const cut = namespace.slice(0, maxDepth)
    found.set(JSON.stringify(cut), cut)
  }
  return [...found.values()].sort(compareNamespaces).slice(offset, offset + limit)
}
