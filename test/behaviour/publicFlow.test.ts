/** Faults of writing, ordering and routing that users of other graph engines met in public: here they do not happen. */
import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Number, Schema, Stream } from "effect"
import { Channel, Checkpointer, Command, END, GraphError, Interrupt, Node, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask
  extends Interrupt.make("Ask", { payload: Schema.Unknown, answer: Schema.Int.check(Schema.isGreaterThan(0)) })
{}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

const say = (name: string) => () => Effect.succeed({ log: [name] })

/** A graph with its types gone, for definitions and updates that do not compile. */
interface Untyped {
  readonly invoke: (input: unknown) => Effect.Effect<unknown, unknown>
  readonly thread: (id: string) => {
    readonly invoke: (input: unknown) => Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>
    readonly continue: () => Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>
    readonly update: (values: unknown) => Effect.Effect<string, unknown, Checkpointer.Checkpointer>
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

const shape = (error: unknown) => {
  assert.instanceOf(error, GraphError.InvalidUpdate)
  const { channel, reason, writers } = error as GraphError.InvalidUpdate
  return { reason, channel, writers }
}

/** A saver that runs `after` when it has committed, to stand for a process that dies there. */
const crashing = (after: (step: number) => Effect.Effect<void>) =>
  Layer.effect(
    Checkpointer.Checkpointer,
    Effect.map(Checkpointer.Checkpointer, (saver) =>
      Checkpointer.Checkpointer.of({
        ...saver,
        commit: (thread, commit) => Effect.andThen(saver.commit(thread, commit), after(commit.checkpoint.step))
      }))
  )

// ---------------------------------------------------------------------------
// A: parallel writes, reducers, defaults
// ---------------------------------------------------------------------------

class Shared extends State.make({ a: Schema.Int, s1: Schema.Int, s2: Schema.Int }, { input: ["a"] }) {}

behaves(
  "A1 two graphs in parallel hand up what they wrote, and not the input that both got",
  () =>
    Effect.gen(function*() {
      const one = StateGraph.make("one", StateGraph.nodes(Shared, { n: () => Effect.succeed({ s1: 1 }) }), {
        start: "n"
      })
      const two = StateGraph.make("two", StateGraph.nodes(Shared, { n: () => Effect.succeed({ s2: 2 }) }), {
        start: "n"
      })
      const graph = StateGraph.make("parent", StateGraph.nodes(Shared, { one, two }), { start: ["one", "two"] })
      const expected = { a: 1, s1: 1, s2: 2 }
      assert.deepStrictEqual(yield* graph.invoke({ a: 1 }), expected)
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* thread.invoke({ a: 1 }), expected)
      assert.deepStrictEqual((yield* thread.state()).values, expected)
      for (const durability of ["async", "exit"] as const) {
        assert.deepStrictEqual(yield* graph.thread(durability).invoke({ a: 1 }, { durability }), expected)
        assert.deepStrictEqual((yield* graph.thread(durability).state()).values, expected)
      }
    })
)

behaves("A1 also when one of them pauses and is resumed", () =>
  Effect.gen(function*() {
    const one = StateGraph.make(
      "one",
      StateGraph.nodes(Shared, {
        n: () => Effect.map(Ask.ask("s1?"), (s1) => ({ s1 }))
      }),
      { start: "n" }
    )
    const two = StateGraph.make("two", StateGraph.nodes(Shared, { n: () => Effect.succeed({ s2: 2 }) }), { start: "n" })
    const thread = StateGraph.make("parent", StateGraph.nodes(Shared, { one, two }), { start: ["one", "two"] }).thread(
      "t"
    )
    assert.strictEqual((yield* Effect.flip(thread.invoke({ a: 1 })))._tag, "GraphInterrupt")
    assert.deepStrictEqual(yield* thread.resume(Ask.reply(7)), { a: 1, s1: 7, s2: 2 })
  }))

behaves(
  "A4 a declared initial value is what the reducer starts from, and what is read when nobody writes",
  () =>
    Effect.gen(function*() {
      class Ten extends State.make({
        n: Channel.reducer({ value: Schema.Int, initial: () => 10, reduce: (a, b) => a + b })
      }) {}
      const seen: Array<number> = []
      const writing = StateGraph.make(
        "writing",
        StateGraph.nodes(Ten, {
          n: (s) => {
            seen.push(s.n)
            return Effect.succeed({ n: 5 })
          }
        }),
        { start: "n" }
      )
      assert.deepStrictEqual(yield* writing.invoke({}), { n: 15 })
      const thread = writing.thread("t")
      assert.deepStrictEqual(yield* thread.invoke({}), { n: 15 })
      assert.deepStrictEqual((yield* thread.history()).map(({ values }) => values.n), [15, 10, 10])
      assert.deepStrictEqual(seen, [10, 10])
      const silent = StateGraph.make("silent", StateGraph.nodes(Ten, { n: () => ({}) }), { start: "n" })
      assert.deepStrictEqual(yield* silent.thread("u").invoke({}), { n: 10 })
      assert.deepStrictEqual((yield* silent.thread("u").state()).values, { n: 10 })
      assert.deepStrictEqual(yield* silent.thread("v").invoke({ n: 1 }), { n: 11 })
    })
)

const texts = Schema.Array(Schema.String)
const concatenating: ReadonlyArray<
  readonly [
    string,
    Channel.Channel<
      ReadonlyArray<string>,
      ReadonlyArray<string> | Channel.Overwrite<ReadonlyArray<string>>,
      "initial"
    >
  ]
> = [
  ["append", Channel.append(Schema.String)],
  ["reducer", Channel.reducer({ value: texts, initial: () => [], reduce: (a, b) => [...a, ...b] })],
  ["delta", Channel.delta({ value: texts, initial: () => [], reduce: (a, writes) => [...a, ...writes.flat()] })],
  ["topic", Channel.topic(Schema.String, { accumulate: true })]
]

behaves(
  "A6 an Overwrite comes before the other writes of its superstep, whatever the names, live and reloaded",
  () =>
    Effect.gen(function*() {
      for (const [kind, channel] of concatenating) {
        for (const [over, normal] of [["a", "b"], ["b", "a"]] as const) {
          class Concat extends State.make({ log: channel }) {}
          const graph = StateGraph.make(
            `${kind} ${over}`,
            StateGraph.nodes(Concat, {
              [over]: () => Effect.succeed({ log: Channel.overwrite(["O"]) }),
              [normal]: () => Effect.succeed({ log: ["b"] })
            }),
            { start: [over, normal] }
          )
          const expected = { log: ["O", "b"] }
          assert.deepStrictEqual(yield* graph.invoke({ log: ["0"] }), expected)
          const thread = graph.thread(`${kind} ${over}`)
          assert.deepStrictEqual(yield* thread.invoke({ log: ["0"] }), expected)
          assert.deepStrictEqual((yield* thread.state()).values, expected)
          // And it goes on from there.
          assert.deepStrictEqual(yield* thread.invoke({ log: ["1"] }), expected)
          assert.deepStrictEqual((yield* thread.history({ step: 3 }))[0]!.values, { log: ["O", "b", "1"] })
        }
      }
    })
)

behaves("A6 two Overwrites in one superstep are a conflict of both, and nothing is lost", () =>
  Effect.gen(function*() {
    for (const [kind, channel] of concatenating) {
      class Concat extends State.make({ log: channel }) {}
      const graph = StateGraph.make(
        kind,
        StateGraph.nodes(Concat, {
          a: () => Effect.succeed({ log: Channel.overwrite(["A"]) }),
          b: () => Effect.succeed({ log: Channel.overwrite(["B"]) }),
          c: () => Effect.succeed({ log: ["c"] })
        }),
        { start: ["a", "b", "c"] }
      )
      const thread = graph.thread(kind)
      const error = shape(yield* Effect.flip(thread.invoke({ log: ["0"] })))
      assert.deepStrictEqual([error.reason, error.channel], ["MultipleOverwrites", "log"])
      const { next, values } = yield* thread.state()
      assert.deepStrictEqual([values, next], [{ log: ["0"] }, ["a", "b", "c"]])
    }
  }))

behaves("A8 undefined is no write, null is a value that reaches the reducer", () =>
  Effect.gen(function*() {
    const calls: Array<readonly [number | null, number | null]> = []
    const nullable = Schema.NullOr(Schema.Int)
    class Maybe extends State.make({
      v: Channel.reducer({
        value: nullable,
        initial: () => 5,
        reduce: (a, b) => {
          calls.push([a, b])
          return a === null || b === null ? null : a + b
        }
      }),
      w: nullable
    }) {}
    const graph = untyped(Maybe, {
      none: () => Effect.succeed({ v: undefined, w: undefined }),
      nil: () => Effect.succeed({ v: null, w: null }),
      one: () => Effect.succeed({ v: 1, w: 1 })
    }, {
      start: StateGraph.route(
        ["none", "nil", "one"],
        (s: State.Type<typeof Maybe>) => s.w === 6 ? "none" : s.w === 7 ? "nil" : "one"
      )
    })
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* thread.invoke({ w: 6 }), { v: 5, w: 6 })
    assert.deepStrictEqual((yield* thread.state()).values, { v: 5, w: 6 })
    assert.deepStrictEqual(calls, [])
    assert.deepStrictEqual(yield* thread.invoke({ w: 0 }), { v: 6, w: 1 })
    assert.deepStrictEqual(yield* thread.invoke({ w: 7 }), { v: null, w: null })
    assert.deepStrictEqual((yield* thread.state()).values, { v: null, w: null })
    assert.deepStrictEqual(calls, [[5, 1], [6, null]])
    // An input may leave out what it does not change, too.
    assert.deepStrictEqual(yield* thread.invoke({ v: undefined, w: 6 }), { v: null, w: 6 })
  }))

class Positive
  extends State.make({ n: Schema.Int.check(Schema.isGreaterThan(0)), log: Channel.append(Schema.String) })
{}

behaves("A9 a value that its schema refuses fails its writer before the commit", () =>
  Effect.gen(function*() {
    const wrong: ReadonlyArray<readonly [string, unknown, string]> = [
      ["negative", { n: -1 }, "n"],
      ["fraction", { n: 1.5 }, "n"],
      ["text", Command.make({ update: { n: "1" } }), "n"],
      ["goto", Command.make({ update: { n: "1" }, goto: "b" }), "n"],
      ["item", { log: [1] }, "log"],
      ["no list", { log: "x" }, "log"],
      ["list", [{ log: ["fine"] }, { n: 0 }], "n"]
    ]
    for (const [id, output, channel] of wrong) {
      const graph = untyped(Positive, { a: () => Effect.succeed(output), b: say("b") }, { start: ["a", "b"] })
      const thread = graph.thread(id)
      const error = shape(yield* Effect.flip(thread.invoke({ n: 1 })))
      assert.deepStrictEqual(error, { reason: "InvalidValue", channel, writers: ["a"] }, id)
      const { next, step, values } = yield* thread.state()
      assert.deepStrictEqual([step, next.includes("a"), (values as { n: number }).n], [0, true, 1], id)
    }
  }))

behaves("A9 so does an update from outside, an input and an answer", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "asking",
      StateGraph.nodes(Positive, {
        ask: (s) => s.n === 1 ? Effect.map(Ask.ask(null), (n) => ({ n })) : Effect.succeed({ log: ["done"] })
      }),
      { start: "ask" }
    )
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({ n: 1 }))
    const before = yield* thread.state()
    assert.deepStrictEqual(
      shape(yield* Effect.flip(thread.update({ n: -1 }, { asNode: "ask" }))),
      { reason: "InvalidValue", channel: "n", writers: ["ask"] }
    )
    assert.deepStrictEqual(
      shape(yield* Effect.flip(thread.update({ n: "1" } as never))),
      { reason: "InvalidValue", channel: "n", writers: ["__start__"] }
    )
    assert.deepStrictEqual(
      shape(yield* Effect.flip(thread.invoke({ n: -1 }, { pending: "discard" }))),
      { reason: "InvalidValue", channel: "n", writers: ["__input__"] }
    )
    assert.deepStrictEqual(
      shape(yield* Effect.flip(thread.invoke(Command.make({ update: { n: -1 } })))),
      { reason: "InvalidValue", channel: "n", writers: ["__input__"] }
    )
    const answer = yield* Effect.flip(thread.resume(Ask.reply(-1)))
    assert.isTrue(answer instanceof GraphError.InvalidReply && answer.reason === "InvalidAnswer")
    const withUpdate = yield* Effect.flip(thread.resume(Ask.reply(2), { update: { n: -1 } }))
    assert.deepStrictEqual(shape(withUpdate), { reason: "InvalidValue", channel: "n", writers: ["__input__"] })
    assert.deepStrictEqual(yield* thread.state(), before)
    assert.deepStrictEqual(yield* thread.resume(Ask.reply(3)), { n: 3, log: [] })
  }))

