/**
 * A run is killed again and again, and always started anew on the same file: it ends as one that nobody disturbed, and
 * what was acknowledged never runs again.
 *
 * `SUPERSTEP_KILLS` sets how often (200), `SUPERSTEP_SEED` repeats the choices of a run that failed.
 */
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import type { ChildProcess } from "node:child_process"
import { join } from "node:path"
import { inject } from "vitest"
import { type PostgresServer, startPostgres } from "../PostgresServer.ts"
import { type Event, leadsTo, Ledger, type Stage, stageOf, stages } from "./Ledger.ts"
import {
  type Durability,
  fileOf,
  type Life,
  makeSchema,
  makeWorkshop,
  run,
  type Storage,
  type Stored,
  type Workshop
} from "./Processes.ts"

const kills = Number(process.env["SUPERSTEP_KILLS"] ?? 200)
const seed = Number(process.env["SUPERSTEP_SEED"] ?? Date.now() % 1_000_000)

/** Kills of one thread before it may end. */
const killsPerThread = 10
/** Threads that run at once. */
const lanes = 2
/** How often each stage has to be hit. */
const hitsPerStage = 10
/** A kill at random comes within this many events of a life: a life has to leave something for the next. */
const randomEvents = 50
/** The longest wait between the event and the kill, in milliseconds. */
const maxDelayMillis = 4
/** The same where a stage is aimed at, which may be short. */
const aimedDelayMillis = 0.2
/** A kill at any time comes within so many milliseconds of the start of a process. */
const maxStartMillis = 500

/** Numbers from 0 to 1 that are the same for the same seed. */
const randomOf = (start: number) => {
  let state = start >>> 0
  return (): number => {
    state = state + 0x6d2b79f5 >>> 0
    let x = Math.imul(state ^ state >>> 15, 1 | state)
    x = x + Math.imul(x ^ x >>> 7, 61 | x) ^ x
    return ((x ^ x >>> 14) >>> 0) / 2 ** 32
  }
}

/** Waits less than a timer can. */
const kill = (worker: ChildProcess, delayMillis: number): void => {
  if (delayMillis >= 1) {
    setTimeout(() => worker.kill("SIGKILL"), delayMillis)
    return
  }
  for (const until = performance.now() + delayMillis; performance.now() < until;);
  worker.kill("SIGKILL")
}

/** Counts what was hit, and chooses what to kill next. */
class Killer {
  readonly hits = new Map<Stage, number>()
  killed = 0
  planned = 0
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  /** The stages that were hit least. */
  #rarest(): Stage {
    const of = (stage: Stage): number => this.hits.get(stage) ?? 0
    const least = Math.min(...stages.map(of))
    const rarest = stages.filter((stage) => of(stage) === least)
    return rarest[this.#below(rarest.length)]!
  }

  /** When to kill the next life: where it was rarest, at any of its events, or at any time, while the file is opened too. */
  plan(): (event: Event | undefined, worker: ChildProcess) => void {
    const way = this.#random()
    if (way < 0.05) {
      const delayMillis = this.#random() * maxStartMillis
      return (event, worker) => event === undefined ? kill(worker, delayMillis) : undefined
    }
    const isAimed = way < 0.6
    const stage = this.#rarest()
    let left = isAimed ? this.#below(4) : this.#below(randomEvents)
    // Right after the event that leads to the stage, or at any moment.
    const delayMillis = this.#random() * (isAimed ? aimedDelayMillis : maxDelayMillis)
    return (event, worker) => {
      if (event === undefined || left < 0 || (isAimed && !leadsTo(stage, event))) return
      if (--left < 0) kill(worker, delayMillis)
    }
  }

  count(stage: Stage): void {
    this.killed++
    this.hits.set(stage, (this.hits.get(stage) ?? 0) + 1)
  }
}

/** What one thread went through. */
interface Story {
  readonly lives: ReadonlyArray<Life>
  readonly left: ReadonlyArray<Stored | undefined>
  readonly stored: Stored
}

/** Runs a thread to its end, killing it on the way. */
const live = async (
  killer: Killer,
  options: { readonly storage: Storage; readonly durability: Durability; readonly workshop: Workshop }
): Promise<Story> => {
  const lives: Array<Life> = []
  const left: Array<Stored | undefined> = []
  for (let deaths = 0;;) {
    const isDoomed = deaths < killsPerThread && killer.killed < killer.planned
    const life = await run({ ...options, life: lives.length, ...(isDoomed ? { onEvent: killer.plan() } : {}) }).end
    lives.push(life)
    if (!life.isKilled) return { lives, left, stored: await options.storage.read() }
    deaths++
    killer.count(stageOf(life.log))
    left.push(await options.storage.autopsy())
  }
}

