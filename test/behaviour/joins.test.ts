/** Joins and deferred nodes: who waits, for whom, and until when. */
import { assert } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { Channel, Command, END, GraphError, Interrupt, Node, Running, Send, State, StateGraph } from "superstep"
import { behaves } from "./Savers.ts"

class Log extends State.make({ log: Channel.append(Schema.String) }) {}

/** A node that leaves its name. */
const say = (name: string) => () => Effect.succeed({ log: [name] })
const later = (name: string) => Node.make({ input: Log, defer: true, run: say(name) })

const collect = Effect.fnUntraced(function*<A, E, R>(stream: Stream.Stream<A, E, R>) {
  return [...yield* Stream.runCollect(stream)]
})

class Ask extends Interrupt.make("Ask", { payload: Schema.String, answer: Schema.String }) {}

// ---------------------------------------------------------------------------
// Joins (law 7)
// ---------------------------------------------------------------------------

const abcd = StateGraph.nodes(Log, { a: say("a"), b: say("b"), c: say("c"), d: say("d") })

behaves("L7 joins of different groups into one node are passed each on its own", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "groups",
      StateGraph.nodes(Log, {
        a: say("a"),
        b: say("b"),
        c: say("c"),
        d: say("d"),
        end: say("end"),
        slow: say("slow")
      }),
      {
        start: ["a", "b", "c", "slow"],
        edges: {
          a: StateGraph.join("end", { group: "one" }),
          b: StateGraph.join("end", { group: "one" }),
          c: StateGraph.join("end", { group: "two" }),
          slow: "d",
          d: StateGraph.join("end", { group: "two" })
        }
      }
    )
    assert.deepStrictEqual(Object.keys(graph.pregel.channels).filter((name) => name.startsWith("join:")), [
      "join:one=a+b:end",
      "join:two=c+d:end"
    ])
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), {
      log: ["a", "b", "c", "slow", "d", "end", "end"]
    })
  }))

behaves("L7 one source may be in two joins, of one target or of two", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("shared", abcd, {
      start: ["a", "b"],
      edges: {
        a: [StateGraph.join("c"), StateGraph.join("d")],
        b: [StateGraph.join("c"), StateGraph.join("d")]
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "c", "d"] })
  }))

behaves("L7 a source that runs twice before the join is complete counts once", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("twice", abcd, {
      start: ["a", "b"],
      edges: {
        a: StateGraph.join("d"),
        b: StateGraph.route(["a", "c"], () => ["a", "c"] as const),
        c: StateGraph.join("d")
      }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "a", "c", "d"] })
  }))

const half = (options?: { readonly release?: "all" | "idle"; readonly group?: string }) =>
  StateGraph.make("half", abcd, {
    start: StateGraph.route(
      ["a", "b"],
      (s) => s.log[0] === "both" ? ["a", "b"] as const : s.log.at(-1) === "b" ? "b" : "a"
    ),
    edges: { a: StateGraph.join("c", options), b: StateGraph.join("c", options), c: "d" }
  })

const stalled = new GraphError.StalledJoin({ node: "c", arrived: ["a"], missing: ["b"] })

behaves(
  "L7 an \"all\" join that gets only some of its sources is an error after the last commit",
  () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* Effect.flip(half().invoke({})), stalled)
      const thread = half().thread("t")
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), stalled)
      const { next, step, values } = yield* thread.state()
      assert.deepStrictEqual([step, values, next], [1, { log: ["a"] }, []])
      // It stays an error, and is not taken for an end.
      assert.deepStrictEqual(yield* Effect.flip(thread.continue()), stalled)
      assert.deepStrictEqual(yield* Effect.flip(thread.start({})), stalled)
    })
)

behaves("L7 a stall is the same in every durability, and what arrived is stored", () =>
  Effect.gen(function*() {
    for (const durability of ["async", "exit"] as const) {
      const thread = half().thread(durability)
      assert.deepStrictEqual(yield* Effect.flip(thread.invoke({}, { durability })), stalled)
      assert.deepStrictEqual(yield* Effect.flip(thread.continue({ durability })), stalled)
      assert.deepStrictEqual(yield* thread.invoke({ log: ["b"] }, { durability }), { log: ["a", "b", "b", "c", "d"] })
      const idle = half({ release: "idle" }).thread(`idle ${durability}`)
      assert.deepStrictEqual(yield* idle.invoke({}, { durability }), { log: ["a", "c", "d"] })
      assert.deepStrictEqual((yield* idle.state()).values, { log: ["a", "c", "d"] })
    }
  }))

