/** Faults that users of other engines met, around graphs in graphs, pauses, and what is stored when. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { Channel, Checkpointer, GraphError, Interrupt, Node, Policy, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}
class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

/** Asks one question that names its input. */
const asker = StateGraph.make(
  "asker",
  StateGraph.nodes(Log, {
    ask: Effect.fnUntraced(function*(s) {
      return { log: [yield* Ask.ask(`${s.log[0]}?`)] }
    })
  }),
  { start: "ask" }
)

// ---------------------------------------------------------------------------
// E: graphs in graphs
// ---------------------------------------------------------------------------

behaves(
  "E1 a graph called twice in a node, each call with its own question: answers do not cross",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "twice",
        StateGraph.nodes(Log, {
          node: Effect.fnUntraced(function*() {
            const a = yield* asker.call({ log: ["a"] })
            const b = yield* asker.call({ log: ["b"] })
            return { log: [...a.log, ...b.log] }
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}))
      assert.deepStrictEqual((yield* thread.state()).requests.map(({ payload }) => payload), ["a?"])
      yield* Effect.flip(thread.resume(Ask.reply("A")))
      assert.deepStrictEqual((yield* thread.state()).requests.map(({ payload }) => payload), ["b?"])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("B")), { log: ["a", "A", "b", "B"] })
    })
)

behaves(
  "E1 three calls at once with keys ask three questions, which are answered in any order and number",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "atOnce",
        StateGraph.nodes(Log, {
          node: Effect.fnUntraced(function*() {
            const parts = yield* Effect.all(
              ["a", "b", "c"].map((key) => Effect.exit(asker.call({ log: [key] }, { key }))),
              { concurrency: "unbounded" }
            )
            const done = yield* Effect.all(parts)
            return { log: done.flatMap(({ log }) => log) }
          })
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}))
      const asked = (yield* thread.state()).requests
      assert.deepStrictEqual(asked.map(({ payload }) => payload), ["a?", "b?", "c?"])
      assert.strictEqual(new Set(asked.map(({ id }) => id)).size, 3)
      assert.deepStrictEqual(
        yield* Effect.flip(thread.resume(Ask.reply("?"))).pipe(
          Effect.map((error) => error._tag === "InvalidReply" && error.reason)
        ),
        "Ambiguous"
      )
      yield* Effect.flip(thread.resume(Ask.reply("B", { id: asked[1]!.id })))
      assert.deepStrictEqual((yield* thread.state()).requests.map(({ payload }) => payload), ["a?", "c?"])
      const end = yield* thread.resume([Ask.reply("C", { id: asked[2]!.id }), Ask.reply("A", { id: asked[0]!.id })])
      assert.deepStrictEqual(end, { log: ["a", "A", "b", "B", "c", "C"] })
    })
)

behaves("E1 calls at once without keys are refused", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "unkeyed",
      StateGraph.nodes(Log, {
        node: () =>
          // As exits, so that the pause of one call does not end the other before it has begun.
          Effect.map(
            Effect.flatMap(
              Effect.all([1, 2].map(() => Effect.exit(Effect.andThen(Effect.yieldNow, asker.call({ log: ["a"] })))), {
                concurrency: "unbounded"
              }),
              (exits) => Effect.all(exits)
            ),
            (all) => ({ log: all.flatMap(({ log }) => log) })
          )
      }),
      { start: "node" }
    )
    const refused = yield* Effect.flip(graph.thread("t").invoke({}))
    assert.deepStrictEqual(refused, new GraphError.ConcurrentCall({ kind: "graph", node: "node", called: "asker" }))
  }))

behaves(
  "E1 a key that another call of the task has is refused, at once or one after the other, on a thread or not",
  () =>
    Effect.gen(function*() {
      const inner = StateGraph.make("inner", StateGraph.nodes(Log, { n: () => ({ log: ["n"] }) }), { start: "n" })
      for (const concurrency of [1, "unbounded"] as const) {
        const graph = StateGraph.make(
          "same key",
          StateGraph.nodes(Log, {
            node: () =>
              Effect.map(
                Effect.forEach(["a", "b", "a"], (key) => Effect.exit(inner.call({}, { key })), { concurrency }),
                () => ({ log: ["swallowed"] })
              )
          }),
          { start: "node" }
        )
        const refused = new GraphError.DuplicateKey({ kind: "graph", node: "node", called: "inner", key: "a" })
        assert.deepStrictEqual(yield* Effect.flip(graph.invoke({})), refused)
        assert.deepStrictEqual(yield* Effect.flip(graph.thread(String(concurrency)).invoke({})), refused)
        assert.include(refused.message, "node \"node\" calls graph \"inner\" with the key \"a\" of another call")
      }
    })
)

