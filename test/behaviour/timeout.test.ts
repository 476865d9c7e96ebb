/** Bounds on the time of attempts, supersteps and runs. */
import { assert, it } from "@effect/vitest"
import { Cause, Clock, Deferred, Effect, Exit, Fiber, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  Channel,
  Checkpointer,
  Command,
  GraphError,
  Interrupt,
  Node,
  Policy,
  Running,
  Send,
  State,
  StateGraph
} from "superstep"
import { rest, runOut } from "./Clocks.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Confirm extends Interrupt.make("Confirm", { payload: Schema.String, answer: Schema.String }) {}

type Body<E, R> = () => Effect.Effect<{ readonly log: ReadonlyArray<string> }, E, R>

const sleeps = (millis: number, log = "done") => () => Effect.as(Effect.sleep(millis), { log: [log] })

/** A graph of one node with a timeout. */
const one = <E>(
  timeout: Policy.TimeoutInput,
  run: Body<E, Running.Running | Interrupt.Asks<never>>,
  retry: ReadonlyArray<Policy.Retry> = []
) => {
  const node = Node.make({ input: Log, run, timeout, retry }) as unknown as Node.Node<
    Effect.Effect<{ readonly log: ReadonlyArray<string> }>
  >
  return StateGraph.make("one", StateGraph.nodes(Log, { node }), { start: "node" })
}

const late = (
  kind: GraphError.NodeTimeout["kind"],
  timeoutMillis: number,
  options?: { readonly elapsed?: number; readonly nodes?: ReadonlyArray<string> }
) =>
  new GraphError.NodeTimeout({
    kind,
    timeoutMillis,
    elapsedMillis: options?.elapsed ?? timeoutMillis,
    nodes: options?.nodes ?? ["node"]
  })

it.effect("I5 a node of an hour has no hidden limit", () =>
  Effect.gen(function*() {
    const hour = 3_600_000
    const graph = StateGraph.make("hour", StateGraph.nodes(Log, { node: sleeps(hour) }), { start: "node" })
    for (const options of [{}, { superstepTimeout: hour + 1 }, { runTimeout: "2 hours" }] as const) {
      const fiber = yield* Effect.forkChild(graph.invoke({}, options))
      yield* rest
      yield* TestClock.adjust(hour - 1)
      yield* rest
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(fiber), { log: ["done"] })
    }
  }))

it.effect("I5 a superstep timeout of a second fails with its kind, the node and the time", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("hour", StateGraph.nodes(Log, { node: sleeps(3_600_000) }), { start: "node" })
    assert.deepStrictEqual(yield* runOut(graph.invoke({}, { superstepTimeout: "1 second" })), {
      exit: Exit.fail(late("superstep", 1000)),
      millis: 1000
    })
  }))

it.effect("LG#168 one duration bounds each attempt", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* runOut(one(50, sleeps(49)).invoke({})), {
      exit: Exit.succeed({ log: ["done"] }),
      millis: 49
    })
    assert.deepStrictEqual(yield* runOut(one(50, sleeps(51)).invoke({})), {
      exit: Exit.fail(late("attempt", 50)),
      millis: 50
    })
    assert.deepStrictEqual(
      (yield* runOut(one({ attempt: "20 millis" }, sleeps(51)).invoke({}))).exit,
      Exit.fail(late("attempt", 20))
    )
  }))

it.effect("LG#168 a time of nothing or less is refused wherever one can be given", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("g", StateGraph.nodes(Log, { n: sleeps(1) }), { start: "n" })
    for (const millis of [0, -1]) {
      const refused = /longer than 0 ms/
      assert.throws(() => Policy.timeout(millis), refused)
      assert.throws(() => Policy.timeout({ idle: millis }), refused)
      assert.throws(() => Policy.timeout({ attempt: millis }), refused)
      assert.throws(() => Send.make("n", {}, { timeout: millis }), refused)
      assert.throws(() => Policy.cache({ ttl: millis }), refused)
      assert.match((yield* Effect.flip(graph.invoke({}, { superstepTimeout: millis }))).message, refused)
      assert.match((yield* Effect.flip(graph.invoke({}, { runTimeout: millis }))).message, refused)
      assert.throws(
        () => StateGraph.make("g", StateGraph.nodes(Log, { n: sleeps(1) }), { start: "n" }, { timeout: millis }),
        refused
      )
    }
  }))

