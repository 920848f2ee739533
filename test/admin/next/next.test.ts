import { expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Next } from '../../../src/admin/api.ts'
import { showNext } from '../../../src/admin/next/show-next.ts'
import { TrafficHistory } from '../../../src/admin/traffic-history.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { closers } from '../../support/closers.ts'
import { startSquall } from '../../support/squall.ts'

const opened = closers()
const RULES = `seed: 1
rules:
  - { name: down, match: { tool: search }, first: 3, faults: [abort: { status: 503 }] }
  - { name: bad, match: { tool: fetch }, first: 1, faults: [abort: { toolError: no }] }
`
const MINUTE = 60_000
const SETTING = { url: 'http://127.0.0.1:15300/mcp', environment: null, sidecar: {} }

it('a sidecar ranks by its calls and injections, with a plan for its addresses', async () => {
  const { squall, ask } = opened(
    await startSquall({ rules: RULES, flags: ['--environment', 'staging'] }),
  )
  const { port, admin } = squall
  for (let i = 0; i < 8; i++) await ask('search')
  for (let i = 0; i < 2; i++) await ask('fetch')
  const next = (await (await fetch(`${admin}/api/next`)).json()) as Next
  expect(next.tools.map(({ tool, calls }) => [tool, calls])).toEqual([
    ['search', 5],
    ['fetch', 1],
  ])
  expect(next.tools[0]!.bytes).toBeGreaterThan(20)
  const of = (tool: string, question: string) =>
    next.ranks.find((each) => each.tool === tool && each.question === question)!
  expect(next.ranks[0]).toMatchObject({ tool: 'search', score: 1 })
  expect(of('search', 'slow').reasons[1]).toMatch(
    /^not injected since the start, \d+[smh] ago: \+1/,
  )
  expect(of('search', 'unavailable').reasons[1]).toMatch(
    /^injected 3 times without a verdict, \d+s ago: \+0\.9[89]$/,
  )
  expect(of('search', 'error').reasons[1]).toContain('not injected')
  expect(of('fetch', 'error').reasons[1]).toContain('injected 1 times')
  expect(parse(of('search', 'slow').plan)).toMatchObject({
    target: { url: `http://127.0.0.1:${port}/mcp`, environment: 'staging' },
    sidecar: { admin },
    rules: [{ match: { tool: 'search' } }],
    load: { tools: ['search'] },
  })
})

it('counts the calls of a tool by task, without retries', async () => {
  const { squall, ask } = opened(await startSquall({ rules: RULES, flags: ['--tasks'] }))
  // The first one fails, and the second is its retry.
  for (const task of ['a', 'a', 'b', 'b']) await ask('fetch', { 'x-task-id': task })
  const next = (await (await fetch(`${squall.admin}/api/next`)).json()) as Next
  expect(next.tools).toMatchObject([{ tool: 'fetch', calls: 3, perTask: 1.5 }])
})

it('compares the last minutes with the time before, to the call and the byte', () => {
  const metrics = createMetrics({ version: '1' })
  let now = 0
  const history = new TrafficHistory(
    () => metrics.tools(),
    () => now,
  )
  const calls = (count: number, seconds: number, responseBytes: number): void => {
    for (let i = 0; i < count; i++) {
      const end = { outcome: 'ok', origin: 'real', seconds, trace: undefined } as const
      const more = { method: 'tools/call', name: 'search', upstreamSeconds: seconds, responseBytes }
      metrics.call({ ...end, ...more })
    }
  }
  const pass = (minutes: number): void => {
    for (let step = 0; step < minutes * 12; step++) {
      history.look()
      now += MINUTE / 12
    }
  }
  const look = (): Next =>
    showNext({
      tasks: new Map(),
      samples: metrics.tools(),
      earlier: history.earlier,
      injected: [],
      trips: [],
      startedAt: 0,
      now,
      setting: SETTING,
    })
  pass(1)
  calls(100, 0.02, 1000)
  pass(6)
  expect(look().tools).toMatchObject([{ calls: 100, bytes: 1000 }])
  pass(30)
  calls(50, 0.2, 4000)
  const { tools, ranks, since } = look()
  expect(tools).toEqual([
    { tool: 'search', calls: 50, errors: 0, p95: expect.any(Number), bytes: 4000, perTask: null },
  ])
  const ago = now - Date.parse(since!)
  expect(ago).toBeGreaterThanOrEqual(10 * MINUTE)
  expect(ago).toBeLessThanOrEqual(15 * MINUTE)
  expect(ranks[0]!.reasons.join()).toMatch(/p95 is [\d.]+ times the usual: \+1\.00/)
  const cut = ranks.find(({ question }) => question === 'truncated')!
  expect(cut.reasons).toContain('result size is 4.0 times the usual: +1.00')
})

it('a fault whose injections ended with a trip of the guard comes first', () => {
  const metrics = createMetrics({ version: '1' })
  const end = { outcome: 'ok', origin: 'real', seconds: 0.1, upstreamSeconds: 0.1 } as const
  metrics.call({ ...end, method: 'tools/call', name: 'search', trace: undefined })
  const now = 60 * MINUTE
  const injected = [
    { tool: 'search', fault: 'delay', effect: undefined, count: 200, last: 50 * MINUTE },
    { tool: 'search', fault: 'hang', effect: undefined, count: 200, last: 10 * MINUTE },
  ]
  const trips = [{ by: 'guard', reason: 'errors', at: 50 * MINUTE + 30_000 }] as const
  const { ranks } = showNext({
    tasks: new Map(),
    samples: metrics.tools(),
    earlier: undefined,
    injected,
    trips,
    startedAt: 0,
    now,
    setting: SETTING,
  })
  const reasonOf = (id: string) => ranks.find(({ question }) => question === id)!.reasons[1]
  expect(reasonOf('slow')).toBe(
    'injected 200 times until real errors disarmed all rules, 10m ago: +1.00',
  )
  expect(reasonOf('silent')).toBe('injected 200 times without a verdict, 50m ago: +0.50')
})

it('names that a plan cannot name exactly, and calls of other methods, are left out', () => {
  const metrics = createMetrics({ version: '1' })
  const end = { outcome: 'ok', origin: 'real', seconds: 0.1, upstreamSeconds: 0.1 } as const
  for (const name of ['a*', 'b\u202e', 'other', 'x'.repeat(500), 'fine']) {
    metrics.call({ ...end, method: 'tools/call', name, trace: undefined })
  }
  metrics.call({ ...end, method: 'initialize', name: undefined, trace: undefined })
  const facts = { earlier: undefined, injected: [], trips: [], startedAt: 0, now: 0 }
  const { tools } = showNext({
    ...facts,
    tasks: new Map(),
    samples: metrics.tools(),
    setting: SETTING,
  })
  expect(tools.map(({ tool }) => tool)).toEqual(['fine'])
})
