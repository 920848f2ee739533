import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { HttpFront } from '../../src/listener/front/http-front.ts'
import { MemoryBudget } from '../../src/listener/memory-budget.ts'
import { createStack } from '../../src/listener/port-stack.ts'
import { RareLog } from '../../src/listener/rare-log.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { oneFault } from '../faults/one-fault.ts'
import { ENGINE_UNDER_TEST, RawClient } from '../support/wire.ts'
import { ruleStage } from '../support/wire/rules.ts'
import { Held } from './held.ts'
import { get, json, POLL, post, request, result, Stage } from './stage.ts'

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(...args: Parameters<typeof Stage.open>): Promise<Stage> {
  const stage = await Stage.open(...args)
  closers.push(() => stage.close())
  return stage
}

const batch = [request(1), request(2), { jsonrpc: '2.0', method: 'notifications/x' }]

test('an upstream that cannot be reached is an error of Squall, for each call', async () => {
  const stage = await open(() => undefined)
  await stage.app.close()
  await stage.exchange(post(batch))
  const client = await stage.exchange(get('/page').replace('text/event-stream', 'text/html'))
  expect(client.responses[0]?.status).toBe(502)
  await stage.ends({ 'tools/call echo: http_error by squall': 2 })
  expect(await stage.byReason('rejected')).toEqual({ upstream_unreachable: 2 })
  await expect.poll(() => stage.http(), POLL).toEqual({ 'http 502 by squall': 1 })
  expect(await stage.sum('squall_call_duration_seconds', '_count')).toBe(2)
  expect(await stage.sum('squall_upstream_duration_seconds', '_count')).toBe(0)
})

test('a response that is not HTTP is an error of Squall', async () => {
  const stage = await open((exchange) => void exchange.write('SSH-2.0-x\r\n\r\n'))
  await stage.exchange(post(request(1)))
  await stage.ends({ 'tools/call echo: http_error by squall': 1 })
  expect(await stage.byReason('rejected')).toEqual({ upstream_protocol: 1 })
})

test('a bound on connections that is met is an error of Squall, and the next call is none', async () => {
  const held = new Held()
  const stage = await open((exchange) => held.push(exchange), { maxUpstreamConnections: 1 })
  const first = await stage.send(post(request(1, 'tools/call', { name: 'first' })))
  await held.at(0)
  await stage.exchange(post(request(2, 'tools/call', { name: 'second' })))
  await stage.ends({ 'tools/call second: http_error by squall': 1 })
  await (await held.at(0)).write(json(result(1)))
  await first.response()
  const third = await stage.send(post(request(3, 'tools/call', { name: 'third' })))
  await (await held.at(1)).write(json(result(3)))
  await third.response()
  await stage.ends({
    'tools/call first: ok': 1,
    'tools/call second: http_error by squall': 1,
    'tools/call third: ok': 1,
  })
  expect(await stage.byReason('rejected')).toEqual({ overload: 1 })
  expect(await stage.sum('squall_overhead_seconds', '_count')).toBe(3)
})

test('a request that could be read in two ways is refused, and is no call', async () => {
  const stage = await open(() => undefined)
  await stage.exchange(post(request(1), 'Host: other\r\n'))
  await expect.poll(() => stage.byReason('rejected'), POLL).toEqual({ ambiguous_request: 1 })
  expect(await stage.http()).toEqual({ 'http 400 by squall': 1 })
  expect(await stage.calls()).toEqual({})
})

test('a tunnel is counted while it is open', async () => {
  const upgraded = 'HTTP/1.1 101 Yes\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'
  const stage = await open((exchange) => void exchange.write(upgraded))
  const lines = 'Host: pod\r\nConnection: upgrade\r\nUpgrade: x\r\n'
  const client = await stage.send(`GET / HTTP/1.1\r\n${lines}\r\n`, 'GET')
  await client.sees('101')
  expect(await stage.gauges()).toMatchObject({ tunnel: 1, client: 1 })
  client.close()
  await expect.poll(() => stage.gauges(), POLL).toMatchObject({ tunnel: 0, client: 0 })
  expect(await stage.http()).toEqual({ 'upgrade 101': 1 })
})

/** A front and a stack whose sending breaks, and what they counted. */
async function broken(rules: readonly RuleSpec[]) {
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
  const metrics = new Metrics({ version: 'test' })
  const now = (): number => performance.now()
  const { exchanges, sessions } = createStack(
    {
      maxInFlight: 9,
      inFlightTtl: 9e9,
      maxSessions: 9,
      holdTimeout: 120_000,
      maxBody: 1e6,
      strict: false,
    },
    {
      telemetry: metrics,
      logger,
      rareLog: new RareLog(logger, now),
      memory: new MemoryBudget(Infinity),
      faults: ruleStage(rules),
    },
    {
      upstream: { send: () => fail() },
      streamTransport: 'http+sse',
      now,
      newConnections: { resetWhile: nothing, closePort: () => undefined },
      closing: new AbortController().signal,
      serverName: 'test',
    },
  )
  const { inFlight } = sessions
  const limits = {
    maxHeaderSize: 9e4,
    headerTimeout: 9e4,
    bodyTimeout: 9e4,
    holdTimeout: 9e4,
    maxConnections: 99,
    overloadReserve: 256,
    clientKeepalive: 9e4,
    maxBody: 1_048_576,
    engine: ENGINE_UNDER_TEST,
  }
  const target = { ...exchanges, upgrade: nothing }
  const front = new HttpFront(limits, target, metrics, undefined)
  front.server.listen(0, '127.0.0.1')
  await once(front.server, 'listening')
  closers.push(() => front.close())
  const client = await RawClient.connect((front.server.address() as AddressInfo).port)
  closers.push(() => client.close())
  const has = async (line: string): Promise<boolean> =>
    (await metrics.render()).text.split('\n').includes(line)
  return { client, inFlight, has }
}

const nothing = (): void => undefined
function fail(): never {
  throw new Error('broken on purpose')
}

test.each([
  ['no rule', []],
  ['a fault that has held the calls', [oneFault('delay: { fixed: 1ms }')]],
])('when sending breaks inside Squall behind %s, the calls end by its error', async (_, rules) => {
  const { client, inFlight, has } = await broken(rules)
  await client.send(post(batch, 'Mcp-Session-Id: s\r\n'), 'POST')
  const given = await client.response()
  expect(given?.status).toBe(500)
  const error = { message: 'squall: internal error', data: { reason: 'internal_error' } }
  const bodies: unknown = JSON.parse(given!.body.toString())
  expect(bodies).toMatchObject([1, 2].map((id) => ({ id, error })))
  expect(inFlight.calls.size).toBe(0)
  expect(
    await has(
      'squall_calls_total{outcome="http_error",origin="squall",method="tools/call",tool="echo"} 2',
    ),
  ).toBe(true)
  expect(await has('squall_rejected_total{reason="internal_error"} 1')).toBe(true)
})
