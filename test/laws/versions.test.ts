/**
 * A thread that any version of a graph has stored, and any later one has gone on with, is read by every later one as its
 * migrations say: keys renamed, names used again, forms converted, accepted and rewritten, in any order.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import { Channel, Checkpointer, Migration, State, StateGraph } from "superstep"
import { runs } from "./budget.ts"

/** The forms that a key may have: a text, a text or nothing, lists that are replaced, appended to, folded. */
const forms = {
  text: Channel.lastValue(Schema.String),
  maybe: Channel.lastValue(Schema.NullOr(Schema.String)),
  list: Channel.lastValue(Schema.Array(Schema.String)),
  append: Channel.append(Schema.String),
  loose: Channel.append(Schema.NullOr(Schema.String)),
  delta: Channel.delta({
    value: Schema.Array(Schema.String),
    initial: () => [],
    reduce: (list: ReadonlyArray<string>, writes: ReadonlyArray<ReadonlyArray<string>>) => [...list, ...writes.flat()]
  })
} as const
type Form = keyof typeof forms
const formNames = Object.keys(forms) as ReadonlyArray<Form>

const isText = (form: Form): boolean => form === "text" || form === "maybe"

/** What a form becomes without being converted, and whether that has to be accepted. */
const rewritten: Partial<Record<Form, Form>> = { append: "delta", delta: "append" }
const accepted: Partial<Record<Form, Form>> = { text: "maybe", append: "loose", delta: "loose" }

type Change =
  | { readonly _tag: "Rename"; readonly key: number; readonly to: string }
  | { readonly _tag: "Convert"; readonly key: number; readonly to: Form; readonly mark: string }
  | { readonly _tag: "Rewrite" | "Accept" | "Drop"; readonly key: number }
  | { readonly _tag: "Add"; readonly to: string; readonly form: Form }

const names = ["a", "b", "c", "d"]
const name = fc.constantFrom(...names)
const form = fc.constantFrom(...formNames)
const key = fc.nat(5)
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ _tag: fc.constant("Rename" as const), key, to: name }),
  fc.record({ _tag: fc.constant("Convert" as const), key, to: form, mark: fc.constantFrom("x", "y", "z") }),
  fc.record({ _tag: fc.constantFrom("Rewrite" as const, "Accept" as const, "Drop" as const), key }),
  fc.record({ _tag: fc.constant("Add" as const), to: name, form })
)
const plans = fc.record({
  first: fc.tuple(form, form),
  steps: fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
})

/** A key, whatever it is called: `id` is what it is. */
interface Key {
  readonly id: number
  readonly name: string
  readonly form: Form
}

type Values = ReadonlyMap<number, unknown>

interface Version {
  readonly keys: ReadonlyArray<Key>
  readonly migrations: ReadonlyArray<Migration.Migration>
  /** What the version before held, as this one holds it. */
  readonly upgrade: (values: Values) => Values
}

const valueOf = ({ form, id }: Key): unknown => isText(form) ? `<${id}>` : [`<${id}>`]

const converting = (from: Form, to: Form, mark: string) => (old: unknown): unknown => {
  const texts = (isText(from) ? [old] : old as ReadonlyArray<unknown>).map((text) => `${String(text)}${mark}`)
  return isText(to) ? texts[0] ?? "" : texts
}

const renaming = (keys: ReadonlyArray<Key>, id: number, to: Partial<Key>): ReadonlyArray<Key> =>
  keys.map((one) => one.id === id ? { ...one, ...to } : one)

/** One change of a version: what it is to the keys, what is declared of it, and what becomes of a value. */
const changed = (keys: ReadonlyArray<Key>, change: Change, next: number): Version | undefined => {
  const same = (values: Values): Values => values
  if (change._tag === "Add") {
    return keys.some((one) => one.name === change.to)
      ? undefined
      : { keys: [...keys, { id: next, name: change.to, form: change.form }], migrations: [], upgrade: same }
  }
  const own = keys[change.key % keys.length]!
  switch (change._tag) {
    case "Rename":
      return keys.some((one) => one.name === change.to) ? undefined : {
        keys: renaming(keys, own.id, { name: change.to }),
        migrations: [Migration.rename(own.name, change.to)],
        upgrade: same
      }
    case "Convert": {
      const value = converting(own.form, change.to, change.mark)
      return {
        keys: renaming(keys, own.id, { form: change.to }),
        migrations: [Migration.convert(own.name, { from: forms[own.form] as Channel.Any, value })],
        upgrade: (values) => values.has(own.id) ? new Map([...values, [own.id, value(values.get(own.id))]]) : values
      }
    }
    case "Rewrite":
    case "Accept": {
      const to = (change._tag === "Rewrite" ? rewritten : accepted)[own.form]
      return to === undefined ? undefined : {
        keys: renaming(keys, own.id, { form: to }),
        migrations: change._tag === "Accept" ? [Migration.accept(own.name, { from: forms[own.form] })] : [],
        upgrade: same
      }
    }
    case "Drop":
      return {
        keys: keys.filter(({ id }) => id !== own.id),
        migrations: [Migration.drop(own.name)],
        upgrade: (values) => new Map([...values].filter(([id]) => id !== own.id))
      }
  }
}

