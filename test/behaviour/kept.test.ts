/** Graphs that keep their state from call to call, and ask. */
import { assert } from "@effect/vitest"
import { Effect, Schedule, Schema } from "effect"
import { Channel, Checkpointer, END, Interrupt, Node, Policy, State, StateGraph } from "superstep"
import { paused } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

class Inner extends State.make({
  bar: Channel.lastValue(Schema.String, { initial: () => "" }),
  baz: Channel.lastValue(Schema.String, { initial: () => "" }),
  seen: Channel.append(Schema.String)
}) {}
class Outer extends State.make({ foo: Schema.String }) {}

const graphs = (log: Array<string>) => {
  const inner = StateGraph.make(
    "inner",
    StateGraph.nodes(Inner, {
      one: Effect.fnUntraced(function*(s) {
        log.push("inner one")
        const baz = yield* Ask.ask("baz?")
        return { baz, seen: [s.bar] }
      }),
      two: (s) => {
        log.push("inner two")
        return { bar: s.bar + s.baz }
      }
    }),
    { start: "one", edges: { one: "two" } },
    { persistence: "thread" }
  )
  const outer = StateGraph.make(
    "outer",
    StateGraph.nodes(Outer, {
      first: (s) => {
        log.push("outer first")
        return { foo: `hi! ${s.foo}` }
      },
      second: (s) => {
        log.push("outer second")
        return Effect.map(inner.call({ bar: s.foo }), ({ bar }) => ({ foo: bar }))
      }
    }),
    { start: "first", edges: { first: "second" } }
  )
  return { inner, outer }
}

behaves(
  "LG#128 a kept graph with keys of its own pauses the node that calls it, and goes on with the answer",
  () =>
    Effect.gen(function*() {
      const { inner, outer } = graphs([])
      const thread = outer.thread("t")
      const paused = yield* Effect.flip(thread.invoke({ foo: "foo" }))
      assert.strictEqual(paused._tag, "GraphInterrupt")
      assert.deepStrictEqual((yield* thread.state()).values, { foo: "hi! foo" })
      const part = yield* thread.at(["second~0"], inner).state()
      assert.deepStrictEqual([part.values["bar"], part.next], ["hi! foo", ["one"]])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("baz")), { foo: "hi! foobaz" })
    })
)

behaves(
  "LG#129 a kept graph that is entered again starts with what it kept, and asks again",
  () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { inner, outer } = graphs(log)
      const thread = outer.thread("t")
      yield* Effect.flip(thread.invoke({ foo: "bar" }))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("baz")), { foo: "hi! barbaz" })
      yield* Effect.flip(thread.invoke({ foo: "qux" }))
      const waiting = yield* thread.at(["second~0"], inner).state()
      assert.deepStrictEqual([waiting.values["seen"], waiting.values["bar"], waiting.values["baz"]], [
        ["hi! bar"],
        "hi! qux",
        "baz"
      ])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("quux")), { foo: "hi! quxquux" })
      const ended = yield* thread.at(["second~0"], inner).state()
      assert.deepStrictEqual(ended.values["seen"], ["hi! bar", "hi! qux"])
      // Each turn runs the caller and the asking node twice, and what stands before and after them once.
      assert.deepStrictEqual(log, [
        "outer first",
        "outer second",
        "inner one",
        "outer second",
        "inner one",
        "inner two",
        "outer first",
        "outer second",
        "inner one",
        "outer second",
        "inner one",
        "inner two"
      ])
    })
)

// ---------------------------------------------------------------------------
// What is dropped, and what is called from elsewhere
// ---------------------------------------------------------------------------

class Words extends State.make({ log: Channel.append(Schema.String) }) {}
class Got extends State.make({
  n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
  got: Channel.append(Schema.String)
}) {}
class Question extends Interrupt.make("Question", { payload: Schema.String, answer: Schema.String }) {}

const everyDurability = ["sync", "async", "exit"] as const

