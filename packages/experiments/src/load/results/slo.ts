import { readDuration, readPercent } from '#base'
import {
  type IndicatorCounts,
  type Indicators,
  indicatorsOf,
  noCounts,
  sumCounts,
} from '../../indicators/indicators.ts'
import { Histogram } from './histogram.ts'
import { LoadError } from '../load-error.ts'
import type { Verdict } from '#sidecar'
import type { AgentResult, LoadResult, SloMargin, SloVerdict } from './result.ts'

/** A threshold that a run must meet. */
export interface SloGate {
  /** The text as written. */
  readonly text: string
  readonly metric: Metric
  readonly operator: '<' | '<=' | '>' | '>='
  /** Milliseconds, a fraction, or a plain number, depending on the metric. */
  readonly limit: number
}

/** The measurements that gates are evaluated on. */
type Measurements = Pick<LoadResult, 'counts' | 'indicators' | 'latency'> &
  Partial<Pick<LoadResult, 'run' | 'arrivals' | 'agents'>>

/** Selects the failures that a rate counts, and all calls, tasks or verdicts. */
type RateCounts = (measured: Measurements) => Omit<NonNullable<SloMargin['counted']>, 'allowed'>

/** A measurement with its unit. */
export interface Metric {
  readonly unit: 'ms' | 'share' | 'number'
  /** True when a higher value is better, so that its limit is a minimum. */
  readonly isMinimum?: boolean
  readonly of: (measured: Measurements) => number | null
  /** The failures of a rate. */
  readonly counts?: RateCounts
  /** The rank of a quantile, from 0 to 1. */
  readonly rank?: number
  /** True when a sidecar measures it. */
  readonly ofVerdicts?: true
}

/** Counts failed calls by what the calls should have been. */
function failedCalls(good: keyof IndicatorCounts, of: 'calls' | 'responded'): RateCounts {
  return ({ counts }) => ({ unit: 'calls', total: counts[of], beyond: counts[of] - counts[good] })
}

function tasksIn(name: keyof IndicatorCounts): RateCounts {
  return ({ counts }) => ({ unit: 'tasks', total: counts.tasks, beyond: counts[name] })
}

/**
 * Returns the verdicts that say what an agent did, which excludes `ambiguous`; undefined when they
 * are not known.
 */
function clearVerdicts(agents: AgentResult | undefined) {
  if (agents === undefined || agents.problem !== undefined) return undefined
  const { totals } = agents
  const of = (verdict: Verdict): number => totals[verdict] ?? 0
  const all = Object.values(totals).reduce((sum, count) => sum + count, 0) - of('ambiguous')
  return { all, of }
}

function verdictsIn(verdict: Verdict): RateCounts {
  return ({ agents }) => {
    const totals = clearVerdicts(agents)
    return { unit: 'verdicts', total: totals?.all ?? 0, beyond: totals?.of(verdict) ?? 0 }
  }
}

/** Measures the share of failures exactly: 1 - 0.95 is above 0.05; null when nothing was counted. */
const share = (counts: RateCounts): Metric => ({
  unit: 'share',
  of: (measured) => {
    const { total, beyond } = counts(measured)
    return total === 0 ? null : beyond / total
  },
  counts,
})

const atLeast = (counts: RateCounts, name: keyof Indicators): Metric => ({
  unit: 'share',
  isMinimum: true,
  of: ({ indicators }) => indicators[name],
  counts,
})

/** Measures a share of the verdicts that are clear. */
const ofVerdicts = (verdict: Verdict): Metric => ({
  ...share(verdictsIn(verdict)),
  ofVerdicts: true,
})

/** Counts what sidecars report of agents; null where they do not. */
const ofAgents = (count: (agents: AgentResult) => number | undefined): Metric => ({
  unit: 'number',
  ofVerdicts: true,
  of: ({ agents }) =>
    agents === undefined || agents.problem !== undefined ? null : (count(agents) ?? null),
})

/** Counts calls that were executed twice, of tools that do not declare this as safe. */
const DUPLICATES = ofAgents(({ duplicates }) =>
  duplicates.reduce((sum, { idempotent, count }) => sum + (idempotent ? 0 : count), 0),
)

/** Counts calls that may have been executed twice, of tools that do not declare this as safe. */
const POSSIBLE_DUPLICATES = ofAgents((agents) => clearVerdicts(agents)?.of('possible_duplicate'))

