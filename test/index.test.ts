/** The package as its user imports it. */
import { assert, it } from "@effect/vitest"
import * as Superstep from "superstep"
import * as Channel from "superstep/Channel"
import * as Command from "superstep/Command"
import * as StateGraph from "superstep/StateGraph"

it("L5 the package exports its modules by name, and the two ends of a graph", () => {
  assert.strictEqual(Superstep.Channel, Channel)
  assert.strictEqual(Superstep.StateGraph, StateGraph)
  assert.strictEqual(Superstep.START, Command.START)
  assert.strictEqual(Superstep.END, Command.END)
  assert.deepStrictEqual([Superstep.START, Superstep.END], ["__start__", "__end__"])
})

it("L5 every module of the package exports something", () => {
  const empty = Object.entries(Superstep).filter(([, module]) =>
    typeof module === "object" && Object.keys(module).length === 0
  )
  assert.deepStrictEqual(empty.map(([name]) => name), [])
})
