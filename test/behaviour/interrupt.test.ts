/** Questions: several in a node, in parallel tasks, in graphs inside tasks; with policies, and beside breakpoints. */
import { assert } from "@effect/vitest"
import { Deferred, Effect, Schedule, Schema } from "effect"
import { Channel, Command, END, GraphError, Node, Policy, Send, State, StateGraph } from "superstep"
import { collect, idOf, paused, payloads, recorded, rowsOf } from "./Pauses.ts"
import { Age, Ask, Log, Text, twice } from "./Questions.ts"
import { behaves } from "./Savers.ts"

// ---------------------------------------------------------------------------
// Several questions, one after the other
// ---------------------------------------------------------------------------

behaves(
  "LG#112 two questions in one node are asked one after the other, and an answer may bring an update",
  () =>
    Effect.gen(function*() {
      for (const how of ["by tag", "by id"]) {
        const runs = { count: 0 }
        const thread = twice(runs).thread(how)
        const reply = (answer: string, id: string) => how === "by tag" ? Ask.reply(answer) : Ask.reply(answer, { id })
        const first = yield* recorded(thread.stream({ text: "DE" }, { modes: ["updates", "values"] }))
        assert.strictEqual(first.end, "GraphInterrupt")
        const [one] = (yield* thread.state()).requests
        assert.deepStrictEqual(first.events, [
          { mode: "values", path: [], step: 0, values: { text: "DE" } },
          { mode: "paused", path: [], step: 1, requests: [{ id: one!.id, tag: "Ask", payload: "1" }] }
        ])
        const second = yield* recorded(
          thread.stream(Command.resume(reply("answer 1", one!.id), { update: { text: " foofoo" } }), {
            modes: ["updates", "values"]
          })
        )
        const [two] = (yield* thread.state()).requests
        assert.deepStrictEqual(second, {
          end: "GraphInterrupt",
          events: [{ mode: "paused", path: [], step: 1, requests: [{ id: two!.id, tag: "Ask", payload: "2" }] }]
        })
        assert.notStrictEqual(one!.id, two!.id)
        assert.deepStrictEqual((yield* thread.state()).values, { text: "DE foofoo" })
        const third = yield* recorded(
          thread.stream(Command.resume(reply("answer 2", two!.id)), { modes: ["updates", "values"] })
        )
        assert.deepStrictEqual(third, {
          end: "end",
          events: [
            { mode: "updates", path: [], step: 1, node: "node", update: { text: " answer 1 answer 2" }, cached: false },
            { mode: "values", path: [], step: 1, values: { text: "DE foofoo answer 1 answer 2" } }
          ]
        })
        assert.strictEqual(runs.count, 3)
      }
    })
)

