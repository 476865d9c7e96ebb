/** What nodes read and write is theirs: nothing that they do to it later reaches the state, a sibling, another run or thread. */
import { assert } from "@effect/vitest"
import { Effect, Equal, Hash, Schedule, Schema, SchemaGetter, SchemaTransformation } from "effect"
import { Channel, Command, Node, NodeCache, Policy, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

/** An instance that changes itself. */
class Account extends Schema.Class<Account>("Account")({ owner: Schema.String }) {
  total = 0
  add(amount: number): number {
    return this.total += amount
  }
}

const change = (account: Account): string => {
  try {
    return String(account.add(1))
  } catch (cause) {
    return (cause as Error).name
  }
}

behaves("an instance of a class in the state cannot be changed by who reads it", () =>
  Effect.gen(function*() {
    class S extends State.make({
      account: Channel.lastValue(Account, { initial: () => new Account({ owner: "ada" }) }),
      log: Channel.append(Schema.String)
    }) {}
    const graph = StateGraph.make(
      "accounts",
      StateGraph.nodes(S, {
        a: ({ account }) => ({ log: [change(account)] }),
        b: ({ account }) => ({ log: [change(account)] }),
        c: ({ account }) => ({ log: [`${account.owner} ${account.total} ${account instanceof Account}`] })
      }),
      { start: ["a", "b"], edges: { a: StateGraph.join("c"), b: StateGraph.join("c") } }
    )
    const log = ["TypeError", "TypeError", "ada 0 true"]
    for (const id of ["one", "two"]) {
      const values = yield* graph.thread(id).invoke({})
      assert.deepStrictEqual(values.log, log)
      assert.strictEqual(values.account.total, 0)
      assert.deepStrictEqual((yield* graph.thread(id).state()).values.log, log)
    }
    assert.deepStrictEqual((yield* graph.invoke({})).log, log)
  }))

/** A class that hides what it holds. */
class Counter {
  #count: number
  constructor(count: number) {
    this.#count = count
  }
  get count() {
    return this.#count
  }
  up(): number {
    return ++this.#count
  }
}

const CounterSchema = Schema.instanceOf(Counter, {
  toCodecJson: () =>
    Schema.link<Counter>()(
      Schema.Finite,
      SchemaTransformation.transform({
        decode: (count: number) => new Counter(count),
        encode: (counter: Counter) => counter.count
      })
    )
})

behaves(
  "an instance that hides what it holds is a copy for every reader, every run and every thread",
  () =>
    Effect.gen(function*() {
      class S extends State.make({
        counter: Channel.lastValue(CounterSchema, { initial: () => new Counter(10) }),
        seen: Channel.append(Schema.Int)
      }) {}
      const spoil = ({ counter }: { readonly counter: Counter }) => ({ seen: [counter.up(), counter.up()] })
      const graph = StateGraph.make("counters", StateGraph.nodes(S, { a: spoil, b: spoil, c: spoil }), {
        start: ["a", "b"],
        edges: { a: StateGraph.join("c"), b: StateGraph.join("c") }
      })
      for (const id of ["one", "two"]) {
        const { counter, seen } = yield* graph.thread(id).invoke({})
        assert.deepStrictEqual([counter.count, ...seen], [10, 11, 12, 11, 12, 11, 12])
      }
      assert.strictEqual((yield* graph.invoke({})).counter.count, 10)
    })
)

behaves("an initial value is made for each run", () =>
  Effect.gen(function*() {
    class S extends State.make({
      dates: Channel.reducer({
        value: Schema.Array(Schema.Date),
        update: Schema.Int,
        initial: () => [new Date(0)],
        // Not as it should be: it changes what it was given.
        reduce: (dates, by) => {
          for (const date of dates) date.setTime(date.getTime() + by)
          return dates
        }
      })
    }) {}
    const graph = StateGraph.make(
      "initial",
      StateGraph.nodes(S, { a: () => ({ dates: 1 }), b: () => ({ dates: 1 }) }),
      {
        start: "a",
        edges: { a: "b" }
      }
    )
    for (const id of ["one", "two"]) {
      const { dates } = yield* graph.thread(id).invoke({})
      assert.deepStrictEqual(dates, [new Date(2)])
      assert.deepStrictEqual((yield* graph.thread(id).state()).values.dates, [new Date(2)])
    }
    assert.deepStrictEqual((yield* graph.invoke({})).dates, [new Date(2)])
  }))

behaves(
  "a reducer that changes its argument folds each write once, also where a route looks ahead",
  () =>
    Effect.gen(function*() {
      class S extends State.make({
        tags: Channel.reducer({
          value: Schema.ReadonlyMap(Schema.String, Schema.Int),
          update: Schema.String,
          initial: () => new Map<string, number>(),
          reduce: (tags, tag) => (tags as Map<string, number>).set(tag, (tags.get(tag) ?? 0) + 1)
        })
      }) {}
      const graph = StateGraph.make(
        "tags",
        StateGraph.nodes(S, { a: () => ({ tags: "x" }), b: () => ({ tags: "y" }) }),
        {
          start: "a",
          edges: { a: StateGraph.route(["b"], ({ tags }) => tags.has("x") ? "b" : "b") }
        }
      )
      const values = yield* graph.thread("t").invoke({})
      assert.deepStrictEqual([...values.tags], [["x", 1], ["y", 1]])
      assert.deepStrictEqual((yield* graph.thread("t").state()).values, values)
    })
)

class Busy extends Schema.TaggedError<Busy>()("Busy", {}) {}

behaves("each attempt gets an input of its own, and so does the handler of errors", () =>
  Effect.gen(function*() {
    class S extends State.make({ when: Channel.lastValue(Schema.Date), seen: Channel.append(Schema.Int) }) {}
    const seen: Array<number> = []
    const spoil = (date: Date) => {
      seen.push(date.getTime())
      date.setTime(date.getTime() + 1)
      return Effect.fail(new Busy())
    }
    const retry = Policy.retry({ schedule: Schedule.recurs(2) })
    const graph = StateGraph.make(
      "attempts",
      StateGraph.nodes(S, {
        pull: Node.make({
          input: S,
          run: ({ when }) => spoil(when),
          retry,
          onError: (_, { when }) => Effect.succeed({ seen: [when.getTime()] })
        }),
        sent: Node.make({
          input: Schema.Date,
          run: (when) => spoil(when),
          retry,
          onError: (_, when) => Effect.succeed({ seen: [when.getTime()] })
        }),
        send: () => ({})
      }),
      { start: ["pull", "send"], edges: { send: StateGraph.route(["sent"], ({ when }) => Send.make("sent", when)) } }
    )
    const { seen: handled, when } = yield* graph.thread("t").invoke({ when: new Date(5) })
    assert.deepStrictEqual(seen, [5, 5, 5, 5, 5, 5])
    assert.deepStrictEqual(handled, [5, 5])
    assert.deepStrictEqual(when, new Date(5))
  }))

behaves("keys that a schema does not name are not part of the state, live or stored", () =>
  Effect.gen(function*() {
    const Item = Schema.Struct({ id: Schema.Int })
    class S extends State.make({
      last: Channel.lastValue(Item),
      list: Channel.append(Item),
      made: Channel.reducer({ value: Item, initial: () => ({ id: 0 }), reduce: (_, item) => ({ ...item, extra: 1 }) }),
      grown: Channel.reducer({
        value: Schema.Array(Item),
        update: Item,
        initial: () => [],
        reduce: (items, item) => [...items, { ...item, extra: 1 }]
      })
    }) {}
    const seen: Array<unknown> = []
    const item = { id: 1, extra: 2 }
    const graph = StateGraph.make(
      "extra",
      StateGraph.nodes(S, {
        a: () => ({ last: item, list: [item], made: item, grown: item }),
        b: (state) => {
          seen.push(state)
          return { grown: item }
        }
      }),
      { start: "a", edges: { a: "b" } }
    )
    const values = yield* graph.thread("t").invoke({ last: { id: 0 } })
    const [one, two] = [{ id: 1 }, [{ id: 1 }, { id: 1 }]]
    assert.deepStrictEqual(seen, [{ last: one, list: [one], made: one, grown: [one] }])
    assert.deepStrictEqual(values, { last: one, list: [one], made: one, grown: two })
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, values)
    assert.deepStrictEqual(yield* graph.invoke({ last: { id: 0 } }), values)
  }))

