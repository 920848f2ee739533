// part: slow
import { expect, test } from 'vitest'
import { importFaults } from '../../src/rules/import/import.ts'
import { accepted } from '../rules/rules-text.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'
import { chaos, opened, SQUALL_ADMIN_TOKEN, start } from './monkey-api.ts'

interface Seen {
  readonly status?: number
  readonly retryAfter?: string | undefined
  readonly text?: string
  readonly reset?: true
}

/** Calls the tool; returns what the client gets. */
async function seen(setup: RuledSquall): Promise<Seen> {
  try {
    const { status, headers, text } = await setup.ask('weather')
    const retryAfter = headers['retry-after']
    return { status, text, ...(retryAfter !== undefined && { retryAfter }) }
  } catch (error) {
    expect(error).toMatchObject({ code: 'ECONNRESET' })
    return { reset: true }
  }
}

const body = (error: string): Seen => ({ text: JSON.stringify({ error }) })

test.each<[object, Seen, reached: number]>([
  [
    { type: 'error', statusCode: 502, message: 'db is gone' },
    { status: 502, ...body('db is gone') },
    0,
  ],
  [{ type: 'error', status_code: 503 }, { status: 503, ...body('Chaos injected error') }, 0],
  [{ type: 'timeout', hangMs: 30 }, { reset: true }, 0],
  [
    { type: 'malformed', corruptResponse: true },
    { status: 200, text: expect.not.stringMatching(/}$/) as string },
    0,
  ],
  [{ type: 'connection-refused' }, { reset: true }, 0],
  [{ type: 'connection-drop' }, { reset: true }, 1],
  [{ type: 'connection-drop', afterMs: 20 }, { reset: true }, 1],
  [{ type: 'connection-drop', after_bytes: 20 }, { reset: true }, 1],
  [
    { type: 'rate-limit', retryAfterSeconds: 7 },
    { status: 429, retryAfter: '7', ...body('Too Many Requests') },
    0,
  ],
])('a client sees %j as %j', async (config, expected, reached) => {
  const setup = await start()
  const { status } = await chaos(setup, 'inject', { target: 'weather', config, durationMs: 60_000 })
  expect(status).toBe(200)
  expect(await seen(setup)).toEqual(expected)
  expect(setup.reached.count).toBe(reached)
  expect(await chaos(setup, 'clear-all')).toEqual({ status: 200, json: { cleared: 'all' } })
  expect(await seen(setup)).toMatchObject({
    status: 200,
    text: expect.stringMatching(/}$/) as string,
  })
})

test('latency holds the call until the fault is cleared', async () => {
  const setup = await start()
  const config = { type: 'latency', delayMs: 3_000_000 }
  await chaos(setup, 'inject', { target: 'weather', config, durationMs: 60_000 })
  const late = seen(setup)
  await setup.squall.reaches('squall_active_faults', { rule: 'monkey-1' }, 1)
  expect(setup.reached.count).toBe(0)
  await chaos(setup, 'clear-all')
  expect(await late).toMatchObject({ status: 200 })
})

test('a fault ends after its time', async () => {
  const setup = await start()
  const config = { type: 'connection-refused' }
  await chaos(setup, 'inject', { target: 'weather', config, durationMs: 1 })
  await setup.squall.logged('rules have expired')
  expect(await seen(setup)).toMatchObject({ status: 200 })
  expect((await chaos(setup, 'status')).json).toEqual({ faults: [] })
})

test('a schema mismatch takes fields out of results and of JSON in their texts', async () => {
  const setup = await start()
  const config = { type: 'schema-mismatch', missing_fields: ['humidity', 'wind/speed'] }
  await chaos(setup, 'inject', { target: 'weather', config })
  const { text } = await setup.ask('weather')
  const { result } = JSON.parse(text) as { result: { content: { text: string }[] } }
  expect(result).toMatchObject({ structuredContent: { temperature: 21 } })
  expect(JSON.parse(result.content[0]!.text)).toEqual({ temperature: 21 })
})

