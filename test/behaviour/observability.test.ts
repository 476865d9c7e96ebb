/** What those see who observe the process: spans, metrics, annotations of logs, and what a node knows of its run. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Logger, Metric, References, Schedule, Schema, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { Channel, Checkpointer, Interrupt, Node, Policy, Running, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

/** Runs an effect with a tracer, and gives the spans in the order in which they began. */
const traced = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const exit = yield* Effect.exit(Effect.withTracer(effect, tracer))
  return { exit, spans }
})

const parentOf = (span: Tracer.NativeSpan): string | undefined => {
  const parent = span.parent
  return parent._tag === "Some" && parent.value._tag === "Span" ? parent.value.name : undefined
}

const endOf = (span: Tracer.NativeSpan): "open" | "ok" | "error" =>
  span.status._tag !== "Ended" ? "open" : Exit.isSuccess(span.status.exit) ? "ok" : "error"

const note = (name: string) => () => ({ log: [name] })

// ---------------------------------------------------------------------------
// Spans
// ---------------------------------------------------------------------------

behaves(
  "one span for the run, each superstep and each task, in each other, those of graphs inside too",
  () =>
    Effect.gen(function*() {
      const inner = StateGraph.make("inner", StateGraph.nodes(Log, { deep: note("deep") }), { start: "deep" })
      const app = StateGraph.make(
        "app",
        StateGraph.nodes(Log, {
          first: note("first"),
          inner,
          called: () => inner.call({})
        }),
        {
          start: "first",
          edges: { first: ["inner", "called"] }
        }
      )
      const { spans } = yield* traced(app.thread("t").invoke({}, { metadata: { user: "ada", tags: ["x"] } }))
      const own = spans.filter(({ name }) => name.startsWith("superstep."))
      assert.sameDeepMembers(own.map((span) => [span.name, parentOf(span)]), [
        ["superstep.run app", undefined],
        ["superstep.step", "superstep.run app"],
        ["superstep.step", "superstep.run app"],
        ["superstep.step", "superstep.task inner"],
        ["superstep.step", "superstep.task called"],
        ["superstep.task called", "superstep.step"],
        ["superstep.task deep", "superstep.step"],
        ["superstep.task deep", "superstep.step"],
        ["superstep.task first", "superstep.step"],
        ["superstep.task inner", "superstep.step"]
      ])
      assert.deepStrictEqual(own.map(endOf), own.map(() => "ok"))
      const run = own.find(({ name }) => name === "superstep.run app")!
      assert.deepStrictEqual(Object.fromEntries(run.attributes), {
        "superstep.graph": "app",
        "superstep.thread": "t",
        "superstep.metadata.user": "ada",
        "superstep.metadata.tags": "[\"x\"]"
      })
      const task = own.find(({ attributes, name }) =>
        name === "superstep.task deep" && attributes.get("superstep.path") === "inner"
      )!
      assert.deepStrictEqual(Object.fromEntries(task.attributes), {
        "superstep.graph": "inner",
        "superstep.path": "inner",
        "superstep.step": 1,
        "superstep.node": "deep",
        "superstep.task": "pull:deep"
      })
    })
)

behaves(
  "the span of a run that waits, stops or drains is no error, and nor are those of its tasks",
  () =>
    Effect.gen(function*() {
      const asks = StateGraph.make(
        "asks",
        StateGraph.nodes(Log, {
          ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })),
          last: note("last")
        }),
        { start: "ask", edges: { ask: "last" } }
      )
      const runs = [
        asks.thread("t").invoke({}),
        asks.thread("t").resume(Ask.reply("!"), { before: ["last"] }),
        asks.thread("t").continue()
      ]
      for (const run of runs) {
        const { spans } = yield* traced(run)
        assert.deepStrictEqual(spans.filter((span) => endOf(span) !== "ok").map(({ name }) => name), [])
        assert.isAbove(spans.length, 0)
      }
    })
)

