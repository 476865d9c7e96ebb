/** The texts that a saver of LangGraph keeps for a thread: JSON, read by schema. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Commit, Dump, Move, Put, Removal } from "../../Checkpoint.ts"
import { CheckpointError } from "../../GraphError.ts"

/** The format of these texts. Those of a later format are refused. */
const format = 1

const CheckpointRow = Schema.Struct({
  id: Schema.String,
  parent: Schema.optional(Schema.String),
  branch: Schema.Int,
  step: Schema.Int,
  source: Schema.Literals(["input", "loop", "update", "fork"]),
  createdMillis: Schema.Number,
  format: Schema.Int,
  isKeyframe: Schema.Boolean,
  data: Schema.String,
  metadata: Schema.String
})

const TaskRow = Schema.Struct({
  checkpoint: Schema.String,
  task: Schema.String,
  status: Schema.Literals(["done", "paused", "failed"]),
  revision: Schema.Int,
  data: Schema.String
})

const moveFields = {
  namespace: Schema.String,
  checkpoint: CheckpointRow,
  tasks: Schema.Array(TaskRow),
  place: Schema.String,
  expected: Schema.optional(Schema.String),
  finished: Schema.optional(Schema.Int)
}

const StoredMove = Schema.Struct(moveFields)

const Entry = Schema.Struct({
  format: Schema.Literal(format),
  /** Tells the entry from others that say the same. */
  id: Schema.String,
  commit: Schema.optional(Schema.Struct({
    ...moveFields,
    inside: Schema.Array(StoredMove),
    owner: Schema.String,
    life: Schema.optional(Schema.String),
    root: Schema.optional(Schema.String)
  })),
  put: Schema.optional(Schema.Struct({
    namespace: Schema.String,
    tasks: Schema.Array(TaskRow),
    place: Schema.String,
    branch: Schema.Int,
    life: Schema.String,
    root: Schema.optional(Schema.String)
  })),
  restore: Schema.optional(Schema.Struct({
    dump: Schema.Struct({
      checkpoints: Schema.Array(Schema.Struct({ namespace: Schema.String, row: CheckpointRow })),
      tasks: Schema.Array(Schema.Struct({ namespace: Schema.String, row: TaskRow })),
      heads: Schema.Array(
        Schema.Struct({ branch: Schema.Int, place: Schema.String, id: Schema.String, owner: Schema.String })
      )
    }),
    life: Schema.String
  })),
  removal: Schema.optional(Schema.Struct({
    checkpoints: Schema.Array(Schema.Struct({ namespace: Schema.String, id: Schema.String })),
    heads: Schema.Array(Schema.Struct({ branch: Schema.Int, place: Schema.String, id: Schema.String })),
    branch: Schema.Int,
    life: Schema.String
  }))
})

const Beginning = Schema.Struct({
  format: Schema.Literal(format),
  /** The namespace of the thread's log. */
  log: Schema.String,
  thread: Schema.String,
  /** Milliseconds since the epoch: orders the threads. */
  began: Schema.Number
})

/** What begins a thread. */
export type Beginning = typeof Beginning.Type

/** What is done to a thread. */
export type Action =
  | { readonly commit: Commit }
  | { readonly put: Put }
  | { readonly restore: { readonly dump: Dump; readonly life: string } }
  | { readonly removal: Removal }

/** One entry of the log of a thread. */
export interface Entry {
  readonly id: string
  readonly action: Action
}

const failed = (reason: "Decode" | "Format", thread: string | undefined, detail: string) =>
  new CheckpointError({ reason, thread, detail: `what the saver holds ${detail}` })

const WithFormat = Schema.fromJsonString(Schema.Struct({ format: Schema.Int }))
const isOfFormat = Schema.decodeUnknownOption(WithFormat)

const decode = <S extends Schema.Codec<unknown, string>>(schema: S) => {
  const read = Schema.decodeUnknownEffect(schema)
  return (content: unknown, thread?: string): Effect.Effect<S["Type"], CheckpointError> => {
    const found = isOfFormat(content)
    return found._tag === "Some" && found.value.format > format
      ? Effect.fail(failed("Format", thread, `has format ${found.value.format}; this version reads format ${format}`))
      : Effect.mapError(read(content), (error) => failed("Decode", thread, `cannot be read: ${error.message}`))
  }
}

const decodeEntry = decode(Schema.fromJsonString(Entry))

export const readBeginning = decode(Schema.fromJsonString(Beginning))

/** JSON has no `undefined`. */
const toCheckpoint = (row: Schema.Schema.Type<typeof CheckpointRow>) => ({ ...row, parent: row.parent })

const toMove = (move: Schema.Schema.Type<typeof StoredMove>): Move => ({
  ...move,
  checkpoint: toCheckpoint(move.checkpoint),
  expected: move.expected,
  finished: move.finished
})

export const readEntry = (content: unknown, thread: string): Effect.Effect<Entry, CheckpointError> =>
  Effect.flatMap(
    decodeEntry(content, thread),
    ({ commit, id, put, removal, restore }): Effect.Effect<Entry, CheckpointError> => {
      if (commit !== undefined) {
        const { inside, life, owner, root } = commit
        return Effect.succeed({
          id,
          action: { commit: { ...toMove(commit), inside: inside.map(toMove), owner, life, root } }
        })
      }
      if (put !== undefined) return Effect.succeed({ id, action: { put: { ...put, root: put.root } } })
      if (removal !== undefined) return Effect.succeed({ id, action: { removal } })
      if (restore !== undefined) {
        const { dump, life } = restore
        const checkpoints = dump.checkpoints.map(({ namespace, row }) => ({ namespace, row: toCheckpoint(row) }))
        return Effect.succeed({ id, action: { restore: { dump: { ...dump, checkpoints }, life } } })
      }
      return Effect.fail(failed("Decode", thread, "says nothing"))
    }
  )

export const entryText = ({ action, id }: Entry): string => JSON.stringify({ format, id, ...action })

export const beginningText = (beginning: Omit<Beginning, "format">): string => JSON.stringify({ format, ...beginning })
