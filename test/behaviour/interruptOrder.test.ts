/** What a pause outranks, and which of its questions count: attempts, keys, fibers, turns. */
import { assert, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { Checkpointer, Command, END, GraphError, Node, Policy, Running, StateGraph } from "superstep"
import { idOf, paused, payloads } from "./Pauses.ts"
import { Age, Ask, Failed, Log, logged, single } from "./Questions.ts"
import { behaves } from "./Savers.ts"

// ---------------------------------------------------------------------------
// Law 10: what a pause outranks
// ---------------------------------------------------------------------------

const askThen = (after: Effect.Effect<{ log: Array<string> }, Failed>) =>
  StateGraph.make(
    "ask then",
    StateGraph.nodes(Log, {
      node: () => Effect.andThen(Effect.exit(Ask.ask("?")), after),
      sibling: () => ({ log: ["sibling"] }),
      handler: () => ({ log: ["handler"] })
    }),
    { start: ["node", "sibling"] }
  )

behaves("L10 an unanswered question outranks success and typed failure of its node", () =>
  Effect.gen(function*() {
    const succeeded = askThen(Effect.succeed({ log: ["made up"] })).thread("success")
    assert.deepStrictEqual(payloads(yield* paused(succeeded.invoke({}))), ["?"])
    assert.deepStrictEqual((yield* succeeded.state()).values, { log: ["sibling"] })
    assert.deepStrictEqual(yield* succeeded.resume(Ask.reply("yes")), { log: ["made up", "sibling"] })
    const failed = askThen(Effect.fail(new Failed({ at: 1 }))).thread("failure")
    assert.deepStrictEqual(payloads(yield* paused(failed.invoke({}))), ["?"])
    // Once answered, the failure is the node's own.
    assert.deepStrictEqual(yield* Effect.flip(failed.resume(Ask.reply("yes"))), new Failed({ at: 1 }))
    assert.deepStrictEqual((yield* failed.state()).values, { log: ["sibling"] })
  }))

behaves(
  "L10 a defect after a question is a defect, and the question is asked again when the thread goes on",
  () =>
    Effect.gen(function*() {
      let isBroken = true
      const thread = askThen(Effect.suspend(() => isBroken ? Effect.die("bug") : Effect.succeed({ log: ["fine"] })))
        .thread("t")
      const exit = yield* Effect.exit(thread.invoke({}))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual((yield* thread.state()).requests, [])
      isBroken = false
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
      assert.deepStrictEqual((yield* thread.resume(Ask.reply("yes"))).log[0], "fine")
    })
)

behaves("L10 a command for the parent after a question does not leave before the answer", () =>
  Effect.gen(function*() {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        leave: () =>
          Effect.andThen(Effect.exit(Ask.ask("leave?")), Command.parent({ update: { log: ["left"] }, goto: "after" }))
      }),
      { start: "leave" }
    )
    const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, after: () => ({ log: ["after"] }) }), {
      start: "child"
    })
    const thread = graph.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["leave?"])
    assert.deepStrictEqual((yield* thread.state()).values, { log: [] })
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["left", "after"] })
  }))

