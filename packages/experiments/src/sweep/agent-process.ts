import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { endingAfter, oneLine, signalWhenGone, systemReason } from '#base'
import { UsageError } from '#cli'
import { redactText } from '#sidecar'

/** The end of a command, and the end of what it printed. */
export interface ProcessEnd {
  /** Null for a command that a signal ended. */
  readonly exitCode: number | null
  readonly isTimedOut: boolean
  /** A digest of the standard output. */
  readonly output: string
  /** The end of the standard output. */
  readonly printed: Buffer
  /** The last lines of both outputs. */
  readonly lines: readonly string[]
}

/** Limits a command. */
export interface ProcessLimits {
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  /** Ends the command when it is aborted. */
  readonly stop: AbortSignal
  /** What the command reads; nothing by default. */
  readonly input?: Buffer
}

const MAX_KEPT = 256 * 1024
const MAX_LINES = 20
/** The longest wait for the rest of the output of a command that has ended. */
const PIPES_MS = 1000

/**
 * Runs a command in a process group of its own, which has ended when this resolves: also after a
 * time-out, and also when Squall is killed. A process that leaves the group goes on.
 */
export async function runProcess(
  [program = '', ...args]: readonly string[],
  { env, timeoutMs, stop, input }: ProcessLimits,
): Promise<ProcessEnd> {
  const child = spawn(program, args, { env, detached: true })
  try {
    await once(child, 'spawn')
  } catch (error) {
    const wrong = `${oneLine(program, 200)} cannot be started: ${systemReason(error)}`
    throw new UsageError('INVALID_VALUE', wrong, 'check the command')
  }
  const group = -child.pid!
  const keeper = signalWhenGone('KILL', group)
  child.on('error', () => undefined)
  child.stdin.on('error', () => undefined).end(input)
  const kill = (): void => {
    try {
      process.kill(group, 'SIGKILL')
    } catch {
      // All its processes have ended.
    }
  }
  const limit = endingAfter(timeoutMs, stop)
  if (limit.aborted) kill()
  limit.addEventListener('abort', kill)
  const hash = createHash('sha256')
  let [printed, both]: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)]
  child.stdout.on('data', (chunk: Buffer) => {
    hash.update(chunk)
    printed = lastOf(printed, chunk)
    both = lastOf(both, chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => (both = lastOf(both, chunk)))
  // Its descendants may hold the pipes for longer than it lives.
  child.once('exit', kill)
  const closed = once(child, 'close')
  const [exitCode] = (await once(child, 'exit')) as [number | null]
  const isTimedOut = limit.aborted && !stop.aborted
  // A process that has left the group may hold the pipes for as long as it lives.
  await Promise.race([closed, wait(PIPES_MS, undefined, { ref: false })])
  child.stdout.destroy()
  child.stderr.destroy()
  limit.removeEventListener('abort', kill)
  keeper.kill('SIGKILL')
  return { exitCode, isTimedOut, output: hash.digest('hex'), lines: linesOf(both), printed }
}

/** Returns the last bytes of an output with another chunk. */
function lastOf(kept: Buffer, chunk: Buffer): Buffer {
  return Buffer.concat([kept, chunk]).subarray(-MAX_KEPT)
}

function linesOf(bytes: Buffer): readonly string[] {
  const text = stripVTControlCharacters(bytes.toString('utf8')).trimEnd()
  const lines = text === '' ? [] : text.split('\n').slice(-MAX_LINES)
  return lines.map((line) => oneLine(redactText(line), 300))
}
