import type { LoadResult, SloVerdict } from '../load/results/result.ts'
import { evaluateSlo, limitGate, marginOf } from '../load/results/slo.ts'
import type { PhaseGate, PhaseResult } from './experiment-result.ts'
import { type Gate, isShare, MEASURES } from './gate.ts'
import type { Plan } from './plan.ts'

/**
 * Evaluates the gates of a plan over whole phases: `steadyState` before the stages, and `abortOn`
 * and `slo` in each stage. `abortOn` is also checked continuously, over a few seconds.
 */
export function phaseGates(
  { steady, aborts, file }: Plan,
  before: PhaseResult,
  stages: readonly PhaseResult[],
): readonly PhaseGate[] {
  const own = file.steadyState.probe === 'load' ? before.load : undefined
  return [
    ...steady.flatMap((gate) => {
      const verdict = verdictOf(gate, own) ?? probed(gate, before)
      return verdict === undefined
        ? []
        : [{ phase: before.label, from: 'steadyState' as const, ...verdict }]
    }),
    ...stages.flatMap(({ label: phase, load }) => [
      ...aborts.flatMap((gate) => {
        const verdict = verdictOf(gate, load)
        return verdict === undefined ? [] : [{ phase, from: 'abortOn' as const, ...verdict }]
      }),
      ...(load?.slo ?? []).map((verdict) => ({ phase, from: 'slo' as const, ...verdict })),
    ]),
  ]
}

function verdictOf(gate: Gate, load: LoadResult | undefined): SloVerdict | undefined {
  const written = writtenLimit(gate)
  if (load === undefined || written === undefined) return undefined
  const { counts, indicators, latency } = load
  return evaluateSlo([limitGate(gate.measure, written)], { counts, indicators, latency })[0]
}

/** Returns the verdict on the measurements of a probe. */
function probed(gate: Gate, { measured: all }: PhaseResult): SloVerdict | undefined {
  const written = writtenLimit(gate)
  if (written === undefined) return undefined
  const { text, limit } = limitGate(gate.measure, written)
  const measured = all[gate.measure] ?? null
  if (measured === null) return { gate: text, limit, measured, ok: false, margin: null }
  const margin = marginOf(measured, limit, gate.operator === '>')
  return { gate: text, limit, measured, ok: margin.distance >= 0, margin }
}

/**
 * Returns a limit in percent or milliseconds; undefined for a gate that a load does not measure,
 * and for a multiple of a measurement that does not exist.
 */
function writtenLimit({ measure, limit }: Gate): number | undefined {
  if (!Number.isFinite(limit) || !MEASURES.some((name) => name === measure)) return undefined
  return isShare(measure) ? Number((limit * 100).toPrecision(12)) : limit
}
