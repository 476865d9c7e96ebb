/** How a command ends: its exit code, and the one line that says why. */
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import {
  AmbiguousUpdate,
  CheckpointError,
  GraphBreakpoint,
  GraphChanged,
  GraphDrained,
  InvalidArgument,
  InvalidReply,
  InvalidUpdate,
  MissingInput,
  PendingWork,
  ThreadConflict,
  ThreadDeleted,
  UnknownCheckpoint,
  UnknownNode,
  UnknownThread
} from "../../GraphError.ts"
import { GraphInterrupt } from "../../Interrupt.ts"
import { claimStdout, note, print } from "./output.ts"
import { reason, visible } from "./text.ts"

/** What the exit codes mean. 130 is that of an interrupted process. */
export const codes = { done: 0, failed: 1, usage: 2, paused: 3, storage: 4, thread: 5, interrupted: 130 } as const

/** The same, for `--help`. */
export const codesText = "Exit codes: 0 done, 1 the run failed, 2 wrong arguments, file or input, 3 the run waits, " +
  "4 the database cannot be used, 5 the thread is not there or stands elsewhere, 130 interrupted."

/** A command that cannot be done, or not to its end. */
export class Refusal extends Data.TaggedError("Refusal")<{
  readonly code: number
  readonly message: string
  readonly cause?: unknown
}> {}

/** What has been said already: only the code is left. */
export class Reported extends Data.TaggedError("Reported")<{ readonly code: number }> {}

/** Wrong arguments, or what they lead to. */
export const misused = (message: string): Refusal => new Refusal({ code: codes.usage, message })

const kinds: ReadonlyArray<
  readonly [code: number, classes: ReadonlyArray<abstract new(...args: ReadonlyArray<never>) => unknown>]
> = [
  [codes.usage, [InvalidArgument, MissingInput, UnknownNode, AmbiguousUpdate]],
  [codes.paused, [GraphInterrupt, GraphBreakpoint, GraphDrained]],
  [codes.storage, [CheckpointError, GraphChanged]],
  [codes.thread, [UnknownThread, UnknownCheckpoint, PendingWork, ThreadConflict, ThreadDeleted]]
]

const replyCodes: Partial<Record<InvalidReply["reason"], number>> = {
  NothingPending: codes.thread,
  Answered: codes.thread
}

/** The exit code of a failure. */
const codeOf = (error: unknown): number => {
  if (error instanceof Refusal) return error.code
  if (error instanceof InvalidReply) return replyCodes[error.reason] ?? codes.usage
  // What an input brings was wrong, and no node has run.
  if (error instanceof InvalidUpdate && error.writers.join() === "__input__") return codes.usage
  return kinds.find(([, classes]) => classes.some((one) => error instanceof one))?.[0] ?? codes.failed
}

/** What a failure of the library says, in words of this command where those of the library are of code. */
const textOf = (error: unknown): string => {
  if (error instanceof PendingWork) {
    const { next, requests, thread } = error
    const asked = requests.length === 0 ? "" : `, ${requests.length} unanswered`
    return `thread "${thread}" has unfinished work (next: ${
      next.join(", ")
    }${asked}): resume goes on with it, run --discard drops it`
  }
  if (error instanceof UnknownThread) return `thread "${error.thread}" does not exist: run starts it`
  if (error instanceof AmbiguousUpdate) return `say --as-node: ${error.nodes.join(", ")} ran last together`
  return (error as Error).message
}

const missing = /^Service not found: (\S+)/

interface Ending {
  readonly code: number
  readonly tag: string
  readonly message: string
}

const endingOfDefect = (defect: unknown): Ending => {
  const text = reason(defect)
  const service = missing.exec(defect instanceof Error ? defect.message : "")?.[1]
  return service === undefined
    ? { code: codes.failed, tag: "Defect", message: `the run died: ${text}` }
    : {
      code: codes.usage,
      tag: "MissingService",
      message:
        `the graph needs the service ${service}: export a layer that provides it as \`layer\`, or name one with --layer`
    }
}

const endingOf = (cause: Cause.Cause<unknown>): Ending => {
  const failure = cause.reasons.find(Cause.isFailReason)
  if (failure === undefined) return endingOfDefect(cause.reasons.find(Cause.isDieReason)?.defect)
  const { error } = failure
  const code = codeOf(error)
  const tag = typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : "Error"
  if (error instanceof Refusal) return { code, tag, message: error.message }
  // The text of a failure of the library says all of it; that of a node may be anything.
  const isOwn = code !== codes.failed
  return {
    code,
    tag,
    message: isOwn ? textOf(error) : `the run failed: ${reason(error)}`
  }
}

/** One line on stderr. */
export const say = (message: string): Effect.Effect<void> => note(`superstep: ${visible(message)}\n`)

/** Does the work of a command, and says how it has failed: a line on stderr, and with `--json` a document. Interruption stays what it is. */
export const reporting = <A, R>(
  isJson: boolean,
  effect: Effect.Effect<A, unknown, R>
): Effect.Effect<A, Reported, R> =>
  Effect.catchCause(Effect.andThen(claimStdout, effect), (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : Effect.gen(function*() {
        const { code, message, tag } = endingOf(cause)
        yield* Effect.logDebug(cause)
        yield* say(message)
        if (isJson) yield* print({ type: "ended", code, tag, message })
        return yield* new Reported({ code })
      }))
