/** LangGraph's cases of the bare machine, in superstep's API. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Number, Schedule, Schema, Stream } from "effect"
import { Channel, Checkpointer, Command, GraphError, Interrupt, Policy, Pregel, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

const last = Channel.lastValue(Schema.Int)
const addOne = (x: number): number => x + 1

const untyped = <A>(value: unknown): A => value as A

class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", { input: Schema.Int }) {}
class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", {}) {}

const collect = Effect.fnUntraced(function*<A, E, R>(stream: Stream.Stream<A, E, R>) {
  return [...yield* Stream.runCollect(stream)]
})

// ---------------------------------------------------------------------------
// One and two nodes
// ---------------------------------------------------------------------------

behaves("LG#28 one node from an input channel to an output channel", () =>
  Effect.gen(function*() {
    const machine = Pregel.make("one", {
      channels: { input: last, output: last },
      nodes: { one: Pregel.node({ subscribe: "input", run: addOne, write: "output" }) },
      input: "input",
      output: "output"
    })
    assert.strictEqual(yield* machine.invoke(2), 3)
    assert.strictEqual(yield* machine.thread("t").invoke(2), 3)
    assert.deepStrictEqual(machine.pregel.input, ["input"])
    assert.deepStrictEqual(machine.pregel.output, ["output"])
    const refused = yield* Effect.flip(machine.invoke(untyped("2")))
    assert.deepStrictEqual([refused._tag, refused instanceof GraphError.InvalidUpdate && refused.channel], [
      "InvalidUpdate",
      "input"
    ])
  }))

behaves("LG#29 one result goes to several channels: as it is, fixed, and computed", () =>
  Effect.gen(function*() {
    const machine = Pregel.make("kwargs", {
      channels: { input: last, output: last, fixed: last, output_plus_one: last },
      nodes: {
        one: Pregel.node({
          subscribe: "input",
          run: addOne,
          write: { output: (x: number) => x, fixed: () => 5, output_plus_one: (x: number) => x + 1 }
        })
      },
      input: "input",
      output: ["output", "fixed", "output_plus_one"]
    })
    const expected = { output: 3, fixed: 5, output_plus_one: 4 }
    assert.deepStrictEqual(yield* machine.invoke(2), expected)
    assert.deepStrictEqual(yield* machine.thread("t").invoke(2), expected)
  }))

behaves("LG#30 lists of input and output channels make records", () =>
  Effect.gen(function*() {
    const machine = Pregel.make("records", {
      channels: { input: last, output: last },
      nodes: { one: Pregel.node({ subscribe: "input", run: addOne, write: "output" }) },
      input: ["input"],
      output: ["output"]
    })
    assert.deepStrictEqual(yield* machine.invoke({ input: 2 }), { output: 3 })
    assert.deepStrictEqual(yield* machine.thread("t").invoke({ input: 2 }), { output: 3 })
    const unknown = yield* Effect.flip(machine.invoke(untyped({ other: 2 })))
    assert.deepStrictEqual(
      unknown,
      new GraphError.InvalidUpdate({ reason: "UnknownChannel", channel: "other", writers: ["__input__"] })
    )
  }))

const two = Pregel.make("two", {
  channels: { input: last, inbox: last, output: last },
  nodes: {
    one: Pregel.node({ subscribe: "input", run: addOne, write: "inbox" }),
    two: Pregel.node({ subscribe: "inbox", run: addOne, write: "output" })
  },
  input: "input",
  output: "output"
})

behaves(
  "LG#31 two chained nodes need two supersteps, and a limit of one says what is left",
  () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* two.invoke(2), 4)
      assert.strictEqual(yield* two.invoke(2, { recursionLimit: 2 }), 4)
      const limit = new GraphError.RecursionLimit({ limit: 1, next: ["two"] })
      assert.deepStrictEqual(yield* Effect.flip(two.invoke(2, { recursionLimit: 1 })), limit)
      const thread = two.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke(2, { recursionLimit: 1 })), limit)
      assert.strictEqual(yield* thread.continue({ recursionLimit: 1 }), 4)
    })
)

behaves(
  "LG#32 a chain of 100 nodes takes a limit of exactly 100, also ten times at once",
  () =>
    Effect.gen(function*() {
      const names = Array.from({ length: 99 }, (_, index) => `c${index}`)
      const reads = ["input", ...names]
      const writes = [...names, "output"]
      const machine = Pregel.make("many", {
        channels: Object.fromEntries(["input", "output", ...names].map((name) => [name, last])) as Record<
          string,
          typeof last
        >,
        nodes: Object.fromEntries(
          reads.map((
            read,
            index
          ) => [`n${index}`, Pregel.node({ subscribe: read, run: addOne, write: writes[index]! })])
        ),
        input: "input",
        output: "output"
      })
      assert.strictEqual(yield* machine.invoke(2, { recursionLimit: 100 }), 102)
      assert.deepStrictEqual(
        yield* Effect.flip(machine.invoke(2, { recursionLimit: 99 })),
        new GraphError.RecursionLimit({ limit: 99, next: ["n99"] })
      )
      const runs = Array.from({ length: 10 }, (_, index) =>
        machine.thread(`t${index}`).invoke(index, { recursionLimit: 100 }))
      assert.deepStrictEqual(
        yield* Effect.all(runs, { concurrency: "unbounded" }),
        Array.from({ length: 10 }, (_, index) =>
          index + 100)
      )
    }),
  30_000
)

// ---------------------------------------------------------------------------
// Several writers
// ---------------------------------------------------------------------------

const fanIn = <C extends Channel.Any>(output: C) =>
  Pregel.make("fan in", {
    channels: { input: last, output },
    nodes: {
      one: Pregel.node({ subscribe: "input", run: addOne, write: "output" }),
      two: Pregel.node({ subscribe: "input", run: addOne, write: "output" })
    },
    input: "input",
    output: "output"
  })

behaves("LG#33 two nodes that write one last-value channel are refused", () =>
  Effect.gen(function*() {
    const refused = new GraphError.InvalidUpdate({
      reason: "MultipleWrites",
      channel: "output",
      writers: ["one", "two"],
      detail: undefined,
      cause: undefined
    })
    assert.deepStrictEqual(yield* Effect.flip(fanIn(last).invoke(2)), refused)
    const thread = fanIn(last).thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke(2)), refused)
    // Nothing of that superstep is committed, and it is still to be done.
    const state = yield* thread.state()
    assert.deepStrictEqual(
      [state.step, state.source, state.next, state.values],
      [-1, "input", ["one", "two"], { input: 2 }]
    )
    assert.deepStrictEqual(yield* Effect.flip(thread.continue()), refused)
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke(3, { pending: "discard" })), refused)
    assert.deepStrictEqual((yield* thread.state()).values, { input: 3 })
  }))

behaves("LG#33 and so are two nodes of a graph", () =>
  Effect.gen(function*() {
    class Hello extends State.make({ hello: Schema.String }) {}
    const graph = StateGraph.make(
      "hello",
      StateGraph.nodes(Hello, {
        a: (s) => s.hello === "" ? {} : { hello: "a" },
        b: (s) => s.hello === "" ? {} : { hello: "b" }
      }),
      { start: ["a", "b"] }
    )
    const refused = yield* Effect.flip(graph.thread("t").invoke({ hello: "there" }))
    assert.match(refused.message, /^at key "hello": can receive only one value per step/)
  }))

behaves("LG#34 a Topic takes both", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* fanIn(Channel.topic(Schema.Int)).invoke(2), [3, 3])
    assert.deepStrictEqual(yield* fanIn(Channel.topic(Schema.Int)).thread("t").invoke(2), [3, 3])
  }))

const joining = Pregel.make("join", {
  channels: { input: last, inbox: Channel.topic(Schema.Int), output: Channel.lastValue(Schema.Array(Schema.Int)) },
  nodes: {
    one: Pregel.node({ subscribe: "input", run: addOne, write: "inbox" }),
    three: Pregel.node({ subscribe: "input", run: addOne, write: "inbox" }),
    four: Pregel.node({
      subscribe: "inbox",
      run: (xs: ReadonlyArray<number>) => xs.map((x) => x + 10).sort((a, b) => a - b),
      write: "output"
    })
  },
  input: "input",
  output: "output"
})

behaves("LG#35 a Topic joins two nodes, the same in a hundred runs at once", () =>
  Effect.gen(function*() {
    const runs = Array.from({ length: 100 }, () => joining.invoke(2))
    const results = yield* Effect.all(runs, { concurrency: "unbounded" })
    assert.deepStrictEqual(results, Array.from({ length: 100 }, () => [13, 13]))
    assert.deepStrictEqual(yield* joining.thread("t").invoke(2), [13, 13])
  }))

behaves(
  "LG#36 a node runs another machine on each of several values, and the same on a thread that ran before",
  () =>
    Effect.gen(function*() {
      const inner = Pregel.make("inner", {
        channels: { input: last, output: last },
        nodes: { one: Pregel.node({ subscribe: "input", run: addOne, write: "output" }) },
        input: "input",
        output: "output"
      })
      const numbers = Channel.lastValue(Schema.Array(Schema.Int))
      const outer = Pregel.make("outer", {
        channels: { input: numbers, inbox_one: Channel.topic(Schema.Int), outbox_one: numbers, output: last },
        nodes: {
          one: Pregel.node({
            subscribe: "input",
            run: (xs: ReadonlyArray<number>) => xs.map((x) => x + 10),
            write: "inbox_one"
          }),
          two: Pregel.node({
            subscribe: "inbox_one",
            run: (xs: ReadonlyArray<number>) =>
              Effect.forEach(xs, (x) => inner.invoke(x), { concurrency: "unbounded" }).pipe(
                Effect.map((ys) => ys.filter((y) => y !== undefined).toSorted((a, b) => a - b))
              ),
            write: "outbox_one"
          }),
          three: Pregel.node({
            subscribe: "outbox_one",
            run: (xs: ReadonlyArray<number>) => xs.reduce((sum, x) => sum + x, 0),
            write: "output"
          })
        },
        input: "input",
        output: "output"
      })
      assert.strictEqual(yield* outer.invoke([2, 3]), 27)
      const thread = outer.thread("t")
      assert.strictEqual(yield* thread.invoke([2, 3]), 27)
      assert.strictEqual(yield* thread.invoke([2, 3]), 27)
    })
)

behaves(
  "LG#37 a node that writes two channels: updates by channel, values of the output after each superstep",
  () =>
    Effect.gen(function*() {
      const machine = Pregel.make("one in two out", {
        channels: { input: last, between: last, output: last },
        nodes: {
          one: Pregel.node({ subscribe: "input", run: addOne, write: ["between", "output"] }),
          two: Pregel.node({ subscribe: "between", run: addOne, write: "output" })
        },
        input: "input",
        output: ["between", "output"]
      })
      assert.deepStrictEqual(yield* machine.invoke(2), { between: 3, output: 4 })
      const events = yield* collect(machine.thread("t").stream(untyped(2), { modes: ["updates", "values"] }))
      assert.deepStrictEqual(events, [
        { mode: "updates", path: [], step: 0, node: "one", update: { between: 3, output: 3 }, cached: false },
        { mode: "values", path: [], step: 0, values: { between: 3, output: 3 } },
        { mode: "updates", path: [], step: 1, node: "two", update: { output: 4 }, cached: false },
        { mode: "values", path: [], step: 1, values: { between: 3, output: 4 } }
      ] as ReadonlyArray<unknown>)
    })
)

behaves("LG#38 when nothing reaches the output there is none", () =>
  Effect.gen(function*() {
    const machine = Pregel.make("no out", {
      channels: { input: last, between: last, output: last },
      nodes: { one: Pregel.node({ subscribe: "input", run: addOne, write: "between" }) },
      input: "input",
      output: "output"
    })
    assert.strictEqual(yield* machine.invoke(2), undefined)
    assert.strictEqual(yield* machine.thread("t").invoke(2), undefined)
  }))

it("LG#38 a machine whose nodes no input can reach is refused when it is made", () => {
  const make = Pregel.make as unknown as (name: string, options: object) => unknown
  const node = Pregel.node({ subscribe: "between", run: addOne, write: "output" })
  const channels = { input: last, between: last, output: last }
  assert.throws(
    () => make("m", { channels, nodes: { one: node }, input: "input", output: "output" }),
    "graph \"m\": no node subscribes to an input channel, so that nothing would ever run"
  )
  assert.throws(
    () => make("m", { channels: { input: last }, nodes: { one: node }, input: "input", output: "input" }),
    "graph \"m\": node \"one\" names channel \"between\", which there is not"
  )
  assert.throws(
    () => make("m", { channels, nodes: { one: node }, input: "between", output: "nowhere" }),
    "graph \"m\": the output names channel \"nowhere\", which there is not"
  )
})

// ---------------------------------------------------------------------------
// Threads
// ---------------------------------------------------------------------------

/** Adds the input to a running total; fails once as if a connection broke, and on results above ten. */
const runningTotal = () => {
  let hasFailed = false
  return Pregel.make("total", {
    channels: { input: last, output: last, total: Channel.reduced(Schema.Int, Number.ReducerSum) },
    nodes: {
      one: Pregel.node({
        subscribe: "input",
        read: ["input", "total"],
        retry: Policy.retry({
          schedule: Schedule.spaced(1),
          maxAttempts: 3,
          while: (error: unknown) => error instanceof Unreachable
        }),
        run: ({ input, total }: { readonly input: number; readonly total: number }) =>
          Effect.gen(function*() {
            const sum = input + total
            if (sum > 4 && !hasFailed) {
              hasFailed = true
              return yield* new Unreachable()
            }
            return sum > 10 ? yield* new TooLarge({ input: sum }) : sum
          }),
        write: ["output", "total"]
      })
    },
    input: "input",
    output: "output"
  })
}

