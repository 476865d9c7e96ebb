/**
 * Graphs whose threads are kept in the form in which a format stored them. They may grow; what they have must stay, as a thread of today has to
 * find it.
 */
import { Effect, Option, Schema } from "effect"
import { Channel, type Checkpointer, Command, END, Interrupt, Node, Send, State, StateGraph } from "superstep"

export class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
export class Down extends Schema.TaggedError<Down>()("Down", {}) {}

/** Set while a thread is written, so that some of its tasks fail. */
export const world = { isDown: false }

const text = Schema.String

/** A channel of each rule, with values that are no plain JSON. */
class Kinds extends State.make({
  last: Channel.lastValue(Schema.Date, { initial: () => new Date(0) }),
  sum: Channel.reducer({ value: Schema.BigInt, initial: () => 0n, reduce: (a, b) => a + b }),
  append: Channel.append(Schema.Option(Schema.Int)),
  delta: Channel.delta({
    value: Schema.Array(text),
    initial: () => [],
    reduce: (
      state: ReadonlyArray<string>,
      updates: ReadonlyArray<ReadonlyArray<string>>
    ) => [...state, ...updates.flat()],
    snapshotFrequency: 4
  }),
  topic: Channel.topic(text, { accumulate: true, unique: true }),
  flash: Channel.topic(text),
  any: Channel.anyValue(Schema.Int),
  once: Channel.ephemeral(Schema.Int),
  near: Channel.untracked<string>(),
  map: Channel.lastValue(Schema.ReadonlyMap(text, Schema.Int), { initial: () => new Map() }),
  n: Channel.lastValue(Schema.Int, { initial: () => 0 })
}) {}

export const kinds = StateGraph.make(
  "kinds",
  StateGraph.nodes(Kinds, {
    write: ({ n }) => ({
      n: n + 1,
      last: new Date(n * 1000),
      sum: BigInt(n),
      append: n === 3 ? Channel.overwrite([]) : [n % 2 === 0 ? Option.none() : Option.some(n)],
      delta: n === 5 ? Channel.overwrite(["again"]) : [`d${n}`],
      topic: [`t${n % 3}`],
      flash: `f${n}`,
      any: n,
      ...(n % 2 === 0 ? { once: n } : {}),
      near: "near",
      map: new Map([["__proto__", n], ["\"\\\u0000é😀", -n]])
    })
  }),
  { start: "write", edges: { write: StateGraph.route(["write", END], ({ n }) => n % 8 === 0 ? END : "write") } }
)

class Log extends State.make({ log: Channel.append(text) }) {}

const kept = StateGraph.make(
  "kept",
  StateGraph.nodes(Log, {
    note: ({ log }) => ({ log: [`note ${log.length}`] }),
    ask: ({ log }) => Effect.map(Ask.ask(`kept ${log.length}?`), (answer) => ({ log: [answer] }))
  }),
  { start: "note", edges: { note: "ask" } },
  { persistence: "thread" }
)
const deep = StateGraph.make("deep", StateGraph.nodes(Log, { kept, after: () => ({ log: ["after"] }) }), {
  start: "kept",
  edges: { kept: "after" }
})

/** Graphs inside tasks: as nodes, two levels deep, called by order and by key, started by Sends. */
export const nested = StateGraph.make(
  "nested",
  StateGraph.nodes(Log, {
    deep,
    calls: Effect.fnUntraced(function*() {
      const one = yield* kept.call({ log: ["one"] })
      const two = yield* kept.call({ log: ["two"] }, { key: "k|~\"" })
      return { log: [`called ${one.log.length} ${two.log.length}`] }
    }),
    each: Node.make({
      input: Log,
      run: ({ log }) => Effect.map(Ask.ask(`each ${log.join()}`), (answer) => ({ log: [answer] }))
    })
  }),
  {
    start: "deep",
    edges: {
      deep: StateGraph.route(
        ["calls", "each"],
        () => ["calls", Send.make("each", { log: ["a"] }), Send.make("each", { log: ["b"] })]
      )
    }
  }
)

