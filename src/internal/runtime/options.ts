/**
 * Where what callers say comes in. It is read and checked here, once, before
 * anything runs or is stored: from here on options are what their types say.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { InvalidArgument } from "../../GraphError.ts"
import type { Migration } from "../../Migration.ts"
import * as Policy from "../../Policy.ts"
import type { GraphOptions } from "../engine/assemble.ts"
import type { Limits, Program } from "../engine/program.ts"
import { listOf } from "../list.ts"
import { quoted } from "../say.ts"
import type { Sink } from "./events.ts"
import { isKey, keyShape } from "./keys.ts"
import type { RootOptions } from "./root.ts"
import type { Erased } from "./task.ts"
import type { ThreadOptions } from "./thread.ts"
import type { Otherwise } from "./wire.ts"

/** Supersteps that a run may take, unless it is told otherwise. */
export const defaultRecursionLimit = 1000

/** The longest text of what came, in an error. */
const maxDetailLength = 500

// ---------------------------------------------------------------------------
// What can be said
// ---------------------------------------------------------------------------

/** An option, by what is allowed. */
const optional = <A>(expected: string, is: (u: unknown) => boolean) =>
  Schema.optional(Schema.declare((u): u is A => is(u), { expected }))

const oneOf = <const A extends ReadonlyArray<string>>(...values: A) =>
  optional<A[number]>(values.map(quoted).join(" or "), (u) => (values as ReadonlyArray<unknown>).includes(u))

const whole = (least: number) =>
  optional<number>(`a whole number of at least ${least}`, (u) => Number.isInteger(u) && u as number >= least)

const integer = optional<number>("a whole number", Number.isInteger)
const text = optional<string>("a text", (u) => typeof u === "string")
const flag = optional<boolean>("true or false", (u) => typeof u === "boolean")
const texts = Schema.optional(Schema.Array(Schema.String))
const record = optional<Readonly<Record<string, Schema.Json>>>(
  "a record of JSON values",
  (u) => typeof u === "object" && u !== null && !Array.isArray(u) && Schema.is(Schema.Json)(u)
)

const isDuration = (u: unknown): boolean =>
  Option.exists(Duration.fromInput(u as Duration.Input), (duration) => Duration.toMillis(duration) > 0)

const duration = optional<Duration.Input>("a duration longer than 0 ms", isDuration)

const limits = {
  recursionLimit: whole(1),
  concurrency: whole(1),
  onFailure: oneOf("interrupt", "settle"),
  superstepTimeout: duration,
  runTimeout: duration,
  before: texts,
  after: texts
}

const isRetry = (u: unknown): boolean =>
  Array.isArray(u)
    ? u.every(isRetry)
    : typeof u === "object" && u !== null && "schedule" in u && "while" in u && typeof u.while === "function"

const isMigrations = (u: unknown): boolean =>
  Array.isArray(u) &&
  u.every((one: unknown) => typeof one === "object" && one !== null && "_tag" in one && typeof one._tag === "string")

const definition = Schema.Struct({
  ...limits,
  version: text,
  migrations: optional<ReadonlyArray<Migration>>("a list of what Migration.* makes", isMigrations),
  persistence: oneOf("call", "thread", "none"),
  retry: optional<Policy.Retry | ReadonlyArray<Policy.Retry>>("what Policy.retry makes, or a list of it", isRetry),
  timeout: Schema.optional(Schema.Unknown)
})

/** What a run without a thread may be told. */
export const runOptions = Schema.Struct({ ...limits, seed: text, metadata: record })

const threadRun = {
  ...limits,
  durability: oneOf("sync", "async", "exit"),
  metadata: record,
  checkpoint: text
}
const path = texts
const pending = oneOf("fail", "discard")

/** What every run of a thread may be told. */
export type RunSaid = Schema.Struct.Type<typeof threadRun>

export const invokeOptions = Schema.Struct({ ...threadRun, pending })
const key = optional<string>(keyShape, isKey)

export const startOptions = Schema.Struct({ ...threadRun, key })
export const resumeOptions = Schema.Struct({
  ...threadRun,
  update: Schema.optional(Schema.Unknown),
  goto: Schema.optional(Schema.Unknown)
})
// A path alone says nothing: a graph inside a task is gone back to by one of its checkpoints.
const atCheckpoint = Schema.makeFilter<{ readonly checkpoint?: unknown; readonly path?: unknown }>(
  ({ checkpoint, path }) => checkpoint !== undefined || !Array.isArray(path) || path.length === 0,
  { expected: "a checkpoint beside the path" }
)
export const continueOptions = Schema.Struct({ ...threadRun, path }).check(atCheckpoint)

