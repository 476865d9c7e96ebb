/** What becomes of a failure: handlers, siblings, and what a run reports. */
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schedule, Schema, Stream } from "effect"
import { Channel, Checkpointer, Command, Interrupt, Node, Policy, Send, State, StateGraph } from "superstep"
import { runOut } from "./Clocks.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", { who: Schema.String }) {}
class Confirm extends Interrupt.make("Confirm", { payload: Schema.String, answer: Schema.String }) {}

const broken = (who: string) => Effect.fail(new Broken({ who }))
const waitTurns = (times: number) => Effect.repeat(Effect.yieldNow, { times })
/** What a failed run reported, in order. */
const reported = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.map((reason) => Cause.isFailReason(reason) ? (reason.error as Broken).who : reason._tag)
    : "success"

// ---------------------------------------------------------------------------
// Handlers
// ---------------------------------------------------------------------------

it.effect("LG#170 a handler runs when no retry is left, with the failure and the input of the node", () =>
  Effect.gen(function*() {
    let attempts = 0
    const seen: Array<unknown> = []
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        bad: Node.make({
          input: Log,
          run: () =>
            Effect.suspend(() => {
              attempts++
              return broken(`attempt ${attempts}`)
            }),
          retry: Policy.retry({ schedule: Schedule.spaced(5), maxAttempts: 2 }),
          onError: (error, input) =>
            Effect.sync(() => {
              seen.push(error, input)
              return { log: [`handled ${error._tag === "Broken" ? error.who : error._tag}`] }
            })
        })
      }),
      { start: "bad" }
    )
    const { exit, millis } = yield* runOut(graph.invoke({ log: ["in"] }))
    assert.deepStrictEqual([exit, millis, attempts], [Exit.succeed({ log: ["in", "handled attempt 2"] }), 5, 2])
    assert.deepStrictEqual(seen, [new Broken({ who: "attempt 2" }), { log: ["in"] }])
  }))

behaves(
  "LG#170 the edges of the failed node do not fire; its handler goes on with a Command",
  () =>
    Effect.gen(function*() {
      const make = (goes: boolean) =>
        StateGraph.make(
          "g",
          StateGraph.nodes(Log, {
            bad: Node.make({
              input: Log,
              run: (s) => s.log.includes("fail") ? broken("bad") : Effect.succeed({ log: ["good"] }),
              onError: () =>
                Effect.succeed(
                  goes ? Command.make({ update: { log: ["handled"] }, goto: "rescue" }) : { log: ["handled"] }
                )
            }) as unknown as Node.Node<Effect.Effect<{ readonly log: ReadonlyArray<string> }>>,
            next: () => ({ log: ["next"] }),
            rescue: () => ({ log: ["rescue"] })
          }),
          { start: "bad", edges: { bad: "next" } }
        )
      assert.deepStrictEqual(yield* make(false).thread("a").invoke({ log: ["fail"] }), { log: ["fail", "handled"] })
      assert.deepStrictEqual(yield* make(true).thread("b").invoke({ log: ["fail"] }), {
        log: ["fail", "handled", "rescue"]
      })
      assert.deepStrictEqual(yield* make(true).thread("c").invoke({ log: ["fine"] }), { log: ["fine", "good", "next"] })
    })
)

behaves(
  "LG#170 a handler that fails fails the run, with its own failure, and nothing is retried",
  () =>
    Effect.gen(function*() {
      const counts = { node: 0, handler: 0 }
      let handlerFails = true
      const graph = StateGraph.make(
        "g",
        StateGraph.nodes(Log, {
          bad: Node.make({
            input: Log,
            run: () =>
              Effect.suspend(() => {
                counts.node++
                return broken("node")
              }),
            onError: () =>
              Effect.suspend(() => {
                counts.handler++
                return handlerFails ? broken("handler") : Effect.succeed({ log: ["handled"] })
              })
          }),
          side: () => ({ log: ["side"] })
        }),
        { start: ["bad", "side"] }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), new Broken({ who: "handler" }))
      assert.deepStrictEqual(counts, { node: 1, handler: 1 })
      handlerFails = false
      // L13: only what is acknowledged is finished. The node failed, so it runs again, and then its handler.
      assert.deepStrictEqual(yield* thread.continue(), { log: ["handled", "side"] })
      assert.deepStrictEqual(counts, { node: 2, handler: 2 })
    })
)

