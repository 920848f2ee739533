import type { PlayedCall } from '../tape/player.ts'
import type { ProcessEnd } from './agent-process.ts'
import { countCalls, type SweepCall } from './cells.ts'

/**
 * How a task ended with one fault at one call, the best first: for the table, in a sentence, and
 * explained. `isGood` marks verdicts that do not fail a sweep.
 */
export const VERDICTS = {
  survived: {
    short: 'ok',
    words: 'survived',
    meaning: 'the task had the same result as without the fault',
    isGood: true,
  },
  finished: {
    short: 'ended',
    words: 'finished',
    meaning: 'the command exited with code 0; its result was not checked',
    isGood: true,
  },
  not_reached: {
    short: '-',
    words: 'ended without the fault',
    meaning: 'the fault was not injected',
    isGood: true,
  },
  off_tape: {
    short: 'off tape',
    words: 'went off the tape',
    meaning: 'the command made calls that are not on the tape',
  },
  failed_openly: {
    short: 'failed',
    words: 'failed openly',
    meaning: 'the command exited with an error',
  },
  hung: {
    short: 'HUNG',
    words: 'hung',
    meaning: 'the command timed out',
  },
  ran_away: {
    short: 'RUNAWAY',
    words: 'ran away',
    meaning: 'the command called far more often than without the fault',
  },
  doubled_write: {
    short: 'TWICE',
    words: 'doubled a write',
    meaning: 'the server executed a non-idempotent call twice',
  },
  failed_silently: {
    short: 'SILENT',
    words: 'failed silently',
    meaning: 'the result is wrong without an error, or a false value was used',
  },
} as const

export type SweepVerdict = keyof typeof VERDICTS

export const VERDICT_NAMES = Object.keys(VERDICTS) as readonly SweepVerdict[]

/** Returns true for a verdict that does not fail a sweep. */
export function isGood(verdict: SweepVerdict): boolean {
  return 'isGood' in VERDICTS[verdict]
}

/** What is known of a run when its command has ended. */
export interface Run extends ProcessEnd {
  readonly seconds: number
  /** True when `--check` accepted the run; undefined without a check. */
  readonly isAccepted?: boolean
  /** The calls of tools by the client. */
  readonly calls: number
  readonly isRunaway: boolean
  readonly isInjected: boolean
  /** The calls of tools that reached the server, in their order. */
  readonly served: readonly PlayedCall[]
  /** The number of false values in the arguments of calls. */
  readonly falseUsed: number
}

/** The calls of the task, and the runs without a fault as far as they agree. */
export interface Baseline {
  readonly calls: readonly SweepCall[]
  /** Calls that do not occur in all runs. */
  readonly unstable: readonly SweepCall[]
  /** The digest of the output; undefined where it differs from run to run. */
  readonly output: string | undefined
  /** The number of executions by call. */
  readonly executed: ReadonlyMap<string, number>
  /** The tools that may be called twice, as the taped server declares. */
  readonly safe: ReadonlySet<string>
  /** The number of calls above which a run is a runaway. */
  readonly mostCalls: number
}

/** Judges a run. The first verdict that is true counts. */
export function judge(run: Run, { output, executed, safe }: Baseline): SweepVerdict {
  const { exitCode, isAccepted, served } = run
  if (!run.isInjected) return 'not_reached'
  if (run.isTimedOut) return 'hung'
  if (run.isRunaway) return 'ran_away'
  const unsafe = served.filter(({ name, recorded }) => !safe.has(name) && recorded !== undefined)
  const counts = countCalls(unsafe)
  if ([...counts].some(([key, count]) => count > Math.max(1, executed.get(key) ?? 0))) {
    return 'doubled_write'
  }
  if (run.falseUsed > 0) return 'failed_silently'
  const isSame = isAccepted ?? (output === undefined ? undefined : output === run.output)
  if (exitCode === 0 && isSame === true) return 'survived'
  if (served.some(({ recorded }) => recorded === undefined)) return 'off_tape'
  if (exitCode !== 0) return 'failed_openly'
  // Another output is not wrong by itself: an agent may say that a service was not reachable.
  return isAccepted === false ? 'failed_silently' : 'finished'
}
