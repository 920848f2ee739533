// part: slow
import { propagation, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { closers, closeStack } from '../support/closers.ts'
import { rulesFile, startProgram, throughSquall } from '../support/commands.ts'
import { type Collector, type ExportedSpan, openClient, startUpstream } from '../support/wire.ts'

const opened = closers()
const shared = closeStack()
const SERVER = fileURLToPath(new URL('../fixtures/traced-server.mjs', import.meta.url))
const RULES = `rules:
  - name: search-down
    match: { tool: search }
    faults:
      - delay: { fixed: 30ms }
      - abort: { rpcError: { code: -32050, message: the index is down } }
  - name: canary
    match: { tool: echo, baggage: { tenant: canary } }
    faults: [abort: { rpcError: { code: -32051, message: for the canary } }]
`

beforeAll(() => {
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
})

/** An agent that exports a span for its task and one for each call, as instrumented clients do. */
function agentOf({ endpoint }: Collector) {
  const resource = defaultResource().merge(resourceFromAttributes({ 'service.name': 'agent' }))
  const processor = new SimpleSpanProcessor(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }))
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] })
  opened({ close: () => provider.shutdown() })
  const tracer = provider.getTracer('agent')
  const task = tracer.startSpan('task')
  const inTask = trace.setSpan(ROOT_CONTEXT, task)
  return {
    end: () => task.end(),
    async call(by: (meta: Record<string, unknown>) => Promise<unknown>, tool: string) {
      const span = tracer.startSpan(`tools/call ${tool}`, { kind: SpanKind.CLIENT }, inTask)
      const meta = {}
      propagation.inject(trace.setSpan(inTask, span), meta)
      const result = await by(meta).catch((error: unknown) => String(error))
      span.end()
      return result
    },
  }
}

const exporting = (endpoint: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_BSP_SCHEDULE_DELAY: '50',
})

/** The command line of a client for stdio, which passes no variables on. */
function stdioThrough(endpoint: string): string {
  const server = [process.execPath, SERVER, 'stdio', endpoint]
  const variables = Object.entries(exporting(endpoint)).map((each) => each.join('='))
  const command = throughSquall(['--rules', rulesFile(RULES)], server)
  return JSON.stringify(['/usr/bin/env', ...variables, ...command])
}

async function httpThrough(endpoint: string): Promise<string> {
  const server = startProgram([SERVER, 'http', endpoint], {}, { program: process.execPath })
  shared.open({ close: () => server.kill() })
  const { port } = await server.logged('listening')
  const flags = ['--listen', '127.0.0.1:0', '--upstream', `http://127.0.0.1:${String(port)}`]
  const args = ['run', ...flags, '--admin', 'off', '--rules', rulesFile(RULES)]
  const squall = startProgram(args, exporting(endpoint))
  shared.open({ close: () => squall.kill() })
  const { address } = await squall.logged('listening')
  return `http://${String(address)}`
}

/** Starting programs takes longer than the calls: all clients have one server, Squall and collector. */
let collector: Collector
let url: string

beforeAll(async () => {
  collector = shared.open(await startUpstream('collector'))
  url = await httpThrough(collector.endpoint)
})

afterAll(shared.closeAll)

const TRANSPORTS = [
  ['HTTP with JSON', 'v1', '/mcp'],
  ['HTTP with event streams', 'v1', '/streams/mcp'],
  ['HTTP+SSE', 'v1', '/sse'],
  ['stdio', 'v1', 'stdio'],
  ['protocol version 2026-07-28', 'v2 auto', '/modern/mcp'],
] as const

async function clientOver(sdk: 'v1' | 'v2 auto', path: string) {
  const isStdio = path === 'stdio'
  const transport = isStdio ? 'stdio' : path === '/sse' ? 'sse' : 'streamableHttp'
  const target = isStdio ? stdioThrough(collector.endpoint) : `${url}${path}`
  return opened(await openClient(sdk)(target, transport))
}

