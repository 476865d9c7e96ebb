/** The pure phases put together without Effect: what the machine does when its nodes are functions. */
import { Option, Result } from "effect"
import { type State, StateGraph } from "superstep"
import { type ApplyOptions, applyWrites, type TaskWrites } from "../../src/internal/engine/apply.ts"
import { type Checkpoint, initial } from "../../src/internal/engine/checkpoint.ts"
import { INPUT_TASK, plan, type Task } from "../../src/internal/engine/plan.ts"
import type { Program } from "../../src/internal/engine/program.ts"
import { inputWrites, type Write, writesOf } from "../../src/internal/engine/writes.ts"

/** Makes a graph as an untyped caller does. */
export const untypedGraph = (
  name: string,
  state: unknown,
  bodies: object,
  flow: object,
  options?: object
): StateGraph.Any & { readonly invoke: never } =>
  // oxlint-disable-next-line typescript/no-explicit-any
  (StateGraph.make as any)(name, (StateGraph.nodes as any)(state, bodies), flow, options)

export const program = (state: State.Any, bodies: object, flow: object, options?: object): Program =>
  untypedGraph("g", state, bodies, flow, options)["~program"]

export const channel = (of: Program, name: string): number => {
  const number = of.channelNumber.get(name)
  if (number === undefined) throw new Error(`no channel "${name}"`)
  return number
}

/** The writes of a task whose node gave `output`. */
export const taskWrites = (of: Program, at: Checkpoint, task: Task, output: unknown): TaskWrites => ({
  id: task.id,
  name: task.node.name,
  woken: task.kind === "pull" ? task.node : undefined,
  writes: Result.getOrThrow(writesOf(of, at.cells, task.node, output))
})

export const apply = (
  of: Program,
  at: Checkpoint,
  tasks: ReadonlyArray<TaskWrites>,
  options?: Partial<ApplyOptions>
): Checkpoint => Result.getOrThrow(applyWrites(of, at, tasks, { isSuperstep: true, step: at.step + 1, ...options }))

export const inputOf = (writes: ReadonlyArray<Write>): TaskWrites => ({
  id: INPUT_TASK,
  name: "__input__",
  woken: undefined,
  writes
})

/** The machine after an input, before its first superstep. */
export const fed = (of: Program, input: unknown, at: Checkpoint = initial(of)): Checkpoint =>
  apply(of, at, [inputOf(Result.getOrThrow(inputWrites(of, input)))], { isSuperstep: false, isInput: true })

const outputOf = (task: Task): unknown => {
  const { body } = task.node
  if (body._tag === "Graph") throw new Error("nested graphs are not run here")
  return body._tag === "Start" ? task.input : body.run(task.input)
}

/** One superstep, with the nodes' own functions. */
export const superstep = (of: Program, at: Checkpoint): Checkpoint =>
  apply(of, at, plan(of, at).map((task) => taskWrites(of, at, task, outputOf(task))))

/** Names of the tasks that run next, in task order. */
export const next = (of: Program, at: Checkpoint): ReadonlyArray<string> => plan(of, at).map((task) => task.node.name)

/** The names of each superstep's tasks until nothing is left. */
export const trace = (of: Program, input: unknown, limit = 50): ReadonlyArray<ReadonlyArray<string>> => {
  const steps: Array<ReadonlyArray<string>> = []
  let at = superstep(of, fed(of, input))
  for (let i = 0; i < limit; i++) {
    const names = next(of, at)
    if (names.length === 0) return steps
    steps.push(names)
    at = superstep(of, at)
  }
  throw new Error("the graph does not end")
}

export const valueAt = (of: Program, at: Checkpoint, name: string): unknown =>
  Option.getOrUndefined(at.cells[channel(of, name)]!)

export const versionAt = (of: Program, at: Checkpoint, name: string): number => at.versions[channel(of, name)]!

export const seenAt = (of: Program, at: Checkpoint, node: string): number => at.seen[of.nodeNumber.get(node)!]!
