import type { Tone } from '#base'
import type { VerdictLine } from '#admin-api'
import { type Line, pad, span } from '#cli'

const TIME = 12
const TASK = 18
const NAME = 24
const FAULT = 16
const OUTCOME = 12
const VERDICT = 20

const BAD: ReadonlySet<string> = new Set([
  'duplicate_execution',
  'possible_duplicate',
  'runaway',
  'ignored_retry_after',
])
const UNCLEAR: ReadonlySet<string> = new Set(['ambiguous', 'gave_up'])

/** Returns the names of the columns. */
export function verdictHead(): Line {
  return row(['TIME (UTC)', 'TASK', 'CALL', 'FAULT', 'OUTCOME', 'VERDICT', 'RETRIES'], 'quiet')
}

/** Formats a verdict as one line, which begins with `address` when there are several sidecars. */
export function verdictText(line: VerdictLine, address?: string): Line {
  const { at, task, tool, method, faults, outcome, verdict, retries, idempotent } = line
  const note = verdict === 'duplicate_execution' && idempotent !== true ? '  not idempotent' : ''
  const cells = [
    (at ?? '').slice(11, 23),
    task,
    tool ?? method,
    faults.join('+'),
    outcome,
    verdict,
    `${retries}${note}`,
  ]
  const shown = row(cells, toneOf(verdict))
  return address === undefined ? shown : [span(`${address}  `, 'quiet'), ...shown]
}

function row(cells: readonly string[], tone: Tone): Line {
  const [time = '', task = '', call = '', fault = '', outcome = '', verdict = '', rest = ''] = cells
  return [
    span(`${pad(time, TIME)}  ${pad(task, TASK)}  `, 'quiet'),
    span(`${pad(call, NAME)}  `, tone === 'quiet' ? tone : 'strong'),
    span(`${pad(fault, FAULT)}  `, tone === 'quiet' ? tone : 'injected'),
    span(`${pad(outcome, OUTCOME)}  `),
    span(`${pad(verdict, VERDICT)}  `, tone),
    span(rest, 'quiet'),
  ]
}

function toneOf(verdict: string): Tone {
  if (BAD.has(verdict)) return 'bad'
  return UNCLEAR.has(verdict) ? 'warn' : 'good'
}
