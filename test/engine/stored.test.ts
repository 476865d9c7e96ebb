/** Between the machine and its stored rows: what is kept, when the whole state is kept, and what is refused when it is read back. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Channel, Send, State, StateGraph } from "superstep"
import { type CheckpointRow, format, type TaskRow } from "superstep/Checkpoint"
import { type Checkpoint, initial } from "../../src/internal/engine/checkpoint.ts"
import { plan } from "../../src/internal/engine/plan.ts"
import type { Program } from "../../src/internal/engine/program.ts"
import { decodeCheckpoint, decodeTask } from "../../src/internal/engine/restored.ts"
import {
  type Answers,
  checkpointRow,
  emptyPlace,
  encodeCheckpoint,
  encodeTask,
  encodeWrites,
  type Fault,
  type Place,
  type TaskRecord
} from "../../src/internal/engine/stored.ts"
import type { Write } from "../../src/internal/engine/writes.ts"
import { apply, channel, fed, program, superstep, taskWrites, valueAt } from "./machine.ts"
import { resealed, resealedTask } from "./rows.ts"

const words = Schema.Array(Schema.String)
const concat = (
  state: ReadonlyArray<string>,
  updates: ReadonlyArray<ReadonlyArray<string>>
) => [...state, ...updates.flat()]

const fields = (snapshotFrequency: number) => ({
  delta: Channel.delta({ value: words, initial: () => [], reduce: concat, snapshotFrequency }),
  list: Channel.append(Schema.String),
  last: Channel.lastValue(Schema.Int, { initial: () => 0 }),
  open: Channel.untracked<unknown>(),
  flash: Channel.ephemeral(Schema.Date)
})

const machineOf = (snapshotFrequency: number): Program =>
  program(State.make(fields(snapshotFrequency)), { a: () => undefined, b: () => undefined }, {
    start: "a",
    edges: { a: "b", b: "a" }
  })

// ---------------------------------------------------------------------------
// A thread in memory, superstep by superstep
// ---------------------------------------------------------------------------

/** Stores superstep after superstep in which the running node gives the next output. */
const stored = (of: Program, outputs: ReadonlyArray<unknown>, before: Place = emptyPlace(of, "")) => {
  let place = before
  const rows: Array<CheckpointRow> = []
  const tasks: Array<TaskRow> = []
  const lives: Array<Checkpoint> = []
  const commit = (
    next: Checkpoint,
    written: ReadonlyArray<{ readonly id: string; readonly writes: ReadonlyArray<Write> }>,
    isInput: boolean
  ): void => {
    const beside = place.id === undefined ?
      [] :
      written.map(({ id, writes }) =>
        Result.getOrThrow(
          encodeTask(of, undefined, { checkpoint: place.id!, task: id, revision: 1 }, {
            status: "done",
            writes,
            graphs: []
          })
        )
      )
    const encoded = Result.getOrThrow(encodeCheckpoint(of, place, { ...place, id: undefined, checkpoint: next }, {
      isInput,
      finished: beside.length,
      writesLength: beside.reduce((sum, { data }) => sum + data.length, 0)
    }))
    const id = `c${rows.length}`
    const row: Omit<CheckpointRow, "data"> = {
      id,
      parent: place.id,
      branch: 1,
      step: next.step,
      source: isInput ? "input" : "loop",
      createdMillis: 0,
      format,
      isKeyframe: encoded.isKeyframe,
      metadata: "{}"
    }
    rows.push(checkpointRow(row, encoded.data))
    tasks.push(...beside)
    place = { ...place, id, checkpoint: next, chain: encoded.chain }
    lives.push(next)
  }
  commit(fed(of, {}), [], true)
  commit(
    superstep(of, place.checkpoint),
    plan(of, place.checkpoint).map((task) => taskWrites(of, place.checkpoint, task, {})),
    false
  )
  for (const output of outputs) {
    const done = plan(of, place.checkpoint).map((task) => taskWrites(of, place.checkpoint, task, output))
    commit(apply(of, place.checkpoint, done), done, false)
  }
  return { rows, tasks, lives, place }
}

const chainTo = (rows: ReadonlyArray<CheckpointRow>, index: number): ReadonlyArray<CheckpointRow> => {
  let first = index
  while (!rows[first]!.isKeyframe) first--
  return rows.slice(first, index + 1)
}

const readBack = (
  of: Program,
  { rows, tasks }: { rows: ReadonlyArray<CheckpointRow>; tasks: ReadonlyArray<TaskRow> },
  index: number
) => {
  const chain = chainTo(rows, index)
  return decodeCheckpoint(of, chain, tasks.filter(({ checkpoint }) => chain.some(({ id }) => id === checkpoint)))
}

const faultOf = <A>(result: Result.Result<A, Fault>): Fault => Result.getOrThrow(Result.flip(result))

// ---------------------------------------------------------------------------
// Checkpoints
// ---------------------------------------------------------------------------

const outputs = Array.from({ length: 12 }, (_, n) =>
  n % 5 === 4
    ? { delta: Channel.overwrite([`over${n}`]), list: Channel.overwrite(["x"]), last: n }
    : { delta: [`d${n}`], ...(n % 2 === 0 ? { list: [`l${n}`] } : {}), flash: new Date(n) })

