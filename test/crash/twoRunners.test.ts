import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { join } from "node:path"
import { Channel, Checkpointer, END, State, StateGraph } from "superstep"
import { inject } from "vitest"
import { resealedTask } from "../engine/rows.ts"
import type { Event } from "./Ledger.ts"
import {
  fileOf,
  type Life,
  makeSchema,
  makeWorkshop,
  run,
  type Storage,
  type Stored,
  type Workshop
} from "./Processes.ts"

const rounds = 30
/** `SUPERSTEP_ROUNDS` sets how many there are: 1,000 for a whole proof. */
const count = Number(process.env["SUPERSTEP_ROUNDS"] ?? rounds)
/** What an undisturbed thread tells is about so many times the number of rounds. */
const eventsPerRound = 7

let workshop: Workshop

beforeAll(async () => {
  workshop = await makeWorkshop()
}, 60_000)
afterAll(() => workshop.remove())

const endOf = ({ log }: Life): Event => log.at(-1)!

/** Whether the runner has done anything since it looked at the thread last. */
const isIdle = ({ log }: Life): boolean => {
  const last = log.findLastIndex(([kind]) => kind === "run")
  return !log.slice(last).some(([kind]) => kind === "node begin")
}

/** A thread that was killed at some point. */
const leave = async (storage: Storage, events: number): Promise<void> => {
  let seen = 0
  await run({
    storage,
    durability: "sync",
    life: 0,
    workshop,
    onEvent: (_, worker) => {
      if (seen++ === events) worker.kill("SIGKILL")
    }
  }).end
}

/** Supersteps whose results both wanted to store. */
const contested = (lives: ReadonlyArray<Life>): ReadonlyArray<string> => {
  const [one, two] = lives.map(({ log }) =>
    new Set(log.flatMap((event) => event[0] === "commit begin" ? [`${event[1]} ${event[3]}`] : []))
  )
  return [...one!].filter((superstep) => two!.has(superstep))
}

/** Two processes that are loaded before either begins. */
const race = async (storage: Storage): Promise<ReadonlyArray<Life>> => {
  let ready = 0
  const workers = [0, 1].map(() =>
    run({
      storage,
      durability: "sync",
      life: 0,
      workshop,
      hold: true,
      onEvent: (event) => {
        if (event?.[0] === "ready" && ++ready === 2) { for (const { worker } of workers) worker.stdin!.write("go\n") }
      }
    })
  )
  return await Promise.all(workers.map(({ end }) => end))
}

/** Each checkpoint of the root stands on the one before. */
const checkLine = ({ checkpoints, heads }: Stored): void => {
  const line = checkpoints.filter(({ namespace }) => namespace === "")
  assert.deepStrictEqual(line.map(({ parent }) => parent), [null, ...line.slice(0, -1).map(({ id }) => id)])
  assert.deepStrictEqual(heads.filter(({ place }) => place === ""), [{ place: "", branch: 1, id: line.at(-1)!.id }])
}

class Work extends State.make({ log: Channel.append(Schema.String) }) {}

const graph = StateGraph.make(
  "work",
  StateGraph.nodes(Work, {
    a: (s) => ({ log: [`a mine ${s.log.length}`] }),
    b: (s) => ({ log: [`b mine ${s.log.length}`] }),
    next: () => ({ log: [] })
  }),
  {
    start: ["a", "b"],
    edges: {
      a: StateGraph.join("next"),
      b: StateGraph.join("next"),
      next: StateGraph.route(["a", "b", END], (s) => s.log.length < 4 ? ["a", "b"] : END)
    }
  }
)

/** A saver to which another runner of the thread has given its result of the first `a` already. */
const layerFaster = Layer.effect(
  Checkpointer.Checkpointer,
  Effect.map(Checkpointer.makeMemory, (saver) => ({
    ...saver,
    putTasks: (thread, put) => {
      const theirs = put.tasks.filter(({ data }) => data.includes("a mine 0"))
        .map((row) => resealedTask(row, (json) => json.replace("mine", "theirs")))
      return Effect.andThen(saver.putTasks(thread, { ...put, tasks: theirs }), saver.putTasks(thread, put))
    }
  }))
)

describe("two runners of one thread", () => {
  it.effect("a result that another runner stored first stands, for that superstep only", () =>
    Effect.gen(function*() {
      const thread = graph.thread("t")
      const out = yield* thread.invoke({})
      assert.deepStrictEqual(out, { log: ["a theirs 0", "b mine 0", "a mine 2", "b mine 2"] })
      assert.deepStrictEqual((yield* thread.state()).values, out)
    }).pipe(Effect.provide(layerFaster)))

  const raceAll = async (count: number, make: (round: number) => Promise<Storage>): Promise<void> => {
    const alone = fileOf(join(workshop.path, "alone.db"))
    const expected = await run({ storage: alone, durability: "sync", life: 0, workshop }).end
    const whole = await alone.read()
    await alone.remove()
    const places = new Set<string>()
    const ends: Record<string, number> = {}
    for (let round = 0; round < count; round++) {
      const storage = await make(round)
      // Later in the thread each time: the runners meet everywhere.
      const events = (round % rounds) * eventsPerRound
      if (events > 0) await leave(storage, events)
      const lives = await race(storage)
      const winners = lives.filter((life) => endOf(life)[0] === "done")
      for (const winner of winners) assert.deepStrictEqual(endOf(winner), endOf(expected))
      const losers = lives.filter((life) => !winners.includes(life)).map((life) => endOf(life).slice(0, 2))
      // A runner that finds the thread finished has its result, too.
      if (winners.length === 2) assert.isTrue(winners.some(isIdle), `round ${round}: both finished the thread`)
      else assert.deepStrictEqual(losers, [["failed", "ThreadConflict"]], `round ${round}`)
      for (const superstep of contested(lives)) places.add(superstep)
      const kind = winners.length === 2 ? "found it finished" : "conflict"
      ends[kind] = (ends[kind] ?? 0) + 1
      const stored = await storage.read()
      assert.deepStrictEqual(stored.integrity, [{ integrity_check: "ok" }])
      checkLine(stored)
      assert.deepStrictEqual(stored, whole)
      await storage.remove()
    }
    console.log(`${count} rounds:`, ends, `${places.size} supersteps contested`)
    assert.isAtLeast(ends["conflict"] ?? 0, count / 2)
    assert.isAtLeast(places.size, 10)
  }

  it(
    "exactly one commits each superstep: one ends with the result, the other with ThreadConflict",
    () => raceAll(count, async (round) => fileOf(join(workshop.path, `${round}.db`))),
    count * 6_000
  )

  it(
    "exactly one commits each superstep on Postgres",
    () => raceAll(count, () => makeSchema(inject("postgresPort"))),
    count * 6_000
  )
})
