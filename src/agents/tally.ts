const MAX_SLOTS = 32
/** The length of a new slot, in milliseconds. */
const SLOT_MS = 1000

interface Slot {
  /** Milliseconds since the epoch. */
  from: number
  last: number
  count: number
  of: number
}

/** Counts cases over time in few slots, which are longer the older they are. */
export class Tally {
  readonly #slots: Slot[] = []

  /** Counts cases and the chances for them. */
  add(at: number, count: number, of: number): void {
    let slot = this.#slots.at(-1)
    if (slot === undefined || at - slot.from >= SLOT_MS) {
      if (this.#slots.length >= MAX_SLOTS) this.#join(at)
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

  /** Joins the two neighbours whose length is the smallest part of their age. */
  #join(now: number): void {
    const slots = this.#slots
    const part = (at: number): number =>
      (slots[at + 1]!.last - slots[at]!.from) / (now - slots[at]!.from)
    let best = 0
    for (let i = 1; i < slots.length - 1; i++) if (part(i) < part(best)) best = i
    const [older, newer] = slots.slice(best, best + 2) as [Slot, Slot]
    const { count, of } = newer
    const joined = { ...older, last: newer.last, count: older.count + count, of: older.of + of }
    slots.splice(best, 2, joined)
  }
}
