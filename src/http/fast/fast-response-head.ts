import type { Coding } from '../content-coding.ts'
import type { ForeignMark } from '../foreign-markers.ts'
import type { HeaderLines, ResponseHead } from '../headers.ts'

/** Properties of a response's body, as its head declares them. */
export interface ResponseFacts {
  readonly coding: Coding
  /** True for an event stream. */
  readonly streams: boolean
  readonly mark: ForeignMark
}

/** The head as clients get it, split around the digits of its declared length, if any. */
export interface SplitHeadText {
  /** Identifies the writer of the text. */
  readonly by: object
  readonly before: string
  readonly after: string
  readonly framing: 'length' | 'chunked' | 'none'
}

/** Caches facts of heads that differ only in the declared length. */
export interface ResponseHeadCache {
  facts: ResponseFacts | undefined
  text: SplitHeadText | undefined
  /** The cache of heads that one change has made of these. */
  changed?: ResponseHeadCache & { readonly by: string }
}

/** A plain head. Only instances count as plain; copies of the fields do not. */
export class FastResponseHead implements ResponseHead {
  readonly status: number
  readonly reason: string
  readonly headers: HeaderLines
  /** The declared length; -1 without one. */
  readonly length: number
  readonly cache: ResponseHeadCache

  constructor(
    status: number,
    reason: string,
    headers: HeaderLines,
    length: number,
    cache: ResponseHeadCache = { facts: undefined, text: undefined },
  ) {
    this.status = status
    this.reason = reason
    this.headers = headers
    this.length = length
    this.cache = cache
  }

  /** Returns the head with the lines that a change has made: equal for equal heads and names. */
  changed(by: string, headers: HeaderLines, length = this.length): FastResponseHead {
    const { status, reason, cache } = this
    if (cache.changed?.by !== by) cache.changed = { by, facts: undefined, text: undefined }
    return new FastResponseHead(status, reason, headers, length, cache.changed)
  }
}
