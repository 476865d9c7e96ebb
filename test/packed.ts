/**
 * What a user gets: packs the package as it is built, installs it into an empty project, and looks at it from there. Run by
 * `npm run check:package`.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { analyse } from "../docs/examples/audit/Page.ts"
import { crossCheck } from "../docs/examples/audit/Report.ts"
import { moduleOf } from "./blocks.ts"

const root = join(dirname(fileURLToPath(import.meta.url)), "..")
const { devDependencies, version: ownVersion } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")
const problems: Array<string> = []

/** Runs a command; what it prints if it fails is a problem. */
const attempt = (cwd: string, command: string, args: ReadonlyArray<string>, what: string): string => {
  try {
    return execFileSync(command, args, { cwd, encoding: "utf8" })
  } catch (error) {
    problems.push(`${what}: ${(error as { readonly stdout: string }).stdout}`)
    return ""
  }
}

/** What the modules of the package import, and what that needs. */
const peers = ["effect", "@effect/platform-node", "@langchain/langgraph-checkpoint", "@langchain/core"].map((name) =>
  `${name}@${devDependencies[name]}`
)

/** An empty project in which the packed package is installed. */
const install = (project: string): string => {
  writeFileSync(join(project, "package.json"), `{ "private": true, "type": "module" }`)
  const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", project], {
    cwd: root,
    encoding: "utf8"
  })
  const options = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
  execFileSync("npm", ["install", ...options, `./${packed.trim()}`, ...peers], {
    cwd: project,
    stdio: "inherit"
  })
  return join(project, "node_modules", "superstep")
}

/** Paths of the files below a folder, folders with a slash at the end. */
const below = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1)
    return entry.isDirectory() ? `${path}/` : path
  })

/** Every module can be imported, or is closed to everybody but the package itself. */
const checkModules = (project: string, files: ReadonlyArray<string>): number => {
  const modules = files.flatMap((file) => /^dist\/(.*)\.js$/.exec(file)?.[1] ?? [])
  const isOpen = (module: string): boolean => module !== "index" && !module.split("/").includes("internal")
  const open = ["superstep", ...modules.filter(isOpen).map((module) => `superstep/${module}`)]
  const closed = modules.filter((module) => !isOpen(module)).map((module) => `superstep/${module}`)
  writeFileSync(
    join(project, "modules.js"),
    `const codeOf = (name) => import(name).then(() => "open", (error) => error.code ?? String(error))
for (const name of ${JSON.stringify(open)}) {
  const code = await codeOf(name)
  if (code !== "open") console.log(name + " cannot be imported: " + code)
}
for (const name of ${JSON.stringify(closed)}) {
  const code = await codeOf(name)
  if (code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") console.log(name + " is internal, and can be reached: " + code)
}
`
  )
  const found = attempt(project, process.execPath, ["--no-warnings", "modules.js"], "the modules")
  problems.push(...found.split("\n").filter((line) => line !== ""))
  return open.length
}

/** The example of the README compiles against the declarations, and runs. */
const checkReadme = (project: string, installed: string): void => {
  // Nothing of it is exported there: here the graph is, for the program.
  writeFileSync(
    join(project, "readme.ts"),
    `${moduleOf(readFileSync(join(installed, "README.md"), "utf8"))}\nexport { app }\n`
  )
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "--lib", "es2024,dom"]
  attempt(project, process.execPath, [tsc, ...options, "--skipLibCheck", "readme.ts"], "the README does not compile")
  attempt(project, process.execPath, ["readme.ts"], "the README does not run")
}

/** The program that npm has linked says which version it is, and runs a graph. */
const checkProgram = (project: string): void => {
  const program = join(project, "node_modules", ".bin", "superstep")
  const run = (args: ReadonlyArray<string>): string =>
    attempt(project, program, args, "the program does not run").trim()
  const version = run(["--version"])
  if (version !== `superstep v${ownVersion}`) problems.push(`the program says that it is "${version}"`)
  const output = run(["run", "readme.ts#app", "--input", `{"total":10}`, "--quiet", "--json"])
  if (!output.includes(`"total":21`)) problems.push(`the program runs the graph of the README to "${output}"`)
}

/** What the pages that were packed lead to was packed too, but for the tests. */
const checkPages = (installed: string, files: ReadonlyArray<string>): number => {
  const pages = files.filter((file) => file.endsWith(".md"))
  const facts = pages.map((page) => analyse(page, readFileSync(join(installed, page), "utf8")))
  const exists = new Set([...files, ...below(join(root, "test")).map((path) => `test/${path}`)])
  for (const { file, line, message } of crossCheck(facts, exists)) problems.push(`${file}:${line} ${message}`)
  return pages.length
}

const project = mkdtempSync(join(tmpdir(), "superstep-packed-"))
try {
  const installed = install(project)
  const files = below(installed)
  const modules = checkModules(project, files)
  checkReadme(project, installed)
  checkProgram(project)
  const pages = checkPages(installed, files)
  for (const problem of problems.slice(0, 20)) console.error(problem)
  console.log(`packed: ${modules} modules, ${pages} pages, ${problems.length} problems`)
} finally {
  rmSync(project, { recursive: true })
}
process.exitCode = problems.length === 0 ? 0 : 1
