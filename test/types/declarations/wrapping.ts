/** What a user's own functions make of graphs and functions, for any failure and requirement: their declarations are in `Declarations.test.ts`. */
import { Effect, Schema } from "effect"
import { Channel, Entrypoint, Interrupt, Pregel, State, StateGraph, Task } from "superstep"

export class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
export class Count extends State.make({ total: Schema.Int }) {}

type Work<E, R> = (n: number) => Effect.Effect<number, E, R>

export const task = <E, R>(run: Work<E, R>) => Task.make("task", { input: Schema.Int, output: Schema.Int, run })

export const entrypoint = <E, R>(run: Work<E, R>) =>
  Entrypoint.make("entrypoint", { input: Schema.Int, output: Schema.Int, run: (n) => run(n) })

export const machine = <E, R>(run: Work<E, R>) =>
  Pregel.make("machine", {
    channels: { a: Channel.lastValue(Schema.Int), b: Channel.lastValue(Schema.Int) },
    nodes: { one: Pregel.node({ subscribe: "a", run: (n: number) => run(n), write: "b" }) },
    input: "a",
    output: "b"
  })

export const graph = <R>(run: Work<never, R>) =>
  StateGraph.make(
    "graph",
    StateGraph.nodes(Count, { work: ({ total }) => Effect.map(run(total), (total) => ({ total })) }),
    { start: "work" }
  )

export const asking = Task.make("asking", { output: Schema.String, run: () => Ask.ask("?") })
