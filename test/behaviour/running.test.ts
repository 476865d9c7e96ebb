/** The service of a running node: what it shows, and what becomes of a node that replaces it, or has one that no run gave it. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { Channel, Command, Entrypoint, Interrupt, Running, State, StateGraph, Task } from "superstep"
import { collect, paused, payloads } from "./Pauses.ts"
import { Ask, Log, logged, single } from "./Questions.ts"
import { behaves } from "./Savers.ts"

class Heard extends State.make({ heard: Channel.append(Schema.Json) }) {}

const double = Task.make("double", { input: Schema.Int, output: Schema.Int, run: (n) => n * 2 })
const flow = Entrypoint.make("flow", { input: Schema.Int, output: Schema.Int, run: (n) => double(n) })
const inner = StateGraph.make(
  "inner",
  StateGraph.nodes(Log, { node: () => Effect.map(Running.Running, ({ node }) => ({ log: [`inner ${node}`] })) }),
  { start: "node" }
)
const asking = single(() => logged(Ask.ask("inside?")), "asking")

/** Does everything that belongs to a run, and tells what came of it. */
const everything = Effect.gen(function*() {
  yield* Running.emit("begins")
  const one = yield* double(1)
  const both = yield* Task.all([double(2), flow.call(3, { key: "flow" })])
  const graph = yield* inner.call({ log: [] })
  // What catches a question hides no pause.
  const sure = yield* Effect.orElseSucceed(Ask.ask("sure?"), () => "swallowed")
  const deep = yield* asking.call({ log: [] })
  yield* Running.emit("ends")
  return [one, ...both, ...graph.log, sure, ...deep.log]
})

/** A graph whose node does everything with a `Running` of its own, and what was emitted there. */
const replacing = (by: (running: Running.RunningShape) => Running.RunningShape) =>
  StateGraph.make(
    "replacing",
    StateGraph.nodes(Heard, {
      node: () =>
        Effect.flatMap(Running.Running, (running) =>
          Effect.map(Effect.provideService(everything, Running.Running, by(running)), (heard) => ({ heard })))
    }),
    { start: "node" }
  )

/** What a test of a node alone may provide. */
const played: Running.RunningShape = {
  task: "pull:played",
  node: "played",
  step: 7,
  attempt: 1,
  firstAttemptMillis: 0,
  path: [],
  thread: undefined,
  run: "played",
  metadata: {},
  drained: undefined,
  checkpoint: undefined,
  remainingSteps: 1,
  emit: () => Effect.void,
  heartbeat: Effect.void,
  drain: () => Effect.void
}

/** What a node sees, and what is asked of it while the node runs. */
const seen = Effect.fnUntraced(function*<A>(look: (running: Running.RunningShape) => A) {
  const found: Array<A> = []
  const graph = StateGraph.make(
    "seen",
    StateGraph.nodes(Log, {
      node: () =>
        Effect.map(Running.Running, (running) => {
          found.push(look(running))
          return {}
        })
    }),
    { start: "node" }
  )
  yield* graph.invoke({})
  return found[0]!
})

describe("a node that replaces it", () => {
  const replies = ["yes", "deep"]
  const expected = [2, 4, 6, "inner node", ...replies]

  behaves(
    "by a copy with another emit, calls tasks and graphs and asks as before, and is heard there",
    () =>
      Effect.gen(function*() {
        const heard: Array<unknown> = []
        const emit = (data: unknown) => Effect.sync(() => void heard.push(data))
        const thread = replacing((running) => ({ ...running, emit })).thread("t")
        assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["sure?"])
        assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("yes")))), ["inside?"])
        const events = yield* collect(thread.events(Command.resume(Ask.reply("deep")), { modes: ["custom", "values"] }))
        assert.deepStrictEqual(events.map((event) => event.mode), ["values"])
        assert.deepStrictEqual((yield* thread.state()).values.heard, expected)
        assert.deepStrictEqual(heard, ["begins", "begins", "begins", "ends"])
      })
  )

  behaves(
    "by a value that knows nothing of the run, calls tasks and graphs and asks as before",
    () =>
      Effect.gen(function*() {
        const thread = replacing(() => played).thread("t")
        assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["sure?"])
        assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("yes")))), ["inside?"])
        assert.deepStrictEqual((yield* thread.resume(Ask.reply("deep"))).heard, expected)
      })
  )
})

