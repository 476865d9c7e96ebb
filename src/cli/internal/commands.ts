/** The commands, their arguments and their flags. */
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Stdio } from "effect/Stdio"
import * as Stream from "effect/Stream"
import type * as Event from "../../Event.ts"
import { type Given, parseAnswer, parseJson } from "./asking.ts"
import { defaultDatabase } from "./database.ts"
import { codesText, misused, type Refusal, reporting } from "./ended.ts"
import { load } from "./load.ts"
import * as Reading from "./reading.ts"
import { inputOf, resuming, running, type Settings } from "./running.ts"
import { reason, visible } from "./text.ts"

// ---------------------------------------------------------------------------
// Flags
// ---------------------------------------------------------------------------

const graph = Argument.String("graph").pipe(
  Argument.withDescription("The file that exports the graph, and the name of the export: file#export")
)

const optionalText = (name: string, metavar: string, description: string): Flag.Flag<Option.Option<string>> =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

const texts = (name: string, metavar: string, description: string): Flag.Flag<ReadonlyArray<string>> =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.atLeast(0))

const whole = (name: string, minimum: number, description: string): Flag.Flag<Option.Option<number>> =>
  Flag.Int(name).pipe(
    Flag.withSchema(Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimum))),
    Flag.withDescription(description),
    Flag.optional
  )

const flag = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

const database = Flag.String("db").pipe(
  Flag.withMetavar("file or url"),
  Flag.withDescription(
    `Where threads are kept: a SQLite file, or postgres://... (default: $SUPERSTEP_DB, or ${defaultDatabase})`
  ),
  Flag.withFallbackConfig(Config.String("SUPERSTEP_DB")),
  Flag.optional
)

const json = flag("json", "Prints one JSON document per line on stdout, and nothing else")

const layer = optionalText("layer", "export", "The export that provides the services of the graph (default: layer)")

const threadId = Flag.String("thread").pipe(Flag.withMetavar("id"), Flag.withDescription("The thread"))

const checkpoint = optionalText("checkpoint", "id", "The checkpoint (default: where the thread stands)")

const place = { graph, thread: threadId, db: database, layer, json }

const modes = Object.keys(
  {
    values: true,
    updates: true,
    custom: true,
    tasks: true,
    checkpoints: true,
    debug: true,
    lifecycle: true
  } satisfies Record<Event.Mode, true>
)

const ofRun = {
  stream: optionalText("stream", "modes", `Prints events as they happen, of these modes: ${modes.join(",")}`),
  subgraphs: flag("subgraphs", "Events of graphs inside too"),
  answer: texts(
    "answer",
    "json",
    "An answer, for what the run asks next; <id>=<json> answers that question. May be repeated"
  ),
  durability: Flag.Literals("durability", ["sync", "async", "exit"]).pipe(
    Flag.withDescription("When a superstep is stored: before the next begins (default), soon, or at the end"),
    Flag.optional
  ),
  metadata: optionalText("metadata", "json", "Kept with every checkpoint of the run"),
  recursionLimit: whole("recursion-limit", 1, "How many supersteps the run may take"),
  quiet: flag("quiet", "Shows no progress")
}

type OfRun = Command.Command.Config.Infer<typeof ofRun>

// ---------------------------------------------------------------------------
// From flags to what they say
// ---------------------------------------------------------------------------

const given = (name: string, value: Option.Option<unknown>): object =>
  Option.isSome(value) ? { [name]: value.value } : {}

const unread = (name: string, what: string) => (error: PlatformError): Refusal =>
  misused(`${name}: cannot read ${what}: ${reason(error.reason.cause ?? error)}`)

/** All of stdin, whose writer may take its time. */
const stdinOf = Effect.fnUntraced(function*(name: string) {
  const { stdin } = yield* Stdio
  const text = yield* Effect.mapError(Stream.mkString(Stream.decodeText(stdin)), unread(name, "stdin"))
  return text.trim() === "" ? yield* misused(`${name}: stdin is empty`) : text
})

const fileOf = Effect.fnUntraced(function*(name: string, path: string) {
  const { readFileString } = yield* FileSystem
  return yield* Effect.mapError(readFileString(path), unread(name, path))
})

const textOf = (name: string, text: string): Effect.Effect<string, Refusal, FileSystem | Stdio> => {
  if (text === "-") return stdinOf(name)
  return text.startsWith("@") ? fileOf(name, text.slice(1)) : Effect.succeed(text)
}

/** JSON of a flag: the text itself, that of a file (`@file`), or that of stdin (`-`). */
const jsonOf = (name: string, text: string): Effect.Effect<unknown, Refusal, FileSystem | Stdio> =>
  Effect.flatMap(textOf(name, text), (own) => parseJson(name, own))

const metadataOf = Effect.fnUntraced(function*(text: Option.Option<string>) {
  if (Option.isNone(text)) return Option.none<Readonly<Record<string, Schema.Json>>>()
  const value = yield* parseJson("--metadata", text.value)
  if (!Predicate.isObject(value) || Array.isArray(value)) return yield* misused("--metadata is no JSON object")
  return Option.some(value as Readonly<Record<string, Schema.Json>>)
})

