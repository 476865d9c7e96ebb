/**
 * Graphs of nodes over a shared state.
 *
 * `nodes` declares the nodes by name and checks them against the state and
 * against each other; `make` adds where the graph starts and where each node
 * leads. What a node may fail with, ask for and need is read off its type and
 * becomes part of the type of a run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Pipeable from "effect/Pipeable"
import type * as Stream from "effect/Stream"
import type * as Channel from "./Channel.ts"
import type * as Command from "./Command.ts"
import type * as Event from "./Event.ts"
import type { EngineError, Steering } from "./GraphError.ts"
import { lower, type Subgraph } from "./internal/engine/lower.ts"
import type { Persistence, Program } from "./internal/engine/program.ts"
import { type MachineView, view } from "./internal/engine/view.ts"
import { callInside } from "./internal/runtime/call.ts"
import { entry } from "./internal/runtime/entry.ts"
import { graphOptions, keyOptions, telling, told } from "./internal/runtime/options.ts"
import type { AnyRequest, Asking, Asks, CanPause } from "./Interrupt.ts"
import type { Migration } from "./Migration.ts"
import type * as Node from "./Node.ts"
import type * as Policy from "./Policy.ts"
import type { Running } from "./Running.ts"
import type * as Send from "./Send.ts"
import type * as State from "./State.ts"
import * as Thread from "./Thread.ts"

const TypeId = "~superstep/StateGraph"

// ---------------------------------------------------------------------------
// What is read off the body of a node
// ---------------------------------------------------------------------------

// oxlint-disable typescript/no-explicit-any
type Out<X> = X extends Effect.Effect<infer A, any, any> ? A : X
type Fail<X> = X extends Effect.Effect<any, infer E, any> ? E : never
type Need<X> = X extends Effect.Effect<any, any, infer R> ? R : never

/** The parts of a list of updates. */
type Each<A> = A extends ReadonlyArray<infer B> ? B : A
type WrittenBy<A> = A extends Command.Command<infer U, any> ? Each<U> : A extends void | null ? never : A
type Written<X> = WrittenBy<Each<Out<X>>> | SteeredUpdate<Fail<X>>
type Gone<X> =
  | (Each<Out<X>> extends infer A ? A extends Command.Command<any, infer G> ? G : never : never)
  | SteeredGoto<Fail<X>>
type SteeredUpdate<E> = E extends Steering<Command.Command<infer U, any>> ? Each<U> : never
type SteeredGoto<E> = E extends Steering<Command.Command<any, infer G>> ? G : never

/**
 * Marks the body of a graph that stands as a node in another graph.
 *
 * @category models
 * @since 0.1.0
 */
export interface Sub<out Up> {
  readonly "~subgraph": Up
}

type AnyParent = Command.ParentCommand<any, any>
type ErrorOf<X> = X extends Sub<any> ? Exclude<Fail<X>, AnyParent | AnyRequest>
  : Exclude<Fail<X>, AnyRequest | Steering<any>>

// ---------------------------------------------------------------------------
// What is wrong with a node, as a type that says so
// ---------------------------------------------------------------------------

type CheckWrite<S extends State.Any, K, U> = [State.UnknownKeys<S, U>] extends [never]
  ? [State.WrongKeys<S, U>] extends [never] ? unknown
  : State.Problem<`node "${K & string}" writes the wrong type to "${State.WrongKeys<S, U> & string}"`>
  : State.Problem<`node "${K & string}" writes "${State.UnknownKeys<S, U> & string}", which is no key of the state`>

type CheckGoto<S extends State.Any, O, K, G> = [Node.WrongGoto<S, O, G>] extends [never] ? unknown
  : State.Problem<
    `node "${K & string}" goes to "${
      & Node.WrongGoto<S, O, G>
      & string}", which this graph does not have or which takes another input`
  >

type ParentOf<X> = Extract<Fail<X>, AnyParent>
type ParentGoto<P> = P extends Command.ParentCommand<any, infer G> ? G : never
type ParentUpdate<P> = P extends Command.ParentCommand<infer U, any> ? Each<U> : never

/** Keys that a subgraph shares with the state and that can hand up neither its updates nor its values. */
type WrongUp<S extends State.Any, Up> = {
  [K in keyof Up & keyof State.Update<S>]: Up[K] extends readonly [infer U, infer V]
    ? [U] extends [State.Update<S>[K]] ? never : [V] extends [State.Update<S>[K]] ? never : K
    : never
}[keyof Up & keyof State.Update<S>]