behaves(
  "LG#39 a thread keeps a total, retries what its policy names, and stands still when a run fails",
  () =>
    Effect.gen(function*() {
      const machine = runningTotal()
      const thread = machine.thread("1")
      const total = Effect.map(thread.state(), ({ values }) => untyped<{ readonly total: number }>(values).total)
      assert.strictEqual(yield* thread.invoke(2), 2)
      assert.strictEqual(yield* total, 2)
      assert.strictEqual(yield* thread.invoke(3), 5)
      assert.strictEqual(yield* total, 7)
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke(4)), new TooLarge({ input: 11 }))
      assert.strictEqual(yield* total, 7)
      const { next, tasks } = yield* thread.state()
      assert.deepStrictEqual(next, ["one"])
      assert.deepStrictEqual(tasks.map(({ error, node }) => [node, error]), [["one", "TooLarge"]])
      const other = machine.thread("2")
      assert.strictEqual(yield* other.invoke(5), 5)
      assert.strictEqual(untyped<{ total: number }>((yield* other.state()).values).total, 5)
      assert.strictEqual(yield* total, 7)
    })
)

behaves(
  "LG#40 after a failed run a new input takes its place when told to, and history is read in pages",
  () =>
    Effect.gen(function*() {
      const thread = runningTotal().thread("1")
      yield* thread.invoke(2)
      yield* thread.invoke(3)
      yield* Effect.flip(thread.invoke(4))
      assert.deepStrictEqual((yield* thread.state()).next, ["one"])
      const refused = yield* Effect.flip(thread.invoke(2))
      assert.deepStrictEqual(
        refused,
        new GraphError.PendingWork({ thread: "1", next: ["one"], requests: [] })
      )
      assert.strictEqual(yield* thread.invoke(2, { pending: "discard" }), 9)
      const history = yield* thread.history()
      assert.deepStrictEqual(
        history.map(({ source, step, values }) => [step, source, untyped<{ total: number }>(values).total]),
        [
          [5, "loop", 16],
          [4, "input", 7],
          [3, "input", 7],
          [2, "loop", 7],
          [1, "input", 2],
          [0, "loop", 2],
          [-1, "input", 0]
        ]
      )
      assert.deepStrictEqual(yield* thread.history({ limit: 1 }), [history[0]!])
      assert.deepStrictEqual(yield* thread.history({ limit: 1, before: history[0]!.checkpoint }), [history[1]!])
      assert.deepStrictEqual(yield* thread.history({ before: history[2]!.checkpoint }), history.slice(3))
      assert.deepStrictEqual(yield* thread.history({ source: "input", limit: 2 }), [history[1]!, history[2]!])
    })
)

