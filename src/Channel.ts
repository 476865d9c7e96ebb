/**
 * Channels hold the state of a graph and own the rule that merges the writes of
 * one superstep.
 *
 * A `Channel<Value, Update>` is a description: a rule from a closed set, the
 * schema of its value and the schema of one write. It stores nothing. What a
 * channel holds between two supersteps is a `Cell`; `update` computes the next
 * cell from the present one and the ordered writes of a superstep, or says why
 * it cannot. `consume` and `finish` are the two other moments of a channel's
 * life: when a node that it woke has run, and when nothing else is left to run.
 *
 * Laws, for every rule and every split of a batch that holds no Overwrite:
 * `update` is a function of (cell, writes) alone, changes neither, returns the
 * same cell by reference if nothing changed; `decode(encode(cell))` is `cell`.
 *
 * @since 0.1.0
 */
import type * as Combiner from "effect/Combiner"
import * as Option from "effect/Option"
import type * as Reducer from "effect/Reducer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import { InvalidUpdate, type InvalidUpdateReason } from "./GraphError.ts"
import { decoding, encoding, keyOf, problemOf } from "./internal/codec.ts"
import { freeze, freezeGiven, seal } from "./internal/freeze.ts"
import { isPromise, promised } from "./internal/promise.ts"
import type { Arrivals, BinaryOperatorAggregate, Cell, Delta, Finishing, Rule, Topic } from "./internal/rule.ts"

const TypeId = "~superstep/Channel"
const OverwriteTypeId = "~superstep/Channel/Overwrite"

/**
 * Whether the input of a first run must carry this key, or the channel starts with a value, or it may be empty.
 *
 * @category models
 * @since 0.1.0
 */
export type Presence = "required" | "initial" | "optional"

/**
 * A schema whose codec needs no services.
 *
 * @category models
 * @since 0.1.0
 */
export type AnySchema = Schema.ConstraintCodec<unknown, unknown> & Schema.Constraint

/**
 * A description of a channel: what is read from it, what is written to it, and how writes merge.
 *
 * @category models
 * @since 0.1.0
 */
export interface Channel<out Value, in Update = Value, out P extends Presence = Presence> {
  readonly [TypeId]: {
    readonly _Value: Types.Covariant<Value>
    readonly _Update: Types.Contravariant<Update>
    readonly _Presence: Types.Covariant<P>
  }
  readonly rule: Rule
  readonly value: AnySchema
  readonly update: AnySchema
}

/**
 * Any channel.
 *
 * @category models
 * @since 0.1.0
 */
// oxlint-disable-next-line typescript/no-explicit-any
export interface Any extends Channel<any, any, Presence> {}

/**
 * What is read from a channel.
 *
 * @category type extractors
 * @since 0.1.0
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type Value<C> = C extends Channel<infer A, any, any> ? A : never

/**
 * What may be written to a channel.
 *
 * @category type extractors
 * @since 0.1.0
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type Update<C> = C extends Channel<any, infer U, any> ? U : never

/**
 * Whether a channel starts with a value.
 *
 * @category type extractors
 * @since 0.1.0
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type PresenceOf<C> = C extends Channel<any, any, infer P> ? P : never

export type {
  AnyValue,
  Arrivals,
  BinaryOperatorAggregate,
  Cell,
  Delta,
  EphemeralValue,
  LastValue,
  LastValueAfterFinish,
  NamedBarrier,
  NamedBarrierAfterFinish,
  Rule,
  Topic,
  UntrackedValue
} from "./internal/rule.ts"

/**
 * Replaces the value of a channel that reduces or accumulates. In a batch it comes first, whatever the order of tasks; two in one superstep conflict.
 *
 * @category models
 * @since 0.1.0
 */
export class Overwrite<out A> {
  readonly _tag = "Overwrite"
  readonly value: A
  constructor(value: A) {
    this.value = value
  }
  get [OverwriteTypeId](): typeof OverwriteTypeId {
    return OverwriteTypeId
  }
}

