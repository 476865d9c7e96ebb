/**
 * Going back to a checkpoint of a graph inside a task: the thread branches where
 * that task began, and inside the branch the graph stands at the checkpoint.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { Move } from "../../Checkpoint.ts"
import { Checkpointer } from "../../Checkpointer.ts"
import { UnknownCheckpoint, UnknownThread } from "../../GraphError.ts"
import { type Inside, nodeOf, ROOT, within } from "../engine/namespace.ts"
import type { Program } from "../engine/program.ts"
import type { Place } from "../engine/stored.ts"
import { load, metadataOf, type ReadError, Session, type StoredMetadata, type ThreadRun, whole } from "./session.ts"
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
  const levels = [{ program, namespace: ROOT }]
  for (const segment of path) {
    const { namespace, program: around } = levels[levels.length - 1]!
    const body = around.nodes[around.nodeNumber.get(nodeOf(segment)) ?? -1]?.body
    if (body?._tag !== "Graph") return undefined
    levels.push({ program: body.program, namespace: within(namespace, segment) })
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
      yield* whole(thread, own, found.value.place)
      const metadata = metadataOf(found.value.row)
      const { inside } = metadata
      levels.unshift({ program: own, namespace, place: found.value.place, inside, metadata })
      if (inside === undefined) break
      id = inside[0]
    }
    return levels.length === way.length ? levels : yield* unknown
  }
) as (program: Program, thread: string, path: ReadonlyArray<string>, checkpoint: string) => Erased<ReadonlyArray<Level>>

/** What moves when the thread branches where the levels stand: of the root first. */
const moves = (
  run: ThreadRun,
  levels: ReadonlyArray<Level>,
  now: number
): Result.Result<{ readonly root: Session; readonly moves: ReadonlyArray<Move> }, ReadError> => {
  let root: Session | undefined
  let around: string | undefined
  const moves: Array<Move> = []
  for (const { inside, namespace, place, program } of levels) {
    const session = new Session({
      run,
      program,
      namespace,
      inside: around === undefined ? undefined : [around, inside![1]],
      place: { ...place, records: new Map() },
      isAtHead: false
    })
    const step = place.checkpoint.step + (around === undefined ? 1 : 0)
    const checkpoint = { ...place.checkpoint, step }
    const move = session.move({ source: "fork", checkpoint, tasks: [], records: new Map(), isWhole: true }, now)
    if (Result.isFailure(move)) return Result.fail(move.failure)
    moves.push(move.success)
    around = session.id
    root ??= session
  }
  return Result.succeed({ root: root!, moves })
}

/** Opens the branch; gives the id of its first checkpoint. */
export const forkInside: (
  program: Program,
  thread: string,
  path: ReadonlyArray<string>,
  checkpoint: string
) => Erased<string> = Effect.fnUntraced(
  function*(program: Program, thread: string, path: ReadonlyArray<string>, checkpoint: string) {
    const saver = yield* Checkpointer
    const newest = yield* saver.head(thread, "")
    if (Option.isNone(newest)) return yield* new UnknownThread({ thread })
    const levels = yield* climb(program, thread, path, checkpoint)
    const { branch, life } = newest.value
    const run = threadRun(
      { saver, thread, branch: branch + 1, life, isHead: false, row: undefined },
      "sync",
      levels[0]!.metadata
    )
    const { moves: [first, ...inside], root } = yield* Effect.fromResult(
      moves(run, levels, yield* Clock.currentTimeMillis)
    )
    yield* Effect.uninterruptible(root.write(first!, inside))
    return root.id
  }
) as (program: Program, thread: string, path: ReadonlyArray<string>, checkpoint: string) => Erased<string>
