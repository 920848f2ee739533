import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { HttpFront } from '../../src/listener/front/http-front.ts'
import { MemoryBudget } from '../../src/listener/memory-budget.ts'
import type { StackParts } from '../../src/listener/layers/stack-parts.ts'
import { PortSessions } from '../../src/listener/port-sessions.ts'
import { TrustedMarkers } from '../../src/listener/trusted-markers.ts'
import { stack } from '../../src/listener/stack.ts'
import { RareLog } from '../../src/listener/rare-log.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type { GaugeName, Telemetry } from '../../src/telemetry/telemetry.ts'
import { createConnector } from '../../src/upstream/connector.ts'
import { UpstreamConnections } from '../../src/upstream/http-upstream.ts'
import { closers } from '../support/closers.ts'
import {
  chunk,
  ENGINE_UNDER_TEST,
  exchange,
  metricOf,
  type RawApp,
  RawClient,
  response,
  type Script,
  startUpstream,
  STREAM_HEAD,
  toolCall,
  valueOf,
} from '../support/wire.ts'
import type { LogLine } from '../support/commands.ts'

const opened = closers()
const RESULT = '{"jsonrpc":"2.0","id":1,"result":{}}'

interface Stand {
  readonly app: RawApp
  readonly port: number
  readonly logs: readonly LogLine[]
  readonly metric: (name: string, labels: Readonly<Record<string, string>>) => Promise<number>
}

/** The parts of a listener put together by hand, so that single ones can be made to fail. */
async function stand(
  script: Script,
  parts: Partial<StackParts>,
  broken: (telemetry: Telemetry) => Partial<Telemetry> = () => ({}),
): Promise<Stand> {
  const app = opened(await startUpstream({ script }))
  const logs: LogLine[] = []
  const destination = { write: (line: string) => void logs.push(JSON.parse(line) as LogLine) }
  const logger = createLogger({ level: 'debug', format: 'json', destination })
  const metrics = new Metrics({ version: '0.0.0' })
  const names = [
    'call',
    'http',
    'unclassified',
    'rejected',
    'overhead',
    'gauge',
    'evicted',
  ] as const
  const whole = Object.fromEntries(
    names.map((name) => [name, (metrics[name] as () => void).bind(metrics)]),
  ) as unknown as Telemetry
  const telemetry: Telemetry = { ...whole, ...broken(metrics) }
  const address = { kind: 'tcp', tls: false, host: '127.0.0.1', port: app.port } as const
  const connector = createConnector({ address, timeout: 5_000, tls: () => ({}) })
  const bounds = {
    idle: 3_000,
    maxResponseHead: 65_536,
    maxConnections: 100,
    reuse: true,
    others: () => 0,
  }
  const now = (): number => performance.now()
  const fast = ENGINE_UNDER_TEST === 'fast'
  const onConnections = (): void => undefined
  const behind = opened(
    new UpstreamConnections({ address, connector, fast, ...bounds, onConnections, now }),
  )
  const limits = { maxInFlight: 100, inFlightTtl: 60_000, maxSessions: 100 }
  const markers = new TrustedMarkers(false)
  const sessions = new PortSessions(limits, { telemetry, now, markers })
  const exchanges = stack({
    streamTransport: 'http+sse',
    upstream: behind.upstream,
    inFlight: sessions.inFlight,
    sessions,
    markers,
    telemetry,
    logger,
    rareLog: new RareLog(logger, now),
    memory: new MemoryBudget(Infinity),
    now,
    holdTimeout: 120_000,
    maxBody: 1_048_576,
    strict: false,
    ...parts,
  })
  const front = new HttpFront(
    {
      maxHeaderSize: 65_536,
      headerTimeout: 60_000,
      bodyTimeout: 60_000,
      holdTimeout: 120_000,
      maxConnections: 100,
      overloadReserve: 256,
      clientKeepalive: 60_000,
      maxBody: 1_048_576,
      engine: ENGINE_UNDER_TEST,
    },
    { ...exchanges, upgrade: (_req, socket) => void socket.destroy() },
    telemetry,
    undefined,
  )
  opened(front)
  front.server.listen(0, '127.0.0.1')
  await once(front.server, 'listening')
  const { port } = front.server.address() as AddressInfo
  return {
    app,
    port,
    logs,
    metric: async (...asked) => metricOf((await metrics.render()).text, ...asked),
  }
}

