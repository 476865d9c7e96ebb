/** Databases whose transactions do not see what others commit, unless they are told to. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Checkpointer } from "superstep/Checkpointer"
import { CheckpointError, ThreadConflict } from "superstep/GraphError"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { checkpoint, commit, commitAll, commitOf, putTasks, task } from "../conformance/CheckpointerSuite.ts"
import { layerIsolatedClient } from "../Postgres.ts"

const readCommitted = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"

/** Does something while a transaction that has done something else is open still, and gives what becomes of it. */
const during = <A, E, R, B, F, S>(first: Effect.Effect<A, E, R>, late: Effect.Effect<B, F, S>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient
    const done = yield* Deferred.make<void>()
    const before = Effect.gen(function*() {
      yield* sql.unsafe(readCommitted)
      yield* first
      yield* Deferred.succeed(done, undefined)
      yield* Effect.sleep(300)
    })
    const holding = yield* Effect.forkChild(sql.withTransaction(before))
    yield* Deferred.await(done)
    const exit = yield* Effect.result(late)
    yield* Fiber.join(holding)
    return exit
  })

const failureOf = (result: { readonly _tag: string; readonly failure?: unknown }): unknown => result.failure

for (const level of ["repeatable read", "serializable"] as const) {
  const layer = Layer.provideMerge(SqlCheckpointer.layer, layerIsolatedClient(level))
  describe(`a thread in a database whose transactions are ${level}`, () => {
    it.live("takes no tasks beside a head that another has moved meanwhile", () =>
      Effect.gen(function*() {
        yield* commitAll("t", ["a"])
        const late = putTasks("t", [task("a", "1")], { life: "owner", root: "a" })
        const result = yield* during(commit("t", commitOf(checkpoint("b", "a"))), late)
        assert.instanceOf(failureOf(result), ThreadConflict)
        const saver = yield* Checkpointer
        assert.deepStrictEqual(Option.getOrThrow(yield* saver.get("t", "", "a")).tasks, [])
      }).pipe(Effect.provide(layer)))

    it.live("takes no commit from a head that another has moved meanwhile", () =>
      Effect.gen(function*() {
        yield* commitAll("t", ["a"])
        const late = commit("t", commitOf(checkpoint("c", "a"), { life: "owner", root: "a", owner: "late" }))
        const result = yield* during(commit("t", commitOf(checkpoint("b", "a"))), late)
        assert.instanceOf(failureOf(result), ThreadConflict)
        assert.strictEqual(Option.getOrThrow(yield* (yield* Checkpointer).head("t", "")).id, "b")
      }).pipe(Effect.provide(layer)))

    it.live("keeps what a branch that is opened meanwhile begins at", () =>
      Effect.gen(function*() {
        const saver = yield* Checkpointer
        yield* commitAll("t", ["a", "b"])
        const fork = commitOf(checkpoint("c", "a", { branch: 2 }), { expected: undefined })
        const removal = { checkpoints: [{ namespace: "", id: "a" }], heads: [], branch: 1, life: "owner" }
        const result = yield* during(commit("t", fork), saver.remove("t", removal))
        assert.instanceOf(failureOf(result), ThreadConflict)
        const { chain } = Option.getOrThrow(yield* saver.get("t", "", "c"))
        assert.deepStrictEqual(chain.map(({ id }) => id), ["a", "c"])
      }).pipe(Effect.provide(layer)))

    it.live("is begun once, also by two at once", () =>
      Effect.gen(function*() {
        const first = commitOf(checkpoint("a"))
        const late = commitOf(checkpoint("x"), { owner: "late" })
        const begin = (given: typeof first) =>
          Checkpointer.use((saver) => saver.commit("t", { ...given, life: undefined, root: undefined }))
        assert.instanceOf(failureOf(yield* during(begin(first), begin(late))), ThreadConflict)
      }).pipe(Effect.provide(layer)))

    it.live("is refused to a transaction of the caller that does not see what others commit", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient
        yield* commitAll("t", ["a"])
        const error = yield* Effect.flip(sql.withTransaction(commit("t", commitOf(checkpoint("b", "a")))))
        assert.instanceOf(error, CheckpointError)
        assert.include(error.message, "begin it with ISOLATION LEVEL READ COMMITTED")
        assert.strictEqual(Option.getOrThrow(yield* (yield* Checkpointer).head("t", "")).id, "a")
      }).pipe(Effect.provide(layer)))
  })
}