it.effect("L10 an attempt that runs out of time after it asked has failed: its retry asks again", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "late",
      StateGraph.nodes(Log, {
        node: Node.make({
          input: Log,
          timeout: "1 second",
          run: () => Effect.andThen(Effect.exit(Ask.ask("?")), Effect.never)
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    const fiber = yield* Effect.forkChild(Effect.flip(thread.invoke({})))
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(
      yield* Fiber.join(fiber),
      new GraphError.NodeTimeout({ kind: "attempt", nodes: ["node"], timeoutMillis: 1000, elapsedMillis: 1000 })
    )
    const state = yield* thread.state()
    assert.deepStrictEqual([state.next, state.requests], [["node"], []])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

behaves(
  "L10 a run that is interrupted while a task has asked and goes on stores no question",
  () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      let isHeld = true
      const graph = StateGraph.make(
        "held",
        StateGraph.nodes(Log, {
          node: () =>
            Effect.exit(Ask.ask("?")).pipe(
              Effect.andThen(Deferred.succeed(asked, undefined)),
              Effect.andThen(Effect.suspend(() => isHeld ? Effect.never : Effect.succeed({ log: ["done"] })))
            )
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      const fiber = yield* Effect.forkChild(thread.invoke({}))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(fiber)
      const state = yield* thread.state()
      assert.deepStrictEqual([state.next, state.requests], [["node"], []])
      isHeld = false
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
    })
)

behaves("L10 an error handler never sees a question, and may ask one itself", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = StateGraph.make(
      "handled",
      StateGraph.nodes(Log, {
        asks: Node.make({
          input: Log,
          run: () => Effect.map(Ask.ask("asks"), (answer) => ({ log: [answer] })),
          onError: () => {
            runs.push("handler of asks")
            return Effect.succeed({ log: ["handled"] })
          }
        }),
        fails: Node.make({
          input: Log,
          run: () => Effect.fail(new Failed({ at: 1 })),
          onError: (error) =>
            Effect.map(Ask.ask(`failed at ${"at" in error ? error.at : "?"}, go on?`), (answer) => ({ log: [answer] }))
        })
      }),
      { start: ["asks", "fails"] }
    )
    const thread = graph.thread("t")
    const both = yield* paused(thread.invoke({}))
    assert.deepStrictEqual(payloads(both), ["asks", "failed at 1, go on?"])
    assert.deepStrictEqual(
      yield* thread.resume([Ask.reply("a", { id: both[0]!.id }), Ask.reply("b", { id: both[1]!.id })]),
      { log: ["a", "b"] }
    )
    assert.deepStrictEqual(runs, [])
  }))

behaves(
  "L10 a failure beside a question is what the run reports, and the question waits",
  () =>
    Effect.gen(function*() {
      let isBroken = true
      const asked = yield* Deferred.make<void>()
      const graph = StateGraph.make(
        "both",
        StateGraph.nodes(Log, {
          ask: () =>
            Effect.map(
              Effect.tapError(Ask.ask("?"), () => Deferred.succeed(asked, undefined)),
              (answer) => ({ log: [answer] })
            ),
          fail: () =>
            Effect.andThen(
              Deferred.await(asked),
              Effect.suspend(() => isBroken ? Effect.fail(new Failed({ at: 1 })) : Effect.succeed({ log: ["ok"] }))
            )
        }),
        { start: ["ask", "fail"] },
        { onFailure: "settle" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), new Failed({ at: 1 }))
      const state = yield* thread.state()
      assert.deepStrictEqual([state.next, payloads(state.requests)], [["ask", "fail"], ["?"]])
      isBroken = false
      // The failed one runs, the paused one does not: it has no answer.
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["ok"] })
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["yes", "ok"] })
    })
)

behaves(
  "L10 an attempt that a policy runs again counts its questions anew; a retry inside the node asks the same one",
  () =>
    Effect.gen(function*() {
      const attempts: Array<number> = []
      const graph = StateGraph.make(
        "policy",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            retry: Policy.retry({ schedule: Schedule.spaced(1), maxAttempts: 3 }),
            run: Effect.fnUntraced(function*() {
              const { attempt } = yield* Running.Running
              attempts.push(attempt)
              const first = yield* Ask.ask("first")
              if (attempt < 3) return yield* new Failed({ at: attempt })
              return { log: [first, yield* Ask.ask("second")] }
            })
          }),
          inside: () => Effect.map(Effect.retry(Age.ask("age"), { times: 3 }), (age) => ({ log: [String(age)] }))
        }),
        { start: ["node", "inside"] }
      )
      const thread = graph.thread("t")
      const all = yield* paused(thread.invoke({}))
      assert.deepStrictEqual(payloads(all), ["age", "first"])
      assert.deepStrictEqual(attempts, [1])
      attempts.length = 0
      assert.deepStrictEqual(payloads(yield* paused(thread.resume([Ask.reply("1"), Age.reply(30)]))), ["second"])
      assert.deepStrictEqual(attempts, [1, 2, 3])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("2")), { log: ["30", "1", "2"] })
    })
)

// ---------------------------------------------------------------------------
// Law 11: keys, fibers, order
// ---------------------------------------------------------------------------

behaves(
  "L11 of unkeyed questions only the first unanswered counts, whatever the node does with its failure",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "unkeyed",
        StateGraph.nodes(Log, {
          node: Effect.fnUntraced(function*() {
            const answers = []
            for (const question of ["a", "b", "c"]) {
              answers.push(yield* Effect.catch(Ask.ask(question), () => Effect.succeed("none")))
            }
            return { log: answers }
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["a"])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("1")))), ["b"])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("2")))), ["c"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("3")), { log: ["1", "2", "3"] })
    })
)

