/** The `console` blocks of the page: each command is run, in order, and prints what stands below it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { moduleOf } from "../blocks.ts"
import { allPeers, makeProject, type Project } from "./Commands.ts"

const page = readFileSync(fileURLToPath(new URL("../../docs/cli.md", import.meta.url)), "utf8")

interface Step {
  readonly line: number
  readonly command: string
  /** stdout and stderr together; an ellipsis stands for any text of a line. */
  readonly printed: ReadonlyArray<string>
}

const stepsOf = (text: string): ReadonlyArray<Step> => {
  const steps: Array<{ line: number; command: string; printed: Array<string> }> = []
  let isInside = false
  for (const [index, line] of text.split("\n").entries()) {
    if (line.startsWith("```")) isInside = line === "```console"
    else if (isInside && line.startsWith("$ ")) steps.push({ line: index + 1, command: line.slice(2), printed: [] })
    else if (isInside) steps.at(-1)!.printed.push(line)
  }
  return steps
}

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

let project: Project

beforeAll(() => {
  project = makeProject(allPeers)
  writeFileSync(join(project.path, "order.ts"), moduleOf(page))
}, 120_000)

afterAll(() => project?.remove())

describe("docs/cli.md", () => {
  it("says what the commands print", () => {
    const steps = stepsOf(page)
    assert.isAbove(steps.length, 8)
    for (const { command, line, printed } of steps) {
      const { stdout } = spawnSync("sh", ["-c", `{ ${command}; } 2>&1`], {
        cwd: project.path,
        env: project.env,
        encoding: "utf8",
        input: ""
      })
      const shown = stdout.trimEnd().split("\n")
      const fits = printed.length === shown.length &&
        printed.every((text, index) => new RegExp(`^${text.split("…").map(escape).join(".*")}$`).test(shown[index]!))
      if (!fits) assert.deepStrictEqual(shown, printed, `docs/cli.md:${line}`)
    }
  }, 120_000)
})
