/**
 * Keeps threads in a checkpoint saver of LangGraph.js: Postgres, SQLite, or any other that keeps the first of two writes.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import { Checkpointer, type CheckpointerShape, makeMemory } from "../Checkpointer.ts"
import { CheckpointError, type ThreadConflict, type ThreadDeleted } from "../GraphError.ts"
import {
  deleteAll,
  listPages,
  openPage,
  type Place,
  putText,
  readPage,
  readText,
  type Saver,
  writeCell
} from "./internal/cells.ts"
import { type Action, beginningText, type Entry, entryText, readBeginning, readEntry } from "./internal/entry.ts"

/**
 * How many threads are kept in memory as they were read last.
 *
 * @category constants
 * @since 0.1.0
 */
export const keptThreads = 100

/** Cells of a page: it is read with one call of the saver. */
const pageSize = 64

/** Namespace of the cells that begin threads. */
const beginnings = "superstep"

const beginning = "begin"

const beginningOf = (thread: string): Place => ({ thread, namespace: beginnings, id: beginning })

/** The thread as its log tells it, up to the next entry: the entries are what a saver in memory was told. */
interface Replica {
  readonly log: string
  next: number
  readonly memory: CheckpointerShape
}

/** The page with the names of the entries around an index. */
const pageOf = (thread: string, log: string, index: number): Place => ({
  thread,
  namespace: log,
  id: String(Math.floor(index / pageSize)).padStart(16, "0")
})

/** What an entry does. The same entries in the same order do the same everywhere, those that are refused too. */
const act = (
  memory: CheckpointerShape,
  thread: string,
  action: Action
): Effect.Effect<unknown, CheckpointError | ThreadConflict | ThreadDeleted> => {
  if ("commit" in action) return memory.commit(thread, action.commit)
  if ("put" in action) return memory.putTasks(thread, action.put)
  return "removal" in action
    ? memory.remove(thread, action.removal)
    : memory.restore(thread, action.restore.dump, action.restore.life)
}

