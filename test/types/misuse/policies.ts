import { Effect, Schema } from "effect"
import { Channel, Node, Policy, Pregel, State, StateGraph } from "superstep"

class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}
class Late extends Schema.TaggedError<Late>()("Late", {}) {}
class Demo extends State.make({ total: Schema.Int }) {}

const input = Schema.Struct({ x: Schema.Int })
const ofLate = Policy.retry<Late>({ while: (error) => error._tag === "Late" })
const ofY = Policy.cache({ key: ({ y }: { readonly y: string }) => y })
const run = ({ x }: { readonly x: number }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())

export const otherError = Node.make({
  input,
  // @error Type 'Retry<Late>' is not assignable to type 'Retry<NoInfer<Broken>>'
  retry: ofLate,
  run: ({ x }) => run({ x })
})
export const otherErrorAfterRun = Node.make({
  input,
  run,
  // @error Type 'Retry<Late>' is not assignable to type 'Retry<NoInfer<Broken>>'
  retry: [Policy.retry(), ofLate]
})
export const otherErrorInPlace = Node.make({
  input,
  // @error Type 'Broken' is not assignable to type 'Late'
  retry: Policy.retry({ while: (error: Late) => error._tag === "Late" }),
  run,
  onError: () => Effect.succeed({ total: 0 })
})
export const otherInput = Node.make({
  input,
  // @error Property 'y' is missing in type '{ readonly x: number; }'
  cache: ofY,
  run: ({ x }) => run({ x })
})
export const otherInputInPlace = Node.make({
  input: Demo,
  run: (state) => Effect.succeed({ total: state.total }),
  // @error Property 'y' is missing in type '{ readonly total: number; }'
  cache: Policy.cache({ key: ({ y }: { readonly y: string }) => y })
})
export const errorOfNoNode = StateGraph.make(
  "graph",
  StateGraph.nodes(Demo, { a: (s) => s.total > 0 ? Effect.succeed({ total: 1 }) : Effect.fail(new Broken()) }),
  { start: "a" },
  // @error Type 'Retry<Late>' is not assignable to type 'Retry<NoInfer<Broken>>'
  { retry: ofLate }
)
export const errorOfOneNode = StateGraph.make(
  "graph",
  StateGraph.nodes(Demo, {
    a: (s) => s.total > 0 ? Effect.succeed({ total: 1 }) : Effect.fail(new Broken()),
    b: (s) => s.total > 0 ? Effect.succeed({ total: 1 }) : Effect.fail(new Late())
  }),
  { start: "a" },
  // @error Type 'Broken' is not assignable to type 'Late'
  { retry: ofLate }
)

const last = Channel.lastValue(Schema.Int)
export const otherErrorOfAWiredNode = Pregel.node({
  subscribe: "x",
  run: (x: number) => x > 0 ? Effect.succeed(x) : Effect.fail(new Broken()),
  write: "x",
  // @error Type 'Broken' is not assignable to type 'Late'
  retry: ofLate
})
export const otherInputOfAWiredNode = Pregel.node({
  subscribe: "x",
  run: (x: number) => x,
  write: "x",
  // @error Type 'number' is not assignable to type '{ readonly y: string; }'
  cache: ofY
})
const broken = Pregel.node({ subscribe: "x", run: () => Effect.fail(new Broken()), write: "x" })
export const errorOfNoWiredNode = Pregel.make("machine", {
  channels: { x: last },
  nodes: { broken },
  input: "x",
  output: "x",
  // @error Type 'Broken' is not assignable to type 'Late'
  retry: ofLate
})
