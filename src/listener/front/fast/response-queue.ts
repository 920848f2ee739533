import type { Socket } from 'node:net'
import { cutSocket } from '../cut-socket.ts'
import type { Cut } from '../../exchange.ts'
import type { FastResponse } from './fast-response.ts'

/** The pieces of a response that waits for earlier ones. */
interface Waiting {
  readonly pieces: [text: string, piece: Uint8Array | undefined][]
  size: number
  done: boolean
  /** The end of the connection after this response, if any. */
  ending: Cut | undefined
}

/** The bytes of a waiting response, beyond which it is paused. */
const ENOUGH = 16 * 1024

/** Writes the responses of one connection in the order of their requests. */
export class ResponseQueue {
  readonly #socket: Socket
  /** The response that is being written; later ones are linked to it. */
  #current: FastResponse | undefined
  #newest: FastResponse | undefined
  #size = 0
  #waiting: Map<FastResponse, Waiting> | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** The number of open responses. */
  get size(): number {
    return this.#size
  }

  get empty(): boolean {
    return this.#current === undefined
  }

  /** True when a response has begun on the socket. */
  get writing(): boolean {
    return this.#current?.started === true
  }

  /** Adds the next response. */
  add(response: FastResponse): void {
    this.#size++
    if (this.#current === undefined) this.#current = response
    else this.#newest!.next = response
    this.#newest = response
  }

  /** Writes or queues a text and a piece; false asks for a pause until `drained` of the response. */
  write(response: FastResponse, text: string, piece?: Uint8Array): boolean {
    if (response === this.#current) return this.#send(text, piece)
    const waiting = this.#waitingFor(response)
    waiting.pieces.push([text, piece])
    waiting.size += text.length + (piece?.length ?? 0)
    return waiting.size < ENOUGH
  }

  /** Completes a response; with `ending` the connection ends after it. */
  done(response: FastResponse, ending: Cut | undefined): void {
    if (response === this.#current) {
      this.#finish(response, ending)
      return
    }
    const waiting = this.#waitingFor(response)
    waiting.done = true
    waiting.ending = ending
  }

  /** Ends the connection after the last response, which is complete. */
  endBehind(response: FastResponse): void {
    const waiting = this.#waiting?.get(response)
    if (waiting === undefined) cutSocket(this.#socket, 'fin')
    else waiting.ending ??= 'fin'
  }

  /** Reports that the socket accepts data again. */
  drained(): void {
    this.#current?.drained()
  }

  #finish(response: FastResponse, ending: Cut | undefined): void {
    this.#size--
    const { next } = response
    response.next = undefined
    this.#current = next
    if (next === undefined) this.#newest = undefined
    if (ending !== undefined) cutSocket(this.#socket, ending)
    else if (next !== undefined) this.#start(next)
  }

  #start(response: FastResponse): void {
    const waiting = this.#waiting?.get(response)
    if (waiting === undefined) return
    this.#waiting!.delete(response)
    for (const [text, piece] of waiting.pieces) this.#send(text, piece)
    if (waiting.done) this.#finish(response, waiting.ending)
    else if (waiting.size >= ENOUGH && !this.#socket.writableNeedDrain) {
      // Deferred, because a parser may still be reading the response that has just ended, and
      // parsers must not be re-entered.
      process.nextTick(notifyDrained, response)
    }
  }

  #waitingFor(response: FastResponse): Waiting {
    this.#waiting ??= new Map()
    let waiting = this.#waiting.get(response)
    if (waiting === undefined) {
      waiting = { pieces: [], size: 0, done: false, ending: undefined }
      this.#waiting.set(response, waiting)
    }
    return waiting
  }

  #send(text: string, piece: Uint8Array | undefined): boolean {
    const socket = this.#socket
    // The client has ended the connection.
    if (!socket.writable) return true
    if (piece === undefined) return socket.write(text, 'latin1')
    // One system call takes both.
    if (text !== '') {
      socket.cork()
      socket.write(text, 'latin1')
    }
    const more = socket.write(piece)
    if (text !== '') socket.uncork()
    // The kernel may have taken all of a piece above the limit of the stream.
    return more || socket.writableLength === 0
  }
}

function notifyDrained(response: FastResponse): void {
  response.drained()
}
