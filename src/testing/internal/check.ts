/** What a case compares with: a failure that tells what was expected and what was found. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"

/** How much of a value a message shows. */
const shownLength = 400

const undefinedText = "\u0000undefined\u0000"

/** A value as a text: JSON that tells `undefined`. */
const textOf = (value: unknown): string =>
  JSON.stringify(value === undefined ? undefinedText : value, (_, part) => part === undefined ? undefinedText : part)
    .replaceAll(JSON.stringify(undefinedText), "undefined")

/** Where two texts begin to differ. */
const differAt = (one: string, two: string): number => {
  let at = 0
  while (at < one.length && one[at] === two[at]) at++
  return at
}

/** The part of a text around a place. */
const around = (text: string, at: number): string => {
  const start = Math.max(0, Math.min(at - shownLength / 2, text.length - shownLength))
  const end = start + shownLength
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`
}

/**
 * A case that does not hold: what was looked at, what the contract expects of it, and what was found.
 *
 * @category errors
 * @since 0.1.0
 */
export class CaseFailed extends Data.TaggedError("CaseFailed")<{
  readonly what: string
  readonly expected: unknown
  readonly found: unknown
}> {
  override get message(): string {
    const [expected, found] = [textOf(this.expected), textOf(this.found)]
    const at = differAt(expected, found)
    return `${this.what}: expected ${around(expected, at)}, found ${around(found, at)}`
  }
}

/** Fails unless what was found is what is expected, by value. */
export const same = (what: string, found: unknown, expected: unknown): Effect.Effect<void, CaseFailed> =>
  Effect.suspend(() => Equal.equals(found, expected) ? Effect.void : new CaseFailed({ what, expected, found }))

/** Fails unless the effect fails with the tag; gives the failure. */
export const failsWith = <E extends { readonly _tag: string }, Tag extends E["_tag"], R>(
  what: string,
  tag: Tag,
  effect: Effect.Effect<unknown, E, R>
): Effect.Effect<Extract<E, { readonly _tag: Tag }>, CaseFailed | E, R> =>
  Effect.matchEffect(effect, {
    onSuccess: () => new CaseFailed({ what, expected: tag, found: "success" }),
    onFailure: (error) =>
      error._tag === tag
        ? Effect.succeed(error as Extract<E, { readonly _tag: Tag }>)
        : new CaseFailed({ what, expected: tag, found: `${error._tag}: ${String(error)}` })
  })
