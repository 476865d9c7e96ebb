/** Storage that takes its time, as it does when it waits for a lock or for another machine, or that fails. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Channel, Checkpointer, END, GraphError, Interrupt, State, StateGraph } from "superstep"

class Work extends State.make({ log: Channel.append(Schema.String) }) {}

/** A slow node that ends once the result of a quick one is on its way to the storage. */
const graphOf = (seen: ReadonlyArray<string>) =>
  StateGraph.make(
    "work",
    StateGraph.nodes(Work, {
      quick: (s) => ({ log: [`quick ${s.log.length}`] }),
      slow: () => Effect.as(Effect.repeat(Effect.sleep(1), { until: () => seen.some(isPut) }), { log: ["slow"] })
    }),
    {
      start: ["quick", "slow"],
      edges: { quick: StateGraph.route(["quick", END], (s) => s.log.length < 3 ? "quick" : END) }
    }
  )

const isPut = (line: string): boolean => line.startsWith("put")

type Put = ReturnType<Checkpointer.CheckpointerShape["putTasks"]>

/** A memory saver whose first `putTasks` is changed, with the order of what it is asked and has done. */
const layerOf = (seen: Array<string>, first: (put: Put) => Put) =>
  Layer.effect(
    Checkpointer.Checkpointer,
    Effect.map(Checkpointer.makeMemory, (saver) => ({
      ...saver,
      putTasks: (thread, given) =>
        Effect.suspend(() => {
          const isFirst = !seen.some(isPut)
          const tasks = given.tasks.map(({ task }) => task).join()
          seen.push(`put ${tasks}`)
          const put = saver.putTasks(thread, given)
          return Effect.tap(isFirst ? first(put) : put, () => Effect.sync(() => void seen.push(`stored ${tasks}`)))
        }),
      commit: (thread, commit) =>
        Effect.suspend(() => {
          seen.push(`commit ${commit.checkpoint.step}, ${commit.tasks.length} tasks`)
          return saver.commit(thread, commit)
        })
    }))
  )

describe("slow and failing storage", () => {
  it.live("a superstep is committed after all its results are stored, one put at a time", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const thread = graphOf(seen).thread("t")
      const [out, stored] = yield* Effect.provide(
        Effect.all([thread.invoke({}), Effect.map(thread.state(), ({ values }) => values)]),
        layerOf(seen, (put) => Effect.delay(put, 20))
      )
      assert.deepStrictEqual(out, { log: ["quick 0", "slow", "quick 2"] })
      assert.deepStrictEqual(stored, out)
      assert.deepStrictEqual(seen, [
        "commit -1, 0 tasks",
        "commit 0, 1 tasks",
        "put pull:quick",
        "stored pull:quick",
        "put pull:slow",
        "stored pull:slow",
        "commit 1, 0 tasks",
        "commit 2, 1 tasks"
      ])
    }))

  it.live("a result that could not be stored ends the run, and the superstep is not committed", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const failure = new GraphError.CheckpointError({ reason: "Storage", thread: "t", detail: "the disk is full" })
      const layer = layerOf(seen, () => Effect.delay(Effect.fail(failure), 20))
      const error = yield* Effect.flip(Effect.provide(graphOf(seen).thread("t").invoke({}), layer))
      assert.strictEqual(error, failure)
      assert.deepStrictEqual(seen, ["commit -1, 0 tasks", "commit 0, 1 tasks", "put pull:quick"])
    }))

  it.effect("a graph inside a task that was stored, when what it stands on was not, is found again by the next run", () =>
    Effect.gen(function*() {
      class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Work, { ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) }),
        { start: "ask" }
      )
      const outer = StateGraph.make("outer", StateGraph.nodes(Work, { inner }), { start: "inner" })
      const thread = outer.thread("t")
      const options = { durability: "exit" } as const
      const failure = new GraphError.CheckpointError({ reason: "Storage", thread: "t", detail: "the disk is full" })
      const saver = yield* Checkpointer.makeMemory
      const failing: Checkpointer.CheckpointerShape = {
        ...saver,
        commit: (id, commit) => commit.namespace === "" ? Effect.fail(failure) : saver.commit(id, commit)
      }
      const error = yield* Effect.flip(
        Effect.provideService(thread.start({}, options), Checkpointer.Checkpointer, failing)
      )
      assert.strictEqual(error, failure)
      yield* Effect.gen(function*() {
        assert.strictEqual((yield* Effect.flip(thread.start({}, options)))._tag, "GraphInterrupt")
        assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes"), options), { log: ["yes"] })
      }).pipe(Effect.provideService(Checkpointer.Checkpointer, saver))
    }))
})