// ---------------------------------------------------------------------------
// Values that their schema refuses
// ---------------------------------------------------------------------------

behaves(
  "what a reducer makes has to fit the channel, or the superstep fails and the thread stands where it stood",
  () =>
    Effect.gen(function*() {
      const value = Schema.Array(Schema.Int).check(Schema.isMaxLength(2))
      const channels = {
        delta: Channel.delta({
          value,
          update: Schema.Int,
          initial: () => [],
          reduce: (list, ints) => [...list, ...ints],
          snapshotFrequency: 5
        }),
        reducer: Channel.reducer({
          value,
          update: Schema.Int,
          initial: () => [],
          reduce: (list, int) => [...list, int]
        })
      }
      for (const [name, list] of Object.entries(channels)) {
        class S extends State.make({ list }) {}
        const graph = StateGraph.make("bounded", StateGraph.nodes(S, { add: () => ({ list: 1 }) }), { start: "add" })
        const thread = graph.thread(name)
        yield* thread.invoke({})
        yield* thread.invoke({})
        for (const again of [thread.invoke({}), thread.continue()]) {
          const error = yield* Effect.flip(again)
          assert.deepInclude(error, {
            _tag: "InvalidUpdate",
            reason: "InvalidResult",
            channel: "list",
            writers: ["add"]
          })
        }
        assert.deepStrictEqual((yield* thread.state()).values, { list: [1, 1] })
        assert.deepStrictEqual((yield* thread.state()).next, ["add"])
        // The way out is told by the failure: an Overwrite makes room.
        yield* thread.update({ list: Channel.overwrite([]) }, { asNode: "add" })
        assert.deepStrictEqual(yield* thread.invoke({}), { list: [1] })
      }
    })
)

