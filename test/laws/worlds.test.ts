/**
 * Random nested graphs in several worlds at once: the same operations under
 * every durability, and the same inputs with and without processes that die,
 * nodes that fail and runs that are interrupted.
 *
 * `SUPERSTEP_RUNS` sets how many times as many graphs are tried, `SUPERSTEP_SEED` with which to begin.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option } from "effect"
import { Checkpointer } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { runs } from "./budget.ts"
import {
  answersTo,
  below,
  calm,
  calmAndUntracked,
  durabilities,
  type Durability,
  graphOf,
  type GraphSpec,
  interruptedAfter,
  nextOperation,
  type Outcome,
  outcomeOf,
  perform,
  pick,
  type Random,
  randomOf,
  requestsOf,
  type Seen,
  some,
  specOf,
  stormy,
  troubled,
  type Troubles,
  type WorldThread
} from "./worlds.ts"

const firstSeed = Number(process.env["SUPERSTEP_SEED"] ?? Date.now() % 1_000_000)

const savers = {
  memory: Checkpointer.layerMemory,
  sqlite: SqlCheckpointer.layerSqlite({ filename: ":memory:" }).pipe(Layer.orDie)
}

/** One graph, and what was done so far: that is printed where the case fails. */
interface Case {
  readonly random: Random
  readonly spec: GraphSpec
  readonly log: Array<string>
}

type Body = (given: Case) => Effect.Effect<boolean, unknown, Checkpointer.Checkpointer>

const caseOf = (seed: number): Case => {
  const random = randomOf(seed)
  return { random, spec: specOf(random), log: [] }
}

/** Tries graphs on a saver, each on a fresh one, until the body could say something of so many: it gives whether it could. */
const holds = (
  name: string,
  counts: { readonly memory: number; readonly sqlite: number },
  body: Body
): void => {
  for (const [saver, layer] of [["memory", savers.memory], ["sqlite", savers.sqlite]] as const) {
    const budget = runs(counts[saver])
    const count = budget.arbitrary.runs
    it.live(`${name} (${saver})`, () =>
      Effect.gen(function*() {
        let told = 0
        for (let seed = firstSeed; told < count && seed < firstSeed + 8 * count; seed++) {
          const given = caseOf(seed)
          const tried = body(given).pipe(
            Effect.timeout("20 seconds"),
            Effect.provide(layer),
            Effect.tapCause(() => Effect.sync(() => console.error(report(seed, given))))
          )
          if (yield* tried) told++
        }
        assert.strictEqual(told, count, "so many graphs run to an end")
      }), budget.timeout * 4)
  }
}

/** Says that a body fails where a saver loses, on one of the threads, what tasks have stored. */
const finds = (name: string, lossy: string, body: Body): void =>
  it.live(name, () =>
    Effect.gen(function*() {
      for (let seed = firstSeed; seed < firstSeed + 40; seed++) {
        const saver = yield* Checkpointer.makeMemory
        const losing: Checkpointer.CheckpointerShape = {
          ...saver,
          putTasks: (thread, put) => thread === lossy ? Effect.succeed(put.tasks) : saver.putTasks(thread, put)
        }
        const tried = body(caseOf(seed)).pipe(Effect.provideService(Checkpointer.Checkpointer, losing))
        if (Exit.isFailure(yield* Effect.exit(tried))) return
      }
      assert.fail("nothing found in 40 graphs")
    }), 20_000)

const report = (seed: number, { log, spec }: Case): string =>
  [`SUPERSTEP_SEED=${seed} repeats this:`, ...log.slice(-30), JSON.stringify(spec)].join("\n")

// ---------------------------------------------------------------------------
// The same operations under every durability
// ---------------------------------------------------------------------------

const operations = 20
const longest = 60

const shownOutcome = (outcome: Outcome): unknown =>
  outcome.kind === "done"
    ? outcome
    : { ...outcome, errors: outcome.errors.map(({ _tag, reason, requests }) => ({ _tag, reason, requests })) }

/** What has to be the same: `exit` keeps fewer checkpoints, so parents differ. */
const shownState = (seen: Seen | undefined): unknown => {
  if (seen === undefined) return undefined
  const { branch, checkpoint, next, requests, source, step, tasks, values, versions, versionsSeen } = seen
  return { branch, checkpoint, next, requests, source, step, tasks, values, versions, versionsSeen }
}

/** Checkpoints that all the threads have. */
const sharedBy = Effect.fnUntraced(function*(threads: ReadonlyArray<WorldThread>) {
  const histories: Array<ReadonlyArray<string>> = []
  for (const thread of threads) {
    const history = yield* Effect.orElseSucceed(thread.history(), () => [])
    histories.push(history.map(({ checkpoint }) => checkpoint))
  }
  return histories.reduce((shared, own) => shared.filter((id) => own.includes(id)))
})

