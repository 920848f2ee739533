import { type Line, type Span, type Tone, pad, span } from './line.ts'
import type { Combined, CombinedRule, CombinedTool } from '../combined.ts'
import { count, rate, sparkline, timeOfDay } from '../figures.ts'
import type { Fault } from '../read-snapshot.ts'

/** A column; columns without a width share the remaining width in proportion to `grow`. */
export interface Column {
  readonly title: string
  readonly width?: number
  readonly grow?: number
  readonly align?: 'left' | 'right'
  /** Hides the column on screens narrower than this. */
  readonly from?: number
}

/** A heading and the rows below. */
export interface Table {
  readonly head: Line
  readonly rows: readonly Line[]
}

/** Formats a heading and rows; each row has a span for every column, including hidden ones. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Span[])[],
  width: number,
): Table {
  const shown = columns.map(({ from = 0 }) => width >= from)
  const widths = columnWidths(
    columns.filter((_, i) => shown[i]),
    width,
  )
  const line = (parts: readonly Span[]): Line =>
    parts
      .filter((_, i) => shown[i])
      .flatMap(({ text, tone }, i) => [
        span(i === 0 ? ' ' : '  '),
        { text: pad(text, widths[i] ?? 0, columns.filter((__, j) => shown[j])[i]?.align), tone },
      ])
  return { head: line(columns.map(({ title }) => span(title, 'quiet'))), rows: rows.map(line) }
}

function columnWidths(columns: readonly Column[], width: number): readonly number[] {
  const fixed = columns.reduce((sum, column) => sum + (column.width ?? 0), 0)
  const shares = columns.reduce((sum, column) => sum + (column.grow ?? 0), 0)
  // The last cell of a line stays free, because some terminals wrap there.
  let left = Math.max(0, width - 2 - 2 * (columns.length - 1) - fixed)
  let sharesLeft = shares
  return columns.map(({ width: own, grow = 0 }) => {
    if (own !== undefined) return own
    const part = Math.round((left * grow) / Math.max(1, sharesLeft))
    left -= part
    sharesLeft -= grow
    return part
  })
}

const RULE_COLUMNS: readonly Column[] = [
  { title: 'RULE', grow: 3 },
  { title: 'FAULTS', grow: 2 },
  { title: 'STATE', width: 10 },
  { title: 'MATCHED', width: 8, align: 'right' },
  { title: 'SAMPLED', width: 8, align: 'right' },
  { title: 'INJECTED', width: 8, align: 'right' },
  { title: 'ACTIVE', width: 6, align: 'right', from: 100 },
]

const WORDS: Readonly<Record<CombinedRule['state'], string>> = {
  on: 'on',
  disarmed: 'disarmed',
  dry_run: 'dry run',
  not_yet: 'later',
  expired: 'expired',
  other_pod: 'other pods',
  disabled: 'disabled',
  mixed: 'mixed',
}

/** Tabulates the rules of all sidecars and highlights idle rules. */
export function ruleLines(rules: readonly CombinedRule[], live: number, width: number): Table {
  return table(
    RULE_COLUMNS,
    rules.map((rule) => ruleRow(rule, live)),
    width,
  )
}

/** Returns true for an active rule that has not sampled a call. */
export function isIdle({ on, sampled }: CombinedRule): boolean {
  return on > 0 && sampled === 0
}

function ruleRow(rule: CombinedRule, live: number): readonly Span[] {
  const { name, faults, builtIn, matched, sampled, applied, active } = rule
  const idle = isIdle(rule)
  return [
    span(name, idle ? 'warn' : 'strong'),
    span(builtIn ? 'requested by headers' : faults.join('+')),
    ruleState(rule, live, idle),
    span(count(matched)),
    span(count(sampled)),
    span(count(applied)),
    span(count(active)),
  ]
}

function ruleState({ state, on }: CombinedRule, live: number, idle: boolean): Span {
  if (idle) return span('IDLE', 'warn')
  if (on > 0) return span(on < live ? `on ${on} of ${live}` : 'on', 'good')
  return span(WORDS[state], 'quiet')
}

const TOOL_COLUMNS: readonly Column[] = [
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
export function toolLines(tools: readonly CombinedTool[], width: number): Table {
  return table(TOOL_COLUMNS, tools.map(toolRow), width)
}

function toolRow({ tool, rates, calls, injected, real, squall }: CombinedTool): readonly Span[] {
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

const FAULT_COLUMNS: readonly Column[] = [
  { title: 'LAST FAULTS', width: 11 },
  { title: 'RULE', grow: 3 },
  { title: 'FAULT', width: 12 },
  { title: 'CALLED', grow: 3 },
  { title: 'WHAT', grow: 4 },
]

/** Tabulates the last faults, newest first. */
export function faultLines(faults: readonly Fault[], width: number): Table {
  return table(FAULT_COLUMNS, faults.map(faultRow), width)
}

function faultRow({
  at,
  rule,
  fault,
  called,
  id,
  session,
  effect,
  delayMs,
}: Fault): readonly Span[] {
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

const MAX_SECONDS = 120
const BESIDE = 34

/** Draws the recent rates of injected and real errors on one scale. */
export function trafficLines({ trend, rates }: Combined, width: number): readonly Line[] {
  const seconds = Math.max(10, Math.min(MAX_SECONDS, width - BESIDE))
  return [
    [
      span(' injected errors/s '),
      span(rate(rates?.injected).padStart(6), 'warn'),
      span(' '),
      span(sparkline(trend, 'injected', seconds), 'warn'),
      span(` ${seconds} s`, 'quiet'),
    ],
    [
      span('     real errors/s '),
      span(rate(rates?.real).padStart(6), 'bad'),
      span(' '),
      span(sparkline(trend, 'real', seconds), 'bad'),
      span(rates !== undefined && rates.squall > 0 ? ` +${rate(rates.squall)} own` : ''),
    ],
  ]
}
