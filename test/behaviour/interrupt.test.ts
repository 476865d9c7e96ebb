/** Questions and answers: several in a node, in parallel tasks, in graphs inside tasks; what outranks what; replies that do not fit. */
import { assert, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  Channel,
  Checkpointer,
  Command,
  END,
  GraphError,
  Interrupt,
  Node,
  NodeCache,
  Policy,
  Running,
  Send,
  State,
  StateGraph
} from "superstep"
import { collect, idOf, paused, payloads, recorded, rowsOf } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Text extends State.make({
  text: Channel.reducer({ value: Schema.String, initial: () => "", reduce: (a: string, b: string) => a + b })
}) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}
class Age extends Interrupt.make("Age", { payload: Schema.String, answer: Schema.Int }) {}
class When extends Interrupt.make("When", { payload: Schema.DateFromString, answer: Schema.DateFromString }) {}
class Failed extends Schema.TaggedError<Failed>()("Failed", { at: Schema.Int }) {}

/** Calls the engine as somebody would who has no types. */
const untyped = (value: unknown) => value as never

// ---------------------------------------------------------------------------
// Several questions, one after the other
// ---------------------------------------------------------------------------

const twice = (runs: { count: number }) =>
  StateGraph.make(
    "twice",
    StateGraph.nodes(Text, {
      node: Effect.fnUntraced(function*() {
        runs.count++
        const first = yield* Ask.ask("1")
        const second = yield* Ask.ask("2")
        return { text: ` ${first} ${second}` }
      })
    }),
    { start: "node" }
  )

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

// ---------------------------------------------------------------------------
// Law 10: what a pause outranks
// ---------------------------------------------------------------------------

const askThen = (after: Effect.Effect<{ log: Array<string> }, Failed>) =>
  StateGraph.make(
    "ask then",
    StateGraph.nodes(Log, {
      node: () => Effect.andThen(Effect.exit(Ask.ask("?")), after),
      sibling: () => ({ log: ["sibling"] }),
      handler: () => ({ log: ["handler"] })
    }),
    { start: ["node", "sibling"] }
  )

behaves("L10 an unanswered question outranks success and typed failure of its node", () =>
  Effect.gen(function*() {
    const succeeded = askThen(Effect.succeed({ log: ["made up"] })).thread("success")
    assert.deepStrictEqual(payloads(yield* paused(succeeded.invoke({}))), ["?"])
    assert.deepStrictEqual((yield* succeeded.state()).values, { log: ["sibling"] })
    assert.deepStrictEqual(yield* succeeded.resume(Ask.reply("yes")), { log: ["made up", "sibling"] })
    const failed = askThen(Effect.fail(new Failed({ at: 1 }))).thread("failure")
    assert.deepStrictEqual(payloads(yield* paused(failed.invoke({}))), ["?"])
    // Once answered, the failure is the node's own.
    assert.deepStrictEqual(yield* Effect.flip(failed.resume(Ask.reply("yes"))), new Failed({ at: 1 }))
    assert.deepStrictEqual((yield* failed.state()).values, { log: ["sibling"] })
  }))

behaves(
  "L10 a defect after a question is a defect, and the question is asked again when the thread goes on",
  () =>
    Effect.gen(function*() {
      let isBroken = true
      const thread = askThen(Effect.suspend(() => isBroken ? Effect.die("bug") : Effect.succeed({ log: ["fine"] })))
        .thread("t")
      const exit = yield* Effect.exit(thread.invoke({}))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual((yield* thread.state()).requests, [])
      isBroken = false
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
      assert.deepStrictEqual((yield* thread.resume(Ask.reply("yes"))).log[0], "fine")
    })
)

behaves("L10 a command for the parent after a question does not leave before the answer", () =>
  Effect.gen(function*() {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, {
        leave: () =>
          Effect.andThen(Effect.exit(Ask.ask("leave?")), Command.parent({ update: { log: ["left"] }, goto: "after" }))
      }),
      { start: "leave" }
    )
    const graph = StateGraph.make("parent", StateGraph.nodes(Log, { child, after: () => ({ log: ["after"] }) }), {
      start: "child"
    })
    const thread = graph.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["leave?"])
    assert.deepStrictEqual((yield* thread.state()).values, { log: [] })
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["left", "after"] })
  }))

