/**
 * A `Send` starts one task of a node, in the next superstep, with an input of
 * its own. A route or a `Command` may hold any number of them: one node, many
 * tasks, one superstep.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Policy from "./Policy.ts"

const TypeId = "~superstep/Send"

/**
 * A packet for one node.
 *
 * @category models
 * @since 0.1.0
 */
export interface Send<out Node extends string, out Arg> {
  readonly [TypeId]: typeof TypeId
  readonly _tag: "Send"
  readonly node: Node
  readonly arg: Arg
  /** Bound on each attempt of this task, in milliseconds; overrides the node's own. */
  readonly timeoutMillis: number | undefined
}

/**
 * Any packet.
 *
 * @category models
 * @since 0.1.0
 */
// oxlint-disable-next-line typescript/no-explicit-any
export interface Any extends Send<string, any> {}

const Proto = { [TypeId]: TypeId, _tag: "Send" }

/**
 * Whether a value is a packet. Data from outside never is: a packet is known by its prototype.
 *
 * @category guards
 * @since 0.1.0
 * @example
 * ```ts
 * import { Send } from "superstep"
 *
 * console.log(Send.isSend(Send.make("work", { item: 1 }))) // => true
 * console.log(Send.isSend({ _tag: "Send", node: "work", arg: { item: 1 } })) // => false
 * ```
 */
export const isSend = (u: unknown): u is Any =>
  typeof u === "object" && u !== null && TypeId in u && !Object.hasOwn(u, TypeId)

/**
 * Starts one task of `node`, in the next superstep, with `arg` as its input.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, Node, Send, State, StateGraph } from "superstep"
 *
 * class Work extends State.make({ items: Schema.Array(Schema.Int), results: Channel.append(Schema.Int) }) {}
 * const square = Node.make({
 *   input: Schema.Struct({ item: Schema.Int }),
 *   run: ({ item }) => ({ results: [item * item] })
 * })
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Work, { square }),
 *   { start: StateGraph.route(["square"], ({ items }) => items.map((item) => Send.make("square", { item }))) }
 * )
 *
 * console.log((await Effect.runPromise(app.invoke({ items: [3, 1, 2] }))).results) // => [9, 1, 4]
 * ```
 */
export const make = <const Node extends string, Arg>(
  node: Node,
  arg: Arg,
  options?: { readonly timeout?: Duration.Input }
): Send<Node, Arg> => {
  const timeoutMillis = options?.timeout === undefined
    ? undefined
    : Policy.positiveMillis(`Send.make("${node}"): a timeout`, options.timeout)
  return Object.assign(Object.create(Proto), { node, arg, timeoutMillis }) as Send<Node, Arg>
}
