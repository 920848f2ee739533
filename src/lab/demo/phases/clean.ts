import { loadPhase } from './load-phase.ts'

/** The load with no active rule. */
export const clean = loadPhase({
  key: 'clean',
  title: 'A load, and no rule',
  column: 'no rule',
  lines: ['Agents whose tasks make 8 calls at once; a task fails when one of them does.'],
  rules: '',
  checks: ({ result, counted }) => [
    {
      what: 'every call did what it should; Squall touched none',
      ok: result.indicators.tcsr === 1 && counted.total().faults === 0,
    },
  ],
})
