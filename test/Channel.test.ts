/** Channels alone: every rule and every operation on it, without a graph. */
import { assert, describe, it } from "@effect/vitest"
import { Combiner, Effect, Number as Num, Option, Reducer, Result, Schema, String as Str } from "effect"
import { Channel, Command, State, StateGraph } from "superstep"
import { behaves } from "./behaviour/Savers.ts"

// ---------------------------------------------------------------------------
// Helpers
// ---------------------------------------------------------------------------

const none: Channel.Cell = Option.none()
const emptyOf = (channel: Channel.Any): Channel.Cell => Channel.empty(channel.rule)

const updated = (channel: Channel.Any, cell: Channel.Cell, writes: ReadonlyArray<unknown>) =>
  Channel.update("key", channel.rule, cell, writes)

/** The cell after batches of writes, one per superstep. */
const after = (channel: Channel.Any, ...batches: ReadonlyArray<ReadonlyArray<unknown>>): Channel.Cell =>
  batches.reduce<Channel.Cell>((cell, writes) => Result.getOrThrow(updated(channel, cell, writes)), emptyOf(channel))

/** What is read after batches of writes, one per superstep; `undefined` if nothing is. */
const readAfter = (channel: Channel.Any, ...batches: ReadonlyArray<ReadonlyArray<unknown>>): unknown =>
  Option.getOrUndefined(Channel.read(channel.rule, after(channel, ...batches)))

const refused = (channel: Channel.Any, cell: Channel.Cell, writes: ReadonlyArray<unknown>) => {
  const error = Result.getOrThrow(Result.flip(updated(channel, cell, writes)))
  assert.strictEqual(error._tag, "InvalidUpdate")
  assert.strictEqual(error.channel, "key")
  return error
}

const encoded = (channel: Channel.Any, cell: Channel.Cell): Schema.Json => {
  assert.isTrue(Option.isSome(cell))
  return Result.getOrThrow(Channel.encode(channel, cell as Option.Some<unknown>))
}

const roundTrip = (channel: Channel.Any, cell: Channel.Cell): Channel.Cell =>
  Result.getOrThrow(Channel.decode(channel, JSON.parse(JSON.stringify(encoded(channel, cell)))))

// oxlint-disable-next-line typescript/no-explicit-any
const untyped = (value: unknown): any => value

const sum = Channel.reduced(Schema.Int, Num.ReducerSum)
const words = Channel.append(Schema.String)
const gathered = Channel.delta({
  value: Schema.Array(Schema.String),
  initial: () => [],
  reduce: (state, updates: ReadonlyArray<ReadonlyArray<string>>) => [...state, ...updates.flat()]
})
const lasting = Channel.topic(Schema.String, { accumulate: true })
const passing = Channel.topic(Schema.String)

// ---------------------------------------------------------------------------
// One value
// ---------------------------------------------------------------------------

describe("last value", () => {
  const channel = Channel.lastValue(Schema.Int)

  it("LG#1 is empty at first, refuses two values, keeps the last, and comes back from storage", () => {
    assert.deepStrictEqual(emptyOf(channel), none)
    assert.isFalse(Channel.isAvailable(channel.rule, none))
    assert.deepStrictEqual(Channel.read(channel.rule, none), none)
    assert.strictEqual(refused(channel, none, [5, 6]).reason, "MultipleWrites")
    assert.strictEqual(readAfter(channel, [3], [4]), 4)
    assert.deepStrictEqual(roundTrip(channel, after(channel, [4])), Option.some(4))
  })

  it("Law4 two writes are refused also when they are equal, and the message names the key and the cure", () => {
    const error = refused(channel, Option.some(1), [7, 7])
    assert.strictEqual(error.reason, "MultipleWrites")
    assert.strictEqual(
      error.message,
      "at key \"key\": can receive only one value per step. Give it a reducer (Channel.append, Channel.reducer) if several nodes may write it together"
    )
  })

  it("LG#1 keeps its value, by reference, when nobody writes, when a task has run, and at the finish", () => {
    const cell = Option.some({ a: 1 })
    assert.strictEqual(Result.getOrThrow(updated(channel, cell, [])), cell)
    assert.strictEqual(Channel.consume(channel.rule, cell), cell)
    assert.strictEqual(Channel.finish(channel.rule, cell), cell)
    assert.isFalse(Channel.isTransient(channel.rule))
  })

  it("LG#1 writing an equal value is a change all the same", () => {
    const cell = Option.some(3)
    assert.notStrictEqual(Result.getOrThrow(updated(channel, cell, [3])), cell)
  })

  it("Law4 null is a value", () => {
    assert.deepStrictEqual(after(Channel.lastValue(Schema.NullOr(Schema.Int)), [1], [null]), Option.some(null))
  })

  it("A4 starts with its initial value, frozen", () => {
    const started = Channel.lastValue(Schema.Array(Schema.Int), { initial: () => [1] })
    assert.deepStrictEqual(emptyOf(started), Option.some([1]))
    assert.isTrue(Object.isFrozen(Option.getOrThrow(emptyOf(started))))
    assert.deepStrictEqual(readAfter(started, [[2]]), [2])
  })

  it("Law5 takes no Overwrite", () => {
    assert.strictEqual(refused(channel, none, [Channel.overwrite(1)]).reason, "OverwriteRefused")
  })
})

describe("any value", () => {
  const channel = Channel.anyValue(Schema.Int)

  it("§1.3 the last of several wins, and it is empty after a superstep in which nobody wrote", () => {
    assert.strictEqual(readAfter(channel, [1, 2, 3]), 3)
    assert.deepStrictEqual(after(channel, [1], []), none)
    assert.isTrue(Channel.isTransient(channel.rule))
  })

  it("§1.3 clearing what is empty is no change, and neither are consume and finish", () => {
    assert.strictEqual(Result.getOrThrow(updated(channel, none, [])), none)
    const cell = Option.some(1)
    assert.strictEqual(Channel.consume(channel.rule, cell), cell)
    assert.strictEqual(Channel.finish(channel.rule, cell), cell)
  })

  it("Law5 takes no Overwrite", () => {
    assert.strictEqual(refused(channel, none, [Channel.overwrite(1)]).reason, "OverwriteRefused")
  })
})

