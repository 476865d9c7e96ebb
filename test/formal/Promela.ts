/** Recorded runs in the language of the model, for spin: see the end of storage in `docs/formal/commit.pml`. */
import { Model } from "./Model.ts"
import type { CommitEvent, Event, Row } from "./Trace.ts"

/** How much of each kind the model has room for. */
const room = { checkpoint: 31, task: 4, writer: 63, token: 255, answer: 255, value: 255 } as const

/** Texts as numbers, in the order in which they come; 0 is none. */
class Numbers {
  readonly #numbers = new Map<string, Map<string, number>>()

  of(kind: keyof typeof room, text: string | undefined, among = ""): number {
    if (text === undefined) return 0
    const key = `${kind} ${among}`
    let numbers = this.#numbers.get(key)
    if (numbers === undefined) this.#numbers.set(key, numbers = new Map())
    let number = numbers.get(text)
    if (number === undefined) numbers.set(text, number = numbers.size + 1)
    if (number > room[kind]) throw new RangeError(`more than ${room[kind]} of ${kind}`)
    return number
  }
}

const call = (name: string, ...parameters: ReadonlyArray<string | number>): string =>
  `${name}(${parameters.join(", ")});`

class Writer {
  readonly lines: Array<string> = []
  readonly #numbers = new Numbers()
  readonly #known = new Map<string, Row>()

  #id(id: string | undefined): number {
    return this.#numbers.of("checkpoint", id)
  }

  #token(token: string | undefined): number {
    return this.#numbers.of("token", token)
  }

  #task({ checkpoint, task }: Pick<Row, "checkpoint" | "task">): number {
    return this.#numbers.of("task", task, checkpoint) - 1
  }

  /** A row as its status, revision, answer and value. What is not done has written nothing. */
  #row(row: Row): ReadonlyArray<string | number> {
    const value = row.status === "done" ? this.#numbers.of("value", row.data) : 0
    return [row.status.toUpperCase(), row.revision, this.#numbers.of("answer", row.answer), value]
  }

  add(event: Event, model: Model): void {
    switch (event.type) {
      case "head":
        this.lines.push(call("told_head", event.writer, this.#token(event.life), this.#id(event.id)))
        return
      case "get":
        this.lines.push(
          event.rows === undefined
            ? call("told_nothing", this.#id(event.id))
            : call("told_checkpoint", this.#id(event.id), event.rows.length)
        )
        for (const row of event.rows ?? []) {
          this.#known.set(`${event.writer} ${row.checkpoint} ${row.task}`, row)
          this.lines.push(call("told_row", this.#id(row.checkpoint), this.#task(row), ...this.#row(row)))
        }
        return
      case "run": {
        const row = this.#known.get(`${event.writer} ${event.id} ${event.task}`)
        const read = row === undefined
          ? ["NONE", 0]
          : [row.status.toUpperCase(), this.#numbers.of("answer", row.answer)]
        this.lines.push(call("told_run", ...read))
        return
      }
      case "put":
        return this.#put(event, model)
      case "commit":
        return this.#commit(event, model)
      case "delete":
        this.lines.push("delete_thread();")
    }
  }

  #put({ life, reply, rows, stand, writer }: Event & { readonly type: "put" }, model: Model): void {
    for (const [index, row] of rows.entries()) {
      // One that is late keeps out the others.
      if (reply === "CONFLICT" && !model.isLate(row)) continue
      this.lines.push(call("set_row", ...this.#row(row)))
      this.lines.push(call("told_put", writer, this.#token(life), this.#id(row.checkpoint), this.#task(row), reply))
      const standing = stand[index]
      if (standing === undefined) continue
      this.#known.set(`${writer} ${row.checkpoint} ${row.task}`, standing)
      this.lines.push(call("set_row", ...this.#row(standing)))
      this.lines.push(`is_row(rows[SLOT(${this.#id(row.checkpoint)}, ${this.#task(row)})]);`)
    }
  }

  #commit(event: CommitEvent, model: Model): void {
    const { brings, expected, finished, life, owner, reply, row, writer } = event
    if (brings.length > 1) throw new RangeError("more than one row comes with a commit")
    for (const brought of brings) {
      if (this.#task(brought) > 0) throw new RangeError("the task is not alone")
      this.lines.push(call("set_row", ...this.#row(brought)))
    }
    this.lines.push(`is_made_of_rows = ${model.isMadeOfRows(event) ? 1 : 0};`)
    // Beside nothing there are no rows to count.
    const count = expected === undefined ? undefined : finished
    const ids = [this.#id(expected), this.#id(row.id)]
    const tokens = [this.#token(owner), this.#token(life)]
    this.lines.push(call("told_commit", writer, ...tokens, ...ids, count ?? "UNCOUNTED", brings.length, reply))
  }
}

/** A recorded run as `trace.pml`; none if it is larger than the model. */
export const toPromela = (fingerprint: string, events: ReadonlyArray<Event>): string | undefined => {
  const writer = new Writer()
  const model = new Model(fingerprint)
  try {
    for (const event of events) {
      writer.add(event, model)
      model.apply(event)
    }
    return `${writer.lines.join("\n")}\n`
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
