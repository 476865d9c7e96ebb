/** Results that stand for a run on an equal input. */
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import {
  Channel,
  Checkpointer,
  Command,
  Interrupt,
  Node,
  NodeCache,
  Policy,
  Pregel,
  Running,
  Send,
  State,
  StateGraph
} from "superstep"

class Sum extends State.make({ n: Schema.Int, log: Channel.append(Schema.String) }) {}
class Confirm extends Interrupt.make("Confirm", { payload: Schema.String, answer: Schema.String }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

const layer = Layer.merge(Checkpointer.layerMemory, NodeCache.layerMemory)

/** A graph of one cached node, which says in `runs` when it really runs. */
const cached = (
  runs: Array<string>,
  policy: Policy.Cache<{ readonly n: number }>,
  options?: { readonly name?: string; readonly version?: string; readonly says?: string }
) =>
  StateGraph.make(
    options?.name ?? "cached",
    StateGraph.nodes(Sum, {
      node: Node.make({
        input: Schema.Struct({ n: Schema.Int }),
        run: ({ n }) =>
          Effect.sync(() => {
            runs.push(`${n}`)
            return { log: [`${options?.says ?? "result"} ${n}`] }
          }),
        cache: policy
      })
    }),
    { start: "node" },
    options?.version === undefined ? {} : { version: options.version }
  )

it.effect("LG#59 a result stands for a second run on an equal input, across runs and threads", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = cached(runs, Policy.cache())
    assert.deepStrictEqual(yield* graph.invoke({ n: 1 }), { n: 1, log: ["result 1"] })
    assert.deepStrictEqual(yield* graph.invoke({ n: 1 }), { n: 1, log: ["result 1"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({ n: 1 }), { n: 1, log: ["result 1"] })
    assert.deepStrictEqual(yield* graph.invoke({ n: 2 }), { n: 2, log: ["result 2"] })
    assert.deepStrictEqual(runs, ["1", "2"])
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 without the service nothing is cached", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = cached(runs, Policy.cache())
    yield* graph.invoke({ n: 1 })
    yield* graph.invoke({ n: 1 })
    assert.deepStrictEqual(runs, ["1", "1"])
  }))

it.effect("LG#59 what is equal is what the whole input is, or what a key says", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const whole = StateGraph.make(
      "whole",
      StateGraph.nodes(Sum, {
        node: Node.make({
          input: Sum,
          run: (s) =>
            Effect.sync(() => {
              runs.push(`whole ${s.n} ${s.log.length}`)
              return { log: ["x"] }
            }),
          cache: Policy.cache()
        })
      }),
      { start: "node" }
    )
    yield* whole.invoke({ n: 1 })
    yield* whole.invoke({ n: 1, log: ["more"] })
    yield* whole.invoke({ log: [], n: 1 })
    assert.deepStrictEqual(runs, ["whole 1 0", "whole 1 1"])
    runs.length = 0
    const keyed = cached(runs, Policy.cache<{ readonly n: number }>({ key: ({ n }) => String(n % 2) }))
    yield* keyed.invoke({ n: 1 })
    assert.deepStrictEqual((yield* keyed.invoke({ n: 3 })).log, ["result 1"])
    yield* keyed.invoke({ n: 2 })
    assert.deepStrictEqual(runs, ["1", "2"])
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 a result is good for its time and no longer", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = cached(runs, Policy.cache({ ttl: "1 minute" }))
    yield* graph.invoke({ n: 1 })
    yield* TestClock.adjust(59_999)
    yield* graph.invoke({ n: 1 })
    assert.strictEqual(runs.length, 1)
    yield* TestClock.adjust(1)
    yield* graph.invoke({ n: 1 })
    assert.strictEqual(runs.length, 2)
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 a cached result shows as such, with a start and no end of its task", () =>
  Effect.gen(function*() {
    const graph = cached([], Policy.cache())
    const events = () =>
      Effect.map(Stream.runCollect(graph.stream({ n: 1 }, { modes: ["updates", "tasks"] })), (all) =>
        all.map((event) => event.mode === "updates" ? ["update", event.update, event.cached] : [event.type]))
    assert.deepStrictEqual<unknown>(yield* events(), [["started"], ["update", { log: ["result 1"] }, false], ["ended"]])
    assert.deepStrictEqual<unknown>(yield* events(), [["started"], ["update", { log: ["result 1"] }, true]])
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 a cached result leads on along the edges and the Sends that it had", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const make = () =>
      StateGraph.make(
        "flow",
        StateGraph.nodes(Sum, {
          split: Node.make({
            input: Sum,
            run: ({ n }) =>
              Effect.sync(() => {
                runs.push("split")
                return Command.make({
                  update: { log: ["split"] },
                  goto: [Send.make("work", { n: n + 1 }), Send.make("work", { n: n + 2 })]
                })
              }),
            cache: Policy.cache()
          }),
          work: Node.make({
            input: Schema.Struct({ n: Schema.Int }),
            run: ({ n }) => Effect.succeed({ log: [`work ${n}`] })
          })
        }),
        { start: "split" }
      )
    const graph = make()
    const expected = { n: 1, log: ["split", "work 2", "work 3"] }
    assert.deepStrictEqual(yield* graph.invoke({ n: 1 }), expected)
    assert.deepStrictEqual(yield* graph.invoke({ n: 1 }), expected)
    assert.deepStrictEqual(runs, ["split"])
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 several writes of one key, and an Overwrite, come back as they were", () =>
  Effect.gen(function*() {
    let runs = 0
    const graph = StateGraph.make(
      "g",
      StateGraph.nodes(Sum, {
        node: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: ({ n }) =>
            Effect.sync(() => {
              runs++
              return n === 1 ? [{ log: ["a"] }, { log: ["b"] }] : [{ log: Channel.overwrite(["only"]) }]
            }),
          cache: Policy.cache()
        })
      }),
      { start: "node" }
    )
    for (const _ of [1, 2]) {
      assert.deepStrictEqual((yield* graph.invoke({ n: 1, log: ["in"] })).log, ["in", "a", "b"])
      assert.deepStrictEqual((yield* graph.invoke({ n: 2, log: ["in"] })).log, ["only"])
    }
    assert.strictEqual(runs, 2)
  }).pipe(Effect.provide(layer)))

it.effect("N1 graphs that look alike do not share results: not by name, by shape, or by version", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graphs = [
      cached(runs, Policy.cache(), { says: "a" }),
      cached(runs, Policy.cache(), { says: "b" }),
      cached(runs, Policy.cache(), { name: "other", says: "c" }),
      cached(runs, Policy.cache(), { version: "2", says: "d" })
    ]
    const said = yield* Effect.forEach(graphs, (graph) => Effect.map(graph.invoke({ n: 1 }), ({ log }) => log))
    assert.deepStrictEqual(said, [["a 1"], ["b 1"], ["c 1"], ["d 1"]])
    assert.strictEqual(runs.length, 4)
  }).pipe(Effect.provide(layer)))