behaves(
  "LG#113 a loop asks until the answer is good, each time with the question of that turn",
  () =>
    Effect.gen(function*() {
      class Person extends State.make({ age: Channel.lastValue(Schema.Int, { initial: () => 0 }) }) {}
      const graph = StateGraph.make(
        "person",
        StateGraph.nodes(Person, {
          node: Effect.fnUntraced(function*() {
            let prompt = "How old are you?"
            for (;;) {
              const age = yield* Age.ask(prompt)
              if (age >= 18) return { age }
              prompt = "invalid response"
            }
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      const seen = [payloads(yield* paused(thread.invoke({})))]
      for (const age of [13, 15]) seen.push(payloads(yield* paused(thread.resume(Age.reply(age)))))
      assert.deepStrictEqual(seen, [["How old are you?"], ["invalid response"], ["invalid response"]])
      const last = yield* collect(thread.stream(Command.resume(Age.reply(19)), { modes: ["updates"] }))
      assert.deepStrictEqual(last, [{
        mode: "updates",
        path: [],
        step: 1,
        node: "node",
        update: { age: 19 },
        cached: false
      }])
    })
)

class Human extends State.make({ input: Channel.lastValue(Schema.String, { initial: () => "" }) }) {}

const asksInARow = StateGraph.make(
  "two nodes",
  StateGraph.nodes(Human, {
    node_1: () => Effect.map(Ask.ask("interrupt node 1"), (input) => ({ input })),
    node_2: () => Effect.map(Ask.ask("interrupt node 2"), (input) => ({ input }))
  }),
  { start: "node_1", edges: { node_1: "node_2" } }
)

behaves("LG#119 two nodes in a row that ask, alone and as a graph in a graph", () =>
  Effect.gen(function*() {
    const outer = StateGraph.make("outer", StateGraph.nodes(Human, { inner: asksInARow }), { start: "inner" })
    const shown = (events: ReadonlyArray<unknown>) =>
      (events as ReadonlyArray<
        {
          mode: string
          node: string
          path: ReadonlyArray<string>
          update: unknown
          requests: ReadonlyArray<{ payload: unknown }>
        }
      >)
        .map((event) =>
          event.mode === "paused" ? payloads(event.requests) : { [[...event.path, event.node].join("/")]: event.update }
        )
    for (
      const [graph, at, up] of [[asksInARow, "", []], [outer as unknown as typeof asksInARow, "inner/", [{
        inner: { input: "456" }
      }]]] as const
    ) {
      const thread = graph.thread(`t${at}`)
      const options = { modes: ["updates"], subgraphs: true } as const
      assert.deepStrictEqual(shown(yield* collect(thread.events({}, options))), [["interrupt node 1"]])
      assert.deepStrictEqual(shown(yield* collect(thread.events(Command.resume(Ask.reply("123")), options))), [
        { [`${at}node_1`]: { input: "123" } },
        ["interrupt node 2"]
      ])
      assert.deepStrictEqual(shown(yield* collect(thread.events(Command.resume(Ask.reply("456")), options))), [
        { [`${at}node_2`]: { input: "456" } },
        ...up
      ])
    }
  }))

behaves("LG#120 a graph inside a graph asks, and the answer reaches it", () =>
  Effect.gen(function*() {
    class Baz extends State.make({ baz: Channel.lastValue(Schema.String, { initial: () => "" }) }) {}
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Baz, { bar: () => Effect.map(Ask.ask("Please provide baz value:"), (baz) => ({ baz })) }),
      {
        start: "bar"
      }
    )
    const thread = StateGraph.make("parent", StateGraph.nodes(Baz, { foo: () => ({ baz: "foo" }), child }), {
      start: "foo",
      edges: { foo: "child" }
    }).thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["Please provide baz value:"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("bar")), { baz: "bar" })
  }))

// ---------------------------------------------------------------------------
// In parallel
// ---------------------------------------------------------------------------

class Prompts extends State.make({
  prompts: Channel.append(Schema.String),
  prompt: Channel.lastValue(Schema.String, { initial: () => "" }),
  answers: Channel.append(Schema.String)
}, { output: ["answers"] }) {}
class Prompt extends State.make({
  prompt: Schema.String,
  answers: Channel.append(Schema.String)
}, { output: ["answers"] }) {}

/** Sends each prompt to a graph that asks it. */
const askers = (runs: Array<string>) => {
  const child = StateGraph.make(
    "child",
    StateGraph.nodes(Prompt, {
      before: (s) => {
        runs.push(`before ${s.prompt}`)
        return {}
      },
      ask: Effect.fnUntraced(function*(s) {
        runs.push(`ask ${s.prompt}`)
        return { answers: [`${s.prompt}=${yield* Ask.ask(s.prompt)}`] }
      })
    }),
    { start: "before", edges: { before: "ask" } }
  )
  return StateGraph.make(
    "parent",
    StateGraph.nodes(Prompts, { child }),
    { start: StateGraph.route(["child"], (s) => s.prompts.map((prompt) => Send.make("child", { prompt }))) }
  )
}

behaves(
  "LG#121 graphs that ask in parallel are answered one at a time, and only the one that was answered runs",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const thread = askers(runs).thread("t")
      const both = yield* paused(thread.invoke({ prompts: ["a", "b"] }))
      assert.deepStrictEqual(payloads(both), ["a", "b"])
      assert.deepStrictEqual(runs.toSorted(), ["ask a", "ask b", "before a", "before b"])
      runs.length = 0
      const rest = yield* paused(thread.resume(Ask.reply("2", { id: idOf(both, "b") })))
      assert.deepStrictEqual(rest.map(({ id, payload }) => [id, payload]), [[idOf(both, "a"), "a"]])
      assert.deepStrictEqual(runs, ["ask b"])
      runs.length = 0
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("1")), { answers: ["a=1", "b=2"] })
      assert.deepStrictEqual(runs, ["ask a"])
    })
)