/**
 * Whether a value is an `Overwrite`. Data from outside never is: it is known by its prototype, whichever copy of the package made it.
 *
 * @category guards
 * @since 0.1.0
 */
export const isOverwrite = (u: unknown): u is Overwrite<unknown> =>
  typeof u === "object" && u !== null && OverwriteTypeId in u && !Object.hasOwn(u, OverwriteTypeId)

/**
 * Replaces the value of a channel that reduces or accumulates.
 *
 * @category constructors
 * @since 0.1.0
 */
export const overwrite = <A>(value: A): Overwrite<A> => new Overwrite(value)

// ---------------------------------------------------------------------------
// Constructors
// ---------------------------------------------------------------------------

const Proto = { [TypeId]: { _Value: undefined, _Update: undefined, _Presence: undefined } }

const make = <Value, Update, P extends Presence>(
  rule: Rule,
  value: AnySchema,
  update: AnySchema = value
): Channel<Value, Update, P> =>
  Object.assign(Object.create(Proto), { rule, value, update }) as Channel<Value, Update, P>

/**
 * Whether a value is a channel.
 *
 * @category guards
 * @since 0.1.0
 */
export const isChannel = (u: unknown): u is Any => typeof u === "object" && u !== null && TypeId in u

/**
 * Keeps the last value. Two writes in one superstep are refused, equal or not. `initial` is pure: it is called for each run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const lastValue: {
  <S extends AnySchema>(value: S): Channel<S["Type"], S["Type"], "required">
  <S extends AnySchema>(
    value: S,
    options: { readonly initial: () => NoInfer<S["Type"]> }
  ): Channel<S["Type"], S["Type"], "initial">
} = (value: AnySchema, options?: { readonly initial: () => unknown }) =>
  make<never, unknown, never>({ _tag: "LastValue", initial: options?.initial }, value)

/**
 * Keeps the last of several equal values, and is empty after a superstep in which nobody wrote it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const anyValue = <S extends AnySchema>(value: S): Channel<S["Type"] | undefined, S["Type"], "optional"> =>
  make({ _tag: "AnyValue" }, value)

/**
 * Holds a value for the one superstep after it was written.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ephemeral = <S extends AnySchema>(
  value: S,
  options?: { readonly guard?: boolean }
): Channel<S["Type"] | undefined, S["Type"], "optional"> =>
  make({ _tag: "EphemeralValue", guard: options?.guard ?? true }, value)

/**
 * Holds a value for this run only: it is never stored, and it is empty after a resume.
 *
 * @category constructors
 * @since 0.1.0
 */
export const untracked = <A>(options?: { readonly guard?: boolean }): Channel<A | undefined, A, "optional"> =>
  make({ _tag: "UntrackedValue", guard: options?.guard ?? true }, Schema.Unknown)

/**
 * Collects what is written: for one superstep, or for good when `accumulate` is set; without repetitions when `unique` is
 * set. A write is one item, or an array of items.
 *
 * @category constructors
 * @since 0.1.0
 */
export const topic: {
  <S extends AnySchema>(
    item: S,
    options: { readonly accumulate: true; readonly unique?: boolean }
  ): Channel<
    ReadonlyArray<S["Type"]>,
    S["Type"] | ReadonlyArray<S["Type"]> | Overwrite<ReadonlyArray<S["Type"]>>,
    "initial"
  >
  <S extends AnySchema>(
    item: S,
    options?: { readonly accumulate?: boolean; readonly unique?: boolean }
  ): Channel<ReadonlyArray<S["Type"]>, S["Type"] | ReadonlyArray<S["Type"]>, "initial">
} = (item: AnySchema, options?: { readonly accumulate?: boolean; readonly unique?: boolean }) => {
  // A write is an item or a list of items: which of the two could not be told.
  if (item.ast._tag === "Arrays") throw new Error("Channel.topic: an item cannot be an array; put it into a struct")
  return make<never, unknown, never>(
    {
      _tag: "Topic",
      accumulate: options?.accumulate ?? false,
      unique: options?.unique ?? false,
      ...(options?.unique === true ? { key: keyOf(item) } : {})
    },
    Schema.Array(item),
    Schema.Union([Schema.Array(item), item])
  )
}

