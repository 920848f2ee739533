import { numberText, type TextFormat } from './text-format.ts'

const CHUNK_BYTES = 64 * 1024
/** Enough for a scrape of 20,000 series; further chunks are left to the garbage collector. */
const MOST_KEPT = 64
/** The longest number, and the end of its line. */
const NUMBER_BYTES = 32
const MOST_BYTES_OF_A_UNIT = 3
const NEWLINE = 0x0a
const ZERO = 0x30

/** The bytes before a line's number: made once for a series, copied at each scrape. */
export type LineStart = Uint8Array

/** Encodes the start of a line. */
export function lineStart(text: string): LineStart {
  return Buffer.from(text, 'utf8')
}

/**
 * Reuses buffers between scrapes. Allocating external memory for each scrape would trigger garbage
 * collections.
 */
export class ChunkPool {
  readonly #kept: Buffer[] = []

  /** Returns an uninitialized buffer of at least `bytes`. */
  take(bytes: number): Buffer {
    const kept = bytes <= CHUNK_BYTES ? this.#kept.pop() : undefined
    return kept ?? Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes))
  }

  /** Takes a buffer back that nobody reads or writes any more. */
  giveBack(chunk: Buffer): void {
    if (chunk.length === CHUNK_BYTES && this.#kept.length < MOST_KEPT) this.#kept.push(chunk)
  }
}

/**
 * Writes text into chunks of bytes. Numbers are written without strings, because collecting tens of
 * thousands of strings would delay calls.
 */
export class TextWriter {
  readonly format: TextFormat
  readonly #pool: ChunkPool
  readonly #taken: Buffer[] = []
  readonly #full: Buffer[] = []
  #chunk: Buffer
  #length = 0

  constructor(chunks: ChunkPool, format: TextFormat = 'prometheus') {
    this.format = format
    this.#pool = chunks
    this.#chunk = this.#take(0)
  }

  text(text: string): void {
    if (text === '') return
    this.#ensureCapacity(text.length * MOST_BYTES_OF_A_UNIT)
    this.#length += this.#chunk.write(text, this.#length, 'utf8')
  }

  /** Writes one line of a series; only OpenMetrics has the exemplar. */
  line(start: LineStart, value: number, exemplar?: { readonly text: string }): void {
    this.#ensureCapacity(start.length + NUMBER_BYTES)
    this.#chunk.set(start, this.#length)
    this.#length += start.length
    if (value >= 0 && Number.isSafeInteger(value)) this.#digits(value)
    else this.text(numberText(value))
    if (exemplar !== undefined && this.format === 'openmetrics') this.text(exemplar.text)
    this.#ensureCapacity(1)
    this.#chunk[this.#length++] = NEWLINE
  }

  /** Returns all written bytes; nothing may be written afterwards. */
  end(): readonly Buffer[] {
    return [...this.#full, this.#chunk.subarray(0, this.#length)]
  }

  /** Gives the chunks back when nobody reads the written bytes any more. */
  giveBack(): void {
    for (const chunk of this.#taken.splice(0)) this.#pool.giveBack(chunk)
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

  #ensureCapacity(bytes: number): void {
    if (this.#length + bytes <= this.#chunk.length) return
    if (this.#length > 0) this.#full.push(this.#chunk.subarray(0, this.#length))
    this.#chunk = this.#take(bytes)
    this.#length = 0
  }

  #take(bytes: number): Buffer {
    const chunk = this.#pool.take(bytes)
    this.#taken.push(chunk)
    return chunk
  }
}
