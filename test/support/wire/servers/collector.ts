import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { eventually } from '../../eventually.ts'
import { httpServer } from '../http-app.ts'
// The definitions of OTLP as protobufjs compiles them; later versions of the package have none.
import definitions from 'otlp-definitions/build/src/generated/root.js'

const Request = (definitions as unknown as Definitions).opentelemetry.proto.collector.trace.v1
  .ExportTraceServiceRequest

interface Definitions {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: RequestType } }
      }
    }
  }
}

interface RequestType {
  decode(bytes: Uint8Array): Exported
  fromObject(json: object): Exported
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: readonly Attribute[] } | null
    readonly scopeSpans?: readonly { readonly spans?: readonly WireSpan[] }[]
  }[]
}

type Id = Uint8Array | string | null | undefined

interface WireSpan {
  readonly name?: string | null
  readonly kind?: unknown
  readonly traceId?: Id
  readonly spanId?: Id
  readonly parentSpanId?: Id
  readonly startTimeUnixNano?: unknown
  readonly endTimeUnixNano?: unknown
  readonly attributes?: readonly Attribute[]
  readonly events?: readonly {
    readonly name?: string | null
    readonly timeUnixNano?: unknown
    readonly attributes?: readonly Attribute[]
  }[]
  readonly links?: readonly { readonly traceId?: Id; readonly spanId?: Id }[]
  readonly status?: { readonly code?: unknown; readonly message?: string | null } | null
}

type Values = Readonly<Record<string, unknown>>

/** An exported span, with ids in hex, and what its resource says. */
export interface ExportedSpan {
  readonly name: string
  readonly service: string
  readonly resource: Values
  readonly kind: number
  readonly trace: string
  readonly id: string
  /** Empty for the first span of a trace. */
  readonly parent: string
  /** Milliseconds since the epoch. */
  readonly start: number
  readonly end: number
  readonly attributes: Values
  readonly events: readonly {
    readonly name: string
    readonly at: number
    readonly attributes: Values
  }[]
  readonly links: readonly { readonly trace: string; readonly id: string }[]
  readonly status: { readonly code: number; readonly message: string }
}

/** Receives spans by OTLP over HTTP, decoded by the official definitions. */
export interface Collector {
  readonly endpoint: string
  readonly spans: readonly ExportedSpan[]
  readonly requests: readonly {
    readonly path: string
    readonly type: string
    readonly text: string
  }[]
  /** The response: a status, none, or a cut connection. */
  behaviour: number | 'hang' | 'reset'
  /** Resolves when this many spans came. */
  received(count: number): Promise<readonly ExportedSpan[]>
  close(): Promise<void>
}

/** Starts a collector on a free port of loopback. */
export async function startCollector(): Promise<Collector> {
  const spans: ExportedSpan[] = []
  const requests: { path: string; type: string; text: string }[] = []
  const state: { behaviour: Collector['behaviour'] } = { behaviour: 200 }
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    await once(request, 'end')
    const body = Buffer.concat(parts)
    const type = request.headers['content-type'] ?? ''
    requests.push({ path: request.url ?? '', type, text: body.toString('latin1') })
    const { behaviour } = state
    if (behaviour === 'hang') return
    if (behaviour === 'reset') return void request.socket.destroy()
    if (behaviour === 200)
      spans.push(...spansOf(type.includes('json') ? fromJson(body) : Request.decode(body)))
    response.writeHead(behaviour, { 'content-type': type }).end(type.includes('json') ? '{}' : '')
  }
  const listener: RequestListener = (request, response) => void receive(request, response)
  const { url, close } = await httpServer(listener)
  return {
    endpoint: url,
    spans,
    requests,
    get behaviour() {
      return state.behaviour
    },
    set behaviour(next) {
      state.behaviour = next
    },
    async received(count) {
      await eventually(() =>
        spans.length >= count ? undefined : `${spans.length} of ${count} spans came`,
      )
      return spans
    },
    close,
  }
}

/** Reads the JSON of OTLP, whose ids are hexadecimal where JSON of protobuf has base64. */
function fromJson(body: Buffer): Exported {
  const text = body.toString()
  const ids = /"(traceId|spanId|parentSpanId)":"([0-9a-f]*)"/g
  const coded = text.replace(ids, (_, key: string, id: string) => {
    return `"${key}":"${Buffer.from(id, 'hex').toString('base64')}"`
  })
  return Request.fromObject(JSON.parse(coded) as object)
}

function spansOf({ resourceSpans }: Exported): ExportedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const shared = valuesOf(resource?.attributes)
    return (scopeSpans ?? []).flatMap(({ spans }) =>
      (spans ?? []).map((span) => ({
        name: span.name ?? '',
        service: String(shared['service.name']),
        resource: shared,
        kind: Number(span.kind),
        trace: hex(span.traceId),
        id: hex(span.spanId),
        parent: hex(span.parentSpanId),
        start: Number(span.startTimeUnixNano) / 1e6,
        end: Number(span.endTimeUnixNano) / 1e6,
        attributes: valuesOf(span.attributes),
        events: (span.events ?? []).map(({ name, timeUnixNano, attributes }) => ({
          name: name ?? '',
          at: Number(timeUnixNano) / 1e6,
          attributes: valuesOf(attributes),
        })),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({
          trace: hex(traceId),
          id: hex(spanId),
        })),
        status: { code: Number(span.status?.code ?? 0), message: span.status?.message ?? '' },
      })),
    )
  })
}

function hex(bytes: Id): string {
  return typeof bytes === 'string' ? bytes : Buffer.from(bytes ?? []).toString('hex')
}

interface Attribute {
  readonly key?: string | null
  readonly value?: AnyValue | null
}

interface AnyValue {
  readonly stringValue?: string | null
  readonly intValue?: unknown
  readonly doubleValue?: number | null
  readonly boolValue?: boolean | null
  readonly arrayValue?: { readonly values?: readonly AnyValue[] | null } | null
}

function valuesOf(attributes: readonly Attribute[] | null = []): Values {
  return Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, valueOf(value)]))
}

function valueOf(value: AnyValue | null | undefined): unknown {
  if (value?.arrayValue) return (value.arrayValue.values ?? []).map(valueOf)
  if (value?.intValue !== undefined && value.intValue !== null) return Number(value.intValue)
  return value?.stringValue ?? value?.doubleValue ?? value?.boolValue
}
