// part: slow
import { expect, it } from 'vitest'
import { callStates, met, type ToolResult } from './agent.ts'
import { examples } from './example.ts'

const startExample = examples()

it('partial-result: fewer orders and less text, in responses that are all in order', async () => {
  const { v2, server, injected, errors, squall } = await startExample('partial-result')
  const agent = await v2()
  await agent.tools()
  const orders = (response: ToolResult | Record<string, unknown>): number =>
    (response as { orders: unknown[] }).orders.length
  const counts = []
  for (let n = 0; n < 4; n++) {
    const { content, structuredContent, isError } = await agent.call('list_orders')
    expect(isError).not.toBe(true)
    expect(JSON.parse(content[0]!.text)).toEqual(structuredContent)
    counts.push(orders(structuredContent!))
  }
  expect(counts).toEqual([20, 20, 3, 20])
  const lengths = []
  for (let n = 0; n < 4; n++) {
    lengths.push((await agent.call('fetch_document')).content[0]!.text.length)
  }
  expect(lengths.map((length) => length > 500)).toEqual([true, true, true, false])
  expect(lengths[3]).toBe(500)
  expect(await server.executed('list_orders')).toBe(4)
  await injected('fewer-orders', 1)
  await injected('half-a-document', 1)
  await squall.reaches('squall_calls_total', { tool: 'list_orders', outcome: 'ok' }, 4)
  await errors(0)
})

it('context-blow-up: a document that fills the context, in a response that is in order', async () => {
  const { v1, injected, errors, squall } = await startExample('context-blow-up')
  const agent = await v1()
  const sizes = []
  for (let n = 0; n < 5; n++) {
    sizes.push((await agent.call('fetch_document')).content[0]!.text.length)
  }
  expect(sizes.map((size) => size === 512 * 1024)).toEqual([false, false, true, false, false])
  await injected('endless-document', 1)
  await squall.reaches('squall_result_bytes', { tool: 'fetch_document', le: '1048576' }, 5)
  await squall.reaches('squall_result_bytes', { tool: 'fetch_document', le: '262144' }, 4)
  await errors(0)
})

it('garbage: pages instead of JSON', async () => {
  const { v1, server, injected, errors } = await startExample('garbage', { json: true })
  const agent = await v1()
  expect(await callStates(agent, 'get_weather', 4)).toEqual([
    'ok',
    'StreamableHTTPError -1',
    'StreamableHTTPError 502',
    'ok',
  ])
  // The page under status 200 stood in the place of a response, that with 502 before the upstream.
  expect(await server.executed('get_weather')).toBe(3)
  await injected('login-page', 1)
  await injected('gateway-page', 1)
  await errors(2)
})

it('garbage: an event that cannot be read leaves the caller waiting', async () => {
  const { v2, server, injected, errors } = await startExample('garbage')
  const agent = await v2()
  expect(await met(agent.call('get_weather'))).toBe('ok')
  expect(await met(agent.call('get_weather', { timeout: 300 }))).toBe('SdkError REQUEST_TIMEOUT')
  await expect.poll(() => server.executed('get_weather')).toBe(2)
  await injected('login-page', 1)
  await errors(1)
})

it('garbage: bytes that are no UTF-8 pass for text', async () => {
  const { v1, server, injected, errors } = await startExample('garbage', {
    json: true,
    replace: { 'percent: 2\n': 'percent: 0\n' },
  })
  const agent = await v1()
  const broken = []
  for (let n = 0; n < 8; n++) {
    broken.push((await agent.call('fetch_document')).content[0]!.text.includes('\ufffd'))
  }
  expect(broken.indexOf(true)).toBe(7)
  expect(await server.executed('fetch_document')).toBe(8)
  await injected('wrong-charset', 1)
  await errors(0)
})