it.each(TRANSPORTS)(
  'an agent, Squall and a server share one trace over %s',
  async (_, sdk, path) => {
    const isStdio = path === 'stdio'
    const client = await clientOver(sdk, path)
    const agent = agentOf(collector)
    const call = (tool: string) =>
      agent.call((meta) => client.call(tool, { message: 'hello' }, { meta }), tool)
    const before = collector.spans.length
    const fine = await call('echo')
    const failed = await call('search')
    agent.end()
    // The task, two calls as the agent and Squall saw them, and the one that reached the server.
    const spans = (await collector.received(before + 6)).slice(before)
    const of = (service: string, name: string): ExportedSpan =>
      spans.find((span) => span.service === service && span.name === name)!
    const task = of('agent', 'task')
    expect(JSON.stringify(fine)).toContain(`hello in ${task.trace}`)
    expect(String(failed)).toContain('the index is down')
    expect(new Set(spans.map((span) => span.trace))).toEqual(new Set([task.trace]))
    for (const tool of ['echo', 'search']) {
      const own = of('agent', `tools/call ${tool}`)
      expect(own.parent).toBe(task.id)
      expect(of('squall', `tools/call ${tool}`).parent).toBe(own.id)
    }
    // The bytes stay as they are: Squall's span is a sibling of the server's.
    expect(of('tools', 'tools/call echo').parent).toBe(of('agent', 'tools/call echo').id)
    const echo = of('squall', 'tools/call echo')
    expect(echo).toMatchObject({ kind: 1, events: [], status: { code: 0 } })
    expect(echo.attributes).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'echo',
      'gen_ai.operation.name': 'execute_tool',
      'network.transport': isStdio ? 'pipe' : 'tcp',
      'squall.origin': 'real',
    })
    expect(echo.attributes['mcp.protocol.version']).toBe(
      path === '/modern/mcp' ? '2026-07-28' : '2025-11-25',
    )
    const search = of('squall', 'tools/call search')
    expect(search.status).toEqual({ code: 2, message: 'the index is down' })
    expect(search.attributes).toMatchObject({
      'error.type': '-32050',
      'rpc.response.status_code': '-32050',
      'squall.origin': 'injected',
    })
    expect(search.events.map(({ name, attributes }) => [name, attributes['squall.fault']])).toEqual(
      [
        ['squall.fault', 'delay'],
        ['squall.fault', 'abort'],
      ],
    )
    expect(search.events[0]!.attributes).toMatchObject({
      'squall.rule': 'search-down',
      'squall.delay': 0.03,
    })
    const [delayed, aborted] = search.events.map(({ at }) => at)
    expect(delayed!).toBeGreaterThanOrEqual(search.start)
    expect(aborted!).toBeGreaterThanOrEqual(delayed!)
    expect(search.end - search.start).toBeGreaterThanOrEqual(29)
    expect(search.end).toBeGreaterThanOrEqual(aborted!)
  },
)

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'
const HOSTILE: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'a megabyte as trace': { traceparent: 'a'.repeat(1 << 20) },
  'a trace with control characters': { traceparent: `${TRACE.slice(0, 54)}\u001b` },
  '10,000 members': {
    baggage: `${Array.from({ length: 10_000 }, (__, i) => `k${i}=v`).join()},tenant=canary`,
  },
  'control characters': { baggage: 'tenant=canary\u0000\u001b[31m' },
  'no text': { traceparent: { id: TRACE }, baggage: ['tenant=canary'] },
  // Servers reject so large a message; Squall goes on.
  '8 MB': { baggage: `tenant=canary,a=${'x'.repeat(8 << 20)}` },
}

it.each(TRANSPORTS)(
  'a hostile context selects, samples and hurts nothing over %s',
  async (_, sdk, path) => {
    const call = async (meta: Record<string, unknown>): Promise<string> => {
      const client = await clientOver(sdk, path)
      const text = await client
        .call('echo', { message: 'hello' }, { meta })
        .then(JSON.stringify, String)
      await client.close().catch(() => undefined)
      return text
    }
    const before = collector.spans.length
    for (const [name, meta] of Object.entries(HOSTILE)) {
      // This server ends its connections with so large a message: the next call may meet that end.
      if (name === '8 MB' && path === '/sse') continue
      const text = await call({ ...meta })
      expect(text, name).not.toContain('for the canary')
      if (name !== '8 MB') expect(text, name).toContain('hello')
    }
    expect(await call({ baggage: 'tenant=canary' })).toContain('for the canary')
    const own = collector.spans.slice(before).filter(({ service }) => service === 'squall')
    expect(own).toEqual([])
  },
)
