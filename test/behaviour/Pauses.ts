/** What tests of threads share: pauses, what is stored, and savers that are opened again. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Stream } from "effect"
import { type Checkpoint, Checkpointer, Interrupt } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"

/** Calls the engine as somebody would who has no types. */
export const untyped = (value: unknown) => value as never

/** What a history gives. */
export type Snapshots = ReadonlyArray<Checkpoint.Snapshot<unknown>>

/** The requests of a run that has to pause. */
export const paused = <A, E extends { readonly _tag: string }, R>(
  run: Effect.Effect<A, E, R>
): Effect.Effect<ReadonlyArray<Interrupt.AnyRequest>, A, R> =>
  Effect.map(Effect.flip(run), (error) => {
    if (!(error instanceof Interrupt.GraphInterrupt)) {
      return assert.fail(`expected a pause, not ${error._tag}: ${"message" in error ? String(error.message) : ""}`)
    }
    return error.requests as ReadonlyArray<Interrupt.AnyRequest>
  })

/** What requests show. */
export const payloads = (requests: ReadonlyArray<{ readonly payload: unknown }>): ReadonlyArray<unknown> =>
  requests.map(({ payload }) => payload)

/** The id of the request with a payload. */
export const idOf = (
  requests: ReadonlyArray<{ readonly id: string; readonly payload: unknown }>,
  payload: unknown
): string => {
  const found = requests.find((request) => request.payload === payload)
  return found === undefined ? assert.fail(`no request shows ${String(payload)}`) : found.id
}

export const collect = Effect.fnUntraced(function*<A, E, R>(stream: Stream.Stream<A, E, R>) {
  return [...yield* Stream.runCollect(stream)]
})

/** The events of a stream until it fails, and the tag of its failure, if it does. */
export const recorded = <A, E extends { readonly _tag: string }, R>(stream: Stream.Stream<A, E, R>) =>
  Effect.gen(function*() {
    const events: Array<A> = []
    const end = yield* Stream.runForEach(stream, (event) => Effect.sync(() => void events.push(event))).pipe(
      Effect.match({ onFailure: (error) => error._tag as string, onSuccess: () => "end" })
    )
    return { events, end }
  })

/** Everything that is stored of a thread in some namespaces, as plain data. */
export const rowsOf = Effect.fnUntraced(function*(thread: string, namespaces: ReadonlyArray<string> = [""]) {
  const saver = yield* Checkpointer.Checkpointer
  const spaces: Array<unknown> = [yield* saver.head(thread, "")]
  for (const namespace of namespaces) {
    const rows = yield* saver.list(thread, namespace, {})
    spaces.push(rows, yield* Effect.forEach(rows, ({ id }) => saver.get(thread, namespace, id)))
  }
  return JSON.parse(JSON.stringify(spaces)) as unknown
})

/** Runs an effect on a saver that is opened for it, and closed after it. */
export type Open = <A, E>(effect: Effect.Effect<A, E, Checkpointer.Checkpointer>) => Effect.Effect<A, unknown>

/** Runs a case once on each saver; what it does within `open` has a saver of its own on the same store. */
export const behavesReopened = (name: string, body: (open: Open) => Effect.Effect<void, unknown>): void => {
  it.live(`${name} (memory)`, () =>
    Effect.flatMap(Checkpointer.makeMemory, (saver) => body(Effect.provideService(Checkpointer.Checkpointer, saver))))
  it.live(`${name} (sqlite, reopened)`, () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped({ prefix: "superstep-" })
      yield* body((effect) =>
        Effect.provide(effect, SqlCheckpointer.layerSqlite({ filename: `${folder}/threads.sqlite` }))
      )
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)))
}
