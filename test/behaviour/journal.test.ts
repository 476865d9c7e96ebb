/** Journals: events that are held, read by several, and read again; and the events of a run's beginning and end. */
import { assert, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Option, Scheduler, Schema, Scope, Stream } from "effect"
import * as Sse from "effect/encoding/Sse"
import { TestClock } from "effect/testing"
import {
  Channel,
  Command,
  Entrypoint,
  type Event,
  Interrupt,
  Journal,
  Node,
  Pregel,
  Running,
  Send,
  State,
  StateGraph,
  Task
} from "superstep"
import { collect, recorded } from "./Pauses.ts"
import { behaves } from "./Savers.ts"
import { Drawn } from "./Schedulers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

const cursors = (entries: ReadonlyArray<Journal.Entry<unknown>>) => entries.map(({ cursor }) => cursor)
const events = <A>(entries: ReadonlyArray<Journal.Entry<A>>) => entries.map(({ event }) => event)
const upTo = (n: number) => Array.from({ length: n }, (_, index) => index + 1)

// ---------------------------------------------------------------------------
// Readers
// ---------------------------------------------------------------------------

it.effect("several read one run: from the beginning, late, from where they were, and after its end", () =>
  Effect.gen(function*() {
    const go = yield* Deferred.make<void>()
    const source = Stream.concat(
      Stream.range(1, 5),
      Stream.concat(Stream.fromEffectDrain(Deferred.await(go)), Stream.range(6, 10))
    )
    const journal = yield* Journal.make(source)
    const first = yield* Effect.forkChild(collect(journal.read()))
    assert.deepStrictEqual(
      yield* collect(journal.read().pipe(Stream.take(5), Stream.map(({ cursor }) => cursor))),
      upTo(5)
    )
    const late = yield* Effect.forkChild(collect(journal.read({ after: 3 })))
    yield* Effect.yieldNow
    assert.strictEqual(yield* journal.newest, 5)
    yield* Deferred.succeed(go, undefined)
    assert.deepStrictEqual(cursors(yield* Fiber.join(first)), upTo(10))
    assert.deepStrictEqual(events(yield* Fiber.join(late)), [4, 5, 6, 7, 8, 9, 10])
    yield* journal.end
    assert.deepStrictEqual(events(yield* collect(journal.read({ after: 8 }))), [9, 10])
    assert.deepStrictEqual(yield* collect(journal.read({ after: 10 })), [])
  }).pipe(Effect.scoped))

it.effect("O3 five hundred events in one tick have cursors that grow by one, and any prefix goes on with the rest", () =>
  Effect.gen(function*() {
    const journal = yield* Journal.make(Stream.range(1, 500))
    const all = yield* collect(journal.read())
    assert.deepStrictEqual(cursors(all), upTo(500))
    for (const after of [0, 1, 255, 256, 257, 499, 500]) {
      assert.deepStrictEqual(yield* collect(journal.read({ after })), all.slice(after))
    }
  }).pipe(Effect.scoped))

it.effect("a journal ends as its stream has: every reader, also one that comes later, fails with what that failed with", () =>
  Effect.gen(function*() {
    const journal = yield* Journal.make(Stream.concat(Stream.range(1, 3), Stream.fail("broken" as const)))
    const seen: Array<number> = []
    const read = Stream.runForEach(journal.read(), ({ event }) => Effect.sync(() => void seen.push(event)))
    assert.strictEqual(yield* Effect.flip(read), "broken")
    assert.strictEqual(yield* Effect.flip(read), "broken")
    assert.strictEqual(yield* Effect.flip(journal.end), "broken")
    assert.deepStrictEqual(seen, [1, 2, 3, 1, 2, 3])
  }).pipe(Effect.scoped))

