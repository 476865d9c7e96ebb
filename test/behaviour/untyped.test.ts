/** What callers without types can say: a wrong word is a typed failure that says what is wrong, and nothing is lost. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Schema, Stream } from "effect"
import * as fc from "fast-check"
import {
  Channel,
  Checkpointer,
  Command,
  END,
  Entrypoint,
  Interrupt,
  Node,
  Pregel,
  Send,
  State,
  StateGraph,
  Task
} from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import * as SqliteClient from "superstep/sql/SqliteClient"
import { behaves as onSavers } from "./Savers.ts"

// oxlint-disable typescript/no-explicit-any

class Approve extends Interrupt.make("Approve", { payload: Schema.Int, answer: Schema.Boolean }) {}

class Count extends State.make({
  total: Schema.Int,
  visited: Channel.append(Schema.String),
  notes: Channel.append(Schema.Unknown)
}) {}

const asking = StateGraph.make(
  "asking",
  StateGraph.nodes(Count, {
    double: (state) => ({ total: state.total * 2, visited: ["double"] }),
    ask: Effect.fnUntraced(function*(state) {
      return { visited: [`approved: ${yield* Approve.ask(state.total)}`] }
    }),
    end: () => ({ visited: ["end"] })
  }),
  { start: "double", edges: { double: "ask", ask: "end", end: END } }
)

const plain = StateGraph.make(
  "plain",
  StateGraph.nodes(Count, { double: (state) => ({ total: state.total * 2, visited: ["double"] }) }),
  { start: "double", edges: { double: END } }
)

const machine = Pregel.make("machine", {
  channels: { a: Channel.lastValue(Schema.String), b: Channel.lastValue(Schema.String) },
  nodes: { shout: Pregel.node({ subscribe: "a", run: (a: string) => `${a}!`, write: "b" }) },
  input: "a",
  output: "b"
})

/** A run or a call, of which nothing is known. */
type Call = Effect.Effect<unknown, any, any>

const behaves = (name: string, body: () => Effect.Effect<void, any, any>, timeoutMillis?: number): void =>
  onSavers(name, body as () => Effect.Effect<void, unknown, Checkpointer.Checkpointer>, timeoutMillis)

const collect = (stream: Stream.Stream<unknown, any, any>): Call => Stream.runCollect(stream)

/** The failure of a call, which has to come as a value: tagged, with a text, and soon. */
const failureOf = (call: Call) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(Effect.timeout(call, "5 seconds"))
    if (Exit.isSuccess(exit)) return undefined
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause)) as
      | { _tag: string; message: string }
      | undefined
    assert.isDefined(error, `a defect: ${Cause.pretty(exit.cause)}`)
    assert.isFalse(exit.cause.reasons.some(Cause.isDieReason), Cause.pretty(exit.cause))
    assert.isString(error!._tag)
    assert.notStrictEqual(error!._tag, "TimeoutError")
    assert.isString(error!.message)
    return error!
  })

const throwing = (): never => {
  throw new Error("hands off")
}
const traps = Object.fromEntries(
  ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor"].map((name) => [name, throwing])
)
const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()
const cyclic: Record<string, unknown> = {}
cyclic["self"] = cyclic

/** Values that cannot be read. */
const unreadable: ReadonlyArray<unknown> = [
  {
    get total() {
      return throwing()
    }
  },
  { total: new Proxy({}, traps) },
  new Proxy({}, traps),
  new Proxy([], { get: throwing }),
  revoked
]

const none: ReadonlyArray<unknown> = []

const hostile: ReadonlyArray<unknown> = [
  null,
  "abc",
  "",
  5,
  -1,
  1.5,
  Number.NaN,
  Infinity,
  true,
  -1n,
  Symbol("s"),
  () => 1,
  none,
  [[]],
  [5],
  {},
  { a: 1 },
  new Date(0),
  new Map([["a", 1]]),
  Object.create(null),
  Promise.resolve(1),
  cyclic,
  ...unreadable
]

