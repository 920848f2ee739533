import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { drawDuration } from '../../src/filters/lib/duration-distribution.ts'
import type { DurationDistribution } from '../../src/filters/lib/duration-distribution.ts'
import type { FaultUse } from '../../src/filters/index.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { planCall } from '../../src/rules/select/plan.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { facts } from '../rules/facts.ts'
import { response, startSidecar } from '../support/wire.ts'
import { post } from '../accounting/stage.ts'
import { SwiftClient } from './swift-client.ts'
import { rounds } from '../support/rounds.ts'

const DRAWS = 10_000
/** The statistic that a true sample exceeds once in a thousand times. */
const critical = (draws: number): number => 1.95 / Math.sqrt(draws)

/** The number of calls to discard: work that is done for the first time distorts the timing. */
const WARM_UP = rounds(200, 400)

type Cumulative = (ms: number) => number

const CASES: readonly (readonly [string, DurationDistribution, Cumulative])[] = [
  ['uniform', { uniform: { min: 1, max: 3 } }, (ms) => clamp((ms - 1) / 2)],
  ['jitter', { fixed: 2, jitter: 1 }, (ms) => clamp((ms - 1) / 2)],
  ['normal', { normal: { mean: 4, stddev: 0.5 } }, (ms) => normal((ms - 4) / 0.5)],
  ['exponential', { exponential: { mean: 1 } }, (ms) => 1 - Math.exp(-ms)],
  ['pareto', { pareto: { scale: 1, shape: 3 } }, (ms) => (ms < 1 ? 0 : 1 - ms ** -3)],
]

test.each(CASES)('what the rules engine draws is %s', (_, distribution, cumulative) => {
  const config = { ...distribution, max: 10_000, at: 'request' } as const
  const faults: readonly FaultUse[] = [{ fault: 'delay', config }]
  const ruleSet = compileRules({ seed: 42, rules: [{ name: 'late', faults }] })
  const states = new RuleStates()
  states.adopt(ruleSet, 0)
  const sampled = Array.from({ length: DRAWS }, () => {
    const [hit] = planCall(ruleSet, facts(), states, () => 0)!.matched
    return drawDuration(distribution, config.max, { random: hit!.random(0), now: () => 0 })
  })
  expect(furthest(sampled, cumulative)).toBeLessThan(critical(DRAWS))
  // The test can fail: the same samples do not fit a distribution that is a tenth off.
  expect(furthest(sampled, (ms) => cumulative(ms * 1.1))).toBeGreaterThan(critical(DRAWS))
})

test('a delay lasts as long as it says, under load', async () => {
  const config = { uniform: { min: 5, max: 40 }, max: 1_000, at: 'request' } as const
  const reported = await delays({ fault: 'delay', config }, rounds(600, 1_000), 40)
  const meant = reported.map((each) => each.meant)
  expect(furthest(meant, (ms) => clamp((ms - 5) / 35))).toBeLessThan(critical(meant.length))
  const late = reported
    .slice(WARM_UP)
    .map((each) => each.took - each.meant)
    .toSorted((a, b) => a - b)
  const at = (share: number): number => late[Math.floor(late.length * share)]!
  const shown = [0.01, 0.5, 0.99].map((share) => `${at(share).toFixed(2)} ms`)
  process.stderr.write(`whole calls less their delays: ${shown.join(', ')} (p1, p50, p99)\n`)
  // A timer counts whole milliseconds, from when its turn of the loop began.
  expect(at(0.01)).toBeGreaterThan(-5)
  expect(at(0.5)).toBeLessThan(250)
})

/** Makes delayed calls; returns the intended delays and the durations of the whole calls. */
async function delays(
  use: FaultUse,
  count: number,
  clients: number,
): Promise<readonly { readonly meant: number; readonly took: number }[]> {
  const squall = await startSidecar({
    upstream: {
      keepBytes: false,
      script: async (exchange) => {
        await exchange.write(response('200 OK', ['Content-Type', 'application/json'], '{}'))
      },
    },
    rules: [{ name: 'late', match: { tool: 'echo' }, faults: [use] }],
  })
  const took = new Map<number, number>()
  let next = 0
  try {
    await Promise.all(
      Array.from({ length: clients }, async () => {
        const client = await SwiftClient.connect(squall.port)
        while (next < count) {
          const id = next++
          const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo' } }
          const begun = performance.now()
          await client.ask(post(message))
          took.set(id, performance.now() - begun)
          await turn()
        }
        client.leave()
      }),
    )
    return squall.faults!.injected.map(({ call, delayMs }) => ({
      meant: delayMs!,
      took: took.get(call!.id as number)!,
    }))
  } finally {
    await squall.close()
  }
}

/** Returns the largest distance from the sample to the distribution (Kolmogorov and Smirnov). */
function furthest(sample: readonly number[], cumulative: Cumulative): number {
  const sorted = sample.toSorted((a, b) => a - b)
  return sorted.reduce((most, value, index) => {
    const wanted = cumulative(value)
    const below = Math.abs(wanted - index / sorted.length)
    return Math.max(most, below, Math.abs(wanted - (index + 1) / sorted.length))
  }, 0)
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share))
}

/** By the series of Abramowitz and Stegun, 7.1.26: good to seven digits. */
function normal(z: number): number {
  const t = 1 / (1 + (0.3275911 * Math.abs(z)) / Math.SQRT2)
  const poly =
    t *
    (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  const erf = 1 - poly * Math.exp((-z * z) / 2)
  return z < 0 ? (1 - erf) / 2 : (1 + erf) / 2
}