/**
 * Folds every write into the value, in task order. `reduce` is pure and returns a new value; it should be associative in the
 * sense that folding `xs` and then `ys` equals folding `xs ++ ys`, which holds for every left fold. `update` is the schema of
 * one write and defaults to that of the value.
 *
 * @category constructors
 * @since 0.1.0
 */
export const reducer = <V extends AnySchema, U extends AnySchema = V>(options: {
  readonly value: V
  readonly update?: U
  readonly initial: () => NoInfer<V["Type"]>
  readonly reduce: (value: V["Type"], update: U["Type"]) => NoInfer<V["Type"]>
}): Channel<V["Type"], U["Type"] | Overwrite<V["Type"]>, "initial"> =>
  make(
    {
      _tag: "BinaryOperatorAggregate",
      initial: options.initial,
      reduce: options.reduce as (value: unknown, update: unknown) => unknown,
      appends: false
    },
    options.value,
    options.update
  )

/**
 * Folds every write with one of Effect's `Reducer`s, such as `Number.ReducerSum`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const reduced = <S extends AnySchema>(
  value: S,
  reducer: Reducer.Reducer<S["Type"]>
): Channel<S["Type"], S["Type"] | Overwrite<S["Type"]>, "initial"> =>
  make(
    {
      _tag: "BinaryOperatorAggregate",
      initial: () => reducer.initialValue,
      reduce: reducer.combine as (value: unknown, update: unknown) => unknown,
      appends: false
    },
    value
  )

/**
 * Folds every write with one of Effect's `Combiner`s. There is no initial value: the first write is the value, so a first run must bring it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const combined = <S extends AnySchema>(
  value: S,
  combiner: Combiner.Combiner<S["Type"]>
): Channel<S["Type"], S["Type"] | Overwrite<S["Type"]>, "required"> =>
  make(
    {
      _tag: "BinaryOperatorAggregate",
      initial: undefined,
      reduce: combiner.combine as (value: unknown, update: unknown) => unknown,
      appends: false
    },
    value
  )

// One function for every `append`, so that two of them are the same rule.
const concat = (value: unknown, update: unknown): unknown => [
  ...(value as ReadonlyArray<unknown>),
  ...(update as ReadonlyArray<unknown>)
]

/**
 * Appends the written arrays, in task order.
 *
 * @category constructors
 * @since 0.1.0
 */
export const append = <S extends AnySchema>(
  item: S
): Channel<ReadonlyArray<S["Type"]>, ReadonlyArray<S["Type"]> | Overwrite<ReadonlyArray<S["Type"]>>, "initial"> =>
  make(
    {
      _tag: "BinaryOperatorAggregate",
      initial: () => [],
      reduce: concat,
      appends: true
    },
    Schema.Array(item)
  )

