import { Effect, Schema } from "effect"
import { Channel, Command, Interrupt, State, StateGraph } from "superstep"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
class Other extends Interrupt.make("Other", { payload: Schema.Void, answer: Schema.String }) {}

const plain = StateGraph.make("plain", StateGraph.nodes(Demo, { a: (s) => ({ total: s.total }) }), { start: "a" })
const asks = StateGraph.make(
  "asks",
  StateGraph.nodes(Demo, {
    ask: Effect.fnUntraced(function*() {
      const yes = yield* Approve.ask("go on?")
      return { total: yes ? 1 : 0 }
    })
  }),
  { start: "ask" }
)
// A failure that is caught still asks.
const caught = StateGraph.make(
  "caught",
  StateGraph.nodes(Demo, {
    ask: () => Approve.ask("go on?").pipe(Effect.as({ total: 1 }), Effect.catch(() => Effect.succeed({ total: 0 })))
  }),
  { start: "ask" }
)

// @error Property 'total' is missing
export const missingInput = plain.invoke({})
// @error 'totl' does not exist
export const unknownInput = plain.invoke({ total: 1, totl: 1 })
// @error this graph can pause: run it on a thread, .thread(id)
export const noThread = asks.invoke({ total: 1 })
// @error this graph can pause: run it on a thread, .thread(id)
export const caughtNoThread = caught.invoke({ total: 1 })
// @error this graph can pause: run it on a thread, .thread(id)
export const noThreadStream = asks.stream({ total: 1 }, { modes: ["updates"] })

export const fits = asks.thread("t").resume([Approve.reply(true)])
// @error Argument of type 'string' is not assignable to parameter of type 'boolean'
export const wrongReply = asks.thread("t").resume(Approve.reply("yes"))
// @error '"Other"' is not assignable to type '"Approve"'
export const otherReply = asks.thread("t").resume(Other.reply("x"))
// @error "sideways"
export const unknownMode = plain.stream({ total: 1 }, { modes: ["sideways"] })

// Subgraphs
class Out extends State.make({ out: Channel.append(Schema.String) }) {}
class Needy extends State.make({ need: Schema.Int }) {}
class Clash extends State.make({ out: Schema.Int }, { input: [] }) {}
const child = StateGraph.make(
  "child",
  StateGraph.nodes(Out, {
    t: () => Command.parent({ update: { out: ["t"] }, goto: "after" })
  }),
  { start: "t" }
)
const needy = StateGraph.make("needy", StateGraph.nodes(Needy, { a: () => Effect.void }), { start: "a" })
const clash = StateGraph.make("clash", StateGraph.nodes(Clash, { a: () => ({ out: 1 }) }), { start: "a" })

export const parent = StateGraph.nodes(Out, { child, after: () => Effect.void })
export const parentWithoutTarget = StateGraph.nodes(Out, {
  // @error node \"child\" goes to \"after\", which this graph does not have or which takes another input
  child,
  later: () => Effect.void
})
export const unfedSubgraph = StateGraph.make("g", StateGraph.nodes(Out, { needy }), {
  // @error node \"needy\" takes \"need\", which the state lacks or has with another type: start it by Send
  start: "needy"
})
export const clashingSubgraph = StateGraph.nodes(Out, {
  // @error subgraph \"clash\" hands up the wrong type to \"out\"
  clash
})