behaves(
  "what a reducer makes has to fit the channel in a run without a thread, and in the middle of a list",
  () =>
    Effect.gen(function*() {
      class S extends State.make({
        list: Channel.reducer({
          value: Schema.Array(Schema.Struct({ n: Schema.Int.check(Schema.isLessThan(3)) })),
          update: Schema.Int,
          initial: () => [{ n: 0 }, { n: 0 }],
          reduce: ([first, ...rest], by) => [{ n: first!.n + by }, ...rest]
        })
      }) {}
      const graph = StateGraph.make("middle", StateGraph.nodes(S, { add: () => ({ list: 1 }) }), {
        start: "add",
        edges: { add: "add" as never }
      })
      const error = yield* Effect.flip(graph.invoke({}))
      assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidResult", channel: "list" })
      assert.include(error.message, "at [0][\"n\"]")
    })
)

behaves("an initial value that does not fit its channel is refused when the graph is made", () =>
  Effect.sync(() => {
    class S extends State.make({ n: Channel.lastValue(Schema.Int, { initial: () => 0.5 }) }) {}
    assert.throws(
      () => StateGraph.make("g", StateGraph.nodes(S, { a: () => ({}) }), { start: "a" }),
      "graph \"g\": the initial value of \"n\" does not fit its schema"
    )
  }))

// ---------------------------------------------------------------------------
// Values that storage would change
// ---------------------------------------------------------------------------

behaves("a value whose stored form reads back as something else is refused", () =>
  Effect.gen(function*() {
    class S extends State.make({ v: Schema.Union([Schema.String, Schema.Date]), list: Channel.append(Schema.Date) }) {}
    const graph = StateGraph.make("g", StateGraph.nodes(S, { a: () => ({ v: new Date(0) }) }), { start: "a" })
    const error = yield* Effect.flip(graph.thread("t").invoke({ v: "text" }))
    assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: "v" })
    assert.include(error.message, "reads back as something else")
    assert.strictEqual((yield* Effect.flip(graph.invoke({ v: "text" })))._tag, "InvalidUpdate")
  }))

