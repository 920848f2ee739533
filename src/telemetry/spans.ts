import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  type SpanStatus,
  SpanStatusCode,
  trace as traces,
  type Tracer,
} from '@opentelemetry/api'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import { inOnePiece } from '../base/bytes.ts'
import { oneLine } from '../base/text/foreign-text.ts'
import { type EndedCall, shownTool } from './call-line.ts'
import type { SpanWriter } from './call-watch.ts'
import { isSampled, SPAN_ID, traceId } from './exemplar.ts'
import type { Logger } from './log.ts'
import { isError } from './outcome-index.ts'
import { redactText } from './redact-text.ts'
import type { ShownIds } from './shown-ids.ts'

/** Configures the export of spans. */
export interface SpanOptionsOfRun {
  /** The address for OTLP over HTTP. */
  readonly url: string
  readonly isJson: boolean
  /** True where no sampler is named: calls are exported whose parent was sampled. */
  readonly followsParent: boolean
  /** Exports every call with a fault. */
  readonly injected: boolean
  /** Shows the ids of sessions instead of a hash. */
  readonly sessionIds: boolean
  /** The most spans that wait; further ones are dropped. */
  readonly maxWaiting: number
  /** The most spans that are encoded at once. */
  readonly batch: number
}

interface Parts {
  readonly version: string
  readonly ids: ShownIds
  /** False keeps the messages of errors out of spans. */
  readonly messages: boolean
  readonly dropped: (spans: number) => void
  readonly logger: Logger
}

/** A verdict on an agent, about a call that ended before. */
export interface SpanVerdict {
  readonly verdict: string
  /** The `traceparent` of the call's parent, and that of its span. */
  readonly trace: string | undefined
  readonly span: string
  readonly method: string
  readonly tool: string | undefined
  readonly causes: readonly string[]
  readonly retries: number
}

/** A problem is logged once in this time. */
const REPORT_MS = 60_000
const MAX_MESSAGE = 200

