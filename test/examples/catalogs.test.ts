// part: slow
import { expect, it } from 'vitest'
import { SampleHash } from '../../src/rules/select/sample-hash.ts'
import { callStates, met, type Agent } from './agent.ts'
import { examples } from './example.ts'

const startExample = examples()

async function lists(agent: Agent, tool: string): Promise<boolean> {
  return (await agent.tools()).some(({ name }) => name === tool)
}

it('cold-tool: not listed and unknown at first, then warm', async () => {
  const { v1, server, injected, errors } = await startExample('cold-tool')
  const agent = await v1()
  const listed = []
  for (let n = 0; n < 3; n++) listed.push(await lists(agent, 'search_docs'))
  expect(listed).toEqual([false, false, true])
  const cold = 'McpError -32602'
  expect(await callStates(agent, 'search_docs', 5)).toEqual([cold, cold, cold, 'ok', 'ok'])
  expect(await met(agent.call('get_weather'))).toBe('ok')
  expect(await server.executed('search_docs')).toBe(2)
  await injected('cold-in-list', 2)
  await injected('cold-when-called', 3)
  await errors(3, { tool: 'search_docs', kind: 'rpc_error' })
  await errors(3)
})

it('missing-tool: for some sessions, in the list and when called alike', async () => {
  const { v2, server, injected, errors } = await startExample('missing-tool')
  let missing = 0
  for (let n = 0; n < 12; n++) {
    const agent = await v2()
    const isMissing = SampleHash.of('2', 'missing-tool').number(agent.session!) < 0.2
    expect(await lists(agent, 'search_docs')).toBe(!isMissing)
    const unknown = 'tool error: MCP error -32602: Tool search_docs not found'
    const callState = isMissing ? unknown : 'ok'
    expect(await callStates(agent, 'search_docs', 2)).toEqual([callState, callState])
    missing += Number(isMissing)
  }
  expect(await server.executed('search_docs')).toBe(2 * (12 - missing))
  await injected('missing-tool', 3 * missing)
  await errors(2 * missing)
})

it('missing-tool: with 100 % no session has it', async () => {
  const { v1, server, errors } = await startExample('missing-tool', {
    replace: { 'percent: 20': 'percent: 100' },
  })
  const agent = await v1()
  expect(await lists(agent, 'search_docs')).toBe(false)
  expect(await lists(agent, 'get_weather')).toBe(true)
  expect(await met(agent.call('search_docs'))).toContain('not found')
  expect(await server.executed('search_docs')).toBe(0)
  await errors(1, { tool: 'search_docs', kind: 'tool_error' })
})

it('schema-drift: found by clients that know the schema, and not where the schema holds', async () => {
  const { v1, server, injected, squall } = await startExample('schema-drift')
  const agent = await v1()
  await agent.tools()
  const drifted = 'McpError -32602'
  expect(await callStates(agent, 'get_weather', 4)).toEqual(['ok', 'ok', drifted, 'ok'])
  const totals = []
  for (let n = 0; n < 5; n++) {
    const { structuredContent } = await agent.call('list_orders')
    totals.push((structuredContent!['orders'] as { total: number }[])[3]!.total)
  }
  expect(totals).toEqual([30, 30, 30, 30, 0])
  expect(await server.executed('get_weather')).toBe(4)
  await injected('drifted-result', 1)
  await injected('drifted-meaning', 1)
  // On the wire nothing failed.
  expect(await squall.metric('squall_errors_total')).toBe(0)
})

it('schema-drift: a list that asks for an argument which the server does not take', async () => {
  const { v2, server, injected, squall } = await startExample('schema-drift', {
    replace: { 'percent: 20\n    stickyBy: session': 'percent: 100\n    stickyBy: session' },
  })
  const agent = await v2()
  const tool = (await agent.tools()).find(({ name }) => name === 'create_ticket')!
  expect(tool.inputSchema).toMatchObject({
    properties: { subject: { type: 'string' } },
    required: ['subject'],
  })
  const args = Object.fromEntries(tool.inputSchema.required!.map((key) => [key, 'Help']))
  expect(await met(agent.call('create_ticket', { args }))).toContain('tool error')
  expect(await met(agent.call('create_ticket'))).toBe('ok')
  expect(await server.executed('create_ticket')).toBe(1)
  await injected('drifted-catalog', 1)
  const failed = { tool: 'create_ticket', kind: 'tool_error', origin: 'real' }
  await squall.reaches('squall_errors_total', failed, 1)
})

it('stale-registry: a ghost is offered, and fails for real when called', async () => {
  const { v1, injected, squall } = await startExample('stale-registry', {
    replace: { 'percent: 30': 'percent: 100' },
  })
  const agent = await v1()
  expect(await lists(agent, 'lookup_docs')).toBe(true)
  expect(await lists(agent, 'create_ticket')).toBe(false)
  expect(await met(agent.call('lookup_docs'))).toContain('Tool lookup_docs not found')
  await injected('yesterdays-list', 2)
  await squall.reaches('squall_errors_total', { tool: 'lookup_docs', origin: 'real' }, 1)
})

it('stale-registry: a session keeps its first list, and a new session gets the new one', async () => {
  const { v1, server, injected, errors } = await startExample('stale-registry', {
    replace: { 'percent: 30': 'percent: 0' },
  })
  const agent = await v1()
  expect(await lists(agent, 'run_report')).toBe(false)
  await agent.call('upgrade')
  expect(await lists(agent, 'run_report')).toBe(false)
  expect(await met(agent.call('run_report'))).toBe('ok')
  expect(await lists(await v1(), 'run_report')).toBe(true)
  expect(await server.executed('run_report')).toBe(1)
  await injected('frozen-list', 1)
  await errors(0)
})