/** Counts calls whose arguments held a false value, blocked or not. */
const FALSE_USES = ofAgents(({ falseUses }) =>
  falseUses?.reduce((sum, { count }) => sum + count, 0),
)

const FORM =
  'write a metric, <, <=, > or >=, and a limit with its unit: "p99<2s", "success>99%", "blast<5%"'

/** The metrics besides quantiles, by name. */
export const METRICS: Readonly<Record<string, Metric>> = {
  success: atLeast(failedCalls('success', 'calls'), 'tcsr'),
  tcsr: atLeast(failedCalls('success', 'calls'), 'tcsr'),
  errors: share(failedCalls('responded', 'calls')),
  availability: atLeast(failedCalls('responded', 'calls'), 'availability'),
  correctness: atLeast(failedCalls('correct', 'responded'), 'correctness'),
  eta: atLeast(failedCalls('correct', 'calls'), 'eta'),
  scr: atLeast(failedCalls('schemaOk', 'calls'), 'scr'),
  deadline: atLeast(failedCalls('inTime', 'calls'), 'deadlineAdherence'),
  blast: share(tasksIn('failedTasks')),
  silent: share(tasksIn('silentFailures')),
  degraded: share(tasksIn('degradedTasks')),
  tcaf: { unit: 'number', of: ({ indicators }) => indicators.tcaf },
  retries: { unit: 'number', of: ({ indicators }) => indicators.retriesPerTask },
  runaway: ofVerdicts('runaway'),
  'gave-up': ofVerdicts('gave_up'),
  'ignored-retry-after': ofVerdicts('ignored_retry_after'),
  'duplicate-execution': DUPLICATES,
  'possible-duplicates': POSSIBLE_DUPLICATES,
  'falsified-used': FALSE_USES,
  mean: { unit: 'ms', of: ({ latency }) => latency.summary.mean },
  max: { unit: 'ms', of: ({ latency }) => latency.summary.max },
}

/** Parses `p99<2s`, `success>99%`, `blast<5%`. Throws a `LoadError`. */
export function parseSlo(text: string): SloGate {
  const match = /^\s*([A-Za-z][A-Za-z0-9.-]*)\s*(<=|>=|<|>|=)\s*(\S*)\s*$/.exec(text)
  if (match === null) throw invalid(text, 'is not a valid expression', FORM)
  const [, name = '', sign = '', written = ''] = match
  const metric = metricOf(text, name.toLowerCase())
  if (sign === '=' && (metric.ofVerdicts !== true || !/^0%?$/.test(written))) {
    throw invalid(
      text,
      'uses "=", which is valid only for agent verdicts with the limit 0, such as "runaway=0"',
      FORM,
    )
  }
  const operator = sign === '=' ? '<=' : sign
  const limit = readLimit(metric.unit, written)
  if (typeof limit === 'string') throw invalid(text, limit, LIMITS[metric.unit])
  // Reports show the measured value in the unit of the text.
  const unit = metric.unit === 'share' && !written.endsWith('%') ? '%' : ''
  return { text: `${text.trim()}${unit}`, metric, operator: operator as SloGate['operator'], limit }
}

/** Returns the gate of a metric with a limit: milliseconds, percent or a number. */
export function limitGate(name: string, limit: number): SloGate {
  const metric = metricOf(name, name)
  const { unit } = metric
  const operator = metric.isMinimum === true ? '>=' : '<='
  const suffix = unit === 'share' ? '%' : unit === 'ms' ? 'ms' : ''
  const text = `${name}${operator}${limit}${suffix}`
  return { text, metric, operator, limit: unit === 'share' ? limit / 100 : limit }
}

/**
 * Evaluates each gate. A gate without a measurement fails, and one that fails if the calls that
 * hung at the end of a whole load had timed out: a server that hangs passes no gate.
 */
export function evaluateSlo(gates: readonly SloGate[], measurements: Measurements): SloVerdict[] {
  const all = [measurements, ...timedOut(measurements)]
  return gates.map((gate) => {
    const verdicts = all.map((each) => {
      const measured = gate.metric.of(each)
      const ok = measured !== null && passes(measured, gate.operator, gate.limit)
      const margin = measured === null ? null : gateMargin(gate, measured, each)
      return { gate: gate.text, limit: gate.limit, measured, ok, margin }
    })
    return verdicts.find(({ ok }) => !ok) ?? verdicts[0]!
  })
}

