/**
 * Where a command writes. stdout is for results alone: what a graph, its modules and its prompts write there goes to stderr
 * while a command is at work.
 */
import * as Effect from "effect/Effect"
import { visible } from "./text.ts"

type Write = typeof process.stdout.write

interface Streams {
  readonly results: Write
  isShared: boolean
}

const streams: Streams = { results: process.stdout.write.bind(process.stdout), isShared: true }

/** From here on only `print` and `write` reach stdout. */
export const claimStdout: Effect.Effect<void> = Effect.sync(() => {
  if (!streams.isShared) return
  streams.isShared = false
  process.stdout.write = process.stderr.write.bind(process.stderr)
})

/** Waits until the text is handed on, so that a slow reader holds the run and an exit cuts nothing off. */
const writing = (write: Write, text: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    // Whoever reads along may leave, as in `| head`: that is no reason to stop.
    write(text, () => resume(Effect.void))
  })

/** Text on stdout, as it is. */
export const write = (text: string): Effect.Effect<void> => writing(streams.results, text)

/** Text on stderr, as it is. */
export const note = (text: string): Effect.Effect<void> => writing(process.stderr.write.bind(process.stderr), text)

/** One document of JSON, on a line of its own. */
export const print = (document: unknown): Effect.Effect<void> => write(`${JSON.stringify(document)}\n`)

/** One line for a person. */
export const line = (text: string): Effect.Effect<void> => write(`${visible(text)}\n`)

/** JSON for a person. */
export const pretty = (document: unknown): Effect.Effect<void> => write(`${JSON.stringify(document, undefined, 2)}\n`)

/** A document for a program, or the same for a person. */
export const show = (isJson: boolean, document: object, person: Effect.Effect<void>): Effect.Effect<void> =>
  isJson ? print(document) : person
