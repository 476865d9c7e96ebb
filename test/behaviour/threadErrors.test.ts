/** Each failure that the type of a thread's operation names can occur. */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Channel, Checkpointer, Command, GraphError, State, StateGraph, type Thread } from "superstep"
import { behaves } from "./Savers.ts"

const untyped = <A>(value: unknown): A => value as A

class Failed extends Schema.TaggedError<Failed>()("Failed", {}) {}

/** Two nodes that run together. Where `broken` says so, they fail, and what is written cannot be folded. */
const twins = (broken: { nodes: boolean; reducer: boolean } = { nodes: false, reducer: false }) => {
  class Sum extends State.make({
    total: Channel.reducer({
      value: Schema.Int,
      initial: () => 0,
      reduce: (total, n) => {
        if (broken.reducer) throw new Error("the reducer is broken")
        return total + n
      }
    })
  }) {}
  const add = () => broken.nodes ? Effect.fail(new Failed()) : Effect.succeed({ total: 1 })
  return StateGraph.make("twins", StateGraph.nodes(Sum, { a: add, b: add }), { start: ["a", "b"] })
}
const graph = twins()

type Saver = Checkpointer.CheckpointerShape
const broken = new GraphError.CheckpointError({ reason: "Storage", thread: "t", detail: "the disk is gone" })

/** Runs an effect on the saver with parts of it replaced. */
const on = <A, E>(
  effect: Effect.Effect<A, E, Checkpointer.Checkpointer>,
  change: (saver: Saver) => Partial<Saver>
): Effect.Effect<A, E, Checkpointer.Checkpointer> =>
  Effect.flatMap(
    Checkpointer.Checkpointer,
    (saver) => Effect.provideService(effect, Checkpointer.Checkpointer, { ...saver, ...change(saver) })
  )

/** Does something just before the first commit, as another runner would. */
const justBefore = <A, E>(
  effect: Effect.Effect<A, E, Checkpointer.Checkpointer>,
  other: (saver: Saver) => Effect.Effect<unknown, unknown>
): Effect.Effect<A, E, Checkpointer.Checkpointer> => {
  let isFirst = true
  return on(effect, (saver) => ({
    commit: (thread, commit) => {
      const before = isFirst ? Effect.orDie(other(saver)) : Effect.void
      isFirst = false
      return Effect.andThen(before, saver.commit(thread, commit))
    }
  }))
}

const fails = Effect.fail(broken)

/** The tags that effects fail with, by the tag that each should fail with. */
const tags = Effect.fnUntraced(function*<Tag extends string>(
  operations: {
    readonly [K in Tag]: Effect.Effect<unknown, { readonly _tag: NoInfer<Tag> }, Checkpointer.Checkpointer>
  }
) {
  for (const [tag, operation] of Object.entries(operations)) {
    const failure = yield* Effect.flip(operation as typeof operations[Tag])
    assert.strictEqual(failure._tag, tag)
  }
})

const none = twins().thread("none")

/** The same graph, before a key of it was taken out. */
class Noted extends State.make({
  note: Schema.String,
  total: Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: (total, n) => total + n })
}) {}
const earlier = StateGraph.make(
  "twins",
  StateGraph.nodes(Noted, { a: () => ({ total: 1 }), b: () => ({ total: 1 }) }),
  {
    start: ["a", "b"]
  }
)

/** What reading a thread that has run can come upon. */
const stored = <E>(
  operation: (thread: typeof none, checkpoint?: string) => Effect.Effect<unknown, E, Checkpointer.Checkpointer>
) => ({
  CheckpointError: on(operation(graph.thread("t")), () => ({ get: () => fails })),
  GraphChanged: Effect.andThen(
    Effect.ignore(earlier.thread("changed").invoke({ note: "x" })),
    operation(graph.thread("changed"))
  ),
  UnknownThread: operation(none)
})

