import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Everything,
  type InteropClient,
  metricValue,
  openClient,
  outcome,
  type RunningSidecar,
  startSidecar,
  startUpstream,
} from '../support/wire.ts'
import { oneFault } from './one-fault.ts'

let server: Everything
let squall: RunningSidecar
let clients: InteropClient[] = []

beforeAll(async () => {
  server = await startUpstream('everything', 'sse')
})
afterAll(() => server.stop())
afterEach(async () => {
  for (const client of clients) await client.close()
  clients = []
  await eventually(async () => {
    const text = await squall.metrics()
    const open = ['squall_in_flight_requests', 'squall_open_streams'].map((name) =>
      metricValue(text, name),
    )
    return open.every((value) => value === 0) ? undefined : `still open: ${open.join()}`
  })
  expect(squall.faults!.active).toBe(0)
  expect(squall.faults!.broken).toEqual([])
  await squall.close()
})

async function start(...rules: readonly RuleSpec[]): Promise<void> {
  squall = await startSidecar({ upstream: server.origin, rules })
}

async function connect(): Promise<InteropClient> {
  const client = await openClient('v1')(`${squall.url}/sse`, 'sse')
  clients.push(client)
  return client
}

const ECHO = { content: [{ type: 'text', text: 'Echo: hi' }] }
const echo = (client: InteropClient): Promise<unknown> => client.call('echo', { message: 'hi' })
const about = (tool: string, fault: string): RuleSpec =>
  oneFault(fault, `match: { tool: ${tool} }`, tool)

test('the SDK client meets what faults make of its calls, and its neighbours do not', async () => {
  await start(
    about('get-sum', 'delay: { fixed: 200ms, at: response }'),
    about('get-env', 'abort: { toolError: db lost, at: response }'),
    about('get-tiny-image', 'abort: { rpcError: { code: -5, message: "no" } }'),
  )
  const [client, other] = [await connect(), await connect()]
  const began = performance.now()
  const sum = client.call('get-sum', { a: 2, b: 3 }).then((value) => ({
    value,
    took: performance.now() - began,
  }))
  const responses = await Promise.all([
    echo(client),
    outcome(client.call('get-env')),
    outcome(client.call('get-tiny-image')),
    echo(other),
  ])
  expect(responses[0]).toEqual(ECHO)
  expect(responses[1]).toEqual({
    result: { content: [{ type: 'text', text: 'db lost' }], isError: true },
  })
  expect(responses[2]).toMatchObject({ error: { code: -5, message: 'MCP error -5: no' } })
  expect(responses[3]).toEqual(ECHO)
  const { value, took } = await sum
  expect(JSON.stringify(value)).toContain('5')
  expect(took).toBeGreaterThan(195)
  const text = await squall.metrics()
  const calls = (labels: Record<string, string>): number =>
    metricValue(text, 'squall_calls_total', { method: 'tools/call', ...labels })
  expect(calls({ tool: 'get-env', outcome: 'tool_error', origin: 'injected' })).toBe(1)
  expect(calls({ tool: 'get-tiny-image', outcome: 'rpc_error', origin: 'injected' })).toBe(1)
  expect(calls({ tool: 'get-sum', outcome: 'ok', origin: 'real' })).toBe(1)
  expect(calls({ tool: 'echo', outcome: 'ok', origin: 'real' })).toBe(2)
  for (const index of [0, 1, 2]) {
    expect(squall.faults!.counts(index)).toMatchObject({ matched: 1, sampled: 1, injected: 1 })
  }
})

test('many calls at once each get their own response', async () => {
  await start(oneFault('delay: { uniform: { min: 0s, max: 60ms }, at: event }'))
  const client = await connect()
  const texts = Array.from({ length: 80 }, (_, index) => `n${index}`)
  const responses = await Promise.all(texts.map((message) => client.call('echo', { message })))
  expect(responses).toEqual(
    texts.map((text) => ({ content: [{ type: 'text', text: `Echo: ${text}` }] })),
  )
  expect(squall.faults!.counts()).toMatchObject({ matched: 80, injected: 80 })
})

test('a client that gives up on a call that hangs continues with others', async () => {
  await start(oneFault('delay: { fixed: 10m, max: 10m, at: response }'))
  const client = await connect()
  const leaving = new AbortController()
  const call = outcome(client.call('echo', { message: 'hi' }, { signal: leaving.signal }))
  await eventually(() => (squall.faults!.injected.length === 1 ? undefined : 'it does not sleep'))
  leaving.abort()
  expect(await call).toHaveProperty('error')
  expect(JSON.stringify(await client.call('get-sum', { a: 2, b: 3 }))).toContain('5')
  await eventually(async () => {
    const labels = { outcome: 'cancelled', origin: 'injected' }
    const count = metricValue(await squall.metrics(), 'squall_calls_total', labels)
    return count === 1 ? undefined : `${count} calls were cancelled`
  })
})
