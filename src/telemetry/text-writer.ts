import type { Chunks } from './chunks.ts'
import { numberText } from './text-format.ts'

/** The longest number, and the end of its line. */
const NUMBER_BYTES = 32
const MOST_BYTES_OF_A_UNIT = 3
const NEWLINE = 0x0a
const ZERO = 0x30

/** What stands before a line's number, as bytes: made once for a series, and copied at each scrape. */
export type LineStart = Uint8Array

/** The start of the lines of a series. */
export function lineStart(text: string): LineStart {
  return Buffer.from(text, 'utf8')
}

/**
 * Writes text into chunks of bytes. Lines of numbers make no strings: the garbage of tens of thousands
 * of them would be collected while calls wait.
 */
export class TextWriter {
  readonly #chunks: Chunks
  readonly #taken: Buffer[] = []
  readonly #full: Buffer[] = []
  #chunk: Buffer
  #length = 0

  constructor(chunks: Chunks) {
    this.#chunks = chunks
    this.#chunk = this.#take(0)
  }

  text(text: string): void {
    if (text === '') return
    this.#makeRoom(text.length * MOST_BYTES_OF_A_UNIT)
    this.#length += this.#chunk.write(text, this.#length, 'utf8')
  }

  /** One line of a series; `exemplar` is what stands behind the number. */
  line(start: LineStart, value: number, exemplar = ''): void {
    this.#makeRoom(start.length + NUMBER_BYTES)
    this.#chunk.set(start, this.#length)
    this.#length += start.length
    if (value >= 0 && Number.isSafeInteger(value)) this.#digits(value)
    else this.text(numberText(value))
    this.text(exemplar)
    this.#makeRoom(1)
    this.#chunk[this.#length++] = NEWLINE
  }

  /** All that was written. Nothing may be written afterwards. */
  end(): readonly Buffer[] {
    return [...this.#full, this.#chunk.subarray(0, this.#length)]
  }

  /** Nobody reads what was written any more. */
  giveBack(): void {
    for (const chunk of this.#taken.splice(0)) this.#chunks.giveBack(chunk)
  }

  #digits(value: number): void {
    let count = 1
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) count++
    const end = this.#length + count
    let rest = value
    for (let at = end - 1; at >= this.#length; at--) {
      this.#chunk[at] = ZERO + (rest % 10)
      rest = Math.floor(rest / 10)
    }
    this.#length = end
  }

  #makeRoom(bytes: number): void {
    if (this.#length + bytes <= this.#chunk.length) return
    if (this.#length > 0) this.#full.push(this.#chunk.subarray(0, this.#length))
    this.#chunk = this.#take(bytes)
    this.#length = 0
  }

  #take(bytes: number): Buffer {
    const chunk = this.#chunks.take(bytes)
    this.#taken.push(chunk)
    return chunk
  }
}
