/**
 * Random nested graphs that ask, fail, wait and call each other, savers that
 * break, and what may be done with a thread. All from seeds: a seed gives the
 * same graph, the same operations and the same turns of the scheduler.
 */
import { Effect, type Exit, Fiber, Result, Schedule, Schema } from "effect"
import {
  Channel,
  type Checkpoint,
  type Checkpointer,
  END,
  GraphError,
  Interrupt,
  Node,
  Policy,
  State,
  StateGraph,
  type Thread
} from "superstep"

// ---------------------------------------------------------------------------
// Chance
// ---------------------------------------------------------------------------

/** Gives numbers from 0 up to 1. */
export type Random = () => number

export const randomOf = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const below = (random: Random, end: number): number => Math.floor(random() * end)
export const pick = <A>(random: Random, from: ReadonlyArray<A>): A => from[below(random, from.length)]!

/** Some of a list, or all of it: never none. */
export const some = <A>(random: Random, from: ReadonlyArray<A>): ReadonlyArray<A> => {
  const chosen = from.filter(() => random() < 0.7)
  return chosen.length === 0 ? from : chosen
}

const hash = (...parts: ReadonlyArray<string | number>): number => {
  let sum = 2_166_136_261
  for (const character of parts.join("|")) sum = Math.imul(sum ^ character.charCodeAt(0), 16_777_619)
  return sum & 0x7fffffff
}

const turns = (count: number): Effect.Effect<void> =>
  Effect.forEach(Array.from({ length: count }), () => Effect.yieldNow, { discard: true })

// ---------------------------------------------------------------------------
// Descriptions of graphs
// ---------------------------------------------------------------------------

/** Taken where the count of the state, divided by `every`, leaves `rest`. */
interface Sometimes {
  readonly every: number
  readonly rest: number
}

type Action =
  | Sometimes & { readonly kind: "ask" }
  | Sometimes & { readonly kind: "call"; readonly graph: GraphSpec; readonly by: "order" | "key" | "twice" }
  | { readonly kind: "fail" | "wait" }

interface NodeSpec {
  readonly name: string
  readonly body: GraphSpec | ReadonlyArray<Action>
  readonly isRetried: boolean
}

export interface GraphSpec {
  readonly name: string
  readonly persistence: "call" | "thread"
  readonly onFailure: "interrupt" | "settle"
  /** Whether it refuses some inputs. */
  readonly isNarrow: boolean
  /** How often the first node may run before the graph ends. */
  readonly rounds: number
  /** One node after the other, in rounds; or the second and third together, started by the first or beside it. */
  readonly shape: "rounds" | "fan" | "beside"
  readonly nodes: ReadonlyArray<NodeSpec>
}

const deepest = 2

const actionOf = (random: Random, depth: number, name: string): Action => {
  const chance = random()
  const sometimes = { every: 1 + below(random, 4), rest: below(random, 2) }
  if (depth < deepest && chance < 0.45) {
    const by = pick(random, ["order", "order", "order", "key", "twice"] as const)
    return { kind: "call", ...sometimes, by, graph: specOf(random, depth + 1, name) }
  }
  if (chance < 0.6) return { kind: "ask", ...sometimes }
  return { kind: chance < 0.85 ? "fail" : "wait" }
}

const actionsOf = (random: Random, depth: number, path: string): ReadonlyArray<Action> =>
  Array.from({ length: 1 + below(random, 3) }, (_, n) => actionOf(random, depth, `${path}${n}`))

const nodeOf = (random: Random, depth: number, name: string, path: string, isFirst: boolean): NodeSpec => ({
  name,
  body: depth < deepest && !isFirst && random() < 0.3
    ? specOf(random, depth + 1, path)
    : actionsOf(random, depth, path),
  isRetried: random() < 0.35
})

/** A graph of one to three nodes, with graphs in it and graphs that its nodes call. */
export const specOf = (random: Random, depth = 0, name = "root"): GraphSpec => {
  const names = ["a", "b", "c"].slice(0, 1 + below(random, 3))
  return {
    name,
    persistence: depth > 0 && random() < 0.55 ? "thread" : "call",
    onFailure: random() < 0.5 ? "settle" : "interrupt",
    isNarrow: depth > 0 && random() < 0.15,
    rounds: 1 + below(random, 4),
    shape: names.length < 3 ? "rounds" : pick(random, ["rounds", "rounds", "rounds", "fan", "beside"] as const),
    nodes: names.map((own, index) => nodeOf(random, depth, own, `${name}.${own}`, index === 0))
  }
}

