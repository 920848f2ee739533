import type { HeaderLines, RequestHead } from '../headers.ts'

/** Caches facts of heads that differ only in the declared length. */
export interface RequestHeadCache {
  /** The result of `factsOf`, whose type `http` does not know. */
  facts: object | undefined
}

/**
 * A plain head with the text that the upstream gets. Only instances count as plain; copies of the
 * fields do not.
 */
export class FastRequestHead implements RequestHead {
  readonly method: string
  readonly target: string
  readonly version = '1.1'
  readonly headers: HeaderLines
  /** The head as the upstream gets it, with the blank line. */
  readonly text: string
  readonly cache: RequestHeadCache

  constructor(
    method: string,
    target: string,
    headers: HeaderLines,
    text: string,
    cache: RequestHeadCache = { facts: undefined },
  ) {
    this.cache = cache
    this.method = method
    this.target = target
    this.headers = headers
    this.text = text
  }
}
