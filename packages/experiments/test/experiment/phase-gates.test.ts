/*
 * A limit that is a multiple of a measurement, such as 3 × 3.304 ms, was written as a text that the parser
 * of thresholds rejects: the experiment crashed at its end, and its result was lost.
 */
import { expect, test } from 'vitest'
import { gateOf, withBaseline } from '../../src/experiment/gate.ts'
import { phaseGates } from '../../src/experiment/phase-gates.ts'
import type { Plan } from '../../src/experiment/plan.ts'
import { limitGate } from '../../src/load/results/slo.ts'

const baseline = { errors: 0, success: 1, p50: 2, p95: 3.304, p99: null }

function gatesBefore(aborts: Plan['aborts'], steady = aborts): ReturnType<typeof phaseGates> {
  const plan = { steady, aborts, file: { steadyState: { probe: 'tools/list' } } }
  const before = { label: 'before', startedAt: '', durationMs: 0, measured: baseline }
  return phaseGates(plan as unknown as Plan, before, [])
}

test('a multiple of a measurement is a limit with at most three decimals', () => {
  const [gate] = withBaseline([gateOf('p95', '3x')], baseline)
  expect(gate).toMatchObject({ limit: 9.912, text: 'p95 >3x (of 3.30 ms)' })
  expect(gatesBefore([gate!])).toMatchObject([{ gate: 'p95<=9.912ms', limit: 9.912, ok: true }])
})

test('a multiple of a measurement that does not exist is no limit', () => {
  const gates = withBaseline([gateOf('p99', '2x')], baseline)
  expect(gatesBefore(gates)).toEqual([])
})

test.each([
  ['p95', 9.911999999999999, 'p95<=9.911999999999999ms', 9.911999999999999],
  ['success', 1e-7, 'success>=1e-7%', 1e-7 / 100],
  ['errors', 5, 'errors<=5%', 0.05],
] as const)('a limit of %s may be any number: %d', (name, limit, text, wanted) => {
  expect(limitGate(name, limit)).toMatchObject({ text, limit: wanted })
})
