import { childEnvironment } from '#base'
import { runProcess } from './agent-process.ts'
import type { Run } from './judge.ts'
import type { SweepTape } from './sweep-tape.ts'

/** The task of a sweep: a command that calls the tools of the tape. */
export interface SweepTask {
  readonly command: readonly string[]
  /** A command of the shell that accepts a run by exit code 0; it reads what the run printed. */
  readonly check: string | undefined
  readonly cellTimeout: number
  readonly tape: SweepTape
  readonly stop: AbortSignal
}

/** The id of a cell, the file with its rules, and the number of calls above which a run ends. */
export interface TaskCell {
  readonly id: string
  readonly rules?: string
  readonly mostCalls?: number
}

const CHECK_TIMED_OUT = '--check timed out; raise --cell-timeout'

/**
 * Runs the task once. The server, its sidecar and all processes of the command have ended when this
 * resolves.
 */
export async function runTask(
  { command, check, cellTimeout: timeoutMs, tape, stop }: SweepTask,
  { id, rules, mostCalls = Infinity }: TaskCell,
): Promise<Run> {
  const runaway = new AbortController()
  let calls = 0
  const server = await tape.serve(rules, () => {
    if (++calls > mostCalls) runaway.abort()
  })
  const began = performance.now()
  try {
    const { url, program } = server
    const own = { MCP_URL: url, SQUALL_URL: url, MCP_COMMAND: program, SQUALL_CELL: id }
    const env = { ...childEnvironment(), ...own }
    const limits = { env, timeoutMs, stop: AbortSignal.any([stop, runaway.signal]) }
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
    const isAccepted = checked && checked.exitCode === 0
    const lines = checked?.isTimedOut === true ? [...end.lines, CHECK_TIMED_OUT] : end.lines
    const ended = { ...end, lines }
    return { end: ended, seconds, calls, isInjected, isRunaway, served, falseUsed, isAccepted }
  } finally {
    await server.close()
  }
}
