/** What a paused run asks, and the answers to it: given with the command, or typed on the terminal. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Terminal from "effect/Terminal"
import * as Channel from "../../Channel.ts"
import type { PendingRequest } from "../../Checkpoint.ts"
import * as Interrupt from "../../Interrupt.ts"
import { codes, misused, Refusal } from "./ended.ts"
import { note } from "./output.ts"
import { plain, visible } from "./text.ts"

/** An answer that was given with the command. */
export interface Given {
  readonly id: string | undefined
  readonly json: unknown
}

/** The shape of a request's id. No JSON begins with one that is followed by an equals sign. */
const byId = /^([0-9a-f]{32})=([^]*)$/

/** JSON that was given with a flag. */
export const parseJson = (flag: string, text: string): Effect.Effect<unknown, Refusal> =>
  Effect.try({
    try: () => JSON.parse(text) as unknown,
    catch: (error) => misused(`${flag} is no JSON: ${(error as Error).message}`)
  })

/** An answer from `<json>`, or `<id>=<json>`. */
export const parseAnswer = (text: string): Effect.Effect<Given, Refusal> => {
  const [, id, own = text] = byId.exec(text) ?? []
  return Effect.map(parseJson("--answer", own), (json) => ({ id, json }))
}

const encoded = (schema: Channel.AnySchema, value: unknown): unknown =>
  Result.getOrElse(
    Channel.encode(Channel.lastValue(schema), Option.some(value) as Option.Some<unknown>),
    () => plain(value)
  )

/** The JSON schema of an answer; none where it has none. */
const schemaOf = (answer: Channel.AnySchema): unknown => {
  try {
    const { definitions, schema } = Schema.toJsonSchemaDocument(answer)
    return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions }
  } catch {
    return undefined
  }
}

/** A question as it is shown: what it shows, and the JSON schema of its answer as far as the graph defines it. */
export interface Question {
  readonly id: string
  readonly tag: string
  readonly payload: unknown
  readonly answer: unknown
}

/** What a request asks. */
export const questionOf = ({ id, payload, tag }: PendingRequest): Question => {
  const known = Interrupt.definition(tag)
  return known === undefined
    ? { id, tag, payload: plain(payload), answer: undefined }
    : { id, tag, payload: encoded(known.payload, payload), answer: schemaOf(known.answer) }
}

/** The reply that an answer in JSON stands for. */
const replyTo = ({ id, tag }: PendingRequest, json: unknown): Effect.Effect<Interrupt.Reply.Any, Refusal> => {
  const known = Interrupt.definition(tag) as
    | Interrupt.Interrupt<string, Channel.AnySchema, Channel.AnySchema>
    | undefined
  if (known === undefined) {
    return Effect.fail(
      new Refusal({ code: codes.thread, message: `the thread asks "${tag}", which this graph no longer defines` })
    )
  }
  return Result.match(Channel.decode(Channel.lastValue(known.answer), json), {
    onFailure: (detail) => Effect.fail(misused(`the answer to "${tag}" (${id}) does not fit: ${detail}`)),
    onSuccess: (cell) => Effect.succeed(known.reply(Option.getOrUndefined(cell), { id }))
  })
}

interface Matched {
  readonly replies: ReadonlyArray<Interrupt.Reply.Any>
  readonly left: ReadonlyArray<Given>
}

/** Answers to the requests: those that name one, then the others in order. */
export const match = Effect.fnUntraced(function*(
  requests: ReadonlyArray<PendingRequest>,
  given: ReadonlyArray<Given>
) {
  let left = given
  const take = (fits: (one: Given) => boolean): Given | undefined => {
    const found = left.find(fits)
    left = left.filter((one) => one !== found)
    return found
  }
  const named = requests.map(({ id }) => take((one) => one.id === id))
  const replies: Array<Interrupt.Reply.Any> = []
  for (const [index, request] of requests.entries()) {
    const answer = named[index] ?? take((one) => one.id === undefined)
    if (answer !== undefined) replies.push(yield* replyTo(request, answer.json))
  }
  return { replies, left } satisfies Matched
})

const isTerminal = (): boolean =>
  process.stdin.isTTY === true && process.stderr.isTTY === true && process.env["TERM"] !== "dumb"

/** Whether somebody can be asked. */
export const canAsk: Effect.Effect<boolean> = Effect.sync(isTerminal)

const typeOf = (schema: unknown): unknown =>
  typeof schema === "object" && schema !== null && "type" in schema ? schema.type : undefined

const words: Readonly<Record<string, boolean>> = { y: true, yes: true, n: false, no: false }

/** What was typed, as JSON: for a text the text itself, for a yes or no a word too. */
const typed = (text: string, { answer }: Question): unknown => {
  if (typeOf(answer) === "boolean" && Object.hasOwn(words, text.trim().toLowerCase())) {
    return words[text.trim().toLowerCase()]
  }
  if (typeOf(answer) === "string") return text
  return JSON.parse(text)
}

/** A question for a person. */
export const shown = ({ answer, id, payload, tag }: Question): string =>
  [
    `? ${visible(tag)} ${id}`,
    `  ${visible(JSON.stringify(payload) ?? "")}`,
    ...(answer === undefined ? [] : [`  answer: ${visible(JSON.stringify(answer))}`]),
    ""
  ].join("\n")

/** Asks on the terminal until the answer fits; nothing if the input has ended. */
const askOne = Effect.fnUntraced(function*(request: PendingRequest) {
  const terminal = yield* Terminal.Terminal
  const question = questionOf(request)
  for (;;) {
    yield* note(`${visible(question.tag)}> `)
    const text = yield* Effect.option(terminal.readLine)
    if (Option.isNone(text)) {
      yield* note("\n")
      return Option.none<Interrupt.Reply.Any>()
    }
    const reply = yield* Effect.try({
      try: () => typed(text.value, question),
      catch: () => misused("this is no JSON")
    }).pipe(Effect.flatMap((json) => replyTo(request, json)), Effect.result)
    if (Result.isSuccess(reply)) return Option.some(reply.success)
    if (reply.failure.code !== codes.usage) return yield* reply.failure
    yield* note(`${visible(reply.failure.message)}\n`)
  }
})

/** Asks one question after the other. What was answered before the input ended counts. */
export const ask = Effect.fnUntraced(function*(requests: ReadonlyArray<PendingRequest>) {
  const replies: Array<Interrupt.Reply.Any> = []
  for (const request of requests) {
    const reply = yield* askOne(request)
    if (Option.isNone(reply)) break
    replies.push(reply.value)
  }
  return replies as ReadonlyArray<Interrupt.Reply.Any>
})