behaves(
  "what has no stored form is refused, on a thread and without one, and nothing is lost",
  () =>
    Effect.gen(function*() {
      class Handle {}
      const cases: ReadonlyArray<readonly [string, Channel.AnySchema, unknown]> = [
        ["function", Schema.Any, { f: () => 1 }],
        ["bigint", Schema.Any, [1n]],
        ["date", Schema.Unknown, { d: new Date(0) }],
        ["map", Schema.Unknown, new Map()],
        ["nan", Schema.Any, NaN],
        ["instance", Schema.instanceOf(Handle), new Handle()]
      ]
      for (const [name, schema, value] of cases) {
        class S extends State.make({ v: Channel.lastValue(Schema.NullOr(schema), { initial: () => null }) }) {}
        const graph = StateGraph.make("g", StateGraph.nodes(S, { a: () => ({ v: value }) }), { start: "a" })
        for (const call of [graph.thread(name).invoke({}), graph.invoke({})]) {
          const error = yield* Effect.flip(call)
          assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: "v" }, name)
          assert.include(error.message, "it has no stored form", name)
        }
        assert.deepStrictEqual((yield* graph.thread(name).state()).values, { v: null })
      }
    })
)

/** Schemas whose stored forms do not tell their values apart, or change them. */
const Money = Schema.Int.pipe(Schema.decodeTo(Schema.Number, {
  decode: SchemaGetter.transform((cents: number) => cents / 100),
  encode: SchemaGetter.transform((amount: number) => Math.round(amount * 100))
}))
const lossy: ReadonlyArray<readonly [string, Channel.AnySchema, unknown]> = [
  ["a text like a bigint", Schema.Union([Schema.BigInt, Schema.String]), "123"],
  ["a text like NaN", Schema.Union([Schema.Number, Schema.String]), "NaN"],
  ["NaN like a text", Schema.Union([Schema.String, Schema.Number]), NaN],
  ["null like undefined", Schema.Union([Schema.Undefined, Schema.Null]), null],
  ["a text like a number", Schema.Union([Schema.NumberFromString, Schema.String]), "12"],
  ["a part of a struct", Schema.Struct({ a: Schema.NullishOr(Schema.Int) }), { a: undefined }],
  [
    "one of two structs",
    Schema.Union([Schema.Struct({ a: Schema.NumberFromString }), Schema.Struct({ a: Schema.String })]),
    { a: "5" }
  ],
  ["a number that is rounded", Money, 1.2345]
]

behaves(
  "a value that would read back as another is refused, written, sent or made by a reducer",
  () =>
    Effect.gen(function*() {
      for (const [name, schema, value] of lossy) {
        const made = Channel.reducer({
          value: Schema.Array(schema),
          update: Schema.Boolean,
          initial: () => [],
          reduce: (list) => [...list, value]
        })
        class S extends State.make({ list: Channel.append(schema), made }) {}
        const nodes = StateGraph.nodes(S, {
          write: () => ({ list: [value] }),
          make: () => ({ made: true }),
          send: () => Command.make({ goto: Send.make("sent", { value }) }),
          sent: Node.make({ input: Schema.Struct({ value: schema }), run: () => Effect.succeed({}) })
        })
        for (const start of ["write", "make", "send"] as const) {
          const graph = StateGraph.make("g", nodes as never, { start } as never) as unknown as StateGraph.StateGraph<
            typeof S,
            {},
            never,
            never,
            never
          >
          const error = yield* Effect.flip(graph.invoke({} as never) as Effect.Effect<unknown, { message: string }>)
          assert.include(error.message, "reads back as something else", `${name} ${start}`)
        }
      }
    })
)

