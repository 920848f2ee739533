import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { isTrustedHost } from '#protocol'
import {
  CONTENT_TYPE,
  familyText,
  type MetricSpec,
  type Sample,
  samplesText,
  toolLabel,
} from '#sidecar'
import { indicatorsOf } from '../../indicators/indicators.ts'
import type { Recorder } from './recorder.ts'
import { ORIGINS } from './result.ts'

/** The endpoint that serves the metrics of a running load. */
export interface MetricsServer {
  readonly address: string
  close(): Promise<void>
}

/**
 * Serves `/metrics` to requests whose Host header is an address, a local name, or in `hosts`.
 * Rejects when the address cannot be bound.
 */
export async function serveMetrics(
  listen: ListenOptions,
  page: () => string,
  hosts: readonly string[] = [],
): Promise<MetricsServer> {
  const server = createServer(
    { maxHeaderSize: 16_384, requestTimeout: 10_000 },
    (request, response) => {
      const known = request.url?.split('?')[0] === '/metrics'
      if (!known || (request.method !== 'GET' && request.method !== 'HEAD')) {
        response.writeHead(known ? 405 : 404).end()
        return
      }
      if (!isTrustedHost(request.headers.host, hosts)) {
        response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' })
        response.end('unknown host name: use the address, or add the name to --metrics-hosts\n')
        return
      }
      response.writeHead(200, { 'content-type': CONTENT_TYPE.prometheus })
      response.end(request.method === 'HEAD' ? undefined : page())
    },
  )
  server.maxConnections = 100
  server.listen(listen)
  await once(server, 'listening')
  // Open scrapes do not keep the load running.
  server.unref()
  return {
    address: shown(server.address()),
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function shown(address: AddressInfo | string | null): string {
  if (typeof address === 'string' || address === null) return `unix:${address ?? ''}`
  const { address: host, port, family } = address
  return family === 'IPv6' ? `[${host}]:${port}` : `${host}:${port}`
}

const BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Renders the metrics of a running load for Prometheus. */
export function metricsPage(recorder: Recorder): string {
  const page = new Page()
  const { counts, arrivals, originCounts } = recorder
  page.head('squall_load_calls_total', 'counter', 'Completed calls, by tool and result.')
  for (const [tool, { calls, ok }] of callsByLabel(recorder)) {
    page.line('squall_load_calls_total', { tool, result: 'success' }, ok)
    page.line('squall_load_calls_total', { tool, result: 'failure' }, calls - ok)
  }
  page.head('squall_load_errors_total', 'counter', 'Failed calls, by origin of the error.')
  for (const origin of ORIGINS) {
    page.line('squall_load_errors_total', { origin }, originCounts[origin])
  }
  page.head('squall_load_tasks_total', 'counter', 'Completed tasks, by result.')
  page.line('squall_load_tasks_total', { result: 'success' }, counts.tasks - counts.failedTasks)
  page.line('squall_load_tasks_total', { result: 'failure' }, counts.failedTasks)
  page.single('squall_load_retries_total', 'counter', 'Retries of calls.', counts.retries)
  page.single('squall_load_arrivals_total', 'counter', 'Scheduled calls.', arrivals.planned)
  page.single(
    'squall_load_dropped_total',
    'counter',
    'Scheduled calls that could not be started.',
    arrivals.dropped,
  )
  page.single('squall_load_in_flight', 'gauge', 'In-flight calls.', recorder.inFlight)
  const { tcsr, blastRadius } = indicatorsOf(counts)
  page.single('squall_load_success_ratio', 'gauge', 'Success / calls.', tcsr ?? Number.NaN)
  page.single('squall_load_blast_radius', 'gauge', 'Failed / all tasks.', blastRadius ?? Number.NaN)
  const name = 'squall_load_call_duration_seconds'
  page.head(name, 'histogram', 'Call latency, from the scheduled start of the call.')
  const { latency } = recorder
  for (const bound of BOUNDS_S) {
    page.line(`${name}_bucket`, { le: String(bound) }, latency.countUpTo(bound * 1000))
  }
  page.line(`${name}_bucket`, { le: '+Inf' }, latency.count)
  page.line(`${name}_sum`, {}, latency.sumMs / 1000)
  page.line(`${name}_count`, {}, latency.count)
  return page.text
}

/** Returns the counts by label; equal labels are summed. */
function callsByLabel({ tools }: Recorder): ReadonlyMap<string, { calls: number; ok: number }> {
  const labels = new Map<string, { calls: number; ok: number }>()
  for (const [tool, { counts }] of tools) {
    const label = toolLabel(tool)
    const sum = labels.get(label) ?? { calls: 0, ok: 0 }
    labels.set(label, { calls: sum.calls + counts.calls, ok: sum.ok + counts.ok })
  }
  return labels
}

class Page {
  text = ''

  head(name: string, type: MetricSpec['type'], help: string): void {
    this.text += familyText({ name, type, help }, 'prometheus')
  }

  line(name: string, labels: Sample['labels'], value: number): void {
    this.text += samplesText(name, [{ labels, value }])
  }

  single(name: string, type: MetricSpec['type'], help: string, value: number): void {
    this.head(name, type, help)
    this.line(name, {}, value)
  }
}
