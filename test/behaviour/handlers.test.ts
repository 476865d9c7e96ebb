/** What code around a task does when the task ends early: finalizers and handlers call nothing that would take a later call's place. */
import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { Entrypoint, Interrupt, Task } from "superstep"
import { paused, payloads } from "./Pauses.ts"
import { behaves } from "./Savers.ts"

class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
class Failed extends Schema.TaggedError<Failed>()("Failed", {}) {}

/** A task that notes what it was called with. */
const noting = () => {
  const done: Array<string> = []
  const note = Task.make("note", {
    input: Schema.String,
    output: Schema.String,
    run: (text) =>
      Effect.sync(() => {
        done.push(text)
        return text
      })
  })
  return { done, note }
}

const flowOf = <E>(run: (input: string) => Effect.Effect<unknown, E, never>) =>
  Entrypoint.make("flow", { input: Schema.String, output: Schema.String, run: run as never }) as unknown as ReturnType<
    typeof plain
  >
const plain = () => Entrypoint.make("flow", { input: Schema.String, output: Schema.String, run: (text) => text })

type Note = ReturnType<typeof noting>["note"]
type Ask = ReturnType<typeof Approve.ask>

/** Ways to handle a pause with a task. */
const handlers: Readonly<Record<string, (note: Note) => (ask: Ask) => Effect.Effect<unknown, unknown, unknown>>> = {
  tapError: (note) => Effect.tapError(() => note("undo")),
  onError: (note) => Effect.onError(() => Effect.ignore(note("undo"))),
  ensuring: (note) => Effect.ensuring(Effect.ignore(note("undo", { key: "undo" }))),
  catch: (note) => Effect.catch(() => note("undo")) as never,
  acquireRelease: (note) => (ask) =>
    Effect.scoped(
      Effect.andThen(Effect.acquireRelease(Effect.void, () => Effect.ignore(note("undo", { key: "undo" }))), ask)
    ),
  keyed: (note) => Effect.onError(() => Effect.ignore(note("undo", { key: "undo" })))
}

for (const [name, handle] of Object.entries(handlers)) {
  behaves(`L11 ${name} around a question calls nothing while the run pauses`, () =>
    Effect.gen(function*() {
      const { done, note } = noting()
      const flow = flowOf(() =>
        Effect.gen(function*() {
          yield* note("charge")
          yield* handle(note)(Approve.ask("ship?"))
          return yield* note("ship")
        }) as never
      )
      const thread = flow.thread("t")
      assert.deepStrictEqual(payloads(yield* paused(thread.invoke(""))), ["ship?"])
      assert.deepStrictEqual(done, ["charge"])
      assert.strictEqual(yield* thread.resume(Approve.reply(true) as never), "ship")
      const isFinalizer = name === "ensuring" || name === "acquireRelease"
      assert.deepStrictEqual(done, isFinalizer ? ["charge", "undo", "ship"] : ["charge", "ship"])
    }))
}

behaves("L11 a handler around a task that asks calls nothing while the run pauses", () =>
  Effect.gen(function*() {
    const { done, note } = noting()
    const asks = Task.make("asks", { input: Schema.String, output: Schema.Boolean, run: (text) => Approve.ask(text) })
    const flow = flowOf(() =>
      Effect.gen(function*() {
        yield* Task.all([asks("ship?"), note("meanwhile")]).pipe(Effect.onError(() => Effect.ignore(note("undo"))))
        return yield* note("ship")
      }) as never
    )
    const thread = flow.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke(""))), ["ship?"])
    assert.deepStrictEqual(done, ["meanwhile"])
    assert.strictEqual(yield* thread.resume(Approve.reply(true) as never), "ship")
    assert.deepStrictEqual(done, ["meanwhile", "ship"])
  }))

behaves("L11 what a branch makes of a pause is not followed by calls", () =>
  Effect.gen(function*() {
    const { done, note } = noting()
    const flow = flowOf(() =>
      Effect.gen(function*() {
        const [is] = yield* Task.all([
          Effect.catch(Approve.ask("?") as Effect.Effect<boolean, unknown>, () => Effect.succeed("unknown"))
        ])
        return yield* note(String(is))
      }) as never
    )
    const thread = flow.thread("t")
    assert.deepStrictEqual(payloads(yield* paused(thread.invoke(""))), ["?"])
    assert.deepStrictEqual(done, [])
    assert.strictEqual(yield* thread.resume(Approve.reply(true) as never), "true")
    assert.deepStrictEqual(done, ["true"])
  }))

