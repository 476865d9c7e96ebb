/** Reading and updating threads that stand at a breakpoint or a question, with graphs inside and with Sends. */
import { assert } from "@effect/vitest"
import { Effect, JsonPatch, Schema } from "effect"
import {
  Channel,
  type Checkpoint,
  Checkpointer,
  Command,
  END,
  GraphError,
  Interrupt,
  Node,
  Send,
  State,
  StateGraph
} from "superstep"
import { collect, paused, payloads, recorded } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
class My extends State.make({
  my_key: Channel.lastValue(Schema.String, { initial: () => "" }),
  other: Channel.lastValue(Schema.String, { initial: () => "" })
}) {}
class Inner extends State.make({
  my_key: Channel.lastValue(Schema.String, { initial: () => "" }),
  own: Channel.lastValue(Schema.String, { initial: () => "" })
}) {}

type Snapshots = ReadonlyArray<Checkpoint.Snapshot<unknown>>
const shapes = (snapshots: Snapshots) =>
  snapshots.map(({ next, source, step, values }) => [step, source, next.join(","), values])

const nested = () => {
  const inner = StateGraph.make(
    "inner",
    StateGraph.nodes(Inner, {
      inner_1: (s) => ({ my_key: `${s.my_key} here`, own: s.my_key }),
      inner_2: (s) => ({ my_key: `${s.my_key} and there`, own: s.my_key })
    }),
    { start: "inner_1", edges: { inner_1: "inner_2" } },
    { before: ["inner_2"] }
  )
  return StateGraph.make(
    "outer",
    StateGraph.nodes(My, {
      outer_1: (s) => ({ my_key: `hi ${s.my_key}` }),
      inner,
      outer_2: (s) => ({ my_key: `${s.my_key} and back again` })
    }),
    { start: "outer_1", edges: { outer_1: "inner", inner: "outer_2" } }
  )
}

behaves(
  "LG#88 a thread that stands inside a graph: its state, the state inside, and both histories",
  () =>
    Effect.gen(function*() {
      const thread = nested().thread("t")
      assert.strictEqual((yield* Effect.flip(thread.invoke({ my_key: "my value" })))._tag, "GraphBreakpoint")
      const outer = yield* thread.state()
      assert.deepStrictEqual([outer.values, outer.next, outer.tasks.map(({ graphs, id }) => [id, graphs])], [
        { my_key: "hi my value", other: "" },
        ["inner"],
        [["pull:inner", [["inner"]]]]
      ])
      const part = thread.at(outer.tasks[0]!.graphs[0]!)
      const inner = yield* part.state()
      assert.deepStrictEqual([inner.values, inner.next, inner.path, inner.step, inner.source], [
        { my_key: "hi my value here", own: "hi my value" },
        ["inner_2"],
        ["inner"],
        1,
        "loop"
      ])
      assert.deepStrictEqual(shapes(yield* part.history()), [
        [1, "loop", "inner_2", { my_key: "hi my value here", own: "hi my value" }],
        [0, "loop", "inner_1", { my_key: "hi my value", own: "" }],
        [-1, "input", "__start__", { my_key: "", own: "" }]
      ])
      assert.deepStrictEqual(
        yield* part.state({ checkpoint: (yield* part.history())[1]!.checkpoint }),
        (yield* part.history())[1]
      )
      assert.deepStrictEqual(yield* thread.continue(), {
        my_key: "hi my value here and there and back again",
        other: ""
      })
      assert.deepStrictEqual(shapes(yield* thread.history()), [
        [3, "loop", "", { my_key: "hi my value here and there and back again", other: "" }],
        [2, "loop", "outer_2", { my_key: "hi my value here and there", other: "" }],
        [1, "loop", "inner", { my_key: "hi my value", other: "" }],
        [0, "loop", "outer_1", { my_key: "my value", other: "" }],
        [-1, "input", "__start__", { my_key: "", other: "" }]
      ])
      // When its task is done, the graph inside is read where it ended.
      const done = yield* part.state()
      assert.deepStrictEqual([done.values, done.next, done.step], [
        { my_key: "hi my value here and there", own: "hi my value here" },
        [],
        2
      ])
      assert.deepStrictEqual(shapes(yield* part.history({ limit: 1 })), [[2, "loop", "", done.values]])
    })
)

