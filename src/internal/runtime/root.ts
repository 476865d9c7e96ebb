/** A run at the root: what it starts from, and what it ends with for the one who started it. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Schema from "effect/Schema"
import type * as Event from "../../Event.ts"
import { GraphBreakpoint, GraphDrained, InterruptMismatch, NoParentGraph, UnknownNode } from "../../GraphError.ts"
import { GraphInterrupt } from "../../Interrupt.ts"
import { NodeCache } from "../../NodeCache.ts"
import { initial, output } from "../engine/checkpoint.ts"
import { ROOT } from "../engine/namespace.ts"
import type { Limits, Program } from "../engine/program.ts"
import type { Answers } from "../engine/stored.ts"
import { targetNames } from "../engine/writes.ts"
import { GivenAnswers } from "./answers.ts"
import type { Sink } from "./events.ts"
import { feed, nest, runLoop, withRunTimeout } from "./loop.ts"
import { Counts } from "./metrics.ts"
import type { Session, ThreadRun } from "./session.ts"
import { observedRun } from "./spans.ts"
import { errorText, pendingOf } from "./superstep.ts"
import { type Erased, type GraphExit, type GraphRun, runId } from "./task.ts"

/** What the caller of a run chose. */
export interface RootOptions {
  readonly overrides: Partial<Limits>
  readonly sink: Sink | undefined
  /** What random numbers derive from in a run without a thread. */
  readonly seed: string | undefined
  /** What its caller says of it. */
  readonly metadata: Readonly<Record<string, Schema.Json>>
  /** Is told the run, once there is one. */
  readonly begun?: (run: GraphRun) => void
}

/** Breakpoints that a run brings have to name nodes that there are. */
export const checkStops = (
  program: Program,
  { after = [], before = [] }: Partial<Limits>
): Effect.Effect<void, UnknownNode> => {
  const unknown = [...before, ...after].find((name) => name !== "*" && !program.nodeNumber.has(name))
  return unknown === undefined
    ? Effect.void
    : Effect.fail(new UnknownNode({ node: unknown, allowed: [...targetNames(program), "*"] }))
}

/** The run of a graph at the root. */
export const makeRun: (
  program: Program,
  options: RootOptions,
  on?: {
    readonly thread: ThreadRun
    readonly session: Session
    readonly answers: Answers
    readonly begins: "started" | "resumed"
  }
) => Effect.Effect<GraphRun, UnknownNode> = Effect.fnUntraced(function*(program, options, on) {
  yield* checkStops(program, options.overrides)
  const cache = Option.getOrUndefined(yield* Effect.serviceOption(NodeCache))
  const seed = options.seed ?? (on === undefined ? String(yield* Random.nextInt) : "")
  const limits = { ...program.limits, ...options.overrides }
  const run: GraphRun = {
    shared: {
      sink: options.sink,
      thread: on?.thread,
      cache,
      answers: new GivenAnswers(on?.answers ?? new Map()),
      seed,
      metadata: options.metadata,
      random: yield* Random.Random,
      overrides: options.overrides,
      drain: undefined,
      id: undefined
    },
    program,
    session: on?.session,
    namespace: ROOT,
    path: [],
    seed: () => seed,
    limits,
    checkpoint: on?.session.place.checkpoint ?? initial(program),
    stepsLeft: limits.recursionLimit,
    isResumed: on !== undefined,
    nested: new Set(),
    up: [],
    counts: new Counts(),
    nest,
    holder: undefined
  }
  options.begun?.(run)
  yield* tell(run, on?.begins ?? "started")
  return run
})

/** Says that a run begins, or ends without a result. */
const tell = (run: GraphRun, type: Event.Lifecycle["type"], reason?: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { metadata, sink } = run.shared
    if (sink === undefined || !sink.modes.has("lifecycle")) return Effect.void
    const step = run.checkpoint.step
    return sink.offer({ mode: "lifecycle", path: [], step, type, run: runId(run.shared), metadata, reason })
  })

/** Says what has come of a run, or of a thread on which nothing was left to run. */
export const tellOutput = (
  { metadata, sink }: Pick<RootOptions, "metadata" | "sink">,
  step: number,
  output: unknown,
  run: string
): Effect.Effect<void> =>
  sink === undefined || !sink.modes.has("lifecycle")
    ? Effect.void
    : sink.offer({ mode: "lifecycle", path: [], step, type: "completed", run, metadata, reason: undefined, output })