describe("ephemeral value", () => {
  const guarded = Channel.ephemeral(Schema.String)
  const open = Channel.ephemeral(Schema.String, { guard: false })

  it("§1.4 holds a value for one superstep", () => {
    assert.strictEqual(readAfter(guarded, ["a"]), "a")
    assert.deepStrictEqual(after(guarded, ["a"], []), none)
    assert.strictEqual(readAfter(guarded, ["a"], ["b"]), "b")
    assert.strictEqual(Result.getOrThrow(updated(guarded, none, [])), none)
    assert.isTrue(Channel.isTransient(guarded.rule))
  })

  it("§1.4 refuses two writes when guarded; else the last wins", () => {
    assert.strictEqual(refused(guarded, none, ["a", "b"]).reason, "MultipleWrites")
    assert.strictEqual(readAfter(open, ["a", "b"]), "b")
  })

  it("§1.4 a live value is stored", () => {
    assert.deepStrictEqual(roundTrip(guarded, Option.some("a")), Option.some("a"))
  })

  it("Law5 takes no Overwrite", () => {
    assert.strictEqual(refused(open, none, ["a", Channel.overwrite("b")]).reason, "OverwriteRefused")
  })
})

describe("untracked value", () => {
  const channel = Channel.untracked<unknown>()

  it("LG#5 holds anything across supersteps, as it is", () => {
    const held = { connection: () => 1 }
    assert.strictEqual(readAfter(channel, [held], []), held)
    assert.isFalse(Object.isFrozen(held))
    assert.deepStrictEqual(emptyOf(channel), none)
    assert.isFalse(Channel.isTransient(channel.rule))
  })

  it("§1.5 refuses two writes when guarded; else the last wins", () => {
    assert.strictEqual(refused(channel, none, [1, 2]).reason, "MultipleWrites")
    assert.strictEqual(readAfter(Channel.untracked<number>({ guard: false }), [1, 2]), 2)
  })

  it("Law5 takes no Overwrite", () => {
    assert.strictEqual(refused(channel, none, [Channel.overwrite(1)]).reason, "OverwriteRefused")
    assert.strictEqual(
      refused(Channel.untracked({ guard: false }), none, [1, Channel.overwrite(1)]).reason,
      "OverwriteRefused"
    )
  })
})

describe("last value after finish", () => {
  const channel = Channel.lastValueAfterFinish(Schema.Int)

  it("§1.2 shows its value when nothing else is left to run, and gives it up when it was consumed", () => {
    const cell = after(channel, [1, 2])
    assert.isFalse(Channel.isAvailable(channel.rule, cell))
    assert.deepStrictEqual(Channel.read(channel.rule, cell), none)
    const finished = Channel.finish(channel.rule, cell)
    assert.deepStrictEqual(Channel.read(channel.rule, finished), Option.some(2))
    assert.deepStrictEqual(Channel.consume(channel.rule, finished), none)
  })

  it("§1.2 consuming before the finish, and finishing twice or without a value, change nothing", () => {
    const cell = after(channel, [1])
    assert.strictEqual(Channel.consume(channel.rule, cell), cell)
    const finished = Channel.finish(channel.rule, cell)
    assert.strictEqual(Channel.finish(channel.rule, finished), finished)
    assert.strictEqual(Channel.finish(channel.rule, none), none)
    assert.strictEqual(Channel.consume(channel.rule, none), none)
  })

  it("§1.2 a new write waits for a finish of its own", () => {
    const rewritten = Result.getOrThrow(updated(channel, Channel.finish(channel.rule, after(channel, [1])), [2]))
    assert.isFalse(Channel.isAvailable(channel.rule, rewritten))
  })

  it("§1.2 is stored with whether the finish came", () => {
    const finished = Channel.finish(channel.rule, after(channel, [1]))
    assert.deepStrictEqual(roundTrip(channel, after(channel, [1])), after(channel, [1]))
    assert.deepStrictEqual(roundTrip(channel, finished), finished)
  })

  it("Law5 takes no Overwrite", () => {
    assert.strictEqual(refused(channel, none, [Channel.overwrite(1)]).reason, "OverwriteRefused")
  })
})

// ---------------------------------------------------------------------------
// Topics
// ---------------------------------------------------------------------------

describe("topic", () => {
  it("LG#2 holds the writes of one superstep, with lists flattened one level", () => {
    assert.deepStrictEqual(readAfter(passing, ["a", "b"]), ["a", "b"])
    assert.deepStrictEqual(readAfter(passing, ["a", "b"], [["c", "d"], "d"]), ["c", "d", "d"])
    const nested = Channel.topic(Schema.Unknown)
    assert.deepStrictEqual(readAfter(nested, [["a", ["b"]], "c"]), ["a", ["b"], "c"])
  })

  it("LG#2 is empty after a superstep in which nobody wrote, and clearing it twice is no change", () => {
    const cleared = after(passing, ["a"], [])
    assert.deepStrictEqual(cleared, none)
    assert.isFalse(Channel.isAvailable(passing.rule, cleared))
    assert.strictEqual(Result.getOrThrow(updated(passing, cleared, [])), cleared)
    assert.isTrue(Channel.isTransient(passing.rule))
  })

  it("LG#2 writes of empty lists leave an empty Topic as it is, and clear a full one", () => {
    assert.strictEqual(Result.getOrThrow(updated(passing, none, [[]])), none)
    assert.deepStrictEqual(after(passing, ["a"], [[]]), none)
  })

  it("LG#3 an accumulating Topic keeps what it has", () => {
    assert.deepStrictEqual(readAfter(lasting, ["a", "b"], ["b", ["c", "d"], "d"]), ["a", "b", "b", "c", "d", "d"])
    const cell = after(lasting, ["a"])
    assert.strictEqual(Result.getOrThrow(updated(lasting, cell, [])), cell)
    assert.deepStrictEqual(
      Result.getOrThrow(updated(lasting, roundTrip(lasting, cell), ["e"])),
      Option.some(["a", "e"])
    )
    assert.isFalse(Channel.isTransient(lasting.rule))
  })

  it("LG#2 what was read before is not changed by later writes", () => {
    const first = readAfter(lasting, ["a"])
    const cell = after(lasting, ["a"])
    updated(lasting, cell, ["b"])
    assert.deepStrictEqual(first, ["a"])
    assert.deepStrictEqual(cell, Option.some(["a"]))
  })

  it("Law5 an accumulating Topic takes an Overwrite, which comes before the rest of the batch", () => {
    assert.deepStrictEqual(readAfter(lasting, ["a"], ["b", Channel.overwrite(["c"]), "d"]), ["c", "b", "d"])
    assert.deepStrictEqual(readAfter(lasting, ["a"], [Channel.overwrite([])]), [])
    assert.strictEqual(
      refused(lasting, none, [Channel.overwrite([]), Channel.overwrite([])]).reason,
      "MultipleOverwrites"
    )
    assert.strictEqual(refused(passing, none, [Channel.overwrite(["a"])]).reason, "OverwriteRefused")
  })

  it("P6 a unique Topic drops repetitions, within a batch and against what it holds", () => {
    const unique = Channel.topic(Schema.String, { accumulate: true, unique: true })
    assert.deepStrictEqual(readAfter(unique, ["a", "b", "a"], ["b", ["c", "a"]]), ["a", "b", "c"])
    const cell = after(unique, ["a", "b"])
    assert.strictEqual(Result.getOrThrow(updated(unique, cell, ["b", "a"])), cell)
    assert.deepStrictEqual(readAfter(unique, ["a"], [Channel.overwrite(["b", "b"]), "b", "c"]), ["b", "c"])
    assert.deepStrictEqual(readAfter(Channel.topic(Schema.String, { unique: true }), ["a", "a"], ["a", "b", "a"]), [
      "a",
      "b"
    ])
  })

  it("P6 items are the same if their stored form is: whatever the order of keys, and after reading back", () => {
    const unique = Channel.topic(Schema.Unknown, { accumulate: true, unique: true })
    const text = "{\"a\":1}"
    assert.deepStrictEqual(readAfter(unique, [{ a: 1 }, text, { b: 2, a: 1 }, { a: 1, b: 2 }, 1, "1", null]), [
      { a: 1 },
      text,
      { b: 2, a: 1 },
      1,
      "1",
      null
    ])
    const dates = Channel.topic(Schema.Date, { accumulate: true, unique: true })
    const [day, next] = [new Date(1), new Date(2)]
    assert.deepStrictEqual(readAfter(dates, [day, next, new Date(1)]), [day, next])
    const bytes = Channel.topic(Schema.Uint8Array, { accumulate: true, unique: true })
    const one = new Uint8Array([1])
    const cell = after(bytes, [one])
    assert.strictEqual(Result.getOrThrow(updated(bytes, cell, [one])), cell)
    const read = roundTrip(bytes, cell)
    assert.strictEqual(Result.getOrThrow(updated(bytes, read, [one])), read)
    const amounts = Channel.topic(Schema.Struct({ n: Schema.BigInt }), { accumulate: true, unique: true })
    assert.deepStrictEqual(readAfter(amounts, [{ n: 1n }, { n: 2n }, { n: 1n }]), [{ n: 1n }, { n: 2n }])
  })
})