behaves("L11 keyed questions are asked together and answered in any number and order", () =>
  Effect.gen(function*() {
    let runs = 0
    const graph = StateGraph.make(
      "keyed",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          runs++
          const answers = []
          for (const key of ["a", "b", "c"]) answers.push(yield* Effect.exit(Ask.ask(key, { key })))
          return { log: answers.map((exit) => Exit.isSuccess(exit) ? exit.value : "none") }
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    const all = yield* paused(thread.invoke({}))
    assert.deepStrictEqual(payloads(all), ["a", "b", "c"])
    const rest = yield* paused(thread.resume(Ask.reply("B", { id: idOf(all, "b") })))
    assert.deepStrictEqual(rest.map(({ id }) => id), [idOf(all, "a"), idOf(all, "c")])
    assert.deepStrictEqual(
      yield* thread.resume([Ask.reply("C", { id: idOf(all, "c") }), Ask.reply("A", { id: idOf(all, "a") })]),
      { log: ["A", "B", "C"] }
    )
    assert.strictEqual(runs, 3)
  }))

behaves("L11 unkeyed questions are counted per tag: two kinds do not disturb each other", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "kinds",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          const name = yield* Ask.ask("name")
          const age = yield* Age.ask("age")
          const city = yield* Ask.ask("city")
          return { log: [name, String(age), city] }
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["name"])
    assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("Ada")))), ["age"])
    assert.deepStrictEqual(payloads(yield* paused(thread.resume(Age.reply(36)))), ["city"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("London")), { log: ["Ada", "36", "London"] })
  }))

behaves("L23 the key of a question is a text of bounded length", () =>
  Effect.gen(function*() {
    for (const key of ["", "x".repeat(513), 5, null] as unknown as ReadonlyArray<never>) {
      const graph = single(() => logged(Ask.ask("?", { key })))
      const error = yield* Effect.flip(graph.thread(`t ${String(key).length}`).invoke({}))
      assert.deepInclude(error, { _tag: "InvalidArgument", argument: "key" })
    }
    assert.deepStrictEqual(
      payloads(yield* paused(single(() => logged(Ask.ask("?", { key: "k" }))).thread("t").invoke({}))),
      ["?"]
    )
  }))

behaves(
  "L11 a key of a question that has its answer is refused to another, whatever that shows",
  () =>
    Effect.gen(function*() {
      const refused = new GraphError.DuplicateKey({ kind: "ask", node: "node", called: "Ask", key: "k" })
      for (const payload of ["q", "another"]) {
        const graph = StateGraph.make(
          "same key",
          StateGraph.nodes(Log, {
            node: Effect.fnUntraced(function*() {
              const first = yield* Ask.ask("q", { key: "k" })
              // That the node catches the failure changes nothing.
              return {
                log: [first, yield* Effect.catch(Ask.ask(payload, { key: "k" }), () => Effect.succeed("caught"))]
              }
            })
          }),
          { start: "node" }
        )
        const thread = graph.thread(payload)
        assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["q"])
        assert.deepStrictEqual(yield* Effect.flip(thread.resume(Ask.reply("a"))), refused)
        assert.deepStrictEqual(yield* Effect.flip(thread.continue()), refused)
        const { next, values } = yield* thread.state()
        assert.deepStrictEqual([values, next], [{ log: [] }, ["node"]])
      }
      assert.include(refused.message, "node \"node\" asks \"Ask\" with the key \"k\" of another question")
    })
)

behaves(
  "L11 two questions that wait under one key are refused, unless they are the same",
  () =>
    Effect.gen(function*() {
      const graph = (asked: ReadonlyArray<string>) =>
        StateGraph.make(
          "same key",
          StateGraph.nodes(Log, {
            node: () =>
              Effect.map(
                Effect.forEach(asked, (payload) => Effect.exit(Ask.ask(payload, { key: "k" })), {
                  concurrency: "unbounded"
                }),
                () => ({ log: ["swallowed"] })
              )
          }),
          { start: "node" }
        )
      assert.deepStrictEqual(
        yield* Effect.flip(graph(["one", "two"]).thread("two").invoke({})),
        new GraphError.DuplicateKey({ kind: "ask", node: "node", called: "Ask", key: "k" })
      )
      assert.deepStrictEqual(payloads(yield* paused(graph(["one", "one"]).thread("one").invoke({}))), ["one"])
    })
)