behaves(
  "what fails is an error in the spans of its task, its superstep and its run, and nowhere else",
  () =>
    Effect.gen(function*() {
      const fails = StateGraph.make(
        "fails",
        StateGraph.nodes(Log, { good: note("good"), bad: () => Effect.fail(new Broken()) }),
        { start: ["good", "bad"] },
        { onFailure: "settle" }
      )
      const { exit, spans } = yield* traced(fails.thread("t").invoke({}))
      assert.isTrue(Exit.isFailure(exit))
      assert.sameMembers(spans.filter((span) => endOf(span) === "error").map(({ name }) => name), [
        "superstep.run fails",
        "superstep.step",
        "superstep.task bad"
      ])
      assert.isFalse(spans.some((span) => endOf(span) === "open"))
    })
)

it.effect("spans that a node makes stand in that of its task; where nobody traces there are none", () =>
  Effect.gen(function*() {
    const own: Array<string | undefined> = []
    const app = StateGraph.make(
      "app",
      StateGraph.nodes(Log, {
        work: Effect.fnUntraced(function*() {
          const span = yield* Effect.option(Effect.currentSpan)
          own.push(span._tag === "Some" ? span.value.name : undefined)
          yield* Effect.withSpan(Effect.void, "mine")
          return { log: ["work"] }
        })
      }),
      { start: "work" }
    )
    const { spans } = yield* traced(app.invoke({}))
    assert.deepStrictEqual(spans.map((span) => [span.name, parentOf(span)]).at(-1), ["mine", "superstep.task work"])
    yield* app.invoke({})
    assert.deepStrictEqual(own, ["superstep.task work", undefined])
  }))

// ---------------------------------------------------------------------------
// Metrics
// ---------------------------------------------------------------------------

/** What the metrics have come to, by name and attributes. */
const counted = Effect.map(Metric.snapshot, (all) =>
  new Map(
    all.map(({ attributes, id, state }) => [
      [id, ...Object.values(attributes ?? {})].join(" "),
      "count" in state ? Number(state.count) : Number.NaN
    ])
  ))

/** Runs an effect with metrics of its own, and gives what they come to. */
const measured = Effect.fnUntraced(
  function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
    yield* Effect.exit(effect)
    return yield* counted
  },
  (effect) => Effect.provideService(effect, Metric.MetricRegistry, new Map())
)

behaves(
  "runs, supersteps, tasks, retries and pauses are counted by graph, and commits measured",
  () =>
    Effect.gen(function*() {
      let attempts = 0
      const flaky = Node.make({
        input: Log,
        retry: Policy.retry({ schedule: Schedule.spaced("1 milli"), maxAttempts: 3 }),
        run: () => ++attempts < 3 ? Effect.fail(new Broken()) : Effect.succeed({ log: ["flaky"] })
      })
      const app = StateGraph.make(
        "app",
        StateGraph.nodes(Log, {
          split: () => ({}),
          flaky,
          work: note("work"),
          ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))
        }),
        {
          start: "split",
          edges: {
            split: StateGraph.route(
              ["flaky", "work"],
              (state) => ["flaky", Send.make("work", state), Send.make("work", state)]
            ),
            flaky: "ask"
          }
        }
      )
      const thread = app.thread("t")
      const first = yield* measured(thread.invoke({}))
      const all = [...first].filter(([name]) => name.startsWith("superstep_"))
      assert.deepStrictEqual(Object.fromEntries(all.filter(([, count]) => typeof count === "number" && count < 100)), {
        "superstep_runs app paused": 1,
        "superstep_supersteps app": 3,
        "superstep_tasks app": 6,
        "superstep_retries app": 2,
        "superstep_pauses app": 1,
        "superstep_commit_characters": 4,
        "superstep_commit_millis": 4
      })
      const second = yield* measured(thread.resume(Ask.reply("!")))
      assert.strictEqual(second.get("superstep_runs app done"), 1)
      assert.strictEqual(second.get("superstep_tasks app"), 1)
    })
)

