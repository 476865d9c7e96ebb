import { Context, Effect, Number, Schema, type Stream } from "effect"
import {
  Channel,
  type Checkpointer,
  Command,
  END,
  type Event,
  type GraphError,
  Interrupt,
  Node,
  type Running,
  Send,
  State,
  StateGraph
} from "superstep"
import { describe, expectTypeOf, it } from "vitest"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}
class Late extends Schema.TaggedError<Late>()("Late", {}) {}
class Db extends Context.Service<Db, { readonly get: Effect.Effect<number> }>()("Db") {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
class Choose extends Interrupt.make("Choose", { payload: Schema.Int, answer: Schema.Int }) {}

type DemoType = { readonly total: number; readonly visited: ReadonlyArray<string> }
type Overwritten = Channel.Overwrite<ReadonlyArray<string>>

describe("Running", () => {
  it("has nothing that a test of a node alone could not provide", () => {
    expectTypeOf<keyof Running.RunningShape>().toEqualTypeOf<
      | "task"
      | "node"
      | "step"
      | "attempt"
      | "firstAttemptMillis"
      | "path"
      | "thread"
      | "run"
      | "metadata"
      | "drained"
      | "checkpoint"
      | "remainingSteps"
      | "emit"
      | "heartbeat"
      | "drain"
    >()
  })
})

describe("State", () => {
  it("derives what is read, written and given", () => {
    expectTypeOf<State.Type<typeof Demo>>().toEqualTypeOf<DemoType>()
    expectTypeOf<State.Update<typeof Demo>>().toEqualTypeOf<{
      readonly total?: number
      readonly visited?: ReadonlyArray<string> | Overwritten
    }>()
    expectTypeOf<State.Input<typeof Demo>>().toEqualTypeOf<{
      readonly total: number
      readonly visited?: ReadonlyArray<string> | Overwritten
    }>()
  })
  it("reads a key that no input brings as perhaps empty", () => {
    class Private extends State.make({ a: Schema.Int, b: Schema.Int }, { input: ["a"], output: ["b"] }) {}
    expectTypeOf<State.Type<typeof Private>>().toEqualTypeOf<{ readonly a: number; readonly b: number | undefined }>()
    expectTypeOf<State.Input<typeof Private>>().toEqualTypeOf<{ readonly a: number }>()
    expectTypeOf<State.Output<typeof Private>>().toEqualTypeOf<{ readonly b: number | undefined }>()
  })
})

describe("Channel", () => {
  it("is covariant in the value and contravariant in the update", () => {
    expectTypeOf<Channel.Channel<"a", string>>().toExtend<Channel.Channel<string, "a">>()
    expectTypeOf<Channel.Channel<string, "a">>().not.toExtend<Channel.Channel<"a", string>>()
  })
  it("checks the reducer against the schema", () => {
    // @ts-expect-error a string is no number
    Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: (a, b) => `${a + b}` })
    // @ts-expect-error the initial value is missing
    Channel.reducer({ value: Schema.Int, reduce: (a: number, b: number) => a + b })
    // @ts-expect-error a reducer of numbers for a channel of strings
    Channel.reduced(Schema.String, Number.ReducerSum)
  })
})

const mixed = StateGraph.make(
  "mixed",
  StateGraph.nodes(Demo, {
    a: (s) => s.total > 1 ? Effect.fail(new Broken()) : Effect.succeed({ total: 1 }),
    b: Effect.fnUntraced(function*() {
      const db = yield* Db
      return { total: yield* db.get }
    }),
    c: () => Effect.fail(new Late())
  }),
  { start: "a", edges: { a: "b" } }
)

describe("a run", () => {
  it("fails with and needs what its nodes do", () => {
    expectTypeOf(mixed.invoke({ total: 1 })).toEqualTypeOf<
      Effect.Effect<DemoType, Broken | Late | GraphError.EngineError, Db>
    >()
    expectTypeOf(mixed.thread("t").invoke({})).toEqualTypeOf<
      Effect.Effect<
        DemoType,
        Broken | Late | GraphError.EngineError | GraphError.ThreadError,
        Db | Checkpointer.Checkpointer
      >
    >()
  })
  it("streams by mode and node", () => {
    const plain = StateGraph.make(
      "plain",
      StateGraph.nodes(Demo, {
        a: (s) => Effect.succeed({ total: s.total }),
        b: () => Effect.succeed(Command.make({ update: { visited: ["b"] }, goto: END }))
      }),
      { start: "a", edges: { a: "b" } }
    )
    expectTypeOf(plain.stream({ total: 1 }, { modes: ["updates"] })).toEqualTypeOf<
      Stream.Stream<
        | Event.Updates<"a", { total: number }, Event.Root>
        | Event.Updates<"b", { visited: Array<string> }, Event.Root>,
        GraphError.EngineError
      >
    >()
  })
  it("types the state of a route and of a node with an input of its own", () => {
    StateGraph.make(
      "routes",
      StateGraph.nodes(Demo, {
        a: (s) => {
          expectTypeOf(s).toEqualTypeOf<DemoType>()
          return { total: s.total }
        },
        part: Node.make({
          input: Schema.Struct({ total: Schema.Int }),
          run: (input) => {
            expectTypeOf(input).toEqualTypeOf<{ readonly total: number }>()
            return Effect.succeed({ total: input.total })
          }
        })
      }),
      {
        start: StateGraph.route(["a", "part"], (s) => {
          expectTypeOf(s).toEqualTypeOf<DemoType>()
          return s.total > 1 ? "a" : Send.make("part", { total: s.total })
        }),
        edges: { a: "part" }
      }
    )
  })
})

