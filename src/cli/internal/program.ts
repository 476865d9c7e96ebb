/** The command as a process of Node. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { readFileSync } from "node:fs"
import { command, layerOutput } from "./commands.ts"
import { codes, Reported, say } from "./ended.ts"
import { reason, visible } from "./text.ts"

const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

/** The exit code of the whole; what nobody has said yet is said in one line. */
const codeOf = (exit: Exit.Exit<unknown, unknown>): Effect.Effect<number> => {
  if (Exit.isSuccess(exit)) return Effect.succeed(codes.done)
  if (Cause.hasInterruptsOnly(exit.cause)) return Effect.succeed(codes.interrupted)
  const error = Cause.squash(exit.cause)
  if (error instanceof Reported) return Effect.succeed(error.code)
  if (error instanceof CliError.ShowHelp) return Effect.succeed(error.errors.length > 0 ? codes.usage : codes.done)
  return Effect.as(say(reason(error)), codes.failed)
}

/** What was written has arrived, and what a graph has left open keeps nothing alive. */
const leave = (code: number): void => {
  process.exitCode = code
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)))
}

/** Runs the command with the arguments of this process. */
export const main = (): void => {
  process.stdout.on("error", () => {})
  process.stderr.on("error", () => {})
  let isInterrupted = false
  process.on("SIGINT", () => {
    // The first one interrupts the run, and waits for what it has to clean up.
    if (isInterrupted) process.exit(codes.interrupted)
    isInterrupted = true
  })
  // What a graph has left running may fail when nobody waits for it.
  process.on("uncaughtException", (error) => {
    process.stderr.write(`superstep: the graph has left a failure: ${visible(reason(error))}\n`)
    process.exit(codes.failed)
  })
  command.pipe(
    Command.run({ version, renderErrors: true }),
    Effect.provide(Layer.provideMerge(Layer.merge(layerOutput, TerminalCapabilities.layer), NodeServices.layer)),
    (program) =>
      NodeRuntime.runMain(program, {
        disableErrorReporting: true,
        teardown: (exit) => Effect.runFork(Effect.map(codeOf(exit), leave))
      })
  )
}