it.effect("the end of the scope ends the run, and those who read", () =>
  Effect.gen(function*() {
    let isInterrupted = false
    const endless = Stream.fromEffectDrain(
      Effect.onInterrupt(Effect.never, () => Effect.sync(() => isInterrupted = true))
    )
    let reader: Fiber.Fiber<unknown, unknown> | undefined
    yield* Effect.scoped(Effect.gen(function*() {
      const journal = yield* Journal.make(endless)
      reader = yield* Effect.forkDetach(collect(journal.read()))
      yield* Effect.yieldNow
    }))
    assert.isTrue(isInterrupted)
    assert.isTrue(Exit.isFailure(yield* Fiber.await(reader!)))
  }))

it.live("a journal whose scope ends before its run has begun, or has ended already, ends as well", () =>
  Effect.gen(function*() {
    const closed = yield* Scope.make()
    yield* Scope.close(closed, Exit.void)
    const making = Journal.make(Stream.range(1, 3))
    for (const made of [Effect.scoped(making), Effect.provideService(making, Scope.Scope, closed)]) {
      const journal = yield* made
      for (const use of [journal.end, collect(journal.read())]) {
        const exit = yield* Effect.timeoutOption(Effect.exit(use), "1 second")
        assert.isTrue(Option.exists(exit, (exit) => Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)))
      }
    }
  }))

/** Three read a run of 30 events, which goes on from the first when all of them are there; how many each has seen. */
const threeReaders = (options: Journal.Options | undefined) =>
  Effect.gen(function*() {
    const go = yield* Deferred.make<void>()
    let there = 0
    const rest = Stream.concat(Stream.fromEffectDrain(Deferred.await(go)), Stream.range(2, 30))
    const journal = yield* Journal.make(Stream.rechunk(Stream.concat(Stream.make(1), rest), 1), options)
    const read = Stream.tap(
      journal.read(),
      ({ event }) => event === 1 && ++there === 3 ? Deferred.succeed(go, undefined) : Effect.void
    )
    const readers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(collect(read)))
    const ended = yield* Effect.forkChild(journal.end)
    const seen = yield* Effect.forEach(readers, (reader) => Fiber.join(reader))
    yield* Fiber.join(ended)
    return seen.map((entries) => entries.length)
  }).pipe(Effect.scoped)

it.live(
  "who reads, who waits for the end, and the run of a full journal miss nothing, wherever fibers yield",
  () =>
    Effect.gen(function*() {
      for (let seed = 1; seed <= 40; seed++) {
        for (const options of [{ capacity: 1 }, { capacity: 3 }, undefined]) {
          const counts = yield* threeReaders(options).pipe(
            Effect.provideService(Scheduler.Scheduler, new Drawn(seed)),
            Effect.timeoutOption("5 seconds")
          )
          const what = `seed ${seed}, capacity ${options?.capacity}`
          assert.deepStrictEqual(Option.getOrUndefined(counts), [30, 30, 30], what)
        }
      }
    }),
  60_000
)

// ---------------------------------------------------------------------------
// Full journals
// ---------------------------------------------------------------------------

it.effect("a full journal makes its run wait until all who read have read on", () =>
  Effect.gen(function*() {
    let written = 0
    const counted = Stream.tap(Stream.range(1, 100), () => Effect.sync(() => void written++))
    const journal = yield* Journal.make(Stream.rechunk(counted, 1), { capacity: 10 })
    yield* TestClock.adjust("1 second")
    assert.isAtMost(written, 11)
    const slow = yield* Effect.forkChild(collect(journal.read().pipe(Stream.tap(() => Effect.sleep("1 second")))))
    yield* TestClock.adjust("5 seconds")
    assert.isBelow(written, 100)
    yield* TestClock.adjust("200 seconds")
    assert.deepStrictEqual(cursors(yield* Fiber.join(slow)), upTo(100))
  }).pipe(Effect.scoped))

