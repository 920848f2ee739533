import { type Origin, ORIGINS } from '../mcp/call.ts'
import { noCounts } from '../telemetry/outcome-index.ts'
import type { ToolSample, ToolsSource } from '../telemetry/tool-sample.ts'
import type { History } from './contract/api.ts'
import { bucketQuantile, LatencyWindow, newer } from './live-snapshot.ts'

/** Columns of a point, in the order in which they are stored. */
export const COLUMNS = [
  'calls',
  'real',
  'injected',
  'squall',
  'injected_elsewhere',
  'p50',
  'p95',
  'upstreamP50',
  'upstreamP95',
] as const

const STEP_MS = 5_000
/** Fifteen minutes. */
const MAX_POINTS = 180
/** Further tools are only in the series of all calls. */
const MAX_TOOLS = 20
/** Every five minutes the counts are kept, for ten to fifteen minutes. */
const MARK_POINTS = 60
const MAX_MARKS = 3
const WIDTH = COLUMNS.length
const NONE = new Float64Array()

type RecentTool = NonNullable<History['tools']>[number]

/** The counts of an earlier time, by tool. */
type Mark = ReadonlyMap<string, ToolSample>

/** Calls of tasks since the start, by tool. */
type CallsOfTasks = ReadonlyMap<string, { readonly tasks: number; readonly calls: number }>

/** The name of all calls together, which no label of a tool can equal. */
const ALL = '\u0000'

/**
 * Keeps rates and latencies of the last minutes, of all calls and by tool, in memory of a fixed
 * size.
 */
export class TrafficHistory {
  readonly #tools: ToolsSource
  readonly #now: () => number
  readonly #window = new LatencyWindow(1)
  readonly #times: number[] = []
  /** By tool, the columns of each point one after the other. */
  readonly #series = new Map<string, Float32Array>()
  #before: ReadonlyMap<string, ToolSample> | undefined
  readonly #marks: Mark[] = []
  #looks = 0
  #next = 0
  #timer: NodeJS.Timeout | undefined

  constructor(tools: ToolsSource, now: () => number) {
    this.#tools = tools
    this.#now = now
  }

