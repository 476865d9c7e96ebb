/**
 * How a graph reads what was stored of it, perhaps by an earlier version of itself. What has the same mark is read as it is; what has another
 * is read as the migrations of the graph say. What is left open is a difference: the thread waits until it is settled. Pure.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import type { GraphDifference } from "../../GraphError.ts"
import { isReadable, isSameKind, kindOf, markOf } from "./mark.ts"
import { type Fate, fatesOf } from "./migrations.ts"
import {
  branchTarget,
  byName,
  type ChannelProgram,
  type Conversion,
  INPUT,
  isJoinChannel,
  isMachineChannel,
  type NodeProgram,
  type Program,
  TASKS
} from "./program.ts"
import { type Fault, fault, partsOf, type Saying, type StoredBy, storedBy, type StoredWrite } from "./stored.ts"
import type { Write } from "./writes.ts"

/** How one stored channel is read. */
export interface Source {
  /** The channel as it was then, as far as its codec and its rule are concerned. */
  readonly channel: ChannelProgram
  /** The number of the channel that it is now. */
  readonly to: number
  readonly conversions: ReadonlyArray<Conversion>
}

const appending: Channel.Rule = Channel.append(Schema.Unknown).rule

type Row = readonly [key: string, kind: "write" | "overwrite", json: Schema.Json]

/** What a present value or write reads back as from storage. */
const refit = <A>(encoded: Result.Result<A, string>, decode: (form: A) => Result.Result<unknown, string>) =>
  Result.mapError(Result.flatMap(encoded, decode), (why) => `what its migration makes of it does not fit: ${why}`)

/** What a channel holds now that held this. */
const cellNow = (program: Program, { conversions, to }: Source, cell: unknown): Result.Result<unknown, string> => {
  if (conversions.length === 0) return Result.succeed(cell)
  const { codec } = program.channels[to]!
  const now = conversions.reduce(
    (cell: Result.Result<unknown, string>, conversion) => Result.flatMap(cell, conversion.cell),
    Result.succeed(cell)
  )
  return Result.flatMap(now, (now) => refit(codec.encode(now), codec.decode))
}

/** The write that this is now; none if no migration says what becomes of it. */
const writeNow = (
  program: Program,
  { conversions, to }: Source,
  write: unknown
): Result.Result<unknown, string> | undefined => {
  if (conversions.length === 0) return Result.succeed(write)
  let now: Result.Result<unknown, string> = Result.succeed(write)
  for (const conversion of conversions) {
    if (Result.isFailure(now)) return now
    const next = conversion.write(now.success)
    if (next === undefined) return undefined
    now = next
  }
  const { codec } = program.channels[to]!
  return Result.flatMap(now, (now) => refit(codec.encodeWrite(now), codec.decodeWrite))
}

/** Why nothing can go on: a write to a key that no migration says anything of. */
export const unreadAt = (channel: string): Fault => ({
  reason: "Decode",
  channel,
  detail: `a task of an unfinished superstep has written "${channel}": give its migration a \`write\``
})

/** What is left open, and which nodes are gone: found while rows are read. */
interface Found {
  readonly differences: Map<string, GraphDifference>
  readonly gone: Set<string>
}

export class Reading {
  readonly program: Program
  /** What was said when it was stored; none if the present graph has stored it. */
  readonly #said: Saying | undefined
  readonly #found: Found
  readonly #fates: ReadonlyMap<string, Fate>
  /** Sources of keys, and of channels of the machine: of these it counts who asks for them. */
  readonly #keys: Map<string, Source | undefined>
  readonly #machines = new Map<string, Source | undefined>()
  /** By node that is a graph: how what it was sent is read. */
  readonly #inside: Map<string, Reading>
  #unread: Fault | undefined = undefined

  constructor(
    program: Program,
    stored: StoredBy | Saying | undefined,
    found: Found = { differences: new Map(), gone: new Set() },
    alike?: Reading
  ) {
    this.program = program
    this.#said = stored === undefined || ("graph" in stored && stored.graph === program.fingerprint)
      ? undefined
      : stored
    this.#found = found
    this.#fates = alike === undefined ? fatesOf(program.migrations, this.#said?.marks ?? new Map()) : alike.#fates
    this.#keys = alike === undefined ? new Map() : alike.#keys
    this.#inside = alike === undefined ? new Map() : alike.#inside
  }

