import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, type Layer, Logger, Option, Redacted, Result, Schema, Tracer } from "effect"
import * as fc from "fast-check"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { inspect } from "node:util"
import { Channel, type Checkpoint, Checkpointer, GraphError, Interrupt, State, StateGraph } from "superstep"
import * as EncryptedCheckpointer from "superstep/crypto/EncryptedCheckpointer"
import { layerSqlite } from "superstep/sql/SqlCheckpointer"
import { rowsOf } from "../behaviour/Pauses.ts"
import { checkpoint, commitOf, task } from "../conformance/CheckpointerSuite.ts"
import { layerPostgres } from "../Postgres.ts"
import { filename } from "../sql/files.ts"
import { encrypted, ids, key, options } from "./keys.ts"

type Saver = Checkpointer.CheckpointerShape

// ---------------------------------------------------------------------------
// What is stored
// ---------------------------------------------------------------------------

/** Ids as the engine makes them. */
const id = (digit: number): string => digit.toString(16).repeat(32)

const first = { ...commitOf(checkpoint(id(1))), life: undefined, root: undefined }

const next = (of: Partial<Checkpoint.Commit> = {}): Checkpoint.Commit => ({
  ...commitOf(checkpoint(id(2), id(1), { step: 1, metadata: "{\"user\":\"Ada\"}" }), {
    tasks: [task(id(1), "pull:a"), task(id(2), "pull:b", { status: "paused" })]
  }),
  life: "owner",
  root: undefined,
  ...of
})

const put = (...tasks: ReadonlyArray<Checkpoint.TaskRow>): Checkpoint.Put => ({
  namespace: "",
  tasks,
  place: "",
  branch: 1,
  life: "owner",
  root: undefined
})

/** An encrypted saver with two checkpoints, and what is below it. */
const filled = Effect.fnUntraced(function*(thread = "t") {
  const below = yield* Checkpointer.makeMemory
  const saver = EncryptedCheckpointer.make(below, options)
  yield* saver.commit(thread, first)
  yield* saver.commit(thread, next())
  return { below, saver, head: Option.getOrThrow(yield* below.head(thread, "")).id }
})

/** Where what is read from a saver was changed below. */
const changed = (below: Saver, change: (saved: Checkpoint.Saved) => Checkpoint.Saved): Saver =>
  EncryptedCheckpointer.make(
    { ...below, get: (...at) => Effect.map(below.get(...at), Option.map(change)) },
    options
  )

const changedCheckpoint = (change: (row: Checkpoint.CheckpointRow) => Checkpoint.CheckpointRow) =>
(
  { chain, tasks }: Checkpoint.Saved
): Checkpoint.Saved => ({ chain: [...chain.slice(0, -1), change(chain.at(-1)!)], tasks })

const changedTask = (change: (row: Checkpoint.TaskRow) => Checkpoint.TaskRow) =>
(
  { chain, tasks }: Checkpoint.Saved
): Checkpoint.Saved => ({ chain, tasks: [change(tasks[0]!), ...tasks.slice(1)] })

const cut = (row: Checkpoint.TaskRow): Checkpoint.TaskRow => ({ ...row, data: `${row.data.slice(0, -5)}"}` })

/** Reading the second checkpoint fails; the error says where and what to do. */
const refused = Effect.fnUntraced(function*(saver: Saver, text: string) {
  const error = yield* Effect.flip(saver.get("t", "", id(2)))
  assert.strictEqual(error._tag, "CheckpointError")
  assert.deepStrictEqual([error.reason, error.thread], ["Decode", "t"])
  assert.include(error.message, text)
  return error
})

