import { copyOf } from '../base/bytes.ts'

/** More chunks than these make another run. */
const MOST = 512

/**
 * Chunks of a body that are whole and came together, each as `size CRLF data CRLF` with its size as
 * node:http writes it, so that they can be passed on as they are. The bytes are only lent: they hold
 * for as long as the call lasts that is given the run.
 */
export class ChunkRun {
  /** How many chunks there are. */
  count = 0
  /** What the chunks lie in. */
  bytes!: Buffer
  /** Where the first one begins. */
  from = 0
  /** Behind the last one. */
  to = 0
  /** Where the data of each chunk begins and ends. */
  readonly #places = new Uint32Array(2 * MOST)
  #text: string | undefined

  /** No chunk can be added. */
  get full(): boolean {
    return this.count === MOST
  }

  /** All of it, framing included, each byte a character: made once, as it is both written and read. */
  get text(): string {
    return (this.#text ??= this.bytes.toString('latin1', this.from, this.to))
  }

  /** Says that bytes of the run are about to be changed. */
  change(): void {
    this.#text = undefined
  }

  /** Begins another run. */
  begin(bytes: Buffer, from: number): void {
    this.bytes = bytes
    this.from = from
    this.to = from
    this.count = 0
    this.#text = undefined
  }

  /** Adds the chunk that comes next, with its data between two places. */
  add(begin: number, end: number): void {
    const at = 2 * this.count++
    this.#places[at] = begin
    this.#places[at + 1] = end
    this.to = end + 2
  }

  /** Where the data of a chunk begins. */
  begins(chunk: number): number {
    return this.#places[2 * chunk]!
  }

  /** Where the data of a chunk ends. */
  ends(chunk: number): number {
    return this.#places[2 * chunk + 1]!
  }

  /** A copy of it all, framing included. */
  copy(): Buffer {
    return copyOf(this.bytes, this.from, this.to)
  }

  /** Gives each chunk's data, as a copy, to someone who takes no runs; false where one asks for a pause. */
  each(take: (chunk: Buffer) => boolean | void): boolean {
    let more = true
    for (let i = 0; i < this.count; i++) {
      if (take(copyOf(this.bytes, this.begins(i), this.ends(i))) === false) more = false
    }
    return more
  }
}
