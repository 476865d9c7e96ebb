/** The spans of a run: of the whole, of its supersteps, of its tasks. Nothing is made where nobody traces. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"
import type { Task } from "../engine/plan.ts"
import { countedRun, isPaused } from "./metrics.ts"
import type { Erased, GraphExit, GraphRun, Outcome } from "./task.ts"

type Attributes = Readonly<Record<string, unknown>>

/** Puts a span around an effect, if somebody traces. The span is told of the end what `seen` makes of it. */
const spanned = <A>(
  name: string,
  attributes: () => Attributes,
  seen: (exit: Exit.Exit<A, unknown>) => Exit.Exit<unknown, unknown>,
  effect: Erased<A>
): Erased<A> =>
  Effect.withFiber((fiber) => {
    const { tracer, tracerEnabled } = fiber.cache
    if (!tracerEnabled || tracer === undefined || tracer === Tracer.nativeTracer) return effect
    let own: Exit.Exit<A, unknown> | undefined
    const shown = Effect.flatMap(Effect.exit(effect), (exit) => {
      own = exit
      return seen(exit)
    })
    // Without a stack: what it would show is the engine.
    const span = Effect.withSpan(shown, name, { attributes: attributes(), captureStackTrace: false })
    return Effect.flatMap(Effect.exit(span), (exit): Erased<A> => own ?? (exit as Exit.Exit<A, unknown>))
  })

const placeOf = (run: GraphRun): Attributes => ({
  "superstep.graph": run.program.name,
  "superstep.path": run.path.join("/"),
  "superstep.step": run.checkpoint.step + 1
})

/** One superstep. */
export const observedSuperstep = (
  run: GraphRun,
  effect: Erased<GraphExit | undefined>
): Erased<GraphExit | undefined> => spanned("superstep.step", () => placeOf(run), (exit) => exit, effect)

/** One task, with all its attempts. */
export const observedTask = (run: GraphRun, task: Task, effect: Erased<Outcome>): Erased<Outcome> =>
  spanned(
    `superstep.task ${task.node.name}`,
    () => ({ ...placeOf(run), "superstep.node": task.node.name, "superstep.task": task.id }),
    (exit) =>
      Exit.isSuccess(exit) && (exit.value._tag === "Failed" || exit.value._tag === "Fault")
        ? Exit.failCause(exit.value.cause)
        : exit,
    effect
  )

/** What names a whole run. */
export interface Observed {
  readonly graph: string
  readonly thread: string | undefined
  readonly metadata: Attributes
}

const prefixed = (metadata: Attributes): Attributes =>
  Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [
      `superstep.metadata.${key}`,
      typeof value === "object" ? JSON.stringify(value) : value
    ])
  )

/** A run from its opening to its end. */
export const observedRun = (observed: Observed, effect: Erased<unknown>): Erased<unknown> => {
  const { graph, metadata, thread } = observed
  return spanned(
    `superstep.run ${graph}`,
    () => ({
      "superstep.graph": graph,
      ...(thread === undefined ? {} : { "superstep.thread": thread }),
      ...prefixed(metadata)
    }),
    (exit) => isPaused(exit) ? Exit.void : exit,
    countedRun(graph, effect)
  )
}
