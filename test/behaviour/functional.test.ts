/** The functional API: entrypoints and tasks. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Option, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  Channel,
  Checkpointer,
  Command,
  END,
  Entrypoint,
  type GraphError,
  Interrupt,
  Migration,
  NodeCache,
  Policy,
  Running,
  State,
  StateGraph,
  Task
} from "superstep"
import { collect, paused, payloads, recorded } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
class Down extends Schema.TaggedError<Down>()("Down", {}) {}
const texts = Schema.Array(Schema.String)
const ints = Schema.Array(Schema.Int)

/** A task that doubles a number, and how often it has run. */
const doubling = (options: { readonly fails?: () => boolean } = {}) => {
  const calls: Array<number> = []
  const double = Task.make("double", {
    input: Schema.Int,
    output: Schema.Int,
    run: Effect.fnUntraced(function*(n) {
      calls.push(n)
      yield* Effect.yieldNow
      return options.fails?.() === true ? yield* new Down() : n * 2
    })
  })
  return { calls, double }
}

/** Asks a question in a task. */
const asks = Task.make("asks", { input: Schema.String, output: Schema.String, run: (question) => Ask.ask(question) })

// ---------------------------------------------------------------------------
// What is kept
// ---------------------------------------------------------------------------

behaves(
  "LG#175 tasks that have finished are not run again when their function is resumed",
  () =>
    Effect.gen(function*() {
      const { calls, double } = doubling()
      const flow = Entrypoint.make("flow", {
        input: ints,
        output: texts,
        run: Effect.fnUntraced(function*(list) {
          const doubled = yield* Task.all(list.map((n) => double(n)))
          const answer = yield* Ask.ask("?")
          return doubled.map((n) => `${n}${answer}`)
        })
      })
      const thread = flow.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke([0, 1]))), ["?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("answer")), ["0answer", "2answer"])
      assert.deepStrictEqual(calls.toSorted(), [0, 1])
    })
)

behaves("LG#115 a function that asks again and again goes on behind what it has done", () =>
  Effect.gen(function*() {
    const { calls, double } = doubling()
    const flow = Entrypoint.make("flow", {
      input: Schema.Null,
      output: Schema.Array(Schema.Union([Schema.Int, Schema.String])),
      run: Effect.fnUntraced(function*() {
        const values: Array<number | string> = []
        for (const n of [1, 2, 3]) values.push(yield* double(n), yield* Ask.ask(`${n}?`))
        return values
      })
    })
    const thread = flow.thread("t")
    yield* paused(thread.invoke(null))
    yield* paused(thread.resume(Ask.reply("a")))
    yield* paused(thread.resume(Ask.reply("b")))
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("c")), [2, "a", 4, "b", 6, "c"])
    assert.deepStrictEqual(calls, [1, 2, 3])
    assert.isUndefined((yield* thread.verify).divergence)
  }))

behaves("LG#114 a question inside a task, and several, one after another", () =>
  Effect.gen(function*() {
    const flow = Entrypoint.make("flow", {
      input: Schema.String,
      output: Schema.String,
      run: Effect.fnUntraced(function*(start) {
        return `${start}${yield* asks("first")}${yield* asks("second")}`
      })
    })
    const thread = flow.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke("foo"))), ["first"])
    assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("bar")))), ["second"])
    assert.strictEqual(yield* thread.resume(Ask.reply("baz")), "foobarbaz")
  }))

behaves(
  "LG#116 tasks before one that asks are done once, and exactly one question is asked at a time",
  () =>
    Effect.gen(function*() {
      const { calls, double } = doubling()
      const flow = Entrypoint.make("flow", {
        input: Schema.Int,
        output: Schema.String,
        run: Effect.fnUntraced(function*(n) {
          const one = yield* double(n)
          const two = yield* double(one)
          const first = yield* asks(`${two}?`)
          const three = yield* double(two)
          return `${three} ${first} ${yield* asks(`${three}?`)}`
        })
      })
      const thread = flow.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke(1))), ["4?"])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("yes")))), ["8?"])
      assert.strictEqual(yield* thread.resume(Ask.reply("no")), "8 yes no")
      assert.deepStrictEqual(calls, [1, 2, 4])
    })
)

behaves(
  "D12 finished tasks are reused where their function is called inside a graph, or inside a task",
  () =>
    Effect.gen(function*() {
      const { calls, double } = doubling()
      const inner = Entrypoint.make("inner", {
        input: Schema.Int,
        output: Schema.String,
        run: Effect.fnUntraced(function*(n) {
          const doubled = yield* double(n)
          return `${doubled}${yield* asks("?")}`
        })
      })
      const around = Task.make("around", { input: Schema.Int, output: Schema.String, run: (n) => inner.call(n) })
      class Text extends State.make({ n: Schema.Int, text: Schema.String }) {}
      const outer = StateGraph.make(
        "outer",
        StateGraph.nodes(Text, {
          calls: ({ n }) => Effect.map(inner.call(n), (text) => ({ text })),
          again: ({ n, text }) => Effect.map(around(n), (more) => ({ text: text + more }))
        }),
        { start: "calls", edges: { calls: "again" } }
      )
      const thread = outer.thread("t")
      yield* paused(thread.invoke({ n: 1, text: "" }))
      yield* paused(thread.resume(Ask.reply("a")))
      assert.strictEqual((yield* thread.resume(Ask.reply("b"))).text, "2a2b")
      assert.deepStrictEqual(calls, [1, 1])
    })
)

behaves("L16 a kept result is not given to another call: another input, or another task", () =>
  Effect.gen(function*() {
    const { double } = doubling()
    const { double: other } = doubling()
    const named = Task.make("other", { input: Schema.Int, output: Schema.Int, run: (n) => n })
    let what: "first" | "input" | "task" = "first"
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.Int,
      run: Effect.fnUntraced(function*(n) {
        const kept = what === "first" ? yield* double(n) : what === "input" ? yield* other(n + 1) : yield* named(n)
        yield* Ask.ask("?")
        return kept
      })
    })
    for (const change of ["input", "task"] as const) {
      const thread = flow.thread(change)
      what = "first"
      yield* paused(thread.invoke(1))
      what = change
      const error = yield* Effect.flip(thread.resume(Ask.reply("!")))
      assert.deepInclude(error, { _tag: "ReplayMismatch", node: "flow" })
      what = "first"
      assert.strictEqual(yield* thread.continue(), 2)
    }
  }))

