/** Whether a value that was read back is the one that was stored. */
import * as Cause from "effect/Cause"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"

/** Where two values differ: a path, empty for the whole. None if they do not. */
type Difference = ReadonlyArray<string | number> | undefined

const whole: Difference = []

const tagOf = (value: object): string => Object.prototype.toString.call(value)

const isPlain = (prototype: unknown): boolean => prototype === null || prototype === Object.prototype

const isSameClass = (a: object, b: object): boolean => {
  const [mine, theirs] = [Object.getPrototypeOf(a) as unknown, Object.getPrototypeOf(b) as unknown]
  return mine === theirs || (isPlain(mine) && isPlain(theirs))
}

const at = (key: string | number, difference: Difference): Difference =>
  difference === undefined ? undefined : [key, ...difference]

const inLists = (a: Iterable<unknown>, b: Iterable<unknown>): Difference => {
  const [left, right] = [[...a], [...b]]
  if (left.length !== right.length) return whole
  for (const [index, item] of left.entries()) {
    const difference = at(index, differenceOf(item, right[index]))
    if (difference !== undefined) return difference
  }
  return undefined
}

const inRecords = (a: object, b: object): Difference => {
  if (!isSameClass(a, b)) return whole
  const keys = Object.keys(a)
  const stray = Object.keys(b).find((key) => !Object.hasOwn(a, key))
  if (stray !== undefined) return [stray]
  for (const key of keys) {
    const difference = Object.hasOwn(b, key)
      ? differenceOf((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])
      : whole
    if (difference !== undefined) return [key, ...difference]
  }
  return undefined
}

const bytesOf = (value: ArrayBufferView | ArrayBuffer): Uint8Array =>
  ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value)

const isBytes = (value: object): value is ArrayBufferView | ArrayBuffer =>
  ArrayBuffer.isView(value) || value instanceof ArrayBuffer

const isFailure = (a: object): boolean => a instanceof Error || Cause.isCause(a) || Exit.isExit(a)

const unless = (isSame: boolean): Difference => isSame ? undefined : whole

const inObjects = (a: object, b: object): Difference => {
  if (tagOf(a) !== tagOf(b)) return whole
  if (isBytes(a) && isBytes(b)) return unless(inLists(bytesOf(a), bytesOf(b)) === undefined)
  if (Array.isArray(a) && Array.isArray(b)) return inLists(a, b)
  if (a instanceof Map && b instanceof Map) return unless(inLists(a, b) === undefined)
  if (a instanceof Set && b instanceof Set) return unless(inLists(a, b) === undefined)
  if (a instanceof Date && b instanceof Date) return unless(Object.is(a.getTime(), b.getTime()))
  if (a instanceof URL || a instanceof RegExp) return unless(String(a) === String(b))
  if (isFailure(a)) return undefined
  return Equal.isEqual(a) ? unless(Equal.equals(a, b)) : inRecords(a, b)
}

/** Where two values differ, by content. Failures do not: what is stored of one is less than what it is. */
export const differenceOf = (a: unknown, b: unknown): Difference => {
  if (Object.is(a, b) || a === b) return undefined
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return whole
  return inObjects(a, b)
}

/** A value without the keys of its records that hold `undefined`. */
export const withoutUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== "object" || value === null || !isPlain(Object.getPrototypeOf(value))) return value
  return Object.fromEntries(
    Object.entries(value).filter(([, part]) => part !== undefined).map(([key, part]) => [key, withoutUndefined(part)])
  )
}
