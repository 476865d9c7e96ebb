/** Threads outlive the code that began them: what goes on by itself, what has to be declared, and what declaring it comes to. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  Channel,
  Checkpointer,
  Command,
  GraphError,
  Interrupt,
  Migration,
  Node,
  NodeCache,
  Policy,
  Send,
  State,
  StateGraph
} from "superstep"
import { behaves } from "./Savers.ts"

const texts = Schema.Array(Schema.String)
const differencesOf = (error: unknown) =>
  error instanceof GraphError.GraphChanged ? error.differences : assert.fail(`not GraphChanged: ${String(error)}`)

type Channels = Readonly<Record<string, Channel.Any | Channel.AnySchema>>
type Bodies = Readonly<Record<string, (state: never) => unknown>>
interface Shape {
  readonly channels: Channels
  readonly bodies?: Bodies
  readonly flow?: object
  readonly options?: object
}

const idle: Bodies = { first: () => ({}), last: () => ({}) }
const inOrder = { start: "first", edges: { first: "last" } }

type Values = Readonly<Record<string, unknown>>
type Erased = StateGraph.StateGraph<State.State<State.Fields, string, string>, Values, never, never, never>

/** A version of a graph: the types of one are not those of the next. */
const version = ({ bodies = idle, channels, flow = inOrder, options }: Shape): Erased =>
  StateGraph.make(
    "app",
    { state: State.make(channels), bodies } as never,
    flow as never,
    options as never
  ) as unknown as Erased

/** Runs a version until its first node has run. */
const halfway = (graph: Erased, input: Values) =>
  Effect.flip(graph.thread("t").invoke(input as never, { after: ["first"] }))

/** What a later version makes of a thread that an earlier one has brought halfway. */
const goesOn = (before: Shape, after: Shape, input: Values = {}) =>
  Effect.andThen(halfway(version(before), input), version(after).thread("t").continue())

const refused = (before: Shape, after: Shape, input: Values = {}) =>
  Effect.map(Effect.flip(goesOn(before, after, input)), differencesOf)

const reducer = (value: Schema.Codec<number>) =>
  Channel.reducer({ value, initial: () => 0, reduce: (a: number, b: number) => a + b })
const delta = Channel.delta({
  value: texts,
  initial: () => [],
  reduce: (state: ReadonlyArray<string>, updates: ReadonlyArray<ReadonlyArray<string>>) => [...state, ...updates.flat()]
})
const growing = Channel.reducer({
  value: texts,
  initial: () => [],
  reduce: (a: ReadonlyArray<string>, b: ReadonlyArray<string>) => [...a, ...b]
})

// ---------------------------------------------------------------------------
// What goes on by itself
// ---------------------------------------------------------------------------

behaves("L18 a reducer may become a Delta, and back", () =>
  Effect.gen(function*() {
    const bodies = { first: () => ({ log: ["first"] }), last: () => ({ log: ["last"] }) }
    const input = { log: ["input"] }
    for (const [before, after] of [[growing, delta], [delta, growing]] as const) {
      assert.deepStrictEqual(
        yield* goesOn({ channels: { log: before }, bodies }, { channels: { log: after }, bodies }, input),
        { log: ["input", "first", "last"] }
      )
      yield* Checkpointer.Checkpointer.use((saver) => saver.deleteThread("t"))
    }
  }))

behaves("L18 names, notes and checks of a schema, and the order of its keys, may change", () =>
  Effect.gen(function*() {
    class User extends Schema.Class<User>("User")({ name: Schema.String, age: Schema.Int }) {}
    class Person extends Schema.Class<Person>("Person")({
      age: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "in years" }),
      name: Schema.String.check(Schema.isMaxLength(10))
    }) {}
    const bodies = { first: () => ({ who: { name: "Ada", age: 36 } }), last: () => ({}) }
    const { who } = yield* goesOn(
      {
        channels: { who: Channel.lastValue(User, { initial: () => new User({ name: "", age: 0 }) }) },
        bodies: {
          ...bodies,
          first: () => ({ who: new User({ name: "Ada", age: 36 }) })
        }
      },
      { channels: { who: Channel.lastValue(Person, { initial: () => new Person({ name: "", age: 0 }) }) } }
    )
    assert.deepStrictEqual(who, new Person({ name: "Ada", age: 36 }))
  }))

behaves("L18 a value that a new check refuses is a fault that names its key", () =>
  Effect.gen(function*() {
    const short = Channel.lastValue(Schema.String.check(Schema.isMaxLength(2)), { initial: () => "" })
    const long = Channel.lastValue(Schema.String, { initial: () => "" })
    const error = yield* Effect.flip(
      goesOn({ channels: { word: long } }, { channels: { word: short } }, { word: "long" })
    )
    assert.instanceOf(error, GraphError.CheckpointError)
    assert.deepInclude(error, { reason: "Decode", channel: "word" })
  }))

behaves("L18 a join that is gone does not matter, unless somebody waits at it", () =>
  Effect.gen(function*() {
    const bodies = { a: () => ({ log: ["a"] }), b: () => ({ log: ["b"] }), last: () => ({ log: ["last"] }) }
    const join = StateGraph.join("last")
    const joined = { start: ["a", "b"], edges: { a: join, b: join } }
    const before = version({ channels: { log: growing }, bodies, flow: joined })
    const after = version({ channels: { log: growing }, bodies, flow: { start: ["a"], edges: { a: "b", b: "last" } } })
    yield* Effect.flip(before.thread("t").invoke({}, { after: ["last"] }).pipe(Effect.andThen(Effect.fail("ended"))))
    assert.deepStrictEqual((yield* after.thread("t").invoke({})).log, ["a", "b", "last", "a", "b", "last"])

    const waiting = version({
      channels: { log: growing },
      bodies,
      flow: { start: "a", edges: { a: ["b", join], b: join } }
    })
    yield* Effect.flip(waiting.thread("w").invoke({}, { after: ["a"] }))
    assert.deepStrictEqual(differencesOf(yield* Effect.flip(after.thread("w").continue())), [
      { kind: "JoinGone", name: "join:a+b:last" }
    ])
    const declared = version({
      channels: { log: growing },
      bodies,
      flow: { start: ["a"], edges: { a: "b", b: "last" } },
      options: { migrations: [Migration.drop("join:a+b:last")] }
    })
    assert.deepStrictEqual((yield* declared.thread("w").continue()).log, ["a", "b", "last"])
  }))