behaves("LG#170 beside other tasks a handled failure is no failure", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        a: () => Effect.as(waitTurns(5), { log: ["a"] }),
        bad: Node.make({ input: Log, run: () => broken("bad"), onError: () => Effect.succeed({ log: ["handled"] }) }),
        c: () => Effect.as(waitTurns(5), { log: ["c"] }),
        end: () => ({ log: ["end"] })
      }),
      { start: ["a", "bad", "c"], edges: { a: "end", c: "end" } }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "handled", "c", "end"] })
    assert.deepStrictEqual((yield* graph.thread("t").state()).next, [])
  }))

behaves("LG#170 a failure inside a graph is a failure of the node that calls it", () =>
  Effect.gen(function*() {
    const child = StateGraph.make("child", StateGraph.nodes(Log, { deep: () => broken("deep") }), { start: "deep" })
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        calls: Node.make({
          input: Log,
          run: () => Effect.map(child.call({}), ({ log }) => ({ log })),
          onError: (error) => Effect.succeed({ log: [error._tag === "Broken" ? error.who : error._tag] })
        })
      }),
      { start: "calls" }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["deep"] })
  }))

behaves(
  "LG#170 a handler sees neither a pause, nor a command for the parent, nor a defect",
  () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      const onError = (error: unknown) =>
        Effect.sync(() => {
          handled.push(error)
          return { log: ["handled"] }
        })
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          asks: Node.make({
            input: Log,
            run: () => Effect.map(Confirm.ask("?"), (answer) => ({ log: [answer] })),
            onError
          }),
          leaves: Node.make({ input: Log, run: () => Command.parent({ update: { log: ["left"] } }), onError })
        }),
        { start: "asks", edges: { asks: "leaves" } }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
      assert.strictEqual((yield* Effect.flip(thread.invoke({})))._tag, "GraphInterrupt")
      assert.deepStrictEqual(yield* thread.resume(Confirm.reply("yes")), { log: ["yes", "left"] })
      const dies = StateGraph.make(
        "dies",
        StateGraph.nodes(Log, {
          bug: Node.make({ input: Log, run: () => Effect.as(Effect.die(new Error("bug")), { log: [] }), onError })
        }),
        { start: "bug" }
      )
      const exit = yield* Effect.exit(dies.invoke({}))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual(handled, [])
    })
)

behaves("LG#170 a handler may ask, and is given the failure again on resume", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        bad: Node.make({
          input: Log,
          run: () => broken("bad"),
          onError: (error) =>
            Effect.map(
              Confirm.ask(`ignore ${error._tag === "Broken" ? error.who : error._tag}?`),
              (answer) => ({ log: [answer] })
            )
        })
      }),
      { start: "bad" }
    )
    const thread = graph.thread("t")
    const paused = yield* Effect.flip(thread.invoke({}))
    if (paused._tag !== "GraphInterrupt") return assert.fail(paused._tag)
    assert.deepStrictEqual(paused.requests.map(({ payload }) => payload), ["ignore bad?"])
    assert.deepStrictEqual(yield* thread.resume(Confirm.reply("yes")), { log: ["yes"] })
  }))

behaves("LG#170 does not swallow the pause of a sibling", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        asks: () => Effect.map(Confirm.ask("?"), (answer) => ({ log: [answer] })),
        bad: Node.make({ input: Log, run: () => broken("bad"), onError: () => Effect.succeed({ log: ["handled"] }) })
      }),
      { start: ["asks", "bad"] }
    )
    const thread = graph.thread("t")
    assert.strictEqual((yield* Effect.flip(thread.invoke({})))._tag, "GraphInterrupt")
    assert.deepStrictEqual((yield* thread.state()).next, ["asks"])
    assert.deepStrictEqual(yield* thread.resume(Confirm.reply("yes")), { log: ["yes", "handled"] })
  }))

