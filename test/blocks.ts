/** The code on a page, and in the doc comments of a source file. */
import { parse } from "@babel/parser"
import { fromMarkdown } from "mdast-util-from-markdown"

interface Block {
  /** Of its first line of code, from 1. */
  readonly line: number
  readonly code: string
}

/** The `ts` blocks of a Markdown text, without those that say `nocheck`. */
const blocksOf = (text: string): ReadonlyArray<Block> =>
  fromMarkdown(text).children.flatMap((node) =>
    node.type !== "code" || node.lang !== "ts" || node.meta?.includes("nocheck") === true
      ? []
      : [{ line: node.position!.start.line + 1, code: node.value }]
  )

/** The `ts` blocks of a page as one module, each line where it stands on the page. */
export const moduleOf = (text: string): string => {
  const lines = text.split("\n").map(() => "")
  for (const { code, line } of blocksOf(text)) {
    for (const [index, text] of code.split("\n").entries()) lines[line - 1 + index] = text
  }
  return lines.join("\n")
}

// ---------------------------------------------------------------------------
// Doc comments
// ---------------------------------------------------------------------------

interface Comment {
  readonly type: string
  readonly value: string
  readonly loc?: { readonly start: { readonly line: number } } | null
}

const isDoc = ({ type, value }: Comment): boolean => type === "CommentBlock" && value.startsWith("*")

/** What a doc comment says, line by line. */
const textOf = ({ value }: Comment): string =>
  value.slice(1).split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n")

const read = (source: string) => parse(source, { sourceType: "module", plugins: ["typescript"] })

/** The `ts` blocks in the doc comments of a source file: each a module of its own, with each line where it stands in the file. */
export const examplesOf = (source: string): ReadonlyArray<{ readonly line: number; readonly module: string }> =>
  (read(source).comments ?? []).filter(isDoc).flatMap((comment) =>
    blocksOf(textOf(comment)).map(({ code, line }) => {
      const at = comment.loc!.start.line - 1 + line
      return { line: at, module: `${"\n".repeat(at - 1)}${code}\n` }
    })
  )

/** What a source file exports, as its doc comment tells. */
export interface Export {
  readonly name: string
  readonly line: number
  readonly kind: "const" | "class" | "type" | "name"
  readonly category: string | undefined
  readonly isInternal: boolean
  readonly hasExample: boolean
}

interface Declared {
  readonly kind: Export["kind"]
  readonly names: ReadonlyArray<string>
}

const declared = (declaration: ReturnType<typeof read>["program"]["body"][number]): Declared => {
  switch (declaration.type) {
    case "VariableDeclaration":
      return {
        kind: "const",
        names: declaration.declarations.flatMap(({ id }) => "name" in id ? [String(id.name)] : [])
      }
    case "FunctionDeclaration":
      return { kind: "const", names: [declaration.id!.name] }
    case "ClassDeclaration":
      return { kind: "class", names: [declaration.id!.name] }
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return { kind: "type", names: [declaration.id.name] }
    default:
      return { kind: "type", names: [] }
  }
}

const exported = (
  { kind, name }: { readonly kind: Export["kind"]; readonly name: string },
  node: { readonly leadingComments?: ReadonlyArray<Comment> | null; readonly loc?: Comment["loc"] }
): Export => {
  const doc = node.leadingComments?.findLast(isDoc)
  const text = doc === undefined ? "" : textOf(doc)
  return {
    name,
    line: node.loc!.start.line,
    kind,
    category: /@category (.*?)\s*(?:@|$)/m.exec(text)?.[1],
    isInternal: /^@internal/m.test(text.trim()),
    hasExample: /(?:^|\n)@example\n```ts\n[^]*\n```\s*$/.test(text)
  }
}

/** Everything that a source file exports by name. */
export const exportsOf = (source: string): ReadonlyArray<Export> =>
  read(source).program.body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration") return []
    if (node.declaration !== null && node.declaration !== undefined) {
      const { kind, names } = declared(node.declaration)
      return names.map((name) => exported({ kind, name }, node))
    }
    return node.specifiers.flatMap((specifier) => {
      if (specifier.type !== "ExportSpecifier") return []
      const kind = node.exportKind === "type" || specifier.exportKind === "type" ? "type" : "name"
      const { exported: as } = specifier
      return [exported({ kind, name: as.type === "Identifier" ? as.name : as.value }, specifier)]
    })
  })
