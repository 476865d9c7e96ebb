import { Effect, Schema } from "effect"
import { Channel, Command, END, Node, Send, State, StateGraph } from "superstep"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}

export const unknownKey = StateGraph.nodes(Demo, {
  // @error node \"a\" writes \"totl\", which is no key of the state
  a: (s) => Effect.succeed({ total: s.total, totl: 1 }),
  b: () => Effect.succeed({ total: 1 })
})

export const unknownKeyOfAPlainNode = StateGraph.nodes(Demo, {
  // @error node \"a\" writes \"totl\", which is no key of the state
  a: (s) => ({ totl: s.total })
})

export const wrongType = StateGraph.nodes(Demo, {
  // @error node \"a\" writes the wrong type to \"total\"
  a: (s) => Effect.succeed({ total: String(s.total) }),
  // @error node \"b\" writes the wrong type to \"visited\"
  b: Effect.fnUntraced(function*() {
    return { visited: "b" }
  })
})

export const overwriteOfALastValue = StateGraph.nodes(Demo, {
  // @error node \"a\" writes the wrong type to \"total\"
  a: () => Effect.succeed({ total: Channel.overwrite(1) }),
  b: () => Effect.succeed({ visited: Channel.overwrite(["x"]) })
})

export const promise = StateGraph.nodes(Demo, {
  // @error node \"a\" returns a Promise; wrap it in Effect.promise or Effect.tryPromise
  a: async (s) => ({ total: s.total })
})

export const unknownGoto = StateGraph.nodes(Demo, {
  // @error node \"a\" goes to \"zz\", which this graph does not have or which takes another input
  a: () => Effect.succeed(Command.make({ update: { total: 1 }, goto: "zz" })),
  b: () => Effect.succeed(Command.make({ goto: ["a", END] }))
})

export const wrongSendInCommand = StateGraph.nodes(Demo, {
  // @error node \"a\" goes to \"a Send to work\", which this graph does not have or which takes another input
  a: () => Effect.succeed(Command.make({ goto: [Send.make("work", { x: "1" })] })),
  b: () => Effect.succeed(Command.make({ goto: [Send.make("work", { x: 1 }), "a"] })),
  work: Node.make({ input: Schema.Struct({ x: Schema.Int }), run: () => Effect.void })
})

export const gotoWithAnInputOfItsOwn = StateGraph.nodes(Demo, {
  // @error node \"a\" goes to \"work\", which this graph does not have or which takes another input
  a: () => Effect.succeed(Command.make({ goto: "work" })),
  b: () => Effect.succeed(Command.make({ goto: "part" })),
  work: Node.make({ input: Schema.Struct({ x: Schema.Int }), run: () => Effect.void }),
  part: Node.make({ input: Schema.Struct({ total: Schema.Int }), run: () => Effect.void })
})

// One error, and none at the start.
export const inlineGoto = StateGraph.make(
  "g",
  StateGraph.nodes(Demo, {
    // @error node \"a\" goes to \"zz\", which this graph does not have or which takes another input
    a: (s) => Command.make({ update: { total: s.total }, goto: "zz" })
  }),
  { start: "a" }
)

const input = Schema.Struct({ x: Schema.Int })
export const nodesWithAnInput = StateGraph.nodes(Demo, {
  fits: Node.make({ input, run: ({ x }) => ({ total: x }) }),
  // @error node \"key\" writes \"totl\", which is no key of the state
  key: Node.make({ input, run: ({ x }) => ({ totl: x }) }),
  // @error node \"type\" writes the wrong type to \"total\"
  type: Node.make({ input, run: ({ x }) => ({ total: `${x}` }) }),
  // @error node \"waits\" returns a Promise; wrap it in Effect.promise or Effect.tryPromise
  waits: Node.make({ input, run: async ({ x }) => ({ total: x }) }),
  // @error node \"handled\" writes \"totl\", which is no key of the state
  handled: Node.make({ input, run: ({ x }) => ({ total: x }), onError: () => ({ totl: 0 }) })
})