it.effect("a journal that drops its oldest tells a reader that is too late, and where to go on", () =>
  Effect.gen(function*() {
    const journal = yield* Journal.make(Stream.range(1, 1_000), { capacity: 10, overflow: "dropOldest" })
    yield* journal.end
    const gap = yield* Effect.flip(collect(journal.read()))
    assert.instanceOf(gap, Journal.JournalGap)
    assert.deepInclude(gap, { after: 0, first: 991, newest: 1_000 })
    assert.include(gap.message, "what follows 0 is gone. Read the state of the thread, and go on from 990")
    assert.deepStrictEqual(events(yield* collect(journal.read({ after: 990 }))), upTo(1_000).slice(990))
    const ahead = yield* Effect.flip(collect(journal.read({ after: 1_001 })))
    assert.include(String(ahead), "1001 is of another one")
  }).pipe(Effect.scoped))

it.effect("wrong options are typed failures", () =>
  Effect.gen(function*() {
    for (const options of [{ capacity: 0 }, { overflow: "burst" }, 5]) {
      assert.strictEqual((yield* Effect.flip(Journal.make(Stream.empty, options as never)))._tag, "InvalidArgument")
    }
    const journal = yield* Journal.make(Stream.range(1, 3))
    for (const after of [-1, 0.5, Number.NaN, "1"]) {
      const error = yield* Effect.flip(collect(journal.read({ after: after as never })))
      assert.strictEqual(error._tag, "InvalidArgument")
    }
  }).pipe(Effect.scoped))

// ---------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------

const modes = ["values", "updates", "custom", "tasks", "checkpoints", "lifecycle"] as const

/** A graph in a graph, with something of everything. */
const shows = () => {
  const inner = StateGraph.make(
    "inner",
    StateGraph.nodes(Log, { deep: () => Effect.as(Running.emit("deep"), { log: ["deep"] }) }),
    { start: "deep" }
  )
  return StateGraph.make(
    "shows",
    StateGraph.nodes(Log, {
      one: () => Effect.as(Running.emit(1), { log: ["one"] }),
      inner,
      other: () => ({ log: ["other"] })
    }),
    { start: "one", edges: { one: ["inner", "other"] } }
  )
}

/** What differs from run to run. */
const without = (event: Event.Any): unknown => ({ ...event, run: "", timestampMillis: 0 })

behaves("each mode of a journal is what a stream of that mode alone shows", () =>
  Effect.gen(function*() {
    // One at a time: tasks of one superstep end in no fixed order otherwise.
    const options = { subgraphs: true, concurrency: 1 }
    const journal = yield* Journal.make(shows().thread("all").stream({}, { ...options, modes }))
    yield* journal.end
    for (const mode of modes) {
      const own = yield* collect(shows().thread(mode).stream({}, { ...options, modes: [mode] }))
      const held = events(yield* collect(journal.read().pipe(Journal.only(mode))))
      assert.isAbove(own.length, 0)
      assert.deepStrictEqual(held.map(without), own.map(without), mode)
    }
  }).pipe(Effect.scoped))

behaves("O9 updates that are folded are the values, at every step", () =>
  Effect.gen(function*() {
    interface Folding {
      readonly log: ReadonlyArray<string>
      /** Updates of the superstep: they come as tasks finish, and count in the order of the tasks. */
      readonly open: ReadonlyArray<readonly [node: string, log: ReadonlyArray<string>]>
    }
    const logged = (update: unknown): ReadonlyArray<string> =>
      ((Array.isArray(update) ? update : [update]) as ReadonlyArray<{ readonly log: ReadonlyArray<string> }>)
        .flatMap(({ log }) => log)
    const folded: Journal.Projection<Event.Any, ReadonlyArray<string>, Folding> = {
      initial: { log: [], open: [] },
      step: (state, event) => {
        if (event.path.length > 0) return [state, []]
        if (event.mode === "updates" && event.update !== undefined) {
          return [{ ...state, open: [...state.open, [event.node, logged(event.update)]] }, []]
        }
        if (event.mode !== "values") return [state, []]
        const inOrder = state.open.toSorted(([one], [other]) => one < other ? -1 : 1)
        const log = [...state.log, ...inOrder.flatMap(([, log]) => log)]
        return [{ log, open: [] }, [log]]
      }
    }
    const all = yield* Journal.make(shows().thread("t").stream({}, { modes: ["values", "updates"], subgraphs: true }))
    const values = yield* collect(all.read().pipe(Journal.only("values")))
    const shown = events(values).flatMap((event) => event.path.length === 0 ? [event.values["log"]] : [])
    assert.deepStrictEqual(events(yield* collect(all.read().pipe(Journal.project(folded)))), shown as never)
    assert.deepStrictEqual(shown.at(-1), ["one", "deep", "other"])
  }).pipe(Effect.scoped))

