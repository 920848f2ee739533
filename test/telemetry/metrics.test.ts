import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { METRICS } from '../../src/telemetry/metric-table.ts'
import type { CallRecord } from '../../src/telemetry/telemetry.ts'
import { byText, type Family, labelKey, parseExposition } from './exposition.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'
import { eventually } from '../support/eventually.ts'

const CALL: CallRecord = {
  method: 'tools/call',
  name: 'search',
  outcome: 'ok',
  origin: 'real',
  seconds: 0.02,
  upstreamSeconds: 0.019,
  responseBytes: 300,
}

const OUTCOMES = [
  'ok',
  'tool_error',
  'rpc_error',
  'http_error',
  'reset',
  'timeout',
  'cancelled',
  'abandoned',
  'incomplete',
] as const
const ORIGINS = ['real', 'injected', 'squall'] as const

async function scrape(metrics: Metrics): Promise<Map<string, Family>> {
  const { text } = await metrics.render()
  // The exposition is sent as bytes, which must be UTF-8.
  return parseExposition(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text)))
}

function value(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
  const wanted = labelKey(labels)
  return family?.lines.find((line) => line.name === name && labelKey(line.labels) === wanted)?.value
}

describe('a scrape', () => {
  it('has every declared metric with its type and help, and those of Node', async () => {
    const metrics = new Metrics({ version: '1.2.3' })
    const families = await scrape(metrics)
    for (const spec of METRICS) {
      expect(families.get(spec.name)).toMatchObject({ type: spec.type, help: spec.help })
    }
    expect(families.has('process_cpu_seconds_total')).toBe(true)
    expect(families.has('nodejs_eventloop_lag_seconds')).toBe(true)
    expect(
      value(families, 'squall_build_info', { version: '1.2.3', node: process.versions.node }),
    ).toBe(1)
    expect((await metrics.render()).contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  })

  it('has the numbers of Node that another scrape has just read, and soon new ones', async () => {
    const numbers = async (): Promise<string> => {
      const { text } = await new Metrics({ version: '1' }).render()
      return text.match(/^(?:process|nodejs)_.*$/gm)!.join('\n')
    }
    const areKept = async (): Promise<boolean> => (await numbers()) === (await numbers())
    await eventually(async () => ((await areKept()) ? undefined : 'read again'), 5_000)
    const last = await numbers()
    await eventually(async () => ((await numbers()) === last ? 'still the same' : undefined))
  })

  it('uses only the labels that are declared', async () => {
    const metrics = new Metrics({ version: '1' })
    metrics.call(CALL)
    metrics.call({ ...CALL, outcome: 'reset' })
    metrics.call({ ...CALL, changed: true })
    metrics.http({ class: 'http', status: 200, origin: 'real' })
    metrics.memory = {
      limit: 2,
      held: 1,
      cacheBudget: { bytes: 1 },
      pressure: { request_unread: 1 },
    }
    metrics.violations = { not_json: 1 }
    metrics.injected({ rule: 'r', fault: 'delay', tool: 'a', first: true, delaySeconds: 1 })
    metrics.watched.canaryReturned('a')
    metrics.watched.falsified({ rule: 'a', tool: 'b', verdict: 'used' })
    metrics.watched.usedFalse('b', 'unknown')
    metrics.outbound.of('db:5432').end('ok', 'real')
    metrics.tasks.calls.add('header')
    metrics.tasks.ended.add('ok')
    metrics.tasks.decided({
      verdict: 'duplicate_execution',
      tool: 'a',
      isSafe: true,
      causes: ['delay'],
      isNoticed: true,
      trace: undefined,
    })
    metrics.showRules(() => ({
      rules: [
        {
          name: 'r',
          isActive: true,
          active: 0,
          counts: { matched: 0, sampled: 0, injected: 0, concurrency_limit: 0, value_too_long: 0 },
        },
      ],
      armed: true,
      disarmed: { operator: false },
      version: { digest: 'abc', generation: 1, seed: '0' },
      ignoredHeaders: 0,
      unanchored: 0,
      lastReload: { applied: true, at: 1 },
    }))
    const families = await scrape(metrics)
    for (const spec of METRICS) {
      const { lines } = families.get(spec.name)!
      expect(lines.length).toBeGreaterThan(0)
      for (const { labels } of lines) {
        const names = Object.keys(labels).filter((label) => label !== 'le')
        expect(names.toSorted(byText)).toEqual([...spec.labels].toSorted(byText))
      }
    }
  })

  it('shares one rendering among scrapes that overlap', async () => {
    const metrics = new Metrics({ version: '1' })
    const [first, second] = await Promise.all([metrics.render(), metrics.render()])
    expect(second).toBe(first)
    expect(await metrics.render()).not.toBe(first)
  })
})

describe('a call', () => {
  it('is counted by method, tool, outcome and origin', async () => {
    const metrics = new Metrics({ version: '1' })
    metrics.call(CALL)
    metrics.call(CALL)
    metrics.call({ ...CALL, outcome: 'incomplete', origin: 'squall' })
    metrics.call({ ...CALL, method: 'prompts/get', name: 'p' })
    metrics.call({ ...CALL, method: 'made/up', name: undefined, outcome: 'rpc_error' })
    const families = await scrape(metrics)
    const count = (method: string, tool: string, outcome: string, origin: string) =>
      value(families, 'squall_calls_total', { method, tool, outcome, origin })
    expect(count('tools/call', 'search', 'ok', 'real')).toBe(2)
    expect(count('tools/call', 'search', 'incomplete', 'squall')).toBe(1)
    expect(count('prompts/get', '', 'ok', 'real')).toBe(1)
    expect(count('other', '', 'rpc_error', 'real')).toBe(1)
    expect(families.get('squall_calls_total')!.lines).toHaveLength(4)
  })

  it('keeps every pair of outcome and origin apart', async () => {
    const metrics = new Metrics({ version: '1' })
    const pairs = OUTCOMES.flatMap((outcome) => ORIGINS.map((origin) => ({ outcome, origin })))
    pairs.forEach((pair, i) => {
      for (let n = 0; n <= i; n++) metrics.call({ ...CALL, ...pair })
    })
    const families = await scrape(metrics)
    const labels = { method: 'tools/call', tool: 'search' }
    expect(
      pairs.map((pair) => value(families, 'squall_calls_total', { ...labels, ...pair })),
    ).toEqual(pairs.map((_, i) => i + 1))
  })

  it('is timed, unless it stays open by nature or the upstream was not asked', async () => {
    const metrics = new Metrics({ version: '1' })
    metrics.call(CALL)
    metrics.call({ ...CALL, seconds: 0.1, upstreamSeconds: 70 })
    metrics.call({ ...CALL, seconds: undefined, upstreamSeconds: undefined })
    const families = await scrape(metrics)
    const labels = { tool: 'search', origin: 'real' }
    expect(value(families, 'squall_call_duration_seconds_count', labels)).toBe(2)
    expect(value(families, 'squall_call_duration_seconds_sum', labels)).toBeCloseTo(0.12)
    const bucket = (le: string) =>
      value(families, 'squall_call_duration_seconds_bucket', { ...labels, le })
    expect([bucket('0.01'), bucket('0.025'), bucket('0.05'), bucket('0.1')]).toEqual([0, 1, 1, 2])
    const upstream = (le: string) =>
      value(families, 'squall_upstream_duration_seconds_bucket', { tool: 'search', le })
    expect([upstream('60'), upstream('+Inf')]).toEqual([1, 2])
  })

  it('survives clocks that went wrong', async () => {
    const metrics = new Metrics({ version: '1' })
    for (const seconds of [Number.NaN, -1, Infinity, 2]) metrics.overhead(seconds)
    const families = await scrape(metrics)
    expect(value(families, 'squall_overhead_seconds_count')).toBe(4)
    expect(value(families, 'squall_overhead_seconds_sum')).toBe(2)
  })
})

describe('tool names', () => {
  it('are bounded in number, and what is left out is counted', async () => {
    const metrics = new Metrics({ version: '1', maxTools: 3 })
    for (const name of ['a', 'b', 'other', '', 'c', 'd', 'e', 'a']) metrics.call({ ...CALL, name })
    const families = await scrape(metrics)
    const tools = families
      .get('squall_calls_total')!
      .lines.map((line) => line.labels['tool'] ?? '-')
    expect(tools.toSorted(byText)).toEqual(['', 'a', 'b', 'c', 'other'])
    const labels = { method: 'tools/call', tool: 'other', outcome: 'ok', origin: 'real' }
    expect(value(families, 'squall_calls_total', labels)).toBe(3)
    expect(value(families, 'squall_tool_names_dropped_total')).toBe(2)
  })

  it('of a megabyte are cut, and those alike after that are one series', async () => {
    const metrics = new Metrics({ version: '1' })
    const long = 'x'.repeat(1024 * 1024)
    metrics.call({ ...CALL, name: `${long}a` })
    metrics.call({ ...CALL, name: `${long}b` })
    const families = await scrape(metrics)
    const { lines } = families.get('squall_calls_total')!
    expect(lines).toMatchObject([{ labels: { tool: 'x'.repeat(128) }, value: 2 }])
  })

  it('hold no control characters, which readers by line could take for an end', async () => {
    const metrics = new Metrics({ version: '1' })
    metrics.call({ ...CALL, name: 'a\r\n\u0085\u2028"\\b' })
    const { lines } = (await scrape(metrics)).get('squall_calls_total')!
    expect(lines[0]!.labels['tool']).toBe('a\ufffd\ufffd\ufffd\ufffd"\\b')
  })

  it('cannot break the format, whatever they hold', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: ANY_CHARACTER, maxLength: 200 }),
      fc
        .array(fc.constantFrom('\n', '\r', '"', '\\', '\ud800', '\u2028', '}', ' 1\n', '\u0000'))
        .map((parts) => parts.join('')),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(hostile, { minLength: 1, maxLength: 20 }), async (names) => {
        const metrics = new Metrics({ version: '1', maxTools: 10 })
        for (const name of names) metrics.call({ ...CALL, name })
        const { lines } = (await scrape(metrics)).get('squall_calls_total')!
        expect(lines.reduce((sum, line) => sum + line.value, 0)).toBe(names.length)
        expect(lines.length).toBeLessThanOrEqual(12)
      }),
      { numRuns: 50 },
    )
  })
})

