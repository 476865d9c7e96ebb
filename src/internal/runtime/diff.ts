/** What differs between the states of two checkpoints, as they are stored. */
import * as Effect from "effect/Effect"
import * as JsonPatch from "effect/JsonPatch"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { setKey } from "../engine/checkpoint.ts"
import type { Program } from "../engine/program.ts"
import { type At, locate, type Located, snapshot } from "./inspect.ts"
import { toError } from "./session.ts"
import type { Erased } from "./task.ts"

/** The JSON form of a state, key by key. */
const encoded: (located: Located) => Erased<Schema.Json> = Effect.fnUntraced(function*(located: Located) {
  const { program, row, thread } = located
  const { values } = yield* snapshot(located)
  const state: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(values as Readonly<Record<string, unknown>>)) {
    const { codec, name, rule } = program.channels[program.channelNumber.get(key)!]!
    if (rule._tag === "UntrackedValue") continue
    const json = Result.mapError(
      codec.encode(value),
      (detail) => toError(thread, row.id)({ reason: "Encode", channel: name, detail })
    )
    setKey(state, key, yield* Effect.fromResult(json))
  }
  return state as Schema.Json
}) as (located: Located) => Erased<Schema.Json>

/** What leads from the state of one checkpoint to that of another; of the head, if none is named. */
export const diff: (
  program: Program,
  thread: string,
  where: At,
  from: string,
  to: string | undefined
) => Erased<JsonPatch.JsonPatch> = Effect.fnUntraced(
  function*(program: Program, thread: string, where: At, from: string, to: string | undefined) {
    const before = yield* encoded(yield* locate(program, thread, where, from))
    const after = yield* encoded(yield* locate(program, thread, where, to))
    return JsonPatch.get(before, after)
  }
) as (
  program: Program,
  thread: string,
  where: At,
  from: string,
  to: string | undefined
) => Erased<JsonPatch.JsonPatch>
