/** Which tasks a superstep has, and in which order. */
import { assert, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { Channel, Node, Send, State, StateGraph } from "superstep"
import { initial } from "../../src/internal/engine/checkpoint.ts"
import { inputTask, isInputTask, plan } from "../../src/internal/engine/plan.ts"
import { runs } from "../laws/budget.ts"
import { apply, channel, fed, next, program, seenAt, superstep, taskWrites } from "./machine.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
const nothing = () => undefined

it("LG#19 an empty checkpoint has no tasks", () => {
  const machine = program(Log, { a: nothing }, { start: "a" })
  assert.deepStrictEqual(plan(machine, initial(machine)), [])
  assert.deepStrictEqual(plan(machine, { ...initial(machine), updated: undefined }), [])
})

it("Law3 an input wakes the start, which wakes the first nodes, by name", () => {
  const machine = program(Log, { b: nothing, B: nothing, a: nothing, "a b": nothing, ab: nothing }, {
    start: ["b", "a", "ab", "B", "a b"]
  })
  const first = fed(machine, { log: ["x"] })
  assert.deepStrictEqual(next(machine, first), ["__start__"])
  assert.deepStrictEqual(next(machine, superstep(machine, first)), ["B", "a", "a b", "ab", "b"])
})

const work = Node.make({ input: Schema.Struct({ n: Schema.Int }), run: () => undefined as never })
const sends = (count: number) => Array.from({ length: count }, (_, n) => Send.make("work", { n }))

it("LG#20 B1 woken nodes come first, by name; then Sends, by number and not by text", () => {
  const machine = program(Log, { z: nothing, a: nothing, work }, {
    start: StateGraph.route(["z", "a", "work"], () => ["z", ...sends(13), "a"] as never)
  })
  const at = superstep(machine, fed(machine, {}))
  const tasks = plan(machine, at)
  assert.deepStrictEqual(tasks.map(({ id }) => id), [
    "pull:a",
    "pull:z",
    ...Array.from({ length: 13 }, (_, n) => `send:${String(n).padStart(10, "0")}:work`)
  ])
  assert.deepStrictEqual(tasks.slice(2).map(({ input }) => input), sends(13).map(({ arg }) => arg))
  assert.deepStrictEqual(tasks.slice(0, 3).map(({ place }) => place), ["a", "z", "work:0"])
  assert.deepStrictEqual(tasks.map(({ id }) => id), tasks.map(({ id }) => id).toSorted())
})

it("Law2 the Sends of several tasks are numbered in task order", () => {
  const machine = program(Log, {
    b: nothing,
    a: nothing,
    work
  }, {
    start: ["b", "a"],
    edges: {
      a: StateGraph.route(["work"], () => [Send.make("work", { n: 1 }), Send.make("work", { n: 2 })]),
      b: StateGraph.route(["work"], () => Send.make("work", { n: 3 }))
    }
  })
  const at = superstep(machine, superstep(machine, fed(machine, {})))
  assert.deepStrictEqual(plan(machine, at).map(({ input }) => input), [{ n: 1 }, { n: 2 }, { n: 3 }])
})

it("Law2 the input sorts before every task, and Commands from outside in the order in which they came", () => {
  const ids = [
    "input",
    ...Array.from({ length: 12 }, (_, n) => inputTask(n)),
    "pull:__start__",
    "pull:a",
    "send:0000000000:a"
  ]
  assert.deepStrictEqual([...ids].sort(), ids)
  assert.deepStrictEqual(ids.filter(isInputTask), ids.slice(0, 13))
  assert.isFalse(isInputTask("inputs"))
})

it.prop("Law2 ids of tasks sort as the tasks do, whatever the names", [
  Schema.UniqueArray(Schema.String.check(Schema.isPattern(/^[^|:~]+$/)))
], ([names]) => {
  const nodes = names.filter((name) => !name.startsWith("__"))
  if (nodes.length === 0) return
  const machine = program(Log, Object.fromEntries(nodes.map((name) => [name, nothing])), {
    start: StateGraph.route(nodes, () => [...nodes, ...nodes.map((name) => Send.make(name, {}))] as never)
  })
  const ids = plan(machine, superstep(machine, fed(machine, {}))).map(({ id }) => id)
  assert.strictEqual(ids.length, nodes.length * 2)
  assert.deepStrictEqual([...ids].sort(), ids)
  assert.strictEqual(new Set(ids).size, ids.length)
}, runs(50))

it("Law3 a node runs when a trigger is newer than what it has seen, and not again for the same", () => {
  const machine = program(Log, { a: nothing, b: nothing }, { start: "a", edges: { a: "b" } })
  const woken = superstep(machine, fed(machine, {}))
  assert.deepStrictEqual(next(machine, woken), ["a"])
  const seen = {
    ...woken,
    seen: woken.seen.map((version, n) => machine.nodes[n]!.name === "a" ? woken.version : version)
  }
  assert.deepStrictEqual(next(machine, seen), [])
})

it("Law3 a node that two triggers wake at once runs once", () => {
  const machine = program(Log, { a: nothing, b: nothing, t: nothing }, {
    start: ["a", "b"],
    edges: { a: ["t", StateGraph.join("t")], b: ["t", StateGraph.join("t")] }
  })
  const at = superstep(machine, superstep(machine, fed(machine, {})))
  assert.deepStrictEqual(next(machine, at), ["t"])
  const after = superstep(machine, at)
  assert.deepStrictEqual(next(machine, after), [])
  assert.strictEqual(seenAt(machine, after, "t"), at.version)
})

it("Law3 what changed is a hint: without it the plan is the same", () => {
  const machine = program(Log, { a: nothing, b: nothing, work }, {
    start: ["a", "b"],
    edges: { a: StateGraph.route(["work", "b"], () => ["b", ...sends(2)] as never) }
  })
  let at = fed(machine, { log: ["x"] })
  for (let i = 0; i < 4; i++) {
    const ids = plan(machine, at).map(({ id }) => id)
    assert.deepStrictEqual(plan(machine, { ...at, updated: undefined }).map(({ id }) => id), ids)
    at = superstep(machine, at)
  }
})

it("Law1 nodes that read the same channels get the same frozen record", () => {
  const machine = program(Log, { a: nothing, b: nothing }, { start: ["a", "b"] })
  const [a, b] = plan(machine, superstep(machine, fed(machine, { log: ["x"] })))
  assert.deepStrictEqual(a!.input, { log: ["x"] })
  assert.strictEqual(a!.input, b!.input)
  assert.isTrue(Object.isFrozen(a!.input))
})

it("Law1 nodes that read a value that cannot be frozen get one each", () => {
  class Dated extends State.make({ at: Schema.Date }) {}
  const machine = program(Dated, { a: nothing, b: nothing }, { start: ["a", "b"] })
  const [a, b] = plan(machine, superstep(machine, fed(machine, { at: new Date(0) }))).map(({ input }) =>
    (input as { at: Date }).at
  )
  assert.notStrictEqual(a, b)
  a!.setTime(9)
  assert.deepStrictEqual(b, new Date(0))
})

it("Law1 two Sends of one argument that cannot be frozen get one each", () => {
  const dated = Node.make({ input: Schema.Struct({ at: Schema.Date }), run: () => undefined as never })
  const arg = { at: new Date(0) }
  const machine = program(Log, { dated }, {
    start: StateGraph.route(["dated"], () => [Send.make("dated", arg), Send.make("dated", arg)])
  })
  const at = superstep(machine, fed(machine, {}))
  const [first, second] = plan(machine, at).map(({ input }) => input as { at: Date })
  arg.at.setTime(5)
  first!.at.setTime(9)
  assert.deepStrictEqual(second, { at: new Date(0) })
})

it("S4 a Send keeps the timeout it was given", () => {
  const machine = program(Log, { work }, {
    start: StateGraph.route(["work"], () => Send.make("work", { n: 1 }, { timeout: "2 seconds" }))
  })
  const [task] = plan(machine, superstep(machine, fed(machine, {})))
  assert.strictEqual(task!.timeoutMillis, 2000)
})

it("Law3 Sends do not count as seen: a node that was sent to still runs when it is woken", () => {
  const machine = program(Log, { a: nothing }, { start: StateGraph.route(["a"], () => Send.make("a", {})) })
  const at = superstep(machine, fed(machine, {}))
  const [send] = plan(machine, at)
  assert.strictEqual(send!.kind, "send")
  const writes = taskWrites(machine, at, send!, undefined)
  const waking = { ...writes, writes: [{ channel: channel(machine, "branch:to:a"), value: null }] }
  const after = apply(machine, at, [waking])
  assert.strictEqual(seenAt(machine, after, "a"), 0)
  assert.deepStrictEqual(next(machine, after), ["a"])
  assert.deepStrictEqual(after.cells[machine.tasks], Option.none())
})
