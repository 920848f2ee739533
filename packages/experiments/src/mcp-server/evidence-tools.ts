import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import * as Type from 'typebox'
import { API, type ErrorKind, type History } from '#admin-api'
import { matchesGlob, oneLine, plain, shownUrl } from '#base'
import { MonitorError } from '#protocol'
import { mapOf } from '#rules'
import { BaselinesError } from '../next/baselines.ts'
import { whatNext } from '../next/what-next.ts'
import { BASELINES, plannedRanks } from '../operations/next.ts'
import { monitorHeadersOf } from '../operations/run-here.ts'
import {
  type Baseline,
  baselinesOf,
  NEEDS_FULL,
  prometheusBaselines,
  NEWEST_MISSING,
  trafficIn,
  type Traffic,
} from '../slo/baseline.ts'
import { LABEL_NAME, PROMQL_DURATION } from '../slo/series.ts'
import { SLO, suggestSlos, whyNoSuccessSlo } from '../slo/suggest-slo.ts'
import { defineTool, FOREIGN, READ_ONLY, type Control } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { chosenSidecar, SIDECAR, chosenTarget, TARGET } from './open-sidecars.ts'
import { closed, listOf, maybeInteger, maybeText, wordsOf } from './shapes.ts'

const DEFAULT_SECONDS = 300
const MAX_SECONDS = 900
const MAX_ERRORS = 50
const MAX_NAME = 128

/** Shows what passes through a sidecar. */
export const OBSERVE = defineTool({
  name: 'observe',
  title: 'Observe the traffic',
  description:
    'Shows the traffic of a sidecar in the last minutes: rates, real and injected errors, and latencies by tool, with sample errors. Waits up to 5 s for the newest calls.',
  annotations: READ_ONLY,
  input: closed({
    sidecar: SIDECAR,
    tool: maybeText('Shows only tools that match, such as read_*.', 256),
    seconds: maybeInteger(
      5,
      MAX_SECONDS,
      `How many seconds to look back. Default: ${DEFAULT_SECONDS}.`,
    ),
  }),
  output: Type.Object({
    note: Type.String(),
    sidecar: Type.String(),
    armed: Type.Boolean(),
    seconds: Type.Number(),
    until: Type.String(),
    traffic: Type.Array(Type.Object({})),
    errors: Type.Array(Type.Object({})),
  }),
  run: async ({ sidecar: asked, tool: glob, seconds: span = DEFAULT_SECONDS }, { control }) => {
    const { ask, setting } = chosenSidecar(control, asked)
    const [{ armed }, history, { errors }] = await Promise.all([
      ask(API.state),
      untilNow(() => ask(API.history)),
      ask(API.errors),
    ])
    const { seconds: exact, traffic } = trafficIn(history, span)
    const seconds = Number(exact.toFixed(1))
    const until = new Date((history.at.at(-1) ?? 0) * 1000).toISOString()
    const wanted = (tool: string | undefined): boolean =>
      glob === undefined || (tool !== undefined && matchesGlob(glob, tool))
    const data = {
      note: FOREIGN,
      sidecar: setting.admin,
      armed,
      seconds,
      until,
      traffic: traffic.filter(({ tool }) => wanted(tool)).map((each) => shown(each, seconds)),
      errors: errors
        .filter(({ tool }) => wanted(tool))
        .slice(0, MAX_ERRORS)
        .map(shownError),
    }
    const lines = data.traffic.map(({ tool = 'all calls', ...rest }) => {
      return `${tool || 'calls of no tool'}: ${wordsOf(rest)}`
    })
    const window = `The ${seconds} s until ${until}, ${armed ? 'armed' : 'disarmed'}; errors count from the start of the sidecar.`
    const text = [
      FOREIGN,
      window,
      ...lines,
      ...data.errors.map((each) => `error: ${wordsOf(each)}`),
    ]
    return { text: text.join('\n'), data }
  },
})

/** A point is of 5 s. */
const NEXT_POINT_MS = 6_500

