import { Context, Effect, Schema, type Stream } from "effect"
import {
  Channel,
  type Checkpoint,
  type Checkpointer,
  Command,
  END,
  type Event,
  type GraphError,
  Interrupt,
  Pregel,
  type Thread
} from "superstep"
import { describe, expectTypeOf, it } from "vitest"

class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}
class Db extends Context.Service<Db, { readonly get: Effect.Effect<number> }>()("Db") {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}

const machine = Pregel.make("machine", {
  channels: {
    x: Channel.lastValue(Schema.Int),
    y: Channel.lastValue(Schema.Int),
    log: Channel.append(Schema.String),
    brief: Channel.ephemeral(Schema.String)
  },
  nodes: {
    one: Pregel.node({
      subscribe: "x",
      run: Effect.fnUntraced(function*(x: number) {
        const db = yield* Db
        return x > 1 ? yield* db.get : yield* new Broken()
      }),
      write: "y"
    }),
    two: Pregel.node({ subscribe: "y", run: (y: number) => [String(y)], write: "log" })
  },
  input: "x",
  output: ["y", "log"]
})
const thread = machine.thread("t")
type Out = { readonly log: ReadonlyArray<string>; readonly y?: number }
type All = {
  readonly log: ReadonlyArray<string>
  readonly x?: number
  readonly y?: number
  readonly brief?: string | undefined
}
type Emitted<S> = S extends Stream.Stream<infer A, unknown, unknown> ? A : never

describe("a machine that is wired by hand", () => {
  it("takes and gives what its channels hold", () => {
    expectTypeOf(machine.invoke(1)).toEqualTypeOf<Effect.Effect<Out, Broken | GraphError.EngineError, Db>>()
    const grow = Pregel.make("grow", {
      channels: { a: Channel.lastValue(Schema.String), b: Channel.lastValue(Schema.String) },
      nodes: { n: Pregel.node({ subscribe: "a", run: (a: string) => a, write: ["a", "b"] }) },
      input: "a",
      output: "a"
    })
    expectTypeOf(grow.invoke("a")).toEqualTypeOf<Effect.Effect<string, GraphError.EngineError>>()
    const other = Pregel.make("other", {
      channels: { a: Channel.lastValue(Schema.String), b: Channel.lastValue(Schema.String) },
      nodes: { n: Pregel.node({ subscribe: "a", run: (a: string) => a, write: ["a", "b"] }) },
      input: "a",
      output: "b"
    })
    expectTypeOf(other.invoke("a")).toEqualTypeOf<Effect.Effect<string | undefined, GraphError.EngineError>>()
  })
  it("has threads with the types of its channels, errors and services", () => {
    type Run = Effect.Effect<
      Out,
      Broken | GraphError.EngineError | GraphError.ThreadError,
      Db | Checkpointer.Checkpointer
    >
    expectTypeOf(thread.invoke(1)).toEqualTypeOf<Run>()
    expectTypeOf(thread.start(1, { key: "k" })).toEqualTypeOf<Run>()
    expectTypeOf(thread.continue()).toEqualTypeOf<Run>()
    expectTypeOf(thread.invoke(Command.make({ update: { y: 1, log: ["x"] }, goto: END }))).toEqualTypeOf<Run>()
    expectTypeOf(thread.state()).toEqualTypeOf<
      Effect.Effect<Checkpoint.Snapshot<All, never>, Thread.StateError, Checkpointer.Checkpointer>
    >()
  })
  it("shows events with what its nodes write, by channel", () => {
    type Written = typeof machine extends
      Pregel.Pregel<infer C, infer In, infer Out_, infer _A, infer _E, infer _R, infer _Q>
      ? Pregel.Wired<C, In, Out_>["Update"]
      : never
    const stream = thread.stream(1, { modes: ["updates", "values"] })
    expectTypeOf<Emitted<typeof stream>>().toEqualTypeOf<
      | Event.Values<Out, Event.Root>
      | Event.Updates<"one", Written, Event.Root>
      | Event.Updates<"two", Written, Event.Root>
      | Event.Paused
    >()
    const ends = thread.stream(1, { modes: ["lifecycle"] })
    expectTypeOf<Emitted<typeof ends>>().toEqualTypeOf<Event.Lifecycle | Event.Completed<Out> | Event.Paused>()
    const plain = machine.stream(1, { modes: ["updates"], subgraphs: true })
    expectTypeOf<Emitted<typeof plain>>().toEqualTypeOf<
      | Event.Updates<"one", Written, Event.Root>
      | Event.Updates<"two", Written, Event.Root>
      | Event.Updates<string, unknown, Event.Inside>
    >()
  })
  it("is updated with a result of a node, or with an input", () => {
    type Updated = Effect.Effect<string, Thread.UpdateError, Checkpointer.Checkpointer>
    expectTypeOf(thread.update(1, { asNode: "one" })).toEqualTypeOf<Updated>()
    expectTypeOf(thread.update(["x"], { asNode: "two" })).toEqualTypeOf<Updated>()
    expectTypeOf(thread.update(["x"])).toEqualTypeOf<Updated>()
    expectTypeOf(thread.update(undefined, { asNode: END })).toEqualTypeOf<Updated>()
    expectTypeOf(
      thread.updateAll([[{ values: 1, asNode: "__input__" }], [{ values: 1, asNode: "one" }, {
        values: ["x"],
        asNode: "two"
      }]])
    ).toEqualTypeOf<Updated>()
  })
  it("can ask, on a thread", () => {
    const asks = Pregel.make("asks", {
      channels: { x: Channel.lastValue(Schema.String), y: Channel.lastValue(Schema.Boolean) },
      nodes: { ask: Pregel.node({ subscribe: "x", run: (x: string) => Approve.ask(x), write: "y" }) },
      input: "x",
      output: "y"
    })
    expectTypeOf(asks.thread("t").resume(Approve.reply(true))).toEqualTypeOf<
      Effect.Effect<
        boolean | undefined,
        | GraphError.EngineError
        | GraphError.ThreadError
        | Interrupt.GraphInterrupt<Interrupt.Request<"Approve", string, boolean>>,
        Checkpointer.Checkpointer
      >
    >()
    asks.thread("t").stream(Command.resume(Approve.reply(true), { update: { x: "x" } }), { modes: ["values"] })
  })
})
