/** The laws of channels as properties: for every rule, over random writes. */
import { assert, describe, it } from "@effect/vitest"
import { Combiner, Number as Num, Option, Result, Schema, String as Str } from "effect"
import { Channel } from "superstep"
import { runs } from "./budget.ts"

// ---------------------------------------------------------------------------
// Every rule, with what may be written to it
// ---------------------------------------------------------------------------

// JSON has one zero: -0 comes back as 0.
const isPositiveZero = Schema.makeFilter((n: number) => !Object.is(n, -0))
const Int = Schema.Int.check(isPositiveZero)
// A key with a backslash makes V8 13.6 read other keys wrongly: `JSON.parse('{"\\u0000":0,"\\\\":0}')`, then
// `JSON.parse('{"\\u0000":0,"\\u0001":0}')` gives the key "\\" again.
const Key = Schema.String.check(Schema.isPattern(/^[^\\]*$/))
const Item = Schema.Struct({ id: Key, tags: Schema.Array(Int) })
const Words = Schema.Array(Schema.String)
const Counts = Schema.Record(Key, Int)
const names = ["a", "b", "c"] as const

const gathered = Channel.delta({
  value: Words,
  initial: () => [],
  reduce: (state, updates: ReadonlyArray<ReadonlyArray<string>>) => [...state, ...updates.flat()]
})

const merged = Channel.delta({
  value: Counts,
  initial: () => ({}),
  reduce: (state, updates) => Object.fromEntries([state, ...updates].flatMap((one) => Object.entries(one)))
})

interface Case {
  readonly name: string
  readonly channel: Channel.Any
  readonly write: Schema.Schema<unknown>
}

const reducing: ReadonlyArray<Case> = [
  { name: "append", channel: Channel.append(Item), write: Schema.Array(Item) },
  { name: "sum", channel: Channel.reduced(Int, Num.ReducerSum), write: Int },
  { name: "concatenation", channel: Channel.reduced(Schema.String, Str.ReducerConcat), write: Schema.String },
  {
    name: "maximum",
    channel: Channel.combined(Int, Combiner.make((a: number, b) => Math.max(a, b))),
    write: Int
  },
  {
    name: "reducer with an update of its own",
    channel: Channel.reducer({
      value: Counts,
      update: Item,
      initial: () => ({}),
      reduce: (value, { id, tags }) => ({ ...value, [id]: (Object.hasOwn(value, id) ? value[id]! : 0) + tags.length })
    }),
    write: Item
  },
  { name: "delta list", channel: gathered, write: Words },
  { name: "delta record", channel: merged, write: Counts },
  {
    name: "accumulating topic",
    channel: Channel.topic(Schema.String, { accumulate: true }),
    write: Schema.Union([Schema.String, Words])
  },
  {
    name: "unique accumulating topic",
    channel: Channel.topic(Schema.Struct({ n: Schema.Literals([1, 2, 3]) }), { accumulate: true, unique: true }),
    write: Schema.Struct({ n: Schema.Literals([1, 2, 3]) })
  }
]

const batchable: ReadonlyArray<Case> = [
  ...reducing,
  { name: "any value", channel: Channel.anyValue(Item), write: Item },
  { name: "open ephemeral", channel: Channel.ephemeral(Item, { guard: false }), write: Item },
  { name: "open untracked", channel: Channel.untracked({ guard: false }), write: Item },
  { name: "last value after finish", channel: Channel.lastValueAfterFinish(Item), write: Item },
  { name: "barrier", channel: Channel.namedBarrier(names), write: Schema.Literals(names) },
  { name: "idle barrier", channel: Channel.namedBarrier(names, { release: "idle" }), write: Schema.Literals(names) },
  { name: "barrier after finish", channel: Channel.namedBarrierAfterFinish(names), write: Schema.Literals(names) }
]

const every: ReadonlyArray<Case> = [
  ...batchable,
  { name: "last value", channel: Channel.lastValue(Item), write: Item },
  { name: "ephemeral", channel: Channel.ephemeral(Item), write: Item },
  { name: "untracked", channel: Channel.untracked(), write: Item },
  { name: "topic", channel: Channel.topic(Item), write: Item },
  { name: "unique topic", channel: Channel.topic(Int, { unique: true }), write: Schema.Literals([1, 2, 3]) }
]

// ---------------------------------------------------------------------------
// Helpers
// ---------------------------------------------------------------------------

const update = (channel: Channel.Any, cell: Channel.Cell, writes: ReadonlyArray<unknown>) =>
  Channel.update("key", channel.rule, cell, writes)

