import { type Layer, Redacted } from "effect"
import type { Checkpointer } from "superstep"
import * as EncryptedCheckpointer from "superstep/crypto/EncryptedCheckpointer"
import { describe, expectTypeOf, it } from "vitest"

const key = Redacted.make(new Uint8Array(32))

describe("EncryptedCheckpointer", () => {
  it("takes as current key one of the keys", () => {
    const layer = EncryptedCheckpointer.layer({ keys: { "k-1": key, "k-2": key }, current: "k-2", ids: key })
    expectTypeOf(layer).toEqualTypeOf<Layer.Layer<Checkpointer.Checkpointer, never, Checkpointer.Checkpointer>>()
    // @ts-expect-error is not assignable to type '"k-1"'
    EncryptedCheckpointer.layer({ keys: { "k-1": key }, current: "k-2", ids: key })
    const keys: Record<string, Redacted.Redacted<Uint8Array>> = { "k-1": key }
    EncryptedCheckpointer.layer({ keys, current: "k-1", ids: key })
  })
  it("takes keys that are redacted bytes, and a key of ids", () => {
    // @ts-expect-error is not assignable to type 'Redacted<Uint8Array
    EncryptedCheckpointer.layer({ keys: { "k-1": Redacted.make("text") }, current: "k-1", ids: key })
    // @ts-expect-error is not assignable to type 'Redacted<Uint8Array
    EncryptedCheckpointer.layer({ keys: { "k-1": new Uint8Array(32) }, current: "k-1", ids: key })
    // @ts-expect-error Property 'ids' is missing
    EncryptedCheckpointer.layer({ keys: { "k-1": key }, current: "k-1" })
  })
})
