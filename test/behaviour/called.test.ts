/** Graphs that a node calls, seen from outside. */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Channel, Interrupt, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

behaves(
  "L9 the state of a called graph is read, and updated while it waits, by the path of its call",
  () =>
    Effect.gen(function*() {
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Log, {
          one: () => ({ log: ["one"] }),
          ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))
        }),
        { start: "one", edges: { one: "ask" } }
      )
      const outer = StateGraph.make(
        "outer",
        StateGraph.nodes(Log, {
          calls: Effect.fnUntraced(function*() {
            const { log } = yield* inner.call({}, { key: "k|1" })
            return { log }
          })
        }),
        { start: "calls" }
      )
      const thread = outer.thread("t")
      yield* Effect.flip(thread.invoke({}))
      const part = thread.at(["calls~@k%007c1"], inner)
      assert.deepStrictEqual([(yield* part.state()).values, (yield* part.state()).next], [{ log: ["one"] }, ["ask"]])
      yield* part.update({ log: ["patched"] }, { asNode: "one" })
      yield* Effect.flip(thread.continue())
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["one", "patched", "yes"] })
      assert.deepStrictEqual((yield* part.history({ limit: 1 })).map(({ values }) => values), [{
        log: ["one", "patched", "yes"]
      }])
      const unknown = yield* Effect.flip(thread.at(["calls~@k%007c1"]).state())
      assert.strictEqual(unknown._tag, "UnknownCheckpoint")
    })
)
