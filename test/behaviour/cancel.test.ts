/** Ending a run from outside: everything it started ends first, and the thread can go on. */
import { assert, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Channel, Checkpointer, Command, Interrupt, Node, Running, Send, State, StateGraph } from "superstep"
import { rest } from "./Clocks.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Confirm extends Interrupt.make("Confirm", { payload: Schema.String, answer: Schema.String }) {}

/** Sleeps in slices and notes each; its finalizer takes time, too. */
const slices = (log: Array<string>) => () =>
  Effect.onExit(
    Effect.as(Effect.repeat(Effect.andThen(Effect.sleep(5), Effect.sync(() => log.push("slice"))), { times: 1000 }), {
      log: ["b"]
    }),
    () => Effect.andThen(Effect.sleep(1), Effect.sync(() => log.push("finalizer")))
  )

const twoSteps = (log: Array<string>) =>
  StateGraph.make("two", StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: slices(log) }), {
    start: "a",
    edges: { a: "b" }
  })

it.effect("I1 interrupting a run stops its node, waits for its finalizers, and leaves the thread at its last commit", () =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const thread = twoSteps(log).thread("t")
    const fiber = yield* Effect.forkChild(thread.invoke({}))
    yield* rest
    yield* TestClock.adjust(12)
    yield* rest
    const stop = yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* rest
    assert.isUndefined(stop.pollUnsafe())
    yield* TestClock.adjust(1)
    yield* Fiber.join(stop)
    assert.deepStrictEqual(log, ["slice", "slice", "finalizer"])
    yield* TestClock.adjust(100)
    assert.deepStrictEqual(log, ["slice", "slice", "finalizer"])
    const state = yield* thread.state()
    assert.deepStrictEqual([state.values.log, state.next], [["a"], ["b"]])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.live("I1 and so does an AbortSignal", () =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const saver = yield* Checkpointer.makeMemory
    const thread = twoSteps(log).thread("t")
    const controller = new AbortController()
    const started = Effect.runPromiseExit(Effect.provideService(thread.invoke({}), Checkpointer.Checkpointer, saver), {
      signal: controller.signal
    })
    yield* Effect.repeat(Effect.sleep(1), { until: () => log.length > 0 })
    controller.abort()
    const exit = yield* Effect.promise(() => started)
    assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    assert.strictEqual(log[log.length - 1], "finalizer")
    const count = log.length
    yield* Effect.sleep(20)
    assert.strictEqual(log.length, count)
    assert.deepStrictEqual((yield* Effect.provideService(thread.state(), Checkpointer.Checkpointer, saver)).next, ["b"])
  }))

it.effect("I1 and so does each timeout: of a node, a superstep, and the run", () =>
  Effect.gen(function*() {
    const run = Effect.fnUntraced(
      function*(
        id: string,
        invoke: (log: Array<string>) => Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>
      ) {
        const log: Array<string> = []
        const fiber = yield* Effect.forkChild(Effect.exit(invoke(log)))
        yield* rest
        yield* TestClock.adjust(12)
        yield* rest
        assert.isUndefined(fiber.pollUnsafe(), id)
        yield* TestClock.adjust(1)
        const exit = yield* Fiber.join(fiber)
        assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual([id, log], [id, ["slice", "slice", "finalizer"]])
        yield* TestClock.adjust(100)
        assert.strictEqual(log.length, 3)
      }
    )
    yield* run("superstep", (log) => twoSteps(log).thread("superstep").invoke({}, { superstepTimeout: 12 }))
    yield* run("run", (log) => twoSteps(log).thread("run").invoke({}, { runTimeout: 12 }))
    yield* run("attempt", (log) =>
      StateGraph.make("g", StateGraph.nodes(Log, { b: Node.make({ input: Log, run: slices(log), timeout: 12 }) }), {
        start: "b"
      }).thread("attempt").invoke({}))
    yield* run("send", (log) =>
      StateGraph.make(
        "g",
        StateGraph.nodes(Log, {
          a: () =>
            Command.make({ goto: Send.make("b", { log: [] }, { timeout: 12 }) }),
          b: Node.make({ input: Log, run: slices(log) })
        }),
        { start: "a" }
      )
        .thread("send").invoke({}))
    yield* run("outside", (log) =>
      Effect.timeout(twoSteps(log).thread("outside").invoke({}), 12))
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

behaves("L20 dropping a stream ends the run: every task, in every graph inside", () =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const waits = (name: string) => () =>
      Effect.onExit(Effect.andThen(Running.emit(name), Effect.as(Effect.never, { log: [name] })), () =>
        Effect.andThen(Effect.yieldNow, Effect.sync(() => log.push(`${name} ended`))))
    const inner = StateGraph.make("inner", StateGraph.nodes(Log, { x: waits("x"), y: waits("y") }), {
      start: ["x", "y"]
    })
    const child = StateGraph.make("child", StateGraph.nodes(Log, { pre: () => ({ log: ["pre"] }), inner }), {
      start: "pre",
      edges: { pre: "inner" }
    })
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        child,
        side: waits("side"),
        calls: () =>
          Effect.map(inner.call({}), ({ log }) => ({ log }))
      }),
      {
        start: ["child", "side", "calls"]
      }
    )
    const thread = graph.thread("t")
    const seen = yield* Stream.runCollect(Stream.take(thread.stream({}, { modes: ["custom"], subgraphs: true }), 5))
    assert.strictEqual(seen.length, 5)
    assert.deepStrictEqual([...log].sort(), ["side ended", "x ended", "x ended", "y ended", "y ended"])
    const state = yield* thread.state()
    assert.deepStrictEqual(state.next, ["calls", "child", "side"])
    assert.deepStrictEqual((yield* thread.at(["child"]).state()).next, ["inner"])
  }))

