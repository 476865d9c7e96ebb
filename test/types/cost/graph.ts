/** A graph of 40 nodes of every kind, and what can be done with a thread of it. */
import { Effect, Schema } from "effect"
import { Channel, Command, Interrupt, Node, Policy, Send, State, StateGraph } from "superstep"

class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

const nodes = StateGraph.nodes(Demo, {
  n00: (s) => ({ total: s.total + 1 }),
  n01: (s) => Effect.succeed({ visited: [String(s.total)] }),
  n02: Effect.fnUntraced(function*(s) {
    const isYes = yield* Approve.ask("go on?")
    return { total: isYes ? s.total : 0 }
  }),
  n03: Node.make({
    input: Schema.Struct({ x: Schema.Int }),
    retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
    cache: Policy.cache<{ readonly x: number }>({ key: ({ x }) => String(x) }),
    run: ({ x }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
  }),
  n04: () => Effect.succeed(Command.make({ update: { visited: ["n04"] }, goto: "n05" })),
  n05: (s) => ({ total: s.total + 1 }),
  n06: (s) => Effect.succeed({ visited: [String(s.total)] }),
  n07: Effect.fnUntraced(function*(s) {
    const isYes = yield* Approve.ask("go on?")
    return { total: isYes ? s.total : 0 }
  }),
  n08: Node.make({
    input: Schema.Struct({ x: Schema.Int }),
    retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
    cache: Policy.cache<{ readonly x: number }>({ key: ({ x }) => String(x) }),
    run: ({ x }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
  }),
  n09: () => Effect.succeed(Command.make({ update: { visited: ["n09"] }, goto: "n10" })),
  n10: (s) => ({ total: s.total + 1 }),
  n11: (s) => Effect.succeed({ visited: [String(s.total)] }),
  n12: Effect.fnUntraced(function*(s) {
    const isYes = yield* Approve.ask("go on?")
    return { total: isYes ? s.total : 0 }
  }),
  n13: Node.make({
    input: Schema.Struct({ x: Schema.Int }),
    retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
    cache: Policy.cache<{ readonly x: number }>({ key: ({ x }) => String(x) }),
    run: ({ x }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
  }),
  n14: () => Effect.succeed(Command.make({ update: { visited: ["n14"] }, goto: "n15" })),
  n15: (s) => ({ total: s.total + 1 }),
  n16: (s) => Effect.succeed({ visited: [String(s.total)] }),
  n17: Effect.fnUntraced(function*(s) {
    const isYes = yield* Approve.ask("go on?")
    return { total: isYes ? s.total : 0 }
  }),
  n18: Node.make({
    input: Schema.Struct({ x: Schema.Int }),
    retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
    cache: Policy.cache<{ readonly x: number }>({ key: ({ x }) => String(x) }),
    run: ({ x }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
  }),
  n19: () => Effect.succeed(Command.make({ update: { visited: ["n19"] }, goto: "n20" })),
  n20: (s) => ({ total: s.total + 1 }),
  n21: (s) => Effect.succeed({ visited: [String(s.total)] }),
  n22: Effect.fnUntraced(function*(s) {
    const isYes = yield* Approve.ask("go on?")
    return { total: isYes ? s.total : 0 }
  }),
  n23: Node.make({
    input: Schema.Struct({ x: Schema.Int }),
    retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
    cache: Policy.cache<{ readonly x: number }>({ key: ({ x }) => String(x) }),
    run: ({ x }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
  }),
  n24: () => Effect.succeed(Command.make({ update: { visited: ["n24"] }, goto: "n25" })),
  n25: (s) => ({ total: s.total + 1 }),
  n26: (s) => Effect.succeed({ visited: [String(s.total)] }),
  n27: Effect.fnUntraced(function*(s) {
    const isYes = yield* Approve.ask("go on?")
    return { total: isYes ? s.total : 0 }
  }),
  n28: Node.make({
    input: Schema.Struct({ x: Schema.Int }),
    retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
    cache: Policy.cache<{ readonly x: number }>({ key: ({ x }) => String(x) }),
    run: ({ x }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
  }),
  n29: () => Effect.succeed(Command.make({ update: { visited: ["n29"] }, goto: "n30" })),
  n30: (s) => ({ total: s.total + 1 }),
  n31: (s) => Effect.succeed({ visited: [String(s.total)] }),
  n32: Effect.fnUntraced(function*(s) {
    const isYes = yield* Approve.ask("go on?")
    return { total: isYes ? s.total : 0 }
  }),
  n33: Node.make({
    input: Schema.Struct({ x: Schema.Int }),
    retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
    cache: Policy.cache<{ readonly x: number }>({ key: ({ x }) => String(x) }),
    run: ({ x }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
  }),
  n34: () => Effect.succeed(Command.make({ update: { visited: ["n34"] }, goto: "n35" })),
  n35: (s) => ({ total: s.total + 1 }),
  n36: (s) => Effect.succeed({ visited: [String(s.total)] }),
  n37: Effect.fnUntraced(function*(s) {
    const isYes = yield* Approve.ask("go on?")
    return { total: isYes ? s.total : 0 }
  }),
  n38: Node.make({
    input: Schema.Struct({ x: Schema.Int }),
    retry: Policy.retry<Broken>({ while: (error) => error._tag === "Broken" }),
    cache: Policy.cache<{ readonly x: number }>({ key: ({ x }) => String(x) }),
    run: ({ x }) => x > 0 ? Effect.succeed({ total: x }) : Effect.fail(new Broken())
  }),
  n39: () => Effect.succeed(Command.make({ update: { visited: ["n39"] }, goto: "n00" }))
})

export const graph = StateGraph.make("large", nodes, {
  start: "n00",
  edges: {
    n00: "n01",
    n01: "n02",
    n02: StateGraph.route(["n03"], (s) => Send.make("n03", { x: s.total })),
    n03: "n04",
    n05: "n06",
    n06: "n07",
    n07: StateGraph.route(["n08"], (s) => Send.make("n08", { x: s.total })),
    n08: "n09",
    n10: "n11",
    n11: "n12",
    n12: StateGraph.route(["n13"], (s) => Send.make("n13", { x: s.total })),
    n13: "n14",
    n15: "n16",
    n16: "n17",
    n17: StateGraph.route(["n18"], (s) => Send.make("n18", { x: s.total })),
    n18: "n19",
    n20: "n21",
    n21: "n22",
    n22: StateGraph.route(["n23"], (s) => Send.make("n23", { x: s.total })),
    n23: "n24",
    n25: "n26",
    n26: "n27",
    n27: StateGraph.route(["n28"], (s) => Send.make("n28", { x: s.total })),
    n28: "n29",
    n30: "n31",
    n31: "n32",
    n32: StateGraph.route(["n33"], (s) => Send.make("n33", { x: s.total })),
    n33: "n34",
    n35: "n36",
    n36: "n37",
    n37: StateGraph.route(["n38"], (s) => Send.make("n38", { x: s.total })),
    n38: "n39"
  }
})

const thread = graph.thread("t")
export const uses = [
  thread.invoke({ total: 1 }),
  thread.invoke(Command.make({ update: { total: 1 }, goto: [Send.make("n03", { x: 1 }), "n01"] })),
  thread.resume(Approve.reply(true), { update: { total: 1 }, goto: "n00" }),
  thread.update({ total: 1 }, { asNode: "n00" }),
  thread.update(Command.make({ update: { total: 1 }, goto: "n04" }), { asNode: "n04" }),
  thread.updateAll([[{ values: { total: 1 }, asNode: "n00" }, { values: { visited: ["x"] }, asNode: "n01" }]]),
  thread.stream({ total: 1 }, { modes: ["updates", "values"], subgraphs: true }),
  thread.events(Command.resume(Approve.reply(true), { goto: "n00" }), { modes: ["updates", "debug"] }),
  thread.state(),
  thread.history()
]
