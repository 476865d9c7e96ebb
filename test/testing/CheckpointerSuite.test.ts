/** The public suite finds what is wrong with a saver: each of these is broken in one way, and a case says so. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import type { CheckpointRow, Commit, Dump, Removal, Saved, TaskRow } from "superstep/Checkpoint"
import { Checkpointer, type CheckpointerShape, makeMemory } from "superstep/Checkpointer"
import { ThreadConflict } from "superstep/GraphError"
import * as CheckpointerSuite from "superstep/testing/CheckpointerSuite"

type Mutate = (saver: CheckpointerShape) => CheckpointerShape

const layerOf = (mutate: Mutate) => Layer.effect(Checkpointer, Effect.map(makeMemory, mutate))

const caseOf = (name: string, cases = CheckpointerSuite.cases) => {
  const found = cases.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no case has the name "${name}"`)
  return found
}

// ---------------------------------------------------------------------------
// Ways to change a saver
// ---------------------------------------------------------------------------

const rowsOf = (change: (row: TaskRow) => TaskRow) => (saved: Saved): Saved => ({
  ...saved,
  tasks: saved.tasks.map(change)
})

/** Changes what `get` gives. */
const seen = (change: (saved: Saved) => Saved): Mutate => (saver) => ({
  ...saver,
  get: (thread, namespace, id) => Effect.map(saver.get(thread, namespace, id), Option.map(change))
})

/** Changes what `list` gives. */
const listed = (change: (rows: ReadonlyArray<CheckpointRow>) => ReadonlyArray<CheckpointRow>): Mutate => (saver) => ({
  ...saver,
  list: (...args) => Effect.map(saver.list(...args), change)
})

/** Changes what is committed, knowing the head. */
const committing =
  (change: (commit: Commit, head: string | undefined, life: string | undefined) => Commit): Mutate => (saver) => ({
    ...saver,
    commit: (thread, commit) =>
      Effect.flatMap(saver.head(thread, commit.place, commit.checkpoint.branch), (found) => {
        const head = Option.getOrUndefined(found)
        return saver.commit(thread, change(commit, head?.id, head?.life))
      })
  })

/** Changes the names of threads. */
const renamed = (change: (thread: string) => string): Mutate => (saver) => ({
  ...saver,
  head: (thread, place, branch) => saver.head(change(thread), place, branch),
  get: (thread, namespace, id) => saver.get(change(thread), namespace, id),
  list: (thread, namespace, options) => saver.list(change(thread), namespace, options),
  putTasks: (thread, put) => saver.putTasks(change(thread), put),
  commit: (thread, commit) => saver.commit(change(thread), commit),
  deleteThread: (thread) => saver.deleteThread(change(thread))
})

const keyOf = ({ checkpoint, task }: TaskRow): string => JSON.stringify([checkpoint, task])

/** Task rows as the last write left them, whatever stood there. */
const lastWins: Mutate = (saver) => {
  const last = new Map<string, TaskRow>()
  return {
    ...seen(rowsOf((row) => last.get(keyOf(row)) ?? row))(saver),
    putTasks: (thread, put) =>
      Effect.map(saver.putTasks(thread, put), () => {
        for (const row of put.tasks) last.set(keyOf(row), row)
        return put.tasks
      })
  }
}

/** Every row counts as one of a later revision. */
const noRevisions: Mutate = (saver) => {
  let count = 0
  const original = (row: TaskRow): TaskRow => ({ ...row, revision: row.revision % 1_000 })
  const later = (row: TaskRow): TaskRow => ({ ...row, revision: row.revision + 1_000 * ++count })
  return {
    ...seen(rowsOf(original))(saver),
    putTasks: (thread, put) =>
      Effect.map(saver.putTasks(thread, { ...put, tasks: put.tasks.map(later) }), (rows) => rows.map(original))
  }
}

/** Lists from a table whose key is two names put together. */
const joinedKeys: Mutate = (saver) => {
  const tables = new Map<string, Array<CheckpointRow>>()
  return {
    ...saver,
    list: (thread, namespace) => Effect.sync(() => (tables.get(thread + namespace) ?? []).toReversed()),
    commit: (thread, commit) =>
      Effect.map(saver.commit(thread, commit), () => {
        const key = thread + commit.namespace
        tables.set(key, [...tables.get(key) ?? [], commit.checkpoint])
      })
  }
}

