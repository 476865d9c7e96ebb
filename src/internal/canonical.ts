import type * as Schema from "effect/Schema"

/** JSON text with sorted keys: equal values have equal texts. */
export const canonical = (json: Schema.Json): string => JSON.stringify(sorted(json))

const sorted = (json: Schema.Json): unknown => {
  if (typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map(sorted)
  const record = json as { readonly [key: string]: Schema.Json }
  const out: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const key of Object.keys(record).sort()) out[key] = sorted(record[key]!)
  return out
}
