/** A run as a stream of its events. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Event from "../../Event.ts"
import type { Program } from "../engine/program.ts"
import type { Sink } from "./events.ts"
import { told } from "./options.ts"
import type { Erased } from "./task.ts"
import { Waits } from "./timeouts.ts"

/** Events that a stream holds for a reader that is behind, before the run waits for it. */
export const eventBufferSize = 64

/** What every stream of events is told. */
interface Streamed {
  readonly modes: ReadonlyArray<Event.Mode>
  readonly subgraphs?: boolean | undefined
}

const eventsOf = (
  { kind }: Program,
  said: Streamed,
  run: (sink: Sink) => Erased<unknown>
): Stream.Stream<Event.Any, unknown, unknown> =>
  Stream.callback<Event.Any, unknown, unknown>((queue) => {
    const waits = new Waits()
    const sink: Sink = {
      modes: new Set(said.modes),
      // Tasks are what a function does: their events are shown, unless it is said otherwise.
      subgraphs: said.subgraphs ?? kind === "function",
      offer: (event) =>
        // At once, if there is room: what finds none waits, whoever was faster.
        Effect.suspend(() =>
          Queue.offerUnsafe(queue, event) ? Effect.void : waits.around(Effect.asVoid(Queue.offer(queue, event)))
        ),
      waits
    }
    return Queue.into(Effect.asVoid(run(sink)), queue)
  }, { bufferSize: eventBufferSize })

/** The events of a run. Dropping the stream ends the run. */
export const eventStream = <A extends Streamed>(
  program: Program,
  schema: Schema.Decoder<A>,
  given: unknown,
  run: (said: A, sink: Sink) => Erased<unknown>
): Stream.Stream<Event.Any, unknown, unknown> =>
  Stream.suspend((): Stream.Stream<Event.Any, unknown, unknown> => {
    const said = told(schema, given)
    return Result.isFailure(said)
      ? Stream.fail(said.failure)
      : eventsOf(program, said.success, (sink) => run(said.success, sink))
  })
