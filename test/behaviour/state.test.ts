/** What nodes write, what they read, and what goes in and out of a graph. */
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Number, Schema, Stream } from "effect"
import {
  Channel,
  type Checkpointer,
  Command,
  END,
  GraphError,
  Interrupt,
  Node,
  Send,
  State,
  StateGraph
} from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Demo extends State.make({ total: Schema.Int, log: Channel.append(Schema.String) }) {}

const say = (name: string) => () => Effect.succeed({ log: [name] })

const collect = Effect.fnUntraced(function*<A, E, R>(stream: Stream.Stream<A, E, R>) {
  return [...yield* Stream.runCollect(stream)]
})

/** A graph with its types gone, for updates that do not compile. */
interface Untyped {
  readonly invoke: (input: unknown) => Effect.Effect<unknown, unknown>
  readonly thread: (id: string) => {
    readonly invoke: (input: unknown) => Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>
    readonly continue: () => Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>
    readonly state: () => Effect.Effect<
      { readonly values: unknown; readonly next: ReadonlyArray<string>; readonly step: number },
      unknown,
      Checkpointer.Checkpointer
    >
  }
}
const untyped = (state: State.Any, bodies: object, flow: object): Untyped =>
  (StateGraph.make as unknown as (name: string, nodes: unknown, flow: unknown) => Untyped)(
    "untyped",
    { state, bodies },
    flow
  )

const refused = (
  reason: GraphError.InvalidUpdateReason,
  channel: string | undefined,
  writers: ReadonlyArray<string>,
  detail?: string
) => ({ reason, channel, writers, detail })

const shape = (error: unknown) => {
  assert.instanceOf(error, GraphError.InvalidUpdate)
  const { channel, detail, reason, writers } = error as GraphError.InvalidUpdate
  return { reason, channel, writers, detail }
}

// ---------------------------------------------------------------------------
// Sends and untracked values
// ---------------------------------------------------------------------------

class Carried extends State.make({
  resource: Channel.untracked<() => string>(),
  nested: Schema.Struct({ resource: Schema.String }),
  log: Channel.append(Schema.String)
}, { input: ["nested"], output: ["log"] }) {}

const carrying = StateGraph.make(
  "carrying",
  StateGraph.nodes(Carried, {
    open: () => Effect.succeed({ resource: () => "open" }),
    work: (s) => Effect.succeed({ log: [`${s.resource?.() ?? "gone"} ${s.nested?.resource}`] })
  }),
  {
    start: "open",
    edges: { open: StateGraph.route(["work"], (s) => [Send.make("work", s), Send.make("work", s)]) }
  }
)

behaves(
  "LG#66 a Send carries an untracked value within the run, and the thread keeps nothing of it",
  () =>
    Effect.gen(function*() {
      const thread = carrying.thread("t")
      assert.deepStrictEqual(yield* thread.invoke({ nested: { resource: "kept" } }), {
        log: ["open kept", "open kept"]
      })
      for (const { values } of yield* thread.history()) assert.isFalse(Object.hasOwn(values, "resource"))
      // Only the key itself is left out, not one of the same name inside another.
      assert.deepStrictEqual((yield* thread.state()).values as object, {
        nested: { resource: "kept" },
        log: ["open kept", "open kept"]
      })
    })
)

behaves(
  "LG#66 after a stop the untracked value of a Send is gone, and the rest of it is there",
  () =>
    Effect.gen(function*() {
      const thread = carrying.thread("t")
      yield* Effect.flip(thread.invoke({ nested: { resource: "kept" } }, { before: ["work"] }))
      assert.deepStrictEqual(yield* thread.continue(), { log: ["gone kept", "gone kept"] })
    })
)

// ---------------------------------------------------------------------------
// Several updates in one task
// ---------------------------------------------------------------------------

const joined = Channel.reducer({
  value: Schema.String,
  initial: () => "",
  reduce: (current, update) => current === "" ? update : `${current}, ${update}`
})
class Foo extends State.make({ foo: joined }) {}