/**
 * Default of `snapshotFrequency`, in supersteps with writes.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultSnapshotFrequency = 1000

/**
 * Folds all writes of a superstep at once, and is stored as its writes. `reduce` is pure and batching-invariant:
 * `reduce(reduce(s, xs), ys)` equals `reduce(s, [...xs, ...ys])`, since a value that is read back is rebuilt from stored writes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const delta = <V extends AnySchema, U extends AnySchema = V>(options: {
  readonly value: V
  readonly update?: U
  readonly initial: () => NoInfer<V["Type"]>
  readonly reduce: (value: V["Type"], updates: ReadonlyArray<U["Type"]>) => NoInfer<V["Type"]>
  readonly snapshotFrequency?: number
}): Channel<V["Type"], U["Type"] | Overwrite<V["Type"]>, "initial"> => {
  const snapshotFrequency = options.snapshotFrequency ?? defaultSnapshotFrequency
  if (!Number.isInteger(snapshotFrequency) || snapshotFrequency < 1) {
    throw new Error(`Channel.delta: snapshotFrequency must be a whole number of at least 1, not ${snapshotFrequency}`)
  }
  return make(
    {
      _tag: "Delta",
      initial: options.initial,
      reduce: options.reduce as (value: unknown, updates: ReadonlyArray<unknown>) => unknown,
      snapshotFrequency
    },
    options.value,
    options.update
  )
}

/**
 * Is available once every one of `names` was written, and empty again when the node that it woke has run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const namedBarrier = <const Name extends string>(
  names: ReadonlyArray<Name>,
  options?: { readonly release?: "all" | "idle" }
): Channel<undefined, Name, "optional"> =>
  make(
    { _tag: "NamedBarrier", names: [...new Set(names)], release: options?.release ?? "all" },
    ArrivalsSchema,
    Schema.String
  )

/**
 * A barrier that, once complete, waits until nothing else is left to run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const namedBarrierAfterFinish = <const Name extends string>(
  names: ReadonlyArray<Name>,
  options?: { readonly release?: "all" | "idle" }
): Channel<undefined, Name, "optional"> =>
  make(
    { _tag: "NamedBarrierAfterFinish", names: [...new Set(names)], release: options?.release ?? "all" },
    ArrivalsSchema,
    Schema.String
  )

/**
 * Keeps the last value, and shows it only when nothing else is left to run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const lastValueAfterFinish = <S extends AnySchema>(
  value: S
): Channel<S["Type"] | undefined, S["Type"], "optional"> =>
  make(
    { _tag: "LastValueAfterFinish" },
    Schema.Struct({ value: value, finished: Schema.Boolean }),
    value
  )

const ArrivalsSchema = Schema.Struct({
  seen: Schema.Array(Schema.String),
  released: Schema.Boolean,
  fired: Schema.Boolean
})

// ---------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------

const none: Cell = Option.none()

/**
 * The cell of a channel before any write. An initial value is made anew.
 *
 * @category reading
 * @since 0.1.0
 */
export const empty = (rule: Rule): Cell => {
  switch (rule._tag) {
    case "LastValue":
    case "BinaryOperatorAggregate":
    case "Delta":
      return rule.initial === undefined ? none : Option.some(freezeGiven(rule.initial()))
    case "LastValueAfterFinish":
    case "AnyValue":
    case "EphemeralValue":
    case "UntrackedValue":
    case "Topic":
    case "NamedBarrier":
    case "NamedBarrierAfterFinish":
      return none
  }
}

const isComplete = (names: ReadonlyArray<string>, cell: Cell): boolean =>
  Option.isSome(cell) && (cell.value as Arrivals).seen.length === names.length

/**
 * Whether a cell can be read, and so can wake the nodes that it triggers.
 *
 * @category reading
 * @since 0.1.0
 */
export const isAvailable = (rule: Rule, cell: Cell): boolean => {
  if (Option.isNone(cell)) return false
  switch (rule._tag) {
    case "LastValueAfterFinish":
      return (cell.value as Finishing).finished
    case "NamedBarrier":
      return (cell.value as Arrivals).released || isComplete(rule.names, cell)
    case "NamedBarrierAfterFinish":
      return (cell.value as Arrivals).released && (rule.release === "idle" || isComplete(rule.names, cell))
    default:
      return true
  }
}

/**
 * What a node reads, or nothing if the channel is not available.
 *
 * @category reading
 * @since 0.1.0
 */
export const read = (rule: Rule, cell: Cell): Option.Option<unknown> => {
  if (!isAvailable(rule, cell)) return Option.none()
  switch (rule._tag) {
    case "LastValueAfterFinish":
      return Option.map(cell, (held) => (held as Finishing).value)
    case "NamedBarrier":
    case "NamedBarrierAfterFinish":
      return Option.some(undefined)
    default:
      return cell
  }
}

// ---------------------------------------------------------------------------
// Update
// ---------------------------------------------------------------------------

type Updated = Result.Result<Cell, InvalidUpdate>

