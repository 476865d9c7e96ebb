/** Faults that people met with pauses elsewhere: crossed answers, answers given twice, pauses that were swallowed. */
import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option, Result, Schedule, Schema } from "effect"
import { Channel, Checkpointer, Command, GraphError, Interrupt, type Running, State, StateGraph } from "superstep"
import { behavesReopened, collect, idOf, type Open, paused, payloads, recorded, rowsOf } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
class Number
  extends Interrupt.make("Number", { payload: Schema.String, answer: Schema.Union([Schema.Int, Schema.String]) })
{}

/** Lets others run, some times. */
const turns = (count: number) => Effect.forEach(Array.from({ length: count }), () => Effect.yieldNow, { discard: true })

type Questions = Interrupt.Request<"Ask", string, string> | Interrupt.Request<"Number", string, number | string>

/** A graph of one node, whatever the node does; it can ask both questions. */
const oneNode = (node: () => Effect.Effect<{ readonly log: ReadonlyArray<string> }, unknown, unknown>) =>
  StateGraph.make(
    "one node",
    StateGraph.nodes(Log, {
      node: node as never as () => Effect.Effect<
        { readonly log: ReadonlyArray<string> },
        never,
        Running.Running | Interrupt.Asks<Questions>
      >
    }),
    { start: "node" }
  )

// ---------------------------------------------------------------------------
// D1
// ---------------------------------------------------------------------------

const orders = [[0, 5, 10], [10, 5, 0], [5, 0, 10], [0, 10, 5], [10, 0, 5], [5, 10, 0]]

behavesReopened(
  "D1 three keyed questions at once in one task never swap answers, whatever their delays before and after",
  (open) =>
    Effect.gen(function*() {
      let delays = orders[0]!
      const keys = ["A", "B", "C"]
      const graph = oneNode(() =>
        Effect.gen(function*() {
          const answers = yield* Effect.all(
            keys.map((key, index) =>
              Effect.andThen(turns(delays[index]!), Effect.exit(Ask.ask(`ask ${key}`, { key })))
            ),
            { concurrency: "unbounded" }
          )
          return { log: answers.map((exit, index) => `${keys[index]}=${Exit.isSuccess(exit) ? exit.value : "none"}`) }
        })
      )
      const ids = new Set<string>()
      for (const [run, first] of orders.entries()) {
        for (const [again, second] of orders.entries()) {
          const thread = graph.thread(`t${run}${again}`)
          delays = first
          const all = yield* open(paused(thread.invoke({})))
          assert.deepStrictEqual(payloads(all).toSorted(), ["ask A", "ask B", "ask C"])
          for (const key of keys) ids.add(idOf(all, `ask ${key}`))
          delays = second
          const replies = keys.map((key) => Ask.reply(`ans${key}`, { id: idOf(all, `ask ${key}`) }))
          assert.deepStrictEqual(yield* open(thread.resume(replies)), { log: ["A=ansA", "B=ansB", "C=ansC"] })
        }
      }
      // The ids do not depend on who was first.
      assert.strictEqual(ids.size, 3)
    })
)

behavesReopened(
  "D1 keyed questions whose failure is not caught are asked as far as the node got, and answered by id",
  (open) =>
    Effect.gen(function*() {
      const keys = ["A", "B", "C"]
      for (const [run, delays] of orders.entries()) {
        const graph = oneNode(() =>
          Effect.map(
            Effect.all(
              keys.map((key, index) => Effect.andThen(turns(delays[index]!), Ask.ask(`ask ${key}`, { key }))),
              {
                concurrency: "unbounded"
              }
            ),
            (answers) => ({ log: answers })
          )
        )
        const thread = graph.thread(`t${run}`)
        let requests = yield* open(paused(thread.invoke({})))
        for (let resumes = 0;; resumes++) {
          assert.isBelow(resumes, 3)
          assert.isAbove(requests.length, 0)
          const replies = requests.map(({ id, payload }) => Ask.reply(String(payload).replace("ask ", "ans"), { id }))
          const exit = yield* open(Effect.exit(thread.resume(replies)))
          if (Exit.isSuccess(exit)) {
            assert.deepStrictEqual(exit.value, { log: ["ansA", "ansB", "ansC"] })
            break
          }
          requests = yield* open(paused(exit))
        }
      }
    })
)