// ---------------------------------------------------------------------------
// B: order
// ---------------------------------------------------------------------------

class Items extends State.make({ out: Channel.append(Schema.Int) }) {}
const twelve = Array.from({ length: 12 }, (_, n) => n)

/** A node that takes a number and leaves it; each of its tasks finishes at another time. */
const item = <E, R>(first: (n: number) => Effect.Effect<void, E, R>) =>
  Node.make({
    input: Schema.Int,
    run: (n) =>
      Effect.gen(function*() {
        for (let turn = 0; turn < (n * 7) % 12; turn++) yield* Effect.yieldNow
        yield* first(n)
        return { out: [n] }
      })
  })

/** Twelve Sends to it. */
const sends = { start: StateGraph.route(["item"], () => twelve.map((n) => Send.make("item", n))) }

behaves("B1 results of twelve Sends stand in the order of the Sends", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("sending", StateGraph.nodes(Items, { item: item(() => Effect.void) }), sends)
    assert.deepStrictEqual(yield* graph.invoke({}), { out: twelve })
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* thread.invoke({}), { out: twelve })
    assert.deepStrictEqual((yield* thread.state()).values, { out: twelve })
  }))

behaves("B1 also when the third asks and is answered later", () =>
  Effect.gen(function*() {
    const runs = twelve.map(() => 0)
    const asks = item((n) => {
      runs[n]!++
      return n === 3 ? Effect.asVoid(Ask.ask(n)) : Effect.void
    })
    const graph = StateGraph.make("sending", StateGraph.nodes(Items, { item: asks }), sends)
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({}))
    assert.deepStrictEqual((yield* thread.state()).values, { out: twelve.filter((n) => n !== 3) })
    assert.deepStrictEqual((yield* thread.state()).next, ["item"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply(1)), { out: twelve })
    assert.deepStrictEqual((yield* thread.state()).values, { out: twelve })
    assert.deepStrictEqual(runs, twelve.map((n) => n === 3 ? 2 : 1))
  }))

