/** How far a run is, on stderr: one line that is drawn anew on a terminal, plain lines elsewhere. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Event from "../../Event.ts"
import { note } from "./output.ts"
import { cut, visible } from "./text.ts"

export interface Progress {
  readonly seen: (event: Event.Any) => Effect.Effect<void>
  /** Leaves the line, so that something else can be written. */
  readonly end: Effect.Effect<void>
}

/** How long a text of a failure may be in a line. */
const longest = 200

/** How many of the running tasks the line names. */
const named = 4

const none: Progress = { seen: () => Effect.void, end: Effect.void }

interface Task {
  readonly label: string
  readonly startMillis: number
}

type TaskEvent = Extract<Event.Any, { readonly mode: "tasks" }>

const labelOf = ({ node, path }: TaskEvent): string => visible([...path, node].join("/"))

const outcomeOf = (event: Extract<TaskEvent, { readonly type: "ended" }>): string => {
  if (event.requests.length > 0) return `asks ${event.requests.map(({ tag }) => visible(tag)).join(", ")}`
  return event.error === undefined ? "done" : `failed: ${cut(visible(event.error), longest)}`
}

const secondsOf = (millis: number): string => `${(millis / 1000).toFixed(1)} s`

const width = (): number => Math.max(20, (process.stderr.columns ?? 80) - 1)

/** Progress of one command. */
export const make = (isQuiet: boolean): Progress => {
  if (isQuiet) return none
  const isLive = process.stderr.isTTY === true && process.env["TERM"] !== "dumb"
  const running = new Map<string, Task>()
  let isDrawn = false
  const clear = Effect.suspend(() => {
    if (!isDrawn) return Effect.void
    isDrawn = false
    return note("\r\u001b[2K")
  })
  const draw = (step: number) =>
    Effect.suspend(() => {
      isDrawn = true
      const labels = [...running.values()].slice(0, named).map(({ label }) => label).join(", ")
      const more = running.size > named ? ` and ${running.size - named} more` : ""
      return note(`\r\u001b[2K${cut(`step ${step}: ${labels}${more}`, width())}`)
    })
  const seen = Effect.fnUntraced(function*(event: Event.Any) {
    if (event.mode !== "tasks") return
    const now = yield* Clock.currentTimeMillis
    const key = JSON.stringify([event.path, event.id])
    const label = labelOf(event)
    if (event.type === "started") {
      running.set(key, { label, startMillis: now })
      yield* isLive ? draw(event.step) : note(`step ${event.step}: ${label}\n`)
      return
    }
    const took = now - (running.get(key)?.startMillis ?? now)
    running.delete(key)
    yield* clear
    yield* note(`step ${event.step}: ${label} ${outcomeOf(event)} (${secondsOf(took)})\n`)
    if (isLive && running.size > 0) yield* draw(event.step)
  })
  return { seen, end: clear }
}
