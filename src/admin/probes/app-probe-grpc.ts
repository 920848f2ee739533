import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import type { CheckContext, Finding, GrpcAction } from './app-probe.ts'

// The response is a number; a server that sends more is not a health service.
const MAX_MESSAGE_BYTES = 4 * 1024
const MAX_REASON = 200
const SERVING = 1
const STATES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Calls `grpc.health.v1.Health/Check`; succeeds when the service is serving. */
export async function checkGrpc(action: GrpcAction, context: CheckContext): Promise<Finding> {
  const { host, port, service } = action
  const name = host.includes(':') ? `[${host}]` : host
  const session = connect(`http://${name}:${port}`)
  const abort = (): void => session.destroy(new Error('ended'))
  context.signal.addEventListener('abort', abort, { once: true })
  try {
    if (context.signal.aborted) abort()
    return judged(await call(session, service, context.userAgent))
  } finally {
    context.signal.removeEventListener('abort', abort)
    session.destroy()
  }
}

function call(session: ClientHttp2Session, service: string, userAgent: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    // The cause has the reason when the session ended its stream.
    const failed = (error: Error): void =>
      reject(error.cause instanceof Error ? error.cause : error)
    // A server that speaks another protocol, or disconnects, is an error of the session.
    session.on('error', failed)
    session.on('close', () => reject(new Error('the upstream closed the connection')))
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      'user-agent': userAgent,
      te: 'trailers',
    })
    let status = 0
    let headers: IncomingHttpHeaders = {}
    let size = 0
    const parts: Buffer[] = []
    stream.on('response', (head) => {
      status = head[':status'] ?? 0
      headers = { ...headers, ...head }
    })
    stream.on('trailers', (trailers) => (headers = { ...headers, ...trailers }))
    stream.on('data', (part: Buffer) => {
      size += part.length
      parts.push(part)
      if (size > MAX_MESSAGE_BYTES) stream.destroy(new Error('the response is too long'))
    })
    stream.on('error', failed)
    stream.on('end', () => resolve({ status, headers, body: Buffer.concat(parts) }))
    stream.end(framed(service))
  })
}

/** Returns an uncompressed gRPC frame with the message, whose field 1 is the service. */
function framed(service: string): Buffer {
  const name = Buffer.from(service)
  const message =
    name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name])
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
}

function judged({ status, headers, body }: Reply): Finding {
  if (status !== 200) return { ok: false, why: `the upstream responded with ${status} to gRPC` }
  const code = headers['grpc-status']
  if (code !== '0') {
    const message = decoded(String(headers['grpc-message'] ?? '').slice(0, MAX_REASON))
    const reason = message === '' ? '' : `: ${message}`
    return { ok: false, why: `gRPC status ${String(code ?? 'is missing')}${reason}` }
  }
  const state = stateIn(body)
  if (state === undefined)
    return { ok: false, why: 'the response of the health service is malformed' }
  return { ok: state === SERVING, why: `the service is ${STATES[state] ?? state}` }
}

/** Decodes a percent-encoded message; returns any other text unchanged. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message)
  } catch {
    return message
  }
}

/** Returns field 1 of the message, 0 where it is absent; undefined for other messages. */
function stateIn(frame: Buffer): number | undefined {
  if (frame.length < 5 || frame[0] !== 0 || frame.readUInt32BE(1) !== frame.length - 5) {
    return undefined
  }
  let state = 0
  for (let at = 5; at < frame.length;) {
    const key = readVarint(frame, at)
    if (key === undefined) return undefined
    const value = readVarint(frame, key.end)
    if (value === undefined) return undefined
    const type = key.value & 7
    // Unknown fields are numbers or texts: the message never had others.
    if (type !== 0 && type !== 2) return undefined
    if (key.value === 8) state = value.value
    at = type === 2 ? value.end + value.value : value.end
  }
  return state
}

function readVarint(
  bytes: Buffer,
  from: number,
): { readonly value: number; readonly end: number } | undefined {
  let value = 0
  for (let index = 0; index < 5; index++) {
    const byte = bytes[from + index]
    if (byte === undefined) return undefined
    value += (byte & 0x7f) * 2 ** (7 * index)
    if (byte < 0x80) return { value, end: from + index + 1 }
  }
  return undefined
}
