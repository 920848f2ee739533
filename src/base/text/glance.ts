import { randomBytes } from 'node:crypto'

/**
 * Receives hashes of what a text holds, so that a text is read in full only when it may hold what
 * is looked for. It may get more than is there, and misses nothing.
 */
export interface Glancer {
  /** Takes a word; returns true when its text should be read. */
  word(hash: number): boolean
  /** Takes a number, and its first three digits; returns true when it should be read. */
  number(hash: number, lead: number): boolean
  /** Counts the digits that begin; returns false when no more are wanted. */
  begins(): boolean
}

const SEED = randomBytes(4).readInt32LE()
const PRIME = 0x01000193
/** The length of an escape in JSON: of `\n`, and of `\u20ac`. */
const SHORT = 2
const LONG = 6
const BACKSLASH = 0x5c
const ZERO = 0x30
/** The groups of a number that may be followed by further ones. */
const GROUP = { least: 2, most: 3 }
/** The letters of a currency, which may be in front of a number. */
const CURRENCY = 3
/** Longer rows are lists of numbers: the first ones are not put together with all that follow. */
const MOST_OPEN = 8

/** Returns a keyed hash of a word in lower case. */
export function wordHash(word: string): number {
  let hash = SEED
  for (let at = 0; at < word.length; at++) hash = next(hash, word.charCodeAt(at))
  return hash
}

/** Returns a keyed hash of a number in its canonical form. */
export function numberHash(form: string): number {
  const end = form.indexOf('e')
  return next(wordHash(form.slice(0, end)), Number(form.slice(end + 1)))
}

/** Returns the first three digits of a number that has no leading zeros. */
export function leadOf(digits: string): number {
  return Number(digits.slice(0, 3).padEnd(3, '0'))
}

/**
 * Shows the words and numbers of a text; returns true when it should be read. ASCII letters may be
 * in capitals, others must be in lower case.
 */
export function glance(text: string, to: Glancer): boolean {
  let isWanted = false
  let isWord = false
  let word = SEED
  // In JSON within a text, a word begins behind an escape, or with the letters of the escape.
  let behindEscape = SEED
  let escapeEnd = -1
  let wordBegin = 0
  const row = new NumberRow(text, to)
  for (let at = 0; at <= text.length; at++) {
    const code = lowerCode(text, at)
    const isDigit = digitAt(text, at) >= 0
    if (at === escapeEnd) behindEscape = SEED
    if (isDigit || isLetter(code)) {
      // A number may follow a letter of another script.
      if (code > 0x7f) wordBegin = at + 1
      else if (!isWord) wordBegin = at
      isWord = true
      const isBegin = at === wordBegin || at === wordBegin + CURRENCY
      if (isDigit && ((isBegin && at >= row.end) || at === escapeEnd))
        isWanted = row.read(at) || isWanted
      word = next(word, code)
      behindEscape = next(behindEscape, code)
      continue
    }
    if (isWord) {
      isWanted = to.word(word) || isWanted
      if (behindEscape !== word) isWanted = to.word(behindEscape) || isWanted
      isWord = false
    }
    word = behindEscape = SEED
    if (code === BACKSLASH) escapeEnd = at + escapeLength(text, at)
  }
  return isWanted
}

/** Reads digits with separators in between: the groups of one number, or several numbers. */
class NumberRow {
  /** Where the last row ends. */
  end = 0
  readonly #text: string
  readonly #to: Glancer

  constructor(text: string, to: Glancer) {
    this.#text = text
    this.#to = to
  }

