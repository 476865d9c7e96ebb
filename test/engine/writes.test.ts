/** From what a node returned to the writes of its task, and every way in which that can be wrong. */
import { assert, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Channel, Command, END, Node, Send, State, StateGraph } from "superstep"
import { initial } from "../../src/internal/engine/checkpoint.ts"
import type { Program } from "../../src/internal/engine/program.ts"
import { commandWrites, inputWrites, type WriteError, writesOf } from "../../src/internal/engine/writes.ts"
import { fed, program, superstep } from "./machine.ts"

class Demo extends State.make({
  total: Schema.Int,
  list: Channel.append(Schema.String),
  free: Channel.untracked<unknown>(),
  topic: Channel.topic(Schema.Int),
  hidden: Channel.lastValue(Schema.Int, { initial: () => 0 })
}, { input: ["total", "list"] }) {}

const nothing = () => undefined
const work = Node.make({ input: Schema.Struct({ n: Schema.Int }), run: () => undefined as never })
const machine = program(Demo, { plain: nothing, edged: nothing, next: nothing, work }, {
  start: "plain",
  edges: { edged: "next" }
})

const named = (of: Program, writes: ReadonlyArray<{ readonly channel: number; readonly value: unknown }>) =>
  writes.map(({ channel, value }) => [of.channels[channel]!.name, value] as const)

const run = (output: unknown, { node = "plain", of = machine }: { node?: string; of?: Program } = {}) =>
  Result.map(
    writesOf(of, initial(of).cells, of.nodes[of.nodeNumber.get(node)!]!, output),
    (writes) => named(of, writes)
  )

const written = (output: unknown, at?: { node?: string; of?: Program }) => Result.getOrThrow(run(output, at))
const refused = (output: unknown, at?: { node?: string; of?: Program }): WriteError =>
  Result.getOrThrow(Result.flip(run(output, at)))

// ---------------------------------------------------------------------------
// Updates
// ---------------------------------------------------------------------------

it("Law4 a record writes its keys, in their order; undefined is no write and null is a value", () => {
  assert.deepStrictEqual(written({ total: 1, list: ["a"], hidden: undefined }), [["total", 1], ["list", ["a"]]])
  const nullable = program(State.make({ a: Schema.NullOr(Schema.Int) }), { plain: nothing }, { start: "plain" })
  assert.deepStrictEqual(written({ a: null }, { of: nullable }), [["a", null]])
})

it("Law4 nothing, null and an empty list are no update", () => {
  for (const output of [undefined, null, [], {}, [{}]]) assert.deepStrictEqual(written(output), [])
})

it("Law4 a list of updates and Commands writes one key several times", () => {
  assert.deepStrictEqual(
    written([{ list: ["a"] }, Command.make({ update: { list: ["b"] } }), { list: ["c"], total: 1 }]),
    [
      ["list", ["a"]],
      ["list", ["b"]],
      ["list", ["c"]],
      ["total", 1]
    ]
  )
  assert.deepStrictEqual(written(Command.make({ update: [{ list: ["a"] }, { list: ["b"] }] })), [["list", ["a"]], [
    "list",
    ["b"]
  ]])
})

it("Law4 an instance with keys is an update", () => {
  class Update {
    total = 1
  }
  assert.deepStrictEqual(written(new Update()), [["total", 1]])
})

it("Law4 a key that the state does not have is refused, also one of the machine's own", () => {
  for (const key of ["nope", "__start__", "__tasks", "branch:to:next", "toString", "__proto__"]) {
    const error = refused(JSON.parse(`{${JSON.stringify(key)}:1}`))
    assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "UnknownChannel", channel: key, writers: ["plain"] })
    assert.strictEqual(error.message, `at key "${key}": is no channel of this graph (written by "plain")`)
  }
})

it("A9 a value of the wrong type is refused, with the key, the writer and what is wrong", () => {
  const error = refused({ total: "1" })
  assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: "total", writers: ["plain"] })
  assert.match(
    error.message,
    /^at key "total": received a value that its schema refuses \(written by "plain"\): Expected .*number|integer/
  )
  assert.deepInclude(refused({ list: "a" }), { reason: "InvalidValue", channel: "list" })
  assert.deepInclude(refused({ list: Channel.overwrite([1]) }), { reason: "InvalidValue", channel: "list" })
  assert.deepInclude(refused(Command.make({ update: { total: 1.5 } })), { reason: "InvalidValue", channel: "total" })
})

it("Law5 an Overwrite is for what reduces or accumulates", () => {
  for (const key of ["total", "topic", "free"]) {
    assert.deepInclude(refused({ [key]: Channel.overwrite(1) }), {
      reason: "OverwriteRefused",
      channel: key,
      writers: ["plain"]
    })
  }
  assert.deepStrictEqual(written({ list: Channel.overwrite(["x"]) }), [["list", Channel.overwrite(["x"])]])
})

