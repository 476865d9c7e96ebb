/** What writers asked of a saver, and what it told them: recorded in the order in which it happened. */
import { Context, Effect, Option, Semaphore } from "effect"
import type { Checkpoint, Checkpointer, GraphError } from "superstep"

/** A task row as the model sees it. */
export interface Row {
  readonly checkpoint: string
  readonly task: string
  readonly status: Checkpoint.TaskStatus
  readonly revision: number
  /** The answer that it holds; none if it is not answered. */
  readonly answer: string | undefined
  readonly data: string
}

export type Reply = "STORED" | "CONFLICT" | "DELETED"

/** A commit as the model sees it: of the root of the thread. */
export interface CommitEvent {
  readonly type: "commit"
  readonly writer: number
  readonly owner: string
  readonly life: string | undefined
  readonly expected: string | undefined
  readonly row: Checkpoint.CheckpointRow
  readonly brings: ReadonlyArray<Row>
  /** How many rows the checkpoint is made of; none if it is not made of rows. */
  readonly finished: number | undefined
  readonly reply: Reply
}

export type Event =
  | {
    readonly type: "head"
    readonly writer: number
    readonly life: string | undefined
    readonly id: string | undefined
  }
  | {
    readonly type: "get"
    readonly writer: number
    readonly id: string
    readonly rows: ReadonlyArray<Row> | undefined
  }
  | { readonly type: "run"; readonly writer: number; readonly id: string; readonly task: string }
  | {
    readonly type: "put"
    readonly writer: number
    readonly life: string
    readonly rows: ReadonlyArray<Row>
    readonly stand: ReadonlyArray<Row>
    readonly reply: Reply
  }
  | CommitEvent
  | { readonly type: "delete" }

/** Answers are texts that nothing else contains. */
export const answerOf = (number: number): string => `answer-${number}.`

export const toRow = ({ checkpoint, data, revision, status, task }: Checkpoint.TaskRow): Row => ({
  checkpoint,
  task,
  status,
  revision,
  answer: /answer-\d+\./.exec(data)?.[0],
  data
})

/** The number of the run attempt, for its nodes. */
export const Writer = Context.Reference<number>("test/formal/Writer", { defaultValue: () => 0 })

/** What goes wrong for a writer, by the number of its call, counted from 1. */
export interface Trouble {
  /** The process dies in this call: nothing that it does later happens. */
  readonly dies: { readonly call: number; readonly isStored: boolean } | undefined
  /** The answers of these calls are lost, and they are made again, but for a commit that begins the thread. */
  readonly repeats: (call: number) => boolean
  /** How many turns of the scheduler a call takes. */
  readonly turns: () => number
}

/** A process that died does nothing more, and does not end. */
const nothing = Effect.callback<never>(() => {})

const turns = (count: number): Effect.Effect<void> => Effect.repeat(Effect.yieldNow, { times: count })

type StorageError = GraphError.CheckpointError | GraphError.ThreadConflict | GraphError.ThreadDeleted

const replyOf = (error: StorageError): Reply | undefined =>
  error._tag === "ThreadConflict" ? "CONFLICT" : error._tag === "ThreadDeleted" ? "DELETED" : undefined

/** Records what happens to one thread. */
export class Recorder {
  readonly events: Array<Event> = []
  readonly #saver: Checkpointer.CheckpointerShape
  /** A call and its record are one step, so that the order of the records is the order in storage. */
  readonly #order = Semaphore.makeUnsafe(1)

  constructor(saver: Checkpointer.CheckpointerShape) {
    this.#saver = saver
  }

  #recorded<A, E extends StorageError>(
    call: Effect.Effect<A, E>,
    told: (value: A) => Event,
    refused?: (reply: Reply) => Event
  ): Effect.Effect<A, E> {
    const events = this.events
    const noted = call.pipe(
      Effect.tap((value) => Effect.sync(() => void events.push(told(value)))),
      Effect.tapError((error) =>
        Effect.sync(() => {
          const reply = replyOf(error)
          if (reply !== undefined && refused !== undefined) events.push(refused(reply))
        })
      )
    )
    return Effect.uninterruptible(this.#order.withPermits(1)(noted))
  }

  readonly deleted = (thread: string): Effect.Effect<void, GraphError.CheckpointError> =>
    this.#recorded(this.#saver.deleteThread(thread), () => ({ type: "delete" }))

  /** Notes that a task runs. */
  ran(writer: number, id: string, task: string): void {
    this.events.push({ type: "run", writer, id, task })
  }

  #head(writer: number, place: string, head: Option.Option<Checkpoint.HeadRow>): Event {
    if (place !== "") throw new Error("the model has no graphs inside tasks")
    const found = Option.getOrUndefined(head)
    return { type: "head", writer, life: found?.life, id: found?.id }
  }

  #commit(writer: number, commit: Checkpoint.Commit, reply: Reply): Event {
    const { checkpoint: row, expected, finished, life, owner, tasks } = commit
    return { type: "commit", writer, owner, life, expected, row, brings: tasks.map(toRow), finished, reply }
  }

  /** The saver as one writer has it. `died` is called when its process dies. */
  for(writer: number, trouble: Trouble, died: () => void): Checkpointer.CheckpointerShape {
    let calls = 0
    let isDead = false
    const saver = this.#saver
    const call = <A, E>(made: Effect.Effect<A, E>, canRepeat: boolean): Effect.Effect<A, E> =>
      Effect.suspend(() => {
        if (isDead) return nothing
        const number = ++calls
        const dies = trouble.dies?.call === number
        if (dies) isDead = true
        const dead = Effect.andThen(Effect.sync(died), nothing)
        if (dies && !trouble.dies!.isStored) return dead
        const again = Effect.andThen(turns(trouble.turns()), made)
        const stored = canRepeat && trouble.repeats(number) ? Effect.andThen(made, again) : made
        return turns(trouble.turns()).pipe(
          // Another call of the process may have been its last meanwhile.
          Effect.andThen(Effect.suspend(() => isDead && !dies ? nothing : Effect.exit(stored))),
          Effect.flatMap((exit) => isDead ? dead : Effect.andThen(turns(trouble.turns()), exit))
        )
      })
    return {
      ...saver,
      head: (thread, place, branch) =>
        call(this.#recorded(saver.head(thread, place, branch), (head) => this.#head(writer, place, head)), false),
      get: (thread, namespace, id) =>
        call(
          this.#recorded(saver.get(thread, namespace, id), (saved) => ({
            type: "get",
            writer,
            id,
            rows: Option.getOrUndefined(saved)?.tasks.filter(({ checkpoint }) => checkpoint === id).map(toRow)
          })),
          false
        ),
      putTasks: (thread, put) => {
        const asked = { type: "put", writer, life: put.life, rows: put.tasks.map(toRow) } as const
        return call(
          this.#recorded(
            saver.putTasks(thread, put),
            (stand) => ({ ...asked, stand: stand.map(toRow), reply: "STORED" }),
            (reply) => ({ ...asked, stand: [], reply })
          ),
          true
        )
      },
      commit: (thread, commit) =>
        call(
          this.#recorded(
            saver.commit(thread, commit),
            () => this.#commit(writer, commit, "STORED"),
            (reply) => this.#commit(writer, commit, reply)
          ),
          commit.life !== undefined
        )
    }
  }
}
