/**
 * Pauses that wait for an answer from outside. An interrupt has a tag, a schema
 * for what it shows and a schema for the answer that resumes it.
 *
 * To ask is to fail, in type and in fact: the node stops where it stands, and
 * when an answer has come it runs again from its start, and the same `ask`
 * succeeds. What a graph can ask is read off the requirements of its nodes, so
 * that no `catch` inside a node can hide it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { AnySchema } from "./Channel.ts"
import type { PendingRequest } from "./Checkpoint.ts"
import { CurrentAsker } from "./internal/asker.ts"
import { each, say } from "./internal/say.ts"
import { Running } from "./Running.ts"

const TypeId = "~superstep/Interrupt"

/**
 * A question that a node can ask.
 *
 * @category models
 * @since 0.1.0
 */
export interface Interrupt<Tag extends string, Payload extends AnySchema, Answer extends AnySchema> {
  new(_: never): {}
  readonly [TypeId]: typeof TypeId
  readonly tag: Tag
  readonly payload: Payload
  readonly answer: Answer
  /**
   * Asks, and waits for the answer. Several asks of one tag in a node are told apart by their order; asks from several
   * fibers need a `key`, which no other question of the tag has in the node.
   */
  ask(payload: Payload["Type"], options?: { readonly key?: string }): Effect.Effect<
    Answer["Type"],
    Request<Tag, Payload["Type"], Answer["Type"]>,
    Running | Asks<Request<Tag, Payload["Type"], Answer["Type"]>>
  >
  /** An answer to this question. `id` names one request where several wait. */
  reply(answer: Answer["Type"], options?: { readonly id?: string }): Reply<Tag, Answer["Type"]>
}

/**
 * Any question.
 *
 * @category models
 * @since 0.1.0
 */
export interface Any {
  readonly [TypeId]: typeof TypeId
  readonly tag: string
  readonly payload: AnySchema
  readonly answer: AnySchema
}

/**
 * What a question shows.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Payload<I extends Any> = I["payload"]["Type"]

/**
 * What answers a question.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Answer<I extends Any> = I["answer"]["Type"]

/**
 * The failure with which a task stops to ask, and an entry of what a paused thread waits for.
 *
 * @category models
 * @since 0.1.0
 */
export class Request<out Tag extends string, out Payload, out Answer> extends Data.TaggedError("InterruptRequest")<{
  readonly tag: Tag
  /** Names this request in `reply(answer, { id })`. Unique in its thread; other threads may have the same. Empty where no run is around the question. */
  readonly id: string
  readonly payload: Payload
  readonly "~answer"?: Answer
}> {}

/**
 * Any request.
 *
 * @category models
 * @since 0.1.0
 */
// oxlint-disable-next-line typescript/no-explicit-any
export interface AnyRequest extends Request<string, any, any> {}

/**
 * Marks, in the requirements of an effect, that it can ask. It stands for no service: graphs take it out.
 *
 * @category models
 * @since 0.1.0
 */
export interface Asks<out Q> {
  readonly "~superstep/Asks": Q
}

/**
 * What asking this adds to the requirements of an effect.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type Asking<Q> = [Q] extends [never] ? never : Asks<Q>

/**
 * An answer on its way to a request.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reply<out Tag extends string, out Answer> {
  readonly _tag: "Reply"
  readonly tag: Tag
  readonly answer: Answer
  readonly id: string | undefined
  /** The question whose schema the answer has to fit. */
  readonly interrupt: Any
}

export declare namespace Reply {
  /**
   * Any answer.
   *
   * @category models
   * @since 0.1.0
   */
  export interface Any extends Reply<string, unknown> {}
}

/**
 * Whether a value is what `reply` of an interrupt made. Data from outside never is: it holds no interrupt.
 *
 * @internal
 */
export const isReply = (u: unknown): u is Reply.Any => {
  if (typeof u !== "object" || u === null) return false
  const { _tag, id, interrupt, tag } = u as Partial<Reply.Any>
  return _tag === "Reply" && typeof interrupt === "function" && TypeId in interrupt && tag === (interrupt as Any).tag &&
    (id === undefined || typeof id === "string")
}

