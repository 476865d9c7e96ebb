/** The places of graphs inside tasks, as texts. */
import { assert, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  nodeOf,
  placeOf,
  ROOT,
  segmentOf,
  segmentsOf,
  separators,
  taskOf,
  within
} from "../../src/internal/engine/namespace.ts"

const name = fc.string({ unit: "binary", minLength: 1 }).filter((text) => !separators.some((one) => text.includes(one)))
const index = fc.option(fc.nat(), { nil: undefined })
const key = fc.option(fc.string({ unit: "binary", minLength: 1 }), { nil: undefined })
const segment = fc.record({ name, index, key })
const textOf = (one: { readonly name: string; readonly index: number | undefined; readonly key: string | undefined }) =>
  segmentOf(placeOf(one.name, one.index), one.key)

it("Law9 a namespace tells its segments, and a segment its node and its task", () => {
  fc.assert(fc.property(fc.array(segment), (all) => {
    const texts = all.map(textOf)
    assert.deepStrictEqual(segmentsOf(texts.reduce(within, ROOT)), texts)
    for (const one of all) {
      assert.strictEqual(nodeOf(textOf(one)), one.name)
      assert.strictEqual(taskOf(textOf(one)), placeOf(one.name, one.index))
    }
  }))
})

it("Law9 two places have two names", () => {
  fc.assert(fc.property(segment, segment, (a, b) => {
    const isSame = a.name === b.name && a.index === b.index && a.key === b.key
    assert.strictEqual(textOf(a) === textOf(b), isSame)
  }))
  const [call, node] = [segmentOf(placeOf("a", undefined), "0"), segmentOf(placeOf("a", 0), undefined)]
  assert.deepStrictEqual([call, node], ["a~0", "a:0"])
})
