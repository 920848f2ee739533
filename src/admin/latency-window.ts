import type { Durations, ToolSample } from '../telemetry/tool-sample.ts'
import type { LiveEvent } from './api.ts'
import { bucketQuantile } from './bucket-quantile.ts'

/** The latencies of the last seconds' calls, as clients saw them and in the app. */
export type Latency = NonNullable<LiveEvent['latency']>
type Quantiles = Latency['client']

type Sums = ReadonlyMap<string, Pick<ToolSample, 'seconds' | 'upstreamSeconds'>>

/** Tells what calls took lately, from counts that only grow: it remembers those of a few looks ago. */
export class LatencyWindow {
  readonly #looks: number
  #past: Sums[] = []

  /** As many looks back as this are compared with. */
  constructor(looks: number) {
    this.#looks = looks
  }

  /** One more look; the latencies by tool, and of all tools together under null. */
  look(tools: readonly ToolSample[]): ReadonlyMap<string | null, Latency> {
    const before = this.#past[0]
    const shown = new Map<string | null, Latency>()
    const all = { client: new Sum(), app: new Sum() }
    for (const { tool, seconds, upstreamSeconds } of tools) {
      const then = before?.get(tool)
      // Without an earlier look nobody knows which of the calls are recent.
      const client = recent(before, seconds, then?.seconds)
      const app = recent(before, upstreamSeconds, then?.upstreamSeconds)
      shown.set(tool, { client: quantiles(client), app: quantiles(app) })
      all.client.add(client)
      all.app.add(app)
    }
    shown.set(null, { client: quantiles(all.client.total), app: quantiles(all.app.total) })
    this.#past.push(new Map(tools.map((sample) => [sample.tool, sample])))
    if (this.#past.length > this.#looks) this.#past.shift()
    return shown
  }

  forget(): void {
    this.#past = []
  }
}

class Sum {
  total: Durations | undefined

  add(more: Durations | undefined): void {
    if (more === undefined) return
    if (this.total === undefined) {
      this.total = { bounds: more.bounds, counts: more.counts.slice() }
      return
    }
    const { counts } = this.total
    for (let i = 0; i < counts.length; i++) counts[i]! += more.counts[i] ?? 0
  }
}

function recent(
  before: Sums | undefined,
  { bounds, counts }: Durations,
  then: Durations | undefined,
): Durations | undefined {
  if (before === undefined) return undefined
  return { bounds, counts: counts.map((count, i) => count - (then?.counts[i] ?? 0)) }
}

function quantiles(durations: Durations | undefined): Quantiles {
  if (durations === undefined) return { p50: null, p95: null }
  const { bounds, counts } = durations
  const at = (share: number): number | null => {
    const seconds = bucketQuantile(share, bounds, counts)
    return seconds === null ? null : Math.round(seconds * 1e6) / 1e6
  }
  return { p50: at(0.5), p95: at(0.95) }
}