behavesReopened(
  "D1 without keys several questions at once are refused, however late the second is asked",
  (open) =>
    Effect.gen(function*() {
      for (const [run, delays] of orders.entries()) {
        const graph = oneNode(() =>
          Effect.as(
            Effect.all(
              delays.map((delay, index) => Effect.andThen(turns(delay), Effect.exit(Ask.ask(`ask ${index}`)))),
              {
                concurrency: "unbounded"
              }
            ),
            { log: ["made up"] }
          )
        )
        const thread = graph.thread(`t${run}`)
        const error = yield* open(Effect.flip(thread.invoke({})))
        assert.deepStrictEqual(error, new GraphError.ConcurrentCall({ kind: "ask", node: "node", called: "Ask" }))
        const state = yield* open(thread.state())
        assert.deepStrictEqual([state.values, state.requests, state.next], [{ log: [] }, [], ["node"]])
      }
    })
)

// ---------------------------------------------------------------------------
// D3
// ---------------------------------------------------------------------------

const twoQuestions = () =>
  oneNode(Effect.fnUntraced(function*() {
    const x = yield* Ask.ask("1")
    const y = yield* Ask.ask("2")
    return { log: [x, y] }
  }))

behavesReopened(
  "D3 going on without an answer asks the second question again, and never answers it with the first's",
  (open) =>
    Effect.gen(function*() {
      // A handle each, of a graph each: nothing is remembered but what is stored.
      const thread = () => twoQuestions().thread("t")
      yield* open(paused(thread().invoke({})))
      const [second] = yield* open(paused(thread().resume(Ask.reply("r1"))))
      assert.strictEqual(second!.payload, "2")
      const again = yield* open(paused(thread().continue()))
      assert.deepStrictEqual(again, [second!])
      const { end, events } = yield* open(
        recorded(thread().stream(Command.continue, { modes: ["values", "updates", "tasks"] }))
      )
      assert.strictEqual(end, "GraphInterrupt")
      assert.deepStrictEqual(events, [{
        mode: "paused",
        path: [],
        step: 1,
        requests: [{ id: second!.id, tag: "Ask", payload: "2" }]
      }])
      assert.deepStrictEqual(payloads((yield* open(thread().state())).requests), ["2"])
      const refused = yield* open(Effect.flip(thread().invoke({})))
      assert.deepStrictEqual(
        refused,
        new GraphError.PendingWork({
          thread: "t",
          next: ["node"],
          requests: [{ id: second!.id, tag: "Ask", payload: "2" }]
        })
      )
      assert.deepStrictEqual(yield* open(thread().resume(Ask.reply("r2"))), { log: ["r1", "r2"] })
    })
)

// ---------------------------------------------------------------------------
// D5
// ---------------------------------------------------------------------------

const ask = (question: string) => () => Effect.map(Ask.ask(question), (answer) => ({ log: [`${question}=${answer}`] }))

behavesReopened(
  "D5 an answer that fits two tasks goes to neither: both are named, and both still wait",
  (open) =>
    Effect.gen(function*() {
      const graph = StateGraph.make("parallel", StateGraph.nodes(Log, { a: ask("a"), b: ask("b") }), {
        start: ["a", "b"]
      })
      const thread = graph.thread("t")
      const both = yield* open(paused(thread.invoke({})))
      const before = yield* open(rowsOf("t"))
      const pending = both.map(({ id, payload, tag }) => ({ id, tag, payload: payload as unknown }))
      for (const replies of [[Ask.reply("one")], [Ask.reply("one"), Ask.reply("two")]]) {
        assert.deepStrictEqual(
          yield* open(Effect.flip(thread.resume(replies))),
          new GraphError.InvalidReply({
            reason: "Ambiguous",
            thread: "t",
            tag: "Ask",
            id: undefined,
            pending,
            detail: undefined
          })
        )
        assert.deepStrictEqual(yield* open(rowsOf("t")), before)
      }
      const { end } = yield* open(recorded(thread.stream(Command.resume(Ask.reply("one")), { modes: ["values"] })))
      assert.strictEqual(end, "InvalidReply")
      assert.deepStrictEqual(yield* open(rowsOf("t")), before)
      // By id, one after the other; then the last is not ambiguous.
      yield* open(paused(thread.resume(Ask.reply("2", { id: idOf(both, "b") }))))
      assert.deepStrictEqual(yield* open(thread.resume(Ask.reply("1"))), { log: ["a=1", "b=2"] })
    })
)

