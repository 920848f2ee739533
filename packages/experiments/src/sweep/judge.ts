import type { ProcessEnd } from './agent-process.ts'
import { countCalls } from './cells.ts'

/** A verdict for the table, in a sentence, and explained. */
interface VerdictText {
  readonly short: string
  readonly words: string
  readonly meaning: string
  /** True for a verdict that does not fail a sweep. */
  readonly isGood?: true
}

/** How a task ended with one fault at one call. */
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
  failed_openly: {
    short: 'failed',
    words: 'failed openly',
    meaning: 'the command exited with an error',
  },
  failed_silently: {
    short: 'SILENT',
    words: 'failed silently',
    meaning: 'the result is wrong without an error, or a false value was used',
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
  off_tape: {
    short: 'off tape',
    words: 'went off the tape',
    meaning: 'the command made calls that are not on the tape',
  },
  not_reached: {
    short: '-',
    words: 'ended without the fault',
    meaning: 'the fault was not injected',
    isGood: true,
  },
} as const satisfies Readonly<Record<string, VerdictText>>

export type SweepVerdict = keyof typeof VERDICTS

export const VERDICT_NAMES = Object.keys(VERDICTS) as readonly SweepVerdict[]

/** Returns true for a verdict that does not fail a sweep. */
export function isGood(verdict: SweepVerdict): boolean {
  return 'isGood' in VERDICTS[verdict]
}

/** A call that the server of the tape got. */
export interface ServedCall {
  readonly key: string
  readonly tool: string
  readonly args: unknown
  /** The line of the tape; undefined for a call that the tape does not have. */
  readonly line: number | undefined
}

/** What is known of a run when its command has ended. */
export interface Run {
  readonly seconds: number
  readonly end: ProcessEnd
  /** True when `--check` accepted the run; undefined without a check. */
  readonly isAccepted: boolean | undefined
  /** The calls of tools by the client. */
  readonly calls: number
  readonly isRunaway: boolean
  readonly isInjected: boolean
  readonly served: readonly ServedCall[]
  /** The number of calls with a false value in their arguments. */
  readonly falseUsed: number
}

/** The runs without a fault, as far as they agree. */
export interface Baseline {
  /** The digest of the output; undefined where it differs from run to run. */
  readonly output: string | undefined
  /** The number of executions by call. */
  readonly executed: ReadonlyMap<string, number>
  readonly isSafe: (tool: string) => boolean
}

/** Judges a run. The first verdict that is true counts. */
export function judge(facts: Run, { output, executed, isSafe }: Baseline): SweepVerdict {
  const { end, isAccepted, served } = facts
  if (!facts.isInjected) return 'not_reached'
  if (end.isTimedOut) return 'hung'
  if (facts.isRunaway) return 'ran_away'
  const unsafe = served.filter((call) => !isSafe(call.tool) && call.line !== undefined)
  const counts = countCalls(unsafe.map(({ key }) => key))
  if ([...counts].some(([key, count]) => count > Math.max(1, executed.get(key) ?? 0))) {
    return 'doubled_write'
  }
  if (facts.falseUsed > 0) return 'failed_silently'
  const isSame = isAccepted ?? (output === undefined ? undefined : output === end.output)
  if (end.exitCode === 0 && isSame === true) return 'survived'
  if (served.some(({ line }) => line === undefined)) return 'off_tape'
  if (end.exitCode !== 0) return 'failed_openly'
  // Another output is not wrong by itself: an agent may say that a service was not reachable.
  return isAccepted === false ? 'failed_silently' : 'finished'
}
