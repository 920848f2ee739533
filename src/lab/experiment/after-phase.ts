import { AdminError } from '../../admin/api-client.ts'
import type { PhaseResult } from './experiment-result.ts'
import { type EarlyEnd, runPhase } from './phase.ts'
import { phaseLoad } from './phase-load.ts'
import type { Context } from './context.ts'
import { ACTIVATION_MS } from './arming.ts'
import { askState } from './sidecar-admin.ts'
import { LOST_MS } from './sidecar-watch.ts'
import { anyBroken } from './steadiness.ts'

export interface After {
  readonly phase: PhaseResult
  readonly steady: boolean
  /** The reason why the phase proves nothing: the rules differed from those before the stages. */
  readonly end: EarlyEnd | undefined
}

/** Waits for the steady state after the stages, as long as the plan allows. */
export async function runAfterPhase(context: Context): Promise<After> {
  const { plan, probe, stop, onEvent, steadiness } = context
  const { for: forMs, within } = plan.file.steadyState
  const began = performance.now()
  onEvent({ kind: 'phase', label: 'steady state after', durationMs: within })
  let steady = false
  // Before the withdrawal, a steady moment may be one without an injected fault.
  let withdrawnAt = Infinity
  const { result, end } = await runPhase({
    label: 'after',
    load: phaseLoad(plan, context, within),
    probe,
    stop,
    // A killed process may still be down.
    beginWithinMs: within,
    onEnd: () => {},
    poll: withdrawal(context, (at) => (withdrawnAt = at)),
    tick: ({ at, steady: measured, calls }) => {
      const elapsedMs = at - began
      onEvent({
        kind: 'moment',
        elapsedMs,
        durationMs: within,
        calls,
        measured,
        applied: undefined,
      })
      steadiness.add(at, anyBroken(plan.steady, measured))
      steady = steadiness.steadyForMs(withdrawnAt, at) >= forMs
      return steady ? 'enough' : undefined
    },
  })
  const text = steady ? 'holds' : 'does not hold'
  onEvent({ kind: 'phase-over', label: 'steady state after', text })
  return { phase: result, steady, end: steady ? undefined : reasonOf(end, stop) }
}

function reasonOf(end: EarlyEnd | undefined, stop: AbortSignal): EarlyEnd | undefined {
  if (stop.aborted) return { code: 'INTERRUPTED', why: 'it was ended by hand' }
  // A target that cannot be called has not recovered.
  return end?.code === 'TARGET_LOST' ? undefined : end
}

/** Checks that the sidecar returns to the previous rules and keeps them. */
function withdrawal(
  { plan, arming, activationMs = ACTIVATION_MS }: Context,
  tell: (at: number) => void,
): (signal: AbortSignal) => Promise<EarlyEnd | undefined> {
  let lastResponse = performance.now()
  const until = lastResponse + activationMs
  let withdrawn = false
  return async (signal) => {
    try {
      const { digest } = (await askState(plan.admin, signal)).rules
      lastResponse = performance.now()
      const found = arming.afterWithdrawal(digest)
      if (found === 'of others') {
        return { code: 'RULES_CHANGED', why: 'somebody else has written the rules file' }
      }
      if (found === 'not yet' && lastResponse > until) {
        return { code: 'NOT_ACTIVE', why: 'the sidecar did not go back to the rules of before' }
      }
      if (found === 'withdrawn' && !withdrawn) tell(lastResponse)
      withdrawn ||= found === 'withdrawn'
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      if (!signal.aborted && performance.now() - lastResponse > LOST_MS) {
        return { code: 'SIDECAR_LOST', why: `the sidecar cannot be asked: ${error.message}` }
      }
    }
    return undefined
  }
}
