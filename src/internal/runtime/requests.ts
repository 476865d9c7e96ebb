/** Between questions as a node asks them, as they are stored, and as they are shown. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Channel from "../../Channel.ts"
import type { PendingRequest } from "../../Checkpoint.ts"
import { type AnyRequest, definition, Request } from "../../Interrupt.ts"
import type { StoredRequest } from "../engine/stored.ts"

/**
 * A stored question as it was asked. Where its definition is not known in this process, or no longer takes the payload, that is shown
 * as it is stored.
 */
export const decodeRequest = ({ id, payload, tag }: StoredRequest): AnyRequest => {
  const known = definition(tag)
  const decoded = known === undefined ? undefined : Channel.decode(Channel.lastValue(known.payload), payload)
  const shown = decoded !== undefined && Result.isSuccess(decoded) ? Option.getOrUndefined(decoded.success) : payload
  return new Request({ tag, id, payload: shown })
}

export const showRequest = ({ id, payload, tag }: AnyRequest): PendingRequest => ({
  id,
  tag,
  payload: payload as unknown
})