it.effect("LG#170 a handler gets a timeout, too, and has no time limit itself", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        slow: Node.make({
          input: Log,
          run: () => Effect.as(Effect.sleep(100), { log: ["never"] }),
          timeout: 20,
          onError: (error: { readonly _tag: string }) => Effect.as(Effect.sleep(50), { log: [error._tag] })
        })
      }),
      { start: "slow" }
    )
    assert.deepStrictEqual(yield* runOut(graph.invoke({})), {
      exit: Exit.succeed({ log: ["NodeTimeout"] }),
      millis: 70
    })
  }))

behaves("LG#170 the events of a handled failure show what the handler wrote", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        bad: Node.make({
          input: Log,
          run: () => broken("bad"),
          onError: () => Effect.succeed({ log: ["handled"] })
        })
      }),
      { start: "bad" }
    )
    const events = yield* Stream.runCollect(graph.stream({}, { modes: ["updates", "tasks"] }))
    assert.deepStrictEqual<ReadonlyArray<unknown>>(
      events.flatMap((event): ReadonlyArray<unknown> =>
        event.mode === "updates"
          ? [[event.node, event.update]]
          : event.type === "ended"
          ? [[event.node, event.error]]
          : []
      ),
      [["bad", { log: ["handled"] }], ["bad", undefined]]
    )
  }))

behaves(
  "LG#172 what had finished beside a crash is not run again, and the failed one's error is on record",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      let fails = true
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
              return fails ? broken("b") : Effect.succeed({ log: ["b"] })
            })
        }),
        { start: ["a", "b"] }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), new Broken({ who: "b" }))
      assert.deepStrictEqual(
        (yield* thread.state()).tasks.map(({ error, node, result }) => ({ error, node, result })),
        [
          { error: undefined, node: "a", result: { log: [["a"]] } },
          { error: "Broken", node: "b", result: undefined }
        ]
      )
      fails = false
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
      assert.deepStrictEqual(runs, ["a", "b", "b"])
    })
)

// ---------------------------------------------------------------------------
// Siblings of a failure
// ---------------------------------------------------------------------------

/** Three nodes, of which the named ones fail, each after so many turns. */
const three = (turns: Readonly<Record<string, number>>, fails: ReadonlyArray<string>, ends: Array<string>) => {
  const node = (name: string) => () =>
    Effect.onExit(
      Effect.andThen(
        waitTurns(turns[name]!),
        Effect.suspend(() => fails.includes(name) ? broken(name) : Effect.succeed({ log: [name] }))
      ),
      (exit) =>
        Effect.sync(() =>
          ends.push(
            `${name} ${Exit.isSuccess(exit) ? "done" : Cause.hasInterrupts(exit.cause) ? "interrupted" : "failed"}`
          )
        )
    )
  return StateGraph.make("three", StateGraph.nodes(Log, { a: node("a"), b: node("b"), c: node("c") }), {
    start: ["a", "b", "c"]
  })
}

behaves(
  "L12 by default a failure interrupts its siblings; who had finished keeps its result",
  () =>
    Effect.gen(function*() {
      const ends: Array<string> = []
      const graph = three({ a: 1, b: 8, c: 200 }, ["b"], ends)
      const thread = graph.thread("t")
      const exit = yield* Effect.exit(thread.invoke({}))
      assert.deepStrictEqual(reported(exit), ["b"])
      assert.deepStrictEqual(ends, ["a done", "b failed", "c interrupted"])
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values.log, state.next], [["a"], ["b", "c"]])
    })
)

