import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { toolOf } from '../../src/mcp/call.ts'
import { oneFault } from '../faults/one-fault.ts'
import { call, metricOf, metricValue, type Place, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const RESULT = { content: [{ type: 'text', text: 'the result' }] }
const RELATED = { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'T' } } }

interface Asked {
  readonly id: number
  readonly method: string
  readonly params: { readonly taskId?: string }
}

/** A server whose tool begins the task T, and says these messages before each other response. */
function taskApp(modern: boolean, says: readonly object[] = []): RequestListener {
  const created = modern
    ? { resultType: 'task', taskId: 'T', status: 'working' }
    : { task: { taskId: 'T', status: 'working' } }
  const results: Record<string, object> = {
    'tools/call': created,
    'tasks/result': RESULT,
    'tasks/get': modern
      ? { resultType: 'complete', taskId: 'T', status: 'completed', result: RESULT }
      : { taskId: 'T', status: 'completed' },
  }
  return (req, res) => {
    let text = ''
    req.on('data', (part: Buffer) => (text += part.toString()))
    req.on('end', () => {
      const { id, method } = JSON.parse(text) as Asked
      res.setHeader('content-type', 'text/event-stream')
      for (const each of method === 'tools/call' ? [] : says) {
        res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...each })}\n\n`)
      }
      res.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: results[method] })}\n\n`)
    })
  }
}

const inSession = { headers: { 'mcp-session-id': 'a' } }
const META = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }

async function asks(stage: Place, method: string, modern: boolean): Promise<string> {
  const named = method === 'tools/call' ? { name: 'report', task: {} } : { taskId: 'T' }
  const headers = modern
    ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': named.name ?? 'T' }
    : {}
  const params = { ...named, ...(modern ? META : {}) }
  const place = { ...stage, headers: { ...inSession.headers, ...headers } }
  return (await call(place, { jsonrpc: '2.0', id: 1, method, params })).text
}

it.each([
  ['tasks/result', false],
  ['tasks/get', true],
])('faults on content act on the result of a task in %s', async (method, modern) => {
  const keys = `match: { method: ${method}, tool: report }`
  for (const [fault, text] of [
    ['truncate: { content: { chars: 3 } }', '"text":"the"'],
    ['poison: { canary: canary-1 }', 'canary-1'],
    ['inflate: { to: 1KiB, with: x }', 'xxxxxxxx'],
    ['rewrite: { text: { append: "!" } }', '"text":"the result!"'],
    ['rewrite: { in: message, add: { /result/x: 1 } }', '"x":1'],
  ] as const) {
    const stage = opened(
      await startSidecar({ upstream: taskApp(modern), rules: [oneFault(fault, keys)] }),
    )
    await asks(stage, 'tools/call', modern)
    expect(await asks(stage, method, modern)).toContain(text)
    expect(stage.counts()).toMatchObject({ injected: 1 })
  }
})

it('changes structured content in the result of a task of 2026-07-28', async () => {
  const rules = [
    oneFault('rewrite: { set: { /n: 2 } }', 'match: { method: tasks/get, tool: report }'),
  ]
  const result = { ...RESULT, structuredContent: { n: 1 } }
  const upstream: RequestListener = (req, res) => {
    req.resume()
    res.setHeader('content-type', 'application/json')
    const isCall = req.headers['mcp-method'] === 'tools/call'
    const task = isCall ? { resultType: 'task' } : { status: 'completed', result }
    res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { taskId: 'T', ...task } }))
  }
  const stage = opened(await startSidecar({ upstream, rules }))
  await asks(stage, 'tools/call', true)
  expect(await asks(stage, 'tasks/get', true)).toContain('"structuredContent":{"n":2}')
})

it.each(['request', 'response'])('a tool error answers tasks/result at %s', async (at) => {
  const fault = `abort: { toolError: lost, at: ${at} }`
  const rules = [oneFault(fault, 'match: { method: tasks/result, tool: report }')]
  const stage = opened(await startSidecar({ upstream: taskApp(false), rules }))
  await asks(stage, 'tools/call', false)
  const got = await asks(stage, 'tasks/result', false)
  expect(got).toContain('"content":[{"type":"text","text":"lost"}],"isError":true')
  await stage.settled(2)
  const errors = { tool: 'report', kind: 'tool_error', origin: 'injected' }
  expect(metricOf(await stage.metrics(), 'squall_errors_total', errors)).toBe(1)
})

it.each([
  ['the status of a task', 'notifications/tasks', { taskId: 'T', status: 'working' }],
  ['progress of a task', 'notifications/progress', { progressToken: 9, progress: 1, ...RELATED }],
  ['a request during a task', 'elicitation/create', { message: 'go?', ...RELATED }],
])('%s belongs to the tool that began it', async (_, method, params) => {
  const said = { method, params, ...(method === 'elicitation/create' && { id: 's' }) }
  for (const [tool, is] of [
    ['report', false],
    ['other', true],
  ] as const) {
    const keys = `match: { direction: server, method: ${method}, tool: ${tool} }`
    const rules = [oneFault('stream: { drop: all }', keys)]
    const stage = opened(await startSidecar({ upstream: taskApp(true, [said]), rules }))
    await asks(stage, 'tools/call', true)
    const text = await asks(stage, 'tasks/get', true)
    expect(text.includes(method)).toBe(is)
    expect(stage.injected.map((each) => toolOf(each.call))).toEqual(is ? [] : ['report'])
  }
})

it('no rule acts on a message of a task that may be of a denied tool', async () => {
  const progress = { method: 'notifications/progress', params: { progressToken: 9, ...RELATED } }
  const rules =
    'rules: [{ name: r, match: { direction: server, method: "*" }, faults: [stream: { drop: all }] }]'
  const flags = ['--deny-tools', 'pay']
  const ruled = opened(await startSquall({ rules, flags, upstream: taskApp(true, [progress]) }))
  const place = { port: ruled.squall.port }
  // Squall has not seen the call that began the task.
  expect(await asks(place, 'tasks/get', true)).toContain('notifications/progress')
  await asks(place, 'tools/call', true)
  expect(await asks(place, 'tasks/get', true)).not.toContain('notifications/progress')
})

it.each([
  ['tasks/result', false],
  ['tasks/get', true],
])('what %s brings is counted for the tool', async (method, modern) => {
  const keys = `match: { method: ${method}, tool: report }`
  const rules = [oneFault('poison: {}', keys)]
  const stage = opened(await startSidecar({ upstream: taskApp(modern), rules }))
  await asks(stage, 'tools/call', modern)
  const text = await asks(stage, method, modern)
  await stage.settled(2)
  const page = await stage.metrics()
  const of = (name: string) => metricValue(page, name, { tool: 'report' })
  expect(of('squall_calls_changed_total')).toBe(1)
  expect(of('squall_result_bytes_count')).toBe(1)
  expect(of('squall_result_bytes_sum')).toBe(sizeOfEvent(text))
  expect(of('squall_call_duration_seconds_count')).toBe(method === 'tasks/result' ? 2 : 1)
})

/** The size of the event behind the marker. */
function sizeOfEvent(text: string): number {
  return Buffer.byteLength(text.slice(text.indexOf('data:')))
}
