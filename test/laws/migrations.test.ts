/**
 * Wherever a version of a graph has left a thread, the next one ends it as the first would have: with keys renamed and
 * dropped, values converted, and reducers stored in another way.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import { Channel, Checkpointer, END, Migration, Send, State, StateGraph } from "superstep"
import { runs } from "./budget.ts"

const kinds = ["last", "sum", "append", "delta", "topic"] as const
type Kind = typeof kinds[number]

/** What becomes of a key in the next version. */
const fates = ["same", "renamed", "dropped", "converted", "restored", "accepted"] as const
type Fate = typeof fates[number]

interface Key {
  readonly kind: Kind
  readonly fate: Fate
}

interface Shape {
  readonly keys: ReadonlyArray<Key>
  /** Supersteps of the whole run, and after how many it is stopped. */
  readonly steps: number
  readonly stopped: number
  /** How many Sends are started with each superstep. */
  readonly sends: number
  readonly fails: boolean
  readonly durability: "sync" | "async" | "exit"
}

const key: fc.Arbitrary<Key> = fc.record({
  kind: fc.constantFrom(...kinds),
  fate: fc.constantFrom(...fates)
})
const shapes: fc.Arbitrary<Shape> = fc.record({
  keys: fc.array(key, { minLength: 1, maxLength: 5 }),
  steps: fc.integer({ min: 1, max: 14 }),
  stopped: fc.integer({ min: 1, max: 14 }),
  sends: fc.nat(3),
  fails: fc.boolean(),
  durability: fc.constantFrom("sync", "async", "exit")
})

const list = Schema.Array(Schema.Int)
const wrapped = <S extends Channel.AnySchema>(schema: S) => Schema.Struct({ was: schema })

/** Holds what `Schema.Int` holds, and more. */
const Loose = Schema.Union([Schema.Int, Schema.Struct({ never: Schema.String })])

/** A channel as the first version has it: with values that are wrapped in the next, with another rule of the same meaning, with a schema that has more. */
interface Channels {
  readonly was: Channel.Any
  readonly is: Channel.Any
  readonly other: Channel.Any
  readonly loose: Channel.Any
}

const channelOf = (kind: Kind): Channels => {
  switch (kind) {
    case "last": {
      const was = Channel.lastValue(Schema.Int, { initial: () => 0 })
      const is = Channel.lastValue(wrapped(Schema.Int), { initial: () => ({ was: 0 }) })
      return { was, is, other: was, loose: Channel.lastValue(Loose, { initial: () => 0 }) }
    }
    case "sum": {
      const was = Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: (a, b) => a + b })
      const loose = Channel.reducer({ value: Loose, initial: () => 0, reduce: (a, b) => Number(a) + Number(b) })
      const is = Channel.reducer({
        value: wrapped(Schema.Int),
        initial: () => ({ was: 0 }),
        reduce: (a, b) => ({ was: a.was + b.was })
      })
      return { was, is, other: was, loose }
    }
    case "append":
    case "delta": {
      const append = Channel.append(Schema.Int)
      const delta = Channel.delta({
        value: list,
        initial: () => [],
        reduce: (state: ReadonlyArray<number>, updates: ReadonlyArray<ReadonlyArray<number>>) => [
          ...state,
          ...updates.flat()
        ],
        snapshotFrequency: 3
      })
      const is = Channel.reducer({
        value: wrapped(list),
        initial: () => ({ was: [] as ReadonlyArray<number> }),
        reduce: (a, b) => ({ was: [...a.was, ...b.was] })
      })
      const loose = Channel.append(Loose)
      return kind === "append"
        ? { was: append, is, other: delta, loose }
        : { was: delta, is, other: append, loose }
    }
    case "topic": {
      const was = Channel.topic(Schema.Int, { accumulate: true })
      return {
        was,
        is: Channel.topic(wrapped(Schema.Int), { accumulate: true }),
        other: was,
        loose: Channel.topic(Loose, { accumulate: true })
      }
    }
  }
}

const isList = (kind: Kind): boolean => kind === "append" || kind === "delta"

/** What a node writes to a key of the first version. */
const updateOf = (kind: Kind, n: number): unknown => isList(kind) ? [n, n + 1] : n

const wrap = (was: unknown) => ({ was })
const valueNow = (kind: Kind, value: unknown): unknown =>
  kind === "topic" ? (value as ReadonlyArray<unknown> | undefined)?.map(wrap) : wrap(value)

interface Version {
  readonly channels: Readonly<Record<string, Channel.Any>>
  readonly write: (n: number, only?: number) => Readonly<Record<string, unknown>>
  readonly migrations: ReadonlyArray<Migration.Migration>
}

const first = ({ keys }: Shape): Version => ({
  channels: Object.fromEntries(keys.map(({ kind }, index) => [`k${index}`, channelOf(kind).was])),
  write: (n, only) =>
    Object.fromEntries(
      keys.flatMap(({ kind }, index) =>
        only !== undefined && (only !== index || kind === "last") ? [] : [[`k${index}`, updateOf(kind, n + index)]]
      )
    ),
  migrations: []
})

