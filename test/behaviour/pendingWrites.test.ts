/** Half-finished supersteps: what had finished is kept and not run again, whatever ends the run. */
import { assert } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Latch, Number, Schedule, Schema } from "effect"
import {
  Channel,
  Checkpointer,
  Command,
  END,
  GraphError,
  Interrupt,
  Node,
  Policy,
  Send,
  State,
  StateGraph
} from "superstep"
import { collect, paused, payloads } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Value extends State.make({ value: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}
class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
class ConnectionError extends Schema.TaggedError<ConnectionError>()("ConnectionError", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
}

const durabilities = ["sync", "async", "exit"] as const

behaves(
  "LG#81 of two tasks one fails: the other's result is kept and seen, and only the failed one runs again",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      for (const durability of durabilities) {
        const calls = { one: 0, two: 0 }
        let isBroken = true
        const graph = StateGraph.make(
          "pending",
          StateGraph.nodes(Value, {
            one: () => {
              calls.one++
              return { value: 2 }
            },
            two: Node.make({
              input: Value,
              retry: Policy.retry({ schedule: Schedule.spaced(1), maxAttempts: 2 }),
              run: () =>
                Effect.suspend(() => {
                  calls.two++
                  return isBroken
                    ? Effect.fail(new ConnectionError({ text: "I'm not good" }))
                    : Effect.succeed({ value: 3 })
                })
            })
          }),
          { start: ["one", "two"] }
        )
        const thread = graph.thread(durability)
        assert.deepStrictEqual(
          yield* Effect.flip(thread.invoke({ value: 1 }, { durability })),
          new ConnectionError({ text: "I'm not good" })
        )
        assert.deepStrictEqual(calls, { one: 1, two: 2 })
        const state = yield* thread.state()
        assert.deepStrictEqual([state.values, state.next, state.step], [{ value: 3 }, ["two"], 0])
        assert.deepStrictEqual(state.tasks.map(({ error, node, result }) => [node, result, error]), [
          ["one", { value: [2] }, undefined],
          ["two", undefined, "ConnectionError: I'm not good"]
        ])
        // The checkpoint itself knows nothing of it.
        const [head] = yield* thread.history()
        assert.deepStrictEqual([head!.values, head!.next], [{ value: 1 }, ["one", "two"]])
        const saved = yield* saver.get(durability, "", head!.checkpoint)
        const rows = saved._tag === "Some"
          ? saved.value.tasks.filter(({ checkpoint }) => checkpoint === head!.checkpoint)
          : []
        assert.deepStrictEqual(rows.map(({ status, task }) => [task, status]).toSorted(), [["pull:one", "done"], [
          "pull:two",
          "failed"
        ]])
        assert.strictEqual((yield* Effect.flip(thread.continue({ durability })))._tag, "ConnectionError")
        assert.deepStrictEqual(calls, { one: 1, two: 4 })
        isBroken = false
        assert.deepStrictEqual(yield* thread.continue({ durability }), { value: 6 })
        assert.deepStrictEqual(calls, { one: 1, two: 5 })
        assert.strictEqual((yield* thread.history()).length, durability === "exit" ? 2 : 3)
      }
    })
)

behaves(
  "LG#84 a Send that is done beside a node that asks: its result is seen, kept, shown again, and kept by the end",
  () =>
    Effect.gen(function*() {
      let runs = 0
      const graph = StateGraph.make(
        "tools",
        StateGraph.nodes(Log, {
          tool_one: Node.make({
            input: Schema.Struct({ x: Schema.Int }),
            run: ({ x }) => {
              runs++
              return Effect.succeed({ log: [`one ${x}`] })
            }
          }),
          tool_two: () => Effect.map(Ask.ask("Just because..."), (answer) => ({ log: [answer] }))
        }),
        {
          start: StateGraph.route(
            ["tool_one", "tool_two"],
            () => ["tool_two" as const, Send.make("tool_one", { x: 1 })]
          )
        }
      )
      const thread = graph.thread("resumed")
      const [request] = yield* paused(thread.invoke({ log: ["value"] }))
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values, state.next], [{ log: ["value", "one 1"] }, ["tool_two"]])
      assert.deepStrictEqual(state.tasks.map(({ id, requests, result }) => [id, requests, result]), [
        ["pull:tool_two", [{ id: request!.id, tag: "Ask", payload: "Just because..." }], undefined],
        ["send:0000000000:tool_one", [], { log: [["one 1"]] }]
      ])
      const events = yield* collect(thread.stream(Command.resume(Ask.reply("two")), { modes: ["updates"] }))
      assert.deepStrictEqual<unknown>(events, [
        { mode: "updates", path: [], step: 1, node: "tool_one", update: { log: ["one 1"] }, cached: true },
        { mode: "updates", path: [], step: 1, node: "tool_two", update: { log: ["two"] }, cached: false }
      ])
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["value", "two", "one 1"] })
      const ended = graph.thread("ended")
      yield* paused(ended.invoke({ log: ["value"] }))
      yield* ended.update(undefined, { asNode: END })
      const after = yield* ended.state()
      assert.deepStrictEqual([after.values, after.next, after.source, after.step], [
        { log: ["value", "one 1"] },
        [],
        "update",
        1
      ])
      assert.strictEqual(runs, 2)
    })
)

