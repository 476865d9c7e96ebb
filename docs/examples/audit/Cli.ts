/**
 * The command `npm start -- [folder] [options]`: what has to do with arguments
 * and the terminal. The work is in `Audit.ts`.
 */
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as CliCommand from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Prompt from "effect/cli/Prompt"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { Command, type State } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { type Audit, audit, reports, stale, WriteReport } from "./Audit.ts"
import * as Progress from "./Progress.ts"
import { plural, toMarkdown, unchecked, visible } from "./Report.ts"

/** What the arguments come to. */
interface Settings {
  readonly folder: string
  readonly database: string
  readonly thread: string
  readonly report: string
  /** Whether the report was named, and not left to its default. */
  readonly isReportNamed: boolean
  readonly isFresh: boolean
  /** The answer to the audit's question, if it was given with the command. */
  readonly answer: Option.Option<boolean>
}

type Question = (typeof WriteReport)["payload"]["Type"]

const counted = ({ findings, outside, pages }: Omit<Question, "path" | "problem">): string =>
  [`${plural(findings, "finding")} in ${plural(pages, "page")}`, unchecked({ outside })].filter(Boolean).join("; ")

/** What a command ends with, besides 130 for Ctrl-C. */
const exitCodes =
  "Exit codes: 0 when the audit is finished or waits for an answer, 1 when something was refused or failed, " +
  "2 when another run of the same audit came first."

/** Another run has committed to the thread, begun it anew, or answered its question. */
class Overtaken extends Data.TaggedError("Overtaken")<{}> {
  override readonly [Runtime.errorExitCode] = 2
  override get message(): string {
    return "Another audit of this folder is running, and came first. Nothing is lost: " +
      "when it has ended, run the command again to see where the audit stands."
  }
  override get [CliError.userMessage](): string {
    return this.message
  }
}

const refuse = (userMessage: string) => Effect.fail(new CliError.UserError({ cause: userMessage, userMessage }))

// ---------------------------------------------------------------------------
// The audit
// ---------------------------------------------------------------------------

/** Runs the thread to its end or to its question, and shows every page. Says whether anything was left to do. */
const run = Effect.fnUntraced(function*({ folder, report, thread }: Settings, earlier: ReadonlyArray<string>) {
  const progress = yield* Progress.make
  // `start` begins the work, goes on with it, or does nothing if it is finished. Killed here, the command is just run again.
  const input = Command.start({ root: folder, report, earlier })
  const events = audit.thread(thread).events(input, { modes: ["tasks", "updates"] })
  const count = yield* events.pipe(
    Stream.tap((event) => {
      // All tasks of a superstep begin before the first ends: what is due is known when the first page is shown.
      if (event.mode === "tasks" && event.type === "started" && event.node === "check") return progress.due
      if (event.mode !== "updates" || event.node !== "check") return Effect.void
      const { file, findings } = event.update.facts[0]!
      // What an earlier process has checked comes from the database.
      return event.cached ? progress.kept(file) : progress.checked(file, findings.length)
    }),
    Stream.runCount,
    Effect.ensuring(progress.end)
  )
  return count > 0
})

type Known = State.Type<typeof Audit>

/** Where the thread stands after a run: at a question, or at its end. */
const asked = (going: ReturnType<ReturnType<typeof audit.thread>["continue"]>) =>
  going.pipe(
    Effect.as(Option.none<Question>()),
    Effect.catchTag("GraphInterrupt", ({ requests }) => Effect.succeedSome(requests[0]!.payload))
  )

/** Says which pages the audit no longer tells the truth of. */
const warn = Effect.fnUntraced(function*(known: Known) {
  const pages = yield* stale(known)
  if (pages.length === 0) return
  const [first, ...others] = pages
  const named = others.length === 0 ? visible(first!) : `${visible(first!)} and ${plural(others.length, "other")}`
  yield* Console.log(`No longer as it was when it was checked: ${named}. --fresh begins anew.`)
})

