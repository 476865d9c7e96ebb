/** Cases of other engines that no other file shows: odd clocks and values, damaged rows, graphs that change, late writers. */
import { assert } from "@effect/vitest"
import { Clock, Duration, Effect, Latch, Layer, Option, Schema, Stream } from "effect"
import { Channel, Checkpointer, Command, END, GraphError, Node, Running, State, StateGraph } from "superstep"
import { collect, rowsOf } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

const say = (name: string) => () => ({ log: [name] })

const refused = (error: unknown) =>
  error instanceof GraphError.CheckpointError
    ? { reason: error.reason, channel: error.channel }
    : assert.fail(`expected a CheckpointError, not ${String(error)}`)

/** The differences that it names. */
const changed = (error: unknown) =>
  error instanceof GraphError.GraphChanged
    ? error.differences
    : assert.fail(`expected GraphChanged, not ${String(error)}`)

// ---------------------------------------------------------------------------
// Threads
// ---------------------------------------------------------------------------

behaves(
  "F6 an update as a node that goes on by Command goes where the given Command says, and nowhere without one",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "steered",
        StateGraph.nodes(Log, {
          choose: () => Effect.succeed(Command.make({ update: { log: ["choose"] }, goto: "left" })),
          left: say("left"),
          right: say("right")
        }),
        { start: "choose" },
        { before: ["left"] }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}))
      yield* thread.update(Command.make({ update: { log: ["patched"] }, goto: "right" }), { asNode: "choose" })
      assert.deepStrictEqual((yield* thread.state()).next, ["left", "right"])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["choose", "patched", "left", "right"] })
      // Without a Command it acts as the node that returned none.
      yield* thread.update({ log: ["again"] }, { asNode: "choose" })
      assert.deepStrictEqual((yield* thread.state()).next, [])
    })
)

/** A clock that goes back a minute each time it is read. */
const backwards = (): Clock.Clock => {
  let now = 1_700_000_000_000
  const currentTimeMillisUnsafe = () => now -= 60_000
  const currentTimeNanosUnsafe = () => BigInt(currentTimeMillisUnsafe()) * 1_000_000n
  return {
    currentTimeMillisUnsafe,
    currentTimeMillis: Effect.sync(currentTimeMillisUnsafe),
    currentTimeNanosUnsafe,
    currentTimeNanos: Effect.sync(currentTimeNanosUnsafe),
    sleep: (duration) =>
      Effect.promise(() => new Promise<void>((resolve) => void setTimeout(resolve, Duration.toMillis(duration))))
  } as Clock.Clock
}

behaves(
  "F11 a clock that steps back changes neither what is newest nor the order of history",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make("clock", StateGraph.nodes(Log, { a: say("a"), b: say("b") }), {
        start: "a",
        edges: { a: "b" }
      })
      const thread = graph.thread("t")
      yield* Effect.provideService(thread.invoke({}), Clock.Clock, backwards())
      yield* Effect.provideService(thread.invoke({}), Clock.Clock, backwards())
      const history = yield* thread.history()
      assert.deepStrictEqual(history.map(({ step }) => step), [6, 5, 4, 3, 2, 1, 0, -1])
      const times = history.map(({ createdMillis }) => createdMillis)
      assert.notDeepEqual(times, times.toSorted((x, y) => y - x))
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["a", "b", "a", "b"] })
      assert.deepStrictEqual(yield* thread.invoke({}), { log: ["a", "b", "a", "b", "a", "b"] })
    })
)

behaves(
  "G9 a failure that its handler has dealt with is not handled again when a sibling's failure is mended",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      let isBroken = true
      const graph = StateGraph.make(
        "handled",
        StateGraph.nodes(Log, {
          a: Node.make({
            input: Log,
            run: () =>
              Effect.suspend(() => {
                runs.push("a")
                return Effect.fail(new Broken())
              }),
            onError: () =>
              Effect.sync(() => {
                runs.push("handler")
                return { log: ["handled"] }
              })
          }),
          b: () =>
            Effect.suspend(() => {
              runs.push("b")
              return isBroken ? Effect.fail(new Broken()) : Effect.succeed({ log: ["b"] })
            })
        }),
        { start: ["a", "b"] },
        { onFailure: "settle" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), new Broken())
      assert.deepStrictEqual((yield* thread.state()).next, ["b"])
      isBroken = false
      assert.deepStrictEqual(yield* thread.continue(), { log: ["handled", "b"] })
      assert.deepStrictEqual(runs.toSorted(), ["a", "b", "b", "handler"])
    })
)