for (const frequency of [1, 2, 3, 1000]) {
  it(`LG#14 LG#15 LG#16 every checkpoint reads back as it was, with a snapshot every ${frequency} writes at the latest`, () => {
    const machine = machineOf(frequency)
    const all = stored(machine, outputs)
    for (const [index, live] of all.lives.entries()) {
      const place = Result.getOrThrow(readBack(machine, all, index))
      const { live: transient, updated: _, ...read } = place.checkpoint
      const { live: expectedTransient, updated: __, ...expected } = live
      assert.deepStrictEqual(read, expected)
      assert.deepStrictEqual([...transient].sort(), [...expectedTransient].sort())
      assert.isUndefined(place.checkpoint.updated)
      assert.strictEqual(place.id, `c${index}`)
      // Never more than `frequency` supersteps with writes to fold.
      const folds = chainTo(all.rows, index).filter(({ data }) => data.includes("\"folded\":[\"delta\"")).length
      assert.isAtMost(folds, frequency - 1)
    }
  })
}

it("LG#14 the chain that is read back goes on as the one in memory would", () => {
  const machine = machineOf(3)
  const all = stored(machine, outputs)
  const read = Result.getOrThrow(readBack(machine, all, all.rows.length - 1))
  assert.deepStrictEqual(read.chain, all.place.chain)
})

it("Law6 what only grows is stored as what was added", () => {
  const machine = machineOf(1000)
  const { rows, tasks } = stored(machine, [{ list: ["x".repeat(20_000)], delta: ["y".repeat(20_000)] }, {}, {
    list: ["small"],
    delta: ["small"]
  }])
  const last = rows.at(-1)!
  // Right after the big write the whole state is stored once; what is added later costs what it is.
  assert.isFalse(last.isKeyframe)
  assert.isBelow(last.data.length + tasks.at(-1)!.data.length, 500)
})

it("K9 a channel that did not change is not stored again", () => {
  const machine = machineOf(1000)
  const { rows } = stored(machine, [{ last: 123456 }, {}, {}])
  assert.deepStrictEqual(rows.slice(-2).map(({ data }) => data.includes("123456")), [false, false])
})

it("Law6 changes never outgrow the state they lead to by much: a keyframe bounds the reading", () => {
  const machine = machineOf(1000)
  const all = stored(machine, Array.from({ length: 400 }, (_, n) => ({ last: n })))
  const longest = Math.max(...all.rows.map((_, index) => chainTo(all.rows, index).length))
  assert.isAtMost(longest, 40)
  assert.isAbove(longest, 2)
})

it("§1.5 an untracked value is not stored, and neither is a write of it", () => {
  const machine = machineOf(1000)
  const secret = { open: "secret", last: 1 }
  const all = stored(machine, [secret])
  assert.strictEqual(valueAt(machine, all.lives.at(-1)!, "open"), "secret")
  assert.isFalse(JSON.stringify(all.rows).includes("secret") || JSON.stringify(all.tasks).includes("secret"))
  const read = Result.getOrThrow(readBack(machine, all, all.rows.length - 1))
  assert.isUndefined(valueAt(machine, read.checkpoint, "open"))
  assert.strictEqual(valueAt(machine, read.checkpoint, "last"), 1)
})

