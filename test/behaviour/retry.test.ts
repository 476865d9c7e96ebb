/** When a failed node runs again, how often, and when it does not. */
import { assert, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Random, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  Channel,
  Checkpointer,
  Command,
  GraphError,
  Interrupt,
  Node,
  Policy,
  Pregel,
  Running,
  Send,
  State,
  StateGraph
} from "superstep"
import { runOut } from "./Clocks.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Busy extends Schema.TaggedError<Busy>()("Busy", { attempt: Schema.Int }) {}
class Denied extends Schema.TaggedError<Denied>()("Denied", {}) {}
class Confirm extends Interrupt.make("Confirm", { payload: Schema.String, answer: Schema.String }) {}

type Retry = Policy.Retries<never>

/** A graph of one node that runs `attempt` with the number of the attempt. */
const one = <E, R>(
  retry: Retry,
  attempt: (n: number) => Effect.Effect<{ readonly log: ReadonlyArray<string> }, E, R>
) => {
  const run = () => Effect.flatMap(Running.Running, (running) => attempt(running.attempt))
  // Generic in what it fails with, so that the check of the node cannot be decided here.
  const node = Node.make({ input: Log, run, retry: retry as Policy.Retries }) as unknown as Node.Node<
    Effect.Effect<{ readonly log: ReadonlyArray<string> }, Busy, never>
  >
  return StateGraph.make("one", StateGraph.nodes(Log, { node }), { start: "node" })
}

const fixed = (millis: number, times: number) => Policy.retry({ schedule: Schedule.spaced(millis), maxAttempts: times })

it.effect("LG#166 a node that fails twice runs three times, and waits as its schedule says", () =>
  Effect.gen(function*() {
    const times: Array<number> = []
    const policy = Policy.retry({ schedule: Schedule.exponential(10, 2), maxAttempts: 3 })
    const graph = one(policy, (attempt) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        times.push(now)
        return attempt < 3 ? Effect.fail(new Busy({ attempt })) : Effect.succeed({ log: [`attempt ${attempt}`] })
      }))
    const { exit, millis } = yield* runOut(graph.invoke({}))
    assert.deepStrictEqual(exit, Exit.succeed({ log: ["attempt 3"] }))
    assert.deepStrictEqual([times, millis], [[0, 10, 30], 30])
  }))

it.effect("LG#166 jitter is added to the wait, and comes from where the run's random numbers come from", () =>
  Effect.gen(function*() {
    const policy = Policy.retry({ schedule: Schedule.jittered(Schedule.spaced(1000)), maxAttempts: 2 })
    const waits: Array<number> = []
    const draws: Array<number> = []
    for (const seed of ["a", "b", "c"]) {
      const graph = one(policy, (attempt) =>
        Effect.flatMap(Random.next, (n) => {
          draws.push(n)
          return attempt < 2 ? Effect.fail(new Busy({ attempt })) : Effect.succeed({ log: [] })
        }))
      waits.push((yield* runOut(Random.withSeed(graph.invoke({}, { seed: "fixed" }), seed))).millis)
    }
    assert.strictEqual(new Set(waits).size, 3)
    for (const wait of waits) assert.isTrue(wait >= 800 && wait <= 1200, String(wait))
    // What the node draws does not depend on the jitter, and is the same in both attempts.
    assert.strictEqual(new Set(draws).size, 1)
  }))

it.effect("L15 the jitter of a graph inside a node does not change what the node draws", () =>
  Effect.gen(function*() {
    const drawAfter = Effect.fnUntraced(function*(fails: boolean) {
      let isFirst = true
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          n: Node.make({
            input: Log,
            run: () =>
              Effect.suspend(() => {
                const first = isFirst
                isFirst = false
                return fails && first ? Effect.fail(new Busy({ attempt: 1 })) : Effect.succeed({ log: [] })
              }),
            retry: Policy.retry({ schedule: Schedule.jittered(Schedule.spaced(1000)), maxAttempts: 2 })
          })
        }),
        { start: "n" }
      )
      const graph = StateGraph.make(
        "parent",
        StateGraph.nodes(Log, {
          node: Effect.fnUntraced(function*() {
            yield* child.call({})
            return { log: [String(yield* Random.next)] }
          })
        }),
        { start: "node" }
      )
      return (yield* runOut(graph.invoke({}, { seed: "s" }))).exit
    })
    const without = yield* drawAfter(false)
    assert.isTrue(Exit.isSuccess(without))
    assert.deepStrictEqual(yield* drawAfter(true), without)
  }))