behaves("LG#67 a Command may write one key several times", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "several",
      StateGraph.nodes(Foo, {
        one: () => Command.make({ goto: "two", update: [{ foo: "one.0" }, { foo: "one.1" }] }),
        two: () => ({ foo: "two" })
      }),
      { start: "one" }
    )
    const thread = graph.thread("t")
    const events = yield* collect(thread.stream({ foo: "input" }, { modes: ["updates"] }))
    assert.deepStrictEqual(
      events.map((event) => event.mode === "updates" ? [event.node, event.update] : event.mode) as ReadonlyArray<
        unknown
      >,
      [["one", [{ foo: "one.0" }, { foo: "one.1" }]], ["two", { foo: "two" }]]
    )
    const history = yield* thread.history()
    assert.deepStrictEqual(history.map(({ values }) => values.foo), [
      "input, one.0, one.1, two",
      "input, one.0, one.1",
      "input",
      ""
    ])
    assert.deepStrictEqual(history.map(({ tasks }) => tasks.map(({ node, result }) => [node, result])), [
      [],
      [["two", { foo: ["two"] }]],
      [["one", { foo: ["one.0", "one.1"] }]],
      [["__start__", { foo: ["input"] }]]
    ])
  }))

class Text extends State.make({
  foo: Channel.reducer({ value: Schema.String, initial: () => "", reduce: (a, b) => a + b })
}) {}

behaves("LG#68 a list of Commands is folded in its order", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "commands",
      StateGraph.nodes(Text, {
        node_a: () =>
          Effect.succeed([Command.make({ update: { foo: "a1" } }), Command.make({ update: { foo: "a2" } })]),
        node_b: () => Effect.succeed({ foo: "b" })
      }),
      { start: "node_a", edges: { node_a: "node_b" } }
    )
    assert.deepStrictEqual(yield* graph.invoke({ foo: "" }), { foo: "a1a2b" })
    const events = yield* collect(graph.thread("t").stream({ foo: "" }, { modes: ["updates"] }))
    assert.deepStrictEqual(
      events.map((event) => event.mode === "updates" ? [event.node, event.update] : event.mode) as ReadonlyArray<
        unknown
      >,
      [["node_a", [{ foo: "a1" }, { foo: "a2" }]], ["node_b", { foo: "b" }]]
    )
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { foo: "a1a2b" })
  }))

behaves("LG#69 Commands and updates may stand in one list", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "mixed",
      StateGraph.nodes(Text, {
        a: () => Effect.succeed([Command.make({ update: { foo: "a" } }), { foo: "b" }])
      }),
      { start: "a" }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ foo: "" }), { foo: "ab" })
    const updates = StateGraph.make(
      "updates",
      StateGraph.nodes(Text, {
        a: () => Effect.succeed([{ foo: "a" }, { foo: "b" }, { foo: "c" }])
      }),
      { start: "a", edges: { a: StateGraph.route(["a", END], (s) => s.foo.length < 6 ? "a" : END) } }
    )
    // The route sees all of the list.
    assert.deepStrictEqual(yield* updates.thread("u").invoke({}), { foo: "abcabc" })
  }))

behaves("L4 a list that writes one last-value key twice is refused", () =>
  Effect.gen(function*() {
    for (
      const [id, output] of [
        ["list", [{ total: 1 }, { total: 1 }]],
        ["command", Command.make({ update: [{ total: 1 }, { total: 1 }] })],
        ["commands", [Command.make({ update: { total: 1 } }), { total: 1 }]]
      ] as const
    ) {
      const graph = untyped(Demo, { a: () => Effect.succeed(output) }, { start: "a" })
      const expected = refused("MultipleWrites", "total", ["a"])
      assert.deepStrictEqual(shape(yield* Effect.flip(graph.invoke({ total: 0 }))), expected)
      const thread = graph.thread(id)
      assert.deepStrictEqual(shape(yield* Effect.flip(thread.invoke({ total: 0 }))), expected)
      const { next, values } = yield* thread.state()
      assert.deepStrictEqual([values, next], [{ total: 0, log: [] }, ["a"]])
    }
  }))

