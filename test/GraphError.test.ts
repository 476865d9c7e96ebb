/** The errors of the engine, as text. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { GraphError, Interrupt } from "superstep"

const names = [
  "reason channel writers detail cause from value allowed limit next keys node arrived missing kind nodes timeoutMillis",
  "elapsedMillis when graph update goto tag answered now thread checkpoint branch expected found path requests",
  "id pending argument commands called key paths differences"
].join(" ").split(" ")

type Class = new(fields: object) => { readonly _tag: string; readonly message: string }

const classes = Object.values({ ...GraphError, GraphInterrupt: Interrupt.GraphInterrupt } as Record<string, unknown>)
  .filter((one): one is Class => typeof one === "function" && one.prototype instanceof Error)

type Tag<E> = E extends { readonly _tag: infer T extends string } ? T : never

const ofAnyRun: Record<Tag<GraphError.EngineError>, true> = {
  InvalidUpdate: true,
  UnknownRoute: true,
  RecursionLimit: true,
  MissingInput: true,
  InvalidArgument: true,
  StalledJoin: true,
  NodeTimeout: true,
  GraphDrained: true,
  GraphBreakpoint: true,
  NoParentGraph: true,
  ConcurrentCall: true,
  DuplicateKey: true,
  ReplayMismatch: true,
  UnknownNode: true
}

const ofThreads: Record<Exclude<Tag<GraphError.ThreadError>, Tag<GraphError.EngineError>>, true> = {
  CheckpointError: true,
  GraphChanged: true,
  ThreadConflict: true,
  ThreadDeleted: true,
  UnknownThread: true,
  UnknownCheckpoint: true,
  PendingWork: true,
  InvalidReply: true,
  InterruptMismatch: true
}

describe("errors", () => {
  it("every error is of any run, of threads, of updates, or how a graph ends; isEngineError knows the first", () => {
    for (const Class of classes) {
      const error = new Class({})
      const isOfAnyRun = Object.hasOwn(ofAnyRun, error._tag)
      assert.strictEqual(GraphError.isEngineError(error), isOfAnyRun, error._tag)
      const isKnown = isOfAnyRun || Object.hasOwn(ofThreads, error._tag) ||
        ["Steering", "GraphInterrupt", "AmbiguousUpdate"].includes(error._tag)
      assert.isTrue(isKnown, error._tag)
    }
    for (const other of [undefined, null, "InvalidUpdate", { _tag: "InvalidUpdate" }, new Error("InvalidUpdate")]) {
      assert.isFalse(GraphError.isEngineError(other))
    }
  })

  it("every error has a text, whatever its fields hold", () => {
    assert.isAbove(classes.length, 20)
    const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true, withMap: true })
    const hostile = fc.oneof(anything, fc.constantFrom(Symbol("s"), Object.create(null), () => 1, Number.NaN))
    fc.assert(
      fc.property(fc.constantFrom(...classes), fc.dictionary(fc.constantFrom(...names), hostile), (Class, fields) => {
        assert.isString(new Class(fields).message)
      })
    )
  })

  it("an error that says what was called prints under its own name", () => {
    const at = { node: "node", called: "inner" }
    const errors = [
      new GraphError.ConcurrentCall({ ...at, kind: "graph" }),
      new GraphError.ConcurrentCall({ ...at, kind: "ask" }),
      new GraphError.DuplicateKey({ ...at, kind: "graph", key: "k" }),
      new GraphError.DuplicateKey({ ...at, kind: "ask", key: "k" }),
      new GraphError.ReplayMismatch(at)
    ]
    for (const error of errors) {
      assert.strictEqual(error.name, error._tag)
      assert.match(String(error), new RegExp(`^${error._tag}: node "node" .*"inner"`))
    }
  })

  it("an update that no channel is at fault for names who made it, and no key", () => {
    const said = (error: ConstructorParameters<typeof GraphError.InvalidUpdate>[0]) =>
      new GraphError.InvalidUpdate(error).message
    assert.strictEqual(
      said({ reason: "MixedRouting", writers: ["a"] }),
      "from \"a\": has edges and returned a Command that goes somewhere. A node has one kind of routing: drop its edges, " +
        "or the goto"
    )
    assert.strictEqual(
      said({ reason: "NotAnUpdate", writers: ["a"], detail: "got number" }),
      "from \"a\": brings no update, which is a record of writes, a Command, a list of these, or nothing: got number"
    )
    assert.match(
      said({ reason: "UnknownChannel", channel: "k", writers: ["a"] }),
      /^at key "k": .* \(written by "a"\)$/
    )
  })

  it("an error without fields has a text", () => {
    for (const Class of classes) assert.isString(new Class({}).message)
  })
})
