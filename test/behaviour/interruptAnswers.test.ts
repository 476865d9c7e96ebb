/** Answers: to questions that have changed, replies that do not fit, and what of them survives a crash. */
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { Checkpointer, GraphError, Interrupt, Node, Send, StateGraph } from "superstep"
import { idOf, paused, payloads, recorded, rowsOf, untyped } from "./Pauses.ts"
import { Age, Ask, Log, twice } from "./Questions.ts"
import { behaves } from "./Savers.ts"

class When extends Interrupt.make("When", { payload: Schema.DateFromString, answer: Schema.DateFromString }) {}

// ---------------------------------------------------------------------------
// Law 11: answers and changed questions
// ---------------------------------------------------------------------------

behaves(
  "L11 an answer to a question that has changed is void: the new question waits, durably",
  () =>
    Effect.gen(function*() {
      let question = "delete 1 file?"
      let runs = 0
      const graph = () =>
        StateGraph.make(
          "changing",
          StateGraph.nodes(Log, {
            ask: Effect.fnUntraced(function*() {
              runs++
              return { log: [`${question} ${yield* Ask.ask(question)}`] }
            }),
            sibling: () => ({ log: ["sibling"] })
          }),
          { start: ["ask", "sibling"] }
        )
      const thread = graph().thread("t")
      const [before] = yield* paused(thread.invoke({}))
      question = "delete 9 files?"
      const error = yield* Effect.flip(thread.resume(Ask.reply("yes")))
      assert.deepStrictEqual(
        error,
        new GraphError.InterruptMismatch({
          reason: "OtherQuestion",
          node: "ask",
          tag: "Ask",
          answered: "delete 1 file?",
          now: "delete 9 files?"
        })
      )
      // A new handle sees the new question, unanswered.
      const again = graph().thread("t")
      const state = yield* again.state()
      assert.deepStrictEqual(state.requests, [{ id: before!.id, tag: "Ask", payload: "delete 9 files?" }])
      assert.deepStrictEqual([state.values, state.next], [{ log: ["sibling"] }, ["ask"]])
      const count = runs
      assert.deepStrictEqual(payloads(yield* paused(again.continue())), ["delete 9 files?"])
      assert.strictEqual(runs, count)
      assert.deepStrictEqual(yield* again.resume(Ask.reply("no")), { log: ["delete 9 files? no", "sibling"] })
    })
)

behaves(
  "L11 of two answered questions only the changed one is asked again; the answer of the other is kept",
  () =>
    Effect.gen(function*() {
      let first = "first"
      const graph = StateGraph.make(
        "two changing",
        StateGraph.nodes(Log, {
          ask: Effect.fnUntraced(function*() {
            return { log: [yield* Ask.ask(first), yield* Ask.ask("second")] }
          })
        }),
        { start: "ask" }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      yield* paused(thread.resume(Ask.reply("1")))
      first = "first, really"
      const error = yield* Effect.flip(thread.resume(Ask.reply("2")))
      assert.deepStrictEqual(
        error,
        new GraphError.InterruptMismatch({
          reason: "OtherQuestion",
          node: "ask",
          tag: "Ask",
          answered: "first",
          now: "first, really"
        })
      )
      assert.deepStrictEqual(payloads((yield* thread.state()).requests), ["first, really"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("one")), { log: ["one", "2"] })
    })
)

behaves(
  "L11 a question with the same content in another order of keys is the same question",
  () =>
    Effect.gen(function*() {
      class Order extends Interrupt.make("Order", {
        payload: Schema.Record(Schema.String, Schema.Int),
        answer: Schema.Boolean
      }) {}
      let payload: { [key: string]: number } = { a: 1, b: 2 }
      const graph = StateGraph.make(
        "canonical",
        StateGraph.nodes(Log, { ask: () => Effect.map(Order.ask(payload), (isGood) => ({ log: [String(isGood)] })) }),
        { start: "ask" }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      payload = { b: 2, a: 1 }
      assert.deepStrictEqual(yield* thread.resume(Order.reply(true)), { log: ["true"] })
    })
)

behaves(
  "L11 a question in a graph inside a task that has changed is reported at the root, and waits there",
  () =>
    Effect.gen(function*() {
      let question = "old"
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask(question), (answer) => ({ log: [answer] })) }),
        {
          start: "ask"
        }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
      yield* paused(thread.invoke({}))
      question = "new"
      const error = yield* Effect.flip(thread.resume(Ask.reply("to the old")))
      assert.deepStrictEqual(
        error,
        new GraphError.InterruptMismatch({
          reason: "OtherQuestion",
          node: "ask",
          tag: "Ask",
          answered: "old",
          now: "new"
        })
      )
      assert.deepStrictEqual(payloads((yield* thread.state()).requests), ["new"])
      assert.deepStrictEqual(payloads((yield* thread.at(["child"]).state()).requests), ["new"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("to the new")), { log: ["to the new"] })
    })
)

