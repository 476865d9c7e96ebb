/** `run` and `resume`: a run to its end, to a pause without an answer, or to a failure. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { PendingRequest } from "../../Checkpoint.ts"
import * as Checkpointer from "../../Checkpointer.ts"
import * as Command from "../../Command.ts"
import type * as Event from "../../Event.ts"
import { GraphBreakpoint, GraphDrained } from "../../GraphError.ts"
import { GraphInterrupt, type Reply } from "../../Interrupt.ts"
import * as Asking from "./asking.ts"
import { databaseOf, defaultDatabase } from "./database.ts"
import { codes, Refusal, say } from "./ended.ts"
import type { Loaded } from "./load.ts"
import { decodeInput, eventJson, type Machine } from "./machine.ts"
import { note, pretty, print, show, write } from "./output.ts"
import * as Progress from "./progress.ts"
import { argument, visible } from "./text.ts"

/** What a run is told. */
export interface Settings {
  /** As it was given. */
  readonly graph: string
  readonly layer: string | undefined
  /** None: nothing is stored. */
  readonly thread: string | undefined
  readonly database: string | undefined
  readonly modes: ReadonlyArray<Event.Mode>
  readonly isDeep: boolean
  readonly isJson: boolean
  readonly isQuiet: boolean
  readonly answers: ReadonlyArray<Asking.Given>
  /** Handed to the run as they are. */
  readonly options: Readonly<Record<string, unknown>>
}

/** The thread of a run that has none: it lives as long as the command. */
const passing = "run"

/** The command that goes on with a thread. */
const resumption = ({ database, graph, layer, thread }: Settings): string =>
  [
    "superstep resume",
    argument(graph),
    `--thread=${argument(thread!)}`,
    ...(database === undefined || database === defaultDatabase ? [] : [`--db=${argument(withoutPassword(database))}`]),
    ...(layer === undefined ? [] : [`--layer=${argument(layer)}`])
  ].join(" ")

