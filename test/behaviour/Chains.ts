/** Graphs that tests of threads run: one that goes through, and one that asks. */
import { Effect, Schema } from "effect"
import { Channel, Interrupt, State, StateGraph } from "superstep"

export class Log extends State.make({ log: Channel.append(Schema.String) }) {}
export class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

/** Three nodes in a row. */
export const chain = (runs: Array<string> = []) => {
  const say = (name: string) => () => {
    runs.push(name)
    return { log: [name] }
  }
  return StateGraph.make("chain", StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c") }), {
    start: "a",
    edges: { a: "b", b: "c" }
  })
}

/** One node, which asks. */
export const asking = (runs: Array<string> = []) =>
  StateGraph.make(
    "asking",
    StateGraph.nodes(Log, {
      ask: Effect.fnUntraced(function*() {
        runs.push("ask")
        return { log: [yield* Ask.ask("?")] }
      })
    }),
    { start: "ask" }
  )