const modesOf = (text: Option.Option<string>): Effect.Effect<ReadonlyArray<Event.Mode>, Refusal> => {
  const names = Option.match(text, { onNone: () => [], onSome: (modes) => modes.split(",").map((mode) => mode.trim()) })
  const unknown = names.find((name) => !modes.includes(name))
  return unknown === undefined
    ? Effect.succeed(names as ReadonlyArray<Event.Mode>)
    : Effect.fail(misused(`--stream: "${unknown}" is none of ${modes.join(", ")}`))
}

interface Where {
  readonly graph: string
  readonly thread: string | undefined
  readonly db: Option.Option<string>
  readonly layer: Option.Option<string>
  readonly json: boolean
}

const settingsOf = Effect.fnUntraced(function*(where: Where, said: OfRun, more: object) {
  const answers: ReadonlyArray<Given> = yield* Effect.forEach(said.answer, parseAnswer)
  const metadata = yield* metadataOf(said.metadata)
  return {
    graph: where.graph,
    layer: Option.getOrUndefined(where.layer),
    thread: where.thread,
    database: Option.getOrUndefined(where.db),
    modes: yield* modesOf(said.stream),
    isDeep: said.subgraphs,
    isJson: where.json,
    isQuiet: said.quiet,
    answers,
    options: {
      ...given("durability", said.durability),
      ...given("metadata", metadata),
      ...given("recursionLimit", said.recursionLimit),
      ...more
    }
  } satisfies Settings
})

type Placed = Command.Command.Config.Infer<typeof place>

const placeOf = (said: Placed): Effect.Effect<Reading.Place, unknown> =>
  Effect.map(load(said.graph, Option.getOrUndefined(said.layer)), (loaded) => ({
    loaded,
    thread: said.thread,
    database: Option.getOrUndefined(said.db),
    isJson: said.json
  }))

// ---------------------------------------------------------------------------
// Commands
// ---------------------------------------------------------------------------

const run = Command.make("run", {
  graph,
  input: Flag.String("input").pipe(
    Flag.withMetavar("json"),
    Flag.withDescription("The input: JSON, @file, or - for stdin")
  ),
  thread: optionalText("thread", "id", "The thread that keeps the run; without one nothing is kept"),
  key: optionalText("key", "key", "Names the piece of work: the same command goes on with it, or gives its result"),
  discard: flag("discard", "Drops the unfinished work of the thread"),
  checkpoint,
  db: database,
  layer,
  json,
  ...ofRun
}, (said) =>
  reporting(
    said.json,
    Effect.gen(function*() {
      const thread = Option.getOrUndefined(said.thread)
      if (thread === undefined && (Option.isSome(said.key) || Option.isSome(said.checkpoint) || said.discard)) {
        return yield* misused("--key, --checkpoint and --discard are of a thread: give --thread")
      }
      const more = { ...given("checkpoint", said.checkpoint), ...(said.discard ? { pending: "discard" } : {}) }
      const settings = yield* settingsOf({ ...said, thread }, said, more)
      const value = yield* jsonOf("--input", said.input)
      const loaded = yield* load(said.graph, settings.layer)
      yield* running(loaded, settings, yield* inputOf(loaded.machine, value, Option.getOrUndefined(said.key)))
    })
  )).pipe(
    Command.withDescription(
      "Runs a graph on an input, on a thread if one is named. Where the run asks something, it takes the answers that were given, " +
        "asks on the terminal, or says how to go on and ends with 3."
    ),
    Command.withShortDescription("Runs a graph on an input")
  )

const resume = Command.make("resume", { ...place, checkpoint, ...ofRun }, (said) =>
  reporting(
    said.json,
    Effect.gen(function*() {
      const settings = yield* settingsOf(said, said, given("checkpoint", said.checkpoint))
      const loaded = yield* load(said.graph, settings.layer)
      yield* resuming(loaded, settings)
    })
  )).pipe(
    Command.withDescription("Goes on with a thread: with the answers to what it asks, or where it was interrupted")
  )

const state = Command.make("state", { ...place, checkpoint }, (said) =>
  reporting(
    said.json,
    Effect.flatMap(placeOf(said), (place) => Reading.state(place, Option.getOrUndefined(said.checkpoint)))
  )).pipe(Command.withDescription("Shows what a thread holds, what is next and what it asks"))

const history = Command.make("history", {
  ...place,
  limit: whole("limit", 0, "How many checkpoints"),
  branch: whole("branch", 1, "Of this branch alone")
}, (said) =>
  reporting(
    said.json,
    Effect.flatMap(placeOf(said), (place) =>
      Reading.history(place, { ...given("limit", said.limit), ...given("branch", said.branch) }))
  )).pipe(Command.withDescription("Shows the checkpoints of a thread, newest first"))

const diff = Command.make("diff", {
  graph,
  from: Argument.String("from").pipe(Argument.withDescription("The checkpoint before")),
  to: Argument.String("to").pipe(
    Argument.withDescription("The checkpoint after (default: where the thread stands)"),
    Argument.optional
  ),
  thread: threadId,
  db: database,
  layer,
  json
}, (said) =>
  reporting(
    said.json,
    Effect.flatMap(placeOf(said), (place) => Reading.diff(place, said.from, Option.getOrUndefined(said.to)))
  )).pipe(Command.withDescription("Shows what leads from one checkpoint to another, as a JSON patch"))

