import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { factsOf } from '../../src/mcp/request-facts.ts'
import type { HeaderLines } from '../../src/http/headers.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { METRICS } from '../../src/telemetry/metric-table.ts'
import type { CallRecord } from '../../src/telemetry/telemetry.ts'
import { parseExposition } from './exposition.ts'
import { type OpenFamily, type OpenLine, parseOpenMetrics } from './openmetrics.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const traceOf = (headers: HeaderLines): string | undefined =>
  factsOf({ method: 'POST', target: '/mcp', version: '1.1', headers }).trace

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'
const TRACE = `00-${TRACE_ID}-${SPAN_ID}-01`
const OTHER_ID = '0af7651916cd43dd8448eb211c80319c'
const UNSAMPLED = `00-${OTHER_ID}-${SPAN_ID}-00`
const SHOWN = { trace_id: TRACE_ID, span_id: SPAN_ID }
const OPEN = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
const PLAIN = 'text/plain; version=0.0.4; charset=utf-8'
/** As Prometheus asks. */
const PROMETHEUS =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'

const CALL: CallRecord = {
  method: 'tools/call',
  name: 'search',
  outcome: 'ok',
  origin: 'real',
  seconds: 0.02,
  upstreamSeconds: 0.019,
}

const running: RuledSquall[] = []
afterAll(async () => {
  for (const each of running.splice(0)) await each.close()
})

async function opened(url: string): Promise<Map<string, OpenFamily>> {
  const response = await fetch(`${url}/metrics`, { headers: { accept: PROMETHEUS } })
  return parseOpenMetrics(await response.text())
}

function exemplars(families: ReadonlyMap<string, OpenFamily>, name: string): OpenLine[] {
  return families.get(name)!.lines.filter(({ exemplar }) => exemplar !== undefined)
}

describe('a traceparent', () => {
  it.each([
    ['of the first version', [TRACE], TRACE],
    ['with another case of its name', ['TraceParent', TRACE], TRACE],
    ['of a later version', [`01-${TRACE_ID}-${SPAN_ID}-09`], `01-${TRACE_ID}-${SPAN_ID}-09`],
    ['of a later version that goes on', [`cc${TRACE.slice(2)}-more`], `cc${TRACE.slice(2)}`],
    ['of the first version that goes on', [`${TRACE}-more`], undefined],
    ['of a version that there is not', [`ff${TRACE.slice(2)}`], undefined],
    ['without a trace', [`00-${'0'.repeat(32)}-${SPAN_ID}-01`], undefined],
    ['without a span', [`00-${TRACE_ID}-${'0'.repeat(16)}-01`], undefined],
    ['in capitals', [TRACE.toUpperCase()], undefined],
    ['cut', [TRACE.slice(0, -1)], undefined],
    ['with a quote in it', [TRACE.replace('4', '"')], undefined],
    ['empty', [''], undefined],
    ['of a megabyte', ['0'.repeat(1024 * 1024)], undefined],
  ])('%s', (_, value, trace) => {
    const lines = value.length === 1 ? ['traceparent', ...value] : value
    expect(traceOf(['Host', 'a', 'tracestate', 'x=1', ...lines])).toBe(trace)
  })

  it('that comes twice belongs to nobody', () => {
    expect(traceOf(['traceparent', TRACE, 'Traceparent', TRACE])).toBeUndefined()
    expect(traceOf(['host', 'a'])).toBeUndefined()
  })
})

describe('a scrape', () => {
  let ruled: RuledSquall

  beforeAll(async () => {
    ruled = await startSquall({ rules: 'rules: []' })
    running.push(ruled)
  })

  it.each([
    ['Prometheus', PROMETHEUS, OPEN],
    ['somebody who names OpenMetrics', 'application/openmetrics-text', OPEN],
    ['somebody who likes both', 'text/plain, application/openmetrics-text', OPEN],
    ['a browser', 'text/html,application/xhtml+xml,*/*;q=0.8', PLAIN],
    ['nobody in particular', '', PLAIN],
    ['somebody who knows an earlier version', 'application/openmetrics-text;version=0.0.1', PLAIN],
    ['somebody who likes text more', 'application/openmetrics-text;q=0.5,text/plain', PLAIN],
    ['somebody who wants none of it', 'application/openmetrics-text;q=0', PLAIN],
    ['somebody who writes nonsense', ';;,=;q=x,application/openmetrics-text;q=no', PLAIN],
  ])('is answered to %s', async (_, accept, type) => {
    const response = await fetch(`${ruled.squall.admin}/metrics`, { headers: { accept } })
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.get('vary')).toBe('accept')
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(Number(response.headers.get('content-length'))).toBe(bytes.length)
    const parse = type === OPEN ? parseOpenMetrics : parseExposition
    expect(parse(bytes.toString()).size).toBeGreaterThan(METRICS.length)
    const head = await fetch(`${ruled.squall.admin}/metrics`, {
      method: 'HEAD',
      headers: { accept },
    })
    expect(head.headers.get('content-type')).toBe(type)
    expect(await head.text()).toBe('')
  })

  it('says the same in both formats, and names families as each wants it', async () => {
    const metrics = new Metrics({ version: '1' })
    metrics.call({ ...CALL, trace: TRACE })
    metrics.call({ ...CALL, outcome: 'tool_error', trace: TRACE })
    const plain = parseExposition((await metrics.render()).text)
    const open = parseOpenMetrics((await metrics.render('openmetrics')).text)
    for (const { name, type } of METRICS) {
      const family = open.get(type === 'counter' ? name.replace(/_total$/, '') : name)
      expect(family).toMatchObject({ type })
      // The clock goes on between the scrapes.
      if (name === 'squall_clock_seconds') continue
      const values = family!.lines.map((line) => [line.name, line.value])
      expect(values).toEqual(plain.get(name)!.lines.map((line) => [line.name, line.value]))
    }
    expect((await metrics.render()).text).not.toContain('trace_id')
  })
})