behaves(
  "LG#41 a breakpoint after a node: go on, give a new input, update, and run again from the past",
  () =>
    Effect.gen(function*() {
      const thread = two.thread("1")
      const stop = { after: ["one"] }
      const stopped = new GraphError.GraphBreakpoint({ when: "after", nodes: ["one"], next: ["two"] })
      const inbox = Effect.map(thread.state(), ({ values }) => untyped<{ readonly inbox: number }>(values).inbox)
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke(2, stop)), stopped)
      assert.strictEqual(yield* inbox, 3)
      assert.strictEqual(yield* thread.continue(stop), 4)
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke(20, stop)), stopped)
      assert.strictEqual(yield* inbox, 21)
      const pending = yield* Effect.flip(thread.invoke(3, stop))
      assert.strictEqual(pending instanceof GraphError.PendingWork && pending._tag, "PendingWork")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke(3, { ...stop, pending: "discard" })), stopped)
      assert.strictEqual(yield* inbox, 4)
      assert.strictEqual(yield* thread.continue(stop), 5)
      const history = yield* thread.history()
      assert.deepStrictEqual(history.map(({ next, source, step }) => [step, source, next]), [
        [6, "loop", []],
        [5, "loop", ["two"]],
        [4, "input", ["one"]],
        [3, "loop", ["two"]],
        [2, "input", ["one"]],
        [1, "loop", []],
        [0, "loop", ["two"]],
        [-1, "input", ["one"]]
      ])
      // From the past: what comes after the checkpoint runs again.
      assert.strictEqual(yield* thread.continue({ checkpoint: history[3]!.checkpoint }), 22)
      assert.deepStrictEqual(
        yield* Effect.flip(thread.continue({ ...stop, checkpoint: history[4]!.checkpoint })),
        stopped
      )
      assert.strictEqual(yield* inbox, 21)
    })
)

