/** Random threads with two runners, interruptions, deaths, lost answers and deletions; recorded. */
import { Cause, Data, Deferred, Effect, Exit, Option, Schema } from "effect"
import * as fc from "fast-check"
import { Channel, Checkpointer, Command, Interrupt, Running, State, StateGraph } from "superstep"
import { answerOf, type Event, Recorder, type Trouble, Writer } from "./Trace.ts"

// ---------------------------------------------------------------------------
// Descriptions
// ---------------------------------------------------------------------------

interface NodeSpec {
  readonly asks: boolean
  /** How often it fails before it does not. */
  readonly failures: number
  readonly turns: number
}

export interface Scenario {
  /** Supersteps, with their nodes. */
  readonly steps: ReadonlyArray<ReadonlyArray<NodeSpec>>
  readonly durability: "sync" | "async"
  /** Calls in which processes die, one attempt after the other. */
  readonly deaths: ReadonlyArray<{ readonly call: number; readonly isStored: boolean }>
  /** Every how many calls an answer is lost; 0 is never. */
  readonly repeats: number
  /** Every how many attempts a Command comes; 0 is never. */
  readonly commands: number
  /** After how many turns of the scheduler the thread is deleted. */
  readonly deletions: ReadonlyArray<number>
  readonly seed: number
}

const node: fc.Arbitrary<NodeSpec> = fc.record({
  asks: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  failures: fc.constantFrom(0, 0, 1),
  turns: fc.constantFrom(0, 2, 6, 20)
})

const together = fc.array(node, { minLength: 1, maxLength: 3 })

/** Where one writer takes its time, another may have failed once and succeeded. */
const alone = fc.constant([{ asks: false, failures: 2, turns: 20 }])

const scenario: fc.Arbitrary<Scenario> = fc.record({
  steps: fc.array(fc.oneof({ weight: 3, arbitrary: together }, { weight: 1, arbitrary: alone }), {
    minLength: 1,
    maxLength: 3
  }),
  durability: fc.constantFrom("sync", "async"),
  deaths: fc.array(fc.record({ call: fc.integer({ min: 1, max: 8 }), isStored: fc.boolean() }), { maxLength: 2 }),
  repeats: fc.constantFrom(0, 0, 2, 3),
  commands: fc.constantFrom(0, 0, 3, 4),
  deletions: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 2 }) }
  ),
  seed: fc.integer({ min: 1, max: 2 ** 31 })
})

/** Numbers below a bound that are the same for the same seed. */
const randomOf = (seed: number) => {
  let state = seed >>> 0
  return (bound: number): number => {
    state = state + 0x6d2b79f5 >>> 0
    let x = Math.imul(state ^ state >>> 15, 1 | state)
    x = x + Math.imul(x ^ x >>> 7, 61 | x) ^ x
    return ((x ^ x >>> 14) >>> 0) % bound
  }
}

// ---------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------

class Log extends State.make({ log: Channel.append(Schema.String) }) {}

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

class Flaky extends Data.TaggedError("Flaky")<{ readonly node: string }> {}

// oxlint-disable-next-line typescript/no-explicit-any
const make = StateGraph.make as any
// oxlint-disable-next-line typescript/no-explicit-any
const nodesOf = StateGraph.nodes as any

const turns = (count: number): Effect.Effect<void> => Effect.repeat(Effect.yieldNow, { times: count })

/** A node whose every run writes something else, so that results can be told apart. */
const bodyOf = (recorder: Recorder, name: string, { asks, failures, turns: count }: NodeSpec) => {
  let runs = 0
  return Effect.fnUntraced(function*() {
    const run = ++runs
    const { checkpoint, task } = yield* Running.Running
    recorder.ran(yield* Writer, checkpoint!, task)
    yield* turns(run % 2 === 1 ? count * 3 : 0)
    const answer = asks ? yield* Ask.ask(name) : ""
    if (run <= failures) return yield* new Flaky({ node: name })
    return { log: [`${name} run ${run} ${answer}`] }
  })
}

interface Graph {
  readonly pregel: { readonly fingerprint: string }
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly thread: (id: string) => any
}

/** A chain of supersteps: the nodes of each start those of the next together. */
const graphOf = (recorder: Recorder, steps: Scenario["steps"]): Graph => {
  const bodies: Record<string, unknown> = {}
  const edges: Record<string, unknown> = {}
  const namesOf = (step: number) => (steps[step] ?? []).map((_, index) => `n${step}${"abc"[index]}`)
  for (const [step, nodes] of steps.entries()) {
    for (const [index, spec] of nodes.entries()) {
      const name = namesOf(step)[index]!
      bodies[name] = bodyOf(recorder, name, spec)
      const next = namesOf(step + 1)
      if (next.length > 0) edges[name] = next.map((target) => StateGraph.join(target))
    }
  }
  return make("chain", nodesOf(Log, bodies), { start: namesOf(0), edges })
}

