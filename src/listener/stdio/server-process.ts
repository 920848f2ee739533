import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { PipeWriter } from './pipe-writer.ts'

/** The command line of an MCP server. */
export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
}

/** The end of a server: its exit code, or the signal that ended it. */
export interface ServerExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Reports that the command of a server could not be started. */
export class StartError extends Error {
  readonly code = 'SQUALL_START'
}

/** The variables with Squall's own secrets, which the server does not get. */
const SECRETS = /^SQUALL_.*TOKEN$/

/** Runs an MCP server that speaks stdio. */
export class ServerProcess {
  readonly output: Readable
  readonly input: PipeWriter
  readonly exited: Promise<ServerExit>
  #hasExited = false
  #suspended = 0
  #waker: ChildProcess | undefined
  readonly #child: ChildProcess
  readonly #killed = (): void => this.kill('SIGKILL')

  private constructor(child: ChildProcess, input: PipeWriter, output: Readable) {
    this.#child = child
    this.input = input
    this.output = output
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#hasExited = true
        process.off('exit', this.#killed)
        this.#waker?.kill()
        resolve({ code, signal })
      })
    })
    // Where Squall ends without the regular order.
    process.on('exit', this.#killed)
  }

  /** Starts the command. Throws a `StartError`. */
  static async start({ command, args }: ServerCommand): Promise<ServerProcess> {
    const entries = Object.entries(process.env).filter(([name]) => !SECRETS.test(name))
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: Object.fromEntries(entries),
    })
    const server = new ServerProcess(child, new PipeWriter(child.stdin), child.stdout)
    try {
      await once(child, 'spawn')
    } catch (error) {
      throw new StartError((error as NodeJS.ErrnoException).code ?? (error as Error).message)
    }
    child.on('error', () => undefined)
    return server
  }

  get running(): boolean {
    return !this.#hasExited
  }

  /** Sends a signal to the server, if it still runs; a suspended server continues. */
  kill(signal: NodeJS.Signals): void {
    if (this.#hasExited) return
    this.#child.kill(signal)
    if (this.#suspended > 0) this.#child.kill('SIGCONT')
  }

  /** Suspends the server until the returned function was called, as often as this one. */
  suspend(): () => void {
    if (this.#suspended++ === 0 && !this.#hasExited) {
      this.#waker = wakerOf(this.#child)
      this.#child.kill('SIGSTOP')
    }
    return () => {
      if (--this.#suspended > 0 || this.#hasExited) return
      this.#child.kill('SIGCONT')
      this.#waker?.kill()
    }
  }
}

/** Starts a process that continues a suspended server when Squall is killed and cannot do so. */
function wakerOf({ pid }: ChildProcess): ChildProcess {
  const waker = spawn('/bin/sh', ['-c', 'read -r _; kill -CONT "$0"', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without a shell, and where the pipe breaks, there is nothing else to do.
  waker.on('error', () => undefined)
  waker.stdin?.on('error', () => undefined)
  return waker
}