behaves("LG#41 an update as a node takes the place of its run", () =>
  Effect.gen(function*() {
    const thread = two.thread("1")
    yield* Effect.flip(thread.invoke(3, { after: ["one"] }))
    yield* thread.update(25, { asNode: "one" })
    const { next, values } = yield* thread.state()
    assert.deepStrictEqual([next, values], [["two"], { input: 3, inbox: 25 }])
    assert.strictEqual(yield* thread.continue(), 26)
  }))

behaves("LG#42 a loop can be run again from each of its checkpoints", () =>
  Effect.gen(function*() {
    class Count extends State.make({ n: Channel.reduced(Schema.Int, Number.ReducerSum) }) {}
    const graph = StateGraph.make("count", StateGraph.nodes(Count, { add_one: () => ({ n: 1 }) }), {
      start: "add_one",
      edges: { add_one: StateGraph.route(["add_one"], (s) => s.n < 6 ? "add_one" : []) }
    })
    const thread = graph.thread("t")
    const events = yield* collect(thread.stream({ n: 1 }, { modes: ["values", "updates"] }))
    const shown = events.map((event) => event.mode === "values" ? event.values.n : event.mode)
    assert.deepStrictEqual(shown, [1, "updates", 2, "updates", 3, "updates", 4, "updates", 5, "updates", 6])
    const history = yield* thread.history()
    assert.deepStrictEqual(history.map(({ values }) => values.n), [6, 5, 4, 3, 2, 1, 0])
    for (const [k, { checkpoint, values }] of history.entries()) {
      if (k === 0 || k === 6) continue
      const again = yield* collect(
        thread.stream(Command.continue, { modes: ["updates"], checkpoint })
      )
      assert.deepStrictEqual(
        again.map((event) => event.mode === "updates" ? event.update : event.mode),
        Array.from({ length: 6 - values.n }, () => ({ n: 1 }))
      )
    }
  }))