// ---------------------------------------------------------------------------
// Graphs that change between runs
// ---------------------------------------------------------------------------

class Noted extends State.make({ log: Channel.append(Schema.String), note: Channel.append(Schema.String) }) {}

behaves(
  "H1 a key that is gone is a typed failure each time, and the thread goes on once it is back",
  () =>
    Effect.gen(function*() {
      const stop = { before: ["last"] }
      const flow = { start: "first", edges: { first: "last" } } as const
      const before = StateGraph.make(
        "shrinking",
        StateGraph.nodes(Noted, { first: () => ({ log: ["first"], note: ["kept"] }), last: say("last") }),
        flow,
        stop
      )
      const after = StateGraph.make(
        "shrinking",
        StateGraph.nodes(Log, { first: say("first"), last: say("last") }),
        flow
      )
      assert.strictEqual((yield* Effect.flip(before.thread("t").invoke({})))._tag, "GraphBreakpoint")
      const stored = yield* rowsOf("t")
      for (let time = 0; time < 3; time++) {
        assert.deepStrictEqual(changed(yield* Effect.flip(after.thread("t").continue())), [
          { kind: "KeyGone", name: "note" }
        ])
      }
      assert.deepStrictEqual(yield* rowsOf("t"), stored)
      assert.deepStrictEqual(yield* before.thread("t").continue(), { log: ["first", "last"], note: ["kept"] })
    })
)

behaves(
  "H1 a thread goes on in a graph that got another node, another edge and a key that needs no input",
  () =>
    Effect.gen(function*() {
      const before = StateGraph.make("growing", StateGraph.nodes(Log, { first: say("first"), last: say("last") }), {
        start: "first",
        edges: { first: "last" }
      })
      const after = StateGraph.make(
        "growing",
        StateGraph.nodes(Noted, {
          first: say("first"),
          last: say("last"),
          note: (s) => ({ note: [`${s.log.length} lines`] })
        }),
        { start: "first", edges: { first: "last", last: "note", note: END } }
      )
      yield* Effect.flip(before.thread("t").invoke({}, { after: ["first"] }))
      assert.deepStrictEqual((yield* after.thread("t").state()).values, { log: ["first"], note: [] })
      assert.deepStrictEqual(yield* after.thread("t").continue(), { log: ["first", "last"], note: ["2 lines"] })
      assert.deepStrictEqual((yield* after.thread("t").state()).values, { log: ["first", "last"], note: ["2 lines"] })
    })
)

behaves("H1 a node that has run can be taken out of the graph", () =>
  Effect.gen(function*() {
    const say = (name: string) => () => ({ log: [name] })
    const before = StateGraph.make(
      "shorter",
      StateGraph.nodes(Log, { first: say("first"), middle: say("middle"), last: say("last") }),
      { start: "first", edges: { first: "middle", middle: "last" } }
    )
    const after = StateGraph.make("shorter", StateGraph.nodes(Log, { first: say("first"), last: say("last") }), {
      start: "first",
      edges: { first: "last" }
    })
    yield* Effect.flip(before.thread("t").invoke({}, { after: ["middle"] }))
    const thread = after.thread("t")
    assert.deepStrictEqual((yield* thread.state()).next, ["last"])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["first", "middle", "last"] })
    // What stood before the node had run waits for the node.
    const history = yield* thread.history()
    assert.deepStrictEqual(history.map(({ next }) => next), [[], ["last"], ["middle"], ["first"], ["__start__"]])
    const { checkpoint } = history[2]!
    const refusals = [yield* Effect.flip(thread.continue({ checkpoint })), yield* Effect.flip(thread.fork(checkpoint))]
    for (const error of refusals) {
      assert.deepStrictEqual(changed(error), [{ kind: "NodeGone", name: "middle" }])
    }
  }))

