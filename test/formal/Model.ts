/**
 * The state that the model of the commit protocol keeps, moved by recorded events. What each event may do is said by the
 * rules of the model; what does not follow them, and what does not hold, is a violation, by the model's name for it.
 */
import { hashAll } from "../../src/internal/engine/hash.ts"
import { rules, statuses, type Value } from "./Rules.ts"
import type { CommitEvent, Event, Reply, Row } from "./Trace.ts"

export interface Violation {
  /** A rule or a property of the model; or that what is read is not what was stored. */
  readonly name: string
  readonly event: Event
}

/** What a writer knows of the thread. */
interface Known {
  /** How often the thread had begun when the writer found it. */
  life: number
  /** The rows that it has read, or put since, by checkpoint and task; with whether they were done when it read them. */
  readonly rows: Map<string, { readonly row: Row; readonly wasDone: boolean }>
}

const keyOf = (checkpoint: string, task: string): string => `${checkpoint} ${task}`

const isSame = (one: Row | undefined, other: Row | undefined): boolean =>
  one?.status === other?.status && one?.revision === other?.revision && one?.data === other?.data

export class Model {
  readonly violations: Array<Violation> = []
  /** What the rules were asked, and what they said: a trace in which they never say no shows little. */
  readonly answers = new Map<string, number>()

  life: string | undefined = undefined
  head: string | undefined = undefined
  #headOwner: string | undefined = undefined
  #rows = new Map<string, Row>()
  #stored = new Set<string>()

  #lives = 0
  #first = new Map<string, string>()
  #taken = new Map<string, string>()
  #winner = new Map<string, number>()
  readonly #known = new Map<number, Known>()
  readonly #fingerprint: string
  readonly #numbers = new Map<string, number>()

  constructor(fingerprint: string) {
    this.#fingerprint = fingerprint
  }

