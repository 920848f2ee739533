import type { HeaderLines } from '../../../http/headers.ts'

/** Names the rules and faults that a response was touched by. */
export const FAULT_HEADER = 'x-squall-fault'

const MAX_TOKEN = 100

/** What marks one fault: `rule/fault`, in characters that a header and a comment can hold. */
export function faultMark(rule: string, fault: string): string {
  return `${token(rule)}/${token(fault)}`
}

/** The head's lines with a mark for each fault. */
export function withMarks(lines: HeaderLines, markers: readonly string[]): HeaderLines {
  return markers.length === 0
    ? lines
    : [...lines, ...markers.flatMap((marker) => [FAULT_HEADER, marker])]
}

/** Comments that mark the event behind them. */
export function markComments(markers: readonly string[]): Buffer {
  return Buffer.from(markers.map((marker) => `: ${FAULT_HEADER} ${marker}\n\n`).join(''), 'latin1')
}

function token(name: string): string {
  const safe = name.slice(0, MAX_TOKEN).replace(/[^A-Za-z0-9._~-]/g, '_')
  return safe === '' ? '_' : safe
}