behaves("LG#88 two levels down it is the same, level by level", () =>
  Effect.gen(function*() {
    const leaf = StateGraph.make(
      "leaf",
      StateGraph.nodes(Inner, {
        leaf_1: (s) => ({ my_key: `${s.my_key} here` }),
        leaf_2: (s) => ({ my_key: `${s.my_key} and there` })
      }),
      { start: "leaf_1", edges: { leaf_1: "leaf_2" } },
      { before: ["leaf_2"] }
    )
    const child = StateGraph.make("child", StateGraph.nodes(My, { child_1: leaf }), { start: "child_1" })
    const graph = StateGraph.make(
      "parent",
      StateGraph.nodes(My, { parent_1: (s) => ({ my_key: `hi ${s.my_key}` }), child }),
      {
        start: "parent_1",
        edges: { parent_1: "child" }
      }
    )
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({ my_key: "my value" }))
    const views = yield* Effect.forEach([[], ["child"], ["child", "child_1"]], (path) =>
      path.length === 0 ? thread.state() : thread.at(path).state())
    assert.deepStrictEqual(
      views.map(({ next, path, tasks, values }) => [
        path,
        values["my_key"],
        next,
        tasks.map(({ graphs }) =>
          graphs
        )
      ]),
      [
        [[], "hi my value", ["child"], [[["child"]]]],
        [["child"], "hi my value", ["child_1"], [[["child", "child_1"]]]],
        [["child", "child_1"], "hi my value here", ["leaf_2"], [[]]]
      ]
    )
    yield* thread.at(["child", "child_1"]).update({ my_key: "by hand" }, { asNode: "leaf_1" })
    assert.deepStrictEqual(yield* thread.continue(), { my_key: "by hand and there", other: "" })
  }))

// ---------------------------------------------------------------------------
// Sends
// ---------------------------------------------------------------------------

class Jokes extends State.make({
  subjects: Channel.append(Schema.String),
  subject: Channel.lastValue(Schema.String, { initial: () => "" }),
  jokes: Channel.append(Schema.String)
}) {}
class Joke
  extends State.make({ subject: Schema.String, jokes: Channel.append(Schema.String) }, { output: ["jokes"] })
{}

behaves(
  "LG#89 Sends to a graph that stops: each has a state of its own, and one can be updated before all go on",
  () =>
    Effect.gen(function*() {
      const tell = StateGraph.make(
        "tell",
        StateGraph.nodes(Joke, {
          edit: (s) => ({ subject: `${s.subject} - hohoho` }),
          generate: (s) => ({ jokes: [`Joke about ${s.subject}`] })
        }),
        { start: "edit", edges: { edit: "generate" } },
        { before: ["generate"] }
      )
      const graph = StateGraph.make("jokes", StateGraph.nodes(Jokes, { generate_joke: tell }), {
        start: StateGraph.route(
          ["generate_joke"],
          (s) => s.subjects.map((subject) => Send.make("generate_joke", { subject }))
        )
      })
      const thread = graph.thread("t")
      assert.strictEqual(
        (yield* Effect.flip(thread.invoke({ subjects: ["cats", "dogs"] }, { onFailure: "settle" })))._tag,
        "GraphBreakpoint"
      )
      const state = yield* thread.state()
      assert.deepStrictEqual(state.next, ["generate_joke", "generate_joke"])
      const paths = state.tasks.flatMap(({ graphs }) => graphs)
      assert.deepStrictEqual(paths, [["generate_joke:0"], ["generate_joke:1"]])
      const inside = yield* Effect.forEach(paths, (path) => thread.at(path).state())
      assert.deepStrictEqual(inside.map(({ next, values }) => [values["subject"], next]), [["cats - hohoho", [
        "generate"
      ]], ["dogs - hohoho", ["generate"]]])
      yield* thread.at(paths[1]!).update({ subject: "turtles - hohoho" })
      assert.deepStrictEqual((yield* thread.continue()).jokes, [
        "Joke about cats - hohoho",
        "Joke about turtles - hohoho"
      ])
    })
)

