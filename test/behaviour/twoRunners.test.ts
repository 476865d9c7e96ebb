/** Law 14: of two runners of one thread each sees the whole of what stands, or is told that it does not. */
import { assert } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Channel, Checkpointer, Command, Entrypoint, Interrupt, State, StateGraph, Task } from "superstep"
import { ThreadConflict } from "superstep/GraphError"
import { paused } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class S extends State.make({
  log: Channel.append(Schema.String),
  last: Channel.lastValue(Schema.String, { initial: () => "" })
}) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

/** The saver of the test, with something done before each of some calls. */
const before = Effect.fnUntraced(
  function*(calls: Partial<Record<"head" | "get" | "putTasks" | "commit", () => Effect.Effect<void>>>) {
    const saver = yield* Checkpointer.Checkpointer
    const first = (call: keyof typeof calls) => calls[call]?.() ?? Effect.void
    return Checkpointer.Checkpointer.of({
      ...saver,
      head: (...args) => Effect.andThen(first("head"), saver.head(...args)),
      get: (...args) => Effect.andThen(first("get"), saver.get(...args)),
      putTasks: (...args) => Effect.andThen(first("putTasks"), saver.putTasks(...args)),
      commit: (...args) => Effect.andThen(first("commit"), saver.commit(...args))
    })
  }
)

const slow = before({
  head: () => Effect.sleep(2),
  get: () => Effect.sleep(2),
  putTasks: () => Effect.sleep(2),
  commit: () => Effect.sleep(2)
})

const on = <A, E, R>(run: Effect.Effect<A, E, R>, saver: Checkpointer.CheckpointerShape) =>
  Effect.provideService(run, Checkpointer.Checkpointer, saver)

behaves("a Command of a runner that lost is in no state that another has committed", () =>
  Effect.gen(function*() {
    const [gate, begun] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    let mode: "fail" | "wait" | "never" = "fail"
    const graph = StateGraph.make(
      "ghost",
      StateGraph.nodes(S, {
        x: () =>
          Effect.gen(function*() {
            if (mode === "fail") return yield* Effect.fail("boom")
            if (mode === "never") return yield* Effect.never
            mode = "never"
            yield* Deferred.succeed(begun, undefined)
            yield* Deferred.await(gate)
            return { log: ["x"] }
          }),
        y: () => ({ log: ["y"] })
      }),
      { start: "x", edges: { x: "y" } }
    )
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({ log: ["in"] }))
    mode = "wait"
    const first = yield* Effect.forkChild(Effect.exit(thread.continue()))
    yield* Deferred.await(begun)
    const command = Command.make({ update: { log: ["ghost"], last: "ghost" } })
    const second = yield* Effect.forkChild(Effect.exit(thread.invoke(command)))
    const saver = yield* Checkpointer.Checkpointer
    // Until the Command is stored.
    while ((yield* thread.state()).values.last !== "ghost") yield* Effect.sleep(1)
    yield* Deferred.succeed(gate, undefined)
    const conflict = yield* Effect.flip(yield* Fiber.join(first))
    assert.strictEqual((conflict as { readonly _tag: string })._tag, "ThreadConflict")
    yield* Fiber.interrupt(second)
    // What the first has finished stands, and so does the Command: who goes on has both.
    const values = yield* on(thread.continue(), saver)
    assert.deepStrictEqual(values, { log: ["in", "ghost", "x", "y"], last: "ghost" })
    assert.deepStrictEqual((yield* thread.state()).values, values)
  }))

behaves("of two Commands at once one is refused, and the state is that of the other", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "commands",
      StateGraph.nodes(S, { x: ({ last }) => ({ log: [`x after ${last}`] }) }),
      {
        start: "x"
      }
    )
    const thread = graph.thread("t")
    yield* thread.invoke({ log: ["in"] })
    const saver = yield* slow
    const send = (name: string) =>
      Effect.result(on(thread.invoke(Command.make({ update: { log: [name], last: name }, goto: "x" })), saver))
    const results = yield* Effect.all([send("A"), send("B")], { concurrency: 2 })
    const won = results.flatMap((result) => result._tag === "Success" ? [result.success] : [])
    const lost = results.flatMap((result) => result._tag === "Failure" ? [result.failure._tag] : [])
    assert.deepStrictEqual([won.length, lost], [1, ["ThreadConflict"]])
    const { last } = won[0]!
    assert.deepStrictEqual(won[0], { log: ["in", "x after ", last, `x after ${last}`], last })
    assert.deepStrictEqual((yield* thread.state()).values, won[0])
  }))