// ---------------------------------------------------------------------------
// Idle
// ---------------------------------------------------------------------------

it.effect("LG#168 an idle timeout runs out that long after the last sign of progress", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* runOut(one({ idle: 30 }, () => Effect.never).invoke({})), {
      exit: Exit.fail(late("idle", 30)),
      millis: 30
    })
    const beats = (times: number, every: number) => () =>
      Effect.andThen(
        Effect.repeat(Effect.andThen(Effect.sleep(every), Running.heartbeat), { times: times - 1 }),
        Effect.never
      )
    // Not at the end of some period, but exactly then.
    assert.deepStrictEqual(yield* runOut(one({ idle: 30 }, beats(1, 10)).invoke({})), {
      exit: Exit.fail(late("idle", 30)),
      millis: 40
    })
    assert.deepStrictEqual(yield* runOut(one({ idle: 30 }, beats(4, 25)).invoke({})), {
      exit: Exit.fail(late("idle", 30)),
      millis: 130
    })
  }))

it.effect("LG#168 a heartbeat, an event and a graph called inside are progress", () =>
  Effect.gen(function*() {
    const steps = StateGraph.make("steps", StateGraph.nodes(Log, { a: sleeps(25), b: sleeps(25), c: sleeps(25) }), {
      start: "a",
      edges: StateGraph.sequence("a", "b", "c")
    })
    const deeper = StateGraph.make("deeper", StateGraph.nodes(Log, { steps }), { start: "steps" })
    const beating = StateGraph.make(
      "beating",
      StateGraph.nodes(Log, {
        n: () =>
          Effect.as(Effect.repeat(Effect.andThen(Effect.sleep(25), Running.heartbeat), { times: 3 }), { log: [] })
      }),
      { start: "n" }
    )
    const busy: ReadonlyArray<readonly [string, Body<unknown, Running.Running | Interrupt.Asks<never>>, number]> = [
      [
        "heartbeat",
        () => Effect.as(Effect.repeat(Effect.andThen(Effect.sleep(25), Running.heartbeat), { times: 3 }), { log: [] }),
        100
      ],
      [
        "event",
        () =>
          Effect.as(Effect.repeat(Effect.andThen(Effect.sleep(25), Running.emit("tick")), { times: 3 }), { log: [] }),
        100
      ],
      ["supersteps of a graph", () => Effect.as(steps.call({}), { log: [] }), 75],
      ["of a graph in a graph", () => Effect.as(deeper.call({}), { log: [] }), 75],
      ["heartbeats in a graph", () => Effect.as(beating.call({}), { log: [] }), 100]
    ]
    for (const [name, body, millis] of busy) {
      const ended = yield* runOut(one({ idle: 30 }, body).invoke({}))
      assert.deepStrictEqual([name, Exit.isSuccess(ended.exit), ended.millis], [name, true, millis])
    }
  }))

it.effect("LG#168 progress does not extend the time of an attempt", () =>
  Effect.gen(function*() {
    const beating = () =>
      Effect.andThen(Effect.forever(Effect.andThen(Effect.sleep(10), Running.heartbeat)), Effect.never)
    assert.deepStrictEqual(yield* runOut(one({ idle: 30, attempt: 100 }, beating).invoke({})), {
      exit: Exit.fail(late("attempt", 100)),
      millis: 100
    })
    assert.deepStrictEqual(yield* runOut(one({ idle: 30, attempt: 100 }, () => Effect.never).invoke({})), {
      exit: Exit.fail(late("idle", 30)),
      millis: 30
    })
  }))

