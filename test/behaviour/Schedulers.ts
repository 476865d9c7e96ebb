/** Schedulers that let other fibers run between operations of one, where the usual one hardly ever does. */
import { Scheduler } from "effect"

/** Yields before about a quarter of all operations, which a seed draws. */
export class Drawn extends Scheduler.MixedScheduler {
  #state: number
  constructor(seed: number) {
    super()
    this.#state = seed
  }
  override shouldYield(): boolean {
    this.#state = (this.#state * 48_271) % 2_147_483_647
    return this.#state % 4 === 0
  }
}

/** Yields after every so many operations: fibers that do the same keep in step. */
export class InStep extends Scheduler.MixedScheduler {
  readonly #operations: number
  constructor(operations: number) {
    super()
    this.#operations = operations
  }
  override shouldYield(fiber: { readonly currentOpCount: number }): boolean {
    return fiber.currentOpCount >= this.#operations
  }
}
