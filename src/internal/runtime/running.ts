/** What a node sees of its attempt. */
import type { RunningShape } from "../../Running.ts"

const fields: { readonly [K in keyof RunningShape]: true } = {
  task: true,
  node: true,
  step: true,
  attempt: true,
  firstAttemptMillis: true,
  path: true,
  thread: true,
  run: true,
  metadata: true,
  drained: true,
  checkpoint: true,
  remainingSteps: true,
  emit: true,
  heartbeat: true,
  drain: true
}

const names: ReadonlyArray<string> = Object.keys(fields)
const known: ReadonlySet<string | symbol> = new Set(names)

const refuse = (): boolean => false

/** A plain object whose fields are read when they are asked for. */
const handler: ProxyHandler<RunningShape> = {
  get: (running, name, self) =>
    known.has(name) ? Reflect.get(running, name) as unknown : Reflect.get(Object.prototype, name, self) as unknown,
  has: (_, name) => known.has(name) || Reflect.has(Object.prototype, name),
  ownKeys: () => [...names],
  getOwnPropertyDescriptor: (running, name) =>
    known.has(name)
      ? { get: () => Reflect.get(running, name) as unknown, enumerable: true, configurable: true }
      : undefined,
  getPrototypeOf: () => Object.prototype,
  set: refuse,
  defineProperty: refuse,
  deleteProperty: refuse,
  preventExtensions: refuse,
  setPrototypeOf: refuse
}

/**
 * Shows the fields of the service and nothing else, as own properties, so that a node can copy it and replace some. A
 * proxy, since every task pays for it: an object with getters of its own takes twenty times as long to make.
 */
export const shown = (running: RunningShape): RunningShape => new Proxy(running, handler)
