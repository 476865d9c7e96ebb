/**
 * A graph as a picture. Edges are gone after lowering: they are rebuilt from
 * what each node writes and what each node waits for.
 *
 * @since 0.1.0
 */
import * as Graph from "effect/Graph"
import { END, START } from "./Command.ts"
import type { MachineView, NodeView } from "./internal/engine/view.ts"

/**
 * A node of a diagram.
 *
 * @category models
 * @since 0.1.0
 */
export interface DiagramNode {
  /** The names of the graphs' nodes that lead to this one, and its own. */
  readonly path: ReadonlyArray<string>
  readonly kind: "start" | "end" | "node"
  /** Whether it waits until nothing else is left to run. */
  readonly defer: boolean
}

/**
 * An edge of a diagram: always taken, taken once all sources have run, or taken when a route or a Command says so.
 *
 * @category models
 * @since 0.1.0
 */
export interface DiagramEdge {
  readonly kind: "edge" | "join" | "conditional"
}

/**
 * A diagram: a directed graph of Effect's `Graph` module.
 *
 * @category models
 * @since 0.1.0
 */
export type Diagram = Graph.DirectedGraph<DiagramNode, DiagramEdge>

/**
 * How deep graphs that stand as nodes are drawn with their own nodes. 0 draws them as single nodes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly depth?: number
}

interface Link {
  readonly to: string
  readonly kind: DiagramEdge["kind"]
}

/** Who is woken by a channel, for machines that are wired by hand. */
const wokenBy = (machine: MachineView, channel: string): ReadonlyArray<string> =>
  Object.keys(machine.nodes).filter((name) => machine.nodes[name]!.triggers.includes(channel))

const linksOf = (machine: MachineView, node: NodeView): ReadonlyArray<Link> => {
  const links: Array<Link> = []
  for (const writer of node.writers) {
    switch (writer._tag) {
      case "Wake":
        links.push({ to: writer.node, kind: "edge" })
        break
      case "Join":
        links.push({ to: writer.node, kind: "join" })
        break
      case "Route":
        for (const to of writer.targets) links.push({ to, kind: "conditional" })
        break
      case "Channel":
        for (const to of wokenBy(machine, writer.channel)) links.push({ to, kind: "edge" })
        break
      case "Update":
        break
    }
  }
  for (const to of node.destinations) links.push({ to, kind: "conditional" })
  return links.length > 0 ? links : [{ to: END, kind: "edge" }]
}

/** The names that a machine's picture has: its start first, its end last. */
const namesOf = (machine: MachineView): ReadonlyArray<string> => [
  START,
  ...Object.keys(machine.nodes).filter((name) => name !== START),
  END
]

const startOf = (machine: MachineView): NodeView | undefined => machine.nodes[START]

const startLinks = (machine: MachineView): ReadonlyArray<Link> => {
  const start = startOf(machine)
  if (start !== undefined) return linksOf(machine, start)
  const woken = machine.input.flatMap((channel) => wokenBy(machine, channel))
  return [...new Set(woken)].map((to): Link => ({ to, kind: "edge" }))
}

interface Drawing {
  readonly draft: Graph.MutableDirectedGraph<DiagramNode, DiagramEdge>
  readonly depth: number
}

interface Drawn {
  /** Where edges to the graph arrive, and where those from it leave. */
  readonly first: Graph.NodeIndex
  readonly last: Graph.NodeIndex
}

const kindOf = (name: string): DiagramNode["kind"] => name === START ? "start" : name === END ? "end" : "node"

const draw = (drawing: Drawing, machine: MachineView, path: ReadonlyArray<string>, depth: number): Drawn => {
  const { draft } = drawing
  const drawn = new Map<string, Drawn>()
  for (const name of namesOf(machine)) {
    const node = machine.nodes[name]
    if (node?.graph !== undefined && depth < drawing.depth) {
      drawn.set(name, draw(drawing, node.graph, [...path, name], depth + 1))
      continue
    }
    const index = Graph.addNode(draft, { path: [...path, name], kind: kindOf(name), defer: node?.defer ?? false })
    drawn.set(name, { first: index, last: index })
  }
  for (const name of namesOf(machine)) {
    if (name === END) continue
    const links = name === START ? startLinks(machine) : linksOf(machine, machine.nodes[name]!)
    for (const { kind, to } of links) Graph.addEdge(draft, drawn.get(name)!.last, drawn.get(to)!.first, { kind })
  }
  return { first: drawn.get(START)!.first, last: drawn.get(END)!.last }
}

/**
 * The diagram of a graph. Nodes without edges of their own lead to the end; targets of routes and declared destinations of Commands are
 * conditional edges. Graphs that a node calls are not in it.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Graph, Schema } from "effect"
 * import { Diagram, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { first: () => ({}), lost: () => ({}) }), {
 *   start: "first"
 * })
 *
 * const diagram = Diagram.make(app)
 * const unreached = Graph.externals(diagram, { direction: "incoming" })
 * console.log([...Graph.values(unreached)].map(({ path }) => path)) // => [["__start__"], ["lost"]]
 * ```
 */
export const make = (graph: { readonly pregel: MachineView }, options?: Options): Diagram =>
  Graph.directed<DiagramNode, DiagramEdge>((draft) => {
    draw({ draft, depth: options?.depth ?? 0 }, graph.pregel, [], 0)
  })

type Entry = readonly [index: Graph.NodeIndex, node: DiagramNode]

