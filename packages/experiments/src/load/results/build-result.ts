import { indicatorsOf } from '../../indicators/indicators.ts'
import { shownUrl } from '#base'
import type { Endpoint } from '../clients/load-client.ts'
import { type LoadOptions, shardOf } from '../load-options.ts'
import type { Recorder } from './recorder.ts'
import {
  type AgentResult,
  type Arrivals,
  type HeldStreams,
  type LeftOutTool,
  LOAD_SCHEMA,
  type LoadResult,
  type RunInfo,
} from './result.ts'
import { evaluateSlo } from './slo.ts'

/** Describes the time and the completeness of a run. */
interface RunTimes extends Pick<RunInfo, 'durationMs' | 'complete'> {
  readonly startedAt: Date
  readonly leftOut: readonly LeftOutTool[]
  readonly missedFaults: number | undefined
  readonly agents: AgentResult | undefined
}

/** Builds the result of a run, without secrets. */
export function buildResult(
  options: LoadOptions,
  endpoint: Endpoint,
  recorder: Recorder,
  held: HeldStreams,
  { startedAt, durationMs, complete, leftOut, missedFaults, agents }: RunTimes,
): LoadResult {
  const { target, pace, shard, seed, checks, version } = options
  const counts = { ...recorder.counts }
  const indicators = indicatorsOf(counts)
  const latency = recorder.latency.latency()
  const tools = [...recorder.tools.values()].map((tool) => tool.result())
  const result: Omit<LoadResult, 'slo'> = {
    schema: LOAD_SCHEMA,
    squall: version,
    run: {
      target: shownUrl(target.url),
      server: endpoint.server,
      protocolVersion: endpoint.protocolVersion,
      client: target.client,
      startedAt: startedAt.toISOString(),
      durationMs: Math.round(durationMs),
      seed,
      model: pace.rate === undefined ? 'closed' : 'open',
      complete,
      ...(shard !== undefined && { shard }),
      ...(leftOut.length > 0 && { leftOut }),
      ...(missedFaults !== undefined && { missedFaults }),
      options: shownOptions(options),
    },
    counts,
    indicators,
    arrivals: {
      ...recorder.tasks.arrivals,
      ...(complete && unservedCalls(recorder, options, durationMs)),
    },
    errors: recorder.errors.list(),
    latency,
    tools: tools.sort((a, b) => (a.tool < b.tool ? -1 : 1)),
    faults: recorder.faults.list(),
    timeline: recorder.timeline.timeline(),
    held,
    ...(agents !== undefined && { agents }),
  }
  return { ...result, slo: evaluateSlo(checks.slo, result) }
}

/** Counts the calls that gates count as timeouts, and the least number of their tasks. */
function unservedCalls(
  recorder: Recorder,
  options: LoadOptions,
  elapsedMs: number,
): Partial<Arrivals> {
  const { pace, work } = options
  const hung = hungCalls(recorder, pace.gracefulStopMs ?? 0)
  const missed = pace.rate === undefined ? missedCalls(recorder, options, elapsedMs) : 0
  const hungTasks = Math.ceil((hung + missed) / work.fanOut)
  return {
    ...(hung > 0 && { hung }),
    ...(missed > 0 && { missed }),
    ...(hungTasks > 0 && { hungTasks }),
  }
}

/** Counts cut calls that had the time to end, and waited longer than all calls that ended. */
export function hungCalls({ tools, latency }: Recorder, leastMs: number): number {
  const slowest = latency.quantile(1) ?? 0
  // A timer may fire early.
  const isHung = (ms: number): boolean => ms > 0.9 * leastMs && ms > slowest
  return leastMs === 0 ? 0 : [...tools.values()].flatMap(({ cutMs }) => cutMs).filter(isHung).length
}

/**
 * Counts the calls that a closed model would have made, at the rate until its last response, in a
 * silence until the end: longer than the drain time-out or than two time-outs, and than each wait
 * for a response. The share of the time that clients waited as the server asked is left out.
 */
function missedCalls(
  { timeline, tasks: { arrivals }, tools }: Recorder,
  { pace, work, resilience, shard }: LoadOptions,
  elapsedMs: number,
): number {
  const { durationMs, gracefulStopMs = 0, tasks = Infinity } = shardOf(pace, shard)
  const { atMs, calls, slowestMs } = timeline.lastResponse
  const leastMs = Math.max(slowestMs, Math.min(gracefulStopMs, 2 * resilience.timeoutMs))
  const isSilent = elapsedMs - atMs > leastMs
  if (durationMs === undefined || gracefulStopMs === 0 || calls === 0 || !isSilent) return 0
  const due = Math.min(tasks * work.fanOut, Math.floor((calls / atMs) * durationMs))
  const cut = [...tools.values()]
  const cutMs = cut.flatMap((tool) => tool.cutMs).reduce((sum, ms) => sum + ms, 0)
  const askedMs = cut.reduce((sum, tool) => sum + tool.askedMs, 0)
  const share = askedMs === 0 ? 1 : cutMs / (cutMs + askedMs)
  return Math.max(0, Math.round((due - arrivals.started) * share))
}

function shownOptions({ work, pace, resilience, checks, target }: LoadOptions): RunInfo['options'] {
  const options = {
    tools: work.tools,
    calls: work.calls.map(({ tool }) => tool),
    fanOut: work.fanOut,
    sequential: work.sequential,
    clients: pace.clients,
    rate: pace.rate,
    rampMs: pace.rampMs,
    durationMs: pace.durationMs,
    gracefulStopMs: pace.gracefulStopMs,
    tasks: pace.tasks,
    maxInFlight: pace.maxInFlight,
    connections: target.connections,
    hold: pace.hold,
    ...resilience,
    expect: checks.expectations.map(({ text }) => text),
    baseline: checks.baseline !== undefined,
    slo: checks.slo.map(({ text }) => text),
    // Only the names, because values may be secret.
    headers: Object.keys(target.headers),
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as RunInfo['options']
}
