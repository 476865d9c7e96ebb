/** From the migrations that a graph declares to what reading applies. Pure; what is wrong with them is told. */
import * as Result from "effect/Result"
import * as Channel from "../../Channel.ts"
import type { Migration } from "../../Migration.ts"
import { isPromise } from "../promise.ts"
import type { Finishing } from "../rule.ts"
import { channelCodec } from "./codecs.ts"
import { keepsLast } from "./fold.ts"
import { isReadable, isSameKind, kindOf, markOf } from "./mark.ts"
import type { Change, ChannelProgram, Conversion } from "./program.ts"

/** What of a graph its migrations lead to. */
export interface Present {
  readonly migrations: ReadonlyArray<Migration>
  /** The keys of the state that are stored. */
  readonly keys: ReadonlyArray<ChannelProgram>
  /** By name: all channels, those of the machine among them. */
  readonly channel: (name: string) => ChannelProgram | undefined
  readonly hasNode: (name: string) => boolean
}

/** A channel of then, as a migration names it. */
const channelThen = (key: string, from: Channel.Any): ChannelProgram => ({
  name: key,
  rule: from.rule,
  codec: channelCodec(from),
  isState: true,
  value: from.value,
  update: from.update
})

/** What a key became: its name, and the form that came next, as the next change starts from it or as it is. */
interface Became {
  /** None if it was dropped. */
  readonly name: string | undefined
  readonly next: ChannelProgram | undefined
}

const became = ({ channel }: Present, key: string, later: ReadonlyArray<Migration>): Became => {
  let name = key
  let next: ChannelProgram | undefined
  for (const one of later) {
    if (one._tag === "Drop" && one.key === name) return { name: undefined, next }
    if (one._tag === "Rename" && one.from === name) name = one.to
    else if ((one._tag === "Accept" || one._tag === "Convert") && one.key === name) {
      next ??= channelThen(name, one.from)
    }
  }
  return { name, next: next ?? channel(name) }
}

/** The key that is renamed to what another one is renamed to already. */
const renamedToo = (key: string, later: ReadonlyArray<Migration>): string | undefined => {
  let name = key
  for (const one of later) {
    if (one._tag !== "Rename") continue
    if (one.to === name) return one.from
    if (one.from === name) name = one.to
  }
  return undefined
}

/** What is wrong with what is said of a key that has stayed. */
const wrongForm = (
  present: Present,
  { _tag, from, key }: Migration & { readonly _tag: "Accept" | "Convert" },
  later: ReadonlyArray<Migration>
): string | undefined => {
  const { name, next } = became(present, key, later)
  if (name === undefined) return undefined
  const said = _tag === "Accept" ? "accepted" : "converted"
  const now = present.channel(name)
  if (now?.isState !== true) return `"${key}" is ${said}, and is no key of the state`
  if (now.rule._tag === "UntrackedValue") return `"${key}" is ${said}, and is untracked: drop it`
  // A key that has another name now is told by that.
  if (name === key && isReadable(markOf(from), markOf(now))) {
    return `"${key}" is ${said} from what has the same stored form: give the key another name, and rename it`
  }
  return _tag === "Accept" && !isSameKind(markOf(from), markOf(next!))
    ? `"${key}" is accepted from what merges writes otherwise: convert it`
    : undefined
}

/** What is wrong with one migration. */
const wrongIn = (present: Present, one: Migration, later: ReadonlyArray<Migration>): string | undefined => {
  switch (one._tag) {
    case "Rename": {
      const other = renamedToo(one.to, later)
      if (other !== undefined) return `"${one.from}" and "${other}" get one name`
      const { name } = became(present, one.to, later)
      return name !== undefined && present.channel(name)?.isState !== true
        ? `"${one.from}" is renamed to "${one.to}", which is no key of the state`
        : undefined
    }
    case "Drop":
      return present.channel(one.key) === undefined ? undefined : `"${one.key}" is said to be dropped, and is there`
    case "Accept":
    case "Convert":
      return wrongForm(present, one, later)
    case "DropNode":
      return present.hasNode(one.node) ? `node "${one.node}" is said to be dropped, and is there` : undefined
  }
}

/** Functions of users may throw. */
const attempt = (
  { from, key }: Migration & { readonly _tag: "Convert" },
  what: "value" | "write",
  f: (old: unknown) => unknown
) =>
(old: unknown): Result.Result<unknown, string> => {
  const who = `the \`${what}\` of the migration of "${key}" from ${kindOf(markOf(from))}`
  try {
    const now = f(old)
    return isPromise(now) ? Result.fail(`${who} gives a promise: it tells at once`) : Result.succeed(now)
  } catch (cause) {
    return Result.fail(`${who} throws: ${String(cause)}`)
  }
}

