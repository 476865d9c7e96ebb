/**
 * What a saver of LangGraph keeps for a thread: texts under names of their own, and pages of cells that are written once. A saver has
 * no compare-and-set, but of two writes beside one checkpoint, of one task and at one position, it keeps the first: a cell is such a
 * write, and a page is a checkpoint that holds nothing else.
 */
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { CheckpointError } from "../../GraphError.ts"

/** What is used of a saver. */
export type Saver = Pick<BaseCheckpointSaver, "deleteThread" | "getTuple" | "list" | "put" | "putWrites">

/** Where a text or a page is. */
export interface Place {
  /** As the user names it. */
  readonly thread: string
  readonly namespace: string
  readonly id: string
}

const channel = "superstep"

/** Pages to list at once: a saver may have a limit of its own if it is told none. */
const listLimit = 1_000_000

/** Names longer than this are cut, and end in their hash: databases limit what an index can hold. */
const nameLength = 100
const shownLength = 60

/** A name of a thread that every saver takes, as different as the name that is given. */
export const toSaverThread = (thread: string): string => {
  const safe = thread.replace(/[^A-Za-z0-9-]/g, (char) => `_${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
  if (safe.length <= nameLength) return `superstep.${safe}`
  return `superstep.${safe.slice(0, shownLength)}.${createHash("sha256").update(safe).digest("hex")}`
}

const configOf = ({ id, namespace, thread }: Place) => ({
  configurable: { thread_id: toSaverThread(thread), checkpoint_ns: namespace, checkpoint_id: id }
})

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const attempt = <A>(thread: string | undefined, action: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new CheckpointError({
        reason: "Storage",
        thread,
        detail: `the saver cannot ${action}: ${messageOf(cause)}`,
        cause
      })
  })

/** Stores a checkpoint of one value, or none. */
const put = (saver: Saver, place: Place, values: Readonly<Record<string, string>>) =>
  attempt(place.thread, "write", () => {
    const { checkpoint_id: id, ...parentless } = configOf(place).configurable
    // A version names the stored value: it has to be of this checkpoint alone.
    const versions = Object.fromEntries(Object.keys(values).map((key) => [key, id]))
    const ts = new Date(0).toISOString()
    const checkpoint = { v: 4, id, ts, channel_values: values, channel_versions: versions, versions_seen: {} }
    return saver.put({ configurable: parentless }, checkpoint, { source: "update", step: 0, parents: {} }, versions)
  })

const tupleAt = (saver: Saver, place: Place) => attempt(place.thread, "read", () => saver.getTuple(configOf(place)))

/** Stores a text. */
export const putText = (saver: Saver, place: Place, text: string) => put(saver, place, { [channel]: text })

/** A text; none if it is not there. */
export const readText = (saver: Saver, place: Place): Effect.Effect<unknown, CheckpointError> =>
  Effect.map(tupleAt(saver, place), (tuple) => tuple?.checkpoint.channel_values[channel])

/** Makes a page, if it is not there. */
export const openPage = (saver: Saver, page: Place) => put(saver, page, {})

/** By their names, what the cells of a page hold. */
export type Cells = ReadonlyMap<string, unknown>

type Tuple = Awaited<ReturnType<Saver["getTuple"]>>

const cellsOf = (tuple: Tuple): Cells =>
  new Map(
    (tuple?.pendingWrites ?? []).filter(([, name]) => name === channel).map(([cell, , content]) => [cell, content])
  )

/** The cells of a page that were written. */
export const readPage = (saver: Saver, page: Place): Effect.Effect<Cells, CheckpointError> =>
  Effect.map(tupleAt(saver, page), cellsOf)

/** Writes a cell, and gives what it holds: what was there first. Nothing, if there is no such page. */
export const writeCell = (saver: Saver, page: Place, cell: string, content: string) =>
  Effect.andThen(
    attempt(page.thread, "write", () => saver.putWrites(configOf(page), [[channel, content]], cell)),
    Effect.map(readPage(saver, page), (cells) => cells.get(cell))
  )

/** Pages of a namespace, of all threads. */
export const listPages = (saver: Saver, namespace: string): Effect.Effect<ReadonlyArray<Cells>, CheckpointError> =>
  attempt(undefined, "list threads", async () => {
    const pages: Array<Cells> = []
    const tuples = saver.list({ configurable: { checkpoint_ns: namespace } }, { limit: listLimit })
    for await (const tuple of tuples) pages.push(cellsOf(tuple))
    return pages
  })

/** Deletes all that the saver keeps of a thread. */
export const deleteAll = (saver: Saver, thread: string): Effect.Effect<void, CheckpointError> =>
  attempt(thread, "delete the thread", () => saver.deleteThread(toSaverThread(thread)))
