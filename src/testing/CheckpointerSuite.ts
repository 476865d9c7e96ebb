/**
 * The contract of a `Checkpointer` as cases, for a saver of your own and any
 * test runner. What the cases show is what the engine relies on.
 *
 * @since 0.1.0
 */
import type * as Layer from "effect/Layer"
import type { Checkpointer } from "../Checkpointer.ts"
import { crashes, type Faulty } from "./internal/crashes.ts"
import { crowds } from "./internal/crowds.ts"
import { living } from "./internal/living.ts"
import { moving } from "./internal/moving.ts"
import { reading } from "./internal/reading.ts"
import { registerAll } from "./internal/register.ts"
import type * as Rows from "./internal/rows.ts"
import { writing } from "./internal/writing.ts"

export {
  /**
   * What a case fails with.
   *
   * @category errors
   * @since 0.1.0
   */
  CaseFailed
} from "./internal/check.ts"
export {
  /**
   * @category models
   * @since 0.1.0
   */
  type Around,
  /**
   * @category errors
   * @since 0.1.0
   */
  Fault,
  /**
   * @category models
   * @since 0.1.0
   */
  type Faulty
} from "./internal/crashes.ts"

/**
 * What a case is about.
 *
 * @category models
 * @since 0.1.0
 */
export type Group = Rows.Group

/**
 * One thing that a saver has to do. The effect succeeds if it does; the storage of the saver has to be empty before.
 *
 * @category models
 * @since 0.1.0
 */
export type Case = Rows.Case

/**
 * The cases that every saver is held to. Those of the group `crash points` need a saver that can be made to fail:
 * see {@link crashCases}.
 *
 * @category cases
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Checkpointer } from "superstep"
 * import * as CheckpointerSuite from "superstep/testing/CheckpointerSuite"
 *
 * const limits = CheckpointerSuite.cases.filter(({ name }) => name === "a limit is kept")
 * console.log(limits.map(({ group }) => group)) // => ["list"]
 *
 * await Effect.runPromise(limits[0]!.effect.pipe(Effect.provide(Checkpointer.layerMemory)))
 * ```
 */
export const cases: ReadonlyArray<Case> = [...reading, ...writing, ...living, ...moving, ...crowds]

/**
 * The cases of the group `crash points`: a write that fails, or whose process ends, before or after any operation on the storage has
 * happened or has not, and can be repeated.
 *
 * @category cases
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Checkpointer, GraphError } from "superstep"
 * import * as CheckpointerSuite from "superstep/testing/CheckpointerSuite"
 *
 * // Storage that outlives the saver, and a saver that has one operation: others run each of theirs through `around`.
 * const faulty: CheckpointerSuite.Faulty = (around) =>
 *   Effect.map(Checkpointer.makeMemory, (storage) =>
 *     Layer.succeed(Checkpointer.Checkpointer, {
 *       ...storage,
 *       commit: (thread, commit) =>
 *         around(storage.commit(thread, commit)).pipe(Effect.catchTag("Fault", ({ message }) =>
 *           Effect.fail(new GraphError.CheckpointError({ reason: "Storage", thread, detail: message }))))
 *     }))
 *
 * const [crash] = CheckpointerSuite.crashCases(faulty)
 * console.log(crash!.name) // => "a first commit: all or nothing, if its storage fails at any point"
 * await Effect.runPromise(crash!.effect.pipe(Effect.provide(Checkpointer.layerMemory)))
 * ```
 */
export const crashCases: <E>(faulty: Faulty<E>) => ReadonlyArray<Case> = crashes

/**
 * Which saver to hold to the contract.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<E = never> {
  /** A saver on empty storage, each time that the layer is built: once for each case. */
  readonly layer: Layer.Layer<Checkpointer, E>
  /** The same saver so that it can be made to fail, for the cases of `crash points`. */
  readonly faulty?: Faulty<E> | undefined
  /**
   * Cases that the saver cannot pass, by name, each with the reason. They are run all the same, under a name that tells the reason, and
   * have to fail: an exception that is no longer needed is found.
   */
  readonly except?: Readonly<Record<string, string>> | undefined
}

/**
 * Registers a test for each case: `register(test, { layer })` with the `test` or `it` of a test runner. Names begin with the group.
 *
 * @category registration
 * @since 0.1.0
 * @example
 * ```ts
 * import { Checkpointer } from "superstep"
 * import * as CheckpointerSuite from "superstep/testing/CheckpointerSuite"
 *
 * // `it` of vitest or `test` of node:test stand here otherwise.
 * const tests = new Map<string, () => Promise<void>>()
 * CheckpointerSuite.register((name, run) => void tests.set(name, run), { layer: Checkpointer.layerMemory })
 *
 * console.log(tests.size === CheckpointerSuite.cases.length) // => true
 * await tests.get("list: a limit is kept")!()
 * ```
 */
export const register = <E>(
  test: (name: string, run: () => Promise<void>) => void,
  { except, faulty, layer }: Options<E>
): void => registerAll(test, faulty === undefined ? cases : [...cases, ...crashCases(faulty)], layer, except)
