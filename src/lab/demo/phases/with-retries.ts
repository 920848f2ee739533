import { TWO_PERCENT } from '../rules-texts.ts'
import { loadPhase } from './load-phase.ts'

/** The same faults again, met by a client that tries again. */
export const withRetries = loadPhase({
  key: 'withRetries',
  title: 'The same rule, with retries',
  column: '+ retries',
  lines: ['Two retries within a budget of 20 %, and one of 8 calls is optional.'],
  rules: TWO_PERCENT,
  resilience: { retries: 2, retryBudget: 0.2, degrade: 1 },
  checks: ({ result, counted }) => {
    const seen = result.faults.reduce((sum, fault) => sum + fault.seen, 0)
    const { faults, injected } = counted.total()
    return [
      {
        what: `${faults} calls got an injected error and were retried`,
        ok: seen === faults && injected === faults && faults > 0 && result.counts.retries > 0,
      },
      // Three failures in a row are 8 in a million calls: more than two tasks are no chance.
      { what: 'almost no task failed', ok: result.counts.failedTasks <= 2 },
    ]
  },
})
