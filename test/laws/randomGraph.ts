/** Random graphs over a state with every kind of channel, and what is needed to run and compare them. */
import { Effect, Option, Schema } from "effect"
import * as fc from "fast-check"
import { Channel, type Checkpoint, Checkpointer, Command, END, Node, Send, State, StateGraph } from "superstep"

// ---------------------------------------------------------------------------
// Descriptions
// ---------------------------------------------------------------------------

const keys = ["sum", "list", "delta", "record", "topic", "unique", "flash", "some", "last", "passing", "dates"] as const
type Key = typeof keys[number]

interface WriteSpec {
  readonly key: Key
  readonly n: number
  /** Every how many sums the write is an Overwrite, where the channel takes one; 0 is never. */
  readonly overwrites: number
}

interface EdgeSpec {
  readonly to: number
  readonly join: "none" | "all" | "idle"
}

type Routing =
  | { readonly kind: "edges"; readonly edges: ReadonlyArray<EdgeSpec> }
  | { readonly kind: "route" | "command"; readonly to: ReadonlyArray<number>; readonly sends: number }

interface NodeSpec {
  readonly writes: ReadonlyArray<WriteSpec>
  readonly routing: Routing
  readonly defer: boolean
}

export interface GraphSpec {
  readonly nodes: ReadonlyArray<NodeSpec>
  readonly start: ReadonlyArray<number>
  readonly snapshotFrequency: number
  /** Whether the first node is a graph of its own. */
  readonly isNested: boolean
  readonly inputs: ReadonlyArray<InputSpec>
}

/** What the thread is given: an input, or a Command from outside on top of what is left to run. */
interface InputSpec {
  readonly kind: "input" | "command"
  readonly writes: ReadonlyArray<WriteSpec>
  /** Where a Command goes, if anywhere. */
  readonly goto: number
}

const write: fc.Arbitrary<WriteSpec> = fc.record({
  // One writer per superstep is all that "last" can take, so it comes seldom.
  key: fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...keys.filter((key) => key !== "last")) }, {
    weight: 1,
    arbitrary: fc.constant("last" as const)
  }),
  n: fc.integer({ min: 0, max: 9 }),
  overwrites: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 3 })
  })
})

const writes = fc.array(write, { maxLength: 4 })

const routing = (size: number): fc.Arbitrary<Routing> => {
  const target = fc.integer({ min: 0, max: size - 1 })
  const targets = fc.array(target, { maxLength: 3 })
  return fc.oneof(
    fc.record({
      kind: fc.constant("edges" as const),
      edges: fc.array(
        fc.record({
          to: target,
          join: fc.constantFrom("none" as const, "none" as const, "all" as const, "idle" as const)
        }),
        { maxLength: 3 }
      )
    }),
    fc.record({
      kind: fc.constantFrom("route" as const, "command" as const),
      to: targets,
      sends: fc.constantFrom(0, 0, 1, 3, 12)
    })
  )
}

export const graphSpec: fc.Arbitrary<GraphSpec> = fc.integer({ min: 1, max: 5 }).chain((size) =>
  fc.record({
    nodes: fc.array(
      fc.record({
        writes,
        routing: routing(size),
        defer: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
      }),
      { minLength: size, maxLength: size }
    ),
    start: fc.array(fc.integer({ min: 0, max: size - 1 }), { minLength: 1, maxLength: 3 }),
    snapshotFrequency: fc.integer({ min: 1, max: 4 }),
    isNested: fc.boolean(),
    inputs: fc.array(
      fc.record({
        kind: fc.constantFrom("input" as const, "command" as const),
        writes,
        goto: fc.integer({ min: -1, max: size - 1 })
      }),
      { maxLength: 3 }
    ).map((more): ReadonlyArray<InputSpec> => [{ kind: "input", writes: more[0]?.writes ?? [], goto: -1 }, ...more])
  })
)

// ---------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------

const reduceList = (
  state: ReadonlyArray<string>,
  updates: ReadonlyArray<ReadonlyArray<string>>
) => [...state, ...updates.flat()]
const reduceRecord = (
  state: Readonly<Record<string, number>>,
  updates: ReadonlyArray<Readonly<Record<string, number>>>
) => Object.fromEntries([state, ...updates].flatMap((one) => Object.entries(one)))
const add = (a: number, b: number): number => a + b

