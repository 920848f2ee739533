import { percentage } from '../report/shown-numbers.ts'
import { positionOf } from './range.ts'
import type { Point } from './bisection.ts'
import type { SearchResult } from './search-result.ts'
import type { Variation } from './variation.ts'

const WIDTH = 40

/** Describes a search for people: the limit, its interval and the curve. */
export function searchText(result: SearchResult, variation: Variation): string {
  const { end, id, failingPlan, runs, calls } = result
  return [
    ...curve(result, variation),
    '',
    limitText(result, variation),
    ...(end.code === 'FOUND' ? [] : [`The search ended early: ${end.why} (${end.code}).`]),
    `${runs.length} runs, ${calls} calls, search ${id}.`,
    ...(failingPlan === null ? [] : [`A plan that fails: ${failingPlan}`]),
    '',
  ].join('\n')
}

/** Describes the limit and its interval in one sentence. */
export function limitText(result: SearchResult, { path, range, shown }: Variation): string {
  const { where, limit, interval, settings, points } = result
  const name = path.join('.')
  const until = settings.until
  if (points.length === 0) return 'No magnitude was decided.'
  if (where === 'below')
    return `${until} is true already at ${name} ${shown(range.mildest)}, the mildest.`
  if (where === 'above') {
    return `${until} is true at no magnitude up to ${name} ${shown(range.strongest)}, the strongest.`
  }
  const [low, high] = interval
  const from = low === null ? `below ${shown(range.mildest)}` : shown(low)
  const to = high === null ? `above ${shown(range.strongest)}` : shown(high)
  const sure = percentage(settings.confidence)
  return `${until} is true from ${name} ${shown(limit!)} on; with ${sure} confidence from ${from} to ${to}.`
}

/** Draws the share of failed calls by magnitude. */
function curve(result: SearchResult, { path, range, shown }: Variation): readonly string[] {
  const { points } = result
  if (points.length === 0) return []
  const sorted = points.toSorted(
    (one, other) => positionOf(range, one.magnitude) - positionOf(range, other.magnitude),
  )
  const most = Math.max(0.01, ...sorted.map(shareOf))
  const name = path.join('.')
  const width = Math.max(name.length, ...sorted.map(({ magnitude }) => shown(magnitude).length))
  return [
    `${name.padStart(width)}  failed calls`,
    ...sorted.map((point) => {
      const bar = '#'.repeat(Math.round((shareOf(point) / most) * WIDTH)).padEnd(WIDTH)
      const share = percentage(shareOf(point)).padStart(7)
      const { decision, calls, code } = point
      const why = code === undefined ? '' : ` (${code})`
      return `${shown(point.magnitude).padStart(width)}  ${bar} ${share} of ${calls}: ${decision}${why}`
    }),
  ]
}

function shareOf({ calls, failed }: Point): number {
  return calls === 0 ? 0 : failed / calls
}
