import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import type { CallTexts } from '../../src/listener/faults/call-texts.ts'
import { FaultRun } from '../../src/listener/faults/fault-run.ts'
import { TurnOver } from '../../src/listener/faults/interruptible-wait.ts'
import { Hit } from '../../src/rules/hit.ts'
import { Bench, facts } from '../rules/facts.ts'
import { NO_SETTING } from './no-setting.ts'

const TELLING = 300
const DELAY = 400

it('counts what it takes to tell of a delay as a part of it', async () => {
  let signal: AbortSignal | undefined
  const late: Fault = {
    async onRequest(ctx) {
      signal = ctx.signal
      ctx.injected()
      await ctx.sleep(DELAY)
      return { kind: 'continue' }
    },
  }
  const bench = new Bench([{}])
  const { rule, state, key } = bench.plan()!.hits[0]!
  const own = { ...rule, faults: [late], uses: [rule.uses[0]!] }
  const hit = new Hit(own, state, bench.states.active, key, false)
  const told = (): void => {
    const until = performance.now() + TELLING
    while (performance.now() < until);
  }
  const run = new FaultRun({
    ...NO_SETTING,
    request: { method: 'POST', target: '/', version: '1.1', headers: [] },
    calls: [{ call: facts().call, plan: { hits: [hit], shadow: false } }],
    batch: false,
    session: '',
    maxBody: 1000,
    listener: { injected: told, notApplicable: () => undefined, broke: () => undefined },
  })
  const begun = performance.now()
  await run.request({} as CallTexts)
  const took = performance.now() - begun
  expect(took).toBeGreaterThanOrEqual(DELAY - 0.5)
  expect(took).toBeLessThan(DELAY + TELLING)
  run.finish()
  expect(signal?.reason).toBeInstanceOf(TurnOver)
})