const held = (value: unknown): Updated => Result.succeed(Option.some(freeze(value)))

const refusal = (channel: string, reason: InvalidUpdateReason, more?: { detail?: string; cause?: unknown }): Updated =>
  Result.fail(new InvalidUpdate({ channel, reason, writers: [], ...more }))

/**
 * Computes the next cell from the writes of one superstep, in task order. Returns the same cell, by reference, when nothing
 * changed. Called without writes for a channel that nobody wrote in a superstep: some rules then clear themselves.
 *
 * @category updating
 * @since 0.1.0
 * @example
 * ```ts
 * import { Result, Schema } from "effect"
 * import { Channel } from "superstep"
 * const { rule } = Channel.lastValue(Schema.Int, { initial: () => 0 })
 * const refused = Channel.update("total", rule, Channel.empty(rule), [1, 1])
 * console.log(Result.isFailure(refused) && refused.failure.reason) // => "MultipleWrites"
 * ```
 */
export const update = (channel: string, rule: Rule, cell: Cell, writes: ReadonlyArray<unknown>): Updated => {
  switch (rule._tag) {
    case "LastValue":
      return updateSingle(channel, cell, writes, true)
    case "UntrackedValue":
      if (writes.length === 0) return Result.succeed(cell)
      if (rule.guard && writes.length > 1) return refusal(channel, "MultipleWrites")
      if (isOverwrite(writes[writes.length - 1])) return refusal(channel, "OverwriteRefused")
      return Result.succeed(Option.some(writes[writes.length - 1]))
    case "LastValueAfterFinish":
      if (writes.length === 0) return Result.succeed(cell)
      if (writes.some(isOverwrite)) return refusal(channel, "OverwriteRefused")
      return held({ value: writes[writes.length - 1], finished: false })
    case "AnyValue":
      return writes.length === 0 ? clear(cell) : updateSingle(channel, cell, writes, false)
    case "EphemeralValue":
      return writes.length === 0 ? clear(cell) : updateSingle(channel, cell, writes, rule.guard)
    case "Topic":
      return updateTopic(channel, rule, cell, writes)
    case "BinaryOperatorAggregate":
      return updateAggregate(channel, rule, cell, writes)
    case "Delta":
      return updateDelta(channel, rule, cell, writes)
    case "NamedBarrier":
    case "NamedBarrierAfterFinish":
      return updateBarrier(channel, rule.names, cell, writes)
  }
}

const clear = (cell: Cell): Updated => Result.succeed(Option.isNone(cell) ? cell : none)

const updateSingle = (channel: string, cell: Cell, writes: ReadonlyArray<unknown>, guard: boolean): Updated => {
  if (writes.length === 0) return Result.succeed(cell)
  if (guard && writes.length > 1) return refusal(channel, "MultipleWrites")
  const write = writes[writes.length - 1]
  return isOverwrite(write) ? refusal(channel, "OverwriteRefused") : held(write)
}

/** Takes the one Overwrite of a batch out of it: it comes before the other writes, wherever it stood. */
const splitOverwrite = (
  channel: string,
  writes: ReadonlyArray<unknown>
): Result.Result<{ readonly over: Option.Option<unknown>; readonly rest: ReadonlyArray<unknown> }, InvalidUpdate> => {
  const overwrites = writes.filter(isOverwrite)
  if (overwrites.length === 0) return Result.succeed({ over: Option.none(), rest: writes })
  if (overwrites.length > 1) {
    return Result.fail(new InvalidUpdate({ channel, reason: "MultipleOverwrites", writers: [] }))
  }
  return Result.succeed({
    over: Option.some(freeze(overwrites[0]!.value)),
    rest: writes.filter((write) => !isOverwrite(write))
  })
}

const reducing = (channel: string, fold: () => unknown): Updated => {
  try {
    const made = fold()
    if (isPromise(made)) throw promised("it", made, "reducers are pure")
    return held(made)
  } catch (cause) {
    return refusal(channel, "ReducerFailed", { detail: String(cause), cause })
  }
}

