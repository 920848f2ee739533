import { percentage } from '#base'
import {
  type Limit,
  type Magnitudes,
  type Point,
  magnitudeAt,
  positionOf,
  type Extent,
} from './bisection.ts'
import type { SearchResult } from './search-result.ts'
import type { Step } from './limit-search.ts'
import { nameOf, type Variation } from './variation.ts'

const WIDTH = 40
/** The rows of the grid of two parameters. */
const ROWS = 13

type Found = Limit & Pick<SearchResult, 'boundary' | 'points'> & { readonly settings: Rates }
type Rates = Pick<SearchResult['settings'], 'until' | 'confidence'>

/** Describes a search for people: the limit, its interval and the curve, or the boundary as a grid. */
export function searchText(result: SearchResult, variations: readonly Variation[]): string {
  const { end, id, failingPlan, runs, calls, boundary, points } = result
  const [first, second] = variations
  const isGrid = boundary !== undefined && second !== undefined && points.length > 0
  return [
    ...(isGrid ? grid(boundary, points, first!, second) : curve(result, first!)),
    '',
    ...(isGrid
      ? boundary.map((step) => limitText(result, variations, step))
      : [limitText(result, variations)]),
    ...(end.code === 'FOUND' ? [] : [`The search ended early: ${end.why} (${end.code}).`]),
    `${runs.length} runs, ${calls} calls, search ${id}.`,
    ...(failingPlan === null ? [] : [`A plan that fails: ${failingPlan}`]),
    '',
  ].join('\n')
}

/**
 * Describes the limit and its interval in one sentence; with two parameters the limit at one
 * magnitude of the second one.
 */
export function limitText(
  { points, settings, boundary, ...result }: Found,
  [first, second]: readonly Variation[],
  place?: Pick<Magnitudes, 'second'>,
): string {
  if (points.length === 0) return 'No magnitude was decided.'
  const step = boundary?.find((each) => each.second === place?.second)
  const text = oneLimit(step ?? result, settings, first!)
  return step === undefined ? text : `${nameOf(second!)} ${second!.shown(step.second)}: ${text}`
}

function oneLimit(
  { where, limit, interval }: Limit,
  { until, confidence }: Rates,
  variation: Variation,
): string {
  const { range, shown } = variation
  const name = nameOf(variation)
  if (where === 'below')
    return `${until} is already true at ${name} ${shown(range.mildest)}, the mildest.`
  if (where === 'above') {
    return `${until} is not true at any magnitude up to ${name} ${shown(range.strongest)}, the strongest.`
  }
  const [low, high] = interval
  const from = low === null ? `below ${shown(range.mildest)}` : shown(low)
  const to = high === null ? `above ${shown(range.strongest)}` : shown(high)
  const sure = percentage(confidence)
  if (limit === null) {
    const bound = low === null ? 'no lower bound is known yet' : `it is not true below ${from}`
    return `${until} was not true in any run; with ${sure} confidence ${bound}. Allow more runs.`
  }
  return `${until} is true from ${name} ${shown(limit)} on; with ${sure} confidence from ${from} to ${to}.`
}

const MARKS = { passed: 'o', failed: 'x', undecided: '?' } as const

/** Draws the staircase between pairs that pass and pairs that fail. */
function grid(
  boundary: readonly Step[],
  points: readonly Point[],
  first: Variation,
  second: Variation,
): readonly string[] {
  const { range, shown } = first
  const rowOf = (magnitude: number): number => Math.round(positionOf(range, magnitude) * (ROWS - 1))
  const names = boundary.map((step) => second.shown(step.second))
  const width = Math.max(...names.map(({ length }) => length)) + 2
  const rows = Array.from({ length: ROWS }, (_, index) => ROWS - 1 - index)
  const labels = rows.map((row) => shown(magnitudeAt(range, row / (ROWS - 1))))
  const margin = Math.max(
    nameOf(first).length,
    nameOf(second).length,
    ...labels.map((l) => l.length),
  )
  return [
    nameOf(first).padStart(margin),
    ...rows.map((row, index) => {
      const cells = boundary.map((step) => {
        const at = (point: Point): boolean =>
          point.second === step.second && rowOf(point.magnitude) === row
        const mark = points.findLast(at)
        const text = `${stateAt(step, range, row / (ROWS - 1))}${mark === undefined ? ' ' : MARKS[mark.decision]}`
        return text.padStart(width)
      })
      return `${labels[index]!.padStart(margin)}${cells.join('')}`.trimEnd()
    }),
    `${nameOf(second).padStart(margin)}${names.map((name) => name.padStart(width)).join('')}`,
    '',
    '. passes, # fails, ~ within the interval; runs: o passed, x failed, ? undecided',
  ]
}

function stateAt({ where, interval: [low, high] }: Step, range: Extent, position: number): string {
  if (where !== 'within') return where === 'above' ? '.' : '#'
  if (low !== null && position < positionOf(range, low)) return '.'
  return high !== null && position >= positionOf(range, high) ? '#' : '~'
}

/** Draws the share of failed calls by magnitude. */
function curve({ points }: SearchResult, variation: Variation): readonly string[] {
  const { range, shown } = variation
  if (points.length === 0) return []
  const sorted = points.toSorted(
    (one, other) => positionOf(range, one.magnitude) - positionOf(range, other.magnitude),
  )
  const most = Math.max(0.01, ...sorted.map(shareOf))
  const name = nameOf(variation)
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
