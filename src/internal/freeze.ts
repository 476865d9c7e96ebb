/**
 * Isolation of values: what enters a channel is frozen once, and what cannot be
 * frozen is marked, so that readers get copies of it.
 */

// Objects that hold, at some depth, a value that JavaScript cannot freeze.
const fragile = new WeakSet<object>()

const isExotic = (value: object): boolean =>
  value instanceof Date || value instanceof Map || value instanceof Set || ArrayBuffer.isView(value) ||
  value instanceof ArrayBuffer || value instanceof URL || value instanceof RegExp

/** Plain data, and instances of `Schema.Class`, are frozen. Effect's own collections and values change nothing, but keep caches. */
type Kind = "data" | "effect" | "foreign"

const kinds = new WeakMap<object, Kind>()

const effectTypes: ReadonlyArray<string> = [
  "BigDecimal",
  "Cause",
  "Chunk",
  "DateTime",
  "Duration",
  "Exit",
  "HashMap",
  "HashSet",
  "Redacted"
].map((name) => `~effect/${name}`)

/** Effect's values that are what they hold, and keep nothing else. */
const plainTypes: ReadonlyArray<string> = ["~effect/Option", "~effect/Result"]

const isSchemaClass = (prototype: object): boolean => {
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    if (Object.getOwnPropertyNames(at).some((key) => key.startsWith("~effect/Schema/Class/"))) return true
  }
  return false
}

const kindOfPrototype = (prototype: object): Kind =>
  isSchemaClass(prototype) || plainTypes.some((type) => type in prototype)
    ? "data"
    : effectTypes.some((type) => type in prototype)
    ? "effect"
    : "foreign"

const kindOf = (value: object): Kind => {
  const prototype = Object.getPrototypeOf(value) as object | null
  // First what nearly every value is.
  if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) return "data"
  if (isExotic(value)) return "foreign"
  if (Array.isArray(value)) return "data"
  let kind = kinds.get(prototype)
  if (kind === undefined) kinds.set(prototype, kind = kindOfPrototype(prototype))
  return kind
}

/** Whether reading this value has to hand out a copy. */
export const isFragile = (value: unknown): boolean => typeof value === "object" && value !== null && fragile.has(value)

/**
 * Freezes plain objects, arrays and instances of `Schema.Class`, at every depth, and marks those that hold a `Date`, `Map`, `Set`,
 * buffer, `URL`, `RegExp` or an instance of another class. Objects that are frozen already are taken as deeply frozen, so the cost
 * is that of what is new. Effect's own data stays as it is, and what it holds is treated like everything else.
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

/** Freezes a list or record itself, made of parts that are frozen already: it is marked if one of these parts is. */
export const seal = <A extends object>(whole: A, parts: ReadonlyArray<unknown>): A => {
  Object.freeze(whole)
  if (parts.some(isFragile)) fragile.add(whole)
  return whole
}

const fieldsOf = (value: object): ReadonlyArray<unknown> =>
  Object.keys(value).map((key) => (value as Record<string, unknown>)[key])

/** The parts of one of Effect's values: the items of a collection, or what it holds. Tagged values iterate for `yield*`, not over items. */
const partsOf = (value: object): Iterable<unknown> =>
  Symbol.iterator in value && typeof value[Symbol.iterator] === "function" && !("_tag" in value)
    ? value as Iterable<unknown>
    : fieldsOf(value)

const mark = (value: object, parts: Iterable<unknown>, visited: Set<object> | undefined): boolean => {
  let found = false
  for (const part of parts) if (visit(part, visited)) found = true
  if (found) fragile.add(value)
  return found
}

const visitEffect = (value: object, visited: Set<object>): boolean => {
  if (visited.has(value)) return fragile.has(value)
  visited.add(value)
  return mark(value, partsOf(value), visited)
}

const visit = (value: unknown, visited?: Set<object>): boolean => {
  if (typeof value !== "object" || value === null) return false
  const kind = kindOf(value)
  if (kind === "foreign") {
    fragile.add(value)
    return true
  }
  if (kind === "effect") return visitEffect(value, visited ?? new Set())
  if (Object.isFrozen(value)) {
    if (visited === undefined || visited.has(value) || fragile.has(value)) return fragile.has(value)
    visited.add(value)
  }
  // Frozen before its parts are visited, so that a cyclic value ends here.
  Object.freeze(value)
  return mark(value, Array.isArray(value) ? value as ReadonlyArray<unknown> : fieldsOf(value), visited)
}