behaves(
  "L11 a node that asks less after its answers uses those that it asks for, and no other gets them",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "shrinking",
        StateGraph.nodes(Log, {
          a: Effect.fnUntraced(function*() {
            const first = yield* Ask.ask("a1")
            return { log: [first === "skip" ? "skipped" : yield* Ask.ask("a2")] }
          }),
          b: () => Effect.map(Ask.ask("b1"), (answer) => ({ log: [answer] }))
        }),
        { start: "a", edges: { a: "b" } }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("skip")))), ["b1"])
      // Going on answers nothing: the answer of the first was consumed by the first.
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["b1"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("b")), { log: ["skipped", "b"] })
    })
)

// ---------------------------------------------------------------------------
// Law 11: replies that do not fit
// ---------------------------------------------------------------------------

behaves("L11 a reply that does not fit changes nothing that is stored, and runs nothing", () =>
  Effect.gen(function*() {
    let runs = 0
    const graph = StateGraph.make(
      "replies",
      StateGraph.nodes(Log, {
        ask: Effect.fnUntraced(function*() {
          runs++
          return { log: [yield* Ask.ask("a"), yield* Ask.ask("b")] }
        }),
        age: Effect.fnUntraced(function*() {
          runs++
          return { log: [String(yield* Age.ask("age"))] }
        })
      }),
      { start: ["ask", "age"] }
    )
    const thread = graph.thread("t")
    const first = yield* paused(thread.invoke({}))
    const a = idOf(first, "a")
    const second = yield* paused(thread.resume(Ask.reply("A", { id: a })))
    const b = idOf(second, "b")
    const age = idOf(second, "age")
    const pending = [{ id: age, tag: "Age", payload: "age" }, { id: b, tag: "Ask", payload: "b" }]
    const before = yield* rowsOf("t")
    const ran = runs
    class Other extends Interrupt.make("Other", { payload: Schema.String, answer: Schema.String }) {}
    const cases: ReadonlyArray<readonly [string, unknown, Partial<GraphError.InvalidReply>]> = [
      ["unknown tag", Other.reply("x"), { reason: "Unknown", tag: "Other", id: undefined }],
      ["unknown id", Ask.reply("x", { id: "0".repeat(32) }), { reason: "Unknown", tag: "Ask", id: "0".repeat(32) }],
      ["id of another tag", Ask.reply("x", { id: age }), { reason: "Unknown", tag: "Ask", id: age }],
      ["answered before", Ask.reply("x", { id: a }), { reason: "Answered", tag: "Ask", id: a }],
      ["one good, one unknown", [Ask.reply("B", { id: b }), Other.reply("x")], {
        reason: "Unknown",
        tag: "Other",
        id: undefined
      }],
      ["twice the same", [Ask.reply("B"), Ask.reply("C", { id: b })], { reason: "Ambiguous", tag: "Ask", id: b }],
      ["wrong type", Age.reply("old" as unknown as number), { reason: "InvalidAnswer", tag: "Age", id: undefined }],
      ["one good, one of the wrong type", [Ask.reply("B"), Age.reply(1.5)], {
        reason: "InvalidAnswer",
        tag: "Age",
        id: undefined
      }]
    ]
    for (const [name, replies, expected] of cases) {
      const error = yield* Effect.flip(thread.resume(untyped(replies)))
      if (error._tag !== "InvalidReply") return assert.fail(`${name}: ${error._tag}`)
      const { id, reason, tag } = error
      assert.deepStrictEqual({ id, reason, tag }, expected as { id: string; reason: "Unknown"; tag: string }, name)
      assert.deepStrictEqual(error.pending, pending, name)
      assert.strictEqual(runs, ran, name)
      assert.deepStrictEqual(yield* rowsOf("t"), before, name)
    }
    assert.deepStrictEqual(yield* thread.resume([Age.reply(3), Ask.reply("B")]), { log: ["3", "A", "B"] })
    const done = yield* rowsOf("t")
    const late = yield* Effect.flip(thread.resume(Ask.reply("x")))
    assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "NothingPending")
    assert.deepStrictEqual(yield* rowsOf("t"), done)
  }))