it.effect("LG#166 of several policies the first whose predicate holds is used", () =>
  Effect.gen(function*() {
    const policies = [
      Policy.retry<Busy | Denied>({
        schedule: Schedule.spaced(100),
        maxAttempts: 4,
        while: (error) => error._tag === "Busy"
      }),
      Policy.retry<Busy | Denied>({ schedule: Schedule.spaced(7), maxAttempts: 2 })
    ]
    const fails = (kinds: ReadonlyArray<"busy" | "denied">) =>
      one(policies, (attempt) => {
        const kind = kinds[attempt - 1]
        return kind === undefined
          ? Effect.succeed({ log: [String(attempt)] })
          : Effect.fail(kind === "busy" ? new Busy({ attempt }) : new Denied())
      })
    assert.deepStrictEqual(yield* runOut(fails(["busy", "busy", "busy"]).invoke({})), {
      exit: Exit.succeed({ log: ["4"] }),
      millis: 300
    })
    assert.deepStrictEqual(yield* runOut(fails(["denied"]).invoke({})), {
      exit: Exit.succeed({ log: ["2"] }),
      millis: 7
    })
    assert.deepStrictEqual(yield* runOut(fails(["busy", "denied"]).invoke({})), {
      exit: Exit.succeed({ log: ["3"] }),
      millis: 107
    })
    const denied = yield* runOut(fails(["denied", "denied"]).invoke({}))
    assert.deepStrictEqual([denied.exit, denied.millis], [Exit.fail(new Denied()), 7])
  }))

it.effect("LG#166 after the last attempt the failure is the run's, as it is", () =>
  Effect.gen(function*() {
    let attempts = 0
    const graph = one(fixed(5, 3), (attempt) =>
      Effect.suspend(() => {
        attempts++
        return Effect.fail(new Busy({ attempt }))
      }))
    const { exit, millis } = yield* runOut(graph.invoke({}))
    assert.deepStrictEqual([exit, millis, attempts], [Exit.fail(new Busy({ attempt: 3 })), 10, 3])
  }))

it.effect("LG#164 what no predicate holds for is not retried; an empty list never retries", () =>
  Effect.gen(function*() {
    for (
      const policies of [[], [Policy.retry({ while: () => false })], [
        Policy.retry<Busy>({ while: (error) => error._tag !== "Busy" })
      ]]
    ) {
      const graph = one(policies, (attempt) => Effect.fail(new Busy({ attempt })))
      assert.deepStrictEqual(yield* runOut(graph.invoke({})), { exit: Exit.fail(new Busy({ attempt: 1 })), millis: 0 })
    }
  }))

it.effect("LG#164 the default policy: three attempts, half a second and a second apart, up to a quarter more or less", () =>
  Effect.gen(function*() {
    const times: Array<number> = []
    const graph = one(Policy.retry(), (attempt) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        times.push(now)
        return Effect.fail(new Busy({ attempt }))
      }))
    const { exit } = yield* runOut(graph.invoke({}))
    assert.deepStrictEqual(exit, Exit.fail(new Busy({ attempt: 3 })))
    assert.strictEqual(times.length, 3)
    assert.isTrue(times[1]! >= 375 && times[1]! <= 625, String(times[1]))
    assert.isTrue(times[2]! - times[1]! >= 750 && times[2]! - times[1]! <= 1250, String(times[2]! - times[1]!))
  }))

