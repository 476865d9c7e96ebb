/** Large runs: they end, they warn of nothing, and what they hold does not grow with what they have done. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Exit, Schema } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Channel, Checkpointer, Command, GraphError, Node, Running, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

const limitMillis = 60_000

class Count extends State.make({ n: Schema.Int }) {}
class Log extends State.make({ log: Channel.append(Schema.Int) }) {}

/** Runs a case and fails if the process warned of anything meanwhile. */
const quietly = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const warnings: Array<string> = []
    const onWarning = (warning: Error) => {
      // Node says so once of its own SQLite, whoever loads it.
      if (!warning.message.includes("SQLite is an experimental feature")) warnings.push(warning.message)
    }
    process.on("warning", onWarning)
    return Effect.flatMap(Effect.ensuring(effect, Effect.sync(() => process.off("warning", onWarning))), (a) => {
      assert.deepStrictEqual(warnings, [])
      return Effect.succeed(a)
    })
  })

const loop = (steps: number) =>
  StateGraph.make("loop", StateGraph.nodes(Count, { add: (s) => ({ n: s.n + 1 }) }), {
    start: "add",
    edges: {
      add: StateGraph.route(["add", "__end__"], (s: State.Type<typeof Count>) => s.n < steps ? "add" : "__end__")
    }
  }, { recursionLimit: steps })

behaves("R5 ten thousand supersteps in one run, and not one more than the limit", () =>
  quietly(Effect.gen(function*() {
    assert.deepStrictEqual(yield* loop(10_000).invoke({ n: 0 }), { n: 10_000 })
    const limited = yield* Effect.flip(loop(10_000).invoke({ n: 0 }, { recursionLimit: 9_999 }))
    assert.deepStrictEqual(limited, new GraphError.RecursionLimit({ limit: 9_999, next: ["add"] }))
    const thread = loop(10_000).thread("t")
    assert.deepStrictEqual(yield* thread.invoke({ n: 0 }), { n: 10_000 })
    const [last] = yield* thread.history({ limit: 1 })
    assert.deepStrictEqual([last!.step, last!.values.n], [10_000, 10_000])
  })), limitMillis)

it.live("R5 a hundred thousand supersteps", () =>
  quietly(Effect.gen(function*() {
    assert.deepStrictEqual(yield* loop(100_000).invoke({ n: 0 }), { n: 100_000 })
  })), limitMillis)

it.live("R5 the time of a superstep does not depend on how many there were", () =>
  Effect.gen(function*() {
    const time = (steps: number) =>
      Effect.map(Effect.timed(loop(steps).invoke({ n: 0 })), ([duration]) => Duration.toMillis(duration) / steps)
    yield* time(2_000)
    const short = yield* time(5_000)
    const long = yield* time(50_000)
    assert.isBelow(long, short * 5)
  }), limitMillis)

const fan = (count: number, run: (n: number) => Effect.Effect<{ readonly log: ReadonlyArray<number> }>) =>
  StateGraph.make(
    "fan",
    StateGraph.nodes(Log, {
      go: () => Command.make({ goto: Array.from({ length: count }, (_, n) => Send.make("work", { n })) }),
      work: Node.make({ input: Schema.Struct({ n: Schema.Int }), run: ({ n }) => run(n) })
    }),
    { start: "go" }
  )

it.live("L20 a hundred thousand Sends in one superstep", () =>
  quietly(Effect.gen(function*() {
    class Total extends State.make({
      total: Channel.reducer({
        value: Schema.Int,
        initial: () => 0,
        reduce: (a: number, b: number) => a + b
      })
    }) {}
    let running = 0
    let most = 0
    const graph = StateGraph.make(
      "fan",
      StateGraph.nodes(Total, {
        go: () => Command.make({ goto: Array.from({ length: 100_000 }, (_, n) => Send.make("work", { n })) }),
        work: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: ({ n }) =>
            Effect.suspend(() => {
              most = Math.max(most, ++running)
              return Effect.map(Effect.yieldNow, () => {
                running--
                return { total: n }
              })
            })
        })
      }),
      { start: "go" }
    )
    assert.deepStrictEqual(yield* graph.invoke({}), { total: 4_999_950_000 })
    assert.deepStrictEqual([running, most], [0, 100_000])
    most = 0
    assert.deepStrictEqual(yield* graph.invoke({}, { concurrency: 16 }), { total: 4_999_950_000 })
    assert.deepStrictEqual([running, most], [0, 16])
  })), limitMillis)

it.live(
  "L20 a hundred thousand Sends in one superstep of a thread, and a failure among them",
  () =>
    quietly(
      Effect.gen(function*() {
        class Total extends State.make({
          total: Channel.reducer({
            value: Schema.Int,
            initial: () => 0,
            reduce: (a: number, b: number) => a + b
          })
        }) {}
        let fails = true
        const graph = StateGraph.make(
          "fan",
          StateGraph.nodes(Total, {
            go: () => Command.make({ goto: Array.from({ length: 100_000 }, (_, n) => Send.make("work", { n })) }),
            work: Node.make({
              input: Schema.Struct({ n: Schema.Int }),
              run: ({ n }) =>
                Effect.suspend(() =>
                  fails && n === 50_000 ? Effect.fail("broken" as const) : Effect.succeed({ total: n })
                )
            })
          }),
          { start: "go" }
        )
        const thread = graph.thread("t")
        assert.strictEqual(yield* Effect.flip(thread.invoke({}, { onFailure: "settle" })), "broken")
        fails = false
        assert.deepStrictEqual((yield* thread.state()).next, ["work"])
        assert.deepStrictEqual(yield* thread.continue(), { total: 4_999_950_000 })
      }).pipe(Effect.provide(Checkpointer.layerMemory))
    ),
  limitMillis
)

