/** What is counted of runs, in the metrics of Effect. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import type { Move } from "../../Checkpoint.ts"
import { GraphBreakpoint, GraphDrained } from "../../GraphError.ts"
import { GraphInterrupt } from "../../Interrupt.ts"

/** Ways for a run to end that are no errors. */
const isCalm = (error: unknown): boolean =>
  error instanceof GraphInterrupt || error instanceof GraphBreakpoint || error instanceof GraphDrained

/** Whether a run has ended in a way that is no error: it waits, or was to stop there. */
export const isPaused = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.length > 0 &&
  exit.cause.reasons.every((reason) => Cause.isFailReason(reason) && isCalm(reason.error))

const counting = (count: (context: Context.Context<never>) => void): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    count(fiber.context)
    return Effect.void
  })

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const runs = counter("superstep_runs", "Runs that have ended, by graph and by how they ended")
const supersteps = counter("superstep_supersteps", "Supersteps that were committed, by graph")
const tasks = counter("superstep_tasks", "Tasks that have ended, by graph")
const retries = counter("superstep_retries", "Attempts of tasks after the first, by graph")
const pauses = counter("superstep_pauses", "Tasks that wait for an answer, by graph")
const commitCharacters = Metric.histogram("superstep_commit_characters", {
  description: "Characters that a commit stores",
  boundaries: Metric.exponentialBoundaries({ start: 128, factor: 4, count: 10 })
})
const commitMillis = Metric.histogram("superstep_commit_millis", {
  description: "How long a commit takes, in milliseconds",
  boundaries: Metric.exponentialBoundaries({ start: 0.0625, factor: 2, count: 16 })
})

/** The metrics of one graph, by its name. */
const ofGraph = new Map<
  string,
  Readonly<Record<"supersteps" | "tasks" | "retries" | "pauses", Metric.Counter<number>>>
>()

/** Graphs are few; names that users make up without end are not kept. */
const maxGraphs = 1_000

const metricsOf = (graph: string) => {
  let metrics = ofGraph.get(graph)
  if (metrics === undefined) {
    const attributes = { graph }
    metrics = {
      supersteps: Metric.withAttributes(supersteps, attributes),
      tasks: Metric.withAttributes(tasks, attributes),
      retries: Metric.withAttributes(retries, attributes),
      pauses: Metric.withAttributes(pauses, attributes)
    }
    if (ofGraph.size < maxGraphs) ofGraph.set(graph, metrics)
  }
  return metrics
}

const endOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "done"
  if (isPaused(exit)) return "paused"
  return exit.cause.reasons.some(Cause.isInterruptReason) ? "interrupted" : "failed"
}

/** A run, which is counted when it ends. */
export const countedRun = <A, E, R>(graph: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.onExit(
    effect,
    (exit) => counting((context) => Metric.withAttributes(runs, { graph, end: endOf(exit) }).updateUnsafe(1, context))
  )

/** Supersteps after which what was counted is told. */
const countedAtOnce = 256

/** What a graph has done in one run: told now and then, since telling costs more than many a superstep. */
export class Counts {
  supersteps = 0
  tasks = 0
  retries = 0
  pauses = 0

  /** Whether enough has come together. */
  get isDue(): boolean {
    return this.supersteps >= countedAtOnce
  }

  /** Tells what was counted, and begins anew. */
  tell(graph: string): Effect.Effect<void> {
    return counting((context) => {
      const metrics = metricsOf(graph)
      for (const name of ["supersteps", "tasks", "retries", "pauses"] as const) {
        if (this[name] > 0) metrics[name].updateUnsafe(this[name], context)
        this[name] = 0
      }
    })
  }
}

const lengthOf = ({ checkpoint, tasks }: Move): number =>
  tasks.reduce((sum, { data }) => sum + data.length, checkpoint.data.length)

/** A commit: how much it stores, and how long it takes. */
export const countedCommit = <A, E, R>(
  moves: ReadonlyArray<Move>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.onExit(effect, (exit) =>
      counting((context) => {
        if (Exit.isFailure(exit)) return
        commitCharacters.updateUnsafe(moves.reduce((sum, move) => sum + lengthOf(move), 0), context)
        commitMillis.updateUnsafe(performance.now() - start, context)
      }))
  })