behaves(
  "LG#122 two questions at once in each of two graphs are answered in any order, each by its own answer",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const ask = (name: string) =>
        Effect.fnUntraced(function*(s: { readonly prompt: string }) {
          runs.push(`${s.prompt}${name}`)
          return { answers: [`${s.prompt}${name}=${yield* Ask.ask(`${s.prompt}${name}`)}`] }
        })
      const child = StateGraph.make("child", StateGraph.nodes(Prompt, { x: ask("x"), y: ask("y") }), {
        start: ["x", "y"]
      })
      const graph = StateGraph.make("parent", StateGraph.nodes(Prompts, { child }), {
        start: StateGraph.route(["child"], (s) => s.prompts.map((prompt) => Send.make("child", { prompt })))
      })
      const thread = graph.thread("t")
      const all = yield* paused(thread.invoke({ prompts: ["a", "b"] }))
      assert.deepStrictEqual(payloads(all), ["ax", "ay", "bx", "by"])
      assert.strictEqual(new Set(all.map(({ id }) => id)).size, 4)
      const left = [["ax", "ay", "bx"], ["ay", "bx"], ["ay"]]
      for (const [turn, question] of ["by", "ax", "bx"].entries()) {
        runs.length = 0
        const rest = yield* paused(thread.resume(Ask.reply(question.toUpperCase(), { id: idOf(all, question) })))
        assert.deepStrictEqual(payloads(rest), left[turn]!)
        assert.deepStrictEqual(runs, [question])
      }
      assert.deepStrictEqual((yield* thread.resume(Ask.reply("AY"))).answers, ["ax=AX", "ay=AY", "bx=BX", "by=BY"])
    })
)

behaves(
  "LG#123 one resume answers five tasks, and the results stand in the order of the Sends",
  () =>
    Effect.gen(function*() {
      const prompts = ["a", "b", "c", "d", "e"]
      const thread = askers([]).thread("t")
      const all = yield* paused(thread.invoke({ prompts }))
      assert.deepStrictEqual(payloads(all), prompts)
      const replies = prompts.toReversed().map((prompt) => Ask.reply(`human ${prompt}`, { id: idOf(all, prompt) }))
      assert.deepStrictEqual(
        (yield* thread.resume(replies)).answers,
        prompts.map((prompt) => `${prompt}=human ${prompt}`)
      )
    })
)

behaves(
  "LG#124 D5 an answer by tag while two wait is refused with both of them, and nothing is stored",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const graph = askers(runs)
      const thread = graph.thread("t")
      const all = yield* paused(thread.invoke({ prompts: ["a", "b"] }))
      const before = yield* rowsOf("t", ["", "child:0", "child:1"])
      runs.length = 0
      const error = yield* Effect.flip(thread.resume(Ask.reply("one")))
      assert.deepStrictEqual(
        error,
        new GraphError.InvalidReply({
          reason: "Ambiguous",
          thread: "t",
          tag: "Ask",
          id: undefined,
          pending: [{ id: idOf(all, "a"), tag: "Ask", payload: "a" }, { id: idOf(all, "b"), tag: "Ask", payload: "b" }],
          detail: undefined
        })
      )
      assert.deepStrictEqual(runs, [])
      assert.deepStrictEqual(yield* rowsOf("t", ["", "child:0", "child:1"]), before)
      const both = all.map(({ id, payload }) => Ask.reply(String(payload).toUpperCase(), { id }))
      assert.deepStrictEqual((yield* thread.resume(both)).answers, ["a=A", "b=B"])
    })
)

behaves("LG#126 the state is unchanged until the last question of a node is answered", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "steps",
      StateGraph.nodes(Log, {
        steps: Effect.fnUntraced(function*() {
          return { log: [yield* Ask.ask("step 1"), yield* Ask.ask("step 2")] }
        })
      }),
      { start: "steps" }
    )
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    assert.deepStrictEqual((yield* thread.state()).values, { log: [] })
    yield* paused(thread.resume(Ask.reply("one")))
    const between = yield* thread.state()
    assert.deepStrictEqual([between.values, between.next, payloads(between.requests)], [{ log: [] }, ["steps"], [
      "step 2"
    ]])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("two")), { log: ["one", "two"] })
  }))