class Messages extends State.make({
  calls: Channel.lastValue(Schema.Array(Schema.String), { initial: () => [] }),
  log: Channel.append(Schema.String)
}) {}

behaves(
  "LG#90 a node updated while its Sends wait chooses anew; what it had sent before waits too, until it is ended",
  () =>
    Effect.gen(function*() {
      const graph = () =>
        StateGraph.make(
          "react",
          StateGraph.nodes(Messages, {
            agent: () => ({ calls: ["hi"] }),
            foo: Node.make({
              input: Schema.Struct({ call: Schema.String }),
              run: ({ call }) => Effect.succeed({ log: [`foo ${call}`] })
            })
          }),
          {
            start: "agent",
            edges: {
              agent: StateGraph.route(
                ["foo", END],
                (s) => s.calls.length === 0 ? END : s.calls.map((call) => Send.make("foo", { call }))
              )
            }
          },
          { before: ["foo"] }
        )
      const thread = graph().thread("changed")
      yield* Effect.flip(thread.invoke({}))
      assert.deepStrictEqual((yield* thread.state()).next, ["foo"])
      // Ended first, the new choice is the only one.
      yield* thread.update(undefined, { asNode: END })
      yield* thread.update({ calls: ["changed"] }, { asNode: "agent" })
      assert.deepStrictEqual((yield* thread.state()).next, ["foo"])
      assert.deepStrictEqual((yield* thread.continue()).log, ["foo changed"])
      // From the checkpoint before the agent, without calls, nothing is sent.
      const back = (yield* thread.history()).find(({ next }) => next.join() === "agent")!
      yield* thread.update({ calls: [] }, { asNode: "agent", checkpoint: back.checkpoint })
      assert.deepStrictEqual((yield* thread.state()).next, [])
      // Acting as the agent once more, beside what it has sent: both are done.
      const twice = graph().thread("twice")
      yield* Effect.flip(twice.invoke({}))
      yield* twice.update({ calls: ["more"] }, { asNode: "agent" })
      assert.deepStrictEqual((yield* twice.state()).next, ["foo", "foo"])
      assert.deepStrictEqual((yield* twice.continue()).log, ["foo hi", "foo more"])
    })
)

// ---------------------------------------------------------------------------
// Routers and agents
// ---------------------------------------------------------------------------

class City extends State.make({
  query: Schema.String,
  city: Channel.lastValue(Schema.String, { initial: () => "" }),
  answer: Channel.lastValue(Schema.String, { initial: () => "" })
}) {}

behaves(
  "LG#91 a graph behind a router stops; updated inside as one of its nodes, or not, it goes on",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const weather = StateGraph.make(
        "weather",
        StateGraph.nodes(City, {
          model: () => {
            runs.push("model")
            return { city: "San Francisco" }
          },
          weather: (s) => {
            runs.push("weather")
            return { answer: `I'ts sunny in ${s.city}!` }
          }
        }),
        { start: "model", edges: { model: "weather" } },
        { before: ["weather"] }
      )
      const graph = StateGraph.make(
        "router",
        StateGraph.nodes(City, {
          router: () => Effect.void,
          weather_graph: weather,
          normal: () => ({ answer: "hello" })
        }),
        {
          start: "router",
          edges: {
            router: StateGraph.route(
              ["weather_graph", "normal"],
              (s) => s.query.includes("weather") ? "weather_graph" : "normal"
            )
          }
        }
      )
      const plain = graph.thread("plain")
      const first = yield* recorded(
        plain.stream({ query: "what's the weather" }, { modes: ["updates"], subgraphs: true })
      )
      assert.strictEqual(first.end, "GraphBreakpoint")
      const shown = (events: ReadonlyArray<unknown>) =>
        (events as ReadonlyArray<{ path: ReadonlyArray<string>; node: string; update: unknown }>).map((
          { node, path, update }
        ) => [[...path, node].join("/"), update])
      assert.deepStrictEqual(shown(first.events), [["router", undefined], ["weather_graph/model", {
        city: "San Francisco"
      }]])
      yield* plain.at(["weather_graph"]).update({ city: "la" })
      assert.deepStrictEqual((yield* plain.at(["weather_graph"]).state()).next, ["weather"])
      const second = yield* collect(plain.stream(Command.continue, { modes: ["updates"], subgraphs: true }))
      assert.deepStrictEqual(shown(second), [
        ["weather_graph/weather", { answer: "I'ts sunny in la!" }],
        ["weather_graph", { answer: "I'ts sunny in la!", city: "la" }]
      ])
      // As the node that it stops before: that node does not run.
      runs.length = 0
      const acted = graph.thread("acted")
      yield* Effect.flip(acted.invoke({ query: "what's the weather" }))
      yield* acted.at(["weather_graph"]).update({ answer: "by hand" }, { asNode: "weather" })
      assert.deepStrictEqual((yield* acted.continue()).answer, "by hand")
      assert.deepStrictEqual(runs, ["model"])
    })
)

