import * as Type from 'typebox'
import { quoted } from '#base'
import { mapOf } from '#rules'
import type { Baseline } from './baseline.ts'
import { CALLS, ERRORS, selector } from './series.ts'
import { shareInterval } from './share-interval.ts'

/** An objective for a tool. */
export const SLO = Type.Object({
  tool: Type.String(),
  indicator: Type.String({
    description:
      'The service level indicator (SLI): success, or an upstream latency quantile such as p95.',
  }),
  threshold: Type.Number(),
  unit: Type.String(),
  window: Type.String(),
  promql: Type.String({ description: 'The value of the indicator over the window.' }),
  gate: mapOf(Type.String(), {
    description:
      'The limit for `slo` in a plan. Plans measure client latency, so add the delay of the faults.',
  }),
  reason: Type.String(),
})

type Slo = Type.Static<typeof SLO>

/** Where the series are, and the window of the objectives. */
interface SloScope {
  readonly labels: Readonly<Record<string, string>>
  readonly window: string
  /** Describes the p95 of the baseline. */
  readonly p95: string
}

const OBJECTIVES = [99.99, 99.95, 99.9, 99.5, 99, 98, 95, 90]
const HEADROOM = 1.5
const STEPS = [1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10]

/** Suggests objectives that a tool has met, with room for normal variation. */
export function suggestSlos(baseline: Baseline, scope: SloScope): readonly Slo[] {
  const success = successSlo(baseline, scope)
  return [...(success === undefined ? [] : [success]), ...latencySlos(baseline, scope)]
}

/** Explains why there is no objective for the success of a tool; undefined when there is one. */
export function whyNoSuccessSlo(baseline: Baseline): string | undefined {
  if (objectiveOf(baseline) !== undefined) return undefined
  const { tool, calls, errors } = baseline
  const seen = `${errors} of ${calls} calls of ${quoted(tool)} failed`
  return `${seen}, which does not support an objective of ${OBJECTIVES.at(-1)}%; observe more calls, or fix the tool first`
}

function objectiveOf({ calls, errors }: Baseline): number | undefined {
  if (calls === 0) return undefined
  const worst = shareInterval(errors, calls)[1] * 100
  return OBJECTIVES.find((objective) => worst <= 100 - objective + 1e-9)
}

function successSlo(baseline: Baseline, { labels, window }: SloScope): Slo | undefined {
  const threshold = objectiveOf(baseline)
  if (threshold === undefined) return undefined
  const { tool, calls, errors } = baseline
  const rate = (matchers: readonly string[]) =>
    `sum(rate(squall_calls_total${selector(matchers, { ...labels, tool })}[${window}]))`
  const most = shareInterval(errors, calls)[1] * 100
  return {
    tool,
    indicator: 'success',
    threshold,
    unit: '%',
    window,
    promql: `100 * (1 - (${rate(ERRORS)} or vector(0)) / ${rate(CALLS)})`,
    gate: { success: `${threshold}%` },
    reason: `${errors} of ${calls} calls failed; with 95% confidence at most ${most.toPrecision(2)}% do. More calls can show a higher objective.`,
  }
}

function latencySlos(
  { tool, p50, p95, p99 }: Baseline,
  { labels, window, p95: p95Text }: SloScope,
): readonly Slo[] {
  const series = `squall_upstream_duration_seconds_bucket${selector([], { ...labels, tool })}`
  return (
    [
      ['p95', p95],
      ['p99', p99],
    ] as const
  ).flatMap(([indicator, seconds]) => {
    if (seconds === null) return []
    const threshold = roundedUp(seconds * 1000 * HEADROOM)
    const share = Number(indicator.slice(1)) / 100
    const usual = p50 === null ? '' : `, the median ${shownMs(p50)}`
    return [
      {
        tool,
        indicator,
        threshold,
        unit: 'ms',
        window,
        promql: `1000 * histogram_quantile(${share}, sum by (le) (rate(${series}[${window}])))`,
        gate: { [indicator]: `${threshold}ms` },
        reason: `The ${indicator === 'p95' ? p95Text : indicator} of the upstream was ${shownMs(seconds)}${usual}; ${HEADROOM} times that, rounded up. The query needs sidecars with --metrics-detail full.`,
      },
    ]
  })
}

function shownMs(seconds: number): string {
  return `${Number((seconds * 1000).toPrecision(3))} ms`
}

/** Rounds milliseconds up to a number that people would choose. */
function roundedUp(ms: number): number {
  if (ms <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(ms))
  return Math.ceil(STEPS.find((step) => step * power >= ms - 1e-9)! * power)
}
