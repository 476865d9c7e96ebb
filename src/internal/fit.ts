/**
 * Values and their schemas: what a value is once it has been stored and read
 * back. A channel holds nothing else, so a live run and one that was resumed
 * see the same. Pure; what is wrong comes back as a text.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { holds } from "./ast.ts"
import { copied } from "./canonical.ts"
import { decoding, encoding } from "./codec.ts"
import { freezeGiven } from "./freeze.ts"
import { isSame } from "./same.ts"

type AnySchema = Schema.ConstraintCodec<unknown, unknown> & Schema.Constraint
type Fit = Result.Result<unknown, string>
type Parse = (value: unknown) => Fit

// ---------------------------------------------------------------------------
// What a schema says of its values
// ---------------------------------------------------------------------------

const parserOf = (ast: SchemaAST.AST): Parse => {
  const parse = Schema.decodeUnknownResult(Schema.make<AnySchema>(ast))
  return (value) => Result.mapError(parse(value), (error) => error.message)
}

/** A schema as far as it is about live values, made once. */
interface Live {
  readonly ast: SchemaAST.AST
  /** Whether values may hold what is no plain data: then only their stored form tells what they are. */
  readonly isOpen: boolean
}

const lives = new WeakMap<AnySchema, Live>()

const liveOf = (schema: AnySchema): Live => {
  let live = lives.get(schema)
  if (live === undefined) {
    const { ast } = Schema.toType(schema)
    lives.set(schema, live = { ast, isOpen: holds(ast, ["Declaration", "Any", "Unknown", "ObjectKeyword"]) })
  }
  return live
}

const parsers = new WeakMap<SchemaAST.AST, Parse>()

/** A value that fits, without what the schema does not name; or why it does not fit. */
const parsed = (ast: SchemaAST.AST, value: unknown): Fit => {
  let parse = parsers.get(ast)
  if (parse === undefined) parsers.set(ast, parse = parserOf(ast))
  return parse(value)
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

/** A value as it reads back from its stored form. One that has none is itself: it can be used where nothing is stored. */
const readBack = (schema: AnySchema, value: unknown): Fit => {
  const json = encoding(schema, value)
  if (Result.isFailure(json)) return Result.succeed(value)
  // Codecs hand on parts that are JSON already.
  const back = decoding(schema, copied(json.success))
  if (Result.isFailure(back)) return Result.fail(`its stored form cannot be read back: ${back.failure}`)
  return isSame(value, back.success)
    ? back
    : Result.fail("its stored form reads back as something else: the schema has to tell them apart")
}

/** What a value is that enters from outside, frozen; or why it does not fit. It shares nothing with what was given that could change. */
export const taking = (schema: AnySchema, value: unknown): Fit =>
  guarded(() => {
    const { ast, isOpen } = liveOf(schema)
    const own = parsed(ast, value)
    return Result.map(isOpen ? Result.flatMap(own, (fit) => readBack(schema, fit)) : own, freezeGiven)
  })

// ---------------------------------------------------------------------------
// Settling
// ---------------------------------------------------------------------------

/** What the schema of a list asks besides what it asks of the items. */
const shells = new WeakMap<SchemaAST.AST, SchemaAST.AST>()

const passesChecks = (ast: SchemaAST.Arrays, list: ReadonlyArray<unknown>): boolean => {
  if (ast.checks === undefined) return true
  let shell = shells.get(ast)
  if (shell === undefined) {
    shells.set(ast, shell = new SchemaAST.Arrays(false, [], [Schema.Unknown.ast], undefined, ast.checks))
  }
  return Result.isSuccess(parsed(shell, list))
}

const settledList = (ast: SchemaAST.Arrays, before: unknown, after: ReadonlyArray<unknown>): Fit => {
  const old: ReadonlyArray<unknown> = Array.isArray(before) ? before : []
  const item = ast.rest[0]!
  const list: Array<unknown> = []
  for (let index = 0; index < after.length; index++) {
    const settled = index < old.length ? settledPart(item, old[index], after[index]) : parsed(item, after[index])
    if (Result.isFailure(settled)) return settled
    list.push(settled.success)
  }
  return passesChecks(ast, list) ? Result.succeed(list) : parsed(ast, after)
}

/** What a value is that was made from `before`, which fits: only what is not the same object is looked at. */
const settledPart = (ast: SchemaAST.AST, before: unknown, after: unknown): Fit => {
  if (before === after) return Result.succeed(after)
  return ast._tag === "Arrays" && ast.elements.length === 0 && ast.rest.length === 1 && Array.isArray(after)
    ? settledList(ast, before, after)
    : parsed(ast, after)
}

/** What the result of a fold is; or why it does not fit. */
export const settling = (schema: AnySchema, before: unknown, after: unknown): Fit =>
  guarded(() => {
    const { ast } = liveOf(schema)
    const settled = settledPart(ast, before, after)
    // What is wrong is told of the whole, with the path to it.
    return Result.isFailure(settled) ? parsed(ast, after) : settled
  })
