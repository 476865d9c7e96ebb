/**
 * The pages the audit refuses. A Markdown parser is synchronous: once it is
 * busy, neither a timeout nor an interruption reaches it. Some short texts keep
 * micromark busy for minutes, so the known ones are turned away by one linear
 * scan beforehand. The bounds lie far above any page that people write, and
 * where a page just below them takes a few seconds.
 */

/** GitHub does not render larger files either. */
export const CHARACTERS = 512 * 1024
/** Block quotes and lists in each other. */
export const NESTING = 100
/** `*`, `_`, `~` and `[` in one block: emphasis and links are matched in quadratic time. */
export const MARKERS = 4000
/** Underlined headings: each is resolved by a look back over the page. */
export const UNDERLINES = 2000

const CONTAINER = /([ \t]*)(>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))/y
const FENCE = /^[ \t]{0,3}(`{3,}(?!.*`)|~{3,})(.*)$/
const DELIMITER_ROW = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:|-]*)?$/

/** The end of the containers a line opens, how many there are, and whether a list item is among them. */
const containers = (line: string): { readonly depth: number; readonly end: number; readonly item: boolean } => {
  let depth = 0
  let end = 0
  let item = false
  CONTAINER.lastIndex = 0
  for (let match = CONTAINER.exec(line); match !== null; match = CONTAINER.exec(line)) {
    // A list item may stand below an item of an earlier line: two columns of indentation are a level.
    depth += 1 + (match[2] === ">" ? 0 : Math.floor(match[1]!.length / 2))
    item ||= match[2] !== ">"
    end = CONTAINER.lastIndex
  }
  return { depth, end, item }
}

const markersIn = (text: string): number => {
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 42 || code === 91 || code === 95 || code === 126) count++
  }
  return count
}

/** Why a page is too costly to parse, and where, or `undefined`. */
export const exceeded = (text: string): { readonly line: number; readonly message: string } | undefined => {
  if (text.length > CHARACTERS) {
    return { line: 1, message: `the page has ${text.length} characters, more than ${CHARACTERS}` }
  }
  const lines = text.split(/\r\n|\n|\r/)
  let fence: string | undefined
  let table = false
  let markers = 0
  let underlines = 0
  for (const [index, line] of lines.entries()) {
    const { depth, end, item } = containers(line)
    if (depth > NESTING) {
      return { line: index + 1, message: `block quotes and lists are nested more than ${NESTING} deep` }
    }
    const content = line.slice(end)
    const mark = FENCE.exec(content)
    if (fence !== undefined) {
      if (mark !== null && mark[1]!.startsWith(fence) && mark[2]!.trim() === "") fence = undefined
      continue
    }
    if (mark !== null) {
      fence = mark[1]!
      markers = 0
      continue
    }
    const blank = content.trim() === ""
    if (!blank && /^[ \t]*(?:=+|-+)[ \t]*$/.test(content) && ++underlines > UNDERLINES) {
      return { line: index + 1, message: `more than ${UNDERLINES} lines underline a heading` }
    }
    table = !blank && (table || DELIMITER_ROW.test(content))
    // The cells of a table and the items of a list are matched one by one.
    if (blank || table || item) markers = 0
    markers += markersIn(content)
    if (markers > MARKERS) {
      return { line: index + 1, message: `more than ${MARKERS} emphasis and link markers in one block` }
    }
  }
  return undefined
}
