import { asBuffer } from '../../mcp/bytes.ts'
import { linesText, type HeaderLines, type ResponseHead } from '../../mcp/http.ts'
import { informationalText } from '../answer-head.ts'
import type { Answer, Cut } from '../exchange.ts'
import type { AnswerOwner } from '../node-answer.ts'
import type { AnswerTexts } from './answer-text.ts'

/** Pieces up to this leave as text with what is around them, in one write. */
const ONE_WRITE = 16 * 1024

/** Takes what answers write, in the order of their requests. */
export interface AnswerLine {
  readonly texts: AnswerTexts
  /** False asks for a pause. */
  write(answer: SpliceAnswer, piece: string | Uint8Array): boolean
  /** The answer is whole; with `last` the connection ends after it. */
  done(answer: SpliceAnswer, last: boolean): void
  cut(answer: SpliceAnswer, how: Cut): void
}

/** Writes one answer straight to the socket, with the bytes that node:http would write. */
export class SpliceAnswer implements Answer {
  ended = false
  started = false
  /** The answer to the request that came next. */
  next: SpliceAnswer | undefined
  readonly #line: AnswerLine
  readonly #owner: AnswerOwner
  /** The head, and what little body came with it: an answer that is whole at once leaves in one write. */
  #text = ''
  #held: Uint8Array | undefined
  #framing: 'length' | 'chunked' | 'none' = 'length'
  #flushAsked = false
  #last = false

  constructor(line: AnswerLine, owner: AnswerOwner) {
    this.#line = line
    this.#owner = owner
  }

  info(head: ResponseHead): void {
    if (!this.started) this.#line.write(this, informationalText(head))
  }

  head(head: ResponseHead): void {
    const { text, framing } = this.#line.texts.of(head, !this.#last)
    this.started = true
    this.#text = text
    this.#framing = framing
    // The head leaves with the first bytes of the body, or alone when none came with it.
    this.#flushAsked = true
    process.nextTick(flushHead, this)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#framing === 'none' || chunk.length === 0) return true
    if (this.#flushAsked && this.#held === undefined && chunk.length <= ONE_WRITE) {
      this.#held = chunk
      return true
    }
    this.#flushAsked = false
    this.#release()
    return this.#write(chunk)
  }

  end(trailers: HeaderLines): void {
    this.#flushAsked = false
    this.ended = true
    const ending = this.#framing === 'chunked' ? `0\r\n${linesText(trailers)}\r\n` : ''
    const text = this.#taken() + ending
    if (text !== '') this.#line.write(this, text)
    this.#owner.over()
    this.#line.done(this, this.#last)
  }

  cut(how: Cut): void {
    this.ended = true
    // A head of this same tick is as good as written, but not where a reset would overtake it.
    if (this.#flushAsked && this.#held === undefined && how === 'rst') this.#text = ''
    this.#flushAsked = false
    this.#release()
    this.#owner.over()
    this.#line.cut(this, how)
  }

  closeAfter(): void {
    this.#owner.closing()
    this.#last = true
  }

  /** Sends the head, and what little body came with it, when the end did not follow at once. */
  flush(): void {
    this.#owner.tickOver()
    if (!this.#flushAsked) return
    this.#flushAsked = false
    this.#release()
  }

  /** The client takes data again. */
  drained(): void {
    this.#owner.drained()
  }

  #release(): void {
    const text = this.#taken()
    if (text !== '') this.#line.write(this, text)
  }

  /** What has been kept back, as text. */
  #taken(): string {
    const held = this.#held
    const text = held === undefined ? this.#text : this.#text + this.#framed(held)
    this.#text = ''
    this.#held = undefined
    return text
  }

  #write(chunk: Uint8Array): boolean {
    if (chunk.length <= ONE_WRITE) return this.#line.write(this, this.#framed(chunk))
    if (this.#framing === 'length') return this.#line.write(this, chunk)
    this.#line.write(this, `${chunk.length.toString(16)}\r\n`)
    this.#line.write(this, chunk)
    return this.#line.write(this, '\r\n')
  }

  #framed(chunk: Uint8Array): string {
    const bytes = asBuffer(chunk).toString('latin1')
    return this.#framing === 'chunked' ? `${chunk.length.toString(16)}\r\n${bytes}\r\n` : bytes
  }
}

function flushHead(answer: SpliceAnswer): void {
  answer.flush()
}