// ---------------------------------------------------------------------------
// D7
// ---------------------------------------------------------------------------

behavesReopened(
  "D7 a loop that validates needs exactly one resume for each answer, and sees earlier ones in order",
  (open) =>
    Effect.gen(function*() {
      const replays: Array<ReadonlyArray<string>> = []
      const graph = oneNode(() =>
        Effect.gen(function*() {
          const seen: Array<string> = []
          replays.push(seen)
          let prompt = "age?"
          for (;;) {
            seen.push(prompt)
            const answer = yield* Number.ask(prompt)
            seen.push(String(answer))
            if (typeof answer === "number") return { log: [String(answer)] }
            prompt = `"${answer}" is no number`
          }
        })
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(payloads(yield* open(paused(thread.invoke({})))), ["age?"])
      assert.deepStrictEqual(payloads(yield* open(paused(thread.resume(Number.reply("a"))))), ["\"a\" is no number"])
      assert.deepStrictEqual(payloads(yield* open(paused(thread.resume(Number.reply("b"))))), ["\"b\" is no number"])
      assert.deepStrictEqual(yield* open(thread.resume(Number.reply(30))), { log: ["30"] })
      const whole = ["age?", "a", "\"a\" is no number", "b", "\"b\" is no number", "30"]
      assert.deepStrictEqual(replays, [whole.slice(0, 1), whole.slice(0, 3), whole.slice(0, 5), whole])
    })
)

behavesReopened(
  "D7 a prompt that differs at the same place of the loop is reported, not matched",
  (open) =>
    Effect.gen(function*() {
      let wording = "is no number"
      const graph = oneNode(() =>
        Effect.gen(function*() {
          let prompt = "age?"
          for (;;) {
            const answer = yield* Number.ask(prompt)
            if (typeof answer === "number") return { log: [String(answer)] }
            prompt = `"${answer}" ${wording}`
          }
        })
      )
      const thread = graph.thread("t")
      yield* open(paused(thread.invoke({})))
      yield* open(paused(thread.resume(Number.reply("a"))))
      wording = "is not a number"
      assert.deepStrictEqual(
        yield* open(Effect.flip(thread.resume(Number.reply(30)))),
        new GraphError.InterruptMismatch({
          reason: "OtherQuestion",
          node: "node",
          tag: "Number",
          answered: "\"a\" is no number",
          now: "\"a\" is not a number"
        })
      )
      assert.deepStrictEqual(payloads((yield* open(thread.state())).requests), ["\"a\" is not a number"])
      assert.deepStrictEqual(yield* open(thread.resume(Number.reply(31))), { log: ["31"] })
    })
)

// ---------------------------------------------------------------------------
// D8
// ---------------------------------------------------------------------------

behavesReopened(
  "D8 of parallel tasks, finished ones do not run again and are not asked again, waiting ones do not run",
  (open) =>
    Effect.gen(function*() {
      const runs = { n1: 0, n2: 0, n3: 0 }
      const graph = StateGraph.make(
        "three",
        StateGraph.nodes(Log, {
          n1: () => {
            runs.n1++
            return { log: ["n1"] }
          },
          n2: Effect.fnUntraced(function*() {
            runs.n2++
            return { log: [yield* Ask.ask("n2 first"), yield* Ask.ask("n2 second")] }
          }),
          n3: Effect.fnUntraced(function*() {
            runs.n3++
            return { log: [yield* Ask.ask("n3")] }
          })
        }),
        { start: ["n1", "n2", "n3"] }
      )
      const thread = graph.thread("t")
      const first = yield* open(paused(thread.invoke({})))
      assert.deepStrictEqual([payloads(first), { ...runs }], [["n2 first", "n3"], { n1: 1, n2: 1, n3: 1 }])
      const second = yield* open(paused(thread.resume(Ask.reply("3", { id: idOf(first, "n3") }))))
      assert.deepStrictEqual([payloads(second), { ...runs }], [["n2 first"], { n1: 1, n2: 1, n3: 2 }])
      const state = yield* open(thread.state())
      assert.deepStrictEqual(state.values, { log: ["n1", "3"] })
      assert.deepStrictEqual(state.next, ["n2"])
      assert.deepStrictEqual(state.tasks.map(({ node, requests, result }) => [node, payloads(requests), result]), [
        ["n1", [], { log: [["n1"]] }],
        ["n2", ["n2 first"], undefined],
        ["n3", [], { log: [["3"]] }]
      ])
      // Answered, and its task is done: there is no such question any more.
      const late = yield* open(Effect.flip(thread.resume(Ask.reply("again", { id: idOf(first, "n3") }))))
      assert.strictEqual(late._tag, "InvalidReply")
      const third = yield* open(paused(thread.resume(Ask.reply("2a"))))
      assert.deepStrictEqual([payloads(third), { ...runs }], [["n2 second"], { n1: 1, n2: 2, n3: 2 }])
      assert.deepStrictEqual(yield* open(thread.resume(Ask.reply("2b"))), { log: ["n1", "2a", "2b", "3"] })
      assert.deepStrictEqual(runs, { n1: 1, n2: 3, n3: 2 })
    })
)

// ---------------------------------------------------------------------------
// D10
// ---------------------------------------------------------------------------

type Asking = Effect.Effect<string, Interrupt.AnyRequest, Effect.Services<ReturnType<typeof Ask.ask>>>

const swallowers: Readonly<
  Record<string, (asking: Asking) => Effect.Effect<unknown, unknown, Effect.Services<Asking>>>
> = {
  catch: (asking) => Effect.catch(asking, () => Effect.succeed("swallowed")),
  catchTag: (asking) => Effect.catchTag(asking, "InterruptRequest", () => Effect.succeed("swallowed")),
  catchCause: (asking) => Effect.catchCause(asking, () => Effect.succeed("swallowed")),
  option: (asking) => Effect.map(Effect.option(asking), Option.getOrElse(() => "swallowed")),
  exit: (asking) => Effect.map(Effect.exit(asking), (exit) => Exit.isSuccess(exit) ? exit.value : "swallowed"),
  result: (asking) => Effect.map(Effect.result(asking), Result.getOrElse(() => "swallowed")),
  ignore: (asking) => Effect.ignore(asking),
  match: (asking) => Effect.match(asking, { onFailure: () => "swallowed", onSuccess: (answer) => answer }),
  orElseSucceed: (asking) => Effect.orElseSucceed(asking, () => "swallowed"),
  mapError: (asking) => Effect.mapError(asking, () => "another error"),
  flip: (asking) => Effect.flip(asking),
  retry: (asking) => Effect.retry(asking, { times: 3 }),
  "retry on a schedule, then catch": (asking) =>
    Effect.catch(Effect.retry(asking, { schedule: Schedule.spaced(1), times: 3 }), () => Effect.succeed("swallowed")),
  timeout: (asking) => Effect.timeout(asking, "1 minute"),
  timeoutOption: (asking) => Effect.timeoutOption(Effect.orElseSucceed(asking, () => "swallowed"), "1 minute"),
  "race with a timeout": (asking) => Effect.race(asking, Effect.as(Effect.sleep(20), "swallowed")),
  "raceFirst with a timeout": (asking) => Effect.raceFirst(asking, Effect.as(Effect.sleep(20), "swallowed")),
  "another fiber": (asking) => Effect.flatMap(Effect.forkChild(asking), (fiber) => Effect.exit(Fiber.join(fiber))),
  "a detached fiber": (asking) => Effect.flatMap(Effect.forkDetach(asking), (fiber) => Fiber.await(fiber)),
  "all, with mode result": (asking) => Effect.all([asking], { mode: "result" }),
  partition: (asking) => Effect.partition([1], () => asking),
  "try and catch in a generator": (asking) =>
    Effect.gen(function*() {
      try {
        return yield* asking
      } catch {
        return "swallowed"
      }
    }),
  "a generator that returns in its finally": (asking) =>
    Effect.gen(function*() {
      try {
        yield* asking
      } finally {
        yield* Effect.void
      }
      return "not reached"
    }),
  "a typed failure of its own": (asking) => Effect.catch(asking, () => Effect.fail("made up")),
  acquireUseRelease: (asking) => Effect.exit(Effect.acquireUseRelease(Effect.void, () => asking, () => Effect.void)),
  uninterruptible: (asking) => Effect.exit(Effect.uninterruptible(asking))
}

for (const [name, swallow] of Object.entries(swallowers)) {
  behavesReopened(
    `D10 a question under ${name} pauses the run, and its answer comes back there`,
    (open) =>
      Effect.gen(function*() {
        const answers: Array<string> = []
        const graph = oneNode(() =>
          Effect.gen(function*() {
            const noted: Asking = Effect.tap(Ask.ask("?"), (answer) => Effect.sync(() => answers.push(answer)))
            yield* Effect.exit(swallow(noted))
            return { log: ["went on"] }
          })
        )
        const thread = graph.thread("t")
        assert.deepStrictEqual(payloads(yield* open(paused(thread.invoke({})))), ["?"])
        assert.deepStrictEqual(answers, [])
        const state = yield* open(thread.state())
        assert.deepStrictEqual([state.values, state.next, payloads(state.requests)], [{ log: [] }, ["node"], ["?"]])
        assert.deepStrictEqual(yield* open(thread.resume(Ask.reply("yes"))), { log: ["went on"] })
        assert.deepStrictEqual(answers, ["yes"])
      })
  )
}

for (const [name, swallow] of Object.entries(swallowers)) {
  behaves(`D10 and as all that its node does, under ${name}`, () =>
    Effect.gen(function*() {
      const thread = oneNode(() => Effect.as(swallow(Ask.ask("?")), { log: ["went on"] })).thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["?"])
    }))
}