behaves("what a thread holds stands for a journal that is gone", () =>
  Effect.gen(function*() {
    const thread = shows().thread("t")
    const live = yield* collect(thread.stream({}, { modes: ["checkpoints"] }))
    assert.deepStrictEqual(yield* collect(Journal.stored(thread)), live as never)
    const [, second] = live
    const after = second!.mode === "checkpoints" ? second!.checkpoint! : ""
    assert.deepStrictEqual(yield* collect(Journal.stored(thread, { after })), live.slice(2) as never)
    const error = yield* Effect.flip(collect(Journal.stored(thread, { after: "nowhere" })))
    assert.deepInclude(error, { _tag: "UnknownCheckpoint", thread: "t" })
  }))

// ---------------------------------------------------------------------------
// Beginnings and ends
// ---------------------------------------------------------------------------

const lifeOf = (all: ReadonlyArray<Event.Any>) =>
  all.flatMap((event) =>
    event.mode === "lifecycle"
      ? [event.reason === undefined ? event.type : `${event.type}: ${event.reason}`]
      : [event.mode]
  )

behaves("a run says how it begins and how it ends, in every way", () =>
  Effect.gen(function*() {
    let isDown = true
    const app = StateGraph.make(
      "app",
      StateGraph.nodes(Log, {
        ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })),
        stop: () => Effect.as(Running.drain("enough"), { log: ["stop"] }),
        fails: () => isDown ? Effect.fail("down" as never) : Effect.succeed({ log: ["up"] }),
        last: () => ({ log: ["last"] })
      }),
      { start: "ask", edges: StateGraph.sequence("ask", "stop", "fails", "last") }
    )
    const thread = app.thread("t")
    const seen: Array<Event.Any> = []
    const lifecycle = { modes: ["lifecycle"] as const, metadata: { user: "ada" } }
    const first = yield* recorded(thread.stream({}, lifecycle))
    assert.deepStrictEqual(lifeOf(first.events), ["started", "paused", "paused"])
    const [begun] = first.events
    assert.deepInclude(begun, { mode: "lifecycle", path: [], metadata: { user: "ada" } })
    const resumed = yield* recorded(thread.stream(Command.resume(Ask.reply("!")), lifecycle))
    assert.deepStrictEqual(lifeOf(resumed.events), ["resumed", "drained: enough"])
    const failed = yield* Effect.exit(collect(
      thread.stream(Command.continue, lifecycle).pipe(Stream.tap((event) => Effect.sync(() => void seen.push(event))))
    ))
    assert.isTrue(Exit.isFailure(failed))
    assert.deepStrictEqual(lifeOf(seen), ["resumed", "failed: down"])
    isDown = false
    const stopped = yield* recorded(thread.stream(Command.continue, { ...lifecycle, before: ["last"] }))
    assert.deepStrictEqual(lifeOf(stopped.events), ["resumed", "stopped"])
    const completed = yield* collect(thread.stream(Command.continue, lifecycle))
    assert.deepStrictEqual(lifeOf(completed), ["resumed", "completed"])
    assert.strictEqual(
      new Set([begun, completed[0]].map((event) => event!.mode === "lifecycle" ? event!.run : "")).size,
      2
    )
    // What is refused as soon as it is looked at begins nothing.
    const refused = yield* recorded(thread.stream({}, { ...lifecycle, checkpoint: "nowhere" }))
    assert.deepStrictEqual([lifeOf(refused.events), refused.end], [[], "UnknownCheckpoint"])
  }))

