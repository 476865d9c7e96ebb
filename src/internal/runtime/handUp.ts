/**
 * What a nested graph hands to the graph around it: writes, not states. For a
 * key that both have, with the same rule and schema, the writes of its nodes go
 * up one by one; otherwise, or after an Overwrite, its final value does. Its
 * input is not a write, and keys that only it has are dropped.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Channel from "../../Channel.ts"
import { setKey } from "../engine/checkpoint.ts"
import { keepsLast } from "../engine/fold.ts"
import type { ChannelProgram, Program } from "../engine/program.ts"
import { listOf } from "../list.ts"
import type { HandUp } from "./task.ts"

const schemas = new WeakMap<object, string>()

/** A schema as a text that is the same for equal schemas, as far as they have one. */
const textOf = (schema: Channel.AnySchema): string | undefined => {
  let text = schemas.get(schema)
  if (text === undefined) {
    try {
      schemas.set(schema, text = JSON.stringify(Schema.toJsonSchemaDocument(schema)))
    } catch {
      return undefined
    }
  }
  return text
}

const isSameSchema = (a: Channel.AnySchema | undefined, b: Channel.AnySchema | undefined): boolean => {
  if (a === b) return true
  if (a === undefined || b === undefined) return false
  const text = textOf(a)
  return text !== undefined && text === textOf(b)
}

/** Whether what is written to one is written to the other alike. */
const isSameChannel = (a: ChannelProgram, b: ChannelProgram): boolean => {
  const [x, y] = [a.rule, b.rule]
  return x === y || (isSameSchema(a.update, b.update) && isSameRule(x, y))
}

const isSameRule = (x: Channel.Rule, y: Channel.Rule): boolean => {
  if (x._tag !== y._tag) return false
  switch (x._tag) {
    case "LastValue":
    case "AnyValue":
    case "UntrackedValue":
    case "EphemeralValue":
      return true
    case "Topic":
      return y._tag === "Topic" && x.accumulate === y.accumulate && x.unique === y.unique
    case "BinaryOperatorAggregate":
      return y._tag === "BinaryOperatorAggregate" && x.reduce === y.reduce
    case "Delta":
      return y._tag === "Delta" && x.reduce === y.reduce
    default:
      return false
  }
}

/** The values that go up for one key. */
const valuesOf = (
  parent: Program,
  own: ChannelProgram,
  cell: Channel.Cell,
  writes: ReadonlyArray<unknown>
): ReadonlyArray<unknown> => {
  const at = parent.channelNumber.get(own.name)
  const theirs = at === undefined ? undefined : parent.channels[at]!
  if (theirs === undefined || !theirs.isState) return []
  const isOverwritten = writes.some(Channel.isOverwrite)
  if (isSameChannel(own, theirs) && !isOverwritten) return keepsLast(own.rule) ? writes.slice(-1) : writes
  const final = Channel.read(own.rule, cell)
  return Option.isNone(final) ? [] : [final.value]
}

/** Whether a command with which the graph left writes a key again that holds one value: the command came last. */
const isReplaced = (parent: Program, exit: Parameters<HandUp>[1], key: string): boolean => {
  const at = parent.channelNumber.get(key)
  if (exit._tag !== "Parent" || at === undefined || !keepsLast(parent.channels[at]!.rule)) return false
  return exit.commands.some(({ update }) =>
    listOf(update).some((part) =>
      typeof part === "object" && part !== null && Object.hasOwn(part, key) &&
      (part as Record<string, unknown>)[key] !== undefined
    )
  )
}

/** A list of updates, of which the n-th holds the n-th write of every key. */
export const handUp: HandUp = (parent, exit) => {
  const { checkpoint, program, up } = exit
  const updates: Array<Record<string, unknown>> = []
  const shown = program.output._tag === "Value" ? [program.output.channel] : program.output.channels
  for (const [number, writes] of Map.groupBy(up, ({ channel }) => channel)) {
    if (!shown.includes(number)) continue
    const own = program.channels[number]!
    if (isReplaced(parent, exit, own.name)) continue
    const values = valuesOf(parent, own, checkpoint.cells[number]!, writes.map(({ value }) => value))
    for (const [index, value] of values.entries()) setKey(updates[index] ??= {}, own.name, value)
  }
  return updates
}