behaves(
  "a task that has failed runs again when its function does, and one that has not does not",
  () =>
    Effect.gen(function*() {
      let isDown = true
      const fine = doubling()
      const flaky = doubling({ fails: () => isDown })
      const flow = Entrypoint.make("flow", {
        input: Schema.Int,
        output: Schema.Int,
        run: Effect.fnUntraced(function*(n) {
          return yield* flaky.double(yield* fine.double(n))
        })
      })
      const thread = flow.thread("t")
      assert.strictEqual((yield* Effect.flip(thread.invoke(1)))._tag, "Down")
      isDown = false
      assert.strictEqual(yield* thread.continue(), 4)
      assert.deepStrictEqual([fine.calls, flaky.calls], [[1], [2, 2]])
    })
)

behaves("LG#177 a failing task is caught, and the function goes on", () =>
  Effect.gen(function*() {
    const { double } = doubling({ fails: () => true })
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.String,
      run: (n) => Effect.catch(Effect.map(double(n), String), (error) => Effect.succeed(`caught ${error._tag}`))
    })
    assert.strictEqual(yield* flow.thread("t").invoke(1), "caught Down")
  }))

behaves(
  "a task runs again whose result was not stored when the process stopped, and no other does",
  () =>
    Effect.gen(function*() {
      const { calls, double } = doubling()
      const reached = yield* Deferred.make<void>()
      let isStuck = true
      const stuck = Task.make("stuck", {
        output: Schema.Void,
        run: () => isStuck ? Effect.andThen(Deferred.succeed(reached, undefined), Effect.never) : Effect.void
      })
      const flow = Entrypoint.make("flow", {
        input: Schema.Int,
        output: Schema.Int,
        run: Effect.fnUntraced(function*(n) {
          const doubled = yield* double(n)
          yield* stuck()
          return yield* double(doubled)
        })
      })
      const run = yield* Effect.forkChild(flow.thread("t").invoke(1))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(run)
      isStuck = false
      assert.strictEqual(yield* flow.thread("t").continue(), 4)
      assert.deepStrictEqual(calls, [1, 2])
    })
)

behaves("LG#118 a task that gave nothing, false, zero or an empty text is not run again", () =>
  Effect.gen(function*() {
    const given: ReadonlyArray<unknown> = [undefined, null, false, 0, ""]
    let runs = 0
    const gives = Task.make("gives", {
      input: Schema.Int,
      output: Schema.Unknown,
      run: (n) => {
        runs++
        return given[n]
      }
    })
    const flow = Entrypoint.make("flow", {
      input: Schema.Null,
      output: Schema.Unknown,
      run: Effect.fnUntraced(function*() {
        const got = yield* Effect.forEach(given, (_, n) => gives(n))
        assert.deepStrictEqual(got, given)
        yield* Ask.ask("?")
        return got.length
      })
    })
    const thread = flow.thread("t")
    yield* paused(thread.invoke(null))
    assert.strictEqual(yield* thread.resume(Ask.reply("!")), given.length)
    assert.strictEqual(runs, given.length)
  }))

behaves("LG#134 questions of tasks one after another are told once each", () =>
  Effect.gen(function*() {
    const add = Task.make("add", {
      input: Schema.String,
      output: Schema.String,
      run: (name) => Effect.map(Ask.ask(`Add ${name}?`), (answer) => answer === "yes" ? `Added ${name}!` : "")
    })
    const flow = Entrypoint.make("flow", {
      input: texts,
      output: texts,
      run: (names) => Effect.forEach(names, (name) => add(name))
    })
    const thread = flow.thread("t")
    const told: Array<unknown> = []
    const note = (events: ReadonlyArray<{ readonly mode: string }>) => {
      for (const event of events) {
        if (event.mode === "paused") {
          told.push(...payloads((event as unknown as Interrupt.GraphInterrupt<never>).requests))
        }
      }
    }
    note((yield* recorded(thread.stream(["James", "Will"], { modes: ["updates"] }))).events)
    const answered = Command.resume(Ask.reply("yes"))
    note((yield* recorded(thread.stream(answered, { modes: ["updates"] }))).events)
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), ["Added James!", "Added Will!"])
    assert.deepStrictEqual(told, ["Add James?", "Add Will?"])
  }))

behaves("LG#176 tasks in tasks, and graphs in tasks, are seen in order, and done once", () =>
  Effect.gen(function*() {
    class Text extends State.make({ text: Schema.String }) {}
    const graph = StateGraph.make("graph", StateGraph.nodes(Text, { shout: ({ text }) => ({ text: `${text}!` }) }), {
      start: "shout"
    })
    const part = Task.make("part", { input: Schema.String, output: Schema.String, run: (text) => `${text}.` })
    const mapper = Task.make("mapper", {
      input: Schema.String,
      output: Schema.String,
      run: Effect.fnUntraced(function*(input) {
        const dotted = yield* part(input)
        const { text } = yield* graph.call({ text: dotted })
        return text
      })
    })
    const flow = Entrypoint.make("flow", {
      input: texts,
      output: Schema.String,
      run: Effect.fnUntraced(function*(list) {
        const parts = yield* Effect.forEach(list, (text) => mapper(text))
        return `${parts.join("")}${yield* Ask.ask("?")}`
      })
    })
    const thread = flow.thread("t")
    const { events } = yield* recorded(thread.stream(["a", "b"], { modes: ["updates"] }))
    assert.deepStrictEqual(
      events.flatMap((event) => event.mode === "updates" ? [[event.path.join("/"), event.node, event.update]] : []),
      [
        ["flow~0/mapper~0", "part", "a."],
        ["flow~0/mapper~1", "shout", { text: "a.!" }],
        ["flow~0", "mapper", "a.!"],
        ["flow~1/mapper~0", "part", "b."],
        ["flow~1/mapper~1", "shout", { text: "b.!" }],
        ["flow~1", "mapper", "b.!"]
      ]
    )
    const rest = yield* recorded(thread.stream(Command.resume(Ask.reply("c")), { modes: ["updates"] }))
    assert.deepStrictEqual(rest.events.map((event) => event.mode === "updates" ? event.update : event), ["a.!b.!c"])
  }))

