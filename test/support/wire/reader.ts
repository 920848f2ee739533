/** Something on the wire that a strict reader of HTTP/1 does not accept. */
export class WireError extends Error {
  readonly code = 'WIRE'
}

/** The framing that determines the end of a body. */
export type Framing = 'none' | 'length' | 'chunked' | 'close'

/** One request or response as it stood on the wire. */
export interface WireMessage {
  readonly startLine: string
  /** Name, value, name, value, … with the blanks around values trimmed, one character per byte. */
  readonly headers: string[]
  framing: Framing
  /** Decoded body; empty when the reader only counts. */
  body: Buffer
  bodyBytes: number
  /** Sizes of the chunks, in order, without the last one of zero. */
  readonly chunks: number[]
  trailers: string[]
  complete: boolean
}

/** The events of a reader. */
export interface WireEvents {
  head?(message: WireMessage): void
  data?(bytes: Buffer, message: WireMessage): void
  message(message: WireMessage): void
}

/** The options of a reader. */
export interface WireOptions {
  readonly role: 'request' | 'response'
  readonly keepBody?: boolean
  /** Responses only: the method of the request that the next response belongs to. */
  readonly method?: () => string
}

const EMPTY = Buffer.alloc(0)
const REQUEST_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ [\x21-\x7e\x80-\xff]+ HTTP\/1\.[01]$/
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)$/
const MAX_HEADER_SIZE = 1024 * 1024

type State = 'head' | 'length' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailers' | 'close'

/**
 * Reads HTTP/1 messages and forgives nothing. It shares no code with the proxy or with Node's own
 * parser, so what it accepts has one meaning only.
 */
export class WireReader {
  readonly #options: WireOptions
  readonly #events: WireEvents
  #buffer: Buffer = EMPTY
  #state: State = 'head'
  #message: WireMessage | undefined
  #left = 0
  #parts: Buffer[] = []

  constructor(options: WireOptions, events: WireEvents) {
    this.#options = options
    this.#events = events
  }

  /** True between messages, with nothing read of the next one. */
  get idle(): boolean {
    return this.#message === undefined && this.#buffer.length === 0
  }