behaves("LG#43 an ephemeral channel is not part of the state that is left", () =>
  Effect.gen(function*() {
    const machine = Pregel.make("ephemeral", {
      channels: { input: last, output: last, brief: Channel.ephemeral(Schema.String) },
      nodes: { one: Pregel.node({ subscribe: "input", run: (x: number) => x, write: "output" }) },
      input: ["input", "brief"],
      output: "output"
    })
    const thread = machine.thread("t")
    assert.strictEqual(yield* thread.invoke({ input: 1, brief: "meow" }), 1)
    const [end, begin] = yield* thread.history()
    assert.deepStrictEqual(end!.values, { input: 1, output: 1 })
    assert.deepStrictEqual(begin!.values, { input: 1, brief: "meow" })
  }))

behaves(
  "L3 a woken node whose channel to read is still empty runs when it is filled, stopped in between or not",
  () =>
    Effect.gen(function*() {
      const machine = Pregel.make("late", {
        channels: { a: last, b: last, c: last, d: last },
        nodes: {
          // Woken at once, but `b` is written only one superstep later.
          early: Pregel.node({ subscribe: "a", read: "b", run: (b: number) => b * 10, write: "c" }),
          fills: Pregel.node({ subscribe: "a", run: addOne, write: "b" }),
          follows: Pregel.node({ subscribe: "b", run: addOne, write: "d" })
        },
        input: "a",
        output: ["a", "b", "c", "d"]
      })
      const expected = { a: 1, b: 2, c: 20, d: 3 }
      assert.deepStrictEqual(yield* machine.invoke(1), expected)
      assert.deepStrictEqual(yield* machine.thread("whole").invoke(1), expected)
      const stopped = machine.thread("stopped")
      assert.deepStrictEqual(
        yield* Effect.flip(stopped.invoke(1, { after: ["fills"] })),
        new GraphError.GraphBreakpoint({ when: "after", nodes: ["fills"], next: ["early", "follows"] })
      )
      assert.deepStrictEqual((yield* stopped.state()).next, ["early", "follows"])
      assert.deepStrictEqual(yield* stopped.continue(), expected)
    })
)