it.effect("N1 two nodes of one graph made from one function do not share results either", () =>
  Effect.gen(function*() {
    let runs = 0
    const same = () =>
      Node.make({
        input: Schema.Struct({ n: Schema.Int }),
        run: () =>
          Effect.map(Running.Running, ({ node }) => {
            runs++
            return { log: [node] }
          }),
        cache: Policy.cache()
      })
    const graph = StateGraph.make("g", StateGraph.nodes(Sum, { a: same(), b: same() }), {
      start: "a",
      edges: { a: "b" }
    })
    assert.deepStrictEqual((yield* graph.invoke({ n: 1 })).log, ["a", "b"])
    assert.deepStrictEqual([(yield* graph.invoke({ n: 1 })).log, runs], [["a", "b"], 2])
  }).pipe(Effect.provide(layer)))

it.effect("N1 nodes that give the same id share results, and another id does not", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const a = cached(runs, Policy.cache({ id: "square v1" }), { name: "a", says: "a" })
    const b = cached(runs, Policy.cache({ id: "square v1" }), { name: "b", says: "b" })
    const c = cached(runs, Policy.cache({ id: "square v2" }), { name: "b", says: "c" })
    assert.deepStrictEqual((yield* a.invoke({ n: 1 })).log, ["a 1"])
    assert.deepStrictEqual((yield* b.invoke({ n: 1 })).log, ["a 1"])
    assert.deepStrictEqual((yield* c.invoke({ n: 1 })).log, ["c 1"])
    const cache = yield* NodeCache.NodeCache
    yield* cache.clear(["square v1"])
    assert.deepStrictEqual((yield* b.invoke({ n: 1 })).log, ["b 1"])
    assert.deepStrictEqual((yield* c.invoke({ n: 1 })).log, ["c 1"])
    yield* cache.clear()
    assert.deepStrictEqual((yield* c.invoke({ n: 1 })).log, ["c 1"])
    assert.strictEqual(runs.length, 4)
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 a failure is not cached, and what a handler made of it is not taken for a result of the node", () =>
  Effect.gen(function*() {
    let runs = 0
    const node = <A, E>(run: () => Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        runs++
        return run()
      })
    const fails = StateGraph.make(
      "fails",
      StateGraph.nodes(Sum, {
        node: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: () => node(() => runs === 1 ? Effect.fail(new Broken()) : Effect.succeed({ log: [`run ${runs}`] })),
          cache: Policy.cache()
        })
      }),
      { start: "node" }
    )
    assert.deepStrictEqual(yield* Effect.flip(fails.invoke({ n: 1 })), new Broken())
    assert.deepStrictEqual((yield* fails.invoke({ n: 1 })).log, ["run 2"])
    assert.deepStrictEqual((yield* fails.invoke({ n: 1 })).log, ["run 2"])
    runs = 0
    const handled = StateGraph.make(
      "handled",
      StateGraph.nodes(Sum, {
        node: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: () => node(() => runs === 1 ? Effect.fail(new Broken()) : Effect.succeed({ log: [`run ${runs}`] })),
          cache: Policy.cache(),
          onError: () => Effect.succeed({ log: ["handled"] })
        })
      }),
      { start: "node" }
    )
    assert.deepStrictEqual((yield* handled.invoke({ n: 1 })).log, ["handled"])
    assert.deepStrictEqual((yield* handled.invoke({ n: 1 })).log, ["run 2"])
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 a pause is not cached, nor is what rests on its answer", () =>
  Effect.gen(function*() {
    class Log extends State.make({ log: Channel.append(Schema.String) }) {}
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        ask: () => Effect.map(Confirm.ask("sure?"), (answer) => ({ log: [answer] }))
      }),
      { start: "ask" }
    )
    const direct = StateGraph.make(
      "direct",
      StateGraph.nodes(Sum, {
        node: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: () => Effect.map(Confirm.ask("sure?"), (answer) => ({ log: [answer] })),
          cache: Policy.cache()
        })
      }),
      { start: "node" }
    )
    const called = StateGraph.make(
      "called",
      StateGraph.nodes(Sum, {
        node: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: () => Effect.map(child.call({}, { key: "k" }), ({ log }) => ({ log })),
          cache: Policy.cache()
        })
      }),
      { start: "node" }
    )
    for (const graph of [direct, called]) {
      for (const answer of ["yes", "no"]) {
        const thread = graph.thread(`${graph.name} ${answer}`)
        const asked = yield* Effect.flip(thread.invoke({ n: 1 }))
        assert.strictEqual(asked._tag, "GraphInterrupt")
        assert.deepStrictEqual((yield* thread.resume(Confirm.reply(answer))).log, [answer])
      }
    }
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 tasks that are cached stand beside tasks that run, and a retry asks the cache once", () =>
  Effect.gen(function*() {
    const runs: Array<number> = []
    const graph = StateGraph.make(
      "fan",
      StateGraph.nodes(Sum, {
        go: (s) => Command.make({ goto: [1, 2, s.n].map((n) => Send.make("work", { n })) }),
        work: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: ({ n }) =>
            Effect.sync(() => {
              runs.push(n)
              return { log: [`${n}`] }
            }),
          cache: Policy.cache()
        })
      }),
      { start: "go" }
    )
    assert.deepStrictEqual((yield* graph.invoke({ n: 3 })).log, ["1", "2", "3"])
    assert.deepStrictEqual((yield* graph.thread("t").invoke({ n: 4 })).log, ["1", "2", "4"])
    assert.deepStrictEqual((yield* graph.thread("t").state()).values.log, ["1", "2", "4"])
    assert.deepStrictEqual(runs, [1, 2, 3, 4])
  }).pipe(Effect.provide(layer)))