behaves("B1 also when the third fails once and is run again", () =>
  Effect.gen(function*() {
    const runs = twelve.map(() => 0)
    const fails = item((n) => ++runs[n]! === 1 && n === 3 ? Effect.fail(new Broken()) : Effect.void)
    const graph = StateGraph.make("sending", StateGraph.nodes(Items, { item: fails }), sends, { onFailure: "settle" })
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), new Broken())
    assert.deepStrictEqual(yield* thread.continue(), { out: twelve })
    assert.deepStrictEqual((yield* thread.state()).values, { out: twelve })
    assert.deepStrictEqual(runs, twelve.map((n) => n === 3 ? 2 : 1))
  }))

behaves("B1 also when the process dies before the superstep is committed", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("sending", StateGraph.nodes(Items, { item: item(() => Effect.void) }), sends)
    const thread = graph.thread("t")
    const saver = yield* Checkpointer.Checkpointer
    const dying = Layer.succeed(
      Checkpointer.Checkpointer,
      Checkpointer.Checkpointer.of({
        ...saver,
        commit: (id, commit) => commit.checkpoint.step === 1 ? Effect.die("killed") : saver.commit(id, commit)
      })
    )
    const exit = yield* Effect.exit(thread.invoke({}).pipe(Effect.provide(dying)))
    assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    assert.deepStrictEqual((yield* thread.state()).values, { out: twelve })
    assert.deepStrictEqual(yield* thread.continue(), { out: twelve })
  }))

