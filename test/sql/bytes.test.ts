/**
 * What a thread takes on disk: all pages of all tables and indexes, less those of an empty database, beside the data that it carries.
 * Several threads share the database, so that half-empty pages count once.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { Channel, type Checkpointer, END, State, StateGraph } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { layerPostgresClient } from "../Postgres.ts"
import { filename } from "./files.ts"

const bytes = 500
/** No repetition: Postgres compresses what is long. */
const text = (n: number): string => {
  let state = n + 1
  return Array.from({ length: bytes }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return String.fromCharCode(97 + (state >>> 16) % 26)
  }).join("")
}

const texts = Schema.Array(Schema.String)
const channels = {
  append: Channel.append(Schema.String),
  delta: Channel.delta({
    value: texts,
    initial: () => [],
    reduce: (
      state: ReadonlyArray<string>,
      updates: ReadonlyArray<ReadonlyArray<string>>
    ) => [...state, ...updates.flat()]
  }),
  last: Channel.lastValue(texts, { initial: () => [] })
}
type Kind = keyof typeof channels

/** Each superstep brings 500 bytes. */
const graphOf = (kind: Kind, steps: number) => {
  const state = State.make({ n: Channel.lastValue(Schema.Int, { initial: () => 0 }), data: channels[kind] })
  type Values = { readonly n: number }
  return StateGraph.make(
    kind,
    { state, bodies: { add: ({ n }: Values) => ({ n: n + 1, data: [text(n)] }) } } as never,
    {
      start: "add",
      edges: { add: StateGraph.route(["add", END], ({ n }: Values) => n < steps ? "add" : END) }
    } as never,
    { recursionLimit: steps + 1 }
  ) as unknown as { readonly thread: (id: string) => { readonly invoke: (input: {}) => Run } }
}
type Run = Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>

const runs = (kind: Kind, steps: number, threads: number): Run =>
  Effect.forEach(
    Array.from({ length: threads }, (_, n) => graphOf(kind, steps).thread(`thread ${n}`)),
    (thread) => thread.invoke({}),
    { discard: true }
  )

/** Bytes that some threads take, less those of an empty database. */
const onSqlite = Effect.fnUntraced(function*(run: Run) {
  const path = yield* filename
  const layer = SqlCheckpointer.layerSqlite({ filename: path })
  const size = () => {
    const db = new DatabaseSync(path, { readOnly: true })
    const { total } = db.prepare("SELECT SUM(pgsize) AS total FROM dbstat").get() as { readonly total: number }
    db.close()
    return total
  }
  yield* Effect.provide(Effect.void, Layer.fresh(layer))
  const empty = size()
  yield* Effect.provide(run, Layer.fresh(layer))
  const taken = size() - empty
  yield* Effect.sync(() => rmSync(path, { force: true }))
  return taken
})

const onPostgres = (run: Run) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient
    const size = Effect.map(
      sql.unsafe<{ readonly total: string }>(
        "SELECT SUM(pg_total_relation_size(c.oid)) AS total FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace " +
          "WHERE n.nspname = current_schema() AND c.relkind = 'r'"
      ),
      (rows) => Number(rows[0]!.total)
    )
    const saver = SqlCheckpointer.layer
    yield* Effect.provide(Effect.void, Layer.fresh(saver))
    const empty = yield* size
    yield* Effect.provide(run, Layer.fresh(saver))
    return (yield* size) - empty
  }).pipe(Effect.provide(layerPostgresClient))

/** Times the data. */
const ratio = Effect.fnUntraced(
  function*(
    measure: (run: Run) => Effect.Effect<number, unknown, never>,
    kind: Kind,
    steps: number,
    threads = Math.max(1, Math.round(1_000 / steps))
  ) {
    const taken = yield* measure(runs(kind, steps, threads))
    return taken / (threads * steps * bytes)
  }
)

const savers = {
  sqlite: (run: Run) => Effect.scoped(onSqlite(run)) as Effect.Effect<number, unknown, never>,
  postgres: (run: Run) => onPostgres(run) as Effect.Effect<number, unknown, never>
}

for (const saver of ["sqlite", "postgres"] as const) {
  const measure = savers[saver]
  describe(`a thread on ${saver}`, () => {
    it.live(
      "takes at most twice what 400 supersteps of 500 bytes append",
      () =>
        Effect.gen(function*() {
          const found = yield* ratio(measure, "append", 400, 10)
          if (process.env["SUPERSTEP_SHOW"] !== undefined) console.log(saver, "append", 400, found.toFixed(3))
          assert.isAtMost(found, 2)
          assert.isAbove(found, 1)
        }),
      60_000
    )

    for (const kind of ["append", "delta", "last"] as const) {
      it.live(`takes at most three times what it carries, at any length (${kind})`, () =>
        Effect.gen(function*() {
          for (const steps of [10, 40, 150, 700]) {
            const found = yield* ratio(measure, kind, steps)
            if (process.env["SUPERSTEP_SHOW"] !== undefined) console.log(saver, kind, steps, found.toFixed(2))
            assert.isAtMost(found, 3, `${steps} supersteps`)
          }
        }), 120_000)
    }
  })
}
