/**
 * What a thread keeps: checkpoints, and beside each what the superstep that
 * started from it has produced so far. The stored forms are plain rows of text;
 * the shown forms are what `thread.state` and `thread.history` give.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

/**
 * The format of stored rows. Rows of a later format are refused.
 *
 * @category constants
 * @since 0.1.0
 */
export const format = 1

/**
 * What made a checkpoint: an input, a superstep, an update from outside, or a branch.
 *
 * @category models
 * @since 0.1.0
 */
export type Source = "input" | "loop" | "update" | "fork"

/**
 * A stored checkpoint: the whole state (a keyframe), or what changed since its parent.
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface CheckpointRow {
  /** 32 hexadecimal digits, derived from branch, parent, graph and writes. */
  readonly id: string
  readonly parent: string | undefined
  /** Branch of the thread, from 1. */
  readonly branch: number
  readonly step: number
  readonly source: Source
  /** Milliseconds since the epoch; metadata, in no hash. */
  readonly createdMillis: number
  readonly format: number
  readonly isKeyframe: boolean
  /** JSON text. */
  readonly data: string
  /** JSON text of the user's metadata. */
  readonly metadata: string
}

/**
 * How far a task has come.
 *
 * @category stored rows
 * @since 0.1.0
 */
export type TaskStatus = "done" | "paused" | "failed"

/**
 * What a task has produced, stored beside the checkpoint that its superstep started from. A `done` row is never replaced; any other by a `done`
 * row, or by one of a later revision.
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface TaskRow {
  readonly checkpoint: string
  readonly task: string
  readonly status: TaskStatus
  /** Counts the rows of this task, from 1: a runner that has not seen the present row cannot replace it. */
  readonly revision: number
  /** JSON text. */
  readonly data: string
}

/**
 * Which checkpoint is current: of a branch of the thread (`place` is empty), or of a graph that runs inside a task (`place`
 * names the task and the graph's namespace).
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface HeadRow {
  readonly branch: number
  readonly place: string
  readonly id: string
  /** Names the run attempt that committed it. */
  readonly owner: string
  /** Tells the thread from one of the same id that was deleted: the owner of its first commit. */
  readonly life: string
}

/**
 * A checkpoint with what is needed to read it.
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface Saved {
  /** From the nearest keyframe to the checkpoint itself. */
  readonly chain: ReadonlyArray<CheckpointRow>
  /** The task rows beside each checkpoint of the chain, the last included; of each in the order of their ids, by UTF-16 code units. */
  readonly tasks: ReadonlyArray<TaskRow>
}

/**
 * What tasks have produced, stored at once while their superstep runs.
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface Put {
  readonly namespace: string
  /** Rows beside the head of the place, in the branch. */
  readonly tasks: ReadonlyArray<TaskRow>
  readonly place: string
  /**
   * Where the branch of the thread stands: what a graph inside a task stores belongs to the superstep that starts there. None before
   * the branch has a head.
   */
  readonly root: string | undefined
  readonly branch: number
  /** The life of the thread that they belong to. */
  readonly life: string
}

/**
 * A checkpoint, and the head that moves to it.
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface Move {
  readonly namespace: string
  readonly checkpoint: CheckpointRow
  /** Rows of tasks, beside the checkpoints they name. */
  readonly tasks: ReadonlyArray<TaskRow>
  readonly place: string
  /**
   * The head that has to be current still; none for the first. Where the place is that of a graph inside a task, a checkpoint that is stored already is
   * no conflict: ids derive from what they name, so another runner has stored the same.
   */
  readonly expected: string | undefined
  /**
   * How many finished rows stand beside the expected head, with those of this move, when its writes are what the checkpoint
   * follows from; none where the whole state is stored.
   */
  readonly finished: number | undefined
}

/**
 * What is stored at once when a superstep ends.
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface Commit extends Move {
  /** The graphs inside its tasks that move with it. */
  readonly inside: ReadonlyArray<Move>
  /** Where the branch of the thread stands, if this is a commit of a graph inside a task: as of {@link Put}. */
  readonly root: string | undefined
  readonly owner: string
  /** The life of the thread that it belongs to; none if the thread begins with it. */
  readonly life: string | undefined
}

