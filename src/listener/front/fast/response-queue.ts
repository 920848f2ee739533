import type { Socket } from 'node:net'
import { cutSocket } from '../cut-socket.ts'
import type { Cut } from '../../exchange.ts'
import type { FastResponse } from './fast-response.ts'

/** What a response has written before its turn. */
interface Waiting {
  readonly pieces: (string | Uint8Array)[]
  size: number
  done: boolean
  /** How the connection ends after it, where it does. */
  ending: Cut | undefined
}

/** More than this is not taken from a response before its turn. */
const ENOUGH = 16 * 1024

/** Brings the responses of one connection into the order of their requests. */
export class ResponseQueue {
  readonly #socket: Socket
  /** The response whose turn it is; those behind it are linked to it. */
  #current: FastResponse | undefined
  #newest: FastResponse | undefined
  #size = 0
  #waiting: Map<FastResponse, Waiting> | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** How many responses are not done. */
  get size(): number {
    return this.#size
  }

  get empty(): boolean {
    return this.#current === undefined
  }

  /** Whether a response has begun on the socket. */
  get writing(): boolean {
    return this.#current?.started === true
  }

  /** The next response in order. */
  add(response: FastResponse): void {
    this.#size++
    if (this.#current === undefined) this.#current = response
    else this.#newest!.next = response
    this.#newest = response
  }

  /** False asks for a pause until the response is told `drained`. */
  write(response: FastResponse, piece: string | Uint8Array): boolean {
    if (response === this.#current) return this.#send(piece)
    const waiting = this.#waitingFor(response)
    waiting.pieces.push(piece)
    waiting.size += piece.length
    return waiting.size < ENOUGH
  }

  /** The response writes no more; with an ending the connection ends behind it. */
  done(response: FastResponse, ending: Cut | undefined): void {
    if (response === this.#current) {
      this.#over(response, ending)
      return
    }
    const waiting = this.#waitingFor(response)
    waiting.done = true
    waiting.ending = ending
  }

  /** The connection ends behind a response that is done, and behind which there is none. */
  endBehind(response: FastResponse): void {
    const waiting = this.#waiting?.get(response)
    if (waiting === undefined) cutSocket(this.#socket, 'fin')
    else waiting.ending ??= 'fin'
  }

  /** The socket takes data again. */
  drained(): void {
    this.#current?.drained()
  }

  #over(response: FastResponse, ending: Cut | undefined): void {
    this.#size--
    const { next } = response
    response.next = undefined
    this.#current = next
    if (next === undefined) this.#newest = undefined
    if (ending !== undefined) cutSocket(this.#socket, ending)
    else if (next !== undefined) this.#turn(next)
  }

  #turn(response: FastResponse): void {
    const waiting = this.#waiting?.get(response)
    if (waiting === undefined) return
    this.#waiting!.delete(response)
    for (const piece of waiting.pieces) this.#send(piece)
    if (waiting.done) this.#over(response, waiting.ending)
    else if (waiting.size >= ENOUGH && !this.#socket.writableNeedDrain) {
      // Not at once: this may be the end of a response that a parser is still reading, and parsers
      // cannot go on inside each other.
      process.nextTick(goOn, response)
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

  #send(piece: string | Uint8Array): boolean {
    const socket = this.#socket
    // The client has ended its side, and so this one: what comes now is for nobody.
    if (!socket.writable) return true
    return typeof piece === 'string' ? socket.write(piece, 'latin1') : socket.write(piece)
  }
}

function goOn(response: FastResponse): void {
  response.drained()
}
