import { createServer } from 'node:http'
import { endServer } from '#admin-api'
import { isTrustedHost, type ListenAddress } from '#protocol'
import {
  bind,
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

/**
 * Serves `/metrics` to requests whose Host header is an address, a local name, or in `hosts`.
 * Throws a `BindError`.
 */
export async function serveMetrics(
  listen: ListenAddress,
  page: () => string,
  hosts: readonly string[] = [],
) {
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
  const { text: address } = await bind(server, listen)
  // Open scrapes do not keep the load running.
  server.unref()
  return { address, close: () => endServer(server, 0) }
}

const BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Renders the metrics of a running load for Prometheus. */
export function metricsPage(recorder: Recorder): string {
  const { counts, latency } = recorder
  const { arrivals } = recorder.tasks
  const { tcsr, blastRadius } = indicatorsOf(counts)
  const { tasks, failedTasks, retries } = counts
  const calls = [...callsByLabel(recorder)].flatMap(([tool, { calls: all, ok }]) => [
    { labels: { tool, result: 'success' }, value: ok },
    { labels: { tool, result: 'failure' }, value: all - ok },
  ])
  const failed = recorder.errors.byOrigin()
  const errors = ORIGINS.map((origin) => ({ labels: { origin }, value: failed[origin] }))
  const ended = [
    { labels: { result: 'success' }, value: tasks - failedTasks },
    { labels: { result: 'failure' }, value: failedTasks },
  ]
  const took = 'call_duration_seconds'
  const buckets = BOUNDS_S.map((bound) => ({
    labels: { le: String(bound) },
    value: latency.countUpTo(bound * 1000),
  }))
  return [
    family('calls_total', 'counter', 'Completed calls, by tool and result.', calls),
    family('errors_total', 'counter', 'Failed calls, by origin of the error.', errors),
    family('tasks_total', 'counter', 'Completed tasks, by result.', ended),
    family('retries_total', 'counter', 'Retries of calls.', retries),
    family('arrivals_total', 'counter', 'Scheduled calls.', arrivals.planned),
    family(
      'dropped_total',
      'counter',
      'Scheduled calls that could not be started.',
      arrivals.dropped,
    ),
    family('in_flight', 'gauge', 'In-flight calls.', recorder.inFlight.total),
    family('success_ratio', 'gauge', 'Ratio of successful calls to all calls.', tcsr ?? Number.NaN),
    family(
      'blast_radius',
      'gauge',
      'Ratio of failed tasks to all tasks (blast radius).',
      blastRadius ?? Number.NaN,
    ),
    family(took, 'histogram', 'Call latency, from the scheduled start of the call.', []),
    samples(`${took}_bucket`, [...buckets, { labels: { le: '+Inf' }, value: latency.count }]),
    samples(`${took}_sum`, latency.sumMs / 1000),
    samples(`${took}_count`, latency.count),
  ].join('')
}

function family(
  name: string,
  type: MetricSpec['type'],
  help: string,
  values: number | readonly Sample[],
): string {
  const head = familyText({ name: `squall_load_${name}`, type, help }, 'prometheus')
  return head + samples(name, values)
}

function samples(name: string, values: number | readonly Sample[]): string {
  const all = typeof values === 'number' ? [{ labels: {}, value: values }] : values
  return samplesText(`squall_load_${name}`, all)
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
