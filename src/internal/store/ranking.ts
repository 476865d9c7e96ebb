/** Which rows a search gives, and in which order. Pure. */
import { compareNamespaces, compareText, type Namespace } from "./names.ts"

/** An item as it is stored. */
export interface Row {
  readonly namespace: Namespace
  readonly key: string
  /** The value as a JSON text. */
  readonly json: string
  readonly createdMillis: number
  readonly updatedMillis: number
  /** The words that the item is found by. */
  readonly words: ReadonlyArray<string>
  /** The vectors that the item is found by. */
  readonly vectors: ReadonlyArray<Float32Array>
}

/** A row that a search has found. */
export interface Found {
  readonly row: Row
  readonly score: number | undefined
}

/** How alike two vectors are, from -1 to 1. Vectors of unlike lengths do not compare. */
export const cosine = (a: Float32Array, b: Float32Array): number | undefined => {
  if (a.length !== b.length) return undefined
  let [dot, ofA, ofB] = [0, 0, 0]
  for (let at = 0; at < a.length; at++) {
    dot += a[at]! * b[at]!
    ofA += a[at]! * a[at]!
    ofB += b[at]! * b[at]!
  }
  return ofA === 0 || ofB === 0 ? 0 : dot / (Math.sqrt(ofA) * Math.sqrt(ofB))
}

/** How alike the most alike of the vectors is. */
export const likeness = (vector: Float32Array, { vectors }: Row): number | undefined => {
  let best: number | undefined
  for (const other of vectors) {
    const score = cosine(vector, other)
    if (score !== undefined && (best === undefined || score > best)) best = score
  }
  return best
}

/** Which part of the words a row has; none if it has none of them. */
export const shareOf = (words: ReadonlyArray<string>, row: Row): number | undefined => {
  const own = new Set(row.words)
  const shared = words.filter((word) => own.has(word)).length
  return shared === 0 ? undefined : shared / words.length
}

/** The newest update first; of one instant by namespace, then by key. */
const byAge = (a: Row, b: Row): number =>
  b.updatedMillis - a.updatedMillis || compareNamespaces(a.namespace, b.namespace) || compareText(a.key, b.key)

/** The best first, then what has no score. */
export const byScore = (a: Found, b: Found): number =>
  (b.score ?? -Infinity) - (a.score ?? -Infinity) || byAge(a.row, b.row)
