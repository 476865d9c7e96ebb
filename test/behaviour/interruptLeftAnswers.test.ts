/** Answers that are left: their question is asked no more, or differently, or not yet again. */
import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Schedule, Schema } from "effect"
import {
  Checkpointer,
  Command,
  END,
  GraphError,
  Interrupt,
  Node,
  NodeCache,
  Policy,
  Running,
  StateGraph
} from "superstep"
import { paused, payloads, recorded, untyped } from "./Pauses.ts"
import { Age, Ask, type Body, Failed, Log, logged, single } from "./Questions.ts"
import { behaves } from "./Savers.ts"

// ---------------------------------------------------------------------------
// Law 11: answers that are left
// ---------------------------------------------------------------------------

/** The mismatches in the cause of a run that has to fail, the first as its failure. */
const mismatchesOf = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.map(
    Effect.exit(run),
    (exit) =>
      Exit.isSuccess(exit) ?
        assert.fail("expected a failure") :
        exit.cause.reasons.flatMap((reason) =>
          Cause.isFailReason(reason) && reason.error instanceof GraphError.InterruptMismatch ? [reason.error] : []
        )
  )

const notAsked = (answered: string, node = "node", tag = "Ask") =>
  new GraphError.InterruptMismatch({ reason: "NotAsked", node, tag, answered })

behaves(
  "L11 an answer to a question that its node no longer asks is told, and is void when the thread goes on",
  () =>
    Effect.gen(function*() {
      for (const durability of ["sync", "async", "exit"] as const) {
        let asks = true
        let runs = 0
        const thread = () =>
          StateGraph.make(
            "silent",
            StateGraph.nodes(Log, {
              node: () => {
                runs++
                return asks ? logged(Ask.ask("delete?")) : Effect.succeed({ log: ["not asked"] })
              },
              sibling: () => ({ log: ["sibling"] })
            }),
            { start: ["node", "sibling"] }
          ).thread(durability)
        yield* paused(thread().invoke({}, { durability }))
        asks = false
        const { end, events } = yield* recorded(
          thread().stream(Command.resume(Ask.reply("yes")), { modes: ["updates"], durability })
        )
        assert.deepStrictEqual([end, events.at(-1)], ["InterruptMismatch", {
          mode: "paused",
          path: [],
          step: 1,
          requests: []
        }])
        const state = yield* thread().state()
        assert.deepStrictEqual([state.values.log, state.next, state.requests], [["sibling"], ["node"], []])
        const late = yield* Effect.flip(thread().resume(Ask.reply("yes")))
        assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "NothingPending")
        assert.deepStrictEqual(yield* thread().continue({ durability }), { log: ["not asked", "sibling"] })
        assert.strictEqual(runs, 3)
      }
    })
)

behaves(
  "L11 a node that now asks with another tag or key is asked that, and what it was answered before is told at its end",
  () =>
    Effect.gen(function*() {
      const changes: ReadonlyArray<readonly [string, () => ReturnType<typeof Ask.ask>, Body, Interrupt.Reply.Any]> = [
        ["tag", () => Ask.ask("?"), () => Effect.map(Age.ask("?"), (age) => ({ log: [`${age}`] })), Age.reply(7)],
        ["key", () => Ask.ask("?", { key: "a" }), () => logged(Ask.ask("?", { key: "b" })), Ask.reply("7")]
      ]
      for (const [name, before, after, reply] of changes) {
        let body: Body = () => logged(before())
        const thread = single(() => body()).thread(name)
        const [first] = yield* paused(thread.invoke({}))
        body = after
        const [second] = yield* paused(thread.resume(Ask.reply("old")))
        assert.notStrictEqual(second!.id, first!.id)
        assert.deepStrictEqual(yield* mismatchesOf(thread.resume(untyped(reply))), [notAsked("?")])
        // The other answer is kept.
        assert.deepStrictEqual(yield* thread.continue(), { log: ["7"] })
      }
    })
)