behaves("R5 five thousand Sends on a thread", () =>
  quietly(Effect.gen(function*() {
    const thread = fan(5_000, (n) => Effect.as(Effect.yieldNow, { log: [n] })).thread("t")
    const all = Array.from({ length: 5_000 }, (_, n) => n)
    assert.deepStrictEqual((yield* thread.invoke({})).log, all)
    assert.deepStrictEqual((yield* thread.state()).values.log, all)
  })), limitMillis)

behaves("L20 a thousand threads at once", () =>
  quietly(Effect.gen(function*() {
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Log, {
        a: () => Effect.as(Effect.yieldNow, { log: [1] }),
        b: () => Effect.as(Effect.yieldNow, { log: [2] }),
        end: (s) => ({ log: [s.log.length] })
      }),
      { start: ["a", "b"], edges: { a: StateGraph.join("end"), b: StateGraph.join("end") } }
    )
    const ids = Array.from({ length: 1_000 }, (_, n) => `t${n}`)
    const outputs = yield* Effect.forEach(ids, (id) => graph.thread(id).invoke({ log: [0] }), {
      concurrency: "unbounded"
    })
    assert.deepStrictEqual(outputs, ids.map(() => ({ log: [0, 1, 2, 3] })))
    assert.deepStrictEqual((yield* graph.thread("t999").state()).values.log, [0, 1, 2, 3])
    const saver = yield* Checkpointer.Checkpointer
    assert.strictEqual((yield* saver.threads).length, 1_000)
  })), limitMillis)

behaves("R5 a chain of five hundred nodes, and five hundred nodes at once", () =>
  quietly(Effect.gen(function*() {
    const names = Array.from({ length: 500 }, (_, n) => `n${String(n).padStart(3, "0")}`)
    const bodies = Object.fromEntries(names.map((name, n) => [name, () => ({ log: [n] })] as const))
    const nodes = StateGraph.nodes(Log, bodies)
    const edges = Object.fromEntries(names.slice(0, -1).map((name, n) => [name, names[n + 1]!] as const))
    const all = names.map((_, n) => n)
    const chain = StateGraph.make("chain", nodes, { start: names[0]!, edges })
    assert.deepStrictEqual(yield* chain.invoke({}), { log: all })
    assert.deepStrictEqual(yield* chain.thread("chain").invoke({}), { log: all })
    const wide = StateGraph.make("wide", nodes, { start: names })
    assert.deepStrictEqual(yield* wide.invoke({}), { log: all })
    assert.deepStrictEqual(yield* wide.thread("wide").invoke({}), { log: all })
  })), limitMillis)

it.live("R5 graphs in graphs, fifty deep", () =>
  quietly(
    Effect.gen(function*() {
      let graph = StateGraph.make(
        "g0",
        StateGraph.nodes(Log, {
          inner: () => Effect.map(Running.Running, ({ path }) => ({ log: [path.length] }))
        }),
        { start: "inner" }
      )
      for (let depth = 1; depth <= 50; depth++) {
        graph = StateGraph.make(`g${depth}`, StateGraph.nodes(Log, { inner: graph }), {
          start: "inner"
        }) as unknown as typeof graph
      }
      assert.deepStrictEqual(yield* graph.invoke({}), { log: [50] })
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* thread.invoke({}), { log: [50] })
      const exit = yield* Effect.exit(thread.at(Array.from({ length: 50 }, () => "inner")).state())
      assert.deepStrictEqual(Exit.isSuccess(exit) && exit.value.values["log"], [50])
    }).pipe(Effect.provide(Checkpointer.layerMemory))
  ), limitMillis)

it.live(
  "R3 R5 the heap after a long run and after many runs is what it was after a short one",
  () =>
    Effect.gen(function*() {
      const file = fileURLToPath(new URL("./scale.ts", import.meta.url))
      const output = yield* Effect.callback<string, Error>((resume) => {
        const child = execFile(
          process.execPath,
          ["--expose-gc", "--conditions=superstep-src", "--no-warnings", file],
          (error, stdout) => resume(error === null ? Effect.succeed(stdout) : Effect.fail(error))
        )
        return Effect.sync(() => child.kill())
      })
      const grown = JSON.parse(output) as Readonly<Record<"loop" | "thread" | "runs" | "threads", number>>
      // 20,000 supersteps and 5,000 runs: a hundred bytes kept for each would be two megabytes and half a megabyte.
      const megabyte = 1_000_000
      for (const [what, bytes] of Object.entries(grown)) {
        assert.isBelow(bytes, 1.5 * megabyte, `${what} grew by ${bytes} bytes`)
      }
    }),
  limitMillis
)