// One problem at a time: two at once would be reduced to `never`, without their texts.
type CheckSub<S extends State.Any, O, K extends keyof O, Up> = [WrongUp<S, Up>] extends [never]
  ? CheckBoth<S, O, K, ParentUpdate<ParentOf<O[K]>>, ParentGoto<ParentOf<O[K]>>>
  : State.Problem<`subgraph "${K & string}" hands up the wrong type to "${WrongUp<S, Up> & string}"`>

type CheckBoth<S extends State.Any, O, K, U, G> = unknown extends CheckWrite<S, K, U> ? CheckGoto<S, O, K, G>
  : CheckWrite<S, K, U>

type IsPromise<A> = [A] extends [never] ? false : [A] extends [Promise<any>] ? unknown extends A ? false : true : false

// A body that TypeScript has not inferred, because of an error in another node, is left alone.
type Check<S extends State.Any, O, K extends keyof O> = unknown extends O[K] ? unknown
  : O[K] extends Sub<infer Up> ? CheckSub<S, O, K, Up>
  : IsUnknown<Out<O[K]>> extends true ? State.Problem<UnknownText<K>>
  : [ProblemOf<Fail<O[K]>>] extends [never] ? CheckOut<S, O, K>
  : ProblemOf<Fail<O[K]>>

/** Where another function makes `run`, as `Effect.fn` does, a policy that reads the error first leaves it without a type. */
type UnknownText<K> = `node "${
  & K
  & string}" gives a value of type unknown: give it a type, or annotate the parameters of its policies`

type IsUnknown<A> = unknown extends A ? [keyof A] extends [never] ? true : false : false

/** A failure that is no type but says why there is none. */
type ProblemOf<E> = unknown extends E ? never : Extract<E, State.Problem<any>>

/** Said where the graph is made: until then a body of type unknown may be one that is not inferred yet. */
type CheckKnown<O> = [UnknownBodies<O>] extends [never] ? unknown
  : State.Problem<UnknownText<UnknownBodies<O>>>
type UnknownBodies<O> = { [K in keyof O & string]: IsUnknown<O[K]> extends true ? K : never }[keyof O & string]

type CheckOut<S extends State.Any, O, K extends keyof O> = IsPromise<Out<O[K]>> extends true ?
  State.Problem<`node "${K & string}" returns a Promise; wrap it in Effect.promise or Effect.tryPromise`>
  : O[K] extends Effect.Effect<any, any, any> | object | void | null ? CheckBoth<S, O, K, Written<O[K]>, Gone<O[K]>>
  : State.Problem<`node "${K & string}" returns neither an Effect nor an update`>

// ---------------------------------------------------------------------------
// Edges
// ---------------------------------------------------------------------------

/**
 * A choice made from the state, among targets that are known beforehand.
 *
 * @category models
 * @since 0.1.0
 */
export interface Route<in T, out To, out Packet> {
  readonly "~route": { readonly _To: To; readonly _Packet: Packet }
  readonly to: ReadonlyArray<string>
  readonly choose: (state: T) => unknown
}

type Chosen<To> = To | Send.Send<To & string, any> | ReadonlyArray<To | Send.Send<To & string, any>>
type Packets<A> = A extends ReadonlyArray<infer B> ? Packets<B> : A extends Send.Send<any, any> ? A : never
type Names<A> = A extends ReadonlyArray<infer B> ? Names<B> : A extends string ? A : never

/**
 * Chooses among `to` from the state: names, Sends, or an array of both. An empty array ends the branch.
 *
 * @category edges
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { END, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }),
 *   {
 *     start: "double",
 *     // It sees what its own node has just written.
 *     edges: { double: StateGraph.route(["double", END], ({ total }) => total < 50 ? "double" : END) }
 *   }
 * )
 *
 * console.log(await Effect.runPromise(app.invoke({ total: 10 }))) // => { total: 80 }
 * ```
 */
export const route = <T, const To extends string, A extends Chosen<NoInfer<To>>>(
  to: ReadonlyArray<To>,
  choose: (state: T) => A
): Route<T, Names<A>, Packets<A>> => ({ "~route": true, to, choose }) as any

