/**
 * The process stops before and after every operation on its storage, one after the other, and is started anew: it ends as one that
 * nobody stopped, and what it has stored is the same.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Schema } from "effect"
import { Channel, Checkpointer, END, Interrupt, Node, Send, State, StateGraph } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

class Log extends State.make({
  n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
  log: Channel.append(Schema.String),
  trail: Channel.delta({
    value: Schema.Array(Schema.String),
    initial: () => [],
    reduce: (
      state: ReadonlyArray<string>,
      updates: ReadonlyArray<ReadonlyArray<string>>
    ) => [...state, ...updates.flat()],
    snapshotFrequency: 2
  })
}) {}

/** Parallel tasks, a join, Sends, questions, graphs inside, deltas, rounds. */
const makeGraph = () => {
  const say = (name: string) => ({ n }: { readonly n: number }) => ({ log: [`${name} ${n}`], trail: [name] })
  const kept = StateGraph.make(
    "kept",
    StateGraph.nodes(Log, {
      note: ({ log }) => ({ log: [`note ${log.length}`] }),
      ask: () => Effect.map(Ask.ask("kept?"), (answer) => ({ log: [answer], trail: [answer] }))
    }),
    { start: "note", edges: { note: "ask" } },
    { persistence: "thread" }
  )
  return StateGraph.make(
    "whole",
    {
      state: Log,
      bodies: {
        split: say("split"),
        left: say("left"),
        right: say("right"),
        each: Node.make({
          input: Schema.Struct({ i: Schema.Int }),
          run: ({ i }) => Effect.succeed({ log: [`each ${i}`] })
        }),
        kept,
        calls: () => Effect.map(kept.call({}), ({ log }) => ({ log: [`called ${log.length}`] })),
        ask: () => Effect.map(Ask.ask("outer?"), (answer) => ({ log: [answer] })),
        end: ({ n }: { readonly n: number }) => ({ n: n + 1, trail: ["end"] })
      }
    } as never,
    {
      start: "split",
      edges: {
        split: ["left", "right"],
        left: StateGraph.join("kept"),
        right: StateGraph.join("kept"),
        kept: StateGraph.route(
          ["each", "ask"],
          () => [Send.make("each", { i: 0 }), Send.make("each", { i: 1 }), "ask"] as never
        ),
        ask: "calls",
        calls: "end",
        end: StateGraph.route(["split", END], ({ n }: { readonly n: number }) => n % 2 === 0 ? END : "split")
      }
    } as never
  ) as unknown as StateGraph.StateGraph<typeof Log, {}, never, never, Interrupt.Request<"Ask", string, string>>
}
const graph = makeGraph()
type Durability = "sync" | "async" | "exit"

/** Starts, answers, goes on, until the thread has come to its end; then branches off and does the rest again. */
const wholeLife = Effect.fnUntraced(function*(durability: Durability) {
  const thread = graph.thread("t")
  const toTheEnd = Effect.gen(function*() {
    for (;;) {
      const state = yield* Effect.option(thread.state())
      const requests = Option.match(state, { onNone: () => [], onSome: ({ requests }) => requests })
      const run = requests.length > 0
        ? thread.resume(requests.map(({ id, payload }) => Ask.reply(`to ${payload}`, { id })), { durability })
        : Option.isNone(state)
        ? thread.invoke({}, { durability })
        : thread.continue({ durability })
      const exit = yield* Effect.result(run)
      if (exit._tag === "Success") return exit.success
      if (exit.failure._tag !== "GraphInterrupt") return yield* exit.failure
    }
  })
  const first = yield* toTheEnd
  const history = yield* thread.history({ branch: 1 })
  const before = history.findLast(({ next }) => next.includes("calls"))!
  if ((yield* thread.state()).branch === 1) yield* thread.fork(before.checkpoint)
  return [first, yield* toTheEnd]
})

/** A saver that dies at the n-th operation, before or after it has happened. */
const dying = (saver: Checkpointer.CheckpointerShape, at: number, when: "before" | "after") => {
  let count = 0
  const operation = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const mine = count++
      if (mine > at || (mine === at && when === "before")) return Effect.die("the process has ended")
      return mine === at ? Effect.andThen(effect, Effect.die("the process has ended")) : effect
    })
  return {
    count: () => count,
    saver: Checkpointer.Checkpointer.of({
      ...saver,
      head: (...args) => operation(saver.head(...args)),
      get: (...args) => operation(saver.get(...args)),
      list: (...args) => operation(saver.list(...args)),
      putTasks: (...args) => operation(saver.putTasks(...args)),
      commit: (...args) => operation(saver.commit(...args))
    })
  }
}

const savers = {
  memory: Checkpointer.layerMemory,
  sqlite: Layer.orDie(SqlCheckpointer.layerSqlite({ filename: ":memory:" }))
}

/** Without what differs by the names of run attempts and by time. */
const contentOf = (saver: Checkpointer.CheckpointerShape) =>
  Effect.map(saver.dump("t"), (dump) => {
    const { checkpoints, heads, tasks } = Option.getOrThrow(dump)
    return {
      checkpoints: checkpoints.map(({ namespace, row }) => `${namespace} ${row.id} ${row.data}`).sort(),
      tasks: tasks.filter(({ row }) => row.status === "done").map(({ namespace, row }) =>
        `${namespace} ${row.checkpoint} ${row.task} ${row.data}`
      ).sort(),
      heads: heads.filter(({ place }) => place === "").map(({ branch, id }) => `${branch} ${id}`).sort()
    }
  })

for (const [name, layer] of Object.entries(savers)) {
  describe(`a process on ${name}`, () => {
    for (const durability of ["sync", "async", "exit"] as const) {
      it.live(
        `that stops before or after any operation on its storage ends as one that does not (${durability})`,
        () =>
          Effect.gen(function*() {
            const inOne = Effect.gen(function*() {
              const saver = yield* Checkpointer.Checkpointer
              const life = dying(saver, Infinity, "before")
              const outputs = yield* wholeLife(durability).pipe(
                Effect.provideService(Checkpointer.Checkpointer, life.saver)
              )
              return { count: life.count(), outputs, content: yield* contentOf(saver) }
            })
            const expected = yield* Effect.provide(inOne, Layer.fresh(layer))
            assert.isAbove(expected.count, durability === "exit" ? 40 : 60)
            let deaths = 0
            for (let at = 0; at < expected.count; at++) {
              for (const when of ["before", "after"] as const) {
                const inTwo = Effect.gen(function*() {
                  const saver = yield* Checkpointer.Checkpointer
                  const first = dying(saver, at, when)
                  const exit = yield* Effect.exit(
                    wholeLife(durability).pipe(
                      Effect.provideService(Checkpointer.Checkpointer, first.saver)
                    )
                  )
                  if (Exit.isFailure(exit)) deaths++
                  const outputs = yield* wholeLife(durability)
                  assert.deepStrictEqual(outputs, expected.outputs, `${when} operation ${at}`)
                  if (durability !== "exit") {
                    assert.deepStrictEqual(yield* contentOf(saver), expected.content, `${when} operation ${at}`)
                  }
                  assert.strictEqual((yield* graph.thread("t").verify).divergence, undefined)
                })
                yield* Effect.provide(inTwo, Layer.fresh(layer))
              }
            }
            assert.isAbove(deaths, expected.count)
          }),
        120_000
      )
    }
  })
}
