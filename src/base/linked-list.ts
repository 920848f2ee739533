/** A node of at most one list. */
export interface Link<L> {
  newer: L | undefined
  older: L | undefined
}

/** Keeps nodes in insertion order; finds the oldest and removes any in constant time. */
export class Chain<L extends Link<L>> {
  #oldest: L | undefined
  #newest: L | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get oldest(): L | undefined {
    return this.#oldest
  }

  get newest(): L | undefined {
    return this.#newest
  }

  /** Adds a node that is in no list. */
  add(link: L): void {
    link.older = this.#newest
    link.newer = undefined
    if (this.#newest === undefined) this.#oldest = link
    else this.#newest.newer = link
    this.#newest = link
    this.#size++
  }

  /** Removes a node of this list. */
  remove(link: L): void {
    if (link.older === undefined) this.#oldest = link.newer
    else link.older.newer = link.newer
    if (link.newer === undefined) this.#newest = link.older
    else link.newer.older = link.older
    link.newer = undefined
    link.older = undefined
    this.#size--
  }
}
