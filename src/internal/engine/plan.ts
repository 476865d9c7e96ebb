/** Which tasks the next superstep has. Pure; its cost is that of the channels that changed. */
import * as Option from "effect/Option"
import * as Channel from "../../Channel.ts"
import { START } from "../../Command.ts"
import { StalledJoin } from "../../GraphError.ts"
import type * as Send from "../../Send.ts"
import { isFragile } from "../freeze.ts"
import { type Checkpoint, read } from "./checkpoint.ts"
import { placeOf } from "./namespace.ts"
import type { NodeProgram, Program } from "./program.ts"

export interface Task {
  /** Unique in its superstep, and sorts like the task's place in it: woken nodes by name, then Sends by index. */
  readonly id: string
  /** The place of the task as a segment of a namespace: the node's name, with the index of a Send. */
  readonly place: string
  readonly kind: "pull" | "send"
  readonly node: NodeProgram
  readonly input: unknown
  readonly timeoutMillis: number | undefined
}

/** An input, or the first Command from outside. Sorts before every task. */
export const INPUT_TASK = "input"

/** Whether a record holds the writes of an input or of a Command from outside. */
export const isInputTask = (id: string): boolean => id === INPUT_TASK || id.startsWith(`${INPUT_TASK}:`)

/** The id of the n-th Command from outside. */
export const inputTask = (n: number): string => `${INPUT_TASK}:${String(n).padStart(10, "0")}`

const pullId = (node: string): string => `pull:${node}`

/** The id of the start, which hands the input on. */
export const START_TASK = pullId(START)

const pullTask = (node: NodeProgram, input: unknown): Task => ({
  id: pullId(node.name),
  place: placeOf(node.name, undefined),
  kind: "pull",
  node,
  input,
  timeoutMillis: undefined
})

const sendTask = (node: NodeProgram, index: number, send: Send.Any): Task => ({
  id: `send:${String(index).padStart(10, "0")}:${node.name}`,
  place: placeOf(node.name, index),
  kind: "send",
  node,
  input: node.input.handOut(send.arg),
  timeoutMillis: send.timeoutMillis
})

/** The task with an input of its own: where the input cannot be frozen, an attempt may have changed it. */
export const anew = (program: Program, checkpoint: Checkpoint, task: Task): Task => {
  if (task.kind === "pull") {
    return { ...task, input: Option.getOrElse(read(program, checkpoint.cells, task.node.read), () => task.input) }
  }
  const sends = Option.getOrThrow(checkpoint.cells[program.tasks]!) as ReadonlyArray<Send.Any>
  return { ...task, input: task.node.input.handOut(sends[sendIndex(task)]!.arg) }
}

const isWoken = (program: Program, checkpoint: Checkpoint, node: NodeProgram): boolean => {
  const seen = checkpoint.seen[node.number]!
  for (const c of node.triggers) {
    if (checkpoint.versions[c]! > seen && Channel.isAvailable(program.channels[c]!.rule, checkpoint.cells[c]!)) {
      return true
    }
  }
  return false
}

/** Node numbers worth asking: those that the changed channels wake or feed, or all when that is not known. */
const candidates = (program: Program, checkpoint: Checkpoint): ReadonlyArray<number> => {
  const { updated } = checkpoint
  if (updated === undefined) return program.nodes.map((node) => node.number)
  if (updated.length === 0) return updated
  if (updated.length === 1) return program.askedBy[updated[0]!]!
  const found = new Set<number>()
  for (const c of updated) for (const n of program.askedBy[c]!) found.add(n)
  return found.size < 2 ? [...found] : [...found].sort((a, b) => a - b)
}

/** The index of a Send's task. */
export const sendIndex = (task: Task): number => Number(task.id.split(":")[1])

/** The tasks of the next superstep, in the order in which their writes fold. */
export const plan = (program: Program, checkpoint: Checkpoint): ReadonlyArray<Task> => {
  const tasks: Array<Task> = []
  // Nodes that read the same channels share one frozen input.
  const inputs = new Map<ReadonlyArray<number>, unknown>()
  for (const number of candidates(program, checkpoint)) {
    const node = program.nodes[number]!
    if (!isWoken(program, checkpoint, node)) continue
    const key = node.read._tag === "Record" ? node.read.channels : undefined
    if (key !== undefined && inputs.has(key)) {
      tasks.push(pullTask(node, inputs.get(key)))
      continue
    }
    const input = read(program, checkpoint.cells, node.read)
    if (Option.isNone(input)) continue
    // What cannot be frozen is a copy, and each of them needs its own.
    if (key !== undefined && !Object.values(input.value as object).some(isFragile)) inputs.set(key, input.value)
    tasks.push(pullTask(node, input.value))
  }
  const sends = checkpoint.cells[program.tasks]!
  if (Option.isSome(sends)) {
    // An update from outside that took the place of a Send leaves a gap: the others keep their places.
    const packets = sends.value as ReadonlyArray<Send.Any | null>
    for (let index = 0; index < packets.length; index++) {
      const packet = packets[index]!
      if (packet === null) continue
      tasks.push(sendTask(program.nodes[program.nodeNumber.get(packet.node)!]!, index, packet))
    }
  }
  return tasks
}

/** A join that got some of its sources, and can get no more. */
export const stalledJoin = (program: Program, checkpoint: Checkpoint): StalledJoin | undefined => {
  for (const { channel, names, node, release } of program.joins) {
    const cell = checkpoint.cells[channel]!
    if (release !== "all" || cell._tag === "None") continue
    const { fired, seen } = cell.value as Channel.Arrivals
    if (fired || seen.length === 0 || seen.length === names.length) continue
    return new StalledJoin({ node, arrived: seen, missing: names.filter((name) => !seen.includes(name)) })
  }
  return undefined
}
