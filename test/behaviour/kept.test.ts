/** Graphs that keep their state from call to call, and ask. */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Channel, Interrupt, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

class Inner extends State.make({
  bar: Channel.lastValue(Schema.String, { initial: () => "" }),
  baz: Channel.lastValue(Schema.String, { initial: () => "" }),
  seen: Channel.append(Schema.String)
}) {}
class Outer extends State.make({ foo: Schema.String }) {}

const graphs = (log: Array<string>) => {
  const inner = StateGraph.make(
    "inner",
    StateGraph.nodes(Inner, {
      one: Effect.fnUntraced(function*(s) {
        log.push("inner one")
        const baz = yield* Ask.ask("baz?")
        return { baz, seen: [s.bar] }
      }),
      two: (s) => {
        log.push("inner two")
        return { bar: s.bar + s.baz }
      }
    }),
    { start: "one", edges: { one: "two" } },
    { persistence: "thread" }
  )
  const outer = StateGraph.make(
    "outer",
    StateGraph.nodes(Outer, {
      first: (s) => {
        log.push("outer first")
        return { foo: `hi! ${s.foo}` }
      },
      second: (s) => {
        log.push("outer second")
        return Effect.map(inner.call({ bar: s.foo }), ({ bar }) => ({ foo: bar }))
      }
    }),
    { start: "first", edges: { first: "second" } }
  )
  return { inner, outer }
}

behaves(
  "LG#128 a kept graph with keys of its own pauses the node that calls it, and goes on with the answer",
  () =>
    Effect.gen(function*() {
      const { inner, outer } = graphs([])
      const thread = outer.thread("t")
      const paused = yield* Effect.flip(thread.invoke({ foo: "foo" }))
      assert.strictEqual(paused._tag, "GraphInterrupt")
      assert.deepStrictEqual((yield* thread.state()).values, { foo: "hi! foo" })
      const part = yield* thread.at(["second~0"], inner).state()
      assert.deepStrictEqual([part.values["bar"], part.next], ["hi! foo", ["one"]])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("baz")), { foo: "hi! foobaz" })
    })
)

behaves(
  "LG#129 a kept graph that is entered again starts with what it kept, and asks again",
  () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { inner, outer } = graphs(log)
      const thread = outer.thread("t")
      yield* Effect.flip(thread.invoke({ foo: "bar" }))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("baz")), { foo: "hi! barbaz" })
      yield* Effect.flip(thread.invoke({ foo: "qux" }))
      const waiting = yield* thread.at(["second~0"], inner).state()
      assert.deepStrictEqual([waiting.values["seen"], waiting.values["bar"], waiting.values["baz"]], [
        ["hi! bar"],
        "hi! qux",
        "baz"
      ])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("quux")), { foo: "hi! quxquux" })
      const ended = yield* thread.at(["second~0"], inner).state()
      assert.deepStrictEqual(ended.values["seen"], ["hi! bar", "hi! qux"])
      // Each turn runs the caller and the asking node twice, and what stands before and after them once.
      assert.deepStrictEqual(log, [
        "outer first",
        "outer second",
        "inner one",
        "outer second",
        "inner one",
        "inner two",
        "outer first",
        "outer second",
        "inner one",
        "outer second",
        "inner one",
        "inner two"
      ])
    })
)