behaves("L7 a stalled join keeps who has arrived: a later input can complete it", () =>
  Effect.gen(function*() {
    const thread = half().thread("t")
    assert.deepStrictEqual(yield* Effect.flip(thread.invoke({})), stalled)
    assert.deepStrictEqual(yield* thread.invoke({ log: ["b"] }), { log: ["a", "b", "b", "c", "d"] })
    assert.deepStrictEqual((yield* thread.state()).next, [])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "b", "b", "c", "d"] })
  }))

behaves("L7 an update as the missing source completes a stalled join", () =>
  Effect.gen(function*() {
    const thread = half().thread("t")
    yield* Effect.flip(thread.invoke({}))
    yield* thread.update({ log: ["as b"] }, { asNode: "b" })
    assert.deepStrictEqual((yield* thread.state()).next, ["c"])
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "as b", "c", "d"] })
  }))

behaves(
  "L7 an \"idle\" join is passed with some of its sources when nothing else is left",
  () =>
    Effect.gen(function*() {
      const graph = half({ release: "idle" })
      assert.deepStrictEqual(yield* graph.invoke({}), { log: ["a", "c", "d"] })
      assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "c", "d"] })
      assert.deepStrictEqual(yield* graph.thread("u").invoke({ log: ["both"] }), { log: ["both", "a", "b", "c", "d"] })
      const grouped = half({ release: "idle", group: "g" })
      assert.deepStrictEqual(yield* grouped.thread("v").invoke({}), { log: ["a", "c", "d"] })
    })
)

behaves("L7 an \"idle\" join that nobody reached is not passed", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("unreached", abcd, {
      start: "d",
      edges: { a: StateGraph.join("c", { release: "idle" }), b: StateGraph.join("c", { release: "idle" }) }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["d"] })
    const all = StateGraph.make("unreached all", abcd, {
      start: "d",
      edges: { a: StateGraph.join("c"), b: StateGraph.join("c") }
    })
    assert.deepStrictEqual(yield* all.thread("u").invoke({}), { log: ["d"] })
  }))

behaves("L7 who arrived at a join after it was passed does not count for the next input", () =>
  Effect.gen(function*() {
    class Which extends State.make({
      which: Schema.Array(Schema.Literals(["a", "b"])),
      log: Channel.append(Schema.String)
    }) {}
    const graph = StateGraph.make(
      "rounds",
      StateGraph.nodes(Which, {
        a: () => ({ log: ["a"] }),
        b: () => ({ log: ["b"] }),
        c: () => ({ log: ["c"] })
      }),
      {
        start: StateGraph.route(["a", "b"], ({ which }) => which),
        edges: {
          a: StateGraph.join("c"),
          b: StateGraph.join("c"),
          c: StateGraph.route(["a", END], ({ log }) => log.filter((name) => name === "c").length === 1 ? "a" : END)
        }
      }
    )
    const thread = graph.thread("t")
    // Passed once, the join may be left half full at the end of the run.
    assert.deepStrictEqual((yield* thread.invoke({ which: ["a", "b"] })).log, ["a", "b", "c", "a"])
    const error = yield* Effect.flip(thread.invoke({ which: ["b"] }))
    assert.deepInclude(error, { _tag: "StalledJoin", node: "c", arrived: ["b"], missing: ["a"] })
  }))

behaves("L7 of two \"idle\" joins in a row the second waits for what the first leads to", () =>
  Effect.gen(function*() {
    const idle = { release: "idle" } as const
    const say = (name: string) => () => ({ log: [name] })
    const graph = StateGraph.make(
      "row",
      StateGraph.nodes(Log, {
        a: say("a"),
        b: say("b"),
        // Declared before the join that it follows, and named so that it would come first.
        aa: say("aa"),
        first: say("first"),
        skip: say("skip")
      }),
      {
        start: ["a", "b"],
        edges: {
          a: StateGraph.join("first", idle),
          skip: StateGraph.join("first", idle),
          first: StateGraph.join("aa", idle),
          b: StateGraph.join("aa", idle)
        }
      }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "first", "aa"] })
  }))

behaves("L7 an \"idle\" join waits for a longer branch, and is passed once with both", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "longer",
      StateGraph.nodes(Log, {
        a: say("a"),
        long: say("long"),
        longer: say("longer"),
        b: say("b"),
        c: say("c")
      }),
      {
        start: ["a", "long"],
        edges: {
          a: StateGraph.join("c", { release: "idle" }),
          long: "longer",
          longer: "b",
          b: StateGraph.join("c", { release: "idle" })
        }
      }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "long", "longer", "b", "c"] })
  }))