/**
 * A target that runs once every node that leads to it through the same join has run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Join<out To> {
  readonly "~join": To
  readonly group: string | undefined
  readonly release: "all" | "idle"
}

/**
 * Leads to `target` once all nodes that lead there through this join have run. With `release: "idle"` also with some of them, when nothing
 * else is left to run. Nodes that name different groups wait in different joins.
 *
 * @category edges
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, State, StateGraph } from "superstep"
 *
 * class Log extends State.make({ log: Channel.append(Schema.String) }) {}
 * const note = (name: string) => () => ({ log: [name] })
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Log, { left: note("left"), slow: note("slow"), right: note("right"), last: note("last") }),
 *   {
 *     start: ["left", "slow"],
 *     edges: { left: StateGraph.join("last"), slow: "right", right: StateGraph.join("last") }
 *   }
 * )
 *
 * console.log((await Effect.runPromise(app.invoke({}))).log) // => ["left", "slow", "right", "last"]
 * ```
 */
export const join = <const To extends string>(
  target: To,
  options?: { readonly group?: string; readonly release?: "all" | "idle" }
): Join<To> => ({ "~join": target, group: options?.group, release: options?.release ?? "all" })

type Edge<Name> = Name | Command.END | Join<Name>

/**
 * Where a node leads: to nodes, at once or through joins, or where a route chooses.
 *
 * @category models
 * @since 0.1.0
 */
export type To<Name, T> = Edge<Name> | ReadonlyArray<Edge<Name>> | Route<T, Name | Command.END, Send.Any>

/**
 * Where a graph starts, and the edges that leave each node. A node without edges ends its branch, or goes where its Commands say.
 *
 * @category models
 * @since 0.1.0
 */
export interface Flow<Name extends string, T> {
  readonly start: To<Name, T>
  readonly edges?: { readonly [K in Name]?: To<Name, T> }
}

/**
 * The flow of a graph, as far as it is about names. What else it may not do is in `CheckFlow`.
 *
 * @category models
 * @since 0.1.0
 */
// Nodes that TypeScript has not inferred, because one of them is in error, may have any names.
export type FlowOf<S extends State.Any, O> = Flow<unknown extends O ? string : keyof O & string, State.Type<S>>

/**
 * Edges from each node of a list to the next.
 *
 * @category edges
 * @since 0.1.0
 * @example
 * ```ts
 * import { StateGraph } from "superstep"
 *
 * console.log(StateGraph.sequence("read", "judge", "write")) // => { read: "judge", judge: "write" }
 * ```
 */
export const sequence = <const Names extends ReadonlyArray<string>>(
  ...names: Names
): { readonly [K in Exclude<Names[number], Last<Names>>]: Exclude<Names[number], First<Names>> } => {
  if (names.length === 0) throw new Error("StateGraph.sequence: needs at least one node")
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new Error(`StateGraph.sequence: "${twice}" stands in it twice`)
  return Object.fromEntries(names.slice(0, -1).map((name, index) => [name, names[index + 1]])) as any
}

type First<A extends ReadonlyArray<string>> = A extends readonly [infer H, ...ReadonlyArray<string>] ? H : never
type Last<A extends ReadonlyArray<string>> = A extends readonly [...ReadonlyArray<string>, infer L] ? L : never

// ---------------------------------------------------------------------------
// What is wrong with a flow
// ---------------------------------------------------------------------------

type IsUnion<U, V = U> = U extends unknown ? [V] extends [U] ? false : true : never

/** Keys of LastValue channels: what is written is what is read. */
type LastKeys<F extends State.Fields> = {
  [K in keyof F]: Channel.PresenceOf<F[K]> extends "optional" ? never
    : [Channel.Value<F[K]>] extends [Channel.Update<F[K]>] ?
      [Channel.Update<F[K]>] extends [Channel.Value<F[K]>] ? K : never
    : never
}[keyof F]

type RequiredKeys<U> = { [K in keyof U]-?: {} extends Pick<U, K> ? never : undefined extends U[K] ? never : K }[keyof U]

/** Keys that a node certainly writes: unions, Commands, lists and subgraphs only perhaps write. */
type Certain<X> = [X] extends [Sub<any>] ? never
  : Out<X> extends infer A ? IsUnion<A> extends true ? never
    : A extends ReadonlyArray<any> | Command.Command<any, any> | void | null ? never
    : RequiredKeys<A>
  : never

type Owned<S extends State.Any, O, T> = T extends keyof O ? Extract<Certain<O[T]>, LastKeys<S["fields"]>> : never

