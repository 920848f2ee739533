import type { CombinedRule } from '../combined.ts'
import { count } from '../figures.ts'
import { type Line, type Span, span } from './line.ts'
import { type Column, table } from './table.ts'

const COLUMNS: readonly Column[] = [
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
  mixed: 'mixed',
}

/** Tabulates the rules of all sidecars and highlights idle rules. */
export function ruleLines(
  rules: readonly CombinedRule[],
  live: number,
  width: number,
): { readonly head: Line; readonly rows: readonly Line[] } {
  return table(
    COLUMNS,
    rules.map((rule) => row(rule, live)),
    width,
  )
}

/** Returns true for an active rule that has not sampled a call. */
export function isIdle({ on, sampled }: CombinedRule): boolean {
  return on > 0 && sampled === 0
}

function row(rule: CombinedRule, live: number): readonly Span[] {
  const { name, faults, builtIn, matched, sampled, applied, active } = rule
  const idle = isIdle(rule)
  return [
    span(name, idle ? 'warn' : 'strong'),
    span(builtIn ? 'requested by headers' : faults.join('+')),
    stateOf(rule, live, idle),
    span(count(matched)),
    span(count(sampled)),
    span(count(applied)),
    span(count(active)),
  ]
}

function stateOf({ state, on }: CombinedRule, live: number, idle: boolean): Span {
  if (idle) return span('IDLE', 'warn')
  if (on > 0) return span(on < live ? `on ${on} of ${live}` : 'on', 'good')
  return span(WORDS[state], 'quiet')
}