it("Law4 what is no record of updates is refused", () => {
  const outputs: ReadonlyArray<readonly [unknown, string]> = [
    ["text", "string"],
    [1, "number"],
    [true, "boolean"],
    [nothing, "function"],
    [Symbol.iterator, "symbol"],
    [[["list"]], "a list in a list"],
    [new Map([["total", 1]]), "object"],
    [new Set(["total"]), "object"],
    [new Date(0), "object"],
    [Promise.resolve({ total: 1 }), "object"]
  ]
  for (const [output, kind] of outputs) {
    const error = refused(output)
    assert.deepInclude(error, {
      _tag: "InvalidUpdate",
      reason: "NotAnUpdate",
      writers: ["plain"],
      detail: `got ${kind}`
    })
  }
})

it("Law4 the first fault is the one that is told", () => {
  assert.deepInclude(refused([{ nope: 1 }, "text"]), { reason: "UnknownChannel" })
  assert.deepInclude(refused([{ total: 1 }, "text", { nope: 1 }]), { reason: "NotAnUpdate" })
})

it("Law1 what was written is a frozen copy, but for untracked values, which stay what they are", () => {
  const [item, free] = [["a"], { open: true }]
  const writes = new Map(written({ list: item, free }) as ReadonlyArray<readonly [string, unknown]>)
  assert.deepStrictEqual(writes.get("list"), item)
  assert.notStrictEqual(writes.get("list"), item)
  assert.isTrue(Object.isFrozen(writes.get("list")))
  assert.isFalse(Object.isFrozen(item))
  assert.strictEqual(writes.get("free"), free)
  assert.isFalse(Object.isFrozen(free))
})

it("K7 a value too deep for the stack is refused, and does not crash", () => {
  const open = program(State.make({ any: Schema.Unknown }), { plain: nothing }, { start: "plain" })
  let deep: unknown = []
  for (let i = 0; i < 200_000; i++) deep = [deep]
  assert.deepInclude(refused({ any: deep }, { of: open }), { reason: "InvalidValue", channel: "any" })
})

// ---------------------------------------------------------------------------
// Where it goes
// ---------------------------------------------------------------------------

it("S6 a Command writes its update and wakes its targets", () => {
  assert.deepStrictEqual(
    written(Command.make({ update: { total: 1 }, goto: ["next", Send.make("work", { n: 1 }), END] })),
    [
      ["total", 1],
      ["branch:to:next", null],
      ["__tasks", Send.make("work", { n: 1 })]
    ]
  )
  assert.deepStrictEqual(written([Command.make({ goto: "next" }), Command.make({ goto: "plain" })]), [
    ["branch:to:next", null],
    ["branch:to:plain", null]
  ])
})

it("Law7 a target that does not exist is refused, with those that do", () => {
  const allowed = ["edged", "next", "plain", "work"]
  const targets: ReadonlyArray<unknown> = [
    "nope",
    "__start__",
    "__tasks",
    "",
    undefined,
    null,
    5,
    {},
    Send.make("nope", 1),
    Send.make(END, 1)
  ]
  for (const value of targets) {
    const error = refused(Command.make({ goto: [value] as never }))
    assert.deepInclude(error, { _tag: "UnknownRoute", from: "plain", value, allowed })
  }
  assert.strictEqual(
    refused(Command.make({ goto: "nope" })).message,
    "node \"plain\" leads to \"nope\", which is none of \"edged\", \"next\", \"plain\", \"work\""
  )
  assert.match(refused(Command.make({ goto: Send.make("nope", 1) })).message, /leads to a Send to "nope"/)
})

it("Law7 a Send that brings what its node does not take is refused", () => {
  const error = refused(Command.make({ goto: Send.make("work", { n: "1" }) }))
  assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "InvalidValue", channel: "__tasks", writers: ["plain"] })
  assert.match(error.message, /a Send to "work" brings an input it does not take/)
  assert.deepInclude(refused(Command.make({ goto: Send.make("next", { nope: 1 }) })), { reason: "InvalidValue" })
  assert.deepInclude(refused(Command.make({ goto: Send.make("next", 5) })), { reason: "InvalidValue" })
  assert.deepStrictEqual(written(Command.make({ goto: Send.make("next", { total: 1 }) })).length, 1)
})

it("Law7 a node with edges that goes elsewhere by Command mixes two kinds of routing", () => {
  const error = refused(Command.make({ goto: "plain" }), { node: "edged" })
  assert.deepInclude(error, { _tag: "InvalidUpdate", reason: "MixedRouting", writers: ["edged"] })
  assert.match(error.message, /A node has one kind of routing/)
  assert.deepStrictEqual(written(Command.make({ update: { total: 1 } }), { node: "edged" }), [["total", 1], [
    "branch:to:next",
    null
  ]])
})