behaves("L4 what is no update is refused, and says who returned it", () =>
  Effect.gen(function*() {
    for (
      const [output, detail] of [
        [5, "got number"],
        ["text", "got string"],
        [true, "got boolean"],
        [[5], "got number"],
        [[[{ total: 1 }]], "got a list in a list"],
        [Command.make({ update: [5] as never }), "got number"]
      ] as const
    ) {
      const graph = untyped(Demo, { a: () => Effect.succeed(output) }, { start: "a" })
      assert.deepStrictEqual(
        shape(yield* Effect.flip(graph.invoke({ total: 0 }))),
        refused("NotAnUpdate", undefined, ["a"], detail)
      )
    }
    for (const output of [undefined, null, {}, [], [undefined].slice(1)]) {
      const graph = untyped(Demo, { a: () => Effect.succeed(output) }, { start: "a" })
      assert.deepStrictEqual(yield* graph.thread(String(JSON.stringify(output))).invoke({ total: 0 }), {
        total: 0,
        log: []
      })
    }
  }))

behaves("L4 an update of a key that the state does not have is refused", () =>
  Effect.gen(function*() {
    for (const key of ["nope", "__start__", "__tasks", "branch:to:a", "__proto__", "constructor"]) {
      const update = Object.fromEntries([[key, null]])
      const graph = untyped(Demo, { a: () => Effect.succeed(update) }, { start: "a" })
      const thread = graph.thread(key)
      assert.deepStrictEqual(
        shape(yield* Effect.flip(thread.invoke({ total: 0 }))),
        refused("UnknownChannel", key, ["a"])
      )
      assert.deepStrictEqual((yield* thread.state()).next, ["a"])
    }
  }))

// ---------------------------------------------------------------------------
// Overwrite
// ---------------------------------------------------------------------------

behaves("LG#74 an Overwrite replaces what was there", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "overwrite",
      StateGraph.nodes(Log, {
        a: say("a"),
        b: () => Effect.succeed({ log: Channel.overwrite(["b"]) }),
        c: () => Effect.succeed(Command.make({ update: { log: Channel.overwrite(["c"]) } }))
      }),
      { start: "a", edges: { a: "b" } }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: ["START"] }), { log: ["b"] })
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { log: ["b"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke(Command.make({ goto: "c" })), { log: ["c"] })
    // In an input it does the same.
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: Channel.overwrite(["new"]) }), { log: ["b"] })
    assert.deepStrictEqual((yield* graph.thread("t").history({ limit: 2 }))[1]!.values, { log: ["new", "a"] })
  }))

behaves("LG#75 beside an Overwrite the other writes of the superstep are kept, after it", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "parallel",
      StateGraph.nodes(Log, {
        a: say("a"),
        b: () => Effect.succeed({ log: Channel.overwrite(["b"]) }),
        c: say("c"),
        d: say("d")
      }),
      { start: "a", edges: { a: ["b", "c"], b: "d", c: "d" } }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: ["START"] }), { log: ["b", "c", "d"] })
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { log: ["b", "c", "d"] })
  }))

behaves("LG#76 two Overwrites in one superstep conflict", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "conflict",
      StateGraph.nodes(Log, {
        b: () => Effect.succeed({ log: Channel.overwrite(["b"]) }),
        c: () => Effect.succeed({ log: Channel.overwrite(["c"]) })
      }),
      { start: ["b", "c"] }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(
      shape(yield* Effect.flip(thread.invoke({ log: ["START"] }))),
      refused("MultipleOverwrites", "log", ["b", "c"])
    )
    assert.deepStrictEqual((yield* thread.state()).values, { log: ["START"] })
    assert.deepStrictEqual((yield* thread.state()).next, ["b", "c"])
  }))