/** Waits for the point that has the calls until now. */
async function untilNow(read: () => Promise<History>): Promise<History> {
  const began = Date.now()
  let history = await read()
  const isOld = (): boolean => (history.at.at(-1) ?? 0) * 1000 < began - 500
  // The clock may be set back meanwhile.
  const until = performance.now() + NEXT_POINT_MS
  while (isOld() && performance.now() < until) {
    await setTimeout(500)
    history = await read()
  }
  return history
}

function shownError(kind: ErrorKind): Readonly<Record<string, unknown>> {
  const { first: _, samples, tool, method, ...rest } = kind
  return {
    ...rest,
    // Empty for methods without a tool.
    tool: tool ? oneLine(tool, MAX_NAME) : undefined,
    method: oneLine(method, MAX_NAME),
    untrustedMessage: samples[0]?.message && oneLine(samples[0].message),
  }
}

function shown(
  { tool, calls, realErrors, injectedErrors, ...latencies }: Traffic,
  seconds: number,
): Readonly<Record<string, unknown>> & { readonly tool?: string | undefined } {
  const milliseconds = (value: number | null) => value && Number((value * 1000).toPrecision(3))
  return {
    tool: tool && oneLine(tool, MAX_NAME),
    calls,
    callsPerSecond: Number((calls / Math.max(1, seconds)).toPrecision(3)),
    realErrors,
    injectedErrors,
    p50Ms: milliseconds(latencies.p50),
    p95Ms: milliseconds(latencies.p95),
    upstreamP50Ms: milliseconds(latencies.upstreamP50),
    upstreamP95Ms: milliseconds(latencies.upstreamP95),
  }
}

/** Says what agents did after faults and errors. */
export const WHAT_AGENTS_DID = defineTool({
  name: 'what_agents_did',
  title: 'Report what agents did',
  description:
    'Reports what agents did wrong after faults and errors, such as duplicate writes and retries without backoff: the 20 most harmful findings, each with counts and advice.',
  annotations: READ_ONLY,
  input: closed({ sidecar: SIDECAR }),
  output: Type.Object({
    note: Type.String(),
    findings: listOf({
      severity: Type.String(),
      source: Type.String({ description: 'Source of the calls: agent, or load for squall load.' }),
      sentence: Type.String(),
      advice: Type.String(),
      cure: Type.Optional(Type.String({ description: 'The section of the docs with code.' })),
    }),
  }),
  run: async ({ sidecar }, { control }) => {
    const { findings } = await chosenSidecar(control, sidecar).ask(API.agents)
    const reported = findings.map(({ severity, source, sentence, advice, cure }) => ({
      severity,
      source,
      sentence,
      advice,
      ...(cure && { cure: cure.page }),
    }))
    const lines = reported.map(({ source, sentence, advice }) =>
      plain(`${source === 'load' ? 'squall load: ' : ''}${sentence} ${advice}`),
    )
    const text = [FOREIGN, ...(lines.length === 0 ? ['No findings yet.'] : lines)].join('\n')
    return { text, data: { note: FOREIGN, findings: reported } }
  },
})

const MAX_TOOLS = 50

const duration = (description: string) =>
  Type.Optional(Type.String({ pattern: PROMQL_DURATION, description }))