const agree = Effect.fnUntraced(function*({ log, random, spec }: Case) {
  const graph = graphOf(spec, calmAndUntracked)
  const worlds = [...durabilities, "mixed" as const].map((name) => ({ name, thread: graph.thread(name) }))
  const threads = worlds.map(({ thread }) => thread)
  let seen: Seen | undefined
  for (let turn = 0; turn < operations; turn++) {
    const shared = yield* sharedBy(threads)
    if (shared.length > longest) break
    const operation = nextOperation(random, spec, seen, shared)
    const shown: Array<unknown> = []
    const used: Array<Durability> = []
    for (const { name, thread } of worlds) {
      used.push(name === "mixed" ? pick(random, durabilities) : name)
      const outcome = outcomeOf(yield* Effect.exit(perform(thread, operation, used.at(-1)!)))
      const state = Option.getOrUndefined(yield* Effect.option(thread.state()))
      if (name === "sync") seen = state
      shown.push({ outcome: shownOutcome(outcome), state: shownState(state) })
      const isBroken = outcome.kind === "failed" &&
        outcome.errors.some(({ _tag }) => _tag === "Defect" || _tag === "CheckpointError")
      assert.isFalse(isBroken, `${name}: ${JSON.stringify(outcome)}`)
    }
    log.push(`${JSON.stringify(operation)}, mixed: ${used.at(-1)}`)
    for (const [index, { name }] of worlds.entries()) assert.deepStrictEqual(shown[index], shown[0], name)
  }
  const last = below(random, 4)
  for (const { name, thread } of worlds) yield* staysTheSame(thread, name, last)
  return true
})

const stored = (history: ReadonlyArray<Seen>): ReadonlyArray<unknown> =>
  history.map(({ checkpoint, next, requests, tasks, values }) => ({ checkpoint, next, requests, tasks, values }))

/** A thread is what its results fold to; a copy is the same; and a pruning changes nothing of what it leaves. */
const staysTheSame = Effect.fnUntraced(function*(thread: WorldThread, name: string, last: number) {
  const before = yield* Effect.option(thread.history())
  // A thread that never ran, or whose waiting Command no longer folds.
  if (Option.isNone(before)) return
  assert.strictEqual((yield* thread.verify).divergence, undefined, name)
  const head = yield* Effect.option(thread.state())
  yield* thread.prune({ last })
  const after = yield* thread.history()
  const left = new Set(after.map(({ checkpoint }) => checkpoint))
  assert.deepStrictEqual(stored(after), stored(before.value.filter(({ checkpoint }) => left.has(checkpoint))), name)
  assert.deepStrictEqual(
    Option.map(yield* Effect.option(thread.state()), shownState),
    Option.map(head, shownState),
    name
  )
  assert.strictEqual((yield* thread.verify).divergence, undefined, name)
})

holds(
  "Law15 sync, async, exit and mixed agree on results, states and ids",
  { memory: 20, sqlite: 8 },
  agree
)

finds("what is said of sync, async and exit is not true of a saver that loses rows of tasks", "async", agree)

// ---------------------------------------------------------------------------
// The same inputs, disturbed
// ---------------------------------------------------------------------------

interface Disturbance extends Troubles {
  readonly failures: number
  readonly interruptions: number
}

const peace: Disturbance = { deaths: 0, repeats: 0, delays: 0, failures: 0, interruptions: 0 }

const disturbances: ReadonlyArray<Disturbance> = [
  { ...peace, delays: 0.2 },
  { ...peace, deaths: 0.04 },
  { ...peace, failures: 0.15 },
  { ...peace, interruptions: 0.3 },
  { deaths: 0.04, repeats: 0.2, delays: 0.05, failures: 0.15, interruptions: 0.3 }
]

/** From this attempt on nothing is disturbed any more, and from the second on nothing is tried any more. */
const patience = { peace: 250, end: 400 }

interface Undisturbed {
  readonly outputs: ReadonlyArray<unknown>
  /** By checkpoint: what it held. */
  readonly held: ReadonlyMap<string, unknown>
}

/** Runs to the end, or not at all where the graph fails by itself or runs for too long. */
const undisturbed = Effect.fnUntraced(function*(thread: WorldThread, inputs: number) {
  const outputs: Array<unknown> = []
  for (let input = 0; input < inputs; input++) {
    let outcome = outcomeOf(yield* Effect.exit(thread.start({ last: input }, { key: `${input}` })))
    for (let pauses = 0; outcome.kind === "failed"; pauses++) {
      const requests = requestsOf(outcome)
      if (requests === undefined || pauses > 100) return Option.none<Undisturbed>()
      outcome = outcomeOf(yield* Effect.exit(thread.resume(answersTo(requests))))
    }
    outputs.push(outcome.value)
  }
  const history = yield* thread.history()
  if (history.length > 100) return Option.none<Undisturbed>()
  return Option.some<Undisturbed>({
    outputs,
    held: new Map(history.map(({ checkpoint, values }) => [checkpoint, values]))
  })
})

