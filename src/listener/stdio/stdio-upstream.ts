import { buffer } from 'node:stream/consumers'
import { Valve } from '../../base/valve.ts'
import type { RequestHead } from '../../http/headers.ts'
import type { Body, ResponseSink, Transfer, Upstream } from '../../http/transfer.ts'
import { NO_TRANSFER } from '../layers/service.ts'
import { eventOf } from './event-lines.ts'
import type { LinePart } from './lines.ts'
import type { PipeWriter } from './pipe-writer.ts'
import { TARGET } from './stdio-exchange.ts'

const ACCEPTED = { status: 202, reason: 'Accepted', headers: ['Content-Length', '0'] }
const STREAM = { status: 200, reason: 'OK', headers: ['Content-Type', 'text/event-stream'] }

/**
 * Speaks to a server as if over HTTP+SSE: a POST is a line for the server, and the lines of the
 * server are events of the only GET stream.
 */
export class StdioUpstream implements Upstream {
  readonly stream = new ServerStream()
  readonly input: ServerInput
  /** The last line of the client when it has no line feed, which no one else may add. */
  tail: Uint8Array | undefined

  constructor(server: PipeWriter) {
    this.input = new ServerInput(server)
  }

  send({ method }: RequestHead, body: Body, sink: ResponseSink): Transfer {
    if (method === 'GET') {
      this.stream.begin(sink)
      return this.stream
    }
    if (body === null || body instanceof Uint8Array) return this.#post(body, sink)
    const post = { isAborted: false }
    void buffer(body).then(
      (bytes) => post.isAborted || this.#post(bytes, sink),
      () => undefined,
    )
    return { resume: () => undefined, abort: () => (post.isAborted = true) }
  }

  #post(body: Uint8Array | null, sink: ResponseSink): Transfer {
    const post = { isAborted: false }
    const accept = (): void => {
      if (post.isAborted) return
      sink.head(ACCEPTED, true)
      sink.end([])
    }
    this.input.between(() => {
      if (post.isAborted) return
      if (body !== null) this.input.line(body, body === this.tail)
      // The caller knows the transfer before the response.
      queueMicrotask(accept)
    })
    return { ...NO_TRANSFER, abort: () => (post.isAborted = true) }
  }
}

/** Carries the lines of the server. */
class ServerStream extends Valve implements Transfer {
  #sink: ResponseSink | undefined

  begin(sink: ResponseSink): void {
    this.#sink = sink
    sink.head(STREAM)
    sink.data(Buffer.from(`event: endpoint\ndata: ${TARGET}\n\n`))
  }

  /** Passes a part of the lines on; returns a promise when no more are accepted for now. */
  push(part: LinePart): Promise<void> | undefined {
    this.blocked = this.#sink?.data(eventOf(part)) === false
    return this.ready()
  }

  end(): void {
    const sink = this.#sink
    this.#sink = undefined
    sink?.end([])
  }

  resume(): void {
    this.open()
  }

  abort(): void {
    this.#sink = undefined
    this.open()
  }
}

const LF = 0x0a
const LINE_FEED = Uint8Array.of(LF)

/** Writes the input of the server, where no line begins within another one. */
class ServerInput {
  readonly #pipe: PipeWriter
  /** True behind any byte but a line feed. */
  #isMidLine = false
  /** True while the parts of a long line come. */
  #isBusy = false
  /** The lines that wait for the end of a long one; the memory budget counts them. */
  #waiting: (() => void)[] = []

  constructor(pipe: PipeWriter) {
    this.#pipe = pipe
  }

  /** Writes a part of the client's lines at once. */
  pass({ kind, bytes }: LinePart): void {
    this.#write(bytes, kind !== 'more')
    this.#isBusy = this.#isMidLine && kind !== 'tail'
    this.#flush()
  }

  /** Runs `write` now, or when a long line has ended. */
  between(write: () => void): void {
    if (this.#isBusy) this.#waiting.push(write)
    else write()
  }

  /** Writes a line between two others; the client's last line may have no line feed. */
  line(bytes: Uint8Array, isTail: boolean): void {
    this.#write(bytes, true)
    if (this.#isMidLine && !isTail) this.#write(LINE_FEED, false)
  }

  /** Ends the lines of the client: a long line gets no more parts. */
  finish(): void {
    this.#isBusy = false
    this.#flush()
  }

  #write(bytes: Uint8Array, begins: boolean): void {
    if (begins && this.#isMidLine) this.#pipe.write(LINE_FEED)
    this.#pipe.write(bytes)
    this.#isMidLine = bytes.at(-1) !== LF
  }

  #flush(): void {
    if (!this.#isBusy) for (const write of this.#waiting.splice(0)) write()
  }
}