// ---------------------------------------------------------------------------
// What has to be declared
// ---------------------------------------------------------------------------

behaves("L18 what changed and is not declared is named, all of it, and nothing is lost", () =>
  Effect.gen(function*() {
    const before: Shape = {
      channels: {
        count: Channel.lastValue(Schema.Int, { initial: () => 0 }),
        gone: growing,
        kept: growing,
        unit: Channel.lastValue(Schema.String, { initial: () => "" })
      },
      bodies: { first: () => ({ count: 1, gone: ["x"], kept: ["k"], unit: "m" }), last: () => ({ kept: ["end"] }) }
    }
    const differences = yield* refused(before, {
      channels: { count: reducer(Schema.Int), kept: growing, unit: Channel.lastValue(texts, { initial: () => [] }) }
    })
    assert.sameDeepMembers([...differences], [
      { kind: "RuleChanged", name: "count", was: "LastValue", is: "Reducer" },
      { kind: "KeyGone", name: "gone" },
      { kind: "SchemaChanged", name: "unit" }
    ])
    const end = yield* version(before).thread("t").continue()
    assert.deepStrictEqual(end, { count: 1, gone: ["x"], kept: ["k", "end"], unit: "m" })
  }))

behaves("L18 the message says what changed, where, and what to declare", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(goesOn({ channels: { log: growing } }, { channels: {} }, { log: ["x"] }))
    assert.instanceOf(error, GraphError.GraphChanged)
    assert.match(
      error.message,
      /^graph "app" is not the one that thread "t" was stored by at checkpoint [0-9a-f]{32}: key "log" is gone \(Migration.rename or Migration.drop\). Declare it in the graph's migrations$/
    )
  }))

// ---------------------------------------------------------------------------
// What declaring it comes to
// ---------------------------------------------------------------------------

behaves(
  "L18 a key that was renamed, with what was appended and what an unfinished superstep has written",
  () =>
    Effect.gen(function*() {
      const flow = { start: "first", edges: { first: ["one", "two"] } }
      let isDown = true
      const bodies = (key: string): Bodies => ({
        first: () => ({ [key]: ["first"] }),
        one: () => ({ [key]: ["one"] }),
        two: () => isDown ? Effect.fail("down") : Effect.succeed({ [key]: ["two"] })
      })
      const settle = { onFailure: "settle" }
      const before = version({ channels: { log: growing }, bodies: bodies("log"), flow, options: settle })
      const after = version({
        channels: { lines: growing },
        bodies: bodies("lines"),
        flow,
        options: { ...settle, migrations: [Migration.rename("log", "words"), Migration.rename("words", "lines")] }
      })
      yield* Effect.flip(before.thread("t").invoke({ log: ["input"] }))
      const thread = after.thread("t")
      assert.deepStrictEqual((yield* thread.state()).values, { lines: ["input", "first", "one"] })
      isDown = false
      assert.deepStrictEqual(yield* thread.continue(), { lines: ["input", "first", "one", "two"] })
      // All of the history, the input included.
      const history = yield* thread.history()
      assert.deepStrictEqual(history.map(({ values }) => values["lines"]), [
        ["input", "first", "one", "two"],
        ["input", "first"],
        ["input"],
        []
      ])
      assert.deepStrictEqual(yield* thread.continue({ checkpoint: history.at(-1)!.checkpoint }), {
        lines: ["input", "first", "one", "two"]
      })
    })
)

behaves("L18 a key that was dropped is forgotten, and the rest stays", () =>
  Effect.gen(function*() {
    const end = yield* goesOn(
      { channels: { gone: growing, kept: growing }, bodies: { ...idle, first: () => ({ gone: ["g"], kept: ["k"] }) } },
      { channels: { kept: growing }, options: { migrations: [Migration.drop("gone")] } },
      { gone: ["input"], kept: ["input"] }
    )
    assert.deepStrictEqual(end, { kept: ["input", "k"] })
    assert.strictEqual(
      (yield* version({
        channels: { kept: growing },
        options: { migrations: [Migration.drop("gone")] }
      }).thread("t").history()).length,
      4
    )
  }))

behaves("L18 a value is converted, once, through several versions", () =>
  Effect.gen(function*() {
    const one = Channel.lastValue(Schema.String, { initial: () => "0" })
    const two = Channel.lastValue(Schema.Struct({ cents: Schema.Int }), { initial: () => ({ cents: 0 }) })
    const three = Channel.lastValue(Schema.Struct({ cents: Schema.Int, unit: Schema.String }), {
      initial: () => ({ cents: 0, unit: "EUR" })
    })
    const first = Migration.convert("price", { from: one, value: (euros) => ({ cents: Number(euros) * 100 }) })
    const second = Migration.convert("price", { from: two, value: (price) => ({ ...price, unit: "EUR" }) })
    const versionTwo: Shape = { channels: { price: two }, options: { migrations: [first] } }
    const versionThree: Shape = { channels: { price: three }, options: { migrations: [first, second] } }
    yield* halfway(version({ channels: { price: one } }), { price: "5" })
    assert.deepStrictEqual((yield* version(versionTwo).thread("t").state()).values, { price: { cents: 500 } })
    assert.deepStrictEqual((yield* version(versionThree).thread("t").state()).values, {
      price: { cents: 500, unit: "EUR" }
    })
    assert.deepStrictEqual(yield* version(versionTwo).thread("t").continue(), { price: { cents: 500 } })
    assert.deepStrictEqual(yield* version(versionThree).thread("t").continue(), { price: { cents: 500, unit: "EUR" } })
    const history = yield* version(versionThree).thread("t").history()
    assert.deepStrictEqual(
      history.slice(0, 3).map(({ values }) => values),
      [1, 2, 3].map(() => ({ price: { cents: 500, unit: "EUR" } }))
    )
  }))