  /** For one checkpoint of several, or for what one task has left, where another may have said something: each leads to nodes of its own. */
  anew(said: Saying | undefined = this.#said): Reading {
    const found = { differences: this.#found.differences, gone: new Set<string>() }
    return new Reading(this.program, said, found, said === this.#said ? this : undefined)
  }

  /** Nodes that are to run, and that the graph no longer has. */
  get gone(): ReadonlyArray<string> {
    return [...this.#found.gone].sort()
  }

  /** Why not all can be read: what cannot is passed over, but nothing can go on from there. */
  get unread(): Fault | undefined {
    return this.#unread
  }

  /** What has changed and is not declared. */
  get fault(): Fault | undefined {
    const differences = [...this.#found.differences.values()].sort(byName)
    if (differences.length > 0) return { reason: "Graph", graph: this.program.name, differences }
    return [...this.#inside.values()].map(({ fault }) => fault).find((fault) => fault !== undefined)
  }

  /** How a stored channel is read; not at all if it was dropped, or if what became of it is open. */
  source(name: string): Source | undefined {
    // What a function is given is a key of its own, and no record of others.
    const isMachine = isMachineChannel(name) && !(name === INPUT && this.program.kind === "function")
    const known = isMachine ? this.#machines : this.#keys
    if (known.has(name)) return known.get(name)
    const source = isMachine ? this.#machine(name) : this.#key(name)
    known.set(name, source)
    return source
  }

  #machine(name: string): Source | undefined {
    const number = this.program.channelNumber.get(name)
    if (number !== undefined) return { channel: this.program.channels[number]!, to: number, conversions: [] }
    const node = branchTarget(name)
    if (node !== undefined) this.#leave(node)
    else if (!this.#isDropped(name)) this.#differs({ kind: isJoinChannel(name) ? "JoinGone" : "KeyGone", name })
    return undefined
  }

  #isDropped(name: string): boolean {
    return this.program.migrations.some((one) => one._tag === "Drop" && one.key === name)
  }

  /** A node that is to run and is gone. */
  #leave(node: string): void {
    if (!this.program.migrations.some((one) => one._tag === "DropNode" && one.node === node)) {
      this.#found.gone.add(node)
    }
  }

  #differs(difference: GraphDifference): undefined {
    this.#found.differences.set(difference.name, difference)
    return undefined
  }

  /** The name that a stored key has now; none if it was dropped. */
  nameOf(key: string): string | undefined {
    const fate = this.#fates.get(key)
    return fate === undefined ? key : fate.at
  }

  #presentMark(channel: ChannelProgram): string {
    return storedBy(this.program).marks.get(channel.name) ?? markOf(channel)
  }

  #key(name: string): Source | undefined {
    const at = this.nameOf(name)
    if (at === undefined) return undefined
    const number = this.program.channelNumber.get(at)
    if (number === undefined) return this.#differs({ kind: "KeyGone", name })
    const channel = this.program.channels[number]!
    const fate = this.#fates.get(name)
    if (fate === undefined) return { channel, to: number, conversions: [] }
    const { conversions, mark } = fate
    const then = conversions[0]?.from ?? channel
    const is = conversions[0]?.mark ?? this.#presentMark(channel)
    if (isReadable(mark, is)) {
      // What was appended is read as it was appended, whatever a reducer of later would make of it.
      const isAppended = kindOf(mark) === "Append" && mark !== is
      return { channel: { ...then, name, rule: isAppended ? appending : then.rule }, to: number, conversions }
    }
    const isDeclared = this.program.migrations.some((one) => one._tag === "Convert" && one.key === name)
    const more = isDeclared ? { isDeclared } : {}
    return this.#differs(
      isSameKind(mark, is)
        ? { kind: "SchemaChanged", name, ...more }
        : { kind: "RuleChanged", name, was: kindOf(mark), is: kindOf(is), ...more }
    )
  }

  /** What a channel holds, once it is folded: the value that it has now. What cannot be frozen is handed out as a copy. */
  cell(source: Source, value: unknown): Result.Result<unknown, Fault> {
    const old = source.conversions.length === 0 ? value : source.channel.codec.handOut(value)
    const now = cellNow(this.program, source, old)
    return Result.isFailure(now) ? fault("Decode", source.channel.name, now.failure) : Result.succeed(now.success)
  }

  /** The write to what the channel is now; none if no migration says what becomes of it. */
  now(source: Source, write: unknown): Result.Result<Write, Fault> | undefined {
    const old = source.conversions.length === 0 ? write : source.channel.codec.handOutWrite(write)
    const now = writeNow(this.program, source, old)
    if (now === undefined) return undefined
    return Result.isFailure(now)
      ? fault("Decode", source.channel.name, now.failure)
      : Result.succeed({ channel: source.to, value: now.success })
  }

  /** A stored write as its channel read it then. */
  written(source: Source, write: StoredWrite): Result.Result<unknown, Fault> {
    const { json, kind, name } = partsOf(write)
    const form = this.#form(name, json, false)
    if (Result.isFailure(form)) return Result.fail(form.failure)
    const value = source.channel.codec.decodeWrite({ kind, json: form.success })
    return Result.isFailure(value) ? fault("Decode", name, value.failure) : Result.succeed(value.success)
  }

  /** Stored writes, as writes to the channels of the graph as it is. */
  writes(rows: ReadonlyArray<StoredWrite>): Result.Result<ReadonlyArray<Write>, Fault> {
    const writes: Array<Write> = []
    for (const row of rows) {
      const source = this.source(partsOf(row).name)
      if (source === undefined) continue
      const value = this.written(source, row)
      if (Result.isFailure(value)) return Result.fail(value.failure)
      const write = this.now(source, value.success)
      if (write === undefined) {
        this.#unread ??= unreadAt(source.channel.name)
        continue
      }
      if (Result.isFailure(write)) return Result.fail(write.failure)
      // A Send to a node that is gone.
      if (source.to !== this.program.tasks || write.success.value !== null) writes.push(write.success)
    }
    return Result.succeed(writes)
  }

  /** What a channel holds, as its channel read it then. */
  held(source: Source, json: Schema.Json): Result.Result<unknown, Fault> {
    const { codec, name } = source.channel
    const form = this.#form(name, json, true)
    if (Result.isFailure(form)) return Result.fail(form.failure)
    const value = codec.decode(form.success)
    return Result.isFailure(value) ? fault("Decode", name, value.failure) : Result.succeed(value.success)
  }

  /** Whether something has arrived at a join. */
  #isWaiting(json: Schema.Json): boolean {
    const { released, seen } = json as { readonly released?: boolean; readonly seen?: ReadonlyArray<string> }
    return released === true || (Array.isArray(seen) && seen.length > 0)
  }

  /** Whether what is held there counts: a join that is gone does not matter once it is done. */
  counts(name: string, json: Schema.Json): boolean {
    return !isJoinChannel(name) || this.program.channelNumber.has(name) || this.#isWaiting(json)
  }

  /** What the machine holds of the state, in the form that it would have been stored in now: inputs, and Sends. */
  #form(name: string, json: Schema.Json, isCell: boolean): Result.Result<Schema.Json, Fault> {
    if (this.#said === undefined) return Result.succeed(json)
    if (name === INPUT && this.program.input._tag === "Start") return this.#record(json, true)
    if (name !== TASKS) return Result.succeed(json)
    if (!isCell) return this.#send(json)
    return Array.isArray(json) ? Result.all(json.map((send) => this.#send(send as Schema.Json))) : Result.succeed(json)
  }

  /** A Send to a node that is gone leaves a gap. */
  #send(json: Schema.Json): Result.Result<Schema.Json, Fault> {
    if (!Array.isArray(json)) return Result.succeed(json)
    const [name, arg, timeout] = json as [string, Schema.Json, Schema.Json]
    const node = this.program.nodes[this.program.nodeNumber.get(name) ?? -1]
    if (node === undefined) {
      this.#leave(name)
      return Result.succeed(null)
    }
    const { fields } = node.input
    const own = this.program.input._tag === "Start" ? this.program.channels[this.program.input.channel] : undefined
    const now = node.body._tag === "Graph"
      ? this.#sentTo(node.name, node.body.program, arg)
      : fields !== undefined && fields === own?.codec.fields
      ? this.#record(arg, false)
      : Result.succeed(arg)
    return Result.map(now, (now): Schema.Json => this.#taken(node, now) ? [name, now, timeout] : null)
  }

  /** What a graph was sent that is a node: it has migrations of its own. */
  #sentTo(node: string, program: Program, arg: Schema.Json): Result.Result<Schema.Json, Fault> {
    const marks = this.#said?.inputs.get(node)
    if (marks === undefined) return Result.succeed(arg)
    let inside = this.#inside.get(node)
    if (inside === undefined) this.#inside.set(node, inside = new Reading(program, { marks, inputs: new Map() }))
    const now = inside.#record(arg, true)
    this.#unread ??= inside.#unread
    return now
  }

  /** Whether a node takes what it was sent; if not, the Send is passed over. */
  #taken({ input, name }: NodeProgram, arg: Schema.Json): boolean {
    const fit = input.decode(arg)
    if (Result.isSuccess(fit)) return true
    const detail = `a Send to "${name}" brings what it does not take: ${fit.failure}`
    this.#unread ??= { reason: "Decode", channel: TASKS, detail }
    return false
  }

  /** A record of the state: of updates, or of values. */
  #record(json: Schema.Json, isUpdate: boolean): Result.Result<Schema.Json, Fault> {
    if (!Array.isArray(json)) return Result.succeed(json)
    const rows: Array<Schema.Json> = []
    for (const row of json as unknown as ReadonlyArray<Row>) {
      const source = this.source(row[0])
      if (source === undefined) continue
      const now = this.#row(source, row, isUpdate)
      if (now === undefined) continue
      if (Result.isFailure(now)) return fault("Decode", row[0], now.failure)
      rows.push(now.success as unknown as Schema.Json)
    }
    return Result.succeed(rows)
  }

  #row(source: Source, [, kind, json]: Row, isUpdate: boolean): Result.Result<Row, string> | undefined {
    const { codec, name } = this.program.channels[source.to]!
    if (source.conversions.length === 0) return Result.succeed([name, kind, json])
    // A value of a record is what its key would be set to.
    const old = source.channel.codec.decodeWrite({ kind: isUpdate ? kind : "overwrite", json })
    if (Result.isFailure(old)) return Result.fail(old.failure)
    const write = writeNow(this.program, source, old.success)
    if (write === undefined) {
      this.#unread ??= unreadAt(source.channel.name)
      return undefined
    }
    return Result.map(
      Result.flatMap(write, codec.encodeWrite),
      (row): Row => [name, isUpdate ? row.kind : kind, row.json]
    )
  }
}
