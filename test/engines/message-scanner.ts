/** The events of a scanner. */
export interface ScannerEvents {
  /** A header block is complete. */
  head?(head: string): void
  /** A message is whole; `text` is all of it. */
  message(text: string): void
}

type State = 'head' | 'length' | 'chunk' | 'chunk-line' | 'trailers' | 'close' | 'lost'

const LENGTH = /\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*\r\n/i
const SIZE = /^[0-9a-f]{1,8}(?![0-9a-f])/i
const CODING = /\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n/i

/**
 * Finds the ends of messages in a stream of bytes, one character each. Scripts continue at these
 * ends. The scanner validates nothing: when it cannot follow the stream, it reports no more ends.
 */
export class MessageScanner {
  readonly #events: ScannerEvents
  /** Responses only: methods of the requests that still wait for a response. */
  readonly #methods: string[] | undefined
  #text = ''
  /** Up to here the text belongs to what is known of the message. */
  #at = 0
  #state: State = 'head'

  constructor(events: ScannerEvents, methods?: string[]) {
    this.#events = events
    this.#methods = methods
  }

  /** The text of a message that is not complete. */
  get rest(): string {
    return this.#text
  }

  push(text: string): void {
    if (this.#state === 'lost') return
    this.#text += text
    while (this.#step());
  }

  #step(): boolean {
    switch (this.#state) {
      case 'head':
        return this.#head()
      case 'length':
        return this.#text.length >= this.#at && this.#finish()
      case 'chunk-line':
        return this.#chunkLine()
      case 'chunk':
        if (this.#text.length < this.#at) return false
        this.#state = 'chunk-line'
        return true
      case 'trailers':
        return this.#trailers()
      case 'close':
      case 'lost':
        break
    }
    return false
  }

  #head(): boolean {
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = this.#text.slice(0, end + 4)
    if (/^HTTP\/1\.[01] 1\d\d/.test(head)) {
      this.#text = this.#text.slice(end + 4)
      return this.#text !== ''
    }
    this.#at = end + 4
    this.#events.head?.(head)
    if (this.#isBodiless(head)) return this.#finish()
    const length = LENGTH.exec(head)
    if (CODING.test(head)) this.#state = 'chunk-line'
    else if (length !== null) {
      this.#at += Number(length[1])
      this.#state = 'length'
    } else if (this.#methods === undefined) return this.#finish()
    else this.#state = 'close'
    return true
  }

  #isBodiless(head: string): boolean {
    if (this.#methods === undefined) return false
    return this.#methods[0] === 'HEAD' || /^HTTP\/1\.[01] (?:204|304)/.test(head)
  }

  #chunkLine(): boolean {
    const end = this.#text.indexOf('\r\n', this.#at)
    if (end < 0) return false
    const match = SIZE.exec(this.#text.slice(this.#at, end))
    if (match === null) {
      this.#state = 'lost'
      return false
    }
    const size = Number.parseInt(match[0], 16)
    this.#at = end + 2 + (size === 0 ? 0 : size + 2)
    this.#state = size === 0 ? 'trailers' : 'chunk'
    return true
  }

  #trailers(): boolean {
    const end = this.#text.indexOf('\r\n', this.#at)
    if (end < 0) return false
    const blank = end === this.#at
    this.#at = end + 2
    return blank ? this.#finish() : true
  }

  #finish(): boolean {
    const whole = this.#text.slice(0, this.#at)
    this.#text = this.#text.slice(this.#at)
    this.#at = 0
    this.#state = 'head'
    this.#methods?.shift()
    this.#events.message(whole)
    return this.#text !== ''
  }
}