class Dog extends Schema.Class<Dog>("Dog")({ name: Schema.String }) {}
class Cat extends Schema.Class<Cat>("Cat")({ name: Schema.String }) {}
class Puppy extends Dog {}

behaves(
  "a member of a union takes no value for another's: nothing of it is dropped, and its class is its own",
  () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, Channel.AnySchema, unknown]> = [
        [
          "a record of no key",
          Schema.Union([Schema.Struct({ a: Schema.optionalKey(Schema.Int) }), Schema.Struct({ b: Schema.Int })]),
          { b: 2 }
        ],
        [
          "fewer keys",
          Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ a: Schema.Int, b: Schema.Int })]),
          { a: 1, b: 2 }
        ],
        ["another class", Schema.Union([Dog, Cat]), new Cat({ name: "x" })],
        ["a subclass", Dog, new Puppy({ name: "x" })],
        ["a symbol", Schema.Symbol, Symbol("local")],
        ["a map for a record of no keys", Schema.Struct({}), new Map()]
      ]
      for (const [name, schema, value] of cases) {
        class S extends State.make({ list: Channel.append(schema) }) {}
        const graph = StateGraph.make("g", StateGraph.nodes(S, { a: () => ({ list: [value] }) }), { start: "a" })
        const error = yield* Effect.flip(graph.invoke({}))
        assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: "list" }, name)
      }
      class S extends State.make({ pets: Channel.append(Schema.Union([Dog, Schema.String])) }) {}
      const graph = StateGraph.make("g", StateGraph.nodes(S, { a: () => ({ pets: [new Dog({ name: "x" }), "y"] }) }), {
        start: "a"
      })
      assert.instanceOf((yield* graph.thread("t").invoke({})).pets[0], Dog)
      const bad = StateGraph.make("g", StateGraph.nodes(S, { a: () => ({ pets: ["y", new Puppy({ name: "x" })] }) }), {
        start: "a"
      })
      assert.include((yield* Effect.flip(bad.invoke({}))).message, "something else at [1]")
    })
)

behaves("a key that may be left out and holds undefined is left out", () =>
  Effect.gen(function*() {
    const Message = Schema.Struct({
      role: Schema.Literals(["user", "ai"]),
      name: Schema.optional(Schema.NullOr(Schema.String)),
      extra: Schema.optional(Schema.Json)
    })
    class S extends State.make({ messages: Channel.append(Message) }) {}
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(S, {
        a: () => ({
          messages: [
            { role: "user" as const, name: undefined, extra: undefined },
            { role: "ai" as const, name: null }
          ]
        })
      }),
      { start: "a" }
    )
    const messages = [{ role: "user" }, { role: "ai", name: null }] as const
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { messages })
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { messages })
  }))

behaves("a value of a recursive schema enters, however the schema makes its parts", () =>
  Effect.gen(function*() {
    interface Tree {
      readonly v: number
      readonly kids: ReadonlyArray<Tree>
    }
    const tree = (): Schema.Codec<Tree> => Schema.Struct({ v: Schema.Number, kids: Schema.Array(Schema.suspend(tree)) })
    class S extends State.make({ t: tree() }) {}
    const graph = StateGraph.make("g", StateGraph.nodes(S, { a: () => ({}) }), { start: "a" })
    const t = { v: 1, kids: [{ v: 2, kids: [] }] }
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ t }), { t })
  }))

behaves("a schema that can only be read by waiting is refused before anything is stored", () =>
  Effect.gen(function*() {
    const slow = Schema.String.pipe(Schema.decodeTo(Schema.String, {
      decode: SchemaGetter.transformEffect((text: string) => Effect.as(Effect.sleep(1), text)),
      encode: SchemaGetter.passthrough()
    }))
    class S extends State.make({ id: slow }) {}
    const thread = StateGraph.make("g", StateGraph.nodes(S, { a: () => ({}) }), { start: "a" }).thread("t")
    assert.strictEqual((yield* Effect.flip(thread.invoke({ id: "x" })))._tag, "InvalidUpdate")
    assert.strictEqual((yield* Effect.flip(thread.state()))._tag, "UnknownThread")
  }))

