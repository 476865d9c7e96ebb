/** From operations to a batch of a storage, and back to results. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { InvalidArgument } from "../../GraphError.ts"
import { quoted } from "../say.ts"
import * as Asking from "./asking.ts"
import { StoreError } from "./error.ts"
import { fixedPart, listed, type Listing, nameKey, type Namespace } from "./names.ts"
import type { Item, Operation, ResultOf } from "./operation.ts"
import { byScore, type Found, likeness, type Row, shareOf } from "./ranking.ts"
import type { Answer, Read, Storage, Write } from "./storage.ts"
import { partsAt, queryWords, textsOf, wordsOf } from "./texts.ts"

type Named = { readonly namespace: Namespace; readonly key: string }

/** An operation that is known to be right. */
export type Checked =
  | { readonly _tag: "Get"; readonly name: Named; readonly refresh: boolean }
  | { readonly _tag: "Search"; readonly search: Asking.Searching; readonly refresh: boolean }
  | { readonly _tag: "ListNamespaces"; readonly listing: Listing }
  | { readonly _tag: "Put"; readonly name: Named; readonly put: Asking.Putting }
  | { readonly _tag: "Delete"; readonly name: Named }

export const checked = (operation: Operation, by: Asking.Defaults): Result.Result<Checked, InvalidArgument> =>
  Result.gen(function*() {
    switch (operation._tag) {
      case "Get": {
        const name = yield* Asking.named(operation.namespace, operation.key)
        const refresh = (yield* Asking.refreshing(operation)) ?? by.isRefreshing
        return { _tag: "Get", name, refresh }
      }
      case "Search": {
        const search = yield* Asking.searching(operation.prefix, operation)
        return { _tag: "Search", search, refresh: search.refreshTtl ?? by.isRefreshing }
      }
      case "ListNamespaces":
        return { _tag: "ListNamespaces", listing: yield* Asking.listing(operation) }
      case "Put": {
        const name = yield* Asking.named(operation.namespace, operation.key)
        return { _tag: "Put", name, put: yield* Asking.putting(operation.value, operation, by) }
      }
      case "Delete":
        return { _tag: "Delete", name: yield* Asking.named(operation.namespace, operation.key) }
      default:
        return yield* Result.fail(
          new InvalidArgument({
            argument: "_tag",
            detail: `Expected an operation, got ${quoted((operation as { readonly _tag?: unknown })._tag)}`
          })
        )
    }
  })

/** All operations of a batch; what is wrong with one of them tells which it is. */
export const checkedAll = (
  operations: ReadonlyArray<Operation>,
  by: Asking.Defaults
): Result.Result<ReadonlyArray<Checked>, InvalidArgument> =>
  Result.gen(function*() {
    if (!Array.isArray(operations)) {
      return yield* Result.fail(new InvalidArgument({ argument: "operations", detail: "Expected a list" }))
    }
    const all: Array<Checked> = []
    for (const [at, operation] of operations.entries()) {
      all.push(
        yield* Result.mapError(checked(operation ?? {}, by), ({ argument, detail }) =>
          new InvalidArgument({ argument: `operations[${at}].${argument}`, detail }))
      )
    }
    return all
  })

const isWrite = (one: Checked): one is Extract<Checked, { readonly _tag: "Put" | "Delete" }> =>
  one._tag === "Put" || one._tag === "Delete"

const parse = (json: string): Schema.Json => JSON.parse(json) as Schema.Json

const partsOf = ({ json, paths }: Asking.Putting): ReadonlyArray<Schema.Json> => partsAt(parse(json), paths)

/** Turns texts into vectors, each in its place. */
export type Embed = (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Float32Array>, StoreError>

/** The texts of a batch, which the model gets at once, and their vectors. */
class Texts {
  readonly all: Array<string> = []
  vectors: ReadonlyArray<Float32Array> = []

  add(texts: ReadonlyArray<string>): () => ReadonlyArray<Float32Array> {
    const start = this.all.length
    for (const text of texts) this.all.push(text)
    return () => this.vectors.slice(start, start + texts.length)
  }
}

const pageOf = (
  rows: Iterable<Row>,
  { limit, offset }: Asking.Searching,
  matches: ((row: Row) => boolean) | undefined,
  scored: { readonly score: (row: Row) => number | undefined; readonly isNeeded: boolean } | undefined
): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  for (const row of rows) {
    const score = scored?.score(row)
    if ((scored?.isNeeded === true && score === undefined) || matches?.(row) === false) continue
    found.push({ row, score })
  }
  return found.sort(byScore).slice(offset, offset + limit)
}