behaves(
  "L11 an answer waits while its node pauses at another question or fails before it comes to its own",
  () =>
    Effect.gen(function*() {
      let first = ["a", "b"]
      const order = single(Effect.fnUntraced(function*() {
        const answers: Record<string, string> = {}
        for (const key of first) answers[key] = yield* Ask.ask(key, { key })
        return { log: [answers["a"]!, answers["b"]!] }
      })).thread("order")
      yield* paused(order.invoke({}))
      first = ["b", "a"]
      assert.deepStrictEqual(payloads(yield* paused(order.resume(Ask.reply("A")))), ["b"])
      assert.deepStrictEqual(yield* order.resume(Ask.reply("B")), { log: ["A", "B"] })

      let isBroken = false
      const fails = single(() =>
        Effect.andThen(
          Effect.suspend(() => isBroken ? Effect.fail(new Failed({ at: 1 })) : Effect.void),
          logged(Ask.ask("?"))
        )
      ).thread("fails")
      yield* paused(fails.invoke({}))
      isBroken = true
      assert.deepStrictEqual(yield* Effect.flip(fails.resume(Ask.reply("yes"))), new Failed({ at: 1 }))
      isBroken = false
      assert.deepStrictEqual(yield* fails.continue(), { log: ["yes"] })
    })
)

behaves(
  "L11 a question that one attempt of a task has asked again is asked, whatever later attempts do",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "attempts",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            retry: Policy.retry({ schedule: Schedule.spaced(1), maxAttempts: 2 }),
            run: Effect.fnUntraced(function*() {
              const { attempt } = yield* Running.Running
              if (attempt === 2) return { log: ["second attempt"] }
              yield* Ask.ask("?")
              return yield* new Failed({ at: 1 })
            })
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["second attempt"] })
    })
)

behaves(
  "L10 the questions of an error handler are its own: the same tag in the node is another question",
  () =>
    Effect.gen(function*() {
      let isBroken = true
      let runs = 0
      const graph = StateGraph.make(
        "handler asks",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            run: Effect.fnUntraced(function*() {
              runs++
              const answer = yield* Ask.ask("node")
              return isBroken ? yield* new Failed({ at: 1 }) : { log: [answer] }
            }),
            onError: () => Effect.map(Ask.ask("handler"), (answer) => ({ log: [`handled ${answer}`] }))
          })
        }),
        { start: "node" }
      )
      for (const [name, mends, log] of [["fails again", false, "handled go"], ["is mended", true, "yes"]] as const) {
        isBroken = true
        const thread = graph.thread(name)
        assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["node"])
        assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("yes")))), ["handler"])
        isBroken = !mends
        // Where the node succeeds, the question of its handler is moot.
        assert.deepStrictEqual(yield* thread.resume(Ask.reply("go")), { log: [log] })
      }
      assert.strictEqual(runs, 6)
    })
)

behaves(
  "L11 an answer is moot where its node fails before it asks again and its error handler ends the task",
  () =>
    Effect.gen(function*() {
      let isBroken = false
      const graph = StateGraph.make(
        "handled before",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            run: Effect.fnUntraced(function*() {
              if (isBroken) return yield* new Failed({ at: 1 })
              return yield* logged(Ask.ask("?"))
            }),
            onError: () => Effect.succeed({ log: ["handled"] })
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      isBroken = true
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["handled"] })
    })
)

behaves(
  "L11 a task in a graph inside a task that no longer asks is told at the root, and earlier answers there are not",
  () =>
    Effect.gen(function*() {
      for (const durability of ["sync", "async", "exit"] as const) {
        let asks = true
        const graph = () => {
          const child = StateGraph.make(
            "child",
            StateGraph.nodes(Log, {
              first: () => logged(Ask.ask("first")),
              second: () => asks ? logged(Ask.ask("second")) : Effect.succeed({ log: ["not asked"] }),
              third: () => logged(Ask.ask("third"))
            }),
            { start: "first", edges: { first: "second", second: "third" } }
          )
          const middle = StateGraph.make("middle", StateGraph.nodes(Log, { child }), { start: "child" })
          return StateGraph.make("parent", StateGraph.nodes(Log, { middle }), { start: "middle" })
        }
        const thread = () => graph().thread(durability)
        asks = true
        yield* paused(thread().invoke({}, { durability }))
        yield* paused(thread().resume(Ask.reply("1"), { durability }))
        asks = false
        assert.deepStrictEqual(yield* mismatchesOf(thread().resume(Ask.reply("2"), { durability })), [
          notAsked("second", "second")
        ])
        assert.deepStrictEqual((yield* thread().at(["middle", "child"]).state()).next, ["second"])
        assert.deepStrictEqual(payloads(yield* paused(thread().continue({ durability }))), ["third"])
        assert.deepStrictEqual(yield* thread().resume(Ask.reply("3"), { durability }), { log: ["1", "not asked", "3"] })
      }
    })
)

