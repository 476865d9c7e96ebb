/** Marks: which schemas have one stored form, and which do not. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Channel } from "superstep"
import { isReadable, isSameKind, kindOf, markOf } from "../../src/internal/engine/mark.ts"

const of = (schema: Channel.AnySchema): string => markOf(Channel.lastValue(schema))

interface Tree {
  readonly left?: Tree | null
  readonly value: number
}

const tree = (order: "as it is" | "turned"): Schema.Codec<Tree> => {
  const self: Schema.Codec<Tree> = Schema.suspend(() => whole)
  const left = Schema.optionalKey(order === "turned" ? Schema.Union([Schema.Null, self]) : Schema.NullOr(self))
  const whole: Schema.Codec<Tree> = order === "turned"
    ? Schema.Struct({ value: Schema.Finite, left })
    : Schema.Struct({ left, value: Schema.Finite })
  return whole
}

const leaf = (name: string): Channel.AnySchema => Schema.Struct({ [name]: Schema.Int }) as unknown as Channel.AnySchema
const either = (one: string, other: string): Channel.AnySchema =>
  Schema.Union([Schema.suspend(() => leaf(one)), Schema.suspend(() => leaf(other))])
const twice = (which: "same" | "other"): Channel.AnySchema => {
  const [one, other] = [leaf("n"), leaf("n")]
  const second = which === "same" ? one : other
  return Schema.Tuple([Schema.suspend(() => one), Schema.suspend(() => second)])
}

describe("forms that are stored alike have one mark", () => {
  const pairs: ReadonlyArray<readonly [string, Channel.AnySchema, Channel.AnySchema]> = [
    [
      "the order of keys",
      Schema.Struct({ a: Schema.Int, b: Schema.String }),
      Schema.Struct({ b: Schema.String, a: Schema.Int })
    ],
    ["the order of members", Schema.Union([Schema.Int, Schema.String]), Schema.Union([Schema.String, Schema.Int])],
    ["what holds itself, said in another order", tree("as it is"), tree("turned")],
    ["an enum, and its values", Schema.Enum({ A: "a", B: "b" }), Schema.Literals(["b", "a"])],
    ["suspended members in another order", either("a", "b"), either("b", "a")],
    ["what is suspended twice, once or as another", twice("same"), twice("other")],
    ["names and notes", Schema.String.annotate({ title: "Name" }), Schema.String],
    ["checks", Schema.String.check(Schema.isMaxLength(3)), Schema.String]
  ]
  for (const [name, one, other] of pairs) it(name, () => assert.strictEqual(of(one), of(other)))
})

describe("forms that are not stored alike have two", () => {
  const list = (item: () => Channel.AnySchema): Channel.AnySchema =>
    Schema.Struct({ items: Schema.Array(Schema.suspend(item)) })
  const same: Channel.AnySchema = list(() => same)
  const inner: Channel.AnySchema = Schema.Struct({ items: Schema.Array(Schema.String) })
  const pairs: ReadonlyArray<readonly [string, Channel.AnySchema, Channel.AnySchema]> = [
    ["an optional key", Schema.Struct({ a: Schema.Int }), Schema.Struct({ a: Schema.optionalKey(Schema.Int) })],
    ["the order of a tuple", Schema.Tuple([Schema.Int, Schema.String]), Schema.Tuple([Schema.String, Schema.Int])],
    ["what holds itself, and what holds something else", same, list(() => inner)],
    ["suspended members that differ inside", either("a", "b"), either("a", "c")],
    ["enums of other values", Schema.Enum({ A: 1, B: 2 }), Schema.Enum({ A: 1, B: 3 })],
    [
      "records beside an enum",
      Schema.Struct({ e: Schema.Enum({ A: "a" }), cents: Schema.Int }),
      Schema.Struct({ e: Schema.Enum({ A: "a" }), euros: Schema.Int })
    ],
    ["a key and a value", Schema.Struct({ a: Schema.Literal("b") }), Schema.Struct({ b: Schema.Literal("a") })],
    ["a text and a number of the same digits", Schema.Literal("1"), Schema.Literal(1)]
  ]
  for (const [name, one, other] of pairs) it(name, () => assert.notStrictEqual(of(one), of(other)))
})

it("schemas that hold each other are each looked at once", () => {
  const size = 16
  let asked = 0
  const schemas: Array<Channel.AnySchema> = []
  for (let n = 0; n < size; n++) {
    const fields = Array.from({ length: size }, (_, other) => [
      `k${other}`,
      Schema.optionalKey(Schema.suspend(() => {
        asked++
        return schemas[other]!
      }))
    ])
    schemas.push(
      Schema.Struct({ ...Object.fromEntries(fields), [`own${n}`]: Schema.Int }) as unknown as Channel.AnySchema
    )
  }
  assert.match(of(schemas[0]!), /^LastValue [0-9a-f]{12}$/)
  // By the schemas that derive the stored form, too.
  assert.isAtMost(asked, size * size * 8)
  assert.notStrictEqual(of(schemas[0]!), of(schemas[1]!))
})

it("unions inside unions, and parts that are met again, are each looked at once", () => {
  let deep: Channel.AnySchema = Schema.Int
  for (let n = 0; n < 200; n++) {
    deep = Schema.Union([Schema.Struct({ a: deep, b: deep }), Schema.Null]) as unknown as Channel.AnySchema
  }
  // By repeated looking it would take longer than the world is old.
  assert.match(of(deep), /^LastValue [0-9a-f]{12}$/)
})

it("what makes new parts for ever has a mark", () => {
  const endless = (depth: number): Channel.AnySchema =>
    Schema.Struct({ [`k${depth}`]: Schema.optionalKey(Schema.suspend(() => endless(depth + 1))) })
  const marks = [of(endless(0)), of(endless(1)), of(Schema.Struct({}))]
  assert.strictEqual(new Set(marks).size, marks.length)
})

it("a mark says the kind of its rule, and which are read as each other", () => {
  const sum = markOf(Channel.reducer({ value: Schema.Int, initial: () => 0, reduce: (a, b) => a + b }))
  const last = of(Schema.Int)
  const topics = [{}, { accumulate: true }, { accumulate: true, unique: true }]
  assert.deepStrictEqual([last, sum].map(kindOf), ["LastValue", "Reducer"])
  assert.deepStrictEqual(topics.map((options) => kindOf(markOf(Channel.topic(Schema.Int, options)))), [
    "Topic",
    "Topic(accumulate)",
    "Topic(accumulate,unique)"
  ])
  assert.isFalse(isSameKind(last, sum))
  assert.isFalse(isReadable(last, sum))
  const [appends, added] = [
    Channel.append(Schema.Int),
    Channel.reducer({
      value: Schema.Array(Schema.Int),
      initial: () => [],
      reduce: (a: ReadonlyArray<number>, b: ReadonlyArray<number>) => [...a, ...b]
    })
  ].map(markOf)
  assert.notStrictEqual(appends, added)
  assert.isTrue(isReadable(appends!, added!))
})
