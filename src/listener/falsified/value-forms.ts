import { randomBytes } from 'node:crypto'
import type { FalseValue } from '../../filters/fault.ts'

/** Receives the words of a text, in lower case, and its numbers, in their canonical form. */
export interface Reader {
  /** False where the words are of no use: texts are read faster without them. */
  readonly wantsWords: boolean
  words(words: readonly string[]): void
  /** Takes the hash of one word. */
  seen?(hash: number): void
  number(form: string): void
}

/** A value is followed from this number of digits, or characters, on: shorter ones occur by chance. */
const LEAST = { number: 5, text: 6 }
/** A true value shows that the agent looked again from this number on. */
const LEAST_TRUE = { number: 3, text: 4 }
/** A rounded number has at least three digits left, and is written with four. */
const LEAST_ROUNDED = 3
const LEAST_WRITTEN = 4
/** Values with more words are not followed. */
const MAX_WORDS = 32

/** Letters and digits of all scripts; not punctuation, spaces and currency signs. */
const WORD = /[0-9a-z\u00c0-\u1fff\u2c00-\u2fff\u3040-\uffff]+/g
/** Three letters in front may be a currency, two or three behind it a unit; an id has others. */
const NUMBER =
  /(?<![0-9a-z.,]|[0-9a-z]-)(?:[a-z]{3})?(\d+(?:[.,'’_]\d+| \d{3}(?!\d))*)(?:[a-z]{2,3})?(?![0-9a-z]|[.,:/-][0-9a-z])/g
const SEPARATOR = /[.,'’_ ]/g

/** Reads all strings, keys and numbers of a JSON value. */
export function readValue(value: unknown, reader: Reader): void {
  if (typeof value === 'string') readText(value, reader)
  else if (typeof value === 'number') {
    const text = String(Math.abs(value))
    reader.seen?.(wordHash(text))
    if (reader.wantsWords) reader.words([text])
    reader.number(canonical(text))
  } else if (Array.isArray(value)) for (const each of value) readValue(each, reader)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      // Shorter keys hold no value that is followed.
      if (key.length >= LEAST.text) readText(key, reader)
      readValue(each, reader)
    }
  }
}

/** Reads the words and numbers of a text: prose, or JSON. */
export function readText(written: string, reader: Reader): void {
  const signs = scan(written, reader)
  if (signs === 'words' && !reader.wantsWords) return
  // Spaces of all kinds become one kind.
  const text = written.normalize('NFKC').toLowerCase()
  if (reader.wantsWords || signs === 'other') {
    const words = text.match(WORD) ?? []
    if (signs === 'other') for (const word of words) reader.seen?.(wordHash(word))
    reader.words(words)
  }
  if (signs === 'words') return
  for (const { index, 1: token = '' } of text.matchAll(NUMBER)) {
    // An integer in a path is an id.
    if (text[index - 1] === '/' && /^\d+$/.test(token)) continue
    for (const each of readings(token)) reader.number(each)
  }
}

const SEED = randomBytes(4).readInt32LE()

/** Returns a keyed hash of a word in lower case. */
export function wordHash(word: string): number {
  let hash = SEED
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193)
  return hash
}

/** Hashes the words of a text in ASCII; `other` for a text in other characters. */
function scan(text: string, reader: Reader): 'words' | 'numbers' | 'other' {
  let hash = SEED
  let isWord = false
  let hasDigits = false
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0
    if (code > 0x7f) return 'other'
    const isDigit = code >= 0x30 && code <= 0x39
    const lower = code | 0x20
    if (isDigit || (lower >= 0x61 && lower <= 0x7a)) {
      isWord = true
      hasDigits ||= isDigit
      hash = Math.imul(hash ^ (isDigit ? code : lower), 0x01000193)
    } else if (isWord) {
      reader.seen?.(hash)
      hash = SEED
      isWord = false
    }
  }
  return hasDigits ? 'numbers' : 'words'
}

/** Returns the canonical forms of all numbers that a text may mean: `4,187` is 4187, or 4.187. */
export function readings(token: string): ReadonlySet<string> {
  const parts = token.split(SEPARATOR)
  const marks: string[] = token.match(SEPARATOR) ?? []
  if (marks.length === 0) return new Set([canonical(token)])
  const found = new Set<string>()
  if (isGrouped(parts, marks)) found.add(canonical(parts.join('')))
  const [whole, last, mark] = [parts.slice(0, -1), parts.at(-1)!, marks.pop()!]
  const isDecimal = (mark === '.' || mark === ',') && !marks.includes(mark)
  if (isDecimal && (marks.length === 0 || isGrouped(whole, marks)))
    found.add(canonical(`${whole.join('')}.${last}`))
  // It may be a list of numbers.
  const listed = token.split(/[, ]/)
  if (listed.length > 1) for (const each of listed) for (const one of readings(each)) found.add(one)
  return found
}

function isGrouped(groups: readonly string[], by: readonly string[]): boolean {
  const [first = '', ...others] = groups
  const isWhole = others.every(({ length }) => length === 3 || length === 2)
  return first.length <= 3 && isWhole && others.at(-1)!.length === 3 && new Set(by).size === 1
}

/** Returns the digits of a number without zeros at its ends, and their power of ten. */
function canonical(text: string): string {
  const [, whole = '', fraction = '', power = '0'] = /^(\d*)\.?(\d*)(?:e(.*))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  // A regular expression would begin anew at each zero.
  while (digits[end - 1] === '0') end--
  const kept = digits.slice(0, end)
  return `${kept}e${Number(power) - fraction.length + digits.length - kept.length}`
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
  const [form, truth] = [formOf(falseText, kind), formOf(trueText, kind)]
  if (form === truth || sizeOf(form, kind) < LEAST[kind]) return undefined
  const rounded = kind === 'number' ? roundedForms(Number(form), Number(truth)) : []
  const trueForm = sizeOf(truth, kind) < LEAST_TRUE[kind] ? undefined : truth
  return { kind, falsified: [form, ...rounded], trueForm }
}

/** Returns a number in its canonical form, or words with one space between. */
function formOf(text: string, kind: FalseValue['kind']): string {
  const forms: string[] = []
  const words = (all: readonly string[]) => all.length <= MAX_WORDS && forms.push(all.join(' '))
  const [plain] = /^-?\d+(?:\.\d+)?$/.exec(text) ?? []
  if (kind === 'number' && plain !== undefined) return canonical(plain.replace('-', ''))
  const number = (form: string) => forms.push(form)
  const [take, leave] = [kind === 'number' ? { number } : { words }, () => undefined]
  readText(text, { wantsWords: true, words: leave, number: leave, ...take })
  return forms[0] ?? ''
}

function sizeOf(form: string, kind: FalseValue['kind']): number {
  return kind === 'text' ? form.length : Math.max(0, form.indexOf('e'))
}

/** Returns the rounded forms of a number that the true one does not round to. */
function roundedForms(value: number, truth: number): readonly string[] {
  const forms = new Set<string>()
  for (let kept = LEAST_ROUNDED; kept < sizeOf(canonical(String(value)), 'number'); kept++) {
    const rounded = Number(value.toPrecision(kept))
    const written = String(rounded)
    // Numbers of three digits, and years, occur by chance.
    const isUsual =
      written.replace('.', '').length < LEAST_WRITTEN || /^(?:19|20)\d\d$/.test(written)
    if (!isUsual && rounded !== Number(truth.toPrecision(kept))) forms.add(canonical(written))
  }
  return [...forms]
}