it.effect("L21 waiting for a reader that is behind counts toward no timeout", () =>
  Effect.gen(function*() {
    const chatty = () =>
      Effect.as(Effect.forEach(Array.from({ length: 200 }, (_, n) => n), Running.emit, { discard: true }), {
        log: ["done"]
      })
    const options = { modes: ["custom"], superstepTimeout: 40, runTimeout: 50 } as const
    for (const timeout of [{ idle: 20 }, { attempt: 30 }]) {
      const read = Stream.runForEach(one(timeout, chatty).stream({}, options), () => Effect.sleep(10))
      const { exit, millis } = yield* runOut(read)
      assert.deepStrictEqual([exit, millis], [Exit.succeed(undefined), 2000])
    }
    // And time that passes otherwise still counts.
    const slow = () => Effect.andThen(chatty(), Effect.never)
    const ended = yield* runOut(
      Effect.flip(
        Stream.runForEach(one({ attempt: 30 }, slow).stream({}, { modes: ["custom"] }), () => Effect.sleep(10))
      )
    )
    assert.deepStrictEqual(Exit.isSuccess(ended.exit) && ended.exit.value, late("attempt", 30))
  }))

// ---------------------------------------------------------------------------
// What becomes of the attempt
// ---------------------------------------------------------------------------

it.effect("LG#168 a timed-out attempt cannot be swallowed by its node, and its finalizers have run before the failure is seen", () =>
  Effect.gen(function*() {
    const ends: Array<string> = []
    const stubborn = () =>
      Effect.catchCause(
        Effect.onInterrupt(Effect.as(Effect.never, { log: ["never"] }), () =>
          Effect.andThen(
            Effect.sleep(7),
            Effect.sync(() => ends.push("finalizer"))
          )),
        () => Effect.succeed({ log: ["swallowed"] })
      )
    const ended = yield* runOut(one(20, stubborn).invoke({}))
    assert.deepStrictEqual([ended, ends], [{ exit: Exit.fail(late("attempt", 20)), millis: 27 }, ["finalizer"]])
  }))

it.effect("LG#168 a defect in such a finalizer does not turn the timeout into a defect", () =>
  Effect.gen(function*() {
    const dirty = () => Effect.onInterrupt(Effect.never, () => Effect.die(new Error("finalizer")))
    assert.deepStrictEqual((yield* runOut(one(20, dirty).invoke({}))).exit, Exit.fail(late("attempt", 20)))
    const graph = StateGraph.make("g", StateGraph.nodes(Log, { node: dirty }), { start: "node" })
    assert.deepStrictEqual(
      (yield* runOut(graph.invoke({}, { superstepTimeout: 20 }))).exit,
      Exit.fail(late("superstep", 20))
    )
    assert.deepStrictEqual(
      (yield* runOut(graph.invoke({}, { runTimeout: 20 }))).exit,
      Exit.fail(late("run", 20, { nodes: ["node"] }))
    )
  }))

