/** The checksum that stored text carries: a character that changed is a fault, never another value. Pure. */

const length = 11
const start = "[\""
const middle = "\","
const overhead = start.length + length + middle.length

/** Two lanes of FNV-1a over UTF-16 code units, mixed into 53 bits. It finds damage; it is no defence against forgery. */
const checksum = (texts: ReadonlyArray<string>): string => {
  let a = 0x811c9dc5
  let b = 0x9747b28c
  for (const text of texts) {
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index)
      a = Math.imul(a ^ unit, 0x01000193)
      b = Math.imul(b ^ unit, 0x5bd1e995)
      b ^= b >>> 15
    }
    a = Math.imul(a ^ text.length, 0x85ebca6b)
    b = Math.imul(b ^ text.length, 0xc2b2ae35)
  }
  a ^= a >>> 16
  b ^= b >>> 13
  return ((a & 0x1fffff) * 0x1_0000_0000 + (b >>> 0)).toString(36).padStart(length, "0")
}

/** JSON text with a checksum over it and over what stands beside it. */
export const seal = (beside: ReadonlyArray<string>, json: string): string =>
  `${start}${checksum([...beside, json])}${middle}${json}]`

/** The JSON text, if it is what was sealed. What a damaged storage holds may be no text. */
export const unseal = (beside: ReadonlyArray<string>, text: string): string | undefined => {
  if (typeof text !== "string" || !beside.every((part) => typeof part === "string")) return undefined
  const json = text.slice(overhead, -1)
  return seal(beside, json) === text ? json : undefined
}

/** How long the JSON text is. */
export const lengthOf = (text: string): number => text.length - overhead - 1
