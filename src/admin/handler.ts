import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { strictText } from '../base/bytes.ts'
import { parsedJson } from '../base/values.ts'
import type { RareLog } from '../listener/rare-log.ts'
import type { Logger } from '../telemetry/log.ts'
import type { AdminRejection } from '../telemetry/metrics.ts'
import { type AdminResponse, jsonResponse, rejection } from './admin-response.ts'
import { CallFilterError } from './contract/filters.ts'
import type { Guard } from './guards.ts'
import { type AdminRoute, listed, methodsOf } from './routes.ts'

export type AdminHandler = (request: IncomingMessage, response: ServerResponse) => void

export interface HandlerParts {
  readonly routes: ReadonlyMap<string, AdminRoute>
  readonly changeGuard: Guard
  readonly readGuard: Guard
  readonly logger: Logger
  readonly rejections: RareLog
  readonly countRejection: (reason: AdminRejection) => void
  readonly bodyTimeoutMs: number
  /** Milliseconds since the epoch, by which rules start and end. */
  readonly clock: () => number
}

/** Responds by exact path. Other paths get a list of the paths. */
export function createHandler(parts: HandlerParts): AdminHandler {
  return (request, response) => {
    // Commands reckon by the clock of the rules, which may be ahead of the machine's.
    response.setHeader('date', new Date(parts.clock()).toUTCString())
    // A client may disconnect at any time.
    response.on('error', () => {})
    void respond(parts, request, response)
      .catch((err: unknown) => {
        parts.logger.error({ err }, 'the admin port failed to respond')
        return jsonResponse(500, { error: 'internal error' })
      })
      .then((result) => (result === undefined ? undefined : send(request, response, result)))
      .catch(() => response.destroy())
  }
}

async function respond(
  parts: HandlerParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AdminResponse | undefined> {
  const { routes } = parts
  const [path = '', query] = (request.url ?? '').split('?', 2)
  const route = routes.get(path)
  if (route === undefined) {
    return jsonResponse(404, { error: 'not found', paths: listed(routes) })
  }
  const { method } = request
  const { read, stream, change, remove } = route
  if (read !== undefined && (method === 'GET' || method === 'HEAD')) {
    return unreadable(parts, path, route, request) ?? read(request.headers)
  }
  if (stream !== undefined && method === 'GET') {
    return unreadable(parts, path, route, request) ?? filtered(stream, response, query)
  }
  const changes = method === 'POST' ? change : method === 'DELETE' ? remove : undefined
  if (changes !== undefined) {
    const done = await changed(parts, route, changes, request, response)
    return logged(parts, path, request, done, 'change')
  }
  const allow = methodsOf(route)
  // Without CORS headers: a page of another origin may do nothing.
  if (method === 'OPTIONS') return jsonResponse(200, { allow }, { allow: allow.join(', ') })
  return jsonResponse(405, { error: 'method not allowed', allow }, { allow: allow.join(', ') })
}

/** Returns the rejection of a request that may not read; undefined for all others. */
function unreadable(
  parts: HandlerParts,
  path: string,
  { open, guard = parts.readGuard }: AdminRoute,
  request: IncomingMessage,
): AdminResponse | undefined {
  const rejected = open === true ? undefined : guard(request.headers)
  return rejected && logged(parts, path, request, rejected, 'read')
}

/** Rejects a query with filters that cannot be used. */
export function filtered<Result>(
  stream: (response: ServerResponse, query: URLSearchParams) => Result,
  response: ServerResponse,
  query: string | undefined,
): Result | AdminResponse {
  try {
    return stream(response, new URLSearchParams(query))
  } catch (error) {
    if (!(error instanceof CallFilterError)) throw error
    return rejection(400, { error: error.message })
  }
}

/** Reads a body only of a client that may change something. */
async function changed(
  { changeGuard, bodyTimeoutMs }: HandlerParts,
  { guard = changeGuard }: AdminRoute,
  change: NonNullable<AdminRoute['change']>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AdminResponse> {
  const rejected = guard(request.headers)
  if (rejected !== undefined) return rejected
  const body = await readBody(request, response, bodyTimeoutMs)
  if (!('value' in body)) return body
  return change({ body: body.value, from: request.socket.remoteAddress })
}

/** Logs and counts a response that is a rejection. */
function logged(
  { rejections, countRejection }: HandlerParts,
  what: string,
  { socket }: IncomingMessage,
  response: AdminResponse,
  kind: 'change' | 'read',
): AdminResponse {
  const { status, rejected: why } = response
  if (why === undefined) return response
  countRejection(kind === 'change' ? 'change' : status === 401 ? 'token' : 'host')
  const from = socket.remoteAddress
  rejections.write(why, { what, from, why }, `rejected a ${kind} on the admin port`)
  return response
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  result: AdminResponse,
): Promise<void> {
  const pieces = typeof result.body === 'string' ? [Buffer.from(result.body)] : result.body
  response.statusCode = result.status
  response.setHeader('content-type', result.type)
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  response.setHeader('content-length', length)
  response.setHeader('cache-control', 'no-store')
  response.setHeader('x-content-type-options', 'nosniff')
  response.setHeader('x-squall-pid', process.pid)
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, value)
  // After a body that was not read to its end, no further request can be read.
  if (hasBody(request) && !request.readableEnded) response.setHeader('connection', 'close')
  if (result.sent !== undefined) response.once('finish', result.sent)
  // Node leaves the body out where the request was a HEAD.
  if (pieces.length === 1) response.end(pieces[0])
  else await pipeline(onePerTurn(pieces), response)
}

/** Yields to other work between pieces, since each is copied to the kernel at once. */
async function* onePerTurn(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    yield piece
    await nextTurn()
  }
}