/** `a` arrives at once; `asks` decides after an answer whether `b` runs. */
const asking = (release: "all" | "idle") =>
  StateGraph.make(
    "asking",
    StateGraph.nodes(Log, {
      a: say("a"),
      asks: () => Effect.map(Ask.ask("b?"), (answer) => ({ log: [answer] })),
      b: say("b"),
      c: say("c")
    }),
    {
      start: ["a", "asks"],
      edges: {
        a: StateGraph.join("c", { release }),
        asks: StateGraph.route(["b", END], (s) => s.log.at(-1) === "yes" ? "b" : END),
        b: StateGraph.join("c", { release })
      }
    }
  )

behaves("L7 a pause is not quiet: no join is released or stalled while a question waits", () =>
  Effect.gen(function*() {
    for (const release of ["all", "idle"] as const) {
      const yes = asking(release).thread(`${release} yes`)
      assert.strictEqual((yield* Effect.flip(yes.invoke({})))._tag, "GraphInterrupt")
      assert.deepStrictEqual((yield* yes.state()).next, ["asks"])
      assert.strictEqual((yield* Effect.flip(yes.continue()))._tag, "GraphInterrupt")
      assert.deepStrictEqual(yield* yes.resume(Ask.reply("yes")), { log: ["a", "yes", "b", "c"] })
    }
    const idle = asking("idle").thread("idle no")
    yield* Effect.flip(idle.invoke({}))
    assert.deepStrictEqual(yield* idle.resume(Ask.reply("no")), { log: ["a", "no", "c"] })
    const all = asking("all").thread("all no")
    yield* Effect.flip(all.invoke({}))
    assert.deepStrictEqual(yield* Effect.flip(all.resume(Ask.reply("no"))), stalled)
  }))

behaves("L7 a breakpoint, a drain and a limit are not quiet either", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "stops",
      StateGraph.nodes(Log, {
        a: say("a"),
        long: () => Effect.as(Running.drain("bye"), { log: ["long"] }),
        b: say("b"),
        c: say("c")
      }),
      {
        start: ["a", "long"],
        edges: {
          a: StateGraph.join("c", { release: "idle" }),
          long: "b",
          b: StateGraph.join("c", { release: "idle" })
        }
      }
    )
    const expected = { log: ["a", "long", "b", "c"] }
    const drained = graph.thread("drained")
    assert.deepStrictEqual(
      yield* Effect.flip(drained.invoke({})),
      new GraphError.GraphDrained({ reason: "bye", next: ["b"] })
    )
    assert.deepStrictEqual(yield* drained.continue(), expected)
    const plain = StateGraph.make(
      "plain stops",
      StateGraph.nodes(Log, { a: say("a"), long: say("long"), b: say("b"), c: say("c") }),
      {
        start: ["a", "long"],
        edges: {
          a: StateGraph.join("c", { release: "idle" }),
          long: "b",
          b: StateGraph.join("c", { release: "idle" })
        }
      }
    )
    const stopped = plain.thread("stopped")
    assert.deepStrictEqual(
      yield* Effect.flip(stopped.invoke({}, { before: ["b"] })),
      new GraphError.GraphBreakpoint({ when: "before", nodes: ["b"], next: ["b"] })
    )
    assert.deepStrictEqual(yield* stopped.continue(), expected)
    const limited = plain.thread("limited")
    assert.deepStrictEqual(
      yield* Effect.flip(limited.invoke({}, { recursionLimit: 1 })),
      new GraphError.RecursionLimit({ limit: 1, next: ["b"] })
    )
    assert.deepStrictEqual(yield* limited.continue(), expected)
  }))

behaves("L7 a join that was passed in this run may be left half full at the end", () =>
  Effect.gen(function*() {
    let rounds = 0
    const graph = StateGraph.make(
      "again",
      StateGraph.nodes(Log, {
        a: say("a"),
        b: say("b"),
        c: () => {
          rounds++
          return Effect.succeed({ log: ["c"] })
        }
      }),
      {
        start: ["a", "b"],
        edges: {
          a: StateGraph.join("c"),
          b: StateGraph.join("c"),
          c: StateGraph.route(["a", END], (s) =>
            s.log.filter((entry) => entry === "c").length < 2
              ? "a"
              : END)
        }
      }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "c", "a"] })
    assert.strictEqual(rounds, 1)
    // What arrived is kept: in the next run `a` and `b` complete it once more.
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "c", "a", "a", "b", "c"] })
  }))

