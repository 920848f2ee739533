import type { ErrorCount, LoadResult } from '../load/results/result.ts'
import type { EarlyEnd } from './experiment-result.ts'
import { FAILURES, type Failure } from './expectation-schema.ts'
import { fails, type Gate, gatesOf, type Measured } from './gate.ts'
import { conditionsOf } from './monitor/conditions.ts'
import type { PlanFile } from './plan-schema.ts'

/** Returns the conditions that must pass at least once. */
export function expectedDuring({ expect }: PlanFile) {
  const { during = {} } = expect ?? {}
  const sampled = conditionsOf(during)
  const latencies = gatesOf(['p50', 'p95', 'p99'], during).map((gate): Gate => {
    return { ...gate, operator: '<', text: gate.text.replace('>', '>=') }
  })
  return {
    gates: [...latencies, ...sampled.flatMap(({ gates }) => gates)],
    samplers: sampled.map(({ spec }) => spec),
  }
}

/** Records which of the expected conditions have passed. */
export class Observations {
  readonly #open: Set<Gate>

  constructor(gates: readonly Gate[]) {
    this.#open = new Set(gates)
  }

  add(measured: Measured): void {
    for (const gate of this.#open) if (fails(gate, measured) === false) this.#open.delete(gate)
  }

  /** Returns the reason to fail when a condition has never passed. */
  missing(): EarlyEnd | undefined {
    if (this.#open.size === 0) return undefined
    const texts = [...this.#open].map(({ text }) => text)
    return { code: 'NOT_OBSERVED', why: `never observed during the stage: ${texts.join('; ')}` }
  }
}

/** Returns the reason to fail when calls failed in a way that the plan does not expect. */
export function unexpectedErrors(
  { errors: found }: LoadResult,
  expected: readonly Failure[] | undefined,
): EarlyEnd | undefined {
  if (expected === undefined) return undefined
  const counts = new Map<Failure, number>()
  for (const error of found) {
    const failure = failureOf(error)
    if (failure === undefined || expected.includes(failure)) continue
    counts.set(failure, (counts.get(failure) ?? 0) + error.count)
  }
  if (counts.size === 0) return undefined
  const texts = [...counts].map(([failure, count]) => `${count} with ${failure}`)
  const why = `calls failed with errors other than ${expected.join(', ')}: ${texts.join(', ')}`
  return { code: 'UNEXPECTED_ERROR', why }
}

/** Returns undefined for errors of the experiment itself. */
function failureOf({ kind, origin, code }: ErrorCount): Failure | undefined {
  if (origin === 'injected' || origin === 'client') return undefined
  if (kind === 'http' && origin === 'squall' && code === 502) return 'connection_refused'
  return kind === 'breaker' ? undefined : FAILURES[kind]
}
