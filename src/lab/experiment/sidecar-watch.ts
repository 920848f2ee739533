import { AdminError } from '../../admin/api-client.ts'
import type { EarlyEnd } from './phase.ts'
import type { Context } from './context.ts'
import { askRules, askState } from './sidecar-admin.ts'

/** The summed counts of the rules of a stage. */
export interface Totals {
  readonly matched: number
  readonly sampled: number
  readonly applied: number
}

export const NO_TOTALS: Totals = { matched: 0, sampled: 0, applied: 0 }

export const LOST_MS = 3000

/** Reads the counts of the experiment's rules. Throws an `AdminError`. */
export async function ruleTotals({ plan, names }: Context, signal?: AbortSignal): Promise<Totals> {
  const own = new Set(names)
  const rules = (await askRules(plan.admin, signal)).filter(({ name }) => own.has(name))
  const sum = (key: 'matched' | 'sampled' | 'injected'): number =>
    rules.reduce((total, rule) => total + (rule.counts[key] ?? 0), 0)
  return { matched: sum('matched'), sampled: sum('sampled'), applied: sum('injected') }
}

/** Checks that the rules are still active, and reports their counts. */
export function sidecarWatch(
  context: Context,
  report: (totals: Totals) => void,
): (signal: AbortSignal) => Promise<EarlyEnd | undefined> {
  const { plan } = context
  let lastResponse = performance.now()
  return async (signal) => {
    try {
      const state = await askState(plan.admin, signal)
      lastResponse = performance.now()
      const end = endOf(state, context)
      if (end === undefined) report(await ruleTotals(context, signal))
      return end
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      if (signal.aborted || performance.now() - lastResponse < LOST_MS) return undefined
      return { code: 'SIDECAR_LOST', why: `the sidecar cannot be asked: ${error.message}` }
    }
  }
}

function endOf(
  state: Awaited<ReturnType<typeof askState>>,
  { arming, plan }: Context,
): EarlyEnd | undefined {
  const guard = state.reasons.find(({ by }) => by === 'guard')
  if (guard !== undefined) {
    return { code: 'GUARD', why: `the sidecar disarmed: ${guard.reason}` }
  }
  if (arming.failure !== undefined || !arming.isOurs(state.rules.digest)) {
    return { code: 'RULES_CHANGED', why: 'somebody else has written the rules file' }
  }
  if (!state.armed) {
    const who = state.reasons.map(({ by, reason }) => `${by}: ${reason}`).join(', ')
    return { code: 'DISARMED', why: `rules no longer act in the sidecar (${who})` }
  }
  if (state.environment?.toLowerCase() !== plan.file.target.environment?.toLowerCase()) {
    return { code: 'DISARMED', why: 'the sidecar is in another environment now' }
  }
  return undefined
}