behaves(
  "L11 an answer of work that was dropped is not given to the work that takes its place",
  () =>
    Effect.gen(function*() {
      for (const durability of everyDurability) {
        const called = StateGraph.make(
          "called",
          StateGraph.nodes(Words, {
            one: () => ({ log: ["one"] }),
            ask: () => Effect.map(Question.ask("inner?"), (answer) => ({ log: [`inner ${answer}`] }))
          }),
          { start: "one", edges: { one: "ask" } }
        )
        const kept = StateGraph.make(
          "kept",
          StateGraph.nodes(Words, {
            k: Effect.fnUntraced(function*() {
              const { log } = yield* called.call({})
              return { log: [...log, `outer ${yield* Question.ask("outer?")}`] }
            })
          }),
          { start: "k" },
          { persistence: "thread" }
        )
        const graph = StateGraph.make(
          "root",
          StateGraph.nodes(Got, { r: () => Effect.map(kept.call({}), ({ log }) => ({ got: [log.join(",")] })) }),
          { start: "r" }
        )
        const thread = graph.thread(durability)
        const answer = (text: string) => thread.resume(Question.reply(text), { durability })
        yield* paused(thread.invoke({}, { durability }))
        yield* paused(answer("A"))
        yield* answer("A")
        yield* paused(thread.invoke({}, { durability }))
        yield* paused(answer("OLD"))
        yield* paused(thread.invoke({}, { durability, pending: "discard" }))
        yield* paused(answer("NEW"))
        const { got } = yield* answer("NEW")
        assert.strictEqual(got[1], "one,inner A,outer A,one,inner NEW,outer NEW", durability)
      }
    })
)

behaves("L14 a run that takes the place of a failed one is no other runner to it", () =>
  Effect.gen(function*() {
    for (const durability of everyDurability) {
      let thoughts = 0
      let isDown = false
      const kept = StateGraph.make(
        "kept",
        StateGraph.nodes(Words, {
          think: () => ({ log: [`thought ${++thoughts}`] }),
          send: () => isDown ? Effect.fail("down") : Effect.succeed({ log: ["sent"] })
        }),
        { start: "think", edges: { think: "send" } },
        { persistence: "thread" }
      )
      const graph = StateGraph.make(
        "root",
        StateGraph.nodes(Got, { r: () => Effect.map(kept.call({}), ({ log }) => ({ got: [log.join(",")] })) }),
        { start: "r" }
      )
      const thread = graph.thread(durability)
      yield* thread.invoke({}, { durability })
      isDown = true
      yield* Effect.flip(thread.invoke({}, { durability }))
      isDown = false
      const { got } = yield* thread.invoke({}, { durability, pending: "discard" })
      assert.strictEqual(got[1], "thought 1,sent,thought 3,sent", durability)
    }
  }))

behaves(
  "L9 a kept graph in a kept graph that did not call it for a while goes on where it was",
  () =>
    Effect.gen(function*() {
      for (const durability of everyDurability) {
        class Counted extends State.make({
          n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
          log: Channel.append(Schema.String)
        }) {}
        const inner = StateGraph.make(
          "inner",
          StateGraph.nodes(Counted, { i: ({ log }) => ({ log: [`i${log.length}`] }) }),
          { start: "i" },
          { persistence: "thread" }
        )
        const outer = StateGraph.make(
          "outer",
          StateGraph.nodes(Counted, {
            o: ({ n }) =>
              n === 1 ? Effect.succeed({ log: ["skip"] }) : Effect.map(inner.call({}), ({ log }) => ({ log }))
          }),
          { start: "o" },
          { persistence: "thread" }
        )
        const graph = StateGraph.make(
          "root",
          StateGraph.nodes(Got, {
            r: ({ n }) => Effect.map(outer.call({ n }), ({ log }) => ({ n: n + 1, got: [log.join(",")] }))
          }),
          { start: "r", edges: { r: StateGraph.route(["r", END], ({ n }) => n < 3 ? "r" : END) } }
        )
        const thread = graph.thread(durability)
        const first = ["i0", "i0,skip", "i0,skip,i0,i1"]
        assert.deepStrictEqual((yield* thread.invoke({}, { durability })).got, first, durability)
        const { got } = yield* thread.invoke({ n: 2 }, { durability })
        assert.strictEqual(got[3], "i0,skip,i0,i1,i0,i1,i2", durability)
      }
    })
)