behaves("a run that has ended brings its result, and a finished thread brings it again", () =>
  Effect.gen(function*() {
    const lifecycle = { modes: ["lifecycle"] as const }
    const ends = (all: ReadonlyArray<Event.Any>) =>
      all.flatMap((event) => event.mode === "lifecycle" ? [event.type === "completed" ? event.output : event.type] : [])
    const add = Task.make("add", { input: Schema.Int, output: Schema.Int, run: (n) => n + 1 })
    const count = Entrypoint.make("count", { input: Schema.Int, output: Schema.Int, run: (n) => add(n) })
    const grow = Pregel.make("grow", {
      channels: { value: Channel.lastValue(Schema.String), other: Channel.lastValue(Schema.String) },
      nodes: { double: Pregel.node({ subscribe: "value", run: (text: string) => text + text, write: "other" }) },
      input: "value",
      output: "other"
    })
    const log = { log: ["one", "deep", "other"] }
    const begun = "started"
    assert.deepStrictEqual(ends(yield* collect(shows().thread("s").stream({}, lifecycle))), [begun, log])
    assert.deepStrictEqual(ends(yield* collect(count.thread("c").stream(1, lifecycle))), [begun, 2])
    assert.deepStrictEqual(ends(yield* collect(grow.thread("g").stream("a", lifecycle))), [begun, "aa"])
    assert.deepStrictEqual(ends(yield* collect(shows().stream({}, lifecycle))), [begun, log])
    assert.deepStrictEqual(ends(yield* collect(count.stream(1, lifecycle))), [begun, 2])
    assert.deepStrictEqual(ends(yield* collect(grow.stream("a", lifecycle))), [begun, "aa"])

    const again = { ...lifecycle, metadata: { user: "ada" } }
    const finished = yield* collect(shows().thread("s").stream(Command.continue, again))
    assert.deepStrictEqual(ends(finished), [log])
    assert.deepInclude(finished[0], { path: [], metadata: { user: "ada" } })
    assert.deepStrictEqual(ends(yield* collect(count.thread("c").stream(Command.continue, again))), [2])
    assert.deepStrictEqual(ends(yield* collect(grow.thread("g").stream(Command.start("b"), again))), ["aa"])
    assert.lengthOf(yield* shows().thread("s").history(), 4)
  }))

it.effect("a run that takes too long has failed, and says so", () =>
  Effect.gen(function*() {
    const slow = StateGraph.make("slow", StateGraph.nodes(Log, { wait: () => Effect.never }), { start: "wait" })
    const fiber = yield* Effect.forkChild(recorded(slow.stream({}, { modes: ["lifecycle"], runTimeout: "1 second" })))
    yield* TestClock.adjust("1 second")
    const { end, events } = yield* Fiber.join(fiber)
    assert.strictEqual(end, "NodeTimeout")
    assert.match(lifeOf(events)[1]!, /^failed: NodeTimeout: /)
  }))

// ---------------------------------------------------------------------------
// Over a wire
// ---------------------------------------------------------------------------

class Due extends State.make({
  at: Schema.Date,
  history: Channel.append(Schema.Date)
}) {}

const due = StateGraph.make(
  "due",
  StateGraph.nodes(Due, {
    wait: ({ at }) => ({ at: new Date(at.getTime() + 1_000), history: [at] }),
    reset: () => ({ history: Channel.overwrite([new Date(0)]) })
  }),
  { start: "wait", edges: { wait: "reset" } }
)