class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}

behaves("L10 a machine whose node asks pauses its thread, and goes on with the answer", () =>
  Effect.gen(function*() {
    const machine = Pregel.make("asks", {
      channels: { question: Channel.lastValue(Schema.String), answer: Channel.lastValue(Schema.Boolean) },
      nodes: { ask: Pregel.node({ subscribe: "question", run: (text: string) => Approve.ask(text), write: "answer" }) },
      input: "question",
      output: "answer"
    })
    const thread = machine.thread("t")
    const pause = yield* Effect.flip(thread.invoke("go on?"))
    assert.deepStrictEqual(pause._tag === "GraphInterrupt" && pause.requests.map(({ payload }) => payload), ["go on?"])
    assert.strictEqual(yield* thread.resume(Approve.reply(true)), true)
    assert.deepStrictEqual((yield* thread.state()).values, { question: "go on?", answer: true })
  }))

behaves("L19 a machine is updated with the result of a node, or with an input", () =>
  Effect.gen(function*() {
    const thread = two.thread("t")
    yield* thread.invoke(1)
    yield* thread.updateAll([[{ values: 10, asNode: "__input__" }], [{ values: 20, asNode: "one" }]])
    assert.deepStrictEqual((yield* thread.state()).values, { input: 10, inbox: 20, output: 3 })
    assert.strictEqual(yield* thread.continue(), 21)
    yield* thread.invoke(Command.make({ update: { inbox: 30 } }))
    assert.strictEqual((yield* thread.state()).values.output, 31)
  }))

// ---------------------------------------------------------------------------
// Faulty storage and definitions
// ---------------------------------------------------------------------------

const broken = (thread: string) =>
  new GraphError.CheckpointError({ reason: "Storage", thread, detail: "the disk is gone" })

