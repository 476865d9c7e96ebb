/** A run does not depend on where it was stopped: what is read back from the saver goes on as the live run would have. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as fc from "fast-check"
import { Channel, Checkpointer, END, GraphError, Node, Send, State, StateGraph } from "superstep"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}

const names = ["a", "b", "c", "d", "e"] as const
type Name = typeof names[number]

/** How a node leads on: by edges, by joins, by a route that ends after a while, by Sends, or not at all. */
type Lead =
  | { readonly kind: "edges"; readonly to: ReadonlyArray<Name> }
  | { readonly kind: "join"; readonly to: Name; readonly more: Name; readonly release: "all" | "idle" }
  | { readonly kind: "route"; readonly to: ReadonlyArray<Name>; readonly until: number }
  | { readonly kind: "send"; readonly to: Name; readonly count: number; readonly until: number }
  | { readonly kind: "end" }

interface Shape {
  readonly start: ReadonlyArray<Name>
  readonly leads: Readonly<Record<Name, Lead>>
  readonly defer: Readonly<Record<Name, boolean>>
}

const name = fc.constantFrom(...names)
const some = fc.uniqueArray(name, { minLength: 1, maxLength: 3 })
const lead: fc.Arbitrary<Lead> = fc.oneof(
  fc.record({ kind: fc.constant("edges" as const), to: some }),
  fc.record({
    kind: fc.constant("join" as const),
    // One target, so that joins have several sources.
    to: fc.constant("e" as const),
    more: name,
    release: fc.constantFrom("all" as const, "idle" as const)
  }),
  fc.record({ kind: fc.constant("route" as const), to: some, until: fc.integer({ min: 1, max: 12 }) }),
  fc.record({
    kind: fc.constant("send" as const),
    to: name,
    count: fc.integer({ min: 1, max: 3 }),
    until: fc.integer({ min: 1, max: 12 })
  }),
  fc.constant({ kind: "end" as const })
)
const each = <A>(of: fc.Arbitrary<A>) => fc.record({ a: of, b: of, c: of, d: of, e: of })
const shape: fc.Arbitrary<Shape> = fc.record({
  start: some,
  leads: each(lead),
  defer: each(fc.nat(3).map((n) => n === 0))
})

/** Supersteps after which a run is stopped: not every shape ends. */
const limit = 12

const graphOf = ({ defer, leads, start }: Shape) => {
  const node = (key: Name) => Node.make({ input: Log, defer: defer[key], run: () => Effect.succeed({ log: [key] }) })
  const edge = (key: Name): unknown => {
    const how = leads[key]
    switch (how.kind) {
      case "edges":
        return how.to
      case "join":
        return [StateGraph.join(how.to, { release: how.release, group: how.release }), how.more]
      case "route":
        return StateGraph.route(how.to, (s: State.Type<typeof Log>) => s.log.length < how.until ? how.to : [])
      case "send":
        return StateGraph.route(
          [how.to],
          (s: State.Type<typeof Log>) =>
            s.log.length < how.until ? Array.from({ length: how.count }, () => Send.make(how.to, s)) : []
        )
      case "end":
        return END
    }
  }
  const edges = Object.fromEntries(names.map((key) => [key, edge(key)]))
  return StateGraph.make(
    "random",
    StateGraph.nodes(Log, { a: node("a"), b: node("b"), c: node("c"), d: node("d"), e: node("e") }),
    { start, edges } as never,
    { recursionLimit: limit }
  )
}

type Graph = ReturnType<typeof graphOf>
type End = { readonly log: ReadonlyArray<string> } | { readonly stalled: string } | {
  readonly next: ReadonlyArray<string>
}

/** What a run comes to, in one form for all ways of running. */
const ended = <E, R>(run: Effect.Effect<{ readonly log: ReadonlyArray<string> }, E, R>): Effect.Effect<End, E, R> =>
  Effect.catch(run, (error): Effect.Effect<End, E> => {
    if (error instanceof GraphError.StalledJoin) return Effect.succeed({ stalled: error.message })
    if (error instanceof GraphError.RecursionLimit) return Effect.succeed({ next: error.next })
    return Effect.fail(error)
  })

/** Stops before every superstep, and goes on from what is stored. */
const stepwise = (graph: Graph, durability: "sync" | "async" | "exit") =>
  Effect.gen(function*() {
    const thread = graph.thread(durability)
    const all = { durability, before: ["*"] }
    let run = thread.invoke({}, all)
    for (let count = 0;; count++) {
      const stop = yield* Effect.result(ended(run))
      if (stop._tag === "Success") return stop.success
      if (!(stop.failure instanceof GraphError.GraphBreakpoint)) return yield* Effect.fail(stop.failure)
      if (count === limit) return { next: stop.failure.next }
      run = thread.continue(all)
    }
  })

/** A process that dies behind every commit, again and again. */
const crashing = (graph: Graph) =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    const dying = Layer.succeed(
      Checkpointer.Checkpointer,
      Checkpointer.Checkpointer.of({
        ...saver,
        commit: (id, commit) => Effect.andThen(saver.commit(id, commit), Effect.die("killed"))
      })
    )
    const thread = graph.thread("crashing")
    yield* Effect.exit(thread.invoke({}).pipe(Effect.provide(dying)))
    for (let step = 0; step < limit; step++) {
      const end = yield* Effect.exit(thread.continue({ recursionLimit: 1 }).pipe(Effect.provide(dying)))
      if (end._tag === "Success") break
    }
    yield* Effect.exit(thread.continue({ recursionLimit: 1 }).pipe(Effect.provide(dying)))
    const { next } = yield* thread.state()
    return next.length > 0 ? { next } : yield* ended(thread.continue())
  })

const check = (given: Shape): Effect.Effect<void, unknown, Checkpointer.Checkpointer> =>
  Effect.gen(function*() {
    const graph = graphOf(given)
    const expected = yield* ended(graph.invoke({}))
    assert.deepStrictEqual(yield* ended(graph.thread("whole").invoke({})), expected, "on a thread")
    const live = yield* graph.thread("whole").history()
    for (const durability of ["sync", "async", "exit"] as const) {
      assert.deepStrictEqual(yield* stepwise(graph, durability), expected, `stopped, ${durability}`)
    }
    const stopped = yield* graph.thread("sync").history()
    assert.deepStrictEqual(
      stopped.map(({ next, step, values }) => [step, values, next]),
      live.map(({ next, step, values }) => [step, values, next]),
      "history"
    )
    assert.deepStrictEqual(yield* crashing(graph), expected, "crashing")
  })

it(
  "a random flow comes to the same whole, stopped before every superstep, and after a crash behind every commit",
  async () => {
    const runs = 60
    let checked = 0
    await fc.assert(
      fc.asyncProperty(shape, async (given) => {
        await Effect.runPromise(check(given).pipe(Effect.provide(Checkpointer.layerMemory)))
        checked++
      }),
      { numRuns: runs }
    )
    assert.strictEqual(checked, runs)
  },
  120_000
)
