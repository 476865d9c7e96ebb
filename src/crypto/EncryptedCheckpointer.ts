/**
 * Keeps threads encrypted in any `Checkpointer`: AES-256-GCM of what rows hold, and keyed ids of checkpoints, since these
 * derive from what rows hold. What stays readable is told on the page about threads; why, in decision 17.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { Buffer } from "node:buffer"
import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject
} from "node:crypto"
import type { CheckpointRow, Commit, Dump, Move, Removal, Saved, TaskRow } from "../Checkpoint.ts"
import { Checkpointer, type CheckpointerShape } from "../Checkpointer.ts"
import { CheckpointError, ThreadConflict, type ThreadDeleted } from "../GraphError.ts"

/**
 * How long a key is, in bytes.
 *
 * @category constants
 * @since 0.1.0
 */
export const keyBytes = 32

/**
 * The keys of a storage.
 *
 * @category models
 * @since 0.1.0
 */
export interface EncryptionOptions<Id extends string> {
  /**
   * By id, 32 random bytes each. An id is stored beside what its key has encrypted: 1 to 64 letters, digits, `.`, `_` and `-`.
   * A key has to stay here as long as rows are encrypted with it.
   */
  readonly keys: { readonly [K in Id]: Redacted.Redacted<Uint8Array> }
  /** The id of the key that new rows are encrypted with. */
  readonly current: NoInfer<Id>
  /** Keys the ids of checkpoints: 32 random bytes, which stay the same as long as the storage. */
  readonly ids: Redacted.Redacted<Uint8Array>
}

// ---------------------------------------------------------------------------
// Keys
// ---------------------------------------------------------------------------

const isKeyId = (text: string): boolean => /^[\w.-]{1,64}$/.test(text)

/** The key, out of reach of whatever prints objects. What is wrong with it is told without it. */
const secretOf = (name: string, key: unknown): KeyObject => {
  const bytes: unknown = Redacted.isRedacted(key) ? Redacted.value(key) : undefined
  if (!(bytes instanceof Uint8Array)) {
    throw new Error(`EncryptedCheckpointer: ${name} is no Redacted of a Uint8Array. Make it with Redacted.make(bytes)`)
  }
  if (bytes.length !== keyBytes) {
    throw new Error(
      `EncryptedCheckpointer: ${name} has ${bytes.length} bytes; a key has ${keyBytes}. ` +
        `A key that is given as text has to be decoded first`
    )
  }
  return createSecretKey(bytes)
}

interface Secrets {
  readonly keys: ReadonlyMap<string, KeyObject>
  readonly current: string
  readonly ids: KeyObject
}

const secretsOf = <Id extends string>({ current, ids, keys }: EncryptionOptions<Id>): Secrets => {
  const secrets = new Map<string, KeyObject>()
  for (const [id, key] of Object.entries(keys)) {
    if (!isKeyId(id)) {
      throw new Error(
        `EncryptedCheckpointer: ${
          JSON.stringify(id)
        } is no id of a key: it has 1 to 64 letters, digits, ".", "_" and "-"`
      )
    }
    secrets.set(id, secretOf(`the key "${id}"`, key))
  }
  if (!secrets.has(current)) {
    throw new Error(`EncryptedCheckpointer: the current key "${current}" is none of the keys (${listed(secrets)})`)
  }
  return { keys: secrets, current, ids: secretOf("the key of ids", ids) }
}

const listed = (keys: ReadonlyMap<string, unknown>): string => [...keys.keys()].map((id) => `"${id}"`).join(", ")

/** What belongs to a thread is told from what belongs to any other by its keys. JSON tells all strings apart. */
const digest = (key: KeyObject, ...parts: ReadonlyArray<string>): Buffer =>
  createHmac("sha256", key).update(JSON.stringify(parts)).digest()

// ---------------------------------------------------------------------------
// Texts
// ---------------------------------------------------------------------------

