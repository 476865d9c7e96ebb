/** Folders of pages, made for one test and gone after it. */
import { Effect, FileSystem, Path } from "effect"

export const temporary = Effect.flatMap(
  FileSystem.FileSystem,
  (files) => files.makeTempDirectoryScoped({ prefix: "audit-" })
)

/** Writes files below a folder, by their paths from it. */
export const write = Effect.fnUntraced(function*(folder: string, texts: Readonly<Record<string, string>>) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (const [name, text] of Object.entries(texts)) {
    yield* files.makeDirectory(path.dirname(path.join(folder, name)), { recursive: true })
    yield* files.writeFileString(path.join(folder, name), text)
  }
})

/** One fault of every kind, and what no audit should mind. */
export const faulty = {
  "a.md": "# A\n\n### Jumps\n\n[b](docs/b.md#missing) [gone](gone.md)\n",
  "docs/b.md": "# B\n\n```json\n{\"a\": }\n```\n\n[fine](../a.md#jumps) [ours](../.github/flow.yml) [theirs](/dist/)\n",
  ".github/flow.yml": "",
  ".github/README.md": "[broken](nowhere)",
  ".hidden.md": "[broken](nowhere)",
  "dist/c.md": "[broken](nowhere)",
  "node_modules/d/d.md": "[broken](nowhere)"
}

export const report = `# Markdown audit

2 pages, 3 headings, 5 links, 1 code fence: 4 findings.

## \`a.md\`

| Line | Kind | Message |
| ---: | --- | --- |
| 3 | heading-jump | \`h3 follows h1; h2 was expected\` |
| 5 | broken-anchor | \`"docs/b.md#missing": "docs/b.md" has no anchor "missing"\` |
| 5 | broken-link | \`"gone.md": "gone.md" does not exist\` |

## \`docs/b.md\`

| Line | Kind | Message |
| ---: | --- | --- |
| 4 | code-fence | \`JSON: Unexpected token '}', "{"a": }" is not valid JSON\` |
`
