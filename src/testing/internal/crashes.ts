/** What is stored when a saver fails, or its process ends, at any operation on its storage. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Checkpointer } from "../../Checkpointer.ts"
import type { CheckpointError, ThreadConflict, ThreadDeleted } from "../../GraphError.ts"
import { CaseFailed, same } from "./check.ts"
import * as Rows from "./rows.ts"
import { checkpoint, commitOf, moveOf, task } from "./rows.ts"

/**
 * The failure of an operation on a storage, made by the suite.
 *
 * @category errors
 * @since 0.1.0
 */
export class Fault extends Data.TaggedError("Fault")<{ readonly when: "before" | "after" }> {
  override get message(): string {
    return `the storage failed ${this.when} an operation`
  }
}

/**
 * What a saver that can be made to fail does with each operation on its storage.
 *
 * @category models
 * @since 0.1.0
 */
export type Around = <A, E, R>(operation: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Fault, R>

/**
 * Makes new storage, and gives the layer that opens it: each time that it is built, as a new process would.
 *
 * The saver runs each operation on its storage, such as a statement, through `around`. That fails with a `Fault`, which the saver
 * treats as it treats a failure of its storage, or dies, as if the process had ended: then every later operation dies too.
 *
 * @category models
 * @since 0.1.0
 */
export type Faulty<E = never> = (around: Around) => Effect.Effect<Layer.Layer<Checkpointer, E>, E, Scope.Scope>

type Kind = "fail" | "stop"

/** Points in time at which a fault is tried; a write of more has no end. */
const pointLimit = 2_000

/** Faults that happen at one point: before or after an operation, counted from the moment that it is armed. */
const makeFaults = (kind: Kind) => {
  let left = -1
  let isHit = false
  const point = (when: Fault["when"]): Effect.Effect<void, Fault> =>
    Effect.suspend(() => {
      const isNow = left-- === 0
      if (isNow) isHit = true
      if (isNow && kind === "fail") return new Fault({ when })
      return isHit && kind === "stop" ? Effect.die(new Error(`the process ended ${when} an operation`)) : Effect.void
    })
  const around: Around = (operation) => Effect.tap(Effect.andThen(point("before"), operation), () => point("after"))
  const arm = (at: number): void => {
    left = at
    isHit = false
  }
  /** Tells whether a fault happened. */
  const disarm = (): boolean => {
    const wasHit = isHit
    arm(-1)
    return wasHit
  }
  return { around, arm, disarm }
}

type Failure = CheckpointError | ThreadConflict | ThreadDeleted

interface Scenario {
  readonly name: string
  readonly prepare: Effect.Effect<void, Failure, Checkpointer>
  /** One write, which may be repeated. */
  readonly write: Effect.Effect<unknown, Failure, Checkpointer>
}

/** All that a saver tells of the thread. */
const look = Effect.gen(function*() {
  const chains: Record<string, unknown> = {}
  for (const namespace of ["", "n"]) {
    for (const id of ["a", "b", "x", "y"]) chains[`${namespace} ${id}`] = yield* Rows.get("t", id, namespace)
  }
  return {
    threads: yield* Rows.threads,
    heads: [yield* Rows.head("t"), yield* Rows.head("t", "p")],
    lists: [yield* Rows.list("t"), yield* Rows.list("t", "n")],
    chains
  }
})

const first = commitOf(checkpoint("a"), { inside: [moveOf(checkpoint("x"))] })
const rows = ["1", "2", "3"].map((name) => task("a", name))
const second = commitOf(checkpoint("b", "a"), {
  tasks: rows,
  inside: [moveOf(checkpoint("y", "x"), { tasks: [task("y", "1")] })],
  life: first.owner
})

const scenarios: ReadonlyArray<Scenario> = [
  { name: "a first commit", prepare: Effect.void, write: Rows.begin("t", first) },
  { name: "a commit with tasks and a graph inside", prepare: Rows.begin("t", first), write: Rows.commit("t", second) },
  { name: "tasks", prepare: Rows.begin("t", first), write: Rows.putTasks("t", rows, { life: first.owner }) },
  {
    name: "a deletion",
    prepare: Effect.andThen(Rows.begin("t", first), Rows.commit("t", second)),
    write: Rows.deleteThread("t")
  }
]

/** The write with a fault at one point; tells whether there was such a point. */
const tryAt = Effect.fnUntraced(function*<E>(scenario: Scenario, kind: Kind, faulty: Faulty<E>, at: number) {
  const { arm, around, disarm } = makeFaults(kind)
  const layer = Layer.fresh(yield* faulty(around))
  const open = <A, E2>(effect: Effect.Effect<A, E2, Checkpointer>) => Effect.provide(effect, layer)
  yield* open(scenario.prepare)
  const before = yield* open(look)
  arm(at)
  const exit = yield* Effect.exit(open(scenario.write))
  const isHit = disarm()
  const now = yield* open(look)
  yield* open(scenario.write)
  const after = yield* open(look)
  const where = `${scenario.name}, at point ${at}`
  if (Exit.isSuccess(exit)) yield* same(`what is stored when it succeeded: ${where}`, now, after)
  else if (!Equal.equals(now, before)) {
    yield* same(`what is stored when it failed, all or nothing: ${where}`, now, after)
  }
  yield* same(`whether the repeated write is there: ${where}`, Equal.equals(after, before), false)
  return isHit
}, Effect.scoped)

const tryAll = Effect.fnUntraced(function*<E>(scenario: Scenario, kind: Kind, faulty: Faulty<E>) {
  for (let at = 0; at < pointLimit; at++) {
    if (yield* tryAt(scenario, kind, faulty, at)) continue
    return yield* same("whether the saver uses its storage through `around`", at > 0, true)
  }
  return yield* new CaseFailed({ what: "points at which a fault is tried", expected: "an end", found: pointLimit })
})

const endings: Readonly<Record<Kind, string>> = {
  fail: "its storage fails at any point",
  stop: "its process ends at any point"
}

/** The cases of savers that can be made to fail. */
export const crashes = <E>(faulty: Faulty<E>): ReadonlyArray<Rows.Case> =>
  scenarios.flatMap((scenario) =>
    (["fail", "stop"] as const).map((kind) => ({
      group: "crash points",
      name: `${scenario.name}: all or nothing, if ${endings[kind]}`,
      effect: tryAll(scenario, kind, faulty)
    }))
  )