/** Forgets checkpoints with a thread, and not what stood beside them. */
const leavesTasks: Mutate = (saver) => {
  const left = new Map<string, TaskRow>()
  return {
    ...seen((saved) => ({
      ...saved,
      tasks: [...new Map([...left, ...saved.tasks.map((row) => [keyOf(row), row] as const)]).values()]
    }))(saver),
    putTasks: (thread, put) =>
      Effect.tap(saver.putTasks(thread, put), (rows) => Effect.sync(() => rows.map((row) => left.set(keyOf(row), row))))
  }
}

/** Moves what is inside first, each by itself. */
const oneByOne: Mutate = (saver) => ({
  ...saver,
  commit: (thread, { inside, ...commit }) =>
    Effect.gen(function*() {
      const { life, owner } = commit
      const { branch } = commit.checkpoint
      for (const move of inside) {
        const root = Option.getOrUndefined(yield* saver.head(thread, "", branch))?.id
        yield* saver.commit(thread, { ...move, inside: [], owner, life, root })
      }
      yield* saver.commit(thread, { ...commit, inside: [] })
    })
})

/** Looks at the head, and writes later. */
const looksThenWrites: Mutate = (saver) => ({
  ...saver,
  commit: (thread, commit) =>
    Effect.gen(function*() {
      const head = Option.getOrUndefined(yield* saver.head(thread, commit.place, commit.checkpoint.branch))
      if (head?.id !== commit.expected) return yield* saver.commit(thread, commit)
      yield* Effect.yieldNow
      const now = Option.getOrUndefined(yield* saver.head(thread, commit.place, commit.checkpoint.branch))
      return yield* saver.commit(thread, { ...commit, expected: now?.id, life: commit.life ?? now?.life })
    })
})

/** The newest head is that which moved last. */
const lastMoved: Mutate = (saver) => {
  const moved = new Map<string, number>()
  return {
    ...saver,
    head: (thread, place, branch) => saver.head(thread, place, branch ?? moved.get(JSON.stringify([thread, place]))),
    commit: (thread, commit) =>
      Effect.map(
        saver.commit(thread, commit),
        () => void moved.set(JSON.stringify([thread, commit.place]), commit.checkpoint.branch)
      )
  }
}

/** A commit whose checkpoint is the head already is treated in its own way. */
const repeated =
  (repeat: (thread: string, commit: Commit) => Effect.Effect<void, ThreadConflict>): Mutate => (saver) => ({
    ...saver,
    commit: (thread, commit) =>
      Effect.flatMap(
        saver.head(thread, commit.place, commit.checkpoint.branch),
        (head): ReturnType<CheckpointerShape["commit"]> =>
          Option.isSome(head) && head.value.id === commit.checkpoint.id
            ? repeat(thread, commit)
            : saver.commit(thread, commit)
      )
  })

/** No writer is told that a thread is of another life. */
const noLives: Mutate = (saver) => ({
  ...committing((commit, _, life) => ({ ...commit, life: commit.life === undefined ? undefined : life }))(saver),
  putTasks: (thread, put) =>
    Effect.flatMap(
      saver.head(thread, ""),
      (head) =>
        Option.isNone(head) ? Effect.succeed(put.tasks) : saver.putTasks(thread, { ...put, life: head.value.life })
    )
})

const cut = (text: string): string => text.slice(0, 1_000_000)

// ---------------------------------------------------------------------------
// Broken savers
// ---------------------------------------------------------------------------

/** What is broken, how, and the case that has to find it. */
const dumping = (change: (dump: Dump) => Dump) => (saver: CheckpointerShape): CheckpointerShape => ({
  ...saver,
  dump: (thread) => Effect.map(saver.dump(thread), Option.map(change))
})

const removing = (change: (removal: Removal) => Removal) => (saver: CheckpointerShape): CheckpointerShape => ({
  ...saver,
  remove: (thread, removal) => saver.remove(thread, change(removal))
})

