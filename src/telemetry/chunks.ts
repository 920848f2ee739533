const CHUNK_BYTES = 64 * 1024
/** What a scrape of 20,000 series takes; whatever is beyond is left to the garbage collector. */
const MOST_KEPT = 64

/**
 * Pieces of memory that are used again. Memory outside of V8's heap that comes and goes with each scrape
 * makes it collect garbage all the time, although there is hardly any.
 */
export class Chunks {
  readonly #kept: Buffer[] = []

  /** One of at least so many bytes, with anything in it. */
  take(bytes: number): Buffer {
    const kept = bytes <= CHUNK_BYTES ? this.#kept.pop() : undefined
    return kept ?? Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes))
  }

  /** Nobody may read or write it any more. */
  giveBack(chunk: Buffer): void {
    if (chunk.length === CHUNK_BYTES && this.#kept.length < MOST_KEPT) this.#kept.push(chunk)
  }
}
