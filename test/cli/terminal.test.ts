/** The program on a real terminal, which tmux holds. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { join } from "node:path"
import { allPeers, folderIn, makeProject, type Project } from "./Commands.ts"

const hasTmux = spawnSync("tmux", ["-V"]).status === 0

if (!hasTmux) console.error("\n!!! tmux is missing: what the program does on a terminal is NOT TESTED. Install tmux.\n")

let project: Project

beforeAll(() => {
  if (hasTmux) project = makeProject(allPeers)
}, 120_000)

afterAll(() => project?.remove())

const patienceMillis = 60_000

/** A terminal of 100 columns in which a shell has begun a command. */
const terminal = (cwd: string, command: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = join(cwd, "tmux")
      const tmux = (...args: ReadonlyArray<string>): string =>
        execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], { encoding: "utf8", env: project.env })
      tmux("new-session", "-d", "-x", "100", "-y", "40", "-c", cwd, `${command}; echo "ended with $?"; sleep 60`)
      return { tmux, screen: () => tmux("capture-pane", "-p", "-J").trimEnd() }
    }),
    ({ tmux }) => Effect.sync(() => tmux("kill-server"))
  )

/** Waits until the screen shows a text. */
const shows = Effect.fnUntraced(function*(screen: () => string, text: string) {
  const end = performance.now() + patienceMillis
  while (!screen().includes(text)) {
    if (performance.now() > end) return assert.fail(`the screen never showed "${text}":\n${screen()}`)
    yield* Effect.sleep(50)
  }
})

describe("on a terminal", () => {
  it.live.skipIf(!hasTmux)(
    "a run asks, takes what is typed, and shows the result",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const cwd = yield* folderIn(project)
        const command = `superstep run graphs.ts#both --thread t --input '{"total":10}' > result.json`
        const { screen, tmux } = yield* terminal(cwd, `${command}; cat result.json`)
        yield* shows(screen, "Name>")
        assert.include(screen(), "\"left?\\n\\u001b[2J\"")
        assert.include(screen(), "answer: {\"type\":\"string\"}")
        assert.include(screen(), "step 1: left asks Name")
        tmux("send-keys", "-l", "Ada L.")
        tmux("send-keys", "Enter")
        yield* shows(screen, "Name> Ada L.\nName>")
        tmux("send-keys", "-l", "Bob")
        tmux("send-keys", "Enter")
        yield* shows(screen, "Approve>")
        tmux("send-keys", "-l", "perhaps")
        tmux("send-keys", "Enter")
        yield* shows(screen, "no JSON")
        tmux("send-keys", "-l", "yes")
        tmux("send-keys", "Enter")
        yield* shows(screen, "ended with 0")
        assert.include(screen(), `"left Ada L.",\n    "right Bob",\n    "true"\n`)
      })),
    120_000
  )
  it.live.skipIf(!hasTmux)(
    "a question stays open when the input ends, and Ctrl-C interrupts",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const cwd = yield* folderIn(project)
        const run = (graph: string) => `superstep run graphs.ts#${graph} --thread ${graph} --input '{"total":10}'`
        const first = yield* terminal(cwd, `${run("asking")}; echo "code $?"; ${run("slow")}`)
        yield* shows(first.screen, "Approve>")
        first.tmux("send-keys", "C-d")
        yield* shows(first.screen, "code 3")
        assert.include(first.screen(), "go on with: superstep resume 'graphs.ts#asking' --thread=asking")
        yield* shows(first.screen, "step 2: wait")
        first.tmux("send-keys", "C-c")
        yield* shows(first.screen, "ended with 130")
        assert.include(first.screen(), "go on with: superstep resume 'graphs.ts#slow' --thread=slow")
      })),
    120_000
  )
  it("is tested wherever all checks run", () => {
    assert.isTrue(hasTmux || process.env["SUPERSTEP_CHECKS"] === undefined, "tmux is missing")
  })
})
