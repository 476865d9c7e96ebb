import { Effect, Schema } from "effect"
import { Channel, Command, Interrupt, Pregel } from "superstep"

class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
class Other extends Interrupt.make("Other", { payload: Schema.Void, answer: Schema.String }) {}

const machine = Pregel.make("machine", {
  channels: { x: Channel.lastValue(Schema.Int), log: Channel.append(Schema.String), y: Channel.lastValue(Schema.Int) },
  nodes: {
    one: Pregel.node({ subscribe: "x", run: (x: number) => Effect.succeed(x + 1), write: "y" }),
    two: Pregel.node({ subscribe: "y", run: (y: number) => [String(y)], write: "log" })
  },
  input: "x",
  output: ["y", "log"]
})
const thread = machine.thread("t")
const asks = Pregel.make("asks", {
  channels: { x: Channel.lastValue(Schema.String), y: Channel.lastValue(Schema.Boolean) },
  nodes: { ask: Pregel.node({ subscribe: "x", run: (x: string) => Approve.ask(x), write: "y" }) },
  input: "x",
  output: "y"
})

// @error Argument of type 'string' is not assignable
export const mistypedInput = machine.invoke("1")
// @error Argument of type 'string' is not assignable
export const mistypedInputOfAThread = thread.invoke("1")
// @error it writes \"z\", which is no key of the state
export const unknownChannel = thread.invoke(Command.make({ update: { z: 1 } }))
// @error it goes to \"one\", which this graph does not have or which takes another input
export const noRoutes = thread.invoke(Command.make({ goto: "one" }))
// @error Type 'undefined' is not assignable to type 'number'
export const outputThatNobodyMayHaveWritten: Effect.Effect<number, unknown, unknown> = Effect.map(
  thread.invoke(1),
  (out) => out.y
)
// @error Property 'z' does not exist
export const unknownValue = Effect.map(thread.state(), ({ values }) => values.z)
// @error Argument of type 'string' is not assignable to parameter of type 'number'
export const mistypedResult = thread.update("1", { asNode: "one" })
// @error '"three"' is not assignable to type 'Acting<"one" | "two">
export const unknownNode = thread.update(1, { asNode: "three" })
// @error Type 'true' is not assignable to type 'number | string[] | undefined'
export const mistypedResults = thread.updateAll([[{ values: true, asNode: "one" }]])
// @error this graph asks nothing: there is nothing to resume
export const nothingToResume = thread.resume(Approve.reply(true))
// @error this machine can pause: run it on a thread, .thread(id)
export const noThread = asks.invoke("go on?")
// @error this machine can pause: run it on a thread, .thread(id)
export const noThreadStream = asks.stream("go on?", { modes: ["updates"] })
// @error '"Other"' is not assignable to type '"Approve"'
export const otherReply = asks.thread("t").resume(Other.reply("x"))
