/** Runs the public contract of a `Store` against each layer. */
import { describe, it } from "@effect/vitest"
import { Layer } from "effect"
import * as Store from "superstep/Store"
import * as StoreSuite from "superstep/testing/StoreSuite"

const storeSuite = <E>(name: string, options: StoreSuite.Options<E>): void => {
  describe(`Store: ${name}`, () => {
    StoreSuite.register((title, run) => it(title, run, 60_000), options)
  })
}

storeSuite("memory", {
  layer: Store.layerMemory,
  semantic: Layer.effect(Store.Store, Store.makeMemory({ semantic: true }))
})
