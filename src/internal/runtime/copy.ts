/** What is done with a thread as a whole: copied, and pruned. Nothing runs. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { Dump } from "../../Checkpoint.ts"
import { Checkpointer } from "../../Checkpointer.ts"
import { ThreadConflict, UnknownCheckpoint, UnknownThread } from "../../GraphError.ts"
import { isRoot } from "../engine/namespace.ts"
import { type Keep, pruned } from "../engine/pruned.ts"
import { toError } from "./session.ts"
import type { Erased } from "./task.ts"
import { checkThread } from "./thread.ts"

/** All that is stored of a thread. */
export const dumped: (thread: string) => Erased<Dump> = Effect.fnUntraced(function*(thread: string) {
  yield* checkThread(thread)
  const saver = yield* Checkpointer
  const dump = yield* saver.dump(thread)
  return Option.isSome(dump) ? dump.value : yield* new UnknownThread({ thread })
}) as (thread: string) => Erased<Dump>

/** Stores the thread, with all its branches and graphs inside, under another id too. */
export const copy: (thread: string, to: string) => Erased<void> = Effect.fnUntraced(
  function*(thread: string, to: string) {
    yield* checkThread(to)
    const dump = yield* dumped(thread)
    const saver = yield* Checkpointer
    yield* Effect.uninterruptible(saver.restore(to, dump, globalThis.crypto.randomUUID()))
  }
) as (thread: string, to: string) => Erased<void>

const pruneOnce = Effect.fnUntraced(
  function*(thread: string, keep: Keep) {
    yield* checkThread(thread)
    const saver = yield* Checkpointer
    // Before it is read: what is removed belongs to this life, or nothing is.
    const life = Option.getOrUndefined(yield* saver.head(thread, ""))?.life
    if (life === undefined) return yield* new UnknownThread({ thread })
    const dump = yield* dumped(thread)
    const known = new Set(dump.checkpoints.flatMap(({ namespace, row }) => isRoot(namespace) ? [row.id] : []))
    const unknown = keep.checkpoints.find((id) => !known.has(id))
    if (unknown !== undefined) return yield* new UnknownCheckpoint({ thread, checkpoint: unknown, path: [] })
    const removal = yield* Effect.fromResult(Result.mapError(pruned(dump, keep), toError(thread, undefined)))
    if (removal.checkpoints.length > 0) yield* Effect.uninterruptible(saver.remove(thread, { ...removal, life }))
    return removal.checkpoints.length
  }
)

/** How often a thread is read anew, as it got a new branch meanwhile. */
const maxPrunes = 10

/** Removes what nothing that is kept needs; gives how many checkpoints went. */
export const prune = (thread: string, keep: Keep): Erased<number> =>
  Effect.retry(pruneOnce(thread, keep), {
    while: (error) => error instanceof ThreadConflict,
    times: maxPrunes
  }) as Erased<number>