/** Suggests objectives from what was observed. */
export const SUGGEST_SLO = defineTool({
  name: 'suggest_slo',
  title: 'Suggest SLOs',
  description:
    'Suggests service level objectives (SLOs) by tool, each with its query and reason, from the last 15 minutes of traffic, or from a longer window in Prometheus. Excludes calls that a fault ended.',
  annotations: READ_ONLY,
  input: closed({
    sidecar: SIDECAR,
    tool: maybeText('Suggests only for tools that match.', 256),
    prometheus: maybeText(
      'The URL of a Prometheus server from --monitor, instead of a sidecar.',
      500,
    ),
    over: duration('How far back to query Prometheus. Default: 1d.'),
    labels: Type.Optional(
      mapOf(
        Type.String({ maxLength: 253 }),
        {
          maxProperties: 8,
          description: 'Labels of the series, such as namespace or workload.',
        },
        LABEL_NAME,
      ),
    ),
    window: duration('The window of the objectives. Default: 30d.'),
  }),
  output: Type.Object({
    note: Type.String(),
    slos: Type.Array(SLO),
    without: Type.Array(Type.String(), { description: 'Why a tool has no objective.' }),
  }),
  run: async (
    { sidecar, tool: glob = '*', prometheus, over = '1d', labels = {}, window = '30d' },
    { control },
  ) => {
    if (prometheus !== undefined && sidecar !== undefined) {
      throw new DeniedError('sidecar and prometheus are mutually exclusive; remove one of them')
    }
    const all =
      prometheus === undefined
        ? baselinesOf(await chosenSidecar(control, sidecar).ask(API.history))
        : await fromPrometheus(prometheus, { over, labels }, control)
    const baselines = all
      .filter(({ tool }) => matchesGlob(glob, tool) && tool.length <= MAX_NAME)
      .slice(0, MAX_TOOLS)
    if (baselines.length === 0) {
      throw new DeniedError('no calls of matching tools were observed; make calls first')
    }
    const slos = baselines.flatMap((each) =>
      suggestSlos(each, {
        labels,
        window,
        p95: prometheus === undefined ? 'highest p95 of 5 s' : 'p95',
      }),
    )
    const without = [
      ...baselines.flatMap((each) => whyNoSuccessSlo(each) ?? []),
      ...(baselines.some(({ isBasic }) => isBasic) ? [`No SLO for latency: ${NEEDS_FULL}.`] : []),
    ]
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
      `this server may not read this Prometheus, only ${open}; ask a person to add --monitor`,
    )
  }
  try {
    return await prometheusBaselines({ url, headers: await monitorHeadersOf(access), ...choice })
  } catch (error) {
    if (!(error instanceof MonitorError)) throw error
    throw new DeniedError(`${url.origin} cannot be read: ${error.message}`)
  }
}

const DEFAULT_TOP = 3

/** Ranks what to test next. */
export const WHAT_NEXT = defineTool({
  name: 'what_next',
  title: 'Rank what to test next',
  description:
    'Ranks what to test next, by traffic, earlier tests, changes and similarity to earlier failures. Each suggestion includes numeric reasons and a plan for propose_experiment.',
  annotations: READ_ONLY,
  input: closed({
    sidecar: SIDECAR,
    target: TARGET,
    top: maybeInteger(1, 20, 'Number of suggestions. Default: 3.'),
  }),
  output: Type.Object({
    note: Type.String(),
    ranks: Type.Array(Type.Object({})),
  }),
  run: async ({ sidecar: asked, target: wanted, top = DEFAULT_TOP }, { control }) => {
    const policy = control.limits.read()
    const { ask, setting: sidecar } = chosenSidecar(control, asked)
    const url = shownUrl(chosenTarget(control, wanted))
    const { environment } = await ask(API.state)
    const { experiments } = control.access
    const recent = await ask(API.history)
    // A sidecar may not watch agents.
    const { flows } = (await ask(API.tasks).catch(() => undefined)) ?? {}
    const baselines = join(experiments, BASELINES)
    const sources = { target: url, experiments, recent, flows, baselines, learns: false }
    const found = await whatNext(sources).catch((error: unknown) => {
      if (!(error instanceof BaselinesError)) throw error
      throw new DeniedError(`the learned behaviour is unusable: ${error.message}`)
    })
    const ranks = plannedRanks(found, { url, environment, sidecar }, policy, top)
    if (ranks.length === 0) {
      throw new DeniedError(
        found.length === 0
          ? 'no tool was called in the last 15 minutes; make calls first'
          : 'the policy forbids all faults that could be tested, or all tools',
      )
    }
    const lines = ranks.map(
      ({ tool, fault, score, asks, reasons, plan }) =>
        `${plain(`${tool}, ${fault} (${score}): ${asks} ${reasons.join('; ')}`)}\n${plan}`,
    )
    return { text: [FOREIGN, ...lines].join('\n\n'), data: { note: FOREIGN, ranks } }
  },
})
