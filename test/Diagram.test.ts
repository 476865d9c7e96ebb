import { assert, it } from "@effect/vitest"
import { instance } from "@viz-js/viz"
import { Graph, Schema } from "effect"
import * as Effect from "effect/Effect"
import { Channel, Diagram, END, Node, State, StateGraph } from "superstep"
import * as Command from "superstep/Command"

class Out extends State.make({ out: Channel.append(Schema.String) }) {}

const child = StateGraph.make("child", StateGraph.nodes(Out, { t: () => ({ out: ["t"] }) }), { start: "t" })

const graph = StateGraph.make(
  "graph",
  StateGraph.nodes(Out, {
    child,
    "b\"]; click": () => ({ out: ["b"] }),
    c: () => ({ out: ["c"] }),
    steer: Node.make({
      input: Out,
      run: () => Effect.succeed(Command.make({ goto: END })),
      destinations: ["c", END],
      defer: true
    })
  }),
  {
    start: ["child", "b\"]; click"],
    edges: {
      child: StateGraph.join("c"),
      "b\"]; click": StateGraph.join("c"),
      c: StateGraph.route(["child", END], () => END)
    }
  }
)

it("edges are rebuilt from writers: plain, joins thick, choices dashed", () => {
  assert.strictEqual(
    Diagram.toMermaid(graph),
    `flowchart TD
  n0(["__start__"])
  n1["b#34;]; click"]
  n2["c"]
  n3["child"]
  n4["steer (deferred)"]
  n5(["__end__"])
  n0 --> n3
  n0 --> n1
  n1 ==> n2
  n2 -.-> n3
  n2 -.-> n5
  n3 ==> n2
  n4 -.-> n2
  n4 -.-> n5
`
  )
})

it("graphs inside a graph can be drawn with their own nodes", () => {
  assert.strictEqual(
    Diagram.toMermaid(graph, { depth: 1 }),
    `flowchart TD
  n0(["__start__"])
  n1["b#34;]; click"]
  n2["c"]
  n6["steer (deferred)"]
  n7(["__end__"])
  subgraph g3["child"]
    n3(["__start__"])
    n4["t"]
    n5(["__end__"])
  end
  n3 --> n4
  n4 --> n5
  n0 --> n3
  n0 --> n1
  n1 ==> n2
  n2 -.-> n3
  n2 -.-> n7
  n5 ==> n2
  n6 -.-> n2
  n6 -.-> n7
`
  )
})

it("a diagram is a graph of Effect's own module", () => {
  const diagram = Diagram.make(graph)
  assert.isFalse(Graph.isAcyclic(diagram))
  assert.strictEqual(Graph.nodeCount(diagram), 6)
})

it("Graphviz is told the same, with boxes for graphs inside and every name as it is", () => {
  assert.strictEqual(
    Diagram.toDot(graph, { depth: 1 }),
    `digraph "graph" {
  node [shape=box]
  n0 [label="__start__", style=rounded]
  n1 [label="b\\"]; click"]
  n2 [label="c"]
  n6 [label="steer (deferred)"]
  n7 [label="__end__", style=rounded]
  subgraph cluster_g3 { label="child"
    n3 [label="__start__", style=rounded]
    n4 [label="t"]
    n5 [label="__end__", style=rounded]
  }
  n3 -> n4
  n4 -> n5
  n0 -> n3
  n0 -> n1
  n1 -> n2 [style=bold]
  n2 -> n3 [style=dashed]
  n2 -> n7 [style=dashed]
  n5 -> n2 [style=bold]
  n6 -> n2 [style=dashed]
  n6 -> n7 [style=dashed]
}
`
  )
})

it("Graphviz draws every name as it is", async () => {
  const names = ["\"]; click", "\\N \\G \\l", "&lt;b&gt; &amp;", "<b>", "{a}", "é ☃ 漢", "%", "a -> b", "\\"]
  const bodies = Object.fromEntries(names.map((name) => [name, () => ({})]))
  const odd = StateGraph.make("\" {", StateGraph.nodes(Out, bodies) as never, { start: [...names] } as never)
  const viz = await instance()
  const svg = viz.renderString(Diagram.toDot(odd as never), { format: "svg" })
  const drawn = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) =>
    text!.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code))).replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">").replaceAll("&quot;", "\"").replaceAll("&amp;", "&")
  )
  assert.sameMembers(drawn.map((text) => text.replaceAll("\u00a0", " ")), [...names, "__start__", "__end__"])
})