/** A graph as it is drawn: its own nodes, and a box for each graph inside it. */
interface Box {
  /** Unique in the diagram. */
  readonly id: string
  readonly name: string
  readonly nodes: ReadonlyArray<Entry>
  readonly boxes: ReadonlyArray<Box>
}

const boxOf = (name: string, entries: ReadonlyArray<Entry>, level: number): Box => {
  const inside = Map.groupBy(
    entries.filter(([, { path }]) => path.length > level + 1),
    ([, { path }]) => path[level]!
  )
  return {
    id: `g${entries[0]?.[0]}`,
    name,
    nodes: entries.filter(([, { path }]) => path.length === level + 1),
    boxes: [...inside].map(([name, below]) => boxOf(name, below, level + 1))
  }
}

/** How a text format writes the parts of a diagram. */
interface Format {
  readonly node: (id: string, node: DiagramNode, label: string) => string
  readonly box: readonly [begin: (box: Box) => string, end: string]
  readonly edge: (source: string, target: string, kind: DiagramEdge["kind"]) => string
}

const labelOf = ({ defer, path }: DiagramNode): string => `${path.at(-1)!}${defer ? " (deferred)" : ""}`

const boxLines = (format: Format, box: Box, indent: string): ReadonlyArray<string> => [
  ...box.nodes.map(([index, node]) => `${indent}${format.node(`n${index}`, node, labelOf(node))}`),
  ...box.boxes.flatMap((inner) => {
    const [begin, end] = format.box
    return [`${indent}${begin(inner)}`, ...boxLines(format, inner, `${indent}  `), `${indent}${end}`]
  })
]

const linesOf = (
  format: Format,
  graph: { readonly pregel: MachineView },
  options: Options | undefined
): ReadonlyArray<string> => {
  const diagram = make(graph, options)
  const entries = [...Graph.entries(Graph.nodes(diagram))]
  const edges = [...Graph.values(Graph.edges(diagram))]
  return [
    ...boxLines(format, boxOf(graph.pregel.name, entries, 0), "  "),
    ...edges.map(({ data, source, target }) => `  ${format.edge(`n${source}`, `n${target}`, data.kind)}`)
  ]
}

/** A quoted text of Mermaid. */
const mermaidText = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  `"${text.replace(/[&"<>#\\`\u0000-\u001f]/g, (character) => `#${character.codePointAt(0)};`)}"`

const arrows: Record<DiagramEdge["kind"], string> = { edge: "-->", join: "==>", conditional: "-.->" }

const mermaid: Format = {
  node: (id, { kind }, label) => kind === "node" ? `${id}[${mermaidText(label)}]` : `${id}([${mermaidText(label)}])`,
  box: [({ id, name }) => `subgraph ${id}[${mermaidText(name)}]`, "end"],
  edge: (source, target, kind) => `${source} ${arrows[kind]} ${target}`
}

/**
 * The diagram as Mermaid text: conditional edges dashed, joins thick, graphs that are drawn with their nodes in boxes.
 *
 * @category rendering
 * @since 0.1.0
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Diagram, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * console.log(Diagram.toMermaid(app).trim().split("\n"))
 * // => [
 * //   'flowchart TD',
 * //   '  n0(["__start__"])',
 * //   '  n1["double"]',
 * //   '  n2(["__end__"])',
 * //   '  n0 --> n1',
 * //   '  n1 --> n2'
 * // ]
 * ```
 */
export const toMermaid = (graph: { readonly pregel: MachineView }, options?: Options): string =>
  ["flowchart TD", ...linesOf(mermaid, graph, options), ""].join("\n")

/** A quoted text of DOT, which reads entities of HTML in it. A character that no picture shows is written by its number. */
const dotText = (text: string): string => {
  const shown = text.toWellFormed().replace(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u001f\u007f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
  return `"${shown.replaceAll("\\", "\\\\").replaceAll("\"", "\\\"").replaceAll("&", "&amp;")}"`
}

const styles: Record<DiagramEdge["kind"], string> = {
  edge: "",
  join: " [style=bold]",
  conditional: " [style=dashed]"
}

const dot: Format = {
  node: (id, { kind }, label) => `${id} [label=${dotText(label)}${kind === "node" ? "" : ", style=rounded"}]`,
  box: [({ id, name }) => `subgraph cluster_${id} { label=${dotText(name)}`, "}"],
  edge: (source, target, kind) => `${source} -> ${target}${styles[kind]}`
}

/**
 * The diagram in the DOT language of Graphviz, in the same style as {@link toMermaid}.
 *
 * @category rendering
 * @since 0.1.0
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Diagram, State, StateGraph } from "superstep"
 *
 * class Count extends State.make({ total: Schema.Int }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Count, { double: ({ total }) => ({ total: total * 2 }) }), {
 *   start: "double"
 * })
 *
 * console.log(Diagram.toDot(app).trim().split("\n"))
 * // => [
 * //   'digraph "app" {',
 * //   '  node [shape=box]',
 * //   '  n0 [label="__start__", style=rounded]',
 * //   '  n1 [label="double"]',
 * //   '  n2 [label="__end__", style=rounded]',
 * //   '  n0 -> n1',
 * //   '  n1 -> n2',
 * //   '}'
 * // ]
 * ```
 */
export const toDot = (graph: { readonly pregel: MachineView }, options?: Options): string =>
  [`digraph ${dotText(graph.pregel.name)} {`, "  node [shape=box]", ...linesOf(dot, graph, options), "}", ""].join("\n")