// ---------------------------------------------------------------------------
// Reducers
// ---------------------------------------------------------------------------

describe("reducer", () => {
  it("LG#4 a sum starts at 0, adds every write, and comes back from storage", () => {
    assert.deepStrictEqual(emptyOf(sum), Option.some(0))
    assert.strictEqual(readAfter(sum, [1, 2, 3]), 6)
    assert.strictEqual(readAfter(sum, [1, 2, 3], [4]), 10)
    assert.deepStrictEqual(roundTrip(sum, after(sum, [10])), Option.some(10))
  })

  it("LG#4 folds in the order of the writes", () => {
    assert.strictEqual(readAfter(Channel.reduced(Schema.String, Str.ReducerConcat), ["a", "b"], ["c"]), "abc")
  })

  it("§1.7 nobody writing is no change", () => {
    const cell = after(sum, [1])
    assert.strictEqual(Result.getOrThrow(updated(sum, cell, [])), cell)
    assert.strictEqual(Channel.consume(sum.rule, cell), cell)
    assert.strictEqual(Channel.finish(sum.rule, cell), cell)
    assert.isFalse(Channel.isTransient(sum.rule))
  })

  it("§1.7 without an initial value the first write is the value, and an Overwrite among the first writes is unwrapped", () => {
    const max = Channel.combined(Schema.Int, Combiner.make((a: number, b) => Math.max(a, b)))
    assert.deepStrictEqual(emptyOf(max), none)
    assert.strictEqual(readAfter(max, [3, 5, 4]), 5)
    assert.strictEqual(readAfter(max, [Channel.overwrite(5)]), 5)
    assert.strictEqual(readAfter(max, [7, Channel.overwrite(5)]), 7)
  })

  it("A4 the initial value is read and reduced alike", () => {
    const counter = Channel.reducer({ value: Schema.Int, initial: () => 10, reduce: (a, b: number) => a + b })
    assert.deepStrictEqual(Channel.read(counter.rule, emptyOf(counter)), Option.some(10))
    assert.strictEqual(readAfter(counter, [5]), 15)
  })

  it("A6 an Overwrite comes before the other writes of its batch, wherever it stands in it", () => {
    for (const batch of [[Channel.overwrite(["O"]), ["b"]], [["b"], Channel.overwrite(["O"])]]) {
      assert.deepStrictEqual(readAfter(words, [["old"]], batch), ["O", "b"])
    }
    assert.deepStrictEqual(readAfter(words, [["old"]], [["a"], Channel.overwrite(["O"]), ["b"]]), ["O", "a", "b"])
    assert.strictEqual(readAfter(sum, [1], [2, Channel.overwrite(100), 3]), 105)
  })

  it("A6 two Overwrites in one batch conflict", () => {
    const error = refused(words, emptyOf(words), [Channel.overwrite(["a"]), Channel.overwrite(["a"])])
    assert.strictEqual(error.reason, "MultipleOverwrites")
    assert.strictEqual(error.message, "at key \"key\": can receive only one Overwrite per step")
  })

  it("LG#10 only an Overwrite overwrites: a value that looks like one is a value", () => {
    const any = Channel.reducer({
      value: Schema.Array(Schema.Unknown),
      update: Schema.Unknown,
      initial: () => [],
      reduce: (all, one) => [...all, one]
    })
    const shapes = [
      { type: "__overwrite__", value: 1 },
      { __overwrite__: 1 },
      { _tag: "Overwrite", value: 1 },
      { value: 1 },
      { type: "human", value: 1 }
    ]
    assert.deepStrictEqual(readAfter(any, ...shapes.map((shape) => [shape])), shapes)
    for (const shape of shapes) {
      const row = Result.getOrThrow(Channel.encodeWrite(any, shape))
      assert.deepStrictEqual(row, { kind: "write", json: shape })
      assert.deepStrictEqual(Result.getOrThrow(Channel.decodeWrite(any, row)), shape)
    }
  })

  it("A8 null reaches the reducer of a nullable channel, and a nullable value changes nothing about the rule", () => {
    const calls: Array<unknown> = []
    const nullable = Channel.reducer({
      value: Schema.NullOr(Schema.Int),
      initial: () => 5 as number | null,
      reduce: (a, b: number | null) => {
        calls.push([a, b])
        return a === null || b === null ? b : a + b
      }
    })
    assert.strictEqual(readAfter(nullable, [1], [null], [2]), 2)
    assert.deepStrictEqual(calls, [[5, 1], [6, null], [null, 2]])
  })

  it("LG#4 the update of a reducer may have a schema of its own", () => {
    const total = Channel.reducer({
      value: Schema.Int,
      update: Schema.Struct({ add: Schema.Int }),
      initial: () => 0,
      reduce: (value, { add }) => value + add
    })
    assert.strictEqual(readAfter(total, [{ add: 1 }, { add: 2 }], [Channel.overwrite(10), { add: 1 }]), 11)
    assert.deepStrictEqual(Channel.validate(total, { add: 1 }), Option.none())
    assert.isTrue(Option.isSome(Channel.validate(total, 1)))
    assert.deepStrictEqual(Channel.validate(total, Channel.overwrite(1)), Option.none())
    assert.isTrue(Option.isSome(Channel.validate(total, Channel.overwrite({ add: 1 }))))
  })
})

