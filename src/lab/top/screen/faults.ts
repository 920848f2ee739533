import { timeOfDay } from '../figures.ts'
import type { Fault } from '../read-snapshot.ts'
import { type Line, type Span, span } from './line.ts'
import { type Column, table } from './table.ts'

const COLUMNS: readonly Column[] = [
  { title: 'LAST FAULTS', width: 11 },
  { title: 'RULE', grow: 3 },
  { title: 'FAULT', width: 12 },
  { title: 'CALLED', grow: 3 },
  { title: 'WHAT', grow: 4 },
]

/** Tabulates the last faults, newest first. */
export function faultLines(
  faults: readonly Fault[],
  width: number,
): { readonly head: Line; readonly rows: readonly Line[] } {
  return table(COLUMNS, faults.map(row), width)
}

function row({ at, rule, fault, called, id, session, effect, delayMs }: Fault): readonly Span[] {
  const what = [
    ...(delayMs === null ? [] : [`${Math.round(delayMs)} ms late`]),
    ...(effect === '' ? [] : [effect]),
    ...(id === '' ? [] : [`id ${id}`]),
    ...(session === '' ? [] : [`session ${session}`]),
  ]
  return [
    span(timeOfDay(at), 'quiet'),
    span(rule, 'strong'),
    span(fault),
    span(called === '' ? 'HTTP' : called),
    span(what.join(', '), 'quiet'),
  ]
}
