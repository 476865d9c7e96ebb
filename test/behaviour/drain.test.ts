/** Asking a run to stop after its superstep, and going on later. */
import { assert } from "@effect/vitest"
import { Effect, Exit, Schedule, Schema } from "effect"
import { Channel, Command, GraphError, Interrupt, Node, Policy, Running, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Confirm extends Interrupt.make("Confirm", { payload: Schema.String, answer: Schema.String }) {}

/** A node that asks for a stop, once. */
const drainer = (name: string, runs: Array<string>, reason?: string) => () =>
  Effect.andThen(
    Effect.suspend(() => {
      runs.push(name)
      return runs.filter((run) => run === name).length === 1 ? Running.drain(reason) : Effect.void
    }),
    Effect.succeed({ log: [name] })
  )

const noting = (name: string, runs: Array<string>) => () => {
  runs.push(name)
  return { log: [name] }
}

behaves(
  "LG#173 a drained run ends its superstep, says why and what is left, and goes on later",
  () =>
    Effect.gen(function*() {
      for (const [reason, said] of [[undefined, "shutdown"], ["sigterm", "sigterm"]] as const) {
        for (const durability of ["sync", "async", "exit"] as const) {
          const runs: Array<string> = []
          const graph = StateGraph.make(
            "g",
            StateGraph.nodes(Log, { a: drainer("a", runs, reason), b: noting("b", runs), c: noting("c", runs) }),
            {
              start: "a",
              edges: StateGraph.sequence("a", "b", "c")
            }
          )
          const thread = graph.thread(`${said} ${durability}`)
          assert.deepStrictEqual(
            yield* Effect.flip(thread.invoke({}, { durability })),
            new GraphError.GraphDrained({ reason: said, next: ["b"] })
          )
          const state = yield* thread.state()
          assert.deepStrictEqual([state.values.log, state.next], [["a"], ["b"]])
          assert.deepStrictEqual(yield* thread.continue({ durability }), { log: ["a", "b", "c"] })
          assert.deepStrictEqual(runs, ["a", "b", "c"])
        }
      }
    })
)

behaves("LG#173 a run that is drained in its last superstep has ended", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: drainer("a", []) }), { start: "a" })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a"] })
    assert.deepStrictEqual(yield* graph.invoke({}), { log: ["a"] })
  }))

behaves("LG#173 the siblings of the one who drains run to their end", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        a: drainer("a", runs),
        slow: () => Effect.as(Effect.repeat(Effect.yieldNow, { times: 20 }), { log: ["slow"] }),
        end: noting("end", runs)
      }),
      { start: ["a", "slow"], edges: { slow: "end" } }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({})),
      new GraphError.GraphDrained({ reason: "shutdown", next: ["end"] })
    )
    assert.deepStrictEqual((yield* thread.state()).values.log, ["a", "slow"])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "slow", "end"] })
  }))

behaves("LG#173 draining a graph in a graph stops both, and both go on where they were", () =>
  Effect.gen(function*() {
    for (const persistence of ["call", "thread"] as const) {
      for (const durability of ["sync", "exit"] as const) {
        const runs: Array<string> = []
        const child = StateGraph.make("child", StateGraph.nodes(Log, { a: drainer("a", runs), b: noting("b", runs) }), {
          start: "a",
          edges: { a: "b" }
        }, { persistence })
        const graph = StateGraph.make(
          "parent",
          StateGraph.nodes(Log, {
            pre: noting("pre", runs),
            child,
            side: noting("side", runs),
            post: noting("post", runs)
          }),
          { start: "pre", edges: { pre: ["child", "side"], child: "post" } }
        )
        const thread = graph.thread(`${persistence} ${durability}`)
        assert.deepStrictEqual(
          yield* Effect.flip(thread.invoke({}, { durability })),
          new GraphError.GraphDrained({ reason: "shutdown", next: ["b"] })
        )
        const state = yield* thread.state()
        assert.deepStrictEqual([state.next, state.tasks.map(({ error }) => error)], [["child"], [undefined, undefined]])
        assert.deepStrictEqual((yield* thread.at(["child"]).state()).next, ["b"])
        assert.deepStrictEqual(yield* thread.continue({ durability }), { log: ["pre", "a", "b", "side", "post"] })
        assert.sameMembers(runs, ["pre", "a", "side", "b", "post"])
        assert.deepStrictEqual(runs.slice(3), ["b", "post"])
      }
    }
  }))