behaves(
  "untracked values go where the others go, as they are: through inputs, Sends and graphs inside",
  () =>
    Effect.gen(function*() {
      class Client {
        calls = 0
      }
      const fields = {
        client: Channel.untracked<Client>(),
        since: Schema.Date,
        log: Channel.append(Schema.Int)
      }
      class S extends State.make(fields) {}
      const use = ({ client, since }: { readonly client?: Client | undefined; readonly since: Date }) => {
        client!.calls++
        return { log: [since.getTime()] }
      }
      const inner = StateGraph.make("inner", StateGraph.nodes(S, { use }), { start: "use" })
      const graph = StateGraph.make(
        "g",
        StateGraph.nodes(S, {
          use,
          inner,
          sent: Node.make({ input: S, run: (s) => Effect.succeed(use(s)) }),
          send: (s) => Command.make({ goto: Send.make("sent", s) })
        }),
        { start: ["use", "send", "inner"] }
      )
      for (const call of [graph.invoke, graph.thread("t").invoke]) {
        const client = new Client()
        const values = yield* call({ client, since: new Date(7) })
        assert.deepStrictEqual(values.log, [7, 7, 7])
        assert.strictEqual(client.calls, 3)
        assert.isFalse(Object.isFrozen(client))
      }
    })
)

behaves("data that only looks like Effect's own is isolated like any other", () =>
  Effect.gen(function*() {
    class Point {
      n = 0;
      [Equal.symbol](other: unknown): boolean {
        return other instanceof Point && other.n === this.n
      }
      [Hash.symbol](): number {
        return this.n
      }
    }
    const PointSchema = Schema.instanceOf(Point, {
      toCodecJson: () =>
        Schema.link<Point>()(
          Schema.Finite,
          SchemaTransformation.transform({
            decode: (n: number) => Object.assign(new Point(), { n }),
            encode: (point: Point) => point.n
          })
        )
    })
    class S extends State.make({
      point: Channel.lastValue(PointSchema, { initial: () => new Point() }),
      shell: Channel.reducer({
        value: Schema.Unknown,
        update: Schema.Int,
        initial: () => ({}),
        // Frozen by hand, and not at every depth.
        reduce: (_, n) => Object.freeze({ inner: { n } })
      }),
      seen: Channel.append(Schema.Int)
    }) {}
    const spoil = (s: { readonly point: Point; readonly shell: unknown }) => {
      s.point.n += 1
      const { inner } = s.shell as { readonly inner?: { n: number } }
      try {
        if (inner !== undefined) inner.n = 99
      } catch {
        // Frozen, as it should be.
      }
      return { seen: [s.point.n, inner?.n ?? 0] }
    }
    const graph = StateGraph.make(
      "points",
      StateGraph.nodes(S, { first: () => ({ shell: 5 }), a: spoil, b: spoil }),
      { start: "first", edges: { first: ["a", "b"] } }
    )
    for (const call of [graph.invoke, graph.thread("t").invoke]) {
      const { point, seen } = yield* call({})
      assert.deepStrictEqual([point.n, ...seen], [0, 1, 5, 1, 5])
    }
  }))

behaves("a cached result is that of the very input", () =>
  Effect.gen(function*() {
    class S extends State.make({ v: Schema.Union([Schema.String, Schema.Date]), out: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(S, {
        a: Node.make({
          input: S,
          run: ({ v }) => Effect.succeed({ out: [typeof v] }),
          cache: Policy.cache({ ttl: "1 minute" })
        })
      }),
      { start: "a" }
    )
    const run = (v: string | Date) => Effect.result(graph.invoke({ v }))
    yield* Effect.provide(
      Effect.gen(function*() {
        yield* run(new Date(0).toISOString())
        const other = yield* run(new Date(0))
        assert.strictEqual(other._tag, "Failure")
      }),
      NodeCache.layerMemory
    )
  }))
