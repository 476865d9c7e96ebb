/** Whether what is stored of a thread is what its results fold to. Nothing runs. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { CheckpointRow, Divergence, Dump, TaskRow, Verification } from "../../Checkpoint.ts"
import { canonical } from "../canonical.ts"
import { applyWrites, type TaskWrites } from "../engine/apply.ts"
import type { Checkpoint } from "../engine/checkpoint.ts"
import { checkpointId, seedOf } from "../engine/ids.ts"
import { inputRecords, withCommand, withInputRecords } from "../engine/inputs.ts"
import { checkpointKey, isRoot, programAt, readPlace, ROOT, segmentsOf } from "../engine/namespace.ts"
import { INPUT_TASK, isInputTask, plan } from "../engine/plan.ts"
import { INPUT_NODE, type Program } from "../engine/program.ts"
import { byTask, dataOf, graphsIn, isOfAnother, recordsAt, Walk } from "../engine/restored.ts"
import {
  cellOf,
  type CheckpointData,
  dataFor,
  type Fault,
  handedUp,
  type Place,
  storedBy,
  type TaskRecord,
  wholeState
} from "../engine/stored.ts"
import type { Write } from "../engine/writes.ts"
import { growing, grown } from "../growing.ts"
import { dumped } from "./copy.ts"
import { checkMetadata, metadataOf, toError } from "./session.ts"
import type { Erased } from "./task.ts"

/** Tasks whose results a checkpoint follows from, in task order. */
interface Done {
  readonly writes: ReadonlyArray<TaskWrites>
  readonly records: ReadonlyArray<TaskRecord & { readonly status: "done" }>
}

const inputOf = (
  program: Program,
  { checkpoint, records }: Place,
  never: TaskWrites
): Result.Result<Checkpoint, unknown> => {
  const record = records.get(INPUT_TASK)
  const writes = record?.status === "done" ? record.writes : []
  return applyWrites(program, checkpoint, [{ id: INPUT_TASK, name: INPUT_NODE, woken: undefined, writes }, never], {
    isSuperstep: false,
    isInput: true,
    step: checkpoint.step + 1
  })
}

const doneAt = (program: Program, base: Checkpoint, records: Place["records"]): Done => {
  const done = plan(program, base).flatMap((task) => {
    const record = records.get(task.id)
    return record?.status === "done" ? [{ task, record }] : []
  })
  const inputs = [...records].flatMap(([id, record]) => record.status === "done" && isInputTask(id) ? [record] : [])
  return {
    writes: done.map(({ record, task: { id, kind, node } }) => ({
      id,
      name: node.name,
      woken: kind === "pull" ? node : undefined,
      writes: record.writes
    })),
    records: [...inputs, ...done.map(({ record }) => record)]
  }
}

/** Writes that are never stored, as far as a checkpoint tells that there were some at one version. */
const unstored = (
  program: Program,
  before: Place,
  { touched = [], versions = [] }: CheckpointData,
  at: number,
  newest: number
): ReadonlyArray<Write> =>
  program.channels.flatMap(({ name, rule }, channel) => {
    if (rule._tag !== "UntrackedValue") return []
    const told = versions.find(([one]) => one === name)?.[1]
    const version = told ?? (touched.includes(name) ? newest : before.checkpoint.versions[channel])
    return version === at ? [{ channel, value: null }] : []
  })

/** The results with what Commands from outside wrote that is never stored. */
const withUnstored = (
  program: Program,
  before: Place,
  missing: (at: number) => ReadonlyArray<Write>
): Result.Result<Place, unknown> => {
  const records = new Map(before.records)
  let checkpoint = before.checkpoint
  for (const [id, record] of inputRecords(before)) {
    const writes = [...record.writes, ...missing(checkpoint.version + 1)]
    const next = withCommand(program, checkpoint, id, writes)
    if (Result.isFailure(next)) return Result.fail(next.failure)
    records.set(id, { ...record, writes })
    checkpoint = next.success
  }
  return Result.succeed({ ...before, records })
}

/** Where the graph stands after an input, or after the superstep whose results stand beside a checkpoint. */
const refolded = (
  program: Program,
  before: Place,
  { id, source }: CheckpointRow,
  data: CheckpointData
): Result.Result<Place, unknown> => {
  const newest = data.version ?? before.checkpoint.version + 1
  const missing = (at: number) => at > before.checkpoint.version ? unstored(program, before, data, at, newest) : []
  const never: TaskWrites = { id: "unstored", name: INPUT_NODE, woken: undefined, writes: missing(newest) }
  if (source === "input") {
    return Result.map(
      inputOf(program, before, never),
      (checkpoint) => ({ ...before, id, checkpoint, records: new Map(), up: growing([]) })
    )
  }
  const at = withUnstored(program, before, missing)
  return Result.flatMap(
    Result.flatMap(at, (at) => withInputRecords(program, at)),
    (base) => {
      const { records, writes } = doneAt(program, base, before.records)
      const folded = applyWrites(program, base, [...writes, never], {
        isSuperstep: true,
        step: before.checkpoint.step + 1
      })
      return Result.map(folded, (checkpoint): Place => ({
        ...before,
        id,
        checkpoint,
        records: new Map(),
        graphs: new Map([...before.graphs, ...records.flatMap(({ graphs }) => graphs)]),
        up: before.origin === "" ? before.up : grown(before.up, handedUp(program, writes))
      }))
    }
  )
}