const updateAggregate = (
  channel: string,
  rule: BinaryOperatorAggregate,
  cell: Cell,
  writes: ReadonlyArray<unknown>
): Updated => {
  if (writes.length === 0) return Result.succeed(cell)
  return Result.flatMap(splitOverwrite(channel, writes), ({ over, rest }) => {
    const start = Option.isSome(over) ? over : cell
    // One copy for the whole batch, where one per write would make a fan-out quadratic.
    if (rule.appends && Option.isSome(start)) {
      const items = [...start.value as ReadonlyArray<unknown>]
      for (const write of rest as ReadonlyArray<ReadonlyArray<unknown>>) for (const item of write) items.push(item)
      return Result.succeed(Option.some(seal(items, [start.value, ...rest.map(freeze)])))
    }
    return reducing(channel, () => {
      let index = 0
      let value = Option.isSome(start) ? start.value : freeze(rest[index++])
      for (; index < rest.length; index++) value = rule.reduce(value, freeze(rest[index]))
      return value
    })
  })
}

const updateDelta = (channel: string, rule: Delta, cell: Cell, writes: ReadonlyArray<unknown>): Updated => {
  if (writes.length === 0) return Result.succeed(cell)
  return Result.flatMap(splitOverwrite(channel, writes), ({ over, rest }) => {
    const value = Option.isSome(over) ? over.value : Option.getOrElse(cell, rule.initial)
    return rest.length === 0
      ? held(value)
      : reducing(channel, () => rule.reduce(value, Object.freeze(rest.map(freeze))))
  })
}

const same = (item: unknown): unknown => item

const updateTopic = (channel: string, rule: Topic, cell: Cell, writes: ReadonlyArray<unknown>): Updated => {
  if (writes.length === 0) return rule.accumulate ? Result.succeed(cell) : clear(cell)
  return Result.flatMap(splitOverwrite(channel, writes), ({ over, rest }) => {
    if (Option.isSome(over) && !rule.accumulate) return refusal(channel, "OverwriteRefused")
    const kept = Option.isSome(over) ? over.value : rule.accumulate && Option.isSome(cell) ? cell.value : []
    const items = [...(kept as ReadonlyArray<unknown>), ...rest.flat(1)]
    const next = rule.unique ? distinct(items, rule.key ?? same) : items
    if (next.length === 0 && Option.isNone(over)) return clear(cell)
    const isSame = rule.unique && Option.isSome(cell) && Option.isNone(over) && rule.accumulate &&
      (cell.value as ReadonlyArray<unknown>).length === next.length
    return isSame ? Result.succeed(cell) : held(next)
  })
}

const distinct = (items: ReadonlyArray<unknown>, key: (item: unknown) => unknown): ReadonlyArray<unknown> => {
  const seen = new Set<unknown>()
  return items.filter((item) => {
    const size = seen.size
    return seen.add(key(item)).size > size
  })
}

const updateBarrier = (
  channel: string,
  names: ReadonlyArray<string>,
  cell: Cell,
  writes: ReadonlyArray<unknown>
): Updated => {
  if (writes.length === 0) return Result.succeed(cell)
  const before = Option.isSome(cell) ? cell.value as Arrivals : nobody
  const stranger = writes.findIndex((write) => !names.includes(write as string))
  if (stranger >= 0) return refusal(channel, "UnknownName", { detail: String(writes[stranger]) })
  const seen = names.filter((name) => before.seen.includes(name) || writes.includes(name))
  return seen.length === before.seen.length ? Result.succeed(cell) : held({ ...before, seen })
}

const nobody: Arrivals = { seen: [], released: false, fired: false }

// ---------------------------------------------------------------------------
// Consume and finish
// ---------------------------------------------------------------------------

/**
 * The cell after a task that it woke has run. Returns the same cell, by reference, when nothing changed.
 *
 * @category updating
 * @since 0.1.0
 */
