import type { SloVerdict } from '../load/results/result.ts'
import { gateValue, integerText, percentage } from '#base'

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