const withoutPassword = (database: string): string => database.replace(/^(\w+:\/\/[^/?#]*?):[^/?#]*@/, "$1@")

/** An event as a document. What kind of event of its mode it is, it calls by its type. */
const documentOf = ({ mode, path, step, type: kind, ...rest }: Readonly<Record<string, unknown>>): object => ({
  type: "event",
  mode,
  path,
  step,
  ...(kind === undefined ? {} : { kind }),
  ...rest
})

/** The same for a person: where it comes from, and the rest. */
const eventLine = (document: object): string => {
  const { mode, node, path, step, type: _type, ...rest } = document as Readonly<Record<string, unknown>>
  const where = [...path as ReadonlyArray<string>, ...(typeof node === "string" ? [node] : [])].join("/")
  return `${String(step)} ${String(mode)} ${visible(where)}${where === "" ? "" : " "}${visible(JSON.stringify(rest))}\n`
}

type Stood =
  /** The output is JSON. */
  | { readonly _tag: "Done"; readonly output: unknown }
  | { readonly _tag: "Paused"; readonly requests: ReadonlyArray<PendingRequest> }

/** At a breakpoint, or drained, a thread waits for no answer. */
const stopped = (settings: Settings, error: unknown): unknown => {
  if (!(error instanceof GraphBreakpoint || error instanceof GraphDrained)) return error
  const next = settings.thread === undefined ? "" : `; go on with: ${resumption(settings)}`
  return new Refusal({ code: codes.paused, message: `${error.message}${next}` })
}

const unfinished = new Error("the run has ended, and brought no result")

/** One run, from an input to where it stands then. */
const attempt = Effect.fnUntraced(function*(machine: Machine, settings: Settings, input: unknown, options: object) {
  const handle = machine.thread(settings.thread ?? passing)
  const progress = Progress.make(settings.isQuiet)
  const modes: ReadonlyArray<Event.Mode> = [...new Set([...settings.modes, "tasks" as const, "lifecycle" as const])]
  let result: { readonly output: unknown } | undefined
  const seen = Effect.fnUntraced(function*(event: Event.Any) {
    yield* progress.seen(event)
    const isEnd = event.mode === "lifecycle" && event.type === "completed"
    const isShown = event.mode !== "paused" && settings.modes.includes(event.mode)
    if (!isEnd && !isShown) return
    const json = yield* eventJson(machine, event)
    if (isEnd) result = { output: json["output"] ?? null }
    if (!isShown) return
    const document = documentOf(json)
    yield* progress.end
    yield* settings.isJson ? print(document) : write(eventLine(document))
  })
  const events = handle.stream(input, { ...options, modes, ...(settings.isDeep ? { subgraphs: true } : {}) })
  const stood = Stream.runForEach(events, seen).pipe(
    Effect.ensuring(progress.end),
    // It is that of this run, wherever others have brought the thread meanwhile.
    Effect.andThen(Effect.suspend(() => result === undefined ? Effect.die(unfinished) : Effect.succeed(result))),
    Effect.map(({ output }): Stood => ({ _tag: "Done", output }))
  )
  return yield* Effect.catch(stood, (error) =>
    error instanceof GraphInterrupt
      ? Effect.succeed<Stood>({ _tag: "Paused", requests: error.requests as ReadonlyArray<PendingRequest> })
      : Effect.fail(stopped(settings, error)))
})

const unused = (left: ReadonlyArray<Asking.Given>): Effect.Effect<void> =>
  left.length === 0
    ? Effect.void
    : say(`${left.length === 1 ? "an answer was" : `${left.length} answers were`} not used`)

const pause = Effect.fnUntraced(function*(settings: Settings, requests: ReadonlyArray<PendingRequest>) {
  const questions = requests.map(Asking.questionOf)
  if (settings.isJson) yield* print({ type: "paused", thread: settings.thread ?? null, requests: questions })
  else yield* write(questions.map(Asking.shown).join(""))
})

/** The failure of a run that waits, and whom nobody answers. */
const waiting = (settings: Settings): Refusal =>
  new Refusal({
    code: codes.paused,
    message: settings.thread === undefined
      ? "the run waits for an answer, and has no thread to wait on: give --answer, or --thread to keep it"
      : `the run waits for an answer; go on with: ${resumption(settings)} --answer='<json>'`
  })

/** Runs on, pause after pause, as long as there are answers. */
const toEnd = Effect.fnUntraced(function*(machine: Machine, settings: Settings, first: unknown) {
  let input = first
  let left = settings.answers
  let { pending: _, ...later } = settings.options
  let options: object = settings.options
  for (;;) {
    const stood: Stood = yield* attempt(machine, settings, input, options)
    if (stood._tag === "Done") {
      yield* unused(left)
      return stood.output
    }
    const matched = yield* Asking.match(stood.requests, left)
    left = matched.left
    let replies: ReadonlyArray<Reply.Any> = matched.replies
    if (replies.length === 0) {
      yield* unused(left)
      if (settings.isJson || !(yield* Asking.canAsk)) {
        yield* pause(settings, stood.requests)
        return yield* waiting(settings)
      }
      yield* note(stood.requests.map((request) => Asking.shown(Asking.questionOf(request))).join(""))
      replies = yield* Asking.ask(stood.requests)
      if (replies.length === 0) return yield* waiting(settings)
    }
    input = Command.resume(replies)
    // The answered thread goes on from its head, wherever the run began.
    const { checkpoint: _from, ...rest } = later
    later = rest
    options = later
  }
})

const leftBehind = (settings: Settings): Effect.Effect<void> =>
  settings.thread === undefined
    ? say("interrupted; nothing is kept without --thread")
    : say(`interrupted; go on with: ${resumption(settings)}`)

/** Runs a thread on what it is given, and shows what it comes to. */
export const running = Effect.fnUntraced(function*(loaded: Loaded, settings: Settings, input: unknown) {
  const { machine, services } = loaded
  const saver = settings.thread === undefined
    ? Checkpointer.layerMemory
    : yield* databaseOf(settings.database ?? defaultDatabase, true)
  const output = yield* toEnd(machine, settings, input).pipe(
    Effect.provide(Layer.provideMerge(services, saver)),
    Effect.onInterrupt(() => leftBehind(settings))
  )
  yield* show(settings.isJson, { type: "result", thread: settings.thread ?? null, output }, pretty(output))
})

/** What `run` brings: an input, or one with the key of its piece of work. */
export const inputOf = Effect.fnUntraced(function*(machine: Machine, json: unknown, key: string | undefined) {
  const input = yield* Effect.fromResult(decodeInput(machine, json))
  return key === undefined ? input : Command.start(input, { key })
})

/** Goes on with a thread, whose database has to be there. A thread that waits says so again, and gets the answers then. */
export const resuming = Effect.fnUntraced(function*(loaded: Loaded, settings: Settings) {
  const saver = yield* databaseOf(settings.database ?? defaultDatabase, false)
  if (settings.answers.length > 0) {
    const state = loaded.machine.thread(settings.thread!).state()
    const { next, requests } = yield* Effect.provide(state, Layer.provideMerge(loaded.services, saver))
    if (requests.length === 0) {
      // An answer that was given before would be carried out instead.
      const rest = next.length === 0 ? "" : ": without --answer, resume goes on where it stands"
      const message = `thread "${settings.thread}" waits for no answer${rest}`
      return yield* new Refusal({ code: codes.thread, message })
    }
  }
  yield* running(loaded, settings, Command.continue)
})
