/** Runs on the test clock, millisecond by millisecond, so that it is known when a run ended. */
import { Clock, Effect, type Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"

/** Turns of the event loop that everything which does not wait for the clock gets, to come to rest. */
const turns = 25

/** Lets every fiber run until it waits for the clock, or for something outside. */
export const rest = Effect.repeat(Effect.yieldNow, { times: turns })

/** Runs an effect to its end, and says how it ended and after how many milliseconds. Fails if it takes longer than `limitMillis`. */
export const runOut = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>, limitMillis = 10_000) {
  const started = yield* Clock.currentTimeMillis
  const fiber = yield* Effect.forkChild(effect)
  for (let millis = 0; millis <= limitMillis; millis++) {
    yield* rest
    const exit: Exit.Exit<A, E> | undefined = fiber.pollUnsafe()
    if (exit !== undefined) return { exit, millis: (yield* Clock.currentTimeMillis) - started }
    yield* TestClock.adjust(1)
  }
  yield* Fiber.interrupt(fiber)
  return yield* Effect.die(new Error(`still running after ${limitMillis} ms`))
})
