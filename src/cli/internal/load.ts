/** From `file#export` to what is run, and the services that it needs. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import { existsSync, realpathSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { Checkpointer } from "../../Checkpointer.ts"
import { CheckpointError } from "../../GraphError.ts"
import { codes, misused, Refusal } from "./ended.ts"
import { isMachine, type Machine } from "./machine.ts"
import { reason } from "./text.ts"

/** Services that a file provides to its graphs. They may be built on the `Checkpointer` of `--db`, and take its place. */
export type Services = Layer.Layer<never, unknown, Checkpointer>

export interface Loaded {
  readonly machine: Machine
  readonly services: Services
}

interface Target {
  readonly file: string
  readonly name: string | undefined
}

type Exports = Readonly<Record<string, unknown>>

/** A file may have a `#` in its name: what is there as a whole is the file. */
const targetOf = (text: string): Target => {
  const at = text.lastIndexOf("#")
  if (at < 0 || existsSync(resolve(text))) return { file: resolve(text), name: undefined }
  return { file: resolve(text.slice(0, at)), name: text.slice(at + 1) }
}

const checkFile = (file: string): Effect.Effect<void, Refusal> => {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return Effect.fail(misused(`there is no file ${file}`))
  if (!found.isFile()) return Effect.fail(misused(`${file} is no file`))
  return Effect.void
}

const rootOf = (file: string): string => dirname(realpathSync(file))

/** What the file imports has to be this library: questions and failures of another copy are not known here. */
const checkCopy = (file: string): Effect.Effect<void, Refusal> =>
  Effect.suspend(() => {
    const own = realpathSync(fileURLToPath(new URL("../..", import.meta.url)))
    let theirs: string
    try {
      theirs = rootOf(createRequire(file).resolve("superstep"))
    } catch {
      return Effect.void // It may hold the library itself.
    }
    return theirs === own
      ? Effect.void
      : Effect.fail(
        misused(`${file} imports the superstep of ${theirs}, and this command is that of ${own}: use its own`)
      )
  })

/** What Node fails with where it runs no such file: TypeScript that is switched off, or more than types; JSX. */
const unrun: ReadonlySet<unknown> = new Set([
  "ERR_NO_TYPESCRIPT",
  "ERR_UNKNOWN_FILE_EXTENSION",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"
])

const importing = (file: string): Effect.Effect<Exports, Refusal> =>
  Effect.tryPromise({
    // Not before the command is at work: what a module prints must not come to stdout.
    try: () => import(pathToFileURL(file).href) as Promise<Exports>,
    catch: (error) => {
      const hint = Predicate.hasProperty(error, "code") && unrun.has(error.code)
        ? ". Node runs TypeScript whose types can be stripped, and no JSX: compile it first"
        : ""
      return new Refusal({ code: codes.usage, message: `cannot load ${file}: ${reason(error)}${hint}`, cause: error })
    }
  })

const graphNames = (exports: Exports): ReadonlyArray<string> =>
  Object.keys(exports).filter((name) => isMachine(exports[name]))

const nameOf = (exports: Exports, { file, name }: Target): Effect.Effect<string, Refusal> => {
  const graphs = graphNames(exports)
  const has = graphs.length === 0 ? "it exports no graph" : `it exports the graphs ${graphs.join(", ")}`
  if (name !== undefined) {
    return Object.hasOwn(exports, name)
      ? Effect.succeed(name)
      : Effect.fail(misused(`${file} has no export "${name}"; ${has}`))
  }
  if (Object.hasOwn(exports, "default")) return Effect.succeed("default")
  return graphs.length === 1
    ? Effect.succeed(graphs[0]!)
    : Effect.fail(misused(`name an export, as in ${file}#${graphs[0] ?? "graph"}; ${has}`))
}

/** What a function, a promise or an effect gives is what it stands for. */
const machineOf = Effect.fnUntraced(function*(what: string, value: unknown) {
  const refusal = (verb: string) => (error: unknown) =>
    new Refusal({ code: codes.usage, message: `${what} ${verb}: ${reason(error)}`, cause: error })
  let found = value
  if (!isMachine(found) && typeof found === "function" && found.length === 0) {
    const make = found as () => unknown
    found = yield* Effect.tryPromise({ try: async () => await make(), catch: refusal("throws") })
  }
  if (Effect.isEffect(found)) {
    found = yield* Effect.mapError(found as Effect.Effect<unknown, unknown>, refusal("fails"))
  }
  if (isMachine(found)) return found
  return yield* misused(`${what} is no graph, machine or entrypoint, and no function or effect that gives one`)
})

/** A layer that cannot be built is no failure of a run. */
const built = (name: string, layer: Services): Services =>
  Layer.catch(layer, (error) =>
    Layer.effectDiscard(Effect.fail(
      error instanceof CheckpointError
        ? error
        : new Refusal({ code: codes.usage, message: `the layer "${name}" fails: ${reason(error)}`, cause: error })
    )))

const servicesOf = (exports: Exports, file: string, name: string | undefined): Effect.Effect<Services, Refusal> => {
  const own = name ?? "layer"
  const value = Object.hasOwn(exports, own) ? exports[own] : undefined
  if (Layer.isLayer(value)) return Effect.succeed(built(own, value as Services))
  return name === undefined ? Effect.succeed(Layer.empty) : Effect.fail(misused(`${file} exports no layer "${name}"`))
}

/** Loads a graph, and what provides its services. */
export const load = Effect.fnUntraced(function*(text: string, layer: string | undefined) {
  const target = targetOf(text)
  yield* checkFile(target.file)
  yield* checkCopy(target.file)
  const exports = yield* importing(target.file)
  const name = yield* nameOf(exports, target)
  const machine = yield* machineOf(`the export "${name}" of ${target.file}`, exports[name])
  const services = yield* servicesOf(exports, target.file, layer)
  return { machine, services } satisfies Loaded
})
