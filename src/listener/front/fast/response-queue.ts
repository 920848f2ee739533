import type { Socket } from 'node:net'
import { cutSocket } from '../cut-socket.ts'
import type { Cut } from '../../exchange.ts'
import type { SpliceAnswer } from './fast-response.ts'

/** What an answer has written before its turn. */
interface Waiting {
  readonly pieces: (string | Uint8Array)[]
  size: number
  done: boolean
  /** How the connection ends after it, where it does. */
  ending: Cut | undefined
}

/** More than this is not taken from an answer before its turn. */
const ENOUGH = 16 * 1024

/** Brings the answers of one connection into the order of their requests. */
export class AnswerQueue {
  readonly #socket: Socket
  /** The answer whose turn it is; those behind it are linked to it. */
  #current: SpliceAnswer | undefined
  #newest: SpliceAnswer | undefined
  #size = 0
  #waiting: Map<SpliceAnswer, Waiting> | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** How many answers are not done. */
  get size(): number {
    return this.#size
  }

  get empty(): boolean {
    return this.#current === undefined
  }

  /** Whether an answer has begun on the socket. */
  get writing(): boolean {
    return this.#current?.started === true
  }

  /** The next answer in order. */
  add(answer: SpliceAnswer): void {
    this.#size++
    if (this.#current === undefined) this.#current = answer
    else this.#newest!.next = answer
    this.#newest = answer
  }

  /** False asks for a pause until the answer is told `drained`. */
  write(answer: SpliceAnswer, piece: string | Uint8Array): boolean {
    if (answer === this.#current) return this.#send(piece)
    const waiting = this.#waitingFor(answer)
    waiting.pieces.push(piece)
    waiting.size += piece.length
    return waiting.size < ENOUGH
  }

  /** The answer writes no more; with an ending the connection ends behind it. */
  done(answer: SpliceAnswer, ending: Cut | undefined): void {
    if (answer === this.#current) {
      this.#over(answer, ending)
      return
    }
    const waiting = this.#waitingFor(answer)
    waiting.done = true
    waiting.ending = ending
  }

  /** The connection ends behind an answer that is done, and behind which there is none. */
  endBehind(answer: SpliceAnswer): void {
    const waiting = this.#waiting?.get(answer)
    if (waiting === undefined) cutSocket(this.#socket, 'fin')
    else waiting.ending ??= 'fin'
  }

  /** The socket takes data again. */
  drained(): void {
    this.#current?.drained()
  }

  #over(answer: SpliceAnswer, ending: Cut | undefined): void {
    this.#size--
    const { next } = answer
    answer.next = undefined
    this.#current = next
    if (next === undefined) this.#newest = undefined
    if (ending !== undefined) cutSocket(this.#socket, ending)
    else if (next !== undefined) this.#turn(next)
  }

  #turn(answer: SpliceAnswer): void {
    const waiting = this.#waiting?.get(answer)
    if (waiting === undefined) return
    this.#waiting!.delete(answer)
    for (const piece of waiting.pieces) this.#send(piece)
    if (waiting.done) this.#over(answer, waiting.ending)
    else if (waiting.size >= ENOUGH && !this.#socket.writableNeedDrain) {
      // Not at once: this may be the end of an answer that a parser is still reading, and parsers
      // cannot go on inside each other.
      process.nextTick(goOn, answer)
    }
  }

  #waitingFor(answer: SpliceAnswer): Waiting {
    this.#waiting ??= new Map()
    let waiting = this.#waiting.get(answer)
    if (waiting === undefined) {
      waiting = { pieces: [], size: 0, done: false, ending: undefined }
      this.#waiting.set(answer, waiting)
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

function goOn(answer: SpliceAnswer): void {
  answer.drained()
}