it.effect("L10 an attempt that runs out of time after it asked has failed: its retry asks again", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "late",
      StateGraph.nodes(Log, {
        node: Node.make({
          input: Log,
          timeout: "1 second",
          run: () => Effect.andThen(Effect.exit(Ask.ask("?")), Effect.never)
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    const fiber = yield* Effect.forkChild(Effect.flip(thread.invoke({})))
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(
      yield* Fiber.join(fiber),
      new GraphError.NodeTimeout({ kind: "attempt", nodes: ["node"], timeoutMillis: 1000, elapsedMillis: 1000 })
    )
    const state = yield* thread.state()
    assert.deepStrictEqual([state.next, state.requests], [["node"], []])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

behaves(
  "L10 a run that is interrupted while a task has asked and goes on stores no question",
  () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      let isHeld = true
      const graph = StateGraph.make(
        "held",
        StateGraph.nodes(Log, {
          node: () =>
            Effect.exit(Ask.ask("?")).pipe(
              Effect.andThen(Deferred.succeed(asked, undefined)),
              Effect.andThen(Effect.suspend(() => isHeld ? Effect.never : Effect.succeed({ log: ["done"] })))
            )
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      const fiber = yield* Effect.forkChild(thread.invoke({}))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(fiber)
      const state = yield* thread.state()
      assert.deepStrictEqual([state.next, state.requests], [["node"], []])
      isHeld = false
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
    })
)

behaves("L10 an error handler never sees a question, and may ask one itself", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const graph = StateGraph.make(
      "handled",
      StateGraph.nodes(Log, {
        asks: Node.make({
          input: Log,
          run: () => Effect.map(Ask.ask("asks"), (answer) => ({ log: [answer] })),
          onError: () => {
            runs.push("handler of asks")
            return Effect.succeed({ log: ["handled"] })
          }
        }),
        fails: Node.make({
          input: Log,
          run: () => Effect.fail(new Failed({ at: 1 })),
          onError: (error) =>
            Effect.map(Ask.ask(`failed at ${"at" in error ? error.at : "?"}, go on?`), (answer) => ({ log: [answer] }))
        })
      }),
      { start: ["asks", "fails"] }
    )
    const thread = graph.thread("t")
    const both = yield* paused(thread.invoke({}))
    assert.deepStrictEqual(payloads(both), ["asks", "failed at 1, go on?"])
    assert.deepStrictEqual(
      yield* thread.resume([Ask.reply("a", { id: both[0]!.id }), Ask.reply("b", { id: both[1]!.id })]),
      { log: ["a", "b"] }
    )
    assert.deepStrictEqual(runs, [])
  }))

behaves(
  "L10 a failure beside a question is what the run reports, and the question waits",
  () =>
    Effect.gen(function*() {
      let isBroken = true
      const asked = yield* Deferred.make<void>()
      const graph = StateGraph.make(
        "both",
        StateGraph.nodes(Log, {
          ask: () =>
            Effect.map(
              Effect.tapError(Ask.ask("?"), () => Deferred.succeed(asked, undefined)),
              (answer) => ({ log: [answer] })
            ),
          fail: () =>
            Effect.andThen(
              Deferred.await(asked),
              Effect.suspend(() => isBroken ? Effect.fail(new Failed({ at: 1 })) : Effect.succeed({ log: ["ok"] }))
            )
        }),
        { start: ["ask", "fail"] },
        { onFailure: "settle" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), new Failed({ at: 1 }))
      const state = yield* thread.state()
      assert.deepStrictEqual([state.next, payloads(state.requests)], [["ask", "fail"], ["?"]])
      isBroken = false
      // The failed one runs, the paused one does not: it has no answer.
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
      assert.deepStrictEqual((yield* thread.state()).values, { log: ["ok"] })
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["yes", "ok"] })
    })
)

behaves(
  "L10 an attempt that a policy runs again counts its questions anew; a retry inside the node asks the same one",
  () =>
    Effect.gen(function*() {
      const attempts: Array<number> = []
      const graph = StateGraph.make(
        "policy",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            retry: Policy.retry({ schedule: Schedule.spaced(1), maxAttempts: 3 }),
            run: Effect.fnUntraced(function*() {
              const { attempt } = yield* Running.Running
              attempts.push(attempt)
              const first = yield* Ask.ask("first")
              if (attempt < 3) return yield* new Failed({ at: attempt })
              return { log: [first, yield* Ask.ask("second")] }
            })
          }),
          inside: () => Effect.map(Effect.retry(Age.ask("age"), { times: 3 }), (age) => ({ log: [String(age)] }))
        }),
        { start: ["node", "inside"] }
      )
      const thread = graph.thread("t")
      const all = yield* paused(thread.invoke({}))
      assert.deepStrictEqual(payloads(all), ["age", "first"])
      assert.deepStrictEqual(attempts, [1])
      attempts.length = 0
      assert.deepStrictEqual(payloads(yield* paused(thread.resume([Ask.reply("1"), Age.reply(30)]))), ["second"])
      assert.deepStrictEqual(attempts, [1, 2, 3])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("2")), { log: ["30", "1", "2"] })
    })
)

// ---------------------------------------------------------------------------
// Law 11: keys, fibers, order
// ---------------------------------------------------------------------------

behaves(
  "L11 of unkeyed questions only the first unanswered counts, whatever the node does with its failure",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "unkeyed",
        StateGraph.nodes(Log, {
          node: Effect.fnUntraced(function*() {
            const answers = []
            for (const question of ["a", "b", "c"]) {
              answers.push(yield* Effect.catch(Ask.ask(question), () => Effect.succeed("none")))
            }
            return { log: answers }
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["a"])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("1")))), ["b"])
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("2")))), ["c"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("3")), { log: ["1", "2", "3"] })
    })
)

behaves("L11 keyed questions are asked together and answered in any number and order", () =>
  Effect.gen(function*() {
    let runs = 0
    const graph = StateGraph.make(
      "keyed",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          runs++
          const answers = []
          for (const key of ["a", "b", "c"]) answers.push(yield* Effect.exit(Ask.ask(key, { key })))
          return { log: answers.map((exit) => Exit.isSuccess(exit) ? exit.value : "none") }
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    const all = yield* paused(thread.invoke({}))
    assert.deepStrictEqual(payloads(all), ["a", "b", "c"])
    const rest = yield* paused(thread.resume(Ask.reply("B", { id: idOf(all, "b") })))
    assert.deepStrictEqual(rest.map(({ id }) => id), [idOf(all, "a"), idOf(all, "c")])
    assert.deepStrictEqual(
      yield* thread.resume([Ask.reply("C", { id: idOf(all, "c") }), Ask.reply("A", { id: idOf(all, "a") })]),
      { log: ["A", "B", "C"] }
    )
    assert.strictEqual(runs, 3)
  }))

behaves("L11 unkeyed questions are counted per tag: two kinds do not disturb each other", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "kinds",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          const name = yield* Ask.ask("name")
          const age = yield* Age.ask("age")
          const city = yield* Ask.ask("city")
          return { log: [name, String(age), city] }
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["name"])
    assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("Ada")))), ["age"])
    assert.deepStrictEqual(payloads(yield* paused(thread.resume(Age.reply(36)))), ["city"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("London")), { log: ["Ada", "36", "London"] })
  }))

behaves("L23 the key of a question is a text of bounded length", () =>
  Effect.gen(function*() {
    for (const key of ["", "x".repeat(513), 5, null] as unknown as ReadonlyArray<never>) {
      const graph = single(() => logged(Ask.ask("?", { key })))
      const error = yield* Effect.flip(graph.thread(`t ${String(key).length}`).invoke({}))
      assert.deepInclude(error, { _tag: "InvalidArgument", argument: "key" })
    }
    assert.deepStrictEqual(
      payloads(yield* paused(single(() => logged(Ask.ask("?", { key: "k" }))).thread("t").invoke({}))),
      ["?"]
    )
  }))

behaves(
  "L11 a key of a question that has its answer is refused to another, whatever that shows",
  () =>
    Effect.gen(function*() {
      const refused = new GraphError.DuplicateKey({ kind: "ask", node: "node", called: "Ask", key: "k" })
      for (const payload of ["q", "another"]) {
        const graph = StateGraph.make(
          "same key",
          StateGraph.nodes(Log, {
            node: Effect.fnUntraced(function*() {
              const first = yield* Ask.ask("q", { key: "k" })
              // That the node catches the failure changes nothing.
              return {
                log: [first, yield* Effect.catch(Ask.ask(payload, { key: "k" }), () => Effect.succeed("caught"))]
              }
            })
          }),
          { start: "node" }
        )
        const thread = graph.thread(payload)
        assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["q"])
        assert.deepStrictEqual(yield* Effect.flip(thread.resume(Ask.reply("a"))), refused)
        assert.deepStrictEqual(yield* Effect.flip(thread.continue()), refused)
        const { next, values } = yield* thread.state()
        assert.deepStrictEqual([values, next], [{ log: [] }, ["node"]])
      }
      assert.include(refused.message, "node \"node\" asks \"Ask\" with the key \"k\" of another question")
    })
)

