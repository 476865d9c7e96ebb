/** The service of the example, over HTTP: orders are placed, watched, approved, and outlive the process. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as Sse from "effect/encoding/Sse"
import { FetchHttpClient, HttpRouter, HttpServer } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { createServer } from "node:http"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { Api, routes } from "../../../docs/examples/orders/Api.ts"
import { Prices } from "../../../docs/examples/orders/Order.ts"

/** A process of the service, on a port of its own. */
const serving = <A, E>(filename: string, use: (base: string) => Effect.Effect<A, E, HttpServer.HttpServer>) => {
  const server = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
    Layer.provide([Prices.layer, SqlCheckpointer.layerSqlite({ filename })])
  )
  return Effect.flatMap(
    HttpServer.HttpServer,
    ({ address }) => use(`http://127.0.0.1:${(address as { readonly port: number }).port}`)
  ).pipe(Effect.provide(Layer.fresh(server)), Effect.scoped)
}

const clientOf = (baseUrl: string) => HttpApiClient.make(Api, { baseUrl }).pipe(Effect.provide(FetchHttpClient.layer))

interface Told {
  readonly id: string | undefined
  readonly event: string
  readonly data: { readonly type?: string; readonly node?: string; readonly values?: { readonly total: number } }
}

/** Reads events until so many have come, and is cut off then; or to the end. */
const watch = (base: string, id: string, after?: string, count = Infinity) =>
  Effect.promise(async (signal) => {
    const headers = after === undefined ? {} : { "last-event-id": after }
    const response = await fetch(`${base}/orders/${id}/events`, { headers, signal })
    assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
    const told: Array<Told> = []
    const parser = Sse.makeParser((event) => {
      if (event._tag === "Event") told.push({ id: event.id, event: event.event, data: JSON.parse(event.data) })
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    for (let next = await reader.read(); !next.done && told.length < count; next = await reader.read()) {
      parser.feed(next.value)
    }
    await reader.cancel()
    return told.slice(0, count)
  })

const shown = ({ data, event }: Told): string =>
  event === "lifecycle" ? data.type! : event === "updates" ? data.node! : event

const temporary = Effect.flatMap(FileSystem.FileSystem, (files) => files.makeTempDirectoryScoped({ prefix: "orders-" }))

it.live("an order is placed, watched, answered and shipped, over HTTP, in two processes", () =>
  Effect.gen(function*() {
    const filename = `${yield* temporary}/orders.sqlite`
    yield* serving(
      filename,
      Effect.fnUntraced(function*(base) {
        const { orders } = yield* clientOf(base)
        assert.deepStrictEqual(yield* orders.items(), ["book", "lamp"])
        // One that needs nobody.
        yield* orders.place({ params: { id: "small" }, payload: { item: "book", quantity: 2 } })
        const all = yield* watch(base, "small")
        assert.deepStrictEqual(all.map(shown), [
          "started",
          "values",
          "price",
          "values",
          "approve",
          "values",
          "ship",
          "values",
          "completed"
        ])
        // A client that was cut off, anywhere, goes on with the rest.
        for (let count = 1; count < all.length; count++) {
          const first = yield* watch(base, "small", undefined, count)
          assert.deepStrictEqual([...first, ...yield* watch(base, "small", first.at(-1)!.id)], all)
        }
        assert.deepStrictEqual((yield* orders.state({ params: { id: "small" } })).log, [
          "2 book: 2400",
          "approved",
          "shipped"
        ])
        // One that has to be approved: by a process that comes later.
        yield* orders.place({ params: { id: "large" }, payload: { item: "lamp", quantity: 3 } })
        assert.deepStrictEqual((yield* watch(base, "large")).map(shown), [
          "started",
          "values",
          "price",
          "values",
          "paused",
          "paused"
        ])
      })
    )
    yield* serving(
      filename,
      Effect.fnUntraced(function*(base) {
        const { orders } = yield* clientOf(base)
        const { waiting } = yield* orders.state({ params: { id: "large" } })
        assert.deepStrictEqual(waiting.map(({ payload, tag }) => [tag, payload]), [["Approve", {
          item: "lamp",
          total: 13_500
        }]])
        yield* orders.answer({ params: { id: "large" }, payload: { approved: true } })
        assert.deepStrictEqual((yield* watch(base, "large")).map(shown), [
          "resumed",
          "approve",
          "values",
          "ship",
          "values",
          "completed"
        ])
        assert.deepStrictEqual((yield* orders.state({ params: { id: "large" } })).log, [
          "3 lamp: 13500",
          "approved",
          "shipped"
        ])
      })
    )
  }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)))

it.live("what cannot be is told with a status of its own", () =>
  Effect.gen(function*() {
    const filename = `${yield* temporary}/orders.sqlite`
    yield* serving(
      filename,
      Effect.fnUntraced(function*(base) {
        const { orders } = yield* clientOf(base)
        const none = { params: { id: "none" } }
        assert.strictEqual((yield* Effect.flip(orders.state(none)))._tag, "NotFound")
        assert.strictEqual(
          (yield* Effect.flip(orders.answer({ ...none, payload: { approved: true } })))._tag,
          "NotFound"
        )
        const book = { params: { id: "b" }, payload: { item: "book", quantity: 1 } }
        yield* orders.place(book)
        yield* watch(base, "b")
        assert.strictEqual((yield* Effect.flip(orders.place(book)))._tag, "Refused")
        assert.strictEqual(
          (yield* Effect.flip(orders.answer({ params: book.params, payload: { approved: true } })))._tag,
          "Refused"
        )
        // What the graph fails with is its last event.
        yield* orders.place({ params: { id: "odd" }, payload: { item: "unknown", quantity: 1 } })
        assert.deepStrictEqual((yield* watch(base, "odd")).map(shown), ["started", "values", "failed"])
        const status = yield* Effect.promise(async () => (await fetch(`${base}/orders/none/events`)).status)
        assert.strictEqual(status, 404)
      })
    )
  }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)))
