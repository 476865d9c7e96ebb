/** Running a program inside the node that asks for it, and how calls of one task are told apart. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ConcurrentCall, InvalidArgument, Steering } from "../../GraphError.ts"
import { Request } from "../../Interrupt.ts"
import { Running } from "../../Running.ts"
import { output } from "../engine/checkpoint.ts"
import { originOf } from "../engine/inputs.ts"
import type { Persistence, Program } from "../engine/program.ts"
import { besidePlace, Branch, branchOf, type Call, type Caller, CurrentBranch, inOrder } from "./branch.ts"
import { type Attempt, CurrentAttempt, type Erased, type GraphExit } from "./task.ts"

const concurrent = (attempt: Attempt, called: string): Effect.Effect<never, unknown> => {
  attempt.pad.failure ??= new ConcurrentCall({ kind: "graph", node: attempt.node, called })
  return Effect.fail(attempt.pad.failure)
}

/** Where a call is made. */
interface Place {
  readonly branch: Branch
  readonly fiber: number
  readonly key: string | undefined
  readonly place: string
}

/** What a call of a program comes to for the node that makes it. */
const conclude = (
  program: Program,
  attempt: Attempt,
  { branch, fiber, key, place }: Place,
  exit: GraphExit
): Effect.Effect<unknown, unknown> => {
  switch (exit._tag) {
    case "Done":
      return Effect.succeed(output(program, exit.checkpoint))
    case "Parent":
      return Effect.fail(new Steering({ commands: exit.commands }))
    case "Stopped":
      branch.close(exit.error, fiber)
      return Effect.fail(exit.error)
    case "Paused":
      attempt.pad.note(exit, key === undefined ? [2, inOrder(place)] : [3, key])
      // Answers that are void, and nothing else: that is for the one who gave them.
      if (exit.asked.length === 0) return attempt.halt
      branch.close(exit.asked[0]!.request, fiber)
      return Effect.fail(exit.asked[0]!.request)
  }
}

/** What is called. */
export interface Called {
  readonly program: Program
  readonly persistence: Persistence
}

/** A call that no run is around: with no `Running` either, the service is missing, as any may be. */
const outside: Erased<never> = Effect.flatMap(Running, () =>
  Effect.fail(
    new InvalidArgument({
      argument: "Running",
      detail:
        "Expected the service that a run gives to its nodes, got one with no run around it. Call tasks and graphs in a node that runs, in fibers with its context"
    })
  ))

/** Makes a call, where the fiber may make one: neither once it was interrupted, nor once it has something to wait for. */
const calling = (call: (attempt: Attempt, branch: Branch, fiber: Caller) => Erased<unknown>): Erased<unknown> =>
  Effect.andThen(
    // In a finalizer too.
    Effect.interruptible(Effect.void),
    Effect.withFiber((fiber) => {
      const attempt = Context.get(fiber.context, CurrentAttempt)
      if (attempt === undefined) return outside
      if (attempt.isHalted) return attempt.halt
      const branch = branchOf(attempt.branch, fiber)
      const end = attempt.asked?.failure ?? branch.endOf(fiber.id)
      return end === undefined ? call(attempt, branch, fiber) : Effect.fail(end)
    })
  )

/** A call whose place is that of the same call again if it goes wrong. */
const failing = <A>(branch: Branch, place: string, call: Call, made: Erased<A>): Erased<A> =>
  Effect.onError(made, () => Effect.sync(() => branch.fail(place, call)))

/** Told where an earlier run has begun a call and not ended it: other calls may have followed there. */
const loosening = (branch: Branch) => () => {
  branch.isLoose = true
}

/** Runs a program inside the node that asks for it. */
export const callInside = (
  { persistence, program }: Called,
  input: unknown,
  key: string | undefined
): Erased<unknown> =>
  calling((attempt, branch, { id: fiber }) => {
    const told = () => originOf(program, input)
    const place = key === undefined ? branch.next(fiber, told) : `@${key}`
    if (place === undefined) return concurrent(attempt, program.name)
    const otherwise = key === undefined && branch.isLoose ? besidePlace(place, told()) : undefined
    const unfinished = loosening(branch)
    const call = () => attempt.nest({ program, persistence, input, key: place, otherwise, unfinished })
    const exit = key === undefined
      ? failing(branch, place, told, call())
      : Effect.onError(attempt.keyed(key, program.name, call), () => Effect.sync(unfinished))
    return Effect.flatMap(exit, (exit) => conclude(program, attempt, { branch, fiber, key, place }, exit))
  })

// ---------------------------------------------------------------------------
// Several at once
// ---------------------------------------------------------------------------

const isPause = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.length > 0 &&
  exit.cause.reasons.every((reason) => Cause.isFailReason(reason) && reason.error instanceof Request)

/** Runs effects at once, which `given` tells from others, each as a branch whose calls have places of their own. One that waits for an answer ends none of the others. */
export const callAll = (
  given: unknown,
  effects: ReadonlyArray<Erased<unknown>>,
  concurrency: number | "unbounded"
): Erased<ReadonlyArray<unknown>> =>
  calling((attempt, branch, { id: fiber }) => {
    const told = () => given
    const place = branch.next(fiber, told)
    if (place === undefined) return concurrent(attempt, "Task.all")
    const branches = effects.map((_, index) => new Branch(attempt, `${place}.${index}.`, branch.isLoose))
    const running = effects.map((effect, index) =>
      Effect.flatMap(
        Effect.exit(Effect.provideService(effect, CurrentBranch, branches[index])),
        (exit): Erased<Exit.Exit<unknown, unknown>> =>
          Exit.isSuccess(exit) || isPause(exit) ? Effect.succeed(exit) : Effect.failCause(exit.cause)
      )
    )
    const all = Effect.ensuring(
      failing(branch, place, told, Effect.all(running, { concurrency })),
      Effect.sync(() => branch.isLoose ||= branches.some(({ isLoose }) => isLoose))
    )
    return Effect.flatMap(all, (exits) => {
      // What waits in a branch, waits here, whatever the branch made of it.
      for (const { end } of branches) if (end !== undefined) branch.close(end, fiber)
      return Effect.all(exits)
    })
  }) as Erased<ReadonlyArray<unknown>>
