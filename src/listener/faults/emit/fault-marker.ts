import type { HeaderLines } from '../../../http/headers.ts'

/** Names the rules and faults that an answer was touched by. */
export const FAULT_HEADER = 'x-squall-fault'

const MAX_TOKEN = 100

/** What marks one fault: `rule/fault`, in characters that a header and a comment can hold. */
export function faultMark(rule: string, fault: string): string {
  return `${token(rule)}/${token(fault)}`
}

/** The head's lines with a mark for each fault. */
export function withMarks(lines: HeaderLines, marks: readonly string[]): HeaderLines {
  return marks.length === 0 ? lines : [...lines, ...marks.flatMap((mark) => [FAULT_HEADER, mark])]
}

/** Comments that mark the event behind them. */
export function markComments(marks: readonly string[]): Buffer {
  return Buffer.from(marks.map((mark) => `: ${FAULT_HEADER} ${mark}\n\n`).join(''), 'latin1')
}

function token(name: string): string {
  const safe = name.slice(0, MAX_TOKEN).replace(/[^A-Za-z0-9._~-]/g, '_')
  return safe === '' ? '_' : safe
}
