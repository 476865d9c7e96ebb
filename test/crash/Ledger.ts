/**
 * What a worker tells, and what follows from it: at which stage of the protocol it died, and which tasks must never run
 * again.
 */
export type Event =
  /** The process is loaded, the file open. */
  | readonly ["ready"]
  | readonly ["run", how: "start" | "resume" | "invoke"]
  | readonly ["node begin" | "node end", namespace: string, checkpoint: string, task: string]
  | readonly ["put begin" | "put end", namespace: string, status: string]
  | readonly ["acked", namespace: string, checkpoint: string, task: string]
  | readonly ["commit begin" | "commit end", namespace: string, id: string, parent: string]
  | readonly ["paused"]
  | readonly ["done", output: string]
  | readonly ["failed", tag: string, message: string]

export const stages = [
  "in node",
  "between node end and ack",
  "in putTasks",
  "between acks and commit",
  "in commit",
  "after commit",
  "in a nested commit",
  "paused"
] as const

/** The stages that a kill may hit; the last two come by chance only. */
export type Stage = typeof stages[number] | "starting" | "some acked"

/** Whether this event leads into a stage: whoever kills now has a good chance to hit it. */
export const leadsTo = (stage: Stage, event: Event): boolean => {
  switch (stage) {
    case "in node":
      return event[0] === "node begin"
    case "between node end and ack":
      return event[0] === "node end"
    case "in putTasks":
      return event[0] === "put begin" && event[2] === "done"
    case "between acks and commit":
      return event[0] === "put end" && event[2] === "done"
    case "in commit":
      return event[0] === "commit begin" && event[1] === ""
    case "in a nested commit":
      return event[0] === "commit begin" && event[1] !== ""
    case "after commit":
      return event[0] === "commit end"
    case "paused":
      return event[0] === "paused" || (event[0] === "put begin" && event[2] === "paused") ||
        (event[0] === "run" && event[1] === "resume")
    case "starting":
      return event[0] === "ready"
    case "some acked":
      return event[0] === "acked"
  }
}

/** Tasks that have begun in a superstep and are not acknowledged. */
const isOpen = (log: ReadonlyArray<Event>, namespace: string): boolean => {
  const open = new Set<string>()
  for (const event of log) {
    if (event[0] === "node begin" && event[1] === namespace) open.add(`${event[2]} ${event[3]}`)
    if (event[0] === "acked" && event[1] === namespace) open.delete(`${event[2]} ${event[3]}`)
  }
  return open.size > 0
}

/** Where in the protocol the last line was written. */
export const stageOf = (log: ReadonlyArray<Event>): Stage => {
  const last = log.at(-1) ?? ["ready"] as const
  switch (last[0]) {
    case "ready":
      return "starting"
    case "run":
      return last[1] === "resume" ? "paused" : "starting"
    case "node begin":
      return "in node"
    case "node end":
      return "between node end and ack"
    case "put begin":
      return last[2] === "paused" ? "paused" : "in putTasks"
    case "put end":
      return last[2] === "paused" ? "paused" : isOpen(log, last[1]) ? "some acked" : "between acks and commit"
    case "acked":
      return isOpen(log, last[1]) ? "some acked" : "between acks and commit"
    case "commit begin":
      return last[1] === "" ? "in commit" : "in a nested commit"
    case "commit end":
      return "after commit"
    default:
      return "paused"
  }
}

const keyOf = (...parts: ReadonlyArray<string>): string => parts.join(" ")

/** What is finished for ever, over all lives of a thread. */
export class Ledger {
  readonly #tasks = new Set<string>()
  readonly #supersteps = new Set<string>()
  /** Acknowledged in the life that is being read. */
  readonly #acked: Array<readonly [string, string, string]> = []
  /** Tasks that began although they were finished. */
  readonly repeated: Array<string> = []

  /** Takes in the log of a life. */
  read(log: ReadonlyArray<Event>): void {
    this.#acked.length = 0
    for (const event of log) {
      switch (event[0]) {
        case "node begin": {
          const [, namespace, checkpoint, task] = event
          if (
            this.#tasks.has(keyOf(namespace, checkpoint, task)) || this.#supersteps.has(keyOf(namespace, checkpoint))
          ) {
            this.repeated.push(keyOf(...event))
          }
          break
        }
        case "acked":
          this.#acked.push([event[1], event[2], event[3]])
          this.finish(event[1], event[2], event[3])
          break
        case "commit end":
          this.end(event[1], event[3])
          break
      }
    }
  }

  /** A task whose result is stored. */
  finish(namespace: string, checkpoint: string, task: string): void {
    this.#tasks.add(keyOf(namespace, checkpoint, task))
  }

  /** A superstep that led to a checkpoint that is stored. */
  end(namespace: string, parent: string): void {
    this.#supersteps.add(keyOf(namespace, parent))
  }

  /** Acknowledged tasks of the last life that a file does not hold. */
  missing(
    stored: ReadonlyArray<{ readonly namespace: string; readonly checkpoint: string; readonly task: string }>
  ): ReadonlyArray<string> {
    const held = new Set(stored.map(({ checkpoint, namespace, task }) => keyOf(namespace, checkpoint, task)))
    return this.#acked.map((acked) => keyOf(...acked)).filter((key) => !held.has(key))
  }
}
