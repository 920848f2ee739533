import { childEnvironment } from '#base'
import { armedOptions, assemble, SILENT } from '#sidecar'
import type { SweepRequest } from '../commands/sweep.ts'
import { type PlayedCall, Player } from '../tape/player.ts'
import { serveStdio } from '../tape/serve-stdio.ts'
import type { Tape } from '../tape/tape.ts'
import { TapeUpstream } from '../tape/tape-upstream.ts'
import { runProcess } from './agent-process.ts'
import { CELL_RULE } from './cells.ts'
import type { Run } from './judge.ts'

/** A sweep without what becomes of its result. */
export type SweepTask = Omit<SweepRequest, 'accept' | 'junit' | 'json'>

/** The task of a sweep: a command that calls the tools of the tape. */
export interface TapeTask {
  readonly request: SweepTask
  readonly tape: Tape
  readonly stop: AbortSignal
}

const CHECK_TIMED_OUT = '--check timed out; raise --cell-timeout'

/**
 * Runs the task once, for a cell with the file of its rules, and ends it above a number of calls.
 * The server, its sidecar and all processes of the command have ended when this resolves.
 */
export async function runTask(
  { request, tape, stop }: TapeTask,
  id: string,
  rules?: string,
  mostCalls = Infinity,
): Promise<Run> {
  const { command, check, cellTimeout: timeoutMs, match } = request
  const runaway = new AbortController()
  const served: PlayedCall[] = []
  let calls = 0
  const player = new Player(tape, {
    session: 'all',
    match,
    repeats: true,
    onCall: (call) => call.method === 'tools/call' && served.push(call),
  })
  const server = await servePlayer(player, rules, () => {
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
    const end = await runProcess(words, limits)
    const seconds = Math.round(performance.now() - began) / 1000
    const found = { ...server.found(), served, calls, isRunaway: runaway.signal.aborted }
    if (check === undefined || end.exitCode !== 0) return { ...end, ...found, seconds }
    const checked = await runProcess(['/bin/sh', '-c', check], { ...limits, input: end.printed })
    const lines = checked.isTimedOut ? [...end.lines, CHECK_TIMED_OUT] : end.lines
    return { ...end, ...found, seconds, lines, isAccepted: checked.exitCode === 0 }
  } finally {
    await server.close()
  }
}

/**
 * Serves a tape behind a sidecar of its own, with the rules of a file. `onCall` is called for each
 * call of a tool that has ended.
 */
export async function servePlayer(player: Player, rules: string | undefined, onCall: () => void) {
  const flags = { listen: '127.0.0.1:0', upstream: 'http://127.0.0.1:9' }
  const options = armedOptions({ ...flags, ...(rules !== undefined && { rules }) })
  const own = { name: 'the tape', upstream: new TapeUpstream(player) }
  const running = await assemble(options, SILENT, { own })
  const { recent, metrics, watch, listeners } = running
  try {
    const version = running.rules?.last?.version
    if (version?.kind === 'rejected') {
      const [problem] = version.problems.flatMap(({ problems }) => problems)
      throw new Error(`the rule for this call is invalid: ${problem?.path}: ${problem?.message}`)
    }
    watch.read(({ method }) => method === 'tools/call' && onCall())
    const stdio = await serveStdio(player, running.sidecar)
    return {
      /** The address for the command. */
      url: `http://${listeners[0]!.text}/mcp`,
      /** A program that serves the tape by stdio. */
      program: stdio.program,
      /** Returns what rules did so far. */
      found: () => ({
        isInjected: recent?.list().some(({ entry }) => entry.rule === CELL_RULE) ?? false,
        /** The number of false values in the arguments of calls. */
        falseUsed: metrics.watched.lies.falsified
          .filter(({ labels }) => labels.verdict.startsWith('used'))
          .reduce((sum, { value }) => sum + value, 0),
      }),
      close: async () => {
        await running.close()
        await stdio.close()
      },
    }
  } catch (error) {
    await running.close()
    throw error
  }
}