behaves("H1 a node that was to run and is gone is a typed failure, and nothing runs", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const noted = (name: string) => () => {
      runs.push(name)
      return { log: [name] }
    }
    const before = StateGraph.make("renamed", StateGraph.nodes(Log, { first: noted("first"), last: noted("last") }), {
      start: "first",
      edges: { first: "last" }
    })
    const after = StateGraph.make("renamed", StateGraph.nodes(Log, { first: noted("first"), final: noted("final") }), {
      start: "first",
      edges: { first: "final" }
    })
    yield* Effect.flip(before.thread("t").invoke({}, { after: ["first"] }))
    assert.deepStrictEqual(changed(yield* Effect.flip(after.thread("t").continue())), [
      { kind: "NodeGone", name: "last" }
    ])
    assert.deepStrictEqual(runs, ["first"])
    assert.deepStrictEqual(yield* before.thread("t").continue(), { log: ["first", "last"] })
  }))

// ---------------------------------------------------------------------------
// Values and what is stored of them
// ---------------------------------------------------------------------------

class Money extends Schema.Class<Money>("Money")({ amount: Schema.BigInt, currency: Schema.String }) {
  get text(): string {
    return `${this.amount} ${this.currency}`
  }
}

const Odd = {
  date: Schema.Date,
  url: Schema.URL,
  bytes: Schema.Uint8Array,
  map: Schema.ReadonlyMap(Schema.String, Schema.Int),
  set: Schema.ReadonlySet(Schema.String),
  big: Schema.BigInt,
  money: Money
}

behaves(
  "K1 K3 dates, URLs, bytes, maps, sets, big integers and classes are the same in the next superstep and after a reload",
  () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      class S extends State.make(Odd) {}
      const graph = () =>
        StateGraph.make(
          "odd",
          StateGraph.nodes(S, {
            a: (s) => {
              seen.push({ ...s })
              return { big: s.big + 1n }
            },
            b: (s) => {
              seen.push({ ...s })
              assert.strictEqual(s.money.text, "5 EUR")
              return {}
            }
          }),
          { start: "a", edges: { a: "b" } }
        )
      const given = {
        date: new Date(5),
        url: new URL("https://example.org/a?b#c"),
        bytes: new Uint8Array([0, 255]),
        map: new Map([["a", 1]]),
        set: new Set(["x"]),
        big: 2n ** 70n,
        money: new Money({ amount: 5n, currency: "EUR" })
      }
      const expected = { ...given, big: 2n ** 70n + 1n }
      const same = (value: unknown, other: typeof given) => {
        assert.deepStrictEqual(value, other)
        for (const [key, part] of Object.entries(other)) {
          assert.strictEqual((value as Record<string, object>)[key]!.constructor, part.constructor, key)
        }
      }
      same(yield* graph().thread("t").invoke(given), expected)
      same(seen[0], given)
      same(seen[1], expected)
      same((yield* graph().thread("t").state()).values, expected)
      // Read from storage by a graph that was made anew, and used by its nodes.
      yield* graph().thread("t").invoke({})
      same(seen[2], expected)
    })
)

/** A saver that changes the text of every checkpoint and result that is read. */
const damaging = (change: (text: string) => string) =>
  Layer.effect(
    Checkpointer.Checkpointer,
    Effect.map(Checkpointer.Checkpointer, (saver) =>
      Checkpointer.Checkpointer.of({
        ...saver,
        get: (thread, namespace, id) =>
          Effect.map(saver.get(thread, namespace, id), (saved) =>
            saved._tag === "None" ? saved : {
              ...saved,
              value: {
                chain: saved.value.chain.map((row) => ({ ...row, data: change(row.data) })),
                tasks: saved.value.tasks.map((row) => ({ ...row, data: change(row.data) }))
              }
            })
      }))
  )