const isWhole = (least: number) => (u: unknown) => Number.isInteger(u) && (u as number) >= least
const isText = (u: unknown) => typeof u === "string"
const isTexts = (u: unknown) => Array.isArray(u) && Array.from(u).every(isText)
const isTime = (u: unknown) => typeof u === "number" && u > 0
const isRecord = (u: unknown) =>
  (Object.getPrototypeOf(u ?? 1) === Object.prototype || Object.getPrototypeOf(u ?? 1) === null) &&
  u !== Object.prototype

/** By option: which of the hostile values it may be. */
const limits = {
  recursionLimit: isWhole(1),
  concurrency: isWhole(1),
  onFailure: () => false,
  superstepTimeout: isTime,
  runTimeout: isTime,
  before: isTexts,
  after: isTexts
}
const threadRun = {
  ...limits,
  durability: () => false,
  metadata: (u: unknown) => isRecord(u) && u !== cyclic,
  checkpoint: isText
}
const streamed = { modes: isTexts, subgraphs: (u: unknown) => u === true }

/** What a hostile value may be is asked of readable ones only. */
const may = (allows: (u: unknown) => boolean, value: unknown): boolean => {
  if (unreadable.includes(value)) return false
  return allows(value)
}

const stateOf = Effect.fnUntraced(function*(thread: { history: () => Call; state: () => Call }) {
  return JSON.stringify([yield* thread.history(), yield* thread.state()])
})

/** By method: how it is called, and its options. */
const methods = (thread: any) => {
  const input = { total: 1 }
  const pending = () => false
  return {
    invoke: [(options: unknown) => thread.invoke(input, options), { ...threadRun, pending }],
    start: [(options: unknown) => thread.start(input, options), { ...threadRun, key: isText }],
    resume: [(options: unknown) => thread.resume(Approve.reply(true), options), threadRun],
    continue: [(options: unknown) => thread.continue(options), { ...threadRun, path: isTexts }],
    stream: [
      (options: unknown) => collect(thread.stream(input, within({ modes: [] }, options))),
      { ...threadRun, ...streamed, pending }
    ],
    events: [
      (options: unknown) => collect(thread.events(input, within({ modes: [] }, options))),
      { ...threadRun, ...streamed, pending }
    ],
    state: [(options: unknown) => thread.state(options), { checkpoint: isText }],
    history: [(options: unknown) => thread.history(options), {
      before: isText,
      limit: isWhole(0),
      source: () => false,
      step: Number.isInteger,
      branch: Number.isInteger,
      metadata: threadRun.metadata
    }],
    diff: [(options: unknown) => thread.diff(within({ from: "nowhere" }, options)), { from: isText, to: isText }],
    update: [(options: unknown) => thread.update(input, options), { asNode: isText, checkpoint: isText }],
    updateAll: [(options: unknown) => thread.updateAll([[{ values: input }]], options), { checkpoint: isText }],
    fork: [(options: unknown) => thread.fork(undefined, options), { path: isTexts }]
  } as Record<string, readonly [(options: unknown) => Call, Record<string, (u: unknown) => boolean>]>
}

const within = (defaults: object, options: unknown) =>
  !unreadable.includes(options) && Object.getPrototypeOf(options ?? 1) === Object.prototype
    ? { ...defaults, ...options as object }
    : options

