/** The commands that read a thread, or change it without running anything. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Snapshot } from "../../Checkpoint.ts"
import type { Checkpointer } from "../../Checkpointer.ts"
import * as Diagram from "../../Diagram.ts"
import { InvalidUpdate, UnknownRoute } from "../../GraphError.ts"
import type { MachineView, NodeView, WriterView } from "../../Pregel.ts"
import * as Thread from "../../Thread.ts"
import * as Asking from "./asking.ts"
import { databaseOf, defaultDatabase } from "./database.ts"
import { codes, misused, Refusal } from "./ended.ts"
import type { Loaded } from "./load.ts"
import { decodeValues, type Handle, type Machine, resultJson, valuesJson } from "./machine.ts"
import { line, pretty, print, show, write } from "./output.ts"

/** Where a thread is. */
export interface Place {
  readonly loaded: Loaded
  readonly thread: string
  readonly database: string | undefined
  readonly isJson: boolean
}

/** Uses a thread on its database, which has to be there. */
const at = <A>(
  { database, loaded: { machine, services }, thread }: Place,
  use: (handle: Handle) => Effect.Effect<A, unknown, Checkpointer>
): Effect.Effect<A, unknown> =>
  Effect.gen(function*() {
    const saver = yield* databaseOf(database ?? defaultDatabase, false)
    return yield* Effect.provide(use(machine.thread(thread)), Layer.provideMerge(services, saver))
  })

const timeOf = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

const snapshotOf = Effect.fnUntraced(function*(machine: Machine, snapshot: Snapshot<unknown>) {
  const { requests, tasks, values: _values, ...rest } = snapshot
  return {
    ...rest,
    values: yield* valuesJson(machine, snapshot),
    requests: requests.map(Asking.questionOf),
    tasks: tasks.map(({ result, ...task }) => ({
      ...task,
      requests: task.requests.map(({ id }) => id),
      ...(result === undefined ? {} : { result: resultJson(machine, result) })
    }))
  }
})

/** `state` */
export const state = Effect.fnUntraced(function*(place: Place, checkpoint: string | undefined) {
  const snapshot = yield* at(place, (handle) => handle.state(checkpoint === undefined ? undefined : { checkpoint }))
  const document = { type: "state", thread: place.thread, ...yield* snapshotOf(place.loaded.machine, snapshot) }
  yield* show(place.isJson, document, pretty(document))
})

/** `history` */
export const history = Effect.fnUntraced(function*(place: Place, filter: object) {
  const list = yield* at(place, (handle) => handle.history(filter))
  for (const snapshot of list) {
    const { branch, checkpoint, createdMillis, next, source, step } = snapshot
    const own = yield* snapshotOf(place.loaded.machine, snapshot)
    const document = { type: "checkpoint", thread: place.thread, ...own }
    const where = `branch ${branch} step ${step} ${source}`
    const person = line(`${checkpoint} ${timeOf(createdMillis)} ${where} next: ${next.join(", ") || "-"}`)
    yield* show(place.isJson, document, person)
  }
})

/** `diff` */
export const diff = Effect.fnUntraced(function*(place: Place, from: string, to: string | undefined) {
  const patch = yield* at(place, (handle) => handle.diff(to === undefined ? { from } : { from, to }))
  if (place.isJson) return yield* print({ type: "diff", thread: place.thread, from, to: to ?? null, patch })
  for (const operation of patch) {
    const value = "value" in operation ? ` ${JSON.stringify(operation.value)}` : ""
    yield* line(`${operation.op} ${operation.path}${value}`)
  }
})

const made = ({ isJson, thread }: Place, checkpoint: string): Effect.Effect<void> =>
  show(isJson, { type: "made", thread, checkpoint }, line(checkpoint))

/** `fork` */
export const fork = Effect.fnUntraced(function*(place: Place, checkpoint: string) {
  yield* made(place, yield* at(place, (handle) => handle.fork(checkpoint)))
})

/** `update` */
export const update = Effect.fnUntraced(
  function*(place: Place, json: unknown, options: { readonly asNode?: string; readonly checkpoint?: string }) {
    const values = yield* Effect.fromResult(decodeValues(place.loaded.machine, json, options.asNode))
    // No types have checked what is brought: what does not fit is a wrong argument here.
    const refused = (error: unknown) =>
      error instanceof InvalidUpdate || error instanceof UnknownRoute ? misused(error.message) : error
    const done = at(place, (handle) => handle.update(values as object | undefined, options))
    yield* made(place, yield* Effect.mapError(done, refused))
  }
)

/** `verify` */
export const verify = Effect.fnUntraced(function*(place: Place) {
  const { checkpoints, divergence, refolded } = yield* at(place, (handle) => handle.verify)
  const found = { type: "verified", thread: place.thread, checkpoints, refolded, divergence: divergence ?? null }
  yield* show(place.isJson, found, line(`${checkpoints} checkpoints read, ${refolded} folded anew`))
  if (divergence === undefined) return
  const { channel, checkpoint, detail, path } = divergence
  const where = [...path, ...(channel === undefined ? [] : [`channel "${channel}"`])].join("/")
  return yield* new Refusal({
    code: codes.storage,
    message: `checkpoint ${checkpoint}${where === "" ? "" : ` at ${where}`} is not what it should be: ${detail}`
  })
})

