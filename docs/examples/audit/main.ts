/** Runs the command of `Cli.ts` on Node. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as CliCommand from "effect/cli/Command"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { command, layer } from "./Cli.ts"

// Whoever reads along may leave, as in `| head`. That is no reason to stop.
process.stdout.on("error", () => {})

command.pipe(
  CliCommand.run({ version: "0.1.0" }),
  Effect.provide(Layer.provideMerge(Layer.merge(layer, TerminalCapabilities.layer), NodeServices.layer)),
  NodeRuntime.runMain
)
