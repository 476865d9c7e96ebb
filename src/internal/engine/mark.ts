/**
 * Marks: what a channel was when something was stored of it, as a short text. Two channels have the same mark if what one has stored means the same
 * to the other: rules that fold alike, and schemas whose values and writes have the same stored form. Names, notes and checks of a schema
 * are not part of it; a value that a check refuses fails when it is read. Pure.
 */
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type * as Channel from "../../Channel.ts"
import { hash } from "./hash.ts"

const listed = (parts: ReadonlyArray<string>): string => `(${parts.join(" ")})`

const isOptional = (ast: SchemaAST.AST): boolean => ast.context?.isOptional === true

/** Suspended schemas that are looked into: they may go on for ever, each time with new parts. */
const maxSuspended = 256

const literal = (value: unknown): string => JSON.stringify(String(value)) + typeof value

const oddNumbers = ["NaN", "Infinity", "-Infinity"].map(literal)

/** The members of a union, those of unions in it among them. */
const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  ast._tag === "Union" ? ast.types.flatMap(membersOf) : [ast]

const literalsOf = ({ enums }: SchemaAST.Enum): ReadonlyArray<string> => enums.map(([, value]) => literal(value))

const unionOf = (texts: ReadonlyArray<string>): string => {
  const members = new Set(texts)
  // What JSON has no number for.
  if (members.has("Number")) { for (const odd of oddNumbers) members.delete(odd) }
  return members.size === 1 ? [...members][0]! : listed(["union", ...[...members].sort()])
}

const inOrder = <A>(list: ReadonlyArray<A>, text: (one: A) => string): ReadonlyArray<A> =>
  list.map((one) => [text(one), one] as const).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0).map(([, one]) => one)

type IndexSignature = SchemaAST.Objects["indexSignatures"][number]

/** What a suspended schema stands for, as a text. */
type Suspended = (ast: SchemaAST.Suspend) => string

/** The shape of a stored form as a text. Its parts are gone through in an order that does not depend on how they were said. */
const shapeOf = (ast: SchemaAST.AST, suspended: Suspended): string => {
  const told = (suspended: Suspended) => (one: SchemaAST.AST) => shapeOf(one, suspended) + (isOptional(one) ? "?" : "")
  const signature = (part: (one: SchemaAST.AST) => string) => ({ parameter, type }: IndexSignature) =>
    `[${part(parameter)}]${part(type)}`
  const [part, flat] = [told(suspended), told(({ _tag }) => _tag)]
  switch (ast._tag) {
    case "Literal":
      return literal(ast.literal)
    case "TemplateLiteral":
      return listed(["template", ...ast.parts.map(part)])
    case "Arrays":
      return listed(["list", ...ast.elements.map(part), "*", ...ast.rest.map(part)])
    case "Objects":
      return listed([
        "record",
        ...inOrder(ast.propertySignatures, ({ name }) => String(name))
          .map(({ name, type }) => JSON.stringify(String(name)) + part(type)),
        ...inOrder(ast.indexSignatures, signature(flat)).map(signature(part))
      ])
    case "Enum":
      return unionOf(literalsOf(ast))
    case "Union":
      return unionOf(
        inOrder(membersOf(ast), flat).flatMap((one) => one._tag === "Enum" ? literalsOf(one) : [part(one)])
      )
    case "Suspend":
      return suspended(ast)
    default:
      return ast._tag
  }
}

/** The shape of a whole stored form: what stands for itself, or is met again, is named by a number. */
const wholeShape = (ast: SchemaAST.AST): string => {
  const numbers = new Map<SchemaAST.AST, number>()
  const suspended: Suspended = ({ _tag, thunk }) => {
    const meant = thunk()
    const known = numbers.get(meant)
    if (known !== undefined) return `#${known}`
    if (numbers.size === maxSuspended) return _tag
    numbers.set(meant, numbers.size)
    return `#${numbers.size - 1}=${shapeOf(meant, suspended)}`
  }
  return shapeOf(ast, suspended)
}

const shapes = new WeakMap<Channel.AnySchema, string>()

/** The shape of the stored form of a schema's values. A schema without one stores nothing. */
const shape = (schema: Channel.AnySchema | undefined): string => {
  if (schema === undefined) return ""
  let text = shapes.get(schema)
  if (text === undefined) {
    try {
      text = wholeShape(Schema.toEncoded(Schema.toCodecJson(schema)).ast)
    } catch {
      text = ""
    }
    shapes.set(schema, text)
  }
  return text
}

/** Kinds of rules whose values mean the same to each other. What was stored as writes is told from what was stored as a value. */
const reducers: ReadonlySet<string> = new Set(["Append", "Reducer", "Delta"])

const flagged = (name: string, flags: Readonly<Record<string, boolean>>): string => {
  const set = Object.keys(flags).filter((flag) => flags[flag])
  return set.length === 0 ? name : `${name}(${set.join(",")})`
}

/** What a rule makes of writes, as far as it is no function. */
const kindOfRule = (rule: Channel.Rule): string => {
  switch (rule._tag) {
    case "BinaryOperatorAggregate":
      return rule.appends ? "Append" : "Reducer"
    case "Topic":
      return flagged(rule._tag, { accumulate: rule.accumulate, unique: rule.unique })
    case "EphemeralValue":
      return flagged(rule._tag, { guard: rule.guard })
    default:
      return rule._tag
  }
}

/** Whom a barrier waits for, and how. */
const waitsFor = (rule: Channel.Rule): ReadonlyArray<string> => "names" in rule ? [rule.release, ...rule.names] : []

// Digits of a hash: a changed schema goes unnoticed once in 2^48.
const markLength = 12

interface Marked {
  readonly rule: Channel.Rule
  readonly value: Channel.AnySchema | undefined
  readonly update: Channel.AnySchema | undefined
}

/** The mark of a key of the state: its kind of rule, and a hash. */
export const markOf = ({ rule, update, value }: Marked): string =>
  `${kindOfRule(rule)} ${hash(...waitsFor(rule), shape(value), shape(update)).slice(0, markLength)}`

/** The kind of rule that a mark says. */
export const kindOf = (mark: string): string => mark.split(" ")[0]!

/** Whether rules of two marks merge writes alike, except perhaps in what is stored of them. */
export const isSameKind = (was: string, is: string): boolean => {
  const [one, other] = [kindOf(was), kindOf(is)]
  return one === other || (reducers.has(one) && reducers.has(other))
}

/** Whether what has one mark can be read as what has another: as it is, or as a reducer that is stored otherwise. */
export const isReadable = (was: string, is: string): boolean =>
  was === is || (was.split(" ")[1] === is.split(" ")[1] && isSameKind(was, is))
