/**
 * Further small pieces beyond this number are joined: each would keep its object, and the buffer of
 * the read that it is a part of, until a collection of the old generation.
 */
const MOST_APART = 4
const SMALL = 4 * 1024
const BLOCK = 16 * 1024

/**
 * Collects pieces of bytes. Joins many small pieces, whose objects would take more memory than the
 * bytes.
 */
export class ByteList {
  size = 0
  #list: Uint8Array[] = []
  #block: Buffer | undefined
  #used = 0
  /** True when the last piece ends at the used part of the block. */
  #open = false

  push(piece: Uint8Array): void {
    this.size += piece.length
    if (this.#list.length < MOST_APART || piece.length >= SMALL) {
      this.#open = false
      this.#list.push(piece)
      return
    }
    if (this.#block === undefined || this.#used + piece.length > BLOCK) {
      this.#block = Buffer.allocUnsafeSlow(BLOCK)
      this.#used = 0
      this.#open = false
    }
    const from = this.#open ? this.#list.pop()!.byteOffset : this.#used
    this.#block.set(piece, this.#used)
    this.#used += piece.length
    this.#list.push(this.#block.subarray(from, this.#used))
    this.#open = true
  }

  get list(): readonly Uint8Array[] {
    return this.#list
  }

  joined(): Uint8Array {
    return this.#list.length === 1 ? this.#list[0]! : Buffer.concat(this.#list, this.size)
  }

  clear(): void {
    this.#list = []
    this.#block = undefined
    this.#open = false
    this.size = 0
  }
}