const asking = StateGraph.make(
  "asking",
  StateGraph.nodes(Demo, {
    ask: Effect.fnUntraced(function*() {
      const yes = yield* Approve.ask("go on?")
      return { total: yes ? yield* Choose.ask(3) : 0 }
    }),
    swallow: () => Choose.ask(1).pipe(Effect.ignore, Effect.as({ total: 1 }))
  }),
  { start: "ask" }
)

type Asked = Interrupt.Request<"Approve", string, boolean> | Interrupt.Request<"Choose", number, number>

describe("interrupts", () => {
  it("fails with what was asked, caught or not", () => {
    expectTypeOf(asking.thread("t").invoke({ total: 1 })).toEqualTypeOf<
      Effect.Effect<
        DemoType,
        GraphError.EngineError | GraphError.ThreadError | Interrupt.GraphInterrupt<Asked>,
        Checkpointer.Checkpointer
      >
    >()
  })
  it("lifts them out of subgraphs", () => {
    const outer = StateGraph.make("outer", StateGraph.nodes(Demo, { asking }), { start: "asking" })
    expectTypeOf(outer.thread("t").continue()).toEqualTypeOf<
      Effect.Effect<
        DemoType,
        GraphError.EngineError | GraphError.ThreadError | Interrupt.GraphInterrupt<Asked>,
        Checkpointer.Checkpointer
      >
    >()
  })
  it("lifts them out of graphs that a node calls", () => {
    const caller = StateGraph.make(
      "caller",
      StateGraph.nodes(Demo, {
        call: (s) => asking.call({ total: s.total }).pipe(Effect.map(({ total }) => ({ total })))
      }),
      { start: "call" }
    )
    caller.thread("t").resume(Approve.reply(true))
    // @ts-expect-error it can pause
    caller.invoke({ total: 1 })
  })
})

describe("a node with an input of its own", () => {
  it("returns an update, an Effect of one, or either", () => {
    const input = Schema.Struct({ x: Schema.Int })
    type Body<X> = X extends Node.Node<infer Y> ? Y : never
    const plain = Node.make({ input, run: ({ x }) => ({ total: x }) })
    expectTypeOf<Effect.Success<Body<typeof plain>>>().toEqualTypeOf<{ total: number }>()
    const either = Node.make({
      input,
      run: ({ x }) => x > 0 ? { total: x } : Effect.fail(new Broken()),
      onError: (error, { x }) => {
        expectTypeOf(error).toEqualTypeOf<Broken | GraphError.NodeTimeout>()
        return { visited: [`${x}`] }
      }
    })
    expectTypeOf<Effect.Success<Body<typeof either>>>().toEqualTypeOf<{ total: number } | { visited: Array<string> }>()
    expectTypeOf<Effect.Error<Body<typeof either>>>().toBeNever()
  })
})

describe("a graph as a node", () => {
  it("is fed by a state whose keys may be empty where its input may leave them out", () => {
    class Perhaps extends State.make({ token: Channel.ephemeral(Schema.Int), log: Channel.append(Schema.String) }) {}
    const inner = StateGraph.make("inner", StateGraph.nodes(Perhaps, { a: () => ({ log: ["a"] }) }), { start: "a" })
    StateGraph.make("outer", StateGraph.nodes(Perhaps, { inner }), { start: "inner" })
  })
})