it.effect("LG#168 what a node does past its time leaves nothing behind, and its siblings keep theirs", () =>
  Effect.gen(function*() {
    let isSlow = true
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        a: () => ({ log: ["a"] }),
        b: Node.make({
          input: Log,
          run: () =>
            Effect.suspend(() =>
              isSlow ? Effect.uninterruptible(sleeps(50, "late")()) : Effect.succeed({ log: ["b"] })
            ),
          timeout: 20
        })
      }),
      { start: ["a", "b"] }
    )
    const thread = graph.thread("t")
    const ended = yield* runOut(thread.invoke({}))
    assert.deepStrictEqual(ended.exit, Exit.fail(late("attempt", 20, { nodes: ["b"] })))
    const state = yield* thread.state()
    assert.deepStrictEqual([state.values.log, state.next], [["a"], ["b"]])
    isSlow = false
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("L10 a timeout outranks a question that the attempt asked before", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        node: Node.make({
          input: Log,
          run: () => Effect.andThen(Effect.ignore(Confirm.ask("?")), sleeps(50)()),
          timeout: 20
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual((yield* runOut(thread.invoke({}))).exit, Exit.fail(late("attempt", 20)))
    assert.deepStrictEqual((yield* thread.state()).requests, [])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("LG#168 each attempt has its whole time again, and a timeout is retried like any failure", () =>
  Effect.gen(function*() {
    const policy = Policy.retry({ schedule: Schedule.spaced(5), maxAttempts: 3 })
    const run = () =>
      Effect.flatMap(Running.Running, ({ attempt }) => attempt < 3 ? Effect.never : sleeps(19, `attempt ${attempt}`)())
    assert.deepStrictEqual(yield* runOut(one(20, run, [policy]).invoke({})), {
      exit: Exit.succeed({ log: ["attempt 3"] }),
      millis: 69
    })
    assert.deepStrictEqual(yield* runOut(one(20, () => Effect.never, [policy]).invoke({})), {
      exit: Exit.fail(late("attempt", 20)),
      millis: 70
    })
    const only = Policy.retry<unknown>({
      schedule: Schedule.spaced(5),
      maxAttempts: 2,
      while: (error) => error instanceof GraphError.NodeTimeout && error.kind === "idle"
    })
    assert.strictEqual((yield* runOut(one({ attempt: 20 }, () => Effect.never, [only]).invoke({}))).millis, 20)
    assert.strictEqual((yield* runOut(one({ idle: 20 }, () => Effect.never, [only]).invoke({}))).millis, 45)
  }))

it.effect("LG#168 a Send may have a time of its own, which replaces that of the node", () =>
  Effect.gen(function*() {
    class Work extends State.make({ log: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make(
      "fan",
      StateGraph.nodes(Work, {
        go: () => Command.make({ goto: [Send.make("work", { n: 0 }, { timeout: 60 }), Send.make("work", { n: 1 })] }),
        work: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: ({ n }) => sleeps(n === 0 ? 50 : 10, String(n))(),
          timeout: 20
        })
      }),
      { start: "go" }
    )
    assert.deepStrictEqual(yield* runOut(graph.invoke({})), { exit: Exit.succeed({ log: ["0", "1"] }), millis: 50 })
    const shorter = StateGraph.make(
      "fan",
      StateGraph.nodes(Work, {
        go: () => Command.make({ goto: Send.make("work", { n: 0 }, { timeout: 5 }) }),
        work: Node.make({ input: Schema.Struct({ n: Schema.Int }), run: sleeps(10), timeout: 20 })
      }),
      { start: "go" }
    )
    const thread = shorter.thread("t")
    assert.deepStrictEqual((yield* runOut(thread.invoke({}))).exit, Exit.fail(late("attempt", 5, { nodes: ["work"] })))
    // The time is stored with the packet.
    assert.deepStrictEqual((yield* runOut(thread.continue())).exit, Exit.fail(late("attempt", 5, { nodes: ["work"] })))
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("LG#171 the time that a graph gives holds for nodes that have none of their own", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        a: Node.make({ input: Log, run: sleeps(50, "a"), timeout: 60 }),
        b: sleeps(50, "b")
      }),
      { start: "a", edges: { a: "b" } },
      { timeout: 30 }
    )
    assert.deepStrictEqual(yield* runOut(graph.invoke({})), {
      exit: Exit.fail(late("attempt", 30, { nodes: ["b"] })),
      millis: 80
    })
  }))

it.effect("LG#168 a timeout that a node makes for itself is its own failure", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("g", StateGraph.nodes(Log, { node: () => Effect.timeout(sleeps(50)(), 10) }), {
      start: "node"
    })
    const { exit } = yield* runOut(graph.invoke({}))
    assert.isTrue(
      Exit.isFailure(exit) &&
        exit.cause.reasons.every((reason) => Cause.isFailReason(reason) && Cause.isTimeoutError(reason.error))
    )
  }))

// ---------------------------------------------------------------------------
// Supersteps and runs
// ---------------------------------------------------------------------------

