/** Bodies that other functions make, as `Effect.fn` does: what TypeScript has not inferred when it reads a handler is not lost. */
import { Context, Effect, Schema } from "effect"
import { Channel, Interrupt, Node, Policy, State, StateGraph } from "superstep"

class Llm extends Context.Service<Llm, { readonly chat: Effect.Effect<string> }>()("Llm") {}
class Approve extends Interrupt.make("Approve", { payload: Schema.String, answer: Schema.Boolean }) {}
class Denied extends Schema.TaggedError<Denied>()("Denied", {}) {}
class Late extends Schema.TaggedError<Late>()("Late", {}) {}
class Chat extends State.make({ name: Schema.String, log: Channel.append(Schema.String) }) {}
type ChatType = State.Type<typeof Chat>

const failed = { log: ["failed"] }
const denies = Effect.fnUntraced(function*(state: ChatType) {
  return state.name === "" ? yield* new Denied() : { log: [state.name] }
})

export const written = StateGraph.nodes(Chat, {
  // @error node \"key\" writes \"nope\", which is no key of the state
  key: Node.make({
    input: Chat,
    run: Effect.fnUntraced(function*(state) {
      yield* Approve.ask(state.name)
      return { log: [state.name], nope: true }
    }),
    onError: (error) => Effect.as(Effect.logError(error), failed)
  }),
  // @error node \"type\" writes the wrong type to \"log\"
  type: Node.make({
    input: Chat,
    run: Effect.fn("type")(function*() {
      yield* Approve.ask("x")
      return { log: 5 }
    }),
    onError: (error) => Effect.as(Effect.logError(error), failed)
  }),
  // @error node \"annotated\" writes the wrong type to \"log\"
  annotated: Node.make({
    input: Chat,
    run: Effect.fnUntraced(function*(state: ChatType) {
      return yield* Effect.succeed({ log: state.name })
    }),
    onError: (error) => Effect.as(Effect.logError(error), failed)
  })
})

const asks = StateGraph.make(
  "asks",
  StateGraph.nodes(Chat, {
    a: Node.make({
      input: Chat,
      run: Effect.fnUntraced(function*(state) {
        yield* Approve.ask(state.name)
        return { log: [state.name] }
      }),
      onError: (error) => Effect.as(Effect.logError(error), failed)
    })
  }),
  { start: "a" }
)
// @error this graph can pause: run it on a thread
export const paused = asks.invoke({ name: "x" })

const needs = StateGraph.make(
  "needs",
  StateGraph.nodes(Chat, {
    a: Node.make({
      input: Chat,
      run: Effect.fnUntraced(function*(state) {
        const llm = yield* Llm
        return { log: [state.name + (yield* llm.chat)] }
      }),
      onError: (error) => Effect.as(Effect.logError(error), failed)
    })
  }),
  { start: "a" }
)
// @error Type 'Llm' is not assignable to type 'never'
void Effect.runPromise(needs.invoke({ name: "x" }))

export const readsWhatIsNotInferred = Node.make({
  input: Chat,
  run: Effect.fnUntraced(function*(state) {
    return state.name === "" ? yield* new Denied() : { log: [state.name] }
  }),
  // @error annotate the parameter of onError
  onError: (error) => ({ log: [error._tag] })
})

export const otherErrorThanRun = Node.make({
  input: Chat,
  run: Effect.fnUntraced(function*(state) {
    return state.name === "" ? yield* new Denied() : { log: [state.name] }
  }),
  // @error onError takes another error than `run` fails with
  onError: (error: Late) => ({ log: [error._tag] })
})

export const lessThanRun = Node.make({
  input: Chat,
  run: denies,
  // @error onError takes another error than `run` fails with
  onError: (error: Denied) => ({ log: [error._tag] })
})

export const failsWithWhatIsNotInferred = StateGraph.nodes(Chat, {
  // @error annotate the parameter of onError
  a: Node.make({
    input: Chat,
    run: Effect.fn("a")(function*(state) {
      return state.name === "" ? yield* new Denied() : { log: [state.name] }
    }),
    onError: (error) => Effect.fail(error)
  })
})

export const unknownUpdate = StateGraph.nodes(Chat, {
  // @error node \"a\" gives a value of type unknown
  a: () => Effect.succeed(failed as unknown)
})

export const unknownUpdateOfAHandler = StateGraph.nodes(Chat, {
  // @error node \"a\" gives a value of type unknown
  a: Node.make({ input: Chat, run: denies, onError: (): unknown => failed })
})

export const policyBeforeTheNodeIsInferred = StateGraph.nodes(Chat, {
  // @error node \"a\" gives a value of type unknown
  a: Node.make({
    input: Chat,
    run: Effect.fnUntraced(function*(state) {
      yield* Approve.ask(state.name)
      return failed
    }),
    retry: { schedule: Policy.retry().schedule, while: (error) => error === undefined }
  })
})

const unknowns = StateGraph.nodes(Chat, { a: (): unknown => failed })
// @error node \"a\" gives a value of type unknown
export const unknownBody = StateGraph.make("g", unknowns, { start: "a" })