describe("rows", () => {
  it.effect("come back as they were, and are not stored so", () =>
    Effect.gen(function*() {
      const { below, head, saver } = yield* filled()
      const saved = Option.getOrThrow(yield* saver.get("t", "", id(2)))
      assert.deepStrictEqual(saved, { chain: [first.checkpoint, next().checkpoint], tasks: [...next().tasks] })
      const stored = Option.getOrThrow(yield* below.get("t", "", head))
      assert.match(stored.chain[1]!.data, /^\{"aes-256-gcm":"k-1","text":"[\w+/]+=*"\}$/)
      assert.match(stored.tasks[0]!.data, /^\{"aes-256-gcm":"k-1","text":"[\w+/]+=*"\}$/)
      assert.strictEqual(stored.chain[1]!.metadata, "{}")
      assert.deepStrictEqual(stored.tasks.map(({ status, task }) => [task, status]), [
        ["pull:a", "done"],
        ["pull:b", "paused"]
      ])
    }))
  it.effect("have a nonce each: of every thread, place, kind and text another, of the same row the same", () =>
    Effect.gen(function*() {
      const texts: Array<string> = []
      const below: Saver = {
        ...yield* Checkpointer.makeMemory,
        commit: (_, { checkpoint, tasks }) =>
          Effect.sync(() => void texts.push(checkpoint.data, ...tasks.map((row) => row.data)))
      }
      const saver = EncryptedCheckpointer.make(below, options)
      const row = task("a", "1", { status: "paused" })
      const rows = [row, { ...row, task: "2" }, { ...row, checkpoint: "b" }, { ...row, revision: 2 }, task("a", "1")]
      const tasks = [...rows, ...Array.from({ length: 5_000 }, (_, index) => ({ ...row, data: String(index) }))]
      for (const thread of ["t", "u"]) {
        for (const namespace of ["", "n"]) {
          yield* saver.commit(thread, { ...first, namespace, tasks })
          yield* saver.commit(thread, { ...first, namespace, checkpoint: { ...first.checkpoint, createdMillis: 1 } })
        }
      }
      const nonces = (all: ReadonlyArray<string>) =>
        new Set(all.map((text) => Buffer.from(JSON.parse(text).text, "base64").toString("hex", 0, 12)))
      assert.strictEqual(texts.length, 4 * (tasks.length + 2))
      assert.strictEqual(nonces(texts).size, texts.length)
      const again = texts.splice(0)
      yield* saver.commit("t", { ...first, tasks })
      assert.deepStrictEqual(texts, again.slice(0, texts.length))
    }))
  it.effect("that stand already are the same rows for a commit", () =>
    Effect.gen(function*() {
      const { saver } = yield* filled()
      yield* saver.putTasks("t", put(task(id(2), "x"), task(id(2), "y", { status: "paused" })))
      const commit = (...tasks: ReadonlyArray<Checkpoint.TaskRow>) =>
        saver.commit("t", next({ checkpoint: checkpoint(id(3), id(2)), expected: id(2), finished: 1, tasks }))
      const refused = yield* Effect.flip(commit(task(id(2), "x", { data: "2" })))
      assert.strictEqual(refused._tag, "ThreadConflict")
      yield* commit(task(id(2), "x", { revision: 2 }))
      assert.strictEqual(Option.getOrThrow(yield* saver.head("t", "")).id, id(3))
    }))
  it.effect("that were put are given back themselves, and what stands in their place as it was put", () =>
    Effect.gen(function*() {
      const { saver } = yield* filled()
      const rows = [task(id(2), "x"), task(id(2), "y")]
      const won = yield* saver.putTasks("t", put(...rows))
      assert.strictEqual(won[0], rows[0])
      assert.strictEqual(won[1], rows[1])
      const again = yield* saver.putTasks("t", put(task(id(2), "x", { data: "2" }), task(id(2), "y")))
      assert.deepStrictEqual(again, rows)
      const later = yield* saver.putTasks("t", put(task(id(2), "x", { revision: 2 })))
      assert.deepStrictEqual(later, rows.slice(0, 1))
    }))
  it.effect("of one run are the same through memory, SQLite and Postgres, encrypted or not", () =>
    Effect.gen(function*() {
      const layers = [
        Checkpointer.layerMemory,
        encrypted(Checkpointer.layerMemory),
        encrypted(layerSqlite({ filename: ":memory:" })),
        encrypted(layerPostgres)
      ]
      const runs = yield* Effect.forEach(layers, (layer) =>
        Effect.gen(function*() {
          yield* run("t")
          const rows = JSON.stringify(yield* rowsOf("t", ["", "nested"]))
          // Owners are random, times are the test's.
          return JSON.parse(rows.replaceAll(/"(owner|life)":"[^"]*"/g, "\"$1\":\"\"")) as unknown
        }).pipe(Effect.provide(layer)))
      assert.include(JSON.stringify(runs[0]), "Ada")
      for (const run of runs) assert.deepStrictEqual(run, runs[0])
    }))
})

