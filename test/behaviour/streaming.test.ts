/** What a run shows while it runs: modes, order, graphs inside, pauses. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Schema, Stream } from "effect"
import { Channel, Checkpointer, Command, Node, Running, Send, State, StateGraph } from "superstep"
import { Ask, inside, line, Log, robot } from "./Events.ts"
import { collect, payloads, recorded } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Failed extends Schema.TaggedError<Failed>()("Failed", { at: Schema.Int }) {}
class Demo extends State.make({ total: Schema.Int, secret: Channel.append(Schema.String) }, { output: ["total"] }) {}

const all = ["values", "updates", "custom", "tasks", "checkpoints"] as const

const chain = StateGraph.make(
  "chain",
  StateGraph.nodes(Demo, {
    a: Effect.fnUntraced(function*(s) {
      yield* Running.emit({ at: "a" })
      return { total: s.total * 2, secret: ["a"] }
    }),
    b: () => Effect.void,
    c: (s) => Effect.succeed([{ total: s.total + 1 }, { secret: ["c1"] }, { secret: ["c2"] }])
  }),
  { start: "a", edges: { a: "b", b: "c" } }
)

// ---------------------------------------------------------------------------
// Modes and order
// ---------------------------------------------------------------------------

behaves("LG§8.3 all modes of one superstep come in the promised order", () =>
  Effect.gen(function*() {
    const events = yield* collect(chain.thread("t").stream({ total: 10 }, { modes: all }))
    assert.deepStrictEqual(events.map(line), [
      "checkpoints -1",
      "values 0",
      "checkpoints 0",
      "started a",
      "custom a",
      "updates a",
      "ended a",
      "values 1",
      "checkpoints 1",
      "started b",
      "updates b",
      "ended b",
      "checkpoints 2",
      "started c",
      "updates c",
      "ended c",
      "values 3",
      "checkpoints 3"
    ])
    // No mode changes what the others show.
    for (const mode of all) {
      const alone = yield* collect(chain.thread(mode).stream({ total: 10 }, { modes: [mode] }))
      assert.deepStrictEqual(alone, events.filter((event) => event.mode === mode) as typeof alone)
    }
    assert.deepStrictEqual(yield* collect(chain.thread("none").stream({ total: 10 }, { modes: [] })), [])
    assert.deepStrictEqual((yield* chain.thread("none").state()).values, { total: 21, secret: ["a", "c1", "c2"] })
  }))

behaves(
  "LG§8.2 values are the output keys after each superstep that changed the state, from the start on",
  () =>
    Effect.gen(function*() {
      const events = yield* collect(chain.thread("t").stream({ total: 10 }, { modes: ["values"] }))
      assert.deepStrictEqual(events, [
        { mode: "values", path: [], step: 0, values: { total: 10 } },
        { mode: "values", path: [], step: 1, values: { total: 20 } },
        { mode: "values", path: [], step: 3, values: { total: 21 } }
      ])
    })
)

behaves(
  "LG§8.2 updates are what each node returned: a record, nothing, a list, a Command's update, an Overwrite",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "shapes",
        StateGraph.nodes(Log, {
          a: () => Effect.void,
          b: () => Effect.succeed(Command.make({ update: { log: ["b"] }, goto: ["c", "d"] })),
          c: () => ({ log: Channel.overwrite(["c"]) }),
          d: () => [{ log: ["d1"] }, { log: ["d2"] }]
        }),
        { start: "a", edges: { a: "b" } }
      )
      const events = yield* collect(graph.thread("t").stream({ log: ["in"] }, { modes: ["updates"] }))
      const shown = events.map((event) =>
        event.mode === "updates" ? [event.step, event.node, event.update as unknown, event.cached] : []
      )
      assert.deepStrictEqual(shown, [
        [1, "a", undefined, false],
        [2, "b", { log: ["b"] }, false],
        [3, "c", { log: Channel.overwrite(["c"]) }, false],
        [3, "d", [{ log: ["d1"] }, { log: ["d2"] }], false]
      ])
      assert.deepStrictEqual((yield* graph.thread("t").state()).values, { log: ["c", "d1", "d2"] })
    })
)

behaves("LG§8.2 custom data comes at once, in the order in which a node sends it", () =>
  Effect.gen(function*() {
    const seen = yield* Deferred.make<void>()
    const graph = StateGraph.make(
      "emits",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          yield* Running.emit(1)
          // Goes on only when the reader has it: nothing waits for the end of the node.
          yield* Deferred.await(seen)
          yield* Running.emit({ two: 2 })
          yield* Running.emit(undefined)
          return { log: ["done"] }
        })
      }),
      { start: "node" }
    )
    const events: Array<unknown> = []
    yield* Stream.runForEach(graph.thread("t").stream({}, { modes: ["custom"] }), (event) =>
      Effect.andThen(Effect.sync(() => void events.push(event)), Deferred.succeed(seen, undefined)))
    const origin = { mode: "custom", path: [], step: 1, node: "node" }
    assert.deepStrictEqual(events, [{ ...origin, data: 1 }, { ...origin, data: { two: 2 } }, {
      ...origin,
      data: undefined
    }])
  }))

behaves(
  "LG§8.2 tasks begin in task order with input and triggers, and end with a result, an error or questions",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "ends",
        StateGraph.nodes(Log, {
          asks: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] })),
          fails: () => Effect.fail(new Failed({ at: 1 })),
          gives: () => ({ log: ["x"] }),
          work: Node.make({
            input: Schema.Struct({ x: Schema.Int }),
            run: ({ x }) => Effect.succeed({ log: [String(x)] })
          })
        }),
        {
          start: StateGraph.route(
            ["asks", "fails", "gives", "work"],
            () => ["gives" as const, Send.make("work", { x: 1 }), "fails" as const, "asks" as const]
          )
        },
        { onFailure: "settle" }
      )
      const { end, events } = yield* recorded(graph.thread("t").stream({ log: ["in"] }, { modes: ["tasks"] }))
      assert.strictEqual(end, "Failed")
      const tasks = events.flatMap((event) => event.mode === "tasks" ? [event] : [])
      const origin = { mode: "tasks", path: [], step: 1 } as const
      const pull = (node: string) => ({
        ...origin,
        type: "started" as const,
        id: `pull:${node}`,
        node,
        input: { log: ["in"] },
        triggers: [`branch:to:${node}`]
      })
      assert.deepStrictEqual<unknown>(tasks.slice(0, 4), [
        pull("asks"),
        pull("fails"),
        pull("gives"),
        { ...origin, type: "started", id: "send:0000000000:work", node: "work", input: { x: 1 }, triggers: ["__tasks"] }
      ])
      const ended = tasks.slice(4).flatMap((event) => event.type === "ended" ? [event] : []).toSorted((x, y) =>
        x.id < y.id ? -1 : 1
      )
      const [request] = (yield* graph.thread("t").state()).requests
      assert.deepStrictEqual<unknown>(ended, [
        {
          ...origin,
          type: "ended",
          id: "pull:asks",
          node: "asks",
          result: undefined,
          error: undefined,
          requests: [request]
        },
        { ...origin, type: "ended", id: "pull:fails", node: "fails", result: undefined, error: "Failed", requests: [] },
        {
          ...origin,
          type: "ended",
          id: "pull:gives",
          node: "gives",
          result: { log: ["x"] },
          error: undefined,
          requests: []
        },
        {
          ...origin,
          type: "ended",
          id: "send:0000000000:work",
          node: "work",
          result: { log: ["1"] },
          error: undefined,
          requests: []
        }
      ])
      assert.strictEqual(tasks.length, 8)
    })
)

behaves(
  "LG§8.2 checkpoints name themselves, their parent, their source and what is next, as the history has them",
  () =>
    Effect.gen(function*() {
      const thread = chain.thread("t")
      const events = yield* collect(thread.stream({ total: 10 }, { modes: ["checkpoints"] }))
      const shown = events.map((event) => event.mode === "checkpoints" ? { ...event, mode: undefined } : undefined)
      const history = (yield* thread.history()).toReversed()
      assert.deepStrictEqual<unknown>(
        shown,
        history.map(({ checkpoint, next, parent, path, source, step, values }) => ({
          mode: undefined,
          path,
          step,
          checkpoint,
          parent,
          source,
          values,
          next
        }))
      )
      assert.deepStrictEqual(history.map(({ next, source }) => [source, next.join()]), [
        ["input", "__start__"],
        ["loop", "a"],
        ["loop", "b"],
        ["loop", "c"],
        ["loop", ""]
      ])
    })
)

behaves(
  "LG§8.2 debug wraps the events of tasks and checkpoints, with their time, right after their counterparts",
  () =>
    Effect.gen(function*() {
      const before = Date.now()
      const events = yield* collect(
        chain.thread("t").stream({ total: 10 }, { modes: ["tasks", "checkpoints", "debug"] })
      )
      assert.strictEqual(events.length % 2, 0)
      for (let index = 0; index < events.length; index += 2) {
        const [plain, debug] = [events[index]!, events[index + 1]!]
        if (debug.mode !== "debug") return assert.fail(line(debug))
        assert.deepStrictEqual<unknown>(debug.payload, plain)
        assert.deepStrictEqual([debug.step, debug.path], [plain.step, plain.path])
        assert.isAtLeast(debug.timestampMillis, before)
        const type = plain.mode === "checkpoints"
          ? "checkpoint"
          : plain.mode === "tasks" && plain.type === "started"
          ? "task"
          : "task_result"
        assert.strictEqual(debug.type, type)
      }
      const alone = yield* collect(chain.thread("u").stream({ total: 10 }, { modes: ["debug"] }))
      assert.deepStrictEqual(alone.map(line), events.filter(({ mode }) => mode === "debug").map(line))
    })
)

behaves(
  "LG§8.3 parallel tasks: begun in task order, updates as they finish, then the values of their superstep",
  () =>
    Effect.gen(function*() {
      const done = yield* Deferred.make<void>()
      const graph = StateGraph.make(
        "parallel",
        StateGraph.nodes(Log, {
          slow: () => Effect.as(Deferred.await(done), { log: ["slow"] }),
          quick: () => ({ log: ["quick"] })
        }),
        { start: ["slow", "quick"] }
      )
      const lines: Array<string> = []
      yield* Stream.runForEach(graph.thread("t").stream({}, { modes: ["tasks", "updates", "values"] }), (event) => {
        lines.push(line(event))
        // The update of a finished task is seen while its sibling runs.
        return event.mode === "updates" && event.node === "quick" ? Deferred.succeed(done, undefined) : Effect.void
      })
      assert.deepStrictEqual(lines, [
        "started quick",
        "started slow",
        "updates quick",
        "ended quick",
        "updates slow",
        "ended slow",
        "values 1"
      ])
    })
)

behaves(
  "LG§8.2 nothing of the engine's own nodes is shown, and a failed task has no update",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "fails",
        StateGraph.nodes(Log, { node: () => Effect.fail(new Failed({ at: 1 })) }),
        { start: "node" }
      )
      const { end, events } = yield* recorded(graph.thread("t").stream({ log: ["in"] }, { modes: all }))
      assert.strictEqual(end, "Failed")
      assert.deepStrictEqual(events.map(line), [
        "checkpoints -1",
        "values 0",
        "checkpoints 0",
        "started node",
        "ended node"
      ])
    })
)

it.effect("LG§8.2 without a thread it is the same, and checkpoints have no ids", () =>
  Effect.gen(function*() {
    const events = yield* collect(chain.stream({ total: 10 }, { modes: all }))
    const stored = yield* Effect.provide(
      collect(chain.thread("t").stream({ total: 10 }, { modes: all })),
      Checkpointer.layerMemory
    )
    assert.deepStrictEqual(events.map(line), stored.map(line))
    for (const event of events) {
      if (event.mode === "checkpoints") assert.deepStrictEqual([event.checkpoint, event.parent], [undefined, undefined])
    }
  }))

// ---------------------------------------------------------------------------
// Graphs inside
// ---------------------------------------------------------------------------

behaves(
  "LG§8.5 events of graphs inside are shown only if asked for, whatever they keep, with the path they come from",
  () =>
    Effect.gen(function*() {
      for (const persistence of ["call", "thread", "none"] as const) {
        const graph = inside(persistence)
        const quiet = yield* collect(graph.thread(`${persistence} quiet`).stream({}, { modes: all }))
        assert.deepStrictEqual(quiet.map(line), [
          "checkpoints -1",
          "checkpoints 0",
          "started middle",
          "updates middle",
          "ended middle",
          "values 1",
          "checkpoints 1",
          "started calls",
          "updates calls",
          "ended calls",
          "values 2",
          "checkpoints 2"
        ])
        const loud = yield* collect(
          graph.thread(`${persistence} loud`).stream({}, { modes: ["updates", "custom", "tasks"], subgraphs: true })
        )
        assert.deepStrictEqual(loud.map(line), [
          "started middle",
          "middle: started leaf",
          "middle/leaf: started deep",
          "middle/leaf: custom deep",
          "middle/leaf: updates deep",
          "middle/leaf: ended deep",
          "middle: updates leaf",
          "middle: ended leaf",
          "updates middle",
          "ended middle",
          "started calls",
          "calls~0: started deep",
          "calls~0: custom deep",
          "calls~0: updates deep",
          "calls~0: ended deep",
          "updates calls",
          "ended calls"
        ])
        assert.deepStrictEqual(
          loud.filter(({ path }) => path.length === 0),
          quiet.filter(({ mode }) => mode === "updates" || mode === "tasks") as typeof loud
        )
      }
    })
)

behaves("LG§8.5 every level of a graph in a graph has its own values and checkpoints", () =>
  Effect.gen(function*() {
    const events = yield* collect(
      inside("call").thread("t").stream({ log: ["in"] }, { modes: ["values", "checkpoints"], subgraphs: true })
    )
    const of = (path: string) =>
      events.flatMap((event) => event.path.join("/") !== path ? [] : event.mode === "values" ? [event.values] : [])
    assert.deepStrictEqual<unknown>(of("middle/leaf"), [{ log: ["in"] }, { log: ["in", "deep"] }])
    assert.deepStrictEqual<unknown>(of("middle"), [{ log: ["in"] }, { log: ["in", "deep"] }])
    assert.deepStrictEqual<unknown>(of("calls~0"), [{ log: ["deep"] }])
    assert.deepStrictEqual<unknown>(of(""), [{ log: ["in"] }, { log: ["in", "deep"] }, { log: ["in", "deep", "deep"] }])
    const steps = (path: string) =>
      events.flatMap((event) => event.mode === "checkpoints" && event.path.join("/") === path ? [event.step] : [])
    for (const path of ["", "middle", "middle/leaf", "calls~0"]) {
      assert.deepStrictEqual(steps(path), path === "" ? [-1, 0, 1, 2] : [-1, 0, 1])
    }
  }))

behaves("LG#127 a graph that is kept, in a loop, is always shown at one path", () =>
  Effect.gen(function*() {
    class Foo extends State.make({
      foo: Channel.reducer({
        value: Schema.String,
        initial: () => "",
        reduce: (a: string, b: string) => a + b
      })
    }) {}
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Foo, { one: () => ({ foo: " got here" }), two: () => ({ foo: " and there" }) }),
      {
        start: "one",
        edges: { one: "two" }
      },
      { persistence: "thread" }
    )
    const graph = StateGraph.make("parent", StateGraph.nodes(Foo, { inner: child }), {
      start: "inner",
      edges: {
        inner: StateGraph.route(["inner", "__end__"], (s) => s.foo.split("there").length < 3 ? "inner" : "__end__")
      }
    })
    const events = yield* collect(graph.thread("t").stream({ foo: "" }, { modes: ["updates"], subgraphs: true }))
    assert.deepStrictEqual(events.map(line), [
      "inner: updates one",
      "inner: updates two",
      "updates inner",
      "inner: updates one",
      "inner: updates two",
      "updates inner"
    ])
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { foo: " got here and there got here and there" })
  }))

// ---------------------------------------------------------------------------
// Pauses
// ---------------------------------------------------------------------------

behaves(
  "LG#125 a run that pauses shows all its events, then one that says what it waits for; after the answer it shows what changes",
  () =>
    Effect.gen(function*() {
      const thread = robot.thread("t")
      const first = yield* recorded(thread.stream({}, { modes: ["updates", "values"] }))
      const [request] = (yield* thread.state()).requests
      assert.deepStrictEqual(first, {
        end: "GraphInterrupt",
        events: [
          { mode: "updates", path: [], step: 1, node: "robot", update: { log: ["beep"] }, cached: false },
          { mode: "values", path: [], step: 1, values: { log: ["beep"] } },
          { mode: "paused", path: [], step: 2, requests: [{ id: request!.id, tag: "Ask", payload: "interrupt" }] }
        ]
      })
      const second = yield* recorded(
        thread.stream(Command.resume(Ask.reply("hello")), { modes: ["updates", "values"] })
      )
      assert.deepStrictEqual(second, {
        end: "end",
        events: [
          { mode: "updates", path: [], step: 2, node: "human", update: { log: ["hello"] }, cached: false },
          { mode: "values", path: [], step: 2, values: { log: ["beep", "hello"] } }
        ]
      })
    })
)

behaves(
  "LG§8.3 events is the same stream, and a pause ends it normally; other failures stay failures",
  () =>
    Effect.gen(function*() {
      const streamed = yield* recorded(robot.thread("streamed").stream({}, { modes: all }))
      const ended = yield* recorded(robot.thread("ended").events({}, { modes: all }))
      assert.deepStrictEqual([streamed.end, ended.end], ["GraphInterrupt", "end"])
      assert.deepStrictEqual(ended.events, streamed.events)
      assert.strictEqual((yield* recorded(robot.thread("ended").events({}, { modes: all }))).end, "PendingWork")
      assert.strictEqual(
        (yield* recorded(robot.thread("none").events(Command.continue, { modes: all }))).end,
        "UnknownThread"
      )
    })
)

behaves(
  "O5 questions of parallel tasks and of a graph inside are told once, the same in every mode and in the state",
  () =>
    Effect.gen(function*() {
      const ask = (name: string) => () => Effect.map(Ask.ask(name), (answer) => ({ log: [answer] }))
      const child = StateGraph.make("child", StateGraph.nodes(Log, { c: ask("c") }), { start: "c" })
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { a: ask("a"), b: ask("b"), child }), {
        start: ["a", "b", "child"]
      })
      const modes = ["values", "updates", "custom", "tasks", "checkpoints", "debug"] as const
      for (const subgraphs of [false, true]) {
        for (let bits = 0; bits < 1 << modes.length; bits++) {
          const chosen = modes.filter((_, index) => (bits & (1 << index)) !== 0)
          if (chosen.length > 2 && chosen.length < modes.length) continue
          const thread = graph.thread(`${subgraphs} ${bits}`)
          const { end, events } = yield* recorded(thread.stream({}, { modes: chosen, subgraphs }))
          assert.strictEqual(end, "GraphInterrupt")
          const told = events.filter(({ mode }) => mode === "paused")
          const last = events.at(-1)!
          assert.strictEqual(told.length, 1)
          if (last.mode !== "paused") return assert.fail(line(last))
          assert.deepStrictEqual(payloads(last.requests), ["a", "b", "c"])
          assert.deepStrictEqual(last.requests, (yield* thread.state()).requests)
          if (!chosen.includes("tasks")) continue
          const byTask = events.flatMap((event) =>
            event.mode === "tasks" && event.type === "ended" && event.path.length === 0 ? event.requests : []
          )
          assert.deepStrictEqual(byTask.map(({ id }) => id).toSorted(), last.requests.map(({ id }) => id).toSorted())
        }
      }
    })
)