const graphOf = ({ keys, migrations }: Version, index: number) => {
  const channels = Object.fromEntries(keys.map(({ form, name }) => [name, forms[form]]))
  return StateGraph.make(
    "app",
    // A node more in each version: none of them is another one.
    { state: State.make(channels), bodies: { run: () => ({}), [`node${index}`]: () => ({}) } } as never,
    { start: "run" } as never,
    { migrations }
  ) as unknown as StateGraph.StateGraph<
    State.State<State.Fields, string, string>,
    Readonly<Record<string, unknown>>,
    never,
    never,
    never
  >
}

/** The versions of a plan. What cannot be declared is not done. */
const versionsOf = (
  { first, steps }: { readonly first: readonly [Form, Form]; readonly steps: ReadonlyArray<ReadonlyArray<Change>> }
) => {
  let ids = first.length
  const versions: Array<Version> = [{
    keys: first.map((form, id) => ({ id, name: names[id]!, form })),
    migrations: [],
    upgrade: (values) => values
  }]
  const graphs = [graphOf(versions[0]!, 0)]
  for (const changes of steps) {
    const before = versions.at(-1)!
    let now: Version = { ...before, upgrade: (values) => values }
    for (const change of changes) {
      const next = now.keys.length === 0 ? undefined : changed(now.keys, change, ids++)
      if (next === undefined) continue
      const { upgrade } = now
      now = {
        keys: next.keys,
        migrations: [...now.migrations, ...next.migrations],
        upgrade: (values) => next.upgrade(upgrade(values))
      }
    }
    if (now.keys.length === 0) continue
    try {
      graphs.push(graphOf(now, versions.length))
      versions.push(now)
    } catch {
      // A declaration that cannot be right.
    }
  }
  return { graphs, versions }
}

const isThere = (value: unknown): boolean => !Array.isArray(value) || value.length > 0

/** Stored by version `i`, gone on with by `j`, read by `k`. */
const check = Effect.fnUntraced(
  function*({ graphs, versions }: ReturnType<typeof versionsOf>, [i, j, k]: readonly [number, number, number]) {
    const inputOf = (keys: ReadonlyArray<Key>) => Object.fromEntries(keys.map((key) => [key.name, valueOf(key)]))
    const { keys } = versions[i]!
    yield* graphs[i]!.thread("t").invoke(inputOf(keys) as never)
    let held: Values = new Map(keys.map((key) => [key.id, valueOf(key)]))
    for (let at = i + 1; at <= j; at++) held = versions[at]!.upgrade(held)
    if (j > i) {
      const fresh = versions[j]!.keys.filter(({ id }) => !keys.some((key) => key.id === id))
      yield* graphs[j]!.thread("t").invoke(inputOf(fresh) as never)
      held = new Map([...held, ...fresh.map((key) => [key.id, valueOf(key)] as const)])
    }
    for (let at = j + 1; at <= k; at++) held = versions[at]!.upgrade(held)
    const expected = versions[k]!.keys.filter(({ id }) => held.has(id)).map(({ id, name }) =>
      [name, held.get(id)] as const
    )
    const thread = graphs[k]!.thread("t")
    const { values } = yield* thread.state()
    const found = Object.entries(values).filter(([, value]) => isThere(value))
    assert.deepStrictEqual(
      Object.fromEntries(found),
      Object.fromEntries(expected.filter(([, value]) => isThere(value)))
    )
    // All of the past, too.
    assert.isAtLeast((yield* thread.history()).length, 2)
    assert.isUndefined((yield* thread.verify).divergence)
  },
  Effect.provide(Checkpointer.layerMemory)
)

const budget = runs(150)

const examples: Array<[ReturnType<typeof plans["generate"]>["value"]]> = [
  // A conversion, a renaming, and another key of the old name.
  [{
    first: ["text", "maybe"],
    steps: [
      [
        { _tag: "Convert", key: 3, to: "text", mark: "x" },
        { _tag: "Rename", key: 1, to: "c" },
        { _tag: "Add", to: "b", form: "maybe" }
      ],
      [{ _tag: "Add", to: "a", form: "text" }]
    ]
  }],
  // What went on by itself, and was converted then.
  [{
    first: ["text", "append"],
    steps: [[{ _tag: "Rewrite", key: 3 }, { _tag: "Drop", key: 0 }, { _tag: "Convert", key: 0, to: "text", mark: "x" }]]
  }]
]

it(
  "Law18 a thread of any version is read by every later one as its migrations say",
  () =>
    fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const all = versionsOf(plan)
        const count = all.versions.length
        for (let i = 0; i < count; i++) {
          for (let j = i; j < count; j++) {
            for (let k = j; k < count; k++) await Effect.runPromise(check(all, [i, j, k]))
          }
        }
      }),
      { numRuns: budget.arbitrary.runs, examples }
    ),
  budget.timeout * 2
)
