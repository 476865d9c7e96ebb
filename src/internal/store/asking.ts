/** What a store was asked, checked before anything is read or stored. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { InvalidArgument } from "../../GraphError.ts"
import { quoted } from "../say.ts"
import { type Filter, filterProblem, matches } from "./filter.ts"
import { keyProblem, type Listing, type Namespace, namespaceProblem, patternProblem } from "./names.ts"
import type { GetOptions, ListOptions, PutOptions, SearchOptions } from "./operation.ts"
import { type Path, pathOf } from "./texts.ts"

/** What was asked, or what is wrong with it. */
type Asked<A> = Result.Result<A, InvalidArgument>

/** Items of one search, and namespaces of one listing. */
export const maxLimit = 10_000

const maxOffset = 2 ** 31 - 1

/** An instant that no clock reaches: a lifetime that ends later has no end. */
const lastMillis = 8.64e15

const refuse = (argument: string, expected: string, got: unknown) =>
  Result.fail(new InvalidArgument({ argument, detail: `Expected ${expected}, got ${quoted(got)}` }))

const within = (argument: string, given: unknown, by: number, least: number, most: number): Asked<number> => {
  const value = given ?? by
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most
    ? Result.succeed(value)
    : refuse(argument, `a whole number from ${least} to ${most}`, given)
}

const isBoolean = (argument: string, given: unknown): Asked<boolean | undefined> =>
  given === undefined || typeof given === "boolean" ? Result.succeed(given) : refuse(argument, "a boolean", given)

const optionsOf = (given: unknown): Asked<object> =>
  given === undefined
    ? Result.succeed({})
    : typeof given === "object" && given !== null
    ? Result.succeed(given)
    : refuse("options", "a record of options", given)

/** The options of a call, each read once. */
const told = <A>(given: unknown, read: (options: object) => Asked<A>): Asked<A> =>
  Result.flatMap(optionsOf(given), read)

const jsonOf = Schema.is(Schema.Json)

/** Whether a value is JSON; what is too deep to be told is none. */
export const isJson = (u: unknown): u is Schema.Json => {
  try {
    return jsonOf(u)
  } catch {
    return false
  }
}

/** Levels of records and lists in a value. */
const maxDepth = 500

const tooDeep = `Expected a JSON value of at most ${maxDepth} levels`

const partsOf = (value: unknown): ReadonlyArray<readonly [string, unknown]> =>
  typeof value === "object" && value !== null ? Object.entries(value) : []

/** Level by level: a call stack has an end. */
const isTooDeep = (value: unknown): boolean => {
  let level = [value]
  for (let depth = 0; depth <= maxDepth; depth++) {
    level = level.filter((one) => typeof one === "object" && one !== null)
    if (level.length === 0) return false
    level = level.flatMap((one) => Object.values(one as object))
  }
  return true
}

/** Where a value is no JSON. It may hold secrets, or be large: the text of the error says nothing of what it holds. */
const problemIn = (value: unknown): string => {
  let found = value
  let path = ""
  for (let depth = 0; depth <= maxDepth; depth++) {
    const part = partsOf(found).find(([, part]) => !isJson(part))
    if (part === undefined) {
      const got = typeof found === "number" ? String(found) : `a value of type ${typeof found}`
      return `Expected a JSON value${path === "" ? "" : ` at ${path}`}, got ${got}`
    }
    path += path === "" ? part[0] : `.${part[0]}`
    found = part[1]
  }
  return tooDeep
}

/** The lifetime in milliseconds; none if it has no end. */
export const millisOf = (argument: string, ttl: Duration.Input): Asked<number | undefined> => {
  const duration = Duration.fromInput(ttl)
  const millis = Option.isNone(duration) ? Number.NaN : Math.ceil(Duration.toMillis(duration.value))
  if (!(millis > 0)) return refuse(argument, "a duration longer than nothing", ttl)
  return Result.succeed(millis < lastMillis ? millis : undefined)
}

/** The name of an item. */
export const named = (
  namespace: Namespace,
  key: string
): Asked<{ readonly namespace: Namespace; readonly key: string }> => {
  const problem = namespaceProblem(namespace) ?? keyProblem(key)
  return problem === undefined ? Result.succeed({ namespace: [...namespace], key }) : Result.fail(problem)
}