/** Half-finished supersteps: failed, paused and finished siblings, a join that waits, a deferred node. */
export const halves = StateGraph.make(
  "halves",
  StateGraph.nodes(Log, {
    done: () => ({ log: ["done"] }),
    fails: () => world.isDown ? new Down() : Effect.succeed({ log: ["up"] }),
    asks: Effect.fnUntraced(function*() {
      const first = yield* Ask.ask("first?", { key: "1" }).pipe(Effect.result)
      const second = yield* Ask.ask("second?", { key: "2" })
      return { log: [`${first._tag === "Success" ? first.success : "?"} ${second}`] }
    }),
    joined: () => ({ log: ["joined"] }),
    late: Node.make({ input: Log, defer: true, run: () => Effect.succeed({ log: ["late"] }) })
  }),
  {
    start: ["done", "fails", "asks", "late"],
    edges: {
      done: StateGraph.join("joined"),
      fails: StateGraph.join("joined"),
      asks: StateGraph.join("joined")
    }
  },
  { onFailure: "settle" }
)

type Run = Effect.Effect<unknown, unknown, Checkpointer.Checkpointer>

/** How each thread that is kept has come about, and what it does when it is found again. */
export const threads: Readonly<
  Record<string, { readonly make: Run; readonly goOn: Run; readonly read: (id: string) => Run }>
> = (() => {
  const history = (graph: { readonly thread: (id: string) => { readonly history: () => Run } }) => (id: string) =>
    graph.thread(id).history()
  const kindsOf = (durability: "sync" | "exit") => {
    const thread = kinds.thread(`kinds in ${durability}`)
    return {
      make: Effect.andThen(
        thread.invoke({ map: new Map([["in", 1]]) }, { durability, metadata: { user: "ada" } }),
        thread.invoke({}, { durability })
      ),
      goOn: thread.invoke({}),
      read: history(kinds)
    }
  }
  const paused = nested.thread("nested, paused")
  const answered = nested.thread("nested, some answered")
  const answers = Effect.fnUntraced(function*(thread: typeof answered, count: number) {
    const { requests } = yield* thread.state()
    return requests.slice(0, count).map(({ id, payload }) => Ask.reply(`to ${payload}`, { id }))
  })
  const untilDone = Effect.fnUntraced(function*(thread: typeof answered) {
    for (;;) {
      const replies = yield* answers(thread, 9)
      const exit = yield* Effect.result(replies.length === 0 ? thread.continue() : thread.resume(replies))
      if (exit._tag === "Success") return exit.success
    }
  })
  const half = halves.thread("halves")
  const branched = halves.thread("branched")
  return {
    "kinds-sync": kindsOf("sync"),
    "kinds-exit": kindsOf("exit"),
    "nested-paused": {
      make: Effect.flip(paused.start({ log: ["in"] }, { key: "first" })),
      goOn: untilDone(paused),
      read: history(nested)
    },
    "nested-answered": {
      make: Effect.gen(function*() {
        yield* Effect.flip(answered.invoke({ log: ["in"] }))
        yield* Effect.flip(answered.resume(yield* answers(answered, 1)))
        yield* Effect.flip(answered.resume(yield* answers(answered, 2)))
      }),
      goOn: untilDone(answered),
      read: history(nested)
    },
    "halves": {
      make: Effect.gen(function*() {
        world.isDown = true
        yield* Effect.flip(half.invoke({ log: ["in"] }))
        const [request] = (yield* half.state()).requests
        yield* Effect.flip(half.resume(Ask.reply("yes", { id: request!.id }), { update: { log: ["by command"] } }))
        world.isDown = false
      }),
      goOn: Effect.gen(function*() {
        const replies = (yield* half.state()).requests.map(({ id }) => Ask.reply("late yes", { id }))
        return yield* half.resume(replies)
      }),
      read: history(halves)
    },
    "branched": {
      make: Effect.gen(function*() {
        yield* Effect.flip(branched.invoke({}))
        yield* branched.update({ log: ["by hand"] }, { asNode: "fails" })
        const [, before] = yield* branched.history()
        yield* branched.fork(before!.checkpoint)
        yield* Effect.flip(branched.invoke(Command.make({ goto: Send.make("late", { log: [] }) })))
      }),
      goOn: Effect.gen(function*() {
        const replies = (yield* branched.state()).requests.map(({ id }) => Ask.reply("y", { id }))
        return yield* branched.resume(replies)
      }),
      read: history(halves)
    }
  }
})()