behaves("D10 a question in a graph that the node called cannot be swallowed either", () =>
  Effect.gen(function*() {
    const child = oneNode(() => Effect.map(Ask.ask("from the child"), (answer) => ({ log: [answer] })))
    const graph = oneNode(() =>
      Effect.catchCause(child.call({ log: [] }), () => Effect.succeed({ log: ["swallowed"] }))
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["from the child"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["yes"] })
  }))

behaves(
  "D10 a retry of questions with a timeout each is refused rather than lost: each try is a fiber of its own",
  () =>
    Effect.gen(function*() {
      const graph = oneNode(() =>
        Effect.map(Effect.option(Effect.retry(Effect.timeout(Ask.ask("?"), "1 minute"), { times: 2 })), (answer) => ({
          log: [Option.getOrElse(answer, () => "swallowed")]
        }))
      )
      const error = yield* Effect.flip(graph.thread("t").invoke({}))
      assert.deepStrictEqual(error, new GraphError.ConcurrentCall({ kind: "ask", node: "node", called: "Ask" }))
    })
)

behaves(
  "D10 a question that the node turns into a defect ends the run as one, and is asked again when the thread goes on",
  () =>
    Effect.gen(function*() {
      let isDefect = true
      const thread = oneNode(() =>
        Effect.map(isDefect ? Effect.orDie(Ask.ask("?")) : Ask.ask("?"), (answer) => ({ log: [answer] }))
      ).thread("t")
      const exit = yield* Effect.exit(thread.invoke({}))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual((yield* thread.state()).values, { log: [] })
      isDefect = false
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["yes"] })
    })
)

