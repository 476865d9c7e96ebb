/** Questions that tests of pauses ask, and the graphs that ask them. */
import { Effect, Schema } from "effect"
import { Channel, Interrupt, type Running, State, StateGraph } from "superstep"

export class Log extends State.make({ log: Channel.append(Schema.String) }) {}
export class Text extends State.make({
  text: Channel.reducer({ value: Schema.String, initial: () => "", reduce: (a: string, b: string) => a + b })
}) {}
export class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
export class Age extends Interrupt.make("Age", { payload: Schema.String, answer: Schema.Int }) {}
export class Failed extends Schema.TaggedError<Failed>()("Failed", { at: Schema.Int }) {}

/** Asks two questions, one after the other. */
export const twice = (runs: { count: number }) =>
  StateGraph.make(
    "twice",
    StateGraph.nodes(Text, {
      node: Effect.fnUntraced(function*() {
        runs.count++
        const first = yield* Ask.ask("1")
        const second = yield* Ask.ask("2")
        return { text: ` ${first} ${second}` }
      })
    }),
    { start: "node" }
  )

type Questions = Interrupt.Request<"Ask", string, string> | Interrupt.Request<"Age", string, number>

/** What a node may be that asks. */
export type Body = () => Effect.Effect<
  { readonly log: ReadonlyArray<string> },
  Failed | Questions,
  Running.Running | Interrupt.Asks<Questions>
>

/** Writes the answer to a question down. */
export const logged = (asking: ReturnType<typeof Ask.ask>) => Effect.map(asking, (answer) => ({ log: [answer] }))

/** A graph of one node. */
export const single = (node: Body, name = "single") =>
  StateGraph.make(name, StateGraph.nodes(Log, { node }), { start: "node" })
