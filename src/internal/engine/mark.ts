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

/** Longer texts are named by their hash: parts that are met again and again would make them longer than any text can be. */
const maxText = 256

const shortened = (text: string): string => text.length > maxText ? `~${hash(text)}` : text

/** The shapes of stored forms as texts, where `suspended` says what a suspended schema stands for. */
class Shapes {
  readonly #suspended: (ast: SchemaAST.Suspend) => string
  readonly #texts = new Map<SchemaAST.AST, string>()

  constructor(suspended: (ast: SchemaAST.Suspend) => string) {
    this.#suspended = suspended
  }

  of(ast: SchemaAST.AST): string {
    let text = this.#texts.get(ast)
    if (text === undefined) this.#texts.set(ast, text = shortened(this.#make(ast)))
    return text
  }

  #part = (ast: SchemaAST.AST): string => this.of(ast) + (isOptional(ast) ? "?" : "")

  #make(ast: SchemaAST.AST): string {
    const part = this.#part
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
        return unionOf(literalsOf(ast))
      case "Union":
        return unionOf(membersOf(ast).flatMap((one) => one._tag === "Enum" ? literalsOf(one) : [part(one)]))
      case "Suspend":
        return this.#suspended(ast)
      default:
        return ast._tag
    }
  }
}

/** What suspended schemas stand for, as far as they are looked into. */
const suspendedIn = (ast: SchemaAST.AST): ReadonlyMap<SchemaAST.Suspend, SchemaAST.AST> => {
  const meant = new Map<SchemaAST.Suspend, SchemaAST.AST>()
  const waiting: Array<SchemaAST.AST> = [ast]
  const shapes = new Shapes((one) => {
    if (!meant.has(one) && meant.size < maxSuspended) {
      const own = one.thunk()
      meant.set(one, own)
      waiting.push(own)
    }
    return one._tag
  })
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) shapes.of(next)
  return meant
}

/**
 * The shape of a whole stored form. Suspended schemas are told apart by what they look like, first from outside, then with those inside them told apart,
 * and so on until no more of them differ: so neither order nor identity counts.
 */
const wholeShape = (ast: SchemaAST.AST): string => {
  const meant = suspendedIn(ast)
  let names: ReadonlyMap<SchemaAST.Suspend, string> = new Map()
  const seen = () => new Shapes((one) => names.get(one) ?? one._tag)
  for (let known = 0;;) {
    const shapes = seen()
    const next = new Map([...meant].map(([one, own]) => [one, hash(shapes.of(own))] as const))
    const count = new Set(next.values()).size
    if (count === known) return seen().of(ast)
    names = next
    known = count
  }
}

const shapes = new WeakMap<Channel.AnySchema, string>()

/** The stored form of a schema; none if it has none. */
const encodedOf = (schema: Channel.AnySchema): SchemaAST.AST | undefined => {
  try {
    return Schema.toEncoded(Schema.toCodecJson(schema)).ast
  } catch {
    return undefined
  }
}

/** The shape of the stored form of a schema's values. A schema without one stores nothing. */
const shape = (schema: Channel.AnySchema | undefined): string => {
  if (schema === undefined) return ""
  let text = shapes.get(schema)
  if (text === undefined) {
    const ast = encodedOf(schema)
    shapes.set(schema, text = ast === undefined ? "" : wholeShape(ast))
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