describe("error handlers", () => {
  it("take a node's failures out of the run, and put their own in", () => {
    const handled = StateGraph.make(
      "handled",
      StateGraph.nodes(Demo, {
        a: Node.make({
          input: Demo,
          run: () => Effect.fail(new Broken()),
          onError: (error) => {
            expectTypeOf(error).toEqualTypeOf<Broken | GraphError.NodeTimeout>()
            return Effect.fail(new Late())
          }
        })
      }),
      { start: "a" }
    )
    expectTypeOf(handled.invoke({ total: 1 })).toEqualTypeOf<Effect.Effect<DemoType, Late | GraphError.EngineError>>()
  })

  type Handled = Broken | GraphError.NodeTimeout
  function* asks(s: DemoType) {
    const db = yield* Db
    if (!(yield* Approve.ask("sure?"))) return yield* new Broken()
    return { total: s.total + (yield* db.get) }
  }
  const run = Effect.fnUntraced(asks)
  const told = (error: Handled) => Effect.succeed({ visited: [error._tag === "Broken" ? "broken" : error.kind] })
  type Asking = Effect.Effect<
    { total: number } | { visited: Array<string> },
    Interrupt.Request<"Approve", string, boolean>,
    Interrupt.Asks<Interrupt.Request<"Approve", string, boolean>> | Running.Running | Db
  >
  type Body<X> = X extends Node.Node<infer Y> ?
    Y extends Effect.Effect<infer A, infer E, infer R> ? Effect.Effect<A, E, R>
    : never
    : never

  it("keep what a node of a generator writes, asks for and needs, and name its errors", () => {
    const contextual = Node.make({
      input: Demo,
      run: Effect.fnUntraced(function*(s) {
        return yield* run(s)
      }),
      onError: (error: Handled) => told(error)
    })
    const named = Node.make({
      input: Demo,
      run: Effect.fn("named")(function*(s) {
        return yield* run(s)
      }),
      onError: (error: Handled) => told(error)
    })
    const annotated = Node.make({
      input: Demo,
      run: Effect.fnUntraced(function*(s: State.Type<typeof Demo>) {
        return yield* run(s)
      }),
      onError: (error: Handled, s) => told(s.total > 0 ? error : error)
    })
    const alone = Node.make({
      input: Demo,
      run: Effect.fnUntraced(function*() {
        return yield* run({ total: 1, visited: [] })
      }),
      onError: told
    })
    const generator = Node.make({ input: Demo, run: Effect.fnUntraced(asks), onError: (error: Handled) => told(error) })
    expectTypeOf<Body<typeof contextual>>().toEqualTypeOf<Asking>()
    expectTypeOf<Body<typeof named>>().toEqualTypeOf<Asking>()
    expectTypeOf<Body<typeof annotated>>().toEqualTypeOf<Asking>()
    expectTypeOf<Body<typeof alone>>().toEqualTypeOf<Asking>()
    expectTypeOf<Body<typeof generator>>().toEqualTypeOf<Asking>()
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Demo, { contextual, named, annotated, alone, generator }),
      { start: "contextual" }
    )
    graph.thread("t").resume(Approve.reply(true)).pipe(Effect.catchTag("GraphInterrupt", () => Effect.void))
  })

  it("keep it also where a handler of a generator looks at no error", () => {
    const node = Node.make({
      input: Demo,
      run: Effect.fnUntraced(function*(s) {
        return yield* run(s)
      }),
      onError: (error) => Effect.as(Effect.logError(error), { visited: ["failed"] })
    })
    const fn = Node.make({
      input: Demo,
      run: Effect.fn("fn")(function*(s) {
        return yield* run(s)
      }),
      onError: Effect.fnUntraced(function*(error, s) {
        yield* Effect.logError(error)
        return { visited: [`${s.total}`] }
      })
    })
    expectTypeOf<Body<typeof node>>().toEqualTypeOf<Asking>()
    expectTypeOf<Body<typeof fn>>().toEqualTypeOf<Asking>()
  })

  it("infer the errors of a function literal that runs what is defined elsewhere, and of such a function itself", () => {
    const literal = Node.make({ input: Demo, run: (s) => run(s), onError: (error) => told(error) })
    const elsewhere = Node.make({ input: Demo, run, onError: (error) => told(error) })
    expectTypeOf<Body<typeof literal>>().toEqualTypeOf<Asking>()
    expectTypeOf<Body<typeof elsewhere>>().toEqualTypeOf<Asking>()
  })

  it("keep the errors of a node without a handler, and take those of one whose handler never returns", () => {
    const bare = Node.make({ input: Demo, run })
    const dies = Node.make({
      input: Demo,
      run,
      onError: () => {
        throw new Error("no way out")
      }
    })
    expectTypeOf<Effect.Error<Body<typeof bare>>>().toEqualTypeOf<
      Broken | Interrupt.Request<"Approve", string, boolean>
    >()
    expectTypeOf<Effect.Error<Body<typeof dies>>>().toEqualTypeOf<Interrupt.Request<"Approve", string, boolean>>()
  })
})
