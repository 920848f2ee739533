import { glance, type Glancer } from './glance.ts'

/** Receives the words of a text, in lower case, and its numbers, in their canonical form. */
export interface Reader {
  /** False where the words are of no use: texts are read faster without them. */
  readonly wantsWords: boolean
  words(words: readonly string[]): void
  number(form: string): void
  /** True when no more is wanted: the rest is not read. */
  readonly isDone?: boolean
  /** Sees each text first, and says whether to read it; undefined where all are read. */
  readonly glancer?: Glancer
}

/** One way to read a written number. */
export interface Reading {
  readonly digits: string
  readonly decimals: number
  /** The separators of thousands and of decimals. */
  readonly group: string
  readonly point: string
}

/** Shorter numbers occur everywhere. */
const LEAST_NUMBER = 3
/** Longer numbers are lists of numbers. */
const MAX_NUMBER = 64
/** Shorter keys of objects are not read. */
const LEAST_KEY = 6
/** Letters and digits of all scripts; not punctuation, spaces and currency signs. */
const WORD = /[0-9a-z\u00c0-\u1fff\u2c00-\u2fff\u3040-\uffff]+/g
/**
 * Finds numbers, each alone and with its unit. Three letters in front may be a currency; an id has
 * others. In front of a number in JSON within a text there may be an escape.
 */
export const NUMBER =
  /(?:(?<=\\[bfnrt]|\\u[0-9a-f]{4})|(?<![0-9a-z.,]|[0-9a-z]-)(?:[a-z]{3})?)(\d+(?:[.,'’_]\d+|[ \u00a0\u202f]\d{3}(?!\d))*)([a-z]*)(?![0-9a-z]|[.,:/-][0-9a-z])/gi
/** Keeps its place in a text, unlike a copy of it for each text. */
const FINDER = new RegExp(NUMBER)
const ESCAPE = /\\(?:[bfnrt]|u[0-9a-f]{4})/g
const SEPARATOR = /[.,'’_ \u00a0\u202f]/g

/** Returns the ways to read a number, the usual one first: `4,187` is 4187, or 4.187. */
export function readings(token: string): readonly Reading[] {
  const parts = token.split(SEPARATOR)
  const marks: string[] = token.match(SEPARATOR) ?? []
  const digits = parts.join('')
  const point = marks.at(-1)
  if (point === undefined) return [{ digits, decimals: 0, group: '', point: '.' }]
  const [groups, by, last] = [parts.slice(0, -1), marks.slice(0, -1), parts.at(-1)!]
  const isPoint = (point === '.' || point === ',') && !by.includes(point)
  const found: Reading[] = []
  if (isGrouped(parts, marks)) found.push({ digits, decimals: 0, group: point, point: '.' })
  if (isPoint && (by.length === 0 || isGrouped(groups, by)))
    found.push({ digits, decimals: last.length, group: by[0] ?? '', point })
  return point === '.' ? found.toReversed() : found
}

function isGrouped([first = '', ...others]: readonly string[], by: readonly string[]): boolean {
  const isWhole = others.every(({ length }) => length === 3 || length === 2)
  return first.length <= 3 && isWhole && others.at(-1)!.length === 3 && new Set(by).size === 1
}

/** Returns the digits of a number without zeros at its ends, and their power of ten. */
export function canonical(text: string): string {
  const [, whole = '', fraction = '', power = '0'] = /^(\d*)\.?(\d*)(?:e(.*))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  // A regular expression would begin anew at each zero.
  while (digits[end - 1] === '0') end--
  const kept = digits.slice(0, end)
  return `${kept}e${Number(power) - fraction.length + digits.length - kept.length}`
}

/** Reads all strings, keys and numbers of a JSON value. */
export function readValue(value: unknown, reader: Reader): void {
  if (reader.isDone) return
  if (typeof value === 'string') readText(value, reader)
  else if (typeof value === 'number') {
    const text = String(Math.abs(value))
    if (reader.glancer && !glance(text, reader.glancer)) return
    if (reader.wantsWords) reader.words([text])
    reader.number(canonical(text))
  } else if (Array.isArray(value)) for (const each of value) readValue(each, reader)
  else if (typeof value === 'object' && value !== null) {
    const fields = value as Record<string, unknown>
    // Entries would be arrays for each field.
    for (const key of Object.keys(fields)) {
      if (key.length >= LEAST_KEY) readText(key, reader)
      readValue(fields[key], reader)
    }
  }
}

/** Returns the words of a text as it is written. */
export function wordsIn(text: string): readonly string[] {
  let found: readonly string[] = []
  // The words behind escapes come first.
  readText(text, { wantsWords: true, words: (all) => (found = all), number: () => undefined })
  return found
}

/** Reads the words and numbers of a text: prose, or JSON. */
export function readText(written: string, reader: Reader): void {
  const isAscii = !/[\u0080-\uffff]/.test(written)
  const whole = isAscii ? written : written.normalize('NFKC').toLowerCase()
  if (reader.glancer && !glance(whole, reader.glancer)) return
  const text = whole.toLowerCase()
  if (reader.wantsWords) {
    // In JSON within a text, the letters of an escape seem to begin the word behind it.
    const unescaped = text.replace(ESCAPE, ' ')
    if (unescaped !== text) reader.words(unescaped.match(WORD) ?? [])
    reader.words(text.match(WORD) ?? [])
  }
  if (!/\d/.test(text)) return
  FINDER.lastIndex = 0
  for (let found = FINDER.exec(text); found !== null; found = FINDER.exec(text)) {
    const { index, 1: token = '', 2: unit = '' } = found
    // An integer in a path is an id, and other units are words.
    if (token.length < LEAST_NUMBER || unit.length === 1 || unit.length > 3) continue
    const isDigits = /^\d+$/.test(token)
    if (isDigits && text[index - 1] === '/') continue
    if (reader.isDone) return
    if (isDigits) {
      reader.number(canonical(token))
      continue
    }
    const listed = token.split(/[, ]/)
    const mayBeOne = listed.length > 1 && token.length <= MAX_NUMBER
    for (const part of mayBeOne ? [token, ...listed] : listed) {
      if (reader.isDone) return
      for (const { digits, decimals } of readings(part))
        reader.number(canonical(`${digits}e${-decimals}`))
    }
  }
}
