/** Serves orders, kept in `orders.sqlite`: `npx node --conditions=superstep-src docs/examples/orders/main.ts`. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import * as SqlCheckpointer from "superstep/sql/SqlCheckpointer"
import { routes } from "./Api.ts"
import { Prices } from "./Order.ts"

HttpRouter.serve(routes).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { port: 8080, host: "127.0.0.1" })),
  Layer.provide([Prices.layer, SqlCheckpointer.layerSqlite({ filename: "orders.sqlite" })]),
  Layer.launch,
  NodeRuntime.runMain
)
