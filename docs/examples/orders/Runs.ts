/** The runs of this process: each in the scope of the service, with a journal that clients read. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { type Checkpointer, type Event, Journal, type Thread } from "superstep"
import { orders, type Prices } from "./Order.ts"

const modes = ["values", "updates", "lifecycle"] as const

type Input = Thread.InputOf<ReturnType<typeof orders["thread"]>>

export type OrderJournal = Journal.Journal<Event.Any, unknown>

/** Starts and resumes orders, and gives the journal of the last run of each. */
export class Runs extends Context.Service<Runs, {
  readonly begin: (id: string, input: Input) => Effect.Effect<OrderJournal>
  readonly journal: (id: string) => OrderJournal | undefined
}>()("orders/Runs") {
  static readonly layer: Layer.Layer<Runs, never, Checkpointer.Checkpointer | Prices> = Layer.effect(
    Runs,
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const context = yield* Effect.context<Checkpointer.Checkpointer | Prices>()
      const journals = new Map<string, OrderJournal>()
      return Runs.of({
        begin: Effect.fnUntraced(
          function*(id: string, input: Input) {
            const journal = yield* Journal.make(orders.thread(id).stream(input, { modes })).pipe(Effect.orDie)
            journals.set(id, journal)
            return journal
          },
          (effect) => Effect.provideService(Effect.provide(effect, context), Scope.Scope, scope)
        ),
        journal: (id) => journals.get(id)
      })
    })
  )
}
