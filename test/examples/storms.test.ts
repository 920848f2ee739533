// part: slow-nightly
import { expect, it } from 'vitest'
import { callStates, met, type Agent } from './agent.ts'
import { examples } from './example.ts'

const startExample = examples()

it('retry-storm: down at first, and then a call that the upstream gets four times', async () => {
  const { v1, server, injected, errors, squall } = await startExample('retry-storm')
  const agent = await v1()
  const down = 'StreamableHTTPError 503'
  expect(await callStates(agent, 'create_ticket', 7)).toEqual([
    down,
    down,
    down,
    'ok',
    'ok',
    'ok',
    'ok',
  ])
  expect(await met(agent.call('create_ticket'))).toBe('ok')
  await expect.poll(() => server.executed('create_ticket')).toBe(8)
  await injected('down-at-first', 3)
  await injected('called-again', 1)
  await errors(3, { tool: 'create_ticket', kind: 'http_error' })
  // One request of the user, one response: copies are no calls of the client.
  expect(await squall.metric('squall_calls_total', { tool: 'create_ticket' })).toBe(8)
})

it('retry-storm: says when to come back', async () => {
  const { url } = await startExample('retry-storm')
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const params = { name: 'create_ticket', arguments: { title: 'x' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const response = await fetch(url, { method: 'POST', headers, body })
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('2')
  expect(response.headers.get('x-squall-fault')).toBe('down-at-first/abort')
})

/** A task that needs a response from all of its eight calls, made at the same time. */
async function task(agent: Agent): Promise<boolean> {
  const tools = ['search_docs', 'get_weather', 'list_orders', 'search_docs']
  const all = await Promise.all([...tools, ...tools].map((tool) => met(agent.call(tool))))
  return all.every((callState) => callState === 'ok')
}

it('fan-out: 2 % of the calls are 15 % of the tasks', async () => {
  const { v1, server, injected, errors, squall } = await startExample('fan-out')
  const agent = await v1()
  let failed = 0
  for (let n = 0; n < 40; n++) failed += Number(!(await task(agent)))
  expect(failed).toBe(6)
  await injected('two-percent', 6)
  await errors(6, { kind: 'tool_error' })
  await errors(6)
  expect(await squall.metric('squall_calls_total', { method: 'tools/call' })).toBe(320)
  const executed = await Promise.all(
    ['search_docs', 'get_weather', 'list_orders'].map((tool) => server.executed(tool)),
  )
  expect(executed.reduce((sum, count) => sum + count)).toBe(314)
})

it('rate-limited-provider: five at once for each session, and then come back later', async () => {
  const { v1, v2, server, injected, errors, squall } = await startExample('rate-limited-provider')
  const [one, two] = [await v1(), await v2()]
  const ok = ['ok', 'ok', 'ok', 'ok', 'ok']
  expect(await callStates(one, 'search_docs', 6)).toEqual([...ok, 'StreamableHTTPError 429'])
  expect(await met(one.call('get_weather'))).toBe('ok')
  expect(await callStates(two, 'search_docs', 6)).toEqual([...ok, 'SdkHttpError 429'])
  expect(await server.executed('search_docs')).toBe(10)
  await injected('provider-quota', 2)
  await errors(2, { tool: 'search_docs', kind: 'http_error' })
  const withinLimit = { rule: 'provider-quota', result: 'within_limit' }
  await squall.reaches('squall_rule_evaluations_total', withinLimit, 10)
})

it('executed-response-lost: errors for work that was done', async () => {
  const { v1, server, injected, errors, responded } = await startExample('executed-response-lost')
  const agent = await v1()
  expect(await callStates(agent, 'create_ticket', 6)).toEqual([
    'ok',
    'TypeError fetch failed',
    'ok',
    'ok',
    'StreamableHTTPError 504',
    'ok',
  ])
  expect(await server.executed('create_ticket')).toBe(6)
  await injected('broken-on-the-way-back', 1)
  await injected('late-gateway', 1)
  await errors(2, { tool: 'create_ticket' })
  await responded('create_ticket', 6)
})
