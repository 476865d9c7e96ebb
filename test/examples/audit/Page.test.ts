import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { PageFacts } from "../../../docs/examples/audit/Finding.ts"
import * as Limit from "../../../docs/examples/audit/Limit.ts"
import { analyse } from "../../../docs/examples/audit/Page.ts"

const findings = (text: string) => analyse("a.md", text).findings.map(({ kind, line }) => `${line} ${kind}`)
const links = (text: string) =>
  analyse("a.md", text).links.map(({ anchor, path }) => anchor === undefined ? path : `${path}#${anchor}`)
const anchors = (text: string) => analyse("a.md", text).anchors
const fence = (info: string, body: string) => `\`\`\`${info}\n${body}\n\`\`\`\n`

describe("headings", () => {
  it("slugs as GitHub does and numbers repetitions", () => {
    assert.deepStrictEqual(anchors("# Hello, *World*!\n\n# A `b_c`\n\n# A\n\n# A\n\n# A 1\n\n# Größe\n"), [
      "hello-world",
      "a-b_c",
      "a",
      "a-1",
      "a-1-1",
      "größe"
    ])
  })
  it("reads anchors of tags, but not of comments and code", () => {
    assert.deepStrictEqual(
      anchors("<a id=\"x\"></a> <a name='y'/> <!-- <a id=\"no\"> --> `<a id=\"no\">`\n\n<p id=z>\n"),
      ["x", "y", "z"]
    )
  })
  it.each([
    ["# a\n## b\n# c\n", []],
    ["### a\n#### b\n", []],
    ["## a\n\n#### b\n", ["3 heading-jump"]],
    ["# a\n### b\n##### c\n", ["2 heading-jump", "3 heading-jump"]]
  ])("finds the jumps of %j", (text, expected) => assert.deepStrictEqual(findings(text), expected))
})

describe("links", () => {
  it.each<[string, Array<string>]>([
    ["[a](b.md) ![c](d%20e.png) [f](g.md?plain=1#h%C3%A9)", ["b.md", "d e.png", "g.md#hé"]],
    ["[a](#b) [c](#) [d](#top) [e](?q)", ["#b"]],
    ["[a](/x/y.md) [b](../c/)", ["/x/y.md", "../c/"]],
    ["[a](http://x) [a](HTTPS://x) [a](mailto:a@b) [a](tel:1) [a](//x/y) [a](data:,x) https://x.y", []],
    ["[a][b] ![c][b] [nope][nope]\n\n[b]: d.md#e", ["d.md#e"]],
    ["`[a](b)`\n\n```\n[a](b)\n```\n\n    [a](b)\n", []],
    ["[a](100%.md)", ["100%.md"]],
    ["<a href=\"b.md\">c</a> <img src='d.png'>", ["b.md", "d.png"]],
    ["| a |\n| - |\n| [b](c.md) |\n", ["c.md"]]
  ])("takes from %j what leads into the tree", (text, expected) => assert.deepStrictEqual(links(text), expected))
  it("finds a link without a target", () => assert.deepStrictEqual(findings("a\n\n[b]()"), ["3 broken-link"]))
})

describe("code fences", () => {
  it.each<[string, string, number | undefined]>([
    ["json", "{\"a\": [1]}", undefined],
    ["json", "{\n  \"a\": 1,\n}", 4],
    ["json", "", 2],
    ["JSON", "{", 2],
    ["jsonc", "{ // x", undefined],
    ["json5", "{", undefined],
    ["yaml", "a: 1\n---\nb: 2", undefined],
    ["yml", "a: 1\nb: [", 3],
    ["ts", "import { a } from \"b\"\nawait a<string>()", undefined],
    ["ts", "enum A { B }\nnamespace C { export const d = 1 }", undefined],
    ["ts", "const a = 1\nconst a = 2", undefined],
    ["ts", "let a = 1\n\nconst = 2", 4],
    ["ts {1,3}", "const = 1", 2],
    ["ts{1,3}", "const = 1", 2],
    ["mts", "return 1", 2],
    ["js", "const = 1", 2],
    ["js nocheck", "const = 1", undefined],
    ["tsx", "const = 1", undefined],
    ["python", "const = 1", undefined],
    ["", "const = 1", undefined]
  ])("of %j with %j break at line %s", (info, body, line) => {
    assert.deepStrictEqual(findings(fence(info, body)), line === undefined ? [] : [`${line} code-fence`])
  })
  it("counts fences and not indented blocks", () => {
    assert.strictEqual(analyse("a.md", `${fence("", "a")}\n\n    b\n\n~~~\nc\n~~~\n`).counts.fences, 2)
  })
  it("judges a fence after a hostile one as if it stood alone", () => {
    const deep = ["(", "[", "{", "a=>", "!", "`${", "let a: A<"].map((open) => fence("ts", open.repeat(20_000))).join(
      "\n\n"
    )
    const facts = analyse("a.md", `${deep}\n\n${fence("ts", "const a: number = 1")}`)
    assert.strictEqual(facts.findings.length, 7)
    assert.isTrue(facts.complete)
  })
})