  push(bytes: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? bytes : Buffer.concat([this.#buffer, bytes])
    while (this.#step());
  }

  /** The connection has ended; `clean` means FIN, not RST. Returns the cut message, if any. */
  end(clean: boolean): WireMessage | undefined {
    const message = this.#message
    if (message === undefined) return undefined
    if (this.#state === 'close' && clean) {
      this.#finish()
      return undefined
    }
    message.body = Buffer.concat(this.#parts)
    this.#message = undefined
    return message
  }

  #step(): boolean {
    switch (this.#state) {
      case 'head':
        return this.#head()
      case 'length':
      case 'chunk-data':
        return this.#counted()
      case 'chunk-size':
        return this.#chunkSize()
      case 'chunk-end':
        return this.#chunkEnd()
      case 'trailers':
        return this.#trailers()
      case 'close':
        break
    }
    this.#take(this.#buffer.length)
    return false
  }

  #head(): boolean {
    const block = this.#block('\r\n\r\n')
    if (block === undefined) return false
    const lines = block.split('\r\n')
    const startLine = lines.shift()!
    const pattern = this.#options.role === 'request' ? REQUEST_LINE : STATUS_LINE
    if (!pattern.test(startLine)) throw new WireError(`start line ${JSON.stringify(startLine)}`)
    const headers = headerLines(lines)
    const message: WireMessage = {
      startLine,
      headers,
      framing: 'none',
      body: EMPTY,
      bodyBytes: 0,
      chunks: [],
      trailers: [],
      complete: false,
    }
    this.#message = message
    this.#parts = []
    this.#frame(message)
    return true
  }

  #frame(message: WireMessage): void {
    const { role } = this.#options
    message.framing = framingOf(
      message,
      role,
      role === 'request' ? '' : (this.#options.method?.() ?? 'GET'),
    )
    this.#events.head?.(message)
    if (message.framing === 'none') this.#finish()
    else if (message.framing === 'chunked') this.#state = 'chunk-size'
    else if (message.framing === 'close') this.#state = 'close'
    else {
      this.#left = Number(valuesOf(message.headers, 'content-length')[0])
      this.#state = 'length'
      if (this.#left === 0) this.#finish()
    }
  }

  #counted(): boolean {
    const size = Math.min(this.#left, this.#buffer.length)
    if (size > 0) this.#take(size)
    this.#left -= size
    if (this.#left > 0) return false
    if (this.#state === 'chunk-data') this.#state = 'chunk-end'
    else this.#finish()
    return true
  }

  #chunkSize(): boolean {
    const line = this.#block('\r\n')
    if (line === undefined) return false
    if (!/^[0-9a-fA-F]{1,8}$/.test(line)) throw new WireError(`chunk size ${JSON.stringify(line)}`)
    this.#left = Number.parseInt(line, 16)
    if (this.#left > 0) this.#message!.chunks.push(this.#left)
    this.#state = this.#left === 0 ? 'trailers' : 'chunk-data'
    return true
  }

  #chunkEnd(): boolean {
    if (this.#buffer.length < 2) return false
    if (this.#buffer.toString('latin1', 0, 2) !== '\r\n')
      throw new WireError('no line end after a chunk')
    this.#buffer = this.#buffer.subarray(2)
    this.#state = 'chunk-size'
    return true
  }

  #trailers(): boolean {
    const line = this.#block('\r\n')
    if (line === undefined) return false
    if (line === '') this.#finish()
    else this.#message!.trailers.push(...headerLines([line]))
    return true
  }

  /** Text up to a mark, which is taken away with it. */
  #block(marker: string): string | undefined {
    const end = this.#buffer.indexOf(marker, 0, 'latin1')
    if (end < 0) {
      if (this.#buffer.length > MAX_HEADER_SIZE) throw new WireError('a head without end')
      return undefined
    }
    const text = this.#buffer.toString('latin1', 0, end)
    this.#buffer = this.#buffer.subarray(end + marker.length)
    return text
  }

  #take(size: number): void {
    const bytes = this.#buffer.subarray(0, size)
    this.#buffer = this.#buffer.subarray(size)
    this.#message!.bodyBytes += size
    if (this.#options.keepBody !== false) this.#parts.push(bytes)
    this.#events.data?.(bytes, this.#message!)
  }

  #finish(): void {
    const message = this.#message!
    message.body = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
    message.complete = true
    this.#message = undefined
    this.#parts = []
    this.#state = 'head'
    this.#events.message(message)
  }
}

function headerLines(lines: readonly string[]): string[] {
  const headers: string[] = []
  for (const line of lines) {
    const match = HEADER_LINE.exec(line)
    if (match === null) throw new WireError(`header line ${JSON.stringify(line)}`)
    headers.push(match[1]!, trimBlanks(match[2]!))
  }
  return headers
}

/** Without blanks and tabs at the edges: `trim` would also take the byte 0xa0. */
function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}

function framingOf(message: WireMessage, role: string, method: string): Framing {
  const lengths = valuesOf(message.headers, 'content-length')
  const codings = valuesOf(message.headers, 'transfer-encoding')
  if (lengths.length > 1) throw new WireError('two content-lengths')
  if (lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0]!)) {
    throw new WireError(`content-length ${JSON.stringify(lengths[0])}`)
  }
  if (codings.length > 1) throw new WireError('two transfer-encodings')
  if (codings.length === 1) {
    if (codings[0]!.toLowerCase() !== 'chunked')
      throw new WireError(`transfer-encoding ${codings[0]!}`)
    if (lengths.length === 1) throw new WireError('content-length beside transfer-encoding')
  }
  if (role === 'request') return requestFraming(message, lengths, codings)
  const status = statusOf(message)
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return 'none'
  if (codings.length === 1) return 'chunked'
  return lengths.length === 1 ? 'length' : 'close'
}

function requestFraming(message: WireMessage, lengths: string[], codings: string[]): Framing {
  const old = message.startLine.endsWith('1.0')
  const hosts = valuesOf(message.headers, 'host').length
  // A request without a Host has one meaning still: the upstream refuses it.
  if (hosts > 1) throw new WireError(`${hosts} hosts`)
  if (codings.length === 0) return lengths.length === 1 ? 'length' : 'none'
  if (old) throw new WireError('transfer-encoding in HTTP/1.0')
  return 'chunked'
}

/** All values of a header; `name` in lower case. */
export function valuesOf(headers: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() === name) values.push(headers[i + 1]!)
  }
  return values
}

/** The first value of a header; `name` in lower case. */
export function valueOf(headers: readonly string[], name: string): string | undefined {
  return valuesOf(headers, name)[0]
}

/** The status of a response. */
export function statusOf(message: WireMessage): number {
  return Number(message.startLine.slice(9, 12))
}