/** What a conversion of values makes of what channels hold, where that is more than a value. */
const onCell = (
  from: Channel.Rule,
  to: Channel.Rule,
  value: (old: unknown) => Result.Result<unknown, string>
) =>
(cell: unknown): Result.Result<unknown, string> => {
  const { finished, value: old } = from._tag === "LastValueAfterFinish"
    ? cell as Finishing
    : { value: cell, finished: false }
  const now = value(old)
  return to._tag === "LastValueAfterFinish" ? Result.map(now, (value): Finishing => ({ value, finished })) : now
}

/** A conversion in which what is stored stays as it is, and is read as what came next. */
const accepted = ({ from, key }: Migration & { readonly _tag: "Accept" }, next: ChannelProgram): Conversion => {
  const then = channelThen(key, from)
  return {
    _tag: "Convert",
    key,
    from: then,
    mark: markOf(from),
    cell: (old) => Result.flatMap(then.codec.encode(old), next.codec.decode),
    write: (old) => Result.flatMap(then.codec.encodeWrite(old), next.codec.decodeWrite)
  }
}

const converted = (one: Migration & { readonly _tag: "Convert" }, next: ChannelProgram): Conversion => {
  const { from, key, value, write } = one
  const ofValue = attempt(one, "value", value)
  const ofWrite = write === undefined ? undefined : attempt(one, "write", write)
  const overwritten = (old: unknown) => Result.map(ofValue(old), Channel.overwrite)
  return {
    _tag: "Convert",
    key,
    from: channelThen(key, from),
    mark: markOf(from),
    cell: onCell(from.rule, next.rule, ofValue),
    write: (old) => {
      if (Channel.isOverwrite(old)) return overwritten(old.value)
      if (ofWrite !== undefined) return ofWrite(old)
      if (!keepsLast(from.rule)) return undefined
      // What replaced the old value replaces the new one.
      return keepsLast(next.rule) ? ofValue(old) : overwritten(old)
    }
  }
}

const changeOf = (
  present: Present,
  one: Migration,
  later: ReadonlyArray<Migration>
): ReadonlyArray<Change> => {
  if (one._tag !== "Accept" && one._tag !== "Convert") return [one]
  const { name, next } = became(present, one.key, later)
  // What was dropped after all.
  if (name === undefined || next === undefined) return []
  return [one._tag === "Accept" ? accepted(one, next) : converted(one, next)]
}

/** What the migrations say of a stored key: the name that it has now, unless it was dropped, and how its values are read. */
export interface Fate {
  readonly at: string | undefined
  readonly mark: string
  readonly conversions: ReadonlyArray<Conversion>
}

/** What became of all keys at once: a name may have been that of one key, and then of another. */
export const fatesOf = (
  changes: ReadonlyArray<Change>,
  marks: ReadonlyMap<string, string>
): ReadonlyMap<string, Fate> => {
  const fates = new Map<string, Fate>([...marks].map(([at, mark]) => [at, { at, mark, conversions: [] }]))
  /** By the name at the time: the name that is stored. */
  const named = new Map([...marks.keys()].map((name) => [name, name]))
  for (const one of changes) {
    if (one._tag === "DropNode") continue
    const name = one._tag === "Rename" ? one.from : one.key
    const stored = named.get(name)
    if (stored === undefined) continue
    const fate = fates.get(stored)!
    if (one._tag === "Convert") {
      const applies = fate.conversions.length > 0 || isReadable(fate.mark, one.mark)
      if (applies) fates.set(stored, { ...fate, conversions: [...fate.conversions, one] })
    } else if (one._tag === "Rename" && named.has(one.to)) {
      // A thread of after the renaming: its key is another one of the old name, to which nothing before applied.
      fates.set(stored, { ...fate, conversions: [] })
    } else {
      named.delete(name)
      fates.set(stored, { ...fate, at: one._tag === "Rename" ? one.to : undefined })
      if (one._tag === "Rename") named.set(one.to, stored)
    }
  }
  return fates
}

/** A key of the state that the migrations would give another name. */
const movedKey = ({ keys }: Present, changes: ReadonlyArray<Change>): string | undefined => {
  const fates = fatesOf(changes, new Map(keys.map((key) => [key.name, markOf(key)])))
  return [...fates].find(([name, { at }]) => at !== name)?.[0]
}

/** The changes that migrations declare, or what is wrong with them. */
export const changesOf = (present: Present): Result.Result<ReadonlyArray<Change>, string> => {
  const { migrations } = present
  for (const [index, one] of migrations.entries()) {
    const what = wrongIn(present, one, migrations.slice(index + 1))
    if (what !== undefined) return Result.fail(what)
  }
  const changes = migrations.flatMap((one, index) => changeOf(present, one, migrations.slice(index + 1)))
  const moved = movedKey(present, changes)
  return moved === undefined
    ? Result.succeed(changes)
    : Result.fail(`"${moved}" is said to be renamed, and is a key of the state`)
}
