/** Deleting a thread: all of it goes, and what still runs cannot bring it back. */
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { Channel, Checkpointer, GraphError, Interrupt, State, StateGraph } from "superstep"
import { paused, rowsOf } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

const asking = () =>
  StateGraph.make(
    "asking",
    StateGraph.nodes(Log, {
      ask: Effect.fnUntraced(function*() {
        return { log: [yield* Ask.ask("?")] }
      })
    }),
    { start: "ask" }
  )

behaves(
  "LG#100 deleting a thread removes all of it, of graphs inside too, and nothing of another",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child: asking() }), { start: "child" })
      for (const id of ["gone", "kept"]) yield* paused(graph.thread(id).invoke({}))
      const kept = yield* rowsOf("kept", ["", "child"])
      yield* graph.thread("gone").delete
      for (const namespace of ["", "child"]) assert.deepStrictEqual(yield* saver.list("gone", namespace, {}), [])
      assert.deepStrictEqual(yield* saver.threads, ["kept"])
      assert.deepStrictEqual(yield* rowsOf("kept", ["", "child"]), kept)
      assert.deepStrictEqual(
        yield* Effect.flip(graph.thread("gone").resume(Ask.reply("x"))),
        new GraphError.UnknownThread({ thread: "gone" })
      )
      // Deleting what is not there is no failure, and the id can be used again.
      yield* graph.thread("gone").delete
      yield* paused(graph.thread("gone").invoke({}))
      assert.deepStrictEqual(yield* graph.thread("gone").resume(Ask.reply("anew")), { log: ["anew"] })
    })
)

/** Three nodes side by side and one after them. Two say that they have begun, and wait. */
const waiting = Effect.gen(function*() {
  const begun = yield* Deferred.make<void>()
  const gate = yield* Deferred.make<void>()
  let count = 0
  const wait = (name: string) =>
    Effect.gen(function*() {
      if (++count === 2) yield* Deferred.succeed(begun, undefined)
      yield* Deferred.await(gate)
      return { log: [name] }
    })
  const graph = (version: string) =>
    StateGraph.make(
      "waiting",
      StateGraph.nodes(Log, {
        a: () => ({ log: [`a${version}`] }),
        b: () => wait(`b${version}`),
        c: () => wait(`c${version}`),
        d: () => ({ log: [`d${version}`] })
      }),
      {
        start: ["a", "b", "c"],
        edges: { a: StateGraph.join("d"), b: StateGraph.join("d"), c: StateGraph.join("d") }
      }
    )
  return { begun, gate, graph }
})

const durabilities = ["sync", "async", "exit"] as const

behaves(
  "a run whose thread is deleted meanwhile fails, and stores nothing more",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      for (const durability of durabilities) {
        const { begun, gate, graph } = yield* waiting
        const thread = graph("0").thread("t")
        // In `exit` nothing is stored before the end: what is there to be deleted comes from an earlier run.
        yield* thread.update({ log: ["before"] }, { asNode: "d" })
        const run = yield* Effect.forkChild(Effect.exit(thread.invoke({ log: [] }, { durability })))
        yield* Deferred.await(begun)
        yield* thread.delete
        yield* Deferred.succeed(gate, undefined)
        const exit = yield* Fiber.join(run)
        assert.deepStrictEqual(yield* Effect.flip(exit), new GraphError.ThreadDeleted({ thread: "t" }), durability)
        assert.deepStrictEqual(yield* saver.threads, [], durability)
      }
    })
)

behaves(
  "a run that has stored nothing yet begins its thread when it does, whatever was deleted before",
  () =>
    Effect.gen(function*() {
      const { begun, gate, graph } = yield* waiting
      const thread = graph("0").thread("t")
      const run = yield* Effect.forkChild(thread.invoke({}, { durability: "exit" }))
      yield* Deferred.await(begun)
      yield* thread.delete
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(run), { log: ["a0", "b0", "c0", "d0"] })
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["a0", "b0", "c0", "d0"] })
    })
)

