import { setTimeout } from 'node:timers/promises'
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
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
import { foreign, oneLine } from '../base/text/foreign-text.ts'
import { isSampled, spanId, traceId } from '../http/traceparent.ts'
import type { Call } from '../mcp/call.ts'
import { type EndedCall, shownTool } from './call-line.ts'
import type { Logger } from './log.ts'
import { isError } from './outcome-index.ts'
import { redactText } from './redact.ts'
import type { ShownIds } from './shown-ids.ts'

/** Configures the export of spans. */
export interface Exported {
  /** The address for OTLP over HTTP. */
  readonly url: string
  readonly isJson: boolean
  /** True where no sampler is named: calls are exported whose parent was sampled. */
  readonly followsParent: boolean
  /** True to export every call with a fault. */
  readonly injected: boolean
  /** True to show the ids of sessions instead of a hash. */
  readonly sessionIds: boolean
  /** The most spans that wait; further ones are dropped. */
  readonly maxWaiting: number
  /** The most spans that are encoded at once. */
  readonly batch: number
}

export interface SpanServices {
  readonly version: string
  readonly ids: ShownIds
  /** False keeps the messages of errors out of spans. */
  readonly messages: boolean
  readonly dropped: (spans: number) => void
  readonly logger: Logger
}

/** The call that a verdict is about, with its parent and its span. */
interface JudgedCall {
  readonly trace: string | undefined
  readonly span: string | undefined
  readonly causes: readonly string[]
  readonly action: Pick<Call, 'method' | 'name'>
}

/** A problem is logged once in this time. */
const REPORT_MS = 60_000
const MAX_TEXT = 200

