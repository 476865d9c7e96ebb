/**
 * The command: `npm start -- [folder] [options]`. It holds what has to do with
 * a terminal; the work is in `Audit.ts`.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Argument from "effect/cli/Argument"
import * as CliCommand from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Prompt from "effect/cli/Prompt"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import { Channel, Command, type Interrupt, type State } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { type Audit, audit, WriteReport } from "./Audit.ts"

interface Settings {
  readonly folder: string
  readonly database: string
  readonly report: string
  readonly thread: string
  readonly fresh: boolean
  /** The answer to the question whether to write the report, if it was given with the command. */
  readonly answer: Option.Option<boolean>
}

/** A message for the user, without a stack. */
class Refused {
  readonly _tag = "Refused"
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

// ---------------------------------------------------------------------------
// Progress
// ---------------------------------------------------------------------------

/** Shows how many pages are done: one line that is redrawn on a terminal, a line per tenth elsewhere. */
const progress = Effect.gen(function*() {
  const terminal = yield* Terminal.Terminal
  const { canAnimate } = yield* TerminalCapabilities.TerminalCapabilities
  let total = 0
  let done = 0
  let kept = 0
  let shown = -1
  const draw = Effect.suspend(() => {
    const tenth = total === 0 ? 0 : Math.floor((done / total) * 10)
    if (!canAnimate && tenth === shown) return Effect.void
    shown = tenth
    const line = `checked ${done} of ${total} pages${kept > 0 ? ` (${kept} before)` : ""}`
    return Effect.ignore(terminal.display(canAnimate ? `\r\u001b[2K${line}` : `${line}\n`))
  })
  return {
    /** A page that an earlier run had checked. */
    keep: Effect.suspend(() => {
      total++
      done++
      kept++
      return Effect.void
    }),
    begin: Effect.sync(() => {
      total++
    }),
    finish: Effect.suspend(() => {
      done++
      return draw
    }),
    end: Effect.suspend(() => canAnimate && total > 0 ? Effect.ignore(terminal.display("\n")) : Effect.void)
  }
})

/** Runs the thread on an input to its end or its question, and shows what happens. */
const run = (settings: Settings, input: Parameters<ReturnType<typeof audit.thread>["stream"]>[0]) =>
  Effect.gen(function*() {
    const bar = yield* progress
    const events = audit.thread(settings.thread).stream(input, { modes: ["updates", "tasks"], pending: "discard" })
    yield* Stream.runForEach(events, (event) => {
      if (event.mode === "updates" && event.node === "check") return event.cached ? bar.keep : bar.finish
      return event.mode === "tasks" && event.type === "started" && event.node === "check" ? bar.begin : Effect.void
    }).pipe(Effect.ensuring(bar.end))
  })

// ---------------------------------------------------------------------------
// The question
// ---------------------------------------------------------------------------

type Asked = Interrupt.GraphInterrupt<Interrupt.Request<"WriteReport", (typeof WriteReport)["payload"]["Type"], boolean>>

const question = ({ requests }: Asked): string => {
  const { findings, pages, report } = requests[0]!.payload
  return `${findings} finding${findings === 1 ? "" : "s"} in ${pages} page${pages === 1 ? "" : "s"}. Write ${report}?`
}

/** The answer: given with the command, asked on a terminal, or left for later. */
const answer = (settings: Settings, asked: Asked) =>
  Effect.gen(function*() {
    if (Option.isSome(settings.answer)) return settings.answer
    const { isTTY } = process.stdin
    if (isTTY) return Option.some(yield* Prompt.run(Prompt.Confirm({ message: question(asked), initial: false })))
    yield* Console.log(`${question(asked)}\nThe audit waits for your answer: run it again with --yes or --no.`)
    return Option.none<boolean>()
  })

const work = (settings: Settings) =>
  Effect.gen(function*() {
    const input: State.Input<typeof Audit> = {
      root: settings.folder,
      report: settings.report,
      facts: Channel.overwrite([])
    }
    yield* run(settings, settings.fresh ? input : Command.start(input)).pipe(
      Effect.catchTag("GraphInterrupt", (asked) =>
        Effect.flatMap(answer(settings, asked), (given) =>
          Option.isSome(given) ? run(settings, Command.resume(WriteReport.reply(given.value))) : Effect.void))
    )
    const { next, values } = yield* audit.thread(settings.thread).state()
    if (next.length > 0 || values.summary === null) return
    const { findings, pages } = values.summary
    yield* Console.log(`${pages} pages, ${findings.length} findings. ${values.written ? `Written to ${values.report}.` : "No report written."}`)
  })

// ---------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------

const settle = Effect.fnUntraced(function*(given: {
  readonly folder: string
  readonly database: Option.Option<string>
  readonly report: Option.Option<string>
  readonly thread: Option.Option<string>
  readonly fresh: boolean
  readonly yes: boolean
  readonly no: boolean
}) {
  const path = yield* Path.Path
  const files = yield* FileSystem.FileSystem
  const folder = path.resolve(given.folder)
  const info = yield* Effect.option(files.stat(folder))
  if (Option.isNone(info) || info.value.type !== "Directory") return yield* Effect.fail(new Refused(`${folder} is no folder`))
  if (given.yes && given.no) return yield* Effect.fail(new Refused("--yes and --no exclude each other"))
  const database = path.resolve(Option.getOrElse(given.database, () => ".superstep/audit.sqlite"))
  yield* Effect.mapError(files.makeDirectory(path.dirname(database), { recursive: true }), (error) => new Refused(error.message))
  return {
    folder,
    database,
    report: path.resolve(Option.getOrElse(given.report, () => "report.md")),
    thread: Option.getOrElse(given.thread, () => folder.slice(-500)),
    fresh: given.fresh,
    answer: given.yes || given.no ? Option.some(given.yes) : Option.none()
  } satisfies Settings
})

const command = CliCommand.make("npm start --", {
  folder: Argument.String("folder").pipe(
    Argument.withDescription("The folder to audit; the current one by default"),
    Argument.withDefault(".")
  ),
  yes: Flag.Boolean("yes").pipe(Flag.withAlias("y"), Flag.withDescription("Write the report"), Flag.withDefault(false)),
  no: Flag.Boolean("no").pipe(Flag.withDescription("Do not write the report"), Flag.withDefault(false)),
  fresh: Flag.Boolean("fresh").pipe(
    Flag.withDescription("Begin anew, whatever an earlier run has done"),
    Flag.withDefault(false)
  ),
  report: Flag.String("report").pipe(Flag.withDescription("Where to write the report; report.md by default"), Flag.optional),
  database: Flag.String("database").pipe(
    Flag.withDescription("The SQLite file that holds the work; .superstep/audit.sqlite by default"),
    Flag.optional
  ),
  thread: Flag.String("thread").pipe(
    Flag.withDescription("Names this piece of work in the file; the audited folder by default"),
    Flag.optional
  )
}, (given) =>
  Effect.flatMap(settle(given), (settings) =>
    Effect.provide(work(settings), SqlCheckpointer.layerSqlite({ filename: settings.database })))).pipe(
    CliCommand.withDescription(
      "Audits every Markdown page below a folder: broken links and anchors, heading jumps, code fences that do not parse. " +
        "Everything is kept in one SQLite file as it happens: stop it whenever you like, and the same command goes on where it was."
    )
  )

/** One clear line in place of a stack: whatever went wrong is in the message. */
const told = (error: unknown) =>
  Effect.andThen(
    Console.error(error instanceof Error || error instanceof Refused ? error.message : String(error)),
    Effect.sync(() => {
      process.exitCode = 1
    })
  )

command.pipe(
  CliCommand.run({ version: "0.1.0" }),
  Effect.catch(told),
  Effect.provide(Layer.mergeAll(TerminalCapabilities.layer).pipe(Layer.provideMerge(NodeServices.layer))),
  NodeRuntime.runMain
)