behaves("LG#180 tasks are told apart by their names: in events, and in errors", () =>
  Effect.gen(function*() {
    const named = (name: string) => Task.make(name, { input: Schema.Int, output: Schema.Int, run: (n) => n + 1 })
    const [one, two] = [named("one"), named("two of them")]
    assert.deepStrictEqual([one.name, two.name], ["one", "two of them"])
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.Int,
      run: (n) => Effect.flatMap(one(n), (m) => two(m))
    })
    const events = yield* collect(flow.thread("t").stream(1, { modes: ["updates"] }))
    assert.deepStrictEqual(events.map((event) => event.mode === "updates" ? event.node : event), [
      "one",
      "two of them",
      "flow"
    ])
  }))

behaves("LG#181 a generator is no entrypoint: what it gives fits no schema", () =>
  Effect.gen(function*() {
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.Int,
      run: function*(n: number) {
        yield n
      } as never
    })
    const error = yield* Effect.flip(flow.thread("t").invoke(1))
    assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: END })
  }))

// ---------------------------------------------------------------------------
// What is saved
// ---------------------------------------------------------------------------

behaves("LG#178 the next run on a thread gets what the last one gave", () =>
  Effect.gen(function*() {
    const seen: Array<number | undefined> = []
    const sum = Entrypoint.make("sum", {
      input: Schema.Int,
      output: Schema.Int,
      run: (n, previous) => {
        seen.push(previous)
        return n + (previous ?? 0)
      }
    })
    const thread = sum.thread("t")
    assert.deepStrictEqual(yield* Effect.all([thread.invoke(1), thread.invoke(2), thread.invoke(3)]), [1, 3, 6])
    assert.deepStrictEqual(seen, [undefined, 1, 3])
    assert.deepStrictEqual((yield* thread.state()).values, { __end__: 6, __previous__: 6 })
    const history = yield* thread.history()
    assert.deepStrictEqual(history.map(({ values }) => values.__previous__), [6, 3, 3, 1, 1, undefined])
    // An update as the function is what it would have given.
    yield* thread.update(10, { asNode: "sum" })
    assert.strictEqual(yield* thread.invoke(1), 11)
    yield* thread.update(Entrypoint.final({ value: 0, save: 100 }), { asNode: "sum" })
    assert.strictEqual(yield* thread.invoke(1), 101)
    // Without a thread nothing is saved.
    assert.deepStrictEqual(yield* Effect.all([sum.invoke(1), sum.invoke(1)]), [1, 1])
  }))

behaves("LG#179 what is given and what is saved may be two things", () =>
  Effect.gen(function*() {
    const seen: Array<ReadonlyArray<string> | undefined> = []
    const count = Entrypoint.make("count", {
      input: Schema.String,
      output: Schema.Int,
      saved: texts,
      run: (word, words) => {
        seen.push(words)
        return Entrypoint.final({ value: words?.length ?? 0, save: [...words ?? [], word] })
      }
    })
    const thread = count.thread("t")
    const ends = yield* Effect.forEach(["hello", "goodbye", "definitely"], (word) => thread.invoke(word))
    assert.deepStrictEqual(ends, [0, 1, 2])
    assert.deepStrictEqual(seen, [undefined, ["hello"], ["hello", "goodbye"]])
  }))

behaves("a run that gives nothing does not give what the one before gave", () =>
  Effect.gen(function*() {
    const maybe = Entrypoint.make("maybe", {
      input: Schema.Int,
      output: Schema.UndefinedOr(Schema.Int),
      run: (n) => n > 0 ? n : undefined
    })
    const thread = maybe.thread("t")
    assert.strictEqual(yield* thread.invoke(1), 1)
    assert.isUndefined(yield* thread.invoke(0))
    assert.deepStrictEqual((yield* thread.state()).values, { __previous__: undefined })
  }))

behaves(
  "a plain result is what is saved, also if it is nothing; only a final that saves nothing leaves what was saved",
  () =>
    Effect.gen(function*() {
      const seen: Array<number | undefined> = []
      const given = Schema.Struct({ result: Schema.UndefinedOr(Schema.Int), isFinal: Schema.Boolean })
      const gives = Entrypoint.make("gives", {
        input: given,
        output: Schema.UndefinedOr(Schema.Int),
        run: ({ isFinal, result }, previous) => {
          seen.push(previous)
          return isFinal ? Entrypoint.final({ value: 5, save: result }) : result
        }
      })
      const thread = gives.thread("t")
      const run = (result: number | undefined, isFinal = false) => thread.invoke({ result, isFinal })
      const ends = yield* Effect.all([
        run(1),
        run(undefined),
        run(undefined),
        run(2),
        run(undefined, true),
        run(3, true)
      ])
      assert.deepStrictEqual(ends, [1, undefined, undefined, 2, 5, 5])
      yield* run(undefined)
      assert.deepStrictEqual(seen, [undefined, 1, undefined, undefined, 2, 2, 3])
      // What was saved last is nothing, for one who reads it back too.
      yield* run(1)
      assert.strictEqual(seen.at(-1), undefined)
    })
)

behaves("a plain result that is nothing is refused where nothing cannot be saved", () =>
  Effect.gen(function*() {
    const gives = Entrypoint.make("gives", {
      input: Schema.Int,
      output: Schema.UndefinedOr(Schema.Int),
      saved: Schema.Int,
      run: ((n: number) => n > 0 ? n : undefined) as (n: number) => number
    })
    const thread = gives.thread("t")
    assert.strictEqual(yield* thread.invoke(1), 1)
    const error = yield* Effect.flip(thread.invoke(0))
    assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: "__previous__" })
  }))