// ---------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------

/** `mixed` shows every result, and the order in which they came. */
class Held extends State.make({
  count: Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: (sum: number, more: number) => sum + more }),
  last: Channel.lastValue(Schema.Int, { initial: () => 0 }),
  mixed: Channel.reducer({
    value: Schema.Int,
    initial: () => 7,
    reduce: (sum: number, more: number) => hash(sum, more)
  }),
  list: Channel.append(Schema.Int)
}) {}

/** The same, where `last` takes small numbers only, so that some inputs are refused. */
const narrow = State.make({
  ...Held.fields,
  last: Channel.lastValue(Schema.Int.check(Schema.isLessThan(4)), { initial: () => 0 })
}) as unknown as typeof Held

/** With a value that is never stored, and that nodes look at. */
const withUntracked = (state: typeof Held): typeof Held =>
  State.make({ ...state.fields, near: Channel.untracked<number>() }) as unknown as typeof Held

export class Ask extends Interrupt.make("Ask", { payload: Schema.Int, answer: Schema.Int }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

type Values = State.Type<typeof Held>
type Asked = Interrupt.Request<"Ask", number, number>
type Graph = StateGraph.StateGraph<typeof Held, Readonly<Record<string, unknown>>, Broken, never, Asked>
export type WorldThread = ReturnType<Graph["thread"]>
type Failure = Thread.RunError<Broken, Asked>
type Pending = Checkpoint.PendingRequest<"Ask", number>
export type Seen = Checkpoint.Snapshot<Values, Pending>
type Run<A = Values, E = Failure> = Effect.Effect<A, E, Checkpointer.Checkpointer>

/** What nodes meet: whether they fail now, for how many turns they wait, and whether there are values that are never stored. */
export interface Weather {
  readonly hasUntracked?: boolean
  readonly fails: () => boolean
  readonly waits: () => number
}

export const calm: Weather = { fails: () => false, waits: () => 0 }
export const calmAndUntracked: Weather = { ...calm, hasUntracked: true }
export const stormy = (random: Random, failures: number): Weather => ({
  fails: () => random() < failures,
  waits: () => below(random, 6)
})

const isTaken = (action: Action, { count }: Values): boolean =>
  !("every" in action) || count % action.every === action.rest % action.every

const callOf = (spec: Action & { readonly kind: "call" }, weather: Weather) => {
  const graph = graphOf(spec.graph, weather)
  return (index: number, sum: number) => {
    const one = (key?: string) => graph.call({ last: sum % 5, mixed: index }, key === undefined ? {} : { key })
    // Both go on to their ends: which of them stops first is not for the clock to say.
    const both = Effect.all([one(`x${index}`), one(`y${index}`)], { concurrency: "unbounded", mode: "result" })
    const outputs = spec.by === "twice"
      ? Effect.flatMap(both, ([x, y]) => Effect.fromResult(Result.all([x, y])))
      : Effect.map(one(spec.by === "key" ? `key${index}` : undefined), (output) => [output])
    return Effect.map(outputs, (all) => all.reduce((so, { count, mixed }) => hash(so, mixed, count), sum))
  }
}

/** What an action makes of the sum of those before it. */
const actOf = (action: Action, weather: Weather) => {
  const call = action.kind === "call" ? callOf(action, weather) : undefined
  return Effect.fnUntraced(function*(index: number, sum: number) {
    if (call !== undefined) return yield* call(index, sum)
    if (action.kind === "ask") return hash(sum, yield* Ask.ask(hash(sum, index) % 1000))
    if (action.kind === "fail" && weather.fails()) return yield* new Broken()
    if (action.kind === "wait") yield* turns(weather.waits())
    return sum
  })
}

interface Around {
  readonly graph: string
  readonly state: typeof Held
  readonly weather: Weather
}

const bodyOf = (
  { graph, state: input, weather }: Around,
  spec: NodeSpec,
  actions: ReadonlyArray<Action>,
  isFirst: boolean
) => {
  const acts = actions.map((action) => ({ action, act: actOf(action, weather) }))
  const run = Effect.fnUntraced(function*(state: Values) {
    const { near = 0 } = state as { readonly near?: number }
    let sum = hash(graph, spec.name, state.count, state.mixed, near)
    for (const [index, { act, action }] of acts.entries()) {
      if (isTaken(action, state)) sum = yield* act(index, sum)
    }
    const update = { mixed: sum, list: [sum % 100], ...(weather.hasUntracked === true ? { near: sum % 11 } : {}) }
    return isFirst ? { ...update, count: 1, last: sum % 7 } : update
  })
  const retry = Policy.retry({ schedule: Schedule.recurs(1), while: () => true })
  return Node.make({ input, run, ...(spec.isRetried ? { retry } : {}) })
}

const flowOf = ({ nodes, rounds, shape }: GraphSpec) => {
  if (shape === "fan") return { start: "a", edges: { a: ["b", "c"] } }
  if (shape === "beside") return { start: ["a", "b"], edges: { a: ["c"] } }
  const names = nodes.map(({ name }) => name)
  const again = StateGraph.route(["a", END], ({ count }: Values) => count % rounds === 0 ? END : "a")
  return { start: "a", edges: Object.fromEntries(names.map((name, index) => [name, names[index + 1] ?? again])) }
}

export const graphOf = (spec: GraphSpec, weather: Weather): Graph => {
  const { isNarrow, name, onFailure, persistence } = spec
  const stored = isNarrow ? narrow : Held
  const state = weather.hasUntracked === true ? withUntracked(stored) : stored
  const around = { graph: name, state, weather }
  const bodies = spec.nodes.map((node, index) => [
    node.name,
    "rounds" in node.body ? graphOf(node.body, weather) : bodyOf(around, node, node.body, index === 0)
  ])
  // The names of the nodes are known to no type.
  const nodes = StateGraph.nodes(state, Object.fromEntries(bodies) as never)
  return StateGraph.make(name, nodes, flowOf(spec) as never, { onFailure, persistence }) as unknown as Graph
}

// ---------------------------------------------------------------------------
// Operations
// ---------------------------------------------------------------------------

export const durabilities = ["sync", "async", "exit"] as const
export type Durability = typeof durabilities[number]

/** What may be done with a thread, as data: it can be printed, and done to several threads. */
export type Operation =
  | { readonly kind: "invoke"; readonly last: number }
  | { readonly kind: "continue" }
  | { readonly kind: "resume"; readonly answers: ReadonlyArray<Pending> }
  | { readonly kind: "travel" | "fork"; readonly checkpoint: string }
  | { readonly kind: "update"; readonly asNode: string | undefined; readonly mixed: number }
  | { readonly kind: "updateInside"; readonly path: ReadonlyArray<string>; readonly mixed: number }

/** The answers depend on nothing but the questions. */
export const answersTo = (requests: ReadonlyArray<{ readonly id: string; readonly payload: number }>) =>
  requests.map(({ id, payload }) => Ask.reply(hash("answer", payload) % 50, { id }))

export const perform = (
  thread: WorldThread,
  operation: Operation,
  durability: Durability
): Run<Values | string, unknown> => {
  switch (operation.kind) {
    case "invoke":
      return thread.invoke({ last: operation.last }, { durability, pending: "discard" })
    case "continue":
      return thread.continue({ durability })
    case "resume":
      return thread.resume(answersTo(operation.answers), { durability })
    case "travel":
      return thread.continue({ checkpoint: operation.checkpoint, durability })
    case "fork":
      return thread.fork(operation.checkpoint)
    case "update": {
      const { asNode, mixed } = operation
      return asNode === undefined ? thread.update(undefined) : thread.update({ mixed, list: [mixed] }, { asNode })
    }
    case "updateInside":
      return thread.at(operation.path).update({ mixed: operation.mixed, list: [operation.mixed] })
  }
}

/** What comes next on a thread that is as it is seen; `checkpoints` are those that may be gone back to. */
export const nextOperation = (
  random: Random,
  spec: GraphSpec,
  seen: Seen | undefined,
  checkpoints: ReadonlyArray<string>
): Operation => {
  const chance = random()
  const mixed = below(random, 9)
  if (seen === undefined || chance < 0.25) return { kind: "invoke", last: mixed }
  if (seen.requests.length > 0 && chance < 0.7) return { kind: "resume", answers: some(random, seen.requests) }
  if (checkpoints.length > 0 && chance < 0.84) {
    return { kind: chance < 0.78 ? "travel" : "fork", checkpoint: pick(random, checkpoints) }
  }
  if (chance < 0.9) {
    return { kind: "update", asNode: random() < 0.2 ? undefined : pick(random, spec.nodes).name, mixed }
  }
  const inside = seen.requests.length === 0 ? [] : seen.tasks.flatMap(({ graphs }) => graphs)
  return inside.length > 0 && chance < 0.97
    ? { kind: "updateInside", path: pick(random, inside), mixed }
    : { kind: "continue" }
}

// ---------------------------------------------------------------------------
// Outcomes
// ---------------------------------------------------------------------------

export interface Told {
  readonly _tag: string
  readonly message: string
  readonly reason?: string
  readonly requests?: ReadonlyArray<{ readonly id: string; readonly payload: number }>
}

export type Outcome =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly errors: ReadonlyArray<Told> }