it("Law10 the output of an error handler does not fire the node's own edges, and may go by Command", () => {
  const node = machine.nodes[machine.nodeNumber.get("edged")!]!
  const handled = (output: unknown) =>
    named(machine, Result.getOrThrow(writesOf(machine, initial(machine).cells, node, output, true)))
  assert.deepStrictEqual(handled({ total: 1 }), [["total", 1]])
  assert.deepStrictEqual(handled(Command.make({ goto: "plain" })), [["branch:to:plain", null]])
})

// ---------------------------------------------------------------------------
// Routes
// ---------------------------------------------------------------------------

const routed = (choose: (state: never) => unknown) =>
  program(Demo, { plain: nothing, next: nothing, work, other: nothing }, {
    start: "plain",
    edges: { plain: StateGraph.route(["next", "work", END], choose as never) }
  })

it("S3 a route sees what its own node wrote, folded into the state", () => {
  const seen: Array<unknown> = []
  const of = routed((state) => {
    seen.push(state)
    return "next"
  })
  const at = superstep(of, fed(of, { total: 1, list: ["x"] }))
  const node = of.nodes[of.nodeNumber.get("plain")!]!
  const writes = named(
    of,
    Result.getOrThrow(writesOf(of, at.cells, node, [{ total: 2, list: ["y"] }, { list: ["z"] }]))
  )
  assert.deepStrictEqual(seen, [{ total: 2, list: ["x", "y", "z"], topic: [], hidden: 0 }])
  assert.deepStrictEqual(writes.at(-1), ["branch:to:next", null])
  assert.isTrue(Object.isFrozen(seen[0]))
})

it("Law7 a route gives names, Sends, a list of both, or an empty list that ends the branch", () => {
  assert.deepStrictEqual(written(undefined, { of: routed(() => END) }), [])
  assert.deepStrictEqual(written(undefined, { of: routed(() => []) }), [])
  assert.deepStrictEqual(
    written(undefined, { of: routed(() => ["next", Send.make("work", { n: 1 }), Send.make("work", { n: 2 })]) }),
    [
      ["branch:to:next", null],
      ["__tasks", Send.make("work", { n: 1 })],
      ["__tasks", Send.make("work", { n: 2 })]
    ]
  )
})

it("Law7 a route that chooses what it did not declare is refused", () => {
  for (const value of ["other", "nope", undefined, null, Send.make("other", {})]) {
    const error = refused(undefined, { of: routed(() => value) })
    assert.deepInclude(error, { _tag: "UnknownRoute", from: "plain", value, allowed: ["next", "work", END] })
  }
})

it("Law4 a route whose node wrote what its channel refuses is not asked", () => {
  let asked = 0
  const of = routed(() => {
    asked++
    return "next"
  })
  assert.deepInclude(refused([{ total: 1 }, { total: 2 }], { of }), {
    reason: "MultipleWrites",
    channel: "total",
    writers: ["plain"]
  })
  assert.deepInclude(refused({ total: "x" }, { of }), { reason: "InvalidValue" })
  assert.strictEqual(asked, 0)
})

// ---------------------------------------------------------------------------
// Inputs and Commands from outside
// ---------------------------------------------------------------------------

const input = (value: unknown) => inputWrites(machine, value)

it("A9 an input is checked as a whole before anything of it is taken", () => {
  const refusedInput = (value: unknown) => Result.getOrThrow(Result.flip(input(value)))
  assert.deepInclude(refusedInput({ total: 1, nope: 2 }), {
    reason: "UnknownChannel",
    channel: "nope",
    writers: ["__input__"]
  })
  assert.deepInclude(refusedInput({ hidden: 1 }), { reason: "UnknownChannel", channel: "hidden" })
  assert.deepInclude(refusedInput({ total: "x" }), { reason: "InvalidValue", channel: "total" })
  assert.deepInclude(refusedInput({ total: Channel.overwrite(1) }), { reason: "OverwriteRefused", channel: "total" })
  for (const value of [undefined, null, 5, "x", [], [{}], new Map()]) {
    assert.deepInclude(refusedInput(value), { reason: "NotAnUpdate" })
  }
})

it("§2 an input is one write of the record that the start hands on", () => {
  assert.deepStrictEqual(named(machine, Result.getOrThrow(input({ total: 1, list: undefined }))), [["__start__", {
    total: 1
  }]])
  assert.deepStrictEqual(named(machine, Result.getOrThrow(input({}))), [["__start__", {}]])
})

it("Law7 a Command from outside is checked like one of a node", () => {
  const from = (update: unknown, goto: ReadonlyArray<unknown>) => commandWrites(machine, update, goto)
  assert.deepStrictEqual(named(machine, Result.getOrThrow(from({ hidden: 1 }, ["next"]))), [["hidden", 1], [
    "branch:to:next",
    null
  ]])
  assert.deepInclude(Result.getOrThrow(Result.flip(from({ nope: 1 }, []))), {
    reason: "UnknownChannel",
    writers: ["__input__"]
  })
  assert.deepInclude(Result.getOrThrow(Result.flip(from({}, ["nope"]))), {
    _tag: "UnknownRoute",
    from: "__input__",
    value: "nope"
  })
})