const MAX_BYTES = 4 * 1024
const JSON_TYPE = /^application\/json *(?:;|$)/i

/** Returns true when the request has a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}

/** Reads a small JSON body within a time, or returns the rejection. Without a body the value is undefined. */
async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  timeoutMs: number,
): Promise<{ readonly value: unknown } | AdminResponse> {
  if (!hasBody(request)) return { value: undefined }
  const { headers } = request
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    return rejection(415, { error: 'the body must be application/json' })
  }
  if (headers['content-encoding'] !== undefined)
    return rejection(415, {
      error: 'content encodings are not supported; send the body uncompressed',
    })
  if (Number(headers['content-length'] ?? 0) > MAX_BYTES) return tooLarge()
  if (/^100-continue$/i.test(headers.expect ?? '')) response.writeContinue()
  const bytes = await collect(request, timeoutMs)
  if (bytes === 'late') return rejection(408, { error: 'the body did not arrive in time' })
  if (bytes === 'large') return tooLarge()
  if (bytes === 'cut') return rejection(400, { error: 'the body is incomplete' })
  const value = parsedJson(strictText(bytes) ?? '')
  return value === undefined ? rejection(400, { error: 'the body is not valid JSON' }) : { value }
}

type Collected = Buffer | 'late' | 'large' | 'cut'

function collect(request: IncomingMessage, timeoutMs: number): Promise<Collected> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    const end = (result: Collected): void => {
      clearTimeout(timer)
      request.removeAllListeners('data')
      request.pause()
      resolve(result)
    }
    const timer = setTimeout(() => end('late'), timeoutMs)
    request.on('data', (part: Buffer) => {
      size += part.length
      if (size > MAX_BYTES) end('large')
      else parts.push(part)
    })
    request.on('end', () => end(Buffer.concat(parts)))
    request.on('close', () => end('cut'))
    request.on('error', () => end('cut'))
  })
}

function tooLarge(): AdminResponse {
  return rejection(413, { error: `the body must not exceed ${MAX_BYTES} bytes` })
}
