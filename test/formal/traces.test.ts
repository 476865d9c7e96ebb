/**
 * What the engine asks of savers, and what these answer, follows the model of the commit protocol: recorded runs are checked
 * against the rules that `docs/formal/commit.pml` holds.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { readFileSync } from "node:fs"
import { Checkpointer } from "superstep"
import { behaves } from "../behaviour/Savers.ts"
import { runs } from "../laws/budget.ts"
import { broken } from "./Broken.ts"
import { check } from "./Model.ts"
import { toPromela } from "./Promela.ts"
import { names, properties, read, source } from "./Rules.ts"
import { record, type Recorded, type Scenario, scenarios } from "./Runs.ts"

const { arbitrary: { runs: count }, timeout } = runs(30)

/** Repeats the choices of a run that failed. */
const seed = Number(process.env["SUPERSTEP_SEED"] ?? Date.now() % 1_000_000)

/** Fails with the first step that the model would not have made, and what led to it. */
const follows = (scenario: Scenario, { end, events, fingerprint }: Recorded): ReadonlyMap<string, number> => {
  const { answers, violations } = check(fingerprint, events)
  const [first] = violations
  if (first !== undefined) {
    const before = events.slice(0, events.indexOf(first.event) + 1).map((event) => JSON.stringify(event)).join("\n")
    assert.fail(`${first.name} does not hold; seed ${seed}, scenario ${JSON.stringify(scenario)}\n${before}`)
  }
  assert.isTrue(Exit.isSuccess(end), `seed ${seed}, scenario ${JSON.stringify(scenario)}: ${String(end)}`)
  return answers
}

behaves(
  "Law13 Law14 what two runners that ask, fail, die and are deleted store follows the rules of the model",
  () =>
    Effect.gen(function*() {
      const saver = yield* Checkpointer.Checkpointer
      for (const scenario of scenarios(count, seed)) follows(scenario, yield* record(saver, scenario))
    }),
  timeout
)

it.live("Law13 Law14 in many runs every rule of storage says yes and no", () =>
  Effect.gen(function*() {
    const said = new Map<string, number>()
    for (const scenario of scenarios(20 * count, 1)) {
      const answers = follows(scenario, yield* record(yield* Checkpointer.makeMemory, scenario))
      for (const [answer, times] of answers) said.set(answer, (said.get(answer) ?? 0) + times)
    }
    // That a task runs although it may not would be a violation.
    const both = names.flatMap((name) => name === "TASK_RUNS" ? [`${name} yes`] : [`${name} no`, `${name} yes`])
    assert.deepStrictEqual([...said.keys()].sort(), both.sort())
  }), timeout)

describe("the model can say no", () => {
  for (const [name, make, finds] of broken) {
    it.live(`finds ${finds} in ${name}`, () =>
      Effect.gen(function*() {
        for (const scenario of scenarios(20 * count, 1)) {
          const { events, fingerprint } = yield* record(make(yield* Checkpointer.makeMemory), scenario)
          if (check(fingerprint, events).violations.some((violation) => violation.name === finds)) return
        }
        assert.fail(`nothing found in ${20 * count} runs`)
      }), timeout)
  }
})

describe("the rules", () => {
  it("are refused where one is missing, or is not an expression of both languages", () => {
    assert.throws(() => read(source.replace("#define TASK_RUNS", "#define TASK_WALKS")), "no rule TASK_RUNS")
    assert.throws(() => read(source.replace("(given == stands)", "(given -> stands : 0)")), "ANSWER_IS_TAKEN")
  })

  it("change with the model", () => {
    const firstWins = { status: 3, revision: 1, old_status: 3, old_revision: 1 }
    assert.isFalse(read(source).ROW_REPLACES(firstWins))
    const lastWins = source.replace(
      "#define ROW_REPLACES(status, revision, old_status, old_revision) (old_status != DONE &&",
      "#define ROW_REPLACES(status, revision, old_status, old_revision) ("
    )
    assert.isTrue(read(lastWins).ROW_REPLACES(firstWins))
  })

  it("and the properties are on the page of the model, by name", () => {
    const page = readFileSync(new URL("../../docs/formal/README.md", import.meta.url), "utf8")
    assert.isAbove(properties.length, 5)
    assert.deepStrictEqual([...names, ...properties].filter((name) => !page.includes(`\`${name}\``)), [])
  })

  it.live("are given runs that spin can follow", () =>
    Effect.gen(function*() {
      const texts: Array<string> = []
      for (const scenario of scenarios(count, 1)) {
        const { events, fingerprint } = yield* record(yield* Checkpointer.makeMemory, scenario)
        const text = toPromela(fingerprint, events)
        if (text !== undefined) texts.push(text)
      }
      assert.isAbove(texts.length, count / 2)
      for (
        const told of [
          "told_head",
          "told_checkpoint",
          "told_row",
          "told_run",
          "told_put",
          "told_commit",
          "delete_thread"
        ]
      ) {
        assert.include(texts.join(""), `${told}(`)
      }
    }), timeout)
})