behaves(
  "L5 an Overwrite of a last-value key is refused, and so is one of the wrong type",
  () =>
    Effect.gen(function*() {
      const single = untyped(Demo, { a: () => Effect.succeed({ total: Channel.overwrite(1) }) }, { start: "a" })
      assert.deepStrictEqual(
        shape(yield* Effect.flip(single.thread("t").invoke({ total: 0 }))),
        refused("OverwriteRefused", "total", ["a"])
      )
      const wrong = untyped(Demo, { a: () => Effect.succeed({ log: Channel.overwrite([1]) }) }, { start: "a" })
      const error = shape(yield* Effect.flip(wrong.thread("u").invoke({ total: 0 })))
      assert.deepStrictEqual([error.reason, error.channel, error.writers], ["InvalidValue", "log", ["a"]])
      // A record that looks like one is none.
      const alike = untyped(Demo, { a: () => Effect.succeed({ log: { _tag: "Overwrite", value: ["x"] } }) }, {
        start: "a"
      })
      assert.strictEqual(shape(yield* Effect.flip(alike.thread("v").invoke({ total: 0 }))).reason, "InvalidValue")
    })
)

behaves("L5 a route sees its node's own Overwrite", () =>
  Effect.gen(function*() {
    const seen: Array<ReadonlyArray<string>> = []
    const graph = StateGraph.make(
      "seen",
      StateGraph.nodes(Log, {
        a: () => Effect.succeed([{ log: ["x"] }, { log: Channel.overwrite(["o"]) }])
      }),
      {
        start: "a",
        edges: {
          a: StateGraph.route(["a", END], (s) => {
            seen.push(s.log)
            return END
          })
        }
      }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ log: ["0"] }), { log: ["o", "x"] })
    assert.deepStrictEqual(seen, [["o", "x"]])
  }))

// ---------------------------------------------------------------------------
// Values
// ---------------------------------------------------------------------------

behaves("LG#71 an update may be an instance of a schema class", () =>
  Effect.gen(function*() {
    class Foobar extends Schema.Class<Foobar>("Foobar")({ total: Schema.Int, log: Schema.Array(Schema.String) }) {}
    const graph = StateGraph.make(
      "classes",
      StateGraph.nodes(Demo, {
        a: () => Effect.succeed(new Foobar({ total: 1, log: ["a"] })),
        b: () => Effect.succeed(Command.make({ update: new Foobar({ total: 2, log: ["b"] }), goto: END }))
      }),
      { start: "a", edges: { a: "b" } }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ total: 0 }), { total: 2, log: ["a", "b"] })
  }))

behaves("LG#77 null is a value, undefined is no write", () =>
  Effect.gen(function*() {
    class Nullable extends State.make({ a: Schema.NullOr(Schema.Int), b: Schema.NullOr(Schema.Int) }) {}
    const graph = StateGraph.make(
      "nullable",
      StateGraph.nodes(Nullable, {
        n: () => Effect.succeed(Command.make({ update: { a: null, b: undefined } as { readonly a: null } }))
      }),
      { start: "n" }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* thread.invoke({ a: 1, b: 2 }), { a: null, b: 2 })
    assert.deepStrictEqual((yield* thread.state()).values, { a: null, b: 2 })
    assert.deepStrictEqual(yield* thread.invoke({ b: null }), { a: null, b: null })
  }))

behaves(
  "LG#77 a changed copy of a nested value is written; the value itself cannot be changed in place",
  () =>
    Effect.gen(function*() {
      class Nested extends State.make({ outer: Schema.Int, inner: Schema.Struct({ a: Schema.Int }) }) {}
      const graph = StateGraph.make(
        "nested",
        StateGraph.nodes(Nested, {
          n: (s) => Effect.succeed({ outer: 10, inner: { ...s.inner, a: 5 } })
        }),
        { start: "n" }
      )
      assert.deepStrictEqual(yield* graph.thread("t").invoke({ outer: 1, inner: { a: 1 } }), {
        outer: 10,
        inner: { a: 5 }
      })
      const mutating = StateGraph.make(
        "mutating",
        StateGraph.nodes(Nested, {
          n: (s) =>
            Effect.sync(() => {
              ;(s.inner as { a: number }).a = 5
              return { inner: s.inner }
            })
        }),
        { start: "n" }
      )
      const thread = mutating.thread("u")
      const exit = yield* Effect.exit(thread.invoke({ outer: 1, inner: { a: 1 } }))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual((yield* thread.state()).values, { outer: 1, inner: { a: 1 } })
    })
)

