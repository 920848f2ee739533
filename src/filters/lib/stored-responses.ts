import { KeptTexts, MAX_ONE } from './kept-texts.ts'

/** Keeps more of them than the age requires, so that one of about that age is always there. */
const STEPS = 16

/** Earlier responses, by their requests; returns those that have reached the age. */
export class StoredResponses extends KeptTexts {
  /** The newest that is old enough. */
  older(key: string, now: number): string | undefined {
    return this.of(key)?.findLast(({ at }) => now - at >= this.age)?.text
  }

  /** Keeps a response, where it may be asked for. */
  add(key: string, text: string, now: number): void {
    if (text.length > MAX_ONE) return
    const list = this.of(key) ?? []
    const newest = list.at(-1)
    // One for each step of the age is enough, unless the clock was set back.
    if (newest !== undefined && Math.abs(now - newest.at) < this.age / STEPS) return
    const first = list.findLastIndex(({ at }) => now - at >= this.age)
    const steps = list.slice(Math.max(first, 0)).slice(-STEPS - 1)
    this.put(key, [...(this.age === 0 ? [] : steps), { text, at: now }])
  }
}
