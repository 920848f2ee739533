import { expect, test } from 'vitest'
import { chaos, start } from './monkey-api.ts'

test.each<[string, unknown, RegExp]>([
  [
    'without a target',
    { config: { type: 'error', statusCode: 500 } },
    /"target" is required: a string/,
  ],
  [
    'of no known type',
    { target: 'a', config: { type: 'rest' } },
    /^config: unknown type "rest"; use one of latency/,
  ],
  [
    'without a required key',
    { target: 'a', config: { type: 'latency' } },
    /^config: "delayMs" is required: a number/,
  ],
  [
    'with an unknown key',
    { target: 'a', config: { type: 'latency', delay: 1 } },
    /^config\.delay: unknown field; did you mean "delayMs"/,
  ],
  [
    'in two spellings',
    { target: 'a', config: { type: 'latency', delayMs: 1, delay_ms: 1 } },
    /^config\.delay_ms: duplicate field/,
  ],
  [
    'of a text',
    { target: 'a', config: { type: 'latency', delayMs: '1' } },
    /^config\.delayMs: must be a number; got "1"/,
  ],
  [
    'of no effect',
    { target: 'a', config: { type: 'malformed', corruptResponse: false } },
    /^config\.corruptResponse: .* has no effect; remove it, or change/,
  ],
  [
    'of no field',
    { target: 'a', config: { type: 'schema-mismatch', missingFields: [] } },
    /^config\.missingFields: .* has no effect/,
  ],
  [
    'of a probability above 1',
    { target: 'a', config: { type: 'connection-drop', probability: 2 } },
    /^config\.probability: must be from 0 to 1; got 2/,
  ],
  [
    'for too long',
    { target: 'a', config: { type: 'connection-drop' }, durationMs: 1e9 },
    /^durationMs: must be from 0 to 86400000; got 1000000000/,
  ],
  [
    'with a status that HTTP lacks',
    { target: 'a', config: { type: 'error', statusCode: 42 } },
    /^config\.statusCode: must be from 200 to 599; got 42/,
  ],
  [
    'of no time',
    { target: 'a', config: { type: 'connection-drop' }, durationMs: 0 },
    /^durationMs: the fault ends at once/,
  ],
  [
    'of two ends',
    { target: 'a', config: { type: 'connection-drop', afterBytes: 1, afterMs: 1 } },
    /^config\.afterMs: not needed, because `afterBytes` decides/,
  ],
  ['that is no object', [], /^must be an object; got a list/],
  [
    'with a target of many lines',
    { target: 'a', config: { type: `x\n${'y'.repeat(3000)}` } },
    /^config: unknown type "x\\ny{1,99}…"; use one of [a-z, -]+$/,
  ],
])('a fault %s is rejected', async (_, request, error) => {
  const setup = await start()
  const { status, json } = await chaos(setup, 'inject', request)
  expect([status, json['error']]).toEqual([400, expect.stringMatching(error)])
  expect((await chaos(setup, 'status')).json).toEqual({ faults: [] })
})