behaves(
  "L18 what was appended is converted once it is added up, and a pending write as its migration says",
  () =>
    Effect.gen(function*() {
      const was = Channel.append(Schema.String)
      const is = Channel.append(Schema.Int)
      let isDown = true
      const flow = { start: "first", edges: { first: ["one", "two"] } }
      const bodies = (make: (text: string) => unknown): Bodies => ({
        first: () => ({ log: [make("1")] }),
        one: () => ({ log: [make("22")] }),
        two: () => isDown ? Effect.fail("down") : Effect.succeed({ log: [make("333")] })
      })
      const settle = { onFailure: "settle" }
      yield* Effect.flip(
        version({ channels: { log: was }, bodies: bodies((text) => text), flow, options: settle }).thread("t")
          .invoke({ log: [] })
      )
      const numbers = (list: ReadonlyArray<string>) => list.map(Number)
      const after = (migration: Migration.Migration) =>
        version({
          channels: { log: is },
          bodies: bodies(Number),
          flow,
          options: { ...settle, migrations: [migration] }
        }).thread("t")
      isDown = false
      const open = yield* Effect.flip(after(Migration.convert("log", { from: was, value: numbers })).continue())
      assert.instanceOf(open, GraphError.CheckpointError)
      assert.include(
        open.message,
        "a task of an unfinished superstep has written \"log\": give its migration a `write`"
      )
      assert.deepStrictEqual(
        yield* after(Migration.convert("log", { from: was, value: numbers, write: numbers })).continue(),
        {
          log: [1, 22, 333]
        }
      )
    })
)

behaves(
  "L18 a conversion that throws, or makes what does not fit, is a fault that names the key",
  () =>
    Effect.gen(function*() {
      const from = Channel.lastValue(Schema.String, { initial: () => "" })
      const to = Channel.lastValue(Schema.Int, { initial: () => 0 })
      yield* halfway(version({ channels: { n: from } }), { n: "x" })
      for (
        const [value, text] of [
          [() => {
            throw new Error("oh")
          }, "the `value` of the migration of \"n\" from LastValue throws: Error: oh"],
          [Number, "what its migration makes of it does not fit"]
        ] as const
      ) {
        const options = { migrations: [Migration.convert("n", { from, value })] }
        const error = yield* Effect.flip(version({ channels: { n: to }, options }).thread("t").continue())
        assert.instanceOf(error, GraphError.CheckpointError)
        assert.deepInclude(error, { reason: "Decode", channel: "n" })
        assert.include(error.message, text)
      }
    })
)

behaves("L18 what is accepted is read by the present schema", () =>
  Effect.gen(function*() {
    const one = Channel.lastValue(Schema.Struct({ name: Schema.String }), { initial: () => ({ name: "" }) })
    const two = Channel.lastValue(Schema.Struct({ name: Schema.String, mail: Schema.optionalKey(Schema.String) }), {
      initial: () => ({ name: "" })
    })
    assert.deepStrictEqual(
      yield* goesOn(
        { channels: { who: one } },
        { channels: { who: two }, options: { migrations: [Migration.accept("who", { from: one })] } },
        { who: { name: "Ada" } }
      ),
      { who: { name: "Ada" } }
    )
  }))

behaves(
  "L18 a node that was to run and is dropped does not run, nor does a Send to it; the others do",
  () =>
    Effect.gen(function*() {
      const channels = { log: growing }
      const run = (name: string) => ({ log: [name] })
      const stays = Node.make({
        input: Schema.Struct({ n: Schema.String }),
        run: ({ n }) => Effect.succeed(run(n))
      }) as never
      const before = version({
        channels,
        bodies: { first: () => ({}), gone: () => run("gone"), stays },
        flow: {
          start: "first",
          edges: {
            first: StateGraph.route(
              ["gone", "stays"],
              () => ["gone", Send.make("gone", {}), Send.make("stays", { n: "s" })] as never
            )
          }
        }
      })
      const after = (migrations: ReadonlyArray<Migration.Migration>) =>
        version({
          channels,
          bodies: {
            first: () => ({}),
            stays: Node.make({
              input: Schema.Struct({ n: Schema.String }),
              run: ({ n }) => Effect.succeed(run(n))
            }) as never
          },
          flow: { start: "first", edges: { first: StateGraph.route(["stays"], () => [] as never) } },
          options: { migrations }
        }).thread("t")
      yield* Effect.exit(before.thread("t").invoke({ log: [] }, { after: ["first"] }))
      const open = after([])
      assert.deepStrictEqual((yield* open.state()).next, ["gone", "stays"])
      assert.deepStrictEqual(differencesOf(yield* Effect.flip(open.continue())), [{ kind: "NodeGone", name: "gone" }])
      const pending = yield* Effect.flip(open.update({ log: ["u"] } as never, { asNode: "first" } as never))
      assert.deepStrictEqual(differencesOf(pending), [{ kind: "NodeGone", name: "gone" }])
      assert.deepStrictEqual((yield* after([Migration.dropNode("gone")]).continue()).log, ["s"])
    })
)

behaves(
  "L18 a new input that discards what is left needs no declaration of the nodes that are gone",
  () =>
    Effect.gen(function*() {
      const channels = { log: growing }
      yield* halfway(
        version({
          channels,
          bodies: { first: () => ({ log: ["first"] }), gone: () => ({}) },
          flow: {
            start: "first",
            edges: { first: "gone" }
          }
        }),
        {}
      )
      const after = version({ channels, bodies: { other: () => ({ log: ["other"] }) }, flow: { start: "other" } })
      assert.deepStrictEqual((yield* after.thread("t").invoke({}, { pending: "discard" })).log, ["first", "other"])
    })
)