const broken: ReadonlyArray<readonly [what: string, mutate: Mutate, name: string]> = [
  [
    "commits without comparing",
    committing((commit, head) => ({ ...commit, expected: head })),
    "a commit on a head that moved is a conflict, and stores nothing"
  ],
  ["compares, and writes later", looksThenWrites, "of ten concurrent commits on one head one wins"],
  [
    "refuses a repeat",
    repeated((thread, { checkpoint: { branch, id }, expected }) =>
      Effect.fail(new ThreadConflict({ thread, branch, expected, found: id }))
    ),
    "a commit that is in place already, by the same owner, succeeds and stores nothing"
  ],
  ["takes a repeat of anybody", repeated(() => Effect.void), "the same commit by another owner is a conflict"],
  ["replaces rows that are done", lastWins, "what is done is kept, and is given in place of the new row"],
  [
    "gives the new row where an old one is kept",
    (saver) => ({ ...saver, putTasks: (thread, put) => Effect.as(saver.putTasks(thread, put), put.tasks) }),
    "of ten that finish one task at once all are given the same row"
  ],
  ["ignores revisions", noRevisions, "what is paused or failed is replaced only by a later revision"],
  [
    "lists by id",
    listed((rows) => rows.toSorted((a, b) => a.id < b.id ? 1 : -1)),
    "checkpoints are listed newest first"
  ],
  [
    "lists by time",
    listed((rows) => rows.toSorted((a, b) => b.createdMillis - a.createdMillis)),
    "checkpoints are listed newest first"
  ],
  ["lists oldest first", listed((rows) => rows.toReversed()), "before and limit page through everything"],
  [
    "lists by branch",
    listed((rows) => rows.toSorted((a, b) => b.branch - a.branch)),
    "branches stand in one list, in the order in which they were stored"
  ],
  [
    "ignores limits",
    (saver) => ({ ...saver, list: (thread, namespace, { before }) => saver.list(thread, namespace, { before }) }),
    "a limit is kept"
  ],
  [
    "takes no limit of 0",
    (saver) => ({
      ...saver,
      list: (thread, namespace, { before, limit }) =>
        saver.list(thread, namespace, { before, limit: limit === 0 ? undefined : limit })
    }),
    "a limit is kept"
  ],
  [
    "ignores what a list begins before",
    (saver) => ({ ...saver, list: (thread, namespace, { limit }) => saver.list(thread, namespace, { limit }) }),
    "before is exclusive"
  ],
  [
    "keeps no order of tasks",
    seen((saved) => ({
      ...saved,
      tasks: saved.tasks.toSorted((a, b) => a.task.localeCompare(b.task))
    })),
    "tasks come with their checkpoint, in the order of their ids, whatever order they were put in"
  ],
  [
    "gives a checkpoint alone",
    seen((saved) => ({ ...saved, chain: saved.chain.slice(-1) })),
    "a checkpoint comes with what is needed to read it, from the nearest keyframe"
  ],
  [
    "gives the tasks of the last checkpoint only",
    seen((saved) => ({ ...saved, tasks: saved.tasks.filter((row) => row.checkpoint === saved.chain.at(-1)?.id) })),
    "tasks of the whole chain come, oldest checkpoint first"
  ],
  [
    "loses metadata",
    seen((saved) => ({ ...saved, chain: saved.chain.map((row) => ({ ...row, metadata: "{}" })) })),
    "a checkpoint comes back as it was put"
  ],
  ["ignores lives", noLives, "nothing of a deleted thread can be stored, whether it began anew or not"],
  [
    "names the life by the last owner",
    (saver) => ({
      ...saver,
      head: (...args) => Effect.map(saver.head(...args), Option.map((head) => ({ ...head, life: head.owner })))
    }),
    "the life of a thread stays when others commit"
  ],
  [
    "begins a thread that there is",
    committing((commit, head, life) => commit.life === undefined ? { ...commit, expected: head, life } : commit),
    "a first commit that was repeated is no second beginning"
  ],
  [
    "takes tasks beside any checkpoint",
    (saver) => ({
      ...saver,
      putTasks: (thread, put) =>
        Effect.catchTag(saver.putTasks(thread, put), "ThreadConflict", () => Effect.succeed(put.tasks))
    }),
    "new tasks beside a checkpoint that is not the head are refused, and nothing of their batch is stored"
  ],
  [
    "takes a checkpoint whatever it follows from",
    committing((commit) => ({ ...commit, finished: undefined })),
    "a checkpoint that follows from other finished rows than stand beside its parent is a conflict, and stores nothing"
  ],
  ["moves graphs inside one by one", oneByOne, "graphs inside tasks move all at once or not at all"],
  [
    "leaves graphs inside where they are",
    committing((commit) => ({ ...commit, inside: [] })),
    "graphs inside tasks move with the commit"
  ],
  [
    "takes a graph inside for the root",
    committing((commit) => ({ ...commit, place: "" })),
    "each place has a head"
  ],
  [
    "mixes namespaces",
    (saver) => ({
      ...committing((commit) => ({ ...commit, namespace: "" }))(saver),
      get: (thread, _, id) => saver.get(thread, "", id),
      list: (thread, _, options) => saver.list(thread, "", options)
    }),
    "namespaces do not see each other"
  ],
  ["joins names without a separator", joinedKeys, "an id that joins two others is none of them"],
  ["has threads without case", renamed((thread) => thread.toLowerCase()), "hostile ids are all different"],
  ["ends names at a NUL", renamed((thread) => thread.split("\0")[0]!), "NUL is an id like any other"],
  ["normalizes names", renamed((thread) => thread.normalize()), "decomposed is an id like any other"],
  ["stores names as UTF-8", renamed((thread) => thread.toWellFormed()), "a lone low surrogate is an id like any other"],
  ["takes the branch that moved last", lastMoved, "each branch has a head; without one the newest branch counts"],
  ["leaves tasks when it deletes", leavesTasks, "a deleted thread can begin again, without what it had"],
  [
    "deletes nothing",
    (saver) => ({ ...saver, deleteThread: () => Effect.void }),
    "a deleted thread is gone, in all namespaces, and no other thread is"
  ],
  [
    "lists threads by name",
    (saver) => ({ ...saver, threads: Effect.map(saver.threads, (names) => names.toSorted()) }),
    "threads are listed in the order in which they began"
  ],
  [
    "dumps the newest first",
    dumping((dump) => ({ ...dump, checkpoints: dump.checkpoints.toReversed() })),
    "a dump has all that is stored, and each namespace in the order in which it was stored"
  ],
  [
    "dumps finished tasks only",
    dumping((dump) => ({ ...dump, tasks: dump.tasks.filter(({ row }) => row.status === "done") })),
    "a dump has all that is stored, and each namespace in the order in which it was stored"
  ],
  [
    "restores over another thread",
    (saver) => ({
      ...saver,
      restore: (thread, dump, life) => Effect.andThen(saver.deleteThread(thread), saver.restore(thread, dump, life))
    }),
    "no thread is restored over another"
  ],
  [
    "restores a thread in its old life",
    (saver) => ({ ...saver, restore: (thread, dump) => saver.restore(thread, dump, "owner") }),
    "a restored thread goes on, and neither touches the other"
  ],
  [
    "restores without tasks",
    (saver) => ({ ...saver, restore: (thread, dump, life) => saver.restore(thread, { ...dump, tasks: [] }, life) }),
    "what was dumped is restored as another thread, in a life of its own"
  ],
  [
    "removes by id, whatever the namespace",
    removing((removal) => ({
      ...removal,
      checkpoints: removal.checkpoints.flatMap(({ id }) => [{ namespace: "", id }, { namespace: "n", id }])
    })),
    "a checkpoint of another namespace, and one that is not there, are no failure"
  ],
  [
    "removes the heads in the way",
    removing((removal) => ({
      ...removal,
      heads: [...removal.heads, { branch: 1, place: "", id: "c" }, { branch: 2, place: "", id: "f" }]
    })),
    "a checkpoint at which a head stays is not removed, nor is anything with it"
  ],
  [
    "removes heads wherever they stand",
    (saver) => ({
      ...saver,
      remove: (thread, removal) =>
        Effect.flatMap(saver.dump(thread), (dump) => {
          const standing = Option.match(dump, { onNone: () => [], onSome: ({ heads }) => heads })
          const now = removal.heads.map((head) => ({
            ...head,
            id: standing.find(({ branch, place }) => branch === head.branch && place === head.place)?.id ?? head.id
          }))
          return saver.remove(thread, { ...removal, heads: now })
        })
    }),
    "nothing is removed where a head that was to go has moved on"
  ],
  [
    "leaves heads when it removes",
    removing((removal) => ({ ...removal, heads: [], checkpoints: removal.checkpoints.filter(({ id }) => id !== "y") })),
    "checkpoints are removed with the tasks beside them, and heads, and nothing else is"
  ],
  [
    "cuts rows at a megabyte",
    seen(({ chain, tasks }) => ({
      chain: chain.map((row) => ({ ...row, data: cut(row.data) })),
      tasks: tasks.map((row) => ({ ...row, data: cut(row.data) }))
    })),
    "a row of 10 MB comes back"
  ],
  [
    "stores the first thousand tasks of a batch",
    (saver) => ({
      ...saver,
      putTasks: (thread, put) =>
        Effect.map(saver.putTasks(thread, { ...put, tasks: put.tasks.slice(0, 1_000) }), (rows) => [
          ...rows,
          ...put.tasks.slice(1_000)
        ])
    }),
    "10,000 tasks in one batch, of which some were done"
  ]
]