behaves("L11 a handler of a failure calls tasks", () =>
  Effect.gen(function*() {
    const { done, note } = noting()
    const flow = flowOf(() => Effect.fail(new Failed()).pipe(Effect.catch(() => note("undo"))) as never)
    assert.strictEqual(yield* flow.thread("t").invoke(""), "undo")
    assert.deepStrictEqual(done, ["undo"])
  }))

behaves(
  "L20 a finalizer of a run that is interrupted calls nothing, and the thread goes on",
  () =>
    Effect.gen(function*() {
      const { done, note } = noting()
      let isSlow = true
      const flow = flowOf(() =>
        Effect.gen(function*() {
          if (isSlow) yield* Effect.never
          return yield* note("ship")
        }).pipe(Effect.ensuring(Effect.ignore(note("release")))) as never
      )
      const thread = flow.thread("t")
      const fiber = yield* Effect.forkChild(thread.invoke(""))
      yield* Effect.promise(() => new Promise((resume) => setTimeout(resume, 30)))
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(done, [])
      isSlow = false
      assert.strictEqual(yield* thread.continue(), "ship")
      assert.deepStrictEqual(done, ["ship", "release"])
    })
)

behaves(
  "L20 a finalizer of a run whose time is over calls nothing, and the thread goes on",
  () =>
    Effect.gen(function*() {
      const { done, note } = noting()
      let isSlow = true
      const flow = flowOf(() =>
        Effect.gen(function*() {
          if (isSlow) yield* Effect.promise(() => new Promise((resume) => setTimeout(resume, 10_000)))
          return yield* note("ship")
        }).pipe(Effect.ensuring(Effect.ignore(note("release")))) as never
      )
      const thread = flow.thread("t")
      const exit = yield* Effect.exit(Effect.timeout(thread.invoke(""), "50 millis"))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(done, [])
      isSlow = false
      assert.strictEqual(yield* thread.continue(), "ship")
    })
)

behaves("D12 what was called with something else cannot be caught", () =>
  Effect.gen(function*() {
    const { note } = noting()
    let rate = "1"
    const flow = flowOf(() =>
      Effect.gen(function*() {
        const found = yield* Effect.catch(note(rate) as Effect.Effect<string, unknown>, () => Effect.succeed("default"))
        return (yield* Approve.ask("?")) ? found : "no"
      }) as never
    )
    const thread = flow.thread("t")
    yield* paused(thread.invoke(""))
    rate = "2"
    const exit = yield* Effect.exit(thread.resume(Approve.reply(true) as never))
    assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "ReplayMismatch")
    rate = "1"
    assert.strictEqual(yield* thread.continue(), "1")
  }))

behaves("I1 the branches of Task.all ask for themselves, each in its own order", () =>
  Effect.gen(function*() {
    const both = (name: string) =>
      Effect.gen(function*() {
        return [yield* Approve.ask(`${name}1`), yield* Approve.ask(`${name}2`)]
      })
    const flow = flowOf(() =>
      Effect.gen(function*() {
        const found = yield* Task.all([both("a"), both("b")])
        return JSON.stringify([...found.flat(), yield* Approve.ask("c")])
      }) as never
    )
    const thread = flow.thread("t")
    const first = yield* paused(thread.invoke(""))
    assert.deepStrictEqual(payloads(first), ["a1", "b1"])
    const [a, b] = first
    const second = yield* paused(thread.resume(Approve.reply(true, a) as never))
    assert.deepStrictEqual(payloads(second), ["a2", "b1"])
    const third = yield* paused(
      thread.resume([Approve.reply(false, second[0]), Approve.reply(true, b)] as never)
    )
    assert.deepStrictEqual(payloads(third), ["b2"])
    const last = yield* paused(thread.resume(Approve.reply(false) as never))
    assert.deepStrictEqual(payloads(last), ["c"])
    assert.strictEqual(yield* thread.resume(Approve.reply(true) as never), "[true,false,true,false,true]")
  }))
