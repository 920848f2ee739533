import type { CombinedTool } from '../combined.ts'
import { count, rate } from '../figures.ts'
import { type Line, type Span, span, type Tone } from './line.ts'
import { type Column, table } from './table.ts'

const COLUMNS: readonly Column[] = [
  { title: 'TOOL', grow: 1 },
  { title: 'CALLS/S', width: 7, align: 'right' },
  { title: 'INJ/S', width: 6, align: 'right' },
  { title: 'REAL/S', width: 6, align: 'right' },
  { title: 'CALLS', width: 8, align: 'right', from: 100 },
  { title: 'INJECTED', width: 8, align: 'right' },
  { title: 'REAL', width: 7, align: 'right' },
  { title: 'SQUALL', width: 6, align: 'right' },
]

/** Tabulates injected and real errors by tool. */
export function toolLines(
  tools: readonly CombinedTool[],
  width: number,
): { readonly head: Line; readonly rows: readonly Line[] } {
  return table(COLUMNS, tools.map(row), width)
}

function row({ tool, rates, calls, injected, real, squall }: CombinedTool): readonly Span[] {
  return [
    tool === '' ? span('(other methods)', 'quiet') : span(tool, 'strong'),
    span(rate(rates?.calls)),
    span(rate(rates?.injected), toneOf(rates?.injected, 'warn')),
    span(rate(rates?.real), toneOf(rates?.real, 'bad')),
    span(count(calls)),
    span(count(injected), toneOf(injected, 'warn')),
    span(count(real), toneOf(real, 'bad')),
    span(count(squall), toneOf(squall, 'bad')),
  ]
}

function toneOf(value: number | undefined, tone: Tone): Tone {
  return value !== undefined && value > 0 ? tone : 'quiet'
}
