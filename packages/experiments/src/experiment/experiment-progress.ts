import { CLEAR_LINE, duration, type LineOutput, plain, redraw, redraws } from '#base'
import { shownMeasure } from './gate.ts'
import type { ExperimentEvent } from './context.ts'
import { progressBar } from '../load/load-progress.ts'

const BAR = 16
const WIDTH = 80
const REDRAW_MS = 250
const LINE_MS = 10_000

/**
 * Shows the progress of an experiment: on a terminal in one redrawn line, elsewhere in lines, every
 * ten seconds by default.
 */
export function experimentProgress(
  output: LineOutput,
  env: Readonly<Record<string, string | undefined>>,
  now: () => number = () => performance.now(),
  lineMs = LINE_MS,
): (event: ExperimentEvent) => void {
  const live = redraws(output, env)
  let label = ''
  let shownAt = now()
  const writeLine = (text: string): void => {
    output.write(`${live ? CLEAR_LINE : ''}${plain(text)}\n`)
  }
  return (event) => {
    if (event.kind === 'moment') {
      if (now() - shownAt < (live ? REDRAW_MS : lineMs)) return
      shownAt = now()
      if (!live) return writeLine(momentWords(label, event))
      const bar = progressBar(event.elapsedMs / event.durationMs, BAR)
      return redraw(output, plain(`${bar} ${momentWords(label, event)}`), WIDTH)
    }
    if (event.kind === 'phase') {
      label = event.label
      shownAt = now()
      if (event.stage === undefined && !live) return
    }
    writeLine(eventWords(event))
  }
}

function eventWords(event: Exclude<ExperimentEvent, { readonly kind: 'moment' }>): string {
  if (event.kind === 'note') return event.text
  if (event.kind === 'seen') return `ends: ${event.end.why}`
  if (event.kind === 'phase-over') return `${event.label}: ${event.text}`
  if (event.kind === 'rolled-back') {
    return event.restored ? 'rolled back' : 'not rolled back: another program has changed the rules'
  }
  const { stage, label, durationMs } = event
  const which = stage === undefined ? '' : `stage ${stage.index + 1} of ${stage.count}: `
  return `${which}${label}, ${duration(durationMs)}`
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
    `${label} ${duration(elapsedMs)}/${duration(durationMs)}`,
    `${calls} calls`,
    `errors ${shownMeasure('errors', measured.errors)}`,
    `p95 ${shownMeasure('p95', measured.p95)}`,
    ...(applied === undefined ? [] : [`faults ${applied}`]),
  ].join('  ')
}
