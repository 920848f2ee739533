import * as Type from 'typebox'
import { API, type ErrorKind } from '#admin-api'
import { matchesGlob, oneLine } from '#base'
import { NEWEST_MISSING, trafficIn, type Traffic } from '../slo/traffic.ts'
import { defineTool, FOREIGN, READ_ONLY } from './control-tool.ts'
import { chosenSidecar, SIDECAR } from './open-sidecars.ts'
import { closed, listOf, maybeInteger, maybeText, numberOrNull } from './shapes.ts'

const DEFAULT_SECONDS = 300
const MAX_SECONDS = 900
const MAX_ERRORS = 50
const MAX_NAME = 128
const NOTE = `${FOREIGN} ${NEWEST_MISSING}`

const optional = { count: Type.Optional(Type.Number()), text: Type.Optional(Type.String()) }

const trafficShape = Type.Object({
  tool: maybeText('Missing for all calls together.'),
  calls: Type.Number(),
  callsPerSecond: Type.Number(),
  realErrors: Type.Number({ description: 'Errors that no fault made.' }),
  injectedErrors: Type.Number(),
  p50Ms: numberOrNull('The median latency for clients.'),
  p95Ms: numberOrNull('The highest p95 of 5 s.'),
  upstreamP50Ms: numberOrNull('The median latency of the upstream.'),
  upstreamP95Ms: numberOrNull('The highest p95 of the upstream of 5 s.'),
})

/** Shows what passes through a sidecar. */
export const OBSERVE = defineTool({
  name: 'observe',
  title: 'Observe the traffic',
  description:
    'Shows what passed through a sidecar in the last minutes: rates, real and injected errors, and latencies by tool, with samples of the errors.',
  annotations: READ_ONLY,
  input: closed({
    sidecar: SIDECAR,
    tool: maybeText('Shows only tools that match, as read_*.', 256),
    seconds: maybeInteger(5, MAX_SECONDS, `How far to look back; ${DEFAULT_SECONDS} by default.`),
  }),
  output: Type.Object({
    note: Type.String(),
    sidecar: Type.String(),
    armed: Type.Boolean(),
    seconds: Type.Number({ description: 'The time that the figures are about.' }),
    traffic: Type.Array(trafficShape),
    errors: listOf({
      tool: optional.text,
      method: Type.String(),
      outcome: Type.String(),
      origin: Type.String(),
      status: optional.count,
      code: optional.count,
      rule: optional.text,
      fault: optional.text,
      count: Type.Number({ description: 'Since the sidecar started.' }),
      last: Type.String(),
      untrustedMessage: optional.text,
    }),
  }),
  run: async ({ sidecar: asked, tool: glob, seconds: span = DEFAULT_SECONDS }, { control }) => {
    const { ask, setting } = chosenSidecar(control, asked)
    const [{ armed }, history, { errors }] = await Promise.all([
      ask(API.state),
      ask(API.history),
      ask(API.errors),
    ])
    const { seconds, traffic } = trafficIn(history, span)
    const wanted = (tool: string | undefined): boolean =>
      glob === undefined || (tool !== undefined && matchesGlob(glob, tool))
    const data = {
      note: NOTE,
      sidecar: setting.admin,
      armed,
      seconds,
      traffic: traffic.filter(({ tool }) => wanted(tool)).map((each) => shown(each, seconds)),
      errors: errors
        .filter(({ tool }) => wanted(tool))
        .slice(0, MAX_ERRORS)
        .map(shownError),
    }
    return { text: `${NOTE}\n${JSON.stringify(data, null, 1)}`, data }
  },
})

function shownError(kind: ErrorKind): object {
  const { first: _, samples, tool, method, ...rest } = kind
  return {
    ...rest,
    tool: tool && oneLine(tool, MAX_NAME),
    method: oneLine(method, MAX_NAME),
    untrustedMessage: samples[0]?.message && oneLine(samples[0].message),
  }
}

function shown(
  { tool, calls, realErrors, injectedErrors, ...latencies }: Traffic,
  seconds: number,
): object {
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
