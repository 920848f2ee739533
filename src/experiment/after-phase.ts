import type { PhaseResult } from './experiment-result.ts'
import { runPhase } from './phase.ts'
import { phaseLoad } from './phase-load.ts'
import type { Context } from './context.ts'
import { anyBroken } from './steadiness.ts'

/** Looks until all is as it should be again, for as long as the plan allows. */
export async function afterwards(
  context: Context,
): Promise<{ readonly phase: PhaseResult; readonly steady: boolean }> {
  const { plan, probe, stop, onEvent, steadiness } = context
  const { for: forMs, within } = plan.file.steadyState
  const began = performance.now()
  onEvent({ kind: 'phase', label: 'steady state after', durationMs: within })
  let steady = false
  const { result } = await runPhase({
    label: 'after',
    load: phaseLoad(plan, context, within),
    probe,
    stop,
    // A process that was killed may still be away.
    beginWithinMs: within,
    seen: () => {},
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
      steadiness.look(at, anyBroken(plan.steady, measured))
      steady = steadiness.steadyForMs(began, at) >= forMs
      return steady ? 'enough' : undefined
    },
  })
  const text = steady ? 'holds' : 'does not hold'
  onEvent({ kind: 'phase-over', label: 'steady state after', text })
  return { phase: result, steady }
}
