import { copyOf } from '../base/bytes.ts'

/** The chunks of one run; further chunks begin another run. */
export const MAX_CHUNKS = 256

/**
 * Holds whole chunks of a body that arrived together, each as `size CRLF data CRLF` with its size
 * as node:http writes it, so that they can be forwarded unchanged. The bytes are valid only until
 * the callback that receives the run returns.
 */
export class ChunkRun {
  /** The number of chunks. */
  count = 0
  /** The buffer that contains the chunks. */
  bytes!: Buffer
  /** The offset of the first chunk. */
  from = 0
  /** The offset behind the last chunk. */
  to = 0
  /** The offsets at which the data of each chunk begins and ends. */
  readonly #offsets = new Uint32Array(2 * MAX_CHUNKS)
  #text: string | undefined
  #copy: Buffer | undefined

  /** The run with its framing as latin1; cached, because it is both written and searched. */
  get text(): string {
    return (this.#text ??= this.bytes.toString('latin1', this.from, this.to))
  }

  /** Drops what is cached before bytes of the run are changed. */
  change(): void {
    this.#text = undefined
    this.#copy = undefined
  }

  /** Begins another run. */
  begin(bytes: Buffer, from: number): void {
    this.bytes = bytes
    this.from = from
    this.to = from
    this.count = 0
    this.change()
  }

  /** Adds the next chunk, with its data from `begin` to `end`. */
  add(begin: number, end: number): void {
    const at = 2 * this.count++
    this.#offsets[at] = begin
    this.#offsets[at + 1] = end
    this.to = end + 2
  }

  /** Returns the offset of a chunk's data. */
  begins(chunk: number): number {
    return this.#offsets[2 * chunk]!
  }

  /** Returns the offset behind a chunk's data. */
  ends(chunk: number): number {
    return this.#offsets[2 * chunk + 1]!
  }

  /** A copy of the run with its framing; cached, because it is both written and read. */
  get copy(): Buffer {
    return (this.#copy ??= copyOf(this.bytes, this.from, this.to))
  }

  /** Passes a copy of each chunk's data to `take`; returns false when `take` asked for a pause. */
  each(take: (chunk: Buffer) => boolean | void): boolean {
    let more = true
    for (let i = 0; i < this.count; i++) {
      if (take(copyOf(this.bytes, this.begins(i), this.ends(i))) === false) more = false
    }
    return more
  }
}
