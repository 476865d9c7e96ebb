/** From a definition to a machine: its shape, and everything that can be wrong with it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Channel, Command, END, Node, Pregel, Send, START, State, StateGraph } from "superstep"
import { joinChannel } from "../../src/internal/engine/program.ts"
import { program, untypedGraph } from "./machine.ts"

class Log extends State.make({ log: Channel.append(Schema.String), total: Schema.Int }) {}
const nothing = () => undefined
const deferred = Node.make({ input: Log, run: () => Effect.succeed({}), defer: true })

// oxlint-disable-next-line typescript/no-explicit-any
const untyped = (value: unknown): any => value

// ---------------------------------------------------------------------------
// What a graph becomes
// ---------------------------------------------------------------------------

it("§6.2 the channels of a graph: state keys, start, tasks, a branch per node, a barrier per join", () => {
  const view = untypedGraph("g", Log, { a: nothing, b: nothing, d: deferred, t: nothing }, {
    start: ["a", "b"],
    edges: {
      a: [StateGraph.join("t"), StateGraph.join("d", { group: "g" })],
      b: [
        StateGraph.join("t"),
        StateGraph.join("t", { group: "late", release: "idle" }),
        StateGraph.join("d", { group: "g" })
      ]
    }
  }).pregel
  assert.deepStrictEqual(Object.keys(view.channels), [
    "log",
    "total",
    "__start__",
    "__tasks",
    "branch:to:a",
    "branch:to:b",
    "branch:to:d",
    "branch:to:t",
    "join:a+b:t",
    "join:g=a+b:d",
    "join:late=b:t"
  ])
  assert.deepStrictEqual(view.channels["__start__"], { _tag: "EphemeralValue", guard: true })
  assert.deepStrictEqual(view.channels["__tasks"], { _tag: "Topic", accumulate: false, unique: false })
  assert.deepStrictEqual(view.channels["branch:to:a"], { _tag: "EphemeralValue", guard: false })
  assert.deepStrictEqual(view.channels["branch:to:d"], { _tag: "LastValueAfterFinish" })
  assert.deepStrictEqual(view.channels["join:a+b:t"], { _tag: "NamedBarrier", names: ["a", "b"], release: "all" })
  assert.deepStrictEqual(view.channels["join:late=b:t"], { _tag: "NamedBarrier", names: ["b"], release: "idle" })
  assert.deepStrictEqual(view.channels["join:g=a+b:d"], {
    _tag: "NamedBarrierAfterFinish",
    names: ["a", "b"],
    release: "all"
  })
  assert.deepStrictEqual(view.nodes["t"]!.triggers, ["branch:to:t", "join:a+b:t", "join:late=b:t"])
  assert.deepStrictEqual(view.nodes["d"]!.triggers, ["branch:to:d", "join:g=a+b:d"])
  assert.isTrue(view.nodes["d"]!.defer)
  assert.deepStrictEqual(view.nodes["b"]!.writers, [
    { _tag: "Update" },
    { _tag: "Join", node: "t", channel: "join:a+b:t" },
    { _tag: "Join", node: "t", channel: "join:late=b:t" },
    { _tag: "Join", node: "d", channel: "join:g=a+b:d" }
  ])
})

it("§6.2 a node reads the state, or the keys that its own input names", () => {
  const view = untypedGraph("g", Log, {
    all: nothing,
    state: Node.make({ input: Log, run: () => Effect.succeed({}) }),
    some: Node.make({ input: Schema.Struct({ total: Schema.Int, other: Schema.Int }), run: () => Effect.succeed({}) }),
    none: Node.make({ input: Schema.Struct({ x: Schema.Int }), run: () => Effect.succeed({}) })
  }, { start: "all" }).pregel
  const reads = (name: string) => view.nodes[name]!.reads
  assert.deepStrictEqual([reads("all"), reads("state"), reads("some"), reads("none")], [
    ["log", "total"],
    ["log", "total"],
    ["total"],
    []
  ])
})

it("S2 nodes are shown by name, whatever the order of their declaration, and a graph inside shows itself", () => {
  const child = untypedGraph("child", Log, { x: nothing }, { start: "x" })
  const view =
    untypedGraph("g", Log, { z: child, a: nothing }, { start: "a", edges: { a: "z", z: END } }, { version: "2" }).pregel
  assert.deepStrictEqual(Object.keys(view.nodes), ["__start__", "a", "z"])
  assert.deepStrictEqual(view.nodes["z"]!.graph, child.pregel)
  assert.isUndefined(view.nodes["a"]!.graph)
  assert.deepStrictEqual([view.name, view.version], ["g", "2"])
  assert.deepStrictEqual(view.nodes["z"]!.writers, [{ _tag: "Update" }])
  assert.strictEqual(untypedGraph("g", Log, { a: nothing }, { start: "a" }).pregel.version, undefined)
})

it("S2 where Commands may go and what a route may choose is shown", () => {
  const view = untypedGraph("g", Log, {
    a: Node.make({ input: Log, run: () => Effect.succeed(Command.make({ goto: "b" })), destinations: ["b", END] }),
    b: nothing
  }, { start: "a", edges: { b: StateGraph.route(["a", END], () => END) } }).pregel
  assert.deepStrictEqual(view.nodes["a"]!.destinations, ["b", END])
  assert.deepStrictEqual(view.nodes["b"]!.writers, [{ _tag: "Update" }, { _tag: "Route", targets: ["a", END] }])
})

it("§6.3 edges to the end, joins to the end and unreachable nodes are allowed and do nothing", () => {
  const view = untypedGraph("g", Log, { a: nothing, lonely: nothing }, {
    start: ["a", END],
    edges: { a: [END, StateGraph.join(END)] }
  }).pregel
  assert.isFalse(Object.keys(view.channels).some((name) => name.startsWith("join:")))
  assert.deepStrictEqual(view.nodes["__start__"]!.writers, [{ _tag: "Update" }, {
    _tag: "Wake",
    node: "a",
    channel: "branch:to:a"
  }])
})

it("§6.3 a node may be called like a state key, or like a key of every object", () => {
  const machine = program(Log, { log: nothing, constructor: nothing, toString: nothing, ["__proto__"]: nothing }, {
    start: "log",
    edges: { log: "constructor" }
  })
  assert.deepStrictEqual(machine.nodes.map(({ name }) => name), [
    "__proto__",
    "__start__",
    "constructor",
    "log",
    "toString"
  ])
  assert.deepStrictEqual(machine.nodes.map(({ writers }) => writers.length), [1, 2, 1, 2, 1])
})

it("Law18 the fingerprint tells shapes and versions apart, and is the same for the same graph", () => {
  const make = (name: string, bodies: object, edges: object, version?: string) =>
    untypedGraph(name, Log, bodies, { start: "a", edges }, { version }).pregel.fingerprint
  const base = make("g", { a: nothing, b: nothing }, {})
  assert.strictEqual(make("g", { a: () => ({ total: 1 }), b: nothing }, {}), base)
  assert.match(base, /^[0-9a-f]{32}$/)
  const others = [
    make("h", { a: nothing, b: nothing }, {}),
    make("g", { a: nothing, c: nothing }, {}),
    make("g", { a: nothing, b: deferred }, {}),
    make("g", { a: nothing, b: nothing }, { a: StateGraph.join("b") }),
    make("g", { a: nothing, b: nothing }, {}, "2")
  ]
  assert.strictEqual(new Set([base, ...others]).size, 6)
})

it("§6.4 a join is named by its sources or its group", () => {
  assert.strictEqual(joinChannel(["b", "a"], undefined, "t"), "join:b+a:t")
  assert.strictEqual(joinChannel(["b", "a"], "g", "t"), "join:g=b+a:t")
})

it("§6.3 sequence makes edges from each node to the next", () => {
  assert.deepStrictEqual(StateGraph.sequence("a", "b", "c"), untyped({ a: "b", b: "c" }))
  assert.deepStrictEqual(StateGraph.sequence("a"), untyped({}))
})

// ---------------------------------------------------------------------------
// What is wrong with a definition
// ---------------------------------------------------------------------------

describe("a wrong definition is refused when it is made, and says what is wrong", () => {
  const bodies = { a: nothing, b: nothing, c: nothing }
  const cases: ReadonlyArray<readonly [id: string, what: string, make: () => unknown, message: string]> = [
    [
      "§6.3",
      "no start",
      () => untypedGraph("g", Log, bodies, {}),
      "graph \"g\": needs a start: at least one node that it leads to"
    ],
    [
      "§6.3",
      "an empty start",
      () => untypedGraph("g", Log, bodies, { start: [] }),
      "graph \"g\": needs a start: at least one node that it leads to"
    ],
    [
      "§6.3",
      "a start at no node",
      () => untypedGraph("g", Log, bodies, { start: "z" }),
      "graph \"g\": node \"__start__\" leads to \"z\", which is no node"
    ],
    [
      "§6.3",
      "an edge from no node",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { z: "a" } }),
      "graph \"g\": has edges from \"z\", which is no node"
    ],
    [
      "§6.3",
      "an edge from the end",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { [END]: "a" } }),
      "graph \"g\": has edges from \"__end__\", which is no node"
    ],
    [
      "§6.3",
      "edges from the start beside it",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { [START]: "a" } }),
      "graph \"g\": has edges from \"__start__\": where it starts is its \"start\""
    ],
    [
      "§6.3",
      "an edge to no node",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { a: "z" } }),
      "graph \"g\": node \"a\" leads to \"z\", which is no node"
    ],
    [
      "§6.3",
      "an edge to the start",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { a: START } }),
      "graph \"g\": node \"a\" leads to the start, which nothing can lead to"
    ],
    [
      "§6.3",
      "a join to no node",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { a: StateGraph.join("z") } }),
      "graph \"g\": node \"a\" leads to \"z\", which is no node"
    ],
    [
      "§6.3",
      "a join from the start",
      () => untypedGraph("g", Log, bodies, { start: StateGraph.join("a") }),
      "graph \"g\": the start cannot lead through a join to \"a\""
    ],
    [
      "Law7",
      "joins that disagree on their release",
      () =>
        untypedGraph("g", Log, bodies, {
          start: ["a", "b"],
          edges: { a: StateGraph.join("c"), b: StateGraph.join("c", { release: "idle" }) }
        }),
      "graph \"g\": the sources of the join before \"c\" disagree on its release"
    ],
    [
      "§6.4",
      "two joins of one name",
      () =>
        untypedGraph("g", Log, { ...bodies, "x=a": nothing }, {
          start: ["a", "x=a"],
          edges: { a: StateGraph.join("c", { group: "x" }), "x=a": StateGraph.join("c") }
        }),
      "graph \"g\": the join \"join:x=a:c\" stands for two: name its group differently"
    ],
    [
      "§6.3",
      "an edge to what is no node at all",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { a: 5 } }),
      "graph \"g\": node \"a\" leads to what is no node, join or route"
    ],
    [
      "§6.3",
      "an edge to nothing",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { a: ["b", undefined] } }),
      "graph \"g\": node \"a\" leads to what is no node, join or route"
    ],
    [
      "§6.3",
      "a route to no node",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { a: StateGraph.route(["b", "z"], () => "b") } }),
      "graph \"g\": node \"a\" leads to \"z\", which is no node"
    ],
    [
      "§6.3",
      "a route from the start to no node",
      () => untypedGraph("g", Log, bodies, { start: StateGraph.route(["z"], () => "z") }),
      "graph \"g\": node \"__start__\" leads to \"z\", which is no node"
    ],
    [
      "Law7",
      "a route beside an edge",
      () => untypedGraph("g", Log, bodies, { start: "a", edges: { a: ["b", StateGraph.route(["c"], () => "c")] } }),
      "graph \"g\": node \"a\" mixes a route with other edges. A node has one kind of routing"
    ],
    [
      "Law7",
      "edges beside destinations of Commands",
      () =>
        untypedGraph("g", Log, {
          ...bodies,
          d: Node.make({ input: Log, run: () => Effect.succeed({}), destinations: ["a"] })
        }, { start: "d", edges: { d: "a" } }),
      "graph \"g\": node \"d\" has edges and says where its Commands go. A node has one kind of routing"
    ],
    [
      "§6.3",
      "a node called like the start",
      () => untypedGraph("g", Log, { [START]: nothing }, { start: START }),
      "graph \"g\": node name \"__start__\" is reserved"
    ],
    [
      "§6.3",
      "a node called like the end",
      () => untypedGraph("g", Log, { ...bodies, [END]: nothing }, { start: "a" }),
      "graph \"g\": node name \"__end__\" is reserved"
    ],
    [
      "§6.3",
      "a node called like the input",
      () => untypedGraph("g", Log, { ...bodies, __input__: nothing }, { start: "a" }),
      "graph \"g\": node name \"__input__\" is reserved"
    ],
    [
      "§6.3",
      "a node with a separator",
      () => untypedGraph("g", Log, { ...bodies, "a|b": nothing }, { start: "a" }),
      "graph \"g\": node name \"a|b\" contains \"|\", which is reserved, as | : ~ are"
    ],
    [
      "§6.3",
      "a node with the other separator",
      () => untypedGraph("g", Log, { ...bodies, "a:b": nothing }, { start: "a" }),
      "graph \"g\": node name \"a:b\" contains \":\", which is reserved, as | : ~ are"
    ],
    [
      "§6.3",
      "a node named like a graph that another node calls",
      () => untypedGraph("g", Log, { ...bodies, "a~0": nothing }, { start: "a" }),
      "graph \"g\": node name \"a~0\" contains \"~\", which is reserved, as | : ~ are"
    ],
    [
      "§6.3",
      "a node whose name is too long",
      () => untypedGraph("g", Log, { ...bodies, ["n".repeat(513)]: nothing }, { start: "a" }),
      "graph \"g\": a name of a node has at most 512 characters"
    ],
    [
      "L22",
      "a node that says it goes where there is none",
      () =>
        untypedGraph("g", Log, { ...bodies, gone: Node.make({ input: Log, destinations: ["nope"], run: nothing }) }, {
          start: "gone"
        }),
      "graph \"g\": node \"gone\" says that it goes to \"nope\", which is no node"
    ],
    [
      "L9",
      "a persistence that there is not",
      () => untypedGraph("g", Log, bodies, { start: "a" }, { persistence: "forever" }),
      "persistence: Expected \"call\" or \"thread\" or \"none\", got \"forever\""
    ],
    [
      "§6.3",
      "a node without a name",
      () => untypedGraph("g", Log, { ...bodies, "": nothing }, { start: "a" }),
      "graph \"g\": a node needs a name"
    ],
    [
      "§6.3",
      "a node that is nothing to run",
      () => untypedGraph("g", Log, { a: 5 }, { start: "a" }),
      "graph \"g\": a node is a function, a Node or a graph"
    ],
    [
      "§6.1",
      "a state key of the machine",
      () => untypedGraph("g", State.make({ __tasks: Schema.Int }), { a: nothing }, { start: "a" }),
      "graph \"g\": state key \"__tasks\" is reserved"
    ],
    [
      "§6.1",
      "a state key like a branch",
      () => untypedGraph("g", State.make({ "branch:to:a": Schema.Int }), { a: nothing }, { start: "a" }),
      "graph \"g\": state key \"branch:to:a\" is reserved"
    ],
    [
      "§6.1",
      "a state key like a join",
      () => untypedGraph("g", State.make({ "join:a:b": Schema.Int }), { a: nothing }, { start: "a" }),
      "graph \"g\": state key \"join:a:b\" is reserved"
    ],
    [
      "§6.1",
      "an input key that the state does not have",
      () => State.make({ a: Schema.Int }, untyped({ input: ["z"] })),
      "State.make: input or output names \"z\", which is no key of the state"
    ],
    [
      "§6.1",
      "an output key that the state does not have",
      () => State.make({ a: Schema.Int }, untyped({ output: ["z"] })),
      "State.make: input or output names \"z\", which is no key of the state"
    ],
    [
      "§6.1",
      "a state key that is neither a channel nor a schema",
      () => State.make(untyped({ a: 5 })),
      "State.make: \"a\" is neither a channel nor a schema"
    ],
    [
      "§6.3",
      "a breakpoint before no node",
      () => untypedGraph("g", Log, bodies, { start: "a" }, { before: ["z"] }),
      "graph \"g\": breakpoint at \"z\", which is no node"
    ],
    [
      "§6.3",
      "a breakpoint after no node",
      () => untypedGraph("g", Log, bodies, { start: "a" }, { after: ["*", "z"] }),
      "graph \"g\": breakpoint at \"z\", which is no node"
    ],
    [
      "Law22",
      "a limit of nothing",
      () => untypedGraph("g", Log, bodies, { start: "a" }, { recursionLimit: 0 }),
      "recursionLimit: Expected a whole number of at least 1, got 0"
    ],
    [
      "Law22",
      "a concurrency of a half",
      () => untypedGraph("g", Log, bodies, { start: "a" }, { concurrency: 0.5 }),
      "concurrency: Expected a whole number of at least 1, got 0.5"
    ],
    [
      "Law22",
      "a timeout of nothing",
      () => Send.make("a", 1, { timeout: 0 }),
      "Send.make(\"a\"): a timeout must be longer than 0 ms"
    ]
  ]
  for (const [id, what, make, message] of cases) {
    it(`${id} ${what}`, () => {
      const thrown = Result.getOrThrow(Result.flip(Result.try({ try: make, catch: (error) => error })))
      assert.instanceOf(thrown, Error)
      assert.include((thrown as Error).message, message)
    })
  }
})

describe("a wrong machine is refused when it is made, and says what is wrong", () => {
  const channels = { in: Channel.lastValue(Schema.Int), out: Channel.lastValue(Schema.Int) }
  const node = (options: object) =>
    Pregel.node(untyped({ subscribe: "in", run: (n: number) => n, write: "out", ...options }))
  const make = (options: object) => () =>
    Pregel.make("m", untyped({ channels, nodes: { n: node({}) }, input: "in", output: "out", ...options }))
  const cases: ReadonlyArray<readonly [what: string, make: () => unknown, message: string]> = [
    [
      "a subscription to no channel",
      make({ nodes: { n: node({ subscribe: ["in", "z"] }) } }),
      "graph \"m\": node \"n\" names channel \"z\", which there is not"
    ],
    [
      "reading no channel",
      make({ nodes: { n: node({ read: "z" }) } }),
      "graph \"m\": node \"n\" names channel \"z\", which there is not"
    ],
    [
      "writing no channel",
      make({ nodes: { n: node({ write: { z: (n: unknown) => n } }) } }),
      "graph \"m\": node \"n\" names channel \"z\", which there is not"
    ],
    [
      "an input that is no channel",
      make({ input: ["z"] }),
      "graph \"m\": the input names channel \"z\", which there is not"
    ],
    [
      "an output that is no channel",
      make({ output: "z" }),
      "graph \"m\": the output names channel \"z\", which there is not"
    ],
    [
      "a channel of the machine",
      make({ channels: { ...channels, __tasks: Channel.lastValue(Schema.Int) } }),
      "graph \"m\": channel \"__tasks\" is reserved"
    ],
    [
      "a node with a separator",
      make({ nodes: { "n|m": node({}) } }),
      "graph \"m\": node name \"n|m\" contains \"|\", which is reserved, as | : ~ are"
    ],
    [
      "nobody listening to the input",
      make({ nodes: { n: node({ subscribe: "out" }) } }),
      "graph \"m\": no node subscribes to an input channel, so that nothing would ever run"
    ]
  ]
  for (const [what, made, message] of cases) it(`LG#45 ${what}`, () => assert.throws(made, message))
})