behaves(
  "LG#87 of many tasks that Sends of Sends started, only the one that failed runs again",
  () =>
    Effect.gen(function*() {
      for (const durability of durabilities) {
        const ticks: Record<string, number> = {}
        const tick = (name: string) => ticks[name] = (ticks[name] ?? 0) + 1
        const Packet = Schema.Struct({ to: Schema.Literals(["2", "flaky", "none"]), x: Schema.Int })
        const graph = StateGraph.make(
          "dedupe",
          StateGraph.nodes(Log, {
            "1": () => {
              tick("1")
              return {
                log: ["1"]
              }
            },
            "2": Node.make({
              input: Packet,
              run: ({ to, x }) => {
                tick("2")
                const next = { to: "none", x } as const
                return Effect.succeed(
                  Command.make({
                    update: { log: [`2|${to}${x}`] },
                    goto: to === "none"
                      ? ["3"]
                      : to === "2"
                      ? ["3", Send.make("2", next)]
                      : ["3", Send.make("flaky", next)]
                  })
                )
              }
            }),
            flaky: Node.make({
              input: Packet,
              run: ({ x }) =>
                Effect.suspend(() =>
                  tick("flaky") < 2
                    ? Effect.fail(new ConnectionError({ text: "flaky" }))
                    : Effect.succeed({ log: [`flaky|${x}`] })
                )
            }),
            "3": () => {
              tick("3")
              return { log: ["3"] }
            },
            "3.1": () => {
              tick("3.1")
              return { log: ["3.1"] }
            }
          }),
          {
            start: "1",
            edges: {
              "1": StateGraph.route(["2", "3.1"], () => [
                Send.make("2", { to: "2" as const, x: 3 }),
                Send.make("2", { to: "flaky" as const, x: 4 }),
                "3.1" as const
              ])
            }
          },
          { onFailure: "settle" }
        )
        const thread = graph.thread(durability)
        assert.strictEqual((yield* Effect.flip(thread.invoke({ log: ["0"] }, { durability })))._tag, "ConnectionError")
        assert.deepStrictEqual(ticks, { "1": 1, "2": 3, "3": 1, "3.1": 1, flaky: 1 })
        assert.deepStrictEqual((yield* thread.state()).next, ["flaky"])
        assert.strictEqual((yield* thread.history()).length, durability === "exit" ? 1 : 4)
        assert.deepStrictEqual((yield* thread.continue({ durability })).log, [
          "0",
          "1",
          "3.1",
          "2|23",
          "2|flaky4",
          "3",
          "2|none3",
          "flaky|4",
          "3"
        ])
        assert.deepStrictEqual(ticks, { "1": 1, "2": 3, "3": 2, "3.1": 1, flaky: 2 })
        assert.strictEqual((yield* thread.history()).length, durability === "exit" ? 2 : 6)
      }
    })
)

behaves("LG#106 a run that is ended while a checkpoint is on its way stores it first", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    for (const durability of ["sync", "async"] as const) {
      const started = yield* Deferred.make<void>()
      const gate = yield* Latch.make(false)
      const slow = Checkpointer.Checkpointer.of({
        ...saver,
        commit: (thread, commit) =>
          commit.checkpoint.step < 1
            ? saver.commit(thread, commit)
            : Effect.andThen(
              Deferred.succeed(started, undefined),
              Effect.andThen(gate.await, saver.commit(thread, commit))
            )
      })
      const graph = StateGraph.make(
        "cancelled",
        StateGraph.nodes(Log, { a: () => ({ log: ["a"] }), b: () => Effect.never }),
        { start: "a", edges: { a: "b" } }
      )
      const thread = graph.thread(durability)
      const fiber = yield* Effect.forkChild(
        Effect.provideService(thread.invoke({}, { durability }), Checkpointer.Checkpointer, slow)
      )
      yield* Deferred.await(started)
      const stopping = yield* Effect.forkChild(Fiber.interrupt(fiber))
      for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
      assert.strictEqual((yield* thread.history()).length, 2)
      yield* gate.open
      yield* Fiber.join(stopping)
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values, state.next, (yield* thread.history()).length], [{ log: ["a"] }, ["b"], 3])
    }
  }))

