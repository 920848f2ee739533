import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RegexError } from '../../../src/base/regex/regex-error.ts'
import { MAX_REGEX_TEXT, SafeRegex } from '../../../src/base/regex/safe-regex.ts'
import { rounds } from '../../support/rounds.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'

const CUTS = rounds(3, 40)
const ALPHABET = ['a', 'b', 'c', 'A', '_', '1', '-', ' ', '\n', 'é', '😀', '\ud83d'] as const

const atom = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', 'A', '1', '_', '-', 'é', '😀') },
  { weight: 3, arbitrary: fc.constantFrom('.', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\n') },
  { weight: 2, arbitrary: fc.constantFrom('\\.', '\\u0061', '\\x62', '\\u{1f600}', '\\/') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '[abc]',
      '[^abc]',
      '[a-c_]',
      '[^\\d-]',
      '[\\w\\-]',
      '[é-😀]',
      '[]',
      '[^]',
      '[\\]a]',
    ),
  },
)
const quantifier = fc.constantFrom(
  '',
  '',
  '',
  '*',
  '+',
  '?',
  '{2}',
  '{0,2}',
  '{1,}',
  '*?',
  '+?',
  '{0}',
)
const { pattern } = fc.letrec<{ pattern: string; term: string; group: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.array(tie('term'), { maxLength: 4 }).map((terms) => terms.join('')),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `${a}|${b}`),
  ),
  term: fc.oneof(
    { weight: 5, arbitrary: fc.tuple(atom, quantifier).map(([a, q]) => a + q) },
    { weight: 1, arbitrary: fc.constantFrom('^', '$', '\\b', '\\B') },
    { weight: 2, arbitrary: tie('group') },
  ),
  group: fc
    .tuple(fc.constantFrom('(', '(?:'), tie('pattern'), quantifier)
    .map(([open, inner, q]) => `${open}${inner})${q}`),
}))
const text = fc
  .array(fc.constantFrom(...ALPHABET), { maxLength: 12 })
  .map((chars) => chars.join(''))

/** A text of two letters that never repeats itself for long. */
const scrambled = Array.from({ length: 30_000 }, (_, i) =>
  (i * i) % 7919 < 4000 ? 'a' : 'b',
).join('')

/** Skips the few generated patterns that are larger than what is taken. */
function compiled(source: string): SafeRegex {
  try {
    return new SafeRegex(source)
  } catch (error) {
    fc.pre(!/too large/.test((error as Error).message))
    throw error
  }
}

