/** The texts of errors. What untyped callers put into an error can be anything: whatever it is, it has a text. */

/** A value as data: a text stands in quotes. */
export const quoted = (value: unknown): string => {
  try {
    return (typeof value === "string" || (typeof value === "object" && value !== null)
      ? JSON.stringify(value)
      : undefined) ?? String(value)
  } catch {
    return `a value of type ${typeof value}`
  }
}

/** A value as a part of a sentence. */
export const shown = (value: unknown): string => typeof value === "string" ? value : quoted(value)

/** A template whose parts may be any values. */
export const say = (parts: TemplateStringsArray, ...values: ReadonlyArray<unknown>): string =>
  parts.reduce((text, part, index) => `${text}${shown(values[index - 1])}${part}`)

/** The texts of the items of a list. What is no list is its own only item. */
export const each = <A>(items: ReadonlyArray<A>, text: (item: A) => string): ReadonlyArray<string> =>
  Array.isArray(items) ? items.map(text) : [shown(items)]