behaves(
  "K5 a result that is missing is a typed failure, and so is one that should not be there",
  () =>
    Effect.gen(function*() {
      const say = (name: string) => () => ({ log: [name] })
      const graph = StateGraph.make("lost", StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c") }), {
        start: ["a", "b"],
        edges: { a: StateGraph.join("c"), b: StateGraph.join("c") }
      })
      const thread = graph.thread("t")
      yield* thread.invoke({})
      const saver = yield* Checkpointer.Checkpointer
      const without = (name: string, twice: boolean) =>
        Checkpointer.Checkpointer.of({
          ...saver,
          get: (...at) =>
            Effect.map(
              saver.get(...at),
              Option.map(({ chain, tasks }) => ({
                chain,
                tasks: tasks.flatMap((row) =>
                  row.task !== name ? [row] : twice ? [row, { ...row, task: `${row.task}2` }] : []
                )
              }))
            )
        })
      for (const twice of [true, false]) {
        const read = Effect.provideService(thread.state(), Checkpointer.Checkpointer, without("pull:b", twice))
        assert.strictEqual(refused(yield* Effect.flip(read)).reason, "Decode")
      }
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["a", "b", "c"] })
    })
)

behaves(
  "K5 L4 a stored value that was changed by hand is a typed failure, nothing runs, and nothing is stored",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      class S extends State.make({ total: Schema.Int, log: Channel.append(Schema.String) }) {}
      const graph = StateGraph.make(
        "damaged",
        StateGraph.nodes(S, {
          a: () => ({ total: 12345, log: ["written"] }),
          b: () => {
            runs.push("b")
            return { log: ["b"] }
          }
        }),
        { start: "a", edges: { a: "b" } }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({ total: 1 }, { after: ["a"] }))
      const stored = yield* rowsOf("t")
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["12345", "12346"],
        ["\"written\"", "{\"lc\":1,\"type\":\"constructor\"}"],
        ["{", ""]
      ]
      for (const [from, to] of cases) {
        const layer = damaging((text) => text.replaceAll(from, to))
        for (const call of [thread.continue(), thread.state(), thread.invoke({}, { pending: "discard" })]) {
          const error = yield* Effect.flip(
            Effect.provide(call as Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>, layer)
          )
          assert.strictEqual(refused(error).reason, "Decode", from)
        }
      }
      assert.deepStrictEqual([yield* rowsOf("t"), runs], [stored, []])
      assert.deepStrictEqual(yield* thread.continue(), { total: 12345, log: ["written", "b"] })
    })
)

behaves(
  "J5 G4 with storage that is behind, every checkpoint holds what was there at its barrier",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const slow = Checkpointer.Checkpointer.of({
        ...saver,
        commit: (thread, commit) => Effect.andThen(Effect.sleep(2), saver.commit(thread, commit))
      })
      const kept: Array<Map<string, number>> = []
      class S extends State.make({
        n: Channel.lastValue(Schema.Int, { initial: () => 0 }),
        map: Channel.lastValue(Schema.ReadonlyMap(Schema.String, Schema.Int), { initial: () => new Map() }),
        seen: Channel.topic(Schema.String, { accumulate: true })
      }) {}
      const graph = StateGraph.make(
        "behind",
        StateGraph.nodes(S, {
          count: (s) => {
            // What earlier supersteps wrote is changed by who wrote it, and what is read by who reads it.
            for (const map of kept) map.set("late", -1)
            ;(s.map as Map<string, number>).set("read", -1)
            const map = new Map([["n", s.n + 1]])
            kept.push(map)
            return { n: s.n + 1, map }
          },
          beside: (s) => ({ seen: `saw ${s.n}` })
        }),
        {
          start: ["count", "beside"],
          edges: { count: StateGraph.route(["count", "beside"], (s) => s.n < 20 ? ["count", "beside"] : []) }
        }
      )
      const events = yield* Effect.provideService(
        collect(graph.thread("t").stream({}, { modes: ["values"], durability: "async" })),
        Checkpointer.Checkpointer,
        slow
      )
      const live = events.flatMap((event) => event.mode === "values" ? [event.values] : [])
      assert.deepStrictEqual(
        live.slice(-20).map(({ map, n, seen }) => [n, [...map], seen.length]),
        Array.from({ length: 20 }, (_, n) => [n + 1, [["n", n + 1]], n + 1])
      )
      const stored = (yield* graph.thread("t").history()).map(({ values }) => values).toReversed()
      assert.deepStrictEqual(stored.slice(-20), live.slice(-20))
    })
)

