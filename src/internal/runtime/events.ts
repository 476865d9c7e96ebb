/** From what happens in the engine to the events of a stream. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Event from "../../Event.ts"
import type { Waits } from "./timeouts.ts"

/** Where the events of a run go, and which of them. */
export interface Sink {
  readonly modes: ReadonlySet<Event.Mode>
  /** Whether events of nested graphs are shown. */
  readonly subgraphs: boolean
  readonly offer: (event: Event.Any) => Effect.Effect<void>
  /** How long the run has waited in `offer`. */
  readonly waits: Waits
}

/** Whether any event of this mode is wanted from a graph at this path. */
export const wants = (sink: Sink | undefined, mode: Event.Mode, path: ReadonlyArray<string>): sink is Sink =>
  sink !== undefined && (path.length === 0 || sink.subgraphs) &&
  (sink.modes.has(mode) || (sink.modes.has("debug") && (mode === "tasks" || mode === "checkpoints")))

const debugTypes = { started: "task", ended: "task_result" } as const

/** Offers a task or checkpoint event: as itself, with its time in mode `debug`, or both. */
export const offerTraced = (
  sink: Sink,
  event: Event.TaskStarted | Event.TaskEnded | Event.Checkpoints<unknown>
): Effect.Effect<void> => {
  const plain = sink.modes.has(event.mode) ? sink.offer(event) : Effect.void
  if (!sink.modes.has("debug")) return plain
  const type = event.mode === "checkpoints" ? "checkpoint" : debugTypes[event.type]
  const debug = Effect.flatMap(
    Clock.currentTimeMillis,
    (timestampMillis) =>
      sink.offer({ mode: "debug", type, timestampMillis, payload: event, path: event.path, step: event.step })
  )
  return Effect.andThen(plain, debug)
}