// ---------------------------------------------------------------------------
// Ids
// ---------------------------------------------------------------------------

describe("ids", () => {
  it.effect("of checkpoints are stored as other ids, others in each thread", () =>
    Effect.gen(function*() {
      const below = yield* Checkpointer.makeMemory
      const saver = EncryptedCheckpointer.make(below, options)
      const stored = yield* Effect.forEach(["t", "u"], (thread) =>
        Effect.gen(function*() {
          yield* saver.commit(thread, first)
          yield* saver.commit(thread, next())
          assert.strictEqual(Option.getOrThrow(yield* saver.head(thread, "")).id, id(2))
          assert.deepStrictEqual((yield* saver.list(thread, "", { before: id(2) })).map((row) => row.id), [id(1)])
          const head = Option.getOrThrow(yield* below.head(thread, "")).id
          const { chain, tasks } = Option.getOrThrow(yield* below.get(thread, "", head))
          assert.deepStrictEqual([chain[1]!.parent, tasks[0]!.checkpoint], [chain[0]!.id, chain[0]!.id])
          return chain.map((row) => row.id)
        }))
      const all = new Set([...stored.flat(), id(1), id(2)])
      assert.strictEqual(all.size, 6)
      for (const stored of all) assert.match(stored, /^[0-9a-f]{32}$/)
    }))
  it.effect("of other forms are stored as they are", () =>
    Effect.gen(function*() {
      const below = yield* Checkpointer.makeMemory
      const saver = EncryptedCheckpointer.make(below, options)
      const root = checkpoint(id(10).toUpperCase())
      yield* saver.commit("t", { ...commitOf(root), life: undefined, root: undefined })
      assert.strictEqual(Option.getOrThrow(yield* below.head("t", "")).id, root.id)
      assert.strictEqual(Option.getOrThrow(yield* saver.head("t", "")).id, root.id)
    }))
  it.effect("of places name no checkpoint, and the root has no place", () =>
    Effect.gen(function*() {
      const places: Array<string> = []
      const memory = yield* Checkpointer.makeMemory
      const below: Saver = {
        ...memory,
        commit: (thread, commit) => {
          for (const { place } of [commit, ...commit.inside]) places.push(place)
          return memory.commit(thread, commit)
        }
      }
      const saver = EncryptedCheckpointer.make(below, options)
      const place = JSON.stringify([id(1), "pull:a", "nested"])
      const { tasks: _, ...inside } = { ...next({ namespace: "nested", place, checkpoint: checkpoint(id(3)) }) }
      yield* saver.commit("t", { ...first, inside: [{ ...inside, tasks: [], expected: undefined }] })
      assert.deepStrictEqual(Option.getOrThrow(yield* saver.head("t", place)).place, place)
      assert.strictEqual(places[0], "")
      assert.match(places[1]!, /^[\w-]{43}$/)
    }))
  it.effect("in conflicts and errors are those of the caller", () =>
    Effect.gen(function*() {
      const { below, saver } = yield* filled()
      const late = next({ checkpoint: checkpoint(id(3), id(1)), expected: id(1) })
      const conflict = yield* Effect.flip(saver.commit("t", late))
      assert.instanceOf(conflict, GraphError.ThreadConflict)
      assert.deepStrictEqual([conflict.expected, conflict.found], [id(1), id(2)])
      const cause = new Error("disk")
      const broken: Saver = {
        ...below,
        get: (thread, _, checkpoint) =>
          Effect.fail(
            new GraphError.CheckpointError({ reason: "Storage", thread, checkpoint, detail: "cannot read", cause })
          )
      }
      const error = yield* Effect.flip(EncryptedCheckpointer.make(broken, options).get("t", "", id(2)))
      assert.deepStrictEqual([error.reason, error.checkpoint, error.cause], ["Storage", id(2), cause])
    }))
})

// ---------------------------------------------------------------------------
// Keys
// ---------------------------------------------------------------------------