behaves("L18 what two versions write beside one checkpoint is read as each wrote it", () =>
  Effect.gen(function*() {
    const was = Channel.lastValue(Schema.String, { initial: () => "" })
    const is = Channel.lastValue(Schema.Struct({ text: Schema.String }), { initial: () => ({ text: "" }) })
    const flow = { start: "first", edges: { first: ["one", "two", "three"] } }
    const up = new Set<string>()
    const node = (name: string, update: object) => () => up.has(name) ? Effect.succeed(update) : Effect.fail("down")
    const settle = { onFailure: "settle" }
    const before = version({
      channels: { a: was, b: was },
      bodies: {
        first: () => ({}),
        one: node("one", { a: "one" }),
        two: node("two", { b: "two" }),
        three: node("three", {})
      },
      flow,
      options: settle
    })
    const migrations = ["a", "b"].map((key) =>
      Migration.convert(key, { from: was, value: (text) => ({ text: `was ${text}` }) })
    )
    const after = version({
      channels: { a: is, b: is },
      bodies: {
        first: () => ({}),
        one: node("one", {}),
        two: node("two", { b: { text: "two" } }),
        three: node("three", {})
      },
      flow,
      options: { ...settle, migrations }
    }).thread("t")
    up.add("one")
    yield* Effect.flip(before.thread("t").invoke({}))
    up.add("two")
    yield* Effect.flip(after.continue())
    up.add("three")
    // Both results stand beside a checkpoint of the first version.
    assert.deepStrictEqual(yield* after.continue(), { a: { text: "was one" }, b: { text: "two" } })
  }))

behaves("L18 a graph inside a task has migrations of its own", () =>
  Effect.gen(function*() {
    class Go extends Interrupt.make("Go", { payload: Schema.Null, answer: Schema.Boolean }) {}
    const make = (key: string, migrations: ReadonlyArray<Migration.Migration>) => {
      const inner = StateGraph.make(
        "inner",
        {
          state: State.make({ [key]: growing }),
          bodies: {
            note: () => ({ [key]: ["noted"] }),
            ask: () => Effect.map(Go.ask(null), () => ({ [key]: ["asked"] }))
          }
        } as never,
        { start: "note", edges: { note: "ask" } } as never,
        { migrations, persistence: "thread" }
      )
      return StateGraph.make(
        "outer",
        { state: State.make({ out: growing }), bodies: { inner } } as never,
        { start: "inner" } as never
      ) as unknown as Erased
    }
    yield* Effect.flip(make("log", []).thread("t").invoke({}))
    const open = make("lines", []).thread("t")
    const differences = differencesOf(yield* Effect.flip(open.invoke(Command.resume(Go.reply(true)) as never)))
    assert.deepStrictEqual(differences, [{ kind: "KeyGone", name: "log" }])
    const thread = make("lines", [Migration.rename("log", "lines")]).thread("t")
    assert.deepStrictEqual((yield* thread.at(["inner"]).state()).values, { lines: ["noted"] })
    // The answer was stored before anything ran.
    yield* thread.continue()
    assert.deepStrictEqual((yield* thread.at(["inner"]).state()).values, { lines: ["noted", "asked"] })
  }))

behaves(
  "L18 what was appended is read as appended, whatever a reducer of now would make of it",
  () =>
    Effect.gen(function*() {
      const latest = Channel.reducer({
        value: texts,
        initial: () => [],
        reduce: (_: ReadonlyArray<string>, update: ReadonlyArray<string>) => update
      })
      const before = version({ channels: { log: Channel.append(Schema.String) } })
      for (const log of ["a", "b", "c"]) yield* before.thread("t").invoke({ log: [log] })
      const after = version({ channels: { log: latest } }).thread("t")
      assert.deepStrictEqual((yield* after.state()).values, { log: ["a", "b", "c"] })
      assert.deepStrictEqual(yield* after.invoke({ log: ["d"] }), { log: ["d"] })
    })
)

behaves(
  "L18 a Send that a second version has stored beside a checkpoint of the first is read by a third",
  () =>
    Effect.gen(function*() {
      const up = new Set<string>()
      const conversions = [
        Migration.convert("a", { from: Schema.Boolean, value: (is) => is ? "42" : "0" }),
        Migration.convert("a", { from: Schema.String, value: Number })
      ]
      const make = (index: number) =>
        version({
          channels: {
            a: Channel.lastValue([Schema.Boolean, Schema.String, Schema.Int][index] as Schema.Codec<unknown>, {
              initial: () => [true, "42", 7][index]
            }),
            out: Channel.append(Schema.Unknown)
          },
          bodies: {
            first: () => ({}),
            sends: () => up.has("sends") ? Effect.succeed({}) : Effect.fail("down"),
            waits: () => up.has("waits") ? Effect.succeed({}) : Effect.fail("down"),
            takes: ({ a }: { readonly a: unknown }) => ({ out: [a] })
          },
          flow: {
            start: "first",
            edges: {
              first: ["sends", "waits"],
              sends: StateGraph.route(
                ["takes"],
                ({ a }: { readonly a: unknown }) => Send.make("takes", { a, out: [] } as never)
              )
            }
          },
          options: { onFailure: "settle", migrations: conversions.slice(0, index) }
        }).thread("t")
      yield* Effect.flip(make(0).invoke({}))
      up.add("sends")
      yield* Effect.flip(make(1).continue())
      up.add("waits")
      assert.deepStrictEqual((yield* make(2).continue()).out, [42])
    })
)

behaves(
  "L18 a superstep that one version began and another has ended is whole to verify",
  () =>
    Effect.gen(function*() {
      const up = new Set<string>()
      const make = (key: string, migrations: ReadonlyArray<Migration.Migration>) =>
        version({
          channels: { [key]: Channel.append(Schema.String) },
          bodies: {
            first: () => ({}),
            one: () => ({ [key]: ["one"] }),
            two: () => up.has("two") ? Effect.succeed({ [key]: ["two"] }) : Effect.fail("down")
          },
          flow: { start: "first", edges: { first: ["one", "two"] } },
          options: { onFailure: "settle", migrations }
        }).thread("t")
      yield* Effect.flip(make("log", []).invoke({}))
      up.add("two")
      const after = make("lines", [Migration.rename("log", "lines")])
      assert.deepStrictEqual(yield* after.continue(), { lines: ["one", "two"] })
      yield* after.invoke({})
      const { checkpoints, divergence, refolded } = yield* after.verify
      assert.isUndefined(divergence)
      assert.isAbove(refolded, 0)
      assert.isAbove(checkpoints, refolded)
    })
)