behaves("L13 reading a thread fails with each error of its type", () =>
  Effect.gen(function*() {
    const thread = graph.thread("t")
    yield* thread.invoke({})
    yield* tags<Thread.HistoryError["_tag"]>({
      ...stored((thread) => thread.history()),
      UnknownCheckpoint: thread.history({ before: "nowhere" }),
      InvalidArgument: thread.history({ limit: -1 })
    })

    const broken = { nodes: true, reducer: false }
    const waiting = twins(broken).thread("waiting")
    yield* Effect.flip(waiting.invoke({}))
    // Taken, and not folded yet: its update waits beside the head.
    yield* Effect.flip(waiting.invoke(Command.make({ update: { total: 1 } })))
    broken.reducer = true
    yield* tags<Thread.StateError["_tag"]>({
      ...stored((thread) => thread.state()),
      UnknownCheckpoint: thread.state({ checkpoint: "nowhere" }),
      InvalidArgument: thread.state(untyped({ checkpoint: 1 })),
      InvalidUpdate: waiting.state()
    })
    // The history shows what is committed, which has been folded.
    assert.strictEqual((yield* waiting.history()).length, 2)
  }))

behaves("L14 opening a branch fails with each error of its type", () =>
  Effect.gen(function*() {
    const thread = graph.thread("t")
    yield* thread.invoke({})
    yield* tags<Thread.ForkError["_tag"]>({
      ...stored((thread) => thread.fork()),
      UnknownCheckpoint: thread.fork("nowhere"),
      InvalidArgument: thread.fork(untyped(1)),
      ThreadConflict: justBefore(thread.fork(), (saver) =>
        Effect.provideService(thread.fork(), Checkpointer.Checkpointer, saver)),
      ThreadDeleted: justBefore(thread.fork(), (saver) =>
        saver.deleteThread("t"))
    })
  }))

behaves("L19 updating a thread fails with each error of its type", () =>
  Effect.gen(function*() {
    type Updated = Effect.Effect<string, Thread.UpdateError, Checkpointer.Checkpointer>
    type Values = { readonly total: number } | undefined
    const ways: ReadonlyArray<
      (
        thread: typeof none,
        values: Values,
        options?: { readonly asNode?: "a"; readonly checkpoint?: string }
      ) => Updated
    > = [
      (thread, values, options) => thread.update(values, options),
      (thread, values, { asNode, ...options } = {}) =>
        thread.updateAll([[asNode === undefined ? { values } : { values, asNode }]], options)
    ]
    const thread = graph.thread("t")
    for (const update of ways) {
      yield* thread.invoke({})
      yield* tags<Thread.UpdateError["_tag"]>({
        ...stored((thread) => update(thread, { total: 1 }, { asNode: "a" })),
        UnknownThread: update(none, { total: 1 }, { checkpoint: "nowhere" }),
        UnknownCheckpoint: update(thread, { total: 1 }, { checkpoint: "nowhere" }),
        InvalidArgument: update(thread, { total: 1 }, untyped({ checkpoint: 1 })),
        InvalidUpdate: update(thread, untyped({ total: "1" }), { asNode: "a" }),
        UnknownRoute: update(thread, untyped(Command.make({ goto: "nowhere" })), { asNode: "a" }),
        UnknownNode: update(thread, { total: 1 }, untyped({ asNode: "nobody" })),
        AmbiguousUpdate: update(thread, { total: 1 }),
        ThreadConflict: justBefore(
          update(thread, { total: 1 }, { asNode: "a" }),
          (saver) =>
            Effect.provideService(update(thread, { total: 2 }, { asNode: "a" }), Checkpointer.Checkpointer, saver)
        ),
        ThreadDeleted: justBefore(update(thread, { total: 1 }, { asNode: "a" }), (saver) => saver.deleteThread("t"))
      })
    }
  }))

behaves("deleting a thread fails with what storage fails with", () =>
  Effect.gen(function*() {
    const thread = graph.thread("t")
    const failure = yield* Effect.flip(on(thread.delete, () => ({ deleteThread: () => fails })))
    assert.strictEqual(failure, broken)
  }))