behaves(
  "LG#108 a sibling of a task that asks runs to its end, once, however often the thread is looked at",
  () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const runs = { ask: 0, sibling: 0 }
      const graph = StateGraph.make(
        "siblings",
        StateGraph.nodes(Log, {
          ask: Effect.fnUntraced(function*() {
            runs.ask++
            yield* Deferred.succeed(asked, undefined)
            return { log: [yield* Ask.ask("I am bad")] }
          }),
          sibling: Effect.fnUntraced(function*() {
            // Ends after the other has asked.
            yield* Deferred.await(asked)
            for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
            runs.sibling++
            return { log: ["1"] }
          })
        }),
        { start: ["ask", "sibling"] }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["I am bad"])
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values, state.next], [{ log: ["1"] }, ["ask"]])
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["I am bad"])
      assert.deepStrictEqual(runs, { ask: 1, sibling: 1 })
      assert.deepStrictEqual(yield* thread.resume(Ask.reply(" okay")), { log: [" okay", "1"] })
      assert.deepStrictEqual(runs, { ask: 2, sibling: 1 })
    })
)

// ---------------------------------------------------------------------------
// Asking once, with policies, and ending it
// ---------------------------------------------------------------------------

class Market extends State.make({
  my_key: Channel.reducer({ value: Schema.String, initial: () => "", reduce: (a: string, b: string) => a + b }),
  market: Schema.String
}) {}

behaves(
  "LG#85 a question is not retried, its answer goes on, and an update as END takes it away",
  () =>
    Effect.gen(function*() {
      let runs = 0
      const graph = StateGraph.make(
        "tool_two",
        StateGraph.nodes(Market, {
          tool_two: Node.make({
            input: Market,
            retry: Policy.retry({ schedule: Schedule.spaced(1), maxAttempts: 5 }),
            run: Effect.fnUntraced(function*(s) {
              runs++
              const answer = s.market === "DE" ? yield* Ask.ask("Just because...") : " all good"
              return { my_key: answer }
            })
          })
        }),
        { start: "tool_two" }
      )
      assert.deepStrictEqual(yield* graph.thread("us").invoke({ my_key: "value", market: "US" }), {
        my_key: "value all good",
        market: "US"
      })
      assert.strictEqual(runs, 1)
      const thread = graph.thread("1")
      yield* paused(thread.invoke({ my_key: "value ⛰️", market: "DE" }))
      assert.strictEqual(runs, 2)
      assert.deepStrictEqual(yield* thread.resume(Ask.reply(" my answer")), {
        my_key: "value ⛰️ my answer",
        market: "DE"
      })
      assert.strictEqual(runs, 3)
      const ended = graph.thread("2")
      yield* paused(ended.invoke({ my_key: "value ⛰️", market: "DE" }))
      const before = yield* ended.state()
      assert.deepStrictEqual([before.next, payloads(before.requests), before.tasks.map(({ node }) => node)], [
        ["tool_two"],
        ["Just because..."],
        ["tool_two"]
      ])
      yield* ended.update(undefined, { asNode: END })
      const after = yield* ended.state()
      assert.deepStrictEqual([after.values, after.next, after.tasks, after.requests, after.source, after.step], [
        { my_key: "value ⛰️", market: "DE" },
        [],
        [],
        [],
        "update",
        1
      ])
      assert.strictEqual((yield* Effect.flip(ended.resume(Ask.reply("late"))))._tag, "InvalidReply")
      assert.strictEqual(runs, 4)
    })
)

behaves(
  "LG#86 the task that holds a graph that asks names its place, and the question is seen in both",
  () =>
    Effect.gen(function*() {
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Market, { do: () => Effect.map(Ask.ask("Just because..."), (my_key) => ({ my_key })) }),
        {
          start: "do"
        }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Market, { tool_two: child }), { start: "tool_two" })
      const thread = graph.thread("t")
      const [request] = yield* paused(thread.invoke({ my_key: "value", market: "DE" }))
      const state = yield* thread.state()
      assert.deepStrictEqual(state.tasks, [{
        id: "pull:tool_two",
        node: "tool_two",
        error: undefined,
        requests: [{ id: request!.id, tag: "Ask", payload: "Just because..." }],
        result: undefined,
        graphs: [["tool_two"]]
      }])
      const inside = yield* thread.at(["tool_two"]).state()
      assert.deepStrictEqual([inside.path, inside.next, inside.requests], [["tool_two"], ["do"], [{
        id: request!.id,
        tag: "Ask",
        payload: "Just because..."
      }]])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply(" my answer")), { my_key: "value my answer", market: "DE" })
    })
)