/** Where a superstep that is refused leaves the cell as it is. */
const step = (channel: Channel.Any, cell: Channel.Cell, writes: ReadonlyArray<unknown>): Channel.Cell =>
  Result.getOrElse(update(channel, cell, writes), () => cell)

const after = (channel: Channel.Any, batches: ReadonlyArray<ReadonlyArray<unknown>>): Channel.Cell =>
  batches.reduce<Channel.Cell>((cell, writes) => step(channel, cell, writes), Channel.empty(channel.rule))

const Batches = (write: Schema.Schema<unknown>) =>
  Schema.Array(Schema.Array(write)) as Schema.Schema<ReadonlyArray<ReadonlyArray<unknown>>>
const NonEmpty = (write: Schema.Schema<unknown>) => Schema.NonEmptyArray(write) as Schema.Schema<ReadonlyArray<unknown>>
const copy = <A>(value: A): A => structuredClone(value)

describe("Law6 a batch may be split: both halves one after the other give what the whole gives", () => {
  for (const { channel, name, write } of batchable) {
    it.prop(`Law6 ${name}`, [Batches(write), NonEmpty(write), NonEmpty(write)], ([before, xs, ys]) => {
      const cell = after(channel, before)
      assert.deepStrictEqual(step(channel, step(channel, cell, xs), ys), step(channel, cell, [...xs, ...ys]))
    }, runs(40))
  }
})

describe("Law5 an Overwrite comes first in its batch, wherever it stands", () => {
  for (const { channel, name, write } of reducing) {
    it.prop(
      `Law5 ${name}`,
      [Batches(write), Batches(write), Schema.Array(write) as Schema.Schema<ReadonlyArray<unknown>>, Int],
      ([before, other, writes, at]) => {
        const cell = after(channel, before)
        const value = after(channel, other)
        if (Option.isNone(value)) return
        const index = Math.abs(at) % (writes.length + 1)
        const batch = [...writes.slice(0, index), Channel.overwrite(value.value), ...writes.slice(index)]
        assert.deepStrictEqual(step(channel, cell, batch), step(channel, value, writes))
        const twice = update(channel, cell, [...batch, Channel.overwrite(value.value)])
        assert.strictEqual(Result.getOrThrow(Result.flip(twice)).reason, "MultipleOverwrites")
      },
      runs(30)
    )
  }
})

describe("Law1 update is pure: the same arguments give the same result, and neither argument changes", () => {
  for (const { channel, name, write } of every) {
    it.prop(`Law1 ${name}`, [Batches(write), Schema.Array(write)], ([before, writes]) => {
      const cell = after(channel, before)
      const [oldCell, oldWrites] = [copy(cell), copy(writes)]
      const [first, second] = [update(channel, cell, writes), update(channel, cell, writes)]
      assert.deepStrictEqual(first, second)
      assert.deepStrictEqual(copy(cell), oldCell)
      assert.deepStrictEqual(copy(writes), oldWrites)
      assert.isFalse(Object.isFrozen(writes) && writes.length > 0)
    }, runs(30))
  }
})

describe("Law1 the same cell by reference says that nothing changed", () => {
  for (const { channel, name, write } of every) {
    it.prop(`Law1 ${name}: what can no longer change gives the same reference`, [Batches(write)], ([batches]) => {
      const { rule } = channel
      const cell = after(channel, batches)
      const cleared = step(channel, cell, [])
      assert.strictEqual(step(channel, cleared, []), cleared)
      if (!Channel.isTransient(rule)) assert.strictEqual(cleared, cell)
      else assert.isTrue(Option.isNone(cleared))
      const finished = Channel.finish(rule, cell)
      assert.strictEqual(Channel.finish(rule, finished), finished)
      const consumed = Channel.consume(rule, finished)
      assert.strictEqual(Channel.consume(rule, consumed), consumed)
      // What a task consumed is not there for the next one, where the rule consumes at all.
      assert.isTrue(consumed === finished || !Channel.isAvailable(rule, consumed))
    }, runs(20))

    it.prop(`Law1 ${name}: what is not available reads as nothing`, [Batches(write)], ([batches]) => {
      const { rule } = channel
      for (const cell of [after(channel, batches), Channel.finish(rule, after(channel, batches))]) {
        assert.strictEqual(Option.isSome(Channel.read(rule, cell)), Channel.isAvailable(rule, cell))
      }
    }, runs(20))
  }
})