behaves(
  "L18 a superstep that a later version has shared, and an earlier one has ended, is whole to verify",
  () =>
    Effect.gen(function*() {
      let isDown = true
      const make = (more: Channels) =>
        version({
          channels: { log: Channel.append(Schema.String), ...more },
          bodies: {
            one: () => isDown ? Effect.fail("down") : Effect.succeed({ log: ["one"] }),
            two: () => isDown && Object.keys(more).length === 0 ? Effect.fail("down") : Effect.succeed({ log: ["two"] })
          },
          flow: { start: ["one", "two"] },
          options: { onFailure: "settle" }
        }).thread("t")
      const [before, after] = [make({}), make({ extra: Channel.append(Schema.Int) })]
      yield* Effect.flip(before.invoke({}))
      yield* Effect.flip(after.continue())
      isDown = false
      assert.deepStrictEqual(yield* before.continue(), { log: ["one", "two"] })
      assert.isUndefined((yield* before.verify).divergence)
      assert.isUndefined((yield* after.verify).divergence)
    })
)

behaves("L18 forms that are stored alike are one form, however their schemas are said", () =>
  Effect.gen(function*() {
    const Size = { Small: "small", Large: "large" } as const
    const forms: ReadonlyArray<readonly [unknown, Schema.Codec<unknown>, Schema.Codec<unknown>]> = [
      [1, Schema.Number, Schema.Finite],
      ["small", Schema.Enum(Size), Schema.Literals(["large", "small"])],
      ["a", Schema.Literals(["a"]), Schema.Literal("a")],
      [
        null,
        Schema.Union([Schema.Union([Schema.String, Schema.Null]), Schema.Int]),
        Schema.Union([Schema.Int, Schema.String, Schema.Null])
      ]
    ]
    for (const [value, was, is] of forms) {
      const [before, after] = [was, is].map((form) => ({
        channels: { n: Channel.lastValue(form, { initial: () => value }) }
      }))
      assert.deepStrictEqual(yield* goesOn(before!, after!, { n: value }), { n: value })
      yield* Checkpointer.Checkpointer.use((saver) => saver.deleteThread("t"))
    }
  }))

behaves("L18 an accepted form is one of several that a key has had", () =>
  Effect.gen(function*() {
    const bare = Channel.lastValue(Schema.Struct({ n: Schema.Int }), { initial: () => ({ n: 0 }) })
    const named = Channel.lastValue(Schema.Struct({ n: Schema.Int, name: Schema.optionalKey(Schema.String) }), {
      initial: () => ({ n: 0 })
    })
    const text = Channel.lastValue(Schema.String, { initial: () => "" })
    const mailed = Channel.lastValue(
      Schema.Struct({
        n: Schema.Int,
        name: Schema.optionalKey(Schema.String),
        mail: Schema.optionalKey(Schema.String)
      }),
      { initial: () => ({ n: 0 }) }
    )
    const accept = Migration.accept("who", { from: bare })
    const convert = Migration.convert("who", { from: named, value: ({ n, name = "-" }) => `${n} ${name}` })
    const versions = [
      version({ channels: { who: bare } }),
      version({ channels: { who: named }, options: { migrations: [accept] } }),
      version({ channels: { who: text }, options: { migrations: [accept, convert] } })
    ]
    yield* halfway(versions[0]!, { who: { n: 1 } })
    assert.deepStrictEqual((yield* versions[1]!.thread("t").state()).values, { who: { n: 1 } })
    assert.deepStrictEqual((yield* versions[2]!.thread("t").state()).values, { who: "1 -" })
    yield* versions[1]!.thread("t").continue()
    assert.deepStrictEqual((yield* versions[2]!.thread("t").state()).values, { who: "1 -" })
    // What came after what was accepted is not accepted.
    const later = version({ channels: { who: mailed }, options: { migrations: [accept] } })
    const [difference] = differencesOf(yield* Effect.flip(later.thread("t").state()))
    assert.deepStrictEqual(difference, { kind: "SchemaChanged", name: "who", isDeclared: true })
  }))

behaves("L18 a topic that merges its items otherwise is another rule", () =>
  Effect.gen(function*() {
    const was = Channel.topic(Schema.String, { accumulate: true })
    const is = Channel.topic(Schema.String, { accumulate: true, unique: true })
    const bodies = { first: () => ({ seen: "a" }), last: () => ({ seen: "a" }) }
    const before: Shape = { channels: { seen: was }, bodies }
    assert.deepStrictEqual(yield* refused(before, { channels: { seen: is }, bodies }), [
      { kind: "RuleChanged", name: "seen", was: "Topic(accumulate)", is: "Topic(accumulate,unique)" }
    ])
    yield* Checkpointer.Checkpointer.use((saver) => saver.deleteThread("t"))
    const migrations = [Migration.convert("seen", { from: was, value: (items) => [...new Set(items)] })]
    const end = yield* goesOn(before, { channels: { seen: is }, bodies, options: { migrations } })
    assert.deepStrictEqual(end, { seen: ["a"] })
  }))

behaves("L18 what would have replaced the old value replaces the new one", () =>
  Effect.gen(function*() {
    const was = Channel.lastValue(Schema.String, { initial: () => "" })
    const is = Channel.append(Schema.String)
    let isDown = true
    const flow = { start: "first", edges: { first: ["one", "two"] } }
    const bodies = (make: (text: string) => unknown): Bodies => ({
      first: () => ({ log: make("first") }),
      one: () => ({ log: make("one") }),
      two: () => isDown ? Effect.fail("down") : Effect.succeed({})
    })
    const settle = { onFailure: "settle" }
    const before = version({ channels: { log: was }, bodies: bodies((text) => text), flow, options: settle })
    const migrations = [Migration.convert("log", { from: was, value: (text) => [text] })]
    const after = version({
      channels: { log: is },
      bodies: bodies((text) => [text]),
      flow,
      options: { ...settle, migrations }
    })
    yield* Effect.flip(before.thread("t").invoke({ log: "input" }))
    isDown = false
    assert.deepStrictEqual(yield* after.thread("t").continue(), { log: ["one"] })
  }))

