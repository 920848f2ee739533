import { jsonHash } from '../base/json/json-hash.ts'
import { phraseAt, type Reader, readText, readValue, wordsOf } from './value-forms.ts'

/**
 * Looks for numbers and phrases in texts and JSON values. Keeps hashes of them, under a key of the
 * process, each with its owners.
 */
export class WatchedValues<Owner> implements Reader {
  readonly #numbers = new Map<number, readonly Owner[]>()
  readonly #phrases = new Map<number, readonly Owner[]>()
  /** The numbers of words of the phrases, by the hash of their first word. */
  readonly #firsts = new Map<number, readonly number[]>()
  #found: Set<Owner> | undefined

  /** The number of phrases. */
  get phrases(): number {
    return this.#phrases.size
  }

  /** Looks for a number in its canonical form. */
  addNumber(form: string, owner: Owner): void {
    add(this.#numbers, jsonHash(form), owner)
  }

  /** Looks for the words of a text, whatever their case and what is written between them. */
  addText(text: string, owner: Owner): void {
    let first: number | undefined
    let count = 0
    const word = (hash: number): void => {
      first ??= hash
      count++
    }
    readText(text, { word, number: () => undefined })
    const phrase = wordsOf(text)
    if (first === undefined || phrase === undefined) return
    add(this.#firsts, first, count)
    add(this.#phrases, jsonHash(phrase), owner)
  }

  /** Forgets the oldest phrase. */
  dropPhrase(): void {
    this.#phrases.delete(this.#phrases.keys().next().value!)
  }

  /** Returns the owners of the values that a JSON value contains; undefined without any. */
  in(value: unknown): ReadonlySet<Owner> | undefined {
    readValue(value, this)
    return this.take()
  }

  word(hash: number, text: string, from: number): void {
    for (const count of this.#firsts.get(hash) ?? NONE) {
      const phrase = phraseAt(text, from, count)
      if (phrase !== undefined) this.#add(this.#phrases.get(jsonHash(phrase)))
    }
  }

  number(canonical: string): void {
    if (this.#numbers.size > 0) this.#add(this.#numbers.get(jsonHash(canonical)))
  }

  /** Returns the owners of what was found since the last time; undefined without any. */
  take(): ReadonlySet<Owner> | undefined {
    const found = this.#found
    this.#found = undefined
    return found
  }

  #add(owners: readonly Owner[] = NONE): void {
    for (const owner of owners) (this.#found ??= new Set()).add(owner)
  }
}

const NONE: readonly never[] = []

function add<Value>(map: Map<number, readonly Value[]>, key: number, value: Value): void {
  const known = map.get(key) ?? NONE
  if (!known.includes(value as never)) map.set(key, [...known, value])
}

/** 2 KiB for each conversation: of 2,000 words, one in twenty others seems to have occurred. */
const BITS = 16_384
export const OCCURRED_BYTES = BITS / 8

/** Remembers what has occurred in a conversation, as bits that no value can be read from. */
export class Occurred implements Reader {
  readonly #bits = new Int32Array(BITS / 32)

  word(hash: number): void {
    this.#set(hash)
    this.#set(hash >>> 15)
  }

  number(canonical: string): void {
    this.word(jsonHash(canonical) | 0)
  }

  hasNumber(canonical: string): boolean {
    return this.#has(jsonHash(canonical) | 0)
  }

  /** Returns true when all words of a text have occurred. */
  hasText(text: string): boolean {
    let hasAll = true
    readText(text, { word: (hash) => void (hasAll &&= this.#has(hash)), number: () => undefined })
    return hasAll
  }

  #has(hash: number): boolean {
    return this.#at(hash) && this.#at(hash >>> 15)
  }

  #at(bit: number): boolean {
    return (this.#bits[(bit & (BITS - 1)) >> 5]! & (1 << (bit & 31))) !== 0
  }

  #set(bit: number): void {
    this.#bits[(bit & (BITS - 1)) >> 5]! |= 1 << (bit & 31)
  }
}
