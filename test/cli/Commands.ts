/** The program as it is installed: built once, beside files that use it, and run as a child process. */
import { Effect, type Scope } from "effect"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import type { Writable } from "node:stream"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

/** A folder with the package in its `node_modules`, and with those of its peers that are named. */
export interface Project {
  readonly path: string
  readonly env: NodeJS.ProcessEnv
  readonly remove: () => void
}

export const allPeers: ReadonlyArray<string> = ["effect", "@effect/platform-node", "@effect/sql-pg", "@viz-js/viz"]

/** Makes a project from a build of the sources as they are, or from the build of another project. */
export const makeProject = (peers: ReadonlyArray<string>, from?: Project): Project => {
  const path = mkdtempSync(join(tmpdir(), "superstep-cli-"))
  const modules = join(path, "node_modules")
  const own = join(modules, "superstep")
  for (const scope of ["@effect", "@viz-js"]) mkdirSync(join(modules, scope), { recursive: true })
  mkdirSync(own)
  copyFileSync(join(root, "package.json"), join(own, "package.json"))
  if (from === undefined) {
    execFileSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", join(own, "dist")], { cwd: root })
  } else execFileSync("cp", ["-R", join(from.path, "node_modules", "superstep", "dist"), own])
  for (const name of peers) symlinkSync(join(root, "node_modules", name), join(modules, name))
  const bin = join(modules, ".bin")
  mkdirSync(bin)
  const main = join(own, "dist", "cli", "internal", "main.js")
  chmodSync(main, 0o755)
  symlinkSync(main, join(bin, "superstep"))
  writeFileSync(join(path, "package.json"), `{ "private": true, "type": "module" }`)
  copyFileSync(join(root, "test", "cli", "graphs.ts"), join(path, "graphs.ts"))
  const { NODE_OPTIONS: _options, SUPERSTEP_DB: _database, ...rest } = process.env
  const env = {
    ...rest,
    NO_COLOR: "1",
    NODE_COMPILE_CACHE: join(path, "compiled"),
    PATH: [bin, dirname(process.execPath), rest["PATH"] ?? ""].join(delimiter)
  }
  return { path, env, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

export interface Options {
  /** What stdin brings: at once, or as it is written. */
  readonly input?: string | ((stdin: Writable) => Promise<void>)
  readonly env?: NodeJS.ProcessEnv
  /** Sees what has come on stderr so far. */
  readonly seen?: (errors: string, child: ChildProcess) => void
}

/** How long a command may take, in milliseconds. */
const patienceMillis = 60_000

/** Runs the program of a project, in its folder or in one below it. */
export const run = (
  project: Project,
  cwd: string,
  args: ReadonlyArray<string>,
  { env, input, seen }: Options = {}
): Effect.Effect<Ended> =>
  Effect.callback((resume) => {
    // The link itself: it is what a shell runs.
    const child = spawn(join(project.path, "node_modules", ".bin", "superstep"), args, {
      cwd,
      env: { ...project.env, ...env },
      timeout: patienceMillis,
      killSignal: "SIGKILL"
    })
    let out = ""
    let errors = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => out += text)
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text
      seen?.(errors, child)
    })
    child.on("close", (code) => resume(Effect.succeed({ code, out, errors })))
    if (typeof input === "function") void input(child.stdin).then(() => child.stdin.end())
    else child.stdin.end(input ?? "")
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

/** A folder of a project, with the graphs in it, that ends with the test. */
export const folderIn = (project: Project): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const path = mkdtempSync(join(project.path, "test-"))
      copyFileSync(join(project.path, "graphs.ts"), join(path, "graphs.ts"))
      return path
    }),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