behaves("what a called entrypoint saves lives as long as it says", () =>
  Effect.gen(function*() {
    const make = (persistence: "call" | "thread") =>
      Entrypoint.make("inner", {
        input: Schema.Int,
        output: Schema.Int,
        persistence,
        run: (n, previous = 0) => n + previous
      })
    for (const [persistence, ends] of [["call", [1, 1]], ["thread", [1, 2]]] as const) {
      const inner = make(persistence)
      const outer = Entrypoint.make("outer", { input: Schema.Int, output: Schema.Int, run: (n) => inner.call(n) })
      const thread = outer.thread(persistence)
      assert.deepStrictEqual(yield* Effect.all([thread.invoke(1), thread.invoke(1)]), [...ends])
    }
  }))

// ---------------------------------------------------------------------------
// Several at once
// ---------------------------------------------------------------------------

behaves(
  "tasks at once: results in order, questions in order, and a pause of one ends none of the others",
  () =>
    Effect.gen(function*() {
      const { calls, double } = doubling()
      const flow = Entrypoint.make("flow", {
        input: Schema.Null,
        output: Schema.Array(Schema.Unknown),
        run: () =>
          Task.all([
            asks("a"),
            Effect.flatMap(double(1), (n) => double(n)),
            Effect.delay(double(5), "5 millis"),
            Effect.flatMap(double(7), () => asks("b"))
          ])
      })
      const thread = flow.thread("t")
      const requests = yield* paused(thread.invoke(null))
      assert.deepStrictEqual(payloads(requests), ["a", "b"])
      assert.sameMembers(calls, [1, 2, 5, 7])
      const replies = requests.map(({ id, payload }) => Ask.reply(`${payload}!`, { id }))
      assert.deepStrictEqual(yield* thread.resume(replies), ["a!", 4, 10, "b!"])
      assert.strictEqual(calls.length, 4)
    })
)

behaves("many at once, in tens at a time: questions come in the order of the list", () =>
  Effect.gen(function*() {
    const size = 24
    const flow = Entrypoint.make("flow", {
      input: Schema.Null,
      output: texts,
      run: () => Task.all(Array.from({ length: size }, (_, n) => asks(String(n))), { concurrency: 10 })
    })
    const thread = flow.thread("t")
    const requests = yield* paused(thread.invoke(null))
    const expected = Array.from({ length: size }, (_, n) => String(n))
    assert.deepStrictEqual(payloads(requests), expected)
    assert.deepStrictEqual((yield* thread.state()).requests.map(({ payload }) => payload), expected)
    const ends = yield* thread.resume(requests.map(({ id, payload }) => Ask.reply(String(payload), { id })))
    assert.deepStrictEqual(ends, expected)
  }))

behaves("one that fails interrupts the others; what has finished stays", () =>
  Effect.gen(function*() {
    let isDown = true
    const { calls, double } = doubling()
    const fails = doubling({ fails: () => isDown })
    const [begun, finished] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    let interrupted = 0
    const waits = Task.make("waits", {
      output: Schema.Int,
      run: () =>
        isDown
          ? Effect.andThen(
            Deferred.succeed(begun, undefined),
            Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
          )
          : Effect.succeed(1)
    })
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: ints,
      run: (n) =>
        Task.all([
          Effect.tap(double(n), Deferred.succeed(finished, undefined)),
          Effect.andThen(Effect.all([Deferred.await(begun), Deferred.await(finished)]), fails.double(n)),
          waits()
        ])
    })
    const thread = flow.thread("t")
    assert.strictEqual((yield* Effect.flip(thread.invoke(1)))._tag, "Down")
    assert.strictEqual(interrupted, 1)
    isDown = false
    assert.deepStrictEqual(yield* thread.continue(), [2, 2, 1])
    assert.deepStrictEqual(calls, [1])
  }))

behaves(
  "calls of several fibers without keys are refused; with keys, and in branches of branches, they are told apart",
  () =>
    Effect.gen(function*() {
      const { double } = doubling()
      const make = (
        run: () => Effect.Effect<ReadonlyArray<number>, GraphError.EngineError | Down, Running.Running>
      ) => Entrypoint.make("flow", { input: Schema.Null, output: ints, run })
      const list = [1, 2]
      const bare = make(() => Effect.forEach(list, (n) => double(n), { concurrency: 2 }))
      assert.deepInclude(yield* Effect.flip(bare.thread("bare").invoke(null)), {
        _tag: "ConcurrentCall",
        called: "double"
      })
      const keyed = make(() => Effect.forEach(list, (n) => double(n, { key: String(n) }), { concurrency: 2 }))
      assert.deepStrictEqual(yield* keyed.thread("keyed").invoke(null), [2, 4])
      const nested = make(() =>
        Effect.map(
          Task.all(list.map((n) => Task.all([double(n), double(n + 10)]))),
          (pairs) => pairs.flat()
        )
      )
      assert.deepStrictEqual(yield* nested.thread("nested").invoke(null), [2, 22, 4, 24])
      const twice = make(() => Effect.all([double(1, { key: "k" }), double(2, { key: "k" })]))
      assert.deepInclude(yield* Effect.flip(twice.thread("twice").invoke(null)), { _tag: "DuplicateKey", key: "k" })
    })
)

// ---------------------------------------------------------------------------
// Policies, services, limits
// ---------------------------------------------------------------------------

class Db extends Context.Service<Db, { readonly name: string }>()("Db") {}

