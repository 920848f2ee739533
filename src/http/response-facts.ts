import { headerValue, mediaType, type ResponseHead } from './headers.ts'
import { FastResponseHead } from './fast/fast-response-head.ts'

/** What a response's head says of how its body is to be read. */
export interface ResponseFacts {
  /** The coding of the body. */
  readonly coding: string | undefined
  /** The body is a stream of events. */
  readonly streams: boolean
}

/** Reads a head once; of one that is known by its bytes, what was read before. */
export function responseFactsOf(head: ResponseHead): ResponseFacts {
  if (!(head instanceof FastResponseHead)) return readFacts(head)
  return (head.notes.facts ??= readFacts(head))
}

/** The length that a head declares for its body; NaN where it declares none. */
export function declaredLength(head: ResponseHead): number {
  if (head instanceof FastResponseHead) return head.length < 0 ? NaN : head.length
  return Number(headerValue(head.headers, 'content-length'))
}

function readFacts({ headers }: ResponseHead): ResponseFacts {
  return {
    coding: headerValue(headers, 'content-encoding'),
    streams: mediaType(headerValue(headers, 'content-type')) === 'text/event-stream',
  }
}
