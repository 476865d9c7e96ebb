/**
 * The contract of a `Store` as cases, for a store of your own and any test
 * runner.
 *
 * @since 0.1.0
 */
import type { EmbeddingModel } from "effect/ai/EmbeddingModel"
import * as Layer from "effect/Layer"
import type { Store } from "../Store.ts"
import { registerAll } from "./internal/register.ts"
import { batchCases } from "./internal/store/batches.ts"
import type * as Calls from "./internal/store/calls.ts"
import { itemCases } from "./internal/store/items.ts"
import { layerModel, meaningCases as meaning } from "./internal/store/meaning.ts"
import { searchCases } from "./internal/store/searches.ts"

export {
  /**
   * What a case fails with.
   *
   * @category errors
   * @since 0.1.0
   */
  CaseFailed
} from "./internal/check.ts"

/**
 * What a case is about.
 *
 * @category models
 * @since 0.1.0
 */
export type Group = Calls.Group

/**
 * One thing that a store has to do. The effect succeeds if it does; the store has to be empty before, and has the options that it has if
 * none are given. Each case has a clock of its own.
 *
 * @category models
 * @since 0.1.0
 */
export type Case = Calls.Case

/**
 * The cases that every store is held to, but for those of the group `meaning`.
 *
 * @category cases
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Store } from "superstep"
 * import * as StoreSuite from "superstep/testing/StoreSuite"
 *
 * const limits = StoreSuite.cases.filter(({ name }) => name === "a prefix is made of whole labels")
 * console.log(limits.map(({ group }) => group)) // => ["search"]
 *
 * await Effect.runPromise(limits[0]!.effect.pipe(Effect.provide(Store.layerMemory)))
 * ```
 */
export const cases: ReadonlyArray<Case> = [...itemCases, ...searchCases, ...batchCases]

/**
 * The cases of the group `meaning`, for a store with the option `semantic` and the model of the suite.
 *
 * @category cases
 * @since 0.1.0
 * @example
 * ```ts
 * import * as StoreSuite from "superstep/testing/StoreSuite"
 *
 * console.log(StoreSuite.meaningCases.every(({ group }) => group === "meaning")) // => true
 * ```
 */
export const meaningCases: ReadonlyArray<Case> = meaning

/**
 * Which store to hold to the contract.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<E = never> {
  /** An empty store, each time that the layer is built: once for each case. */
  readonly layer: Layer.Layer<Store, E>
  /** The same store so that it searches by meaning, for the cases of `meaning`. The suite has the model. */
  readonly semantic?: Layer.Layer<Store, E, EmbeddingModel> | undefined
  /**
   * Cases that the store cannot pass, by name, each with the reason. They are run all the same, under a name that tells the reason, and
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
 * import { Store } from "superstep"
 * import * as StoreSuite from "superstep/testing/StoreSuite"
 *
 * // `it` of vitest or `test` of node:test stand here otherwise.
 * const tests = new Map<string, () => Promise<void>>()
 * StoreSuite.register((name, run) => void tests.set(name, run), { layer: Store.layerMemory })
 *
 * console.log(tests.size === StoreSuite.cases.length) // => true
 * await tests.get("search: a prefix is made of whole labels")!()
 * ```
 */
export const register = <E>(
  test: (name: string, run: () => Promise<void>) => void,
  { except = {}, layer, semantic }: Options<E>
): void => {
  const all = semantic === undefined ? cases : [...cases, ...meaningCases]
  const unknown = Object.keys(except).filter((name) => all.every((one) => one.name !== name))
  if (unknown.length > 0) throw new Error(`no case has the name ${unknown.map((name) => JSON.stringify(name)).join()}`)
  const among = (some: ReadonlyArray<Case>) =>
    Object.fromEntries(Object.entries(except).filter(([name]) => some.some((one) => one.name === name)))
  registerAll(test, cases, layer, among(cases))
  if (semantic !== undefined) {
    registerAll(test, meaningCases, Layer.provide(semantic, layerModel), among(meaningCases))
  }
}