behaves(
  "L11 two questions that wait under one key are refused, unless they are the same",
  () =>
    Effect.gen(function*() {
      const graph = (asked: ReadonlyArray<string>) =>
        StateGraph.make(
          "same key",
          StateGraph.nodes(Log, {
            node: () =>
              Effect.map(
                Effect.forEach(asked, (payload) => Effect.exit(Ask.ask(payload, { key: "k" })), {
                  concurrency: "unbounded"
                }),
                () => ({ log: ["swallowed"] })
              )
          }),
          { start: "node" }
        )
      assert.deepStrictEqual(
        yield* Effect.flip(graph(["one", "two"]).thread("two").invoke({})),
        new GraphError.DuplicateKey({ kind: "ask", node: "node", called: "Ask", key: "k" })
      )
      assert.deepStrictEqual(payloads(yield* paused(graph(["one", "one"]).thread("one").invoke({}))), ["one"])
    })
)

behaves(
  "L10 a key is asked again by a retry inside the node while it waits, and by every new attempt",
  () =>
    Effect.gen(function*() {
      const attempts: Array<number> = []
      const graph = StateGraph.make(
        "again",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            run: Effect.fnUntraced(function*() {
              const { attempt } = yield* Running.Running
              const answer = yield* Effect.retry(Ask.ask("q", { key: "k" }), { times: 2 })
              attempts.push(attempt)
              if (attempt === 1) return yield* new Failed({ at: attempt })
              return { log: [answer] }
            }),
            retry: Policy.retry({ schedule: Schedule.recurs(1) })
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["q"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("a")), { log: ["a"] })
      assert.deepStrictEqual(attempts, [1, 2])
    })
)

behaves(
  "L11 unkeyed questions from two fibers of one task are refused, even if both failures are caught",
  () =>
    Effect.gen(function*() {
      const ask = (key?: string) => Effect.exit(Ask.ask("?", key === undefined ? undefined : { key }))
      const graph = (keys: ReadonlyArray<string | undefined>) =>
        StateGraph.make(
          "fibers",
          StateGraph.nodes(Log, {
            node: () => Effect.as(Effect.all(keys.map(ask), { concurrency: "unbounded" }), { log: ["done"] })
          }),
          { start: "node" }
        )
      const refused = yield* Effect.flip(graph([undefined, undefined]).thread("two").invoke({}))
      assert.deepStrictEqual(refused, new GraphError.ConcurrentCall({ kind: "ask", node: "node", called: "Ask" }))
      const state = yield* graph([undefined, undefined]).thread("two").state()
      assert.deepStrictEqual([state.values, state.next, state.requests], [{ log: [] }, ["node"], []])
      // One of them without a key is told from the others.
      assert.strictEqual((yield* paused(graph([undefined, "a", "b"]).thread("one").invoke({}))).length, 3)
    })
)

behaves("L11 parallel tasks that ask the same have questions of their own", () =>
  Effect.gen(function*() {
    const ask = () => Effect.map(Ask.ask("same?"), (answer) => ({ log: [answer] }))
    const graph = StateGraph.make("parallel", StateGraph.nodes(Log, { a: ask, b: ask, c: ask }), {
      start: ["a", "b", "c"]
    })
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    const { tasks } = yield* thread.state()
    assert.deepStrictEqual(tasks.map(({ node, requests }) => [node, payloads(requests)]), [
      ["a", ["same?"]],
      ["b", ["same?"]],
      ["c", ["same?"]]
    ])
    const id = (node: string) => tasks.find((task) => task.node === node)!.requests[0]!.id
    yield* paused(thread.resume(Ask.reply("for b", { id: id("b") })))
    assert.deepStrictEqual(
      yield* thread.resume([Ask.reply("for c", { id: id("c") }), Ask.reply("for a", { id: id("a") })]),
      { log: ["for a", "for b", "for c"] }
    )
  }))

behaves("L11 a node in a loop asks anew in each turn, under an id of its own", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "turns",
      StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask("more?"), (answer) => ({ log: [answer] })) }),
      { start: "ask", edges: { ask: StateGraph.route(["ask", END], (s) => s.log.at(-1) === "no" ? END : "ask") } }
    )
    const thread = graph.thread("t")
    const [first] = yield* paused(thread.invoke({}))
    const [second] = yield* paused(thread.resume(Ask.reply("yes")))
    assert.notStrictEqual(first!.id, second!.id)
    const late = yield* Effect.flip(thread.resume(Ask.reply("yes", { id: first!.id })))
    assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "Unknown")
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("no")), { log: ["yes", "no"] })
  }))

behaves(
  "L11 the same question on the same way has the same id in another thread, and another in another branch",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "ids",
        StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })) }),
        {
          start: "ask"
        }
      )
      const [one] = yield* paused(graph.thread("one").invoke({}))
      const [two] = yield* paused(graph.thread("two").invoke({}))
      assert.strictEqual(one!.id, two!.id)
      const [, start] = yield* graph.thread("one").history()
      const [again] = yield* paused(graph.thread("one").continue({ checkpoint: start!.checkpoint }))
      assert.notStrictEqual(again!.id, one!.id)
    })
)

// ---------------------------------------------------------------------------
// Law 11: answers and changed questions
// ---------------------------------------------------------------------------

behaves(
  "L11 an answer to a question that has changed is void: the new question waits, durably",
  () =>
    Effect.gen(function*() {
      let question = "delete 1 file?"
      let runs = 0
      const graph = () =>
        StateGraph.make(
          "changing",
          StateGraph.nodes(Log, {
            ask: Effect.fnUntraced(function*() {
              runs++
              return { log: [`${question} ${yield* Ask.ask(question)}`] }
            }),
            sibling: () => ({ log: ["sibling"] })
          }),
          { start: ["ask", "sibling"] }
        )
      const thread = graph().thread("t")
      const [before] = yield* paused(thread.invoke({}))
      question = "delete 9 files?"
      const error = yield* Effect.flip(thread.resume(Ask.reply("yes")))
      assert.deepStrictEqual(
        error,
        new GraphError.InterruptMismatch({
          reason: "OtherQuestion",
          node: "ask",
          tag: "Ask",
          answered: "delete 1 file?",
          now: "delete 9 files?"
        })
      )
      // A new handle sees the new question, unanswered.
      const again = graph().thread("t")
      const state = yield* again.state()
      assert.deepStrictEqual(state.requests, [{ id: before!.id, tag: "Ask", payload: "delete 9 files?" }])
      assert.deepStrictEqual([state.values, state.next], [{ log: ["sibling"] }, ["ask"]])
      const count = runs
      assert.deepStrictEqual(payloads(yield* paused(again.continue())), ["delete 9 files?"])
      assert.strictEqual(runs, count)
      assert.deepStrictEqual(yield* again.resume(Ask.reply("no")), { log: ["delete 9 files? no", "sibling"] })
    })
)