class Agent extends State.make({
  input: Schema.String,
  outcome: Channel.lastValue(Schema.String, { initial: () => "" }),
  steps: Channel.append(Schema.String)
}) {}

behaves(
  "LG#92 an agent's loop that stops after each thought can be read, corrected and ended",
  () =>
    Effect.gen(function*() {
      const answers = ["tool:query", "tool:another", "finish:answer"]
      const graph = () => {
        let turn = 0
        return StateGraph.make(
          "agent",
          StateGraph.nodes(Agent, {
            agent: () => ({ outcome: answers[turn++]! }),
            tools: (s) => ({ steps: [`result for ${s.outcome.split(":")[1]}`] })
          }),
          {
            start: "agent",
            edges: {
              agent: StateGraph.route(["tools", END], (s) => s.outcome.startsWith("finish") ? END : "tools"),
              tools: "agent"
            }
          }
        )
      }
      const whole = graph().thread("whole")
      assert.deepStrictEqual(yield* whole.invoke({ input: "what is weather in sf" }), {
        input: "what is weather in sf",
        outcome: "finish:answer",
        steps: ["result for query", "result for another"]
      })
      assert.deepStrictEqual((yield* whole.history()).map(({ next, step }) => [step, next.join()]).toReversed(), [
        [-1, "__start__"],
        [0, "agent"],
        [1, "tools"],
        [2, "agent"],
        [3, "tools"],
        [4, "agent"],
        [5, ""]
      ])
      for (const breakpoint of [{ after: ["agent"] }, { before: ["tools"] }]) {
        const thread = graph().thread(Object.keys(breakpoint)[0]!)
        assert.strictEqual(
          (yield* Effect.flip(thread.invoke({ input: "weather" }, breakpoint)))._tag,
          "GraphBreakpoint"
        )
        const stopped = yield* thread.state()
        assert.deepStrictEqual([stopped.values.outcome, stopped.next, stopped.step, stopped.source], [
          "tool:query",
          ["tools"],
          1,
          "loop"
        ])
        // The thought is corrected: as the agent, which is who ran last.
        yield* thread.update({ outcome: "tool:a different query" })
        const updated = yield* thread.state()
        assert.deepStrictEqual([updated.values.outcome, updated.next, updated.step, updated.source], [
          "tool:a different query",
          ["tools"],
          2,
          "update"
        ])
        const events = yield* recorded(thread.stream(Command.continue, { modes: ["updates"], ...breakpoint }))
        assert.deepStrictEqual(
          events.events.map((event) => event.mode === "updates" ? [event.node, event.update] : []),
          [
            ["tools", { steps: ["result for a different query"] }],
            ["agent", { outcome: "tool:another" }]
          ]
        )
        // Corrected to the end, nothing is left.
        yield* thread.update({ outcome: "finish:a really nice answer" }, { asNode: "agent" })
        const last = yield* thread.state()
        assert.deepStrictEqual([last.values.outcome, last.next], ["finish:a really nice answer", ["tools"]])
        yield* thread.update(undefined, { asNode: END })
        assert.deepStrictEqual((yield* thread.state()).next, [])
        assert.deepStrictEqual((yield* thread.continue()).outcome, "finish:a really nice answer")
      }
    })
)

