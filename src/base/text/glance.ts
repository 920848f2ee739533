import { randomBytes } from 'node:crypto'

/**
 * Receives hashes of what a text holds, so that a text is read in full only when it may hold what
 * is looked for. It may be shown more than is there, and misses nothing.
 */
export interface Glancer {
  /** Takes a word; returns true when its text should be read. */
  word(hash: number): boolean
  /** Takes the digits of a number: the first `count` hashes, each with more of those in front. */
  digits(hashes: Int32Array, count: number): void
  /** Takes the first three digits of a number; returns true when its text should be read. */
  lead(digits: number): boolean
  /** Returns true when no more is wanted. */
  isDone(): boolean
}

const SEED = randomBytes(4).readInt32LE()
const PRIME = 0x01000193
/** Bytes of an escape in JSON: `\n` or `\u20ac`. */
const SHORT = 2
const LONG = 6

/** Returns a keyed hash of a word in lower case. */
export function wordHash(word: string): number {
  let hash = SEED
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), PRIME)
  return hash
}

/** Returns the hash of a number by its digits without zeros at both ends. */
export function digitsHash(digits: string): number {
  return wordHash(digits)
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
  let hash = SEED
  // In JSON within a text, a word begins behind an escape, or with its letters.
  let plain = SEED
  let plainAt = -1
  let isWord = false
  let numbersTo = 0
  for (let at = 0; at <= text.length; at++) {
    const code = lowerCode(text, at)
    const isDigit = code >= 0x30 && code <= 0x39
    if (isDigit && (at >= numbersTo || at === plainAt)) {
      if (to.isDone()) return isWanted
      const end = numbersIn(text, at, to)
      isWanted ||= end < 0
      numbersTo = Math.abs(end)
    }
    if (at === plainAt) plain = SEED
    if (isDigit || isLetter(code)) {
      isWord = true
      hash = Math.imul(hash ^ code, PRIME)
      plain = Math.imul(plain ^ code, PRIME)
      continue
    }
    if (isWord) {
      if (to.word(hash)) isWanted = true
      if (plain !== hash && plain !== SEED && to.word(plain)) isWanted = true
      hash = plain = SEED
      isWord = false
    }
    if (code === 0x5c) plainAt = at + escapeLength(text, at)
  }
  return isWanted
}

/** The numbers of a row that are put together with what follows. */
const STARTS = 4
const hashes = new Int32Array(STARTS)
/** The hashes without the zeros at the end. */
const trimmed = new Int32Array(STARTS)
const leads = new Int32Array(STARTS)

/**
 * Shows the numbers that begin at a place, with one character between any two: they may be the
 * groups of one number. Returns where they end, below zero when the text should be read.
 */
function numbersIn(text: string, from: number, to: Glancer): number {
  let isWanted = false
  let at = from
  for (let run = 0; ; run++) {
    const own = run % STARTS
    hashes[own] = trimmed[own] = SEED
    leads[own] = 0
    const open = Math.min(run + 1, STARTS)
    for (let digit = digitAt(text, at); digit >= 0; digit = digitAt(text, ++at)) {
      for (let each = 0; each < open; each++) {
        if (digit === 0 && leads[each] === 0) continue
        hashes[each] = Math.imul(hashes[each]! ^ (digit + 0x30), PRIME)
        if (digit > 0) trimmed[each] = hashes[each]!
        if (leads[each]! >= 100) continue
        leads[each] = leads[each]! * 10 + digit
        if (leads[each]! >= 100 && to.lead(leads[each]!)) isWanted = true
      }
    }
    to.digits(trimmed, open)
    if (to.isDone() || isLetter(lowerCode(text, at)) || digitAt(text, at + 1) < 0) break
    at++
  }
  return isWanted ? -at : at
}

function digitAt(text: string, at: number): number {
  const code = at < text.length ? text.charCodeAt(at) : 0
  return code >= 0x30 && code <= 0x39 ? code - 0x30 : -1
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

/** Returns the length of an escape in JSON; one for a backslash alone. */
function escapeLength(text: string, at: number): number {
  const next = text[at + 1]?.toLowerCase() ?? ''
  if (next === 'u') return /^[0-9a-f]{4}$/i.test(text.slice(at + SHORT, at + LONG)) ? LONG : 1
  return 'bfnrt'.includes(next) && next !== '' ? SHORT : 1
}
