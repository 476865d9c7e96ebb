/**
 * The central property: whatever a graph does, its thread holds after every
 * superstep exactly what the run held; the same thread id, inputs and code give
 * the same bytes; and neither the order in which tasks finish nor the
 * durability is to be seen in the end.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import type { Scheduler, SchedulerDispatcher } from "effect/Scheduler"
import * as fc from "fast-check"
import { Checkpointer, type Event, type StateGraph } from "superstep"
import { applyWrites } from "../../src/internal/engine/apply.ts"
import { type Checkpoint, initial, values } from "../../src/internal/engine/checkpoint.ts"
import { plan } from "../../src/internal/engine/plan.ts"
import type { Program } from "../../src/internal/engine/program.ts"
import { decodeCheckpoint } from "../../src/internal/engine/restored.ts"
import { inputWrites, writesOf } from "../../src/internal/engine/writes.ts"
import { runs } from "./budget.ts"
import {
  afterTurns,
  atOnce,
  type Deliver,
  graphOf,
  type GraphSpec,
  graphSpec,
  inputOf,
  recording,
  rowsOf
} from "./randomGraph.ts"

const budget = runs(60)
const timeout = budget.timeout * 4
const holds = (property: (spec: GraphSpec, seed: number) => Promise<void>) => (): Promise<void> =>
  fc.assert(fc.asyncProperty(graphSpec, fc.nat(), property), { numRuns: budget.arbitrary.runs })

/** Runs ready fibers in a seeded random order and yields at random points. */
const shuffled = (seed: number): Scheduler => {
  let state = seed >>> 0
  const next = (n: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return state % n
  }
  const tasks: Array<() => void> = []
  let isScheduled = false
  const drain = (): void => {
    isScheduled = false
    while (tasks.length > 0) tasks.splice(next(tasks.length), 1)[0]!()
  }
  const makeDispatcher = (): SchedulerDispatcher => ({
    scheduleTask(task) {
      tasks.push(task)
      if (!isScheduled) {
        isScheduled = true
        setImmediate(drain)
      }
    },
    flush: drain
  })
  return { executionMode: "async", shouldYield: (fiber) => fiber.currentOpCount > 1 && next(4) === 0, makeDispatcher }
}

// oxlint-disable-next-line typescript/no-explicit-any
const threadOf = (graph: StateGraph.Any, id: string): any => (graph as any).thread(id)

interface Ran {
  /** For each input: the last values, or what the run failed with. */
  readonly outcomes: ReadonlyArray<unknown>
  readonly events: ReadonlyArray<Event.Checkpoints<Readonly<Record<string, unknown>>>>
  readonly rows: Effect.Success<ReturnType<typeof rowsOf>>
  readonly saver: Checkpointer.CheckpointerShape
  readonly state: Readonly<Record<string, unknown>>
}

const describe = (error: unknown): unknown => ({
  tag: (error as { _tag?: string })._tag,
  message: String((error as Error).message)
})

/** Runs all inputs on one thread of a fresh saver. */
const run = (
  spec: GraphSpec,
  options: { deliver?: Deliver; durability?: string; scheduler?: Scheduler } = {}
): Promise<Ran> => {
  const program = Effect.gen(function*() {
    const { places, saver } = recording(yield* Checkpointer.makeMemory)
    const graph = graphOf(spec, options.deliver ?? atOnce)
    const events: Array<Ran["events"][number]> = []
    const outcomes: Array<unknown> = []
    const provided = Effect.provideService(Checkpointer.Checkpointer, saver)
    for (const input of spec.inputs) {
      const stream = threadOf(graph, "t").stream(inputOf(input), {
        modes: ["checkpoints"],
        pending: "discard",
        durability: options.durability ?? "sync"
      }) as Stream.Stream<Ran["events"][number], unknown, Checkpointer.Checkpointer>
      const ended = yield* Effect.result(
        provided(Stream.runForEach(stream, (event) => Effect.sync(() => void events.push(event))))
      )
      outcomes.push(Result.isSuccess(ended) ? "done" : describe(ended.failure))
    }
    const snapshot = yield* Effect.result(
      provided(
        threadOf(graph, "t").state() as Effect.Effect<{ values: Ran["state"] }, unknown, Checkpointer.Checkpointer>
      )
    )
    return {
      outcomes,
      events,
      rows: yield* rowsOf(saver, "t", places),
      saver,
      state: Result.isSuccess(snapshot) ? snapshot.success.values : {}
    }
  })
  return Effect.runPromise(
    Effect.orDie(program),
    options.scheduler === undefined ? undefined : { scheduler: options.scheduler }
  )
}