/** What `prune` keeps. */
export interface Kept {
  readonly last: number | undefined
  readonly since: string | undefined
  readonly checkpoints: ReadonlyArray<string>
}

const instant = (text: string): Effect.Effect<DateTime.Utc, Refusal> =>
  Option.match(DateTime.make(text), {
    onNone: () => Effect.fail(misused(`--since: "${text}" is no time; write it as 2026-01-31 or 2026-01-31T12:00:00Z`)),
    onSome: (time) => Effect.succeed(DateTime.toUtc(time))
  })

/** `prune` */
export const prune = Effect.fnUntraced(function*(place: Place, { checkpoints, last, since }: Kept) {
  if (last === undefined && since === undefined && checkpoints.length === 0) {
    return yield* misused(
      "say what to keep: --last, --since or --checkpoint; --last=0 keeps the heads of branches alone"
    )
  }
  const time = since === undefined ? undefined : yield* instant(since)
  const keep = {
    checkpoints,
    ...(last === undefined ? {} : { last }),
    ...(time === undefined ? {} : { since: time })
  }
  const removed = yield* at(place, (handle) => handle.prune(keep))
  yield* show(
    place.isJson,
    { type: "pruned", thread: place.thread, removed },
    line(`${removed} ${removed === 1 ? "checkpoint" : "checkpoints"} removed`)
  )
})

/** `threads` */
export const threads = Effect.fnUntraced(
  function*(database: string | undefined, isJson: boolean, options: Thread.ListOptions) {
    const saver = yield* databaseOf(database ?? defaultDatabase, false)
    const list = yield* Effect.provide(Thread.list(options), saver)
    for (const thread of list) {
      const { branch, createdMillis, id, metadata, source, step } = thread
      const more = Object.keys(metadata).length === 0 ? "" : ` ${JSON.stringify(metadata)}`
      const person = line(`${id} ${timeOf(createdMillis)} branch ${branch} step ${step} ${source}${more}`)
      yield* show(isJson, { type: "thread", ...thread }, person)
    }
  }
)

/** The formats of pictures. */
export const pictures = ["mermaid", "dot", "svg"] as const

/** A picture from the DOT language. */
const svgOf = (dot: string): Effect.Effect<string, Refusal> =>
  Effect.tryPromise({
    try: () => import("@viz-js/viz"),
    catch: () => misused("a picture as SVG needs the package @viz-js/viz: npm install @viz-js/viz")
  }).pipe(
    Effect.flatMap(({ instance }) => Effect.promise(() => instance())),
    Effect.map((viz) => viz.renderString(dot, { format: "svg" }))
  )

/** `draw` */
export const draw = Effect.fnUntraced(
  function*({ machine }: Loaded, format: typeof pictures[number], isJson: boolean, depth: number) {
    const text = format === "mermaid" ? Diagram.toMermaid(machine, { depth }) : Diagram.toDot(machine, { depth })
    const picture = format === "svg" ? yield* svgOf(text) : text
    yield* show(isJson, { type: "diagram", [format]: picture }, write(picture))
  }
)

const writerText = (writer: WriterView): ReadonlyArray<string> => {
  switch (writer._tag) {
    case "Update":
      return ["its update"]
    case "Wake":
      return [`edge to ${writer.node}`]
    case "Join":
      return [`join before ${writer.node}`]
    case "Route":
      return [`route to ${writer.targets.join(" or ")}`]
    case "Channel":
      return [`channel ${writer.channel}`]
  }
}

const nodeLines = (name: string, node: NodeView): ReadonlyArray<string> => [
  `  ${name}${node.defer ? " (deferred)" : ""}`,
  `    woken by ${node.triggers.join(", ") || "Sends"}`,
  `    reads ${node.reads.join(", ") || "nothing"}`,
  `    writes ${node.writers.flatMap(writerText).join(", ") || "nothing"}`,
  ...(node.destinations.length === 0 ? [] : [`    may go to ${node.destinations.join(", ")}`]),
  ...(node.graph === undefined ? [] : [`    is the graph ${node.graph.name}`])
]

const machineLines = (view: MachineView): ReadonlyArray<string> => [
  `${view.name}${view.version === undefined ? "" : ` ${view.version}`}`,
  `input ${view.input.join(", ")}`,
  `output ${view.output.join(", ")}`,
  "channels",
  ...Object.entries(view.channels).map(([name, rule]) => `  ${name}: ${rule._tag}`),
  "nodes",
  ...Object.entries(view.nodes).flatMap(([name, node]) => nodeLines(name, node)),
  `fingerprint ${view.fingerprint}`
]

/** Rules hold functions, which are nothing to show. */
const described = (view: MachineView): object => ({
  ...view,
  channels: Object.fromEntries(Object.entries(view.channels).map(([name, rule]) => [name, rule._tag])),
  nodes: Object.fromEntries(
    Object.entries(view.nodes).map(([name, node]) => [
      name,
      { ...node, graph: node.graph === undefined ? undefined : described(node.graph) }
    ])
  )
})

/** `inspect` */
export const inspect = ({ machine: { pregel } }: Loaded, isJson: boolean): Effect.Effect<void> =>
  show(
    isJson,
    { type: "machine", ...described(pregel) },
    Effect.forEach(machineLines(pregel), (text) => line(text), { discard: true })
  )
