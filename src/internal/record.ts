/** A plain object, or an instance with keys: a Map, a Promise or a Date is no record of writes. */
export const isRecord = (u: unknown): u is Readonly<Record<string, unknown>> => {
  if (typeof u !== "object" || u === null || Array.isArray(u)) return false
  const prototype = Object.getPrototypeOf(u) as unknown
  return prototype === null || prototype === Object.prototype || Object.keys(u).length > 0
}