behaves("LG#44 whatever the saver fails with surfaces, and no node is blamed", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    class Log extends State.make({ log: Channel.append(Schema.String) }) {}
    const runs = { a: 0, b: 0 }
    const graph = StateGraph.make(
      "parallel",
      StateGraph.nodes(Log, {
        a: () => Effect.sync(() => (runs.a++, { log: ["a"] })),
        b: () => Effect.sync(() => (runs.b++, { log: ["b"] }))
      }),
      { start: ["a", "b"] }
    )
    const with_ = (faulty: Partial<Checkpointer.CheckpointerShape>) =>
      Effect.provide(Layer.succeed(Checkpointer.Checkpointer, Checkpointer.Checkpointer.of({ ...saver, ...faulty })))
    const fails = Effect.fail(broken("t"))
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}).pipe(with_({ head: () => fails }))), broken("t"))
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}).pipe(with_({ commit: () => fails }))), broken("t"))
    assert.deepStrictEqual(runs, { a: 0, b: 0 })
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}).pipe(with_({ putTasks: () => fails }))), broken("t"))
    const state = yield* thread.state()
    assert.deepStrictEqual([state.step, state.next, state.values], [0, ["a", "b"], { log: [] }])
    assert.deepStrictEqual(state.tasks.map(({ error }) => error), [undefined, undefined])
    assert.deepStrictEqual(yield* Effect.flip(thread.continue().pipe(with_({ get: () => fails }))), broken("t"))
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
    for (const durability of ["async", "exit"] as const) {
      const other = graph.thread(durability)
      assert.deepStrictEqual(
        yield* Effect.flip(
          other.invoke({}, { durability }).pipe(with_({ commit: () => Effect.fail(broken(durability)) }))
        ),
        broken(durability)
      )
    }
  }))

it("LG#45 a wrong definition is refused when it is made, and says what is wrong", () => {
  class Hello extends State.make({ hello: Schema.String }) {}
  const nodes = StateGraph.nodes(Hello, { a: () => ({ hello: "a" }), b: () => ({ hello: "b" }) })
  const make = StateGraph.make as unknown as (name: string, nodes: unknown, flow: unknown, options?: unknown) => unknown
  const says = (flow: unknown, message: string, options?: unknown) =>
    assert.throws(() => make("g", nodes, flow, options), `graph "g": ${message}`)
  says({ start: "a", edges: { c: "a" } }, "has edges from \"c\", which is no node")
  says({ start: "a", edges: { a: "c" } }, "node \"a\" leads to \"c\", which is no node")
  says({ start: "c" }, "node \"__start__\" leads to \"c\", which is no node")
  says({ start: [] }, "needs a start: at least one node that it leads to")
  says({}, "needs a start: at least one node that it leads to")
  says({ start: "a", edges: { a: "__start__" } }, "node \"a\" leads to the start, which nothing can lead to")
  says({ start: StateGraph.join("a") }, "the start cannot lead through a join to \"a\"")
  says(
    { start: "a", edges: { a: StateGraph.route(["nope"], () => "nope") } },
    "node \"a\" leads to \"nope\", which is no node"
  )
  says(
    { start: "a", edges: { a: [StateGraph.route(["b"], () => "b" as const), "b"] } },
    "node \"a\" mixes a route with other edges. A node has one kind of routing"
  )
  says({ start: "a" }, "breakpoint at \"zz\", which is no node", { before: ["zz"] })
  says({ start: "a" }, "breakpoint at \"zz\", which is no node", { after: ["zz"] })
  says(
    { start: ["a", "b"], edges: { a: StateGraph.join("b"), b: StateGraph.join("b", { release: "idle" }) } },
    "the sources of the join before \"b\" disagree on its release"
  )
  const named = (name: string) => make("g", { state: Hello, bodies: { [name]: () => ({}) } }, { start: name })
  for (const name of ["a|b", "a:b", "a~b"]) {
    const separator = name[1]!
    assert.throws(() => named(name), `node name "${name}" contains "${separator}", which is reserved, as | : ~ are`)
  }
  assert.throws(() => named("__end__"), "node name \"__end__\" is reserved")
  assert.throws(() => named(""), "a node needs a name")
  assert.throws(
    () => make("g", { state: Hello, bodies: { a: 1 } }, { start: "a" }),
    "a node is a function, a Node or a graph"
  )
})