it.effect("LG#164 a policy of no attempts, or of half an attempt, is no policy", () =>
  Effect.sync(() => {
    for (const maxAttempts of [0, -1, 1.5, NaN]) {
      assert.throws(() => Policy.retry({ maxAttempts }), /whole number of at least 1/)
    }
  }))

it.effect("LG#166 one attempt in all means no retry", () =>
  Effect.gen(function*() {
    const graph = one(Policy.retry({ maxAttempts: 1 }), (attempt) => Effect.fail(new Busy({ attempt })))
    assert.deepStrictEqual(yield* runOut(graph.invoke({})), { exit: Exit.fail(new Busy({ attempt: 1 })), millis: 0 })
  }))

it.effect("LG#167 each attempt knows its number, and when the first began", () =>
  Effect.gen(function*() {
    yield* TestClock.adjust(5000)
    const seen: Array<unknown> = []
    const note = Effect.map(Running.Running, ({ attempt, firstAttemptMillis, node, path, step, task, thread }) => {
      seen.push({ attempt, firstAttemptMillis, node, path, step, task, thread })
      return attempt
    })
    const graph = StateGraph.make(
      "identity",
      StateGraph.nodes(Log, {
        plain: () => Effect.as(note, { log: [] }),
        retried: Node.make({
          input: Log,
          run: () =>
            Effect.flatMap(note, (attempt) =>
              attempt < 2 ? Effect.fail(new Busy({ attempt })) : Effect.succeed({ log: [] })),
          retry: fixed(30, 2)
        })
      }),
      { start: "plain", edges: { plain: "retried" } }
    )
    const { exit } = yield* runOut(graph.thread("t").invoke({}))
    assert.isTrue(Exit.isSuccess(exit))
    const common = { firstAttemptMillis: 5000, path: [], thread: "t" }
    assert.deepStrictEqual(seen, [
      { ...common, attempt: 1, node: "plain", step: 1, task: "pull:plain" },
      { ...common, attempt: 1, node: "retried", step: 2, task: "pull:retried" },
      { ...common, attempt: 2, node: "retried", step: 2, task: "pull:retried" }
    ])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("LG#167 a first attempt may begin when the clock stands at nothing", () =>
  Effect.gen(function*() {
    const seen: Array<number> = []
    const graph = StateGraph.make(
      "epoch",
      StateGraph.nodes(Log, {
        node: Node.make({
          input: Log,
          run: () =>
            Effect.flatMap(Running.Running, ({ attempt, firstAttemptMillis }) => {
              seen.push(firstAttemptMillis)
              return attempt < 3 ? Effect.fail(new Busy({ attempt })) : Effect.succeed({ log: [] })
            }),
          retry: fixed(30, 3)
        })
      }),
      { start: "node" }
    )
    const { exit, millis } = yield* runOut(graph.invoke({}))
    assert.deepStrictEqual([Exit.isSuccess(exit), millis, seen], [true, 60, [0, 0, 0]])
  }))

it.effect("L22 a defect is not retried, nor is an interruption from within", () =>
  Effect.gen(function*() {
    let attempts = 0
    const dies = one(fixed(1, 5), () =>
      Effect.suspend(() => {
        attempts++
        return Effect.die(new Error("bug"))
      }))
    const { exit } = yield* runOut(dies.invoke({}))
    assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    assert.strictEqual(attempts, 1)
    attempts = 0
    const throws = StateGraph.make(
      "throws",
      StateGraph.nodes(Log, {
        node: (): { readonly log: ReadonlyArray<string> } => {
          attempts++
          throw new Error("bug")
        }
      }),
      { start: "node" },
      { retry: fixed(1, 5) }
    )
    const thrown = (yield* runOut(throws.invoke({}))).exit
    assert.isTrue(Exit.isFailure(thrown) && Cause.hasDies(thrown.cause))
    assert.strictEqual(attempts, 1)
    attempts = 0
    const stops = one(fixed(1, 5), () =>
      Effect.suspend(() => {
        attempts++
        return Effect.interrupt
      }))
    const stopped = (yield* runOut(stops.invoke({}))).exit
    assert.isTrue(Exit.isFailure(stopped) && Cause.hasInterruptsOnly(stopped.cause))
    assert.strictEqual(attempts, 1)
  }))

it.effect("LG#169 a node that interrupts itself ends the run; what its sibling had done is kept, and the thread goes on", () =>
  Effect.gen(function*() {
    let stops = true
    const graph = StateGraph.make(
      "self",
      StateGraph.nodes(Log, {
        a: () => ({ log: ["a"] }),
        b: () => Effect.suspend(() => stops ? Effect.interrupt : Effect.succeed({ log: ["b"] }))
      }),
      { start: ["a", "b"] }
    )
    const thread = graph.thread("t")
    const exit = yield* Effect.exit(Effect.flatMap(Effect.forkChild(thread.invoke({})), Fiber.join))
    assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    assert.deepStrictEqual((yield* thread.state()).next, ["b"])
    stops = false
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b"] })
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("L22 a pause and a command for the parent are not retried", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        ask: Node.make({
          input: Log,
          run: Effect.fnUntraced(function*() {
            runs.push("ask")
            return { log: [yield* Confirm.ask("?")] }
          }),
          retry: fixed(1, 5)
        }),
        leave: Node.make({
          input: Log,
          run: () => {
            runs.push("leave")
            return Command.parent({ update: { log: ["left"] } })
          },
          retry: fixed(1, 5)
        })
      }),
      { start: "ask", edges: { ask: "leave" } },
      { retry: fixed(1, 5) }
    )
    const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }, {
      retry: fixed(1, 5)
    }).thread("t")
    const { exit, millis } = yield* runOut(thread.invoke({}))
    assert.isTrue(Exit.isFailure(exit) && Cause.hasFails(exit.cause))
    assert.deepStrictEqual([runs, millis], [["ask"], 0])
    assert.deepStrictEqual(
      (yield* runOut(thread.resume(Confirm.reply("yes")))).exit,
      Exit.succeed({ log: ["yes", "left"] })
    )
    assert.deepStrictEqual(runs, ["ask", "ask", "leave"])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("L22 a fault that the engine finds is not retried: not in the node, and not in a graph that it calls", () =>
  Effect.gen(function*() {
    let runs = 0
    const untyped = { log: 1 } as unknown as { readonly log: ReadonlyArray<string> }
    const bad = one(fixed(1, 5), () =>
      Effect.sync(() => {
        runs++
        return untyped
      }))
    const refused = yield* runOut(Effect.flip(bad.invoke({})))
    assert.deepStrictEqual([Exit.isSuccess(refused.exit) && refused.exit.value._tag, runs], ["InvalidUpdate", 1])
    runs = 0
    const endless = StateGraph.make("endless", StateGraph.nodes(Log, { n: () => ({ log: ["n"] }) }), {
      start: "n",
      edges: { n: "n" }
    }, { recursionLimit: 3 })
    const calls = one(fixed(1, 5), () =>
      Effect.suspend(() => {
        runs++
        return endless.call({})
      }))
    const limited = yield* runOut(Effect.flip(calls.invoke({})))
    assert.deepStrictEqual([Exit.isSuccess(limited.exit) && limited.exit.value._tag, runs, limited.millis], [
      "RecursionLimit",
      1,
      0
    ])
    const holds = StateGraph.make("holds", StateGraph.nodes(Log, { endless }), { start: "endless" }, {
      retry: fixed(1, 5)
    })
    const held = yield* runOut(Effect.flip(holds.invoke({})))
    assert.deepStrictEqual([Exit.isSuccess(held.exit) && held.exit.value._tag, held.millis], ["RecursionLimit", 0])
  }))

it.effect("L22 of the errors of the engine a policy sees NodeTimeout alone", () =>
  Effect.gen(function*() {
    const errors = Object.values(GraphError as Record<string, unknown>).flatMap((Class) => {
      const error = typeof Class === "function" && Class.prototype instanceof Error
        ? new (Class as new(fields: object) => GraphError.EngineError)({})
        : undefined
      return GraphError.isEngineError(error) ? [error] : []
    })
    assert.isAbove(errors.length, 10)
    for (const error of errors) {
      let runs = 0
      const fails = one(fixed(1, 3), () =>
        Effect.suspend(() => {
          runs++
          return Effect.fail(error)
        }))
      yield* runOut(Effect.flip(fails.invoke({})))
      assert.deepStrictEqual([error._tag, runs], [error._tag, error._tag === "NodeTimeout" ? 3 : 1])
    }
  }))

it.effect("L10 an attempt that a policy starts again asks its questions anew, in the same order", () =>
  Effect.gen(function*() {
    const asked: Array<string> = []
    const graph = StateGraph.make(
      "asks",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          const { attempt } = yield* Running.Running
          const first = yield* Confirm.ask("first")
          asked.push(`${attempt}: ${first}`)
          if (attempt < 3) return yield* new Busy({ attempt })
          const second = yield* Confirm.ask("second")
          return { log: [first, second] }
        })
      }),
      { start: "node" },
      { retry: fixed(1, 3) }
    )
    const thread = graph.thread("t")
    yield* runOut(Effect.flip(thread.invoke({})))
    const again = yield* runOut(Effect.flip(thread.resume(Confirm.reply("one"))))
    if (!Exit.isSuccess(again.exit) || again.exit.value._tag !== "GraphInterrupt") return assert.fail("does not pause")
    assert.deepStrictEqual(again.exit.value.requests.map(({ payload }) => payload), ["second"])
    assert.deepStrictEqual(asked, ["1: one", "2: one", "3: one"])
    assert.deepStrictEqual(
      (yield* runOut(thread.resume(Confirm.reply("two")))).exit,
      Exit.succeed({ log: ["one", "two"] })
    )
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("LG#171 the policy of the graph holds for nodes that have none of their own", () =>
  Effect.gen(function*() {
    const counts = { own: 0, default: 0, never: 0 }
    const fails = (name: keyof typeof counts, until: number) => () =>
      Effect.suspend(() =>
        ++counts[name] < until ? Effect.fail(new Busy({ attempt: counts[name] })) : Effect.succeed({ log: [name] })
      )
    const graph = StateGraph.make(
      "defaults",
      StateGraph.nodes(Log, {
        own: Node.make({ input: Log, run: fails("own", 2), retry: fixed(1, 2) }),
        default: fails("default", 4),
        never: Node.make({ input: Log, run: fails("never", 2), retry: [] })
      }),
      { start: "own", edges: StateGraph.sequence("own", "default", "never") },
      { retry: fixed(10, 4) }
    )
    const { exit, millis } = yield* runOut(graph.invoke({}))
    assert.deepStrictEqual([exit, counts, millis], [Exit.fail(new Busy({ attempt: 1 })), {
      own: 2,
      default: 4,
      never: 1
    }, 31])
  }))

it.effect("LG#166 a graph in a node keeps what it had done when its node tries again", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        a: () => {
          runs.push("a")
          return { log: ["a"] }
        },
        b: () =>
          Effect.suspend(() => {
            runs.push("b")
            return runs.filter((run) => run === "b").length < 3
              ? Effect.fail(new Busy({ attempt: 0 }))
              : Effect.succeed({ log: ["b"] })
          })
      }),
      { start: "a", edges: { a: "b" } }
    )
    const graph = StateGraph.make(
      "parent",
      StateGraph.nodes(Log, {
        node: Node.make({
          input: Log,
          run: () => Effect.map(child.call({}), ({ log }) => ({ log })),
          retry: fixed(1, 3)
        })
      }),
      { start: "node" }
    )
    assert.deepStrictEqual((yield* runOut(graph.thread("t").invoke({}))).exit, Exit.succeed({ log: ["a", "b"] }))
    assert.deepStrictEqual(runs, ["a", "b", "b", "b"])
    // Without a thread nothing was stored that could be kept.
    runs.length = 0
    assert.deepStrictEqual((yield* runOut(graph.invoke({}))).exit, Exit.succeed({ log: ["a", "b"] }))
    assert.deepStrictEqual(runs, ["a", "b", "a", "b", "a", "b"])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

