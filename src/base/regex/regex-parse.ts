import {
  type CharSet,
  DIGITS,
  foldAscii,
  negate,
  normalize,
  NOT_LINE_END,
  SPACE,
  WORD,
} from './char-set.ts'
import { RegexError } from './regex-error.ts'

/** Conditions between two characters. */
export type Assertion = 'start' | 'end' | 'word' | 'not-word'

export type RegexNode =
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly RegexNode[] }
  | { readonly kind: 'choice'; readonly options: readonly RegexNode[] }
  | {
      readonly kind: 'repeat'
      readonly node: RegexNode
      readonly min: number
      readonly max: number
    }

const MAX_PATTERN = 1000
const MAX_DEPTH = 50
const MAX_COUNT = 1000
const CLASSES: Readonly<Record<string, CharSet>> = {
  d: DIGITS,
  D: negate(DIGITS),
  w: WORD,
  W: negate(WORD),
  s: SPACE,
  S: negate(SPACE),
}
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 }

/** Parses a pattern; throws a `RegexError` for invalid or unsupported syntax. */
export function parseRegex(pattern: string): RegexNode {
  if (pattern.length > MAX_PATTERN) {
    throw new RegexError(
      `the regular expression has ${pattern.length} characters; the maximum is ${MAX_PATTERN}`,
      pattern,
      MAX_PATTERN,
    )
  }
  return new Parser(pattern).parse()
}

class Parser {
  readonly #text: string
  #at = 0
  #depth = 0
  #ignoreCase = false

  constructor(text: string) {
    this.#text = text
  }

  parse(): RegexNode {
    if (this.#text.startsWith('(?i)')) {
      this.#ignoreCase = true
      this.#at = 4
    }
    const node = this.#choice()
    if (this.#at < this.#text.length) this.#reject('unmatched )')
    return node
  }

  #choice(): RegexNode {
    const options: RegexNode[] = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    return options.length === 1 ? options[0]! : { kind: 'choice', options }
  }

