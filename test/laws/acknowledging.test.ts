/** What a saver that takes its time may not change: a superstep waits for every acknowledged result before it commits. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Channel, Checkpointer, END, GraphError, State, StateGraph } from "superstep"

class Log extends State.make({
  log: Channel.append(Schema.String),
  late: Channel.delta({
    value: Schema.Array(Schema.String),
    initial: () => [],
    reduce: (all, more: ReadonlyArray<ReadonlyArray<string>>) => [...all, ...more.flat()]
  })
}) {}

const says = (name: string) => () => Effect.succeed({ log: [name], late: [name] })

// "a" runs beside "b", and then alone under the same id.
const graph = StateGraph.make("slow", StateGraph.nodes(Log, { a: says("a"), b: says("b") }), {
  start: ["a", "b"],
  edges: { b: "a", a: StateGraph.route(["a", END], (s) => s.log.length < 5 ? "a" : END) }
})

const turns = (count: number): Effect.Effect<void> => Effect.repeat(Effect.yieldNow, { times: count })

for (const durability of ["sync", "async"] as const) {
  for (const count of [0, 1, 3, 20]) {
    it.live(`Law13 ${durability}: results that take ${count} turns to be stored are all there when the thread is read back`, () =>
      Effect.gen(function*() {
        const saver = yield* Checkpointer.makeMemory
        const slow = Checkpointer.Checkpointer.of({
          ...saver,
          putTasks: (...args) => Effect.andThen(turns(count), Effect.tap(saver.putTasks(...args), () => turns(count)))
        })
        const values = yield* graph.thread("t").invoke({}, { durability }).pipe(
          Effect.provideService(Checkpointer.Checkpointer, slow)
        )
        assert.deepStrictEqual(values.log, ["a", "b", "a", "a", "a"])
        const history = yield* graph.thread("t").history().pipe(Effect.provideService(Checkpointer.Checkpointer, saver))
        assert.deepStrictEqual(history.map((snapshot) => snapshot.values.late.length), [5, 4, 3, 2, 0, 0])
        assert.deepStrictEqual(history[0]!.values, values)
      }))
  }

  it.live(`Law13 ${durability}: a result that cannot be stored fails the run, though the failure comes late`, () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.makeMemory
      const broken = new GraphError.CheckpointError({ reason: "Storage", thread: "t", detail: "the disk is full" })
      const failing = Checkpointer.Checkpointer.of({
        ...saver,
        putTasks: () => Effect.andThen(turns(20), Effect.fail(broken))
      })
      const error = yield* Effect.flip(
        graph.thread("t").invoke({}, { durability }).pipe(Effect.provideService(Checkpointer.Checkpointer, failing))
      )
      assert.strictEqual(error, broken)
      const history = yield* graph.thread("t").history().pipe(Effect.provideService(Checkpointer.Checkpointer, saver))
      assert.deepStrictEqual(history.map(({ step }) => step), [0, -1])
    }))
}

it.live("Law13 async: commits that take their time are stored in order, and the first that fails ends the run", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.makeMemory
    const steps: Array<number> = []
    const broken = new GraphError.CheckpointError({ reason: "Storage", thread: "t", detail: "the disk is full" })
    const slow = Checkpointer.Checkpointer.of({
      ...saver,
      commit: (thread, commit) =>
        Effect.andThen(
          turns(5),
          commit.checkpoint.step === 2 ?
            Effect.fail(broken) :
            Effect.tap(saver.commit(thread, commit), () => Effect.sync(() => void steps.push(commit.checkpoint.step)))
        )
    })
    const error = yield* Effect.flip(
      graph.thread("t").invoke({}, { durability: "async" }).pipe(Effect.provideService(Checkpointer.Checkpointer, slow))
    )
    assert.strictEqual(error, broken)
    assert.deepStrictEqual(steps, [-1, 0, 1])
  }))