behaves(
  "L12 with settle every sibling runs to its end, and the report does not depend on who was first",
  () =>
    Effect.gen(function*() {
      for (
        const [id, turns] of [["1", { a: 30, b: 1, c: 10 }], ["2", { a: 1, b: 10, c: 30 }], ["3", {
          a: 10,
          b: 30,
          c: 1
        }]] as const
      ) {
        const ends: Array<string> = []
        const thread = three(turns, ["a", "c"], ends).thread(id)
        const exit = yield* Effect.exit(thread.invoke({}, { onFailure: "settle" }))
        assert.deepStrictEqual(reported(exit), ["a", "c"])
        assert.deepStrictEqual([...ends].sort(), ["a failed", "b done", "c failed"])
        assert.deepStrictEqual((yield* thread.state()).next, ["a", "c"])
      }
    })
)

behaves(
  "L12 what had not failed when its siblings were interrupted is not reported, and runs again",
  () =>
    Effect.gen(function*() {
      let fails = true
      const node = (name: string, turns: number) => () =>
        Effect.uninterruptible(
          Effect.andThen(waitTurns(turns), Effect.suspend(() => fails ? broken(name) : Effect.succeed({ log: [name] })))
        )
      const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: node("a", 10), b: node("b", 1) }), {
        start: ["a", "b"]
      })
      const thread = graph.thread("t")
      assert.deepStrictEqual(reported(yield* Effect.exit(thread.invoke({}))), ["b"])
      assert.deepStrictEqual((yield* thread.state()).tasks.map(({ error }) => error), [undefined, "Broken"])
      fails = false
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
    })
)

behaves("L12 a pause of a sibling is kept when another fails", () =>
  Effect.gen(function*() {
    let fails = true
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        asks: () => Effect.map(Confirm.ask("?"), (answer) => ({ log: [answer] })),
        bad: () =>
          Effect.andThen(waitTurns(5), Effect.suspend(() => fails ? broken("bad") : Effect.succeed({ log: ["fine"] })))
      }),
      { start: ["asks", "bad"] }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(reported(yield* Effect.exit(thread.invoke({}))), ["bad"])
    assert.deepStrictEqual((yield* thread.state()).requests.map(({ payload }) => payload), ["?"])
    fails = false
    assert.deepStrictEqual(yield* thread.resume(Confirm.reply("yes")), { log: ["yes", "fine"] })
  }))

behaves("L12 a pause does not cancel its siblings", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        asks: () => Effect.map(Confirm.ask("?"), (answer) => ({ log: [answer] })),
        slow: () => Effect.as(waitTurns(30), { log: ["slow"] })
      }),
      { start: ["asks", "slow"] }
    )
    const thread = graph.thread("t")
    assert.strictEqual((yield* Effect.flip(thread.invoke({})))._tag, "GraphInterrupt")
    assert.deepStrictEqual((yield* thread.state()).values.log, ["slow"])
  }))

behaves("L12 the defect of a sibling does not turn a typed failure into a defect", () =>
  Effect.gen(function*() {
    for (const onFailure of ["interrupt", "settle"] as const) {
      const graph = StateGraph.make(
        "g",
        StateGraph.nodes(Log, {
          a: () => broken("a"),
          b: () =>
            Effect.onInterrupt(
              Effect.andThen(waitTurns(20), Effect.as(Effect.die(new Error("bug in b")), { log: [] })),
              () => Effect.die(new Error("finalizer of b"))
            ),
          c: () => Effect.as(Effect.die(new Error("bug in c")), { log: [] })
        }),
        { start: ["a", "b", "c"] }
      )
      assert.deepStrictEqual(reported(yield* Effect.exit(graph.thread(onFailure).invoke({}, { onFailure }))), ["a"])
      // And so a handler around the run gets it.
      const caught = yield* Effect.match(graph.invoke({}, { onFailure }), {
        onFailure: (error) => error._tag === "Broken" ? error.who : error._tag,
        onSuccess: () => "succeeds"
      })
      assert.strictEqual(caught, "a")
    }
  }))

