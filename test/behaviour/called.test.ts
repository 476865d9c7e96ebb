/** Graphs that a node calls, seen from outside. */
import { assert } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import { Channel, Checkpointer, END, GraphError, Interrupt, Send, State, StateGraph } from "superstep"
import { paused, payloads } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

behaves(
  "L9 the state of a called graph is read, and updated while it waits, by the path of its call",
  () =>
    Effect.gen(function*() {
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Log, {
          one: () => ({ log: ["one"] }),
          ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))
        }),
        { start: "one", edges: { one: "ask" } }
      )
      const outer = StateGraph.make(
        "outer",
        StateGraph.nodes(Log, {
          calls: Effect.fnUntraced(function*() {
            const { log } = yield* inner.call({}, { key: "k|1" })
            return { log }
          })
        }),
        { start: "calls" }
      )
      const thread = outer.thread("t")
      yield* Effect.flip(thread.invoke({}))
      const part = thread.at(["calls~@k%007c1"], inner)
      assert.deepStrictEqual([(yield* part.state()).values, (yield* part.state()).next], [{ log: ["one"] }, ["ask"]])
      yield* part.update({ log: ["patched"] }, { asNode: "one" })
      yield* Effect.flip(thread.continue())
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["one", "patched", "yes"] })
      assert.deepStrictEqual((yield* part.history({ limit: 1 })).map(({ values }) => values), [{
        log: ["one", "patched", "yes"]
      }])
      const unknown = yield* Effect.flip(thread.at(["calls~@k%007c1"]).state())
      assert.strictEqual(unknown._tag, "UnknownCheckpoint")
    })
)

/** A graph whose one node calls another, takes whatever that fails with, and notes its tag. */
const catching = (inner: typeof asking, seen: Array<string>) =>
  StateGraph.make(
    "catching",
    StateGraph.nodes(Log, {
      node: () =>
        Effect.catch(inner.call({}), (error) => {
          seen.push(error._tag)
          return Effect.succeed({ log: ["swallowed"] })
        })
    }),
    { start: "node" }
  )

const asking = StateGraph.make(
  "asking",
  StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) }),
  { start: "ask" }
)

behaves(
  "L13 a node does not see that storage fails under a graph that it calls: the run ends with that",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const conflict = { thread: "t", branch: 1, expected: "a", found: "b" }
      const failures = [
        new GraphError.CheckpointError({ reason: "Storage", thread: "t", detail: "the disk is full" }),
        new GraphError.ThreadConflict(conflict),
        new GraphError.ThreadDeleted({ thread: "t" })
      ]
      for (const [index, failure] of failures.entries()) {
        const broken: Checkpointer.CheckpointerShape = {
          ...saver,
          commit: (thread, commit) => commit.namespace === "" ? saver.commit(thread, commit) : Effect.fail(failure)
        }
        const seen: Array<string> = []
        const run = catching(asking, seen).thread(`t${index}`).invoke({})
        assert.strictEqual(
          yield* Effect.flip(Effect.provideService(run, Checkpointer.Checkpointer, broken)),
          failure as unknown
        )
        assert.deepStrictEqual(seen, [])
      }
    })
)

behaves(
  "L11 a node does not see that an answer to a graph that it calls is void: the run ends with that",
  () =>
    Effect.gen(function*() {
      let asks = true
      const seen: Array<string> = []
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Log, {
          ask: () =>
            asks ? Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) : Effect.succeed({ log: ["none"] })
        }),
        { start: "ask" }
      )
      const thread = catching(inner as typeof asking, seen).thread("t")
      yield* paused(thread.invoke({}))
      assert.deepStrictEqual(seen.splice(0), ["InterruptRequest"])
      asks = false
      const error = yield* Effect.flip(thread.resume(Ask.reply("yes")))
      assert.deepStrictEqual([error._tag, error._tag === "InterruptMismatch" && error.reason], [
        "InterruptMismatch",
        "NotAsked"
      ])
      assert.deepStrictEqual(seen, [])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["none"] })
    })
)

behaves("L10 a question outranks the timeout of a graph that its node called", () =>
  Effect.gen(function*() {
    const slow = StateGraph.make("slow", StateGraph.nodes(Log, { wait: () => Effect.never }), { start: "wait" }, {
      runTimeout: 5
    })
    const graph = StateGraph.make(
      "asks and waits",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          yield* Effect.exit(Ask.ask("?"))
          return yield* slow.call({})
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["?"])
    const late = yield* Effect.flip(thread.resume(Ask.reply("yes")))
    assert.deepStrictEqual([late._tag, late._tag === "NodeTimeout" && late.kind], ["NodeTimeout", "run"])
  }))

behaves(
  "L13 in async the end of a graph inside a task does not wait for its commits, and the end of the run does",
  () =>
    Effect.gen(function*() {
      for (const how of ["node", "call"]) {
        const saver = yield* Checkpointer.Checkpointer
        const opened = yield* Deferred.make<void>()
        const commits: Array<string> = []
        const slow: Checkpointer.CheckpointerShape = {
          ...saver,
          commit: (thread, commit) =>
            Effect.andThen(
              Deferred.await(opened),
              Effect.map(saver.commit(thread, commit), () => void commits.push(commit.namespace))
            )
        }
        const inner = StateGraph.make("inner", StateGraph.nodes(Log, { work: () => ({ log: ["inner"] }) }), {
          start: "work"
        })
        const graph = StateGraph.make(
          "outer",
          StateGraph.nodes(Log, {
            inside: how === "node" ? inner : () => inner.call({}),
            // Nothing is stored before this runs.
            after: () => Effect.as(Deferred.succeed(opened, undefined), { log: [`${commits.length} stored`] })
          }),
          { start: "inside", edges: { inside: "after" } }
        )
        const thread = graph.thread(how)
        const run = Effect.provideService(thread.invoke({}, { durability: "async" }), Checkpointer.Checkpointer, slow)
        assert.deepStrictEqual(yield* Effect.timeout(run, "5 seconds"), { log: ["inner", "0 stored"] })
        assert.deepStrictEqual((yield* thread.state()).values, { log: ["inner", "0 stored"] })
        const stored = how === "node" ? "inside" : "inside~0"
        assert.deepStrictEqual(commits, ["", "", stored, stored, stored, "", ""])
      }
    })
)

