import { codingOf } from './content-coding.ts'
import { markInHeaders } from './foreign-markers.ts'
import { headerValue, mediaType, type ResponseHead } from './headers.ts'
import { FastResponseHead, type ResponseFacts } from './fast/fast-response-head.ts'

/** Reads the facts of a head; caches them for fast heads. */
export function responseFactsOf(head: ResponseHead): ResponseFacts {
  if (!(head instanceof FastResponseHead)) return readFacts(head)
  return (head.cache.facts ??= readFacts(head))
}

/** Returns the declared length of the body; NaN when none is declared. */
export function declaredLength(head: ResponseHead): number {
  if (head instanceof FastResponseHead) return head.length < 0 ? NaN : head.length
  return Number(headerValue(head.headers, 'content-length'))
}

function readFacts({ headers }: ResponseHead): ResponseFacts {
  return {
    coding: codingOf(headerValue(headers, 'content-encoding')),
    streams: mediaType(headerValue(headers, 'content-type')) === 'text/event-stream',
    mark: markInHeaders(headers),
  }
}