behaves("a task retries, times out and needs services like a node", () =>
  Effect.gen(function*() {
    const attempts: Array<number> = []
    const flaky = Task.make("flaky", {
      input: Schema.Int,
      output: Schema.String,
      retry: Policy.retry({ schedule: Schedule.spaced("1 milli"), maxAttempts: 3 }),
      run: Effect.fnUntraced(function*(n) {
        const { attempt } = yield* Running.Running
        attempts.push(attempt)
        const { name } = yield* Db
        return attempt < n ? yield* new Down() : name
      })
    })
    const slow = Task.make("slow", { output: Schema.Void, timeout: "10 millis", run: () => Effect.never })
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.String,
      run: Effect.fnUntraced(function*(n) {
        const name = yield* flaky(n)
        const ended = yield* Effect.flip(slow())
        return `${name} ${ended._tag}`
      })
    })
    const run = flow.thread("t").invoke(3).pipe(Effect.provideService(Db, { name: "db" }))
    assert.strictEqual(yield* run, "db NodeTimeout")
    assert.deepStrictEqual(attempts, [1, 2, 3])
  }))

behaves("LG#115 a cache of tasks is shared by threads", () =>
  Effect.gen(function*() {
    let runs = 0
    const cached = Task.make("cached", {
      input: Schema.Int,
      output: Schema.Int,
      cache: Policy.cache(),
      run: (n) => {
        runs++
        return n * 2
      }
    })
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.Int,
      run: (n) => Effect.andThen(cached(n), cached(n))
    })
    const all = Effect.forEach(["a", "b"], (id) => flow.thread(id).invoke(3))
    assert.deepStrictEqual(yield* all.pipe(Effect.provide(NodeCache.layerMemory)), [6, 6])
    assert.strictEqual(runs, 1)
  }))

behaves("LG#174 a function that is asked to drain still calls its tasks, and ends", () =>
  Effect.gen(function*() {
    const { double } = doubling()
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.Int,
      run: (n) => Effect.andThen(Running.drain("shutdown"), double(n))
    })
    assert.strictEqual(yield* flow.thread("t").invoke(1), 2)
  }))

behaves(
  "what a task writes that does not fit its schema, and an input that does not, are typed failures",
  () =>
    Effect.gen(function*() {
      const wrong = Task.make("wrong", { input: Schema.Int, output: Schema.Int, run: () => "text" as never })
      const flow = Entrypoint.make("flow", { input: Schema.Int, output: Schema.Int, run: (n) => wrong(n) })
      const error = yield* Effect.flip(flow.thread("t").invoke(1))
      assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: END })
      for (const input of ["text", undefined]) {
        const refused = yield* Effect.flip(flow.thread("u").invoke(input as never))
        assert.strictEqual(refused._tag, "InvalidUpdate")
      }
      assert.strictEqual((yield* Effect.flip(flow.thread("u").state()))._tag, "UnknownThread")
    })
)

// ---------------------------------------------------------------------------
// Streams
// ---------------------------------------------------------------------------

behaves("LG#182 what tasks give is seen as they finish, each in its time", () =>
  Effect.gen(function*() {
    const seen = yield* Deferred.make<void>()
    const slow = Task.make("slow", {
      input: Schema.Int,
      output: Schema.Int,
      run: (n) => n === 0 ? Effect.as(Deferred.await(seen), n) : Effect.succeed(n)
    })
    const flow = Entrypoint.make("flow", {
      input: Schema.Null,
      output: ints,
      run: () => Task.all([slow(0), slow(1)])
    })
    const shown = flow.thread("t").stream(null, { modes: ["updates", "values"] })
    const events = yield* collect(
      Stream.tap(shown, ({ mode }) => mode === "values" ? Deferred.succeed(seen, undefined) : Effect.void)
    )
    assert.deepStrictEqual(
      events.map((event) =>
        event.mode === "updates"
          ? [event.path.join(), event.node, event.update]
          : event.mode === "values"
          ? [event.path.join(), event.values]
          : event
      ),
      [
        ["flow~0.1.0", "slow", 1],
        ["flow~0.1.0", 1],
        ["flow~0.0.0", "slow", 0],
        ["flow~0.0.0", 0],
        ["", "flow", [0, 1]],
        ["", [0, 1]]
      ]
    )
    const own = yield* collect(flow.stream(null, { modes: ["updates"], subgraphs: false }))
    assert.deepStrictEqual(own.map(({ node }) => node), ["flow"])
  }))

behaves("LG#175 a pause is the last event, and tasks are shown with their inputs", () =>
  Effect.gen(function*() {
    const { double } = doubling()
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.String,
      run: (n) => Effect.flatMap(double(n), (doubled) => asks(String(doubled)))
    })
    const { end, events } = yield* recorded(flow.thread("t").stream(2, { modes: ["tasks"] }))
    assert.strictEqual(end, "GraphInterrupt")
    assert.deepStrictEqual(
      events.flatMap((event) => event.mode === "tasks" && event.type === "started" ? [[event.node, event.input]] : []),
      [["flow", 2], ["double", 2], ["asks", "4"]]
    )
    assert.strictEqual(events.at(-1)!.mode, "paused")
  }))

// ---------------------------------------------------------------------------
// The machine
// ---------------------------------------------------------------------------

describe("P8 an entrypoint can be inspected", () => {
  it("its channels are __start__, __end__ and __previous__", () => {
    const essay = Entrypoint.make("write_essay", {
      input: Schema.String,
      output: Schema.String,
      run: (topic) => `An essay about ${topic}`
    })
    const { channels, input, nodes, output } = essay.pregel
    assert.deepStrictEqual(Object.keys(nodes), ["write_essay"])
    assert.deepStrictEqual(Object.keys(channels).filter((name) => name !== "__tasks"), [
      "__start__",
      "__end__",
      "__previous__"
    ])
    assert.deepStrictEqual([input, output], [["__start__"], ["__end__"]])
    assert.deepStrictEqual(nodes["write_essay"]!.triggers, ["__start__"])
  })
  it("a name that cannot be one of a node, or options that are none, are refused when it is made", () => {
    const make = (name: string, more: object = {}) => () =>
      Entrypoint.make(name, { input: Schema.Int, output: Schema.Int, run: (n) => n, ...more })
    assert.throws(make("a|b"), "contains \"|\"")
    assert.throws(make(""), "a node needs a name")
    assert.throws(make("a", { recursionLimit: 0 }), "recursionLimit")
    assert.throws(() => Task.make("a~b", { output: Schema.Int, run: () => 1 }), "contains \"~\"")
  })
})