describe("keys", () => {
  const rotated = { keys: { "k-1": key(1), "k-2": key(2) }, current: "k-2", ids } as const

  it.effect("can be changed: new rows have the new one, older ones stay readable", () =>
    Effect.gen(function*() {
      const { below, head } = yield* filled()
      const saver = EncryptedCheckpointer.make(below, rotated)
      yield* saver.commit("t", next({ checkpoint: checkpoint(id(3), id(2)), expected: id(2), tasks: [] }))
      assert.strictEqual(Option.getOrThrow(yield* saver.get("t", "", id(3))).chain.length, 3)
      const texts = (yield* below.list("t", "", {})).map(({ data }) => data.slice(0, 21))
      assert.deepStrictEqual(texts, [2, 1, 1].map((n) => `{"aes-256-gcm":"k-${n}",`))
      assert.isDefined(head)
    }))
  it.effect("that are missing are named, with where they are needed", () =>
    Effect.gen(function*() {
      const { below } = yield* filled()
      const saver = EncryptedCheckpointer.make(below, { keys: { "k-2": key(2) }, current: "k-2", ids })
      const error = yield* refused(
        saver,
        "it was encrypted with the key \"k-1\", which is none of the keys (\"k-2\"). Add it to them"
      )
      assert.strictEqual(error.checkpoint, id(1))
      const listed = yield* Effect.flip(saver.list("t", "", { limit: 1 }))
      assert.deepStrictEqual([listed.reason, listed.checkpoint], ["Decode", id(2)])
    }))
  it.effect("that are wrong read nothing", () =>
    Effect.gen(function*() {
      const { below } = yield* filled()
      const wrong = { ...options, keys: { "k-1": key(2) } }
      const error = yield* refused(EncryptedCheckpointer.make(below, wrong), "cannot be decrypted with the key \"k-1\"")
      assert.strictEqual(error.checkpoint, id(1))
    }))
  it.effect("of ids that are wrong read nothing", () =>
    Effect.gen(function*() {
      const { below } = yield* filled()
      const saver = EncryptedCheckpointer.make(below, { ...options, ids: key(8) })
      const head = Option.getOrThrow(yield* saver.head("t", "")).id
      const error = yield* Effect.flip(saver.get("t", "", head))
      assert.include(error.message, "Check that this key and the key of ids are those it was stored with")
    }))
  it("of other sizes, kinds and names are refused at once, and not shown", () => {
    const below = Effect.runSync(Checkpointer.makeMemory)
    const make = (given: unknown) => () => EncryptedCheckpointer.make(below, given as typeof options)
    const keys = (key: unknown, name = "k-1") => ({ ...options, keys: { [name]: key } })
    const bytes = (length: number) => Redacted.make(new Uint8Array(length).fill(1))
    for (const length of [0, 16, 31, 33, 64]) {
      assert.throws(make(keys(bytes(length))), `the key "k-1" has ${length} bytes; a key has 32`)
      assert.throws(make({ ...options, ids: bytes(length) }), `the key of ids has ${length} bytes; a key has 32`)
    }
    const text = "0123456789abcdef0123456789abcdef"
    for (const key of [text, Redacted.make(text), Buffer.from(text), undefined]) {
      assert.throws(make(keys(key)), /^EncryptedCheckpointer: the key "k-1" is no Redacted of a Uint8Array.[^0]*$/)
    }
    for (const name of ["", "a b", "\"", "x".repeat(65), "ü"]) {
      assert.throws(make({ ...keys(key(1), name), current: name }), "is no id of a key")
    }
    assert.throws(make({ ...options, current: "k-2" }), "the current key \"k-2\" is none of the keys (\"k-1\")")
    assert.throws(make({ ...options, current: "toString" }), "the current key \"toString\" is none of the keys")
  })
  it.effect("are copied: what is done with the bytes later does not matter", () =>
    Effect.gen(function*() {
      const bytes = new Uint8Array(32).fill(1)
      const below = yield* Checkpointer.makeMemory
      const saver = EncryptedCheckpointer.make(below, { ...options, keys: { "k-1": Redacted.make(bytes) } })
      bytes.fill(0)
      yield* saver.commit("t", first)
      const again = EncryptedCheckpointer.make(below, options)
      assert.isTrue(Option.isSome(yield* again.get("t", "", id(1))))
    }))
  it.effect("appear in no error, span, log or view of the saver", () =>
    Effect.gen(function*() {
      const secret = new TextEncoder().encode("<<the secret of this storage!!>>")
      const secrets = { keys: { "k-1": Redacted.make(secret) }, current: "k-1", ids: Redacted.make(secret) } as const
      const shown: Array<unknown> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          shown.push(span)
          return span
        }
      })
      const logger = Logger.make((options) => void shown.push(options))
      const below = yield* Checkpointer.makeMemory
      const make = (saver: Saver) => EncryptedCheckpointer.make(saver, secrets)
      const readings = Effect.gen(function*() {
        yield* make(below).commit("t", first)
        yield* make(below).commit("t", next())
        const reading = make({ ...below, get: (...at) => Effect.map(below.get(...at), Option.map(changedTask(cut))) })
        for (const saver of [EncryptedCheckpointer.make(below, { ...options, ids: secrets.ids }), reading]) {
          const exit = yield* Effect.exit(saver.get("t", "", id(2)))
          assert.isTrue(Exit.isFailure(exit))
          yield* Effect.logError("reading failed", exit)
          shown.push(exit, Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", saver)
        }
        yield* run("u").pipe(Effect.provideService(Checkpointer.Checkpointer, make(below)))
        shown.push(yield* Effect.exit(Effect.try(() => make(below))), secrets, EncryptedCheckpointer.layer(secrets))
        const short = { ...secrets, ids: Redacted.make(secret.subarray(1)) }
        shown.push(yield* Effect.exit(Effect.sync(() => EncryptedCheckpointer.make(below, short))))
      })
      yield* readings.pipe(
        Effect.withSpan("readings"),
        Effect.withTracer(tracer),
        Effect.provide(Logger.layer([logger]))
      )
      assert.isAbove(shown.length, 8)
      const text = shown.map((one) => inspect(one, { depth: 12, maxArrayLength: 1_000, showHidden: true })).join("\n")
      assert.include(text, "cannot be decrypted")
      const bytes = Buffer.from(secret)
      const forms = ["utf8", "hex", "base64", "base64url"].map((form) => bytes.toString(form as BufferEncoding, 1, 31))
      for (const form of [...forms, [...bytes.subarray(1, 12)].join(", ")]) assert.notInclude(text, form)
    }))
})

