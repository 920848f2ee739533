import { oneLine } from '#base'
import type { Logger, RareLog } from '#sidecar'
import { type Decision, type Subject, reviewResponse } from './decision.ts'
import { type Review, parseReview } from './review.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
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

interface ReviewHandlerParts {
  readonly routes: ReadonlyMap<string, Route>
  readonly body: BodyLimits
  readonly metrics: WebhookMetrics
  readonly logger: Logger
  readonly rareLog: RareLog
  /** Returns true during shutdown, when connections are closed after their response. */
  readonly isDraining: () => boolean
  readonly now: () => number
}

/** An error response, which the API server treats as a failed call. */
interface Complaint {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const BODY_COMPLAINTS: Readonly<Record<Exclude<BodyProblem, 'gone'>, Complaint>> = {
  too_large: {
    status: 413,
    reason: 'too_large',
    message: 'the admission request is too large; reduce the size of the object',
  },
  slow_body: {
    status: 408,
    reason: 'slow_body',
    message: 'the admission request did not arrive in time',
  },
  overload: {
    status: 503,
    reason: 'overload',
    message: 'too many concurrent admission requests; try again, or run more replicas',
    headers: { 'retry-after': '1' },
  },
}

/**
 * Responds to POST at the paths of the routes, and to other requests with an error. Never throws.
 */
export function createReviewHandler(
  parts: ReviewHandlerParts,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    response.on('error', () => undefined)
    const from = parts.now()
    respond(parts, request, response, from).catch((error: unknown) => {
      parts.logger.error({ err: error }, 'the response to an admission request failed')
      response.destroy()
    })
  }
}

async function respond(
  parts: ReviewHandlerParts,
  request: IncomingMessage,
  response: ServerResponse,
  from: number,
): Promise<void> {
  const seconds = (): number => (parts.now() - from) / 1000
  const [path = ''] = (request.url ?? '').split('?', 1)
  const route = parts.routes.get(path)
  const subject = route?.subject ?? 'injection'
  const complain = (complaint: Complaint, result = 'invalid'): void => {
    parts.metrics.reviewed(subject, result, complaint.reason, seconds())
    const { status, message, headers } = complaint
    send(parts, request, response, status, 'text/plain; charset=utf-8', `${message}\n`, headers)
  }
  const wrong = route === undefined ? notFound(parts.routes) : headProblem(request)
  if (wrong !== undefined) {
    parts.rareLog.warn(wrong.reason, wrong.message, 'a request was not an AdmissionReview')
    return complain(wrong)
  }
  if (request.headers.expect !== undefined) response.writeContinue()
  const body = await readReviewBody(request, parts.body)
  if ('problem' in body) {
    const { problem } = body
    if (problem === 'gone') return
    parts.rareLog.warn(problem, BODY_COMPLAINTS[problem].message, 'an AdmissionReview was invalid')
    return complain(BODY_COMPLAINTS[problem])
  }
  try {
    const parsed = parseReview(body.bytes)
    if (!parsed.ok) {
      parts.rareLog.warn(parsed.reason, parsed.message, 'a request was not an AdmissionReview')
      return complain({ status: 400, ...parsed })
    }
    const { review } = parsed
    let decision: Decision
    try {
      decision = await route!.decide(review)
    } catch (error) {
      const { reason, message, cause } = error as DecideError
      parts.logger.error(
        { ...shownReview(review, subject), reason, err: cause },
        subject === 'injection' ? 'the review of a pod failed' : `${subject} could not be checked`,
      )
      return complain(
        { status: 500, reason, message: `squall: ${oneLine(message, 500)}` },
        'failed',
      )
    }
    parts.metrics.reviewed(subject, decision.result, decision.reason, seconds())
    logDecision(parts.logger, subject, review, decision)
    const text = JSON.stringify(reviewResponse(review.uid, decision, subject))
    send(parts, request, response, 200, 'application/json', text)
  } finally {
    body.done()
  }
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
  parts: ReviewHandlerParts,
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  // After an unread body, the next request on the connection cannot be read.
  const isUnread = !request.complete
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...(isUnread || parts.isDraining() ? { connection: 'close' } : {}),
    ...headers,
  })
  response.end(text, () => {
    if (isUnread) request.socket.destroySoon()
  })
}
