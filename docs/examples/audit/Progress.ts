/**
 * Shows pages as they are done: one line that is redrawn on a terminal, a line
 * per page elsewhere.
 */
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as Effect from "effect/Effect"
import * as Terminal from "effect/Terminal"
import { visible } from "./Report.ts"

/** How far a run has come. `kept` pages were checked by an earlier one. */
export interface Progress {
  readonly due: number
  readonly checked: number
  readonly kept: number
}

/** Columns of the bar. */
const width = 30

/** The line that is redrawn. */
export const bar = ({ checked, due, kept }: Progress): string => {
  const total = due + kept
  const full = Math.round(((checked + kept) / Math.max(1, total)) * width)
  const before = kept === 0 ? "" : `, ${kept} kept`
  return `[${"#".repeat(full)}${"-".repeat(width - full)}] ${checked + kept}/${total} pages${before}`
}

const redrawn = (progress: Progress): string => `\r\u001b[2K${bar(progress)}`

/** What a run tells of its pages. */
export const make = Effect.gen(function*() {
  const terminal = yield* Terminal.Terminal
  const { canAnimate } = yield* TerminalCapabilities.TerminalCapabilities
  let progress: Progress = { due: 0, checked: 0, kept: 0 }
  const count = (key: keyof Progress, line?: string) =>
    Effect.suspend(() => {
      progress = { ...progress, [key]: progress[key] + 1 }
      if (line === undefined) return Effect.void
      return Effect.ignore(terminal.display(canAnimate ? redrawn(progress) : `${line}\n`))
    })
  return {
    due: count("due"),
    checked: (file: string, findings: number) =>
      count("checked", `checked ${visible(file)} (${findings} findings in the page itself)`),
    // These are told all at once, before it is known what is due: no bar could be drawn yet.
    kept: (file: string) => count("kept", canAnimate ? undefined : `kept ${visible(file)}`),
    end: Effect.suspend(() =>
      canAnimate && progress.due + progress.kept > 0
        ? Effect.ignore(terminal.display(redrawn(progress) + "\n"))
        : Effect.void
    )
  }
})