describe("what it shows", () => {
  const names = Object.keys(played).sort()

  it.effect("is its fields, as those of a plain object: a copy has them all", () =>
    Effect.gen(function*() {
      const { copied, keys, own, values } = yield* seen((running) => ({
        copied: { ...running },
        keys: Reflect.ownKeys(running),
        own: ["step", "branch", "toString", "__proto__"].map((name) => [Object.hasOwn(running, name), name in running]),
        values: [running.task, running.node, running.step, running.path, String(running)]
      }))
      assert.deepStrictEqual([...keys].sort(), names)
      assert.deepStrictEqual(Object.keys(copied).sort(), names)
      assert.deepStrictEqual(own, [[true, true], [false, false], [false, true], [false, true]])
      assert.deepStrictEqual(values, ["pull:node", "node", 1, [], "[object Object]"])
      assert.deepStrictEqual([copied.task, copied.node, copied.step, copied.path], values.slice(0, -1))
      assert.match(copied.run, /^[-0-9a-f]{36}$/)
    }))

  it.effect("is read when it is asked for: a copy stays as it was", () =>
    Effect.gen(function*() {
      const drained = yield* seen((running) => {
        const copy = { ...running }
        Effect.runSync(running.drain("enough"))
        return [copy.drained, running.drained]
      })
      assert.deepStrictEqual(drained, [undefined, "enough"])
      const random = vi.spyOn(globalThis.crypto, "randomUUID")
      try {
        const made = yield* seen((running) => {
          const before = random.mock.calls.length
          const keys = Object.keys(running)
          const between = random.mock.calls.length
          return [keys.length, between - before, running.run, random.mock.calls.length - between]
        })
        assert.deepStrictEqual(made, [names.length, 0, made[2]!, 1])
      } finally {
        random.mockRestore()
      }
    }))

  it.effect("is not for the node to change", () =>
    Effect.gen(function*() {
      const changed = yield* seen((running) => [
        Reflect.set(running, "step", 5),
        Reflect.defineProperty(running, "step", { value: 5 }),
        Reflect.deleteProperty(running, "step"),
        Reflect.setPrototypeOf(running, null),
        Reflect.preventExtensions(running),
        running.step
      ])
      assert.deepStrictEqual(changed, [false, false, false, false, false, 1])
    }))
})

describe("with no run around it", () => {
  /** `Asks` stands for no service: a test of a node alone says so. */
  const alone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect as Effect.Effect<A, E, Exclude<R, Interrupt.Asks<Interrupt.AnyRequest>>>

  it.effect("a question fails with the request", () =>
    Effect.gen(function*() {
      const request = yield* Effect.flip(alone(Effect.provideService(Ask.ask("sure?"), Running.Running, played)))
      assert.instanceOf(request, Interrupt.Request)
      assert.deepStrictEqual([request.tag, request.payload], ["Ask", "sure?"])
    }))

  it.effect("a call of a task, a graph or an entrypoint fails typed", () =>
    Effect.gen(function*() {
      const calls: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, Running.Running>]> = [
        ["task", double(1)],
        ["task with a key", double(1, { key: "a" })],
        ["several tasks", Task.all([double(1)])],
        ["graph", inner.call({ log: [] })],
        ["entrypoint", flow.call(1)]
      ]
      for (const [what, call] of calls) {
        const error = yield* Effect.flip(Effect.provideService(call, Running.Running, played))
        assert.propertyVal(error, "_tag", "InvalidArgument", what)
        assert.propertyVal(error, "argument", "Running", what)
      }
    }))

  it.effect("and none provided, what asks or calls lacks the service", () =>
    Effect.gen(function*() {
      for (const effect of [Ask.ask("sure?"), double(1), Task.all([double(1)]), Running.emit(1)]) {
        const exit = yield* Effect.exit(effect as Effect.Effect<unknown, unknown>)
        assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /Service not found: superstep\/Running/)
      }
    }))
})
