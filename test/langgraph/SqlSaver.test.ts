/**
 * The saver that keeps threads of LangGraph.js in a SQL database. LangGraph's own validation of savers runs on it in `validation/`,
 * which is a package of its own: it needs another version of vitest.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  type BaseCheckpointSaver,
  emptyCheckpoint,
  ERROR,
  INTERRUPT,
  JsonPlusSerializer,
  uuid6
} from "@langchain/langgraph-checkpoint"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Checkpointer } from "superstep/Checkpointer"
import { make } from "superstep/langgraph/SqlSaver"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import * as SqliteClient from "superstep/sql/SqliteClient"
import { commitAll } from "../conformance/CheckpointerSuite.ts"
import { layerPostgresClient } from "../Postgres.ts"

const clients = [
  ["SQLite", SqliteClient.layer({ filename: ":memory:" })],
  ["Postgres", layerPostgresClient]
] as const

type Saver = BaseCheckpointSaver<string>
type Config = Parameters<Saver["getTuple"]>[0]

const about = { source: "loop", step: 1, parents: {} } as const
const root = (thread: string, namespace = "") => ({ configurable: { thread_id: thread, checkpoint_ns: namespace } })
const idOf = (config: Config): string => config.configurable?.["checkpoint_id"]

const put = (
  saver: Saver,
  config: Config,
  values: Record<string, unknown>,
  versions: Record<string, string>,
  meta = {}
) =>
  saver.put(
    config,
    { ...emptyCheckpoint(), id: uuid6(1), channel_values: values, channel_versions: versions },
    { ...about, ...meta },
    versions
  )

const listed = async (saver: Saver, ...args: Parameters<Saver["list"]>) => {
  const ids: Array<string> = []
  for await (const { config } of saver.list(...args)) ids.push(idOf(config))
  return ids
}

for (const [name, client] of clients) {
  const saves = (title: string, body: (saver: Saver) => Promise<void>) =>
    it.live(title, () =>
      Effect.gen(function*() {
        const saver = yield* make()
        yield* Effect.promise(() => body(saver))
      }).pipe(Effect.provide(Layer.fresh(client))))

  describe(`SqlSaver on ${name}`, () => {
    saves("a checkpoint comes back as it was put, with its parent and its writes in order", async (saver) => {
      const first = await put(saver, root("t"), {}, {})
      const values = { text: "\0 ü🧵", bytes: new Uint8Array([0, 255, 7]), map: new Map([["a", 1]]) }
      const versions = { text: "1.a", bytes: "1.b", map: "1.c" }
      const second = await put(saver, first, values, versions, { user: { tags: ["a"] } })
      await saver.putWrites(second, [["x", 1], ["y", 2]], "late", "~2")
      await saver.putWrites(second, [["x", 3]], "early", "~1")
      const tuple = await saver.getTuple(root("t"))
      assert.deepStrictEqual(tuple?.checkpoint.channel_values, values)
      assert.deepStrictEqual(tuple?.checkpoint.channel_versions, versions)
      assert.deepStrictEqual(tuple?.metadata, { ...about, user: { tags: ["a"] } } as never)
      assert.deepStrictEqual([tuple?.config, tuple?.parentConfig], [second, first])
      assert.deepStrictEqual(tuple?.pendingWrites, [["early", "x", 3], ["late", "x", 1], ["late", "y", 2]])
    })
    saves("a value that did not change is stored once, and is there in every checkpoint", async (saver) => {
      const first = await put(saver, root("t"), { big: "value" }, { big: "1.a" })
      const next = {
        ...emptyCheckpoint(),
        id: uuid6(2),
        channel_values: { big: "value" },
        channel_versions: { big: "1.a" }
      }
      const second = await saver.put(first, next, about, {})
      assert.deepStrictEqual((await saver.getTuple(second))?.checkpoint.channel_values, { big: "value" })
      assert.deepStrictEqual((await saver.getTuple(first))?.checkpoint.channel_values, { big: "value" })
    })
    saves("the first write stays, and errors and interrupts are replaced", async (saver) => {
      const config = await put(saver, root("t"), {}, {})
      for (const value of ["first", "second"]) {
        await saver.putWrites(config, [["x", value]], "task")
        await saver.putWrites(config, [[ERROR, value], [INTERRUPT, value]], "other")
      }
      const writes = (await saver.getTuple(config))?.pendingWrites
      assert.sameDeepMembers(writes!, [["task", "x", "first"], ["other", INTERRUPT, "second"], [
        "other",
        ERROR,
        "second"
      ]])
    })
    saves("lists newest first, by thread, namespace, metadata and limit", async (saver) => {
      const one = idOf(await put(saver, root("t"), {}, {}, { user: { name: "a" } }))
      const two = idOf(await put(saver, root("t"), {}, {}, { user: { name: "b" } }))
      const inside = idOf(await put(saver, root("t", "child"), {}, {}, { user: { name: "a" } }))
      const other = idOf(await put(saver, root("u"), {}, {}, { user: { name: "a" } }))
      assert.deepStrictEqual(await listed(saver, root("t")), [two, one])
      assert.deepStrictEqual(await listed(saver, { configurable: { thread_id: "t" } }), [inside, two, one])
      assert.deepStrictEqual(await listed(saver, {}), [other, inside, two, one])
      assert.deepStrictEqual(await listed(saver, {}, { filter: { user: { name: "a" } } }), [other, inside, one])
      assert.deepStrictEqual(await listed(saver, {}, { filter: { user: { name: "a" } }, limit: 2 }), [other, inside])
      const before = { configurable: { checkpoint_id: two } }
      assert.deepStrictEqual(await listed(saver, root("t"), { before }), [one])
      assert.deepStrictEqual(await listed(saver, root("none")), [])
    })
    saves("versions of two branches are different, and grow", async (saver) => {
      const one = saver.getNextVersion(undefined)
      const [two, other] = [saver.getNextVersion(one), saver.getNextVersion(one)]
      assert.notStrictEqual(two, other)
      assert.isTrue(one < two && one < other && saver.getNextVersion(two) > other)
    })
    saves("a config without a thread, or of writes without a checkpoint, is refused", async (saver) => {
      const failure = async (promise: Promise<unknown>) =>
        promise.then(() => "nothing", (error: Error) => error.message)
      assert.include(await failure(put(saver, { configurable: {} }, {}, {})), "has no \"thread_id\"")
      assert.include(await failure(saver.putWrites({ configurable: {} }, [], "task")), "has no \"thread_id\"")
      assert.include(await failure(saver.putWrites(root("t"), [["x", 1]], "task")), "has no \"checkpoint_id\"")
    })
    saves("what the serializer refuses is told, and nothing is stored", async (saver) => {
      saver.serde = { dumpsTyped: () => Promise.reject(new Error("no")), loadsTyped: () => Promise.resolve(undefined) }
      assert.strictEqual(await put(saver, root("t"), {}, {}).then(() => "", (error: Error) => error.message), "no")
      saver.serde = new JsonPlusSerializer()
      assert.deepStrictEqual(await listed(saver, {}), [])
    })
    it.live("lives beside the threads of superstep in one database, and each deletes its own", () =>
      Effect.gen(function*() {
        const saver = yield* make()
        const ours = yield* SqlCheckpointer.make
        yield* Effect.promise(() => put(saver, root("t"), { a: 1 }, { a: "1.a" }))
        yield* Effect.provideService(commitAll("t", ["a"]), Checkpointer, ours)
        yield* Effect.promise(() => saver.deleteThread("t"))
        assert.isUndefined(yield* Effect.promise(() => saver.getTuple(root("t"))))
        assert.deepStrictEqual(yield* ours.threads, ["t"])
        yield* Effect.promise(() => put(saver, root("t"), {}, {}))
        yield* ours.deleteThread("t")
        assert.isDefined(yield* Effect.promise(() => saver.getTuple(root("t"))))
        const sql = yield* SqlClient.SqlClient
        const left = yield* sql<{ left: number }>`SELECT count(*) AS left FROM superstep_langgraph_values`
        assert.strictEqual(Number(left[0]?.left), 0)
      }).pipe(Effect.provide(Layer.fresh(client))))
    it.live("can be made twice on one database", () =>
      Effect.gen(function*() {
        const one = yield* make()
        const two = yield* make()
        yield* Effect.promise(() => put(one, root("t"), { a: 1 }, { a: "1.a" }))
        const tuple = yield* Effect.promise(() => two.getTuple(root("t")))
        assert.deepStrictEqual(tuple?.checkpoint.channel_values, { a: 1 })
      }).pipe(Effect.provide(Layer.fresh(client))))
  })
}