it.effect("LG#59 where a route leads after a cached result is chosen from the state as it is", () =>
  Effect.gen(function*() {
    class Routed
      extends State.make({ n: Schema.Int, to: Schema.Literals(["a", "b"]), log: Channel.append(Schema.String) })
    {}
    let runs = 0
    const graph = StateGraph.make(
      "routed",
      StateGraph.nodes(Routed, {
        node: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: ({ n }) =>
            Effect.sync(() => {
              runs++
              return { log: [`node ${n}`] }
            }),
          cache: Policy.cache()
        }),
        a: () => ({ log: ["a"] }),
        b: () => ({ log: ["b"] })
      }),
      { start: "node", edges: { node: StateGraph.route(["a", "b"], (s: State.Type<typeof Routed>) => s.to) } }
    )
    assert.deepStrictEqual((yield* graph.invoke({ n: 1, to: "a" })).log, ["node 1", "a"])
    assert.deepStrictEqual((yield* graph.invoke({ n: 1, to: "b" })).log, ["node 1", "b"])
    assert.strictEqual(runs, 1)
  }).pipe(Effect.provide(layer)))

class Held extends State.make({ n: Schema.Int, h: Channel.untracked<string>(), log: Channel.append(Schema.String) }) {}

/** A graph whose one cached node reads an untracked key. */
const holding = (policy: Policy.Cache<State.Type<typeof Held>>) =>
  StateGraph.make(
    "holding",
    StateGraph.nodes(Held, {
      node: Node.make({ input: Held, run: ({ h }) => Effect.succeed({ log: [`for ${h}`] }), cache: policy })
    }),
    { start: "node" }
  )

