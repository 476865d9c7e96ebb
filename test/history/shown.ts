import { inspect } from "node:util"

/** A value as a text that tells what JSON does not. */
export const shown = (value: unknown): ReadonlyArray<string> =>
  inspect(value, { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: 120, sorted: true }).split(
    "\n"
  )