behaves(
  "L5 L9 keys of metadata are keys, whatever they look like: stored, found, and run by nobody",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make("keys", StateGraph.nodes(Log, { a: say("a") }), { start: "a" })
      const keys = [
        "'; DROP TABLE superstep_checkpoints; --",
        "a') OR ('1'='1",
        "\"quoted\"",
        "$.a",
        "a.b",
        "a[0]",
        "%",
        "__proto__",
        "constructor",
        "ключ 🔑",
        ""
      ]
      const thread = graph.thread("t")
      for (const key of keys) yield* thread.invoke({}, { metadata: Object.fromEntries([[key, "1; drop"]]) })
      for (const [index, key] of keys.entries()) {
        const found = yield* thread.history({ metadata: Object.fromEntries([[key, "1; drop"]]) })
        assert.deepStrictEqual(found.map(({ step }) => step), [3 * index + 1, 3 * index, 3 * index - 1], key)
        assert.deepStrictEqual(Object.keys(found[0]!.metadata), [key])
        assert.deepStrictEqual(yield* thread.history({ metadata: Object.fromEntries([[key, "other"]]) }), [])
      }
      assert.isUndefined(({} as { readonly polluted?: unknown }).polluted)
      assert.strictEqual((yield* thread.history()).length, 3 * keys.length)
    })
)

// ---------------------------------------------------------------------------
// Streams
// ---------------------------------------------------------------------------

behaves(
  "O1 what a fiber sends after its task has ended is not heard, although the run goes on",
  () =>
    Effect.gen(function*() {
      const sent = yield* Latch.make(false)
      const graph = StateGraph.make(
        "late",
        StateGraph.nodes(Log, {
          a: Effect.fnUntraced(function*() {
            const emits = Effect.andThen(Running.emit("late"), sent.open)
            yield* Effect.forkDetach(Effect.andThen(Effect.sleep("5 millis"), emits))
            return { log: ["a"] }
          }),
          b: () => Effect.as(sent.await, { log: ["b"] })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const events = yield* collect(graph.thread("t").stream({}, { modes: ["custom", "updates"] }))
      assert.deepStrictEqual(events.map(({ mode }) => mode), ["updates", "updates"])
    })
)

behaves(
  "O1 what a fiber sends after its run has ended, or its reader has left, reaches nobody and holds nobody up",
  () =>
    Effect.gen(function*() {
      const late = yield* Latch.make(false)
      let sent = 0
      const sending = Effect.repeat(
        Effect.andThen(Running.emit("late"), Effect.sync(() => void sent++)),
        { times: 199 }
      )
      const graph = StateGraph.make(
        "late",
        StateGraph.nodes(Log, {
          a: Effect.fnUntraced(function*() {
            yield* Running.emit("in time")
            yield* Effect.forkDetach(Effect.andThen(late.await, sending))
            return { log: ["a"] }
          }),
          b: say("b")
        }),
        { start: "a", edges: { a: "b" } }
      )
      const events = yield* collect(graph.thread("whole").stream({}, { modes: ["custom", "updates"] }))
      assert.deepStrictEqual(events.map((event) => event.mode === "custom" ? event.data : event.mode), [
        "in time",
        "updates",
        "updates"
      ])
      const first = yield* Stream.runCollect(Stream.take(graph.thread("left").stream({}, { modes: ["custom"] }), 1))
      assert.strictEqual(first.length, 1)
      yield* late.open
      yield* Effect.repeat(Effect.yieldNow, { until: () => sent === 400, times: 10_000 })
      // More than the stream would hold for a reader: nobody waits for one that is gone.
      assert.strictEqual(sent, 400)
      assert.deepStrictEqual(yield* graph.thread("whole").continue(), { log: ["a", "b"] })
    })
)