/** Opens the export of spans. Throws where an OpenTelemetry variable is invalid. */
export async function openSpans(options: SpanOptionsOfRun, parts: Parts): Promise<Spans> {
  const { logger } = parts
  const report = (why: string): void => logger.warn({ why }, 'invalid setting of tracing')
  const none = (): void => {}
  // Later messages come with each failed export, and are counted and logged here.
  diag.setLogger(
    { error: report, warn: report, info: none, debug: none, verbose: none },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  try {
    return new Spans(options, await exporterOf(options), parts)
  } finally {
    diag.disable()
  }
}

/** Loads the exporter of one encoding. Headers, time limit and certificates are in the environment. */
async function exporterOf({ url, isJson }: SpanOptionsOfRun): Promise<SpanExporter> {
  const { OTLPTraceExporter } = isJson
    ? await import('@opentelemetry/exporter-trace-otlp-http')
    : await import('@opentelemetry/exporter-trace-otlp-proto')
  return new OTLPTraceExporter({ url })
}

/**
 * Exports a span for each sampled call, and one for each verdict on it. Calls never wait: spans
 * wait for the collector up to a bound, and further ones are dropped and counted.
 */
export class Spans implements SpanWriter {
  readonly #options: SpanOptionsOfRun
  readonly #parts: Parts
  readonly #processor: BatchSpanProcessor
  /** Exports whatever it gets. */
  readonly #always: Tracer
  /** Samples by the environment. */
  readonly #sampler: Tracer
  #waiting = 0
  #dropped = 0
  #reportedAt = -Infinity

  constructor(options: SpanOptionsOfRun, exporter: SpanExporter, parts: Parts) {
    this.#options = options
    this.#parts = parts
    this.#processor = new BatchSpanProcessor(this.#counted(exporter), {
      maxQueueSize: options.maxWaiting,
      maxExportBatchSize: options.batch,
    })
    const named = { 'service.name': 'squall', 'service.version': parts.version }
    const resource = defaultResource()
      .merge(resourceFromAttributes(named))
      .merge(detectResources({ detectors: [envDetector] }))
    const shared = { resource, spanProcessors: [this.#processor] }
    const tracer = (own: object): Tracer =>
      new BasicTracerProvider({ ...shared, ...own }).getTracer('squall', parts.version)
    this.#always = tracer({ sampler: new AlwaysOnSampler() })
    this.#sampler = options.followsParent ? this.#always : tracer({})
  }

  wants(trace: string | undefined, mayHaveFaults: boolean): boolean {
    const { followsParent, injected } = this.#options
    return !followsParent || isSampled(trace) || (injected && mayHaveFaults)
  }

  call(call: EndedCall): string | undefined {
    const { faults, endedAt, resumedAt, outcome } = call
    const isForced = this.#options.injected && faults.length > 0
    if (this.#options.followsParent && !isForced && !isSampled(call.trace)) return undefined
    const start = this.#started(call)
    let span = this.#start(this.#sampler, call.trace, ...start)
    if (span?.isRecording() === false && isForced) {
      span = this.#start(this.#always, call.trace, ...start)
    }
    if (span?.isRecording() !== true) return undefined
    for (const { rule, fault, effect, delayMs, at = endedAt } of faults) {
      const delay = delayMs === undefined ? undefined : delayMs / 1000
      const facts = { rule, fault, effect, delay }
      span.addEvent('squall.fault', prefixed(facts), at)
    }
    if (resumedAt >= 0) span.addEvent('squall.resumed', resumedAt)
    if (isError(outcome)) span.setStatus(this.#status(call))
    this.#end(span, endedAt)
    const own = span.spanContext()
    return `00-${own.traceId}-${own.spanId}-01`
  }

  /** Exports a verdict on an exported call. */
  verdict({ verdict, trace, span, method, tool, causes, retries }: SpanVerdict): void {
    const attributes = {
      'mcp.method.name': method,
      'gen_ai.tool.name': tool,
      ...prefixed({ verdict, causes: [...causes], retries }),
    }
    const now = performance.now()
    const options = { attributes, links: [{ context: contextOf(span) }], startTime: now }
    // The span of a call without a parent is the only one of its trace.
    const own = this.#start(this.#always, trace ?? span, 'squall.verdict', options)
    if (own !== undefined) this.#end(own, now)
  }

  /** Exports what waits, for a limited time. */
  async close(limit: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((done) => (timer = setTimeout(done, limit)))
    await Promise.race([this.#processor.shutdown().catch(() => undefined), late])
    clearTimeout(timer)
    // A batch that was cut is not counted by its exporter any more.
    this.#drop(this.#waiting, 'the collector did not respond before the end')
    this.#waiting = 0
  }

  #started(call: EndedCall): readonly [string, SpanOptions] {
    const { method, name, outcome, origin, error, trace, headerTrace, session } = call
    const tool = shownTool(call)
    const prompt = method === 'prompts/get' ? name?.slice(0, MAX_MESSAGE) : undefined
    const shownMethod = oneLine(method, MAX_MESSAGE)
    const target = tool ?? prompt
    const id = this.#parts.ids.id(call.id)
    const { sessionIds } = this.#options
    const shownSession = session === '' ? undefined : session.slice(0, MAX_MESSAGE)
    const attributes = {
      'mcp.method.name': shownMethod,
      'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
      'gen_ai.tool.name': tool,
      'gen_ai.prompt.name': prompt,
      'mcp.protocol.version': call.protocolVersion,
      'mcp.session.id': sessionIds ? shownSession : this.#parts.ids.session(session),
      'jsonrpc.request.id': id === undefined ? undefined : String(id),
      'network.transport': call.transport === 'stdio' ? 'pipe' : 'tcp',
      'error.type': isError(outcome) ? errorType(call) : undefined,
      'rpc.response.status_code': error?.code === undefined ? undefined : String(error.code),
      'squall.origin': origin,
    }
    // A request of HTTP may carry the calls of several spans.
    const isOther = headerTrace !== undefined && headerTrace !== trace
    const links = isOther ? [{ context: contextOf(headerTrace) }] : []
    const startTime = call.receivedAt
    const spanName = target === undefined ? shownMethod : `${shownMethod} ${target}`
    return [spanName, { attributes, links, startTime }]
  }

  /** Starts a span; undefined where too many wait. */
  #start(by: Tracer, trace: string | undefined, name: string, options: SpanOptions) {
    if (this.#waiting >= this.#options.maxWaiting) {
      this.#drop(1, 'the collector is too slow')
      return undefined
    }
    const parent =
      trace === undefined ? ROOT_CONTEXT : traces.setSpanContext(ROOT_CONTEXT, contextOf(trace))
    return by.startSpan(name, options, parent)
  }

  #end(span: Span, at: number): void {
    this.#waiting++
    span.end(at)
  }

  #status({ outcome, error }: EndedCall): SpanStatus {
    const code = SpanStatusCode.ERROR
    // The text of a tool's error is its result.
    const isShown = this.#parts.messages && outcome !== 'tool_error'
    if (!isShown || error?.message === undefined) return { code }
    return { code, message: oneLine(redactText(error.message), MAX_MESSAGE) }
  }

  /** Returns an exporter that counts what is exported, and what is not. */
  #counted(inner: SpanExporter): SpanExporter {
    return {
      export: (spans, done) =>
        inner.export(spans, (result) => {
          this.#waiting -= spans.length
          if (result.code !== 0) this.#drop(spans.length, result.error?.message ?? 'unknown')
          done(result)
        }),
      shutdown: () => inner.shutdown(),
    }
  }

  #drop(spans: number, why: string): void {
    if (spans <= 0) return
    this.#parts.dropped(spans)
    this.#dropped += spans
    const now = performance.now()
    if (now - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = now
    const collector = new URL(this.#options.url).origin
    const fields = { collector, why: oneLine(redactText(why), MAX_MESSAGE), spans: this.#dropped }
    this.#parts.logger.warn(fields, 'spans were dropped')
    this.#dropped = 0
  }
}

/** Returns the class of an error by the conventions. */
function errorType({ outcome, error }: EndedCall): string {
  const isCoded = outcome === 'rpc_error' || outcome === 'http_error'
  return String((isCoded ? (error?.code ?? error?.status) : undefined) ?? outcome)
}

function prefixed<T>(facts: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(facts).map(([key, value]) => [`squall.${key}`, value]))
}

/** Returns the context that a `traceparent` names. */
function contextOf(trace: string): SpanContext {
  const own = inOnePiece(trace)
  return {
    traceId: traceId(own),
    spanId: own.slice(SPAN_ID, SPAN_ID + 16),
    traceFlags: isSampled(own) ? 1 : 0,
    isRemote: true,
  }
}
