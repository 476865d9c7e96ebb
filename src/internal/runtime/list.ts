/** Which threads there are, and where they stand. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { CheckpointRow, ListedThread } from "../../Checkpoint.ts"
import { Checkpointer, type CheckpointerShape } from "../../Checkpointer.ts"
import { UnknownThread } from "../../GraphError.ts"
import { hasMetadata } from "./inspect.ts"
import { checkMetadata, metadataOf } from "./session.ts"
import type { Erased } from "./task.ts"

export interface ListFilter {
  readonly after?: string | undefined
  readonly limit?: number | undefined
  readonly metadata?: Readonly<Record<string, Schema.Json>> | undefined
}

/** Rows of a thread that are looked through for its head before that is read with its chain. */
const nearby = 4

const headRow = Effect.fnUntraced(function*(saver: CheckpointerShape, thread: string) {
  const head = Option.getOrUndefined(yield* saver.head(thread, ""))
  if (head === undefined) return undefined
  const near = (yield* saver.list(thread, "", { limit: nearby })).find(({ id }) => id === head.id)
  if (near !== undefined) return near
  const saved = Option.getOrUndefined(yield* saver.get(thread, "", head.id))
  return saved?.chain.at(-1)
})

const listed = (id: string, row: CheckpointRow): ListedThread => {
  const { branch, createdMillis, id: checkpoint, source, step } = row
  return { id, checkpoint, branch, step, source, createdMillis, metadata: metadataOf(row).user }
}

/** Threads in the order in which they began. The limit counts what the filter leaves. */
export const list: (filter: ListFilter) => Erased<ReadonlyArray<ListedThread>> = Effect.fnUntraced(
  function*({ after, limit = Infinity, metadata }: ListFilter) {
    const saver = yield* Checkpointer
    const ids = yield* saver.threads
    const found: Array<ListedThread> = []
    // A page that begins behind a thread that is gone would leave out others.
    if (after !== undefined && !ids.includes(after)) return yield* new UnknownThread({ thread: after })
    const start = after === undefined ? 0 : ids.indexOf(after) + 1
    for (let index = start; index < ids.length && found.length < limit; index++) {
      const id = ids[index]!
      const row = yield* headRow(saver, id)
      if (row === undefined) continue
      yield* checkMetadata(id, [row])
      if (metadata === undefined || hasMetadata(row, metadata)) found.push(listed(id, row))
    }
    return found
  }
) as (filter: ListFilter) => Erased<ReadonlyArray<ListedThread>>