/** The answer, a path or `null`: given with the command, asked on the terminal, or left for another time. */
const answer = Effect.fnUntraced(function*(settings: Settings, known: Known, question: Question) {
  const { path, problem } = question
  const target = settings.isReportNamed ? settings.report : path
  const files = yield* FileSystem.FileSystem
  const isForeign = !reports(known).includes(target) && (yield* files.exists(target))
  if (Option.contains(settings.answer, false)) return Option.some(null)
  if (Option.isSome(settings.answer)) {
    if (isForeign) return yield* refuse(`${foreign(target)}\n${waiting}--report <another file> --yes, or --no.`)
    return Option.some(target)
  }
  if (problem !== null) yield* Console.log(`${path} could not be written: ${problem}`)
  const { canPrompt } = yield* TerminalCapabilities.TerminalCapabilities
  if (canPrompt) {
    const asks = isForeign ? `${foreign(target)} Overwrite it?` : `Write ${target}?`
    const message = `${counted(question)}. ${asks}`
    return Option.some((yield* Prompt.run(Prompt.Confirm({ message, initial: false }))) ? target : null)
  }
  yield* Console.log(
    isForeign
      ? `${counted(question)}. ${foreign(target)}\n${waiting}--report <another file> --yes, or --no`
      : `${counted(question)}. Write ${target}?\n${waiting}--yes or --no`
  )
  return Option.none<string | null>()
})

const foreign = (target: string): string => `${target} is there already, and not from this audit.`

const waiting = "The audit waits for the answer: run the command again with "

const say = (summary: Known["summary"], outcome: string) =>
  Console.log(`${counted({ ...summary, findings: summary.findings.length })}. ${outcome}.`)

/** What a finished audit has come to. Its report may have met with anything since. */
const recall = Effect.fnUntraced(function*({ summary, written }: Known) {
  if (written === null) return yield* say(summary, "No report written")
  const files = yield* FileSystem.FileSystem
  const text = yield* Effect.orElseSucceed(files.readFileString(written), () => undefined)
  const since = text === toMarkdown(summary) ? "" : ", which is gone or has changed since"
  yield* say(summary, `Written to ${written}${since}`)
})

/** The reports of what is about to be forgotten. What cannot be read had none. */
const reportsOf = ({ folder, thread }: Settings) =>
  audit.thread(thread).state().pipe(
    Effect.map(({ values }) => values.root === folder ? reports(values) : []),
    Effect.orElseSucceed((): ReadonlyArray<string> => [])
  )

const work = Effect.fnUntraced(function*(settings: Settings) {
  const thread = audit.thread(settings.thread)
  const earlier = settings.isFresh ? yield* reportsOf(settings) : []
  if (settings.isFresh) yield* thread.delete
  const hadWork = yield* run(settings, earlier)
  const { values } = yield* thread.state()
  if (values.root !== settings.folder) {
    return yield* refuse(
      `This thread is the audit of ${values.root}. Give another --thread, or begin anew with --fresh.`
    )
  }
  yield* warn(values)
  let question = yield* asked(thread.continue())
  if (Option.isNone(question)) {
    const isWanted = Option.getOrElse(settings.answer, () => settings.isReportNamed)
    if (!isWanted) {
      yield* recall(values)
      if (!hadWork) {
        yield* Console.log("An earlier run has finished this audit: --yes writes its report, --fresh begins anew.")
      }
      return
    }
    question = yield* asked(thread.invoke(Command.make({ goto: "ask" })))
  }
  const given = yield* answer(settings, values, Option.getOrThrow(question))
  if (Option.isNone(given)) return
  const again = yield* asked(thread.resume(WriteReport.reply(given.value)))
  if (Option.isSome(again)) {
    return yield* refuse(
      `${again.value.path} could not be written: ${again.value.problem}\n` +
        "The audit still waits for the answer: run the command again with --yes, --report <another file> or --no."
    )
  }
  yield* say(values.summary, given.value === null ? "No report written" : `Written to ${given.value}`)
})

// ---------------------------------------------------------------------------
// The arguments
// ---------------------------------------------------------------------------

const parameters = {
  folder: Argument.String("folder").pipe(
    Argument.withDescription("The folder to audit; without it, the current one"),
    Argument.withDefault(".")
  ),
  yes: Flag.Boolean("yes").pipe(
    Flag.withAlias("y"),
    Flag.withDescription("Answer the question: write the report, even if the audit has long been finished"),
    Flag.withDefault(false)
  ),
  no: Flag.Boolean("no").pipe(
    Flag.withAlias("n"),
    Flag.withDescription("Answer the question: do not write it"),
    Flag.withDefault(false)
  ),
  fresh: Flag.Boolean("fresh").pipe(
    Flag.withDescription("Forget what earlier runs have done, and begin anew"),
    Flag.withDefault(false)
  ),
  report: Flag.String("report").pipe(
    Flag.withDescription(
      "The report to write (default: report.md); of an audit that is finished too. --yes overwrites no file that this audit has not written"
    ),
    Flag.optional
  ),
  database: Flag.String("database").pipe(
    Flag.withDescription("The SQLite file that keeps the work (default: .superstep/audit.sqlite)"),
    Flag.optional
  ),
  thread: Flag.String("thread").pipe(
    Flag.withDescription("The name of the work in that file (default: derived from the path of the folder)"),
    Flag.optional
  )
}