behaves(
  "E1 a call that failed or paused may be made again under its key, and goes on where it stood",
  () =>
    Effect.gen(function*() {
      let tries = 0
      const runs: Array<string> = []
      const inner = StateGraph.make(
        "inner",
        StateGraph.nodes(Log, {
          first: () => {
            runs.push("first")
            return { log: ["first"] }
          },
          second: () => tries++ === 0 ? Effect.die("once") : Effect.succeed({ log: ["second"] }),
          third: () => Effect.map(Ask.ask("?"), (answer) => ({ log: [answer] }))
        }),
        { start: "first", edges: { first: "second", second: "third" } }
      )
      const graph = StateGraph.make(
        "again",
        StateGraph.nodes(Log, {
          node: () =>
            Effect.retry(Effect.catchDefect(inner.call({}, { key: "k" }), () => Effect.fail("again")), { times: 2 })
              .pipe(
                Effect.catch(() => Effect.succeed({ log: ["gave up"] }))
              )
        }),
        { start: "node" }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}))
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("yes")), { log: ["first", "second", "yes"] })
      assert.deepStrictEqual(runs, ["first"])
    })
)

behaves("E1 a key is a text of 1 to 512 characters", () =>
  Effect.gen(function*() {
    const inner = StateGraph.make("inner", StateGraph.nodes(Log, { n: () => ({ log: ["n"] }) }), { start: "n" })
    const calls = (key: string) =>
      StateGraph.make("key", StateGraph.nodes(Log, { node: () => inner.call({}, { key }) }), { start: "node" })
    for (const [index, key] of ["", "k".repeat(513), 1 as unknown as string].entries()) {
      const error = yield* Effect.flip(calls(key).thread(`refused ${index}`).invoke({}))
      assert.strictEqual(error._tag === "InvalidArgument" ? error.argument : error._tag, "key")
      assert.include(error.message, "a text of 1 to 512 characters")
    }
    for (const [index, key] of ["k".repeat(512), "|:~%", "😀", "__proto__"].entries()) {
      assert.deepStrictEqual(yield* calls(key).thread(`taken ${index}`).invoke({}), { log: ["n"] })
    }
  }))

behaves(
  "E1 what an error handler calls has a place of its own, whatever its node called before it failed",
  () =>
    Effect.gen(function*() {
      const said = (name: string) =>
        StateGraph.make(
          name,
          StateGraph.nodes(Log, { ask: () => Effect.map(Ask.ask(name), (answer) => ({ log: [`${name}=${answer}`] })) }),
          { start: "ask" }
        )
      const [work, repair] = [said("work"), said("repair")]
      for (const key of [undefined, "k"]) {
        const options = key === undefined ? {} : { key }
        const graph = StateGraph.make(
          "repaired",
          StateGraph.nodes(Log, {
            node: Node.make({
              input: Log,
              run: () => Effect.andThen(work.call({}, options), Effect.fail("broken" as const)),
              onError: () => Effect.map(repair.call({ log: ["from the handler"] }, options), ({ log }) => ({ log }))
            })
          }),
          { start: "node" }
        )
        const thread = graph.thread(String(key))
        yield* Effect.flip(thread.invoke({}))
        yield* Effect.flip(thread.resume(Ask.reply("1")))
        assert.deepStrictEqual(yield* thread.resume(Ask.reply("2")), { log: ["from the handler", "repair=2"] })
      }
    })
)

behaves("E1 a loop of unknown length, each turn a call that asks", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "loop",
      StateGraph.nodes(Log, {
        node: Effect.fnUntraced(function*() {
          const heard: Array<string> = []
          for (let turn = 0;; turn++) {
            const answer = (yield* asker.call({ log: [`turn ${turn}`] })).log[1]!
            if (answer === "stop") return { log: heard }
            heard.push(answer)
          }
        })
      }),
      { start: "node" }
    )
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({}))
    for (const answer of ["x", "y", "z"]) yield* Effect.flip(thread.resume(Ask.reply(answer)))
    assert.deepStrictEqual((yield* thread.state()).requests.map(({ payload }) => payload), ["turn 3?"])
    assert.deepStrictEqual(yield* thread.resume(Ask.reply("stop")), { log: ["x", "y", "z"] })
  }))

