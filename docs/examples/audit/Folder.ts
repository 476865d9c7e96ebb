/**
 * What a folder holds. Names are bytes and need not be text: Effect's `FileSystem` reads them as UTF-8, and what is not
 * becomes a name that no file has. Here they are read as they are.
 */
import * as Effect from "effect/Effect"
import type { Dirent } from "node:fs"
import { readdir } from "node:fs/promises"

/** One name in a folder. */
export interface Entry {
  readonly name: string
  /** Whether the name is UTF-8. If not, `name` is for reading only: its bytes beyond ASCII are written as `\xff`. */
  readonly isText: boolean
  /** A symbolic link is a link, whatever it leads to. */
  readonly type: "file" | "folder" | "link" | "other"
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const nameOf = (bytes: Buffer): Pick<Entry, "isText" | "name"> => {
  try {
    return { name: decoder.decode(bytes), isText: true }
  } catch {
    const shown = Array.from(bytes, (byte) => byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`)
    return { name: shown.join(""), isText: false }
  }
}

const typeOf = (entry: Dirent<Buffer>): Entry["type"] => {
  if (entry.isSymbolicLink()) return "link"
  if (entry.isDirectory()) return "folder"
  return entry.isFile() ? "file" : "other"
}

/** All names in a folder, in no order; `undefined` if it cannot be read. */
export const read = (folder: string): Effect.Effect<ReadonlyArray<Entry> | undefined> =>
  Effect.promise(async () => {
    try {
      const entries = await readdir(folder, { encoding: "buffer", withFileTypes: true })
      return entries.map((entry) => ({ ...nameOf(entry.name), type: typeOf(entry) }))
    } catch {
      return undefined
    }
  })