const ok: Script = (each) =>
  void each.write(response('200 OK', ['Content-Type', 'application/json'], RESULT))
const classify = (): never => {
  throw new Error('a bug in reading')
}

describe('an error while a request is read', () => {
  test('lets it pass unread', async () => {
    const { app, port, logs, metric } = await stand(ok, { classify })
    const { response: given } = await exchange(port, toolCall(1), 'POST')
    expect([given?.status, given?.body.toString()]).toEqual([200, RESULT])
    expect(app.requests[0]?.body.toString()).toBe(toolCall(1).split('\r\n\r\n')[1])
    expect(logs).toMatchObject([{ level: 'error', err: { message: 'a bug in reading' } }])
    expect(await metric('squall_unclassified_total', { reason: 'internal_error' })).toBe(1)
    const http = { class: 'http', code: '200', origin: 'real' }
    expect(await metric('squall_http_requests_total', http)).toBe(1)
  })

  test('is an error for the client when strict', async () => {
    const { app, port, logs, metric } = await stand(ok, { classify, strict: true })
    const client = opened(await RawClient.connect(port))
    await client.send(toolCall(1), 'POST')
    const given = await client.response()
    expect(given?.status).toBe(500)
    expect(valueOf(given!.headers, 'x-squall-error')).toBe('internal_error')
    expect(given?.body.toString()).not.toContain('a bug in reading')
    expect(app.requests).toEqual([])
    expect(logs).toMatchObject([{ level: 'error', err: { message: 'a bug in reading' } }])
    expect(await metric('squall_rejected_total', { reason: 'internal_error' })).toBe(1)
    await client.send('GET /x HTTP/1.1\r\nHost: pod\r\n\r\n', 'GET')
    expect((await client.response(1))?.status).toBe(200)
  })
})

describe('an error while a response is watched', () => {
  /** Fails when a stream of a response is first reported. */
  const brokenGauge = (telemetry: Telemetry): Partial<Telemetry> => {
    let failed = false
    return {
      gauge: (name: GaugeName, delta: number) => {
        if (name !== 'request_streams' || failed) return telemetry.gauge(name, delta)
        failed = true
        throw new Error('a bug in watching')
      },
    }
  }
  const streaming: Script = (each) => {
    const { id } = JSON.parse(each.request.body.toString()) as { id: number }
    const event = `data: {"jsonrpc":"2.0","id":${id},"result":{}}\n\n`
    void each.send([STREAM_HEAD, chunk(event), '0\r\n\r\n'])
  }

  test('touches neither that response nor any other', async () => {
    const { port, logs, metric } = await stand(streaming, {}, brokenGauge)
    const client = opened(await RawClient.connect(port))
    for (const id of [1, 2]) {
      await client.send(toolCall(id), 'POST')
      const given = await client.response(id - 1)
      expect(given?.complete).toBe(true)
      expect(given?.body.toString()).toBe(`data: {"jsonrpc":"2.0","id":${id},"result":{}}\n\n`)
    }
    expect(logs).toMatchObject([{ level: 'error', err: { message: 'a bug in watching' } }])
    expect(await metric('squall_unclassified_total', { reason: 'internal_error' })).toBe(1)
    const unseen = { outcome: 'incomplete', origin: 'squall' }
    expect(await metric('squall_calls_total', unseen)).toBe(1)
    expect(await metric('squall_calls_total', { outcome: 'ok', origin: 'real' })).toBe(1)
  })

  test('touches neither in the middle of a response', async () => {
    let failed = false
    const { port, logs } = await stand(streaming, {}, (telemetry) => ({
      call: (record) => {
        if (failed) return telemetry.call(record)
        failed = true
        throw new Error('a bug in counting')
      },
    }))
    for (const id of [1, 2]) {
      const { response: given } = await exchange(port, toolCall(id), 'POST')
      expect(given?.complete).toBe(true)
    }
    expect(logs).toMatchObject([{ level: 'error', err: { message: 'a bug in counting' } }])
  })
})