it.effect("L16 a cached node that reads what is never stored has to say what is equal", () =>
  Effect.gen(function*() {
    assert.throws(
      () => holding(Policy.cache()),
      "graph \"holding\": node \"node\" has a cache and reads \"h\", which is untracked: give the cache a key"
    )
    assert.throws(
      () =>
        Pregel.make("wired", {
          channels: { h: Channel.untracked<string>(), out: Channel.lastValue(Schema.String) },
          nodes: {
            node: Pregel.node({ subscribe: "h", run: (h: string) => h, write: "out", cache: Policy.cache<unknown>() })
          },
          input: "h",
          output: "out"
        }),
      "graph \"wired\": node \"node\" has a cache and reads \"h\", which is untracked: give the cache a key"
    )
    const graph = holding(Policy.cache({ key: ({ h, n }) => `${n} ${h}` }))
    assert.deepStrictEqual((yield* graph.invoke({ n: 1, h: "alice" })).log, ["for alice"])
    assert.deepStrictEqual((yield* graph.invoke({ n: 1, h: "bob" })).log, ["for bob"])
    // A node that reads other keys alone is none of these.
    const apart = StateGraph.make(
      "apart",
      StateGraph.nodes(Held, {
        node: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: ({ n }) => Effect.succeed({ log: [`${n}`] }),
          cache: Policy.cache()
        })
      }),
      { start: "node" }
    )
    assert.deepStrictEqual((yield* apart.invoke({ n: 1, h: "alice" })).log, ["1"])
  }).pipe(Effect.provide(layer)))