it.effect("events are written as their channels store them", () =>
  Effect.gen(function*() {
    const all = due.stream({ at: new Date(0) }, { modes: ["updates", "values", "tasks"] })
    const json = yield* collect(all.pipe(Stream.mapEffect(Journal.toJson(due))))
    const updates = json.flatMap((event) =>
      (event as { readonly mode: string }).mode === "updates" ? [(event as { readonly update: unknown }).update] : []
    )
    assert.deepStrictEqual(updates, [
      { at: "1970-01-01T00:00:01.000Z", history: ["1970-01-01T00:00:00.000Z"] },
      { history: { overwrite: ["1970-01-01T00:00:00.000Z"] } }
    ])
    assert.deepStrictEqual(JSON.parse(JSON.stringify(json)), json)
    const ends = yield* collect(
      due.stream({ at: new Date(0) }, { modes: ["lifecycle"] }).pipe(Stream.mapEffect(Journal.toJson(due)))
    )
    assert.deepStrictEqual((ends.at(-1) as { readonly output: unknown }).output, {
      at: "1970-01-01T00:00:01.000Z",
      history: ["1970-01-01T00:00:00.000Z"]
    })
    const pass = Pregel.make("pass", {
      channels: { at: Channel.lastValue(Schema.ReadonlyMap(Schema.String, Schema.BigInt)) },
      nodes: { never: Pregel.node({ subscribe: "at", run: () => undefined, write: "at" }) },
      input: "at",
      output: "at"
    })
    const passed = yield* collect(
      pass.stream(new Map([["a", 1n]]), { modes: ["lifecycle"] }).pipe(Stream.mapEffect(Journal.toJson(pass)))
    )
    assert.deepStrictEqual((passed.at(-1) as { readonly output: unknown }).output, [["a", "1"]])
    const cyclic: Record<string, unknown> = {}
    cyclic["own"] = cyclic
    const odd = Journal.toJson(due)({ mode: "custom", path: [], step: 1, node: "n", data: cyclic })
    assert.deepInclude(yield* Effect.flip(odd), { _tag: "InvalidArgument", argument: "event" })
  }))

it.effect("what has no form as JSON fails its event, or something else stands in its place", () =>
  Effect.gen(function*() {
    class Open extends State.make({ at: Schema.Date, client: Channel.untracked<object>() }) {}
    const app = StateGraph.make(
      "app",
      StateGraph.nodes(Open, { go: () => Effect.as(Running.emit({ n: 1n }), { client: { n: 1n } }) }),
      { start: "go" }
    )
    const all = app.stream({ at: new Date(0) }, { modes: ["custom", "updates", "values", "tasks", "lifecycle"] })
    const failed = yield* Effect.flip(collect(Stream.mapEffect(all, Journal.toJson(app))))
    assert.deepInclude(failed, { _tag: "InvalidArgument", argument: "event" })
    const shown = (yield* collect(
      Stream.mapEffect(all, Journal.toJson(app, { otherwise: (value) => `a ${typeof value}` }))
    )) as unknown as ReadonlyArray<Shown & { readonly data?: unknown; readonly output?: unknown }>
    const at = "1970-01-01T00:00:00.000Z"
    assert.deepStrictEqual(shown.flatMap(({ data }) => data ?? []), ["a object"])
    assert.deepStrictEqual(shown.flatMap(({ update }) => update ?? []), [{ client: "a object" }])
    assert.deepStrictEqual(shown.flatMap(({ result }) => result ?? []), [{ client: "a object" }])
    assert.deepStrictEqual(shown.at(-1)?.output, { at, client: "a object" })
    assert.deepStrictEqual(shown.findLast(({ mode }) => mode === "values")?.values, { at, client: "a object" })
    const journal = yield* Journal.make(all)
    const otherwise = () => null
    const lines = yield* collect(journal.read().pipe(Journal.toNdjson(app, { otherwise })))
    const sse = yield* Stream.mkString(journal.read().pipe(Journal.toSse(app, { otherwise })))
    for (const text of [lines.join(""), sse]) assert.include(text, `"output":{"at":"${at}","client":null}`)
    const throwing = () => {
      throw new Error("no")
    }
    for (const wrong of [{ otherwise: throwing }, { otherwise: 5 }]) {
      const error = yield* Effect.flip(collect(Stream.mapEffect(all, Journal.toJson(app, wrong as never))))
      assert.strictEqual((error as { readonly _tag: string })._tag, "InvalidArgument")
    }
  }).pipe(Effect.scoped))

