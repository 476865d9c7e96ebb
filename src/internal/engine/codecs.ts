/** How values, records of writes, and Sends enter a graph and cross storage. Pure. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import * as Send from "../../Send.ts"
import type * as State from "../../State.ts"
import { taking } from "../fit.ts"
import { freeze, isFragile, seal } from "../freeze.ts"
import { isRecord } from "../record.ts"
import { setKey } from "./checkpoint.ts"
import type { Codec, NodeProgram } from "./program.ts"

const decodedValue = (channel: Channel.Any, json: unknown): Result.Result<unknown, string> =>
  Result.map(Channel.decode(channel, json), (cell) => Option.getOrThrow(cell))

const encodedValue = (channel: Channel.Any, value: unknown): Result.Result<Schema.Json, string> =>
  Channel.encode(channel, Option.some(value) as Option.Some<unknown>)

export const channelCodec = (channel: Channel.Any): Codec => ({
  encode: (value) => encodedValue(channel, value),
  decode: (json) => decodedValue(channel, json),
  encodeWrite: (write) => Channel.encodeWrite(channel, write),
  decodeWrite: (row) => Channel.decodeWrite(channel, row),
  // What entered a channel has a stored form.
  handOut: (value) =>
    isFragile(value)
      ? Result.getOrThrow(Result.flatMap(encodedValue(channel, value), (json) => decodedValue(channel, json)))
      : value,
  handOutWrite: (write) =>
    isFragile(contentOf(write))
      ? Result.getOrThrow(
        Result.flatMap(Channel.encodeWrite(channel, write), (row) => Channel.decodeWrite(channel, row))
      )
      : write,
  take: (write) =>
    Channel.isOverwrite(write)
      ? Result.map(taking(channel.value, write.value), Channel.overwrite)
      : taking(channel.update, write)
})

const contentOf = (write: unknown): unknown => write instanceof Channel.Overwrite ? write.value : write

export const schemaCodec = (schema: Channel.AnySchema): Codec => channelCodec(Channel.lastValue(schema))

/** A record of writes by key, each through the codec of its channel: what an input is, and a Send to a node that reads the state. */
export const recordCodec = (fields: State.Fields, isUpdate: boolean): Codec => {
  const each = <A>(
    record: unknown,
    isStored: boolean,
    f: (channel: Channel.Any, value: unknown, key: string) => Result.Result<A, string>
  ): Result.Result<ReadonlyArray<readonly [string, A]>, string> => {
    const out: Array<readonly [string, A]> = []
    for (const key of Object.keys(record as object)) {
      const channel = fields[key]
      if (channel === undefined) return Result.fail(`"${key}" is no key of the state`)
      const value = (record as Record<string, unknown>)[key]
      // Untracked values live for one run: they are never stored.
      if (value === undefined || (isStored && channel.rule._tag === "UntrackedValue")) continue
      const done = f(channel, value, key)
      if (Result.isFailure(done)) return Result.fail(`at "${key}": ${done.failure}`)
      out.push([key, done.success])
    }
    return Result.succeed(out)
  }
  const asValue = (channel: Channel.Any): Channel.Any => isUpdate ? channel : Channel.lastValue(channel.value)
  const encode = (record: unknown): Result.Result<Schema.Json, string> =>
    Result.map(
      each(record, true, (channel, value) => Channel.encodeWrite(asValue(channel), value)),
      (rows) => rows.map(([key, row]): Schema.Json => [key, row.kind, row.json])
    )
  const decode = (json: unknown): Result.Result<unknown, string> => {
    if (!isStoredRecord(json)) return Result.fail("expected a list of rows")
    const entries: Array<readonly [string, unknown]> = []
    for (const [key, kind, value] of json) {
      const channel = fields[key]
      if (channel === undefined) return Result.fail(`"${key}" is no key of the state`)
      const decoded = Channel.decodeWrite(asValue(channel), { kind, json: value })
      if (Result.isFailure(decoded)) return Result.fail(`at "${key}": ${decoded.failure}`)
      entries.push([key, decoded.success])
    }
    return Result.succeed(sealedRecord(entries, () => false))
  }
  /** Untracked values have no copy: they are handed on as they are. */
  const eachOwn = (
    record: unknown,
    f: (codec: Codec, write: unknown) => Result.Result<unknown, string>
  ): Result.Result<unknown, string> =>
    Result.map(
      each(record, false, (channel, write) =>
        isUntracked(channel)
          ? Result.succeed(write)
          : f(channelCodec(asValue(channel)), write)),
      (entries) => sealedRecord(entries, (key) => isUntracked(fields[key]!))
    )
  const handOut = (record: unknown): unknown =>
    isFragile(record)
      ? Result.getOrThrow(eachOwn(record, (codec, write) => Result.succeed(codec.handOutWrite(write))))
      : record
  return {
    fields,
    encode,
    decode,
    encodeWrite: (write) => Result.map(encode(write), (json) => ({ kind: "write", json })),
    decodeWrite: (row) => decode(row.json),
    handOut,
    handOutWrite: handOut,
    take: (record) =>
      isRecord(record) ? eachOwn(record, (codec, write) => codec.take(write)) : Result.fail("expected a record")
  }
}