behaves("L7 a stall is a stall in the run that leaves it, whatever earlier runs did", () =>
  Effect.gen(function*() {
    const thread = half().thread("t")
    assert.deepStrictEqual(yield* thread.invoke({ log: ["both"] }), { log: ["both", "a", "b", "c", "d"] })
    const one = StateGraph.make("half", abcd, {
      start: "a",
      edges: { a: StateGraph.join("c"), b: StateGraph.join("c"), c: "d" }
    })
    const other = one.thread("u")
    assert.deepStrictEqual(yield* Effect.flip(other.invoke({})), stalled)
    assert.deepStrictEqual(yield* Effect.flip(other.invoke({})), stalled)
  }))

behaves(
  "L7 an update that leaves nothing else to run releases an \"idle\" join, and stalls an \"all\" join",
  () =>
    Effect.gen(function*() {
      const flow = (release: "all" | "idle") =>
        StateGraph.make("updated", abcd, {
          start: "d",
          edges: { a: StateGraph.join("c", { release }), b: StateGraph.join("c", { release }) }
        })
      const idle = flow("idle").thread("idle")
      yield* idle.invoke({})
      yield* idle.update({ log: ["as a"] }, { asNode: "a" })
      assert.deepStrictEqual((yield* idle.state()).next, ["c"])
      assert.deepStrictEqual(yield* idle.continue(), { log: ["d", "as a", "c"] })
      const all = flow("all").thread("all")
      yield* all.invoke({})
      yield* all.update({ log: ["as a"] }, { asNode: "a" })
      assert.deepStrictEqual((yield* all.state()).next, [])
      assert.deepStrictEqual(yield* Effect.flip(all.continue()), stalled)
    })
)

behaves("L7 a source that was sent to several times counts once", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "sent",
      StateGraph.nodes(Log, {
        work: Node.make({ input: Schema.Int, run: (n) => Effect.succeed({ log: [`w${n}`] }) }),
        b: say("b"),
        c: say("c")
      }),
      {
        start: StateGraph.route(["work", "b"], () => [Send.make("work", 1), Send.make("work", 2), "b" as const]),
        edges: { work: StateGraph.join("c"), b: StateGraph.join("c") }
      }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["b", "w1", "w2", "c"] })
  }))

// ---------------------------------------------------------------------------
// Deferred nodes
// ---------------------------------------------------------------------------

behaves("defer: branches of length one and two end in one deferred node", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "uneven",
      StateGraph.nodes(Log, {
        a: say("a"),
        b: say("b"),
        b2: say("b2"),
        c: say("c"),
        d: later("d")
      }),
      { start: "a", edges: { a: ["b", "c"], b: "b2", b2: "d", c: "d" } }
    )
    assert.isTrue(graph.pregel.nodes["d"]!.defer)
    assert.strictEqual(graph.pregel.channels["branch:to:d"]!._tag, "LastValueAfterFinish")
    assert.deepStrictEqual(yield* graph.invoke({}), { log: ["a", "b", "c", "b2", "d"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "c", "b2", "d"] })
  }))

behaves(
  "defer: deferred nodes that become ready together run together, and others wait again",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "several",
        StateGraph.nodes(Log, {
          a: say("a"),
          x: later("x"),
          y: later("y"),
          z: later("z"),
          after: say("after")
        }),
        { start: "a", edges: { a: ["x", "y"], x: ["after", "z"], after: "z" } }
      )
      const events = yield* collect(graph.thread("t").stream({}, { modes: ["updates"] }))
      assert.deepStrictEqual(events.map((event) => event.mode === "updates" ? [event.step, event.node] : event.mode), [
        [1, "a"],
        [2, "x"],
        [2, "y"],
        [3, "after"],
        [4, "z"]
      ])
    })
)

behaves("defer: a deferred node waits for Sends, and survives a stop", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "after sends",
      StateGraph.nodes(Log, {
        a: say("a"),
        work: Node.make({ input: Schema.Int, run: (n) => Effect.succeed({ log: [`w${n}`] }) }),
        d: later("d")
      }),
      {
        start: ["d", "a"],
        edges: { a: StateGraph.route(["work"], () => [Send.make("work", 1), Send.make("work", 2)]) }
      }
    )
    assert.deepStrictEqual(yield* graph.invoke({}), { log: ["a", "w1", "w2", "d"] })
    const thread = graph.thread("t")
    const stopped = yield* Effect.flip(thread.invoke({}, { before: ["work"] }))
    assert.deepStrictEqual(
      stopped,
      new GraphError.GraphBreakpoint({ when: "before", nodes: ["work", "work"], next: ["work", "work"] })
    )
    assert.deepStrictEqual(yield* thread.continue(), { log: ["a", "w1", "w2", "d"] })
  }))

