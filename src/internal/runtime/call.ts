/** Running a program inside the node that asks for it, and how calls of one task are told apart. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ConcurrentCall, Steering } from "../../GraphError.ts"
import { Request } from "../../Interrupt.ts"
import { Running } from "../../Running.ts"
import { output } from "../engine/checkpoint.ts"
import type { Persistence, Program } from "../engine/program.ts"
import type { Attempt, Erased, GraphExit } from "./task.ts"

/** Calls that are made one after another, of one attempt of a task: of the node itself, or of one of several branches that it runs at once. */
class Branch {
  readonly attempt: Attempt
  readonly #place: string
  #fiber: number | undefined = undefined
  #count = 0

  constructor(attempt: Attempt, place: string) {
    this.attempt = attempt
    this.#place = place
  }

  /** The place of the next call; none for a second fiber. */
  next(fiber: number): string | undefined {
    this.#fiber ??= fiber
    return this.#fiber === fiber ? `${this.#place}${this.#count++}` : undefined
  }
}

/** The branch of a task that a fiber belongs to. */
const CurrentBranch = Context.Reference<Branch | undefined>("superstep/CurrentBranch", {
  defaultValue: () => undefined
})

/** The place of the next call of a fiber; none where two fibers call without keys. */
const nextPlace = (attempt: Attempt, fiber: { readonly id: number; readonly context: Context.Context<never> }) => {
  const branch = Context.get(fiber.context, CurrentBranch)
  return branch?.attempt === attempt ? branch.next(fiber.id) : attempt.nextCall(fiber.id)
}

const concurrent = (attempt: Attempt, called: string): Effect.Effect<never, unknown> => {
  attempt.pad.failure ??= new ConcurrentCall({ kind: "graph", node: attempt.node, called })
  return Effect.fail(attempt.pad.failure)
}

// Longer than any number of calls.
const maxDigits = 16

/** A place as a text that sorts as its calls are made. */
const inOrder = (place: string): string => place.split(".").map((part) => part.padStart(maxDigits, "0")).join(".")

/** What a call of a program comes to for the node that makes it. */
const conclude = (
  program: Program,
  attempt: Attempt,
  { key, place }: { readonly key: string | undefined; readonly place: string },
  exit: GraphExit
): Effect.Effect<unknown, unknown> => {
  switch (exit._tag) {
    case "Done":
      return Effect.succeed(output(program, exit.checkpoint))
    case "Parent":
      return Effect.fail(new Steering({ commands: exit.commands }))
    case "Stopped":
      return Effect.fail(exit.error)
    case "Paused":
      attempt.pad.note(exit, key === undefined ? [2, inOrder(place)] : [3, key])
      // Answers that are void, and nothing else: that is for the one who gave them.
      return exit.asked.length === 0 ? attempt.halt : Effect.fail(exit.asked[0]!.request)
  }
}

/** What is called. */
export interface Called {
  readonly program: Program
  readonly persistence: Persistence
}

/** Runs a program inside the node that asks for it. */
export const callInside = (
  { persistence, program }: Called,
  input: unknown,
  key: string | undefined
): Erased<unknown> =>
  Effect.flatMap(Running, (running) =>
    Effect.withFiber((fiber) => {
      const attempt = running as Attempt
      const place = key === undefined ? nextPlace(attempt, fiber) : `@${key}`
      if (place === undefined) return concurrent(attempt, program.name)
      const call = () => attempt.nest({ program, persistence, input, key: place })
      const exit = key === undefined ? call() : attempt.keyed(key, program.name, call)
      return Effect.flatMap(exit, (exit) => conclude(program, attempt, { key, place }, exit))
    }))

// ---------------------------------------------------------------------------
// Several at once
// ---------------------------------------------------------------------------

const isPause = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.length > 0 &&
  exit.cause.reasons.every((reason) => Cause.isFailReason(reason) && reason.error instanceof Request)

/** Runs effects at once, each as a branch whose calls have places of their own. One that waits for an answer ends none of the others. */
export const callAll = (
  effects: ReadonlyArray<Erased<unknown>>,
  concurrency: number | "unbounded"
): Erased<ReadonlyArray<unknown>> =>
  Effect.flatMap(Running, (running) =>
    Effect.withFiber((fiber) => {
      const attempt = running as Attempt
      const place = nextPlace(attempt, fiber)
      if (place === undefined) return concurrent(attempt, "Task.all")
      const branches = effects.map((effect, index) => {
        const own = new Branch(attempt, `${place}.${index}.`)
        return Effect.flatMap(
          Effect.exit(Effect.provideService(effect, CurrentBranch, own)),
          (exit): Erased<Exit.Exit<unknown, unknown>> =>
            Exit.isSuccess(exit) || isPause(exit) ? Effect.succeed(exit) : Effect.failCause(exit.cause)
        )
      })
      return Effect.flatMap(Effect.all(branches, { concurrency }), (exits) => Effect.all(exits))
    }))
