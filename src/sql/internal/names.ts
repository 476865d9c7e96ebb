/**
 * Namespaces and keys as columns of text, which a database orders as the store does: label by label, by code points. A
 * namespace begins with another exactly if its column does.
 *
 * Each label ends with U+0001. What databases cannot keep, or what has a meaning here, is written as two characters, the first of which
 * stands where the character itself would stand in the order: U+0002 for NUL and its neighbours, U+D7FF for half a pair.
 */

const end = "\u0001"
const afterEnd = "\u0002"
const low = "\u0002"
const high = "\uD7FF"

/** What follows `high` for half a pair begins here; one less stands for `high` itself. */
const halves = 0x4E00
const firstHalf = 0xD800
const lowNames = ["a", "b", "c"]

/** With `u`, a pair counts as one character. */
const unsafe = `[\\0${end}${low}${high}\\p{Cs}]`
const special = new RegExp(unsafe, "u")
const specials = new RegExp(unsafe, "gu")
const escapes = new RegExp(`${low}([abc])|${high}([\\u4DFF-\\u55FF])`, "g")

const escape = (char: string): string => {
  const code = char.charCodeAt(0)
  return code < lowNames.length
    ? low + lowNames[code]!
    : high + String.fromCharCode(code === high.charCodeAt(0) ? halves - 1 : halves + code - firstHalf)
}

export const keyToColumn = (key: string): string => special.test(key) ? key.replace(specials, escape) : key

/** What a damaged database holds may be no text: then it is none that was stored. */
export const keyFromColumn = (column: string): string =>
  String(column).replace(escapes, (_, name: string | undefined, half: string | undefined) => {
    if (name !== undefined) return String.fromCharCode(lowNames.indexOf(name))
    const offset = half!.charCodeAt(0) - halves
    return offset < 0 ? high : String.fromCharCode(firstHalf + offset)
  })

export const namespaceToColumn = (namespace: ReadonlyArray<string>): string =>
  namespace.map((label) => keyToColumn(label) + end).join("")

export const namespaceFromColumn = (column: string): ReadonlyArray<string> =>
  String(column).split(end).slice(0, -1).map(keyFromColumn)

/** Where a unit of UTF-16 stands among code points: halves of pairs come after all others. */
const rankOf = (unit: number): number => unit < 0xD800 ? unit : unit < 0xE000 ? unit + 0x2000 : unit - 0x800

/** Orders columns as databases do, by code points. */
export const compareColumns = (a: string, b: string): number => {
  if (a === b) return 0
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at === end ? a.length - b.length : rankOf(a.charCodeAt(at)) - rankOf(b.charCodeAt(at))
}

/** Between which columns a namespace and those below it stand: from the first, and before the second. */
export const rangeOf = (prefix: ReadonlyArray<string>): readonly [from: string, before: string] => {
  const from = namespaceToColumn(prefix)
  return [from, from.slice(0, -end.length) + afterEnd]
}
