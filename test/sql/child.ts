/**
 * What runs in another process, on a file that several share. It talks in lines; `node child.ts MODE FILENAME [OWNER]`.
 */
import { Effect, Option } from "effect"
import { writeSync } from "node:fs"
import { createInterface } from "node:readline"
import type { Commit } from "superstep/Checkpoint"
import { Checkpointer } from "superstep/Checkpointer"
import { layerSqlite } from "superstep/sql/SqlCheckpointer"

const [mode, filename, owner] = process.argv.slice(2) as [string, string, string]

/** Written at once, so that the line stands even if the process is killed right after. */
const say = (line: string) => Effect.sync(() => void writeSync(1, `${line}\n`))

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const hear = Effect.promise(async () => (await lines.next()).value as string | undefined)

const commitOf = (id: string, parent: string | undefined, life: string | undefined): Commit => ({
  namespace: "",
  checkpoint: {
    id,
    parent,
    branch: 1,
    step: 0,
    source: "loop",
    createdMillis: 0,
    format: 1,
    isKeyframe: true,
    data: JSON.stringify("x".repeat(2_000)),
    metadata: "{}"
  },
  tasks: parent === undefined
    ? []
    : [{ checkpoint: parent, task: "task", status: "done", revision: 1, data: JSON.stringify(id) }],
  place: "",
  expected: parent,
  finished: undefined,
  inside: [],
  owner,
  life,
  root: parent
})

const lifeOf = Effect.flatMap(Checkpointer, (saver) => Effect.map(saver.head("t", ""), Option.getOrUndefined)).pipe(
  Effect.map((head) => head?.life)
)

/** Opens the file when told to, and says who has it. */
const open = Effect.gen(function*() {
  yield* say("ready")
  yield* hear
  const threads = yield* Effect.provide(Checkpointer.use((saver) => saver.threads), layerSqlite({ filename }))
  yield* say(`opened ${threads.length}`)
})

/** Hears the head of each round, and says whether its commit won. */
const rounds = Effect.gen(function*() {
  const saver = yield* Checkpointer
  yield* say("ready")
  for (let round = 1;; round++) {
    const expected = yield* hear
    if (expected === undefined || expected === "end") return
    yield* saver.commit("t", commitOf(`${round}-${owner}`, expected, yield* lifeOf)).pipe(
      Effect.matchEffect({ onSuccess: () => say("won"), onFailure: (error) => say(error._tag) })
    )
  }
})

/** Commits until it is killed, and says each id that is stored. */
const endless = Effect.gen(function*() {
  const saver = yield* Checkpointer
  let parent = Option.getOrUndefined(yield* saver.head("t", ""))?.id
  yield* say("ready")
  for (let index = Number(parent ?? -1) + 1;; index++) {
    const id = String(index)
    yield* saver.commit("t", commitOf(id, parent, yield* lifeOf))
    yield* say(id)
    parent = id
  }
})

const program = mode === "open" ? open : Effect.provide(mode === "rounds" ? rounds : endless, layerSqlite({ filename }))

Effect.runPromise(program).then(() => process.exit(0), (error: unknown) => {
  console.error(error)
  process.exit(1)
})
