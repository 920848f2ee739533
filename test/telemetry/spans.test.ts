import { afterEach, expect, it, vi } from 'vitest'
import { parseRunOptions } from '../../src/sidecar/run-options.ts'
import { readTap } from '../admin/event-reader.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { type ExportedSpan, openClient, startUpstream } from '../support/wire.ts'
import { exportingTo, HEADER, message, META, PARENT, post, traceparent } from './sampled-calls.ts'

const opened = closers()
const start = exportingTo(opened)

afterEach(() => void vi.unstubAllEnvs())

const failing = (match = '{}'): string => `rules:
  - name: down
    match: ${match}
    faults: [abort: { rpcError: { code: -32001, message: down } }]
`

it('exports the calls whose parent is sampled, and no other', async () => {
  const { collector, ruled } = await start({ rules: failing() })
  await post(ruled, message(1))
  await post(ruled, message(2), { traceparent: traceparent(HEADER, '00') })
  await post(ruled, message(3, { traceparent: traceparent(META) }))
  const [span] = await collector.received(1)
  await ruled.close()
  expect(collector.spans.filter(({ name }) => name !== 'squall.verdict')).toHaveLength(1)
  expect(span).toMatchObject({ name: 'tools/call echo', trace: META, parent: PARENT })
  expect(span!.attributes['jsonrpc.request.id']).toBe('3')
})

it('--trace-injected exports each call with a fault', async () => {
  const rules = failing('{ tool: broken }')
  const { collector, ruled } = await start({ rules, flags: ['--trace-injected'] })
  await post(ruled, message(1))
  await post(ruled, message(2, {}, 'broken'))
  await post(ruled, message(3, { traceparent: traceparent(META, '00') }, 'broken'))
  const spans = await collector.received(2)
  expect(
    spans.slice(0, 2).map(({ attributes, parent }) => [attributes['jsonrpc.request.id'], parent]),
  ).toEqual([
    ['2', ''],
    ['3', PARENT],
  ])
})

it.each([
  ['always_on', 2],
  ['always_off', 0],
  ['parentbased_always_on', 1],
])('OTEL_TRACES_SAMPLER=%s has its meaning', async (sampler, expected) => {
  const { collector, ruled } = await start({ otel: { OTEL_TRACES_SAMPLER: sampler } })
  await post(ruled, message(1))
  await post(ruled, message(2), { traceparent: traceparent(HEADER, '00') })
  await ruled.close()
  expect(collector.spans).toHaveLength(expected)
})

it('each call of a batch has its own span and parent', async () => {
  const { collector, ruled } = await start({ rules: failing() })
  const batch = [message(1, { traceparent: traceparent(META) }), message(2)]
  await post(ruled, batch, { traceparent: traceparent(HEADER) })
  const spans = await collector.received(2)
  const of = (id: string): ExportedSpan | undefined =>
    spans.find(({ attributes }) => attributes['jsonrpc.request.id'] === id)
  expect(of('1')).toMatchObject({ trace: META, links: [{ trace: HEADER, id: PARENT }] })
  expect(of('2')).toMatchObject({ trace: HEADER, links: [] })
})

it('a reconnect is an event of the call', async () => {
  const server = await startUpstream('session')
  opened({ close: () => server.host.close() })
  const flags = ['--upstream', new URL(server.host.url).origin]
  const collector = opened(await startUpstream('collector'))
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '20')
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }
  const squall = opened(await startSquall({ flags, env }))
  const { pathname } = new URL(server.host.url)
  const client = opened(
    await openClient('v1')(`http://127.0.0.1:${squall.port}${pathname}`, 'streamableHttp'),
  )
  const meta = { traceparent: traceparent(META) }
  await client.call('end the stream', {}, { meta, onprogress: () => undefined })
  const [span] = await collector.received(1)
  expect(span!.events.map(({ name }) => name)).toEqual(['squall.resumed'])
  expect(span!.events[0]!.at).toBeGreaterThanOrEqual(span!.start)
  expect(span!.events[0]!.at).toBeLessThanOrEqual(span!.end)
})