behaves(
  "B3 a state that is rebuilt from stored writes is the live state, at every checkpoint",
  () =>
    Effect.gen(function*() {
      // Order of names, of declaration and of completion differ.
      for (const names of [["zeta", "alpha"], ["alpha", "zeta"], ["a10", "a9"], ["B", "a"], ["ä", "z"]] as const) {
        const [first, second] = names
        class Deltas extends State.make({
          step: Channel.reduced(Schema.Int, Number.ReducerSum),
          delta: Channel.delta({
            value: texts,
            initial: () => [],
            reduce: (state, writes) => [...state, ...writes.flat()],
            snapshotFrequency: 4
          }),
          appended: Channel.append(Schema.String)
        }) {}
        const graph = StateGraph.make(
          "deltas",
          StateGraph.nodes(Deltas, {
            [first]: (s: State.Type<typeof Deltas>) =>
              Effect.as(Effect.yieldNow, {
                step: 1,
                delta: [`${first}${s.step}`, `${first}${s.step}'`],
                appended: [`${first}${s.step}`]
              }),
            [second]: (s: State.Type<typeof Deltas>) =>
              Effect.succeed({ delta: [`${second}${s.step}`], appended: [`${second}${s.step}`] })
          }),
          {
            start: [first, second],
            edges: {
              [first]: StateGraph.route(
                [first, second],
                (s: State.Type<typeof Deltas>) => s.step < 10 ? [first, second] : []
              )
            }
          } as never
        )
        const thread = graph.thread(names.join())
        const live = [...yield* Stream.runCollect(thread.stream({}, { modes: ["values"] }))].flatMap((event) =>
          event.mode === "values" ? [event.values as unknown] : []
        )
        assert.strictEqual(live.length, 10)
        const stored = (yield* thread.history()).map(({ values }) => values as unknown).toReversed()
        assert.deepStrictEqual(stored.slice(2), live)
        const sorted = names.toSorted((a, b) => a < b ? -1 : 1)
        assert.deepStrictEqual(
          (live[9] as { readonly appended: ReadonlyArray<string> }).appended,
          Array.from({ length: 10 }, (_, n) => sorted.map((name) => `${name}${n}`)).flat()
        )
        // Going on from what was stored adds to it.
        yield* thread.invoke({})
        const more = (yield* thread.state()).values as { readonly appended: ReadonlyArray<string> }
        assert.deepStrictEqual(more.appended.slice(20), sorted.map((name) => `${name}10`))
      }
    })
)