behaves("LG#92 a fan-out that stops, goes on as one", () =>
  Effect.gen(function*() {
    const say = (text: string) => () => ({ log: [text] })
    const graph = StateGraph.make(
      "fan",
      StateGraph.nodes(Log, { rewrite: say("rewrite"), one: say("one"), two: say("two"), qa: say("qa") }),
      { start: "rewrite", edges: { rewrite: ["one", "two"], one: StateGraph.join("qa"), two: StateGraph.join("qa") } }
    )
    const thread = graph.thread("t")
    const seen: Array<ReadonlyArray<string>> = []
    yield* Effect.flip(thread.invoke({}, { after: ["*"] }))
    for (let stops = 0; stops < 2; stops++) {
      seen.push((yield* thread.state()).next)
      if (stops < 1) yield* Effect.flip(thread.continue({ after: ["*"] }))
    }
    assert.deepStrictEqual(seen, [["one", "two"], ["qa"]])
    assert.deepStrictEqual(yield* thread.continue({ after: ["*"] }), { log: ["rewrite", "one", "two", "qa"] })
  }))

behaves(
  "L19 an update of a graph that asks inside: the answer by hand, another question, or a new start of its task",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          before: () => {
            runs.push("before")
            return { log: ["before"] }
          },
          ask: Effect.fnUntraced(function*(s) {
            runs.push("ask")
            return { log: [yield* Ask.ask(`after ${s.log.length}?`)] }
          })
        }),
        { start: "before", edges: { before: "ask" } }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, after: () => ({ log: ["after"] }) }), {
        start: "child",
        edges: { child: "after" }
      })
      const thread = graph.thread("t")
      const [old] = yield* paused(thread.invoke({}))
      yield* thread.at(["child"]).update({ log: ["noted"] }, { asNode: "before" })
      const state = yield* thread.state()
      assert.deepStrictEqual([state.next, state.requests], [["child"], []])
      runs.length = 0
      const [again] = yield* paused(thread.continue())
      assert.deepStrictEqual([again!.payload, runs], ["after 2?", ["ask"]])
      assert.notStrictEqual(again!.id, old!.id)
      yield* thread.at(["child"]).update({ log: ["by hand"] }, { asNode: "ask" })
      assert.deepStrictEqual(yield* thread.continue(), { log: ["before", "noted", "by hand", "after"] })
      assert.deepStrictEqual(payloads((yield* thread.state()).requests), [])
      // What is done is history: it cannot be updated.
      assert.strictEqual((yield* Effect.flip(thread.at(["child"]).update({ log: ["late"] })))._tag, "UnknownCheckpoint")
    })
)

behaves(
  "L19 an update of the parent while a graph inside waits: the graph goes on where it stood, and asks again",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          first: () => {
            runs.push("first")
            return { log: ["first"] }
          },
          ask: () => {
            runs.push("ask")
            return Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))
          },
          sibling: () => {
            runs.push("sibling")
            return { log: ["sibling"] }
          }
        }),
        { start: "first", edges: { first: ["ask", "sibling"] } }
      )
      const middle = StateGraph.make("middle", StateGraph.nodes(Log, { child }), { start: "child" })
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { middle, free: () => ({ log: ["free"] }) }), {
        start: "middle"
      })
      const thread = graph.thread("t")
      const [old] = yield* paused(thread.invoke({ log: ["in"] }))
      runs.length = 0
      yield* thread.update({ log: ["noted"] }, { asNode: "free" })
      assert.deepStrictEqual((yield* thread.state()).next, ["middle"])
      assert.deepStrictEqual((yield* thread.at(["middle", "child"]).state()).values, {
        log: ["in", "first", "sibling"]
      })
      const [again] = yield* paused(thread.continue())
      assert.deepStrictEqual(runs, ["ask"])
      assert.notStrictEqual(again!.id, old!.id)
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), {
        log: ["in", "noted", "first", "yes", "sibling"]
      })
    })
)

