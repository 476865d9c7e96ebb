/** Texts for a terminal: what comes from a graph, a file or a thread may hold anything, and is shown without doing anything. */
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

// oxlint-disable-next-line no-control-regex
const unseen = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Cs}/gu

const escaped = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`

/** A text as one line that moves no cursor: line ends are spaces, other control characters their escapes. */
export const visible = (text: string): string => text.replace(/\s*[\r\n]+\s*/g, " ").replace(unseen, escaped)

/** Cut to a number of characters. */
export const cut = (text: string, length: number): string => text.length <= length ? text : `${text.slice(0, length)}…`

/** A text as one argument of a shell. */
export const argument = (text: string): string => {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  unseen.lastIndex = 0
  return unseen.test(text)
    ? `$'${
      text.replace(/[\\']/g, "\\$&").replace(unseen, (one) => `\\u${one.codePointAt(0)!.toString(16).padStart(4, "0")}`)
    }'`
    : `'${text.replaceAll("'", "'\\''")}'`
}

/** What a value is to JSON, where no schema says it. */
const plainly = (value: unknown): unknown => {
  if (typeof value === "bigint") return String(value)
  if (typeof value === "function" || typeof value === "symbol") return String(value.toString().split("\n")[0])
  if (value instanceof Map) return [...value]
  if (value instanceof Set) return [...value]
  if (value instanceof Error) return { ...value, name: value.name, message: value.message }
  return value
}

/** Anything as JSON: what JSON does not have is shown by its text, what holds itself is named so. */
export const plain = (value: unknown): Schema.Json => {
  const above: Array<unknown> = []
  const text = JSON.stringify(value, function(this: unknown, key, one: unknown) {
    while (above.length > 0 && above.at(-1) !== this) above.pop()
    // What a date says of itself as JSON is a text already; an error says less than it holds.
    const own = Predicate.isObject(this) ? (this as Record<string, unknown>)[key] : one
    const shown = plainly(own instanceof Error ? own : one)
    if (typeof shown !== "object" || shown === null) return shown
    if (above.includes(shown)) return "[Circular]"
    above.push(shown)
    return shown
  })
  return text === undefined ? null : JSON.parse(text) as Schema.Json
}

/** The text of a failure, whatever was failed with. */
export const reason = (error: unknown): string => {
  try {
    if (error instanceof Error) {
      const { message, name } = error
      const tag = Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" ? error._tag : name
      if (message !== "") return tag === "Error" || message.startsWith(tag) ? message : `${tag}: ${message}`
      const { _tag, cause: _cause, message: _message, name: _name, stack: _stack, ...rest } = error as
        & Error
        & { readonly _tag?: unknown }
      return Object.keys(rest).length === 0 ? tag : `${tag} ${JSON.stringify(plain(rest))}`
    }
    return typeof error === "string" ? error : JSON.stringify(plain(error))
  } catch {
    return "a value that cannot be shown"
  }
}
