/**
 * Bounds on time. Their clock stands still while the run waits for a reader of its events who is behind: that is no
 * fault of a node.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { NodeTimeout } from "../../GraphError.ts"

/** How long a run has waited for the reader of its events. */
export class Waits {
  #waiting = 0
  #sinceMillis = 0
  #totalMillis = 0

  /** The time waited until `nowMillis`, in milliseconds. */
  until(nowMillis: number): number {
    return this.#totalMillis + (this.#waiting > 0 ? nowMillis - this.#sinceMillis : 0)
  }

  /** Counts an effect as waiting. */
  around<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const begin = Effect.map(Clock.currentTimeMillis, (now) => {
      if (this.#waiting++ === 0) this.#sinceMillis = now
    })
    const end = Effect.map(Clock.currentTimeMillis, (now) => {
      if (--this.#waiting === 0) this.#totalMillis += now - this.#sinceMillis
    })
    return Effect.uninterruptibleMask((restore) => Effect.andThen(begin, Effect.ensuring(restore(effect), end)))
  }
}

/** Milliseconds on a clock that stands still while the run waits for its reader. */
export const activeMillis = (waits: Waits | undefined): Effect.Effect<number> =>
  waits === undefined ? Clock.currentTimeMillis : Effect.map(Clock.currentTimeMillis, (now) => now - waits.until(now))

/** Fails when `since`, on the clock of `activeMillis`, is `millis` ago. It may move while this waits. */
const expiry = (
  waits: Waits | undefined,
  millis: number,
  since: () => number,
  error: (elapsedMillis: number) => NodeTimeout
): Effect.Effect<never, NodeTimeout> => {
  const wait: Effect.Effect<never, NodeTimeout> = Effect.flatMap(activeMillis(waits), (now) => {
    const left = millis - (now - since())
    // While the clock stands still, what is left does not shrink: look again, but not in a tight loop.
    return left > 0 ? Effect.andThen(Effect.sleep(Math.max(left, 1)), wait) : Effect.fail(error(now - since()))
  })
  return wait
}

/**
 * Bounds an effect. It is interrupted when its time is over, and the failure comes when its finalizers have run; the elapsed
 * time does not count these. `since` is when the time began, if that may move.
 */
export const bounded = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options: {
    readonly waits: Waits | undefined
    readonly millis: number
    readonly error: (elapsedMillis: number) => NodeTimeout
    readonly since?: () => number
  }
): Effect.Effect<A, E | NodeTimeout, R> => {
  const { error, millis, since, waits } = options
  return Effect.flatMap(activeMillis(waits), (started) => {
    let expired: NodeTimeout | undefined
    const timer = expiry(waits, millis, since ?? (() => started), (elapsedMillis) => expired = error(elapsedMillis))
    // A defect in a finalizer of what was interrupted would turn the timeout into a defect.
    return Effect.catchCause(
      Effect.raceFirst(effect, timer),
      (cause) => expired === undefined ? Effect.failCause(cause) : Effect.fail(expired)
    )
  })
}