describe("options", () => {
  for (const method of Object.keys(methods(asking.thread("")))) {
    behaves(
      `a wrong option of ${method} is refused by name, and the thread stays as it is`,
      () =>
        Effect.gen(function*() {
          const thread = asking.thread("t")
          yield* Effect.flip(thread.invoke({ total: 1 }))
          const before = yield* stateOf(thread as never)
          const [call, options] = methods(thread)[method]!
          for (const [name, allows] of Object.entries(options)) {
            for (const value of hostile) {
              if (may(allows, value)) continue
              const error = yield* failureOf(call({ [name]: value }))
              assert.strictEqual(error?._tag, "InvalidArgument", `${method} ${name}: ${error?.message}`)
              assert.match((error as any).argument, new RegExp(`^(${name}\\b|options$)`))
            }
          }
          for (const value of [null, 5, "abc", true, none, Symbol("s"), ...unreadable.slice(2)]) {
            const error = yield* failureOf(call(value))
            assert.strictEqual(error?._tag, "InvalidArgument", `${method}: ${error?.message}`)
          }
          assert.strictEqual(yield* stateOf(thread as never), before)
        })
    )
  }

  behaves("a graph and a machine refuse wrong options of a run without a thread", () =>
    Effect.gen(function*() {
      const runs: ReadonlyArray<(options: any) => Call> = [
        (options) => plain.invoke({ total: 1 }, options),
        (options) => machine.invoke("a", options)
      ]
      const streams: ReadonlyArray<(options: any) => Call> = [
        (options) => collect(plain.stream({ total: 1 }, within({ modes: [] }, options) as any)),
        (options) => collect(machine.stream("a", within({ modes: [] }, options) as any))
      ]
      for (const call of [...runs, ...streams]) {
        const table = { ...limits, seed: isText, ...(streams.includes(call) ? streamed : {}) }
        for (const [name, allows] of Object.entries(table)) {
          for (const value of hostile) {
            if (may(allows, value)) continue
            const error = yield* failureOf(call({ [name]: value }))
            assert.strictEqual(error?._tag, "InvalidArgument", `${name}: ${error?.message}`)
          }
        }
        assert.strictEqual((yield* failureOf(call(null)))?._tag, "InvalidArgument")
      }
      assert.strictEqual(
        (yield* failureOf(collect(plain.stream({ total: 1 }, undefined as never))))?._tag,
        "InvalidArgument"
      )
    }))

  behaves(
    "a stream of an entrypoint fails with what cannot be read of its options, as that of a graph does",
    () =>
      Effect.gen(function*() {
        const double = Task.make("double", { input: Schema.Int, output: Schema.Int, run: (n) => n * 2 })
        const flow = Entrypoint.make("flow", { input: Schema.Int, output: Schema.Int, run: (n) => double(n) })
        const thread = flow.thread("t") as any
        const streams: ReadonlyArray<(options: any) => Stream.Stream<any, any, any>> = [
          (options) => flow.stream(1, options),
          (options) => thread.stream(1, options),
          (options) => thread.events(1, options)
        ]
        const modes = {
          get modes() {
            return throwing()
          }
        }
        for (const stream of streams) {
          for (const options of [modes, undefined, ...hostile, { modes: ["updates"], subgraphs: "no" }]) {
            assert.strictEqual((yield* failureOf(collect(stream(options))))?._tag, "InvalidArgument")
          }
          assert.strictEqual(
            (yield* failureOf(collect(stream(modes))))?.message,
            "options: it cannot be read: hands off"
          )
          for (const [subgraphs, count] of [[undefined, 2], [true, 2], [false, 1]] as const) {
            assert.strictEqual((yield* Stream.runCollect(stream({ modes: ["updates"], subgraphs }))).length, count)
          }
        }
      })
  )

  behaves("what is no list of effects fails typed where tasks are run at once", () =>
    Effect.gen(function*() {
      const message = (effects: unknown) => {
        const run = () => Task.all(effects as ReadonlyArray<Effect.Effect<number>>)
        const flow = Entrypoint.make("flow", { input: Schema.Int, output: Schema.Array(Schema.Int), run })
        return Effect.map(failureOf(flow.invoke(1)), (error) => `${error?._tag} ${error?.message}`)
      }
      assert.strictEqual(
        yield* message(undefined),
        "InvalidArgument effects: Expected a list of effects, got undefined"
      )
      assert.strictEqual(yield* message([5]), "InvalidArgument effects[0]: Expected an effect, got 5")
      assert.strictEqual(
        yield* message(Object.assign([Effect.succeed(1)], { length: 2 })),
        "InvalidArgument effects[1]: Expected an effect, got undefined"
      )
      for (const value of hostile) {
        if (value === none) continue
        assert.match(yield* message(value), /^InvalidArgument effects/)
        assert.match(yield* message([value]), /^InvalidArgument effects/)
      }
      const traps = new Proxy([Effect.succeed(1)], { get: throwing })
      assert.strictEqual(yield* message(traps), "InvalidArgument effects: it cannot be read: hands off")
    }))

  behaves("the text names the option, what is allowed, and what came", () =>
    Effect.gen(function*() {
      const thread = plain.thread("t") as any
      const message = (call: Call) => Effect.map(failureOf(call), (error) => error?.message)
      assert.strictEqual(
        yield* message(thread.invoke({ total: 1 }, { durability: "fast" })),
        "durability: Expected \"sync\" or \"async\" or \"exit\", got \"fast\""
      )
      assert.strictEqual(
        yield* message(plain.invoke({ total: 1 }, { recursionLimit: 0 })),
        "recursionLimit: Expected a whole number of at least 1, got 0"
      )
      assert.strictEqual(
        yield* message(thread.invoke({ total: 1 }, { metadata: { when: 1n } })),
        "metadata: Expected a record of JSON values, got {\"when\":1n}"
      )
      assert.strictEqual(
        yield* message(thread.stream({ total: 1 }, { modes: ["values", "debugg"] }).pipe(Stream.runDrain)),
        "modes[1]: Expected \"values\" | \"updates\" | \"custom\" | \"tasks\" | \"checkpoints\" | \"debug\" | \"lifecycle\", got \"debugg\""
      )
      assert.strictEqual(
        yield* message(thread.updateAll([[{ values: {}, asNode: 5 }]])),
        "supersteps[0][0].asNode: Expected a text, got 5"
      )
      assert.strictEqual(
        yield* message(thread.continue({ path: ["a"] })),
        "options: Expected a checkpoint beside the path, got {\"path\":[\"a\"]}"
      )
      assert.strictEqual(
        yield* message(thread.invoke({ total: 1 }, {
          get metadata() {
            return throwing()
          }
        })),
        "options: it cannot be read: hands off"
      )
      assert.strictEqual(yield* message(thread.invoke(unreadable[0])), "input: it cannot be read: hands off")
      const long = yield* message(thread.invoke({ total: 1 }, { durability: "x".repeat(100_000) }))
      assert.isBelow(long!.length, 600)
    }))

  behaves("metadata that is no JSON is refused before anything is stored", () =>
    Effect.gen(function*() {
      const thread = plain.thread("t") as any
      const shared = { a: 1 }
      for (
        const wrong of [undefined, 1n, Number.NaN, Infinity, new Date(0), () => 1, Symbol("s"), cyclic, new Map(), [
          undefined
        ]]
      ) {
        const error = yield* failureOf(thread.invoke({ total: 1 }, { metadata: { ok: shared, wrong } }))
        assert.strictEqual(error?._tag, "InvalidArgument")
        assert.strictEqual((yield* failureOf(thread.history()))?._tag, "UnknownThread")
      }
      const metadata = { shared, again: [shared, null], ["__proto__"]: { b: true }, deep: { list: [1, "a", false] } }
      yield* thread.invoke({ total: 1 }, { metadata })
      assert.deepStrictEqual((yield* thread.state()).metadata, JSON.parse(JSON.stringify(metadata)))
    }))

  behaves("a run keeps the metadata that it was given, whatever becomes of it meanwhile", () =>
    Effect.gen(function*() {
      const metadata: Record<string, unknown> = { user: "ann" }
      const graph = StateGraph.make(
        "graph",
        StateGraph.nodes(Count, {
          change: () => Effect.sync(() => void (metadata["user"] = 1n)),
          inner: plain
        }),
        { start: "change", edges: { change: "inner" } }
      )
      yield* (graph.thread("t") as any).invoke({ total: 1 }, { metadata })
      assert.deepStrictEqual((yield* graph.thread("t").state()).metadata, { user: "ann" })
    }))

  behaves("a breakpoint that is no node opens no branch inside a subgraph", () =>
    Effect.gen(function*() {
      const graph = StateGraph.make("graph", StateGraph.nodes(Count, { inner: plain }), { start: "inner" })
      const thread = graph.thread("t")
      yield* thread.invoke({ total: 1 })
      const [inner] = yield* thread.at(["inner"]).history()
      const before = yield* stateOf(thread as never)
      const wrong = thread.continue({ checkpoint: inner!.checkpoint, path: ["inner"], before: ["nobody" as never] })
      assert.strictEqual((yield* failureOf(wrong))?._tag, "UnknownNode")
      assert.strictEqual(yield* stateOf(thread as never), before)
    }))

  behaves("a key under which a graph is called is a text", () =>
    Effect.gen(function*() {
      for (const value of hostile) {
        if (isText(value)) continue
        const graph = StateGraph.make(
          "graph",
          StateGraph.nodes(Count, { inner: (state) => plain.call({ total: state.total }, { key: value as never }) }),
          { start: "inner" }
        )
        assert.strictEqual(
          (yield* failureOf(graph.thread(`t${hostile.indexOf(value)}`).invoke({ total: 1 })))?._tag,
          "InvalidArgument"
        )
      }
    }))

  behaves("an endless time limit is none", () =>
    Effect.gen(function*() {
      for (const runTimeout of [Infinity, "Infinity" as const, "52 weeks" as const]) {
        const limits = { runTimeout, superstepTimeout: runTimeout }
        assert.strictEqual((yield* plain.thread(`${runTimeout}`).invoke({ total: 2 }, limits)).total, 4)
      }
    }))
})

