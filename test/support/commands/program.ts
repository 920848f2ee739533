import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ENGINE_UNDER_TEST } from '../wire/engine.ts'
import type { Came } from './here.ts'

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))

/** One line of the program's log. */
export type LogLine = Readonly<Record<string, unknown>>

/** The exit code, signal and output of a program. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A program that has ended, and what it printed. */
export interface Finished extends Ended {
  readonly stdout: string
  readonly stderr: string
}

/** A program that runs in a process of its own. */
export interface Program {
  readonly child: ChildProcess
  /** The lines of standard output that are JSON. */
  readonly lines: readonly LogLine[]
  readonly ended: Promise<Ended>
  /** Resolves with everything that the program printed when it has ended. */
  finished(): Promise<Finished>
  stdout(): string
  stderr(): string
  /** Resolves with the first line that says this, or fails when the program ends without it. */
  logged(message: string): Promise<LogLine>
  /** Resolves with the first such line of standard error. */
  complained(message: string): Promise<LogLine>
  /** Resolves with the first whole line of standard output. */
  firstLine(): Promise<string>
  /** Sends a signal to this program alone. */
  signal(signal: NodeJS.Signals): void
  /** Ends it without a drain, if it still runs. */
  kill(): Promise<void>
}

/** The options for running a command line. */
interface How {
  /** Another program than Squall. */
  readonly program?: string
  readonly cwd?: string
  /** The content of standard input. */
  readonly input?: string
  /** Leaves standard input open. */
  readonly open?: true
  /** The limit on the open files of its process; by default that of the tests. */
  readonly openFiles?: number
  /**
   * Runs the command in this process to its end: a process of its own takes half a second to start.
   */
  readonly here?: true
}

type Env = Readonly<Record<string, string>>

/**
 * Starts the built program, or another. Variables of the surrounding environment do not reach it.
 */
export function startProgram(
  args: readonly string[],
  env: Env,
  how: { readonly here: true },
): Promise<Came>
export function startProgram(args: readonly string[], env?: Env, how?: How): Program
export function startProgram(
  args: readonly string[],
  env: Env = {},
  { openFiles, here, program, cwd, input, open }: How = {},
): Program | Promise<Came> {
  if (here) return import('./here.ts').then(({ finishHere }) => finishHere(args, env))
  const command = program === undefined ? [process.execPath, MAIN, ...args] : [program, ...args]
  const limit = ['/bin/sh', '-c', `ulimit -n ${openFiles}; exec "$0" "$@"`]
  const [file = '', ...argv] = openFiles === undefined ? command : [...limit, ...command]
  const child = spawn(file, argv, {
    cwd,
    env: { PATH: process.env['PATH'], SQUALL_ENGINE: ENGINE_UNDER_TEST, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => undefined)
  if (open !== true) child.stdin.end(input)
  else if (input !== undefined) child.stdin.write(input)
  const lines: LogLine[] = []
  const waiters = new Set<() => void>()
  let stdout = ''
  let stderr = ''
  let begun = ''
  let hasEnded = false
  const wake = (): void => {
    for (const check of waiters) check()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    // Looking for the line in all output would copy the output with each piece of it.
    const [first = '', ...more] = text.split('\n')
    begun += first
    for (const next of more) {
      if (begun.startsWith('{')) lines.push(JSON.parse(begun) as LogLine)
      begun = next
    }
    wake()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    wake()
  })
  const ended = once(child, 'close').then(([code, signal]) => {
    hasEnded = true
    wake()
    return { code: code as number | null, signal: signal as NodeJS.Signals | null }
  })
  /** Resolves when something was printed, or fails when the program ends without it. */
  const seen = <T>(what: string, find: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = find()
        if (found === undefined && !hasEnded) return
        waiters.delete(check)
        if (found === undefined) reject(new Error(`ended without "${what}": ${stdout}${stderr}`))
        else resolve(found)
      }
      waiters.add(check)
      check()
    })
  return {
    child,
    lines,
    ended,
    finished: async () => ({ ...(await ended), stdout, stderr }),
    stdout: () => stdout,
    stderr: () => stderr,
    logged: (message) => seen(message, () => lines.find(({ msg }) => msg === message)),
    complained: (message) =>
      seen(message, () => {
        const line = stderr
          .split('\n')
          .find((each) => each.includes(`"msg":${JSON.stringify(message)}`))
        return line === undefined ? undefined : (JSON.parse(line) as LogLine)
      }),
    firstLine: () => seen('a line', () => /^(.*)\n/.exec(stdout)?.[1]),
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      if (!hasEnded) child.kill('SIGKILL')
      await ended
    },
  }
}

/** The port at the end of an address in the log. */
export function portOf(line: LogLine): number {
  return Number(/:(\d+)$/.exec(String(line['address']))?.[1])
}
