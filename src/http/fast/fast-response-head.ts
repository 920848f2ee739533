import type { ResponseFacts } from '../response-facts.ts'
import type { HeaderLines, ResponseHead } from '../headers.ts'

/** A head as clients get it, around the digits of its declared length where it has one. */
export interface TextAround {
  /** Who wrote it so. */
  readonly by: object
  readonly before: string
  readonly after: string
  readonly framing: 'length' | 'chunked' | 'none'
}

/** What has been found out about heads that differ in the declared length alone. */
export interface ResponseNotes {
  facts: ResponseFacts | undefined
  text: TextAround | undefined
}

/** A head that is known to be plain. A copy of its parts is none. */
export class FastResponseHead implements ResponseHead {
  readonly status: number
  readonly reason: string
  readonly headers: HeaderLines
  /** The declared length; -1 without one. */
  readonly length: number
  readonly notes: ResponseNotes

  constructor(
    status: number,
    reason: string,
    headers: HeaderLines,
    length: number,
    notes: ResponseNotes = { facts: undefined, text: undefined },
  ) {
    this.status = status
    this.reason = reason
    this.headers = headers
    this.length = length
    this.notes = notes
  }
}
