/** Writes recorded runs for spin into a folder: those of the engine, and `broken-…` of savers that do not keep the protocol. */
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Checkpointer } from "superstep"
import { layerSqlite } from "superstep/sql/SqlCheckpointer"
import { broken } from "./Broken.ts"
import { check } from "./Model.ts"
import { toPromela } from "./Promela.ts"
import { record, scenarios } from "./Runs.ts"

const folder = process.argv[2]!
/** How many runs on each saver. */
const count = 10
/** Where to look for a run in which a broken saver shows. */
const tries = 600

const write = (name: string, text: string): void => {
  mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, name, "trace.pml"), text)
}

const recordAll = (name: string) =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    for (const [index, scenario] of scenarios(count, Date.now() % 1_000_000).entries()) {
      const { events, fingerprint } = yield* record(saver, scenario)
      const text = toPromela(fingerprint, events)
      if (text !== undefined) write(`${name}-${index}`, text)
    }
  })

/** One run of each broken saver that goes against the model. */
const recordBroken = Effect.gen(function*() {
  for (const [name, make, finds] of broken) {
    for (const scenario of scenarios(tries, 1)) {
      const { events, fingerprint } = yield* record(make(yield* Checkpointer.makeMemory), scenario)
      const text = toPromela(fingerprint, events)
      const isFound = check(fingerprint, events).violations.some((violation) => violation.name === finds)
      if (!isFound || text === undefined) continue
      write(`broken-${name.replace(/\W+/g, "-")}`, text)
      break
    }
  }
})

await Effect.runPromise(Effect.gen(function*() {
  yield* Effect.provide(recordAll("memory"), Checkpointer.layerMemory)
  yield* Effect.provide(recordAll("sqlite"), layerSqlite({ filename: ":memory:" }))
  yield* recordBroken
}))
// Processes that died in a recorded run do not end by themselves.
process.exit(0)
