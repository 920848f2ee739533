import { afterEach, expect, test } from 'vitest'
import {
  event,
  json,
  post,
  request,
  result,
  Stage,
  streamHead,
  LAST_CHUNK,
} from '../accounting/stage.ts'
import type { AppExchange } from '../support/wire.ts'
import { oneFault } from './one-fault.ts'

let stage: Stage

afterEach(() => stage.close())

const JSON_RESPONSE = (exchange: AppExchange): void => void exchange.write(json(result(1)))
const STREAM = (exchange: AppExchange): void =>
  void exchange.send([streamHead(), event(result(1)), LAST_CHUNK])
test.each([
  ['throttle', 'body', '{ rate: 200B }', JSON_RESPONSE],
  ['throttle', 'stream', '{ rate: 200B }', STREAM],
  ['hang', 'body', '{ at: headers, for: 400ms }', JSON_RESPONSE],
  ['hang', 'stream', '{ at: headers, for: 400ms }', STREAM],
])('%s %s is no time of the upstream', async (fault, _kind, config, script) => {
  stage = await Stage.open(script, { rules: [oneFault(`${fault}: ${config}`)] })
  await stage.exchange(post(request(1)))
  await stage.ends({ 'tools/call echo: ok': 1 })
  // The shortest takes a quarter of a second, of which each wait may end half a millisecond early.
  const whole = await stage.sum('squall_call_duration_seconds', '_sum')
  expect(whole).toBeGreaterThan(0.24)
  const upstream = await stage.sum('squall_upstream_duration_seconds', '_sum')
  expect(upstream).toBeLessThan(whole - 0.24)
})
