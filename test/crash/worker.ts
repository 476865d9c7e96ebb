/**
 * The process that is killed. It runs one fixed graph on a thread of a SQLite file or a Postgres schema, and tells what it does in lines of
 * JSON that are written before it goes on, so that the last line says where death found it.
 *
 * `node worker.ts STORAGE DURABILITY LIFE [hold]`, where the storage is `postgres:PORT:SCHEMA` or a path
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Num from "effect/Number"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { readSync, writeSync } from "node:fs"
import * as Channel from "superstep/Channel"
import type { CheckpointRow, TaskRow } from "superstep/Checkpoint"
import { Checkpointer, type CheckpointerShape } from "superstep/Checkpointer"
import { END } from "superstep/Command"
import * as Interrupt from "superstep/Interrupt"
import * as Node from "superstep/Node"
import { Running } from "superstep/Running"
import * as Send from "superstep/Send"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import * as State from "superstep/State"
import * as StateGraph from "superstep/StateGraph"
import type { Event } from "./Ledger.ts"
import { layerClient } from "./Schema.ts"

const [storage, durability, life, hold] = process.argv.slice(2) as [string, "sync" | "async" | "exit", string, string?]

const say = (...event: Event): void => void writeSync(1, `${JSON.stringify(event)}\n`)

// ---------------------------------------------------------------------------
// The graph
// ---------------------------------------------------------------------------

/** What a node does, and a line before and after. */
const told = <A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Running> =>
  Effect.gen(function*() {
    const { checkpoint, path, task } = yield* Running
    const where = [path.join("|"), checkpoint!, task] as const
    say("node begin", ...where)
    const out = yield* body
    say("node end", ...where)
    return out
  })

const entries = Channel.append(Schema.String)
const sum = Channel.reduced(Schema.Int, Num.ReducerSum)
const trail = Channel.delta({
  value: Schema.Array(Schema.String),
  update: Schema.String,
  initial: () => [],
  reduce: (value, updates) => [...value, ...updates],
  snapshotFrequency: 3
})

class Approve extends Interrupt.make("Approve", { payload: Schema.Int, answer: Schema.String }) {}

class Review extends State.make({ log: entries, total: sum, trail, opened: Schema.String }, { input: ["total"] }) {}

/** A subgraph with a parallel superstep and a pause in it. */
const review = StateGraph.make(
  "review",
  StateGraph.nodes(Review, {
    open: () => told(Effect.succeed({ opened: "opened", log: ["open"], trail: "open" })),
    one: (s) => told(Effect.as(Effect.sleep(1), { log: [`one ${s.opened}`], total: 1, trail: "one" })),
    two: (s) => told(Effect.succeed({ log: [`two ${s.opened}`], total: 2, trail: "two" })),
    three: () => told(Effect.as(Effect.sleep(3), { log: ["three"], total: 3, trail: "three" })),
    close: () => told(Effect.succeed({ log: ["close"], trail: "close" })),
    confirm: (s) => told(Effect.map(Approve.ask(s.total), (answer) => ({ log: [`confirmed ${answer}`] })))
  }),
  {
    start: "open",
    edges: {
      open: ["one", "two", "three"],
      one: StateGraph.join("close"),
      two: StateGraph.join("close"),
      three: StateGraph.join("close"),
      close: "confirm"
    }
  }
)

class Inner extends State.make({ n: Schema.Int, steps: trail }) {}

/** A graph that a node calls. */
const inner = StateGraph.make(
  "inner",
  StateGraph.nodes(Inner, {
    first: (s) => told(Effect.succeed({ n: s.n + 1, steps: `first ${s.n}` })),
    second: (s) => told(Effect.as(Effect.sleep(1), { n: s.n * 3, steps: `second ${s.n}` })),
    third: (s) => told(Effect.succeed({ steps: `third ${s.n}` }))
  }),
  { start: "first", edges: StateGraph.sequence("first", "second", "third") }
)

class Whole extends State.make({
  n: Schema.Int,
  log: entries,
  total: sum,
  trail,
  /** Long, so that a commit takes long enough to be killed in. */
  text: Schema.String,
  count: sum
}, { input: ["n"] }) {}

const fanOut = 12
const ticks = 8
const text = (letter: string, kilobytes: number): string => letter.repeat(kilobytes * 1024)

