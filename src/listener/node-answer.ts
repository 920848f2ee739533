import type { ServerResponse } from 'node:http'
import { endToEnd } from '../mcp/hop-by-hop.ts'
import type { HeaderLines, ResponseHead } from '../mcp/http.ts'
import type { Answer, Cut } from './exchange.ts'
import { cutSocket } from './cut-socket.ts'

/** A held body is at most this. */
const ONE_WRITE = 16 * 1024

/** What Node accepts as a reason phrase. */
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/

/** Is told how the writing goes. */
export interface AnswerOwner {
  drained(): void
  /** The connection ends after this answer. */
  closing(): void
  /** Nothing more will be written. */
  over(): void
}

/** Writes one answer through node:http without changing a line of it. */
export class NodeAnswer implements Answer {
  ended = false
  readonly #res: ServerResponse
  readonly #owner: AnswerOwner
  #flushAsked = false
  #draining = false
  /** The first bytes of the body: an answer that is whole in the same tick leaves in one write. */
  #held: Uint8Array | undefined

  constructor(res: ServerResponse, owner: AnswerOwner) {
    this.#res = res
    this.#owner = owner
    res.sendDate = false
  }

  get started(): boolean {
    return this.#res.headersSent
  }

  info(head: ResponseHead): void {
    const { socket } = this.#res
    // A pipelined answer whose turn has not come has no socket: 1xx answers are optional, so it goes.
    if (socket === null || this.#res.headersSent) return
    socket.write(headText(head), 'latin1')
  }

  head(head: ResponseHead): void {
    const reason = REASON.test(head.reason) ? head.reason : ''
    const lines = endToEnd(head.headers) as string[]
    this.#res.writeHead(head.status, reason, lines)
    // The head leaves with the first bytes of the body, or alone when none came with it.
    this.#flushAsked = true
    process.nextTick(flushHead, this)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#flushAsked && this.#held === undefined && chunk.length <= ONE_WRITE) {
      this.#held = chunk
      return true
    }
    this.#flushAsked = false
    this.#release()
    if (this.#res.write(chunk)) return true
    if (!this.#draining) {
      this.#draining = true
      this.#res.once('drain', () => {
        this.#draining = false
        this.#owner.drained()
      })
    }
    return false
  }

  end(trailers: HeaderLines): void {
    this.#flushAsked = false
    this.ended = true
    if (trailers.length > 0) this.#res.addTrailers(pairs(trailers))
    const held = this.#held
    this.#held = undefined
    if (held === undefined) this.#res.end()
    else this.#res.end(latin1(held), 'latin1')
    this.#owner.over()
  }

  cut(how: Cut): void {
    this.ended = true
    this.#release()
    this.#owner.over()
    const { socket } = this.#res
    if (socket !== null) cutSocket(socket, how)
    // Answers before this one on the same connection go out first.
    else this.#res.once('socket', (assigned) => cutSocket(assigned, how))
  }

  closeAfter(): void {
    this.#owner.closing()
    if (!this.#res.headersSent) this.#res.shouldKeepAlive = false
    else this.#res.once('finish', () => this.#res.socket?.destroySoon())
  }

  /** Sends the head, and what little body came with it, when the end did not follow at once. */
  flush(): void {
    if (!this.#flushAsked || this.#res.destroyed) return
    this.#flushAsked = false
    if (this.#held === undefined) this.#res.flushHeaders()
    else this.#release()
  }

  #release(): void {
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    this.#res.write(held)
  }
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

function flushHead(answer: NodeAnswer): void {
  answer.flush()
}

function headText(head: ResponseHead): string {
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`
  for (let i = 0; i + 1 < head.headers.length; i += 2) {
    text += `${head.headers[i]!}: ${head.headers[i + 1]!}\r\n`
  }
  return `${text}\r\n`
}

function pairs(lines: HeaderLines): [string, string][] {
  const list: [string, string][] = []
  for (let i = 0; i + 1 < lines.length; i += 2) list.push([lines[i]!, lines[i + 1]!])
  return list
}