test('ids and counts are spelled as the request is', async () => {
  const setup = await start()
  const inject = async (more: object, config: object) =>
    (await chaos(setup, 'inject', { target: 'weather', config, ...more })).json
  const camel = await inject(
    { durationMs: 60_000 },
    { type: 'error', statusCode: 500, probability: 0 },
  )
  const snake = await inject({ duration_ms: 60_000 }, { type: 'latency', delay_ms: 1 })
  const either = await inject({}, { type: 'connection-refused', probability: 0 })
  expect(Object.keys(camel)).toEqual(['faultId'])
  expect(Object.keys(snake)).toEqual(['fault_id'])
  expect(either['faultId']).toBe(either['fault_id'])
  expect(camel['faultId']).toMatch(/^weather-\d{13}-[0-9a-f]{6}$/)
  await seen(setup)
  const counted = (id: unknown, type: string, count: number) => ({
    id,
    target: 'weather',
    type,
    requestCount: count,
    request_count: count,
  })
  const faults = [
    counted(camel['faultId'], 'error', 0),
    counted(snake['fault_id'], 'latency', 1),
    counted(either['faultId'], 'connection-refused', 0),
  ]
  expect((await chaos(setup, 'status')).json).toEqual({ faults })
  const clear = { faultId: camel['faultId'] }
  expect((await chaos(setup, 'clear', clear)).json).toEqual({ cleared: camel['faultId'] })
  await chaos(setup, 'clear', { fault_id: snake['fault_id'] })
  expect((await chaos(setup, 'clear', clear)).status, 'cleared before').toBe(200)
  expect((await chaos(setup, 'status')).json).toEqual({ faults: faults.slice(2) })
})

test('clear-all leaves faults alone that were added by /api/faults', async () => {
  const setup = await start()
  const { temporary } = setup.squall.running
  temporary!.add({ match: { tool: 'weather' }, for: '1h', faults: [{ abort: { status: 418 } }] })
  await chaos(setup, 'inject', { target: 'weather', config: { type: 'connection-refused' } })
  await chaos(setup, 'clear-all')
  expect(temporary!.list().map(({ rule }) => rule.name)).toEqual(['added-1'])
})

test('a target stands for the tool that --compat-target names', async () => {
  const setup = await start(['--compat-target', 'weather-api=wea*'])
  const config = { type: 'error', statusCode: 500 }
  await chaos(setup, 'inject', { target: 'weather-api', config, durationMs: 60_000 })
  expect(await seen(setup)).toMatchObject({ status: 500 })
})

test('a target is the exact name of a tool', async () => {
  const setup = await start()
  const config = { type: 'error', statusCode: 500 }
  await chaos(setup, 'inject', { target: 'wea*', config, durationMs: 60_000 })
  expect(await seen(setup)).toMatchObject({ status: 200 })
})

test('of the faults of a target, the first sampled one acts alone', async () => {
  const setup = await start()
  const inject = (config: object) => chaos(setup, 'inject', { target: 'weather', config })
  await inject({ type: 'connection-refused', probability: 0 })
  await inject({ type: 'latency', delayMs: 1 })
  await inject({ type: 'error', statusCode: 500 })
  expect(await seen(setup)).toMatchObject({ status: 200 })
  const { faults } = (await chaos(setup, 'status')).json
  expect(faults).toMatchObject([{ requestCount: 0 }, { requestCount: 1 }, { requestCount: 0 }])
})

test.each([
  { type: 'latency', delayMs: 7_200_000, probability: 0.5 },
  { type: 'error', statusCode: 500 },
  { type: 'timeout', hangMs: 1 },
  { type: 'malformed' },
  { type: 'connection-refused' },
  { type: 'connection-drop', afterMs: 5 },
  { type: 'rate-limit', retryAfterSeconds: 1.5 },
  { type: 'schema-mismatch', missingFields: ['a/b'] },
])('squall import makes the faults of %j that the API injects', async (config) => {
  const setup = await start()
  await chaos(setup, 'inject', { target: 'weather', config })
  const imported = importFaults(JSON.stringify({ target: 'weather', config }))
  if (!imported.ok) throw new Error(JSON.stringify(imported.problems))
  const [rule] = accepted(imported.text).rules
  const [added] = setup.squall.running.temporary!.list()
  const { match, probability, faults } = rule!
  expect(added!.spec).toMatchObject({ match, faults })
  expect(added!.spec.probability).toBe(probability)
})

test('every path needs the token, and production injects nothing', async () => {
  const closed = await start([], { SQUALL_ADMIN_TOKEN: '' })
  const inject = { target: 'weather', config: { type: 'connection-refused' } }
  for (const [path, request] of [['status'], ['inject', inject], ['clear-all']] as const) {
    expect(await chaos(closed, path, request)).toMatchObject({ status: 403 })
  }
  const setup = await start()
  expect(await chaos(setup, 'status', undefined, 'Bearer another-token')).toMatchObject({
    status: 403,
  })
  expect(await chaos(setup, 'status', undefined, SQUALL_ADMIN_TOKEN)).toMatchObject({ status: 200 })
  const flags = ['--allow-production', '--environment', 'staging']
  const production = await start(flags, { NODE_ENV: 'Production' })
  expect(await chaos(production, 'inject', inject)).toMatchObject({ status: 403 })
  const without = await startSquall({ env: { SQUALL_ADMIN_TOKEN } })
  expect((await fetch(`${opened(without).admin}/chaos/status`)).status).toBe(404)
})
