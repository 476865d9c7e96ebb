/** What the types of a graph cost: counts that are the same in every run, unlike times. */
import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

/** How many types a program instantiates. */
const instantiations = (program: string): number => {
  const config = join(import.meta.dirname, "cost", `tsconfig.${program}.json`)
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", config, "--extendedDiagnostics"], {
    encoding: "utf8"
  })
  assert.strictEqual(status, 0, stdout)
  return Number(/Instantiations:\s+(\d+)/.exec(stdout)![1])
}

it("a graph of 40 nodes of every kind, with its threads, instantiates at most 1,100 types a node", () => {
  const added = instantiations("graph") - instantiations("imports")
  assert.isAbove(added, 10_000)
  assert.isAtMost(added, 40 * 1_100)
}, 120_000)
