/** Graphs that listen and ask, and a graph that talks to one in a node. */
import { Effect, Schema } from "effect"
import { Channel, Interrupt, State, StateGraph } from "superstep"

export class Log extends State.make({ log: Channel.append(Schema.String) }) {}
export class Turn extends State.make({
  text: Schema.String,
  seen: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] })
}) {}
export class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

export type Persistence = "call" | "thread" | "none"

/** Says how many messages it was given and had. */
export const listener = (persistence: Persistence) =>
  StateGraph.make("listener", StateGraph.nodes(Log, { hear: (s) => ({ log: [`saw ${s.log.length}`] }) }), {
    start: "hear"
  }, { persistence })

/** Says the same, and then asks. */
export const asker = (persistence: Persistence, runs?: Array<string>) =>
  StateGraph.make(
    "asker",
    StateGraph.nodes(Log, {
      before: (s) => {
        runs?.push("before")
        return { log: [`saw ${s.log.length}`] }
      },
      ask: Effect.fnUntraced(function*() {
        runs?.push("ask")
        return { log: [yield* Ask.ask("go on?")] }
      })
    }),
    { start: "before", edges: { before: "ask" } },
    { persistence }
  )

/** Says its text to a graph that it calls. */
export const talk = (child: ReturnType<typeof listener>) =>
  StateGraph.make(
    "talk",
    StateGraph.nodes(Turn, { speak: (s) => Effect.map(child.call({ log: [s.text] }), ({ log }) => ({ seen: log })) }),
    { start: "speak" }
  )
