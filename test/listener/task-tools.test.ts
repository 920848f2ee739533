import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { toolOf } from '../../src/mcp/call.ts'
import { call, metricOf, metricValue, startSidecar } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { oneFault } from '../faults/one-fault.ts'

const opened = closers()
const DONE = { content: [{ type: 'text', text: 'done' }] }

interface Asked {
  readonly id: number
  readonly method: string
  readonly params: { readonly name?: string; readonly taskId?: string }
}

/** A server whose tools all run as tasks; the id of the task is the tool's name in capitals. */
function taskApp(streams: boolean, modern = false): RequestListener {
  return (req, res) => {
    let text = ''
    req.on('data', (part: Buffer) => (text += part.toString()))
    req.on('end', () => {
      const { id, method, params } = JSON.parse(text) as Asked
      const taskId = params.name?.toUpperCase()
      const created = modern ? { resultType: 'task', taskId } : { task: { taskId, ttl: 60_000 } }
      const result = method === 'tools/call' ? created : DONE
      const reply = JSON.stringify({ jsonrpc: '2.0', id, result })
      res.setHeader('content-type', streams ? 'text/event-stream' : 'application/json')
      res.end(streams ? `data: ${reply}\n\n` : reply)
    })
  }
}

const begin = (name: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {}, task: {} },
})
const about = (taskId: string, method = 'tasks/result') => ({
  jsonrpc: '2.0',
  id: 2,
  method,
  params: { taskId },
})
const inSession = (session: string) => ({ headers: { 'mcp-session-id': session } })

const RESULT = 'match: { method: tasks/result, tool: report }'
const DROP = 'abort: { rpcError: { code: -1, message: lost } }'

it.each([
  ['JSON', false, false],
  ['a stream', true, false],
  ['JSON of protocol version 2026-07-28', false, true],
])('the result of a task belongs to the tool that began it: %s', async (_, streams, modern) => {
  const upstream = taskApp(streams, modern)
  const stage = opened(await startSidecar({ upstream, rules: [oneFault(DROP, RESULT)] }))
  for (const name of ['report', 'other']) await call({ ...stage, ...inSession('a') }, begin(name))
  const lost = await call({ ...stage, ...inSession('a') }, about('REPORT'))
  expect(lost.text).toContain('lost')
  const fine = await call({ ...stage, ...inSession('a') }, about('OTHER'))
  expect(fine.text).toContain('done')
  expect(stage.injected.map((each) => toolOf(each.call))).toEqual(['report'])
  const text = await stage.metrics()
  const counted = (tool: string, method: string) =>
    metricOf(text, 'squall_calls_total', { tool, method })
  expect(counted('report', 'tools/call')).toBe(1)
  expect(counted('report', 'tasks/result')).toBe(1)
  expect(counted('other', 'tasks/result')).toBe(1)
})

it('a task of another session, and one that nobody began, have no tool', async () => {
  const stage = opened(
    await startSidecar({ upstream: taskApp(false), rules: [oneFault(DROP, RESULT)] }),
  )
  await call({ ...stage, ...inSession('a') }, begin('report'))
  for (const [session, id] of [
    ['b', 'REPORT'],
    ['a', 'NEVER'],
    ['a', 'report'],
  ] as const) {
    const got = await call({ ...stage, ...inSession(session) }, about(id))
    expect(got.text).toContain('done')
  }
  expect(stage.counts()).toMatchObject({ matched: 0 })
})

it('rules about a tool leave its tasks alone unless they name the method', async () => {
  const rules = [oneFault('delay: { fixed: 1ms }', 'match: { tool: report }')]
  const stage = opened(await startSidecar({ upstream: taskApp(false), rules }))
  await call({ ...stage, ...inSession('a') }, begin('report'))
  await call({ ...stage, ...inSession('a') }, about('REPORT'))
  expect(stage.counts()).toMatchObject({ matched: 1 })
})