describe("front matter", () => {
  it("that parses is no heading and no finding", () => {
    const facts = analyse("a.md", "---\ntitle: x\n---\n\n### a\n")
    assert.deepStrictEqual([facts.anchors, facts.findings], [["a"], []])
  })
  it("that does not parse is a finding, also after a BOM and with CRLF", () => {
    assert.deepStrictEqual(findings("---\na: [\n---\n"), ["2 code-fence"])
    assert.deepStrictEqual(findings("\uFEFF---\r\na: [\r\n---\r\n"), ["2 code-fence"])
  })
})

describe("hostile pages", () => {
  it.each<[string, string]>([
    ["5 MB in one line", "a".repeat(5_000_000)],
    ["quotes", ">".repeat(10_000)],
    ["lists", "- ".repeat(10_000)],
    ["lists by indentation", Array.from({ length: 900 }, (_, i) => `${" ".repeat(2 * i)}- a`).join("\n")],
    ["nested emphasis", `${"*a _b ".repeat(10_000)}${"b_ a*".repeat(10_000)}`],
    ["nested links", `${"[".repeat(10_000)}a${"](b)".repeat(10_000)}`],
    ["underlines", "a\n=\n".repeat(10_000)]
  ])("of %s are refused with one finding", (_, text) => {
    const facts = analyse("a.md", text)
    assert.isFalse(facts.complete)
    assert.deepStrictEqual(facts.findings.map((finding) => finding.kind), ["unreadable-page"])
  })
  it.each<[string, string]>([
    ["a long line", "a".repeat(Limit.CHARACTERS)],
    [
      "binary junk",
      Array.from({ length: 20_000 }, (_, i) => String.fromCharCode((i * 7919 + 13 * i * i) % 256)).join("")
    ],
    ["lone surrogates and nulls", "# \uD800\0\n[\uD800](\uDC00%)"],
    ["open comments", "<!-- ".repeat(100_000)],
    ["a list of 2000 links", "- [a](https://b.c)\n".repeat(2000)],
    ["a table of 2000 links", `|a|\n|-|\n${"| [a](https://b.c) |\n".repeat(2000)}`],
    ["a large fence of brackets", fence("text", "[[[[\n".repeat(5000))]
  ])("with %s are read", (_, text) => assert.isTrue(analyse("a.md", text).complete))
  it("keep their line numbers with CRLF", () =>
    assert.deepStrictEqual(findings("# a\r\n\r\n### b\r\n"), ["3 heading-jump"]))

  const pieces = Schema.Array(Schema.Union([
    Schema.String,
    Schema.Literals([
      "# ",
      "\n",
      "```ts\n",
      "[a](",
      ")",
      "<a id=\"",
      "---\n",
      "> ",
      "- ",
      "|",
      "*",
      "\r",
      "&",
      "\\",
      "%",
      "json",
      "\0"
    ])
  ]))
  it.prop("any text gives facts that a checkpoint can hold", [pieces], ([parts]) => {
    const facts = analyse("a.md", parts.join(""))
    assert.isTrue(Schema.is(PageFacts)(facts))
    assert.deepStrictEqual(JSON.parse(JSON.stringify(facts)), facts)
  })
})
