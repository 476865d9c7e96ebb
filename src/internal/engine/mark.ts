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

/** Suspended schemas inside each other that are looked through: one may go on for ever, each time with new parts. */
const maxSuspended = 8

const literal = (value: unknown): string => JSON.stringify(String(value)) + typeof value

const oddNumbers = ["NaN", "Infinity", "-Infinity"].map(literal)

/** The members of a union, those of unions in it among them. */
const membersOf = (ast: SchemaAST.AST, part: (ast: SchemaAST.AST) => string): ReadonlyArray<string> => {
  if (ast._tag === "Enum") return ast.enums.map(([, value]) => literal(value))
  return ast._tag === "Union" ? ast.types.flatMap((one) => membersOf(one, part)) : [part(ast)]
}

/** The shape of a stored form as a text. A schema that holds itself is named by how far above it stands. */
const shapeOf = (ast: SchemaAST.AST, above: ReadonlyArray<SchemaAST.AST>, suspended: number): string => {
  const own = above.indexOf(ast)
  if (own >= 0) return `^${above.length - own}`
  const below = [...above, ast]
  const part = (one: SchemaAST.AST): string => `${shapeOf(one, below, suspended)}${isOptional(one) ? "?" : ""}`
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
        ...ast.propertySignatures.map(({ name, type }) => JSON.stringify(String(name)) + part(type)).sort(),
        ...ast.indexSignatures.map(({ parameter, type }) => `[${part(parameter)}]${part(type)}`).sort()
      ])
    case "Enum":
    case "Union": {
      const members = new Set(membersOf(ast, part))
      // What JSON has no number for.
      if (members.has("Number")) { for (const odd of oddNumbers) members.delete(odd) }
      return members.size === 1 ? [...members][0]! : listed(["union", ...[...members].sort()])
    }
    case "Suspend":
      return suspended === maxSuspended ? ast._tag : shapeOf(ast.thunk(), above, suspended + 1)
    default:
      return ast._tag
  }
}

const shapes = new WeakMap<Channel.AnySchema, string>()

/** The shape of the stored form of a schema's values. A schema without one stores nothing. */
const shape = (schema: Channel.AnySchema | undefined): string => {
  if (schema === undefined) return ""
  let text = shapes.get(schema)
  if (text === undefined) {
    try {
      text = shapeOf(Schema.toEncoded(Schema.toCodecJson(schema)).ast, [], 0)
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