it.effect("I5 a superstep timeout names who was late, and keeps who was not", () =>
  Effect.gen(function*() {
    let isSlow = true
    const slow = (name: string) => () => Effect.suspend(() => isSlow ? Effect.never : Effect.succeed({ log: [name] }))
    const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: sleeps(5, "a"), b: slow("b"), c: slow("c") }), {
      start: ["a", "b", "c"]
    }, { superstepTimeout: 20 })
    const thread = graph.thread("t")
    const { exit, millis } = yield* runOut(thread.invoke({}))
    assert.deepStrictEqual([exit, millis], [Exit.fail(late("superstep", 20, { nodes: ["b", "c"] })), 20])
    assert.deepStrictEqual((yield* thread.state()).next, ["b", "c"])
    isSlow = false
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "c"] })
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("I5 each superstep has the whole time", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: sleeps(15, "a"), b: sleeps(15, "b") }), {
      start: "a",
      edges: { a: "b" }
    }, { superstepTimeout: 20 })
    assert.deepStrictEqual(yield* runOut(graph.invoke({})), { exit: Exit.succeed({ log: ["a", "b"] }), millis: 30 })
  }))

it.effect("L20 a run timeout ends the run wherever it is; the thread stands at its last commit and goes on", () =>
  Effect.gen(function*() {
    const ends: Array<string> = []
    const node = (name: string) => () =>
      Effect.onInterrupt(sleeps(15, name)(), () => Effect.sync(() => ends.push(`${name} interrupted`)))
    const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: node("a"), b: node("b") }), {
      start: "a",
      edges: { a: "b" }
    })
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* runOut(thread.invoke({}, { runTimeout: 20 })), {
      exit: Exit.fail(late("run", 20, { nodes: ["b"] })),
      millis: 20
    })
    assert.deepStrictEqual(ends, ["b interrupted"])
    const state = yield* thread.state()
    assert.deepStrictEqual([state.values.log, state.next], [["a"], ["b"]])
    assert.deepStrictEqual(yield* runOut(thread.continue({ runTimeout: 20 })), {
      exit: Exit.succeed({ log: ["a", "b"] }),
      millis: 15
    })
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("L20 the run timeout of a graph bounds it inside another, too", () =>
  Effect.gen(function*() {
    const child = StateGraph.make("child", StateGraph.nodes(Log, { a: sleeps(15, "a"), b: sleeps(15, "b") }), {
      start: "a",
      edges: { a: "b" }
    }, { runTimeout: 20 })
    const parent = StateGraph.make("parent", StateGraph.nodes(Log, { pre: sleeps(15, "pre"), child }), {
      start: "pre",
      edges: { pre: "child" }
    })
    assert.deepStrictEqual(yield* runOut(parent.invoke({})), {
      exit: Exit.fail(late("run", 20, { nodes: ["b"] })),
      millis: 35
    })
    const calls = StateGraph.make(
      "calls",
      StateGraph.nodes(Log, {
        node: () =>
          Effect.catch(
            Effect.as(child.call({}), { log: ["done"] }),
            (error) => Effect.succeed({ log: [error._tag === "NodeTimeout" ? error.kind : error._tag] })
          )
      }),
      { start: "node" }
    )
    assert.deepStrictEqual(yield* runOut(calls.invoke({})), { exit: Exit.succeed({ log: ["run"] }), millis: 20 })
  }))

it.effect("LG#168 the timeouts of nodes in a graph inside hold there", () =>
  Effect.gen(function*() {
    const child = one(20, sleeps(50))
    const parent = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" })
    assert.deepStrictEqual(yield* runOut(parent.invoke({})), { exit: Exit.fail(late("attempt", 20)), millis: 20 })
  }))

