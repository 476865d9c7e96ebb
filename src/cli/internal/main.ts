#!/usr/bin/env node
/** The program `superstep`. What it needs beside the library is looked for first, so that what is missing is said in one line. */
import { visible } from "./text.ts"

const emitWarning = process.emitWarning.bind(process)

// That `node:sqlite` is experimental on some versions of Node is nothing that a user of this command can change.
process.emitWarning = ((warning: string | Error, ...rest: ReadonlyArray<never>) => {
  if (String(warning).includes("SQLite is an experimental feature")) return
  ;(emitWarning as (...args: ReadonlyArray<unknown>) => void)(warning, ...rest)
}) as typeof process.emitWarning

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

const missing = (error: unknown): string | undefined => {
  const text = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND" ? error.message : ""
  return /Cannot find package '([^']+)'/.exec(text)?.[1]
}

const fail = (message: string): void => {
  process.stderr.write(`superstep: ${visible(message)}\n`)
  process.exitCode = 2
}

if (major < 22 || (major === 22 && minor < 19)) {
  fail(`Node ${process.version} is too old: it needs 22.19 or later`)
} else {
  try {
    const { main } = await import("./program.ts")
    main()
  } catch (error) {
    const wanted = missing(error)
    if (wanted === undefined) throw error
    fail(`the command needs the package ${wanted}: npm install ${wanted}`)
  }
}
