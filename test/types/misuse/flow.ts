import { Effect, Schema } from "effect"
import { Channel, Command, END, Node, Send, State, StateGraph } from "superstep"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
class Needy extends State.make({ need: Schema.Int }) {}
const needy = StateGraph.make("needy", StateGraph.nodes(Needy, { a: () => Effect.void }), { start: "a" })

const nodes = StateGraph.nodes(Demo, {
  a: (s) => Effect.succeed({ total: s.total }),
  b: (s) => ({ total: s.total }),
  c: () => ({ visited: ["c"] }),
  perhaps: (s) => s.total > 1 ? { total: 1 } : { visited: ["x"] },
  r: () => Effect.succeed(Command.make({ update: { visited: ["r"] }, goto: "a" })),
  work: Node.make({ input: Schema.Struct({ x: Schema.Int }), run: ({ x }) => Effect.succeed({ total: x }) }),
  one: Node.make({ input: Schema.Int, run: (x) => ({ total: x }) }),
  needy
})

// @error Type '"xx"' is not assignable
export const unknownStart = StateGraph.make("g", nodes, { start: "xx" })

// @error Type '"zz"' is not assignable
export const unknownTarget = StateGraph.make("g", nodes, { start: "a", edges: { a: "zz" } })

// @error 'yy'
export const unknownSource = StateGraph.make("g", nodes, { start: "a", edges: { yy: "a" } })

// @error Property 'start' is missing
export const missingStart = StateGraph.make("g", nodes, { edges: { a: "b" } })

// @error Type '"zz"' is not assignable
export const unknownJoin = StateGraph.make("g", nodes, { start: "a", edges: { a: StateGraph.join("zz") } })

export const wrongRoute = StateGraph.make("g", nodes, {
  start: "a",
  // @error Type '"zz"' is not assignable
  edges: { a: StateGraph.route(["b"], () => "zz") }
})

// @error Type '"zz"' is not assignable
export const unknownRouteTarget = StateGraph.make("g", nodes, { start: StateGraph.route(["zz"], () => "zz") })

export const wrongSend = StateGraph.make("g", nodes, {
  start: "a",
  // @error a Send to \"work\" lacks \"x\", or brings it with another type
  edges: { a: StateGraph.route(["work"], () => [Send.make("work", { x: "1" })]) }
})

export const wrongSendOfNoRecord = StateGraph.make("g", nodes, {
  start: "a",
  // @error a Send to \"one\" brings another input than it takes
  edges: { a: StateGraph.route(["one", "b"], (s) => s.total > 1 ? "b" : Send.make("one", "1")) }
})

// @error node \"work\" takes \"x\", which the state lacks or has with another type: start it by Send
export const unfedNode = StateGraph.make("g", nodes, { start: "a", edges: { a: "work" } })

// @error node \"one\" takes another input than the state: start it by Send
export const unfedStart = StateGraph.make("g", nodes, { start: ["a", "one"] })

// @error node \"work\" takes \"x\", which the state lacks or has with another type: start it by Send
export const unfedJoin = StateGraph.make("g", nodes, { start: "a", edges: { a: StateGraph.join("work") } })

// @error node \"needy\" takes \"need\", which the state lacks or has with another type: start it by Send
export const unfedGraph = StateGraph.make("g", nodes, { start: StateGraph.route(["needy"], () => "needy") })

export const sendsToAGraph = StateGraph.make("g", nodes, {
  start: "a",
  edges: { a: StateGraph.route(["needy"], (s) => s.visited.map(() => Send.make("needy", { need: s.total }))) }
})

export const wrongSendToAGraph = StateGraph.make("g", nodes, {
  start: "a",
  // @error a Send to \"needy\" lacks \"need\", or brings it with another type
  edges: { a: StateGraph.route(["needy"], () => Send.make("needy", {})) }
})

export const conflict = StateGraph.make("g", nodes, {
  // @error nodes \"a\" and \"b\" start together and both write \"total\", which can receive only one value per step: give it a reducer
  start: ["a", "b"]
})

export const conflictAfterANode = StateGraph.make("g", nodes, {
  start: "c",
  edges: {
    // @error nodes \"a\" and \"b\" start together and both write \"total\", which can receive only one value per step: give it a reducer
    c: ["a", "b"]
  }
})

export const noConflict = StateGraph.make("g", nodes, { start: ["a", "c", "perhaps"], edges: { c: END } })

export const mixedRouting = StateGraph.make("g", nodes, {
  start: "r",
  // @error node \"r\" has edges and goes elsewhere by Command: a node has one kind of routing
  edges: { r: "b" }
})

export const stateInRoute = StateGraph.make("g", nodes, {
  start: StateGraph.route(["a", "b"], (s) => {
    const total: number = s.total
    return total > 1 ? "a" : "b"
  }),
  edges: {
    a: [StateGraph.join("c"), END],
    b: StateGraph.join("c"),
    c: StateGraph.route(["work"], (s) => s.visited.map(() => Send.make("work", { x: s.total })))
  }
})
