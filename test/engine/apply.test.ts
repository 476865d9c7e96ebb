/** The barrier: how the writes of a superstep become the next checkpoint. */
import { assert, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import { Channel, END, Node, State, StateGraph } from "superstep"
import { applyWrites } from "../../src/internal/engine/apply.ts"
import { type Checkpoint, initial, liveOf, output, values } from "../../src/internal/engine/checkpoint.ts"
import { plan } from "../../src/internal/engine/plan.ts"
import {
  apply,
  channel,
  fed,
  inputOf,
  next,
  program,
  seenAt,
  superstep,
  taskWrites,
  trace,
  valueAt,
  versionAt
} from "./machine.ts"

const list = Channel.append(Schema.String)
class Log extends State.make({ log: list, last: Channel.lastValue(Schema.Int, { initial: () => 0 }) }) {}
const nothing = () => undefined
const says = (name: string) => () => ({ log: [name] })

const frozen = (at: Checkpoint): Checkpoint => {
  for (const part of [at.cells, at.versions, at.seen, at.live, at.updated ?? []]) Object.freeze(part)
  return Object.freeze(at)
}

// ---------------------------------------------------------------------------
// Versions
// ---------------------------------------------------------------------------

it("S10 versions and versions seen of the two-node graph, after each barrier", () => {
  class Demo extends State.make({ total: Schema.Int, visited: list }) {}
  const machine = program(Demo, {
    a: (s: { total: number }) => ({ total: s.total * 2, visited: ["a"] }),
    b: (s: { total: number }) => ({ total: s.total + 1, visited: ["b"] })
  }, { start: "a", edges: { a: "b", b: END } })
  const names = ["__start__", "total", "visited", "branch:to:a", "branch:to:b"]
  const shown = (at: Checkpoint) => ({
    step: at.step,
    version: at.version,
    versions: names.map((name) => versionAt(machine, at, name)),
    seen: ["__start__", "a", "b"].map((name) => seenAt(machine, at, name))
  })
  let at = fed(machine, { total: 10 })
  const rows = [shown(at)]
  for (let i = 0; i < 3; i++) rows.push(shown(at = superstep(machine, at)))
  assert.deepStrictEqual(rows, [
    { step: -1, version: 1, versions: [1, 0, 0, 0, 0], seen: [0, 0, 0] },
    { step: 0, version: 2, versions: [2, 2, 0, 2, 0], seen: [1, 0, 0] },
    { step: 1, version: 3, versions: [2, 3, 3, 3, 3], seen: [1, 2, 0] },
    { step: 2, version: 4, versions: [2, 4, 4, 3, 4], seen: [1, 2, 3] }
  ])
  assert.deepStrictEqual(output(machine, at), { total: 21, visited: ["a", "b"] })
})

it("Law3 every channel that changed gets one new version, the others keep theirs", () => {
  const machine = program(Log, { a: nothing, b: nothing }, { start: ["a", "b"] })
  const at = superstep(machine, fed(machine, {}))
  const [a, b] = plan(machine, at)
  const after = apply(machine, at, [
    taskWrites(machine, at, a!, { log: ["a"] }),
    taskWrites(machine, at, b!, { log: ["b"], last: 1 })
  ])
  assert.strictEqual(after.version, at.version + 1)
  for (const name of ["log", "last", "branch:to:a", "branch:to:b"]) {
    assert.strictEqual(versionAt(machine, after, name), after.version)
  }
  assert.strictEqual(versionAt(machine, after, "__start__"), versionAt(machine, at, "__start__"))
})

it("Law3 a barrier that changes nothing makes no version", () => {
  const machine = program(Log, { a: nothing }, { start: "a" })
  const at = superstep(machine, superstep(machine, fed(machine, {})))
  const after = apply(machine, at, [])
  assert.strictEqual(after.version, at.version)
  assert.strictEqual(after.cells, at.cells)
  assert.strictEqual(after.versions, at.versions)
  assert.strictEqual(after.seen, at.seen)
  assert.deepStrictEqual(after.updated, [])
  assert.strictEqual(after.step, at.step + 1)
})

it("Law3 a write of what is there already counts as a change where the rule says so, and not where it does not", () => {
  class Tags
    extends State.make({ tags: Channel.topic(Schema.String, { accumulate: true, unique: true }), last: Schema.Int })
  {}
  const machine = program(Tags, { a: () => ({ tags: "x", last: 1 }) }, { start: "a" })
  const at = superstep(machine, fed(machine, { tags: ["x"], last: 1 }))
  const after = superstep(machine, at)
  assert.strictEqual(versionAt(machine, after, "tags"), versionAt(machine, at, "tags"))
  assert.strictEqual(versionAt(machine, after, "last"), after.version)
})

it("Law1 the barrier changes nothing of the checkpoint before it", () => {
  const machine = program(Log, { a: says("a"), b: says("b") }, {
    start: ["a", "b"],
    edges: { a: StateGraph.join("b"), b: StateGraph.join("b") }
  })
  let at = frozen(fed(machine, {}))
  for (let i = 0; i < 4; i++) {
    const before = structuredClone({ ...at, cells: at.cells.map(Option.getOrUndefined) })
    const after = frozen(superstep(machine, at))
    assert.deepStrictEqual({ ...at, cells: at.cells.map(Option.getOrUndefined) }, before)
    at = after
  }
  assert.deepStrictEqual(valueAt(machine, at, "log"), ["a", "b", "b"])
})

// ---------------------------------------------------------------------------
// Folding
// ---------------------------------------------------------------------------

it("Law2 writes fold in the order of the tasks given, and of the updates in a list", () => {
  const machine = program(Log, { a: nothing, b: nothing }, { start: ["a", "b"] })
  const at = superstep(machine, fed(machine, {}))
  const [a, b] = plan(machine, at)
  const after = apply(machine, at, [
    taskWrites(machine, at, a!, [{ log: ["1"] }, { log: ["2"] }]),
    taskWrites(machine, at, b!, { log: ["3"] })
  ])
  assert.deepStrictEqual(valueAt(machine, after, "log"), ["1", "2", "3"])
})

it("Law4 a refusal names the channel and its writers in task order, and nothing of the barrier happens", () => {
  const machine = program(Log, { b: nothing, a: nothing, c: nothing }, { start: ["b", "a", "c"] })
  const at = frozen(superstep(machine, fed(machine, {})))
  const [a, b, c] = plan(machine, at)
  const result = applyWrites(machine, at, [
    taskWrites(machine, at, a!, { last: 1 }),
    taskWrites(machine, at, b!, { log: ["b"] }),
    taskWrites(machine, at, c!, { last: 1 })
  ], { isSuperstep: true, step: 1 })
  const error = Result.getOrThrow(Result.flip(result))
  assert.deepInclude(error, { reason: "MultipleWrites", channel: "last", writers: ["a", "c"] })
})

it("Law1 a reducer that changes its argument is refused with its writers", () => {
  class Pushed extends State.make({
    list: Channel.reducer({
      value: Schema.Array(Schema.Int),
      initial: () => [],
      reduce: (value, update: ReadonlyArray<number>) => {
        ;(value as Array<number>).push(...update)
        return value
      }
    })
  }) {}
  const machine = program(Pushed, { a: nothing }, { start: "a" })
  const at = superstep(machine, fed(machine, {}))
  const result = applyWrites(machine, at, [taskWrites(machine, at, plan(machine, at)[0]!, { list: [1] })], {
    isSuperstep: true,
    step: 1
  })
  assert.deepInclude(Result.getOrThrow(Result.flip(result)), {
    reason: "ReducerFailed",
    channel: "list",
    writers: ["a"]
  })
  assert.deepStrictEqual(valueAt(machine, at, "list"), [])
})

// ---------------------------------------------------------------------------
// Channels that clear themselves
// ---------------------------------------------------------------------------

class Passing extends State.make({
  log: list,
  flash: Channel.ephemeral(Schema.Int),
  some: Channel.anyValue(Schema.Int),
  topic: Channel.topic(Schema.Int)
}) {}

it("§1.4 transient channels hold a value for the superstep after it was written, and then clear", () => {
  const machine = program(Passing, {
    a: () => ({ flash: 1, some: 1, topic: 1 }),
    b: (s: object) => ({ log: [JSON.stringify(s)] }),
    c: (s: object) => ({ log: [JSON.stringify(s)] })
  }, { start: "a", edges: { a: "b", b: "c" } })
  let at = superstep(machine, fed(machine, {}))
  at = superstep(machine, at)
  assert.deepStrictEqual(values(machine, at), { log: [], flash: 1, some: 1, topic: [1] })
  assert.deepStrictEqual([...at.live].sort(), [...liveOf(machine, at.cells)].sort())
  at = superstep(machine, at)
  for (const name of ["flash", "some", "topic"]) {
    assert.deepStrictEqual(at.cells[channel(machine, name)], Option.none())
    assert.strictEqual(versionAt(machine, at, name), at.version)
  }
  at = superstep(machine, at)
  const seen = (valueAt(machine, at, "log") as ReadonlyArray<string>).map((text) => JSON.parse(text) as object)
  assert.deepStrictEqual(seen[0], { log: [], flash: 1, some: 1, topic: [1] })
  assert.deepInclude(seen[1], { topic: [] })
  assert.doesNotHaveAnyKeys(seen[1], ["flash", "some"])
})

it("§1.4 an input alone is no superstep: what was left by the last one is still there for the first node", () => {
  const machine = program(Passing, { a: () => ({ flash: 1 }) }, { start: "a" })
  const at = superstep(machine, superstep(machine, fed(machine, {})))
  const again = fed(machine, {}, at)
  assert.strictEqual(valueAt(machine, again, "flash"), 1)
  assert.isUndefined(valueAt(machine, superstep(machine, again), "flash"))
})

it("§1.4 a transient channel that is written again keeps the new value", () => {
  const machine = program(Passing, { a: () => ({ flash: 1, topic: [1] }), b: () => ({ flash: 2, topic: [2] }) }, {
    start: "a",
    edges: { a: "b" }
  })
  const at = superstep(machine, superstep(machine, superstep(machine, fed(machine, {}))))
  assert.deepStrictEqual([valueAt(machine, at, "flash"), valueAt(machine, at, "topic")], [2, [2]])
})

// ---------------------------------------------------------------------------
// Joins and the finish
// ---------------------------------------------------------------------------

it("§6.4 a join waits for all of its sources, over several supersteps, and starts anew", () => {
  const machine = program(Log, { a: nothing, b: nothing, c: nothing, t: nothing }, {
    start: ["a", "b"],
    edges: { a: StateGraph.join("t"), b: "c", c: StateGraph.join("t") }
  })
  assert.deepStrictEqual(trace(machine, {}), [["a", "b"], ["c"], ["t"]])
  let at = superstep(machine, fed(machine, {}))
  for (let i = 0; i < 3; i++) at = superstep(machine, at)
  assert.deepStrictEqual(valueAt(machine, at, "join:a+c:t"), { seen: [], released: false, fired: true })
})

it("§6.4 a source that runs twice before the join is complete counts once", () => {
  const machine = program(Log, { a: says("a"), b: nothing, c: nothing, t: nothing }, {
    start: ["a", "b"],
    edges: {
      a: [StateGraph.join("t")],
      b: StateGraph.route(["a", "c"], (s: { log: ReadonlyArray<string> }) => s.log.length < 1 ? ["a", "c"] : ["c"]),
      c: StateGraph.join("t")
    }
  })
  assert.deepStrictEqual(trace(machine, {}), [["a", "b"], ["a", "c"], ["t"]])
})

const deferred = Node.make({ input: Log, run: () => undefined as never, defer: true })

it("LG§6.3 a deferred node runs in a superstep where otherwise nothing would", () => {
  const machine = program(Log, { a: nothing, b: nothing, b2: nothing, c: nothing, d: deferred }, {
    start: "a",
    edges: { a: ["b", "c"], b: "b2", b2: "d", c: "d" }
  })
  assert.deepStrictEqual(trace(machine, {}), [["a"], ["b", "c"], ["b2"], ["d"]])
})

it("LG§6.4 deferred nodes that become ready together run together, and others wait again", () => {
  const machine = program(Log, { a: nothing, x: deferred, y: deferred, z: deferred }, {
    start: "a",
    edges: { a: ["x", "y"], x: "z" }
  })
  assert.deepStrictEqual(trace(machine, {}), [["a"], ["x", "y"], ["z"]])
})

it("§1.8 the join before a deferred node waits for its sources and for the finish", () => {
  const machine = program(Log, { a: nothing, b: nothing, c: nothing, d: deferred }, {
    start: ["a", "b"],
    edges: { a: StateGraph.join("d"), b: ["c", StateGraph.join("d")] }
  })
  assert.deepStrictEqual(trace(machine, {}), [["a", "b"], ["c"], ["d"]])
})

it("Law7 when all is quiet deferred nodes come first, and idle joins only when no deferred node is left", () => {
  const machine = program(Log, { a: nothing, b: nothing, d: deferred, i: nothing }, {
    start: StateGraph.route(["a", "b"], () => "a"),
    edges: { a: ["d", StateGraph.join("i", { release: "idle" })], b: StateGraph.join("i", { release: "idle" }) }
  })
  assert.deepStrictEqual(trace(machine, {}), [["a"], ["d"], ["i"]])
})

it("Law7 an idle join that is complete does not wait for the finish", () => {
  const machine = program(Log, { a: nothing, b: nothing, c: nothing, i: nothing }, {
    start: ["a", "b"],
    edges: { a: StateGraph.join("i", { release: "idle" }), b: ["c", StateGraph.join("i", { release: "idle" })] }
  })
  assert.deepStrictEqual(trace(machine, {}), [["a", "b"], ["c", "i"]])
})

it("Law7 an idle join is not released while a Send waits", () => {
  const machine = program(Log, {
    a: nothing,
    b: nothing,
    i: nothing,
    work: Node.make({ input: Schema.Int, run: () => undefined as never })
  }, {
    start: StateGraph.route(["a", "b"], () => "a"),
    edges: {
      a: StateGraph.join("i", { release: "idle" }),
      b: StateGraph.join("i", { release: "idle" })
    }
  })
  const at = superstep(machine, fed(machine, {}))
  const writes = taskWrites(machine, at, plan(machine, at)[0]!, undefined)
  const sending = {
    ...writes,
    writes: [...writes.writes, { channel: machine.tasks, value: { node: "work", arg: 1, timeoutMillis: undefined } }]
  }
  const busy = apply(machine, at, [sending])
  assert.deepStrictEqual(next(machine, busy), ["work"])
  assert.deepStrictEqual(next(machine, superstep(machine, busy)), ["i"])
})

it("Law7 a new input begins a new count: a join that fired before can stall again", () => {
  const machine = program(Log, { a: nothing, b: nothing, t: nothing }, {
    start: ["a", "b"],
    edges: { a: StateGraph.join("t"), b: StateGraph.join("t") }
  })
  let at = fed(machine, {})
  for (let i = 0; i < 3; i++) at = superstep(machine, at)
  assert.deepInclude(valueAt(machine, at, "join:a+b:t"), { fired: true })
  assert.isUndefined(valueAt(machine, fed(machine, {}, at), "join:a+b:t"))
})

it("§2 outside a superstep, what could be read before still wakes its nodes", () => {
  const machine = program(Log, { a: nothing, b: nothing }, { start: ["a", "b"] })
  const at = superstep(machine, fed(machine, {}))
  const after = apply(machine, at, [inputOf([{ channel: channel(machine, "last"), value: 5 }])], {
    isSuperstep: false,
    step: at.step
  })
  assert.deepStrictEqual(next(machine, after), ["a", "b"])
  assert.strictEqual(valueAt(machine, after, "last"), 5)
})

// ---------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------

it("§1.0 a state shows what is there: empty channels are absent, a Topic that collected nothing is an empty list", () => {
  const machine = program(Passing, { a: nothing }, { start: "a" })
  assert.deepStrictEqual(values(machine, initial(machine)), { log: [], topic: [] })
})

it("L9 hostile keys of a state are read as keys", () => {
  const machine = program(State.make({ ["__proto__"]: Schema.Int, constructor: Schema.Int }), {
    a: () => JSON.parse("{\"__proto__\":3}")
  }, { start: "a" })
  const input = JSON.parse("{\"__proto__\":1,\"constructor\":2}") as object
  const at = superstep(machine, superstep(machine, fed(machine, input)))
  const read = values(machine, at)
  assert.deepStrictEqual(Object.entries(read), [["__proto__", 3], ["constructor", 2]])
  assert.strictEqual(Object.getPrototypeOf(read), Object.prototype)
})