/** Where the command was called. npm runs scripts in the folder of the package, and says where that was. */
const here = (path: Path.Path): string => {
  const { INIT_CWD, npm_lifecycle_event } = process.env
  return path.resolve(npm_lifecycle_event === "start" && INIT_CWD !== undefined ? INIT_CWD : ".")
}

/** Refuses a path that no report can be written to, as far as this can be told beforehand. */
const checkReport = Effect.fnUntraced(function*(report: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const typeOf = (file: string) => Effect.option(Effect.map(files.stat(file), ({ type }) => type))
  const own = yield* typeOf(report)
  if (Option.contains(own, "Directory")) return yield* refuse(`${report} is a folder, and no file for a report.`)
  const parent = path.dirname(report)
  if (!Option.contains(yield* typeOf(parent), "Directory")) {
    return yield* refuse(`${parent} is no folder for a report.`)
  }
  const target = Option.isSome(own) ? report : parent
  yield* Effect.catch(files.access(target, { writable: true }), () => refuse(`${target} may not be written to.`))
})

/** Checks everything before anything is made or changed. */
const settle = Effect.fnUntraced(function*(given: CliCommand.Command.Config.Infer<typeof parameters>) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if (given.yes && given.no) return yield* refuse("--yes and --no exclude each other.")
  const from = here(path)
  const folder = path.resolve(from, given.folder)
  yield* Effect.catch(files.readDirectory(folder), () => refuse(`${folder} is no folder that can be read.`))
  const report = path.resolve(from, Option.getOrElse(given.report, () => "report.md"))
  yield* checkReport(report)
  const kept = path.resolve(from, ".superstep")
  if (Option.isNone(given.database)) yield* files.makeDirectory(kept, { recursive: true })
  // Readable, short enough for a thread however deep the folder lies, and another one for every folder.
  const digest = createHash("sha256").update(folder).digest("hex").slice(0, 16)
  return {
    folder,
    database: Option.match(given.database, {
      onNone: () => path.join(kept, "audit.sqlite"),
      onSome: (file) => path.resolve(from, file)
    }),
    thread: Option.getOrElse(given.thread, () => `${path.basename(folder)}-${digest}`),
    report,
    isReportNamed: Option.isSome(given.report),
    isFresh: given.fresh,
    answer: given.yes || given.no ? Option.some(given.yes) : Option.none()
  } satisfies Settings
})

type Failure = Effect.Error<ReturnType<typeof settle> | ReturnType<typeof work>>

/** Whatever goes wrong, one clear message. Ctrl-C at the question is no error: the audit waits. */
const told = (error: Failure) => {
  switch (error._tag) {
    case "QuitError":
      return error
    case "ThreadConflict":
    case "ThreadDeleted":
    case "InvalidReply": // The reply fits the question that was asked here, but that is no longer what the thread asks.
      return new Overtaken()
    case "GraphChanged":
    case "CheckpointError": {
      const isOld = error._tag === "GraphChanged" || error.reason === "Decode"
      const hint = isOld ? ". Another version of this audit may have stored it: --fresh begins anew" : ""
      return new CliError.UserError({ cause: error, userMessage: `${error.message}${hint}` })
    }
    default:
      return new CliError.UserError({ cause: error, userMessage: error.message })
  }
}

/** The command. */
export const command = CliCommand.make("npm start --", parameters, (given) =>
  Effect.gen(function*() {
    const settings = yield* settle(given)
    yield* Effect.provide(work(settings), SqlCheckpointer.layerSqlite({ filename: settings.database }))
  }).pipe(Effect.mapError(told))).pipe(CliCommand.withDescription(
    "Audits every Markdown page below a folder: broken links and anchors, skipped heading levels, code that does not parse. " +
      "Links that lead out of the folder are counted and not checked. " +
      "The work is kept as it is done: stop it in whatever way, and the same command goes on where it was. " +
      exitCodes
  ))

/** Of what the CLI library offers: help and version, and for a bad command line a message without the whole help. */
export const layer = Layer.merge(
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
  CliOutput.layerPresenter({
    present: (event) =>
      event._tag === "InvalidInvocation"
        ? Console.error(`${event.errors.map((error) => error.message).join("\n")}\nSee npm start -- --help`)
        : CliOutput.defaultPresenter.present(event)
  })
)
