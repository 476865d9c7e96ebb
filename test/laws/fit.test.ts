/** What enters a channel, and what a fold makes, is what would be read back from storage. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { decoding, encoding } from "../../src/internal/codec.ts"
import { settling, taking } from "../../src/internal/fit.ts"
import { differenceOf } from "../../src/internal/same.ts"
import { runs } from "./budget.ts"

const isSame = (a: unknown, b: unknown): boolean => differenceOf(a, b) === undefined

const isPositiveZero = Schema.makeFilter((n: number) => !Object.is(n, -0))
const Int = Schema.Int.check(isPositiveZero)
const Key = Schema.String.check(Schema.isPattern(/^[^\\]*$/))

class Person extends Schema.Class<Person>("Person")({ name: Schema.String, born: Schema.Date }) {}

interface Tree {
  readonly label: string
  readonly children: ReadonlyArray<Tree>
}
const Tree = Schema.Struct({
  label: Schema.String,
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
})

const schemas: Readonly<Record<string, Schema.Codec<unknown, unknown>>> = {
  text: Schema.String,
  number: Int,
  "optional keys": Schema.Struct({
    a: Schema.optionalKey(Int),
    b: Schema.optional(Schema.String),
    c: Schema.NullOr(Int)
  }),
  "a list of records": Schema.Array(Schema.Record(Key, Int)),
  "a tuple with a rest": Schema.TupleWithRest(Schema.Tuple([Schema.String]), [Int]),
  "a union": Schema.Union([Int, Schema.Struct({ id: Int }), Schema.Literals(["x", "y"])]),
  "a tree": Tree,
  dates: Schema.Array(Schema.Date),
  "a map of dates": Schema.ReadonlyMap(Key, Schema.Date),
  bytes: Schema.Uint8Array,
  "a class": Schema.Array(Person),
  options: Schema.Struct({ maybe: Schema.Option(Schema.Date) }),
  json: Schema.Json
}

describe("what enters", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it.prop(
      `Law1 is what would be read back: ${name}`,
      [schema],
      ([value]) => {
        const taken = Result.getOrThrow(taking(schema, value))
        assert.isTrue(isSame(taken, value))
        const json = Result.getOrThrow(encoding(schema, taken))
        const back = Result.getOrThrow(decoding(schema, JSON.parse(JSON.stringify(json))))
        assert.isTrue(isSame(back, taken))
        // A second time nothing changes.
        assert.isTrue(isSame(Result.getOrThrow(taking(schema, taken)), taken))
        if (typeof value === "object" && value !== null) assert.notStrictEqual(taken, value)
      },
      runs(50)
    )
  }
})

describe("what a fold makes", () => {
  const Item = Schema.Struct({ id: Int, tags: Schema.Array(Schema.String) })
  const lists = {
    plain: Schema.Array(Item),
    bounded: Schema.Array(Item).check(Schema.isMaxLength(3)),
    "with a check of items": Schema.Array(Item.check(Schema.makeFilter(({ id }) => id > 0))),
    nested: Schema.Array(Schema.Array(Int.check(Schema.isGreaterThan(0))))
  } as const
  for (const [name, schema] of Object.entries(lists) as ReadonlyArray<[string, Schema.Codec<ReadonlyArray<unknown>>]>) {
    it.prop(
      `is looked at where it is new, with the result of looking at all of it: ${name}`,
      [Schema.Array(Schema.Union([Item, Schema.Array(Int)])), Schema.Array(Schema.Union([Item, Schema.Array(Int)]))],
      ([some, more]) => {
        const fits = (list: ReadonlyArray<unknown>) => Result.isSuccess(taking(schema, list))
        const before = some.filter((item) => fits([item])).slice(0, 2)
        for (
          const after of [
            [...before, ...more],
            [...before, ...more.filter((item) => fits([item]))],
            before.slice(1),
            before
          ]
        ) {
          const all = taking(schema, after)
          const settled = settling(schema, before, after)
          assert.strictEqual(Result.isSuccess(settled), Result.isSuccess(all))
          assert.deepStrictEqual(Result.merge(settled), Result.merge(all))
        }
      },
      runs(200)
    )
  }
})