behaves(
  "a lone task whose result another runner has stored already is not committed beside it",
  () =>
    Effect.gen(function*() {
      const [gate, begun] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let mode: "wait" | "fail" | "A" = "wait"
      const graph = StateGraph.make(
        "lone",
        StateGraph.nodes(S, {
          x: () =>
            Effect.gen(function*() {
              if (mode === "wait") {
                mode = "fail"
                yield* Deferred.succeed(begun, undefined)
                yield* Deferred.await(gate)
                return { log: ["B"], last: "B" }
              }
              if (mode === "fail") {
                mode = "A"
                return yield* Effect.fail("boom")
              }
              return { log: ["A"], last: "A" }
            }),
          y: ({ last }) => ({ log: [`y sees ${last}`] })
        }),
        { start: "x", edges: { x: "y" } }
      )
      const thread = graph.thread("t")
      const first = yield* Effect.forkChild(Effect.exit(thread.invoke({ log: ["in"] })))
      yield* Deferred.await(begun)
      yield* Effect.flip(thread.continue())
      const dying = yield* before({ commit: () => Effect.die("the process is gone") })
      yield* Effect.exit(on(thread.continue(), dying))
      yield* Deferred.succeed(gate, undefined)
      const conflict = yield* Effect.flip(yield* Fiber.join(first))
      assert.strictEqual((conflict as { readonly _tag: string })._tag, "ThreadConflict")
      const values = yield* thread.continue()
      assert.deepStrictEqual(values, { log: ["in", "A", "y sees A"], last: "A" })
      assert.deepStrictEqual((yield* thread.state()).values, values)
    })
)

behaves("of two answers at once one is taken, and nothing runs on the other", () =>
  Effect.gen(function*() {
    const seen: Array<string> = []
    const graph = StateGraph.make(
      "answers",
      StateGraph.nodes(S, {
        x: Effect.fnUntraced(function*() {
          const answer = yield* Ask.ask("?")
          seen.push(answer)
          return { log: [answer], last: answer }
        })
      }),
      { start: "x" }
    )
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    const saver = yield* slow
    const answer = (text: string) => Effect.result(on(thread.resume(Ask.reply(text)), saver))
    const results = yield* Effect.all([answer("A"), answer("B")], { concurrency: 2 })
    const won = results.flatMap((result) => result._tag === "Success" ? [result.success.last] : [])
    const lost = results.flatMap((result) => result._tag === "Failure" ? [result.failure._tag] : [])
    assert.deepStrictEqual([won, lost], [seen, ["ThreadConflict"]])
    assert.strictEqual((yield* thread.state()).values.last, seen[0])
  }))

behaves("of answers to two questions at once none is lost in silence", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "keyed",
      StateGraph.nodes(S, {
        x: Effect.fnUntraced(function*() {
          const exits = yield* Effect.forEach(["1", "2"], (key) => Effect.exit(Ask.ask(`${key}?`, { key })))
          const log = exits.map((exit) => Exit.isSuccess(exit) ? exit.value : "")
          return { log }
        })
      }),
      { start: "x" }
    )
    const thread = graph.thread("t")
    const [one, two] = yield* paused(thread.invoke({}))
    const saver = yield* slow
    const answer = (text: string, { id }: { readonly id: string }) =>
      Effect.result(on(thread.resume(Ask.reply(text, { id })), saver))
    const results = yield* Effect.all([answer("1", one!), answer("2", two!)], { concurrency: 2 })
    const tags = results.map((result) => result._tag === "Failure" ? result.failure._tag : "done")
    assert.sameMembers(tags, ["GraphInterrupt", "ThreadConflict"])
    const left = yield* thread.state()
    const refused = tags.indexOf("ThreadConflict") + 1
    assert.deepStrictEqual(left.requests.map(({ payload }) => payload), [`${refused}?`])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply(String(refused))), { log: ["1", "2"], last: "" })
  }))

// ---------------------------------------------------------------------------
// Durability `exit`
// ---------------------------------------------------------------------------

