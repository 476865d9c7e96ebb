import type * as Schema from "effect/Schema"

/** JSON text with sorted keys: equal values have equal texts. */
export const canonical = (json: Schema.Json): string => JSON.stringify(rebuilt(json, (keys) => keys.sort()))

/** Nobody else's. */
export const copied = (json: Schema.Json): Schema.Json => rebuilt(json, (keys) => keys)

type Order = (keys: Array<string>) => ReadonlyArray<string>

const rebuilt = (json: Schema.Json, order: Order): Schema.Json => {
  if (typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map((item: Schema.Json) => rebuilt(item, order))
  const record = json as { readonly [key: string]: Schema.Json }
  return Object.fromEntries(order(Object.keys(record)).map((key) => [key, rebuilt(record[key]!, order)]))
}