  /** Begins to record. */
  start(): void {
    this.look()
    this.#timer = setInterval(() => this.look(), STEP_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Adds a point from the counts since the look before. */
  look(): void {
    const samples = this.#tools()
    const kept = [sumOf(samples), ...samples].filter((each) => this.#keeps(each))
    const latencies = this.#window.look(kept)
    const before = this.#before
    this.#before = new Map(kept.map((each) => [each.tool, each]))
    const at = this.#now()
    if (this.#looks++ % MARK_POINTS === 0) this.#mark(samples)
    const since = this.#times[(this.#next + MAX_POINTS - 1) % MAX_POINTS] ?? at
    const seconds = Math.max(1, (at - since) / 1000)
    const start = this.#next * WIDTH
    this.#times[this.#next] = at
    this.#next = (this.#next + 1) % MAX_POINTS
    for (const series of this.#series.values()) series.fill(Number.NaN, start, start + WIDTH)
    // The first look has nothing to compare with.
    if (before === undefined) return
    for (const sample of kept) {
      const then = before.get(sample.tool)
      const grown = (part: 'calls' | 'errors', origin: Origin): number =>
        Math.max(0, sample[part][origin] - (then?.[part][origin] ?? 0)) / seconds
      const { client, upstream } = latencies.get(sample.tool)!
      this.#series
        .get(sample.tool)!
        .set(
          [
            ORIGINS.reduce((sum, origin) => sum + grown('calls', origin), 0),
            ...ORIGINS.map((origin) => grown('errors', origin)),
            ...[client.p50, client.p95, upstream.p50, upstream.p95].map(
              (each) => each ?? Number.NaN,
            ),
          ],
          start,
        )
    }
  }

  #mark(samples: readonly ToolSample[]): void {
    this.#marks.push(new Map(samples.map((each) => [each.tool, each])))
    if (this.#marks.length > MAX_MARKS) this.#marks.shift()
  }

  /** Shows the points, oldest first, and the tools since the oldest mark. */
  show(tasks: CallsOfTasks = new Map()): History {
    const [earlier] = this.#marks
    const many = this.#times.length
    const order = Array.from({ length: many }, (_, i) => (this.#next + i) % many)
    return {
      stepSeconds: STEP_MS / 1000,
      at: order.map((slot) => Math.round(this.#times[slot]!) / 1000),
      series: [...this.#series].map(([tool, series]) => ({
        ...(tool !== ALL && { tool }),
        ...columnsOf(order, series),
      })),
      tools: this.#tools().flatMap((sample) =>
        recentTool(sample, earlier?.get(sample.tool), tasks.get(sample.tool)),
      ),
    }
  }

  /** Returns true for a tool that has a series, which is created while memory is left. */
  #keeps({ tool, calls }: ToolSample): boolean {
    if (this.#series.has(tool)) return true
    const isCalled = tool === ALL || ORIGINS.some((origin) => calls[origin] > 0)
    if (!isCalled || this.#series.size > MAX_TOOLS) return false
    this.#series.set(tool, new Float32Array(MAX_POINTS * WIDTH).fill(Number.NaN))
    return true
  }
}

function columnsOf(
  order: readonly number[],
  series: Float32Array,
): Omit<History['series'][number], 'tool'> {
  const column = (at: number): (number | null)[] =>
    order.map((slot) => {
      const value = series[slot * WIDTH + at]!
      return Number.isNaN(value) ? null : Math.round(value * 1e5) / 1e5
    })
  const entries = COLUMNS.map((name, i) => [name, column(i)] as const)
  return Object.fromEntries(entries) as Record<(typeof COLUMNS)[number], (number | null)[]>
}

/** Returns the behaviour of a tool since an earlier sample; none without calls. */
function recentTool(
  sample: ToolSample,
  then: ToolSample | undefined,
  ofTasks: { readonly tasks: number; readonly calls: number } | undefined,
): readonly RecentTool[] {
  const { tool, upstreamSeconds, results } = sample
  const counted = (part: 'calls' | 'errors'): number =>
    sample[part].real + sample[part].squall - (then?.[part].real ?? 0) - (then?.[part].squall ?? 0)
  const calls = counted('calls')
  // The calls of other methods have no tool.
  if (tool === '' || calls <= 0) return []
  const { bounds, counts } = newer(upstreamSeconds, then?.upstreamSeconds)
  const sized = results.count - (then?.results.count ?? 0)
  const bytes = results.bytes - (then?.results.bytes ?? 0)
  return [
    {
      tool,
      calls,
      errors: counted('errors'),
      p95: bucketQuantile(0.95, bounds, counts),
      bytes: sized > 0 ? Math.round(bytes / sized) : null,
      perTask: ofTasks === undefined ? null : ofTasks.calls / ofTasks.tasks,
    },
  ]
}

/** Adds up the samples of all tools. */
function sumOf(samples: readonly ToolSample[]): ToolSample {
  const byOrigin = (part: 'calls' | 'errors'): ToolSample['calls'] => {
    const sum = noCounts()
    for (const each of samples) for (const origin of ORIGINS) sum[origin] += each[part][origin]
    return sum
  }
  const durations = (part: 'seconds' | 'upstreamSeconds'): ToolSample['seconds'] => {
    const { bounds, counts: first } = samples[0]?.[part] ?? { bounds: NONE, counts: NONE }
    const counts = new Float64Array(first.length)
    for (const each of samples) {
      for (let i = 0; i < counts.length; i++) counts[i]! += each[part].counts[i]!
    }
    return { bounds, counts }
  }
  return {
    tool: ALL,
    calls: byOrigin('calls'),
    errors: byOrigin('errors'),
    seconds: durations('seconds'),
    upstreamSeconds: durations('upstreamSeconds'),
    results: { count: 0, bytes: 0 },
  }
}