behaves(
  "E8 a graph that stopped before a node goes on there: what ran does not run again, and sees its own state",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          n1: () => {
            runs.push("n1")
            return { log: ["n1"] }
          },
          n2: (s) => {
            runs.push("n2")
            return { log: [`n2 saw ${s.log.join(" ")}`] }
          }
        }),
        { start: "n1", edges: { n1: "n2" } },
        { before: ["n2"] }
      )
      const graph = StateGraph.make("parent", StateGraph.nodes(Log, { p: () => ({ log: ["p"] }), child }), {
        start: "p",
        edges: { p: "child" }
      })
      const thread = graph.thread("t")
      const stopped = yield* Effect.flip(thread.invoke({}))
      assert.deepStrictEqual(stopped, new GraphError.GraphBreakpoint({ when: "before", nodes: ["n2"], next: ["n2"] }))
      yield* thread.update({ log: ["patched"] }, { asNode: "p" })
      assert.deepStrictEqual((yield* thread.at(["child"]).state()).next, ["n2"])
      // The child was given its input when it began: what the parent has since learnt is not in it.
      assert.deepStrictEqual(yield* thread.continue(), { log: ["p", "patched", "n1", "n2 saw p n1"] })
      assert.deepStrictEqual(runs, ["n1", "n2"])
    })
)

behaves("E8 what the graph itself is told while it is stopped, it knows", () =>
  Effect.gen(function*() {
    const child = StateGraph.make(
      "child",
      StateGraph.nodes(Log, { n1: () => ({ log: ["n1"] }), n2: (s) => ({ log: [`n2 saw ${s.log.join(" ")}`] }) }),
      {
        start: "n1",
        edges: { n1: "n2" }
      },
      { before: ["n2"] }
    )
    const thread = StateGraph.make("parent", StateGraph.nodes(Log, { child }), { start: "child" }).thread("t")
    yield* Effect.flip(thread.invoke({}))
    yield* thread.at(["child"]).update({ log: ["patched"] }, { asNode: "n1" })
    assert.deepStrictEqual(yield* thread.continue(), { log: ["n1", "patched", "n2 saw n1 patched"] })
  }))

// ---------------------------------------------------------------------------
// S: pauses and storage
// ---------------------------------------------------------------------------

behaves(
  "S1 the answer may come from within the event that shows the question: it is never lost",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "eager",
        StateGraph.nodes(Log, {
          node: Effect.fnUntraced(function*() {
            return { log: [yield* Ask.ask("now?")] }
          })
        }),
        { start: "node" }
      )
      const outputs = yield* Effect.forEach(Array.from({ length: 40 }, (_, n) => `t${n}`), (id) =>
        Effect.gen(function*() {
          const thread = graph.thread(id)
          const answered = yield* Deferred.make<{ readonly log: ReadonlyArray<string> }>()
          yield* Stream.runForEach(thread.events({}, { modes: ["updates"] }), (event) =>
            // Another caller answers while the run that asked has not returned yet.
            event.mode === "paused"
              ? Effect.flatMap(thread.resume(Ask.reply(id)), (out) =>
                Deferred.succeed(answered, out))
              : Effect.void)
          return (yield* Deferred.await(answered)).log
        }), { concurrency: "unbounded" })
      assert.deepStrictEqual(outputs, Array.from({ length: 40 }, (_, n) => [`t${n}`]))
    })
)

/** A saver that fails as told, on top of another. */
const failing = (breaks: (what: "commit" | "putTasks" | "get", namespace: string) => boolean) =>
  Layer.effect(
    Checkpointer.Checkpointer,
    Effect.map(Checkpointer.Checkpointer, (saver) => {
      const broken = (thread: string) =>
        new GraphError.CheckpointError({ reason: "Storage", thread, detail: "connection lost" })
      return Checkpointer.Checkpointer.of({
        ...saver,
        commit: (thread, commit) =>
          breaks("commit", commit.namespace) ? Effect.fail(broken(thread)) : saver.commit(thread, commit),
        putTasks: (thread, put) =>
          breaks("putTasks", put.namespace) ? Effect.fail(broken(thread)) : saver.putTasks(thread, put),
        get: (thread, namespace, id) =>
          breaks("get", namespace) ? Effect.fail(broken(thread)) : saver.get(thread, namespace, id)
      })
    })
  )