/** A run that was disturbed may tell nothing else. An answer may have arrived although the run that brought it has died. */
const mayTell = (outcome: Outcome & { readonly kind: "failed" }): boolean =>
  outcome.errors.every(({ _tag, reason }) =>
    ["Broken", "GraphInterrupt"].includes(_tag) ||
    (_tag === "CheckpointError" && reason === "Storage") ||
    (_tag === "InvalidReply" && ["Answered", "NothingPending", "Unknown"].includes(reason ?? ""))
  )

type Attempt = (
  tries: number,
  run: (thread: WorldThread, durability: Durability) => ReturnType<WorldThread["continue"]>
) => Effect.Effect<Outcome, never, Checkpointer.Checkpointer>

/** Each attempt is a process of its own, on the same saver. */
const attempts = ({ log, random, spec }: Case, id: string): Attempt => {
  const disturbance = pick(random, disturbances)
  const fixed = random() < 0.4 ? pick(random, durabilities) : undefined
  const storm = graphOf(spec, stormy(random, disturbance.failures)).thread(id)
  const quiet = graphOf(spec, calm).thread(id)
  log.push(JSON.stringify(disturbance))
  return Effect.fnUntraced(function*(tries, run) {
    const isPeace = tries >= patience.peace
    const durability = fixed ?? pick(random, durabilities)
    const { diedOf, saver } = troubled(yield* Checkpointer.Checkpointer, isPeace ? peace : disturbance, random)
    const own = Effect.provideService(run(isPeace ? quiet : storm, durability), Checkpointer.Checkpointer, saver)
    const isInterrupted = !isPeace && random() < disturbance.interruptions
    const exit = yield* isInterrupted ? interruptedAfter(own, below(random, 80)) : Effect.exit(own)
    const outcome = outcomeOf(exit)
    const told = outcome.kind === "done"
      ? ["done"]
      : outcome.errors.map(({ _tag, reason }) => `${_tag} ${reason ?? ""}`)
    log.push([tries, durability, ...told, diedOf() ?? "", Exit.hasInterrupts(exit) ? "interrupted" : ""].join(" "))
    return outcome
  })
}

/** Starts a piece of work again and again, and answers some of what it asks, until it ends. */
const toTheEnd = Effect.fnUntraced(function*(attempt: Attempt, thread: WorldThread, input: number, random: Random) {
  let requests: ReturnType<typeof requestsOf>
  for (let tries = 0; tries < patience.end; tries++) {
    const answers = requests === undefined ? undefined : answersTo(some(random, requests))
    const outcome = yield* attempt(tries, (on, durability) =>
      answers === undefined
        ? on.start({ last: input }, { key: `${input}`, durability })
        : on.resume(answers, { durability }))
    if (outcome.kind === "done") return outcome.value
    assert.isTrue(mayTell(outcome), JSON.stringify(outcome))
    requests = requestsOf(outcome)
    if (requests !== undefined) {
      const shown = (yield* thread.state()).requests.map(({ id }) => id)
      assert.deepStrictEqual([...shown].sort(), requests.map(({ id }) => id).sort())
    }
  }
  return assert.fail(`input ${input} has not ended in ${patience.end} attempts`)
})

const endsTheSame = Effect.fnUntraced(function*(given: Case) {
  const graph = graphOf(given.spec, calm)
  const inputs = 1 + below(given.random, 3)
  const still = Option.getOrUndefined(yield* undisturbed(graph.thread("still"), inputs))
  if (still === undefined) return false
  const thread = graph.thread("disturbed")
  const attempt = attempts(given, "disturbed")
  for (const [input, output] of still.outputs.entries()) {
    given.log.push(`input ${input}`)
    assert.deepStrictEqual(yield* toTheEnd(attempt, thread, input, given.random), output)
    assert.deepStrictEqual((yield* thread.state()).values, output)
  }
  for (const { checkpoint, values } of yield* thread.history()) {
    assert.isTrue(still.held.has(checkpoint), `no undisturbed run has checkpoint ${checkpoint}`)
    assert.deepStrictEqual(values, still.held.get(checkpoint))
  }
  return true
})

holds("Law13 a run that is disturbed ends as one that is not", { memory: 16, sqlite: 6 }, endsTheSame)

finds("what is said of a disturbed run is not true of a saver that loses rows of tasks", "disturbed", endsTheSame)
