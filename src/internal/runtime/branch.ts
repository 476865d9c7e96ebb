/** The branches of a task: where what it calls and asks has its place, and where it goes no further. */
import * as Context from "effect/Context"
import type { AnyRequest } from "../../Interrupt.ts"
import { hash } from "../engine/hash.ts"

/** A fiber, as far as a branch looks at it. */
export interface Caller {
  readonly id: number
  readonly context: Context.Context<never>
}

/** What tells a call from others: the same for one that is made again. Asked for only where one has gone wrong. */
export type Call = () => unknown

/** What is called or asked one after another in one attempt of a task: by the node itself, or by one of several effects that it runs at once. */
export class Branch {
  /** The attempt that it belongs to. */
  readonly owner: object
  /** The prefix of its places: that of the node itself is empty. */
  readonly place: string
  #caller: number | undefined = undefined
  #asker: number | undefined = undefined
  #count = 0
  /** The call that was made last, if it has gone wrong. */
  #wrong: { readonly place: string; readonly call: Call } | undefined = undefined
  /**
   * Whether a call has gone wrong, in this run or in the one before. Then others may have followed than will now: where another call stands at a
   * place, that is no fault of the function.
   */
  isLoose: boolean
  /** What it waits for, if it has asked for what it was not given. */
  unanswered: AnyRequest | undefined = undefined
  /** How often each question was asked and answered, by tag. */
  readonly ordinals = new Map<string, number>()
  /** Why it goes no further in this run, once it does not. */
  end: unknown = undefined
  /** The youngest fiber that goes no further. */
  #closed = 0

  constructor(owner: object, place: string, isLoose: boolean) {
    this.owner = owner
    this.place = place
    this.isLoose = isLoose
  }

  /** The place of the next call; none for a second fiber. A call that has gone wrong has the same place when it is made again. */
  next(fiber: number, call: Call): string | undefined {
    this.#caller ??= fiber
    if (this.#caller !== fiber) return undefined
    const wrong = this.#wrong
    this.#wrong = undefined
    return wrong !== undefined && wrong.call() === call() ? wrong.place : `${this.place}${this.#count++}`
  }

  /** Notes that the call of a place has gone wrong: it is made again, now or in a later run, or others follow that would not otherwise. */
  fail(place: string, call: Call): void {
    this.#wrong = { place, call }
    this.isLoose = true
  }

  /** Whether the questions of the branch are those of the fiber. */
  isAskedBy(fiber: number): boolean {
    this.#asker ??= fiber
    return this.#asker === fiber
  }

  /** Notes that a fiber of the branch goes no further in this run. */
  close(error: unknown, fiber: number): void {
    this.end ??= error
    this.#closed = Math.max(this.#closed, fiber)
  }

  /**
   * Why a fiber of the branch calls nothing more in this run. What handles a pause, or cleans up behind it, is not part of the work: its
   * calls would take the places of those that come with the answer. Fibers that were started after the one that waits go on: what
   * one of several waits for is no end for the others.
   */
  endOf(fiber: number): unknown {
    return fiber <= this.#closed ? this.end : undefined
  }
}

/** The branch that a fiber belongs to, where it is not the node itself. */
export const CurrentBranch = Context.Reference<Branch | undefined>("superstep/CurrentBranch", {
  defaultValue: () => undefined
})

/** The branch that a fiber belongs to: what a task inside the task runs is not in the branches of the task. */
export const branchOf = (root: Branch, fiber: Caller): Branch => {
  const branch = Context.get(fiber.context, CurrentBranch)
  return branch?.owner === root.owner ? branch : root
}

/** The place of a call beside one where another stands. */
export const besidePlace = (place: string, call: string): string => `${place}x${hash(call)}`

// Longer than any number of calls.
const maxDigits = 16

/** A place as a text that sorts as its calls are made. */
export const inOrder = (place: string): string =>
  place.split(".").map((part) => part.padStart(maxDigits, "0")).join(".")