behaves(
  "L9 a graph that is kept from now on goes on from its last call, in every durability",
  () =>
    Effect.gen(function*() {
      const app = (id: string, persistence: "call" | "thread") => {
        const inner = StateGraph.make(
          "inner",
          StateGraph.nodes(Words, { i: ({ log }) => ({ log: [`i${log.length}`] }) }),
          { start: "i" },
          { persistence }
        )
        return StateGraph.make(
          "root",
          StateGraph.nodes(Got, { r: () => Effect.map(inner.call({}), ({ log }) => ({ got: [log.join(",")] })) }),
          { start: "r" }
        ).thread(id)
      }
      for (const before of everyDurability) {
        yield* app(before, "call").invoke({}, { durability: before })
        assert.deepStrictEqual((yield* app(before, "call").invoke({}, { durability: before })).got, ["i0", "i0"])
        for (const durability of everyDurability) {
          const id = `${before}, then ${durability}`
          yield* app(id, "call").invoke({}, { durability: before })
          assert.deepStrictEqual((yield* app(id, "thread").invoke({}, { durability })).got, ["i0", "i0,i1"], id)
          assert.deepStrictEqual((yield* app(id, "thread").invoke({}, { durability: "sync" })).got, [
            "i0",
            "i0,i1",
            "i0,i1,i2"
          ], id)
        }
      }
    })
)

behaves(
  "L9 a kept graph that takes turns with one that is not, at one place, finds the same in every durability",
  () =>
    Effect.gen(function*() {
      const make = (name: string, persistence: "call" | "thread") =>
        StateGraph.make(
          name,
          StateGraph.nodes(Words, { i: ({ log }) => ({ log: [`${name}${log.length}`] }) }),
          { start: "i" },
          { persistence }
        )
      const [kept, fresh] = [make("k", "thread"), make("f", "call")]
      const root = StateGraph.make(
        "root",
        StateGraph.nodes(Got, {
          r: ({ got }) =>
            Effect.map((got.length % 2 === 0 ? kept : fresh).call({}), ({ log }) => ({ got: [log.join(",")] }))
        }),
        { start: "r", edges: { r: StateGraph.route(["r", END], ({ got }) => got.length % 3 === 0 ? END : "r") } }
      )
      for (const durability of everyDurability) {
        const thread = root.thread(durability)
        yield* thread.invoke({}, { durability })
        const { got } = yield* thread.invoke({}, { durability })
        assert.deepStrictEqual(got, ["k0", "f0", "f0,k1", "f0", "f0,k1", "f0"], durability)
      }
    })
)

behaves(
  "L9 kept graphs of different nodes that are called at one place go on from each other, in every durability",
  () =>
    Effect.gen(function*() {
      class Count extends State.make({
        n: Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: (a: number, b: number) => a + b })
      }) {}
      const one = () => ({ n: 1 })
      const kept = { persistence: "thread" } as const
      const big = StateGraph.make(
        "big",
        StateGraph.nodes(Count, { a: one, b: one, c: one }),
        { start: "a", edges: { a: "b", b: "c" } },
        kept
      )
      const small = StateGraph.make("small", StateGraph.nodes(Count, { a: one }), { start: "a" }, kept)
      const root = StateGraph.make(
        "root",
        StateGraph.nodes(Got, {
          r: ({ got }) =>
            Effect.map((got.length % 2 === 0 ? big : small).call({ n: 10 }), ({ n }) => ({ got: [String(n)] }))
        }),
        { start: "r", edges: { r: StateGraph.route(["r", END], ({ got }) => got.length % 3 === 0 ? END : "r") } }
      )
      for (const durability of everyDurability) {
        const thread = root.thread(durability)
        assert.deepStrictEqual((yield* thread.invoke({}, { durability })).got, ["13", "24", "37"])
        assert.deepStrictEqual((yield* thread.invoke({}, { durability })).got, ["13", "24", "37", "48", "61", "72"])
      }
    })
)

