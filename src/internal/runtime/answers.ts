/** The answers that a run has been given, and which of them have found their questions. */
import type { Answers, StoredAnswer, StoredRequest } from "../engine/stored.ts"

export class GivenAnswers {
  readonly #all: Answers
  readonly #taken = new Set<string>()
  readonly #entered = new Set<string>()

  constructor(all: Answers) {
    this.#all = all
  }
  get size(): number {
    return this.#all.size
  }
  has(id: string): boolean {
    return this.#all.has(id)
  }
  /** The answer to a question that a node asks. */
  take(id: string): StoredAnswer | undefined {
    const answer = this.#all.get(id)
    if (answer !== undefined) this.#taken.add(id)
    return answer
  }
  /** Says that a graph inside a task goes on where it stood: its own tasks know what they have been answered. */
  enter(namespace: string): void {
    this.#entered.add(namespace)
  }
  /** The answers to questions that a task keeps, with who asks them as that task sees it. */
  to(questions: ReadonlyArray<StoredRequest>): Answers {
    return new Map(questions.flatMap(({ id, ...question }) => {
      const answer = this.#all.get(id)
      return answer === undefined
        ? []
        : [[id, { ...question, payload: answer.payload, answer: answer.answer }] as const]
    }))
  }
  /** Of the answers that a task was given, those to questions that it ended without. */
  left(given: Answers, isHandled: boolean): ReadonlyArray<readonly [id: string, answer: StoredAnswer]> {
    return [...given].filter(([id, { graph, isHandler = false }]) =>
      this.#all.has(id) && !this.#taken.has(id) && isHandler === isHandled &&
      (graph === undefined || !this.#entered.has(graph))
    )
  }
}
