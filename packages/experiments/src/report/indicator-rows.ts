import type { IndicatorCounts, Indicators } from '../indicators/indicators.ts'
import type { LoadResult } from '../load/results/result.ts'
import { integerText, percentage, plainNumber } from '#base'

/** Describes an indicator and its formula. */
export interface IndicatorRow {
  readonly key: keyof Indicators
  readonly name: string
  /** The meaning of high and low values. */
  readonly about: string
  /** A share unless given. */
  readonly unit?: 'number'
  /** Describes a formula that is not the quotient of two counts. */
  readonly formula?: string
  readonly parts?: readonly [keyof IndicatorCounts, keyof IndicatorCounts]
}

/** The indicators in display order. */
export const INDICATOR_ROWS: readonly IndicatorRow[] = [
  {
    key: 'tcsr',
    name: 'Tool-call success rate (TCSR)',
    about: 'Calls whose response was correct and in time.',
    parts: ['success', 'calls'],
  },
  {
    key: 'eta',
    name: 'Effective tool availability (ETA)',
    about: 'The share of calls with a response, times the share of usable responses.',
    formula: '(responded / calls) × (correct / responded)',
  },
  {
    key: 'etaResponded',
    name: 'Availability, the first factor',
    about: 'Calls with a response that is not an error.',
    parts: ['responded', 'calls'],
  },
  {
    key: 'etaUsable',
    name: 'Correctness, the second factor',
    about: 'Responses that conform to the schema and are usable.',
    parts: ['correct', 'responded'],
  },
  {
    key: 'scr',
    name: 'Schema conformance (SCR)',
    about: 'Calls whose result conforms to the output schema of the tool.',
    parts: ['schemaOk', 'calls'],
  },
  {
    key: 'deadlineAdherence',
    name: 'Deadline adherence',
    about: 'Calls that ended before their deadline or timeout.',
    parts: ['inTime', 'calls'],
  },
  {
    key: 'tcaf',
    name: 'Amplification (TCAF)',
    about: 'Calls per task, without retries.',
    unit: 'number',
    parts: ['calls', 'tasks'],
  },
  {
    key: 'retriesPerTask',
    name: 'Retries per task',
    about: 'The load that the client added because calls failed.',
    unit: 'number',
    parts: ['retries', 'tasks'],
  },
  {
    key: 'blastRadius',
    name: 'Blast radius',
    about: 'Tasks that failed because a call failed.',
    parts: ['failedTasks', 'tasks'],
  },
  {
    key: 'blastRadiusPredicted',
    name: 'Blast radius, predicted',
    about: 'The expected share of failed tasks, if each failed call fails its task.',
    formula: '1 − (1 − e)^TCAF, where e = 1 − TCSR',
  },
  {
    key: 'degraded',
    name: 'Degraded tasks',
    about: 'Tasks that succeeded without an optional call.',
    parts: ['degradedTasks', 'tasks'],
  },
  {
    key: 'silentFailures',
    name: 'Silent failures',
    about: 'Tasks with an injected fault and a wrong result but no error.',
    parts: ['silentFailures', 'tasks'],
  },
  {
    key: 'safeFailures',
    name: 'Safe failures',
    about: 'Tasks with an injected fault whose client got an error.',
    parts: ['safeFailures', 'tasks'],
  },
]

/** Formats an indicator of a run. */
export function shownIndicator({ key, unit }: IndicatorRow, { indicators }: LoadResult): string {
  const value = indicators[key]
  return unit === 'number' ? plainNumber(value) : percentage(value)
}

/** Returns the formula in words, such as `failed tasks / tasks`. */
export function formulaOf({ formula, parts }: IndicatorRow): string {
  const toWord = (letter: string): string => ` ${letter.toLowerCase()}`
  return formula ?? parts!.join(' / ').replaceAll(/[A-Z]/g, toWord)
}

/**
 * Returns the parts of an indicator, such as `4,812 / 5,000`; empty for an indicator that is
 * computed from others.
 */
export function indicatorParts({ key, parts }: IndicatorRow, result: LoadResult): string {
  const { counts, indicators } = result
  if (parts !== undefined) return parts.map((name) => integerText(counts[name])).join(' / ')
  if (key === 'eta') {
    return `${percentage(indicators.etaResponded)} × ${percentage(indicators.etaUsable)}`
  }
  if (key !== 'blastRadiusPredicted' || indicators.tcsr === null) return ''
  return `1 − (1 − ${percentage(1 - indicators.tcsr)})^${plainNumber(indicators.tcaf)}`
}