/** Counts hung and missed calls as timeouts, and their tasks as failed; nothing without any. */
function timedOut({ run, arrivals, ...measured }: Measurements): readonly Measurements[] {
  const { counts, latency } = measured
  const { hung = 0, missed = 0, hungTasks: tasks = 0 } = arrivals ?? {}
  const calls = hung + missed
  if (run?.complete !== true || calls === 0) return []
  const all = sumCounts(counts, { ...noCounts(), calls, tasks, failedTasks: tasks })
  const histogram = Histogram.from(latency.histogram)
  histogram.add(Number(run.options['timeoutMs']), calls)
  return [{ ...measured, counts: all, indicators: indicatorsOf(all), latency: histogram.latency() }]
}

function gateMargin(
  { metric, operator, limit }: SloGate,
  measured: number,
  measurements: Measurements,
): SloMargin {
  const { latency } = measurements
  const isMaximum = operator.startsWith('<')
  const margin = marginOf(measured, limit, isMaximum)
  if (metric.unit === 'ms') {
    const histogram = Histogram.from(latency.histogram)
    const total = histogram.count
    const beyond = isMaximum ? total - histogram.countUpTo(limit) : histogram.countUpTo(limit)
    const { rank } = metric
    const isDecided = rank !== undefined && isMaximum
    const allowed = isDecided ? total - Math.max(1, Math.ceil(rank * total)) : null
    return { ...margin, counted: { unit: 'calls', total, beyond, allowed } }
  }
  const counted = metric.counts?.(measurements)
  // A gate in the unusual direction, such as errors>5%, allows no number of failures.
  if (counted === undefined || isMaximum === (metric.isMinimum === true)) return margin
  const { total } = counted
  const allowed = mostAllowed(total, isMaximum ? limit : 1 - limit, (failed) =>
    passes(isMaximum ? failed / total : (total - failed) / total, operator, limit),
  )
  return { ...margin, counted: { ...counted, allowed } }
}

/** Returns the distance of a value from a limit, which is a maximum or a minimum. */
export function marginOf(measured: number, limit: number, isMaximum: boolean): SloMargin {
  const distance = isMaximum ? limit - measured : measured - limit
  return { distance, ofLimit: limit === 0 ? null : distance / limit }
}

/** Returns the highest number of failures, from -1 to `total`, at which `isPassed` holds. */
function mostAllowed(total: number, limit: number, isPassed: (failed: number) => boolean): number {
  let most = Math.min(total, Math.floor(limit * total))
  // The product may be off by one.
  while (most >= 0 && !isPassed(most)) most--
  while (most < total && isPassed(most + 1)) most++
  return most
}

function passes(measured: number, operator: SloGate['operator'], limit: number): boolean {
  if (operator === '<') return measured < limit
  if (operator === '<=') return measured <= limit
  return operator === '>' ? measured > limit : measured >= limit
}

function metricOf(text: string, name: string): Metric {
  const quantile = /^p(\d{1,2}(?:\.\d{1,3})?)$/.exec(name)
  if (quantile !== null) {
    const rank = Number(quantile[1]) / 100
    return {
      unit: 'ms',
      rank,
      of: ({ latency }) => Histogram.from(latency.histogram).quantile(rank),
    }
  }
  if (Object.hasOwn(METRICS, name)) return METRICS[name]!
  const names = Object.keys(METRICS).join(', ')
  throw invalid(
    text,
    `uses the unknown metric "${name.slice(0, 40)}"`,
    `use p50 to p99.9, ${names}`,
  )
}

const LIMITS = {
  share: 'write it as 99% or 0.5%',
  ms: 'write it as 250ms or 2s',
  number: 'write it as 8 or 0.5',
} as const

/** Parses a limit: milliseconds, a share of 1, or a number; returns the problem of another text. */
function readLimit(unit: Metric['unit'], text: string): number | string {
  if (unit === 'share') {
    const percent = readPercent(text)
    if (percent === undefined) return 'needs a limit from 0% to 100%'
    // 0.99 may be meant as 99%.
    const isClear = text.endsWith('%') || percent === 0 || percent > 1
    return isClear ? percent / 100 : `is ambiguous: ${text}% or ${percent * 100}%`
  }
  if (unit === 'ms') return readDuration(text) ?? 'needs a limit with a unit of time'
  return /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : 'requires a limit without a unit'
}

function invalid(text: string, why: string, fix: string): LoadError {
  return new LoadError('INVALID_INPUT', `the gate "${text.slice(0, 60)}" ${why}`, fix)
}