it('a verdict is a span without length that links to its call', async () => {
  const rules = failing('{ tool: echo }').replace('faults:', 'times: 1\n    faults:')
  const { collector, ruled } = await start({ rules })
  const headers = { 'x-task-id': 'one', traceparent: traceparent(HEADER) }
  await post(ruled, message(1), headers)
  await post(ruled, message(2), headers)
  const spans = await collector.received(3)
  const [failed, , verdict] = [1, 2]
    .map((id) => spans.find(({ attributes }) => attributes['jsonrpc.request.id'] === String(id)))
    .concat(spans.filter(({ name }) => name === 'squall.verdict'))
  expect(verdict).toMatchObject({
    trace: HEADER,
    parent: PARENT,
    links: [{ trace: HEADER, id: failed!.id }],
    attributes: {
      'squall.verdict': 'retried',
      'squall.causes': ['abort'],
      'gen_ai.tool.name': 'echo',
    },
  })
  expect(verdict!.end - verdict!.start).toBe(0)
})

it('no argument, result or header is in a span, and sessions are hashed', async () => {
  const body = { traceparent: traceparent(META) }
  const secret = { authorization: 'Bearer planted-1', 'mcp-session-id': 'planted-2' }
  const { collector, ruled } = await start()
  await post(ruled, message(1, body, 'echo', { text: 'planted-3' }), secret)
  const [span] = await collector.received(1)
  expect(span!.attributes['mcp.session.id']).toMatch(/^[0-9a-f]{8}$/)
  const bytes = collector.requests.map(({ text }) => text).join()
  expect(bytes).toContain('tools/call')
  expect(bytes).not.toMatch(/planted|fine/)
})

it('--trace-session-ids shows the ids of sessions', async () => {
  const { collector, ruled } = await start({ flags: ['--trace-session-ids'] })
  await post(ruled, message(1, { traceparent: traceparent(META) }), { 'mcp-session-id': 'abc' })
  expect((await collector.received(1))[0]!.attributes['mcp.session.id']).toBe('abc')
})

it('control characters of a tool are escaped, and long names are cut', async () => {
  const { collector, ruled } = await start()
  const meta = { traceparent: traceparent(META) }
  await post(ruled, message(1, meta, `a\u001b[31m${'b'.repeat(5000)}`))
  const [{ name, attributes }] = (await collector.received(1)) as [ExportedSpan]
  // eslint-disable-next-line no-control-regex
  expect(name).not.toMatch(/[\u0000-\u001f]/)
  expect(name.length).toBeLessThan(300)
  expect(String(attributes['gen_ai.tool.name']).length).toBeLessThan(200)
})

it.each([
  ['http/json', 'application/json'],
  ['http/protobuf', 'application/x-protobuf'],
])('OTEL_EXPORTER_OTLP_PROTOCOL=%s decides the encoding', async (protocol, type) => {
  const { collector, ruled } = await start({ env: { OTEL_EXPORTER_OTLP_PROTOCOL: protocol } })
  await post(ruled, message(1, { traceparent: traceparent(META) }))
  await collector.received(1)
  expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', type })
})

it('the resource is named by the variables', async () => {
  const otel = { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging' }
  const { collector, ruled } = await start({ otel })
  await post(ruled, message(1, { traceparent: traceparent(META) }))
  const [span] = await collector.received(1)
  expect(span!.resource).toMatchObject({
    'service.name': 'squall',
    'deployment.environment.name': 'staging',
  })
})

it('a drain exports what waits, and does not wait for a collector that hangs', async () => {
  const otel = { OTEL_BSP_SCHEDULE_DELAY: '60000' }
  const one = await start({ otel })
  await post(one.ruled, message(1), { traceparent: traceparent(HEADER) })
  await one.squall.running.drain()
  expect(one.collector.spans).toHaveLength(1)
  const other = await start({ otel, behaviour: 'hang', flags: ['--drain-timeout', '200ms'] })
  await post(other.ruled, message(1), { traceparent: traceparent(HEADER) })
  await other.squall.running.drain()
  expect(other.squall.running.metrics.outputs.droppedSpans).toBe(1)
})

it.each([
  ['OTEL_SDK_DISABLED', 'true'],
  ['OTEL_TRACES_EXPORTER', 'none'],
])('%s=%s exports nothing', async (name, value) => {
  const { collector, ruled } = await start({ env: { [name]: value } })
  await post(ruled, message(1), { traceparent: traceparent(HEADER) })
  await ruled.close()
  expect(collector.requests).toHaveLength(0)
})

it.each(['not a url', 'ftp://collector', 'http://', 'unix:/run/otlp.sock'])(
  'the endpoint %s is logged, and calls pass',
  async (endpoint) => {
    const { ruled, squall } = await start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } })
    expect(await post(ruled, message(1), { traceparent: traceparent(HEADER) })).toContain('fine')
    expect(await squall.logged('invalid tracing setting')).toMatchObject({ level: 'warn' })
  },
)