describe("a reducer that is not pure", () => {
  const pushing = Channel.reducer({
    value: Schema.Array(Schema.Int),
    initial: () => [],
    reduce: (value, update: ReadonlyArray<number>) => {
      untyped(value).push(...update)
      return value
    }
  })

  it("Law1 is found out: it cannot change the old value, and the update is refused", () => {
    const cell = Option.some(Object.freeze([1]))
    const error = refused(pushing, cell, [[2]])
    assert.strictEqual(error.reason, "ReducerFailed")
    assert.match(String(error.detail), /TypeError/)
    assert.instanceOf(error.cause, TypeError)
    assert.deepStrictEqual(cell, Option.some([1]))
    assert.strictEqual(refused(pushing, emptyOf(pushing), [[2]]).reason, "ReducerFailed")
    assert.deepStrictEqual(emptyOf(pushing), Option.some([]))
  })

  it("Law1 is found out on an Overwrite and on a first value", () => {
    const value = [1]
    assert.strictEqual(refused(pushing, emptyOf(pushing), [Channel.overwrite(value), [2]]).reason, "ReducerFailed")
    assert.deepStrictEqual(value, [1])
    const combined = Channel.combined(
      Schema.Array(Schema.Int),
      Combiner.make((a: ReadonlyArray<number>, b) => {
        untyped(a).push(...b)
        return a
      })
    )
    const first = [1]
    assert.strictEqual(refused(combined, none, [first, [2]]).reason, "ReducerFailed")
    assert.deepStrictEqual(first, [1])
  })

  it("Law1 is found out on a write", () => {
    const draining = Channel.reducer({
      value: Schema.Array(Schema.Int),
      initial: () => [],
      reduce: (value, update: ReadonlyArray<number>) => [...value, untyped(update).pop()]
    })
    const write = [1]
    assert.strictEqual(refused(draining, emptyOf(draining), [write]).reason, "ReducerFailed")
    assert.deepStrictEqual(write, [1])
  })

  it("Law1 is found out in a Delta: on the value, on the list of writes, and on a write", () => {
    const make = (reduce: (value: Array<number>, updates: Array<Array<number>>) => Array<number>) =>
      Channel.delta({ value: Schema.Array(Schema.Int), initial: () => [], reduce: untyped(reduce) })
    const bad = [
      make((value, updates) => (value.push(...updates.flat()), value)),
      make((value, updates) => [...value, ...updates.pop()!]),
      make((value, updates) => [...value, updates[0]!.pop()!])
    ]
    for (const channel of bad) {
      const cell = Option.some(Object.freeze([1]))
      const writes = [[2]]
      assert.strictEqual(refused(channel, cell, writes).reason, "ReducerFailed")
      assert.deepStrictEqual(cell, Option.some([1]))
      assert.deepStrictEqual(writes, [[2]])
    }
  })

  it("Law1 a reducer that throws is refused with what it threw", () => {
    const boom = new Error("boom")
    const failing = Channel.reducer({
      value: Schema.Int,
      initial: () => 0,
      reduce: () => {
        throw boom
      }
    })
    const error = refused(failing, Option.some(1), [1])
    assert.strictEqual(error.reason, "ReducerFailed")
    assert.strictEqual(error.cause, boom)
    assert.match(error.message, /has a reducer that threw.*boom/)
  })
})

// ---------------------------------------------------------------------------
// Delta
// ---------------------------------------------------------------------------

