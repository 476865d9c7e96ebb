/**
 * What one attempt of a task asks, and what it is answered. Every question is
 * noted here when it is asked, so that code in the node that catches the
 * failure cannot make the run go on without an answer.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import {
  CheckpointError,
  ConcurrentCall,
  DuplicateKey,
  InterruptMismatch,
  InvalidArgument,
  type ReplayMismatch
} from "../../GraphError.ts"
import { type AnyRequest, Request } from "../../Interrupt.ts"
import type { Asker, Question } from "../asker.ts"
import { canonical } from "../canonical.ts"
import { encoding } from "../codec.ts"
import { hash } from "../engine/hash.ts"
import type { StoredAnswer, StoredRequest } from "../engine/stored.ts"
import { taking } from "../fit.ts"
import { quoted } from "../say.ts"
import type { GivenAnswers } from "./answers.ts"
import { type Branch, branchOf, type Caller, inOrder } from "./branch.ts"
import { isKey, keyShape } from "./keys.ts"

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
  /** Whether the error handler of the node asks: its questions are not those of the node. */
  readonly isHandler: boolean
  readonly thread: string | undefined
  /** The branch of the node itself. */
  readonly root: Branch
}

/** Where a question stands among those of its task: the task's own come first. */
type Order = readonly [kind: 0 | 1 | 2 | 3, key: string]

const compare = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

const byOrder = ({ order: a }: { readonly order: Order }, { order: b }: { readonly order: Order }): number =>
  a[0] - b[0] || compare(a[1], b[1])

const orderOf = (branch: Branch, key: string | undefined): Order => {
  if (key !== undefined) return [1, key]
  return branch.place === "" ? [0, ""] : [2, inOrder(branch.place)]
}

/** Answers that turned out to be void, and why. */
export interface Voids {
  readonly voided: ReadonlyArray<string>
  readonly mismatches: ReadonlyArray<InterruptMismatch>
}

export class AttemptScratchpad implements Asker {
  readonly #place: Place
  readonly #answers: GivenAnswers
  readonly #asked = new Map<string, Asked & { readonly order: Order }>()
  readonly #voids: Array<Voids & { readonly order: Order }> = []
  /** What ends the task whatever else it did: the engine's own failure. */
  failure: InvalidArgument | ConcurrentCall | DuplicateKey | CheckpointError | ReplayMismatch | undefined = undefined
  readonly #answered = new Set<string>()
  /** What was asked under each key that has no answer yet, as canonical text. */
  readonly #open = new Map<string, string>()
  /** Whether a question was answered. */
  get isAnswered(): boolean {
    return this.#answered.size > 0
  }

  constructor(place: Place, answers: GivenAnswers) {
    this.#place = place
    this.#answers = answers
  }