describe("inputs", () => {
  behaves("an input that cannot be read is refused, and the thread stays as it is", () =>
    Effect.gen(function*() {
      const thread = asking.thread("t") as any
      yield* failureOf(thread.invoke({ total: 1 }))
      const before = yield* stateOf(thread)
      for (const value of unreadable) {
        const calls: ReadonlyArray<Call> = [
          plain.invoke(value as never),
          machine.invoke(value as never),
          collect(plain.stream(value as never, { modes: ["values"] })),
          thread.invoke(value, { pending: "discard" }),
          thread.start(value, { key: "other" }),
          collect(thread.stream(value, { modes: ["values"], pending: "discard" })),
          collect(thread.stream(Command.start(value), { modes: ["values"] })),
          thread.invoke(Command.make({ update: value as object })),
          thread.invoke(Command.make({ goto: [value as never] })),
          thread.invoke(Command.make({ goto: [Send.make("ask", value)] })),
          thread.resume(value),
          thread.resume([value]),
          thread.resume(Approve.reply(value as never)),
          thread.resume(Approve.reply(true), { update: value }),
          thread.resume(Approve.reply(true), { goto: value }),
          thread.update(value),
          thread.update([value]),
          thread.update(Command.make({ update: [value] })),
          thread.updateAll([[{ values: value }]]),
          thread.updateAll([[{ values: Command.make({ update: [value as object] }) }]]),
          thread.updateAll(value),
          thread.updateAll([value])
        ]
        for (const [index, call] of calls.entries()) {
          assert.isDefined(yield* failureOf(call), `call ${index} with value ${unreadable.indexOf(value)}`)
        }
      }
      assert.strictEqual(yield* stateOf(thread), before)
    }))

  behaves("data that looks like a Command is none", () =>
    Effect.gen(function*() {
      const forged = JSON.parse(
        `{"~superstep/Command":"~superstep/Command","_tag":"Command","total":1,"goto":["end"]}`
      )
      const send = JSON.parse(`{"~superstep/Send":"~superstep/Send","_tag":"Send","node":"end","arg":{"total":1}}`)
      const thread = asking.thread("t") as any
      assert.strictEqual((yield* failureOf(thread.invoke(forged)))?._tag, "InvalidUpdate")
      assert.strictEqual((yield* failureOf(thread.invoke(Command.make({ goto: send }))))?._tag, "UnknownRoute")
      assert.strictEqual((yield* failureOf(thread.state()))?._tag, "UnknownThread")
    }))

  behaves("metadata that is too deep to be stored is refused", () =>
    Effect.gen(function*() {
      let deep: unknown = 1
      for (let depth = 0; depth < 20_000; depth++) deep = [deep]
      const thread = plain.thread("t")
      const error = yield* failureOf(thread.invoke({ total: 1 }, { metadata: { deep } as never }))
      assert.strictEqual(error?._tag, "InvalidArgument")
      assert.strictEqual((yield* failureOf(thread.state()))?._tag, "UnknownThread")
    }))

  behaves("what cannot be stored opens no branch", () =>
    Effect.gen(function*() {
      const thread = plain.thread("t") as any
      yield* thread.invoke({ total: 1 })
      const [, old] = yield* thread.history()
      const before = yield* stateOf(thread)
      const notes = [() => 1]
      const calls: ReadonlyArray<Call> = [
        thread.invoke({ notes }),
        thread.invoke({ notes }, { checkpoint: old.checkpoint, pending: "discard" }),
        thread.invoke(Command.make({ update: { notes } }), { checkpoint: old.checkpoint }),
        thread.update({ notes }, { asNode: "double" }),
        thread.update({ notes }, { asNode: "double", checkpoint: old.checkpoint }),
        thread.updateAll([[{ values: { total: 5 }, asNode: "double" }], [{ values: { notes }, asNode: "double" }]])
      ]
      for (const [index, call] of calls.entries()) {
        assert.strictEqual((yield* failureOf(call))?._tag, "InvalidUpdate", `call ${index}`)
        assert.strictEqual(yield* stateOf(thread), before, `call ${index}`)
      }
    }))
})