describe("Law17 what does not read back is refused, and named", () => {
  const machine = machineOf(1000)
  const all = stored(machine, [{ list: ["a"], last: 5 }, { delta: ["b"] }])
  const last = all.rows.length - 1
  const damaged = (change: (row: CheckpointRow, index: number) => CheckpointRow) =>
    readBack(machine, { ...all, rows: all.rows.map(change) }, last)

  it("Law17 a format of the future", () => {
    assert.deepStrictEqual(faultOf(damaged((row) => ({ ...row, format: format + 1 }))), {
      reason: "Format",
      channel: undefined,
      detail: `it has format ${format + 1}; this version reads up to ${format}`
    })
  })

  it("Law17 a text that is no JSON", () => {
    assert.deepInclude(faultOf(damaged((row, index) => index === last ? { ...row, data: "{" } : row)), {
      reason: "Decode",
      channel: undefined
    })
    const broken = all.tasks.map((row) => ({ ...row, data: "[" }))
    assert.deepInclude(faultOf(readBack(machine, { ...all, tasks: broken }, last)), {
      reason: "Decode",
      channel: undefined
    })
  })

  it("Law17 a value that its channel refuses", () => {
    const forged = (from: string, to: string) =>
      faultOf(
        readBack(machine, {
          ...all,
          tasks: all.tasks.map((row) => resealedTask(row, (json) => json.replace(from, to)))
        }, last)
      )
    assert.deepInclude(forged("[\"last\",5]", "[\"last\",\"five\"]"), { reason: "Decode", channel: "last" })
    assert.deepInclude(forged("[\"a\"]", "[1]"), { reason: "Decode", channel: "list" })
    const cell = damaged((row) =>
      resealed(row, (json) => json.replace("\"cells\":[\"branch:to:a\"", "\"cells\":[[\"branch:to:a\",1]"))
    )
    assert.deepInclude(faultOf(cell), { reason: "Decode", channel: "branch:to:a" })
  })

  it("Law18 a channel that the graph no longer has", () => {
    const smaller = program(State.make({ last: Channel.lastValue(Schema.Int, { initial: () => 0 }) }), {
      a: () => undefined,
      b: () => undefined
    }, { start: "a", edges: { a: "b", b: "a" } })
    assert.deepStrictEqual(faultOf(readBack(smaller, all, last)), {
      reason: "Graph",
      graph: smaller.name,
      differences: ["delta", "list"].map((name) => ({ kind: "KeyGone" as const, name }))
    })
  })

  it("Law17 a chain whose keyframe is missing", () => {
    const fault = faultOf(decodeCheckpoint(machine, all.rows.slice(1).filter((row) => !row.isKeyframe), all.tasks))
    assert.deepStrictEqual(fault, { reason: "Decode", channel: undefined, detail: "its keyframe is missing" })
    assert.strictEqual(faultOf(decodeCheckpoint(machine, [], [])).reason, "Decode")
  })

  it("Law17 a value that does not encode names its channel", () => {
    const cells = initial(machine).cells.map((cell, number) =>
      number === channel(machine, "last") ? { ...cell, value: "text" } : cell
    ) as Checkpoint["cells"]
    const versions = machine.channels.map(() => 1)
    const place = { ...emptyPlace(machine, ""), checkpoint: { ...initial(machine), cells, versions } }
    assert.deepInclude(
      faultOf(encodeCheckpoint(machine, undefined, place, { isInput: true, finished: 0, writesLength: 0 })),
      {
        reason: "Encode",
        channel: "last"
      }
    )
    assert.deepInclude(faultOf(encodeWrites(machine, [{ channel: channel(machine, "list"), value: 5 }])), {
      reason: "Encode",
      channel: "list"
    })
  })
})

// ---------------------------------------------------------------------------
// Tasks
// ---------------------------------------------------------------------------

describe("task records", () => {
  const machine = program(State.make(fields(2)), { a: () => undefined }, { start: StateGraph.route(["a"], () => "a") })
  const there = (record: TaskRecord): TaskRecord =>
    Result.getOrThrow(
      decodeTask(
        machine,
        undefined,
        Result.getOrThrow(encodeTask(machine, undefined, { checkpoint: "c", task: "pull:a", revision: 1 }, record))
      )
    )

  it("Law5 Law12 writes, Overwrites and Sends come back as they were", () => {
    const record: TaskRecord = {
      status: "done",
      writes: [
        { channel: channel(machine, "list"), value: ["a"] },
        { channel: channel(machine, "delta"), value: Channel.overwrite(["b"]) },
        { channel: channel(machine, "flash"), value: new Date(5) },
        { channel: channel(machine, "branch:to:a"), value: null },
        {
          channel: machine.tasks,
          value: Send.make("a", { last: 1, list: Channel.overwrite(["x"]) } as never, { timeout: 10 })
        }
      ],
      graphs: [["a|b", "c7"]]
    }
    const sendless = { ...record, writes: record.writes.slice(0, 4) }
    assert.deepStrictEqual(there(sendless), sendless)
  })

  it("S4 a Send is stored with its input, as its node takes it, and its timeout", () => {
    for (const send of [Send.make("a", { last: 1, list: ["x"] }), Send.make("a", {}, { timeout: 10 })]) {
      const record: TaskRecord = { status: "done", writes: [{ channel: machine.tasks, value: send }], graphs: [] }
      assert.deepStrictEqual(there(record), record)
    }
  })

  it("§1.5 untracked keys of a Send are not stored", () => {
    const send = Send.make("a", { last: 1, open: "secret" })
    const row = Result.getOrThrow(
      encodeTask(machine, undefined, { checkpoint: "c", task: "pull:a", revision: 1 }, {
        status: "done",
        writes: [{ channel: machine.tasks, value: send }],
        graphs: []
      })
    )
    assert.isFalse(row.data.includes("secret"))
  })

  it("Law10 Law12 pauses and failures come back with their answers", () => {
    const answers: Answers = new Map([
      ["q1", { tag: "Approve", payload: "\"sure?\"", answer: "yes", graph: "child|node~0" }],
      ["q0", { tag: "Approve", payload: "\"again?\"", answer: null, isHandler: true }]
    ])
    const paused: TaskRecord = {
      status: "paused",
      requests: [
        { id: "q2", tag: "Approve", payload: { a: 1 } },
        { id: "q3", tag: "Approve", payload: null, graph: "child", isHandler: true }
      ],
      answers,
      graphs: [["a", "c1"]]
    }
    const failed: TaskRecord = { status: "failed", error: "Broken: boom", answers, graphs: [] }
    assert.deepStrictEqual(there(paused), paused)
    assert.deepStrictEqual(there(failed), failed)
    assert.deepStrictEqual(there({ ...failed, answers: new Map() }), { ...failed, answers: new Map() })
  })
})