it("LG#45 a state key that the machine needs is refused", () => {
  const make = StateGraph.make as unknown as (name: string, nodes: unknown, flow: unknown) => unknown
  for (const key of ["__start__", "__tasks", "__end__", "__input__", "branch:to:a", "join:x"]) {
    const state = State.make({ [key]: Schema.String })
    assert.throws(
      () => make("g", { state, bodies: { a: () => ({}) } }, { start: "a" }),
      `state key "${key}" is reserved`
    )
  }
})

it.effect("LG#45 a limit that allows nothing is refused", () =>
  Effect.gen(function*() {
    for (const recursionLimit of [0, 1.5]) {
      const error = yield* Effect.flip(two.invoke(2, { recursionLimit }))
      assert.strictEqual(error._tag, "InvalidArgument")
      assert.strictEqual(
        error.message,
        `recursionLimit: Expected a whole number of at least 1, got ${recursionLimit}`
      )
    }
  }))

// ---------------------------------------------------------------------------
// Inputs
// ---------------------------------------------------------------------------

behaves("LG#47 an empty input leaves every default as it is", () =>
  Effect.gen(function*() {
    class Defaults extends State.make({
      some: Channel.lastValue(Schema.String, { initial: () => "Nuno" }),
      dict: Channel.reducer({
        value: Schema.Record(Schema.String, Schema.Int),
        initial: () => ({ a: 1 }),
        reduce: (current, update) => ({ ...current, ...update })
      }),
      list: Channel.append(Schema.String)
    }) {}
    const graph = StateGraph.make("defaults", StateGraph.nodes(Defaults, { noop: () => ({}) }), { start: "noop" })
    const expected = { some: "Nuno", dict: { a: 1 }, list: [] }
    assert.deepStrictEqual(yield* graph.invoke({}), expected)
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* thread.invoke({}), expected)
    assert.deepStrictEqual(yield* thread.invoke({ dict: { b: 2 } }), { ...expected, dict: { a: 1, b: 2 } })
    assert.deepStrictEqual((yield* thread.state()).values, { ...expected, dict: { a: 1, b: 2 } })
  }))

behaves("LG#48 an input passes through the reducers before the first node sees it", () =>
  Effect.gen(function*() {
    class Chat extends State.make({
      hello: Schema.String,
      messages: Channel.reducer({
        value: Schema.Array(Schema.String),
        update: Schema.Union([Schema.String, Schema.Array(Schema.String)]),
        initial: () => [],
        reduce: (current, update) => [...current, ...(typeof update === "string" ? [`human: ${update}`] : update)]
      })
    }) {}
    const seen: Array<unknown> = []
    const graph = StateGraph.make(
      "chat",
      StateGraph.nodes(Chat, {
        look: (s) => {
          seen.push(s)
          return {}
        }
      }),
      { start: "look" }
    )
    yield* graph.invoke({ hello: "there", messages: "hello" })
    yield* graph.thread("t").invoke({ hello: "there", messages: "hello" })
    assert.deepStrictEqual(seen, [
      { hello: "there", messages: ["human: hello"] },
      { hello: "there", messages: ["human: hello"] }
    ])
  }))

behaves(
  "the values of a machine with a single output are that output, where it has changed",
  () =>
    Effect.gen(function*() {
      const machine = Pregel.make("two", {
        channels: { input: last, inbox: last, output: last },
        nodes: {
          one: Pregel.node({ subscribe: "input", run: addOne, write: "inbox" }),
          two: Pregel.node({ subscribe: "inbox", run: addOne, write: "output" })
        },
        input: "input",
        output: "output"
      })
      const events = yield* collect(machine.thread("t").stream(2, { modes: ["values"] }))
      assert.deepStrictEqual(events.map((event) => event.mode === "values" ? [event.step, event.values] : []), [[1, 4]])
    })
)
