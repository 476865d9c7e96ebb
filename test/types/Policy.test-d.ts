import { Effect, Schema } from "effect"
import { Channel, Command, type GraphError, Interrupt, Node, Policy, Pregel, State, StateGraph } from "superstep"
import { describe, expectTypeOf, it } from "vitest"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}
class Late extends Schema.TaggedError<Late>()("Late", {}) {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}

const input = Schema.Struct({ x: Schema.Int })
const run = (x: number) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
type Made = Node.Node<Effect.Effect<{ total: number }, Broken> & Node.Takes<{ readonly x: number }>>

describe("a retry policy", () => {
  it("looks at what the node can fail with, or at more, wherever it stands", () => {
    const ofBroken = Policy.retry<Broken>({ while: (error) => error._tag === "Broken" })
    expectTypeOf(ofBroken).toEqualTypeOf<Policy.Retry<Broken>>()
    expectTypeOf(Node.make({ input, retry: ofBroken, run: ({ x }) => run(x) })).toExtend<Made>()
    expectTypeOf(Node.make({ input, run: ({ x }) => run(x), retry: [ofBroken, Policy.retry()] })).toExtend<Made>()
    expectTypeOf(
      Node.make({
        input,
        retry: Policy.retry({ while: (error: Broken | GraphError.NodeTimeout) => error._tag === "NodeTimeout" }),
        run: Effect.fnUntraced(function*({ x }) {
          return yield* run(x)
        })
      })
    ).toExtend<Made>()
    expectTypeOf(
      Node.make({ input, run: ({ x }) => run(x), retry: Policy.retry({ while: (error) => error !== 1 }) })
    ).toExtend<Made>()
  })
  it("need not look at pauses, commands and the engine's failures", () => {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Demo, {
        a: Effect.fnUntraced(function*(s) {
          if (yield* Approve.ask("leave?")) yield* Command.parent({ goto: "b" })
          return yield* run(s.total)
        })
      }),
      { start: "a" }
    )
    Node.make({
      input: Demo,
      retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
      run: (state) => Effect.as(child.call(state), { total: 1 })
    })
  })
  it("of a graph looks at what all of its nodes can fail with", () => {
    const nodes = StateGraph.nodes(Demo, {
      a: (s) => run(s.total),
      b: (s) => s.total > 0 ? Effect.succeed({ total: 1 }) : Effect.fail(new Late())
    })
    const retry = Policy.retry<Broken | Late>({ while: (error) => error._tag === "Late" })
    expectTypeOf(StateGraph.make("graph", nodes, { start: "a", edges: { a: "b" } }, { retry }).invoke({ total: 1 }))
      .toEqualTypeOf<
        Effect.Effect<
          { readonly total: number; readonly visited: ReadonlyArray<string> },
          Broken | Late | GraphError.EngineError
        >
      >()
    StateGraph.make("graph", nodes, { start: "a" }, { retry: Policy.retry() })
  })
  it("of a hand-wired node looks at what it can fail with", () => {
    expectTypeOf(
      Pregel.node({
        subscribe: "x",
        retry: Policy.retry({ while: (error: Broken) => error._tag === "Broken" }),
        run: (x: number) => run(x),
        write: "x"
      })
    ).toEqualTypeOf<Pregel.Node<{ total: number }, Broken, never>>()
  })
})

describe("a cache policy", () => {
  it("looks at the input of the node", () => {
    const ofX = Policy.cache({ key: ({ x }: { readonly x: number }) => String(x) })
    expectTypeOf(ofX).toEqualTypeOf<Policy.Cache<{ readonly x: number }>>()
    expectTypeOf(Node.make({ input, cache: ofX, run: ({ x }) => run(x) })).toExtend<Made>()
    expectTypeOf(Node.make({ input, run: ({ x }) => run(x), cache: Policy.cache({ ttl: "1 day" }) })).toExtend<Made>()
    Pregel.node({
      subscribe: "x",
      run: (x: number) => x,
      write: "x",
      cache: Policy.cache({ key: (x: number) => `${x}` })
    })
  })
})

describe("an error handler", () => {
  it("leaves the commands of graphs that its node calls to the check of the node", () => {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Demo, { a: () => Command.parent({ goto: "nowhere" }) }),
      { start: "a" }
    )
    StateGraph.nodes(Demo, {
      // @ts-expect-error the child leads to a node that this graph does not have
      a: Node.make({
        input: Demo,
        run: (state) => Effect.as(child.call(state), { total: 1 }),
        onError: () => Effect.succeed({ total: 0 })
      })
    })
  })
})