behaves("L18 a past is read though nothing says what becomes of its writes", () =>
  Effect.gen(function*() {
    const was = Channel.append(Schema.String)
    const bodies = { first: () => ({ log: ["1"] }), last: () => ({ log: ["2"] }) }
    const before = version({ channels: { log: was }, bodies }).thread("t")
    yield* before.invoke({ log: ["0"] })
    const migrations = [Migration.convert("log", { from: was, value: (list) => list.map(Number) })]
    const after = version({ channels: { log: Channel.append(Schema.Int) }, options: { migrations } }).thread("t")
    const history = yield* after.history()
    assert.deepStrictEqual(history.map(({ values }) => values["log"]), [[0, 1, 2], [0, 1], [0], []])
    assert.deepStrictEqual(history.flatMap(({ tasks }) => tasks.map(({ result }) => result)), [{}, {}, {}])
    assert.isUndefined((yield* after.verify).divergence)
    assert.deepStrictEqual(yield* after.invoke({ log: [3] }), { log: [0, 1, 2, 3] })
    // The checkpoint that still has the input to hand on.
    const open = yield* Effect.flip(after.continue({ checkpoint: history.at(-1)!.checkpoint }))
    assert.instanceOf(open, GraphError.CheckpointError)
    assert.include(open.message, "give its migration a `write`")
  }))

behaves("L18 names that moved on are followed at once, and not twice", () =>
  Effect.gen(function*() {
    const text = Channel.lastValue(Schema.String, { initial: () => "" })
    const migrations = [Migration.rename("b", "c"), Migration.rename("a", "b")]
    const flow = { start: "first", edges: { first: ["one", "two"] } }
    const up = new Set<string>()
    const bodies = (key: string): Bodies => ({
      first: () => ({}),
      one: () => up.has("one") ? Effect.succeed({ [key]: "one" }) : Effect.fail("down"),
      two: () => up.has("two") ? Effect.succeed({}) : Effect.fail("down")
    })
    const settle = { onFailure: "settle" }
    const before = version({ channels: { a: text, b: text }, bodies: bodies("a"), flow, options: settle })
    const after = version({
      channels: { b: text, c: text },
      bodies: bodies("b"),
      flow,
      options: { ...settle, migrations }
    })
    yield* Effect.flip(before.thread("t").invoke({ a: "was a", b: "was b" }))
    assert.deepStrictEqual((yield* after.thread("t").state()).values, { b: "was a", c: "was b" })
    up.add("one")
    // A result of the second version, beside a checkpoint of the first.
    yield* Effect.flip(after.thread("t").continue())
    assert.deepStrictEqual((yield* after.thread("t").state()).values, { b: "one", c: "was b" })
    up.add("two")
    assert.deepStrictEqual(yield* after.thread("t").continue(), { b: "one", c: "was b" })
  }))

behaves("L18 a group of a join that has other sources is another join", () =>
  Effect.gen(function*() {
    const join = StateGraph.join("last", { group: "both" })
    const bodies = {
      a: () => ({ log: ["a"] }),
      b: () => ({ log: ["b"] }),
      c: () => ({ log: ["c"] }),
      last: () => ({ log: ["last"] })
    }
    const make = (second: "b" | "c", migrations: ReadonlyArray<Migration.Migration> = []) =>
      version({
        channels: { log: growing },
        bodies,
        flow: { start: "a", edges: { a: ["b", "c", join], [second]: join } },
        options: { migrations }
      }).thread("t")
    yield* Effect.flip(make("b").invoke({}, { after: ["a"] }))
    assert.deepStrictEqual(differencesOf(yield* Effect.flip(make("c").continue())), [
      { kind: "JoinGone", name: "join:both=a+b:last" }
    ])
  }))

behaves("L18 what waits for the finish is converted, and goes on waiting", () =>
  Effect.gen(function*() {
    const was = Channel.lastValueAfterFinish(Schema.String)
    const is = Channel.lastValueAfterFinish(Schema.Int)
    const bodies = { first: () => ({ end: "5" }), last: () => ({}) }
    yield* halfway(version({ channels: { end: was }, bodies }), {})
    const migrations = [Migration.convert("end", { from: was, value: Number })]
    const after = version({ channels: { end: is }, options: { migrations } }).thread("t")
    assert.deepStrictEqual((yield* after.state()).values, {})
    assert.deepStrictEqual(yield* after.continue(), { end: 5 })
  }))

behaves("L18 between equal forms a conversion is told by the new name of its key", () =>
  Effect.gen(function*() {
    const number = Channel.lastValue(Schema.Int, { initial: () => 0 })
    const convert = Migration.convert("euros", { from: Schema.Int, value: (n) => n * 100 })
    const migrations = [convert, Migration.rename("euros", "cents")]
    const before = version({ channels: { euros: number } })
    const after = version({ channels: { cents: number }, options: { migrations } })
    // The old name may be that of another key now.
    const later = version({ channels: { cents: number, euros: number }, options: { migrations } })
    yield* halfway(before, { euros: 5 })
    assert.deepStrictEqual(yield* after.thread("t").continue(), { cents: 500 })
    assert.deepStrictEqual(yield* later.thread("t").invoke({ euros: 7 }), { cents: 500, euros: 7 })
    assert.deepStrictEqual(
      (yield* version({ channels: { cents: number, euros: number, more: number }, options: { migrations } })
        .thread("t").state()).values,
      { cents: 500, euros: 7, more: 0 }
    )
  }))

behaves("L18 a reducer that was rewritten goes through the later migrations of its key", () =>
  Effect.gen(function*() {
    const loose = Channel.append(Schema.NullOr(Schema.String))
    const bodies = { first: () => ({ log: ["first"] }), last: () => ({ log: ["last"] }) }
    const migrations = [Migration.accept("log", { from: delta })]
    const versions = [
      version({ channels: { log: Channel.append(Schema.String) }, bodies }),
      version({ channels: { log: delta }, bodies }),
      version({ channels: { log: loose }, bodies, options: { migrations } })
    ]
    yield* halfway(versions[0]!, { log: ["in"] })
    assert.deepStrictEqual((yield* versions[2]!.thread("t").state()).values, { log: ["in", "first"] })
    yield* versions[1]!.thread("t").continue()
    const history = yield* versions[2]!.thread("t").history()
    assert.deepStrictEqual(history.map(({ values }) => values["log"]), [
      ["in", "first", "last"],
      ["in", "first"],
      ["in"],
      []
    ])
    const open = version({ channels: { log: loose }, bodies })
    assert.deepStrictEqual(differencesOf(yield* Effect.flip(open.thread("t").state())), [
      { kind: "SchemaChanged", name: "log" }
    ])
  }))