// ---------------------------------------------------------------------------
// C: edges, joins, deferred nodes, routing
// ---------------------------------------------------------------------------

const skipping = (release: "all" | "idle") =>
  StateGraph.make(
    `skipping ${release}`,
    StateGraph.nodes(Log, { A: say("A"), B: say("B"), C: say("C"), D: say("D") }),
    {
      start: StateGraph.route(["A", "B"], () => "A" as const),
      edges: { A: StateGraph.join("C", { release }), B: StateGraph.join("C", { release }), C: "D" }
    }
  )

const skipped = new GraphError.StalledJoin({ node: "C", arrived: ["A"], missing: ["B"] })

behaves(
  "C1 a join whose source was skipped is a typed failure, or is released when told so: never silence",
  () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* Effect.flip(skipping("all").invoke({})), skipped)
      assert.deepStrictEqual(yield* Effect.flip(skipping("all").thread("t").invoke({})), skipped)
      assert.strictEqual(
        skipped.message,
        "the join before \"C\" got \"A\" and still waits for \"B\". " +
          "Use StateGraph.join(target, { release: \"idle\" }) if a source may be skipped"
      )
      assert.deepStrictEqual(yield* skipping("idle").invoke({}), { log: ["A", "C", "D"] })
      assert.deepStrictEqual(yield* skipping("idle").thread("u").invoke({}), { log: ["A", "C", "D"] })
    })
)