const fork = Command.make("fork", {
  graph,
  checkpoint: Argument.String("checkpoint").pipe(Argument.withDescription("Where the branch begins")),
  thread: threadId,
  db: database,
  layer,
  json
}, (said) => reporting(said.json, Effect.flatMap(placeOf(said), (place) => Reading.fork(place, said.checkpoint)))).pipe(
  Command.withDescription("Opens a branch at a checkpoint, and prints the id of its first checkpoint. Nothing runs")
)

const update = Command.make("update", {
  ...place,
  values: optionalText("values", "json", "What is written: JSON, @file, or - for stdin"),
  asNode: optionalText("as-node", "node", "The node that is taken to have written it (default: the one that ran last)"),
  checkpoint
}, (said) =>
  reporting(
    said.json,
    Effect.gen(function*() {
      const values = Option.isNone(said.values) ? undefined : yield* jsonOf("--values", said.values.value)
      const options = { ...given("asNode", said.asNode), ...given("checkpoint", said.checkpoint) }
      yield* Reading.update(yield* placeOf(said), values, options)
    })
  )).pipe(
    Command.withDescription("Writes to a thread from outside, and prints the id of the new checkpoint. Nothing runs")
  )

const draw = Command.make(
  "draw",
  {
    graph,
    depth: Flag.Int("depth").pipe(
      Flag.withDescription("How deep graphs inside are drawn with their own nodes (default: 0)"),
      Flag.withDefault(0)
    ),
    format: Flag.Literals("format", Reading.pictures).pipe(
      Flag.withDescription("Text of Mermaid (default) or of Graphviz, or a picture"),
      Flag.withDefault("mermaid")
    ),
    json
  },
  (said) =>
    reporting(
      said.json,
      Effect.flatMap(
        load(said.graph, undefined),
        (loaded) => Reading.draw(loaded, said.format, said.json, said.depth)
      )
    )
)
  .pipe(Command.withDescription("Draws a graph"))

const inspect = Command.make(
  "inspect",
  { graph, json },
  (said) =>
    reporting(said.json, Effect.flatMap(load(said.graph, undefined), (loaded) => Reading.inspect(loaded, said.json)))
).pipe(
  Command.withDescription("Shows the machine of a graph: channels, nodes, what wakes them")
)

const verify = Command.make(
  "verify",
  place,
  (said) => reporting(said.json, Effect.flatMap(placeOf(said), Reading.verify))
).pipe(
  Command.withDescription("Reads all of a thread, and folds anew what follows from stored results. No node runs")
)

const prune = Command.make("prune", {
  ...place,
  last: whole("last", 0, "Keeps so many of the newest checkpoints"),
  since: optionalText("since", "time", "Keeps the checkpoints made then or later, as in 2026-01-31"),
  checkpoint: texts("checkpoint", "id", "Keeps this checkpoint. May be repeated")
}, (said) =>
  reporting(
    said.json,
    Effect.flatMap(placeOf(said), (place) =>
      Reading.prune(place, {
        last: Option.getOrUndefined(said.last),
        since: Option.getOrUndefined(said.since),
        checkpoints: said.checkpoint
      }))
  )).pipe(
    Command.withDescription("Removes the checkpoints of a thread that nothing needs. The heads of all branches stay")
  )

const threads = Command.make("threads", {
  metadata: optionalText("metadata", "json", "Those whose current checkpoint has these entries"),
  after: optionalText("after", "id", "Those that began after this one"),
  limit: whole("limit", 0, "How many"),
  db: database,
  json
}, (said) =>
  reporting(
    said.json,
    Effect.flatMap(metadataOf(said.metadata), (metadata) =>
      Reading.threads(Option.getOrUndefined(said.db), said.json, {
        ...given("metadata", metadata),
        ...given("after", said.after),
        ...given("limit", said.limit)
      }))
  )).pipe(Command.withDescription("Lists the threads of a database, in the order in which they began"))

/** The command. */
export const command = Command.make("superstep").pipe(
  Command.withDescription(`Runs graphs on durable threads, and reads what they keep. ${codesText}`),
  Command.withSubcommands([
    run,
    resume,
    state,
    history,
    diff,
    fork,
    update,
    draw,
    inspect,
    verify,
    prune,
    threads
  ])
)

/** What the CLI library shows: all that it has but its wizard, and for a bad command line one line without the whole help. */
export const layerOutput = Layer.merge(
  CliConfig.layer({
    builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions, GlobalFlag.LogLevel]
  }),
  CliOutput.layerPresenter({
    present: (event) =>
      event._tag === "InvalidInvocation"
        ? Console.error(
          `superstep: ${event.errors.map(({ message }) => visible(message)).join("; ")} (see ${
            event.commandPath.join(" ")
          } --help)`
        )
        : CliOutput.defaultPresenter.present(event)
  })
)
