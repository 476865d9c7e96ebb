/** What tests of streams share: graphs that show something, and events in a line each. */
import { Effect, Schema } from "effect"
import { Channel, type Event, Interrupt, Running, State, StateGraph } from "superstep"

export class Log extends State.make({ log: Channel.append(Schema.String) }) {}
export class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

/** Mode, and for tasks the type; with the node or step that it is about. */
export const line = (event: Event.Any): string => {
  const at = event.path.length === 0 ? "" : `${event.path.join("/")}: `
  switch (event.mode) {
    case "tasks":
      return `${at}${event.type} ${event.node}`
    case "updates":
    case "custom":
      return `${at}${event.mode} ${event.node}`
    case "debug":
      return `${at}debug ${event.type} ${event.step}`
    case "lifecycle":
      return `${at}${event.type}`
    case "values":
    case "checkpoints":
    case "paused":
      return `${at}${event.mode} ${event.step}`
  }
}

/** A graph in a graph, which is called in a node too. */
export const inside = (persistence: "call" | "thread" | "none") => {
  const leaf = StateGraph.make(
    "leaf",
    StateGraph.nodes(Log, {
      deep: Effect.fnUntraced(function*() {
        yield* Running.emit("deep")
        return { log: ["deep"] }
      })
    }),
    { start: "deep" },
    { persistence }
  )
  const middle = StateGraph.make("middle", StateGraph.nodes(Log, { leaf }), { start: "leaf" }, { persistence })
  return StateGraph.make(
    "top",
    StateGraph.nodes(Log, { middle, calls: () => Effect.map(leaf.call({}), ({ log }) => ({ log })) }),
    { start: "middle", edges: { middle: "calls" } }
  )
}

/** A graph that asks after its first node. */
export const robot = StateGraph.make(
  "robot",
  StateGraph.nodes(Log, {
    robot: () => ({ log: ["beep"] }),
    human: () => Effect.map(Ask.ask("interrupt"), (answer) => ({ log: [answer] }))
  }),
  { start: "robot", edges: { robot: "human" } }
)
