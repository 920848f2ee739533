import { jsonHash } from '../../base/json/json-hash.ts'
import { type Glancer, leadOf, numberHash, wordHash } from '../../base/text/glance.ts'
import { type Reader, wordsIn } from '../../base/text/written-values.ts'

/** The numbers that are read of one message, in a turn of the event loop. */
const MAX_NUMBERS = 20_000

/**
 * Looks for numbers and phrases in texts and JSON values. Keeps hashes of them, under a key of the
 * process, each with its owners.
 */
export class WatchedValues<Owner> implements Reader {
  /** Remembers all that is read; undefined where nobody needs that. */
  occurred: Occurred | undefined
  readonly #values = new Map<number, readonly Owner[]>()
  /** The numbers of words of the phrases, by the hash of their first word. */
  readonly #firsts = new Map<number, readonly number[]>()
  /** The first digits of the numbers. */
  readonly #leads = new Set<number>()
  #found: Set<Owner> | undefined
  #numbers = 0
  #glanced = 0

  readonly glancer: Glancer = {
    word: (hash) => {
      this.occurred?.add(hash)
      return this.#firsts.has(hash)
    },
    number: (hash, lead) => {
      this.occurred?.add(hash)
      return this.#leads.has(lead)
    },
    begins: () => this.#glanced++ < MAX_NUMBERS,
  }

  /** True when no more numbers are read. */
  get isDone(): boolean {
    return this.#numbers >= MAX_NUMBERS
  }

  /** True when a message has more numbers than are read. */
  get isCut(): boolean {
    return this.isDone || this.#glanced > MAX_NUMBERS
  }

  get wantsWords(): boolean {
    return this.#firsts.size > 0
  }

  /** Looks for a number in its canonical form. */
  addNumber(form: string, owner: Owner): void {
    add(this.#values, jsonHash(form), owner)
    this.#leads.add(leadOf(form.slice(0, form.indexOf('e'))))
  }

  /** Looks for the words of a text, whatever their case and what is written between them. */
  addText(text: string, owner: Owner): void {
    const words = wordsIn(text)
    add(this.#firsts, wordHash(words[0] ?? ''), words.length)
    add(this.#values, jsonHash(words.join(' ')), owner)
  }

  /** Returns the owners of a number in its canonical form, or of words with one space between. */
  ownersOf(form: string): readonly Owner[] {
    return this.#values.get(jsonHash(form)) ?? NONE
  }

  words(words: readonly string[]): void {
    for (const [at, word] of words.entries())
      for (const count of this.#firsts.get(wordHash(word)) ?? NONE)
        this.#find(jsonHash(words.slice(at, at + count).join(' ')))
  }

  number(form: string): void {
    this.#numbers++
    this.#find(jsonHash(form))
  }

  /** Returns the owners of what was found since the last time; undefined without any. */
  take(): ReadonlySet<Owner> | undefined {
    const found = this.#found
    this.#found = undefined
    // All that is not read may have occurred.
    if (this.isCut) this.occurred?.fill()
    this.#numbers = this.#glanced = 0
    return found
  }

  #find(hash: number): void {
    for (const owner of this.#values.get(hash) ?? NONE) {
      this.#found ??= new Set()
      this.#found.add(owner)
    }
  }
}

const NONE: readonly never[] = []

function add<Value>(map: Map<number, readonly Value[]>, key: number, value: Value): void {
  map.set(key, [...new Set(map.get(key) ?? NONE).add(value)])
}

const BITS = 16_384
/** The memory of what has occurred: of 2,000 words, one in twenty others seems to have occurred. */
export const OCCURRED_BYTES = BITS / 8

/** Remembers what has occurred, as bits that no value can be read from. */
export class Occurred {
  readonly #bits = new Int32Array(BITS / 32)

  /** True when other values often seem to have occurred. */
  get isFull(): boolean {
    let free = 0
    for (let bit = 0; bit < BITS; bit++) if (!this.#isSet(bit)) free++
    return free < BITS / 2
  }

  fill(): void {
    this.#bits.fill(-1)
  }

  add(hash: number): void {
    this.#bits[(hash & (BITS - 1)) >> 5]! |= 1 << (hash & 31)
    this.#bits[((hash >>> 15) % BITS) >> 5]! |= 1 << ((hash >>> 15) & 31)
  }

  /** Returns true when all words of a phrase have occurred. */
  hasWords(phrase: string): boolean {
    return phrase.split(' ').every((word) => this.#has(wordHash(word)))
  }

  /** Returns true when a number has occurred. */
  hasNumber(form: string): boolean {
    return this.#has(numberHash(form))
  }

  #has(hash: number): boolean {
    const [first, second] = [hash & (BITS - 1), (hash >>> 15) % BITS]
    return this.#isSet(first) && this.#isSet(second)
  }

  #isSet(bit: number): boolean {
    return (this.#bits[bit >> 5]! & (1 << (bit & 31))) !== 0
  }
}
