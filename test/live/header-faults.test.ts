import { afterEach, expect, it } from 'vitest'
import { call, callMessage } from '../support/wire.ts'
import { eventually } from '../support/eventually.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const running: RuledSquall[] = []
const FOREVER = { 'x-squall-delay': '5m' }
const ABORT = { 'x-squall-abort': '503' }

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

async function start(rules: string | undefined, ...flags: string[]): Promise<RuledSquall> {
  const started = await startSquall({ rules, flags: ['--header-faults', ...flags] })
  running.push(started)
  return started
}

const ACTIVE = { rule: 'header-faults' }

it('a caller that waits continues at once when the rules enable nothing', async () => {
  const { text, squall, mounted } = await start(undefined)
  const waiting = text('plain', FOREVER)
  await squall.reaches('squall_active_faults', ACTIVE, 1)
  await mounted.swap('enabled: false\n')
  expect(await waiting).toBe('fine')
  expect(await text('plain', ABORT)).toBe('fine')
  expect(await squall.metric('squall_active_faults', ACTIVE)).toBe(0)
})

it('a caller that leaves while it waits is followed by the next', async () => {
  const { squall, text } = await start(undefined, '--max-active', '1')
  const leaving = new AbortController()
  const place = { port: squall.port, host: '127.0.0.1', headers: FOREVER, signal: leaving.signal }
  const waiting = call(place, callMessage(1)).catch(() => 'left')
  await squall.reaches('squall_active_faults', ACTIVE, 1)
  expect(await text('plain', ABORT)).toBe('fine')
  leaving.abort()
  expect(await waiting).toBe('left')
  await squall.reaches('squall_active_faults', ACTIVE, 0)
  expect(await text('plain', ABORT)).toBe('503')
  const overflow = { rule: 'header-faults', result: 'concurrency_limit' }
  expect(await squall.metric('squall_rule_evaluations_total', overflow)).toBe(1)
})

it('a batch that carries a call of a denied tool is left alone as a whole', async () => {
  const rules =
    "rules:\n  - name: all\n    match: { method: '*' }\n    faults: [abort: { toolError: no }]\n"
  const { squall } = await start(rules, '--deny-tools', 'pay_*')
  const place = { port: squall.port, host: '127.0.0.1', headers: FOREVER }
  const batch = [callMessage(1, 'search'), callMessage(2, 'pay_invoice')]
  expect((await call(place, batch)).text).toContain('fine')
  for (const rule of ['all', 'header-faults']) {
    await eventually(async () => {
      const labels = { rule, result: 'forbidden' }
      const forbidden = await squall.metric('squall_rule_evaluations_total', labels)
      return forbidden === 2 ? undefined : `${rule} was forbidden ${forbidden} times`
    })
  }
})

it('what callers ask for is no more than the flags allow', async () => {
  const { text, squall } = await start(undefined, '--header-faults-max-percent', '0')
  expect(await text('plain', ABORT)).toBe('fine')
  const labels = { rule: 'header-faults', result: 'not_sampled' }
  expect(await squall.metric('squall_rule_evaluations_total', labels)).toBe(1)
})

it('in production callers get nothing', async () => {
  const { text } = await start(undefined, '--environment', 'production')
  expect(await text('plain', ABORT)).toBe('fine')
})