behaves("L8 an update of a graph inside as its start is its input, and is not handed up", () =>
  Effect.gen(function*() {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) }),
      {
        start: "ask"
      }
    )
    const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
    yield* paused(thread.invoke({}))
    yield* thread.at(["child"]).update({ log: ["told"] }, { asNode: "__start__" })
    yield* paused(thread.continue())
    assert.deepStrictEqual((yield* thread.at(["child"]).state()).values, { log: ["told"] })
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["yes"] })
  }))

behaves(
  "Law13 an update and the graphs inside tasks that it carries along are stored at once",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const thread = nested().thread("t")
      yield* Effect.flip(thread.invoke({ my_key: "my value" }))
      const commits: Array<ReadonlyArray<string>> = []
      const counting = Checkpointer.Checkpointer.of({
        ...saver,
        commit: (id, commit) => {
          commits.push([commit.namespace, ...commit.inside.map(({ namespace }) => namespace)])
          return saver.commit(id, commit)
        }
      })
      const update = thread.update({ other: "x" }, { asNode: "outer_1" })
      yield* Effect.provideService(update, Checkpointer.Checkpointer, counting)
      assert.deepStrictEqual(commits, [["", "inner"]])
      // The graph inside stands where it stood.
      assert.deepStrictEqual((yield* thread.at(["inner"]).state()).next, ["inner_2"])
      const [newest] = yield* thread.at(["inner"]).history({ limit: 1 })
      commits.length = 0
      const fork = thread.fork(newest!.checkpoint, { path: ["inner"] })
      yield* Effect.provideService(fork, Checkpointer.Checkpointer, counting)
      assert.deepStrictEqual(commits, [["", "inner"]])
      assert.deepStrictEqual((yield* thread.at(["inner"]).state()).next, ["inner_2"])
    })
)

behaves(
  "L19 a history before a checkpoint that there is not is unknown, and before the first there is none",
  () =>
    Effect.gen(function*() {
      const thread = nested().thread("t")
      yield* Effect.flip(thread.invoke({ my_key: "my value" }))
      const unknown = (path: ReadonlyArray<string>, checkpoint: string) =>
        new GraphError.UnknownCheckpoint({ thread: "t", checkpoint, path })
      assert.deepStrictEqual(yield* Effect.flip(thread.history({ before: "nope" })), unknown([], "nope"))
      const all = (yield* thread.history()).map(({ checkpoint }) => checkpoint)
      assert.deepStrictEqual(yield* thread.history({ before: all.at(-1)! }), [])
      assert.strictEqual((yield* thread.history({ before: all[0]! })).length, all.length - 1)
      const inside = thread.at(["inner"])
      const [first] = (yield* inside.history()).map(({ checkpoint }) => checkpoint)
      assert.deepStrictEqual(yield* Effect.flip(inside.history({ before: "nope" })), unknown(["inner"], "nope"))
      // A checkpoint of the graph around it is none of its own.
      assert.deepStrictEqual(yield* Effect.flip(inside.history({ before: all[0]! })), unknown(["inner"], all[0]!))
      assert.deepStrictEqual(yield* Effect.flip(thread.history({ before: first! })), unknown([], first!))
    })
)

