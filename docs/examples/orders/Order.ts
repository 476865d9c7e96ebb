/** An order: it is priced, approved by somebody, and shipped. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Channel, Interrupt, State, StateGraph } from "superstep"

/** What things cost, in cents. The graph and the rest of the service share it. */
export class Prices extends Context.Service<Prices, {
  readonly of: (item: string) => Effect.Effect<number, UnknownItem>
  readonly items: Effect.Effect<ReadonlyArray<string>>
}>()("orders/Prices") {
  static readonly layer = Layer.sync(Prices, () => {
    const prices = new Map([["book", 1_200], ["lamp", 4_500]])
    return Prices.of({
      of: (item) => {
        const price = prices.get(item)
        return price === undefined ? Effect.fail(new UnknownItem({ item })) : Effect.succeed(price)
      },
      items: Effect.sync(() => [...prices.keys()])
    })
  })
}

export class UnknownItem extends Schema.TaggedError<UnknownItem>()("UnknownItem", { item: Schema.String }) {}

/** Orders of more than this have to be approved, in cents. */
const limit = 5_000

export class Approve extends Interrupt.make("Approve", {
  payload: Schema.Struct({ item: Schema.String, total: Schema.Int }),
  answer: Schema.Boolean
}) {}

export class Order extends State.make({
  item: Schema.String,
  quantity: Schema.Int,
  total: Channel.lastValue(Schema.Int, { initial: () => 0 }),
  log: Channel.append(Schema.String)
}) {}

export const orders = StateGraph.make(
  "orders",
  StateGraph.nodes(Order, {
    price: Effect.fnUntraced(function*({ item, quantity }) {
      const { of } = yield* Prices
      const total = (yield* of(item)) * quantity
      return { total, log: [`${quantity} ${item}: ${total}`] }
    }),
    approve: Effect.fnUntraced(function*({ item, total }) {
      const isApproved = total <= limit || (yield* Approve.ask({ item, total }))
      return { log: [isApproved ? "approved" : "refused"] }
    }),
    ship: () => ({ log: ["shipped"] })
  }),
  {
    start: "price",
    edges: {
      price: "approve",
      approve: StateGraph.route(["ship"], ({ log }) => log.at(-1) === "approved" ? "ship" : [])
    }
  }
)
