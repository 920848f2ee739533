import { afterEach, describe, expect, it } from 'vitest'
import { request, type RequestListener } from 'node:http'
import { once } from 'node:events'
import { callMessage, responding } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const running: RuledSquall[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
})

async function start(rules: string, app?: RequestListener): Promise<RuledSquall> {
  const started = await startSquall({ rules, upstream: app })
  running.push(started)
  return started
}

const RULE = { rule: 'slow' }
const RESULTS = 'squall_rule_evaluations_total'
const OVERFLOW = { ...RULE, result: 'concurrency_limit' }

function slow(more: string, fixed = '1h'): string {
  return `rules:\n  - name: slow\n    match: { tool: probe }\n    faults: [delay: { fixed: ${fixed} }]\n${more}`
}

/** Begins a call and does not wait for its response. */
function begin({ squall }: RuledSquall, tool = 'probe') {
  const call = request({
    port: squall.port,
    host: '127.0.0.1',
    path: '/mcp',
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json' },
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify(callMessage(1, tool)))
  return call
}

// Three errors that proxies have had with such a cap, each known by its issue in Envoy.
describe('faults in progress', () => {
  it('are released when delayed calls are abandoned (envoyproxy/envoy#11504)', async () => {
    const ruled = await start(slow('    maxActive: 5\n'))
    const { squall, text } = ruled
    for (let round = 0; round < 3; round++) {
      const calls = Array.from({ length: 5 }, () => begin(ruled))
      await squall.reaches('squall_active_faults', RULE, 5)
      expect(await text()).toBe('fine')
      for (const call of calls) call.destroy()
      await squall.reaches('squall_active_faults', RULE, 0)
    }
    await squall.reaches('squall_calls_total', { outcome: 'abandoned', origin: 'injected' }, 15)
    expect(await squall.metric(RESULTS, OVERFLOW)).toBe(3)
  })

  it('overflow only with sampled calls, once each (envoyproxy/envoy#12816)', async () => {
    const twice = `rules:\n  - name: slow\n    match: { tool: probe }\n    maxActive: 1\n    faults:\n      - delay: { fixed: 1h }\n      - delay: { fixed: 1h }\n`
    const never =
      '  - name: never\n    match: { tool: other }\n    percent: 0\n    faults: [abort: { status: 503 }]\n'
    const ruled = await start(`${twice}${never}`)
    const { squall, text } = ruled
    const holding = begin(ruled)
    await squall.reaches('squall_active_faults', RULE, 1)
    for (let i = 0; i < 4; i++) expect(await text()).toBe('fine')
    for (let i = 0; i < 4; i++) expect(await text('other')).toBe('fine')
    expect(await squall.metric(RESULTS, OVERFLOW)).toBe(4)
    expect(await squall.metric(RESULTS, { ...OVERFLOW, rule: 'never' })).toBe(0)
    holding.destroy()
  })

  it('count while they act, and not for as long as the call lasts (envoyproxy/envoy#13069)', async () => {
    let finish = (): void => undefined
    // Begins its response at once, and ends it on request.
    const long: RequestListener = (req, res) => {
      if (req.headers['x-plain'] !== undefined) return responding('fine')(req, res)
      req.resume().on('end', () => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write(': begun\n\n')
        finish = () => void res.end()
      })
    }
    const ruled = await start(slow('    maxActive: 1\n', '20ms'), long)
    const { squall, ask } = ruled
    const streaming = begin(ruled)
    await once(streaming, 'response')
    expect(await squall.metric('squall_active_faults', RULE)).toBe(0)
    // The limit is one, and the stream that continues does not count.
    const { headers } = await ask('probe', { 'x-plain': '1' })
    expect(headers['x-squall-fault']).toBe('slow/delay')
    expect(await squall.metric(RESULTS, OVERFLOW)).toBe(0)
    finish()
    streaming.destroy()
  })
})