it.effect("L20 a run timeout while a commit is on its way waits for it: the thread is whole", () =>
  Effect.gen(function*() {
    const gate = yield* Deferred.make<void>()
    const saver = yield* Checkpointer.Checkpointer
    const slow = Checkpointer.Checkpointer.of({
      ...saver,
      commit: (thread, commit) =>
        commit.checkpoint.step === 1
          ? Effect.andThen(Deferred.await(gate), saver.commit(thread, commit))
          : saver.commit(thread, commit)
    })
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: () => ({ log: ["b"] }) }),
      { start: "a", edges: { a: "b" } }
    )
    const thread = graph.thread("t")
    const fiber = yield* Effect.forkChild(
      Effect.provideService(thread.invoke({}, { runTimeout: 10 }), Checkpointer.Checkpointer, slow)
    )
    yield* rest
    yield* TestClock.adjust(20)
    yield* rest
    assert.isUndefined(fiber.pollUnsafe())
    yield* Deferred.succeed(gate, undefined)
    assert.strictEqual((yield* Effect.flip(Fiber.join(fiber)))._tag, "NodeTimeout")
    assert.deepStrictEqual((yield* thread.state()).values.log, ["a"])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
    assert.isAbove(yield* Clock.currentTimeMillis, 0)
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

// ---------------------------------------------------------------------------
// What the time of a run covers
// ---------------------------------------------------------------------------

/** A saver on top of another, each of whose operations takes its time, or never ends. */
const slowed = (saver: Checkpointer.CheckpointerShape, millis: Partial<Record<"head" | "get" | "commit", number>>) => {
  const slow = <A, E>(operation: keyof typeof millis, effect: Effect.Effect<A, E>) =>
    Effect.delay(effect, millis[operation] ?? 0)
  return Checkpointer.Checkpointer.of({
    ...saver,
    head: (...args) => slow("head", saver.head(...args)),
    get: (...args) => slow("get", saver.get(...args)),
    commit: (...args) => slow("commit", saver.commit(...args))
  })
}

const steps = (millis = 0) =>
  StateGraph.make("steps", StateGraph.nodes(Log, { a: sleeps(millis, "a"), b: sleeps(millis, "b") }), {
    start: "a",
    edges: { a: "b" }
  })