describe("delta", () => {
  it("LG#6 folds the writes of each superstep at once", () => {
    const calls: Array<ReadonlyArray<unknown>> = []
    const spied = Channel.delta({
      value: Schema.Array(Schema.String),
      initial: () => [],
      reduce: (state, updates: ReadonlyArray<ReadonlyArray<string>>) => {
        calls.push(updates)
        return [...state, ...updates.flat()]
      }
    })
    assert.deepStrictEqual(emptyOf(spied), Option.some([]))
    assert.deepStrictEqual(readAfter(spied, [["a"], ["b"]], [["c"]]), ["a", "b", "c"])
    assert.deepStrictEqual(calls, [[["a"], ["b"]], [["c"]]])
  })

  it("LG#7 a value is rebuilt from its stored writes, in their order", () => {
    const rows = [["1"], ["2"], ["3"]].map((write) => Result.getOrThrow(Channel.encodeWrite(gathered, write)))
    const writes = rows.map((row) => Result.getOrThrow(Channel.decodeWrite(gathered, row)))
    assert.deepStrictEqual(readAfter(gathered, ...writes.map((write) => [write])), ["1", "2", "3"])
  })

  it("LG#8 a stored value is taken as it is, and folding goes on from it", () => {
    const cell = Result.getOrThrow(Channel.decode(gathered, ["a", "b"]))
    assert.deepStrictEqual(cell, Option.some(["a", "b"]))
    assert.deepStrictEqual(Result.getOrThrow(updated(gathered, cell, [["c"]])), Option.some(["a", "b", "c"]))
  })

  it("LG#9 an Overwrite replaces the value, and the rest of its batch comes after it", () => {
    assert.deepStrictEqual(readAfter(gathered, [["old"]], [Channel.overwrite(["new"])]), ["new"])
    assert.deepStrictEqual(readAfter(gathered, [["old"]], [["x"], Channel.overwrite(["new"]), ["y"]]), [
      "new",
      "x",
      "y"
    ])
    assert.strictEqual(
      refused(gathered, emptyOf(gathered), [Channel.overwrite([]), ["x"], Channel.overwrite([])]).reason,
      "MultipleOverwrites"
    )
  })

  it("LG#18 a value of null is a value, and the reducer gets it", () => {
    const seen: Array<unknown> = []
    const nullable = Channel.delta({
      value: Schema.NullOr(Schema.Array(Schema.Int)),
      initial: () => [0] as ReadonlyArray<number> | null,
      reduce: (state, updates: ReadonlyArray<ReadonlyArray<number> | null>) => {
        seen.push(state)
        return [...state ?? [], ...updates.flatMap((update) => update ?? [])]
      }
    })
    const cell = Result.getOrThrow(Channel.decode(nullable, null))
    assert.deepStrictEqual(cell, Option.some(null))
    assert.deepStrictEqual(Result.getOrThrow(updated(nullable, cell, [[1]])), Option.some([1]))
    assert.deepStrictEqual(Result.getOrThrow(updated(nullable, cell, [Channel.overwrite(null), [2]])), Option.some([2]))
    assert.deepStrictEqual(seen, [null, null])
  })

  it("LG#17 a record is merged, a null deletes, and an Overwrite keeps its own keys", () => {
    const merged = Channel.delta({
      value: Schema.Record(Schema.String, Schema.Int),
      update: Schema.Record(Schema.String, Schema.NullOr(Schema.Int)),
      initial: () => ({}),
      reduce: (state, updates) => {
        const next: Record<string, number> = { ...state }
        for (const update of updates) {
          for (const [key, value] of Object.entries(update)) {
            if (value === null) delete next[key]
            else next[key] = value
          }
        }
        return next
      }
    })
    assert.deepStrictEqual(emptyOf(merged), Option.some({}))
    assert.deepStrictEqual(readAfter(merged, [{ a: 1 }, { b: 2 }], [{ a: null, c: 3 }]), { b: 2, c: 3 })
    assert.deepStrictEqual(readAfter(merged, [{ a: 1 }], [Channel.overwrite({ x: 10 }), { y: 20 }], [{ z: 30 }]), {
      x: 10,
      y: 20,
      z: 30
    })
  })

  // Messages by id: an update replaces in place or is added, `text: null` removes.
  const Message = Schema.Struct({ id: Schema.String, role: Schema.String, text: Schema.NullOr(Schema.String) })
  const messages = Channel.delta({
    value: Schema.Array(Message),
    update: Message,
    initial: () => [],
    reduce: (state, updates) => {
      const byId = new Map(state.map((message) => [message.id, message]))
      for (const update of updates) {
        if (update.text === null) byId.delete(update.id)
        else byId.set(update.id, update)
      }
      return [...byId.values()]
    }
  })
  const message = (id: string, text: string | null, role = "human") => ({ id, role, text })

  it("LG#11 LG#12 LG#13 a message is removed or replaced in place by its id, live and rebuilt alike", () => {
    const writes = [
      [message("h1", "hi"), message("a1", "hello", "ai")],
      [message("a1", null)],
      [message("h1", "hi again", "system")],
      [message("nobody", null)]
    ]
    const live = readAfter(messages, ...writes)
    assert.deepStrictEqual(live, [message("h1", "hi again", "system")])
    const stored = writes.map((batch) =>
      batch.map((write) =>
        Result.getOrThrow(Channel.decodeWrite(messages, Result.getOrThrow(Channel.encodeWrite(messages, write))))
      )
    )
    assert.deepStrictEqual(readAfter(messages, ...stored), live)
  })

  it("§1.9 the snapshot frequency is a whole number of at least 1", () => {
    const make = (snapshotFrequency: number) =>
      Channel.delta({ value: Schema.Int, initial: () => 0, reduce: (state) => state, snapshotFrequency })
    for (const wrong of [0, -1, 1.5, NaN, Infinity, "2"]) {
      assert.throws(
        () => make(untyped(wrong)),
        `Channel.delta: snapshotFrequency must be a whole number of at least 1, not ${wrong}`
      )
    }
    assert.deepInclude(make(1).rule, { snapshotFrequency: 1 })
    assert.deepInclude(gathered.rule, { snapshotFrequency: Channel.defaultSnapshotFrequency })
    assert.strictEqual(Channel.defaultSnapshotFrequency, 1000)
  })
})

// ---------------------------------------------------------------------------
// Barriers
// ---------------------------------------------------------------------------

describe("named barrier", () => {
  const channel = Channel.namedBarrier(["a", "b"])

  it("§1.8 is available once all names were written, in whatever supersteps, and starts anew when consumed", () => {
    const one = after(channel, ["b"])
    assert.isFalse(Channel.isAvailable(channel.rule, one))
    assert.deepStrictEqual(one, Option.some({ seen: ["b"], released: false, fired: false }))
    const both = after(channel, ["b"], ["a"])
    assert.isTrue(Channel.isAvailable(channel.rule, both))
    assert.deepStrictEqual(Channel.read(channel.rule, both), Option.some(undefined))
    const consumed = Channel.consume(channel.rule, both)
    assert.deepStrictEqual(consumed, Option.some({ seen: [], released: false, fired: true }))
    assert.isFalse(Channel.isAvailable(channel.rule, consumed))
  })

  it("§1.8 a name counts once, and writing it again is no change", () => {
    const one = after(channel, ["a", "a"])
    assert.strictEqual(Result.getOrThrow(updated(channel, one, ["a"])), one)
    assert.strictEqual(Result.getOrThrow(updated(channel, one, [])), one)
    assert.strictEqual(Channel.consume(channel.rule, one), one)
    assert.strictEqual(Channel.finish(channel.rule, one), one)
    assert.isFalse(Channel.isTransient(channel.rule))
  })

  it("§1.8 a name that it does not wait for is refused", () => {
    const error = refused(channel, none, ["a", "z"])
    assert.strictEqual(error.reason, "UnknownName")
    assert.strictEqual(error.detail, "z")
    assert.strictEqual(refused(channel, none, [undefined]).reason, "UnknownName")
    assert.strictEqual(refused(channel, none, [Channel.overwrite(["a"])]).reason, "UnknownName")
  })

  it("§1.8 after the finish: complete and finished, and both are given up when consumed", () => {
    const late = Channel.namedBarrierAfterFinish(["a", "b"])
    const half = after(late, ["a"])
    assert.strictEqual(Channel.finish(late.rule, half), half)
    const both = after(late, ["a", "b"])
    assert.isFalse(Channel.isAvailable(late.rule, both))
    assert.strictEqual(Channel.consume(late.rule, both), both)
    const finished = Channel.finish(late.rule, both)
    assert.isTrue(Channel.isAvailable(late.rule, finished))
    assert.strictEqual(Channel.finish(late.rule, finished), finished)
    assert.deepStrictEqual(
      Channel.consume(late.rule, finished),
      Option.some({ seen: [], released: false, fired: true })
    )
  })

  it("Law7 an idle barrier is released at the finish with some of its names, never with none", () => {
    const idle = Channel.namedBarrier(["a", "b"], { release: "idle" })
    assert.strictEqual(Channel.finish(idle.rule, none), none)
    const nobody = Channel.consume(idle.rule, after(idle, ["a", "b"]))
    assert.strictEqual(Channel.finish(idle.rule, nobody), nobody)
    const released = Channel.finish(idle.rule, after(idle, ["a"]))
    assert.isTrue(Channel.isAvailable(idle.rule, released))
    assert.strictEqual(Channel.finish(idle.rule, released), released)
    assert.deepStrictEqual(
      Channel.consume(idle.rule, released),
      Option.some({ seen: [], released: false, fired: true })
    )
  })

  it("§1.8 is stored with who has arrived", () => {
    const cell = after(channel, ["b"])
    assert.deepStrictEqual(roundTrip(channel, cell), cell)
    assert.deepStrictEqual(
      Result.getOrThrow(updated(channel, roundTrip(channel, cell), ["a"])),
      after(channel, ["a", "b"])
    )
  })

  it("§1.8 repeated names are one name", () => {
    assert.isTrue(
      Channel.isAvailable(Channel.namedBarrier(["a", "a"]).rule, after(Channel.namedBarrier(["a", "a"]), ["a"]))
    )
  })
})

