import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { fromMarkdown } from "mdast-util-from-markdown"
import { gfmFromMarkdown } from "mdast-util-gfm"
import { gfm } from "micromark-extension-gfm"
import { analyse } from "../../../docs/examples/audit/Page.ts"
import { crossCheck, summarise, toMarkdown } from "../../../docs/examples/audit/Report.ts"

const check = (pages: Record<string, string>, files: ReadonlyArray<string> = []) =>
  crossCheck(Object.entries(pages).map(([path, text]) => analyse(path, text)), new Set(files))
    .map(({ file, kind, line, message }) => `${file}:${line} ${kind} ${message}`)

describe("crossCheck", () => {
  it.each<[string, Array<string>]>([
    ["[x](b.md) [x](./b.md) [x](../docs/b.md) [x](/docs/b.md) [x](/)", []],
    ["[x](img) [x](img/) [x](..) [x](.) [x](/docs)", []],
    ["[x](c.md)", ["docs/a.md:1 broken-link \"c.md\": \"docs/c.md\" does not exist"]],
    ["[x](b.md/)", ["docs/a.md:1 broken-link \"b.md/\": \"docs/b.md/\" does not exist"]],
    ["[x](B.md)", ["docs/a.md:1 broken-link \"B.md\": \"docs/B.md\" does not exist"]],
    ["[x](../../y) [x](%2e%2e/%2e%2e/docs/b.md) [x](/../b)", []],
    ["[x](b.md#there) [x](b.md#user-content-there) [x](b.md#top) [x](x.ts#L3)", []],
    ["[x](b.md#gone)", ["docs/a.md:1 broken-anchor \"b.md#gone\": \"docs/b.md\" has no anchor \"gone\""]],
    ["[x](#gone) [y](#gone)", ["docs/a.md:1 broken-anchor \"#gone\": \"docs/a.md\" has no anchor \"gone\""]]
  ])("says of %j what is broken", (text, expected) => {
    assert.deepStrictEqual(
      check({ "docs/a.md": text, "docs/b.md": "# There" }, [
        "docs/",
        "docs/a.md",
        "docs/b.md",
        "docs/x.ts",
        "docs/img/"
      ]),
      expected
    )
  })
  it("counts the links that lead out of the folder, and says in the report that they were not checked", () => {
    const pages = [
      analyse("docs/a.md", "[x](../../y) [x](../b.md) [x](/../c) [x](%2e%2e/%2e%2e/z)"),
      analyse("b.md", "")
    ]
    const summary = summarise(pages, new Set())
    assert.deepStrictEqual([summary.links, summary.outside, summary.findings], [4, 3, []])
    assert.include(toMarkdown(summary), "no findings.\n\n3 links out of the folder not checked.\n")
  })
  it("does not judge the anchors of a page that was refused", () => {
    assert.deepStrictEqual(check({ "a.md": "[x](b.md#y)", "b.md": ">".repeat(10_000) }).length, 1)
  })

  const texts = Schema.Array(
    Schema.Literals(["# x", "[a](b.md#x)", "[a](a.md#y)", "[a](../z)", "## x\n#### y", ">".repeat(200)])
  )
  it.prop("does not depend on the order of the pages", [texts, Schema.Int], ([list, n]) => {
    const pages = list.map((text, i) => analyse(["a.md", "b.md", "c.md"][i % 3]!, text))
    const at = pages.length === 0 ? 0 : Math.abs(n) % pages.length
    const rotated = [...pages.slice(at), ...pages.slice(0, at)]
    const expected = crossCheck(pages, new Set())
    assert.deepStrictEqual(crossCheck(rotated, new Set()), expected)
    assert.deepStrictEqual(crossCheck(rotated.toReversed(), new Set()), expected)
  })
})

describe("toMarkdown", () => {
  const zero = { pages: 1, headings: 0, links: 0, outside: 0, fences: 0 }
  const parse = (text: string) => fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })

  it("is readable", () => {
    const pages = [analyse("b.md", "# a\n\n### b\n\n[x](c|d.md)\n"), analyse("a.md", "[x](#y)")]
    assert.strictEqual(
      toMarkdown(summarise(pages, new Set())),
      `# Markdown audit

2 pages, 2 headings, 2 links, 0 code fences: 3 findings.

## \`a.md\`

| Line | Kind | Message |
| ---: | --- | --- |
| 1 | broken-anchor | \`"#y": "a.md" has no anchor "y"\` |

## \`b.md\`

| Line | Kind | Message |
| ---: | --- | --- |
| 3 | heading-jump | \`h3 follows h1; h2 was expected\` |
| 5 | broken-link | \`"c\\|d.md": "c\\|d.md" does not exist\` |
`
    )
  })
  it("says so when nothing was found", () => {
    assert.strictEqual(
      toMarkdown({ ...zero, findings: [] }),
      `# Markdown audit

1 page, 0 headings, 0 links, 0 code fences: no findings.
`
    )
  })

  const hostile = Schema.Array(Schema.Union([
    Schema.String,
    Schema.Literals([
      "|",
      "\\",
      "`",
      "\n",
      "\r\n",
      "\u2028",
      "<b>",
      "[a](b)",
      "www.x.yz",
      "https://x.yz",
      "@me",
      "a@b.cd",
      "# ",
      " ",
      "*a*",
      "&lt;"
    ])
  ]))
  it.prop(
    "keeps one heading, one row of three cells and no markup for any text",
    [hostile, hostile],
    ([file, message]) => {
      const text = toMarkdown({
        ...zero,
        findings: [{ file: file.join(""), line: 1, kind: "broken-link", message: message.join("") }]
      })
      const children = parse(text).children
      assert.deepStrictEqual(children.map((node) => node.type), ["heading", "paragraph", "heading", "table"])
      const [, , heading, table] = children
      assert.isTrue(
        heading?.type === "heading" && heading.children.length === 1 && heading.children[0]!.type === "inlineCode"
      )
      assert.isTrue(table?.type === "table" && table.children.length === 2)
      const cells = table?.type === "table" ? table.children[1]!.children : []
      assert.deepStrictEqual(cells.map((cell) => cell.children.map((node) => node.type)), [["text"], ["text"], [
        "inlineCode"
      ]])
    }
  )
})
