/** Cases as tests of any test runner. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** A case of any suite: its effect needs what is tested. */
interface Case<R> {
  readonly group: string
  readonly name: string
  readonly effect: Effect.Effect<void, unknown, R>
}

/** Runs a case that cannot hold: it is an error if it does. */
const failing = (name: string, run: Effect.Effect<void, unknown>): Effect.Effect<void, Error> =>
  Effect.matchCauseEffect(run, {
    onFailure: () => Effect.void,
    onSuccess: () => Effect.fail(new Error(`the case "${name}" holds: take it out of the exceptions`))
  })

/** Registers a test for each case, on a layer that is built anew for it. */
export const registerAll = <R, E>(
  test: (name: string, run: () => Promise<void>) => void,
  all: ReadonlyArray<Case<R>>,
  layer: Layer.Layer<R, E>,
  except: Readonly<Record<string, string>> = {}
): void => {
  const unknown = Object.keys(except).filter((name) => all.every((one) => one.name !== name))
  if (unknown.length > 0) throw new Error(`no case has the name ${unknown.map((name) => JSON.stringify(name)).join()}`)
  for (const { effect, group, name } of all) {
    const run = Effect.provide(effect, Layer.fresh(layer))
    const reason = Object.hasOwn(except, name) ? except[name] : undefined
    if (reason === undefined) test(`${group}: ${name}`, () => Effect.runPromise(run))
    else test(`${group}: ${name} (cannot hold: ${reason})`, () => Effect.runPromise(failing(name, run)))
  }
}