const fieldsOf = (snapshotFrequency: number) => ({
  sum: Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: add }),
  list: Channel.append(Schema.String),
  delta: Channel.delta({
    value: Schema.Array(Schema.String),
    initial: () => [],
    reduce: reduceList,
    snapshotFrequency
  }),
  record: Channel.delta({
    value: Schema.Record(Schema.String, Schema.Int),
    initial: () => ({}),
    reduce: reduceRecord,
    snapshotFrequency
  }),
  topic: Channel.topic(Schema.Int, { accumulate: true }),
  unique: Channel.topic(Schema.Struct({ n: Schema.Int }), { accumulate: true, unique: true }),
  flash: Channel.ephemeral(Schema.Int, { guard: false }),
  some: Channel.anyValue(Schema.Int),
  last: Channel.lastValue(Schema.Int, { initial: () => 0 }),
  passing: Channel.topic(Schema.String),
  dates: Channel.append(Schema.Date)
})

interface Values {
  readonly sum: number
  readonly list: ReadonlyArray<string>
}

const valueOf = (name: string, { key, n }: WriteSpec, state: Values): unknown => {
  switch (key) {
    case "sum":
    case "flash":
    case "last":
      return n
    case "some":
      return 7
    case "list":
      return [`${name}@${state.list.length % 5}`]
    case "delta":
      return [`${name}${n}`, String(state.sum)]
    case "record":
      return { [`k${n % 3}`]: state.sum, __proto__: null }
    case "topic":
      return n % 3 === 0 ? [n, n + 1] : n
    case "unique":
      return { n: n % 4 }
    case "passing":
      return n % 4 === 0 ? [] : [name]
    case "dates":
      return [new Date(n)]
  }
}

const overwriting = (key: Key, n: number): unknown => {
  switch (key) {
    case "sum":
      return Channel.overwrite(n === 0 ? 0 : -n)
    case "list":
    case "delta":
      return Channel.overwrite(n % 2 === 0 ? [] : [`over${n}`])
    case "record":
      return Channel.overwrite({ over: n })
    case "topic":
      return Channel.overwrite([n, n])
    case "unique":
      return Channel.overwrite([{ n }])
    case "dates":
      return Channel.overwrite([new Date(-n)])
    default:
      return undefined
  }
}

const updateOf = (name: string, spec: WriteSpec, state: Values): object => {
  const isOver = spec.overwrites > 0 && Math.abs(state.sum) % spec.overwrites === 0
  const over = isOver ? overwriting(spec.key, spec.n) : undefined
  return { [spec.key]: over ?? valueOf(name, spec, state) }
}

const nameOf = (index: number): string => `n${index}`

/** Chooses among targets, and ends a branch when the list has grown long. */
const chosen = ({ sends, to }: Routing & { readonly kind: "route" | "command" }, state: Values) => {
  if (state.list.length > 12) return [END]
  const names = to.length === 0 ? [] : [nameOf(to[Math.abs(state.sum) % to.length]!)]
  return [...names, ...Array.from({ length: sends }, (_, n) => Send.make("worker", { n }))]
}

const flowOf = (spec: GraphSpec) => {
  const edges: Record<string, unknown> = {}
  for (const [index, { routing }] of spec.nodes.entries()) {
    if (routing.kind === "route") {
      edges[nameOf(index)] = StateGraph.route(
        ["worker", END, ...routing.to.map(nameOf)],
        (state: Values) => chosen(routing, state) as never
      )
    } else if (routing.kind === "edges" && routing.edges.length > 0) {
      edges[nameOf(index)] = routing.edges.map(({ join, to }) =>
        join === "none" ? nameOf(to) : StateGraph.join(nameOf(to), { release: join, group: join })
      )
    }
  }
  return { start: [...new Set(spec.start)].map(nameOf), edges }
}

const outputOf = (name: string, { routing, writes }: NodeSpec, state: Values): ReadonlyArray<unknown> => {
  const updates = writes.map((one) => updateOf(name, one, state))
  return routing.kind === "command" ? [...updates, Command.make({ goto: chosen(routing, state) })] : updates
}