behaves("LG#78 a state may take over the keys of another", () =>
  Effect.gen(function*() {
    class Base extends State.make({ some: Schema.String, list: Channel.append(Schema.String) }) {}
    class Child extends State.make({ ...Base.fields, more: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}
    const graph = StateGraph.make(
      "inherited",
      StateGraph.nodes(Child, {
        a: () => ({ list: ["a"], more: 1 }),
        b: () => ({ list: ["b"], more: 2 })
      }),
      { start: ["a", "b"] }
    )
    assert.deepStrictEqual(
      Object.entries(graph.pregel.channels).slice(0, 3).map(([name, rule]) => [name, rule._tag]),
      [["some", "LastValue"], ["list", "BinaryOperatorAggregate"], ["more", "BinaryOperatorAggregate"]]
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ some: "x" }), { some: "x", list: ["a", "b"], more: 3 })
  }))

// ---------------------------------------------------------------------------
// What goes in, what comes out, what is private
// ---------------------------------------------------------------------------

class Private extends State.make({
  question: Schema.String,
  notes: Channel.append(Schema.String),
  answer: Schema.String
}, { input: ["question"], output: ["answer"] }) {}

const privately = StateGraph.make(
  "privately",
  StateGraph.nodes(Private, {
    think: (s) => Effect.succeed({ notes: [`about ${s.question}`] }),
    answer: (s) => Effect.succeed({ answer: s.notes.join("; ") })
  }),
  { start: "think", edges: { think: "answer" } }
)

behaves(
  "a graph takes its input keys, gives its output keys, and keeps the others to its nodes and its thread",
  () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* privately.invoke({ question: "x" })) as object, { answer: "about x" })
      const thread = privately.thread("t")
      const events = yield* collect(thread.stream({ question: "x" }, { modes: ["values", "updates"] }))
      assert.deepStrictEqual(
        events.map((event) =>
          event.mode === "updates" ? event.update : event.mode === "values" ? event.values : event.mode
        ) as ReadonlyArray<unknown>,
        [{}, { notes: ["about x"] }, {}, { answer: "about x" }, { answer: "about x" }]
      )
      assert.deepStrictEqual((yield* thread.state()).values as object, {
        question: "x",
        notes: ["about x"],
        answer: "about x"
      })
      assert.deepStrictEqual([privately.pregel.input, privately.pregel.output], [["question"], ["answer"]])
    })
)

behaves(
  "an input that brings a private or unknown key is refused, and nothing is stored",
  () =>
    Effect.gen(function*() {
      for (const key of ["notes", "answer", "nope", "__start__", "__proto__"]) {
        const input = Object.fromEntries([["question", "x"], [key, ["sneaked"]]])
        const thread = privately.thread(key)
        assert.deepStrictEqual(
          shape(yield* Effect.flip(thread.invoke(input as never))),
          refused("UnknownChannel", key, ["__input__"])
        )
        assert.deepStrictEqual(yield* Effect.flip(thread.state()), new GraphError.UnknownThread({ thread: key }))
      }
      for (const input of [5, "x", null, undefined, ["question"]]) {
        const error = yield* Effect.flip(privately.thread("none").invoke(input as never))
        assert.isTrue(error._tag === "MissingInput", error._tag)
      }
    })
)

behaves("a first run needs every required key, a later one only what is new", () =>
  Effect.gen(function*() {
    class Two extends State.make({
      a: Schema.Int,
      b: Schema.Int,
      c: Channel.lastValue(Schema.Int, { initial: () => 9 })
    }) {}
    const graph = StateGraph.make("two", StateGraph.nodes(Two, { n: () => ({}) }), { start: "n" })
    assert.deepStrictEqual(
      yield* Effect.flip(graph.invoke({} as never)),
      new GraphError.MissingInput({ keys: ["a", "b"] })
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({ a: 1 })), new GraphError.MissingInput({ keys: ["b"] }))
    assert.deepStrictEqual(
      yield* Effect.flip(thread.invoke({ a: 1, b: undefined } as never)),
      new GraphError.MissingInput({ keys: ["b"] })
    )
    assert.deepStrictEqual(yield* thread.invoke({ a: 1, b: 2 }), { a: 1, b: 2, c: 9 })
    assert.deepStrictEqual(yield* thread.invoke({ b: 3 }), { a: 1, b: 3, c: 9 })
    assert.deepStrictEqual(yield* thread.invoke({}), { a: 1, b: 3, c: 9 })
  }))