describe('everything else', () => {
  it('is counted under its labels', async () => {
    const metrics = new Metrics({ version: '1' })
    metrics.http({ class: 'mcp', status: 202, origin: 'real' })
    metrics.http({ class: 'upgrade', status: 0, origin: 'squall' })
    metrics.http({ class: 'http', status: 599, origin: 'injected' })
    for (const status of [999, 1, -1, Number.NaN]) {
      metrics.http({ class: 'http', status, origin: 'real' })
    }
    metrics.unclassified('too_large')
    metrics.rejected('overload')
    metrics.evicted('sessions')
    const families = await scrape(metrics)
    const http = (kind: string, code: string, origin: string) =>
      value(families, 'squall_http_requests_total', { class: kind, code, origin })
    expect(http('mcp', '202', 'real')).toBe(1)
    expect(http('upgrade', 'none', 'squall')).toBe(1)
    expect(http('http', '599', 'injected')).toBe(1)
    expect(http('http', 'other', 'real')).toBe(4)
    expect(value(families, 'squall_unclassified_total', { reason: 'too_large' })).toBe(1)
    expect(value(families, 'squall_unclassified_total', { reason: 'encoding' })).toBe(0)
    expect(value(families, 'squall_rejected_total', { reason: 'overload' })).toBe(1)
    expect(value(families, 'squall_table_evictions_total', { table: 'sessions' })).toBe(1)
  })

  it('goes up and down in gauges', async () => {
    const metrics = new Metrics({ version: '1' })
    metrics.gauge('client_connections', 1)
    metrics.gauge('client_connections', 1)
    metrics.gauge('client_connections', -1)
    metrics.gauge('upstream_connections', 2)
    metrics.gauge('tunnels', 3)
    metrics.gauge('request_streams', 4)
    metrics.gauge('push_streams', 5)
    metrics.gauge('sessions', 6)
    metrics.gauge('in_flight_calls', 7)
    const families = await scrape(metrics)
    const kinds = ['client', 'upstream', 'tunnel']
    expect(kinds.map((kind) => value(families, 'squall_connections', { kind }))).toEqual([1, 2, 3])
    const streams = ['request', 'push']
    expect(streams.map((kind) => value(families, 'squall_open_streams', { kind }))).toEqual([4, 5])
    expect(value(families, 'squall_sessions')).toBe(6)
    expect(value(families, 'squall_in_flight_requests')).toBe(7)
  })
})