behaves("defer: a Send to a deferred node does not wait", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("sent", StateGraph.nodes(Log, { a: say("a"), b: say("b"), d: later("d") }), {
      start: "a",
      edges: { a: StateGraph.route(["b", "d"], (s) => [Send.make("d", s), "b" as const]) }
    })
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "d"] })
  }))

behaves("defer: a join before a deferred node is complete and then waits for quiet", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "deferred join",
      StateGraph.nodes(Log, {
        a: say("a"),
        b: say("b"),
        long: say("long"),
        longer: say("longer"),
        d: later("d")
      }),
      { start: ["a", "b", "long"], edges: { a: StateGraph.join("d"), b: StateGraph.join("d"), long: "longer" } }
    )
    assert.strictEqual(graph.pregel.channels["join:a+b:d"]!._tag, "NamedBarrierAfterFinish")
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "long", "longer", "d"] })
  }))

behaves("defer: an incomplete join before a deferred node stalls like any other", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("stalled", StateGraph.nodes(Log, { a: say("a"), b: say("b"), d: later("d") }), {
      start: "a",
      edges: { a: StateGraph.join("d"), b: StateGraph.join("d") }
    })
    const error = new GraphError.StalledJoin({ node: "d", arrived: ["a"], missing: ["b"] })
    assert.deepStrictEqual(yield* Effect.flip(graph.thread("t").invoke({})), error)
  }))

behaves(
  "defer: an \"idle\" join before a deferred node is passed with some of its sources",
  () =>
    Effect.gen(function*() {
      const graph = StateGraph.make(
        "idle",
        StateGraph.nodes(Log, {
          a: say("a"),
          b: say("b"),
          long: say("long"),
          d: later("d"),
          e: say("e")
        }),
        {
          start: StateGraph.route(
            ["a", "b", "long"],
            (s) => s.log[0] === "both" ? ["a", "b", "long"] as const : ["a", "long"] as const
          ),
          edges: {
            a: StateGraph.join("d", { release: "idle" }),
            b: StateGraph.join("d", { release: "idle" }),
            long: "e"
          }
        }
      )
      assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "long", "e", "d"] })
      assert.deepStrictEqual(yield* graph.thread("u").invoke({ log: ["both"] }), {
        log: ["both", "a", "b", "long", "e", "d"]
      })
    })
)

behaves("defer: an \"idle\" join waits for deferred nodes that may still lead to it", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "last",
      StateGraph.nodes(Log, { a: say("a"), b: later("b"), c: later("c"), n: say("n") }),
      {
        start: ["a", "b"],
        edges: {
          a: [StateGraph.join("c", { release: "idle" }), StateGraph.join("n", { release: "idle" })],
          b: [StateGraph.join("c", { release: "idle" }), StateGraph.join("n", { release: "idle" })]
        }
      }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "n", "c"] })
  }))

behaves("defer: a Command from outside may go to a deferred node", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make("outside", StateGraph.nodes(Log, { a: say("a"), d: later("d"), e: say("e") }), {
      start: "a",
      edges: { d: "e" }
    })
    const thread = graph.thread("t")
    yield* thread.invoke({})
    assert.deepStrictEqual(yield* thread.invoke(Command.make({ goto: "d" })), { log: ["a", "d", "e"] })
    assert.deepStrictEqual(yield* thread.invoke(Command.make({ goto: ["a", "d"] })), {
      log: ["a", "d", "e", "a", "d", "e"]
    })
    assert.deepStrictEqual(yield* graph.thread("u").invoke(Command.make({ goto: "d" })), { log: ["d", "e"] })
  }))

behaves("defer: a node named twice by one Command runs once, and two Sends run it twice", () =>
  Effect.gen(function*() {
    const graph = StateGraph.make(
      "twice",
      StateGraph.nodes(Log, {
        a: () => Effect.succeed(Command.make({ update: { log: ["a"] }, goto: ["b", "b", "d", "d"] })),
        b: say("b"),
        d: later("d"),
        s: (s) => Effect.succeed(Command.make({ goto: [Send.make("b", s), Send.make("b", s)] }))
      }),
      { start: ["a"] }
    )
    assert.deepStrictEqual(yield* graph.thread("t").invoke({}), { log: ["a", "b", "d"] })
    assert.deepStrictEqual(yield* graph.thread("t").invoke(Command.make({ goto: "s" })), {
      log: ["a", "b", "d", "b", "b"]
    })
  }))
