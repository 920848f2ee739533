import { randomBytes } from 'node:crypto'
import type { FalseValue } from '../filters/fault.ts'

/** Receives what is written in a text. Words are in lower case. */
export interface Reader {
  /** Takes the word between two offsets, with a keyed hash of it. */
  word(hash: number, text: string, from: number, to: number): void
  /** Takes a number in its canonical form. */
  number(canonical: string): void
}

/** A value is followed from this number of digits, or characters, on: shorter ones occur by chance. */
const LEAST_DIGITS = 5
const LEAST_TEXT = 6
/** A true value proves that the agent looked again from this number of digits, or characters, on. */
const LEAST_TRUE = 3
/** A rounded number is followed with this number of digits left, and when written with four or more. */
const LEAST_ROUNDED = 3
const LEAST_WRITTEN = 4
const MAX_DIGITS = 15
/** Values with more words are not followed. */
const MAX_WORDS = 32

const SEED = randomBytes(4).readInt32LE()
const NUMBER = /\d+(?:[.,'’_\u00a0\u202f\u2009]\d+| \d{3}(?!\d))*/y
const SEPARATOR = /[.,'’_\u00a0\u202f\u2009 ]/g
const ASCII = /^[\0-\x7f]*$/
/** Names of currencies and units, which may touch a number. */
const UNIT = 3

/** Reads all strings, keys and numbers of a JSON value. */
export function readValue(value: unknown, reader: Reader): void {
  if (typeof value === 'string') readText(value, reader)
  else if (typeof value === 'number') {
    const text = String(Math.abs(value))
    if (text.includes('e')) return
    const [whole = '', fraction = ''] = text.split('.')
    reader.number(canonical(whole, fraction))
    if (fraction === '') readWord(text, 0, reader)
  } else if (Array.isArray(value)) for (const each of value) readValue(each, reader)
  else if (typeof value === 'object' && value !== null) {
    for (const key in value) {
      readText(key, reader)
      readValue((value as Record<string, unknown>)[key], reader)
    }
  }
}

/** Reads the words and numbers of a text: prose, or JSON. */
export function readText(written: string, reader: Reader): void {
  const text = normal(written)
  let numbersEnd = 0
  for (let at = 0; at < text.length; ) {
    if (!isWordAt(text, at)) {
      at++
      continue
    }
    const end = readWord(text, at, reader)
    const begin = isDigitAt(text, at) ? at : at + UNIT
    const isAmount = begin === at || (begin < end && isDigitAt(text, begin) && isName(text, at))
    if (isAmount && begin >= numbersEnd) numbersEnd = readNumber(text, begin, at, reader)
    at = end
  }
}

/** Reads one word; returns its end. */
function readWord(text: string, from: number, reader: Reader): number {
  let hash = SEED
  let at = from
  for (; at < text.length && isWordAt(text, at); at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  reader.word(hash, text, from, at)
  return at
}

/** Reads the number at an offset, whose unit may begin before it; returns its end. */
function readNumber(text: string, from: number, before: number, reader: Reader): number {
  NUMBER.lastIndex = from
  const [token] = NUMBER.exec(text)!
  const end = from + token.length
  const isPart = text[before - 1] === '-' && isWordAt(text, before - 2)
  if (!isPart && !goesOn(text, end)) for (const each of readings(token)) reader.number(each)
  return end
}

/** Returns true for a number that is a part of an id, a date or a time. */
function goesOn(text: string, end: number): boolean {
  if ((text[end] === '-' || text[end] === ':' || text[end] === '/') && isWordAt(text, end + 1))
    return true
  if (!isWordAt(text, end)) return false
  let at = end
  while (isWordAt(text, at) && !isDigitAt(text, at)) at++
  // One letter scales the number: 4k.
  return at === end + 1 || at > end + UNIT || isWordAt(text, at)
}

/** Returns the canonical forms of all numbers that a text may mean: `4,187` is 4187, or 4.187. */
export function readings(token: string): ReadonlySet<string> {
  const parts = token.split(SEPARATOR)
  const marks = token.match(SEPARATOR) ?? []
  const found = new Set<string>()
  const last = parts.at(-1)!
  const mark = marks.at(-1)
  if (mark === undefined) return found.add(canonical(token, ''))
  const isGrouped = (groups: readonly string[], by: readonly string[]): boolean =>
    by.every((each) => each === by[0]) &&
    groups[0]!.length <= 3 &&
    groups.at(-1)!.length === 3 &&
    groups.slice(1).every(({ length }) => length === 3 || length === 2)
  if (isGrouped(parts, marks)) found.add(canonical(parts.join(''), ''))
  const [whole, groupMarks] = [parts.slice(0, -1), marks.slice(0, -1)]
  const isDecimal = (mark === '.' || mark === ',') && !groupMarks.includes(mark)
  if (isDecimal && (whole.length === 1 || isGrouped(whole, groupMarks)))
    found.add(canonical(whole.join(''), last))
  // A list of numbers.
  const listed = token.split(/[, ]/)
  if (listed.length > 1 && listed.length < MAX_WORDS)
    for (const each of listed) for (const one of readings(each)) found.add(one)
  return found
}

/** Returns the digits of a number without zeros at its ends, and their power of ten. */
function canonical(whole: string, fraction: string): string {
  const all = whole + fraction
  let end = all.length
  while (end > 0 && all.charCodeAt(end - 1) === 0x30) end--
  let start = 0
  while (start < end && all.charCodeAt(start) === 0x30) start++
  return start === end ? '0' : `${all.slice(start, end)}e${all.length - end - fraction.length}`
}

/** The forms by which a false value and the true one are recognized. */
export interface ValueForms {
  readonly kind: FalseValue['kind']
  /** The value itself first, and then its rounded forms. */
  readonly falsified: readonly string[]
  /** Undefined for a true value that occurs by chance. */
  readonly trueForm: string | undefined
}

/** Returns the forms of a value; undefined where it leaves nothing to recognize. */
export function formsOf({ kind, falseText, trueText }: FalseValue): ValueForms | undefined {
  const falsified = kind === 'number' ? numberOf(falseText) : wordsOf(falseText)
  const truth = kind === 'number' ? numberOf(trueText) : wordsOf(trueText)
  if (falsified === undefined || falsified === truth) return undefined
  const [least, leastTrue] =
    kind === 'number' ? [LEAST_DIGITS, LEAST_TRUE] : [LEAST_TEXT, LEAST_TRUE + 1]
  if (sizeOf(falsified, kind) < least) return undefined
  const trueForm = truth !== undefined && sizeOf(truth, kind) >= leastTrue ? truth : undefined
  const rounded = kind === 'number' ? roundedForms(falsified, truth) : []
  return { kind, falsified: [falsified, ...rounded], trueForm }
}

function sizeOf(form: string, kind: FalseValue['kind']): number {
  return kind === 'text' ? form.length : form.includes('e') ? form.indexOf('e') : 0
}

function numberOf(text: string): string | undefined {
  const found = /\d[\d.,'’_\u00a0\u202f\u2009 ]*/.exec(text)?.[0].replace(/\D+$/, '')
  if (found === undefined) return undefined
  const plain = /^(\d+)(?:\.(\d+))?$/.exec(found)
  return plain ? canonical(plain[1]!, plain[2] ?? '') : [...readings(found)][0]
}

/** Returns the words of a text with one space between; undefined without any, or with too many. */
export function wordsOf(text: string): string | undefined {
  const words: string[] = []
  const word = (_: number, all: string, from: number, to: number) => words.push(all.slice(from, to))
  readText(text, { word, number: () => undefined })
  return words.length === 0 || words.length > MAX_WORDS ? undefined : words.join(' ')
}

/** Returns the phrase of `count` words that begins at an offset; undefined where the text ends. */
export function phraseAt(text: string, from: number, count: number): string | undefined {
  const words: string[] = []
  for (let at = from; words.length < count; ) {
    while (at < text.length && !isWordAt(text, at)) at++
    const begin = at
    while (at < text.length && isWordAt(text, at)) at++
    if (begin === at) return undefined
    words.push(text.slice(begin, at))
  }
  return words.join(' ')
}

/** Returns the rounded forms of a number that the true one does not round to. */
function roundedForms(form: string, truth: string | undefined): readonly string[] {
  const digits = form.indexOf('e')
  if (digits > MAX_DIGITS) return []
  const forms: string[] = []
  for (let kept = LEAST_ROUNDED; kept < digits; kept++) {
    const rounded = roundedTo(form, kept)
    if (isUnusual(rounded) && rounded !== (truth && roundedTo(truth, kept))) forms.push(rounded)
  }
  return [...new Set(forms)]
}

function roundedTo(form: string, kept: number): string {
  const [digits = '', power = '0'] = form.split('e')
  if (digits.length <= kept) return form
  const up = digits.charCodeAt(kept) >= 0x35 ? 1 : 0
  const places = Number(power) + digits.length - kept
  const whole = String(Number(digits.slice(0, kept)) + up)
  const [rest = '', more] = canonical(whole, '').split('e')
  return `${rest}e${Number(more) + places}`
}

/** Returns false for numbers that occur by chance: those of three digits, and years. */
function isUnusual(form: string): boolean {
  const [digits = '', power = ''] = form.split('e')
  const value = Number(form)
  const isYear = Number(power) >= 0 && value >= 1900 && value <= 2100
  return Math.max(digits.length, digits.length + Number(power)) >= LEAST_WRITTEN && !isYear
}

function normal(text: string): string {
  return (ASCII.test(text) ? text : text.normalize('NFKC')).toLowerCase()
}

function isDigitAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0x30 && code <= 0x39
}

/** Returns true for the three letters of a currency. */
function isName(text: string, at: number): boolean {
  return !isDigitAt(text, at) && !isDigitAt(text, at + 1) && !isDigitAt(text, at + 2)
}

/** Returns true for letters and digits of any script. */
function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 0x80)
    return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39)
  // Punctuation, spaces and currency signs.
  return code >= 0xc0 && !(code >= 0x2000 && code <= 0x20cf) && !(code >= 0x3000 && code <= 0x303f)
}