/** Sends orders to a graph that charges them once it is answered. */
const sending = (key: string, amount: Channel.AnySchema, migrations: ReadonlyArray<Migration.Migration> = []) => {
  class Pay extends Interrupt.make("Pay", { payload: Schema.Null, answer: Schema.Boolean }) {}
  const pay = StateGraph.make(
    "pay",
    {
      state: State.make({ [key]: amount, notes: growing }),
      bodies: {
        charge: (state: Values) => Effect.map(Pay.ask(null), () => ({ notes: [`charge ${String(state[key])}`] }))
      }
    } as never,
    { start: "charge" } as never,
    { migrations } as never
  )
  const graph = version({
    channels: { orders: Channel.lastValue(Schema.Array(Schema.Int), { initial: () => [] }), notes: growing },
    bodies: { list: () => ({}), pay: pay as never },
    flow: {
      start: "list",
      edges: {
        list: StateGraph.route(
          ["pay"],
          ({ orders }: { readonly orders: ReadonlyArray<number> }) =>
            orders.map((order) => Send.make("pay", { [key]: order })) as never
        )
      }
    }
  })
  const answered = (id: string) =>
    Effect.gen(function*() {
      yield* Effect.exit(graph.thread(id).continue())
      const { requests } = yield* graph.thread(id).state()
      return yield* graph.thread(id).resume(requests.map(({ id }) => Pay.reply(true, { id })) as never)
    })
  return { answered, graph }
}

behaves(
  "L18 what a graph was sent that is a node goes through the migrations of that graph",
  () =>
    Effect.gen(function*() {
      const before = sending("euros", Schema.Finite)
      const [isOpen, isBegun, isDone] = ["waits", "begun", "ended"]
      yield* Effect.exit(before.graph.thread(isOpen).invoke({ orders: [3, 4] }, { before: ["pay"] }))
      yield* Effect.exit(before.graph.thread(isBegun).invoke({ orders: [3, 4] }))
      yield* Effect.exit(before.graph.thread(isDone).invoke({ orders: [1] }))
      yield* before.answered(isDone)
      const after = sending("cents", Schema.NullOr(Schema.Finite), [
        Migration.convert("euros", { from: Schema.Finite, value: (euros) => euros * 100 }),
        Migration.rename("euros", "cents")
      ])
      for (const id of [isOpen, isBegun]) {
        assert.deepStrictEqual((yield* after.answered(id)).notes, ["charge 300", "charge 400"], id)
      }
      assert.strictEqual((yield* after.graph.thread(isDone).history()).length, 4)
      assert.isUndefined((yield* after.graph.thread(isDone).verify).divergence)
    })
)

behaves(
  "L18 what a graph was sent that is a node, and has changed undeclared, is a change of that graph",
  () =>
    Effect.gen(function*() {
      const before = sending("euros", Schema.Finite)
      yield* Effect.exit(before.graph.thread("t").invoke({ orders: [3] }, { before: ["pay"] }))
      const error = yield* Effect.flip(sending("euros", Schema.NullOr(Schema.Finite)).graph.thread("t").continue())
      assert.deepInclude(error, { _tag: "GraphChanged", graph: "pay" })
      assert.deepStrictEqual(differencesOf(error), [{ kind: "SchemaChanged", name: "euros" }])
      assert.deepStrictEqual((yield* before.answered("t")).notes, ["charge 3"])
    })
)

behaves(
  "L18 a Send that its node takes no more is passed over in the past, and nothing goes on from where it waits",
  () =>
    Effect.gen(function*() {
      const make = (input: Channel.AnySchema) =>
        version({
          channels: { log: growing, extra: input },
          bodies: {
            first: () => ({}),
            takes: Node.make({
              input: Schema.Struct({ n: input }),
              run: () => Effect.succeed({ log: ["taken"] })
            }) as never
          },
          flow: {
            start: "first",
            edges: { first: StateGraph.route(["takes"], () => Send.make("takes", { n: "text" }) as never) }
          },
          options: {
            migrations: input === Schema.String
              ? []
              : [Migration.convert("extra", { from: Schema.String, value: Number })]
          }
        })
      const [before, after] = [make(Schema.String), make(Schema.Int)]
      yield* before.thread("ended").invoke({ extra: "1" })
      yield* Effect.exit(before.thread("waits").invoke({ extra: "1" }, { before: ["takes"] }))
      assert.strictEqual((yield* after.thread("ended").history()).length, 4)
      const error = yield* Effect.flip(after.thread("waits").continue())
      assert.instanceOf(error, GraphError.CheckpointError)
      assert.include(error.message, "a Send to \"takes\" brings what it does not take")
    })
)

behaves("L18 a graph that was called with keys of then goes on", () =>
  Effect.gen(function*() {
    class Go extends Interrupt.make("Go", { payload: Schema.Null, answer: Schema.String }) {}
    const make = (key: string, migrations: ReadonlyArray<Migration.Migration>) => {
      const inner = StateGraph.make(
        "inner",
        {
          state: State.make({ [key]: Schema.String, log: growing }),
          bodies: {
            ask: (state: Values) => Effect.map(Go.ask(null), (answer) => ({ log: [`${String(state[key])} ${answer}`] }))
          }
        } as never,
        { start: "ask" } as never,
        { migrations } as never
      ) as unknown as Erased & { readonly call: (input: Values) => Effect.Effect<{ readonly log: unknown }> }
      return version({
        channels: { log: growing },
        bodies: { calls: () => Effect.map(inner.call({ [key]: "x" }), ({ log }) => ({ log })) },
        flow: { start: "calls" }
      })
    }
    yield* Effect.exit(make("topic", []).thread("t").invoke({}))
    const after = make("subject", [Migration.rename("topic", "subject")]).thread("t")
    assert.deepStrictEqual(yield* after.resume(Go.reply("yes") as never), { log: ["x yes"] })
  }))