behaves(
  "L12 a defect that is first in task order is the run's, with the typed failures of its siblings",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "g",
        StateGraph.nodes(Log, {
          a: () => Effect.as(Effect.die(new Error("bug")), { log: [] }),
          b: () => broken("b")
        }),
        { start: ["a", "b"] }
      )
      const exit = yield* Effect.exit(graph.invoke({}, { onFailure: "settle" }))
      if (!Exit.isFailure(exit)) return assert.fail("succeeds")
      const defects = exit.cause.reasons.flatMap((reason) =>
        Cause.isDieReason(reason) ? [(reason.defect as Error).message] : []
      )
      assert.strictEqual(defects[0], "bug")
    })
)

behaves(
  "I7 of three parallel graphs one fails: the declared policy decides what becomes of the others",
  () =>
    Effect.gen(function*() {
      class Items extends State.make({ log: Channel.append(Schema.String) }) {}
      let others: Effect.Effect<unknown> = Effect.never
      const agent = StateGraph.make(
        "agent",
        StateGraph.nodes(Log, {
          work: (s) =>
            Effect.andThen(
              s.log[0] === "1" ? waitTurns(3) : others,
              s.log[0] === "1" ? broken("1") : Effect.succeed({ log: [`did ${s.log[0]}`] })
            )
        }),
        { start: "work" }
      )
      const fan = StateGraph.make(
        "fan",
        StateGraph.nodes(Items, {
          go: () => Command.make({ goto: ["0", "1", "2"].map((item) => Send.make("agent", { log: [item] })) }),
          agent
        }),
        { start: "go" }
      )
      const fast = fan.thread("fast")
      assert.deepStrictEqual(reported(yield* Effect.exit(fast.invoke({}))), ["1"])
      assert.deepStrictEqual((yield* fast.state()).next, ["agent", "agent", "agent"])
      others = waitTurns(60)
      const settled = fan.thread("settled")
      assert.deepStrictEqual(reported(yield* Effect.exit(settled.invoke({}, { onFailure: "settle" }))), ["1"])
      const state = yield* settled.state()
      assert.deepStrictEqual([state.values.log, state.next], [["did 0", "did 2"], ["agent"]])
      // Results and failures together: each call says how it ended.
      const collect = StateGraph.make(
        "collect",
        StateGraph.nodes(Items, {
          go: Effect.fnUntraced(function*() {
            const all = yield* Effect.forEach(
              ["0", "1", "2"],
              (item) => Effect.exit(agent.call({ log: [item] }, { key: item })),
              { concurrency: "unbounded" }
            )
            return { log: all.map((exit) => Exit.isSuccess(exit) ? exit.value.log.join(" ") : "failed") }
          })
        }),
        { start: "go" }
      )
      assert.deepStrictEqual((yield* collect.thread("c").invoke({})).log, ["0 did 0", "failed", "2 did 2"])
    })
)

it.effect("L20 no more tasks run at once than the limit says, and they begin in task order", () =>
  Effect.gen(function*() {
    for (const concurrency of [1, 3, 7]) {
      let running = 0
      let most = 0
      const begun: Array<number> = []
      class Work extends State.make({ log: Channel.append(Schema.Int) }) {}
      const graph = StateGraph.make(
        "fan",
        StateGraph.nodes(Work, {
          go: () => Command.make({ goto: Array.from({ length: 20 }, (_, n) => Send.make("work", { n })) }),
          work: Node.make({
            input: Schema.Struct({ n: Schema.Int }),
            run: ({ n }) =>
              Effect.suspend(() => {
                begun.push(n)
                most = Math.max(most, ++running)
                return Effect.map(Effect.sleep(1 + n % 3), () => {
                  running--
                  return { log: [n] }
                })
              })
          })
        }),
        { start: "go" },
        { concurrency }
      )
      const { exit } = yield* runOut(graph.invoke({}))
      const all = Array.from({ length: 20 }, (_, n) => n)
      assert.deepStrictEqual([exit, most, begun], [Exit.succeed({ log: all }), concurrency, all])
    }
    assert.throws(
      () => StateGraph.make("g", StateGraph.nodes(Log, { n: () => undefined }), { start: "n" }, { concurrency: 0 }),
      /whole number of at least 1/
    )
  }).pipe(Effect.provide(Checkpointer.layerMemory)))