const parts = ["tasks", "version", "versions", "seen", "cells", "cleared", "folded", "touched", "graphs", "up"] as const

/** The first of what a checkpoint says that is not what it should say; none if all is. */
const differenceOf = (
  is: CheckpointData,
  should: CheckpointData
): Omit<Divergence, "path" | "checkpoint"> | undefined => {
  const text = (value: unknown): string => canonical((value ?? null) as never)
  const part = parts.find((one) => text(is[one]) !== text(should[one]))
  if (part === undefined) return undefined
  const named = (list: CheckpointData["cells"] = []) =>
    new Map(list.map(cellOf).map(([name, json]) => [name, text(json)]))
  const [one, other] = [named(is.cells), named(should.cells)]
  const channel = [...new Set([...one.keys(), ...other.keys()])].find((name) => one.get(name) !== other.get(name))
  return { channel, detail: `its ${part} are not what the results before it fold to` }
}

interface Checked {
  readonly place: Place
  readonly isRefolded: boolean
  readonly wrong?: Omit<Divergence, "path" | "checkpoint"> | undefined
}

/** Goes through the checkpoints of one namespace, in the order in which they were stored. */
class Verifier {
  readonly #thread: string
  readonly #namespace: string
  readonly #rows: ReadonlyMap<string, CheckpointRow>
  readonly #tasks: ReadonlyMap<string, ReadonlyArray<TaskRow>>
  /** Where the graph stood at checkpoints that others follow. */
  readonly #places = new Map<string, Place>()
  /** By checkpoint: how many follow it that have not been looked at. */
  readonly #followers = new Map<string, number>()
  #walk: Walk | undefined = undefined

  constructor(
    thread: string,
    namespace: string,
    rows: ReadonlyArray<CheckpointRow>,
    tasks: ReadonlyArray<TaskRow>
  ) {
    this.#thread = thread
    this.#namespace = namespace
    this.#rows = new Map(rows.map((row) => [row.id, row]))
    this.#tasks = Map.groupBy(tasks, ({ checkpoint }) => checkpoint)
    for (const { parent } of rows) {
      if (parent !== undefined) this.#followers.set(parent, (this.#followers.get(parent) ?? 0) + 1)
    }
  }

