import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import type { Tasks } from '../../src/admin/contract/api.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { call } from '../support/wire.ts'

const opened = closers()
const RULES = 'rules: [{ name: broken, match: { tool: bad }, faults: [abort: { status: 503 }] }]'

/** Begins a session for each `initialize`, and responds to every call. */
const server: RequestListener = (request, response) => {
  request.resume().on('end', () => {
    const session = request.headers['mcp-session-id'] ?? randomUUID()
    response.setHeader('mcp-session-id', session)
    response.setHeader('content-type', 'application/json')
    response.end('{"jsonrpc":"2.0","id":1,"result":{}}')
  })
}

it.each([
  ['another client from the same address', 'other', 'gave_up'],
  ['the same client', 'agent', 'switched_tool'],
])('a session of %s, called %s, makes the verdict %s', async (_, next, verdict) => {
  const flags = ['--task-window', '3s']
  const { squall } = opened(await startSquall({ rules: RULES, flags, upstream: server }))
  const place = { port: squall.port, host: '127.0.0.1' }
  const send = (method: string, params: object, headers = {}) =>
    call({ ...place, headers }, { jsonrpc: '2.0', id: 1, method, params })
  for (const [name, tool] of [
    ['agent', 'bad'],
    [next, 'good'],
  ]) {
    const { headers } = await send('initialize', { clientInfo: { name, version: '1' } })
    await send('tools/call', { name: tool }, { 'mcp-session-id': headers['mcp-session-id'] })
  }
  const shown = async () => (await (await fetch(`${squall.admin}/api/tasks`)).json()) as Tasks
  await eventually(async () => ((await shown()).open > 0 ? 'tasks are open' : undefined))
  const { totals } = await shown()
  expect(Object.entries(totals).filter(([, count]) => count > 0)).toEqual([[verdict, 1]])
})