it.each([
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', 'many'],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '0'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', 'never'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zip'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization: Bearer'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'service.namespace=a=b'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_SDK_DISABLED', 'yes'],
])('an invalid %s is logged and ignored', async (name, value) => {
  const { collector, squall, ruled } = await start({ otel: { [name]: value } })
  const { why } = await squall.logged('invalid tracing setting')
  expect(why).toContain(name)
  await post(ruled, message(1), { traceparent: traceparent(HEADER) })
  await post(ruled, message(2))
  await ruled.close()
  expect(collector.spans).toHaveLength(1)
  expect(squall.logs.filter(({ msg }) => msg === 'invalid tracing setting')).toHaveLength(1)
})

it.each([
  ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Basic YQ==, x-team=a%20b,'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'service.namespace=shop,deployment.environment.name='],
  ['OTEL_SDK_DISABLED', 'False'],
])('a valid %s is not logged', (name, value) => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', [name]: value }
  const { tracing } = parseRunOptions(new Map([['upstream', ['http://127.0.0.1:1']]]), env)
  expect(tracing?.warnings).toEqual([])
})

it.each([
  ['http://collector:4317', 'http://collector:4318/v1/traces'],
  ['collector:4317', 'http://collector:4318/v1/traces'],
  ['https://otlp.example.com', 'https://otlp.example.com/v1/traces'],
])('grpc is warned about, and %s becomes %s', (endpoint, url) => {
  const env = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }
  const { tracing } = parseRunOptions(new Map([['upstream', ['http://127.0.0.1:1']]]), env)
  expect(tracing).toMatchObject({ spans: { url, isJson: false } })
  expect(tracing?.warnings).toEqual([expect.stringContaining('http/protobuf')])
})

it('the endpoint for traces is used as it is, before the general one', () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://general:4318/',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces:4318/own/path',
  }
  const { tracing } = parseRunOptions(new Map([['upstream', ['http://127.0.0.1:1']]]), env)
  expect(tracing).toMatchObject({ spans: { url: 'http://traces:4318/own/path' } })
})

it('links lead from the tap and the samples to sampled traces', async () => {
  const flags = ['--trace-url', 'https://tracing.example.com/trace/{trace}?from="x"']
  const ruled = opened(await startSquall({ rules: failing(), flags }))
  const tap = opened(await readTap(ruled.squall.admin))
  await post(ruled, message(1), { traceparent: traceparent(META, '00') })
  await post(ruled, message(2), { traceparent: traceparent(HEADER) })
  const traceUrl = `https://tracing.example.com/trace/${HEADER}?from=%22x%22`
  const unsampled = await tap.next()
  expect(unsampled).toMatchObject({ trace: META })
  expect(unsampled).not.toHaveProperty('traceUrl')
  expect(await tap.next()).toMatchObject({ trace: HEADER, traceUrl })
  const errors = await (await fetch(`${ruled.squall.admin}/api/errors`)).text()
  expect(errors).toContain(JSON.stringify(traceUrl))
})

it.each([
  ['https://tracing.example.com/trace', 'must contain {trace}'],
  ['javascript:alert({trace})', 'must be an http or https URL'],
  ['https://me:secret@tracing.example.com/{trace}', 'has a user or a password'],
])('--trace-url %s is rejected', (url, wrong) => {
  const flags = new Map([
    ['upstream', ['http://127.0.0.1:1']],
    ['trace-url', [url]],
  ])
  expect(() => parseRunOptions(flags, {})).toThrow(wrong)
})