it.effect("a long run tells what it has counted before it ends, and how a run has ended is told", () =>
  Effect.gen(function*() {
    const seen: Array<number> = []
    class Count extends State.make({ n: Schema.Int }) {}
    const long = StateGraph.make(
      "long",
      StateGraph.nodes(Count, {
        loop: ({ n }) =>
          n % 300 === 299
            ? Effect.map(counted, (counts) => (seen.push(counts.get("superstep_supersteps long")!), { n: n + 1 }))
            : { n: n + 1 }
      }),
      { start: "loop", edges: { loop: StateGraph.route(["loop"], ({ n }) => n < 900 ? "loop" : []) } }
    )
    const counts = yield* measured(long.invoke({ n: 0 }))
    assert.strictEqual(counts.get("superstep_supersteps long"), 901)
    assert.deepStrictEqual(seen, [256, 512, 768])
    const failing = StateGraph.make("failing", StateGraph.nodes(Log, { bad: () => Effect.die("oh") }), { start: "bad" })
    assert.strictEqual((yield* measured(failing.invoke({}))).get("superstep_runs failing failed"), 1)
    const endless = StateGraph.make("endless", StateGraph.nodes(Log, { wait: () => Effect.never }), { start: "wait" })
    const cut = Effect.timeoutOption(Effect.interruptible(endless.invoke({})), "1 second")
    const fiber = yield* Effect.forkChild(measured(cut))
    yield* TestClock.adjust("1 second")
    assert.strictEqual((yield* Fiber.join(fiber)).get("superstep_runs endless interrupted"), 1)
  }))

// ---------------------------------------------------------------------------
// What a node knows of its run
// ---------------------------------------------------------------------------

behaves(
  "a node knows the run, its metadata, and why it is asked to stop; inside a graph, too",
  () =>
    Effect.gen(function*() {
      const seen: Array<readonly [string, unknown, string | undefined]> = []
      const look = Effect.fnUntraced(function*() {
        const { drained, metadata, run } = yield* Running.Running
        seen.push([run, metadata, drained])
        return {}
      })
      const inner = StateGraph.make("inner", StateGraph.nodes(Log, { look }), { start: "look" })
      const app = StateGraph.make(
        "app",
        StateGraph.nodes(Log, { look, inner, stop: () => Effect.andThen(Running.drain("enough"), look()) }),
        { start: "look", edges: { look: "inner", inner: "stop" } }
      )
      yield* app.thread("t").invoke({}, { metadata: { user: "ada" } })
      assert.deepStrictEqual(seen.map(([run]) => run), [seen[0]![0], seen[0]![0], seen[0]![0]])
      assert.deepStrictEqual(seen.map(([, metadata, drained]) => [metadata, drained]), [
        [{ user: "ada" }, undefined],
        [{ user: "ada" }, undefined],
        [{ user: "ada" }, "enough"]
      ])
      yield* app.invoke({}, { metadata: { user: "bob" } })
      assert.notStrictEqual(seen[3]![0], seen[0]![0])
      assert.strictEqual(seen[3]![0], seen[4]![0])
      assert.deepStrictEqual(seen[3]![1], { user: "bob" })
    })
)

it.effect("what a node logs says where it stands", () =>
  Effect.gen(function*() {
    const lines: Array<unknown> = []
    const logger = Logger.make(({ fiber, message }) => {
      lines.push([message, Context.get(fiber.context, References.CurrentLogAnnotations)])
    })
    const inner = StateGraph.make(
      "inner",
      StateGraph.nodes(Log, { deep: () => Effect.as(Effect.logInfo("deep"), { log: [] }) }),
      { start: "deep" }
    )
    const app = StateGraph.make(
      "app",
      StateGraph.nodes(Log, { top: () => Effect.as(Effect.logInfo("top"), { log: [] }), inner }),
      { start: "top", edges: { top: "inner" } }
    )
    yield* app.thread("t").invoke({}).pipe(
      Effect.annotateLogs("own", 1),
      Effect.provide([Logger.layer([logger]), Checkpointer.layerMemory])
    )
    assert.deepStrictEqual(lines, [
      [["top"], { own: 1, graph: "app", thread: "t", node: "top", step: 1 }],
      [["deep"], { own: 1, graph: "inner", thread: "t", path: "inner", node: "deep", step: 1 }]
    ])
  }))
