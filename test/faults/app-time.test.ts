import { afterEach, expect, test } from 'vitest'
import { event, json, post, request, result, Stage, streamHead } from '../accounting/stage.ts'
import { LAST_CHUNK } from '../accounting/stage.ts'
import type { AppExchange } from '../support/wire.ts'
import { oneFault } from './one-fault.ts'

let stage: Stage
afterEach(() => stage.close())

const JSON_RESPONSE = (exchange: AppExchange): void => void exchange.write(json(result(1)))
const STREAM = (exchange: AppExchange): void =>
  void exchange.send([streamHead(), event(result(1)), LAST_CHUNK])

test.each([
  ['body', JSON_RESPONSE],
  ['stream', STREAM],
])('what a fault holds back a %s for is no time of the upstream', async (_kind, script) => {
  const late = oneFault('delay: { fixed: 300ms, at: response }')
  stage = await Stage.open(script, { rules: [late] })
  await stage.exchange(post(request(1)))
  await stage.ends({ 'tools/call echo: ok': 1 })
  const whole = await stage.sum('squall_call_duration_seconds', '_sum')
  expect(whole).toBeGreaterThan(0.29)
  expect(await stage.sum('squall_upstream_duration_seconds', '_count')).toBe(1)
  const upstream = await stage.sum('squall_upstream_duration_seconds', '_sum')
  expect(upstream).toBeLessThan(whole - 0.29)
})