behaves(
  "L11 of two answered questions only the changed one is asked again; the answer of the other is kept",
  () =>
    Effect.gen(function*() {
      let first = "first"
      const graph = StateGraph.make(
        "two changing",
        StateGraph.nodes(Log, {
          ask: Effect.fnUntraced(function*() {
            return { log: [yield* Ask.ask(first), yield* Ask.ask("second")] }
          })
        }),
        { start: "ask" }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      yield* paused(thread.resume(Ask.reply("1")))
      first = "first, really"
      const error = yield* Effect.flip(thread.resume(Ask.reply("2")))
      assert.deepStrictEqual(
        error,
        new GraphError.InterruptMismatch({
          reason: "OtherQuestion",
          node: "ask",
          tag: "Ask",
          answered: "first",
          now: "first, really"
        })
      )
      assert.deepStrictEqual(payloads((yield* thread.state()).requests), ["first, really"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("one")), { log: ["one", "2"] })
    })
)

behaves(
  "L11 a question with the same content in another order of keys is the same question",
  () =>
    Effect.gen(function*() {
      class Order extends Interrupt.make("Order", {
        payload: Schema.Record(Schema.String, Schema.Int),
        answer: Schema.Boolean
      }) {}
      let payload: { [key: string]: number } = { a: 1, b: 2 }
      const graph = StateGraph.make(
        "canonical",
        StateGraph.nodes(Log, { ask: () => Effect.map(Order.ask(payload), (isGood) => ({ log: [String(isGood)] })) }),
        { start: "ask" }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      payload = { b: 2, a: 1 }
      assert.deepStrictEqual(yield* thread.resume(Order.reply(true)), { log: ["true"] })
    })
)

behaves(
  "L11 a question in a graph inside a task that has changed is reported at the root, and waits there",
  () =>
    Effect.gen(function*() {
      let question = "old"
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask(question), (answer) => ({ log: [answer] })) }),
        {
          start: "ask"
        }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
      yield* paused(thread.invoke({}))
      question = "new"
      const error = yield* Effect.flip(thread.resume(Ask.reply("to the old")))
      assert.deepStrictEqual(
        error,
        new GraphError.InterruptMismatch({
          reason: "OtherQuestion",
          node: "ask",
          tag: "Ask",
          answered: "old",
          now: "new"
        })
      )
      assert.deepStrictEqual(payloads((yield* thread.state()).requests), ["new"])
      assert.deepStrictEqual(payloads((yield* thread.at(["child"]).state()).requests), ["new"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("to the new")), { log: ["to the new"] })
    })
)

behaves(
  "L11 a node that asks less after its answers uses those that it asks for, and no other gets them",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "shrinking",
        StateGraph.nodes(Log, {
          a: Effect.fnUntraced(function*() {
            const first = yield* Ask.ask("a1")
            return { log: [first === "skip" ? "skipped" : yield* Ask.ask("a2")] }
          }),
          b: () => Effect.map(Ask.ask("b1"), (answer) => ({ log: [answer] }))
        }),
        { start: "a", edges: { a: "b" } }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("skip")))), ["b1"])
      // Going on answers nothing: the answer of the first was consumed by the first.
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["b1"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("b")), { log: ["skipped", "b"] })
    })
)

// ---------------------------------------------------------------------------
// Law 11: answers that are left
// ---------------------------------------------------------------------------

/** The mismatches in the cause of a run that has to fail, the first as its failure. */
const mismatchesOf = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.map(
    Effect.exit(run),
    (exit) =>
      Exit.isSuccess(exit) ?
        assert.fail("expected a failure") :
        exit.cause.reasons.flatMap((reason) =>
          Cause.isFailReason(reason) && reason.error instanceof GraphError.InterruptMismatch ? [reason.error] : []
        )
  )

const notAsked = (answered: string, node = "node", tag = "Ask") =>
  new GraphError.InterruptMismatch({ reason: "NotAsked", node, tag, answered })

type Questions = Interrupt.Request<"Ask", string, string> | Interrupt.Request<"Age", string, number>

type Body = () => Effect.Effect<
  { readonly log: ReadonlyArray<string> },
  Failed | Questions,
  Running.Running | Interrupt.Asks<Questions>
>

const logged = (asking: ReturnType<typeof Ask.ask>) => Effect.map(asking, (answer) => ({ log: [answer] }))

const single = (node: Body, name = "single") =>
  StateGraph.make(name, StateGraph.nodes(Log, { node }), { start: "node" })

behaves(
  "L11 an answer to a question that its node no longer asks is told, and is void when the thread goes on",
  () =>
    Effect.gen(function*() {
      for (const durability of ["sync", "async", "exit"] as const) {
        let asks = true
        let runs = 0
        const thread = () =>
          StateGraph.make(
            "silent",
            StateGraph.nodes(Log, {
              node: () => {
                runs++
                return asks ? logged(Ask.ask("delete?")) : Effect.succeed({ log: ["not asked"] })
              },
              sibling: () => ({ log: ["sibling"] })
            }),
            { start: ["node", "sibling"] }
          ).thread(durability)
        yield* paused(thread().invoke({}, { durability }))
        asks = false
        const { end, events } = yield* recorded(
          thread().stream(Command.resume(Ask.reply("yes")), { modes: ["updates"], durability })
        )
        assert.deepStrictEqual([end, events.at(-1)], ["InterruptMismatch", {
          mode: "paused",
          path: [],
          step: 1,
          requests: []
        }])
        const state = yield* thread().state()
        assert.deepStrictEqual([state.values.log, state.next, state.requests], [["sibling"], ["node"], []])
        const late = yield* Effect.flip(thread().resume(Ask.reply("yes")))
        assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "NothingPending")
        assert.deepStrictEqual(yield* thread().continue({ durability }), { log: ["not asked", "sibling"] })
        assert.strictEqual(runs, 3)
      }
    })
)

behaves(
  "L11 a node that now asks with another tag or key is asked that, and what it was answered before is told at its end",
  () =>
    Effect.gen(function*() {
      const changes: ReadonlyArray<readonly [string, () => ReturnType<typeof Ask.ask>, Body, Interrupt.Reply.Any]> = [
        ["tag", () => Ask.ask("?"), () => Effect.map(Age.ask("?"), (age) => ({ log: [`${age}`] })), Age.reply(7)],
        ["key", () => Ask.ask("?", { key: "a" }), () => logged(Ask.ask("?", { key: "b" })), Ask.reply("7")]
      ]
      for (const [name, before, after, reply] of changes) {
        let body: Body = () => logged(before())
        const thread = single(() => body()).thread(name)
        const [first] = yield* paused(thread.invoke({}))
        body = after
        const [second] = yield* paused(thread.resume(Ask.reply("old")))
        assert.notStrictEqual(second!.id, first!.id)
        assert.deepStrictEqual(yield* mismatchesOf(thread.resume(untyped(reply))), [notAsked("?")])
        // The other answer is kept.
        assert.deepStrictEqual(yield* thread.continue(), { log: ["7"] })
      }
    })
)

