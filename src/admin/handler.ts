import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '../telemetry/log.ts'
import { type AdminAnswer, type AdminRoute, jsonAnswer } from './routes.ts'

/** Answers one request on the admin port. */
export type AdminHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Answers by exact path; anything that is not a read of a known path is told what there is. */
export function createHandler(
  routes: ReadonlyMap<string, AdminRoute>,
  logger: Logger,
): AdminHandler {
  return (request, response) => {
    // Several answers may be under way on one connection; a client that leaves is no news.
    response.on('error', () => {})
    void answer(routes, request)
      .catch((err: unknown) => {
        logger.error({ err }, 'the admin port failed to answer')
        return jsonAnswer(500, { error: 'internal error' })
      })
      .then((result) => send(request, response, result))
      .catch(() => response.destroy())
  }
}

async function answer(
  routes: ReadonlyMap<string, AdminRoute>,
  request: IncomingMessage,
): Promise<AdminAnswer> {
  const [path = ''] = (request.url ?? '').split('?', 1)
  const route = routes.get(path)
  if (route === undefined) {
    return jsonAnswer(404, { error: 'not found', paths: [...routes.keys()] })
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return jsonAnswer(405, { error: 'method not allowed', allow: ['GET', 'HEAD'] })
  }
  return route.answer()
}

function send(request: IncomingMessage, response: ServerResponse, result: AdminAnswer): void {
  response.statusCode = result.status
  response.setHeader('content-type', result.type)
  response.setHeader('content-length', Buffer.byteLength(result.body))
  response.setHeader('cache-control', 'no-store')
  response.setHeader('x-content-type-options', 'nosniff')
  if (result.status === 405) response.setHeader('allow', 'GET, HEAD')
  // A body is not read, so nothing that follows it on the connection can be understood.
  if (hasBody(request)) response.setHeader('connection', 'close')
  // Node leaves the body out where the request was a HEAD.
  response.end(result.body)
}

function hasBody(request: IncomingMessage): boolean {
  const { headers } = request
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}