behaves("L11 an answer is kept in its encoded form, and given to the node decoded", () =>
  Effect.gen(function*() {
    const at = new Date("2020-01-02T03:04:05.000Z")
    const graph = StateGraph.make(
      "dates",
      StateGraph.nodes(Log, {
        ask: Effect.fnUntraced(function*() {
          const answer = yield* When.ask(at)
          yield* Ask.ask("again?")
          return { log: [answer instanceof Date ? answer.toISOString() : "no date"] }
        })
      }),
      { start: "ask" }
    )
    const thread = graph.thread("t")
    const [request] = yield* paused(thread.invoke({}))
    assert.deepStrictEqual(request!.payload, at)
    assert.deepStrictEqual((yield* thread.state()).requests[0]!.payload, at)
    yield* paused(thread.resume(When.reply(new Date("2030-01-01T00:00:00.000Z"))))
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["2030-01-01T00:00:00.000Z"] })
  }))

behaves("L11 a resume may start further nodes beside the one that was answered", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "steered",
      StateGraph.nodes(Log, {
        ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })),
        other: () => ({ log: ["other"] }),
        work: Node.make({
          input: Schema.Struct({ x: Schema.Int }),
          run: ({ x }) => Effect.succeed({ log: [`work ${x}`] })
        })
      }),
      { start: "ask" }
    )
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    assert.deepStrictEqual(
      yield* thread.resume(Ask.reply("yes"), {
        update: { log: ["update"] },
        goto: ["other", Send.make("work", { x: 1 })]
      }),
      { log: ["update", "yes", "other", "work 1"] }
    )
    const [last] = yield* thread.history()
    assert.deepStrictEqual([last!.step, last!.next], [1, []])
  }))

behaves(
  "L11 an update of a paused thread asks again under new ids; the old ones are unknown",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const graph = StateGraph.make(
        "updated",
        StateGraph.nodes(Log, {
          ask: Effect.fnUntraced(function*(s) {
            runs.push("ask")
            return { log: [`${yield* Ask.ask(`after ${s.log.length}`)}`] }
          }),
          sibling: () => {
            runs.push("sibling")
            return { log: ["sibling"] }
          },
          free: () => ({ log: ["free"] })
        }),
        { start: ["ask", "sibling"] }
      )
      const thread = graph.thread("t")
      const [old] = yield* paused(thread.invoke({}))
      yield* thread.update({ log: ["update"] }, { asNode: "free" })
      const state = yield* thread.state()
      // What had finished stays finished, what is left to run stays so, and nothing is asked until it has run.
      assert.deepStrictEqual([state.values, state.next, state.requests, state.source], [
        { log: ["update", "sibling"] },
        ["ask"],
        [],
        "update"
      ])
      runs.length = 0
      const [again] = yield* paused(thread.continue())
      assert.strictEqual(again!.payload, "after 1")
      assert.notStrictEqual(again!.id, old!.id)
      assert.deepStrictEqual(runs, ["ask"])
      const late = yield* Effect.flip(thread.resume(Ask.reply("x", { id: old!.id })))
      assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "Unknown")
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["update", "yes", "sibling"] })
    })
)

// ---------------------------------------------------------------------------
// Law 11, 13: answers survive a crash
// ---------------------------------------------------------------------------

behaves("L13 an answer that was taken survives a crash before its node is done", () =>
  Effect.gen(function*() {
    for (const durability of ["sync", "async", "exit"] as const) {
      const answered = yield* Deferred.make<void>()
      let isHeld = true
      let runs = 0
      const graph = () =>
        StateGraph.make(
          "held",
          StateGraph.nodes(Log, {
            ask: Effect.fnUntraced(function*() {
              runs++
              const answer = yield* Ask.ask("?")
              yield* Deferred.succeed(answered, undefined)
              if (isHeld) yield* Effect.never
              return { log: [answer] }
            }),
            sibling: () => ({ log: ["sibling"] })
          }),
          { start: ["ask", "sibling"] }
        )
      yield* paused(graph().thread(durability).invoke({}, { durability }))
      const fiber = yield* Effect.forkChild(graph().thread(durability).resume(Ask.reply("yes"), { durability }))
      yield* Deferred.await(answered)
      yield* Fiber.interrupt(fiber)
      isHeld = false
      const thread = graph().thread(durability)
      const state = yield* thread.state()
      assert.deepStrictEqual([state.requests, state.next], [[], ["ask"]], durability)
      // The question has its answer: it cannot be given another.
      const late = yield* Effect.flip(thread.resume(Ask.reply("no")))
      assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "Answered")
      assert.deepStrictEqual(yield* thread.continue(), { log: ["yes", "sibling"] })
      assert.strictEqual(runs, 3)
    }
  }))

