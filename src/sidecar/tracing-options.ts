import { type Environment, type Given, group, type Values } from '../base/flags/flag.ts'
import { one, toggle } from '../base/flags/kinds.ts'
import { invalidOption, invalidValue } from '../base/flags/usage-error.ts'
import type { SpanOptionsOfRun } from '../telemetry/spans.ts'

export const TRACING_FLAGS = group('Traces:', {
  traceInjected: toggle(
    'also export the span of each call with a fault whose parent is not sampled',
  ),
  traceSessionIds: toggle('show the ids of sessions in spans, which are hashed otherwise'),
  traceUrl: one(
    'url',
    'page of a trace in your tracing tool, for links: https://…/trace/{trace}, where {trace} is the trace id',
    traceUrlOf,
  ),
})

const MAX_URL = 2000
const TRACE = '{trace}'
/** Stands for the trace id while a URL is parsed. */
const SAMPLE = '4bf92f3577b34da6a3ce929d0e0e4736'
/** The ports of OTLP over gRPC and over HTTP. */
const GRPC_PORT = '4317'
const HTTP_PORT = '4318'
const PATH = 'v1/traces'
/** Spans that are encoded at once, between two calls; 512 would take milliseconds. */
const BATCH = 128
const MAX_WAITING = 2048

/** The export of spans, and what is wrong with its variables. */
export interface Tracing {
  /** Undefined where no collector can be reached. */
  readonly spans: SpanOptionsOfRun | undefined
  readonly warnings: readonly string[]
}

/** Returns the export of spans that OpenTelemetry's variables ask for; undefined when off. */
export function tracingOf(
  { traceInjected, traceSessionIds }: Values<typeof TRACING_FLAGS>,
  env: Environment,
): Tracing | undefined {
  const read = (name: string): string => env[`OTEL_${name}`]?.trim() ?? ''
  const own = read('EXPORTER_OTLP_TRACES_ENDPOINT')
  const endpoint = own || read('EXPORTER_OTLP_ENDPOINT')
  const isOff = read('SDK_DISABLED').toLowerCase() === 'true' || read('TRACES_EXPORTER') === 'none'
  if (endpoint === '' || isOff) return undefined
  const protocol = read('EXPORTER_OTLP_TRACES_PROTOCOL') || read('EXPORTER_OTLP_PROTOCOL')
  const isGrpc = protocol === 'grpc'
  const url = urlOf(isGrpc && !endpoint.includes('://') ? `http://${endpoint}` : endpoint, isGrpc)
  if (url === undefined) {
    return { spans: undefined, warnings: ['the endpoint for OTLP is not an http or https URL'] }
  }
  // The variable for traces has the whole path; gRPC has none.
  if (own === '' || (isGrpc && url.pathname === '/')) {
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${PATH}`
  }
  const isKnown = ['', 'http/protobuf', 'http/json'].includes(protocol)
  const warnings = isKnown
    ? []
    : [`OTLP is sent as http/protobuf to port ${url.port || 'default'}, not as the protocol asks`]
  const spans = {
    url: url.href,
    isJson: protocol === 'http/json',
    followsParent: read('TRACES_SAMPLER') === '',
    injected: traceInjected,
    sessionIds: traceSessionIds,
    maxWaiting: countOf(read('BSP_MAX_QUEUE_SIZE')) ?? MAX_WAITING,
    batch: countOf(read('BSP_MAX_EXPORT_BATCH_SIZE')) ?? BATCH,
  }
  return { spans, warnings }
}

function urlOf(text: string, isGrpc: boolean): URL | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  // A port for gRPC alone accepts no HTTP.
  if (isGrpc && url.port === GRPC_PORT) url.port = HTTP_PORT
  return url
}

function countOf(text: string): number | undefined {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined
}

function traceUrlOf(given: Given): string {
  const form = 'write a URL such as https://tracing.example.com/trace/{trace}'
  const text = given.text.replaceAll(TRACE, SAMPLE)
  if (!given.text.includes(TRACE)) throw invalidValue(given, 'has no {trace}', form)
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || text.length > MAX_URL) {
    throw invalidValue(given, 'is not an http or https URL', form)
  }
  // Everyone who may read the admin port sees it.
  if (url.username !== '' || url.password !== '') {
    throw invalidOption(given.source, 'has a user or a password', form)
  }
  return url.href.replaceAll(SAMPLE, TRACE)
}
