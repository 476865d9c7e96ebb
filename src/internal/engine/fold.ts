/**
 * What channels come to hold: as it would be read back from storage, so that a
 * live run and one that was resumed see the same. Pure.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Channel from "../../Channel.ts"
import { InvalidUpdate } from "../../GraphError.ts"
import { settling } from "../fit.ts"
import type { ChannelProgram } from "./program.ts"

/** What a channel holds before any write. */
export const emptyCell = ({ codec, rule }: ChannelProgram): Channel.Cell => {
  const cell = Channel.empty(rule)
  if (Option.isNone(cell)) return cell
  return Result.match(codec.take(Channel.overwrite(cell.value)), {
    onSuccess: (taken) => Option.some((taken as Channel.Overwrite<unknown>).value),
    onFailure: () => cell
  })
}

/** Whether a write takes the place of the value, and is not added to it. */
export const keepsLast = (rule: Channel.Rule): boolean =>
  rule._tag === "LastValue" || rule._tag === "LastValueAfterFinish" || rule._tag === "AnyValue" ||
  rule._tag === "UntrackedValue" || rule._tag === "EphemeralValue"

/** Whether a function of the user's makes the value. */
const isMade = (rule: Channel.Rule): boolean =>
  rule._tag === "Delta" || (rule._tag === "BinaryOperatorAggregate" && !rule.appends)

/** The next cell of a channel, from the writes of one superstep in task order. */
export const fold = (
  channel: ChannelProgram,
  cell: Channel.Cell,
  writes: ReadonlyArray<unknown>
): Result.Result<Channel.Cell, InvalidUpdate> => {
  const { codec, name, rule, value } = channel
  if (!isMade(rule) || value === undefined || writes.length === 0) return Channel.update(name, rule, cell, writes)
  const before = Option.map(cell, codec.handOut)
  const made = Channel.update(name, rule, before, writes.map(codec.handOutWrite))
  return Result.flatMap(made, (after) => {
    const settled = settling(value, Option.getOrUndefined(before), Option.getOrUndefined(after))
    return Result.mapBoth(settled, {
      onSuccess: (fit): Channel.Cell => Option.some(fit),
      onFailure: (detail) => new InvalidUpdate({ reason: "InvalidResult", channel: name, writers: [], detail })
    })
  })
}
