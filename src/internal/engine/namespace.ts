/**
 * Namespaces: the places of graphs inside tasks, as texts. A segment for each task on the way from the root: the name of its
 * node, with the index of a Send, and with the key of a call. Pure.
 */

/** The place of the graph at the root. */
export const ROOT = ""

export const isRoot = (namespace: string): boolean => namespace === ROOT

const between = "|"
const beforeIndex = ":"
const beforeKey = "~"

/** Characters that no name of a node has. */
export const separators = [between, beforeIndex, beforeKey] as const

/** The place of a task as a segment. */
export const placeOf = (node: string, index: number | undefined): string =>
  index === undefined ? node : `${node}${beforeIndex}${index}`

/** A key as a part of a segment. Whatever it holds, different keys stay different. */
const escapeKey = (key: string): string =>
  key.replace(/[^A-Za-z0-9_.@-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** The segment of a graph inside a task: the graph that is its node, or one that its node calls under a key. */
export const segmentOf = (place: string, key: string | undefined): string =>
  key === undefined ? place : `${place}${beforeKey}${escapeKey(key)}`

/** The node of the task that a segment names. */
export const nodeOf = (segment: string): string => segment.split(/[:~]/)[0]!

/** The place of the task that a segment names. */
export const taskOf = (segment: string): string => segment.split(beforeKey)[0]!

/** The namespace one segment below another. */
export const within = (namespace: string, segment: string): string =>
  isRoot(namespace) ? segment : `${namespace}${between}${segment}`

/** The segments of a namespace, from the root. */
export const segmentsOf = (namespace: string): ReadonlyArray<string> =>
  isRoot(namespace) ? [] : namespace.split(between)
