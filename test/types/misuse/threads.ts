import { Effect, Schema } from "effect"
import { Channel, Command, Interrupt, Node, Send, State, StateGraph } from "superstep"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
class Other extends Interrupt.make("Other", { payload: Schema.Void, answer: Schema.String }) {}

const plain = StateGraph.make(
  "plain",
  StateGraph.nodes(Demo, {
    a: (s) => ({ total: s.total }),
    work: Node.make({ input: Schema.Struct({ x: Schema.Int }), run: ({ x }) => Effect.succeed({ total: x }) })
  }),
  { start: "a" }
).thread("t")
const asks = StateGraph.make(
  "asks",
  StateGraph.nodes(Demo, {
    ask: Effect.fnUntraced(function*() {
      const yes = yield* Approve.ask("go on?")
      return { total: yes ? 1 : 0 }
    })
  }),
  { start: "ask" }
).thread("t")
const updates = { modes: ["updates"] } as const

// What a thread runs on
// @error 'totl' does not exist in type
export const unknownInput = plain.invoke({ total: 1, totl: 1 })
// @error Type 'string' is not assignable to type 'number'
export const mistypedInput = plain.invoke({ total: "1" })
// @error it writes \"totl\", which is no key of the state
export const unknownKey = plain.invoke(Command.make({ update: { total: 1, totl: 1 } }))
// @error it writes \"totl\", which is no key of the state
export const unknownKeyInAList = plain.invoke(Command.make({ update: [{ total: 1 }, { totl: 1 }] }))
// @error it writes the wrong type to \"total\"
export const mistypedKey = plain.invoke(Command.make({ update: { total: "1" } }))
// @error it goes to \"nowhere\", which this graph does not have or which takes another input
export const unknownGoto = plain.invoke(Command.make({ goto: ["a", "nowhere"] }))
// @error it goes to \"work\", which this graph does not have or which takes another input
export const gotoWithAnInputOfItsOwn = plain.invoke(Command.make({ goto: "work" }))
// @error it goes to \"a Send to work\", which this graph does not have or which takes another input
export const mistypedSend = plain.invoke(Command.make({ goto: Send.make("work", { x: "1" }) }))
// @error it goes to \"nowhere\", which this graph does not have or which takes another input
export const unknownGotoInAStream = plain.stream(Command.make({ goto: "nowhere" }), updates)
// @error Property 'total' is missing
export const missingInputOfAStart = plain.stream(Command.start({ visited: [] }), updates)
// @error it brings \"totl\", which is no key of the input
export const unknownInputOfAStart = plain.events(Command.start({ total: 1, totl: 1 }), updates)

// @error has no properties in common with type
export const answersOfARun = asks.invoke(Command.resume(Approve.reply(true)))

// Answers
// @error this graph asks nothing: there is nothing to resume
export const nothingToResume = plain.resume(Approve.reply(true))
// @error this graph asks nothing: there is nothing to resume
export const nothingToResumeInAList = plain.resume([])
// @error this graph asks nothing: there is nothing to resume
export const nothingToResumeInAStream = plain.stream(Command.resume(Approve.reply(true)), updates)
// @error this graph asks nothing: there is nothing to resume
export const nothingToResumeInEvents = plain.events(Command.resume([]), updates)
// @error this graph does not ask \"Other\", or takes another answer
export const otherReply = asks.stream(Command.resume(Other.reply("x")), updates)
// @error it goes to \"nowhere\", which this graph does not have or which takes another input
export const resumeToNowhere = asks.stream(Command.resume(Approve.reply(true), { goto: "nowhere" }), updates)
// @error it writes \"totl\", which is no key of the state
export const resumeWithAnUnknownKey = asks.events(Command.resume(Approve.reply(true), { update: { totl: 1 } }), updates)
// @error '"nowhere"' is not assignable to type 'Target<"ask"
export const steerToNowhere = asks.resume(Approve.reply(true), { goto: ["nowhere"] })
// @error 'totl' does not exist in type
export const steerWithAnUnknownKey = asks.resume(Approve.reply(true), { update: { total: 1, totl: 1 } })

// What it shows
// @error '"Other"' have no overlap
export const otherRequest = Effect.map(asks.state(), ({ requests }) => requests.some(({ tag }) => tag === "Other"))
// @error Type 'string' is not assignable to type 'number'
export const mistypedPayload: Effect.Effect<ReadonlyArray<number>, unknown, unknown> = Effect.map(
  asks.state(),
  ({ requests }) => requests.map(({ payload }) => payload)
)

// Updates
// @error 'totl' does not exist in type
export const unknownUpdate = plain.update({ total: 1, totl: 1 })
// @error it goes to \"nowhere\", which this graph does not have or which takes another input
export const updateToNowhere = plain.update(Command.make({ goto: "nowhere" }), { asNode: "a" })
// @error it writes the wrong type to \"total\"
export const mistypedUpdate = plain.update(Command.make({ update: { total: "1" } }))
// @error '"nowhere"' is not assignable to type 'NodeName<"a" | "work">
export const unknownNode = plain.update({ total: 1 }, { asNode: "nowhere" })
// @error it writes \"totl\", which is no key of the state
export const unknownKeyInSeveral = plain.updateAll([[{ values: {} }], [{ values: { total: 1, totl: 1 } }]])
// @error it writes \"totl\", which is no key of the state
export const unknownKeyOfSeveral = plain.updateAll([[{ values: Command.make({ update: { total: 1, totl: 1 } }) }]])
// @error '"nowhere"' is not assignable to type 'Target<"a",
export const severalToNowhere = plain.updateAll([[{ values: Command.make({ goto: "nowhere" }) }]])

// @error Argument of type 'Continue' is not assignable
export const noUpdate = plain.update(Command.continue)

// Errors
const nothing = () => Effect.void
// @error is not assignable to type 'never'
export const noErrorOfState = plain.state().pipe(Effect.catchTags({ MissingInput: nothing }))
// @error is not assignable to type 'never'
export const noErrorOfHistory = plain.history().pipe(Effect.catchTags({ InvalidUpdate: nothing }))
// @error is not assignable to type 'never'
export const noErrorOfUpdate = plain.update(undefined).pipe(Effect.catchTags({ PendingWork: nothing }))
// @error is not assignable to type 'never'
export const noErrorOfFork = plain.fork().pipe(Effect.catchTags({ UnknownNode: nothing }))
