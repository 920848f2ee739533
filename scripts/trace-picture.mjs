// Draws the spans of a real trace, as a collector receives them: docs/guides/tracing.svg. Build first.
import { propagation, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import definitions from 'otlp-definitions/build/src/generated/root.js'
import { traceSvg } from './lib/trace-svg.mjs'

const path = (file) => fileURLToPath(new URL(`../${file}`, import.meta.url))
const { ExportTraceServiceRequest } = definitions.opentelemetry.proto.collector.trace.v1
const RULES = `rules:
  - name: search-down
    match: { tool: search }
    times: 1
    faults:
      - delay: { fixed: 60ms }
      - abort: { rpcError: { code: -32050, message: the index is down } }
`

const received = []
let traceId = ''
const ofTrace = () => received.filter((span) => span.trace === traceId)
const collector = createServer((request, response) => void receive(request, response))
collector.listen(0, '127.0.0.1')
await once(collector, 'listening')
const endpoint = `http://127.0.0.1:${collector.address().port}`

const directory = mkdtempSync(join(tmpdir(), 'squall-trace-'))
const programs = []
try {
  writeFileSync(join(directory, 'rules.yaml'), RULES)
  const server = await start([path('test/fixtures/traced-server.mjs'), 'json', endpoint], {})
  const listen = ['--listen', '127.0.0.1:0', '--admin', 'off']
  const target = ['--upstream', `http://127.0.0.1:${server.port}`]
  const rules = ['--rules', join(directory, 'rules.yaml')]
  const squall = await start([path('dist/cli/main.js'), 'run', ...listen, ...target, ...rules], {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  })
  await playAgent(`http://${squall.address}/mcp`)
  // The task, two calls as the agent and Squall saw them, the one of the server, and the verdict.
  for (const end = Date.now() + 20_000; ofTrace().length < 7; await sleep(50)) {
    if (Date.now() > end) throw new Error(`only ${ofTrace().length} spans came`)
  }
} finally {
  for (const program of programs) program.kill()
  collector.close()
  rmSync(directory, { recursive: true, force: true })
}
writeFileSync(path('docs/guides/tracing.svg'), traceSvg(ofTrace()))
process.stdout.write(`wrote docs/guides/tracing.svg from ${ofTrace().length} spans\n`)

async function receive(request, response) {
  const parts = []
  for await (const part of request) parts.push(part)
  received.push(...spansOf(ExportTraceServiceRequest.decode(Buffer.concat(parts))))
  response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
}

/** Starts a program, and returns the line in which it says where it listens. */
async function start(args, env) {
  const stdio = ['ignore', 'pipe', 'inherit']
  const program = spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...env }, stdio })
  programs.push(program)
  for await (const line of createInterface(program.stdout)) {
    const entry = JSON.parse(line)
    if (entry.msg === 'listening') {
      program.stdout.resume()
      return entry
    }
  }
  throw new Error(`${args[0]} ended`)
}

/** Calls a tool, and calls it again after an error, in one trace. */
async function playAgent(url) {
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const resource = resourceFromAttributes({ 'service.name': 'agent' })
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` })
  const spanProcessors = [new SimpleSpanProcessor(exporter)]
  const provider = new BasicTracerProvider({ resource, spanProcessors })
  const tracer = provider.getTracer('agent')
  const client = new Client({ name: 'agent', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  // The first call loads code, and is in no trace of the agent.
  await client.callTool({ name: 'echo', arguments: { message: 'warm up' } })
  const task = tracer.startSpan('support task')
  const inTask = trace.setSpan(ROOT_CONTEXT, task)
  for (let isDone = false; !isDone;) {
    const span = tracer.startSpan('tools/call search', { kind: SpanKind.CLIENT }, inTask)
    const _meta = {}
    propagation.inject(trace.setSpan(inTask, span), _meta)
    const params = { name: 'search', arguments: { message: 'reset a password' }, _meta }
    isDone = await client.callTool(params).then(
      () => true,
      () => false,
    )
    span.end()
    if (!isDone) await sleep(15)
  }
  task.end()
  traceId = task.spanContext().traceId
  await client.close()
  await provider.shutdown()
}

function spansOf({ resourceSpans }) {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        service: valueOf(resource, 'service.name'),
        name: span.name,
        trace: Buffer.from(span.traceId).toString('hex'),
        id: Buffer.from(span.spanId).toString('hex'),
        parent: Buffer.from(span.parentSpanId ?? []).toString('hex'),
        start: Number(span.startTimeUnixNano) / 1e6,
        end: Number(span.endTimeUnixNano) / 1e6,
        verdict: valueOf(span, 'squall.verdict'),
        origin: valueOf(span, 'squall.origin'),
        error: valueOf(span, 'error.type'),
        events: span.events.map((event) => ({
          at: Number(event.timeUnixNano) / 1e6,
          fault: valueOf(event, 'squall.fault'),
        })),
      })),
    ),
  )
}

function valueOf(holder, key) {
  return holder.attributes.find((each) => each.key === key)?.value.stringValue
}
