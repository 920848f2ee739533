import type { RecentFault, RecentFaults } from '../listener/faults/fault-report.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import type { Durations, ToolSample, ToolsSource } from '../telemetry/tool-sample.ts'
import type { LiveEvent } from './contract/api.ts'
import type { ErrorSamples } from '../telemetry/error-samples.ts'
import { isoTime, showErrors, showFault, showRules } from './api-show.ts'
import type { EventSource } from './event-streams.ts'
import type { OutboundCounts } from '../telemetry/outbound-counts.ts'
import type { AgentSource } from './show-tasks.ts'

export interface LiveSources {
  readonly rules: ActiveRules
  readonly recent: RecentFaults | undefined
  readonly tools: ToolsSource
  readonly samples: ErrorSamples | undefined
  readonly outbound?: OutboundCounts | undefined
  readonly agents?: Pick<AgentSource, 'counts'> | undefined
  readonly state: () => LiveEvent['state']
}

const WINDOW_SECONDS = 10
const SHOWN_ERRORS = 30

/** Makes the events of the live view, only while somebody listens. */
export function liveSnapshots({
  rules,
  recent,
  tools,
  samples,
  outbound,
  agents,
  state,
}: LiveSources): EventSource {
  const window = new LatencyWindow(WINDOW_SECONDS)
  let seen = recent?.total ?? 0

  return {
    snapshot: () => {
      const total = recent?.total ?? 0
      const fresh = total - seen
      seen = total
      const kept = recent?.list() ?? []
      const sampled = tools()
      const latency = window.look(sampled)
      const moment: Omit<LiveEvent, 'faults'> = {
        at: isoTime(rules.clock()),
        state: state(),
        rules: showRules(rules, { withoutZeros: true }),
        tools: sampled.map(({ tool, calls, errors }) => ({
          tool,
          calls,
          errors,
          ...latency.get(tool),
        })),
        latency: latency.get(null),
        errors: showErrors(samples, SHOWN_ERRORS),
        ...(outbound !== undefined && { destinations: showDestinations(outbound) }),
        ...(agents !== undefined && { tasks: agents.counts.open }),
      }
      // An object without its end, to which the faults are added.
      const json = JSON.stringify(moment).slice(0, -1)
      let whole: string | undefined
      return {
        next: `${json},${faults(false, total, kept.slice(0, fresh))}`,
        whole: () => (whole ??= `${json},${faults(true, total, kept)}`),
      }
    },
    rest: () => window.forget(),
  }
}

function faults(whole: boolean, total: number, list: readonly RecentFault[]): string {
  const shown: LiveEvent['faults'] = { whole, total, faults: list.map(showFault) }
  return `"faults":${JSON.stringify(shown)}}`
}

type Latency = NonNullable<LiveEvent['latency']>
type Sums = ReadonlyMap<string, Pick<ToolSample, 'seconds' | 'upstreamSeconds'>>

/** Measures recent latencies from counts that only grow, by the counts of some looks ago. */
export class LatencyWindow {
  readonly #looks: number
  #past: Sums[] = []

  /** Compares with the counts of `looks` looks ago. */
  constructor(looks: number) {
    this.#looks = looks
  }

  /** Returns the latencies by tool, and of all tools together under null. */
  look(tools: readonly ToolSample[]): ReadonlyMap<string | null, Latency> {
    const before = this.#past[0]
    const shown = new Map<string | null, Latency>()
    const clients: Durations[] = []
    const upstreams: Durations[] = []
    for (const { tool, seconds, upstreamSeconds } of tools) {
      const then = before?.get(tool)
      const client = newer(seconds, then?.seconds)
      const upstream = newer(upstreamSeconds, then?.upstreamSeconds)
      // Without an earlier look it is unknown which calls are recent.
      if (before !== undefined) {
        clients.push(client)
        upstreams.push(upstream)
      }
      shown.set(tool, {
        client: quantiles(clients.slice(-1)),
        upstream: quantiles(upstreams.slice(-1)),
      })
    }
    shown.set(null, { client: quantiles(clients), upstream: quantiles(upstreams) })
    this.#past.push(new Map(tools.map((sample) => [sample.tool, sample])))
    if (this.#past.length > this.#looks) this.#past.shift()
    return shown
  }

  forget(): void {
    this.#past = []
  }
}

/** Subtracts the counts of an earlier look. */
export function newer({ bounds, counts }: Durations, then: Durations | undefined): Durations {
  return { bounds, counts: counts.map((count, i) => count - (then?.counts[i] ?? 0)) }
}

/** Returns the quantiles of all durations together; null where there are none. */
function quantiles(all: readonly Durations[]): Latency['client'] {
  const [first] = all
  if (first === undefined) return { p50: null, p95: null, p99: null }
  const counts = first.counts.map((_, i) => all.reduce((sum, each) => sum + each.counts[i]!, 0))
  const at = (share: number): number | null => {
    const seconds = bucketQuantile(share, first.bounds, counts)
    return seconds === null ? null : Math.round(seconds * 1e6) / 1e6
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/**
 * Returns the value below which this share of all values lies, as far as buckets show: within a
 * bucket values count as evenly spread, and values beyond the last bound count as that bound.
 */
export function bucketQuantile(
  share: number,
  bounds: Float64Array,
  counts: Float64Array,
): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = share * total
  let below = 0
  for (const [i, bound] of bounds.entries()) {
    const count = counts[i] ?? 0
    if (count > 0 && below + count >= rank) {
      const lower = bounds[i - 1] ?? 0
      return lower + ((bound - lower) * (rank - below)) / count
    }
    below += count
  }
  return bounds.at(-1) ?? null
}

function showDestinations(counts: OutboundCounts) {
  return counts.list().map(({ destination, open, sent, received, ended }) => {
    const sum = { ok: 0, real: 0, injected: 0 }
    for (const { labels, value } of ended) {
      const { origin, outcome } = labels
      sum[origin === 'injected' ? 'injected' : outcome === 'ok' ? 'ok' : 'real'] += value
    }
    return { destination, open, ...sum, sent, received }
  })
}
