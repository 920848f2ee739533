import { gateValue } from '#base'
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