behaves("L9 in async a graph that is called again stands where its last commit left it", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const slow: Checkpointer.CheckpointerShape = {
      ...saver,
      commit: (thread, commit) => Effect.andThen(Effect.sleep(2), saver.commit(thread, commit))
    }
    const kept = StateGraph.make(
      "kept",
      StateGraph.nodes(Log, { work: (s) => ({ log: [`call ${s.log.length + 1}`] }) }),
      { start: "work" },
      { persistence: "thread" }
    )
    class Turns extends State.make({ turns: Channel.append(Schema.String), log: Channel.append(Schema.String) }) {}
    const turn = () => Effect.map(kept.call({}, { key: "k" }), ({ log }) => ({ turns: [log.join()] }))
    const graph = StateGraph.make("turns", StateGraph.nodes(Turns, { node: turn }), {
      start: "node",
      edges: { node: StateGraph.route(["node"], (s: State.Type<typeof Turns>) => s.turns.length < 3 ? "node" : []) }
    })
    const run = Effect.provideService(
      graph.thread("t").invoke({}, { durability: "async" }),
      Checkpointer.Checkpointer,
      slow
    )
    assert.deepStrictEqual((yield* run).turns, ["call 1", "call 1,call 2", "call 1,call 2,call 3"])
  }))

behaves(
  "L20 a call that a node left running does nothing once the node is done, and takes no later call's place",
  () =>
    Effect.gen(function*() {
      for (const [key, left, own] of [[undefined, "7", "7"], ["x", "stray", "task"]] as const) {
        const ran: Array<string> = []
        const inner = StateGraph.make(
          "inner",
          StateGraph.nodes(Log, {
            note: ({ log }) =>
              Effect.suspend(() => {
                ran.push(log.join())
                return Effect.as(Effect.yieldNow, { log: ["noted"] })
              })
          }),
          { start: "note" }
        )
        const call = (what: string) => inner.call({ log: [what] }, key === undefined ? {} : { key })
        const outer = StateGraph.make(
          "outer",
          StateGraph.nodes(Log, {
            node: Effect.fnUntraced(function*({ log }) {
              if (log.length === 0) {
                yield* Effect.forkDetach(Effect.andThen(Effect.yieldNow, call(left)))
                return { log: ["left"] }
              }
              for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
              return { log: (yield* call(own)).log }
            })
          }),
          {
            start: "node",
            edges: { node: StateGraph.route(["node", END], ({ log }) => log.length > 1 ? END : "node") }
          }
        )
        for (const durability of ["sync", "async", "exit"] as const) {
          ran.length = 0
          const thread = outer.thread(`${durability} ${key}`)
          assert.deepStrictEqual(yield* thread.invoke({}, { durability }), { log: ["left", own, "noted"] })
          assert.deepStrictEqual(ran, [own])
        }
      }
    })
)

behaves(
  "a call with what is no record, or with a key that its state does not have, is refused as an input of a run is",
  () =>
    Effect.gen(function*() {
      const inner = StateGraph.make("inner", StateGraph.nodes(Log, { a: () => ({ log: ["in"] }) }), { start: "a" })
      const inputs = [[{ log: ["lost"] }], new Map([["log", ["lost"]]]), new Date(), Promise.resolve(), {
        typo: ["lost"]
      }]
      for (const input of inputs as ReadonlyArray<unknown> as ReadonlyArray<never>) {
        const outer = StateGraph.make("outer", StateGraph.nodes(Log, { x: () => inner.call(input) }), { start: "x" })
        const sent = StateGraph.make("sent", StateGraph.nodes(Log, { inner, x: () => ({}) }), {
          start: "x",
          edges: { x: StateGraph.route(["inner"], () => Send.make("inner", input)) }
        })
        for (
          const run of [
            inner.invoke(input),
            outer.invoke({}),
            sent.invoke({}),
            outer.thread(`${inputs.indexOf(input)}`).invoke({})
          ]
        ) {
          assert.strictEqual((yield* Effect.flip(run as ReturnType<typeof inner.invoke>))._tag, "InvalidUpdate")
        }
      }
    })
)

behaves("L11 different keys are different questions, also where they are no Unicode", () =>
  Effect.gen(function*() {
    const keys = ["\ud800", "\ud801", "\ufffd"]
    const graph = StateGraph.make(
      "keys",
      StateGraph.nodes(Log, {
        ask: () =>
          Effect.map(
            Effect.all(keys.map((key) => Ask.ask("pay?", { key })), { concurrency: "unbounded", mode: "result" }),
            (answers) => ({ log: answers.map((answer) => answer._tag === "Success" ? answer.success : "none") })
          )
      }),
      { start: "ask" }
    )
    const requests = yield* paused(graph.thread("t").invoke({}))
    assert.strictEqual(new Set(requests.map(({ id }) => id)).size, 3)
    const replies = requests.map(({ id }, index) => Ask.reply(`yes ${index}`, { id }))
    assert.deepStrictEqual(yield* graph.thread("t").resume(replies), { log: ["yes 0", "yes 1", "yes 2"] })
  }))