describe("a saver that", () => {
  for (const [what, mutate, name] of broken) {
    it.live(`${what} fails`, () =>
      Effect.gen(function*() {
        const { effect } = caseOf(name)
        yield* Effect.provide(effect, layerOf((saver) => saver))
        const failure = yield* Effect.flip(Effect.provide(effect, Layer.fresh(layerOf(mutate))))
        assert.instanceOf(failure, Error)
      }))
  }
})

// ---------------------------------------------------------------------------
// Crash points
// ---------------------------------------------------------------------------

/** A saver in memory that outlives its process, and does something with each operation on its storage. */
const faultyMemory = (
  mutate: (saver: CheckpointerShape, around: CheckpointerSuite.Around) => CheckpointerShape
): CheckpointerSuite.Faulty =>
(around) => Effect.map(makeMemory, (saver) => Layer.succeed(Checkpointer, mutate(saver, around)))

/** Storage fails as a defect here: the memory has no failure of its own. */
const through =
  (around: CheckpointerSuite.Around) => <A, E, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.catchIf(
      around(operation),
      (error): error is Extract<typeof error, CheckpointerSuite.Fault> => error instanceof CheckpointerSuite.Fault,
      (fault) => Effect.die(fault)
    ) as Effect.Effect<A, E, R>

const sound = faultyMemory((saver, around) => ({
  ...saver,
  putTasks: (...args) => through(around)(saver.putTasks(...args)),
  commit: (...args) => through(around)(saver.commit(...args)),
  deleteThread: (...args) => through(around)(saver.deleteThread(...args))
}))