it.effect("an entrypoint without a thread runs its tasks, and stores nothing", () =>
  Effect.gen(function*() {
    const { calls, double } = doubling()
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.Int,
      run: Effect.fnUntraced(function*(n) {
        yield* Effect.sleep("1 hour")
        return yield* double(n)
      })
    })
    const fiber = yield* Effect.forkChild(flow.invoke(4))
    yield* TestClock.adjust("1 hour")
    assert.deepStrictEqual(yield* Fiber.join(fiber), 8)
    assert.deepStrictEqual(calls, [4])
  }))

behaves("another version of an entrypoint reads what was saved as its migrations say", () =>
  Effect.gen(function*() {
    const before = Entrypoint.make("sum", { input: ints, output: Schema.Int, run: (list, n = 0) => n + list.length })
    const after = (migrations: ReadonlyArray<Migration.Migration>) =>
      Entrypoint.make("sum", {
        input: ints,
        output: Schema.Struct({ n: Schema.Int }),
        migrations,
        run: (list, previous) => ({ n: (previous?.n ?? 0) + list.length })
      })
    const thread = before.thread("t")
    yield* thread.invoke([1, 2])
    yield* Effect.flip(thread.invoke([3], { before: ["sum"] }))
    const open = yield* Effect.flip(after([]).thread("t").continue())
    assert.strictEqual(open._tag, "GraphChanged")
    const migrations = [Migration.convert("__previous__", { from: Schema.Int, value: (n) => ({ n }) })]
    const ends = Migration.convert("__end__", { from: Channel.ephemeral(Schema.Int), value: (n) => ({ n: Number(n) }) })
    assert.deepStrictEqual(yield* after([...migrations, ends]).thread("t").continue(), { n: 3 })
  }))

behaves(
  "another version of an entrypoint takes another input, of a thread that waits and of one that has ended",
  () =>
    Effect.gen(function*() {
      const before = Entrypoint.make("e", {
        input: Schema.String,
        output: Schema.String,
        run: (text) => Effect.map(Ask.ask(text), (answer) => `${text} ${answer}`)
      })
      const after = (migrations: ReadonlyArray<Migration.Migration>) =>
        Entrypoint.make("e", {
          input: Schema.Struct({ text: Schema.String }),
          output: Schema.String,
          migrations,
          run: ({ text }) => Effect.map(Ask.ask(text), (answer) => `${text} ${answer}!`)
        })
      for (const id of ["waits", "ended"]) yield* paused(before.thread(id).invoke("a"))
      yield* before.thread("ended").resume(Ask.reply("b"))
      const open = yield* Effect.flip(after([]).thread("waits").state())
      assert.deepInclude(open, {
        _tag: "GraphChanged",
        differences: [{ kind: "SchemaChanged", name: "__start__" }]
      })
      const next = after([Migration.convert("__start__", { from: Schema.String, value: (text) => ({ text }) })])
      assert.strictEqual(yield* next.thread("waits").resume(Ask.reply("b")), "a b!")
      assert.strictEqual((yield* next.thread("ended").history()).length, 2)
      assert.isUndefined((yield* next.thread("ended").verify).divergence)
    })
)

behaves(
  "another version of a task gives another result, and a migration that starts from something else is told",
  () =>
    Effect.gen(function*() {
      let runs = 0
      const make = (
        output: Channel.AnySchema,
        result: unknown,
        migrations: ReadonlyArray<Migration.Migration> = []
      ) => {
        const work = Task.make("work", {
          output,
          migrations,
          run: () => {
            runs++
            return result
          }
        })
        return Entrypoint.make("e", {
          input: Schema.Null,
          output: Schema.Unknown,
          run: () => Effect.flatMap(work(), (kept) => Effect.as(Ask.ask("?"), kept))
        }).thread("t")
      }
      yield* paused(make(Schema.Int, 1).invoke(null))
      const other = [Migration.convert("__end__", { from: Schema.String, value: (text) => ({ text }) })]
      const wrong = yield* Effect.flip(make(Schema.Struct({ n: Schema.Int }), { n: 1 }, other).resume(Ask.reply("!")))
      assert.include(String(wrong), "a migration of it is declared, `from` another channel than this")
      const right = [Migration.convert("__end__", { from: Schema.Int, value: (n) => ({ n }) })]
      assert.deepStrictEqual(yield* make(Schema.Struct({ n: Schema.Int }), { n: 2 }, right).continue(), { n: 1 })
      assert.strictEqual(runs, 1)
    })
)

behaves("P2 a result that is nothing is refused, unless its schema takes it", () =>
  Effect.gen(function*() {
    const first = Entrypoint.make("first", { input: ints, output: Schema.Int, run: (list) => list[0]! })
    const error = yield* Effect.flip(first.thread("t").invoke([]))
    assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: END })
    const saving = Entrypoint.make("saving", {
      input: ints,
      output: Schema.Int,
      saved: Schema.Int,
      run: (list) => Entrypoint.final({ value: list[0]!, save: 1 })
    })
    assert.deepInclude(yield* Effect.flip(saving.thread("s").invoke([])), { _tag: "InvalidUpdate", channel: END })
    const head = Task.make("head", { input: ints, output: Schema.Int, run: (list) => list[0]! })
    const calling = Entrypoint.make("calling", { input: ints, output: Schema.Int, run: (list) => head(list) })
    assert.strictEqual((yield* Effect.flip(calling.thread("c").invoke([])))._tag, "InvalidUpdate")
    const maybe = Entrypoint.make("maybe", {
      input: ints,
      output: Schema.UndefinedOr(Schema.Int),
      run: (list) => list[0]
    })
    assert.strictEqual(yield* maybe.thread("m").invoke([1]), 1)
    assert.strictEqual(yield* maybe.thread("m").invoke([]), undefined)
    const nothing = Task.make("nothing", { input: ints, output: Schema.Void, run: () => undefined })
    const quiet = Entrypoint.make("quiet", { input: ints, output: Schema.Void, run: (list) => nothing(list) })
    assert.strictEqual(yield* quiet.thread("q").invoke([1]), undefined)
  }))

