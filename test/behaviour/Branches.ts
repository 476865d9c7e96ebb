/** What tests of going back share: graphs to go back in, and what their histories look like. */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Channel, Interrupt, State, StateGraph } from "superstep"
import type { Snapshots } from "./Pauses.ts"

export class Log extends State.make({ log: Channel.append(Schema.String) }) {}
export class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

/** Branch, step, source and what is next: newest first. */
export const shapes = (snapshots: Snapshots) =>
  snapshots.map(({ branch, next, source, step }) => [branch, step, source, next.join(",")])

/** The newest checkpoint before some nodes. */
export const before = (snapshots: Snapshots, ...next: ReadonlyArray<string>): string => {
  const found = snapshots.find((snapshot) => snapshot.next.join() === next.join())
  return found === undefined ? assert.fail(`no checkpoint before ${next.join()}`) : found.checkpoint
}

/** A node that notes and writes its name. */
export const say = (runs: Array<string>, name: string) => () => {
  runs.push(name)
  return { log: [name] }
}

/** Two nodes in a row. */
export const two = (runs: Array<string>) =>
  StateGraph.make("two", StateGraph.nodes(Log, { node_a: say(runs, "a"), node_b: say(runs, "b") }), {
    start: "node_a",
    edges: { node_a: "node_b" }
  })

/** The same, with a question between them. */
export const human = (runs: Array<string>) =>
  StateGraph.make(
    "human",
    StateGraph.nodes(Log, {
      node_a: say(runs, "a"),
      ask_human: Effect.fnUntraced(function*() {
        runs.push("ask")
        return { log: [`human:${yield* Ask.ask("What is your input?")}`] }
      }),
      node_b: say(runs, "b")
    }),
    { start: "node_a", edges: { node_a: "ask_human", ask_human: "node_b" } }
  )
