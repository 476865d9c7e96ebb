/**
 * Values and their schemas: what a value is once it has been stored and read
 * back. A channel holds nothing else, so a live run and one that was resumed
 * see the same. Pure; what is wrong comes back as a text.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { holds, isAmbiguous } from "./ast.ts"
import { copied } from "./canonical.ts"
import { type AnySchema, decoding, encoding } from "./codec.ts"
import { freezeGiven, isFragile, seal } from "./freeze.ts"
import { differenceOf, withoutUndefined } from "./same.ts"

type Fit = Result.Result<unknown, string>

// ---------------------------------------------------------------------------
// What a schema says of its values
// ---------------------------------------------------------------------------

/** A schema as far as it is about live values, made once. */
interface Live {
  /** A value that fits, without what the schema does not name; or why it does not fit. */
  readonly parse: (value: unknown) => Fit
  /**
   * Whether only the stored form of a value tells what it reads back as: it may hold what is no plain data, be transformed, or be
   * stored like another value.
   */
  readonly isOpen: boolean
  /** Whether two members of a union may have the same stored form: then one may take a value for the other's, and drop a part of it. */
  readonly isShared: boolean
  /** Of a list: the schema of its items, and what it asks of the list besides. */
  readonly list: { readonly item: AnySchema; readonly passes: (list: ReadonlyArray<unknown>) => boolean } | undefined
}

const parserOf = (schema: AnySchema): Live["parse"] => {
  const parse = Schema.decodeUnknownResult(Schema.toType(schema))
  return (value) => Result.mapError(parse(value), (error) => error.message)
}

/** Lists that are stored as lists are looked at item by item. */
const listOf = ({ ast }: AnySchema): Live["list"] => {
  if (ast._tag !== "Arrays" || ast.encoding !== undefined || ast.elements.length > 0 || ast.rest.length !== 1) {
    return undefined
  }
  const item = Schema.make<AnySchema>(ast.rest[0]!)
  if (ast.checks === undefined) return { item, passes: () => true }
  const shell = Schema.make<AnySchema>(
    new SchemaAST.Arrays(false, [], [Schema.Unknown.ast], undefined, ast.checks)
  )
  return { item, passes: Schema.is(shell) }
}

const isNoPlainData = (part: SchemaAST.AST): boolean => {
  switch (part._tag) {
    case "Declaration":
    case "Any":
    case "Unknown":
    case "ObjectKeyword":
    case "Symbol":
    case "UniqueSymbol":
      return true
    case "Objects":
      // Any value but null and undefined is one of no keys.
      return part.propertySignatures.length === 0 && part.indexSignatures.length === 0
    default:
      return false
  }
}

const isTransformed = (schema: AnySchema): boolean =>
  holds(schema.ast, (part) => part.encoding !== undefined || isNoPlainData(part))

const lives = new WeakMap<AnySchema, Live>()

const liveOf = (schema: AnySchema): Live => {
  let live = lives.get(schema)
  if (live === undefined) {
    const isShared = holds(Schema.toEncoded(Schema.toCodecJson(schema)).ast, isAmbiguous)
    const isOpen = isShared || isTransformed(schema)
    lives.set(schema, live = { parse: parserOf(schema), isOpen, isShared, list: listOf(schema) })
  }
  return live
}

const guarded = (fit: () => Fit): Fit => {
  try {
    return fit()
  } catch (cause) {
    // A value too deep for the call stack, or a schema that throws.
    return Result.fail(String(cause))
  }
}

// ---------------------------------------------------------------------------
// Taking
// ---------------------------------------------------------------------------

const changed = (path: ReadonlyArray<string | number>): Fit => {
  const where = path.length === 0 ? "" : ` at ${path.map((key) => `[${JSON.stringify(key)}]`).join("")}`
  return Result.fail(`its stored form reads back as something else${where}: the schema has to tell them apart`)
}

/** A value as it reads back from its stored form, which has to be what was meant. */
const readBack = (schema: AnySchema, value: unknown, meant: unknown): Fit => {
  const json = encoding(schema, value)
  if (Result.isFailure(json)) return Result.fail(`it has no stored form: ${json.failure}`)
  // Codecs hand on parts that are JSON already.
  const back = decoding(schema, copied(json.success))
  if (Result.isFailure(back)) return Result.fail(`its stored form cannot be read back: ${back.failure}`)
  const difference = differenceOf(meant, back.success)
  return difference === undefined ? back : changed(difference)
}

const take = (schema: AnySchema, value: unknown): Fit => {
  const { isOpen, isShared, parse } = liveOf(schema)
  const own = parse(value)
  if (!isOpen || Result.isFailure(own)) return own
  const back = readBack(schema, own.success, isShared ? value : own.success)
  if (Result.isSuccess(back)) return back
  // A key that may be left out, and holds `undefined`, is left out: stored, it would be null.
  const left = withoutUndefined(own.success)
  const again = Result.flatMap(parse(left), (fit) => readBack(schema, fit, isShared ? withoutUndefined(value) : fit))
  return Result.isSuccess(again) ? again : back
}

/** What a value is that enters from outside, frozen; or why it does not fit. It shares nothing with what was given that could change. */
export const taking = (schema: AnySchema, value: unknown): Fit =>
  guarded(() => Result.map(take(schema, value), freezeGiven))

// ---------------------------------------------------------------------------
// Settling
// ---------------------------------------------------------------------------

const settleList = (
  { item, passes }: NonNullable<Live["list"]>,
  before: ReadonlyArray<unknown>,
  after: ReadonlyArray<unknown>
): Fit => {
  // A list that is not marked holds nothing that somebody could have changed.
  const isSafe = !isFragile(before)
  const list: Array<unknown> = []
  const made: Array<unknown> = []
  let known: Set<unknown> | undefined
  const isKnown = (part: unknown): boolean =>
    typeof part === "object" && part !== null && (known ??= new Set(before)).has(part)
  for (let index = 0; index < after.length; index++) {
    const part = after[index]
    if (isSafe && ((index < before.length && before[index] === part) || isKnown(part))) {
      list.push(part)
      continue
    }
    const settled = settle(item, before[index], part)
    if (Result.isFailure(settled)) return settled
    list.push(settled.success)
    made.push(settled.success)
  }
  return passes(list) ? Result.succeed(seal(list, made)) : Result.fail("")
}

/** What a value is that was made from `before`, frozen: an object that was there already is not looked at again. */
const settle = (schema: AnySchema, before: unknown, after: unknown): Fit => {
  if (before === after && typeof after === "object" && after !== null && !isFragile(after)) {
    return Result.succeed(after)
  }
  const { list } = liveOf(schema)
  return list !== undefined && Array.isArray(after)
    ? settleList(list, Array.isArray(before) ? before : [], after)
    : Result.map(take(schema, after), freezeGiven)
}

/** What the result of a fold is, frozen; or why it does not fit. `before` fits, and what is frozen of it is not looked at again. */
export const settling = (schema: AnySchema, before: unknown, after: unknown): Fit =>
  guarded(() => {
    const settled = settle(schema, before, after)
    // What is wrong is told of the whole, with the path to it.
    return Result.isFailure(settled) ? Result.map(take(schema, after), freezeGiven) : settled
  })
