const MAX_SLOTS = 32

interface Slot {
  /** Milliseconds since the epoch. */
  from: number
  last: number
  count: number
  of: number
}

/** Counts cases over time in few slots, which grow coarser with time. */
export class Tally {
  #slotMs = 1000
  #slots: Slot[] = []

  /** Counts cases and the chances for them. */
  add(at: number, count: number, of: number): void {
    let slot = this.#slots.at(-1)
    if (slot === undefined || at - slot.from >= this.#slotMs) {
      if (this.#slots.length >= MAX_SLOTS) this.#coarsen()
      this.#slots.push((slot = { from: at, last: at, count: 0, of: 0 }))
    }
    slot.last = Math.max(slot.last, at)
    slot.count += count
    slot.of += of
  }

  /** Returns the sums of the slots that end at or after a time. */
  since(time: number): { readonly count: number; readonly of: number } {
    let count = 0
    let of = 0
    for (const slot of this.#slots) {
      if (slot.last < time) continue
      count += slot.count
      of += slot.of
    }
    return { count, of }
  }

  #coarsen(): void {
    this.#slotMs *= 2
    this.#slots = this.#slots.flatMap((slot, i, all) => {
      if (i % 2 === 1) return []
      const { last = slot.last, count = 0, of = 0 } = all[i + 1] ?? {}
      return [{ from: slot.from, last, count: slot.count + count, of: slot.of + of }]
    })
  }
}