  /** Texts as numbers, 0 for none. */
  #number(text: string | undefined): number {
    if (text === undefined) return 0
    let number = this.#numbers.get(text)
    if (number === undefined) this.#numbers.set(text, number = this.#numbers.size + 1)
    return number
  }

  #says(name: keyof typeof rules, parameters: Readonly<Record<string, Value>>): boolean {
    const answer = rules[name](parameters)
    const key = `${name} ${answer ? "yes" : "no"}`
    this.answers.set(key, (this.answers.get(key) ?? 0) + 1)
    return answer
  }

  #holds(name: string, condition: boolean, event: Event): void {
    if (!condition) this.violations.push({ name, event })
  }

  #knownTo(writer: number): Known {
    let known = this.#known.get(writer)
    if (known === undefined) this.#known.set(writer, known = { life: 0, rows: new Map() })
    return known
  }

  apply(event: Event): void {
    switch (event.type) {
      case "head":
        this.#holds("reads_what_is_stored", event.id === this.head && event.life === this.life, event)
        this.#knownTo(event.writer).life = this.life === undefined ? 0 : this.#lives
        return
      case "get":
        return this.#get(event)
      case "run":
        return this.#run(event)
      case "put":
        return this.#put(event)
      case "commit":
        return this.#commit(event)
      case "delete":
        this.life = this.head = this.#headOwner = undefined
        for (const kept of [this.#rows, this.#stored, this.#first, this.#taken, this.#winner]) kept.clear()
    }
  }

  #get(event: Event & { readonly type: "get" }): void {
    const { id, rows, writer } = event
    this.#holds("reads_what_is_stored", (rows !== undefined) === this.#stored.has(id), event)
    const standing = [...this.#rows.values()].filter(({ checkpoint }) => checkpoint === id)
    if (rows === undefined) return
    this.#holds("reads_what_is_stored", rows.length === standing.length, event)
    for (const row of rows) {
      this.#holds("reads_what_is_stored", isSame(row, this.#rows.get(keyOf(row.checkpoint, row.task))), event)
    }
    const known = this.#knownTo(writer)
    for (const row of standing) {
      const key = keyOf(row.checkpoint, row.task)
      known.rows.set(key, { row, wasDone: this.#first.has(key) })
    }
  }

  #run(event: Event & { readonly type: "run" }): void {
    const { id, task, writer } = event
    const found = this.#knownTo(writer).rows.get(keyOf(id, task))
    this.#holds("no_done_task_runs", found?.wasDone !== true, event)
    const status = statuses[found?.row.status ?? "none"]
    const answer = this.#number(found?.row.answer)
    this.#holds("TASK_RUNS", this.#says("TASK_RUNS", { status, answer }), event)
  }

  #replaces(row: Row): boolean {
    const old = this.#rows.get(keyOf(row.checkpoint, row.task))
    return this.#says("ROW_REPLACES", {
      status: statuses[row.status],
      revision: row.revision,
      old_status: statuses[old?.status ?? "none"],
      old_revision: old?.revision ?? 0
    })
  }

  /** Whether a row would be new beside a checkpoint that is not the head. */
  isLate(row: Row): boolean {
    const replaces = this.#replaces(row)
    return !this.#says("PUT_FITS_HEAD", { id: this.#number(row.checkpoint), head: this.#number(this.head), replaces })
  }

  /** The row that stands after this one was put. */
  #store(row: Row, event: Event): Row {
    const key = keyOf(row.checkpoint, row.task)
    if (!this.#replaces(row)) return this.#rows.get(key)!
    this.#rows.set(key, row)
    if (row.status === "done" && !this.#first.has(key)) this.#first.set(key, row.data)
    if (row.answer !== undefined && !this.#taken.has(key)) this.#taken.set(key, row.answer)
    this.#holds("answers_stand", row.answer === this.#taken.get(key), event)
    return row
  }

  #put(event: Event & { readonly type: "put" }): void {
    const { life, reply, rows, stand, writer } = event
    const fits = this.#says("PUT_FITS_LIFE", { named: this.#number(life), life: this.#number(this.life) })
    this.#holds("PUT_FITS_LIFE", (reply === "DELETED") === !fits, event)
    if (!fits) return
    const isLate = rows.some((row) => this.isLate(row))
    this.#holds("PUT_FITS_HEAD", (reply === "CONFLICT") === isLate, event)
    if (isLate) return
    const known = this.#knownTo(writer)
    this.#holds("no_life_after_deletion", known.life === this.#lives, event)
    for (const [index, row] of rows.entries()) {
      this.#holds("rows_stand_beside_checkpoints", this.#stored.has(row.checkpoint), event)
      const isNew = row.status === "done" && !this.#first.has(keyOf(row.checkpoint, row.task))
      this.#holds("no_lost_update", !isNew || !this.#winner.has(row.checkpoint), event)
      const standing = this.#store(row, event)
      this.#holds("ROW_REPLACES", isSame(stand[index], standing), event)
      const key = keyOf(row.checkpoint, row.task)
      // An answer that somebody puts; what a task comes to is not run again by the same writer.
      if (row.status !== "paused" || row.answer === undefined) continue
      const stands = this.#number(standing.answer)
      if (this.#says("ANSWER_IS_TAKEN", { given: this.#number(row.answer), stands })) {
        known.rows.set(key, { row: standing, wasDone: standing.status === "done" })
      } else known.rows.set(key, { row: { ...standing, answer: undefined, status: "paused" }, wasDone: false })
    }
  }

  #replyTo(event: CommitEvent): Reply {
    const { expected, owner, row } = event
    const by = { owner: this.#number(owner), named: this.#number(event.life), head: this.#number(this.head) }
    if (!this.#says("COMMIT_FITS_LIFE", { ...by, life: this.#number(this.life) })) {
      return event.life === undefined ? "CONFLICT" : "DELETED"
    }
    const id = this.#number(row.id)
    if (this.#says("COMMIT_REPEATS", { ...by, id, head_owner: this.#number(this.#headOwner) })) return "STORED"
    if (!this.#says("COMMIT_FITS_HEAD", { ...by, expected: this.#number(expected) })) return "CONFLICT"
    return this.#fitsRows(event) ? "STORED" : "CONFLICT"
  }

  /** Whether the rows beside the expected head, and those that the commit brings, are those that it is made of. */
  #fitsRows({ brings, expected, finished }: CommitEvent): boolean {
    if (expected === undefined) return true
    const done = new Set(brings.map(({ task }) => task))
    for (const row of this.#rows.values()) if (row.checkpoint === expected && row.status === "done") done.add(row.task)
    return (finished === undefined || this.#says("COMMIT_FITS_ROWS", { done: done.size, finished })) &&
      brings.every((brought) => {
        const old = this.#rows.get(keyOf(brought.checkpoint, brought.task))
        const old_status = statuses[old?.status ?? "none"]
        return this.#says("BROUGHT_FITS", { old_status, is_same: old?.data === brought.data })
      })
  }

  /** Which of the rules a reply goes against. */
  #ruleOf(event: CommitEvent, reply: Reply): string {
    if (reply === "DELETED" || event.reply === "DELETED") return "COMMIT_FITS_LIFE"
    if (this.head === event.row.id) return "COMMIT_REPEATS"
    return this.head === event.expected ? "COMMIT_FITS_ROWS" : "COMMIT_FITS_HEAD"
  }

  #commit(event: CommitEvent): void {
    const reply = this.#replyTo(event)
    const winner = this.#winner.get(event.expected ?? "")
    this.#holds(this.#ruleOf(event, reply), event.reply === reply, event)
    // What the saver says is what its writer believes.
    const isRepeated = this.head === event.row.id && this.#headOwner === event.owner
    this.#holds("repeats_succeed", event.reply !== "CONFLICT" || !isRepeated, event)
    if (event.reply !== "STORED") return
    this.#holds("one_commit", winner === undefined || winner === event.writer, event)
    if (!isRepeated && reply === "STORED") this.#move(event)
  }

  #move(event: CommitEvent): void {
    const { brings, expected, owner, row, writer } = event
    const known = this.#knownTo(writer)
    if (this.life === undefined) {
      this.#holds("no_life_after_deletion", event.life === undefined && known.life === 0, event)
      known.life = ++this.#lives
      this.life = owner
    }
    this.#holds("no_life_after_deletion", known.life === this.#lives, event)
    this.#winner.set(expected ?? "", writer)
    for (const brought of brings) this.#store(brought, event)
    this.#holds("no_lost_update", this.isMadeOfRows(event), event)
    this.#stored.add(row.id)
    this.head = row.id
    this.#headOwner = owner
  }

  /** Whether the id of a superstep's checkpoint derives from the rows that stand, and these are those that were done first. */
  isMadeOfRows({ brings, expected, finished, row }: CommitEvent): boolean {
    if (finished === undefined || expected === undefined) return true
    const beside = new Map<string, string>()
    for (const brought of brings) beside.set(brought.task, brought.data)
    for (const [key, standing] of this.#rows) {
      if (standing.checkpoint !== expected || standing.status !== "done") continue
      beside.set(standing.task, standing.data)
      if (this.#first.get(key) !== standing.data) return false
    }
    const writes = [...beside].sort(([one], [other]) => one < other ? -1 : 1).flat()
    const parts = ["", String(row.branch), expected, this.#fingerprint, row.source, String(row.step), "", ...writes]
    return hashAll(parts) === row.id
  }
}

/** What in a trace is against the model. */
export const check = (fingerprint: string, events: ReadonlyArray<Event>): Model => {
  const model = new Model(fingerprint)
  for (const event of events) model.apply(event)
  return model
}