behaves(
  "L11 an answer waits while its node pauses at another question or fails before it comes to its own",
  () =>
    Effect.gen(function*() {
      let first = ["a", "b"]
      const order = single(Effect.fnUntraced(function*() {
        const answers: Record<string, string> = {}
        for (const key of first) answers[key] = yield* Ask.ask(key, { key })
        return { log: [answers["a"]!, answers["b"]!] }
      })).thread("order")
      yield* paused(order.invoke({}))
      first = ["b", "a"]
      assert.deepStrictEqual(payloads(yield* paused(order.resume(Ask.reply("A")))), ["b"])
      assert.deepStrictEqual(yield* order.resume(Ask.reply("B")), { log: ["A", "B"] })

      let isBroken = false
      const fails = single(() =>
        Effect.andThen(
          Effect.suspend(() => isBroken ? Effect.fail(new Failed({ at: 1 })) : Effect.void),
          logged(Ask.ask("?"))
        )
      ).thread("fails")
      yield* paused(fails.invoke({}))
      isBroken = true
      assert.deepStrictEqual(yield* Effect.flip(fails.resume(Ask.reply("yes"))), new Failed({ at: 1 }))
      isBroken = false
      assert.deepStrictEqual(yield* fails.continue(), { log: ["yes"] })
    })
)

behaves(
  "L11 a question that one attempt of a task has asked again is asked, whatever later attempts do",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "attempts",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            retry: Policy.retry({ schedule: Schedule.spaced(1), maxAttempts: 2 }),
            run: Effect.fnUntraced(function*() {
              const { attempt } = yield* Running.Running
              if (attempt === 2) return { log: ["second attempt"] }
              yield* Ask.ask("?")
              return yield* new Failed({ at: 1 })
            })
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["second attempt"] })
    })
)

behaves(
  "L10 the questions of an error handler are its own: the same tag in the node is another question",
  () =>
    Effect.gen(function*() {
      let isBroken = true
      let runs = 0
      const graph = StateGraph.make(
        "handler asks",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            run: Effect.fnUntraced(function*() {
              runs++
              const answer = yield* Ask.ask("node")
              return isBroken ? yield* new Failed({ at: 1 }) : { log: [answer] }
            }),
            onError: () => Effect.map(Ask.ask("handler"), (answer) => ({ log: [`handled ${answer}`] }))
          })
        }),
        { start: "node" }
      )
      for (const [name, mends, log] of [["fails again", false, "handled go"], ["is mended", true, "yes"]] as const) {
        isBroken = true
        const thread = graph.thread(name)
        assert.deepStrictEqual(payloads(yield* paused(thread.invoke({}))), ["node"])
        assert.deepStrictEqual(payloads(yield* paused(thread.resume(Ask.reply("yes")))), ["handler"])
        isBroken = !mends
        // Where the node succeeds, the question of its handler is moot.
        assert.deepStrictEqual(yield* thread.resume(Ask.reply("go")), { log: [log] })
      }
      assert.strictEqual(runs, 6)
    })
)

behaves(
  "L11 an answer is moot where its node fails before it asks again and its error handler ends the task",
  () =>
    Effect.gen(function*() {
      let isBroken = false
      const graph = StateGraph.make(
        "handled before",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            run: Effect.fnUntraced(function*() {
              if (isBroken) return yield* new Failed({ at: 1 })
              return yield* logged(Ask.ask("?"))
            }),
            onError: () => Effect.succeed({ log: ["handled"] })
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      yield* paused(thread.invoke({}))
      isBroken = true
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["handled"] })
    })
)

behaves(
  "L11 a task in a graph inside a task that no longer asks is told at the root, and earlier answers there are not",
  () =>
    Effect.gen(function*() {
      for (const durability of ["sync", "async", "exit"] as const) {
        let asks = true
        const graph = () => {
          const child = StateGraph.make(
            "child",
            StateGraph.nodes(Log, {
              first: () => logged(Ask.ask("first")),
              second: () => asks ? logged(Ask.ask("second")) : Effect.succeed({ log: ["not asked"] }),
              third: () => logged(Ask.ask("third"))
            }),
            { start: "first", edges: { first: "second", second: "third" } }
          )
          const middle = StateGraph.make("middle", StateGraph.nodes(Log, { child }), { start: "child" })
          return StateGraph.make("parent", StateGraph.nodes(Log, { middle }), { start: "middle" })
        }
        const thread = () => graph().thread(durability)
        asks = true
        yield* paused(thread().invoke({}, { durability }))
        yield* paused(thread().resume(Ask.reply("1"), { durability }))
        asks = false
        assert.deepStrictEqual(yield* mismatchesOf(thread().resume(Ask.reply("2"), { durability })), [
          notAsked("second", "second")
        ])
        assert.deepStrictEqual((yield* thread().at(["middle", "child"]).state()).next, ["second"])
        assert.deepStrictEqual(payloads(yield* paused(thread().continue({ durability }))), ["third"])
        assert.deepStrictEqual(yield* thread().resume(Ask.reply("3"), { durability }), { log: ["1", "not asked", "3"] })
      }
    })
)

behaves(
  "L11 answers that were used up in earlier turns of a graph inside a task are not asked for again",
  () =>
    Effect.gen(function*() {
      const inner = single(() => logged(Ask.ask("inner")), "inner")
      const child = StateGraph.make(
        "turns",
        StateGraph.nodes(Log, {
          // Asks itself in one turn, and through a graph in the other.
          turn: (state) =>
            state.log.length % 2 === 0 ? Effect.map(inner.call({}), ({ log }) => ({ log })) : logged(Ask.ask("turn"))
        }),
        {
          start: "turn",
          edges: { turn: StateGraph.route(["turn", END], (state) => state.log.length < 5 ? "turn" : END) }
        }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
      yield* paused(thread.invoke({}))
      for (const answer of ["1", "2", "3", "4"]) yield* paused(thread.resume(Ask.reply(answer)))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("5")), { log: ["1", "2", "3", "4", "5"] })
    })
)

