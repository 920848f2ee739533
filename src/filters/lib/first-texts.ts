import { KeptTexts, MAX_ONE } from './kept-texts.ts'

/** The first text of each key; replaces those that have reached the age. */
export class FirstTexts extends KeptTexts {
  /** The first text of a key; undefined when this one is it. */
  firstOr(key: string, text: string, now: number): string | undefined {
    const first = this.of(key)?.[0]
    if (first !== undefined && now - first.at < this.age) return first.text
    if (key.length + text.length <= MAX_ONE) this.put(key, [{ text, at: now }])
    return undefined
  }
}
