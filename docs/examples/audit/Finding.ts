/**
 * What an audit says: findings, and the facts of one page from which the
 * links between pages are checked once every page has been read. All of it is
 * plain JSON, so that a checkpoint can hold it.
 */
import * as Arr from "effect/Array"
import * as Order from "effect/Order"
import * as Schema from "effect/Schema"

/** What may be wrong with a page. `unreadable-page` is a page the audit refuses to parse; it has no other findings of its own. */
export const Kind = Schema.Literals(["broken-anchor", "broken-link", "code-fence", "heading-jump", "unreadable-page"])
export type Kind = typeof Kind.Type

/** One defect. `file` is a POSIX path from the audited root, `line` counts from 1. Texts are raw: whoever prints them escapes them. */
export const Finding = Schema.Struct({
  file: Schema.String,
  line: Schema.Int,
  kind: Kind,
  message: Schema.String
})
export interface Finding extends Schema.Schema.Type<typeof Finding> {}

/** A link into the audited tree: `target` as written, `path` decoded (`""`: the page itself), `anchor` decoded and without `#`. */
export const Link = Schema.Struct({
  line: Schema.Int,
  target: Schema.String,
  path: Schema.String,
  anchor: Schema.optionalKey(Schema.String)
})
export interface Link extends Schema.Schema.Type<typeof Link> {}

/** How much a page holds; `links` counts every link and image, external ones too. */
export const Counts = Schema.Struct({ headings: Schema.Int, links: Schema.Int, fences: Schema.Int })
export interface Counts extends Schema.Schema.Type<typeof Counts> {}

/** What one page contributes. `complete` is false when it was not parsed: nobody may then conclude that an anchor is missing. */
export const PageFacts = Schema.Struct({
  file: Schema.String,
  complete: Schema.Boolean,
  anchors: Schema.Array(Schema.String),
  links: Schema.Array(Link),
  findings: Schema.Array(Finding),
  counts: Counts
})
export interface PageFacts extends Schema.Schema.Type<typeof PageFacts> {}

/** By file, line, kind and message. Texts compare by code unit, so that no locale changes a report. */
export const order: Order.Order<Finding> = Order.combineAll([
  Order.mapInput(Order.String, (finding: Finding) => finding.file),
  Order.mapInput(Order.Number, (finding: Finding) => finding.line),
  Order.mapInput(Order.String, (finding: Finding) => finding.kind),
  Order.mapInput(Order.String, (finding: Finding) => finding.message)
])

/** Sorted, and each finding once: two equal links on one line are one defect. */
export const normalise = (findings: Iterable<Finding>): ReadonlyArray<Finding> =>
  Arr.dedupeAdjacentWith(Arr.sort(findings, order), (a, b) => order(a, b) === 0)
