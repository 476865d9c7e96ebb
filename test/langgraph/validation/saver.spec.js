/** LangGraph's validation of savers, and a graph of LangGraph, on the saver that keeps threads in a SQL database. */
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph"
import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation"
import { ManagedRuntime } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import * as SqlSaver from "../../../src/langgraph/SqlSaver.ts"
import * as SqliteClient from "../../../src/sql/SqliteClient.ts"

const runtimes = new Map()

const open = async (filename) => {
  const runtime = ManagedRuntime.make(SqliteClient.layer({ filename }))
  const saver = await runtime.runPromise(SqlSaver.make())
  runtimes.set(saver, runtime)
  return saver
}

const close = (saver) => runtimes.get(saver).dispose()

const initializer = {
  checkpointerName: "superstep/langgraph/SqlSaver",
  createCheckpointer: () => open(":memory:"),
  destroyCheckpointer: close
}

specTest(initializer)
deltaChannelHistoryTests(initializer)

describe("a graph of LangGraph.js", () => {
  const State = Annotation.Root({
    total: Annotation(),
    visited: Annotation({ reducer: (one, two) => [...one, ...two], default: () => [] })
  })

  const graphOn = (checkpointer) =>
    new StateGraph(State)
      .addNode("double", (state) => ({ total: state.total * 2, visited: ["double"] }))
      .addNode("ask", (state) => ({ visited: [`approved: ${interrupt(state.total)}`] }))
      .addEdge(START, "double")
      .addEdge("double", "ask")
      .addEdge("ask", END)
      .compile({ checkpointer })

  it("keeps its threads in a file, and goes on from there", async () => {
    const folder = mkdtempSync(join(tmpdir(), "superstep-langgraph-"))
    try {
      const config = { configurable: { thread_id: "one" } }
      const first = await open(join(folder, "threads.db"))
      await graphOn(first).invoke({ total: 10 }, config)
      await close(first)

      const second = await open(join(folder, "threads.db"))
      const graph = graphOn(second)
      const state = await graph.getState(config)
      expect(state.next).toEqual(["ask"])
      expect(state.tasks[0].interrupts[0].value).toBe(20)
      expect(await graph.invoke(new Command({ resume: "yes" }), config)).toEqual({
        total: 20,
        visited: ["double", "approved: yes"]
      })
      await close(second)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it("reads of two branches what each has written", async () => {
    const saver = await open(":memory:")
    const graph = graphOn(saver)
    const config = { configurable: { thread_id: "branches" } }
    await graph.invoke({ total: 10 }, config)
    const states = []
    for await (const state of graph.getStateHistory(config)) states.push(state)
    const start = states.find(({ next }) => next[0] === "double")
    const old = states.find(({ next }) => next[0] === "ask")
    const fork = await graph.updateState(start.config, { total: 100 })
    await graph.invoke(null, fork)
    expect((await graph.getState(config)).values).toEqual({ total: 200, visited: ["double"] })
    expect((await graph.getState(old.config)).values).toEqual({ total: 20, visited: ["double"] })
    await close(saver)
  })
})
