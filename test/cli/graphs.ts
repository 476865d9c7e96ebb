/** What the command line is tried on. It is copied into a project in which the built package is installed. */
import { Context, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { existsSync } from "node:fs"
import { Channel, Checkpointer, END, Entrypoint, Interrupt, Pregel, Running, State, StateGraph, Task } from "superstep"
import * as EncryptedCheckpointer from "superstep/crypto/EncryptedCheckpointer"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}

export const demo = StateGraph.make(
  "demo",
  StateGraph.nodes(Demo, {
    double: (state) => ({ total: state.total * 2, visited: ["double"] }),
    increment: (state) => ({ total: state.total + 1, visited: ["increment"] })
  }),
  { start: "double", edges: { double: "increment", increment: END } }
)

class Approve extends Interrupt.make("Approve", {
  payload: Schema.Struct({ total: Schema.Int }),
  answer: Schema.Boolean
}) {}

class Name extends Interrupt.make("Name", { payload: Schema.String, answer: Schema.String }) {}

export const asking = StateGraph.make(
  "asking",
  StateGraph.nodes(Demo, {
    ask: Effect.fnUntraced(function*(state) {
      const isApproved = yield* Approve.ask({ total: state.total })
      return { visited: [isApproved ? "approved" : "refused"] }
    })
  }),
  { start: "ask" }
)

export const both = StateGraph.make(
  "both",
  StateGraph.nodes(Demo, {
    left: () => Effect.map(Name.ask("left?\n\u001B[2J"), (name) => ({ visited: [`left ${name}`] })),
    right: () => Effect.map(Name.ask("right?"), (name) => ({ visited: [`right ${name}`] })),
    last: () => Effect.map(Approve.ask({ total: 0 }), (isApproved) => ({ visited: [`${isApproved}`] }))
  }),
  {
    start: ["left", "right"],
    edges: { left: StateGraph.join("last"), right: StateGraph.join("last") }
  }
)

class Words extends Context.Service<Words, { readonly word: string }>()("Words") {}

export const layer = Layer.succeed(Words, { word: "hello" })
export const other = Layer.succeed(Words, { word: "other" })

export const broken = Layer.effectDiscard(Effect.fail(new Error("no words today")))

const key = Redacted.make(new Uint8Array(32).fill(7))

/** On the database of `--db`, and in its place. */
export const sealed = EncryptedCheckpointer.layer({ keys: { a: key }, current: "a", ids: key })

export const serving = StateGraph.make(
  "serving",
  StateGraph.nodes(Demo, {
    say: Effect.fnUntraced(function*() {
      const { word } = yield* Words
      console.log("noise of a node")
      process.stdout.write("more noise\n")
      yield* Running.emit({ big: 1n })
      return { visited: [word] }
    })
  }),
  { start: "say" }
)

class Dated extends State.make({ at: Schema.Date, sum: Schema.BigInt }) {}

export const dated = StateGraph.make(
  "dated",
  StateGraph.nodes(Dated, { next: ({ at, sum }) => ({ at: new Date(at.getTime() + 1000), sum: sum + 1n }) }),
  { start: "next" }
)

class Timed extends State.make({
  left: Schema.Duration,
  note: Schema.Option(Schema.String),
  ends: Channel.append(Schema.Date)
}) {}

const timer = StateGraph.make(
  "timer",
  StateGraph.nodes(Timed, {
    wait: ({ left }) => ({ left: Duration.subtract(left, Duration.seconds(1)), note: Option.some("waited") }),
    end: () => ({ ends: Channel.overwrite([new Date(0)]) })
  }),
  { start: "wait", edges: { wait: "end" } }
)

/** A graph inside another: as a node, and called in one. */
export const timed = StateGraph.make(
  "timed",
  StateGraph.nodes(Timed, {
    timer,
    calls: (state) => Effect.map(timer.call(state), ({ left }) => ({ left }))
  }),
  { start: "timer", edges: { timer: "calls" } }
)

/** It holds what has no form as JSON. */
class Open extends State.make({ left: Schema.Duration, socket: Channel.untracked<object>() }) {}

export const open = StateGraph.make(
  "open",
  StateGraph.nodes(Open, {
    go: () => ({ left: Duration.seconds(1), socket: { size: 1n, own: new Map([["a", 1]]) } })
  }),
  { start: "go" }
)

const add = Task.make("add", { input: Schema.Int, output: Schema.Int, run: (n) => Effect.succeed(n + 1) })

export const count = Entrypoint.make("count", {
  input: Schema.Int,
  output: Schema.Int,
  run: (n, previous = 0) => Effect.map(add(n), (m) => m + previous)
})

