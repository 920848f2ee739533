import * as Type from 'typebox'
import { API } from '#admin-api'
import { matchesGlob, plain } from '#base'
import { MonitorError } from '../experiment/monitor/ask.ts'
import { prometheusBaselines } from '../slo/prometheus-baseline.ts'
import { type Baseline, baselinesOf } from '../slo/baseline.ts'
import { LABEL_NAME, PROMQL_DURATION } from '../slo/series.ts'
import { suggestSlos, whyNoSuccessSlo } from '../slo/suggest-slo.ts'
import { NEWEST_MISSING } from '../slo/traffic.ts'
import { monitorHeadersOf } from '../operations/run-here.ts'
import type { Control } from './control.ts'
import { defineTool, FOREIGN, READ_ONLY } from './control-tool.ts'
import { DeniedError } from './denied-error.ts'
import { chosenSidecar, SIDECAR } from './open-sidecars.ts'
import { closed, listOf, maybeText, text } from './shapes.ts'

const MAX_TOOLS = 50
const MAX_NAME = 128

const duration = (description: string) =>
  Type.Optional(Type.String({ pattern: PROMQL_DURATION, description }))

/** Suggests objectives from what was observed. */
export const SUGGEST_SLO = defineTool({
  name: 'suggest_slo',
  title: 'Suggest SLOs',
  description:
    'Suggests service level objectives by tool from the behaviour of the last 15 minutes, or from a Prometheus over a longer time, each with its query and its reason. What faults ended is left out.',
  annotations: READ_ONLY,
  input: closed({
    sidecar: SIDECAR,
    tool: maybeText('Suggests only for tools that match.', 256),
    prometheus: maybeText(
      'The URL of a Prometheus that --monitor opens, in place of a sidecar.',
      500,
    ),
    over: duration('How far Prometheus looks back; 1d by default.'),
    labels: Type.Optional(
      Type.Record(Type.String({ pattern: LABEL_NAME }), Type.String({ maxLength: 253 }), {
        maxProperties: 8,
        description: 'Labels of the series, as namespace or workload.',
      }),
    ),
    window: duration('The window of the objectives; 30d by default.'),
  }),
  output: Type.Object({
    note: Type.String(),
    slos: listOf({
      tool: Type.String(),
      indicator: text('success, or a quantile of the upstream.'),
      threshold: Type.Number(),
      unit: Type.String(),
      window: Type.String(),
      promql: text('The value of the indicator over the window.'),
      gate: Type.Record(Type.String(), Type.String(), {
        description:
          'The limit in the slo of a plan, which is about what clients see: add what a fault delays.',
      }),
      reason: Type.String(),
    }),
    without: Type.Array(Type.String(), { description: 'Why a tool has no objective.' }),
  }),
  run: async (
    { sidecar, tool: glob = '*', prometheus, over = '1d', labels = {}, window = '30d' },
    { control },
  ) => {
    if (prometheus !== undefined && sidecar !== undefined) {
      throw new DeniedError('sidecar and prometheus exclude each other; leave one out')
    }
    const all =
      prometheus === undefined
        ? baselinesOf(await chosenSidecar(control, sidecar).ask(API.history))
        : await fromPrometheus(prometheus, { over, labels }, control)
    const baselines = all
      .filter(({ tool }) => matchesGlob(glob, tool) && tool.length <= MAX_NAME)
      .slice(0, MAX_TOOLS)
    if (baselines.length === 0) {
      throw new DeniedError('no calls of such tools were observed; make calls first')
    }
    const slos = baselines.flatMap((each) =>
      suggestSlos(each, {
        labels,
        window,
        p95: prometheus === undefined ? 'highest p95 of 5 s' : 'p95',
      }),
    )
    const without = baselines.flatMap((each) => whyNoSuccessSlo(each) ?? [])
    const lines = slos.map(({ tool, indicator, threshold, unit, promql, reason }) => {
      const sign = indicator === 'success' ? 'at least' : 'at most'
      return plain(
        `${tool}: ${indicator} ${sign} ${threshold} ${unit} over ${window}. ${reason} Query: ${promql}`,
      )
    })
    return {
      text: [noteOn(prometheus), ...lines, ...without].join('\n'),
      data: { note: noteOn(prometheus), slos, without },
    }
  },
})

/** Returns what to know about figures of a sidecar, or of Prometheus. */
function noteOn(prometheus: string | undefined): string {
  return prometheus === undefined ? `${FOREIGN} ${NEWEST_MISSING}` : FOREIGN
}

async function fromPrometheus(
  given: string,
  choice: { readonly over: string; readonly labels: Readonly<Record<string, string>> },
  { bounds, access }: Control,
): Promise<readonly Baseline[]> {
  const url = URL.canParse(given) ? new URL(given) : undefined
  const isOpen = url !== undefined && bounds.monitors.includes(url.origin)
  if (!isOpen || url.username !== '' || url.password !== '') {
    const open = bounds.monitors.length === 0 ? 'none' : bounds.monitors.join(', ')
    throw new DeniedError(
      `squall mcp does not open this Prometheus, only ${open}; ask for --monitor`,
    )
  }
  try {
    return await prometheusBaselines({ url, headers: await monitorHeadersOf(access), ...choice })
  } catch (error) {
    if (!(error instanceof MonitorError)) throw error
    throw new DeniedError(`${url.origin} cannot be read: ${error.message}`)
  }
}