behaves(
  "L16 a call that was refused for its input is no call: the next one under its key goes on",
  () =>
    Effect.gen(function*() {
      for (const durability of everyDurability) {
        class Needs extends State.make({ n: Schema.Int, log: Channel.append(Schema.String) }) {}
        const inner = StateGraph.make(
          "inner",
          StateGraph.nodes(Needs, { i: ({ log }) => ({ log: [`i${log.length}`] }) }),
          {
            start: "i"
          },
          { persistence: "thread" }
        )
        const graph = StateGraph.make(
          "root",
          StateGraph.nodes(Got, {
            r: Effect.fnUntraced(function*({ n }) {
              yield* Effect.exit(inner.call({ n: "x" as never }, { key: "k" }))
              const { log } = yield* inner.call({ n }, { key: "k" })
              return { n: n + 1, got: [log.join(",")] }
            })
          }),
          { start: "r", edges: { r: StateGraph.route(["r", END], ({ n }) => n < 3 ? "r" : END) } }
        )
        const { got } = yield* graph.thread(durability).invoke({}, { durability })
        assert.deepStrictEqual(got, ["i0", "i0,i1", "i0,i1,i2"], durability)
      }
    })
)

behaves("Law15 ids do not tell which of two calls was faster", () =>
  Effect.gen(function*() {
    const ids: Array<string> = []
    for (const slow of ["x", "y"]) {
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Words, {
          i: ({ log }) => Effect.as(Effect.sleep(log[0] === slow ? 20 : 0), { log: ["done"] })
        }),
        { start: "i" }
      )
      const graph = StateGraph.make(
        "root",
        StateGraph.nodes(Got, {
          r: () =>
            Effect.as(
              Effect.forEach(["x", "y"], (key) => inner.call({ log: [key] }, { key }), { concurrency: 2 }),
              { got: ["both"] }
            )
        }),
        { start: "r" }
      )
      const thread = graph.thread(slow)
      yield* thread.invoke({})
      ids.push((yield* thread.state()).checkpoint)
    }
    assert.strictEqual(ids[0], ids[1])
  }))

// ---------------------------------------------------------------------------
// The same in every durability
// ---------------------------------------------------------------------------

class Small extends State.make({
  n: Channel.lastValue(Schema.Int.check(Schema.isLessThan(10)), { initial: () => 0 }),
  seen: Channel.append(Schema.Int)
}) {}
class Large extends State.make({
  n: Channel.lastValue(Schema.Int, { initial: () => 5 }),
  seen: Channel.append(Schema.Int)
}) {}

behaves(
  "L9 a kept graph whose input was refused has not run, and is not where the call before it was",
  () =>
    Effect.gen(function*() {
      const kept = StateGraph.make(
        "kept",
        StateGraph.nodes(Small, { k: ({ n }) => ({ seen: [n] }) }),
        { start: "k" },
        { persistence: "thread" }
      )
      const again = StateGraph.route(["kept", END], ({ n }: State.Type<typeof Large>) => n > 15 ? END : "kept")
      const mounted = StateGraph.make(
        "mounted",
        StateGraph.nodes(Large, { kept, r: ({ n }) => ({ n: n + 7 }) }),
        { start: "kept", edges: { kept: "r", r: again } }
      )
      const called = StateGraph.make(
        "called",
        StateGraph.nodes(Large, {
          kept: ({ n }) => Effect.map(kept.call({ n }), ({ seen }) => ({ n: n + 7, seen: seen.slice(-1) }))
        }),
        { start: "kept", edges: { kept: again } }
      )
      for (const graph of [mounted, called]) {
        for (const durability of everyDurability) {
          const thread = graph.thread(`${graph.name} ${durability}`)
          for (const run of [thread.invoke({}, { durability }), thread.continue({ durability }), thread.continue()]) {
            assert.strictEqual((yield* Effect.flip(run))._tag, "InvalidUpdate")
            assert.deepStrictEqual((yield* thread.state()).values, { n: 12, seen: [5] })
          }
        }
      }
    })
)