  #sequence(): RegexNode {
    const parts: RegexNode[] = []
    while (this.#at < this.#text.length) {
      const next = this.#text[this.#at]!
      if (next === '|' || next === ')') break
      parts.push(this.#repeated())
    }
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }
  }

  #repeated(): RegexNode {
    const grouped = this.#text[this.#at] === '('
    const node = this.#atom()
    const from = this.#at
    const count = this.#quantifier()
    if (count === undefined) return node
    if (node.kind === 'assert' && !grouped) this.#reject('nothing to repeat here', from)
    // Preferring the shortest match does not change whether there is a match.
    this.#take('?')
    const again = this.#at
    if (this.#quantifier() !== undefined) this.#reject('nothing to repeat here', again)
    return { kind: 'repeat', node, min: count[0], max: count[1] }
  }

  #quantifier(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Infinity]
    if (this.#take('+')) return [1, Infinity]
    if (this.#take('?')) return [0, 1]
    if (this.#text[this.#at] !== '{') return undefined
    const found = /^\{(\d{1,9})(?:(,)(\d{1,9})?)?\}/.exec(this.#text.slice(this.#at, this.#at + 22))
    if (found === null) this.#reject('unescaped {; use \\{ to match the character')
    const min = Number(found[1])
    const max = found[2] === undefined ? min : found[3] === undefined ? Infinity : Number(found[3])
    if (min > max) this.#reject('invalid repetition: the minimum exceeds the maximum')
    if (min > MAX_COUNT || (max > MAX_COUNT && max !== Infinity)) {
      this.#reject(`a repetition count must be at most ${MAX_COUNT}`)
    }
    this.#at += found[0].length
    return [min, max]
  }

  #atom(): RegexNode {
    const at = this.#at
    const code = this.#text.codePointAt(at)!
    const char = String.fromCodePoint(code)
    this.#at += char.length
    switch (char) {
      case '(':
        return this.#group(at)
      case '[':
        return { kind: 'set', set: this.#class(at) }
      case '.':
        return { kind: 'set', set: NOT_LINE_END }
      case '^':
        return { kind: 'assert', what: 'start' }
      case '$':
        return { kind: 'assert', what: 'end' }
      case '\\':
        return this.#escapedAtom(at)
      case '*':
      case '+':
      case '?':
        return this.#reject('nothing to repeat here', at)
      case '{':
        return this.#reject('unescaped {; use \\{ to match the character', at)
      case ']':
      case '}':
        return this.#reject(`write \\${char} for the character`, at)
      default:
        return this.#literal(code)
    }
  }

  #group(at: number): RegexNode {
    if (this.#take('?') && !this.#take(':')) {
      const rest = this.#text.slice(this.#at, this.#at + 2)
      if (/^(?:=|!|<=|<!)/.test(rest)) this.#reject('lookaround is not supported', at)
      if (rest.startsWith('<') || rest.startsWith('P')) {
        this.#reject('named groups are not supported; write ( … )', at)
      }
      this.#reject('only (?: … ) is supported, and (?i) at the very start', at)
    }
    if (++this.#depth > MAX_DEPTH)
      this.#reject(`groups may be nested at most ${MAX_DEPTH} levels deep`, at)
    const node = this.#choice()
    if (!this.#take(')')) this.#reject('unclosed group', at)
    this.#depth--
    return node
  }

  #escapedAtom(at: number): RegexNode {
    const char = this.#text[this.#at]
    if (char === 'b' || char === 'B') {
      this.#at++
      return { kind: 'assert', what: char === 'b' ? 'word' : 'not-word' }
    }
    const escaped = this.#escape(at)
    return typeof escaped === 'number' ? this.#literal(escaped) : { kind: 'set', set: escaped }
  }

  /** Returns the code point or set of an escape. */
  #escape(at: number): number | CharSet {
    const char = this.#text[this.#at]
    if (char === undefined) this.#reject('trailing backslash; use \\\\', at)
    this.#at++
    const set = CLASSES[char]
    if (set !== undefined) return set
    const control = CONTROLS[char]
    if (control !== undefined) return control
    if (char === 'x') return this.#hex(/^[0-9a-fA-F]{2}/, at)
    if (char === 'u') {
      if (this.#text[this.#at] !== '{') return this.#hex(/^[0-9a-fA-F]{4}/, at)
      const code = this.#hex(/^\{[0-9a-fA-F]{1,6}\}/, at)
      if (code > 0x10ffff) this.#reject('the code point is above 10ffff', at)
      return code
    }
    if (char >= '0' && char <= '9') {
      this.#reject('backreferences and octal escapes are not supported', at)
    }
    if (char === 'p' || char === 'P') {
      this.#reject('Unicode properties are not supported; write a class such as [a-z]', at)
    }
    if (/^[!-/:-@[-`{-~]$/.test(char)) return char.charCodeAt(0)
    return this.#reject(`unknown escape \\${char}`, at)
  }

  #hex(form: RegExp, at: number): number {
    const found = form.exec(this.#text.slice(this.#at, this.#at + 8))
    if (found === null) this.#reject('this escape requires hexadecimal digits', at)
    this.#at += found[0].length
    return Number.parseInt(found[0].replace(/[{}]/g, ''), 16)
  }

  #class(at: number): CharSet {
    const negated = this.#take('^')
    const ranges: number[] = []
    while (!this.#take(']')) {
      const from = this.#at
      const low = this.#member(at)
      if (this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']') {
        this.#at++
        const high = this.#member(at)
        if (typeof low !== 'number' || typeof high !== 'number') {
          this.#reject('both ends of a range must be single characters', from)
        }
        if (low > high) this.#reject('invalid range: start exceeds end', from)
        ranges.push(low, high)
      } else if (typeof low === 'number') {
        ranges.push(low, low)
      } else {
        ranges.push(...low)
      }
    }
    const set = normalize(ranges)
    const folded = this.#ignoreCase ? foldAscii(set) : set
    return negated ? negate(folded) : folded
  }

  #member(at: number): number | CharSet {
    const code = this.#text.codePointAt(this.#at)
    if (code === undefined) this.#reject('unclosed character class', at)
    const from = this.#at
    this.#at += code > 0xffff ? 2 : 1
    if (code !== 0x5c) return code
    if (this.#text[this.#at] === 'b') {
      this.#at++
      return 8
    }
    return this.#escape(from)
  }

  #literal(code: number): RegexNode {
    const set: CharSet = [code, code]
    return { kind: 'set', set: this.#ignoreCase ? foldAscii(set) : set }
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false
    this.#at++
    return true
  }

  #reject(message: string, at: number = this.#at): never {
    throw new RegexError(message, this.#text, at)
  }
}