describe("Law17 decoding what was encoded gives it back", () => {
  for (const { channel, name, write } of every.filter(({ channel }) => channel.rule._tag !== "UntrackedValue")) {
    it.prop(`Law17 ${name}: cells and writes`, [Batches(write), write], ([batches, one]) => {
      const cell = after(channel, batches)
      if (Option.isSome(cell)) {
        const json = JSON.stringify(Result.getOrThrow(Channel.encode(channel, cell)))
        assert.deepStrictEqual(Result.getOrThrow(Channel.decode(channel, JSON.parse(json))), cell)
      }
      assert.deepStrictEqual(Channel.validate(channel, one), Option.none())
      const row = JSON.parse(
        JSON.stringify(Result.getOrThrow(Channel.encodeWrite(channel, one)))
      ) as Channel.EncodedWrite
      assert.deepStrictEqual(Result.getOrThrow(Channel.decodeWrite(channel, row)), one)
    }, runs(20))
  }

  for (const { channel, name, write } of reducing) {
    it.prop(`Law17 ${name}: Overwrites`, [Batches(write)], ([batches]) => {
      const cell = after(channel, batches)
      if (Option.isNone(cell)) return
      const over = Channel.overwrite(cell.value)
      assert.deepStrictEqual(Channel.validate(channel, over), Option.none())
      const row = JSON.parse(
        JSON.stringify(Result.getOrThrow(Channel.encodeWrite(channel, over)))
      ) as Channel.EncodedWrite
      assert.strictEqual(row.kind, "overwrite")
      assert.deepStrictEqual(Result.getOrThrow(Channel.decodeWrite(channel, row)), over)
    }, runs(20))
  }

  const schemas: ReadonlyArray<readonly [string, Channel.AnySchema]> = [
    ["text", Schema.String],
    ["finite numbers", Schema.Finite.check(isPositiveZero)],
    ["whole numbers", Int],
    ["truth values", Schema.Boolean],
    ["null", Schema.NullOr(Schema.String)],
    ["big integers", Schema.BigInt],
    ["dates", Schema.Date],
    ["bytes", Schema.Uint8Array],
    ["maps", Schema.ReadonlyMap(Schema.String, Schema.Date)],
    ["options", Schema.Option(Int)],
    ["records", Schema.Record(Key, Schema.Array(Schema.String))],
    ["JSON", Schema.Record(Key, Schema.Union([Schema.String, Schema.Null, Schema.Array(Schema.Boolean)]))],
    ["unions", Schema.Union([Int, Schema.Struct({ tag: Schema.Literal("x"), at: Schema.Date })])],
    [
      "optional keys",
      Schema.Struct({ a: Schema.optionalKey(Int), b: Schema.NullOr(Schema.Struct({ c: Schema.String })) })
    ]
  ]
  for (const [name, schema] of schemas) {
    it.prop(`Law17 values of ${name}`, [schema as unknown as Schema.Schema<unknown>], ([value]) => {
      const channel = Channel.lastValue(schema)
      const cell = Result.getOrThrow(update(channel, Option.none(), [value])) as Option.Some<unknown>
      const json = JSON.stringify(Result.getOrThrow(Channel.encode(channel, cell)))
      assert.deepStrictEqual(Result.getOrThrow(Channel.decode(channel, JSON.parse(json))), cell)
    }, runs(30))
  }
})

describe("Law6 a value that is rebuilt from stored batches is the live value after every superstep", () => {
  for (const { channel, name, write } of reducing) {
    it.prop(`Law6 ${name}`, [Batches(write), Int], ([batches, at]) => {
      const keyframe = Math.abs(at) % (batches.length + 1)
      let live = Channel.empty(channel.rule)
      let rebuilt = live
      for (const [index, batch] of batches.entries()) {
        if (index === keyframe && Option.isSome(live)) {
          const json = JSON.stringify(Result.getOrThrow(Channel.encode(channel, live)))
          rebuilt = Result.getOrThrow(Channel.decode(channel, JSON.parse(json)))
        }
        const stored = batch.map((one) => JSON.stringify(Result.getOrThrow(Channel.encodeWrite(channel, one))))
        live = step(channel, live, batch)
        rebuilt = step(
          channel,
          rebuilt,
          stored.map((row) => Result.getOrThrow(Channel.decodeWrite(channel, JSON.parse(row) as Channel.EncodedWrite)))
        )
        assert.deepStrictEqual(rebuilt, live)
      }
    }, runs(30))
  }
})