const inner = () =>
  StateGraph.make(
    "inner",
    StateGraph.nodes(S, {
      p: () => ({ log: ["p"] }),
      ask: Effect.fnUntraced(function*() {
        return { log: [yield* Ask.ask("?")] }
      })
    }),
    { start: "p", edges: { p: "ask" } }
  )

behaves(
  "of two runs in durability exit that begin a thread one pauses, and the other is told of the conflict",
  () =>
    Effect.gen(function*() {
      const thread = StateGraph.make("outer", StateGraph.nodes(S, { inner: inner() }), { start: "inner" }).thread("t")
      const saver = yield* slow
      const begin = (text: string) => Effect.flip(on(thread.invoke({ log: [text] }, { durability: "exit" }), saver))
      const errors = yield* Effect.all([begin("1"), begin("2")], { concurrency: 2 })
      assert.sameMembers(errors.map(({ _tag }) => _tag), ["GraphInterrupt", "ThreadConflict"])
      assert.include((yield* thread.resume(Ask.reply("yes"))).log, "yes")
    })
)

behaves(
  "a run in durability exit that dies leaves nothing of it, of graphs inside neither",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const thread = StateGraph.make("outer", StateGraph.nodes(S, { inner: inner() }), { start: "inner" }).thread("t")
      const dying = yield* before({ commit: () => Effect.die("the process is gone") })
      yield* Effect.exit(on(thread.start({ log: ["in"] }, { key: "k", durability: "exit" }), dying))
      assert.deepStrictEqual(yield* saver.threads, [])
      yield* paused(thread.start({ log: ["in"] }, { key: "k", durability: "sync" }))
      assert.deepStrictEqual((yield* thread.resume(Ask.reply("yes"))).log, ["in", "p", "yes"])
    })
)

behaves("a Command of a run in durability exit that died is in no later run", () =>
  Effect.gen(function*() {
    let isBroken = false
    const graph = StateGraph.make(
      "ghost",
      StateGraph.nodes(S, {
        x: () => ({ log: ["x"] }),
        y: () => isBroken ? Effect.fail("boom") : Effect.succeed({ log: ["y"] })
      }),
      { start: "x", edges: { x: "y" } }
    )
    const thread = graph.thread("t")
    yield* thread.invoke({ log: ["in"] })
    const [, old] = yield* thread.history()
    const options = { checkpoint: old!.checkpoint, durability: "exit" } as const
    const dying = yield* before({ commit: () => Effect.die("the process is gone") })
    yield* Effect.exit(on(thread.invoke(Command.make({ update: { log: ["ghost"] } }), options), dying))
    isBroken = true
    yield* Effect.flip(thread.continue(options))
    isBroken = false
    assert.deepStrictEqual((yield* thread.continue()).log, ["in", "x", "y"])
  }))

behaves(
  "a called graph that had finished before a pause does not run again, in any durability",
  () =>
    Effect.gen(function*() {
      for (const persistence of ["call", "thread"] as const) {
        for (const durability of ["sync", "async", "exit"] as const) {
          let runs = 0
          const called = StateGraph.make("called", StateGraph.nodes(S, { p: () => ({ log: [`called ${++runs}`] }) }), {
            start: "p"
          }, { persistence })
          const graph = StateGraph.make(
            "calls",
            StateGraph.nodes(S, {
              x: Effect.fnUntraced(function*() {
                const { log } = yield* called.call({})
                return { log: [...log, yield* Ask.ask("?")] }
              })
            }),
            { start: "x" }
          )
          const thread = graph.thread(`${persistence} ${durability}`)
          yield* paused(thread.invoke({}, { durability }))
          const { log } = yield* thread.resume(Ask.reply("yes"), { durability })
          assert.deepStrictEqual([log, runs], [["called 1", "yes"], 1], `${persistence} ${durability}`)
        }
      }
    })
)

behaves(
  "Law15 checkpoints have the same ids in every durability, also after work was dropped",
  () =>
    Effect.gen(function*() {
      let isBroken = true
      const graph = StateGraph.make(
        "drops",
        StateGraph.nodes(S, { x: () => isBroken ? Effect.fail("boom") : Effect.succeed({ log: ["x"] }) }),
        { start: "x" }
      )
      const heads: Array<string> = []
      for (const durability of ["sync", "async", "exit"] as const) {
        const thread = graph.thread(durability)
        isBroken = true
        yield* Effect.flip(thread.invoke({ log: ["1"] }, { durability }))
        isBroken = false
        yield* thread.invoke({ log: ["2"] }, { durability, pending: "discard" })
        heads.push((yield* thread.state()).checkpoint)
      }
      assert.strictEqual(new Set(heads).size, 1)
    })
)

