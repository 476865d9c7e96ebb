/**
 * Runs in a process of its own with `--expose-gc`, and prints one line of JSON: what the heap holds after a short and after a long run of the
 * same thing, in bytes.
 */
import { Effect, Schema } from "effect"
import { Channel, Checkpointer, State, StateGraph } from "superstep"

class Count extends State.make({ n: Schema.Int }) {}
const loop = (steps: number) =>
  StateGraph.make("loop", StateGraph.nodes(Count, { add: (s) => ({ n: s.n + 1 }) }), {
    start: "add",
    edges: {
      add: StateGraph.route(["add", "__end__"], (s: State.Type<typeof Count>) => s.n < steps ? "add" : "__end__")
    }
  }, { recursionLimit: 200_000 })

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
const tiny = StateGraph.make(
  "tiny",
  StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: () => Effect.as(Effect.yieldNow, { log: ["b"] }) }),
  {
    start: "a",
    edges: { a: "b" }
  }
)

const collect = () => {
  const { gc } = globalThis as unknown as { readonly gc: () => void }
  for (let i = 0; i < 4; i++) gc()
  return process.memoryUsage().heapUsed
}

/** The heap at the middle of the second and of the last tenth of a run: seen from inside, so that what the run holds is there. */
const duringLoop = async (steps: number, onThread: boolean) => {
  const seen: Array<number> = []
  const graph = StateGraph.make(
    "watched",
    StateGraph.nodes(Count, {
      add: (s) => {
        if (s.n === Math.floor(steps / 10) || s.n === steps - 10) seen.push(collect())
        return { n: s.n + 1 }
      }
    }),
    {
      start: "add",
      edges: {
        add: StateGraph.route(["add", "__end__"], (s: State.Type<typeof Count>) => s.n < steps ? "add" : "__end__")
      }
    },
    { recursionLimit: 200_000 }
  )
  // A saver that keeps nothing: what grows is the engine's.
  const saver = await Effect.runPromise(Checkpointer.makeMemory)
  const forgetful = Checkpointer.Checkpointer.of({
    ...saver,
    commit: () => Effect.void,
    putTasks: (_thread, { tasks }) => Effect.succeed(tasks)
  })
  await Effect.runPromise(
    onThread
      ? Effect.provideService(graph.thread("t").invoke({ n: 0 }), Checkpointer.Checkpointer, forgetful)
      : graph.invoke({ n: 0 })
  )
  return seen[1]! - seen[0]!
}

const overRuns = async (runs: number, each: (n: number) => Promise<unknown>) => {
  for (let n = 0; n < runs / 10; n++) await each(n)
  const before = collect()
  for (let n = 0; n < runs; n++) await each(n)
  return collect() - before
}

await Effect.runPromise(loop(100).invoke({ n: 0 }))
const saver = await Effect.runPromise(Checkpointer.makeMemory)
const result = {
  loop: await duringLoop(20_000, false),
  thread: await duringLoop(20_000, true),
  runs: await overRuns(5000, () => Effect.runPromise(tiny.invoke({}))),
  threads: await overRuns(5000, (n) => {
    const thread = tiny.thread(`t${n}`)
    return Effect.runPromise(
      Effect.provideService(Effect.andThen(thread.invoke({}), thread.delete), Checkpointer.Checkpointer, saver)
    )
  })
}
process.stdout.write(`${JSON.stringify(result)}\n`)
