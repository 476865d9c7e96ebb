/** What a store fails with when its arguments were right. */
import * as Data from "effect/Data"
import { quoted, say, shown } from "../say.ts"
import type { Namespace } from "./names.ts"

/**
 * What is kept could not be reached, written or read. `Embedding`: the model gave no vectors. `Encode` and `Decode`: a value does not fit
 * the schema of its collection. `Format`: the storage is of a later version, or not a store's.
 */
export class StoreError extends Data.TaggedError("StoreError")<{
  readonly reason: "Storage" | "Format" | "Embedding" | "Encode" | "Decode"
  readonly namespace?: Namespace | undefined
  readonly key?: string | undefined
  readonly detail: string
  readonly cause?: unknown
}> {
  override get message(): string {
    const at = this.namespace === undefined
      ? "the store"
      : this.key === undefined
      ? quoted(this.namespace)
      : `${quoted(this.namespace)} ${quoted(this.key)}`
    return say`${shown(this.reason).toLowerCase()} error at ${at}: ${this.detail}`
  }
}