// ---------------------------------------------------------------------------
// Damage
// ---------------------------------------------------------------------------

/** Another value of the same type. */
const other = (value: unknown): unknown =>
  typeof value === "boolean"
    ? !value
    : typeof value === "number"
    ? value + 1
    : value === undefined
    ? id(9)
    : `${value}x`

describe("damage", () => {
  it.effect("of any column of a checkpoint is found, or changes nothing", () =>
    Effect.gen(function*() {
      const { below, saver } = yield* filled()
      const whole = yield* saver.get("t", "", id(2))
      for (const column of Object.keys(first.checkpoint) as ReadonlyArray<keyof Checkpoint.CheckpointRow>) {
        const reading = changed(below, changedCheckpoint((row) => ({ ...row, [column]: other(row[column]) })))
        if (column === "metadata") assert.deepStrictEqual(yield* reading.get("t", "", id(2)), whole)
        else yield* refused(reading, column === "data" ? "is no encrypted text" : "it cannot be decrypted")
      }
    }))
  it.effect("of any column of a task is found, but for the revision of a result, which nothing reads", () =>
    Effect.gen(function*() {
      const { below, saver } = yield* filled()
      const done = changed(below, changedTask((row) => ({ ...row, revision: 9 })))
      const { data } = Option.getOrThrow(yield* done.get("t", "", id(2))).tasks[0]!
      assert.strictEqual(data, next().tasks[0]!.data)
      yield* saver.putTasks("t", put(task(id(2), "a", { status: "paused" })))
      for (const column of Object.keys(task("", "")) as ReadonlyArray<keyof Checkpoint.TaskRow>) {
        const change = (row: Checkpoint.TaskRow) => row.task === "a" ? { ...row, [column]: other(row[column]) } : row
        const reading = changed(below, ({ chain, tasks }) => ({ chain, tasks: tasks.map(change) }))
        yield* refused(reading, column === "data" ? "is no encrypted text" : "its task \"a")
      }
    }))
  it.effect("is told with the task, where it is a task's", () =>
    Effect.gen(function*() {
      const { below } = yield* filled()
      const reading = changed(below, changedTask((row) => ({ ...row, data: "1" })))
      const error = yield* refused(reading, "its task \"pull:a\" is no encrypted text")
      assert.strictEqual(error.checkpoint, id(1))
    }))
  it.effect("by cutting off is found, wherever the text ends", () =>
    Effect.gen(function*() {
      const { below, head } = yield* filled()
      const { data } = Option.getOrThrow(yield* below.get("t", "", head)).chain.at(-1)!
      for (let length = 0; length < data.length - 2; length++) {
        yield* refused(changed(below, changedCheckpoint((row) => ({ ...row, data: data.slice(0, length) }))), "it ")
      }
    }))
  it.effect("by text without encryption is found", () =>
    Effect.gen(function*() {
      const below = yield* Checkpointer.makeMemory
      yield* below.commit("t", first)
      const saver = EncryptedCheckpointer.make(below, options)
      const head = Option.getOrThrow(yield* saver.head("t", "")).id
      const errors = [yield* Effect.flip(saver.get("t", "", head)), yield* Effect.flip(saver.list("t", "", {}))]
      for (const error of errors) {
        assert.strictEqual(error.reason, "Decode")
        assert.include(error.message, "is no encrypted text: it was stored without encryption")
      }
    }))
  it.effect("by rows in each other's place is found: of other checkpoints, tasks, kinds, namespaces and threads", () =>
    Effect.gen(function*() {
      const { below, head, saver } = yield* filled()
      const place = { namespace: "n", place: "p", inside: [] }
      const nested = { ...first, ...place, checkpoint: next().checkpoint, tasks: next().tasks, expected: undefined }
      yield* saver.commit("t", { ...nested, life: "owner", root: id(2) })
      yield* saver.commit("u", first)
      yield* saver.commit("u", next())
      const stored = yield* Effect.forEach(["", "n"], (namespace) => below.get("t", namespace, head))
      const uHead = Option.getOrThrow(yield* below.head("u", "")).id
      const sources = [...stored, yield* below.get("u", "", uHead)].flatMap((saved) => {
        const { chain, tasks } = Option.getOrThrow(saved)
        return [...chain, ...tasks].map(({ data }) => data)
      })
      assert.strictEqual(new Set(sources).size, sources.length)
      assert.strictEqual(sources.length, 10)
      for (const data of sources) {
        const checkpoints = changed(below, changedCheckpoint((row) => row.data === data ? row : { ...row, data }))
        const tasks = changed(below, changedTask((row) => row.data === data ? row : { ...row, data }))
        const read = [
          yield* Effect.result(checkpoints.get("t", "", id(2))),
          yield* Effect.result(tasks.get("t", "", id(2)))
        ]
        // Only its own place takes it.
        assert.isAbove(read.filter(Result.isFailure).length, 0)
        for (const result of read.filter(Result.isFailure)) {
          assert.include(result.failure.message, "cannot be decrypted")
        }
        for (const result of read.filter(Result.isSuccess)) {
          assert.deepStrictEqual(result.success, yield* saver.get("t", "", id(2)))
        }
      }
      // Ids that do not tell threads apart.
      for (const thread of ["v", "w"]) {
        yield* saver.commit(thread, { ...commitOf(checkpoint("a")), life: undefined, root: undefined })
      }
      const ofW = EncryptedCheckpointer.make({ ...below, get: (_, ...at) => below.get("w", ...at) }, options)
      assert.include((yield* Effect.flip(ofW.get("v", "", "a"))).message, "cannot be decrypted")
      // A whole answer of another thread, or of another namespace.
      const elsewhere = (thread: string, namespace: string, id: string): Saver =>
        EncryptedCheckpointer.make({ ...below, get: () => below.get(thread, namespace, id) }, options)
      yield* refused(elsewhere("u", "", uHead), "cannot be decrypted")
      yield* refused(elsewhere("t", "n", head), "cannot be decrypted")
    }))
})