/**
 * The replies that fit the given requests.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type ReplyFor<Q> = Q extends Request<infer Tag, unknown, infer Answer> ? Reply<Tag, Answer> : never

/**
 * The given requests as `thread.state` shows them.
 *
 * @category type extractors
 * @since 0.1.0
 */
export type PendingFor<Q> = Q extends Request<infer Tag, infer Payload, unknown> ? PendingRequest<Tag, Payload> : never

/**
 * Whether a graph that can ask this can pause.
 *
 * @category type extractors
 * @since 0.1.0
 */
// While TypeScript infers an inline `StateGraph.make(...)`, the requests are `any` for a moment.
export type CanPause<Q> = 0 extends 1 & Q ? false : [Q] extends [never] ? false : true

/**
 * The failure of a run that waits for answers. It is durable before it is seen.
 *
 * @category errors
 * @since 0.1.0
 */
export class GraphInterrupt<out Q extends AnyRequest> extends Data.TaggedError("GraphInterrupt")<{
  readonly thread: string | undefined
  readonly requests: ReadonlyArray<Q>
}> {
  override get message(): string {
    const asked = each(this.requests, (request) => say`"${request?.tag}" (${request?.id})`).join(", ")
    return this.thread === undefined
      ? `the run waits for an answer to ${asked}, and has no thread to wait on: run the graph on one, .thread(id)`
      : `the run waits for an answer to ${asked}`
  }
}

// Definitions by tag, to show stored requests as they were asked. The newest stands: it is what a reloaded module says.
const definitions = new Map<string, Any>()

/** @internal */
export const definition = (tag: string): Any | undefined => definitions.get(tag)

/**
 * Defines a question. A tag names one question in a program: stored payloads are shown through the newest definition of their tag.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Checkpointer, Interrupt, State, StateGraph } from "superstep"
 *
 * class Name extends Interrupt.make("Name", { payload: Schema.String, answer: Schema.String }) {}
 * class Person extends State.make({ name: Schema.String }) {}
 * const greet = StateGraph.make(
 *   "greet",
 *   StateGraph.nodes(Person, { ask: () => Effect.map(Name.ask("Who?"), (name) => ({ name })) }),
 *   { start: "ask" }
 * )
 *
 * const program = Effect.gen(function*() {
 *   const thread = greet.thread("t")
 *   const pause = yield* Effect.flip(thread.invoke({ name: "" }))
 *   if (pause._tag === "GraphInterrupt") console.log(pause.requests[0]!.payload) // => "Who?"
 *   return yield* thread.resume(Name.reply("Ada"))
 * })
 * console.log(await Effect.runPromise(program.pipe(Effect.provide(Checkpointer.layerMemory)))) // => { name: "Ada" }
 * ```
 */
export const make = <const Tag extends string, Payload extends AnySchema, Answer extends AnySchema>(
  tag: Tag,
  options: { readonly payload: Payload; readonly answer: Answer }
): Interrupt<Tag, Payload, Answer> => {
  const self = Object.assign(class {}, {
    [TypeId]: TypeId,
    tag,
    payload: options.payload,
    answer: options.answer,
    ask: (payload: unknown, asked?: { readonly key?: string }) =>
      Effect.withFiber((fiber): Effect.Effect<unknown, unknown, Running> => {
        const asker = Context.get(fiber.context, CurrentAsker)
        return asker === undefined
          // Whoever plays the run sees what is asked. No reply gets there.
          ? Effect.andThen(Running, Effect.fail(new Request({ tag, id: "", payload })))
          : Effect.fromResult(asker.ask(self, payload, asked?.key, fiber))
      }),
    reply: (answer: unknown, to?: { readonly id?: string }): Reply<Tag, unknown> => ({
      _tag: "Reply",
      tag,
      answer,
      id: to?.id,
      interrupt: self
    })
  }) as unknown as Interrupt<Tag, Payload, Answer>
  definitions.set(tag, self)
  return self
}
