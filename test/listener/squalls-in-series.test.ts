// part: slow
import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { streamApp } from '../faults/responding-app.ts'
import { closers } from '../support/closers.ts'
import { call, callMessage, metricOf, responding } from '../support/wire.ts'
import { type Squall, startSquall } from '../support/commands.ts'

const opened = closers()

const OK = '{"content":[{"type":"text","text":"fine"}]}'
const PROGRESS =
  'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n'

const RULES = `version: 1
rules:
  - { name: status, match: { tool: status }, faults: [abort: { status: 503 }] }
  - { name: rpc, match: { tool: rpc }, faults: [abort: { rpcError: {} }] }
  - { name: late, match: { tool: late }, faults: [abort: { toolError: no, at: response }] }
  - { name: slow, match: { tool: slow }, faults: [delay: { fixed: 1ms }] }
  - { name: page, match: { http: { path: /page } }, faults: [abort: { status: 503 }] }
`

type Engine = 'fast' | 'standard'
const APPS: readonly (readonly [Engine, string, RequestListener])[] = (
  ['fast', 'standard'] as const
).flatMap((engine) => [
  [engine, 'JSON', responding('fine')] as const,
  // The notification makes the inner Squall send the head before its fault acts.
  [engine, 'SSE', streamApp(OK, PROGRESS)] as const,
])

/** Starts a Squall in front of another one, which injects faults. */
async function inSeries(engine: Engine, app: RequestListener, ...flags: readonly string[]) {
  const inner = opened(
    await startSquall({ rules: RULES, upstream: app, flags: ['--engine', engine] }),
  )
  const upstream = `http://127.0.0.1:${inner.squall.port}`
  const outer = opened(await startSquall('--upstream', upstream, '--engine', engine, ...flags))
  let id = 0
  const ask = (tool: string, headers = {}) =>
    call({ port: outer.port, host: '127.0.0.1', headers }, callMessage(++id, tool))
  return { inner, outer, ask }
}

/** Returns the number of errors of a tool by origin. */
async function errorsOf(outer: Squall, tool: string): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${outer.admin}/metrics`)).text()
  const origins = ['real', 'injected', 'squall', 'injected_elsewhere']
  const counts = origins.map(
    (origin) => [origin, metricOf(text, 'squall_errors_total', { tool, origin })] as const,
  )
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}

const state = async ({ admin }: Squall): Promise<{ foreignMarkers?: string }> =>
  (await (await fetch(`${admin}/api/state`)).json()) as { foreignMarkers?: string }

/** Calls until the guard would judge; the first two calls are those of a task. */
async function judged(ask: Awaited<ReturnType<typeof inSeries>>['ask']): Promise<string> {
  const task = { 'x-task-id': 'a' }
  const { headers, text } = await ask('late', task)
  await ask('late', task)
  for (let i = 0; i < 10; i++) await ask('late', { 'x-task-id': `t${i}` })
  return `${JSON.stringify(headers)} ${text}`
}

const FLAGS = ['--header-faults', '--task-window', '1s']

describe.each(APPS)('errors of another Squall, %s engine, %s', (engine, form, app) => {
  it('have an origin of their own with --trust-markers', async () => {
    const { outer, ask } = await inSeries(engine, app, '--trust-markers', ...FLAGS)
    for (const tool of ['status', 'rpc']) {
      await ask(tool)
      expect(await errorsOf(outer, tool), tool).toEqual({ injected_elsewhere: 1 })
    }
    await fetch(`http://127.0.0.1:${outer.port}/page`)
    const page = { class: 'http', code: '503' }
    await outer.reaches('squall_http_requests_total', { ...page, origin: 'injected_elsewhere' }, 1)
    const marker = form === 'SSE' ? '\n: x-squall_fault late/abort\n' : '"late/abort"'
    expect(await judged(ask)).toContain(marker)
    expect(await errorsOf(outer, 'late')).toEqual({ injected_elsewhere: 12 })
    expect(await outer.metric('squall_guard_trips_total')).toBe(0)
    const verdict = { verdict: 'possible_duplicate', fault: 'injected_elsewhere' }
    await outer.reaches('squall_after_fault_total', verdict, 1)
    expect(await state(outer)).toMatchObject({ foreignMarkers: 'trusted' })
  })

  it('stay real without the flag, and one line names it', async () => {
    const { outer, ask } = await inSeries(engine, app, ...FLAGS)
    await ask('fine')
    expect(await state(outer)).not.toHaveProperty('foreignMarkers')
    await judged(ask)
    expect(await errorsOf(outer, 'late')).toEqual({ real: 12 })
    expect(await outer.metric('squall_guard_trips_total')).toBe(1)
    await outer.reaches('squall_after_fault_total', { verdict: 'retried', fault: 'real' }, 1)
    const lines = outer.logs.filter((line) => JSON.stringify(line).includes('--trust-markers'))
    expect(lines).toMatchObject([{ level: 'warn', reason: 'foreign_markers' }])
    expect(await state(outer)).toMatchObject({ foreignMarkers: 'ignored' })
  })
})

describe.each(['fast', 'standard'] as const)('markers of another Squall, %s', (engine) => {
  const failing: RequestListener = (req, res) => {
    req.resume()
    res.writeHead(500).end()
  }

  it('of faults that only wait leave the error of the server real', async () => {
    const { outer, ask } = await inSeries(engine, failing, '--trust-markers')
    const { headers } = await ask('slow')
    expect(headers['x-upstream-squall-fault']).toBe('slow/delay')
    expect(await errorsOf(outer, 'slow')).toEqual({ real: 1 })
  })

  it('keep the time of a result out of the response times of the upstream', async () => {
    const { inner, outer, ask } = await inSeries(engine, responding('fine'), '--trust-markers')
    await ask('slow')
    const text = await (await fetch(`${outer.admin}/metrics`)).text()
    expect(text).toContain('squall_call_duration_seconds_count{tool="slow",origin="real"} 1')
    expect(text).not.toContain('squall_upstream_duration_seconds_count{tool="slow"')
    // An error response of Squall itself shows that the server is gone.
    await inner.app.close()
    const { headers } = await ask('other')
    expect(headers['x-upstream-squall-error']).toBe('upstream_unreachable')
    expect(await errorsOf(outer, 'other')).toEqual({ real: 1 })
  })

  it.each(['JSON', 'SSE'])('pass through a third one in %s', async (form) => {
    const app = form === 'SSE' ? streamApp(OK, PROGRESS) : responding('fine')
    const { outer: middle } = await inSeries(engine, app)
    const upstream = `http://127.0.0.1:${middle.port}`
    const outer = opened(
      await startSquall('--upstream', upstream, '--engine', engine, '--trust-markers'),
    )
    await call({ port: outer.port, host: '127.0.0.1' }, callMessage(1, 'late'))
    expect(await errorsOf(outer, 'late')).toEqual({ injected_elsewhere: 1 })
  })
})
