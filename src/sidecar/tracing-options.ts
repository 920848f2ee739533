import { type Environment, type FlagInput, group, type Values } from '../base/flags/flag.ts'
import { one, toggle } from '../base/flags/kinds.ts'
import { invalidOption, invalidValue } from '../base/flags/usage-error.ts'
import type { Exported } from '../telemetry/spans.ts'

export const TRACING_FLAGS = group('Tracing:', {
  traceInjected: toggle(
    'export the spans of calls with a fault even if the parent span is not sampled',
  ),
  traceSessionIds: toggle('export unhashed session IDs in spans'),
  traceUrl: one(
    'url',
    'URL template for links to traces in your tracing tool: https://…/trace/{trace}, where {trace} is the trace ID',
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

const SAMPLER = /^(?:parentbased_)?(?:always_on|always_off|traceidratio)$/
const COUNT = /^[1-9]\d{0,5}$/
const PAIRS = /^[^=,]+=[^,]*(?:,[^=,]+=[^,]*)*,?$/
const AS_PAIRS = 'key=value pairs separated by commas'

/** The forms of variables that OpenTelemetry's own code does not check, or does not log. */
const FORMS: Readonly<Record<string, readonly [form: RegExp, says: string]>> = {
  SDK_DISABLED: [/^(?:true|false)$/i, 'true or false'],
  TRACES_EXPORTER: [/^(?:otlp|none)$/, 'otlp or none'],
  EXPORTER_OTLP_HEADERS: [PAIRS, AS_PAIRS],
  EXPORTER_OTLP_TRACES_HEADERS: [PAIRS, AS_PAIRS],
  RESOURCE_ATTRIBUTES: [/^[^=,]+=[^=,]*(?:,[^=,]+=[^=,]*)*,?$/, AS_PAIRS],
  BSP_MAX_QUEUE_SIZE: [COUNT, 'a number from 1 to 999999'],
  BSP_MAX_EXPORT_BATCH_SIZE: [COUNT, 'a number from 1 to 999999'],
}

/**
 * Returns the export of spans that OpenTelemetry's variables ask for; nothing when off, and
 * warnings alone where they name no collector that can be reached.
 */
export function tracingOf(
  { traceInjected: injected, traceSessionIds: sessionIds }: Values<typeof TRACING_FLAGS>,
  env: Environment,
): { readonly spans?: Exported; readonly warnings?: readonly string[] } {
  const read = (name: string): string => env[`OTEL_${name}`]?.trim() ?? ''
  const count = (name: string, fallback: number): number =>
    COUNT.test(read(name)) ? Number(read(name)) : fallback
  const own = read('EXPORTER_OTLP_TRACES_ENDPOINT')
  const endpoint = own || read('EXPORTER_OTLP_ENDPOINT')
  const isOff = read('SDK_DISABLED').toLowerCase() === 'true' || read('TRACES_EXPORTER') === 'none'
  if (endpoint === '' || isOff) return {}
  const warnings = Object.entries(FORMS)
    .filter(([name, [form]]) => read(name) !== '' && !form.test(read(name)))
    .map(([name, [, says]]) => `OTEL_${name} must be ${says}`)
  const protocol = read('EXPORTER_OTLP_TRACES_PROTOCOL') || read('EXPORTER_OTLP_PROTOCOL')
  const isGrpc = protocol === 'grpc'
  const url = httpUrl(isGrpc && !endpoint.includes('://') ? `http://${endpoint}` : endpoint)
  if (url === undefined) {
    return { warnings: [...warnings, 'the OTLP endpoint must be an http or https URL'] }
  }
  // A port for gRPC alone accepts no HTTP.
  if (isGrpc && url.port === GRPC_PORT) url.port = HTTP_PORT
  // The variable for traces has the whole path; gRPC has none.
  if (own === '' || (isGrpc && url.pathname === '/')) {
    url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  }
  const spans = {
    url: url.href,
    isJson: protocol === 'http/json',
    followsParent: !SAMPLER.test(read('TRACES_SAMPLER')),
    injected,
    sessionIds,
    maxWaiting: count('BSP_MAX_QUEUE_SIZE', 2048),
    // 512, the usual number, would take milliseconds between two calls.
    batch: count('BSP_MAX_EXPORT_BATCH_SIZE', 128),
  }
  if (!['', 'http/protobuf', 'http/json'].includes(protocol)) {
    warnings.push(
      `OTLP is sent by http/protobuf to ${url.host}: Squall does not support the configured protocol`,
    )
  }
  return { spans, warnings }
}

function httpUrl(text: string): URL | undefined {
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
}

function traceUrlOf(given: FlagInput): string {
  const form = 'write a URL such as https://tracing.example.com/trace/{trace}'
  const text = given.text.replaceAll(TRACE, SAMPLE)
  if (!given.text.includes(TRACE)) throw invalidValue(given, 'must contain {trace}', form)
  const url = httpUrl(text)
  if (url === undefined || text.length > MAX_URL) {
    throw invalidValue(given, 'must be an http or https URL', form)
  }
  // Everyone who may read the admin port sees it.
  if (url.username !== '' || url.password !== '') {
    throw invalidOption(given.source, 'has a user or a password', form)
  }
  return url.href.replaceAll(SAMPLE, TRACE)
}
