import { nearestName } from '../../base/nearest-name.ts'
import { durationText, readDuration, readFactor, readPercent } from '../../base/units.ts'

/** The measured figure, and its limit. */
export type RollbackTest =
  | { readonly figure: 'real_errors'; readonly percent: number }
  /** More than `percent` of the calls take the upstream longer than `ms`. */
  | { readonly figure: 'upstream_latency'; readonly percent: number; readonly ms: number }
  | { readonly figure: 'call_rate'; readonly factor: number }
  | { readonly figure: 'not_ready' }

/** A condition under which all rules are disarmed. */
export interface RollbackCondition {
  /** The text as written. */
  readonly text: string
  /** For how many milliseconds the test must hold. */
  readonly lasting: number
  readonly test: RollbackTest
}

interface Form {
  readonly example: string
  /** Reads the text behind `>`; undefined for texts that are not limits of this figure. */
  readonly read: (limit: string | undefined) => RollbackTest | undefined
}

/** Longer lists are rejected, because each condition costs a little for each call. */
export const MAX_CONDITIONS = 16
const MIN_LASTING = 100
const MAX_LASTING = 3_600_000
const MAX_FACTOR = 1000

const latency = (quantile: number): Form => ({
  example: `upstream-p${quantile}>800ms for 30s`,
  read: (limit = '') => {
    const ms = readDuration(limit, MAX_LASTING)
    return ms === undefined || ms === 0
      ? undefined
      : { figure: 'upstream_latency', percent: 100 - quantile, ms }
  },
})

const FORMS: Readonly<Record<string, Form>> = {
  'real-errors': {
    example: 'real-errors>1% for 30s',
    read: (limit = '') => {
      const percent = limit.endsWith('%') ? readPercent(limit) : undefined
      return percent === undefined || percent >= 100
        ? undefined
        : { figure: 'real_errors', percent }
    },
  },
  'upstream-p50': latency(50),
  'upstream-p95': latency(95),
  'upstream-p99': latency(99),
  calls: {
    example: 'calls>3x for 10s',
    read: (limit = '') => {
      const factor = readFactor(limit)
      if (factor === undefined || factor <= 1 || factor > MAX_FACTOR) return undefined
      return { figure: 'call_rate', factor }
    },
  },
  'not-ready': {
    example: 'not-ready for 10s',
    read: (limit) => (limit === undefined ? { figure: 'not_ready' } : undefined),
  },
}

const NAMES = Object.keys(FORMS)
const EXAMPLES = ['real-errors', 'upstream-p99', 'calls', 'not-ready'].map(
  (name) => `"${FORMS[name]!.example}"`,
)
const ANY_FORM = `write ${EXAMPLES.slice(0, -1).join(', ')} or ${EXAMPLES.at(-1)!}`
const CONDITION = /^([a-z0-9-]+)(?:\s*>\s*([0-9.]+[a-z%]*))?\s+for\s+([0-9.]+[a-z]*)$/

/** Parses a condition such as `real-errors>1% for 30s`; returns the correction of other texts. */
export function parseRollbackCondition(written: string): RollbackCondition | string {
  const text = written.trim()
  const name = /^[\w-]*/.exec(text)![0]
  const form = Object.hasOwn(FORMS, name) ? FORMS[name] : undefined
  if (form === undefined) {
    const near = nearestName(name, NAMES)
    return near === undefined ? ANY_FORM : `did you mean ${near}? write "${FORMS[near]!.example}"`
  }
  const [, , limit, time = ''] = CONDITION.exec(text) ?? []
  const lasting = readDuration(time)
  const test = lasting === undefined ? undefined : form.read(limit)
  if (lasting === undefined || test === undefined) return `write "${form.example}"`
  if (lasting >= MIN_LASTING && lasting <= MAX_LASTING) return { text, lasting, test }
  const range = `${durationText(MIN_LASTING)} to ${durationText(MAX_LASTING)}`
  return `use a time of ${range}: write "${form.example}"`
}

/** Returns the correction of a list of conditions with commas; undefined for a valid one. */
export function rollbackConditionsProblem(list: string): string | undefined {
  const parts = list.split(',')
  if (parts.length > MAX_CONDITIONS) return `write at most ${MAX_CONDITIONS} conditions`
  return parts.map(parseRollbackCondition).find((each) => typeof each === 'string')
}