  /** Shows each number that may begin in the row; returns true when the text should be read. */
  read(from: number): boolean {
    let isWanted = false
    if (this.#isShort(from)) return false
    let open: OpenNumber[] = []
    for (let begin = from; this.#to.begins(); begin = this.end + 1) {
      open.push(new OpenNumber())
      let at = begin
      for (let digit = digitAt(this.#text, at); digit >= 0; digit = digitAt(this.#text, ++at))
        for (const each of open) each.add(digit)
      for (const each of open) isWanted = each.show(this.#to, at - begin) || isWanted
      this.end = at
      if (!this.#goesOn(at)) break
      open = open.filter((each) => each.goesOn(at - begin)).slice(1 - MOST_OPEN)
    }
    return isWanted
  }

  /** Returns true for one or two digits alone: nobody looks for such numbers. */
  #isShort(from: number): boolean {
    this.end = digitAt(this.#text, from + 1) < 0 ? from + 1 : from + 2
    return digitAt(this.#text, this.end) < 0 && !this.#goesOn(this.end)
  }

  /** Returns true for a separator with a group behind it; behind a space it has three digits. */
  #goesOn(at: number): boolean {
    const isDigit = (ahead: number): boolean => digitAt(this.#text, at + ahead) >= 0
    if (!isDigit(1)) return false
    const mark = this.#text[at]!
    if (".,'’_".includes(mark)) return true
    return ' \u00a0\u202f'.includes(mark) && isDigit(2) && isDigit(3) && !isDigit(4)
  }
}

/** A number that may have further groups. */
class OpenNumber {
  /** The hash of the digits without zeros at both ends, and the number of zeros behind them. */
  #digits = SEED
  #zeros = 0
  #hash = SEED
  #lead = 0
  /** The groups that may follow; undefined within the first one. */
  #left: number | undefined

  /** Shows the number as it may be read: as an integer, or with the last group as decimals. */
  show(to: Glancer, size: number): boolean {
    const isFirst = this.#left === undefined
    const lead = this.#lead * (this.#lead >= 100 ? 1 : this.#lead >= 10 ? 10 : 100)
    let isWanted = false
    if (isFirst || size === GROUP.most) isWanted = to.number(next(this.#digits, this.#zeros), lead)
    if (!isFirst) isWanted = to.number(next(this.#digits, this.#zeros - size), lead) || isWanted
    return isWanted
  }

  add(digit: number): void {
    if (digit === 0 && this.#lead === 0) return
    this.#hash = next(this.#hash, digit + ZERO)
    this.#zeros = digit > 0 ? 0 : this.#zeros + 1
    if (digit > 0) this.#digits = this.#hash
    if (this.#lead < 100) this.#lead = this.#lead * 10 + digit
  }

  /** Returns true when a group may follow one of this size: decimals alone behind a long one. */
  goesOn(size: number): boolean {
    const isGroup = size >= GROUP.least && size <= GROUP.most
    if (this.#left === undefined) this.#left = size > GROUP.most ? 1 : Infinity
    else this.#left = isGroup ? this.#left - 1 : 0
    return this.#left > 0
  }
}

function next(hash: number, code: number): number {
  return Math.imul(hash ^ code, PRIME)
}

function digitAt(text: string, at: number): number {
  const digit = at < text.length ? text.charCodeAt(at) - ZERO : -1
  return digit <= 9 ? digit : -1
}

/** Returns the code of a character, in lower case for a letter of ASCII; zero behind the end. */
function lowerCode(text: string, at: number): number {
  const code = at < text.length ? text.charCodeAt(at) : 0
  return code >= 0x41 && code <= 0x5a ? code | 0x20 : code
}

/** Returns true for letters of all scripts; not for digits, punctuation, spaces, currency signs. */
function isLetter(code: number): boolean {
  if (code <= 0x7f) return code >= 0x61 && code <= 0x7a
  const isPunctuation = code < 0xc0 || (code >= 0x2000 && code < 0x2c00)
  return !isPunctuation && (code < 0x3000 || code >= 0x3040)
}

/** Returns the length of an escape in JSON; zero for a backslash alone. */
function escapeLength(text: string, at: number): number {
  const letter = text[at + 1]?.toLowerCase() ?? ' '
  if (letter !== 'u') return 'bfnrt'.includes(letter) ? SHORT : 0
  return /^[0-9a-f]{4}$/i.test(text.slice(at + SHORT, at + LONG)) ? LONG : 0
}
