import { headerValues, type HeaderLines, type ResponseHead } from '../../../http/headers.ts'
import type { Failure, ResponseSink } from '../../../http/transfer.ts'

const BROKEN: Failure = { kind: 'closed', message: 'a fault broke the framing of the response' }

/**
 * Sends a response whose body may contradict its head. Bytes beyond a declared length, which would
 * be read as the next response, are dropped; a body that is too short ends with the connection.
 */
export class FramedSink {
  readonly #sink: ResponseSink
  readonly #bodyless: (status: number) => boolean
  /** The declared bytes that were not sent; undefined without a declared length. */
  #owed: number | undefined
  #broken = false
  #full = false
  #empty = false

  constructor(sink: ResponseSink, bodyless: (status: number) => boolean) {
    this.#sink = sink
    this.#bodyless = bodyless
  }

  /** True when the body exceeded the declared length. */
  get full(): boolean {
    return this.#full
  }

  head(head: ResponseHead): void {
    this.#empty = this.#bodyless(head.status)
    const lengths = headerValues(head.headers, 'content-length')
    const [length] = lengths
    if (length !== undefined && !this.#empty) {
      // The client must handle lengths that contradict each other; the connection ends after them.
      if (/^\d{1,15}$/.test(length) && lengths.every((each) => each === length)) {
        this.#owed = Number(length)
      } else {
        this.#broken = true
      }
    }
    this.#sink.head(head)
  }

  data(bytes: Uint8Array): boolean {
    if (this.#empty || bytes.length === 0) return true
    const owed = this.#owed
    if (owed === undefined) return this.#sink.data(bytes)
    if (bytes.length <= owed) {
      this.#owed = owed - bytes.length
      return this.#sink.data(bytes)
    }
    this.#full = true
    this.#owed = 0
    return owed === 0 || this.#sink.data(bytes.subarray(0, owed))
  }

  end(trailers: HeaderLines): void {
    if (this.#broken || this.#full || (this.#owed ?? 0) > 0) this.#sink.fail(BROKEN)
    else this.#sink.end(trailers)
  }
}