// ---------------------------------------------------------------------------
// Breakpoints inside graphs
// ---------------------------------------------------------------------------

behaves(
  "LG#130 a graph that stops before a node does not undo its sibling, whose result is shown again as kept",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const say = (name: string, text: string) => () => {
        runs.push(name)
        return { text }
      }
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Text, { inner_1: say("inner_1", " got here"), inner_2: say("inner_2", " and there") }),
        { start: "inner_1", edges: { inner_1: "inner_2" } },
        { before: ["inner_2"] }
      )
      const graph = StateGraph.make(
        "outer",
        StateGraph.nodes(Text, {
          inner,
          outer_1: say("outer_1", " and parallel"),
          outer_2: say("outer_2", " and back again")
        }),
        {
          start: ["inner", "outer_1"],
          edges: { inner: StateGraph.join("outer_2"), outer_1: StateGraph.join("outer_2") }
        }
      )
      const thread = graph.thread("t")
      const first = yield* recorded(thread.stream({ text: "" }, { modes: ["updates"], subgraphs: true }))
      assert.strictEqual(first.end, "GraphBreakpoint")
      assert.deepStrictEqual(
        (first.events as ReadonlyArray<{ node?: string }>).map(({ node }) => node).sort(),
        ["inner_1", "outer_1"]
      )
      const state = yield* thread.state()
      assert.deepStrictEqual([state.values, state.next], [{ text: " and parallel" }, ["inner"]])
      const second = yield* recorded(thread.stream(Command.continue, { modes: ["updates"], subgraphs: true }))
      assert.deepStrictEqual(
        (second.events as ReadonlyArray<
          { node: string; path: ReadonlyArray<string>; cached: boolean; update: unknown }
        >)
          .map(({ cached, node, path, update }) => [[...path, node].join("/"), update, cached]),
        [
          ["outer_1", { text: " and parallel" }, true],
          ["inner/inner_2", { text: " and there" }, false],
          ["inner", [{ text: " got here" }, { text: " and there" }], false],
          ["outer_2", { text: " and back again" }, false]
        ]
      )
      assert.deepStrictEqual((yield* thread.state()).values, {
        text: " got here and there and parallel and back again"
      })
      assert.deepStrictEqual(runs.sort(), ["inner_1", "inner_2", "outer_1", "outer_2"])
    })
)

behaves("LG#131 three levels deep a graph stops before a node, and all of them go on", () =>
  Effect.gen(function*() {
    class My extends State.make({ my: Schema.String }) {}
    const runs: Array<string> = []
    const add = (name: string, text: string) => (s: { readonly my: string }) => {
      runs.push(name)
      return { my: s.my + text }
    }
    const grandchild = StateGraph.make(
      "grandchild",
      StateGraph.nodes(My, {
        grandchild_1: add("grandchild_1", " here"),
        grandchild_2: add("grandchild_2", " and there")
      }),
      { start: "grandchild_1", edges: { grandchild_1: "grandchild_2" } },
      { before: ["grandchild_2"] }
    )
    const child = StateGraph.make("child", StateGraph.nodes(My, { child_1: grandchild }), { start: "child_1" })
    const graph = StateGraph.make(
      "parent",
      StateGraph.nodes(My, { parent_1: add("parent_1", ""), child, parent_2: add("parent_2", " and back again") }),
      { start: "parent_1", edges: { parent_1: "child", child: "parent_2" } }
    )
    const thread = graph.thread("t")
    const stop = yield* Effect.flip(thread.invoke({ my: "hi my value" }))
    assert.deepStrictEqual(
      stop,
      new GraphError.GraphBreakpoint({ when: "before", nodes: ["grandchild_2"], next: ["grandchild_2"] })
    )
    assert.deepStrictEqual((yield* thread.at(["child", "child_1"]).state()).values, { my: "hi my value here" })
    assert.deepStrictEqual((yield* thread.state()).next, ["child"])
    assert.deepStrictEqual(yield* thread.continue(), { my: "hi my value here and there and back again" })
    assert.deepStrictEqual(runs, ["parent_1", "grandchild_1", "grandchild_2", "parent_2"])
  }))
