/** The errors of the engine, as text. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { GraphError, Interrupt } from "superstep"

const names = [
  "reason channel writers detail cause from value allowed limit next keys node arrived missing kind nodes timeoutMillis",
  "elapsedMillis when graph update goto name tag answered now thread checkpoint branch expected found path requests",
  "id pending argument commands"
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

  it("an error without fields has a text", () => {
    for (const Class of classes) assert.isString(new Class({}).message)
  })
})
