import { childEnvironment } from '#base'
import { runProcess } from './agent-process.ts'
import type { RunFacts, ServedCall } from './judge.ts'

/** The task of a sweep: a command that calls the tools of the tape. */
export interface SweepTask {
  readonly command: readonly string[]
  /** A command of the shell that accepts a run by exit code 0; it reads what the run printed. */
  readonly check: string | undefined
  readonly cellTimeoutMs: number
  /** The id of the cell, for the command. */
  readonly cell: string
}

/** The tape as a server behind a sidecar of its own. */
export interface TapeServer {
  /** The address for the command. */
  readonly url: string
  /** A program that serves the tape by stdio. */
  readonly program: string
  /** True when a rule was injected. */
  readonly isInjected: boolean
  /** The calls of tools that reached the server, in their order. */
  readonly served: readonly ServedCall[]
  /** Returns the number of calls with a false value in their arguments. */
  falseUsed(): Promise<number>
  close(): Promise<void>
}

/** A run of the task. */
export interface Run extends RunFacts {
  readonly seconds: number
}

/**
 * Runs the task once; more than `mostCalls` calls end it. The server, its sidecar and all processes
 * of the command have ended when this resolves.
 */
export async function runTask(
  { command, check, cellTimeoutMs, cell }: SweepTask,
  open: (onCall: () => void) => Promise<TapeServer>,
  { stop, mostCalls = Infinity }: { readonly stop: AbortSignal; readonly mostCalls?: number },
): Promise<Run> {
  const runaway = new AbortController()
  let calls = 0
  const server = await open(() => {
    if (++calls > mostCalls) runaway.abort()
  })
  const began = performance.now()
  try {
    const { url, program } = server
    const own = { MCP_URL: url, SQUALL_URL: url, MCP_COMMAND: program, SQUALL_CELL: cell }
    const env = { ...childEnvironment(), ...own }
    const limits = { env, timeoutMs: cellTimeoutMs, stop: AbortSignal.any([stop, runaway.signal]) }
    const words = command.map((word) =>
      word.replaceAll('{url}', url).replaceAll('{command}', program),
    )
    const { printed, ...end } = await runProcess(words, limits)
    const seconds = (performance.now() - began) / 1000
    const { isInjected, served } = server
    const isRunaway = runaway.signal.aborted
    const falseUsed = await server.falseUsed()
    const checked =
      check === undefined || end.exitCode !== 0
        ? undefined
        : await runProcess(['/bin/sh', '-c', check], { ...limits, input: printed })
    if (checked?.isTimedOut === true) throw new Error('--check did not end in time')
    const isAccepted = checked && checked.exitCode === 0
    return { end, seconds, calls, isInjected, isRunaway, served, falseUsed, isAccepted }
  } finally {
    await server.close()
  }
}