behaves(
  "D4 a command for the parent of a task passes through functions, to the graph around them",
  () =>
    Effect.gen(function*() {
      class Log extends State.make({ log: Channel.append(Schema.String) }) {}
      const steer = Task.make("steer", {
        input: Schema.Int,
        output: Schema.Int,
        run: () => Command.parent({ update: { log: ["steered"] }, goto: "b" })
      })
      const through = Task.make("through", { input: Schema.Int, output: Schema.Int, run: (n) => steer(n) })
      const flow = Entrypoint.make("flow", { input: Schema.Int, output: Schema.Int, run: (n) => through(n) })
      const own = Entrypoint.make("own", {
        input: Schema.Int,
        output: Schema.Int,
        run: () => Command.parent({ update: { log: ["own"] }, goto: "b" })
      })
      for (const called of [flow, own]) {
        const app = StateGraph.make(
          "app",
          StateGraph.nodes(Log, {
            a: () => Effect.as(called.call(1), { log: ["never"] }),
            b: () => ({ log: ["b"] })
          }),
          { start: "a" }
        )
        const { log } = yield* app.thread(called.name).invoke({})
        assert.deepStrictEqual(log, [called === flow ? "steered" : "own", "b"])
        assert.strictEqual((yield* Effect.flip(called.thread(`alone ${called.name}`).invoke(1)))._tag, "NoParentGraph")
        assert.strictEqual((yield* Effect.flip(called.invoke(1)))._tag, "NoParentGraph")
      }
    })
)

it.effect("a cache key of a task or an entrypoint gets its input", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const seen: Array<unknown> = []
    const cache = Policy.cache({
      key: (n: number) => {
        seen.push(n)
        return String(n % 10)
      }
    })
    const last = Task.make("last", {
      input: Schema.Int,
      output: Schema.Int,
      cache,
      run: (n) => {
        runs.push(`task ${n}`)
        return n
      }
    })
    const calling = Entrypoint.make("calling", { input: Schema.Int, output: Schema.Int, run: (n) => last(n) })
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: Schema.Int,
      cache,
      run: (n) => {
        runs.push(`flow ${n}`)
        return n
      }
    })
    for (const { invoke } of [calling, flow]) {
      assert.deepStrictEqual([yield* invoke(1), yield* invoke(2), yield* invoke(11)], [1, 2, 1])
    }
    assert.deepStrictEqual(runs, ["task 1", "task 2", "flow 1", "flow 2"])
    assert.deepStrictEqual(seen, [1, 2, 11, 1, 2, 11])
  }).pipe(Effect.provide(NodeCache.layerMemory)))

behaves("keys of calls may be long, and calls stand inside each other", () =>
  Effect.gen(function*() {
    const key = "漢".repeat(512)
    const leaf = Task.make("leaf", { input: Schema.Int, output: Schema.Int, run: (n) => n + 1 })
    const middle = Task.make("middle", { input: Schema.Int, output: Schema.Int, run: (n) => leaf(n, { key }) })
    const outer = Task.make("outer", { input: Schema.Int, output: Schema.Int, run: (n) => middle(n, { key }) })
    const deep = Entrypoint.make("deep", {
      input: Schema.Int,
      output: Schema.Int,
      run: Effect.fnUntraced(function*(n) {
        const made = yield* outer(n, { key })
        return (yield* Ask.ask("?")) === "yes" ? made : 0
      })
    })
    yield* Effect.flip(deep.thread("t").invoke(1))
    assert.strictEqual(yield* deep.thread("t").resume(Ask.reply("yes")), 2)
    assert.isUndefined((yield* deep.thread("t").verify).divergence)
  }))

/** A task that fails the first times. */
const unreliable = (failures: number) => {
  let tries = 0
  const task = Task.make("unreliable", {
    input: Schema.Int,
    output: Schema.Int,
    run: (n) => Effect.suspend(() => tries++ < failures ? Effect.fail(new Down()) : Effect.succeed(n))
  })
  return { task, tries: () => tries }
}

behaves(
  "a call that is made again stands where it stood, and those that follow are found",
  () =>
    Effect.gen(function*() {
      const { task, tries } = unreliable(2)
      const { calls, double } = doubling()
      const flow = Entrypoint.make("flow", {
        input: Schema.Int,
        output: ints,
        run: Effect.fnUntraced(function*(n) {
          const one = yield* Effect.retry(task(n), { times: 3 })
          const two = yield* double(one)
          yield* Ask.ask("?")
          return [one, two]
        })
      })
      const thread = flow.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke(1))), ["?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("go")), [1, 2])
      assert.deepStrictEqual([tries(), calls], [3, [1]])
    })
)

behaves(
  "what is called instead of a call that has failed takes no place of those that follow otherwise",
  () =>
    Effect.gen(function*() {
      // Down in the first run and in the second, and up in the third.
      const { task } = unreliable(2)
      const { calls, double } = doubling()
      const instead = Task.make("instead", { input: Schema.Int, output: Schema.Int, run: (n) => n * 100 })
      const flow = Entrypoint.make("flow", {
        input: Schema.Int,
        output: ints,
        run: Effect.fnUntraced(function*(n) {
          const one = yield* Effect.catch(task(n), () => instead(n))
          const two = yield* double(one)
          yield* Ask.ask("first?")
          yield* Ask.ask("second?")
          return [one, two]
        })
      })
      const thread = flow.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke(1))), ["first?"])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("go")))), ["second?"])
      assert.deepStrictEqual(calls, [100])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("go")), [1, 2])
      assert.deepStrictEqual(calls, [100, 1])
    })
)