const modes = ["values", "updates", "custom", "tasks", "checkpoints", "debug", "lifecycle"] as const
const streamed = {
  modes: Schema.Array(Schema.Literals(modes)),
  subgraphs: flag
}
export const runStreamOptions = Schema.Struct({ ...limits, seed: text, metadata: record, ...streamed })
export const threadStreamOptions = Schema.Struct({ ...threadRun, pending, ...streamed })

export const journalOptions = Schema.Struct({ capacity: whole(1), overflow: oneOf("suspend", "dropOldest") })
export const readOptions = Schema.Struct({ after: whole(0) })
export const writeOptions = Schema.Struct({
  otherwise: optional<Otherwise>("a function", (u) => typeof u === "function")
})
export const storedOptions = Schema.Struct({ after: text })
export const concurrencyOptions = Schema.Struct({
  concurrency: optional<number | "unbounded">(
    "a whole number of at least 1, or \"unbounded\"",
    (u) => u === "unbounded" || (Number.isInteger(u) && (u as number) >= 1)
  )
})
/** What a call of a graph inside a node may be told. */
export const keyOptions = Schema.Struct({ key })
export const checkpointOptions = Schema.Struct({ checkpoint: text })
export const diffOptions = Schema.Struct({ from: Schema.String, to: text })
export const pathOptions = Schema.Struct({ path })
export const forkOptions = Schema.Struct({ checkpoint: text, path }).check(atCheckpoint)
export const updateOptions = Schema.Struct({ asNode: text, checkpoint: text })
export const updatesOptions = Schema.Struct({
  supersteps: Schema.NonEmptyArray(
    Schema.NonEmptyArray(Schema.Struct({ values: Schema.optional(Schema.Unknown), asNode: text }))
  )
})
export const historyOptions = Schema.Struct({
  before: text,
  limit: whole(0),
  source: oneOf("input", "loop", "update", "fork"),
  step: integer,
  branch: integer,
  metadata: record
})
export const copyOptions = Schema.Struct({ to: Schema.String })
export const pruneOptions = Schema.Struct({
  last: whole(0),
  since: Schema.optional(Schema.DateTimeUtc),
  checkpoints: Schema.optional(Schema.Array(Schema.String))
})
export const listOptions = Schema.Struct({ after: text, limit: whole(0), metadata: record })
export const atOptions = Schema.Struct({
  path: Schema.Array(Schema.String),
  called: optional<{ readonly "~program": Program }>(
    "a graph",
    (u) => (typeof u === "function" || (typeof u === "object" && u !== null)) && "~program" in u
  )
})

// ---------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------

const issuesOf: SchemaIssue.Formatter<{
  readonly issues: ReadonlyArray<{ readonly message: string; readonly path?: ReadonlyArray<unknown> | undefined }>
}> = SchemaIssue.makeFormatterStandardSchemaV1()