  /** Fails where a row is damaged. */
  sealed(row: CheckpointRow): Result.Result<unknown, unknown> {
    const tasks = (this.#tasks.get(row.id) ?? []).map((task) => graphsIn(task))
    return Result.mapError(Result.andThen(dataOf(row), Result.all(tasks)), toError(this.#thread, row.id))
  }

  check(program: Program, row: CheckpointRow): Result.Result<Checked, unknown> {
    const checked = Result.flatMap(Result.mapError(dataOf(row), toError(this.#thread, row.id)), (data) => {
      const before = row.parent === undefined ? undefined : this.#places.get(row.parent)
      const follows = before !== undefined && (!row.isKeyframe || data.tasks !== undefined) &&
        before.chain.by?.graph === program.fingerprint && (data.graph ?? program.fingerprint) === program.fingerprint
      return follows ? this.#refold(program, row, data, before) : this.#read(program, row)
    })
    if (Result.isSuccess(checked) && this.#followers.has(row.id)) this.#places.set(row.id, checked.success.place)
    const left = row.parent === undefined ? undefined : this.#followers.get(row.parent)! - 1
    if (left === 0) this.#places.delete(row.parent!)
    else if (left !== undefined) this.#followers.set(row.parent!, left)
    return checked
  }

  /** The graph as it is read from its nearest keyframe. */
  #read(program: Program, row: CheckpointRow): Result.Result<Checked, unknown> {
    return Result.mapBoth(Result.flatMap(this.#walkTo(program, row), ({ place }) => place), {
      onFailure: toError(this.#thread, row.id),
      onSuccess: (place): Checked => ({ place, isRefolded: false })
    })
  }

  /** Goes on from the checkpoint that was read last, if that is the one before. */
  #walkTo(program: Program, row: CheckpointRow): Result.Result<Walk, Fault> {
    const chain = new Set<CheckpointRow>()
    let walk = this.#walk?.isNext(row) === true ? this.#walk : undefined
    for (let at: CheckpointRow | undefined = row; at !== undefined && !chain.has(at);) {
      chain.add(at)
      at = walk !== undefined || at.isKeyframe || at.parent === undefined ? undefined : this.#rows.get(at.parent)
    }
    walk ??= new Walk(program, (checkpoint) => this.#tasks.get(checkpoint) ?? [])
    this.#walk = undefined
    for (const one of [...chain].toReversed()) {
      const taken = walk.take(one)
      if (Result.isFailure(taken)) return Result.fail(taken.failure)
    }
    return Result.succeed(this.#walk = walk)
  }

  /** Whether its id is another than the one that derives from what led to it. */
  #misnamed(program: Program, row: CheckpointRow, before: Place): Omit<Divergence, "path" | "checkpoint"> | undefined {
    const rows = (this.#tasks.get(before.id!) ?? []).filter(({ status }) => status === "done")
    // A result that another version has stored: the id derives from what this one made of it.
    if (rows.some(isOfAnother)) return undefined
    const { inside } = metadataOf(row)
    const id = checkpointId({
      namespace: this.#namespace,
      branch: row.branch,
      seed: inside !== undefined && row.source === "input" ? seedOf(inside, this.#namespace) : undefined,
      before: before.id!,
      graph: program.fingerprint,
      source: row.source,
      step: row.step,
      whole: "",
      rows: rows.toSorted(byTask)
    })
    return id === row.id
      ? undefined
      : { channel: undefined, detail: "its id is not the one that derives from what led to it" }
  }

  /** The graph as it comes from the checkpoint before, and whether that is what is stored. */
  #refold(program: Program, row: CheckpointRow, data: CheckpointData, before: Place): Result.Result<Checked, unknown> {
    const made = refolded(program, before, row, data)
    if (Result.isFailure(made)) {
      const wrong = { channel: undefined, detail: `the results before it do not fold: ${String(made.failure)}` }
      return Result.map(this.#read(program, row), (read) => ({ ...read, isRefolded: true, wrong }))
    }
    const finished = (this.#tasks.get(before.id!) ?? []).filter(({ status }) => status === "done").length
    const following = { ...wholeState, finished, isInput: row.source === "input" }
    const change = row.isKeyframe ? undefined : before
    const should = Result.map(
      dataFor(program, change, made.success, following),
      (data) => row.isKeyframe ? { ...data, tasks: finished } : data
    )
    const wrong = Result.isFailure(should)
      ? { channel: undefined, detail: "what the results before it fold to has no stored form" }
      : differenceOf(data, should.success) ?? this.#misnamed(program, row, before)
    if (wrong !== undefined) {
      return Result.map(this.#read(program, row), (read) => ({ ...read, isRefolded: true, wrong }))
    }
    const by = storedBy(program)
    return Result.mapBoth(recordsAt(program, by, this.#tasks.get(row.id) ?? []), {
      onFailure: toError(this.#thread, row.id),
      onSuccess: (records): Checked => ({
        place: { ...made.success, origin: data.origin ?? made.success.origin, records, chain: { ...before.chain, by } },
        isRefolded: true
      })
    })
  }
}

/** Where a branch, or a graph inside a task, stands at what is not there; or a branch stands nowhere. */
const missingHead = ({ checkpoints, heads }: Dump): Divergence | undefined => {
  const known = new Set(checkpoints.map(({ namespace, row }) => checkpointKey(namespace, row.id)))
  const branches = new Set<number>()
  for (const { branch, id, place } of heads) {
    if (place === "") branches.add(branch)
    const namespace = place === "" ? ROOT : readPlace(place)?.namespace
    if (namespace === undefined || known.has(checkpointKey(namespace, id))) continue
    return { path: segmentsOf(namespace), checkpoint: id, channel: undefined, detail: "it is missing" }
  }
  const lost = checkpoints.findLast(({ namespace, row }) => isRoot(namespace) && !branches.has(row.branch))
  return lost && {
    path: [],
    checkpoint: lost.row.id,
    channel: undefined,
    detail: `nothing tells where branch ${lost.row.branch} stands`
  }
}

/** Reads all of a thread, and folds anew what follows from results that are stored. */
export const verify: (program: Program, thread: string) => Erased<Verification> = Effect.fnUntraced(
  function*(program: Program, thread: string) {
    const dump = yield* dumped(thread)
    const { checkpoints, tasks } = dump
    const beside = Map.groupBy(tasks, ({ namespace }) => namespace)
    let refolded = 0
    let divergence: Divergence | undefined = missingHead(dump)
    for (const [namespace, all] of Map.groupBy(checkpoints, (one) => one.namespace)) {
      const rows = all.map(({ row }) => row)
      const verifier = new Verifier(thread, namespace, rows, (beside.get(namespace) ?? []).map(({ row }) => row))
      const own = programAt(program, segmentsOf(namespace))
      yield* checkMetadata(thread, rows)
      for (const row of rows) {
        yield* Effect.fromResult(verifier.sealed(row))
        if (own === undefined) continue
        const { isRefolded, wrong } = yield* Effect.fromResult(verifier.check(own, row))
        if (isRefolded) refolded++
        if (wrong !== undefined) divergence ??= { path: segmentsOf(namespace), checkpoint: row.id, ...wrong }
      }
    }
    return { checkpoints: checkpoints.length, refolded, divergence }
  }
) as (program: Program, thread: string) => Erased<Verification>