describe('an exemplar', () => {
  it('is in the bucket of the call, and with its error', async () => {
    const metrics = new Metrics({ version: '1' })
    const began = Date.now()
    metrics.call(CALL)
    metrics.call({ ...CALL, outcome: 'tool_error', seconds: 99, trace: TRACE })
    const families = parseOpenMetrics((await metrics.render('openmetrics')).text)
    const [bucket, ...more] = exemplars(families, 'squall_call_duration_seconds')
    expect(more).toEqual([])
    expect(bucket).toMatchObject({ labels: { tool: 'search', le: '+Inf' } })
    expect(bucket!.exemplar).toMatchObject({ labels: SHOWN, value: 99 })
    expect(bucket!.exemplar!.at * 1000).toBeGreaterThanOrEqual(began)
    expect(bucket!.exemplar!.at * 1000).toBeLessThanOrEqual(Date.now())
    expect(exemplars(families, 'squall_errors')).toMatchObject([
      { labels: { kind: 'tool_error' }, exemplar: { labels: SHOWN, value: 1 } },
    ])
  })

  it('is the newest, but that a trace which nobody recorded replaces none that was', async () => {
    const metrics = new Metrics({ version: '1' })
    const shown = async (): Promise<string | undefined> => {
      const families = parseOpenMetrics((await metrics.render('openmetrics')).text)
      return exemplars(families, 'squall_call_duration_seconds')[0]?.exemplar?.labels['trace_id']
    }
    metrics.call({ ...CALL, trace: UNSAMPLED })
    expect(await shown()).toBe(OTHER_ID)
    metrics.call({ ...CALL, trace: TRACE })
    metrics.call({ ...CALL, trace: UNSAMPLED })
    expect(await shown()).toBe(TRACE_ID)
  })

  it('of an error is with the calls where a scrape has no errors by kind', async () => {
    const metrics = new Metrics({ version: '1', detail: 'basic' })
    metrics.call({ ...CALL, trace: UNSAMPLED })
    metrics.call({ ...CALL, outcome: 'tool_error', trace: TRACE })
    metrics.call({ ...CALL, outcome: 'cancelled', trace: TRACE })
    const families = parseOpenMetrics((await metrics.render('openmetrics')).text)
    const [error, ...others] = exemplars(families, 'squall_calls')
    expect(error).toMatchObject({ labels: { outcome: 'tool_error' }, exemplar: { labels: SHOWN } })
    expect(others).toEqual([])
    expect(families.get('squall_errors')?.lines ?? []).toEqual([])
  })

  it('comes from the request, whose headers reach the upstream untouched', async () => {
    const heard: (string | undefined)[] = []
    const rules = `rules:
  - { name: cut, match: { tool: cut }, faults: [truncate: { content: { chars: 1 } }] }
  - { name: fail, match: { tool: fail }, faults: [delay: { fixed: 1ms }, abort: { toolError: no }] }
`
    const ruled = await startSquall({
      rules,
      upstream: (req, res) => {
        heard.push(req.headers['traceparent'] as string | undefined)
        const at = req.rawHeaders.findIndex((name) => name.toLowerCase() === 'traceparent')
        heard.push(req.rawHeaders[at])
        let body = ''
        req.setEncoding('utf8').on('data', (part: string) => (body += part))
        req.on('end', () => {
          const { id } = JSON.parse(body) as { id: number }
          const result = { content: [{ type: 'text', text: 'fine' }] }
          res.setHeader('content-type', 'application/json')
          res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
        })
      },
    })
    running.push(ruled)
    await ruled.ask('plain', { TraceParent: TRACE, tracestate: 'a=b' })
    await ruled.ask('plain', { traceparent: 'not-a-trace' })
    await ruled.ask('cut', { traceparent: TRACE })
    await ruled.ask('fail', { traceparent: TRACE })
    expect(heard).toEqual([
      TRACE,
      'TraceParent',
      'not-a-trace',
      'traceparent',
      TRACE,
      'traceparent',
    ])
    await ruled.squall.reaches('squall_calls_total', {}, 4)
    const families = await opened(ruled.squall.admin)
    const pointing = [...families.values()].flatMap(({ lines }) =>
      lines.flatMap(({ name, labels, exemplar }) =>
        exemplar === undefined ? [] : [{ name, tool: labels['tool'], ...exemplar.labels }],
      ),
    )
    const all = (name: string, tool: string | undefined): object => ({ name, tool, ...SHOWN })
    expect(pointing).toEqual([
      all('squall_errors_total', 'fail'),
      all('squall_calls_changed_total', 'cut'),
      ...['plain', 'cut', 'fail'].map((tool) => all('squall_call_duration_seconds_bucket', tool)),
      ...['plain', 'cut'].map((tool) => all('squall_upstream_duration_seconds_bucket', tool)),
      all('squall_faults_injected_total', 'cut'),
      all('squall_faults_injected_total', 'fail'),
      all('squall_faults_injected_total', 'fail'),
      all('squall_injected_delay_seconds_bucket', undefined),
      all('squall_after_fault_total', 'cut'),
    ])
  })
})