let workshop: Workshop
const undisturbed = new Map<Durability, Story>()

beforeAll(async () => {
  workshop = await makeWorkshop()
}, 60_000)
afterAll(() => workshop.remove())

/** A run on a file of its own that nobody kills. */
const undisturbedOf = async (durability: Durability): Promise<Story> => {
  const known = undisturbed.get(durability)
  if (known !== undefined) return known
  const story = await live(new Killer(() => 0), {
    storage: fileOf(join(workshop.path, `undisturbed-${durability}.db`)),
    durability,
    workshop
  })
  undisturbed.set(durability, story)
  return story
}

/** Kills so many times, over as many threads as it takes. */
const killAll = async (
  durability: Durability,
  planned: number,
  check: (story: Story, expected: Story) => void,
  make: (thread: number) => Promise<Storage> = async (thread) =>
    fileOf(join(workshop.path, `${durability}-${thread}.db`))
): Promise<Killer> => {
  const expected = await undisturbedOf(durability)
  const killer = new Killer(randomOf(seed))
  killer.planned = planned
  let threads = 0
  const lane = async (): Promise<void> => {
    while (killer.killed < planned) {
      const storage = await make(threads++)
      const story = await live(killer, { storage, durability, workshop })
      check(story, expected)
      await storage.remove()
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return killer
}

const outputOf = ({ lives }: Story): unknown => {
  const last = lives.at(-1)!.log.at(-1)!
  assert.strictEqual(last[0], "done", `the last life ended with ${JSON.stringify(last).slice(0, 500)}`)
  return JSON.parse(last[1]!)
}

const sound = [{ integrity_check: "ok" }]

/** Promised in every durability. */
const checkEnd = (story: Story, expected: Story): void => {
  assert.deepStrictEqual(outputOf(story), outputOf(expected))
  for (const stored of [...story.left, story.stored]) {
    if (stored !== undefined) assert.deepStrictEqual(stored.integrity, sound)
  }
}

const ids = ({ checkpoints }: Stored): ReadonlyArray<string> =>
  checkpoints.map(({ id, namespace }) => `${namespace} ${id}`)

/** The thread itself, and not only what it ended with, is that of an undisturbed run. */
const checkRows = ({ stored }: Story, expected: Story): void => {
  assert.deepStrictEqual(ids(stored), ids(expected.stored))
  assert.deepStrictEqual(stored, expected.stored)
}

/** What was shown as a pause is never asked for again by running what led to it. */
const checkPauses = ({ lives }: Story): void => {
  const before = new Set<string>()
  let seen: Array<string> = []
  for (const { log } of lives) {
    for (const event of log) {
      // Tasks that ask run again when they are answered, and so do those around them.
      if (event[0] === "node begin" && !/approve|confirm|review/.test(event[3])) {
        const task = event.slice(1).join(" ")
        assert.notInclude(before, task, "ran again after a pause")
        seen.push(task)
      }
      if (event[0] === "paused") { for (const task of seen) before.add(task) }
    }
    seen = []
  }
}

/** Commits are stored in order: what a process left is the beginning of the whole thread. */
const checkBeginning = (stored: Stored, whole: Stored): void => {
  for (const namespace of new Set(stored.checkpoints.map(({ namespace }) => namespace))) {
    const own = (of: Stored) => of.checkpoints.filter((row) => row.namespace === namespace).map(({ id }) => id)
    assert.deepStrictEqual(own(stored), own(whole).slice(0, own(stored).length))
  }
}

/** Nothing that was stored when a process died runs again, and what was acknowledged was stored. */
const checkLedger = ({ left, lives }: Story): void => {
  const ledger = new Ledger()
  for (const [index, { log }] of lives.entries()) {
    ledger.read(log)
    assert.deepStrictEqual(ledger.repeated, [], `life ${index} repeated what was finished`)
    const stored = left[index]
    if (stored === undefined) continue
    const done = stored.tasks.filter(({ status }) => status === "done")
    assert.deepStrictEqual(ledger.missing(done), [], `life ${index} left less than was acknowledged`)
    for (const { checkpoint, namespace, task } of done) ledger.finish(namespace, checkpoint, task)
    for (const { namespace, parent } of stored.checkpoints) if (parent !== null) ledger.end(namespace, parent)
  }
}

/** Each stage of the protocol was hit. */
const checkHits = (killer: Killer, where: string): void => {
  const hits = Object.fromEntries([...killer.hits].sort(([, a], [, b]) => b - a))
  console.log(`${killer.killed} kills on ${where}:`, hits)
  assert.isAtLeast(killer.killed, kills)
  if (kills < 200) return
  const table = JSON.stringify(hits)
  for (const stage of stages) {
    assert.isAtLeast(killer.hits.get(stage) ?? 0, hitsPerStage, `hits of "${stage}" in ${table}`)
  }
}

beforeEach(({ onTestFailed }) => {
  onTestFailed(() => console.error(`SUPERSTEP_SEED=${seed} repeats the choices of this run`))
})

describe("a run that is killed", () => {
  it("A1 ends as an undisturbed one, and no acknowledged task runs again", async () => {
    const killer = await killAll("sync", kills, (story, expected) => {
      checkEnd(story, expected)
      checkRows(story, expected)
      checkLedger(story)
      checkPauses(story)
    })
    checkHits(killer, "SQLite")
  }, Math.max(60_000, kills * 3_000))

  it("A2 ends as an undisturbed one when commits come behind the run", async () => {
    const { killed } = await killAll("async", kills / 10, (story, expected) => {
      checkEnd(story, expected)
      checkRows(story, expected)
      checkPauses(story)
      for (const stored of story.left) if (stored !== undefined) checkBeginning(stored, expected.stored)
    })
    assert.isAtLeast(killed, kills / 10)
  }, Math.max(60_000, kills * 300))

  it("A3 ends as an undisturbed one when it is stored at its end, from its last pause or its start", async () => {
    const { killed } = await killAll("exit", kills / 10, (story, expected) => {
      checkEnd(story, expected)
      checkRows(story, expected)
      checkPauses(story)
    })
    assert.isAtLeast(killed, kills / 10)
  }, Math.max(60_000, kills * 300))

  it("A1 ends as an undisturbed one on Postgres, and no acknowledged task runs again", async () => {
    const killer = await killAll("sync", kills, (story, expected) => {
      checkEnd(story, expected)
      checkRows(story, expected)
      checkLedger(story)
      checkPauses(story)
    }, () => makeSchema(inject("postgresPort")))
    checkHits(killer, "Postgres")
  }, Math.max(60_000, kills * 3_000))
})

/** Runs a thread to its end, while the server is killed under it. */
const onDyingServer = async (server: PostgresServer, random: () => number, deaths: number): Promise<Story> => {
  const storage = await makeSchema(server.port)
  const lives: Array<Life> = []
  const left: Array<Stored | undefined> = []
  for (;;) {
    let until = lives.length < deaths ? Math.floor(random() * randomEvents) : Infinity
    let dying: Promise<void> | undefined
    const onEvent = (event: Event | undefined): void => {
      if (event !== undefined && until-- === 0) dying = server.kill()
    }
    const life = await run({ storage, durability: "sync", workshop, life: lives.length, onEvent }).end
    lives.push(life)
    if (dying === undefined) {
      assert.strictEqual(life.log.at(-1)?.[0], "done")
      return { lives, left, stored: await storage.read() }
    }
    await dying
    await server.restart()
    left.push(await storage.autopsy())
    const last = life.log.at(-1)!
    // The server may have died after all that the process wanted of it.
    if (last[0] === "failed") assert.strictEqual(last[1], "CheckpointError", String(last[2]))
  }
}

describe("a run whose database server is killed", () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres("on")
  }, 60_000)
  afterAll(() => server.stop())

  it("tells a typed failure, and ends as an undisturbed one once the server is back", async () => {
    const expected = await undisturbedOf("sync")
    const random = randomOf(seed)
    let deaths = 0
    while (deaths < kills / 10) {
      const story = await onDyingServer(server, random, 6)
      checkEnd(story, expected)
      checkRows(story, expected)
      checkLedger(story)
      deaths += story.lives.length - 1
    }
    console.log(`${deaths} deaths of the server`)
  }, Math.max(90_000, kills * 2_000))
})
