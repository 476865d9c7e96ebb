/** Filters of a search: what a value has to be like. Pure. */
import type * as Schema from "effect/Schema"
import { compareText } from "./names.ts"

const TypeId = "~superstep/Store/Where"

/** What a part of a value is compared with. All that are given have to hold. */
export interface Comparison {
  /** The same JSON value; the order of keys does not matter. */
  readonly eq?: Schema.Json | undefined
  /** Any other, or nothing at all. */
  readonly ne?: Schema.Json | undefined
  readonly gt?: number | string | undefined
  readonly gte?: number | string | undefined
  readonly lt?: number | string | undefined
  readonly lte?: number | string | undefined
}

/** A comparison, made by `Store.where`. */
export interface Where {
  readonly [TypeId]: Comparison
}

/** What a part of a value has to be: this JSON, or what `where` says. A record is about the keys it has. */
export type Condition =
  | null
  | boolean
  | number
  | string
  | Where
  | ReadonlyArray<Condition>
  | { readonly [key: string]: Condition }

/** By key of the value: what stands there. All have to hold. */
export type Filter = { readonly [key: string]: Condition }

const operators: ReadonlyArray<string> = ["eq", "ne", "gt", "gte", "lt", "lte"]

export const where = (comparison: Comparison): Where => ({ [TypeId]: comparison })

const isRecord = (u: unknown): u is { readonly [key: string]: unknown } =>
  typeof u === "object" && u !== null && !Array.isArray(u)

const isWhere = (u: unknown): u is Where => isRecord(u) && Object.hasOwn(u, TypeId)

const own = (record: object, key: string): unknown =>
  Object.hasOwn(record, key) ? (record as Record<string, unknown>)[key] : undefined

/** Where a filter is no filter, as a path and what was expected there. */
export const filterProblem = (
  path: string,
  condition: unknown,
  isJson: (u: unknown) => boolean
): { readonly path: string; readonly expected: string; readonly got: unknown } | undefined => {
  if (isWhere(condition)) return comparisonProblem(path, condition[TypeId], isJson)
  if (Array.isArray(condition)) {
    for (let at = 0; at < condition.length; at++) {
      const problem = filterProblem(`${path}[${at}]`, condition[at], isJson)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  if (!isRecord(condition)) return isJson(condition) ? undefined : { path, expected: "a JSON value", got: condition }
  for (const [key, part] of Object.entries(condition)) {
    const problem = filterProblem(`${path}.${key}`, part, isJson)
    if (problem !== undefined) return problem
  }
  return undefined
}

const comparisonProblem = (path: string, comparison: unknown, isJson: (u: unknown) => boolean) => {
  if (!isRecord(comparison)) return { path, expected: "a record of comparisons", got: comparison }
  for (const [name, operand] of Object.entries(comparison)) {
    if (!operators.includes(name)) return { path, expected: `one of ${operators.join(", ")}`, got: name }
    if (operand === undefined) continue
    const isRight = name === "eq" || name === "ne"
      ? isJson(operand)
      : typeof operand === "string" || Number.isFinite(operand)
    if (!isRight) {
      const expected = name === "eq" || name === "ne" ? "a JSON value" : "a number or a text"
      return { path: `${path}.${name}`, expected, got: operand }
    }
  }
  return undefined
}

/** Whether two JSON values are the same. */
const isSame = (a: unknown, b: unknown): boolean => {
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, at) => isSame(item, b[at]))
  }
  if (!isRecord(a) || !isRecord(b)) return a === b
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
}

/** The order of two numbers, or of two texts; none of anything else. */
const orderOf = (a: unknown, b: unknown): number | undefined =>
  typeof a === "number" && typeof b === "number"
    ? a - b
    : typeof a === "string" && typeof b === "string"
    ? compareText(a, b)
    : undefined

const holds = (value: unknown, { eq, gt, gte, lt, lte, ne }: Comparison): boolean => {
  if (eq !== undefined && !isSame(value, eq)) return false
  if (ne !== undefined && isSame(value, ne)) return false
  const compares = (operand: unknown, test: (order: number) => boolean): boolean => {
    if (operand === undefined) return true
    const order = orderOf(value, operand)
    return order !== undefined && test(order)
  }
  return compares(gt, (order) => order > 0) && compares(gte, (order) => order >= 0) &&
    compares(lt, (order) => order < 0) && compares(lte, (order) => order <= 0)
}

/** Whether a value, `undefined` where there is none, is as a condition says. */
export const matches = (value: unknown, condition: Condition): boolean => {
  if (isWhere(condition)) return holds(value, condition[TypeId])
  if (Array.isArray(condition)) {
    return Array.isArray(value) && value.length === condition.length &&
      condition.every((part: Condition, at) => matches(value[at], part))
  }
  if (!isRecord(condition)) return value === condition
  return isRecord(value) &&
    Object.entries(condition).every(([key, part]) => matches(own(value, key), part as Condition))
}