it('unknown methods of tasks make no series', async () => {
  const stage = opened(await startSidecar({ upstream: taskApp(false) }))
  await call({ ...stage, ...inSession('a') }, begin('report'))
  await call({ ...stage, ...inSession('a') }, about('REPORT', 'tasks/made-up'))
  expect(await stage.metrics()).not.toContain('made-up')
})

it('a rule about all requests about tasks matches the tool', async () => {
  const keys = 'match: { method: "tasks/*", tool: "rep*" }'
  const stage = opened(
    await startSidecar({ upstream: taskApp(false), rules: [oneFault(DROP, keys)] }),
  )
  await call({ ...stage, ...inSession('a') }, begin('report'))
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    const got = await call({ ...stage, ...inSession('a') }, about('REPORT', method))
    expect(got.text).toContain('lost')
  }
  const text = await stage.metrics()
  expect(metricOf(text, 'squall_errors_total', { tool: 'report', origin: 'injected' })).toBe(3)
  // The call and its result: requesting the status and cancelling do not wait for the tool.
  expect(metricValue(text, 'squall_call_duration_seconds_count', { tool: 'report' })).toBe(2)
})

it('no rule acts on a task that may be of a denied tool', async () => {
  const rules = `rules:
  - { name: r, match: { method: "tasks/*" }, faults: [abort: { status: 503 }] }
`
  const ruled = opened(
    await startSquall({ rules, flags: ['--deny-tools', 'pay'], upstream: taskApp(false) }),
  )
  const place = { port: ruled.squall.port, ...inSession('a') }
  const statusOf = async (message: object) => (await call(place, message)).status
  expect(await statusOf(begin('pay'))).toBe(200)
  expect(await statusOf(begin('report'))).toBe(200)
  expect(await statusOf(about('PAY'))).toBe(200)
  expect(await statusOf(about('unknown'))).toBe(200)
  expect(await statusOf(about('REPORT'))).toBe(503)
})

/** A server of tasks that reports the status of a task before it responds to a request about it. */
const statusApp: RequestListener = (req, res) => {
  let body = ''
  req.on('data', (part: Buffer) => (body += part.toString()))
  req.on('end', () => {
    const { id, params } = JSON.parse(body) as Asked
    const taskId = params.taskId ?? params.name?.toUpperCase()
    const result = params.taskId === undefined ? { task: { taskId, ttl: 60_000 } } : DONE
    const status = { method: 'notifications/tasks/status', params: { taskId, status: 'working' } }
    res.setHeader('content-type', 'text/event-stream')
    if (params.taskId !== undefined) {
      res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...status })}\n\n`)
    }
    res.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
  })
}

const STATUS = 'direction: server, method: notifications/tasks/status'

it('the status of a task belongs to the tool that began it', async () => {
  const rule = oneFault('stream: { drop: all }', `match: { ${STATUS}, tool: report }`)
  const stage = { ...opened(await startSidecar({ upstream: statusApp, rules: [rule] })) }
  const place = { ...stage, ...inSession('a') }
  for (const name of ['report', 'other']) await call(place, begin(name))
  expect((await call(place, about('REPORT'))).text).not.toContain('working')
  expect((await call(place, about('OTHER'))).text).toContain('working')
  expect(stage.injected.map((each) => toolOf(each.call))).toEqual(['report'])
})

it('no rule acts on the status of a task that may be of a denied tool', async () => {
  const rules = `rules: [{ name: r, match: { ${STATUS} }, faults: [stream: { drop: all }] }]`
  const flags = ['--deny-tools', 'pay']
  const ruled = opened(await startSquall({ rules, flags, upstream: statusApp }))
  const place = { port: ruled.squall.port, ...inSession('a') }
  for (const name of ['pay', 'report']) await call(place, begin(name))
  const reported = async (task: string) => (await call(place, about(task))).text.includes('working')
  expect(await reported('PAY')).toBe(true)
  expect(await reported('unknown')).toBe(true)
  expect(await reported('REPORT')).toBe(false)
})