behaves("several at once that have failed are made again where they stood", () =>
  Effect.gen(function*() {
    const { task, tries } = unreliable(1)
    const { calls, double } = doubling()
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: ints,
      run: Effect.fnUntraced(function*(n) {
        const [one, two] = yield* Effect.retry(
          Task.all([double(n), Effect.flatMap(double(n + 1), (m) => task(m))], { concurrency: 1 }),
          { times: 1 }
        )
        const three = yield* double(7)
        yield* Ask.ask("?")
        return [one, two, three]
      })
    })
    const thread = flow.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke(1))), ["?"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("go")), [2, 4, 14])
    assert.deepStrictEqual([tries(), calls], [2, [1, 2, 7]])
  }))

for (const durability of ["sync", "exit"] as const) {
  behaves(
    `tasks that have finished weigh on no later run, and are pruned (${durability})`,
    () =>
      Effect.gen(function*() {
        const { double } = doubling()
        const flow = Entrypoint.make("flow", {
          input: Schema.Int,
          output: Schema.Int,
          run: Effect.fnUntraced(function*(n: number, previous: number | undefined) {
            yield* double(n, { key: `one ${n}` })
            yield* double(n, { key: `two ${n}` })
            return (previous ?? 0) + n
          })
        })
        const thread = flow.thread("t")
        const saver = yield* Checkpointer.Checkpointer
        const dump = Effect.map(saver.dump("t"), Option.getOrThrow)
        const longest = Effect.map(
          dump,
          ({ checkpoints }) => Math.max(...checkpoints.map(({ row }) => row.data.length))
        )
        yield* thread.invoke(0, { durability })
        yield* thread.invoke(1, { durability })
        const before = yield* longest
        for (let n = 2; n < 20; n++) {
          yield* thread.invoke(n, { durability })
        }
        assert.isAtMost(yield* longest, 2 * before)
        assert.strictEqual((yield* thread.state()).values.__end__, 190)
        yield* thread.prune({ last: 1 })
        const { checkpoints, heads } = yield* dump
        assert.deepStrictEqual(checkpoints.filter(({ namespace }) => namespace !== ""), [])
        assert.isAtMost(heads.length, 1)
        assert.strictEqual(yield* thread.invoke(20, { durability }), 210)
      })
  )
}

behaves("several at once that have failed are not taken for others of the same number", () =>
  Effect.gen(function*() {
    const { task } = unreliable(1)
    const { double } = doubling()
    const flow = Entrypoint.make("flow", {
      input: Schema.Int,
      output: ints,
      run: Effect.fnUntraced(function*(n) {
        const made = yield* Effect.catch(Task.all([task(n)]), () => Task.all([double(n)]))
        const again = yield* Effect.exit(Task.all([double(n + 1)]))
        yield* Ask.ask("?")
        return [...made, ...(Exit.isSuccess(again) ? again.value : [])]
      })
    })
    const thread = flow.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke(1))), ["?"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("go")), [1, 4])
  }))

for (const key of [undefined, "k"]) {
  behaves(
    `what has finished behind a call that failed is not done again once that goes well (${key ?? "no"} key)`,
    () =>
      Effect.gen(function*() {
        const { task, tries } = unreliable(1)
        const { calls, double } = doubling()
        const flow = Entrypoint.make("flow", {
          input: Schema.Int,
          output: ints,
          run: Effect.fnUntraced(function*(n) {
            const rate = yield* Effect.option(task(n, key === undefined ? {} : { key }))
            const charged = yield* double(n)
            yield* Ask.ask("?")
            return [Option.getOrElse(rate, () => 0), charged]
          })
        })
        const thread = flow.thread("t")
        assert.deepStrictEqual(payloads(yield* paused(thread.invoke(5))), ["?"])
        assert.deepStrictEqual(yield* thread.resume(Ask.reply("go")), [5, 10])
        assert.deepStrictEqual([tries(), calls], [2, [5]])
      })
  )

  behaves(
    `what is called instead of a call is no result of another once that goes well (${key ?? "no"} key)`,
    () =>
      Effect.gen(function*() {
        const { task } = unreliable(1)
        const { calls, double } = doubling()
        const spare = Task.make("spare", { input: Schema.Int, output: Schema.Int, run: (n) => n * 100 })
        const flow = Entrypoint.make("flow", {
          input: Schema.Int,
          output: ints,
          run: Effect.fnUntraced(function*(n) {
            const one = yield* Effect.catch(task(n, key === undefined ? {} : { key }), () => spare(n))
            const two = yield* double(one)
            yield* Ask.ask("?")
            return [one, two]
          })
        })
        const thread = flow.thread("t")
        assert.deepStrictEqual(payloads(yield* paused(thread.invoke(5))), ["?"])
        assert.deepStrictEqual(yield* thread.resume(Ask.reply("go")), [5, 10])
        assert.deepStrictEqual(calls, [500, 5])
      })
  )
}

behaves(
  "what handles the pause of a call asks nothing: its answer would be that of a later question",
  () =>
    Effect.gen(function*() {
      const flow = Entrypoint.make("flow", {
        input: Schema.String,
        output: texts,
        run: Effect.fnUntraced(function*(text) {
          const review = yield* Effect.catchCause(asks(text), () => Ask.ask("pay?"))
          const pay = yield* Ask.ask("pay?")
          return [review, pay]
        })
      })
      const thread = flow.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke("review?"))), ["review?"])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("fine")))), ["pay?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), ["fine", "yes"])
    })
)

behaves("a retry around questions with keys asks each of them once", () =>
  Effect.gen(function*() {
    const flow = Entrypoint.make("flow", {
      input: Schema.Null,
      output: texts,
      run: () =>
        Effect.retry(Effect.all([Ask.ask("a?", { key: "a" }), Ask.ask("b?", { key: "b" })]), Schedule.recurs(2))
    })
    const thread = flow.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke(null))), ["a?"])
    assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("A")))), ["b?"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("B")), ["A", "B"])
  }))
