import { describe, expect, it } from 'vitest'
import type { InjectedFaultEntry } from '../../src/listener/faults/fault-report.ts'
import type { LiveEvent, Tasks } from '../../src/admin/contract/api.ts'
import { OutboundCounts } from '../../src/telemetry/outbound-counts.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { NOW } from './api-setup.ts'
import { type EventReader, readEvents } from './event-reader.ts'
import { startSquall } from '../support/commands.ts'
import { call as post } from '../support/wire.ts'

const opened = closers()
const MOST = 16
const RULES = `
rules:
  - name: slow
    faults: [{ delay: { fixed: 1s } }]
  - name: never
    match: { tool: nobody }
    faults: [{ abort: { status: 503 } }]
`

async function start() {
  return opened(await startSquall({ admin: {} }))
}

async function listen(url: string): Promise<EventReader> {
  return opened(await readEvents(url))
}

function fault(id: number | string, tool = 'search'): { at: number; entry: InjectedFaultEntry } {
  const none = { method: undefined, session: undefined, effect: undefined, delayMs: undefined }
  return { at: NOW, entry: { rule: 'slow', fault: 'delay', tool, id, ...none } }
}

describe('the event stream', () => {
  it('shows the connections to dependencies where there are any', async () => {
    const outbound = new OutboundCounts()
    const { url, take } = opened(await startSquall({ admin: { outbound } }))
    take(RULES)
    const counts = outbound.of('db:5432')
    counts.open = 2
    counts.sent = 7
    counts.end('ok', 'real')
    counts.end('refused', 'real')
    counts.end('reset', 'injected')
    counts.end('cut', 'injected')
    const none = opened(await startSquall({ admin: {} }))
    none.take(RULES)
    const { destinations } = (await (await listen(url)).next()) as LiveEvent
    expect(destinations).toEqual([
      { destination: 'db:5432', open: 2, ok: 1, real: 1, injected: 2, sent: 7, received: 0 },
    ])
    expect(await (await listen(none.url)).next()).not.toHaveProperty('destinations')
  })

  it('counts the open tasks of agents as `/api/tasks` does, without handshakes', async () => {
    const flags = ['--task-window', '60s']
    const { squall } = opened(await startSquall({ rules: RULES, flags }))
    const place = { port: squall.port, host: '127.0.0.1' }
    const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }
    await post(place, message)
    const open = async () => {
      const { tasks } = (await (await listen(squall.admin)).next()) as LiveEvent
      const shown = (await (await fetch(`${squall.admin}/api/tasks`)).json()) as Tasks
      return [tasks, shown.open]
    }
    expect(await open()).toEqual([0, 0])
    await post(place, { ...message, method: 'tools/call', params: { name: 'search' } })
    expect(await open()).toEqual([1, 1])
  })

  it('sends everything at first, and then the changes', async () => {
    const { url, take, call, recent, arming, metrics } = await start()
    take(RULES)
    recent.add(fault(1))
    const reader = await listen(url)
    expect(reader.status).toBe(200)
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(await reader.next()).toMatchObject({
      at: new Date(NOW).toISOString(),
      state: { armed: true, canChange: true, version: '1.2.3', lastReload: { result: 'applied' } },
      rules: { count: 2, rules: [{ name: 'slow', sampled: 0 }, { name: 'never' }] },
      tools: [],
      faults: { whole: true, total: 1, faults: [{ id: 1 }] },
    })
    call()
    recent.add(fault(2))
    recent.add(fault(3))
    arming.disarm('guard', 'too many errors')
    metrics.call({
      method: 'tools/call',
      name: 'search',
      outcome: 'rpc_error',
      origin: 'injected',
      seconds: 0.02,
      upstreamSeconds: undefined,
    })
    expect(await reader.next()).toMatchObject({
      state: { armed: false, reasons: [{ by: 'guard' }] },
      rules: {
        rules: [
          { name: 'slow', sampled: 1, counts: { matched: 1, sampled: 1, injected: 1 } },
          { sampled: 0, counts: {} },
        ],
      },
      tools: [
        {
          tool: 'search',
          calls: { real: 0, injected: 1, squall: 0, injected_elsewhere: 0 },
          errors: { injected: 1 },
          client: { p50: 0.0175, p95: 0.02425 },
          upstream: { p50: null, p95: null },
        },
      ],
      latency: { client: { p95: 0.02425 } },
      faults: { whole: false, total: 3, faults: [{ id: 3 }, { id: 2 }] },
    })
    expect((await reader.next()).faults).toEqual({ whole: false, total: 3, faults: [] })
  })

  it('is the same for all who listen', async () => {
    const { url } = await start()
    const first = await listen(url)
    const second = await listen(url)
    await Promise.all([first.next(), second.next()])
    expect(JSON.stringify(await first.next())).toBe(JSON.stringify(await second.next()))
  })

  it('has no more than so many readers, and room again when one leaves', async () => {
    const { url } = await start()
    const readers: EventReader[] = []
    while (readers.length < MOST) readers.push(await listen(url))
    expect(readers.map(({ status }) => status)).toEqual(readers.map(() => 200))
    const refused = await fetch(`${url}/api/events`)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(await refused.json()).toEqual({
      error: expect.stringContaining(`event streams: the maximum of ${MOST} is open`),
    })
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    readers[0]!.close()
    await eventually(async () => {
      const reader = await listen(url)
      return reader.status === 200 ? undefined : 'there is no room yet'
    })
  })

  it('ends when the port closes', async () => {
    const { url, close } = await startSquall({ admin: {} })
    const readers = await Promise.all([readEvents(url), readEvents(url)])
    await Promise.all(readers.map((reader) => reader.next()))
    await close()
    await Promise.all(readers.map(({ ended }) => ended))
    // The cut that comes a second later would leave them incomplete.
    expect(readers.every(({ response }) => response.complete)).toBe(true)
  })

  it('costs nothing while nobody listens, however many come and go', async () => {
    let asked = 0
    const { url } = opened(
      await startSquall({
        admin: {
          tools: () => {
            asked++
            return []
          },
        },
      }),
    )
    // The history has looked once, and looks again every five seconds.
    expect(asked).toBe(1)
    for (let i = 0; i < 10; i++) {
      const reader = await readEvents(url)
      await reader.next()
      reader.close()
      await reader.ended
    }
    expect(asked).toBeLessThanOrEqual(4)
    let before = -1
    await eventually(async () => {
      const quiet = before === asked
      before = asked
      await new Promise((resolve) => setTimeout(resolve, 1_100))
      return quiet && before === asked ? undefined : 'still asking'
    })
  })

  it('cannot be broken into by what others named', async () => {
    const { url, recent, metrics } = await start()
    const name = '</script>\n\ndata: {"at":1}\r\n\r\n\u2028\ud800'
    metrics.call({
      method: 'tools/call',
      name,
      outcome: 'ok',
      origin: 'real',
      seconds: 0.1,
      upstreamSeconds: 0.1,
    })
    recent.add(fault('a\n\ndata: x\n\n', name))
    const reader = await listen(url)
    const event = await reader.next()
    expect(event.faults.faults[0]).toMatchObject({ id: 'a\n\ndata: x\n\n', tool: name })
    expect(event.tools[0]!.tool).toContain('</script>')
    await reader.next()
    const lines = reader.text().split('\n')
    expect(
      lines.filter((line) => line !== '' && !/^(?:data: \{"at":"|retry: )/.test(line)),
    ).toEqual([])
  })

  it('takes GET alone', async () => {
    const { url } = await start()
    for (const method of ['HEAD', 'POST', 'DELETE']) {
      const answer = await fetch(`${url}/api/events`, { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, OPTIONS'])
    }
  })
})