// ---------------------------------------------------------------------------
// Codec and check
// ---------------------------------------------------------------------------

describe("codec", () => {
  it("Law17 a value crosses storage through its schema", () => {
    const channel = Channel.lastValue(
      Schema.Struct({ at: Schema.Date, by: Schema.ReadonlyMap(Schema.String, Schema.BigInt) })
    )
    const cell = Option.some({ at: new Date(5), by: new Map([["a", 1n]]) })
    assert.deepStrictEqual(encoded(channel, cell), { at: "1970-01-01T00:00:00.005Z", by: [["a", "1"]] })
    assert.deepStrictEqual(roundTrip(channel, cell), cell)
  })

  it("Law17 what does not encode or decode says why, and never becomes a default", () => {
    const channel = Channel.lastValue(Schema.Int)
    assert.match(
      Result.getOrThrow(Result.flip(Channel.encode(channel, Option.some("x") as Option.Some<unknown>))),
      /integer|Int|number/
    )
    assert.match(Result.getOrThrow(Result.flip(Channel.decode(channel, "x"))), /number/)
    assert.match(Result.getOrThrow(Result.flip(Channel.encodeWrite(channel, undefined))), /number/)
    assert.match(Result.getOrThrow(Result.flip(Channel.decodeWrite(channel, { kind: "write", json: null }))), /number/)
    assert.match(Result.getOrThrow(Result.flip(Channel.decodeWrite(sum, { kind: "overwrite", json: "x" }))), /number/)
  })

  it("Law5 an Overwrite is stored as a kind of row", () => {
    const row = Result.getOrThrow(Channel.encodeWrite(words, Channel.overwrite(["a"])))
    assert.deepStrictEqual(row, { kind: "overwrite", json: ["a"] })
    const read = Result.getOrThrow(Channel.decodeWrite(words, row))
    assert.instanceOf(read, Channel.Overwrite)
    assert.deepStrictEqual((read as Channel.Overwrite<unknown>).value, ["a"])
    assert.deepStrictEqual(Result.getOrThrow(Channel.encodeWrite(words, ["a"])), { kind: "write", json: ["a"] })
  })

  it("A9 a write is checked against the update schema, and an Overwrite against that of the value", () => {
    assert.deepStrictEqual(Channel.validate(words, ["a"]), Option.none())
    assert.match(Option.getOrThrow(Channel.validate(words, [1])), /string/)
    assert.match(Option.getOrThrow(Channel.validate(words, "a")), /array/)
    assert.match(Option.getOrThrow(Channel.validate(words, Channel.overwrite("a"))), /array/)
    assert.isTrue(Option.isSome(Channel.validate(Channel.lastValue(Schema.Int.check(Schema.isGreaterThan(0))), -1)))
    assert.deepStrictEqual(Channel.validate(passing, "a"), Option.none())
    assert.deepStrictEqual(Channel.validate(passing, ["a", "b"]), Option.none())
    assert.isTrue(Option.isSome(Channel.validate(passing, ["a", 1])))
  })

  it("A9 a schema that throws is a refusal, not a crash", () => {
    const wild = Schema.declare((_u: unknown): _u is string => {
      throw new Error("wild")
    })
    const problem = Channel.validate(Channel.lastValue(untyped(wild)), 1)
    assert.isTrue(Option.isSome(problem))
  })

  it("K7 a value too deep for the stack is refused with a text", () => {
    interface Tree {
      readonly next?: Tree | undefined
    }
    const Tree: Schema.Codec<Tree> = Schema.Struct({
      next: Schema.optional(Schema.suspend((): Schema.Codec<Tree> => Tree))
    })
    let deep: Tree = {}
    for (let i = 0; i < 100_000; i++) deep = { next: deep }
    const channel = Channel.lastValue(Tree)
    assert.isTrue(Option.isSome(Channel.validate(channel, deep)))
    assert.isTrue(Result.isFailure(Channel.encode(channel, Option.some(deep) as Option.Some<unknown>)))
  })

  it("L1 data that looks like an envelope of the codec stays data", () => {
    const channel = Channel.lastValue(Schema.Record(Schema.String, Schema.Unknown))
    const value = { lc: 1, type: "constructor", _tag: "Some", value: 1, kind: "overwrite", json: [] }
    assert.deepStrictEqual(roundTrip(channel, Option.some(value)), Option.some(value))
  })

  it("L9 hostile keys are keys like any other", () => {
    const channel = Channel.lastValue(Schema.Record(Schema.String, Schema.Unknown))
    const value = JSON.parse(
      "{\"__proto__\":{\"polluted\":1},\"constructor\":{\"prototype\":{\"polluted\":1}}}"
    ) as Record<string, unknown>
    const read = Option.getOrThrow(roundTrip(channel, after(channel, [value]))) as Record<string, unknown>
    assert.deepStrictEqual(Object.keys(read), ["__proto__", "constructor"])
    assert.deepStrictEqual(Object.getOwnPropertyDescriptor(read, "__proto__")!.value, { polluted: 1 })
    assert.strictEqual(Object.getPrototypeOf(read), Object.prototype)
    assert.isUndefined(untyped({})["polluted"])
  })

  it("Law1 guards tell a channel from other values", () => {
    assert.isTrue(Channel.isChannel(sum))
    for (const other of [undefined, null, 1, {}, Schema.Int, () => 1]) assert.isFalse(Channel.isChannel(other))
  })
})