behaves("C1 the same after a crash right behind the commit of the source that ran", () =>
  Effect.gen(function*() {
    const dies = crashing((step) => step === 1 ? Effect.die("killed") : Effect.void)
    for (const release of ["all", "idle"] as const) {
      const thread = skipping(release).thread(release)
      const exit = yield* Effect.exit(thread.invoke({}).pipe(Effect.provide(dies)))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      if (release === "all") {
        assert.deepStrictEqual(yield* Effect.flip(thread.continue()), skipped)
        assert.deepStrictEqual(yield* Effect.flip(thread.start({})), skipped)
      } else {
        assert.deepStrictEqual((yield* thread.state()).next, ["C"])
        assert.deepStrictEqual(yield* thread.continue(), { log: ["A", "C", "D"] })
      }
    }
  }))

behaves("C1 inside a graph that is a node it is the same failure", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child: skipping("all"), after: say("after") }), {
      start: "child",
      edges: { child: "after" }
    })
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), skipped)
    assert.deepStrictEqual((yield* thread.state()).next, ["child"])
    assert.deepStrictEqual(yield* Effect.flip(thread.continue()), skipped)
  }))

/** Branches of length one to three, started by Commands, that all lead to a deferred node; the second by a route. */
const uneven = () => {
  const goes = <const To extends string>(name: string, to: To) => () =>
    Effect.succeed(Command.make({ update: { log: [name] }, goto: to }))
  return StateGraph.make(
    "uneven",
    StateGraph.nodes(Log, {
      fan: () => Effect.succeed(Command.make({ update: { log: ["fan"] }, goto: ["a1", "b1", "c1"] })),
      a1: goes("a1", "last"),
      b1: say("b1"),
      b2: say("b2"),
      c1: goes("c1", "c2"),
      c2: goes("c2", "c3"),
      c3: say("c3"),
      last: Node.make({ input: Log, defer: true, run: say("last") }),
      end: say("end"),
      end2: say("end2")
    }),
    {
      start: "fan",
      edges: {
        b1: "b2",
        b2: StateGraph.route(["last", END], (s) => s.log.includes("b2") ? "last" : END),
        c3: "last",
        last: ["end"],
        end: "end2"
      }
    }
  )
}

behaves(
  "C3 a deferred node runs once, after everything, whichever way it was reached; then what follows it",
  () =>
    Effect.gen(function*() {
      const expected = { log: ["fan", "a1", "b1", "c1", "b2", "c2", "c3", "last", "end", "end2"] }
      assert.deepStrictEqual(yield* uneven().invoke({}), expected)
      const thread = uneven().thread("t")
      assert.deepStrictEqual(yield* thread.invoke({}), expected)
      assert.deepStrictEqual((yield* thread.history()).map(({ next }) => next).toReversed(), [
        ["__start__"],
        ["fan"],
        ["a1", "b1", "c1"],
        ["b2", "c2"],
        ["c3"],
        ["last"],
        ["end"],
        ["end2"],
        []
      ])
    })
)

behaves(
  "C3 also when the run is stopped, and read back from the saver, before every superstep",
  () =>
    Effect.gen(function*() {
      const thread = uneven().thread("t")
      const all = { before: ["*"] }
      let stop = yield* Effect.flip(thread.invoke({}, all))
      const stops: Array<ReadonlyArray<string>> = []
      for (;;) {
        assert.instanceOf(stop, GraphError.GraphBreakpoint)
        stops.push((stop as GraphError.GraphBreakpoint).next)
        const exit = yield* Effect.result(thread.continue(all))
        if (exit._tag === "Success") {
          assert.deepStrictEqual(exit.success, {
            log: ["fan", "a1", "b1", "c1", "b2", "c2", "c3", "last", "end", "end2"]
          })
          break
        }
        stop = exit.failure
      }
      assert.deepStrictEqual(stops, [
        ["fan"],
        ["a1", "b1", "c1"],
        ["b2", "c2"],
        ["c3"],
        ["last"],
        ["end"],
        ["end2"]
      ])
    })
)

