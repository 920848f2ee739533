import { shortDigest, type Tone } from '#base'
import { count, rate, sampledCalls, timeOfDay } from '../figures.ts'
import type { SidecarView } from '../sidecar-view.ts'
import type { Snapshot } from '../read-snapshot.ts'
import { type Line, span, type Span } from '#cli'
import { type Column, table } from './table.ts'

const COLUMNS: readonly Column[] = [
  { title: '#', width: 2, align: 'right' },
  { title: 'SIDECAR', grow: 1 },
  { title: 'STATE', width: 8 },
  { title: 'RULES', width: 13, from: 80 },
  { title: 'CALLS/S', width: 7, align: 'right', from: 60 },
  { title: 'INJ/S', width: 6, align: 'right' },
  { title: 'REAL/S', width: 6, align: 'right' },
  { title: 'SAMPLED', width: 7, align: 'right', from: 70 },
  { title: 'ACTIVE', width: 6, align: 'right', from: 100 },
  { title: 'ENVIRONMENT', width: 12, from: 110 },
]

export interface NumberedSidecar {
  readonly number: number
  readonly view: SidecarView
}

/** Tabulates the sidecars, each with its problems below. */
export function sidecarLines(
  sidecars: readonly NumberedSidecar[],
  differing: boolean,
  width: number,
): { readonly head: Line; readonly blocks: readonly (readonly Line[])[] } {
  const { head, rows } = table(
    COLUMNS,
    sidecars.map((each) => row(each, differing)),
    width,
  )
  return { head, blocks: sidecars.map(({ view }, i) => [rows[i]!, ...notes(view)]) }
}

function row({ number, view }: NumberedSidecar, differing: boolean): readonly Span[] {
  const { address, link, snapshot, rates } = view
  const isLive = link === 'live'
  const tone: Tone = isLive ? 'plain' : 'quiet'
  // A state from before the connection was lost is not shown as the current state.
  const known = isLive && snapshot !== undefined
  const rules = known ? `${shortDigest(snapshot.digest)} g${snapshot.generation}` : ''
  return [
    span(String(number), 'quiet'),
    span(address, isLive ? 'strong' : 'quiet'),
    stateOf(view),
    // Only a replica with different rules is highlighted.
    isLive && differing ? span(`≠${rules}`, 'bad') : span(rules, tone),
    span(rate(rates?.calls), tone),
    span(rate(rates?.injected), tone),
    span(rate(rates?.real), tone),
    span(known ? count(sampledCalls(view)) : '-', tone),
    span(known ? count(snapshot.activeFaults) : '-', tone),
    span(known ? snapshot.environment : '', tone),
  ]
}

function stateOf({ link, snapshot }: SidecarView): Span {
  if (link === 'lost') return span('LOST', 'bad')
  if (snapshot === undefined) return span('…', 'quiet')
  if (!snapshot.armed) return span('DISARMED', 'warn')
  return snapshot.dryRun ? span('dry run', 'warn') : span('armed', 'good')
}

function notes({ link, problem, snapshot }: SidecarView): readonly Line[] {
  if (link === 'lost') return [note(`lost, trying again: ${problem}`, 'bad')]
  if (snapshot === undefined) return [note('connecting', 'quiet')]
  return [
    ...snapshot.reasons.map((reason) => note(reasonText(reason), 'warn')),
    ...reloadNotes(snapshot),
  ]
}

function reasonText({ by, reason, at }: Snapshot['reasons'][number]): string {
  return `disarmed by ${by}${at === '' ? '' : ` at ${timeOfDay(at)}`}: ${reason}`
}

function reloadNotes({ lastReload, generation }: Snapshot): readonly Line[] {
  if (lastReload === undefined || lastReload.result === 'applied') return []
  const { result, at, problem, problemCount } = lastReload
  const more = problemCount > 1 ? ` (and ${problemCount - 1} more)` : ''
  const stays = generation > 0 ? `; g${generation} stays active` : ''
  return [note(`rules ${result} at ${timeOfDay(at)}${stays}: ${problem}${more}`, 'bad')]
}

function note(text: string, tone: Tone): Line {
  return [span(`     ${text}`, tone)]
}