const algorithm = "aes-256-gcm"
const nonceBytes = 12
const tagBytes = 16

// Encrypted text is JSON, as every text of a row is.
const start = `{"${algorithm}":"`
const middle = "\",\"text\":\""
const end = "\"}"

/** The keys of the rows of a thread. */
interface RowKeys {
  readonly texts: KeyObject
  readonly nonces: KeyObject
}

/**
 * Encrypts a text, and authenticates with it what stands beside it. The nonce derives from both, so that the same row is the same text
 * again: a storage tells by the text whether a row that stands is the one that it is given.
 */
const encrypt = (keys: RowKeys, id: string, beside: string, text: string): string => {
  const digest = createHmac("sha256", keys.nonces).update(beside).update(text).digest()
  const nonce = digest.subarray(0, nonceBytes)
  const cipher = createCipheriv(algorithm, keys.texts, nonce)
  cipher.setAAD(Buffer.from(beside))
  const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]
  return `${start}${id}${middle}${Buffer.concat(parts).toString("base64")}${end}`
}

/** The id of the key, and what was encrypted with it; none if this is no encrypted text. */
const envelopeOf = (text: string): { readonly id: string; readonly bytes: Buffer } | undefined => {
  if (!text.startsWith(start) || !text.endsWith(end)) return undefined
  const at = text.indexOf(middle, start.length)
  const id = text.slice(start.length, at)
  return at >= 0 && isKeyId(id)
    ? { id, bytes: Buffer.from(text.slice(at + middle.length, -end.length), "base64") }
    : undefined
}

/** The text, if it was encrypted with the key beside the same. */
const decrypt = ({ texts }: RowKeys, beside: string, bytes: Buffer): string | undefined => {
  if (bytes.length < nonceBytes + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, texts, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(beside))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  const text = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
  try {
    decipher.final()
  } catch {
    return undefined
  }
  return text.toString("utf8")
}

/** What is encrypted of a checkpoint. */
interface Content {
  readonly data: string
  readonly metadata: string
  /** The place whose head was moved to it. */
  readonly place: string
}

/** Its texts as one. */
const join = ({ data, metadata, place }: Content): string =>
  `${data.length}:${metadata.length}:${data}${metadata}${place}`

const split = (text: string): Content => {
  const [data, metadata] = text.split(":", 2).map(Number) as [number, number]
  const start = `${data}:${metadata}:`.length
  return {
    data: text.slice(start, start + data),
    metadata: text.slice(start + data, start + data + metadata),
    place: text.slice(start + data + metadata)
  }
}

// ---------------------------------------------------------------------------
// Threads
// ---------------------------------------------------------------------------

/** What the engine derives from contents: 128 bits in hexadecimal, one block of the cipher. */
const isDerived = (id: string): boolean => /^[0-9a-f]{32}$/.test(id)

const checkpointBeside = (namespace: string, row: CheckpointRow): string =>
  JSON.stringify([
    "checkpoint",
    namespace,
    row.id,
    row.parent ?? null,
    row.branch,
    row.step,
    row.source,
    row.createdMillis,
    row.format,
    row.isKeyframe
  ])

/** Of a result the revision is left out: it is never replaced, and the same whether its task paused before or not. */
const taskBeside = (namespace: string, { checkpoint, revision, status, task }: TaskRow): string =>
  JSON.stringify(["task", namespace, checkpoint, task, status, status === "done" ? null : revision])

/** In the place of metadata, which is encrypted together with the data. */
const noMetadata = "{}"

/** Encrypts and decrypts what is stored of one thread. */
class Vault {
  readonly #thread: string
  readonly #secrets: Secrets
  readonly #keys = new Map<string, RowKeys>()
  // A block is encrypted by itself: the ciphers never end, and making one costs as much as a row.
  readonly #hide: Cipheriv
  readonly #show: Cipheriv

