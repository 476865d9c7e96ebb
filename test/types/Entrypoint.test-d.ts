import { Context, Effect, Schema, type Stream } from "effect"
import {
  type Checkpointer,
  Command,
  Entrypoint,
  type Event,
  type GraphError,
  Interrupt,
  type Running,
  Task
} from "superstep"
import { describe, expectTypeOf, it } from "vitest"

class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}
class Db extends Context.Service<Db, { readonly get: Effect.Effect<number> }>()("Db") {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}

const load = Task.make("load", {
  input: Schema.String,
  output: Schema.Int,
  run: Effect.fnUntraced(function*(id) {
    expectTypeOf(id).toEqualTypeOf<string>()
    const db = yield* Db
    return id === "" ? yield* new Broken() : yield* db.get
  })
})
const approve = Task.make("approve", {
  input: Schema.String,
  output: Schema.Boolean,
  run: (text) => Approve.ask(text)
})
const now = Task.make("now", { output: Schema.Int, run: () => 1 })

const flow = Entrypoint.make("flow", {
  input: Schema.String,
  output: Schema.Int,
  saved: Schema.Array(Schema.Int),
  run: Effect.fnUntraced(function*(id, previous) {
    expectTypeOf(previous).toEqualTypeOf<ReadonlyArray<number> | undefined>()
    const value = yield* load(id)
    const is = yield* approve(`${value}?`)
    return Entrypoint.final({ value: is ? value : 0, save: [value] })
  })
})
const plain = Entrypoint.make("plain", {
  input: Schema.Int,
  output: Schema.Int,
  run: (n, previous = 0) => n + previous
})

type Emitted<S> = S extends Stream.Stream<infer A, unknown, unknown> ? A : never

describe("a task", () => {
  it("takes and gives what its schemas say, fails with and needs what its function does", () => {
    expectTypeOf(load).parameter(0).toEqualTypeOf<string>()
    expectTypeOf(load("a")).toEqualTypeOf<
      Effect.Effect<number, Broken | GraphError.EngineError, Db | Running.Running>
    >()
    expectTypeOf(now()).toEqualTypeOf<Effect.Effect<number, GraphError.EngineError, Running.Running>>()
    // @ts-expect-error Argument of type 'number'
    void load(1)
    // @ts-expect-error Argument of type 'string'
    void now("a")
  })
  it("that commands the parent says so to the node that calls it, also through a function", () => {
    const steer = Task.make("steer", {
      input: Schema.Int,
      output: Schema.Int,
      run: () => Command.parent({ goto: "b" })
    })
    const through = Entrypoint.make("through", { input: Schema.Int, output: Schema.Int, run: (n) => steer(n) })
    const own = Entrypoint.make("own", {
      input: Schema.Int,
      output: Schema.Int,
      run: () => Command.parent({ goto: "b" })
    })
    type Steers = Extract<Effect.Error<ReturnType<typeof steer>>, GraphError.Steering<unknown>>
    expectTypeOf<Steers>().not.toEqualTypeOf<never>()
    expectTypeOf<Extract<Effect.Error<ReturnType<typeof through.call>>, GraphError.Steering<unknown>>>()
      .toEqualTypeOf<Steers>()
    expectTypeOf<Extract<Effect.Error<ReturnType<typeof own.call>>, GraphError.Steering<unknown>>>()
      .toEqualTypeOf<Steers>()
    expectTypeOf(own.invoke(1)).toEqualTypeOf<Effect.Effect<number, GraphError.EngineError>>()
    expectTypeOf(through.invoke(1)).toEqualTypeOf<Effect.Effect<number, GraphError.EngineError>>()
  })
  it("cannot give what its schema does not say", () => {
    // @ts-expect-error Type 'string' is not assignable
    Task.make("wrong", { input: Schema.Int, output: Schema.Int, run: () => "text" })
  })
  it("keeps the results of several apart", () => {
    const both = Task.all([load("a"), approve("b")])
    expectTypeOf<Effect.Success<typeof both>>().toEqualTypeOf<[number, boolean]>()
  })
})

describe("an entrypoint", () => {
  it("that can pause has no plain invoke", () => {
    // @ts-expect-error this entrypoint can pause: run it on a thread, .thread(id)
    void flow.invoke("a")
    const run = flow.thread("t").invoke("a")
    expectTypeOf<Effect.Success<typeof run>>().toEqualTypeOf<number>()
    expectTypeOf<Effect.Services<typeof run>>().toEqualTypeOf<Db | Checkpointer.Checkpointer>()
    type Error = Effect.Error<typeof run>
    expectTypeOf<Extract<Error, Broken>>().toEqualTypeOf<Broken>()
    expectTypeOf<Extract<Error, Interrupt.GraphInterrupt<Interrupt.AnyRequest>>["requests"][number]["tag"]>()
      .toEqualTypeOf<"Approve">()
    void flow.thread("t").resume(Approve.reply(true))
    // @ts-expect-error Argument of type
    void flow.thread("t").resume(Approve.reply("yes"))
  })
  it("that cannot, has", () => {
    expectTypeOf(plain.invoke(1)).toEqualTypeOf<Effect.Effect<number, GraphError.EngineError>>()
    // @ts-expect-error Argument of type 'string'
    void plain.invoke("a")
  })
  it("has to save what it says, or say what it saves", () => {
    // @ts-expect-error Type 'number' is not assignable
    Entrypoint.make("wrong", { input: Schema.Int, output: Schema.Int, saved: Schema.String, run: (n) => n })
    Entrypoint.make("right", {
      input: Schema.Int,
      output: Schema.Int,
      saved: Schema.String,
      run: (n) => Entrypoint.final({ value: n, save: String(n) })
    })
  })
  it("shows its state, and its events by mode", () => {
    const state = flow.thread("t").state()
    expectTypeOf<Effect.Success<typeof state>["values"]["__previous__"]>().toEqualTypeOf<
      ReadonlyArray<number> | undefined
    >()
    const events = plain.stream(1, { modes: ["updates"] })
    type Own = Extract<Emitted<typeof events>, { readonly path: Event.Root }>
    expectTypeOf<Own["update"]>().toEqualTypeOf<number>()
    expectTypeOf<Own["node"]>().toEqualTypeOf<"plain">()
    const ends = plain.stream(1, { modes: ["lifecycle"] })
    expectTypeOf<Extract<Emitted<typeof ends>, { readonly type: "completed" }>["output"]>().toEqualTypeOf<number>()
  })
  it("is called where its pause can be answered", () => {
    const call = flow.call("a")
    expectTypeOf<Effect.Services<typeof call>>().toEqualTypeOf<
      Db | Running.Running | Interrupt.Asks<Interrupt.Request<"Approve", string, boolean>>
    >()
  })
  it("is updated with what its function may give", () => {
    const thread = flow.thread("t")
    expectTypeOf(thread.update(Entrypoint.final({ value: 1, save: [1] }), { asNode: "flow" })).not.toBeNever()
    expectTypeOf(thread.update(Entrypoint.final({ value: 1, save: undefined }), { asNode: "flow" })).not.toBeNever()
    expectTypeOf(plain.thread("t").update(1, { asNode: "plain" })).not.toBeNever()
    // @ts-expect-error Type 'number' is not assignable
    void thread.update(1, { asNode: "flow" })
  })
})
