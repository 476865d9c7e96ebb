/** The ways into a run without a thread. */
import type { Program } from "../engine/program.ts"
import { readable, rootOptions, runOptions, runStreamOptions, telling, told } from "./options.ts"
import { type RootOptions, runOnce } from "./root.ts"
import { eventStream } from "./stream.ts"
import type { Erased } from "./task.ts"

const run = (program: Program, input: unknown, options: RootOptions): Erased<unknown> =>
  telling(() => readable("input", input), () => runOnce(program, input, options))

/** Runs a graph as its caller says. */
export const entry = (program: Program) => ({
  invoke: (input: unknown, given?: unknown): Erased<unknown> =>
    telling(() => told(runOptions, given), (said) => run(program, input, rootOptions(said, undefined))),
  stream: (input: unknown, given: unknown) =>
    eventStream(program, runStreamOptions, given, (said, sink) => run(program, input, rootOptions(said, sink)))
})
