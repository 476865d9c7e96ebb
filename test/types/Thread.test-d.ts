import { Effect, Schema, Stream } from "effect"
import {
  Channel,
  type Checkpoint,
  type Checkpointer,
  Command,
  END,
  Event,
  type GraphError,
  Interrupt,
  Node,
  Send,
  State,
  StateGraph,
  type Thread
} from "superstep"
import { describe, expectTypeOf, it } from "vitest"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
class Choose extends Interrupt.make("Choose", { payload: Schema.Struct({ n: Schema.Int }), answer: Schema.Int }) {}

type Values = { readonly total: number; readonly visited: ReadonlyArray<string> }

const inner = StateGraph.make("inner", StateGraph.nodes(Demo, { c: () => ({ visited: ["c"] }) }), { start: "c" })
const graph = StateGraph.make(
  "graph",
  StateGraph.nodes(Demo, {
    a: (s) => Effect.succeed({ total: s.total }),
    ask: Effect.fnUntraced(function*() {
      return { total: (yield* Approve.ask("go on?")) ? yield* Choose.ask({ n: 1 }) : 0 }
    }),
    inner,
    work: Node.make({ input: Schema.Struct({ x: Schema.Int }), run: ({ x }) => Effect.succeed({ total: x }) })
  }),
  { start: "a" }
)
const thread = graph.thread("t")
type ThreadOf = typeof thread
type Q = Interrupt.Request<"Approve", string, boolean> | Interrupt.Request<"Choose", { readonly n: number }, number>
type Run = Effect.Effect<
  Values,
  GraphError.EngineError | GraphError.ThreadError | Interrupt.GraphInterrupt<Q>,
  Checkpointer.Checkpointer
>

describe("what a thread is given", () => {
  it("is an input, a Command that fits the graph, or answers to what it asks", () => {
    expectTypeOf(thread.invoke({ total: 1 })).toEqualTypeOf<Run>()
    expectTypeOf(
      thread.invoke(
        Command.make({ update: [{ total: 1 }, { visited: ["x"] }], goto: ["a", Send.make("work", { x: 1 })] })
      )
    ).toEqualTypeOf<Run>()
    expectTypeOf(thread.resume([Approve.reply(true), Choose.reply(1)], { update: { total: 1 }, goto: "a" }))
      .toEqualTypeOf<Run>()
    const resume = Command.resume(Approve.reply(true), {
      update: [{ total: 1 }],
      goto: ["a", Send.make("work", { x: 1 })]
    })
    const modes = ["custom"] as const
    for (
      const stream of [
        thread.stream({}, { modes }),
        thread.stream(resume, { modes }),
        thread.stream(Command.continue, { modes }),
        thread.stream(Command.start({ total: 1 }, { key: "k" }), { modes, durability: "exit" }),
        thread.stream(Command.make({ goto: END }), { modes, pending: "discard" })
      ]
    ) {
      expectTypeOf(stream).toEqualTypeOf<
        Stream.Stream<
          Event.Custom<Event.Root> | Event.Paused,
          Effect.Error<Run>,
          Checkpointer.Checkpointer
        >
      >()
    }
  })
  it("has a type of its own", () => {
    const run = (input: Thread.InputOf<ThreadOf>) => thread.events(input, { modes: ["values"] })
    expectTypeOf<Parameters<typeof run>[0]>().toExtend<object>()
    run({ total: 1 })
    run(Command.continue)
    run(Command.resume(Choose.reply(1), { goto: "a" }))
    // @ts-expect-error a graph has no such node
    run(Command.make({ goto: "nowhere" }))
    // @ts-expect-error a boolean is the answer
    run(Command.resume({ ...Approve.reply(true), answer: "yes" }))
  })
  it("is not checked where the thread's types are not known", () => {
    // oxlint-disable-next-line typescript/no-explicit-any
    const erased = thread as unknown as Thread.Thread<any, any, never, never, any>
    erased.invoke({ anything: 1 })
    erased.invoke(Command.make({ update: { anything: 1 }, goto: "anywhere" }))
    erased.resume(Approve.reply(true), { goto: "anywhere" })
    erased.update({ anything: 1 }, { asNode: "anyone" })
  })
})