behaves(
  "S4 a saver that cannot be reached fails the run, marks no node as failed, and the thread goes on later",
  () =>
    Effect.gen(function*() {
      for (const what of ["commit", "putTasks", "get"] as const) {
        let isBroken = false
        const runs: Array<string> = []
        const note = (name: string) => () => {
          runs.push(name)
          if (name === "a") isBroken = true
          return { log: [name] }
        }
        const graph = StateGraph.make("g", StateGraph.nodes(Log, { a: note("a"), b: note("b"), c: note("c") }), {
          start: ["a", "b"],
          edges: { a: "c" }
        }, {
          retry: Policy.retry({ maxAttempts: 5 })
        })
        const thread = graph.thread(what)
        const unreliable = failing((call) => isBroken && call === what)
        if (what === "get") {
          yield* thread.invoke({})
          assert.strictEqual(
            (yield* Effect.flip(Effect.provide(thread.invoke({}), unreliable)))._tag,
            "CheckpointError"
          )
          isBroken = false
          assert.deepStrictEqual(yield* thread.invoke({}), { log: ["a", "b", "c", "a", "b", "c"] })
          continue
        }
        const failure = yield* Effect.flip(Effect.provide(thread.invoke({}), unreliable))
        assert.deepStrictEqual([failure._tag, failure._tag === "CheckpointError" && failure.reason], [
          "CheckpointError",
          "Storage"
        ])
        assert.deepStrictEqual((yield* thread.state()).tasks.map(({ error }) => error), [undefined, undefined])
        isBroken = false
        assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "c"] })
      }
    })
)

behaves(
  "S4 nor does a graph inside a task turn it into a failure of that task: no retry, no handler, no record",
  () =>
    Effect.gen(function*() {
      let isBroken = false
      let handled = 0
      let runs = 0
      const child = StateGraph.make(
        "child",
        StateGraph.nodes(Log, {
          n: () => {
            runs++
            isBroken = true
            return { log: ["n"] }
          }
        }),
        { start: "n" }
      )
      const graph = StateGraph.make(
        "parent",
        StateGraph.nodes(Log, {
          node: Node.make({
            input: Log,
            run: (s) =>
              Effect.catch(
                Effect.map(child.call({ log: s.log }), ({ log }) => ({ log })),
                (error) => Effect.fail(error)
              ),
            retry: Policy.retry({ maxAttempts: 3 }),
            onError: () => {
              handled++
              return Effect.succeed({ log: ["handled"] })
            }
          }),
          side: () => ({ log: ["side"] })
        }),
        { start: ["node", "side"] }
      )
      const thread = graph.thread("t")
      const failure = yield* Effect.flip(Effect.provide(
        thread.invoke({}),
        failing((call, namespace) => isBroken && call === "commit" && namespace !== "")
      ))
      assert.deepStrictEqual([failure._tag, handled, runs], ["CheckpointError", 0, 1])
      assert.deepStrictEqual((yield* thread.state()).tasks.map(({ error, node }) => [node, error]), [[
        "node",
        undefined
      ], ["side", undefined]])
      assert.deepStrictEqual(yield* thread.continue(), { log: ["n", "side"] })
    })
)

behaves(
  "S5 a join keeps what has arrived across a pause and a reload: its target runs once, with both",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const make = () =>
        StateGraph.make(
          "join",
          StateGraph.nodes(Log, {
            a: () => ({ log: ["a"] }),
            human: Effect.fnUntraced(function*() {
              return { log: [yield* Ask.ask("?")] }
            }),
            b: () => ({ log: ["b"] }),
            both: (s) => {
              runs.push(s.log.join(" "))
              return { log: ["both"] }
            }
          }),
          { start: ["a", "human"], edges: { a: StateGraph.join("both"), human: "b", b: StateGraph.join("both") } }
        )
      yield* Effect.flip(make().thread("t").invoke({}))
      assert.deepStrictEqual(runs, [])
      assert.deepStrictEqual(yield* make().thread("t").resume(Ask.reply("ok")), { log: ["a", "ok", "b", "both"] })
      assert.deepStrictEqual(runs, ["a ok b"])
    })
)

