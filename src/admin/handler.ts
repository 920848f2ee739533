import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from '../telemetry/log.ts'
import type { AdminRejection } from '../telemetry/metrics.ts'
import { type AdminResponse, jsonResponse } from './admin-response.ts'
import type { ChangeGuard } from './change-guard.ts'
import type { ReadGuard } from './read-guard.ts'
import { type ChangeProblem, problemResponse } from './change-problem.ts'
import { RejectionLog } from './rejection-log.ts'
import { hasBody, readBody } from './request-body.ts'
import { type AdminRoute, listed, methodsOf } from './routes.ts'

/** Answers one request on the admin port. */
export type AdminHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Configures how requests are answered. */
export interface HandlerParts {
  readonly routes: ReadonlyMap<string, AdminRoute>
  readonly guard: ChangeGuard
  readonly readGuard: ReadGuard
  readonly logger: Logger
  /** Counts what was refused. */
  readonly refused: (reason: AdminRejection) => void
  /** The time limit for the body of a request. */
  readonly bodyTimeoutMs: number
}

interface Parts extends HandlerParts {
  readonly rejections: RejectionLog
}

/** Responds by exact path. Other paths get a list of the paths. */
export function createHandler(handlerParts: HandlerParts): AdminHandler {
  const parts: Parts = { ...handlerParts, rejections: new RejectionLog(handlerParts.logger) }
  return (request, response) => {
    // Several responses may be under way on one connection; a client that leaves is no news.
    response.on('error', () => {})
    void answer(parts, request, response)
      .catch((err: unknown) => {
        parts.logger.error({ err }, 'the admin port failed to answer')
        return jsonResponse(500, { error: 'internal error' })
      })
      .then((result) => (result === undefined ? undefined : send(request, response, result)))
      .catch(() => response.destroy())
  }
}

async function answer(
  parts: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AdminResponse | undefined> {
  const { routes } = parts
  const [path = ''] = (request.url ?? '').split('?', 1)
  const route = routes.get(path)
  if (route === undefined) {
    return jsonResponse(404, { error: 'not found', paths: listed(routes) })
  }
  const { method } = request
  const { read, stream, change } = route
  if (read !== undefined && (method === 'GET' || method === 'HEAD')) {
    return unreadable(parts, path, route, request) ?? read(request.headers)
  }
  if (stream !== undefined && method === 'GET') {
    return unreadable(parts, path, route, request) ?? stream(response)
  }
  if (change !== undefined && method === 'POST') {
    return changed(parts, { path, change }, request, response)
  }
  const allow = methodsOf(route)
  // Says what there is, and lets no page of another origin do anything.
  if (method === 'OPTIONS') return jsonResponse(200, { allow }, { allow: allow.join(', ') })
  return jsonResponse(405, { error: 'method not allowed', allow }, { allow: allow.join(', ') })
}

/** Answers who may not read this; undefined for all others. */
function unreadable(
  { readGuard, rejections, refused }: Parts,
  path: string,
  route: AdminRoute,
  request: IncomingMessage,
): AdminResponse | undefined {
  const problem = route.open === true ? undefined : readGuard(request.headers)
  if (problem === undefined) return undefined
  refused(problem.status === 401 ? 'token' : 'host')
  rejections.add({
    kind: 'read',
    what: path,
    from: request.socket.remoteAddress,
    why: problem.error,
  })
  return problemResponse(problem)
}

/** A body is not even read before it is known that whoever sends it may change something. */
async function changed(
  { guard, bodyTimeoutMs, rejections, refused }: Parts,
  { path, change }: { readonly path: string; readonly change: NonNullable<AdminRoute['change']> },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AdminResponse> {
  const from = request.socket.remoteAddress
  const tell = (why: string): void => {
    refused('change')
    rejections.add({ kind: 'change', what: path, from, why })
  }
  const refuse = (problem: ChangeProblem): AdminResponse => {
    tell(problem.error)
    return problemResponse(problem)
  }
  const rejection = guard(request.headers)
  if (rejection !== undefined) return refuse(rejection)
  const body = await readBody(request, response, bodyTimeoutMs)
  if ('problem' in body) return refuse(body.problem)
  const done = change({ body: body.value, from })
  if (done.refused !== undefined) tell(done.refused)
  return done
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  result: AdminResponse,
): Promise<void> {
  const pieces = typeof result.body === 'string' ? [Buffer.from(result.body)] : result.body
  response.statusCode = result.status
  response.setHeader('content-type', result.type)
  response.setHeader('content-length', lengthOf(pieces))
  response.setHeader('cache-control', 'no-store')
  response.setHeader('x-content-type-options', 'nosniff')
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, value)
  // Where a body was not read to its end, nothing that follows it can be understood.
  if (hasBody(request) && !request.readableEnded) response.setHeader('connection', 'close')
  // Node leaves the body out where the request was a HEAD.
  if (pieces.length === 1) response.end(pieces[0])
  else await pipeline(onePerTurn(pieces), response)
  result.sent?.()
}

/** Whatever is handed to the kernel is copied at once: calls do not wait for all of it. */
async function* onePerTurn(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    yield piece
    await nextTurn()
  }
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((length, piece) => length + piece.length, 0)
}