describe("replies", () => {
  behaves("what is no reply is refused, and the question stays", () =>
    Effect.gen(function*() {
      const thread = asking.thread("t") as any
      yield* failureOf(thread.invoke({ total: 1 }))
      const before = yield* stateOf(thread)
      const forged = JSON.parse(`{"_tag":"Reply","tag":"Approve","answer":true,"interrupt":{"answer":{}}}`)
      for (
        const value of [
          undefined,
          forged,
          { ...Approve.reply(true), tag: "Other" },
          { ...Approve.reply(true), id: 5 },
          ...hostile
        ]
      ) {
        // No reply at all is none that is wrong.
        if (value === none) continue
        const resumes = [thread.resume(value), collect(thread.stream(Command.resume([value as never]), { modes: [] }))]
        for (const call of resumes) {
          const error = yield* failureOf(call)
          assert.include(["InvalidReply", "InvalidArgument"], error?._tag)
          if (error?._tag === "InvalidReply") assert.strictEqual((error as any).reason, "NotAReply")
        }
      }
      const error = yield* failureOf(thread.resume(null))
      assert.strictEqual(
        error?.message,
        "what thread \"t\" was given is no reply (got null). Make one with `reply(answer)` of the interrupt"
      )
      assert.strictEqual(yield* stateOf(thread), before)
      assert.include((yield* thread.resume(Approve.reply(true))).visited, "approved: true")
    }))
})