const isUntracked = ({ rule }: Channel.Any): boolean => rule._tag === "UntrackedValue"

/** A record of writes that were taken. */
export const sealedRecord = (
  entries: ReadonlyArray<readonly [string, unknown]>,
  isUntracked: (key: string) => boolean
): Readonly<Record<string, unknown>> => {
  const record: Record<string, unknown> = {}
  for (const [key, value] of entries) setKey(record, key, value)
  return seal(record, entries.filter(([key]) => !isUntracked(key)).map(([, write]) => contentOf(write)))
}

const isStoredSend = Schema.is(Schema.Tuple([Schema.String, Schema.Json, Schema.NullOr(Schema.Finite)]))
const isStoredRecord = Schema.is(
  Schema.Array(Schema.Tuple([Schema.String, Schema.Literals(["write", "overwrite"]), Schema.Json]))
)

/** Sends are stored with the inputs encoded as their nodes say; a gap among them as `null`. */
export const tasksCodec = (node: (name: string) => NodeProgram | undefined): Codec => {
  const encodeOne = (send: unknown): Result.Result<Schema.Json, string> => {
    if (send === null) return Result.succeed(null)
    const { arg, node: name, timeoutMillis } = send as Send.Any
    const target = node(name)
    if (target === undefined) return Result.fail(`there is no node "${name}"`)
    return Result.map(target.input.encode(arg), (json): Schema.Json => [name, json, timeoutMillis ?? null])
  }
  const decodeOne = (json: unknown): Result.Result<unknown, string> => {
    if (json === null) return Result.succeed(null)
    if (!isStoredSend(json)) return Result.fail("expected a Send")
    const [name, arg, timeoutMillis] = json
    const target = node(name)
    if (target === undefined) return Result.fail(`there is no node "${name}"`)
    return Result.map(
      target.input.decode(arg),
      (value) => Send.make(name, value, timeoutMillis === null ? undefined : { timeout: timeoutMillis })
    )
  }
  return {
    encode: (value) => Result.all((value as ReadonlyArray<unknown>).map(encodeOne)),
    decode: (json) =>
      Array.isArray(json)
        ? Result.map(Result.all(json.map(decodeOne)), freeze)
        : Result.fail("expected a list of Sends"),
    encodeWrite: (write) => Result.map(encodeOne(write), (json) => ({ kind: "write", json })),
    decodeWrite: (row) => decodeOne(row.json),
    handOut: (sends) => sends,
    handOutWrite: (send) => send,
    take: (send) => Result.succeed(send)
  }
}