/** How a run has failed that did not pause, which is told before its questions are. */
const tellFailure = (run: GraphRun, cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  if (cause.reasons.some(Cause.isInterruptReason)) return Effect.void
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error instanceof GraphInterrupt || error instanceof InterruptMismatch) return Effect.void
  if (error instanceof GraphBreakpoint) return tell(run, "stopped")
  return error instanceof GraphDrained ? tell(run, "drained", error.reason) : tell(run, "failed", errorText(cause))
}

/** A run whose end is told to the readers of its events. */
export const told = <O extends RootOptions>(options: O, run: (options: O) => Erased<unknown>): Erased<unknown> =>
  Effect.suspend(() => {
    if (options.sink?.modes.has("lifecycle") !== true) return run(options)
    let begun: GraphRun | undefined
    const note = (run: GraphRun) => {
      begun = run
      options.begun?.(run)
    }
    return Effect.matchCauseEffect(run({ ...options, begun: note }), {
      onFailure: (cause) =>
        Effect.andThen(begun === undefined ? Effect.void : tellFailure(begun, cause), Effect.failCause(cause)),
      onSuccess: (value) =>
        begun === undefined
          ? Effect.succeed(value)
          : Effect.as(tellOutput(options, begun.checkpoint.step, value, runId(begun.shared)), value)
    })
  })

/** Bounds a run as its graph or its caller says: its opening, its input, its supersteps, and what it stores. */
export const withinTime = <O extends RootOptions>(
  program: Program,
  options: O,
  run: (options: O) => Erased<unknown>
): Erased<unknown> => {
  const millis = options.overrides.runMillis ?? program.limits.runMillis
  if (millis === undefined) return run(options)
  return Effect.suspend(() => {
    let begun: GraphRun | undefined
    return withRunTimeout(
      { millis, waits: options.sink?.waits, begun: () => begun },
      run({
        ...options,
        begun: (run: GraphRun) => {
          begun = run
          options.begun?.(run)
        }
      })
    )
  })
}

/** What the exit of the root is to its caller. */
const conclude = (run: GraphRun, exit: GraphExit): Effect.Effect<unknown, unknown> => {
  switch (exit._tag) {
    case "Done":
      return Effect.succeed(output(run.program, exit.checkpoint))
    case "Stopped":
      return Effect.fail(exit.error)
    case "Parent": {
      const update = exit.commands.map((command) => command.update)
      return Effect.fail(
        new NoParentGraph({
          graph: run.program.name,
          update: update.length === 1 ? update[0] : update,
          goto: exit.commands.flatMap((command) => command.goto)
        })
      )
    }
    case "Paused": {
      const { sink, thread } = run.shared
      const failure = exit.mismatches.map(Cause.fail).reduce(
        (all: Cause.Cause<unknown> | undefined, one) => all === undefined ? one : Cause.combine(all, one),
        undefined
      ) ?? Cause.fail(
        new GraphInterrupt({
          thread: thread?.thread,
          requests: exit.asked.map(({ request }) => request)
        })
      )
      const shown = sink === undefined ? Effect.void : sink.offer({
        mode: "paused",
        path: [],
        step: run.checkpoint.step + 1,
        requests: pendingOf(exit.asked)
      })
      return Effect.andThen(Effect.andThen(tell(run, "paused"), shown), Effect.failCause(failure))
    }
  }
}

/** Runs a graph from where it stands to its end, as its caller sees it. */
export const drive = (run: GraphRun): Erased<unknown> => Effect.flatMap(runLoop(run), (exit) => conclude(run, exit))

/** Runs a graph on an input, without a thread. */
export const runOnce = (program: Program, input: unknown, options: RootOptions): Erased<unknown> =>
  observedRun(
    { graph: program.name, thread: undefined, metadata: options.metadata },
    told(options, (options) =>
      withinTime(
        program,
        options,
        (options) => Effect.flatMap(makeRun(program, options), (run) => Effect.andThen(feed(run, input), drive(run)))
      ))
  )