it.effect("L16 a result that writes what is never stored is not kept", () =>
  Effect.gen(function*() {
    let runs = 0
    const graph = StateGraph.make(
      "writing",
      StateGraph.nodes(Held, {
        node: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: ({ n }) =>
            Effect.sync(() => {
              runs++
              return { h: `made of ${n}`, log: ["node"] }
            }),
          cache: Policy.cache()
        }),
        reads: ({ h }) => ({ log: [String(h)] })
      }),
      { start: "node", edges: { node: "reads" } }
    )
    assert.deepStrictEqual((yield* graph.invoke({ n: 1 })).log, ["node", "made of 1"])
    assert.deepStrictEqual((yield* graph.invoke({ n: 1 })).log, ["node", "made of 1"])
    assert.strictEqual(runs, 2)
  }).pipe(Effect.provide(layer)))

it.effect("L17 a kept text that is not what was kept is no result: the node runs", () =>
  Effect.gen(function*() {
    const damages: ReadonlyArray<(text: string) => string> = [
      (text) => text.replace("result 1", "result 2"),
      (text) => text.slice(0, -1),
      () => "",
      () => "{",
      () => "null",
      () => "[[1]]",
      () => "[[\"log\",0,[\"forged\"]]]"
    ]
    for (const [index, damage] of damages.entries()) {
      const cache = yield* NodeCache.makeMemory
      const damaged = NodeCache.NodeCache.of({
        ...cache,
        get: (scope, key) => Effect.map(cache.get(scope, key), Option.map(damage))
      })
      const runs: Array<string> = []
      const graph = cached(runs, Policy.cache())
      const run = Effect.provideService(graph.invoke({ n: 1 }), NodeCache.NodeCache, damaged)
      for (let count = 0; count < 2; count++) assert.deepStrictEqual(yield* run, { n: 1, log: ["result 1"] })
      assert.deepStrictEqual(runs, ["1", "1"], String(index))
    }
  }))

it.effect("a key that is no text is a defect that says so, and no two inputs share it", () =>
  Effect.gen(function*() {
    const keys: ReadonlyArray<readonly [unknown, string]> = [
      [{ n: 1 }, "is no text"],
      [undefined, "is no text"],
      [Promise.resolve("x"), "returned a Promise"]
    ]
    for (const [key, text] of keys) {
      const runs: Array<string> = []
      const exit = yield* Effect.exit(cached(runs, Policy.cache({ key: () => key as string })).invoke({ n: 1 }))
      assert.isTrue(Exit.isFailure(exit) && String(Cause.squash(exit.cause)).includes(text), text)
      assert.deepStrictEqual(runs, [])
    }
  }).pipe(Effect.provide(layer)))

it.effect("what has expired makes room, whether it is asked for again or not", () =>
  Effect.gen(function*() {
    setFlagsFromString("--expose-gc")
    const gc = runInNewContext("gc") as () => void
    const held = () => {
      gc()
      return process.memoryUsage().heapUsed
    }
    const cache = yield* NodeCache.makeMemory
    const before = held()
    const bytes = 4_000
    const count = 10_000
    for (let n = 0; n < count; n++) {
      yield* cache.set("scope", String(n), Buffer.alloc(bytes, n % 256).toString("latin1"), 1_000)
      if (n % 100 === 0) yield* TestClock.adjust("1 second")
    }
    assert.isBelow(held() - before, count * bytes / 4)
    const last = yield* cache.get("scope", String(count - 1))
    assert.isTrue(Option.isSome(last))
  }))
