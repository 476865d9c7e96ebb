/** Vectors as bytes: of each its length, then its numbers, four bytes each. */

const size = 4

/** Then numbers lie in memory as they do in the bytes. */
const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1

export const toBytes = (vectors: ReadonlyArray<Float32Array>): Uint8Array | null => {
  if (vectors.length === 0) return null
  const bytes = new Uint8Array(vectors.reduce((sum, vector) => sum + size * (vector.length + 1), 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const vector of vectors) {
    view.setUint32(at, vector.length, true)
    for (const [index, number] of vector.entries()) view.setFloat32(at + size * (index + 1), number, true)
    at += size * (vector.length + 1)
  }
  return bytes
}

/** What a damaged database holds is as many vectors as can be read. */
export const fromBytes = (bytes: Uint8Array | null): ReadonlyArray<Float32Array> => {
  if (bytes === null) return []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const vectors: Array<Float32Array> = []
  for (let at = 0; at + size <= bytes.byteLength;) {
    const length = view.getUint32(at, true)
    if (at + size * (length + 1) > bytes.byteLength) break
    const start = at + size
    const end = start + size * length
    vectors.push(
      isLittleEndian
        ? new Float32Array(new Uint8Array(bytes.subarray(start, end)).buffer)
        : Float32Array.from({ length }, (_, index) => view.getFloat32(start + size * index, true))
    )
    at = end
  }
  return vectors
}
