/** Promises where there can be none: a function without types was `async`. */

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/** The defect of who returned a Promise. Nobody waits for it: what it comes to is dropped, a rejection included. */
export const promised = (who: string, promise: PromiseLike<unknown>, cure: string): Error => {
  promise.then(undefined, () => {})
  return new Error(`${who} returned a Promise: ${cure}`)
}