// ---------------------------------------------------------------------------
// Freezing
// ---------------------------------------------------------------------------

describe("freezing", () => {
  const anything = Channel.lastValue(Schema.Unknown)
  const isDeepFrozen = (value: unknown): boolean =>
    typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))

  it("Law1 what enters is frozen at every depth, by every rule", () => {
    const item = () => ({ a: [{ b: 1 }] })
    const items = Schema.Array(Schema.Unknown)
    const rules: ReadonlyArray<readonly [Channel.Any, unknown]> = [
      [anything, item()],
      [Channel.anyValue(Schema.Unknown), item()],
      [Channel.ephemeral(Schema.Unknown), item()],
      [Channel.topic(Schema.Unknown), item()],
      [Channel.topic(Schema.Unknown, { accumulate: true }), [item()]],
      [Channel.append(Schema.Unknown), [item()]],
      [Channel.append(Schema.Unknown), Channel.overwrite([item()])],
      [Channel.reducer({ value: items, initial: () => [], reduce: (a, b: ReadonlyArray<unknown>) => [...a, ...b] }), [
        item()
      ]],
      [Channel.delta({ value: items, initial: () => [], reduce: (a, b) => [...a, ...b] }), [item()]],
      [Channel.delta({ value: items, initial: () => [], reduce: (a, b) => [...a, ...b] }), Channel.overwrite([item()])],
      [Channel.lastValueAfterFinish(Schema.Unknown), item()]
    ]
    for (const [channel, write] of rules) {
      assert.isTrue(isDeepFrozen(Option.getOrThrow(after(channel, [write]))), channel.rule._tag)
    }
    const mixed = after(Channel.append(Schema.Unknown), [Channel.overwrite([item()]), [item()]], [[item()]])
    assert.isTrue(isDeepFrozen(Option.getOrThrow(mixed)))
  })

  it("Law1 what a reducer returns is frozen", () => {
    const channel = Channel.reducer({
      value: Schema.Unknown,
      initial: () => ({}),
      reduce: (_, update) => ({ list: [update] })
    })
    assert.isTrue(isDeepFrozen(Option.getOrThrow(after(channel, [{ a: 1 }]))))
  })

  it("Law1 what is read back is frozen", () => {
    assert.isTrue(isDeepFrozen(Option.getOrThrow(Result.getOrThrow(Channel.decode(anything, { a: [{}] })))))
    assert.isTrue(isDeepFrozen(Result.getOrThrow(Channel.decodeWrite(anything, { kind: "write", json: { a: [{}] } }))))
    const over = Result.getOrThrow(Channel.decodeWrite(words, { kind: "overwrite", json: ["a"] })) as Channel.Overwrite<
      unknown
    >
    assert.isTrue(isDeepFrozen(over.value))
  })

  it("Law1 a cyclic value freezes", () => {
    const cyclic: Record<string, unknown> = { list: [] }
    cyclic["self"] = cyclic
    assert.strictEqual(Option.getOrThrow(after(anything, [cyclic])), cyclic)
    assert.isTrue(Object.isFrozen(cyclic["list"]))
  })

  it("Law1 the initial value is frozen, and made anew each time", () => {
    const channel = Channel.reducer({ value: Schema.Array(Schema.Unknown), initial: () => [{}], reduce: (a) => a })
    assert.isTrue(isDeepFrozen(Option.getOrThrow(emptyOf(channel))))
    assert.isTrue(
      isDeepFrozen(Option.getOrThrow(emptyOf(Channel.reduced(Schema.Unknown, Reducer.make((a: unknown) => a, [{}])))))
    )
    assert.notStrictEqual(Option.getOrThrow(emptyOf(channel)), Option.getOrThrow(emptyOf(channel)))
  })
})

// ---------------------------------------------------------------------------
// In a graph
// ---------------------------------------------------------------------------

behaves(
  "A6 an Overwrite and other writes of one superstep: one rule, in either order of names, live and read back",
  () =>
    Effect.gen(function*() {
      class S extends State.make({
        list: Channel.append(Schema.String),
        late: gathered,
        topic: Channel.topic(Schema.String, { accumulate: true })
      }) {}
      const replace = () =>
        Effect.succeed({
          list: Channel.overwrite(["O"]),
          late: Channel.overwrite(["O"]),
          topic: Channel.overwrite(["O"])
        })
      const add = () => Effect.succeed({ list: ["b"], late: ["b"], topic: "b" })
      const after = { list: ["O", "b"], late: ["O", "b"], topic: ["O", "b"] }
      const graphs = [
        StateGraph.make("first", StateGraph.nodes(S, { a: replace, b: add }), { start: ["a", "b"] }),
        StateGraph.make("last", StateGraph.nodes(S, { a: add, b: replace }), { start: ["a", "b"] })
      ]
      for (const graph of graphs as ReadonlyArray<(typeof graphs)[0]>) {
        const { name } = graph
        const input = { list: ["old"], late: ["old"], topic: "old" }
        assert.deepStrictEqual(yield* graph.invoke(input), after)
        assert.deepStrictEqual(yield* graph.thread(name).invoke(input), after)
        assert.deepStrictEqual((yield* graph.thread(name).state()).values, after)
      }
      const both = StateGraph.make("both", StateGraph.nodes(S, { a: replace, b: replace }), { start: ["a", "b"] })
      const error = yield* Effect.flip(both.thread("both").invoke({}))
      assert.strictEqual(error._tag, "InvalidUpdate")
      assert.deepInclude(error, { reason: "MultipleOverwrites", channel: "list", writers: ["a", "b"] })
      assert.deepStrictEqual((yield* both.thread("both").state()).values, { list: [], late: [], topic: [] })
    })
)

behaves("A8 undefined is no write, and null is a value", () =>
  Effect.gen(function*() {
    class S extends State.make({
      v: Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: (a, b: number) => a + b }),
      w: Schema.NullOr(Schema.Int)
    }) {}
    const graph = StateGraph.make(
      "undefined",
      StateGraph.nodes(S, {
        a: () => untyped({ v: undefined, w: undefined }) as {},
        b: () => Effect.succeed({ w: null })
      }),
      { start: "a", edges: { a: "b" } },
      { after: ["a"] }
    )
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({ v: 5, w: 6 }))
    assert.deepStrictEqual((yield* thread.state()).values, { v: 5, w: 6 })
    assert.deepStrictEqual(yield* thread.continue(), { v: 5, w: null })
  }))