  constructor(thread: string, secrets: Secrets) {
    this.#thread = thread
    this.#secrets = secrets
    const key = createSecretKey(digest(secrets.ids, "ids", thread))
    this.#hide = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false)
    this.#show = createDecipheriv("aes-256-ecb", key, null).setAutoPadding(false)
  }

  /** Keys of the thread alone: they bind rows to it, and nonces are counted by thread. */
  #keysOf(id: string): RowKeys | undefined {
    const known = this.#keys.get(id)
    const secret = this.#secrets.keys.get(id)
    if (known !== undefined || secret === undefined) return known
    const keys = {
      texts: createSecretKey(digest(secret, "texts", this.#thread)),
      nonces: createSecretKey(digest(secret, "nonces", this.#thread))
    }
    this.#keys.set(id, keys)
    return keys
  }

  #encrypt(beside: string, text: string): string {
    const { current } = this.#secrets
    return encrypt(this.#keysOf(current)!, current, beside, text)
  }

  #decrypt(beside: string, text: string, checkpoint: string, what: string): Result.Result<string, CheckpointError> {
    const fail = (detail: string) =>
      Result.fail(
        new CheckpointError({ reason: "Decode", thread: this.#thread, checkpoint, detail: `${what} ${detail}` })
      )
    const envelope = envelopeOf(text)
    if (envelope === undefined) {
      return fail(
        "is no encrypted text: it was stored without encryption, or was changed where it is stored. " +
          "Read threads that were stored without encryption without this layer; restore what was changed from a backup"
      )
    }
    const keys = this.#keysOf(envelope.id)
    if (keys === undefined) {
      return fail(
        `was encrypted with the key "${envelope.id}", which is none of the keys (${listed(this.#secrets.keys)}). ` +
          "Add it to them"
      )
    }
    const opened = decrypt(keys, beside, envelope.bytes)
    return opened === undefined
      ? fail(
        `cannot be decrypted with the key "${envelope.id}": it was encrypted with other keys, or was changed, cut off ` +
          "or moved where it is stored. Check that this key and the key of ids are those it was stored with; " +
          "if they are, restore the thread from a backup"
      )
      : Result.succeed(opened)
  }

  hide(id: string): string {
    return isDerived(id) ? this.#hide.update(id, "hex", "hex") : id
  }

  show(id: string): string {
    return isDerived(id) ? this.#show.update(id, "hex", "hex") : id
  }

  /** A place is named by a checkpoint, and may be long. What it is stands in the row of the checkpoint that the head is at. */
  hidePlace(place: string): string {
    return place === "" ? "" : digest(this.#secrets.ids, "place", this.#thread, place).toString("base64url")
  }

  hideTask(namespace: string, row: TaskRow): TaskRow {
    const data = this.#encrypt(taskBeside(namespace, row), row.data)
    return { ...row, checkpoint: this.hide(row.checkpoint), data }
  }

  showTask(namespace: string, stored: TaskRow): Result.Result<TaskRow, CheckpointError> {
    const row = { ...stored, checkpoint: this.show(stored.checkpoint) }
    const what = `its task ${JSON.stringify(row.task)}`
    const opened = this.#decrypt(taskBeside(namespace, row), row.data, row.checkpoint, what)
    return Result.map(opened, (data) => ({ ...row, data }))
  }

  hideCheckpoint(namespace: string, row: CheckpointRow, place: string): CheckpointRow {
    return {
      ...row,
      id: this.hide(row.id),
      parent: row.parent === undefined ? undefined : this.hide(row.parent),
      data: this.#encrypt(checkpointBeside(namespace, row), join({ ...row, place })),
      metadata: noMetadata
    }
  }

  showCheckpoint(namespace: string, stored: CheckpointRow): Result.Result<CheckpointRow, CheckpointError> {
    return Result.map(this.#showContent(namespace, stored), ({ row }) => row)
  }

  #showContent(
    namespace: string,
    stored: CheckpointRow
  ): Result.Result<{ readonly row: CheckpointRow; readonly place: string }, CheckpointError> {
    const parent = stored.parent === undefined ? undefined : this.show(stored.parent)
    const row = { ...stored, id: this.show(stored.id), parent }
    const opened = this.#decrypt(checkpointBeside(namespace, row), row.data, row.id, "it")
    return Result.map(opened, (text) => {
      const { data, metadata, place } = split(text)
      return { row: { ...row, data, metadata }, place }
    })
  }

  hideHead(id: string | undefined): string | undefined {
    return id === undefined ? undefined : this.hide(id)
  }

  hideMove(move: Move): Move {
    const { checkpoint, expected, finished, namespace, place, tasks } = move
    return {
      namespace,
      checkpoint: this.hideCheckpoint(namespace, checkpoint, place),
      tasks: tasks.map((row) => this.hideTask(namespace, row)),
      place: this.hidePlace(place),
      expected: this.hideHead(expected),
      finished
    }
  }

  hideCommit(commit: Commit): Commit {
    const { inside, life, owner, root } = commit
    return {
      ...this.hideMove(commit),
      root: this.hideHead(root),
      inside: inside.map((move) => this.hideMove(move)),
      owner,
      life
    }
  }

  showSaved(namespace: string, { chain, tasks }: Saved): Result.Result<Saved, CheckpointError> {
    return Result.flatMap(
      Result.all(chain.map((row) => this.showCheckpoint(namespace, row))),
      (chain) =>
        Result.map(Result.all(tasks.map((row) => this.showTask(namespace, row))), (tasks) => ({ chain, tasks }))
    )
  }

  /** The rows that stand: a row that was given is that row itself, and not another one that is like it. */
  showPut(
    namespace: string,
    given: ReadonlyArray<TaskRow>,
    hidden: ReadonlyArray<TaskRow>,
    stored: ReadonlyArray<TaskRow>
  ): Result.Result<ReadonlyArray<TaskRow>, CheckpointError> {
    return Result.all(
      stored.map((row, index) =>
        row.data === hidden[index]!.data && row.revision === hidden[index]!.revision
          ? Result.succeed(given[index]!) :
          this.showTask(namespace, row)
      )
    )
  }

  hideDump({ checkpoints, heads, tasks }: Dump): Dump {
    const places = new Map(heads.map(({ id, place }) => [id, place]))
    return {
      checkpoints: checkpoints.map(({ namespace, row }) => ({
        namespace,
        row: this.hideCheckpoint(namespace, row, places.get(row.id) ?? "")
      })),
      tasks: tasks.map(({ namespace, row }) => ({ namespace, row: this.hideTask(namespace, row) })),
      heads: heads.map((head) => ({ ...head, place: this.hidePlace(head.place), id: this.hide(head.id) }))
    }
  }

  showDump({ checkpoints, heads, tasks }: Dump): Result.Result<Dump, CheckpointError> {
    const contents = Result.all(
      checkpoints.map(({ namespace, row }) =>
        Result.map(this.#showContent(namespace, row), (content) => ({ namespace, ...content }))
      )
    )
    return Result.flatMap(contents, (contents) => {
      const places = new Map(contents.map(({ place }) => [this.hidePlace(place), place]))
      return Result.all({
        checkpoints: Result.succeed(contents.map(({ namespace, row }) => ({ namespace, row }))),
        tasks: Result.all(
          tasks.map(({ namespace, row }) => Result.map(this.showTask(namespace, row), (row) => ({ namespace, row })))
        ),
        heads: Result.all(heads.map((head) => this.#showHead(head, places)))
      })
    })
  }

  #showHead(
    head: Dump["heads"][number],
    places: ReadonlyMap<string, string>
  ): Result.Result<Dump["heads"][number], CheckpointError> {
    const place = head.place === "" ? "" : places.get(head.place)
    const id = this.show(head.id)
    const detail =
      "no checkpoint tells the place of its head: it was changed where it is stored, or the key of ids is another"
    return place === undefined
      ? Result.fail(new CheckpointError({ reason: "Decode", thread: this.#thread, checkpoint: id, detail }))
      : Result.succeed({ ...head, place, id })
  }

  hideRemoval({ branch, checkpoints, heads, life }: Removal): Removal {
    return {
      branch,
      checkpoints: checkpoints.map(({ id, namespace }) => ({ namespace, id: this.hide(id) })),
      heads: heads.map(({ branch, id, place }) => ({ branch, place: this.hidePlace(place), id: this.hide(id) })),
      life
    }
  }

  /** Errors of the storage name checkpoints as the storage knows them. */
  told<A, E extends CheckpointError | ThreadConflict | ThreadDeleted>(effect: Effect.Effect<A, E>) {
    const show = (id: string | undefined): string | undefined => id === undefined ? undefined : this.show(id)
    return Effect.mapError(effect, (error) => {
      if (error instanceof CheckpointError) {
        const { cause, channel, checkpoint, detail, reason, thread } = error
        return new CheckpointError({ reason, thread, channel, checkpoint: show(checkpoint), detail, cause }) as E
      }
      if (error instanceof ThreadConflict) {
        const { branch, expected, found, thread } = error
        return new ThreadConflict({ thread, branch, expected: show(expected), found: show(found) }) as E
      }
      return error
    })
  }
}

// ---------------------------------------------------------------------------
// Service
// ---------------------------------------------------------------------------

/** Threads whose derived keys are kept: a run uses those of its thread again and again. */
const maxVaults = 256

const vaults = (secrets: Secrets): (thread: string) => Vault => {
  const kept = new Map<string, Vault>()
  return (thread) => {
    const known = kept.get(thread)
    if (known !== undefined) return known
    const vault = new Vault(thread, secrets)
    if (kept.size >= maxVaults) kept.delete(kept.keys().next().value!)
    kept.set(thread, vault)
    return vault
  }
}

/**
 * A `Checkpointer` that keeps its threads encrypted in another. Rows that were stored there without encryption are refused, with
 * `CheckpointError` of reason `Decode`, as are rows that were changed or whose key is not given. Throws if a key has not 32 bytes, or
 * there is no current one.
 *
 * A row is encrypted with a key derived for its thread and a 96-bit nonce derived from the row: one key is good for 2³² rows of each
 * thread. The same row is the same text again.
 *
 * @category constructors
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Redacted, Schema } from "effect"
 * import { Checkpointer, State, StateGraph } from "superstep"
 * import * as EncryptedCheckpointer from "superstep/crypto/EncryptedCheckpointer"
 *
 * class Note extends State.make({ text: Schema.String }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Note, { keep: ({ text }) => ({ text }) }), { start: "keep" })
 *
 * const newKey = () => Redacted.make(crypto.getRandomValues(new Uint8Array(EncryptedCheckpointer.keyBytes)))
 *
 * const program = Effect.gen(function*() {
 *   const below = yield* Checkpointer.makeMemory
 *   const saver = EncryptedCheckpointer.make(below, { keys: { "k-1": newKey() }, current: "k-1", ids: newKey() })
 *   yield* Effect.provideService(app.thread("t").invoke({ text: "a secret" }), Checkpointer.Checkpointer, saver)
 *   const stored = yield* below.list("t", "", {})
 *   console.log(stored.map(({ data }) => data.includes("secret"))) // => [false, false, false]
 * })
 *
 * await Effect.runPromise(program)
 * ```
 */
export const make = <const Id extends string>(
  saver: CheckpointerShape,
  options: EncryptionOptions<Id>
): CheckpointerShape => {
  const vaultOf = vaults(secretsOf(options))
  const on = <A, E>(thread: string, use: (vault: Vault) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => use(vaultOf(thread)))
  return Checkpointer.of({
    head: (thread, place, branch) =>
      on(thread, (vault) =>
        Effect.map(
          vault.told(saver.head(thread, vault.hidePlace(place), branch)),
          Option.map((head) => ({ ...head, place, id: vault.show(head.id) }))
        )),
    get: (thread, namespace, id) =>
      on(
        thread,
        (vault) =>
          Effect.flatMap(vault.told(saver.get(thread, namespace, vault.hide(id))), (saved) =>
            Option.isNone(saved)
              ? Effect.succeedNone
              : Effect.fromResult(Result.map(vault.showSaved(namespace, saved.value), Option.some)))
      ),
    list: (thread, namespace, { before, limit }) =>
      on(thread, (vault) => {
        const options = { before: before === undefined ? undefined : vault.hide(before), limit }
        return Effect.flatMap(vault.told(saver.list(thread, namespace, options)), (rows) =>
          Effect.fromResult(Result.all(rows.map((row) => vault.showCheckpoint(namespace, row)))))
      }),
    putTasks: (thread, put) =>
      on(thread, (vault) => {
        const { namespace, tasks } = put
        const hidden = {
          ...put,
          place: vault.hidePlace(put.place),
          root: vault.hideHead(put.root),
          tasks: tasks.map((row) => vault.hideTask(namespace, row))
        }
        return Effect.flatMap(vault.told(saver.putTasks(thread, hidden)), (stored) =>
          Effect.fromResult(vault.showPut(namespace, tasks, hidden.tasks, stored)))
      }),
    commit: (thread, commit) => on(thread, (vault) => vault.told(saver.commit(thread, vault.hideCommit(commit)))),
    dump: (thread) =>
      on(thread, (vault) =>
        Effect.flatMap(vault.told(saver.dump(thread)), (dump) =>
          Option.isNone(dump)
            ? Effect.succeedNone
            : Effect.fromResult(Result.map(vault.showDump(dump.value), Option.some)))),
    restore: (thread, dump, life) =>
      on(thread, (vault) => vault.told(saver.restore(thread, vault.hideDump(dump), life))),
    remove: (thread, removal) => on(thread, (vault) => vault.told(saver.remove(thread, vault.hideRemoval(removal)))),
    deleteThread: (thread) => saver.deleteThread(thread),
    threads: saver.threads
  })
}

/**
 * Keeps the threads of the `Checkpointer` below encrypted: see {@link make}.
 *
 * @category layers
 * @since 0.1.0
 * @example
 * ```ts
 * import { Effect, Layer, Redacted, Schema } from "effect"
 * import { Checkpointer, State, StateGraph } from "superstep"
 * import * as EncryptedCheckpointer from "superstep/crypto/EncryptedCheckpointer"
 *
 * class Note extends State.make({ text: Schema.String }) {}
 * const app = StateGraph.make("app", StateGraph.nodes(Note, { keep: ({ text }) => ({ text }) }), { start: "keep" })
 *
 * const newKey = () => Redacted.make(crypto.getRandomValues(new Uint8Array(EncryptedCheckpointer.keyBytes)))
 * const layer = EncryptedCheckpointer.layer({ keys: { "k-1": newKey() }, current: "k-1", ids: newKey() }).pipe(
 *   Layer.provide(Checkpointer.layerMemory)
 * )
 *
 * const both = Effect.andThen(app.thread("t").invoke({ text: "a secret" }), app.thread("t").state())
 * console.log((await Effect.runPromise(both.pipe(Effect.provide(layer)))).values) // => { text: "a secret" }
 * ```
 */
export const layer = <const Id extends string>(
  options: EncryptionOptions<Id>
): Layer.Layer<Checkpointer, never, Checkpointer> =>
  Layer.effect(Checkpointer, Effect.map(Checkpointer, (saver) => make(saver, options)))
