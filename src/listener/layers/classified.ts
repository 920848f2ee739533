import { HEAVY, heavyWork } from '../../base/event-loop.ts'
import { readingCost } from '../../base/json/json-bounds.ts'
import { codingOf, decodedLimit, decodeWhole, MAX_RATIO } from '../../http/content-coding.ts'
import { isExemptPath } from '../../http/exempt-path.ts'
import { targetPath, type RequestHead } from '../../http/headers.ts'
import type { Transfer } from '../../http/transfer.ts'
import { classifyBody, type PostedMessages } from '../../mcp/classify.ts'
import { factsOf, type HeadFacts } from '../../mcp/request-facts.ts'
import type { HttpRecord, UnclassifiedReason } from '../../telemetry/telemetry.ts'
import type { Exchange } from '../exchange.ts'
import { ExchangeObserver } from '../exchange-observer.ts'
import type { RedirectedPost } from '../redirected-calls.ts'
import type { Relay } from '../relay.ts'
import { type Layer, NO_TRANSFER, type Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

/** A request, and what its head and body say. */
export interface Classified {
  readonly exchange: Exchange
  readonly facts: HeadFacts
  readonly class: HttpRecord['class']
  readonly receivedAt: number
  /** The size of the body, where it was collected. */
  readonly size: number
  /** The messages in the body of a POST; undefined for other requests, and for unread bodies. */
  readonly posted?: PostedMessages
  /** The key of the session in the table of in-flight requests; empty without a session. */
  readonly session: string
  /** True for a body that was not read, and may contain calls. */
  readonly isUnread: boolean
  /** The redirected request that this one repeats. */
  readonly repeats?: RedirectedPost
}

/** Reads head and body of each request. A body that it cannot read is counted, and passes. */
export function classified(
  p: StackParts,
): Layer<Service<Exchange, Relay>, Service<Classified, Relay>> {
  // Counts clients that leave before their request is read.
  const leaving = new ExchangeObserver(p, 'mcp')
  return (inner) => {
    const pass = (request: Classified, relay: Relay): Transfer => {
      relay.attach(inner.send(request, relay), request.receivedAt)
      return NO_TRANSFER
    }
    return {
      send(exchange, relay) {
        const facts = factsOf(exchange.head)
        if (facts.ambiguity) unclassified(p, exchange.head, facts.ambiguity)
        const { kind, session = '', hasBody: isUnread } = facts
        if (kind !== 'post') {
          const type = kind === 'http' ? 'http' : 'mcp'
          const known = { class: type, receivedAt: p.now(), size: 0, session, isUnread } as const
          return pass({ exchange, facts, ...known }, relay)
        }
        relay.settlement.observe(leaving)
        const read = (bytes: Uint8Array | null): void => {
          try {
            pass(readPost(p, exchange, facts, bytes), relay)
          } catch (error) {
            relay.settlement.failInside(error)
          }
        }
        exchange.body.collect(p.maxBody, (bytes, reason = 'too_large') => {
          if (bytes === null) {
            unclassified(p, exchange.head, reason)
            read(null)
            return
          }
          const work = bytes.length * (facts.coding === undefined ? 1 : MAX_RATIO)
          heavyWork.run(work, () => {
            // The client may have left meanwhile.
            if (work < HEAVY || !exchange.response.ended) read(bytes)
          })
        })
        return NO_TRANSFER
      },
    }
  }
}

/** Reads the collected body of a POST; null stands for one that was not collected. */
function readPost(
  p: StackParts,
  exchange: Exchange,
  facts: HeadFacts,
  bytes: Uint8Array | null,
): Classified {
  const { inFlight, now, planner, sessions } = p
  const receivedAt = now()
  const size = bytes?.length ?? 0
  const repeats = bytes === null ? undefined : inFlight.redirects.take(exchange, bytes)
  if (repeats !== undefined) {
    const { entries, posted } = repeats
    const session = entries[0]?.session ?? posted.session ?? ''
    const known = { receivedAt, size, posted, session, isUnread: false, repeats }
    return { exchange, facts, class: 'mcp', ...known }
  }
  const endpoint = sessions.endpoints.lookup(exchange.head.target)
  const plain = bytes === null ? undefined : decoded(p, exchange.head, facts, bytes)
  const read = plain && messagesIn(p, exchange.head, facts, plain, endpoint !== undefined)
  if (plain === undefined || read === undefined) {
    const session = facts.session ?? ''
    return { exchange, facts, class: 'http', receivedAt, size, session, isUnread: true }
  }
  const session = endpoint ?? read.session ?? ''
  const posted = inFlight.tasks.named(read, session)
  planner?.reportCanaries(plain, session, posted, facts.trace)
  return { exchange, facts, class: 'mcp', receivedAt, size, posted, session, isUnread: false }
}

/** Returns the decoded bytes of a body; undefined when they cannot be read. */
function decoded(
  p: StackParts,
  head: RequestHead,
  { coding }: HeadFacts,
  bytes: Uint8Array,
): Uint8Array | undefined {
  const { memory, maxBody } = p
  const cost = readingCost(
    coding === undefined ? bytes.length : decodedLimit(bytes.length, maxBody),
  )
  // Reading is synchronous: the memory is only checked, not held.
  if (!memory.take(cost)) {
    unclassified(p, head, 'memory')
    return undefined
  }
  memory.give(cost)
  const plain = decodeWhole(codingOf(coding), bytes, maxBody)
  if (plain === undefined) unclassified(p, head, 'encoding')
  return plain
}

/** Reads the messages of a body; returns undefined when it is not MCP. */
function messagesIn(
  p: StackParts,
  head: RequestHead,
  facts: HeadFacts,
  plain: Uint8Array,
  isSsePost: boolean,
): PostedMessages | undefined {
  const { telemetry, logger, strict, streamTransport, classify = classifyBody } = p
  try {
    const read = classify(facts, plain, isSsePost ? streamTransport : 'streamable-http')
    if (read.kind === 'messages') return read
    unclassified(p, head, read.reason)
  } catch (error) {
    telemetry.unclassified('internal_error')
    if (strict) throw error
    logger.error({ err: error }, 'a request could not be parsed; it is forwarded unchanged')
  }
  return undefined
}

/** Counts an unread request, except on paths for login and probes. */
export function unclassified(
  { memory, telemetry }: StackParts,
  head: RequestHead,
  reason: UnclassifiedReason,
): void {
  if (reason === 'memory') memory.pressure.request_unread++
  if (!isExemptPath(targetPath(head.target))) telemetry.unclassified(reason)
}
