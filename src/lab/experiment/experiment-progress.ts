import { plain } from '../../base/text/foreign-text.ts'
import { shownMeasure } from './gate.ts'
import type { ExperimentEvent } from './context.ts'
import type { ProgressOutput } from '../load/load-progress.ts'

const BAR = 16
const WIDTH = 80
const REDRAW_MS = 250
const LINE_MS = 10_000

/** Shows how far an experiment is: drawn over on a terminal, a line now and then elsewhere. */
export function experimentProgress(
  output: ProgressOutput,
  env: Readonly<Record<string, string | undefined>>,
  now: () => number = () => performance.now(),
): (event: ExperimentEvent) => void {
  const live = output.isTTY === true && env['TERM'] !== 'dumb' && (env['CI'] ?? '') === ''
  let label = ''
  let shownAt = now()
  const say = (text: string): void => {
    output.write(`${live ? '\r\u001b[K' : ''}${plain(text)}\n`)
  }
  return (event) => {
    if (event.kind === 'moment') {
      if (now() - shownAt < (live ? REDRAW_MS : LINE_MS)) return
      shownAt = now()
      if (!live) return say(momentWords(label, event))
      // Never the last column: a line that wraps could not be taken back.
      const width = Math.min(WIDTH, output.columns ?? WIDTH) - 1
      const line = `${bar(event.elapsedMs / event.durationMs)} ${momentWords(label, event)}`
      output.write(`\r${plain(line).slice(0, width)}\u001b[K`)
      return
    }
    if (event.kind === 'phase') {
      label = event.label
      shownAt = now()
      if (event.stage === undefined && !live) return
    }
    say(eventWords(event))
  }
}

function eventWords(event: Exclude<ExperimentEvent, { readonly kind: 'moment' }>): string {
  if (event.kind === 'note') return event.text
  if (event.kind === 'seen') return `ends: ${event.end.why}`
  if (event.kind === 'phase-over') return `${event.label}: ${event.text}`
  if (event.kind === 'rolled-back') {
    return event.restored ? 'rolled back' : 'not rolled back: the rules file was changed by others'
  }
  const { stage, label, durationMs } = event
  const which = stage === undefined ? '' : `stage ${stage.index + 1} of ${stage.count}: `
  return `${which}${label}, ${time(durationMs)}`
}

function momentWords(
  label: string,
  {
    elapsedMs,
    durationMs,
    calls,
    measured,
    applied,
  }: ExperimentEvent & { readonly kind: 'moment' },
): string {
  return [
    `${label} ${time(elapsedMs)}/${time(durationMs)}`,
    `${calls} calls`,
    `errors ${shownMeasure('errors', measured.errors)}`,
    `p95 ${shownMeasure('p95', measured.p95)}`,
    ...(applied === undefined ? [] : [`faults ${applied}`]),
  ].join('  ')
}

function bar(share: number): string {
  const filled = Math.round(BAR * Math.min(1, Math.max(0, share)))
  return '█'.repeat(filled) + '░'.repeat(BAR - filled)
}

function time(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)}s` : `${Math.round(ms / 60_000)}m`
}
