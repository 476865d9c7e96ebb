/**
 * What a superstep costs, as a ratio to the same work in a plain Effect loop in one fiber. Medians of runs taken alternately.
 *
 *     npm run bench
 */
import { Effect, Schema } from "effect"
import { Channel, Checkpointer, END, Node, Send, State, StateGraph } from "superstep"

const rounds = 7
const steps = 10_000
const sends = 10_000

class Counter extends State.make({ count: Schema.Int }) {}
class Fan extends State.make({ size: Schema.Int, done: Channel.append(Schema.Int) }) {}

const loop = StateGraph.make(
  "loop",
  StateGraph.nodes(Counter, { next: (s) => Effect.succeed({ count: s.count + 1 }) }),
  {
    start: "next",
    edges: { next: StateGraph.route(["next", END], (s) => s.count < steps ? "next" : END) }
  },
  { recursionLimit: steps + 1 }
)

const fan = StateGraph.make(
  "fan",
  StateGraph.nodes(Fan, {
    split: () => Effect.void,
    work: Node.make({ input: Schema.Int, run: (n) => Effect.succeed({ done: [n] }) })
  }),
  {
    start: "split",
    edges: { split: StateGraph.route(["work"], (s) => Array.from({ length: s.size }, (_, n) => Send.make("work", n))) }
  }
)

const plainLoop = Effect.gen(function*() {
  let state = { count: 0 }
  while (state.count < steps) state = yield* Effect.succeed({ count: state.count + 1 })
  return state
})

const plainFan = Effect.forEach(Array.from({ length: sends }, (_, n) => n), (n) => Effect.succeed(n), {
  concurrency: "unbounded"
})

interface Workload {
  readonly name: string
  /** How many units of work one run has. */
  readonly units: number
  readonly run: Effect.Effect<unknown, unknown>
  readonly floor: Effect.Effect<unknown, unknown>
}

let thread = 0
const workloads: ReadonlyArray<Workload> = [
  { name: "loop, no saver", units: steps, run: loop.invoke({ count: 0 }), floor: plainLoop },
  {
    name: "loop, memory saver",
    units: steps,
    run: Effect.suspend(() => loop.thread(`t-${thread++}`).invoke({ count: 0 })).pipe(
      Effect.provide(Checkpointer.layerMemory)
    ),
    floor: plainLoop
  },
  { name: "fan-out of Sends, no saver", units: sends, run: fan.invoke({ size: sends }), floor: plainFan }
]

const time = async (effect: Effect.Effect<unknown, unknown>): Promise<number> => {
  const started = performance.now()
  await Effect.runPromise(effect)
  return performance.now() - started
}

const median = (values: ReadonlyArray<number>): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

for (const { floor, name, run, units } of workloads) {
  const ours: Array<number> = []
  const floors: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    ours.push(await time(run))
    floors.push(await time(floor))
  }
  const cost = median(ours) / units * 1000
  const ratio = median(ours) / median(floors)
  console.log(
    `${name.padEnd(28)} ${cost.toFixed(2).padStart(8)} µs each   ${ratio.toFixed(1).padStart(6)} x a plain loop`
  )
}
