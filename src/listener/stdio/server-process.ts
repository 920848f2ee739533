import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { childEnvironment, signalWhenGone } from '../../base/child-process.ts'
import { systemReason } from '../../base/system-reason.ts'
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

/**
 * Runs an MCP server that speaks stdio. The command may be a wrapper that starts the server, so
 * that signals go to the group of its processes.
 */
export class ServerProcess {
  readonly output: Readable
  /** Standard error. */
  readonly errors: Readable
  readonly input: PipeWriter
  readonly exited: Promise<ServerExit>
  #hasExited = false
  #isCut = false
  #suspended = 0
  #waker: ChildProcess | undefined
  readonly #group: number
  /** Resolves when the command has ended and no process uses its pipes. */
  readonly #closed: Promise<'closed'>
  readonly #killed = (): void => this.kill('SIGKILL')

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#group = -child.pid!
    this.input = new PipeWriter(child.stdin)
    this.output = child.stdout
    this.errors = child.stderr
    this.#closed = new Promise((resolve) => child.once('close', () => resolve('closed')))
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#hasExited = true
        process.off('exit', this.#killed)
        // The command alone may have been killed while its group was suspended.
        if (this.#suspended > 0) this.#signal('SIGCONT')
        this.#waker?.kill()
        resolve({ code, signal })
      })
    })
    // Where Squall ends without the regular order.
    process.on('exit', this.#killed)
  }

  /** Starts the command. Throws a `StartError`. */
  static async start({ command, args }: ServerCommand): Promise<ServerProcess> {
    try {
      const child = spawn(command, args, {
        // A server that inherits standard error makes writing to it block.
        stdio: ['pipe', 'pipe', 'pipe'],
        env: childEnvironment(),
        detached: true,
      })
      await once(child, 'spawn')
      child.on('error', () => undefined)
      return new ServerProcess(child)
    } catch (error) {
      throw new StartError(systemReason(error))
    }
  }

  get running(): boolean {
    return !this.#hasExited
  }

  /** True when Squall has ended the output, maybe within a line. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** Sends a signal to the server, if it still runs; a suspended server continues. */
  kill(signal: NodeJS.Signals): void {
    this.#isCut ||= signal === 'SIGKILL'
    this.#signal(signal)
    if (this.#suspended > 0) this.#signal('SIGCONT')
  }

  /**
   * Ends the command and all processes that use its pipes, with SIGTERM after the grace period and
   * SIGKILL after another one. Resolves when they have ended, or got SIGKILL.
   */
  async endAfter(grace: number): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if ((await Promise.race([this.#closed, sleep(grace)])) === 'closed') return
      this.kill(signal)
    }
  }

  /** Suspends the server until the returned function was called, as often as this one. */
  suspend(): () => void {
    if (this.#suspended++ === 0 && !this.#hasExited) {
      // It continues when Squall is killed and cannot do so.
      this.#waker = signalWhenGone('CONT', this.#group)
      this.#signal('SIGSTOP')
    }
    return () => {
      if (--this.#suspended > 0 || this.#hasExited) return
      this.#signal('SIGCONT')
      this.#waker?.kill()
    }
  }

  /** Reads no more from processes that outlive the command. */
  release(): void {
    this.#isCut = true
    this.output.destroy()
    this.errors.destroy()
  }

  /** Sends a signal to the group of the command; also after its end, while others use its pipes. */
  #signal(signal: NodeJS.Signals): void {
    if (this.#hasExited && this.output.destroyed && this.errors.destroyed) return
    try {
      process.kill(this.#group, signal)
    } catch {
      // All its processes have ended.
    }
  }
}