describe('a regular expression', () => {
  it('agrees with the platform on everything that it takes', () => {
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 6 }), (source, texts) => {
        const theirs = new RegExp(source, 'u')
        const ours = compiled(source)
        // Twice: the second time walks the table that the first has made.
        for (const sample of [...texts, ...texts]) {
          // The platform looks for boundaries between the two halves of one character, too.
          if (/\\b/i.test(source) && /[\ud800-\udfff]/.test(sample)) continue
          expect(`${ours.test(sample)} ${sample}`).toBe(`${theirs.test(sample)} ${sample}`)
        }
      }),
      { numRuns: rounds(250, 3000) },
    )
  })

  it('ignores the case of ASCII letters after (?i)', () => {
    fc.assert(
      fc.property(pattern, text, (source, sample) => {
        fc.pre(!/\\b/i.test(source) || !/[\ud800-\udfff]/.test(sample))
        expect(compiled(`(?i)${source}`).test(sample)).toBe(new RegExp(source, 'iu').test(sample))
      }),
      { numRuns: rounds(125, 1000) },
    )
  })

  it.each([
    ['(a+)+$', 'a'.repeat(30_000) + '!'],
    ['(a|aa)+$', 'a'.repeat(30_000) + '!'],
    ['(.*)*(.*)*(.*)*x', 'a'.repeat(30_000)],
    ['(a?){100}a{100}', 'a'.repeat(99)],
    ['(x+x+)+y', 'x'.repeat(30_000)],
    ['((a*)*)*b', 'a'.repeat(30_000)],
    // More sets of places than are remembered, for some of the text and for all of it.
    ['(a|b)*a(a|b){12}c', scrambled],
    ['(a|b)*a[ab]{400}c', scrambled],
  ])('finishes at once where others hang: %s', (source, sample) => {
    const began = performance.now()
    expect(new SafeRegex(source).test(sample)).toBe(false)
    expect(performance.now() - began).toBeLessThan(3000)
  })

  it('finds the same when its memory overflows on the way', () => {
    for (const [source, last] of [
      ['(a|b)*a[ab]{60}c', 'c'],
      ['a[ab]{70}$', ''],
      ['\\bx?[ab]*a[ab]{50}$', ''],
    ] as const) {
      const ours = new SafeRegex(source)
      const theirs = new RegExp(source, 'u')
      for (let cut = 0; cut < CUTS; cut++) {
        const sample = scrambled.slice(cut * 97, cut * 97 + 1500) + last
        expect(ours.test(sample)).toBe(theirs.test(sample))
      }
    }
  })

  it('finds a match anywhere, unless anchored', () => {
    expect(new SafeRegex('b+').test('abba')).toBe(true)
    expect(new SafeRegex('^b+').test('abba')).toBe(false)
    expect(new SafeRegex('^(?:get|list)_[a-z]+$').test('get_weather')).toBe(true)
    expect(new SafeRegex('^(?:get|list)_[a-z]+$').test('get_weather2')).toBe(false)
    expect(new SafeRegex('').test('')).toBe(true)
  })

  it('does not look at texts above its bound', () => {
    expect(new SafeRegex('a').test('a'.repeat(MAX_REGEX_TEXT))).toBe(true)
    expect(new SafeRegex('a').test('a'.repeat(MAX_REGEX_TEXT + 1))).toBe(false)
  })

  it.each([
    ['(?=a)', 0, 'lookaround'],
    ['x(?<!a)', 1, 'lookaround'],
    ['(a)\\1', 3, 'references'],
    ['(?<n>a)', 0, 'named'],
    ['a**', 2, 'nothing to repeat'],
    ['a{2}{3}', 4, 'nothing to repeat'],
    ['^*', 1, 'nothing to repeat'],
    ['*a', 0, 'nothing to repeat'],
    ['(a', 0, 'unclosed group'],
    ['a)', 1, 'unmatched )'],
    ['[a', 0, 'unclosed character class'],
    ['[b-a]', 1, 'invalid range'],
    ['[\\d-z]', 1, 'range'],
    ['a{3,2}', 1, 'minimum exceeds the maximum'],
    ['a{2000}', 1, 'at most 1000'],
    ['a{x', 1, 'unescaped {'],
    ['a\\', 1, 'trailing backslash'],
    ['\\q', 0, 'unknown escape'],
    ['\\p{L}', 0, 'properties'],
    ['\\u{110000}', 0, 'code point is above'],
    ['((a{100}){100}){100}', 0, 'too large'],
    ['(((((){1000}){1000}){1000}){1000}){1000}', 0, 'too large'],
    ['('.repeat(60) + ')'.repeat(60), 50, 'nested'],
    ['a'.repeat(1001), 1000, 'characters'],
  ])('refuses %s and says where', (source, position, message) => {
    let error: unknown
    try {
      void new SafeRegex(source)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(RegexError)
    expect(error).toMatchObject({ code: 'REGEX_REJECTED', position })
    expect((error as RegexError).message).toContain(message)
  })

  it('never throws anything but its own error, for any pattern', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: ANY_CHARACTER, maxLength: 40 }),
        fc.string(),
        (source, sample) => {
          try {
            new SafeRegex(source).test(sample)
          } catch (error) {
            expect(error).toBeInstanceOf(RegexError)
          }
        },
      ),
    )
  })
})