behaves("S5 a crash when half of the sources have arrived loses neither", () =>
  Effect.gen(function*() {
    const runs: Array<string> = []
    const note = (name: string) => {
      runs.push(name)
      return { log: [name] }
    }
    const isA = yield* Deferred.make<void>()
    let crashes = true
    const graph = StateGraph.make(
      "join",
      StateGraph.nodes(Log, {
        a: () => Effect.tap(Effect.sync(() => note("a")), () => Deferred.succeed(isA, undefined)),
        b: () =>
          Effect.andThen(
            Deferred.await(isA),
            Effect.suspend(() =>
              crashes
                ? Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 5 }), Effect.never)
                : Effect.sync(() => note("b"))
            )
          ),
        both: () => note("both")
      }),
      { start: ["a", "b"], edges: { a: StateGraph.join("both"), b: StateGraph.join("both") } }
    )
    const thread = graph.thread("t")
    const fiber = yield* Effect.forkChild(thread.invoke({}))
    // Acknowledged: `a` shows as finished to any reader.
    yield* Effect.repeat(
      Effect.andThen(
        Effect.yieldNow,
        Effect.match(thread.state(), {
          onFailure: () => undefined,
          onSuccess: (s) => s.tasks.find(({ node }) => node === "a")?.result
        })
      ),
      { until: (result) => result !== undefined }
    )
    yield* Fiber.interrupt(fiber)
    crashes = false
    assert.deepStrictEqual((yield* thread.state()).next, ["b"])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "both"] })
    assert.deepStrictEqual(runs, ["a", "b", "both"])
  }))

behaves(
  "S8 with one of two questions answered the thread waits for the other, and the join has not fired",
  () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const asks = (name: string) => () =>
        Effect.map(Ask.ask(name), (answer) => {
          runs.push(name)
          return { log: [`${name}=${answer}`] }
        })
      const graph = StateGraph.make(
        "both",
        StateGraph.nodes(Log, {
          a: asks("a"),
          b: asks("b"),
          end: (s) => {
            runs.push("end")
            return { log: [`end after ${s.log.length}`] }
          }
        }),
        { start: ["a", "b"], edges: { a: StateGraph.join("end"), b: StateGraph.join("end") } }
      )
      const thread = graph.thread("t")
      yield* Effect.flip(thread.invoke({}))
      const [, b] = (yield* thread.state()).requests
      const still = yield* Effect.flip(thread.resume(Ask.reply("B", { id: b!.id })))
      if (still._tag !== "GraphInterrupt") return assert.fail(still._tag)
      assert.deepStrictEqual(still.requests.map(({ payload }) => payload), ["a"])
      assert.deepStrictEqual([runs, (yield* thread.state()).next], [["b"], ["a"]])
      assert.deepStrictEqual(yield* thread.resume(Ask.reply("A")), { log: ["a=A", "b=B", "end after 2"] })
      assert.deepStrictEqual(runs, ["b", "a", "end"])
    })
)