type PairConflict<S extends State.Any, O, T, U = T> = T extends unknown ? U extends unknown ? [T] extends [U] ? never
    : [Extract<Owned<S, O, T>, Owned<S, O, U>>] extends [never] ? never
    : `nodes "${T & string}" and "${U & string}" start together and both write "${
      & Extract<Owned<S, O, T>, Owned<S, O, U>>
      & string}", which can receive only one value per step: give it a reducer`
  : never
  : never

type Owners<S extends State.Any, O, T> = T extends unknown ? [Owned<S, O, T>] extends [never] ? never : T : never

// Only literal lists: where a flow has another error, its type is the widest one.
type FanOut<S extends State.Any, O, To> = To extends ReadonlyArray<infer T> ? number extends To["length"] ? never
  : PairConflict<S, O, Owners<S, O, Extract<T, string>>>
  : never

/** The nodes that a target leads to by name alone. */
type NamedBy<To> = To extends string ? To
  : To extends ReadonlyArray<infer T> ? NamedBy<T>
  : To extends Join<infer T> ? T
  : To extends Route<any, infer T, any> ? T
  : never

type Unfed<S extends State.Any, O, To> = Exclude<Extract<NamedBy<To>, keyof O>, Node.Fed<S, O>>

/** Keys of a record that another record lacks, or has with another type. */
type Lacking<Given, Taken> = Taken extends object ? {
    [K in keyof Taken]-?: Pick<Given, K & keyof Given> extends Pick<Taken, K> ? never : K
  }[keyof Taken]
  : never

type UnfedText<S extends State.Any, O, T> = T extends keyof O
  ? [Lacking<State.Type<S>, Node.TakenBy<S, O[T]>>] extends [never]
    ? `node "${T & string}" takes another input than the state: start it by Send`
  : `node "${T & string}" takes "${
    & Lacking<State.Type<S>, Node.TakenBy<S, O[T]>>
    & string}", which the state lacks or has with another type: start it by Send`
  : never

type PacketsOf<To> = To extends Route<any, any, infer P> ? P : never

/** Sends that bring their targets what these do not take. */
type WrongSend<S extends State.Any, O, P> = P extends Send.Send<infer N, infer Arg>
  ? N extends keyof O ? [Arg] extends [Node.TakenBy<S, O[N]>] ? never
    : [Lacking<Arg, Node.TakenBy<S, O[N]>>] extends [never] ?
      `a Send to "${N & string}" brings another input than it takes`
    : `a Send to "${N & string}" lacks "${
      & Lacking<Arg, Node.TakenBy<S, O[N]>>
      & string}", or brings it with another type`
  : `a Send leads to "${N & string}", which is no node`
  : never

// Where a flow has another error, its type is the widest one: nothing more is said of it.
type IsWidest<To> = [ReadonlyArray<any> | Join<any> | Route<any, any, any>] extends [To] ? true : false

type CheckTo<S extends State.Any, O, To> = IsWidest<To> extends true ? unknown
  : [Unfed<S, O, To>] extends [never] ?
    [WrongSend<S, O, PacketsOf<To>>] extends [never]
      ? [FanOut<S, O, To>] extends [never] ? unknown : State.Problem<FanOut<S, O, To>>
    : State.Problem<WrongSend<S, O, PacketsOf<To>>>
  : State.Problem<UnfedText<S, O, Unfed<S, O, To>>>

type CheckEdge<S extends State.Any, O, K, To> = K extends keyof O
  ? [Gone<O[K]> | (O[K] extends Sub<any> ? ParentGoto<ParentOf<O[K]>> : never)] extends [never] ? CheckTo<S, O, To>
  : State.Problem<`node "${K & string}" has edges and goes elsewhere by Command: a node has one kind of routing`>
  : unknown

/**
 * What a flow may not do, beyond naming targets that do not exist.
 *
 * @category models
 * @since 0.1.0
 */
export type CheckFlow<S extends State.Any, O, F> = {
  readonly [P in keyof F]: P extends "start" ? CheckTo<S, O, F[P]>
    : P extends "edges" ? { readonly [K in keyof F[P]]: CheckEdge<S, O, K, F[P][K]> }
    : unknown
}

// ---------------------------------------------------------------------------
// Graph
// ---------------------------------------------------------------------------