const place = (path: ReadonlyArray<unknown>): string =>
  path.map((key, index) => typeof key === "number" ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`).join(
    ""
  )

const invalid = (argument: string, detail: string): InvalidArgument =>
  new InvalidArgument({
    argument,
    detail: detail.length > maxDetailLength ? `${detail.slice(0, maxDetailLength)}…` : detail
  })

/** What a call was told, or what is wrong with it. */
export type Told<A> = Result.Result<A, InvalidArgument>

/** What reading a value came to: its getters, and the traps of a proxy, run here and nowhere else. */
const reading = <A>(argument: string, read: () => Told<A>): Told<A> => {
  try {
    return read()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : quoted(cause)
    return Result.fail(invalid(argument, `it cannot be read: ${why}`))
  }
}

/** What is stored of it has to become text: it may be too deep for that. */
const storable = <A>(said: A): A => {
  if (typeof said === "object" && said !== null && "metadata" in said) JSON.stringify(said.metadata)
  return said
}

/** What a call was told, as a plain record of what it may be told. */
export const told = <S extends Schema.Decoder<unknown>>(schema: S, given: unknown): Told<S["Type"]> =>
  reading("options", () => {
    const exit = Schema.decodeUnknownExit(schema, { reportInput: true })(given === undefined ? {} : given)
    if (Exit.isSuccess(exit)) return Result.succeed(storable(exit.value))
    const error = Cause.squash(exit.cause)
    if (!Schema.isSchemaError(error)) throw error
    const { message, path = [] } = issuesOf(error.issue).issues[0]!
    return Result.fail(invalid(path.length === 0 ? "options" : place(path), message))
  })

/** Reads what the engine will read, to some depth: what cannot be read is told before anything runs. */
const probe = (value: unknown, depth: number): void => {
  if (typeof value !== "object" || value === null) return
  Object.getPrototypeOf(value)
  Object.hasOwn(value, "")
  Reflect.has(value, "")
  if (depth === 0 || ArrayBuffer.isView(value)) return
  const parts: Iterable<unknown> = Array.isArray(value) ? value : Object.values(value)
  for (const part of parts) probe(part, depth - 1)
}

/** How deep the engine reads into what it was given: a list, of Commands, of records, of values. */
const probeDepth = 5

/** The effects that are to be run at once: those that were looked at, whatever becomes of the list. */
export const effectsOf = (given: unknown): Told<ReadonlyArray<Erased<unknown>>> =>
  reading("effects", () => {
    if (!Array.isArray(given)) {
      return Result.fail(invalid("effects", `Expected a list of effects, got ${quoted(given)}`))
    }
    const list: ReadonlyArray<unknown> = Array.from<unknown>(given)
    const wrong = list.findIndex((one) => !Effect.isEffect(one))
    return wrong === -1
      ? Result.succeed(list as ReadonlyArray<Erased<unknown>>)
      : Result.fail(invalid(`effects[${wrong}]`, `Expected an effect, got ${quoted(list[wrong])}`))
  })

/** Passes on what a graph is to take in, if it can be read. What it says is for the engine to judge. */
export const readable = <A>(argument: string, value: A): Told<A> =>
  reading(argument, () => {
    probe(value, probeDepth)
    return Result.succeed(value)
  })

/** A call, once what it was told is read and right: before that nothing runs. */
export const telling = <A>(read: () => Told<A>, call: (said: A) => Erased<unknown>): Erased<unknown> =>
  Effect.suspend(() => {
    const said = read()
    return Result.isFailure(said) ? Effect.fail(said.failure) : call(said.success)
  })

// ---------------------------------------------------------------------------
// What it means
// ---------------------------------------------------------------------------

type GivenLimits = Omit<(typeof runOptions)["Type"], "seed">

const millis = (input: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(input))

/** The limits that were given; the others are left out. */
const givenLimits = (given: GivenLimits): Partial<Limits> => ({
  ...(given.recursionLimit === undefined ? {} : { recursionLimit: given.recursionLimit }),
  ...(given.concurrency === undefined ? {} : { concurrency: given.concurrency }),
  ...(given.onFailure === undefined ? {} : { onFailure: given.onFailure }),
  ...(given.superstepTimeout === undefined ? {} : { superstepMillis: millis(given.superstepTimeout) }),
  ...(given.runTimeout === undefined ? {} : { runMillis: millis(given.runTimeout) }),
  ...(given.before === undefined ? {} : { before: given.before }),
  ...(given.after === undefined ? {} : { after: given.after })
})

/** What a graph was told, with defaults. Throws what is wrong with it. */
export const graphOptions = (given: unknown): GraphOptions => {
  const said = Result.getOrThrowWith(told(definition, given), ({ message }) => new Error(message))
  return {
    version: said.version,
    migrations: said.migrations ?? [],
    persistence: said.persistence ?? "call",
    limits: {
      recursionLimit: defaultRecursionLimit,
      concurrency: undefined,
      superstepMillis: undefined,
      runMillis: undefined,
      onFailure: "interrupt",
      before: [],
      after: [],
      ...givenLimits(said)
    },
    retry: listOf<Policy.Retry>(said.retry),
    timeout: said.timeout === undefined ? undefined : Policy.timeout(said.timeout as Policy.TimeoutInput)
  }
}

/** What a run was told. */
export const rootOptions = (said: (typeof runOptions)["Type"], sink: Sink | undefined): RootOptions => ({
  overrides: givenLimits(said),
  sink,
  seed: said.seed,
  // A copy, whatever its caller does meanwhile: it may be stored with every checkpoint of the run.
  metadata: JSON.parse(JSON.stringify(said.metadata ?? {})) as RootOptions["metadata"]
})

/** What a run of a thread was told. */
export const threadOptions = (
  said: RunSaid,
  sink: Sink | undefined
): ThreadOptions => ({
  ...rootOptions(said, sink),
  durability: said.durability ?? "sync",
  from: said.checkpoint
})
