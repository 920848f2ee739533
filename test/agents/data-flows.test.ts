import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { type Squall, startSquall } from '../support/commands.ts'
import type { Tasks } from '../../src/admin/contract/api.ts'
import { DataFlows } from '../../src/agents/data-flows.ts'
import { ServerTools } from '../../src/agents/server-tools.ts'
import type { RequestCall } from '../../src/mcp/call.ts'

const opened = closers()

const CUSTOMER = { id: 'CUS-41872', name: 'Anna Schneider', balance: 120_450.5, status: 'pending' }
const TOOLS = [
  { name: 'find_customer', annotations: { readOnlyHint: true } },
  { name: 'read_note', annotations: { readOnlyHint: true } },
  { name: 'refund', annotations: { destructiveHint: true } },
]
const RESULTS: Readonly<Record<string, object>> = {
  find_customer: { structuredContent: CUSTOMER, content: [] },
  read_note: {
    content: [{ type: 'text', text: '{"note":"Call 030-998877, ask for ticket T99-41ab78"}' }],
  },
}

const shop: RequestListener = (req, res) => {
  let body = ''
  req.setEncoding('utf8').on('data', (part: string) => (body += part))
  req.on('end', () => {
    const { id, method, params } = JSON.parse(body) as {
      id: number
      method: string
      params: { name: string }
    }
    const ok = { content: [{ type: 'text', text: 'done' }] }
    const result = method === 'tools/list' ? { tools: TOOLS } : (RESULTS[params.name] ?? ok)
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
}

async function started() {
  const { squall } = opened(await startSquall({ rules: 'rules: []\n', upstream: shop }))
  const send = async (method: string, params: object): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${squall.port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': 's',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    await response.text()
  }
  await send('tools/list', {})
  const call = (name: string, args: object) => send('tools/call', { name, arguments: args })
  return { squall, call }
}

async function flowsOf({ admin }: Pick<Squall, 'admin'>): Promise<Tasks['flows']> {
  return ((await (await fetch(`${admin}/api/tasks`)).json()) as Tasks).flows
}

it.each([
  ['an id', { customer: 'CUS-41872' }],
  ['a number', { amount: 120_450.5 }],
  ['a number in prose', { note: 'Refund €120,450.50 today.' }],
  ['a name', { to: 'anna schneider' }],
])('shows that %s of a result went to a destructive tool', async (_, args) => {
  const { squall, call } = await started()
  await call('find_customer', { q: 'of Bern' })
  await call('refund', args)
  await call('refund', args)
  const flow = { from: 'find_customer', to: 'refund', hint: 'destructive', calls: 2 }
  expect(await flowsOf(squall)).toEqual([flow])
})

it('finds values in JSON within texts', async () => {
  const { squall, call } = await started()
  await call('read_note', {})
  await call('find_customer', { q: 't99-41ab78' })
  const flow = { from: 'read_note', to: 'find_customer', hint: 'read_only', calls: 1 }
  expect(await flowsOf(squall)).toEqual([flow])
})

it('shows no value that the agent had before, and none that is short or a word', async () => {
  const { squall, call } = await started()
  await call('find_customer', { q: 'CUS-41872' })
  await call('refund', { customer: 'CUS-41872', status: 'pending', balance: 1, name: 'Anna' })
  expect(await flowsOf(squall)).toEqual([])
})

it('shows the names of tools, and nothing of arguments and results', async () => {
  const { squall, call } = await started()
  await call('find_customer', { q: 'of Bern' })
  await call('refund', { customer: 'CUS-41872', to: 'Anna Schneider' })
  expect(await flowsOf(squall)).toHaveLength(1)
  const read = async (path: string) => (await fetch(`${squall.admin}${path}`)).text()
  const shown = await Promise.all(['/api/tasks', '/metrics', '/api/history'].map(read))
  const all = [...shown, JSON.stringify(squall.logs)].join('\n')
  for (const secret of ['41872', 'Schneider', 'Bern']) expect(all).not.toContain(secret)
})

it('reads the first calls of a conversation, and begins another one after a pause', () => {
  const flows = new DataFlows()
  const server = new ServerTools(0)
  const call = (name: string, args: object, now: number): void => {
    const params = { name, arguments: args }
    const asked = { id: 1, method: 'tools/call', name, params } as unknown as RequestCall
    flows.asked(asked, 's', server, now)
    flows.responded(asked, name === 'find' ? { structuredContent: CUSTOMER } : {})
  }
  for (let i = 0; i < 64; i++) call('find', {}, 0)
  call('refund', { to: 'CUS-41872' }, 9_999)
  expect(flows.list).toEqual([])
  call('find', {}, 10_000)
  call('refund', { to: 'CUS-41872' }, 10_000)
  expect(flows.list).toEqual([{ from: 'find', to: 'refund', hint: 'unknown', calls: 1 }])
})
