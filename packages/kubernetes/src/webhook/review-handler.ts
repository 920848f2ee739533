import { oneLine } from '#base'
import type { Logger, RareLog } from '#sidecar'
import { type Decision, type Subject, reviewResponse } from './decision.ts'
import { type Review, parseReview } from './review.ts'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { DecideError } from './decide-pod.ts'
import { type BodyLimits, type BodyProblem, readReviewBody } from './review-body.ts'
import type { WebhookMetrics } from './webhook-metrics.ts'

const MAX_SHOWN = 300

/** Logs a decision, without contents of the object. */
function logDecision(logger: Logger, subject: Subject, review: Review, decision: Decision): void {
  const { result, reason, message, warnings, lines } = decision
  const isNo = result === 'denied'
  const fields = {
    ...shownReview(review, subject),
    result,
    // The reason of an injected pod is its mode.
    ...(result === 'injected' ? { mode: reason, why: oneLine(message, MAX_SHOWN) } : { reason }),
    ...(isNo && { detail: oneLine([message, ...(lines ?? [])].join(' '), MAX_SHOWN) }),
    ...(warnings.length > 0 && {
      warnings: warnings.slice(0, 8).map((text) => oneLine(text, MAX_SHOWN)),
    }),
  }
  if (subject !== 'injection') {
    if (isNo) logger.warn(fields, `${subject} denied`)
    else logger.info(fields, `${subject} ${result}`)
  } else if (result === 'untouched') logger.info(fields, 'pod unchanged')
  else if (result === 'injected') logger.info(fields, 'pod injected')
  else logger.warn(fields, result === 'denied' ? 'pod denied' : 'pod not injected')
}

/** Returns the fields that name the object of a review. */
function shownReview(review: Review, subject: Subject): object {
  const name = oneLine(review.podName, 80)
  return {
    uid: oneLine(review.uid, 64),
    namespace: oneLine(review.namespace, 80),
    ...(subject === 'injection'
      ? { pod: name, owner: oneLine(review.owner, 80) }
      : { resource: oneLine(review.resource, 80), name }),
    ...(review.dryRun && { dryRun: true }),
  }
}

/** The decision at one path. */
export interface Route {
  readonly subject: Subject
  decide(review: Review): Promise<Decision>
}

export interface ReviewHandlerParts {
  readonly routes: ReadonlyMap<string, Route>
  readonly body: BodyLimits
  readonly metrics: WebhookMetrics
  readonly logger: Logger
  readonly rareLog: RareLog
  /** Returns true during shutdown, when connections are closed after their response. */
  readonly isDraining: () => boolean
}

/** An error response, which the API server treats as a failed call. */
interface Complaint {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What is sent, and what the metrics count. */
interface Reply extends Omit<Complaint, 'message'> {
  readonly text: string
  readonly result: string
}

const BODY_COMPLAINTS: Readonly<Record<Exclude<BodyProblem, 'gone'>, Omit<Complaint, 'reason'>>> = {
  too_large: {
    status: 413,
    message: 'the admission request is too large; reduce the size of the object',
  },
  slow_body: { status: 408, message: 'the admission request did not arrive in time' },
  overload: {
    status: 503,
    message: 'too many concurrent admission requests; try again, or run more replicas',
    headers: { 'retry-after': '1' },
  },
}

/**
 * Responds to POST at the paths of the routes, and to other requests with an error. Never throws.
 */
export function createReviewHandler(parts: ReviewHandlerParts): RequestListener {
  return (request, response) => {
    response.on('error', () => undefined)
    respond(parts, request, response).catch((error: unknown) => {
      parts.logger.error({ err: error }, 'the response to an admission request failed')
      response.destroy()
    })
  }
}

async function respond(
  parts: ReviewHandlerParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const from = performance.now()
  const [path = ''] = (request.url ?? '').split('?', 1)
  const route = parts.routes.get(path)
  const reply =
    route === undefined
      ? invalid(parts, notFound(parts.routes))
      : await replyTo(parts, route, request, response)
  if (reply === undefined) return
  const { result, reason } = reply
  const seconds = (performance.now() - from) / 1000
  parts.metrics.reviewed(route?.subject ?? 'injection', result, reason, seconds)
  send(reply, request, response, parts.isDraining())
}

/** Returns the reply to a request at a route; undefined where its client has left. */
async function replyTo(
  parts: ReviewHandlerParts,
  route: Route,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Reply | undefined> {
  const wrong = headProblem(request)
  if (wrong !== undefined) return invalid(parts, wrong)
  if (request.headers.expect !== undefined) response.writeContinue()
  const body = await readReviewBody(request, parts.body)
  if ('problem' in body) {
    const { problem: reason } = body
    if (reason === 'gone') return undefined
    const complaint = { reason, ...BODY_COMPLAINTS[reason] }
    return invalid(parts, complaint, 'an AdmissionReview was invalid')
  }
  try {
    const parsed = parseReview(body.bytes)
    if (!parsed.ok) return invalid(parts, { status: 400, ...parsed })
    return await decided(parts.logger, route, parsed.review)
  } finally {
    body.done()
  }
}

/** Logs a request that is not a review, and returns the reply. */
function invalid(
  { rareLog }: ReviewHandlerParts,
  complaint: Complaint,
  problem = 'a request was not an AdmissionReview',
): Reply {
  rareLog.warn(complaint.reason, complaint.message, problem)
  return { ...complaint, text: `${complaint.message}\n`, result: 'invalid' }
}

/** Decides about a review, logs the decision, and returns the reply. */
async function decided(logger: Logger, route: Route, review: Review): Promise<Reply> {
  const { subject } = route
  let decision: Decision
  try {
    decision = await route.decide(review)
  } catch (error) {
    const { reason, message, cause } = error as DecideError
    logger.error(
      { ...shownReview(review, subject), reason, err: cause },
      subject === 'injection' ? 'the review of a pod failed' : `${subject} could not be checked`,
    )
    return { status: 500, result: 'failed', reason, text: `squall: ${oneLine(message, 500)}\n` }
  }
  logDecision(logger, subject, review, decision)
  const { result, reason } = decision
  const text = JSON.stringify(reviewResponse(review.uid, decision, subject))
  return { status: 200, result, reason, text, headers: { 'content-type': 'application/json' } }
}

function notFound(routes: ReadonlyMap<string, Route>): Complaint {
  const message = `not found; send admission requests to ${[...routes.keys()].join(', ')}`
  return { status: 404, reason: 'not_found', message }
}

function headProblem(request: IncomingMessage): Complaint | undefined {
  if (request.method !== 'POST') {
    const message = 'method not allowed; use POST'
    return { status: 405, reason: 'method', message, headers: { allow: 'POST' } }
  }
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
  if (type !== 'application/json') {
    const message = 'unsupported content type; use application/json'
    return { status: 415, reason: 'content_type', message }
  }
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const message = 'unsupported content encoding; send the request uncompressed'
    return { status: 415, reason: 'encoding', message }
  }
  return undefined
}

function send(
  { status, text, headers }: Reply,
  request: IncomingMessage,
  response: ServerResponse,
  isDraining: boolean,
): void {
  // After an unread body, the next request on the connection cannot be read.
  const isUnread = !request.complete
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...(isUnread || isDraining ? { connection: 'close' } : {}),
    ...headers,
  })
  response.end(text, () => {
    if (isUnread) request.socket.destroySoon()
  })
}