behaves(
  "LG#107 a task that fails ends its sibling, and is what the run reports, whatever the sibling does when it ends",
  () =>
    Effect.gen(function*() {
      for (
        const onEnd of [
          Effect.void,
          Effect.die("in the finalizer"),
          Effect.fail("typed") as Effect.Effect<never, never>
        ]
      ) {
        const inside = yield* Deferred.make<void>()
        let ended = 0
        const graph = StateGraph.make(
          "cancels",
          StateGraph.nodes(Log, {
            awhile: () =>
              Effect.onInterrupt(
                Effect.andThen(Deferred.succeed(inside, undefined), Effect.never),
                () => Effect.andThen(Effect.sync(() => void ended++), onEnd)
              ),
            bad: () => Effect.andThen(Deferred.await(inside), Effect.fail(new ConnectionError({ text: "I am bad" })))
          }),
          { start: ["awhile", "bad"] }
        )
        const thread = graph.thread("t")
        yield* thread.delete
        const exit = yield* Effect.exit(thread.invoke({}))
        assert.isTrue(Exit.isFailure(exit) && exit.cause.reasons.every(Cause.isFailReason))
        assert.deepStrictEqual(yield* Effect.flip(exit), new ConnectionError({ text: "I am bad" }))
        assert.strictEqual(ended, 1)
        assert.deepStrictEqual((yield* thread.state()).next, ["awhile", "bad"])
      }
    })
)

behaves(
  "LG#117 what a task has produced is stored once: going on does not store it again",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const puts: Array<string> = []
      const noting = Checkpointer.Checkpointer.of({
        ...saver,
        putTasks: (thread, put) => {
          puts.push(...put.tasks.map(({ status, task }) => `put ${task} ${status}`))
          return saver.putTasks(thread, put)
        },
        commit: (thread, commit) => {
          puts.push(...commit.tasks.map(({ status, task }) => `commit ${task} ${status}`))
          return saver.commit(thread, commit)
        }
      })
      const graph = StateGraph.make(
        "once",
        StateGraph.nodes(Log, {
          done: () => ({ log: ["done"] }),
          asks: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))
        }),
        { start: ["done", "asks"] }
      )
      yield* Effect.gen(function*() {
        yield* paused(graph.thread("t").invoke({}))
        yield* paused(graph.thread("t").continue())
        yield* graph.thread("t").resume(Ask.reply("yes"))
      }).pipe(Effect.provideService(Checkpointer.Checkpointer, noting))
      assert.deepStrictEqual(puts.filter((put) => put.includes("pull:done")), ["put pull:done done"])
      assert.deepStrictEqual(puts.filter((put) => put.includes("pull:asks")), [
        "put pull:asks paused",
        "put pull:asks paused",
        "put pull:asks done"
      ])
    })
)

// ---------------------------------------------------------------------------
// Crashes
// ---------------------------------------------------------------------------

/** A saver that dies in place of a call, as if the process did. */
const dying = (saver: Checkpointer.CheckpointerShape, when: (call: "put" | "commit", step: number) => boolean) =>
  Checkpointer.Checkpointer.of({
    ...saver,
    putTasks: (thread, put) =>
      Effect.suspend(() => when("put", -2) ? Effect.die("killed") : saver.putTasks(thread, put)),
    commit: (thread, commit) =>
      Effect.suspend(() => when("commit", commit.checkpoint.step) ? Effect.die("killed") : saver.commit(thread, commit))
  })

behaves(
  "L13 tasks whose results were stored before a crash do not run again, the others run once more",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      for (
        const [name, when, again] of [
          ["before the commit", (call: string, step: number) => call === "commit" && step === 1, { one: 1, two: 1 }],
          ["before the results", (call: string) => call === "put", { one: 2, two: 2 }]
        ] as const
      ) {
        const runs = { one: 0, two: 0 }
        const graph = () =>
          StateGraph.make(
            "crash",
            StateGraph.nodes(Value, {
              one: () => {
                runs.one++
                return { value: 10 }
              },
              two: () => {
                runs.two++
                return { value: 100 }
              }
            }),
            { start: ["one", "two"] }
          )
        const exit = yield* Effect.exit(
          Effect.provideService(
            graph().thread(name).invoke({ value: 1 }),
            Checkpointer.Checkpointer,
            dying(saver, when)
          )
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.deepStrictEqual(yield* graph().thread(name).continue(), { value: 111 })
        assert.deepStrictEqual(runs, again)
      }
    })
)