behaves("C3 a Command straight to a deferred node beside Sends waits for the Sends", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "sends",
      StateGraph.nodes(Log, {
        fan: () =>
          Effect.succeed(
            Command.make({ update: { log: ["fan"] }, goto: ["last", Send.make("work", 1), Send.make("work", 2)] })
          ),
        work: Node.make({
          input: Schema.Int,
          run: (n) =>
            Effect.succeed(
              n < 3
                ? Command.make({ update: { log: [`w${n}`] }, goto: [Send.make("work", n + 2)] })
                : Command.make({ update: { log: [`w${n}`] }, goto: ["last" as const] })
            )
        }),
        last: Node.make({ input: Log, defer: true, run: say("last") })
      }),
      { start: "fan" }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["fan", "w1", "w2", "w3", "w4", "last"] })
  }))

behaves(
  "C5 a node with edges that also goes elsewhere by Command is refused: nothing runs twice",
  () =>
    Effect.gen(function*() {
      const flows: ReadonlyArray<readonly [string, unknown]> = [
        ["edge", "b"],
        ["edges", ["b", "c"]],
        ["join", StateGraph.join("b")],
        ["route", StateGraph.route(["b"], () => "b" as const)],
        ["end", END],
        ["ends", [END]],
        ["join of the end", StateGraph.join(END)]
      ]
      for (const [id, to] of flows) {
        const runs: Array<string> = []
        const noted = (name: string, output: unknown) => () =>
          Effect.sync(() => {
            runs.push(name)
            return output
          })
        const graph = untyped(Log, {
          a: noted("a", Command.make({ update: { log: ["a"] }, goto: "c" })),
          b: noted("b", { log: ["b"] }),
          c: noted("c", { log: ["c"] })
        }, { start: "a", edges: { a: to, b: "c" } })
        const thread = graph.thread(id)
        const error = yield* Effect.flip(thread.invoke({}))
        assert.deepStrictEqual(shape(error), { reason: "MixedRouting", channel: undefined, writers: ["a"] }, id)
        assert.match((error as Error).message, /A node has one kind of routing/)
        assert.deepStrictEqual(runs, ["a"], id)
        const { next, values } = yield* thread.state()
        assert.deepStrictEqual([values, next], [{ log: [] }, ["a"]], id)
      }
    })
)

behaves("C5 a Command that only updates leaves the edges as they are", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "updates",
      StateGraph.nodes(Log, {
        a: () => Effect.succeed(Command.make({ update: { log: ["a"] } })),
        b: say("b")
      }),
      { start: "a", edges: { a: "b" } }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b"] })
  }))

behaves("C5 a node that declares destinations may not have edges", () =>
  Effect.sync(() => {
    assert.throws(
      () =>
        untyped(Log, { a: Node.make({ input: Log, destinations: ["b"], run: say("a") }), b: say("b") }, {
          start: "a",
          edges: { a: "b" }
        }),
      "node \"a\" has edges and says where its Commands go. A node has one kind of routing"
    )
  }))