behaves(
  "a thread that was deleted and began anew takes nothing from the run before, although their checkpoints have the same ids",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      for (const durability of ["sync", "async"] as const) {
        const { begun, gate, graph } = yield* waiting
        const old = graph("0").thread("t")
        const run = yield* Effect.forkChild(Effect.exit(old.invoke({}, { durability })))
        yield* Deferred.await(begun)
        // In `async` the first commit may still be on its way: nothing would be deleted.
        while ((yield* saver.threads).length === 0) yield* Effect.yieldNow
        yield* old.delete
        const anew = graph("1").thread("t")
        const second = yield* Effect.forkChild(anew.invoke({}, { durability }))
        yield* Effect.sleep("20 millis")
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual((yield* Effect.flip(yield* Fiber.join(run)))._tag, "ThreadDeleted", durability)
        assert.deepStrictEqual(yield* Fiber.join(second), { log: ["a1", "b1", "c1", "d1"] }, durability)
        assert.deepStrictEqual((yield* anew.state()).values, { log: ["a1", "b1", "c1", "d1"] }, durability)
        yield* anew.delete
      }
    })
)

behaves(
  "a graph inside a task of a deleted thread does not bring the thread back",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      for (const durability of durabilities) {
        const { begun, gate, graph } = yield* waiting
        const around = StateGraph.make("around", StateGraph.nodes(Log, { inside: graph("0") }), { start: "inside" })
        const thread = around.thread("t")
        yield* thread.update({ log: ["before"] }, { asNode: "inside" })
        const run = yield* Effect.forkChild(Effect.exit(thread.invoke({ log: [] }, { durability })))
        yield* Deferred.await(begun)
        yield* thread.delete
        yield* Deferred.succeed(gate, undefined)
        const exit = yield* Fiber.join(run)
        assert.strictEqual((yield* Effect.flip(exit))._tag, "ThreadDeleted", durability)
        assert.deepStrictEqual(yield* saver.threads, [], durability)
      }
    })
)

behaves(
  "what a resume, an update or a branch of a deleted thread would store is refused",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const thread = asking().thread("t")
      // Between reading and storing, somebody deletes the thread.
      const deleting = Checkpointer.Checkpointer.of({
        ...saver,
        commit: (id, commit) => Effect.andThen(saver.deleteThread(id), saver.commit(id, commit)),
        putTasks: (id, put) => Effect.andThen(saver.deleteThread(id), saver.putTasks(id, put))
      })
      const calls = [thread.resume(Ask.reply("x")), thread.update({ log: ["x"] }, { asNode: "ask" }), thread.fork()]
      for (const call of calls) {
        yield* paused(thread.invoke({}))
        const error = yield* Effect.flip(
          Effect.provideService(
            call as Effect.Effect<unknown, { readonly _tag: string }, Checkpointer.Checkpointer>,
            Checkpointer.Checkpointer,
            deleting
          )
        )
        assert.strictEqual(error._tag, "ThreadDeleted")
        assert.deepStrictEqual(yield* saver.threads, [])
      }
    })
)

behaves("a thread that is deleted while it is opened stands where it stands then", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const thread = asking().thread("t")
    yield* paused(thread.invoke({}))
    const deleting = Checkpointer.Checkpointer.of({
      ...saver,
      get: (...at) => Effect.andThen(saver.deleteThread("t"), saver.get(...at))
    })
    const error = yield* Effect.flip(Effect.provideService(thread.state(), Checkpointer.Checkpointer, deleting))
    assert.strictEqual(error._tag, "UnknownThread")
    yield* paused(thread.invoke({}))
    yield* paused(Effect.provideService(thread.invoke({}, { pending: "discard" }), Checkpointer.Checkpointer, deleting))
    assert.strictEqual((yield* thread.state()).step, 0)
  }))

behaves(
  "a run whose thread is deleted before it calls a kept graph says so, in every durability",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      for (const durability of durabilities) {
        let isDeleting = false
        const kept = StateGraph.make("kept", StateGraph.nodes(Log, { k: () => ({ log: ["k"] }) }), { start: "k" }, {
          persistence: "thread"
        })
        const graph = StateGraph.make(
          "calls",
          StateGraph.nodes(Log, {
            first: () => isDeleting ? Effect.as(Effect.orDie(saver.deleteThread("t")), {}) : Effect.succeed({}),
            second: () => Effect.as(kept.call({}), { log: ["called"] })
          }),
          { start: "first", edges: { first: "second" } }
        )
        yield* graph.thread("t").invoke({}, { durability })
        isDeleting = true
        const error = yield* Effect.flip(graph.thread("t").invoke({}, { durability }))
        assert.strictEqual(error._tag, "ThreadDeleted", durability)
        assert.deepStrictEqual(yield* saver.threads, [], durability)
      }
    })
)
