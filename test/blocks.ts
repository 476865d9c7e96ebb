/** The code on a page. */
import { fromMarkdown } from "mdast-util-from-markdown"

/** The `ts` blocks of a page as one module, each line where it stands on the page. */
export const moduleOf = (text: string): string => {
  const lines = text.split("\n").map(() => "")
  for (const node of fromMarkdown(text).children) {
    if (node.type !== "code" || node.lang !== "ts" || node.meta?.includes("nocheck") === true) continue
    for (const [index, line] of node.value.split("\n").entries()) lines[node.position!.start.line + index] = line
  }
  return lines.join("\n")
}
