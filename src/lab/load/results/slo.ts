import { readDuration } from '../../../base/units.ts'
import type { Fraction, Indicators } from '../../indicators/indicators.ts'
import { Histogram } from './histogram.ts'
import { LoadError } from '../load-error.ts'
import type { Latency, SloVerdict } from './result.ts'

/** A threshold that a run must meet. */
export interface SloGate {
  /** The text as written. */
  readonly text: string
  readonly metric: SloMetric
  readonly operator: '<' | '<=' | '>' | '>='
  /** Milliseconds, a fraction, or a plain number, depending on the metric. */
  readonly limit: number
}

/** The measurements that gates are evaluated on. */
export interface Measurements {
  readonly indicators: Indicators
  readonly latency: Latency
}

const FORM =
  'write a metric, <, <=, > or >=, and a limit with its unit: "p99<2s", "success>99%", "blast<5%"'

type Unit = 'ms' | 'share' | 'number'

function failedShare({ etaResponded }: Indicators): Fraction {
  return etaResponded === null ? null : 1 - etaResponded
}

const METRICS = {
  success: { unit: 'share', of: (i: Indicators): Fraction => i.tcsr },
  tcsr: { unit: 'share', of: (i: Indicators): Fraction => i.tcsr },
  errors: { unit: 'share', of: failedShare },
  availability: { unit: 'share', of: (i: Indicators): Fraction => i.availability },
  correctness: { unit: 'share', of: (i: Indicators): Fraction => i.correctness },
  eta: { unit: 'share', of: (i: Indicators): Fraction => i.eta },
  scr: { unit: 'share', of: (i: Indicators): Fraction => i.scr },
  deadline: { unit: 'share', of: (i: Indicators): Fraction => i.deadlineAdherence },
  blast: { unit: 'share', of: (i: Indicators): Fraction => i.blastRadius },
  silent: { unit: 'share', of: (i: Indicators): Fraction => i.silentFailures },
  degraded: { unit: 'share', of: (i: Indicators): Fraction => i.degraded },
  tcaf: { unit: 'number', of: (i: Indicators): Fraction => i.tcaf },
  retries: { unit: 'number', of: (i: Indicators): Fraction => i.retriesPerTask },
  mean: { unit: 'ms', of: undefined },
  max: { unit: 'ms', of: undefined },
} as const

type NamedMetric = keyof typeof METRICS

export type SloMetric =
  | { readonly kind: 'indicator'; readonly name: NamedMetric; readonly unit: Unit }
  | { readonly kind: 'quantile'; readonly share: number; readonly unit: 'ms' }

/** Parses `p99<2s`, `success>99%`, `blast<5%`. Throws a `LoadError`. */
export function parseSlo(text: string): SloGate {
  const match = /^\s*([A-Za-z][A-Za-z0-9.]*)\s*(<=|>=|<|>)\s*([0-9.]+)\s*([a-z%]*)\s*$/.exec(text)
  if (match === null) throw bad(text, 'cannot be read', FORM)
  const [, name = '', operator = '', digits = '', suffix = ''] = match
  const metric = metricOf(text, name.toLowerCase())
  const number = /^\d+(\.\d+)?$/.test(digits) ? Number(digits) : Number.NaN
  const limit = limitOf(text, metric.unit, number, suffix)
  return { text: text.trim(), metric, operator: operator as SloGate['operator'], limit }
}

/** Evaluates each gate. A gate without a measurement fails. */
export function evaluateSlo(gates: readonly SloGate[], measurements: Measurements): SloVerdict[] {
  return gates.map((gate) => {
    const measured = measure(gate.metric, measurements)
    const ok = measured !== null && holds(measured, gate.operator, gate.limit)
    return { gate: gate.text, limit: gate.limit, measured, ok }
  })
}

function measure(metric: SloMetric, { indicators, latency }: Measurements): number | null {
  if (metric.kind === 'quantile') {
    return Histogram.from(latency.histogram).quantile(metric.share)
  }
  const { of } = METRICS[metric.name]
  if (of !== undefined) return of(indicators)
  return metric.name === 'max' ? latency.summary.max : latency.summary.mean
}

function holds(measured: number, operator: SloGate['operator'], limit: number): boolean {
  if (operator === '<') return measured < limit
  if (operator === '<=') return measured <= limit
  return operator === '>' ? measured > limit : measured >= limit
}

function metricOf(text: string, name: string): SloMetric {
  const quantile = /^p(\d{1,2}(?:\.\d{1,3})?)$/.exec(name)
  if (quantile !== null) {
    return { kind: 'quantile', share: Number(quantile[1]) / 100, unit: 'ms' }
  }
  if (Object.hasOwn(METRICS, name)) {
    const known = name as NamedMetric
    return { kind: 'indicator', name: known, unit: METRICS[known].unit }
  }
  const names = Object.keys(METRICS).join(', ')
  throw bad(
    text,
    `names "${name.slice(0, 40)}", which is not measured`,
    `use p50 to p99.9, ${names}`,
  )
}

function limitOf(text: string, unit: Unit, number: number, suffix: string): number {
  if (Number.isNaN(number)) throw bad(text, 'has no number as its limit', FORM)
  if (unit === 'share') {
    if (suffix !== '%') throw bad(text, 'needs a limit in percent', 'write it as 99% or 0.5%')
    if (number > 100) throw bad(text, 'has a limit above 100%', 'write it as 99% or 0.5%')
    return number / 100
  }
  if (unit === 'ms') {
    const ms = readDuration(`${number}${suffix}`)
    if (ms !== undefined) return ms
    throw bad(text, 'needs a limit with a unit of time', 'write it as 250ms or 2s')
  }
  if (suffix !== '') throw bad(text, 'needs a plain number as its limit', 'write it as 8 or 0.5')
  return number
}

function bad(text: string, why: string, fix: string): LoadError {
  return new LoadError('BAD_INPUT', `the gate "${text.slice(0, 60)}" ${why}`, fix)
}
