/** Keeps items in memory. */
import * as Effect from "effect/Effect"
import { isWithin, nameKey } from "./names.ts"
import type { Found, Row } from "./ranking.ts"
import type { Answer, Read, Storage, Write } from "./storage.ts"

interface Entry extends Row {
  readonly ttlMillis: number | undefined
  readonly expiresMillis: number
}

/** Keeps rows in a map. A batch is one step, so that nobody sees half of it. */
export const memoryStorage = (): Storage => {
  const entries = new Map<string, Entry>()
  const expiry = (nowMillis: number, ttlMillis: number | undefined) =>
    ttlMillis === undefined ? Infinity : nowMillis + ttlMillis
  const live = function*(nowMillis: number) {
    for (const entry of entries.values()) if (entry.expiresMillis > nowMillis) yield entry
  }
  const refreshed = (found: ReadonlyArray<Found>, nowMillis: number): void => {
    for (const { row: { key, namespace } } of found) {
      const name = nameKey(namespace, key)
      const entry = entries.get(name)!
      entries.set(name, { ...entry, expiresMillis: expiry(nowMillis, entry.ttlMillis) })
    }
  }
  const answer = (read: Read, nowMillis: number): Answer => {
    if (read._tag === "Namespaces") {
      const namespaces = [...live(nowMillis)].map(({ namespace }) => namespace)
      return { _tag: "Namespaces", namespaces: read.page(namespaces) }
    }
    if (read._tag === "Items") {
      const found = read.page([...live(nowMillis)].filter(({ namespace }) => isWithin(read.prefix, namespace)))
      return { _tag: "Items", found }
    }
    const entry = entries.get(nameKey(read.namespace, read.key))
    const isLive = entry !== undefined && entry.expiresMillis > nowMillis
    return { _tag: "Items", found: isLive ? [{ row: entry, score: undefined }] : [] }
  }
  const write = (one: Write, nowMillis: number): void => {
    const name = nameKey(one.namespace, one.key)
    if (one._tag === "Delete") return void entries.delete(name)
    const { _tag, ...row } = one
    const present = entries.get(name)
    const createdMillis = present !== undefined && present.expiresMillis > nowMillis ? present.createdMillis : nowMillis
    entries.set(name, {
      ...row,
      createdMillis,
      updatedMillis: nowMillis,
      expiresMillis: expiry(nowMillis, row.ttlMillis)
    })
  }
  return {
    run: ({ nowMillis, reads, writes }) =>
      Effect.sync(() => {
        const answers = reads.map((read) => answer(read, nowMillis))
        for (const [at, { _tag, ...read }] of reads.entries()) {
          const given = answers[at]!
          if (given._tag === "Items" && "refresh" in read && read.refresh) refreshed(given.found, nowMillis)
        }
        for (const one of writes) write(one, nowMillis)
        return answers
      }),
    sweep: (nowMillis) =>
      Effect.sync(() => {
        const expired = [...entries].filter(([, { expiresMillis }]) => expiresMillis <= nowMillis)
        for (const [name] of expired) entries.delete(name)
        return expired.length
      })
  }
}