describe("updates", () => {
  it("are what a node returns, as a node there is", () => {
    type Updated = Effect.Effect<string, Thread.UpdateError, Checkpointer.Checkpointer>
    expectTypeOf(thread.update({ total: 1 }, { asNode: "a" })).toEqualTypeOf<Updated>()
    expectTypeOf(thread.update([{ total: 1 }, { visited: ["x"] }])).toEqualTypeOf<Updated>()
    expectTypeOf(thread.update(undefined, { asNode: END })).toEqualTypeOf<Updated>()
    expectTypeOf(thread.update(Command.make({ update: { total: 1 }, goto: "a" }))).toEqualTypeOf<Updated>()
    expectTypeOf(
      thread.updateAll([
        [{ values: { total: 1 }, asNode: "__input__" }],
        [{ values: [{ total: 1 }], asNode: "a" }, {
          values: Command.make({ update: { visited: ["x"] }, goto: Send.make("work", { x: 1 }) }),
          asNode: "ask"
        }, { values: Command.make({ update: { visited: ["x"] } }) }]
      ])
    ).toEqualTypeOf<Updated>()
  })
})

describe("errors", () => {
  it("of an operation are those that it can fail with", () => {
    const all = () => Effect.succeed("handled" as const)
    const stored = {
      CheckpointError: all,
      GraphChanged: all,
      UnknownThread: all,
      UnknownCheckpoint: all,
      InvalidArgument: all
    }
    const branched = { ...stored, ThreadConflict: all, ThreadDeleted: all }
    expectTypeOf(Effect.catchTags(thread.history(), stored)).toEqualTypeOf<
      Effect.Effect<"handled" | Effect.Success<ReturnType<ThreadOf["history"]>>, never, Checkpointer.Checkpointer>
    >()
    expectTypeOf(Effect.catchTags(thread.state(), { ...stored, InvalidUpdate: all })).toEqualTypeOf<
      Effect.Effect<"handled" | Effect.Success<ReturnType<ThreadOf["state"]>>, never, Checkpointer.Checkpointer>
    >()
    expectTypeOf(Effect.catchTags(thread.fork(), branched)).toEqualTypeOf<
      Effect.Effect<string, never, Checkpointer.Checkpointer>
    >()
    const updated = { ...branched, InvalidUpdate: all, UnknownRoute: all, UnknownNode: all, AmbiguousUpdate: all }
    expectTypeOf(Effect.catchTags(thread.update({}), updated)).toEqualTypeOf<
      Effect.Effect<string, never, Checkpointer.Checkpointer>
    >()
    expectTypeOf(Effect.catchTags(thread.updateAll([]), updated)).toEqualTypeOf<
      Effect.Effect<string, never, Checkpointer.Checkpointer>
    >()
    const refused = () => Effect.void
    expectTypeOf(Effect.catchTags(thread.delete, { CheckpointError: refused, InvalidArgument: refused })).toEqualTypeOf<
      Effect.Effect<void, never, Checkpointer.Checkpointer>
    >()
  })
})

describe("interrupts", () => {
  it("are shown with the payload of their tag, by the thread and by each task", () => {
    type Shown = Effect.Success<ReturnType<ThreadOf["state"]>>
    expectTypeOf<Shown["requests"][number]>().toEqualTypeOf<
      Checkpoint.PendingRequest<"Approve", string> | Checkpoint.PendingRequest<"Choose", { readonly n: number }>
    >()
    expectTypeOf<Shown["tasks"][number]["requests"]>().toEqualTypeOf<Shown["requests"]>()
    expectTypeOf<Effect.Success<ReturnType<ThreadOf["history"]>>[number]>().toEqualTypeOf<Shown>()
    const payload = ([request]: Shown["requests"]) => {
      if (request?.tag === "Choose") expectTypeOf(request.payload).toEqualTypeOf<{ readonly n: number }>()
    }
    expectTypeOf(payload).returns.toBeVoid()
    const plain = inner.thread("t")
    expectTypeOf<Effect.Success<ReturnType<typeof plain["state"]>>["requests"]>().toEqualTypeOf<ReadonlyArray<never>>()
  })
  it("tell what they show and what answers them", () => {
    expectTypeOf<Interrupt.Payload<typeof Choose>>().toEqualTypeOf<{ readonly n: number }>()
    expectTypeOf<Interrupt.Answer<typeof Choose>>().toEqualTypeOf<number>()
  })
})

