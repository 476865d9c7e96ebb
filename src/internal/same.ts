/** Whether a value that was read back is the one that was stored. */
import * as Cause from "effect/Cause"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"

const tagOf = (value: object): string => Object.prototype.toString.call(value)

const all = (a: Iterable<unknown>, b: Iterable<unknown>): boolean => {
  const [left, right] = [[...a], [...b]]
  return left.length === right.length && left.every((item, index) => isSame(item, right[index]))
}

const isSameRecord = (a: object, b: object): boolean => {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length &&
    keys.every((key) =>
      Object.hasOwn(b, key) && isSame((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])
    )
}

const bytesOf = (value: ArrayBufferView | ArrayBuffer): Uint8Array =>
  ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value)

const isBytes = (value: object): value is ArrayBufferView | ArrayBuffer =>
  ArrayBuffer.isView(value) || value instanceof ArrayBuffer

const isFailure = (a: object): boolean => a instanceof Error || Cause.isCause(a) || Exit.isExit(a)

const isSameObject = (a: object, b: object): boolean => {
  if (tagOf(a) !== tagOf(b)) return false
  if (isBytes(a) && isBytes(b)) return all(bytesOf(a), bytesOf(b))
  if (Array.isArray(a) && Array.isArray(b)) return all(a, b)
  if (a instanceof Map && b instanceof Map) return all(a, b)
  if (a instanceof Set && b instanceof Set) return all(a, b)
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime())
  if (a instanceof URL || a instanceof RegExp) return String(a) === String(b)
  if (isFailure(a)) return true
  return Equal.isEqual(a) ? Equal.equals(a, b) : isSameRecord(a, b)
}

/** By content. Failures are the same: what is stored of one is less than what it is. */
export const isSame = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b) || a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  return isSameObject(a, b)
}
