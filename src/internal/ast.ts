/** What kinds of values a schema allows. */
import type * as SchemaAST from "effect/SchemaAST"

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  switch (ast._tag) {
    case "Arrays":
      return [...ast.elements, ...ast.rest]
    case "Objects":
      return [...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type)
    case "Union":
      return ast.types
    case "Suspend":
      return [ast.thunk()]
    case "Declaration":
      return ast.typeParameters
    default:
      return []
  }
}

/** A schema that is deeper is not looked through: a suspended one may go on for ever, each time with new parts. */
const maxDepth = 50

/** Whether a part of a schema, at any depth, is of a kind; also if that cannot be told. */
export const holds = (
  ast: SchemaAST.AST,
  is: (part: SchemaAST.AST) => boolean,
  visited: ReadonlySet<SchemaAST.AST> = new Set()
): boolean => {
  if (is(ast) || visited.size > maxDepth) return true
  if (visited.has(ast)) return false
  const above = new Set(visited).add(ast)
  return partsOf(ast).some((part) => holds(part, is, above))
}

// ---------------------------------------------------------------------------
// Stored forms
// ---------------------------------------------------------------------------

const anything: ReadonlySet<string> = new Set(["null", "boolean", "number", "string", "list", "record"])

/** Which kinds of JSON a schema of stored forms allows; literals by their value. */
const kindsOf = (ast: SchemaAST.AST): ReadonlySet<string> => {
  switch (ast._tag) {
    case "Null":
      return new Set(["null"])
    case "Boolean":
      return new Set(["boolean"])
    case "Number":
      return new Set(["number"])
    case "String":
    case "TemplateLiteral":
      return new Set(["string"])
    case "Literal":
      return new Set([`${typeof ast.literal} ${String(ast.literal)}`])
    case "Arrays":
      return new Set(["list"])
    case "Objects":
      return new Set(["record"])
    case "Union":
      return new Set(ast.types.flatMap((part) => [...kindsOf(part)]))
    default:
      return anything
  }
}

const overlaps = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  [...a].some((kind) =>
    [...b].some((other) => kind === other || kind.startsWith(`${other} `) || other.startsWith(`${kind} `))
  )

/** Whether a key with different literals tells two records apart. */
const isTold = (a: SchemaAST.Objects, b: SchemaAST.Objects): boolean =>
  a.propertySignatures.some(({ name, type }) => {
    const theirs = b.propertySignatures.find((one) => one.name === name)?.type
    if (theirs === undefined) return false
    const [mine, other] = [kindsOf(type), kindsOf(theirs)]
    return [...mine, ...other].every((kind) => kind.includes(" ")) && !overlaps(mine, other)
  })

const areTold = (a: SchemaAST.AST, b: SchemaAST.AST): boolean =>
  !overlaps(kindsOf(a), kindsOf(b)) || (a._tag === "Objects" && b._tag === "Objects" && isTold(a, b))

/** Whether a schema is a union of which two members may have the same stored form. */
export const isAmbiguous = (ast: SchemaAST.AST): boolean =>
  ast._tag === "Union" && ast.types.some((a, index) => ast.types.slice(index + 1).some((b) => !areTold(a, b)))