behaves(
  "L9 untracked values of a graph inside a task live as long as it runs, in every durability",
  () =>
    Effect.gen(function*() {
      class Near extends State.make({
        near: Channel.untracked<number>(),
        far: Channel.lastValue(Schema.String, { initial: () => "" })
      }) {}
      const kept = StateGraph.make(
        "kept",
        StateGraph.nodes(Near, {
          a: ({ near }) => ({ near: 42, far: `${near}` }),
          b: ({ far, near }) => ({ far: `${far} ${near}` })
        }),
        { start: "a", edges: { a: "b" } },
        { persistence: "thread" }
      )
      const turns = StateGraph.make(
        "turns",
        StateGraph.nodes(Got, { r: () => Effect.map(kept.call({}), ({ far }) => ({ got: [far] })) }),
        { start: "r", edges: { r: StateGraph.route(["r", END], ({ got }) => got.length > 1 ? END : "r") } }
      )
      let tries = 0
      const flaky = StateGraph.make(
        "flaky",
        StateGraph.nodes(Near, {
          a: () => ({ near: 42 }),
          b: ({ near }) =>
            Effect.suspend(() => ++tries === 1 ? Effect.fail("flaky" as const) : Effect.succeed({ far: `${near}` }))
        }),
        { start: "a", edges: { a: "b" } }
      )
      const retried = StateGraph.make(
        "retried",
        StateGraph.nodes(Got, {
          r: Node.make({
            input: Got,
            run: () => Effect.map(flaky.call({}), ({ far }) => ({ got: [far] })),
            retry: Policy.retry({ schedule: Schedule.recurs(1) })
          })
        }),
        { start: "r" }
      )
      for (const durability of everyDurability) {
        const { got } = yield* turns.thread(`turns ${durability}`).invoke({}, { durability })
        assert.deepStrictEqual(got, ["undefined 42", "undefined 42"])
        tries = 0
        const again = yield* retried.thread(`retried ${durability}`).invoke({}, { durability })
        assert.deepStrictEqual(again.got, ["undefined"])
      }
    })
)

behaves(
  "L13 in durability exit, what is stored of the graphs inside tasks is the last of each place, in the order of their runs",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const each = (persistence: "call" | "thread") =>
        StateGraph.make(
          persistence,
          StateGraph.nodes(Words, { i: ({ log }) => ({ log: [`i${log.length}`] }) }),
          { start: "i" },
          { persistence }
        )
      const [kept, fresh] = [each("thread"), each("call")]
      const graph = StateGraph.make(
        "places",
        StateGraph.nodes(Got, {
          r: Effect.fnUntraced(function*({ got }) {
            const { log } = yield* kept.call({})
            if (got.length === 1) {
              // More than are held without looking which of them are of use.
              for (let n = 0; n < 100; n++) yield* fresh.call({}, { key: `k${n}` })
              yield* Ask.ask("?")
            }
            return { got: [log.join()] }
          })
        }),
        { start: "r", edges: { r: StateGraph.route(["r", END], ({ got }) => got.length % 10 === 0 ? END : "r") } }
      )
      const thread = graph.thread("t")
      const options = { durability: "exit" } as const
      yield* paused(thread.invoke({}, options))
      const stepsAt = (namespace: string) =>
        Effect.map(saver.list("t", namespace, {}), (rows) => rows.map(({ step }) => step))
      // What the first superstep had left, and what the second, which waits, has come to since.
      assert.deepStrictEqual(yield* stepsAt("r~0"), [4, 1])
      const [second, first] = yield* saver.list("t", "r~0", {})
      assert.strictEqual(second!.parent, first!.id)
      assert.strictEqual((yield* thread.resume(Ask.reply("yes"), options)).got.length, 10)
      assert.strictEqual((yield* thread.invoke({}, options)).got.length, 20)
      assert.deepStrictEqual(yield* stepsAt("r~0"), [58, 28, 4, 1])
      assert.deepStrictEqual(yield* stepsAt("r~@k99"), [1])
    })
)