export const grow = Pregel.make("grow", {
  channels: { value: Channel.lastValue(Schema.String) },
  nodes: {
    double: Pregel.node({
      subscribe: "value",
      run: (text: string) => text.length < 4 ? text + text : undefined,
      write: "value"
    })
  },
  input: "value",
  output: "value"
})

/** Somebody else moves each thread on as soon as its run has stored what it came to. */
const moved = <E, F>(
  thread: (id: string) => {
    readonly state: Effect.Effect<{ readonly next: ReadonlyArray<string> }, E, Checkpointer.Checkpointer>
    readonly move: Effect.Effect<string, F, Checkpointer.Checkpointer>
  }
) =>
  Layer.effect(
    Checkpointer.Checkpointer,
    Effect.map(Checkpointer.Checkpointer, (saver) => ({
      ...saver,
      commit: (id, commit) => {
        const { move, state } = thread(id)
        const meanwhile = Effect.flatMap(state, ({ next }) => next.length === 0 ? move : Effect.void)
        return Effect.tap(
          saver.commit(id, commit),
          () => Effect.orDie(Effect.provideService(meanwhile, Checkpointer.Checkpointer, saver))
        )
      }
    }))
  )

export const movedDemo = moved((id) => ({
  state: demo.thread(id).state(),
  move: demo.thread(id).update({ total: 100 }, { asNode: "double" })
}))
export const movedCount = moved((id) => ({
  state: count.thread(id).state(),
  move: count.thread(id).update(50, { asNode: "count" })
}))
export const movedGrow = moved((id) => ({
  state: grow.thread(id).state(),
  move: grow.thread(id).update("xy", { asNode: "__input__" })
}))

export const made = () => demo
export const promised = async () => demo
export const effectful = Effect.sync(() => demo)
export const thrown = () => {
  throw new Error("no graph today")
}
export const nothing = 3

export const failing = StateGraph.make(
  "failing",
  StateGraph.nodes(Demo, { boom: () => Effect.fail(new Error("down\n\u001B[2Jred")) }),
  { start: "boom" }
)

export const dying = StateGraph.make(
  "dying",
  StateGraph.nodes(Demo, { boom: () => Effect.die(new Error("bang")) }),
  { start: "boom" }
)

export const endless = StateGraph.make("endless", StateGraph.nodes(Demo, { again: () => ({ visited: ["again"] }) }), {
  start: "again",
  edges: { again: "again" }
})

export const slow = StateGraph.make(
  "slow",
  StateGraph.nodes(Demo, {
    one: () => ({ visited: ["one"] }),
    wait: () =>
      process.env["FAST"] === undefined
        ? Effect.ensuring(Effect.never, Effect.sync(() => console.log("cleaned up")))
        : Effect.succeed({ visited: ["waited"] })
  }),
  { start: "one", edges: { one: "wait" } }
)

/** Asks, and then fails unless it is told to be fast. */
export const paying = StateGraph.make(
  "paying",
  StateGraph.nodes(Demo, {
    pay: Effect.fnUntraced(function*(state) {
      const isApproved = yield* Approve.ask({ total: state.total })
      if (process.env["FAST"] === undefined) return yield* Effect.fail(new Error("the bank is down"))
      return { visited: [isApproved ? "paid" : "refused"] }
    })
  }),
  { start: "pay" }
)

/** What it has to clean up never ends. */
export const stubborn = StateGraph.make(
  "stubborn",
  StateGraph.nodes(Demo, {
    hold: () =>
      Effect.onInterrupt(
        Effect.never,
        () => Effect.andThen(Effect.sync(() => console.log("cleaning up")), Effect.never)
      )
  }),
  { start: "hold" }
)

/** Its node takes until the file "go" is there. */
export const held = StateGraph.make(
  "held",
  StateGraph.nodes(Demo, {
    hold: () =>
      Effect.as(
        Effect.repeat(Effect.sleep(20), { until: () => existsSync("go") }),
        { visited: ["held"] }
      )
  }),
  { start: "hold" }
)

export const stopping = StateGraph.make("stopping", StateGraph.nodes(Demo, { go: () => ({ visited: ["gone"] }) }), {
  start: "go"
}, { before: ["go"] })

export const leaving = StateGraph.make(
  "leaving",
  StateGraph.nodes(Demo, {
    leave: () =>
      Effect.andThen(
        Effect.sync(() => void setTimeout(() => void Promise.reject(new Error("too\nlate")), 1)),
        Effect.never
      )
  }),
  { start: "leave" }
)
