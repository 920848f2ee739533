import { gateValue, integerText, percentage } from '#base'
import type { SloVerdict } from '../load/results/result.ts'

/** What is measured, after a share. */
const OF: Readonly<Record<string, string>> = {
  errors: 'of calls failed',
  success: 'of calls succeeded',
  tcsr: 'of calls succeeded',
  blast: 'of tasks failed',
  silent: 'of tasks failed silently',
  degraded: 'of tasks were degraded',
  availability: 'of calls got a response',
  correctness: 'of responses were correct',
  deadline: 'of calls met their deadline',
}

/** Describes a gate in words: `11.3 % of tasks failed, the limit is 5 %`. */
export function gateWords({ gate, measured }: Pick<SloVerdict, 'gate' | 'measured'>): string {
  const name = nameOf(gate)
  if (measured === null) return `${name} was not measured`
  const value = gateValue(gate, measured)
  const limit = `the ${gate.includes('>') ? 'minimum' : 'limit'} is ${limitText(gate)}`
  return `${OF[name] === undefined ? `${name} is ${value}` : `${value} ${OF[name]}`}, ${limit}`
}

/** Returns the name of the measure of a gate. */
export function nameOf(gate: string): string {
  return /^[a-z][\w.-]*/i.exec(gate)?.[0].toLowerCase() ?? ''
}

/** Returns the limit of a gate as written, with its unit apart. */
export function limitText(gate: string): string {
  return spaced(/[<>]=?\s*(.+)$/.exec(gate)?.[1] ?? '')
}

/** Sets units apart from their numbers: `25 %`, `500 ms`. */
export function spaced(text: string): string {
  return text.replaceAll(/(?<![a-z\d])(\d+)(%|ms|s|m|h)(?!\w)/g, '$1 $2')
}

type Margin = Pick<SloVerdict, 'gate' | 'margin'>

/** Describes the distance of a gate from its limit; empty without a measurement. */
export function marginText({ gate, margin }: Margin): string {
  if (margin === undefined || margin === null) return ''
  const { distance, ofLimit } = margin
  if (distance === 0) return 'at the limit'
  const shown = gateValue(gate, Math.abs(distance))
  const amount = gate.includes('%') ? shown.replace(' %', ' points') : shown
  const share = ofLimit === null ? '' : ` (${percentage(Math.abs(ofLimit))} of the limit)`
  return `${amount} ${distance < 0 ? 'beyond' : 'left'}${share}`
}

const BEYOND: Readonly<Record<string, string>> = {
  silent: 'failed silently',
  degraded: 'were degraded',
  deadline: 'missed their deadline',
}

/** Describes the calls, tasks or verdicts beyond the limit of a gate, and how many more the gate allows. */
export function beyondText({ gate, margin }: Margin): string {
  if (margin?.counted === undefined) return ''
  const { unit, total, beyond, allowed } = margin.counted
  const [name = ''] = /^[a-z-]+/i.exec(gate) ?? []
  const isRate = gate.includes('%')
  const failed = unit === 'verdicts' ? `are ${name}` : (BEYOND[name.toLowerCase()] ?? 'failed')
  const words = isRate ? failed : 'beyond the limit'
  const found = `${integerText(beyond)} of ${integerText(total)} ${unit} ${words}`
  if (allowed === null) return found
  const more = allowed - beyond
  return more < 0
    ? `${found}, ${integerText(-more)} too many`
    : `${found}, ${integerText(more)} more allowed`
}
