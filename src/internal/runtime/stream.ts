/** A run as a stream of its events. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type * as Event from "../../Event.ts"
import type { Sink } from "./events.ts"
import type { Erased } from "./task.ts"
import { Waits } from "./timeouts.ts"

/** Events that a stream holds for a reader that is behind, before the run waits for it. */
export const eventBufferSize = 64

/** The events of a run. Dropping the stream ends the run. */
export const eventStream = (
  options: { readonly modes: ReadonlyArray<Event.Mode>; readonly subgraphs?: boolean },
  run: (sink: Sink) => Erased<unknown>
): Stream.Stream<Event.Any, unknown, unknown> =>
  Stream.callback<Event.Any, unknown, unknown>((queue) => {
    const waits = new Waits()
    const sink: Sink = {
      modes: new Set(options.modes),
      subgraphs: options.subgraphs ?? false,
      offer: (event) =>
        Effect.suspend(() => {
          const offer = Effect.asVoid(Queue.offer(queue, event))
          return Queue.isFullUnsafe(queue) ? waits.around(offer) : offer
        }),
      waits
    }
    return Queue.into(Effect.asVoid(run(sink)), queue)
  }, { bufferSize: eventBufferSize })
