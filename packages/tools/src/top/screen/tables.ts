import { latency, type Tone } from '#base'
import { type Line, span, type Span } from '#cli'
import { type Column, type Table, table } from './table.ts'
import type { Combined, CombinedRule, CombinedTool } from '../combined.ts'
import { count, rate, sparkline, timeOfDay } from '../figures.ts'
import type { ErrorKind, Fault } from '../read-snapshot.ts'

const RULE_COLUMNS: readonly Column[] = [
  { title: 'RULE', grow: 3 },
  { title: 'FAULTS', grow: 2, from: 70 },
  { title: 'STATE', width: 10 },
  { title: 'MATCHED', width: 8, align: 'right', from: 60 },
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
  const { name, faults, builtIn, temporary, matched, sampled, applied, active } = rule
  const idle = isIdle(rule)
  return [
    span(name, idle ? 'warn' : 'strong'),
    span(
      builtIn ? 'requested by headers' : `${faults.join('+')}${temporary ? ' (temporary)' : ''}`,
    ),
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
  { title: 'P50', width: 7, align: 'right', from: 100 },
  { title: 'P95', width: 7, align: 'right' },
  { title: 'P99', width: 7, align: 'right', from: 100 },
  { title: 'CALLS', width: 8, align: 'right', from: 110 },
  { title: 'INJECTED', width: 8, align: 'right', from: 70 },
  { title: 'REAL', width: 7, align: 'right', from: 70 },
  { title: 'SQUALL', width: 6, align: 'right', from: 90 },
  { title: 'ELSEWHERE', width: 9, align: 'right', from: 150 },
]

/** Tabulates injected and real errors by tool. */
export function toolLines(tools: readonly CombinedTool[], width: number): Table {
  return table(TOOL_COLUMNS, tools.map(toolRow), width)
}

function toolRow({ tool, rates, calls, ...more }: CombinedTool): readonly Span[] {
  const { injected, real, squall, elsewhere, latency: of } = more
  return [
    tool === '' ? span('(other methods)', 'quiet') : span(tool, 'strong'),
    span(rate(rates?.calls)),
    span(rate(rates?.injected), toneOf(rates?.injected, 'injected')),
    span(rate(rates?.real), toneOf(rates?.real, 'bad')),
    ...[of.p50, of.p95, of.p99].map((seconds) =>
      span(latency(seconds === null ? null : seconds * 1_000)),
    ),
    span(count(calls)),
    span(count(injected), toneOf(injected, 'injected')),
    span(count(real), toneOf(real, 'bad')),
    span(count(squall), toneOf(squall, 'bad')),
    span(count(elsewhere), toneOf(elsewhere, 'injected')),
  ]
}

function toneOf(value: number | undefined, tone: Tone): Tone {
  return value !== undefined && value > 0 ? tone : 'quiet'
}

const ERROR_COLUMNS: readonly Column[] = [
  { title: 'LAST ERRORS', width: 11 },
  { title: 'ORIGIN', width: 8 },
  { title: 'CALLED', grow: 3 },
  { title: 'OUTCOME', width: 10, from: 120 },
  { title: 'STATUS', width: 6, align: 'right', from: 70 },
  { title: 'COUNT', width: 5, align: 'right', from: 80 },
  { title: 'MESSAGE', grow: 5 },
  { title: 'BY', grow: 2, from: 120 },
  { title: 'TRACE', width: 32, from: 160 },
]

/** Tabulates the errors by kind, with their newest message. */
export function errorLines(errors: readonly ErrorKind[], width: number): Table {
  return table(ERROR_COLUMNS, errors.map(errorRow), width)
}

function errorRow({ origin, called, outcome, status, ...kind }: ErrorKind): readonly Span[] {
  return [
    span(timeOfDay(kind.last), 'quiet'),
    // `injected_elsewhere` is shown by its last word.
    span(origin.slice(-9), origin.startsWith('injected') ? 'injected' : 'bad'),
    span(called, 'strong'),
    span(outcome),
    span(status === null ? '-' : String(status)),
    span(count(kind.count)),
    span(kind.message === '' ? outcome : kind.message),
    span(kind.by, 'quiet'),
    span(kind.trace, 'quiet'),
  ]
}

const FAULT_COLUMNS: readonly Column[] = [
  { title: 'LAST FAULTS', width: 11 },
  { title: 'RULE', grow: 3 },
  { title: 'FAULT', width: 12, from: 60 },
  { title: 'CALLED', grow: 3 },
  { title: 'EFFECT', grow: 4, from: 70 },
]

/** Tabulates the last faults, newest first. */
export function faultLines(faults: readonly Fault[], width: number): Table {
  return table(FAULT_COLUMNS, faults.map(faultRow), width)
}

function faultRow({ at, rule, fault, called, ...more }: Fault): readonly Span[] {
  const { id, session, effect, delayMs } = more
  const effects = [
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
    span(effects.join(', '), 'quiet'),
  ]
}

const MAX_SECONDS = 120
const BESIDE = 34

/** Draws the recent rates of injected and real errors on one scale. */
export function trafficLines({ trend, rates }: Combined, width: number): readonly Line[] {
  const seconds = Math.max(10, Math.min(MAX_SECONDS, width - BESIDE))
  const line = (title: string, of: 'injected' | 'real', tone: Tone, end: Span): Line => [
    span(` ${title.padStart(15)}/s `),
    span(rate(rates?.[of]).padStart(6), tone),
    span(' '),
    span(sparkline(trend, of, seconds), tone),
    end,
  ]
  const own = rates !== undefined && rates.squall > 0 ? ` +${rate(rates.squall)} own` : ''
  return [
    line('injected errors', 'injected', 'injected', span(` ${seconds} s`, 'quiet')),
    line('real errors', 'real', 'bad', span(own)),
  ]
}
