import { loadPhase } from './load-phase.ts'

/** The load with no active rule. */
export const clean = loadPhase({
  key: 'clean',
  title: 'Load without rules',
  column: 'no rule',
  lines: ['Tasks make 8 calls in parallel; a task fails when one of its calls fails.'],
  rules: '',
  checks: ({ result, counted }) => [
    {
      what: 'every call succeeded; Squall changed none',
      ok: result.indicators.tcsr === 1 && counted.total().faults === 0,
    },
  ],
})