/**
 * What a graph may be told besides its nodes and edges.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<in E = unknown> extends Policy.Limits {
  /** Names this version of the graph in its checkpoints. */
  readonly version?: string
  /** What has changed since its threads were stored, from the oldest on. */
  readonly migrations?: ReadonlyArray<Migration>
  /** For nodes that have no policy of their own. */
  readonly retry?: Policy.Retries<E>
  /** For nodes that have no timeout of their own. */
  readonly timeout?: Policy.TimeoutInput
  /** How long the state of this graph lives when it runs inside another: one call (the default), the thread, or not at all. */
  readonly persistence?: Persistence
}

/** What leaves a run: commands for the parent have become an error there. */
type RunError<E> = Exclude<E, AnyParent> | EngineError

/** What a graph hands up, by key: its updates and its values. */
type UpOf<S extends State.Any> = {
  readonly [K in keyof State.Output<S>]: readonly [
    Exclude<State.Update<S>[K & keyof State.Update<S>], undefined>,
    State.Output<S>[K]
  ]
}

/** An input as it comes from a state, or in a Send: a key that may be left out may be empty there. */
type Feed<I> = { readonly [K in keyof I]: {} extends Pick<I, K> ? I[K] | undefined : I[K] }

/**
 * A graph. It is a node of any graph: led to by edges where the state can feed it, and started by Sends.
 *
 * @category models
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Channel, Checkpointer, State, StateGraph } from "superstep"
 *
 * class Log extends State.make({ log: Channel.append(Schema.String) }) {}
 * const inner = StateGraph.make("inner", StateGraph.nodes(Log, { note: () => ({ log: ["inner"] }) }), {
 *   start: "note"
 * })
 *
 * const app = StateGraph.make(
 *   "app",
 *   StateGraph.nodes(Log, {
 *     inner, // A graph is a node, which hands up what its nodes write.
 *     called: () => Effect.map(inner.call({}), ({ log }) => ({ log: [`called ${log.join()}`] }))
 *   }),
 *   { start: "inner", edges: { inner: "called" } }
 * )
 *
 * console.log(await Effect.runPromise(app.invoke({}))) // => { log: ["inner", "called inner"] }
 *
 * const events = await Effect.runPromise(Stream.runCollect(app.stream({}, { modes: ["updates"] })))
 * console.log(events.map((event) => event.node)) // => ["inner", "called"]
 *
 * const twice = Effect.andThen(app.thread("t").invoke({}), app.thread("t").invoke({}))
 * console.log((await Effect.runPromise(twice.pipe(Effect.provide(Checkpointer.layerMemory)))).log.length) // => 4
 * ```
 */
export interface StateGraph<in out S extends State.Any, in out O, out E, out R, in out Q extends AnyRequest>
  extends Pipeable.Pipeable
{
  (state: any): Effect.Effect<State.Output<S>, E, R | Asks<Q>> & Node.Takes<Feed<State.Input<S>>> & Sub<UpOf<S>>
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly state: S
  /** The machine that the graph is lowered to: channels, nodes, triggers, writers. */
  readonly pregel: MachineView
  /** Runs the graph on an input to its end. */
  readonly invoke: CanPause<Q> extends true ? State.Problem<"this graph can pause: run it on a thread, .thread(id)">
    : (input: State.Input<S>, options?: Policy.RunOptions) => Effect.Effect<State.Output<S>, RunError<E>, R>
  /** Runs the graph and emits what happens as it happens, in the chosen modes. */
  readonly stream: CanPause<Q> extends true ? State.Problem<"this graph can pause: run it on a thread, .thread(id)"> :
    <const M extends Event.Mode, const Sub extends boolean = false>(
      input: State.Input<S>,
      options: Policy.RunOptions & Event.StreamOptions<M, Sub>
    ) => Stream.Stream<Event.Streamed<S, O, M, Sub>, RunError<E>, R>
  /** The durable handle on one thread of this graph. */
  readonly thread: (id: string) => Thread.Thread<S, O, E, R, Q>
  /**
   * Runs the graph inside a node and gives its output. Several calls in one node are told apart by their order; calls from several fibers need a `key`.
   * Its commands for the parent steer the graph that the node belongs to.
   */
  readonly call: (input: State.Input<S>, options?: { readonly key?: string }) => Effect.Effect<
    State.Output<S>,
    Exclude<E, AnyParent> | Node.SteeringOf<E> | EngineError | Q,
    R | Running | Asking<Q>
  >
  /** @internal */
  readonly "~program": Program
  /** @internal */
  readonly "~persistence": Persistence
}

/**
 * Any graph.
 *
 * @category models
 * @since 0.1.0
 */
