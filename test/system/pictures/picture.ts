import type { Annotation, Dashboard, Panel } from '../../dashboards/shipped.ts'
import type { Prometheus, Series } from '../../support/cluster.ts'
import { chosen, type Choice } from './chosen.ts'
import { coloursOf } from './colours.ts'

/**
 * One line of a picture: what the legend says, its colour, and a value or nothing for each time.
 */
export interface Line {
  readonly refId: string
  readonly name: string
  /** Nothing where the thresholds say it. */
  readonly colour: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly values: readonly (number | null)[]
}

/** One panel with the responses of Prometheus. */
export interface PanelPicture {
  readonly panel: Panel
  readonly lines: readonly Line[]
}

/** A marker in the graphs, at a time. */
export interface Mark {
  readonly name: string
  readonly colour: string
  readonly at: number
}

/** A dashboard with all responses of Prometheus. */
export interface DashboardPicture {
  readonly title: string
  readonly times: readonly number[]
  readonly markers: readonly Mark[]
  readonly panels: readonly PanelPicture[]
}

/** The time that is looked at, in seconds since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly step: number
}

/** Asks Prometheus for everything that a dashboard shows. */
export async function takePicture(
  { title, panels, annotations }: Dashboard,
  prometheus: Prometheus,
  span: Span,
  choice: Choice,
): Promise<DashboardPicture> {
  const count = Math.ceil((span.to - span.from) / span.step)
  const start = span.to - count * span.step
  const times = Array.from({ length: count + 1 }, (_, index) => start + index * span.step)
  const pictures: PanelPicture[] = []
  for (const panel of panels) {
    pictures.push({ panel, lines: await linesOf(panel, prometheus, span, choice, times) })
  }
  const markers: Mark[] = []
  for (const annotation of annotations.list) {
    markers.push(...(await marksOf(annotation, prometheus, span, choice)))
  }
  return { title, times, markers, panels: pictures }
}

async function linesOf(
  panel: Panel,
  prometheus: Prometheus,
  { from, to, step }: Span,
  choice: Choice,
  times: readonly number[],
): Promise<readonly Line[]> {
  const found: { refId: string; legend: string; series: Series }[] = []
  for (const { refId, expr, instant, legendFormat } of panel.targets ?? []) {
    const query = chosen(expr, choice)
    const all = await (instant
      ? prometheus.instant(query, to)
      : prometheus.range(query, from, to, step))
    for (const series of all) found.push({ refId, legend: legendFormat, series })
  }
  const colours = coloursOf(
    panel,
    found.map(({ refId }) => refId),
  )
  return found.map(({ refId, legend, series }, index) => ({
    refId,
    name: legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => series.metric[label] ?? ''),
    colour: colours[index],
    labels: series.metric,
    values: series.times.length === 1 ? [finite(series.values[0])] : placed(series, times, step),
  }))
}

/** A value for each time; nothing where there is none, which the line leaves out. */
function placed(
  series: Series,
  times: readonly number[],
  step: number,
): readonly (number | null)[] {
  const values: (number | null)[] = times.map(() => null)
  series.times.forEach((time, index) => {
    values[Math.round((time - times[0]!) / step)] = finite(series.values[index])
  })
  return values
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null
}

/** The values of the query are times in milliseconds; each is marked once. */
async function marksOf(
  { name, expr, iconColor, textFormat }: Annotation,
  prometheus: Prometheus,
  { from, to, step }: Span,
  choice: Choice,
): Promise<readonly Mark[]> {
  const all = await prometheus.range(chosen(expr, choice), from, to, step)
  const at = new Set(all.flatMap(({ values }) => values.map((value) => Math.round(value) / 1000)))
  if (textFormat === '') throw new Error(`${name} says nothing`)
  return [...at]
    .filter((time) => time >= from && time <= to)
    .map((time) => ({ name, colour: iconColor, at: time }))
}
