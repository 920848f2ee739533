import type { FindingFacts } from './finding-kinds.ts'

const MAX_SLOTS = 32
/** The length of a new slot, in milliseconds. */
const SLOT_MS = 1000

/** The sums and extremes of cases. */
type Sums = { -readonly [name in Exclude<keyof FindingFacts, 'tool'>]: number }

interface Slot extends Sums {
  /** Milliseconds since the epoch. */
  from: number
  last: number
}

const NOTHING: Sums = { count: 0, of: 0, waited: 0, asked: 0, most: 0, again: 0 }

/** Counts cases over time in few slots, which are longer the older they are. */
export class Tally {
  readonly #slots: Slot[] = []

  /** Counts cases and the chances for them. */
  add(at: number, sums: Partial<Sums>): void {
    let slot = this.#slots.at(-1)
    if (slot === undefined || at - slot.from >= SLOT_MS) {
      if (this.#slots.length >= MAX_SLOTS) this.#join(at)
      this.#slots.push((slot = { ...NOTHING, from: at, last: at }))
    }
    slot.last = Math.max(slot.last, at)
    addTo(slot, { ...NOTHING, ...sums })
  }

  /** Returns the sums of the slots that end at or after a time. */
  since(time: number): Readonly<Sums> {
    const sums = { ...NOTHING }
    for (const slot of this.#slots) if (slot.last >= time) addTo(sums, slot)
    return sums
  }

  /** Joins the two neighbours whose length is the smallest part of their age. */
  #join(now: number): void {
    const slots = this.#slots
    const part = (at: number): number =>
      (slots[at + 1]!.last - slots[at]!.from) / (now - slots[at]!.from)
    let best = 0
    for (let i = 1; i < slots.length - 1; i++) if (part(i) < part(best)) best = i
    const [newer] = slots.splice(best + 1, 1) as [Slot]
    addTo(slots[best]!, newer)
    slots[best]!.last = newer.last
  }
}

function addTo(sums: Sums, { count, of, waited, asked, most, again }: Sums): void {
  sums.count += count
  sums.of += of
  sums.again += again
  sums.most = Math.max(sums.most, most)
  // The worst is the wait that misses most of what was asked for.
  const isWorse = asked > 0 ? asked - waited > sums.asked - sums.waited : waited > sums.waited
  if (isWorse) Object.assign(sums, { waited, asked })
}