it.effect("LG#166 siblings are retried each by itself, and a waiting one does not hold up the others", () =>
  Effect.gen(function*() {
    const ends: Array<string> = []
    class Work extends State.make({ log: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make(
      "fan",
      StateGraph.nodes(Work, {
        go: () => Command.make({ goto: [3, 1, 2].map((fails) => Send.make("work", { fails })) }),
        work: Node.make({
          input: Schema.Struct({ fails: Schema.Int }),
          run: ({ fails }) =>
            Effect.flatMap(Running.Running, ({ attempt }) =>
              attempt <= fails
                ? Effect.fail(new Busy({ attempt }))
                : Effect.sync(() => {
                  ends.push(`${fails}`)
                  return { log: [`${fails} in ${attempt}`] }
                })),
          retry: fixed(10, 5)
        })
      }),
      { start: "go" }
    )
    const { exit, millis } = yield* runOut(graph.invoke({}))
    assert.deepStrictEqual([exit, millis, ends], [Exit.succeed({ log: ["3 in 4", "1 in 2", "2 in 3"] }), 30, [
      "1",
      "2",
      "3"
    ]])
  }))

it.effect("LG#166 a machine that is wired by hand retries too", () =>
  Effect.gen(function*() {
    let attempts = 0
    const machine = Pregel.make("m", {
      channels: { in: Channel.lastValue(Schema.Int), out: Channel.lastValue(Schema.Int) },
      nodes: {
        n: Pregel.node({
          subscribe: "in",
          run: (x: number) =>
            Effect.suspend(() => ++attempts < 3 ? Effect.fail(new Busy({ attempt: attempts })) : Effect.succeed(x + 1)),
          write: "out",
          retry: fixed(4, 3)
        })
      },
      input: "in",
      output: "out"
    })
    assert.deepStrictEqual(yield* runOut(machine.invoke(1)), { exit: Exit.succeed(2), millis: 8 })
  }))

it.effect("L15 random numbers of a task: the same for the same seed, others for every task, the same again on resume", () =>
  Effect.gen(function*() {
    let fails = true
    const seen: Array<string> = []
    const graph = StateGraph.make(
      "random",
      StateGraph.nodes(Log, {
        go: () => Command.make({ goto: [0, 1, 2].map((n) => Send.make("draw", { n })) }),
        draw: Node.make({
          input: Schema.Struct({ n: Schema.Int }),
          run: ({ n }) =>
            Effect.gen(function*() {
              const drawn = `${yield* Random.next} ${yield* Random.nextInt}`
              if (n === 2 && fails) {
                seen.push(drawn)
                return yield* new Denied()
              }
              return { log: [drawn] }
            })
        })
      }),
      { start: "go" }
    )
    fails = false
    const a = yield* graph.invoke({}, { seed: "x" })
    assert.deepStrictEqual(yield* graph.invoke({}, { seed: "x" }), a)
    assert.strictEqual(new Set(a.log).size, 3)
    assert.notDeepEqual(yield* graph.invoke({}, { seed: "y" }), a)
    assert.notDeepEqual(yield* graph.invoke({}), yield* graph.invoke({}))
    fails = true
    const thread = graph.thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), new Denied())
    fails = false
    const resumed = yield* thread.continue()
    assert.strictEqual(resumed.log[2], seen[0])
    // Another process, another store, the same thread id: the same numbers, and the same checkpoints.
    const [once, twice] = yield* Effect.all(
      [0, 1].map(() =>
        Effect.provide(
          Effect.andThen(
            graph.thread("t").invoke({}),
            Effect.map(graph.thread("t").history(), (all) => all.map(({ checkpoint, values }) => [checkpoint, values]))
          ),
          Checkpointer.layerMemory,
          { local: true }
        )
      )
    )
    assert.deepStrictEqual(once, twice)
    assert.deepStrictEqual(once![0]![1], resumed)
  }).pipe(Effect.provide(Checkpointer.layerMemory)))
