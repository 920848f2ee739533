// part: slow-nightly
import { expect, test } from 'vitest'
import type { LoadResilience } from '../../src/load/load-options.ts'
import { parseSlo } from '../../src/load/results/slo.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { scriptedListener } from '../../../../test/support/wire.ts'
import { againAfterStall } from '../../../../test/support/stalls.ts'
import { load } from './load-run.ts'

const FAULTS = {
  broken: 'abort: { status: 503 }',
  lost: 'abort: { status: 503, at: response }',
  busy: 'rateLimit: { retryAfter: 1s }',
  silent: 'hang: {}',
  slow: 'delay: { fixed: 50ms }',
}
const TASKS = 12

type Fault = keyof typeof FAULTS
type Case = readonly [Fault, Partial<LoadResilience>, Readonly<Record<string, number>>]

test.concurrent.each<Case>([
  ['broken', {}, { gave_up: 12 }],
  ['broken', { retries: 2 }, { retried: 24, gave_up: 12 }],
  // More than three equal calls follow the first and the second of six.
  ['broken', { retries: 5 }, { runaway: 24, retried: 36, gave_up: 12 }],
  // Ten retries are allowed before calls have earned any.
  ['broken', { retries: 2, retryBudget: 0 }, { retried: 10, gave_up: 12 }],
  ['lost', {}, { gave_up: 12 }],
  ['lost', { retries: 1 }, { duplicate_execution: 12, gave_up: 12 }],
  ['busy', { retries: 1 }, { honoured_retry_after: 12, gave_up: 12 }],
  ['busy', { retries: 3, deadlineMs: 500, skipLate: true }, { gave_up: 12 }],
  ['silent', { timeoutMs: 200 }, { gave_up: 12 }],
  ['silent', { timeoutMs: 200, retries: 1 }, { retried: 12, gave_up: 12 }],
  ['slow', { retries: 3 }, { continued: 12 }],
])('the verdicts on squall load, %s, with %j', (fault, resilience, expected) =>
  againAfterStall(async () => {
    expect(await loaded(fault, resilience, TASKS)).toEqual(expected)
  }),
)

test.concurrent('calls that an open breaker does not send get no verdict', async () => {
  // It opens after twenty calls, for a second.
  expect(await loaded('broken', { breaker: 0.5, retries: 3 }, 8)).toEqual({
    retried: 15,
    gave_up: 5,
  })
})

/** Runs a load through a sidecar; returns the verdicts that were given. */
async function loaded(fault: Fault, resilience: Partial<LoadResilience>, tasks: number) {
  // The waits before retries grow to 1.6 s.
  const flags = ['--task-window', resilience.retries === undefined ? '1s' : '3s']
  const rules = `rules: [{ name: fault, match: { tool: work }, faults: [{ ${FAULTS[fault]} }] }]`
  const upstream = scriptedListener(() => 'ok')
  const ruled = await startSquall({ rules, flags, upstream })
  try {
    const { agents } = await load({
      url: new URL(`http://127.0.0.1:${ruled.squall.port}/mcp`),
      sidecars: [ruled.squall.admin],
      work: { tools: ['work'] },
      pace: { clients: resilience.breaker === undefined ? tasks : 1, tasks },
      resilience,
      // Waits for the verdicts.
      checks: { slo: [parseSlo('gave-up<=100%')] },
    })
    const given = Object.entries(agents!.totals).filter(([, count]) => count > 0)
    return Object.fromEntries(given)
  } finally {
    await ruled.close()
  }
}
