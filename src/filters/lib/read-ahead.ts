import { Fifo } from '../../base/fifo.ts'

/** As much as is taken in while nothing goes out. */
const READ_AHEAD = 1024 * 1024

/**
 * Takes in pieces before they are asked for, so that their sender is not kept waiting; with more
 * than `limit` bytes waiting it is. An error comes out behind what was there before it.
 */
export class ReadAhead<Piece> implements AsyncIterableIterator<Piece> {
  readonly #source: AsyncIterator<Piece>
  readonly #sizeOf: (piece: Piece) => number
  readonly #limit: number
  readonly #held = new Fifo<Piece>()
  #size = 0
  #over = false
  #failure: { readonly error: unknown } | undefined
  #arrived: (() => void) | undefined
  #resume: (() => void) | undefined

  constructor(source: AsyncIterator<Piece>, sizeOf: (piece: Piece) => number, limit = READ_AHEAD) {
    this.#source = source
    this.#sizeOf = sizeOf
    this.#limit = limit
    void this.#pump()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Piece>> {
    for (;;) {
      const piece = this.#held.shift()
      if (piece !== undefined) {
        this.#size -= this.#sizeOf(piece)
        if (this.#size <= this.#limit) this.#resume?.()
        return { done: false, value: piece }
      }
      if (this.#failure !== undefined) throw this.#failure.error
      if (this.#over) return { done: true, value: undefined }
      await new Promise<void>((resolve) => (this.#arrived = resolve))
    }
  }

  return(): Promise<IteratorResult<Piece>> {
    this.#end()
    // Not waited for: the source may be waiting for a sender that has fallen silent.
    this.#source.return?.().catch(() => undefined)
    return Promise.resolve({ done: true, value: undefined })
  }

  async #pump(): Promise<void> {
    try {
      while (!this.#over) {
        const step = await this.#source.next()
        if (step.done === true || this.#over) break
        this.#held.push(step.value)
        this.#size += this.#sizeOf(step.value)
        this.#arrived?.()
        if (this.#size > this.#limit) {
          await new Promise<void>((resolve) => (this.#resume = resolve))
        }
      }
    } catch (error) {
      if (!this.#over) this.#failure = { error }
    }
    this.#over = true
    this.#arrived?.()
  }

  #end(): void {
    this.#over = true
    this.#held.clear()
    this.#size = 0
    this.#resume?.()
    this.#arrived?.()
  }
}