it.effect("L20 a run timeout cuts a storage that does not answer while the run opens, and names no node", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const thread = steps().thread("t")
    yield* Effect.flip(thread.invoke({}, { before: ["b"] }))
    for (const operation of ["head", "get"] as const) {
      const hangs = slowed(saver, { [operation]: Infinity })
      const runs = [
        thread.continue({ runTimeout: 20 }),
        thread.invoke({}, { runTimeout: 20 }),
        thread.start({}, { runTimeout: 20 })
      ]
      for (const run of runs) {
        const ended = yield* runOut(Effect.provideService(run, Checkpointer.Checkpointer, hangs))
        assert.deepStrictEqual(ended, { exit: Exit.fail(late("run", 20, { nodes: [] })), millis: 20 })
      }
    }
    assert.include(late("run", 20, { nodes: [] }).message, "before any node ran")
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("L20 a run timeout cuts a storage that does not answer while a graph inside a task opens", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: () => ({ log: ["b"] }) }),
      { start: "a", edges: { a: "b" } },
      { before: ["b"], runTimeout: 15 }
    )
    const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
    yield* Effect.flip(thread.invoke({}))
    const hangs = Checkpointer.Checkpointer.of({
      ...saver,
      get: (thread, namespace, id) => namespace === "" ? saver.get(thread, namespace, id) : Effect.never
    })
    const run = (runTimeout: number) =>
      runOut(Effect.provideService(thread.continue({ runTimeout }), Checkpointer.Checkpointer, hangs))
    assert.deepStrictEqual(yield* run(10), { exit: Exit.fail(late("run", 10, { nodes: ["child"] })), millis: 10 })
    // The graph has a time of its own.
    assert.deepStrictEqual(yield* run(20), { exit: Exit.fail(late("run", 15, { nodes: [] })), millis: 15 })
    // Going back to a checkpoint of the graph begins with a branch, which is read for in the time of the run.
    const { checkpoint } = yield* thread.at(["child"]).state()
    const back = yield* runOut(
      Effect.provideService(
        thread.continue({ checkpoint, path: ["child"], runTimeout: 10 }),
        Checkpointer.Checkpointer,
        hangs
      )
    )
    assert.deepStrictEqual(back, { exit: Exit.fail(late("run", 10, { nodes: [] })), millis: 10 })
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("L20 the time of a run counts from its opening on, through the input, the supersteps and all that is stored", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const slow = slowed(saver, { head: 3, commit: 5 })
    const timed = (thread: string, runTimeout: number) =>
      runOut(
        Effect.provideService(steps(7).thread(thread).invoke({}, { runTimeout }), Checkpointer.Checkpointer, slow)
      )
    // Opening 3, input 5, start 5, two nodes of 7 with a commit of 5 each.
    assert.deepStrictEqual(yield* timed("whole", 38), { exit: Exit.succeed({ log: ["a", "b"] }), millis: 37 })
    assert.deepStrictEqual(yield* timed("opening", 2), { exit: Exit.fail(late("run", 2, { nodes: [] })), millis: 2 })
    assert.deepStrictEqual(yield* timed("node", 16), {
      exit: Exit.fail(late("run", 16, { nodes: ["a"] })),
      millis: 16
    })
    // What is being stored is stored first, and the failure says when the time was over.
    const { exit, millis } = yield* timed("commit", 22)
    assert.deepStrictEqual([exit._tag, millis], ["Failure", 25])
    const error = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : undefined
    const failure = error?._tag === "Some" && error.value instanceof GraphError.NodeTimeout ? error.value : undefined
    assert.deepStrictEqual([failure?.kind, failure?.elapsedMillis], ["run", 22])
    assert.deepStrictEqual((yield* steps().thread("commit").state()).values.log, ["a"])
    // Nothing is begun that would not be finished: the input is there, or it is not.
    const input = yield* timed("input", 5)
    assert.deepStrictEqual(input.millis, 8)
    assert.deepStrictEqual((yield* steps().thread("input").state()).next, ["__start__"])
    assert.deepStrictEqual(yield* steps().thread("input").continue(), { log: ["a", "b"] })
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.live("L20 a run timeout holds on a storage that is slow in real time", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const slow = slowed(saver, { head: 5, get: 5, commit: 40 })
    const thread = steps().thread("t")
    const error = yield* Effect.flip(
      Effect.provideService(thread.invoke({}, { runTimeout: 60 }), Checkpointer.Checkpointer, slow)
    )
    assert.strictEqual(error._tag === "NodeTimeout" ? error.kind : error._tag, "run")
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("L22 a timeout that bounds nothing is refused where it is made", () =>
  Effect.gen(function*() {
    const node = { input: Log, run: sleeps(1) }
    const made: ReadonlyArray<readonly [string, (millis: number) => unknown]> = [
      ["Send.make(\"x\"): a timeout", (timeout) => Send.make("x", {}, { timeout })],
      ["an attempt timeout", (timeout) => Policy.timeout(timeout)],
      ["an attempt timeout", (attempt) => Policy.timeout({ attempt })],
      ["an idle timeout", (idle) => Policy.timeout({ idle })],
      ["an attempt timeout", (timeout) => Node.make({ ...node, timeout })],
      ["a cache ttl", (ttl) => Policy.cache({ ttl })]
    ]
    for (const [what, make] of made) {
      for (const millis of [Number.NaN, 0, -1]) {
        assert.throws(() => make(millis), `${what} must be longer than 0 ms`)
      }
      assert.throws(() => make(Infinity), `${what} must be finite: leave it out for none`)
      make(1)
    }
    const nodes = StateGraph.nodes(Log, { node: sleeps(1) })
    for (const name of ["superstepTimeout", "runTimeout"]) {
      for (const value of [Number.NaN, 0, -1]) {
        const options = { [name]: value } as Policy.Limits
        const expected = `${name}: Expected a duration longer than 0 ms, got `
        assert.throws(() => StateGraph.make("g", nodes, { start: "node" }, options), expected)
        const refused = yield* Effect.flip(StateGraph.make("g", nodes, { start: "node" }).invoke({}, options))
        assert.include(refused.message, expected)
      }
    }
  }))