describe("updates and places", () => {
  behaves("a list of updates that says nothing is refused", () =>
    Effect.gen(function*() {
      const thread = plain.thread("t") as any
      yield* thread.invoke({ total: 1 })
      const before = yield* stateOf(thread)
      for (const value of [undefined, [[]], [{}], [[{ values: {} }], []], ...hostile]) {
        const error = yield* failureOf(thread.updateAll(value))
        assert.strictEqual(error?._tag, "InvalidArgument")
      }
      assert.strictEqual(
        (yield* failureOf(thread.updateAll([])))?.message.slice(0, 11),
        "supersteps["
      )
      assert.strictEqual(yield* stateOf(thread), before)
    }))

  behaves("a path that is none and a graph that is none are refused", () =>
    Effect.gen(function*() {
      const thread = plain.thread("t") as any
      yield* thread.invoke({ total: 1 })
      const before = yield* stateOf(thread)
      for (const value of [undefined, ...hostile]) {
        for (
          const part of [
            may(isTexts, value) ? thread.at(5) : thread.at(value),
            value === undefined ? thread.at(5) : thread.at([], value)
          ]
        ) {
          for (const call of [part.state(), part.history(), part.update({})]) {
            assert.strictEqual((yield* failureOf(call))?._tag, "InvalidArgument")
          }
        }
        if (value !== undefined && !isText(value)) {
          assert.strictEqual((yield* failureOf(thread.fork(value)))?._tag, "InvalidArgument")
        }
      }
      assert.strictEqual(yield* stateOf(thread), before)
    }))

  behaves("an id that names no thread is refused by every method", () =>
    Effect.gen(function*() {
      for (const value of [undefined, "", "x".repeat(513), ...hostile.filter((value) => !isText(value))]) {
        const thread = plain.thread(value as never) as any
        const calls: ReadonlyArray<Call> = [
          ...Object.values(methods(thread)).map(([call]) => call(undefined)).slice(0, 4),
          collect(thread.stream({ total: 1 }, { modes: [] })),
          thread.state(),
          thread.history(),
          thread.update({}),
          thread.updateAll([[{ values: {} }]]),
          thread.fork(),
          thread.fork("c", { path: ["a"] }),
          thread.continue({ checkpoint: "c", path: ["a"] }),
          thread.at(["a"]).state(),
          thread.delete
        ]
        for (const call of calls) {
          const error = yield* failureOf(call)
          assert.strictEqual(error?._tag, "InvalidArgument")
          assert.include(error?.message, "thread: an id is a text of 1 to 512 characters, not ")
        }
      }
    }))
})

