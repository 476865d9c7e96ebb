/** What a graph of any size pays for: the modules themselves. */
import { Effect, Schema } from "effect"
import { Channel, Command, Interrupt, Node, Policy, Send, State, StateGraph } from "superstep"

export const modules: ReadonlyArray<unknown> = [
  Channel,
  Command,
  Effect,
  Interrupt,
  Node,
  Policy,
  Schema,
  Send,
  State,
  StateGraph
]