behaves(
  "L10 a key is asked again by a retry inside the node while it waits, and by every new attempt",
  () =>
    Effect.gen(function*() {
      const attempts: Array<number> = []
      const graph = StateGraph.make(
        "again",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            run: Effect.fnUntraced(function*() {
              const { attempt } = yield* Running.Running
              const answer = yield* Effect.retry(Ask.ask("q", { key: "k" }), { times: 2 })
              attempts.push(attempt)
              if (attempt === 1) return yield* new Failed({ at: attempt })
              return { log: [answer] }
            }),
            retry: Policy.retry({ schedule: Schedule.recurs(1) })
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["q"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("a")), { log: ["a"] })
      assert.deepStrictEqual(attempts, [1, 2])
    })
)

behaves(
  "L11 unkeyed questions from two fibers of one task are refused, even if both failures are caught",
  () =>
    Effect.gen(function*() {
      const ask = (key?: string) => Effect.exit(Ask.ask("?", key === undefined ? undefined : { key }))
      const graph = (keys: ReadonlyArray<string | undefined>) =>
        StateGraph.make(
          "fibers",
          StateGraph.nodes(Log, {
            node: () => Effect.as(Effect.all(keys.map(ask), { concurrency: "unbounded" }), { log: ["done"] })
          }),
          { start: "node" }
        )
      const refused = yield* Effect.flip(graph([undefined, undefined]).thread("two").invoke({}))
      assert.deepStrictEqual(refused, new GraphError.ConcurrentCall({ kind: "ask", node: "node", called: "Ask" }))
      const state = yield* graph([undefined, undefined]).thread("two").state()
      assert.deepStrictEqual([state.values, state.next, state.requests], [{ log: [] }, ["node"], []])
      // One of them without a key is told from the others.
      assert.strictEqual((yield* paused(graph([undefined, "a", "b"]).thread("one").invoke({}))).length, 3)
    })
)

behaves("L11 parallel tasks that ask the same have questions of their own", () =>
  Effect.gen(function*() {
    const ask = () => Effect.map(Ask.ask("same?"), (answer) => ({ log: [answer] }))
    const graph = StateGraph.make("parallel", StateGraph.nodes(Log, { a: ask, b: ask, c: ask }), {
      start: ["a", "b", "c"]
    })
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    const { tasks } = yield* thread.state()
    assert.deepStrictEqual(tasks.map(({ node, requests }) => [node, payloads(requests)]), [
      ["a", ["same?"]],
      ["b", ["same?"]],
      ["c", ["same?"]]
    ])
    const id = (node: string) => tasks.find((task) => task.node === node)!.requests[0]!.id
    yield* paused(thread.resume(Ask.reply("for b", { id: id("b") })))
    assert.deepStrictEqual(
      yield* thread.resume([Ask.reply("for c", { id: id("c") }), Ask.reply("for a", { id: id("a") })]),
      { log: ["for a", "for b", "for c"] }
    )
  }))

behaves("L11 a node in a loop asks anew in each turn, under an id of its own", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "turns",
      StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask("more?"), (answer) => ({ log: [answer] })) }),
      { start: "ask", edges: { ask: StateGraph.route(["ask", END], (s) => s.log.at(-1) === "no" ? END : "ask") } }
    )
    const thread = graph.thread("t")
    const [first] = yield* paused(thread.invoke({}))
    const [second] = yield* paused(thread.resume(Ask.reply("yes")))
    assert.notStrictEqual(first!.id, second!.id)
    const late = yield* Effect.flip(thread.resume(Ask.reply("yes", { id: first!.id })))
    assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "Unknown")
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("no")), { log: ["yes", "no"] })
  }))

behaves(
  "L11 the same question on the same way has the same id in another thread, and another in another branch",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "ids",
        StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) }),
        {
          start: "ask"
        }
      )
      const [one] = yield* paused(graph.thread("one").invoke({}))
      const [two] = yield* paused(graph.thread("two").invoke({}))
      assert.strictEqual(one!.id, two!.id)
      const [, start] = yield* graph.thread("one").history()
      const [again] = yield* paused(graph.thread("one").continue({ checkpoint: start!.checkpoint }))
      assert.notStrictEqual(again!.id, one!.id)
    })
)
