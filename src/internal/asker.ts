/** Who answers what a node asks: the attempt that runs it, wherever in the node the question is asked. */
import * as Context from "effect/Context"
import type * as Result from "effect/Result"
import type { AnySchema } from "../Channel.ts"

/** A question, as far as matching it with its answer looks at it. */
export interface Question {
  readonly tag: string
  readonly payload: AnySchema
  readonly answer: AnySchema
}

/** A fiber, as far as whoever is asked looks at it. */
export interface AskingFiber {
  readonly id: number
  readonly context: Context.Context<never>
}

/** Matches questions with their answers. What it fails with, where there is no answer yet, is a request. */
export interface Asker {
  ask(
    question: Question,
    payload: unknown,
    key: string | undefined,
    fiber: AskingFiber
  ): Result.Result<unknown, unknown>
}

/** The one whom the nodes of a run ask; none outside of a run. It stands beside `Running`, which a node may replace. */
export const CurrentAsker = Context.Reference<Asker | undefined>("superstep/CurrentAsker", {
  defaultValue: () => undefined
})