// ---------------------------------------------------------------------------
// A file
// ---------------------------------------------------------------------------

class Person extends State.make({
  name: Schema.String,
  records: Schema.Record(Schema.String, Schema.String),
  log: Channel.append(Schema.String)
}) {}

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

const nested = StateGraph.make(
  "nested",
  StateGraph.nodes(Person, {
    ask: Effect.fnUntraced(function*(s) {
      return { log: [`nested ${yield* Ask.ask(`payload for ${s.name}`)}`] }
    })
  }),
  { start: "ask" }
)

const person = StateGraph.make(
  "person",
  StateGraph.nodes(Person, {
    left: (s) => ({ log: [`left ${s.name}`] }),
    right: () => ({ log: ["right"], records: { "keyed-by-secret": "value-of-secret" } }),
    nested,
    last: (s): Effect.Effect<{ readonly log: ReadonlyArray<string> }, string> =>
      Effect.fail(`failed for ${s.name}-failure`)
  }),
  { start: ["left", "right"], edges: { left: "nested", right: "nested", nested: "last" } }
)

/** A run with two tasks at once, a pause inside a nested graph, an answer and a failure. */
const run = Effect.fnUntraced(function*(thread: string) {
  const input = { name: "Ada-Lovelace", records: {} }
  const metadata = { tenant: "tenant-of-metadata" }
  yield* Effect.flip(person.thread(thread).start(input, { key: "key-of-start", metadata }))
  yield* Effect.flip(person.thread(thread).resume(Ask.reply("answer-of-secret")))
})