behaves(
  "L20 an interrupted run goes on where it stood, without what its finished tasks had done",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      let gate = yield* Deferred.make<void>()
      let waits = true
      const graph = StateGraph.make(
        "g",
        StateGraph.nodes(Log, {
          a: () =>
            Effect.sync(() => {
              runs.push("a")
              return { log: ["a"] }
            }),
          b: () =>
            Effect.suspend(() => {
              runs.push("b")
              return waits
                ? Effect.andThen(Deferred.succeed(gate, undefined), Effect.never)
                : Effect.succeed({ log: ["b"] })
            }),
          end: () => ({ log: ["end"] })
        }),
        { start: ["a", "b"], edges: { a: StateGraph.join("end"), b: StateGraph.join("end") } }
      )
      for (const durability of ["sync", "async", "exit"] as const) {
        waits = true
        runs.length = 0
        gate = yield* Deferred.make<void>()
        const thread = graph.thread(durability)
        const fiber = yield* Effect.forkChild(thread.invoke({}, { durability }))
        yield* Effect.andThen(Deferred.await(gate), rest)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual((yield* thread.state()).next, ["b"])
        waits = false
        assert.deepStrictEqual(yield* thread.continue({ durability }), { log: ["a", "b", "end"] })
        assert.deepStrictEqual(runs, ["a", "b", "b"])
      }
    })
)

behaves("L20 a commit that has begun is not torn by an interruption", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const begun = yield* Deferred.make<void>()
    const gate = yield* Deferred.make<void>()
    const slow = Checkpointer.Checkpointer.of({
      ...saver,
      commit: (thread, commit) =>
        commit.checkpoint.step === 1
          ? Effect.andThen(
            Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(gate)),
            saver.commit(thread, commit)
          )
          : saver.commit(thread, commit)
    })
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: () => Effect.as(Effect.never, { log: ["b"] }) }),
      { start: "a", edges: { a: "b" } }
    )
    const thread = graph.thread("t")
    const fiber = yield* Effect.forkChild(Effect.provideService(thread.invoke({}), Checkpointer.Checkpointer, slow))
    yield* Deferred.await(begun)
    const stop = yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* rest
    assert.isUndefined(stop.pollUnsafe())
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.join(stop)
    assert.deepStrictEqual((yield* thread.state()).values.log, ["a"])
  }))

behaves(
  "L20 interrupting a waiting answer leaves the answer taken: the thread goes on without it being asked again",
  () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      let waits = true
      const graph = StateGraph.make(
        "g",
        StateGraph.nodes(Log, {
          ask: Effect.fnUntraced(function*() {
            const answer = yield* Confirm.ask("?")
            if (waits) yield* Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
            return { log: [answer] }
          })
        }),
        { start: "ask" }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}))
      const fiber = yield* Effect.forkChild(thread.resume(Confirm.reply("yes")))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      waits = false
      assert.deepStrictEqual((yield* thread.state()).requests, [])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["yes"] })
    })
)

it.live("R1 a hundred steps, a fan-out of fifty and graphs inside, a thousand runs on one signal: no warning, no listener left", () =>
  Effect.gen(function*() {
    const warnings: Array<string> = []
    const onWarning = (warning: Error) => void warnings.push(warning.message)
    process.on("warning", onWarning)
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, { n: () => Effect.as(Effect.yieldNow, { log: ["n"] }) }),
      { start: "n" }
    )
    class Work extends State.make({ n: Schema.Int, log: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Work, {
        loop: (s) => ({ n: s.n + 1 }),
        fan: () => Command.make({ goto: Array.from({ length: 50 }, () => Send.make("child", { log: [] })) }),
        child
      }),
      {
        start: "loop",
        edges: { loop: StateGraph.route(["loop", "fan"], (s: State.Type<typeof Work>) => s.n < 100 ? "loop" : "fan") }
      }
    )
    const tiny = StateGraph.make(
      "tiny",
      StateGraph.nodes(Log, { n: () => Effect.as(Effect.yieldNow, { log: ["n"] }) }),
      { start: "n" }
    )
    const controller = new AbortController()
    let listeners = 0
    const { signal } = controller
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
    signal.addEventListener = ((...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }) as typeof add
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }) as typeof remove
    const out = yield* Effect.promise(() => Effect.runPromise(graph.invoke({ n: 0 }), { signal }))
    assert.strictEqual(out.log.length, 50)
    yield* Effect.promise(async () => {
      for (let batch = 0; batch < 20; batch++) {
        await Promise.all(Array.from({ length: 50 }, () => Effect.runPromise(tiny.invoke({}), { signal })))
      }
    })
    yield* Effect.sleep(5)
    process.off("warning", onWarning)
    assert.deepStrictEqual([warnings, listeners], [[], 0])
  }).pipe(Effect.provide(Layer.empty)))