/**
 * All that is stored of a thread.
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface Dump {
  /** Those of one namespace in the order in which they were stored. */
  readonly checkpoints: ReadonlyArray<{ readonly namespace: string; readonly row: CheckpointRow }>
  readonly tasks: ReadonlyArray<{ readonly namespace: string; readonly row: TaskRow }>
  readonly heads: ReadonlyArray<Omit<HeadRow, "life">>
}

/**
 * What is to be removed of a thread.
 *
 * @category stored rows
 * @since 0.1.0
 */
export interface Removal {
  /** With the rows of tasks beside them. */
  readonly checkpoints: ReadonlyArray<{ readonly namespace: string; readonly id: string }>
  /** With where they stood when that was decided: one that has moved since may need what would go. */
  readonly heads: ReadonlyArray<{ readonly branch: number; readonly place: string; readonly id: string }>
  /** The newest branch that was seen: one that is newer may need what would go. */
  readonly branch: number
  /** The life of the thread that they belong to. */
  readonly life: string
}

/**
 * Something that a thread waits for.
 *
 * @category models
 * @since 0.1.0
 */
export interface PendingRequest<out Tag extends string = string, out Payload = unknown> {
  /** Names this request in `reply(answer, { id })`. Unique in the thread; other threads may have the same. */
  readonly id: string
  readonly tag: Tag
  /** As it was asked; as its JSON, where the present definition of the tag cannot read it. */
  readonly payload: Payload
}

/**
 * A task as `thread.state` shows it.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskSnapshot<out Asked = PendingRequest> {
  readonly id: string
  readonly node: string
  /** The text of the failure that ended it last. */
  readonly error: string | undefined
  readonly requests: ReadonlyArray<Asked>
  /** What it wrote, if it is finished: by key, each in order. */
  readonly result: Readonly<Record<string, ReadonlyArray<unknown>>> | undefined
  /** Namespaces of the graphs that run inside it, for `thread.at`. */
  readonly graphs: ReadonlyArray<ReadonlyArray<string>>
}

/**
 * The state of a thread at one checkpoint.
 *
 * @category models
 * @since 0.1.0
 */
export interface Snapshot<out Values, out Asked = PendingRequest> {
  readonly values: Values
  /** Nodes that run next, in task order: a node that was sent to twice stands here twice. */
  readonly next: ReadonlyArray<string>
  readonly tasks: ReadonlyArray<TaskSnapshot<Asked>>
  readonly requests: ReadonlyArray<Asked>
  readonly checkpoint: string
  readonly parent: string | undefined
  readonly branch: number
  readonly path: ReadonlyArray<string>
  readonly step: number
  readonly source: Source
  readonly createdMillis: number
  readonly metadata: Readonly<Record<string, Schema.Json>>
  /** By channel that was ever written: the version of its last change. */
  readonly versions: Readonly<Record<string, number>>
  /** By node that ever ran: the newest version there was then. */
  readonly versionsSeen: Readonly<Record<string, number>>
}

/**
 * Where what is stored does not follow from what stands before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Divergence {
  /** The path of the graph, from the root. */
  readonly path: ReadonlyArray<string>
  readonly checkpoint: string
  /** The channel that holds something else; none where the difference is in no channel. */
  readonly channel: string | undefined
  readonly detail: string
}

/**
 * What verifying a thread came to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Verification {
  /** How many checkpoints were read, of the graph and of those inside it. */
  readonly checkpoints: number
  /** How many of them were folded anew, from the checkpoint before and the results that stand beside it. */
  readonly refolded: number
  /** The first that is something else; none if all are as they should be. */
  readonly divergence: Divergence | undefined
}

/**
 * A thread as `Thread.list` shows it: where its current branch stands.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListedThread {
  readonly id: string
  readonly checkpoint: string
  readonly branch: number
  readonly step: number
  readonly source: Source
  readonly createdMillis: number
  readonly metadata: Readonly<Record<string, Schema.Json>>
}