behaves(
  "L11 answers to graphs that a node no longer calls are told, whether the graphs are stored or not",
  () =>
    Effect.gen(function*() {
      for (const persistence of ["call", "none"] as const) {
        const inner = StateGraph.make(
          "inner",
          StateGraph.nodes(Log, { ask: (state) => logged(Ask.ask(`inner ${state.log[0]}`)) }),
          { start: "ask" },
          { persistence }
        )
        let keys: ReadonlyArray<string> = ["a", "b"]
        const graph = single(() =>
          Effect.map(
            Effect.forEach(keys, (key) => Effect.exit(inner.call({ log: [key] }, { key })), {
              concurrency: "unbounded"
            }),
            (exits) => ({ log: exits.flatMap((exit) => Exit.isSuccess(exit) ? exit.value.log : []) })
          )
        )
        for (const left of [["a"], ["a", "b"], []]) {
          keys = ["a", "b"]
          const thread = graph.thread(`${persistence} ${left.join()}`)
          const all = yield* paused(thread.invoke({}))
          assert.deepStrictEqual(payloads(all), ["inner a", "inner b"])
          keys = left
          const replies = all.map(({ id, payload }) => Ask.reply(String(payload), { id }))
          const log = left.flatMap((key) => [key, `inner ${key}`])
          const lost = ["a", "b"].filter((key) => !left.includes(key)).map((key) => notAsked(`inner ${key}`))
          if (lost.length === 0) assert.deepStrictEqual(yield* thread.resume(replies), { log })
          else {
            assert.deepStrictEqual(yield* mismatchesOf(thread.resume(replies)), lost, persistence)
            assert.deepStrictEqual(yield* thread.continue(), { log })
          }
        }
      }
    })
)

behaves(
  "L11 a task in a graph that is not stored and no longer asks is told by the task around it",
  () =>
    Effect.gen(function*() {
      let asks = true
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Log, { ask: () => asks ? logged(Ask.ask("inner")) : Effect.succeed({ log: ["not asked"] }) }),
        { start: "ask" },
        { persistence: "none" }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { inner }), { start: "inner" }).thread("t")
      yield* paused(thread.invoke({}))
      asks = false
      assert.deepStrictEqual(yield* mismatchesOf(thread.resume(Ask.reply("yes"))), [notAsked("inner", "inner")])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["not asked"] })
    })
)

behaves("L11 a node that was answered runs, and is given no result from the cache", () =>
  Effect.gen(function*() {
    let asks = true
    const graph = StateGraph.make(
      "cached",
      StateGraph.nodes(Log, {
        node: Node.make({
          input: Log,
          cache: Policy.cache(),
          run: Effect.fnUntraced(function*() {
            return { log: [asks ? yield* Ask.ask("?") : "not asked"] }
          })
        })
      }),
      { start: "node" }
    )
    yield* paused(graph.thread("asks").invoke({}))
    asks = false
    assert.deepStrictEqual(yield* graph.thread("does not").invoke({}), { log: ["not asked"] })
    asks = true
    assert.deepStrictEqual(yield* graph.thread("asks").resume(Ask.reply("yes")), { log: ["yes"] })
  }).pipe(Effect.provide(NodeCache.layerMemory)))

behaves(
  "L11 an answer that a graph inside has used stays used where the task around it could not be stored",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, { first: () => logged(Ask.ask("first")), second: () => logged(Ask.ask("second")) }),
        { start: "first", edges: { first: "second" } }
      )
      const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
      yield* paused(thread.invoke({}))
      let puts = 0
      const fails = Checkpointer.Checkpointer.of({
        ...saver,
        // At the root, the first stores the answer.
        putTasks: (id, put) =>
          put.namespace === "" && puts++ > 0
            ? Effect.fail(new GraphError.CheckpointError({ reason: "Storage", thread: id, detail: "full" }))
            : saver.putTasks(id, put)
      })
      const failed = yield* Effect.flip(
        Effect.provideService(thread.resume(Ask.reply("1")), Checkpointer.Checkpointer, fails)
      )
      assert.strictEqual(failed._tag, "CheckpointError")
      assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["second"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("2")), { log: ["1", "2"] })
    })
)

behaves(
  "L11 every void answer of a superstep is in the cause, beside the failure of a sibling too",
  () =>
    Effect.gen(function*() {
      let isChanged = false
      let isBroken = false
      const graph = StateGraph.make(
        "several",
        StateGraph.nodes(Log, {
          a: () => isChanged ? Effect.succeed({ log: ["a"] }) : logged(Ask.ask("a")),
          b: () => logged(Ask.ask(isChanged ? "b, really" : "b")),
          c: () => isBroken ? Effect.fail(new Failed({ at: 3 })) : logged(Ask.ask("c"))
        }),
        { start: ["a", "b", "c"] },
        { onFailure: "settle" }
      )
      const changed = new GraphError.InterruptMismatch({
        reason: "OtherQuestion",
        node: "b",
        tag: "Ask",
        answered: "b",
        now: "b, really"
      })
      for (const breaks of [false, true]) {
        isChanged = isBroken = false
        const thread = graph.thread(String(breaks))
        const all = yield* paused(thread.invoke({}))
        isChanged = true
        isBroken = breaks
        const resumed = yield* Effect.exit(
          thread.resume(all.map(({ id, payload }) => Ask.reply(String(payload), { id })))
        )
        assert.deepStrictEqual(yield* mismatchesOf(resumed), [notAsked("a", "a"), changed])
        const failure = Exit.isFailure(resumed) ? Cause.findErrorOption(resumed.cause) : undefined
        assert.strictEqual(
          failure?._tag === "Some" ? failure.value._tag : failure,
          breaks ? "Failed" : "InterruptMismatch"
        )
        isBroken = false
        assert.deepStrictEqual(yield* thread.resume(Ask.reply("B")), { log: ["a", "B", "c"] })
      }
    })
)

behaves(
  "L11 an answer that its question no longer takes is void: the question waits again, and can be answered",
  () =>
    Effect.gen(function*() {
      const texts = Interrupt.make("Grade", { payload: Schema.String, answer: Schema.String })
      const numbers = Interrupt.make("Grade", { payload: Schema.String, answer: Schema.Int })
      let isNew = false
      let isHeld = true
      const ask = Effect.fnUntraced(function*() {
        const grade = isNew ? yield* numbers.ask("?") : yield* texts.ask("?")
        return isHeld ? yield* new Failed({ at: 1 }) : String(grade)
      })
      const inner = single(untyped(() => Effect.map(ask(), (grade) => ({ log: [grade] }))), "inner")
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { inner }), { start: "inner" })
      for (const one of [inner, graph as unknown as typeof inner]) {
        isNew = false
        isHeld = true
        const thread = one.thread(one.name)
        const [request] = yield* paused(thread.invoke({}))
        assert.strictEqual((yield* Effect.flip(thread.resume(untyped(texts.reply("good")))))._tag, "Failed")
        isNew = true
        isHeld = false
        const [mismatch] = yield* mismatchesOf(thread.continue())
        assert.deepStrictEqual([mismatch?.reason, mismatch?.answered, mismatch?.now], ["InvalidAnswer", "?", "?"])
        assert.include(mismatch!.message, "Answer again")
        assert.deepStrictEqual(
          (yield* thread.state()).requests,
          untyped([{ id: request!.id, tag: "Grade", payload: "?" }])
        )
        assert.deepStrictEqual(payloads(yield* paused(thread.continue())), ["?"])
        assert.deepStrictEqual(yield* thread.resume(untyped(numbers.reply(2))), { log: ["2"] })
      }
    })
)

