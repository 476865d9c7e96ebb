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

/** Whether a schema has a part of one of these kinds, at any depth. */
export const holds = (
  ast: SchemaAST.AST,
  tags: ReadonlyArray<SchemaAST.AST["_tag"]>,
  visited = new Set<SchemaAST.AST>()
): boolean => {
  if (tags.includes(ast._tag)) return true
  if (visited.has(ast)) return false
  visited.add(ast)
  return partsOf(ast).some((part) => holds(part, tags, visited))
}
