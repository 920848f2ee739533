/** The array is shortened once more items than this were taken from its front. */
const MOST_TAKEN = 1024

/** Keeps items in order. Removing the first takes constant time. */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  #taken = 0

  get length(): number {
    return this.#items.length - this.#taken
  }

  get first(): T | undefined {
    return this.#items[this.#taken]
  }

  /** The item that was added last; undefined when there is none. */
  get last(): T | undefined {
    return this.#items.at(-1)
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Takes the first item; undefined when there is none. */
  shift(): T | undefined {
    const item = this.#items[this.#taken]
    if (this.length === 0) return undefined
    this.#items[this.#taken++] = undefined
    if (this.length === 0) this.clear()
    else if (this.#taken > MOST_TAKEN && this.#taken * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#taken)
      this.#taken = 0
    }
    return item
  }

  takeAll(): readonly T[] {
    const items = this.#items.slice(this.#taken) as T[]
    this.clear()
    return items
  }

  clear(): void {
    this.#items = []
    this.#taken = 0
  }
}