const toldOf = (error: unknown): Told => {
  const { _tag = "Defect", message = String(error), reason, requests } = Object(error) as Partial<Told>
  return { _tag, message, ...(reason === undefined ? {} : { reason }), ...(requests === undefined ? {} : { requests }) }
}

/** Interruptions are left out. */
export const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome =>
  exit._tag === "Success" ? { kind: "done", value: exit.value } : {
    kind: "failed",
    errors: exit.cause.reasons.flatMap((reason) =>
      reason._tag === "Fail"
        ? [toldOf(reason.error)]
        : reason._tag === "Die"
        ? [{ _tag: "Defect", message: String((reason.defect as Error)?.stack ?? reason.defect) }]
        : []
    )
  }

export const requestsOf = (outcome: Outcome) =>
  outcome.kind === "failed" ? outcome.errors.find(({ _tag }) => _tag === "GraphInterrupt")?.requests : undefined

// ---------------------------------------------------------------------------
// Savers that break
// ---------------------------------------------------------------------------

/** How often a call of a saver ends the process before or after it is done, is done twice, or takes its time. */
export interface Troubles {
  readonly deaths: number
  readonly repeats: number
  readonly delays: number
}

/** A saver as one process has it: it fails for good once it has died. */
export const troubled = (saver: Checkpointer.CheckpointerShape, troubles: Troubles, random: Random) => {
  let died: string | undefined
  const dies = (what: string) =>
    Effect.suspend(() => {
      died ??= what
      return Effect.fail(new GraphError.CheckpointError({ reason: "Storage", detail: "the process has died" }))
    })
  const call = <A, E>(name: string, run: Effect.Effect<A, E>, isWrite: boolean) =>
    Effect.suspend(() => {
      if (died !== undefined) return dies(name)
      const chance = random() / troubles.deaths
      if (chance < 0.5) return dies(`before ${name}`)
      const delay = turns(random() < troubles.delays ? below(random, 12) : 0)
      const done = isWrite && random() < troubles.repeats ? Effect.andThen(run, run) : run
      const slow = Effect.tap(Effect.andThen(delay, done), () => delay)
      return chance < 1 ? Effect.andThen(slow, dies(`after ${name}`)) : slow
    })
  const wrapped: Checkpointer.CheckpointerShape = {
    ...saver,
    head: (...given) => call("head", saver.head(...given), false),
    get: (...given) => call("get", saver.get(...given), false),
    list: (...given) => call("list", saver.list(...given), false),
    putTasks: (...given) => call("putTasks", saver.putTasks(...given), true),
    commit: (...given) => call("commit", saver.commit(...given), true)
  }
  return { saver: wrapped, diedOf: () => died }
}

/** Interrupts a run after some turns, if it still runs then. */
export const interruptedAfter = Effect.fnUntraced(function*<A, E, R>(run: Effect.Effect<A, E, R>, count: number) {
  const fiber = yield* Effect.forkChild(run)
  yield* turns(count)
  yield* Fiber.interrupt(fiber)
  return yield* Fiber.await(fiber)
})