// ---------------------------------------------------------------------------
// D16
// ---------------------------------------------------------------------------

const nothingWaits = (open: Open) =>
  Effect.gen(function*() {
    let runs = 0
    const graph = StateGraph.make(
      "done",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          runs++
          return { log: [yield* Ask.ask("?")] }
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    yield* open(paused(thread.invoke({})))
    yield* open(thread.resume(Ask.reply("yes")))
    const [before, ran] = [yield* open(rowsOf("t")), runs]
    for (const reply of [Ask.reply("again"), Ask.reply("again", { id: "0".repeat(32) })]) {
      assert.deepStrictEqual(
        yield* open(Effect.flip(thread.resume(reply))),
        new GraphError.InvalidReply({
          reason: "NothingPending",
          thread: "t",
          tag: "Ask",
          id: reply.id,
          pending: [],
          detail: undefined
        })
      )
    }
    assert.deepStrictEqual([yield* open(rowsOf("t")), runs], [before, ran])
    const unknown = graph.thread("never ran")
    assert.deepStrictEqual(
      yield* open(Effect.flip(unknown.resume(Ask.reply("yes")))),
      new GraphError.UnknownThread({ thread: "never ran" })
    )
    const { end, events } = yield* open(
      recorded(unknown.stream(Command.resume(Ask.reply("yes")), { modes: ["values"] }))
    )
    assert.deepStrictEqual([events, end], [[], "UnknownThread"])
    assert.deepStrictEqual(yield* open(Effect.flatMap(Checkpointer.Checkpointer, (saver) => saver.threads)), ["t"])
    assert.strictEqual(runs, ran)
  })

behavesReopened(
  "D16 an answer when nothing waits, and to a thread that never ran, is a typed failure and adds nothing",
  nothingWaits
)

behaves("D16 a thread that stands at a breakpoint waits for no answer", () =>
  Effect.gen(function*() {
    const thread = oneNode(() => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))).thread("t")
    yield* Effect.flip(thread.invoke({}, { before: ["node"] }))
    const before = yield* rowsOf("t")
    const error = yield* Effect.flip(thread.resume(Ask.reply("yes")))
    assert.strictEqual(error._tag === "InvalidReply" ? error.reason : error._tag, "NothingPending")
    assert.deepStrictEqual(yield* rowsOf("t"), before)
    assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
  }))