export const consume = (rule: Rule, cell: Cell): Cell => {
  if (!isAvailable(rule, cell)) return cell
  switch (rule._tag) {
    case "LastValueAfterFinish":
      return none
    case "NamedBarrier":
    case "NamedBarrierAfterFinish":
      return Option.some(freeze({ seen: [], released: false, fired: true }))
    default:
      return cell
  }
}

/**
 * The cell when nothing is left to run: what waited for that becomes available. Returns the same cell, by reference, when nothing changed.
 * `isLast` says that nothing that waited for the finish is left either, so that a barrier after the finish need not be complete.
 *
 * @category updating
 * @since 0.1.0
 */
export const finish = (rule: Rule, cell: Cell, isLast = false): Cell => {
  if (Option.isNone(cell)) return cell
  switch (rule._tag) {
    case "LastValueAfterFinish": {
      const { finished, value } = cell.value as Finishing
      return finished ? cell : Option.some(freeze({ value, finished: true }))
    }
    case "NamedBarrierAfterFinish": {
      const arrivals = cell.value as Arrivals
      const isEnough = isComplete(rule.names, cell) || (isLast && rule.release === "idle" && arrivals.seen.length > 0)
      return arrivals.released || !isEnough ? cell : Option.some(freeze({ ...arrivals, released: true }))
    }
    case "NamedBarrier": {
      const arrivals = cell.value as Arrivals
      if (rule.release !== "idle" || arrivals.released || arrivals.seen.length === 0) return cell
      return Option.some(freeze({ ...arrivals, released: true }))
    }
    default:
      return cell
  }
}

/**
 * Whether the rule gives up its value after a superstep in which nobody wrote it.
 *
 * @category reading
 * @since 0.1.0
 */
export const isTransient = (rule: Rule): boolean =>
  rule._tag === "EphemeralValue" || rule._tag === "AnyValue" || (rule._tag === "Topic" && !rule.accumulate)

// ---------------------------------------------------------------------------
// Codec
// ---------------------------------------------------------------------------

/**
 * The JSON form of what a cell holds. The error says why the value has none. An empty cell has no form: it is stored by its absence.
 *
 * @category codecs
 * @since 0.1.0
 */
export const encode = (channel: Any, cell: Option.Some<unknown>): Result.Result<Schema.Json, string> =>
  encoding(channel.value, cell.value)

/**
 * The cell whose JSON form this is.
 *
 * @category codecs
 * @since 0.1.0
 */
export const decode = (channel: Any, json: unknown): Result.Result<Cell, string> =>
  Result.map(decoding(channel.value, json), (value) => Option.some(freeze(value)))

/**
 * One write as it is stored: an Overwrite is a kind of row, never a shape of value.
 *
 * @category models
 * @since 0.1.0
 */
export interface EncodedWrite {
  readonly kind: "write" | "overwrite"
  readonly json: Schema.Json
}

/**
 * The stored form of one write.
 *
 * @category codecs
 * @since 0.1.0
 */
export const encodeWrite = (channel: Any, write: unknown): Result.Result<EncodedWrite, string> =>
  isOverwrite(write)
    ? Result.map(encoding(channel.value, write.value), (json): EncodedWrite => ({ kind: "overwrite", json }))
    : Result.map(encoding(channel.update, write), (json): EncodedWrite => ({ kind: "write", json }))

/**
 * The write whose stored form this is.
 *
 * @category codecs
 * @since 0.1.0
 */
export const decodeWrite = (channel: Any, row: EncodedWrite): Result.Result<unknown, string> =>
  row.kind === "overwrite"
    ? Result.map(decoding(channel.value, row.json), (value) => new Overwrite(freeze(value)))
    : Result.map(decoding(channel.update, row.json), freeze)

/**
 * Whether a write fits the channel, and if not, why. An `Overwrite` has to fit the value, any other write the update.
 *
 * @category updating
 * @since 0.1.0
 */
export const validate = (channel: Any, write: unknown): Option.Option<string> => {
  const [schema, value] = isOverwrite(write) ? [channel.value, write.value] : [channel.update, write]
  return problemOf(schema, value)
}
