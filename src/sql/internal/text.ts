/**
 * Strings as columns. SQLite would store a lone surrogate as another
 * character, and Postgres refuses NUL: both are written as escapes, so that
 * every string comes back as it was, and different strings stay different.
 */
import * as Hex from "effect/encoding/Hex"
import * as Result from "effect/Result"
import { createHash } from "node:crypto"

/** Lone surrogates, NUL, and what escapes begin with. With `u`, a pair counts as one character. */
const special = /[\\\0\p{Cs}]/u
const specials = /[\\\0\p{Cs}]/gu
const escapes = /\\(\\|u[0-9a-f]{4})/g

const escape = (char: string): string =>
  char === "\\" ? "\\\\" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`

export const toColumn = (text: string): string => special.test(text) ? text.replace(specials, escape) : text

/** What a damaged database holds may be no text: then it is none that was stored. */
export const fromColumn = (column: string): string =>
  typeof column !== "string"
    ? String(column)
    : column.includes("\\")
    ? column.replace(escapes, (_, rest: string) =>
      rest === "\\" ? rest : String.fromCharCode(Number.parseInt(rest.slice(1), 16)))
    : column

const hash = /^[0-9a-f]{32}$/
const hashLength = 16
const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

const digested = (text: string): Uint8Array => createHash("sha256").update(toColumn(text)).digest().subarray(0, 16)

const digestOfNothing = digested("")

/** What stands for a text in an index, however long it is: an index of Postgres takes no long ones. */
export const digestOf = (text: string): Uint8Array => text === "" ? digestOfNothing : digested(text)

/**
 * The id of a checkpoint as a column of bytes: of a hash the 16 bytes that it writes, of any other string its text. A text that
 * has as many bytes ends with a NUL, which is in no text.
 */
export const toIdBytes = (id: string): Uint8Array => {
  if (hash.test(id)) return Result.getOrThrow(Hex.decode(id))
  const text = toColumn(id)
  const bytes = encoder.encode(text)
  return bytes.length === hashLength ? encoder.encode(`${text}\0`) : bytes
}

/** What a damaged database holds may be no bytes. */
export const fromIdBytes = (column: Uint8Array): string =>
  !(column instanceof Uint8Array)
    ? String(column)
    : column.length === hashLength
    ? Hex.encode(column)
    : fromColumn(decoder.decode(column).replace(/\0$/, ""))