const whole = StateGraph.make(
  "whole",
  StateGraph.nodes(Whole, {
    prepare: (s) => told(Effect.succeed({ n: s.n + 1, log: ["prepare"], trail: "prepare", text: text("p", 64) })),
    split: () => told(Effect.as(Effect.sleep(1), { log: ["split"], trail: "split" })),
    work: Node.make({
      input: Schema.Struct({ index: Schema.Int }),
      run: ({ index }) =>
        told(Effect.gen(function*() {
          // Four acknowledgements of three tasks, in an order that is not that of the tasks.
          yield* Effect.sleep((index * 7) % 4 * 15)
          const drawn = yield* Random.nextIntBetween(0, 1000)
          return { log: [`work ${index} ${drawn} ${text("w", 8)}`], total: drawn, trail: `work ${index}` }
        }))
    }),
    gather: (s) => told(Effect.succeed({ n: s.n + s.total, log: ["gather"], text: text("g", 64) })),
    review,
    beside: () => told(Effect.as(Effect.sleep(2), { log: ["beside"], total: 100, trail: "beside" })),
    joined: () => told(Effect.as(Effect.sleep(1), { log: ["joined"], trail: "joined" })),
    approve: (s) => told(Effect.map(Approve.ask(s.total), (answer) => ({ log: [`approved ${answer}`] }))),
    caller: (s) =>
      told(Effect.gen(function*() {
        const one = yield* inner.call({ n: s.n })
        const two = yield* inner.call({ n: one.n })
        return { n: two.n, log: [...one.steps, ...two.steps], trail: "caller" }
      })),
    tick: (s) =>
      told(
        Effect.as(Effect.sleep(s.count % 2), {
          count: 1,
          log: [`tick ${s.count}`],
          trail: `tick ${s.count}`,
          text: text("t", 64)
        })
      )
  }),
  {
    start: "prepare",
    edges: {
      prepare: "split",
      split: StateGraph.route(
        ["work"],
        () => Array.from({ length: fanOut }, (_, index) => Send.make("work", { index }))
      ),
      work: "gather",
      gather: ["review", "beside"],
      review: StateGraph.join("joined"),
      beside: StateGraph.join("joined"),
      joined: "approve",
      approve: "caller",
      caller: "tick",
      tick: StateGraph.route(["tick", END], (s) => s.count < ticks ? "tick" : END)
    }
  }
)

// ---------------------------------------------------------------------------
// The saver
// ---------------------------------------------------------------------------

const statusOf = (rows: ReadonlyArray<TaskRow>): string =>
  rows.every(({ status }) => status === "done") ? "done" : "paused"

const where = (namespace: string, { id, parent }: CheckpointRow) => [namespace, id, parent ?? ""] as const

/** A saver that tells what it is asked to store, and what is stored. */
const telling = (saver: CheckpointerShape): CheckpointerShape => ({
  ...saver,
  putTasks: (thread, put) =>
    Effect.suspend(() => {
      const { namespace, tasks: rows } = put
      say("put begin", namespace, statusOf(rows))
      return Effect.tap(saver.putTasks(thread, put), () =>
        Effect.sync(() => {
          for (const { checkpoint, status, task } of rows) {
            if (status === "done") say("acked", namespace, checkpoint, task)
          }
          say("put end", namespace, statusOf(rows))
        }))
    }),
  commit: (thread, commit) =>
    Effect.suspend(() => {
      const at = where(commit.namespace, commit.checkpoint)
      say("commit begin", ...at)
      return Effect.tap(saver.commit(thread, commit), () =>
        Effect.sync(() => {
          for (const { checkpoint, status, task } of commit.tasks) {
            if (status === "done") say("acked", commit.namespace, checkpoint, task)
          }
          say("commit end", ...at)
        }))
    })
})

const layer = Layer.effect(Checkpointer, Effect.map(Checkpointer, telling)).pipe(
  Layer.provide(
    storage.startsWith("postgres:")
      ? SqlCheckpointer.layer.pipe(Layer.provide(layerClient(storage)))
      : SqlCheckpointer.layerSqlite({ filename: storage })
  )
)

// ---------------------------------------------------------------------------
// The run
// ---------------------------------------------------------------------------

const thread = whole.thread("crash")
const input = { n: 1 }
const options = { durability }

const replies = (requests: ReadonlyArray<{ readonly id: string; readonly payload: unknown }>) =>
  requests.map(({ id, payload }) => Approve.reply(`yes to ${String(payload)}`, { id }))

/** Answers what the thread asks, and goes on; if another runner was faster, starts over. */
const resume = (
  requests: ReadonlyArray<{ readonly id: string; readonly payload: unknown }>
): ReturnType<typeof thread.start> =>
  Effect.suspend(() => {
    say("run", "resume")
    return thread.resume(replies(requests), options)
  })

const start = Effect.suspend(() => {
  say("run", "start")
  return thread.start(input, options)
})

/** A new input is refused while work is pending; the refusal says what to answer. */
const refused = Effect.suspend(() => {
  say("run", "invoke")
  return thread.invoke(input, options)
}).pipe(Effect.catchTag("PendingWork", ({ requests }) => requests.length === 0 ? start : resume(requests)))

/** What the thread asks for is found in its state. */
const found = Effect.gen(function*() {
  const { next, requests } = yield* thread.state()
  if (requests.length > 0) return yield* resume(requests)
  return yield* Number(life) % 3 === 2 && next.length > 0 ? refused : start
}).pipe(Effect.catchTag("UnknownThread", () => start))

/** Each life finds out in its own way that the thread is there already. */
const first: ReturnType<typeof thread.start> = Number(life) % 3 === 0 ? start : found

const untilDone = (run: ReturnType<typeof thread.start>): ReturnType<typeof thread.start> =>
  run.pipe(
    Effect.catchTag("GraphInterrupt", ({ requests }) => {
      say("paused")
      return untilDone(resume(requests))
    }),
    Effect.catchTag("InvalidReply", () => untilDone(start))
  )

const main = Effect.suspend(() => {
  say("ready")
  if (hold !== undefined) readSync(0, Buffer.alloc(16))
  return untilDone(first)
}).pipe(
  Effect.provide(layer),
  Effect.match({
    onFailure: (error) => say("failed", error._tag, error.message),
    onSuccess: (output) => say("done", JSON.stringify(output))
  })
)

Effect.runPromise(main).then(() => process.exit(0), (error: unknown) => {
  console.error(error)
  process.exit(1)
})
