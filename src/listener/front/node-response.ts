import type { ServerResponse } from 'node:http'
import { endWhole, informationalText, prepareHead } from './response-head.ts'
import type { ChunkRun } from '../../http/chunk-run.ts'
import type { HeaderLines, ResponseHead } from '../../http/headers.ts'
import type { ClientResponse, Cut } from '../exchange.ts'
import type { ClientExchange } from './client-connection.ts'
import { cutSocket } from './cut-socket.ts'

/** The largest held piece of a body. */
const ONE_WRITE = 16 * 1024

const NO_BYTES = new Uint8Array(0)

/** Writes one response through node:http without changing its lines. */
export class NodeResponse implements ClientResponse {
  ended = false
  readonly #res: ServerResponse
  readonly #owner: ClientExchange
  #flushAsked = false
  #draining = false
  /**
   * The first piece of the body, held so that a response that is complete in one tick needs one
   * write.
   */
  #held: Uint8Array | undefined

  constructor(res: ServerResponse, owner: ClientExchange) {
    this.#res = res
    this.#owner = owner
    res.sendDate = false
  }

  get started(): boolean {
    return this.#res.headersSent
  }

  info(head: ResponseHead): void {
    const { socket } = this.#res
    if (this.#res.headersSent) return
    const text = informationalText(head)
    if (socket !== null) socket.write(text, 'latin1')
    // A pipelined response behind open ones has no socket yet.
    else this.#res.once('socket', (assigned) => assigned.write(text, 'latin1'))
  }

  head(head: ResponseHead): void {
    prepareHead(this.#res, head)
    // The head is sent with the first bytes of the body, or alone after this tick.
    this.#flushAsked = true
    process.nextTick(() => this.#flush())
  }

  data(chunk: Uint8Array): boolean {
    if (this.#flushAsked && this.#held === undefined && chunk.length <= ONE_WRITE) {
      this.#held = chunk
      return true
    }
    this.#flushAsked = false
    this.#release()
    if (this.#write(chunk)) return true
    if (!this.#draining) {
      this.#draining = true
      this.#res.once('drain', () => {
        this.#draining = false
        // node:http may emit `drain` while a later response is being read and written.
        process.nextTick(() => this.#owner.drained())
      })
    }
    return false
  }

  chunks(run: ChunkRun): boolean {
    return run.each((chunk) => this.data(chunk))
  }

  end(trailers: HeaderLines): void {
    this.#flushAsked = false
    this.ended = true
    if (trailers.length > 0) this.#res.addTrailers(pairs(trailers))
    const held = this.#held
    this.#held = undefined
    if (held === undefined) this.#res.end()
    else endWhole(this.#res, held)
    this.#owner.ended()
  }

  cut(how: Cut): void {
    this.ended = true
    // A head of the same tick must be sent before a FIN.
    if (this.#flushAsked && this.#held === undefined && how === 'fin') {
      // node:http sends a response without a body only at its end.
      if (this.#bodyless) this.#res.end()
      else this.#write(NO_BYTES)
    }
    this.#flushAsked = false
    this.#release()
    this.#owner.ended()
    const { socket } = this.#res
    if (socket !== null) cutSocket(socket, how)
    // Earlier responses on the same connection are sent first.
    else this.#res.once('socket', (assigned) => process.nextTick(cutSocket, assigned, how))
  }

  closeAfter(): void {
    this.#owner.connection.closing = true
    if (!this.#res.headersSent) {
      this.#res.shouldKeepAlive = false
      return
    }
    // node:http detaches the socket from a finished response.
    const { socket } = this.#res.req
    if (this.#res.writableFinished) socket.destroySoon()
    else this.#res.once('finish', () => socket.destroySoon())
  }

  /** Sends the head and the held piece when the end did not follow in the same tick. */
  #flush(): void {
    this.#owner.listener?.tickEnded()
    if (!this.#flushAsked || this.#res.destroyed) return
    this.#flushAsked = false
    // `flushHeaders` would send the head as UTF-8.
    if (this.#held === undefined) this.#write(NO_BYTES)
    else this.#release()
  }

  get #bodyless(): boolean {
    const { statusCode, req } = this.#res
    return statusCode === 204 || statusCode === 304 || req.method === 'HEAD'
  }

  #release(): void {
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    this.#write(held)
  }

  /** Writes to a corked socket: from Node 24.22 on, node:http corks and joins chunks itself. */
  #write(chunk: Uint8Array): boolean {
    const { socket } = this.#res
    if (socket?.writableCorked === 0) {
      socket.cork()
      process.nextTick(() => socket.uncork())
    }
    return this.#res.write(chunk)
  }
}

function pairs(lines: HeaderLines): [string, string][] {
  const list: [string, string][] = []
  for (let i = 0; i + 1 < lines.length; i += 2) list.push([lines[i]!, lines[i + 1]!])
  return list
}
