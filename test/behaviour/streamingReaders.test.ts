/** When the events of a run are seen: after their commit, as they happen; readers that are slow or leave. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Queue, Scheduler, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Checkpointer, type Event, GraphError, Node, Running, Send, StateGraph } from "superstep"
import { inside, line, Log, robot } from "./Events.ts"
import { collect, paused } from "./Pauses.ts"
import { behaves } from "./Savers.ts"
import { InStep } from "./Schedulers.ts"

// ---------------------------------------------------------------------------
// Commit order, readers that are slow or leave
// ---------------------------------------------------------------------------

behaves("L21 values and checkpoints of a graph inside, too, are seen after their commit", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const stored = new Set<string>()
    const noting = Checkpointer.Checkpointer.of({
      ...saver,
      commit: (thread, commit) =>
        Effect.tap(saver.commit(thread, commit), () =>
          Effect.sync(() => stored.add(`${commit.namespace} ${commit.checkpoint.step}`)))
    })
    let seen = 0
    yield* Stream.runForEach(
      inside("call").thread("t").stream({}, { modes: ["values", "checkpoints"], subgraphs: true }),
      (event) =>
        Effect.sync(() => {
          seen++
          assert.isTrue(stored.has(`${event.path.join("|")} ${event.step}`), line(event))
        })
    ).pipe(Effect.provideService(Checkpointer.Checkpointer, noting))
    assert.isAbove(seen, 15)
  }))

behaves(
  "L20 LG#110 a reader who leaves ends the run and what it has started; the thread stands at its last commit",
  () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const runs: Array<string> = []
      const hang = (name: string) => () =>
        Effect.onExit(
          Effect.andThen(Effect.sync(() => void runs.push(name)), Effect.never),
          () => Effect.sync(() => void ended.push(name))
        )
      let isHeld = true
      const graph = StateGraph.make(
        "left",
        StateGraph.nodes(Log, {
          first: () => ({ log: ["first"] }),
          tells: Effect.fnUntraced(function*() {
            yield* Running.emit("now")
            return isHeld ? yield* hang("tells")() : { log: ["tells"] }
          }),
          sibling: () => isHeld ? hang("sibling")() : Effect.succeed({ log: ["sibling"] }),
          after: () => {
            runs.push("after")
            return { log: ["after"] }
          }
        }),
        { start: "first", edges: { first: ["tells", "sibling"], tells: "after" } }
      )
      const thread = graph.thread("t")
      const events = yield* Stream.runCollect(Stream.take(thread.stream({}, { modes: ["custom"] }), 1))
      assert.strictEqual(events.length, 1)
      assert.deepStrictEqual(ended.toSorted(), runs.toSorted())
      assert.isTrue(runs.includes("tells") || runs.length < 2)
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values, state.next], [{ log: ["first"] }, ["sibling", "tells"]])
      isHeld = false
      assert.deepStrictEqual(yield* thread.continue(), { log: ["first", "sibling", "tells", "after"] })
      assert.deepStrictEqual(runs.filter((name) => name === "after"), ["after"])
    })
)

behaves(
  "O7 what a node does behind the reader's back does not go on when the reader stops",
  () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const effects: Array<string> = []
      const graph = StateGraph.make(
        "two",
        StateGraph.nodes(Log, {
          a: () => ({ log: ["a"] }),
          b: Effect.fnUntraced(function*() {
            yield* Deferred.succeed(started, undefined)
            for (let turn = 0; turn < 50; turn++) yield* Effect.yieldNow
            effects.push("b")
            return { log: ["b"] }
          })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const thread = graph.thread("t")
      yield* Stream.runForEach(Stream.take(thread.stream({}, { modes: ["updates"] }), 1), () => Effect.void)
      for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
      assert.deepStrictEqual(effects, [])
      assert.deepStrictEqual((yield* thread.state()).next, ["b"])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
      assert.deepStrictEqual(effects, ["b"])
    })
)

it.live("L21 a reader who is behind holds the run back: it is at most one buffer ahead", () =>
  Effect.gen(function*() {
    let emitted = 0
    const graph = StateGraph.make(
      "loud",
      StateGraph.nodes(Log, {
        node: () =>
          Effect.forEach(Array.from({ length: 500 }), () =>
            Effect.tap(Running.emit(emitted), () => Effect.sync(() => void emitted++)), { discard: true })
      }),
      { start: "node" }
    )
    let read = 0
    yield* Stream.runForEach(graph.stream({}, { modes: ["custom"] }), () =>
      Effect.gen(function*() {
        for (let turn = 0; turn < 5; turn++) {
          yield* Effect.yieldNow
        }
        read++
        // The buffer, what the reader has taken, and one that waits.
        assert.isAtMost(emitted - read, 64 + 64 + 2)
      }))
    assert.deepStrictEqual([emitted, read], [500, 500])
  }))

it.effect("L21 the time for which a run waits for its reader counts toward no timeout", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "waits",
      StateGraph.nodes(Log, {
        node: Node.make({
          input: Log,
          timeout: { attempt: "1 second", idle: "1 second" },
          run: () =>
            Effect.as(
              Effect.forEach(Array.from({ length: 300 }), (_, index) => Running.emit(index), { discard: true }),
              { log: ["done"] }
            )
        })
      }),
      { start: "node" },
      { runTimeout: "1 second", superstepTimeout: "1 second" }
    )
    const gate = yield* Latch.make(false)
    let read = 0
    const fiber = yield* Effect.forkChild(
      Stream.runForEach(
        graph.stream({}, { modes: ["custom"] }),
        () => Effect.andThen(gate.await, Effect.sync(() => void read++))
      )
    )
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(read, 0)
    yield* gate.open
    yield* Fiber.join(fiber)
    assert.strictEqual(read, 300)
  }))

it.effect("L21 nor does that of tasks which all found room for their events, when there was not room for all", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "crowd",
      StateGraph.nodes(Log, {
        start: () => ({}),
        tells: () => Effect.as(Running.emit("one"), {})
      }),
      {
        start: "start",
        edges: {
          start: StateGraph.route(["tells"], (state) => Array.from({ length: 200 }, () => Send.make("tells", state)))
        }
      },
      { runTimeout: "1 second" }
    )
    for (let operations = 3; operations <= 12; operations++) {
      const gate = yield* Latch.make(false)
      let read = 0
      const fiber = yield* Effect.forkChild(
        Stream.runForEach(
          graph.stream({}, { modes: ["custom"] }),
          () => Effect.andThen(gate.await, Effect.sync(() => void read++))
        ).pipe(Effect.provideService(Scheduler.Scheduler, new InStep(operations)))
      )
      // Until the tasks wait: that takes more turns than usual.
      yield* Effect.repeat(Effect.yieldNow, { times: 2_000 })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(read, 0)
      yield* gate.open
      yield* Fiber.join(fiber)
      assert.strictEqual(read, 200, `every ${operations} operations`)
    }
  }))

it.effect("LG#109 a superstep that hangs is ended in time: what finished was delivered, what hangs is ended, slow reader or not", () =>
  Effect.gen(function*() {
    let isEnded = false
    const graph = StateGraph.make(
      "hangs",
      StateGraph.nodes(Log, {
        hangs: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (isEnded = true))),
        quick: () => ({ log: ["quick"] })
      }),
      { start: ["hangs", "quick"] }
    )
    const thread = graph.thread("t")
    const seen = yield* Queue.unbounded<string>()
    const fiber = yield* Effect.forkChild(
      Effect.flip(
        Stream.runForEach(
          thread.stream({}, { modes: ["updates"], superstepTimeout: "1 second" }),
          (event) => Queue.offer(seen, line(event))
        )
      )
    )
    assert.strictEqual(yield* Queue.take(seen), "updates quick")
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual<unknown>(
      yield* Fiber.join(fiber),
      new GraphError.NodeTimeout({ kind: "superstep", nodes: ["hangs"], timeoutMillis: 1000, elapsedMillis: 1000 })
    )
    assert.isTrue(isEnded)
    const state = yield* thread.state()
    assert.deepStrictEqual([state.values, state.next], [{ log: ["quick"] }, ["hangs"]])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

behaves("LG#132 events are delivered while nodes still run, in a graph inside too", () =>
  Effect.gen(function*() {
    const seen = yield* Deferred.make<void>()
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        quick: () => ({ log: ["quick"] }),
        waits: () => Effect.as(Deferred.await(seen), { log: ["waits"] })
      }),
      { start: "quick", edges: { quick: "waits" } }
    )
    const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" })
    const lines: Array<string> = []
    // Ends only because the first event comes before the second node is done.
    yield* Stream.runForEach(graph.thread("t").stream({}, { modes: ["updates"], subgraphs: true }), (event) => {
      lines.push(line(event))
      return Deferred.succeed(seen, undefined)
    })
    assert.deepStrictEqual(lines, ["child: updates quick", "child: updates waits", "updates child"])
  }))

behaves(
  "L21 the result of a run is the same streamed or not, and a stream may be run again",
  () =>
    Effect.gen(function*() {
      const stream = robot.thread("t").events({}, { modes: ["updates"], pending: "discard" })
      const first = yield* collect(stream)
      const second = yield* collect(stream)
      assert.deepStrictEqual(first.map(line), ["updates robot", "paused 2"])
      assert.deepStrictEqual(second.map(line), ["updates robot", "paused 5"])
      yield* paused(robot.thread("u").invoke({}))
      assert.deepStrictEqual((yield* robot.thread("u").state()).values, { log: ["beep"] })
    })
)

behaves(
  "O9 folding the updates of one path gives the values of that path, at every superstep",
  () =>
    Effect.gen(function*() {
      const events = yield* collect(
        inside("call").thread("t").stream({ log: ["in"] }, { modes: ["updates", "values"], subgraphs: true })
      )
      const folded = new Map<string, ReadonlyArray<string>>()
      for (const event of events as ReadonlyArray<Event.Any>) {
        const path = event.path.join("/")
        if (event.mode === "updates") {
          const parts = (Array.isArray(event.update) ? event.update : [event.update]) as ReadonlyArray<
            { log: ReadonlyArray<string> }
          >
          folded.set(path, [...folded.get(path) ?? [], ...parts.flatMap(({ log }) => log)])
        }
        if (event.mode !== "values") continue
        const { log } = event.values as { readonly log: ReadonlyArray<string> }
        if (folded.has(path)) assert.deepStrictEqual(folded.get(path), log)
        else folded.set(path, log)
      }
      assert.deepStrictEqual(folded.get(""), ["in", "deep", "deep"])
    })
)