describe("events", () => {
  type Emitted<S> = S extends Stream.Stream<infer A, unknown, unknown> ? A : never

  it("of the graph itself have its types and an empty path", () => {
    const stream = thread.stream({}, { modes: ["values", "updates"] })
    type Event_ = Emitted<typeof stream>
    expectTypeOf<Extract<Event_, { readonly mode: "values" }>>().toEqualTypeOf<Event.Values<Values, Event.Root>>()
    expectTypeOf<Extract<Event_, { readonly mode: "updates"; readonly node: "work" }>["update"]>().toEqualTypeOf<
      { total: number }
    >()
    expectTypeOf<Event_["path"]>().toEqualTypeOf<Event.Root>()
  })
  it("of a run's end bring its result", () => {
    const stream = thread.stream({}, { modes: ["lifecycle"] })
    expectTypeOf<Emitted<typeof stream>>().toEqualTypeOf<Event.Lifecycle | Event.Completed<Values> | Event.Paused>()
    Stream.map(stream, (event) => event.mode === "lifecycle" && event.type === "completed" ? event.output.total : 0)
  })
  it("show of a node what it writes, as it goes up", () => {
    type Update<S, Name> = Emitted<S> extends infer A ? A extends Event.Updates<Name & string, infer U> ? U : never
      : never
    const leaves = StateGraph.make(
      "leaves",
      StateGraph.nodes(Demo, { d: () => Command.parent({ update: { total: 1 }, goto: "list" }) }),
      { start: "d" }
    )
    const outer = StateGraph.make(
      "outer",
      StateGraph.nodes(Demo, {
        inner,
        leaves,
        list: () => [{ total: 1 }, Command.make({ update: { visited: ["x"] } })],
        calls: (s) => Effect.as(leaves.call(s), { total: 2 }),
        nothing: () => Effect.void
      }),
      { start: "inner" }
    )
    const stream = outer.stream({ total: 1 }, { modes: ["updates"] })
    type Up = {
      readonly total?: number
      readonly visited?: ReadonlyArray<string> | Channel.Overwrite<ReadonlyArray<string>>
    }
    expectTypeOf<Update<typeof stream, "inner">>().toEqualTypeOf<Up | ReadonlyArray<Up>>()
    expectTypeOf<Update<typeof stream, "leaves">>().toEqualTypeOf<Up | ReadonlyArray<Up>>()
    type Listed = { readonly total?: number; readonly visited?: Array<string> }
    expectTypeOf<Update<typeof stream, "list">>().toEqualTypeOf<Listed | ReadonlyArray<Listed>>()
    type Called = { readonly total?: number }
    expectTypeOf<Update<typeof stream, "calls">>().toEqualTypeOf<{ total: number } | Called | ReadonlyArray<Called>>()
    expectTypeOf<Update<typeof stream, "nothing">>().toEqualTypeOf<undefined>()
  })
  it("of graphs inside have types that are not known", () => {
    const stream = thread.stream({}, { modes: ["values", "updates", "checkpoints"], subgraphs: true })
    type Event_ = Exclude<Emitted<typeof stream>, Event.Paused>
    type Values_ = Extract<Event_, { readonly mode: "values" }>
    expectTypeOf<Values_>().toEqualTypeOf<
      Event.Values<Values, Event.Root> | Event.Values<Readonly<Record<string, unknown>>, Event.Inside>
    >()
    const read = (event: Event_): number | unknown => {
      if (Event.isRoot(event)) {
        expectTypeOf(event.path).toEqualTypeOf<Event.Root>()
        if (event.mode === "updates") return event.node === "a" ? event.update.total : event.node
        return event.values.total
      }
      expectTypeOf(event.path).toEqualTypeOf<Event.Inside>()
      if (event.mode === "updates") {
        expectTypeOf(event.update).toEqualTypeOf<unknown>()
        return event.update
      }
      expectTypeOf(event.values).toEqualTypeOf<Readonly<Record<string, unknown>>>()
      return event.values["total"]
    }
    expectTypeOf(read).toBeFunction()
    // @ts-expect-error an event of a graph inside may show another state
    Stream.map(stream, (event) => event.mode === "values" ? event.values.total + 1 : 0)
  })
  it("are perhaps of graphs inside where it is not known whether they are shown", () => {
    const stream = (subgraphs: boolean) => inner.stream({ total: 1 }, { modes: ["values"], subgraphs })
    expectTypeOf<Emitted<ReturnType<typeof stream>>>().toEqualTypeOf<
      Event.Values<Values, Event.Root> | Event.Values<Readonly<Record<string, unknown>>, Event.Inside>
    >()
    const own = Stream.filter(stream(true), Event.isRoot)
    expectTypeOf<Emitted<typeof own>>().toEqualTypeOf<Event.Values<Values, Event.Root>>()
  })
})