/** Opens the export of spans; invalid variables of OpenTelemetry are logged. */
export async function openSpans(exported: Exported, parts: SpanServices): Promise<Spans> {
  const warn = (why: string): void => parts.logger.warn({ why }, 'invalid tracing setting')
  const none = (): void => {}
  const diagnostics = { error: warn, warn, info: none, debug: none, verbose: none }
  diag.setLogger(diagnostics, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  try {
    const { url } = exported
    const { OTLPTraceExporter } = exported.isJson
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
    return new Spans(exported, new OTLPTraceExporter({ url }), parts)
  } finally {
    // Later messages come with each failed export, which is counted and logged here.
    diag.disable()
  }
}

/**
 * Exports a span for each sampled call, and one for each verdict on it. Calls never wait: spans
 * wait for the collector up to a bound, and further ones are dropped and counted.
 */
export class Spans {
  readonly #options: Exported
  readonly #parts: SpanServices
  readonly #processor: BatchSpanProcessor
  /** Exports every span that it starts. */
  readonly #always: Tracer
  /** Samples by the environment. */
  readonly #sampled: Tracer
  #waiting = 0
  #dropped = 0
  #reportedAt = -Infinity

  constructor(options: Exported, exporter: SpanExporter, parts: SpanServices) {
    this.#options = options
    this.#parts = parts
    const { maxWaiting: maxQueueSize, batch: maxExportBatchSize } = options
    const bounds = { maxQueueSize, maxExportBatchSize }
    this.#processor = new BatchSpanProcessor(this.#counted(exporter), bounds)
    const named = { 'service.name': 'squall', 'service.version': parts.version }
    const resource = defaultResource()
      .merge(resourceFromAttributes(named))
      .merge(detectResources({ detectors: [envDetector] }))
    const tracer = (own: object): Tracer =>
      new BasicTracerProvider({ resource, spanProcessors: [this.#processor], ...own }).getTracer(
        'squall',
        parts.version,
      )
    this.#always = tracer({ sampler: new AlwaysOnSampler() })
    this.#sampled = options.followsParent ? this.#always : tracer({})
  }

  /** Returns false for a call that is not exported. */
  wants(trace: string | undefined, mayHaveFaults: boolean): boolean {
    const { followsParent, injected } = this.#options
    return !followsParent || isSampled(trace) || (injected && mayHaveFaults)
  }

  /** Returns the `traceparent` of the span; undefined for a call that is not exported. */
  call(call: EndedCall): string | undefined {
    const { source, endedAt, faults, outcome, trace, error } = call
    if (!this.wants(trace, faults.length > 0)) return undefined
    const by = this.#options.injected && faults.length > 0 ? this.#always : this.#sampled
    const span = this.#start(by, trace, ...this.#described(call))
    if (span?.isRecording() !== true) return undefined
    for (const { rule, fault, effect, delayMs, at = endedAt } of faults) {
      const delay = delayMs === undefined ? undefined : delayMs / 1000
      span.addEvent('squall.fault', prefixed({ rule, fault, effect, delay }), at)
    }
    if (source.resumedAt >= 0) span.addEvent('squall.resumed', source.resumedAt)
    if (isError(outcome)) {
      // The text of a tool's error is its result.
      const isShown = this.#parts.messages && outcome !== 'tool_error'
      const message = isShown ? oneLine(redactText(error?.message ?? ''), MAX_TEXT) : ''
      span.setStatus({ code: SpanStatusCode.ERROR, message })
    }
    this.#end(span, endedAt)
    const own = span.spanContext()
    return `00-${own.traceId}-${own.spanId}-01`
  }

  /** Exports a verdict on a call, where the call was exported. */
  verdict(verdict: string, { span, trace = span, causes, action }: JudgedCall): void {
    if (span === undefined) return
    const attributes = {
      'mcp.method.name': foreign(action.method, MAX_TEXT),
      'gen_ai.tool.name': shownTool(action),
      ...prefixed<string | string[]>({ verdict, causes: [...causes] }),
    }
    const startTime = performance.now()
    const links = [{ context: contextOf(span) }]
    const own = this.#start(this.#always, trace, 'squall.verdict', { attributes, links, startTime })
    if (own !== undefined) this.#end(own, startTime)
  }

  /** Exports what waits, for a limited time. */
  async close(limit: number): Promise<void> {
    const late = setTimeout(limit, undefined, { ref: false })
    await Promise.race([this.#processor.shutdown().catch(() => undefined), late])
    this.#drop(this.#waiting, 'the collector did not respond before the shutdown')
    this.#waiting = 0
  }

  /** Names and describes a call by the conventions for MCP. */
  #described(call: EndedCall): readonly [string, SpanOptions] {
    const { outcome, origin, error, trace, session, source } = call
    const { headerTrace, receivedAt: startTime } = source
    const { ids } = this.#parts
    const method = foreign(call.method, MAX_TEXT)
    const tool = shownTool(call)
    const prompt = method === 'prompts/get' ? foreign(call.name ?? '', MAX_TEXT) : undefined
    const target = tool ?? prompt
    const isOpen = this.#options.sessionIds && session !== ''
    const attributes = {
      'mcp.method.name': method,
      'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
      'gen_ai.tool.name': tool,
      'gen_ai.prompt.name': prompt,
      'mcp.protocol.version': call.protocolVersion,
      'mcp.session.id': isOpen ? foreign(session, MAX_TEXT) : ids.session(session),
      'jsonrpc.request.id': ids.id(call.id)?.toString(),
      'network.transport': source.call.transport === 'stdio' ? 'pipe' : 'tcp',
      'error.type': isError(outcome) ? errorType(call) : undefined,
      'rpc.response.status_code': error?.code?.toString(),
      'squall.origin': origin,
    }
    // A request of HTTP may carry the calls of several spans.
    const isOther = headerTrace !== undefined && headerTrace !== trace
    const links = isOther ? [{ context: contextOf(headerTrace) }] : []
    const name = target === undefined ? method : `${method} ${target}`
    return [name, { attributes, links, startTime }]
  }

  /** Starts a span; undefined where too many wait. */
  #start(by: Tracer, trace: string | undefined, name: string, options: SpanOptions) {
    if (this.#waiting >= this.#options.maxWaiting) {
      this.#drop(1, 'the collector is too slow')
      return undefined
    }
    const parent = trace && traces.setSpanContext(ROOT_CONTEXT, contextOf(trace))
    return by.startSpan(name, options, parent || ROOT_CONTEXT)
  }

  #end(span: Span, at: number): void {
    this.#waiting++
    span.end(at)
  }

  /** Returns an exporter that counts what is exported, and what is not. */
  #counted(inner: SpanExporter): SpanExporter {
    return {
      export: (spans, done) =>
        inner.export(spans, (result) => {
          this.#waiting -= spans.length
          const { error } = result
          if (error !== undefined) this.#drop(spans.length, error.message)
          done(result)
        }),
      shutdown: () => inner.shutdown(),
    }
  }

  #drop(spans: number, problem: string): void {
    if (spans <= 0) return
    this.#parts.dropped(spans)
    this.#dropped += spans
    const now = performance.now()
    if (now - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = now
    const { origin: collector } = new URL(this.#options.url)
    const why = oneLine(redactText(problem), MAX_TEXT)
    this.#parts.logger.warn({ collector, why, spans: this.#dropped }, 'spans were dropped')
    this.#dropped = 0
  }
}

/** Returns the class of an error by the conventions. */
function errorType({ outcome, error }: EndedCall): string {
  const isCoded = outcome === 'rpc_error' || outcome === 'http_error'
  return String((isCoded ? (error?.code ?? error?.status) : undefined) ?? outcome)
}

function prefixed<T>(facts: Readonly<Record<string, T>>): Record<string, T> {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  return Object.fromEntries(known.map(([key, value]) => [`squall.${key}`, value]))
}

/** Returns the context that a `traceparent` names. */
function contextOf(trace: string): SpanContext {
  const own = inOnePiece(trace)
  const traceFlags = isSampled(own) ? 1 : 0
  return { traceId: traceId(own), spanId: spanId(own), traceFlags, isRemote: true }
}