behaves(
  "LG#15 LG#16 an Overwrite and a later run that appends: the state is the Overwrite and what came after",
  () =>
    Effect.gen(function*() {
      class S extends State.make({ list: gathered, turn: Schema.Int }) {}
      const graph = StateGraph.make(
        "reset",
        StateGraph.nodes(S, { a: (s) => ({ list: s.turn === 2 ? Channel.overwrite(["reset"]) : [`turn ${s.turn}`] }) }),
        { start: "a" }
      )
      const thread = graph.thread("t")
      yield* thread.invoke({ turn: 1, list: ["first"] })
      assert.deepStrictEqual(yield* thread.invoke({ turn: 2 }), { turn: 2, list: ["reset"] })
      assert.deepStrictEqual(yield* thread.invoke({ turn: 3 }), { turn: 3, list: ["reset", "turn 3"] })
      assert.deepStrictEqual((yield* graph.thread("t").state()).values, { turn: 3, list: ["reset", "turn 3"] })
    })
)

behaves(
  "Law6 a Command from outside is a batch of its own: an Overwrite of the superstep after it drops what it wrote",
  () =>
    Effect.gen(function*() {
      class S extends State.make({ list: Channel.append(Schema.String), late: gathered }) {}
      const graph = StateGraph.make(
        "batches",
        StateGraph.nodes(S, { a: () => ({ list: Channel.overwrite(["O"]), late: Channel.overwrite(["O"]) }) }),
        { start: "a" },
        { before: ["a"] }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({ list: ["in"], late: ["in"] }))
      const values = yield* thread.invoke(Command.make({ update: { list: ["c"], late: ["c"] } }))
      assert.deepStrictEqual(values, { list: ["O"], late: ["O"] })
      assert.deepStrictEqual((yield* graph.thread("t").state()).values, values)
    })
)

const Exotic = Schema.Struct({
  date: Schema.Date,
  map: Schema.ReadonlyMap(Schema.String, Schema.Int),
  bytes: Schema.Uint8Array
})
const exotic = () => ({ date: new Date(0), map: new Map([["a", 1]]), bytes: new Uint8Array([1]) })
const spoil = (value: unknown): void => {
  const { bytes, date, map } = value as { date: Date; map: Map<string, number>; bytes: Uint8Array }
  date.setTime(9)
  map.set("z", 9)
  bytes[0] = 9
}

class Held extends State.make({ v: Exotic, seen: Channel.append(Schema.Int) }) {}
const seenOf = (s: { readonly v: { readonly date: Date } }) => ({ seen: [s.v.date.getTime()] })

behaves(
  "Law1 a date, a map and bytes are handed out as copies: what a node does to them reaches nobody",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "copies",
        StateGraph.nodes(Held, {
          a: (s) => Effect.sync(() => (spoil(s.v), seenOf(s))),
          b: (s) => Effect.sync(() => seenOf(s)),
          c: (s) => Effect.sync(() => seenOf(s))
        }),
        { start: ["a", "b"], edges: { a: StateGraph.join("c"), b: StateGraph.join("c") } }
      )
      const expected = { v: exotic(), seen: [9, 0, 0] }
      assert.deepStrictEqual(yield* graph.invoke({ v: exotic() }), expected)
      assert.deepStrictEqual(yield* graph.thread("t").invoke({ v: exotic() }), expected)
      assert.deepStrictEqual((yield* graph.thread("t").state()).values, expected)
    })
)

behaves(
  "Law1 what was written stays as it was written, whatever its writer does to it later",
  () =>
    Effect.gen(function*() {
      const given = exotic()
      const written = exotic()
      const shallow = Object.freeze({ list: [1] })
      class S extends State.make({
        v: Exotic,
        list: Schema.Struct({ list: Schema.Array(Schema.Int) }),
        seen: Channel.append(Schema.Int)
      }) {}
      const graph = StateGraph.make(
        "kept",
        StateGraph.nodes(S, {
          a: (s) => Effect.sync(() => (spoil(given), seenOf(s))),
          b: (s) => Effect.sync(() => ({ ...seenOf(s), v: written, list: shallow })),
          c: (s) => Effect.sync(() => (spoil(written), seenOf(s)))
        }),
        { start: "a", edges: { a: "b", b: "c" } }
      )
      const thread = graph.thread("t")
      const values = yield* thread.invoke({ v: given, list: { list: [] } })
      assert.deepStrictEqual(values, { v: exotic(), list: { list: [1] }, seen: [0, 0, 0] })
      shallow.list.push(2)
      assert.deepStrictEqual((yield* thread.state()).values, values)
    })
)

behaves("G4 a node that changes its state in place fails, and the state is as it was", () =>
  Effect.gen(function*() {
    class S extends State.make({ list: Channel.append(Schema.Struct({ n: Schema.Int })) }) {}
    const graph = StateGraph.make(
      "in place",
      StateGraph.nodes(S, { a: (s) => Effect.sync(() => (untyped(s.list)[0].n = 2, {})) }),
      { start: "a" }
    )
    const exit = yield* Effect.exit(graph.thread("t").invoke({ list: [{ n: 1 }] }))
    assert.strictEqual(exit._tag, "Failure")
    assert.match(String(untyped(exit).cause), /TypeError/)
    assert.deepStrictEqual((yield* graph.thread("t").state()).values, { list: [{ n: 1 }] })
  }))

it("an Overwrite is known by its prototype, whichever copy of the package made it, and data never is one", () => {
  class Copy {
    readonly _tag = "Overwrite"
    readonly value = ["a"]
    get ["~superstep/Channel/Overwrite"]() {
      return "~superstep/Channel/Overwrite"
    }
  }
  assert.isTrue(Channel.isOverwrite(Channel.overwrite(["a"])))
  assert.isTrue(Channel.isOverwrite(new Copy()))
  const forged = JSON.parse(JSON.stringify({ _tag: "Overwrite", value: 1, "~superstep/Channel/Overwrite": "x" }))
  for (const other of [forged, JSON.parse(JSON.stringify(Channel.overwrite(1))), [], null, undefined, "Overwrite", 1]) {
    assert.isFalse(Channel.isOverwrite(other))
  }
  const { rule } = Channel.append(Schema.String)
  const cell = Option.some(["before"])
  assert.deepStrictEqual(
    Channel.update("key", rule, cell, [["b"], new Copy()]),
    Result.succeed(Option.some(["a", "b"]))
  )
})
