/**
 * Writes the threads of this format, once: `node --conditions=superstep-src test/history/write.ts`. What is there is kept: a file that a format
 * has written is never written again.
 */
import { Effect, Option } from "effect"
import { existsSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Checkpointer } from "superstep"
import { format } from "superstep/Checkpoint"
import { threads } from "./graphs.ts"
import { shown } from "./shown.ts"

const pathOf = (name: string): string => fileURLToPath(new URL(`./v${format}/${name}.json`, import.meta.url))

const write = Effect.fnUntraced(function*(name: string) {
  const { goOn, make, read } = threads[name]!
  const saver = yield* Checkpointer.makeMemory
  const on = <A, E>(effect: Effect.Effect<A, E, Checkpointer.Checkpointer>) =>
    Effect.provideService(effect, Checkpointer.Checkpointer, saver)
  yield* on(make)
  const [id] = yield* saver.threads
  const dump = Option.getOrThrow(yield* saver.dump(id!))
  const history = shown(yield* on(read(id!)))
  const end = shown(yield* on(goOn))
  writeFileSync(pathOf(name), JSON.stringify({ id, dump, history, end }, null, 1) + "\n")
})

for (const name of Object.keys(threads)) {
  if (existsSync(pathOf(name))) console.log(`${name}: kept as it is`)
  else {
    await Effect.runPromise(write(name))
    console.log(`${name}: written`)
  }
}
