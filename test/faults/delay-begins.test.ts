import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import type { CallTexts } from '../../src/listener/faults/request/call-texts.ts'
import { ExchangeFaults } from '../../src/listener/faults/exchange-faults.ts'
import { FaultStopped } from '../../src/listener/faults/chain/stop.ts'
import { MatchedRule } from '../../src/rules/select/matched-rule.ts'
import { Bench, facts } from '../rules/facts.ts'
import { NO_CONTEXT } from './no-context.ts'

const TELLING = 300
const DELAY = 400

/**
 * Makes the request phase of one call with these faults; calls `told` for each that is reported.
 */
async function requested(
  faults: readonly Fault[],
  told: () => void,
  receivedAt?: number,
): Promise<void> {
  const bench = new Bench([{}])
  const { rule, state, key } = bench.plan()!.matched[0]!
  const own = { ...rule, faults, uses: faults.map(() => rule.uses[0]!) }
  const hit = new MatchedRule(own, state, bench.states.active, key, false)
  const run = new ExchangeFaults({
    ...NO_CONTEXT,
    request: { method: 'POST', target: '/', version: '1.1', headers: [] },
    calls: [{ call: facts().call, plan: { matched: [hit], dryRun: false } }],
    batch: false,
    session: '',
    maxBody: 1000,
    holdTimeout: 120_000,
    receivedAt,
    listener: {
      injected: told,
      notApplicable: () => undefined,
      canaryReturned: () => undefined,
      failed: () => undefined,
    },
  })
  await run.request({} as CallTexts)
  run.finish()
}

function late(ms: number, heard?: (signal: AbortSignal) => void): Fault {
  return {
    async onRequest(ctx) {
      heard?.(ctx.signal)
      ctx.injected()
      await ctx.sleep(ms)
      return { kind: 'continue' }
    },
  }
}

/** Returns the shortest time of five attempts: on a busy machine any of them may stand still. */
async function fastest(act: () => Promise<void>): Promise<number> {
  let least = Infinity
  for (let attempt = 0; attempt < 5; attempt++) {
    const begun = performance.now()
    await act()
    least = Math.min(least, performance.now() - begun)
  }
  return least
}

it('counts the time to report a delay as a part of it', async () => {
  let signal: AbortSignal | undefined
  const told = (): void => {
    const until = performance.now() + TELLING
    while (performance.now() < until);
  }
  const took = await fastest(() => requested([late(DELAY, (own) => (signal = own))], told))
  expect(took).toBeGreaterThanOrEqual(DELAY - 0.5)
  expect(took).toBeLessThan(DELAY + TELLING)
  expect(signal?.reason).toBeInstanceOf(FaultStopped)
})

it('counts the first delay from when the request was there, and another from the end of the first', async () => {
  const nothing = (): void => undefined
  const one = await fastest(() => requested([late(DELAY)], nothing, performance.now() - DELAY))
  expect(one).toBeLessThan(DELAY / 2)
  const begun = performance.now()
  await requested([late(DELAY), late(DELAY)], nothing, begun - DELAY)
  expect(performance.now() - begun).toBeGreaterThanOrEqual(DELAY - 0.5)
})
