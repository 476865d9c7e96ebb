/**
 * What one attempt of a task asks, and what it is answered. Every question is
 * noted here when it is asked, so that code in the node that catches the
 * failure cannot make the run go on without an answer.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import { CheckpointError, ConcurrentCall, InterruptMismatch } from "../../GraphError.ts"
import { type Any, type AnyRequest, Request, type Scratchpad } from "../../Interrupt.ts"
import { canonical } from "../canonical.ts"
import { hash } from "../engine/hash.ts"
import type { Answers, StoredRequest } from "../engine/stored.ts"

/** A question without an answer. */
export interface Asked {
  readonly request: AnyRequest
  readonly stored: StoredRequest
}

/** Where a task stands: what the ids of its questions are made of. */
export interface Place {
  readonly namespace: string
  readonly branch: number
  readonly checkpoint: string
  readonly task: string
  readonly node: string
  readonly thread: string | undefined
}

export class AttemptScratchpad implements Scratchpad {
  readonly #place: Place
  readonly #answers: Answers
  readonly #ordinals = new Map<string, number>()
  #fiber: number | undefined = undefined
  /** Unanswered questions, in the order asked. */
  readonly asked = new Map<string, Asked>()
  #unkeyed: AnyRequest | undefined = undefined
  /** Answers that turned out to be to another question. */
  readonly voided: Array<string> = []
  /** What ends the task whatever else it did: the engine's own failure. */
  failure: ConcurrentCall | CheckpointError | undefined = undefined
  mismatch: InterruptMismatch | undefined = undefined
  /** Whether a question was answered. */
  isAnswered = false

  constructor(place: Place, answers: Answers) {
    this.#place = place
    this.#answers = answers
  }

  ask(interrupt: Any, payload: unknown, key: string | undefined, fiber: number): Result.Result<unknown, AnyRequest> {
    const { tag } = interrupt
    if (key === undefined) {
      this.#fiber ??= fiber
      if (this.#fiber !== fiber) {
        this.failure ??= new ConcurrentCall({ kind: "ask", node: this.#place.node, name: tag })
        return Result.fail(this.#unkeyed ?? this.#request(interrupt, payload, "concurrent"))
      }
      if (this.#unkeyed !== undefined) return Result.fail(this.#unkeyed)
    }
    const ordinal = this.#ordinals.get(tag) ?? 0
    const request = this.#request(interrupt, payload, key === undefined ? `ordinal:${ordinal}` : `key:${key}`)
    const encoded = Channel.encode(Channel.lastValue(interrupt.payload), Option.some(payload) as Option.Some<unknown>)
    if (Result.isFailure(encoded)) return this.#fault("Encode", request, encoded.failure)
    const answer = this.#answers.get(request.id)
    const text = canonical(encoded.success)
    if (answer !== undefined && answer.payload === text) {
      this.isAnswered = true
      if (key === undefined) this.#ordinals.set(tag, ordinal + 1)
      const decoded = Channel.decode(Channel.lastValue(interrupt.answer), answer.answer)
      return Result.isFailure(decoded)
        ? this.#fault("Decode", request, decoded.failure)
        : Result.succeed(Option.getOrThrow(decoded.success))
    }
    if (answer !== undefined) this.#mismatch(request, encoded.success, answer.payload)
    if (key === undefined) this.#unkeyed = request
    this.asked.set(request.id, { request, stored: { id: request.id, tag, payload: encoded.success } })
    return Result.fail(request)
  }

  /** Notes what a graph that this task called asks. */
  note(paused: {
    readonly asked: ReadonlyArray<Asked>
    readonly voided: ReadonlyArray<string>
    readonly mismatch: InterruptMismatch | undefined
  }): void {
    for (const one of paused.asked) this.asked.set(one.request.id, one)
    this.voided.push(...paused.voided)
    this.mismatch ??= paused.mismatch
  }

  #request(interrupt: Any, payload: unknown, at: string): AnyRequest {
    const { branch, checkpoint, namespace, task } = this.#place
    const id = hash("request", namespace, String(branch), checkpoint, task, interrupt.tag, at)
    return new Request({ tag: interrupt.tag, id, payload })
  }

  #mismatch(request: AnyRequest, now: Schema.Json, answered: string): void {
    this.voided.push(request.id)
    this.mismatch ??= new InterruptMismatch({
      node: this.#place.node,
      tag: request.tag,
      answered: JSON.parse(answered) as unknown,
      now
    })
  }

  #fault(reason: "Encode" | "Decode", request: AnyRequest, detail: string): Result.Result<never, AnyRequest> {
    this.failure ??= new CheckpointError({
      reason,
      thread: this.#place.thread ?? "",
      checkpoint: this.#place.checkpoint,
      channel: `interrupt ${request.tag}`,
      detail
    })
    return Result.fail(request)
  }
}