  ask(
    interrupt: Question,
    payload: unknown,
    key: string | undefined,
    fiber: Caller
  ): Result.Result<unknown, AnyRequest> {
    const { tag } = interrupt
    if (key !== undefined && !isKey(key)) {
      this.failure ??= new InvalidArgument({ argument: "key", detail: `Expected ${keyShape}, got ${quoted(key)}` })
      return Result.fail(this.#request(interrupt, payload, "key"))
    }
    const branch = branchOf(this.#place.root, fiber)
    if (key === undefined) {
      if (!branch.isAskedBy(fiber.id)) {
        this.failure ??= new ConcurrentCall({ kind: "ask", node: this.#place.node, called: tag })
        return Result.fail(branch.unanswered ?? this.#request(interrupt, payload, "concurrent"))
      }
      if (branch.unanswered !== undefined) return Result.fail(branch.unanswered)
      // What something that it called waits for is no time for questions of its own.
      const end = branch.endOf(fiber.id)
      if (end instanceof Request) return Result.fail(end)
    }
    const ordinal = branch.ordinals.get(tag) ?? 0
    // What is asked is what would be read back: nobody else's, and the same after a resume.
    const taken = taking(interrupt.payload, payload)
    const shown = Result.isSuccess(taken) ? taken.success : payload
    const request = this.#request(
      interrupt,
      shown,
      key === undefined ? `ordinal:${branch.place}${ordinal}` : `key:${key}`
    )
    const encoded = Result.flatMap(taken, (value) => encoding(interrupt.payload, value))
    if (Result.isFailure(encoded)) return this.#unstorable(request, encoded.failure)
    if (key !== undefined && this.#isTaken(request.id, canonical(encoded.success))) {
      // Whoever waits for another answer asks all over again, as a retry does: nothing is asked twice.
      const end = this.#answered.has(request.id) ? branch.endOf(fiber.id) : undefined
      if (end instanceof Request) return Result.fail(end)
      this.failure ??= new DuplicateKey({ kind: "ask", node: this.#place.node, called: tag, key })
      return Result.fail(request)
    }
    const given = this.#answers.take(request.id)
    const order = orderOf(branch, key)
    const answer = given === undefined
      ? Option.none()
      : this.#answerIn(interrupt, { request, payload: encoded.success, order }, given)
    if (Option.isSome(answer)) {
      this.#answered.add(request.id)
      if (key === undefined) branch.ordinals.set(tag, ordinal + 1)
      return Result.succeed(answer.value)
    }
    if (key === undefined) branch.unanswered = request
    branch.close(request, fiber.id)
    const asker = this.#place.isHandler ? { isHandler: true as const } : {}
    const stored = { id: request.id, tag, payload: encoded.success, ...asker }
    this.#asked.set(request.id, { request, stored, order })
    return Result.fail(request)
  }

  /** Whether there is a question without an answer, or an answer without its question. */
  get isPaused(): boolean {
    return this.#asked.size > 0 || this.#voids.length > 0
  }

  /** Unanswered questions: in the order asked, those with keys by key, whichever fiber was faster. */
  get asked(): ReadonlyArray<Asked> {
    return [...this.#asked.values()].sort(byOrder)
  }

  /** Notes what something asks that this task called. */
  note(paused: Voids & { readonly asked: ReadonlyArray<Asked> }, order: Order): void {
    const { isHandler } = this.#place
    for (const { request, stored } of paused.asked) {
      this.#asked.set(request.id, { request, stored: isHandler ? { ...stored, isHandler } : stored, order })
    }
    const { mismatches, voided } = paused
    if (voided.length > 0) this.#voids.push({ voided, mismatches, order })
  }

  /** Answers that turned out to be void, in the same order. */
  get voids(): Voids {
    const voids = this.#voids.toSorted(byOrder)
    return {
      voided: voids.flatMap(({ voided }) => voided),
      mismatches: voids.flatMap(({ mismatches }) => mismatches)
    }
  }

  /** Whether another question of this attempt has the key: one that was answered, or one with another payload. */
  #isTaken(id: string, payload: string): boolean {
    if (this.#answered.has(id) || (this.#open.get(id) ?? payload) !== payload) return true
    this.#open.set(id, payload)
    return false
  }

  #request(interrupt: Question, payload: unknown, at: string): AnyRequest {
    const { branch, checkpoint, isHandler, namespace, task } = this.#place
    const where = isHandler ? `handler:${at}` : at
    const id = hash("request", namespace, String(branch), checkpoint, task, interrupt.tag, where)
    return new Request({ tag: interrupt.tag, id, payload })
  }

  /** The answer, if it is one to what is asked now, and fits; else it is void. */
  #answerIn(
    interrupt: Question,
    { order, payload, request }: {
      readonly request: AnyRequest
      readonly payload: Schema.Json
      readonly order: Order
    },
    given: StoredAnswer
  ): Option.Option<unknown> {
    const isSame = given.payload === canonical(payload)
    const decoded = isSame ? Channel.decode(Channel.lastValue(interrupt.answer), given.answer) : undefined
    if (decoded !== undefined && Result.isSuccess(decoded)) return decoded.success
    // A question that is asked again by code around it is the same question.
    if (this.#voids.some(({ voided }) => voided.includes(request.id))) return Option.none()
    const mismatch = new InterruptMismatch({
      ...(decoded === undefined ? { reason: "OtherQuestion" } : { reason: "InvalidAnswer", detail: decoded.failure }),
      node: this.#place.node,
      tag: request.tag,
      answered: JSON.parse(given.payload) as unknown,
      now: payload
    })
    this.#voids.push({ voided: [request.id], mismatches: [mismatch], order })
    return Option.none()
  }

  #unstorable(request: AnyRequest, detail: string): Result.Result<never, AnyRequest> {
    this.failure ??= new CheckpointError({
      reason: "Encode",
      thread: this.#place.thread ?? "",
      checkpoint: this.#place.checkpoint,
      channel: `interrupt ${request.tag}`,
      detail
    })
    return Result.fail(request)
  }
}
