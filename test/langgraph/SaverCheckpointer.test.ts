/** Threads in savers of LangGraph.js. */
import { assert, describe, it } from "@effect/vitest"
import { emptyCheckpoint, MemorySaver } from "@langchain/langgraph-checkpoint"
import { Effect, Layer, Schema, type Scope } from "effect"
import { Channel, Checkpointer, END, type GraphError, Interrupt, State, StateGraph } from "superstep"
import { keptThreads, layer, make } from "superstep/langgraph/SaverCheckpointer"
import type { Around, Faulty } from "superstep/testing/CheckpointerSuite"
import {
  checkpoint,
  checkpointerSuite,
  commit,
  commitAll,
  commitOf,
  putTasks,
  task
} from "../conformance/CheckpointerSuite.ts"
import { filename } from "../sql/files.ts"
import { memorySaver, postgresSaver, sqliteSaver, sqliteSaverOnFile } from "./Savers.ts"

type Saver = Parameters<typeof make>[0]

const layerOf = (
  saver: Effect.Effect<Saver, never, Scope.Scope>
): Layer.Layer<Checkpointer.Checkpointer, GraphError.CheckpointError> => Layer.unwrap(Effect.map(saver, layer))

/** The saver, with something around each of its calls. */
const wrap = (saver: Saver, around: Around): Saver => {
  const through = <A>(call: () => Promise<A>) => Effect.runPromise(around(Effect.promise(call)))
  return {
    getTuple: (config) => through(() => saver.getTuple(config)),
    list: (config, options) => saver.list(config, options),
    put: (...args) => through(() => saver.put(...args)),
    putWrites: (...args) => through(() => saver.putWrites(...args)),
    deleteThread: (thread) => through(() => saver.deleteThread(thread))
  }
}

const faulty: Faulty<GraphError.CheckpointError> = (around) =>
  Effect.map(filename, (filename) => layerOf(Effect.map(sqliteSaver(filename), (saver) => wrap(saver, around))))

checkpointerSuite("MemorySaver of LangGraph.js", layerOf(memorySaver))
checkpointerSuite("SqliteSaver of LangGraph.js", layerOf(sqliteSaverOnFile), { faulty })
checkpointerSuite("PostgresSaver of LangGraph.js", layerOf(postgresSaver))

// ---------------------------------------------------------------------------
// Graphs
// ---------------------------------------------------------------------------

class Count extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
class Approve extends Interrupt.make("Approve", { payload: Schema.Int, answer: Schema.Boolean }) {}

const graph = StateGraph.make(
  "asks",
  StateGraph.nodes(Count, {
    double: (state) => ({ total: state.total * 2, visited: ["double"] }),
    ask: Effect.fnUntraced(function*(state) {
      return { visited: [`approved: ${yield* Approve.ask(state.total)}`] }
    })
  }),
  { start: "double", edges: { double: "ask", ask: END } }
)

/** Two savers on one storage, as in two processes. */
const two = Effect.gen(function*() {
  const path = yield* filename
  return [yield* make(yield* sqliteSaver(path)), yield* make(yield* sqliteSaver(path))] as const
})

const on = (saver: Checkpointer.CheckpointerShape) => Effect.provideService(Checkpointer.Checkpointer, saver)

