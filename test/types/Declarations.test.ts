/** The declarations of code that uses the package: what they name, whoever reads them has to reach. */
import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

/** The declarations of `declarations/wrapping.ts`. */
const declarations = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-declarations-"))
  try {
    const config = join(import.meta.dirname, "declarations", "tsconfig.json")
    const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", config, "--outDir", folder], {
      encoding: "utf8"
    })
    assert.strictEqual(status, 0, stdout)
    return readFileSync(join(folder, "test", "types", "declarations", "wrapping.d.ts"), "utf8")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

it(
  "functions that make tasks, entrypoints, machines and graphs declare no type that only the package can reach",
  () => {
    const text = declarations()
    assert.match(text, /export declare const graph/)
    assert.deepStrictEqual(text.split("\n").filter((line) => line.includes("/internal/")), [])
  },
  120_000
)
