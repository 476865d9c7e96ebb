/**
 * Wherever a run is cut off, nothing of it still runs, every finalizer has run, and the thread goes on to the end that it would have had:
 * with graphs inside, functions, tasks beside each other, questions and retries.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Channel, Checkpointer, Entrypoint, Node, Policy, State, StateGraph, Task } from "superstep"
import { runs } from "./budget.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Flaky extends Schema.TaggedError<Flaky>()("Flaky", {}) {}

/** What runs, what has begun and what has ended, counted by everything that the graph does. */
class Watch {
  open = 0
  released = 0
  acquired = 0
  /** Work that has been done, by name: each may be done again only if it was cut off. */
  readonly done: Array<string> = []

  /** Takes some time, holding something. */
  work(name: string, millis: number): Effect.Effect<void> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        this.acquired++
        this.open++
      }),
      () => Effect.andThen(Effect.sleep(millis), Effect.sync(() => void this.done.push(name))),
      () =>
        Effect.andThen(
          Effect.sleep(1),
          Effect.sync(() => {
            this.released++
            this.open--
          })
        )
    )
  }
}

const graphOf = (watch: Watch) => {
  const note = (name: string, millis: number) => () => Effect.as(watch.work(name, millis), { log: [name] })
  const leaf = StateGraph.make("leaf", StateGraph.nodes(Log, { l1: note("l1", 3), l2: note("l2", 5) }), {
    start: "l1",
    edges: { l1: "l2" }
  }, { persistence: "thread" })
  const middle = StateGraph.make("middle", StateGraph.nodes(Log, { m: note("m", 2), leaf }), {
    start: "m",
    edges: { m: "leaf" }
  })
  const step = Task.make("step", {
    input: Schema.String,
    output: Schema.String,
    run: (name) => Effect.as(watch.work(name, 4), name)
  })
  const flow = Entrypoint.make("flow", {
    input: Schema.String,
    output: Schema.Array(Schema.String),
    run: (name) => Task.all([step(`${name}1`), Effect.flatMap(step(`${name}2`), () => step(`${name}3`))])
  })
  const flaky = Node.make({
    input: Log,
    retry: Policy.retry({ schedule: Schedule.spaced("3 millis"), maxAttempts: 3 }),
    run: (() => {
      let attempts = 0
      return () =>
        Effect.andThen(
          watch.work("flaky", 2),
          () => ++attempts % 3 === 0 ? Effect.succeed({ log: ["flaky"] }) : new Flaky()
        )
    })()
  })
  return StateGraph.make(
    "app",
    StateGraph.nodes(Log, {
      first: note("first", 2),
      middle,
      calls: () => Effect.map(flow.call("f"), (names) => ({ log: names })),
      flaky,
      last: note("last", 3)
    }),
    {
      start: "first",
      edges: {
        first: ["middle", "calls", "flaky"],
        middle: StateGraph.join("last"),
        calls: StateGraph.join("last"),
        flaky: StateGraph.join("last")
      }
    },
    { onFailure: "settle" }
  )
}

const durabilities = ["sync", "async", "exit"] as const

/** Runs the thread, cut off after each of these times, and then to its end. */
const cutOff = (cuts: ReadonlyArray<number>, durability: typeof durabilities[number]) =>
  Effect.gen(function*() {
    const watch = new Watch()
    const thread = graphOf(watch).thread("t")
    const start = thread.start({}, { durability })
    for (const millis of cuts) {
      const run = yield* Effect.forkChild(start)
      yield* TestClock.adjust(millis)
      const cut = yield* Effect.forkChild(Fiber.interrupt(run))
      // Finalizers take their time.
      yield* TestClock.adjust(5)
      yield* Fiber.join(cut)
      assert.strictEqual(watch.open, 0)
      assert.strictEqual(watch.released, watch.acquired)
      const done = watch.done.length
      yield* TestClock.adjust(100)
      assert.strictEqual(watch.done.length, done, "something went on after the run was cut off")
      const exit = yield* Fiber.await(run)
      if (Exit.isSuccess(exit)) break
    }
    const last = yield* Effect.forkChild(start)
    yield* TestClock.adjust("10 seconds")
    const { log } = yield* Fiber.join(last)
    const { divergence } = yield* thread.verify
    return { log, divergence, done: watch.done }
  }).pipe(Effect.provide([Checkpointer.layerMemory, TestClock.layer()]))

const budget = runs(200)

it(
  "Law20 a run that is cut off at any moments leaves nothing running, and ends as it would have",
  async () => {
    const whole = await Effect.runPromise(cutOff([], "sync"))
    assert.deepStrictEqual(whole.log, ["first", "f1", "f3", "flaky", "m", "l1", "l2", "last"])
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...durabilities),
        async (cuts, durability) => {
          const { divergence, done, log } = await Effect.runPromise(cutOff(cuts, durability))
          assert.deepStrictEqual(log, whole.log)
          assert.isUndefined(divergence)
          // Done again is only what was cut off before its result was taken.
          const times = Map.groupBy(done.filter((name) => name !== "flaky"), (name) => name)
          for (const [name, all] of times) assert.isAtMost(all.length, 1 + cuts.length, name)
        }
      ),
      { numRuns: budget.arbitrary.runs }
    )
  },
  budget.timeout
)