describe("anything", () => {
  const calls = (thread: any): ReadonlyArray<(a: unknown, b: unknown) => Call> => [
    (a, b) => thread.invoke(a, b),
    (a, b) => thread.invoke({ total: a }, b),
    (a, b) => thread.invoke({ visited: [a], notes: [b] }, { pending: "discard" }),
    (a, b) => thread.start(a, b),
    (a, b) => thread.resume(a, b),
    (a, b) => thread.resume(Approve.reply(a as never), { update: b }),
    (a, b) => thread.resume(Approve.reply(true, { id: a as never }), { goto: b }),
    (a, b) => thread.continue({ checkpoint: a, path: b }),
    (a, b) => collect(thread.stream(a, b)),
    (a, b) => collect(thread.stream({ total: 1 }, { modes: [a], subgraphs: b })),
    (a, b) => collect(thread.events(a, { modes: ["values"], metadata: b })),
    (a, b) => thread.state({ checkpoint: a, b }),
    (a, b) => thread.history({ before: a, metadata: b }),
    (a, b) => thread.diff({ from: a, to: b }),
    (a, b) => thread.update(a, b),
    (a, b) => thread.update(a, { asNode: "double", checkpoint: b }),
    (a, b) => thread.update(Command.make({ update: a as object, goto: [b as never] }), { asNode: "end" }),
    (a, b) => thread.updateAll(a, b),
    (a, b) => thread.updateAll([[{ values: a, asNode: b }]]),
    (a, b) => thread.fork(a, b),
    (a, b) => thread.at(a, b).state(),
    (a, b) => thread.at([a]).update(b),
    (a, b) => plain.invoke(a as never, b as never),
    (a, b) => machine.invoke(a as never, b as never),
    (a, b) => collect(machine.stream(a as never, b as never)),
    (a, b) => (machine.thread("m") as any).invoke(a, { metadata: b }),
    (a, b) => (machine.thread("m") as any).update(a, { asNode: b })
  ]
  // In a function: fast-check looks into the values that it makes.
  const value = fc.oneof(
    fc.nat(hostile.length).map((index) => () => hostile[index]),
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, maxDepth: 3 })
      .map((value) => () => value)
  )

  behaves("whatever a call is given, it never dies, and the thread can be read after it", () =>
    Effect.gen(function*() {
      const context = yield* Effect.context<Checkpointer.Checkpointer>()
      let count = 0
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.nat(calls(undefined).length - 1), value, value, async (which, a, b) => {
            const thread = asking.thread(`t${count++}`) as any
            const body = Effect.gen(function*() {
              yield* failureOf(thread.invoke({ total: 1 }))
              const before = yield* stateOf(thread)
              const error = yield* failureOf(calls(thread)[which]!(a(), b()))
              const after = yield* stateOf(thread)
              if (["InvalidArgument", "InvalidReply", "InvalidUpdate"].includes(error?._tag ?? "")) {
                assert.strictEqual(after, before)
              }
            })
            await Effect.runPromiseWith(context)(body)
          }),
          { numRuns: 300 }
        )
      )
    }), 60_000)
})

