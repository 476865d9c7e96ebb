/**
 * SHA-256 (FIPS 180-4) of a text, as the first 128 bits in hexadecimal. Own code, because the engine is synchronous and
 * pure and depends on `effect` alone, whose digests are asynchronous services.
 */

const constants = ((): Int32Array => {
  const table = new Int32Array(64)
  let found = 0
  for (let candidate = 2; found < 64; candidate++) {
    let isPrime = true
    for (let factor = 2; factor * factor <= candidate; factor++) if (candidate % factor === 0) isPrime = false
    if (isPrime) table[found++] = fraction(Math.cbrt(candidate))
  }
  return table
})()

/** The first 32 bits of the fractional part. */
function fraction(x: number): number {
  return ((x - Math.floor(x)) * 0x1_0000_0000) | 0
}

const initial = [2, 3, 5, 7, 11, 13, 17, 19].map((prime) => fraction(Math.sqrt(prime)))
const encoder = new TextEncoder()
const schedule = new Int32Array(64)

const compress = (state: Int32Array, block: DataView, offset: number): void => {
  for (let i = 0; i < 16; i++) schedule[i] = block.getInt32(offset + i * 4)
  for (let i = 16; i < 64; i++) {
    const x = schedule[i - 15]!
    const y = schedule[i - 2]!
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    schedule[i] = (schedule[i - 16]! + s0 + schedule[i - 7]! + s1) | 0
  }
  let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!
  let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i]! + schedule[i]!) | 0
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
  state[4]! += e
  state[5]! += f
  state[6]! += g
  state[7]! += h
}

/** Lone surrogates have no UTF-8. Texts that hold one stand in another form, marked by a length that no text has. */
const plain = (part: string): string => part.isWellFormed() ? `${part.length}:${part}` : `-${JSON.stringify(part)}`

/** Parts are told apart whatever they contain: each is preceded by its length. */
const join = (parts: ReadonlyArray<string>): string => parts.map(plain).join("")

/** The hash of some texts: 32 hexadecimal digits. */
export const hash = (...parts: ReadonlyArray<string>): string => hashAll(parts)

/** The hash of a list of texts of any length, which would be too many arguments for a call. */
export const hashAll = (parts: ReadonlyArray<string>): string => {
  const message = encoder.encode(join(parts))
  const padded = new Uint8Array(((message.length + 8) >> 6 << 6) + 64)
  padded.set(message)
  padded[message.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, Math.floor(message.length / 0x2000_0000))
  view.setUint32(padded.length - 4, message.length << 3 >>> 0)
  const state = Int32Array.from(initial)
  for (let offset = 0; offset < padded.length; offset += 64) compress(state, view, offset)
  let out = ""
  for (let i = 0; i < 4; i++) out += (state[i]! >>> 0).toString(16).padStart(8, "0")
  return out
}