describe("threads in a saver of LangGraph.js", () => {
  it.live("are the same as in memory, and go on in another process", () =>
    Effect.gen(function*() {
      const [one, other] = yield* two
      const thread = graph.thread("t")
      const start = Effect.flip(thread.invoke({ total: 10 }))
      const resume = thread.resume(Approve.reply(true))
      yield* on(one)(start)
      assert.deepStrictEqual(yield* on(other)(resume), { total: 20, visited: ["double", "approved: true"] })
      const ids = Effect.map(thread.history(), (history) => history.map(({ checkpoint }) => checkpoint))
      const inMemory = Effect.provide(start.pipe(Effect.andThen(resume), Effect.andThen(ids)), Checkpointer.layerMemory)
      assert.deepStrictEqual(yield* on(one)(ids), yield* inMemory)
    }))
  it.live("of two processes that commit on one head one wins, and both see it", () =>
    Effect.gen(function*() {
      const [one, other] = yield* two
      yield* on(one)(commitAll("t", ["a"]))
      for (let round = 0; round < 20; round++) {
        const head = yield* one.head("t", "")
        const parent = head._tag === "Some" ? head.value.id : undefined
        const next = (owner: string) =>
          commit("t", commitOf(checkpoint(`${round} ${owner}`, parent), { owner, life: "owner" }))
        const exits = yield* Effect.all([on(one)(Effect.result(next("one"))), on(other)(Effect.result(next("two")))], {
          concurrency: "unbounded"
        })
        assert.strictEqual(exits.filter((exit) => exit._tag === "Success").length, 1)
        assert.deepStrictEqual(yield* one.head("t", ""), yield* other.head("t", ""))
      }
      assert.deepStrictEqual(yield* one.list("t", "", {}), yield* other.list("t", "", {}))
    }))
  it.live("of two processes that finish one task at once both are given the same row", () =>
    Effect.gen(function*() {
      const [one, other] = yield* two
      yield* on(one)(commitAll("t", ["a"]))
      for (let round = 0; round < 20; round++) {
        const put = (data: string) => putTasks("t", [task("a", `${round}`, { data })])
        const [first, second] = yield* Effect.all([on(one)(put("1")), on(other)(put("2"))], {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(first, second)
      }
    }))
  it.live("that are deleted in one process are gone in the other, whether they begin again or not", () =>
    Effect.gen(function*() {
      const [one, other] = yield* two
      yield* on(one)(commitAll("t", ["a", "b"], { owner: "first" }))
      yield* on(other)(commit("t", commitOf(checkpoint("c", "b"), { life: "first" })))
      yield* one.deleteThread("t")
      const late = on(other)(Effect.flip(commit("t", commitOf(checkpoint("d", "c"), { life: "first" }))))
      assert.strictEqual((yield* late)._tag, "ThreadDeleted")
      assert.deepStrictEqual(yield* other.threads, [])
      yield* on(one)(commitAll("t", ["a"], { owner: "second" }))
      assert.strictEqual((yield* late)._tag, "ThreadDeleted")
      assert.deepStrictEqual((yield* other.list("t", "", {})).map(({ id }) => id), ["a"])
    }))
  it.live("that are deleted where a page of the log ends take nothing either", () =>
    Effect.gen(function*() {
      const [one, other] = yield* two
      const ids = Array.from({ length: 64 }, (_, index) => `c${index}`)
      yield* on(other)(commitAll("t", ids, { owner: "first" }))
      yield* one.deleteThread("t")
      const late = commit("t", commitOf(checkpoint("late", "c63"), { life: "first" }))
      assert.strictEqual((yield* on(other)(Effect.flip(late)))._tag, "ThreadDeleted")
    }))
  it.live("are read again when they were not used lately", () =>
    Effect.gen(function*() {
      const saver = yield* make(new MemorySaver())
      const names = Array.from({ length: keptThreads + 1 }, (_, index) => `t${index}`)
      for (const name of names) yield* on(saver)(commitAll(name, ["a", "b"]))
      for (const name of names) {
        assert.deepStrictEqual((yield* saver.list(name, "", {})).map(({ id }) => id), ["b", "a"])
      }
    }))
  it.live("leave LangGraph's own threads alone, and its saver's rows", () =>
    Effect.gen(function*() {
      const theirs = new MemorySaver()
      const config = { configurable: { thread_id: "t", checkpoint_ns: "" } }
      yield* Effect.promise(() => theirs.put(config, emptyCheckpoint(), { source: "input", step: -1, parents: {} }))
      const saver = yield* make(theirs)
      yield* on(saver)(commitAll("t", ["a"]))
      assert.deepStrictEqual(yield* saver.threads, ["t"])
      yield* saver.deleteThread("t")
      assert.isDefined(yield* Effect.promise(() => theirs.getTuple(config)))
    }))
})

// ---------------------------------------------------------------------------
// Savers that do not keep their promises
// ---------------------------------------------------------------------------

/** Replaces what was written first. */
class Replacing extends MemorySaver {
  override async putWrites(...[config, writes, task, path]: Parameters<MemorySaver["putWrites"]>) {
    const key = JSON.stringify([
      config.configurable?.["thread_id"],
      config.configurable?.["checkpoint_ns"],
      config.configurable?.["checkpoint_id"]
    ])
    delete this.writes[key]
    return super.putWrites(config, writes, task, path)
  }
}

/** Keeps the last checkpoint only. */
class Shallow extends MemorySaver {
  override async put(...[config, ...rest]: Parameters<MemorySaver["put"]>) {
    await super.deleteThread(config.configurable?.["thread_id"])
    return super.put(config, ...rest)
  }
}

/** A saver that holds a thread, and what it says once the texts in it are changed. */
const changed = Effect.fnUntraced(function*(change: (text: string) => string | undefined) {
  class Changed extends MemorySaver {
    override async getTuple(config: Parameters<MemorySaver["getTuple"]>[0]) {
      const tuple = await super.getTuple(config)
      const text = tuple?.checkpoint.channel_values["superstep"]
      if (tuple !== undefined && typeof text === "string") tuple.checkpoint.channel_values["superstep"] = change(text)
      return tuple
    }
  }
  const theirs = new Changed()
  yield* on(yield* make(theirs))(commitAll("t", ["a"]))
  return yield* Effect.flip((yield* make(theirs)).head("t", ""))
})

describe("a saver of LangGraph.js is refused", () => {
  it.live("if it replaces what was written first", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(make(new Replacing()))
      assert.deepStrictEqual([error._tag, error.reason], ["CheckpointError", "Storage"])
      assert.include(error.message, "does not keep the first of two writes")
    }))
  it.live("if it keeps the last checkpoint only", () =>
    Effect.gen(function*() {
      assert.include((yield* Effect.flip(make(new Shallow()))).message, "does not keep the first of two writes")
    }))
  it.live("where it has lost a part of a thread", () =>
    Effect.gen(function*() {
      const error = yield* changed(() => undefined)
      assert.deepStrictEqual([error.reason, error.thread], ["Decode", "t"])
      assert.include(error.message, "the saver has lost a part of the thread")
    }))
  it.live("where it holds what cannot be read", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* changed((text) => text.replace("\"branch\":1", "\"branch\":\"1\""))).reason, "Decode")
      assert.strictEqual((yield* changed((text) => text.slice(1))).reason, "Decode")
      assert.strictEqual((yield* changed((text) => text.replace("\"commit\"", "\"unknown\""))).reason, "Decode")
    }))
  it.live("where it holds a format of the future", () =>
    Effect.gen(function*() {
      const error = yield* changed((text) => text.replace("\"format\":1", "\"format\":2"))
      assert.strictEqual(error.reason, "Format")
      assert.include(error.message, "has format 2; this version reads format 1")
    }))
  it.live("with what it says, when it fails", () =>
    Effect.gen(function*() {
      const theirs = new MemorySaver()
      const saver = yield* make(theirs)
      theirs.getTuple = () => Promise.reject(new Error("the database is away"))
      const error = yield* Effect.flip(saver.head("t", ""))
      assert.deepStrictEqual([error.reason, error.thread], ["Storage", "t"])
      assert.include(error.message, "the saver cannot read: the database is away")
    }))
})