behaves(
  "L11 answers that were used up in earlier turns of a graph inside a task are not asked for again",
  () =>
    Effect.gen(function*() {
      const inner = single(() => logged(Ask.ask("inner")), "inner")
      const child = StateGraph.make(
        "turns",
        StateGraph.nodes(Log, {
          // Asks itself in one turn, and through a graph in the other.
          turn: (state) =>
            state.log.length % 2 === 0 ? Effect.map(inner.call({}), ({ log }) => ({ log })) : logged(Ask.ask("turn"))
        }),
        {
          start: "turn",
          edges: { turn: StateGraph.route(["turn", END], (state) => state.log.length < 5 ? "turn" : END) }
        }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
      yield* paused(thread.invoke({}))
      for (const answer of ["1", "2", "3", "4"]) yield* paused(thread.resume(Ask.reply(answer)))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("5")), { log: ["1", "2", "3", "4", "5"] })
    })
)

behaves(
  "L11 answers to graphs that a node no longer calls are told, whether the graphs are stored or not",
  () =>
    Effect.gen(function*() {
      for (const persistence of ["call", "none"] as const) {
        const inner = StateGraph.make(
          "inner",
          StateGraph.nodes(Log, { ask: (state) => logged(Ask.ask(`inner ${state.log[0]}`)) }),
          { start: "ask" },
          { persistence }
        )
        let keys: ReadonlyArray<string> = ["a", "b"]
        const graph = single(() =>
          Effect.map(
            Effect.forEach(keys, (key) => Effect.exit(inner.call({ log: [key] }, { key })), {
              concurrency: "unbounded"
            }),
            (exits) => ({ log: exits.flatMap((exit) => Exit.isSuccess(exit) ? exit.value.log : []) })
          )
        )
        for (const left of [["a"], ["a", "b"], []]) {
          keys = ["a", "b"]
          const thread = graph.thread(`${persistence} ${left.join()}`)
          const all = yield* paused(thread.invoke({}))
          assert.deepStrictEqual(payloads(all), ["inner a", "inner b"])
          keys = left
          const replies = all.map(({ id, payload }) => Ask.reply(String(payload), { id }))
          const log = left.flatMap((key) => [key, `inner ${key}`])
          const lost = ["a", "b"].filter((key) => !left.includes(key)).map((key) => notAsked(`inner ${key}`))
          if (lost.length === 0) assert.deepStrictEqual(yield* thread.resume(replies), { log })
          else {
            assert.deepStrictEqual(yield* mismatchesOf(thread.resume(replies)), lost, persistence)
            assert.deepStrictEqual(yield* thread.continue(), { log })
          }
        }
      }
    })
)

behaves(
  "L11 a task in a graph that is not stored and no longer asks is told by the task around it",
  () =>
    Effect.gen(function*() {
      let asks = true
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Log, { ask: () => asks ? logged(Ask.ask("inner")) : Effect.succeed({ log: ["not asked"] }) }),
        { start: "ask" },
        { persistence: "none" }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { inner }), { start: "inner" }).thread("t")
      yield* paused(thread.invoke({}))
      asks = false
      assert.deepStrictEqual(yield* mismatchesOf(thread.resume(Ask.reply("yes"))), [notAsked("inner", "inner")])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["not asked"] })
    })
)

behaves("L11 a node that was answered runs, and is given no result from the cache", () =>
  Effect.gen(function*() {
    let asks = true
    const graph = StateGraph.make(
      "cached",
      StateGraph.nodes(Log, {
        node: Node.make({
          input: Log,
          cache: Policy.cache(),
          run: Effect.fnUntraced(function*() {
            return { log: [asks ? yield* Ask.ask("?") : "not asked"] }
          })
        })
      }),
      { start: "node" }
    )
    yield* paused(graph.thread("asks").invoke({}))
    asks = false
    assert.deepStrictEqual(yield* graph.thread("does not").invoke({}), { log: ["not asked"] })
    asks = true
    assert.deepStrictEqual(yield* graph.thread("asks").resume(Ask.reply("yes")), { log: ["yes"] })
  }).pipe(Effect.provide(NodeCache.layerMemory)))

behaves(
  "L11 an answer that a graph inside has used stays used where the task around it could not be stored",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, { first: () => logged(Ask.ask("first")), second: () => logged(Ask.ask("second")) }),
        { start: "first", edges: { first: "second" } }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
      yield* paused(thread.invoke({}))
      let puts = 0
      const fails = Checkpointer.Checkpointer.of({
        ...saver,
        // At the root, the first stores the answer.
        putTasks: (id, put) =>
          put.namespace === "" && puts++ > 0
            ? Effect.fail(new GraphError.CheckpointError({ reason: "Storage", thread: id, detail: "full" }))
            : saver.putTasks(id, put)
      })
      const failed = yield* Effect.flip(
        Effect.provideService(thread.resume(Ask.reply("1")), Checkpointer.Checkpointer, fails)
      )
      assert.strictEqual(failed._tag, "CheckpointError")
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["second"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("2")), { log: ["1", "2"] })
    })
)

