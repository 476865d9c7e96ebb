/**
 * Isolation of values: what enters a channel is frozen once, and what cannot be
 * frozen is marked, so that readers get copies of it.
 */

// Objects that hold, at some depth, a value that JavaScript cannot freeze.
const fragile = new WeakSet<object>()

const isExotic = (value: object): boolean =>
  value instanceof Date || value instanceof Map || value instanceof Set || ArrayBuffer.isView(value) ||
  value instanceof ArrayBuffer || value instanceof URL || value instanceof RegExp

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === Object.prototype || prototype === null
}

/** Whether reading this value has to hand out a copy. */
export const isFragile = (value: unknown): boolean => typeof value === "object" && value !== null && fragile.has(value)

/**
 * Freezes plain objects and arrays, at every depth, and marks those that hold a `Date`, `Map`, `Set`, buffer, `URL` or
 * `RegExp`. Objects that are frozen already are taken as deeply frozen, so the cost is that of what is new. Instances of
 * other classes stay as they are, and what they hold is treated like everything else.
 */
export const freeze = <A>(value: A): A => {
  visit(value)
  return value
}

/**
 * Freezes what enters from outside: also what is inside objects that somebody froze already, perhaps not at every depth.
 */
export const freezeGiven = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) visit(value, new Set())
  return value
}

/** Freezes a list made of parts that are frozen already: it is marked if one of them is. */
export const seal = <A>(list: ReadonlyArray<A>, parts: ReadonlyArray<unknown>): ReadonlyArray<A> => {
  Object.freeze(list)
  if (parts.some(isFragile)) fragile.add(list)
  return list
}

/** The parts of an instance: the items of a collection, or what it holds. Tagged values iterate for `yield*`, not over items. */
const partsOf = (value: object): Iterable<unknown> =>
  Symbol.iterator in value && typeof value[Symbol.iterator] === "function" && !("_tag" in value)
    ? value as Iterable<unknown>
    : Object.keys(value).map((key) => (value as Record<string, unknown>)[key])

/** An instance of a class is not frozen itself, since it may keep caches; what it holds is. */
const visitInstance = (value: object, visited: Set<object>): boolean => {
  if (visited.has(value)) return fragile.has(value)
  visited.add(value)
  let found = false
  for (const part of partsOf(value)) if (visit(part, visited)) found = true
  if (found) fragile.add(value)
  return found
}

const visit = (value: unknown, visited?: Set<object>): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (isExotic(value)) {
    fragile.add(value)
    return true
  }
  if (Object.isFrozen(value)) {
    if (visited === undefined || visited.has(value) || fragile.has(value)) return fragile.has(value)
    visited.add(value)
  }
  const isArray = Array.isArray(value)
  if (!isArray && !isPlain(value)) return visitInstance(value, visited ?? new Set())
  // Frozen before its parts are visited, so that a cyclic value ends here.
  Object.freeze(value)
  let found = false
  if (isArray) {
    for (const item of value) if (visit(item, visited)) found = true
  } else {
    for (const key of Object.keys(value)) if (visit((value as Record<string, unknown>)[key], visited)) found = true
  }
  if (found) fragile.add(value)
  return found
}