behaves(
  "L13 every further question of a node is stored before it is seen, in every durability, and so is a changed one",
  () =>
    Effect.gen(function*() {
      for (const durability of ["sync", "async", "exit"] as const) {
        let second = "2"
        const graph = () =>
          StateGraph.make(
            "further",
            StateGraph.nodes(Log, {
              before: () => ({ log: ["before"] }),
              node: Effect.fnUntraced(function*() {
                return { log: [yield* Ask.ask("1"), yield* Ask.ask(second), yield* Ask.ask("3")] }
              }),
              sibling: () => ({ log: ["sibling"] })
            }),
            { start: "before", edges: { before: ["node", "sibling"] } }
          )
        const thread = () => graph().thread(durability)
        const waits = Effect.map(
          Effect.suspend(() => thread().state()),
          ({ requests, values }) => [payloads(requests), values.log]
        )
        yield* paused(thread().invoke({}, { durability }))
        assert.deepStrictEqual(yield* waits, [["1"], ["before", "sibling"]], durability)
        yield* paused(thread().resume(Ask.reply("one"), { durability }))
        assert.deepStrictEqual(yield* waits, [["2"], ["before", "sibling"]], durability)
        second = "2, really"
        assert.strictEqual(
          (yield* Effect.flip(thread().resume(Ask.reply("two"), { durability })))._tag,
          "InterruptMismatch"
        )
        assert.deepStrictEqual(yield* waits, [["2, really"], ["before", "sibling"]], durability)
        yield* paused(thread().resume(Ask.reply("two, really"), { durability }))
        assert.deepStrictEqual(yield* waits, [["3"], ["before", "sibling"]], durability)
        assert.deepStrictEqual(yield* thread().resume(Ask.reply("three"), { durability }), {
          log: ["before", "one", "two, really", "three", "sibling"]
        })
      }
    })
)

behaves("L13 and so it is for the questions of a graph inside a graph inside a task", () =>
  Effect.gen(function*() {
    for (const durability of ["sync", "async", "exit"] as const) {
      const graph = () => {
        const child = StateGraph.make(
          "child",
          StateGraph.nodes(Log, {
            node: Effect.fnUntraced(function*() {
              return { log: [yield* Ask.ask("1"), yield* Ask.ask("2")] }
            }),
            last: () => Effect.map(Ask.ask("3"), (answer) => ({ log: [answer] }))
          }),
          { start: "node", edges: { node: "last" } }
        )
        const middle = StateGraph.make("middle", StateGraph.nodes(Log, { child }), { start: "child" })
        return StateGraph.make("parent", StateGraph.nodes(Log, { middle }), { start: "middle" })
      }
      const thread = () => graph().thread(durability)
      yield* paused(thread().invoke({}, { durability }))
      for (const [index, payload] of ["1", "2", "3"].entries()) {
        for (
          const part of [thread().state(), thread().at(["middle"]).state(), thread().at(["middle", "child"]).state()]
        ) {
          assert.deepStrictEqual(payloads((yield* part).requests), [payload], `${durability} ${payload}`)
        }
        if (index < 2) yield* paused(thread().resume(Ask.reply(payload), { durability }))
      }
      assert.deepStrictEqual(yield* thread().resume(Ask.reply("3"), { durability }), { log: ["1", "2", "3"] })
    }
  }))

behaves("L13 a pause is stored before it is seen, in every durability", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    for (const durability of ["sync", "async", "exit"] as const) {
      const thread = twice({ count: 0 }).thread(durability)
      const seen: Array<unknown> = []
      yield* recorded(thread.stream({ text: "" }, { modes: ["values"], durability })).pipe(
        Effect.tap(({ events }) => Effect.sync(() => seen.push(events.at(-1)!.mode)))
      )
      const head = yield* saver.head(durability, "")
      assert.strictEqual(head._tag, "Some")
      assert.deepStrictEqual(seen, ["paused"])
      assert.deepStrictEqual(payloads((yield* thread.state()).requests), ["1"])
    }
  }))
