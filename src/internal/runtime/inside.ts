/**
 * Going back to a checkpoint of a graph inside a task: the thread branches where
 * that task began, and inside the branch the graph stands at the checkpoint.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Checkpointer } from "../../Checkpointer.ts"
import { UnknownCheckpoint, UnknownThread } from "../../GraphError.ts"
import type { Program } from "../engine/program.ts"
import type { Place } from "../engine/stored.ts"
import { type Durability, type Inside, load, metadataOf, Session, type StoredMetadata } from "./session.ts"
import type { Erased } from "./task.ts"
import { threadRun } from "./thread.ts"

/** One graph on the way from the root to the checkpoint. */
interface Level {
  readonly program: Program
  readonly namespace: string
  readonly place: Place
  readonly inside: Inside | undefined
  readonly metadata: StoredMetadata
}

/** The programs and namespaces along a path, from the root. */
const along = (
  program: Program,
  path: ReadonlyArray<string>
): ReadonlyArray<{ readonly program: Program; readonly namespace: string }> | undefined => {
  const levels = [{ program, namespace: "" }]
  for (const segment of path) {
    const { namespace, program: around } = levels[levels.length - 1]!
    const body = around.nodes[around.nodeNumber.get(segment.split(/[:~]/)[0]!) ?? -1]?.body
    if (body?._tag !== "Graph") return undefined
    levels.push({ program: body.program, namespace: namespace === "" ? segment : `${namespace}|${segment}` })
  }
  return levels
}

/** The checkpoint and those that the tasks around it started from, the root's first. */
const climb: (
  program: Program,
  thread: string,
  path: ReadonlyArray<string>,
  checkpoint: string
) => Erased<ReadonlyArray<Level>> = Effect.fnUntraced(
  function*(program: Program, thread: string, path: ReadonlyArray<string>, checkpoint: string) {
    const saver = yield* Checkpointer
    const unknown = new UnknownCheckpoint({ thread, checkpoint, path })
    const way = along(program, path)
    if (way === undefined) return yield* unknown
    const levels: Array<Level> = []
    let id = checkpoint
    for (const { namespace, program: own } of way.toReversed()) {
      const found = yield* load({ saver, thread }, own, namespace, id)
      if (Option.isNone(found)) return yield* unknown
      const metadata = metadataOf(found.value.row)
      const { inside } = metadata
      levels.unshift({ program: own, namespace, place: found.value.place, inside, metadata })
      if (inside === undefined) break
      id = inside[0]
    }
    return levels.length === way.length ? levels : yield* unknown
  }
) as (program: Program, thread: string, path: ReadonlyArray<string>, checkpoint: string) => Erased<ReadonlyArray<Level>>

/** Opens the branch; gives the id of its first checkpoint. */
export const forkInside: (
  program: Program,
  thread: string,
  path: ReadonlyArray<string>,
  checkpoint: string,
  durability: Durability
) => Erased<string> = Effect.fnUntraced(
  function*(program: Program, thread: string, path: ReadonlyArray<string>, checkpoint: string, durability: Durability) {
    const saver = yield* Checkpointer
    const newest = yield* saver.head(thread, "")
    if (Option.isNone(newest)) return yield* new UnknownThread({ thread })
    const levels = yield* climb(program, thread, path, checkpoint)
    const run = threadRun({ saver, thread, branch: newest.value.branch + 1 }, durability, levels[0]!.metadata)
    const now = yield* Clock.currentTimeMillis
    let around: string | undefined
    let first: string | undefined
    for (const { inside, namespace, place, program: own } of levels) {
      const session = new Session({
        run,
        program: own,
        namespace,
        inside: around === undefined ? undefined : [around, inside![1]],
        place: { ...place, records: new Map() },
        isKept: true,
        isAtHead: false
      })
      const { step } = place.checkpoint
      yield* session.commit(
        {
          source: "fork",
          checkpoint: around === undefined ? { ...place.checkpoint, step: step + 1 } : place.checkpoint,
          tasks: [],
          records: new Map(),
          isWhole: true
        },
        now
      )
      around = session.id
      first ??= session.id
    }
    return first!
  }
) as (
  program: Program,
  thread: string,
  path: ReadonlyArray<string>,
  checkpoint: string,
  durability: Durability
) => Erased<string>