const torn = faultyMemory((saver, around) => ({
  ...saver,
  commit: (thread, commit) =>
    Effect.gen(function*() {
      if (commit.life !== undefined && commit.tasks.length > 0) {
        const { checkpoint, life, namespace, place, root, tasks } = commit
        const put = { namespace, tasks, place, branch: checkpoint.branch, life, root }
        yield* through(around)(saver.putTasks(thread, put))
      }
      yield* through(around)(saver.commit(thread, commit))
    })
}))

const hasty = faultyMemory((saver, around) => ({
  ...saver,
  deleteThread: (thread) =>
    Effect.exit(through(around)(saver.deleteThread(thread)))
      .pipe(Effect.asVoid)
}))

const crashNamed = (faulty: CheckpointerSuite.Faulty, name: string) =>
  Effect.provide(caseOf(name, CheckpointerSuite.crashCases(faulty)).effect, layerOf((saver) => saver))

describe("crash points", () => {
  const commit = "a commit with tasks and a graph inside: all or nothing, if its process ends at any point"
  const deletion = "a deletion: all or nothing, if its storage fails at any point"

  it.live("a saver whose every write is one operation passes", () =>
    Effect.gen(function*() {
      for (const name of [commit, deletion]) yield* crashNamed(sound, name)
      for (const { effect } of CheckpointerSuite.crashCases(sound)) {
        yield* Effect.provide(effect, layerOf((saver) => saver))
      }
    }))
  it.live("a saver that stores tasks before the commit fails, and is told where", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(crashNamed(torn, commit))
      assert.instanceOf(failure, CheckpointerSuite.CaseFailed)
      assert.strictEqual(
        failure.what,
        "what is stored when it failed, all or nothing: a commit with tasks and a graph inside, at point 1"
      )
    }))
  it.live("a saver that succeeds before it has stored fails", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(crashNamed(hasty, deletion))
      assert.instanceOf(failure, CheckpointerSuite.CaseFailed)
      assert.strictEqual(failure.what, "what is stored when it succeeded: a deletion, at point 0")
    }))
  it.live("a saver that never uses what it is given fails", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(crashNamed(faultyMemory((saver) => saver), commit))
      assert.instanceOf(failure, CheckpointerSuite.CaseFailed)
      assert.strictEqual(failure.what, "whether the saver uses its storage through `around`")
    }))
})