/** Does it to the replica, which has then read one entry more. */
const apply = <A, E>(replica: Replica, does: (memory: CheckpointerShape) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.uninterruptible(Effect.ensuring(does(replica.memory), Effect.sync(() => void replica.next++)))

const newName: Effect.Effect<string> = Effect.sync(() => globalThis.crypto.randomUUID().replaceAll("-", ""))

/** A thread in this process: one at a time reads on, or writes. */
interface Kept {
  readonly lock: Semaphore.Semaphore
  replica: Replica | undefined
}

// ---------------------------------------------------------------------------
// The log
// ---------------------------------------------------------------------------

/** Reads on until the log ends; tells whether all was there. */
const readOn = Effect.fnUntraced(function*(saver: Saver, thread: string, replica: Replica) {
  for (;;) {
    const page = pageOf(thread, replica.log, replica.next)
    const cells = yield* readPage(saver, page)
    const names: Array<string> = []
    for (let index = replica.next; cells.has(String(index)); index++) names.push(String(cells.get(String(index))))
    const read = (id: string) => readText(saver, { ...page, id })
    for (const text of yield* Effect.forEach(names, read, { concurrency: "unbounded" })) {
      if (text === undefined) return false
      const { action } = yield* readEntry(text, thread)
      yield* Effect.exit(apply(replica, (memory) => act(memory, thread, action)))
    }
    if (names.length === 0 || replica.next % pageSize !== 0) return true
  }
})

const logOf = Effect.fnUntraced(function*(saver: Saver, thread: string) {
  const content = (yield* readPage(saver, beginningOf(thread))).get(beginning)
  return content === undefined ? undefined : (yield* readBeginning(content, thread)).log
})

/** The thread as it is now; none if there is none. What was read counts only if the thread is the same afterwards. */
const latest = Effect.fnUntraced(function*(saver: Saver, thread: string, kept: Kept) {
  for (;;) {
    const isWhole = kept.replica === undefined || (yield* readOn(saver, thread, kept.replica))
    const log = yield* logOf(saver, thread)
    if (kept.replica?.log !== log) {
      kept.replica = log === undefined ? undefined : { log, next: 0, memory: yield* makeMemory }
    } else if (isWhole) return kept.replica
    else {return yield* new CheckpointError({
        reason: "Decode",
        thread,
        detail: "the saver has lost a part of the thread"
      })}
  }
})

/** Puts an entry at an index; tells whether it stands there: not if another was faster, or the thread is gone. */
const put = Effect.fnUntraced(function*(saver: Saver, thread: string, log: string, index: number, entry: Entry) {
  const page = pageOf(thread, log, index)
  // The entry is there before its name is.
  yield* putText(saver, { ...page, id: entry.id }, entryText(entry))
  if (index % pageSize === 0) yield* openPage(saver, page)
  return (yield* writeCell(saver, page, String(index), entry.id)) === entry.id
})

/** Begins the thread; none if another has begun it. A thread that is there holds its first entry, also if this process ends now. */
const begin = Effect.fnUntraced(function*(saver: Saver, thread: string, entry: Entry, began: number) {
  const log = yield* newName
  yield* put(saver, thread, log, 0, entry)
  yield* openPage(saver, beginningOf(thread))
  const stands = yield* writeCell(saver, beginningOf(thread), beginning, beginningText({ log, thread, began }))
  if (stands === undefined || (yield* readBeginning(stands, thread)).log !== log) return undefined
  return { log, next: 0, memory: yield* makeMemory }
})

/** Puts an entry behind the last one; tells whether it stands there, and the thread is the same afterwards. */
const append = Effect.fnUntraced(function*(saver: Saver, thread: string, { log, next }: Replica, entry: Entry) {
  return (yield* put(saver, thread, log, next, entry)) && (yield* logOf(saver, thread)) === log
})

/** A write, as it is told to others and as it is done here. */
interface Write<A, E> {
  readonly thread: string
  readonly action: Action
  readonly does: (memory: CheckpointerShape) => Effect.Effect<A, E>
}

/** Does it to the thread as it is when its turn has come. */
const write = Effect.fnUntraced(
  function*<A, E>(saver: Saver, kept: Kept, { action, does, thread }: Write<A, E>, now: Effect.Effect<number>) {
    const entry = { id: yield* newName, action }
    // Who knows the thread tries at once: if it is no longer as it was, the entry does not stand.
    for (let replica = kept.replica;;) {
      replica ??= yield* latest(saver, thread, kept)
      if (replica === undefined) {
        // What is refused where there is no thread begins none.
        yield* does(yield* makeMemory)
        replica = kept.replica = yield* begin(saver, thread, entry, yield* now)
      }
      if (replica !== undefined && (yield* append(saver, thread, replica, entry))) return yield* apply(replica, does)
      replica = undefined
    }
  }
)

// ---------------------------------------------------------------------------
// Service
// ---------------------------------------------------------------------------

/** Refuses a saver that replaces what it holds, or holds the latest only: two runners would both be told that they were first. */
const checkSaver = Effect.fnUntraced(function*(saver: Saver) {
  const thread = `check ${yield* newName}`
  const [one, two] = [pageOf(thread, "check", 0), pageOf(thread, "check", pageSize)]
  yield* openPage(saver, one)
  yield* writeCell(saver, one, "0", "first")
  yield* openPage(saver, two)
  const found = yield* writeCell(saver, one, "0", "second")
  yield* deleteAll(saver, thread)
  if (found === "first") return
  const detail = `the saver does not keep the first of two writes: it cannot tell which of two runners was first`
  return yield* new CheckpointError({ reason: "Storage", detail })
})

/** The threads that were used last. */
const makeCache = () => {
  const cache = new Map<string, Kept>()
  return (thread: string): Kept => {
    const kept = cache.get(thread) ?? { lock: Semaphore.makeUnsafe(1), replica: undefined }
    cache.delete(thread)
    cache.set(thread, kept)
    if (cache.size > keptThreads) cache.delete(cache.keys().next().value!)
    return kept
  }
}

/**
 * Keeps threads in a saver of LangGraph.js, under thread ids that begin with `superstep.`: its tables, and what else it holds, stay as
 * they are. Fails with `CheckpointError` if the saver does not keep the first of two writes.
 *
 * A thread is a log: each write is one entry, and who writes an entry first has won. So a commit is one write of the saver, and two
 * runners are told apart, as far as the saver keeps its own promises. Every call reads what is new; a thread that this process has
 * not used lately is read whole.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph-checkpoint"
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, State, StateGraph } from "superstep"
 * import * as SaverCheckpointer from "superstep/langgraph/SaverCheckpointer"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const program = Effect.gen(function*() {
 *   const saver = yield* SaverCheckpointer.make(new MemorySaver())
 *   yield* Effect.provideService(app.thread("t").invoke({ total: 10 }), Checkpointer.Checkpointer, saver)
 *   return yield* saver.threads
 * })
 * console.log(await Effect.runPromise(program)) // => ["t"]
 * ```
 */
export const make = Effect.fnUntraced(function*(saver: Saver) {
  yield* checkSaver(saver)
  const keptOf = makeCache()
  let last = 0
  const now = Effect.map(Clock.currentTimeMillis, (millis) => last = Math.max(millis, last + 1))
  const alone = <A, E>(thread: string, use: (kept: Kept) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const kept = keptOf(thread)
      return kept.lock.withPermit(use(kept))
    })
  const read = <A>(
    thread: string,
    none: A,
    use: (memory: CheckpointerShape) => Effect.Effect<A, CheckpointError>
  ): Effect.Effect<A, CheckpointError> =>
    alone(
      thread,
      (kept) =>
        Effect.flatMap(latest(saver, thread, kept), (replica) =>
          replica === undefined ? Effect.succeed(none) : use(replica.memory))
    )
  const written = <A, E>(given: Write<A, E>) => alone(given.thread, (kept) => write(saver, kept, given, now))
  return Checkpointer.of({
    head: (thread, place, branch) => read(thread, Option.none(), (memory) => memory.head(thread, place, branch)),
    get: (thread, namespace, id) => read(thread, Option.none(), (memory) => memory.get(thread, namespace, id)),
    list: (thread, namespace, options) => read(thread, [], (memory) => memory.list(thread, namespace, options)),
    putTasks: (thread, put) => written({ thread, action: { put }, does: (memory) => memory.putTasks(thread, put) }),
    commit: (thread, commit) =>
      written({ thread, action: { commit }, does: (memory) => memory.commit(thread, commit) }),
    dump: (thread) => read(thread, Option.none(), (memory) => memory.dump(thread)),
    restore: (thread, dump, life) =>
      written({
        thread,
        action: { restore: { dump, life } },
        does: (memory) => memory.restore(thread, dump, life)
      }),
    remove: (thread, removal) =>
      written({ thread, action: { removal }, does: (memory) => memory.remove(thread, removal) }),
    deleteThread: (thread) =>
      alone(thread, (kept) =>
        Effect.andThen(
          deleteAll(saver, thread),
          Effect.sync(() => {
            kept.replica = undefined
          })
        )),
    threads: Effect.gen(function*() {
      const contents = (yield* listPages(saver, beginnings)).flatMap((cells) => [...cells.values()])
      const begun = yield* Effect.forEach(contents, (content) => readBeginning(content))
      return begun.toSorted((a, b) => a.began - b.began).map(({ thread }) => thread)
    })
  })
})

/**
 * Keeps threads in a saver of LangGraph.js: see {@link make}.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph-checkpoint"
 * import { Effect, Schema } from "effect"
 * import { State, StateGraph } from "superstep"
 * import * as SaverCheckpointer from "superstep/langgraph/SaverCheckpointer"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * const layer = SaverCheckpointer.layer(new MemorySaver())
 * const twice = Effect.andThen(app.thread("t").invoke({ total: 10 }), app.thread("t").invoke({}))
 * console.log(await Effect.runPromise(twice.pipe(Effect.provide(layer)))) // => { total: 40 }
 * ```
 */
export const layer = (saver: Saver): Layer.Layer<Checkpointer, CheckpointError> =>
  Layer.effect(Checkpointer, make(saver))