const nameNow = ({ fate }: Key, index: number): string => fate === "renamed" ? `new${index}` : `k${index}`

const next = ({ keys }: Shape): Version => ({
  channels: Object.fromEntries(keys.flatMap((one, index) => {
    const { is, loose, other, was } = channelOf(one.kind)
    const channels = { same: was, renamed: was, converted: is, restored: other, accepted: loose }
    return one.fate === "dropped" ? [] : [[nameNow(one, index), channels[one.fate]]]
  })),
  write: (n, only) =>
    Object.fromEntries(keys.flatMap((one, index) => {
      if (one.fate === "dropped" || (only !== undefined && (only !== index || one.kind === "last"))) return []
      const update = updateOf(one.kind, n + index)
      return [[nameNow(one, index), one.fate === "converted" ? wrap(update) : update]]
    })),
  migrations: keys.flatMap((one, index) => {
    switch (one.fate) {
      case "renamed":
        return [Migration.rename(`k${index}`, `new${index}`)]
      case "dropped":
        return [Migration.drop(`k${index}`)]
      case "converted":
        return [Migration.convert(`k${index}`, {
          from: channelOf(one.kind).was,
          value: (value) => valueNow(one.kind, value),
          write: wrap
        })]
      case "accepted":
        return [Migration.accept(`k${index}`, { from: channelOf(one.kind).was })]
      default:
        return []
    }
  })
})

/** What the first version would show, as the next one names it. */
const shownNow = ({ keys }: Shape, values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    keys.flatMap((one, index) => {
      const value = values[`k${index}`]
      if (one.fate === "dropped" || value === undefined) return []
      return [[nameNow(one, index), one.fate === "converted" ? valueNow(one.kind, value) : value]]
    })
  )

/** A loop whose supersteps start Sends of the whole state beside it. `count` is no key that changes. */
const graphOf = (shape: Shape, { channels, migrations, write }: Version, isDown: () => boolean) => {
  const state = State.make({ ...channels, count: Channel.lastValue(Schema.Int, { initial: () => 0 }) })
  type Values = { readonly count: number }
  const bodies = {
    loop: ({ count }: Values) => ({ ...write(count * 10), count: count + 1 }),
    side: ({ count }: Values) =>
      isDown() ? Effect.die(new Error("down")) : Effect.succeed(write(count, count % shape.keys.length))
  }
  const route = StateGraph.route(["loop", "side"], (values: Values) =>
    values.count >= shape.steps
      ? []
      : [
        "loop",
        ...Array.from({ length: shape.sends }, (_, n) => Send.make("side", { ...values, count: values.count + n }))
      ])
  return StateGraph.make(
    "versions",
    { state, bodies } as never,
    { start: "loop", edges: { loop: route, side: END } } as never,
    { migrations, onFailure: "settle" }
  ) as unknown as StateGraph.StateGraph<State.State<State.Fields, string, string>, Values, never, never, never>
}

const check = (shape: Shape) =>
  Effect.gen(function*() {
    const up = () => false
    const whole = graphOf(shape, first(shape), up)
    const expected = yield* whole.thread("whole").invoke(first(shape).write(3) as never)
    let count = 0
    const isDown = () => shape.fails && ++count > shape.sends * shape.stopped
    const stopping = graphOf(shape, first(shape), isDown).thread("t")
    yield* Effect.exit(
      stopping.invoke(first(shape).write(3) as never, { durability: shape.durability, recursionLimit: shape.stopped })
    )
    const later = graphOf(shape, next(shape), up).thread("t")
    const before = yield* stopping.state()
    const shown = yield* later.state()
    const own = { count: before.values["count" as never] }
    assert.deepStrictEqual(shown.values as unknown, { ...shownNow(shape, before.values as never), ...own })
    assert.deepStrictEqual(shown.next, before.next)
    const end = yield* later.continue({ durability: shape.durability })
    const now = { ...shownNow(shape, expected as never), count: expected["count" as never] }
    assert.deepStrictEqual(end as unknown, now)
    // Once more, from what the next version has stored, and from all that the first one has.
    assert.deepStrictEqual((yield* later.state()).values as unknown, now)
    const old = (yield* later.history()).filter(({ next }) => next.length > 0)
    for (const { checkpoint } of old.slice(-2)) {
      assert.deepStrictEqual((yield* later.continue({ checkpoint })) as unknown, now)
    }
  }).pipe(Effect.provide(Checkpointer.layerMemory))

const budget = runs(60)

it(
  "Law18 a thread that another version has begun ends as that one would have ended it",
  () =>
    fc.assert(fc.asyncProperty(shapes, (shape) => Effect.runPromise(check(shape))), {
      numRuns: budget.arbitrary.runs
    }),
  budget.timeout * 2
)