behaves("L18 a conversion that changes what it gets changes a copy", () =>
  Effect.gen(function*() {
    const from = Channel.lastValue(Schema.Date, { initial: () => new Date(0) })
    const is = Channel.lastValue(Schema.NullOr(Schema.Date), { initial: () => null })
    yield* version({ channels: { at: from } }).thread("t").invoke({ at: new Date(0) })
    const migrations = [
      Migration.convert("at", {
        from,
        value: (date) => {
          date.setUTCFullYear(date.getUTCFullYear() + 1)
          return date
        }
      })
    ]
    const after = version({ channels: { at: is }, options: { migrations } }).thread("t")
    const history = yield* after.history()
    const years = history.flatMap(({ values }) => values["at"] instanceof Date ? [values["at"].getUTCFullYear()] : [])
    assert.deepStrictEqual(years, [1971, 1971, 1971])
  }))

behaves("L18 a cached result with a key that there is no more stands for nothing", () =>
  Effect.gen(function*() {
    let runs = 0
    const make = (key: string) =>
      version({
        channels: {
          n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
          [key]: Channel.lastValue(Schema.Int, { initial: () => 0 })
        },
        bodies: {
          price: Node.make({
            input: State.make({ n: Channel.lastValue(Schema.Int, { initial: () => 0 }) }),
            cache: Policy.cache({ id: "price" }),
            run: ({ n }) => {
              runs++
              return { [key]: n * 100 } as never
            }
          }) as never
        },
        flow: { start: "price" }
      })
    const both = Effect.all([make("amount").thread("a").invoke({ n: 4 }), make("cents").thread("b").invoke({ n: 4 })])
    assert.deepStrictEqual(yield* Effect.provide(both, NodeCache.layerMemory), [{ n: 4, amount: 400 }, {
      n: 4,
      cents: 400
    }])
    assert.strictEqual(runs, 2)
  }))

// ---------------------------------------------------------------------------
// What is wrong with a declaration
// ---------------------------------------------------------------------------

describe("L18 a declaration that cannot be right is refused when the graph is made", () => {
  const number = Channel.lastValue(Schema.Int, { initial: () => 0 })
  const cases: ReadonlyArray<readonly [string, Migration.Migration, string]> = [
    [
      "a new name that is not there",
      Migration.rename("a", "b"),
      "\"a\" is renamed to \"b\", which is no key of the state"
    ],
    ["a dropped key that is there", Migration.drop("n"), "\"n\" is said to be dropped, and is there"],
    [
      "an accepted key that is not there",
      Migration.accept("m", { from: number }),
      "\"m\" is accepted, and is no key of the state"
    ],
    [
      "what looks the same, accepted",
      Migration.accept("n", { from: number }),
      "\"n\" is accepted from what has the same stored form: give the key another name, and rename it"
    ],
    [
      "what merges writes otherwise, accepted",
      Migration.accept("n", { from: reducer(Schema.Int) }),
      "\"n\" is accepted from what merges writes otherwise: convert it"
    ],
    [
      "a converted key that is not there",
      Migration.convert("m", { from: number, value: (n) => n }),
      "\"m\" is converted, and is no key of the state"
    ],
    [
      "a conversion from what looks the same",
      Migration.convert("n", { from: Schema.Int, value: (n) => n * 100 }),
      "\"n\" is converted from what has the same stored form: give the key another name, and rename it"
    ],
    [
      "a converted key that is untracked",
      Migration.convert("u", { from: number, value: (n) => n }),
      "\"u\" is converted, and is untracked: drop it"
    ],
    [
      "what is never stored, renamed",
      Migration.rename("n", "u"),
      "\"n\" is said to be renamed, and is a key of the state"
    ],
    ["a dropped node that is there", Migration.dropNode("first"), "node \"first\" is said to be dropped, and is there"]
  ]
  for (const [name, migration, text] of cases) {
    it(name, () => {
      const channels = { n: number, u: Channel.untracked<number>() }
      const make = () => version({ channels, options: { migrations: [migration] } })
      assert.throws(make, `graph "app": ${text}`)
    })
  }
  it("two keys that get one name, at once or on the way", () => {
    const make = (...migrations: ReadonlyArray<Migration.Migration>) => () =>
      version({ channels: { n: number }, options: { migrations } })
    const [a, b] = [Migration.rename("a", "n"), Migration.rename("b", "n")]
    assert.throws(make(a, b), "\"a\" and \"b\" get one name")
    assert.throws(make(Migration.rename("a", "m"), Migration.rename("m", "n"), b), "\"a\" and \"b\" get one name")
    assert.doesNotThrow(make(Migration.rename("a", "b"), b))
  })
  it("an old name that is there, or came back", () => {
    const make = (names: ReadonlyArray<string>, ...migrations: ReadonlyArray<Migration.Migration>) => () =>
      version({ channels: Object.fromEntries(names.map((name) => [name, number])), options: { migrations } })
    const said = "is said to be renamed, and is a key of the state"
    assert.throws(make(["n"], Migration.rename("n", "m"), Migration.drop("m")), said)
    const exchanged = [Migration.rename("a", "c"), Migration.rename("b", "a"), Migration.rename("c", "b")]
    assert.throws(make(["a", "b"], ...exchanged), said)
    assert.doesNotThrow(make(["b", "c"], Migration.rename("b", "c"), Migration.rename("a", "b")))
  })
  it("two entries from one stored form of a key", () => {
    const from = (schema: Channel.AnySchema) => Migration.convert("n", { from: schema, value: () => 0 })
    const make = (...migrations: ReadonlyArray<Migration.Migration>) => () =>
      version({ channels: { n: number }, options: { migrations } })
    assert.throws(make(from(Schema.String), from(Schema.Boolean), from(Schema.String)), "from one stored form twice")
    assert.doesNotThrow(make(from(Schema.String), from(Schema.Boolean)))
  })
  it("what is no migration", () => {
    const make = (migrations: unknown) => () => version({ channels: { n: number }, options: { migrations } })
    for (const wrong of [1, {}, [1], [null], [{}]]) assert.throws(make(wrong), "migrations")
  })
})
