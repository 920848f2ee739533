import { CLEAR_LINE, integerText, latency, type LineOutput, redraw, redraws } from '#base'
import type { Recorder } from './results/recorder.ts'

export interface Progress {
  /** Stops drawing, and clears the bar. */
  stop(): void
}

const REDRAW_MS = 250
const LINE_MS = 5000
const BAR = 20
const WIDTH = 80

/** The end of a load: a number of calls, or of milliseconds. */
export interface Goal {
  readonly calls: number | undefined
  readonly durationMs: number | undefined
  /** Returns the remaining wait for in-flight calls; undefined while further tasks begin. */
  readonly waitsMs?: () => number | undefined
}

/** Draws a bar on a terminal; elsewhere writes a line every five seconds. */
export function showProgress(
  output: LineOutput,
  recorder: Recorder,
  goal: Goal,
  env: Readonly<Record<string, string | undefined>>,
): Progress {
  const live = redraws(output, env)
  const draw = (): void => {
    const line = progressLine(recorder, goal)
    if (!live) {
      output.write(`${line}\n`)
      return
    }
    redraw(output, `${progressBar(shareDone(recorder, goal), BAR)} ${line}`, WIDTH)
  }
  const timer = setInterval(draw, live ? REDRAW_MS : LINE_MS)
  timer.unref()
  return {
    stop() {
      clearInterval(timer)
      if (live) output.write(CLEAR_LINE)
    },
  }
}

/** Draws a share from 0 to 1 as a bar. */
export function progressBar(share: number, length: number): string {
  const filled = Math.round(length * Math.min(1, Math.max(0, share)))
  return '█'.repeat(filled) + '░'.repeat(length - filled)
}

/** Shows progress, rate and errors on one line. */
export function progressLine(recorder: Recorder, goal: Goal): string {
  const { counts } = recorder
  const { elapsedMs } = recorder.timeline
  const { dropped } = recorder.tasks.arrivals
  const done = `${Math.floor(shareDone(recorder, goal) * 100)}%`
  const perSecond = elapsedMs === 0 ? 0 : counts.calls / (elapsedMs / 1000)
  const errors = Object.entries(recorder.errors.byOrigin()).filter(([, count]) => count > 0)
  const counted = errors.map(([origin, count]) => `${integerText(count)} ${origin}`)
  return [
    `${done} ${integerText(counts.calls)} calls`,
    `${integerText(perSecond)}/s`,
    `p99 ${latency(recorder.latency.quantile(0.99))}`,
    ...(dropped > 0 ? [`dropped ${integerText(dropped)}`] : []),
    ...waitingWords(recorder, goal),
    counted.length === 0 ? 'no errors' : `errors ${counted.join(', ')}`,
  ].join('  ')
}

/** Names the tools with in-flight calls once no further tasks begin. */
function waitingWords({ inFlight }: Recorder, { waitsMs }: Goal): string[] {
  const ms = waitsMs?.()
  if (ms === undefined || inFlight.total === 0) return []
  const busy = [...inFlight.byTool].filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a)
  const names = busy
    .slice(0, 3)
    .map(([tool, count]) => `${tool.slice(0, 30)} ${integerText(count)}`)
  const more = busy.length > 3 ? ', …' : ''
  const limit = Number.isFinite(ms) ? `, aborted in ${Math.ceil(ms / 1000)}s` : ''
  return [`waiting for ${names.join(', ')}${more}${limit}`]
}

function shareDone({ counts, timeline }: Recorder, { calls, durationMs }: Goal): number {
  const byCalls = calls === undefined || calls === 0 ? 0 : counts.calls / calls
  const byTime = durationMs === undefined ? 0 : timeline.elapsedMs / durationMs
  return Math.min(1, Math.max(byCalls, byTime))
}