const markers = [
  "Ada-Lovelace",
  "payload for",
  "answer-of-secret",
  "keyed-by-secret",
  "value-of-secret",
  "tenant-of-metadata",
  "key-of-start",
  "-failure"
]

const filesOf = (path: string): ReadonlyArray<readonly [name: string, bytes: Buffer]> =>
  readdirSync(dirname(path)).map((name) => [name, readFileSync(join(dirname(path), name))])

/** What of some texts stands in the files of a database, while it is open and after. */
const found = Effect.fnUntraced(
  function*(layer: (filename: string) => Layer.Layer<Checkpointer.Checkpointer, unknown>) {
    const path = yield* filename
    const open = yield* Effect.gen(function*() {
      yield* run("t")
      const ids = (yield* person.thread("t").history()).map(({ checkpoint }) => checkpoint)
      const files = filesOf(path)
      assert.isTrue(files.some(([name, bytes]) => name.endsWith("-wal") && bytes.length > 0))
      return { ids, files }
    }).pipe(Effect.provide(layer(path)))
    const files = [...open.files, ...filesOf(path)]
    const has = (what: string | Buffer) => files.some(([, bytes]) => bytes.includes(what))
    const ids = open.ids.filter((id) => has(id) || has(Buffer.from(id, "hex")))
    return { markers: markers.filter(has), ids: ids.length, all: open.ids.length }
  }
)