behaves(
  "a node with an input of its own is fed those keys of the state, private ones too",
  () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const note = <A>(input: A) => Effect.sync(() => void seen.push(input))
      class Part extends State.make({ question: Schema.String, notes: Channel.append(Schema.String) }) {}
      const graph = StateGraph.make(
        "parts",
        StateGraph.nodes(Private, {
          think: () => Effect.succeed({ notes: ["n"] }),
          schema: Node.make({ input: Schema.Struct({ notes: Schema.Array(Schema.String) }), run: note }),
          state: Node.make({ input: Part, run: note }),
          whole: Node.make({ input: Private, run: note })
        }),
        { start: "think", edges: { think: ["schema", "state", "whole"] } }
      )
      assert.deepStrictEqual(graph.pregel.nodes["schema"]!.reads, ["notes"])
      assert.deepStrictEqual(graph.pregel.nodes["state"]!.reads, ["question", "notes"])
      assert.deepStrictEqual(graph.pregel.nodes["whole"]!.reads, ["question", "notes", "answer"])
      yield* graph.thread("t").invoke({ question: "x" })
      assert.deepStrictEqual(seen, [
        { notes: ["n"] },
        { question: "x", notes: ["n"] },
        { question: "x", notes: ["n"] }
      ])
    })
)

behaves("a Send to a node with an input of its own is checked against it", () =>
  Effect.gen(function*() {
    const bodies = {
      a: say("a"),
      work: Node.make({ input: Schema.Struct({ x: Schema.Int }), run: ({ x }) => Effect.succeed({ log: [`w${x}`] }) })
    }
    const wrong = untyped(Log, bodies, {
      start: "a",
      edges: { a: StateGraph.route(["work"], () => Send.make("work", { x: "1" })) }
    })
    const thread = wrong.thread("t")
    const error = shape(yield* Effect.flip(thread.invoke({})))
    assert.deepStrictEqual([error.reason, error.channel, error.writers], ["InvalidValue", "__tasks", ["a"]])
    assert.deepStrictEqual((yield* thread.state()).next, ["a"])
    const toState = untyped(Log, { a: say("a"), b: say("b") }, {
      start: "a",
      edges: { a: StateGraph.route(["b"], () => Send.make("b", { log: 5 })) }
    })
    assert.strictEqual(shape(yield* Effect.flip(toState.thread("u").invoke({}))).channel, "__tasks")
  }))

// ---------------------------------------------------------------------------
// Commands from outside
// ---------------------------------------------------------------------------

const chain = StateGraph.make(
  "chain",
  StateGraph.nodes(Demo, {
    a: say("a"),
    b: say("b"),
    c: say("c")
  }),
  { start: "a", edges: StateGraph.sequence("a", "b", "c") }
)

behaves("a Command as the first input is applied once, and runs only what it says", () =>
  Effect.gen(function*() {
    const thread = chain.thread("t")
    const command = Command.make({ update: { total: 1, log: ["q"] }, goto: "b" })
    assert.deepStrictEqual(yield* thread.invoke(command), { total: 1, log: ["q", "b", "c"] })
    assert.deepStrictEqual((yield* thread.history()).map(({ next, source, step }) => [step, source, next]), [
      [1, "loop", []],
      [0, "loop", ["c"]],
      [-1, "input", ["b"]]
    ])
    const list = Command.make({ update: [{ total: 1 }, { log: ["p"] }, { log: ["q"] }] as never, goto: "c" })
    assert.deepStrictEqual(yield* chain.thread("v").invoke(list), { total: 1, log: ["p", "q", "c"] })
    assert.deepStrictEqual(
      yield* Effect.flip(chain.thread("u").invoke(Command.make({ goto: "b" }))),
      new GraphError.MissingInput({ keys: ["total"] })
    )
  }))

