/** From what callers say to what the engine uses. */
import type * as Duration from "effect/Duration"
import * as Policy from "../../Policy.ts"
import type { GraphOptions } from "../engine/lower.ts"
import type { Limits } from "../engine/program.ts"
import type { Sink } from "./events.ts"
import type { RootOptions } from "./root.ts"

/** Supersteps that a run may take, unless it is told otherwise. */
export const defaultRecursionLimit = 1000

interface GivenLimits {
  readonly recursionLimit?: number
  readonly concurrency?: number
  readonly onFailure?: "interrupt" | "settle"
  readonly superstepTimeout?: Duration.Input
  readonly runTimeout?: Duration.Input
  readonly before?: ReadonlyArray<string>
  readonly after?: ReadonlyArray<string>
}

interface GivenOptions extends GivenLimits {
  readonly version?: string
  readonly retry?: Policy.Retry | ReadonlyArray<Policy.Retry>
  readonly timeout?: Policy.TimeoutInput
}

const atLeastOne = (what: string, value: number): number => {
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`${what} must be a whole number of at least 1, not ${value}`)
  }
  return value
}

/** The limits that were given; the others are left out. */
const givenLimits = (given: GivenLimits): Partial<Limits> => ({
  ...(given.recursionLimit === undefined ? {} : { recursionLimit: atLeastOne("recursionLimit", given.recursionLimit) }),
  ...(given.concurrency === undefined ? {} : { concurrency: atLeastOne("concurrency", given.concurrency) }),
  ...(given.onFailure === undefined ? {} : { onFailure: given.onFailure }),
  ...(given.superstepTimeout === undefined
    ? {}
    : { superstepMillis: Policy.positiveMillis("superstepTimeout", given.superstepTimeout) }),
  ...(given.runTimeout === undefined ? {} : { runMillis: Policy.positiveMillis("runTimeout", given.runTimeout) }),
  ...(given.before === undefined ? {} : { before: given.before }),
  ...(given.after === undefined ? {} : { after: given.after })
})

/** What a graph was told, with defaults. */
export const graphOptions = (given: GivenOptions): GraphOptions => ({
  version: given.version,
  limits: {
    recursionLimit: defaultRecursionLimit,
    concurrency: undefined,
    superstepMillis: undefined,
    runMillis: undefined,
    onFailure: "interrupt",
    before: [],
    after: [],
    ...givenLimits(given)
  },
  retry: given.retry === undefined
    ? []
    : Array.isArray(given.retry)
    ? given.retry as ReadonlyArray<Policy.Retry>
    : [given.retry as Policy.Retry],
  timeout: given.timeout === undefined ? undefined : Policy.timeout(given.timeout),
  onError: undefined
})

/** What a run was told. */
export const rootOptions = (
  given: (GivenLimits & { readonly seed?: string }) | undefined,
  sink: Sink | undefined
): RootOptions => ({
  overrides: given === undefined ? {} : givenLimits(given),
  sink,
  seed: given?.seed
})