export interface Any {
  (state: any): any
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly state: State.Any
  readonly pregel: MachineView
  /** @internal */
  readonly "~program": Program
  /** @internal */
  readonly "~persistence": Persistence
}

/**
 * Whether a value is a graph.
 *
 * @category guards
 * @since 0.1.0
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const nodes = StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) })
 *
 * console.log(StateGraph.isStateGraph(StateGraph.make("app", nodes, { start: "double" }))) // => true
 * console.log(StateGraph.isStateGraph(nodes)) // => false
 * ```
 */
export const isStateGraph = (u: unknown): u is Any => typeof u === "function" && TypeId in u

/**
 * The nodes of a graph, checked against its state and against each other.
 *
 * @category models
 * @since 0.1.0
 */
export interface Nodes<in out S extends State.Any, out O> {
  readonly state: S
  /** The functions themselves, so that a node can be run and tested alone. */
  readonly bodies: { readonly [K in keyof O]: (state: State.Type<S>) => O[K] }
}

/**
 * Declares the nodes of a graph by name. A node is a function from the state to an Effect of its update, or to the update itself; a
 * `Node`; or another graph. A name is part of the places of what runs inside its tasks: it holds none of `|`, `:` and `~`.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const nodes = StateGraph.nodes(Count, {
 *   double: ({ total }) => ({ total: total * 2 }),
 *   wait: () => Effect.sleep("1 milli") // writes nothing
 * })
 *
 * // A node can be run alone.
 * console.log(nodes.bodies.double({ total: 10 })) // => { total: 20 }
 * ```
 */
export const nodes = <S extends State.Any, O>(
  state: S,
  bodies: { readonly [K in keyof O]: (state: State.Type<S>) => O[K] & Check<S, O, K> }
): Nodes<S, O> => ({ state, bodies }) as any

type GraphOf<S extends State.Any, O> = StateGraph<
  S,
  O,
  ErrorOf<O[keyof O]>,
  Exclude<Need<O[keyof O]>, Running | Asks<any>>,
  Node.RequestOf<Need<O[keyof O]>>
>

const subgraphOf = (body: unknown): Subgraph | undefined =>
  isStateGraph(body) ? { program: body["~program"], persistence: body["~persistence"] } : undefined

/**
 * Makes a graph from its nodes and the edges between them. Untyped callers get a thrown `Error` that names what is wrong.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Channel, END, State, StateGraph } from "superstep"
 *
 * class Demo extends State.make({ total: Schema.Int, visited: Channel.append(Schema.String) }) {}
 *
 * const app = StateGraph.make(
 *   "demo",
 *   StateGraph.nodes(Demo, {
 *     double: (state) => Effect.succeed({ total: state.total * 2, visited: ["double"] }),
 *     increment: (state) => ({ total: state.total + 1, visited: ["increment"] })
 *   }),
 *   { start: "double", edges: { double: "increment", increment: END } }
 * )
 *
 * console.log(await Effect.runPromise(app.invoke({ total: 10 }))) // => { total: 21, visited: ["double", "increment"] }
 * ```
 */
export const make = <S extends State.Any, O, const F extends FlowOf<S, O>>(
  name: string,
  nodes: Nodes<S, O>,
  flow: F & NoInfer<CheckFlow<S, O, F>> & NoInfer<CheckKnown<O>>,
  options?: Options<NoInfer<Node.FailureOf<ErrorOf<O[keyof O]>>>>
): GraphOf<S, O> => {
  const { bodies, state } = nodes
  const said = graphOptions(options)
  const program = lower({
    name,
    state,
    bodies: bodies as any,
    flow: flow as any,
    options: said,
    subgraph: subgraphOf
  })
  const { persistence } = said
  const self = () =>
    Effect.die(new Error(`graph "${name}" is a node only inside another graph; use invoke, thread or call`))
  Object.defineProperty(self, "name", { value: name })
  Object.defineProperty(self, "pregel", { enumerable: true, get: () => view(program) })
  return Object.assign(self, {
    pipe(this: unknown) {
      return Pipeable.pipeArguments(this as any, arguments)
    },
    [TypeId]: TypeId,
    state,
    "~program": program,
    "~persistence": persistence,
    ...entry(program),
    thread: (id: string) => Thread.make(program, id),
    call: (input: unknown, called?: unknown) =>
      telling(() => told(keyOptions, called), ({ key }) => callInside({ program, persistence }, input, key))
  }) as any
}