behaves(
  "a Command that only updates a finished thread is kept: by a read, by going on, and by the next input",
  () =>
    Effect.gen(function*() {
      const thread = chain.thread("t")
      yield* thread.invoke({ total: 1 })
      const updated = { total: 2, log: ["a", "b", "c", "x"] }
      assert.deepStrictEqual(yield* thread.invoke(Command.make({ update: { total: 2, log: ["x"] } })), updated)
      assert.deepStrictEqual((yield* thread.state()).values, updated)
      assert.deepStrictEqual(yield* thread.continue(), updated)
      assert.deepStrictEqual(yield* thread.start({ total: 1 }), updated)
      assert.deepStrictEqual(yield* thread.invoke({ log: ["y"] }), {
        total: 2,
        log: ["a", "b", "c", "x", "y", "a", "b", "c"]
      })
      assert.deepStrictEqual((yield* thread.state()).values, {
        total: 2,
        log: ["a", "b", "c", "x", "y", "a", "b", "c"]
      })
    })
)

behaves("two Commands from outside are both kept, and fold in their order", () =>
  Effect.gen(function*() {
    const thread = chain.thread("t")
    yield* thread.invoke({ total: 1 })
    yield* thread.invoke(Command.make({ update: { total: 2, log: ["x"] } }))
    yield* thread.invoke(Command.make({ update: { total: 3, log: ["y"] } }))
    assert.deepStrictEqual((yield* thread.state()).values, { total: 3, log: ["a", "b", "c", "x", "y"] })
    assert.deepStrictEqual(yield* thread.invoke(Command.make({ goto: "c" })), {
      total: 3,
      log: ["a", "b", "c", "x", "y", "c"]
    })
  }))

behaves(
  "a Command from outside that cannot be folded is refused, and the thread is as it was",
  () =>
    Effect.gen(function*() {
      const thread = chain.thread("t")
      yield* thread.invoke({ total: 1 })
      const before = yield* thread.state()
      const twice = Command.make({ update: [{ total: 2 }, { total: 3 }] as never })
      assert.deepStrictEqual(
        shape(yield* Effect.flip(thread.invoke(twice))),
        refused("MultipleWrites", "total", ["__input__"])
      )
      assert.deepStrictEqual(yield* thread.state(), before)
      assert.deepStrictEqual(
        shape(yield* Effect.flip(thread.invoke(Command.make({ update: { nope: 1 } as never })))),
        refused("UnknownChannel", "nope", ["__input__"])
      )
      const nowhere = yield* Effect.flip(thread.invoke(Command.make({ goto: "nope" as never })))
      assert.deepStrictEqual(
        nowhere,
        new GraphError.UnknownRoute({ from: "__input__", value: "nope", allowed: ["a", "b", "c"] })
      )
      assert.deepStrictEqual(yield* thread.state(), before)
      const fresh = chain.thread("u")
      assert.deepStrictEqual(
        shape(yield* Effect.flip(fresh.invoke(twice))),
        refused("MultipleWrites", "total", ["__input__"])
      )
      assert.deepStrictEqual(yield* Effect.flip(fresh.state()), new GraphError.UnknownThread({ thread: "u" }))
    })
)

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

behaves(
  "an answer with an update that cannot be folded is refused as a whole: the question still waits",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "asking",
        StateGraph.nodes(Demo, {
          ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))
        }),
        { start: "ask" }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({ total: 1 }))
      const before = yield* thread.state()
      const update = [{ total: 2 }, { total: 3 }] as never
      assert.deepStrictEqual(
        shape(yield* Effect.flip(thread.resume(Ask.reply("yes"), { update }))),
        refused("MultipleWrites", "total", ["__input__"])
      )
      assert.deepStrictEqual(yield* thread.state(), before)
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes"), { update: { total: 2 } }), {
        total: 2,
        log: ["yes"]
      })
    })
)

it("the nodes of a graph are plain functions that can be run alone", () => {
  const nodes = StateGraph.nodes(Demo, { double: (s) => ({ total: s.total * 2 }) })
  assert.deepStrictEqual(nodes.bodies.double({ total: 21, log: [] }), { total: 42 })
})
