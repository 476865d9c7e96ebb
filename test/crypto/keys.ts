/** Keys for tests, and savers that encrypt with them. */
import { Layer, Redacted } from "effect"
import type { Checkpointer } from "superstep"
import * as EncryptedCheckpointer from "superstep/crypto/EncryptedCheckpointer"

/** A key that is one byte again and again. */
export const key = (byte: number) => Redacted.make(new Uint8Array(EncryptedCheckpointer.keyBytes).fill(byte))

export const ids = key(7)

export const options = { keys: { "k-1": key(1) }, current: "k-1", ids } as const

/** The threads of a saver, encrypted. */
export const encrypted = <E>(below: Layer.Layer<Checkpointer.Checkpointer, E>) =>
  Layer.provide(EncryptedCheckpointer.layer(options), below)