behaves(
  "S10 of eight tasks that wait, one answered leaves the payloads of the others as they were",
  () =>
    Effect.gen(function*() {
      class Items extends State.make({ items: Schema.Array(Schema.Int), log: Channel.append(Schema.String) }) {}
      class Item extends Interrupt.make("Item", {
        payload: Schema.Struct({ item: Schema.Int, note: Schema.String }),
        answer: Schema.String
      }) {}
      let running = 0
      let most = 0
      const graph = StateGraph.make(
        "map",
        StateGraph.nodes(Items, {
          plan: () => undefined,
          work: Node.make({
            input: Schema.Struct({ item: Schema.Int }),
            run: Effect.fnUntraced(function*({ item }) {
              const answer = yield* Item.ask({ item, note: `note ${item}` })
              running++
              most = Math.max(most, running)
              yield* Effect.yieldNow
              running--
              return { log: [`${item}:${answer}`] }
            })
          })
        }),
        {
          start: "plan",
          edges: {
            plan: StateGraph.route(["work"], (s: State.Type<typeof Items>) =>
              s.items.map((item) => Send.make("work", { item })))
          }
        },
        { concurrency: 3 }
      )
      const thread = graph.thread("t")
      const items = [0, 1, 2, 3, 4, 5, 6, 7]
      yield* Effect.flip(thread.invoke({ items }))
      const asked = (yield* thread.state()).requests
      assert.deepStrictEqual(
        asked.map(({ payload }) =>
          payload
        ),
        items.map((item) => ({ item, note: `note ${item}` }))
      )
      yield* Effect.flip(thread.resume(Item.reply("three", { id: asked[3]!.id })))
      const left = (yield* thread.state()).requests
      assert.deepStrictEqual(left, asked.filter((_, n) => n !== 3))
      most = 0
      const end = yield* thread.resume(left.map(({ id }, n) => Item.reply(`r${n}`, { id })))
      assert.deepStrictEqual(end.log, ["0:r0", "1:r1", "2:r2", "3:three", "4:r3", "5:r4", "6:r5", "7:r6"])
      assert.strictEqual(most, 3)
    })
)

it.effect("S10 the same holds for Sends to a graph that asks", () =>
  Effect.gen(function*() {
    class Items extends State.make({ items: Schema.Array(Schema.String), log: Channel.append(Schema.String) }) {}
    const graph = StateGraph.make("map", StateGraph.nodes(Items, { plan: () => undefined, asker }), {
      start: "plan",
      edges: {
        plan: StateGraph.route(["asker"], (s: State.Type<typeof Items>) =>
          s.items.map((item) => Send.make("asker", { log: [item] })))
      }
    })
    const thread = graph.thread("t")
    yield* Effect.flip(thread.invoke({ items: ["a", "b", "c"] }))
    const asked = (yield* thread.state()).requests
    yield* Effect.flip(thread.resume(Ask.reply("B", { id: asked[1]!.id })))
    assert.deepStrictEqual((yield* thread.state()).requests, [asked[0]!, asked[2]!])
    const end = yield* thread.resume([Ask.reply("A", { id: asked[0]!.id }), Ask.reply("C", { id: asked[2]!.id })])
    assert.deepStrictEqual(end.log, ["A", "B", "C"])
  }).pipe(Effect.provide(Checkpointer.layerMemory)))

behaves(
  "a graph that only Sends start takes what they bring, which the state around it need not have",
  () =>
    Effect.gen(function*() {
      class Items extends State.make({ items: Schema.Array(Schema.String), log: Channel.append(Schema.String) }) {}
      class Item extends State.make({ item: Schema.String, log: Channel.append(Schema.String) }) {}
      const inspect = StateGraph.make(
        "inspect",
        StateGraph.nodes(Item, {
          read: (s) => ({ log: [`read ${s.item}`] }),
          judge: (s) => Effect.map(Ask.ask(`${s.item}?`), (answer) => ({ log: [answer] }))
        }),
        { start: "read", edges: StateGraph.sequence("read", "judge") }
      )
      const nodes = StateGraph.nodes(Items, { plan: () => ({}), inspect })
      const thread = StateGraph.make("items", nodes, {
        start: "plan",
        edges: { plan: StateGraph.route(["inspect"], (s) => s.items.map((item) => Send.make("inspect", { item }))) }
      }).thread("t")
      yield* Effect.flip(thread.invoke({ items: ["a", "b"] }))
      const asked = (yield* thread.state()).requests
      assert.deepStrictEqual(asked.map(({ payload }) => payload), ["a?", "b?"])
      assert.deepStrictEqual((yield* thread.at(["inspect:1"]).state()).values, { item: "b", log: ["read b"] })
      const end = yield* thread.resume(asked.map(({ id }, n) => Ask.reply(`r${n}`, { id })))
      assert.deepStrictEqual(end, { items: ["a", "b"], log: ["read a", "r0", "read b", "r1"] })

      // By name, and without types, nothing brings the key.
      const edge = StateGraph.make("edge", nodes, { start: "plan", edges: { plan: "inspect" as never } })
      assert.deepStrictEqual(
        yield* Effect.flip(edge.thread("u").invoke({ items: [] })),
        new GraphError.MissingInput({ keys: ["item"] })
      )
    })
)