behaves(
  "D18 the same question is seen in the stream, in the failure, in the state of the thread and of the graph that asks",
  () =>
    Effect.gen(function*() {
      const inner = StateGraph.make("inner", StateGraph.nodes(Log, { ask: ask("inner") }), { start: "ask" })
      const graph = StateGraph.make("outer", StateGraph.nodes(Log, { a: ask("a"), inner }), { start: ["a", "inner"] })
      const thread = graph.thread("t")
      const events = yield* collect(thread.events({}, { modes: ["tasks"], subgraphs: true }))
      const last = events.at(-1)!
      const shown = last.mode === "paused" ? last.requests : []
      assert.deepStrictEqual(payloads(shown), ["a", "inner"])
      const failed = yield* paused(thread.continue())
      const state = yield* thread.state()
      assert.deepStrictEqual(failed.map(({ id, payload, tag }) => ({ id, tag, payload: payload as unknown })), shown)
      assert.deepStrictEqual(state.requests, shown)
      assert.deepStrictEqual((yield* thread.at(["inner"]).state()).requests, shown.slice(1))
      const ended = events.flatMap((event) =>
        event.mode === "tasks" && event.type === "ended" && event.path.length === 0 ? event.requests : []
      )
      assert.deepStrictEqual(ended.toSorted((x, y) => String(x.payload) < String(y.payload) ? -1 : 1), shown)
      const exit = yield* Effect.exit(thread.continue())
      // A pause is one typed failure: nothing else is in its cause.
      assert.isTrue(Exit.isFailure(exit) && exit.cause.reasons.every(Cause.isFailReason))
    })
)

behaves(
  "a run without a thread that asks says that it needs one: nothing could answer it",
  () =>
    Effect.gen(function*() {
      const graph = oneNode(() => Effect.map(Ask.ask("go on?"), (answer) => ({ log: [answer] })))
      const invoke = graph.invoke as unknown as (
        input: object
      ) => ReturnType<ReturnType<typeof graph.thread>["continue"]>
      const alone = yield* Effect.flip(invoke({}))
      assert.match(
        alone.message,
        /^the run waits for an answer to "Ask" .*, and has no thread to wait on: run the graph on one, \.thread\(id\)$/
      )
      assert.notInclude((yield* Effect.flip(graph.thread("t").invoke({}))).message, "thread")
    })
)
