/** Readers of a journal that are cut off and come back see what one sees that was never cut off, whatever the others do. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import * as fc from "fast-check"
import { Channel, Checkpointer, Journal, Running, Send, State, StateGraph } from "superstep"
import { runs } from "./budget.ts"

class Count extends State.make({ n: Schema.Int, log: Channel.append(Schema.Int) }) {}

/** A loop that starts some tasks beside each superstep, each of which says something. */
const graphOf = (rounds: number, width: number) =>
  StateGraph.make(
    "talks",
    StateGraph.nodes(Count, {
      loop: ({ n }) => ({ n: n + 1 }),
      talk: ({ n }) => Effect.as(Effect.andThen(Effect.yieldNow, Running.emit(n)), { log: [n] })
    }),
    {
      start: "loop",
      edges: {
        loop: StateGraph.route(["loop", "talk"], (state) =>
          state.n >= rounds ? [] : ["loop", ...Array.from({ length: width }, () => Send.make("talk", state))])
      }
    }
  )

const plans = fc.record({
  rounds: fc.integer({ min: 1, max: 12 }),
  width: fc.nat(4),
  capacity: fc.constantFrom(undefined, 1, 3, 50),
  /** Of each reader: how many entries it takes before it is cut off, again and again. */
  readers: fc.array(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 8 }), { minLength: 1, maxLength: 4 })
})

/** Reads to the end, cut off now and then; what it saw, in order. */
const reading = Effect.fnUntraced(function*<A, E>(journal: Journal.Journal<A, E>, cuts: ReadonlyArray<number>) {
  const seen: Array<Journal.Entry<A>> = []
  const read = (limit: number) =>
    Stream.runForEach(
      journal.read({ after: seen.at(-1)?.cursor ?? 0 }).pipe(Stream.take(limit)),
      (entry) => Effect.andThen(Effect.yieldNow, Effect.sync(() => void seen.push(entry)))
    )
  for (const cut of cuts) yield* read(cut)
  yield* read(Infinity)
  return seen
})

const check = (plan: typeof plans extends fc.Arbitrary<infer P> ? P : never) =>
  Effect.gen(function*() {
    const modes = ["updates", "custom", "values", "tasks"] as const
    const stream = graphOf(plan.rounds, plan.width).thread("t").stream({ n: 0 }, { modes })
    const journal = yield* Journal.make(stream, plan.capacity === undefined ? undefined : { capacity: plan.capacity })
    // One who is never cut off, so that nothing goes that has not been read by him; of a small journal the others are cut off no more.
    const cuts = plan.capacity === undefined ? plan.readers : plan.readers.map(() => [])
    const fibers = yield* Effect.forEach([[], ...cuts], (own) => Effect.forkChild(reading(journal, own)))
    const [whole, ...others] = yield* Effect.forEach(fibers, Fiber.join)
    assert.deepStrictEqual(whole!.map(({ cursor }) => cursor), whole!.map((_, index) => index + 1))
    for (const other of others) assert.deepStrictEqual(other, whole)
    assert.isAtLeast(whole!.length, plan.rounds)
  }).pipe(Effect.scoped, Effect.provide(Checkpointer.layerMemory))

const budget = runs(100)

it(
  "Law21 a reader that is cut off and comes back sees what one sees that was never cut off",
  () =>
    fc.assert(fc.asyncProperty(plans, (plan) => Effect.runPromise(check(plan))), {
      numRuns: budget.arbitrary.runs
    }),
  budget.timeout
)