behaves(
  "L11 every void answer of a superstep is in the cause, beside the failure of a sibling too",
  () =>
    Effect.gen(function*() {
      let isChanged = false
      let isBroken = false
      const graph = StateGraph.make(
        "several",
        StateGraph.nodes(Log, {
          a: () => isChanged ? Effect.succeed({ log: ["a"] }) : logged(Ask.ask("a")),
          b: () => logged(Ask.ask(isChanged ? "b, really" : "b")),
          c: () => isBroken ? Effect.fail(new Failed({ at: 3 })) : logged(Ask.ask("c"))
        }),
        { start: ["a", "b", "c"] },
        { onFailure: "settle" }
      )
      const changed = new GraphError.InterruptMismatch({
        reason: "OtherQuestion",
        node: "b",
        tag: "Ask",
        answered: "b",
        now: "b, really"
      })
      for (const breaks of [false, true]) {
        isChanged = isBroken = false
        const thread = graph.thread(String(breaks))
        const all = yield* paused(thread.invoke({}))
        isChanged = true
        isBroken = breaks
        const resumed = yield* Effect.exit(
          thread.resume(all.map(({ id, payload }) => Ask.reply(String(payload), { id })))
        )
        assert.deepStrictEqual(yield* mismatchesOf(resumed), [notAsked("a", "a"), changed])
        const failure = Exit.isFailure(resumed) ? Cause.findErrorOption(resumed.cause) : undefined
        assert.strictEqual(
          failure?._tag === "Some" ? failure.value._tag : failure,
          breaks ? "Failed" : "InterruptMismatch"
        )
        isBroken = false
        assert.deepStrictEqual(yield* thread.resume(Ask.reply("B")), { log: ["a", "B", "c"] })
      }
    })
)

behaves(
  "L11 an answer that its question no longer takes is void: the question waits again, and can be answered",
  () =>
    Effect.gen(function*() {
      const texts = Interrupt.make("Grade", { payload: Schema.String, answer: Schema.String })
      const numbers = Interrupt.make("Grade", { payload: Schema.String, answer: Schema.Int })
      let isNew = false
      let isHeld = true
      const ask = Effect.fnUntraced(function*() {
        const grade = isNew ? yield* numbers.ask("?") : yield* texts.ask("?")
        return isHeld ? yield* new Failed({ at: 1 }) : String(grade)
      })
      const inner = single(untyped(() => Effect.map(ask(), (grade) => ({ log: [grade] }))), "inner")
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { inner }), { start: "inner" })
      for (const one of [inner, graph as unknown as typeof inner]) {
        isNew = false
        isHeld = true
        const thread = one.thread(one.name)
        const [request] = yield* paused(thread.invoke({}))
        assert.strictEqual((yield* Effect.flip(thread.resume(untyped(texts.reply("good")))))._tag, "Failed")
        isNew = true
        isHeld = false
        const [mismatch] = yield* mismatchesOf(thread.continue())
        assert.deepStrictEqual([mismatch?.reason, mismatch?.answered, mismatch?.now], ["InvalidAnswer", "?", "?"])
        assert.include(mismatch!.message, "Answer again")
        assert.deepStrictEqual(
          (yield* thread.state()).requests,
          untyped([{ id: request!.id, tag: "Grade", payload: "?" }])
        )
        assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
        assert.deepStrictEqual(yield* thread.resume(untyped(numbers.reply(2))), { log: ["2"] })
      }
    })
)

behaves(
  "L11 a stored question is shown through the newest definition of its tag, or as it is stored",
  () =>
    Effect.gen(function*() {
      const at = new Date("2020-01-02T03:04:05.000Z")
      const dates = () => Interrupt.make("Deadline", { payload: Schema.DateFromString, answer: Schema.String })
      const first = dates()
      const thread = single(untyped(() => logged(untyped(first.ask(at))))).thread("t")
      yield* paused(thread.invoke({}))
      const shown = Effect.map(thread.state(), ({ requests }) => payloads(requests))
      // As a module that is loaded again does.
      dates()
      assert.deepStrictEqual(yield* shown, [at])
      Interrupt.make("Deadline", { payload: Schema.Int, answer: Schema.String })
      assert.deepStrictEqual(yield* shown, ["2020-01-02T03:04:05.000Z"])
      dates()
      assert.deepStrictEqual(yield* shown, [at])
    })
)
