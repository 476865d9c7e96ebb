/** Commands by which a graph steers the graphs around it. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { Channel, Command, GraphError, Interrupt, Policy, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Named extends State.make({ name: Schema.String, log: Channel.append(Schema.String) }) {}

const untyped = <A>(value: unknown): A => value as A
const persistences = ["call", "thread", "none"] as const

behaves(
  "LG#156 a node that calls two graphs: either may leave, and the rest of the node is not run",
  () =>
    Effect.gen(function*() {
      const leaver = (name: string, leaves: boolean) =>
        StateGraph.make(
          name,
          StateGraph.nodes(Log, {
            n: () =>
              leaves
                ? Command.parent({ update: { log: [`left ${name}`] }, goto: "second" })
                : Effect.succeed({ log: [name] })
          }),
          { start: "n" }
        )
      for (const which of ["one", "two"]) {
        const runs: Array<string> = []
        const one = leaver("one", which === "one")
        const two = leaver("two", which === "two")
        const graph = StateGraph.make(
          "parent",
          StateGraph.nodes(Log, {
            first: Effect.fnUntraced(function*() {
              yield* one.call({})
              runs.push("after one")
              yield* two.call({})
              runs.push("after two")
              return { log: ["not reached"] }
            }),
            second: (s) => ({ log: [`second after ${s.log.length}`] })
          }),
          { start: "first" }
        )
        const expected = { log: [`left ${which}`, "second after 1"] }
        assert.deepStrictEqual(yield* graph.invoke({}), expected)
        assert.deepStrictEqual(runs, which === "one" ? [] : ["after one"])
        assert.deepStrictEqual(yield* graph.thread(which).invoke({}), expected)
      }
    })
)

behaves("LG#157 a graph in a node updates the graph around it, in every durability", () =>
  Effect.gen(function*() {
    const lookUp = StateGraph.make(
      "lookUp",
      StateGraph.nodes(Named, { ask: () => Command.parent({ update: { name: "Meow" } }) }),
      { start: "ask" }
    )
    const graph = StateGraph.make(
      "alice",
      StateGraph.nodes(Named, { lookUp, greet: (s) => ({ log: [`hello ${s.name}`] }) }),
      {
        start: "lookUp",
        edges: { lookUp: "greet" }
      }
    )
    for (const durability of ["sync", "async", "exit"] as const) {
      const thread = graph.thread(durability)
      assert.deepStrictEqual(yield* thread.invoke({ name: "?" }, { durability }), { name: "Meow", log: ["hello Meow"] })
      assert.deepStrictEqual((yield* thread.state()).values, { name: "Meow", log: ["hello Meow"] })
    }
  }))

behaves(
  "LG#157 a graph goes to a node of its parent, whatever it keeps of itself; what its nodes had written goes up too",
  () =>
    Effect.gen(function*() {
      for (const persistence of persistences) {
        const child = StateGraph.make(
          "child",
          StateGraph.nodes(Log, {
            a: () => ({ log: ["a"] }),
            b: () => Command.parent({ update: { log: ["b left"] }, goto: "target" })
          }),
          { start: "a", edges: { a: "b" } },
          { persistence }
        )
        const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, target: () => ({ log: ["target"] }) }), {
          start: "child"
        })
        const expected = { log: ["init", "a", "b left", "target"] }
        assert.deepStrictEqual(yield* graph.invoke({ log: ["init"] }), expected)
        assert.deepStrictEqual(yield* graph.thread(persistence).invoke({ log: ["init"] }), expected)
      }
    })
)

behaves("LG#157 three levels down, each level hands on", () =>
  Effect.gen(function*() {
    for (const persistence of persistences) {
      const innermost = StateGraph.make(
        "innermost",
        StateGraph.nodes(Log, {
          i: () => Command.parent({ update: { log: ["i"] }, goto: "leave" })
        }),
        { start: "i" },
        { persistence }
      )
      const middle = StateGraph.make(
        "middle",
        StateGraph.nodes(Log, {
          innermost,
          leave: () => Command.parent({ update: { log: ["leave"] }, goto: "end" })
        }),
        { start: "innermost" },
        { persistence }
      )
      const outer = StateGraph.make("outer", StateGraph.nodes(Log, { middle, end: () => ({ log: ["end"] }) }), {
        start: "middle"
      })
      const expected = { log: ["in", "i", "leave", "end"] }
      assert.deepStrictEqual(yield* outer.invoke({ log: ["in"] }), expected)
      assert.deepStrictEqual(yield* outer.thread(persistence).invoke({ log: ["in"] }), expected)
    }
  }))

it.effect("LG#157 it makes no difference whether a superstep is bounded in time", () =>
  Effect.gen(function*() {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, { n: () => Command.parent({ update: { log: ["n"] }, goto: "target" }) }),
      { start: "n" }
    )
    const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, target: () => ({ log: ["target"] }) }), {
      start: "child"
    })
    assert.deepStrictEqual(yield* graph.invoke({}, { superstepTimeout: "1 second" }), { log: ["n", "target"] })
    const root = yield* Effect.flip(child.invoke({}, { superstepTimeout: "1 second" }))
    assert.deepStrictEqual(
      root,
      new GraphError.NoParentGraph({ graph: "child", update: { log: ["n"] }, goto: ["target"] })
    )
  }))

behaves(
  "LG#165 E4 at the root there is no parent: a typed failure that says what was wanted",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "lonely",
        StateGraph.nodes(Log, { n: () => Command.parent({ update: { log: ["x"] }, goto: "b" }) }),
        { start: "n" }
      )
      const expected = new GraphError.NoParentGraph({ graph: "lonely", update: { log: ["x"] }, goto: ["b"] })
      assert.deepStrictEqual(yield* Effect.flip(graph.invoke({})), expected)
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), expected)
      assert.deepStrictEqual((yield* thread.state()).next, ["n"])
    })
)

behaves(
  "E4 a target that the parent does not have is an unknown route, and nothing is committed",
  () =>
    Effect.gen(function*() {
      for (const persistence of persistences) {
        const child = StateGraph.make(
          "child",
          StateGraph.nodes(Log, {
            n: () => Command.parent({ update: { log: ["x"] }, goto: untyped<"other">("nowhere") })
          }),
          { start: "n" },
          { persistence }
        )
        const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, other: () => ({ log: ["other"] }) }), {
          start: "child"
        })
        const thread = graph.thread(persistence)
        assert.deepStrictEqual(
          yield* Effect.flip(thread.invoke({ log: ["in"] })),
          new GraphError.UnknownRoute({ from: "child", value: "nowhere", allowed: ["child", "other"] })
        )
        const state = yield* thread.state()
        assert.deepStrictEqual([state.values.log, state.next], [["in"], ["child"]])
      }
    })
)

behaves(
  "E4 a graph that is kept and leaves goes on, in its next call, from what it had committed",
  () =>
    Effect.gen(function*() {
      class Own extends State.make({ log: Channel.append(Schema.String), own: Channel.append(Schema.String) }, {
        input: ["log"]
      }) {}
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Own, {
          note: (s) => ({ own: [`visit ${s.own.length}`] }),
          leave: (s) => Command.parent({ update: { log: [s.own.join(", ")] }, goto: "after" })
        }),
        { start: "note", edges: { note: "leave" } },
        { persistence: "thread" }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, after: () => ({ log: ["after"] }) }), {
        start: "child"
      })
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* thread.invoke({}), { log: ["visit 0", "after"] })
      assert.deepStrictEqual(yield* thread.invoke({}), { log: ["visit 0", "after", "visit 0, visit 1", "after"] })
      const called = StateGraph.make(
        "caller",
        StateGraph.nodes(Log, {
          call: () => Effect.asVoid(child.call({})),
          after: () => ({ log: ["after"] })
        }),
        { start: "call" }
      ).thread("u")
      assert.deepStrictEqual(yield* called.invoke({}), { log: ["visit 0", "after"] })
      assert.deepStrictEqual(yield* called.invoke({}), { log: ["visit 0", "after", "visit 0, visit 1", "after"] })
    })
)

behaves(
  "E5 several commands of one superstep all arrive, in task order, and their target runs once",
  () =>
    Effect.gen(function*() {
      for (const persistence of persistences) {
        const child = StateGraph.make(
          "child",
          StateGraph.nodes(Log, {
            x: () =>
              Effect.andThen(
                Effect.repeat(Effect.yieldNow, { times: 10 }),
                Command.parent({ update: { log: ["x"] }, goto: "z" })
              ),
            y: () => Command.parent({ update: { log: ["y"] }, goto: "z" })
          }),
          { start: ["x", "y"] },
          { persistence }
        )
        const graph = StateGraph.make(
          "parent",
          StateGraph.nodes(Log, { child, z: (s) => ({ log: [`z after ${s.log.length}`] }) }),
          { start: "child" }
        )
        assert.deepStrictEqual(yield* graph.invoke({}), { log: ["x", "y", "z after 2"] })
        assert.deepStrictEqual(yield* graph.thread(persistence).invoke({}), { log: ["x", "y", "z after 2"] })
      }
    })
)

behaves("E5 what a sibling had written goes up with the command, whoever was first", () =>
  Effect.gen(function*() {
    const slow = Effect.repeat(Effect.yieldNow, { times: 10 })
    for (const late of ["x", "y"]) {
      const after = (name: string) => late === name ? Effect.asVoid(slow) : Effect.void
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          x: () => Effect.andThen(after("x"), Command.parent({ update: { log: ["x"] }, goto: "z" })),
          y: () => Effect.as(after("y"), { log: ["y"] })
        }),
        { start: ["x", "y"] }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, z: () => ({ log: ["z"] }) }), {
        start: "child"
      })
      assert.deepStrictEqual(yield* graph.invoke({}), { log: ["y", "x", "z"] })
      assert.deepStrictEqual(yield* graph.thread(late).invoke({}), { log: ["y", "x", "z"] })
    }
  }))

behaves("E5 to different targets, both run, in one superstep", () =>
  Effect.gen(function*() {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        x: () => Command.parent({ goto: "p" }),
        y: () => Command.parent({ goto: "q" })
      }),
      { start: ["x", "y"] }
    )
    const graph = StateGraph.make(
      "parent",
      StateGraph.nodes(Log, {
        child,
        p: (s) => ({ log: [`p${s.log.length}`] }),
        q: (s) => ({ log: [`q${s.log.length}`] })
      }),
      { start: "child" }
    )
    assert.deepStrictEqual(yield* graph.invoke({}), { log: ["p0", "q0"] })
  }))

behaves("E5 of two graphs of one superstep, each leaves for itself", () =>
  Effect.gen(function*() {
    const leaver = (name: string) =>
      StateGraph.make(
        name,
        StateGraph.nodes(Log, { n: () => Command.parent({ update: { log: [name] }, goto: "z" }) }),
        { start: "n" }
      )
    const graph = StateGraph.make(
      "parent",
      StateGraph.nodes(Log, { a: leaver("a"), b: leaver("b"), z: () => ({ log: ["z"] }) }),
      { start: ["a", "b"] }
    )
    assert.deepStrictEqual(yield* graph.invoke({}), { log: ["a", "b", "z"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "z"] })
  }))

behaves(
  "L8 a last-value key that the graph wrote and its command writes again goes up once, with the last",
  () =>
    Effect.gen(function*() {
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Named, {
          a: () => ({ name: "a" }),
          b: () => Command.parent({ update: { name: "b", log: ["left"] }, goto: "z" })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const graph = StateGraph.make(
        "parent",
        StateGraph.nodes(Named, { child, z: (s) => ({ log: [`z ${s.name}`] }) }),
        { start: "child" }
      )
      assert.deepStrictEqual(yield* graph.invoke({ name: "?" }), { name: "b", log: ["left", "z b"] })
      assert.deepStrictEqual(yield* graph.thread("t").invoke({ name: "?" }), { name: "b", log: ["left", "z b"] })
    })
)

behaves("L4 two commands of one superstep that write one last-value key are refused", () =>
  Effect.gen(function*() {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Named, {
        x: () => Command.parent({ update: { name: "x" }, goto: "z" }),
        y: () => Command.parent({ update: { name: "y" }, goto: "z" })
      }),
      { start: ["x", "y"] }
    )
    const graph = StateGraph.make("parent", StateGraph.nodes(Named, { child, z: () => undefined }), { start: "child" })
    const refused = yield* Effect.flip(graph.invoke({ name: "?" }))
    assert.deepStrictEqual([refused._tag, refused._tag === "InvalidUpdate" && [refused.reason, refused.channel]], [
      "InvalidUpdate",
      ["MultipleWrites", "name"]
    ])
  }))

behaves(
  "L10 a command for the parent is not retried and no handler sees it, and a question outranks it",
  () =>
    Effect.gen(function*() {
      class Sure extends Interrupt.make("Sure", { payload: Schema.String, answer: Schema.Boolean }) {}
      let runs = 0
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          n: () =>
            Effect.suspend(() => {
              runs++
              return Effect.ignore(Sure.ask("leave?")).pipe(
                Effect.andThen(Command.parent({ update: { log: ["left"] }, goto: "z" }))
              )
            })
        }),
        { start: "n" },
        { retry: Policy.retry({ maxAttempts: 3 }) }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, z: () => ({ log: ["z"] }) }), {
        start: "child"
      }, {
        retry: Policy.retry({ maxAttempts: 3 })
      })
      const thread = graph.thread("t")
      assert.strictEqual((yield* Effect.flip(thread.invoke({})))._tag, "GraphInterrupt")
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual(yield* thread.resume(Sure.reply(true)), { log: ["left", "z"] })
      assert.strictEqual(runs, 2)
    })
)

behaves(
  "L8 the events of the parent show the command's update, and nothing of the child says it failed",
  () =>
    Effect.gen(function*() {
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          a: () => ({ log: ["a"] }),
          b: () => Command.parent({ update: { log: ["b"] }, goto: "z" })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, z: () => ({ log: ["z"] }) }), {
        start: "child"
      })
      const events = yield* Stream.runCollect(graph.thread("t").stream({}, { modes: ["updates"], subgraphs: true }))
      assert.deepStrictEqual<ReadonlyArray<unknown>>(
        events.map((event) => event.mode === "updates" ? [event.path, event.node, event.update] : []),
        [
          [["child"], "a", { log: ["a"] }],
          [[], "child", [{ log: ["a"] }, { log: ["b"] }]],
          [[], "z", { log: ["z"] }]
        ]
      )
    })
)

behaves(
  "L7 a node has one kind of routing: a graph with edges that leaves for elsewhere is refused, in the types and when it does",
  () =>
    Effect.gen(function*() {
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          n: (s) =>
            s.log.includes("leave")
              ? Command.parent({ update: { log: ["left"] }, goto: "elsewhere" })
              : Effect.succeed({ log: ["n"] })
        }),
        { start: "n" }
      )
      const graph = StateGraph.make(
        "parent",
        StateGraph.nodes(Log, { child, next: () => ({ log: ["next"] }), elsewhere: () => ({ log: ["elsewhere"] }) }),
        {
          start: "child",
          // @ts-expect-error the graph goes elsewhere by a command for its parent
          edges: { child: "next" }
        }
      )
      assert.deepStrictEqual(yield* graph.invoke({ log: [] }), { log: ["n", "next"] })
      const refused = yield* Effect.flip(graph.invoke({ log: ["leave"] }))
      assert.deepStrictEqual([refused._tag, refused._tag === "InvalidUpdate" && [refused.reason, refused.writers]], [
        "InvalidUpdate",
        ["MixedRouting", ["child"]]
      ])
    })
)

behaves("L9 after a graph left, going back to before it runs it again", () =>
  Effect.gen(function*() {
    let runs = 0
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        n: () => {
          runs++
          return Command.parent({ update: { log: ["left"] }, goto: "z" })
        }
      }),
      { start: "n" }
    )
    const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, z: () => ({ log: ["z"] }) }), {
      start: "child"
    })
    const thread = graph.thread("t")
    yield* thread.invoke({})
    const before = (yield* thread.history()).find(({ next }) => next[0] === "child")!
    assert.deepStrictEqual(yield* thread.continue({ checkpoint: before.checkpoint }), { log: ["left", "z"] })
    assert.strictEqual(runs, 2)
  }))