describe("nodes", () => {
  behaves("a node that returns a Promise is told so, and a rejection of it ends nothing", () =>
    Effect.gen(function*() {
      const bodies: ReadonlyArray<unknown> = [
        async () => ({ total: 1 }),
        () => Promise.reject(new Error("rejected")),
        () => Effect.succeed(Promise.reject(new Error("rejected"))),
        Node.make({ input: Count, run: (() => Promise.reject(new Error("rejected"))) as never }),
        Node.make({
          input: Count,
          run: () => Effect.fail("no"),
          onError: (() => Promise.reject(new Error("rejected"))) as never
        })
      ]
      for (const body of bodies) {
        const graph = StateGraph.make(
          "graph",
          { state: Count, bodies: { late: body } } as never,
          { start: "late" } as never
        )
        const thread = (graph as any).thread("t")
        const exit = yield* Effect.exit(thread.invoke({ total: 1 }) as Call)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.include(
          String(Cause.squash((exit as Exit.Failure<never, never>).cause)),
          "node \"late\" returned a Promise"
        )
        assert.deepStrictEqual((yield* thread.state()).next, ["late"])
        yield* thread.delete
      }
      yield* Effect.sleep("20 millis")
    }))
})

describe("layers", () => {
  it.live("a SQLite file that cannot be meant is refused", () =>
    Effect.gen(function*() {
      for (const value of [{}, { filename: 5 }, { filename: null }, { filename: ":memory:", synchronous: "SOON" }]) {
        const built = Effect.scoped(Layer.build(SqlCheckpointer.layerSqlite(value as never)))
        assert.strictEqual((yield* failureOf(built))?._tag, "CheckpointError")
      }
      const wrong: ReadonlyArray<unknown> = [
        undefined,
        null,
        {},
        { filename: 5 },
        { filename: ":memory:", synchronous: "SOON" },
        { filename: ":memory:", readonly: "no" },
        { filename: ":memory:", busyTimeoutMillis: -1 },
        { filename: ":memory:", busyTimeoutMillis: Number.NaN },
        { filename: ":memory:", disableWAL: 1 },
        { filename: ":memory:", prepareCacheSize: 1.5 }
      ]
      for (const value of wrong) {
        const built = Effect.scoped(Layer.build(SqliteClient.layer(value as never)))
        assert.strictEqual((yield* failureOf(built))?._tag, "SqlError")
      }
    }))

  it.live("a saver that fails with no object ends a run with a failure", () =>
    Effect.gen(function*() {
      const memory = yield* Checkpointer.makeMemory
      const saver = { ...memory, commit: () => Effect.fail("boom" as never) }
      const exit = yield* Effect.exit(
        Effect.provideService(plain.thread("t").invoke({ total: 1 }), Checkpointer.Checkpointer, saver)
      )
      assert.isTrue(Exit.isFailure(exit) && !Cause.hasDies(exit.cause))
    }))
})

describe("definitions", () => {
  it("a wrong option of a graph is an error that names it", () => {
    const make = (options: unknown) => () =>
      StateGraph.make(
        "g",
        StateGraph.nodes(Count, { double: () => ({ total: 1 }) }),
        { start: "double" },
        options as never
      )
    const table: ReadonlyArray<readonly [string, unknown]> = [
      ["recursionLimit", 0],
      ["recursionLimit", Number.NaN],
      ["concurrency", 0.5],
      ["onFailure", "stop"],
      ["superstepTimeout", "soon"],
      ["runTimeout", -1],
      ["before", "double"],
      ["version", 5],
      ["retry", 3],
      ["retry", [{}]]
    ]
    for (const [name, value] of table) assert.throws(make({ [name]: value }), name)
    assert.throws(make({ timeout: "soon" }), "an attempt timeout must be a duration")
    assert.throws(make({ timeout: null }), "an attempt timeout must be a duration")
    assert.throws(make(null), "options")
  })
})