describe("a file", () => {
  it.live("holds no value, key, payload, answer, failure or metadata of a run, and no id that derives from them", () =>
    Effect.gen(function*() {
      const plain = yield* found((filename) => layerSqlite({ filename }))
      assert.deepStrictEqual([plain.markers, plain.ids], [markers, plain.all])
      const hidden = yield* found((filename) => encrypted(layerSqlite({ filename })))
      assert.deepStrictEqual([hidden.markers, hidden.ids], [[], 0])
      assert.strictEqual(hidden.all, plain.all)
    }))

  /** A change of one cell of a table: how, and where. */
  const damages = fc.record({
    table: fc.constantFrom("threads", "checkpoints", "tasks", "heads"),
    row: fc.nat(),
    column: fc.nat(),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    bit: fc.nat({ max: 6 }),
    kind: fc.constantFrom("flip", "cut", "drop", "insert")
  })
  type Damage = typeof damages extends fc.Arbitrary<infer A> ? A : never

  const damaged = (value: SQLInputValue, { at, bit, kind }: Damage): SQLInputValue => {
    if (typeof value === "number") return value ^ (1 << bit)
    if (typeof value !== "string") return "0".repeat(32)
    const place = Math.floor(at * value.length)
    const before = value.slice(0, place)
    if (kind === "cut") return before
    if (kind === "drop") return before + value.slice(place + 1)
    if (kind === "insert") return `${before}A${value.slice(place)}`
    return before + String.fromCharCode((value.charCodeAt(place) || 32) ^ (1 << bit)) + value.slice(place + 1)
  }

  /** Changes a cell, and gives what changes it back. */
  const damage = (db: DatabaseSync, given: Damage): () => void => {
    const table = `superstep_${given.table}`
    const columns = db.prepare(`SELECT name FROM pragma_table_info('${table}')`).all().map(({ name }) => String(name))
    const column = columns[given.column % columns.length]!
    const rows = db.prepare(`SELECT * FROM ${table}`).all()
    const row = rows[given.row % rows.length]!
    const where = columns.map((name) => `${name} IS ?`).join(" AND ")
    const set = (from: SQLInputValue, to: SQLInputValue) =>
      db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where}`).run(
        to,
        ...columns.map((name) => name === column ? from : row[name]!)
      ).changes
    const value = row[column]!
    const wrong = damaged(value, given)
    try {
      set(value, wrong)
    } catch {
      // The database itself refuses it.
      return () => {}
    }
    return () => assert.strictEqual(Number(set(wrong, value)), 1)
  }

  const namespaces = ["", "nested"]

  /** Every row that can be read, each by itself: as it is, or why it cannot be read. */
  const readAll = Effect.fnUntraced(function*(saver: Saver, ids: ReadonlyArray<string>) {
    const rows: Array<unknown> = []
    const errors: Array<unknown> = []
    for (const thread of ["t", "u"]) {
      for (const namespace of namespaces) {
        const listed = yield* Effect.result(saver.list(thread, namespace, {}))
        if (Result.isFailure(listed)) errors.push(listed.failure)
        else rows.push(...listed.success.map((row) => [thread, namespace, row]))
        for (const id of ids) {
          const got = yield* Effect.result(saver.get(thread, namespace, id))
          if (Result.isFailure(got)) errors.push(got.failure)
          else if (Option.isSome(got.success)) {
            const { chain, tasks } = got.success.value
            rows.push(...[...chain, ...tasks].map((row) => [thread, namespace, row]))
          }
        }
      }
    }
    // The revision of a result is read by nobody.
    const texts = rows.map((row) =>
      JSON.stringify(row).replace(/"status":"done","revision":-?\d+/, "\"status\":\"done\"")
    )
    return { rows: texts, errors }
  })

  it.live(
    "in which a cell changes gives rows as they were stored, or none, or a typed error",
    () =>
      Effect.gen(function*() {
        const path = yield* filename
        yield* Effect.gen(function*() {
          yield* run("t")
          yield* run("u")
          const saver = yield* Checkpointer.Checkpointer
          const lists = yield* Effect.forEach(namespaces, (namespace) => saver.list("t", namespace, {}))
          const ids = lists.flat().map((row) => row.id)
          const whole = yield* readAll(saver, ids)
          const stored = new Set(whole.rows)
          assert.deepStrictEqual(whole.errors, [])
          assert.isAbove(stored.size, 20)
          const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
          let count = 0
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(damages, async (given) => {
                const repair = damage(db, given)
                try {
                  const { errors, rows } = await Effect.runPromise(readAll(saver, ids))
                  assert.deepStrictEqual(rows.filter((row) => !stored.has(row)), [])
                  for (const error of errors) {
                    assert.instanceOf(error, GraphError.CheckpointError)
                    assert.strictEqual(error.reason, "Decode")
                  }
                  if (errors.length > 0) count++
                } finally {
                  repair()
                }
              }),
              { numRuns: 200 }
            )
          )
          db.close()
          assert.isAbove(count, 25)
          assert.deepStrictEqual(yield* readAll(saver, ids), whole)
        }).pipe(Effect.provide(encrypted(layerSqlite({ filename: path }))))
      }),
    60_000
  )
})