behaves(
  "L13 a crash after an answer was stored and before its superstep was: the answer stands, and is used once",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const runs = { asks: 0, sibling: 0 }
      const graph = () =>
        StateGraph.make(
          "crash",
          StateGraph.nodes(Log, {
            asks: Effect.fnUntraced(function*() {
              runs.asks++
              return { log: [yield* Ask.ask("first?"), yield* Ask.ask("second?")] }
            }),
            sibling: () => {
              runs.sibling++
              return { log: ["sibling"] }
            },
            next: () => Effect.map(Ask.ask("third?"), (answer) => ({ log: [answer] }))
          }),
          { start: ["asks", "sibling"], edges: { asks: "next" } }
        )
      const thread = () => graph().thread("t")
      yield* paused(thread().invoke({}))
      yield* paused(thread().resume(Ask.reply("1")))
      const crashed = yield* Effect.exit(
        Effect.provideService(
          thread().resume(Ask.reply("2")),
          Checkpointer.Checkpointer,
          dying(saver, (call, step) => call === "commit" && step === 1)
        )
      )
      assert.isTrue(Exit.isFailure(crashed) && Cause.hasDies(crashed.cause))
      // Its result was stored with the answer: it does not run again.
      assert.deepStrictEqual(payloads(yield* paused(thread().continue())), ["third?"])
      assert.deepStrictEqual((yield* thread().state()).values, { log: ["1", "2", "sibling"] })
      assert.deepStrictEqual(runs, { asks: 3, sibling: 1 })
      assert.deepStrictEqual(yield* thread().resume(Ask.reply("3")), { log: ["1", "2", "sibling", "3"] })
    })
)

behaves("L13 a crash while the answer is being stored: the question still waits", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const graph = StateGraph.make(
      "crash",
      StateGraph.nodes(Log, { asks: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) }),
      {
        start: "asks"
      }
    )
    const thread = graph.thread("t")
    const [request] = yield* paused(thread.invoke({}))
    const crashed = yield* Effect.exit(
      Effect.provideService(
        thread.resume(Ask.reply("lost")),
        Checkpointer.Checkpointer,
        dying(saver, (call) => call === "put")
      )
    )
    assert.isTrue(Exit.isFailure(crashed) && Cause.hasDies(crashed.cause))
    assert.deepStrictEqual((yield* thread.state()).requests, [{ id: request!.id, tag: "Ask", payload: "?" }])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("kept")), { log: ["kept"] })
  }))

behaves(
  "L12 with all of several failing, the first in task order is reported, and all run again",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      let isBroken = true
      const node = (name: string) => () =>
        Effect.suspend(() => {
          runs.push(name)
          return isBroken ? Effect.fail(new ConnectionError({ text: name })) : Effect.succeed({ log: [name] })
        })
      const graph = StateGraph.make("all", StateGraph.nodes(Log, { c: node("c"), a: node("a"), b: node("b") }), {
        start: ["c", "b", "a"]
      }, {
        onFailure: "settle"
      })
      const thread = graph.thread("t")
      const exit = yield* Effect.exit(thread.invoke({}))
      const texts = Exit.isFailure(exit)
        ? exit.cause.reasons.map((reason) =>
          Cause.isFailReason(reason) && reason.error instanceof ConnectionError ? reason.error.text : "?"
        )
        : []
      assert.deepStrictEqual(texts, ["a", "b", "c"])
      assert.deepStrictEqual((yield* thread.state()).tasks.map(({ error }) => error), [
        "ConnectionError: a",
        "ConnectionError: b",
        "ConnectionError: c"
      ])
      isBroken = false
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "c"] })
      assert.strictEqual(runs.length, 6)
    })
)

behaves(
  "L12 results that do not fold together leave the superstep to be done, and the state says so",
  () =>
    Effect.gen(function*() {
      class One extends State.make({ one: Channel.lastValue(Schema.String, { initial: () => "" }) }) {}
      let isBroken = true
      const graph = StateGraph.make(
        "clash",
        StateGraph.nodes(One, {
          a: () => isBroken ? { one: "a" } : undefined,
          b: () => ({ one: "b" })
        }),
        { start: ["a", "b"] }
      )
      const thread = graph.thread("t")
      const error = yield* Effect.flip(thread.invoke({}))
      assert.strictEqual(error instanceof GraphError.InvalidUpdate ? error.reason : error._tag, "MultipleWrites")
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values, state.next, state.step], [{ one: "" }, ["a", "b"], 0])
      // What was stored is not run again, and does not fold the second time either: a way out is an update.
      isBroken = false
      assert.strictEqual((yield* Effect.flip(thread.continue()))._tag, "InvalidUpdate")
      yield* thread.update({ one: "by hand" }, { asNode: "a" })
      yield* thread.update(undefined, { asNode: END })
      assert.deepStrictEqual((yield* thread.state()).values, { one: "b" })
    })
)
