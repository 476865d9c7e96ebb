/** What the service offers: orders are placed, looked at, watched and approved. */
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Command, Journal } from "superstep"
import { Approve, orders, Prices } from "./Order.ts"
import { Runs } from "./Runs.ts"

export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { id: Schema.String }, {
  httpApiStatus: 404
}) {}
/** The order is there already, or waits for no answer. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { reason: Schema.String }, {
  httpApiStatus: 409
}) {}

export const State = Schema.Struct({
  id: Schema.String,
  total: Schema.Int,
  log: Schema.Array(Schema.String),
  /** What the order waits for; nothing if it does not. */
  waiting: Schema.Array(Schema.Struct({ id: Schema.String, tag: Schema.String, payload: Schema.Unknown }))
})

const params = { id: Schema.String }

export class Orders extends HttpApiGroup.make("orders")
  .add(HttpApiEndpoint.get("items", "/items", { success: Schema.Array(Schema.String) }))
  .add(HttpApiEndpoint.post("place", "/orders/:id", {
    params,
    payload: Schema.Struct({ item: Schema.String, quantity: Schema.Int }),
    success: Schema.Struct({ id: Schema.String }),
    error: Refused
  }))
  .add(HttpApiEndpoint.get("state", "/orders/:id", { params, success: State, error: NotFound }))
  .add(HttpApiEndpoint.post("answer", "/orders/:id/answer", {
    params,
    payload: Schema.Struct({ approved: Schema.Boolean }),
    success: Schema.Struct({ id: Schema.String }),
    error: [NotFound, Refused]
  }))
{}

export class Api extends HttpApi.make("orders").add(Orders) {}

/** Where an order stands. */
const stateOf = (id: string) =>
  orders.thread(id).state().pipe(
    Effect.catchTag("UnknownThread", () => Effect.fail(new NotFound({ id }))),
    Effect.catchTags({
      CheckpointError: Effect.die,
      GraphChanged: Effect.die,
      UnknownCheckpoint: Effect.die,
      InvalidArgument: Effect.die,
      InvalidUpdate: Effect.die
    })
  )

const handlers = HttpApiBuilder.group(
  Api,
  "orders",
  Effect.fnUntraced(function*(handlers) {
    const { items } = yield* Prices
    const runs = yield* Runs
    return handlers.handleAll({
      items: () => items,
      place: Effect.fnUntraced(function*({ params: { id }, payload }) {
        const known = yield* Effect.option(stateOf(id))
        if (known._tag === "Some") return yield* new Refused({ reason: "there is an order of this id" })
        yield* runs.begin(id, payload)
        return { id }
      }),
      state: ({ params: { id } }) =>
        Effect.map(stateOf(id), ({ requests, values }) => ({
          id,
          total: values.total,
          log: values.log,
          waiting: requests.map(({ id, payload, tag }) => ({ id, tag, payload }))
        })),
      answer: Effect.fnUntraced(function*({ params: { id }, payload }) {
        const { requests } = yield* stateOf(id)
        if (requests.length === 0) return yield* new Refused({ reason: "the order waits for no answer" })
        yield* runs.begin(id, Command.resume(Approve.reply(payload.approved)))
        return { id }
      })
    })
  })
)

/** The events of the last run of an order: from the beginning, or behind the one that the client has seen last. */
const events = HttpRouter.use((router) =>
  Effect.gen(function*() {
    const runs = yield* Runs
    yield* router.add(
      "GET",
      "/orders/:id/events",
      Effect.gen(function*() {
        const { id = "" } = yield* HttpRouter.params
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const journal = runs.journal(id)
        if (journal === undefined) return HttpServerResponse.empty({ status: 404 })
        const after = Number(headers["last-event-id"] ?? 0)
        const text = journal.read({ after }).pipe(
          Journal.toSse(orders),
          // How a run ends is its last event.
          Stream.catchCause(() => Stream.empty)
        )
        return HttpServerResponse.stream(Stream.encodeText(text), { contentType: "text/event-stream" })
      })
    )
  })
)

/** The routes of the service. They share their services with the graph. */
export const routes = Layer.mergeAll(HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers)), events).pipe(
  Layer.provide(Runs.layer)
)