export const paths = (argument: string, given: unknown): Asked<ReadonlyArray<Path>> => {
  if (!Array.isArray(given)) return refuse(argument, "a list of paths", given)
  const found: Array<Path> = []
  for (const [at, text] of given.entries()) {
    const path = pathOf(text)
    if (path === undefined) return refuse(`${argument}[${at}]`, "a path such as a.b, a[0], a[-1], a[*] or $", text)
    found.push(path)
  }
  return Result.succeed(found)
}

/** Whether what is read lives on. */
export const refreshing = (options: GetOptions | undefined): Asked<boolean | undefined> =>
  told(options, ({ refreshTtl }: GetOptions) => isBoolean("refreshTtl", refreshTtl))

/** A value to be put. */
export interface Putting {
  readonly json: string
  readonly ttlMillis: number | undefined
  readonly paths: ReadonlyArray<Path>
}

/** What a store does if it is told nothing else. */
export interface Defaults {
  readonly ttlMillis: number | undefined
  readonly isRefreshing: boolean
  readonly paths: ReadonlyArray<Path>
}

export const putting = (value: Schema.Json, options: PutOptions | undefined, by: Defaults): Asked<Putting> =>
  told(options, ({ index, ttl }: PutOptions) => {
    const problem = isJson(value) ? (isTooDeep(value) ? tooDeep : undefined) : problemIn(value)
    if (problem !== undefined) return Result.fail(new InvalidArgument({ argument: "value", detail: problem }))
    const millis = ttl === undefined ? Result.succeed(by.ttlMillis) : millisOf("ttl", ttl)
    if (Result.isFailure(millis)) return Result.fail(millis.failure)
    const found = index === undefined
      ? Result.succeed(by.paths)
      : index === false
      ? Result.succeed([])
      : paths("index", index)
    return Result.map(found, (paths) => ({ json: JSON.stringify(value), ttlMillis: millis.success, paths }))
  })

/** A search that can be made. */
export interface Searching {
  readonly prefix: Namespace
  readonly matches: ((json: Schema.Json) => boolean) | undefined
  readonly query: string | undefined
  readonly limit: number
  readonly offset: number
  readonly refreshTtl: boolean | undefined
}

const filtering = (filter: Filter | undefined): Asked<((json: Schema.Json) => boolean) | undefined> => {
  if (filter === undefined) return Result.succeed(undefined)
  if (typeof filter !== "object" || filter === null || Array.isArray(filter)) {
    return refuse("filter", "a record of conditions", filter)
  }
  try {
    const problem = filterProblem("filter", filter, isJson)
    if (problem !== undefined) return refuse(problem.path, problem.expected, problem.got)
  } catch {
    return refuse("filter", "conditions that come to an end", "what is too deep")
  }
  return Result.succeed(Object.keys(filter).length === 0 ? undefined : (json) => matches(json, filter))
}

export const searching = (prefix: Namespace, options: SearchOptions | undefined): Asked<Searching> =>
  told(options, (given: SearchOptions) =>
    Result.gen(function*() {
      const problem = patternProblem("prefix", prefix)
      if (problem !== undefined) return yield* Result.fail(problem)
      const { query } = given
      if (query !== undefined && typeof query !== "string") return yield* refuse("query", "a text", query)
      return {
        prefix: [...prefix],
        matches: yield* filtering(given.filter),
        query: query === "" ? undefined : query,
        limit: yield* within("limit", given.limit, 10, 1, maxLimit),
        offset: yield* within("offset", given.offset, 0, 0, maxOffset),
        refreshTtl: yield* isBoolean("refreshTtl", given.refreshTtl)
      }
    }))

export const listing = (options: ListOptions | undefined): Asked<Listing> =>
  told(options, (given: ListOptions) =>
    Result.gen(function*() {
      const { prefix = [], suffix = [] } = given
      const problem = patternProblem("prefix", prefix) ?? patternProblem("suffix", suffix)
      if (problem !== undefined) return yield* Result.fail(problem)
      const depth = yield* within("maxDepth", given.maxDepth, 0, given.maxDepth === undefined ? 0 : 1, maxOffset)
      return {
        prefix: [...prefix],
        suffix: [...suffix],
        maxDepth: depth === 0 ? undefined : depth,
        limit: yield* within("limit", given.limit, 100, 1, maxLimit),
        offset: yield* within("offset", given.offset, 0, 0, maxOffset)
      }
    }))
