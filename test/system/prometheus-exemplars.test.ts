// part: prometheus
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { parseOpenMetrics } from '../telemetry/openmetrics.ts'
import { PATIENCE } from './patience.ts'
import { type StoredExemplar, type Prometheus, startPrometheus } from '../support/cluster.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const RULES = `rules:
  - { name: slow, match: { tool: slow }, faults: [delay: { fixed: 120ms }] }
  - { name: broken, match: { tool: broken }, faults: [abort: { toolError: no }] }
  - { name: short, match: { tool: short }, faults: [truncate: { content: { chars: 1 } }] }
`
const TOOLS = ['slow', 'broken', 'short', 'plain'] as const
const HOSTILE = ['__proto__', 'a"b\\c', 'a\nb # {x="y"} 1', 'x\u2028y', 'ä€😀', ' ', '# EOF\n']

let ruled: RuledSquall
let prometheus: Prometheus
let began: number

/** A trace and a span of its own for each tool. */
function idsOf(tool: (typeof TOOLS)[number]): { trace_id: string; span_id: string } {
  const digit = String(TOOLS.indexOf(tool) + 1)
  return { trace_id: digit.repeat(32), span_id: `a${digit.repeat(15)}` }
}

beforeAll(async () => {
  began = Date.now() / 1000
  ruled = await startSquall({ rules: RULES, flags: ['--task-window', '1s'] })
  for (const tool of HOSTILE) await ruled.ask(tool)
  for (const tool of TOOLS) {
    const { trace_id: trace, span_id: span } = idsOf(tool)
    await ruled.ask(tool, { traceparent: `00-${trace}-${span}-01` })
  }
  const address = new URL(ruled.squall.admin).host
  prometheus = await startPrometheus([{ address, labels: { workload: 'tools' } }], [])
})

afterAll(async () => {
  await prometheus?.close()
  await ruled?.close()
})

async function kept(query: string, count: number): Promise<readonly StoredExemplar[]> {
  let found: readonly StoredExemplar[] = []
  await eventually(async () => {
    found = await prometheus.exemplars(query)
    return found.length === count ? undefined : `${found.length} exemplars of ${query}`
  }, PATIENCE)
  return found
}

describe('Prometheus', () => {
  it('takes every sample, whatever the tools are called', async () => {
    await eventually(async () => {
      const [up] = await prometheus.instant('up')
      return up?.values[0] === 1 ? undefined : `up is ${up?.values[0]}`
    }, PATIENCE)
    const accept = 'application/openmetrics-text; version=1.0.0'
    const response = await fetch(`${ruled.squall.admin}/metrics`, { headers: { accept } })
    const families = parseOpenMetrics(await response.text())
    const calls = await prometheus.instant('squall_calls_total{method="tools/call"}')
    const names = families.get('squall_calls')!.lines.map(({ labels }) => labels['tool'])
    expect(new Set(calls.map(({ metric }) => metric['tool']))).toEqual(new Set(names))
    expect(calls).toHaveLength(names.length)
    expect(names).toHaveLength(HOSTILE.length + TOOLS.length)
  })

  it('keeps the trace of a call with each verdict on it', async () => {
    const found = await kept('squall_after_fault_total', 3)
    const seen = found.map(({ series, labels }) => [series['tool'], series['verdict'], labels])
    expect(new Set(seen)).toEqual(
      new Set([
        ['broken', 'switched_tool', idsOf('broken')],
        ['short', 'continued', idsOf('short')],
        ['slow', 'continued', idsOf('slow')],
      ]),
    )
  })

  it('keeps the trace of each call in the bucket of its duration', async () => {
    const found = await kept('squall_call_duration_seconds_bucket', TOOLS.length)
    for (const tool of TOOLS) {
      const exemplar = found.find(({ series }) => series['tool'] === tool)!
      expect(exemplar.labels).toEqual(idsOf(tool))
      expect(exemplar.value).toBeLessThanOrEqual(Number(exemplar.series['le']))
      expect(exemplar.at).toBeGreaterThanOrEqual(began)
      expect(exemplar.series).toMatchObject({ job: 'squall', workload: 'tools' })
    }
    const slow = found.find(({ series }) => series['tool'] === 'slow')!
    // The bucket after 0.1 s; a machine that stalls may need a later one.
    expect(Number(slow.series['le'])).toBeGreaterThanOrEqual(0.25)
    expect(slow.value).toBeGreaterThan(0.119)
  })

  it.each([
    ['squall_errors_total', ['broken']],
    ['squall_calls_changed_total', ['short']],
    ['squall_faults_injected_total', ['broken', 'short', 'slow']],
  ] as const)('keeps them with %s', async (name, tools) => {
    const found = await kept(name, tools.length)
    const reported = found.map(({ series, labels }) => [series['tool'], labels])
    expect(Object.fromEntries(reported)).toEqual(
      Object.fromEntries(tools.map((tool) => [tool, idsOf(tool)])),
    )
  })
})