// ---------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------

/** The most attempts that a runner makes. */
const maxAttempts = 40

interface Shared {
  readonly recorder: Recorder
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly thread: any
  readonly scenario: Scenario
  readonly random: (bound: number) => number
  writers: number
  deaths: number
}

/** An answer, if there is a question; else the thread begins or goes on, or, for a thread that exists, a Command comes. */
const callOf = ({ scenario, thread }: Shared, writer: number, replies: ReadonlyArray<unknown>) => {
  const { commands, durability } = scenario
  if (replies.length > 0) return thread.resume(replies, { durability })
  return writer > 1 && commands > 0 && writer % commands === 0
    ? thread.invoke(Command.make({ update: { log: [`command ${writer}`] } }), { durability })
    : thread.start({}, { key: "once", durability })
}

/** What an attempt comes to: `undefined` if its process dies. */
const attempt = Effect.fnUntraced(function*(shared: Shared, replies: ReadonlyArray<unknown>) {
  const { random, recorder, scenario: { deaths, repeats } } = shared
  const writer = shared.writers++
  const trouble: Trouble = {
    dies: deaths[shared.deaths++],
    repeats: (call) => repeats > 0 && (call + writer) % repeats === 0,
    turns: () => random(8)
  }
  const ended = yield* Deferred.make<Exit.Exit<unknown, unknown> | undefined>()
  const saver = recorder.for(writer, trouble, () => Deferred.doneUnsafe(ended, Effect.succeed(undefined)))
  const run: Effect.Effect<unknown, unknown, Checkpointer.Checkpointer> = callOf(shared, writer, replies)
  // Not a child: a process that died is not interrupted either.
  yield* Effect.forkDetach(
    Effect.exit(run).pipe(
      Effect.provideService(Checkpointer.Checkpointer, saver),
      Effect.provideService(Writer, writer),
      Effect.flatMap((exit) => Deferred.succeed(ended, exit))
    )
  )
  return yield* Deferred.await(ended)
})

const failureOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isSuccess(exit) ? undefined : Option.getOrUndefined(Cause.findErrorOption(exit.cause))

const expected = new Set([
  "GraphInterrupt",
  "ThreadConflict",
  "ThreadDeleted",
  "Flaky",
  "InvalidReply",
  "UnknownThread"
])

/** Attempts one after the other, until one ends with the result of the thread. */
const runner = Effect.fnUntraced(function*(shared: Shared) {
  let replies: ReadonlyArray<unknown> = []
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    const exit = yield* attempt(shared, replies)
    replies = []
    if (exit === undefined) continue
    if (Exit.isSuccess(exit)) return
    const failure = failureOf(exit) as { readonly _tag?: string } | undefined
    const lost = failure?._tag === "CheckpointError" || failure?._tag === "UnknownCheckpoint"
    // A thread that is deleted between the reading of its head and of its checkpoint.
    if (!expected.has(failure?._tag ?? "") && !(lost && shared.scenario.deletions.length > 0)) {
      return yield* Effect.die(exit)
    }
    if (failure?._tag !== "GraphInterrupt") continue
    const { requests } = failure as unknown as { readonly requests: ReadonlyArray<{ readonly id: string }> }
    const request = requests[shared.random(requests.length)]!
    replies = [Ask.reply(answerOf(shared.writers), { id: request.id })]
  }
  return yield* Effect.die(new Error(`no end after ${maxAttempts} attempts`))
})

/** What was recorded, and whether every runner came to the end of the thread. */
export interface Recorded {
  readonly fingerprint: string
  readonly events: ReadonlyArray<Event>
  readonly end: Exit.Exit<unknown, unknown>
}

/** Threads so far: each run has one of its own. */
let threads = 0

/** Runs a scenario on a saver. */
export const record: (saver: Checkpointer.CheckpointerShape, scenario: Scenario) => Effect.Effect<Recorded> = Effect
  .fnUntraced(function*(saver: Checkpointer.CheckpointerShape, scenario: Scenario) {
    const recorder = new Recorder(saver)
    const graph = graphOf(recorder, scenario.steps)
    const { fingerprint } = graph.pregel
    const id = `thread ${threads++}`
    const shared: Shared = {
      recorder,
      thread: graph.thread(id),
      scenario,
      random: randomOf(scenario.seed),
      writers: 0,
      deaths: 0
    }
    const deleter = Effect.forEach(scenario.deletions, (count) => Effect.andThen(turns(count), recorder.deleted(id)))
    const all = Effect.all([runner(shared), runner(shared), deleter], { concurrency: "unbounded" })
    const end = yield* Effect.exit(all)
    return { fingerprint, events: recorder.events, end }
  })

/** Scenarios that are the same for the same seed. */
export const scenarios = (count: number, seed: number): ReadonlyArray<Scenario> =>
  fc.sample(scenario, { numRuns: count, seed })