behaves(
  "LG#173 a node whose called graph was drained stops with it: no retry, no handler, and no catching it",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const child = StateGraph.make("child", StateGraph.nodes(Log, { a: drainer("a", runs), b: noting("b", runs) }), {
        start: "a",
        edges: { a: "b" }
      })
      const graph = StateGraph.make(
        "parent",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            run: () =>
              Effect.catch(
                Effect.map(child.call({}), ({ log }) => ({ log })),
                () => Effect.succeed({ log: ["swallowed"] })
              ),
            retry: Policy.retry({ schedule: Schedule.spaced(1), maxAttempts: 3 }),
            onError: () => Effect.succeed({ log: ["handled"] })
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(
        yield* Effect.flip(thread.invoke({})),
        new GraphError.GraphDrained({ reason: "shutdown", next: ["b"] })
      )
      assert.deepStrictEqual((yield* thread.state()).tasks.map(({ error, node }) => [node, error]), [[
        "node",
        undefined
      ]])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
      assert.deepStrictEqual(runs, ["a", "b"])
    })
)

behaves("L10 a breakpoint in a called graph cannot be caught either", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const child = StateGraph.make("child", StateGraph.nodes(Log, { a: noting("a", runs), b: noting("b", runs) }), {
      start: "a",
      edges: { a: "b" }
    }, { before: ["b"] })
    const graph = StateGraph.make(
      "parent",
      StateGraph.nodes(Log, {
        node: () =>
          Effect.catch(Effect.map(child.call({}), ({ log }) => ({ log })), () => Effect.succeed({ log: ["swallowed"] }))
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({})),
      new GraphError.GraphBreakpoint({ when: "before", nodes: ["b"], next: ["b"] })
    )
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
    assert.deepStrictEqual(runs, ["a", "b"])
  }))

behaves("LG#174 a node that is in flight when the run is drained finishes what it does", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        a: Effect.fnUntraced(function*() {
          yield* Running.drain("now")
          const more = yield* Effect.forEach([1, 2], (n) => Effect.as(Effect.yieldNow, `still ${n}`), {
            concurrency: "unbounded"
          })
          return { log: more }
        })
      }),
      { start: "a" }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["still 1", "still 2"] })
  }))

behaves("L7 a drain releases no join, and a join that waits is not stalled by it", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        a: drainer("a", runs),
        b: noting("b", runs),
        late: noting("late", runs),
        both: noting("both", runs)
      }),
      { start: ["a", "b"], edges: { a: StateGraph.join("both"), b: "late", late: StateGraph.join("both") } }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({})),
      new GraphError.GraphDrained({ reason: "shutdown", next: ["late"] })
    )
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "late", "both"] })
  }))

behaves("L10 of a pause and a drain in one superstep the pause is seen", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        a: drainer("a", runs),
        ask: () => Effect.map(Confirm.ask("?"), (answer) => ({ log: [answer] })),
        end: noting("end", runs)
      }),
      { start: ["a", "ask"], edges: { ask: "end" } }
    )
    const thread = graph.thread("t")
    assert.strictEqual((yield* Effect.flip(thread.invoke({})))._tag, "GraphInterrupt")
    assert.deepStrictEqual(yield* thread.resume(Confirm.reply("yes")), { log: ["a", "yes", "end"] })
    assert.deepStrictEqual(runs, ["a", "end"])
  }))

behaves("LG#173 Sends that are left when a run is drained are sent when it goes on", () =>
  Effect.gen(function*() {
    class Work extends State.make({ log: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Work, {
        go: () => Effect.as(Running.drain(), Command.make({ goto: [1, 2].map((n) => Send.make("work", { n })) })),
        work: Node.make({ input: Schema.Struct({ n: Schema.Int }), run: ({ n }) => Effect.succeed({ log: [`${n}`] }) })
      }),
      { start: "go" }
    )
    const thread = graph.thread("t")
    const exit = yield* Effect.exit(thread.invoke({}))
    assert.deepStrictEqual(exit, Exit.fail(new GraphError.GraphDrained({ reason: "shutdown", next: ["work", "work"] })))
    assert.deepStrictEqual(yield* thread.continue(), { log: ["1", "2"] })
  }))
