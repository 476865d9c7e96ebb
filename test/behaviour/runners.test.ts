/** Two live runners on one thread. */
import { assert } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Channel, Interrupt, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

behaves(
  "L11 an answer that is stored is not erased by a runner that asked the same question before",
  () =>
    Effect.gen(function*() {
      const late = yield* Deferred.make<void>()
      const ready = yield* Deferred.make<void>()
      const hanging = yield* Deferred.make<void>()
      let runs = 0
      const graph = StateGraph.make(
        "graph",
        StateGraph.nodes(Log, {
          before: () => ({ log: ["before"] }),
          ask: Effect.fnUntraced(function*() {
            const run = ++runs
            if (run === 1) {
              yield* Deferred.succeed(ready, undefined)
              yield* Deferred.await(late)
            }
            const answer = yield* Ask.ask("?")
            // The runner that took the answer dies with it.
            if (run === 3) {
              yield* Deferred.succeed(hanging, undefined)
              yield* Effect.never
            }
            return { log: [answer] }
          })
        }),
        { start: "before", edges: { before: "ask" } }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}, { before: ["ask"] }))
      const slow = yield* Effect.forkChild(Effect.exit(thread.continue()))
      yield* Deferred.await(ready)
      yield* Effect.flip(thread.continue())
      const dying = yield* Effect.forkChild(thread.resume(Ask.reply("yes")))
      yield* Deferred.await(hanging)
      yield* Fiber.interrupt(dying)
      yield* Deferred.succeed(late, undefined)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(slow)))
      assert.deepStrictEqual((yield* thread.state()).requests, [])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["before", "yes"] })
    })
)

behaves(
  "L14 two runners inside the same graphs do not stop each other: one of them commits",
  () =>
    Effect.gen(function*() {
      const gates = { x: yield* Deferred.make<void>(), y: yield* Deferred.make<void>() }
      const turns = { x: 0, y: 0 }
      const inner = (name: "x" | "y", waits: number) =>
        StateGraph.make(
          name,
          StateGraph.nodes(Log, {
            one: Effect.fnUntraced(function*() {
              // Of two runners, one is held up in x and the other in y.
              if (turns[name]++ === waits) yield* Deferred.await(gates[name])
              return { log: [name] }
            })
          }),
          { start: "one" }
        )
      const graph = StateGraph.make("graph", StateGraph.nodes(Log, { x: inner("x", 0), y: inner("y", 1) }), {
        start: ["x", "y"]
      })
      yield* Effect.flip(graph.thread("t").invoke({}, { before: ["x"] }))
      const first = yield* Effect.forkChild(Effect.exit(graph.thread("t").continue()))
      yield* Effect.sleep("20 millis")
      const second = yield* Effect.forkChild(Effect.exit(graph.thread("t").continue()))
      yield* Effect.sleep("20 millis")
      yield* Deferred.succeed(gates.x, undefined)
      yield* Deferred.succeed(gates.y, undefined)
      const exits = [yield* Fiber.join(first), yield* Fiber.join(second)]
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
      assert.deepStrictEqual((yield* graph.thread("t").state()).values, { log: ["x", "y"] })
    })
)
