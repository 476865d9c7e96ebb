/**
 * Namespaces: the places of graphs inside tasks, as texts. A segment for each task on the way from the root: the name of its
 * node, with the index of a Send, and with the key of a call. Pure.
 */
import type { Program } from "./program.ts"

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

/** What names a checkpoint in its thread. */
export const checkpointKey = (namespace: string, id: string): string => `${id} ${namespace}`

/** The segments of a namespace, from the root. */
export const segmentsOf = (namespace: string): ReadonlyArray<string> =>
  isRoot(namespace) ? [] : namespace.split(between)

/** The namespace around another. */
export const aroundOf = (namespace: string): string => segmentsOf(namespace).slice(0, -1).join(between)

/** Which task of which checkpoint holds a graph. */
export type Inside = readonly [checkpoint: string, task: string]

/** Names the head of a graph that runs inside a task; the root's has no name. */
export const placeKey = (inside: Inside | undefined, namespace: string): string =>
  inside === undefined ? "" : JSON.stringify([...inside, namespace])

/** What a name of a head says: the checkpoint whose task holds the graph, and the graph's namespace. */
export const readPlace = (
  place: string
): { readonly checkpoint: string; readonly namespace: string } | undefined => {
  try {
    const parts: unknown = JSON.parse(place)
    return Array.isArray(parts) && parts.length === 3 && parts.every((part) => typeof part === "string")
      ? { checkpoint: parts[0] as string, namespace: parts[2] as string }
      : undefined
  } catch {
    return undefined
  }
}

/** The program at a path; none for a graph that a node calls, which nothing stored tells. */
export const programAt = (program: Program, path: ReadonlyArray<string>): Program | undefined => {
  let at: Program | undefined = program
  for (const segment of path) {
    const body: Program["nodes"][number]["body"] | undefined = segment.includes(beforeKey) || at === undefined
      ? undefined
      : at.nodes[at.nodeNumber.get(nodeOf(segment)) ?? -1]?.body
    at = body?._tag === "Graph" ? body.program : undefined
  }
  return at
}