behaves(
  "L11 a stored question is shown through the newest definition of its tag, or as it is stored",
  () =>
    Effect.gen(function*() {
      const at = new Date("2020-01-02T03:04:05.000Z")
      const dates = () => Interrupt.make("Deadline", { payload: Schema.DateFromString, answer: Schema.String })
      const first = dates()
      const thread = single(untyped(() => logged(untyped(first.ask(at))))).thread("t")
      yield* paused(thread.invoke({}))
      const shown = Effect.map(thread.state(), ({ requests }) => payloads(requests))
      // As a module that is loaded again does.
      dates()
      assert.deepStrictEqual(yield* shown, [at])
      Interrupt.make("Deadline", { payload: Schema.Int, answer: Schema.String })
      assert.deepStrictEqual(yield* shown, ["2020-01-02T03:04:05.000Z"])
      dates()
      assert.deepStrictEqual(yield* shown, [at])
    })
)

// ---------------------------------------------------------------------------
// Law 11: replies that do not fit
// ---------------------------------------------------------------------------

behaves("L11 a reply that does not fit changes nothing that is stored, and runs nothing", () =>
  Effect.gen(function*() {
    let runs = 0
    const graph = StateGraph.make(
      "replies",
      StateGraph.nodes(Log, {
        ask: Effect.fnUntraced(function*() {
          runs++
          return { log: [yield* Ask.ask("a"), yield* Ask.ask("b")] }
        }),
        age: Effect.fnUntraced(function*() {
          runs++
          return { log: [String(yield* Age.ask("age"))] }
        })
      }),
      { start: ["ask", "age"] }
    )
    const thread = graph.thread("t")
    const first = yield* paused(thread.invoke({}))
    const a = idOf(first, "a")
    const second = yield* paused(thread.resume(Ask.reply("A", { id: a })))
    const b = idOf(second, "b")
    const age = idOf(second, "age")
    const pending = [{ id: age, tag: "Age", payload: "age" }, { id: b, tag: "Ask", payload: "b" }]
    const before = yield* rowsOf("t")
    const ran = runs
    class Other extends Interrupt.make("Other", { payload: Schema.String, answer: Schema.String }) {}
    const cases: ReadonlyArray<readonly [string, unknown, Partial<GraphError.InvalidReply>]> = [
      ["unknown tag", Other.reply("x"), { reason: "Unknown", tag: "Other", id: undefined }],
      ["unknown id", Ask.reply("x", { id: "0".repeat(32) }), { reason: "Unknown", tag: "Ask", id: "0".repeat(32) }],
      ["id of another tag", Ask.reply("x", { id: age }), { reason: "Unknown", tag: "Ask", id: age }],
      ["answered before", Ask.reply("x", { id: a }), { reason: "Answered", tag: "Ask", id: a }],
      ["one good, one unknown", [Ask.reply("B", { id: b }), Other.reply("x")], {
        reason: "Unknown",
        tag: "Other",
        id: undefined
      }],
      ["twice the same", [Ask.reply("B"), Ask.reply("C", { id: b })], { reason: "Ambiguous", tag: "Ask", id: b }],
      ["wrong type", Age.reply("old" as unknown as number), { reason: "InvalidAnswer", tag: "Age", id: undefined }],
      ["one good, one of the wrong type", [Ask.reply("B"), Age.reply(1.5)], {
        reason: "InvalidAnswer",
        tag: "Age",
        id: undefined
      }]
    ]
    for (const [name, replies, expected] of cases) {
      const error = yield* Effect.flip(thread.resume(untyped(replies)))
      if (error._tag !== "InvalidReply") return assert.fail(`${name}: ${error._tag}`)
      const { id, reason, tag } = error
      assert.deepStrictEqual({ id, reason, tag }, expected as { id: string; reason: "Unknown"; tag: string }, name)
      assert.deepStrictEqual(error.pending, pending, name)
      assert.strictEqual(runs, ran, name)
      assert.deepStrictEqual(yield* rowsOf("t"), before, name)
    }
    assert.deepStrictEqual(yield* thread.resume([Age.reply(3), Ask.reply("B")]), { log: ["3", "A", "B"] })
    const done = yield* rowsOf("t")
    const late = yield* Effect.flip(thread.resume(Ask.reply("x")))
    assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "NothingPending")
    assert.deepStrictEqual(yield* rowsOf("t"), done)
  }))

behaves("L11 an answer is kept in its encoded form, and given to the node decoded", () =>
  Effect.gen(function*() {
    const at = new Date("2020-01-02T03:04:05.000Z")
    const graph = StateGraph.make(
      "dates",
      StateGraph.nodes(Log, {
        ask: Effect.fnUntraced(function*() {
          const answer = yield* When.ask(at)
          yield* Ask.ask("again?")
          return { log: [answer instanceof Date ? answer.toISOString() : "no date"] }
        })
      }),
      { start: "ask" }
    )
    const thread = graph.thread("t")
    const [request] = yield* paused(thread.invoke({}))
    assert.deepStrictEqual(request!.payload, at)
    assert.deepStrictEqual((yield* thread.state()).requests[0]!.payload, at)
    yield* paused(thread.resume(When.reply(new Date("2030-01-01T00:00:00.000Z"))))
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["2030-01-01T00:00:00.000Z"] })
  }))

behaves("L11 a resume may start further nodes beside the one that was answered", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "steered",
      StateGraph.nodes(Log, {
        ask: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })),
        other: () => ({ log: ["other"] }),
        work: Node.make({
          input: Schema.Struct({ x: Schema.Int }),
          run: ({ x }) => Effect.succeed({ log: [`work ${x}`] })
        })
      }),
      { start: "ask" }
    )
    const thread = graph.thread("t")
    yield* paused(thread.invoke({}))
    assert.deepStrictEqual(
      yield* thread.resume(Ask.reply("yes"), {
        update: { log: ["update"] },
        goto: ["other", Send.make("work", { x: 1 })]
      }),
      { log: ["update", "yes", "other", "work 1"] }
    )
    const [last] = yield* thread.history()
    assert.deepStrictEqual([last!.step, last!.next], [1, []])
  }))