/** What the machine does by its pure phases alone, checkpoint by checkpoint. Only for graphs without nested ones. */
const pure = (program: Program, spec: GraphSpec): ReadonlyArray<Checkpoint> => {
  const seen: Array<Checkpoint> = []
  let at = initial(program)
  const move = (next: Result.Result<Checkpoint, unknown>): boolean => {
    if (Result.isFailure(next)) return false
    at = next.success
    seen.push(at)
    return true
  }
  for (const input of spec.inputs) {
    const dropped = plan(program, at).map(({ id, kind, node }) => ({
      id,
      name: node.name,
      woken: kind === "pull" ? node : undefined,
      writes: []
    }))
    const writes = Result.getOrThrow(inputWrites(program, inputOf(input)))
    const fed = applyWrites(program, at, [{ id: "input", name: "__input__", woken: undefined, writes }, ...dropped], {
      isSuperstep: dropped.length > 0,
      isInput: true,
      step: at.step + 1
    })
    if (!move(fed)) continue
    // The start is no superstep of the user's.
    for (let step = 0; step < 9; step++) {
      const tasks = plan(program, at)
      if (tasks.length === 0) break
      const done = Result.all(tasks.map((task) => {
        const { body } = task.node
        const output = body._tag === "Start" ? task.input : body._tag === "Run" ? body.run(task.input) : undefined
        return Result.map(writesOf(program, at.cells, task.node, output), (own) => ({
          id: task.id,
          name: task.node.name,
          woken: task.kind === "pull" ? task.node : undefined,
          writes: own
        }))
      }))
      if (
        Result.isFailure(done) ||
        !move(applyWrites(program, at, done.success, { isSuperstep: true, step: at.step + 1 }))
      ) break
    }
  }
  return seen
}

it(
  "Law6 Law21 after every superstep the state in storage is the state of the run",
  holds(async (spec) => {
    const { events, outcomes, saver, state } = await run(spec)
    assert.isTrue(events.length > 0)
    const fresh = threadOf(graphOf(spec, atOnce), "t")
    const history = await Effect.runPromise(
      (fresh.history() as Effect.Effect<ReadonlyArray<Record<string, unknown>>, unknown, Checkpointer.Checkpointer>)
        .pipe(
          Effect.provideService(Checkpointer.Checkpointer, saver)
        )
    )
    const shown = (of: Record<string, unknown>) => {
      const { checkpoint, next, source, step, values } = of
      return { checkpoint, next, source, step, values }
    }
    assert.deepStrictEqual(history.map(shown).toReversed(), events.map((event) => shown({ ...event })))
    // A Command that leads nowhere waits beside the last checkpoint.
    if (outcomes.at(-1) === "done" && spec.inputs.at(-1)!.kind === "input") {
      assert.deepStrictEqual(state, events.at(-1)!.values)
    }
  }),
  timeout
)

it(
  "Law3 Law6 the pure phases alone give the stored checkpoints: cells, versions, versions seen",
  holds(async (given) => {
    const spec = { ...given, isNested: false, inputs: given.inputs.filter(({ kind }) => kind === "input") }
    const { rows, saver } = await run(spec)
    const program = graphOf(spec, atOnce)["~program"]
    const live = pure(program, spec)
    assert.deepStrictEqual(rows.map(({ step }) => step), live.map(({ step }) => step))
    for (const [index, { id }] of rows.entries()) {
      const saved = await Effect.runPromise(saver.get("t", "", id))
      assert.strictEqual(saved._tag, "Some")
      if (saved._tag === "None") continue
      const place = Result.getOrThrow(decodeCheckpoint(program, saved.value.chain, saved.value.tasks))
      const { live: transient, updated: _, ...expected } = live[index]!
      const { live: readTransient, updated: __, ...read } = place.checkpoint
      assert.deepStrictEqual(read, expected)
      assert.deepStrictEqual([...readTransient].sort(), [...transient].sort())
      assert.deepStrictEqual(
        plan(program, place.checkpoint).map((task) => [task.id, task.input]),
        plan(program, live[index]!).map((task) => [task.id, task.input])
      )
      assert.deepStrictEqual(values(program, place.checkpoint), values(program, live[index]!))
    }
  }),
  timeout
)

it(
  "Law15 the same thread id, inputs and code give the same bytes in a fresh saver",
  holds(async (spec) => {
    const [first, second] = [await run(spec), await run(spec)]
    assert.deepStrictEqual(second.rows, first.rows)
    assert.deepStrictEqual(second.outcomes, first.outcomes)
    assert.deepStrictEqual(second.events, first.events)
  }),
  timeout
)

it(
  "Law2 neither what is stored nor what is shown depends on the order in which tasks finish",
  holds(async (spec, seed) => {
    const still = await run(spec)
    const mixed = await run(spec, { deliver: afterTurns, scheduler: shuffled(seed) })
    assert.deepStrictEqual(mixed.outcomes, still.outcomes)
    assert.deepStrictEqual(mixed.rows, still.rows)
    assert.deepStrictEqual(mixed.events, still.events)
    assert.deepStrictEqual(mixed.state, still.state)
  }),
  timeout
)

it(
  "Law13 sync, async and exit end in the same values and the same failure",
  holds(async (spec) => {
    const [sync, async_, exit] = [
      await run(spec),
      await run(spec, { durability: "async" }),
      await run(spec, { durability: "exit" })
    ]
    assert.deepStrictEqual(async_.state, sync.state)
    assert.deepStrictEqual(exit.state, sync.state)
    assert.deepStrictEqual([async_.outcomes, exit.outcomes], [sync.outcomes, sync.outcomes])
    assert.deepStrictEqual(async_.rows, sync.rows)
    const shown = ({ events }: Ran) => events.map(({ next, source, step, values }) => ({ next, source, step, values }))
    assert.deepStrictEqual(shown(async_), shown(sync))
    assert.deepStrictEqual(shown(exit), shown(sync))
  }),
  timeout
)