// ---------------------------------------------------------------------------
// Registration
// ---------------------------------------------------------------------------

const registered = <E>(options: CheckpointerSuite.Options<E>) => {
  const tests = new Map<string, () => Promise<void>>()
  CheckpointerSuite.register((name, run) => void tests.set(name, run), options)
  return tests
}

/** How a promise ended: with nothing, or with the text of its failure. */
const ended = (run: () => Promise<void>) => Effect.promise(() => run().then(() => undefined, String))

describe("register", () => {
  const limit = "a limit is kept"
  const noLimits = layerOf(listed((rows) => rows))

  it("registers every case once, under its group and name", () => {
    const names = [...CheckpointerSuite.cases, ...CheckpointerSuite.crashCases(sound)].map((one) =>
      `${one.group}: ${one.name}`
    )
    assert.deepStrictEqual([...registered({ layer: layerOf((saver) => saver), faulty: sound }).keys()], names)
    assert.strictEqual(new Set(names).size, names.length)
    assert.isAbove(names.length, 90)
  })
  it.live("gives each case storage of its own", () =>
    Effect.gen(function*() {
      const run = registered({ layer: layerOf((saver) => saver) }).get("get: an unknown thread has nothing")!
      assert.isUndefined(yield* ended(registered({ layer: noLimits }).get(`list: ${limit}`)!))
      assert.isUndefined(yield* ended(run))
      assert.isUndefined(yield* ended(run))
    }))
  it.live("an exception has its reason in the name, and is an error once the case holds", () =>
    Effect.gen(function*() {
      const name = `list: ${limit} (cannot hold: it has no limits)`
      const except = { [limit]: "it has no limits" }
      const ignores = layerOf((saver) => ({ ...saver, list: (one, two) => saver.list(one, two, {}) }))
      assert.isUndefined(yield* ended(registered({ layer: ignores, except }).get(name)!))
      const run = registered({ layer: layerOf((saver) => saver), except }).get(name)!
      assert.strictEqual(
        yield* ended(run),
        `Error: the case "${limit}" holds: take it out of the exceptions`
      )
    }))
  it("refuses an exception of a name that no case has", () => {
    assert.throws(
      () => registered({ layer: layerOf((saver) => saver), except: { "a limit": "a slip" } }),
      "no case has the name \"a limit\""
    )
  })
})

describe("CaseFailed", () => {
  it("tells what was looked at, what was expected and what was found", () => {
    const error = new CheckpointerSuite.CaseFailed({ what: "the head", expected: undefined, found: { id: "a" } })
    assert.strictEqual(error.message, "the head: expected undefined, found {\"id\":\"a\"}")
  })
  it("shows of large values the part where they differ", () => {
    const [expected, found] = ["x".repeat(1_000_000) + "y", "x".repeat(1_000_000) + "z"]
    const { message } = new CheckpointerSuite.CaseFailed({ what: "the data", expected, found })
    assert.match(message, /^the data: expected …x+y", found …x+z"$/)
    assert.isBelow(message.length, 1_000)
  })
})
