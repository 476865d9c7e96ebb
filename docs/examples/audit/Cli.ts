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
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import { createHash } from "node:crypto"
import { Command } from "superstep"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { audit, WriteReport } from "./Audit.ts"
import * as Progress from "./Progress.ts"

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

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

const counted = (findings: number, pages: number): string =>
  `${plural(findings, "finding")} in ${plural(pages, "page")}`

const refuse = (userMessage: string) => Effect.fail(new CliError.UserError({ cause: userMessage, userMessage }))

// ---------------------------------------------------------------------------
// The audit
// ---------------------------------------------------------------------------

/** Runs the thread to its end or to its question, and shows every page. Says whether anything was left to do. */
const run = Effect.fnUntraced(function*({ folder, report, thread }: Settings) {
  const progress = yield* Progress.make
  // `start` begins the work, goes on with it, or does nothing if it is finished. Killed here, the command is just run again.
  const events = audit.thread(thread).events(Command.start({ root: folder, report }), { modes: ["tasks", "updates"] })
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

/** The answer: given with the command, asked on the terminal, or left for another time. */
const answer = Effect.fnUntraced(function*(settings: Settings, { findings, pages, path }: Question) {
  if (settings.isReportNamed && path !== settings.report) {
    return yield* refuse(`This audit was begun to write ${path}. For another report begin anew, with --fresh.`)
  }
  if (Option.isSome(settings.answer)) return settings.answer
  const question = `${counted(findings, pages)}. Write ${path}?`
  const { canPrompt } = yield* TerminalCapabilities.TerminalCapabilities
  if (canPrompt) return Option.some(yield* Prompt.run(Prompt.Confirm({ message: question, initial: false })))
  yield* Console.log(`${question}\nThe audit waits for the answer: run the command again with --yes or --no`)
  return Option.none<boolean>()
})

const work = Effect.fnUntraced(function*(settings: Settings) {
  const thread = audit.thread(settings.thread)
  if (settings.isFresh) yield* thread.delete
  const hadWork = yield* run(settings)
  // Where the thread stands, whoever brought it there: at its end, or at the question.
  const result = yield* Effect.catchTag(
    Effect.asSome(thread.continue()),
    "GraphInterrupt",
    Effect.fnUntraced(function*({ requests }) {
      const given = yield* answer(settings, requests[0]!.payload)
      return Option.isNone(given)
        ? Option.none()
        : Option.some(yield* thread.resume(WriteReport.reply(given.value)))
    })
  )
  if (Option.isNone(result)) return
  const { report, summary, written } = result.value
  yield* Console.log(
    `${counted(summary.findings.length, summary.pages)}. ${written ? `Written to ${report}` : "No report written"}.`
  )
  if (!hadWork) yield* Console.log("That was an earlier run; --fresh begins anew.")
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
    Flag.withDescription("Answer the question: write the report"),
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
    Flag.withDescription("The report to write (default: report.md)"),
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

/** Checks everything before anything is made or changed. */
const settle = Effect.fnUntraced(function*(given: CliCommand.Command.Config.Infer<typeof parameters>) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if (given.yes && given.no) return yield* refuse("--yes and --no exclude each other.")
  const folder = path.resolve(given.folder)
  yield* Effect.catch(files.readDirectory(folder), () => refuse(`${folder} is no folder that can be read.`))
  const report = path.resolve(Option.getOrElse(given.report, () => "report.md"))
  yield* Effect.catch(
    files.access(path.dirname(report), { writable: true }),
    () => refuse(`${path.dirname(report)} is no folder for a report.`)
  )
  const kept = path.resolve(".superstep")
  if (Option.isNone(given.database)) yield* files.makeDirectory(kept, { recursive: true })
  // Readable, short enough for a thread however deep the folder lies, and another one for every folder.
  const digest = createHash("sha256").update(folder).digest("hex").slice(0, 16)
  return {
    folder,
    database: Option.match(given.database, {
      onNone: () => path.join(kept, "audit.sqlite"),
      onSome: (file) => path.resolve(file)
    }),
    thread: Option.getOrElse(given.thread, () => `${path.basename(folder)}-${digest}`),
    report,
    isReportNamed: Option.isSome(given.report),
    isFresh: given.fresh,
    answer: given.yes || given.no ? Option.some(given.yes) : Option.none()
  } satisfies Settings
})

/** Whatever goes wrong, one clear message. Ctrl-C at the question is no error: the audit waits. */
const told = (error: Error) =>
  Terminal.isQuitError(error)
    ? error
    : new CliError.UserError({ cause: error, userMessage: error.message })

/** The command. */
export const command = CliCommand.make("npm start --", parameters, (given) =>
  Effect.gen(function*() {
    const settings = yield* settle(given)
    yield* Effect.provide(work(settings), SqlCheckpointer.layerSqlite({ filename: settings.database }))
  }).pipe(Effect.mapError(told))).pipe(CliCommand.withDescription(
    "Audits every Markdown page below a folder: broken links and anchors, skipped heading levels, code that does not parse. " +
      "The work is kept as it is done: stop it in whatever way, and the same command goes on where it was."
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
