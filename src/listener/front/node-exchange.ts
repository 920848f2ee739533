import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type HeaderLines,
  type RequestHead,
  headerValue,
  linesWithout,
} from '../../http/headers.ts'
import { type ClientConnection, ClientExchange } from './client-connection.ts'
import type { Exchange, IncomingBody, UnreadReason } from '../exchange.ts'
import { NodeResponse } from './node-response.ts'
import type { Body, StreamBody } from '../../http/transfer.ts'
import { ByteList } from '../../base/byte-list.ts'
import { HeldMemory } from '../memory-budget.ts'

/** Adapts a request and response of node:http to an exchange. */
export class NodeExchange extends ClientExchange implements Exchange {
  readonly head: RequestHead
  readonly body: NodeBody
  readonly response: NodeResponse
  readonly #held: HeldMemory

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    awaitsContinue: boolean,
    connection: ClientConnection,
  ) {
    super(connection, req.socket)
    this.#held = new HeldMemory(connection.memory)
    const head = requestHead(req)
    this.head = awaitsContinue ? { ...head, headers: withoutExpect(head.headers) } : head
    const asked = awaitsContinue ? res : undefined
    this.body = new NodeBody(req, declaredLength(req), asked, this.#held)
    this.response = new NodeResponse(res, this)
  }

  protected override release(): void {
    this.#held.end()
  }
}

/** Returns the head as received. */
export function requestHead(req: IncomingMessage): RequestHead {
  return {
    method: req.method ?? '',
    target: req.url ?? '',
    version: req.httpVersion === '1.0' ? '1.0' : '1.1',
    headers: req.rawHeaders,
  }
}

/**
 * Returns the declared length; undefined means chunked. The parser has rejected anything but a
 * number.
 */
function declaredLength(req: IncomingMessage): number | undefined {
  const lines = req.rawHeaders
  if (headerValue(lines, 'transfer-encoding') !== undefined) return undefined
  const value = headerValue(lines, 'content-length')
  return value === undefined ? 0 : Number(value)
}

/** Removes `Expect`: Squall itself sends `100 Continue`, because it reads the body. */
function withoutExpect(lines: HeaderLines): HeaderLines {
  return linesWithout(lines, (name) => name === 'expect')
}

/** The longest time for which the rest of a body is discarded. */
const DISCARD_MS = 10_000

/** Reads the rest of a body that nobody needs; a client that sends for too long is cut. */
function discard(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return
  const timer = setTimeout(() => req.socket.destroy(), DISCARD_MS).unref()
  req.resume().once('close', () => clearTimeout(timer))
}

type Collected = (bytes: Uint8Array | null, reason?: UnreadReason) => void

const EMPTY = new Uint8Array(0)

/** Reads a request body from node:http. */
class NodeBody implements IncomingBody {
  readonly #req: IncomingMessage
  /** Declared length; undefined means chunked. */
  readonly #length: number | undefined
  /** Undefined when the client does not wait for `100 Continue`, as most do not, or has it. */
  #asked: ServerResponse | undefined
  readonly #held: HeldMemory
  readonly #pieces = new ByteList()
  isHeld = false
  #isWhole: boolean

  constructor(
    req: IncomingMessage,
    length: number | undefined,
    asked: ServerResponse | undefined,
    held: HeldMemory,
  ) {
    this.#req = req
    this.#length = length
    this.#asked = asked
    this.#held = held
    this.#isWhole = length === 0
  }

  get arrived(): boolean {
    return this.#isWhole || this.#req.complete
  }

  get isUnread(): boolean {
    return this.#req.readableLength > 0
  }

  collect(limit: number, done: Collected): void {
    const length = this.#length
    if (this.#isWhole) return done(EMPTY)
    if (length !== undefined && length > limit) return done(null, 'too_large')
    if (length === undefined) this.#read(limit, done)
    else {
      this.#held.holdSoon(length, (isHeld) => {
        if (isHeld) this.#read(limit, done)
        else done(null, 'memory')
      })
    }
  }

  get kept(): Uint8Array | undefined {
    return this.#isWhole ? this.#joined() : undefined
  }

  forSending(): Body {
    if (this.#length === 0) return null
    if (this.#isWhole && this.#length !== undefined) return this.#joined()
    if (!this.#isWhole) this.#continue()
    return this.#stream()
  }

  #read(limit: number, done: Collected): void {
    this.#continue()
    this.isHeld = true
    const req = this.#req
    const stop = (reason: UnreadReason): void => {
      req.off('data', onData).off('end', onEnd)
      req.pause()
      this.isHeld = false
      done(null, reason)
    }
    const onData = (chunk: Uint8Array): void => {
      // The start of a body that was rejected in the same read.
      if (this.#held.hasEnded) return
      this.#pieces.push(chunk)
      if (this.#pieces.size > limit) stop('too_large')
      else if (this.#length === undefined && !this.#held.hold(chunk.length)) stop('memory')
    }
    const onEnd = (): void => {
      this.#isWhole = true
      this.isHeld = false
      done(this.#joined())
    }
    req.on('data', onData).once('end', onEnd)
  }

  /** Lets a waiting client send its body. */
  #continue(): void {
    this.#asked?.writeContinue()
    this.#asked = undefined
  }

  #joined(): Uint8Array {
    const pieces = this.#pieces
    if (pieces.list.length === 0) return EMPTY
    const joined = pieces.joined()
    if (this.#length !== undefined && pieces.list.length > 1) {
      pieces.clear()
      pieces.push(joined)
    }
    return joined
  }

  #stream(): StreamBody {
    const req = this.#req
    const pieces = this.#pieces
    const whole = this.#isWhole
    return {
      length: this.#length,
      trailers: (): HeaderLines => req.rawTrailers,
      async *[Symbol.asyncIterator]() {
        yield* pieces.list
        if (whole) return
        pieces.clear()
        try {
          // Leaving the loop early must not end the client's connection: the response may still be
          // sent.
          yield* req.iterator({ destroyOnReturn: false })
        } finally {
          // An upstream may respond before it has the whole body, and a client may read only when
          // it has sent it: node:http discards the rest of no body that was read in part.
          discard(req)
        }
      },
    }
  }
}
