/** From the migrations that a graph declares to what reading applies. Pure; what is wrong with them is told. */
import * as Result from "effect/Result"
import * as Channel from "../../Channel.ts"
import type { Migration } from "../../Migration.ts"
import type { Finishing } from "../rule.ts"
import { channelCodec } from "./codecs.ts"
import { keepsLast } from "./fold.ts"
import { isSameKind, markOf } from "./mark.ts"
import type { Change, ChannelProgram, Conversion } from "./program.ts"

/** What of a graph its migrations lead to. */
export interface Present {
  readonly migrations: ReadonlyArray<Migration>
  /** The keys of the state. */
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

/** The name that a key has after the changes that follow; none if it is dropped. */
const lastName = (key: string, later: ReadonlyArray<Migration>): string | undefined => {
  let name = key
  for (const one of later) {
    if (one._tag === "Drop" && one.key === name) return undefined
    if (one._tag === "Rename" && one.from === name) name = one.to
  }
  return name
}

/** What a key became next: as the next change starts from it, or as it is; none if it was dropped, or is not there. */
const nextOf = (
  { channel }: Present,
  key: string,
  later: ReadonlyArray<Migration>
): ChannelProgram | undefined => {
  let name = key
  for (const one of later) {
    if (one._tag === "Drop" && one.key === name) return undefined
    if (one._tag === "Rename" && one.from === name) name = one.to
    else if ((one._tag === "Accept" || one._tag === "Convert") && one.key === name) return channelThen(name, one.from)
  }
  return channel(name)
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

/** What is wrong with one migration. */
const wrongIn = (present: Present, one: Migration, later: ReadonlyArray<Migration>): string | undefined => {
  const has = (key: string): boolean => present.channel(key)?.isState === true
  const isLost = (key: string): boolean => {
    const last = lastName(key, later)
    return last !== undefined && !has(last)
  }
  const looksTheSame = (key: string, from: Channel.Any): boolean => {
    const last = lastName(key, later)
    return last !== undefined && markOf(present.channel(last)!) === markOf(from)
  }
  switch (one._tag) {
    case "Rename": {
      const other = renamedToo(one.to, later)
      if (other !== undefined) return `"${one.from}" and "${other}" get one name`
      return isLost(one.to) ? `"${one.from}" is renamed to "${one.to}", which is no key of the state` : undefined
    }
    case "Drop":
      return present.channel(one.key) === undefined ? undefined : `"${one.key}" is said to be dropped, and is there`
    case "Accept": {
      if (isLost(one.key)) return `"${one.key}" is accepted, and is no key of the state`
      if (looksTheSame(one.key, one.from)) return `"${one.key}" is accepted from what has the same stored form`
      const next = nextOf(present, one.key, later)
      return next !== undefined && !isSameKind(markOf(one.from), markOf(next))
        ? `"${one.key}" is accepted from what merges writes otherwise: convert it`
        : undefined
    }
    case "Convert": {
      if (isLost(one.key)) return `"${one.key}" is converted, and is no key of the state`
      return looksTheSame(one.key, one.from)
        ? `"${one.key}" is converted from what has the same stored form: give the key another name, and rename it`
        : undefined
    }
    case "DropNode":
      return present.hasNode(one.node) ? `node "${one.node}" is said to be dropped, and is there` : undefined
  }
}

/** Functions of users may throw. */
const attempt = (f: (old: unknown) => unknown) => (old: unknown): Result.Result<unknown, string> => {
  try {
    return Result.succeed(f(old))
  } catch (cause) {
    return Result.fail(`its migration throws: ${String(cause)}`)
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

const converted = (
  { from, key, value, write }: Migration & { readonly _tag: "Convert" },
  next: ChannelProgram
): Conversion => {
  const ofValue = attempt(value)
  const ofWrite = write === undefined ? undefined : attempt(write)
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
  const next = nextOf(present, one.key, later)
  // What was dropped after all.
  if (next === undefined) return []
  return [one._tag === "Accept" ? accepted(one, next) : converted(one, next)]
}

/** What the migrations say of a stored key: the name that it has now, unless it was dropped, and how its values are read. */
export interface Fate {
  at: string | undefined
  readonly mark: string
  readonly conversions: Array<Conversion>
}

/** What became of all keys at once: a name may have been that of one key, and then of another. */
export const fatesOf = (
  migrations: ReadonlyArray<Change>,
  marks: ReadonlyMap<string, string>
): ReadonlyMap<string, Fate> => {
  const fates = new Map([...marks].map(([at, mark]): [string, Fate] => [at, { at, mark, conversions: [] }]))
  const named = new Map(fates)
  for (const one of migrations) {
    if (one._tag === "DropNode") continue
    const name = one._tag === "Rename" ? one.from : one.key
    const fate = named.get(name)
    if (fate === undefined) continue
    if (one._tag === "Convert") {
      const { conversions, mark } = fate
      if (conversions.length > 0 || one.mark === mark) conversions.push(one)
      continue
    }
    // A thread of after the renaming has the new name already, and may have the old one for something else.
    if (one._tag === "Rename" && named.has(one.to)) continue
    named.delete(name)
    fate.at = one._tag === "Rename" ? one.to : undefined
    if (one._tag === "Rename") named.set(one.to, fate)
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
