/**
 * Every misuse of the API that must not compile, with the text that says why: each `// @error <text>` in `misuse/` stands above the one
 * line that is in error, and no other line is.
 */
import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = join(dirname(fileURLToPath(import.meta.url)), "misuse")
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

interface Message {
  readonly at: string
  readonly text: string
}

const expected: ReadonlyArray<Message> = readdirSync(folder).filter((file) => file.endsWith(".ts")).flatMap((file) =>
  readFileSync(join(folder, file), "utf8").split("\n").flatMap((line, index) => {
    const text = /^\s*\/\/ @error (.*)$/.exec(line)?.[1]
    // The line below the comment, counted from 1.
    return text === undefined ? [] : [{ at: `${file}:${index + 2}`, text }]
  })
)

/** What the compiler says, with its continuation lines joined to the first. */
const messages = (): ReadonlyArray<Message> => {
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", join(folder, "tsconfig.json"), "--pretty", "false"], {
    encoding: "utf8"
  })
  const found: Array<{ at: string; text: string }> = []
  for (const line of stdout.split("\n")) {
    const head = /([^/\\(]+\.ts)\((\d+),\d+\): error (.*)$/.exec(line)
    if (head !== null) found.push({ at: `${head[1]}:${head[2]}`, text: head[3]! })
    else if (found.length > 0) found[found.length - 1]!.text += `\n${line}`
  }
  return found
}

it("what must not compile does not, and says why", () => {
  const found = messages()
  assert.isAbove(expected.length, 80)
  assert.deepStrictEqual(found.map(({ at }) => at).sort(), expected.map(({ at }) => at).sort())
  for (const { at, text } of expected) {
    assert.include(found.find((message) => message.at === at)!.text, text, at)
  }
}, 120_000)