const readOf = (one: Exclude<Checked, { readonly _tag: "Put" | "Delete" }>, texts: Texts | undefined): () => Read => {
  if (one._tag === "Get") return () => ({ _tag: "Item", ...one.name, refresh: one.refresh })
  if (one._tag === "ListNamespaces") {
    const { listing } = one
    const page = (namespaces: Iterable<Namespace>) => listed(namespaces, listing)
    return () => ({ _tag: "Namespaces", prefix: fixedPart(listing.prefix), page })
  }
  const { refresh, search } = one
  const { limit, matches: fits, offset, prefix, query } = search
  const vectorOf = query === undefined ? undefined : texts?.add([query])
  const words = query === undefined || texts !== undefined ? undefined : queryWords(query)
  return () => {
    const vector = vectorOf?.()[0]
    const matches = fits === undefined ? undefined : (row: Row) => fits(parse(row.json))
    const score = vector !== undefined
      ? (row: Row) => likeness(vector, row)
      : words !== undefined
      ? (row: Row) => shareOf(words, row)
      : undefined
    const scored = score === undefined ? undefined : { score, isNeeded: words !== undefined }
    const page = (rows: Iterable<Row>) => pageOf(rows, search, matches, scored)
    return { _tag: "Items", prefix, matches, score, vector, words, limit, offset, refresh, page }
  }
}

const writeOf = (one: Extract<Checked, { readonly _tag: "Put" | "Delete" }>, texts: Texts | undefined): () => Write => {
  if (one._tag === "Delete") return () => ({ _tag: "Delete", ...one.name })
  const { json, ttlMillis } = one.put
  const parts = partsOf(one.put)
  const vectors = texts?.add(textsOf(parts)) ?? (() => [])
  return () => ({ _tag: "Put", ...one.name, json, ttlMillis, words: wordsOf(parts), vectors: vectors() })
}

const itemOf = ({ createdMillis, json, key, namespace, updatedMillis }: Row): Item => ({
  namespace,
  key,
  value: parse(json),
  createdMillis,
  updatedMillis
})

const resultOf = (one: Checked, answer: Answer | undefined): ResultOf<Operation> => {
  if (answer === undefined) return undefined
  if (answer._tag === "Namespaces") return answer.namespaces
  if (one._tag === "Search") return answer.found.map(({ row, score }) => ({ ...itemOf(row), score }))
  return Option.map(Option.fromUndefinedOr(answer.found[0]), ({ row }) => itemOf(row))
}

/** What is known of a store before it is asked. */
export interface Known {
  readonly storage: Storage
  readonly embed: Embed | undefined
  readonly defaults: Asking.Defaults
}

const damaged = (cause: unknown): StoreError =>
  new StoreError({ reason: "Decode", detail: `what is stored is no JSON: ${String(cause)}`, cause })

export const perform = Effect.fnUntraced(
  function*({ embed, storage }: Known, asked: Result.Result<ReadonlyArray<Checked>, InvalidArgument>) {
    const all = yield* Effect.fromResult(asked)
    const texts = embed === undefined ? undefined : new Texts()
    const reads = all.flatMap((one) => isWrite(one) ? [] : [readOf(one, texts)])
    const last = new Map(all.filter(isWrite).map((one) => [nameKey(one.name.namespace, one.name.key), one]))
    const writes = [...last.values()].map((one) => writeOf(one, texts))
    if (embed !== undefined && texts !== undefined) texts.vectors = yield* embed(texts.all)
    if (reads.length + writes.length === 0) return []
    const nowMillis = yield* Clock.currentTimeMillis
    return yield* Effect.flatMap(
      Effect.suspend(() =>
        storage.run({ nowMillis, reads: reads.map((read) => read()), writes: writes.map((write) => write()) })
      ),
      (answers) =>
        Effect.try({
          try: () => {
            let next = 0
            return all.map((one) => resultOf(one, isWrite(one) ? undefined : answers[next++]))
          },
          catch: damaged
        })
    )
  }
)