behaves(
  "C6 a route to a name that is no node fails, with who chose, what, and what there is",
  () =>
    Effect.gen(function*() {
      const chosen: ReadonlyArray<readonly [string, unknown, unknown]> = [
        ["name", "nope", "nope"],
        ["undefined", undefined, undefined],
        ["null", null, null],
        ["number", 3, 3],
        ["object", { to: "ok" }, { to: "ok" }],
        ["list", ["ok", "nope"], "nope"],
        ["list first", ["nope", "ok"], "nope"],
        ["list of undefined", ["ok", undefined], undefined],
        ["nested list", ["ok", ["ok"]], ["ok"]],
        ["start", "__start__", "__start__"],
        ["key of an object", "constructor", "constructor"]
      ]
      for (const [id, result, value] of chosen) {
        const runs: Array<string> = []
        const graph = untyped(Log, {
          a: say("a"),
          ok: () => Effect.sync(() => void runs.push("ok"))
        }, { start: "a", edges: { a: StateGraph.route(["ok"], () => result as "ok") } })
        const expected = new GraphError.UnknownRoute({ from: "a", value, allowed: ["ok"] })
        assert.deepStrictEqual(yield* Effect.flip(graph.invoke({})), expected, id)
        const thread = graph.thread(id)
        assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), expected, id)
        // Nothing of the list is scheduled, and the node that chose is still to run.
        const { next, step, values } = yield* thread.state()
        assert.deepStrictEqual([step, values, next], [0, { log: [] }, ["a"]], id)
        assert.deepStrictEqual(runs, [], id)
      }
      const send = Send.make("nope", 1)
      const sending = untyped(Log, { a: say("a"), ok: say("ok") }, {
        start: "a",
        edges: { a: StateGraph.route(["ok"], () => send as never) }
      })
      assert.deepStrictEqual(
        yield* Effect.flip(sending.invoke({})),
        new GraphError.UnknownRoute({ from: "a", value: send, allowed: ["ok"] })
      )
    })
)

behaves("C6 the thread goes on once the route is right", () =>
  Effect.gen(function*() {
    let target = "nope"
    const graph = untyped(Log, { a: say("a"), ok: say("ok") }, {
      start: "a",
      edges: { a: StateGraph.route(["ok"], () => target as "ok") }
    })
    const thread = graph.thread("t")
    assert.strictEqual(((yield* Effect.flip(thread.invoke({}))) as { readonly _tag: string })._tag, "UnknownRoute")
    target = "ok"
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "ok"] })
  }))

behaves("C6 an empty list is no error: it ends the branch", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("ends", StateGraph.nodes(Log, { a: say("a"), b: say("b") }), {
      start: "a",
      edges: { a: StateGraph.route(["b"], () => []) }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a"] })
  }))

behaves("C6 a route that throws is a defect, and its node is still to run", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("throws", StateGraph.nodes(Log, { a: say("a") }), {
      start: "a",
      edges: {
        a: StateGraph.route(["a"], () => {
          throw new Error("no idea")
        })
      }
    })
    const thread = graph.thread("t")
    const exit = yield* Effect.exit(thread.invoke({}))
    assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    assert.deepStrictEqual((yield* thread.state()).next, ["a"])
  }))

behaves(
  "C10 a reducer that changes its argument is a clear error; a pure one is applied once before its route",
  () =>
    Effect.gen(function*() {
      const graph = (reduce: (left: ReadonlyArray<string>, right: ReadonlyArray<string>) => ReadonlyArray<string>) => {
        const seen: Array<ReadonlyArray<string>> = []
        class Reduced extends State.make({ log: Channel.reducer({ value: texts, initial: () => [], reduce }) }) {}
        const made = StateGraph.make("reduced", StateGraph.nodes(Reduced, { a: say("a") }), {
          start: "a",
          edges: {
            a: StateGraph.route(["a", END], (s) => {
              seen.push(s.log)
              return END
            })
          }
        })
        return { made, seen }
      }
      const pure = graph((left, right) => [...left, ...right])
      assert.deepStrictEqual(yield* pure.made.thread("pure").invoke({ log: ["0"] }), { log: ["0", "a"] })
      assert.deepStrictEqual(pure.seen, [["0", "a"]])
      for (
        const [side, mutating] of [
          ["left", graph((left, right) => ((left as Array<string>).push(...right), left))],
          ["right", graph((left, right) => ((right as Array<string>).unshift(...left), right))]
        ] as const
      ) {
        const thread = mutating.made.thread(side)
        const error = yield* Effect.flip(thread.invoke({ log: ["0"] }))
        assert.isTrue(error instanceof GraphError.InvalidUpdate)
        assert.deepStrictEqual([shape(error).reason, shape(error).channel], ["ReducerFailed", "log"])
        assert.match(error.message, /Reducers are pure: they return a new value and change neither argument/)
        assert.deepStrictEqual(mutating.seen, [])
      }
    })
)
