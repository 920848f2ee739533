import { MAX_JSON_DEPTH } from './json-bounds.ts'
import type { JsonMember, JsonNode } from './json-node.ts'

/** Limits the values of a text: a value takes far more memory than its characters. */
export const MAX_JSON_VALUES = 20_000

/** The values that may still be read, for texts that share one limit. */
export interface ValuesLeft {
  values: number
}

/**
 * Parses a JSON text into values with their spans, so that one value can change while the rest of
 * the text stays. Accepts the same texts as `JSON.parse`; returns undefined for others, and for
 * texts that are nested too deeply or have too many values.
 */
export function readJson(
  text: string,
  left: ValuesLeft = { values: MAX_JSON_VALUES },
): JsonNode | undefined {
  const reader = new Reader(text, left)
  try {
    return reader.whole()
  } catch (error) {
    if (error === NOT_JSON) return undefined
    throw error
  }
}

/** Thrown without a stack trace: invalid JSON is common here. */
const NOT_JSON = Symbol('not JSON')

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const UNICODE = /[0-9a-fA-F]{4}/y
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

class Reader {
  readonly #text: string
  #at = 0
  #depth = 0
  readonly #left: ValuesLeft

  constructor(text: string, left: ValuesLeft) {
    this.#text = text
    this.#left = left
  }

  whole(): JsonNode {
    this.#skipBlank()
    const node = this.#value()
    this.#skipBlank()
    if (this.#at !== this.#text.length) throw NOT_JSON
    return node
  }

  #value(): JsonNode {
    if (--this.#left.values < 0) throw NOT_JSON
    const start = this.#at
    switch (this.#text.charCodeAt(start)) {
      case OPEN_OBJECT:
        return this.#object(start)
      case OPEN_LIST:
        return this.#array(start)
      case QUOTE: {
        const value = this.#string()
        return { kind: 'string', start, end: this.#at, value }
      }
      case 0x74:
        return this.#literal('true', true)
      case 0x66:
        return this.#literal('false', false)
      case 0x6e:
        return this.#literal('null', null)
      default:
        return this.#number(start)
    }
  }

  #object(start: number): JsonNode {
    this.#enter()
    const members: JsonMember[] = []
    this.#skipBlank()
    if (!this.#takes(CLOSE_OBJECT)) {
      do {
        this.#skipBlank()
        const keyStart = this.#at
        if (this.#text.charCodeAt(keyStart) !== QUOTE) throw NOT_JSON
        const key = this.#string()
        const keyEnd = this.#at
        this.#skipBlank()
        if (!this.#takes(COLON)) throw NOT_JSON
        this.#skipBlank()
        const value = this.#value()
        members.push({ key, start: keyStart, keyStart, keyEnd, value, end: value.end })
        this.#skipBlank()
      } while (this.#takes(COMMA))
      if (!this.#takes(CLOSE_OBJECT)) throw NOT_JSON
    }
    this.#depth--
    return { kind: 'object', start, end: this.#at, members }
  }

  #array(start: number): JsonNode {
    this.#enter()
    const items: JsonNode[] = []
    this.#skipBlank()
    if (!this.#takes(CLOSE_LIST)) {
      do {
        this.#skipBlank()
        items.push(this.#value())
        this.#skipBlank()
      } while (this.#takes(COMMA))
      if (!this.#takes(CLOSE_LIST)) throw NOT_JSON
    }
    this.#depth--
    return { kind: 'array', start, end: this.#at, items }
  }

  #enter(): void {
    this.#at++
    if (++this.#depth > MAX_JSON_DEPTH) throw NOT_JSON
  }

  #string(): string {
    const text = this.#text
    const start = this.#at
    let at = start + 1
    let isPlain = true
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) break
      // Also at the end of the text, where the code is NaN.
      if (!(code >= 0x20)) throw NOT_JSON
      if (code === BACKSLASH) {
        isPlain = false
        at = endOfEscape(text, at)
      } else {
        at++
      }
    }
    this.#at = at + 1
    return isPlain ? text.slice(start + 1, at) : (JSON.parse(text.slice(start, at + 1)) as string)
  }

  #number(start: number): JsonNode {
    NUMBER.lastIndex = start
    if (!NUMBER.test(this.#text)) throw NOT_JSON
    const end = NUMBER.lastIndex
    this.#at = end
    return { kind: 'number', start, end, value: Number(this.#text.slice(start, end)) }
  }

  #literal(word: string, value: boolean | null): JsonNode {
    const start = this.#at
    if (!this.#text.startsWith(word, start)) throw NOT_JSON
    this.#at = start + word.length
    return { kind: 'literal', start, end: this.#at, value }
  }

  #takes(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false
    this.#at++
    return true
  }

  #skipBlank(): void {
    const text = this.#text
    let at = this.#at
    for (;;) {
      const code = text.charCodeAt(at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break
      at++
    }
    this.#at = at
  }
}

/** Returns the offset behind an escape. */
function endOfEscape(text: string, at: number): number {
  switch (text.charCodeAt(at + 1)) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return at + 2
    case 0x75:
      UNICODE.lastIndex = at + 2
      if (UNICODE.test(text)) return at + 6
  }
  throw NOT_JSON
}
