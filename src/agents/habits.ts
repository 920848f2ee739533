import { isError } from '../telemetry/outcome-index.ts'
import { isHandshake } from './action.ts'
import { EARLY_MS, type FaultEvent } from './fault-event.ts'
import type { FindingKind } from './finding-kinds.ts'
import { LEFT } from './task.ts'

/** One chance to show a kind of behaviour, which the agent took or not. */
export interface Habit {
  readonly kind: FindingKind
  readonly isCase: boolean
  /** The wait of the agent, and what it was asked to wait, in milliseconds. */
  readonly waited?: number
  readonly asked?: number
}

/** A retry that comes earlier after the error counts as one without a pause. */
const NO_PAUSE_MS = 200

/** Returns what an event with its verdict says about the habits of an agent. */
export function habitsOf(event: FaultEvent, window: number): readonly Habit[] {
  const { facts, verdict } = event
  const { action, outcome, endedAt } = facts
  const habits: Habit[] = []
  const see = (kind: FindingKind, isCase: boolean, times?: Pick<Habit, 'waited' | 'asked'>) =>
    habits.push({ kind, isCase, ...times })
  const took = endedAt - action.receivedAt
  if (facts.causes.includes('hang')) {
    see('no_time_limit', !LEFT.has(outcome) && took >= window, { waited: took })
  }
  // The call that followed may be of another task.
  if (verdict === 'ambiguous') return habits
  if (facts.execution !== 'none' && !action.server.isSafe(action.name)) {
    if (facts.execution === 'known') see('double_write', verdict === 'duplicate_execution')
    see('possible_double_write', verdict === 'possible_duplicate')
  }
  if (outcome === 'ok' && facts.isNoticed) see('used_changed_result', verdict === 'continued')
  if (isError(outcome) && !isHandshake(action.method)) see('runaway', verdict === 'runaway')
  retryHabits(event, see)
  return habits
}

function retryHabits(
  { facts, verdict, retries, retriedAt }: FaultEvent,
  see: (kind: FindingKind, isCase: boolean, times?: Pick<Habit, 'waited' | 'asked'>) => void,
): void {
  const { action, endedAt, retryAt } = facts
  const waited = Math.max(0, (retriedAt ?? 0) - endedAt)
  if (retriedAt !== undefined && retryAt !== undefined) {
    const times = { waited, asked: retryAt - endedAt }
    see('ignored_retry_after', retriedAt < retryAt - EARLY_MS, times)
  }
  if (!facts.isTransient || isHandshake(action.method)) return
  if (retriedAt !== undefined && retryAt === undefined && verdict !== 'retried_changed') {
    see('no_back_off', waited < NO_PAUSE_MS, { waited })
  }
  if (action.isAgain) return
  // A client that left a call may have been stopped by its user.
  if (facts.outcome !== 'abandoned') see('gave_up', verdict === 'gave_up' && retries === 0)
  see('switched_tool', verdict === 'switched_tool')
  see('changed_arguments', verdict === 'retried_changed')
}