behaves(
  "a kept graph that is called anew from an older state has the input of that call only",
  () =>
    Effect.gen(function*() {
      for (const durability of ["sync", "exit"] as const) {
        const kept = StateGraph.make(
          "kept",
          StateGraph.nodes(S, { note: ({ log }) => ({ log: [`after ${log.length}`] }) }),
          { start: "note" },
          { persistence: "thread" }
        )
        class Turn extends State.make({ text: Schema.String, log: Channel.lastValue(Schema.Array(Schema.String)) }) {}
        const graph = StateGraph.make(
          "turns",
          StateGraph.nodes(Turn, {
            turn: ({ text }) => Effect.map(kept.call({ log: [text] }), ({ log }) => ({ log }))
          }),
          { start: "turn" }
        )
        const thread = graph.thread(durability)
        yield* thread.invoke({ text: "1", log: [] }, { durability })
        const { checkpoint } = yield* thread.state()
        assert.deepStrictEqual((yield* thread.invoke({ text: "2" }, { durability })).log, [
          "1",
          "after 1",
          "2",
          "after 3"
        ])
        const other = yield* thread.invoke({ text: "3" }, { checkpoint, durability })
        assert.deepStrictEqual(other.log, ["1", "after 1", "3", "after 3"])
        const next = yield* thread.invoke({ text: "4" }, { durability })
        assert.deepStrictEqual(next.log, ["1", "after 1", "3", "after 3", "4", "after 5"])
      }
    })
)

behaves("a function whose thread has moved on begins no other task", () =>
  Effect.gen(function*() {
    const [gate, begun] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const did: Array<string> = []
    const work = Task.make("work", {
      input: Schema.String,
      output: Schema.String,
      run: Effect.fnUntraced(function*(name) {
        did.push(name)
        if (name === "slow") {
          yield* Deferred.succeed(begun, undefined)
          yield* Deferred.await(gate)
        }
        return name
      })
    })
    const both = Entrypoint.make("both", {
      input: Schema.String,
      output: Schema.String,
      run: Effect.fnUntraced(function*(name) {
        return (yield* work(name)) + (yield* work("next"))
      })
    })
    const thread = both.thread("t")
    const slower = yield* Effect.forkChild(Effect.exit(thread.invoke("slow")))
    yield* Deferred.await(begun)
    assert.strictEqual(yield* thread.invoke("fast", { pending: "discard" }), "fastnext")
    yield* Deferred.succeed(gate, undefined)
    const exit = yield* Fiber.join(slower)
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    assert.instanceOf(error, ThreadConflict)
    assert.deepStrictEqual(did, ["slow", "fast", "next"])
    assert.strictEqual((yield* thread.state()).values.__end__, "fastnext")
    assert.isUndefined((yield* thread.verify).divergence)
  }))

behaves(
  "an update of a graph inside a task is refused where the thread has moved on, and is not lost",
  () =>
    Effect.gen(function*() {
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(S, { a: () => ({ log: ["a"] }), b: () => Effect.fail("down") }),
        { start: "a", edges: { a: "b" } }
      )
      const outer = StateGraph.make("outer", StateGraph.nodes(S, { inner }), { start: "inner" })
      const saver = yield* Checkpointer.Checkpointer
      const thread = outer.thread("t")
      yield* Effect.flip(thread.invoke({ log: ["in"] }))
      let isFirst = true
      const overtaken = yield* before({
        commit: () => {
          if (!isFirst) return Effect.void
          isFirst = false
          return Effect.orDie(on(thread.update({ log: ["root"] }), saver))
        }
      })
      const error = yield* Effect.flip(on(thread.at(["inner"]).update({ log: ["inside"] }), overtaken))
      assert.instanceOf(error, ThreadConflict)
      const { values } = yield* thread.state()
      assert.deepStrictEqual(values.log, ["in", "root"])
      yield* thread.at(["inner"]).update({ log: ["again"] })
      assert.deepStrictEqual((yield* thread.at(["inner"]).state()).values.log, ["in", "a", "again"])
    })
)
