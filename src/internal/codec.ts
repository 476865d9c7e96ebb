/** The JSON codec and the check that belong to a schema, made when first needed. Pure; what is wrong comes back as a text. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { holds } from "./ast.ts"
import { canonical } from "./canonical.ts"

/** A schema whose codec needs no services. */
export type AnySchema = Schema.ConstraintCodec<unknown, unknown> & Schema.Constraint

interface Codec {
  readonly encode: (value: unknown) => Result.Result<Schema.Json, Schema.SchemaError>
  readonly decode: (json: unknown) => Result.Result<unknown, Schema.SchemaError>
}

const codecs = new WeakMap<Schema.Constraint, Codec>()

const codecOf = (schema: AnySchema): Codec => {
  const known = codecs.get(schema)
  if (known !== undefined) return known
  const json = Schema.toCodecJson(schema) as unknown as Schema.Codec<unknown, Schema.Json>
  const encode = Schema.encodeUnknownResult(json)
  const codec: Codec = {
    // `Any` lets everything pass, also what JSON would drop or change.
    encode: holds(Schema.toType(schema).ast, ({ _tag }) => _tag === "Any")
      ? (value) => Result.flatMap(encode(value), Schema.decodeUnknownResult(Schema.Json))
      : encode,
    decode: Schema.decodeUnknownResult(json)
  }
  codecs.set(schema, codec)
  return codec
}

export const encoding = (schema: AnySchema, value: unknown): Result.Result<Schema.Json, string> => {
  try {
    return Result.mapError(codecOf(schema).encode(value), (error) => error.message)
  } catch (cause) {
    // A value too deep for the call stack, or a schema that throws.
    return Result.fail(String(cause))
  }
}

export const decoding = (schema: AnySchema, json: unknown): Result.Result<unknown, string> => {
  try {
    return Result.mapError(codecOf(schema).decode(json), (error) => error.message)
  } catch (cause) {
    return Result.fail(String(cause))
  }
}

const validators = new WeakMap<Schema.Constraint, (u: unknown) => boolean>()

const isValid = (schema: AnySchema, value: unknown): boolean => {
  let is = validators.get(schema)
  if (is === undefined) validators.set(schema, is = Schema.is(schema))
  return is(value)
}

/** Why a value does not fit a schema, if it does not. */
export const problemOf = (schema: AnySchema, value: unknown): Option.Option<string> => {
  try {
    if (isValid(schema, value)) return Option.none()
    const checked = Schema.decodeUnknownResult(Schema.toType(schema))(value)
    return Option.some(Result.isFailure(checked) ? checked.failure.message : "the value does not fit the schema")
  } catch (cause) {
    return Option.some(String(cause))
  }
}

/**
 * A function from a value to what tells it from others: for an object its canonical stored form, so that a value that was read back
 * is the same as the one that was written; an object without a stored form is only the same as itself.
 */
export const keyOf = (schema: AnySchema): (value: unknown) => unknown => {
  const keys = new WeakMap<object, unknown>()
  return (value) => {
    // Marked, so that a text and the form of an object are never the same.
    if (typeof value === "string") return `text ${value}`
    if (typeof value !== "object" || value === null) return value
    const known = keys.get(value)
    if (known !== undefined) return known
    const form = Result.map(encoding(schema, value), canonical)
    const key = Result.isFailure(form) ? value : `object ${form.success}`
    keys.set(value, key)
    return key
  }
}