it.effect("server-sent events read back: the cursor as the id, the mode as the name, whatever texts hold", () =>
  Effect.gen(function*() {
    const odd = "a\n\nb\r\ndata: x\u2028é\0"
    const app = StateGraph.make(
      "app",
      StateGraph.nodes(Log, { odd: () => Effect.as(Running.emit(odd), { log: [odd] }) }),
      { start: "odd" }
    )
    const journal = yield* Journal.make(app.stream({}, { modes: ["custom", "updates"] }))
    const text = yield* Stream.mkString(journal.read().pipe(Journal.toSse(app)))
    const seen: Array<readonly [string | undefined, string, unknown]> = []
    const parser = Sse.makeParser((event) => {
      if (event._tag === "Event") seen.push([event.id, event.event, JSON.parse(event.data)])
    })
    parser.feed(text)
    assert.deepStrictEqual(seen, [
      ["1", "custom", { mode: "custom", path: [], step: 1, node: "odd", data: odd }],
      ["2", "updates", { mode: "updates", path: [], step: 1, node: "odd", update: { log: [odd] }, cached: false }]
    ])
    const lines = yield* collect(journal.read({ after: 1 }).pipe(Journal.toNdjson(app)))
    assert.deepStrictEqual(lines.map((line) => [line.endsWith("\n"), JSON.parse(line).cursor]), [[true, 2]])
  }).pipe(Effect.scoped))

/** An event as JSON. */
interface Shown {
  readonly mode: string
  readonly path: ReadonlyArray<string>
  readonly node?: string
  readonly type?: string
  readonly input?: unknown
  readonly result?: unknown
  readonly update?: unknown
  readonly values?: unknown
}

it.effect("tasks, graphs that are called, and what is sent are written as their schemas say", () =>
  Effect.gen(function*() {
    const counts = Schema.ReadonlyMap(Schema.String, Schema.BigInt)
    const given = new Map([["a", 1n]])
    const written = [["a", "1"]]
    const pass = Task.make("pass", { input: counts, output: counts, run: (all) => all })
    const flow = Entrypoint.make("flow", { input: counts, output: counts, run: (all) => pass(all) })
    const shown = (yield* collect(
      flow.stream(given, { modes: ["updates", "tasks", "values", "debug", "checkpoints"] }).pipe(
        Stream.mapEffect(Journal.toJson(flow))
      )
    )) as unknown as ReadonlyArray<Shown>
    const of = (mode: string) => shown.filter((event) => event.mode === mode)
    assert.deepStrictEqual(of("updates").map(({ path, update }) => [path.length, update]), [[1, written], [0, written]])
    assert.deepStrictEqual(
      of("tasks").map(({ input, path, result }) => [path.length, input ?? result]),
      [[0, written], [1, written], [1, written], [0, written]]
    )
    assert.deepStrictEqual(of("values").at(-1)?.values, written)
    assert.notInclude(JSON.stringify(shown), "{}")

    class Counted extends State.make({ all: Channel.lastValue(counts, { initial: () => new Map() }) }) {}
    const inner = StateGraph.make("inner", StateGraph.nodes(Counted, { n: ({ all }) => ({ all }) }), { start: "n" })
    const takes = Node.make({ input: Schema.Struct({ sent: counts }), run: ({ sent }) => ({ all: sent }) })
    const outer = StateGraph.make(
      "outer",
      StateGraph.nodes(Counted, { calls: ({ all }) => inner.call({ all }), takes }),
      {
        start: "calls",
        edges: { calls: StateGraph.route(["takes"], ({ all }) => [Send.make("takes", { sent: all })]) }
      }
    )
    const events = yield* collect(
      outer.stream({ all: given }, { modes: ["updates", "tasks"], subgraphs: true }).pipe(
        Stream.mapEffect(Journal.toJson(outer))
      )
    )
    assert.notInclude(JSON.stringify(events), "\"all\":{}")
    const took = (events as unknown as ReadonlyArray<Shown>).find(({ node, type }) =>
      node === "takes" && type === "started"
    )
    assert.deepStrictEqual(took?.input, { sent: written })
  }))
