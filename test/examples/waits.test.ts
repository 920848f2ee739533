// part: slow
import { expect, it } from 'vitest'
import { callStates, met } from './agent.ts'
import { examples } from './example.ts'

const startExample = examples()

it('head-of-line-blocking: one tool is late, and the others are not', async () => {
  const { v1, server, injected, errors, ended, seconds, squall } = await startExample(
    'head-of-line-blocking',
    { replace: { 'scale: 500ms': 'scale: 2s' } },
  )
  const agent = await v1()
  await callStates(agent, 'search_docs', 3)
  let isThere = false
  const slow = met(agent.call('search_docs')).finally(() => (isThere = true))
  await squall.reaches('squall_active_faults', { rule: 'long-tail' }, 1)
  expect(await callStates(agent, 'get_weather', 5)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
  expect(isThere).toBe(false)
  expect(await slow).toBe('ok')
  expect(await server.executed('search_docs')).toBe(4)
  await injected('long-tail', 1)
  await ended('search_docs', 4)
  const late = await seconds('search_docs')
  expect(late).toBeGreaterThan(0.5)
  expect(late).toBeGreaterThan(2 * (await seconds('get_weather')))
  await errors(0)
})

it('slow-network: a large response trickles, and is whole', async () => {
  const { v2, server, injected, errors, ended, seconds } = await startExample('slow-network')
  const agent = await v2()
  const { content: fast } = await agent.call('fetch_document')
  expect(await met(agent.call('fetch_document'))).toBe('ok')
  const began = performance.now()
  const { content: slow } = await agent.call('fetch_document')
  // 22 KiB of text at 16 KiB a second.
  expect(performance.now() - began).toBeGreaterThan(1200)
  expect(slow).toEqual(fast)
  expect(await server.executed('fetch_document')).toBe(3)
  await injected('slow-link', 2)
  await ended('fetch_document', 3)
  expect(await seconds('fetch_document')).toBeGreaterThan(1.2)
  await errors(0)
})

it('half-open: silence before the upstream gets the call', async () => {
  const { v1, server, injected, errors, squall } = await startExample('half-open')
  const agent = await v1()
  expect(await callStates(agent, 'search_docs', 2)).toEqual(['ok', 'ok'])
  expect(await met(agent.call('search_docs', { timeout: 300 }))).toBe('McpError -32001')
  expect(await met(agent.call('search_docs'))).toBe('ok')
  expect(await server.executed('search_docs')).toBe(3)
  await injected('silent', 1)
  await agent.close()
  await squall.reaches('squall_active_faults', { rule: 'silent' }, 0)
  await errors(1, { tool: 'search_docs' })
})

it('half-open: silence after the upstream did its work', async () => {
  const { v2, server, injected, errors, squall } = await startExample('half-open')
  const agent = await v2()
  expect(await callStates(agent, 'create_ticket', 3)).toEqual(['ok', 'ok', 'ok'])
  const callState = await met(agent.call('create_ticket', { timeout: 300 }))
  expect(callState).toBe('SdkError REQUEST_TIMEOUT')
  await expect.poll(() => server.executed('create_ticket')).toBe(4)
  await injected('silent-after-headers', 1)
  await agent.close()
  await squall.reaches('squall_active_faults', { rule: 'silent-after-headers' }, 0)
  await errors(1, { tool: 'create_ticket' })
})