/** How a node gives its output: at once, or after some turns of the scheduler. */
export type Deliver = (output: unknown, turns: number) => unknown

export const atOnce: Deliver = (output) => output

export const afterTurns: Deliver = (output, turns) =>
  Effect.gen(function*() {
    for (let i = 0; i < turns; i++) yield* Effect.yieldNow
    return output
  })

// oxlint-disable-next-line typescript/no-explicit-any
const make = StateGraph.make as any
// oxlint-disable-next-line typescript/no-explicit-any
const nodes = StateGraph.nodes as any

/** A graph that writes what it shares with the graph around it, in two supersteps. */
const childOf = (spec: NodeSpec, snapshotFrequency: number, deliver: Deliver): unknown => {
  class Shared extends State.make(fieldsOf(snapshotFrequency)) {}
  const half = Math.ceil(spec.writes.length / 2)
  const body = (name: string, own: ReadonlyArray<WriteSpec>) => (state: Values) =>
    deliver(own.map((one) => updateOf(name, one, state)), own.length)
  return make(
    "child",
    nodes(Shared, { x: body("x", spec.writes.slice(0, half)), y: body("y", spec.writes.slice(half)) }),
    {
      start: "x",
      edges: { x: "y" }
    }
  )
}

export const graphOf = (spec: GraphSpec, deliver: Deliver): StateGraph.Any => {
  class Everything extends State.make(fieldsOf(spec.snapshotFrequency)) {}
  const bodies: Record<string, unknown> = {
    worker: Node.make({
      input: Schema.Struct({ n: Schema.Int }),
      run: ({ n }) => deliver({ list: [`w${n}`], delta: [`w${n}`], topic: n }, n % 4) as Effect.Effect<object>
    })
  }
  for (const [index, node] of spec.nodes.entries()) {
    const name = nameOf(index)
    const run = (state: Values) => deliver(outputOf(name, node, state), (index * 7 + node.writes.length) % 5)
    const isChild = index === 0 && spec.isNested && node.routing.kind !== "command"
    bodies[name] = isChild
      ? childOf(node, spec.snapshotFrequency, deliver)
      : Node.make({ input: Everything, run: run as (state: unknown) => Effect.Effect<object>, defer: node.defer })
  }
  return make("random", nodes(Everything, bodies), flowOf(spec), { recursionLimit: 8, onFailure: "settle" })
}

export const inputOf = ({ goto, kind, writes }: InputSpec): object => {
  const updates = writes.map((spec) => updateOf("input", spec, { sum: 0, list: [] }))
  if (kind === "command") return Command.make({ update: updates, goto: goto < 0 ? [] : nameOf(goto) })
  return Object.assign({}, ...updates) as object
}

// ---------------------------------------------------------------------------
// Running and comparing
// ---------------------------------------------------------------------------

/** A saver that remembers which checkpoints it was given, so that everything can be read back. */
export const recording = (saver: Checkpointer.CheckpointerShape) => {
  const places: Array<readonly [namespace: string, id: string]> = []
  return {
    places,
    saver: Checkpointer.Checkpointer.of({
      ...saver,
      commit: (thread, commit) =>
        Effect.tap(
          saver.commit(thread, commit),
          () => Effect.sync(() => void places.push([commit.namespace, commit.checkpoint.id]))
        )
    })
  }
}

interface Row extends Omit<Checkpoint.CheckpointRow, "createdMillis"> {
  readonly namespace: string
  readonly tasks: ReadonlyArray<Checkpoint.TaskRow>
}

/** Everything that is stored of a thread, but for times and owners. */
export const rowsOf = Effect.fnUntraced(
  function*(saver: Checkpointer.CheckpointerShape, thread: string, places: ReadonlyArray<readonly [string, string]>) {
    const rows: Array<Row> = []
    for (const [namespace, id] of places) {
      const saved = Option.getOrThrow(yield* saver.get(thread, namespace, id))
      const { createdMillis: _, ...row } = saved.chain.at(-1)!
      const tasks = saved.tasks.filter(({ checkpoint }) => checkpoint === id).sort((a, b) => a.task < b.task ? -1 : 1)
      rows.push({ ...row, namespace, tasks })
    }
    return rows.sort((a, b) => a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : 0)
  }
)