behaves("L19 a path without a graph is refused with the paths that there are", () =>
  Effect.gen(function*() {
    const said = (path: ReadonlyArray<string>) =>
      Effect.map(Effect.flip(thread.at(path).state()), ({ message }) => message)
    const asking = StateGraph.make(
      "asking",
      StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) }),
      { start: "ask" }
    )
    const done = StateGraph.make("done", StateGraph.nodes(Log, { node: () => ({ log: ["done"] }) }), { start: "node" })
    const graph = StateGraph.make(
      "outer",
      StateGraph.nodes(Log, { done, plain: () => ({}), asking, calls: () => asking.call({}, { key: "k" }) }),
      { start: ["done", "plain"], edges: { done: ["asking", "calls"] } }
    )
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    const there = "[\"asking\"], [\"calls~@k\"], [\"done\"]"
    for (const path of [["inner"], ["plain"], ["asking~0"], ["asking:0"], ["plain", "deep"]]) {
      const text = path.map((segment) => `"${segment}"`).join(", ")
      assert.strictEqual(yield* said(path), `thread "t" has no graph at [${text}]; there are graphs at ${there}`)
    }
    assert.strictEqual(
      yield* said(["done", "deep"]),
      "thread \"t\" has no graph at [\"done\", \"deep\"]; no graph inside it has run"
    )
    assert.strictEqual(
      yield* said(["calls~@k"]),
      "thread \"t\" has a graph at [\"calls~@k\"] that a node calls: say which, at([\"calls~@k\"], graph)"
    )
    const error = yield* Effect.flip(thread.at(["inner"]).history())
    assert.deepStrictEqual(
      error,
      new GraphError.UnknownCheckpoint({
        thread: "t",
        checkpoint: undefined,
        path: ["inner"],
        paths: [["asking"], ["calls~@k"], ["done"]]
      })
    )
    const before = yield* Effect.flip(thread.at(["done"]).state({ checkpoint: "nope" }))
    assert.strictEqual(before.message, "thread \"t\" has no checkpoint nope at [\"done\"]")
  }))

behaves("L18 a thread whose next node is gone from the graph says which", () =>
  Effect.gen(function*() {
    const graph = (second: string) =>
      StateGraph.make(
        "counter",
        { state: Log, bodies: { first: () => ({ log: ["first"] }), [second]: () => ({ log: [second] }) } } as never,
        { start: "first", edges: { first: second } } as never
      ) as StateGraph.StateGraph<typeof Log, {}, never, never, never>
    yield* Effect.flip(graph("inc").thread("t").invoke({}, { after: ["first"] }))
    const thread = graph("add").thread("t")
    assert.deepStrictEqual((yield* thread.state()).next, ["inc"])
    const error = yield* Effect.flip(thread.continue())
    assert.instanceOf(error, GraphError.GraphChanged)
    assert.include(error.message, "node \"inc\", which is to run, is gone (Migration.dropNode)")
  }))

behaves(
  "a diff leads from the state of one checkpoint to that of another, as they are stored",
  () =>
    Effect.gen(function*() {
      class Dated extends State.make({
        when: Channel.lastValue(Schema.Date, { initial: () => new Date(0) }),
        tags: Channel.topic(Schema.String, { accumulate: true, unique: true }),
        "__proto__": Channel.lastValue(Schema.Int, { initial: () => 0 }),
        "a/b~c": Channel.lastValue(Schema.Int, { initial: () => 0 })
      }) {}
      const graph = StateGraph.make(
        "dated",
        StateGraph.nodes(Dated, {
          a: () => ({ when: new Date(5), tags: ["x"] }),
          b: () => ({ tags: ["y", "x"], "a/b~c": 1 })
        }),
        { start: "a", edges: { a: "b" } }
      )
      const thread = graph.thread("t")
      yield* thread.invoke({})
      const [after, between, before] = yield* thread.history({ limit: 3 })
      assert.deepStrictEqual(yield* thread.diff({ from: before!.checkpoint, to: between!.checkpoint }), [
        { op: "add", path: "/tags/0", value: "x" },
        { op: "replace", path: "/when", value: new Date(5).toISOString() }
      ])
      const whole = yield* thread.diff({ from: before!.checkpoint })
      const first = yield* thread.diff({ from: before!.checkpoint, to: between!.checkpoint })
      const second = yield* thread.diff({ from: between!.checkpoint, to: after!.checkpoint })
      const start = { when: new Date(0).toISOString(), tags: [], "a/b~c": 0 }
      assert.deepStrictEqual(
        JsonPatch.apply(second, JsonPatch.apply(first, start)),
        JsonPatch.apply(whole, start)
      )
      assert.deepStrictEqual(yield* thread.diff({ from: after!.checkpoint }), [])
      assert.strictEqual((yield* Effect.flip(thread.diff({ from: "nope" })))._tag, "UnknownCheckpoint")
      const branch = yield* thread.fork(between!.checkpoint)
      assert.deepStrictEqual(yield* thread.diff({ from: branch, to: between!.checkpoint }), [])
    })
)