behaves(
  "L11 an update of a paused thread asks again under new ids; the old ones are unknown",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const graph = StateGraph.make(
        "updated",
        StateGraph.nodes(Log, {
          ask: Effect.fnUntraced(function*(s) {
            runs.push("ask")
            return { log: [`${yield* Ask.ask(`after ${s.log.length}`)}`] }
          }),
          sibling: () => {
            runs.push("sibling")
            return { log: ["sibling"] }
          },
          free: () => ({ log: ["free"] })
        }),
        { start: ["ask", "sibling"] }
      )
      const thread = graph.thread("t")
      const [old] = yield* paused(thread.invoke({}))
      yield* thread.update({ log: ["update"] }, { asNode: "free" })
      const state = yield* thread.state()
      // What had finished stays finished, what is left to run stays so, and nothing is asked until it has run.
      assert.deepStrictEqual([state.values, state.next, state.requests, state.source], [
        { log: ["update", "sibling"] },
        ["ask"],
        [],
        "update"
      ])
      runs.length = 0
      const [again] = yield* paused(thread.continue())
      assert.strictEqual(again!.payload, "after 1")
      assert.notStrictEqual(again!.id, old!.id)
      assert.deepStrictEqual(runs, ["ask"])
      const late = yield* Effect.flip(thread.resume(Ask.reply("x", { id: old!.id })))
      assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "Unknown")
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["update", "yes", "sibling"] })
    })
)

// ---------------------------------------------------------------------------
// Law 11, 13: answers survive a crash
// ---------------------------------------------------------------------------

behaves("L13 an answer that was taken survives a crash before its node is done", () =>
  Effect.gen(function*() {
    for (const durability of ["sync", "async", "exit"] as const) {
      const answered = yield* Deferred.make<void>()
      let isHeld = true
      let runs = 0
      const graph = () =>
        StateGraph.make(
          "held",
          StateGraph.nodes(Log, {
            ask: Effect.fnUntraced(function*() {
              runs++
              const answer = yield* Ask.ask("?")
              yield* Deferred.succeed(answered, undefined)
              if (isHeld) yield* Effect.never
              return { log: [answer] }
            }),
            sibling: () => ({ log: ["sibling"] })
          }),
          { start: ["ask", "sibling"] }
        )
      yield* paused(graph().thread(durability).invoke({}, { durability }))
      const fiber = yield* Effect.forkChild(graph().thread(durability).resume(Ask.reply("yes"), { durability }))
      yield* Deferred.await(answered)
      yield* Fiber.interrupt(fiber)
      isHeld = false
      const thread = graph().thread(durability)
      const state = yield* thread.state()
      assert.deepStrictEqual([state.requests, state.next], [[], ["ask"]], durability)
      // The question has its answer: it cannot be given another.
      const late = yield* Effect.flip(thread.resume(Ask.reply("no")))
      assert.strictEqual(late._tag === "InvalidReply" ? late.reason : late._tag, "Answered")
      assert.deepStrictEqual(yield* thread.continue(), { log: ["yes", "sibling"] })
      assert.strictEqual(runs, 3)
    }
  }))

behaves(
  "L13 every further question of a node is stored before it is seen, in every durability, and so is a changed one",
  () =>
    Effect.gen(function*() {
      for (const durability of ["sync", "async", "exit"] as const) {
        let second = "2"
        const graph = () =>
          StateGraph.make(
            "further",
            StateGraph.nodes(Log, {
              before: () => ({ log: ["before"] }),
              node: Effect.fnUntraced(function*() {
                return { log: [yield* Ask.ask("1"), yield* Ask.ask(second), yield* Ask.ask("3")] }
              }),
              sibling: () => ({ log: ["sibling"] })
            }),
            { start: "before", edges: { before: ["node", "sibling"] } }
          )
        const thread = () => graph().thread(durability)
        const waits = Effect.map(
          Effect.suspend(() => thread().state()),
          ({ requests, values }) => [payloads(requests), values.log]
        )
        yield* paused(thread().invoke({}, { durability }))
        assert.deepStrictEqual(yield* waits, [["1"], ["before", "sibling"]], durability)
        yield* paused(thread().resume(Ask.reply("one"), { durability }))
        assert.deepStrictEqual(yield* waits, [["2"], ["before", "sibling"]], durability)
        second = "2, really"
        assert.strictEqual(
          (yield* Effect.flip(thread().resume(Ask.reply("two"), { durability })))._tag,
          "InterruptMismatch"
        )
        assert.deepStrictEqual(yield* waits, [["2, really"], ["before", "sibling"]], durability)
        yield* paused(thread().resume(Ask.reply("two, really"), { durability }))
        assert.deepStrictEqual(yield* waits, [["3"], ["before", "sibling"]], durability)
        assert.deepStrictEqual(yield* thread().resume(Ask.reply("three"), { durability }), {
          log: ["before", "one", "two, really", "three", "sibling"]
        })
      }
    })
)

behaves("L13 and so it is for the questions of a graph inside a graph inside a task", () =>
  Effect.gen(function*() {
    for (const durability of ["sync", "async", "exit"] as const) {
      const graph = () => {
        const child = StateGraph.make(
          "child",
          StateGraph.nodes(Log, {
            node: Effect.fnUntraced(function*() {
              return { log: [yield* Ask.ask("1"), yield* Ask.ask("2")] }
            }),
            last: () => Effect.map(Ask.ask("3"), (answer) => ({ log: [answer] }))
          }),
          { start: "node", edges: { node: "last" } }
        )
        const middle = StateGraph.make("middle", StateGraph.nodes(Log, { child }), { start: "child" })
        return StateGraph.make("parent", StateGraph.nodes(Log, { middle }), { start: "middle" })
      }
      const thread = () => graph().thread(durability)
      yield* paused(thread().invoke({}, { durability }))
      for (const [index, payload] of ["1", "2", "3"].entries()) {
        for (
          const part of [thread().state(), thread().at(["middle"]).state(), thread().at(["middle", "child"]).state()]
        ) {
          assert.deepStrictEqual(payloads((yield* part).requests), [payload], `${durability} ${payload}`)
        }
        if (index < 2) yield* paused(thread().resume(Ask.reply(payload), { durability }))
      }
      assert.deepStrictEqual(yield* thread().resume(Ask.reply("3"), { durability }), { log: ["1", "2", "3"] })
    }
  }))

behaves("L13 a pause is stored before it is seen, in every durability", () =>
  Effect.gen(function*() {
    const saver = yield* Checkpointer.Checkpointer
    for (const durability of ["sync", "async", "exit"] as const) {
      const thread = twice({ count: 0 }).thread(durability)
      const seen: Array<unknown> = []
      yield* recorded(thread.stream({ text: "" }, { modes: ["values"], durability })).pipe(
        Effect.tap(({ events }) => Effect.sync(() => seen.push(events.at(-1)!.mode)))
      )
      const head = yield* saver.head(durability, "")
      assert.strictEqual(head._tag, "Some")
      assert.deepStrictEqual(seen, ["paused"])
      assert.deepStrictEqual(payloads((yield* thread.state()).requests), ["1"])
    }
  }))
