/**
 * Ids as columns of text. SQLite would store a lone surrogate as another
 * character, and Postgres refuses NUL: both are written as escapes, so that
 * every string comes back as it was, and different strings stay different.
 */

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
